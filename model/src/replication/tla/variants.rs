//! The five generations, each as what it changes of [`base`], and `Next`.
//!
//! | variant | truncation | fetch, high watermark, ISR |
//! |---|---|---|
//! | `KafkaTruncateToHighWatermark` | becoming a follower: to the own high watermark | as the base has them |
//! | `Kip101` | to where the leader's log ends the epoch of the follower's last record | as the base |
//! | `Kip279` | to one past the last offset where both have the same record | as the base |
//! | `Kip320FirstTry` | as `Kip279`, whenever the logs disagree, and not by becoming a follower | compare the epoch of the last record |
//! | `Kip320` | as `Kip279`, of a leader in the request's epoch | compare the epoch that both know |

use serde::{Deserialize, Serialize};

use super::base::{self, Constants, Shrink, become_follower, followed, has, is_following, presumes_leadership};
use super::state::{Id, State};

/// A generation of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// `KafkaTruncateToHighWatermark`.
    HighWatermark,
    /// `Kip101`.
    Kip101,
    /// `Kip279`.
    Kip279,
    /// `Kip320FirstTry`.
    Kip320FirstTry,
    /// `Kip320`.
    Kip320,
}

/// One change to a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// None.
    None,
    /// `Kip320` with `BecomeFollowerTruncateKip279`: the leader that is asked need not be in the request's epoch.
    UnfencedTruncation,
    /// `Kip320` that expands the ISR before the high watermark has reached the leader's epoch.
    EarlyExpansion,
    /// `Kip101` that truncates to the follower's end at most, as Kafka does, where the module has no step.
    ClampedTruncation,
}

/// Why `Kip320` drops a member of the ISR. Both may be so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// The one reason of the other variants.
    NotCaughtUp,
    /// It does not follow in the leader's epoch.
    NotFollowing,
    /// Its log ends before the leader's.
    Behind,
}

/// Which disjunct makes a replica a follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Disjunct {
    /// For an empty log, in `Kip101` and `Kip279`.
    Empty,
    /// The other one, or the only one.
    Search,
}

/// A disjunct of `Next` with the values that its quantifiers choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// `ControllerElectLeader`.
    ControllerElectLeader(Id),
    /// `ControllerShrinkIsr`.
    ControllerShrinkIsr(Id),
    /// `BecomeLeader`, by the request of this epoch.
    BecomeLeader(u8),
    /// `LeaderExpandIsr` in its three forms: leader, follower.
    LeaderExpandIsr(Id, Id),
    /// `LeaderShrinkIsr` in its three forms: leader, follower.
    LeaderShrinkIsr(Id, Id, Reason),
    /// `LeaderWrite`.
    LeaderWrite(Id),
    /// `LeaderIncHighWatermark` in its three forms.
    LeaderIncHighWatermark(Id),
    /// `BecomeFollower` in its five forms: the request's epoch, the replica.
    BecomeFollower(u8, Id, Disjunct),
    /// `FollowerReplicate` or `FollowerFetch` in its three forms: leader, follower.
    FollowerReplicate(Id, Id),
    /// `FollowerTruncate` of `Kip320FirstTry`: leader, follower.
    FollowerTruncate(Id, Id),
}

/// The disjuncts that a step can be of, in the order of [`label`].
pub(super) const LABELS: &[&str] = &[
    "ControllerElectLeader",
    "ControllerShrinkIsr: the leader, alone in the ISR",
    "ControllerShrinkIsr: the leader",
    "ControllerShrinkIsr: another member",
    "BecomeLeader",
    "LeaderExpandIsr",
    "LeaderShrinkIsr: not caught up",
    "LeaderShrinkIsr: not following",
    "LeaderShrinkIsr: behind",
    "LeaderWrite",
    "LeaderIncHighWatermark",
    "BecomeFollower: an empty log",
    "BecomeFollower",
    "FollowerReplicate",
    "FollowerTruncate",
];

