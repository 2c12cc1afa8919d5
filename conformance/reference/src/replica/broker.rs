//! A broker on its disk: what survives a process, and how a process starts (docs/replication.md 1.8, 1.9; Kafka's
//! `LogManager`, `OffsetCheckpointFile`).
//!
//! ```text
//! <log dir>/replication-offset-checkpoint      the high watermark, as of some earlier moment
//! <log dir>/recovery-point-offset-checkpoint
//! <log dir>/log-start-offset-checkpoint
//! <log dir>/.kafka_cleanshutdown               the last process ended in an orderly way
//! <log dir>/<topic>-<partition>/…              the log, with its leader-epoch-checkpoint
//! <log dir>-2/<topic>-<partition>/…            the future replica, if there is one, until they change places
//! <log dir>/current-directory                  whether they have
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::disk::{self, EpochFileFault};
use super::effects::{Effects, Input};
use super::future::Future;
use super::metadata::Registrations;
use super::names::{BrokerEpoch, BrokerId, Correlation, LagPeriod, LeaderEpoch, Node, Offset, PartitionEpoch};
use super::observe::BrokerState;
use super::process::{Process, Role};
use super::rules::{EpochMark, Rules, Truncation};
use super::slip::Slip;
use crate::storage::checkpoint::{CheckpointFile, CheckpointKind, TopicPartition};
use crate::storage::fs::{self, SharedFs};
use crate::storage::leader_epoch_checkpoint::EpochAssignment;
use crate::storage::log::Log;
use crate::storage::log_error::LogError;
use crate::storage::log_rules::{LogConfig, LogRules};
use crate::storage::recovery::OpenLog;

const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
/// Kafka tells a future replica by the name of its directory; here a file tells which directory is current.
const MOVED: &str = "current-directory";

/// One of the two disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogDirectory {
    First,
    Second,
}

impl LogDirectory {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// How a broker is set up.
#[derive(Debug, Clone)]
pub struct BrokerSetup {
    /// Who it is.
    pub broker: BrokerId,
    /// All replicas of the partition; the first is preferred.
    pub replicas: Vec<BrokerId>,
    /// `min.insync.replicas`.
    pub min_isr: usize,
    /// Its rules.
    pub rules: Rules,
    /// Whether what it appends as the leader is in the message format 1, which has no epochs.
    pub old_message_format: bool,
    /// Where its files are.
    pub log_dir: PathBuf,
    /// The partition.
    pub partition: TopicPartition,
    /// The topic's configuration.
    pub config: LogConfig,
    /// Whether the epochs that a truncation removes are written with the next entry only, or never, and not at the end of
    /// the step: the background thread is late (KAFKA-15046).
    pub flushes_epochs_late: bool,
}

impl BrokerSetup {
    /// The partition `t-0` under `rules`, with files in `log_dir`.
    #[must_use]
    pub fn new(broker: BrokerId, replicas: &[BrokerId], min_isr: usize, rules: Rules, log_dir: &Path) -> Self {
        let config = LogConfig { compact: false, delete: true, retention_ms: None, ..LogConfig::default() };
        Self {
            broker,
            replicas: replicas.to_vec(),
            min_isr,
            rules,
            old_message_format: false,
            log_dir: log_dir.to_owned(),
            partition: TopicPartition::new("t", 0),
            config,
            flushes_epochs_late: false,
        }
    }

    pub(super) fn directory(&self, which: LogDirectory) -> PathBuf {
        let mut log_dir = self.log_dir.clone().into_os_string();
        if which == LogDirectory::Second {
            log_dir.push("-2");
        }
        PathBuf::from(log_dir).join(self.partition.to_string())
    }

    /// Which of the two directories has the current replica.
    fn current_directory(&self, fs: &dyn fs::FileSystem) -> Result<LogDirectory, LogError> {
        let moved = fs.exists(&self.log_dir.join(MOVED))? && fs::read_all(fs, &self.log_dir.join(MOVED))? == b"2\n";
        Ok(if moved { LogDirectory::Second } else { LogDirectory::First })
    }

    pub(super) fn set_current_directory(&self, fs: &dyn fs::FileSystem, which: LogDirectory) -> Result<(), LogError> {
        let text: &[u8] = match which {
            LogDirectory::First => b"1\n",
            LogDirectory::Second => b"2\n",
        };
        Ok(fs::replace(fs, &self.log_dir.join(MOVED), text)?)
    }

