//! The future replica: the copy on another disk of the same broker that is to replace this one (docs/replication.md 2.10;
//! Kafka's `ReplicaAlterLogDirsThread`, `LocalLeaderEndPoint`, `Partition#maybeReplaceCurrentWithFutureReplica`).
//!
//! It copies from the current replica through the same exchange as a follower from its leader, but on the same broker, so
//! that every answer has an epoch, and nobody has to lead. When the current replica cuts its log, the future one is told,
//! which is not enough alone: its disk may be away at that moment. So it always begins with the epochs.

use super::broker::{BrokerSetup, LogDirectory};
use super::epoch_check::{LocalReplica, check_leader_epoch};
use super::fetcher::FetchState;
use super::names::{LeaderEpoch, Offset};
use super::observe::{FutureState, log_records};
use super::out_of_range::{AfterLatest, after_earliest, after_latest};
use super::process::Process;
use super::rules::{FutureReplica, Truncation};
use super::slip::Slip;
use super::truncation::{OwnLog, truncation_target};
use crate::storage::fs::{self, SharedFs};
use crate::storage::log::Log;
use crate::storage::log_error::LogError;
use crate::storage::log_read::Isolation;

/// What the broker has of a future replica.
#[derive(Debug)]
pub(super) struct Future {
    /// Where the current replica is.
    current: LogDirectory,
    replica: Option<Replica>,
    offline: bool,
}

#[derive(Debug)]
struct Replica {
    log: Log,
    entry: Entry,
}

/// Its place in the fetcher.
#[derive(Debug, Clone, Copy)]
struct Entry {
    offset: Offset,
    leader_epoch: LeaderEpoch,
    state: FetchState,
}

impl Entry {
    fn new(log: &Log, leader_epoch: LeaderEpoch, rule: FutureReplica) -> Self {
        match rule {
            // Its own high watermark, not the current replica's (KAFKA-9087).
            FutureReplica::EpochExchange | FutureReplica::LeaderOffset => {
                Self { offset: log.high_watermark(), leader_epoch, state: FetchState::Truncating }
            }
            FutureReplica::MarkOnly => Self { offset: log.end_offset(), leader_epoch, state: FetchState::Fetching },
        }
    }
}

impl Future {
    /// A future replica that was there before the start goes on.
    pub(super) fn open(setup: &BrokerSetup, current: LogDirectory, fs: &SharedFs) -> Result<Self, LogError> {
        let directory = setup.directory(current.other());
        fs.create_dir(&directory)?;
        let mut future = Self { current, replica: None, offline: false };
        if !fs.list(&directory)?.is_empty() {
            let log = setup.open_future_log(current.other(), fs)?;
            let entry = Entry::new(&log, LeaderEpoch::NONE, setup.rules.future);
            future.replica = Some(Replica { log, entry });
        }
        Ok(future)
    }

    pub(super) fn observe(&self) -> Result<Option<FutureState>, LogError> {
        let observed = |replica: &Replica| -> Result<FutureState, LogError> {
            Ok(FutureState {
                log: log_records(&replica.log)?,
                high_watermark: replica.log.high_watermark(),
                epochs: replica.log.epochs().entries().to_vec(),
                offline: self.offline,
            })
        };
        self.replica.as_ref().map(observed).transpose()
    }

    pub(super) fn flush_epochs(&mut self) -> Result<(), LogError> {
        self.replica.as_mut().filter(|_| !self.offline).map_or(Ok(()), |replica| replica.log.flush_epochs())
    }

    /// Another leader epoch: the entry is of that one from now on (KAFKA-9654).
    pub(super) fn follow_epoch(&mut self, epoch: LeaderEpoch, rule: FutureReplica) {
        let Some(replica) = self.replica.as_mut().filter(|_| !self.offline) else { return };
        replica.entry = match rule {
            FutureReplica::MarkOnly => Entry { leader_epoch: epoch, ..replica.entry },
            _ => Entry::new(&replica.log, epoch, rule),
        };
    }

    /// The current replica has cut its log. Nobody is told while the disk is away.
    pub(super) fn on_truncated(&mut self, to: Offset) {
        let Some(replica) = self.replica.as_mut().filter(|_| !self.offline) else { return };
        replica.entry.offset = to.min(replica.entry.offset);
        replica.entry.state = FetchState::Truncating;
    }
}

impl Process {
    /// The replica is to be moved.
    pub(super) fn alter_log_dirs(&mut self) -> Result<(), LogError> {
        if self.future.replica.is_some() {
            return Ok(());
        }
        let log = self.setup.open_future_log(self.future.current.other(), &self.log.fs().clone())?;
        let entry = Entry::new(&log, self.leader_epoch, self.setup.rules.future);
        self.future.replica = Some(Replica { log, entry });
        Ok(())
    }

    /// The other disk goes away, and with it the future replica's place in the fetcher.
    pub(super) fn disk_offline(&mut self) {
        self.future.offline = true;
    }

