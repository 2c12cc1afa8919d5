//! The fold: what each record does to the state (docs/fencing.md 4.2).
//!
//! Compaction and loading while the cleaner runs leave logs in which tombstones stand for things that were never there and
//! in which what came first may be gone. So any record creates what it belongs to, a tombstone for what is not there does
//! nothing, and what is left without a record does not exist.

use std::collections::BTreeSet;

use crate::coordinator::group::{ConsumerGroup, Member};
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, GroupId, InstanceId, MemberId, TopicName, TopicPartition};
use crate::coordinator::reconciliation::{CurrentAssignment, MemberState};
use crate::coordinator::records::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue, CurrentTopicPartitions, Record, TargetTopicPartitions,
};
use crate::coordinator::rules::{ReplayChecks, Rules};

/// A record that does not fit the state before it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// A partition is given to a member while another has it at an epoch that is not older.
    #[error("partition {} of topic {:?} is given away while {holder} has it at epoch {epoch}", partition.partition, partition.topic_id)]
    AlreadyHeld {
        /// The partition.
        partition: TopicPartition,
        /// Who has it.
        holder: MemberId,
        /// The member epoch at which it has it.
        epoch: Epoch,
    },
    /// A partition is released by a member that does not have it. A slip: see [`Mutation::ReplayRefusesTakeover`].
    #[error("partition {} of topic {:?} is released by a member that does not have it", partition.partition, partition.topic_id)]
    NotHeld {
        /// The partition.
        partition: TopicPartition,
    },
    /// A tombstone came before those that have to precede it.
    #[error("the tombstone of {0} came while parts of it are there")]
    OutOfOrder(
        /// What was to be deleted.
        String,
    ),
    /// A tombstone for something that is not there. A slip: see [`Mutation::ReplayRefusesAbsent`].
    #[error("the tombstone of {0} came without anything to delete")]
    Absent(
        /// What was to be deleted.
        String,
    ),
}

impl ConsumerGroup {
    /// The group that a record belongs to; `None` for an offset, which belongs to no consumer group in particular.
    pub(crate) fn group_of(record: &Record) -> Option<&str> {
        match record {
            Record::OffsetCommit { .. } => None,
            Record::ConsumerGroupMetadata { group_id, .. }
            | Record::ConsumerGroupPartitionMetadata { group_id, .. }
            | Record::ConsumerGroupTargetAssignmentMetadata { group_id, .. } => Some(group_id),
            Record::ConsumerGroupMemberMetadata { key, .. }
            | Record::ConsumerGroupTargetAssignmentMember { key, .. }
            | Record::ConsumerGroupCurrentMemberAssignment { key, .. } => Some(&key.group_id),
            Record::ConsumerGroupRegularExpression { key, .. } => Some(&key.group_id),
        }
    }

