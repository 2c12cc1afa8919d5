//! What a broker that runs shows of itself.

use std::collections::BTreeMap;

use super::names::{BrokerId, LeaderEpoch, Offset, PartitionEpoch};
use super::process::{Process, Role};
use super::records::{self, LogRecord};
use crate::storage::epoch_cache::EpochEntry;
use crate::storage::log::Log;
use crate::storage::log_error::LogError;
use crate::storage::log_read::Isolation;

/// A replica's role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplicaRole {
    /// No metadata have come since the start.
    None,
    /// It leads.
    Leader,
    /// It follows, or would if there were a leader.
    Follower,
}

/// The state of a broker that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokerState {
    /// Its role.
    pub role: ReplicaRole,
    /// The leader epoch that it has applied; [`LeaderEpoch::NONE`] before the first.
    pub leader_epoch: LeaderEpoch,
    /// The partition epoch that it has applied, or has from a reply.
    pub partition_epoch: PartitionEpoch,
    /// Its log.
    pub log: Vec<LogRecord>,
    /// The first offset of it.
    pub log_start: Offset,
    /// The end of it.
    pub log_end: Offset,
    /// Its high watermark.
    pub high_watermark: Offset,
    /// Its epochs.
    pub epochs: Vec<EpochEntry>,
    /// What it knows as the leader.
    pub leading: Option<LeadingState>,
    /// Whether its fetcher has dropped the partition after an error.
    pub failed: bool,
    /// The replica that is to replace it on another disk.
    pub future: Option<FutureState>,
}

/// What a leader knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeadingState {
    /// The ISR that the controller has confirmed.
    pub isr: Vec<BrokerId>,
    /// The ISR that it has proposed.
    pub pending_isr: Option<Vec<BrokerId>>,
    /// The end of each other replica; -1 if that is not known.
    pub remotes: BTreeMap<BrokerId, Offset>,
    /// Where its epoch began.
    pub epoch_start: Offset,
}

/// A future replica.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FutureState {
    /// Its log.
    pub log: Vec<LogRecord>,
    /// Its high watermark.
    pub high_watermark: Offset,
    /// Its epochs.
    pub epochs: Vec<EpochEntry>,
    /// Whether its disk is away.
    pub offline: bool,
}

/// All records of a log, from its start.
pub(super) fn log_records(log: &Log) -> Result<Vec<LogRecord>, LogError> {
    let bytes = read_to(log, log.log_start(), Isolation::LogEnd)?;
    let records = records::decode(&bytes).map_err(|e| LogError::corrupt(log.directory(), 0, e.fault))?;
    Ok(records.into_iter().filter(|record| record.offset >= log.log_start()).collect())
}

/// All batches from the one that holds `from` to the end of what may be read.
pub(super) fn read_to(log: &Log, from: Offset, isolation: Isolation) -> Result<Vec<u8>, LogError> {
    let mut bytes = Vec::new();
    let mut next = from;
    loop {
        let read = log.read(next, usize::MAX, isolation)?.batches;
        let last = crate::storage::batch_reader::BatchReader::new(&read).filter_map(Result::ok).last();
        match last {
            Some(batch) if batch.next_offset() > next => next = batch.next_offset(),
            _ => return Ok(bytes),
        }
        bytes.extend(read);
        if next >= log.upper_bound(isolation) {
            return Ok(bytes);
        }
    }
}

pub(super) fn observe(process: &Process) -> Result<BrokerState, LogError> {
    let log = &process.log;
    let leading = match &process.role {
        Role::Leader(leading) => Some(LeadingState {
            isr: leading.isr.committed().to_vec(),
            pending_isr: leading.isr.pending().map(super::isr::PendingIsr::proposed),
            remotes: leading
                .remotes
                .iter()
                .map(|(broker, remote)| (*broker, remote.end.unwrap_or(Offset(-1))))
                .collect(),
            epoch_start: leading.epoch_start,
        }),
        Role::None | Role::Follower(_) => None,
    };
    Ok(BrokerState {
        role: match process.role {
            Role::None => ReplicaRole::None,
            Role::Leader(_) => ReplicaRole::Leader,
            Role::Follower(_) => ReplicaRole::Follower,
        },
        leader_epoch: process.leader_epoch,
        partition_epoch: process.partition_epoch,
        log: log_records(log)?,
        log_start: log.log_start(),
        log_end: log.end_offset(),
        high_watermark: log.high_watermark(),
        epochs: log.epochs().entries().to_vec(),
        leading,
        failed: process.failed,
        future: process.future.observe()?,
    })
}
