//! The leader-epoch cache: which epoch starts where (`docs/replication.md` 1.2, 1.3; `LeaderEpochFileCache`).
//!
//! An entry's start is the offset of the first record with that epoch, or where a leader began that epoch although it has
//! written nothing yet (an empty epoch).

use serde::{Deserialize, Serialize};

use super::labels::{Label, Trail};
use super::log::{Epoch, MAX_EPOCHS, Offset, UNDEFINED};

/// The largest known epoch that is not above the one asked for, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpochEnd {
    /// The epoch; [`UNDEFINED`] where it is not known, and in an answer of version 0.
    pub epoch: Epoch,
    /// The offset after its last record; [`UNDEFINED`] where it is not known.
    pub end: Offset,
}

impl EpochEnd {
    /// The answer that nothing is known.
    pub const UNDEFINED: Self = Self { epoch: UNDEFINED, end: UNDEFINED };
}

/// The start offset of each epoch, [`UNDEFINED`] for one that has no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Epochs([Offset; MAX_EPOCHS]);

impl Default for Epochs {
    fn default() -> Self {
        Self([UNDEFINED; MAX_EPOCHS])
    }
}

impl Epochs {
    /// The entries, ascending.
    #[must_use]
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Epoch, Offset)> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, start)| **start != UNDEFINED)
            .map(|(epoch, start)| (Epoch::try_from(epoch).unwrap_or(UNDEFINED), *start))
    }

    fn set(&mut self, epoch: Epoch, start: Offset) {
        if let Some(place) = usize::try_from(epoch).ok().and_then(|epoch| self.0.get_mut(epoch)) {
            *place = start;
        }
    }

    /// The largest epoch with an entry, be it empty.
    #[must_use]
    pub fn latest(&self) -> Epoch {
        self.iter().next_back().map_or(UNDEFINED, |(epoch, _)| epoch)
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.latest() == UNDEFINED
    }

    /// Notes that `epoch` starts at `start` (1.3 assign).
    pub fn assign(&mut self, epoch: Epoch, start: Offset, trail: &mut Trail) {
        if epoch < 0 || start < 0 {
            return;
        }
        match self.iter().next_back() {
            None => trail.mark(Label::AssignFirst),
            Some((latest, from)) if latest == epoch && start >= from => {
                trail.mark(Label::AssignKnown);
                return;
            }
            Some((latest, from)) if epoch > latest && start > from => trail.mark(Label::AssignNext),
            Some((latest, from)) if epoch > latest && start == from => trail.mark(Label::AssignOverEmpty),
            Some(_) => trail.mark(Label::AssignConflict),
        }
        // What goes is a suffix, since epochs and starts both rise.
        for (known, from) in (0..).zip(&mut self.0) {
            if known >= epoch || *from >= start {
                *from = UNDEFINED;
            }
        }
        self.set(epoch, start);
    }

    /// The same by the rule of KIP-101: only what rises is taken.
    pub fn assign_rising(&mut self, epoch: Epoch, start: Offset) {
        let rises = self.iter().next_back().is_none_or(|(latest, from)| epoch > latest && start >= from);
        if epoch >= 0 && rises {
            self.set(epoch, start);
        }
    }

    /// Drops what starts at `end` or after it (1.3 truncateFromEnd).
    pub fn truncate_from_end(&mut self, end: Offset) {
        for start in &mut self.0 {
            if *start >= end {
                *start = UNDEFINED;
            }
        }
    }

    /// Drops one entry.
    pub fn remove(&mut self, epoch: Epoch) {
        self.set(epoch, UNDEFINED);
    }

    /// The smallest epoch with an entry.
    #[must_use]
    pub fn oldest(&self) -> Epoch {
        self.iter().next().map_or(UNDEFINED, |(epoch, _)| epoch)
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Where the largest epoch that is not above `epoch` ends, in a log that ends at `end` (1.3 endOffsetFor).
    #[must_use]
    pub fn end_of(&self, epoch: Epoch, end: Offset, trail: &mut Trail) -> EpochEnd {
        if epoch == UNDEFINED {
            return EpochEnd::UNDEFINED;
        }
        if epoch == self.latest() {
            trail.mark(Label::EndLatest);
            return EpochEnd { epoch, end };
        }
        let floor = self.iter().rev().find(|(known, _)| *known <= epoch);
        let higher = self.iter().find(|(known, _)| *known > epoch);
        match (floor, higher) {
            (_, None) => {
                trail.mark(Label::EndFuture);
                EpochEnd::UNDEFINED
            }
            (None, Some((_, start))) => {
                trail.mark(Label::EndOlder);
                EpochEnd { epoch, end: start }
            }
            (Some((floor, _)), Some((_, start))) => {
                trail.mark(if floor == epoch { Label::EndExact } else { Label::EndFloor });
                EpochEnd { epoch: floor, end: start }
            }
        }
    }

    /// The same by the rule of KIP-101 (0.11 to 2.0): the offset alone, and undefined below the first entry.
    #[must_use]
    pub fn end_of_kip101(&self, epoch: Epoch, end: Offset) -> EpochEnd {
        let first = self.iter().next().map_or(UNDEFINED, |(first, _)| first);
        let end = match self.iter().find(|(known, _)| *known > epoch) {
            _ if epoch == UNDEFINED || epoch < first => UNDEFINED,
            _ if epoch == self.latest() => end,
            Some((_, start)) => start,
            None => UNDEFINED,
        };
        EpochEnd { epoch: UNDEFINED, end }
    }

    /// The bytes that are hashed.
    #[must_use]
    pub fn image(&self) -> [u8; MAX_EPOCHS] {
        self.0.map(i8::cast_unsigned)
    }
}
