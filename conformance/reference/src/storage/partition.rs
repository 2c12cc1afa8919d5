//! A partition with everything that belongs to it: its log, the cleaner, the checkpoints, and the clock that the caller
//! moves. What a broker's log directory does for one partition, as single operations.
//!
//! ```text
//! <log dir>/cleaner-offset-checkpoint           F
//! <log dir>/recovery-point-offset-checkpoint    below it everything is durable
//! <log dir>/log-start-offset-checkpoint
//! <log dir>/.kafka_cleanshutdown                the last use ended in an orderly way
//! <log dir>/<topic>-<partition>/…               the log
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::batch_builder::{BatchBuilder, BatchHeader};
use super::batch_reader::{BatchReader, LogBatch};
use super::checkpoint::{CheckpointFile, CheckpointKind, TopicPartition};
use super::cleaner::{self, CleaningError, CleaningHook, NoHook};
use super::cleaner_manager::{CleanerManager, LogToClean};
use super::control::Marker;
use super::error::BatchError;
use super::fs::{self, SharedFs};
use super::log::Log;
use super::log_append::Appended;
use super::log_error::{AppendError, LogError};
use super::log_read::Isolation;
use super::log_rules::{LogConfig, LogRules};
use super::mutation::Mutation;
use super::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId};
use super::offset_map::ExactOffsetMap;
use super::producer_append::{AppendOrigin, TransactionProtocol};
use super::reader::{Handed, hand_out};
use super::record::Record;
use super::recovery::OpenLog;
use super::round::{MappedRound, RoundOutcome};
use super::rules::CheckpointClamp;
use super::segment_files::FileKind;
use super::transaction_tracker::AbortedTxn;

const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";

/// How a partition is set up.
#[derive(Debug, Clone)]
pub struct PartitionSetup {
    /// Its name.
    pub partition: TopicPartition,
    /// The topic's configuration.
    pub config: LogConfig,
    /// The switches.
    pub rules: LogRules,
    /// M: how many keys the cleaner's offset map takes.
    pub map_entries: usize,
    /// How many bytes the cleaner reads at once.
    pub chunk_bytes: usize,
}

impl PartitionSetup {
    /// Kafka's defaults under 4.4.0's rules.
    #[must_use]
    pub fn new(partition: TopicPartition) -> Self {
        Self {
            partition,
            config: LogConfig::default(),
            rules: LogRules::kafka_4_4(),
            // 128 MiB of slots of 24 bytes, of which nine in ten are used.
            map_entries: 5_033_164,
            chunk_bytes: 256 << 10,
        }
    }
}

/// A partition. See the module.
#[derive(Debug)]
pub struct Partition {
    log: Log,
    manager: CleanerManager,
    setup: PartitionSetup,
    log_dir: PathBuf,
    now: Millis,
    leader_epoch: LeaderEpoch,
}

/// A round that was run.
#[derive(Debug)]
pub struct Round {
    /// F and U, and why the log was chosen.
    pub chosen: LogToClean,
    /// The round's time.
    pub now: Millis,
    /// What it did, or why it ended.
    pub outcome: Result<RoundOutcome, CleaningError>,
}

/// A round that is taken step by step.
#[derive(Debug)]
pub struct OpenRound {
    /// F and U, and why the log was chosen.
    pub chosen: LogToClean,
    /// The round's time.
    pub now: Millis,
    map: ExactOffsetMap,
    mapped: Option<MappedRound>,
}

/// What of a round's end is left out: a test's way to stop between the last swap and the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RoundEnd {
    /// Nothing.
    #[default]
    Checkpointed,
    /// The checkpoint is not written, and the partition is free for another round.
    WithoutCheckpoint,
}

/// A segment, as a dump shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpedSegment {
    /// Its base.
    pub base: Offset,
    /// Its batches.
    pub batches: Vec<DumpedBatch>,
    /// Its transaction index.
    pub aborted: Vec<AbortedTxn>,
}

/// A batch, as a dump shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpedBatch {
    /// The base offset.
    pub first: Offset,
    /// The last offset that it covers.
    pub last: Offset,
    /// The horizon.
    pub delete_horizon: Option<Millis>,
    /// Who wrote it.
    pub producer: ProducerId,
    /// The producer's epoch.
    pub producer_epoch: ProducerEpoch,
    /// Whether it belongs to a transaction.
    pub transactional: bool,
    /// Whether it is a control batch; without records it no longer tells of what type.
    pub control: bool,
    /// Its records.
    pub records: Vec<Record>,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

