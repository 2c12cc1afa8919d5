//! A round of the cleaner over one partition, from the first segment that it maps to the last group that it replaces
//! (docs/compaction.md 2.3 to 2.7; Kafka's `Cleaner#doClean`).
//!
//! ```text
//!  log start            F (first dirty)       X (mapped)    U (bound)
//!     │ clean section      │ map: newest offset of each key  │
//!     ├────────────────────┴──────────────┤ recopy, in groups: each group's segments become one, and are replaced
//!                                         E = X + 1: the next F
//! ```
//!
//! The round holds no file and no clock. It asks a [`RoundStorage`] for bytes, a chunk at a time, and hands it what it
//! keeps; the storage may be files or memory, and may stop it at each [`Progress`].

use std::collections::VecDeque;

use super::batch_reader::BatchReader;
use super::chunks::Chunks;
use super::clean_times::CleanTimes;
use super::compression;
use super::error::BatchError;
use super::filter::filter_batch;
use super::grouping::{GroupLimits, group_segments};
use super::mapping;
use super::mutation::Mutation;
use super::names::{Millis, Offset};
use super::offset_map::OffsetMap;
use super::retention::{ActiveProducers, Output, Pass};
use super::rules::{Rules, Worth};
use super::transaction_tracker::{AbortedTxn, TransactionTracker, collect_aborted};

pub use super::grouping::SourceSegment;

/// Where a round is. It is told before the work that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// About to map this segment.
    MapSegment(Offset),
    /// About to read a chunk of this segment for the map, so many bytes into it.
    MapChunk(Offset, u64),
    /// About to read a chunk of this segment to copy it, so many bytes into it.
    RecopyChunk(Offset, u64),
}

/// What is kept of one chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recopied {
    /// Whole batches.
    pub bytes: Vec<u8>,
    /// The largest offset that they stand for in an index.
    pub largest_offset: Offset,
}

/// A group of segments that became one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedGroup {
    /// The base of the new segment, which is the first one's of the group.
    pub base: Offset,
    /// The segments that it replaces, ascending.
    pub sources: Vec<Offset>,
    /// The transaction index of the new segment, by marker.
    pub aborted: Vec<AbortedTxn>,
    /// When the new segment counts as modified: as the last of the group.
    pub mtime: Millis,
}

/// The partition that is cleaned. Segments are named by their base offset.
pub trait RoundStorage {
    /// What can go wrong with it, and how it stops a round.
    type Error;

    /// All segments, ascending, with the active one.
    fn segments(&self) -> Vec<SourceSegment>;

    /// Where to begin to read a segment for this offset, as its offset index has it: at a batch that ends at or below
    /// it, or at 0.
    fn position_of(&mut self, segment: Offset, offset: Offset) -> Result<u64, Self::Error>;

    /// At most so many bytes of a segment; fewer at its end only.
    fn read(&mut self, segment: Offset, position: u64, bytes: usize) -> Result<Vec<u8>, Self::Error>;

    /// The transaction index of a segment.
    fn aborted(&mut self, segment: Offset) -> Result<Vec<AbortedTxn>, Self::Error>;

    /// `delete.retention.ms`, as it is now. Asked once a source segment, and before them for the legacy horizon.
    fn delete_retention(&mut self) -> Millis;

    /// The high watermark, as it is now. Asked once a source segment.
    fn high_watermark(&mut self) -> Offset;

    /// When the log became clean, as far as that is written down. Asked once a round.
    fn clean_times(&mut self) -> Result<CleanTimes, Self::Error> {
        Ok(CleanTimes::default())
    }

    /// Below this every replica has the log, where a removal waits for that; asked once a source segment.
    fn replicated(&mut self) -> Offset {
        Offset(i64::MAX)
    }

    /// The producers that have not expired. Asked once a group.
    fn producers(&mut self) -> ActiveProducers;

    /// Called once a mapped segment, once a chunk of it, and once a chunk of recopy: the place to throttle, to report,
    /// and to stop the round with an error.
    fn check(&mut self, progress: Progress) -> Result<(), Self::Error>;

