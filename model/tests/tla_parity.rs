//! The models of the public TLA+ modules against what TLC finds on the modules themselves.
//!
//! All numbers are TLC's (commit `cc6b616`, breadth first, one worker, no symmetry) on
//! <https://github.com/hachikuji/kafka-specification> at `d68782b`. What is large is counted by `check --all`, which holds
//! it against the matrix; so here the matrix is held against TLC, and the small ones are run.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::path::Path;

use fencepost_model::limits::{Limits, Silent};
use fencepost_model::matrix::{Matrix, Row};
use fencepost_model::protocol::Catalogue;
use fencepost_model::registry::Registry;
use fencepost_model::replication::tla::async_isr::AsyncIsr;
use fencepost_model::replication::tla::state::{Id, ROOM, Record, Replica, State};
use fencepost_model::replication::tla::variants::Replication;
use fencepost_model::replication::tla::{Module, Tla};
use fencepost_model::runs::Order;
use fencepost_model::search::{Number, Visit, search};
use fencepost_model::world::{World, WorldState};

/// A whole state space: the variant and its constants, distinct states, generated states, depth in states.
type Counted = (&'static str, u64, u64, u64);

const COUNTED: &[Counted] = &[
    ("high-watermark/3-2-1-2", 225_196, 782_134, 22),
    ("kip-101/3-2-1-2", 192_952, 668_134, 22),
    ("kip-279/3-2-1-2", 192_592, 821_338, 22),
    ("kip-320-first-try/3-2-1-2", 175_453, 578_332, 23),
    ("kip-320/3-2-1-2", 97_531, 241_543, 22),
    ("kip-279/2-2-2-2", 9_027, 23_425, 18),
    ("kip-279/2-2-2-3", 53_099, 152_513, 21),
    ("kip-279/2-3-3-3", 225_761, 656_561, 24),
    ("kip-279/3-2-2-2", 1_616_461, 6_718_690, 26),
    ("kip-320/2-2-2-2", 5_973, 11_839, 18),
    ("kip-320/2-2-2-3", 28_939, 59_571, 22),
    ("kip-320/2-3-3-3", 120_879, 261_017, 26),
    ("kip-320/3-2-2-2", 737_794, 1_967_560, 26),
    ("kip-320/3-3-3-2", 4_093_531, 11_663_770, 31),
];

/// The same of `AsyncIsr`, where TLC generates states that its constraint discards.
const ASYNC_ISR: &[Counted] = &[
    ("async-isr/2-3-3", 280, 983, 17),
    ("async-isr/3-2-2", 4_088, 23_153, 17),
    ("async-isr/3-2-3", 22_456, 134_129, 21),
];

/// State spaces of which TLC's distinct states are known, and no more.
const DISTINCT: &[(&str, u64)] = &[
    ("kip-101/2-2-2-2", 9_045),
    ("kip-101+clamped-truncation/2-2-2-2", 9_047),
    ("kip-101/2-2-1-3", 9_533),
    ("kip-320-first-try/2-3-3-3", 196_973),
];

/// What fails, with the states of the shortest trace, the initial one included.
const FAILS: &[(&str, &str, u64)] = &[
    ("high-watermark/2-2-1-1", "WeakIsr", 9),
    ("high-watermark/2-2-1-1", "StrongIsr", 10),
    ("high-watermark/3-2-1-1", "StrongIsr", 9),
    ("kip-101/2-2-2-2", "WeakIsr", 12),
    ("kip-101/2-2-2-2", "StrongIsr", 12),
    ("kip-101/3-2-1-1", "StrongIsr", 12),
    ("kip-101/3-2-1-2", "WeakIsr", 11),
    ("kip-101/3-2-1-2", "StrongIsr", 11),
    ("kip-279/3-2-1-1", "StrongIsr", 12),
    ("kip-279/3-2-1-2", "WeakIsr", 11),
    ("kip-279/3-2-1-2", "StrongIsr", 11),
    ("kip-279/3-2-2-2", "WeakIsr", 11),
    ("kip-279/3-2-2-2", "StrongIsr", 11),
    ("kip-320-first-try/3-2-1-2", "WeakIsr", 12),
    ("kip-320-first-try/3-2-1-2", "StrongIsr", 13),
    ("kip-320+unfenced-truncation/3-2-2-2", "StrongIsr", 14),
    ("kip-320+early-expansion/3-2-1-1", "StrongIsr", 12),
    ("kip-101+clamped-truncation/2-2-2-2", "StrongIsr", 12),
    ("kip-320/3-2-1-3", "LeaderInIsr", 1),
    ("kip-320/3-2-1-3", "IsrNonEmpty", 4),
    ("async-isr/3-2-2", "TypeOk", 1),
];

/// What holds in the whole state space.
const HOLDS: &[(&str, &[&str])] = &[
    ("kip-101/2-2-1-3", &["WeakIsr", "StrongIsr"]),
    ("kip-101/3-2-1-1", &["WeakIsr"]),
    ("kip-279/2-3-3-3", &["WeakIsr", "StrongIsr"]),
    ("kip-279/3-2-1-1", &["WeakIsr"]),
    ("kip-320-first-try/2-3-3-3", &["WeakIsr", "StrongIsr"]),
    ("kip-320-first-try/3-2-1-1", &["WeakIsr", "StrongIsr"]),
    ("kip-320/2-2-2-2", &["WeakIsr", "StrongIsr"]),
    ("kip-320/2-2-2-3", &["WeakIsr", "StrongIsr"]),
    ("kip-320/2-3-3-3", &["WeakIsr", "StrongIsr"]),
    ("kip-320/3-2-1-2", &["WeakIsr", "StrongIsr"]),
    ("kip-320/3-2-2-2", &["WeakIsr", "StrongIsr"]),
    ("kip-320/3-3-3-2", &["WeakIsr", "StrongIsr"]),
    ("kip-320+unfenced-truncation/3-2-1-1", &["StrongIsr"]),
    ("kip-320+unfenced-truncation/3-2-1-2", &["StrongIsr"]),
    ("kip-320+unfenced-truncation/3-2-1-3", &["StrongIsr"]),
    ("async-isr/2-3-3", &["TypeOkFixed", "ValidHighWatermark"]),
    ("async-isr/3-2-2", &["TypeOkFixed", "ValidHighWatermark"]),
    ("async-isr/3-2-3", &["TypeOkFixed", "ValidHighWatermark"]),
];

/// What a test runs in a moment, without an optimised build.
const SMALL: u64 = 60_000;

fn full(name: &str) -> String {
    format!("replication/tla-parity/{name}")
}

fn rows() -> Vec<Row> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix");
    let read = |name| Matrix::read(&directory, name).expect("a matrix").rows;
    let mut rows = read(<Replication as Module>::NAME);
    rows.extend(read(<AsyncIsr as Module>::NAME));
    rows
}

