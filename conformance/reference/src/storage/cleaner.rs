//! A round of the cleaner on the files of a log (docs/compaction.md 2.3 to 2.7; Kafka's `Cleaner#cleanSegments`,
//! `LogCleaner#cleanLog`): [`round`] decides, and this gives it bytes and puts away what it keeps.
//!
//! A chunk of a segment is in memory at a time, and of what is kept nothing but the indexes. [`CleaningHook`] is called
//! before each piece of work: it may throttle, report, abort, and (in a test) read, append and move the clock in the
//! middle of a round.
//!
//! | The round ends by | Files | Checkpoint |
//! | --- | --- | --- |
//! | its end | every group is swapped | F := E |
//! | an abort | the current group's `.cleaned` are removed; earlier groups stay swapped | F as it was |
//! | another error | the current group's `.cleaned` stay, as after a crash; the next round or start removes them | F as it was; the partition is uncleanable |

use super::clean_times::CleanTimes;
use super::cleaner_manager::{CleanerManager, LogToClean};
use super::fs;
use super::grouping::GroupLimits;
use super::log::Log;
use super::log_error::LogError;
use super::mutation::Mutation;
use super::names::{Millis, Offset};
use super::offset_map::OffsetMap;
use super::retention::{ActiveProducers, LastRecord};
use super::round::{
    self, FinishedGroup, MappedRound, Progress, Recopied, RoundError, RoundInput, RoundOutcome, RoundStorage,
    SourceSegment,
};
use super::rules::Removal;
use super::segment::Segment;
use super::segment_files::{FileKind, FileStage};
use super::transaction_tracker::AbortedTxn;

/// Why a round on disk ended early.
pub type CleaningError = RoundError<LogError>;

/// Is called before each piece of work of a round.
pub trait CleaningHook {
    /// An error ends the round: [`LogError::CleaningAborted`] as an abort, any other as a failure.
    fn check(&mut self, log: &mut Log, progress: Progress) -> Result<(), LogError>;
}

impl<F: FnMut(&mut Log, Progress) -> Result<(), LogError>> CleaningHook for F {
    fn check(&mut self, log: &mut Log, progress: Progress) -> Result<(), LogError> {
        self(log, progress)
    }
}

/// A hook that does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHook;

impl CleaningHook for NoHook {
    fn check(&mut self, _: &mut Log, _: Progress) -> Result<(), LogError> {
        Ok(())
    }
}

/// Cleans a log from F to at most U. What was swapped stays swapped, whatever happens; the checkpoint is not written here.
pub fn clean(
    log: &mut Log,
    to_clean: &LogToClean,
    now: Millis,
    chunk_bytes: usize,
    map: &mut dyn OffsetMap,
    hook: &mut dyn CleaningHook,
) -> Result<RoundOutcome, CleaningError> {
    let input = input(log, to_clean, now, chunk_bytes);
    on_files(log, now, hook, |storage| round::run(storage, &input, map))
}

/// The first step of a round that is taken step by step: builds its offset map.
pub fn build_map(
    log: &mut Log,
    to_clean: &LogToClean,
    now: Millis,
    chunk_bytes: usize,
    map: &mut dyn OffsetMap,
    hook: &mut dyn CleaningHook,
) -> Result<MappedRound, CleaningError> {
    let input = input(log, to_clean, now, chunk_bytes);
    on_files(log, now, hook, |storage| MappedRound::build(storage, input, map))
}

/// A further step: copies the next group of segments, and swaps it in. False if there was none. `now` is what the clock
/// shows by then; the round's decisions rest on what it showed at the start.
pub fn clean_group(
    log: &mut Log,
    round: &mut MappedRound,
    now: Millis,
    map: &dyn OffsetMap,
    hook: &mut dyn CleaningHook,
) -> Result<bool, CleaningError> {
    on_files(log, now, hook, |storage| round.clean_group(storage, map))
}

fn input(log: &Log, to_clean: &LogToClean, now: Millis, chunk_bytes: usize) -> RoundInput {
    let config = log.config();
    let limits =
        GroupLimits { segment_bytes: config.segment_bytes, segment_index_bytes: config.segment_index_bytes as u64 };
    RoundInput {
        log_start: log.log_start(),
        chunk_bytes,
        max_batch_bytes: config.max_message_bytes.max(chunk_bytes),
        limits,
        ..RoundInput::new(to_clean.first_dirty, to_clean.upper_bound, now, log.rules().cleaner)
    }
}

