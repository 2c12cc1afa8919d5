//! Which log is cleaned next, from where and up to where (docs/compaction.md 2.1, 2.2; Kafka's `LogCleanerManager`,
//! `LogToClean`), and what is written down after it (2.7).
//!
//! The decisions are pure functions of what a log tells of itself. A log is worth cleaning because of its dirty bytes, or
//! because its oldest dirty record is too old; never because a horizon has passed, so that on an idle partition an expired
//! tombstone stays.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::checkpoint::{CheckpointFile, CheckpointKind, TopicPartition};
use super::fs::FileSystem;
use super::log::Log;
use super::log_error::LogError;
use super::mutation::Mutation;
use super::names::{Millis, Offset};
use super::rules::{CheckpointClamp, Worth};
use super::segment::Segment;
use super::segment_files::FileKind;

/// Where the next round begins, and whether the checkpoint is to be corrected for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDirty {
    /// F.
    pub offset: Offset,
    /// Whether the checkpoint said something impossible (KAFKA-6266).
    pub correct_checkpoint: bool,
}

/// F: what the checkpoint says, if that lies within the log; else the log's start.
#[must_use]
pub fn first_dirty(checkpoint: Option<Offset>, log_start: Offset, log_end: Offset) -> FirstDirty {
    match checkpoint {
        None => FirstDirty { offset: log_start, correct_checkpoint: false },
        Some(offset) if offset < log_start => FirstDirty { offset: log_start, correct_checkpoint: true },
        Some(offset) if offset > log_end => FirstDirty { offset: log_start, correct_checkpoint: true },
        Some(offset) => FirstDirty { offset, correct_checkpoint: false },
    }
}

/// U: the base of the segment that holds `uncleanable`, the first offset that may not be cleaned; the segment that holds
/// F, if that is above it. `bases` are those of all segments, ascending; the last one is active.
#[must_use]
pub fn round_bound(first_dirty: Offset, uncleanable: Offset, bases: &[Offset]) -> Offset {
    let uncleanable = uncleanable.max(first_dirty);
    let holder = bases.iter().rev().find(|base| **base <= uncleanable);
    holder.or(bases.first()).copied().unwrap_or(first_dirty)
}

/// A log as a candidate for a round.
#[derive(Debug, Clone, PartialEq)]
pub struct LogToClean {
    /// Which.
    pub partition: TopicPartition,
    /// F.
    pub first_dirty: Offset,
    /// U, exclusive: the base of the segment that holds the first offset that may not be cleaned.
    pub upper_bound: Offset,
    /// The bytes of the segments that begin below F.
    pub clean_bytes: u64,
    /// The bytes of the segments from the one that holds F to U. One that holds F within counts on both sides.
    pub cleanable_bytes: u64,
    /// Whether `max.compaction.lag.ms` has passed for a dirty record.
    pub must_clean: bool,
    /// Whether the checkpoint is to be corrected.
    pub correct_checkpoint: bool,
    /// Whether a horizon has passed. Looked for under [`Worth::PassedHorizon`] alone.
    pub horizon_passed: bool,
}

impl LogToClean {
    /// The dirty part of what would be read.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "Kafka compares doubles too, and a log has fewer than 2^53 bytes")]
    pub fn ratio(&self) -> f64 {
        let total = self.clean_bytes.saturating_add(self.cleanable_bytes);
        if total == 0 { 0.0 } else { self.cleanable_bytes as f64 / total as f64 }
    }

    /// Whether it may be cleaned. The ratio must be above the limit, not at it.
    #[must_use]
    pub fn is_eligible(&self, min_ratio: f64) -> bool {
        (self.must_clean && self.cleanable_bytes > 0) || self.horizon_passed || self.ratio() > min_ratio
    }
}

