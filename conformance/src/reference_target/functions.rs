//! The reference's pure decisions, as function traces call them.
//!
//! The topic id of partition `t-n` is 15 zero bytes and the first byte of the topic's name, as the vocabulary says.

mod bytes;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::fencing::{Call, Fencing, Given, GivenMember, MemberPhase, Outcome};
use fencepost_fixtures::names::{Epoch, MemberName, TopicName, TopicPartition};
use fencepost_reference::coordinator as reference;
use fencepost_reference::coordinator::commit_check::{self, CommitCall, CommitMember};
use fencepost_reference::coordinator::reconciliation::{CurrentAssignment, Inputs, MemberState, Subscription};
use fencepost_reference::coordinator::records::Uuid;
use fencepost_reference::coordinator::{ErrorCode, Rules, TxnErrors};

use super::answers::phase;
use crate::target::{Decision, Fault};

/// The version from which on a transactional commit is told that its epoch is stale (KIP-1319).
const TXN_COMMIT_STALE: i16 = 6;

/// Asks the reference for one decision.
pub(super) fn decide(rules: &Rules, given: &Given, call: &Call) -> Result<Decision<Fencing>, Fault> {
    let decided = match call {
        Call::EpochCheck { member, epoch, owned } => {
            let member = current(find(given, member)?);
            let owned = owned.as_ref().map(partitions);
            reference::epoch_check::epoch_check(rules, reference::Epoch(epoch.0), &member, owned.as_ref())
                .map(|()| Outcome::Accepted(BTreeSet::new()))
        }
        Call::CommitCheck { member, epoch, partitions: asked, transactional, version, instance } => {
            let validated = commit(rules, given, member, *epoch, asked, (*transactional, *version), instance.as_ref());
            validated.map(|()| Outcome::Accepted(asked.clone()))
        }
        Call::Next { member, epoch, target_epoch, target, owned, taken } => {
            let before = find(given, member)?;
            let (target, owned, taken) = (partitions(target), owned.as_ref().map(partitions), partitions(taken));
            let inputs = Inputs {
                target_epoch: reference::Epoch(target_epoch.0),
                target: &target,
                owned: owned.as_ref(),
                is_free: &|partition| !taken.contains(&partition) && !held(before, partition),
                is_subscribed: &|_| true,
                subscription: Subscription::Unchanged,
            };
            let after = reference::reconciliation::next(rules, &current(before), reference::Epoch(epoch.0), &inputs);
            Ok(Outcome::Member(given_member(&after, before)))
        }
        Call::Reconcile { member, target_epoch, target, topics, subscription_changed, owned, taken } => {
            let before = find(given, member)?;
            let (target, owned, taken) = (partitions(target), owned.as_ref().map(partitions), partitions(taken));
            let topics: BTreeSet<Uuid> = topics.iter().map(|topic: &TopicName| topic_id(topic.as_str())).collect();
            let inputs = Inputs {
                target_epoch: reference::Epoch(target_epoch.0),
                target: &target,
                owned: owned.as_ref(),
                is_free: &|partition| !taken.contains(&partition) && !held(before, partition),
                is_subscribed: &|topic| topics.contains(&topic),
                subscription: if *subscription_changed { Subscription::Changed } else { Subscription::Unchanged },
            };
            reference::reconciliation::reconcile(rules, &current(before), &inputs)
                .map(|after| Outcome::Member(given_member(&after, before)))
        }
        Call::LoadAssignment { value } => return Ok(bytes::load(rules, value)),
        Call::LoadLog { records } => return Ok(bytes::load_log(rules, records)),
        Call::WriteAssignment { member } => return bytes::write(rules, find(given, member)?),
    };
    Ok(match decided {
        Ok(outcome) => Decision::Outcome(outcome),
        Err(error) => Decision::Error(error.name().to_owned()),
    })
}

