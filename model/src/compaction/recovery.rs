//! A crash within a swap, and what the log is when it is loaded again (2.8): `LogLoader`.
//!
//! A crash ends what was in memory, so that nothing else can happen between the file operations of a swap that the crash
//! does not end too: the crash and the recovery are one step, by the last file operation that was done.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::batch::Batch;
use super::labels::{Label, Trail};
use super::log::Log;
use super::mutant::Mutant;
use super::recopy::{Output, swap};

/// How far a swap had come when the broker crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Moment {
    /// No group was being written.
    Between,
    /// The `.cleaned` files are there, not all of them renamed.
    Cleaned,
    /// They are renamed to `.swap`; no old file was touched.
    SwapNamed,
    /// The first old file is renamed to `.deleted`.
    FirstDeleted,
    /// All old files are.
    AllDeleted,
    /// The `.swap` files have their final names.
    Renamed,
}

impl Moment {
    /// The moments within a swap.
    pub const WITHIN: [Self; 5] = [Self::Cleaned, Self::SwapNamed, Self::FirstDeleted, Self::AllDeleted, Self::Renamed];
}

/// What the log is after a crash at `moment` of the swap of `output`. Returns whether S15 holds: the group is the old one,
/// or the new one, or the new one and a suffix of the old segments.
#[must_use]
pub fn recover(log: &mut Log, output: &Output, moment: Moment, mutant: Mutant, trail: &mut Trail) -> bool {
    let old = log.clone();
    match moment {
        Moment::Between => return true,
        Moment::Cleaned => {
            trail.mark(Label::CrashCleaned);
            return true;
        }
        Moment::SwapNamed => trail.mark(Label::CrashSwap),
        Moment::FirstDeleted | Moment::AllDeleted => trail.mark(Label::CrashDeleted),
        Moment::Renamed => trail.mark(Label::CrashRenamed),
    }
    swap(log, output);
    // The swap file's end is told by its content. What lies wholly above it and is still there is not deleted.
    let content_end = output.batches.last().map_or(output.base, Batch::next);
    let deleted = match moment {
        Moment::FirstDeleted => 1,
        Moment::AllDeleted | Moment::Renamed => output.sources.len(),
        _ => 0,
    };
    let above = |base: &&u8| **base >= content_end && **base != output.base;
    let back: SmallVec<[u8; 6]> = if mutant == Mutant::GroupsDescend {
        let there = output.sources.len() - deleted;
        output.sources.iter().take(there).filter(above).copied().collect()
    } else {
        output.sources.iter().skip(deleted).filter(above).copied().collect()
    };
    for base in &back {
        let at = old.segment_of(*base);
        let end = old.segment_end(at);
        let place = log.segments.partition_point(|segment| segment.base < *base);
        log.segments.insert(place, old.segments[at]);
        let place = log.batches.partition_point(|batch| batch.base < *base);
        log.batches.insert_many(place, old.batches_of(at).copied());
        log.aborted.extend(old.aborted.iter().copied().filter(|entry| (*base..end).contains(&entry.last)));
    }
    log.aborted.sort_unstable();
    log.aborted.dedup();
    if !back.is_empty() {
        trail.mark(Label::CrashSuffix);
    }
    let suffix = &output.sources[output.sources.len() - back.len()..];
    back.as_slice() == suffix
}
