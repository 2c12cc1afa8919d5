//! What a leader remembers of another replica (docs/replication.md 4.1, 4.2, 4.4; Kafka's `Replica`).

use super::names::{BrokerEpoch, LagPeriod, Offset};

/// What is known of another replica. See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RemoteReplica {
    /// Its end: the offset of its last fetch.
    pub end: Option<Offset>,
    /// The first offset of its log.
    pub log_start: Option<Offset>,
    /// The leader's end when it last fetched.
    pub leader_end_at_last_fetch: Offset,
    /// When it last fetched.
    pub last_fetch: Option<LagPeriod>,
    /// When it last had all that the leader had.
    pub last_caught_up: Option<LagPeriod>,
    /// The incarnation that fetched.
    pub broker_epoch: Option<BrokerEpoch>,
}

/// A fetch, as far as the leader counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountedFetch {
    /// The follower's end.
    pub offset: Offset,
    /// The first offset of its log.
    pub log_start: Offset,
    /// The leader's end before the read.
    pub leader_end: Offset,
    /// The time.
    pub now: LagPeriod,
    /// The incarnation that fetched.
    pub broker_epoch: BrokerEpoch,
}

impl RemoteReplica {
    /// Counts a fetch. Its end may go down.
    #[must_use]
    pub fn fetched(self, fetch: CountedFetch) -> Self {
        let caught_up = match () {
            () if fetch.offset >= fetch.leader_end => self.last_caught_up.max(Some(fetch.now)),
            // It has what there was when it fetched before: it had caught up then.
            () if fetch.offset >= self.leader_end_at_last_fetch => self.last_caught_up.max(self.last_fetch),
            () => self.last_caught_up,
        };
        Self {
            end: Some(fetch.offset),
            log_start: Some(fetch.log_start),
            leader_end_at_last_fetch: self.leader_end_at_last_fetch.max(fetch.leader_end),
            last_fetch: Some(fetch.now),
            last_caught_up: caught_up,
            broker_epoch: Some(fetch.broker_epoch),
        }
    }

    /// A leadership begins in which nothing is known of it.
    #[must_use]
    pub fn new_leadership(in_isr: bool, now: LagPeriod) -> Self {
        Self { last_caught_up: in_isr.then_some(now), ..Self::default() }
    }

    /// The leader goes on in a later epoch, and what it knows stays.
    #[must_use]
    pub fn same_leader(self, in_isr: bool, now: LagPeriod, epoch_start: Offset) -> Self {
        Self {
            last_caught_up: in_isr.then_some(now),
            last_fetch: in_isr.then_some(now),
            leader_end_at_last_fetch: epoch_start,
            ..self
        }
    }

    /// Whether it has all, or had it within `replica.lag.time.max.ms`.
    #[must_use]
    pub fn is_caught_up(&self, leader_end: Offset, now: LagPeriod) -> bool {
        self.end == Some(leader_end) || self.last_caught_up == Some(now)
    }
}