impl Partition {
    /// Opens the partition in a log directory, or makes it.
    pub fn open(fs: SharedFs, log_dir: &Path, setup: PartitionSetup, now: Millis) -> Result<Self, LogError> {
        fs.create_dir(log_dir)?;
        let marker = log_dir.join(CLEAN_SHUTDOWN);
        let clean_shutdown = fs.exists(&marker)?;
        if clean_shutdown {
            // From now on a stop is an unclean one.
            fs::remove_if_exists(&*fs, &marker)?;
            fs.sync_dir(log_dir)?;
        }
        let of = |kind| -> Result<Offset, LogError> {
            match CheckpointFile::new(log_dir, kind).read(&*fs) {
                Ok(offsets) => Ok(offsets.get(&setup.partition).copied().unwrap_or_default().max(Offset(0))),
                // What is lost with it is time, not records: recovery begins at the start.
                Err(LogError::Corrupt { .. }) => Ok(Offset(0)),
                Err(e) => Err(e),
            }
        };
        let open = OpenLog {
            partition: setup.partition.clone(),
            config: setup.config.clone(),
            rules: setup.rules,
            log_start: of(CheckpointKind::LogStart)?,
            recovery_point: of(CheckpointKind::RecoveryPoint)?,
            clean_shutdown,
            now,
        };
        let directory = log_dir.join(setup.partition.to_string());
        let log = Log::open(fs, &directory, &open)?;
        let mut manager = CleanerManager::new(log_dir, setup.rules.cleaner.checkpoint_clamp);
        let end = log.end_offset();
        let beyond = |first_dirty: &Offset| *first_dirty > end;
        if setup.rules.cleaner.checkpoint_clamp == CheckpointClamp::Always
            && manager.checkpoints(&**log.fs())?.get(log.partition()).is_some_and(beyond)
        {
            // What was lost with the end of the log was cut off like any other suffix: the repair of N8.
            manager.truncate_checkpoint(&log, log.active_base())?;
        }
        Ok(Self { log, manager, setup, log_dir: log_dir.to_owned(), now, leader_epoch: LeaderEpoch(0) })
    }

    /// The log.
    #[must_use]
    pub const fn log(&self) -> &Log {
        &self.log
    }

    /// The cleaner's view.
    #[must_use]
    pub const fn manager(&self) -> &CleanerManager {
        &self.manager
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Millis {
        self.now
    }

    /// Moves the clock; files whose delay is over are removed.
    pub fn set_clock(&mut self, now: Millis) -> Result<(), LogError> {
        self.now = now;
        self.log.run_deletions(now)
    }

    /// Another leader epoch, which appends as a leader have from now on.
    pub fn set_leader_epoch(&mut self, epoch: LeaderEpoch) {
        self.leader_epoch = epoch;
    }

    /// Changes the topic's configuration.
    pub fn set_config(&mut self, config: LogConfig) {
        self.setup.config = config.clone();
        self.log.set_config(config);
    }

    /// Another capacity of the offset map.
    pub fn set_map_entries(&mut self, entries: usize) {
        self.setup.map_entries = entries;
    }

    /// Appends records as the leader, in one batch of this header, whose offsets are given here.
    pub fn append(&mut self, header: BatchHeader, records: Vec<Record>) -> Result<Appended, LogError> {
        let numbered = (0..).zip(records).map(|(offset, record)| Record { offset: Offset(offset), ..record });
        let header = BatchHeader { base_offset: Offset(0), ..header };
        let batch = BatchBuilder::new(header).records(numbered).build().map_err(AppendError::from)?;
        self.append_batches(&batch, AppendOrigin::Client)
    }

    /// Appends batches as the leader.
    pub fn append_batches(&mut self, batches: &[u8], origin: AppendOrigin) -> Result<Appended, LogError> {
        self.log.append_as_leader(batches, origin, self.leader_epoch, self.now)
    }

    /// Appends a leader's batches as a follower.
    pub fn append_as_follower(&mut self, batches: &[u8]) -> Result<Appended, LogError> {
        self.log.append_as_follower(batches, self.now)
    }

    /// Ends a transaction: the marker of the coordinator, with the epoch that it has under this protocol.
    pub fn end_transaction(
        &mut self,
        producer: ProducerId,
        producer_epoch: ProducerEpoch,
        marker: Marker,
        protocol: TransactionProtocol,
    ) -> Result<Appended, LogError> {
        self.log.append_marker(producer, producer_epoch, marker, protocol, self.leader_epoch, self.now)
    }

    /// Begins another segment.
    pub fn roll(&mut self) -> Result<(), LogError> {
        self.log.roll(self.now)
    }

    /// Moves the high watermark.
    pub fn set_high_watermark(&mut self, offset: Offset) {
        self.log.set_high_watermark(offset);
    }

    /// Below this every replica has the log: the repair of 6.2 removes nothing above it for its age.
    pub fn set_replicated(&mut self, offset: Offset) {
        self.log.replicated = offset;
    }

    /// Makes the log durable.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.log.flush(self.log.end_offset())
    }

