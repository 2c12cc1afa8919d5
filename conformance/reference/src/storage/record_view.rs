//! A record as it lies in a batch's bytes, or in a [`Record`]: what a pass over a log looks at, and writes again, without
//! a copy of each key and value (docs/compaction.md 1.3; Kafka's `DefaultRecord`).

use std::borrow::Cow;

use super::error::{BatchError, Fault};
use super::names::{Millis, Offset};
use super::record::{Header, Record};
use super::varint::{Cursor, put_varint, put_varlong, varint_bytes, varlong_bytes};

/// A record whose bytes are somebody else's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordView<'a> {
    /// Its place in the partition.
    pub offset: Offset,
    /// Its time.
    pub timestamp: Millis,
    /// What it is about.
    pub key: Option<&'a [u8]>,
    /// What it says. `None` with a key is a tombstone; an empty value is a value.
    pub value: Option<&'a [u8]>,
    /// What came with it.
    pub headers: Vec<HeaderView<'a>>,
}

/// A header of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderView<'a> {
    /// Its name. Bytes that are not UTF-8 are replaced as they are read, because Kafka holds it in a Java `String`.
    pub key: Cow<'a, str>,
    /// Its value.
    pub value: Option<Cow<'a, [u8]>>,
}

impl<'a> RecordView<'a> {
    /// Of a record.
    #[must_use]
    pub fn of(record: &'a Record) -> Self {
        let header = |header: &'a Header| HeaderView {
            key: Cow::Borrowed(header.key.as_str()),
            value: header.value.as_deref().map(Cow::Borrowed),
        };
        Self {
            offset: record.offset,
            timestamp: record.timestamp,
            key: record.key.as_deref(),
            value: record.value.as_deref(),
            headers: record.headers.iter().map(header).collect(),
        }
    }

    /// The record, with bytes of its own.
    #[must_use]
    pub fn to_record(&self) -> Record {
        let header = |header: &HeaderView<'_>| Header {
            key: header.key.clone().into_owned(),
            value: header.value.as_ref().map(|value| value.to_vec()),
        };
        Record {
            offset: self.offset,
            timestamp: self.timestamp,
            key: self.key.map(<[u8]>::to_vec),
            value: self.value.map(<[u8]>::to_vec),
            headers: self.headers.iter().map(header).collect(),
        }
    }

    /// Whether it deletes its key.
    #[must_use]
    pub const fn is_tombstone(&self) -> bool {
        self.key.is_some() && self.value.is_none()
    }

    /// Reads the next record of a batch whose header has these bases.
    pub fn read(cursor: &mut Cursor<'a>, base_offset: Offset, base_timestamp: Millis) -> Result<Self, BatchError> {
        let start = cursor.position();
        let stated = cursor.varint()?;
        let length = usize::try_from(stated)
            .map_err(|_| BatchError::new(start, Fault::NegativeLength { what: "a record", length: stated }))?;
        let body_start = cursor.position();
        let body = cursor.take(length)?;
        let (record, actual) =
            Self::read_body(body, base_offset, base_timestamp).map_err(|error| error.within(body_start))?;
        if actual == length { Ok(record) } else { Err(BatchError::new(start, Fault::RecordLength { stated, actual })) }
    }

    fn read_body(body: &'a [u8], base_offset: Offset, base_timestamp: Millis) -> Result<(Self, usize), BatchError> {
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
        let key = cursor.nullable()?;
        let value = cursor.nullable()?;
        let headers = Self::read_headers(&mut cursor)?;
        Ok((Self { offset, timestamp, key, value, headers }, cursor.position()))
    }

    fn read_headers(cursor: &mut Cursor<'a>) -> Result<Vec<HeaderView<'a>>, BatchError> {
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
            let value = cursor.nullable()?.map(Cow::Borrowed);
            headers.push(HeaderView { key: String::from_utf8_lossy(key), value });
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
        // Both lie in [-1, 2^63-1], or are what a reader made of wrapped deltas, which this takes back.
        let age = self.timestamp.0.wrapping_sub(base_timestamp.0);
        let count = length(self.headers.len())?;
        let mut body = 1 + varlong_bytes(age) + varint_bytes(delta) + varint_bytes(count);
        body += nullable_bytes(self.key)? + nullable_bytes(self.value)?;
        for header in &self.headers {
            body += nullable_bytes(Some(header.key.as_bytes()))? + nullable_bytes(header.value.as_deref())?;
        }
        put_varint(out, length(body)?);
        out.push(0);
        put_varlong(out, age);
        put_varint(out, delta);
        put_nullable(out, self.key)?;
        put_nullable(out, self.value)?;
        put_varint(out, count);
        for header in &self.headers {
            put_nullable(out, Some(header.key.as_bytes()))?;
            put_nullable(out, header.value.as_deref())?;
        }
        Ok(())
    }
}

fn nullable_bytes(bytes: Option<&[u8]>) -> Result<usize, BatchError> {
    match bytes {
        None => Ok(1),
        Some(bytes) => Ok(varint_bytes(length(bytes.len())?) + bytes.len()),
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
