//! The state of a follower's fetcher (docs/replication.md 2.1, 2.2; Kafka's `AbstractFetcherThread`,
//! `PartitionFetchState`).
//!
//! There is one fetcher for each leader, and each has at most one request outstanding. The partition has an entry in one of
//! them, and is replaced whole when the leader epoch changes: the reply to an outstanding request finds another entry then.

use super::names::{BrokerId, Correlation, LeaderEpoch, Offset};
use super::rules::Truncation;

/// What the fetcher does with the partition next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FetchState {
    /// It finds out where the leader's log is left.
    Truncating,
    /// It fetches.
    Fetching,
}

/// The partition in a fetcher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FetchEntry {
    /// Whose fetcher it is in.
    pub leader: BrokerId,
    /// The next offset to ask for; while truncating, where to cut if the epochs say nothing.
    pub offset: Offset,
    /// The leader epoch in which it was added.
    pub leader_epoch: LeaderEpoch,
    /// The epoch of what is before the offset.
    pub last_fetched_epoch: Option<LeaderEpoch>,
    /// What is next.
    pub state: FetchState,
    /// Whether it waits after an error.
    pub backing_off: bool,
}

/// What was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Asked {
    /// Records from an offset on.
    Records(Offset),
    /// Where the latest epoch ends.
    EpochEnd,
    /// The leader's end, because an offset was out of range.
    Latest,
    /// The leader's start, for the same reason.
    Earliest,
}

/// A request that is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Outstanding {
    /// Its number.
    pub correlation: Correlation,
    /// The leader epoch that it was sent in.
    pub leader_epoch: LeaderEpoch,
    /// What it asks.
    pub asked: Asked,
}

/// The follower's log when it starts to follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowerLog {
    /// Its end.
    pub log_end: Offset,
    /// Its high watermark.
    pub high_watermark: Offset,
    /// Its latest epoch.
    pub latest_epoch: Option<LeaderEpoch>,
}

/// The entry with which a follower begins to follow a leader in an epoch (the table of 2.2, with the initial offset).
#[must_use]
pub fn initial_entry(
    leader: BrokerId,
    leader_epoch: LeaderEpoch,
    log: FollowerLog,
    truncation: Truncation,
) -> FetchEntry {
    let entry = |offset, last_fetched_epoch, state| FetchEntry {
        leader,
        offset,
        leader_epoch,
        last_fetched_epoch,
        state,
        backing_off: false,
    };
    match (truncation, log.latest_epoch) {
        (Truncation::OnFetch, Some(latest)) => entry(log.log_end, Some(latest), FetchState::Fetching),
        (Truncation::OnFetch, None) => entry(log.high_watermark, None, FetchState::Truncating),
        // It has cut at its high watermark already.
        (Truncation::HighWatermark, _) => entry(log.log_end, None, FetchState::Fetching),
        (Truncation::LeaderOffset | Truncation::EpochExchange, _) => {
            entry(log.high_watermark, None, FetchState::Truncating)
        }
    }
}
