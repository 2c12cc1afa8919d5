//! The producers of a partition and its transactions (docs/compaction.md 3.4; Kafka's `ProducerStateManager`): a fold
//! over the batches of the log, which snapshots shorten.
//!
//! Two sorts of transactions hold the last stable offset back: those that are open, and those that have ended but whose
//! marker is not yet below the high watermark.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::batch::RecordBatch;
use super::control::Marker;
use super::fs::FileSystem;
use super::log_error::{AppendError, LogError};
use super::log_rules::EmptyMarker;
use super::names::{Millis, Offset, ProducerId, Sequence};
use super::producer_append::{AppendOrigin, CompletedTransaction, DataBatch, EndMarker};
use super::producer_entry::ProducerEntry;
use super::producer_snapshot;
use super::segment_files::{FileKind, FileName, FileStage};

/// A transaction that holds the last stable offset back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Transaction {
    producer: ProducerId,
    /// The marker's offset, once there is one.
    last_offset: Option<Offset>,
}

/// The state. See the module.
#[derive(Debug, Clone)]
pub struct ProducerState {
    directory: PathBuf,
    expiration: Millis,
    empty_marker: EmptyMarker,
    producers: BTreeMap<ProducerId, ProducerEntry>,
    /// The open transactions, by the offset of their first record.
    ongoing: BTreeMap<Offset, Transaction>,
    /// The ended ones whose marker is not below the high watermark.
    unreplicated: BTreeMap<Offset, Transaction>,
    /// The batches below it have been folded in.
    map_end: Offset,
    last_snapshot: Offset,
}

/// The state before an append.
#[derive(Debug)]
pub(super) struct UndoPoint {
    producers: BTreeMap<ProducerId, Option<ProducerEntry>>,
    ongoing: BTreeMap<Offset, Transaction>,
    unreplicated: BTreeMap<Offset, Transaction>,
}

impl ProducerState {
    /// Nothing is known.
    #[must_use]
    pub fn new(directory: &Path, expiration: Millis, empty_marker: EmptyMarker) -> Self {
        Self {
            directory: directory.to_owned(),
            expiration,
            empty_marker,
            producers: BTreeMap::new(),
            ongoing: BTreeMap::new(),
            unreplicated: BTreeMap::new(),
            map_end: Offset(0),
            last_snapshot: Offset(0),
        }
    }

    /// The producers.
    #[must_use]
    pub fn producers(&self) -> &BTreeMap<ProducerId, ProducerEntry> {
        &self.producers
    }

    /// Up to where the log has been folded in.
    #[must_use]
    pub const fn map_end(&self) -> Offset {
        self.map_end
    }

    /// Notes that the log has been folded in up to here.
    pub fn set_map_end(&mut self, offset: Offset) {
        self.map_end = offset;
    }

    /// The first offset whose fate is not known, or not yet on all replicas.
    #[must_use]
    pub fn first_unstable_offset(&self) -> Option<Offset> {
        let first = |transactions: &BTreeMap<Offset, Transaction>| transactions.keys().next().copied();
        [first(&self.ongoing), first(&self.unreplicated)].into_iter().flatten().min()
    }

    /// The high watermark has moved: the transactions whose marker is below it no longer hold anything back.
    pub fn on_high_watermark(&mut self, high_watermark: Offset) {
        self.unreplicated.retain(|_, transaction| transaction.last_offset.is_none_or(|last| last >= high_watermark));
    }

    /// The last stable offset that a transaction index says of a transaction that ends now: where the next open one
    /// began.
    #[must_use]
    pub fn last_stable_offset_after(&self, completed: &CompletedTransaction) -> Offset {
        let others = self.ongoing.iter().find(|(_, transaction)| transaction.producer != completed.producer);
        others.map_or(completed.last_offset.next(), |(first, _)| *first)
    }

    /// Takes a batch, or says why not; refused, the state is as it was. `batch` has its final offsets.
    pub fn append(
        &mut self,
        origin: AppendOrigin,
        batch: &RecordBatch<'_>,
    ) -> Result<Option<CompletedTransaction>, AppendError> {
        let producer = batch.producer_id();
        if producer == ProducerId::NONE {
            return Ok(None);
        }
        let mut entry = self.producers.get(&producer).cloned().unwrap_or_else(|| ProducerEntry::empty(producer));
        let open_before = entry.transaction_start;
        let completed = if batch.is_control() {
            self.append_control(&mut entry, origin, batch)?
        } else {
            entry.append_data(origin, &data_batch(batch))?;
            None
        };
        if let (None, Some(first)) = (open_before, entry.transaction_start) {
            self.ongoing.insert(first, Transaction { producer, last_offset: None });
        }
        self.producers.insert(producer, entry);
        Ok(completed)
    }

    fn append_control(
        &self,
        entry: &mut ProducerEntry,
        origin: AppendOrigin,
        batch: &RecordBatch<'_>,
    ) -> Result<Option<CompletedTransaction>, AppendError> {
        let records = batch.records()?;
        let Some(record) = records.first() else {
            // The header no longer tells what the marker was, but its epoch is still that of the producer.
            if self.empty_marker == EmptyMarker::RestoresEpoch && batch.producer_epoch() > entry.epoch {
                entry.set_epoch(batch.producer_epoch());
                entry.last_timestamp = batch.max_timestamp();
            }
            return Ok(None);
        };
        let Some(marker) = Marker::of(record)? else { return Ok(None) };
        entry.append_marker(
            origin,
            &EndMarker {
                epoch: batch.producer_epoch(),
                coordinator_epoch: marker.coordinator_epoch,
                commit: marker.commit,
                offset: batch.base_offset(),
                timestamp: record.timestamp,
            },
        )
    }

