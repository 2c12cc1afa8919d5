//! The names and numbers that the protocol tells apart: ids, epochs, partitions.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::coordinator::records::Uuid;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(Arc<str>);

        impl $name {
            /// The id as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Whether it is the empty string, which requests use for "none yet".
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.0.is_empty()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// A group's id.
    GroupId
);
id!(
    /// A member's id: one consumer, one life. The caller makes it.
    MemberId
);
id!(
    /// A static member's instance id, which survives a restart.
    InstanceId
);
id!(
    /// A topic's name.
    TopicName
);

/// A group, assignment or member epoch: one numbering, in which they are compared with each other.
///
/// A member epoch may also be 0 (joining), -1 (left, or none) or -2 (a static member that left for a while).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Epoch(pub i32);

impl Epoch {
    /// Sent to join; inside the coordinator only while a member is being made.
    pub const JOIN: Self = Self(0);
    /// Sent to leave, and by whoever has no epoch.
    pub const LEAVE: Self = Self(-1);
    /// Sent by a static member that leaves and means to come back.
    pub const LEAVE_TEMPORARILY: Self = Self(-2);

    /// The epoch after this one. Stops at the largest, which no group reaches and a damaged record may hold.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A partition of a topic, by the topic's id: a topic that was deleted and made again is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic.
    pub topic_id: Uuid,
    /// The partition.
    pub partition: i32,
}

/// A producer's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerId(pub i64);

/// A producer's epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerEpoch(pub i16);
