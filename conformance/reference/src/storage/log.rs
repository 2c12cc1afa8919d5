//! The log of one partition (Kafka's `UnifiedLog` and `LocalLog`): segments in offset order, the last one active, and
//! what is known of its producers and leaders.
//!
//! | Part | File |
//! | --- | --- |
//! | opening, after a clean or an unclean stop | [`recovery`](super::recovery) |
//! | appending, as a leader or as a follower | [`log_append`](super::log_append) |
//! | reading | [`log_read`](super::log_read) |
//! | cutting its end or its start | [`log_truncate`](super::log_truncate) |
//! | putting a cleaned segment in place of others | [`swap`](super::swap) |
//!
//! A log is one replica's. The time comes with the calls. After an error of the file system the log in memory may differ
//! from its files, and is to be opened again, as Kafka takes the whole directory offline.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::{Path, PathBuf};

use super::checkpoint::TopicPartition;
use super::fs::SharedFs;
use super::leader_epoch_checkpoint::{EpochAssignment, LeaderEpochs};
use super::log_error::LogError;
use super::log_rules::{LogConfig, LogRules};
use super::names::{LeaderEpoch, Millis, Offset};
use super::producer_state::ProducerState;
use super::segment::Segment;
use super::segment_files::{FileKind, FileName, FileStage};
use super::transaction_tracker::AbortedTxn;

/// A log. See the module.
#[derive(Debug)]
#[allow(clippy::struct_field_names, reason = "`log_start` is Kafka's name, next to the high watermark's")]
pub struct Log {
    pub(super) fs: SharedFs,
    pub(super) directory: PathBuf,
    pub(super) partition: TopicPartition,
    pub(super) config: LogConfig,
    pub(super) rules: LogRules,
    /// By base offset. The last one is active.
    pub(super) segments: BTreeMap<Offset, Segment>,
    pub(super) log_start: Offset,
    pub(super) high_watermark: Offset,
    /// Below it every replica has the log, where a removal waits for that; else the largest offset.
    pub(super) replicated: Offset,
    pub(super) recovery_point: Offset,
    pub(super) next_offset: Offset,
    pub(super) producers: ProducerState,
    pub(super) epochs: LeaderEpochs,
    pub(super) deletions: Vec<Deletion>,
    /// Whether a truncation that cuts nothing drops the epochs that begin at the end: since KAFKA-10706.
    pub(super) cleans_epochs_at_end: bool,
}

/// A file that was renamed to `.deleted`, and when it goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Deletion {
    pub(super) path: PathBuf,
    pub(super) due: Millis,
}

impl Log {
    /// Where its files are.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whose log it is.
    #[must_use]
    pub const fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The file system that its files are in.
    #[must_use]
    pub fn fs(&self) -> &SharedFs {
        &self.fs
    }

    /// Its configuration.
    #[must_use]
    pub const fn config(&self) -> &LogConfig {
        &self.config
    }

    /// Changes its configuration, which holds from the next operation on.
    pub fn set_config(&mut self, config: LogConfig) {
        self.config = config;
    }

    /// Its switches.
    #[must_use]
    pub const fn rules(&self) -> &LogRules {
        &self.rules
    }

    /// The first offset that may be read.
    #[must_use]
    pub const fn log_start(&self) -> Offset {
        self.log_start
    }

    /// The offset that the next record gets.
    #[must_use]
    pub const fn end_offset(&self) -> Offset {
        self.next_offset
    }

    /// Below it every record is on all replicas.
    #[must_use]
    pub const fn high_watermark(&self) -> Offset {
        self.high_watermark
    }

    /// Below it everything is durable.
    #[must_use]
    pub const fn recovery_point(&self) -> Offset {
        self.recovery_point
    }

    /// Below it every record is on all replicas and of a transaction, if any, that has ended there
    /// (docs/compaction.md 2.2).
    #[must_use]
    pub fn last_stable_offset(&self) -> Offset {
        let unstable = self.producers.first_unstable_offset().map(|first| first.max(self.log_start));
        unstable.map_or(self.high_watermark, |first| first.min(self.high_watermark))
    }

    /// Moves the high watermark, within the log.
    pub fn set_high_watermark(&mut self, offset: Offset) {
        self.high_watermark = offset.max(self.log_start).min(self.next_offset);
        self.producers.on_high_watermark(self.high_watermark);
    }

    /// The producers.
    #[must_use]
    pub const fn producers(&self) -> &ProducerState {
        &self.producers
    }

    /// The leaders.
    #[must_use]
    pub const fn epochs(&self) -> &LeaderEpochs {
        &self.epochs
    }

    /// Notes that a leader begins at the log's end, before it has written anything (KAFKA-7415).
    pub fn assign_epoch(&mut self, epoch: LeaderEpoch) -> Result<(), LogError> {
        let fs = self.fs.clone();
        self.epochs.assign(&*fs, epoch, self.next_offset)
    }

    /// How the leaders are noted from now on.
    pub fn set_epoch_assignment(&mut self, assignment: EpochAssignment) -> Result<(), LogError> {
        let fs = self.fs.clone();
        self.epochs.set_assignment(&*fs, assignment)
    }

    /// Whether a truncation that cuts nothing drops the epochs that begin at the end; without it, KAFKA-10706.
    pub fn set_cleans_epochs_at_end(&mut self, cleans: bool) {
        self.cleans_epochs_at_end = cleans;
    }

    /// Writes down what truncations have removed of the leaders, as a broker does in the background.
    pub fn flush_epochs(&mut self) -> Result<(), LogError> {
        let fs = self.fs.clone();
        self.epochs.flush(&*fs)
    }

