//! Reading a segment in chunks of whole batches, with a buffer that grows for a batch that is too large for it
//! (docs/compaction.md 2.5; Kafka's `Cleaner#growBuffersOrFail`; KAFKA-4019, KAFKA-6834).

use super::batch_reader::BatchReader;
use super::error::{BatchError, Fault};
use super::grouping::SourceSegment;
use super::mutation::Mutation;
use super::names::Offset;
use super::round::{RoundError, RoundInput, RoundStorage};

/// How far a segment was read.
pub(super) struct Chunks {
    segment: Offset,
    bytes: u64,
    position: u64,
    buffer: usize,
    max_batch_bytes: usize,
    refuses_large: bool,
}

impl Chunks {
    pub(super) fn new(segment: &SourceSegment, position: u64, input: &RoundInput) -> Self {
        Self {
            segment: segment.base,
            bytes: segment.bytes,
            position,
            buffer: input.chunk_bytes.max(1),
            max_batch_bytes: input.max_batch_bytes,
            refuses_large: input.rules.slips(Mutation::OversizedBatchFails),
        }
    }

    /// Where the next chunk begins.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Whether there is a next chunk.
    pub(super) const fn more(&self) -> bool {
        self.position < self.bytes
    }

    /// The next whole batches, at least one.
    pub(super) fn read<S: RoundStorage>(&mut self, storage: &mut S) -> Result<Vec<u8>, RoundError<S::Error>> {
        loop {
            let mut chunk = storage.read(self.segment, self.position, self.buffer)?;
            let mut reader = BatchReader::new(&chunk);
            // Framing alone; a fault is told when the batches before it have been dealt with.
            let fault = reader.by_ref().find_map(Result::err);
            let (whole, tail) = (reader.position(), reader.tail());
            if whole > 0 {
                chunk.truncate(whole);
                self.position = self.position.saturating_add(u64::try_from(whole).unwrap_or(u64::MAX));
                return Ok(chunk);
            }
            if let Some(error) = fault {
                return Err(self.fault(error));
            }
            self.grow(tail.batch_bytes, chunk.len())?;
        }
    }

    fn grow<E>(&mut self, batch_bytes: Option<usize>, read: usize) -> Result<(), RoundError<E>> {
        let left = usize::try_from(self.bytes.saturating_sub(self.position)).unwrap_or(usize::MAX);
        // Not even a length is there, or less than it says: the segment ends inside of a batch.
        let needed = batch_bytes.unwrap_or(self.buffer.saturating_add(1));
        if needed > left || read < self.buffer.min(left) {
            return Err(self.fault(BatchError::new(0, Fault::Truncated { needed, left: left.min(read) })));
        }
        if self.refuses_large && needed > self.max_batch_bytes {
            let limit = self.max_batch_bytes;
            return Err(self.fault(BatchError::new(0, Fault::TooLarge { size: needed, limit })));
        }
        self.buffer = if self.buffer < self.max_batch_bytes {
            self.buffer.saturating_mul(2).min(self.max_batch_bytes)
        } else {
            needed.max(self.buffer.saturating_add(1))
        };
        Ok(())
    }

    const fn fault<E>(&self, error: BatchError) -> RoundError<E> {
        RoundError::Batch { segment: self.segment, position: self.position, error }
    }
}
