//! Logs in memory, and batches to put into them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fencepost_reference::storage::batch_builder::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::batch_reader::BatchReader;
use fencepost_reference::storage::checkpoint::TopicPartition;
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_append::Appended;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::memory_fs::MemoryFs;
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::producer_append::{AppendOrigin, TransactionProtocol};
use fencepost_reference::storage::reader::{Handed, hand_out};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::recovery::OpenLog;

pub(crate) const NOW: Millis = Millis(5000);

pub(crate) fn directory() -> PathBuf {
    PathBuf::from("/logs/t-0")
}

pub(crate) fn config() -> LogConfig {
    LogConfig { index_interval_bytes: 0, segment_index_bytes: 65536, ..LogConfig::default() }
}

pub(crate) fn opening(clean_shutdown: bool, recovery_point: i64) -> OpenLog {
    OpenLog {
        partition: TopicPartition::new("t", 0),
        config: config(),
        rules: LogRules::kafka_4_4(),
        log_start: Offset(0),
        recovery_point: Offset(recovery_point),
        clean_shutdown,
        now: NOW,
    }
}

pub(crate) fn open(fs: &Arc<MemoryFs>) -> Log {
    Log::open(fs.clone(), &directory(), &opening(false, 0)).expect("the log opens")
}

pub(crate) fn new_log() -> (Arc<MemoryFs>, Log) {
    let fs = Arc::new(MemoryFs::new());
    let log = open(&fs);
    (fs, log)
}

/// A producer and where it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Producer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
}

impl Producer {
    pub(crate) fn new(id: i64) -> Self {
        Self { id, epoch: 0, sequence: 0 }
    }
}

/// A batch as a client sends it: its offsets from 0.
pub(crate) fn batch(producer: Option<(Producer, bool)>, records: &[(&str, Option<&str>)]) -> Vec<u8> {
    batch_at(0, producer, records)
}

/// A batch as a leader has it.
pub(crate) fn batch_at(base: i64, producer: Option<(Producer, bool)>, records: &[(&str, Option<&str>)]) -> Vec<u8> {
    let mut header = BatchHeader::plain(Offset(base));
    if let Some((producer, transactional)) = producer {
        header.producer_id = ProducerId(producer.id);
        header.producer_epoch = ProducerEpoch(producer.epoch);
        header.base_sequence = Sequence(producer.sequence);
        header.transactional = transactional;
    }
    let records = (base..)
        .zip(records)
        .map(|(offset, (key, value))| Record::new(Offset(offset), NOW, Some(key.as_bytes()), value.map(str::as_bytes)));
    BatchBuilder::new(header).records(records).build().expect("a batch")
}

pub(crate) fn put(log: &mut Log, key: &str, value: Option<&str>) -> Appended {
    try_append(log, &batch(None, &[(key, value)])).expect("appended")
}

pub(crate) fn try_append(log: &mut Log, bytes: &[u8]) -> Result<Appended, LogError> {
    log.append_as_leader(bytes, AppendOrigin::Client, LeaderEpoch(0), NOW)
}

pub(crate) fn put_in_transaction(log: &mut Log, producer: &mut Producer, key: &str, value: Option<&str>) -> Appended {
    let appended = try_append(log, &batch(Some((*producer, true)), &[(key, value)])).expect("appended");
    producer.sequence += 1;
    appended
}

pub(crate) fn end(log: &mut Log, producer: Producer, commit: bool) -> Result<Appended, LogError> {
    let marker = Marker { commit, coordinator_epoch: 0 };
    let (id, epoch) = (ProducerId(producer.id), ProducerEpoch(producer.epoch));
    log.append_marker(id, epoch, marker, TransactionProtocol::One, LeaderEpoch(0), NOW)
}

pub(crate) fn read(log: &Log, from: i64, isolation: Isolation) -> Handed {
    let mut all = Handed { records: Vec::new(), position: Offset(from) };
    loop {
        let fetched = log.read(all.position, usize::MAX, isolation).expect("a response");
        let handed = hand_out(&fetched.batches, &fetched.aborted, all.position, isolation).expect("it reads");
        if handed.position == all.position {
            return all;
        }
        all.records.extend(handed.records);
        all.position = handed.position;
    }
}

/// `offset key=value` for each record that a reader gets.
pub(crate) fn texts(log: &Log, from: i64, isolation: Isolation) -> Vec<String> {
    read(log, from, isolation).records.iter().map(text).collect()
}

pub(crate) fn text(record: &Record) -> String {
    let part = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map_or("null".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    format!("{} {}={}", record.offset, part(&record.key), part(&record.value))
}

/// All bytes of the log's files, segment after segment.
pub(crate) fn all_batches(log: &Log) -> Vec<(i64, i64)> {
    let mut found = Vec::new();
    for segment in log.segments() {
        for stored in segment.batches(&**log.fs(), 0) {
            let stored = stored.expect("a batch");
            for batch in BatchReader::new(&stored.bytes) {
                let batch = batch.expect("a batch");
                found.push((batch.base_offset().0, batch.last_offset().0));
            }
        }
    }
    found
}

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new("/logs/t-0").join(name)
}
