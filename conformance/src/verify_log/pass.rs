//! One pass over the batches of a log, in order, through one buffer.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_reference::storage::batch::RecordBatch;
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::transaction_index::ENTRY_BYTES;

use super::directory::{Directory, Segment};
use super::keys::{Keys, shown};
use super::report::{Counts, Report};
use super::transactions::{Broken, Transactions};
use super::{Finding, Rule, VerifyError};

/// How much is read at a time. A larger batch makes the buffer grow.
const BUFFER_BYTES: usize = 4 * 1024 * 1024;

/// The largest batch that is read: what Kafka could write at most.
const LARGEST_BATCH_BYTES: usize = i32::MAX as usize;

/// Reads the whole of a directory. `progress` is told the bytes read so far; `stop` ends the run.
pub fn verify(directory: &Directory, stop: &AtomicBool, progress: &mut dyn FnMut(u64)) -> Result<Report, VerifyError> {
    let mut pass = Pass {
        directory,
        next: i64::MIN,
        transactions: Transactions::default(),
        keys: Keys::default(),
        counts: Counts::default(),
        findings: Vec::new(),
    };
    let mut done = 0;
    for (number, segment) in directory.segments.iter().enumerate() {
        let limit = directory.segments.get(number + 1).map(|next| next.base);
        pass.segment(segment, limit, stop, &mut |bytes| progress(done + bytes))?;
        done += segment.bytes;
    }
    Ok(pass.end())
}

struct Pass<'a> {
    directory: &'a Directory,
    /// The least offset that the next batch may have.
    next: i64,
    transactions: Transactions,
    keys: Keys,
    counts: Counts,
    findings: Vec<Finding>,
}

