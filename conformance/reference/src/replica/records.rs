//! Records as traces see them, from and to Kafka's bytes.

use crate::storage::batch_builder::{BatchBuilder, BatchHeader};
use crate::storage::batch_reader::{BatchReader, LogBatch};
use crate::storage::compression::Compression;
use crate::storage::error::BatchError;
use crate::storage::legacy;
use crate::storage::names::{LeaderEpoch, Millis, Offset};
use crate::storage::record::Record;

/// A record of a log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LogRecord {
    /// Its place.
    pub offset: Offset,
    /// The epoch of the leader that appended it; [`LeaderEpoch::NONE`] in a format older than 2.
    pub epoch: LeaderEpoch,
    /// Its value.
    pub value: Vec<u8>,
}

/// The epoch of a batch; none in a format older than 2.
#[must_use]
pub fn epoch_of(batch: &LogBatch<'_>) -> LeaderEpoch {
    match batch {
        LogBatch::V2(batch) => batch.leader_epoch(),
        LogBatch::Legacy(_) => LeaderEpoch::NONE,
    }
}

/// The records of whole batches.
pub fn decode(batches: &[u8]) -> Result<Vec<LogRecord>, BatchError> {
    let mut records = Vec::new();
    for batch in BatchReader::new(batches) {
        let batch = batch?;
        let epoch = epoch_of(&batch);
        let of_batch = batch.records()?.into_iter();
        records.extend(of_batch.map(|record| LogRecord {
            offset: record.offset,
            epoch,
            value: record.value.unwrap_or_default(),
        }));
    }
    Ok(records)
}

/// Batches of these records, a new one wherever the epoch changes.
pub fn encode(records: &[LogRecord]) -> Result<Vec<u8>, BatchError> {
    let mut bytes = Vec::new();
    for batch in records.chunk_by(|a, b| a.epoch == b.epoch) {
        bytes.extend(encode_batch(batch)?);
    }
    Ok(bytes)
}

/// One batch of these records, with the epoch of the first: without one, in the message format 1.
pub fn encode_batch(records: &[LogRecord]) -> Result<Vec<u8>, BatchError> {
    let Some(first) = records.first() else { return Ok(Vec::new()) };
    if first.epoch == LeaderEpoch::NONE {
        let timed: Vec<Record> = records.iter().map(|record| timed(record.offset, &record.value)).collect();
        let mut bytes = Vec::new();
        legacy::write(&mut bytes, 1, Compression::Gzip, None, &timed)?;
        return Ok(bytes);
    }
    let header = BatchHeader { leader_epoch: first.epoch, ..BatchHeader::plain(first.offset) };
    let of = |record: &LogRecord| timed(record.offset, &record.value);
    BatchBuilder::new(header).records(records.iter().map(of)).build()
}

/// A record whose time is its offset: time passes with the log, and with nothing else.
pub(super) fn timed(offset: Offset, value: &[u8]) -> Record {
    Record::new(offset, Millis(offset.0), None, Some(value))
}
