//! What makes two states of the fencing model differ.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use fencepost_model::fencing::Fencing;
use fencepost_model::fencing::bounds::{Bounds, Setting};
use fencepost_model::fencing::catalogue::rules;
use fencepost_model::fencing::message::Timer;
use fencepost_model::fencing::mutant::Mutant;
use fencepost_model::world::{Action, World};
use stateright::Model;

#[test]
fn the_same_timer_at_two_actors_leads_to_two_states() {
    let rules = rules("assignment-epoch-owned").expect("the oracle");
    let world = World::new(Fencing::new(Setting { rules, mutant: Mutant::None, bounds: Bounds::BASE }));
    let start = world.init_states().remove(0);
    let after = |actor| world.next_state(&start, Action::Timeout(actor, Timer::Heartbeat)).expect("a heartbeat");
    let (a, b) = (after(1), after(2));
    assert_ne!(a, b);
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    assert_ne!(hasher.hash_one(&a), hasher.hash_one(&b));
}
