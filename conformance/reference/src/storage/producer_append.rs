//! Whether a batch of a producer may be appended, and what it does to the producer's entry (Kafka's
//! `ProducerAppendInfo`).
//!
//! | Batch | Origin | Refused if |
//! | --- | --- | --- |
//! | data | client | its epoch is older; its sequence does not follow (0 in a new epoch; anything after nothing) |
//! | data, no transaction | any but a replay | a transaction is open |
//! | marker, protocol 1 | coordinator | its epoch is older |
//! | marker, protocol 2 | coordinator | its epoch is not newer; the same epoch passes if no transaction is open (KAFKA-19999) |
//! | marker | coordinator | its coordinator's epoch is older |
//!
//! Of what a leader already accepted (a follower's batches, a replay) epochs and sequences are not checked again.

use super::log_error::AppendError;
use super::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use super::producer_entry::{BatchMetadata, ProducerEntry};
use super::transaction_tracker::AbortedTxn;

/// Where a batch comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AppendOrigin {
    /// A producer.
    Client,
    /// The transaction coordinator, with its transaction protocol.
    Coordinator(TransactionProtocol),
    /// The leader.
    Replication,
    /// The log itself, when it is opened. What is in it is taken as it is: a record that was valid once is not lost
    /// because its producer's state no longer explains it.
    Replay,
}

/// How a coordinator ends transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionProtocol {
    /// The marker has the producer's epoch.
    One,
    /// The epoch is raised before the marker is written (KIP-890).
    Two,
}

/// A data batch, as far as its producer is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataBatch {
    /// The producer's epoch.
    pub epoch: ProducerEpoch,
    /// The sequence of its first record.
    pub first_sequence: Sequence,
    /// The sequence of its last record.
    pub last_sequence: Sequence,
    /// Its base offset.
    pub first_offset: Offset,
    /// Its last offset.
    pub last_offset: Offset,
    /// Its max timestamp.
    pub max_timestamp: Millis,
    /// Whether it belongs to a transaction.
    pub transactional: bool,
}

/// The end of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndMarker {
    /// The epoch that the marker has.
    pub epoch: ProducerEpoch,
    /// The epoch of its coordinator.
    pub coordinator_epoch: i32,
    /// Whether it commits.
    pub commit: bool,
    /// Its offset.
    pub offset: Offset,
    /// Its record's timestamp.
    pub timestamp: Millis,
}

/// A transaction that a marker has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletedTransaction {
    /// Whose it was.
    pub producer: ProducerId,
    /// Where its data began.
    pub first_offset: Offset,
    /// Where its marker is.
    pub last_offset: Offset,
    /// Whether it was aborted.
    pub aborted: bool,
}

impl ProducerEntry {
    /// Takes a data batch, or says why not; refused, the entry is as it was.
    pub fn append_data(&mut self, origin: AppendOrigin, batch: &DataBatch) -> Result<(), AppendError> {
        let checked = matches!(origin, AppendOrigin::Client | AppendOrigin::Coordinator(_));
        if checked && batch.epoch < self.epoch {
            return Err(self.invalid_epoch(batch.epoch));
        }
        if origin == AppendOrigin::Client {
            self.check_sequence(batch)?;
        }
        if self.transaction_start.is_some() && !batch.transactional && origin != AppendOrigin::Replay {
            return Err(AppendError::InvalidTxnState { producer: self.producer });
        }
        self.set_epoch(batch.epoch);
        let delta = batch.last_offset.0.saturating_sub(batch.first_offset.0);
        self.push_batch(BatchMetadata {
            last_sequence: batch.last_sequence,
            last_offset: batch.last_offset,
            offset_delta: i32::try_from(delta).unwrap_or(i32::MAX),
            timestamp: batch.max_timestamp,
        });
        self.last_timestamp = batch.max_timestamp;
        if batch.transactional && self.transaction_start.is_none() {
            self.transaction_start = Some(batch.first_offset);
        }
        Ok(())
    }

    /// Takes a marker, or says why not; refused, the entry is as it was. The marker of a transaction without data here
    /// completes nothing: it has no part in the last stable offset and no entry in the transaction index.
    pub fn append_marker(
        &mut self,
        origin: AppendOrigin,
        marker: &EndMarker,
    ) -> Result<Option<CompletedTransaction>, AppendError> {
        if let AppendOrigin::Coordinator(protocol) = origin {
            self.check_marker_epoch(protocol, marker.epoch)?;
            if self.coordinator_epoch > marker.coordinator_epoch {
                let (given, current) = (marker.coordinator_epoch, self.coordinator_epoch);
                return Err(AppendError::TransactionCoordinatorFenced { producer: self.producer, given, current });
            }
        }
        let completed = self.transaction_start.take().map(|first_offset| CompletedTransaction {
            producer: self.producer,
            first_offset,
            last_offset: marker.offset,
            aborted: !marker.commit,
        });
        self.set_epoch(marker.epoch);
        self.coordinator_epoch = marker.coordinator_epoch;
        self.last_timestamp = marker.timestamp;
        Ok(completed)
    }

    fn check_marker_epoch(&self, protocol: TransactionProtocol, epoch: ProducerEpoch) -> Result<(), AppendError> {
        let valid = match protocol {
            TransactionProtocol::One => epoch >= self.epoch,
            TransactionProtocol::Two => epoch > self.epoch || (epoch == self.epoch && self.transaction_start.is_none()),
        };
        if valid { Ok(()) } else { Err(self.invalid_epoch(epoch)) }
    }

    fn check_sequence(&self, batch: &DataBatch) -> Result<(), AppendError> {
        let last = self.last_sequence();
        let follows = if self.epoch == ProducerEpoch::NONE {
            // Nothing is known of the producer, as after its records were removed: any sequence will do.
            true
        } else if batch.epoch != self.epoch {
            batch.first_sequence == Sequence(0)
        } else {
            i64::from(batch.first_sequence.0) == i64::from(last.0) + 1
                || (batch.first_sequence == Sequence(0) && last == Sequence(i32::MAX))
        };
        if follows {
            Ok(())
        } else {
            Err(AppendError::OutOfOrderSequence { producer: self.producer, given: batch.first_sequence, last })
        }
    }

    fn invalid_epoch(&self, given: ProducerEpoch) -> AppendError {
        AppendError::InvalidProducerEpoch { producer: self.producer, given, current: self.epoch }
    }
}

impl CompletedTransaction {
    /// Its entry in the transaction index.
    #[must_use]
    pub const fn aborted_transaction(&self, last_stable_offset: Offset) -> AbortedTxn {
        AbortedTxn {
            producer_id: self.producer,
            first_offset: self.first_offset,
            last_offset: self.last_offset,
            last_stable_offset,
        }
    }
}
