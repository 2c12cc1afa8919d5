//! With which offset each leader of a log began, as pure operations (docs/replication.md 1.2, 1.3; Kafka's
//! `LeaderEpochFileCache`). The file that has the same is in [`leader_epoch_checkpoint`](super::leader_epoch_checkpoint).
//!
//! Epochs strictly rise, and so do their offsets. The last entry may be of a leader that has written nothing: its start is
//! the log's end.

use super::names::{LeaderEpoch, Offset};

/// The start of a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEntry {
    /// The leader's epoch.
    pub epoch: LeaderEpoch,
    /// The first offset that it wrote, or the log's end at its election.
    pub start_offset: Offset,
}

/// Where a leader's records end: the answer of `OffsetsForLeaderEpoch`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochEnd {
    /// The largest epoch that is not above the one that was asked for; none in an answer of version 0, and in no answer.
    pub epoch: LeaderEpoch,
    /// The offset after its last record; -1 if that cannot be told.
    pub end_offset: Offset,
}

impl EpochEnd {
    /// It cannot be told.
    pub const UNDEFINED: Self = Self { epoch: LeaderEpoch::NONE, end_offset: Offset(-1) };

    /// Whether there is an offset.
    #[must_use]
    pub const fn is_defined(&self) -> bool {
        self.end_offset.0 >= 0
    }
}

/// A negative epoch or offset was to be assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("epoch {epoch} cannot begin at {start_offset}")]
pub struct InvalidEntry {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The offset.
    pub start_offset: Offset,
}

/// The leaders of a log. See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EpochCache {
    entries: Vec<EpochEntry>,
}

impl EpochCache {
    /// Entries in the order in which they were assigned.
    pub fn from_entries(entries: impl IntoIterator<Item = EpochEntry>) -> Result<Self, InvalidEntry> {
        let mut cache = Self::default();
        for entry in entries {
            cache.assign(entry.epoch, entry.start_offset)?;
        }
        Ok(cache)
    }

    /// The entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// The latest epoch, even if it has no record yet.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// The epoch of the record at an offset; none below the first entry.
    #[must_use]
    pub fn epoch_for_offset(&self, offset: Offset) -> Option<LeaderEpoch> {
        self.entries.iter().rev().find(|entry| entry.start_offset <= offset).map(|entry| entry.epoch)
    }

    /// Notes that `epoch` begins at `start_offset`, and drops every entry that contradicts it: a lower epoch than the
    /// latest is accepted. Whether something changed.
    pub fn assign(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> Result<bool, InvalidEntry> {
        if epoch.0 < 0 || start_offset.0 < 0 {
            return Err(InvalidEntry { epoch, start_offset });
        }
        if self.entries.last().is_some_and(|latest| latest.epoch == epoch && start_offset >= latest.start_offset) {
            return Ok(false);
        }
        while self.entries.pop_if(|entry| entry.epoch >= epoch || entry.start_offset >= start_offset).is_some() {}
        self.entries.push(EpochEntry { epoch, start_offset });
        Ok(true)
    }

    /// The same under the rule of KIP-101: nothing is ever dropped, so what contradicts an entry is not noted.
    pub fn assign_rising(&mut self, epoch: LeaderEpoch, start_offset: Offset) -> Result<bool, InvalidEntry> {
        if epoch.0 < 0 || start_offset.0 < 0 {
            return Err(InvalidEntry { epoch, start_offset });
        }
        if self.entries.last().is_some_and(|latest| epoch <= latest.epoch || start_offset < latest.start_offset) {
            return Ok(false);
        }
        self.entries.push(EpochEntry { epoch, start_offset });
        Ok(true)
    }

    /// Drops the leaders that began at `end` or later: the log is cut there. Whether something changed.
    pub fn truncate_from_end(&mut self, end: Offset) -> bool {
        let before = self.entries.len();
        if end.0 >= 0 {
            while self.entries.pop_if(|entry| entry.start_offset >= end).is_some() {}
        }
        self.entries.len() != before
    }

    /// Drops the leaders that ended at `start` or before; the one that wrote `start` now begins there. Whether an entry was
    /// touched, even if it is put back as it was.
    pub fn truncate_from_start(&mut self, start: Offset) -> bool {
        let dropped = self.entries.partition_point(|entry| entry.start_offset <= start);
        let Some(current) = dropped.checked_sub(1) else { return false };
        self.entries.drain(..current);
        if let Some(first) = self.entries.first_mut() {
            first.start_offset = start;
        }
        true
    }

    /// Drops all. Whether something changed.
    pub fn clear(&mut self) -> bool {
        !std::mem::take(&mut self.entries).is_empty()
    }

    /// Where the records of `requested` end in a log that ends at `log_end` (docs/replication.md 1.3, the five cases).
    #[must_use]
    pub fn end_offset_for(&self, requested: LeaderEpoch, log_end: Offset) -> EpochEnd {
        let floor = self.entries.iter().rev().find(|entry| entry.epoch <= requested);
        let higher = self.entries.iter().find(|entry| entry.epoch > requested);
        match (floor, higher) {
            _ if requested == LeaderEpoch::NONE => EpochEnd::UNDEFINED,
            (Some(latest), None) if latest.epoch == requested => EpochEnd { epoch: requested, end_offset: log_end },
            (_, None) => EpochEnd::UNDEFINED,
            // Older than all: what was written before the first entry ends there (KAFKA-7415).
            (None, Some(first)) => EpochEnd { epoch: requested, end_offset: first.start_offset },
            (Some(floor), Some(higher)) => EpochEnd { epoch: floor.epoch, end_offset: higher.start_offset },
        }
    }

    /// The same under the rule of KIP-101, which knows nothing of an epoch older than all.
    #[must_use]
    pub fn end_offset_before_7415(&self, requested: LeaderEpoch, log_end: Offset) -> EpochEnd {
        if self.entries.first().is_none_or(|first| requested < first.epoch) {
            return EpochEnd::UNDEFINED;
        }
        self.end_offset_for(requested, log_end)
    }
}
