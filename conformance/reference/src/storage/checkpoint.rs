//! The checkpoint files of a log directory (Kafka's `OffsetCheckpointFile`): an offset for each partition.
//!
//! Text, in lines: the version (`0`), how many entries, then `topic partition offset`. Written whole, under another name,
//! and renamed (docs/compaction.md 2.7), so that a crash leaves the one or the other.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use super::fs::{self, FileSystem};
use super::log_error::LogError;
use super::names::Offset;

/// A partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic. Kafka's names have no white space.
    pub topic: String,
    /// The partition.
    pub partition: i32,
}

impl TopicPartition {
    /// A partition.
    #[must_use]
    pub fn new(topic: impl Into<String>, partition: i32) -> Self {
        Self { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// Which checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointKind {
    /// F, the first dirty offset of each log that was cleaned.
    Cleaner,
    /// Below it everything is durable; recovery starts there.
    RecoveryPoint,
    /// The first offset of each log.
    LogStart,
    /// The high watermark of each log.
    HighWatermark,
}

impl CheckpointKind {
    /// The name of the file.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Cleaner => "cleaner-offset-checkpoint",
            Self::RecoveryPoint => "recovery-point-offset-checkpoint",
            Self::LogStart => "log-start-offset-checkpoint",
            Self::HighWatermark => "replication-offset-checkpoint",
        }
    }
}

/// A checkpoint of a log directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointFile {
    path: PathBuf,
}

impl CheckpointFile {
    /// The checkpoint of this kind in this directory.
    #[must_use]
    pub fn new(log_dir: &Path, kind: CheckpointKind) -> Self {
        Self { path: log_dir.join(kind.file_name()) }
    }

    /// What it says; nothing if there is no file.
    pub fn read(&self, fs: &dyn FileSystem) -> Result<BTreeMap<TopicPartition, Offset>, LogError> {
        let lines = read_lines(fs, &self.path)?;
        let mut offsets = BTreeMap::new();
        for Line { position, fields } in lines {
            let entry = match fields.as_slice() {
                [topic, partition, offset] => partition
                    .parse()
                    .ok()
                    .zip(offset.parse().ok())
                    .map(|(p, o)| (TopicPartition::new(topic, p), Offset(o))),
                _ => None,
            };
            let Some((partition, offset)) = entry else {
                return Err(LogError::corrupt(&self.path, position, "a line that is not `topic partition offset`"));
            };
            offsets.insert(partition, offset);
        }
        Ok(offsets)
    }

    /// Puts these entries in place of the ones before.
    pub fn write(&self, fs: &dyn FileSystem, offsets: &BTreeMap<TopicPartition, Offset>) -> Result<(), LogError> {
        let lines = offsets.iter().map(|(tp, offset)| format!("{} {} {offset}", tp.topic, tp.partition));
        write_lines(fs, &self.path, lines)
    }
}

/// A line of a checkpoint, and where it starts.
pub(crate) struct Line {
    pub(crate) position: u64,
    pub(crate) fields: Vec<String>,
}

/// The entries of a checkpoint of version 0 (Kafka's `CheckpointFile#read`); none if there is no file.
pub(crate) fn read_lines(fs: &dyn FileSystem, path: &Path) -> Result<Vec<Line>, LogError> {
    if !fs.exists(path)? {
        return Ok(Vec::new());
    }
    let bytes = fs::read_all(fs, path)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|e| LogError::corrupt(path, e.valid_up_to() as u64, "bytes that are no text"))?;
    let mut position = 0;
    let mut lines = text.split_inclusive('\n').map(|line| {
        let at = position;
        position += line.len() as u64;
        (at, line.trim_end())
    });
    match lines.next() {
        Some((_, "0")) => {}
        _ => return Err(LogError::corrupt(path, 0, "a version other than 0")),
    }
    let stated: Option<usize> = lines.next().and_then(|(_, line)| line.parse().ok());
    let Some(stated) = stated else { return Err(LogError::corrupt(path, 2, "no number of entries")) };
    let entries: Vec<Line> = lines
        .map(|(position, line)| Line { position, fields: line.split_whitespace().map(str::to_owned).collect() })
        .collect();
    if entries.len() != stated {
        let fault = format!("{} entries, while {stated} are announced", entries.len());
        return Err(LogError::corrupt(path, bytes.len() as u64, fault));
    }
    Ok(entries)
}

/// Writes a checkpoint of version 0.
pub(crate) fn write_lines(
    fs: &dyn FileSystem,
    path: &Path,
    lines: impl ExactSizeIterator<Item = String>,
) -> Result<(), LogError> {
    let mut text = format!("0\n{}\n", lines.len());
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    Ok(fs::replace(fs, path, text.as_bytes())?)
}
