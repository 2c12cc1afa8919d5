//! Which transactions still have data, as a round goes through the log (3.1): `CleanedTransactionMetadata`.
//!
//! Every batch goes through [`Tracker::see`], which says whether its records may be dropped.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::batch::{Batch, Kind, NONE};
use super::bounds::MAX_PRODUCERS;
use super::labels::{Label, Trail};
use super::log::Entry;
use super::mutant::Mutant;

/// An aborted transaction that has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Ongoing {
    /// Its first offset, or [`NONE`] where there is none.
    first: u8,
    /// Its marker's.
    last: u8,
    /// Whether data of it were seen.
    saw: bool,
}

const NOT_ONGOING: Ongoing = Ongoing { first: NONE, last: NONE, saw: false };

/// The tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Tracker {
    aborted: [Ongoing; MAX_PRODUCERS],
    /// Producers of whom data were seen that are not aborted, a bit each.
    committed: u8,
}

impl Default for Tracker {
    fn default() -> Self {
        Self { aborted: [NOT_ONGOING; MAX_PRODUCERS], committed: 0 }
    }
}

/// The entries that a pass was given and has not met yet, by first offset.
pub type Waiting = SmallVec<[Entry; 3]>;

/// Sorts entries into the order in which they are met.
#[must_use]
pub fn waiting(entries: impl Iterator<Item = Entry>) -> Waiting {
    let mut waiting: Waiting = entries.collect();
    waiting.sort_unstable_by_key(|entry| (entry.first, entry.last));
    waiting
}

impl Tracker {
    /// What is hashed.
    #[must_use]
    pub fn image(&self) -> [u8; 1 + 3 * MAX_PRODUCERS] {
        let mut image = [0; 1 + 3 * MAX_PRODUCERS];
        image[0] = self.committed;
        for (slot, ongoing) in image[1..].chunks_mut(3).zip(&self.aborted) {
            slot.copy_from_slice(&[ongoing.first, ongoing.last, u8::from(ongoing.saw)]);
        }
        image
    }

    /// Whether data of this producer count as aborted now.
    #[must_use]
    pub fn is_aborted(&self, producer: u8) -> bool {
        producer != 0 && self.aborted[usize::from(producer - 1)].first != NONE
    }

    /// Takes up the entries that begin at or before the batch.
    fn meet(&mut self, waiting: &mut Waiting, batch: &Batch, trail: &mut Trail) {
        while waiting.first().is_some_and(|entry| entry.first <= batch.last()) {
            let entry = waiting.remove(0);
            let ongoing = &mut self.aborted[usize::from(entry.producer - 1)];
            if ongoing.first == NONE {
                trail.mark(Label::EndMovesIntoSet);
                *ongoing = Ongoing { first: entry.first, last: entry.last, saw: false };
            }
        }
    }

    /// A batch goes by. Returns whether its records may be dropped; an entry that must be kept goes to `kept`.
    pub fn see(
        &mut self,
        mutant: Mutant,
        waiting: &mut Waiting,
        batch: &Batch,
        kept: &mut SmallVec<[Entry; 3]>,
        trail: &mut Trail,
    ) -> bool {
        self.meet(waiting, batch, trail);
        let producer = batch.producer();
        if producer == 0 {
            return false;
        }
        let slot = usize::from(producer - 1);
        let unseen = mutant == Mutant::EmptyDataUnseen && batch.is_empty();
        match batch.kind() {
            Kind::Plain => false,
            Kind::Transactional if self.is_aborted(producer) => {
                trail.mark(if batch.is_empty() { Label::DataAbortedEmpty } else { Label::DataAborted });
                self.aborted[slot].saw |= !unseen;
                true
            }
            Kind::Transactional => {
                trail.mark(if batch.is_empty() { Label::DataCommittedEmpty } else { Label::DataCommitted });
                if !unseen {
                    self.committed |= 1 << slot;
                }
                false
            }
            Kind::Commit | Kind::Abort if batch.is_empty() => true,
            Kind::Abort => {
                let ongoing = std::mem::replace(&mut self.aborted[slot], NOT_ONGOING);
                if ongoing.first != NONE && ongoing.saw {
                    trail.mark(Label::AbortWithData);
                    kept.push(Entry { last: ongoing.last, first: ongoing.first, producer });
                    return false;
                }
                let entry = ongoing.first != NONE;
                trail.mark(if entry { Label::AbortWithoutData } else { Label::AbortWithoutEntry });
                true
            }
            Kind::Commit => {
                let had = self.committed >> slot & 1 == 1;
                self.committed &= !(1 << slot);
                trail.mark(if had { Label::CommitWithData } else { Label::CommitWithoutData });
                !had
            }
        }
    }
}
