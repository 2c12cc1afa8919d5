//! One replica of the partition: the reference's partition on files in memory, the round that goes on, and what happens to
//! the process.

use std::path::Path;
use std::sync::Arc;

use fencepost_fixtures::compaction::{
    Alter, Answer, CleanupPolicy, Compression, Configure, Crash, Isolation, LogRecord, Read, TimestampType,
};
use fencepost_fixtures::names::RecordName;
use fencepost_reference::storage::batch as reference;
use fencepost_reference::storage::batch_reader::BatchReader;
use fencepost_reference::storage::checkpoint::{CheckpointKind, TopicPartition};
use fencepost_reference::storage::clean_times::CleanTimes;
use fencepost_reference::storage::compression::Compression as Codec;
use fencepost_reference::storage::fs::{FileSystem, remove_if_exists};
use fencepost_reference::storage::log_error::{AppendError, LogError};
use fencepost_reference::storage::log_read;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::partition::{OpenRound, Partition, PartitionSetup};
use fencepost_reference::storage::record::Record;

use super::stopping_fs::StoppingFs;
use crate::target::Fault;

/// Where the files are.
const DIRECTORY: &str = "/log";

/// What came of an operation: its answer if it has one, or the name of an error.
pub(super) type Done = Result<Option<Answer>, Refused>;

/// Why an operation did not happen.
#[derive(Debug)]
pub(super) enum Refused {
    /// An error of Kafka's.
    Error(&'static str),
    /// The log is not what it should be: the reference's own fault.
    Fault(String),
}

impl From<LogError> for Refused {
    fn from(error: LogError) -> Self {
        let name = match &error {
            LogError::OffsetOutOfRange { .. } => "OFFSET_OUT_OF_RANGE",
            LogError::Refused(refused) => match refused {
                AppendError::CorruptMessage { .. } => "CORRUPT_MESSAGE",
                AppendError::InvalidRecord(_) => "INVALID_RECORD",
                AppendError::MessageTooLarge { .. } => "MESSAGE_TOO_LARGE",
                AppendError::InvalidProducerEpoch { .. } => "INVALID_PRODUCER_EPOCH",
                AppendError::OutOfOrderSequence { .. } => "OUT_OF_ORDER_SEQUENCE_NUMBER",
                AppendError::InvalidTxnState { .. } => "INVALID_TXN_STATE",
                AppendError::TransactionCoordinatorFenced { .. } => "TRANSACTION_COORDINATOR_FENCED",
                _ => return Self::Fault(error.to_string()),
            },
            _ => return Self::Fault(error.to_string()),
        };
        Self::Error(name)
    }
}

/// The codec of a trace.
pub(super) fn codec(compression: Compression) -> Codec {
    match compression {
        Compression::None => Codec::None,
        Compression::Gzip => Codec::Gzip,
        Compression::Snappy => Codec::Snappy,
        Compression::Lz4 => Codec::Lz4,
        Compression::Zstd => Codec::Zstd,
    }
}

/// One replica.
#[derive(Debug)]
pub(super) struct Replica {
    files: Arc<StoppingFs>,
    setup: PartitionSetup,
    /// Absent only while the process is down, within one operation.
    partition: Option<Partition>,
    round: Option<OpenRound>,
}

impl Replica {
    /// An empty one.
    pub(super) fn new(configure: &Configure, rules: LogRules) -> Result<Self, Fault> {
        let config = LogConfig {
            segment_bytes: configure.segment_bytes.map_or(1 << 30, u64::from),
            index_interval_bytes: u64::from(configure.index_interval_bytes),
            // Only what the trace says rolls a segment.
            segment_ms: Millis(i64::MAX),
            retention_ms: configure.retention_ms.map(Millis),
            delete_retention_ms: Some(Millis(configure.delete_retention_ms)),
            min_compaction_lag_ms: Millis(configure.min_compaction_lag_ms.unwrap_or_default()),
            max_compaction_lag_ms: Millis(configure.max_compaction_lag_ms.unwrap_or(i64::MAX)),
            min_cleanable_dirty_ratio: f64::from(configure.min_cleanable_dirty_percent.unwrap_or_default()) / 100.0,
            timestamp_type: match configure.timestamp_type {
                Some(TimestampType::LogAppendTime) => reference::TimestampType::LogAppendTime,
                Some(TimestampType::CreateTime) | None => reference::TimestampType::CreateTime,
            },
            compression: configure.compression.map(codec),
            producer_id_expiration_ms: Millis(configure.producer_expiration_ms.unwrap_or(86_400_000)),
            ..LogConfig::default()
        };
        let config = with_policy(config, configure.cleanup_policy.as_deref());
        let map_entries = usize::try_from(configure.map_entries).unwrap_or(usize::MAX);
        let partition = TopicPartition::new("t", 0);
        let setup = PartitionSetup { config, rules, map_entries, ..PartitionSetup::new(partition) };
        let files = StoppingFs::new();
        let mut replica = Self { files, setup, partition: None, round: None };
        replica.open(Millis(configure.now_ms)).map_err(|error| Fault::broken(error.to_string()))?;
        Ok(replica)
    }

