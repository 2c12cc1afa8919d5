//! The time index of a segment (Kafka's `TimeIndex`): up to which offset no record is later than a time.
//!
//! An entry has 12 bytes: a timestamp (i64), and the last offset of the batch that has it, less the segment's base (i32).
//! Timestamps rise strictly; an entry that would not rise is left out. Stamping a batch with a horizon does not change
//! its max timestamp, so it changes nothing here (docs/compaction.md 1.6).

use std::path::{Path, PathBuf};

use super::fs::{self, FileSystem, FsError};
use super::log_error::LogError;
use super::names::{Millis, Offset};
use super::offset_index::relative_offset;

/// The bytes of an entry.
pub const ENTRY_BYTES: usize = 12;

/// An entry: the largest timestamp so far, and the last offset of the batch that brought it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimestampOffset {
    /// The timestamp.
    pub timestamp: Millis,
    /// The last offset of its batch.
    pub offset: Offset,
}

/// The time index of one segment: its entries, and the file that has the same.
#[derive(Debug, Clone)]
pub struct TimeIndex {
    path: PathBuf,
    base: Offset,
    max_entries: usize,
    entries: Vec<TimestampOffset>,
}

impl TimeIndex {
    /// An empty index, with an empty file.
    pub fn create(fs: &dyn FileSystem, path: &Path, base: Offset, max_bytes: usize) -> Result<Self, FsError> {
        fs.create(path)?;
        Ok(Self { path: path.to_owned(), base, max_entries: max_bytes / ENTRY_BYTES, entries: Vec::new() })
    }

    /// Reads an index. Whatever cannot have been written by [`Self::maybe_append`] is an error, and the repair is to
    /// rebuild the index from the log file.
    pub fn open(fs: &dyn FileSystem, path: &Path, base: Offset, max_bytes: usize) -> Result<Self, LogError> {
        let bytes = fs::read_all(fs, path)?;
        let mut index = Self { path: path.to_owned(), base, max_entries: max_bytes / ENTRY_BYTES, entries: Vec::new() };
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(LogError::corrupt(path, (bytes.len() - rest.len()) as u64, "an entry that is cut off"));
        }
        for (nth, entry) in entries.iter().enumerate() {
            let [t0, t1, t2, t3, t4, t5, t6, t7, o0, o1, o2, o3] = *entry;
            let timestamp = Millis(i64::from_be_bytes([t0, t1, t2, t3, t4, t5, t6, t7]));
            let relative = i32::from_be_bytes([o0, o1, o2, o3]);
            let at = (nth * ENTRY_BYTES) as u64;
            let (Some(offset), true) = (base.0.checked_add(i64::from(relative)).map(Offset), relative >= 0) else {
                return Err(LogError::corrupt(path, at, "an entry below the segment's base"));
            };
            if index.last().is_some_and(|last| timestamp <= last.timestamp || offset < last.offset) {
                return Err(LogError::corrupt(path, at, "an entry that does not rise"));
            }
            index.entries.push(TimestampOffset { timestamp, offset });
        }
        Ok(index)
    }

    /// The entries, from the first.
    #[must_use]
    pub fn entries(&self) -> &[TimestampOffset] {
        &self.entries
    }

    /// The last entry: the largest timestamp of the segment, once it is closed.
    #[must_use]
    pub fn last(&self) -> Option<TimestampOffset> {
        self.entries.last().copied()
    }

    /// Whether another entry has no place. The last place is kept for the entry that closes the segment
    /// (`TimeIndex#isFull`).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() + 1 >= self.max_entries
    }

    /// The bytes of the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        (self.entries.len() * ENTRY_BYTES) as u64
    }

    /// Adds an entry if it has a later timestamp than the last. `closing` takes the place that is kept for it.
    pub fn maybe_append(&mut self, fs: &dyn FileSystem, entry: TimestampOffset, closing: bool) -> Result<(), FsError> {
        let Some(relative) = relative_offset(self.base, entry.offset) else { return Ok(()) };
        let full = if closing { self.entries.len() >= self.max_entries } else { self.is_full() };
        if full || self.last().is_some_and(|last| entry.timestamp <= last.timestamp || entry.offset < last.offset) {
            return Ok(());
        }
        let mut bytes = entry.timestamp.0.to_be_bytes().to_vec();
        bytes.extend_from_slice(&relative.to_be_bytes());
        fs.append(&self.path, &bytes)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The last entry whose timestamp is at or before `timestamp`: a look-up by time starts after it.
    #[must_use]
    pub fn lookup(&self, timestamp: Millis) -> Option<TimestampOffset> {
        let after = self.entries.partition_point(|entry| entry.timestamp <= timestamp);
        after.checked_sub(1).and_then(|nth| self.entries.get(nth)).copied()
    }

    /// Drops the entries of `offset` and above.
    pub fn truncate_to(&mut self, fs: &dyn FileSystem, offset: Offset) -> Result<(), FsError> {
        let kept = self.entries.partition_point(|entry| entry.offset < offset);
        self.entries.truncate(kept);
        fs.truncate(&self.path, self.size())
    }

    /// Makes the file durable.
    pub fn flush(&self, fs: &dyn FileSystem) -> Result<(), FsError> {
        fs.sync(&self.path)
    }

    /// Follows a rename of the file.
    pub(super) fn moved_to(&mut self, path: PathBuf) {
        self.path = path;
    }
}
