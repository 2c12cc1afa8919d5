//! A broker's process: one replica of the partition, from its start to its end (docs/replication.md 10.1, 10.4).
//!
//! | Part | File |
//! | --- | --- |
//! | metadata, and becoming leader or follower | `role_change` |
//! | as the leader: high watermark, ISR | `leading` |
//! | as the leader: requests of followers and clients | `serving` |
//! | as a follower: replies, truncation | `following` |
//! | the future replica | `future` |

use std::collections::BTreeMap;

use super::broker::BrokerSetup;
use super::effects::{Effects, Input};
use super::fetcher::{FetchEntry, Outstanding};
use super::future::Future;
use super::high_watermark::effective_min_isr;
use super::isr::{IsrState, SentProposal};
use super::message::{Content, Message};
use super::metadata::Registrations;
use super::names::{
    BrokerEpoch, BrokerId, Correlation, LagPeriod, LeaderEpoch, Node, Offset, PartitionEpoch, ProduceId,
};
use super::observe::{self, BrokerState};
use super::remote_replica::RemoteReplica;
use super::slip::Slip;
use crate::storage::log::Log;
use crate::storage::log_error::LogError;
use crate::storage::names::Millis;

/// What a replica is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Role {
    /// Nothing yet: no metadata have come since the start.
    None,
    /// The leader.
    Leader(Leading),
    /// A follower, of nobody while there is no leader.
    Follower(Option<BrokerId>),
}

/// What a leader knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Leading {
    /// Where its epoch began.
    pub(super) epoch_start: Offset,
    pub(super) isr: IsrState,
    pub(super) remotes: BTreeMap<BrokerId, RemoteReplica>,
}

/// A produce request that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingProduce {
    pub(super) id: ProduceId,
    pub(super) base: Offset,
    pub(super) required: Offset,
}

/// A broker that runs. See the module.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) setup: BrokerSetup,
    pub(super) broker_epoch: BrokerEpoch,
    pub(super) log: Log,
    pub(super) role: Role,
    pub(super) leader_epoch: LeaderEpoch,
    pub(super) partition_epoch: PartitionEpoch,
    pub(super) brokers: Registrations,
    pub(super) now: LagPeriod,
    /// Fetches with nothing to answer yet.
    pub(super) parked: Vec<Message>,
    pub(super) produces: Vec<PendingProduce>,
    pub(super) entry: Option<FetchEntry>,
    /// Whether the partition was dropped from its fetcher after an error.
    pub(super) failed: bool,
    pub(super) outstanding: BTreeMap<BrokerId, Outstanding>,
    /// The proposal at the controller, which outlives the leadership that made it.
    pub(super) proposal: Option<SentProposal>,
    pub(super) next_correlation: Correlation,
    pub(super) future: Future,
    /// Whether the high watermark has risen in this step.
    pub(super) has_risen: bool,
    pub(super) effects: Effects,
}

impl Process {
    /// Handles one input. After an error of the file system the process is dead.
    pub(super) fn handle(&mut self, input: Input) -> Result<Effects, LogError> {
        self.effects = Effects::default();
        match input {
            Input::Metadata(records) => self.apply_metadata(&records)?,
            Input::Produce { id, records, acks } => self.produce(id, &records, acks)?,
            Input::Consume { offset, current_leader_epoch, isolation, from_follower } => {
                self.consume(offset, current_leader_epoch, isolation, from_follower)?;
            }
            Input::ListOffsets { spec, current_leader_epoch, isolation } => {
                self.answer_list_offsets(spec, current_leader_epoch, isolation)?;
            }
            Input::OffsetForLeaderEpoch { epoch, current_leader_epoch } => {
                self.answer_epoch_end(epoch, current_leader_epoch);
            }
            Input::Poll => self.poll(),
            Input::Deliver(message) => self.deliver(message)?,
            Input::Fail(correlation) => self.give_up(correlation),
            Input::ExpireFetch { from, correlation } => self.expire_fetch(from, correlation)?,
            Input::ExpireProduce(id) => self.expire_produce(id),
            Input::ShrinkIsr => self.shrink_isr(),
            Input::Checkpoint => self.setup.checkpoint_high_watermark(&self.log)?,
            Input::DeleteRecords(before) => self.delete_records(before)?,
            Input::AlterLogDirs => self.alter_log_dirs()?,
            Input::Copy => self.copy()?,
            Input::DiskOffline => self.disk_offline(),
            Input::DiskOnline => self.disk_online(),
        }
        if std::mem::take(&mut self.has_risen) {
            // Their checks run again, though a risen high watermark alone answers no follower.
            self.complete_parked()?;
        }
        self.run_fetcher()?;
        if !self.setup.flushes_epochs_late {
            self.log.flush_epochs()?;
            self.future.flush_epochs()?;
        }
        Ok(std::mem::take(&mut self.effects))
    }

    fn deliver(&mut self, message: Message) -> Result<(), LogError> {
        match &message.content {
            Content::Fetch(_) => self.serve_fetch(message),
            Content::OffsetForLeaderEpoch(request) => {
                let answer = self.epoch_end_for(*request);
                self.effects.sends.push(message.reply(Content::OffsetForLeaderEpochReply(answer)));
                Ok(())
            }
            Content::ListOffsets(request) => {
                let answer = self.list_offset_for(*request)?;
                self.effects.sends.push(message.reply(Content::ListOffsetsReply(answer)));
                Ok(())
            }
            Content::FetchReply(_) | Content::OffsetForLeaderEpochReply(_) | Content::ListOffsetsReply(_) => {
                self.on_reply(message)
            }
            Content::AlterPartitionReply(_) => {
                self.on_alter_partition_reply(message);
                Ok(())
            }
            // Only the controller takes it.
            Content::AlterPartition(_) => Ok(()),
        }
    }

    pub(super) fn slips(&self, slip: Slip) -> bool {
        self.setup.rules.slips(slip)
    }

    pub(super) fn send(&mut self, to: Node, content: Content) -> Correlation {
        let correlation = self.next_correlation;
        self.next_correlation = Correlation(correlation.0.wrapping_add(1));
        let from = Node::Broker(self.setup.broker);
        self.effects.sends.push(Message { from, to, correlation, content });
        correlation
    }

    pub(super) fn min_isr(&self) -> usize {
        effective_min_isr(self.setup.min_isr, self.setup.replicas.len())
    }

    /// The log's time: nothing here is decided by it.
    pub(super) const fn clock() -> Millis {
        Millis(0)
    }

    pub(super) fn outstanding(&self) -> Vec<(Node, Correlation)> {
        let fetchers = self.outstanding.iter().map(|(leader, asked)| (Node::Broker(*leader), asked.correlation));
        let proposal = self.proposal.iter().map(|sent| (Node::Controller, sent.correlation));
        fetchers.chain(proposal).collect()
    }

    pub(super) fn observe(&self) -> Result<BrokerState, LogError> {
        observe::observe(self)
    }
}
