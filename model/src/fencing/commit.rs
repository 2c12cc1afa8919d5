//! Offset commits, transactional ones, markers and fetches (section 3), as Kafka's `ConsumerGroup#validateOffsetCommit`
//! and `OffsetMetadataManager`.

use fencepost_fixtures::kafka_error::KafkaError;
use fencepost_fixtures::variants::{CommitCheck, FencingRules, Release};

use super::bounds::{MAX_SLOTS, Setting};
use super::coordinator::{Coordinator, Member};
use super::labels::{Label, Trail};
use super::mutant::Mutant;
use super::partitions::Partitions;

/// A commit as it reaches the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommitRequest {
    /// The member, or [`NO_MEMBER`].
    pub slot: u8,
    /// The epoch.
    pub epoch: i8,
    /// The partitions.
    pub partitions: Partitions,
    /// Whether it is a `TxnOffsetCommit`.
    pub transactional: bool,
    /// The version of the request; `None` for the newest.
    pub version: Option<i16>,
    /// Whether it names an instance.
    pub instance: bool,
}

/// The slot of a request that names no member.
pub const NO_MEMBER: u8 = u8::MAX;
/// The slot of a member that has never been in the group.
pub const STRANGER: u8 = u8::MAX - 1;

/// What a commit of one partition is held against (3.3 rows 5 to 7). `Err` is the stale error.
fn check_partition(
    setting: &Setting,
    rules: &FencingRules,
    member: &Member,
    epoch: i8,
    partition: u8,
    others: Partitions,
    trail: &mut Trail,
) -> Result<(), ()> {
    let owned = member.owned().contains(partition);
    if rules.commit_check == CommitCheck::None {
        return Ok(());
    }
    if epoch == member.epoch {
        trail.mark(if owned {
            Label::CommitEqualOwner
        } else if others.contains(partition) {
            Label::CommitEqualOthers
        } else {
            Label::CommitEqualNotOwner
        });
        let accepted = match rules.commit_check {
            CommitCheck::AssignmentEpochOwned => owned,
            CommitCheck::RevocationEpoch => member.mark < epoch,
            CommitCheck::None | CommitCheck::Strict | CommitCheck::AssignmentEpoch => true,
        };
        return if accepted { Ok(()) } else { Err(()) };
    }
    if epoch > member.epoch {
        trail.mark(Label::CommitAbove);
        return if setting.mutant == Mutant::NewerAccepted { Ok(()) } else { Err(()) };
    }
    match rules.commit_check {
        CommitCheck::None => Ok(()),
        CommitCheck::Strict => {
            trail.mark(Label::CommitOlderStale);
            Err(())
        }
        CommitCheck::RevocationEpoch => {
            if member.mark < epoch {
                trail.mark(Label::CommitOlderAccepted);
                return Ok(());
            }
            trail.mark(Label::CommitOlderStale);
            Err(())
        }
        CommitCheck::AssignmentEpoch | CommitCheck::AssignmentEpochOwned => {
            let since = member.since[usize::from(partition)];
            let pending = member.pending.contains(partition);
            if !owned || (pending && setting.mutant == Mutant::PendingRefused) {
                trail.mark(Label::CommitOlderNotAssigned);
                return if setting.mutant == Mutant::OwnershipIgnored { Ok(()) } else { Err(()) };
            }
            let fenced = match setting.mutant {
                Mutant::EpochIgnored => false,
                Mutant::OffByOne => epoch <= since,
                _ => epoch < since,
            };
            if fenced {
                trail.mark(Label::CommitOlderThanAssignment);
                return Err(());
            }
            trail.mark(if pending { Label::CommitOlderPending } else { Label::CommitOlderAccepted });
            Ok(())
        }
    }
}

impl Coordinator {
    /// Whether a commit is accepted (3.2 rows 2 to 4, 3.3, 3.4). One refused partition refuses the request; with
    /// [`Mutant::PartialCommit`] those before it are accepted, and come back.
    pub fn check_commit(
        &self,
        setting: &Setting,
        rules: &FencingRules,
        request: &CommitRequest,
        trail: &mut Trail,
    ) -> Result<(), (KafkaError, Partitions)> {
        let &CommitRequest { slot, epoch, partitions, transactional, version, instance } = request;
        let refuse = |error| Err((error, Partitions::NONE));
        // KIP-1319: from version 6 on, a stale transactional commit has an error of its own.
        let own_error = rules.release >= Release::V4_4 && version.is_none_or(|version| version >= 6);
        if !self.group_exists() {
            if epoch < 0 {
                return Ok(());
            }
            let newer = if transactional { own_error } else { version.is_none_or(|version| version >= 9) };
            return refuse(if newer { KafkaError::GroupIdNotFound } else { KafkaError::IllegalGeneration });
        }
        if epoch < 0 && self.is_empty() {
            return Ok(());
        }
        let unnamed = slot == NO_MEMBER && epoch == -1 && !instance;
        if transactional && unnamed && setting.mutant != Mutant::TxnNeedsMember {
            return Ok(());
        }
        let known = usize::from(slot) < MAX_SLOTS && self.member(slot).exists();
        if !known {
            let replaced = self.replaced(setting, slot);
            if setting.mutant == Mutant::UnknownAccepted || (setting.mutant == Mutant::ReplacedAccepted && replaced) {
                return Ok(());
            }
            trail.mark(Label::CommitUnknown);
            return refuse(KafkaError::UnknownMemberId);
        }
        if !transactional && version.is_some_and(|version| version < 9) {
            return refuse(KafkaError::UnsupportedVersion);
        }
        let member = self.member(slot);
        let others = self.owned_by_others(setting, slot);
        let mut before = Partitions::NONE;
        for partition in partitions.iter() {
            if check_partition(setting, rules, member, epoch, partition, others, trail).is_err() {
                let error = if transactional && !own_error {
                    trail.mark(Label::TxnIllegalGeneration);
                    KafkaError::IllegalGeneration
                } else {
                    if transactional {
                        trail.mark(Label::TxnStale);
                    }
                    KafkaError::StaleMemberEpoch
                };
                let stored = if setting.mutant == Mutant::PartialCommit { before } else { Partitions::NONE };
                return Err((error, stored));
            }
            before = before | Partitions::one(partition);
        }
        Ok(())
    }

