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

/// Where the encoder writes: a buffer that is used again, and takes many bytes at once (postcard's own writer to an
/// existing buffer takes them one by one, which was a third of all CPU time).
struct Into<'a>(&'a mut Vec<u8>);

impl Flavor for Into<'_> {
    type Output = ();

    #[inline]
    fn try_extend(&mut self, data: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(data);
        Ok(())
    }

    #[inline]
    fn try_push(&mut self, data: u8) -> postcard::Result<()> {
        self.0.push(data);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Encodes a state at the end of `buffer`.
pub(crate) fn encode<S: Serialize>(state: &S, buffer: &mut Vec<u8>) -> Result<(), String> {
    postcard::serialize_with_flavor(state, Into(buffer)).map_err(|error| format!("a state can't be encoded: {error}"))
}

/// Reads a state back.
pub(super) fn decode<S: DeserializeOwned>(bytes: &[u8]) -> Result<S, String> {
    postcard::from_bytes(bytes).map_err(|error| format!("an encoded state can't be read back: {error}"))
}

/// The fingerprint of a state that is not on its way to an owner.
pub(super) fn fingerprint<F: Fingerprint, S: Serialize>(state: &S, buffer: &mut Vec<u8>) -> Result<F, String> {
    buffer.clear();
    encode(state, buffer)?;
    Ok(F::of(buffer))
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
}
