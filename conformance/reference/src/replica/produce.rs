//! What becomes of a produce request (docs/replication.md 4.6; Kafka's `Partition#appendRecordsToLeader`,
//! `#checkEnoughReplicasReachOffset`, `DelayedProduce`).

use super::error::ErrorCode;
use super::names::Offset;

/// How many replicas are to have the records before the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Acks {
    /// 0: nobody waits.
    None,
    /// 1: the leader.
    Leader,
    /// -1: all in sync.
    All,
}

/// Whether the records may be appended.
pub fn check_produce(is_leader: bool, acks: Acks, committed_isr: usize, min_isr: usize) -> Result<(), ErrorCode> {
    match acks {
        _ if !is_leader => Err(ErrorCode::NotLeaderOrFollower),
        Acks::All if committed_isr < min_isr => Err(ErrorCode::NotEnoughReplicas),
        _ => Ok(()),
    }
}

/// The answer to a request that waits for all in sync; `None` while it waits.
#[must_use]
pub fn check_replicated(
    required: Offset,
    high_watermark: Offset,
    maximal_isr: usize,
    min_isr: usize,
) -> Option<Result<(), ErrorCode>> {
    match () {
        () if high_watermark < required => None,
        () if maximal_isr < min_isr => Some(Err(ErrorCode::NotEnoughReplicasAfterAppend)),
        () => Some(Ok(())),
    }
}
