//! Members that speak the classic protocol in a CONSUMER group (docs/fencing.md 2.11), as Kafka has them while a group moves
//! from one protocol to the other.
//!
//! Their generation is their member epoch. Joining is a full heartbeat in other words; a member that has to act is told so by
//! `REBALANCE_IN_PROGRESS`.

use std::collections::BTreeSet;

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::draft::{Context, Draft, TimerAction};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::Member;
use crate::coordinator::heartbeat::{session_timeout_ms, steady};
use crate::coordinator::leave;
use crate::coordinator::membership::check_size;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, InstanceId, MemberId, TopicPartition};
use crate::coordinator::reconciliation::MemberState;
use crate::coordinator::records::{ClassicMemberMetadata, ConsumerGroupMemberMetadataValue};
use crate::coordinator::request::{
    ClassicHeartbeatRequest, JoinGroupRequest, JoinGroupResponse, LeaveGroupRequest, SyncGroupRequest,
};
use crate::coordinator::static_member;
use crate::coordinator::timers::TimerKind;

/// `JoinGroup`: 2.4 and 2.5 with the owned partitions of the subscription.
pub(crate) fn join(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &JoinGroupRequest,
) -> Result<JoinGroupResponse, ErrorCode> {
    let Some(protocol) = request.protocols.first() else { return Err(ErrorCode::InconsistentGroupProtocol) };
    let is_first = request.member_id.is_empty();
    let member_id = if is_first {
        request.new_member_id.clone().filter(|id| !id.is_empty()).ok_or(ErrorCode::InvalidRequest)?
    } else {
        request.member_id.clone()
    };
    check_size(context, draft, &member_id, request.instance_id.as_ref())?;
    let known = request.instance_id.as_ref().map(|id| draft.group().static_members.get(id).cloned());
    match known {
        None if !is_first && draft.member(&member_id).is_none() => return Err(ErrorCode::UnknownMemberId),
        Some(None) if !is_first => return Err(ErrorCode::UnknownMemberId),
        Some(Some(known)) if is_first => {
            static_member::replace(context, draft, &known, &member_id, Protocol::Classic)?;
        }
        Some(Some(known)) if known != member_id => return Err(ErrorCode::FencedInstanceId),
        // A new member, or one that is who it says.
        _ => {}
    }

    let before = draft.member(&member_id).map(Member::metadata_or_default).unwrap_or_default();
    let metadata = ConsumerGroupMemberMetadataValue {
        instance_id: request.instance_id.as_ref().map(|id| id.as_str().to_owned()).or(before.instance_id),
        subscribed_topic_names: request.topics.iter().map(|name| name.as_str().to_owned()).collect(),
        subscribed_topic_regex: None,
        rebalance_timeout_ms: request.rebalance_timeout_ms,
        classic_member_metadata: Some(ClassicMemberMetadata {
            session_timeout_ms: request.session_timeout_ms,
            supported_protocols: request.protocols.clone(),
        }),
        ..before
    };
    let current = steady(context, draft, &member_id, metadata, Some(&request.owned))?;
    draft.timers.push(TimerAction::Cancel { member_id: member_id.clone(), kind: TimerKind::Join });
    draft.timers.push(TimerAction::Arm {
        member_id: member_id.clone(),
        kind: TimerKind::Sync,
        delay_ms: i64::from(request.rebalance_timeout_ms),
        epoch: None,
    });
    Ok(JoinGroupResponse { member_id, generation: current.member_epoch, protocol: protocol.name.clone() })
}

/// `SyncGroup`: what the member has, unless there is a newer target that it does not know of.
pub(crate) fn sync(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &SyncGroupRequest,
) -> Result<BTreeSet<TopicPartition>, ErrorCode> {
    let member = classic_member(context, draft, &request.member_id, request.instance_id.as_ref(), request.generation)?;
    let current = member.current_or_joining();
    let is_behind = draft.group().assignment_epoch() > current.member_epoch && current.state != MemberState::Unrevoked;
    if is_behind && !context.rules.slips(Mutation::ClassicMemberNotRebalanced) {
        let delay_ms = i64::from(member.metadata_or_default().rebalance_timeout_ms);
        draft.timers.push(await_join(&request.member_id, delay_ms));
        return Err(ErrorCode::RebalanceInProgress);
    }
    draft.timers.push(TimerAction::Cancel { member_id: request.member_id.clone(), kind: TimerKind::Sync });
    Ok(current.assigned.into_keys().collect())
}