    /// Forgets idle producers.
    pub fn expire_producers(&mut self) {
        self.log.expire_producers(self.now);
    }

    /// One turn of a cleaner thread: chooses, cleans, writes F down, then deletes what retention allows. `None` if there is
    /// nothing to clean.
    pub fn clean(&mut self) -> Result<Option<Round>, LogError> {
        self.clean_with(&mut NoHook, RoundEnd::Checkpointed)
    }

    /// The same, with a hook and an end.
    pub fn clean_with(&mut self, hook: &mut dyn CleaningHook, end: RoundEnd) -> Result<Option<Round>, LogError> {
        let fs = self.log.fs().clone();
        let chosen = self.manager.grab_filthiest(&*fs, &[&self.log], self.now)?;
        let round = match chosen {
            None => None,
            Some(chosen) => {
                let mut map = ExactOffsetMap::new(self.setup.map_entries);
                let chunk_bytes = self.setup.chunk_bytes;
                let outcome = cleaner::clean(&mut self.log, &chosen, self.now, chunk_bytes, &mut map, hook);
                match end {
                    RoundEnd::Checkpointed => cleaner::done(&mut self.manager, &self.log, &chosen, self.now, &outcome)?,
                    RoundEnd::WithoutCheckpoint => self.manager.forget(&chosen.partition),
                }
                Some(Round { chosen, now: self.now, outcome })
            }
        };
        self.retain()?;
        Ok(round)
    }

    /// Begins a round that is taken step by step: the log is chosen, and the clock is read for the whole round. `None` if
    /// there is nothing to clean.
    pub fn start_round(&mut self) -> Result<Option<OpenRound>, LogError> {
        let fs = self.log.fs().clone();
        let chosen = self.manager.grab_filthiest(&*fs, &[&self.log], self.now)?;
        let map = ExactOffsetMap::new(self.setup.map_entries);
        Ok(chosen.map(|chosen| OpenRound { chosen, now: self.now, map, mapped: None }))
    }

    /// The round builds its offset map; a second call builds it anew.
    pub fn build_map(&mut self, round: &mut OpenRound) -> Result<RoundOutcome, CleaningError> {
        let OpenRound { chosen, now, map, mapped } = round;
        let built = cleaner::build_map(&mut self.log, chosen, *now, self.setup.chunk_bytes, map, &mut NoHook)?;
        let outcome = *built.outcome();
        if self.log.rules().cleaner.slips(Mutation::CheckpointFirst) {
            let fs = self.log.fs().clone();
            self.manager.update_checkpoint(&*fs, &[&self.log], &chosen.partition, outcome.cleaned_to)?;
        }
        *mapped = Some(built);
        Ok(outcome)
    }

    /// The round copies its next group, and swaps it in; false if there is none.
    pub fn clean_group(&mut self, round: &mut OpenRound) -> Result<bool, CleaningError> {
        match &mut round.mapped {
            None => Ok(false),
            Some(mapped) => cleaner::clean_group(&mut self.log, mapped, self.now, &round.map, &mut NoHook),
        }
    }

    /// The round ends: after a whole one F moves to its end; an abort leaves it.
    pub fn finish_round(&mut self, round: OpenRound, aborted: bool) -> Result<(), LogError> {
        let outcome = match round.mapped {
            Some(mapped) if !aborted => Ok(*mapped.outcome()),
            _ => Err(CleaningError::Storage(LogError::CleaningAborted)),
        };
        cleaner::done(&mut self.manager, &self.log, &round.chosen, round.now, &outcome)
    }

