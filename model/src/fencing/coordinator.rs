//! The group coordinator's state, and what it does with a heartbeat, a leave and a timer (sections 1 and 2).
//!
//! Requests in, answer or error out, each row noted on the [`Trail`]. An error leaves the state as it was. Offsets are in
//! [`super::commit`], fail-over in [`super::fail_over`].

use std::hash::{Hash, Hasher};

use fencepost_fixtures::kafka_error::KafkaError;
use fencepost_fixtures::variants::{FencingRules, Release};
use serde::{Deserialize, Serialize};

use super::bounds::{MAX_SLOTS, Setting};
use super::fail_over::MISSING;
use super::labels::{Label, Trail};
use super::mutant::Mutant;
use super::partitions::{MAX_PARTITIONS, Partitions};
use super::reconciliation::reconcile;

mod leaving;

/// The epoch of a member that is not in the group.
pub const ABSENT: i8 = -1;
/// The epoch of a static member that left for a while.
pub const AWAY: i8 = -2;

/// The state of a member (1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Phase {
    /// It has what the target gives it.
    #[default]
    Stable,
    /// It has not given up what was asked back.
    Unrevoked,
    /// It waits for what others have not given up.
    Unreleased,
}

/// A member (1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The member epoch; [`ABSENT`] or [`AWAY`].
    pub epoch: i8,
    /// The member epoch before the last update.
    pub previous: i8,
    /// The state.
    pub phase: Phase,
    /// The partitions it may use.
    pub assigned: Partitions,
    /// The partitions asked back.
    pub pending: Partitions,
    /// The assignment epoch of each partition it owns; 0 elsewhere.
    pub since: [i8; MAX_PARTITIONS],
    /// The revocation epoch, where the rules have one (5, alternative 3).
    pub mark: i8,
    /// The topics subscribed to.
    pub topics: u8,
    /// The instance, from 1; 0 for a dynamic member.
    pub instance: u8,
    /// The epoch at which the rebalance timer was armed; 0 where it is not.
    pub armed: i8,
    /// Whether a heartbeat was accepted since. Clients heartbeat more often than the rebalance timer runs out, so it
    /// can't before that.
    pub heard: bool,
    /// Whether the session timer runs. It always does, but for a mutant.
    pub timed: bool,
}

impl Member {
    /// No member.
    pub const NONE: Self = Self {
        epoch: ABSENT,
        previous: ABSENT,
        phase: Phase::Stable,
        assigned: Partitions::NONE,
        pending: Partitions::NONE,
        since: [0; MAX_PARTITIONS],
        mark: 0,
        topics: 0,
        instance: 0,
        armed: 0,
        heard: false,
        timed: false,
    };

    /// Whether it is in the group, be it for a while away.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.epoch != ABSENT
    }

    /// What nobody else may be given.
    #[must_use]
    pub fn owned(&self) -> Partitions {
        self.assigned | self.pending
    }

    /// `set_epoch` of 2.5.
    pub(super) fn set_epoch(&mut self, epoch: i8) {
        self.previous = self.epoch;
        self.epoch = epoch;
    }

    /// Sets the assignment epoch of partitions.
    pub(super) fn grant(&mut self, partitions: Partitions, epoch: i8) {
        for partition in partitions.iter() {
            self.since[usize::from(partition)] = epoch;
        }
    }

    /// The assignment epoch of a partition that is released is gone (3.7).
    pub(super) fn forget_released(&mut self) {
        self.grant(!self.owned(), 0);
    }

    fn word(&self) -> u64 {
        let low = |value: i8| value.to_le_bytes()[0];
        let [a, b, c, d] = self.since.map(low);
        let flags = self.phase as u8
            | self.topics << 2
            | u8::from(self.heard) << 4
            | u8::from(self.timed) << 5
            | u8::from(self.instance != 0) << 6;
        u64::from_le_bytes([
            low(self.epoch),
            low(self.previous),
            flags,
            self.assigned.0 | self.pending.0 << 4,
            a | b << 4,
            c | d << 4,
            low(self.mark),
            low(self.armed),
        ])
    }
}

/// A heartbeat as it reaches the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatRequest {
    /// The member.
    pub slot: u8,
    /// The epoch.
    pub epoch: i8,
    /// The owned set.
    pub owned: Option<Partitions>,
    /// The subscription, where the request says.
    pub topics: Option<u8>,
    /// Whether all fields are there.
    pub full: bool,
    /// The instance, from 1; 0 for none.
    pub instance: u8,
}

/// The answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeartbeatAnswer {
    /// The member epoch.
    pub epoch: i8,
    /// The assignment, where the answer carries it.
    pub assigned: Option<Partitions>,
}

