//! A heartbeat from end to end (docs/fencing.md 2.4; Kafka `GroupMetadataManager#consumerGroupHeartbeat`), and the path that
//! it shares with a classic join.

use std::collections::BTreeSet;

use crate::coordinator::assignor::Assignor;
use crate::coordinator::draft::{Context, Draft, TimerAction};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::ConsumerGroup;
use crate::coordinator::membership;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, MemberId, TopicPartition};
use crate::coordinator::reconciliation::{CurrentAssignment, Inputs, MemberState, Subscription, reconcile};
use crate::coordinator::records::{ConsumerGroupMemberMetadataValue, RecordFormat};
use crate::coordinator::request::{HeartbeatRequest, HeartbeatResponse};
use crate::coordinator::rules::PreferredAssignor;
use crate::coordinator::target;
use crate::coordinator::timers::TimerKind;

/// A heartbeat with an epoch of 0 or more. The request is valid and the group exists, or is being made by it.
pub(crate) fn heartbeat(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &HeartbeatRequest,
    member_id: &MemberId,
) -> Result<HeartbeatResponse, ErrorCode> {
    membership::admit(context, draft, request, member_id)?;
    let joins = request.member_epoch == Epoch::JOIN;
    if joins && context.rules.slips(Mutation::RejoinForgetsAssignment) && draft.member(member_id).is_some() {
        draft.current_assignment(member_id, &CurrentAssignment::joining())?;
    }

    let before = draft.member(member_id).map(crate::coordinator::group::Member::current_or_joining);
    let metadata = overlay(draft, request, member_id);
    let current = steady(context, draft, member_id, metadata, request.owned.as_ref())?;

    let is_full = request.rebalance_timeout_ms != -1
        && (request.subscribed_topic_names.is_some() || request.subscribed_topic_regex.is_some())
        && request.owned.is_some();
    let changed = before.is_none_or(|before| assignment_differs(context.rules.record_format, &before, &current));
    let tells = joins || ((is_full || changed) && !context.rules.slips(Mutation::AssignmentNotSent));
    Ok(HeartbeatResponse {
        member_id: member_id.clone(),
        member_epoch: current.member_epoch,
        heartbeat_interval_ms: context.config.heartbeat_interval_ms,
        assignment: tells.then(|| current.assigned.keys().copied().collect()),
    })
}

/// What is assigned is compared with its epochs, where there are any.
fn assignment_differs(format: RecordFormat, before: &CurrentAssignment, after: &CurrentAssignment) -> bool {
    match format {
        RecordFormat::WithAssignmentEpochs => before.assigned != after.assigned,
        RecordFormat::WithoutAssignmentEpochs => !before.assigned.keys().eq(after.assigned.keys()),
    }
}

/// Row 1: the stored member, overwritten by what the request has. It speaks the consumer protocol from here on.
fn overlay(draft: &Draft<'_>, request: &HeartbeatRequest, member_id: &MemberId) -> ConsumerGroupMemberMetadataValue {
    let mut metadata =
        draft.member(member_id).map_or_else(new_member, crate::coordinator::group::Member::metadata_or_default);
    if let Some(instance_id) = &request.instance_id {
        metadata.instance_id = Some(instance_id.as_str().to_owned());
    }
    if let Some(rack_id) = &request.rack_id {
        metadata.rack_id = Some(rack_id.clone());
    }
    if request.rebalance_timeout_ms != -1 {
        metadata.rebalance_timeout_ms = request.rebalance_timeout_ms;
    }
    if let Some(names) = &request.subscribed_topic_names {
        metadata.subscribed_topic_names = names.iter().map(|name| name.as_str().to_owned()).collect();
    }
    if let Some(regex) = &request.subscribed_topic_regex {
        metadata.subscribed_topic_regex = Some(regex.clone());
    }
    if let Some(assignor) = &request.server_assignor {
        metadata.server_assignor = Some(assignor.clone());
    }
    metadata.classic_member_metadata = None;
    metadata
}

