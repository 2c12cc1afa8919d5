//! Writing a batch of format 2, and changing in place what a leader assigns (docs/compaction.md 1.1, 1.7; Kafka's
//! `MemoryRecordsBuilder`, `DefaultRecordBatch#writeHeader`, `#setLastOffset`, `#setMaxTimestamp`).

use super::batch::{
    ATTRIBUTES_AT, BASE_SEQUENCE_AT, BASE_TIMESTAMP_AT, CONTROL_BIT, COUNT_AT, CRC_AT, DELETE_HORIZON_BIT,
    HEADER_BYTES, LAST_OFFSET_DELTA_AT, LEADER_EPOCH_AT, LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, MAX_TIMESTAMP_AT,
    PRODUCER_EPOCH_AT, PRODUCER_ID_AT, RecordBatch, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT, TimestampType,
};
use super::compression::{self, Compression};
use super::error::{BatchError, Fault};
use super::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use super::record::Record;
use super::record_view::RecordView;

/// What a batch says of itself before its records are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchHeader {
    /// The base offset.
    pub base_offset: Offset,
    /// The leader's epoch.
    pub leader_epoch: LeaderEpoch,
    /// How the records are compressed.
    pub compression: Compression,
    /// What the timestamps tell.
    pub timestamp_type: TimestampType,
    /// Whether it belongs to a transaction.
    pub transactional: bool,
    /// Whether it holds control records.
    pub control: bool,
    /// Who wrote it.
    pub producer_id: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// The sequence of the first record.
    pub base_sequence: Sequence,
}

impl BatchHeader {
    /// A plain batch of no producer, at this offset.
    #[must_use]
    pub const fn plain(base_offset: Offset) -> Self {
        Self {
            base_offset,
            leader_epoch: LeaderEpoch::NONE,
            compression: Compression::None,
            timestamp_type: TimestampType::CreateTime,
            transactional: false,
            control: false,
            producer_id: ProducerId::NONE,
            producer_epoch: ProducerEpoch::NONE,
            base_sequence: Sequence::NONE,
        }
    }
}

/// A batch that is being written.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    header: BatchHeader,
    delete_horizon: Option<Millis>,
    last_offset: Option<Offset>,
    max_timestamp: Option<Millis>,
    records: Vec<Record>,
}

impl BatchBuilder {
    /// A batch with this header and no records yet.
    #[must_use]
    pub const fn new(header: BatchHeader) -> Self {
        Self { header, delete_horizon: None, last_offset: None, max_timestamp: None, records: Vec::new() }
    }

    /// Sets the delete horizon: bit 6, and the base timestamp (KIP-534). One below 0 is none.
    #[must_use]
    pub fn delete_horizon(mut self, horizon: Option<Millis>) -> Self {
        self.delete_horizon = horizon.filter(|horizon| *horizon >= Millis(0));
        self
    }

    /// Sets the last offset of the batch, which is else the last record's.
    #[must_use]
    pub const fn last_offset(mut self, offset: Offset) -> Self {
        self.last_offset = Some(offset);
        self
    }

    /// Sets the max timestamp, which is else the largest of the records'. A batch of
    /// [`TimestampType::LogAppendTime`] has the time of the append here.
    #[must_use]
    pub const fn max_timestamp(mut self, timestamp: Millis) -> Self {
        self.max_timestamp = Some(timestamp);
        self
    }

    /// Adds a record.
    #[must_use]
    pub fn record(mut self, record: Record) -> Self {
        self.records.push(record);
        self
    }

    /// Adds records.
    #[must_use]
    pub fn records(mut self, records: impl IntoIterator<Item = Record>) -> Self {
        self.records.extend(records);
        self
    }

    /// The bytes. The errors are the records' offsets: each must be above the one before, and none below the base or
    /// more than 2^31-1 above it.
    pub fn build(&self) -> Result<Vec<u8>, BatchError> {
        let records: Vec<_> = self.records.iter().map(Record::view).collect();
        self.build_with(&records)
    }

