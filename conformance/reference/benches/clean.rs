//! How long a round takes over a million records on disk, beside a plain copy of the same bytes:
//! `cargo bench -p fencepost-reference --bench clean`. The directory for temporary files is where both happen.
//!
//! Before that, how much memory a round takes at its peak, beside what it cannot do without: the offset map and two
//! buffers (docs/compaction.md 2.4 and 2.5).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use fencepost_reference::storage::batch_builder::BatchHeader;
use fencepost_reference::storage::checkpoint::TopicPartition;
use fencepost_reference::storage::fs::RealFs;
use fencepost_reference::storage::log_rules::LogConfig;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::offset_map::{ExactOffsetMap, OffsetMap};
use fencepost_reference::storage::partition::{Partition, PartitionSetup};
use fencepost_reference::storage::record::Record;
use peak_alloc::PeakAlloc;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

const RECORDS: i64 = 1_000_000;
const RECORDS_A_BATCH: i64 = 500;
/// Every other record is superseded.
const KEYS: i64 = RECORDS / 2;

fn setup() -> PartitionSetup {
    let config = LogConfig { min_cleanable_dirty_ratio: 0.0, segment_bytes: 64 << 20, ..LogConfig::default() };
    PartitionSetup { config, ..PartitionSetup::new(TopicPartition::new("t", 0)) }
}

/// A log of a million records of 256 bytes, rolled.
fn write(root: &Path) -> Partition {
    let mut partition = Partition::open(Arc::new(RealFs), root, setup(), Millis(5000)).expect("an empty log");
    let value = [b'v'; 256];
    for batch in 0..RECORDS / RECORDS_A_BATCH {
        let records = (0..RECORDS_A_BATCH).map(|place| {
            let key = (batch * RECORDS_A_BATCH + place) % KEYS;
            Record::new(Offset(0), Millis(5000), Some(&key.to_be_bytes()), Some(&value))
        });
        partition.append(BatchHeader::plain(Offset(0)), records.collect()).expect("an append");
    }
    partition.roll().expect("a roll");
    partition.set_high_watermark(Offset(RECORDS));
    partition
}

fn bytes(root: &Path) -> u64 {
    let files = std::fs::read_dir(root.join("t-0")).expect("the log").filter_map(Result::ok);
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}

/// Copies every file and makes the copies durable, as a round does with what it writes.
fn copy(from: &Path, to: &Path) {
    for file in std::fs::read_dir(from.join("t-0")).expect("the log").filter_map(Result::ok) {
        let copy = to.join(file.file_name());
        std::fs::copy(file.path(), &copy).expect("a copy");
        std::fs::File::open(&copy).and_then(|file| file.sync_all()).expect("a durable copy");
    }
}

/// What `work` leaves on the heap, and the most that it had there.
fn heap<T>(work: impl FnOnce() -> T) -> (T, usize, usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let made = work();
    (made, HEAP.current_usage().saturating_sub(before), HEAP.peak_usage().saturating_sub(before))
}

fn memory(_: &mut Criterion) {
    let root = tempfile::tempdir().expect("a directory");
    let mut partition = write(root.path());
    let (_, _, round) = heap(|| partition.clean().expect("files").expect("a round"));
    let (_, map, growing) = heap(|| {
        let mut map = ExactOffsetMap::new(setup().map_entries);
        (0..KEYS).for_each(|key| map.put(&key.to_be_bytes(), Offset(key)));
        map
    });
    let buffers = 2 * setup().chunk_bytes;
    let mib = |bytes: usize| format!("{}.{} MiB", bytes >> 20, (bytes >> 10) % 1024 * 10 / 1024);
    println!(
        "the memory of a round: {} at its peak; a map of {KEYS} keys alone: {}, {} while it grows; two buffers: {}",
        mib(round),
        mib(map),
        mib(growing),
        mib(buffers),
    );
}

fn clean(criterion: &mut Criterion) {
    let source = tempfile::tempdir().expect("a directory");
    drop(write(source.path()));
    let mut group = criterion.benchmark_group("a million records");
    group.throughput(Throughput::Bytes(bytes(source.path())));
    group.sample_size(10).measurement_time(Duration::from_secs(30));
    group.bench_function("copy", |bencher| {
        bencher.iter_batched(
            || tempfile::tempdir().expect("a directory"),
            |target| copy(source.path(), target.path()),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("clean", |bencher| {
        bencher.iter_batched(
            || {
                let root = tempfile::tempdir().expect("a directory");
                let partition = write(root.path());
                (root, partition)
            },
            |(root, mut partition)| {
                let round = partition.clean().expect("files").expect("a round").outcome.expect("a whole round");
                assert_eq!(round.cleaned_to, Offset(RECORDS));
                (root, partition)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

criterion_group!(benches, memory, clean);
criterion_main!(benches);
