//! A request at work on a group: records that are decided and not yet written, and the group as they will leave it.
//!
//! A draft that is dropped changes nothing, so a request that is refused half-way leaves no trace (S8). All records of a
//! draft are one atomic batch (docs/fencing.md 2.4).

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::{ConsumerGroup, Member};
use crate::coordinator::machine::{Config, ScriptedTarget};
use crate::coordinator::names::{Epoch, GroupId, MemberId, TopicPartition};
use crate::coordinator::reconciliation::CurrentAssignment;
use crate::coordinator::records::{
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue, ConsumerGroupTargetAssignmentMetadataValue,
    MemberKey, Record, RegularExpressionKey,
};
use crate::coordinator::replay::{group_key, target_value};
use crate::coordinator::rules::Rules;
use crate::coordinator::timers::TimerKind;
use crate::coordinator::topics::Topics;

/// What a request may read beside its group.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) config: &'a Config,
    pub(crate) topics: &'a Topics,
    /// What the assignor answers, if it is scripted, and the how manieth script that is.
    pub(crate) script: Option<(&'a ScriptedTarget, u64)>,
    /// Whether the group has to look whether its topics changed.
    pub(crate) refresh: bool,
    /// The assignor's clock.
    pub(crate) assignor_now_ms: i64,
}

/// What happens to a timer when the draft is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimerAction {
    /// Arm it, or start it again.
    Arm { member_id: MemberId, kind: TimerKind, delay_ms: i64, epoch: Option<Epoch> },
    /// Arm it unless it runs.
    ArmIfIdle { member_id: MemberId, kind: TimerKind, delay_ms: i64 },
    /// Stop it.
    Cancel { member_id: MemberId, kind: TimerKind },
    /// Stop all of a member's.
    CancelAll { member_id: MemberId },
}

/// Records and what follows from them.
pub(crate) struct Draft<'a> {
    rules: &'a Rules,
    group: Cow<'a, ConsumerGroup>,
    pub(crate) records: Vec<Record>,
    pub(crate) timers: Vec<TimerAction>,
    /// Members whose revocation epoch became known, with it (rejected alternative 3).
    pub(crate) revocation_epochs: Vec<(MemberId, Epoch)>,
    /// The slip of 2.7: members that were replaced and commit all the same.
    pub(crate) replaced: Vec<MemberId>,
}

/// What is left of a draft that was accepted.
pub(crate) struct Accepted {
    /// The group as the records leave it; `None` if there are none.
    pub(crate) group: Option<ConsumerGroup>,
    pub(crate) records: Vec<Record>,
    pub(crate) timers: Vec<TimerAction>,
    pub(crate) revocation_epochs: Vec<(MemberId, Epoch)>,
    pub(crate) replaced: Vec<MemberId>,
}

impl<'a> Draft<'a> {
    /// Work on a group that exists.
    pub(crate) fn of(rules: &'a Rules, group: &'a ConsumerGroup) -> Self {
        Self::over(rules, Cow::Borrowed(group))
    }

    /// Work on a group that does not exist yet.
    pub(crate) fn new_group(rules: &'a Rules, group_id: GroupId) -> Self {
        Self::over(rules, Cow::Owned(ConsumerGroup::new(group_id, rules.first_group_epoch)))
    }

    fn over(rules: &'a Rules, group: Cow<'a, ConsumerGroup>) -> Self {
        let (records, timers, revocation_epochs, replaced) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { rules, group, records, timers, revocation_epochs, replaced }
    }

    /// The group as the records so far leave it.
    pub(crate) fn group(&self) -> &ConsumerGroup {
        &self.group
    }

    /// A member of it.
    pub(crate) fn member(&self, member_id: &MemberId) -> Option<&Member> {
        self.group.members.get(member_id)
    }

    /// Ends the work.
    pub(crate) fn accept(self) -> Accepted {
        let group = (!self.records.is_empty()).then_some(self.group).map(Cow::into_owned);
        let Self { records, timers, revocation_epochs, replaced, .. } = self;
        Accepted { group, records, timers, revocation_epochs, replaced }
    }

