//! What a coordinator does by itself: members whose timer fires (docs/fencing.md 2.9), offsets nobody needs any more, offsets
//! of topics that are gone, expressions that were resolved, and the take-over of a classic group (2.11).

use std::collections::BTreeSet;
use std::ops::Range;

use crate::coordinator::draft::Draft;
use crate::coordinator::leave;
use crate::coordinator::log::Entry;
use crate::coordinator::machine::Coordinator;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{GroupId, MemberId, TopicName};
use crate::coordinator::records::{OffsetCommitKey, Record};
use crate::coordinator::request::NamedPartition;
use crate::coordinator::target::metadata_hash;
use crate::coordinator::timers::{Armed, Fired, TimerEffect, TimerKey, TimerKind};

impl Coordinator {
    /// Moves the clock, and fires the timers that are due by then, in the order in which they are due. A time before now is
    /// ignored.
    pub fn advance(&mut self, now_ms: i64) -> Vec<Fired> {
        let mut fired = Vec::new();
        while let Some((key, armed)) = self.timers.take_due(now_ms) {
            self.now_ms = self.now_ms.max(armed.due_ms);
            fired.push(self.timer_fired(key, armed, armed.due_ms));
        }
        self.now_ms = self.now_ms.max(now_ms);
        fired
    }

    /// Fires one timer, armed for whatever time; `None` if it is not armed.
    pub fn fire(&mut self, group_id: &GroupId, kind: TimerKind, member_id: &MemberId) -> Option<Fired> {
        let key = TimerKey { group_id: group_id.clone(), member_id: member_id.clone(), kind };
        let armed = self.timers.take(&key)?;
        Some(self.timer_fired(key, armed, self.now_ms))
    }

    /// 2.9: removes the member, unless it is gone, or gave up since what it was asked for.
    fn timer_fired(&mut self, key: TimerKey, armed: Armed, at_ms: i64) -> Fired {
        let end = self.log.end_offset();
        let member = self.state.groups.get(&key.group_id).and_then(|group| group.members.get(&key.member_id));
        let went_on = key.kind == TimerKind::Rebalance
            && member.is_some_and(|member| Some(member.member_epoch()) != armed.epoch)
            && !self.rules.slips(Mutation::RebalanceTimerIgnoresEpoch);
        let removed =
            if member.is_none() || went_on { None } else { self.remove_member(&key.group_id, &key.member_id) };
        Fired {
            at_ms,
            kind: key.kind,
            effect: if removed.is_some() { TimerEffect::Removed } else { TimerEffect::Nothing },
            appended: removed.unwrap_or(end..end),
            group_id: key.group_id,
            member_id: key.member_id,
        }
    }

    fn remove_member(&mut self, group_id: &GroupId, member_id: &MemberId) -> Option<Range<u64>> {
        let context = self.context(group_id);
        let mut draft = Draft::of(&self.rules, self.state.groups.get(group_id)?);
        leave::remove(&context, &mut draft, std::slice::from_ref(member_id)).ok()?;
        let accepted = draft.accept();
        Some(self.write_unasked(group_id, accepted))
    }

    /// Removes offsets that are older than the retention and belong to a topic that no member subscribes to; then groups that
    /// have neither members nor offsets. Gives the offsets of the records written.
    ///
    /// An offset on which a transaction is open stays, and so does its group (KAFKA-19163).
    pub fn expire_offsets(&mut self) -> Range<u64> {
        self.expire_offsets_by(self.now_ms)
    }

    /// Lets the retention of offsets pass for all of them, and nothing else: members' timers stand still. Then as
    /// [`Coordinator::expire_offsets`].
    pub fn offsets_retention_elapsed(&mut self) -> Range<u64> {
        self.expire_offsets_by(self.now_ms.saturating_add(self.config.offsets_retention_ms.max(0)))
    }

