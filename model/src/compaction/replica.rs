//! A replica of the model with what only a trace says: values, sequence numbers, milliseconds, bytes.
//!
//! The model's tick is [`TICK_MS`]; its clock begins at [`BASE_MS`].

use std::collections::BTreeMap;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::compaction::{
    AbortedTransaction, Batch as SeenBatch, LogRecord, ProducerState, State, TransactionResult,
};
use fencepost_fixtures::names::{ProducerName, RecordName};
use fencepost_fixtures::variants::HorizonRule;

use super::batch::{Batch, CLIENT_BIT, Kind, NONE, UNKEYED, UNKNOWN};
use super::bounds::{Isolation, Setting};
use super::broker::Broker;
use super::properties::is_listed;

/// What the clock shows when the model's begins.
pub const BASE_MS: i64 = 5000;
/// What a tick of the model's clock is in a trace.
pub const TICK_MS: i64 = 50;
/// The size of a batch's header, in bytes, and of a marker.
const HEADER: u32 = 61;
const MARKER: u32 = 78;

/// What the clock shows, in milliseconds.
#[must_use]
pub fn clock_ms(clock: u8) -> i64 {
    BASE_MS + TICK_MS * (i64::from(clock) - 1)
}

/// A duration in milliseconds.
#[must_use]
pub fn span_ms(ticks: u8) -> i64 {
    TICK_MS * i64::from(ticks)
}

/// A duration in ticks.
pub fn ticks(ms: i64) -> Result<u8, String> {
    match u8::try_from(ms / TICK_MS) {
        Ok(ticks) if ms % TICK_MS == 0 => Ok(ticks),
        _ => Err(format!("{ms} ms are no number of the model's ticks")),
    }
}

/// The clock, from milliseconds.
pub fn clock(ms: i64) -> Result<u8, String> {
    ticks(ms - BASE_MS)?.checked_add(1).ok_or_else(|| format!("{ms} is beyond the model's time"))
}

/// A key by its name.
pub fn key(name: Option<&RecordName>) -> Result<u8, String> {
    match name.map(RecordName::as_str) {
        None => Ok(UNKEYED),
        Some("k") => Ok(0),
        Some("x") => Ok(1),
        Some("y") => Ok(2),
        Some(other) => Err(format!("the model has no key {other}")),
    }
}

/// A key's name.
pub fn key_name(key: u8) -> Result<Option<RecordName>, String> {
    match key {
        0 => "k".parse().map(Some),
        1 => "x".parse().map(Some),
        2 => "y".parse().map(Some),
        _ => Ok(None),
    }
}

/// A producer by its name, from 1.
pub fn producer(name: &ProducerName) -> Result<u8, String> {
    match name.as_str() {
        "p" => Ok(1),
        "q" => Ok(2),
        other => Err(format!("the model has no producer {other}")),
    }
}

/// A producer's name.
pub fn producer_name(producer: u8) -> Result<ProducerName, String> {
    if producer == 1 { "p".parse() } else { "q".parse() }
}

/// An offset.
pub fn offset(offset: i64) -> Result<u8, String> {
    u8::try_from(offset).ok().filter(|offset| *offset < UNKNOWN).ok_or_else(|| format!("offset {offset} is too high"))
}

/// A replica.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The model's.
    pub broker: Broker,
    /// The values, by offset.
    pub values: BTreeMap<u8, Option<RecordName>>,
    /// The last sequence number of a data batch, by its last offset.
    pub sequences: BTreeMap<u8, i32>,
    /// The last stable offset when an ABORT was written, by its offset.
    pub stable_at: BTreeMap<u8, u8>,
}

impl Replica {
    /// The epoch that the log knows of a producer, if it does.
    #[must_use]
    pub fn epoch(&self, producer: u8) -> Option<u8> {
        let known = self.broker.log.producer(producer);
        (known.exists && known.epoch != UNKNOWN).then_some(known.epoch)
    }

    /// The last sequence number of a producer under its epoch.
    #[must_use]
    pub fn last_sequence(&self, producer: u8) -> Option<i32> {
        self.sequences.get(&self.broker.log.producer(producer).last_data).copied()
    }

    /// Whether a batch of a producer is let in: `ProducerAppendInfo#checkProducerEpoch` and `#checkSequence`.
    pub fn admit(&self, producer: u8, epoch: u8, sequence: i32) -> Result<(), KafkaError> {
        let Some(known) = self.epoch(producer) else { return Ok(()) };
        if epoch < known {
            return Err(KafkaError::InvalidProducerEpoch);
        }
        let next = if epoch == known { self.last_sequence(producer).map_or(0, |last| last + 1) } else { 0 };
        if sequence == next { Ok(()) } else { Err(KafkaError::OutOfOrderSequenceNumber) }
    }

    /// The last stable offset that goes with an ABORT of `producer` at `marker`.
    #[must_use]
    pub fn stable_beside(&self, producer: u8, marker: u8) -> u8 {
        let others = (1..).zip(&self.broker.log.producers).filter(|(other, _)| *other != producer);
        others.map(|(_, other)| other.open).filter(|open| *open != NONE).min().unwrap_or(marker + 1)
    }

