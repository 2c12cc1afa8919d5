//! What a leader does: fetches, the high watermark, the in-sync set, appends (`docs/replication.md` 3.1 to 3.5, 4.3 to
//! 4.6; `Partition`, `ReplicaManager`).

use super::broker::{Parked, Remote, Turn, wrong};
use super::controller::{bit, members};
use super::epochs::{EpochEnd, Epochs};
use super::labels::Label;
use super::log::{Epoch, Log, Offset, Record, UNDEFINED};
use super::message::{Altered, Fetched, Msg, Refusal, Sent};
use super::mutant::Mutant;
use super::rules::{Fence, Truncation};

impl Turn<'_> {
    /// The check of a request's leader epoch: the table of 3.1, in its order.
    fn check_leader_epoch(&mut self, epoch: Epoch, leader_required: bool) -> Result<(), Refusal> {
        let own = self.broker.leader_epoch;
        let (label, refusal) = if own == UNDEFINED {
            (Label::CheckNoPartition, Refusal::UnknownTopicOrPartition)
        } else if epoch != UNDEFINED && own > epoch {
            (Label::CheckFenced, Refusal::FencedLeaderEpoch)
        } else if epoch != UNDEFINED && own < epoch {
            (Label::CheckUnknown, Refusal::UnknownLeaderEpoch)
        } else if leader_required && !self.broker.leads() {
            (Label::CheckNotLeader, Refusal::NotLeaderOrFollower)
        } else {
            return Ok(());
        };
        self.mark(label);
        Err(refusal)
    }

    /// What a fetch of `from` to this broker carries: the leader epoch, and the last fetched epoch.
    fn carried(&self, from: u8, sent: Sent) -> (Epoch, Epoch) {
        let (theirs, ours) = (self.setting.rules(from), self.setting.rules(self.me));
        let fenced = theirs.fence == Fence::Current && ours.fence == Fence::Current;
        let compared = theirs.compares() && ours.compares();
        (if fenced { sent.epoch } else { UNDEFINED }, if compared { sent.last } else { UNDEFINED })
    }

    /// Reads for a follower: 3.2 steps 1 to 5.
    fn read(&mut self, from: u8, sent: Sent) -> Fetched {
        let (epoch, last) = self.carried(from, sent);
        if let Err(refusal) = self.check_leader_epoch(epoch, true) {
            return Fetched::Error(refusal);
        }
        let (high, end) = (self.broker.high, self.broker.log.end);
        if last != UNDEFINED {
            match self.divergence(sent.offset, last) {
                Ok(None) => {}
                Ok(Some(at)) => return Fetched::Diverging { at, high },
                Err(refusal) => return Fetched::Error(refusal),
            }
        }
        if sent.offset > end {
            self.mark(Label::FetchAboveEnd);
            return Fetched::Error(Refusal::OffsetOutOfRange);
        }
        Fetched::Records { records: self.broker.log.from(sent.offset), high }
    }

    /// Where the follower's log parts from this one: the table of 3.3, in its order. Its row 2 is left out, since a log's start
    /// does not move here.
    fn divergence(&mut self, offset: Offset, last: Epoch) -> Result<Option<EpochEnd>, Refusal> {
        let end = self.own_epoch_end(last);
        if end.epoch == UNDEFINED || end.end == UNDEFINED {
            self.mark(Label::DivergeUndefined);
            Err(Refusal::OffsetOutOfRange)
        } else if end.epoch < last {
            self.mark(Label::DivergeEpoch);
            Ok(Some(end))
        } else if end.end < offset {
            self.mark(Label::DivergeOffset);
            Ok(Some(end))
        } else {
            self.mark(Label::DivergeNot);
            Ok(None)
        }
    }

    /// Where an epoch ends in the own log.
    pub(super) fn own_epoch_end(&mut self, epoch: Epoch) -> EpochEnd {
        let (epochs, end) = (self.broker.epochs, self.broker.log.end);
        self.epoch_end_in(&epochs, end, epoch)
    }

    /// Where an epoch ends in a log that has these epochs.
    pub(super) fn epoch_end_in(&mut self, epochs: &Epochs, end: Offset, epoch: Epoch) -> EpochEnd {
        if epoch > epochs.latest() && self.setting.has(Mutant::FutureEpochEndsAtLogEnd) {
            return EpochEnd { epoch, end };
        }
        epochs.end_of(epoch, end, &mut self.effect.trail)
    }

    /// A follower fetches: 3.2 steps 6 and 7.
    pub(super) fn fetch(&mut self, from: u8, sent: Sent, broker_epoch: u8, log: &Log) {
        let end = self.broker.log.end;
        let mut answer = self.read(from, sent);
        match answer {
            Fetched::Records { .. } => {
                let agrees = log.end <= end && self.broker.log.common_end(log) == log.end.max(self.broker.log.start);
                if sent.epoch == self.broker.leader_epoch && !agrees {
                    self.broker.wrong |= wrong::P3;
                }
                if let Err(refusal) = self.update_follower(from, sent.offset, end, broker_epoch) {
                    answer = Fetched::Error(refusal);
                }
            }
            Fetched::Diverging { .. } if self.setting.has(Mutant::DivergingCounted) => {
                let _ = self.update_follower(from, sent.offset, end, broker_epoch);
            }
            _ => {}
        }
        match answer {
            Fetched::Records { records, .. } if records.start >= records.end && self.park(from, sent) => {
                self.mark(Label::FetchParked);
                return;
            }
            Fetched::Records { .. } => self.mark(Label::FetchAnswered),
            _ => {}
        }
        self.send(from, Msg::FetchReply { sent, answer });
    }

    /// Whether there was room for it.
    fn park(&mut self, from: u8, sent: Sent) -> bool {
        let Some(place) = self.broker.parked.iter_mut().find(|parked| **parked == Parked::NONE) else { return false };
        *place = Parked { from, sent };
        self.broker.parked.sort_unstable();
        true
    }

    /// Reads again for the fetches that wait, without taking note of them; answers those that get something.
    pub(super) fn complete_parked(&mut self) {
        for place in 0..self.broker.parked.len() {
            let Parked { from, sent } = self.broker.parked[place];
            if self.broker.parked[place] == Parked::NONE {
                continue;
            }
            let answer = self.read(from, sent);
            match answer {
                Fetched::Records { records, .. } if records.start >= records.end => continue,
                Fetched::Records { .. } => self.mark(Label::ParkedAnswered),
                _ => self.mark(Label::ParkedRefused),
            }
            self.broker.parked[place] = Parked::NONE;
            self.send(from, Msg::FetchReply { sent, answer });
        }
        self.broker.parked.sort_unstable();
    }

    /// The wait time of a parked fetch is over.
    pub(super) fn expire(&mut self, place: u8) {
        let Some(parked) = self.broker.parked.get_mut(usize::from(place)) else { return };
        let Parked { from, sent } = std::mem::replace(parked, Parked::NONE);
        self.broker.parked.sort_unstable();
        self.mark(Label::ParkedExpired);
        let answer = self.read(from, sent);
        self.send(from, Msg::FetchReply { sent, answer });
    }

    /// Takes note of where a follower's log ends: 4.4.
    fn update_follower(&mut self, from: u8, offset: Offset, end: Offset, broker_epoch: u8) -> Result<(), Refusal> {
        let place = usize::from(from);
        // A broker that is fenced has no epoch here (`MetadataCache#getAliveBrokerEpoch`).
        let alive = self.broker.fenced & bit(from) == 0;
        let stale = alive && self.broker.broker_epochs[place] > broker_epoch;
        if stale && !self.setting.has(Mutant::BrokerEpochUnchecked) {
            self.mark(Label::FetchStaleBroker);
            return Err(Refusal::NotLeaderOrFollower);
        }
        let before = self.broker.remotes[place];
        let mut remote = Remote { end: offset, broker_epoch, ..before };
        if offset >= end {
            self.mark(Label::UpdateCaughtUp);
            remote.caught_up = true;
        } else if before.end_at_fetch != UNDEFINED && offset >= before.end_at_fetch {
            self.mark(Label::UpdateCaughtUpEarlier);
            remote.caught_up = true;
        } else {
            self.mark(Label::UpdateLags);
        }
        remote.end_at_fetch = if remote.caught_up { UNDEFINED } else { before.end_at_fetch.max(end) };
        if offset < before.end {
            self.mark(Label::UpdateDown);
        }
        self.broker.remotes[place] = remote;
        self.maybe_expand(from);
        if offset != before.end && self.maybe_raise_high() {
            // Those that wait are looked at, and answered if they are to be refused by now: a risen high watermark alone is
            // no reason to answer a follower.
            self.complete_parked();
        }
        Ok(())
    }

    /// Raises the high watermark as far as the rule lets it: 4.3.
    pub(super) fn maybe_raise_high(&mut self) -> bool {
        let min_isr = self.setting.bounds.effective_min_isr();
        if self.broker.isr.count_ones() < min_isr && !self.setting.has(Mutant::HighWatermarkBelowMinIsr) {
            self.mark(Label::HighBelowMinIsr);
            return false;
        }
        let end = self.broker.log.end;
        let maximal = if self.setting.has(Mutant::CommittedIsr) { self.broker.isr } else { self.broker.maximal_isr() };
        let mut candidate = end;
        for other in 0..self.setting.bounds.brokers {
            if other == self.me {
                continue;
            }
            let remote = self.broker.remotes[usize::from(other)];
            let caught_up = remote.end == end || remote.caught_up;
            if maximal & bit(other) == 0 && !(caught_up && self.is_eligible(other)) {
                continue;
            }
            if remote.end < candidate {
                candidate = remote.end;
                if remote.end == UNDEFINED {
                    self.mark(Label::HighWaitsUnknown);
                } else if maximal & bit(other) == 0 {
                    self.mark(Label::HighWaitsCaughtUp);
                } else if self.broker.isr & bit(other) == 0 {
                    self.mark(Label::HighWaitsMaximal);
                }
            }
        }
        if candidate <= self.broker.high {
            return false;
        }
        self.mark(Label::HighRises);
        self.set_leader_high(candidate);
        true
    }

    /// Proposes to add a follower, if it may join: 4.5.
    fn maybe_expand(&mut self, other: u8) {
        if self.broker.isr & bit(other) != 0 {
            return;
        }
        let remote = self.broker.remotes[usize::from(other)];
        let below_start = remote.end < self.broker.epoch_start && !self.setting.has(Mutant::EpochStartIgnored);
        if self.broker.pending != 0 || self.broker.in_flight {
            self.mark(Label::ExpandPending);
        } else if remote.end < self.broker.high {
            self.mark(Label::ExpandBelowHigh);
        } else if below_start {
            self.mark(Label::ExpandBelowEpochStart);
        } else if !self.is_eligible(other) {
            let fenced = self.broker.inactive & bit(other) != 0;
            self.mark(if fenced { Label::ExpandFenced } else { Label::ExpandStale });
        } else {
            self.mark(Label::Expand);
            self.propose(self.broker.isr | bit(other));
        }
    }

    /// The lag time passes; members that lag are to leave: 4.5.
    pub(super) fn lag_time_passes(&mut self) {
        self.broker.lags += 1;
        let end = self.broker.log.end;
        for remote in &mut self.broker.remotes {
            remote.caught_up = false;
            remote.end_at_fetch = UNDEFINED;
        }
        let strict = self.setting.has(Mutant::LagUnseenAtEqualEnd);
        let lags = |other: &u8| *other != self.me && (strict || self.broker.remotes[usize::from(*other)].end != end);
        let lagging = members(self.broker.isr).filter(lags).fold(0, |set, other| set | bit(other));
        if lagging == 0 || self.broker.pending != 0 || self.broker.in_flight {
            self.mark(Label::ShrinkNobody);
        } else {
            self.mark(Label::Shrink);
            self.propose(self.broker.isr & !lagging);
        }
    }

    /// The pending set is noted before the request goes out (10.4).
    fn propose(&mut self, isr: u8) {
        self.broker.pending = isr;
        self.broker.in_flight = true;
        self.send_proposal();
    }

    fn send_proposal(&mut self) {
        let isr = self.broker.pending;
        let mut broker_epochs = [0; super::log::MAX_BROKERS];
        for member in members(isr) {
            let place = usize::from(member);
            broker_epochs[place] =
                if member == self.me { self.broker.broker_epoch } else { self.broker.remotes[place].broker_epoch };
        }
        let msg = Msg::AlterPartition {
            epoch: self.broker.leader_epoch,
            partition_epoch: self.broker.partition_epoch,
            isr,
            broker_epochs,
            broker_epoch: self.broker.broker_epoch,
        };
        let controller = self.controller();
        self.send(controller, msg);
    }

    /// The controller answers a proposal: the table of 4.5, in its order.
    pub(super) fn alter_reply(&mut self, broker_epoch: u8, answer: Result<Altered, Refusal>) {
        if broker_epoch != self.broker.broker_epoch {
            self.mark(Label::AlterIgnoredOther);
            return;
        }
        self.broker.in_flight = false;
        if self.broker.pending == 0 {
            self.mark(Label::AlterIgnoredOther);
            return;
        }
        match answer {
            Ok(altered)
                if altered.epoch != self.broker.leader_epoch
                    || altered.partition_epoch < self.broker.partition_epoch =>
            {
                self.broker.in_flight = true;
            }
            Ok(altered) => {
                self.mark(Label::AlterCommitted);
                self.broker.isr = altered.isr;
                self.broker.pending = 0;
                self.broker.partition_epoch = altered.partition_epoch;
                if self.maybe_raise_high() {
                    self.complete_parked();
                }
            }
            Err(Refusal::IneligibleReplica) => {
                self.mark(Label::AlterRolledBack);
                self.broker.pending = 0;
            }
            Err(Refusal::NotController | Refusal::StaleBrokerEpoch) => {
                self.broker.in_flight = true;
                self.send_proposal();
            }
            Err(_) => self.mark(Label::AlterWaits),
        }
    }

    /// A client produces a batch of so many records with acks=all: 4.6. It waits for the last of them.
    pub(super) fn produce(&mut self, records: u8) {
        self.mark(Label::Appended);
        let old_format = self.setting.is_old_format(self.me);
        let epoch = if old_format { UNDEFINED } else { self.broker.leader_epoch };
        self.note_epoch(epoch, self.broker.log.end);
        for place in 0..records {
            let broker = &mut *self.broker;
            broker.log.append(Record::written(epoch, self.me, broker.written, place > 0));
            broker.written += 1;
        }
        let end = self.broker.log.end;
        self.broker.waiting |= super::broker::below(end) & !super::broker::below(end - 1);
        if self.maybe_raise_high() {
            self.mark(Label::AckedAtOnce);
        }
        self.complete_parked();
    }

    /// Notes where an epoch starts, by the broker's rule.
    pub(super) fn note_epoch(&mut self, epoch: Epoch, offset: Offset) {
        let mut epochs = self.broker.epochs;
        self.note_epoch_in(&mut epochs, epoch, offset);
        self.broker.epochs = epochs;
    }

    /// The same in the epochs of some log of the broker's. It keeps none where its message format has none.
    pub(super) fn note_epoch_in(&mut self, epochs: &mut Epochs, epoch: Epoch, offset: Offset) {
        if self.setting.is_old_format(self.me) {
            return;
        }
        if self.setting.rules(self.me).truncation == Truncation::AsksOnce {
            epochs.assign_rising(epoch, offset);
        } else {
            epochs.assign(epoch, offset, &mut self.effect.trail);
        }
    }

    /// `OffsetsForLeaderEpoch`: 3.4.
    pub(super) fn epoch_end(&mut self, from: u8, sent: Sent) {
        let (theirs, ours) = (*self.setting.rules(from), *self.setting.rules(self.me));
        let epoch = if theirs.asks_fenced && ours.asks_fenced { sent.epoch } else { UNDEFINED };
        let old = matches!(ours.truncation, Truncation::AsksOnce | Truncation::HighWatermark);
        let required = !self.setting.has(Mutant::FollowerAnswers);
        // Version 1 is of 2.0, and version 2, which carries the leader epoch, of 2.1.
        let knows_fencing = ours.asks_fenced || ours.asks_v0 && !old;
        let answer = if old && !theirs.asks_v0 || theirs.asks_fenced && !knows_fencing {
            self.mark(Label::EpochEndUnsupported);
            Err(Refusal::UnsupportedVersion)
        } else if let Err(refusal) = self.check_leader_epoch(epoch, required) {
            Err(refusal)
        } else if old {
            Ok(self.broker.epochs.end_of_kip101(sent.last, self.broker.log.end))
        } else {
            Ok(self.own_epoch_end(sent.last))
        };
        let answer = answer.map(|end| {
            self.mark(match end {
                EpochEnd { end: UNDEFINED, .. } => Label::EpochEndUndefined,
                _ if theirs.asks_v0 => Label::EpochEndVersion0,
                _ => Label::EpochEndAnswered,
            });
            if theirs.asks_v0 { EpochEnd { epoch: UNDEFINED, ..end } } else { end }
        });
        self.send(from, Msg::EpochEndReply { sent, answer });
    }

    /// `ListOffsets` of a follower: 3.5.
    pub(super) fn list_offsets(&mut self, from: u8, sent: Sent, earliest: bool) {
        let (epoch, _) = self.carried(from, sent);
        let answer = self.check_leader_epoch(epoch, true).map(|()| {
            self.mark(if earliest { Label::ListEarliest } else { Label::ListLatest });
            if earliest { self.broker.log.start } else { self.broker.log.end }
        });
        self.send(from, Msg::ListOffsetsReply { sent, earliest, answer });
    }
}