    /// A new segment begins, to replace a group that begins with this base.
    fn begin(&mut self, base: Offset) -> Result<(), Self::Error>;

    /// Appends to the new segment.
    fn append(&mut self, chunk: Recopied) -> Result<(), Self::Error>;

    /// The new segment is complete: puts it in the place of its group.
    fn replace(&mut self, group: FinishedGroup) -> Result<(), Self::Error>;
}

/// What a round is given.
#[derive(Debug, Clone, Copy)]
pub struct RoundInput {
    /// The log start offset.
    pub log_start: Offset,
    /// F: where mapping begins.
    pub first_dirty: Offset,
    /// U: where the round ends at the latest; the base of a segment.
    pub upper_bound: Offset,
    /// The clock, read once for the whole round.
    pub now: Millis,
    /// The rules.
    pub rules: Rules,
    /// How many bytes are read at a time.
    pub chunk_bytes: usize,
    /// How far the buffer grows for a batch that is no larger than it should be; beyond that, to the batch's size.
    pub max_batch_bytes: usize,
    /// How many bytes the records of a batch may have when they are decompressed.
    pub max_decompressed_bytes: usize,
    /// How large a merged segment may become.
    pub limits: GroupLimits,
}

impl RoundInput {
    /// A round with Kafka's default sizes under these rules.
    #[must_use]
    pub const fn new(first_dirty: Offset, upper_bound: Offset, now: Millis, rules: Rules) -> Self {
        Self {
            log_start: Offset(0),
            first_dirty,
            upper_bound,
            now,
            rules,
            chunk_bytes: 256 * 1024,
            max_batch_bytes: 1024 * 1024 + 12,
            max_decompressed_bytes: compression::DEFAULT_LIMIT,
            limits: GroupLimits { segment_bytes: 1024 * 1024 * 1024, segment_index_bytes: 10 * 1024 * 1024 },
        }
    }
}

/// What a round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundOutcome {
    /// X: the highest offset that the map covers; none if there was nothing to map, and then nothing was copied.
    pub mapped: Option<Offset>,
    /// E: the next round's F.
    pub cleaned_to: Offset,
    /// How many keys were in the map.
    pub map_entries: usize,
    /// How many groups were replaced.
    pub groups: usize,
    /// How many bytes the copied segments had.
    pub bytes_read: u64,
    /// How many bytes were kept of them.
    pub bytes_kept: u64,
}

/// Why a round ended early. What it replaced stays replaced.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoundError<E> {
    /// The storage failed, or stopped the round.
    #[error("{0}")]
    Storage(E),
    /// Bytes of a segment that are no batch. The partition cannot be cleaned as long as they are there.
    #[error("segment {segment}, byte {position}: {error}")]
    Batch {
        /// The segment.
        segment: Offset,
        /// Where the chunk begins that the error counts from.
        position: u64,
        /// What was noticed.
        error: BatchError,
    },
    /// The offset map is too small for a segment (KAFKA-3894; only as a slip).
    #[error("segment {0} has more keys than the offset map takes")]
    MapFull(Offset),
    /// A chunk was read and looks as if it had not been (KAFKA-6854, KAFKA-7385; only as slips).
    #[error("segment {0}: a chunk without progress")]
    NoProgress(Offset),
}

impl<E> From<E> for RoundError<E> {
    fn from(error: E) -> Self {
        Self::Storage(error)
    }
}

/// Runs a round. The caller chose F and U (docs/compaction.md 2.1, 2.2), and makes E the next F when it is over.
pub fn run<S: RoundStorage>(
    storage: &mut S,
    input: &RoundInput,
    map: &mut dyn OffsetMap,
) -> Result<RoundOutcome, RoundError<S::Error>> {
    let mut round = MappedRound::build(storage, *input, map)?;
    while round.clean_group(storage, map)? {}
    Ok(round.outcome)
}

