//! A log that forgets nothing: what was appended, and what follows from it for the log that is cleaned.
//!
//! It holds for whatever the cleaner, a stop or a loss did in between (docs/compaction.md 7.1): S1 and S2 as the state that a
//! reader computes, S4 to S11, S13, S14, S17; and L1 to L4.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_reference::storage::control::ControlType;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::partition::{DumpedBatch, Partition};
use fencepost_reference::storage::record::Record;

/// One record that was appended; its place in the history is its offset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Data { producer: Option<i64>, key: String, value: Option<String> },
    Marker { producer: i64, commit: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Counts,
    Aborted,
    Open,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Oracle {
    pub(crate) history: Vec<Event>,
    /// The horizon that each batch was seen with.
    horizons: BTreeMap<Offset, Millis>,
}

impl Oracle {
    /// The records of this offset and above are lost, or were never written.
    pub(crate) fn cut(&mut self, end: Offset) {
        self.history.truncate(usize::try_from(end.0).expect("an offset"));
    }

    pub(crate) fn is_open(&self, producer: i64) -> bool {
        self.history.iter().rev().find_map(|event| match event {
            Event::Data { producer: Some(of), .. } if *of == producer => Some(true),
            Event::Marker { producer: of, .. } if *of == producer => Some(false),
            _ => None,
        }) == Some(true)
    }

    /// The offset and the verdict of the marker that ends the transaction with this record.
    fn marker_of(&self, offset: usize) -> Option<(usize, bool)> {
        let Some(Event::Data { producer: Some(producer), .. }) = self.history.get(offset) else { return None };
        self.history.iter().enumerate().skip(offset).find_map(|(at, event)| match event {
            Event::Marker { producer: of, commit } if of == producer => Some((at, *commit)),
            _ => None,
        })
    }

    fn fate(&self, offset: usize) -> Fate {
        match (self.history.get(offset), self.marker_of(offset)) {
            (Some(Event::Data { producer: Some(_), .. }), None) => Fate::Open,
            (Some(Event::Data { producer: Some(_), .. }), Some((_, false))) => Fate::Aborted,
            _ => Fate::Counts,
        }
    }

    /// The last stable offset, if the high watermark is not below it.
    pub(crate) fn last_stable(&self) -> Offset {
        Offset(i64::try_from(self.first_open()).unwrap_or(i64::MAX))
    }

    /// The keys that are deleted, each with the offset of the tombstone.
    pub(crate) fn deleted(&self) -> impl Iterator<Item = (&str, usize)> {
        let newest = self.newest().into_iter();
        newest.filter(|(_, (_, value))| value.is_none()).map(|(key, (offset, _))| (key, offset))
    }

    fn first_open(&self) -> usize {
        (0..self.history.len()).find(|offset| self.fate(*offset) == Fate::Open).unwrap_or(self.history.len())
    }

    /// The newest committed record of each key below the last stable offset.
    fn newest(&self) -> BTreeMap<&str, (usize, Option<&str>)> {
        let mut newest = BTreeMap::new();
        for (offset, event) in self.history.iter().enumerate().take(self.first_open()) {
            if let Event::Data { key, value, .. } = event
                && self.fate(offset) == Fate::Counts
            {
                newest.insert(key.as_str(), (offset, value.as_deref()));
            }
        }
        newest
    }

    /// Holds the partition against the history. Its high watermark is its end.
    pub(crate) fn check(&mut self, partition: &Partition) -> Result<(), String> {
        let end = usize::try_from(partition.log().end_offset().0).map_err(|e| e.to_string())?;
        ensure(end == self.history.len(), || format!("the log ends at {end}, the history at {}", self.history.len()))?;
        let stable = partition.log().last_stable_offset().0;
        ensure(Offset(stable) == self.last_stable(), || {
            format!("the last stable offset is {stable}, of the history {}", self.last_stable())
        })?;
        let segments = partition.dump().map_err(|e| e.to_string())?;
        let batches: Vec<&DumpedBatch> = segments.iter().flat_map(|segment| &segment.batches).collect();
        let mut next = Offset(0);
        for batch in &batches {
            ensure(batch.first >= next, || format!("S4: a batch at {} after {next}", batch.first))?;
            next = batch.last.next();
            for record in batch.records.iter().filter(|_| !batch.control) {
                self.check_record(record)?;
            }
        }
        self.check_transactions(&batches)?;
        for entry in segments.iter().flat_map(|segment| &segment.aborted) {
            let marker = batches.iter().find(|batch| batch.first == entry.last_offset && batch.control);
            let record = marker.and_then(|marker| marker.records.first());
            let is_abort = record.is_some_and(|record| ControlType::of(record) == Ok(ControlType::Abort));
            ensure(is_abort, || format!("S11: an index entry of {} without its marker", entry.last_offset))?;
        }
        let entries: Vec<_> = segments.iter().flat_map(|segment| &segment.aborted).collect();
        for batch in batches.iter().filter(|batch| batch.transactional && !batch.control && !batch.records.is_empty()) {
            let aborted = usize::try_from(batch.first.0).is_ok_and(|at| self.fate(at) == Fate::Aborted);
            let known = entries.iter().any(|entry| {
                entry.producer_id == batch.producer && (entry.first_offset..entry.last_offset).contains(&batch.first)
            });
            ensure(!aborted || known, || format!("S9: aborted data at {} without an index entry", batch.first))?;
        }
        // S17: who copies the log batch by batch gets as far as it goes.
        ensure(next == partition.log().end_offset(), || format!("S17: the batches end at {next}, the log at {end}"))?;
        self.check_prefix(&batches)?;
        self.check_tombstones(&batches, partition.now())?;
        self.check_reader(partition)
    }

    /// After a round to E: S13, each key has at most one committed record below E; and S6, no horizon that the round gave
    /// stands at or above it. `before` is what the log was.
    pub(crate) fn check_round(
        &self,
        partition: &Partition,
        before: &BTreeMap<Offset, Millis>,
        cleaned_to: Offset,
    ) -> Result<(), String> {
        let mut seen: BTreeMap<Vec<u8>, Offset> = BTreeMap::new();
        for batch in partition.dump().map_err(|e| e.to_string())?.iter().flat_map(|segment| &segment.batches) {
            if batch.control {
                continue;
            }
            let stamped = batch.delete_horizon.is_some() && !before.contains_key(&batch.first);
            ensure(!stamped || batch.last < cleaned_to, || {
                format!("S6: {} was stamped above {cleaned_to}", batch.first)
            })?;
            let aborted = |record: &&Record| {
                record.offset < cleaned_to
                    && usize::try_from(record.offset.0).is_ok_and(|at| self.fate(at) == Fate::Aborted)
            };
            let left = batch.records.iter().find(aborted);
            ensure(left.is_none(), || format!("L3: {left:?} is aborted, and below {cleaned_to}"))?;
            for record in batch.records.iter().filter(|record| record.offset < cleaned_to) {
                if usize::try_from(record.offset.0).is_ok_and(|at| self.fate(at) == Fate::Counts) {
                    let twin = seen.insert(record.key.clone().unwrap_or_default(), record.offset);
                    ensure(twin.is_none(), || format!("S13: {} and {twin:?} have one key", record.offset))?;
                }
            }
        }
        Ok(())
    }

    /// The horizons that the batches were last seen with.
    pub(crate) fn horizons(&self) -> BTreeMap<Offset, Millis> {
        self.horizons.clone()
    }

    /// S14: when a stamped batch is there for the first time, everything below it was cleaned with the same map or a later
    /// one, so that each key has one committed record up to there.
    fn check_prefix(&self, batches: &[&DumpedBatch]) -> Result<(), String> {
        let is_new = |batch: &&&DumpedBatch| {
            !batch.control && batch.delete_horizon.is_some() && !self.horizons.contains_key(&batch.first)
        };
        let Some(stamped) = batches.iter().rfind(is_new) else { return Ok(()) };
        let mut seen = BTreeSet::new();
        let data = batches.iter().filter(|batch| !batch.control && batch.first <= stamped.first);
        for record in data.flat_map(|batch| &batch.records) {
            let counts = usize::try_from(record.offset.0).is_ok_and(|at| self.fate(at) == Fate::Counts);
            ensure(!counts || seen.insert(record.key.as_deref()), || {
                format!("S14: {} is stamped, and below it the key of {} is there twice", stamped.first, record.offset)
            })?;
        }
        Ok(())
    }

    /// L1, L2, L4: what is left when nothing may wait any longer.
    pub(crate) fn check_rest(&self, partition: &Partition) -> Result<(), String> {
        let newest = self.newest();
        let values: BTreeSet<_> =
            newest.values().filter(|(_, value)| value.is_some()).map(|(offset, _)| *offset).collect();
        // A marker stays as long as data of its transaction do.
        let markers = values.iter().filter_map(|offset| self.marker_of(*offset)).map(|(marker, _)| marker);
        let expected: BTreeSet<_> = values.iter().copied().chain(markers).collect();
        let segments = partition.dump().map_err(|e| e.to_string())?;
        let batches: Vec<_> = segments.iter().flat_map(|segment| &segment.batches).collect();
        let left: BTreeSet<_> = batches
            .iter()
            .flat_map(|batch| &batch.records)
            .filter_map(|record| usize::try_from(record.offset.0).ok())
            .collect();
        let emptied = batches.iter().find(|batch| batch.records.is_empty());
        ensure(left == expected && emptied.is_none(), || {
            format!("L1, L2, L4: {expected:?} should be left, {left:?} is, and {emptied:?}")
        })
    }

    fn check_record(&self, record: &Record) -> Result<(), String> {
        let event = usize::try_from(record.offset.0).ok().and_then(|at| self.history.get(at));
        let Some(Event::Data { key, value, .. }) = event else {
            return Err(format!("S4: a record at {} where none was appended", record.offset));
        };
        let same = record.key.as_deref() == Some(key.as_bytes())
            && record.value.as_deref() == value.as_deref().map(str::as_bytes);
        ensure(same, || format!("S4: the record at {} is not what was appended", record.offset))
    }

    fn check_transactions(&self, batches: &[&DumpedBatch]) -> Result<(), String> {
        for batch in batches.iter().filter(|batch| batch.transactional && !batch.control) {
            let Some((marker, _)) = usize::try_from(batch.first.0).ok().and_then(|at| self.marker_of(at)) else {
                continue;
            };
            let marker = Offset(i64::try_from(marker).unwrap_or(-1));
            let there = batches.iter().any(|other| other.first == marker && !other.records.is_empty());
            ensure(there, || format!("S8: data at {} without the marker at {marker}", batch.first))?;
        }
        Ok(())
    }

    fn check_tombstones(&mut self, batches: &[&DumpedBatch], now: Millis) -> Result<(), String> {
        for (key, (offset, value)) in self.newest() {
            let at = Offset(i64::try_from(offset).unwrap_or(-1));
            let there = batches.iter().any(|batch| batch.records.iter().any(|record| record.offset == at));
            if value.is_none() && !there {
                let horizon = self.horizons.get(&at);
                let passed = horizon.is_some_and(|horizon| *horizon <= now);
                ensure(passed, || {
                    format!("S7: the tombstone of {key} at {at} went at {now}, its horizon is {horizon:?}")
                })?;
            }
        }
        for batch in batches {
            let before = self.horizons.get(&batch.first);
            let stays = batch.records.is_empty() || before.is_none() || before == batch.delete_horizon.as_ref();
            ensure(stays, || {
                format!("S5: the horizon of {} was {before:?}, is {:?}", batch.first, batch.delete_horizon)
            })?;
            if let Some(horizon) = batch.delete_horizon {
                self.horizons.insert(batch.first, horizon);
            }
        }
        Ok(())
    }

    fn check_reader(&self, partition: &Partition) -> Result<(), String> {
        let handed = partition.read_all(Offset(0), Isolation::Committed).map_err(|e| e.to_string())?;
        let mut state: BTreeMap<String, Option<String>> = BTreeMap::new();
        for record in &handed.records {
            let at = usize::try_from(record.offset.0).unwrap_or(usize::MAX);
            ensure(self.fate(at) == Fate::Counts, || format!("S10: an aborted record at {at} was handed out"))?;
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            state.insert(text(record.key.as_deref().unwrap_or_default()), record.value.as_deref().map(text));
        }
        state.retain(|_, value| value.is_some());
        let newest = self.newest();
        let expected: BTreeMap<String, Option<String>> = newest
            .iter()
            .filter(|(_, (_, value))| value.is_some())
            .map(|(key, (_, value))| ((*key).to_owned(), value.map(str::to_owned)))
            .collect();
        ensure(state == expected, || format!("S1, S2: a reader computes {state:?}, of the history {expected:?}"))
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}
