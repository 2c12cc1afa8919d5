//! All that a coordinator keeps: the fold of its log, by one function (docs/fencing.md 4.2).

use std::collections::BTreeMap;

use crate::coordinator::group::ConsumerGroup;
use crate::coordinator::log::Entry;
use crate::coordinator::names::GroupId;
use crate::coordinator::offsets::Offsets;
use crate::coordinator::records::Record;
use crate::coordinator::replay::ReplayError;
use crate::coordinator::rules::Rules;

/// The durable state.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) groups: BTreeMap<GroupId, ConsumerGroup>,
    pub(crate) offsets: Offsets,
}

impl State {
    /// Applies one entry of the log.
    ///
    /// A coordinator knows of a record what its version knows; the log keeps the rest.
    pub(crate) fn replay(&mut self, rules: &Rules, log_offset: u64, entry: &Entry) -> Result<(), ReplayError> {
        match entry {
            Entry::Marker { producer, outcome } => self.offsets.replay_marker(rules, producer.id, *outcome),
            Entry::Record { record: Record::OffsetCommit { key, value }, producer } => {
                self.offsets.replay(rules, key, value.as_ref(), log_offset, *producer);
            }
            Entry::Record { record, .. } => {
                let Some(group_id) = ConsumerGroup::group_of(record).map(GroupId::from) else { return Ok(()) };
                let record = record.clone().known_to(rules.record_format);
                let group = self
                    .groups
                    .entry(group_id.clone())
                    .or_insert_with(|| ConsumerGroup::new(group_id.clone(), rules.first_group_epoch));
                let applied = group.replay(rules, &record);
                if group.is_vacant() {
                    self.groups.remove(&group_id);
                }
                applied?;
            }
        }
        Ok(())
    }

    /// Puts a group into its place, or takes it away if nothing is left of it.
    pub(crate) fn install(&mut self, group: ConsumerGroup) {
        if group.is_vacant() {
            self.groups.remove(&group.group_id);
        } else {
            self.groups.insert(group.group_id.clone(), group);
        }
    }
}
