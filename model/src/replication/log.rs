//! A replica's log, packed, with its truncations (`docs/replication.md` 1.1, 1.6; `UnifiedLog#truncateTo`).
//!
//! Offsets and epochs are small signed numbers, with Kafka's -1 for "undefined". A record is one byte; the log of a
//! replica, and the records of a message, are eight of them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An offset; [`UNDEFINED`] for none.
pub type Offset = i8;
/// A leader epoch, or a partition epoch; [`UNDEFINED`] for none.
pub type Epoch = i8;
/// What Kafka writes for an offset or an epoch that is not known.
pub const UNDEFINED: i8 = -1;

/// The most brokers that a configuration can have.
pub const MAX_BROKERS: usize = 4;
/// The brokers that there can be.
pub const BROKERS: [u8; MAX_BROKERS] = [0, 1, 2, 3];
/// Where a log ends at most.
pub const MAX_OFFSETS: usize = 8;
/// The most leader epochs that a behaviour can have, from 0.
pub const MAX_EPOCHS: usize = 7;

/// A record: the leader epoch in which it was first appended, and an id that no other record has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Record(u8);

impl Record {
    /// No record: a hole, or beyond the log's end.
    pub const NONE: Self = Self(0);
    const CONTINUES: u8 = 1 << 7;

    /// The `count`-th record that `writer` appends, as leader of `epoch`; [`UNDEFINED`] in the formats before 0.11.
    /// `continues`: it belongs to the batch of the record before it.
    #[must_use]
    pub fn new(epoch: Epoch, writer: u8, count: u8, continues: bool) -> Self {
        // An id is never 0 together with epoch 0 plus 1 = 0, since the counts of the old formats begin at 1.
        let epoch = u8::try_from(epoch + 1).unwrap_or(0) & 7;
        Self(if continues { Self::CONTINUES } else { 0 } | epoch << 4 | writer << 2 | (count & 3))
    }

    /// The record that a leader appends after `count` others of its own. In the formats before 0.11 the counts begin at 1.
    #[must_use]
    pub fn written(epoch: Epoch, writer: u8, count: u8, continues: bool) -> Self {
        Self::new(epoch, writer, if epoch == UNDEFINED { count + 1 } else { count }, continues)
    }

    /// The leader epoch.
    #[must_use]
    pub fn epoch(self) -> Epoch {
        (self.0 >> 4 & 7).cast_signed() - 1
    }

    /// Who appended it first.
    #[must_use]
    pub fn writer(self) -> u8 {
        self.0 >> 2 & 3
    }

    /// The writer and its count: a name that no other record has.
    #[must_use]
    pub fn id(self) -> u8 {
        self.0 & 0xf
    }

    /// Whether it belongs to the batch of the record before it.
    #[must_use]
    pub fn continues(self) -> bool {
        self.0 & Self::CONTINUES != 0
    }

    /// The byte that is hashed.
    #[must_use]
    pub fn byte(self) -> u8 {
        self.0
    }
}

/// A log: the records from its start to its end. Also the records of a message, from the base of the first batch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Log {
    /// The first offset.
    pub start: Offset,
    /// The offset of the next record.
    pub end: Offset,
    records: [Record; MAX_OFFSETS],
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[")?;
        for (offset, record) in self.iter() {
            write!(formatter, " {offset}:{}/e{}", record.id(), record.epoch())?;
        }
        write!(formatter, " ]")
    }
}

fn at(offset: Offset) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl Log {
    /// An empty log that starts and ends at `offset`.
    #[must_use]
    pub fn empty(offset: Offset) -> Self {
        Self { start: offset, end: offset, records: [Record::NONE; MAX_OFFSETS] }
    }

    /// The record at an offset; none in a hole and outside of the log.
    #[must_use]
    pub fn get(&self, offset: Offset) -> Option<Record> {
        if offset < self.start || offset >= self.end {
            return None;
        }
        self.records.get(at(offset)).copied().filter(|record| *record != Record::NONE)
    }

    /// The records with their offsets.
    pub fn iter(&self) -> impl Iterator<Item = (Offset, Record)> + '_ {
        (self.start..self.end).filter_map(|offset| Some((offset, self.get(offset)?)))
    }

    /// Whether so many more records fit.
    #[must_use]
    pub fn has_room_for(&self, records: u8) -> bool {
        at(self.end) + usize::from(records) <= MAX_OFFSETS
    }

    /// Appends a record.
    pub fn append(&mut self, record: Record) {
        if let Some(place) = self.records.get_mut(at(self.end)) {
            *place = record;
            self.end += 1;
        }
    }

    /// Drops all that is not below `offset` (1.6 step 4, for one that is the base of a batch). Whether something went.
    pub fn cut(&mut self, offset: Offset) -> bool {
        if offset >= self.end {
            return false;
        }
        self.records.iter_mut().skip(at(offset)).for_each(|record| *record = Record::NONE);
        self.end = offset;
        self.start = self.start.min(offset);
        true
    }

    /// Lets the log end at `offset`, with a hole where there are no records.
    pub fn end_at(&mut self, offset: Offset) {
        self.end = self.end.max(offset);
    }

    /// Drops all that is below `offset`.
    pub fn cut_start(&mut self, offset: Offset) {
        self.records.iter_mut().take(at(offset)).for_each(|record| *record = Record::NONE);
        self.start = offset;
    }

    /// Where the batch begins that holds `offset`.
    #[must_use]
    pub fn base_of(&self, offset: Offset) -> Offset {
        let mut base = offset;
        while self.get(base).is_some_and(Record::continues) {
            base -= 1;
        }
        base
    }

    /// The records from the batch that holds `offset` to the end, for a message.
    #[must_use]
    pub fn from(&self, offset: Offset) -> Self {
        let mut part = *self;
        part.cut_start(self.base_of(offset));
        part
    }

    /// How far the two logs agree, from the larger start up.
    #[must_use]
    pub fn common_end(&self, other: &Self) -> Offset {
        let start = self.start.max(other.start);
        let end = self.end.min(other.end);
        (start..end).find(|offset| self.get(*offset) != other.get(*offset)).unwrap_or(end.max(start))
    }

    /// The bytes that are hashed.
    #[must_use]
    pub fn image(&self) -> [u8; MAX_OFFSETS + 2] {
        let mut image = [0; MAX_OFFSETS + 2];
        for (byte, record) in image.iter_mut().zip(&self.records) {
            *byte = record.byte();
        }
        image[MAX_OFFSETS] = self.start.cast_unsigned();
        image[MAX_OFFSETS + 1] = self.end.cast_unsigned();
        image
    }
}