fn row(name: &str) -> Row {
    rows().into_iter().find(|row| row.configuration == full(name)).expect(name)
}

#[test]
fn the_matrix_expects_what_tlc_counted() {
    for (name, distinct, generated, _) in COUNTED {
        let row = row(name);
        assert_eq!((row.unique, row.generated), (*distinct, *generated), "{name}");
    }
    for (name, distinct, _, _) in ASYNC_ISR {
        assert_eq!(row(name).unique, *distinct, "{name}");
    }
    for (name, distinct) in DISTINCT {
        assert_eq!(row(name).unique, *distinct, "{name}");
    }
}

#[test]
fn the_matrix_expects_the_verdicts_and_the_traces_that_tlc_found() {
    for (name, property, states) in FAILS {
        assert_eq!(row(name).fails.get(*property), Some(&(states - 1)), "{name} {property}");
    }
    for (name, properties) in HOLDS {
        let row = row(name);
        for property in *properties {
            assert!(!row.fails.contains_key(*property) && !row.vacuous.contains(&(*property).to_owned()), "{name}");
        }
    }
}

#[test]
fn no_leader_is_in_the_isr_before_there_is_one() {
    let replication = rows().into_iter().filter(|row| !row.configuration.contains("async-isr"));
    for row in replication {
        assert_eq!(row.fails.get("LeaderInIsr"), Some(&0), "{}", row.configuration);
        assert!(!row.fails.contains_key("LeaderInIsrOrNone") && !row.fails.contains_key("TypeOk"));
    }
}

#[test]
fn the_isr_can_lose_its_last_member_as_soon_as_there_is_an_epoch_for_each() {
    for row in rows().into_iter().filter(|row| !row.configuration.contains("async-isr")) {
        let (_, constants) = row.configuration.rsplit_once('/').expect("constants");
        let numbers: Vec<u64> = constants.split('-').map(|number| number.parse().expect("a number")).collect();
        let [replicas, _, _, max_leader_epoch] = numbers[..] else { panic!("{constants}") };
        let expected = (max_leader_epoch + 1 >= replicas).then_some(replicas);
        assert_eq!(row.fails.get("IsrNonEmpty").copied(), expected, "{}", row.configuration);
    }
}

fn count(name: &str) -> (u64, u64, u64) {
    let registry = Registry::shipped();
    let subject = registry.find(&full(name)).expect(name);
    let counted = subject.count(Order::BreadthFirst, 1, &Limits::default(), &Silent);
    assert_eq!(counted.cut, None);
    (counted.progress.unique, counted.progress.generated, counted.progress.depth)
}

#[test]
fn small_state_spaces_have_tlcs_counts_and_depth() {
    for (name, distinct, generated, depth) in COUNTED.iter().filter(|(_, distinct, ..)| *distinct < SMALL) {
        assert_eq!(count(name), (*distinct, *generated, *depth), "{name}");
    }
    for (name, distinct) in DISTINCT.iter().filter(|(_, distinct)| *distinct < SMALL) {
        assert_eq!(count(name).0, *distinct, "{name}");
    }
}

#[test]
#[ignore = "for an optimised build; `just nightly` runs it"]
fn large_state_spaces_have_tlcs_counts_and_depth() {
    for (name, distinct, generated, depth) in COUNTED {
        assert_eq!(count(name), (*distinct, *generated, *depth), "{name}");
    }
}

