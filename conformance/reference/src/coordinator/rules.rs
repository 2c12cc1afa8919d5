//! What differs between releases, proposals and repairs of the protocol: the columns of docs/fencing.md 0 as values.
//!
//! Each rule is an enum of its own; a column is a constructor. A [`Mutation`] is none of them: a slip, for tests.

use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::Epoch;
use crate::coordinator::records::RecordFormat;

/// Which offset commits a member may make (docs/fencing.md 3.3, rows 5 to 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommitCheck {
    /// Any epoch.
    None,
    /// The member epoch and no other: Kafka before 4.3.
    Strict,
    /// Any epoch after the one at which the member last gave something up: KIP-1251's rejected alternative 3
    /// (docs/fencing.md 5). What is not known, after a load, is strict.
    RevocationEpoch,
    /// KIP-1251: the member epoch, or an older one not before the partition's assignment epoch. Kafka 4.3 and later.
    AssignmentEpoch,
    /// As [`CommitCheck::AssignmentEpoch`], and an equal epoch has to own the partition too: the repair of H1 and H2.
    AssignmentEpochOwned,
}

/// What happens to the member epoch when a revocation was acknowledged and the next begins (docs/fencing.md 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnrevokedExit {
    /// It rises by one: Kafka 4.0 and 4.1.
    EpochBumped,
    /// It stays: since KAFKA-19974, Kafka 4.2.
    EpochKept,
}

/// What becomes of assigned partitions whose topic the member does not subscribe to any more (KAFKA-19431).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnsubscribedTopics {
    /// They stay until a new target takes them away: Kafka 4.0 and 4.1.
    Kept,
    /// They are filtered out of the target, and STRIP asks them back: since Kafka 4.2.
    Stripped,
}

/// Which epoch counts as the previous one after STRIP (docs/fencing.md 2.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StripPreviousEpoch {
    /// The one of before, since STRIP leaves the epochs alone: Kafka 4.2.
    Kept,
    /// The member epoch, as after every other step of a reconciliation: since Kafka 4.3.
    Follows,
}

/// Who gets into a group that is full (docs/fencing.md 2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FullGroup {
    /// Nobody but a member id that is in it: Kafka before 4.4. A static member with a new member id has to stay outside,
    /// though it would take the place of its predecessor.
    RefusesSuccessors,
    /// A static member too whose instance id is known: Kafka 4.4.
    TakesSuccessors,
}

/// What a heartbeat with epoch 0 is to a member that exists (docs/fencing.md 2.3, row 1; KAFKA-19233).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EpochZero {
    /// An older epoch like any other: Kafka 4.0 and 4.1.
    Ordinary,
    /// A member that joins again: since Kafka 4.2.
    Rejoins,
}

/// Which error a transactional commit gets where a plain one gets `STALE_MEMBER_EPOCH` or `GROUP_ID_NOT_FOUND`
/// (docs/fencing.md 3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TxnErrors {
    /// Always `ILLEGAL_GENERATION`: before KIP-1319.
    IllegalGeneration,
    /// The same as the plain one from version 6 of the request on: KIP-1319, Kafka 4.4.
    StaleMemberEpoch,
}

/// Whether a partition that the member itself is asked to give up counts as free for it (KAFKA-19449).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OwnPending {
    /// It counts as owned; costs one more round. No release in the version table has it.
    Owned,
    /// It counts as free: all of 4.0 to 4.4.
    Free,
}

/// What the last member that goes leaves behind (KAFKA-20442).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EmptyGroup {
    /// An assignment epoch that is behind the group epoch.
    LagsBehind,
    /// An assignment epoch equal to the group epoch: Kafka 4.4.
    CatchesUp,
}

/// What happens to the mapping of a member's old instance id when it comes with another (KAFKA-20747).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InstanceMapping {
    /// It stays and leads to a member that is not static under that name any more.
    OldKept,
    /// It goes: Kafka 4.4.
    OldRemoved,
}

/// Whether a change of the group's preferred assignor makes a new target necessary (KAFKA-20434).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PreferredAssignor {
    /// It waits for the next reason to compute one.
    WaitsForBump,
    /// It bumps the group epoch: Kafka 4.4.
    BumpsGroupEpoch,
}

/// What the loader of a log does with what it did not expect (docs/fencing.md 1.1 and 4.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplayChecks {
    /// An illegal state, as Kafka has it: a partition with a holder of an equal or newer epoch, a tombstone for a member
    /// whose assignment is still there. H9 is one of those that compaction can cause.
    IllegalState,
    /// Log order is the order of truth: the later record wins. The repair of H9, which makes every legal compaction load.
    LaterWins,
}

