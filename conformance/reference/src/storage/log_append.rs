//! Appending: as a leader, which gives offsets, or as a follower, which takes them (Kafka's `UnifiedLog#append`,
//! `LogValidator`).
//!
//! A leader changes what does not need the records to be written again: base offset, leader epoch, and with
//! `LogAppendTime` the max timestamp. So bit 6 of a client's batch survives, and with it a horizon that the client chose
//! (N6); [`ClientHorizon::Cleared`] is the repair. Where the topic's codec is not the batch's, the records are written again,
//! and the bit is gone. A follower changes nothing.

use super::batch::{RecordBatch, TimestampType};
use super::batch_builder::{self, BatchBuilder};
use super::batch_reader::{BatchReader, LogBatch};
use super::compression::Compression;
use super::control::Marker;
use super::legacy;
use super::log::Log;
use super::log_error::{AppendError, LogError};
use super::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use super::producer_append::{AppendOrigin, CompletedTransaction, TransactionProtocol};
use super::record::Record;
use super::rules::ClientHorizon;

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The first offset of what was appended, or of the batch that was there already.
    pub first_offset: Offset,
    /// The last one.
    pub last_offset: Offset,
    /// Whether a producer has sent the batch again, so that nothing was appended.
    pub duplicate: bool,
}

impl Log {
    /// Appends batches of format 2 as the leader of `epoch`. Refused, nothing has changed.
    pub fn append_as_leader(
        &mut self,
        batches: &[u8],
        origin: AppendOrigin,
        epoch: LeaderEpoch,
        now: Millis,
    ) -> Result<Appended, LogError> {
        let mut bytes = Vec::with_capacity(batches.len());
        let mut next = self.next_offset;
        for batch in whole_batches(batches)? {
            let LogBatch::V2(batch) = batch else {
                return Err(AppendError::InvalidRecord("a producer of this log sends format 2").into());
            };
            let records = self.validate(&batch, origin)?;
            if let Some(duplicate) = self.duplicate(&batch, origin) {
                return Ok(duplicate);
            }
            let mut bytes_of_batch = self.assign(&batch, records, origin, next, epoch, now)?;
            next = Offset(next.0.saturating_add(i64::from(batch.last_offset_delta()))).next();
            bytes.append(&mut bytes_of_batch);
        }
        self.append(&bytes, origin, Some(epoch), now)
    }

    /// Appends the leader's batches byte for byte. Their offsets may jump, and may not go back.
    pub fn append_as_follower(&mut self, batches: &[u8], now: Millis) -> Result<Appended, LogError> {
        self.append(batches, AppendOrigin::Replication, None, now)
    }

    /// Appends records as the leader of a log whose message format is 1, in which a batch has no epoch.
    pub fn append_legacy_as_leader(&mut self, records: &[Record], now: Millis) -> Result<Appended, LogError> {
        let numbered = (self.next_offset.0..).zip(records);
        let records: Vec<Record> =
            numbered.map(|(offset, record)| Record { offset: Offset(offset), ..record.clone() }).collect();
        let mut bytes = Vec::new();
        legacy::write(&mut bytes, 1, Compression::Gzip, None, &records).map_err(AppendError::from)?;
        self.append(&bytes, AppendOrigin::Replication, None, now)
    }

    /// Appends the end of a transaction, as the leader.
    pub fn append_marker(
        &mut self,
        producer: ProducerId,
        producer_epoch: ProducerEpoch,
        marker: Marker,
        protocol: TransactionProtocol,
        epoch: LeaderEpoch,
        now: Millis,
    ) -> Result<Appended, LogError> {
        let batch = marker.batch(Offset(0), now, epoch, producer, producer_epoch).map_err(AppendError::from)?;
        self.append_as_leader(&batch, AppendOrigin::Coordinator(protocol), epoch, now)
    }

