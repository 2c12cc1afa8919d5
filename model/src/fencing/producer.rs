//! The transactional producer of the first consumer's application. It has its own connection, so that its requests and
//! the consumer's heartbeats are in no fixed order.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::message::{Msg, Timer};

/// Where a transaction stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Stage {
    /// None is open.
    #[default]
    Idle,
    /// The offsets are on their way.
    Adding,
    /// The offsets are staged.
    Added,
    /// The offsets were refused.
    Refused,
    /// The marker is on its way.
    Ending,
}

/// The producer's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Producer {
    /// Where its transaction stands.
    pub stage: Stage,
    /// The commit's number.
    pub id: u8,
}

impl Hash for Producer {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u16(u16::from(self.stage as u8) << 8 | u16::from(self.id));
    }
}

impl Producer {
    /// What it may do of its own accord.
    pub fn timers(self, each: &mut dyn FnMut(Timer)) {
        match self.stage {
            Stage::Added => {
                each(Timer::End { commit: false });
                each(Timer::End { commit: true });
            }
            // A refused commit makes the transaction abortable.
            Stage::Refused => each(Timer::End { commit: false }),
            Stage::Idle | Stage::Adding | Stage::Ending => {}
        }
    }

    /// The transaction ends.
    pub fn act(&mut self, timer: Timer) -> Option<Msg> {
        let Timer::End { commit } = timer else { return None };
        self.stage = Stage::Ending;
        Some(Msg::EndTransaction { commit })
    }

    /// A message arrives. What it sends goes to the coordinator, but for [`Msg::Handed`], which goes to the consumer.
    pub fn receive(&mut self, msg: Msg) -> Option<Msg> {
        match msg {
            Msg::Hand(commit) => {
                self.stage = Stage::Adding;
                self.id = commit.id;
                Some(Msg::TxnCommit(commit))
            }
            Msg::TxnAnswer { error, .. } => {
                self.stage = if error.is_none() { Stage::Added } else { Stage::Refused };
                None
            }
            Msg::TransactionEnded { commit } => {
                let id = self.id;
                *self = Self::default();
                Some(Msg::Handed { id, committed: commit })
            }
            _ => None,
        }
    }
}
