//! Putting a cleaned segment in place of the segments that it was made of (docs/compaction.md 2.7; Kafka's
//! `LocalLog#replaceSegments`).
//!
//! ```text
//! 1  .cleaned files are complete and synced, and their names are
//! 2  .cleaned -> .swap              from here on a crash finishes the swap instead of undoing it
//! 3  old files -> .deleted          ascending
//! 4  .swap -> final names           the log file first: until then a recovery takes the rest for replaced
//! ```
//!
//! Between the steps, and after each old segment, the directory is synced. Kafka does it once, after step 4, and trusts that a journal keeps the order of
//! renames; without a journal old files could be gone that no `.swap` replaces, or come back beside it, or a
//! later one be gone while an earlier one comes back. What is on the disk at a crash between steps is the same.

use super::log::Log;
use super::log_error::LogError;
use super::mutation::Mutation;
use super::names::{Millis, Offset};
use super::segment::Segment;
use super::segment_files::FileStage;

impl Log {
    /// Replaces the segments of these bases by `cleaned`, which is at stage `.cleaned` and whose base is the first of them.
    /// Those that retention has removed meanwhile are passed over.
    pub fn replace_segments(&mut self, mut cleaned: Segment, old: &[Offset], now: Millis) -> Result<(), LogError> {
        let fs = self.fs.clone();
        cleaned.flush(&*fs)?;
        fs.sync_dir(&self.directory)?;
        cleaned.change_stage(&*fs, FileStage::Swap)?;
        fs.sync_dir(&self.directory)?;
        let base = cleaned.base();
        let mut old: Vec<_> = old.to_vec();
        if self.rules.cleaner.slips(Mutation::OldFilesDeletedLastFirst) {
            old.reverse();
        }
        for offset in &old {
            if let Some(segment) = self.segments.remove(offset) {
                // The segment of the same base lives on, and with it the snapshot.
                self.delete_segment(segment, now, *offset != base)?;
                fs.sync_dir(&self.directory)?;
            }
        }
        cleaned.change_stage(&*fs, FileStage::Final)?;
        fs.sync_dir(&self.directory)?;
        self.segments.insert(base, cleaned);
        Ok(())
    }
}