    /// What an append of these producers may change, to take it back if one of its batches is refused.
    pub(super) fn undo_point(&self, producers: impl Iterator<Item = ProducerId>) -> UndoPoint {
        UndoPoint {
            producers: producers.map(|producer| (producer, self.producers.get(&producer).cloned())).collect(),
            ongoing: self.ongoing.clone(),
            unreplicated: self.unreplicated.clone(),
        }
    }

    /// Takes it back.
    pub(super) fn undo(&mut self, point: UndoPoint) {
        for (producer, entry) in point.producers {
            match entry {
                Some(entry) => self.producers.insert(producer, entry),
                None => self.producers.remove(&producer),
            };
        }
        self.ongoing = point.ongoing;
        self.unreplicated = point.unreplicated;
    }

    /// Ends a transaction, after its entry (if any) is in the transaction index.
    pub fn complete(&mut self, completed: &CompletedTransaction) {
        if let Some(transaction) = self.ongoing.remove(&completed.first_offset) {
            let ended = Transaction { last_offset: Some(completed.last_offset), ..transaction };
            self.unreplicated.insert(completed.first_offset, ended);
        }
    }

    /// Forgets the producers that have been idle for too long.
    pub fn remove_expired(&mut self, now: Millis) {
        self.producers.retain(|_, entry| !entry.is_expired(now, self.expiration));
    }

    /// Forgets all producers and removes all snapshots.
    pub fn truncate_fully(&mut self, fs: &dyn FileSystem, offset: Offset) -> Result<(), LogError> {
        self.clear();
        for snapshot in self.snapshots(fs)? {
            self.remove_snapshot(fs, snapshot)?;
        }
        self.last_snapshot = Offset(0);
        self.map_end = offset;
        Ok(())
    }

    /// Goes back to the last snapshot at or below `end`, unless this is the state at `end` already. Snapshots outside of
    /// `(log_start, end]` are removed.
    pub fn truncate_and_reload(
        &mut self,
        fs: &dyn FileSystem,
        log_start: Offset,
        end: Offset,
        now: Millis,
    ) -> Result<(), LogError> {
        for snapshot in self.snapshots(fs)? {
            if snapshot > end || snapshot <= log_start {
                self.remove_snapshot(fs, snapshot)?;
            }
        }
        if end == self.map_end {
            return self.on_log_start(fs, log_start);
        }
        self.clear();
        self.load(fs, log_start, now)
    }

    /// The log now starts later.
    pub fn on_log_start(&mut self, fs: &dyn FileSystem, log_start: Offset) -> Result<(), LogError> {
        self.unreplicated.retain(|_, transaction| transaction.last_offset.is_none_or(|last| last >= log_start));
        self.map_end = self.map_end.max(log_start);
        self.last_snapshot = self.snapshots(fs)?.last().copied().unwrap_or(log_start);
        Ok(())
    }

    fn clear(&mut self) {
        self.producers.clear();
        self.ongoing.clear();
        self.unreplicated.clear();
    }

    fn load(&mut self, fs: &dyn FileSystem, log_start: Offset, now: Millis) -> Result<(), LogError> {
        for snapshot in self.snapshots(fs)?.into_iter().rev() {
            match producer_snapshot::read(fs, &self.snapshot_path(snapshot)) {
                Ok(entries) => {
                    for entry in entries.into_iter().filter(|entry| !entry.is_expired(now, self.expiration)) {
                        if let Some(first) = entry.transaction_start {
                            let transaction = Transaction { producer: entry.producer, last_offset: None };
                            self.ongoing.insert(first, transaction);
                        }
                        self.producers.insert(entry.producer, entry);
                    }
                    self.last_snapshot = snapshot;
                    self.map_end = snapshot;
                    return Ok(());
                }
                Err(LogError::Corrupt { .. }) => self.remove_snapshot(fs, snapshot)?,
                Err(other) => return Err(other),
            }
        }
        self.last_snapshot = log_start;
        self.map_end = log_start;
        Ok(())
    }

    /// Writes a snapshot of the state as it is, unless there is one of this offset.
    pub fn take_snapshot(&mut self, fs: &dyn FileSystem) -> Result<(), LogError> {
        if self.map_end > self.last_snapshot {
            producer_snapshot::write(fs, &self.snapshot_path(self.map_end), self.producers.values())?;
            self.last_snapshot = self.map_end;
        }
        Ok(())
    }

    /// The offsets of the snapshots on disk, in order.
    pub fn snapshots(&self, fs: &dyn FileSystem) -> Result<Vec<Offset>, LogError> {
        let names = fs.list(&self.directory)?.into_iter().filter_map(|name| FileName::parse(&name));
        let snapshots = names.filter(|name| name.kind == FileKind::Snapshot && name.stage == FileStage::Final);
        Ok(snapshots.map(|name| name.base_offset).collect())
    }

    /// Removes a snapshot that may be gone.
    pub fn remove_snapshot(&self, fs: &dyn FileSystem, offset: Offset) -> Result<(), LogError> {
        Ok(super::fs::remove_if_exists(fs, &self.snapshot_path(offset))?)
    }

    fn snapshot_path(&self, offset: Offset) -> PathBuf {
        FileName::new(offset, FileKind::Snapshot).path(&self.directory)
    }
}

/// A data batch, as far as its producer is concerned.
fn data_batch(batch: &RecordBatch<'_>) -> DataBatch {
    let first_sequence = batch.base_sequence();
    DataBatch {
        epoch: batch.producer_epoch(),
        first_sequence,
        last_sequence: if first_sequence == Sequence::NONE { Sequence::NONE } else { batch.last_sequence() },
        first_offset: batch.base_offset(),
        last_offset: batch.last_offset(),
        max_timestamp: batch.max_timestamp(),
        transactional: batch.is_transactional(),
    }
}
