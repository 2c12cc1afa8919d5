//! One partition's log: segments, batches, the transaction index, producers, the end and the stable offset (2.2, 3.4).
//!
//! `UnifiedLog`, `ProducerStateManager` and `TransactionIndex` in Kafka.

use std::hash::{Hash, Hasher};

use fencepost_fixtures::variants::{CompactionRules, EmptiedMarker};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::batch::{Batch, Kind, NONE, UNKNOWN};
use super::bounds::MAX_PRODUCERS;
use super::labels::{Label, Trail};
use super::mutant::Mutant;

/// A segment's file. The last one is active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Segment {
    /// Its base offset.
    pub base: u8,
    /// When it was modified last; a cleaned segment has its last source's.
    pub mtime: u8,
}

/// An entry of the transaction index, which stands in the segment that holds the marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// The marker's offset.
    pub last: u8,
    /// The first offset of the transaction.
    pub first: u8,
    /// The producer, from 1.
    pub producer: u8,
}

/// What the log knows of a producer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Producer {
    /// Whether it is known at all.
    pub exists: bool,
    /// Its epoch, or [`UNKNOWN`].
    pub epoch: u8,
    /// The last offset of its last data batch at this epoch; stands for the sequence too. [`NONE`].
    pub last_data: u8,
    /// Where its open transaction begins, or [`NONE`].
    pub open: u8,
    /// Where its oldest transaction begins whose marker is not below the high watermark, or [`NONE`].
    pub undecided: u8,
    /// When it wrote last, 0 where nobody asks.
    pub seen: u8,
}

impl Default for Producer {
    fn default() -> Self {
        Self { exists: false, epoch: 0, last_data: NONE, open: NONE, undecided: NONE, seen: 0 }
    }
}

/// The log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The batches, ascending.
    pub batches: SmallVec<[Batch; 8]>,
    /// The segments, ascending.
    pub segments: SmallVec<[Segment; 6]>,
    /// The transaction index of all segments, by marker.
    pub aborted: SmallVec<[Entry; 3]>,
    /// The producers.
    pub producers: [Producer; MAX_PRODUCERS],
    /// The log start offset.
    pub start: u8,
    /// The log end offset.
    pub end: u8,
    /// The high watermark.
    pub high: u8,
    /// The cleaner's checkpoint, or [`NONE`].
    pub checkpoint: u8,
    /// When the record at each offset was written; empty where nobody asks.
    pub times: SmallVec<[u8; 8]>,
}

impl Log {
    /// An empty log.
    #[must_use]
    pub fn new(clock: u8) -> Self {
        Self {
            batches: SmallVec::new(),
            segments: SmallVec::from_slice(&[Segment { base: 0, mtime: clock }]),
            aborted: SmallVec::new(),
            producers: [Producer::default(); MAX_PRODUCERS],
            start: 0,
            end: 0,
            high: 0,
            checkpoint: NONE,
            times: SmallVec::new(),
        }
    }

    /// When the record at this offset was written, 0 where nobody asks.
    #[must_use]
    pub fn written_at(&self, offset: u8) -> u8 {
        self.times.get(usize::from(offset)).copied().unwrap_or(0)
    }

    /// The producer, which has an id.
    #[must_use]
    pub fn producer(&self, producer: u8) -> &Producer {
        &self.producers[usize::from(producer - 1)]
    }

    /// The base of the active segment.
    #[must_use]
    pub fn active(&self) -> u8 {
        self.segments.last().map_or(0, |segment| segment.base)
    }

    /// The place of the segment that holds `offset`: the last whose base is not above it.
    #[must_use]
    pub fn segment_of(&self, offset: u8) -> usize {
        self.segments.partition_point(|segment| segment.base <= offset).saturating_sub(1)
    }

    /// Where the segment at this place ends: the next one's base, or the log's end.
    #[must_use]
    pub fn segment_end(&self, at: usize) -> u8 {
        self.segments.get(at + 1).map_or(self.end, |next| next.base)
    }

    /// The batches of the segment at this place.
    pub fn batches_of(&self, at: usize) -> impl Iterator<Item = &Batch> {
        let (base, end) = (self.segments.get(at).map_or(NONE, |segment| segment.base), self.segment_end(at));
        let from = self.batches.partition_point(|batch| batch.base < base);
        self.batches.iter().skip(from).take_while(move |batch| batch.base < end)
    }

    /// The first offset of the oldest transaction that is not decided.
    #[must_use]
    pub fn first_unstable(&self) -> u8 {
        self.producers.iter().map(|producer| producer.open.min(producer.undecided)).min().unwrap_or(NONE)
    }

    /// The last stable offset.
    #[must_use]
    pub fn stable(&self) -> u8 {
        self.high.min(self.first_unstable())
    }

    /// Whether the active segment has a batch.
    #[must_use]
    pub fn can_roll(&self) -> bool {
        self.end > self.active()
    }

    /// Closes the active segment.
    pub fn roll(&mut self, clock: u8) {
        self.segments.push(Segment { base: self.end, mtime: clock });
    }

    /// Raises the high watermark.
    pub fn raise_high(&mut self, to: u8) {
        self.high = to;
        // Where only a part is replicated, the oldest undecided transaction is held to be one whose marker is above.
        if to == self.end {
            for producer in &mut self.producers {
                producer.undecided = NONE;
            }
        }
    }

