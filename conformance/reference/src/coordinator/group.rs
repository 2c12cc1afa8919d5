//! A CONSUMER group and its members as their records tell them (docs/fencing.md 1.1 and 1.2).
//!
//! Everything here is the fold of records; `replay` is the only code that changes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::describe::GroupState;
use crate::coordinator::names::{Epoch, GroupId, InstanceId, MemberId, TopicName, TopicPartition};
use crate::coordinator::partition_epochs::PartitionEpochs;
use crate::coordinator::reconciliation::CurrentAssignment;
use crate::coordinator::records::{
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue, ConsumerGroupTargetAssignmentMetadataValue, Uuid,
};
use crate::coordinator::topics::Topics;

/// A member: what it said of itself and what it has.
///
/// It exists as long as one of the two is there. In a log that was not compacted the first comes first and goes last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its subscription and the rest; names of topics are sorted.
    pub(crate) metadata: Option<ConsumerGroupMemberMetadataValue>,
    /// What it has; `None` before its first assignment and after the tombstone of the last.
    pub(crate) current: Option<CurrentAssignment>,
}

impl Member {
    /// What it has; a joining member's nothing if it was given nothing yet.
    pub(crate) fn current_or_joining(&self) -> CurrentAssignment {
        self.current.clone().unwrap_or_else(CurrentAssignment::joining)
    }

    /// Its epoch, -1 for none.
    pub(crate) fn member_epoch(&self) -> Epoch {
        self.current.as_ref().map_or(Epoch::LEAVE, |current| current.member_epoch)
    }

    /// Its protocol.
    pub(crate) fn protocol(&self) -> Protocol {
        match &self.metadata {
            Some(metadata) if metadata.classic_member_metadata.is_some() => Protocol::Classic,
            _ => Protocol::Consumer,
        }
    }

    /// Its instance id.
    pub(crate) fn instance_id(&self) -> Option<InstanceId> {
        self.metadata.as_ref().and_then(|metadata| metadata.instance_id.as_deref()).map(InstanceId::from)
    }
}

/// A group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsumerGroup {
    pub(crate) group_id: GroupId,
    /// The epochs of a group without records.
    first_epoch: Epoch,
    pub(crate) metadata: Option<ConsumerGroupMetadataValue>,
    pub(crate) target_metadata: Option<ConsumerGroupTargetAssignmentMetadataValue>,
    pub(crate) members: BTreeMap<MemberId, Member>,
    pub(crate) target: BTreeMap<MemberId, BTreeSet<TopicPartition>>,
    pub(crate) static_members: BTreeMap<InstanceId, MemberId>,
    pub(crate) partition_epochs: PartitionEpochs,
    /// The topics of resolved expressions.
    pub(crate) regexes: BTreeMap<String, BTreeSet<TopicName>>,
}

impl ConsumerGroup {
    /// A group without records.
    pub(crate) fn new(group_id: GroupId, first_epoch: Epoch) -> Self {
        Self {
            group_id,
            first_epoch,
            metadata: None,
            target_metadata: None,
            members: BTreeMap::new(),
            target: BTreeMap::new(),
            static_members: BTreeMap::new(),
            partition_epochs: PartitionEpochs::default(),
            regexes: BTreeMap::new(),
        }
    }

    /// Whether nothing is left of it, which is what "does not exist" means.
    pub(crate) fn is_vacant(&self) -> bool {
        self.metadata.is_none()
            && self.target_metadata.is_none()
            && self.members.is_empty()
            && self.target.is_empty()
            && self.regexes.is_empty()
    }

    pub(crate) fn group_epoch(&self) -> Epoch {
        self.metadata.as_ref().map_or(self.first_epoch, |metadata| Epoch(metadata.epoch))
    }

    pub(crate) fn assignment_epoch(&self) -> Epoch {
        self.target_metadata.as_ref().map_or(self.first_epoch, |metadata| Epoch(metadata.assignment_epoch))
    }

    /// When the target was computed; 0 for never, or not known.
    pub(crate) fn assignment_timestamp_ms(&self) -> i64 {
        self.target_metadata.as_ref().map_or(0, |metadata| metadata.assignment_timestamp_ms)
    }

    pub(crate) fn metadata_hash(&self) -> i64 {
        self.metadata.as_ref().map_or(0, |metadata| metadata.metadata_hash)
    }

    /// The state of docs/fencing.md 1.1.
    pub(crate) fn state(&self) -> GroupState {
        let assignment_epoch = self.assignment_epoch();
        let reconciled =
            |member: &Member| member.current.as_ref().is_some_and(|current| current.is_reconciled_to(assignment_epoch));
        if self.members.is_empty() {
            GroupState::Empty
        } else if self.group_epoch() > assignment_epoch {
            GroupState::Assigning
        } else if self.members.values().all(reconciled) {
            GroupState::Stable
        } else {
            GroupState::Reconciling
        }
    }

    /// What the target gives a member.
    pub(crate) fn target_of(&self, member_id: &MemberId) -> BTreeSet<TopicPartition> {
        self.target.get(member_id).cloned().unwrap_or_default()
    }

    /// The names of the topics that a member subscribes to, by name or by an expression that is resolved.
    pub(crate) fn subscribed_names<'a>(&'a self, member: &'a Member) -> impl Iterator<Item = &'a str> {
        let metadata = member.metadata.as_ref();
        let by_name = metadata.into_iter().flat_map(|m| m.subscribed_topic_names.iter().map(String::as_str));
        let by_regex = metadata
            .and_then(|m| m.subscribed_topic_regex.as_ref())
            .and_then(|regex| self.regexes.get(regex))
            .into_iter()
            .flatten()
            .map(TopicName::as_str);
        by_name.chain(by_regex)
    }

    /// The ids of the topics that a member subscribes to and that exist.
    pub(crate) fn subscribed_ids(&self, member: &Member, topics: &Topics) -> BTreeSet<Uuid> {
        self.subscribed_names(member).filter_map(|name| topics.id(name)).collect()
    }

    /// The names of the topics that some member subscribes to.
    pub(crate) fn all_subscribed_names(&self) -> BTreeSet<&str> {
        self.members.values().flat_map(|member| self.subscribed_names(member)).collect()
    }

    /// Whether a member other than this one subscribes by this expression.
    pub(crate) fn regex_is_used_by_others(&self, regex: &str, except: &MemberId) -> bool {
        self.members.iter().any(|(id, member)| {
            id != except && member.metadata.as_ref().and_then(|m| m.subscribed_topic_regex.as_deref()) == Some(regex)
        })
    }
}