/// `Heartbeat`: keeps the session, and tells the member to join again when that would bring it further.
///
/// The session is kept even where the answer is `REBALANCE_IN_PROGRESS`; the caller applies the timers of an error of that
/// kind, and of no other.
pub(crate) fn heartbeat(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &ClassicHeartbeatRequest,
) -> Result<(), ErrorCode> {
    let member = classic_member(context, draft, &request.member_id, request.instance_id.as_ref(), request.generation)?;
    let current = member.current_or_joining();
    let metadata = member.metadata_or_default();
    let group = draft.group();
    let all_free = || {
        group
            .target_of(&request.member_id)
            .iter()
            .all(|p| current.assigned.contains_key(p) || group.partition_epochs.is_free(*p))
    };
    let rebalances = current.member_epoch < group.assignment_epoch()
        || current.state == MemberState::Unrevoked
        || (current.state == MemberState::Unreleased && all_free());
    draft.timers.push(TimerAction::Arm {
        member_id: request.member_id.clone(),
        kind: TimerKind::Session,
        delay_ms: session_timeout_ms(context.config.session_timeout_ms, &metadata),
        epoch: None,
    });
    if rebalances {
        draft.timers.push(await_join(&request.member_id, i64::from(metadata.rebalance_timeout_ms)));
        return Err(ErrorCode::RebalanceInProgress);
    }
    Ok(())
}

/// Whoever is told to rebalance has that long to join, counted from the first time.
fn await_join(member_id: &MemberId, delay_ms: i64) -> TimerAction {
    TimerAction::ArmIfIdle { member_id: member_id.clone(), kind: TimerKind::Join, delay_ms }
}

/// `LeaveGroup`: those who may go do, with one bump of the group epoch; each of the others gets its error.
pub(crate) fn leave_group(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &LeaveGroupRequest,
) -> Result<Vec<ErrorCode>, ErrorCode> {
    let mut going: Vec<MemberId> = Vec::new();
    let mut errors = Vec::new();
    for (member_id, instance_id) in &request.members {
        let found = leaver(draft, member_id, instance_id.as_ref())
            .and_then(|id| if going.contains(&id) { Err(ErrorCode::UnknownMemberId) } else { Ok(id) });
        match found {
            Ok(id) => {
                going.push(id);
                errors.push(ErrorCode::None);
            }
            Err(error) => errors.push(error),
        }
    }
    if !going.is_empty() {
        leave::remove(context, draft, &going)?;
    }
    Ok(errors)
}

/// Without an instance id only classic members go this way; with one, an administrator may leave the member id empty.
fn leaver(draft: &Draft<'_>, member_id: &MemberId, instance_id: Option<&InstanceId>) -> Result<MemberId, ErrorCode> {
    match instance_id {
        None => match draft.member(member_id) {
            Some(member) if member.protocol() == Protocol::Classic => Ok(member_id.clone()),
            _ => Err(ErrorCode::UnknownMemberId),
        },
        Some(instance_id) => match draft.group().static_members.get(instance_id) {
            None => Err(ErrorCode::UnknownMemberId),
            Some(known) if !member_id.is_empty() && known != member_id => Err(ErrorCode::FencedInstanceId),
            Some(known) => Ok(known.clone()),
        },
    }
}

/// The classic member that a `SyncGroup` or `Heartbeat` comes from.
fn classic_member<'a>(
    context: &Context<'_>,
    draft: &'a Draft<'_>,
    member_id: &MemberId,
    instance_id: Option<&InstanceId>,
    generation: Epoch,
) -> Result<&'a Member, ErrorCode> {
    if let Some(instance_id) = instance_id {
        match draft.group().static_members.get(instance_id) {
            None => return Err(ErrorCode::UnknownMemberId),
            Some(known) if known != member_id => return Err(ErrorCode::FencedInstanceId),
            Some(_) => {}
        }
    }
    let member = draft
        .member(member_id)
        .filter(|member| member.protocol() == Protocol::Classic)
        .ok_or(ErrorCode::UnknownMemberId)?;
    if member.member_epoch() != generation && !context.rules.slips(Mutation::GenerationNotChecked) {
        return Err(ErrorCode::IllegalGeneration);
    }
    Ok(member)
}
