//! `KafkaReplication`: the actions that all five generations share, and the old forms of those that a later one fences.
//!
//! Each function is one action with the values that its quantifiers choose: the guard, and the state behind it. Names are
//! the module's own. The logs are `FiniteReplicatedLog`'s.

use super::state::{Id, Ids, Record, Request, State};

/// The constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constants {
    /// How many replicas there are.
    pub replicas: u8,
    /// `LogSize`: how many records a log has room for.
    pub log_size: u8,
    /// `MaxRecords`: how many records are written in all.
    pub max_records: u8,
    /// `MaxLeaderEpoch`: the last epoch; the first is 0.
    pub max_leader_epoch: u8,
}

impl Constants {
    /// All replicas.
    #[must_use]
    pub const fn all(self) -> Ids {
        Ids::first(self.replicas)
    }

    /// `ControllerUpdateIsr`: every decision of the controller takes an epoch, and is sent as a request.
    fn controller_update_isr(self, state: &State, leader: Option<Id>, isr: Ids) -> Option<State> {
        (state.next_epoch <= self.max_leader_epoch).then(|| state.decided(leader, isr))
    }

    /// `ControllerShrinkIsr`. Its last branch also takes the last member, where there is no leader: the ISR can become
    /// empty, though the module's comment says that it does not.
    pub(super) fn controller_shrink_isr(self, state: &State, replica: Id) -> Option<State> {
        let (leader, isr) = (state.quorum_leader(), state.quorum_isr());
        match shrinks(state, replica)? {
            Shrink::LeaderAlone => self.controller_update_isr(state, None, isr),
            Shrink::Leader => self.controller_update_isr(state, None, isr.without(replica)),
            Shrink::Other => self.controller_update_isr(state, leader, isr.without(replica)),
        }
    }

    /// `ControllerElectLeader`: any member of the ISR that does not lead yet.
    pub(super) fn controller_elect_leader(self, state: &State, leader: Id) -> Option<State> {
        let eligible = state.quorum_isr().contains(leader) && state.quorum_leader() != Some(leader);
        if eligible { self.controller_update_isr(state, Some(leader), state.quorum_isr()) } else { None }
    }

    /// `LeaderWrite`: by any replica that presumes to lead.
    pub(super) fn leader_write(self, state: &State, replica: Id) -> Option<State> {
        let log = state.replica(replica);
        let room = state.next_record < self.max_records && log.end() < self.log_size;
        if !(presumes_leadership(state, replica) && room) {
            return None;
        }
        let record = Record { id: state.next_record, epoch: log.epoch()? };
        let mut next = state.with_replica(replica, log.appended(record));
        next.next_record += 1;
        Some(next)
    }

    /// `LeaderIncHighWatermark`, the old form: each member of the ISR names the leader, in whatever epoch, and has the
    /// record.
    pub(super) fn leader_inc_high_watermark(self, state: &State, leader: Id) -> Option<State> {
        let high_watermark = state.replica(leader).high_watermark();
        let acknowledged = |follower| is_following(state, follower, leader) && has(state, follower, high_watermark);
        let guard = presumes_leadership(state, leader)
            && high_watermark < self.log_size
            && state.replica(leader).isr().iter().all(acknowledged);
        guard.then(|| incremented(state, leader))
    }

    /// `ReplicaLog!ReplicateTo`, and the high watermark that comes with a fetch: it may go down.
    pub(super) fn replicate(self, state: &State, leader: Id, follower: Id) -> Option<State> {
        let log = state.replica(follower);
        let record = state.replica(leader).record(log.end()).filter(|_| log.end() < self.log_size)?;
        let log = log.appended(record);
        let high_watermark = state.replica(leader).high_watermark().min(log.end());
        Some(state.with_replica(follower, log.with_high_watermark(high_watermark)))
    }

    /// `FollowerReplicate`, the old form: follower and leader agree on who leads; no epoch is compared.
    pub(super) fn follower_replicate(self, state: &State, leader: Id, follower: Id) -> Option<State> {
        let guard = presumes_leadership(state, leader) && is_following(state, follower, leader);
        if guard { self.replicate(state, leader, follower) } else { None }
    }
}

/// Which branch of `ControllerShrinkIsr` a replica meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shrink {
    /// The leader, which is all that the ISR has: it stays.
    LeaderAlone,
    /// The leader.
    Leader,
    /// A member that does not lead.
    Other,
}