/// The place of a step's disjunct among [`LABELS`].
pub(super) fn label(state: &State, step: Step) -> u16 {
    match step {
        Step::ControllerElectLeader(_) => 0,
        Step::ControllerShrinkIsr(replica) => match base::shrinks(state, replica) {
            Some(Shrink::LeaderAlone) => 1,
            Some(Shrink::Leader) => 2,
            Some(Shrink::Other) | None => 3,
        },
        Step::BecomeLeader(_) => 4,
        Step::LeaderExpandIsr(..) => 5,
        Step::LeaderShrinkIsr(_, _, Reason::NotCaughtUp) => 6,
        Step::LeaderShrinkIsr(_, _, Reason::NotFollowing) => 7,
        Step::LeaderShrinkIsr(_, _, Reason::Behind) => 8,
        Step::LeaderWrite(_) => 9,
        Step::LeaderIncHighWatermark(_) => 10,
        Step::BecomeFollower(_, _, Disjunct::Empty) => 11,
        Step::BecomeFollower(_, _, Disjunct::Search) => 12,
        Step::FollowerReplicate(..) => 13,
        Step::FollowerTruncate(..) => 14,
    }
}

/// A generation with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replication {
    /// The generation.
    pub variant: Variant,
    /// What is changed of it.
    pub mutation: Mutation,
    /// The constants.
    pub constants: Constants,
}

impl Replication {
    /// `Next`: each disjunct for each choice of its quantifiers.
    pub(super) fn disjuncts(self, state: &State, each: &mut dyn FnMut(Step)) {
        let mut propose = |step| {
            if self.taken(state, step).is_some() {
                each(step);
            }
        };
        let all = self.constants.all();
        for id in all.iter() {
            propose(Step::ControllerElectLeader(id));
            propose(Step::ControllerShrinkIsr(id));
            propose(Step::LeaderWrite(id));
            propose(Step::LeaderIncHighWatermark(id));
        }
        for epoch in 0..state.next_epoch {
            propose(Step::BecomeLeader(epoch));
            for replica in all.iter() {
                propose(Step::BecomeFollower(epoch, replica, Disjunct::Empty));
                propose(Step::BecomeFollower(epoch, replica, Disjunct::Search));
            }
        }
        // Every other action is by a replica that presumes to lead.
        for leader in all.iter().filter(|leader| presumes_leadership(state, *leader)) {
            for follower in all.iter() {
                propose(Step::LeaderExpandIsr(leader, follower));
                for reason in [Reason::NotCaughtUp, Reason::NotFollowing, Reason::Behind] {
                    propose(Step::LeaderShrinkIsr(leader, follower, reason));
                }
                propose(Step::FollowerReplicate(leader, follower));
                propose(Step::FollowerTruncate(leader, follower));
            }
        }
    }

