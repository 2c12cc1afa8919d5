//! A partition in memory, with just enough of a log around it that rounds can be run: offsets, segments, transaction
//! indexes, active producers, and a cleaner's first dirty offset.

use std::collections::BTreeMap;

use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::compression::Compression;
use fencepost_reference::storage::control::{ControlType, Marker};
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::offset_map::ExactOffsetMap;
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::retention::{ActiveProducers, LastRecord};
use fencepost_reference::storage::round::{
    FinishedGroup, Progress, Recopied, RoundError, RoundInput, RoundOutcome, RoundStorage, SourceSegment, run,
};
use fencepost_reference::storage::rules::Rules;
use fencepost_reference::storage::transaction_tracker::AbortedTxn;

#[derive(Debug, Clone, Default)]
pub(crate) struct Segment {
    pub(crate) base: Offset,
    pub(crate) bytes: Vec<u8>,
    pub(crate) aborted: Vec<AbortedTxn>,
    pub(crate) mtime: Millis,
}

/// What stops a round from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Aborted;

pub(crate) struct Log {
    pub(crate) rules: Rules,
    pub(crate) segments: Vec<Segment>,
    pub(crate) next: Offset,
    pub(crate) high_watermark: Offset,
    pub(crate) first_dirty: Offset,
    pub(crate) now: Millis,
    pub(crate) delete_retention: Millis,
    pub(crate) map: usize,
    pub(crate) chunk_bytes: usize,
    pub(crate) segment_bytes: u64,
    /// Whether each batch but the first of a segment has an entry in its offset index.
    pub(crate) indexed: bool,
    pub(crate) producers: ActiveProducers,
    pub(crate) checks: Vec<Progress>,
    /// The most bytes that a round asked for at a time.
    pub(crate) largest_read: usize,
    pub(crate) abort_at: Option<usize>,
    pub(crate) outcome: Option<RoundOutcome>,
    open: BTreeMap<ProducerId, Offset>,
    writing: Option<Segment>,
}

/// A batch as a test sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) first: i64,
    pub(crate) last: i64,
    pub(crate) horizon: Option<i64>,
    pub(crate) records: Vec<(i64, String)>,
}

impl Log {
    pub(crate) fn new(rules: Rules) -> Self {
        Self {
            rules,
            segments: vec![Segment { mtime: Millis(5000), ..Segment::default() }],
            next: Offset(0),
            high_watermark: Offset(0),
            first_dirty: Offset(0),
            now: Millis(5000),
            delete_retention: Millis(100),
            map: 100,
            chunk_bytes: 256 * 1024,
            segment_bytes: 1 << 30,
            indexed: true,
            producers: ActiveProducers::new(),
            checks: Vec::new(),
            largest_read: 0,
            abort_at: None,
            outcome: None,
            open: BTreeMap::new(),
            writing: None,
        }
    }

    pub(crate) fn kafka() -> Self {
        Self::new(Rules::kafka_4_4())
    }

    fn take(&mut self, bytes: &[u8]) -> i64 {
        let mut reader = BatchReader::new(bytes);
        let batch = reader.next().unwrap().unwrap();
        let first = batch.base_offset();
        self.next = batch.next_offset();
        let active = self.segments.last_mut().unwrap();
        active.bytes.extend_from_slice(bytes);
        active.mtime = self.now;
        first.0
    }

    /// Appends a batch of these keys and values; no value is a tombstone.
    pub(crate) fn append(&mut self, records: &[(&str, Option<&str>)]) -> i64 {
        self.append_as(None, records)
    }

    pub(crate) fn value(&mut self, key: &str, value: &str) -> i64 {
        self.append(&[(key, Some(value))])
    }

    pub(crate) fn tombstone(&mut self, key: &str) -> i64 {
        self.append(&[(key, None)])
    }

    /// The same in a transaction of this producer and epoch.
    pub(crate) fn append_in(&mut self, producer: (i64, i16), records: &[(&str, Option<&str>)]) -> i64 {
        self.append_as(Some(producer), records)
    }

