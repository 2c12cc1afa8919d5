//! The two kinds of run that decide a verdict, both by Stateright's checker. A configuration that can't be exhausted has
//! [walks](crate::walks) instead.
//!
//! The *count run* is exhaustive, depth first (15 bytes a state), and looks at all properties; it never ends early, so
//! that its numbers of states can be pinned. The *shortest run* looks for one violation, breadth first, on one thread,
//! with that property alone: with a second one, or with a second thread, Stateright's discovery need not be the
//! shortest.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use stateright::{Checker, Model, Property};

use crate::limits::{Cut, Limits, Observer, Progress, resident_bytes, watch};
use crate::path::Indices;
use crate::protocol::{Claim, Protocol};
use crate::world::World;

/// What a run took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Wall time, in seconds.
    pub seconds: f64,
    /// The memory of the whole process at the run's end, in bytes; 0 where the system does not say.
    pub memory_bytes: u64,
}

impl Cost {
    pub(crate) fn since(start: Instant) -> Self {
        Self { seconds: start.elapsed().as_secs_f64(), memory_bytes: resident_bytes().unwrap_or(0) }
    }
}

/// The result of a count run.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// How many states there are.
    pub progress: Progress,
    /// The properties that some state violates, one bit each.
    pub failed: u64,
    /// The properties whose antecedent some state meets, one bit each.
    pub applied: u64,
    /// An event that its handler ignored.
    pub ignored: Option<String>,
    /// Why the run was cut short; then nothing of the above is final.
    pub cut: Option<Cut>,
    /// What it took.
    pub cost: Cost,
}

/// How a count run searches. The order changes neither the number of unique states nor that of generated ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As it is done in a check.
    DepthFirst,
    /// To measure what breadth costs.
    BreadthFirst,
}

/// Exhausts the states of a protocol, on so many threads.
pub fn count<P: Protocol>(
    protocol: &P,
    order: Order,
    threads: usize,
    limits: &Limits,
    observer: &dyn Observer,
) -> Counted {
    let start = Instant::now();
    let mut world = World::new(protocol.clone());
    // One property that is never found: the run can't end before the space does. It is the place where Stateright
    // visits each unique state once, so that is where all claims are looked at; as properties of their own, each would
    // cost a look-up in a concurrent map for each state.
    world.properties = vec![Property::sometimes("exhausted", |world: &World<P>, state| {
        world.observe(state);
        false
    })];
    let control = Arc::clone(&world.control);
    let before = limits.reached(0);
    let checker = world.checker().threads(threads.max(1));
    let (progress, cut) = match (before, order) {
        (Some(cut), _) => (Progress::default(), Some(cut)),
        (None, Order::DepthFirst) => watch(&mut checker.spawn_dfs(), &control, limits, observer),
        (None, Order::BreadthFirst) => watch(&mut checker.spawn_bfs(), &control, limits, observer),
    };
    Counted {
        progress,
        failed: control.failed.load(Ordering::Relaxed),
        applied: control.applied.load(Ordering::Relaxed),
        ignored: control.ignored.get().cloned(),
        cut,
        cost: Cost::since(start),
    }
}

/// The result of a shortest run.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortest {
    /// The shortest path to a state that violates the property; `None` where there is none, or none was found in time.
    pub path: Option<Indices>,
    /// How many states were looked at.
    pub progress: Progress,
    /// Why the run was cut short.
    pub cut: Option<Cut>,
    /// What it took.
    pub cost: Cost,
}

/// Looks for the shortest path to a state that violates `claim`.
pub fn shortest<P: Protocol>(protocol: &P, claim: &Claim<P>, limits: &Limits, observer: &dyn Observer) -> Shortest {
    let start = Instant::now();
    let mut world = World::new(protocol.clone());
    world.properties = vec![Property::always(claim.id, claim.holds)];
    let control = Arc::clone(&world.control);
    if let Some(cut) = limits.reached(0) {
        return Shortest { path: None, progress: Progress::default(), cut: Some(cut), cost: Cost::since(start) };
    }
    let mut checker = world.checker().threads(1).spawn_bfs();
    let (progress, cut) = watch(&mut checker, &control, limits, observer);
    // The walk that Stateright rebuilds the discovery with needs the actions of its states.
    control.stop.store(false, Ordering::Relaxed);
    let path = checker
        .discovery(claim.id)
        .map(|path| Indices(path.encode(checker.model()).split('/').filter_map(|index| index.parse().ok()).collect()));
    // A violation that was found before the cut is the shortest all the same: breadth first, it is the first one met.
    let cut = if path.is_some() { None } else { cut };
    Shortest { path, progress, cut, cost: Cost::since(start) }
}
