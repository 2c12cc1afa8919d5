//! Reading bytes front to back: fixed-width big-endian numbers, and zig-zag variable-length ones (docs/compaction.md
//! 1.3; Kafka's `ByteUtils#readVarint`, `#readVarlong`).

use super::error::{BatchError, Fault};

/// The most bytes of a 32-bit number of variable length.
pub const MAX_VARINT_BYTES: usize = 5;
/// The most bytes of a 64-bit number of variable length.
pub const MAX_VARLONG_BYTES: usize = 10;

/// Bytes, and how far they were read.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    /// From the first byte on.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0 }
    }

    /// How many bytes were read.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// How many bytes are left.
    #[must_use]
    pub const fn left(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// An error at the next byte.
    #[must_use]
    pub(crate) const fn fault(&self, fault: Fault) -> BatchError {
        BatchError::new(self.position, fault)
    }

    /// The next `count` bytes.
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], BatchError> {
        let rest = self.bytes.get(self.position..).unwrap_or_default();
        let taken =
            rest.get(..count).ok_or_else(|| self.fault(Fault::Truncated { needed: count, left: rest.len() }))?;
        self.position += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BatchError> {
        let taken = self.take(N)?;
        let mut array = [0; N];
        array.copy_from_slice(taken);
        Ok(array)
    }

    /// The next byte.
    pub fn i8(&mut self) -> Result<i8, BatchError> {
        self.array().map(i8::from_be_bytes)
    }

    /// The next two bytes.
    pub fn i16(&mut self) -> Result<i16, BatchError> {
        self.array().map(i16::from_be_bytes)
    }

    /// The next four bytes.
    pub fn i32(&mut self) -> Result<i32, BatchError> {
        self.array().map(i32::from_be_bytes)
    }

    /// The next four bytes, without a sign.
    pub fn u32(&mut self) -> Result<u32, BatchError> {
        self.array().map(u32::from_be_bytes)
    }

    /// The next eight bytes.
    pub fn i64(&mut self) -> Result<i64, BatchError> {
        self.array().map(i64::from_be_bytes)
    }

    /// The next variable-length number of 32 bits. As in Kafka, a longer form of a number is taken for the number.
    pub fn varint(&mut self) -> Result<i32, BatchError> {
        let raw = self.groups(MAX_VARINT_BYTES)?;
        // Kafka shifts the fifth group out at the top of its 32 bits.
        let raw = u32::try_from(raw & u64::from(u32::MAX)).unwrap_or_default();
        Ok((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    /// The next variable-length number of 64 bits.
    pub fn varlong(&mut self) -> Result<i64, BatchError> {
        let raw = self.groups(MAX_VARLONG_BYTES)?;
        Ok((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }

    fn groups(&mut self, most: usize) -> Result<u64, BatchError> {
        let start = self.position;
        // Most numbers are small: one byte.
        if let Some(byte) = self.bytes.get(start)
            && byte & 0x80 == 0
        {
            self.position += 1;
            return Ok(u64::from(*byte));
        }
        let mut raw = 0_u64;
        for index in 0..most {
            let [byte] = self.array::<1>()?;
            raw |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                return Ok(raw);
            }
        }
        Err(BatchError::new(start, Fault::LongVarint(most)))
    }

    /// A length and as many bytes; `None` for length -1. A length below -1 is null too, as it is to Kafka.
    pub fn nullable(&mut self) -> Result<Option<&'a [u8]>, BatchError> {
        match usize::try_from(self.varint()?) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => Ok(None),
        }
    }
}

/// Appends a variable-length number of 32 bits.
pub fn put_varint(out: &mut Vec<u8>, number: i32) {
    put_groups(out, zig_zag(i64::from(number)));
}

/// Appends a variable-length number of 64 bits.
pub fn put_varlong(out: &mut Vec<u8>, number: i64) {
    put_groups(out, zig_zag(number));
}

/// How many bytes [`put_varint`] appends.
#[must_use]
pub const fn varint_bytes(number: i32) -> usize {
    varlong_bytes(number as i64)
}

/// How many bytes [`put_varlong`] appends.
#[must_use]
pub const fn varlong_bytes(number: i64) -> usize {
    let bits = u64::BITS - zig_zag(number).leading_zeros();
    if bits == 0 { 1 } else { bits.div_ceil(7) as usize }
}

/// Small numbers of either sign become small ones. Of a number of 32 bits it is the same in 64.
const fn zig_zag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn put_groups(out: &mut Vec<u8>, mut raw: u64) {
    while raw > 0x7f {
        out.push(u8::try_from(raw & 0x7f).unwrap_or_default() | 0x80);
        raw >>= 7;
    }
    out.push(u8::try_from(raw).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_bytes_that_protocol_buffers_give_them() {
        for (number, bytes) in [
            (0, "00"),
            (-1, "01"),
            (1, "02"),
            (-64, "7f"),
            (64, "8001"),
            (i64::from(i32::MAX), "feffffff0f"),
            (i64::from(i32::MIN), "ffffffff0f"),
        ] {
            let mut out = Vec::new();
            put_varint(&mut out, i32::try_from(number).unwrap());
            assert_eq!(hex(&out), bytes);
            assert_eq!(varint_bytes(i32::try_from(number).unwrap()), out.len());
            assert_eq!(i64::from(Cursor::new(&out).varint().unwrap()), number);
            let mut long = Vec::new();
            put_varlong(&mut long, number);
            assert_eq!(long, out);
        }
        for (number, bytes) in [(i64::MAX, "feffffffffffffffff01"), (i64::MIN, "ffffffffffffffffff01")] {
            let mut out = Vec::new();
            put_varlong(&mut out, number);
            assert_eq!(hex(&out), bytes);
            assert_eq!(varlong_bytes(number), out.len());
            assert_eq!(Cursor::new(&out).varlong().unwrap(), number);
        }
    }

    #[test]
    fn a_number_that_does_not_end_is_an_error_at_its_first_byte() {
        let error = Cursor::new(&[0x80; 11]).varint().unwrap_err();
        assert_eq!((error.position, error.fault), (0, Fault::LongVarint(5)));
        assert_eq!(Cursor::new(&[0x80; 11]).varlong().unwrap_err().fault, Fault::LongVarint(10));
        assert_eq!(Cursor::new(&[0x80]).varint().unwrap_err().fault, Fault::Truncated { needed: 1, left: 0 });
    }

    fn hex(bytes: &[u8]) -> String {
        use std::fmt::Write as _;
        bytes.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