    fn validate(&self, batch: &RecordBatch<'_>, origin: AppendOrigin) -> Result<Vec<Record>, AppendError> {
        batch.check_crc()?;
        if batch.size() > self.config.max_message_bytes {
            return Err(AppendError::MessageTooLarge { size: batch.size(), limit: self.config.max_message_bytes });
        }
        let records = batch.records()?;
        if origin != AppendOrigin::Client {
            return Ok(records);
        }
        let count = i32::try_from(records.len()).unwrap_or(i32::MAX);
        match () {
            () if batch.is_control() => Err(AppendError::InvalidRecord("clients may not write control records")),
            () if count == 0 => Err(AppendError::InvalidRecord("a batch without records")),
            () if batch.last_offset_delta() != count - 1 => {
                Err(AppendError::InvalidRecord("a batch whose offsets are not one after the other"))
            }
            () if batch.producer_id().0 >= 0 && batch.base_sequence() == Sequence::NONE => {
                Err(AppendError::InvalidRecord("a producer without a sequence"))
            }
            () if self.config.compact && records.iter().any(|record| record.key.is_none()) => {
                Err(AppendError::InvalidRecord("a compacted topic takes no record without a key"))
            }
            () => Ok(records),
        }
    }

    /// The batch, if its producer sends one of its last five again (`ProducerStateEntry#findDuplicateBatch`).
    fn duplicate(&self, batch: &RecordBatch<'_>, origin: AppendOrigin) -> Option<Appended> {
        if origin != AppendOrigin::Client {
            return None;
        }
        let entry = self.producers.producers().get(&batch.producer_id())?;
        let found = entry.find_duplicate(batch.producer_epoch(), batch.base_sequence(), batch.last_sequence())?;
        Some(Appended { first_offset: found.first_offset(), last_offset: found.last_offset, duplicate: true })
    }

    fn assign(
        &self,
        batch: &RecordBatch<'_>,
        records: Vec<Record>,
        origin: AppendOrigin,
        base: Offset,
        epoch: LeaderEpoch,
        now: Millis,
    ) -> Result<Vec<u8>, AppendError> {
        let wanted = self.config.compression.filter(|_| origin == AppendOrigin::Client && !batch.is_control());
        let mut bytes = match wanted {
            Some(codec) if codec != batch.compression()? => {
                let mut header = batch.header()?;
                header.compression = codec;
                let builder = BatchBuilder::new(header).last_offset(batch.last_offset()).records(records);
                builder.build()?
            }
            _ => batch.bytes().to_vec(),
        };
        if self.rules.cleaner.client_horizon == ClientHorizon::Cleared && origin == AppendOrigin::Client {
            batch_builder::clear_delete_horizon(&mut bytes)?;
        }
        if self.config.timestamp_type == TimestampType::LogAppendTime && !batch.is_control() {
            let kind = TimestampType::LogAppendTime;
            batch_builder::set_max_timestamp(&mut bytes, kind, now)?;
        }
        batch_builder::set_base_offset(&mut bytes, base)?;
        batch_builder::set_leader_epoch(&mut bytes, epoch)?;
        Ok(bytes)
    }

