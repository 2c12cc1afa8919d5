//! What can be seen of a group from outside: the state that a trace compares.

use std::collections::BTreeMap;

use crate::names::{Epoch, GroupId, InstanceId, MemberId, ProducerId, TopicPartition};
use crate::reconciliation::MemberState;
use crate::request::NamedPartition;

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