    fn open(&mut self, now: Millis) -> Result<(), LogError> {
        let files: Arc<dyn FileSystem> = self.files.clone();
        self.partition = Some(Partition::open(files, Path::new(DIRECTORY), self.setup.clone(), now)?);
        Ok(())
    }

    /// The partition. It is there between two operations, unless the log could not be opened.
    pub(super) fn partition(&mut self) -> Result<&mut Partition, Refused> {
        self.partition.as_mut().ok_or_else(|| Refused::Fault("the log could not be opened".to_owned()))
    }

    pub(super) fn clock(&mut self, now: i64) -> Result<(), Refused> {
        Ok(self.partition()?.set_clock(Millis(now))?)
    }

    pub(super) fn alter(&mut self, alter: &Alter) -> Result<(), Refused> {
        let mut config = self.partition()?.log().config().clone();
        if let Some(retention) = alter.delete_retention_ms {
            config.delete_retention_ms = Some(Millis(retention));
        }
        if let Some(lag) = alter.min_compaction_lag_ms {
            config.min_compaction_lag_ms = Millis(lag);
        }
        if let Some(lag) = alter.max_compaction_lag_ms {
            config.max_compaction_lag_ms = Millis(lag);
        }
        if let Some(retention) = alter.retention_ms {
            config.retention_ms = Some(Millis(retention));
        }
        if alter.cleanup_policy.is_some() {
            config = with_policy(config, alter.cleanup_policy.as_deref());
        }
        self.setup.config = config.clone();
        self.partition()?.set_config(config);
        Ok(())
    }

    /// A whole round. One that fails answers nothing, as one that is not worth it.
    pub(super) fn clean(&mut self) -> Done {
        let Some(started) = self.start_round()? else { return Ok(None) };
        let built = match self.build_map() {
            Ok(Some(built)) => built,
            Ok(None) | Err(Refused::Fault(_)) => return self.end_round(true).map(|()| None),
            Err(error) => return Err(error),
        };
        loop {
            match self.group() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return self.end_round(true).map(|()| None),
            }
        }
        self.end_round(false)?;
        Ok(Some(Answer { cleaned_to: built.cleaned_to, map_entries: built.map_entries, ..started }))
    }

    pub(super) fn start_round(&mut self) -> Done {
        if self.round.is_some() {
            return Ok(None);
        }
        self.round = self.partition()?.start_round()?;
        Ok(self.round.as_ref().map(|round| Answer {
            from: Some(round.chosen.first_dirty.0),
            bound: Some(round.chosen.upper_bound.0),
            ..Answer::default()
        }))
    }

