//! States, steps and messages in words, for the explorer, for diagrams and for the terminal.

use std::fmt::{self, Write as _};

use super::Fencing;
use super::actors::{COORDINATOR, Role};
use super::bounds::Setting;
use super::consumer::{Consumer, Life};
use super::coordinator::{AWAY, Coordinator, Member, Phase};
use super::fail_over::MISSING;
use super::message::{Commit, Fetch, Heartbeat, Msg, Timer};
use super::partitions::{Partitions, Topics};
use super::properties::clients;
use crate::world::{Action, ActionOf, WorldState};

/// The name of a member: a letter for the consumer, and a number for each id after its first.
#[must_use]
pub fn member(members: u8, slot: u8) -> String {
    let consumer = char::from(b'a' + slot % members);
    match slot / members {
        0 => consumer.to_string(),
        restarts => format!("{consumer}{}", restarts + 1),
    }
}

fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Stable => "stable",
        Phase::Unrevoked => "unrevoked",
        Phase::Unreleased => "unreleased",
    }
}

/// Partitions with their assignment epochs: `t-0@2`.
fn since(topics: Topics, partitions: Partitions, member: &Member) -> String {
    if partitions.is_empty() {
        return "nothing".to_owned();
    }
    let words: Vec<_> = partitions
        .iter()
        .map(|partition| match member.since[usize::from(partition)] {
            MISSING => topics.name(partition).to_string(),
            since => format!("{}@{since}", topics.name(partition)),
        })
        .collect();
    words.join(", ")
}

fn plain(topics: Topics, partitions: Partitions) -> String {
    if partitions.is_empty() {
        return "nothing".to_owned();
    }
    partitions.iter().map(|partition| topics.name(partition).to_string()).collect::<Vec<_>>().join(", ")
}

fn coordinator_words(
    coordinator: &Coordinator,
    (members, topics): (u8, Topics),
    formatter: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let Coordinator { group_epoch, assignment_epoch, .. } = coordinator;
    writeln!(formatter, "group epoch {group_epoch}, target epoch {assignment_epoch}")?;
    for slot in coordinator.slots() {
        let one = coordinator.member(slot);
        let name = member(members, slot);
        if one.epoch == AWAY {
            write!(formatter, "member {name}: away, keeps {}", since(topics, one.assigned, one))?;
        } else {
            write!(
                formatter,
                "member {name}: epoch {}, {}, owns {}",
                one.epoch,
                phase(one.phase),
                since(topics, one.assigned, one)
            )?;
        }
        if !one.pending.is_empty() {
            write!(formatter, ", is to give up {}", since(topics, one.pending, one))?;
        }
        writeln!(formatter, " (target {})", plain(topics, coordinator.target[usize::from(slot)]))?;
    }
    let offsets = |ids: &[u8]| {
        (0..)
            .zip(ids)
            .filter(|(_, id)| **id != 0)
            .map(|(partition, id)| format!("{} = #{id}", topics.name(partition)))
            .collect::<Vec<_>>()
            .join(", ")
    };
    if coordinator.committed.iter().any(|id| *id != 0) {
        writeln!(formatter, "committed: {}", offsets(&coordinator.committed))?;
    }
    if coordinator.staged.iter().any(|id| *id != 0) {
        writeln!(formatter, "staged: {}", offsets(&coordinator.staged))?;
    }
    if coordinator.interval_runs {
        writeln!(formatter, "the assignment interval runs")?;
    }
    Ok(())
}

fn client(topics: Topics, consumer: &Consumer) -> String {
    let life = match consumer.life {
        Life::Unused => return "unused".to_owned(),
        Life::Outside => return "has not joined yet".to_owned(),
        Life::Left => return "has left".to_owned(),
        Life::Crashed => return "has crashed".to_owned(),
        Life::Failed => return "has failed".to_owned(),
        Life::Active if consumer.epoch == 0 => "joins".to_owned(),
        Life::Active => format!("knows epoch {}, holds {}", consumer.epoch, plain(topics, consumer.owned)),
    };
    let mut words = life;
    if consumer.owned != consumer.wanted {
        let _ = write!(words, ", is told to hold {}", plain(topics, consumer.wanted));
    }
    if consumer.waiting {
        words += ", waits for an answer";
    }
    if consumer.refused {
        words += ", will commit again";
    }
    words
}

