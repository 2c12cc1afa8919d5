//! Opening a log after whatever ended its last use (docs/compaction.md 2.8; Kafka's `LogLoader`).
//!
//! | What is found | What is done |
//! | --- | --- |
//! | `.deleted` | removed |
//! | `.cleaned` | removed, and every `.swap` whose base is not below the smallest of them |
//! | `.swap` | the other files with a base in [smallest swap base, largest next offset of a swap) are removed, then the swaps get their final names |
//! | an index without its log file | removed |
//! | an index that is missing or does not read | rebuilt from the log file |
//! | no clean stop | every segment from the recovery point on is checked batch by batch; it is cut at the first invalid one, and what follows is removed |
//! | an end below the log's start | everything is removed |
//! | a name that no log writes | left alone |
//!
//! The next offset of a swap is that of its content. If the end of its group was cleaned away, old segments that lie above
//! it are not in the range and come back, if they had not been renamed. They are a suffix of the group: the log is less
//! clean, and never one in which a newer record is gone and an older one back.

use std::collections::BTreeMap;
use std::path::Path;

use super::checkpoint::TopicPartition;
use super::fs::{self, FileSystem, SharedFs};
use super::leader_epoch_checkpoint::LeaderEpochs;
use super::log::Log;
use super::log_error::LogError;
use super::log_rules::{LogConfig, LogRules};
use super::names::{Millis, Offset};
use super::producer_append::AppendOrigin;
use super::producer_state::ProducerState;
use super::segment::Segment;
use super::segment_files::{FileKind, FileName, FileStage};

/// What is known of a log besides its files.
#[derive(Debug, Clone)]
pub struct OpenLog {
    /// Whose log it is.
    pub partition: TopicPartition,
    /// Its configuration.
    pub config: LogConfig,
    /// Its switches.
    pub rules: LogRules,
    /// Its start, from the checkpoint; 0 if there is none.
    pub log_start: Offset,
    /// Its recovery point, from the checkpoint; 0 if there is none.
    pub recovery_point: Offset,
    /// Whether its last use was ended in an orderly way.
    pub clean_shutdown: bool,
    /// The time.
    pub now: Millis,
}

impl Log {
    /// Opens the log in a directory, which is made if it does not exist. The high watermark begins at the log's start:
    /// it is not part of the log.
    pub fn open(fs: SharedFs, directory: &Path, open: &OpenLog) -> Result<Self, LogError> {
        fs.create_dir(directory)?;
        finish_swaps(&*fs, directory, &open.config)?;
        let producers =
            |fs: &OpenLog| ProducerState::new(directory, fs.config.producer_id_expiration_ms, fs.rules.empty_marker);
        let mut log = Self {
            epochs: LeaderEpochs::open(&*fs, directory)?,
            producers: producers(open),
            directory: directory.to_owned(),
            partition: open.partition.clone(),
            config: open.config.clone(),
            rules: open.rules,
            segments: BTreeMap::new(),
            log_start: open.log_start,
            high_watermark: open.log_start,
            replicated: Offset(i64::MAX),
            recovery_point: open.recovery_point,
            next_offset: open.log_start,
            deletions: Vec::new(),
            cleans_epochs_at_end: true,
            fs,
        };
        log.load_segments(open)?;
        if !open.clean_shutdown {
            log.recover_from_recovery_point(open)?;
        }
        log.settle(open)?;
        log.producers = producers(open);
        log.rebuild_producers(open.now)?;
        Ok(log)
    }

    fn load_segments(&mut self, open: &OpenLog) -> Result<(), LogError> {
        let fs = self.fs.clone();
        let names: Vec<FileName> = fs.list(&self.directory)?.iter().filter_map(|name| FileName::parse(name)).collect();
        let is_log = |base| names.contains(&FileName::new(base, FileKind::Log));
        for name in &names {
            let is_index = !matches!(name.kind, FileKind::Log | FileKind::Snapshot);
            if is_index && !is_log(name.base_offset) {
                fs::remove_if_exists(&*fs, &name.path(&self.directory))?;
            }
        }
        let bases: Vec<Offset> =
            names.iter().filter(|name| name.kind == FileKind::Log).map(|name| name.base_offset).collect();
        for (nth, base) in bases.iter().copied().enumerate() {
            let opened = Segment::open(&*fs, &self.directory, base, FileStage::Final, &open.config);
            let segment = match opened {
                Ok(segment) => segment,
                Err(LogError::Corrupt { .. }) => self.rebuild_segment(base, bases.get(nth + 1).copied(), open)?,
                Err(LogError::Fs(e)) if e.is_not_found() => {
                    self.rebuild_segment(base, bases.get(nth + 1).copied(), open)?
                }
                Err(e) => return Err(e),
            };
            self.segments.insert(base, segment);
        }
        Ok(())
    }

