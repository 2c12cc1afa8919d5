//! What a client can ask and what it is answered, with the fields of Kafka's requests that decide something.

use std::collections::BTreeSet;

use crate::coordinator::error::ErrorCode;
use crate::coordinator::names::{
    Epoch, GroupId, InstanceId, MemberId, ProducerEpoch, ProducerId, TopicName, TopicPartition,
};
use crate::coordinator::records::{ClassicProtocol, Uuid};

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// `ConsumerGroupHeartbeat`: join, heartbeat and leave (docs/fencing.md 2).
    Heartbeat(HeartbeatRequest),
    /// `OffsetCommit` (3.2).
    OffsetCommit(OffsetCommitRequest),
    /// `TxnOffsetCommit` (3.4).
    TxnOffsetCommit(TxnOffsetCommitRequest),
    /// `WriteTxnMarkers`, as it reaches the group's partition (3.4).
    EndTxn(EndTxnRequest),
    /// `OffsetFetch` (3.6).
    OffsetFetch(OffsetFetchRequest),
    /// `JoinGroup` of a classic member in a CONSUMER group (2.11).
    JoinGroup(JoinGroupRequest),
    /// `SyncGroup` of a classic member (2.11).
    SyncGroup(SyncGroupRequest),
    /// `Heartbeat` of a classic member (2.11).
    ClassicHeartbeat(ClassicHeartbeatRequest),
    /// `LeaveGroup` of classic members, or by an administrator (2.8, 2.11).
    LeaveGroup(LeaveGroupRequest),
}

/// An answer, or the error that the whole request gets.
pub type Answer = Result<Response, ErrorCode>;

/// The answer to an accepted request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Response {
    /// To a heartbeat.
    Heartbeat(HeartbeatResponse),
    /// To a commit of either kind.
    Commit(CommitResponse),
    /// To a marker.
    EndTxn,
    /// To an offset fetch.
    Fetch(FetchResponse),
    /// To a classic join.
    JoinGroup(JoinGroupResponse),
    /// To a classic sync: what the member has.
    SyncGroup(BTreeSet<TopicPartition>),
    /// To a classic heartbeat.
    ClassicHeartbeat,
    /// To a leave, with an error a member, in the order of the request.
    LeaveGroup(Vec<ErrorCode>),
}

/// `ConsumerGroupHeartbeat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// The version of the request: 0 may join with an empty member id, 1 is the newest.
    pub api_version: i16,
    /// The group.
    pub group_id: GroupId,
    /// The member; may be empty in version 0.
    pub member_id: MemberId,
    /// The id that a member gets which comes without one (version 0). The caller makes it; without it such a join is
    /// refused with `INVALID_REQUEST`.
    pub new_member_id: Option<MemberId>,
    /// The member epoch, or 0 to join, -1 to leave, -2 to leave for a while.
    pub member_epoch: Epoch,
    /// A static member's instance id.
    pub instance_id: Option<InstanceId>,
    /// The client's rack.
    pub rack_id: Option<String>,
    /// How long a revocation may take; -1 for unchanged.
    pub rebalance_timeout_ms: i32,
    /// The topics subscribed to by name; `None` for unchanged.
    pub subscribed_topic_names: Option<BTreeSet<TopicName>>,
    /// The expression subscribed to; `None` for unchanged, empty for none.
    pub subscribed_topic_regex: Option<String>,
    /// The assignor that the member prefers; `None` for unchanged.
    pub server_assignor: Option<String>,
    /// What the member still holds; `None` for "not reported", which counts as everything.
    pub owned: Option<BTreeSet<TopicPartition>>,
}

impl HeartbeatRequest {
    /// A short heartbeat: all fields but member and epoch unchanged.
    #[must_use]
    pub fn new(group_id: &str, member_id: &str, member_epoch: i32) -> Self {
        Self {
            api_version: 1,
            group_id: group_id.into(),
            member_id: member_id.into(),
            new_member_id: None,
            member_epoch: Epoch(member_epoch),
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: -1,
            subscribed_topic_names: None,
            subscribed_topic_regex: None,
            server_assignor: None,
            owned: None,
        }
    }

    /// A join by topic names, with a rebalance timeout of five minutes and nothing owned.
    #[must_use]
    pub fn join(group_id: &str, member_id: &str, topics: &[&str]) -> Self {
        Self {
            rebalance_timeout_ms: 300_000,
            subscribed_topic_names: Some(topics.iter().map(|&topic| topic.into()).collect()),
            owned: Some(BTreeSet::new()),
            ..Self::new(group_id, member_id, 0)
        }
    }
}

