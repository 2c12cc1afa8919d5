//! A small partition in memory and short ways to drive it.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use fencepost_reference::storage::batch_builder::BatchHeader;
use fencepost_reference::storage::checkpoint::TopicPartition;
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::memory_fs::MemoryFs;
use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::partition::{Partition, PartitionSetup, Round};
use fencepost_reference::storage::producer_append::TransactionProtocol;
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::round::RoundOutcome;

pub(crate) const LOG_DIR: &str = "/logs";
pub(crate) const NOW: Millis = Millis(5000);

/// Small and eager: every dirty byte makes the log worth cleaning, D is 100.
pub(crate) fn config() -> LogConfig {
    LogConfig {
        index_interval_bytes: 0,
        segment_index_bytes: 65536,
        delete_retention_ms: Some(Millis(100)),
        min_cleanable_dirty_ratio: 0.0,
        ..LogConfig::default()
    }
}

pub(crate) fn setup(rules: LogRules, map_entries: usize) -> PartitionSetup {
    PartitionSetup { config: config(), rules, map_entries, ..PartitionSetup::new(TopicPartition::new("t", 0)) }
}

pub(crate) struct Driven {
    pub(crate) fs: Arc<MemoryFs>,
    pub(crate) setup: PartitionSetup,
    pub(crate) partition: Partition,
}

/// A producer that ends its transactions by a protocol.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Producer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
    pub(crate) protocol: TransactionProtocol,
}

impl Producer {
    pub(crate) fn new(id: i64, protocol: TransactionProtocol) -> Self {
        Self { id, epoch: 0, sequence: 0, protocol }
    }
}

pub(crate) fn record(key: &str, value: Option<&str>, now: Millis) -> Record {
    Record::new(Offset(0), now, Some(key.as_bytes()), value.map(str::as_bytes))
}

impl Driven {
    pub(crate) fn new(rules: LogRules, map_entries: usize) -> Self {
        Self::with(setup(rules, map_entries))
    }

    pub(crate) fn with(setup: PartitionSetup) -> Self {
        let fs = Arc::new(MemoryFs::new());
        let partition = Partition::open(fs.clone(), Path::new(LOG_DIR), setup.clone(), NOW).expect("opens");
        Self { fs, setup, partition }
    }

    pub(crate) fn put(&mut self, key: &str, value: Option<&str>) -> i64 {
        let record = record(key, value, self.partition.now());
        let header = BatchHeader::plain(Offset(0));
        self.partition.append(header, vec![record]).expect("appended").first_offset.0
    }

    pub(crate) fn put_as(&mut self, producer: &mut Producer, key: &str, value: Option<&str>) -> Result<i64, LogError> {
        let record = record(key, value, self.partition.now());
        let header = BatchHeader {
            transactional: true,
            producer_id: ProducerId(producer.id),
            producer_epoch: ProducerEpoch(producer.epoch),
            base_sequence: Sequence(producer.sequence),
            ..BatchHeader::plain(Offset(0))
        };
        let appended = self.partition.append(header, vec![record])?;
        producer.sequence += 1;
        Ok(appended.first_offset.0)
    }

    pub(crate) fn end(&mut self, producer: &mut Producer, commit: bool) {
        if producer.protocol == TransactionProtocol::Two {
            producer.epoch += 1;
            producer.sequence = 0;
        }
        let marker = Marker { commit, coordinator_epoch: 0 };
        let (id, epoch) = (ProducerId(producer.id), ProducerEpoch(producer.epoch));
        self.partition.end_transaction(id, epoch, marker, producer.protocol).expect("ended");
    }

    /// Makes everything so far cleanable.
    pub(crate) fn settle(&mut self) {
        self.partition.roll().expect("rolled");
        self.partition.set_high_watermark(self.partition.log().end_offset());
    }

    pub(crate) fn clock(&mut self, now: i64) {
        self.partition.set_clock(Millis(now)).expect("set");
    }

    pub(crate) fn round(&mut self) -> Option<Round> {
        self.partition.clean().expect("no file failed")
    }

    pub(crate) fn clean(&mut self) -> RoundOutcome {
        self.round().expect("there is something to clean").outcome.expect("a whole round")
    }

    /// Settles, cleans, and answers (F, E, entries of the map).
    pub(crate) fn clean_all(&mut self) -> (i64, i64, usize) {
        self.settle();
        let round = self.round().expect("there is something to clean");
        let outcome = round.outcome.expect("a whole round");
        (round.chosen.first_dirty.0, outcome.cleaned_to.0, outcome.map_entries)
    }

    pub(crate) fn texts(&self, from: i64, isolation: Isolation) -> Vec<String> {
        self.partition.read_all(Offset(from), isolation).expect("it reads").records.iter().map(text).collect()
    }

    pub(crate) fn committed(&self) -> Vec<String> {
        self.texts(0, Isolation::Committed)
    }

    /// A line for each batch: `first-last[ h=horizon][ marker|data of an empty batch] records`.
    pub(crate) fn batches(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for batch in self.partition.dump().expect("it reads").iter().flat_map(|segment| &segment.batches) {
            let mut line = format!("{}-{}", batch.first, batch.last);
            if let Some(horizon) = batch.delete_horizon {
                let _ = write!(line, " h={horizon}");
            }
            match (batch.control, batch.records.is_empty()) {
                (true, true) => line += " empty marker",
                (true, false) => line += " marker",
                (false, true) => line += " empty",
                (false, false) => {}
            }
            if !batch.control {
                for record in &batch.records {
                    let _ = write!(line, " {}", text(record));
                }
            }
            lines.push(line);
        }
        lines
    }

    pub(crate) fn aborted(&self) -> Vec<(i64, i64)> {
        let segments = self.partition.dump().expect("it reads");
        segments
            .iter()
            .flat_map(|segment| &segment.aborted)
            .map(|txn| (txn.first_offset.0, txn.last_offset.0))
            .collect()
    }

    /// Stops without closing, and opens again.
    pub(crate) fn crash(self) -> Self {
        let now = self.partition.now();
        drop(self.partition);
        let fs = self.fs;
        let partition = Partition::open(fs.clone(), Path::new(LOG_DIR), self.setup.clone(), now).expect("opens");
        Self { fs, setup: self.setup, partition }
    }
}

pub(crate) fn text(record: &Record) -> String {
    let part = |bytes: &Option<Vec<u8>>| {
        bytes.as_ref().map_or("null".to_owned(), |bytes| String::from_utf8_lossy(bytes).into_owned())
    };
    format!("{}:{}={}", record.offset, part(&record.key), part(&record.value))
}
