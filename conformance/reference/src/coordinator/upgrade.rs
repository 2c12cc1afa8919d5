//! A classic group that becomes a CONSUMER group with its members in place (docs/fencing.md 2.11; Kafka
//! `ConsumerGroup#fromClassicGroup`). Classic groups themselves are not here; the caller brings one.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::coordinator::draft::{Draft, TimerAction};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::machine::Coordinator;
use crate::coordinator::names::{Epoch, GroupId, InstanceId, MemberId, TopicName, TopicPartition};
use crate::coordinator::reconciliation::{CurrentAssignment, MemberState};
use crate::coordinator::records::{ClassicMemberMetadata, ClassicProtocol, ConsumerGroupMemberMetadataValue};
use crate::coordinator::target::metadata_hash;
use crate::coordinator::timers::TimerKind;

/// A classic group between two rebalances.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicGroup {
    /// The group.
    pub group_id: GroupId,
    /// Its generation, 1 or more.
    pub generation: Epoch,
    /// Its members.
    pub members: Vec<ClassicGroupMember>,
}

/// A member of a classic group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassicGroupMember {
    /// Its id.
    pub member_id: MemberId,
    /// Its instance id.
    pub instance_id: Option<InstanceId>,
    /// Its session timeout.
    pub session_timeout_ms: i32,
    /// Its rebalance timeout.
    pub rebalance_timeout_ms: i32,
    /// Its protocols.
    pub protocols: Vec<ClassicProtocol>,
    /// What it subscribes to.
    pub topics: BTreeSet<TopicName>,
    /// What the leader assigned to it.
    pub assigned: BTreeSet<TopicPartition>,
}

impl Coordinator {
    /// Takes a classic group over: all epochs are its generation, all members are stable with what they have. Gives the offsets
    /// of the records written.
    ///
    /// Refused with `INVALID_REQUEST` for a generation below 1 and with `INCONSISTENT_GROUP_PROTOCOL` where there is a CONSUMER
    /// group of that name; with `UNKNOWN_SERVER_ERROR` if two members have the same partition, which Kafka's checks of replay forbid.
    pub fn upgrade_classic_group(&mut self, classic: &ClassicGroup) -> Result<Range<u64>, ErrorCode> {
        let (group_id, generation) = (&classic.group_id, classic.generation);
        if generation <= Epoch::JOIN {
            return Err(ErrorCode::InvalidRequest);
        }
        if self.state.groups.contains_key(group_id) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        let context = self.context(group_id);
        let mut draft = Draft::new_group(&self.rules, group_id.clone());
        for member in &classic.members {
            draft.member_metadata(&member.member_id, metadata(member))?;
        }
        draft.group_metadata(generation, metadata_hash(&context, draft.group()))?;
        for member in &classic.members {
            draft.target_member(&member.member_id, &member.assigned)?;
        }
        draft.target_metadata(generation, 0)?;
        for member in &classic.members {
            let current = CurrentAssignment {
                member_epoch: generation,
                previous_member_epoch: generation,
                state: MemberState::Stable,
                assigned: member.assigned.iter().map(|&partition| (partition, generation)).collect(),
                pending_revocation: std::collections::BTreeMap::new(),
            };
            draft.current_assignment(&member.member_id, &current)?;
            draft.timers.push(TimerAction::Arm {
                member_id: member.member_id.clone(),
                kind: TimerKind::Session,
                delay_ms: i64::from(member.session_timeout_ms),
                epoch: None,
            });
        }
        let accepted = draft.accept();
        self.refreshed.insert(group_id.clone(), self.world_version);
        Ok(self.write_unasked(group_id, accepted))
    }
}

fn metadata(member: &ClassicGroupMember) -> ConsumerGroupMemberMetadataValue {
    ConsumerGroupMemberMetadataValue {
        instance_id: member.instance_id.as_ref().map(|id| id.as_str().to_owned()),
        subscribed_topic_names: member.topics.iter().map(|name| name.as_str().to_owned()).collect(),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        classic_member_metadata: Some(ClassicMemberMetadata {
            session_timeout_ms: member.session_timeout_ms,
            supported_protocols: member.protocols.clone(),
        }),
        ..ConsumerGroupMemberMetadataValue::default()
    }
}
