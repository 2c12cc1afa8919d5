//! Committed offsets, and those that wait for the end of a transaction (docs/fencing.md 3.4 and 4.2; Kafka
//! `OffsetMetadataManager`).
//!
//! Log order is the order of truth: of two commits of a partition the later record wins, a plain one against a transactional
//! one too, whatever the order of the markers. Offsets themselves may go back.

use std::collections::BTreeMap;

use crate::coordinator::log::Producer;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{GroupId, ProducerId};
use crate::coordinator::records::{OffsetCommitKey, OffsetCommitValue};
use crate::coordinator::request::{NamedPartition, TxnOutcome};
use crate::coordinator::rules::Rules;

/// A commit and where in the log it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredOffset {
    pub(crate) value: OffsetCommitValue,
    pub(crate) log_offset: u64,
}

/// The offsets of one group.
pub(crate) type GroupOffsets = BTreeMap<NamedPartition, StoredOffset>;

/// The offsets of all groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Offsets {
    committed: BTreeMap<GroupId, GroupOffsets>,
    pending: BTreeMap<ProducerId, BTreeMap<GroupId, GroupOffsets>>,
}

impl Offsets {
    /// The committed offsets of a group.
    pub(crate) fn committed(&self, group_id: &GroupId) -> impl Iterator<Item = (&NamedPartition, &StoredOffset)> {
        self.committed.get(group_id).into_iter().flatten()
    }

    /// The committed offset of one partition.
    pub(crate) fn committed_at(&self, group_id: &GroupId, partition: &NamedPartition) -> Option<&StoredOffset> {
        self.committed.get(group_id)?.get(partition)
    }

    /// What waits for the end of a transaction, by producer.
    pub(crate) fn pending(&self, group_id: &GroupId) -> impl Iterator<Item = (ProducerId, &GroupOffsets)> {
        self.pending.iter().filter_map(move |(&producer, groups)| Some((producer, groups.get(group_id)?)))
    }

    /// Whether a transaction is open on a partition.
    pub(crate) fn is_pending(&self, group_id: &GroupId, partition: &NamedPartition) -> bool {
        self.pending(group_id).any(|(_, offsets)| offsets.contains_key(partition))
    }

    /// Whether the group has any offset, committed or pending: that is what a simple group is.
    pub(crate) fn has_any(&self, group_id: &GroupId) -> bool {
        self.committed.contains_key(group_id) || self.pending(group_id).next().is_some()
    }

    /// The groups with committed offsets.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &GroupId> {
        self.committed.keys()
    }

    /// The groups with any offsets, committed or pending.
    pub(crate) fn all_groups(&self) -> std::collections::BTreeSet<&GroupId> {
        self.committed.keys().chain(self.pending.values().flat_map(BTreeMap::keys)).collect()
    }

    /// Applies a commit, or the tombstone of one, which takes the pending ones along.
    pub(crate) fn replay(
        &mut self,
        rules: &Rules,
        key: &OffsetCommitKey,
        value: Option<&OffsetCommitValue>,
        log_offset: u64,
        producer: Option<Producer>,
    ) {
        let group_id = GroupId::from(key.group_id.as_str());
        let partition = NamedPartition::new(&key.topic, key.partition);
        match (value, producer) {
            (Some(value), Some(producer)) if !rules.slips(Mutation::TxnOffsetsCommittedAtOnce) => {
                let stored = StoredOffset { value: value.clone(), log_offset };
                let groups = self.pending.entry(producer.id).or_default();
                groups.entry(group_id).or_default().insert(partition, stored);
            }
            (Some(value), _) => {
                let stored = StoredOffset { value: value.clone(), log_offset };
                self.committed.entry(group_id).or_default().insert(partition, stored);
            }
            (None, _) => {
                if let Some(offsets) = self.committed.get_mut(&group_id) {
                    offsets.remove(&partition);
                }
                if !rules.slips(Mutation::OffsetTombstoneKeepsPending) {
                    for groups in self.pending.values_mut() {
                        if let Some(offsets) = groups.get_mut(&group_id) {
                            offsets.remove(&partition);
                        }
                    }
                }
                self.drop_empty();
            }
        }
    }

    /// Applies a marker: what the producer has pending becomes committed where it is the newer record, or is dropped.
    pub(crate) fn replay_marker(&mut self, rules: &Rules, producer_id: ProducerId, outcome: TxnOutcome) {
        let Some(groups) = self.pending.remove(&producer_id) else { return };
        if outcome == TxnOutcome::Abort && !rules.slips(Mutation::AbortCommits) {
            return;
        }
        for (group_id, offsets) in groups {
            let committed = self.committed.entry(group_id).or_default();
            for (partition, stored) in offsets {
                let newer = committed.get(&partition).is_none_or(|there| there.log_offset < stored.log_offset);
                if newer || rules.slips(Mutation::MarkerWins) {
                    committed.insert(partition, stored);
                }
            }
        }
    }

    /// The slip of KAFKA-16371 alone: a partition that stays pending though no record says so.
    pub(crate) fn leave_phantom(&mut self, group_id: &GroupId, partition: NamedPartition) {
        let stored = StoredOffset { value: OffsetCommitValue::default(), log_offset: 0 };
        let groups = self.pending.entry(ProducerId(-1)).or_default();
        groups.entry(group_id.clone()).or_default().insert(partition, stored);
    }

    fn drop_empty(&mut self) {
        self.committed.retain(|_, offsets| !offsets.is_empty());
        self.pending.retain(|_, groups| {
            groups.retain(|_, offsets| !offsets.is_empty());
            !groups.is_empty()
        });
    }
}