    /// Takes a step, where its guard holds.
    pub(super) fn taken(self, state: &State, step: Step) -> Option<State> {
        use Variant::{HighWatermark, Kip101, Kip279, Kip320, Kip320FirstTry};
        let constants = self.constants;
        match (step, self.variant) {
            (Step::ControllerElectLeader(id), _) => constants.controller_elect_leader(state, id),
            (Step::ControllerShrinkIsr(id), _) => constants.controller_shrink_isr(state, id),
            (Step::BecomeLeader(epoch), _) => base::become_leader(state, epoch),
            (Step::LeaderExpandIsr(leader, follower), HighWatermark | Kip101 | Kip279) => {
                base::leader_expand_isr(state, leader, follower)
            }
            (Step::LeaderExpandIsr(leader, follower), Kip320FirstTry) => {
                let high_watermark = state.replica(leader).high_watermark();
                let guard = is_caught_up_to_epoch(state, leader, follower, high_watermark)
                    && high_watermark_is_in_epoch(state, leader);
                if guard { expanded(state, leader, follower) } else { None }
            }
            (Step::LeaderExpandIsr(leader, follower), Kip320) => {
                let guard = is_following_epoch(state, leader, follower)
                    && reached_high_watermark(state, leader, follower)
                    && (self.mutation == Mutation::EarlyExpansion || high_watermark_is_in_epoch(state, leader));
                if guard { expanded(state, leader, follower) } else { None }
            }
            (Step::LeaderShrinkIsr(leader, follower, Reason::NotCaughtUp), HighWatermark | Kip101 | Kip279) => {
                base::leader_shrink_isr(state, leader, follower)
            }
            (Step::LeaderShrinkIsr(leader, follower, Reason::NotCaughtUp), Kip320FirstTry) => {
                let guard = !is_caught_up_to_epoch(state, leader, follower, state.replica(leader).end());
                if guard { shrunk(state, leader, follower) } else { None }
            }
            (Step::LeaderShrinkIsr(leader, follower, Reason::NotFollowing), Kip320) => {
                let guard = !is_following_epoch(state, leader, follower);
                if guard { shrunk(state, leader, follower) } else { None }
            }
            (Step::LeaderShrinkIsr(leader, follower, Reason::Behind), Kip320) => {
                let guard = state.replica(follower).end() < state.replica(leader).end();
                if guard { shrunk(state, leader, follower) } else { None }
            }
            (Step::LeaderWrite(id), _) => constants.leader_write(state, id),
            (Step::LeaderIncHighWatermark(leader), HighWatermark | Kip101 | Kip279) => {
                constants.leader_inc_high_watermark(state, leader)
            }
            (Step::LeaderIncHighWatermark(leader), Kip320FirstTry) => {
                let replica = state.replica(leader);
                let at = replica.high_watermark();
                let acknowledged = |follower| is_caught_up_to_epoch(state, leader, follower, at + 1);
                let guard = presumes_leadership(state, leader)
                    && replica.record(at).is_some()
                    && replica.isr().iter().all(acknowledged);
                guard.then(|| base::incremented(state, leader))
            }
            (Step::LeaderIncHighWatermark(leader), Kip320) => {
                let replica = state.replica(leader);
                let at = replica.high_watermark();
                let acknowledged = |follower| is_following_epoch(state, leader, follower) && has(state, follower, at);
                let guard = has(state, leader, at) && replica.isr().iter().all(acknowledged);
                guard.then(|| base::incremented(state, leader))
            }
            (Step::BecomeFollower(epoch, replica, disjunct), _) => self.follow(state, epoch, replica, disjunct),
            (Step::FollowerReplicate(leader, follower), HighWatermark | Kip101 | Kip279) => {
                constants.follower_replicate(state, leader, follower)
            }
            (Step::FollowerReplicate(leader, follower), Kip320FirstTry) => {
                let guard = is_caught_up_to_epoch(state, leader, follower, state.replica(follower).end());
                if guard { constants.replicate(state, leader, follower) } else { None }
            }
            (Step::FollowerReplicate(leader, follower), Kip320) => {
                let guard = is_following_epoch(state, leader, follower);
                if guard { constants.replicate(state, leader, follower) } else { None }
            }
            (Step::FollowerTruncate(leader, follower), Kip320FirstTry) => truncate(state, leader, follower),
            (Step::FollowerTruncate(..) | Step::LeaderShrinkIsr(..), _) => None,
        }
    }

    /// How a replica becomes a follower.
    fn follow(self, state: &State, epoch: u8, replica: Id, disjunct: Disjunct) -> Option<State> {
        let (request, leader) = followed(state, epoch, replica)?;
        let log = state.replica(replica);
        let truncation = match (self.variant, disjunct) {
            (Variant::HighWatermark, Disjunct::Search) => log.high_watermark(),
            (Variant::Kip101 | Variant::Kip279, Disjunct::Empty) if log.end() == 0 => 0,
            (Variant::Kip101, Disjunct::Search) => {
                let offset = offset_for_epoch(state, leader, replica, log.last()?.epoch);
                if self.mutation == Mutation::ClampedTruncation { offset.min(log.end()) } else { offset }
            }
            (Variant::Kip279, Disjunct::Search) => first_non_matching_offset(state, leader, replica),
            // It only begins to fetch.
            (Variant::Kip320FirstTry, Disjunct::Search) => {
                return Some(state.with_replica(replica, log.believing(request)));
            }
            (Variant::Kip320, Disjunct::Empty) if self.mutation == Mutation::UnfencedTruncation && log.end() == 0 => 0,
            (Variant::Kip320, Disjunct::Search) => {
                let fenced = presumes_leadership(state, leader) && state.replica(leader).epoch() == Some(epoch);
                if !fenced && self.mutation != Mutation::UnfencedTruncation {
                    return None;
                }
                first_non_matching_offset(state, leader, replica)
            }
            (_, Disjunct::Empty) => return None,
        };
        become_follower(state, request, replica, truncation)
    }
}

