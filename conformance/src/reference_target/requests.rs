//! Operations of a trace as requests of the reference.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::fencing::{ClassicRequest, Commit, Heartbeat, Offset, Operation, TransactionResult};
use fencepost_fixtures::names::{
    Epoch, InstanceName, MemberName, MessageName, ProducerName, TopicName, TopicPartition,
};
use fencepost_reference::coordinator as reference;
use fencepost_reference::coordinator::request::{
    ClassicHeartbeatRequest, CommitPartition, EndTxnRequest, HeartbeatRequest, JoinGroupRequest, NamedPartition,
    OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest, TopicRef, TxnOffsetCommitRequest, TxnOutcome,
};
use fencepost_reference::coordinator::{Request, ScriptedTarget};

use super::{GROUP, System};

/// The newest version of each request, which a trace means where it says none.
const NEWEST_HEARTBEAT: i16 = 1;
const NEWEST_COMMIT: i16 = 10;
const NEWEST_TXN_COMMIT: i16 = 6;

/// The versions from which on a commit names topics by id.
const COMMIT_BY_ID: i16 = 10;
const TXN_COMMIT_BY_ID: i16 = 6;

/// What a join asks for where the trace does not say: five minutes.
const REBALANCE_TIMEOUT_MS: i32 = 300_000;

/// What the assignor shall answer.
pub(super) fn target(target: &BTreeMap<MemberName, BTreeSet<TopicPartition>>) -> ScriptedTarget {
    let assign = target.iter().map(|(member, gets)| {
        let gets = gets.iter().map(|p| (p.topic.as_str().into(), i32::from(p.partition))).collect();
        (member.as_str().into(), gets)
    });
    ScriptedTarget::Assign(assign.collect())
}

fn epoch(epoch: Epoch) -> reference::Epoch {
    reference::Epoch(epoch.0)
}

fn instance(instance: Option<&InstanceName>) -> Option<reference::InstanceId> {
    instance.map(|instance| instance.as_str().into())
}

fn named(partition: &TopicPartition) -> NamedPartition {
    NamedPartition::new(&partition.topic, i32::from(partition.partition))
}

impl System {
    /// The request that an operation stands for, and the name by which a later step answers it.
    pub(super) fn request(&mut self, operation: &Operation) -> Option<(Request, Option<MessageName>)> {
        Some(match operation {
            Operation::Heartbeat(heartbeat) => (Request::Heartbeat(self.heartbeat(heartbeat)), heartbeat.id.clone()),
            Operation::Leave(leave) => {
                let mut request = HeartbeatRequest::new(GROUP, leave.member.as_str(), leave.epoch.0);
                request.instance_id = instance(leave.instance.as_ref());
                (Request::Heartbeat(request), leave.id.clone())
            }
            Operation::Commit(commit) => (Request::OffsetCommit(self.commit(commit)), commit.id.clone()),
            Operation::TxnCommit(commit) => {
                let version = commit.version.unwrap_or(NEWEST_TXN_COMMIT);
                let producer = self.producer(&commit.producer);
                let partitions = self.offsets(&commit.offsets, version >= TXN_COMMIT_BY_ID);
                let mut request =
                    TxnOffsetCommitRequest::new(GROUP, producer, commit.member.as_str(), commit.epoch.0, partitions);
                request.api_version = version;
                request.instance_id = instance(commit.instance.as_ref());
                (Request::TxnOffsetCommit(request), commit.id.clone())
            }
            Operation::EndTransaction(end) => {
                let outcome = match end.result {
                    TransactionResult::Commit => TxnOutcome::Commit,
                    TransactionResult::Abort => TxnOutcome::Abort,
                };
                let producer = self.producer(&end.producer);
                (Request::EndTxn(EndTxnRequest::new(producer, outcome)), end.id.clone())
            }
            Operation::Fetch(fetch) => {
                let request = OffsetFetchRequest {
                    group_id: GROUP.into(),
                    member_id: fetch.member.as_ref().map(|member| member.as_str().into()),
                    member_epoch: epoch(fetch.epoch),
                    partitions: Some(fetch.partitions.iter().map(named).collect()),
                    require_stable: fetch.require_stable,
                };
                (Request::OffsetFetch(request), fetch.id.clone())
            }
            Operation::JoinGroup(join) => {
                let topics = self.subscription(join.topics.as_ref());
                let topics: Vec<&str> = topics.iter().map(TopicName::as_str).collect();
                let owned = self.partitions(&join.owned);
                let member = join.member.as_str();
                let known =
                    (self.coordinator.describe(&GROUP.into())).is_some_and(|group| group.members.contains_key(member));
                let mut request = if known {
                    JoinGroupRequest::again(GROUP, member, &topics, owned)
                } else {
                    JoinGroupRequest { owned, ..JoinGroupRequest::first(GROUP, member, &topics) }
                };
                request.instance_id = instance(join.instance.as_ref());
                (Request::JoinGroup(request), join.id.clone())
            }
            Operation::SyncGroup(asked) => (Request::SyncGroup(sync(asked)), asked.id.clone()),
            Operation::ClassicHeartbeat(asked) => {
                (Request::ClassicHeartbeat(classic_heartbeat(asked)), asked.id.clone())
            }
            Operation::Target(_)
            | Operation::Topics(_)
            | Operation::Expire(_)
            | Operation::Replicate(_)
            | Operation::FailOver(_) => return None,
        })
    }

