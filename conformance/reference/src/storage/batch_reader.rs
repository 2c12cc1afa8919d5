//! The batches of a buffer, one after the other (Kafka's `ByteBufferLogInputStream`).
//!
//! Every format begins with an offset of eight bytes and a length of four, and has its magic at byte 16. A buffer may end
//! inside of a batch, as a chunk of a segment does: that is its end, not an error, and [`BatchReader::tail`] tells what is
//! left over.

use std::borrow::Cow;

use super::batch::{HEADER_BYTES, LOG_OVERHEAD, MAGIC_AT, RecordBatch};
use super::error::{BatchError, Fault};
use super::legacy::LegacyBatch;
use super::names::{Millis, Offset, ProducerEpoch, ProducerId};
use super::record::Record;
use super::record_view::RecordView;
use super::varint::Cursor;

/// The least size of an entry of the oldest format.
const LEGACY_LEAST_BYTES: usize = LOG_OVERHEAD + 14;

/// A batch of any format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogBatch<'a> {
    /// Format 2.
    V2(RecordBatch<'a>),
    /// Format 0 or 1: one record, or a wrapper around compressed ones.
    Legacy(LegacyBatch<'a>),
}

/// What a batch has inside.
#[derive(Debug, Clone)]
pub enum Unpacked<'a> {
    /// Of a batch of format 2, the bytes.
    V2(RecordBatch<'a>, Cow<'a, [u8]>),
    /// Of an old format, the records.
    Legacy(Vec<Record>),
}

impl Unpacked<'_> {
    /// The records.
    pub fn records(&self) -> Result<Vec<RecordView<'_>>, BatchError> {
        match self {
            Self::V2(batch, plain) => batch.views(plain),
            Self::Legacy(records) => Ok(records.iter().map(Record::view).collect()),
        }
    }
}

/// Walks a buffer.
#[derive(Debug, Clone)]
pub struct BatchReader<'a> {
    bytes: &'a [u8],
    position: usize,
    max_batch_bytes: usize,
    failed: bool,
}

/// What a buffer has after its last whole batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// How many bytes there are.
    pub bytes: usize,
    /// How many the batch that begins there has, if that much of it is there.
    pub batch_bytes: Option<usize>,
}

impl<'a> BatchReader<'a> {
    /// From the first byte on, whatever the size of a batch.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, max_batch_bytes: usize::MAX, failed: false }
    }

    /// Refuses batches of more bytes.
    #[must_use]
    pub const fn max_batch_bytes(mut self, bytes: usize) -> Self {
        self.max_batch_bytes = bytes;
        self
    }

    /// Where the next batch begins: the end of the last one that was whole.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// What is left from [`BatchReader::position`] on.
    #[must_use]
    pub fn tail(&self) -> Tail {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        Tail { bytes: rest.len(), batch_bytes: Self::size(rest).ok().flatten() }
    }

    /// The size of the batch that begins here, if its length field is there.
    fn size(rest: &[u8]) -> Result<Option<usize>, BatchError> {
        let mut cursor = Cursor::new(rest);
        if rest.len() < LOG_OVERHEAD {
            return Ok(None);
        }
        cursor.i64()?;
        let at = cursor.position();
        let size = i64::from(cursor.i32()?) + 12;
        match usize::try_from(size) {
            Ok(size) if size >= LEGACY_LEAST_BYTES => Ok(Some(size)),
            _ => Err(BatchError::new(at, Fault::TooSmall { size, least: LEGACY_LEAST_BYTES })),
        }
    }

    fn read(&self) -> Result<Option<LogBatch<'a>>, BatchError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let Some(size) = Self::size(rest)? else { return Ok(None) };
        if size > self.max_batch_bytes {
            return Err(BatchError::new(8, Fault::TooLarge { size, limit: self.max_batch_bytes }));
        }
        let Some(magic) = rest.get(MAGIC_AT) else { return Ok(None) };
        let magic = magic.cast_signed();
        if !(0..=2).contains(&magic) {
            return Err(BatchError::new(MAGIC_AT, Fault::Magic(magic)));
        }
        let Some(bytes) = rest.get(..size) else { return Ok(None) };
        match magic {
            2 => RecordBatch::new(bytes).map(LogBatch::V2).map(Some),
            _ => LegacyBatch::new(bytes).map(LogBatch::Legacy).map(Some),
        }
    }
}

impl<'a> Iterator for BatchReader<'a> {
    /// An error is the last item: without a length there is no next batch. Its position counts from the buffer's start.
    type Item = Result<LogBatch<'a>, BatchError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        match self.read() {
            Ok(None) => None,
            Ok(Some(batch)) => {
                self.position = self.position.saturating_add(batch.size());
                Some(Ok(batch))
            }
            Err(error) => {
                self.failed = true;
                Some(Err(error.within(self.position)))
            }
        }
    }
}

macro_rules! of_either {
    ($($(#[$doc:meta])* $name:ident -> $type:ty;)*) => {
        #[allow(clippy::must_use_candidate, reason = "a result must be used anyway")]
        impl<'a> LogBatch<'a> {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> $type {
                    match self {
                        Self::V2(batch) => batch.$name(),
                        Self::Legacy(batch) => batch.$name(),
                    }
                }
            )*
        }
    };
}

of_either! {
    /// All of its bytes.
    bytes -> &'a [u8];
    /// How many bytes it has.
    size -> usize;
    /// The first offset that the batch covers, as far as its outside tells.
    base_offset -> Offset;
    /// The last offset that the batch covers.
    last_offset -> Offset;
    /// The offset after it.
    next_offset -> Offset;
    /// Whether it holds control records.
    is_control -> bool;
    /// Whether it belongs to a transaction.
    is_transactional -> bool;
    /// When its tombstones, or its marker, may go.
    delete_horizon -> Option<Millis>;
    /// The largest time in it.
    max_timestamp -> Millis;
    /// Who wrote it.
    producer_id -> ProducerId;
    /// The producer's epoch.
    producer_epoch -> ProducerEpoch;
    /// Whether the checksum is right.
    check_crc -> Result<(), BatchError>;
    /// Its records, decompressed into at most [`DEFAULT_LIMIT`](super::compression::DEFAULT_LIMIT) bytes.
    records -> Result<Vec<Record>, BatchError>;
}

impl LogBatch<'_> {
    /// Its records, decompressed into at most `limit` bytes.
    pub fn records_within(&self, limit: usize) -> Result<Vec<Record>, BatchError> {
        match self {
            Self::V2(batch) => batch.records_within(limit),
            Self::Legacy(batch) => batch.records_within(limit),
        }
    }

    /// Its records' bytes, decompressed into at most `limit` bytes: what [`Unpacked::records`] looks into.
    pub fn unpacked(&self, limit: usize) -> Result<Unpacked<'_>, BatchError> {
        match self {
            Self::V2(batch) => Ok(Unpacked::V2(*batch, batch.unpacked(limit)?)),
            Self::Legacy(batch) => batch.records_within(limit).map(Unpacked::Legacy),
        }
    }

    /// Whether it is of format 0 or 1.
    #[must_use]
    pub const fn is_legacy(&self) -> bool {
        matches!(self, Self::Legacy(_))
    }

    /// Whether its header says that no record is left in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::V2(batch) => batch.count() == 0,
            Self::Legacy(_) => false,
        }
    }
}

const _: () = assert!(HEADER_BYTES > LEGACY_LEAST_BYTES, "a length that a format 2 batch may have passes the framing");
