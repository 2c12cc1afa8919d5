//! The timers of members (docs/fencing.md 2.9): armed by the coordinator, fired by a clock that is passed in or by name.
//!
//! Timers are soft: they are in no record, and a coordinator that loads a log starts them anew, so that a fail-over removes
//! no member early.

use std::collections::BTreeMap;

use crate::coordinator::names::{Epoch, GroupId, MemberId};

/// What a timer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TimerKind {
    /// The member's next heartbeat.
    Session,
    /// The member giving up what it was asked for.
    Rebalance,
    /// A classic member's `JoinGroup` after it was told to rebalance.
    Join,
    /// A classic member's `SyncGroup` after its `JoinGroup`.
    Sync,
}

/// What a timer that fired did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimerEffect {
    /// It removed the member.
    Removed,
    /// Nothing: the member is gone, or went on since the timer was armed.
    Nothing,
}

/// A timer that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fired {
    /// When it was due; when it was fired, if by name.
    pub at_ms: i64,
    /// Which one.
    pub kind: TimerKind,
    /// The group.
    pub group_id: GroupId,
    /// The member.
    pub member_id: MemberId,
    /// What it did.
    pub effect: TimerEffect,
    /// The offsets in the log of the records that it wrote.
    pub appended: std::ops::Range<u64>,
}

/// Whose timer it is, and which.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    pub(crate) group_id: GroupId,
    pub(crate) member_id: MemberId,
    pub(crate) kind: TimerKind,
}

/// An armed timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Armed {
    pub(crate) due_ms: i64,
    /// Of two that are due together, the one armed first fires first.
    order: u64,
    /// The member epoch when a rebalance timer was armed.
    pub(crate) epoch: Option<Epoch>,
}

/// All armed timers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timers {
    armed: BTreeMap<TimerKey, Armed>,
    next_order: u64,
}

impl Timers {
    /// Arms a timer, or starts it again.
    pub(crate) fn arm(&mut self, key: TimerKey, due_ms: i64, epoch: Option<Epoch>) {
        let order = self.next_order;
        self.next_order += 1;
        self.armed.insert(key, Armed { due_ms, order, epoch });
    }

    /// Stops a timer.
    pub(crate) fn cancel(&mut self, key: &TimerKey) {
        self.armed.remove(key);
    }

    /// Stops all timers of a member.
    pub(crate) fn cancel_member(&mut self, group_id: &GroupId, member_id: &MemberId) {
        self.armed.retain(|key, _| key.group_id != *group_id || key.member_id != *member_id);
    }

    /// Whether a timer is armed.
    pub(crate) fn is_armed(&self, key: &TimerKey) -> bool {
        self.armed.contains_key(key)
    }

    /// Takes the armed timer out.
    pub(crate) fn take(&mut self, key: &TimerKey) -> Option<Armed> {
        self.armed.remove(key)
    }

    /// Takes out the timer that is due first, if it is due by `now_ms`.
    pub(crate) fn take_due(&mut self, now_ms: i64) -> Option<(TimerKey, Armed)> {
        let (key, armed) = self
            .armed
            .iter()
            .min_by_key(|(_, armed)| (armed.due_ms, armed.order))
            .filter(|(_, armed)| armed.due_ms <= now_ms)
            .map(|(key, armed)| (key.clone(), *armed))?;
        self.armed.remove(&key);
        Some((key, armed))
    }
}