    pub(super) fn build_map(&mut self) -> Done {
        let Some(mut round) = self.round.take() else { return Ok(None) };
        let built = self.partition()?.build_map(&mut round);
        self.round = Some(round);
        let built = built.map_err(|error| Refused::Fault(error.to_string()))?;
        Ok(Some(Answer {
            cleaned_to: Some(built.cleaned_to.0),
            map_entries: Some(u32::try_from(built.map_entries).unwrap_or(u32::MAX)),
            ..Answer::default()
        }))
    }

    /// The next group; false if there is none.
    pub(super) fn group(&mut self) -> Result<bool, Refused> {
        let Some(mut round) = self.round.take() else { return Ok(false) };
        let cleaned = self.partition()?.clean_group(&mut round);
        self.round = Some(round);
        cleaned.map_err(|error| Refused::Fault(error.to_string()))
    }

    pub(super) fn end_round(&mut self, aborted: bool) -> Result<(), Refused> {
        match self.round.take() {
            Some(round) => Ok(self.partition()?.finish_round(round, aborted)?),
            None => Ok(()),
        }
    }

    pub(super) fn restart(&mut self) -> Result<(), Refused> {
        let now = self.partition()?.now();
        self.round = None;
        if let Some(partition) = self.partition.take() {
            partition.close()?;
        }
        Ok(self.open(now)?)
    }

    /// The cleaner's checkpoint goes, and the file of a rejected design beside it.
    pub(super) fn lose_checkpoint(&mut self) -> Result<(), Refused> {
        if self.round.is_some() {
            return Err(Refused::Fault("a round goes on, and would write the checkpoint again".to_owned()));
        }
        let root = Path::new(DIRECTORY);
        for path in [root.join(CheckpointKind::Cleaner.file_name()), CleanTimes::path(&root.join("t-0"))] {
            remove_if_exists(&*self.files, &path).map_err(LogError::from)?;
        }
        Ok(())
    }

    pub(super) fn crash(&mut self, crash: &Crash) -> Result<(), Refused> {
        let now = self.partition()?.now();
        // What was flushed is known to be: what lies below the recovery point is not looked through again.
        self.partition()?.checkpoint()?;
        if let Some(step) = crash.during_swap {
            if self.round.is_none() {
                return Err(Refused::Fault("no round goes on in which the process could die".to_owned()));
            }
            self.files.stop_after(step);
            // It ends by the power cut, or, after the last step, by itself.
            let _ = self.group();
        }
        let lost = crash.loses_from.map(|from| self.places_from(from)).transpose()?.unwrap_or_default();
        (self.round, self.partition) = (None, None);
        self.files = self.files.reopened();
        for (path, length) in lost {
            match length {
                None => self.files.remove(Path::new(&path)).map_err(LogError::from)?,
                Some(length) => self.files.truncate(Path::new(&path), length).map_err(LogError::from)?,
            }
        }
        if crash.loses_snapshots {
            let directory = Path::new(DIRECTORY).join("t-0");
            for name in self.files.list(&directory).map_err(LogError::from)? {
                if name.ends_with(".snapshot") {
                    self.files.remove(&directory.join(name)).map_err(LogError::from)?;
                }
            }
        }
        Ok(self.open(now)?)
    }

    /// To what length each segment's file is cut where the log is lost from `from` on; none for a segment that goes. One
    /// that begins at `from` stays, empty.
    fn places_from(&mut self, from: i64) -> Result<Vec<(String, Option<u64>)>, Refused> {
        let mut places = Vec::new();
        for segment in self.partition()?.dump()? {
            let kept = segment.batches.iter().take_while(|batch| batch.last.0 < from);
            let kept: usize = kept.map(|batch| batch.bytes.len()).sum();
            let length = if segment.base.0 > from { None } else { Some(kept as u64) };
            places.push((format!("{DIRECTORY}/t-0/{:020}.log", segment.base.0), length));
        }
        Ok(places)
    }

