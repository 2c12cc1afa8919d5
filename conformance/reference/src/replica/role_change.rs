//! Applying the controller's records: becoming leader or follower (docs/replication.md 4.2, 2.2; Kafka's
//! `Partition#makeLeader`, `#makeFollower`, `ReplicaManager#applyDelta`, `TopicDelta`).
//!
//! All records of a delta are applied as one step, of which only the last state of the partition is seen: an epoch in
//! between, in which another broker led, leaves no trace.

use std::collections::BTreeMap;

use super::effects::TruncatedBelow;
use super::error::ErrorCode;
use super::fetcher::{FollowerLog, initial_entry};
use super::isr::IsrState;
use super::metadata::{MetadataRecord, PartitionRecord};
use super::names::{BrokerId, LeaderEpoch, PartitionEpoch};
use super::process::{Leading, Process, Role};
use super::remote_replica::RemoteReplica;
use super::rules::{EpochMark, PendingProposal, RemoteState, Truncation};
use super::slip::Slip;
use crate::storage::log_error::LogError;

impl Process {
    pub(super) fn apply_metadata(&mut self, records: &[MetadataRecord]) -> Result<(), LogError> {
        let mut last = None;
        let mut known = self.partition_epoch;
        for record in records {
            match record {
                MetadataRecord::Broker(broker) => self.brokers.apply(*broker),
                MetadataRecord::Partition(partition) => {
                    known = partition.partition_epoch.unwrap_or(known.next());
                    last = Some((partition, known));
                }
            }
        }
        let Some((record, partition_epoch)) = last else { return Ok(()) };
        if partition_epoch < self.partition_epoch {
            return Ok(());
        }
        let later_epoch = record.leader_epoch > self.leader_epoch;
        if record.leader == Some(self.setup.broker) {
            self.make_leader(record, partition_epoch)?;
        } else {
            self.make_follower(record, partition_epoch)?;
        }
        if later_epoch {
            self.future.follow_epoch(record.leader_epoch, self.setup.rules.future);
        }
        if self.leading().is_none() {
            self.complete_parked()?;
        }
        Ok(())
    }

    fn make_leader(&mut self, record: &PartitionRecord, partition_epoch: PartitionEpoch) -> Result<(), LogError> {
        let epoch = record.leader_epoch;
        let was = std::mem::replace(&mut self.role, Role::None);
        let (was_leader, before) = match was {
            Role::Leader(leading) => (true, Some(leading)),
            Role::None | Role::Follower(_) => (false, None),
        };
        let later_epoch = epoch > self.leader_epoch;
        let is_known = !later_epoch && partition_epoch == self.partition_epoch;
        let keeps_proposal = is_known && self.setup.rules.pending_proposal == PendingProposal::Kept;
        let (epoch_start, known, proposal) = match before {
            Some(leading) => (leading.epoch_start, leading.remotes, Some(leading.isr).filter(|_| keeps_proposal)),
            None => (self.log.end_offset(), BTreeMap::new(), None),
        };
        let epoch_start = if later_epoch { self.log.end_offset() } else { epoch_start };
        if later_epoch && self.marks_epoch() {
            self.log.assign_epoch(epoch)?;
        }
        let keeps = was_leader && self.keeps_remote_state(epoch);
        let keeps = keeps && (later_epoch || !self.slips(Slip::SameEpochResetsRemotes));
        let resets = later_epoch || self.slips(Slip::SameEpochResetsRemotes);
        let others = self.setup.replicas.iter().copied().filter(|replica| *replica != self.setup.broker);
        let remotes = others.map(|replica| {
            let remote = known.get(&replica).copied().unwrap_or_default();
            let in_isr = record.isr.contains(&replica);
            let remote = match (resets, keeps) {
                (false, _) => remote,
                (true, true) => remote.same_leader(in_isr, self.now, epoch_start),
                (true, false) => RemoteReplica::new_leadership(in_isr, self.now),
            };
            (replica, remote)
        });
        let remotes = remotes.collect();
        self.leader_epoch = self.leader_epoch.max(epoch);
        self.partition_epoch = partition_epoch;
        self.entry = None;
        self.failed = false;
        let isr = proposal.unwrap_or_else(|| IsrState::Committed(record.isr.clone()));
        self.role = Role::Leader(Leading { epoch_start, isr, remotes });
        self.raise_high_watermark();
        Ok(())
    }

    fn marks_epoch(&self) -> bool {
        self.setup.rules.epoch_mark == EpochMark::AtElection && !self.slips(Slip::EpochNotMarked)
    }

    /// Whether a broker that led when it last looked, and leads now, knows the others still.
    fn keeps_remote_state(&self, epoch: LeaderEpoch) -> bool {
        match self.setup.rules.remote_state {
            RemoteState::Kept => true,
            // Two steps or more may hide a leader to which the others have cut their logs.
            RemoteState::KeptIfNext => epoch.0 == self.leader_epoch.0.saturating_add(1) || epoch == self.leader_epoch,
            RemoteState::Forgotten => false,
        }
    }

    fn make_follower(&mut self, record: &PartitionRecord, partition_epoch: PartitionEpoch) -> Result<(), LogError> {
        let old_leader = match &self.role {
            Role::Follower(leader) => *leader,
            Role::None => None,
            Role::Leader(_) => Some(self.setup.broker),
        };
        let later_epoch = record.leader_epoch > self.leader_epoch;
        self.role = Role::Follower(record.leader);
        self.leader_epoch = record.leader_epoch;
        self.partition_epoch = partition_epoch;
        if !later_epoch {
            return Ok(());
        }
        if !self.slips(Slip::PendingSurvivesDemotion) {
            for pending in std::mem::take(&mut self.produces) {
                self.effects.completed_produces.push((pending.id, Err(ErrorCode::NotLeaderOrFollower)));
            }
        }
        let same_leader = record.leader.is_some() && record.leader == old_leader;
        match record.leader {
            // Off every fetcher, and off the list of those that were given up (`AbstractFetcherManager`).
            None => {
                self.entry = None;
                self.failed = false;
            }
            Some(leader) if same_leader && self.follows_only_new_leader() => self.stay_with(leader),
            Some(leader) => self.follow(leader)?,
        }
        Ok(())
    }

    fn follows_only_new_leader(&self) -> bool {
        self.setup.rules.truncation == Truncation::HighWatermark || self.slips(Slip::FollowsOnlyNewLeader)
    }

    /// The leader's name is the same, and nothing begins anew: before KAFKA-7164.
    fn stay_with(&mut self, leader: BrokerId) {
        if let Some(entry) = &mut self.entry {
            entry.leader = leader;
            entry.leader_epoch = self.leader_epoch;
        }
    }

    fn follow(&mut self, leader: BrokerId) -> Result<(), LogError> {
        let truncation = self.setup.rules.truncation;
        if truncation == Truncation::HighWatermark {
            let to = self.truncate(self.log.high_watermark())?;
            self.future.on_truncated(to);
        }
        let log = FollowerLog {
            log_end: self.log.end_offset(),
            high_watermark: self.log.high_watermark(),
            latest_epoch: self.log.epochs().latest(),
        };
        self.entry = Some(initial_entry(leader, self.leader_epoch, log, truncation));
        self.failed = false;
        Ok(())
    }

    /// Tells of a truncation that goes below the own high watermark, before it happens.
    pub(super) fn note_truncation(&mut self, to: super::names::Offset) {
        let high_watermark = self.log.high_watermark();
        if to < high_watermark {
            self.effects.truncated_below_high_watermark.push(TruncatedBelow { to, high_watermark });
        }
    }
}
