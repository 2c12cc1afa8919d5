//! What a state is known by: a hash of its encoded bytes, the same on every machine.
//!
//! A state is encoded once, by serde and postcard: integers in a fixed form, sequences with their length first, nothing
//! that depends on the machine. So equal states have equal bytes, and the fingerprint (XXH3) is taken of the bytes. 64
//! bits do for some hundred millions of states; `--exact` has 128.

use std::fmt;
use std::hash::Hash;

use postcard::ser_flavors::Flavor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use twox_hash::{XxHash3_64, XxHash3_128};

/// The name of a state.
pub trait Fingerprint:
    Copy + Ord + Hash + Default + fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// As it is stored: bytes, which need no alignment.
    type Bytes: Copy + Eq + AsRef<[u8]> + for<'a> TryFrom<&'a [u8]> + 'static;
    /// How many bytes it has.
    const WIDTH: usize;
    /// Of an encoded state.
    fn of(encoded: &[u8]) -> Self;
    /// As bytes.
    fn to_bytes(self) -> Self::Bytes;
    /// From bytes.
    fn from_bytes(bytes: Self::Bytes) -> Self;
    /// 64 bits of it, for the choice of an owner and of a place in a table.
    fn bits(self) -> u64;
}

impl Fingerprint for u64 {
    type Bytes = [u8; 8];
    const WIDTH: usize = 8;

    fn of(encoded: &[u8]) -> Self {
        XxHash3_64::oneshot(encoded)
    }

    fn to_bytes(self) -> [u8; 8] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 8]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn bits(self) -> u64 {
        self
    }
}

impl Fingerprint for u128 {
    type Bytes = [u8; 16];
    const WIDTH: usize = 16;

    fn of(encoded: &[u8]) -> Self {
        XxHash3_128::oneshot(encoded)
    }

    fn to_bytes(self) -> [u8; 16] {
        self.to_le_bytes()
    }

    fn from_bytes(bytes: [u8; 16]) -> Self {
        Self::from_le_bytes(bytes)
    }

    fn bits(self) -> u64 {
        u64::try_from(self & u128::from(u64::MAX)).unwrap_or(0)
    }
}

/// How many bits a fingerprint has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Width {
    /// 64.
    #[default]
    Short,
    /// 128.
    Exact,
}

impl Width {
    /// The expected number of pairs of different states that share a fingerprint: n²/2 of them, each with a chance of
    /// one in 2⁶⁴ or 2¹²⁸.
    #[must_use]
    pub fn expected_collisions(self, states: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let states = states as f64;
        let bits = match self {
            Self::Short => 64,
            Self::Exact => 128,
        };
        states * states / 2_f64.powi(bits + 1)
    }
}

/// How long the encoder's buffer is at first, in bytes.
const ROOM: usize = 1 << 10;

/// Encodes states into a buffer that is used again. postcard's own writers take an integer, which is one byte nearly
/// always, as a slice of unknown length, and to a growing buffer byte by byte: that was a third of all CPU time.
#[derive(Debug)]
pub(crate) struct Encoder(Vec<u8>);

impl Default for Encoder {
    fn default() -> Self {
        Self(vec![0; ROOM])
    }
}

impl Encoder {
    /// The bytes of a state.
    #[inline]
    pub(crate) fn encode<S: Serialize>(&mut self, state: &S) -> Result<&[u8], String> {
        let length = loop {
            match postcard::serialize_with_flavor(state, Into { buffer: &mut self.0, at: 0 }) {
                Ok(length) => break length,
                Err(postcard::Error::SerializeBufferFull) => self.0.resize(2 * self.0.len(), 0),
                Err(error) => return Err(format!("a state can't be encoded: {error}")),
            }
        };
        Ok(&self.0[..length])
    }
}

/// Where the encoder is in its buffer.
struct Into<'a> {
    buffer: &'a mut [u8],
    at: usize,
}

impl Flavor for Into<'_> {
    type Output = usize;

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        if let [one] = data {
            return self.try_push(*one);
        }
        let room = self.buffer.get_mut(self.at..self.at + data.len());
        room.ok_or(postcard::Error::SerializeBufferFull)?.copy_from_slice(data);
        self.at += data.len();
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        *self.buffer.get_mut(self.at).ok_or(postcard::Error::SerializeBufferFull)? = data;
        self.at += 1;
        Ok(())
    }

    fn finalize(self) -> postcard::Result<usize> {
        Ok(self.at)
    }
}

/// Reads a state back.
pub(super) fn decode<S: DeserializeOwned>(bytes: &[u8]) -> Result<S, String> {
    postcard::from_bytes(bytes).map_err(|error| format!("an encoded state can't be read back: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values for an empty input of the published test vectors of XXH3 (seed 0): a fingerprint is the same
    /// everywhere, and for ever.
    #[test]
    fn a_fingerprint_is_xxh3() {
        assert_eq!(<u64 as Fingerprint>::of(b""), 0x2d06_8005_38d3_94c2);
        assert_eq!(<u128 as Fingerprint>::of(b""), 0x99aa_06d3_0147_98d8_6001_c324_468d_497f);
    }

    #[test]
    fn collisions_are_expected_by_the_birthday_rule() {
        // 2³² states have 2⁶³ pairs, and each collides with a chance of 2⁻⁶⁴.
        assert!((Width::Short.expected_collisions(1 << 32) - 0.5).abs() < 1e-9);
        assert!(Width::Exact.expected_collisions(1 << 32) < 1e-19);
    }

    #[test]
    fn a_fingerprint_survives_its_bytes() {
        assert_eq!(u64::from_bytes(Fingerprint::to_bytes(77_u64)), 77);
        assert_eq!(u128::from_bytes(Fingerprint::to_bytes(1_u128 << 100)), 1 << 100);
        assert_eq!(((1_u128 << 100) + 5).bits(), 5);
    }

    #[test]
    fn a_state_of_any_length_is_encoded() {
        let mut encoder = Encoder::default();
        for length in [0, 1, ROOM - 2, ROOM, 5 * ROOM] {
            let state: Vec<u16> = (0..length).map(|at| u16::try_from(at % 300).expect("small")).collect();
            let bytes = encoder.encode(&state).expect("encoded");
            assert_eq!(bytes, postcard::to_stdvec(&state).expect("encoded"));
            assert_eq!(decode::<Vec<u16>>(bytes), Ok(state));
        }
    }
}
