//! What must be true of a log after a round, by the history of everything that was ever appended to it
//! (docs/compaction.md 7.1 and 7.2).

use std::collections::{BTreeMap, BTreeSet};

use crate::history::{Outcome, Walk};
use crate::log::Seen;

impl Walk {
    pub(crate) fn s1_s2_newest(&self, after: &[Seen]) -> Result<(), String> {
        let there = offsets(after);
        for key in 0..2 {
            let Some((newest, past)) = self.newest(key, self.log.last_stable().0) else { continue };
            if there.contains(&newest) {
                continue;
            }
            if past.is_value {
                return Err(format!("S1: the newest value of {key}, at {newest}, is gone"));
            }
            let older = self.records.range(..newest).find(|(offset, past)| {
                past.key == key && self.outcome(past) == Outcome::Committed && there.contains(offset)
            });
            if let Some((older, _)) = older {
                return Err(format!("S2: {key} is deleted at {newest}, and {older} is there without it"));
            }
        }
        Ok(())
    }

    pub(crate) fn s4_subsequence(&self, after: &[Seen]) -> Result<(), String> {
        let mut last = -1;
        for batch in after {
            if batch.first <= last {
                return Err(format!("S4: a batch at {} after {last}", batch.first));
            }
            last = batch.last;
            for (offset, told) in &batch.records {
                let same = match self.records.get(offset) {
                    Some(past) => *told == format!("{}={}", past.key, if past.is_value { "v" } else { "null" }),
                    None => told == "COMMIT" || told == "ABORT",
                };
                if !same {
                    return Err(format!("S4: {told} at {offset}"));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn s5_horizons(&mut self, after: &[Seen]) -> Result<(), String> {
        for batch in after.iter().filter(|batch| !batch.records.is_empty()) {
            match (self.horizons.get(&batch.first), batch.horizon) {
                (Some(old), new) if new != Some(*old) => {
                    return Err(format!("S5: the horizon of {} was {old} and is {new:?}", batch.first));
                }
                (None, Some(new)) => drop(self.horizons.insert(batch.first, new)),
                _ => {}
            }
        }
        Ok(())
    }

    pub(crate) fn s7_not_before_time(&self, before: &[Seen], after: &[Seen]) -> Result<(), String> {
        let there = offsets(after);
        for batch in before {
            for (offset, told) in batch.records.iter().filter(|(offset, _)| !there.contains(offset)) {
                let waits = match self.records.get(offset) {
                    Some(past) => {
                        self.outcome(past) == Outcome::Committed
                            && !past.is_value
                            && self.newest(past.key, self.log.bound().0).is_some_and(|(newest, _)| newest == *offset)
                    }
                    None => true,
                };
                if waits && batch.horizon.is_none_or(|horizon| horizon > self.log.now.0) {
                    return Err(format!(
                        "S7: {told} at {offset} is gone at {}, horizon {:?}",
                        self.log.now, batch.horizon
                    ));
                }
            }
        }
        Ok(())
    }

    pub(crate) fn s8_markers(&self, after: &[Seen]) -> Result<(), String> {
        let (there, batches) = (offsets(after), firsts(after));
        for transaction in &self.transactions {
            let gone = transaction.marker.is_some_and(|marker| !there.contains(&marker));
            if let (true, Some(data)) = (gone, transaction.batches.iter().find(|first| batches.contains(first))) {
                return Err(format!("S8: the marker of {transaction:?} is gone and its batch at {data} is there"));
            }
        }
        Ok(())
    }

    pub(crate) fn s9_s11_index(&self, after: &[Seen]) -> Result<(), String> {
        let there = offsets(after);
        let entries: BTreeSet<_> = self.log.aborted().iter().map(|entry| entry.last_offset.0).collect();
        for transaction in self.transactions.iter().filter(|txn| txn.outcome == Outcome::Aborted) {
            let Some(marker) = transaction.marker else { continue };
            let has_data =
                after.iter().any(|batch| transaction.batches.contains(&batch.first) && !batch.records.is_empty());
            if has_data && !entries.contains(&marker) {
                return Err(format!("S9: data of {transaction:?} of {} and no entry", transaction.producer));
            }
        }
        match entries.iter().find(|marker| !there.contains(marker)) {
            Some(marker) => Err(format!("S11: an entry for the marker at {marker}, which is gone")),
            None => Ok(()),
        }
    }

    pub(crate) fn s13_unique(&self, after: &[Seen]) -> Result<(), String> {
        let mut clean = BTreeMap::new();
        for offset in offsets(after).into_iter().filter(|offset| *offset < self.log.first_dirty.0) {
            let Some(past) = self.records.get(&offset) else { continue };
            if self.outcome(past) != Outcome::Committed {
                continue;
            }
            if let Some(other) = clean.insert(past.key, offset) {
                return Err(format!("S13: {} at {other} and {offset}, below {}", past.key, self.log.first_dirty));
            }
        }
        Ok(())
    }

    pub(crate) fn s17_end(&self, after: &[Seen]) -> Result<(), String> {
        let end = after.iter().map(|batch| batch.last + 1).max().unwrap_or(0);
        if end < self.log.high_watermark.0 {
            return Err(format!("S17: the log ends at {end}, below the high watermark {}", self.log.high_watermark));
        }
        Ok(())
    }

    /// The last batch of a producer that has not expired is there, with records or without.
    pub(crate) fn s16_producers(&self, after: &[Seen]) -> Result<(), String> {
        for (producer, last) in &self.log.producers {
            let Some(offset) = last.last_data_offset else { continue };
            if !after.iter().any(|batch| batch.last == offset.0) {
                return Err(format!("S16: the last data batch of {producer}, at {offset}, is gone"));
            }
        }
        Ok(())
    }

    /// Aborted data are gone from the segments that a round has read.
    pub(crate) fn l3_aborted(&self, after: &[Seen]) -> Result<(), String> {
        let read = self.log.first_dirty.0;
        let there = offsets(after);
        let left = self
            .records
            .range(..read)
            .find(|(offset, past)| self.outcome(past) == Outcome::Aborted && there.contains(offset));
        left.map_or(Ok(()), |(offset, _)| Err(format!("L3: the aborted record at {offset} is there")))
    }
}

pub(crate) fn offsets(log: &[Seen]) -> BTreeSet<i64> {
    log.iter().flat_map(|batch| batch.records.iter().map(|(offset, _)| *offset)).collect()
}

fn firsts(log: &[Seen]) -> BTreeSet<i64> {
    log.iter().map(|batch| batch.first).collect()
}

pub(crate) fn s6_stamping(before: &[Seen], after: &[Seen], mapped: i64) -> Result<(), String> {
    let horizon = |log: &[Seen], first| log.iter().find(|batch| batch.first == first).and_then(|batch| batch.horizon);
    for batch in after.iter().filter(|batch| batch.last > mapped) {
        let has_tombstone = batch.records.iter().any(|(_, told)| told.ends_with("=null"));
        if has_tombstone && batch.horizon.is_some() && horizon(before, batch.first).is_none() {
            return Err(format!("S6: {} is stamped, and {mapped} is the last mapped offset", batch.first));
        }
    }
    Ok(())
}
