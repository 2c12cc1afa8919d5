//! The states that a worker owns, by fingerprint: each with its parent and its depth.
//!
//! The parent of a state is the one with the smallest fingerprint among those one step nearer to the start, whoever's
//! record came first. So the tree of parents, and every trace that is read off it, is the same for any number of workers.
//!
//! The table is cut into parts by the fingerprint. A part that grows is copied alone: nothing stands still while gigabytes
//! are moved, and not all of the table is there twice.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry::{Occupied, Vacant};

use super::fingerprint::Fingerprint;

/// How many parts a table has.
const PARTS: usize = 256;

/// The deepest state that can be stored, in steps.
pub(super) const DEEPEST: u32 = u16::MAX as u32;

/// One state. All of bytes, so that no room is lost to alignment.
#[derive(Clone, Copy)]
struct Entry<F: Fingerprint> {
    fingerprint: F::Bytes,
    parent: F::Bytes,
    depth: [u8; 2],
}

/// The states of one worker.
pub(super) struct Known<F: Fingerprint> {
    parts: Vec<HashTable<Entry<F>>>,
    unique: u64,
    deepest: u32,
}

/// The bits that choose an owner are the low ones; those of a part must be others, or a worker would have only some of
/// the parts. The table itself takes the low ones for the place, and the highest seven besides.
fn part(bits: u64) -> usize {
    usize::from(bits.to_le_bytes()[6])
}

/// The bits that choose a place in a table. Those that choose the owner are equal in all of a worker's states, so they
/// are moved out of the way.
fn place(bits: u64) -> u64 {
    bits.rotate_right(20)
}

impl<F: Fingerprint> Default for Known<F> {
    fn default() -> Self {
        Self { parts: (0..PARTS).map(|_| HashTable::new()).collect(), unique: 0, deepest: 0 }
    }
}

impl<F: Fingerprint> Known<F> {
    /// Takes in a state. Returns whether it is new.
    pub(super) fn insert(&mut self, fingerprint: F, parent: F, depth: u32) -> bool {
        let bits = fingerprint.bits();
        let stored = fingerprint.to_bytes();
        // Deeper ones are refused before they come here.
        let short = u16::try_from(depth).unwrap_or(u16::MAX).to_le_bytes();
        let moved = |entry: &Entry<F>| place(F::from_bytes(entry.fingerprint).bits());
        match self.parts[part(bits)].entry(place(bits), |entry| entry.fingerprint == stored, moved) {
            Occupied(mut entry) => {
                let entry = entry.get_mut();
                if entry.depth == short && parent < F::from_bytes(entry.parent) {
                    entry.parent = parent.to_bytes();
                }
                false
            }
            Vacant(room) => {
                room.insert(Entry { fingerprint: stored, parent: parent.to_bytes(), depth: short });
                self.unique += 1;
                self.deepest = self.deepest.max(depth);
                true
            }
        }
    }

    /// How many states there are.
    pub(super) fn unique(&self) -> u64 {
        self.unique
    }

    /// The depth of the deepest one, in steps.
    pub(super) fn deepest(&self) -> u32 {
        self.deepest
    }

    /// The parent and the depth of a state.
    pub(super) fn parent(&self, fingerprint: F) -> Option<(F, u32)> {
        let bits = fingerprint.bits();
        let stored = fingerprint.to_bytes();
        let entry = self.parts[part(bits)].find(place(bits), |entry| entry.fingerprint == stored)?;
        Some((F::from_bytes(entry.parent), u32::from(u16::from_le_bytes(entry.depth))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_new_once() {
        let mut known = Known::<u64>::default();
        assert!(known.insert(7, 1, 3));
        assert!(!known.insert(7, 1, 3));
        assert!(known.insert(8, 1, 3));
        assert_eq!(known.parent(9), None);
    }

    #[test]
    fn the_smallest_parent_wins_whoever_comes_first() {
        for order in [[5, 2, 9], [9, 5, 2], [2, 9, 5]] {
            let mut known = Known::<u64>::default();
            for parent in order {
                known.insert(7, parent, 3);
            }
            assert_eq!(known.parent(7), Some((2, 3)));
        }
    }

    #[test]
    fn a_parent_that_is_further_from_the_start_never_wins() {
        let mut known = Known::<u128>::default();
        known.insert(7, 5, 3);
        known.insert(7, 1, 4);
        assert_eq!(known.parent(7), Some((5, 3)));
    }
}
