//! Whether a follower's log is a prefix of the leader's, by what its fetch says (docs/replication.md 3.3; Kafka's
//! `Partition#readRecords`; KIP-595).

use super::error::ErrorCode;
use super::names::{LeaderEpoch, Offset};
use super::slip::Slip;
use crate::storage::epoch_cache::EpochEnd;

/// A fetch as far as divergence is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FetchPosition {
    /// Where the follower wants to go on.
    pub offset: Offset,
    /// The epoch before it.
    pub last_fetched_epoch: LeaderEpoch,
}

/// The table, in its order: `Ok(None)` reads on, `Ok(Some)` is where the follower's last epoch ends on the leader.
///
/// `end` is the leader's answer for that epoch.
pub fn check_divergence(
    end: EpochEnd,
    log_start: Offset,
    fetch: FetchPosition,
    slip: Option<Slip>,
) -> Result<Option<EpochEnd>, ErrorCode> {
    let slips = |which| slip == Some(which);
    match () {
        () if !end.is_defined() || end.epoch == LeaderEpoch::NONE => Err(ErrorCode::OffsetOutOfRange),
        () if fetch.offset < log_start && !slips(Slip::DivergenceBelowLogStart) => Err(ErrorCode::OffsetOutOfRange),
        () if end.epoch < fetch.last_fetched_epoch && !slips(Slip::DivergenceByOffsetAlone) => Ok(Some(end)),
        () if end.end_offset < fetch.offset => Ok(Some(end)),
        () => Ok(None),
    }
}
