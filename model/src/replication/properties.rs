//! The properties of section 9: what must hold in every state, at every step, and where nothing moves any more, each under
//! exactly its assumption.
//!
//! **CL**: no election was unclean, and no crash lost a record. **LOSSY**: no election was unclean; a replica that lost
//! records was out of the in-sync set before it came back, or, with eligible leader replicas, fewer than min ISR last
//! members did. **ANY**: whatever happens. What an assumption excludes has happened on the path, not merely been allowed.
//!
//! What an actor can see of a step it notes in [`Broker::wrong`](super::broker::Broker::wrong).

use smallvec::SmallVec;
use stateright::Model;

use super::Replication;
use super::broker::{Broker, Parked, Role, wrong};
use super::controller::{bit, members};
use super::log::{Log, Offset, Record};
use super::message::{Fetched, Msg, Timer};
use crate::protocol::{Claim, Protocol};
use crate::world::{Action, ActionOf, World, WorldState};

type State = WorldState<Replication>;

/// The properties about steps, by their place in [`CLAIMS`].
mod bit_of {
    pub(super) const P3_EXACT: u32 = 1 << 7;
    pub(super) const P4A: u32 = 1 << 8;
    pub(super) const P6C: u32 = 1 << 15;
}

const CL: &str = "clean elections, and no record lost by a crash";
const LOSSY: &str = "clean elections; a replica that lost records was out of the in-sync set before it came back";

fn clean(state: &State) -> bool {
    !state.actors.controller.unclean && state.actors.brokers().iter().all(|broker| !broker.lost)
}

fn lossy(state: &State) -> bool {
    let controller = &state.actors.controller;
    !controller.unclean && !controller.beyond
}

fn always(_: &World<Replication>, _: &State) -> bool {
    true
}

fn under_clean(_: &World<Replication>, state: &State) -> bool {
    clean(state) && state.actors.brokers().iter().any(|broker| broker.committed_end() > 0)
}

fn under_lossy(_: &World<Replication>, state: &State) -> bool {
    lossy(state) && state.actors.brokers().iter().any(|broker| broker.committed_end() > 0)
}

fn right(state: &State, fault: u8) -> bool {
    state.actors.brokers().iter().all(|broker| broker.wrong & fault == 0)
}

