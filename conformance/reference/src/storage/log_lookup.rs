//! Looking an offset up by time (`ListOffsets`; Kafka's `UnifiedLog#fetchOffsetByTimestamp`,
//! `LogSegment#findOffsetByTimestamp`).

use super::log::Log;
use super::log_error::LogError;
use super::names::{Millis, Offset};
use super::segment_files::FileKind;

/// A record that was found by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundByTime {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Millis,
}

impl Log {
    /// The first record whose timestamp is not below `timestamp`; `None` if there is none below the high watermark.
    pub fn offset_for_timestamp(&self, timestamp: Millis) -> Result<Option<FoundByTime>, LogError> {
        let fs = &**self.fs();
        for segment in self.segments() {
            if segment.largest_timestamp(fs)? < timestamp {
                continue;
            }
            let path = segment.path(FileKind::Log);
            let indexed = segment.time_index().lookup(timestamp).map_or(segment.base(), |entry| entry.offset);
            let from = indexed.max(self.log_start());
            for batch in segment.batches(fs, segment.offset_index().lookup(from)) {
                let batch = batch?;
                let view = batch.view(&path)?;
                if view.max_timestamp() < timestamp {
                    continue;
                }
                let records = view
                    .records()
                    .map_err(|error| LogError::corrupt(&path, batch.position + error.position as u64, error.fault))?;
                let found =
                    records.iter().find(|record| record.timestamp >= timestamp && record.offset >= self.log_start());
                if let Some(record) = found {
                    let found = FoundByTime { offset: record.offset, timestamp: record.timestamp };
                    return Ok((found.offset < self.high_watermark()).then_some(found));
                }
            }
        }
        Ok(None)
    }
}
