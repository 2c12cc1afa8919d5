//! The batches of a log file, one after the other, with a bounded part of the file in memory.
//!
//! A walk ends at the end of the range or at the first bytes that are no whole batch, which is an error with their
//! position: whether that is the end of the log (after an unclean stop) or a corruption is for the caller to say.

use std::path::{Path, PathBuf};

use super::batch_reader::{BatchReader, LogBatch};
use super::fs::FileSystem;
use super::log_error::LogError;

/// How much is read at once; a larger batch is read whole.
const CHUNK_BYTES: usize = 64 << 10;
/// Offset and length: what must be there to know the size of a batch.
const OVERHEAD_BYTES: usize = 12;

/// A batch and where it is in its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredBatch {
    /// The position of its first byte.
    pub position: u64,
    /// The batch.
    pub bytes: Vec<u8>,
}

impl StoredBatch {
    /// The batch, to be looked into. `path` is for the error.
    pub fn view(&self, path: &Path) -> Result<LogBatch<'_>, LogError> {
        match BatchReader::new(&self.bytes).next() {
            Some(Ok(batch)) if batch.size() == self.bytes.len() => Ok(batch),
            Some(Err(e)) => Err(LogError::corrupt(path, self.position.saturating_add(e.position as u64), e.fault)),
            _ => Err(LogError::corrupt(path, self.position, "bytes that are not one batch")),
        }
    }
}

/// A walk over the batches between two positions.
#[derive(Debug)]
pub struct SegmentBatches<'a> {
    fs: &'a dyn FileSystem,
    path: PathBuf,
    /// Where the next batch starts.
    position: u64,
    end: u64,
    /// What was read from `position` on.
    buffer: Vec<u8>,
    failed: bool,
}

impl<'a> SegmentBatches<'a> {
    /// The batches from `start`, where one starts, to `end`.
    #[must_use]
    pub fn new(fs: &'a dyn FileSystem, path: &Path, start: u64, end: u64) -> Self {
        Self { fs, path: path.to_owned(), position: start, end, buffer: Vec::new(), failed: false }
    }

    /// Where the next batch starts, or the first bytes that are none.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    fn fill(&mut self, bytes: usize) -> Result<(), LogError> {
        if self.buffer.len() < bytes {
            let from = self.position.saturating_add(self.buffer.len() as u64);
            let left = usize::try_from(self.end.saturating_sub(from)).unwrap_or(usize::MAX);
            let wanted = (bytes - self.buffer.len()).max(CHUNK_BYTES).min(left);
            self.buffer.extend_from_slice(&self.fs.read_at(&self.path, from, wanted)?);
        }
        Ok(())
    }

    fn read(&mut self) -> Result<Option<StoredBatch>, LogError> {
        if self.position >= self.end {
            return Ok(None);
        }
        self.fill(OVERHEAD_BYTES)?;
        let size = match self.buffer.first_chunk::<OVERHEAD_BYTES>() {
            Some(&[.., l0, l1, l2, l3]) => i64::from(i32::from_be_bytes([l0, l1, l2, l3])) + 12,
            None => return Err(LogError::corrupt(&self.path, self.position, "a batch whose length is cut off")),
        };
        let left = self.end - self.position;
        let size = usize::try_from(size).ok().filter(|size| *size > OVERHEAD_BYTES && *size as u64 <= left);
        let Some(size) = size else {
            let fault = format!("a batch of a length that {left} bytes cannot hold, or of none");
            return Err(LogError::corrupt(&self.path, self.position, fault));
        };
        self.fill(size)?;
        if self.buffer.len() < size {
            return Err(LogError::corrupt(&self.path, self.position, "a batch that is cut off"));
        }
        let rest = self.buffer.split_off(size);
        let batch = StoredBatch { position: self.position, bytes: std::mem::replace(&mut self.buffer, rest) };
        batch.view(&self.path)?;
        self.position += size as u64;
        Ok(Some(batch))
    }
}

impl Iterator for SegmentBatches<'_> {
    /// An error is the last item.
    type Item = Result<StoredBatch, LogError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let item = self.read().transpose();
        self.failed = matches!(item, Some(Err(_)));
        item
    }
}
