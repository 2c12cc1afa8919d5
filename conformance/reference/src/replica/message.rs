//! What brokers and the controller send each other (docs/replication.md 3.9). A reply has its request's correlation.

use std::collections::BTreeMap;

use super::error::ErrorCode;
use super::names::{BrokerEpoch, BrokerId, Correlation, LeaderEpoch, Node, Offset, PartitionEpoch};
use crate::storage::epoch_cache::EpochEnd;
use crate::storage::names::Millis;

/// A message on its way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Message {
    /// Who sent it.
    pub from: Node,
    /// Who is to get it.
    pub to: Node,
    /// The request's number at the one who asks.
    pub correlation: Correlation,
    /// What it says.
    pub content: Content,
}

impl Message {
    /// The reply to this request.
    #[must_use]
    pub const fn reply(&self, content: Content) -> Self {
        Self { from: self.to, to: self.from, correlation: self.correlation, content }
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content {
    /// A follower asks for records.
    Fetch(FetchRequest),
    /// The leader's answer.
    FetchReply(Result<FetchReply, ErrorCode>),
    /// A follower asks where an epoch ends.
    OffsetForLeaderEpoch(EpochRequest),
    /// The leader's answer.
    OffsetForLeaderEpochReply(Result<EpochEnd, ErrorCode>),
    /// A follower asks where the log begins or ends.
    ListOffsets(ListOffsetsRequest),
    /// The leader's answer.
    ListOffsetsReply(Result<ListedOffset, ErrorCode>),
    /// A leader proposes another ISR.
    AlterPartition(AlterPartitionRequest),
    /// The controller's answer.
    AlterPartitionReply(Result<AlteredPartition, ErrorCode>),
}

/// A follower asks for records from `offset` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FetchRequest {
    /// The next offset of the follower's log.
    pub offset: Offset,
    /// The epoch of what the follower has before it (KIP-595).
    pub last_fetched_epoch: Option<LeaderEpoch>,
    /// The epoch that the follower is in (KIP-320).
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The follower's incarnation (KIP-903).
    pub broker_epoch: BrokerEpoch,
    /// The first offset of the follower's log.
    pub log_start: Offset,
}

/// What a leader found for a fetch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FetchReply {
    /// Batches, or where the follower's log leaves the leader's.
    pub found: Fetched,
    /// The leader's high watermark before the request was counted.
    pub high_watermark: Offset,
    /// The first offset of the leader's log.
    pub log_start: Offset,
}

/// The content of a fetch reply.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Fetched {
    /// Whole batches in Kafka's bytes, none if there is nothing.
    Records(Vec<u8>),
    /// The follower's last epoch ends there on the leader.
    Diverging(EpochEnd),
}

/// The version of `OffsetsForLeaderEpoch` that a broker sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EpochRequestVersion {
    /// The answer is an offset alone: KIP-101.
    V0,
    /// The answer has the epoch too: KIP-279.
    V1,
    /// The request has the current leader epoch: KIP-320.
    V2,
    /// The request has the replica's id.
    V3,
    /// The flexible format.
    V4,
}

/// A follower asks where an epoch ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EpochRequest {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The epoch that the follower is in (KIP-320).
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The version.
    pub version: EpochRequestVersion,
}

/// Which offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OffsetSpec {
    /// The first one.
    Earliest,
    /// The end.
    Latest,
    /// That of the first record that is not older.
    Timestamp(Millis),
}

/// A replica asks where the log begins or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListOffsetsRequest {
    /// Which offset.
    pub spec: OffsetSpec,
    /// The epoch that the requester is in (KIP-320).
    pub current_leader_epoch: Option<LeaderEpoch>,
}

/// An offset, and the epoch that goes with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ListedOffset {
    /// The offset; -1 if there is no such record.
    pub offset: Offset,
    /// The epoch of the record there, or the leader's for the end.
    pub epoch: Option<LeaderEpoch>,
}

/// A leader proposes an ISR.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AlterPartitionRequest {
    /// The epoch in which the sender leads.
    pub leader_epoch: LeaderEpoch,
    /// The version of the record that is to be changed.
    pub partition_epoch: PartitionEpoch,
    /// All members of the proposed ISR, each with the incarnation that has fetched.
    pub isr: BTreeMap<BrokerId, BrokerEpoch>,
    /// The sender's incarnation.
    pub broker_epoch: BrokerEpoch,
    /// The recovery state `RECOVERED`, which every leader says, also one that was elected uncleanly.
    pub recovered: bool,
}

/// The record after a change.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AlteredPartition {
    /// The leader.
    pub leader: Option<BrokerId>,
    /// Its epoch.
    pub leader_epoch: LeaderEpoch,
    /// The ISR.
    pub isr: Vec<BrokerId>,
    /// The version.
    pub partition_epoch: PartitionEpoch,
}