    fn heartbeat(&self, heartbeat: &Heartbeat) -> HeartbeatRequest {
        let joins = heartbeat.epoch == Epoch(0);
        let mut request = HeartbeatRequest::new(GROUP, heartbeat.member.as_str(), heartbeat.epoch.0);
        request.api_version = heartbeat.version.unwrap_or(NEWEST_HEARTBEAT);
        request.instance_id = instance(heartbeat.instance.as_ref());
        request.rebalance_timeout_ms =
            heartbeat.rebalance_timeout_ms.unwrap_or(if joins { REBALANCE_TIMEOUT_MS } else { -1 });
        if joins || heartbeat.topics.is_some() {
            let topics = self.subscription(heartbeat.topics.as_ref());
            request.subscribed_topic_names = Some(topics.iter().map(|topic| topic.as_str().into()).collect());
        }
        request.server_assignor.clone_from(&heartbeat.assignor);
        request.owned = heartbeat.owned.as_ref().map(|owned| self.partitions(owned));
        request
    }

    fn commit(&self, commit: &Commit) -> OffsetCommitRequest {
        let version = commit.version.unwrap_or(NEWEST_COMMIT);
        let partitions = self.offsets(&commit.offsets, version >= COMMIT_BY_ID);
        let mut request = OffsetCommitRequest::new(GROUP, commit.member.as_str(), commit.epoch.0, partitions);
        request.api_version = version;
        request.instance_id = instance(commit.instance.as_ref());
        request
    }

    fn subscription(&self, topics: Option<&BTreeSet<TopicName>>) -> BTreeSet<TopicName> {
        topics.unwrap_or(&self.configured).clone()
    }

    /// Offsets by topic id where the version has it and the topic exists; a client can't know another id.
    fn offsets(&self, offsets: &BTreeMap<TopicPartition, Offset>, by_id: bool) -> Vec<CommitPartition> {
        let each = offsets.iter().map(|(partition, at)| {
            let mut entry = CommitPartition::new(&partition.topic, i32::from(partition.partition), at.offset);
            if let (true, Some(id)) = (by_id, self.coordinator.topics().id(&partition.topic)) {
                entry.topic = TopicRef::Id(id);
            }
            entry.leader_epoch = at.leader_epoch;
            if at.metadata_bytes > 0 {
                entry.metadata = Some("m".repeat(at.metadata_bytes as usize));
            }
            entry
        });
        each.collect()
    }

    /// Partitions by topic id; those of topics that never were can't be named to the coordinator.
    fn partitions(&self, partitions: &BTreeSet<TopicPartition>) -> BTreeSet<reference::TopicPartition> {
        let now = self.coordinator.topics();
        let id = |topic: &str| {
            now.id(topic)
                .or_else(|| self.topics.iter().rev().find(|(_, name)| name.as_str() == topic).map(|(id, _)| *id))
        };
        let each = partitions.iter().filter_map(|p| {
            let topic_id = id(&p.topic)?;
            Some(reference::TopicPartition { topic_id, partition: i32::from(p.partition) })
        });
        each.collect()
    }

    /// The producer's id, its place in the order in which producers came up, from 1.
    fn producer(&mut self, name: &ProducerName) -> i64 {
        let place = self.producers.iter().position(|known| known == name).unwrap_or_else(|| {
            self.producers.push(name.clone());
            self.producers.len() - 1
        });
        i64::try_from(place).unwrap_or(i64::MAX - 1) + 1
    }
}

fn sync(asked: &ClassicRequest) -> SyncGroupRequest {
    SyncGroupRequest {
        group_id: GROUP.into(),
        member_id: asked.member.as_str().into(),
        instance_id: instance(asked.instance.as_ref()),
        generation: epoch(asked.generation),
    }
}

fn classic_heartbeat(asked: &ClassicRequest) -> ClassicHeartbeatRequest {
    ClassicHeartbeatRequest {
        group_id: GROUP.into(),
        member_id: asked.member.as_str().into(),
        instance_id: instance(asked.instance.as_ref()),
        generation: epoch(asked.generation),
    }
}