/// P1 to P7.
pub static CLAIMS: &[Claim<Replication>] = &[
    Claim {
        id: "P1a",
        statement: "no two records are ever committed at one offset",
        assumption: CL,
        holds: |_, state| !clean(state) || right(state, wrong::P1A) && committed_agree(state),
        applies: under_clean,
    },
    Claim {
        id: "P1b",
        statement: "a live leader that has applied its election holds every committed record",
        assumption: LOSSY,
        holds: |_, state| !lossy(state) || leader_is_complete(state, |_| u8::MAX),
        applies: under_lossy,
    },
    Claim {
        id: "P1c",
        statement: "every in-sync and every eligible replica holds every committed record",
        assumption: LOSSY,
        holds: |_, state| !lossy(state) || in_sync_is_complete(state),
        applies: under_lossy,
    },
    Claim {
        id: "P1d",
        statement: "a live leader that has applied its election holds every acknowledged record",
        assumption: CL,
        holds: |_, state| !clean(state) || leader_is_complete(state, |broker| broker.acked),
        applies: |_, state| clean(state) && state.actors.brokers().iter().any(|broker| broker.acked != 0),
    },
    Claim {
        id: "P2a",
        statement: "two replicas with the same epoch at an offset have the same log up to there",
        assumption: "no leader goes on in its epoch after a restart",
        holds: |_, state| pairs(state).all(|(one, other)| logs_match(&one.log, &other.log)),
        applies: |_, state| pairs(state).any(|(one, other)| one.log.end > 0 && other.log.end > 0),
    },
    Claim {
        id: "P2b",
        statement: "the logs of in-sync replicas are equal below their high watermarks",
        assumption: CL,
        holds: |_, state| !clean(state) || in_sync_agree(state),
        applies: under_clean,
    },
    Claim {
        id: "P3",
        statement: "a fetch of the leader's epoch is answered with records only if the follower's log is a prefix of the leader's",
        assumption: "no leader goes on in its epoch after a restart",
        holds: |_, state| right(state, wrong::P3),
        applies: |_, state| {
            state.network.iter().any(|one| matches!(one.msg, Msg::Fetch { sent, .. } if
                state.actors.brokers().get(usize::from(one.dst)).is_some_and(|leader| leader.leader_epoch == sent.epoch)))
        },
    },
    Claim {
        id: "P3'",
        statement: "a truncation by epochs leaves what the follower has in common with the leader",
        assumption: "not where there is no epoch to compare",
        holds: |_, state| state.violated & bit_of::P3_EXACT == 0,
        applies: |_, state| {
            state.network.iter().any(|one| {
                matches!(one.msg, Msg::FetchReply { answer: Fetched::Diverging { .. }, .. })
                    || matches!(one.msg, Msg::EpochEndReply { answer: Ok(_), .. })
            })
        },
    },
    Claim {
        id: "P4a",
        statement: "a leader's high watermark never falls within its epoch, and every one lies in its log",
        assumption: "",
        holds: |_, state| {
            state.violated & bit_of::P4A == 0
                && state.actors.brokers().iter().all(|one| !one.up || lies_in(one.high, &one.log))
                && state.actors.brokers().iter().all(|one| lies_in(one.future.high, &one.future.log))
        },
        applies: |_, state| state.actors.brokers().iter().any(|broker| broker.leads() && broker.high > 0),
    },
    Claim {
        id: "P4b",
        statement: "a leader's high watermark is covered by every member of its maximal in-sync set, as it really is",
        assumption: CL,
        holds: |_, state| !clean(state) || state.actors.brokers().iter().all(|broker| is_covered(state, broker)),
        applies: under_clean,
    },
    Claim {
        id: "P4c",
        statement: "a follower's high watermark is not above what a leader has shown to be committed",
        assumption: "",
        holds: |_, state| {
            let shown = committed_end(state);
            let mut followers = state.actors.brokers().iter().filter(|one| one.up && one.role == Role::Follower);
            followers.all(|broker| broker.high <= shown)
        },
        applies: |_, state| {
            state.actors.brokers().iter().any(|broker| broker.role == Role::Follower && broker.high > 0)
        },
    },
    Claim {
        id: "P4d",
        statement: "the latest offset that clients are told never falls",
        assumption: CL,
        holds: |world, state| !clean(state) || latest_is_monotone(world, state),
        applies: under_clean,
    },
    Claim {
        id: "P4e",
        statement: "no replica truncates below its own high watermark",
        assumption: CL,
        holds: |_, state| !clean(state) || right(state, wrong::P4E),
        applies: under_clean,
    },
    Claim {
        id: "P6a",
        statement: "two brokers never lead in the same epoch",
        assumption: "",
        holds: |_, state| {
            pairs(state).all(|(one, other)| !one.leads() || !other.leads() || one.leader_epoch != other.leader_epoch)
        },
        applies: |_, state| state.actors.controller.now.epoch > 0,
    },
    Claim {
        id: "P6b",
        statement: "all records of an epoch were first appended by one broker",
        assumption: "",
        holds: |_, state| one_writer_an_epoch(state),
        applies: |_, state| state.actors.brokers().iter().any(|broker| broker.log.end > broker.log.start),
    },
    Claim {
        id: "P6c",
        statement: "the epochs that a broker knows never fall within its life, and a leader epoch rises with its partition epoch",
        assumption: "",
        holds: |_, state| state.violated & bit_of::P6C == 0,
        applies: |_, state| state.actors.controller.now.partition_epoch > 0,
    },
    Claim {
        id: "P7a",
        statement: "where nothing moves any more, every live and unfenced replica is in sync",
        assumption: "the leader lives",
        holds: |world, state| !(is_quiescent(world, state) && is_led(state)) || everybody_is_in_sync(state),
        applies: |world, state| is_quiescent(world, state) && is_led(state),
    },
    Claim {
        id: "P7b",
        statement: "a follower is not told more often in a row that its log diverges, or is out of range, than it has epochs, and once more",
        assumption: "",
        holds: |_, state| right(state, wrong::P7B),
        applies: always,
    },
    Claim {
        id: "P7c",
        statement: "where nothing moves any more, the high watermark is at the log's end",
        assumption: "the leader lives, and so do the in-sync replicas that are not fenced; they are enough",
        holds: |world, state| !(is_quiescent(world, state) && may_commit(world, state)) || all_is_committed(state),
        applies: |world, state| is_quiescent(world, state) && may_commit(world, state),
    },
];

fn lies_in(high: Offset, log: &Log) -> bool {
    log.start <= high && high <= log.end
}

fn pairs(state: &State) -> impl Iterator<Item = (&Broker, &Broker)> {
    let brokers = state.actors.brokers();
    (1..brokers.len()).flat_map(move |at| brokers[..at].iter().map(move |one| (one, &brokers[at])))
}

fn committed_end(state: &State) -> Offset {
    state.actors.brokers().iter().map(Broker::committed_end).max().unwrap_or(0)
}

fn committed_agree(state: &State) -> bool {
    pairs(state).all(|(one, other)| {
        let mut both = one.committed.iter().zip(&other.committed);
        both.all(|(a, b)| a == b || *a == Record::NONE || *b == Record::NONE)
    })
}

