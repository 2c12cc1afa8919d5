//! What a pass keeps: the three decision tables of docs/compaction.md 2.6, as functions of what they decide on (Kafka's
//! `Cleaner#cleanInto`, `#shouldRetainRecord`, `#isBatchLastRecordOfProducer`, `MemoryRecords#filterTo`).
//!
//! ```text
//! keep_header   is the batch its producer's last, or the last of all?       yes: a header stays if nothing else does
//! Table A       judge_batch   the batch: its records are dropped, kept, or judged one by one
//! Table B       judge_record  the record
//! Table C       judge_output  what is written: nothing, a header, the same bytes, or a batch built anew
//! ```

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::batch_reader::LogBatch;
use super::clean_times::CleanTimes;
use super::mutation::Mutation;
use super::names::{Millis, Offset, ProducerEpoch, ProducerId};
use super::offset_map::OffsetMap;
use super::record_view::{HeaderView, RecordView};
use super::rules::{LastOfRound, LegacyBatches, Removal, Rules, Stamping};

/// What is last known of a producer that has not expired (Kafka's `LastRecord`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LastRecord {
    /// The last offset of its last data batch, if there was one since its epoch changed.
    pub last_data_offset: Option<Offset>,
    /// Its epoch.
    pub producer_epoch: ProducerEpoch,
}

/// The producers that have not expired, as they are when a group of segments begins.
pub type ActiveProducers = BTreeMap<ProducerId, LastRecord>;

/// What a pass over one source segment decides with.
#[derive(Debug, Clone, Copy)]
pub struct Pass<'a> {
    /// The rules.
    pub rules: Rules,
    /// The clock, read once when the round began.
    pub now: Millis,
    /// `delete.retention.ms`, read once a source segment.
    pub delete_retention: Millis,
    /// F: what lies below was clean before the round.
    pub first_dirty: Offset,
    /// The highest offset that the offset map covers.
    pub mapped: Offset,
    /// The bound of the round.
    pub upper_bound: Offset,
    /// The high watermark, read once a source segment.
    pub high_watermark: Offset,
    /// Whether the file of the source segment is younger than the legacy horizon (docs/compaction.md 4.1).
    pub young_file: bool,
    /// What is known of when the log became clean; looked at under [`Removal::CheckpointPair`] and its list alone.
    pub clean_times: &'a CleanTimes,
    /// What lies at or above this is not on every replica, and is not removed for its age: the repair of 6.2. The largest
    /// offset where nobody is waited for.
    pub replicated: Offset,
    /// The producers that have not expired.
    pub producers: &'a ActiveProducers,
}

impl Pass<'_> {
    fn slips(&self, mutation: Mutation) -> bool {
        self.rules.slips(mutation)
    }

    fn horizon(&self, batch: &LogBatch<'_>) -> Option<Millis> {
        if self.rules.removal.has_horizons() { batch.delete_horizon() } else { None }
    }
}

/// Whether a header of this batch stays if nothing else of it does (docs/compaction.md 2.6 and 3.4).
#[must_use]
pub fn keep_header(batch: &LogBatch<'_>, pass: &Pass<'_>) -> bool {
    if batch.is_control() && pass.slips(Mutation::MarkersDroppedAtOnce) {
        return false;
    }
    last_of_producer(batch, pass) || last_of_round(batch, pass)
}

fn last_of_producer(batch: &LogBatch<'_>, pass: &Pass<'_>) -> bool {
    if batch.producer_id() <= ProducerId::NONE || pass.slips(Mutation::ProducerNotKept) {
        return false;
    }
    if pass.slips(Mutation::ProducerByFirstSequence) && !batch.is_control() {
        return pass.producers.contains_key(&batch.producer_id());
    }
    match pass.producers.get(&batch.producer_id()) {
        None => false,
        Some(LastRecord { last_data_offset: Some(offset), .. }) => {
            batch.last_offset() == *offset && !pass.slips(Mutation::LastDataOfProducerDropped)
        }
        Some(LastRecord { last_data_offset: None, producer_epoch }) => {
            batch.is_control()
                && batch.producer_epoch() == *producer_epoch
                && !pass.slips(Mutation::LastMarkerOfProducerDropped)
        }
    }
}

