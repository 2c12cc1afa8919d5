//! The transaction index of a segment (Kafka's `TransactionIndex`): the aborted transactions whose marker it holds.
//!
//! An entry has 34 bytes (docs/compaction.md 3.2): version (i16, 0), producer id, first offset, last offset (that of the
//! ABORT marker), last stable offset as it was once the marker was written (i64 each). Last offsets rise strictly. There is
//! a file only if there is an entry.

use std::path::{Path, PathBuf};

use super::fs::{self, FileSystem, FsError};
use super::log_error::LogError;
use super::names::{Offset, ProducerId};
use super::transaction_tracker::{AbortedTxn, collect_aborted};

/// The bytes of an entry.
pub const ENTRY_BYTES: usize = 34;

impl AbortedTxn {
    /// Kafka's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        let fields = [self.producer_id.0, self.first_offset.0, self.last_offset.0, self.last_stable_offset.0];
        let (_, body) = bytes.split_at_mut(2);
        for (field, place) in fields.into_iter().zip(body.as_chunks_mut::<8>().0) {
            *place = field.to_be_bytes();
        }
        bytes
    }

    /// Reads Kafka's bytes; `None` if they are of another version.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let (version, body) = bytes.split_first_chunk::<2>()?;
        let (&[producer, first, last, stable], _) = body.as_chunks::<8>().0.split_first_chunk::<4>()?;
        (*version == [0, 0]).then_some(Self {
            producer_id: ProducerId(i64::from_be_bytes(producer)),
            first_offset: Offset(i64::from_be_bytes(first)),
            last_offset: Offset(i64::from_be_bytes(last)),
            last_stable_offset: Offset(i64::from_be_bytes(stable)),
        })
    }
}

/// What a search in one segment's index found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AbortedSearch {
    /// The transactions that overlap the range.
    pub transactions: Vec<AbortedTxn>,
    /// Whether no later segment can have another one.
    pub is_complete: bool,
}

/// The transaction index of one segment: its entries, and the file that has the same.
#[derive(Debug, Clone)]
pub struct TransactionIndex {
    path: PathBuf,
    entries: Vec<AbortedTxn>,
}

impl TransactionIndex {
    /// An empty index. A file of that name is removed; the first entry makes one.
    pub fn create(fs: &dyn FileSystem, path: &Path) -> Result<Self, FsError> {
        fs::remove_if_exists(fs, path)?;
        Ok(Self { path: path.to_owned(), entries: Vec::new() })
    }

    /// Reads an index, which may have no file. `base` is the segment's base: no marker lies below it.
    pub fn open(fs: &dyn FileSystem, path: &Path, base: Offset) -> Result<Self, LogError> {
        let bytes = if fs.exists(path)? { fs::read_all(fs, path)? } else { Vec::new() };
        let mut index = Self { path: path.to_owned(), entries: Vec::new() };
        let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
        if !rest.is_empty() {
            return Err(LogError::corrupt(path, (bytes.len() - rest.len()) as u64, "an entry that is cut off"));
        }
        for (nth, entry) in entries.iter().enumerate() {
            let at = (nth * ENTRY_BYTES) as u64;
            let Some(entry) = AbortedTxn::from_bytes(entry) else {
                return Err(LogError::corrupt(path, at, "an entry of a version other than 0"));
            };
            if entry.last_offset < base || entry.first_offset > entry.last_offset {
                return Err(LogError::corrupt(path, at, "a marker outside of the segment"));
            }
            if index.entries.last().is_some_and(|last| entry.last_offset <= last.last_offset) {
                return Err(LogError::corrupt(path, at, "an entry that does not rise"));
            }
            index.entries.push(entry);
        }
        Ok(index)
    }

    /// The entries, in the order of their markers.
    #[must_use]
    pub fn entries(&self) -> &[AbortedTxn] {
        &self.entries
    }

    /// Adds an entry, if its marker comes after that of the last one.
    pub fn append(&mut self, fs: &dyn FileSystem, entry: AbortedTxn) -> Result<(), LogError> {
        if self.entries.last().is_some_and(|last| entry.last_offset <= last.last_offset) {
            let position = (self.entries.len() * ENTRY_BYTES) as u64;
            return Err(LogError::corrupt(&self.path, position, "an entry that does not rise"));
        }
        if self.entries.is_empty() {
            fs.create(&self.path)?;
        }
        fs.append(&self.path, &entry.to_bytes())?;
        self.entries.push(entry);
        Ok(())
    }

    /// The transactions that overlap `[from, upper_bound)`: whose marker is at or after `from`, and whose data begin
    /// before `upper_bound` (`TransactionIndex#collectAbortedTxns`).
    #[must_use]
    pub fn collect(&self, from: Offset, upper_bound: Offset) -> AbortedSearch {
        let mut transactions = Vec::new();
        let is_complete = collect_aborted(&self.entries, from, upper_bound, &mut transactions);
        AbortedSearch { transactions, is_complete }
    }

    /// Drops the entries whose marker is at `offset` or above.
    pub fn truncate_to(&mut self, fs: &dyn FileSystem, offset: Offset) -> Result<(), FsError> {
        let kept = self.entries.partition_point(|entry| entry.last_offset < offset);
        if kept == self.entries.len() {
            return Ok(());
        }
        self.entries.truncate(kept);
        fs.truncate(&self.path, (kept * ENTRY_BYTES) as u64)
    }

    /// Makes the file durable, if there is one.
    pub fn flush(&self, fs: &dyn FileSystem) -> Result<(), FsError> {
        if self.entries.is_empty() && !fs.exists(&self.path)? { Ok(()) } else { fs.sync(&self.path) }
    }

    /// Follows a rename of the file.
    pub(super) fn moved_to(&mut self, path: PathBuf) {
        self.path = path;
    }
}
