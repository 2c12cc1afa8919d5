//! Building the offset map of a round: which offset holds the newest record of each key in the dirty section
//! (docs/compaction.md 2.4; Kafka's `Cleaner#buildOffsetMap`).

use super::batch_reader::{BatchReader, LogBatch};
use super::chunks::Chunks;
use super::error::BatchError;
use super::grouping::SourceSegment;
use super::mutation::Mutation;
use super::names::Offset;
use super::offset_map::OffsetMap;
use super::round::{Progress, RoundError, RoundInput, RoundStorage, aborted_from};
use super::rules::IndexFilter;
use super::transaction_tracker::TransactionTracker;

/// Maps [F, U) until the map is full. Answers X, the highest offset that the map covers.
pub(super) fn build<S: RoundStorage>(
    storage: &mut S,
    input: &RoundInput,
    map: &mut dyn OffsetMap,
) -> Result<Option<Offset>, RoundError<S::Error>> {
    let all = storage.segments();
    let holds_first_dirty = all.iter().rfind(|segment| segment.base <= input.first_dirty);
    let start = holds_first_dirty.or(all.first()).map_or(input.first_dirty, |segment| segment.base);
    let dirty: Vec<_> =
        all.iter().filter(|segment| (start..input.upper_bound).contains(&segment.base)).copied().collect();
    let mut mapping =
        Mapping { input, map, tracker: TransactionTracker::within(input.max_decompressed_bytes), mapped: None };
    let from = match input.rules.index_filter {
        IndexFilter::LogStart => input.log_start,
        IndexFilter::FirstDirty => input.first_dirty,
    };
    let aborted = aborted_from(storage, &all, start, from, input.upper_bound)?;
    if !input.rules.slips(Mutation::AbortedUnknown) {
        mapping.tracker.add(aborted);
    }
    for (index, segment) in dirty.iter().enumerate() {
        storage.check(Progress::MapSegment(segment.base))?;
        let end = dirty.get(index + 1).map_or(input.upper_bound, |next| next.base);
        if mapping.segment(storage, segment, end)? {
            if input.rules.slips(Mutation::FullMapFails) {
                return Err(RoundError::MapFull(segment.base));
            }
            break;
        }
    }
    Ok(mapping.mapped)
}

struct Mapping<'a> {
    input: &'a RoundInput,
    map: &'a mut dyn OffsetMap,
    tracker: TransactionTracker,
    mapped: Option<Offset>,
}

impl Mapping<'_> {
    /// True when the map is full.
    fn segment<S: RoundStorage>(
        &mut self,
        storage: &mut S,
        segment: &SourceSegment,
        end: Offset,
    ) -> Result<bool, RoundError<S::Error>> {
        let position = storage.position_of(segment.base, self.input.first_dirty)?;
        let mut chunks = Chunks::new(segment, position, self.input);
        while chunks.more() {
            storage.check(Progress::MapChunk(segment.base, chunks.position()))?;
            let position = chunks.position();
            let chunk = chunks.read(storage)?;
            let full =
                self.chunk(&chunk).map_err(|error| RoundError::Batch { segment: segment.base, position, error })?;
            if full {
                return Ok(true);
            }
        }
        // KAFKA-8764: what is between the last batch and the next segment holds nothing that could be mapped.
        if !self.input.rules.slips(Mutation::GapHoldsFirstDirtyBack) {
            self.mapped = Some(Offset(end.0.saturating_sub(1)));
        }
        Ok(false)
    }

    fn chunk(&mut self, chunk: &[u8]) -> Result<bool, BatchError> {
        let mut reader = BatchReader::new(chunk);
        loop {
            let position = reader.position();
            let Some(batch) = reader.next() else { return Ok(false) };
            let batch = batch?;
            if self.batch(&batch).map_err(|error| error.within(position))? {
                if self.input.rules.slips(Mutation::FullMapCoversItsBatch) {
                    self.mapped = Some(batch.last_offset());
                }
                return Ok(true);
            }
            if batch.last_offset() >= self.input.first_dirty {
                self.mapped = Some(batch.last_offset());
            }
        }
    }

    fn batch(&mut self, batch: &LogBatch<'_>) -> Result<bool, BatchError> {
        let rules = self.input.rules;
        let can_discard = self.tracker.read(batch, rules)?;
        let is_mapped = match (batch.is_control(), can_discard) {
            (true, _) => rules.slips(Mutation::ControlRecordsKeyed),
            (false, aborted) => !aborted || rules.slips(Mutation::AbortedRecordsMapped),
        };
        if !is_mapped {
            return Ok(false);
        }
        let unpacked = batch.unpacked(self.input.max_decompressed_bytes)?;
        for record in unpacked.records()? {
            let Some(key) = record.key else { continue };
            if record.offset < self.input.first_dirty
                || (record.value.is_none() && rules.slips(Mutation::TombstonesNotMapped))
            {
                continue;
            }
            // A full map takes no record at all, be its key there or not.
            let takes_it = rules.slips(Mutation::FullMapTakesKnownKeys) && self.map.get(key).is_some();
            if self.map.is_full() && !takes_it {
                return Ok(true);
            }
            self.map.put(key, record.offset);
            self.mapped = Some(record.offset);
        }
        Ok(false)
    }
}
