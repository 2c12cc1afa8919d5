//! A log that forgets nothing: what was appended, and what follows from it for the log that is cleaned.
//!
//! It holds for whatever the cleaner, a stop or a loss did in between (docs/compaction.md 7.1): S1 and S2 as the state that a
//! reader computes, S4 to S11, S13.

use std::collections::BTreeMap;

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

    fn last_stable(&self) -> usize {
        (0..self.history.len()).find(|offset| self.fate(*offset) == Fate::Open).unwrap_or(self.history.len())
    }

    /// The newest committed record of each key below the last stable offset.
    fn newest(&self) -> BTreeMap<&str, (usize, Option<&str>)> {
        let mut newest = BTreeMap::new();
        for (offset, event) in self.history.iter().enumerate().take(self.last_stable()) {
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
        ensure(stable == i64::try_from(self.last_stable()).unwrap_or(-1), || {
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
