//! From what a member has to what it shall have, one safe step at a time (docs/fencing.md 2.5; Kafka
//! `CurrentAssignmentBuilder`).
//!
//! A partition is taken away in two steps, asked back and seen given up, and given in one, once nobody else has it. Each
//! partition carries the target epoch at which it was given, its assignment epoch, which is what a commit is held against.
//!
//! [`reconcile`] is the table of 2.5; [`next`] and [`strip`] are its two actions.

use std::collections::{BTreeMap, BTreeSet};

use crate::coordinator::error::ErrorCode;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, TopicPartition};
use crate::coordinator::records::Uuid;
use crate::coordinator::rules::{OwnPending, Rules, StripPreviousEpoch, UnrevokedExit, UnsubscribedTopics};

/// Where a member is on its way to the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemberState {
    /// It has what it should at its epoch.
    Stable,
    /// It was asked to give partitions up and did not yet.
    Unrevoked,
    /// It waits for partitions that others have.
    Unreleased,
    /// A byte that this version does not know was loaded.
    Unknown,
}

impl MemberState {
    /// The byte in the record.
    #[must_use]
    pub const fn to_byte(self) -> i8 {
        match self {
            Self::Stable => 0,
            Self::Unrevoked => 1,
            Self::Unreleased => 2,
            Self::Unknown => 127,
        }
    }

    /// The state for a byte in a record; any other byte is [`MemberState::Unknown`].
    #[must_use]
    pub const fn from_byte(byte: i8) -> Self {
        match byte {
            0 => Self::Stable,
            1 => Self::Unrevoked,
            2 => Self::Unreleased,
            _ => Self::Unknown,
        }
    }
}

/// What a member has (docs/fencing.md 1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentAssignment {
    /// The member epoch.
    pub member_epoch: Epoch,
    /// The one before; equal to the member epoch after an epoch was set to what it was.
    pub previous_member_epoch: Epoch,
    /// The state.
    pub state: MemberState,
    /// What it may use, each with its assignment epoch.
    pub assigned: BTreeMap<TopicPartition, Epoch>,
    /// What it was asked to give up and has for everybody else, each with its assignment epoch.
    pub pending_revocation: BTreeMap<TopicPartition, Epoch>,
}

impl CurrentAssignment {
    /// A member that joins.
    #[must_use]
    pub const fn joining() -> Self {
        Self {
            member_epoch: Epoch::JOIN,
            previous_member_epoch: Epoch::LEAVE,
            state: MemberState::Stable,
            assigned: BTreeMap::new(),
            pending_revocation: BTreeMap::new(),
        }
    }

    /// Whether the member has all that it should at this assignment epoch.
    #[must_use]
    pub fn is_reconciled_to(&self, assignment_epoch: Epoch) -> bool {
        self.state == MemberState::Stable && self.member_epoch == assignment_epoch
    }

    /// `set_epoch`: the previous epoch follows even if the epoch stays.
    fn with_epoch(self, rules: &Rules, epoch: Epoch) -> Self {
        let previous_member_epoch =
            if rules.slips(Mutation::PreviousEpochNotKept) { self.previous_member_epoch } else { self.member_epoch };
        Self { member_epoch: epoch, previous_member_epoch, ..self }
    }
}

/// Whether this heartbeat changed the member's subscription.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subscription {
    /// No.
    Unchanged,
    /// Yes.
    Changed,
}

/// What a member is reconciled with.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// T: the epoch of the target.
    pub target_epoch: Epoch,
    /// The member's target, as the assignor gave it.
    pub target: &'a BTreeSet<TopicPartition>,
    /// What the heartbeat reports as owned; `None` for "not reported".
    pub owned: Option<&'a BTreeSet<TopicPartition>>,
    /// Whether a partition is in nobody's assigned or pending set.
    pub is_free: &'a dyn Fn(TopicPartition) -> bool,
    /// Whether the member subscribes to a topic; an expression that is not resolved stands for no topic.
    pub is_subscribed: &'a dyn Fn(Uuid) -> bool,
    /// Whether this heartbeat changed the subscription.
    pub subscription: Subscription,
}

impl Inputs<'_> {
    /// `reports(X)`: whether the member may still hold one of these. A report that is absent counts as "everything".
    fn reports(&self, rules: &Rules, partitions: &BTreeMap<TopicPartition, Epoch>) -> bool {
        match self.owned {
            None => !rules.slips(Mutation::AbsentOwnedIsEmpty),
            Some(owned) => partitions.keys().any(|p| owned.contains(p)),
        }
    }

    /// G: the target without topics that the member does not subscribe to.
    fn wants(&self, rules: &Rules, partition: &TopicPartition) -> bool {
        self.target.contains(partition) && (keeps_unsubscribed(rules) || (self.is_subscribed)(partition.topic_id))
    }
}

fn keeps_unsubscribed(rules: &Rules) -> bool {
    rules.unsubscribed_topics == UnsubscribedTopics::Kept || rules.slips(Mutation::UnsubscribedKept)
}

