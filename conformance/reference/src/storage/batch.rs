//! A batch of format 2, as it lies in a segment: 61 bytes of header, then records, plain or compressed
//! (docs/compaction.md 1.1 to 1.6; Kafka's `DefaultRecordBatch`).
//!
//! ```text
//!  0 base offset     8 length       12 leader epoch    16 magic          17 CRC-32C of what follows
//! 21 attributes     23 last delta   27 base timestamp  35 max timestamp
//! 43 producer id    51 its epoch    53 base sequence   57 count          61 records
//! ```
//!
//! [`RecordBatch`] is a view of bytes that are known to hold a whole header and nothing more: neither the checksum nor the
//! records have been looked at. The cleaner never looks at the checksum (docs/compaction.md 1.5).

use std::borrow::Cow;

use super::compression::{self, Compression};
use super::error::{BatchError, Fault};
use super::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use super::record::Record;
use super::record_view::RecordView;
use super::varint::Cursor;

pub use super::batch_builder::{BatchBuilder, BatchHeader};

/// The bytes of a batch without records.
pub const HEADER_BYTES: usize = 61;
/// The bytes that the length field does not count: the base offset and the length field.
pub const LOG_OVERHEAD: usize = 12;

/// A length, attributes, two deltas, no key, no value, no headers.
const LEAST_RECORD_BYTES: usize = 7;

pub(super) const LENGTH_AT: usize = 8;
pub(super) const LEADER_EPOCH_AT: usize = 12;
pub(super) const MAGIC_AT: usize = 16;
pub(super) const CRC_AT: usize = 17;
pub(super) const ATTRIBUTES_AT: usize = 21;
pub(super) const LAST_OFFSET_DELTA_AT: usize = 23;
pub(super) const BASE_TIMESTAMP_AT: usize = 27;
pub(super) const MAX_TIMESTAMP_AT: usize = 35;
pub(super) const PRODUCER_ID_AT: usize = 43;
pub(super) const PRODUCER_EPOCH_AT: usize = 51;
pub(super) const BASE_SEQUENCE_AT: usize = 53;
pub(super) const COUNT_AT: usize = 57;

pub(super) const TIMESTAMP_TYPE_BIT: i16 = 0x08;
pub(super) const TRANSACTIONAL_BIT: i16 = 0x10;
pub(super) const CONTROL_BIT: i16 = 0x20;
pub(super) const DELETE_HORIZON_BIT: i16 = 0x40;

/// What the timestamps of a batch's records tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TimestampType {
    /// When the producer made the record.
    #[default]
    CreateTime,
    /// When the log took the batch: one time for all records, which is the batch's max timestamp.
    LogAppendTime,
}

/// A view of the bytes of one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordBatch<'a> {
    bytes: &'a [u8],
}

