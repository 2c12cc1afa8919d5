//! The words in which reports and `show` tell a fencing trace: operations, answers and states as a reader would say them.
//!
//! Writing to a string does not fail, so that the results of `write!` are dropped here.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Display, Write as _};

use fencepost_fixtures::fencing::{
    Answer, Call, ClassicRequest, Completion, Given, GivenMember, GroupPhase, GroupState, MemberPhase, MemberState,
    Offset, Operation, Outcome, State, Timer, TransactionResult,
};
use fencepost_fixtures::names::{Epoch, InstanceName, MemberName, MessageName, ProducerName, TopicPartition};

/// `t-0 t-1`, or `nothing`.
fn partitions<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> String {
    joined(partitions, " ", "nothing")
}

fn joined<T: Display>(items: impl IntoIterator<Item = T>, separator: &str, empty: &str) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { empty.to_owned() } else { items.join(separator) }
}

/// `t-0@2 t-1@4`, or `nothing`.
fn with_epochs(partitions: &BTreeMap<TopicPartition, Epoch>) -> String {
    joined(partitions.iter().map(|(partition, epoch)| format!("{partition}@{epoch}")), " ", "nothing")
}

fn offset(offset: &Offset) -> String {
    let mut text = offset.offset.to_string();
    if offset.leader_epoch != -1 {
        let _ = write!(text, " (leader epoch {})", offset.leader_epoch);
    }
    if offset.metadata_bytes != 0 {
        let _ = write!(text, " ({} B of metadata)", offset.metadata_bytes);
    }
    text
}

fn offsets(offsets: &BTreeMap<TopicPartition, Offset>) -> String {
    joined(offsets.iter().map(|(partition, at)| format!("{partition} = {}", offset(at))), ", ", "nothing")
}

fn member(name: &MemberName) -> &str {
    if name.as_str().is_empty() { "nobody" } else { name.as_str() }
}

fn instance(instance: Option<&InstanceName>) -> String {
    instance.map(|instance| format!(", instance `{instance}`")).unwrap_or_default()
}

fn version(version: Option<i16>) -> String {
    version.map(|version| format!(", version {version}")).unwrap_or_default()
}

fn request(id: Option<&MessageName>) -> String {
    id.map(|id| format!(" ({id})")).unwrap_or_default()
}

fn reported(owned: Option<&BTreeSet<TopicPartition>>) -> String {
    match owned {
        None => String::new(),
        Some(owned) => format!(", owns {}", partitions(owned)),
    }
}

fn classic(what: &str, asked: &ClassicRequest) -> String {
    format!(
        "{what} of {}, generation {}{}{}",
        member(&asked.member),
        asked.generation,
        instance(asked.instance.as_ref()),
        request(asked.id.as_ref())
    )
}

