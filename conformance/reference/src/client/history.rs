//! The epochs that a client has read, and what they tell of a truncation (docs/consumers.md 7c; the walk is that of KIP-279,
//! docs/replication.md 2.5).

use super::names::{LeaderEpoch, Offset};
use crate::storage::epoch_cache::{EpochCache, EpochEnd, EpochEntry};

/// Each epoch with the first offset that was read of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History {
    epochs: EpochCache,
}

/// Where the logs part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Divergence {
    /// The offset.
    pub offset: Offset,
    /// Whether that is it; else the leader is asked again, about what is before.
    pub finished: bool,
}

/// Where the logs part, by an answer to a question about the last epoch before `position`: `end` is where the largest epoch
/// ends that the leader has of those up to it.
#[must_use]
pub fn divergence(history: &History, position: Offset, end: EpochEnd) -> Divergence {
    let own = history.epochs.end_offset_for(end.epoch, position);
    let finished = |offset: Offset| Divergence { offset: offset.min(position), finished: true };
    match () {
        // Nothing to compare with: nothing was read of that epoch, or after it.
        () if !own.is_defined() => finished(end.end_offset),
        () if own.epoch != end.epoch => Divergence { offset: own.end_offset.min(position), finished: false },
        () => finished(own.end_offset.min(end.end_offset)),
    }
}

impl History {
    /// The history that these entries are. Entries that contradict each other are left out.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = EpochEntry>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.read(entry.epoch, entry.start_offset);
        }
        history
    }

    /// A record was read.
    pub(super) fn read(&mut self, epoch: LeaderEpoch, offset: Offset) {
        // A second time, after a seek: nothing new.
        let known = self.epochs.epoch_for_offset(offset) == Some(epoch);
        if !known {
            // Refused are epochs and offsets below 0, which no record has.
            let _ = self.epochs.assign(epoch, offset);
        }
    }

    /// What was read from here on is of another log.
    pub(super) fn truncate(&mut self, offset: Offset) {
        self.epochs.truncate_from_end(offset);
    }

    /// The epoch of the record before an offset.
    #[must_use]
    pub fn epoch_before(&self, offset: Offset) -> Option<LeaderEpoch> {
        (offset > Offset(0)).then(|| self.epochs.epoch_for_offset(Offset(offset.0 - 1))).flatten()
    }

    /// The entries.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        self.epochs.entries()
    }
}
