//! The recopy of a group of segments: tables A, B and C (2.5, 2.6), and the swap (2.7).
//!
//! `Cleaner#cleanSegments`, `#cleanInto`, `#shouldDiscardBatch`, `#shouldRetainRecord` and `MemoryRecords#filterTo` in Kafka.

use fencepost_fixtures::variants::{HorizonRule, LastOfRound, RemovalRule, StampRule};
use smallvec::SmallVec;

use super::batch::{Batch, CLIENT_BIT, Kind, NONE, UNKEYED};
use super::bounds::{MAX_KEYS, MAX_PRODUCERS, Setting};
use super::labels::{Label, Trail};
use super::log::{Entry, Log, Producer};
use super::mutant::Mutant;
use super::properties::bit;
use super::round::Round;
use super::tracker::{Tracker, Waiting, waiting};
use super::truth::Truth;

/// What decides about a batch, beside the batch.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    /// The configuration.
    pub setting: &'a Setting,
    /// The log as it is.
    pub log: &'a Log,
    /// The round.
    pub round: &'a Round,
    /// What really happened.
    pub truth: &'a Truth,
    /// `delete.retention.ms` as it is now.
    pub retention: u8,
    /// The end of the other replica's log, as far as this one waits for it.
    pub replicated: u8,
    /// The pairs of first dirty offset and time that the rejected checkpoint designs keep.
    pub pairs: &'a [(u8, u8)],
}

/// A group as it was rewritten.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// The batches that are left.
    pub batches: SmallVec<[Batch; 8]>,
    /// The entries of its transaction index.
    pub entries: SmallVec<[Entry; 3]>,
    /// The base of its first source, and its own.
    pub base: u8,
    /// The base of the segment after its last source.
    pub end: u8,
    /// The modification time of its last source.
    pub mtime: u8,
    /// The bases of its sources.
    pub sources: SmallVec<[u8; 6]>,
    /// The properties about steps that the recopy violates.
    pub wrong: u32,
    /// Markers that were removed or emptied, by producer: offset plus 1.
    pub ended: [u8; MAX_PRODUCERS],
    /// Whether a slip makes the cleaner give up.
    pub failed: bool,
}

/// Whether something has stayed long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Age {
    /// Nobody knows yet: it has no horizon.
    Unstamped,
    /// Not yet.
    Before,
    /// Yes.
    Over,
}

/// What the segment gives to the decisions about its batches.
#[derive(Clone, Copy, Debug)]
struct Source<'a> {
    mtime: u8,
    /// The producers when the group began.
    producers: &'a [Producer; MAX_PRODUCERS],
}

