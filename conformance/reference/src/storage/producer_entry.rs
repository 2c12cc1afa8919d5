//! What a partition remembers of one producer (docs/compaction.md 3.4; Kafka's `ProducerStateEntry`).
//!
//! The last five data batches, so that a batch that is sent again is recognised; the epoch, so that an older incarnation is
//! refused; the transaction that is open. A change of the epoch forgets the batches: with transaction protocol 2, whose
//! markers raise the epoch, that is after each transaction, and then it is the marker that the cleaner must retain.

use std::collections::VecDeque;

use super::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};

/// How many data batches are remembered.
pub const BATCHES_TO_RETAIN: usize = 5;

/// A data batch of a producer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BatchMetadata {
    /// The sequence of its last record.
    pub last_sequence: Sequence,
    /// The offset of its last record.
    pub last_offset: Offset,
    /// Its last offset less its first.
    pub offset_delta: i32,
    /// Its max timestamp.
    pub timestamp: Millis,
}

impl BatchMetadata {
    /// The sequence of its first record.
    #[must_use]
    pub fn first_sequence(&self) -> Sequence {
        if self.last_sequence == Sequence::NONE {
            Sequence::NONE
        } else {
            self.last_sequence.plus(self.offset_delta.wrapping_neg())
        }
    }

    /// The offset of its first record.
    #[must_use]
    pub const fn first_offset(&self) -> Offset {
        Offset(self.last_offset.0.saturating_sub(self.offset_delta as i64))
    }
}

/// One producer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProducerEntry {
    /// Which.
    pub producer: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// Its last data batches of this epoch, the oldest first.
    pub batches: VecDeque<BatchMetadata>,
    /// The epoch of the coordinator that wrote its last marker.
    pub coordinator_epoch: i32,
    /// The max timestamp of its last data batch, or the timestamp of its last marker: record time, not arrival time.
    pub last_timestamp: Millis,
    /// Where its open transaction began.
    pub transaction_start: Option<Offset>,
}

impl ProducerEntry {
    /// Of a producer of which nothing is known.
    #[must_use]
    pub const fn empty(producer: ProducerId) -> Self {
        Self {
            producer,
            epoch: ProducerEpoch::NONE,
            batches: VecDeque::new(),
            coordinator_epoch: -1,
            last_timestamp: Millis::NONE,
            transaction_start: None,
        }
    }

    /// The sequence of its last record.
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        self.batches.back().map_or(Sequence::NONE, |batch| batch.last_sequence)
    }

    /// The last offset of its last data batch of this epoch.
    #[must_use]
    pub fn last_data_offset(&self) -> Option<Offset> {
        self.batches.back().map(|batch| batch.last_offset)
    }

    /// Whether it may be forgotten: no transaction is open and its last record is old enough.
    #[must_use]
    pub fn is_expired(&self, now: Millis, expiration: Millis) -> bool {
        self.transaction_start.is_none() && now.0.wrapping_sub(self.last_timestamp.0) >= expiration.0
    }

    /// The remembered batch with these sequences, if this is one that was sent again.
    #[must_use]
    pub fn find_duplicate(&self, epoch: ProducerEpoch, first: Sequence, last: Sequence) -> Option<BatchMetadata> {
        let same = |batch: &&BatchMetadata| batch.first_sequence() == first && batch.last_sequence == last;
        self.batches.iter().find(same).copied().filter(|_| epoch == self.epoch)
    }

    /// Takes another epoch; the batches of the one before are forgotten.
    pub(super) fn set_epoch(&mut self, epoch: ProducerEpoch) {
        if self.epoch != epoch {
            self.batches.clear();
            self.epoch = epoch;
        }
    }

    pub(super) fn push_batch(&mut self, batch: BatchMetadata) {
        if self.batches.len() == BATCHES_TO_RETAIN {
            self.batches.pop_front();
        }
        self.batches.push_back(batch);
    }
}
