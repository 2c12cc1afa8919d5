//! A partition's `leader-epoch-checkpoint` (Kafka's `LeaderEpochFileCache`): with which offset each leader began.
//!
//! Text like the other checkpoints, with lines `epoch start-offset`. Epochs rise, and so do their offsets: an entry that
//! would not is the end of those that contradict it.

use std::path::{Path, PathBuf};

use super::checkpoint::{Line, read_lines, write_lines};
use super::fs::FileSystem;
use super::log_error::LogError;
use super::names::{LeaderEpoch, Offset};

/// The name of the file.
pub const FILE_NAME: &str = "leader-epoch-checkpoint";

/// The start of a leader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochEntry {
    /// The leader's epoch.
    pub epoch: LeaderEpoch,
    /// The first offset that it wrote.
    pub start_offset: Offset,
}

/// The leaders of a log and the file that has the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaderEpochs {
    path: PathBuf,
    entries: Vec<EpochEntry>,
}

impl LeaderEpochs {
    /// Reads the file of a partition; no entries if there is none.
    pub fn open(fs: &dyn FileSystem, directory: &Path) -> Result<Self, LogError> {
        let path = directory.join(FILE_NAME);
        let mut entries: Vec<EpochEntry> = Vec::new();
        for Line { position, fields } in read_lines(fs, &path)? {
            let entry = match fields.as_slice() {
                [epoch, offset] => epoch.parse().ok().zip(offset.parse().ok()),
                _ => None,
            };
            let Some((epoch, offset)) = entry else {
                return Err(LogError::corrupt(&path, position, "a line that is not `epoch offset`"));
            };
            let entry = EpochEntry { epoch: LeaderEpoch(epoch), start_offset: Offset(offset) };
            if entries.last().is_some_and(|last| last.epoch >= entry.epoch || last.start_offset >= entry.start_offset) {
                return Err(LogError::corrupt(&path, position, "an entry that does not rise"));
            }
            entries.push(entry);
        }
        Ok(Self { path, entries })
    }

    /// The entries, the oldest first.
    #[must_use]
    pub fn entries(&self) -> &[EpochEntry] {
        &self.entries
    }

    /// The latest epoch.
    #[must_use]
    pub fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.epoch)
    }

    /// Notes that `epoch` began to write at `start_offset`, if it is a later one than all that are known.
    pub fn assign(&mut self, fs: &dyn FileSystem, epoch: LeaderEpoch, start_offset: Offset) -> Result<(), LogError> {
        if epoch.0 < 0 || self.latest().is_some_and(|latest| latest >= epoch) {
            return Ok(());
        }
        self.entries.retain(|entry| entry.start_offset < start_offset);
        self.entries.push(EpochEntry { epoch, start_offset });
        self.write(fs)
    }

    /// Forgets the leaders that began at `end` or later: the log was cut there.
    pub fn truncate_from_end(&mut self, fs: &dyn FileSystem, end: Offset) -> Result<(), LogError> {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.start_offset < end);
        if self.entries.len() == before { Ok(()) } else { self.write(fs) }
    }

    /// Forgets the leaders that ended at `start` or before; the one that wrote `start` now begins there.
    pub fn truncate_from_start(&mut self, fs: &dyn FileSystem, start: Offset) -> Result<(), LogError> {
        let ended = self.entries.partition_point(|entry| entry.start_offset <= start);
        let Some(current) = ended.checked_sub(1) else { return Ok(()) };
        let unchanged = current == 0 && self.entries.first().is_some_and(|entry| entry.start_offset == start);
        if unchanged {
            return Ok(());
        }
        self.entries.drain(..current);
        if let Some(first) = self.entries.first_mut() {
            first.start_offset = start;
        }
        self.write(fs)
    }

    fn write(&self, fs: &dyn FileSystem) -> Result<(), LogError> {
        let lines = self.entries.iter().map(|entry| format!("{} {}", entry.epoch, entry.start_offset));
        write_lines(fs, &self.path, lines)
    }
}
