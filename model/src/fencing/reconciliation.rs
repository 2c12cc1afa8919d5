//! How a member is brought from what it has to what the target gives it (2.5), as Kafka's `CurrentAssignmentBuilder`.

use fencepost_fixtures::variants::{CommitCheck, FencingRules, Release, UnrevokedExit};

use super::bounds::Setting;
use super::coordinator::{Coordinator, Member, Phase};
use super::labels::{Label, Trail};
use super::mutant::Mutant;
use super::partitions::Partitions;

/// What a reconciliation looks at, beside the member.
#[derive(Clone, Copy, Debug)]
struct Inputs {
    /// The target epoch, `T`.
    epoch: i8,
    /// The member's target without unsubscribed topics, `G`.
    target: Partitions,
    /// What the member reports to hold.
    owned: Option<Partitions>,
    /// What nobody else owns.
    free: Partitions,
    /// Whether this request changed the subscription.
    subscription_changed: bool,
    /// The partitions of the topics subscribed to.
    subscribed: Partitions,
}

impl Inputs {
    /// `reports(X)`: an absent owned set counts as everything.
    fn reports(&self, setting: &Setting, partitions: Partitions) -> bool {
        match self.owned {
            Some(owned) => owned.meets(partitions),
            None => setting.mutant != Mutant::AbsentIsEmpty,
        }
    }
}

/// Reconciles the member `slot`, and says whether it changed.
pub fn reconcile(
    coordinator: &mut Coordinator,
    setting: &Setting,
    rules: &FencingRules,
    slot: u8,
    owned: Option<Partitions>,
    subscription_changed: bool,
    trail: &mut Trail,
) -> bool {
    let index = usize::from(slot);
    let before = coordinator.members[index];
    // KAFKA-19431: partitions of unsubscribed topics are taken out from 4.2 on.
    let strips = rules.release >= Release::V4_2;
    let subscribed = setting.bounds.topics.of(before.topics);
    let filter = strips && setting.mutant != Mutant::KeepUnsubscribed;
    let target = if filter { coordinator.target[index] & subscribed } else { coordinator.target[index] };
    let mut free = !coordinator.owned_by_others(setting, slot) | coordinator.forgotten;
    if setting.mutant == Mutant::OwnPendingTaken {
        free = free.minus(before.pending);
    }
    let inputs = Inputs {
        epoch: coordinator.assignment_epoch,
        target,
        owned,
        free,
        subscription_changed: subscription_changed && strips,
        subscribed,
    };
    let after = table(setting, rules, &before, &inputs, trail);
    if after == before {
        return false;
    }
    mark_change(&before, &after, trail);
    coordinator.members[index] = after;
    if setting.mutant == Mutant::RegrantForgetsOwner {
        let back = before.pending & after.assigned;
        coordinator.forgotten = coordinator.forgotten.minus(after.assigned) | back;
    }
    true
}

/// The table of 2.5.
fn table(setting: &Setting, rules: &FencingRules, member: &Member, inputs: &Inputs, trail: &mut Trail) -> Member {
    match member.phase {
        Phase::Stable if member.epoch != inputs.epoch => {
            trail.mark(Label::StableNext);
            next(setting, rules, member, member.epoch, inputs, trail)
        }
        Phase::Stable if inputs.subscription_changed => {
            trail.mark(Label::StableStrip);
            strip(setting, rules, member, inputs, trail)
        }
        Phase::Stable => *member,
        Phase::Unrevoked if setting.mutant == Mutant::AckMissed && member.mark < inputs.epoch => {
            let mut silent = *inputs;
            silent.owned = None;
            let mut whole = *member;
            whole.assigned = member.assigned | member.pending;
            whole.pending = Partitions::NONE;
            next(setting, rules, &whole, member.epoch, &silent, trail)
        }
        Phase::Unrevoked if inputs.reports(setting, member.pending) => {
            if inputs.subscription_changed {
                trail.mark(Label::UnrevokedStrip);
                strip(setting, rules, member, inputs, trail)
            } else {
                let newer = !member.assigned.within(inputs.target) || member.pending.meets(inputs.target);
                trail.mark(if newer { Label::UnrevokedWaitsNewer } else { Label::UnrevokedWaits });
                *member
            }
        }
        Phase::Unrevoked => {
            trail.mark(Label::UnrevokedNext);
            let epoch = match rules.unrevoked_exit {
                UnrevokedExit::EpochBumped => member.epoch + 1,
                UnrevokedExit::EpochKept => member.epoch,
            };
            next(setting, rules, member, epoch, inputs, trail)
        }
        Phase::Unreleased => {
            trail.mark(Label::UnreleasedNext);
            next(setting, rules, member, member.epoch, inputs, trail)
        }
    }
}

