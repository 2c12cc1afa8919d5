//! The last offset of each key in the dirty part of a log (docs/compaction.md 2.4; Kafka's `OffsetMap`,
//! `SkimpyOffsetMap`).
//!
//! Kafka keeps a hash of each key, 24 bytes a slot, and takes two keys of one hash for one key. The map here keeps the
//! keys: nothing can be lost to a collision. A test that wants to see the loss puts its own map behind the trait.

use std::collections::HashMap;

use smallvec::SmallVec;

use super::names::Offset;

/// Which offset holds the newest record of a key.
pub trait OffsetMap {
    /// How many keys it takes.
    fn capacity(&self) -> usize;

    /// How many keys it has.
    fn len(&self) -> usize;

    /// Whether it has none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of this key's newest record.
    fn get(&self, key: &[u8]) -> Option<Offset>;

    /// Makes this the newest record of the key: the last one that is put wins. It is the caller who looks at
    /// [`OffsetMap::is_full`] first.
    fn put(&mut self, key: &[u8], offset: Offset);

    /// Forgets everything.
    fn clear(&mut self);

    /// Whether it takes no more, be the key new or not.
    fn is_full(&self) -> bool {
        self.len() >= self.capacity()
    }
}

/// As many bytes as a key on the heap takes in the table.
const INLINE_BYTES: usize = 16;

/// A map that keeps whole keys.
#[derive(Debug, Clone)]
pub struct ExactOffsetMap {
    capacity: usize,
    /// A short key lies in the table itself, so that a look-up touches no other memory.
    offsets: HashMap<SmallVec<[u8; INLINE_BYTES]>, Offset>,
}

impl ExactOffsetMap {
    /// One that takes as many keys. None at all would let no round end, so that it takes one at least, as the broker
    /// makes sure at its start.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), offsets: HashMap::new() }
    }

    /// One that takes as many keys as Kafka's in a buffer of this size: nine of ten slots of 24 bytes.
    #[must_use]
    pub fn of_buffer(bytes: usize) -> Self {
        Self::new((bytes / 24).saturating_mul(9) / 10)
    }
}

impl OffsetMap for ExactOffsetMap {
    fn capacity(&self) -> usize {
        self.capacity
    }

    fn len(&self) -> usize {
        self.offsets.len()
    }

    fn get(&self, key: &[u8]) -> Option<Offset> {
        self.offsets.get(key).copied()
    }

    fn put(&mut self, key: &[u8], offset: Offset) {
        if key.len() > INLINE_BYTES
            && let Some(known) = self.offsets.get_mut(key)
        {
            *known = offset;
            return;
        }
        self.offsets.insert(SmallVec::from_slice(key), offset);
    }

    fn clear(&mut self) {
        self.offsets.clear();
    }
}
