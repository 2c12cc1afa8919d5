//! What is in a partition's directory, and what the checkpoints beside it say of the partition.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fencepost_reference::storage::checkpoint::TopicPartition;
use fencepost_reference::storage::segment_files::{FileKind, FileName, FileStage};
use fencepost_reference::storage::transaction_index::ENTRY_BYTES;
use fencepost_reference::storage::transaction_tracker::AbortedTxn;

use super::VerifyError;

/// A segment's files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its base offset.
    pub base: i64,
    /// The file of its batches.
    pub log: PathBuf,
    /// The bytes of that file.
    pub bytes: u64,
    /// The file of its aborted transactions.
    pub index: PathBuf,
    /// What that file has; nothing where there is none.
    pub aborted: Vec<AbortedTxn>,
}

/// A partition's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// The directory.
    pub path: PathBuf,
    /// Its segments, in order.
    pub segments: Vec<Segment>,
    /// The cleaner's checkpoint, F, if there is one.
    pub first_dirty: Option<i64>,
    /// The high watermark that the broker wrote last, if it is known.
    pub high_watermark: Option<i64>,
    /// The log start offset that the broker wrote last, if it is known.
    pub log_start: Option<i64>,
    /// Files of a swap that did not end: what a restart will repair.
    pub unfinished: Vec<PathBuf>,
}

/// Reads what the error is about.
fn io<T>(path: &Path, result: std::io::Result<T>) -> Result<T, VerifyError> {
    result.map_err(|source| VerifyError::Io { path: path.to_owned(), source })
}

impl Directory {
    /// Looks at `path` and the checkpoints beside it.
    pub fn open(path: &Path) -> Result<Self, VerifyError> {
        let (mut segments, mut unfinished) = (Vec::new(), Vec::new());
        for entry in io(path, std::fs::read_dir(path))? {
            let entry = io(path, entry)?;
            let Some(name) = entry.file_name().to_str().and_then(FileName::parse) else { continue };
            match (name.kind, name.stage) {
                (FileKind::Log, FileStage::Final) => {
                    let log = entry.path();
                    let bytes = io(&log, entry.metadata())?.len();
                    let index = FileName::new(name.base_offset, FileKind::TransactionIndex).path(path);
                    let aborted = aborted(&index)?;
                    segments.push(Segment { base: name.base_offset.0, log, bytes, index, aborted });
                }
                (_, FileStage::Cleaned | FileStage::Swap) => unfinished.push(entry.path()),
                _ => {}
            }
        }
        if segments.is_empty() {
            return Err(VerifyError::NoSegments(path.to_owned()));
        }
        segments.sort_by_key(|segment| segment.base);
        unfinished.sort();
        let partition = partition(path);
        let of = |file: &str| match (&partition, path.parent()) {
            (Some(partition), Some(parent)) => checkpoint(&parent.join(file), partition),
            _ => Ok(None),
        };
        Ok(Self {
            path: path.to_owned(),
            segments,
            first_dirty: of("cleaner-offset-checkpoint")?,
            high_watermark: of("replication-offset-checkpoint")?,
            log_start: of("log-start-offset-checkpoint")?,
            unfinished,
        })
    }

    /// The bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }
}

/// The partition whose directory this is, by its name.
fn partition(path: &Path) -> Option<TopicPartition> {
    let path = path.canonicalize().ok()?;
    let (topic, partition) = path.file_name()?.to_str()?.rsplit_once('-')?;
    Some(TopicPartition::new(topic, partition.parse().ok()?))
}

/// What a checkpoint says of a partition. Only its own line has to be right.
fn checkpoint(path: &Path, partition: &TopicPartition) -> Result<Option<i64>, VerifyError> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(VerifyError::Io { path: path.to_owned(), source }),
    };
    let number = partition.partition.to_string();
    let lines: BTreeMap<_, _> = text.lines().skip(2).filter_map(|line| line.rsplit_once(' ')).collect();
    match lines.get(format!("{} {number}", partition.topic).as_str()) {
        None => Ok(None),
        Some(offset) => offset
            .parse()
            .map(Some)
            .map_err(|_| VerifyError::Damaged(format!("{}: `{offset}` is not an offset", path.display()))),
    }
}

/// The entries of a transaction index.
fn aborted(path: &Path) -> Result<Vec<AbortedTxn>, VerifyError> {
    let bytes = match std::fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(VerifyError::Io { path: path.to_owned(), source }),
    };
    let (entries, rest) = bytes.as_chunks::<ENTRY_BYTES>();
    if !rest.is_empty() {
        let text = format!(
            "{}, byte {}: {} bytes are left over; an entry has {ENTRY_BYTES}",
            path.display(),
            entries.len() * ENTRY_BYTES,
            rest.len()
        );
        return Err(VerifyError::Damaged(text));
    }
    let entry = |(number, bytes): (usize, &[u8; ENTRY_BYTES])| {
        AbortedTxn::from_bytes(bytes).ok_or_else(|| {
            let at = number * ENTRY_BYTES;
            VerifyError::Damaged(format!("{}, byte {at}: an entry of a version other than 0", path.display()))
        })
    };
    entries.iter().enumerate().map(entry).collect()
}