/// Whether a log has what was committed, of the offsets in `of`, from its start up.
fn holds(log: &Log, state: &State, of: fn(&Broker) -> u8) -> bool {
    state.actors.brokers().iter().all(|broker| {
        let offsets = of(broker);
        (0..).zip(&broker.committed).all(|(offset, record)| {
            let asked = offset >= log.start && *record != Record::NONE && offsets >> offset & 1 == 1;
            !asked || log.get(offset) == Some(*record)
        })
    })
}

fn leader_is_complete(state: &State, of: fn(&Broker) -> u8) -> bool {
    let now = &state.actors.controller.now;
    let Some(leader) = state.actors.brokers().get(usize::from(now.leader)) else { return true };
    !leader.leads() || leader.leader_epoch != now.epoch || holds(&leader.log, state, of)
}

/// A broker that came up and has not registered yet has not returned.
fn has_returned(state: &State, id: u8, broker: &Broker) -> bool {
    state.actors.controller.now.broker_epochs[usize::from(id)] == broker.broker_epoch
}

fn in_sync_is_complete(state: &State) -> bool {
    let now = &state.actors.controller.now;
    state.actors.numbered().all(|(id, broker)| {
        (now.isr | now.elr) & bit(id) == 0 || !has_returned(state, id, broker) || holds(&broker.log, state, |_| u8::MAX)
    })
}

fn logs_match(one: &Log, other: &Log) -> bool {
    let start = one.start.max(other.start);
    let end = one.end.min(other.end);
    let same_epoch = |offset: Offset| {
        one.get(offset).zip(other.get(offset)).is_some_and(|(a, b)| a.epoch() == b.epoch() && a.epoch() >= 0)
    };
    match (start..end).rev().find(|offset| same_epoch(*offset)) {
        Some(last) => one.common_end(other) > last,
        None => true,
    }
}

fn in_sync_agree(state: &State) -> bool {
    let isr = state.actors.controller.now.isr;
    pairs_of(state).all(|((a, one), (b, other))| {
        let both = isr & bit(a) != 0 && isr & bit(b) != 0 && one.up && other.up;
        !both || one.log.common_end(&other.log) >= one.high.min(other.high)
    })
}

fn pairs_of(state: &State) -> impl Iterator<Item = ((u8, &Broker), (u8, &Broker))> {
    let brokers = state.actors.brokers();
    (0..).zip(brokers).flat_map(move |(b, other)| (0..b).zip(brokers).map(move |(a, one)| ((a, one), (b, other))))
}

fn is_covered(state: &State, leader: &Broker) -> bool {
    !leader.leads()
        || members(leader.maximal_isr()).all(|member| {
            let member = state.actors.brokers().get(usize::from(member));
            member.is_none_or(|member| leader.high <= member.log.end)
        })
}

/// The controller's leader, if it answers at all, answers with no less than any leader before it.
fn latest_is_monotone(world: &World<Replication>, state: &State) -> bool {
    use super::mutant::Mutant;
    let now = &state.actors.controller.now;
    let Some(leader) = state.actors.brokers().get(usize::from(now.leader)) else { return true };
    let at_once = world.protocol.setting.has(Mutant::LatestAtOnce);
    let answers = leader.leads() && leader.leader_epoch == now.epoch && (at_once || leader.high >= leader.epoch_start);
    !answers || leader.high >= committed_end(state)
}

fn one_writer_an_epoch(state: &State) -> bool {
    let mut writers = [None; 8];
    state.actors.brokers().iter().flat_map(|broker| broker.log.iter()).all(|(_, record)| {
        let Some(writer) = usize::try_from(record.epoch()).ok().and_then(|epoch| writers.get_mut(epoch)) else {
            return true;
        };
        *writer.get_or_insert(record.writer()) == record.writer()
    })
}

/// The properties about steps that a step violates.
#[must_use]
pub fn step_violations(before: &State, action: &ActionOf<Replication>, after: &State) -> u32 {
    let id = match action {
        Action::Deliver(envelope) => envelope.dst,
        Action::Timeout(id, _) => *id,
        Action::Drop(_) => return 0,
    };
    let place = usize::from(id);
    let (Some(old), Some(new)) = (before.actors.brokers().get(place), after.actors.brokers().get(place)) else {
        return 0;
    };
    let mut violated = 0;
    if old.leads() && new.leads() && old.leader_epoch == new.leader_epoch && new.high < old.high {
        violated |= bit_of::P4A;
    }
    if old.up && new.up {
        let falls = new.leader_epoch < old.leader_epoch
            || new.partition_epoch < old.partition_epoch
            || new.broker_epoch < old.broker_epoch;
        let alone = new.leader_epoch > old.leader_epoch && new.partition_epoch <= old.partition_epoch;
        if falls || alone {
            violated |= bit_of::P6C;
        }
    }
    if let Action::Deliver(envelope) = action
        && new.log.end < old.log.end
        && cuts_too_deep(after, new, old, envelope.src, &envelope.msg)
    {
        violated |= bit_of::P3_EXACT;
    }
    violated
}