/// F and U of a log, and what there is between them.
pub fn log_to_clean(log: &Log, checkpoint: Option<Offset>, now: Millis) -> Result<LogToClean, LogError> {
    let fs = &**log.fs();
    let slips = |mutation| log.rules().cleaner.slips(mutation);
    let first = if slips(Mutation::CheckpointNotReset) {
        FirstDirty { offset: checkpoint.unwrap_or(log.log_start()), correct_checkpoint: false }
    } else {
        first_dirty(checkpoint, log.log_start(), log.end_offset())
    };
    let stable = if slips(Mutation::CleansAboveHighWatermark) {
        log.producers().first_unstable_offset().unwrap_or(log.end_offset())
    } else {
        log.last_stable_offset()
    };
    let mut uncleanable = stable.min(log.active_base());
    let min_lag = log.config().min_compaction_lag_ms.0.max(0);
    if min_lag > 0 {
        for segment in log.closed_segments_from(first.offset) {
            if segment.largest_timestamp(fs)?.0 > now.0.wrapping_sub(min_lag) {
                uncleanable = uncleanable.min(segment.base());
                break;
            }
        }
    }
    let bases: Vec<_> = log.segments().map(Segment::base).collect();
    let lowest = if slips(Mutation::BoundBelowFirstDirty) { uncleanable } else { first.offset };
    let upper_bound = round_bound(lowest, uncleanable, &bases);
    let bytes = |from: Offset, to: Offset| log.segments_between(from, to).map(Segment::size).sum();
    Ok(LogToClean {
        partition: log.partition().clone(),
        first_dirty: first.offset,
        upper_bound,
        clean_bytes: log.segments().filter(|segment| segment.base() < first.offset).map(Segment::size).sum(),
        cleanable_bytes: bytes(first.offset.min(upper_bound), upper_bound),
        must_clean: max_lag_exceeded(log, first.offset, now)?,
        correct_checkpoint: first.correct_checkpoint,
        horizon_passed: log.rules().cleaner.worth == Worth::PassedHorizon && horizon_passed(log, first.offset, now)?,
    })
}

