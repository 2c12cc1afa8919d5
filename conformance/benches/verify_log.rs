//! How fast `verify-log` reads, on records of 1 KiB from the page cache: `cargo bench -p fencepost-conformance --bench verify_log`.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fencepost_conformance::verify_log::{Directory, pass};
use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::record::Record;

const BATCHES: i64 = 8_000;
const RECORDS: i64 = 16;

fn verify(criterion: &mut Criterion) {
    let root = tempfile::tempdir().expect("a directory");
    let partition = root.path().join("t-0");
    std::fs::create_dir(&partition).expect("a directory");
    let value = vec![b'v'; 1024];
    let mut bytes = Vec::new();
    for batch in 0..BATCHES {
        let base = batch * RECORDS;
        let records = (base..base + RECORDS)
            .map(|offset| Record::new(Offset(offset), Millis(0), Some(&offset.to_be_bytes()), Some(&value)));
        bytes.extend(BatchBuilder::new(BatchHeader::plain(Offset(base))).records(records).build().expect("a batch"));
    }
    std::fs::write(partition.join(format!("{:020}.log", 0)), &bytes).expect("a file");
    let end = BATCHES * RECORDS;
    std::fs::write(root.path().join("cleaner-offset-checkpoint"), format!("0\n1\nt 0 {end}\n")).expect("a file");
    let directory = Directory::open(&partition).expect("a directory with a segment");
    let mut group = criterion.benchmark_group("verify-log");
    group.throughput(Throughput::Bytes(bytes.len() as u64));
    group.sample_size(10).measurement_time(Duration::from_secs(10));
    group.bench_function("records of 1 KiB, all below the checkpoint", |bencher| {
        bencher
            .iter(|| pass::verify(&directory, &AtomicBool::new(false), &mut |_| {}).expect("files that can be read"));
    });
    group.finish();
}

criterion_group!(benches, verify);
criterion_main!(benches);
