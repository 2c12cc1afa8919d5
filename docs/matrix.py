#!/usr/bin/env python3
"""Makes docs/matrix.md: every fixture on the reference by variant, on Kafka 4.1 to 4.4, and on franz-go.

It needs the drivers and the release binary to be built (`just kafka-all franz-go`).  python3 docs/matrix.py
"""
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "target/release/fencepost-conformance"
# The variants of the reference in each protocol's table: those that were shipped, and the right one.
VARIANTS = {
    "fencing": ["kafka-4.0", "kafka-4.2", "kafka-4.3", "kafka-4.4", "assignment-epoch-owned"],
    "compaction": ["kafka-4.1", "kafka-4.4", "delete-horizon-repaired"],
    "replication": ["kafka-4.0", "kafka-4.4", "proposal-kept"],
    "consumer": ["no-epoch", "kip-320", "franz-go", "strict"],
}
RELEASES = {"4.1.2": "target-4.1.2", "4.2.1": "target-4.2.1", "4.3.1": "target-4.3.1", "4.4.0": "target-4.4.0"}
MARKS = {"passed": "+", "failed": "-", "inconclusive": "?", "broken": "!"}


def replay(*arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([BINARY, "replay", "--json", file.name, *arguments], cwd=ROOT, stdout=subprocess.DEVNULL)
        result = json.load(open(file.name))
    return {trace["id"]: MARKS.get(trace["verdict"], " ") for trace in result["traces"] + (result["faults"] or [])}


targets = {}
for release, directory in RELEASES.items():
    jar = f"conformance/drivers/kafka/{directory}/fencepost-kafka-driver.jar"
    targets[f"Kafka {release}"] = replay("--target", f"java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -jar {jar}")
client = replay("--target", "conformance/drivers/franz-go/target/driver")
lines = [
    "# Fixtures and targets",
    "",
    "Made by `python3 docs/matrix.py`. `+` does as the trace says, `-` does otherwise, `?` can't show what is decisive.",
    "The first columns are the reference set to a variant.",
]
for protocol, variants in VARIANTS.items():
    columns = {variant: replay("--variant", variant, f"{protocol}/**") for variant in variants} | targets
    if protocol == "consumer":
        columns["the client of franz-go"] = client
    names = sorted(name for name in set().union(*columns.values()) if name.startswith(f"{protocol}/"))
    lines += ["", f"## {protocol}", "", "| fixture | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(column.get(name, " ") for column in columns.values()) + " |")
(ROOT / "docs/matrix.md").write_text("\n".join(lines) + "\n")