fn last_of_round(batch: &LogBatch<'_>, pass: &Pass<'_>) -> bool {
    if pass.slips(Mutation::LastBatchNotKept) {
        return false;
    }
    match pass.rules.last_of_round {
        LastOfRound::Off => false,
        LastOfRound::UpperBound => batch.next_offset() == pass.upper_bound,
        LastOfRound::HighWatermark => batch.next_offset() == pass.high_watermark,
    }
}

/// What happens to the records of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchVerdict {
    /// They go.
    DropRecords,
    /// They stay.
    KeepRecords,
    /// They stay, and the horizon of the batch is to be set.
    StampRecords,
    /// Table B judges each.
    JudgeRecords,
}

/// Table A.
#[must_use]
pub fn judge_batch(batch: &LogBatch<'_>, can_discard: bool, pass: &Pass<'_>) -> BatchVerdict {
    use BatchVerdict::{DropRecords, JudgeRecords, KeepRecords, StampRecords};
    let slip = |mutation| pass.slips(mutation);
    match (batch.is_control(), can_discard) {
        // A1
        (false, true) if slip(Mutation::AbortedRecordsKept) => JudgeRecords,
        (false, true) if slip(Mutation::AbortedDataStamped) => StampRecords,
        (false, true) => DropRecords,
        // A2
        (false, false) => JudgeRecords,
        (true, _) if slip(Mutation::ControlRecordsKeyed) => JudgeRecords,
        (true, _) if slip(Mutation::MarkersDroppedAtOnce) => DropRecords,
        // A3 and A8
        (true, false) => KeepRecords,
        // Before KIP-534 a marker went with the tombstones of its segment.
        (true, true) if pass.rules.removal != Removal::DeleteHorizon => {
            if pass.young_file {
                KeepRecords
            } else {
                DropRecords
            }
        }
        (true, true) => match batch.delete_horizon() {
            // A4, and A7: stamping an empty batch does nothing.
            None if slip(Mutation::MarkerNotStamped) => DropRecords,
            None => StampRecords,
            // A5
            Some(horizon) if horizon > pass.now && !slip(Mutation::MarkerIgnoresHorizon) => KeepRecords,
            Some(horizon)
                if horizon == pass.now
                    && (slip(Mutation::MarkerStaysAtHorizon) || slip(Mutation::StaysAtTheHorizon)) =>
            {
                KeepRecords
            }
            Some(_) if batch.base_offset() >= pass.replicated => KeepRecords,
            // A6
            Some(_) => DropRecords,
        },
    }
}

/// Table B: whether a record of a batch stays that Table A leaves to it.
#[must_use]
pub fn judge_record(batch: &LogBatch<'_>, record: &RecordView<'_>, map: &dyn OffsetMap, pass: &Pass<'_>) -> bool {
    let slip = |mutation| pass.slips(mutation);
    // B1
    if record.offset > pass.mapped && !slip(Mutation::UnmappedJudged) {
        return true;
    }
    // B2
    let Some(key) = record.key else { return slip(Mutation::UnkeyedKept) };
    // B3
    if map.get(key).is_some_and(|newest| newest > record.offset)
        && !(slip(Mutation::SupersededTombstoneWaits) && record.is_tombstone())
    {
        return false;
    }
    match (record.value, batch.is_legacy(), pass.horizon(batch)) {
        // B4
        (Some(value), ..) if !(value.is_empty() && slip(Mutation::EmptyValueIsTombstone)) => true,
        // B8, and every format before KIP-534
        (_, true, _) => pass.young_file,
        _ if record.offset >= pass.replicated => true,
        _ if !pass.rules.removal.has_horizons() => stays_by_rejected_rule(record, pass),
        // B5
        (_, false, None) => !slip(Mutation::UnstampedTombstoneDropped),
        // B6
        (_, false, Some(horizon)) if pass.now < horizon => !slip(Mutation::TombstoneIgnoresHorizon),
        // B7
        (_, false, Some(horizon)) => {
            let stays = slip(Mutation::TombstoneStaysAtHorizon) || slip(Mutation::StaysAtTheHorizon);
            pass.now == horizon && stays
        }
    }
}

/// Whether a tombstone stays by a rule that is older than KIP-534, or that was rejected for it.
fn stays_by_rejected_rule(record: &RecordView<'_>, pass: &Pass<'_>) -> bool {
    let young = |since: Millis| pass.now < since.wrapping_add(pass.delete_retention);
    match pass.rules.removal {
        Removal::CheckpointPair | Removal::CheckpointList => pass.clean_times.since(record.offset).is_none_or(young),
        Removal::RecordHeader => clean_since(record).is_none_or(young),
        Removal::SegmentMtime | Removal::DeleteHorizon | Removal::DeleteHorizonOfTombstones => pass.young_file,
    }
}

