//! A record inside a batch of format 2 (docs/compaction.md 1.3; Kafka's `DefaultRecord`).
//!
//! ```text
//! length | attributes 0 | timestamp delta | offset delta | key | value | header count | headers
//! ```

use super::error::{BatchError, Fault};
use super::names::{Millis, Offset};
use super::varint::{Cursor, put_varint, put_varlong};

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

    /// Reads the next record of a batch whose header has these bases.
    pub fn read(cursor: &mut Cursor<'_>, base_offset: Offset, base_timestamp: Millis) -> Result<Self, BatchError> {
        let start = cursor.position();
        let stated = cursor.varint()?;
        let length = usize::try_from(stated)
            .map_err(|_| BatchError::new(start, Fault::NegativeLength { what: "a record", length: stated }))?;
        let body_start = cursor.position();
        let body = cursor.take(length)?;
        Self::read_body(body, base_offset, base_timestamp).map_err(|error| error.within(body_start)).and_then(
            |(record, actual)| {
                if actual == length {
                    Ok(record)
                } else {
                    Err(BatchError::new(start, Fault::RecordLength { stated, actual }))
                }
            },
        )
    }

    fn read_body(body: &[u8], base_offset: Offset, base_timestamp: Millis) -> Result<(Self, usize), BatchError> {
        let mut cursor = Cursor::new(body);
        // The attributes of a record are not used; they are written as 0 again whatever they were.
        cursor.i8()?;
        let timestamp = base_timestamp.wrapping_add(Millis(cursor.varlong()?));
        let at = cursor.position();
        let delta = cursor.varint()?;
        let offset = base_offset
            .0
            .checked_add(i64::from(delta))
            .map(Offset)
            .ok_or_else(|| BatchError::new(at, Fault::OffsetRange { base: base_offset.0, delta }))?;
        let key = cursor.nullable()?.map(<[u8]>::to_vec);
        let value = cursor.nullable()?.map(<[u8]>::to_vec);
        let headers = Self::read_headers(&mut cursor)?;
        Ok((Self { offset, timestamp, key, value, headers }, cursor.position()))
    }

    fn read_headers(cursor: &mut Cursor<'_>) -> Result<Vec<Header>, BatchError> {
        let at = cursor.position();
        let count = cursor.varint()?;
        if count < 0 {
            return Err(BatchError::new(at, Fault::NegativeLength { what: "the list of headers", length: count }));
        }
        // The count is a claim; the bytes that are there bound what is taken.
        let mut headers = Vec::new();
        for _ in 0..count {
            let at = cursor.position();
            let length = cursor.varint()?;
            let key = usize::try_from(length)
                .map_err(|_| BatchError::new(at, Fault::NegativeLength { what: "the key of a header", length }))
                .and_then(|length| cursor.take(length))?;
            let value = cursor.nullable()?.map(<[u8]>::to_vec);
            headers.push(Header { key: String::from_utf8_lossy(key).into_owned(), value });
        }
        Ok(headers)
    }

    /// Appends this record as one of a batch with these bases. The error is at byte 0: its offset is too far from the
    /// base, or a part has more bytes than a length can tell.
    pub fn write(&self, out: &mut Vec<u8>, base_offset: Offset, base_timestamp: Millis) -> Result<(), BatchError> {
        let delta = self.offset.0.checked_sub(base_offset.0).and_then(|delta| i32::try_from(delta).ok());
        let Some(delta) = delta else {
            return Err(BatchError::new(0, Fault::OffsetOrder { offset: self.offset, previous: base_offset }));
        };
        let mut body = vec![0];
        // Both lie in [-1, 2^63-1], or are what a reader made of wrapped deltas, which this takes back.
        put_varlong(&mut body, self.timestamp.0.wrapping_sub(base_timestamp.0));
        put_varint(&mut body, delta);
        put_nullable(&mut body, self.key.as_deref())?;
        put_nullable(&mut body, self.value.as_deref())?;
        put_varint(&mut body, length(self.headers.len())?);
        for header in &self.headers {
            put_nullable(&mut body, Some(header.key.as_bytes()))?;
            put_nullable(&mut body, header.value.as_deref())?;
        }
        put_varint(out, length(body.len())?);
        out.extend_from_slice(&body);
        Ok(())
    }
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) -> Result<(), BatchError> {
    match bytes {
        None => put_varint(out, -1),
        Some(bytes) => {
            put_varint(out, length(bytes.len())?);
            out.extend_from_slice(bytes);
        }
    }
    Ok(())
}

fn length(length: usize) -> Result<i32, BatchError> {
    const LIMIT: usize = i32::MAX as usize;
    i32::try_from(length).map_err(|_| BatchError::new(0, Fault::TooLarge { size: length, limit: LIMIT }))
}