    pub(super) fn truncate(&mut self, offset: i64) -> Result<(), Refused> {
        self.round = None;
        Ok(self.partition()?.truncate(Offset(offset))?)
    }

    pub(super) fn read(&mut self, read: &Read) -> Done {
        let isolation = match read.isolation {
            Isolation::ReadUncommitted => log_read::Isolation::Uncommitted,
            Isolation::ReadCommitted => log_read::Isolation::Committed,
        };
        let partition = self.partition()?;
        let Some(batches) = read.batches else {
            let handed = partition.read_all(Offset(read.from), isolation)?;
            return Ok(Some(Answer { records: Some(records(&handed.records)?), ..Answer::default() }));
        };
        let (mut all, mut position) = (Vec::new(), Offset(read.from));
        for _ in 0..batches {
            let handed = partition.read(position, 1, isolation)?;
            if handed.position == position {
                break;
            }
            all.extend(records(&handed.records)?);
            position = handed.position;
        }
        Ok(Some(Answer { records: Some(all), next: Some(position.0), ..Answer::default() }))
    }

    pub(super) fn look_up(&mut self, timestamp: i64) -> Done {
        let found = self.partition()?.log().offset_for_timestamp(Millis(timestamp))?;
        Ok(found.map(|found| Answer {
            first: Some(found.offset.0),
            timestamp_ms: Some(found.timestamp.0),
            ..Answer::default()
        }))
    }

    /// The batches from an offset on, in bytes.
    pub(super) fn batches_from(&mut self, from: Offset) -> Result<Vec<Vec<u8>>, Refused> {
        let segments = self.partition()?.dump()?;
        let batches = segments.into_iter().flat_map(|segment| segment.batches);
        Ok(batches.filter(|batch| batch.last >= from).map(|batch| batch.bytes).collect())
    }

    /// Takes what a leader has from this replica's end on.
    pub(super) fn follow(&mut self, batches: &[Vec<u8>], leader_start: Offset) -> Done {
        let partition = self.partition()?;
        if partition.log().end_offset() < leader_start {
            return Err(Refused::Fault(
                "a follower below its leader's start begins anew; the reference does not".to_owned(),
            ));
        }
        let bytes = batches.concat();
        let offsets: Vec<_> = BatchReader::new(&bytes)
            .filter_map(Result::ok)
            .map(|batch| (batch.base_offset().0, batch.last_offset().0))
            .collect();
        let (Some((first, _)), Some((_, last))) = (offsets.first(), offsets.last()) else { return Ok(None) };
        partition.append_as_follower(&bytes)?;
        Ok(Some(Answer { first: Some(*first), last: Some(*last), ..Answer::default() }))
    }
}

fn with_policy(mut config: LogConfig, policy: Option<&[CleanupPolicy]>) -> LogConfig {
    let policy = policy.unwrap_or(&[CleanupPolicy::Compact]);
    config.compact = policy.contains(&CleanupPolicy::Compact);
    config.delete = policy.contains(&CleanupPolicy::Delete);
    config
}

/// A record as a trace shows it. Bytes that are no name are shown as digits, which no trace expects.
pub(super) fn record(record: &Record) -> Result<LogRecord, Refused> {
    let name = |bytes: Option<&[u8]>| bytes.map(name).transpose();
    Ok(LogRecord(record.offset.0, name(record.key.as_deref())?, name(record.value.as_deref())?))
}

fn name(bytes: &[u8]) -> Result<RecordName, Refused> {
    let text = String::from_utf8_lossy(bytes);
    let digits = || format!("0x{}", super::hex::encode(bytes.get(..40).unwrap_or(bytes)));
    text.parse().or_else(|_| digits().parse()).map_err(Refused::Fault)
}

/// Records as a trace shows them.
fn records(handed: &[Record]) -> Result<Vec<LogRecord>, Refused> {
    handed.iter().map(record).collect()
}