    fn append_as(&mut self, producer: Option<(i64, i16)>, records: &[(&str, Option<&str>)]) -> i64 {
        let base = self.next;
        let mut header = BatchHeader { leader_epoch: LeaderEpoch(0), ..BatchHeader::plain(base) };
        if let Some((id, epoch)) = producer {
            let (id, epoch) = (ProducerId(id), ProducerEpoch(epoch));
            header = BatchHeader {
                transactional: true,
                producer_id: id,
                producer_epoch: epoch,
                base_sequence: Sequence(0),
                ..header
            };
            self.open.entry(id).or_insert(base);
            let last = Offset(base.0 + i64::try_from(records.len()).unwrap() - 1);
            self.producers.insert(id, LastRecord { last_data_offset: Some(last), producer_epoch: epoch });
        }
        let now = self.now;
        let records = records.iter().zip(base.0..).map(|((key, value), offset)| {
            Record::new(Offset(offset), now, Some(key.as_bytes()), value.map(str::as_bytes))
        });
        let bytes = BatchBuilder::new(header).records(records).build().unwrap();
        self.take(&bytes)
    }

    /// Ends a transaction with this epoch, which under the newer protocol is one above that of its data.
    pub(crate) fn end(&mut self, producer: (i64, i16), commit: bool) -> i64 {
        let (id, epoch) = (ProducerId(producer.0), ProducerEpoch(producer.1));
        let marker = Marker { commit, coordinator_epoch: 0 };
        let offset = self.next;
        let bytes = marker.batch(offset, self.now, LeaderEpoch(0), id, epoch).unwrap();
        let first = self.open.remove(&id);
        if let (false, Some(first_offset)) = (commit, first) {
            let last_stable_offset = self.open.values().min().copied().unwrap_or(Offset(offset.0 + 1));
            let entry = AbortedTxn { first_offset, producer_id: id, last_offset: offset, last_stable_offset };
            self.segments.last_mut().unwrap().aborted.push(entry);
        }
        let known = self.producers.get(&id).copied();
        let last_data_offset = known.filter(|last| last.producer_epoch == epoch).and_then(|last| last.last_data_offset);
        self.producers.insert(id, LastRecord { last_data_offset, producer_epoch: epoch });
        self.take(&bytes)
    }

    pub(crate) fn expire(&mut self, producer: i64) {
        self.producers.remove(&ProducerId(producer));
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.take(bytes);
    }

    /// Closes the active segment, and raises the high watermark to the end.
    pub(crate) fn roll(&mut self) {
        self.segments.push(Segment { base: self.next, mtime: self.now, ..Segment::default() });
        self.high_watermark = self.next;
    }

    /// The last stable offset, if everything is below the high watermark.
    pub(crate) fn last_stable(&self) -> Offset {
        self.open.values().min().copied().unwrap_or(self.next)
    }

    /// The base of the segment that holds the last stable offset.
    pub(crate) fn bound(&self) -> Offset {
        let stable = self.last_stable();
        self.segments.iter().map(|segment| segment.base).rfind(|base| *base <= stable).unwrap_or_default()
    }

    pub(crate) fn is_open(&self, producer: i64) -> bool {
        self.open.contains_key(&ProducerId(producer))
    }

    pub(crate) fn clean(&mut self) -> Result<RoundOutcome, RoundError<Aborted>> {
        let upper_bound = self.bound();
        let mut input = RoundInput::new(self.first_dirty, upper_bound, self.now, self.rules);
        input.chunk_bytes = self.chunk_bytes;
        input.limits.segment_bytes = self.segment_bytes;
        self.checks.clear();
        let mut map = ExactOffsetMap::new(self.map);
        let outcome = run(self, &input, &mut map);
        self.writing = None;
        let outcome = outcome?;
        self.first_dirty = outcome.cleaned_to;
        self.outcome = Some(outcome);
        Ok(outcome)
    }

    /// A round at this time, which must end.
    pub(crate) fn clean_at(&mut self, now: i64) -> i64 {
        self.now = Millis(now);
        self.clean().expect("the round ends").cleaned_to.0
    }

    pub(crate) fn dump(&self) -> Vec<Seen> {
        self.segments
            .iter()
            .flat_map(|segment| BatchReader::new(&segment.bytes))
            .map(|batch| see(&batch.unwrap()))
            .collect()
    }

    pub(crate) fn records(&self) -> Vec<(i64, String)> {
        self.dump().into_iter().flat_map(|batch| batch.records).collect()
    }

    pub(crate) fn horizon(&self, offset: i64) -> Option<i64> {
        self.dump().into_iter().find(|batch| (batch.first..=batch.last).contains(&offset))?.horizon
    }

    pub(crate) fn has(&self, offset: i64) -> bool {
        self.records().iter().any(|(there, _)| *there == offset)
    }

