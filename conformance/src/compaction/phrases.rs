//! The words in which reports and `show` tell a compaction trace. Two parts that differ never read alike: the replayer
//! compares states by them.

use std::collections::BTreeMap;

use fencepost_fixtures::compaction::functions::MarkerFate;
use fencepost_fixtures::compaction::{
    AbortedTransaction, Alter, Answer, Append, Batch, BytesOrigin, Call, Crash, Given, Isolation, LogRecord, NewRecord,
    Operation, Outcome, ProducerState, State, SwapStep, TransactionResult,
};
use fencepost_fixtures::names::{ProducerName, RecordName};

/// A list in words, or `nothing`.
fn joined<T>(items: &[T], separator: &str, word: impl Fn(&T) -> String) -> String {
    if items.is_empty() { "nothing".to_owned() } else { items.iter().map(word).collect::<Vec<_>>().join(separator) }
}

/// `k=v`, `k=(null)`, `(no key)=v`. A name has no parentheses, so that `null` the name and null the value differ.
fn pair(key: Option<&RecordName>, value: Option<&RecordName>) -> String {
    let key = key.map_or("(no key)", RecordName::as_str);
    let value = value.map_or("(null)", RecordName::as_str);
    format!("{key}={value}")
}

fn record(LogRecord(offset, key, value): &LogRecord) -> String {
    format!("{offset} {}", pair(key.as_ref(), value.as_ref()))
}

fn new_record(record: &NewRecord) -> String {
    let at = record.timestamp_ms.map(|timestamp| format!(" at {timestamp}")).unwrap_or_default();
    format!("{}{at}", pair(record.key.as_ref(), record.value.as_ref()))
}

fn result(result: TransactionResult) -> &'static str {
    match result {
        TransactionResult::Commit => "COMMIT",
        TransactionResult::Abort => "ABORT",
    }
}

fn option<T: std::fmt::Display>(prefix: &str, value: Option<T>) -> String {
    value.map(|value| format!("{prefix}{value}")).unwrap_or_default()
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('"', "")
}

fn append(append: &Append) -> String {
    let Append { producer, epoch, sequence, transactional, horizon_ms, compression, records } = append;
    let kind = if *transactional { "transactional append" } else { "append" };
    let producer = option(" of ", producer.as_ref());
    let records = joined(records, ", ", new_record);
    let epoch = option(", epoch ", *epoch);
    let sequence = option(", sequence ", *sequence);
    let horizon = option(", horizon set by the client to ", *horizon_ms);
    let codec = option(", compressed with ", compression.as_ref().map(word));
    format!("{kind}{producer}: {records}{epoch}{sequence}{horizon}{codec}")
}

fn crash(crash: &Crash) -> String {
    let during = match crash.during_swap {
        None => "the process dies",
        Some(SwapStep::Cleaned) => "the process dies when the next group's new segment is written",
        Some(SwapStep::SwapNamed) => "the process dies when the next group's new segment is called .swap",
        Some(SwapStep::FirstDeleted) => "the process dies when the first old segment is called .deleted",
        Some(SwapStep::AllDeleted) => "the process dies when the old segments are called .deleted",
        Some(SwapStep::Renamed) => "the process dies when the next group's new segment has its name",
    };
    let snapshots = if crash.loses_snapshots { ", and the producers' snapshots are lost" } else { "" };
    format!("{during}{snapshots}{}; it comes back", option(", and the log is lost from ", crash.loses_from))
}

