//! A consumer group, its members' subscriptions and its target assignment: kinds 3, 4, 5, 6, 7 and 16 of
//! `__consumer_offsets` (docs/fencing.md 4.1). All values are of version 0, flexible; their keys are not.

use super::Uuid;

/// A group and its epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupMetadataValue {
    /// The group epoch.
    pub epoch: i32,
    /// Hash of the subscribed topics' partitions and racks, 0 when there is none. Tagged, since Kafka 4.1.
    pub metadata_hash: i64,
}

/// The partitions and racks of the topics that a group subscribes to, before Kafka 4.1 hashed them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// The topics.
    pub topics: Vec<TopicMetadata>,
}

/// One topic of a [`ConsumerGroupPartitionMetadataValue`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TopicMetadata {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: String,
    /// How many partitions it has.
    pub num_partitions: i32,
    /// The racks of its partitions; empty where racks are not known.
    pub partition_metadata: Vec<PartitionMetadata>,
}

/// One partition of a [`TopicMetadata`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PartitionMetadata {
    /// The partition.
    pub partition: i32,
    /// The racks of its replicas.
    pub racks: Vec<String>,
}

/// What a member said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupMemberMetadataValue {
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// The member's rack.
    pub rack_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// The names of the topics it subscribes to.
    pub subscribed_topic_names: Vec<String>,
    /// The regular expression it subscribes to.
    pub subscribed_topic_regex: Option<String>,
    /// How long it may take to give up partitions, in milliseconds; -1 when not known.
    pub rebalance_timeout_ms: i32,
    /// The assignor that it prefers.
    pub server_assignor: Option<String>,
    /// Set for a member that speaks the classic protocol (docs/fencing.md 2.11). Tagged.
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

/// What is kept of a member that speaks the classic protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClassicMemberMetadata {
    /// Its session timeout in milliseconds.
    pub session_timeout_ms: i32,
    /// Its embedded protocols, in the order of its preference.
    pub supported_protocols: Vec<ClassicProtocol>,
}

/// An embedded protocol of a classic member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClassicProtocol {
    /// Its name: that of a client-side assignor.
    pub name: String,
    /// What the member sent for it, opaque here.
    pub metadata: Vec<u8>,
}

/// The epoch of a target assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    /// The group epoch that the target was computed for.
    pub assignment_epoch: i32,
    /// When it was computed, in milliseconds since 1970; 0 when not known. Tagged, since Kafka 4.3.
    pub assignment_timestamp_ms: i64,
}

/// What the target assignment gives one member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TargetTopicPartitions>,
}

/// Partitions of one topic in a target assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TargetTopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// What a regular expression was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The names of the topics that match.
    pub topics: Vec<String>,
    /// The version of the cluster's metadata that it was resolved against.
    pub version: i64,
    /// When it was resolved, in milliseconds since 1970.
    pub timestamp_ms: i64,
}
