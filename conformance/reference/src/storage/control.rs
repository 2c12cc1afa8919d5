//! Control records: what brokers write into a log for themselves (docs/compaction.md 1.4; Kafka's `ControlRecordType`,
//! `EndTransactionMarker`).
//!
//! A control batch without records is legal after compaction and means "already cleaned": it does not tell what it was
//! (KAFKA-7467).

use super::batch::{BatchBuilder, BatchHeader};
use super::error::{BatchError, Fault};
use super::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId};
use super::record::Record;
use super::varint::Cursor;

/// What a control record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ControlType {
    /// Type 0: a transaction ends, and its records count as if they had never been written.
    Abort,
    /// Type 1: a transaction ends, and its records count.
    Commit,
    /// Types 2 to 6, of `KRaft`, and what later versions add. Kept for ever.
    Other(i16),
}

/// The end of a transaction, as a marker tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Marker {
    /// Whether it commits.
    pub commit: bool,
    /// The epoch of the coordinator that wrote it.
    pub coordinator_epoch: i32,
}

impl ControlType {
    /// What this control record is. Longer keys and versions above 0 are taken, as Kafka takes them.
    pub fn of(record: &Record) -> Result<Self, BatchError> {
        let key = record.key.as_deref().unwrap_or_default();
        let mut cursor = Cursor::new(key);
        let (Ok(version), Ok(kind)) = (cursor.i16(), cursor.i16()) else {
            return Err(BatchError::new(0, Fault::Control("key has fewer than 4 bytes")));
        };
        if version < 0 {
            return Err(BatchError::new(0, Fault::Control("key has a negative version")));
        }
        Ok(match kind {
            0 => Self::Abort,
            1 => Self::Commit,
            other => Self::Other(other),
        })
    }
}

impl Marker {
    /// The marker that this control record is, `None` if it is another kind of control record. Longer values and
    /// versions above 0 are taken.
    pub fn of(record: &Record) -> Result<Option<Self>, BatchError> {
        let commit = match ControlType::of(record)? {
            ControlType::Abort => false,
            ControlType::Commit => true,
            ControlType::Other(_) => return Ok(None),
        };
        let mut cursor = Cursor::new(record.value.as_deref().unwrap_or_default());
        let (Ok(version), Ok(coordinator_epoch)) = (cursor.i16(), cursor.i32()) else {
            return Err(BatchError::new(0, Fault::Control("value has fewer than 6 bytes")));
        };
        if version < 0 {
            return Err(BatchError::new(0, Fault::Control("value has a negative version")));
        }
        Ok(Some(Self { commit, coordinator_epoch }))
    }

    /// The control record.
    #[must_use]
    pub fn record(self, offset: Offset, timestamp: Millis) -> Record {
        let key = [0, 0, 0, u8::from(self.commit)];
        let [a, b, c, d] = self.coordinator_epoch.to_be_bytes();
        Record::new(offset, timestamp, Some(&key), Some(&[0, 0, a, b, c, d]))
    }

    /// The control batch with this marker alone.
    pub fn batch(
        self,
        offset: Offset,
        timestamp: Millis,
        leader_epoch: LeaderEpoch,
        producer_id: ProducerId,
        producer_epoch: ProducerEpoch,
    ) -> Result<Vec<u8>, BatchError> {
        let header = BatchHeader {
            leader_epoch,
            transactional: true,
            control: true,
            producer_id,
            producer_epoch,
            ..BatchHeader::plain(offset)
        };
        BatchBuilder::new(header).record(self.record(offset, timestamp)).build()
    }
}