    fn append(
        &mut self,
        bytes: &[u8],
        origin: AppendOrigin,
        leader: Option<LeaderEpoch>,
        now: Millis,
    ) -> Result<Appended, LogError> {
        let batches = whole_batches(bytes)?;
        let appended = self.check_offsets(&batches)?;
        let Some((appended, max_timestamp)) = appended else {
            let first_offset = self.next_offset;
            return Ok(Appended { first_offset, last_offset: Offset(first_offset.0 - 1), duplicate: false });
        };
        let undo = self.producers.undo_point(batches.iter().map(LogBatch::producer_id));
        let must_roll = self.must_roll(bytes.len() as u64, &appended, max_timestamp, now)?;
        let mut folded = self.fold_producers(&batches, origin);
        if must_roll || folded.is_err() {
            self.producers.undo(undo);
        }
        if must_roll && folded.is_ok() {
            // The snapshot of a roll is of the producers before these batches.
            self.roll_at(appended.first_offset, now)?;
            folded = self.fold_producers(&batches, origin);
        }
        let ended = folded?;
        let fs = self.fs.clone();
        for batch in &batches {
            match batch {
                LogBatch::V2(batch) => {
                    self.epochs.assign(&*fs, leader.unwrap_or(batch.leader_epoch()), batch.base_offset())?;
                }
                // What the entries say ends with the first batch that has no epoch (KAFKA-7601).
                LogBatch::Legacy(_) => self.epochs.clear(&*fs)?,
            }
        }
        if let Some(mut active) = self.segments.last_entry() {
            active.get_mut().append(&*fs, bytes, now)?;
            for (completed, last_stable) in ended {
                if completed.aborted {
                    let entry = completed.aborted_transaction(last_stable);
                    active.get_mut().transaction_index_mut().append(&*fs, entry)?;
                }
            }
        }
        self.next_offset = appended.last_offset.next();
        self.producers.set_map_end(self.next_offset);
        Ok(appended)
    }

    fn check_offsets(&self, batches: &[LogBatch<'_>]) -> Result<Option<(Appended, Millis)>, AppendError> {
        let mut next = self.next_offset;
        let mut max_timestamp = Millis::NONE;
        for batch in batches {
            if batch.base_offset() < next || batch.last_offset() < batch.base_offset() {
                return Err(AppendError::OffsetsGoBack { offset: batch.base_offset(), end: next });
            }
            if batch.last_offset() == Offset(i64::MAX) {
                return Err(AppendError::InvalidRecord("an offset after which there is none"));
            }
            batch.check_crc()?;
            next = batch.next_offset();
            max_timestamp = max_timestamp.max(batch.max_timestamp());
        }
        let (Some(first), Some(last)) = (batches.first(), batches.last()) else { return Ok(None) };
        let (first_offset, last_offset) = (first.base_offset(), last.last_offset());
        Ok(Some((Appended { first_offset, last_offset, duplicate: false }, max_timestamp)))
    }

    fn fold_producers(
        &mut self,
        batches: &[LogBatch<'_>],
        origin: AppendOrigin,
    ) -> Result<Vec<(CompletedTransaction, Offset)>, AppendError> {
        let mut ended = Vec::new();
        for batch in batches {
            let LogBatch::V2(batch) = batch else { continue };
            if let Some(completed) = self.producers.append(origin, batch)? {
                ended.push((completed, self.producers.last_stable_offset_after(&completed)));
                self.producers.complete(&completed);
            }
        }
        Ok(ended)
    }

    /// Whether what comes does not belong in the active segment (`LogSegment#shouldRoll`).
    fn must_roll(&self, bytes: u64, appended: &Appended, timestamp: Millis, now: Millis) -> Result<bool, LogError> {
        let Some((_, active)) = self.segments.last_key_value() else { return Ok(false) };
        if !active.can_hold(appended.last_offset) {
            return Ok(true);
        }
        if active.size() == 0 {
            return Ok(false);
        }
        let full = active.size() > self.config.segment_bytes.saturating_sub(bytes);
        let indexes_full = active.offset_index().is_full() || active.time_index().is_full();
        Ok(full || indexes_full || active.waited(&*self.fs, now, timestamp)? > self.config.max_segment_ms().0)
    }
}

/// The batches of an append: each whole, and nothing after the last.
fn whole_batches(bytes: &[u8]) -> Result<Vec<LogBatch<'_>>, AppendError> {
    let mut reader = BatchReader::new(bytes);
    let batches: Result<Vec<_>, _> = reader.by_ref().collect();
    let batches = batches?;
    if reader.position() != bytes.len() {
        let fault = "a batch that is cut off".to_owned();
        return Err(AppendError::CorruptMessage { position: reader.position(), fault });
    }
    Ok(batches)
}