/// The coordinator's state (1.1), with the ghosts that its properties need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinator {
    /// The members by id.
    pub members: [Member; MAX_SLOTS],
    /// The group epoch.
    pub group_epoch: i8,
    /// The epoch of the target.
    pub assignment_epoch: i8,
    /// The target, by member.
    pub target: [Partitions; MAX_SLOTS],
    /// What the assignor will answer, by member. Not the coordinator's own: it stands for the world outside.
    pub script: [Partitions; MAX_SLOTS],
    /// How often the assignor's answer has changed. The world outside, too.
    pub script_version: u8,
    /// The change that the group's metadata hash takes into account.
    pub noted_version: u8,
    /// Whether the assignment interval runs.
    pub interval_runs: bool,
    /// Whether the broker is of the other release.
    pub other: bool,
    /// Partitions whose owner the bookkeeping has lost; only under [`Mutant::RegrantForgetsOwner`].
    pub forgotten: Partitions,
    /// The commit that is stored for each partition; 0 for none.
    pub committed: [u8; MAX_PARTITIONS],
    /// The commit that waits for the producer's marker; 0 for none.
    pub staged: [u8; MAX_PARTITIONS],
    /// Partitions whose plain commit has a higher log offset than the staged one.
    pub newer: Partitions,
    /// Ghost of S9: partitions whose owner has read the committed offset since it was granted.
    pub fetched: Partitions,
    /// Ghost of S10: the last commit of each partition that was acknowledged.
    pub acknowledged: [u8; MAX_PARTITIONS],
    /// Session timers that ran out.
    pub sessions: u8,
    /// Rebalance timers that ran out.
    pub rebalances: u8,
    /// Fail-overs.
    pub fail_overs: u8,
}

impl Hash for Coordinator {
    /// Seven words: all of this is hashed for every state that is generated.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for member in &self.members {
            hasher.write_u64(member.word());
        }
        let low = |value: i8| value.to_le_bytes()[0];
        let pair = |a: Partitions, b: Partitions| a.0 | b.0 << 4;
        let flags = u8::from(self.interval_runs) | u8::from(self.other) << 1 | self.script_version << 3;
        hasher.write_u64(u64::from_le_bytes([
            low(self.group_epoch) | self.noted_version << 5,
            low(self.assignment_epoch),
            pair(self.target[0], self.target[1]),
            pair(self.target[2], self.target[3]),
            pair(self.script[0], self.script[1]),
            pair(self.script[2], self.script[3]),
            flags,
            pair(self.forgotten, self.newer),
        ]));
        let [a, b, c, d] = self.committed;
        let [e, f, g, h] = self.staged;
        hasher.write_u64(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
        let [a, b, c, d] = self.acknowledged;
        hasher.write_u64(u64::from_le_bytes([
            a,
            b,
            c,
            d,
            self.fetched.0,
            self.sessions,
            self.rebalances,
            self.fail_overs,
        ]));
    }
}