impl Pass<'_> {
    /// Rewrites the group that is next. `tracker` goes through the whole round.
    #[must_use]
    pub fn clean(&self, tracker: &mut Tracker, trail: &mut Trail) -> Output {
        let Self { setting, log, round, .. } = *self;
        let mutant = setting.mutant;
        let first = log.segment_of(round.next);
        let producers = log.producers;
        let mut output = Output { base: log.segments[first].base, ..Output::default() };
        if mutant == Mutant::TrackerPerGroup {
            *tracker = Tracker::default();
        }
        let mut taken = 0;
        for at in first..log.segments.len() {
            let segment = log.segments[at];
            let size = log.batches_of(at).count();
            if segment.base >= round.cleaned_to || (at > first && taken + size > usize::from(setting.bounds.capacity)) {
                break;
            }
            taken += size;
            output.sources.push(segment.base);
            output.mtime = segment.mtime;
            output.end = log.segment_end(at);
            let source = Source { mtime: segment.mtime, producers: &producers };
            let kept = output.batches.len();
            self.filter(at, &source, tracker, &mut output, trail);
            if mutant == Mutant::FilteredTwice {
                output.batches.truncate(kept);
                self.filter(at, &source, tracker, &mut output, trail);
            }
            let written = &output.batches[kept..];
            let headers_alone = !written.is_empty() && written.iter().all(Batch::is_empty);
            output.failed |= mutant == Mutant::EmptyOutputFails && headers_alone;
        }
        trail.mark(if output.sources.len() > 1 { Label::GroupMerges } else { Label::GroupOne });
        output.entries.sort_unstable();
        output.entries.dedup();
        output
    }

    /// Rewrites one segment.
    fn filter(&self, at: usize, source: &Source<'_>, tracker: &mut Tracker, output: &mut Output, trail: &mut Trail) {
        let Self { setting, log, round, .. } = *self;
        let mutant = setting.mutant;
        let (base, end) = (log.segments[at].base, log.segment_end(at));
        let upper = if mutant == Mutant::IndexOfMapped { end.min(round.cleaned_to) } else { end };
        let index = log.aborted.iter().copied().filter(|_| mutant != Mutant::AbortedUnknown);
        let mut queue: Waiting = waiting(index.filter(|entry| entry.last >= base && entry.first < upper));
        let mut entries = SmallVec::new();
        for batch in log.batches_of(at) {
            output.failed |= mutant == Mutant::EmptiedMarkerFails && batch.is_control() && batch.is_empty();
            let discard = tracker.see(mutant, &mut queue, batch, &mut entries, trail);
            let aborted = batch.is_transactional_data() && discard;
            let left = if batch.is_control() {
                self.marker(*batch, discard, source, output, trail)
            } else if aborted && mutant == Mutant::AbortedStamped {
                let mut stamped = *batch;
                stamped.horizon = round.now + self.retention;
                Some(stamped)
            } else if aborted {
                self.aborted(*batch, source, trail)
            } else {
                self.data(*batch, source, output, trail)
            };
            self.check_batch(batch, left.as_ref(), output);
            output.batches.extend(left);
        }
        if mutant != Mutant::IndexNotCopied {
            output.entries.extend(entries);
        }
    }

    /// A1.
    fn aborted(&self, batch: Batch, source: &Source<'_>, trail: &mut Trail) -> Option<Batch> {
        let kept = self.keeps_header(&batch, source, trail);
        trail.mark(if kept { Label::A1Header } else { Label::A1Gone });
        kept.then(|| batch.emptied())
    }

    /// A2, with Table B for each record and Table C for the batch.
    fn data(&self, batch: Batch, source: &Source<'_>, output: &mut Output, trail: &mut Trail) -> Option<Batch> {
        let mut left = batch;
        for (at, record) in batch.records() {
            let offset = batch.base + at;
            if !self.retains(&batch, offset, record.key, record.tombstone, source, output, trail) {
                left.drop_record(at);
            }
        }
        if left.is_empty() {
            let kept = self.keeps_header(&batch, source, trail);
            trail.mark(if kept { Label::A2Header } else { Label::A2Gone });
            return kept.then(|| batch.emptied());
        }
        Some(self.written(&batch, left, output, trail))
    }

    /// Table B, in its order.
    #[allow(clippy::too_many_arguments, reason = "the table's columns")]
    fn retains(
        &self,
        batch: &Batch,
        offset: u8,
        key: u8,
        tombstone: bool,
        source: &Source<'_>,
        output: &mut Output,
        trail: &mut Trail,
    ) -> bool {
        let Self { setting, round, .. } = *self;
        let age = |trail: &mut Trail| self.age(setting.rules.tombstones, batch.horizon, offset, source, trail);
        if offset >= round.cleaned_to {
            let over = tombstone && age(&mut Trail::default()) == Age::Over;
            trail.mark(if over { Label::B1Expired } else { Label::B1 });
            return true;
        }
        if key == UNKEYED {
            trail.mark(Label::B2);
            return false;
        }
        let newer = round.map[usize::from(key)];
        if newer != NONE && newer > offset {
            trail.mark(if tombstone { Label::B3Tombstone } else { Label::B3 });
            return false;
        }
        if !tombstone {
            trail.mark(Label::B4);
            return true;
        }
        if setting.mutant == Mutant::TombstonesAtOnce {
            output.wrong |= self.early(batch);
            return false;
        }
        match age(trail) {
            Age::Unstamped => trail.mark(Label::B5),
            Age::Before => trail.mark(Label::B6),
            Age::Over => {
                trail.mark(Label::B7);
                output.wrong |= self.early(batch);
                return false;
            }
        }
        true
    }

    /// Table C, for a batch of which something is left.
    fn written(&self, batch: &Batch, mut left: Batch, output: &mut Output, trail: &mut Trail) -> Batch {
        let Self { setting, round, .. } = *self;
        let rules = &setting.rules;
        let all = left.image()[4] == batch.image()[4];
        let renewed = setting.mutant == Mutant::HorizonRenewed;
        if left.has_tombstone() && (batch.horizon == 0 || batch.horizon == CLIENT_BIT || renewed) {
            let stamps = match (rules.tombstones, rules.stamp) {
                (HorizonRule::BatchHeader, StampRule::Retained) => true,
                (HorizonRule::BatchHeader, StampRule::Mapped) => batch.last() < round.cleaned_to,
                (HorizonRule::BatchHeader, StampRule::Clean) => batch.last() < round.from,
                (HorizonRule::RecordHeader, _) => batch.last() <= round.from,
                _ => false,
            };
            if stamps {
                let delay = if rules.tombstones == HorizonRule::RecordHeader { 0 } else { self.retention };
                left.horizon = round.now + delay;
                trail.mark(if all { Label::CStamped } else { Label::CStampedRebuilt });
                let above = left.keyed().any(|(offset, record)| {
                    record.tombstone
                        && offset >= round.cleaned_to
                        && self.truth.newest(self.log, record.key) == Some((offset, true))
                });
                if above {
                    trail.mark(Label::CStampedAbove);
                    output.wrong |= bit::S6;
                }
            }
        }
        if left.horizon == batch.horizon {
            trail.mark(match (all, left.horizon) {
                (true, _) => Label::CVerbatim,
                (false, 0) => Label::CRebuilt,
                (false, _) => Label::CRebuiltHorizon,
            });
        }
        if left.has_tombstone() {
            let covered = batch.last() < round.cleaned_to;
            output.wrong |= self.watch(rules.tombstones, &mut left, covered, bit::L2);
        }
        left
    }

    /// A3 to A7.
    fn marker(
        &self,
        batch: Batch,
        discard: bool,
        source: &Source<'_>,
        output: &mut Output,
        trail: &mut Trail,
    ) -> Option<Batch> {
        let Self { setting, round, .. } = *self;
        let commit = batch.kind() == Kind::Commit;
        let slot = MAX_KEYS + usize::from(!commit);
        let by_key = match setting.mutant {
            // The key of the first user key has the bytes of a COMMIT's.
            Mutant::MarkersByKey if commit => round.map[0],
            Mutant::MarkersMapped => round.map[slot],
            _ => NONE,
        };
        if by_key != NONE && by_key > batch.base && !batch.is_empty() {
            output.wrong |= self.early(&batch);
            end(output, &batch);
            return None;
        }
        if batch.is_empty() {
            let kept = self.keeps_header(&batch, source, trail);
            trail.mark(if kept { Label::A7Header } else { Label::A7Gone });
            return kept.then_some(batch);
        }
        let at_once = setting.mutant == Mutant::MarkersAtOnce;
        if !discard && !at_once {
            trail.mark(Label::A3);
            return Some(batch);
        }
        let mut left = batch;
        let age = self.age(setting.rules.markers, batch.horizon, batch.base, source, trail);
        match age {
            _ if at_once => {
                output.wrong |= self.early(&batch);
                end(output, &batch);
                return None;
            }
            Age::Unstamped => {
                trail.mark(Label::A4);
                let dataless = batch.due == 0 && self.is_first_of(&batch);
                if dataless {
                    trail.mark(if commit { Label::CommitOfEmpty } else { Label::AbortOfEmpty });
                }
                left.horizon = round.now + self.retention;
            }
            Age::Before => trail.mark(Label::A5),
            Age::Over => {
                let kept = self.keeps_header(&batch, source, trail);
                trail.mark(if kept { Label::A6Header } else { Label::A6Gone });
                trail.mark(if commit { Label::CommitExpired } else { Label::AbortExpired });
                let swapped = self.log.batches.iter().take_while(|earlier| earlier.base < output.base);
                if swapped.chain(&output.batches).any(|earlier| earlier.is_control() && !earlier.is_empty()) {
                    trail.mark(Label::LaterMarkerFirst);
                }
                output.wrong |= self.early(&batch);
                end(output, &batch);
                return kept.then(|| batch.emptied());
            }
        }
        output.wrong |= self.watch(setting.rules.markers, &mut left, true, bit::L4);
        Some(left)
    }

    /// Whether the producer has no data batch below the marker in the log as it is.
    fn is_first_of(&self, marker: &Batch) -> bool {
        !self.log.batches.iter().any(|batch| {
            batch.base < marker.base && batch.producer() == marker.producer() && batch.is_transactional_data()
        })
    }

    /// Whether what carries this horizon may go.
    fn age(&self, rule: HorizonRule, horizon: u8, offset: u8, source: &Source<'_>, trail: &mut Trail) -> Age {
        let Self { setting, round, retention, .. } = *self;
        let before = |end: u8| {
            if setting.mutant == Mutant::StaysAtHorizon { round.now <= end } else { round.now < end }
        };
        let age = match rule {
            HorizonRule::BatchHeader | HorizonRule::RecordHeader if horizon == 0 => Age::Unstamped,
            HorizonRule::RecordHeader if horizon == CLIENT_BIT => Age::Unstamped,
            HorizonRule::BatchHeader if before(horizon) => Age::Before,
            HorizonRule::RecordHeader if before(horizon + retention) => Age::Before,
            HorizonRule::BatchHeader | HorizonRule::RecordHeader => Age::Over,
            HorizonRule::SegmentMtime => {
                // Where no segment is clean, everything is younger than the horizon.
                let stays = round.clean_mtime == 0 || source.mtime + retention > round.clean_mtime;
                trail.mark(if stays { Label::FileAge } else { Label::FileAgeOver });
                if stays { Age::Before } else { Age::Over }
            }
            HorizonRule::CheckpointPair | HorizonRule::CheckpointList => {
                match self.pairs.iter().find(|(first_dirty, _)| *first_dirty > offset) {
                    Some((_, cleaned)) if !before(cleaned + retention) => Age::Over,
                    _ => Age::Before,
                }
            }
        };
        let waits = setting.rules.removal == RemovalRule::Replicated && self.replicated <= offset;
        if age == Age::Over && waits { Age::Before } else { age }
    }

    /// Whether the batch stays as a header when nothing else is left of it.
    fn keeps_header(&self, batch: &Batch, source: &Source<'_>, trail: &mut Trail) -> bool {
        let Self { setting, log, round, .. } = *self;
        let producer = match batch.producer() {
            0 => None,
            producer => Some(&source.producers[usize::from(producer - 1)]).filter(|producer| producer.exists),
        };
        let last_of_producer = producer.is_some_and(|producer| match setting.mutant {
            Mutant::ProducerNotKept => false,
            Mutant::ProducerBySequence => !batch.is_control(),
            _ if producer.last_data != NONE => batch.last() == producer.last_data,
            _ => batch.is_control() && batch.epoch == producer.epoch,
        });
        if last_of_producer {
            let marker = batch.is_control();
            trail.mark(if marker { Label::LastOfProducerMarker } else { Label::LastOfProducerData });
        }
        let last_of_round = setting.mutant != Mutant::LastNotKept
            && match setting.rules.last_of_round {
                LastOfRound::Off => false,
                LastOfRound::UpperBound => batch.next() == round.bound,
                LastOfRound::HighWatermark => batch.next() == log.high,
            };
        if last_of_round {
            trail.mark(Label::LastOfRound);
        }
        last_of_producer || last_of_round
    }

    /// S7: what protects goes only when its time has come, counted from the round that stamped it, or where nothing is
    /// stamped from the first that retained it.
    fn early(&self, batch: &Batch) -> u32 {
        if batch.due == 0 || self.round.now < batch.due { bit::S7 } else { 0 }
    }

    /// The ghosts of a batch that protects and is retained. Returns the property, `late`, where it should have gone.
    fn watch(&self, rule: HorizonRule, left: &mut Batch, covered: bool, late: u32) -> u32 {
        let Self { setting, round, retention, .. } = *self;
        let stamps = matches!(rule, HorizonRule::BatchHeader | HorizonRule::RecordHeader);
        if left.due == 0 && (left.horizon != 0 || !stamps) {
            left.due = round.now + retention;
        }
        if !setting.bounds.watch || !covered {
            return 0;
        }
        match left.late {
            0 => left.late = 1,
            1 => left.late = round.now + retention + 1,
            end if round.now + 1 >= end => return late,
            _ => {}
        }
        0
    }

    /// L3, S5: what became of one batch.
    fn check_batch(&self, batch: &Batch, left: Option<&Batch>, output: &mut Output) {
        let Some(left) = left else { return };
        if !left.is_empty() {
            if batch.is_transactional_data() && self.truth.is_aborted(batch) {
                output.wrong |= bit::L3;
            }
            if batch.horizon != 0 && left.horizon != batch.horizon {
                output.wrong |= bit::S5;
            }
        }
    }
}

/// Notes a marker that was removed or emptied.
fn end(output: &mut Output, marker: &Batch) {
    let ended = &mut output.ended[usize::from(marker.producer() - 1)];
    *ended = (*ended).max(marker.base + 1);
}

/// Puts a rewritten group in the place of its sources.
pub fn swap(log: &mut Log, output: &Output) {
    let inside = |offset: u8| output.base <= offset && offset < output.end;
    let at = log.batches.partition_point(|batch| batch.base < output.base);
    log.batches.retain(|batch| !inside(batch.base));
    log.batches.insert_many(at, output.batches.iter().copied());
    log.segments.retain(|segment| segment.base == output.base || !inside(segment.base));
    if let Some(segment) = log.segments.iter_mut().find(|segment| segment.base == output.base) {
        segment.mtime = output.mtime;
    }
    log.aborted.retain(|entry| !inside(entry.last));
    log.aborted.extend(output.entries.iter().copied());
    log.aborted.sort_unstable();
}