    /// Adds a record as this version writes it. One that does not fit is the coordinator's own fault.
    fn push(&mut self, record: Record) -> Result<(), ErrorCode> {
        let record = record.known_to(self.rules.record_format);
        self.group.to_mut().replay(self.rules, &record).map_err(|_| ErrorCode::UnknownServerError)?;
        self.records.push(record);
        Ok(())
    }

    fn member_key(&self, member_id: &MemberId) -> MemberKey {
        MemberKey { group_id: group_key(&self.group.group_id), member_id: member_id.as_str().to_owned() }
    }

    pub(crate) fn member_metadata(
        &mut self,
        member_id: &MemberId,
        value: ConsumerGroupMemberMetadataValue,
    ) -> Result<(), ErrorCode> {
        let key = self.member_key(member_id);
        self.push(Record::ConsumerGroupMemberMetadata { key, value: Some(value) })
    }

    pub(crate) fn current_assignment(
        &mut self,
        member_id: &MemberId,
        current: &CurrentAssignment,
    ) -> Result<(), ErrorCode> {
        let key = self.member_key(member_id);
        self.push(Record::ConsumerGroupCurrentMemberAssignment { key, value: Some(current.to_value()) })
    }

    pub(crate) fn target_member(
        &mut self,
        member_id: &MemberId,
        target: &BTreeSet<TopicPartition>,
    ) -> Result<(), ErrorCode> {
        let key = self.member_key(member_id);
        self.push(Record::ConsumerGroupTargetAssignmentMember { key, value: Some(target_value(target)) })
    }

    pub(crate) fn target_metadata(&mut self, epoch: Epoch, timestamp_ms: i64) -> Result<(), ErrorCode> {
        let group_id = group_key(&self.group.group_id);
        let value = ConsumerGroupTargetAssignmentMetadataValue {
            assignment_epoch: epoch.0,
            assignment_timestamp_ms: timestamp_ms,
        };
        self.push(Record::ConsumerGroupTargetAssignmentMetadata { group_id, value: Some(value) })
    }

    pub(crate) fn group_metadata(&mut self, epoch: Epoch, metadata_hash: i64) -> Result<(), ErrorCode> {
        let group_id = group_key(&self.group.group_id);
        let value = ConsumerGroupMetadataValue { epoch: epoch.0, metadata_hash };
        self.push(Record::ConsumerGroupMetadata { group_id, value: Some(value) })
    }

    pub(crate) fn regular_expression(&mut self, regex: &str, topics: Option<Vec<String>>) -> Result<(), ErrorCode> {
        let key =
            RegularExpressionKey { group_id: group_key(&self.group.group_id), regular_expression: regex.to_owned() };
        let value = topics.map(|topics| crate::coordinator::records::ConsumerGroupRegularExpressionValue {
            topics,
            version: 0,
            timestamp_ms: 0,
        });
        self.push(Record::ConsumerGroupRegularExpression { key, value })
    }

    /// The three tombstones of a member, in the order that replay wants: current, target, metadata.
    pub(crate) fn remove_member(&mut self, member_id: &MemberId) -> Result<(), ErrorCode> {
        let key = self.member_key(member_id);
        self.push(Record::ConsumerGroupCurrentMemberAssignment { key: key.clone(), value: None })?;
        self.push(Record::ConsumerGroupTargetAssignmentMember { key: key.clone(), value: None })?;
        self.push(Record::ConsumerGroupMemberMetadata { key, value: None })
    }

    /// The tombstones of a group without members.
    pub(crate) fn remove_group(&mut self) -> Result<(), ErrorCode> {
        let group_id = group_key(&self.group.group_id);
        self.push(Record::ConsumerGroupTargetAssignmentMetadata { group_id: group_id.clone(), value: None })?;
        let regexes: Vec<String> = self.group.regexes.keys().cloned().collect();
        for regex in regexes {
            self.regular_expression(&regex, None)?;
        }
        self.push(Record::ConsumerGroupMetadata { group_id, value: None })
    }
}
