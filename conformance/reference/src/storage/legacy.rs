//! Batches of formats 0 and 1, from before Kafka 0.11 (Kafka's `LegacyRecord`, `AbstractLegacyRecordBatch`).
//!
//! ```text
//! 0 offset    8 length    12 CRC-32 of what follows    16 magic    17 attributes    18 time (format 1)    key    value
//! ```
//!
//! Such a batch is one record, or a *wrapper*: a record whose value is compressed records of the same form. A wrapper has
//! the offset of its last record; in format 1 the offsets inside count from the first, in format 0 they are whole.

use super::batch::{LOG_OVERHEAD, MAGIC_AT, TimestampType};
use super::compression::{self, Compression};
use super::error::{BatchError, Fault};
use super::names::{Millis, Offset, ProducerEpoch, ProducerId};
use super::record::Record;
use super::varint::Cursor;

const CRC_AT: usize = LOG_OVERHEAD;
const ATTRIBUTES_AT: usize = MAGIC_AT + 1;

/// A view of the bytes of one batch of format 0 or 1, whose fields are all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegacyBatch<'a> {
    bytes: &'a [u8],
    fields: Fields<'a>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fields<'a> {
    offset: i64,
    crc: u32,
    magic: i8,
    attributes: u8,
    timestamp: Millis,
    key: Option<&'a [u8]>,
    value: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, BatchError> {
        let mut cursor = Cursor::new(bytes);
        let offset = cursor.i64()?;
        cursor.i32()?;
        let crc = cursor.u32()?;
        let at = cursor.position();
        let magic = cursor.i8()?;
        if !(0..=1).contains(&magic) {
            return Err(BatchError::new(at, Fault::Magic(magic)));
        }
        let attributes = cursor.i8()?.cast_unsigned();
        let timestamp = if magic == 0 { Millis::NONE } else { Millis(cursor.i64()?) };
        let key = Self::part(&mut cursor)?;
        let value = Self::part(&mut cursor)?;
        match cursor.left() {
            0 => Ok(Self { offset, crc, magic, attributes, timestamp, key, value }),
            left => Err(cursor.fault(Fault::AfterLastRecord(left))),
        }
    }

    /// Bytes after their length; every length below 0 is null.
    fn part(cursor: &mut Cursor<'a>) -> Result<Option<&'a [u8]>, BatchError> {
        match usize::try_from(cursor.i32()?) {
            Ok(length) => cursor.take(length).map(Some),
            Err(_) => Ok(None),
        }
    }

    fn compression(&self) -> Result<Compression, BatchError> {
        match Compression::from_number(self.attributes & 0x07) {
            Some(codec) if codec != Compression::Zstd => Ok(codec),
            _ => Err(BatchError::new(ATTRIBUTES_AT, Fault::Codec(self.attributes & 0x07))),
        }
    }

    fn timestamp_type(&self) -> TimestampType {
        if self.magic == 1 && self.attributes & 0x08 != 0 {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }
}

impl<'a> LegacyBatch<'a> {
    /// The batch that these bytes are, all of them.
    pub fn new(bytes: &'a [u8]) -> Result<Self, BatchError> {
        let fields = Fields::read(bytes)?;
        let size = Cursor::new(bytes.get(8..).unwrap_or_default()).i32()?;
        if i64::try_from(bytes.len()) != Ok(i64::from(size) + 12) {
            let needed = usize::try_from(size).unwrap_or_default().saturating_add(LOG_OVERHEAD);
            return Err(BatchError::new(8, Fault::Truncated { needed, left: bytes.len() }));
        }
        if !(0..i64::MAX).contains(&fields.offset) {
            return Err(BatchError::new(0, Fault::OffsetRange { base: fields.offset, delta: 0 }));
        }
        Ok(Self { bytes, fields })
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

    /// 0 or 1.
    #[must_use]
    pub const fn magic(&self) -> i8 {
        self.fields.magic
    }

    /// The one offset that its outside tells, which is its last. The first one of a wrapper is inside.
    #[must_use]
    pub const fn base_offset(&self) -> Offset {
        self.last_offset()
    }

    /// The offset of its last record.
    #[must_use]
    pub const fn last_offset(&self) -> Offset {
        Offset(self.fields.offset)
    }

    /// The offset after it.
    #[must_use]
    pub const fn next_offset(&self) -> Offset {
        self.last_offset().next()
    }

    /// Never: these formats have no control batches.
    #[must_use]
    pub const fn is_control(&self) -> bool {
        false
    }

    /// Never: these formats have no transactions.
    #[must_use]
    pub const fn is_transactional(&self) -> bool {
        false
    }

    /// None: these formats have no place for it.
    #[must_use]
    pub const fn delete_horizon(&self) -> Option<Millis> {
        None
    }

    /// The time of its outer record, which is the largest inside. None in format 0.
    #[must_use]
    pub const fn max_timestamp(&self) -> Millis {
        self.fields.timestamp
    }

    /// What its times tell.
    #[must_use]
    pub fn timestamp_type(&self) -> TimestampType {
        self.fields.timestamp_type()
    }

    /// How what is inside is compressed.
    pub fn compression(&self) -> Result<Compression, BatchError> {
        self.fields.compression()
    }

    /// None: these formats have no producers.
    #[must_use]
    pub const fn producer_id(&self) -> ProducerId {
        ProducerId::NONE
    }

    /// None: these formats have no producers.
    #[must_use]
    pub const fn producer_epoch(&self) -> ProducerEpoch {
        ProducerEpoch::NONE
    }

    /// Whether the checksum of the outer record is right.
    pub fn check_crc(&self) -> Result<(), BatchError> {
        let computed = crc32(self.bytes.get(MAGIC_AT..).unwrap_or_default());
        let stored = self.fields.crc;
        if stored == computed { Ok(()) } else { Err(BatchError::new(CRC_AT, Fault::Crc { stored, computed })) }
    }

    /// Its records, decompressed into at most [`compression::DEFAULT_LIMIT`] bytes.
    pub fn records(&self) -> Result<Vec<Record>, BatchError> {
        self.records_within(compression::DEFAULT_LIMIT)
    }

    /// Its records, decompressed into at most `limit` bytes.
    pub fn records_within(&self, limit: usize) -> Result<Vec<Record>, BatchError> {
        let codec = self.compression()?;
        if codec == Compression::None {
            let Fields { timestamp, key, value, .. } = self.fields;
            return Ok(vec![Record::new(self.last_offset(), timestamp, key, value)]);
        }
        let plain = self.unwrap(codec, limit)?;
        let entries = entries(&plain)?;
        let Some(last) = entries.last() else {
            return Err(BatchError::new(0, Fault::Legacy("a wrapper without records")));
        };
        let first = match self.fields.magic {
            0 => 0,
            // Some producers leave the wrapper's offset at 0.
            _ if self.fields.offset == 0 => 0,
            _ if self.fields.offset < last.offset => {
                return Err(BatchError::new(
                    0,
                    Fault::Legacy("a wrapper whose offset is below that of its last record"),
                ));
            }
            _ => self.fields.offset - last.offset,
        };
        let wrapper_time = (self.timestamp_type() == TimestampType::LogAppendTime).then_some(self.fields.timestamp);
        entries.iter().map(|entry| entry.record(first, wrapper_time)).collect()
    }

    /// Whether a record inside is of another format than the outside, or cannot be read (KAFKA-4298).
    #[must_use]
    pub fn mixes_formats(&self) -> bool {
        match self.compression() {
            Ok(Compression::None) => false,
            Ok(codec) => self
                .unwrap(codec, compression::DEFAULT_LIMIT)
                .and_then(|plain| Ok(entries(&plain)?.iter().any(|entry| entry.magic != self.fields.magic)))
                .unwrap_or(true),
            Err(_) => true,
        }
    }

    fn unwrap(&self, codec: Compression, limit: usize) -> Result<Vec<u8>, BatchError> {
        let value = self.fields.value.ok_or(BatchError::new(0, Fault::Legacy("a wrapper without a value")))?;
        if (self.fields.magic, codec) == (0, Compression::Lz4) {
            // Producers of format 0 counted the frame's magic into its header checksum, so nobody looks at it.
            return compression::decompress(codec, &compression::with_lz4_header_checksum(value), limit);
        }
        compression::decompress(codec, value, limit)
    }
}

/// The records inside of a wrapper. Like a buffer of batches, they may end inside of one.
fn entries(plain: &[u8]) -> Result<Vec<Fields<'_>>, BatchError> {
    let mut entries = Vec::new();
    let mut cursor = Cursor::new(plain);
    while cursor.left() >= LOG_OVERHEAD {
        let start = cursor.position();
        cursor.i64()?;
        let size = cursor.i32()?;
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size >= 14)
            .ok_or(BatchError::new(start, Fault::TooSmall { size: i64::from(size) + 12, least: LOG_OVERHEAD + 14 }))?;
        if cursor.left() < size {
            break;
        }
        cursor.take(size)?;
        let entry = plain.get(start..start + LOG_OVERHEAD + size).unwrap_or_default();
        let fields = Fields::read(entry).map_err(|error| error.within(start))?;
        if fields.compression().map_err(|error| error.within(start))? != Compression::None {
            return Err(BatchError::new(start, Fault::Legacy("a wrapper inside of a wrapper")));
        }
        entries.push(fields);
    }
    Ok(entries)
}

impl Fields<'_> {
    fn record(&self, first: i64, wrapper_time: Option<Millis>) -> Result<Record, BatchError> {
        let offset = first.checked_add(self.offset).filter(|offset| (0..i64::MAX).contains(offset));
        let offset = offset.ok_or(BatchError::new(0, Fault::OffsetRange { base: first, delta: 0 }))?;
        let timestamp = if self.magic == 1 { wrapper_time.unwrap_or(self.timestamp) } else { self.timestamp };
        Ok(Record::new(Offset(offset), timestamp, self.key, self.value))
    }
}