    /// It is back, with what was on it.
    pub(super) fn disk_online(&mut self) {
        self.future.offline = false;
        let (epoch, rule) = (self.leader_epoch, self.setup.rules.future);
        if let Some(replica) = &mut self.future.replica {
            replica.entry = Entry::new(&replica.log, epoch, rule);
        }
    }

    /// One round: a truncation, or a batch, and the swap if both end at the same offset.
    pub(super) fn copy(&mut self) -> Result<(), LogError> {
        if self.future.offline {
            return Ok(());
        }
        let Some(mut replica) = self.future.replica.take() else { return Ok(()) };
        let round = self.copy_round(&mut replica);
        let is_equal = replica.entry.state == FetchState::Fetching
            && replica.log.end_offset() == self.log.end_offset()
            && matches!(round, Ok(true));
        self.future.replica = Some(replica);
        round?;
        if is_equal { self.swap() } else { Ok(()) }
    }

    /// Whether it has fetched.
    fn copy_round(&mut self, replica: &mut Replica) -> Result<bool, LogError> {
        // Nobody has to lead, but both have to be in the same epoch (KAFKA-9750).
        let local = LocalReplica { leader_epoch: self.leader_epoch, is_leader: true, has_log: true };
        if check_leader_epoch(local, Some(replica.entry.leader_epoch), false).is_err() {
            return Ok(false);
        }
        match replica.entry.state {
            FetchState::Truncating => self.truncate_future(replica).map(|()| false),
            FetchState::Fetching => self.fetch_future(replica),
        }
    }

    fn truncate_future(&mut self, replica: &mut Replica) -> Result<(), LogError> {
        let rules = self.setup.rules;
        let Replica { log, entry } = replica;
        let truncation = match rules.future {
            FutureReplica::EpochExchange => Some(Truncation::EpochExchange),
            FutureReplica::LeaderOffset => Some(Truncation::LeaderOffset),
            FutureReplica::MarkOnly => None,
        };
        let (offset, finished) = match (truncation, log.epochs().latest()) {
            (Some(truncation), Some(latest)) => {
                let end = self.end_of_epoch(latest);
                let own =
                    OwnLog { epochs: log.epochs().cache(), log_end: log.end_offset(), entry_offset: entry.offset };
                let target = truncation_target(own, end, truncation, rules.slip);
                (target.offset, target.finished)
            }
            _ => (entry.offset.min(log.end_offset()), true),
        };
        log.truncate_to(offset, Self::clock())?;
        entry.offset = log.end_offset();
        if finished {
            entry.state = FetchState::Fetching;
        }
        Ok(())
    }

    /// Whether it has fetched: a round that finds out where to go on ends without, and so without a swap.
    fn fetch_future(&mut self, replica: &mut Replica) -> Result<bool, LogError> {
        let Replica { log, entry } = replica;
        let (start, end) = (self.log.log_start(), self.log.end_offset());
        if entry.offset < start || entry.offset > end {
            match after_latest(log.end_offset(), end) {
                AfterLatest::TruncateTo(end) => log.truncate_to(end, Self::clock())?,
                AfterLatest::AskEarliest => {
                    if let Some(start) = after_earliest(log.end_offset(), start).restart_at {
                        log.truncate_fully(start, Self::clock())?;
                    }
                }
            }
            entry.offset = log.end_offset();
            return Ok(false);
        }
        // At most one batch.
        let read = self.log.read(entry.offset, 0, Isolation::LogEnd)?;
        log.append_as_follower(&read.batches, Self::clock())?;
        entry.offset = log.end_offset();
        log.set_high_watermark(self.log.high_watermark());
        if self.slips(Slip::FutureHighWatermarkUnbounded) {
            log.force_high_watermark(self.log.high_watermark());
        }
        if start <= log.high_watermark() {
            log.advance_log_start(start)?;
        }
        Ok(true)
    }

    /// The future replica takes the place of the current one, with its high watermark. One file tells which one is current,
    /// so that a crash leaves the one or the other; what is left of the other is a future replica like any.
    fn swap(&mut self) -> Result<(), LogError> {
        let Some(Replica { mut log, .. }) = self.future.replica.take() else { return Ok(()) };
        let fs = self.log.fs().clone();
        log.flush(log.end_offset())?;
        // An epoch that has no record yet is copied by no batch (KAFKA-15608).
        let empty = self.log.epochs().entries().last().filter(|last| last.start_offset == log.end_offset()).copied();
        if let Some(empty) = empty.filter(|_| !self.slips(Slip::SwapLosesEmptyEpoch)) {
            log.assign_epoch(empty.epoch)?;
        }
        self.setup.set_current_directory(&*fs, self.future.current.other())?;
        let replaced = self.setup.directory(self.future.current);
        self.future.current = self.future.current.other();
        log.set_high_watermark(self.log.high_watermark());
        self.log = log;
        for name in fs.list(&replaced)? {
            fs::remove_if_exists(&*fs, &replaced.join(name))?;
        }
        fs.sync_dir(&replaced)?;
        Ok(())
    }
}
