//! One batch through a pass: judged by the three tables, and written (docs/compaction.md 2.6; Kafka's
//! `MemoryRecords#filterTo`).

use super::batch_reader::LogBatch;
use super::error::BatchError;
use super::offset_map::OffsetMap;
use super::rebuild;
use super::retention::{BatchVerdict, Output, Pass, judge_batch, judge_output, judge_record};

/// Appends what the pass keeps of a batch, and tells how it was written. `can_discard` is the tracker's answer; `limit`
/// bounds the decompressed records.
pub fn filter_batch(
    batch: &LogBatch<'_>,
    can_discard: bool,
    map: &dyn OffsetMap,
    pass: &Pass<'_>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<Output, BatchError> {
    let verdict = judge_batch(batch, can_discard, pass);
    let records = batch.records_within(limit)?;
    let count = records.len();
    let retained: Vec<_> = records
        .into_iter()
        .filter(|record| match verdict {
            BatchVerdict::DropRecords => false,
            BatchVerdict::KeepRecords | BatchVerdict::StampRecords => true,
            BatchVerdict::JudgeRecords => judge_record(batch, record, map, pass),
        })
        .collect();
    let all_retained = retained.len() == count;
    let output = judge_output(batch, verdict, &retained, all_retained, pass);
    rebuild::write(batch, output, retained, pass.rules, out)?;
    Ok(output)
}
