//! A log that a consumer reads, packed into eight bytes, and what a reader remembers of it.
//!
//! One leader appends in one epoch, at offsets that only rise. So the epoch and the offset name a record, and a log is the
//! epochs of its records. A topic that is created anew begins with epoch 0 again: a bit says to which topic a record
//! belongs. Records of a transaction, and markers, have their kind beside it.

use std::fmt;

use serde::{Deserialize, Serialize};

pub use crate::replication::epochs::{EpochEnd, Epochs};
pub use crate::replication::log::{Epoch, MAX_EPOCHS, MAX_OFFSETS, Offset, UNDEFINED};

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Of no transaction.
    Plain,
    /// Of a transaction.
    Transactional,
    /// The marker of a commit.
    Commit,
    /// The marker of an abort.
    Abort,
}

/// A record. Zero is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Record(u8);

impl Record {
    /// A record that a leader of `epoch` appends to the topic.
    #[must_use]
    pub fn new(epoch: Epoch, kind: Kind, topic: u8) -> Self {
        Self(u8::try_from(epoch + 1).unwrap_or(1) & 7 | (kind as u8) << 3 | (topic & 1) << 5)
    }

    /// The leader epoch in which it was appended.
    #[must_use]
    pub fn epoch(self) -> Epoch {
        (self.0 & 7).cast_signed() - 1
    }

    /// The topic, 0 or 1.
    #[must_use]
    pub fn topic(self) -> u8 {
        self.0 >> 5 & 1
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self.0 >> 3 & 3 {
            0 => Kind::Plain,
            1 => Kind::Transactional,
            2 => Kind::Commit,
            _ => Kind::Abort,
        }
    }

    /// Whether it is a marker.
    #[must_use]
    pub fn is_marker(self) -> bool {
        matches!(self.kind(), Kind::Commit | Kind::Abort)
    }

    /// Its bit among those that were appended at one offset.
    fn bit(self) -> u8 {
        1 << (self.epoch().unsigned_abs() + 4 * self.topic()).min(7)
    }
}

/// The records from offset 0 up, a byte each, without holes but for what a reader has not read.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Log(u64);

fn shift(offset: Offset) -> Option<u32> {
    let offset = u32::try_from(offset).ok()?;
    (offset < 8).then_some(8 * offset)
}

impl Log {
    /// The word that is hashed.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }

    /// The offset of the next record.
    #[must_use]
    pub fn end(self) -> Offset {
        i8::try_from(8 - self.0.leading_zeros() / 8).unwrap_or(0)
    }

    /// The record at an offset.
    #[must_use]
    pub fn get(self, offset: Offset) -> Option<Record> {
        let byte = u8::try_from(self.0 >> shift(offset)? & 0xff).unwrap_or(0);
        (byte != 0).then_some(Record(byte))
    }

    /// Puts a record at an offset.
    pub fn set(&mut self, offset: Offset, record: Record) {
        if let Some(shift) = shift(offset) {
            self.0 = self.0 & !(0xff << shift) | u64::from(record.0) << shift;
        }
    }

    /// Appends a record.
    pub fn append(&mut self, record: Record) {
        self.set(self.end(), record);
    }

    /// Drops all that is not below `offset`.
    pub fn cut(&mut self, offset: Offset) {
        match shift(offset) {
            Some(shift) => self.0 &= (1 << shift) - 1,
            None if offset < 0 => self.0 = 0,
            None => {}
        }
    }

    /// The records with their offsets.
    pub fn iter(self) -> impl Iterator<Item = (Offset, Record)> {
        (0..self.end()).filter_map(move |offset| Some((offset, self.get(offset)?)))
    }

    /// How far two logs agree.
    #[must_use]
    pub fn common_end(self, other: Self) -> Offset {
        let end = self.end().min(other.end());
        let differing = i8::try_from((self.0 ^ other.0).trailing_zeros() / 8).unwrap_or(8);
        end.min(differing)
    }

    /// Where the last stable offset is, below `high`: the first record of a transaction that has no marker there.
    #[must_use]
    pub fn last_stable(self, high: Offset) -> Offset {
        let mut open = None;
        for (offset, record) in self.iter().take_while(|(offset, _)| *offset < high) {
            match record.kind() {
                Kind::Plain => {}
                Kind::Transactional => open = open.or(Some(offset)),
                Kind::Commit | Kind::Abort => open = None,
            }
        }
        open.unwrap_or(high)
    }

    /// How the transaction ends that the record at `offset` belongs to.
    #[must_use]
    pub fn outcome(self, offset: Offset) -> Option<Kind> {
        self.iter().find(|(at, record)| *at > offset && record.is_marker()).map(|(_, record)| record.kind())
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (offset, record) in self.iter() {
            write!(formatter, " {offset}@e{}", record.epoch())?;
        }
        formatter.write_str(" ]")
    }
}

/// Which records were ever handed out: at each offset a bit an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seen(u64);

impl Seen {
    /// The word that is hashed.
    #[must_use]
    pub fn word(self) -> u64 {
        self.0
    }

    /// Notes a record. Whether it was noted before.
    pub fn note(&mut self, offset: Offset, record: Record) -> bool {
        let known = self.has(offset, record);
        if let Some(shift) = shift(offset) {
            self.0 |= u64::from(record.bit()) << shift;
        }
        known
    }

    /// Whether it was handed out.
    #[must_use]
    pub fn has(self, offset: Offset, record: Record) -> bool {
        shift(offset).is_some_and(|shift| self.0 >> shift & u64::from(record.bit()) != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_agree_up_to_the_first_record_that_differs() {
        let mut one = Log::default();
        let mut other = Log::default();
        for epoch in [0, 0, 1] {
            one.append(Record::new(epoch, Kind::Plain, 0));
        }
        for epoch in [0, 2, 2, 2] {
            other.append(Record::new(epoch, Kind::Plain, 0));
        }
        assert_eq!((one.end(), other.end(), one.common_end(other)), (3, 4, 1));
        other.cut(1);
        assert_eq!((other.end(), one.common_end(other)), (1, 1));
        assert_eq!(one.get(2).map(Record::epoch), Some(1));
    }

    #[test]
    fn a_transaction_without_a_marker_holds_the_last_stable_offset_back() {
        let mut log = Log::default();
        log.append(Record::new(0, Kind::Plain, 0));
        log.append(Record::new(0, Kind::Transactional, 0));
        log.append(Record::new(0, Kind::Plain, 0));
        assert_eq!(log.last_stable(3), 1);
        log.append(Record::new(0, Kind::Commit, 0));
        assert_eq!(log.last_stable(3), 1);
        assert_eq!(log.last_stable(4), 4);
        assert_eq!(log.outcome(1), Some(Kind::Commit));
    }

    #[test]
    fn a_record_of_the_topic_that_was_created_anew_is_another() {
        let (old, new) = (Record::new(0, Kind::Plain, 0), Record::new(0, Kind::Plain, 1));
        let mut seen = Seen::default();
        assert!(!seen.note(2, old));
        assert!(seen.note(2, old));
        assert!(!seen.has(2, new));
    }
}