/// An operation, as in `commit of a, epoch 2: t-1 = 50`.
#[must_use]
pub fn operation(operation: &Operation) -> String {
    match operation {
        Operation::Target(target) => {
            let moves = target.iter().map(|(name, gets)| format!("{name} gets {}", partitions(gets)));
            format!("target: {}", joined(moves, ", ", "nobody gets anything"))
        }
        Operation::Topics(topics) => {
            let topics = topics.iter().map(|(topic, count)| format!("{topic} with {count} partitions"));
            format!("topics: {}", joined(topics, ", ", "none"))
        }
        Operation::Heartbeat(heartbeat) => {
            let mut text = format!("heartbeat of {}, epoch {}", member(&heartbeat.member), heartbeat.epoch);
            text += &reported(heartbeat.owned.as_ref());
            text += &instance(heartbeat.instance.as_ref());
            if let Some(topics) = &heartbeat.topics {
                let _ = write!(text, ", subscribes to {}", joined(topics, " ", "nothing"));
            }
            if let Some(timeout) = heartbeat.rebalance_timeout_ms {
                let _ = write!(text, ", rebalance timeout {timeout} ms");
            }
            if let Some(assignor) = &heartbeat.assignor {
                let _ = write!(text, ", assignor {assignor}");
            }
            text + &version(heartbeat.version) + &request(heartbeat.id.as_ref())
        }
        Operation::Leave(leave) => format!(
            "{} leaves, epoch {}{}{}",
            member(&leave.member),
            leave.epoch,
            instance(leave.instance.as_ref()),
            request(leave.id.as_ref())
        ),
        Operation::Commit(commit) => format!(
            "commit of {}, epoch {}: {}{}{}{}",
            member(&commit.member),
            commit.epoch,
            offsets(&commit.offsets),
            instance(commit.instance.as_ref()),
            version(commit.version),
            request(commit.id.as_ref())
        ),
        Operation::TxnCommit(commit) => format!(
            "transactional commit by {} for {}, epoch {}: {}{}{}{}",
            commit.producer,
            member(&commit.member),
            commit.epoch,
            offsets(&commit.offsets),
            instance(commit.instance.as_ref()),
            version(commit.version),
            request(commit.id.as_ref())
        ),
        Operation::EndTransaction(end) => {
            let result = match end.result {
                TransactionResult::Commit => "committed",
                TransactionResult::Abort => "aborted",
            };
            format!("the transaction of {} is {result}{}", end.producer, request(end.id.as_ref()))
        }
        Operation::Fetch(fetch) => format!(
            "offset fetch of {}, epoch {}: {}{}{}",
            fetch.member.as_ref().map_or("nobody", member),
            fetch.epoch,
            partitions(&fetch.partitions),
            if fetch.require_stable { ", stable only" } else { "" },
            request(fetch.id.as_ref())
        ),
        Operation::Expire(expire) => {
            let timer = match expire.timer {
                Timer::Session => "session timer",
                Timer::Rebalance => "rebalance timer",
                Timer::Join => "join timer",
                Timer::Sync => "sync timer",
                Timer::AssignmentInterval => "assignment interval",
                Timer::OffsetsRetention => "retention of offsets",
            };
            let whose = expire.member.as_ref().map(|name| format!(" of {name}")).unwrap_or_default();
            format!("the {timer}{whose} runs out")
        }
        Operation::Replicate(replicate) => match &replicate.through {
            None => "the high watermark rises over everything".to_owned(),
            Some(through) => format!("the high watermark rises through {through}"),
        },
        Operation::FailOver(fail_over) => match &fail_over.variant {
            None => "another broker takes over".to_owned(),
            Some(variant) => format!("a broker of {variant} takes over"),
        },
        Operation::JoinGroup(join) => {
            let mut text = format!("JoinGroup of {}{}", member(&join.member), reported(Some(&join.owned)));
            text += &instance(join.instance.as_ref());
            if let Some(topics) = &join.topics {
                let _ = write!(text, ", subscribes to {}", joined(topics, " ", "nothing"));
            }
            text + &request(join.id.as_ref())
        }
        Operation::SyncGroup(asked) => classic("SyncGroup", asked),
        Operation::ClassicHeartbeat(asked) => classic("classic heartbeat", asked),
    }
}

/// An answer, as in `committed t-1`.
#[must_use]
pub fn answer(answer: &Answer) -> String {
    let mut parts = Vec::new();
    if let Some(epoch) = answer.epoch {
        parts.push(format!("epoch {epoch}"));
    }
    if let Some(generation) = answer.generation {
        parts.push(format!("generation {generation}"));
    }
    match &answer.assigned {
        None => {}
        Some(None) => parts.push("no assignment sent".to_owned()),
        Some(Some(assigned)) => parts.push(format!("assigned {}", partitions(assigned))),
    }
    if let Some(committed) = &answer.committed {
        parts.push(format!("committed {}", partitions(committed)));
    }
    if let Some(staged) = &answer.staged {
        parts.push(format!("staged {}", partitions(staged)));
    }
    if let Some(offsets) = &answer.offsets {
        let offsets = offsets
            .iter()
            .map(|(partition, at)| format!("{partition} = {}", at.as_ref().map_or("none".to_owned(), offset)));
        parts.push(joined(offsets, ", ", "no offsets"));
    }
    if !answer.refused.is_empty() {
        let refused = answer.refused.iter().map(|(partition, error)| format!("{partition}: {error}"));
        parts.push(format!("refused {}", joined(refused, ", ", "")));
    }
    joined(parts, ", ", "ok")
}

/// How an earlier request ended.
#[must_use]
pub fn completion(completion: &Completion) -> String {
    match (&completion.answer, completion.error) {
        (_, Some(error)) => format!("error {error}"),
        (Some(given), None) => answer(given),
        (None, None) => "neither answer nor error".to_owned(),
    }
}

fn phase(phase: MemberPhase) -> &'static str {
    match phase {
        MemberPhase::Stable => "stable",
        MemberPhase::Unrevoked => "unrevoked",
        MemberPhase::Unreleased => "unreleased",
        MemberPhase::Unknown => "of unknown state",
    }
}

/// A member, as in `epoch 4, stable, owns t-1@4`.
#[must_use]
pub fn member_state(state: Option<&MemberState>) -> String {
    let Some(state) = state else {
        return "not in the group".to_owned();
    };
    let mut text = format!("epoch {}, {}, owns {}", state.epoch, phase(state.state), with_epochs(&state.assigned));
    if !state.pending_revocation.is_empty() {
        let _ = write!(text, ", gives up {}", with_epochs(&state.pending_revocation));
    }
    text
}