    pub(super) fn checkpoint_high_watermark(&self, log: &Log) -> Result<(), LogError> {
        self.write_checkpoint(&**log.fs(), CheckpointKind::HighWatermark, log.high_watermark())
    }

    fn write_checkpoint(&self, fs: &dyn fs::FileSystem, kind: CheckpointKind, offset: Offset) -> Result<(), LogError> {
        let file = CheckpointFile::new(&self.log_dir, kind);
        file.write(fs, &BTreeMap::from([(self.partition.clone(), offset)]))
    }

    fn epoch_assignment(&self) -> EpochAssignment {
        match self.rules.epoch_mark {
            _ if self.old_message_format => EpochAssignment::Off,
            _ if self.rules.truncation == Truncation::HighWatermark => EpochAssignment::Off,
            EpochMark::AtFirstAppend => EpochAssignment::Rising,
            EpochMark::AtElection => EpochAssignment::Replacing,
        }
    }

    /// Opens the log as a process finds it, with the high watermark of the checkpoint.
    fn open_log(&self, current: LogDirectory, fs: &SharedFs) -> Result<Log, LogError> {
        fs.create_dir(&self.log_dir)?;
        let marker = self.log_dir.join(CLEAN_SHUTDOWN);
        let clean_shutdown = fs.exists(&marker)?;
        if clean_shutdown {
            // From now on a stop is an unclean one.
            fs::remove_if_exists(&**fs, &marker)?;
            fs.sync_dir(&self.log_dir)?;
        }
        let of = |kind| -> Result<Offset, LogError> {
            let offsets = CheckpointFile::new(&self.log_dir, kind).read(&**fs)?;
            Ok(offsets.get(&self.partition).copied().unwrap_or_default().max(Offset(0)))
        };
        let open = OpenLog {
            partition: self.partition.clone(),
            config: self.config.clone(),
            rules: LogRules::kafka_4_4(),
            log_start: of(CheckpointKind::LogStart)?,
            recovery_point: of(CheckpointKind::RecoveryPoint)?,
            clean_shutdown,
            now: Process::clock(),
        };
        let mut log = self.open_in(&self.directory(current), &open, fs)?;
        log.set_high_watermark(of(CheckpointKind::HighWatermark)?);
        Ok(log)
    }

    fn open_in(&self, directory: &Path, open: &OpenLog, fs: &SharedFs) -> Result<Log, LogError> {
        let mut log = Log::open(fs.clone(), directory, open)?;
        log.set_epoch_assignment(self.epoch_assignment())?;
        log.set_cleans_epochs_at_end(!self.rules.slips(Slip::EmptyEpochKept));
        Ok(log)
    }

    /// Opens the future replica's log, or makes it. Nothing is known of it but its files.
    pub(super) fn open_future_log(&self, which: LogDirectory, fs: &SharedFs) -> Result<Log, LogError> {
        let open = OpenLog {
            partition: self.partition.clone(),
            config: self.config.clone(),
            rules: LogRules::kafka_4_4(),
            log_start: Offset(0),
            recovery_point: Offset(0),
            clean_shutdown: false,
            now: Process::clock(),
        };
        self.open_in(&self.directory(which), &open, fs)
    }
}

/// How a process starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The incarnation, as the controller registers it.
    pub broker_epoch: BrokerEpoch,
    /// The machine has lost power: records from here on are gone.
    pub keep: Option<Offset>,
    /// What has happened to the file of the epochs.
    pub epoch_file: Option<EpochFileFault>,
}

impl Default for Start {
    fn default() -> Self {
        Self { broker_epoch: BrokerEpoch(1), keep: None, epoch_file: None }
    }
}

/// An input came to a broker that is down, or its disk failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BrokerError {
    /// It does not run.
    #[error("the broker is down")]
    Down,
    /// It runs already.
    #[error("the broker is up")]
    Up,
    /// Its log failed; the process is gone.
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A broker, up or down. See the module.
#[derive(Debug)]
pub struct Broker {
    setup: BrokerSetup,
    fs: SharedFs,
    next_correlation: Correlation,
    process: Option<Process>,
}

impl Broker {
    /// A broker that is down, on this disk.
    #[must_use]
    pub const fn new(setup: BrokerSetup, fs: SharedFs) -> Self {
        Self { setup, fs, next_correlation: Correlation(0), process: None }
    }

    /// How it is set up.
    #[must_use]
    pub const fn setup(&self) -> &BrokerSetup {
        &self.setup
    }