/// Whether a clean batch has a horizon that has passed.
fn horizon_passed(log: &Log, first_dirty: Offset, now: Millis) -> Result<bool, LogError> {
    for segment in log.segments().filter(|segment| segment.base() < first_dirty) {
        let path = segment.path(FileKind::Log);
        for batch in segment.batches(&**log.fs(), 0) {
            let batch = batch?;
            let view = batch.view(&path)?;
            if view.base_offset() < first_dirty && view.delete_horizon().is_some_and(|horizon| horizon <= now) {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether the first record of a dirty segment is older than `max.compaction.lag.ms` (KIP-354). The time of a segment is
/// the max timestamp of its first batch; those without one do not count.
fn max_lag_exceeded(log: &Log, first_dirty: Offset, now: Millis) -> Result<bool, LogError> {
    if log.rules().cleaner.slips(Mutation::MaxCompactionLagIgnored) {
        return Ok(false);
    }
    let limit = now.0.wrapping_sub(log.config().max_compaction_lag_ms.0.max(0));
    for segment in log.closed_segments_from(first_dirty) {
        let first = segment.first_batch_timestamp(&**log.fs())?;
        if first.is_some_and(|first| first.0 > 0 && first.0 < limit) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What a partition is held up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleaningState {
    /// A round, or a deletion, is under way.
    InProgress,
    /// The round was told to stop.
    Aborted,
    /// It may not be cleaned; how many ask for it.
    Paused(u32),
}

/// The cleaner's view of a log directory.
#[derive(Debug)]
pub struct CleanerManager {
    checkpoint: CheckpointFile,
    clamp: CheckpointClamp,
    states: BTreeMap<TopicPartition, CleaningState>,
    uncleanable: BTreeSet<TopicPartition>,
    directory: PathBuf,
}

impl CleanerManager {
    /// Of this log directory.
    #[must_use]
    pub fn new(log_dir: &Path, clamp: CheckpointClamp) -> Self {
        Self {
            checkpoint: CheckpointFile::new(log_dir, CheckpointKind::Cleaner),
            clamp,
            states: BTreeMap::new(),
            uncleanable: BTreeSet::new(),
            directory: log_dir.to_owned(),
        }
    }

    /// The log directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// F of each log that was cleaned.
    pub fn checkpoints(&self, fs: &dyn FileSystem) -> Result<BTreeMap<TopicPartition, Offset>, LogError> {
        // A checkpoint that does not read is as good as none: everything is dirty.
        match self.checkpoint.read(fs) {
            Err(LogError::Corrupt { .. }) => Ok(BTreeMap::new()),
            other => other,
        }
    }

    /// What holds a partition up.
    #[must_use]
    pub fn state(&self, partition: &TopicPartition) -> Option<CleaningState> {
        self.states.get(partition).copied()
    }

    /// Chooses the eligible log with the highest ratio and marks it as in progress. Impossible checkpoints are corrected
    /// at once, of logs that are not chosen too.
    pub fn grab_filthiest(
        &mut self,
        fs: &dyn FileSystem,
        logs: &[&Log],
        now: Millis,
    ) -> Result<Option<LogToClean>, LogError> {
        let checkpoints = self.checkpoints(fs)?;
        let mut filthiest: Option<LogToClean> = None;
        for log in logs {
            let partition = log.partition();
            let held_up = self.states.contains_key(partition) || self.uncleanable.contains(partition);
            if !log.config().compact || held_up {
                continue;
            }
            let candidate = log_to_clean(log, checkpoints.get(partition).copied(), now)?;
            let slips = log.rules().cleaner.slips(Mutation::CorrectedCheckpointNotWritten);
            if candidate.correct_checkpoint && !slips {
                self.update_checkpoint(fs, logs, partition, candidate.first_dirty)?;
            }
            let is_empty = candidate.clean_bytes + candidate.cleanable_bytes == 0;
            if is_empty || !candidate.is_eligible(log.config().min_cleanable_dirty_ratio) {
                continue;
            }
            if filthiest.as_ref().is_none_or(|best| candidate.ratio() > best.ratio()) {
                filthiest = Some(candidate);
            }
        }
        if let Some(chosen) = &filthiest {
            self.states.insert(chosen.partition.clone(), CleaningState::InProgress);
        }
        Ok(filthiest)
    }

    /// Ends a round: F is `end` from now on, unless the round was aborted, which leaves the partition paused.
    pub fn done_cleaning(
        &mut self,
        fs: &dyn FileSystem,
        logs: &[&Log],
        partition: &TopicPartition,
        end: Offset,
    ) -> Result<(), LogError> {
        match self.states.get(partition) {
            Some(CleaningState::InProgress) => {
                self.states.remove(partition);
                self.update_checkpoint(fs, logs, partition, end)
            }
            Some(CleaningState::Aborted) => {
                self.states.insert(partition.clone(), CleaningState::Paused(1));
                Ok(())
            }
            Some(CleaningState::Paused(_)) | None => Ok(()),
        }
    }

    /// Frees a partition whose round has ended without its end being written down.
    pub(super) fn forget(&mut self, partition: &TopicPartition) {
        self.states.remove(partition);
    }

    /// Tells a round to stop, and keeps the partition from being cleaned until [`Self::resume`].
    pub fn abort_and_pause(&mut self, partition: &TopicPartition) {
        let state = match self.states.get(partition) {
            None => CleaningState::Paused(1),
            Some(CleaningState::InProgress | CleaningState::Aborted) => CleaningState::Aborted,
            Some(CleaningState::Paused(times)) => CleaningState::Paused(times.saturating_add(1)),
        };
        self.states.insert(partition.clone(), state);
    }

    /// Takes one pause back.
    pub fn resume(&mut self, partition: &TopicPartition) {
        match self.states.get_mut(partition) {
            Some(CleaningState::Paused(times)) if *times > 1 => *times -= 1,
            Some(CleaningState::Paused(_)) => {
                self.states.remove(partition);
            }
            _ => {}
        }
    }

    /// Whether a round of this partition is to go on.
    pub fn check_not_aborted(&self, partition: &TopicPartition) -> Result<(), LogError> {
        match self.states.get(partition) {
            Some(CleaningState::Aborted) => Err(LogError::CleaningAborted),
            _ => Ok(()),
        }
    }

    /// Keeps a partition whose round failed out of the choice, until the next start (KIP-346).
    pub fn mark_uncleanable(&mut self, partition: &TopicPartition) {
        self.uncleanable.insert(partition.clone());
    }

    /// Whether it is kept out.
    #[must_use]
    pub fn is_uncleanable(&self, partition: &TopicPartition) -> bool {
        self.uncleanable.contains(partition)
    }

    /// Forgets the marks of partitions that no longer exist.
    pub fn maintain(&mut self, logs: &[&Log]) {
        self.uncleanable.retain(|partition| logs.iter().any(|log| log.partition() == partition));
    }

    /// Takes F back to `offset` after a truncation. As Kafka has it only while the policy contains `compact`: records that
    /// are appended while it does not then lie below F, and are never mapped (docs/compaction.md 5.3 N8).
    pub fn truncate_checkpoint(&mut self, log: &Log, offset: Offset) -> Result<(), LogError> {
        if self.clamp == CheckpointClamp::WhileCompacting && !log.config().compact {
            return Ok(());
        }
        let fs = &**log.fs();
        let mut checkpoints = self.checkpoints(fs)?;
        match checkpoints.get_mut(log.partition()) {
            Some(first_dirty) if *first_dirty > offset => *first_dirty = offset,
            _ => return Ok(()),
        }
        self.checkpoint.write(fs, &checkpoints)
    }

    /// Writes F of one log; entries of partitions that do not exist are dropped.
    pub(super) fn update_checkpoint(
        &self,
        fs: &dyn FileSystem,
        logs: &[&Log],
        partition: &TopicPartition,
        offset: Offset,
    ) -> Result<(), LogError> {
        let mut checkpoints = self.checkpoints(fs)?;
        checkpoints.retain(|known, _| logs.iter().any(|log| log.partition() == known));
        checkpoints.insert(partition.clone(), offset);
        self.checkpoint.write(fs, &checkpoints)
    }
}
