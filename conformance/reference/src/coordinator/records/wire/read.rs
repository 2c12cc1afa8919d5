//! Reading Kafka's primitive types from bytes that nobody vouches for.

use crate::coordinator::records::{Fault, Part, RecordError, Uuid};

/// What is left of the key or the value of a record.
///
/// Every method takes the name of the field that it reads, for the error.
#[derive(Debug)]
pub(in crate::coordinator::records) struct Reader<'a> {
    part: Part,
    /// All bytes up to the end of what may be read now: of the part, or of a tagged field.
    bytes: &'a [u8],
    at: usize,
}

type Result<T> = std::result::Result<T, RecordError>;

impl<'a> Reader<'a> {
    pub(in crate::coordinator::records) fn new(part: Part, bytes: &'a [u8]) -> Self {
        Self { part, bytes, at: 0 }
    }

    fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.at)
    }

    fn malformed<T>(&self, field: &'static str, fault: Fault) -> Result<T> {
        Err(RecordError::Malformed { part: self.part, field, at: self.at, fault })
    }

    fn take(&mut self, field: &'static str, needed: usize) -> Result<&'a [u8]> {
        let end = self.at.checked_add(needed);
        match end.and_then(|end| self.bytes.get(self.at..end)) {
            Some(taken) => {
                self.at += needed;
                Ok(taken)
            }
            None => self.malformed(field, Fault::Truncated { needed, left: self.left() }),
        }
    }

    fn take_array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N)?);
        Ok(array)
    }

    pub(in crate::coordinator::records) fn int8(&mut self, field: &'static str) -> Result<i8> {
        self.take_array(field).map(i8::from_be_bytes)
    }

    pub(in crate::coordinator::records) fn int16(&mut self, field: &'static str) -> Result<i16> {
        self.take_array(field).map(i16::from_be_bytes)
    }

    pub(in crate::coordinator::records) fn int32(&mut self, field: &'static str) -> Result<i32> {
        self.take_array(field).map(i32::from_be_bytes)
    }

    pub(in crate::coordinator::records) fn int64(&mut self, field: &'static str) -> Result<i64> {
        self.take_array(field).map(i64::from_be_bytes)
    }

    pub(in crate::coordinator::records) fn uuid(&mut self, field: &'static str) -> Result<Uuid> {
        self.take_array(field).map(Uuid)
    }

    fn unsigned_varint(&mut self, field: &'static str) -> Result<u32> {
        let mut value = 0;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take_array(field)?;
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        self.malformed(field, Fault::VarintTooLong)
    }

    /// A string with a length of two bytes. Not nullable: no schema here has a nullable one.
    pub(in crate::coordinator::records) fn string(&mut self, field: &'static str) -> Result<String> {
        let length = self.int16(field)?;
        match usize::try_from(length) {
            Ok(length) => self.text(field, length),
            Err(_) if length == -1 => self.malformed(field, Fault::Null),
            Err(_) => self.malformed(field, Fault::ImpossibleLength { length: length.into(), left: self.left() }),
        }
    }

    pub(in crate::coordinator::records) fn compact_string(&mut self, field: &'static str) -> Result<String> {
        let string = self.compact_nullable_string(field)?;
        self.not_null(field, string)
    }

    pub(in crate::coordinator::records) fn compact_nullable_string(
        &mut self,
        field: &'static str,
    ) -> Result<Option<String>> {
        match self.compact_length(field)? {
            None => Ok(None),
            Some(length) if length > super::LONGEST_STRING => self.malformed(field, Fault::StringTooLong { length }),
            Some(length) => self.text(field, length).map(Some),
        }
    }

    pub(in crate::coordinator::records) fn compact_bytes(&mut self, field: &'static str) -> Result<Vec<u8>> {
        let length = self.compact_length(field)?;
        let length = self.not_null(field, length)?;
        self.take(field, length).map(<[u8]>::to_vec)
    }

    pub(in crate::coordinator::records) fn compact_array<T>(
        &mut self,
        field: &'static str,
        element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let array = self.compact_nullable_array(field, element)?;
        self.not_null(field, array)
    }

    pub(in crate::coordinator::records) fn compact_nullable_array<T>(
        &mut self,
        field: &'static str,
        mut element: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Option<Vec<T>>> {
        // The count reserves no memory: each element is paid for with the bytes that it is read from.
        self.compact_length(field)?.map(|count| (0..count).map(|_| element(self)).collect()).transpose()
    }

    /// A structure that may be null, as it stands in a tagged field: 0 for null, or 1 and its fields.
    ///
    /// Kafka takes any positive number for 1, and a negative one for 0; it writes none of them.
    pub(in crate::coordinator::records) fn nullable_struct<T>(
        &mut self,
        field: &'static str,
        fields: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<Option<T>> {
        match self.unsigned_varint(field)? {
            0 => Ok(None),
            1 => fields(self).map(Some),
            marker => self.malformed(field, Fault::NoMarker { marker }),
        }
    }

    /// The tagged fields at the end of a flexible structure. `known` reads the field with the given tag, or reads
    /// nothing and says `false` when there is none: then its bytes are skipped.
    pub(in crate::coordinator::records) fn tagged_fields(
        &mut self,
        mut known: impl FnMut(&mut Self, u32) -> Result<bool>,
    ) -> Result<()> {
        const FIELD: &str = "tagged fields";
        let count = self.unsigned_varint(FIELD)?;
        let mut lowest = 0;
        for _ in 0..count {
            let tag = self.unsigned_varint(FIELD)?;
            if u64::from(tag) < lowest {
                return self.malformed(FIELD, Fault::TagOrder { tag });
            }
            lowest = u64::from(tag) + 1;
            let size = self.unsigned_varint(FIELD)?;
            let size = self.possible_length(FIELD, size)?;
            let whole = self.bytes;
            let end = self.at + size;
            self.bytes = &whole[..end];
            if known(self, tag)? {
                self.end(FIELD)?;
            }
            self.bytes = whole;
            self.at = end;
        }
        Ok(())
    }

    /// The tagged fields at the end of a flexible structure whose schema has none.
    pub(in crate::coordinator::records) fn skip_tagged_fields(&mut self) -> Result<()> {
        self.tagged_fields(|_, _| Ok(false))
    }

    /// Everything must have been read.
    pub(in crate::coordinator::records) fn end(&self, field: &'static str) -> Result<()> {
        match self.left() {
            0 => Ok(()),
            left => self.malformed(field, Fault::LeftOver { left }),
        }
    }

    fn text(&mut self, field: &'static str, length: usize) -> Result<String> {
        let at = self.at;
        let bytes = self.take(field, length)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| RecordError::Malformed {
            part: self.part,
            field,
            at,
            fault: Fault::NotUtf8,
        })
    }

    fn compact_length(&mut self, field: &'static str) -> Result<Option<usize>> {
        match self.unsigned_varint(field)?.checked_sub(1) {
            None => Ok(None),
            Some(length) => self.possible_length(field, length).map(Some),
        }
    }

    /// No element and no tagged field is shorter than a byte, so no length is greater than what is left.
    fn possible_length(&self, field: &'static str, length: u32) -> Result<usize> {
        match usize::try_from(length) {
            Ok(possible) if possible <= self.left() => Ok(possible),
            _ => self.malformed(field, Fault::ImpossibleLength { length: length.into(), left: self.left() }),
        }
    }

    fn not_null<T>(&self, field: &'static str, value: Option<T>) -> Result<T> {
        value.map_or_else(|| self.malformed(field, Fault::Null), Ok)
    }
}