/// The answer to a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatResponse {
    /// The member.
    pub member_id: MemberId,
    /// Its epoch now; -1 or -2 when it left.
    pub member_epoch: Epoch,
    /// How often it should heartbeat.
    pub heartbeat_interval_ms: i32,
    /// What it may use, when there is something to say (docs/fencing.md 2.4, 7). Never what it is asked to give up.
    pub assignment: Option<BTreeSet<TopicPartition>>,
}

/// How a commit names a topic: by name up to `OffsetCommit` version 9, by id from version 10 on (6 on for `TxnOffsetCommit`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopicRef {
    /// By name; it stands for the topic that has the name when the request arrives.
    Name(TopicName),
    /// By id.
    Id(Uuid),
}

impl From<&str> for TopicRef {
    fn from(name: &str) -> Self {
        Self::Name(name.into())
    }
}

/// One partition of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitPartition {
    /// The topic.
    pub topic: TopicRef,
    /// The partition.
    pub partition: i32,
    /// The offset to store.
    pub offset: i64,
    /// The leader epoch of the last record processed, -1 for none.
    pub leader_epoch: i32,
    /// The client's own text; `None` is stored as empty.
    pub metadata: Option<String>,
}

impl CommitPartition {
    /// A partition without leader epoch and text.
    #[must_use]
    pub fn new(topic: &str, partition: i32, offset: i64) -> Self {
        Self { topic: topic.into(), partition, offset, leader_epoch: -1, metadata: None }
    }
}

/// `OffsetCommit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetCommitRequest {
    /// The version of the request; 9 is the first that a member of the consumer protocol may use.
    pub api_version: i16,
    /// The group; `None` is refused.
    pub group_id: Option<GroupId>,
    /// The member; empty for an administrator.
    pub member_id: MemberId,
    /// The instance id; not checked for CONSUMER groups.
    pub instance_id: Option<InstanceId>,
    /// The member epoch (for a classic member the generation), -1 for none.
    pub member_epoch: Epoch,
    /// The offsets.
    pub partitions: Vec<CommitPartition>,
}

impl OffsetCommitRequest {
    /// A commit of version 9.
    #[must_use]
    pub fn new(group_id: &str, member_id: &str, member_epoch: i32, partitions: Vec<CommitPartition>) -> Self {
        Self {
            api_version: 9,
            group_id: Some(group_id.into()),
            member_id: member_id.into(),
            instance_id: None,
            member_epoch: Epoch(member_epoch),
            partitions,
        }
    }
}

/// `TxnOffsetCommit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TxnOffsetCommitRequest {
    /// The version of the request; 6 is the first that tells a stale epoch (KIP-1319).
    pub api_version: i16,
    /// The group.
    pub group_id: GroupId,
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// The consumer's member id; empty where the producer did not send the consumer's metadata.
    pub member_id: MemberId,
    /// The consumer's instance id.
    pub instance_id: Option<InstanceId>,
    /// The consumer's member epoch, -1 for none.
    pub member_epoch: Epoch,
    /// The offsets.
    pub partitions: Vec<CommitPartition>,
}

impl TxnOffsetCommitRequest {
    /// A commit of version 6 by producer epoch 0.
    #[must_use]
    pub fn new(
        group_id: &str,
        producer_id: i64,
        member_id: &str,
        member_epoch: i32,
        partitions: Vec<CommitPartition>,
    ) -> Self {
        Self {
            api_version: 6,
            group_id: group_id.into(),
            producer_id: ProducerId(producer_id),
            producer_epoch: ProducerEpoch(0),
            member_id: member_id.into(),
            instance_id: None,
            member_epoch: Epoch(member_epoch),
            partitions,
        }
    }
}

/// A partition, by the topic's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPartition {
    /// The topic.
    pub topic: TopicName,
    /// The partition.
    pub partition: i32,
}

impl NamedPartition {
    /// A partition of a topic.
    #[must_use]
    pub fn new(topic: &str, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

/// The answer to a commit: one line a partition, in the order of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitResponse {
    /// The topic as the request named it, the partition, and [`ErrorCode::None`] or why this partition was not stored.
    pub partitions: Vec<(TopicRef, i32, ErrorCode)>,
}

/// How a transaction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TxnOutcome {
    /// COMMIT: the pending offsets become the committed ones.
    Commit,
    /// ABORT: they are dropped.
    Abort,
}

/// A transaction marker, as it reaches the partition of the group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndTxnRequest {
    /// The producer.
    pub producer_id: ProducerId,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
    /// COMMIT or ABORT.
    pub outcome: TxnOutcome,
}

impl EndTxnRequest {
    /// A marker of producer epoch 0.
    #[must_use]
    pub fn new(producer_id: i64, outcome: TxnOutcome) -> Self {
        Self { producer_id: ProducerId(producer_id), producer_epoch: ProducerEpoch(0), outcome }
    }
}