/// A whole state.
pub fn state(state: &WorldState<Fencing>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let members = u8::try_from(clients(state).count()).unwrap_or(1).max(1);
    let topics = state.actors.topics;
    coordinator_words(&state.actors.broker.now, (members, topics), formatter)?;
    if let Some(held) = &state.actors.broker.held
        && state.actors.broker.now.persisted() != held.replicated
    {
        writeln!(formatter, "at the high watermark:")?;
        coordinator_words(&held.replicated, (members, topics), formatter)?;
    }
    for (index, consumer) in clients(state) {
        writeln!(formatter, "client {}: {}", member(members, index), client(topics, consumer))?;
    }
    for envelope in &state.network {
        let name = |id: u8| match id {
            COORDINATOR => "coordinator".to_owned(),
            id if id <= members => member(members, id - 1),
            id if id == members + 1 => "assignor".to_owned(),
            _ => "producer".to_owned(),
        };
        let words = message_words(members, &envelope.msg, |partitions| plain(topics, partitions));
        writeln!(formatter, "on its way from {} to {}: {words}", name(envelope.src), name(envelope.dst))?;
    }
    if state.violated != 0 {
        writeln!(formatter, "a step before this state was wrong")?;
    }
    Ok(())
}

/// The name of an actor.
#[must_use]
pub fn actor(protocol: &Fencing, id: u8) -> String {
    match protocol.role(id) {
        Role::Coordinator => "coordinator".to_owned(),
        Role::Consumer(consumer) => member(protocol.setting.bounds.members, consumer),
        Role::Assignor => "assignor".to_owned(),
        Role::Producer => "producer".to_owned(),
    }
}

/// A message by name.
#[must_use]
pub fn message(setting: &Setting, msg: &Msg) -> String {
    let topics = setting.bounds.topics;
    message_words(setting.bounds.members, msg, |partitions| topics.words(partitions))
}

fn message_words(members: u8, msg: &Msg, partitions: impl Fn(Partitions) -> String) -> String {
    let ending = |commit: bool| if commit { "commit" } else { "abort" };
    let outcome = |error: Option<fencepost_fixtures::KafkaError>| match error {
        Some(error) => error.to_string(),
        None => "done".to_owned(),
    };
    match msg {
        Msg::Heartbeat(Heartbeat { epoch, owned, full, .. }) => {
            let owned = owned.map_or(String::new(), |owned| format!(", holds {}", partitions(owned)));
            let full = if *full { ", full" } else { "" };
            format!("heartbeat {epoch}{owned}{full}")
        }
        Msg::HeartbeatAnswer { epoch, assigned, .. } => match assigned {
            Some(assigned) => format!("epoch {epoch}, hold {}", partitions(*assigned)),
            None => format!("epoch {epoch}"),
        },
        Msg::HeartbeatRefusal { error, .. } => error.to_string(),
        Msg::Commit(Commit { epoch, partitions: set, id, .. }) => {
            format!("commit #{id} {epoch} {}", partitions(*set))
        }
        Msg::CommitAnswer { id, error } => format!("commit #{id}: {}", outcome(*error)),
        Msg::Target(target) => {
            let each: Vec<_> = (0..members)
                .map(|consumer| {
                    let nibble = (target >> (4 * consumer) & 0xf).to_le_bytes()[0];
                    format!("{}: {}", member(members, consumer), partitions(Partitions(nibble)))
                })
                .collect();
            format!("target {}", each.join("; "))
        }
        Msg::Leave { epoch, .. } => format!("leave {epoch}"),
        Msg::Fetch(Fetch { epoch, partition, .. }) => {
            format!("fetch {epoch} {}", partitions(Partitions::one(*partition)))
        }
        Msg::FetchAnswer { partition, id, error } => match (error, id) {
            (Some(error), _) => error.to_string(),
            (None, 0) => format!("{}: no offset", partitions(Partitions::one(*partition))),
            (None, id) => format!("{}: #{id}", partitions(Partitions::one(*partition))),
        },
        Msg::Hand(Commit { epoch, partitions: set, id, .. }) => format!("offsets #{id} {epoch} {}", partitions(*set)),
        Msg::TxnCommit(Commit { epoch, partitions: set, id, .. }) => {
            format!("transactional commit #{id} {epoch} {}", partitions(*set))
        }
        Msg::TxnAnswer { id, error } => format!("transactional commit #{id}: {}", outcome(*error)),
        Msg::EndTransaction { commit } => format!("marker: {}", ending(*commit)),
        Msg::TransactionEnded { commit } => format!("marker written: {}", ending(*commit)),
        Msg::Handed { committed, .. } => format!("transaction over: {}", ending(*committed)),
    }
}

