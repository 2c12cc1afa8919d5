//! What a life is held to beside what its log must be at any moment: the bound of a round, what a crash may leave of one, what
//! a round does that has nothing to do, and what a consumer that lags may rely on (docs/compaction.md 6.4, 7.1, 7.2).

use std::collections::BTreeMap;

use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::partition::{DumpedBatch, DumpedSegment, Partition, Round};

use crate::oracle::Oracle;

/// `delete.retention.ms` of every life.
const RETENTION: i64 = 100;

fn batches(log: &[DumpedSegment]) -> impl Iterator<Item = &DumpedBatch> {
    log.iter().flat_map(|segment| &segment.batches)
}

/// S12: the bound of a round is at most the last stable offset, and nothing at the bound or above is touched.
pub(crate) fn s12(
    before: &[DumpedSegment],
    after: &[DumpedSegment],
    round: &Round,
    stable: Offset,
) -> Result<(), String> {
    let bound = round.chosen.upper_bound;
    if bound > stable && round.chosen.first_dirty < bound {
        return Err(format!("S12: a round to {bound}, above the last stable offset {stable}"));
    }
    let above = |log| batches(log).filter(|batch| batch.last >= bound).map(|batch| &batch.bytes).collect::<Vec<_>>();
    if above(before) == above(after) { Ok(()) } else { Err(format!("S12: the log at {bound} or above has changed")) }
}

/// L5: a round moves F, or reaches its bound.
pub(crate) fn l5(round: &Round, cleaned_to: Offset) -> Result<(), String> {
    let chosen = &round.chosen;
    if cleaned_to > chosen.first_dirty || cleaned_to == chosen.upper_bound {
        return Ok(());
    }
    Err(format!("L5: a round from {} to {} ends at {cleaned_to}", chosen.first_dirty, chosen.upper_bound))
}

/// S15: after a crash in a round the log is what the whole round makes of it up to some offset, and from there on what it
/// was: each group is the old one, or the new one, or the new one and a suffix of the old segments.
pub(crate) fn s15(before: &[Vec<u8>], crashed: &[Vec<u8>], whole: &[Vec<u8>]) -> Result<(), String> {
    let offset = |batch: &[u8]| batch.first_chunk().map_or(0, |bytes| i64::from_be_bytes(*bytes));
    let ends = before.iter().chain(whole).map(|batch| offset(batch)).chain([i64::MAX]);
    let fits = |split: i64| {
        let new = whole.iter().filter(|batch| offset(batch) < split);
        let old = before.iter().filter(|batch| offset(batch) >= split);
        new.chain(old).eq(crashed)
    };
    if ends.into_iter().any(fits) {
        return Ok(());
    }
    let offsets = |log: &[Vec<u8>]| log.iter().map(|batch| (offset(batch), batch.len())).collect::<Vec<_>>();
    Err(format!("S15: {:?}, then {:?}; whole: {:?}", offsets(before), offsets(crashed), offsets(whole)))
}

/// S18: a round that has nothing new to map, before any horizon, changes nothing; but what the round before had still to see
/// clean or without data is stamped by now.
pub(crate) fn s18(before: &[DumpedSegment], after: &[DumpedSegment], now: Millis) -> Result<(), String> {
    if batches(before).any(|batch| batch.delete_horizon.is_some_and(|horizon| horizon <= now)) {
        return Ok(());
    }
    let (old, new): (Vec<_>, Vec<_>) = (batches(before).collect(), batches(after).collect());
    let same = old.len() == new.len()
        && old.iter().zip(&new).all(|(old, new)| {
            let stamped = old.delete_horizon.is_none() && new.delete_horizon.is_some();
            old.bytes == new.bytes || (stamped && (old.first, &old.records) == (new.first, &new.records))
        });
    if same { Ok(()) } else { Err(format!("S18: {old:?} became {new:?}")) }
}

/// A consumer that reads what is committed, a little at a time.
#[derive(Debug, Default)]
pub(crate) struct Consumer {
    position: i64,
    /// What it read last of each key, and when.
    seen: BTreeMap<String, Seen>,
}

#[derive(Debug)]
struct Seen {
    offset: usize,
    is_value: bool,
    at: Millis,
}

impl Consumer {
    pub(crate) fn position(&self) -> Offset {
        Offset(self.position)
    }

    /// One fetch. S3: who passes a deletion less than `delete.retention.ms` after it has read the value sees it, or something
    /// newer. (Rounds take no time here.)
    pub(crate) fn read(
        &mut self,
        partition: &Partition,
        oracle: &Oracle,
        bytes: usize,
    ) -> Result<Result<(), String>, LogError> {
        let from = self.position.max(partition.log().log_start().0);
        let handed = partition.read(Offset(from), bytes, Isolation::Committed)?;
        let now = partition.now();
        for record in &handed.records {
            let key = String::from_utf8_lossy(record.key.as_deref().unwrap_or_default()).into_owned();
            let offset = usize::try_from(record.offset.0).unwrap_or(usize::MAX);
            self.seen.insert(key, Seen { offset, is_value: record.value.is_some(), at: now });
        }
        self.position = handed.position.0;
        let passed = |offset: usize| i64::try_from(offset).is_ok_and(|offset| (from..self.position).contains(&offset));
        for (key, deleted) in oracle.deleted() {
            if let Some(seen) = self.seen.get(key)
                && passed(deleted)
                && seen.is_value
                && seen.offset < deleted
                && now.0 - seen.at.0 < RETENTION
            {
                let (read, at) = (seen.offset, seen.at);
                return Ok(Err(format!(
                    "S3: {key} was read at {read}, time {at}; its deletion at {deleted} is gone at {now}"
                )));
            }
        }
        Ok(Ok(()))
    }
}
