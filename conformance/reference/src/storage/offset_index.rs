//! The offset index of a segment (Kafka's `OffsetIndex`): for some batches, their last offset and where they start.
//!
//! An entry has 8 bytes: the offset less the segment's base (i32), the position in the log file (i32). The file is the
//! entries and nothing else; Kafka fills the file of an active segment up with zeros until it is closed, which is why an
//! index is rebuilt after an unclean stop. Both columns rise.
//!
//! The index is sparse: a batch gets an entry when more than `index.interval.bytes` were written since the last one. Where
//! it points decides where a reader and the cleaner's map start (docs/compaction.md 2.4), so it is part of the behaviour.

use std::path::{Path, PathBuf};

use super::fs::{self, FileSystem, FsError};
use super::log_error::LogError;
use super::names::Offset;

/// The bytes of an entry.
pub const ENTRY_BYTES: usize = 8;

/// An entry: the batch whose last offset is `offset` starts at `position`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetPosition {
    /// The last offset of a batch.
    pub offset: Offset,
    /// Where the batch starts.
    pub position: u32,
}

/// The offset index of one segment: its entries, and the file that has the same.
#[derive(Debug, Clone)]
pub struct OffsetIndex {
    path: PathBuf,
    base: Offset,
    max_entries: usize,
    entries: Vec<OffsetPosition>,
}

/// How far an offset is from a base, if an index can say it.
#[must_use]
pub fn relative_offset(base: Offset, offset: Offset) -> Option<i32> {
    offset.0.checked_sub(base.0).and_then(|delta| i32::try_from(delta).ok()).filter(|delta| *delta >= 0)
}

impl OffsetIndex {
    /// An empty index, with an empty file.
    pub fn create(fs: &dyn FileSystem, path: &Path, base: Offset, max_bytes: usize) -> Result<Self, FsError> {
        fs.create(path)?;
        Ok(Self { path: path.to_owned(), base, max_entries: max_bytes / ENTRY_BYTES, entries: Vec::new() })
    }

    /// Reads an index. Whatever cannot have been written by [`Self::append`] is an error, and the repair is to rebuild
    /// the index from the log file.
    pub fn open(fs: &dyn FileSystem, path: &Path, base: Offset, max_bytes: usize) -> Result<Self, LogError> {
        let bytes = fs::read_all(fs, path)?;
        let mut index = Self { path: path.to_owned(), base, max_entries: max_bytes / ENTRY_BYTES, entries: Vec::new() };
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(LogError::corrupt(path, (bytes.len() - rest.len()) as u64, "an entry that is cut off"));
        }
        for (nth, entry) in entries.iter().enumerate() {
            let [o0, o1, o2, o3, p0, p1, p2, p3] = *entry;
            let relative = i32::from_be_bytes([o0, o1, o2, o3]);
            let position = i32::from_be_bytes([p0, p1, p2, p3]);
            let at = (nth * ENTRY_BYTES) as u64;
            let (Ok(position), Some(offset), true) =
                (u32::try_from(position), base.0.checked_add(i64::from(relative)).map(Offset), relative >= 0)
            else {
                return Err(LogError::corrupt(path, at, "an entry below the segment's base or of a negative position"));
            };
            if index.last().is_some_and(|last| offset <= last.offset || position <= last.position) {
                return Err(LogError::corrupt(path, at, "an entry that does not rise"));
            }
            index.entries.push(OffsetPosition { offset, position });
        }
        Ok(index)
    }

    /// The entries, from the first.
    #[must_use]
    pub fn entries(&self) -> &[OffsetPosition] {
        &self.entries
    }

    /// The last entry.
    #[must_use]
    pub fn last(&self) -> Option<OffsetPosition> {
        self.entries.last().copied()
    }

    /// Whether another entry has no place (`segment.index.bytes`).
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.entries.len() >= self.max_entries
    }

    /// The bytes of the file.
    #[must_use]
    pub fn size(&self) -> u64 {
        (self.entries.len() * ENTRY_BYTES) as u64
    }

    /// Adds an entry. In a full index, and for an offset that an entry cannot say or that is no higher than the last,
    /// there is none: the index is sparse, and a reader only starts a little earlier.
    pub fn append(&mut self, fs: &dyn FileSystem, offset: Offset, position: u64) -> Result<(), FsError> {
        let (Some(relative), Ok(position)) = (relative_offset(self.base, offset), i32::try_from(position)) else {
            return Ok(());
        };
        let entry = OffsetPosition { offset, position: position.unsigned_abs() };
        if self.is_full() || self.last().is_some_and(|last| offset <= last.offset || entry.position <= last.position) {
            return Ok(());
        }
        let mut bytes = relative.to_be_bytes().to_vec();
        bytes.extend_from_slice(&position.to_be_bytes());
        fs.append(&self.path, &bytes)?;
        self.entries.push(entry);
        Ok(())
    }

    /// The last entry at or below an offset.
    #[must_use]
    pub fn entry_for(&self, offset: Offset) -> Option<OffsetPosition> {
        let after = self.entries.partition_point(|entry| entry.offset <= offset);
        after.checked_sub(1).and_then(|nth| self.entries.get(nth)).copied()
    }

    /// Where to start reading for an offset: the position of that entry, or the start of the file.
    #[must_use]
    pub fn lookup(&self, offset: Offset) -> u64 {
        self.entry_for(offset).map_or(0, |entry| u64::from(entry.position))
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