impl Pass<'_> {
    fn found(&mut self, file: &Path, position: u64, (rule, offset, text): Broken) {
        self.findings.push(Finding { rule, file: file.to_owned(), position, offset: Some(offset), text });
    }

    fn unreadable(&mut self, file: &Path, position: u64, text: String) {
        self.findings.push(Finding { rule: Rule::Batch, file: file.to_owned(), position, offset: None, text });
    }

    fn segment(
        &mut self,
        segment: &Segment,
        limit: Option<i64>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), VerifyError> {
        let io = |source| VerifyError::Io { path: segment.log.clone(), source };
        let mut file = File::open(&segment.log).map_err(io)?;
        self.next = self.next.max(segment.base);
        self.counts.segments += 1;
        // `buffer` holds what was read and not yet judged; `position` is where it begins in the file.
        let (mut buffer, mut filled, mut position) = (vec![0; BUFFER_BYTES], 0, 0);
        loop {
            if stop.load(Ordering::Relaxed) {
                return Err(VerifyError::Interrupted);
            }
            let free = buffer.get_mut(filled..).unwrap_or_default();
            let read = file.read(free).map_err(io)?;
            filled += read;
            let held = buffer.get(..filled).unwrap_or_default();
            let Some((used, needed)) = self.batches(segment, limit, held, position) else { break };
            position += used as u64;
            progress(position);
            if read == 0 {
                if filled > used {
                    let text = format!("{} bytes at the end are no whole batch", filled - used);
                    self.unreadable(&segment.log, position, text);
                }
                break;
            }
            buffer.copy_within(used..filled, 0);
            filled -= used;
            if let Some(needed) = needed.filter(|needed| *needed > buffer.len()) {
                // Not more than the file has: a length that was damaged must not take the memory.
                let left = usize::try_from(segment.bytes.saturating_sub(position)).unwrap_or(usize::MAX);
                buffer.resize(needed.min(left.max(BUFFER_BYTES)), 0);
            }
            if filled == buffer.len() {
                self.unreadable(&segment.log, position, "a batch that is longer than its file".to_owned());
                break;
            }
        }
        let entries = segment.aborted.iter().map(|entry| (entry.producer_id.0, entry.last_offset.0));
        for broken in self.transactions.end_of_segment(entries) {
            let at = segment.aborted.iter().position(|entry| entry.last_offset.0 == broken.1).unwrap_or_default();
            self.found(&segment.index, (at * ENTRY_BYTES) as u64, broken);
        }
        Ok(())
    }

    /// Judges the whole batches of `held`. How many bytes they were, and how many the one has that is not whole. `None`:
    /// what follows is no batch, and there is no way to find the next one.
    fn batches(
        &mut self,
        segment: &Segment,
        limit: Option<i64>,
        held: &[u8],
        position: u64,
    ) -> Option<(usize, Option<usize>)> {
        let mut reader = BatchReader::new(held).max_batch_bytes(LARGEST_BATCH_BYTES);
        loop {
            let at = position + reader.position() as u64;
            match reader.next() {
                None => return Some((reader.position(), reader.tail().batch_bytes)),
                Some(Ok(LogBatch::V2(batch))) => self.batch(segment, limit, &batch, at),
                #[allow(unreachable_patterns)] // The older formats are another variant.
                Some(Ok(_)) => self.counts.old_batches += 1,
                Some(Err(error)) => {
                    self.unreadable(&segment.log, position + error.position as u64, error.fault.to_string());
                    return None;
                }
            }
        }
    }

    fn batch(&mut self, segment: &Segment, limit: Option<i64>, batch: &RecordBatch<'_>, at: u64) {
        let (first, last) = (batch.base_offset().0, batch.last_offset().0);
        self.counts.batches += 1;
        if first < self.next || limit.is_some_and(|limit| last >= limit) {
            let text = match limit {
                Some(limit) if last >= limit => {
                    format!("offsets {first} to {last}, and the next segment begins at {limit}")
                }
                _ => format!("offsets {first} to {last}, and the least that may come is {}", self.next),
            };
            self.found(&segment.log, at, (Rule::Offsets, first, text));
        }
        // Not the largest so far: one batch that is wrong must not make all that follow it wrong.
        self.next = last.saturating_add(1);
        if let Err(error) = batch.check_crc() {
            // What a wrong checksum covers can't be believed.
            return self.found(&segment.log, at, (Rule::Checksum, first, error.fault.to_string()));
        }
        let records = match batch.records() {
            Ok(records) => records,
            Err(error) => {
                let text = error.to_string();
                return self.found(&segment.log, at, (Rule::Batch, first, text));
            }
        };
        if let Some(record) = records.iter().find(|record| record.offset.0 > last) {
            let text = format!("a record at {}, and the batch ends at {last}", record.offset);
            self.found(&segment.log, at, (Rule::Batch, first, text));
        }
        self.counts.records += records.len() as u64;
        if batch.is_control() {
            self.control(segment, batch, records.first(), at);
        } else {
            self.data(segment, batch, records, at);
        }
    }

    fn control(&mut self, segment: &Segment, batch: &RecordBatch<'_>, record: Option<&Record>, at: u64) {
        let (producer, offset) = (batch.producer_id().0, batch.base_offset().0);
        let marker = match record.map(Marker::of) {
            None => {
                if let Some(broken) = self.transactions.emptied_marker(producer, offset) {
                    self.found(&segment.log, at, broken);
                }
                return;
            }
            Some(Ok(marker)) => marker,
            Some(Err(error)) => return self.found(&segment.log, at, (Rule::Batch, offset, error.to_string())),
        };
        match marker.map(|marker| marker.commit) {
            Some(true) => {
                for (key, offset) in self.transactions.commit(producer) {
                    self.key(segment, &key, offset, at);
                }
            }
            Some(false) => {
                let is_listed = segment
                    .aborted
                    .iter()
                    .any(|entry| entry.producer_id.0 == producer && entry.last_offset.0 == offset);
                if let Some(broken) = self.transactions.abort(producer, offset, is_listed) {
                    self.found(&segment.log, at, broken);
                }
            }
            // Another control batch; it stays for ever.
            None => {}
        }
    }

    fn data(&mut self, segment: &Segment, batch: &RecordBatch<'_>, records: Vec<Record>, at: u64) {
        let first_dirty = self.directory.first_dirty.unwrap_or(i64::MIN);
        let count = records.len();
        let clean = records.into_iter().filter(|record| record.offset.0 < first_dirty);
        let keyed = clean.filter_map(|record| Some((record.key?.into_boxed_slice(), record.offset.0)));
        if batch.is_transactional() {
            let (producer, epoch) = (batch.producer_id().0, batch.producer_epoch().0);
            let range = (batch.base_offset().0, batch.last_offset().0);
            if let Some(broken) = self.transactions.data(producer, epoch, range, count, keyed) {
                self.found(&segment.log, at, broken);
            }
        } else {
            for (key, offset) in keyed {
                self.key(segment, &key, offset, at);
            }
        }
    }

    fn key(&mut self, segment: &Segment, key: &[u8], offset: i64, at: u64) {
        if let Some(other) = self.keys.take(key, offset) {
            let (older, newer) = (other.min(offset), other.max(offset));
            let text = format!("the key {} is at {older} and at {newer}, both below the checkpoint", shown(key));
            self.found(&segment.log, at, (Rule::S13, newer, text));
        }
    }

    fn end(mut self) -> Report {
        let directory = self.directory;
        for broken in self.transactions.end(directory.first_dirty) {
            let holds = |segment: &&Segment| segment.base <= broken.1;
            let file = directory.segments.iter().rev().find(holds).map_or(&directory.path, |segment| &segment.log);
            self.found(file, 0, broken);
        }
        if let Some(first_dirty) = directory.first_dirty {
            self.stale_entries(first_dirty);
        }
        self.counts.keys = self.keys.count() as u64;
        Report {
            directory: directory.path.clone(),
            first_dirty: directory.first_dirty,
            high_watermark: directory.high_watermark,
            log_end: self.next,
            first_open: self.transactions.first_open(),
            unfinished: directory.unfinished.clone(),
            counts: self.counts,
            findings: self.findings,
        }
    }

    /// The entries that the next round will be given although their markers lie below where it begins to read (N2): those
    /// of the segment that holds the first dirty offset.
    fn stale_entries(&mut self, first_dirty: i64) {
        let directory = self.directory;
        let Some(segment) = directory.segments.iter().rev().find(|segment| segment.base <= first_dirty) else { return };
        for (number, entry) in segment.aborted.iter().enumerate() {
            let (producer, last) = (entry.producer_id.0, entry.last_offset.0);
            if last < first_dirty && self.transactions.has_data_from(producer, first_dirty) {
                let text = format!(
                    "producer {producer} aborted at {last}, below the first dirty offset {first_dirty}, and has \
                     transactional data above it: the next round may take them for aborted"
                );
                self.found(&segment.index, (number * ENTRY_BYTES) as u64, (Rule::N2, last, text));
            }
        }
    }
}