    /// Applies a record of this group.
    pub(crate) fn replay(&mut self, rules: &Rules, record: &Record) -> Result<(), ReplayError> {
        match record {
            Record::OffsetCommit { .. } | Record::ConsumerGroupPartitionMetadata { .. } => {}
            Record::ConsumerGroupMetadata { value: Some(value), .. } => self.metadata = Some(value.clone()),
            Record::ConsumerGroupMetadata { value: None, group_id } => {
                let parts_left = !self.members.is_empty() || !self.target.is_empty() || self.target_metadata.is_some();
                tombstone(rules, group_id, self.metadata.is_some(), parts_left)?;
                *self = Self::new(self.group_id.clone(), rules.first_group_epoch);
            }
            Record::ConsumerGroupTargetAssignmentMetadata { value: Some(value), .. } => {
                self.target_metadata = Some(value.clone());
            }
            Record::ConsumerGroupTargetAssignmentMetadata { value: None, group_id } => {
                tombstone(rules, group_id, self.target_metadata.is_some(), !self.target.is_empty())?;
                self.target_metadata = None;
            }
            Record::ConsumerGroupTargetAssignmentMember { key, value: Some(value) } => {
                self.target.insert(MemberId::from(key.member_id.as_str()), target_partitions(value));
            }
            Record::ConsumerGroupTargetAssignmentMember { key, value: None } => {
                self.target.remove(key.member_id.as_str());
            }
            Record::ConsumerGroupMemberMetadata { key, value: Some(value) } => {
                self.replay_member_metadata(rules, &MemberId::from(key.member_id.as_str()), value);
            }
            Record::ConsumerGroupMemberMetadata { key, value: None } => {
                self.replay_member_removal(rules, &MemberId::from(key.member_id.as_str()))?;
            }
            Record::ConsumerGroupCurrentMemberAssignment { key, value } => {
                let new = value.as_ref().map(|value| CurrentAssignment::from_value(rules, value));
                self.replay_current_assignment(rules, &MemberId::from(key.member_id.as_str()), new)?;
            }
            Record::ConsumerGroupRegularExpression { key, value: Some(value) } => {
                let topics = value.topics.iter().map(|topic| TopicName::from(topic.as_str())).collect();
                self.regexes.insert(key.regular_expression.clone(), topics);
            }
            Record::ConsumerGroupRegularExpression { key, value: None } => {
                self.regexes.remove(&key.regular_expression);
            }
        }
        Ok(())
    }

    fn replay_member_metadata(
        &mut self,
        rules: &Rules,
        member_id: &MemberId,
        value: &ConsumerGroupMemberMetadataValue,
    ) {
        let member = self.members.entry(member_id.clone()).or_default();
        let before = member.instance_id();
        let mut value = value.clone();
        value.subscribed_topic_names.sort_unstable();
        value.subscribed_topic_names.dedup();
        member.metadata = Some(value);
        let now = member.instance_id();
        if before != now && rules.removes_old_instance_mapping() {
            self.forget_instance(before.as_ref(), member_id);
        }
        if let Some(instance_id) = now {
            self.static_members.insert(instance_id, member_id.clone());
        }
    }

    fn replay_member_removal(&mut self, rules: &Rules, member_id: &MemberId) -> Result<(), ReplayError> {
        let Some(member) = self.members.get(member_id) else {
            return tombstone(rules, member_id.as_str(), false, false);
        };
        let parts_left = member.current.is_some() || self.target.contains_key(member_id);
        tombstone(rules, member_id.as_str(), true, parts_left)?;
        let instance_id = member.instance_id();
        self.forget_instance(instance_id.as_ref(), member_id);
        self.replay_current_assignment(rules, member_id, None)?;
        self.members.remove(member_id);
        Ok(())
    }

    fn replay_current_assignment(
        &mut self,
        rules: &Rules,
        member_id: &MemberId,
        new: Option<CurrentAssignment>,
    ) -> Result<(), ReplayError> {
        let old = self.members.get(member_id).and_then(|member| member.current.as_ref());
        self.partition_epochs.update(rules, member_id, old, new.as_ref())?;
        if new.is_some() {
            self.members.entry(member_id.clone()).or_default().current = new;
        } else if let Some(member) = self.members.get_mut(member_id) {
            member.current = None;
            if member.metadata.is_none() {
                self.members.remove(member_id);
            }
        }
        Ok(())
    }

    /// The instance id leads to this member no more; if it leads to another by now, it stays.
    fn forget_instance(&mut self, instance_id: Option<&InstanceId>, member_id: &MemberId) {
        if let Some(instance_id) = instance_id
            && self.static_members.get(instance_id) == Some(member_id)
        {
            self.static_members.remove(instance_id);
        }
    }
}

/// Whether a tombstone may be applied: it may if the later record wins, and in Kafka's order.
fn tombstone(rules: &Rules, of: &str, is_present: bool, parts_left: bool) -> Result<(), ReplayError> {
    if !is_present && rules.slips(Mutation::ReplayRefusesAbsent) {
        return Err(ReplayError::Absent(of.to_owned()));
    }
    match rules.replay_checks {
        ReplayChecks::IllegalState if parts_left => Err(ReplayError::OutOfOrder(of.to_owned())),
        ReplayChecks::IllegalState | ReplayChecks::LaterWins => Ok(()),
    }
}