fn commit(
    rules: &Rules,
    given: &Given,
    member: &MemberName,
    epoch: Epoch,
    asked: &BTreeSet<TopicPartition>,
    (transactional, version): (bool, Option<i16>),
    instance: Option<&fencepost_fixtures::names::InstanceName>,
) -> Result<(), ErrorCode> {
    let known = given.members.get(member);
    let held = known.map(current);
    let commit_member = known.zip(held.as_ref()).map(|(known, held)| CommitMember {
        member_epoch: held.member_epoch,
        protocol: if known.classic { commit_check::Protocol::Classic } else { commit_check::Protocol::Consumer },
        assigned: &held.assigned,
        pending_revocation: &held.pending_revocation,
        revocation_epoch: None,
    });
    let member_id = member.as_str().into();
    let instance = instance.map(|instance| instance.as_str().into());
    let call = CommitCall {
        member_id: &member_id,
        instance_id: instance.as_ref(),
        epoch: reference::Epoch(epoch.0),
        transactional,
        api_version: version.unwrap_or(i16::MAX),
    };
    let newest_error = match rules.txn_errors {
        TxnErrors::IllegalGeneration => false,
        TxnErrors::StaleMemberEpoch => version.is_none_or(|version| version >= TXN_COMMIT_STALE),
    };
    commit_check::commit_check(rules, given.members.is_empty(), commit_member, &call)
        .and_then(|validator| partitions(asked).into_iter().try_for_each(|partition| validator.check(partition)))
        .map_err(|error| match error {
            ErrorCode::StaleMemberEpoch if transactional && !newest_error => ErrorCode::IllegalGeneration,
            other => other,
        })
}

fn find<'a>(given: &'a Given, name: &MemberName) -> Result<&'a GivenMember, Fault> {
    given
        .members
        .get(name)
        .ok_or_else(|| Fault::broken(format!("the trace calls for a member `{name}` that it does not give")))
}

/// Whether the member itself owns the partition, as everybody else sees it.
fn held(member: &GivenMember, partition: reference::TopicPartition) -> bool {
    member.assigned.keys().chain(member.pending_revocation.keys()).any(|own| of_topic(own) == partition)
}

fn topic_id(topic: &str) -> Uuid {
    let mut bytes = [0; 16];
    bytes[15] = topic.bytes().next().unwrap_or_default();
    Uuid(bytes)
}

fn of_topic(partition: &TopicPartition) -> reference::TopicPartition {
    reference::TopicPartition { topic_id: topic_id(&partition.topic), partition: i32::from(partition.partition) }
}

fn partitions(partitions: &BTreeSet<TopicPartition>) -> BTreeSet<reference::TopicPartition> {
    partitions.iter().map(of_topic).collect()
}

fn current(member: &GivenMember) -> CurrentAssignment {
    let with_epochs = |held: &BTreeMap<TopicPartition, Epoch>| {
        held.iter().map(|(partition, epoch)| (of_topic(partition), reference::Epoch(epoch.0))).collect()
    };
    CurrentAssignment {
        member_epoch: reference::Epoch(member.epoch.0),
        previous_member_epoch: reference::Epoch(member.previous_epoch.0),
        state: match member.state {
            MemberPhase::Stable => MemberState::Stable,
            MemberPhase::Unrevoked => MemberState::Unrevoked,
            MemberPhase::Unreleased => MemberState::Unreleased,
            MemberPhase::Unknown => MemberState::Unknown,
        },
        assigned: with_epochs(&member.assigned),
        pending_revocation: with_epochs(&member.pending_revocation),
    }
}

/// The member afterwards; what no decision changes is as before.
fn given_member(after: &CurrentAssignment, before: &GivenMember) -> GivenMember {
    let with_epochs = |held: &BTreeMap<reference::TopicPartition, reference::Epoch>| {
        held.iter().map(|(partition, epoch)| (name_of(*partition), Epoch(epoch.0))).collect()
    };
    GivenMember {
        epoch: Epoch(after.member_epoch.0),
        previous_epoch: Epoch(after.previous_member_epoch.0),
        state: phase(after.state),
        assigned: with_epochs(&after.assigned),
        pending_revocation: with_epochs(&after.pending_revocation),
        classic: before.classic,
    }
}

/// The partition whose topic id this is. Function traces name topics by one letter, which is all that the id keeps.
fn name_of(partition: reference::TopicPartition) -> TopicPartition {
    TopicPartition::new(&topic_of(partition.topic_id), u16::try_from(partition.partition).unwrap_or(u16::MAX))
}

fn topic_of(id: Uuid) -> String {
    match id.0[15] {
        letter if letter.is_ascii_alphanumeric() => char::from(letter).to_string(),
        other => format!("topic-{other}"),
    }
}