impl<'a> RecordBatch<'a> {
    /// The batch that these bytes are, all of them: framing is the reader's
    /// ([`BatchReader`](super::batch_reader::BatchReader)). The header must be whole, and its offsets must be offsets.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BatchError> {
        let mut header = Cursor::new(bytes);
        let base = header.i64()?;
        let size = i64::from(header.i32()?) + 12;
        header.i32()?;
        let at = header.position();
        let magic = header.i8()?;
        if magic != 2 {
            return Err(BatchError::new(at, Fault::Magic(magic)));
        }
        if bytes.len() < HEADER_BYTES {
            return Err(BatchError::new(LENGTH_AT, Fault::TooSmall { size, least: HEADER_BYTES }));
        }
        if i64::try_from(bytes.len()) != Ok(size) {
            let needed = usize::try_from(size).unwrap_or(HEADER_BYTES);
            return Err(BatchError::new(LENGTH_AT, Fault::Truncated { needed, left: bytes.len() }));
        }
        let batch = Self { bytes };
        let delta = batch.last_offset_delta();
        match base.checked_add(i64::from(delta)) {
            Some(last) if base >= 0 && delta >= 0 && last < i64::MAX => Ok(batch),
            _ => Err(BatchError::new(0, Fault::OffsetRange { base, delta })),
        }
    }

    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        // `new` saw a whole header, so every field is there.
        self.bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
    }

    /// All of its bytes.
    #[must_use]
    pub const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The offset that its first record had when it was written.
    #[must_use]
    pub fn base_offset(&self) -> Offset {
        Offset(i64::from_be_bytes(self.array(0)))
    }

    /// The last offset of the batch as it was written, whether that record is still there or not.
    #[must_use]
    pub fn last_offset(&self) -> Offset {
        Offset(self.base_offset().0.saturating_add(i64::from(self.last_offset_delta())))
    }

    /// The offset after the last one.
    #[must_use]
    pub fn next_offset(&self) -> Offset {
        self.last_offset().next()
    }

    /// How far the last offset is from the base.
    #[must_use]
    pub fn last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(self.array(LAST_OFFSET_DELTA_AT))
    }

    /// The epoch of the leader that took it.
    #[must_use]
    pub fn leader_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(i32::from_be_bytes(self.array(LEADER_EPOCH_AT)))
    }

    /// The two bytes of attributes. Readers look at the lower one only.
    #[must_use]
    pub fn attributes(&self) -> i16 {
        i16::from_be_bytes(self.array(ATTRIBUTES_AT))
    }

    fn has(&self, bit: i16) -> bool {
        self.attributes() & bit != 0
    }

    /// How its records are compressed. The error is a number that no codec has.
    pub fn compression(&self) -> Result<Compression, BatchError> {
        let number = self.array::<2>(ATTRIBUTES_AT)[1] & 0x07;
        Compression::from_number(number).ok_or(BatchError::new(ATTRIBUTES_AT, Fault::Codec(number)))
    }

    /// What its timestamps tell.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        if self.has(TIMESTAMP_TYPE_BIT) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    /// Whether it belongs to a transaction.
    #[must_use]
    pub fn is_transactional(&self) -> bool {
        self.has(TRANSACTIONAL_BIT)
    }

    /// Whether it holds control records, not a producer's.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.has(CONTROL_BIT)
    }

    /// What is added to every record's timestamp delta: the first record's time when it was written, or the horizon.
    #[must_use]
    pub fn base_timestamp(&self) -> Millis {
        Millis(i64::from_be_bytes(self.array(BASE_TIMESTAMP_AT)))
    }

    /// When its tombstones, or its marker, may go (KIP-534): the base timestamp, if bit 6 says so.
    #[must_use]
    pub fn delete_horizon(&self) -> Option<Millis> {
        self.has(DELETE_HORIZON_BIT).then(|| self.base_timestamp())
    }

    /// The largest time of its records, or the time of all of them ([`TimestampType::LogAppendTime`]).
    #[must_use]
    pub fn max_timestamp(&self) -> Millis {
        Millis(i64::from_be_bytes(self.array(MAX_TIMESTAMP_AT)))
    }

    /// Who wrote it, or [`ProducerId::NONE`].
    #[must_use]
    pub fn producer_id(&self) -> ProducerId {
        ProducerId(i64::from_be_bytes(self.array(PRODUCER_ID_AT)))
    }

    /// The producer's epoch, or [`ProducerEpoch::NONE`].
    #[must_use]
    pub fn producer_epoch(&self) -> ProducerEpoch {
        ProducerEpoch(i16::from_be_bytes(self.array(PRODUCER_EPOCH_AT)))
    }

    /// The sequence of the first record as it was written, or [`Sequence::NONE`].
    #[must_use]
    pub fn base_sequence(&self) -> Sequence {
        Sequence(i32::from_be_bytes(self.array(BASE_SEQUENCE_AT)))
    }

    /// The sequence of the last record as it was written, or [`Sequence::NONE`].
    #[must_use]
    pub fn last_sequence(&self) -> Sequence {
        match self.base_sequence() {
            Sequence::NONE => Sequence::NONE,
            base => base.plus(self.last_offset_delta()),
        }
    }

    /// How many records it has now. The number is what the header says; 0 is an empty batch.
    #[must_use]
    pub fn count(&self) -> i32 {
        i32::from_be_bytes(self.array(COUNT_AT))
    }

    /// The checksum that the batch says it has.
    #[must_use]
    pub fn crc(&self) -> u32 {
        u32::from_be_bytes(self.array(CRC_AT))
    }

    /// The checksum of its bytes from the attributes on.
    #[must_use]
    pub fn computed_crc(&self) -> u32 {
        crc32c::crc32c(self.bytes.get(ATTRIBUTES_AT..).unwrap_or_default())
    }

    /// Whether the checksum is right: what a broker asks of a batch that it is sent or that it recovers.
    pub fn check_crc(&self) -> Result<(), BatchError> {
        let (stored, computed) = (self.crc(), self.computed_crc());
        if stored == computed { Ok(()) } else { Err(BatchError::new(CRC_AT, Fault::Crc { stored, computed })) }
    }

    /// Its header, to write another batch with.
    pub fn header(&self) -> Result<BatchHeader, BatchError> {
        Ok(BatchHeader {
            base_offset: self.base_offset(),
            leader_epoch: self.leader_epoch(),
            compression: self.compression()?,
            timestamp_type: self.timestamp_type(),
            transactional: self.is_transactional(),
            control: self.is_control(),
            producer_id: self.producer_id(),
            producer_epoch: self.producer_epoch(),
            base_sequence: self.base_sequence(),
        })
    }

    /// Its records, decompressed into at most [`compression::DEFAULT_LIMIT`] bytes.
    pub fn records(&self) -> Result<Vec<Record>, BatchError> {
        self.records_within(compression::DEFAULT_LIMIT)
    }

    /// Its records, decompressed into at most `limit` bytes.
    pub fn records_within(&self, limit: usize) -> Result<Vec<Record>, BatchError> {
        let plain = self.unpacked(limit)?;
        Ok(self.views(&plain)?.iter().map(RecordView::to_record).collect())
    }

    /// The bytes of its records, decompressed into at most `limit` bytes. A batch of count 0 has none, whatever follows its
    /// header.
    pub fn unpacked(&self, limit: usize) -> Result<Cow<'a, [u8]>, BatchError> {
        if self.count() <= 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let packed = self.bytes.get(HEADER_BYTES..).unwrap_or_default();
        match self.compression()? {
            Compression::None => Ok(Cow::Borrowed(packed)),
            compression => compression::decompress(compression, packed, limit)
                .map(Cow::Owned)
                .map_err(|error| error.within(HEADER_BYTES)),
        }
    }

    /// Its records in what [`Self::unpacked`] gave. Under [`TimestampType::LogAppendTime`] they all have the max timestamp.
    pub fn views<'b>(&self, plain: &'b [u8]) -> Result<Vec<RecordView<'b>>, BatchError> {
        let count = self.count();
        if count < 0 {
            return Err(BatchError::new(COUNT_AT, Fault::RecordCount(count)));
        }
        // A position in what was compressed says nothing of the file. Without records the codec may be one that nobody knows.
        let start = if count > 0 && self.compression()? == Compression::None { HEADER_BYTES } else { 0 };
        self.read_records(plain, count).map_err(|error| error.within(start))
    }

    fn read_records<'b>(&self, bytes: &'b [u8], count: i32) -> Result<Vec<RecordView<'b>>, BatchError> {
        let (base_offset, base_timestamp) = (self.base_offset(), self.base_timestamp());
        let appended_at = (self.timestamp_type() == TimestampType::LogAppendTime).then(|| self.max_timestamp());
        let mut cursor = Cursor::new(bytes);
        // The count is a claim; the bytes that are there bound what is taken.
        let most = bytes.len() / LEAST_RECORD_BYTES;
        let mut records = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(most));
        for _ in 0..count {
            let mut record = RecordView::read(&mut cursor, base_offset, base_timestamp)?;
            record.timestamp = appended_at.unwrap_or(record.timestamp);
            records.push(record);
        }
        match cursor.left() {
            0 => Ok(records),
            left => Err(cursor.fault(Fault::AfterLastRecord(left))),
        }
    }
}
