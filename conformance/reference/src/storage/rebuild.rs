//! How what a pass keeps of a batch is written (docs/compaction.md 1.7 and 1.8; Kafka's
//! `MemoryRecords#buildRetainedRecordsInto`, `DefaultRecordBatch#writeEmptyHeader`).
//!
//! Stamping changes no record's time and no max timestamp: the horizon takes the place of the base timestamp, and each
//! delta is counted from it.

use super::batch::{BatchBuilder, BatchHeader, RecordBatch, TimestampType};
use super::batch_reader::LogBatch;
use super::compression::Compression;
use super::error::{BatchError, Fault};
use super::legacy::{self, LegacyBatch};
use super::mutation::Mutation;
use super::names::Millis;
use super::record_view::RecordView;
use super::retention::Output;
use super::rules::{LegacyBatches, Rules};

/// Appends what [`Output`] says of a batch.
///
/// The errors are what Kafka fails on too: records whose offsets do not ascend, and a header of an old format.
pub fn write(
    batch: &LogBatch<'_>,
    output: Output,
    retained: Vec<RecordView<'_>>,
    rules: Rules,
    out: &mut Vec<u8>,
) -> Result<(), BatchError> {
    match (output, batch) {
        (Output::Nothing, _) => {}
        (Output::Verbatim, _) => out.extend_from_slice(batch.bytes()),
        (Output::Header, LogBatch::V2(batch)) => out.extend_from_slice(&header(batch)?),
        (Output::Header, LogBatch::Legacy(_)) => {
            return Err(BatchError::new(0, Fault::Legacy("format 0 or 1 has no batch without records")));
        }
        (Output::Rebuild { horizon }, LogBatch::V2(batch)) => {
            out.extend_from_slice(&rebuild(batch, retained, horizon, rules)?);
        }
        (Output::Rebuild { horizon }, LogBatch::Legacy(batch)) => match rules.legacy {
            LegacyBatches::Convert => out.extend_from_slice(&convert(batch, &retained, horizon)?),
            LegacyBatches::PassThrough => {
                let append_time = append_time(batch);
                let retained: Vec<_> = retained.iter().map(RecordView::to_record).collect();
                legacy::write(out, batch.magic(), batch.compression()?, append_time, &retained)?;
            }
        },
    }
    Ok(())
}

/// The batch without its records: not compressed, without a horizon, with the max timestamp that it had.
pub fn header(batch: &RecordBatch<'_>) -> Result<Vec<u8>, BatchError> {
    // The codec may be one that nobody knows; nothing is compressed in here.
    let known = BatchHeader {
        base_offset: batch.base_offset(),
        leader_epoch: batch.leader_epoch(),
        compression: Compression::None,
        timestamp_type: batch.timestamp_type(),
        transactional: batch.is_transactional(),
        control: batch.is_control(),
        producer_id: batch.producer_id(),
        producer_epoch: batch.producer_epoch(),
        base_sequence: batch.base_sequence(),
    };
    BatchBuilder::new(known).last_offset(batch.last_offset()).max_timestamp(batch.max_timestamp()).build()
}

/// The batch with these of its records.
pub fn rebuild(
    batch: &RecordBatch<'_>,
    mut retained: Vec<RecordView<'_>>,
    horizon: Option<Millis>,
    rules: Rules,
) -> Result<Vec<u8>, BatchError> {
    if let (Some(horizon), true) = (horizon, rules.slips(Mutation::DeltasKeptWhenStamped)) {
        for record in &mut retained {
            let delta = record.timestamp.0.wrapping_sub(batch.base_timestamp().0);
            record.timestamp = horizon.wrapping_add(Millis(delta));
        }
    }
    let keeps_max = batch.timestamp_type() == TimestampType::LogAppendTime || rules.slips(Mutation::MaxTimestampKept);
    let mut builder = BatchBuilder::new(batch.header()?).delete_horizon(horizon);
    if !rules.slips(Mutation::LastOffsetRecomputed) {
        builder = builder.last_offset(batch.last_offset());
    }
    if keeps_max {
        builder = builder.max_timestamp(batch.max_timestamp());
    }
    builder.build_with(&retained)
}

/// A batch of format 2 with these records of one of format 0 or 1. It begins and ends with what is retained.
pub fn convert(
    batch: &LegacyBatch<'_>,
    retained: &[RecordView<'_>],
    horizon: Option<Millis>,
) -> Result<Vec<u8>, BatchError> {
    let base = retained.first().map_or(batch.last_offset(), |record| record.offset);
    let header = BatchHeader {
        compression: batch.compression()?,
        timestamp_type: batch.timestamp_type(),
        ..BatchHeader::plain(base)
    };
    let mut builder = BatchBuilder::new(header).delete_horizon(horizon);
    if let Some(time) = append_time(batch) {
        builder = builder.max_timestamp(time);
    }
    builder.build_with(retained)
}

fn append_time(batch: &LegacyBatch<'_>) -> Option<Millis> {
    (batch.timestamp_type() == TimestampType::LogAppendTime).then(|| batch.max_timestamp())
}