/// Counts what a constraint discards.
struct Discards(u64);

impl Visit<Tla<AsyncIsr>> for Discards {
    fn state(&mut self, world: &World<Tla<AsyncIsr>>, state: &WorldState<Tla<AsyncIsr>>, _: Number) {
        self.0 += world.protocol.module().discarded(&state.actors) as u64;
    }
    fn done(&self) -> bool {
        false
    }
}

#[test]
fn tlc_also_counts_the_successors_that_a_constraint_discards() {
    for configuration in Tla::<AsyncIsr>::configurations() {
        let (_, distinct, generated, depth) =
            ASYNC_ISR.iter().find(|(name, ..)| full(name) == configuration.name).expect("counted by TLC");
        let mut discards = Discards(0);
        search(&World::new(configuration.protocol), usize::MAX, &Limits::default(), &mut discards);
        let (unique, ours, deepest) = count(configuration.name.trim_start_matches("replication/tla-parity/"));
        assert_eq!((unique, ours + discards.0, deepest), (*distinct, *generated, *depth), "{}", configuration.name);
    }
}

fn shortest_traces(chosen: impl Fn(&str, u64) -> bool) {
    let registry = Registry::shipped();
    for (name, property, states) in FAILS.iter().filter(|(name, _, states)| chosen(name, *states)) {
        let subject = registry.find(&full(name)).expect(name);
        let index = subject.properties().iter().position(|claim| claim.id == *property).expect(property);
        let path = subject.shortest(index, &Limits::default(), &Silent).path.expect("a violation");
        assert_eq!(path.steps() as u64 + 1, *states, "{name} {property}");
        let violated = subject.violated(&path).expect("a path");
        assert!(violated.iter().any(|claim| claim.id == *property), "{name} {property}");
    }
}

#[test]
fn the_shortest_traces_have_tlcs_length() {
    // A short trace is found in a moment, however many states there are.
    shortest_traces(|name, states| states < 5 || row(name).unique < SMALL);
}

#[test]
#[ignore = "for an optimised build; `just nightly` runs it"]
fn the_shortest_traces_through_large_state_spaces_have_tlcs_length() {
    shortest_traces(|_, _| true);
}

#[test]
fn every_constant_fits_into_a_packed_state() {
    for configuration in Tla::<Replication>::configurations() {
        let constants = configuration.protocol.module().constants;
        let largest = [constants.replicas, constants.log_size, constants.max_records, constants.max_leader_epoch + 1];
        assert!(largest.iter().all(|number| *number <= ROOM), "{}", configuration.name);
    }
    for configuration in Tla::<AsyncIsr>::configurations() {
        let module = configuration.protocol.module();
        assert!(module.replicas <= ROOM && module.max_version < ROOM, "{}", configuration.name);
    }
}

#[test]
fn states_that_differ_have_hashes_that_differ() {
    fn reachable<M: Module>(name: &str, module: &M) -> HashSet<M::State> {
        let mut seen = HashSet::from([module.initial()]);
        let mut pending = vec![module.initial()];
        while let Some(state) = pending.pop() {
            let mut steps = Vec::new();
            module.enabled(&state, &mut |step| steps.push(step));
            for step in steps {
                let next = module.next(&state, step).expect(name);
                if seen.insert(next) {
                    pending.push(next);
                }
            }
        }
        seen
    }
    fn all<M: Module>(name: &str) -> (usize, usize) {
        let configuration =
            Tla::<M>::configurations().into_iter().find(|other| other.name == full(name)).expect("a configuration");
        let states = reachable(name, configuration.protocol.module());
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let different: HashSet<u64> = states.iter().map(|state| hasher.hash_one(state)).collect();
        (states.len(), different.len())
    }
    assert_eq!(all::<Replication>("kip-279/2-2-2-2"), (9_027, 9_027));
    assert_eq!(all::<AsyncIsr>("async-isr/3-2-2"), (4_088, 4_088));
    let (states, different) = all::<Replication>("kip-320/3-2-1-1");
    assert_eq!(states, different, "with a third replica");
}

#[test]
fn what_was_truncated_leaves_no_trace_in_a_log() {
    let short = Replica::default().appended(Record { id: 0, epoch: 1 });
    let long = short.appended(Record { id: 3, epoch: 3 });
    assert_ne!(long, short);
    assert_eq!(long.truncated(1), short);
    assert_eq!(long.truncated(0), Replica::default());
}

#[test]
fn a_request_is_there_once_its_epoch_is_given_out() {
    let state = State::initial(3);
    assert_eq!(state.requests().count(), 0);
    let state = state.decided(Some(Id(2)), state.quorum_isr().without(Id(0)));
    let requests: Vec<_> = state.requests().collect();
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].epoch, requests[0].leader), (0, Some(Id(2))));
    assert_eq!(requests[0].isr, state.quorum_isr());
    assert_eq!((state.quorum_epoch(), state.quorum_leader()), (Some(0), Some(Id(2))));
}
