//! When the log became clean up to which offset: what the first design of KIP-534 would have kept of a partition
//! (docs/compaction.md 4.4). Rejected, because it says nothing of markers, and is lost with its file and with the replica.
//!
//! A tombstone below the offset of a pair stays until `delete.retention.ms` after the pair's time. With one pair each
//! round renews the time of all of them; with a list each keeps the time of the round that first went past it.

use std::path::{Path, PathBuf};

use super::checkpoint::{Line, read_lines, write_lines};
use super::fs::FileSystem;
use super::log_error::LogError;
use super::names::{Millis, Offset};
use super::rules::Removal;

/// The file, beside the log's own.
const FILE: &str = "clean-times-checkpoint";

/// First dirty offsets with the times of the rounds that ended there, ascending.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CleanTimes {
    pairs: Vec<(Offset, Millis)>,
}

/// No round is known.
pub static NOTHING_KNOWN: CleanTimes = CleanTimes { pairs: Vec::new() };

impl CleanTimes {
    /// When this offset became clean; `None` for one that no known round went past.
    #[must_use]
    pub fn since(&self, offset: Offset) -> Option<Millis> {
        self.pairs.iter().find(|(end, _)| offset < *end).map(|(_, time)| *time)
    }

    /// A round that began at `time` has made everything below `end` clean.
    pub fn add(&mut self, end: Offset, time: Millis, removal: Removal) {
        match removal {
            Removal::CheckpointPair => self.pairs = vec![(end, time)],
            Removal::CheckpointList if self.pairs.last().is_none_or(|(last, _)| *last < end) => {
                self.pairs.push((end, time));
            }
            _ => {}
        }
    }

    /// Where it is written down, of the log in this directory.
    #[must_use]
    pub fn path(directory: &Path) -> PathBuf {
        directory.join(FILE)
    }

    /// What the file of a log says; nothing where it is lost.
    pub fn read(fs: &dyn FileSystem, directory: &Path) -> Result<Self, LogError> {
        let path = Self::path(directory);
        let mut pairs = Vec::new();
        for Line { position, fields } in read_lines(fs, &path)? {
            let pair = match fields.as_slice() {
                [end, time] => end.parse().ok().zip(time.parse().ok()),
                _ => None,
            };
            let Some((end, time)) = pair else {
                return Err(LogError::corrupt(&path, position, "a line that is not `offset time`"));
            };
            pairs.push((Offset(end), Millis(time)));
        }
        Ok(Self { pairs })
    }

    /// Puts this in the file of a log.
    pub fn write(&self, fs: &dyn FileSystem, directory: &Path) -> Result<(), LogError> {
        let lines = self.pairs.iter().map(|(end, time)| format!("{end} {time}"));
        write_lines(fs, &Self::path(directory), lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pair_is_renewed_and_a_list_is_not() {
        let mut pair = CleanTimes::default();
        let mut list = CleanTimes::default();
        for (end, time) in [(3, 10), (5, 20)] {
            pair.add(Offset(end), Millis(time), Removal::CheckpointPair);
            list.add(Offset(end), Millis(time), Removal::CheckpointList);
        }
        assert_eq!((pair.since(Offset(2)), list.since(Offset(2))), (Some(Millis(20)), Some(Millis(10))));
        assert_eq!((pair.since(Offset(4)), list.since(Offset(4))), (Some(Millis(20)), Some(Millis(20))));
        assert_eq!((pair.since(Offset(5)), list.since(Offset(5))), (None, None));
    }
}