/// Writes records in this old format: one as it is, several in a wrapper. Without a codec each is a batch of its own.
///
/// `append_time` is the time of the whole batch if its times tell when the log took it.
pub fn write(
    out: &mut Vec<u8>,
    magic: i8,
    codec: Compression,
    append_time: Option<Millis>,
    records: &[Record],
) -> Result<(), BatchError> {
    let (Some(first), Some(last)) = (records.first(), records.last()) else { return Ok(()) };
    if !(0..=1).contains(&magic) {
        return Err(BatchError::new(MAGIC_AT, Fault::Magic(magic)));
    }
    let type_bit = if append_time.is_some() && magic == 1 { 0x08 } else { 0 };
    if codec == Compression::None {
        for record in records {
            let time = append_time.unwrap_or(record.timestamp);
            entry(out, record.offset, magic, type_bit, time, record.key.as_deref(), record.value.as_deref())?;
        }
        return Ok(());
    }
    let mut plain = Vec::new();
    let mut largest = Millis::NONE;
    for record in records {
        let offset = if magic == 1 { Offset(record.offset.0.wrapping_sub(first.offset.0)) } else { record.offset };
        let (key, value) = (record.key.as_deref(), record.value.as_deref());
        entry(&mut plain, offset, magic, type_bit, record.timestamp, key, value)?;
        largest = largest.max(record.timestamp);
    }
    let packed = compression::compress(codec, plain)?;
    let time = append_time.unwrap_or(largest);
    entry(out, last.offset, magic, codec.number() | type_bit, time, None, Some(&packed))
}

fn entry(
    out: &mut Vec<u8>,
    offset: Offset,
    magic: i8,
    attributes: u8,
    time: Millis,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
) -> Result<(), BatchError> {
    let mut body = vec![magic.cast_unsigned(), attributes];
    if magic == 1 {
        body.extend_from_slice(&time.0.to_be_bytes());
    }
    for part in [key, value] {
        body.extend_from_slice(&part.map_or(Ok(-1), |part| length(part.len()))?.to_be_bytes());
        body.extend_from_slice(part.unwrap_or_default());
    }
    out.extend_from_slice(&offset.0.to_be_bytes());
    out.extend_from_slice(&length(body.len().saturating_add(4))?.to_be_bytes());
    out.extend_from_slice(&crc32(&body).to_be_bytes());
    out.extend_from_slice(&body);
    Ok(())
}

fn length(length: usize) -> Result<i32, BatchError> {
    const LIMIT: usize = i32::MAX as usize;
    i32::try_from(length).map_err(|_| BatchError::new(0, Fault::TooLarge { size: length, limit: LIMIT }))
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}
