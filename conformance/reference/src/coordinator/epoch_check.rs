//! The epoch check of a heartbeat (docs/fencing.md 2.3; Kafka `GroupMetadataManager#throwIfConsumerGroupMemberEpochIsInvalid`).
//!
//! It tolerates one lost answer, and no more: the previous epoch passes only with a report of what the member owns that
//! shows it to have missed nothing it could have lost.

use std::collections::BTreeSet;

use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, TopicPartition};
use crate::coordinator::reconciliation::CurrentAssignment;
use crate::coordinator::rules::{EpochZero, Rules};

/// Whether a heartbeat with epoch `received` may go on; [`ErrorCode::FencedMemberEpoch`] if not.
///
/// `owned` is what the heartbeat reports, `None` if it reports nothing. Epochs below 0 are leaves and never come here; they
/// would be refused as older epochs.
pub fn epoch_check(
    rules: &Rules,
    received: Epoch,
    member: &CurrentAssignment,
    owned: Option<&BTreeSet<TopicPartition>>,
) -> Result<(), ErrorCode> {
    let fenced = Err(ErrorCode::FencedMemberEpoch);
    let zero_rejoins = rules.epoch_zero == EpochZero::Rejoins && !rules.slips(Mutation::RejoinFenced);
    if received == Epoch::JOIN && zero_rejoins {
        // Row 1.
        Ok(())
    } else if received > member.member_epoch {
        // Row 2.
        if rules.slips(Mutation::NewerHeartbeatAccepted) { Ok(()) } else { fenced }
    } else if received == member.member_epoch {
        // Row 3.
        Ok(())
    } else if received != member.previous_member_epoch && !rules.slips(Mutation::AnyOlderHeartbeat) {
        // Row 4: an epoch that is not the previous one.
        fenced
    } else {
        // Row 4: the previous epoch, if the report is there and names nothing but what is assigned.
        match owned {
            Some(owned) if owned.iter().all(|p| counts_as_assigned(rules, member, p)) => Ok(()),
            Some(_) if rules.slips(Mutation::EpochCheckIgnoresOwned) => Ok(()),
            None if rules.slips(Mutation::EpochCheckAcceptsAbsentOwned) => Ok(()),
            Some(_) | None => fenced,
        }
    }
}

fn counts_as_assigned(rules: &Rules, member: &CurrentAssignment, partition: &TopicPartition) -> bool {
    member.assigned.contains_key(partition)
        || (rules.slips(Mutation::EpochCheckCountsPending) && member.pending_revocation.contains_key(partition))
}
