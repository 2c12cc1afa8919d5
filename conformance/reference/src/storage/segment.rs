//! A segment: a log file with its three indexes (Kafka's `LogSegment`).
//!
//! As in 4.4.0 each batch, not each append, may get an index entry: when more than `index.interval.bytes` were written
//! since the last one. That holds for cleaned segments too (docs/compaction.md 2.4). How its indexes are made anew is in
//! [`segment_recovery`](super::segment_recovery).

use std::path::{Path, PathBuf};

use super::batch::{HEADER_BYTES, LAST_OFFSET_DELTA_AT, MAGIC_AT};
use super::batch_reader::{BatchReader, LogBatch};
use super::fs::FileSystem;
use super::log_error::LogError;
use super::log_rules::LogConfig;
use super::names::{Millis, Offset};
use super::offset_index::{OffsetIndex, OffsetPosition, relative_offset};
use super::producer_state::ProducerState;
use super::segment_batches::{SegmentBatches, StoredBatch};
use super::segment_files::{FileKind, FileName, FileStage};
use super::time_index::{TimeIndex, TimestampOffset};
use super::transaction_index::TransactionIndex;

/// A segment. See the module.
#[derive(Debug, Clone)]
pub struct Segment {
    pub(super) directory: PathBuf,
    pub(super) base: Offset,
    pub(super) stage: FileStage,
    pub(super) size: u64,
    pub(super) index_interval: u64,
    pub(super) offset_index: OffsetIndex,
    pub(super) time_index: TimeIndex,
    pub(super) transaction_index: TransactionIndex,
    pub(super) bytes_since_index: u64,
    pub(super) largest: Option<TimestampOffset>,
    /// The max timestamp of the first batch: the segment's age counts from it.
    pub(super) first_timestamp: Option<Millis>,
    pub(super) created: Millis,
}

impl Segment {
    /// An empty segment; files of its names are emptied.
    pub fn create(
        fs: &dyn FileSystem,
        directory: &Path,
        base: Offset,
        stage: FileStage,
        config: &LogConfig,
        now: Millis,
    ) -> Result<Self, LogError> {
        let path = |kind| FileName::new(base, kind).at(stage).path(directory);
        let max_bytes = config.segment_index_bytes;
        fs.create(&path(FileKind::Log))?;
        fs.set_modified(&path(FileKind::Log), now)?;
        Ok(Self {
            directory: directory.to_owned(),
            base,
            stage,
            size: 0,
            index_interval: config.index_interval_bytes,
            offset_index: OffsetIndex::create(fs, &path(FileKind::OffsetIndex), base, max_bytes)?,
            time_index: TimeIndex::create(fs, &path(FileKind::TimeIndex), base, max_bytes)?,
            transaction_index: TransactionIndex::create(fs, &path(FileKind::TransactionIndex))?,
            bytes_since_index: 0,
            largest: None,
            first_timestamp: None,
            created: now,
        })
    }

    /// The segment of these files. An index that is missing or does not read is an error; [`Self::rebuild`] repairs it.
    pub fn open(
        fs: &dyn FileSystem,
        directory: &Path,
        base: Offset,
        stage: FileStage,
        config: &LogConfig,
    ) -> Result<Self, LogError> {
        let path = |kind| FileName::new(base, kind).at(stage).path(directory);
        let max_bytes = config.segment_index_bytes;
        let size = fs.len(&path(FileKind::Log))?;
        let time_index = TimeIndex::open(fs, &path(FileKind::TimeIndex), base, max_bytes)?;
        let offset_index = OffsetIndex::open(fs, &path(FileKind::OffsetIndex), base, max_bytes)?;
        if let Some(beyond) = offset_index.last().filter(|last| u64::from(last.position) >= size) {
            let fault = format!("an entry for byte {} of a log of {size} bytes", beyond.position);
            return Err(LogError::corrupt(&path(FileKind::OffsetIndex), offset_index.size(), fault));
        }
        let mut segment = Self {
            directory: directory.to_owned(),
            base,
            stage,
            size,
            index_interval: config.index_interval_bytes,
            largest: time_index.last(),
            offset_index,
            time_index,
            transaction_index: TransactionIndex::open(fs, &path(FileKind::TransactionIndex), base)?,
            bytes_since_index: 0,
            first_timestamp: None,
            created: fs.modified(&path(FileKind::Log))?,
        };
        if let Some(last) = segment.offset_index.last()
            && !segment.is_right(fs, last)?
        {
            let fault = format!("an entry for byte {}, where no such batch starts", last.position);
            return Err(LogError::corrupt(&path(FileKind::OffsetIndex), segment.offset_index.size(), fault));
        }
        segment.bytes_since_index = size - segment.offset_index.last().map_or(0, |last| u64::from(last.position));
        Ok(segment)
    }

    /// The offset in its name: nothing in it is below.
    #[must_use]
    pub const fn base(&self) -> Offset {
        self.base
    }

