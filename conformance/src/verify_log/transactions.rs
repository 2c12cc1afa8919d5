//! Which transactions are open at a place of the log, and whether markers, entries of the index and data fit together
//! (docs/compaction.md 3; S8, S9, S11).

use std::collections::{BTreeMap, BTreeSet};

use super::Rule;

/// What breaks a rule, before it is known in which file.
pub type Broken = (Rule, i64, String);

/// A transaction whose marker was not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    first: i64,
    epoch: i16,
    has_records: bool,
    keys: Vec<(Box<[u8]>, i64)>,
}

/// The transactions of a log, read from its start.
#[derive(Debug, Default)]
pub struct Transactions {
    open: BTreeMap<i64, Open>,
    /// ABORT markers with their record, of the segment that is read: producer and offset.
    aborts: BTreeSet<(i64, i64)>,
    /// The last offset of each producer's transactional data.
    last_data: BTreeMap<i64, i64>,
}

impl Transactions {
    /// A batch of transactional data, emptied or not. Its keys count when the transaction is committed.
    pub fn data(
        &mut self,
        producer: i64,
        epoch: i16,
        (first, last): (i64, i64),
        records: usize,
        keys: impl Iterator<Item = (Box<[u8]>, i64)>,
    ) -> Option<Broken> {
        let mut broken = None;
        if let Some(open) = self.open.get(&producer)
            && open.epoch != epoch
        {
            let text = format!(
                "producer {producer} begins a transaction with epoch {epoch}, and that of {} with epoch {} has no marker",
                open.first, open.epoch
            );
            broken = Some((Rule::S8, open.first, text));
            self.open.remove(&producer);
        }
        let open = self.open.entry(producer).or_insert(Open { first, epoch, has_records: false, keys: Vec::new() });
        open.has_records |= records > 0;
        open.keys.extend(keys);
        self.last_data.insert(producer, last);
        broken
    }

    /// A COMMIT marker: the keyed records that it commits.
    pub fn commit(&mut self, producer: i64) -> Vec<(Box<[u8]>, i64)> {
        self.open.remove(&producer).map(|open| open.keys).unwrap_or_default()
    }

    /// An ABORT marker. `is_listed` is whether the index of its segment has an entry that ends here.
    pub fn abort(&mut self, producer: i64, offset: i64, is_listed: bool) -> Option<Broken> {
        self.aborts.insert((producer, offset));
        let open = self.open.remove(&producer)?;
        (open.has_records && !is_listed).then(|| {
            let text = format!(
                "the ABORT of producer {producer} at {offset} ends a transaction with records from {} on, and the \
                 transaction index has no entry of it",
                open.first
            );
            (Rule::S9, offset, text)
        })
    }

    /// A control batch without a record: a marker was cleaned there.
    pub fn emptied_marker(&mut self, producer: i64, offset: i64) -> Option<Broken> {
        let open = self.open.remove(&producer)?;
        let text = format!(
            "the marker of producer {producer} at {offset} was emptied, and its transaction still has a batch at {}",
            open.first
        );
        Some((Rule::S8, offset, text))
    }

    /// The segment ends: which of its entries have no marker.
    pub fn end_of_segment(&mut self, entries: impl Iterator<Item = (i64, i64)>) -> Vec<Broken> {
        let aborts = std::mem::take(&mut self.aborts);
        entries
            .filter(|entry| !aborts.contains(entry))
            .map(|(producer, offset)| {
                let text = format!(
                    "the transaction index says that producer {producer} aborted at {offset}, and no ABORT is there"
                );
                (Rule::S11, offset, text)
            })
            .collect()
    }

    /// The log ends. Nothing of a transaction that is open is below the first dirty offset, for the cleaner stops at the
    /// last stable offset: a transaction that seems open there has lost its marker.
    #[must_use]
    pub fn end(&self, first_dirty: Option<i64>) -> Vec<Broken> {
        let Some(first_dirty) = first_dirty else { return Vec::new() };
        let lost = self.open.iter().filter(|(_, open)| open.first < first_dirty);
        lost.map(|(producer, open)| {
            let text = format!(
                "the transaction of producer {producer} that begins at {} lies below the cleaner's checkpoint \
                 {first_dirty}, and has no marker",
                open.first
            );
            (Rule::S8, open.first, text)
        })
        .collect()
    }

    /// The first offset of the oldest transaction that is open.
    #[must_use]
    pub fn first_open(&self) -> Option<i64> {
        self.open.values().map(|open| open.first).min()
    }

    /// Whether the producer has transactional data at `offset` or above.
    #[must_use]
    pub fn has_data_from(&self, producer: i64, offset: i64) -> bool {
        self.last_data.get(&producer).is_some_and(|last| *last >= offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(transactions: &mut Transactions, producer: i64, epoch: i16, offset: i64) -> Option<Rule> {
        transactions.data(producer, epoch, (offset, offset), 1, std::iter::empty()).map(|(rule, ..)| rule)
    }

    #[test]
    fn a_marker_that_was_emptied_before_its_data_breaks_s8() {
        let mut log = Transactions::default();
        assert_eq!(data(&mut log, 7, 0, 3), None);
        assert_eq!(log.emptied_marker(7, 4).map(|(rule, ..)| rule), Some(Rule::S8));
        assert_eq!(log.emptied_marker(7, 4), None, "a marker without data may be emptied");
    }

    #[test]
    fn a_transaction_that_a_later_epoch_overtakes_has_lost_its_marker() {
        let mut log = Transactions::default();
        assert_eq!(data(&mut log, 7, 0, 3), None);
        assert_eq!(data(&mut log, 7, 0, 4), None);
        assert_eq!(data(&mut log, 7, 1, 5), Some(Rule::S8));
    }

    #[test]
    fn an_open_transaction_below_the_checkpoint_has_lost_its_marker() {
        let mut log = Transactions::default();
        data(&mut log, 7, 0, 3);
        assert_eq!(log.end(Some(4)).len(), 1);
        assert_eq!(log.end(Some(3)), []);
        assert_eq!(log.end(None), []);
    }

    #[test]
    fn an_entry_needs_its_marker_and_aborted_records_their_entry() {
        let mut log = Transactions::default();
        data(&mut log, 7, 0, 3);
        assert_eq!(log.abort(7, 4, false).map(|(rule, ..)| rule), Some(Rule::S9));
        assert_eq!(log.end_of_segment([(7, 4)].into_iter()), []);
        assert_eq!(log.end_of_segment([(7, 4)].into_iter()).len(), 1, "the marker was in the segment before");
    }

    #[test]
    fn what_a_transaction_wrote_counts_when_it_is_committed() {
        let mut log = Transactions::default();
        log.data(7, 0, (3, 3), 1, std::iter::once((Box::from(&b"k"[..]), 3)));
        assert_eq!(log.commit(7), [(Box::from(&b"k"[..]), 3)]);
        assert_eq!(log.commit(7), []);
    }
}
