//! The run of a configuration that can't be exhausted: random walks of a seed, which say what they met and no more.
//!
//! A walk is a [behaviour of the seed](crate::simulate), with the same choices. All properties are looked at in each of its
//! states. What comes out is pinned like the numbers of a count run: the same walks meet the same states. A violation that
//! is found is none of the shortest; of those that were met, the shortest is told.

use std::collections::HashSet;
use std::hash::BuildHasherDefault;
use std::sync::atomic::Ordering;
use std::time::Instant;

use nohash_hasher::NoHashHasher;
use serde::{Deserialize, Serialize};
use stateright::Model;

use crate::limits::{Cut, Limits, Observer, Progress};
use crate::path::Indices;
use crate::protocol::{Claim, Protocol};
use crate::runs::{Cost, Counted, Shortest};
use crate::simulate::Random;
use crate::world::{World, WorldState};

/// Random walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Walks {
    /// The seed.
    pub seed: u64,
    /// How many there are.
    pub number: u64,
    /// How many steps each has at most.
    pub steps: u64,
}

/// Takes the walks. `each` sees every state with the path to it, and says whether the walk goes on.
fn take<P: Protocol>(
    world: &World<P>,
    walks: Walks,
    limits: &Limits,
    observer: &dyn Observer,
    mut each: impl FnMut(&WorldState<P>, &Indices) -> bool,
) -> (Progress, Option<Cut>) {
    let hasher = ahash::RandomState::with_seeds(0x6665_6e63, 0x6570_6f73, 0x745f_6d6f, 0x6465_6c73);
    let mut seen = HashSet::<u64, BuildHasherDefault<NoHashHasher<u64>>>::default();
    let mut progress = Progress::default();
    let mut actions = Vec::new();
    for number in 0..walks.number {
        observer.progress(progress);
        if let Some(cut) = limits.reached(progress.unique) {
            return (progress, Some(cut));
        }
        let mut random = Random::new(walks.seed, number);
        let mut path = Indices(vec![0]);
        let Some(mut state) = world.init_states().into_iter().next() else { break };
        loop {
            progress.generated += 1;
            progress.unique += u64::from(seen.insert(hasher.hash_one(&state)));
            progress.depth = progress.depth.max(path.steps() as u64);
            if !each(&state, &path) || path.steps() as u64 >= walks.steps {
                break;
            }
            actions.clear();
            world.actions(&state, &mut actions);
            let Some(index) = random.choose(actions.len()) else { break };
            let Some(next) = world.next_state(&state, actions[index]) else { break };
            path.0.push(index);
            state = next;
        }
    }
    observer.progress(progress);
    (progress, limits.exceeded(progress.unique))
}

/// Looks at all properties on the walks. The states that are counted are those that the walks met.
pub fn count<P: Protocol>(protocol: &P, walks: Walks, limits: &Limits, observer: &dyn Observer) -> Counted {
    let start = Instant::now();
    let world = World::new(protocol.clone());
    let (progress, cut) = take(&world, walks, limits, observer, |state, _| {
        world.observe(state);
        true
    });
    Counted {
        progress,
        failed: world.control.failed.load(Ordering::Relaxed),
        applied: world.control.applied.load(Ordering::Relaxed),
        ignored: world.control.ignored.get().cloned(),
        cut,
        cost: Cost::since(start),
    }
}

/// The shortest beginning of a walk that violates `claim`.
pub fn shortest<P: Protocol>(
    protocol: &P,
    walks: Walks,
    claim: &Claim<P>,
    limits: &Limits,
    observer: &dyn Observer,
) -> Shortest {
    let start = Instant::now();
    let world = World::new(protocol.clone());
    let mut best: Option<Indices> = None;
    let (progress, cut) = take(&world, walks, limits, observer, |state, path| {
        let shorter = best.as_ref().is_none_or(|best| path.steps() < best.steps());
        if shorter && !(claim.holds)(&world, state) {
            best = Some(path.clone());
        }
        best.as_ref().is_none_or(|best| path.steps() + 1 < best.steps())
    });
    Shortest { path: best, progress, cut, cost: Cost::since(start) }
}