/// `LookupOffsetForEpoch` of `Kip101`: what the leader's log says of an epoch. It falls back to the follower's high
/// watermark, and it may say more than the follower has.
fn offset_for_epoch(state: &State, leader: Id, follower: Id, epoch: u8) -> u8 {
    let (log, high_watermark) = (state.replica(leader), state.replica(follower).high_watermark());
    match log.last() {
        None => high_watermark,
        Some(last) if last.epoch == epoch => log.end(),
        Some(_) => {
            let larger = |offset: &u8| log.record(*offset).is_some_and(|record| record.epoch > epoch);
            (0..log.end()).find(larger).unwrap_or(high_watermark)
        }
    }
}

/// `FirstNonMatchingOffsetFromTail` of `Kip279`: one past the last offset where both have the same record.
fn first_non_matching_offset(state: &State, leader: Id, follower: Id) -> u8 {
    let (leader, follower) = (state.replica(leader), state.replica(follower));
    let matching = |offset: &u8| follower.record(*offset) == leader.record(*offset);
    (0..follower.end()).rev().find(matching).map_or(0, |offset| offset + 1)
}

/// `IsFollowerCaughtUpToLeaderEpoch` of `Kip320FirstTry`: the follower's last record has the epoch of the leader's there.
fn is_caught_up_to_epoch(state: &State, leader: Id, follower: Id, end: u8) -> bool {
    let same_epoch = |last| match (state.replica(leader).record(last), state.replica(follower).record(last)) {
        (Some(leader), Some(follower)) => leader.epoch == follower.epoch,
        _ => false,
    };
    presumes_leadership(state, leader)
        && is_following(state, follower, leader)
        && end.checked_sub(1).is_none_or(same_epoch)
}

/// `FollowerTruncate` of `Kip320FirstTry`, where `FollowerNeedsTruncation`.
fn truncate(state: &State, leader: Id, follower: Id) -> Option<State> {
    let (log, other) = (state.replica(follower), state.replica(leader));
    let differs = || {
        let record = log.end().checked_sub(1).and_then(|last| other.record(last));
        record.is_some_and(|record| log.last().is_some_and(|last| last.epoch != record.epoch))
    };
    let needed = log.end() > other.end() || differs();
    let guard = presumes_leadership(state, leader) && is_following(state, follower, leader) && needed;
    guard.then(|| {
        let truncation = first_non_matching_offset(state, leader, follower);
        let log = log.truncated(truncation).with_high_watermark(truncation.min(log.high_watermark()));
        state.with_replica(follower, log)
    })
}

/// `IsFollowingLeaderEpoch` of `Kip320`: both know the same epoch.
fn is_following_epoch(state: &State, leader: Id, follower: Id) -> bool {
    presumes_leadership(state, leader)
        && is_following(state, follower, leader)
        && state.replica(follower).epoch() == state.replica(leader).epoch()
}

/// `HasHighWatermarkReachedCurrentEpoch`: nothing of an earlier epoch is above the high watermark.
fn high_watermark_is_in_epoch(state: &State, leader: Id) -> bool {
    let replica = state.replica(leader);
    let at = replica.high_watermark();
    at == replica.end() || replica.record(at).is_some_and(|record| Some(record.epoch) == replica.epoch())
}

/// `HasFollowerReachedHighWatermark`.
fn reached_high_watermark(state: &State, leader: Id, follower: Id) -> bool {
    state.replica(leader).high_watermark().checked_sub(1).is_none_or(|last| has(state, follower, last))
}

/// A member leaves the ISR, if the quorum lets the leader write.
fn shrunk(state: &State, leader: Id, follower: Id) -> Option<State> {
    let isr = state.replica(leader).isr();
    let member = isr.contains(follower) && follower != leader;
    if member { base::quorum_update(state, leader, isr.without(follower)) } else { None }
}

/// A replica joins the ISR, if the quorum lets the leader write.
fn expanded(state: &State, leader: Id, follower: Id) -> Option<State> {
    let isr = state.replica(leader).isr();
    if isr.contains(follower) { None } else { base::quorum_update(state, leader, isr.with(follower)) }
}
