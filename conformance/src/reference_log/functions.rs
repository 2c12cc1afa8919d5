//! The reference cleaner's pure decisions, as function traces call them.

use std::collections::BTreeMap;

use fencepost_fixtures::compaction::functions::{Gone, MarkerFate};
use fencepost_fixtures::compaction::{Call, Compaction, Given, Outcome, TransactionResult};
use fencepost_fixtures::names::RecordName;
use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader, RecordBatch};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::clean_times::NOTHING_KNOWN;
use fencepost_reference::storage::cleaner_manager::first_dirty;
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::error::BatchError;
use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch, ProducerId};
use fencepost_reference::storage::offset_map::{ExactOffsetMap, OffsetMap};
use fencepost_reference::storage::rebuild;
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::retention::{
    ActiveProducers, BatchVerdict, LastRecord, Output, Pass, judge_batch, judge_output, judge_record,
};
use fencepost_reference::storage::rules::{Removal, Rules};

use super::hex;
use crate::target::{Decision, Fault};

/// The producer of the batches that are made up here.
const PRODUCER: ProducerId = ProducerId(42);

/// A decision that rests on the age of a file, or on another one, of which a function trace says nothing.
const BY_FILE: &str = "under these rules it is told elsewhere how long something is clean";

/// Asks the reference for one decision.
pub(super) fn decide(rules: Rules, given: &Given, call: &Call) -> Result<Decision<Compaction>, Fault> {
    let broken = |error: BatchError| Fault::broken(format!("a batch of the call: {error}"));
    match call {
        Call::RetainRecord { offset, key, tombstone, horizon_ms } => {
            retain_record(rules, given, *offset, key.as_ref(), *tombstone, *horizon_ms).map_err(broken)
        }
        Call::RetainMarker { marker, discardable, keep_header, horizon_ms } => {
            retain_marker(rules, given, *marker, (*discardable, *keep_header), *horizon_ms).map_err(broken)
        }
        Call::Rebuild { batch, retained, keep_header, discardable_marker } => {
            let bytes = hex::decode(batch).map_err(Fault::broken)?;
            rebuilt(rules, given, &bytes, retained, (*keep_header, *discardable_marker)).map_err(broken)
        }
        Call::FirstDirtyOffset { checkpoint } => {
            let (start, end) = (given.log_start.unwrap_or_default(), given.log_end.unwrap_or_default());
            let first = first_dirty(checkpoint.map(Offset), Offset(start), Offset(end));
            Ok(Decision::Outcome(Outcome::Offset(first.offset.0)))
        }
        Call::RoundBound { from } => {
            let segments: Vec<_> = given.segments.iter().flatten().copied().map(Offset).collect();
            let bound = fencepost_reference::storage::cleaner_manager::round_bound(
                Offset(*from),
                Offset(given.last_stable.unwrap_or_default()),
                &segments,
            );
            Ok(Decision::Outcome(Outcome::Offset(bound.0)))
        }
    }
}

/// What a pass decides with, where all is clean and nobody is waited for.
fn pass<'a>(rules: Rules, given: &Given, mapped: i64, producers: &'a ActiveProducers) -> Pass<'a> {
    Pass {
        rules,
        now: Millis(given.now_ms.unwrap_or_default()),
        delete_retention: Millis(given.delete_retention_ms.unwrap_or_default()),
        first_dirty: Offset(i64::MAX),
        mapped: Offset(mapped),
        upper_bound: Offset(i64::MAX),
        high_watermark: Offset(i64::MAX),
        young_file: true,
        clean_times: &NOTHING_KNOWN,
        replicated: Offset(i64::MAX),
        producers,
    }
}

fn retain_record(
    rules: Rules,
    given: &Given,
    offset: i64,
    key: Option<&RecordName>,
    tombstone: bool,
    horizon: Option<i64>,
) -> Result<Decision<Compaction>, BatchError> {
    let value: Option<&[u8]> = if tombstone { None } else { Some(b"v") };
    let record = Record::new(Offset(offset), Millis(0), key.map(|key| key.as_str().as_bytes()), value);
    let batch = BatchBuilder::new(BatchHeader::plain(Offset(offset)))
        .delete_horizon(horizon.map(Millis))
        .record(record.clone())
        .build()?;
    let entries = given.map.iter().flatten();
    let mut map = ExactOffsetMap::new(given.map.as_ref().map_or(1, BTreeMap::len));
    for (key, offset) in entries {
        map.put(key.as_str().as_bytes(), Offset(*offset));
    }
    let producers = ActiveProducers::new();
    let young = pass(rules, given, given.mapped_to.unwrap_or_default(), &producers);
    let old = Pass { young_file: false, ..young };
    let batch = LogBatch::V2(RecordBatch::new(&batch)?);
    let is_old = tombstone && !rules.removal.has_horizons() && rules.removal != Removal::SegmentMtime;
    if is_old && judge_record(&batch, &record.view(), &map, &young) && offset <= given.mapped_to.unwrap_or_default() {
        return Ok(Decision::Skipped(BY_FILE.to_owned()));
    }
    let retained = judge_record(&batch, &record.view(), &map, &young);
    if retained == judge_record(&batch, &record.view(), &map, &old) {
        Ok(Decision::Outcome(Outcome::Retained(retained)))
    } else {
        Ok(Decision::Skipped(BY_FILE.to_owned()))
    }
}

