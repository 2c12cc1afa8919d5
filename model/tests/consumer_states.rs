//! What makes two states of the consumer's model differ.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use fencepost_model::consumer::Consumer;
use fencepost_model::consumer::bounds::{Bounds, Setting};
use fencepost_model::consumer::message::Target;
use fencepost_model::consumer::mutant::Mutant;
use fencepost_model::consumer::rules::rules;
use fencepost_model::protocol::Catalogue;
use fencepost_model::world::World;
use stateright::Model;

/// A world in which each kind of thing happens.
fn world() -> World<Consumer> {
    let bounds = Bounds {
        reset: None,
        unclean: 2,
        clean: 1,
        follows: [1, 1, 0],
        appends: [2, 2, 0],
        metadata: 3,
        stale: 2,
        fails: 1,
        seeks: 2,
        targets: &[Target::Offset(0), Target::Divergence, Target::End],
        commits: 1,
        restarts: 1,
        recreations: 1,
        counts: true,
        ..Bounds::BASE
    };
    let rules = rules("history-kept").expect("a variant");
    World::new(Consumer::new(Setting { variant: "history-kept", rules, mutant: Mutant::None, bounds }))
}

/// States that differ must hash differently, or the search would take them for one: each field has its place.
#[test]
fn states_that_differ_hash_differently() {
    let world = world();
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let mut seen = std::collections::HashMap::new();
    let mut level = world.init_states();
    let mut actions = Vec::new();
    for _ in 0..6 {
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
    for configuration in Consumer::configurations() {
        let bounds = configuration.protocol.setting.bounds;
        let last = bounds.start.epoch + (bounds.clean + bounds.unclean).cast_signed();
        // Where the topic is created anew, the ghosts have half of the bits for each.
        let limit = if bounds.recreations > 0 { 3 } else { 6 };
        assert!(last <= limit, "{}", configuration.name);
    }
}
