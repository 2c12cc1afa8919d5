//! Reading: what a fetch response has (Kafka's `LocalLog#read`, `UnifiedLog#read`).
//!
//! A response has whole batches of one segment, the first of which may begin below the offset that was asked for, and at
//! `read_committed` the aborted transactions that overlap them. What the reader makes of it is in [`reader`](super::reader).

use std::ops::Bound;

use super::log::Log;
use super::log_error::LogError;
use super::names::Offset;
use super::segment::Segment;
use super::segment_files::FileKind;
use super::transaction_tracker::AbortedTxn;

/// How far a reader may see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// A follower: to the log's end.
    LogEnd,
    /// `read_uncommitted`: to the high watermark.
    Uncommitted,
    /// `read_committed`: to the last stable offset, without aborted records.
    Committed,
}

/// A fetch response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// Whole batches; empty at the end of what may be read.
    pub batches: Vec<u8>,
    /// The aborted transactions that overlap them, if that was asked for.
    pub aborted: Vec<AbortedTxn>,
    /// Where the reading ends for now.
    pub upper_bound: Offset,
}

impl Log {
    /// The offset up to which a reader may see.
    #[must_use]
    pub fn upper_bound(&self, isolation: Isolation) -> Offset {
        match isolation {
            Isolation::LogEnd => self.next_offset,
            Isolation::Uncommitted => self.high_watermark,
            Isolation::Committed => self.last_stable_offset(),
        }
    }

    /// The batches from the one that holds `from`, or the next one there is; at most `max_bytes`, but at least one batch.
    pub fn read(&self, from: Offset, max_bytes: usize, isolation: Isolation) -> Result<Fetched, LogError> {
        let upper_bound = self.upper_bound(isolation);
        if from < self.log_start || from > self.next_offset {
            let (log_start, end) = (self.log_start, self.next_offset);
            return Err(LogError::OffsetOutOfRange { asked: from, log_start, end });
        }
        let mut fetched = Fetched { batches: Vec::new(), aborted: Vec::new(), upper_bound };
        let first = self.segments.range(..=from).next_back().map_or(from, |(base, _)| *base);
        for segment in self.segments.range((Bound::Included(first), Bound::Unbounded)).map(|(_, segment)| segment) {
            if segment.base() >= upper_bound {
                break;
            }
            let next = self.read_segment(segment, from, max_bytes, upper_bound, &mut fetched.batches)?;
            if let Some(next) = next {
                if isolation == Isolation::Committed {
                    fetched.aborted = self.aborted_transactions(from, next);
                }
                break;
            }
        }
        Ok(fetched)
    }

    /// Reads from one segment; the offset after the last batch that was read, if there was one.
    fn read_segment(
        &self,
        segment: &Segment,
        from: Offset,
        max_bytes: usize,
        upper_bound: Offset,
        out: &mut Vec<u8>,
    ) -> Result<Option<Offset>, LogError> {
        let path = segment.path(FileKind::Log);
        let mut next = None;
        for batch in segment.batches(&*self.fs, segment.start_of(&*self.fs, from)?) {
            let batch = batch?;
            let view = batch.view(&path)?;
            if view.last_offset() < from {
                continue;
            }
            let too_much = !out.is_empty() && out.len().saturating_add(batch.bytes.len()) > max_bytes;
            // A batch that reaches above the bound waits for it; only a cleaned one can have its base below the bound
            // and its end above, and then its records are decided.
            if view.base_offset() >= upper_bound || too_much {
                break;
            }
            next = Some(view.next_offset());
            out.extend_from_slice(&batch.bytes);
        }
        Ok(next)
    }
}
