//! What a pass knows of the transactions whose batches it reads (docs/compaction.md 3.1; Kafka's
//! `CleanedTransactionMetadata`).
//!
//! It is told every batch in order, and answers whether the batch can be discarded: data of an aborted transaction, and a
//! marker none of whose data this pass has seen. *Data* are batches, with records or without.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use super::batch_reader::LogBatch;
use super::compression::DEFAULT_LIMIT;
use super::control::ControlType;
use super::error::{BatchError, Fault};
use super::mutation::Mutation;
use super::names::{Offset, ProducerId};
use super::rules::Rules;

/// An aborted transaction, as the index of the segment with its marker has it (34 bytes there).
///
/// The order is that in which a pass learns of them: by first offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AbortedTxn {
    /// The offset of its first record.
    pub first_offset: Offset,
    /// Who wrote it.
    pub producer_id: ProducerId,
    /// The offset of its marker.
    pub last_offset: Offset,
    /// The last stable offset once its marker was written: no transaction of a later entry began below it.
    pub last_stable_offset: Offset,
}

/// Adds the entries of one segment's index that a reader of [`from`, `upper_bound`) needs. True when no later segment
/// can hold another one (Kafka's `TransactionIndex#collectAbortedTxns`).
pub fn collect_aborted(index: &[AbortedTxn], from: Offset, upper_bound: Offset, found: &mut Vec<AbortedTxn>) -> bool {
    for entry in index {
        if entry.last_offset >= from && entry.first_offset < upper_bound {
            found.push(*entry);
        }
        if entry.last_stable_offset >= upper_bound {
            return true;
        }
    }
    false
}

/// A pass's knowledge of transactions.
#[derive(Debug, Clone)]
pub struct TransactionTracker {
    /// How many bytes the records of a control batch may have when they are decompressed.
    limit: usize,
    /// Not reached yet.
    ahead: BinaryHeap<Reverse<AbortedTxn>>,
    /// Reached, its marker not read yet; and whether data of it were seen.
    aborted: BTreeMap<ProducerId, (AbortedTxn, bool)>,
    /// Producers with data that are not aborted, their marker not read yet.
    committed: BTreeSet<ProducerId>,
    /// Entries whose data this pass saw, for the index of the output segment.
    retained: Vec<AbortedTxn>,
}

impl TransactionTracker {
    /// One that knows of nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::within(DEFAULT_LIMIT)
    }

    /// One that knows of nothing, and decompresses control batches into at most `limit` bytes.
    #[must_use]
    pub fn within(limit: usize) -> Self {
        let (aborted, committed) = (BTreeMap::new(), BTreeSet::new());
        Self { limit, ahead: BinaryHeap::new(), aborted, committed, retained: Vec::new() }
    }

    /// Tells it of aborted transactions. One that it knows of already may be told again.
    pub fn add(&mut self, aborted: impl IntoIterator<Item = AbortedTxn>) {
        self.ahead.extend(aborted.into_iter().map(Reverse));
    }

    /// Tells it the next batch. Answers whether the batch can be discarded as far as transactions go.
    pub fn read(&mut self, batch: &LogBatch<'_>, rules: Rules) -> Result<bool, BatchError> {
        while let Some(Reverse(entry)) = self.ahead.peek() {
            if entry.first_offset > batch.last_offset() {
                break;
            }
            if let Some(Reverse(entry)) = self.ahead.pop() {
                // An entry that comes for the second time finds its producer there and is dropped.
                self.aborted.entry(entry.producer_id).or_insert((entry, false));
            }
        }
        if batch.is_control() { self.read_control(batch, rules) } else { Ok(self.read_data(batch, rules)) }
    }

    fn read_data(&mut self, batch: &LogBatch<'_>, rules: Rules) -> bool {
        if !batch.is_transactional() {
            return false;
        }
        let counts = !(rules.slips(Mutation::EmptyBatchesAreNoData) && batch.is_empty());
        if let Some((_, saw_data)) = self.aborted.get_mut(&batch.producer_id()) {
            *saw_data |= counts;
            return true;
        }
        if counts {
            self.committed.insert(batch.producer_id());
        }
        false
    }

    fn read_control(&mut self, batch: &LogBatch<'_>, rules: Rules) -> Result<bool, BatchError> {
        let records = batch.records_within(self.limit)?;
        let Some(record) = records.first() else {
            if rules.slips(Mutation::EmptyControlBatchRead) {
                return Err(BatchError::new(0, Fault::Control("batch has no record")));
            }
            return Ok(true);
        };
        Ok(match ControlType::of(record)? {
            ControlType::Abort => match self.aborted.remove(&batch.producer_id()) {
                Some((entry, true)) => {
                    if !rules.slips(Mutation::AbortedEntryDropped) {
                        self.retained.push(entry);
                    }
                    rules.slips(Mutation::MarkerIgnoresData)
                }
                _ => true,
            },
            ControlType::Commit => {
                let saw_data = self.committed.remove(&batch.producer_id());
                !saw_data
            }
            ControlType::Other(_) => rules.slips(Mutation::OtherControlDiscarded),
        })
    }

    /// The entries for the index of the segment that was written since the last call, in the order of their markers.
    pub fn take_retained(&mut self) -> Vec<AbortedTxn> {
        std::mem::take(&mut self.retained)
    }
}

impl Default for TransactionTracker {
    fn default() -> Self {
        Self::new()
    }
}
