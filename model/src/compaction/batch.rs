//! A batch as the log holds it, packed into eight bytes (1.1, 1.7): offsets, kind, producer, horizon, what records are left.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// No offset.
pub const NONE: u8 = 0xff;
/// An epoch of -1: the producer is known, its epoch is not (N5).
pub const UNKNOWN: u8 = 0xfe;
/// In place of a horizon: a client has set the bit, and the design does not look at it.
pub const CLIENT_BIT: u8 = 0xff;
/// The key of a record without one.
pub const UNKEYED: u8 = 3;
/// The key that a marker has where a slip gives it one: the number of its type.
const RECORD: u8 = 1;

/// What a batch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Data outside transactions.
    Plain,
    /// Data of a transaction.
    Transactional,
    /// A marker: the transaction committed.
    Commit,
    /// A marker: it was aborted.
    Abort,
}

/// A record. The offset stands for the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Record {
    /// The key, or [`UNKEYED`].
    pub key: u8,
    /// Whether the value is null.
    pub tombstone: bool,
}

/// A batch of one record, or of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Batch {
    /// The base offset, which compaction never changes.
    pub base: u8,
    /// Kind, producer (from 1, 0 for none), and whether it was written with two records.
    head: u8,
    /// The producer's epoch.
    pub epoch: u8,
    /// The delete horizon, 0 for none. Under the rejected header design: when the round that stamped it began, plus 1.
    pub horizon: u8,
    /// A nibble a record: whether it is there, whether it is a tombstone, its key.
    records: u8,
    /// Ghost of S7: the earliest time at which what this batch holds of tombstones, or the marker, may go; 0 as long as
    /// nobody knows.
    pub due: u8,
    /// Ghost of L2 and L4: the latest, plus 1; 1 where one round passed over it, and 0 before.
    pub late: u8,
}

impl Hash for Batch {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(u64::from_le_bytes(self.image()));
    }
}

impl Batch {
    /// A batch with these records, of `producer` (0 for none) and epoch.
    #[must_use]
    pub fn data(base: u8, kind: Kind, producer: u8, epoch: u8, records: &[Record]) -> Self {
        let mut batch = Self { base, head: kind as u8 | producer << 2, epoch, horizon: 0, records: 0, due: 0, late: 0 };
        for (index, record) in records.iter().enumerate() {
            batch.records |= (RECORD | u8::from(record.tombstone) << 1 | record.key << 2) << (4 * index);
            batch.head |= u8::from(index == 1) << 4;
        }
        batch
    }

    /// A marker.
    #[must_use]
    pub fn marker(base: u8, commit: bool, producer: u8, epoch: u8) -> Self {
        let kind = if commit { Kind::Commit } else { Kind::Abort };
        Self { base, head: kind as u8 | producer << 2, epoch, horizon: 0, records: RECORD, due: 0, late: 0 }
    }

    /// The bytes that are hashed.
    #[must_use]
    pub fn image(&self) -> [u8; 8] {
        [self.base, self.head, self.epoch, self.horizon, self.records, self.due, self.late, 0]
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self.head & 3 {
            0 => Kind::Plain,
            1 => Kind::Transactional,
            2 => Kind::Commit,
            _ => Kind::Abort,
        }
    }

    /// The producer, from 1; 0 for none.
    #[must_use]
    pub fn producer(&self) -> u8 {
        self.head >> 2 & 3
    }

    /// Whether it is a marker.
    #[must_use]
    pub fn is_control(&self) -> bool {
        self.head & 2 != 0
    }

    /// Whether it is data of a transaction.
    #[must_use]
    pub fn is_transactional_data(&self) -> bool {
        self.head & 3 == Kind::Transactional as u8
    }

    /// The last offset that it was written with.
    #[must_use]
    pub fn last(&self) -> u8 {
        self.base + (self.head >> 4 & 1)
    }

    /// The offset after its last one.
    #[must_use]
    pub fn next(&self) -> u8 {
        self.last() + 1
    }

    /// Whether nothing is left but the header.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records & 0x11 == 0
    }

    /// The records that are left, with their places in the batch. Only for data.
    pub fn records(&self) -> impl Iterator<Item = (u8, Record)> + use<> {
        let records = self.records;
        [0_u8, 1].into_iter().filter_map(move |index| {
            let nibble = records >> (4 * index);
            (nibble & RECORD == 1).then_some((index, Record { key: nibble >> 2 & 3, tombstone: nibble & 2 != 0 }))
        })
    }

    /// The records that are left, with their offsets. Only for data: a marker has none that counts.
    pub fn keyed(&self) -> impl Iterator<Item = (u8, Record)> + use<> {
        let (base, data) = (self.base, !self.is_control());
        self.records()
            .filter(move |(_, record)| data && record.key != UNKEYED)
            .map(move |(at, record)| (base + at, record))
    }

    /// Drops the record at this place.
    pub fn drop_record(&mut self, at: u8) {
        self.records &= !(0xf << (4 * at));
    }

    /// Whether a tombstone is left.
    #[must_use]
    pub fn has_tombstone(&self) -> bool {
        !self.is_control() && self.records().any(|(_, record)| record.tombstone)
    }

    /// What is left when all records go but the header stays (1.8): the horizon goes with them.
    #[must_use]
    pub fn emptied(mut self) -> Self {
        self.records = 0;
        (self.horizon, self.due, self.late) = (0, 0, 0);
        self
    }
}
