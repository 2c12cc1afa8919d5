//! A model that is none of the protocols: four counters that go up, and change places. Many paths lead to a state.

use std::time::Duration;

use stateright::{Model, Property};

/// The model, and how it may misbehave.
#[derive(Clone, Debug)]
pub(crate) struct Puzzle {
    /// Up to where a counter goes.
    pub(crate) top: u8,
    /// How long a state takes, so that a run lasts.
    pub(crate) pause: Duration,
    /// Panics at the state of this sum.
    pub(crate) panics_at: Option<u32>,
}

impl Puzzle {
    pub(crate) fn up_to(top: u8) -> Self {
        Self { top, pause: Duration::ZERO, panics_at: None }
    }
}

fn sum(state: [u8; 4]) -> u32 {
    state.iter().map(|counter| u32::from(*counter)).sum()
}

impl Model for Puzzle {
    type State = [u8; 4];
    type Action = (bool, usize);

    fn init_states(&self) -> Vec<[u8; 4]> {
        vec![[0; 4], [0, 0, 0, 1]]
    }

    fn actions(&self, state: &[u8; 4], actions: &mut Vec<(bool, usize)>) {
        std::thread::sleep(self.pause);
        assert_ne!(Some(sum(*state)), self.panics_at, "the puzzle was told to panic");
        actions.extend((0..4).filter(|place| state[*place] < self.top).map(|place| (true, place)));
        actions.extend((0..3).map(|place| (false, place)));
    }

    fn next_state(&self, state: &[u8; 4], (up, place): (bool, usize)) -> Option<[u8; 4]> {
        let mut next = *state;
        if up {
            next[place] += 1;
        } else if next[place] == next[place + 1] {
            // Nothing would change: not a step.
            return None;
        } else {
            next.swap(place, place + 1);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("never seven in all", |_, state: &[u8; 4]| sum(*state) != 7),
            Property::always("never twice the first", |_, state: &[u8; 4]| state[0] < 3 || state[1] != 2 * state[0]),
            Property::always("never above the top", |model: &Self, state: &[u8; 4]| {
                state.iter().all(|counter| *counter <= model.top)
            }),
            Property::sometimes("all at the top", |model: &Self, state: &[u8; 4]| {
                state.iter().all(|counter| *counter == model.top)
            }),
            Property::sometimes("beyond the top", |_, _| false),
        ]
    }
}
