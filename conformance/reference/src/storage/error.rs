//! What can be wrong with the bytes of a batch, and where.

use super::names::Offset;

/// Bytes that are no batch, or a batch that cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {position}: {fault}")]
pub struct BatchError {
    /// The byte at which it was noticed, counted from the start of the buffer that was given. In a compressed batch, the
    /// faults of a record count from the start of the decompressed records.
    pub position: usize,
    /// What was noticed.
    pub fault: Fault,
}

impl BatchError {
    pub(crate) const fn new(position: usize, fault: Fault) -> Self {
        Self { position, fault }
    }

    /// The same, told from the start of what surrounds these bytes.
    #[must_use]
    pub fn within(self, start: usize) -> Self {
        Self { position: self.position.saturating_add(start), fault: self.fault }
    }
}

/// What can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes end inside of what they promised.
    #[error("{needed} bytes are needed here and {left} are left")]
    Truncated {
        /// How many bytes were to be read.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// The length field of a batch is below what the smallest batch of its format takes.
    #[error("a batch of {size} bytes, while the smallest one of its format has {least}")]
    TooSmall {
        /// The size that the length field tells, with the offset and the length field itself.
        size: i64,
        /// The least size.
        least: usize,
    },
    /// A batch larger than the reader was told to take.
    #[error("a batch of {size} bytes, while at most {limit} are taken")]
    TooLarge {
        /// The size that the length field tells, or that was about to be written.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// The magic byte is none of 0, 1 and 2.
    #[error("the magic byte is {0}; formats 0, 1 and 2 exist")]
    Magic(i8),
    /// The checksum is not that of the bytes.
    #[error("the batch says that its checksum is {stored:#010x}, and it is {computed:#010x}")]
    Crc {
        /// What the batch says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// The offsets of a batch are below 0, go back, or leave the numbers that there are.
    #[error("offset {base} with delta {delta} is no offset")]
    OffsetRange {
        /// The base offset.
        base: i64,
        /// What is added to it.
        delta: i32,
    },
    /// A record's offset is not above that of the record before it, or too far from the base of its batch.
    #[error("offset {offset} after {previous} in one batch")]
    OffsetOrder {
        /// The offset.
        offset: Offset,
        /// The offset before it, or the base of the batch.
        previous: Offset,
    },
    /// The count of records is below 0.
    #[error("a count of {0} records")]
    RecordCount(i32),
    /// A record's body has another length than the record says.
    #[error("a record says that it has {stated} bytes and has {actual}")]
    RecordLength {
        /// What the record says.
        stated: i32,
        /// What was read.
        actual: usize,
    },
    /// Something follows the last record.
    #[error("{0} bytes follow the last record")]
    AfterLastRecord(usize),
    /// A length or a count is below 0 where null is not allowed, or below -1.
    #[error("{what} has length {length}")]
    NegativeLength {
        /// The field.
        what: &'static str,
        /// The length.
        length: i32,
    },
    /// A variable-length number does not end where the longest one must.
    #[error("a variable-length number has more than {0} bytes")]
    LongVarint(usize),
    /// The compression bits name no codec, or one that the format does not know.
    #[error("compression type {0} does not exist in this format")]
    Codec(u8),
    /// A codec did not take its input.
    #[error("{codec}: {message}")]
    Compressed {
        /// The codec.
        codec: &'static str,
        /// What it said.
        message: String,
    },
    /// The decompressed records are larger than the reader was told to take.
    #[error("the records have more than {0} bytes when they are decompressed")]
    DecompressedTooLarge(usize),
    /// A control record's key or value is too short or of a negative version.
    #[error("a control record whose {0}")]
    Control(&'static str),
    /// A batch of format 0 or 1 whose inside is not what its outside says.
    #[error("{0}")]
    Legacy(&'static str),
}