    /// Its disk.
    #[must_use]
    pub const fn fs(&self) -> &SharedFs {
        &self.fs
    }

    /// Whether it runs.
    #[must_use]
    pub const fn is_up(&self) -> bool {
        self.process.is_some()
    }

    /// Other rules, from the next start on.
    pub fn set_rules(&mut self, rules: Rules) {
        self.setup.rules = rules;
    }

    /// Another disk, from the next start on: what a power cut has left.
    pub fn set_fs(&mut self, fs: SharedFs) {
        self.fs = fs;
    }

    /// Starts with what is on the disk, and without metadata.
    pub fn start(&mut self, start: &Start) -> Result<(), BrokerError> {
        if self.process.is_some() {
            return Err(BrokerError::Up);
        }
        let current = self.setup.current_directory(&*self.fs)?;
        let directory = self.setup.directory(current);
        self.fs.create_dir(&directory).map_err(LogError::from)?;
        if let Some(keep) = start.keep {
            disk::lose_records(&*self.fs, &directory, keep)?;
            fs::remove_if_exists(&*self.fs, &self.setup.log_dir.join(CLEAN_SHUTDOWN)).map_err(LogError::from)?;
        }
        if let Some(fault) = start.epoch_file {
            disk::damage_epoch_file(&*self.fs, &directory, fault)?;
        }
        let log = self.setup.open_log(current, &self.fs)?;
        let future = Future::open(&self.setup, current, &self.fs)?;
        self.process = Some(Process {
            broker_epoch: start.broker_epoch,
            log,
            role: Role::None,
            leader_epoch: LeaderEpoch::NONE,
            partition_epoch: PartitionEpoch::NONE,
            brokers: Registrations::first(&self.setup.replicas),
            now: LagPeriod(0),
            parked: Vec::new(),
            produces: Vec::new(),
            entry: None,
            failed: false,
            outstanding: BTreeMap::new(),
            proposal: None,
            next_correlation: self.next_correlation,
            future,
            has_risen: false,
            effects: Effects::default(),
            setup: self.setup.clone(),
        });
        Ok(())
    }

    /// Handles one input. After an error of its log the process is gone.
    pub fn handle(&mut self, input: Input) -> Result<Effects, BrokerError> {
        let process = self.process.as_mut().ok_or(BrokerError::Down)?;
        let handled = process.handle(input);
        self.next_correlation = process.next_correlation;
        if handled.is_err() {
            self.process = None;
        }
        Ok(handled?)
    }

    /// What it shows of itself; `None` while it is down.
    pub fn observe(&self) -> Result<Option<BrokerState>, LogError> {
        self.process.as_ref().map(Process::observe).transpose()
    }

    /// The fetches that wait here for something to fetch: who has sent each, and its number there.
    #[must_use]
    pub fn parked_fetches(&self) -> Vec<(Node, Correlation)> {
        let parked = self.process.iter().flat_map(|process| &process.parked);
        parked.map(|message| (message.from, message.correlation)).collect()
    }

    /// The requests that this broker waits for, each with who is asked.
    #[must_use]
    pub fn outstanding(&self) -> Vec<(Node, Correlation)> {
        self.process.as_ref().map(Process::outstanding).unwrap_or_default()
    }

    /// The log of the process, for who wants to look closer.
    #[must_use]
    pub fn log(&self) -> Option<&Log> {
        self.process.as_ref().map(|process| &process.log)
    }

    /// Ends the process in an orderly way: the log is durable, and the high watermark is written down.
    pub fn stop(&mut self) -> Result<(), BrokerError> {
        let mut process = self.process.take().ok_or(BrokerError::Down)?;
        let log = &mut process.log;
        log.close()?;
        let fs = &*self.fs;
        self.setup.write_checkpoint(fs, CheckpointKind::RecoveryPoint, log.recovery_point())?;
        self.setup.write_checkpoint(fs, CheckpointKind::LogStart, log.log_start())?;
        self.setup.checkpoint_high_watermark(log)?;
        fs.create(&self.setup.log_dir.join(CLEAN_SHUTDOWN)).map_err(LogError::from)?;
        fs.sync_dir(&self.setup.log_dir).map_err(LogError::from)?;
        Ok(())
    }

    /// The process dies. What it had handed to the file system stays.
    pub fn crash(&mut self) -> Result<(), BrokerError> {
        self.process.take().map(drop).ok_or(BrokerError::Down)
    }
}
