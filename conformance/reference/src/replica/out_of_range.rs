//! What a follower does whose offset its leader does not have (docs/replication.md 2.7; Kafka's
//! `AbstractFetcherThread#fetchOffsetAndTruncate`; KAFKA-7414).

use super::names::Offset;

/// What follows from where the leader's log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterLatest {
    /// The follower is ahead: it cuts there and goes on.
    TruncateTo(Offset),
    /// The leader's start is to be asked for.
    AskEarliest,
}

/// The leader's end is known.
#[must_use]
pub fn after_latest(own_end: Offset, leader_end: Offset) -> AfterLatest {
    if leader_end < own_end { AfterLatest::TruncateTo(leader_end) } else { AfterLatest::AskEarliest }
}

/// What follows from where the leader's log begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AfterEarliest {
    /// Where the follower's log begins anew, if it lies wholly before the leader's.
    pub restart_at: Option<Offset>,
    /// Where it fetches on.
    pub fetch_from: Offset,
}

/// The leader's start is known.
#[must_use]
pub fn after_earliest(own_end: Offset, leader_start: Offset) -> AfterEarliest {
    AfterEarliest {
        restart_at: (leader_start > own_end).then_some(leader_start),
        fetch_from: leader_start.max(own_end),
    }
}
