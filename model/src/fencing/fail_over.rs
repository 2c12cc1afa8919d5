//! The high watermark and what a fail-over does (4.3, 3.7, 3.8).
//!
//! The coordinator answers a write when the high watermark has passed it, and an error at once. What it holds is kept
//! twice: as it is (speculative), and as it is at the high watermark. The high watermark rises to the end of the log in
//! one step; that it stopped halfway is the same as that it rose before the later writes. A fail-over loads what is at
//! the high watermark; requests that still wait fail with `NOT_COORDINATOR`.

use fencepost_fixtures::kafka_error::KafkaError;
use fencepost_fixtures::variants::{CommitCheck, FencingRules, Release, UnrevokedExit};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::bounds::Setting;
use super::coordinator::{AWAY, Coordinator, Phase};
use super::labels::{Label, Trail};
use super::message::Msg;
use super::mutant::Mutant;
use super::partitions::{MAX_PARTITIONS, Partitions};

/// An assignment epoch that its record does not carry, because a broker before 4.3 wrote it.
pub const MISSING: i8 = 15;

/// What lies between the high watermark and the end of the log.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Held {
    /// The state at the high watermark.
    pub replicated: Coordinator,
    /// The answers that wait, in order, each with its receiver.
    pub answers: SmallVec<[(u8, Msg); 4]>,
}

impl Held {
    /// Nothing is held.
    #[must_use]
    pub fn new(coordinator: &Coordinator) -> Self {
        Self { replicated: coordinator.persisted(), answers: SmallVec::new() }
    }
}

/// The rules of the broker that coordinates at the moment.
#[must_use]
pub fn rules_of(setting: &Setting, coordinator: &Coordinator) -> FencingRules {
    match setting.bounds.other {
        Some(release) if coordinator.other => FencingRules {
            commit_check: if release >= Release::V4_3 { CommitCheck::AssignmentEpoch } else { CommitCheck::Strict },
            unrevoked_exit: if release >= Release::V4_2 {
                UnrevokedExit::EpochKept
            } else {
                UnrevokedExit::EpochBumped
            },
            assignment_delay: release >= Release::V4_3,
            release,
            ..setting.rules
        },
        _ => setting.rules,
    }
}

impl Coordinator {
    /// What the log says: without timers, without what stands for the world outside, without ghosts.
    #[must_use]
    pub fn persisted(&self) -> Self {
        let mut log = *self;
        for member in &mut log.members {
            member.armed = 0;
            member.heard = false;
            member.timed = false;
        }
        Self {
            script: Self::empty().script,
            script_version: 0,
            other: false,
            fetched: Partitions::NONE,
            acknowledged: [0; MAX_PARTITIONS],
            sessions: 0,
            rebalances: 0,
            fail_overs: 0,
            ..log
        }
    }

    /// The high watermark rises to the end of the log.
    pub fn replicate(&mut self, held: &mut Held, trail: &mut Trail) {
        trail.mark(Label::Replicated);
        held.replicated = self.persisted();
        self.acknowledged = self.committed;
    }

    /// Another broker takes over. Ghosts and the world outside go on.
    pub fn fail_over(&mut self, setting: &Setting, held: &mut Held, other: bool, trail: &mut Trail) {
        let before = rules_of(setting, self);
        let mut next = *self;
        next.other = other;
        let rules = rules_of(setting, &next);
        if rules.release < before.release {
            trail.mark(Label::RolledBack);
        }
        self.take_over(setting, &rules, held, trail);
        self.other = other;
        self.fail_overs += 1;
    }

    /// A broker with these rules loads what is at the high watermark.
    pub fn take_over(&mut self, setting: &Setting, rules: &FencingRules, held: &mut Held, trail: &mut Trail) {
        let lost = self.persisted() != held.replicated;
        trail.mark(if lost { Label::FailedOverLoss } else { Label::FailedOver });
        let before = *self;
        *self = Self {
            script: before.script,
            script_version: before.script_version,
            acknowledged: before.acknowledged,
            sessions: before.sessions,
            rebalances: before.rebalances,
            fail_overs: before.fail_overs,
            ..held.replicated
        };
        self.load(setting, rules, trail);
        for partition in before.fetched.iter() {
            let index = usize::from(partition);
            let owner = self.owner(partition);
            let same = owner.is_some_and(|slot| {
                before.member(slot).owned().contains(partition)
                    && before.member(slot).since[index] == self.member(slot).since[index]
            });
            if same {
                self.fetched = self.fetched | Partitions::one(partition);
            }
        }
        if setting.mutant == Mutant::LoadForgets {
            self.committed = [0; MAX_PARTITIONS];
        }
        held.replicated = self.persisted();
        held.answers.clear();
    }

    /// Loading: assignment epochs that a record lacks, and the timers.
    fn load(&mut self, setting: &Setting, rules: &FencingRules, trail: &mut Trail) {
        for member in self.members.iter_mut().filter(|member| member.exists()) {
            if rules.release >= Release::V4_3 {
                for since in member.since.iter_mut().filter(|since| **since == MISSING) {
                    trail.mark(Label::LoadedWithoutEpochs);
                    *since = if setting.mutant == Mutant::LoadsZero { 0 } else { member.epoch.max(0) };
                }
            }
            if rules.commit_check == CommitCheck::RevocationEpoch {
                // A revocation epoch is in no record here: unknown after a load, and then nothing older is accepted.
                member.mark = MISSING;
            }
            let arms = setting.mutant != Mutant::TimersNotArmed;
            member.timed = arms;
            member.armed =
                if arms && member.phase == Phase::Unrevoked && member.epoch != AWAY { member.epoch } else { 0 };
        }
    }
}

/// What a request that waits is told when its coordinator goes.
#[must_use]
pub fn failed(answer: Msg) -> Msg {
    let error = Some(KafkaError::NotCoordinator);
    match answer {
        Msg::HeartbeatAnswer { seq, .. } => Msg::HeartbeatRefusal { seq, error: KafkaError::NotCoordinator },
        Msg::CommitAnswer { id, .. } => Msg::CommitAnswer { id, error },
        Msg::TxnAnswer { id, .. } => Msg::TxnAnswer { id, error },
        Msg::FetchAnswer { partition, .. } => Msg::FetchAnswer { partition, id: 0, error },
        other => other,
    }
}
