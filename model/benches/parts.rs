//! What the parts of a step cost: listing actions, taking one, hashing a state, asking the properties.
//!
//! The states are the first few thousand of a configuration, in order of depth, so that a part is measured on what it
//! meets in a check.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fencepost_model::fencing::Fencing;
use fencepost_model::limits::Limits;
use fencepost_model::protocol::Catalogue;
use fencepost_model::search::{Number, Visit, search};
use fencepost_model::world::{World, WorldState};
use stateright::Model;

const STATES: usize = 4_000;

struct Collect(Vec<WorldState<Fencing>>);

impl Visit<Fencing> for Collect {
    fn state(&mut self, _: &World<Fencing>, state: &WorldState<Fencing>, _: Number) {
        self.0.push(state.clone());
    }

    fn done(&self) -> bool {
        self.0.len() >= STATES
    }
}

fn parts(criterion: &mut Criterion) {
    let Some(configuration) = Fencing::configurations().into_iter().next_back() else { return };
    let world = World::new(configuration.protocol);
    let mut collect = Collect(Vec::new());
    search(&world, STATES, &Limits::default(), &mut collect);
    let states = collect.0;

    let mut group = criterion.benchmark_group(&configuration.name);
    group.throughput(Throughput::Elements(states.len() as u64));
    group.bench_function("list the actions", |bencher| {
        let mut actions = Vec::new();
        bencher.iter(|| {
            for state in &states {
                actions.clear();
                world.actions(black_box(state), &mut actions);
            }
        });
    });
    group.bench_function("take every action", |bencher| {
        let mut actions = Vec::new();
        bencher.iter(|| {
            for state in &states {
                actions.clear();
                world.actions(state, &mut actions);
                for action in &actions {
                    black_box(world.next_state(black_box(state), *action));
                }
            }
        });
    });
    group.bench_function("clone the state", |bencher| {
        bencher.iter(|| states.iter().for_each(|state| drop(black_box(state.clone()))));
    });
    group.bench_function("hash the state", |bencher| {
        let hasher = ahash::RandomState::with_seeds(1, 2, 3, 4);
        bencher.iter(|| states.iter().fold(0_u64, |sum, state| sum.wrapping_add(hasher.hash_one(black_box(state)))));
    });
    group.bench_function("ask every property", |bencher| {
        bencher.iter(|| states.iter().map(|state| world.violations(black_box(state)).count()).sum::<usize>());
    });
    group.finish();
}

criterion_group!(benches, parts);
criterion_main!(benches);