fn cuts_too_deep(after: &State, new: &Broker, old: &Broker, leader: u8, msg: &Msg) -> bool {
    let by_epochs = match msg {
        Msg::FetchReply { answer: Fetched::Diverging { .. }, .. } => true,
        Msg::EpochEndReply { answer: Ok(end), .. } => end.end >= 0,
        _ => false,
    };
    let Some(leader) = after.actors.brokers().get(usize::from(leader)) else { return false };
    let same = leader.leads() && leader.leader_epoch == new.leader_epoch;
    by_epochs && same && new.log.end < old.log.common_end(&leader.log)
}

/// Whether nothing is in flight, no fault and no step of the environment is left, and each thing that recurs (a fetch, the
/// end of a fetch's wait, the lag time), taken and answered, leads back to the same state.
#[must_use]
pub fn is_quiescent(world: &World<Replication>, state: &State) -> bool {
    if !state.network.is_empty() || !state.actors.controller.log.is_empty() {
        return false;
    }
    let protocol = &world.protocol;
    let mut left = false;
    let mut recurs: SmallVec<[ActionOf<Replication>; 8]> = SmallVec::new();
    for id in 0..=state.actors.count {
        protocol.timers(&state.actors, id, &mut |timer| match timer {
            Timer::Poll => recurs.push(Action::Timeout(id, timer)),
            Timer::Expire { .. } | Timer::Checkpoint | Timer::ShrinkIsr => {}
            _ => left = true,
        });
    }
    for (id, broker) in state.actors.numbered() {
        let parked = (0..).zip(&broker.parked).filter(|(_, parked)| **parked != Parked::NONE);
        recurs.extend(parked.map(|(place, _)| Action::Timeout(id, Timer::Expire { place })));
        if broker.leads() {
            recurs.push(Action::Timeout(id, Timer::ShrinkIsr));
        }
    }
    !left
        && state.actors.numbered().all(|(id, _)| is_answered(state, id))
        && recurs.into_iter().all(|action| leads_back(world, state, action))
}

/// Whether each request that a broker waits for waits itself, at who was asked. One that was lost is given up in time.
fn is_answered(state: &State, id: u8) -> bool {
    let brokers = state.actors.brokers();
    brokers[usize::from(id)].outstanding.iter().zip(brokers).all(|(owed, peer)| {
        *owed == 0 || peer.parked.iter().any(|parked| parked.from == id && parked.sent.round + 1 == *owed)
    })
}

fn leads_back(world: &World<Replication>, state: &State, action: ActionOf<Replication>) -> bool {
    /// More answers than any exchange has.
    const ANSWERS: usize = 32;
    let Some(mut at) = world.next_state(state, action) else { return false };
    for _ in 0..ANSWERS {
        let Some(envelope) = at.network.first().copied() else { break };
        let Some(next) = world.next_state(&at, Action::Deliver(envelope)) else { return false };
        at = next;
    }
    // How often the lag time has passed is a matter of the bounds.
    for (broker, before) in at.actors.all.iter_mut().zip(&state.actors.all) {
        broker.lags = before.lags;
    }
    at.actors == state.actors && at.network.is_empty()
}

fn leader(state: &State) -> Option<&Broker> {
    let now = &state.actors.controller.now;
    let leader = state.actors.brokers().get(usize::from(now.leader))?;
    (leader.leads() && leader.leader_epoch == now.epoch).then_some(leader)
}

fn is_led(state: &State) -> bool {
    leader(state).is_some()
}

fn everybody_is_in_sync(state: &State) -> bool {
    let now = &state.actors.controller.now;
    state.actors.numbered().all(|(id, broker)| {
        let stays = broker.up && has_returned(state, id, broker) && now.is_active(id);
        !stays || now.isr & bit(id) != 0
    })
}

fn may_commit(world: &World<Replication>, state: &State) -> bool {
    let now = &state.actors.controller.now;
    let alive = |member: u8| state.actors.brokers().get(usize::from(member)).is_some_and(|member| member.up);
    is_led(state)
        && now.isr.count_ones() >= world.protocol.setting.bounds.effective_min_isr()
        && members(now.isr).all(|member| alive(member) || !now.is_active(member))
}

fn all_is_committed(state: &State) -> bool {
    leader(state).is_none_or(|leader| leader.high == leader.log.end)
}