/// What a member starts from. Kafka writes an empty expression for a member that has none.
fn new_member() -> ConsumerGroupMemberMetadataValue {
    ConsumerGroupMemberMetadataValue {
        rebalance_timeout_ms: -1,
        subscribed_topic_regex: Some(String::new()),
        ..Default::default()
    }
}

/// Rows 2 to 6: writes what changed, bumps the group epoch, computes the target, reconciles the member, starts its timers.
///
/// A member that is not in the group yet comes into it. Gives what it has afterwards.
pub(crate) fn steady(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    member_id: &MemberId,
    metadata: ConsumerGroupMemberMetadataValue,
    owned: Option<&BTreeSet<TopicPartition>>,
) -> Result<CurrentAssignment, ErrorCode> {
    let subscription = update_member(context, draft, member_id, metadata)?;

    // Row 4.
    let group = draft.group();
    let is_due = group.assignment_epoch() < group.group_epoch();
    if is_due && !target::is_delayed(context, group) {
        target::compute(context, draft)?;
    }

    // Row 5.
    let before = draft
        .member(member_id)
        .map_or_else(CurrentAssignment::joining, crate::coordinator::group::Member::current_or_joining);
    let after = reconciled(context, draft.group(), member_id, &before, subscription, owned)?;
    if after != before {
        draft.current_assignment(member_id, &after)?;
        note_revocation_epoch(draft, member_id, &before, &after);
    }
    restart_timers(context, draft, member_id, &before, &after);
    Ok(draft.member(member_id).map_or(after, crate::coordinator::group::Member::current_or_joining))
}

/// Rows 2 and 3: the member's record, and the group epoch.
fn update_member(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    member_id: &MemberId,
    metadata: ConsumerGroupMemberMetadataValue,
) -> Result<Subscription, ErrorCode> {
    let old = draft.member(member_id).and_then(|member| member.metadata.clone());
    let old_names: &[String] = old.as_ref().map_or(&[], |old| &old.subscribed_topic_names);
    let old_regex = subscribed_regex(old.as_ref());
    let new_regex = subscribed_regex(Some(&metadata));
    let names_changed = *old_names != *metadata.subscribed_topic_names;
    let regex_changed = old_regex != new_regex;
    let preferred = preferred_assignor(draft.group());

    if old.as_ref() != Some(&metadata) {
        draft.member_metadata(member_id, metadata)?;
    }
    if regex_changed
        && let Some(unused) = &old_regex
        && draft.group().regexes.contains_key(unused)
        && !draft.group().regex_is_used_by_others(unused, member_id)
    {
        draft.regular_expression(unused, None)?;
    }

    // A regex that is not resolved yet bumps when it is.
    let regex_resolved =
        regex_changed && new_regex.as_ref().is_none_or(|regex| draft.group().regexes.contains_key(regex));
    let assignor_changed = context.rules.preferred_assignor == PreferredAssignor::BumpsGroupEpoch
        && preferred != preferred_assignor(draft.group());
    let subscription_bumps =
        (names_changed || regex_resolved) && !context.rules.slips(Mutation::SubscriptionChangeUnnoticed);
    let mut bumps = subscription_bumps || assignor_changed;
    let mut hash = draft.group().metadata_hash();
    if bumps || context.refresh {
        let now = target::metadata_hash(context, draft.group());
        bumps |= now != hash;
        hash = now;
    }
    if bumps {
        let epoch = draft.group().group_epoch().next();
        draft.group_metadata(epoch, hash)?;
    }
    Ok(if names_changed || regex_changed { Subscription::Changed } else { Subscription::Unchanged })
}

/// The expression that a member subscribes by; an empty one is none.
fn subscribed_regex(metadata: Option<&ConsumerGroupMemberMetadataValue>) -> Option<String> {
    metadata.and_then(|metadata| metadata.subscribed_topic_regex.clone()).filter(|regex| !regex.is_empty())
}