fn alter(alter: &Alter) -> String {
    let Alter { delete_retention_ms, cleanup_policy, min_compaction_lag_ms, max_compaction_lag_ms, retention_ms } =
        alter;
    let policy = cleanup_policy.as_deref().map(|policy| joined(policy, ",", word));
    let parts = [
        option("delete.retention.ms=", *delete_retention_ms),
        option("cleanup.policy=", policy),
        option("min.compaction.lag.ms=", *min_compaction_lag_ms),
        option("max.compaction.lag.ms=", *max_compaction_lag_ms),
        option("retention.ms=", *retention_ms),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    format!("the topic's configuration changes: {}", joined(&parts, ", ", Clone::clone))
}

/// An operation.
#[must_use]
pub fn operation(operation: &Operation) -> String {
    match operation {
        Operation::Append(asked) => append(asked),
        Operation::AppendBytes(asked) => {
            let who = match asked.origin {
                BytesOrigin::Client => "a client",
                BytesOrigin::Leader => "the leader",
            };
            format!("{} B from {who}", asked.bytes.len() / 2)
        }
        Operation::EndTransaction(end) => format!("{} of {}", result(end.result), end.producer),
        Operation::Roll(_) => "the segment is rolled".to_owned(),
        Operation::HighWatermark(offset) => format!("high watermark {offset}"),
        Operation::ClockMs(now) => format!("clock {now}"),
        Operation::Clean(_) => "a round of the cleaner".to_owned(),
        Operation::StartRound(_) => "a round begins".to_owned(),
        Operation::BuildMap(_) => "the round fills its map".to_owned(),
        Operation::CleanGroup(_) => "the round rewrites a group of segments".to_owned(),
        Operation::FinishRound(_) => "the round ends".to_owned(),
        Operation::AbortRound(_) => "the round is aborted".to_owned(),
        Operation::Crash(asked) => crash(asked),
        Operation::LoseCheckpoint(_) => "the cleaner's checkpoint is lost".to_owned(),
        Operation::Restart(_) => "the process is stopped and comes back".to_owned(),
        Operation::Truncate(offset) => format!("the log is truncated to {offset}"),
        Operation::DeleteRecords(offset) => format!("records below {offset} are deleted"),
        Operation::DeleteSegments(_) => "old segments are deleted".to_owned(),
        Operation::Alter(asked) => alter(asked),
        Operation::ExpireProducers(_) => "silent producers are forgotten".to_owned(),
        Operation::Fetch(_) => "fetch from the leader".to_owned(),
        Operation::Read(read) => {
            let isolation = match read.isolation {
                Isolation::ReadCommitted => "read_committed",
                Isolation::ReadUncommitted => "read_uncommitted",
            };
            let batches = read.batches.map(|batches| format!(", {batches} batches")).unwrap_or_default();
            format!("{isolation} read from {}{batches}", read.from)
        }
        Operation::LookUpMs(timestamp) => format!("look-up of time {timestamp}"),
    }
}

/// An answer.
#[must_use]
pub fn answer(answer: &Answer) -> String {
    let Answer { first, last, from, bound, cleaned_to, map_entries, records, next, timestamp_ms } = answer;
    let parts = [
        match (first, last) {
            (Some(first), Some(last)) => format!("offsets {first} to {last}"),
            (Some(first), None) => format!("offset {first}"),
            (None, last) => option("to ", *last),
        },
        option("from ", *from),
        option("bound ", *bound),
        option("cleaned to ", *cleaned_to),
        option("keys mapped: ", *map_entries),
        records.as_ref().map(|records| joined(records, ", ", record)).unwrap_or_default(),
        option("next ", *next),
        option("timestamp ", *timestamp_ms),
    ];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    joined(&parts, ", ", Clone::clone)
}

fn batch(batch: &Batch) -> String {
    let Batch { first, last, horizon_ms, producer, transactional, emptied_marker, marker, records } = batch;
    let producer = option(" of ", producer.as_ref());
    let kind = if *transactional { " transactional" } else { "" };
    let marker = option(" ", marker.map(result));
    let emptied = if *emptied_marker { " emptied marker" } else { "" };
    let horizon = option(" horizon ", *horizon_ms);
    let records = if records.is_empty() { String::new() } else { format!(": {}", joined(records, ", ", record)) };
    format!("[{first}..{last}{producer}{kind}{marker}{emptied}{horizon}{records}]")
}

/// The batches of a log.
#[must_use]
pub fn log(log: &[Batch]) -> String {
    joined(log, " ", batch)
}

/// The same, as bytes.
#[must_use]
pub fn bytes(bytes: &[String]) -> String {
    joined(bytes, " ", Clone::clone)
}

/// A list of offsets.
#[must_use]
pub fn offsets(offsets: &[i64]) -> String {
    joined(offsets, " ", ToString::to_string)
}

/// The entries of the transaction indexes.
#[must_use]
pub fn aborted(entries: &[AbortedTransaction]) -> String {
    joined(entries, ", ", |AbortedTransaction { producer, first, last, last_stable }| {
        format!("{producer} {first}..{last} (last stable offset {last_stable})")
    })
}

/// What the log knows of producers.
#[must_use]
pub fn producers(producers: &BTreeMap<ProducerName, ProducerState>) -> String {
    let producers: Vec<_> = producers.iter().collect();
    joined(&producers, ", ", |(name, ProducerState { epoch, last_data, last_sequence })| {
        format!("{name}: epoch {epoch}, last data {last_data}, last sequence {last_sequence}")
    })
}

/// The parts of a state, a line each.
#[must_use]
pub fn state(state: &State) -> Vec<String> {
    let State {
        log: batches,
        bytes: written,
        segments,
        aborted: entries,
        producers: known,
        log_start,
        log_end,
        last_stable,
        first_dirty,
    } = state;
    [
        batches.as_deref().map(|batches| format!("log: {}", log(batches))),
        written.as_deref().map(|written| format!("bytes: {}", bytes(written))),
        segments.as_deref().map(|segments| format!("segments: {}", offsets(segments))),
        entries.as_deref().map(|entries| format!("aborted transactions: {}", aborted(entries))),
        known.as_ref().map(|known| format!("producers: {}", producers(known))),
        log_start.map(|offset| format!("log start offset {offset}")),
        log_end.map(|offset| format!("log end offset {offset}")),
        last_stable.map(|offset| format!("last stable offset {offset}")),
        first_dirty.map(|offset| format!("first dirty offset {offset}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What a call rests on, a line each.
#[must_use]
pub fn given(given: &Given) -> Vec<String> {
    let Given { now_ms, delete_retention_ms, map, mapped_to, log_start, log_end, last_stable, segments } = given;
    let map = map.as_ref().map(|map| {
        let entries: Vec<_> = map.iter().collect();
        format!("map: {}", joined(&entries, ", ", |(key, offset)| format!("{key} at {offset}")))
    });
    [
        now_ms.map(|now| format!("now {now}")),
        delete_retention_ms.map(|retention| format!("delete.retention.ms {retention}")),
        map,
        mapped_to.map(|offset| format!("mapped to {offset}")),
        log_start.map(|offset| format!("log start offset {offset}")),
        log_end.map(|offset| format!("log end offset {offset}")),
        last_stable.map(|offset| format!("last stable offset {offset}")),
        segments.as_deref().map(|segments| format!("segments: {}", offsets(segments))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A function call.
#[must_use]
pub fn call(call: &Call) -> String {
    match call {
        Call::RetainRecord { offset, key, tombstone, horizon_ms } => {
            let kind = if *tombstone { "tombstone" } else { "record" };
            let key = key.as_ref().map_or_else(|| "without a key".to_owned(), |key| format!("of {key}"));
            format!("does the {kind} {key} at {offset} stay{}?", option(", horizon ", *horizon_ms))
        }
        Call::RetainMarker { marker, discardable, keep_header, horizon_ms } => {
            let marker = marker.map_or("an emptied marker", result);
            let data = if *discardable { "no data left" } else { "data left" };
            let header = if *keep_header { ", its header is needed" } else { "" };
            format!("what becomes of {marker}, {data}{header}{}?", option(", horizon ", *horizon_ms))
        }
        Call::Rebuild { batch, retained, keep_header, discardable_marker } => {
            let header = if *keep_header { ", its header is needed" } else { "" };
            let marker = if *discardable_marker { ", a marker without data" } else { "" };
            format!("write {} B again with {}{header}{marker}: {batch}", batch.len() / 2, offsets(retained))
        }
        Call::FirstDirtyOffset { checkpoint } => {
            let checkpoint = checkpoint.map_or_else(|| "no checkpoint".to_owned(), |at| format!("checkpoint {at}"));
            format!("where does the round begin, {checkpoint}?")
        }
        Call::RoundBound { from } => format!("where does the round that begins at {from} have to end?"),
    }
}

/// What a decision was.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Retained(true) => "stays".to_owned(),
        Outcome::Retained(false) => "goes".to_owned(),
        Outcome::Marker(MarkerFate::Kept) => "stays as it is".to_owned(),
        Outcome::Marker(MarkerFate::Stamped) => "stays, and gets its horizon".to_owned(),
        Outcome::Marker(MarkerFate::Emptied) => "its header stays".to_owned(),
        Outcome::Marker(MarkerFate::Removed) => "goes as a whole".to_owned(),
        Outcome::Bytes(bytes) => bytes.clone(),
        Outcome::Gone(_) => "nothing".to_owned(),
        Outcome::Offset(offset) => offset.to_string(),
    }
}
