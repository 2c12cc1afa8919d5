//! The future replica: a copy of the log on another disk of the same broker, which takes the log's place when it has all of
//! it (`docs/replication.md` 2.10; `ReplicaAlterLogDirsThread`, `Partition#maybeReplaceCurrentWithFutureReplica`).
//!
//! It copies with a fetcher of its own, whose questions are calls: one round of it is one step. In each leader epoch it
//! begins by asking where its latest epoch ends, and it is told when the current replica has truncated (the *mark*), unless
//! its disk is away. A broker that has a future replica does not go down here.

use serde::{Deserialize, Serialize};

use super::broker::Turn;
use super::epochs::{EpochEnd, Epochs};
use super::labels::Label;
use super::log::{Log, Offset, Record, UNDEFINED};
use super::mutant::Mutant;
use super::rules::FutureReplica;
use super::truncation::Replica;

/// Where a future replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Disk {
    /// There is none.
    None,
    /// It is there.
    Here,
    /// Its disk is offline.
    Away,
}

/// A future replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Future {
    /// Where it is.
    pub disk: Disk,
    /// The log.
    pub log: Log,
    /// The leader-epoch cache.
    pub epochs: Epochs,
    /// The high watermark.
    pub high: Offset,
    /// Whether it has to truncate before it copies on.
    pub truncating: bool,
    /// Where to fall back to then: its high watermark, or the mark.
    pub fallback: Offset,
    /// Moves that began.
    pub moves: u8,
    /// How often its disk went offline.
    pub outages: u8,
}

impl Future {
    /// No future replica, and none before.
    #[must_use]
    pub fn none() -> Self {
        Self {
            disk: Disk::None,
            log: Log::empty(0),
            epochs: Epochs::default(),
            high: 0,
            truncating: false,
            fallback: 0,
            moves: 0,
            outages: 0,
        }
    }

    /// The bytes that are hashed besides the log's and the epochs'.
    #[must_use]
    pub fn image(&self) -> [u8; 4] {
        [
            self.disk as u8 | u8::from(self.truncating) << 2,
            self.high.cast_unsigned(),
            self.fallback.cast_unsigned(),
            self.moves | self.outages << 4,
        ]
    }
}

impl Turn<'_> {
    /// A move to another disk begins.
    pub(super) fn alter_log_dirs(&mut self) {
        self.mark(Label::FutureBegins);
        let Future { moves, outages, .. } = self.broker.future;
        self.broker.future = Future { disk: Disk::Here, moves: moves + 1, outages, ..Future::none() };
        self.renew_future();
    }

    /// Its fetcher begins anew: a new leader epoch, or its disk is back.
    pub(super) fn renew_future(&mut self) {
        let asks = self.setting.rules(self.me).future != FutureReplica::Marked;
        let future = &mut self.broker.future;
        if future.disk == Disk::Here && asks {
            (future.truncating, future.fallback) = (true, future.high);
        }
    }

    /// The current replica has truncated to this offset.
    pub(super) fn mark_future(&mut self, to: Offset) {
        let future = &mut self.broker.future;
        if future.disk != Disk::Here {
            return;
        }
        let offset = if future.truncating { future.fallback } else { future.log.end };
        (future.truncating, future.fallback) = (true, offset.min(to));
        self.mark(Label::FutureMarked);
    }

    /// Its disk goes offline.
    pub(super) fn disk_offline(&mut self) {
        self.mark(Label::FutureAway);
        let future = &mut self.broker.future;
        (future.disk, future.truncating, future.fallback) = (Disk::Away, false, 0);
        future.outages += 1;
    }

    /// It comes back.
    pub(super) fn disk_online(&mut self) {
        self.mark(Label::FutureBack);
        self.broker.future.disk = Disk::Here;
        self.renew_future();
    }

    /// One round of its fetcher: it truncates, or copies a batch, or takes the current replica's place.
    pub(super) fn copy(&mut self) {
        if self.broker.future.truncating {
            self.truncate_future();
            return;
        }
        let end = self.broker.log.end;
        if self.broker.future.log.end > end {
            // Out of range (2.7): the current replica's log ends below.
            self.cut_future(end);
            return;
        }
        self.copy_batch();
        if self.broker.future.log.end == self.broker.log.end {
            self.replace();
        }
    }

    fn truncate_future(&mut self) {
        let Future { log, epochs, high, fallback, .. } = self.broker.future;
        let rule = self.setting.rules(self.me).future;
        let latest = epochs.latest();
        let (to, finished) = if rule == FutureReplica::Marked || latest == UNDEFINED {
            (fallback, true)
        } else {
            let reply = self.own_epoch_end(latest);
            let reply = if rule == FutureReplica::AsksOnce { EpochEnd { epoch: UNDEFINED, ..reply } } else { reply };
            self.truncation_target(Replica { end: log.end, fallback, high, epochs }, reply)
        };
        self.cut_future(to);
        self.broker.future.truncating = !finished;
        if finished {
            self.broker.future.fallback = 0;
        }
    }

    fn cut_future(&mut self, to: Offset) {
        let future = &mut self.broker.future;
        let cut = future.log.cut(to);
        future.epochs.truncate_from_end(future.log.end);
        future.high = future.high.min(future.log.end);
        if cut {
            self.mark(Label::FutureCut);
        }
    }

    fn copy_batch(&mut self) {
        let current = self.broker.log;
        let from = self.broker.future.log.end;
        let mut last = None;
        for (offset, record) in current.iter().filter(|(offset, _)| *offset >= from) {
            let next_batch = last.is_some() && !record.continues();
            if next_batch {
                break;
            }
            self.append_future(offset, record);
            last = Some(record);
        }
        if last.is_some() {
            self.mark(Label::FutureCopies);
        }
        let high = self.broker.high;
        let future = &mut self.broker.future;
        let bound = if self.setting.has(Mutant::FutureHighUnbounded) { high } else { future.log.end };
        future.high = high.min(bound);
    }

    fn append_future(&mut self, offset: Offset, record: Record) {
        let mut epochs = self.broker.future.epochs;
        if record.epoch() == UNDEFINED {
            epochs.clear();
        } else {
            self.note_epoch_in(&mut epochs, record.epoch(), offset);
        }
        let future = &mut self.broker.future;
        future.epochs = epochs;
        future.log.end_at(offset);
        future.log.append(record);
    }

    /// It takes the current replica's place. An epoch in which nothing was written yet goes with it (KAFKA-15608).
    fn replace(&mut self) {
        self.mark(Label::FutureReplaces);
        let Future { log, mut epochs, moves, outages, .. } = self.broker.future;
        let latest = self.broker.epochs.iter().next_back();
        if let Some((epoch, start)) = latest.filter(|(_, start)| *start == log.end) {
            self.note_epoch_in(&mut epochs, epoch, start);
        }
        self.broker.log = log;
        self.broker.epochs = epochs;
        self.broker.high = self.broker.high.min(log.end);
        self.broker.future = Future { moves, outages, ..Future::none() };
    }
}
