//! How far a leader's high watermark may rise (docs/replication.md 4.3; Kafka's `Partition#maybeIncrementLeaderHW`), and
//! what a follower makes of it (1.5).

use super::names::Offset;

/// A remote replica, as far as the high watermark is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    /// Its end, if it has fetched in this leadership.
    pub end: Option<Offset>,
    /// Whether it is in the ISR, or about to be, or about to leave it.
    pub in_maximal_isr: bool,
    /// Whether it has caught up and may join the ISR.
    pub about_to_join: bool,
}

/// The leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaderEnd {
    /// Its high watermark.
    pub high_watermark: Offset,
    /// Its end.
    pub log_end: Offset,
    /// How many replicas are in the ISR that the controller has confirmed.
    pub committed_isr: usize,
    /// How many have to be.
    pub min_isr: usize,
}

/// `min.insync.replicas`, of as many replicas as there are.
#[must_use]
pub const fn effective_min_isr(min_isr: usize, replicas: usize) -> usize {
    if min_isr < replicas { min_isr } else { replicas }
}

/// The new high watermark, if it rises.
#[must_use]
pub fn risen_high_watermark(leader: LeaderEnd, remotes: impl IntoIterator<Item = Awaited>) -> Option<Offset> {
    if leader.committed_isr < leader.min_isr {
        // Else who has left the ISR could not be elected from the ELR (KAFKA-15583).
        return None;
    }
    let waits_for = remotes.into_iter().filter(|remote| remote.in_maximal_isr || remote.about_to_join);
    let candidate = waits_for.map(|remote| remote.end.unwrap_or(Offset(-1))).fold(leader.log_end, Offset::min);
    (candidate > leader.high_watermark).then_some(candidate)
}

/// What a follower's high watermark becomes when the leader tells its own: it may fall.
#[must_use]
pub fn follower_high_watermark(told: Offset, log_start: Offset, log_end: Offset) -> Offset {
    told.max(log_start).min(log_end)
}
