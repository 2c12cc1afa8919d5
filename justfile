# The project's commands by name. CI does not need `just`: each recipe is a command that can be typed.

# List the recipes.
default:
    @just --list

# Check the models: the main job. `just check --all` for every configuration.
check *ARGS:
    cargo run --release -p fencepost-model -- check {{ARGS}}

# Run the tests.
test:
    cargo test --workspace

# Browse the shortest counterexample of the late commit in Stateright's explorer.
explore CONFIG="fencing/kafka-4.4/two-members-two-targets" PROPERTY="S3":
    cargo run --release -p fencepost-model -- explore {{CONFIG}} --violates {{PROPERTY}}

# Regenerate the generated fixtures. Read the diff before it is committed.
export *ARGS:
    cargo run --release -p fencepost-model -- export {{ARGS}}

# Replay all fixtures on the reference, or on another target.
replay *ARGS:
    cargo run --release -p fencepost-conformance -- replay {{ARGS}}

# Everything that CI runs.
ci:
    bash .ci/run

# Format, lints and dependency policy.
lint:
    cargo fmt --all --check
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    cargo deny check bans licenses sources

# What takes longer than CI may: every configuration, and every stored path proved again to be the shortest.
nightly:
    cargo run --release -p fencepost-model -- check --all
    cargo test --release -p fencepost-model --test tla_parity -- --include-ignored
    cargo run --release -p fencepost-model -- export --check --prove-all

# Fuzz the readers of fixtures, of record batches and of index files, a minute each (needs a nightly toolchain and cargo-fuzz).
fuzz SECONDS="60":
    mkdir -p fixtures/fuzz/corpus/reader
    cd fixtures/fuzz && cargo +nightly fuzz run reader corpus/reader ../tests/examples -- -timeout=10 -max_total_time={{SECONDS}}
    mkdir -p fixtures/fuzz/corpus/record_batch
    cd fixtures/fuzz && cargo +nightly fuzz run record_batch corpus/record_batch -- -timeout=10 -max_total_time={{SECONDS}}
    mkdir -p fixtures/fuzz/corpus/index_files
    cd fixtures/fuzz && cargo +nightly fuzz run index_files corpus/index_files -- -timeout=10 -max_total_time={{SECONDS}}

# Measure what states cost, and write the table of docs/performance.md.
bench *CONFIGS="fencing/assignment-epoch-owned/* compaction/delete-horizon-repaired/any-map compaction/delete-horizon-repaired/reader-crash-two-producers":
    cargo run --release -p fencepost-model -- measure --table docs/performance.md {{CONFIGS}}
    cargo bench -p fencepost-model --bench parts
    cargo bench -p fencepost-reference --bench clean

# TLC and our checker on the same TLA+ modules, side by side (needs a JVM, TLA_JAR=tla2tools.jar, TLA_DIR=kafka-specification).
bench-tla *CONFIGS:
    cargo build --release -p fencepost-model
    python3 model/benches/tla.py --table docs/performance.md {{CONFIGS}}

# The local search against the dataflow of several workers, interleaved.
bench-spread *CONFIGS:
    cargo build --release -p fencepost-model
    python3 model/benches/spread.py --table docs/performance.md {{CONFIGS}}

# The class-level driver of Apache Kafka: build it, replay every fixture on it, hold it against its expected deviations.
kafka VERSION="4.4.0":
    bash conformance/drivers/kafka/replay {{VERSION}}
    bash conformance/drivers/kafka/replay-at {{VERSION}}

# The traces of consumers on the newer of Kafka's two consumers; `kafka` has built its driver, and replayed them on the classic one.
kafka-consumer VERSION="4.4.0":
    bash conformance/drivers/kafka/replay-consumer {{VERSION}}

# The same as `kafka` on the four releases.
kafka-all: (kafka "4.4.0") (kafka "4.3.1") (kafka "4.2.1") (kafka "4.1.2")

# Build the driver with a real broker behind it, and run its tests.
broker:
    mvn -q -B -f conformance/drivers/kafka-broker package

# Stock consumers and transactional producers whose late commit is accepted (docs/findings), and their control.
demo-zombie-commit:
    conformance/drivers/kafka-broker/demo zombie-commit

# Stock producers and consumers on a broker whose cleaner brings a deleted key back, and their control.
demo-deleted-key:
    conformance/drivers/kafka-broker/demo deleted-key

# Stock consumers that are given a value and never told that it was deleted (N1, N3, N6), and their controls.
demo-missed-deletion:
    conformance/drivers/kafka-broker/demo missed-deletion

# A stock producer and consumer on a cluster of three brokers that loses acknowledged records, and their control.
demo-lost-ack:
    conformance/drivers/kafka-broker/demo lost-ack

# The driver in Python.
python:
    cargo run --release -p fencepost-conformance -- smoke --target 'python3 conformance/drivers/python/fencing_functions.py'

# The driver of franz-go, in Go: check, test and build it, replay every fixture on it, hold it against its expected deviations.
franz-go:
    bash conformance/drivers/franz-go/replay

# Show a finding on Kafka's own classes: h1, h2, n1, n2, n3, n5, n6 or n8.
finding NAME VERSION="4.4.0":
    bash conformance/drivers/kafka/finding {{NAME}} {{VERSION}}

# Write docs/matrix.md: every fixture on the reference by variant, on Kafka 4.1 to 4.4, and on franz-go.
matrix: kafka-all franz-go
    python3 docs/matrix.py