fn retain_marker(
    rules: Rules,
    given: &Given,
    marker: Option<TransactionResult>,
    (discardable, keep_header): (bool, bool),
    horizon: Option<i64>,
) -> Result<Decision<Compaction>, BatchError> {
    let (offset, epoch) = (Offset(7), ProducerEpoch(3));
    let header = BatchHeader {
        transactional: true,
        control: true,
        producer_id: PRODUCER,
        producer_epoch: epoch,
        ..BatchHeader::plain(offset)
    };
    let record = marker.map(|result| {
        Marker { commit: result == TransactionResult::Commit, coordinator_epoch: 0 }.record(offset, Millis(0))
    });
    let records: Vec<Record> = record.into_iter().collect();
    let batch = BatchBuilder::new(header)
        .last_offset(offset)
        .delete_horizon(horizon.map(Millis))
        .records(records.clone())
        .build()?;
    // A header is kept for the producer's sake: the marker is all that is known of its epoch.
    let last = LastRecord { last_data_offset: None, producer_epoch: epoch };
    let producers = if keep_header { ActiveProducers::from([(PRODUCER, last)]) } else { ActiveProducers::new() };
    let young = pass(rules, given, i64::MAX - 1, &producers);
    let old = Pass { young_file: false, ..young };
    let batch = LogBatch::V2(RecordBatch::new(&batch)?);
    let fate = |pass: &Pass<'_>| {
        let verdict = judge_batch(&batch, discardable, pass);
        let stays = verdict != BatchVerdict::DropRecords;
        let retained: Vec<_> = records.iter().filter(|_| stays).map(Record::view).collect();
        match judge_output(&batch, verdict, &retained, stays || records.is_empty(), pass) {
            Output::Nothing => MarkerFate::Removed,
            Output::Header => MarkerFate::Emptied,
            Output::Verbatim => MarkerFate::Kept,
            Output::Rebuild { .. } => MarkerFate::Stamped,
        }
    };
    if fate(&young) == fate(&old) {
        Ok(Decision::Outcome(Outcome::Marker(fate(&young))))
    } else {
        Ok(Decision::Skipped(BY_FILE.to_owned()))
    }
}

fn rebuilt(
    rules: Rules,
    given: &Given,
    bytes: &[u8],
    retained: &[i64],
    (keep_header, discardable_marker): (bool, bool),
) -> Result<Decision<Compaction>, BatchError> {
    let Some(batch) = BatchReader::new(bytes).next().transpose()? else {
        return Ok(Decision::Skipped("the bytes end inside of a batch".to_owned()));
    };
    if batch.is_control() && discardable_marker && rules.removal != Removal::DeleteHorizon {
        return Ok(Decision::Skipped(BY_FILE.to_owned()));
    }
    let last_data_offset = if batch.is_control() { None } else { Some(batch.last_offset()) };
    let last = LastRecord { last_data_offset, producer_epoch: batch.producer_epoch() };
    // Which rule keeps the header is not the question; the producer's is at hand, or the one of the log's end.
    let producers =
        if keep_header { ActiveProducers::from([(batch.producer_id(), last)]) } else { ActiveProducers::new() };
    let mut pass = pass(rules, given, i64::MAX - 1, &producers);
    if keep_header {
        (pass.high_watermark, pass.upper_bound) = (batch.next_offset(), batch.next_offset());
    }
    let unpacked = batch.unpacked(bytes.len().max(1 << 20))?;
    let records = unpacked.records()?;
    let count = records.len();
    let kept: Vec<_> = records.into_iter().filter(|record| retained.contains(&record.offset.0)).collect();
    let verdict = match (batch.is_control(), kept.is_empty()) {
        (_, true) => BatchVerdict::DropRecords,
        (true, false) => judge_batch(&batch, discardable_marker, &pass),
        (false, false) => BatchVerdict::JudgeRecords,
    };
    let all = kept.len() == count;
    let mut output = judge_output(&batch, verdict, &kept, all, &pass);
    if keep_header && output == Output::Nothing {
        // A batch without a producer, under rules that keep none for the log's end.
        output = Output::Header;
    }
    let mut written = Vec::new();
    rebuild::write(&batch, output, kept, rules, &mut written)?;
    Ok(Decision::Outcome(if written.is_empty() {
        Outcome::Gone(Gone {})
    } else {
        Outcome::Bytes(hex::encode(&written))
    }))
}