    /// Makes the indexes of one segment anew. One that is durable and has an invalid batch is cut there, as Kafka does it;
    /// one that may not be durable is looked at again, together with what follows it.
    fn rebuild_segment(&mut self, base: Offset, next: Option<Offset>, open: &OpenLog) -> Result<Segment, LogError> {
        let (segment, _) = self.recover_segment(base, open)?;
        if open.clean_shutdown || next.is_some_and(|next| next <= open.recovery_point) {
            segment.cut_tail(&*self.fs)?;
        }
        Ok(segment)
    }

    /// Checks a segment batch by batch and rebuilds its indexes, with the producers as they were before it. How many
    /// bytes are to be cut.
    fn recover_segment(&mut self, base: Offset, open: &OpenLog) -> Result<(Segment, u64), LogError> {
        let fs = self.fs.clone();
        self.producers =
            ProducerState::new(&self.directory, open.config.producer_id_expiration_ms, open.rules.empty_marker);
        self.replay_producers(open.log_start, base, open.now)?;
        let mut segment = Segment::rebuild(&*fs, &self.directory, base, &open.config)?;
        let cut = segment.recover(&*fs, &mut self.producers, &mut self.epochs)?;
        segment.finish_rebuild(&*fs)?;
        self.producers.take_snapshot(&*fs)?;
        Ok((segment, cut))
    }

    fn recover_from_recovery_point(&mut self, open: &OpenLog) -> Result<(), LogError> {
        let first = self.segments.range(..=open.recovery_point).next_back().map(|(base, _)| *base);
        let unflushed: Vec<Offset> =
            self.segments.range(first.unwrap_or(open.recovery_point)..).map(|(base, _)| *base).collect();
        let mut bases = unflushed.into_iter();
        for base in bases.by_ref() {
            let (segment, cut) = self.recover_segment(base, open)?;
            self.segments.insert(base, segment);
            if cut == 0 {
                continue;
            }
            // After an invalid batch nothing can be trusted. What follows goes first, from the end, so that a stop in
            // here leaves the invalid batch to be found again, and never a gap.
            for base in bases.rev() {
                if let Some(segment) = self.segments.remove(&base) {
                    self.delete_segment(segment, open.now, true)?;
                    self.fs.sync_dir(&self.directory)?;
                }
            }
            if let Some((_, segment)) = self.segments.last_key_value() {
                segment.cut_tail(&*self.fs)?;
            }
            break;
        }
        Ok(())
    }

    /// Finds the end, and sees to it that there is an active segment.
    fn settle(&mut self, open: &OpenLog) -> Result<(), LogError> {
        let fs = self.fs.clone();
        let end = match self.segments.last_key_value() {
            Some((_, last)) => last.next_offset(&*fs)?,
            None => open.log_start,
        };
        if end < open.log_start {
            for (_, segment) in std::mem::take(&mut self.segments).into_iter().rev() {
                self.delete_segment(segment, open.now, true)?;
            }
            self.epochs.clear(&*fs)?;
        }
        if self.segments.is_empty() {
            let (base, stage) = (open.log_start, FileStage::Final);
            let segment = Segment::create(&*fs, &self.directory, base, stage, &open.config, open.now)?;
            self.segments.insert(base, segment);
        }
        self.next_offset = end.max(open.log_start);
        let first = self.segments.first_key_value().map_or(open.log_start, |(base, _)| *base);
        self.log_start = open.log_start.max(first);
        self.high_watermark = self.log_start;
        self.recovery_point =
            if open.clean_shutdown { self.next_offset } else { open.recovery_point.min(self.next_offset) };
        self.epochs.truncate_from_end(self.next_offset);
        self.epochs.truncate_from_start(self.log_start);
        self.epochs.flush(&*fs)
    }

    /// Removes the snapshots that belong to no segment, but for one above all of them, which a clean stop leaves.
    fn remove_stray_snapshots(&mut self) -> Result<(), LogError> {
        let last = self.active_base();
        let mut strays = self.producers.snapshots(&*self.fs)?;
        strays.retain(|snapshot| !self.segments.contains_key(snapshot));
        let newest = strays.last().copied().filter(|newest| *newest >= last);
        for stray in strays.into_iter().filter(|stray| Some(*stray) != newest) {
            self.producers.remove_snapshot(&*self.fs, stray)?;
        }
        Ok(())
    }

    /// Brings the producers to the log's end: from the last snapshot that reads, and the batches after it. Kafka takes the
    /// lack of any snapshot after a clean stop for an upgrade and begins with no producers; here they are replayed.
    pub(super) fn rebuild_producers(&mut self, now: Millis) -> Result<(), LogError> {
        self.remove_stray_snapshots()?;
        self.replay_producers(self.log_start, self.next_offset, now)?;
        self.producers.set_map_end(self.next_offset);
        self.producers.take_snapshot(&*self.fs)?;
        self.producers.on_high_watermark(self.high_watermark);
        Ok(())
    }

