//! Which log the cleaner's thread takes (2.1): whether a log is worth a round, and which of two goes first.
//!
//! `LogCleanerManager#grabFilthiestCompactedLog`, `#maxCompactionDelay`, `#calculateCleanableBytes` and `LogToClean` in
//! Kafka; the maximum lag is KIP-354. The other log has nothing but what the choice needs: one clean batch, and batches of
//! the same key that are dirty until it is cleaned.

use super::bounds::Setting;
use super::broker::Broker;
use super::labels::{Label, Trail};
use super::log::Log;
use super::round;

/// The dirty part of a log's clean and dirty bytes; a batch counts as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// What a round would read from F on.
    pub dirty: u16,
    /// That, and the segments that begin below F. A segment that F is inside of counts in both.
    pub total: u16,
}

impl Share {
    /// The log's, between F and U.
    #[must_use]
    pub fn of(log: &Log, from: u8, bound: u8) -> Self {
        let count = |at: usize| u16::try_from(log.batches_of(at).count()).unwrap_or(u16::MAX);
        let place = |below: u8| log.segments.partition_point(|segment| segment.base < below);
        let clean: u16 = (0..place(from)).map(count).sum();
        let dirty: u16 = (log.segment_of(from)..place(bound)).map(count).sum();
        Self { dirty, total: clean + dirty }
    }

    /// The other log's, of which so many batches are dirty.
    #[must_use]
    pub fn of_other(dirty: u8) -> Self {
        Self { dirty: dirty.into(), total: u16::from(dirty) + 1 }
    }

    /// Whether it is above `min.cleanable.dirty.ratio`, in per cent.
    #[must_use]
    pub fn is_above(self, percent: u8) -> bool {
        self.dirty * 100 > u16::from(percent) * self.total
    }

    /// Whether a log with this share goes before one with that.
    #[must_use]
    pub fn outdoes(self, that: Self) -> bool {
        self.dirty * that.total > that.dirty * self.total
    }
}

/// Whether the log is overdue: a closed segment that is not clean begins with a record older than
/// `max.compaction.lag.ms`.
#[must_use]
pub fn is_overdue(setting: &Setting, log: &Log, from: u8, clock: u8) -> bool {
    let Some(lag) = setting.bounds.max_lag else { return false };
    let closed = log.segment_of(from)..log.segments.len() - 1;
    closed.filter_map(|at| log.batches_of(at).next()).any(|first| log.written_at(first.base) + lag < clock)
}

/// Which row makes a log that has something to clean worth a round, if one does.
#[must_use]
pub fn worth(setting: &Setting, log: &Log, (from, bound): (u8, u8), clock: u8) -> Option<Label> {
    let share = Share::of(log, from, bound);
    match (share.dirty, share.is_above(setting.bounds.dirty_percent)) {
        (0, _) => None,
        (_, true) => Some(Label::ChosenDirty),
        (_, false) => is_overdue(setting, log, from, clock).then_some(Label::ChosenOverdue),
    }
}

/// The logs that the thread may take now: of logs with equal shares either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The log.
    pub this: bool,
    /// The other.
    pub other: bool,
}

/// Whose turn it is. That a log is overdue makes it worth a round, and gives it no precedence.
#[must_use]
pub fn turn(setting: &Setting, broker: &Broker) -> Turn {
    let this = broker
        .world
        .compacts
        .then(|| round::choose(setting, &broker.log, broker.clock, &mut Trail::default()))
        .flatten();
    if setting.bounds.other == 0 {
        return Turn { this: this.is_some(), other: false };
    }
    let this = this.map(|(from, bound)| Share::of(&broker.log, from, bound));
    let other = Share::of_other(broker.world.other);
    match (this, other.is_above(setting.bounds.dirty_percent)) {
        (None, other) => Turn { this: false, other },
        (Some(_), false) => Turn { this: true, other: false },
        (Some(this), true) => Turn { this: !other.outdoes(this), other: !this.outdoes(other) },
    }
}

/// Whether the other log can be written to.
#[must_use]
pub fn other_is_written(setting: &Setting, broker: &Broker) -> bool {
    broker.world.other < setting.bounds.other
        && setting.bounds.other_writes.is_none_or(|most| broker.world.other_writes < most)
}

/// Whether this log can be left as it is for ever: nothing is left to write, no time to pass, and the thread need not take
/// it. The other log, where it is written without end, can be as dirty again each time that the thread chooses.
#[must_use]
pub fn is_left_alone(setting: &Setting, broker: &Broker) -> bool {
    let bounds = &setting.bounds;
    let turn = turn(setting, broker);
    broker.round.is_none()
        && broker.log.end >= bounds.offsets
        && broker.clock == bounds.clock
        && !turn.this
        && (bounds.other_writes.is_none() || !turn.other && !other_is_written(setting, broker))
}

/// Whether a record between these offsets was written longer ago than somebody waits.
#[must_use]
pub fn has_waited(setting: &Setting, broker: &Broker, from: u8, bound: u8) -> bool {
    let Some(patience) = setting.bounds.patience else { return false };
    let log = &broker.log;
    let mut closed = log.batches.iter().filter(|batch| from <= batch.base && batch.base < bound);
    closed.any(|batch| log.written_at(batch.base) + patience < broker.clock)
}