/// NEXT(`epoch`) of 2.5.
fn next(
    setting: &Setting,
    rules: &FencingRules,
    member: &Member,
    epoch: i8,
    inputs: &Inputs,
    trail: &mut Trail,
) -> Member {
    let keep = member.assigned & inputs.target;
    let revoke = member.assigned.minus(inputs.target);
    let want = inputs.target.minus(keep);
    let available = if setting.mutant == Mutant::GrantsAtOnce { want } else { want & inputs.free };
    let blocked = want.minus(available);
    let mut after = *member;
    let asked_back = inputs.reports(setting, revoke) && setting.mutant != Mutant::RevokesAtOnce;
    if !revoke.is_empty() && asked_back {
        trail.mark(Label::NextRevokes);
        after.phase = Phase::Unrevoked;
        after.assigned = keep;
        after.pending = revoke;
        let early = setting.mutant == Mutant::UnreleasedEarly;
        after.set_epoch(if early { inputs.epoch } else { epoch });
        if setting.mutant == Mutant::PendingRenews {
            after.grant(revoke, inputs.epoch);
        }
    } else {
        if !revoke.is_empty() {
            trail.mark(Label::NextRevokedAlready);
        }
        if !available.is_empty() {
            trail.mark(Label::NextGrants);
        }
        if available.meets(member.pending) {
            trail.mark(Label::NextRegrants);
        }
        if !blocked.is_empty() {
            trail.mark(Label::NextBlocked);
        }
        after.assigned = keep | available;
        after.pending = Partitions::NONE;
        after.phase = if blocked.is_empty() { Phase::Stable } else { Phase::Unreleased };
        after.set_epoch(inputs.epoch);
        let renewed = match setting.mutant {
            Mutant::GrantKeepsOld => available.minus(member.pending),
            Mutant::KeepRenews => available | keep,
            _ => available,
        };
        after.grant(renewed, inputs.epoch);
    }
    after.forget_released();
    // 5, alternative 3: leaving UNREVOKED for another epoch is a revocation that is over.
    let revoked = member.phase == Phase::Unrevoked && after.epoch != member.epoch;
    if rules.commit_check == CommitCheck::RevocationEpoch && revoked {
        after.mark = member.epoch;
    }
    if setting.mutant == Mutant::AckMissed {
        after.mark = inputs.epoch;
    }
    after
}

/// STRIP of 2.5.
fn strip(setting: &Setting, rules: &FencingRules, member: &Member, inputs: &Inputs, trail: &mut Trail) -> Member {
    let moved = member.assigned.minus(inputs.subscribed);
    if moved.is_empty() {
        trail.mark(Label::StripNothing);
        return *member;
    }
    let mut after = *member;
    after.assigned = member.assigned.minus(moved);
    let pending = member.pending | moved;
    if inputs.reports(setting, pending) {
        trail.mark(Label::StripRevokes);
        after.phase = Phase::Unrevoked;
        after.pending = pending;
    } else {
        trail.mark(Label::StripDrops);
    }
    // In 4.2 STRIP leaves the previous epoch alone.
    if rules.release >= Release::V4_3 && setting.mutant != Mutant::NotStrippedPrevious {
        after.previous = after.epoch;
    }
    after.forget_released();
    after
}

fn mark_change(before: &Member, after: &Member, trail: &mut Trail) {
    trail.mark(match (before.phase, after.phase) {
        (Phase::Stable, Phase::Stable) => Label::StableToStable,
        (Phase::Stable, Phase::Unrevoked) => Label::StableToUnrevoked,
        (Phase::Stable, Phase::Unreleased) => Label::StableToUnreleased,
        (Phase::Unrevoked, Phase::Stable) => Label::UnrevokedToStable,
        (Phase::Unrevoked, Phase::Unrevoked) => Label::UnrevokedToUnrevoked,
        (Phase::Unrevoked, Phase::Unreleased) => Label::UnrevokedToUnreleased,
        (Phase::Unreleased, Phase::Stable) => Label::UnreleasedToStable,
        (Phase::Unreleased, Phase::Unrevoked) => Label::UnreleasedToUnrevoked,
        (Phase::Unreleased, Phase::Unreleased) => Label::UnreleasedToUnreleased,
    });
}
