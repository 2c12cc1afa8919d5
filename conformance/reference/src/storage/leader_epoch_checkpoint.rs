//! A partition's `leader-epoch-checkpoint` (Kafka's `LeaderEpochFileCache`, `LeaderEpochCheckpointFile`): the
//! [`EpochCache`], and the file that has the same.
//!
//! Text like the other checkpoints, with lines `epoch start-offset`. What is added is in the file when the call returns.
//! What a truncation removes is written later ([`LeaderEpochs::flush`]; KAFKA-15046), so that after a crash the file may
//! have too many entries and never too few, and is put right when the log is opened (docs/replication.md 1.4, 1.8).

use std::path::{Path, PathBuf};

use super::checkpoint::{Line, read_lines, write_lines};
pub use super::epoch_cache::EpochEntry;
use super::epoch_cache::{EpochCache, InvalidEntry};
use super::fs::FileSystem;
use super::log_error::LogError;
use super::names::{LeaderEpoch, Offset};

/// The name of the file.
pub const FILE_NAME: &str = "leader-epoch-checkpoint";

/// How entries come to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EpochAssignment {
    /// What contradicts a new entry is dropped: since KAFKA-7415.
    #[default]
    Replacing,
    /// What contradicts an older entry is not noted: KIP-101.
    Rising,
    /// None: a log whose message format is older than 2.
    Off,
}

/// The leaders of a log and the file that has the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderEpochs {
    path: PathBuf,
    cache: EpochCache,
    assignment: EpochAssignment,
    /// Whether a truncation is still to be written.
    unwritten: bool,
}

impl LeaderEpochs {
    /// Reads the file of a partition; no entries if there is none.
    pub fn open(fs: &dyn FileSystem, directory: &Path) -> Result<Self, LogError> {
        let path = directory.join(FILE_NAME);
        let mut cache = EpochCache::default();
        for Line { position, fields } in read_entries(fs, &path)? {
            let entry = match fields.as_slice() {
                [epoch, offset] => epoch.parse().ok().zip(offset.parse().ok()),
                _ => None,
            };
            let Some((epoch, offset)) = entry else {
                return Err(LogError::corrupt(&path, position, "a line that is not `epoch offset`"));
            };
            cache.assign(LeaderEpoch(epoch), Offset(offset)).map_err(|e| LogError::corrupt(&path, position, e))?;
        }
        Ok(Self { path, cache, assignment: EpochAssignment::Replacing, unwritten: false })
    }

    /// The entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        self.cache.entries()
    }

    /// What is in memory.
    #[must_use]
    pub const fn cache(&self) -> &EpochCache {
        &self.cache
    }

    /// The latest epoch.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.cache.latest()
    }

    /// How entries come to be from now on.
    pub fn set_assignment(&mut self, fs: &dyn FileSystem, assignment: EpochAssignment) -> Result<(), LogError> {
        self.assignment = assignment;
        if assignment == EpochAssignment::Off { self.clear(fs) } else { Ok(()) }
    }

    /// Notes that `epoch` begins at `start_offset`; in the file when this returns. A batch without an epoch says nothing.
    pub fn assign(&mut self, fs: &dyn FileSystem, epoch: LeaderEpoch, start_offset: Offset) -> Result<(), LogError> {
        if epoch.0 < 0 {
            return Ok(());
        }
        let changed = match self.assignment {
            EpochAssignment::Replacing => self.cache.assign(epoch, start_offset),
            EpochAssignment::Rising => self.cache.assign_rising(epoch, start_offset),
            EpochAssignment::Off => Ok(false),
        };
        let invalid = |e: InvalidEntry| LogError::corrupt(&self.path, 0, e);
        if changed.map_err(invalid)? { self.write(fs) } else { Ok(()) }
    }

    /// What a batch says that recovery finds in the log: only a later epoch than all is news, epoch 0 too (KAFKA-10432).
    pub fn recover(&mut self, fs: &dyn FileSystem, epoch: LeaderEpoch, start_offset: Offset) -> Result<(), LogError> {
        if self.latest().is_some_and(|latest| epoch <= latest) {
            return Ok(());
        }
        self.assign(fs, epoch, start_offset)
    }

    /// Forgets the leaders that began at `end` or later: the log was cut there. Written later.
    pub fn truncate_from_end(&mut self, end: Offset) {
        self.unwritten |= self.cache.truncate_from_end(end);
    }

    /// Forgets the leaders that ended at `start` or before; the one that wrote `start` now begins there. Written later.
    pub fn truncate_from_start(&mut self, start: Offset) {
        let before = self.cache.clone();
        self.cache.truncate_from_start(start);
        // An entry that is put back as it was need not be written: opening a log that is sound changes nothing.
        self.unwritten |= self.cache != before;
    }

    /// Forgets all; in the file when this returns.
    pub fn clear(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        if self.cache.clear() { self.write(fs) } else { Ok(()) }
    }

    /// Writes what a truncation has removed, if that is still to be done.
    pub fn flush(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        if self.unwritten { self.write(fs) } else { Ok(()) }
    }

    fn write(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        let lines = self.entries().iter().map(|entry| format!("{} {}", entry.epoch, entry.start_offset));
        write_lines(fs, &self.path, lines)?;
        self.unwritten = false;
        Ok(())
    }
}

/// The lines; none if the file is missing or empty.
fn read_entries(fs: &dyn FileSystem, path: &Path) -> Result<Vec<Line>, LogError> {
    if !fs.exists(path)? || fs.len(path)? == 0 {
        return Ok(Vec::new());
    }
    read_lines(fs, path)
}
