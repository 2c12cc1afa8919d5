//! What a member has and at which epochs: kind 8 of `__consumer_offsets`, the record that KIP-1251 extended
//! (docs/fencing.md 3.7, 3.8 and 4.1).

use super::Uuid;

/// The current assignment of one member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// The member epoch; -2 for a static member that left for a while.
    pub member_epoch: i32,
    /// The member epoch before; -1 for none.
    pub previous_member_epoch: i32,
    /// 0 stable, 1 unrevoked partitions, 2 unreleased partitions; what another number means is the loader's.
    pub state: i8,
    /// What the member may use.
    pub assigned_partitions: Vec<CurrentTopicPartitions>,
    /// What it was asked to give up and still holds for everyone else.
    pub partitions_pending_revocation: Vec<CurrentTopicPartitions>,
}

/// Partitions of one topic, and the epoch at which each was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CurrentTopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// One epoch a partition, in their order; `None` where the writer had none (before Kafka 4.3). This is what the
    /// record says and may be of another length: the default for such a list is the loader's (docs/fencing.md 3.7).
    pub assignment_epochs: Option<Vec<i32>>,
}
