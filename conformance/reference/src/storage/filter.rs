//! One batch through a pass: judged by the three tables, and written (docs/compaction.md 2.6; Kafka's
//! `MemoryRecords#filterTo`).

use super::batch_reader::LogBatch;
use super::error::BatchError;
use super::names::Offset;
use super::offset_map::OffsetMap;
use super::rebuild;
use super::retention::{BatchVerdict, Output, Pass, judge_batch, judge_output, judge_record, note_clean_tombstones};

/// How a batch was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// As what.
    pub output: Output,
    /// The largest offset that it stands for in an index: the last of a batch that is copied or emptied, the last
    /// retained one of a batch that is built anew; none if nothing was written.
    pub largest_offset: Option<Offset>,
}

/// Appends what the pass keeps of a batch, and tells how it was written. `can_discard` is the tracker's answer; `limit`
/// bounds the decompressed records.
pub fn filter_batch(
    batch: &LogBatch<'_>,
    can_discard: bool,
    map: &dyn OffsetMap,
    pass: &Pass<'_>,
    limit: usize,
    out: &mut Vec<u8>,
) -> Result<Kept, BatchError> {
    let verdict = judge_batch(batch, can_discard, pass);
    let unpacked = batch.unpacked(limit)?;
    let records = unpacked.records()?;
    let count = records.len();
    let mut retained: Vec<_> = records
        .into_iter()
        .filter(|record| match verdict {
            BatchVerdict::DropRecords => false,
            BatchVerdict::KeepRecords | BatchVerdict::StampRecords => true,
            BatchVerdict::JudgeRecords => judge_record(batch, record, map, pass),
        })
        .collect();
    let changed = note_clean_tombstones(batch, &mut retained, pass);
    let output = judge_output(batch, verdict, &retained, retained.len() == count && !changed, pass);
    let largest_offset = match output {
        Output::Nothing => None,
        Output::Header | Output::Verbatim => Some(batch.last_offset()),
        Output::Rebuild { .. } => retained.iter().map(|record| record.offset).max(),
    };
    rebuild::write(batch, output, retained, pass.rules, out)?;
    Ok(Kept { output, largest_offset })
}
