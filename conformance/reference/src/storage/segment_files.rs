//! The names of a partition's files (Kafka's `LogFileUtils`): the base offset in twenty digits, what it is, and in
//! which state of a swap or a deletion.
//!
//! | Name | What |
//! | --- | --- |
//! | `00000000000000000042.log` | the batches of the segment that starts at 42 |
//! | `….index`, `….timeindex`, `….txnindex` | its indexes |
//! | `….snapshot` | the producers as they were before offset 42 |
//! | `….log.cleaned` | written by a cleaner that has not finished |
//! | `….log.swap` | finished, and about to take the place of others |
//! | `….log.deleted` | waits for its removal |
//!
//! Everything else in the directory is none of the log's, and is left alone.

use std::path::{Path, PathBuf};

use super::names::Offset;

/// What a file holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// The batches.
    Log,
    /// The offset index.
    OffsetIndex,
    /// The time index.
    TimeIndex,
    /// The aborted transactions.
    TransactionIndex,
    /// The producers.
    Snapshot,
}

/// Where a file is in a swap or a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileStage {
    /// In use.
    Final,
    /// Being written by the cleaner.
    Cleaned,
    /// Complete, to be renamed to its final name.
    Swap,
    /// To be removed.
    Deleted,
}

/// The name of one file of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileName {
    /// The base offset; for a snapshot the offset that it stands before.
    pub base_offset: Offset,
    /// What is in it.
    pub kind: FileKind,
    /// Where in its life it is.
    pub stage: FileStage,
}

impl FileKind {
    /// The files of a segment: a swap moves these four, in this order.
    pub const OF_A_SEGMENT: [Self; 4] = [Self::Log, Self::OffsetIndex, Self::TimeIndex, Self::TransactionIndex];

    const fn extension(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::OffsetIndex => "index",
            Self::TimeIndex => "timeindex",
            Self::TransactionIndex => "txnindex",
            Self::Snapshot => "snapshot",
        }
    }

    fn from_extension(extension: &str) -> Option<Self> {
        Self::OF_A_SEGMENT.into_iter().chain([Self::Snapshot]).find(|kind| kind.extension() == extension)
    }
}

impl FileStage {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Final => "",
            Self::Cleaned => ".cleaned",
            Self::Swap => ".swap",
            Self::Deleted => ".deleted",
        }
    }
}

impl FileName {
    /// The name of a file in use.
    #[must_use]
    pub const fn new(base_offset: Offset, kind: FileKind) -> Self {
        Self { base_offset, kind, stage: FileStage::Final }
    }

    /// The same file at another stage.
    #[must_use]
    pub const fn at(self, stage: FileStage) -> Self {
        Self { stage, ..self }
    }

    /// Reads a name; `None` for one that no log writes.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let stages = [FileStage::Cleaned, FileStage::Swap, FileStage::Deleted];
        let (stage, rest) = stages
            .into_iter()
            .find_map(|stage| Some((stage, name.strip_suffix(stage.suffix())?)))
            .unwrap_or((FileStage::Final, name));
        let (digits, extension) = rest.split_once('.')?;
        let kind = FileKind::from_extension(extension)?;
        if digits.len() != 20 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some(Self { base_offset: Offset(digits.parse().ok()?), kind, stage })
    }

    /// Where it is.
    #[must_use]
    pub fn path(self, directory: &Path) -> PathBuf {
        directory.join(format!("{:020}.{}{}", self.base_offset.0, self.kind.extension(), self.stage.suffix()))
    }
}
