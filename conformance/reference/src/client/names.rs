//! The numbers and names of a client (docs/consumers.md). Brokers, offsets and leader epochs are replication's.

pub use crate::replica::names::{BrokerId, Correlation, LeaderEpoch, Offset};

/// The id of a topic; a topic that is created anew has another one (KIP-516).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(pub u16);

impl TopicId {
    /// That of the first topic, and of requests that do not say.
    pub const FIRST: Self = Self(1);
}