    fn expire_offsets_by(&mut self, now_ms: i64) -> Range<u64> {
        let start = self.log.end_offset();
        let mut entries = Vec::new();
        for group_id in self.state.offsets.groups() {
            let group = self.state.groups.get(group_id);
            let subscribed =
                group.map(crate::coordinator::group::ConsumerGroup::all_subscribed_names).unwrap_or_default();
            for (partition, stored) in self.state.offsets.committed(group_id) {
                let value = &stored.value;
                let due_ms = if value.expire_timestamp_ms >= 0 {
                    value.expire_timestamp_ms
                } else {
                    value.commit_timestamp_ms.saturating_add(self.config.offsets_retention_ms)
                };
                let is_needed =
                    subscribed.contains(partition.topic.as_str()) || self.state.offsets.is_pending(group_id, partition);
                if due_ms <= now_ms && !is_needed {
                    entries.push(offset_tombstone(group_id, partition));
                }
            }
        }
        self.append(entries, None);

        let forgets = self.rules.slips(Mutation::ExpiryForgetsTransactions);
        let offsets = &self.state.offsets;
        let has_offsets =
            |id: &GroupId| if forgets { offsets.committed(id).next().is_some() } else { offsets.has_any(id) };
        let gone: Vec<GroupId> = self
            .state
            .groups
            .values()
            .filter(|group| group.members.is_empty() && !has_offsets(&group.group_id))
            .map(|group| group.group_id.clone())
            .collect();
        for group_id in gone {
            let Some(group) = self.state.groups.get(&group_id) else { continue };
            let mut draft = Draft::of(&self.rules, group);
            if draft.remove_group().is_ok() {
                let accepted = draft.accept();
                self.write_unasked(&group_id, accepted);
            }
        }
        start..self.log.end_offset()
    }

    /// Tombstones for all offsets of a topic that is gone.
    pub(crate) fn delete_offsets_of_topic(&mut self, name: &str) -> Range<u64> {
        let offsets = &self.state.offsets;
        let mut found: BTreeSet<(GroupId, NamedPartition)> = BTreeSet::new();
        for group_id in offsets.all_groups() {
            let pending = offsets.pending(group_id).flat_map(|(_, offsets)| offsets.keys());
            let all = offsets.committed(group_id).map(|(partition, _)| partition).chain(pending);
            found.extend(all.filter(|p| p.topic.as_str() == name).map(|p| (group_id.clone(), p.clone())));
        }
        let entries = found.iter().map(|(group_id, partition)| offset_tombstone(group_id, partition)).collect();
        self.append(entries, None)
    }

    /// An expression that a member subscribes by was resolved to these topics (docs/fencing.md 2.4 row 2). Where that changes
    /// something the group epoch rises. An expression that nobody uses is ignored.
    ///
    /// The caller resolves; there is no engine for expressions in here.
    pub fn resolve_regex(&mut self, group_id: &GroupId, regex: &str, topics: &BTreeSet<TopicName>) -> Range<u64> {
        let end = self.log.end_offset();
        let Some(group) = self.state.groups.get(group_id) else { return end..end };
        let is_used = group.regex_is_used_by_others(regex, &MemberId::default());
        if !is_used || group.regexes.get(regex) == Some(topics) {
            return end..end;
        }
        let context = self.context(group_id);
        let mut draft = Draft::of(&self.rules, group);
        let names = topics.iter().map(|topic| topic.as_str().to_owned()).collect();
        let written = draft.regular_expression(regex, Some(names)).and_then(|()| {
            let hash = metadata_hash(&context, draft.group());
            let epoch = draft.group().group_epoch().next();
            draft.group_metadata(epoch, hash)
        });
        if written.is_err() {
            return end..end;
        }
        let accepted = draft.accept();
        self.write_unasked(group_id, accepted)
    }
}

fn offset_tombstone(group_id: &GroupId, partition: &NamedPartition) -> Entry {
    let key = OffsetCommitKey {
        group_id: group_id.as_str().to_owned(),
        topic: partition.topic.as_str().to_owned(),
        partition: partition.partition,
        legacy: false,
    };
    Entry::Record { record: Record::OffsetCommit { key, value: None }, producer: None }
}