/// The header of a tombstone that tells when the round began that found it clean ([`Removal::RecordHeader`]).
pub const CLEAN_SINCE_HEADER: &str = "__deleteHorizonMs";

/// What that header of a record says.
fn clean_since(record: &RecordView<'_>) -> Option<Millis> {
    let header = record.headers.iter().find(|header| header.key == CLEAN_SINCE_HEADER)?;
    let bytes: [u8; 8] = header.value.as_deref()?.try_into().ok()?;
    Some(Millis(i64::from_be_bytes(bytes)))
}

/// Gives the tombstones of a batch that are clean by now, and do not say since when, their header. Whether it changed
/// something.
pub fn note_clean_tombstones(batch: &LogBatch<'_>, retained: &mut [RecordView<'_>], pass: &Pass<'_>) -> bool {
    let mut changed = false;
    if pass.rules.removal == Removal::RecordHeader && !batch.is_control() && !batch.is_legacy() {
        for record in retained.iter_mut().filter(|record| record.is_tombstone() && record.offset <= pass.first_dirty) {
            if clean_since(record).is_none() {
                let value = Some(Cow::Owned(pass.now.0.to_be_bytes().to_vec()));
                record.headers.push(HeaderView { key: Cow::Borrowed(CLEAN_SINCE_HEADER), value });
                changed = true;
            }
        }
    }
    changed
}

/// What is written of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Nothing.
    Nothing,
    /// A header without records, and without a horizon.
    Header,
    /// The bytes that were read.
    Verbatim,
    /// What is retained, built anew with this horizon.
    Rebuild {
        /// The horizon; none, if below 0 (a sum that wrapped).
        horizon: Option<Millis>,
    },
}

/// Table C.
#[must_use]
pub fn judge_output(
    batch: &LogBatch<'_>,
    verdict: BatchVerdict,
    retained: &[RecordView<'_>],
    all_retained: bool,
    pass: &Pass<'_>,
) -> Output {
    if retained.is_empty() {
        return if keep_header(batch, pass) { Output::Header } else { Output::Nothing };
    }
    let old = pass.horizon(batch).filter(|_| !pass.slips(Mutation::HorizonLostInRebuild));
    let same_format = match (batch, pass.rules.legacy) {
        (LogBatch::V2(_), _) => true,
        (LogBatch::Legacy(_), LegacyBatches::Convert) => false,
        // KAFKA-4298: what is inside may be of the other old format.
        (LogBatch::Legacy(legacy), LegacyBatches::PassThrough) => {
            pass.slips(Mutation::InnerMagicIgnored) || !legacy.mixes_formats()
        }
    };
    let starts_clock = verdict == BatchVerdict::StampRecords || has_stamping_tombstone(batch, retained, pass);
    let renewed = pass.slips(Mutation::HorizonRenewed);
    let can_be_stamped = pass.rules.removal.has_horizons()
        && (!batch.is_legacy() || pass.rules.legacy == LegacyBatches::Convert)
        && (batch.delete_horizon().is_none() || renewed);
    match (starts_clock && can_be_stamped, all_retained && same_format) {
        (false, true) => Output::Verbatim,
        (false, false) => Output::Rebuild { horizon: old },
        (true, _) if pass.slips(Mutation::HorizonFromRecordTimes) => {
            Output::Rebuild { horizon: Some(batch.max_timestamp().wrapping_add(pass.delete_retention)) }
        }
        (true, _) => Output::Rebuild { horizon: Some(pass.now.wrapping_add(pass.delete_retention)) },
    }
}

/// Whether something that is retained starts the clock. The test looks at the value alone: a record without a key, which
/// only lies above what is mapped, counts too.
fn has_stamping_tombstone(batch: &LogBatch<'_>, retained: &[RecordView<'_>], pass: &Pass<'_>) -> bool {
    let in_place = match pass.rules.stamping {
        Stamping::WhereverRetained => true,
        Stamping::OnlyIfMapped => batch.last_offset() <= pass.mapped,
        Stamping::OnlyIfClean => batch.last_offset() < pass.first_dirty,
    };
    in_place && retained.iter().any(|record| record.value.is_none())
}
