//! Whether a member of a CONSUMER group may commit (docs/fencing.md 3.3; Kafka `ConsumerGroup#validateOffsetCommit`): the
//! check that KIP-1251 relaxed, with its older and its rejected forms.
//!
//! It has two parts. [`commit_check`] looks at the request and refuses it or gives a [`CommitValidator`], which then looks at
//! each partition. A partition that is refused refuses the request (docs/fencing.md 3.2, row 6).
//!
//! The rule in one line: accept p if `assignment_epoch(m, p) <= e <= member_epoch(m)`.

use std::collections::BTreeMap;

use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, InstanceId, MemberId, TopicPartition};
use crate::coordinator::rules::{CommitCheck, Rules};

/// Which protocol a member speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// KIP-848's heartbeats.
    Consumer,
    /// `JoinGroup` and `SyncGroup`.
    Classic,
}

/// What the check needs to know of the member.
#[derive(Debug, Clone, Copy)]
pub struct CommitMember<'a> {
    /// Its epoch.
    pub member_epoch: Epoch,
    /// Its protocol, which decides how a stale epoch is told.
    pub protocol: Protocol,
    /// What it may use, with assignment epochs.
    pub assigned: &'a BTreeMap<TopicPartition, Epoch>,
    /// What it was asked to give up, with assignment epochs.
    pub pending_revocation: &'a BTreeMap<TopicPartition, Epoch>,
    /// For [`CommitCheck::RevocationEpoch`] alone: the epoch at which it last gave something up; `None` when not known.
    pub revocation_epoch: Option<Epoch>,
}

/// What the check needs to know of the request.
#[derive(Debug, Clone, Copy)]
pub struct CommitCall<'a> {
    /// The member id, empty for none.
    pub member_id: &'a MemberId,
    /// The instance id, which is compared with nothing.
    pub instance_id: Option<&'a InstanceId>,
    /// The epoch that the commit was stamped with.
    pub epoch: Epoch,
    /// Whether it is part of a transaction.
    pub transactional: bool,
    /// The version of `OffsetCommit`; of no meaning for a transactional commit.
    pub api_version: i16,
}

/// Accepts or refuses one partition after another of a request that passed [`commit_check`].
#[derive(Debug, Clone, Copy)]
pub enum CommitValidator<'a> {
    /// All of them.
    AcceptAll,
    /// Those that the member has, from their assignment epoch on (row 7, and row 5 with ownership).
    AssignmentEpoch {
        /// The member.
        member: CommitMember<'a>,
        /// The epoch of the commit.
        epoch: Epoch,
        /// The error for a partition that is refused.
        stale: ErrorCode,
        /// One slip, for tests.
        mutation: Option<Mutation>,
    },
}

impl CommitValidator<'_> {
    /// Whether this partition may be committed.
    pub fn check(&self, partition: TopicPartition) -> Result<(), ErrorCode> {
        match *self {
            Self::AcceptAll => Ok(()),
            Self::AssignmentEpoch { member, epoch, stale, mutation } => {
                let pending = match mutation {
                    Some(Mutation::PendingRefused) => None,
                    _ => member.pending_revocation.get(&partition),
                };
                match member.assigned.get(&partition).or(pending) {
                    None if mutation == Some(Mutation::OwnershipIgnored) => Ok(()),
                    None => Err(stale),
                    Some(&assigned_at) if epoch == assigned_at && mutation == Some(Mutation::FirstEpochRefused) => {
                        Err(stale)
                    }
                    Some(&assigned_at) if epoch < assigned_at => {
                        if mutation == Some(Mutation::AssignmentEpochIgnored) {
                            Ok(())
                        } else {
                            Err(stale)
                        }
                    }
                    Some(_) => Ok(()),
                }
            }
        }
    }
}

/// Whether the request passes, and what its partitions are held against.
///
/// `group_is_empty`: it has no members, not even one that left for a while. `member`: the one that the request names, `None`
/// if the group has no such member.
pub fn commit_check<'a>(
    rules: &Rules,
    group_is_empty: bool,
    member: Option<CommitMember<'a>>,
    call: &CommitCall<'_>,
) -> Result<CommitValidator<'a>, ErrorCode> {
    let accept_all = Ok(CommitValidator::AcceptAll);

    // Row 1: an administrator's commit to a group without members.
    if call.epoch < Epoch::JOIN && (group_is_empty || rules.slips(Mutation::AnonymousCommitAccepted)) {
        return accept_all;
    }
    // Row 2: a producer that does not know its consumer (KAFKA-18060).
    let without_identity = call.member_id.is_empty() && call.instance_id.is_none();
    if call.transactional
        && call.epoch == Epoch::LEAVE
        && without_identity
        && !rules.slips(Mutation::TransactionNeedsMember)
    {
        return accept_all;
    }
    // Row 3.
    let Some(member) = member else {
        if rules.slips(Mutation::UnknownMemberAccepted) {
            return accept_all;
        }
        return Err(ErrorCode::UnknownMemberId);
    };
    // Row 4.
    if !call.transactional
        && member.protocol == Protocol::Consumer
        && call.api_version < 9
        && !rules.slips(Mutation::CommitVersionNotChecked)
    {
        return Err(ErrorCode::UnsupportedVersion);
    }

    let stale = stale_error(rules, member.protocol);
    let by_assignment_epoch =
        Ok(CommitValidator::AssignmentEpoch { member, epoch: call.epoch, stale, mutation: rules.mutation });
    match (rules.commit_check, call.epoch.cmp(&member.member_epoch)) {
        // Row 5, repaired: an equal epoch goes the way of an older one.
        (CommitCheck::AssignmentEpochOwned, std::cmp::Ordering::Equal) => {
            if rules.slips(Mutation::CommitFastPath) {
                accept_all
            } else {
                by_assignment_epoch
            }
        }
        // Row 5: the fast path; and no rows at all.
        (_, std::cmp::Ordering::Equal) | (CommitCheck::None, _) => accept_all,
        // Row 6.
        (_, std::cmp::Ordering::Greater) => {
            if rules.slips(Mutation::NewerEpochAccepted) {
                accept_all
            } else {
                Err(stale)
            }
        }
        // Row 7, before KIP-1251.
        (CommitCheck::Strict, std::cmp::Ordering::Less) => Err(stale),
        // Row 7, by the rejected alternative: not known is strict.
        (CommitCheck::RevocationEpoch, std::cmp::Ordering::Less) => match member.revocation_epoch {
            Some(revoked_at) if revoked_at < call.epoch => accept_all,
            _ => Err(stale),
        },
        // Row 7.
        (CommitCheck::AssignmentEpoch | CommitCheck::AssignmentEpochOwned, std::cmp::Ordering::Less) => {
            if rules.slips(Mutation::CommitRefusesOlderEpoch) { Err(stale) } else { by_assignment_epoch }
        }
    }
}

/// How a member is told that its epoch does not fit: a classic one cannot read `STALE_MEMBER_EPOCH` (PR 16145).
fn stale_error(rules: &Rules, protocol: Protocol) -> ErrorCode {
    match protocol {
        Protocol::Classic if !rules.slips(Mutation::ClassicCommitStale) => ErrorCode::IllegalGeneration,
        Protocol::Classic | Protocol::Consumer => ErrorCode::StaleMemberEpoch,
    }
}
