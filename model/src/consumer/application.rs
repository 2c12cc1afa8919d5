//! What the application takes the log for, and what it was promised: the ghosts of the consumer.
//!
//! *View*: the last record handed out at each offset, until the application is told that something was lost. *Seen*: all
//! that it was ever handed. A fault is noted in the step that makes it.

use super::bounds::Setting;
use super::client::Client;
use super::log::{Epoch, Log, Offset, Record};

/// The faults.
pub mod fault {
    /// P5-told: a record follows on one that the leader does not have, and nothing was said.
    pub const TOLD: u16 = 1;
    /// P5-java: a position holds although the leader has fewer records of epochs up to its own.
    pub const JAVA: u16 = 1 << 1;
    /// P5-calm: the application is told of a loss, and nothing that it read is lost.
    pub const CALM: u16 = 1 << 2;
    /// P5-range: an offset is out of range, and nothing that was read is lost.
    pub const RANGE: u16 = 1 << 3;
    /// P5-ALO: a record of the log is passed by.
    pub const SKIPPED: u16 = 1 << 4;
    /// P5-exception: an application that wants to be told is moved, or told wrongly.
    pub const UNTOLD: u16 = 1 << 5;
    /// P5-errors: the application sees an error about a leader epoch.
    pub const ERROR: u16 = 1 << 6;
    /// P5-zombie: records come from an epoch that is older than what was heard.
    pub const ZOMBIE: u16 = 1 << 7;
    /// P7d: a validation can't end.
    pub const STUCK: u16 = 1 << 8;
}

impl Client {
    /// A record is handed out, from a broker that has `log`.
    pub(super) fn hand_out(&mut self, setting: &Setting, log: Log, ghost: (u8, Epoch), offset: Offset, record: Record) {
        if std::mem::take(&mut self.warned) {
            // What it was told of, it does not count on.
            self.view = Log::default();
        }
        // What is below, and was read, has to be what the leader has.
        if (0..offset).any(|at| self.differs(log, at)) {
            self.faults |= fault::TOLD;
        }
        if ghost < self.heard {
            self.faults |= fault::ZOMBIE;
        }
        let below = log.iter().filter(|(at, _)| (self.base..offset).contains(at));
        let missed = below.filter(|(at, record)| !self.seen.has(*at, *record)).count();
        if missed > 0 {
            self.faults |= fault::SKIPPED;
        }
        self.view.set(offset, record);
        let again = self.seen.note(offset, record);
        if setting.bounds.counts {
            self.counts[0] += u8::from(again);
            self.counts[1] = self.counts[1].max(u8::try_from(missed).unwrap_or(u8::MAX));
        }
    }

    /// Whether the application takes the log for something else at this offset than a broker has.
    fn differs(&self, log: Log, at: Offset) -> bool {
        self.view.get(at).is_some_and(|read| log.get(at) != Some(read))
    }

    /// A marker, or a record of an aborted transaction, is passed over.
    pub(super) fn pass(&mut self, offset: Offset, record: Record) {
        self.view.set(offset, record);
        self.seen.note(offset, record);
    }

    /// A validation says that the position holds; the leader has `log`.
    pub(super) fn accept(&mut self, log: Option<Log>) {
        let Some(log) = log else { return };
        let known = log.iter().filter(|(_, record)| record.epoch() <= self.position.epoch).count();
        if Offset::try_from(known).unwrap_or(Offset::MAX) < self.position.offset {
            self.faults |= fault::JAVA;
        }
    }

    /// The application is told that something is lost: by an exception, a reset, or a position that moves. `log`: what
    /// the leader has, where that is known.
    pub(super) fn told(&mut self, log: Option<Log>) {
        if let Some(log) = log {
            let before = self.position.offset - 1;
            let own = Record::new(self.position.epoch, super::log::Kind::Plain, self.topic);
            // The position may be one of long ago: what was read there is lost then, too.
            let gone = self.seen.has(before, own) && log.get(before).is_none_or(|record| record.epoch() != own.epoch());
            let lost = (0..8).any(|at| self.differs(log, at)) || gone;
            if !lost && !self.warned {
                self.faults |= fault::CALM;
            }
        }
        self.warned = true;
    }

    /// The application is told where the record has its place that it read before its position: what is below is there.
    pub(super) fn told_place(&mut self, offset: Offset) {
        self.view.cut(offset);
        self.warned = false;
    }

    /// The position is out of range.
    pub(super) fn out_of_range(&mut self) {
        if !self.warned && self.view == Log::default() {
            self.faults |= fault::RANGE;
        }
    }
}