/// One column of the version table, or a proposal, or a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Which commits are accepted.
    pub commit_check: CommitCheck,
    /// The epoch at the exit from UNREVOKED.
    pub unrevoked_exit: UnrevokedExit,
    /// Partitions of topics not subscribed to.
    pub unsubscribed_topics: UnsubscribedTopics,
    /// The previous epoch after STRIP.
    pub strip_previous_epoch: StripPreviousEpoch,
    /// Joining a full group.
    pub full_group: FullGroup,
    /// Heartbeats with epoch 0.
    pub epoch_zero: EpochZero,
    /// The group epoch and assignment epoch of a new group; its first member gets the next one.
    pub first_group_epoch: Epoch,
    /// Errors of transactional commits.
    pub txn_errors: TxnErrors,
    /// The member's own pending revocations.
    pub own_pending: OwnPending,
    /// The assignment epoch of a group that became empty.
    pub empty_group: EmptyGroup,
    /// The old mapping of a changed instance id.
    pub instance_mapping: InstanceMapping,
    /// Changes of the preferred assignor.
    pub preferred_assignor: PreferredAssignor,
    /// What loading a log checks.
    pub replay_checks: ReplayChecks,
    /// Whose bytes are written, and read (docs/fencing.md 3.8).
    pub record_format: RecordFormat,
    /// One slip, for tests.
    pub mutation: Option<Mutation>,
}

impl Rules {
    /// Kafka 4.0. The coordinator of 4.0 kept the subscribed topics in a record where later ones keep a hash; that
    /// difference is not here.
    #[must_use]
    pub fn kafka_4_0() -> Self {
        Self {
            commit_check: CommitCheck::Strict,
            unrevoked_exit: UnrevokedExit::EpochBumped,
            unsubscribed_topics: UnsubscribedTopics::Kept,
            strip_previous_epoch: StripPreviousEpoch::Kept,
            full_group: FullGroup::RefusesSuccessors,
            epoch_zero: EpochZero::Ordinary,
            first_group_epoch: Epoch(0),
            txn_errors: TxnErrors::IllegalGeneration,
            own_pending: OwnPending::Free,
            empty_group: EmptyGroup::LagsBehind,
            instance_mapping: InstanceMapping::OldKept,
            preferred_assignor: PreferredAssignor::WaitsForBump,
            replay_checks: ReplayChecks::IllegalState,
            record_format: RecordFormat::WithoutAssignmentEpochs,
            mutation: None,
        }
    }

    /// Kafka 4.1: no rule here differs from 4.0.
    #[must_use]
    pub fn kafka_4_1() -> Self {
        Self::kafka_4_0()
    }

    /// Kafka 4.2.
    #[must_use]
    pub fn kafka_4_2() -> Self {
        Self {
            unrevoked_exit: UnrevokedExit::EpochKept,
            unsubscribed_topics: UnsubscribedTopics::Stripped,
            epoch_zero: EpochZero::Rejoins,
            ..Self::kafka_4_1()
        }
    }

    /// Kafka 4.3, the first with KIP-1251.
    #[must_use]
    pub fn kafka_4_3() -> Self {
        Self {
            commit_check: CommitCheck::AssignmentEpoch,
            strip_previous_epoch: StripPreviousEpoch::Follows,
            first_group_epoch: Epoch(1),
            record_format: RecordFormat::WithAssignmentEpochs,
            ..Self::kafka_4_2()
        }
    }

    /// Kafka 4.4, the baseline.
    #[must_use]
    pub fn kafka_4_4() -> Self {
        Self {
            full_group: FullGroup::TakesSuccessors,
            txn_errors: TxnErrors::StaleMemberEpoch,
            empty_group: EmptyGroup::CatchesUp,
            instance_mapping: InstanceMapping::OldRemoved,
            preferred_assignor: PreferredAssignor::BumpsGroupEpoch,
            ..Self::kafka_4_3()
        }
    }

    /// The oracle: Kafka 4.4 with H1, H2 and H9 repaired.
    #[must_use]
    pub fn assignment_epoch_owned() -> Self {
        Self {
            commit_check: CommitCheck::AssignmentEpochOwned,
            replay_checks: ReplayChecks::LaterWins,
            ..Self::kafka_4_4()
        }
    }

    /// One revocation epoch a member, with the exit from UNREVOKED of 4.0: safe, and refuses legal commits.
    #[must_use]
    pub fn revocation_epoch_bumped() -> Self {
        Self { unrevoked_exit: UnrevokedExit::EpochBumped, ..Self::revocation_epoch_kept() }
    }

    /// One revocation epoch a member, with the exit from UNREVOKED of 4.2.
    #[must_use]
    pub fn revocation_epoch_kept() -> Self {
        Self { commit_check: CommitCheck::RevocationEpoch, ..Self::kafka_4_4() }
    }

    /// Kafka 4.4 without an epoch check on commits.
    #[must_use]
    pub fn no_fencing() -> Self {
        Self { commit_check: CommitCheck::None, ..Self::kafka_4_4() }
    }

    /// The same rules with one slip.
    #[must_use]
    pub fn with(self, mutation: Mutation) -> Self {
        Self { mutation: Some(mutation), ..self }
    }

    /// Whether a changed instance id leaves no mapping behind (KAFKA-20747).
    pub(crate) fn removes_old_instance_mapping(&self) -> bool {
        self.instance_mapping == InstanceMapping::OldRemoved && !self.slips(Mutation::StaleInstanceMappingKept)
    }

    /// Whether the coordinator makes this slip.
    pub(crate) fn slips(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}

impl Default for Rules {
    /// The baseline, [`Rules::kafka_4_4`].
    fn default() -> Self {
        Self::kafka_4_4()
    }
}
