//! Where a client goes on that gives its position up (docs/consumers.md 5, 7; Kafka's `OffsetFetcher#resetPositionIfNeeded`,
//! `AutoOffsetResetStrategy`).

use super::names::{LeaderEpoch, Offset};
use super::record::{Record, timestamp};
use super::rules::ResetPolicy;
use super::state::Position;
use crate::replica::message::OffsetSpec;
use crate::storage::epoch_cache::EpochCache;
use crate::storage::names::Millis;

/// Which offset a client asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetStrategy {
    /// The start of the log.
    Earliest,
    /// Its end.
    Latest,
    /// That of the first record of this time or a later one.
    Timestamp(i64),
}

impl ResetStrategy {
    /// What is asked for.
    #[must_use]
    pub const fn spec(self) -> OffsetSpec {
        match self {
            Self::Earliest => OffsetSpec::Earliest,
            Self::Latest => OffsetSpec::Latest,
            Self::Timestamp(time) => OffsetSpec::Timestamp(Millis(time)),
        }
    }

    /// By the time of the record before a position.
    #[must_use]
    pub fn of_last_record(position: &Position) -> Self {
        let epoch = position.offset_epoch.unwrap_or(LeaderEpoch::NONE);
        Self::Timestamp(timestamp(epoch, Offset(position.offset.0.saturating_sub(1))))
    }
}

/// What the policy says.
#[must_use]
pub const fn by_policy(policy: ResetPolicy) -> Option<ResetStrategy> {
    match policy {
        ResetPolicy::Earliest => Some(ResetStrategy::Earliest),
        ResetPolicy::Latest => Some(ResetStrategy::Latest),
        ResetPolicy::None => None,
    }
}

/// Where a client goes on that cannot know where the logs part (7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetChoice {
    /// Where the first epoch above its own starts: no record of an epoch up to its own is behind that.
    FirstLargerEpoch,
    /// At the time of the last record that it read.
    Timestamp,
    /// At the start of the log.
    Earliest,
    /// At its end.
    Latest,
}

/// The offset of a choice in a leader's log, for a client at `offset` whose last record is of `epoch`.
#[must_use]
pub fn reset_target(
    epochs: &EpochCache,
    log: &[Record],
    choice: ResetChoice,
    offset: Offset,
    epoch: LeaderEpoch,
) -> Offset {
    let start = log.first().map_or(Offset(0), |record| record.offset);
    let end = log.last().map_or(Offset(0), |record| record.offset.next());
    match choice {
        ResetChoice::FirstLargerEpoch => {
            let larger = epochs.entries().iter().find(|entry| entry.epoch > epoch);
            // Nobody goes forward because of a truncation.
            larger.map_or(end, |entry| entry.start_offset).min(offset)
        }
        ResetChoice::Timestamp => {
            let last = timestamp(epoch, Offset(offset.0.saturating_sub(1)));
            log.iter().find(|record| record.timestamp() >= last).map_or(end, |record| record.offset)
        }
        ResetChoice::Earliest => start,
        ResetChoice::Latest => end,
    }
}
