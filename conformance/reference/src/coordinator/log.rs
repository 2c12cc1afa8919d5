//! The log of one partition of `__consumer_offsets`: records, transaction markers, a high watermark
//! (docs/fencing.md 4.3).
//!
//! A coordinator's state is the fold of this log. What is above the high watermark may be lost with the coordinator.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::coordinator::names::{ProducerEpoch, ProducerId};
use crate::coordinator::records::{Record, RecordError, RecordFormat};
use crate::coordinator::request::TxnOutcome;

/// Who wrote a transactional record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Producer {
    /// Its id.
    pub id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
}

/// What stands at one offset.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "nearly all entries are records, and markers need no box for their sake")]
pub enum Entry {
    /// A record, with its producer if it is part of a transaction.
    Record {
        /// The record.
        record: Record,
        /// The producer; `None` for the coordinator's own records and plain commits.
        producer: Option<Producer>,
    },
    /// The end of a producer's transaction.
    Marker {
        /// The producer.
        producer: Producer,
        /// COMMIT or ABORT.
        outcome: TxnOutcome,
    },
}

/// A log with a high watermark.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Log {
    /// Entries by offset; compaction leaves gaps.
    entries: Vec<(u64, Entry)>,
    end_offset: u64,
    high_watermark: u64,
    producers: BTreeMap<ProducerId, ProducerEpoch>,
}

impl Log {
    /// A log of these entries, each with its offset, which have to rise; all of it is replicated.
    ///
    /// An entry whose offset does not rise is dropped.
    #[must_use]
    pub fn from_entries(entries: impl IntoIterator<Item = (u64, Entry)>) -> Self {
        let mut log = Self::default();
        for (offset, entry) in entries {
            if offset >= log.end_offset {
                log.end_offset = offset;
                log.append(entry);
            }
        }
        log.high_watermark = log.end_offset;
        log
    }

    /// All entries with their offsets, in order.
    #[must_use]
    pub fn entries(&self) -> &[(u64, Entry)] {
        &self.entries
    }

    /// The entries in a range of offsets, such as [`Output::appended`](crate::coordinator::Output::appended).
    #[must_use]
    pub fn range(&self, offsets: &Range<u64>) -> &[(u64, Entry)] {
        let from = self.entries.partition_point(|(offset, _)| *offset < offsets.start);
        let to = self.entries.partition_point(|(offset, _)| *offset < offsets.end);
        self.entries.get(from..to).unwrap_or_default()
    }

    /// The offset that the next entry gets.
    #[must_use]
    pub fn end_offset(&self) -> u64 {
        self.end_offset
    }

    /// The offset below which everything is replicated.
    #[must_use]
    pub fn high_watermark(&self) -> u64 {
        self.high_watermark
    }

    /// The newest epoch of a producer that wrote here.
    #[must_use]
    pub fn producer_epoch(&self, producer_id: ProducerId) -> Option<ProducerEpoch> {
        self.producers.get(&producer_id).copied()
    }

    /// The log as it is read back from its bytes: every record is encoded and decoded.
    pub fn through_bytes(&self, format: RecordFormat) -> Result<Self, RecordError> {
        let mut read = self.clone();
        for (_, entry) in &mut read.entries {
            if let Entry::Record { record, .. } = entry {
                let bytes = record.encode(format)?;
                *record = Record::decode(&bytes.key, bytes.value.as_deref())?;
            }
        }
        Ok(read)
    }

    /// Adds an entry and gives its offset.
    pub(crate) fn append(&mut self, entry: Entry) -> u64 {
        let producer = match &entry {
            Entry::Record { producer, .. } => *producer,
            Entry::Marker { producer, .. } => Some(*producer),
        };
        if let Some(producer) = producer {
            let newest = self.producers.entry(producer.id).or_insert(producer.epoch);
            *newest = (*newest).max(producer.epoch);
        }
        let offset = self.end_offset;
        self.entries.push((offset, entry));
        self.end_offset += 1;
        offset
    }

    /// Moves the high watermark up, to the end at most.
    pub(crate) fn advance_high_watermark(&mut self, to: u64) {
        self.high_watermark = self.high_watermark.max(to.min(self.end_offset));
    }

    /// Drops what is at this offset and above; all that is left is replicated.
    pub(crate) fn truncate_to(&mut self, end_offset: u64) {
        *self = Self::from_entries(
            std::mem::take(&mut self.entries).into_iter().filter(|(offset, _)| *offset < end_offset),
        );
        self.end_offset = end_offset;
        self.high_watermark = end_offset;
    }
}
