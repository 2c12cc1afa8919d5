//! What can be seen of a group from outside: the state that a trace compares.

use std::collections::BTreeMap;

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::machine::Coordinator;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, GroupId, InstanceId, MemberId, ProducerId, TopicPartition};
use crate::coordinator::offsets::StoredOffset;
use crate::coordinator::reconciliation::MemberState;
use crate::coordinator::records::RecordFormat;
use crate::coordinator::request::NamedPartition;

/// The state of a group (docs/fencing.md 1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupState {
    /// No members. A static member that left for a while still counts as one.
    Empty,
    /// The target is older than the group epoch.
    Assigning,
    /// Some member is not stable at the target.
    Reconciling,
    /// All members are.
    Stable,
}

/// A group, complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupDescription {
    /// The group.
    pub group_id: GroupId,
    /// Its epoch; the first one of the rules where it has no consumer state.
    pub group_epoch: Epoch,
    /// The epoch of its target.
    pub assignment_epoch: Epoch,
    /// Its state.
    pub state: GroupState,
    /// Its members.
    pub members: BTreeMap<MemberId, MemberDescription>,
    /// What the target gives each member.
    pub target: BTreeMap<MemberId, Vec<TopicPartition>>,
    /// Committed offsets.
    pub offsets: BTreeMap<NamedPartition, OffsetDescription>,
    /// Offsets that wait for the end of a transaction, by producer.
    pub pending_transactional: BTreeMap<ProducerId, BTreeMap<NamedPartition, OffsetDescription>>,
}

/// A member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberDescription {
    /// The member epoch; -2 for a static member that left for a while.
    pub member_epoch: Epoch,
    /// The member epoch before.
    pub previous_member_epoch: Epoch,
    /// The member's state.
    pub state: MemberState,
    /// What it may use, with assignment epochs; `None` under rules whose records have no assignment epochs.
    pub assigned: BTreeMap<TopicPartition, Option<Epoch>>,
    /// What it was asked to give up, with assignment epochs as in `assigned`.
    pub pending_revocation: BTreeMap<TopicPartition, Option<Epoch>>,
    /// Its instance id.
    pub instance_id: Option<InstanceId>,
    /// Whether it speaks the classic protocol.
    pub classic: bool,
}

/// A committed or a pending offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffsetDescription {
    /// The offset.
    pub offset: i64,
    /// The leader epoch, -1 for none.
    pub leader_epoch: i32,
    /// The client's text.
    pub metadata: String,
}

impl From<&StoredOffset> for OffsetDescription {
    fn from(stored: &StoredOffset) -> Self {
        Self {
            offset: stored.value.offset,
            leader_epoch: stored.value.leader_epoch,
            metadata: stored.value.metadata.clone(),
        }
    }
}

impl Coordinator {
    /// What can be seen of a group, replicated or not; `None` if there is no such group.
    #[must_use]
    pub fn describe(&self, group_id: &GroupId) -> Option<GroupDescription> {
        let group = self.state.groups.get(group_id);
        if group.is_none() && !self.state.offsets.has_any(group_id) {
            return None;
        }
        let offsets = |offsets: &mut dyn Iterator<Item = (&NamedPartition, &StoredOffset)>| {
            offsets.map(|(partition, stored)| (partition.clone(), stored.into())).collect()
        };
        let members = group.iter().flat_map(|group| &group.members);
        Some(GroupDescription {
            group_id: group_id.clone(),
            group_epoch: group
                .map_or(self.rules.first_group_epoch, crate::coordinator::group::ConsumerGroup::group_epoch),
            assignment_epoch: group
                .map_or(self.rules.first_group_epoch, crate::coordinator::group::ConsumerGroup::assignment_epoch),
            state: group.map_or(GroupState::Empty, crate::coordinator::group::ConsumerGroup::state),
            members: members.map(|(id, member)| (id.clone(), self.describe_member(member))).collect(),
            target: group
                .iter()
                .flat_map(|group| &group.target)
                .map(|(id, target)| (id.clone(), target.iter().copied().collect()))
                .collect(),
            offsets: offsets(&mut self.state.offsets.committed(group_id)),
            pending_transactional: self
                .state
                .offsets
                .pending(group_id)
                .map(|(producer, pending)| (producer, offsets(&mut pending.iter())))
                .collect(),
        })
    }

    fn describe_member(&self, member: &crate::coordinator::group::Member) -> MemberDescription {
        let current = member.current_or_joining();
        let has_epochs = self.rules.record_format == RecordFormat::WithAssignmentEpochs;
        let show = |partitions: &BTreeMap<TopicPartition, Epoch>| {
            partitions.iter().map(|(&p, &epoch)| (p, has_epochs.then_some(epoch))).collect()
        };
        MemberDescription {
            member_epoch: member.member_epoch(),
            previous_member_epoch: current.previous_member_epoch,
            state: current.state,
            assigned: show(&current.assigned),
            pending_revocation: if self.rules.slips(Mutation::PendingNotDescribed) {
                BTreeMap::new()
            } else {
                show(&current.pending_revocation)
            },
            instance_id: member.instance_id(),
            classic: member.protocol() == Protocol::Classic,
        }
    }
}