/// The group as a whole.
#[must_use]
pub fn group_state(state: Option<&GroupState>) -> String {
    let Some(state) = state else {
        return "not reported".to_owned();
    };
    let phase = match state.state {
        GroupPhase::Empty => "empty",
        GroupPhase::Assigning => "assigning",
        GroupPhase::Reconciling => "reconciling",
        GroupPhase::Stable => "stable",
    };
    format!("epoch {}, target of epoch {}, {phase}", state.epoch, state.assignment_epoch)
}

/// The committed offsets.
#[must_use]
pub fn committed(state: Option<&BTreeMap<TopicPartition, Offset>>) -> String {
    state.map_or_else(|| "not reported".to_owned(), offsets)
}

/// The offsets that wait for the end of a transaction.
#[must_use]
pub fn staged(state: Option<&BTreeMap<ProducerName, BTreeMap<TopicPartition, Offset>>>) -> String {
    match state {
        None => "not reported".to_owned(),
        Some(staged) => {
            let staged = staged.iter().map(|(producer, waiting)| format!("{producer}: {}", offsets(waiting)));
            joined(staged, "; ", "nothing")
        }
    }
}

/// The entities of a state, a line each.
#[must_use]
pub fn state(state: &State) -> Vec<String> {
    let mut lines = Vec::new();
    if state.group.is_some() {
        lines.push(format!("group: {}", group_state(state.group.as_ref())));
    }
    for (name, member) in &state.members {
        lines.push(format!("{name}: {}", member_state(member.as_ref())));
    }
    if state.offsets.is_some() {
        lines.push(format!("committed: {}", committed(state.offsets.as_ref())));
    }
    if state.staged.is_some() {
        lines.push(format!("staged: {}", staged(state.staged.as_ref())));
    }
    lines
}

fn given_member(state: &GivenMember) -> String {
    let mut text = format!(
        "epoch {} (before: {}), {}, owns {}",
        state.epoch,
        state.previous_epoch,
        phase(state.state),
        with_epochs(&state.assigned)
    );
    if !state.pending_revocation.is_empty() {
        let _ = write!(text, ", gives up {}", with_epochs(&state.pending_revocation));
    }
    if state.classic {
        text += ", classic protocol";
    }
    text
}

/// What a function call rests on, a line each.
#[must_use]
pub fn given(given: &Given) -> Vec<String> {
    given.members.iter().map(|(name, state)| format!("{name}: {}", given_member(state))).collect()
}

/// A function call.
#[must_use]
pub fn call(call: &Call) -> String {
    match call {
        Call::EpochCheck { member: name, epoch, owned } => {
            format!("is a heartbeat of {} with epoch {epoch}{} accepted?", member(name), reported(owned.as_ref()))
        }
        Call::CommitCheck { member: name, epoch, partitions: asked, transactional, version: number, instance: id } => {
            format!(
                "is a {}commit of {} with epoch {epoch} for {}{}{} accepted?",
                if *transactional { "transactional " } else { "" },
                member(name),
                partitions(asked),
                instance(id.as_ref()),
                version(*number)
            )
        }
        Call::Next { member: name, epoch, target_epoch, target, owned, taken } => format!(
            "NEXT({epoch}) of {name}: target {} of epoch {target_epoch}{}, taken by others {}",
            partitions(target),
            reported(owned.as_ref()),
            partitions(taken)
        ),
        Call::Reconcile { member: name, target_epoch, target, topics, subscription_changed, owned, taken } => format!(
            "reconcile {name}: target {} of epoch {target_epoch}, subscribed to {}{}{}, taken by others {}",
            partitions(target),
            joined(topics, " ", "nothing"),
            if *subscription_changed { " since now" } else { "" },
            reported(owned.as_ref()),
            partitions(taken)
        ),
        Call::LoadAssignment { value } => format!("load {value}"),
        Call::LoadLog { records } => format!("load a log of {} records", records.len()),
        Call::WriteAssignment { member: name } => format!("write the assignment of {name}"),
    }
}

/// What a decision was.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Accepted(accepted) if accepted.is_empty() => "accepted".to_owned(),
        Outcome::Accepted(accepted) => format!("accepted for {}", partitions(accepted)),
        Outcome::Member(state) => given_member(state),
        Outcome::Bytes(bytes) => bytes.clone(),
        Outcome::State(state) => {
            let members =
                state.members.iter().map(|(name, member)| format!("{name}: {}", member_state(member.as_ref())));
            let parts = std::iter::once(group_state(state.group.as_ref())).chain(members);
            let committed = format!("committed {}", committed(state.offsets.as_ref()));
            parts.chain([committed, format!("staged {}", staged(state.staged.as_ref()))]).collect::<Vec<_>>().join("; ")
        }
    }
}