pub(crate) fn preferred_assignor(group: &ConsumerGroup) -> Assignor {
    let metadata = group.members.values().filter_map(|member| member.metadata.as_ref());
    Assignor::preferred(metadata.filter_map(|metadata| metadata.server_assignor.as_deref()))
}

/// Row 5: what the member has after one step towards its target.
fn reconciled(
    context: &Context<'_>,
    group: &ConsumerGroup,
    member_id: &MemberId,
    before: &CurrentAssignment,
    subscription: Subscription,
    owned: Option<&BTreeSet<TopicPartition>>,
) -> Result<CurrentAssignment, ErrorCode> {
    let target_epoch = group.assignment_epoch();
    if subscription == Subscription::Unchanged && before.is_reconciled_to(target_epoch) {
        return Ok(before.clone());
    }
    let empty = BTreeSet::new();
    let subscribed =
        group.members.get(member_id).map(|member| group.subscribed_ids(member, context.topics)).unwrap_or_default();
    let inputs = Inputs {
        target_epoch,
        target: group.target.get(member_id).unwrap_or(&empty),
        owned,
        is_free: &|partition| {
            group.partition_epochs.is_free(partition)
                || (context.rules.slips(Mutation::PendingIsFree) && is_pending(group, partition))
        },
        is_subscribed: &|topic_id| subscribed.contains(&topic_id),
        subscription,
    };
    reconcile(context.rules, before, &inputs)
}

/// Whether a member was asked to give a partition up.
fn is_pending(group: &ConsumerGroup, partition: TopicPartition) -> bool {
    let mut assignments = group.members.values().filter_map(|member| member.current.as_ref());
    assignments.any(|current| current.pending_revocation.contains_key(&partition))
}

/// Rejected alternative 3: whoever leaves UNREVOKED for a new epoch revoked something at the old one; whoever joins never had
/// anything before it.
fn note_revocation_epoch(
    draft: &mut Draft<'_>,
    member_id: &MemberId,
    before: &CurrentAssignment,
    after: &CurrentAssignment,
) {
    let joined = before.member_epoch == Epoch::JOIN;
    let leaves_unrevoked = before.state == MemberState::Unrevoked && after.member_epoch != before.member_epoch;
    if joined {
        draft.revocation_epochs.push((member_id.clone(), Epoch(after.member_epoch.0.saturating_sub(1))));
    } else if leaves_unrevoked {
        draft.revocation_epochs.push((member_id.clone(), before.member_epoch));
    }
}

/// The timers of rows 5 and 6.
fn restart_timers(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    member_id: &MemberId,
    before: &CurrentAssignment,
    after: &CurrentAssignment,
) {
    let rules = context.rules;
    let Some(member) = draft.member(member_id) else { return };
    let metadata = member.metadata_or_default();
    let is_new = before.member_epoch == Epoch::JOIN;
    let mut timers = Vec::new();
    if after.state == MemberState::Unrevoked {
        if after != before || rules.slips(Mutation::RebalanceTimerRestarted) {
            timers.push(TimerAction::Arm {
                member_id: member_id.clone(),
                kind: TimerKind::Rebalance,
                delay_ms: i64::from(metadata.rebalance_timeout_ms),
                epoch: Some(after.member_epoch),
            });
        }
    } else if after != before && !rules.slips(Mutation::RebalanceTimerNotCancelled) {
        timers.push(TimerAction::Cancel { member_id: member_id.clone(), kind: TimerKind::Rebalance });
    }
    if is_new || !rules.slips(Mutation::SessionNotRestarted) {
        timers.push(TimerAction::Arm {
            member_id: member_id.clone(),
            kind: TimerKind::Session,
            delay_ms: session_timeout_ms(context.config.session_timeout_ms, &metadata),
            epoch: None,
        });
    }
    draft.timers.extend(timers);
}

/// A classic member has a session timeout of its own.
pub(crate) fn session_timeout_ms(default_ms: i64, metadata: &ConsumerGroupMemberMetadataValue) -> i64 {
    metadata.classic_member_metadata.as_ref().map_or(default_ms, |classic| i64::from(classic.session_timeout_ms))
}