/// The branch of `ControllerShrinkIsr` for this replica. They exclude each other.
#[must_use]
pub fn shrinks(state: &State, replica: Id) -> Option<Shrink> {
    let isr = state.quorum_isr();
    if state.quorum_leader() == Some(replica) {
        Some(if isr == Ids::EMPTY.with(replica) { Shrink::LeaderAlone } else { Shrink::Leader })
    } else {
        isr.contains(replica).then_some(Shrink::Other)
    }
}

/// `ReplicaPresumesLeadership`.
#[must_use]
pub fn presumes_leadership(state: &State, replica: Id) -> bool {
    is_following(state, replica, replica)
}

/// `ReplicaIsFollowing`.
#[must_use]
pub fn is_following(state: &State, follower: Id, leader: Id) -> bool {
    state.replica(follower).leader() == Some(leader)
}

/// `ReplicaLog!HasOffset`.
#[must_use]
pub fn has(state: &State, replica: Id, offset: u8) -> bool {
    offset < state.replica(replica).end()
}

/// The leader's high watermark, one further.
pub(super) fn incremented(state: &State, leader: Id) -> State {
    let replica = state.replica(leader);
    state.with_replica(leader, replica.with_high_watermark(replica.high_watermark() + 1))
}

/// `BecomeLeader`: the request has a higher epoch than the replica knows. The high watermark stays as it was.
pub(super) fn become_leader(state: &State, epoch: u8) -> Option<State> {
    let request = state.request(epoch)?;
    let leader = request.leader?;
    (Some(epoch) > state.replica(leader).epoch())
        .then(|| state.with_replica(leader, state.replica(leader).believing(request)))
}

/// `QuorumUpdateLeaderAndIsr`: an atomic write, by the true leader in the true epoch alone.
pub(super) fn quorum_update(state: &State, leader: Id, isr: Ids) -> Option<State> {
    let replica = state.replica(leader);
    let is_true_leader = state.quorum_leader() == Some(leader)
        && presumes_leadership(state, leader)
        && replica.epoch() == state.quorum_epoch();
    is_true_leader.then(|| state.with_quorum_isr(isr).with_replica(leader, replica.with_isr(isr)))
}

/// `IsFollowerCaughtUp`, the old form: the follower has as many records, whichever they are.
fn is_caught_up(state: &State, leader: Id, follower: Id, end: u8) -> bool {
    let reached = |last| has(state, leader, last) && has(state, follower, last);
    is_following(state, follower, leader) && end.checked_sub(1).is_none_or(reached)
}

/// `LeaderShrinkIsr`, the old form.
pub(super) fn leader_shrink_isr(state: &State, leader: Id, follower: Id) -> Option<State> {
    let isr = state.replica(leader).isr();
    let lags = !is_caught_up(state, leader, follower, state.replica(leader).end());
    let guard = isr.contains(follower) && follower != leader && lags;
    if guard { quorum_update(state, leader, isr.without(follower)) } else { None }
}

/// `LeaderExpandIsr`, the old form: the follower has reached the high watermark.
pub(super) fn leader_expand_isr(state: &State, leader: Id, follower: Id) -> Option<State> {
    let isr = state.replica(leader).isr();
    let guard =
        !isr.contains(follower) && is_caught_up(state, leader, follower, state.replica(leader).high_watermark());
    if guard { quorum_update(state, leader, isr.with(follower)) } else { None }
}

/// The request and its leader, where `replica` may become a follower by it: the request names another replica, and has a
/// higher epoch than the replica knows.
pub(super) fn followed(state: &State, epoch: u8, replica: Id) -> Option<(Request, Id)> {
    let request = state.request(epoch)?;
    let leader = request.leader.filter(|leader| *leader != replica)?;
    (Some(epoch) > state.replica(replica).epoch()).then_some((request, leader))
}

/// `BecomeFollowerAndTruncateTo`, for a request that [`followed`] lets pass. A log can't be truncated beyond its end; a
/// variant that asks for that has no such step.
pub(super) fn become_follower(state: &State, request: Request, replica: Id, truncation: u8) -> Option<State> {
    let log = state.replica(replica);
    (truncation <= log.end()).then(|| {
        let high_watermark = truncation.min(log.high_watermark());
        let log = log.truncated(truncation).with_high_watermark(high_watermark);
        state.with_replica(replica, log.believing(request))
    })
}
