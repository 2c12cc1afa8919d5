//! A consumer that reads the log once, batch by batch, as slowly as it likes (3.5, 6.4).
//!
//! Its fetch is on the way all the time; when it is answered decides how fast it reads. An answer on the way is a read of a
//! file that may be replaced meanwhile.

use serde::{Deserialize, Serialize};

use super::batch::NONE;
use super::bounds::MAX_KEYS;
use super::message::Msg;

/// What a consumer has last read of a key: the offset plus 1 (0 for nothing, or for a tombstone), and when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct View {
    /// The value's offset plus 1.
    pub offset: u8,
    /// When it was read.
    pub time: u8,
}

/// A consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reader {
    /// Its position.
    pub at: u8,
    /// Where it stops: the end of the log when it began; [`NONE`] before.
    pub target: u8,
    /// What it knows of each key.
    pub view: [View; MAX_KEYS],
}

impl Default for Reader {
    fn default() -> Self {
        Self { at: 0, target: NONE, view: [View::default(); MAX_KEYS] }
    }
}

impl Reader {
    /// An answer arrives. Returns the next fetch, if there is one.
    pub fn receive(&mut self, msg: Msg) -> Option<Msg> {
        let Msg::Fetched { batch, next, end, time } = msg else { return None };
        if self.target == NONE {
            self.target = end;
        }
        for (offset, record) in batch.iter().flat_map(super::batch::Batch::keyed) {
            let view = View { offset: offset + 1, time };
            self.view[usize::from(record.key)] = if record.tombstone { View::default() } else { view };
        }
        self.at = next;
        let done = self.at >= self.target;
        if done {
            // It asks for nothing any more, and nothing is asked of it.
            *self = Self { at: self.target, target: self.target, view: [View::default(); MAX_KEYS] };
        }
        (!done).then_some(Msg::Fetch { from: self.at })
    }
}
