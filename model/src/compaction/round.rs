//! A round up to the offset map: whether the log is worth one, between which offsets, and what is mapped (2.1 to 2.4).
//!
//! `LogCleanerManager#grabFilthiestCompactedLog`, `#cleanableOffsets` and `Cleaner#buildOffsetMap` in Kafka.

use fencepost_fixtures::variants::{AbortedRule, HorizonRule, Worth};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::batch::{Kind, NONE};
use super::bounds::{MAX_KEYS, Setting};
use super::choice;
use super::labels::{Label, Trail};
use super::log::Log;
use super::mutant::Mutant;
use super::tracker::{Tracker, waiting};

/// Keys of records, and where a slip maps markers, a key for each kind.
pub const MAP_SLOTS: usize = MAX_KEYS + 2;

/// A round that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Round {
    /// The one clock sample that decides all horizons.
    pub now: u8,
    /// F, the first dirty offset.
    pub from: u8,
    /// U, the bound.
    pub bound: u8,
    /// E, the offset after the last that was mapped; [`NONE`] before the map is built.
    pub cleaned_to: u8,
    /// The newest offset of each key, or [`NONE`].
    pub map: [u8; MAP_SLOTS],
    /// The base of the segment with which the next group begins.
    pub next: u8,
    /// The first segment's base when the map was built.
    pub first: u8,
    /// The transactions that still have data.
    pub tracker: Tracker,
    /// The modification time of the last segment that begins below F, 0 where there is none (4.1).
    pub clean_mtime: u8,
}

impl Round {
    /// Whether the map was built.
    #[must_use]
    pub fn is_mapped(&self) -> bool {
        self.cleaned_to != NONE
    }

    /// Whether a group is left to clean.
    #[must_use]
    pub fn has_group(&self) -> bool {
        self.is_mapped() && self.next < self.cleaned_to
    }

    /// What is hashed.
    pub fn image(&self, out: &mut SmallVec<[u8; 320]>) {
        out.extend([self.now, self.from, self.bound, self.cleaned_to, self.next, self.first, self.clean_mtime]);
        out.extend(self.map);
        out.extend(self.tracker.image());
    }
}

/// F and U (2.2).
#[must_use]
pub fn bounds_of(setting: &Setting, log: &Log, clock: u8, trail: &mut Trail) -> (u8, u8) {
    let from = match log.checkpoint {
        NONE => log.start,
        checkpoint if setting.mutant == Mutant::CheckpointNotReset => checkpoint,
        checkpoint if checkpoint < log.start => {
            trail.mark(Label::CheckpointBelowStart);
            log.start
        }
        checkpoint if checkpoint > log.end => {
            trail.mark(Label::CheckpointAboveEnd);
            log.start
        }
        checkpoint => checkpoint,
    };
    let stable =
        if setting.mutant == Mutant::HighWatermarkIgnored { log.first_unstable().min(log.end) } else { log.stable() };
    let active = log.active();
    let mut bound = stable.min(active);
    trail.mark(if stable < active { Label::BoundStable } else { Label::BoundActive });
    if setting.bounds.min_lag > 0 {
        let young = clock.saturating_sub(setting.bounds.min_lag);
        let closed = &log.segments[log.segment_of(from)..log.segments.len() - 1];
        if let Some(segment) = closed.iter().find(|segment| segment.mtime > young)
            && segment.base < bound
        {
            trail.mark(Label::BoundLag);
            bound = segment.base;
        }
    }
    let bound = bound.max(from);
    (from, log.segments[log.segment_of(bound)].base)
}

/// Whether the log is worth a round, and between which offsets (2.1).
#[must_use]
pub fn choose(setting: &Setting, log: &Log, clock: u8, trail: &mut Trail) -> Option<(u8, u8)> {
    let (from, bound) = bounds_of(setting, log, clock, trail);
    if from < bound
        && let Some(row) = choice::worth(setting, log, (from, bound), clock)
    {
        trail.mark(row);
        return Some((from, bound));
    }
    // Its range is empty, and the segment that holds F looks dirty.
    let inside = from > log.active() && from <= log.end && log.can_roll();
    if inside && matches!(setting.mutant, Mutant::EmptyRangeCleaned | Mutant::StartInsideActive) {
        return Some((from, log.active()));
    }
    let passed = |rule: Worth| {
        rule == Worth::PassedHorizon
            && log
                .batches
                .iter()
                .take_while(|batch| batch.last() < from)
                .any(|batch| batch.horizon != 0 && batch.horizon <= clock && !batch.is_empty())
    };
    if passed(setting.rules.worth) {
        trail.mark(Label::ChosenHorizon);
        return Some((from, from));
    }
    None
}

