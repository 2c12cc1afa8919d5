//! Sets of partitions as bits, and the partitions' names in traces.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

use fencepost_fixtures::names::TopicPartition;
use serde::{Deserialize, Serialize};

/// The most partitions that a configuration can have.
pub const MAX_PARTITIONS: usize = 4;

/// A set of partitions, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Partitions(pub u8);

impl Partitions {
    /// No partition.
    pub const NONE: Self = Self(0);

    /// The first `count` partitions.
    #[must_use]
    pub fn first(count: u8) -> Self {
        Self((1 << count) - 1)
    }

    /// The one partition `index`.
    #[must_use]
    pub fn one(index: u8) -> Self {
        Self(1 << index)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether `index` is one of them.
    #[must_use]
    pub fn contains(self, index: u8) -> bool {
        self.0 >> index & 1 == 1
    }

    /// Whether all of them are among `others`.
    #[must_use]
    pub fn within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// Whether some of them are among `others`.
    #[must_use]
    pub fn meets(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    /// Without `others`.
    #[must_use]
    pub fn minus(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Their indices, ascending.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        let mut bits = self.0;
        std::iter::from_fn(move || {
            if bits == 0 {
                return None;
            }
            let index = bits.trailing_zeros();
            bits &= bits - 1;
            u8::try_from(index).ok()
        })
    }
}

impl BitOr for Partitions {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitAnd for Partitions {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl Not for Partitions {
    type Output = Self;
    fn not(self) -> Self {
        Self(!self.0 & 0xf)
    }
}

/// Which partitions there are, and of which topics: those of `t` first, then those of `u`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Topics {
    /// The partitions of topic `t`.
    pub t: u8,
    /// The partitions of topic `u`.
    pub u: u8,
}

/// Bit of topic `t` in a subscription.
pub const TOPIC_T: u8 = 1;
/// Bit of topic `u` in a subscription.
pub const TOPIC_U: u8 = 2;

impl Topics {
    /// How many partitions there are.
    #[must_use]
    pub fn count(self) -> u8 {
        self.t + self.u
    }

    /// A subscription to every topic there is.
    #[must_use]
    pub fn all(self) -> u8 {
        if self.u > 0 { TOPIC_T | TOPIC_U } else { TOPIC_T }
    }

    /// The partitions of the topics in `subscription`.
    #[must_use]
    pub fn of(self, subscription: u8) -> Partitions {
        let mut partitions = Partitions::NONE;
        if subscription & TOPIC_T != 0 {
            partitions = partitions | Partitions::first(self.t);
        }
        if subscription & TOPIC_U != 0 {
            partitions = partitions | Partitions::first(self.count()).minus(Partitions::first(self.t));
        }
        partitions
    }

    /// A partition's name in a trace.
    #[must_use]
    pub fn name(self, index: u8) -> TopicPartition {
        if index < self.t {
            TopicPartition::new("t", u16::from(index))
        } else {
            TopicPartition::new("u", u16::from(index - self.t))
        }
    }

    /// The partition that a trace calls `name`.
    #[must_use]
    pub fn index(self, name: &TopicPartition) -> Option<u8> {
        (0..self.count()).find(|index| self.name(*index) == *name)
    }

    /// A set of partitions for a reader: `t-0, t-1`, or `nothing`.
    #[must_use]
    pub fn words(self, partitions: Partitions) -> String {
        if partitions.is_empty() {
            return "nothing".to_owned();
        }
        let names: Vec<_> = partitions.iter().map(|index| self.name(index).to_string()).collect();
        names.join(", ")
    }
}

impl fmt::Display for Topics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} of t, {} of u", self.t, self.u)
    }
}
