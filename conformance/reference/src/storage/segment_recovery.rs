//! Making a segment's indexes anew from its log file, and finding where its valid batches end (Kafka's
//! `LogSegment#recover`).
//!
//! A rebuilt index that a stop left half done looks like a sparse one, and an empty transaction index like that of a segment
//! without aborted transactions. So the offset index has no name on the disk while this goes on: a segment without one is
//! rebuilt when it is opened.

use std::path::Path;

use super::batch_reader::LogBatch;
use super::fs::{FileSystem, remove_if_exists};
use super::leader_epoch_checkpoint::LeaderEpochs;
use super::log_error::LogError;
use super::log_rules::LogConfig;
use super::names::Offset;
use super::offset_index::OffsetIndex;
use super::producer_append::AppendOrigin;
use super::producer_state::ProducerState;
use super::segment::Segment;
use super::segment_batches::SegmentBatches;
use super::segment_files::{FileKind, FileName, FileStage};
use super::time_index::TimeIndex;
use super::transaction_index::TransactionIndex;

impl Segment {
    /// The segment of a log file whose indexes are empty and to be filled by [`Self::recover`]. Until
    /// [`Self::finish_rebuild`] it has no offset index on the disk, so that a stop in between is noticed, and not taken for
    /// a segment whose indexes are sparse and that has no aborted transaction.
    pub fn rebuild(fs: &dyn FileSystem, directory: &Path, base: Offset, config: &LogConfig) -> Result<Self, LogError> {
        let path = |kind| FileName::new(base, kind).path(directory);
        let max_bytes = config.segment_index_bytes;
        let offset_index = path(FileKind::OffsetIndex);
        remove_if_exists(fs, &offset_index)?;
        fs.sync_dir(directory)?;
        Ok(Self {
            directory: directory.to_owned(),
            base,
            stage: FileStage::Final,
            size: fs.len(&path(FileKind::Log))?,
            index_interval: config.index_interval_bytes,
            offset_index: OffsetIndex::create(fs, &offset_index.with_extension("index.tmp"), base, max_bytes)?,
            time_index: TimeIndex::create(fs, &path(FileKind::TimeIndex), base, max_bytes)?,
            transaction_index: TransactionIndex::create(fs, &path(FileKind::TransactionIndex))?,
            bytes_since_index: 0,
            largest: None,
            first_timestamp: None,
            created: fs.modified(&path(FileKind::Log))?,
        })
    }

    /// Makes the rebuilt files durable, and gives the offset index its name at last.
    pub fn finish_rebuild(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        self.flush(fs)?;
        fs.sync_dir(&self.directory)?;
        let path = self.path(FileKind::OffsetIndex);
        fs.rename(&path.with_extension("index.tmp"), &path)?;
        self.offset_index.moved_to(path);
        Ok(fs.sync_dir(&self.directory)?)
    }

    /// Checks every batch from the first, rebuilds the indexes and folds the producers and leaders in, as far as the
    /// batches are valid. How many bytes follow, for [`Self::cut_tail`].
    pub fn recover(
        &mut self,
        fs: &dyn FileSystem,
        producers: &mut ProducerState,
        epochs: &mut LeaderEpochs,
    ) -> Result<u64, LogError> {
        let path = self.path(FileKind::Log);
        let whole = self.size;
        self.reset_indexes(fs)?;
        let mut least = self.base;
        for batch in SegmentBatches::new(fs, &path, 0, whole) {
            let Ok(batch) = batch else { break };
            let view = batch.view(&path)?;
            if view.check_crc().is_err() || view.base_offset() < least || view.last_offset() < view.base_offset() {
                break;
            }
            if !self.can_hold(view.last_offset()) {
                break;
            }
            if let LogBatch::V2(v2) = &view {
                // A producer's batch that cannot be understood is not valid either.
                let Ok(completed) = producers.append(AppendOrigin::Replay, v2) else { break };
                if let Some(completed) = completed {
                    self.end_transaction(fs, producers, &completed)?;
                }
                epochs.recover(fs, v2.leader_epoch(), v2.base_offset())?;
            }
            self.index(fs, &view)?;
            least = view.next_offset();
            producers.set_map_end(least);
        }
        self.close(fs)?;
        Ok(whole - self.size)
    }

    /// Cuts the file where [`Self::recover`] found the first invalid batch.
    pub fn cut_tail(&self, fs: &dyn FileSystem) -> Result<(), LogError> {
        let path = self.path(FileKind::Log);
        if fs.len(&path)? > self.size {
            fs.truncate(&path, self.size)?;
            fs.sync(&path)?;
        }
        Ok(())
    }

    fn reset_indexes(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        self.offset_index.truncate_to(fs, self.base)?;
        self.time_index.truncate_to(fs, self.base)?;
        self.transaction_index.truncate_to(fs, self.base)?;
        self.size = 0;
        self.bytes_since_index = 0;
        self.largest = None;
        self.first_timestamp = None;
        Ok(())
    }
}
