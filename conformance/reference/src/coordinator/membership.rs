//! Who a heartbeat comes from, and whether it may (docs/fencing.md 2.2).

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::draft::{Context, Draft};
use crate::coordinator::epoch_check::epoch_check;
use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, InstanceId, MemberId};
use crate::coordinator::request::HeartbeatRequest;
use crate::coordinator::rules::FullGroup;
use crate::coordinator::static_member;

/// The preconditions of docs/fencing.md 2.2 for an epoch of 0 or more, in its order. A static member that is replaced is
/// replaced here.
pub(crate) fn admit(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    request: &HeartbeatRequest,
    member_id: &MemberId,
) -> Result<(), ErrorCode> {
    check_size(context, draft, member_id, request.instance_id.as_ref())?;
    let owned = request.owned.as_ref();
    let Some(instance_id) = &request.instance_id else {
        return match draft.member(member_id) {
            Some(member) => epoch_check(context.rules, request.member_epoch, &member.current_or_joining(), owned),
            None if request.member_epoch == Epoch::JOIN => Ok(()),
            None => Err(ErrorCode::UnknownMemberId),
        };
    };
    let known = draft.group().static_members.get(instance_id).cloned();
    match known {
        None if request.member_epoch == Epoch::JOIN => Ok(()),
        None => Err(ErrorCode::UnknownMemberId),
        Some(known) if request.member_epoch == Epoch::JOIN => {
            static_member::replace(context, draft, &known, member_id, Protocol::Consumer)
        }
        Some(known) if known != *member_id && !context.rules.slips(Mutation::InstanceIdNotFenced) => {
            Err(ErrorCode::FencedInstanceId)
        }
        Some(_) => match draft.member(member_id) {
            Some(member) => epoch_check(context.rules, request.member_epoch, &member.current_or_joining(), owned),
            None => Err(ErrorCode::UnknownMemberId),
        },
    }
}

/// A group that is full takes nobody new, except under an instance id that it knows (since Kafka 4.4).
pub(crate) fn check_size(
    context: &Context<'_>,
    draft: &Draft<'_>,
    member_id: &MemberId,
    instance_id: Option<&InstanceId>,
) -> Result<(), ErrorCode> {
    let group = draft.group();
    let takes_successors = context.rules.full_group == FullGroup::TakesSuccessors;
    let known = takes_successors && instance_id.is_some_and(|id| group.static_members.contains_key(id));
    let full = group.members.len() >= context.config.max_group_size;
    if full && !known && !group.members.contains_key(member_id) && !context.rules.slips(Mutation::GroupSizeUnlimited) {
        return Err(ErrorCode::GroupMaxSizeReached);
    }
    Ok(())
}
