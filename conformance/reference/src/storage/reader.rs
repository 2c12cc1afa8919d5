//! What a consumer makes of a fetch response (docs/compaction.md 3.5; Kafka's `CompletedFetch`).
//!
//! At `read_committed` a response comes with the aborted transactions that overlap it. The reader walks the batches with the
//! set of producers whose current transaction is aborted: one comes in when the walk reaches its first offset, and goes out
//! with its ABORT marker. So an entry whose marker is gone hides the producer's later, committed data, and data whose
//! entry is gone is taken for committed. The set lives as long as the response.
//!
//! The position after a response is the next offset of its last batch: gaps and emptied batches are skipped.

use std::collections::BTreeSet;

use super::batch_reader::{BatchReader, LogBatch};
use super::control::ControlType;
use super::error::BatchError;
use super::log_read::Isolation;
use super::names::{Offset, ProducerId};
use super::record::Record;
use super::transaction_tracker::AbortedTxn;

/// What a consumer hands out, and where it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handed {
    /// The records, in offset order.
    pub records: Vec<Record>,
    /// The offset that the next fetch asks for.
    pub position: Offset,
}

/// Walks a response. Records below `from` are passed over: they are in a batch that begins before it. A batch that does
/// not read, or whose checksum is wrong, is an error with the position in the response.
pub fn hand_out(
    batches: &[u8],
    aborted: &[AbortedTxn],
    from: Offset,
    isolation: Isolation,
) -> Result<Handed, BatchError> {
    let mut handed = Handed { records: Vec::new(), position: from };
    let mut transactions = AbortedProducers::new(aborted);
    let mut start = 0;
    for batch in BatchReader::new(batches) {
        let batch = batch?;
        let at = start;
        start += batch.size();
        let within = |error: BatchError| error.within(at);
        batch.check_crc().map_err(within)?;
        let records = batch.records().map_err(within)?;
        let hidden = isolation == Isolation::Committed && transactions.hides(&batch, &records).map_err(within)?;
        if !hidden && !batch.is_control() {
            handed.records.extend(records.into_iter().filter(|record| record.offset >= from));
        }
        handed.position = handed.position.max(batch.next_offset());
    }
    Ok(handed)
}

/// The producers whose current transaction is aborted.
struct AbortedProducers {
    /// Those to come, the one that begins last first.
    ahead: Vec<AbortedTxn>,
    current: BTreeSet<ProducerId>,
}

impl AbortedProducers {
    fn new(aborted: &[AbortedTxn]) -> Self {
        let mut ahead = aborted.to_vec();
        ahead.sort_by_key(|transaction| std::cmp::Reverse(transaction.first_offset));
        Self { ahead, current: BTreeSet::new() }
    }

    /// Whether a batch is of an aborted transaction. Markers are seen here.
    fn hides(&mut self, batch: &LogBatch<'_>, records: &[Record]) -> Result<bool, BatchError> {
        while let Some(next) = self.ahead.pop_if(|next| next.first_offset <= batch.last_offset()) {
            self.current.insert(next.producer_id);
        }
        if batch.is_control() {
            // An emptied marker no longer tells what it was.
            if let Some(record) = records.first()
                && ControlType::of(record)? == ControlType::Abort
            {
                self.current.remove(&batch.producer_id());
            }
            return Ok(false);
        }
        Ok(batch.is_transactional() && self.current.contains(&batch.producer_id()))
    }
}
