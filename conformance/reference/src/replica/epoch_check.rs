//! Whether a request is in the leader epoch of the broker that gets it (docs/replication.md 3.1; Kafka's
//! `Partition#checkCurrentLeaderEpoch`, `#getLocalLog`; KIP-320).

use super::error::ErrorCode;
use super::names::LeaderEpoch;

/// What the receiving broker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalReplica {
    /// The leader epoch that it has applied.
    pub leader_epoch: LeaderEpoch,
    /// Whether it leads.
    pub is_leader: bool,
    /// Whether it has a log.
    pub has_log: bool,
}

/// The table, in its order: so a broker that does not lead tells of an older or later epoch first.
pub fn check_leader_epoch(
    local: LocalReplica,
    requested: Option<LeaderEpoch>,
    leader_required: bool,
) -> Result<(), ErrorCode> {
    match requested {
        Some(requested) if local.leader_epoch > requested => Err(ErrorCode::FencedLeaderEpoch),
        Some(requested) if local.leader_epoch < requested => Err(ErrorCode::UnknownLeaderEpoch),
        _ if leader_required && !local.is_leader => Err(ErrorCode::NotLeaderOrFollower),
        _ if !local.has_log => Err(ErrorCode::NotLeaderOrFollower),
        _ => Ok(()),
    }
}