    /// The bytes of a batch with these records in place of those that were added.
    pub fn build_with(&self, records: &[RecordView<'_>]) -> Result<Vec<u8>, BatchError> {
        let header = &self.header;
        let base = header.base_offset;
        let base_timestamp =
            self.delete_horizon.or_else(|| records.first().map(|record| record.timestamp)).unwrap_or(Millis::NONE);
        let mut plain = Vec::new();
        let mut previous = None;
        let mut largest = Millis::NONE;
        for record in records {
            let in_order = previous.map_or(record.offset >= base, |previous| record.offset > previous);
            if !in_order {
                let previous = previous.unwrap_or(base);
                return Err(BatchError::new(0, Fault::OffsetOrder { offset: record.offset, previous }));
            }
            record.write(&mut plain, base, base_timestamp)?;
            previous = Some(record.offset);
            largest = largest.max(record.timestamp);
        }
        let last = self.last_offset.or(previous).unwrap_or(base);
        let packed = compression::compress(header.compression, plain)?;
        let size = HEADER_BYTES + packed.len();
        let too_large = || BatchError::new(LENGTH_AT, Fault::TooLarge { size, limit: LIMIT });
        let delta = last.0.checked_sub(base.0).and_then(|delta| i32::try_from(delta).ok());
        let delta = delta.ok_or(BatchError::new(0, Fault::OffsetOrder { offset: last, previous: base }))?;

        let mut bytes = vec![0; HEADER_BYTES];
        put(&mut bytes, 0, base.0.to_be_bytes());
        put(&mut bytes, LENGTH_AT, i32::try_from(size - LOG_OVERHEAD).map_err(|_| too_large())?.to_be_bytes());
        put(&mut bytes, LEADER_EPOCH_AT, header.leader_epoch.0.to_be_bytes());
        put(&mut bytes, MAGIC_AT, [2]);
        put(&mut bytes, ATTRIBUTES_AT, self.attributes().to_be_bytes());
        put(&mut bytes, LAST_OFFSET_DELTA_AT, delta.to_be_bytes());
        put(&mut bytes, BASE_TIMESTAMP_AT, base_timestamp.0.to_be_bytes());
        put(&mut bytes, MAX_TIMESTAMP_AT, self.max_timestamp.unwrap_or(largest).0.to_be_bytes());
        put(&mut bytes, PRODUCER_ID_AT, header.producer_id.0.to_be_bytes());
        put(&mut bytes, PRODUCER_EPOCH_AT, header.producer_epoch.0.to_be_bytes());
        put(&mut bytes, BASE_SEQUENCE_AT, header.base_sequence.0.to_be_bytes());
        let count = i32::try_from(records.len()).map_err(|_| too_large())?;
        put(&mut bytes, COUNT_AT, count.to_be_bytes());
        bytes.extend_from_slice(&packed);
        // What reads it back refuses a base below 0, so this does too.
        RecordBatch::new(&bytes)?;
        put_crc(&mut bytes);
        Ok(bytes)
    }

    fn attributes(&self) -> i16 {
        let mut attributes = i16::from(self.header.compression.number());
        for (set, bit) in [
            (self.header.timestamp_type == TimestampType::LogAppendTime, TIMESTAMP_TYPE_BIT),
            (self.header.transactional, TRANSACTIONAL_BIT),
            (self.header.control, CONTROL_BIT),
            (self.delete_horizon.is_some(), DELETE_HORIZON_BIT),
        ] {
            if set {
                attributes |= bit;
            }
        }
        attributes
    }
}

const LIMIT: usize = i32::MAX as usize;

/// Moves a batch so that its base has this offset: what a leader does with a batch that it takes. The checksum does not
/// cover it.
pub fn set_base_offset(batch: &mut [u8], base: Offset) -> Result<(), BatchError> {
    let delta = RecordBatch::new(batch)?.last_offset_delta();
    let last = base.0.checked_add(i64::from(delta));
    if base.0 < 0 || last.is_none_or(|last| last == i64::MAX) {
        return Err(BatchError::new(0, Fault::OffsetRange { base: base.0, delta }));
    }
    put(batch, 0, base.0.to_be_bytes());
    Ok(())
}

/// Sets the leader's epoch. The checksum does not cover it.
pub fn set_leader_epoch(batch: &mut [u8], epoch: LeaderEpoch) -> Result<(), BatchError> {
    RecordBatch::new(batch)?;
    put(batch, LEADER_EPOCH_AT, epoch.0.to_be_bytes());
    Ok(())
}

/// Sets the max timestamp and what it tells, and the checksum if that changed something. Bit 6 stays: a client that set
/// it keeps its horizon (N6 of docs/compaction.md 5.3); the unused upper byte of the attributes becomes 0.
pub fn set_max_timestamp(batch: &mut [u8], kind: TimestampType, timestamp: Millis) -> Result<(), BatchError> {
    let view = RecordBatch::new(batch)?;
    if view.timestamp_type() == kind && view.max_timestamp() == timestamp {
        return Ok(());
    }
    let attributes = match kind {
        TimestampType::CreateTime => view.attributes() & 0x7f & !TIMESTAMP_TYPE_BIT,
        TimestampType::LogAppendTime => view.attributes() & 0x7f | TIMESTAMP_TYPE_BIT,
    };
    put(batch, ATTRIBUTES_AT, attributes.to_be_bytes());
    put(batch, MAX_TIMESTAMP_AT, timestamp.0.to_be_bytes());
    put_crc(batch);
    Ok(())
}

/// Clears bit 6, and sets the checksum if it was set: what a leader that trusts no client's horizon does with a batch
/// (the repair of N6). The base timestamp stays, so no record's time changes.
pub fn clear_delete_horizon(batch: &mut [u8]) -> Result<(), BatchError> {
    let attributes = RecordBatch::new(batch)?.attributes();
    if attributes & DELETE_HORIZON_BIT != 0 {
        put(batch, ATTRIBUTES_AT, (attributes & !DELETE_HORIZON_BIT).to_be_bytes());
        put_crc(batch);
    }
    Ok(())
}

fn put_crc(bytes: &mut [u8]) {
    let crc = crc32c::crc32c(bytes.get(ATTRIBUTES_AT..).unwrap_or_default());
    put(bytes, CRC_AT, crc.to_be_bytes());
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    // Every caller made the header, or had it checked.
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = field;
    }
}
