//! The numbers of a log that must not be mixed up: offsets, times, producers (docs/compaction.md 0.3).

use std::fmt;

macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident($inner:ty);)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
            pub struct $name(pub $inner);

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.0.fmt(f)
                }
            }
        )*
    };
}

numbers! {
    /// The place of a record in its partition.
    Offset(i64);
    /// A time in milliseconds since the epoch, or a span of them. A record without a time has [`Millis::NONE`].
    Millis(i64);
    /// A producer, or [`ProducerId::NONE`].
    ProducerId(i64);
    /// The incarnation of a producer, or [`ProducerEpoch::NONE`].
    ProducerEpoch(i16);
    /// The incarnation of a partition's leader, or [`LeaderEpoch::NONE`]. It lies outside the CRC.
    LeaderEpoch(i32);
    /// The number of a producer's record in a partition, or [`Sequence::NONE`].
    Sequence(i32);
}

impl Offset {
    /// The offset after this one. The largest offset has none; it stays where it is.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl Millis {
    /// No time: what a record of the oldest format reads as, and the base timestamp of an empty batch.
    pub const NONE: Self = Self(-1);

    /// The sum in Kafka's wrapping arithmetic: a horizon that wraps below 0 is no horizon (docs/compaction.md 1.7).
    #[must_use]
    pub const fn wrapping_add(self, span: Self) -> Self {
        Self(self.0.wrapping_add(span.0))
    }
}

impl ProducerId {
    /// No producer.
    pub const NONE: Self = Self(-1);
}

impl ProducerEpoch {
    /// No epoch.
    pub const NONE: Self = Self(-1);
}

impl LeaderEpoch {
    /// The leader's epoch is not known.
    pub const NONE: Self = Self(-1);
}

impl Sequence {
    /// No sequence: a batch of no producer, and every marker.
    pub const NONE: Self = Self(-1);

    /// This sequence, `delta` records later. After 2^31-1 comes 0 (`DefaultRecordBatch#incrementSequence`).
    #[must_use]
    pub const fn plus(self, delta: i32) -> Self {
        Self(self.0.wrapping_add(delta) & i32::MAX)
    }
}