    pub(crate) fn batches_at(&self) -> Vec<i64> {
        self.dump().into_iter().map(|batch| batch.first).collect()
    }

    pub(crate) fn aborted(&self) -> Vec<AbortedTxn> {
        self.segments.iter().flat_map(|segment| segment.aborted.clone()).collect()
    }

    fn find(&self, base: Offset) -> &Segment {
        self.segments.iter().find(|segment| segment.base == base).expect("a segment of this log")
    }
}

fn see(batch: &LogBatch<'_>) -> Seen {
    let records = batch.records().unwrap();
    let text =
        |bytes: Option<&[u8]>| bytes.map_or("null".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned());
    let records = records
        .iter()
        .map(|record| {
            let told = match batch.is_control().then(|| ControlType::of(record).unwrap()) {
                Some(ControlType::Abort) => "ABORT".to_owned(),
                Some(ControlType::Commit) => "COMMIT".to_owned(),
                Some(ControlType::Other(other)) => format!("control {other}"),
                None => format!("{}={}", text(record.key.as_deref()), text(record.value.as_deref())),
            };
            (record.offset.0, told)
        })
        .collect();
    Seen {
        first: batch.base_offset().0,
        last: batch.last_offset().0,
        horizon: batch.delete_horizon().map(|horizon| horizon.0),
        records,
    }
}

impl RoundStorage for Log {
    type Error = Aborted;

    fn segments(&self) -> Vec<SourceSegment> {
        let source = |segment: &Segment| SourceSegment {
            base: segment.base,
            bytes: segment.bytes.len() as u64,
            offset_index_bytes: 0,
            time_index_bytes: 0,
            mtime: segment.mtime,
        };
        self.segments.iter().map(source).collect()
    }

    fn position_of(&mut self, segment: Offset, offset: Offset) -> Result<u64, Aborted> {
        let mut position = 0;
        if self.indexed {
            let mut at = 0;
            for batch in BatchReader::new(&self.find(segment).bytes) {
                let batch = batch.unwrap();
                if batch.last_offset() <= offset {
                    position = at;
                }
                at += batch.size() as u64;
            }
        }
        Ok(position)
    }

    fn read(&mut self, segment: Offset, position: u64, bytes: usize) -> Result<Vec<u8>, Aborted> {
        self.largest_read = self.largest_read.max(bytes);
        let rest = &self.find(segment).bytes[usize::try_from(position).unwrap()..];
        Ok(rest[..bytes.min(rest.len())].to_vec())
    }

    fn aborted(&mut self, segment: Offset) -> Result<Vec<AbortedTxn>, Aborted> {
        Ok(self.find(segment).aborted.clone())
    }

    fn delete_retention(&mut self) -> Millis {
        self.delete_retention
    }

    fn high_watermark(&mut self) -> Offset {
        self.high_watermark
    }

    fn producers(&mut self) -> ActiveProducers {
        self.producers.clone()
    }

    fn check(&mut self, progress: Progress) -> Result<(), Aborted> {
        if self.abort_at == Some(self.checks.len()) {
            return Err(Aborted);
        }
        self.checks.push(progress);
        Ok(())
    }

    fn begin(&mut self, base: Offset) -> Result<(), Aborted> {
        self.writing = Some(Segment { base, ..Segment::default() });
        Ok(())
    }

    fn append(&mut self, chunk: Recopied) -> Result<(), Aborted> {
        self.writing.as_mut().unwrap().bytes.extend_from_slice(&chunk.bytes);
        Ok(())
    }

    fn replace(&mut self, group: FinishedGroup) -> Result<(), Aborted> {
        let written = self.writing.take().unwrap();
        self.segments.retain(|segment| !group.sources.contains(&segment.base));
        self.segments.push(Segment { aborted: group.aborted, mtime: group.mtime, ..written });
        self.segments.sort_by_key(|segment| segment.base);
        Ok(())
    }
}

/// A batch of one record in this codec.
pub(crate) fn compressed(offset: i64, codec: Compression, key: &str, value: Option<&str>) -> Vec<u8> {
    let header = BatchHeader { compression: codec, ..BatchHeader::plain(Offset(offset)) };
    let record = Record::new(Offset(offset), Millis(1000), Some(key.as_bytes()), value.map(str::as_bytes));
    BatchBuilder::new(header).record(record).build().unwrap()
}
