//! A record as a reader sees it (docs/consumers.md 4, 9).

use super::names::{LeaderEpoch, Offset};

/// What a record is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Entry {
    /// A value, which an application is handed.
    Value(String),
    /// The end of its producer's transaction, which is for the client alone.
    Marker {
        /// Whether it was committed.
        committed: bool,
    },
}

/// A record in a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Its offset.
    pub offset: Offset,
    /// The epoch of its leader; [`LeaderEpoch::NONE`] in a format that has none.
    pub epoch: LeaderEpoch,
    /// What it is.
    pub entry: Entry,
    /// Whose transaction it belongs to.
    pub producer: Option<String>,
}

impl Record {
    /// Its epoch, where it has one.
    #[must_use]
    pub fn known_epoch(&self) -> Option<LeaderEpoch> {
        Some(self.epoch).filter(|epoch| *epoch != LeaderEpoch::NONE)
    }

    /// Its time, where a look-up by time needs one: later epochs are later, and later offsets within them.
    #[must_use]
    pub fn timestamp(&self) -> i64 {
        timestamp(self.epoch, self.offset)
    }

    /// Whether it ends a transaction that was aborted.
    #[must_use]
    pub const fn is_abort(&self) -> bool {
        matches!(self.entry, Entry::Marker { committed: false })
    }
}

/// The time of the record at `offset`, written in `epoch`.
#[must_use]
pub fn timestamp(epoch: LeaderEpoch, offset: Offset) -> i64 {
    i64::from(epoch.0).saturating_mul(10).saturating_add(offset.0)
}
