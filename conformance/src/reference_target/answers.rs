//! Answers and descriptions of the reference in the words of a trace.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::fencing::{Answer, Fencing, GroupPhase, GroupState, MemberPhase, MemberState, Offset, State};
use fencepost_fixtures::names::{Epoch, TopicPartition};
use fencepost_reference::coordinator as reference;
use fencepost_reference::coordinator::ErrorCode;
use fencepost_reference::coordinator::describe::{self, GroupDescription, MemberDescription, OffsetDescription};
use fencepost_reference::coordinator::request::{FetchedOffset, NamedPartition, Response, TopicRef};

use super::{CommitKind, System};
use crate::target::Answered;

impl System {
    /// An answer in the words of a trace.
    pub(super) fn answered(&self, answer: reference::Answer, commit: CommitKind) -> Answered<Fencing> {
        match answer {
            Ok(response) => Answered::Answer(self.response(response, commit)),
            Err(error) => Answered::Error(error.name().to_owned()),
        }
    }

    fn response(&self, response: Response, kind: CommitKind) -> Answer {
        let mut answer = Answer::default();
        match response {
            Response::Heartbeat(heartbeat) => {
                answer.epoch = Some(Epoch(heartbeat.member_epoch.0));
                if heartbeat.member_epoch >= reference::Epoch::JOIN {
                    answer.assigned = Some(heartbeat.assignment.map(|assigned| self.partitions_named(&assigned)));
                }
            }
            Response::Commit(commit) => {
                let mut stored = BTreeSet::new();
                for (topic, partition, error) in commit.partitions {
                    let name = match &topic {
                        TopicRef::Name(name) => name.as_str(),
                        TopicRef::Id(id) => self.topic_name(*id),
                    };
                    let partition = named(name, partition);
                    match kafka_error(error) {
                        None => drop(stored.insert(partition)),
                        Some(error) => drop(answer.refused.insert(partition, error)),
                    }
                }
                match kind {
                    CommitKind::Plain => answer.committed = Some(stored),
                    CommitKind::Transactional => answer.staged = Some(stored),
                }
            }
            Response::EndTxn | Response::ClassicHeartbeat | Response::LeaveGroup(_) => {}
            Response::Fetch(fetch) => {
                let mut offsets = BTreeMap::new();
                for FetchedOffset { partition, offset: at, leader_epoch, metadata, error } in fetch.partitions {
                    let partition = named(partition.topic.as_str(), partition.partition);
                    if let Some(error) = kafka_error(error) {
                        answer.refused.insert(partition, error);
                    } else {
                        let found = (at >= 0).then(|| offset(at, leader_epoch, &metadata));
                        offsets.insert(partition, found);
                    }
                }
                answer.offsets = Some(offsets);
            }
            Response::JoinGroup(join) => answer.generation = Some(Epoch(join.generation.0)),
            Response::SyncGroup(assigned) => answer.assigned = Some(Some(self.partitions_named(&assigned))),
        }
        answer
    }

    fn topic_name(&self, id: reference::records::Uuid) -> &str {
        self.topics.get(&id).map_or("unknown-topic", String::as_str)
    }

    fn partitions_named(&self, partitions: &BTreeSet<reference::TopicPartition>) -> BTreeSet<TopicPartition> {
        partitions.iter().map(|p| named(self.topic_name(p.topic_id), p.partition)).collect()
    }

    fn member(&self, member: &MemberDescription) -> MemberState {
        // Rules without assignment epochs show none; what is written then is not compared.
        let with_epochs = |held: &BTreeMap<reference::TopicPartition, Option<reference::Epoch>>| {
            let each = held.iter().map(|(p, epoch)| {
                (named(self.topic_name(p.topic_id), p.partition), Epoch(epoch.unwrap_or(member.member_epoch).0))
            });
            each.collect()
        };
        MemberState {
            epoch: Epoch(member.member_epoch.0),
            state: phase(member.state),
            assigned: with_epochs(&member.assigned),
            pending_revocation: with_epochs(&member.pending_revocation),
        }
    }
}

/// A member's state in the words of a trace.
pub(super) fn phase(state: reference::reconciliation::MemberState) -> MemberPhase {
    use reference::reconciliation::MemberState;
    match state {
        MemberState::Stable => MemberPhase::Stable,
        MemberState::Unrevoked => MemberPhase::Unrevoked,
        MemberState::Unreleased => MemberPhase::Unreleased,
        MemberState::Unknown => MemberPhase::Unknown,
    }
}

fn named(topic: &str, partition: i32) -> TopicPartition {
    // A partition beyond what a trace can name stands out as the largest that it can.
    TopicPartition::new(topic, u16::try_from(partition).unwrap_or(u16::MAX))
}

fn offset(offset: i64, leader_epoch: i32, metadata: &str) -> Offset {
    Offset { offset, leader_epoch, metadata_bytes: u32::try_from(metadata.len()).unwrap_or(u32::MAX) }
}

/// The error of a partition; `None` where there is none. A code that traces don't know counts as the server's fault.
fn kafka_error(error: ErrorCode) -> Option<fencepost_fixtures::KafkaError> {
    (error != ErrorCode::None)
        .then(|| error.name().parse().unwrap_or(fencepost_fixtures::KafkaError::UnknownServerError))
}

fn offsets(described: &BTreeMap<NamedPartition, OffsetDescription>) -> BTreeMap<TopicPartition, Offset> {
    let each = described.iter().map(|(partition, at)| {
        let partition = named(partition.topic.as_str(), partition.partition);
        (partition, offset(at.offset, at.leader_epoch, &at.metadata))
    });
    each.collect()
}

/// The whole state.
pub(super) fn state(system: &System, group: Option<GroupDescription>) -> State {
    let Some(group) = group else {
        return State { offsets: Some(BTreeMap::new()), staged: Some(BTreeMap::new()), ..State::default() };
    };
    let members = group.members.iter().filter_map(|(id, member)| {
        let name = id.as_str().parse().ok()?;
        Some((name, Some(system.member(member))))
    });
    let staged = group.pending_transactional.iter().filter_map(|(producer, waiting)| {
        let place = usize::try_from(producer.0.checked_sub(1)?).ok()?;
        Some((system.producers.get(place)?.clone(), offsets(waiting)))
    });
    State {
        members: members.collect(),
        offsets: Some(offsets(&group.offsets)),
        staged: Some(staged.collect()),
        group: Some(GroupState {
            epoch: Epoch(group.group_epoch.0),
            assignment_epoch: Epoch(group.assignment_epoch.0),
            state: match group.state {
                describe::GroupState::Empty => GroupPhase::Empty,
                describe::GroupState::Assigning => GroupPhase::Assigning,
                describe::GroupState::Reconciling => GroupPhase::Reconciling,
                describe::GroupState::Stable => GroupPhase::Stable,
            },
        }),
    }
}
