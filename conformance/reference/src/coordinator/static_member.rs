//! A static member that comes back under a new member id (docs/fencing.md 2.7).

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::draft::{Context, Draft};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, MemberId};
use crate::coordinator::reconciliation::CurrentAssignment;

/// Puts a successor in the place of the member that has the instance id: same subscription, state, partitions and assignment
/// epochs, member epoch 0. Its heartbeat then goes on as any other and ends at the target epoch.
///
/// Refused while the member is there and both speak the consumer protocol, even if the two are the same (H5). The old timers
/// are left to fire for nobody.
pub(crate) fn replace(
    context: &Context<'_>,
    draft: &mut Draft<'_>,
    old_id: &MemberId,
    new_id: &MemberId,
    joiner: Protocol,
) -> Result<(), ErrorCode> {
    let rules = context.rules;
    let Some(old) = draft.member(old_id).cloned() else {
        // A mapping that leads nowhere (KAFKA-20747) holds nothing to take over.
        return Ok(());
    };
    let both_consumer = old.protocol() == Protocol::Consumer && joiner == Protocol::Consumer;
    let has_left = old.member_epoch() == Epoch::LEAVE_TEMPORARILY;
    if both_consumer && !has_left && !rules.slips(Mutation::InstanceIdNeverUnreleased) {
        return Err(ErrorCode::UnreleasedInstanceId);
    }
    let target = draft.group().target_of(old_id);
    if !rules.slips(Mutation::ReplacedMemberStays) {
        draft.remove_member(old_id)?;
    }
    if rules.slips(Mutation::ReplacedMemberAccepted) {
        draft.replaced.push(old_id.clone());
    }
    draft.member_metadata(new_id, old.metadata_or_default())?;
    draft.target_member(new_id, &target)?;
    let current = if rules.slips(Mutation::ReplacementForgetsAssignment) {
        CurrentAssignment::joining()
    } else {
        old.current_or_joining()
    };
    let successor = CurrentAssignment { member_epoch: Epoch::JOIN, previous_member_epoch: Epoch::JOIN, ..current };
    draft.current_assignment(new_id, &successor)
}
