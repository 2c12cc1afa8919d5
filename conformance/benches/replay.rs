//! How fast traces are replayed on the reference: at least 100,000 operations a second, all fixtures in under a second.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fencepost_conformance::implementation::{FencingOnly, Implementation, replay_document};
use fencepost_conformance::reference_target::ReferenceTarget;
use fencepost_conformance::target::{Settings, Target as _};
use fencepost_fixtures::{Document, corpus, reader};

const EXAMPLE: &str = include_str!("../../fixtures/tests/examples/fencing.yaml");

fn operations(documents: &[Document], implementation: &mut dyn Implementation) -> usize {
    let hello = ReferenceTarget::new().hello().expect("the reference is never broken");
    documents
        .iter()
        .map(|document| replay_document(document, &hello, implementation, Settings::default()).operations)
        .sum()
}

fn bench(criterion: &mut Criterion) {
    let mut implementation = FencingOnly(ReferenceTarget::new());
    let example = [reader::document(EXAMPLE).expect("the example is a trace")];
    let all: Vec<Document> = corpus::all().map(|fixture| fixture.document).collect();
    for (name, documents) in [("one trace", &example[..]), ("all fixtures", &all[..])] {
        let count = operations(documents, &mut implementation);
        if count == 0 {
            continue;
        }
        let mut group = criterion.benchmark_group("replay");
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(name, |bencher| bencher.iter(|| operations(documents, &mut implementation)));
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
