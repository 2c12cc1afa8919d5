//! Kafka's primitive types on the wire.

/// An id of a topic, 16 bytes, as Kafka's `Uuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The id that stands for "none" in Kafka's messages.
    pub const ZERO: Self = Self([0; 16]);
}
