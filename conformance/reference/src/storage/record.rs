//! A record inside a batch of format 2 (docs/compaction.md 1.3; Kafka's `DefaultRecord`).
//!
//! ```text
//! length | attributes 0 | timestamp delta | offset delta | key | value | header count | headers
//! ```

use super::names::{Millis, Offset};
use super::record_view::RecordView;

/// One record, with its own offset and time rather than the deltas that are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Record {
    /// Its place in the partition.
    pub offset: Offset,
    /// When it was made, or when the log took it: which one, its batch says.
    pub timestamp: Millis,
    /// What it is about.
    pub key: Option<Vec<u8>>,
    /// What it says. `None` with a key is a tombstone; an empty value is a value.
    pub value: Option<Vec<u8>>,
    /// What came with it.
    pub headers: Vec<Header>,
}

/// A header of a record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Header {
    /// Its name. Bytes that are not UTF-8 are replaced as they are read, because Kafka holds it in a Java `String`.
    pub key: String,
    /// Its value.
    pub value: Option<Vec<u8>>,
}

impl Record {
    /// A record without headers.
    #[must_use]
    pub fn new(offset: Offset, timestamp: Millis, key: Option<&[u8]>, value: Option<&[u8]>) -> Self {
        Self { offset, timestamp, key: key.map(<[u8]>::to_vec), value: value.map(<[u8]>::to_vec), headers: Vec::new() }
    }

    /// Whether it deletes its key.
    #[must_use]
    pub const fn is_tombstone(&self) -> bool {
        self.key.is_some() && self.value.is_none()
    }

    /// A view of it.
    #[must_use]
    pub fn view(&self) -> RecordView<'_> {
        RecordView::of(self)
    }
}