/// An action in a few words.
#[must_use]
pub fn action(protocol: &Fencing, action: &ActionOf<Fencing>) -> String {
    let setting = &protocol.setting;
    let members = setting.bounds.members;
    match action {
        Action::Drop(envelope) => format!("lost: {}", message(setting, &envelope.msg)),
        Action::Deliver(envelope) => {
            let (src, dst) = (actor(protocol, envelope.src), actor(protocol, envelope.dst));
            format!("{dst} gets from {src}: {}", message(setting, &envelope.msg))
        }
        Action::Timeout(id, timer) => {
            let who = actor(protocol, *id);
            let topics = |set: u8| setting.bounds.topics.words(setting.bounds.topics.of(set));
            let words = |set: Partitions| setting.bounds.topics.words(set);
            match *timer {
                Timer::Heartbeat => format!("{who} heartbeats"),
                Timer::Reconcile => format!("{who} does what it was told"),
                Timer::Commit(set) => format!("{who} commits {}", words(set)),
                Timer::Move(target) => format!("the assignor decides: {}", message(setting, &Msg::Target(target))),
                Timer::GiveUp => format!("{who} stops waiting for the answer to its heartbeat"),
                Timer::Leave(AWAY) => format!("{who} leaves for a while"),
                Timer::Leave(_) => format!("{who} leaves"),
                Timer::Return => format!("{who} comes back"),
                Timer::Crash => format!("{who} crashes"),
                Timer::Restart => format!("{who} starts again, with another member id"),
                Timer::Subscribe(set) => format!("{who} subscribes to the topics of {}", topics(set)),
                Timer::Fetch(partition) => format!("{who} fetches the offset of {}", words(Partitions::one(partition))),
                Timer::Transaction(set) => format!("{who} hands the offset of {} to its producer", words(set)),
                Timer::End { commit: true } => "the producer commits its transaction".to_owned(),
                Timer::End { commit: false } => "the producer aborts its transaction".to_owned(),
                Timer::Session(slot) => format!("the session timer of {} runs out", member(members, slot)),
                Timer::Rebalance(slot) => format!("the rebalance timer of {} runs out", member(members, slot)),
                Timer::Interval => "the assignment interval is over".to_owned(),
                Timer::Replicate => "the high watermark rises to the end of the log".to_owned(),
                Timer::FailOver { other: false } => "another broker takes over".to_owned(),
                Timer::FailOver { other: true } => "a broker of the other release takes over".to_owned(),
                Timer::GiveUpCommit => format!("{who} stops waiting for the answer to its commit"),
                Timer::Retry => format!("{who} commits again, with its newest epoch"),
            }
        }
    }
}

/// A step: what happened, and what became of it.
#[must_use]
pub fn step(
    protocol: &Fencing,
    before: &WorldState<Fencing>,
    taken: &ActionOf<Fencing>,
    after: &WorldState<Fencing>,
) -> String {
    let mut words = action(protocol, taken);
    let (old, new) = (&before.actors.broker.now, &after.actors.broker.now);
    let members = protocol.setting.bounds.members;
    let topics = protocol.setting.bounds.topics;
    for slot in 0..protocol.setting.bounds.slots() {
        let (from, to) = (old.member(slot), new.member(slot));
        if from == to {
            continue;
        }
        let name = member(members, slot);
        if !to.exists() {
            let _ = write!(words, "; {name} is removed");
        } else if to.epoch == AWAY {
            let _ = write!(words, "; {name} is away");
        } else {
            let set = |partitions: Partitions| {
                if partitions.is_empty() {
                    return "nothing".to_owned();
                }
                let each: Vec<_> = partitions
                    .iter()
                    .map(|partition| format!("{}@{}", topics.name(partition), to.since[usize::from(partition)]))
                    .collect();
                each.join(", ")
            };
            let _ = write!(words, "; {name}: epoch {}, {}, owns {}", to.epoch, phase(to.phase), set(to.assigned));
            if !to.pending.is_empty() {
                let _ = write!(words, ", is to give up {}", set(to.pending));
            }
        }
    }
    if let Action::Deliver(envelope) = taken
        && let (COORDINATOR, Msg::Commit(_) | Msg::TxnCommit(_)) = (envelope.dst, envelope.msg)
    {
        let refused = before.actors.broker.clone().receive(&protocol.setting, envelope.src, envelope.msg).refused;
        words += if refused { "; refused" } else { "; accepted" };
    }
    words
}
