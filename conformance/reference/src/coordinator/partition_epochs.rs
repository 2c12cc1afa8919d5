//! Who has which partition: the derived table of docs/fencing.md 1.1 (`current_partition_epoch`; Kafka
//! `ConsumerGroup#addPartitionEpochs` and `#removePartitionEpochs`).
//!
//! It is rebuilt at replay from the members' current assignments. Kafka keeps the holder's epoch alone; here the holder
//! stands beside it, so that an entry is only ever removed by the member that it belongs to, whatever compaction dropped.

use std::collections::BTreeMap;

use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, MemberId, TopicPartition};
use crate::coordinator::reconciliation::CurrentAssignment;
use crate::coordinator::replay::ReplayError;
use crate::coordinator::rules::{ReplayChecks, Rules};

/// The member that has a partition, assigned or pending, and its member epoch.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Holder {
    member_id: MemberId,
    epoch: Epoch,
}

/// The holders of a group's partitions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PartitionEpochs(BTreeMap<TopicPartition, Holder>);

impl PartitionEpochs {
    /// Whether nobody has it.
    pub(crate) fn is_free(&self, partition: TopicPartition) -> bool {
        !self.0.contains_key(&partition)
    }

    /// Follows a member from what it had to what it has: first the old entries go, then the new ones come.
    pub(crate) fn update(
        &mut self,
        rules: &Rules,
        member_id: &MemberId,
        old: Option<&CurrentAssignment>,
        new: Option<&CurrentAssignment>,
    ) -> Result<(), ReplayError> {
        if let Some(old) = old {
            for partition in old.assigned.keys().chain(old.pending_revocation.keys()) {
                self.remove(rules, member_id, old.member_epoch, *partition)?;
            }
        }
        if let Some(new) = new {
            for partition in new.assigned.keys().chain(new.pending_revocation.keys()) {
                self.add(rules, member_id, new.member_epoch, *partition)?;
            }
        }
        if rules.slips(Mutation::RegrantForgetsOwner) {
            let still_pending = |p: &TopicPartition| new.is_some_and(|new| new.pending_revocation.contains_key(p));
            for partition in old.iter().flat_map(|old| old.pending_revocation.keys()).filter(|p| !still_pending(p)) {
                self.0.remove(partition);
            }
        }
        Ok(())
    }

    /// An entry that the member does not have, or has at another epoch, is left alone (KAFKA-19862).
    fn remove(
        &mut self,
        rules: &Rules,
        member_id: &MemberId,
        epoch: Epoch,
        partition: TopicPartition,
    ) -> Result<(), ReplayError> {
        match self.0.get(&partition) {
            Some(holder) if holder.member_id == *member_id && holder.epoch == epoch => {
                self.0.remove(&partition);
                Ok(())
            }
            _ if rules.slips(Mutation::ReplayRefusesTakeover) => Err(ReplayError::NotHeld { partition }),
            _ => Ok(()),
        }
    }

    /// A member with a newer epoch takes over from a holder whose release was compacted away (KAFKA-19862).
    fn add(
        &mut self,
        rules: &Rules,
        member_id: &MemberId,
        epoch: Epoch,
        partition: TopicPartition,
    ) -> Result<(), ReplayError> {
        if let Some(holder) = self.0.get(&partition) {
            let refuses = match rules.replay_checks {
                ReplayChecks::IllegalState => holder.epoch >= epoch,
                ReplayChecks::LaterWins => false,
            };
            if refuses || rules.slips(Mutation::ReplayRefusesTakeover) {
                return Err(ReplayError::AlreadyHeld {
                    partition,
                    holder: holder.member_id.clone(),
                    epoch: holder.epoch,
                });
            }
        }
        self.0.insert(partition, Holder { member_id: member_id.clone(), epoch });
        Ok(())
    }
}
