//! What can be wrong with the bytes of a record, and where in them.

use std::fmt;

/// Why a record could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The number at the start of the key names a kind of record that is not known here: another Kafka's, or one of
    /// the other types of groups.
    ///
    /// Kafka's loader logs a kind that it does not know and goes on (`UnknownRecordTypeException`), so that a downgrade
    /// can be survived.
    #[error("records of kind {kind} are not known here")]
    UnknownKind {
        /// The number.
        kind: i16,
    },
    /// The number at the start of the value is not a version of this kind of record.
    ///
    /// Kafka's loader fails on it (`UnknownRecordVersionException`).
    #[error("version {version} of the value of records of kind {kind} is not known here")]
    UnknownVersion {
        /// The kind of record.
        kind: i16,
        /// The number.
        version: i16,
    },
    /// Bytes that are not a record of the kind and version that they name.
    #[error("{part}, byte {at}, field {field}: {fault}")]
    Malformed {
        /// In the key or in the value.
        part: Part,
        /// Kafka's name of the field that was being read.
        field: &'static str,
        /// How many bytes of the part had been read.
        at: usize,
        /// What is wrong.
        fault: Fault,
    },
    /// A field that is too long to be written; Kafka refuses it too.
    #[error("field {field}: {length} is more than the {limit} that can be written")]
    TooLong {
        /// Kafka's name of the field.
        field: &'static str,
        /// Its length: bytes of a string, elements of an array.
        length: usize,
        /// The greatest length there is for it.
        limit: usize,
    },
}

/// The two halves of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// The key.
    Key,
    /// The value.
    Value,
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key => "key",
            Self::Value => "value",
        })
    }
}

/// What is wrong at one place of a record's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes end within a field.
    #[error("{needed} bytes are needed, {left} are left")]
    Truncated {
        /// How many bytes the field takes.
        needed: usize,
        /// How many there are.
        left: usize,
    },
    /// A length or a count that cannot be: negative, or greater than the bytes that are left.
    #[error("a length of {length} is impossible, {left} bytes are left")]
    ImpossibleLength {
        /// The length.
        length: i64,
        /// How many bytes there are.
        left: usize,
    },
    /// A string longer than Kafka allows.
    #[error("a string of {length} bytes is longer than any of Kafka's")]
    StringTooLong {
        /// Its length in bytes.
        length: usize,
    },
    /// Null where the schema has none.
    #[error("null where a value must be")]
    Null,
    /// A string that is not UTF-8. Kafka would put replacement characters into it.
    #[error("the string is not UTF-8")]
    NotUtf8,
    /// An unsigned varint of more than 32 bits.
    #[error("the varint has more than 32 bits")]
    VarintTooLong,
    /// A structure marked as neither null (0) nor there (1).
    #[error("{marker} marks neither null nor a structure")]
    NoMarker {
        /// The number.
        marker: u32,
    },
    /// A tag that does not follow in order on the one before; also when it stands twice. Kafka writes them in order.
    #[error("tag {tag} is out of order")]
    TagOrder {
        /// The tag.
        tag: u32,
    },
    /// Bytes are left over: behind the last field, or within the size of a tagged field. Kafka would ignore them.
    #[error("{left} bytes are left over")]
    LeftOver {
        /// How many.
        left: usize,
    },
}
