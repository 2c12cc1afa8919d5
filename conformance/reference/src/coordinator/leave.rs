//! Members that go: by themselves, for a while, or removed (docs/fencing.md 2.6 and 2.8).

use std::collections::BTreeMap;

use crate::coordinator::draft::{Context, Draft, TimerAction};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, InstanceId, MemberId};
use crate::coordinator::reconciliation::CurrentAssignment;
use crate::coordinator::request::{HeartbeatRequest, HeartbeatResponse};
use crate::coordinator::rules::EmptyGroup;

/// A heartbeat with epoch -1 or -2. There is no epoch check: a late leave removes a member that joined again (H6).
pub(crate) fn leave(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &HeartbeatRequest,
) -> Result<HeartbeatResponse, ErrorCode> {
    let member_id = match &request.instance_id {
        None if draft.member(&request.member_id).is_some() => request.member_id.clone(),
        None => return Err(ErrorCode::UnknownMemberId),
        Some(instance_id) => static_leaver(context, draft, instance_id, &request.member_id)?,
    };
    if request.member_epoch == Epoch::LEAVE_TEMPORARILY {
        leave_for_a_while(context, draft, &member_id)?;
    } else {
        remove(context, draft, std::slice::from_ref(&member_id))?;
    }
    Ok(HeartbeatResponse {
        member_id,
        member_epoch: request.member_epoch,
        heartbeat_interval_ms: context.config.heartbeat_interval_ms,
        assignment: None,
    })
}

/// The member behind an instance id, if it is the one that asks.
fn static_leaver(
    context: &Context<'_>,
    draft: &Draft<'_>,
    instance_id: &InstanceId,
    member_id: &MemberId,
) -> Result<MemberId, ErrorCode> {
    match draft.group().static_members.get(instance_id) {
        None => Err(ErrorCode::UnknownMemberId),
        Some(known) if known != member_id && !context.rules.slips(Mutation::LeaveIgnoresMemberId) => {
            Err(ErrorCode::FencedInstanceId)
        }
        Some(known) => Ok(known.clone()),
    }
}

/// A static member that means to come back keeps what is assigned, at assignment epoch 0; what it was asked to give up is free
/// at once. No bump, and the session timer runs on.
fn leave_for_a_while(context: &Context<'_>, draft: &mut Draft<'_>, member_id: &MemberId) -> Result<(), ErrorCode> {
    let Some(member) = draft.member(member_id) else { return Err(ErrorCode::UnknownMemberId) };
    let current = member.current_or_joining();
    let keeps_epochs = context.rules.slips(Mutation::StaticLeaveKeepsAssignmentEpochs);
    let assigned = current.assigned.iter().map(|(&p, &a)| (p, if keeps_epochs { a } else { Epoch(0) })).collect();
    let keeps_pending = context.rules.slips(Mutation::LeaveKeepsPending);
    let pending_revocation = if keeps_pending { current.pending_revocation } else { BTreeMap::new() };
    let left = CurrentAssignment { member_epoch: Epoch::LEAVE_TEMPORARILY, assigned, pending_revocation, ..current };
    draft.current_assignment(member_id, &left)
}

/// Removes members: their tombstones, one bump of the group epoch, and with the last of them the assignment epoch catches up
/// (KAFKA-20442).
pub(crate) fn remove(context: &Context<'_>, draft: &mut Draft<'_>, member_ids: &[MemberId]) -> Result<(), ErrorCode> {
    for member_id in member_ids {
        let regex = draft.member(member_id).and_then(|member| member.metadata_or_default().subscribed_topic_regex);
        draft.remove_member(member_id)?;
        if let Some(regex) = regex
            && draft.group().regexes.contains_key(&regex)
            && !draft.group().regex_is_used_by_others(&regex, member_id)
        {
            draft.regular_expression(&regex, None)?;
        }
        draft.timers.push(TimerAction::CancelAll { member_id: member_id.clone() });
    }
    let (epoch, hash) = (draft.group().group_epoch().next(), draft.group().metadata_hash());
    if !context.rules.slips(Mutation::RemovalWithoutBump) {
        draft.group_metadata(epoch, hash)?;
    }
    let catches_up =
        context.rules.empty_group == EmptyGroup::CatchesUp && !context.rules.slips(Mutation::EmptyGroupLags);
    if draft.group().members.is_empty() && catches_up {
        draft.target_metadata(draft.group().group_epoch(), 0)?;
    }
    Ok(())
}
