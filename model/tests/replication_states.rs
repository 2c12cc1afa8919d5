//! What makes two states of the replication model differ, and what does not.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use fencepost_model::protocol::Catalogue;
use fencepost_model::replication::Replication;
use fencepost_model::replication::bounds::{Bounds, Setting};
use fencepost_model::replication::catalogue::ORACLE;
use fencepost_model::replication::message::Timer;
use fencepost_model::replication::mutant::Mutant;
use fencepost_model::replication::rules::rules;
use fencepost_model::world::{Action, World};
use stateright::Model;

fn world(bounds: Bounds) -> World<Replication> {
    let rules = rules(ORACLE).expect("the oracle");
    World::new(Replication::new(Setting { rules: [rules; 4], others: [None; 4], mutant: Mutant::None, bounds }))
}

#[test]
fn the_same_timer_at_two_brokers_leads_to_two_states() {
    let world = world(Bounds::THREE);
    let start = world.init_states().remove(0);
    let after = |actor| world.next_state(&start, Action::Timeout(actor, Timer::Poll)).expect("a follower");
    let (b, c) = (after(1), after(2));
    assert_ne!(b, c);
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    assert_ne!(hasher.hash_one(&b), hasher.hash_one(&c));
}

/// States that differ must hash differently, or the search would take them for one: each field has its place.
#[test]
fn states_that_differ_hash_differently() {
    let world = world(Bounds { chosen: 1, crashes: [1; 4], fails: [1; 4], shrinks: 1, ..Bounds::BASE });
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen = std::collections::HashMap::new();
    let mut level = world.init_states();
    let mut actions = Vec::new();
    for _ in 0..7 {
        let mut next_level = Vec::new();
        for state in level {
            world.actions(&state, &mut actions);
            for action in actions.drain(..) {
                let Some(next) = world.next_state(&state, action) else { continue };
                match seen.entry(hasher.hash_one(&next)) {
                    std::collections::hash_map::Entry::Vacant(place) => {
                        place.insert(next.clone());
                        next_level.push(next);
                    }
                    std::collections::hash_map::Entry::Occupied(other) => assert!(*other.get() == next),
                }
            }
        }
        level = next_level;
    }
    assert!(seen.len() > 1_000);
}

#[test]
fn no_configuration_has_more_epochs_than_a_log_can_name() {
    for configuration in Replication::configurations() {
        let Setting { bounds, .. } = configuration.protocol.setting;
        let comebacks: u8 = bounds.crashes[..usize::from(bounds.brokers)].iter().sum();
        let comebacks = if bounds.restarts { comebacks } else { 0 };
        assert!(bounds.epochs + comebacks <= 6, "{}", configuration.name);
    }
}
