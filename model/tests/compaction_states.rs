//! What makes two states of the compaction model differ.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use fencepost_model::compaction::Compaction;
use fencepost_model::compaction::bounds::{Bounds, Setting};
use fencepost_model::compaction::catalogue::{ORACLE, rules};
use fencepost_model::compaction::message::Timer;
use fencepost_model::compaction::mutant::Mutant;
use fencepost_model::world::{Action, World};
use stateright::Model;

#[test]
fn the_same_timer_at_two_replicas_leads_to_two_states() {
    let rules = rules(ORACLE).expect("the oracle");
    let bounds = Bounds { replicas: 2, follower_cleans: true, ..Bounds::BASE };
    let world = World::new(Compaction::new(Setting { rules, mutant: Mutant::None, bounds }));
    let start = world.init_states().remove(0);
    let after = |actor| world.next_state(&start, Action::Timeout(actor, Timer::Tick)).expect("a clock");
    let (a, b) = (after(0), after(1));
    assert_ne!(a, b);
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    assert_ne!(hasher.hash_one(&a), hasher.hash_one(&b));
}