    fn replay_producers(&mut self, log_start: Offset, end: Offset, now: Millis) -> Result<(), LogError> {
        let fs = self.fs.clone();
        self.producers.truncate_and_reload(&*fs, log_start, end, now)?;
        let from = self.producers.map_end().max(log_start);
        if from >= end {
            return Ok(());
        }
        for segment in self.segments_between(from, end).cloned().collect::<Vec<_>>() {
            let path = segment.path(FileKind::Log);
            for batch in segment.batches(&*fs, segment.start_of(&*fs, from)?) {
                let batch = batch?;
                let view = batch.view(&path)?;
                if view.last_offset() < from || view.base_offset() >= end {
                    continue;
                }
                if let super::batch_reader::LogBatch::V2(batch) = &view {
                    // What was appended is taken as it is; one that cannot be understood has nothing to say.
                    if let Ok(Some(completed)) = self.producers.append(AppendOrigin::Replay, batch) {
                        self.producers.complete(&completed);
                    }
                }
            }
        }
        self.producers.set_map_end(end);
        Ok(())
    }
}

/// Removes what was not finished and finishes what was. Each step is durable before the next, so that a crash in here is
/// like the one before.
fn finish_swaps(fs: &dyn FileSystem, directory: &Path, config: &LogConfig) -> Result<(), LogError> {
    let names = || -> Result<Vec<FileName>, LogError> {
        Ok(fs.list(directory)?.iter().filter_map(|name| FileName::parse(name)).collect())
    };
    let remove = |name: &FileName| fs::remove_if_exists(fs, &name.path(directory));
    let found = names()?;
    if found.iter().all(|name| name.stage == FileStage::Final) {
        return Ok(());
    }
    let at = |stage: FileStage| found.iter().filter(move |name| name.stage == stage);
    let smallest_cleaned = at(FileStage::Cleaned).map(|name| name.base_offset).min();
    let unfinished = at(FileStage::Swap).filter(|name| smallest_cleaned.is_some_and(|least| name.base_offset >= least));
    // The swaps first: without its .cleaned files an unfinished one would look finished.
    for name in unfinished {
        remove(name)?;
    }
    fs.sync_dir(directory)?;
    for name in at(FileStage::Cleaned).chain(at(FileStage::Deleted)) {
        remove(name)?;
    }
    let found = names()?;
    let swaps = |kind: Option<FileKind>| {
        found.iter().filter(move |name| name.stage == FileStage::Swap && kind.is_none_or(|kind| name.kind == kind))
    };
    let mut range: Option<(Offset, Offset)> = None;
    for name in swaps(Some(FileKind::Log)) {
        let base = name.base_offset;
        let next = next_offset_of_swap(fs, directory, base, config)?;
        range = Some(range.map_or((base, next), |(from, to)| (from.min(base), to.max(next))));
    }
    if let Some((from, to)) = range {
        let replaced =
            |name: &&FileName| name.stage == FileStage::Final && name.base_offset >= from && name.base_offset < to;
        for name in found.iter().filter(replaced) {
            remove(name)?;
        }
        fs.sync_dir(directory)?;
    }
    // The log files first: while one is a swap, what has its final name counts as replaced, the new indexes too.
    let (logs, indexes): (Vec<&FileName>, Vec<&FileName>) = swaps(None).partition(|name| name.kind == FileKind::Log);
    for names in [logs, indexes] {
        for name in names {
            fs.rename(&name.path(directory), &name.at(FileStage::Final).path(directory))?;
        }
        fs.sync_dir(directory)?;
    }
    Ok(())
}

/// The offset after the last batch of a `.swap`. Its index may have its final name already.
fn next_offset_of_swap(
    fs: &dyn FileSystem,
    directory: &Path,
    base: Offset,
    config: &LogConfig,
) -> Result<Offset, LogError> {
    match Segment::open(fs, directory, base, FileStage::Swap, config) {
        Ok(segment) => segment.next_offset(fs),
        Err(LogError::Corrupt { .. }) => whole_next_offset(fs, directory, base),
        Err(LogError::Fs(e)) if e.is_not_found() => whole_next_offset(fs, directory, base),
        Err(e) => Err(e),
    }
}

fn whole_next_offset(fs: &dyn FileSystem, directory: &Path, base: Offset) -> Result<Offset, LogError> {
    let path = FileName::new(base, FileKind::Log).at(FileStage::Swap).path(directory);
    let mut next = base;
    for batch in super::segment_batches::SegmentBatches::new(fs, &path, 0, fs.len(&path)?) {
        next = batch?.view(&path)?.next_offset();
    }
    Ok(next)
}
