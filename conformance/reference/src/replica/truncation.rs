//! Where a follower cuts its log, given where the leader's log ends its epoch (docs/replication.md 2.4, 2.5; Kafka's
//! `AbstractFetcherThread#getOffsetTruncationState`).

use super::names::{LeaderEpoch, Offset};
use super::rules::Truncation;
use super::slip::Slip;
use crate::storage::epoch_cache::{EpochCache, EpochEnd};

/// The follower's side.
#[derive(Debug, Clone, Copy)]
pub struct OwnLog<'a> {
    /// Its epochs, before the cut.
    pub epochs: &'a EpochCache,
    /// Its end.
    pub log_end: Offset,
    /// The offset of its fetcher's entry: its high watermark, where nothing else was said.
    pub entry_offset: Offset,
}

/// Where to cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TruncationTarget {
    /// The offset at which the log is to end.
    pub offset: Offset,
    /// Whether the leader need not be asked again.
    pub finished: bool,
}

/// The table, in its order.
#[must_use]
pub fn truncation_target(
    own: OwnLog<'_>,
    reply: EpochEnd,
    truncation: Truncation,
    slip: Option<Slip>,
) -> TruncationTarget {
    let slips = |which| slip == Some(which);
    let one_answer = matches!(truncation, Truncation::LeaderOffset | Truncation::HighWatermark);
    let own_end = own.epochs.end_offset_for(reply.epoch, own.log_end);
    let done = |offset| TruncationTarget { offset, finished: true };
    match () {
        () if !reply.is_defined() => done(own.entry_offset),
        () if one_answer && own.epochs.latest().is_none() => done(own.entry_offset),
        () if one_answer || slips(Slip::OwnEpochsIgnored) => done(reply.end_offset.min(own.log_end)),
        () if reply.epoch == LeaderEpoch::NONE => match slip {
            Some(Slip::NoEpochMeansHighWatermark) => done(own.entry_offset),
            Some(Slip::NoEpochBoundedByHighWatermark) => done(reply.end_offset.min(own.log_end).min(own.entry_offset)),
            _ => done(reply.end_offset.min(own.log_end)),
        },
        () if !own_end.is_defined() && slips(Slip::NoOwnEpochMeansHighWatermark) => done(own.entry_offset),
        () if !own_end.is_defined() => done(reply.end_offset.min(own.log_end)),
        () if own_end.epoch != reply.epoch && slips(Slip::IntermediateUnbounded) => {
            TruncationTarget { offset: reply.end_offset.max(own_end.end_offset), finished: false }
        }
        () if own_end.epoch != reply.epoch => {
            TruncationTarget { offset: own_end.end_offset.min(own.log_end), finished: slips(Slip::OneRound) }
        }
        () => done(own_end.end_offset.min(reply.end_offset).min(own.log_end)),
    }
}