fn target_partitions(value: &ConsumerGroupTargetAssignmentMemberValue) -> BTreeSet<TopicPartition> {
    value
        .topic_partitions
        .iter()
        .flat_map(|topic| {
            topic.partitions.iter().map(|&partition| TopicPartition { topic_id: topic.topic_id, partition })
        })
        .collect()
}

/// The value of the record that gives a member this target.
pub(crate) fn target_value(partitions: &BTreeSet<TopicPartition>) -> ConsumerGroupTargetAssignmentMemberValue {
    let mut value = ConsumerGroupTargetAssignmentMemberValue::default();
    for partition in partitions {
        match value.topic_partitions.last_mut() {
            Some(topic) if topic.topic_id == partition.topic_id => topic.partitions.push(partition.partition),
            _ => value
                .topic_partitions
                .push(TargetTopicPartitions { topic_id: partition.topic_id, partitions: vec![partition.partition] }),
        }
    }
    value
}

impl CurrentAssignment {
    /// Reads the record's value. Where assignment epochs are missing, or not as many as partitions, the member epoch stands for
    /// them, 0 at least (docs/fencing.md 3.7): never less than the truth, so that a load can only refuse more.
    pub(crate) fn from_value(rules: &Rules, value: &ConsumerGroupCurrentMemberAssignmentValue) -> Self {
        let missing =
            if rules.slips(Mutation::MissingEpochsAreZero) { Epoch(0) } else { Epoch(value.member_epoch.max(0)) };
        let read = |topics: &[CurrentTopicPartitions]| {
            topics
                .iter()
                .flat_map(|topic| {
                    let epochs = topic.assignment_epochs.as_deref().filter(|e| e.len() == topic.partitions.len());
                    topic.partitions.iter().enumerate().map(move |(position, &partition)| {
                        let epoch =
                            epochs.and_then(|epochs| epochs.get(position)).map_or(missing, |&epoch| Epoch(epoch));
                        (TopicPartition { topic_id: topic.topic_id, partition }, epoch)
                    })
                })
                .collect()
        };
        Self {
            member_epoch: Epoch(value.member_epoch),
            previous_member_epoch: Epoch(value.previous_member_epoch),
            state: MemberState::from_byte(value.state),
            assigned: read(&value.assigned_partitions),
            pending_revocation: read(&value.partitions_pending_revocation),
        }
    }

    /// The value of the record, with assignment epochs.
    pub(crate) fn to_value(&self) -> ConsumerGroupCurrentMemberAssignmentValue {
        let write = |partitions: &std::collections::BTreeMap<TopicPartition, Epoch>| {
            let mut topics: Vec<CurrentTopicPartitions> = Vec::new();
            for (partition, epoch) in partitions {
                if topics.last().is_none_or(|topic| topic.topic_id != partition.topic_id) {
                    topics.push(CurrentTopicPartitions {
                        topic_id: partition.topic_id,
                        partitions: Vec::new(),
                        assignment_epochs: Some(Vec::new()),
                    });
                }
                if let Some(topic) = topics.last_mut() {
                    topic.partitions.push(partition.partition);
                    topic.assignment_epochs.get_or_insert_default().push(epoch.0);
                }
            }
            topics
        };
        ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: self.member_epoch.0,
            previous_member_epoch: self.previous_member_epoch.0,
            state: self.state.to_byte(),
            assigned_partitions: write(&self.assigned),
            partitions_pending_revocation: write(&self.pending_revocation),
        }
    }
}

impl Member {
    /// The metadata of a member, or that of one who said nothing.
    pub(crate) fn metadata_or_default(&self) -> ConsumerGroupMemberMetadataValue {
        self.metadata.clone().unwrap_or_default()
    }
}

/// The group's id as records have it.
pub(crate) fn group_key(group_id: &GroupId) -> String {
    group_id.as_str().to_owned()
}
