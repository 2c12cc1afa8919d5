//! Steps and states of the modules as text. Replicas are `r1`, `r2`, ..; `0@e1` is the record 0 that the leader of epoch 1
//! wrote.

use std::fmt;

use super::state::{Id, Ids, Record, Replica, State};
use super::variants::{Disjunct, Reason, Step};

impl fmt::Display for Id {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "r{}", self.0 + 1)
    }
}

impl fmt::Display for Ids {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        list(formatter, ('{', '}'), self.iter())
    }
}

impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}@e{}", self.id, self.epoch)
    }
}

/// The items between brackets, with commas.
pub(super) fn list<T: fmt::Display>(
    formatter: &mut fmt::Formatter<'_>,
    (open, close): (char, char),
    items: impl Iterator<Item = T>,
) -> fmt::Result {
    write!(formatter, "{open}")?;
    for (number, item) in items.enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(formatter, "{comma}{item}")?;
    }
    write!(formatter, "{close}")
}

fn leader(leader: Option<Id>) -> String {
    leader.map_or_else(|| "no leader".to_owned(), |leader| format!("leader {leader}"))
}

fn epoch(epoch: Option<u8>) -> String {
    epoch.map_or_else(|| "no epoch".to_owned(), |epoch| format!("e{epoch}"))
}

fn replica(id: Id, replica: Replica, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(formatter, "{id}: ")?;
    list(formatter, ('<', '>'), (0..replica.end()).filter_map(|offset| replica.record(offset)))?;
    let (epoch, leader) = (epoch(replica.epoch()), leader(replica.leader()));
    writeln!(formatter, ", hw {}, {epoch}, {leader}, isr {}", replica.high_watermark(), replica.isr())
}

/// A state: a line each for the replicas that took part so far, the quorum, and the requests.
pub(super) fn state(state: &State, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for id in Ids::first(super::state::ROOM).iter() {
        if state.replica(id) != Replica::default() {
            replica(id, state.replica(id), formatter)?;
        }
    }
    let (epoch, quorum_leader) = (epoch(state.quorum_epoch()), leader(state.quorum_leader()));
    writeln!(formatter, "quorum: {epoch}, {quorum_leader}, isr {}", state.quorum_isr())?;
    for request in state.requests() {
        writeln!(formatter, "request e{}: {}, isr {}", request.epoch, leader(request.leader), request.isr)?;
    }
    Ok(())
}

/// A step, beginning with the action's name.
pub(super) fn step(step: Step) -> String {
    match step {
        Step::ControllerElectLeader(id) => format!("ControllerElectLeader: {id}"),
        Step::ControllerShrinkIsr(id) => format!("ControllerShrinkIsr: without {id}"),
        Step::BecomeLeader(epoch) => format!("BecomeLeader: by the request of e{epoch}"),
        Step::LeaderExpandIsr(leader, follower) => format!("LeaderExpandIsr: {leader} adds {follower}"),
        Step::LeaderShrinkIsr(leader, follower, reason) => {
            let reason = match reason {
                Reason::NotCaughtUp => "is not caught up",
                Reason::NotFollowing => "does not follow its epoch",
                Reason::Behind => "is behind",
            };
            format!("LeaderShrinkIsr: {leader} drops {follower}, which {reason}")
        }
        Step::LeaderWrite(id) => format!("LeaderWrite: {id}"),
        Step::LeaderIncHighWatermark(id) => format!("LeaderIncHighWatermark: {id}"),
        Step::BecomeFollower(epoch, id, disjunct) => {
            let empty = if disjunct == Disjunct::Empty { ", its log being empty" } else { "" };
            format!("BecomeFollower: {id}, by the request of e{epoch}{empty}")
        }
        Step::FollowerReplicate(leader, follower) => format!("FollowerReplicate: {follower} from {leader}"),
        Step::FollowerTruncate(leader, follower) => format!("FollowerTruncate: {follower} against {leader}"),
    }
}