    /// The bytes of the log file.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// The offset index.
    #[must_use]
    pub const fn offset_index(&self) -> &OffsetIndex {
        &self.offset_index
    }

    /// The time index.
    #[must_use]
    pub const fn time_index(&self) -> &TimeIndex {
        &self.time_index
    }

    /// The transaction index.
    #[must_use]
    pub const fn transaction_index(&self) -> &TransactionIndex {
        &self.transaction_index
    }

    pub(super) fn transaction_index_mut(&mut self) -> &mut TransactionIndex {
        &mut self.transaction_index
    }

    /// The path of one of its files.
    #[must_use]
    pub fn path(&self, kind: FileKind) -> PathBuf {
        FileName::new(self.base, kind).at(self.stage).path(&self.directory)
    }

    /// When the log file was last written: what the rule before KIP-534 decided by.
    pub fn modified(&self, fs: &dyn FileSystem) -> Result<Millis, LogError> {
        Ok(fs.modified(&self.path(FileKind::Log))?)
    }

    /// Sets that time; a cleaned segment has that of the last of its sources.
    pub fn set_modified(&self, fs: &dyn FileSystem, at: Millis) -> Result<(), LogError> {
        Ok(fs.set_modified(&self.path(FileKind::Log), at)?)
    }

    /// The largest timestamp of its records, else the time of its last write (`LogSegment#largestTimestamp`).
    pub fn largest_timestamp(&self, fs: &dyn FileSystem) -> Result<Millis, LogError> {
        match self.largest {
            Some(largest) if largest.timestamp.0 >= 0 => Ok(largest.timestamp),
            _ => self.modified(fs),
        }
    }

    /// The max timestamp of the first batch, if there is one.
    pub fn first_batch_timestamp(&self, fs: &dyn FileSystem) -> Result<Option<Millis>, LogError> {
        if self.first_timestamp.is_some() {
            return Ok(self.first_timestamp);
        }
        let path = self.path(FileKind::Log);
        match self.batches(fs, 0).next().transpose()? {
            Some(batch) => Ok(Some(batch.view(&path)?.max_timestamp())),
            None => Ok(None),
        }
    }

    /// How long the segment has waited to be rolled, when a batch of `timestamp` arrives at `now`.
    pub fn waited(&self, fs: &dyn FileSystem, now: Millis, timestamp: Millis) -> Result<i64, LogError> {
        Ok(match self.first_batch_timestamp(fs)? {
            Some(first) if first.0 >= 0 => timestamp.0.wrapping_sub(first.0),
            _ => now.0.wrapping_sub(self.created.0),
        })
    }

    /// Whether the indexes can say this offset.
    #[must_use]
    pub fn can_hold(&self, offset: Offset) -> bool {
        relative_offset(self.base, offset).is_some()
    }

    /// Appends whole batches, whose offsets are above all that are here.
    pub fn append(&mut self, fs: &dyn FileSystem, bytes: &[u8], now: Millis) -> Result<(), LogError> {
        let path = self.path(FileKind::Log);
        let mut batches = Vec::new();
        for batch in BatchReader::new(bytes) {
            let batch = batch.map_err(|e| LogError::corrupt(&path, self.size + e.position as u64, e.fault))?;
            if !self.can_hold(batch.last_offset()) {
                return Err(LogError::OffsetOverflow { file: path, base: self.base, offset: batch.last_offset() });
            }
            batches.push(batch);
        }
        fs.append(&path, bytes)?;
        fs.set_modified(&path, now)?;
        for batch in batches {
            self.index(fs, &batch)?;
        }
        Ok(())
    }

    /// Notes a batch that is in the log file at `size`.
    pub(super) fn index(&mut self, fs: &dyn FileSystem, batch: &LogBatch<'_>) -> Result<(), LogError> {
        let (timestamp, offset) = (batch.max_timestamp(), batch.last_offset());
        if self.size == 0 {
            self.first_timestamp = Some(timestamp);
        }
        if timestamp.0 > self.largest.map_or(-1, |largest| largest.timestamp.0) {
            self.largest = Some(TimestampOffset { timestamp, offset });
        }
        if self.bytes_since_index > self.index_interval {
            self.offset_index.append(fs, offset, self.size)?;
            if let Some(largest) = self.largest {
                self.time_index.maybe_append(fs, largest, false)?;
            }
            self.bytes_since_index = 0;
        }
        let bytes = batch.size() as u64;
        self.size += bytes;
        self.bytes_since_index += bytes;
        Ok(())
    }