impl Coordinator {
    /// A coordinator without a group.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            members: [Member::NONE; MAX_SLOTS],
            group_epoch: 0,
            assignment_epoch: 0,
            target: [Partitions::NONE; MAX_SLOTS],
            script: [Partitions::NONE; MAX_SLOTS],
            script_version: 0,
            noted_version: 0,
            interval_runs: false,
            other: false,
            forgotten: Partitions::NONE,
            committed: [0; MAX_PARTITIONS],
            staged: [0; MAX_PARTITIONS],
            newer: Partitions::NONE,
            fetched: Partitions::NONE,
            acknowledged: [0; MAX_PARTITIONS],
            sessions: 0,
            rebalances: 0,
            fail_overs: 0,
        }
    }

    /// The member `slot`.
    #[must_use]
    pub fn member(&self, slot: u8) -> &Member {
        &self.members[usize::from(slot)]
    }

    /// Whether the group exists. It is not deleted within a behaviour.
    #[must_use]
    pub fn group_exists(&self) -> bool {
        self.group_epoch > 0
    }

    /// The ids of the members.
    pub fn slots(&self) -> impl Iterator<Item = u8> + '_ {
        (0..).zip(&self.members).filter(|(_, member)| member.exists()).map(|(slot, _)| slot)
    }

    /// Whether the group has no members.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.members.iter().all(|member| !member.exists())
    }

    /// The static member with this instance id.
    #[must_use]
    pub fn static_member(&self, instance: u8) -> Option<u8> {
        self.slots().find(|slot| self.member(*slot).instance == instance)
    }

    /// What members other than `slot` own.
    #[must_use]
    pub fn owned_by_others(&self, setting: &Setting, slot: u8) -> Partitions {
        let mut owned = Partitions::NONE;
        for other in self.slots().filter(|other| *other != slot) {
            let member = self.member(other);
            owned = owned | if setting.mutant == Mutant::PendingIsFree { member.assigned } else { member.owned() };
        }
        owned
    }

    /// The member that owns a partition.
    #[must_use]
    pub fn owner(&self, partition: u8) -> Option<u8> {
        self.slots().find(|slot| self.member(*slot).owned().contains(partition))
    }

    /// `ConsumerGroupHeartbeat` with an epoch of 0 or more (2.1 to 2.5).
    pub fn heartbeat(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        request: &HeartbeatRequest,
        trail: &mut Trail,
    ) -> Result<HeartbeatAnswer, KafkaError> {
        let before = *self;
        let result = self.accept_heartbeat(setting, rules, request, trail);
        if result.is_err() {
            *self = before;
            if setting.mutant == Mutant::RefusalBumps {
                self.group_epoch += 1;
            }
        }
        result
    }

    fn accept_heartbeat(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        request: &HeartbeatRequest,
        trail: &mut Trail,
    ) -> Result<HeartbeatAnswer, KafkaError> {
        // 2.1: what needs no state.
        if request.epoch == 0 && request.owned != Some(Partitions::NONE) {
            return Err(KafkaError::InvalidRequest);
        }
        let slot = self.find_or_create(setting, rules, request, trail)?;
        let index = usize::from(slot);
        // 2.4 rows 1 to 3: the subscription, and what raises the group epoch.
        let subscription = self.members[index].topics;
        let topics = request.topics.unwrap_or(subscription);
        self.members[index].topics = topics;
        let changed = topics != subscription;
        let stale = self.noted_version != self.script_version;
        if changed || stale {
            trail.mark(match (changed, subscription) {
                (true, 0) => Label::BumpJoin,
                (true, _) => Label::BumpSubscription,
                (false, _) => Label::BumpMetadata,
            });
            self.group_epoch += 1;
            self.noted_version = self.script_version;
        }
        // 2.4 row 4: the target.
        if self.assignment_epoch < self.group_epoch {
            if self.interval_runs {
                trail.mark(Label::TargetDelayed);
            } else {
                trail.mark(Label::TargetComputed);
                for slot in 0..MAX_SLOTS {
                    let present = self.members[slot].exists();
                    self.target[slot] = if present { self.script[slot] } else { Partitions::NONE };
                }
                self.assignment_epoch = self.group_epoch;
                self.interval_runs = setting.bounds.interval && rules.assignment_delay;
            }
        }
        // 2.4 row 5: reconcile, and the rebalance timer.
        let before = self.members[index];
        let reconciled = before.phase == Phase::Stable && before.epoch == self.assignment_epoch;
        if reconciled && !changed {
            trail.mark(Label::ReconcileSkipped);
        } else if reconcile(self, setting, rules, slot, request.owned, changed, trail) {
            let member = &mut self.members[index];
            member.armed = if member.phase == Phase::Unrevoked { member.epoch } else { 0 };
            member.heard = false;
            if rules.release < Release::V4_3 && setting.bounds.other.is_some() {
                // A broker before 4.3 writes the record without assignment epochs (3.8).
                member.grant(member.owned(), MISSING);
            }
        } else {
            let member = &mut self.members[index];
            member.heard = member.armed != 0 && setting.mutant != Mutant::RebalanceRestarts;
        }
        // 2.4 rows 6 and 7: the session timer, the answer.
        let member = &mut self.members[index];
        member.timed = true;
        // Before 4.3 there are no assignment epochs that could differ.
        let carries = request.epoch == 0
            || request.full
            || member.assigned != before.assigned
            || rules.release >= Release::V4_3
                && member.assigned.iter().any(|p| member.since[usize::from(p)] != before.since[usize::from(p)]);
        trail.mark(if carries { Label::AnswerWithAssignment } else { Label::AnswerWithout });
        let answer = HeartbeatAnswer { epoch: member.epoch, assigned: carries.then_some(member.assigned) };
        self.forget_fetches(&before, slot);
        Ok(answer)
    }

    /// 2.2 and 2.3: the member that heartbeats, made where it joins.
    fn find_or_create(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        request: &HeartbeatRequest,
        trail: &mut Trail,
    ) -> Result<u8, KafkaError> {
        let &HeartbeatRequest { slot, epoch, instance, .. } = request;
        if !self.group_exists() && epoch != 0 {
            return Err(KafkaError::GroupIdNotFound);
        }
        let known = (usize::from(slot) < MAX_SLOTS).then(|| self.members[usize::from(slot)]);
        let exists = known.is_some_and(|member| member.exists());
        let resident = if instance == 0 { None } else { self.static_member(instance) };
        let max_size = setting.bounds.max_size;
        // Only 4.4 lets a known instance back into a full group.
        let known_instance = resident.is_some() && rules.release >= Release::V4_4;
        if !known_instance && max_size > 0 && !exists && self.slots().count() >= usize::from(max_size) {
            trail.mark(Label::GroupFull);
            return Err(KafkaError::GroupMaxSizeReached);
        }
        match (instance, epoch, resident) {
            (0, _, _) if !exists => {
                if epoch != 0 {
                    trail.mark(Label::MemberUnknown);
                    return Err(KafkaError::UnknownMemberId);
                }
                trail.mark(Label::MemberCreated);
                self.create(slot, instance);
                Ok(slot)
            }
            (0, _, _) => self.check_epoch(setting, rules, request, trail).map(|()| slot),
            (_, 0, None) => {
                trail.mark(Label::StaticCreated);
                if !exists {
                    self.create(slot, instance);
                }
                Ok(slot)
            }
            (_, 0, Some(resident)) if self.member(resident).epoch != AWAY => {
                trail.mark(Label::StaticUnreleased);
                Err(KafkaError::UnreleasedInstanceId)
            }
            (_, 0, Some(resident)) => {
                trail.mark(Label::StaticReplaced);
                self.replace(resident, slot);
                Ok(slot)
            }
            (_, _, None) => {
                trail.mark(Label::StaticUnknown);
                Err(KafkaError::UnknownMemberId)
            }
            (_, _, Some(resident)) if resident != slot => {
                trail.mark(Label::StaticFenced);
                Err(KafkaError::FencedInstanceId)
            }
            (_, _, Some(_)) => self.check_epoch(setting, rules, request, trail).map(|()| slot),
        }
    }

    fn create(&mut self, slot: u8, instance: u8) {
        self.members[usize::from(slot)] = Member {
            epoch: 0,
            instance,
            // Nothing that an earlier member of this id sent is accepted by a revocation epoch.
            mark: self.group_epoch,
            timed: true,
            ..Member::NONE
        };
    }

    /// 2.3.
    fn check_epoch(
        &self,
        setting: &Setting,
        rules: &FencingRules,
        request: &HeartbeatRequest,
        trail: &mut Trail,
    ) -> Result<(), KafkaError> {
        let member = self.member(request.slot);
        let fenced = Err(KafkaError::FencedMemberEpoch);
        let received = request.epoch;
        let rejoins = rules.release >= Release::V4_2 && setting.mutant != Mutant::RejoinFenced;
        if received == 0 && rejoins {
            trail.mark(Label::EpochZero);
            return Ok(());
        }
        if received > member.epoch {
            trail.mark(Label::EpochAbove);
            return if setting.mutant == Mutant::NewerHeartbeat { Ok(()) } else { fenced };
        }
        if received == member.epoch {
            trail.mark(Label::EpochEqual);
            return Ok(());
        }
        if setting.mutant == Mutant::OlderHeartbeat {
            return Ok(());
        }
        let refused = match request.owned {
            _ if received == 0 => Label::EpochZeroFenced,
            _ if received != member.previous => Label::EpochNotPrevious,
            None => Label::EpochPreviousSilent,
            Some(owned) if !owned.within(member.assigned) => Label::EpochPreviousForeign,
            Some(_) => {
                trail.mark(Label::EpochPrevious);
                return Ok(());
            }
        };
        // Before 4.2 a join is an older epoch like any other: it may be the previous one.
        if received == 0 && member.previous == 0 {
            trail.mark(Label::EpochPrevious);
            return Ok(());
        }
        trail.mark(refused);
        fenced
    }

    /// 2.7: the member id `new` takes over what the static member `old` had.
    fn replace(&mut self, old: u8, new: u8) {
        let (from, to) = (usize::from(old), usize::from(new));
        let mut member = self.members[from];
        member.epoch = 0;
        member.previous = 0;
        member.armed = 0;
        member.heard = false;
        self.members[from] = Member::NONE;
        self.members[to] = member;
        self.target[to] = self.target[from];
        if from != to {
            self.target[from] = Partitions::NONE;
        }
    }

    /// The assignment interval is over (2.4 row 4).
    pub fn expire_interval(&mut self, trail: &mut Trail) {
        trail.mark(Label::IntervalOver);
        self.interval_runs = false;
    }

    /// Ghost of S9: a partition that changes hands, or is granted anew, has not been read by its owner.
    fn forget_fetches(&mut self, before: &Member, slot: u8) {
        let after = &self.members[usize::from(slot)];
        let mut kept = before.owned() & after.owned();
        for partition in kept.iter() {
            let index = usize::from(partition);
            if before.since[index] != after.since[index] {
                kept = kept.minus(Partitions::one(partition));
            }
        }
        let changed = (before.owned() | after.owned()).minus(kept);
        self.fetched = self.fetched.minus(changed);
    }
}