    /// Whether the slot was a static member's that has another id now.
    fn replaced(&self, setting: &Setting, slot: u8) -> bool {
        let consumer = setting.bounds.consumer(slot);
        setting.bounds.is_static(consumer)
            && self.slots().any(|other| other > slot && setting.bounds.consumer(other) == consumer)
    }

    /// `OffsetCommit` (3.2): on success the offsets are stored.
    pub fn commit(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        request: &CommitRequest,
        id: u8,
        trail: &mut Trail,
    ) -> Result<(), KafkaError> {
        match self.check_commit(setting, rules, request, trail) {
            Ok(()) => {
                self.store(request.partitions, id);
                Ok(())
            }
            Err((error, stored)) => {
                self.store(stored, id);
                Err(error)
            }
        }
    }

    fn store(&mut self, partitions: Partitions, id: u8) {
        for partition in partitions.iter() {
            let index = usize::from(partition);
            self.committed[index] = id;
            if self.staged[index] != 0 {
                self.newer = self.newer | Partitions::one(partition);
            }
        }
    }

    /// `TxnOffsetCommit` (3.4): on success the offsets wait for the marker.
    pub fn stage(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        request: &CommitRequest,
        id: u8,
        trail: &mut Trail,
    ) -> Result<(), KafkaError> {
        self.check_commit(setting, rules, request, trail).map_err(|(error, _)| error)?;
        trail.mark(Label::TxnStaged);
        for partition in request.partitions.iter() {
            self.staged[usize::from(partition)] = id;
        }
        self.newer = self.newer.minus(request.partitions);
        Ok(())
    }

    /// A marker (3.4). It is not fenced.
    pub fn end_transaction(&mut self, setting: &Setting, commit: bool, trail: &mut Trail) {
        if self.staged.iter().all(|id| *id == 0) {
            trail.mark(Label::MarkerNothing);
        }
        for index in 0..self.staged.len() {
            let id = self.staged[index];
            if id == 0 {
                continue;
            }
            let newer = u8::try_from(index).is_ok_and(|index| self.newer.contains(index));
            if !commit {
                trail.mark(Label::MarkerAborts);
            } else if newer && setting.mutant != Mutant::MarkerWins {
                trail.mark(Label::MarkerOlder);
            } else {
                trail.mark(Label::MarkerCommits);
                self.committed[index] = id;
            }
            self.staged[index] = 0;
        }
        self.newer = Partitions::NONE;
    }

    /// `OffsetFetch` of one member (3.6): whether the group answers at all.
    pub fn check_fetch(&self, setting: &Setting, slot: u8, epoch: i8, trail: &mut Trail) -> Result<(), KafkaError> {
        if !self.group_exists() {
            return Ok(());
        }
        if slot == NO_MEMBER && epoch < 0 {
            return Ok(());
        }
        if usize::from(slot) >= MAX_SLOTS || !self.member(slot).exists() {
            trail.mark(Label::FetchUnknown);
            return Err(KafkaError::UnknownMemberId);
        }
        if epoch != self.member(slot).epoch && setting.mutant != Mutant::FetchRelaxed {
            trail.mark(Label::FetchStale);
            return Err(KafkaError::StaleMemberEpoch);
        }
        Ok(())
    }

    /// The committed offset of one partition, 0 for none.
    pub fn read(&self, setting: &Setting, partition: u8, stable: bool, trail: &mut Trail) -> Result<u8, KafkaError> {
        let index = usize::from(partition);
        if stable && self.staged[index] != 0 && setting.mutant != Mutant::FetchIgnoresStaged {
            trail.mark(Label::FetchUnstable);
            return Err(KafkaError::UnstableOffsetCommit);
        }
        let id = self.committed[index];
        trail.mark(if id == 0 { Label::FetchNothing } else { Label::FetchOffset });
        Ok(id)
    }
}
