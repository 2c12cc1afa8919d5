//! The assignor, as the world outside sees it: something that changes its mind. Safety has to hold for any target, so it
//! may choose any, as often as its budget says; its message takes its time like any other.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::bounds::Setting;
use super::message::{Msg, Timer};

/// The assignor's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignor {
    /// What it says: a nibble of partitions for each consumer.
    pub target: u16,
    /// How often it changed its mind.
    pub moves: u8,
}

impl Hash for Assignor {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u32(u32::from(self.target) << 8 | u32::from(self.moves));
    }
}

impl Assignor {
    /// Every other target that gives each partition to one consumer.
    pub fn timers(self, setting: &Setting, each: &mut dyn FnMut(Timer)) {
        if self.moves >= setting.bounds.targets {
            return;
        }
        let members = u16::from(setting.bounds.members);
        let partitions = u16::from(setting.bounds.topics.count());
        let mut targets: Vec<u16> = vec![0];
        for partition in 0..partitions {
            targets = targets
                .iter()
                .flat_map(|target| (0..members).map(move |member| target | 1 << (4 * member + partition)))
                .collect();
        }
        targets.sort_unstable();
        for target in targets.into_iter().filter(|target| *target != self.target) {
            each(Timer::Move(target));
        }
    }

    /// It changes its mind.
    pub fn act(&mut self, timer: Timer) -> Option<Msg> {
        let Timer::Move(target) = timer else { return None };
        self.target = target;
        self.moves += 1;
        Some(Msg::Target(target))
    }
}
