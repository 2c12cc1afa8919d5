//! Writing Kafka's primitive types.

use super::LONGEST_STRING;
use crate::coordinator::records::{RecordError, Uuid};

/// The bytes of a key or a value, as they grow.
#[derive(Debug, Default)]
pub(in crate::coordinator::records) struct Writer {
    bytes: Vec<u8>,
}

type Result<T> = std::result::Result<T, RecordError>;

impl Writer {
    /// Starts with the number that says what follows: the kind of record, or the version of the value.
    pub(in crate::coordinator::records) fn starting_with(number: i16) -> Self {
        Self { bytes: number.to_be_bytes().to_vec() }
    }

    pub(in crate::coordinator::records) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(in crate::coordinator::records) fn int8(&mut self, value: i8) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(in crate::coordinator::records) fn int32(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(in crate::coordinator::records) fn int64(&mut self, value: i64) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(in crate::coordinator::records) fn uuid(&mut self, value: Uuid) {
        self.bytes.extend(value.0);
    }

    fn unsigned_varint(&mut self, mut value: u32) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= 7;
            if value == 0 {
                self.bytes.push(low);
                return;
            }
            self.bytes.push(low | 0x80);
        }
    }

    /// A string with a length of two bytes.
    pub(in crate::coordinator::records) fn string(&mut self, field: &'static str, value: &str) -> Result<()> {
        let length = value.len();
        let written = i16::try_from(length).map_err(|_| too_long(field, length, LONGEST_STRING))?;
        self.bytes.extend(written.to_be_bytes());
        self.bytes.extend(value.as_bytes());
        Ok(())
    }

    pub(in crate::coordinator::records) fn compact_string(&mut self, field: &'static str, value: &str) -> Result<()> {
        if value.len() > LONGEST_STRING {
            return Err(too_long(field, value.len(), LONGEST_STRING));
        }
        self.compact_bytes(field, value.as_bytes())
    }

    pub(in crate::coordinator::records) fn compact_nullable_string(
        &mut self,
        field: &'static str,
        value: Option<&str>,
    ) -> Result<()> {
        match value {
            None => {
                self.null();
                Ok(())
            }
            Some(value) => self.compact_string(field, value),
        }
    }

    pub(in crate::coordinator::records) fn compact_bytes(&mut self, field: &'static str, value: &[u8]) -> Result<()> {
        self.compact_length(field, value.len())?;
        self.bytes.extend(value);
        Ok(())
    }

    pub(in crate::coordinator::records) fn compact_array<T>(
        &mut self,
        field: &'static str,
        values: &[T],
        mut element: impl FnMut(&mut Self, &T) -> Result<()>,
    ) -> Result<()> {
        self.compact_length(field, values.len())?;
        values.iter().try_for_each(|value| element(self, value))
    }

    pub(in crate::coordinator::records) fn compact_int32_array(
        &mut self,
        field: &'static str,
        values: &[i32],
    ) -> Result<()> {
        self.compact_array(field, values, |writer, &value| {
            writer.int32(value);
            Ok(())
        })
    }

    pub(in crate::coordinator::records) fn compact_nullable_int32_array(
        &mut self,
        field: &'static str,
        values: Option<&[i32]>,
    ) -> Result<()> {
        match values {
            None => {
                self.null();
                Ok(())
            }
            Some(values) => self.compact_int32_array(field, values),
        }
    }

    /// The end of a flexible structure that has no tagged field to write.
    pub(in crate::coordinator::records) fn no_tagged_fields(&mut self) {
        self.unsigned_varint(0);
    }

    /// The end of a flexible structure with the tagged field 0 (no schema here has another), or without it where
    /// `value` is `None`: where the field has its default.
    pub(in crate::coordinator::records) fn tagged_field_0<T>(
        &mut self,
        field: &'static str,
        value: Option<T>,
        write: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        let Some(value) = value else {
            self.no_tagged_fields();
            return Ok(());
        };
        let mut inner = Self::default();
        write(&mut inner, value)?;
        self.unsigned_varint(1);
        self.unsigned_varint(0);
        self.unsigned_varint(countable(field, inner.bytes.len())?);
        self.bytes.append(&mut inner.bytes);
        Ok(())
    }

    /// A structure that may be null, as it stands in a tagged field: 0 for null, or 1 and its fields.
    pub(in crate::coordinator::records) fn nullable_struct<T>(
        &mut self,
        value: Option<T>,
        fields: impl FnOnce(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        let Some(value) = value else {
            self.null();
            return Ok(());
        };
        self.unsigned_varint(1);
        fields(self, value)
    }

    fn null(&mut self) {
        self.unsigned_varint(0);
    }

    fn compact_length(&mut self, field: &'static str, length: usize) -> Result<()> {
        self.unsigned_varint(countable(field, length)? + 1);
        Ok(())
    }
}

/// Kafka counts in signed 32 bits.
fn countable(field: &'static str, length: usize) -> Result<u32> {
    const LIMIT: u32 = i32::MAX as u32;
    match u32::try_from(length) {
        Ok(length) if length < LIMIT => Ok(length),
        _ => Err(too_long(field, length, LIMIT as usize - 1)),
    }
}

fn too_long(field: &'static str, length: usize, limit: usize) -> RecordError {
    RecordError::TooLong { field, length, limit }
}