    /// The batches from a position, where one starts, to the end.
    #[must_use]
    pub fn batches<'a>(&self, fs: &'a dyn FileSystem, start: u64) -> SegmentBatches<'a> {
        SegmentBatches::new(fs, &self.path(FileKind::Log), start, self.size)
    }

    /// Where to start reading for an offset: at the batch of the last index entry at or below it, if that batch is there,
    /// else at the start. An index has no checksum, and one that points wrongly must not hide a record.
    pub fn start_of(&self, fs: &dyn FileSystem, offset: Offset) -> Result<u64, LogError> {
        match self.offset_index.entry_for(offset) {
            Some(entry) if self.is_right(fs, entry)? => Ok(u64::from(entry.position)),
            _ => Ok(0),
        }
    }

    /// Whether a batch with this last offset starts where the entry says.
    pub(super) fn is_right(&self, fs: &dyn FileSystem, entry: OffsetPosition) -> Result<bool, LogError> {
        let header = fs.read_at(&self.path(FileKind::Log), u64::from(entry.position), HEADER_BYTES)?;
        let at = |from: usize| header.get(from..).and_then(|rest| rest.first_chunk::<4>()).copied();
        let base = header.first_chunk::<8>().map_or(-1, |bytes| i64::from_be_bytes(*bytes));
        // Formats 0 and 1 have the last offset of a batch in its first field.
        let delta = match (header.get(MAGIC_AT), at(LAST_OFFSET_DELTA_AT)) {
            (Some(2), Some(delta)) => i64::from(i32::from_be_bytes(delta)),
            (Some(2), None) | (None, _) => return Ok(false),
            (Some(_), _) => 0,
        };
        Ok(base.checked_add(delta) == Some(entry.offset.0))
    }

    /// The first batch whose last offset is `offset` or later (`FileRecords#searchForOffsetWithSize`).
    pub fn find(&self, fs: &dyn FileSystem, offset: Offset) -> Result<Option<StoredBatch>, LogError> {
        let path = self.path(FileKind::Log);
        for batch in self.batches(fs, self.start_of(fs, offset)?) {
            let batch = batch?;
            if batch.view(&path)?.last_offset() >= offset {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// The offset after the last batch: what was kept of the log decides, not what was ever written.
    pub fn next_offset(&self, fs: &dyn FileSystem) -> Result<Offset, LogError> {
        let path = self.path(FileKind::Log);
        let mut next = self.base;
        for batch in self.batches(fs, self.start_of(fs, Offset(i64::MAX))?) {
            next = batch?.view(&path)?.next_offset();
        }
        Ok(next)
    }

    /// Notes an aborted transaction, and that it is over.
    pub(super) fn end_transaction(
        &mut self,
        fs: &dyn FileSystem,
        producers: &mut ProducerState,
        completed: &super::producer_append::CompletedTransaction,
    ) -> Result<(), LogError> {
        let last_stable_offset = producers.last_stable_offset_after(completed);
        if completed.aborted {
            self.transaction_index.append(fs, completed.aborted_transaction(last_stable_offset))?;
        }
        producers.complete(completed);
        Ok(())
    }

    /// Drops everything of `offset` and above: a batch that spans it goes as a whole.
    pub fn truncate_to(&mut self, fs: &dyn FileSystem, offset: Offset) -> Result<(), LogError> {
        let position = self.find(fs, offset)?.map(|batch| batch.position);
        self.offset_index.truncate_to(fs, offset)?;
        self.time_index.truncate_to(fs, offset)?;
        self.transaction_index.truncate_to(fs, offset)?;
        if let Some(position) = position {
            fs.truncate(&self.path(FileKind::Log), position)?;
            self.size = position;
        }
        if self.size == 0 {
            self.first_timestamp = None;
        }
        self.bytes_since_index = 0;
        self.largest = self.time_index.last();
        Ok(())
    }

    /// Nothing more will be appended (for now): the largest timestamp gets its entry.
    pub fn close(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        match self.largest {
            Some(largest) => Ok(self.time_index.maybe_append(fs, largest, true)?),
            None => Ok(()),
        }
    }

    /// Makes its files durable, though not their names.
    pub fn flush(&self, fs: &dyn FileSystem) -> Result<(), LogError> {
        fs.sync(&self.path(FileKind::Log))?;
        self.offset_index.flush(fs)?;
        self.time_index.flush(fs)?;
        Ok(self.transaction_index.flush(fs)?)
    }

    /// Renames its files to another stage, the log file first. Those that are missing are passed over.
    pub fn change_stage(&mut self, fs: &dyn FileSystem, stage: FileStage) -> Result<(), LogError> {
        for kind in FileKind::OF_A_SEGMENT {
            let to = FileName::new(self.base, kind).at(stage).path(&self.directory);
            match fs.rename(&self.path(kind), &to) {
                Err(e) if !e.is_not_found() => return Err(e.into()),
                _ => {}
            }
            if kind == FileKind::Log && stage == FileStage::Final {
                // A log file that is still a swap makes a recovery remove what has its final name, the new indexes too.
                fs.sync_dir(&self.directory)?;
            }
        }
        self.stage = stage;
        self.offset_index.moved_to(self.path(FileKind::OffsetIndex));
        self.time_index.moved_to(self.path(FileKind::TimeIndex));
        self.transaction_index.moved_to(self.path(FileKind::TransactionIndex));
        Ok(())
    }
}
