//! What a client does about its partition, and where it stands (docs/consumers.md 1; Kafka's `SubscriptionState`,
//! `FetchPosition`, `FetchStates`).

use super::names::{BrokerId, LeaderEpoch, Offset, TopicId};

/// What a client does about its partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FetchState {
    /// It has no position yet.
    Initializing,
    /// It fetches at its position.
    Fetching,
    /// It waits for the offset of a reset.
    AwaitReset,
    /// It waits for its position to be confirmed.
    AwaitValidation,
}

impl FetchState {
    /// Whether there is a position.
    #[must_use]
    pub const fn has_position(self) -> bool {
        matches!(self, Self::Fetching | Self::AwaitValidation)
    }

    /// The table of what may follow. What may not is silently not done.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        match (self, next) {
            (_, Self::Initializing) | (Self::AwaitReset, Self::AwaitValidation) => false,
            (
                Self::Initializing | Self::Fetching | Self::AwaitReset | Self::AwaitValidation,
                Self::Fetching | Self::AwaitReset | Self::AwaitValidation,
            ) => true,
        }
    }
}

/// A leader as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LeaderAndEpoch {
    /// Who leads.
    pub leader: Option<BrokerId>,
    /// In which epoch.
    pub epoch: Option<LeaderEpoch>,
}

/// Where a client stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Position {
    /// The offset of the next record.
    pub offset: Offset,
    /// The epoch of the record before it.
    pub offset_epoch: Option<LeaderEpoch>,
    /// The leader that it is of.
    pub leader: LeaderAndEpoch,
    /// The topic that it is of, where that matters and is known.
    pub topic: Option<TopicId>,
}

impl Position {
    /// Whether there is something to ask with, and a leader epoch to ask under.
    #[must_use]
    pub const fn can_be_validated(&self) -> bool {
        self.offset_epoch.is_some() && self.leader.epoch.is_some()
    }

    /// Whether an answer that was asked for at `sent` is of this position: all three parts.
    #[must_use]
    pub fn is_that_of(&self, sent: &Self) -> bool {
        (self.offset, self.offset_epoch, self.leader) == (sent.offset, sent.offset_epoch, sent.leader)
    }
}
