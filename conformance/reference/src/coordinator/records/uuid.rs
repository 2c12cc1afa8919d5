//! Kafka's 16-byte ids, here those of topics.

use std::fmt;

/// An id of a topic, as Kafka's `Uuid`: 16 bytes, most significant first.
///
/// It is shown as Kafka shows it: 22 characters of base64 in the alphabet for URLs, without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that stands for "none" in Kafka's messages.
    pub const ZERO: Self = Self([0; 16]);
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let bits = u128::from_be_bytes(self.0);
        let characters: String = (0..22)
            .map(|at| {
                // 22 characters have 132 bits: the last one ends in four zeros that are not the id's.
                let sextet = if at == 21 { bits << 4 } else { bits >> (122 - 6 * at) } & 0x3f;
                char::from(ALPHABET[usize::try_from(sextet).unwrap_or(0)])
            })
            .collect();
        f.pad(&characters)
    }
}