/// A round whose offset map is built, and some of whose groups may be replaced already. Whoever holds it may do other
/// things with the partition between two groups, as a broker does.
#[derive(Debug)]
pub struct MappedRound {
    input: RoundInput,
    outcome: RoundOutcome,
    mapped: Offset,
    legacy_horizon: Millis,
    all: Vec<SourceSegment>,
    groups: VecDeque<Vec<SourceSegment>>,
    clean_times: CleanTimes,
    /// One for the whole round (KAFKA-8351).
    tracker: TransactionTracker,
}

impl MappedRound {
    /// Builds the offset map, and plans the groups.
    pub fn build<S: RoundStorage>(
        storage: &mut S,
        input: RoundInput,
        map: &mut dyn OffsetMap,
    ) -> Result<Self, RoundError<S::Error>> {
        map.clear();
        let mut mapped = mapping::build(storage, &input, map)?;
        if mapped.is_none() && input.rules.worth == Worth::PassedHorizon {
            // It is not for what is dirty that the log was chosen.
            mapped = Some(Offset(input.first_dirty.0.saturating_sub(1)));
        }
        let outcome = RoundOutcome {
            mapped,
            cleaned_to: mapped.map_or(input.first_dirty, Offset::next),
            map_entries: map.len(),
            groups: 0,
            bytes_read: 0,
            bytes_kept: 0,
        };
        let all = storage.segments();
        // Where nothing is mapped, nothing is copied.
        let end = if mapped.is_some() { outcome.cleaned_to } else { Offset(i64::MIN) };
        let source: Vec<_> = all.iter().copied().filter(|segment| segment.base < end).collect();
        let last_clean = all.iter().rfind(|segment| segment.base < input.first_dirty);
        let legacy_horizon = match last_clean {
            Some(segment) => Millis(segment.mtime.0.wrapping_sub(storage.delete_retention().0)),
            None => Millis(0),
        };
        let groups = group_segments(&source, input.upper_bound, &input.limits, input.rules);
        Ok(Self {
            input,
            outcome,
            mapped: mapped.unwrap_or(Offset(-1)),
            legacy_horizon,
            all,
            groups: groups.into(),
            clean_times: storage.clean_times()?,
            tracker: TransactionTracker::within(input.max_decompressed_bytes),
        })
    }

    /// What the round did so far.
    #[must_use]
    pub const fn outcome(&self) -> &RoundOutcome {
        &self.outcome
    }

    /// Copies the next group and replaces it; false if there was none. `map` is the one that was built.
    pub fn clean_group<S: RoundStorage>(
        &mut self,
        storage: &mut S,
        map: &dyn OffsetMap,
    ) -> Result<bool, RoundError<S::Error>> {
        let Some(group) = self.groups.pop_front() else { return Ok(false) };
        let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(true) };
        if self.input.rules.slips(Mutation::TrackerPerGroup) {
            self.tracker = TransactionTracker::within(self.input.max_decompressed_bytes);
        }
        let producers = storage.producers();
        storage.begin(first.base)?;
        let mut recopy = Recopy {
            storage,
            input: &self.input,
            map,
            mapped: self.mapped,
            legacy_horizon: self.legacy_horizon,
            all: &self.all,
            clean_times: &self.clean_times,
            tracker: &mut self.tracker,
        };
        for segment in &group {
            recopy.segment(segment, &producers, &mut self.outcome)?;
        }
        self.outcome.groups += 1;
        storage.replace(FinishedGroup {
            base: first.base,
            sources: group.iter().map(|segment| segment.base).collect(),
            aborted: if self.input.rules.slips(Mutation::IndexNotCopied) {
                Vec::new()
            } else {
                self.tracker.take_retained()
            },
            mtime: last.mtime,
        })?;
        Ok(true)
    }
}

struct Recopy<'a, S> {
    storage: &'a mut S,
    input: &'a RoundInput,
    map: &'a dyn OffsetMap,
    mapped: Offset,
    legacy_horizon: Millis,
    all: &'a [SourceSegment],
    clean_times: &'a CleanTimes,
    tracker: &'a mut TransactionTracker,
}