    /// Deletes the oldest segments that may go; not while the partition is held up or uncleanable.
    pub fn retain(&mut self) -> Result<usize, LogError> {
        let partition = self.log.partition();
        if self.manager.state(partition).is_some() || self.manager.is_uncleanable(partition) {
            return Ok(0);
        }
        let deleted = self.log.delete_old_segments(self.now)?;
        self.log.flush_epochs()?;
        Ok(deleted)
    }

    /// Moves the log's start.
    pub fn delete_records(&mut self, before: Offset) -> Result<(), LogError> {
        self.log.delete_records(before)?;
        self.log.flush_epochs()
    }

    /// Cuts the log's end, as a follower does: cleaning is stopped, and F does not stay above what may be cleaned again.
    pub fn truncate(&mut self, offset: Offset) -> Result<(), LogError> {
        let partition = self.log.partition().clone();
        self.manager.abort_and_pause(&partition);
        let cut = self.log.truncate_to(offset, self.now).and_then(|()| self.log.flush_epochs());
        let clamped = cut.and_then(|()| self.manager.truncate_checkpoint(&self.log, self.log.active_base()));
        self.manager.resume(&partition);
        clamped
    }

    /// F, if a round has written it down.
    pub fn first_dirty(&self) -> Result<Option<Offset>, LogError> {
        Ok(self.manager.checkpoints(&**self.log.fs())?.get(self.log.partition()).copied())
    }

    /// One response, as a consumer hands it out.
    pub fn read(&self, from: Offset, max_bytes: usize, isolation: Isolation) -> Result<Handed, LogError> {
        let fetched = self.log.read(from, max_bytes, isolation)?;
        hand_out(&fetched.batches, &fetched.aborted, from, isolation)
            .map_err(|e| LogError::corrupt(self.log.directory(), e.position as u64, e.fault))
    }

    /// Everything from an offset to the end of what may be read.
    pub fn read_all(&self, from: Offset, isolation: Isolation) -> Result<Handed, LogError> {
        let mut all = Handed { records: Vec::new(), position: from };
        loop {
            let handed = self.read(all.position, usize::MAX, isolation)?;
            if handed.position == all.position {
                return Ok(all);
            }
            all.records.extend(handed.records);
            all.position = handed.position;
        }
    }

    /// The segments with their batches.
    pub fn dump(&self) -> Result<Vec<DumpedSegment>, LogError> {
        let mut segments = Vec::new();
        for segment in self.log.segments() {
            let path = segment.path(FileKind::Log);
            let mut batches = Vec::new();
            for stored in segment.batches(&**self.log.fs(), 0) {
                let stored = stored?;
                for batch in BatchReader::new(&stored.bytes) {
                    let dumped = batch.and_then(|batch| dump_batch(&batch));
                    let at = |e: BatchError| LogError::corrupt(&path, stored.position + e.position as u64, e.fault);
                    batches.push(dumped.map_err(at)?);
                }
            }
            let aborted = segment.transaction_index().entries().to_vec();
            segments.push(DumpedSegment { base: segment.base(), batches, aborted });
        }
        Ok(segments)
    }

    /// Writes the recovery point and the log's start down, as a broker does from time to time.
    pub fn checkpoint(&self) -> Result<(), LogError> {
        let fs = &**self.log.fs();
        let offsets = [
            (CheckpointKind::RecoveryPoint, self.log.recovery_point()),
            (CheckpointKind::LogStart, self.log.log_start()),
        ];
        for (kind, offset) in offsets {
            let file = CheckpointFile::new(&self.log_dir, kind);
            file.write(fs, &BTreeMap::from([(self.log.partition().clone(), offset)]))?;
        }
        Ok(())
    }

    /// Ends the use in an orderly way. To stop without it, drop the partition.
    pub fn close(mut self) -> Result<(), LogError> {
        self.log.close()?;
        self.checkpoint()?;
        let fs = self.log.fs();
        fs.create(&self.log_dir.join(CLEAN_SHUTDOWN))?;
        fs.sync_dir(&self.log_dir)?;
        Ok(())
    }
}

fn dump_batch(batch: &LogBatch<'_>) -> Result<DumpedBatch, BatchError> {
    Ok(DumpedBatch {
        first: batch.base_offset(),
        last: batch.last_offset(),
        delete_horizon: batch.delete_horizon(),
        producer: batch.producer_id(),
        producer_epoch: batch.producer_epoch(),
        transactional: batch.is_transactional(),
        control: batch.is_control(),
        records: batch.records()?,
        bytes: batch.bytes().to_vec(),
    })
}
