//! Cutting a log: its end, because another leader wrote something else (Kafka's `UnifiedLog#truncateTo`), or its start, by
//! retention or because an administrator asked for it (`#deleteOldSegments`, `#maybeIncrementLogStartOffset`;
//! docs/compaction.md 2.7, 2.10).
//!
//! Deleting from the start is always of a prefix, so that no tombstone goes before an older value of its key.

use super::fs::SharedFs;
use super::log::Log;
use super::log_error::{AppendError, LogError};
use super::names::{Millis, Offset};
use super::segment::Segment;
use super::segment_files::{FileKind, FileStage};

/// Why the oldest segment may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breach {
    LogStart,
    Time,
    Size,
}

/// The oldest segment, as far as its retention is concerned.
#[derive(Debug, Clone, Copy)]
struct Oldest {
    /// The base of the one after it, or the log's end.
    end: Offset,
    size: u64,
    largest_timestamp: Millis,
}

impl Log {
    /// Cuts everything of `offset` and above; a batch that spans it goes as a whole, and the log still ends at `offset`.
    pub fn truncate_to(&mut self, offset: Offset, now: Millis) -> Result<(), LogError> {
        if offset >= self.next_offset {
            // An epoch without records may begin at the end, and a follower would ask for it again and again (KAFKA-10706).
            if self.cleans_epochs_at_end {
                self.epochs.truncate_from_end(self.next_offset);
            }
            return Ok(());
        }
        let offset = Offset(offset.0.max(0));
        if self.segments.first_key_value().is_none_or(|(first, _)| *first > offset) {
            return self.truncate_fully(offset, now);
        }
        let fs = self.fs.clone();
        let above: Vec<Offset> = self.segments.range(offset.next()..).map(|(base, _)| *base).collect();
        // From the end, so that a crash leaves a prefix.
        for base in above.into_iter().rev() {
            if let Some(segment) = self.segments.remove(&base) {
                self.delete_segment(segment, now, false)?;
                fs.sync_dir(&self.directory)?;
            }
        }
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().truncate_to(&*fs, offset)?;
            active.get_mut().flush(&*fs)?;
        }
        fs.sync_dir(&self.directory)?;
        self.next_offset = offset;
        self.recovery_point = self.recovery_point.min(offset);
        self.log_start = self.log_start.min(offset);
        self.epochs.truncate_from_end(offset);
        self.rebuild_producers(now)?;
        self.set_high_watermark(self.high_watermark.min(offset));
        Ok(())
    }

    /// Removes everything; the log begins again at `offset`.
    pub fn truncate_fully(&mut self, offset: Offset, now: Millis) -> Result<(), LogError> {
        let fs = self.fs.clone();
        for (_, segment) in std::mem::take(&mut self.segments).into_iter().rev() {
            self.delete_segment(segment, now, false)?;
            fs.sync_dir(&self.directory)?;
        }
        self.producers.truncate_fully(&*fs, offset)?;
        self.epochs.clear(&*fs)?;
        let segment = Segment::create(&*fs, &self.directory, offset, FileStage::Final, &self.config, now)?;
        fs.sync_dir(&self.directory)?;
        self.segments.insert(offset, segment);
        self.next_offset = offset;
        self.log_start = offset;
        self.recovery_point = offset;
        self.high_watermark = offset;
        Ok(())
    }

    /// Moves the start of the log, below the high watermark: what `DeleteRecords` does, which is refused unless the policy
    /// contains `delete`. The segments below go with the next retention.
    pub fn delete_records(&mut self, before: Offset) -> Result<(), LogError> {
        if !self.config.delete {
            return Err(AppendError::InvalidRecord("records are deleted where the policy contains `delete`").into());
        }
        if before > self.high_watermark {
            let (log_start, end) = (self.log_start, self.high_watermark);
            return Err(LogError::OffsetOutOfRange { asked: before, log_start, end });
        }
        self.increment_log_start(before)
    }

    /// Moves the start of the log to that of the leader's log, as far as records are on all replicas.
    pub fn advance_log_start(&mut self, to: Offset) -> Result<(), LogError> {
        if to > self.high_watermark {
            let (log_start, end) = (self.log_start, self.high_watermark);
            return Err(LogError::OffsetOutOfRange { asked: to, log_start, end });
        }
        self.increment_log_start(to)
    }

    /// Where the batch begins that has this offset inside of it; `None` if none has.
    pub fn batch_start_of(&self, offset: Offset) -> Result<Option<Offset>, LogError> {
        let Some((_, segment)) = self.segments.range(..=offset).next_back() else { return Ok(None) };
        let Some(found) = segment.find(&*self.fs, offset)? else { return Ok(None) };
        let path = segment.path(FileKind::Log);
        let batch = found.view(&path)?;
        // The outside of an old format's wrapper tells its last offset alone.
        let base = if batch.is_legacy() {
            let records = batch.records().map_err(|e| LogError::corrupt(&path, found.position, e.fault))?;
            records.first().map_or(batch.base_offset(), |first| first.offset)
        } else {
            batch.base_offset()
        };
        Ok((base < offset).then_some(base))
    }

    /// Leaves the high watermark outside of the log, for a slip (KAFKA-9491).
    pub(crate) fn force_high_watermark(&mut self, offset: Offset) {
        self.high_watermark = offset;
    }

    pub(super) fn increment_log_start(&mut self, offset: Offset) -> Result<(), LogError> {
        if offset > self.log_start {
            let fs: SharedFs = self.fs.clone();
            self.log_start = offset;
            self.high_watermark = self.high_watermark.max(offset);
            self.epochs.truncate_from_start(offset);
            self.producers.on_log_start(&*fs, offset)?;
        }
        Ok(())
    }

    /// Deletes the oldest segments: always those below the log's start; with `delete` in the policy also by time and by
    /// size. It stops at the first one that stays, and at the high watermark. How many went.
    pub fn delete_old_segments(&mut self, now: Millis) -> Result<usize, LogError> {
        let mut deleted = 0;
        while let Some((base, oldest)) = self.oldest()? {
            let Some(_breach) = self.breach(&oldest, now) else { break };
            // The log keeps an active segment.
            if self.segments.len() == 1 {
                if oldest.size == 0 {
                    break;
                }
                self.roll(now)?;
            }
            let Some(segment) = self.segments.remove(&base) else { break };
            self.delete_segment(segment, now, true)?;
            // Each for itself, so that a stop never leaves a gap.
            self.fs.sync_dir(&self.directory)?;
            let first = self.segments.first_key_value().map_or(self.next_offset, |(base, _)| *base);
            self.increment_log_start(first)?;
            deleted += 1;
        }
        Ok(deleted)
    }

    fn oldest(&self) -> Result<Option<(Offset, Oldest)>, LogError> {
        let Some((base, segment)) = self.segments.first_key_value() else { return Ok(None) };
        let largest_timestamp = segment.largest_timestamp(&*self.fs)?;
        Ok(Some((*base, Oldest { end: self.end_of(*base), size: segment.size(), largest_timestamp })))
    }

    fn breach(&self, oldest: &Oldest, now: Millis) -> Option<Breach> {
        let is_old = |limit: Millis| now.0.wrapping_sub(oldest.largest_timestamp.0) > limit.0;
        let is_large = |limit: u64| self.size().saturating_sub(oldest.size) >= limit;
        match () {
            () if oldest.end > self.high_watermark => None,
            () if oldest.end <= self.log_start => Some(Breach::LogStart),
            () if !self.config.delete => None,
            () if self.config.retention_ms.is_some_and(is_old) => Some(Breach::Time),
            () if self.config.retention_bytes.is_some_and(is_large) => Some(Breach::Size),
            () => None,
        }
    }
}