/// The table of docs/fencing.md 2.5: what the member has after this heartbeat, equal to `member` if nothing changes.
///
/// The error is [`ErrorCode::FencedMemberEpoch`], for a member in an unknown state that still owns something.
pub fn reconcile(
    rules: &Rules,
    member: &CurrentAssignment,
    inputs: &Inputs<'_>,
) -> Result<CurrentAssignment, ErrorCode> {
    let epoch = member.member_epoch;
    Ok(match (member.state, inputs.subscription) {
        (MemberState::Stable, _) if epoch != inputs.target_epoch => next(rules, member, epoch, inputs),
        (MemberState::Stable, Subscription::Changed) => strip(rules, member, inputs),
        (MemberState::Stable, Subscription::Unchanged) => member.clone(),

        (MemberState::Unrevoked, _)
            if rules.slips(Mutation::AcknowledgementMissed) && inputs.target_epoch > epoch.next() =>
        {
            start_over(rules, member, inputs)
        }
        (MemberState::Unrevoked, subscription) if inputs.reports(rules, &member.pending_revocation) => {
            match subscription {
                Subscription::Changed => strip(rules, member, inputs),
                Subscription::Unchanged => member.clone(),
            }
        }
        (MemberState::Unrevoked, _) => {
            let bumps =
                rules.unrevoked_exit == UnrevokedExit::EpochBumped || rules.slips(Mutation::UnrevokedExitBumpsEpoch);
            next(rules, member, if bumps { epoch.next() } else { epoch }, inputs)
        }

        (MemberState::Unreleased, _) => next(rules, member, epoch, inputs),

        (MemberState::Unknown, _) => match inputs.owned {
            Some(owned) if owned.is_empty() => next(rules, member, inputs.target_epoch, inputs),
            _ => return Err(ErrorCode::FencedMemberEpoch),
        },
    })
}

/// NEXT(e): towards the target. Asks back what has to go, with epoch `e`; or, if nothing has, gives what is free and moves to
/// the target epoch.
///
/// What was pending before is released here, unless the target gives it back, at a new assignment epoch.
#[must_use]
pub fn next(rules: &Rules, member: &CurrentAssignment, e: Epoch, inputs: &Inputs<'_>) -> CurrentAssignment {
    let (mut keep, mut revoke): (BTreeMap<_, _>, BTreeMap<_, _>) =
        member.assigned.iter().map(|(&p, &a)| (p, a)).partition(|(p, _)| inputs.wants(rules, p));

    if !revoke.is_empty() && inputs.reports(rules, &revoke) && !rules.slips(Mutation::RevokedAtOnce) {
        if rules.slips(Mutation::PendingPartitionRenewed) {
            for assigned_at in revoke.values_mut() {
                *assigned_at = inputs.target_epoch;
            }
        }
        let e = if rules.slips(Mutation::MemberEpochBeforeRevocation) { inputs.target_epoch } else { e };
        return CurrentAssignment {
            state: MemberState::Unrevoked,
            assigned: keep,
            pending_revocation: revoke,
            ..member.clone().with_epoch(rules, e)
        };
    }

    if rules.slips(Mutation::KeptPartitionRenewed) {
        for assigned_at in keep.values_mut() {
            *assigned_at = inputs.target_epoch;
        }
    }
    let mut blocked = false;
    for &partition in inputs.target.iter().filter(|p| inputs.wants(rules, p)) {
        if keep.contains_key(&partition) {
            continue;
        }
        if is_free(rules, member, partition, inputs) {
            let assigned_at = match member.pending_revocation.get(&partition) {
                Some(&before) if rules.slips(Mutation::RegrantKeepsEpoch) => before,
                _ => inputs.target_epoch,
            };
            keep.insert(partition, assigned_at);
        } else {
            blocked = true;
        }
    }
    CurrentAssignment {
        state: if blocked { MemberState::Unreleased } else { MemberState::Stable },
        assigned: keep,
        pending_revocation: BTreeMap::new(),
        ..member.clone().with_epoch(rules, inputs.target_epoch)
    }
}

/// `free(p)`: nobody has it, or the member itself has it pending (KAFKA-19449).
fn is_free(rules: &Rules, member: &CurrentAssignment, partition: TopicPartition, inputs: &Inputs<'_>) -> bool {
    let own_pending = rules.own_pending == OwnPending::Free && !rules.slips(Mutation::OwnPendingTaken);
    (inputs.is_free)(partition)
        || (own_pending && member.pending_revocation.contains_key(&partition))
        || rules.slips(Mutation::GrantedAtOnce)
}

/// STRIP: asks back what the member does not subscribe to any more, without waiting for a target (since Kafka 4.2).
#[must_use]
pub fn strip(rules: &Rules, member: &CurrentAssignment, inputs: &Inputs<'_>) -> CurrentAssignment {
    let (assigned, stripped): (BTreeMap<_, _>, BTreeMap<_, _>) = member
        .assigned
        .iter()
        .map(|(&p, &a)| (p, a))
        .partition(|(p, _)| keeps_unsubscribed(rules) || (inputs.is_subscribed)(p.topic_id));
    if stripped.is_empty() {
        return member.clone();
    }
    let mut pending_revocation = member.pending_revocation.clone();
    pending_revocation.extend(stripped);

    let previous = member.previous_member_epoch;
    let mut stepped = member.clone().with_epoch(rules, member.member_epoch);
    if rules.strip_previous_epoch == StripPreviousEpoch::Kept || rules.slips(Mutation::StripKeepsPreviousEpoch) {
        stepped.previous_member_epoch = previous;
    }
    stepped.assigned = assigned;
    if inputs.reports(rules, &pending_revocation) {
        stepped.state = MemberState::Unrevoked;
        stepped.pending_revocation = pending_revocation;
    }
    stepped
}

/// The slip of KAFKA-16249: a target that is newer than the revocation has everything computed anew, from all that the member
/// still has, whatever it reports.
fn start_over(rules: &Rules, member: &CurrentAssignment, inputs: &Inputs<'_>) -> CurrentAssignment {
    let mut whole = member.clone();
    whole.assigned.append(&mut whole.pending_revocation);
    next(rules, &whole, member.member_epoch, &Inputs { owned: None, ..*inputs })
}