impl<S: RoundStorage> Recopy<'_, S> {
    fn segment(
        &mut self,
        segment: &SourceSegment,
        producers: &ActiveProducers,
        outcome: &mut RoundOutcome,
    ) -> Result<(), RoundError<S::Error>> {
        let (input, rules) = (self.input, self.input.rules);
        self.learn_of_aborted(segment)?;
        let pass = Pass {
            rules,
            now: input.now,
            delete_retention: self.storage.delete_retention(),
            first_dirty: input.first_dirty,
            mapped: self.mapped,
            upper_bound: input.upper_bound,
            high_watermark: self.storage.high_watermark(),
            young_file: segment.mtime > self.legacy_horizon,
            clean_times: self.clean_times,
            replicated: self.storage.replicated(),
            producers,
        };
        let mut chunks = Chunks::new(segment, 0, input);
        while chunks.more() {
            self.storage.check(Progress::RecopyChunk(segment.base, chunks.position()))?;
            let position = chunks.position();
            let chunk = chunks.read(self.storage)?;
            let at = |error| RoundError::Batch { segment: segment.base, position, error };
            if rules.slips(Mutation::ChunkFilteredTwice) {
                self.filter(&chunk, &pass).map_err(at)?;
            }
            let (bytes, largest_offset) = self.filter(&chunk, &pass).map_err(at)?;
            outcome.bytes_read = outcome.bytes_read.saturating_add(u64::try_from(chunk.len()).unwrap_or(u64::MAX));
            outcome.bytes_kept = outcome.bytes_kept.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            match (bytes.is_empty(), largest_offset) {
                (true, _) if rules.slips(Mutation::DiscardedChunkLooksSmall) => {
                    return Err(RoundError::NoProgress(segment.base));
                }
                (true, _) => {}
                (false, Some(largest_offset)) => self.storage.append(Recopied { bytes, largest_offset })?,
                (false, None) => return Err(RoundError::NoProgress(segment.base)),
            }
        }
        Ok(())
    }

    /// What is kept of a chunk, and the largest offset in it.
    fn filter(&mut self, chunk: &[u8], pass: &Pass<'_>) -> Result<(Vec<u8>, Option<Offset>), BatchError> {
        let mut kept = Vec::with_capacity(chunk.len());
        let mut largest = None;
        let mut reader = BatchReader::new(chunk);
        loop {
            let position = reader.position();
            let Some(batch) = reader.next() else { return Ok((kept, largest)) };
            let batch = batch?;
            let can_discard = self.tracker.read(&batch, pass.rules).map_err(|error| error.within(position))?;
            let limit = self.input.max_decompressed_bytes;
            let written = filter_batch(&batch, can_discard, self.map, pass, limit, &mut kept)
                .map_err(|error| error.within(position))?;
            let counts = written.output != Output::Header || !pass.rules.slips(Mutation::EmptyHeadersNotCounted);
            if counts {
                largest = largest.max(written.largest_offset);
            }
        }
    }

    /// Tells the tracker of every aborted transaction that begins before the next segment, wherever its marker is
    /// (KAFKA-13727).
    fn learn_of_aborted(&mut self, segment: &SourceSegment) -> Result<(), RoundError<S::Error>> {
        let next = self.all.iter().find(|other| other.base > segment.base);
        let mut until = next.map_or(self.input.upper_bound, |next| next.base);
        if self.input.rules.slips(Mutation::AbortedListEndsAtMapped) {
            until = until.min(self.mapped.next());
        }
        let found = aborted_from(self.storage, self.all, segment.base, self.input.log_start, until)?;
        if !self.input.rules.slips(Mutation::AbortedUnknown) {
            self.tracker.add(found);
        }
        Ok(())
    }
}

/// The aborted transactions whose marker is at or above `from` and that begin below `until`, looked for from a segment
/// on as far as need be.
pub(super) fn aborted_from<S: RoundStorage>(
    storage: &mut S,
    all: &[SourceSegment],
    segment: Offset,
    from: Offset,
    until: Offset,
) -> Result<Vec<AbortedTxn>, S::Error> {
    let mut found = Vec::new();
    for segment in all.iter().filter(|other| other.base >= segment) {
        let index = storage.aborted(segment.base)?;
        if collect_aborted(&index, from, until, &mut found) {
            break;
        }
    }
    Ok(found)
}