    /// Forgets idle producers; the broker does it every ten minutes.
    pub fn expire_producers(&mut self, now: Millis) {
        self.producers.remove_expired(now);
    }

    /// The segments, in offset order.
    #[must_use]
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &Segment> {
        self.segments.values()
    }

    /// The base of the active segment.
    #[must_use]
    pub fn active_base(&self) -> Offset {
        self.segments.last_key_value().map_or(self.next_offset, |(base, _)| *base)
    }

    /// The segments that have an offset in `[from, to)`: the first one may begin below `from`.
    #[must_use]
    pub fn segments_between(&self, from: Offset, to: Offset) -> impl DoubleEndedIterator<Item = &Segment> {
        let first = self.segments.range(..=from).next_back().map_or(from, |(base, _)| *base);
        let range = if from < to { first..to } else { first..first };
        self.segments.range(range).map(|(_, segment)| segment)
    }

    /// The same, without the active one (`UnifiedLog#nonActiveLogSegmentsFrom`).
    #[must_use]
    pub fn closed_segments_from(&self, from: Offset) -> impl DoubleEndedIterator<Item = &Segment> {
        self.segments_between(from, self.active_base())
    }

    /// The base of the segment after this one, else the log's end.
    #[must_use]
    pub fn end_of(&self, base: Offset) -> Offset {
        let next = self.segments.range((Bound::Excluded(base), Bound::Unbounded)).next();
        next.map_or(self.next_offset, |(base, _)| *base)
    }

    /// The aborted transactions that overlap `[from, to)`, searched from the segment that holds `from` on
    /// (`LocalLog#collectAbortedTxns`).
    #[must_use]
    pub fn aborted_transactions(&self, from: Offset, to: Offset) -> Vec<AbortedTxn> {
        let first = self.segments.range(..=from).next_back().map_or(from, |(base, _)| *base);
        let mut aborted = Vec::new();
        for segment in self.segments.range(first..).map(|(_, segment)| segment) {
            let found = segment.transaction_index().collect(from, to);
            aborted.extend(found.transactions);
            if found.is_complete {
                break;
            }
        }
        aborted
    }

    /// Closes the active segment and begins another one at the log's end. An active segment without batches stays.
    /// The closed one is durable when this returns, and so is the state of the producers.
    pub fn roll(&mut self, now: Millis) -> Result<(), LogError> {
        self.roll_at(self.next_offset, now)
    }

    /// Rolls to a segment whose base is `base`, where the next batch is to begin.
    pub(super) fn roll_at(&mut self, base: Offset, now: Millis) -> Result<(), LogError> {
        let fs = self.fs.clone();
        let base = base.max(self.next_offset);
        let Some(active) = self.segments.last_entry() else { return Ok(()) };
        if active.get().size() == 0 && *active.key() == base {
            return Ok(());
        }
        active.into_mut().close(&*fs)?;
        self.producers.set_map_end(base);
        self.producers.take_snapshot(&*fs)?;
        self.flush(base)?;
        let segment = Segment::create(&*fs, &self.directory, base, FileStage::Final, &self.config, now)?;
        self.segments.insert(base, segment);
        Ok(())
    }

    /// Makes everything below `to` durable, with its names.
    pub fn flush(&mut self, to: Offset) -> Result<(), LogError> {
        if to <= self.recovery_point {
            return Ok(());
        }
        for segment in self.segments_between(self.recovery_point, to) {
            segment.flush(&*self.fs)?;
        }
        self.fs.sync_dir(&self.directory)?;
        self.recovery_point = to;
        Ok(())
    }

    /// Ends the use of the log in an orderly way: everything is durable, the producers too.
    pub fn close(&mut self) -> Result<(), LogError> {
        let fs = self.fs.clone();
        self.epochs.flush(&*fs)?;
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().close(&*fs)?;
        }
        self.producers.set_map_end(self.next_offset);
        self.producers.take_snapshot(&*fs)?;
        self.recovery_point = self.recovery_point.min(self.active_base());
        self.flush(self.next_offset)
    }

    /// Renames the files of a segment to `.deleted`, and its snapshot with them; they go after `file.delete.delay.ms`.
    pub(super) fn delete_segment(&mut self, mut segment: Segment, now: Millis, snapshot: bool) -> Result<(), LogError> {
        let fs = self.fs.clone();
        segment.change_stage(&*fs, FileStage::Deleted)?;
        let due = Millis(now.0.saturating_add(self.config.file_delete_delay_ms.0));
        for kind in FileKind::OF_A_SEGMENT {
            self.deletions.push(Deletion { path: segment.path(kind), due });
        }
        if snapshot {
            self.delete_snapshot(segment.base(), due)?;
        }
        Ok(())
    }

    pub(super) fn delete_snapshot(&mut self, offset: Offset, due: Millis) -> Result<(), LogError> {
        let name = FileName::new(offset, FileKind::Snapshot);
        let to = name.at(FileStage::Deleted).path(&self.directory);
        match self.fs.rename(&name.path(&self.directory), &to) {
            Ok(()) => self.deletions.push(Deletion { path: to, due }),
            Err(e) if e.is_not_found() => {}
            Err(e) => return Err(e.into()),
        }
        Ok(())
    }

    /// Removes the files whose delay is over.
    pub fn run_deletions(&mut self, now: Millis) -> Result<(), LogError> {
        let (due, waiting): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.deletions).into_iter().partition(|deletion| deletion.due <= now);
        self.deletions = waiting;
        for deletion in due {
            super::fs::remove_if_exists(&*self.fs, &deletion.path)?;
        }
        Ok(())
    }

    /// The bytes of all segments.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.segments.values().map(Segment::size).sum()
    }
}