    /// How many bytes a batch has.
    #[must_use]
    pub fn bytes(&self, batch: &Batch) -> u32 {
        if batch.is_control() && !batch.is_empty() {
            return MARKER;
        }
        let text = |name: &Option<RecordName>| {
            name.as_ref().map_or(0, |name| u32::try_from(name.as_str().len()).unwrap_or(u32::MAX))
        };
        let records = batch.records().map(|(at, record)| {
            let value = self.values.get(&(batch.base + at)).map_or(0, text);
            // A horizon makes the timestamp's difference a byte longer.
            7 + u32::from(record.key != UNKEYED) + value + u32::from(batch.horizon != 0)
        });
        HEADER + records.sum::<u32>()
    }

    /// How many bytes the segment at this place has.
    #[must_use]
    pub fn segment_bytes(&self, at: usize) -> u32 {
        self.broker.log.batches_of(at).map(|batch| self.bytes(batch)).sum()
    }

    /// The number of batches in the segments that the next group merges (2.5).
    #[must_use]
    pub fn group(&self, limit: Option<u32>) -> u8 {
        let Some(round) = &self.broker.round else { return 0 };
        let log = &self.broker.log;
        let first = log.segment_of(round.next);
        let (mut size, mut batches) = (0, 0_usize);
        for (at, segment) in log.segments.iter().enumerate().skip(first) {
            let more = self.segment_bytes(at);
            if segment.base >= round.cleaned_to || at > first && limit.is_some_and(|limit| size + more > limit) {
                break;
            }
            size += more;
            batches += log.batches_of(at).count();
        }
        u8::try_from(batches).unwrap_or(u8::MAX)
    }

    fn record(&self, at: u8, key: u8) -> Result<LogRecord, String> {
        Ok(LogRecord(at.into(), key_name(key)?, self.values.get(&at).cloned().flatten()))
    }

    /// What a consumer sees of the next batch from `from` on (3.5), and where it goes on. `None` at the end.
    pub fn read(&self, isolation: Isolation, from: u8) -> Result<Option<(Vec<LogRecord>, u8)>, String> {
        let log = &self.broker.log;
        let end = if isolation == Isolation::ReadCommitted { log.stable() } else { log.high };
        let from = from.max(log.start);
        let Some(batch) = log.batches.iter().find(|batch| batch.last() >= from && batch.base < end) else {
            return Ok(None);
        };
        let hidden = batch.is_control() || isolation == Isolation::ReadCommitted && is_listed(log, batch);
        let records = batch.records().filter(|(at, _)| !hidden && batch.base + at >= from);
        let records = records.map(|(at, record)| self.record(batch.base + at, record.key));
        Ok(Some((records.collect::<Result<_, _>>()?, batch.next())))
    }

    fn seen(&self, setting: &Setting, batch: &Batch) -> Result<SeenBatch, String> {
        // The rejected header design keeps its time in the tombstone.
        let hidden = setting.rules.tombstones == HorizonRule::RecordHeader && !batch.is_control();
        let control = batch.is_control();
        let marker = match batch.kind() {
            Kind::Commit if !batch.is_empty() => Some(TransactionResult::Commit),
            Kind::Abort if !batch.is_empty() => Some(TransactionResult::Abort),
            _ => None,
        };
        let records = batch.records().filter(|_| !control);
        Ok(SeenBatch {
            first: batch.base.into(),
            last: batch.last().into(),
            horizon_ms: match batch.horizon {
                CLIENT_BIT => Some(BASE_MS),
                0 => None,
                horizon => (!hidden).then(|| clock_ms(horizon)),
            },
            producer: if batch.producer() == 0 { None } else { Some(producer_name(batch.producer())?) },
            transactional: batch.kind() != Kind::Plain,
            emptied_marker: control && batch.is_empty(),
            marker,
            records: records.map(|(at, record)| self.record(batch.base + at, record.key)).collect::<Result<_, _>>()?,
        })
    }

    /// All that can be observed.
    pub fn observe(&self, setting: &Setting) -> Result<State, String> {
        let log = &self.broker.log;
        let aborted = log.aborted.iter().map(|entry| {
            Ok(AbortedTransaction {
                producer: producer_name(entry.producer)?,
                first: entry.first.into(),
                last: entry.last.into(),
                last_stable: self.stable_at.get(&entry.last).copied().unwrap_or(entry.last + 1).into(),
            })
        });
        let known = (1..).zip(&log.producers).filter(|(_, known)| known.exists).map(|(number, known)| {
            let data = known.last_data != NONE;
            let state = ProducerState {
                epoch: if known.epoch == UNKNOWN { -1 } else { known.epoch.into() },
                last_data: if data { known.last_data.into() } else { -1 },
                last_sequence: if data { self.last_sequence(number).unwrap_or(-1) } else { -1 },
            };
            Ok((producer_name(number)?, state))
        });
        let first_dirty = if log.checkpoint == NONE { log.start } else { log.checkpoint };
        Ok(State {
            log: Some(log.batches.iter().map(|batch| self.seen(setting, batch)).collect::<Result<_, _>>()?),
            bytes: None,
            segments: Some(log.segments.iter().map(|segment| segment.base.into()).collect()),
            aborted: Some(aborted.collect::<Result<_, String>>()?),
            producers: Some(known.collect::<Result<_, String>>()?),
            log_start: Some(log.start.into()),
            log_end: Some(log.end.into()),
            last_stable: Some(log.stable().into()),
            first_dirty: Some(first_dirty.into()),
        })
    }
}