/// Runs a piece of a round on the files of a log; an abort takes what the current group has written with it.
fn on_files<T>(
    log: &mut Log,
    now: Millis,
    hook: &mut dyn CleaningHook,
    work: impl FnOnce(&mut LogStorage<'_>) -> Result<T, CleaningError>,
) -> Result<T, CleaningError> {
    let mut storage = LogStorage { log, now, hook, cleaned: None };
    let outcome = work(&mut storage);
    if let Err(RoundError::Storage(LogError::CleaningAborted)) = outcome {
        storage.drop_cleaned()?;
    }
    outcome
}

/// Ends a round that began at `now`: F moves to E after a whole one, and stays after any other, which makes the partition uncleanable unless
/// it was an abort. An error of the file system is for the caller: the directory is offline.
pub fn done(
    manager: &mut CleanerManager,
    log: &Log,
    to_clean: &LogToClean,
    now: Millis,
    outcome: &Result<RoundOutcome, CleaningError>,
) -> Result<(), LogError> {
    let end = match outcome {
        Ok(_) if log.rules().cleaner.slips(Mutation::DirtyFromTheBound) => to_clean.upper_bound,
        Ok(outcome) => outcome.cleaned_to,
        Err(_) => to_clean.first_dirty,
    };
    if let Err(RoundError::Storage(error)) = outcome
        && error.is_power_cut()
    {
        return Err(error.clone());
    }
    let removal = log.rules().cleaner.removal;
    if outcome.is_ok() && matches!(removal, Removal::CheckpointPair | Removal::CheckpointList) {
        let mut times = CleanTimes::read(&**log.fs(), log.directory())?;
        times.add(end, now, removal);
        times.write(&**log.fs(), log.directory())?;
    }
    if outcome.is_err() && log.rules().cleaner.slips(Mutation::CheckpointFirst) {
        manager.forget(&to_clean.partition);
        return Ok(());
    }
    manager.done_cleaning(&**log.fs(), &[log], &to_clean.partition, end)?;
    let failed = !matches!(outcome, Ok(_) | Err(RoundError::Storage(LogError::CleaningAborted)));
    if failed && !log.rules().cleaner.slips(Mutation::UncleanableNotMarked) {
        manager.mark_uncleanable(&to_clean.partition);
    }
    Ok(())
}

/// The files of a log, as a round sees them.
struct LogStorage<'a> {
    log: &'a mut Log,
    now: Millis,
    hook: &'a mut dyn CleaningHook,
    cleaned: Option<Segment>,
}

impl LogStorage<'_> {
    fn segment(&self, base: Offset) -> Result<&Segment, LogError> {
        // A segment that retention has removed meanwhile ends the round like an abort: its next one begins anew.
        self.log.segments.get(&base).ok_or(LogError::CleaningAborted)
    }

    fn drop_cleaned(&mut self) -> Result<(), LogError> {
        if let Some(cleaned) = self.cleaned.take() {
            for kind in FileKind::OF_A_SEGMENT {
                fs::remove_if_exists(&*self.log.fs, &cleaned.path(kind))?;
            }
        }
        Ok(())
    }
}

impl RoundStorage for LogStorage<'_> {
    type Error = LogError;

    fn segments(&self) -> Vec<SourceSegment> {
        let fs = &*self.log.fs;
        let source = |segment: &Segment| SourceSegment {
            base: segment.base(),
            bytes: segment.size(),
            offset_index_bytes: segment.offset_index().size(),
            time_index_bytes: segment.time_index().size(),
            mtime: segment.modified(fs).unwrap_or(Millis::NONE),
        };
        self.log.segments().map(source).collect()
    }

    fn position_of(&mut self, segment: Offset, offset: Offset) -> Result<u64, LogError> {
        self.segment(segment)?.start_of(&*self.log.fs, offset)
    }

    fn read(&mut self, segment: Offset, position: u64, bytes: usize) -> Result<Vec<u8>, LogError> {
        let segment = self.segment(segment)?;
        let left = usize::try_from(segment.size().saturating_sub(position)).unwrap_or(usize::MAX);
        Ok(self.log.fs.read_at(&segment.path(FileKind::Log), position, bytes.min(left))?)
    }

    fn aborted(&mut self, segment: Offset) -> Result<Vec<AbortedTxn>, LogError> {
        Ok(self.segment(segment)?.transaction_index().entries().to_vec())
    }

    fn delete_retention(&mut self) -> Millis {
        self.log.config.delete_retention()
    }

    fn high_watermark(&mut self) -> Offset {
        self.log.high_watermark
    }

    fn clean_times(&mut self) -> Result<CleanTimes, LogError> {
        CleanTimes::read(&*self.log.fs, &self.log.directory)
    }

    fn replicated(&mut self) -> Offset {
        self.log.replicated
    }

    fn producers(&mut self) -> ActiveProducers {
        let last = |entry: &super::producer_entry::ProducerEntry| LastRecord {
            last_data_offset: entry.last_data_offset(),
            producer_epoch: entry.epoch,
        };
        self.log.producers.producers().iter().map(|(producer, entry)| (*producer, last(entry))).collect()
    }

    fn check(&mut self, progress: Progress) -> Result<(), LogError> {
        self.hook.check(self.log, progress)
    }

    fn begin(&mut self, base: Offset) -> Result<(), LogError> {
        let (fs, config) = (&*self.log.fs, &self.log.config);
        let stage = FileStage::Cleaned;
        self.cleaned = Some(Segment::create(fs, &self.log.directory, base, stage, config, self.now)?);
        Ok(())
    }

    fn append(&mut self, chunk: Recopied) -> Result<(), LogError> {
        match &mut self.cleaned {
            Some(cleaned) => cleaned.append(&*self.log.fs, &chunk.bytes, self.now),
            None => Ok(()),
        }
    }

    fn replace(&mut self, group: FinishedGroup) -> Result<(), LogError> {
        let Some(mut cleaned) = self.cleaned.take() else { return Ok(()) };
        let fs = self.log.fs.clone();
        for entry in group.aborted {
            cleaned.transaction_index_mut().append(&*fs, entry)?;
        }
        cleaned.close(&*fs)?;
        cleaned.set_modified(&*fs, group.mtime)?;
        self.log.replace_segments(cleaned, &group.sources, self.now)
    }
}
