//! What happens to a broker's files while it is down (docs/replication.md 1.9).

use std::path::Path;

use super::names::Offset;
use crate::storage::batch_reader::BatchReader;
use crate::storage::checkpoint::{read_lines, write_lines};
use crate::storage::fs::{self, FileSystem};
use crate::storage::leader_epoch_checkpoint::FILE_NAME;
use crate::storage::log_error::LogError;
use crate::storage::segment_files::{FileKind, FileName, FileStage};

/// What happens to `leader-epoch-checkpoint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EpochFileFault {
    /// It is gone.
    Missing,
    /// It is empty.
    Empty,
    /// Its newest entry is gone.
    WithoutNewest,
    /// Its oldest entry is gone.
    WithoutOldest,
}

/// Power was lost before the records from `keep` on were on the disk: their batches are gone.
pub(super) fn lose_records(fs: &dyn FileSystem, directory: &Path, keep: Offset) -> Result<(), LogError> {
    for name in fs.list(directory)? {
        let Some(name) = FileName::parse(&name) else { continue };
        let path = name.path(directory);
        match name.kind {
            FileKind::Log if name.stage == FileStage::Final => {
                let bytes = fs::read_all(fs, &path)?;
                let mut reader = BatchReader::new(&bytes);
                let mut kept = 0;
                while let Some(Ok(batch)) = reader.next() {
                    if batch.base_offset() >= keep {
                        break;
                    }
                    kept = reader.position();
                }
                fs.truncate(&path, kept as u64)?;
                // A segment that was begun above what is kept was never begun.
                if kept == 0 && name.base_offset > keep {
                    fs.remove(&path)?;
                }
            }
            FileKind::Snapshot if name.base_offset > keep => fs.remove(&path)?,
            _ => {}
        }
    }
    Ok(())
}

/// Damages the file, if there is one.
pub(super) fn damage_epoch_file(fs: &dyn FileSystem, directory: &Path, fault: EpochFileFault) -> Result<(), LogError> {
    let path = directory.join(FILE_NAME);
    if !fs.exists(&path)? {
        return Ok(());
    }
    let lines = || -> Result<Vec<String>, LogError> {
        let lines = if fs.len(&path)? == 0 { Vec::new() } else { read_lines(fs, &path)? };
        Ok(lines.into_iter().map(|line| line.fields.join(" ")).collect())
    };
    match fault {
        EpochFileFault::Missing => Ok(fs.remove(&path)?),
        EpochFileFault::Empty => Ok(fs.create(&path)?),
        EpochFileFault::WithoutNewest => {
            let mut entries = lines()?;
            entries.pop();
            write_lines(fs, &path, entries.into_iter())
        }
        EpochFileFault::WithoutOldest => write_lines(fs, &path, lines()?.into_iter().skip(1)),
    }
}