/// `OffsetFetch`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetFetchRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member; `None` with a negative epoch is not checked.
    pub member_id: Option<MemberId>,
    /// The member epoch, -1 for none.
    pub member_epoch: Epoch,
    /// Which partitions; `None` for all that the group has.
    pub partitions: Option<Vec<NamedPartition>>,
    /// Refuse partitions with a transaction open on them, and wait for what is not replicated.
    pub require_stable: bool,
}

impl OffsetFetchRequest {
    /// A stable fetch by a member.
    #[must_use]
    pub fn new(group_id: &str, member_id: &str, member_epoch: i32, partitions: Vec<NamedPartition>) -> Self {
        Self {
            group_id: group_id.into(),
            member_id: Some(member_id.into()),
            member_epoch: Epoch(member_epoch),
            partitions: Some(partitions),
            require_stable: true,
        }
    }

    /// An unstable fetch by nobody: an administrator's.
    #[must_use]
    pub fn anonymous(group_id: &str, partitions: Option<Vec<NamedPartition>>) -> Self {
        Self {
            group_id: group_id.into(),
            member_id: None,
            member_epoch: Epoch::LEAVE,
            partitions,
            require_stable: false,
        }
    }
}

/// The answer to an offset fetch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchResponse {
    /// One line a partition: in the order of the request, or sorted when all were asked for.
    pub partitions: Vec<FetchedOffset>,
}

/// The committed offset of one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FetchedOffset {
    /// The partition.
    pub partition: NamedPartition,
    /// The offset, -1 for none.
    pub offset: i64,
    /// The leader epoch that was committed with it, -1 for none.
    pub leader_epoch: i32,
    /// The text that was committed with it.
    pub metadata: String,
    /// [`ErrorCode::None`], or [`ErrorCode::UnstableOffsetCommit`].
    pub error: ErrorCode,
}

/// `JoinGroup` of a member that speaks the classic protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinGroupRequest {
    /// The group, which has to exist and be a CONSUMER group.
    pub group_id: GroupId,
    /// The member id; empty for a member that has none yet.
    pub member_id: MemberId,
    /// The id that such a member gets. The caller makes it.
    pub new_member_id: Option<MemberId>,
    /// The instance id.
    pub instance_id: Option<InstanceId>,
    /// The member's own session timeout.
    pub session_timeout_ms: i32,
    /// The member's rebalance timeout.
    pub rebalance_timeout_ms: i32,
    /// Its protocols as they are stored; empty is refused.
    pub protocols: Vec<ClassicProtocol>,
    /// The topics of its subscription, which the caller read from the protocol.
    pub topics: BTreeSet<TopicName>,
    /// The owned partitions of its subscription.
    pub owned: BTreeSet<TopicPartition>,
}

impl JoinGroupRequest {
    /// A first join with the protocol `range` and ordinary timeouts.
    #[must_use]
    pub fn first(group_id: &str, new_member_id: &str, topics: &[&str]) -> Self {
        Self {
            group_id: group_id.into(),
            member_id: MemberId::default(),
            new_member_id: Some(new_member_id.into()),
            instance_id: None,
            session_timeout_ms: 45_000,
            rebalance_timeout_ms: 300_000,
            protocols: vec![ClassicProtocol { name: "range".to_owned(), metadata: Vec::new() }],
            topics: topics.iter().map(|&topic| topic.into()).collect(),
            owned: BTreeSet::new(),
        }
    }

    /// A join of a member that has an id.
    #[must_use]
    pub fn again(group_id: &str, member_id: &str, topics: &[&str], owned: BTreeSet<TopicPartition>) -> Self {
        Self { member_id: member_id.into(), new_member_id: None, owned, ..Self::first(group_id, member_id, topics) }
    }
}

/// The answer to a classic join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JoinGroupResponse {
    /// The member's id.
    pub member_id: MemberId,
    /// Its generation, which is its member epoch.
    pub generation: Epoch,
    /// The protocol: the first that the member offered.
    pub protocol: String,
}

/// `SyncGroup` of a classic member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: MemberId,
    /// Its instance id.
    pub instance_id: Option<InstanceId>,
    /// The generation.
    pub generation: Epoch,
}

/// `Heartbeat` of a classic member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicHeartbeatRequest {
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: MemberId,
    /// Its instance id.
    pub instance_id: Option<InstanceId>,
    /// The generation.
    pub generation: Epoch,
}

/// `LeaveGroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaveGroupRequest {
    /// The group.
    pub group_id: GroupId,
    /// Who leaves: the member id, or an instance id and the member id (empty if an administrator removes the instance).
    pub members: Vec<(MemberId, Option<InstanceId>)>,
}