/// Begins a round. A checkpoint that had to be set back is written at once.
#[must_use]
pub fn start(setting: &Setting, log: &mut Log, clock: u8, trail: &mut Trail) -> Option<Round> {
    let (from, bound) = choose(setting, log, clock, trail)?;
    if log.checkpoint != NONE {
        log.checkpoint = from;
    }
    let by_file = [setting.rules.tombstones, setting.rules.markers].contains(&HorizonRule::SegmentMtime);
    let clean = log.segments.iter().take_while(|segment| segment.base < from).last();
    let clean_mtime = if by_file { clean.map_or(0, |segment| segment.mtime) } else { 0 };
    Some(Round {
        now: clock,
        from,
        bound,
        cleaned_to: NONE,
        map: [NONE; MAP_SLOTS],
        next: log.segments[0].base,
        first: log.segments[0].base,
        tracker: Tracker::default(),
        clean_mtime,
    })
}

/// Builds the offset map, of at most `entries` entries (2.4). Returns false where a slip makes the cleaner give up.
#[must_use]
pub fn build_map(setting: &Setting, log: &Log, round: &mut Round, entries: u8, trail: &mut Trail) -> bool {
    let mutant = setting.mutant;
    let fails = match mutant {
        Mutant::CheckpointNotReset => round.from < log.start,
        Mutant::StartInsideActive => round.from >= round.bound,
        _ => false,
    };
    if fails {
        return false;
    }
    let first = log.segment_of(round.from);
    let segment = log.segments[first].base;
    let reads_from = if setting.bounds.indexed { round.from } else { segment };
    if reads_from > segment && round.from < round.bound {
        trail.mark(Label::MapInside);
    }
    let least = match setting.rules.aborted {
        AbortedRule::WholeSegment => segment,
        AbortedRule::FromFirstDirty => round.from.max(segment),
    };
    let index = log.aborted.iter().copied().filter(|_| mutant != Mutant::AbortedUnknown);
    let mut queue = waiting(index.filter(|entry| entry.last >= least && entry.first < round.bound));
    if queue.iter().any(|entry| entry.last < reads_from) {
        trail.mark(Label::MapStaleEntry);
    }
    let mut tracker = Tracker::default();
    let mut unused = SmallVec::new();
    let mut mapped = 0;
    // The offset after the last that counts as mapped: X + 1.
    round.cleaned_to = round.from;
    for at in first..log.segments.len() {
        if log.segments[at].base >= round.bound {
            break;
        }
        for batch in log.batches_of(at).filter(|batch| batch.last() >= reads_from) {
            tracker.see(mutant, &mut queue, batch, &mut unused, trail);
            let aborted = batch.is_transactional_data() && tracker.is_aborted(batch.producer());
            if aborted && !batch.is_empty() {
                trail.mark(Label::MapAborted);
            }
            if mutant == Mutant::MarkersMapped && batch.is_control() && batch.base >= round.from {
                let slot = MAX_KEYS + usize::from(batch.kind() == Kind::Abort);
                round.map[slot] = batch.base;
            }
            if !batch.is_control() && (!aborted || mutant == Mutant::AbortedMapped) {
                for (offset, record) in batch.keyed().filter(|(offset, _)| *offset >= round.from) {
                    if record.tombstone && mutant == Mutant::TombstoneNotMapped {
                        continue;
                    }
                    let slot = &mut round.map[usize::from(record.key)];
                    if mapped == entries {
                        trail.mark(if *slot == NONE { Label::MapFull } else { Label::MapFullKnownKey });
                        return mutant != Mutant::SegmentMustFit;
                    }
                    mapped += u8::from(*slot == NONE);
                    *slot = offset;
                    round.cleaned_to = offset + 1;
                }
            }
            if batch.last() >= round.from {
                round.cleaned_to = batch.next();
            }
        }
        let end = log.segment_end(at).min(round.bound);
        if end > round.cleaned_to {
            if mutant == Mutant::GapNotSkipped {
                continue;
            }
            trail.mark(Label::MapGap);
        }
        round.cleaned_to = round.cleaned_to.max(end);
    }
    true
}