    /// Appends a batch, as leader or as follower: both do the same to producers and to the index.
    pub fn append(&mut self, rules: &CompactionRules, mutant: Mutant, batch: Batch, clock: u8, trail: &mut Trail) {
        if batch.producer() != 0 {
            let mut producer = *self.producer(batch.producer());
            let first = producer.open;
            learn(&mut producer, rules, &batch, trail);
            let data_only = mutant == Mutant::ExpiresByData && batch.is_control() && producer.seen != 0;
            if !data_only {
                producer.seen = clock;
            }
            if batch.is_control() && !batch.is_empty() && first != NONE {
                producer.undecided = producer.undecided.min(first);
                if batch.kind() == Kind::Abort {
                    self.aborted.push(Entry { last: batch.base, first, producer: batch.producer() });
                }
            }
            self.producers[usize::from(batch.producer() - 1)] = producer;
        }
        self.end = batch.next();
        self.batches.push(batch);
        if let Some(segment) = self.segments.last_mut() {
            segment.mtime = clock;
        }
    }

    /// The producers that a replay of the batches gives: a broker without snapshots, or a new replica.
    #[must_use]
    pub fn replayed(&self, rules: &CompactionRules, trail: &mut Trail) -> [Producer; MAX_PRODUCERS] {
        let mut producers = [Producer::default(); MAX_PRODUCERS];
        for batch in self.batches.iter().filter(|batch| batch.producer() != 0) {
            learn(&mut producers[usize::from(batch.producer() - 1)], rules, batch, trail);
        }
        producers
    }

    /// Drops everything from `to` on, as a follower does that parted from its leader, or a start that lost the end.
    pub fn truncate(&mut self, rules: &CompactionRules, to: u8, clock: u8) {
        self.batches.retain(|batch| batch.base < to);
        self.aborted.retain(|entry| entry.last < to);
        self.segments.retain(|segment| segment.base <= to);
        if self.segments.is_empty() {
            self.segments.push(Segment { base: to, mtime: clock });
        }
        self.end = to;
        self.times.truncate(to.into());
        self.high = self.high.min(to);
        let old = self.producers;
        self.producers = self.replayed(rules, &mut Trail::default());
        for (new, old) in self.producers.iter_mut().zip(&old) {
            new.seen = if new.exists { old.seen } else { 0 };
        }
    }

    /// Deletes the oldest segment, which is not the active one.
    pub fn delete_oldest(&mut self) {
        self.segments.remove(0);
        self.start = self.segments[0].base;
        let start = self.start;
        self.batches.retain(|batch| batch.base >= start);
        self.aborted.retain(|entry| entry.last >= start);
    }

    /// Writes what is hashed.
    pub fn image(&self, out: &mut SmallVec<[u8; 320]>) {
        let counts = [self.batches.len(), self.segments.len(), self.aborted.len()];
        out.extend(counts.map(|count| count.to_le_bytes()[0]));
        out.extend([self.start, self.end, self.high, self.checkpoint]);
        out.extend(self.times.iter().copied());
        self.batches.iter().for_each(|batch| out.extend(batch.image()));
        self.segments.iter().for_each(|segment| out.extend([segment.base, segment.mtime]));
        self.aborted.iter().for_each(|entry| out.extend([entry.last, entry.first, entry.producer]));
        for producer in &self.producers {
            let Producer { exists, epoch, last_data, open, undecided, seen } = *producer;
            out.extend([u8::from(exists), epoch, last_data, open, undecided, seen]);
        }
    }
}

impl Hash for Log {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut image = SmallVec::new();
        self.image(&mut image);
        hasher.write(&image);
    }
}

/// What a producer's entry learns from a batch (3.4), live and in a replay. A transactional data batch opens a transaction
/// though it is empty; a control batch without a record closes none.
fn learn(producer: &mut Producer, rules: &CompactionRules, batch: &Batch, trail: &mut Trail) {
    let known = producer.exists;
    if batch.is_control() && batch.is_empty() {
        trail.mark(Label::EmptiedReplayed);
        match rules.emptied_marker {
            EmptiedMarker::ForgetsEpoch if known => {}
            EmptiedMarker::ForgetsEpoch => producer.epoch = UNKNOWN,
            EmptiedMarker::KeepsEpoch => enter(producer, batch.epoch),
        }
        producer.exists = true;
        return;
    }
    if batch.is_control() {
        let same = known && producer.epoch == batch.epoch;
        trail.mark(if same { Label::MarkerKeepsBatches } else { Label::MarkerClearsBatches });
        enter(producer, batch.epoch);
        producer.open = NONE;
    } else {
        enter(producer, batch.epoch);
        producer.last_data = batch.last();
        if batch.is_transactional_data() && producer.open == NONE {
            producer.open = batch.base;
        }
    }
    producer.exists = true;
}

/// A change of epoch clears the batches that are remembered.
fn enter(producer: &mut Producer, epoch: u8) {
    if !producer.exists || producer.epoch != epoch {
        producer.epoch = epoch;
        producer.last_data = NONE;
    }
}
