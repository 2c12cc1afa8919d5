//! What a follower does: its fetcher, and how it truncates (`docs/replication.md` 2; `AbstractFetcherThread`).
//!
//! The fetcher to each broker is a thread of its own with one request that is not answered yet. It sends the next one
//! within the step that makes it ready, unless that broker still owes an answer, or the partition backs off.

use super::broker::{Entry, Phase, Role, Turn, rounds, wrong};
use super::controller::NOBODY;
use super::epochs::EpochEnd;
use super::labels::Label;
use super::log::{Log, Offset, Record, UNDEFINED};
use super::message::{Fetched, Msg, Refusal, Sent};
use super::mutant::Mutant;
use super::rules::{ReplyMatch, Truncation};

impl Turn<'_> {
    /// Begins to follow in a new leader epoch: the table of 2.2, in its order.
    pub(super) fn begin_to_follow(&mut self, new_leader: bool) {
        let epoch = self.broker.leader_epoch;
        let latest = self.broker.epochs.latest();
        let rounds = rounds(&self.broker.epochs);
        let entry =
            Entry { phase: Phase::Fetching, offset: self.broker.log.end, last: latest, epoch, delayed: false, rounds };
        if self.setting.has(Mutant::FollowsNewLeaderOnly) && !new_leader && self.broker.entry.phase != Phase::Idle {
            self.broker.entry.epoch = epoch;
            self.send_next();
            return;
        }
        self.broker.entry = match self.setting.rules(self.me).truncation {
            Truncation::HighWatermark => {
                if new_leader {
                    self.mark(Label::FollowHighWatermark);
                    self.truncate(self.broker.high, true);
                }
                Entry { offset: self.broker.log.end, last: UNDEFINED, ..entry }
            }
            Truncation::OnFetch if latest != UNDEFINED => {
                self.mark(Label::FollowFetching);
                entry
            }
            _ => {
                self.mark(if latest == UNDEFINED { Label::FollowNoEpoch } else { Label::FollowTruncating });
                Entry { phase: Phase::Truncating, offset: self.broker.high, last: UNDEFINED, ..entry }
            }
        };
        self.send_next();
    }

    /// Sends the next request, if the fetcher is ready.
    pub(super) fn send_next(&mut self) {
        let leader = self.broker.leader;
        if self.broker.role != Role::Follower || leader == NOBODY || self.broker.entry.delayed {
            return;
        }
        if self.broker.outstanding[usize::from(leader)] != 0 {
            return;
        }
        let latest = self.broker.epochs.latest();
        if self.broker.entry.phase == Phase::Truncating && latest == UNDEFINED {
            let to = self.broker.entry.offset;
            self.broker.entry.offset = self.truncate(to, true);
            self.broker.entry.phase = Phase::Fetching;
        }
        let entry = self.broker.entry;
        let mut sent = Sent { round: self.broker.round, epoch: entry.epoch, offset: entry.offset, last: entry.last };
        let msg = match entry.phase {
            Phase::Idle | Phase::Failed => return,
            Phase::Truncating => {
                sent.last = latest;
                Msg::EpochEndRequest { sent }
            }
            Phase::Fetching => Msg::Fetch { sent, broker_epoch: self.broker.broker_epoch, log: self.broker.log },
            Phase::Latest => Msg::ListOffsets { sent, earliest: false },
            Phase::Earliest => Msg::ListOffsets { sent, earliest: true },
        };
        self.broker.outstanding[usize::from(leader)] = self.broker.round + 1;
        self.send(leader, msg);
    }

    /// The back-off is over, or the fetcher begins.
    pub(super) fn poll(&mut self) {
        self.broker.entry.delayed = false;
        self.send_next();
    }

    /// A request is given up.
    pub(super) fn fail(&mut self, peer: u8) {
        self.mark(Label::Failed);
        self.broker.outstanding[usize::from(peer)] = 0;
        self.broker.round += 1;
        if peer == self.broker.leader {
            self.retry();
        }
        self.send_next();
    }

    fn retry(&mut self) {
        let entry = &mut self.broker.entry;
        if entry.phase == Phase::Idle || entry.phase == Phase::Failed {
            return;
        }
        entry.delayed = true;
        // The procedure is begun anew by the next fetch.
        if matches!(entry.phase, Phase::Latest | Phase::Earliest) {
            entry.phase = Phase::Fetching;
        }
        self.mark(Label::ErrorRetried);
    }

    /// Whether the answer is to the request that the thread waits for. If so, the thread is free.
    fn is_awaited(&mut self, from: u8, sent: Sent) -> bool {
        let place = usize::from(from);
        if self.broker.outstanding[place] != sent.round + 1 {
            self.mark(Label::ReplyOld);
            return false;
        }
        self.broker.outstanding[place] = 0;
        true
    }

    fn follows(&self, from: u8) -> bool {
        self.broker.role == Role::Follower && self.broker.leader == from && !self.broker.entry.delayed
    }

    /// The answer to a fetch: the tables of 2.6 and 3.6.
    pub(super) fn fetch_reply(&mut self, from: u8, sent: Sent, answer: Fetched) {
        if !self.is_awaited(from, sent) {
            return;
        }
        let entry = self.broker.entry;
        if !self.follows(from) || entry.phase != Phase::Fetching {
            self.mark(Label::ReplyNotReady);
        } else if entry.offset != sent.offset {
            self.mark(Label::ReplyOtherOffset);
        } else if entry.epoch != sent.epoch && self.setting.rules(self.me).reply == ReplyMatch::OffsetAndEpoch {
            self.mark(Label::ReplyOtherEpoch);
        } else {
            match answer {
                Fetched::Records { records, high } => self.append_fetched(&records, high),
                Fetched::Diverging { at, high } => self.diverged(at, high),
                Fetched::Error(Refusal::OffsetOutOfRange) => {
                    self.mark(Label::ErrorRange);
                    self.count_round();
                    self.broker.entry.phase = Phase::Latest;
                }
                Fetched::Error(refusal) => self.refused(refusal, sent),
            }
        }
        self.send_next();
    }

    /// A refusal: the table of 3.6.
    fn refused(&mut self, refusal: Refusal, sent: Sent) {
        if refusal == Refusal::FencedLeaderEpoch && sent.epoch == self.broker.entry.epoch {
            self.mark(Label::ErrorFenced);
            self.broker.entry.phase = Phase::Failed;
        } else {
            self.retry();
        }
    }

    /// Records arrive: 1.7, and the end of 2.6.
    fn append_fetched(&mut self, records: &Log, high: Offset) {
        if self.broker.entry.offset != self.broker.log.end {
            self.broker.entry.phase = Phase::Failed;
            return;
        }
        let rules = *self.setting.rules(self.me);
        let mut last = None;
        if !self.takes_first_batch(records) {
            return;
        }
        for (offset, record) in records.iter() {
            if rules.cuts_newer && record.epoch() > self.broker.entry.epoch {
                break;
            }
            self.append_follower(offset, record);
            last = Some(record.epoch());
        }
        let (start, end) = (self.broker.log.start, self.broker.log.end);
        let taken = high.clamp(start, end);
        self.mark(Label::HighFromReply);
        if taken < self.broker.high {
            self.mark(Label::HighFalls);
        }
        self.broker.high = taken;
        let rounds = rounds(&self.broker.epochs);
        let entry = &mut self.broker.entry;
        entry.offset = end;
        entry.rounds = rounds;
        if let Some(last) = last {
            entry.last = last;
            self.mark(Label::ReplyRecords);
        } else {
            if self.setting.has(Mutant::LastEpochLost) {
                entry.last = UNDEFINED;
            }
            self.mark(Label::ReplyEmpty);
        }
    }

    /// Ghost of P7b: one more answer that is none.
    fn count_round(&mut self) {
        match self.broker.entry.rounds.checked_sub(1) {
            Some(rounds) => self.broker.entry.rounds = rounds,
            None => self.broker.wrong |= wrong::P7B,
        }
    }

    /// Whether the first batch can be appended (1.7). After a cut inside a batch the leader's may begin below the log's end
    /// (2.8). The log is not empty then, since its start does not move here: the partition fails.
    fn takes_first_batch(&mut self, records: &Log) -> bool {
        let taken = records.iter().next().is_none_or(|(base, _)| base >= self.broker.log.end);
        if !taken {
            let cut = self.broker.log.get(self.broker.log.end - 1).is_none();
            self.mark(if cut { Label::BatchInHole } else { Label::BatchBelowEnd });
            self.broker.entry.phase = Phase::Failed;
        }
        taken
    }

    fn append_follower(&mut self, offset: Offset, record: Record) {
        if record.epoch() == UNDEFINED {
            // KAFKA-7601: a record of an old format makes the epochs worthless.
            if !self.broker.epochs.is_empty() {
                self.mark(Label::OldFormat);
            }
            self.broker.epochs.clear();
        } else {
            self.note_epoch(record.epoch(), offset);
        }
        // The leader's log may have a hole there.
        self.broker.log.end_at(offset);
        self.broker.log.append(record);
    }

    /// The leader says that the logs part: 2.6.
    fn diverged(&mut self, at: EpochEnd, high: Offset) {
        self.mark(Label::ReplyDiverging);
        if self.setting.has(Mutant::DivergingHighWatermark) {
            self.broker.high = high.clamp(self.broker.log.start, self.broker.log.end);
        }
        self.count_round();
        let (to, finished) = self.truncation_target(self.follower(), at);
        self.broker.entry.offset = self.truncate(to, finished);
        self.broker.entry.last = self.broker.epochs.latest();
    }

    /// The answer to `OffsetsForLeaderEpoch`: the tables of 2.5 and 3.6.
    pub(super) fn epoch_end_reply(&mut self, from: u8, sent: Sent, answer: Result<EpochEnd, Refusal>) {
        if !self.is_awaited(from, sent) {
            return;
        }
        let entry = self.broker.entry;
        if !self.follows(from) || entry.phase != Phase::Truncating {
            self.mark(Label::ReplyNotReady);
        } else if entry.epoch != sent.epoch && !self.setting.has(Mutant::AnswerOfAnyEpoch) {
            self.mark(Label::ReplyEpochChanged);
        } else {
            match answer {
                Ok(reply) => {
                    let (to, finished) = self.truncation_target(self.follower(), reply);
                    let on = self.truncate(to, finished);
                    let latest = self.broker.epochs.latest();
                    let entry = &mut self.broker.entry;
                    (entry.offset, entry.last) = (on, latest);
                    if finished {
                        entry.phase = Phase::Fetching;
                    } else {
                        self.count_round();
                    }
                }
                Err(refusal) => self.refused(refusal, sent),
            }
        }
        self.send_next();
    }

    /// The answer to `ListOffsets`: 2.7.
    pub(super) fn list_offsets_reply(&mut self, from: u8, sent: Sent, earliest: bool, answer: Result<Offset, Refusal>) {
        if !self.is_awaited(from, sent) {
            return;
        }
        let entry = self.broker.entry;
        let awaited = if earliest { Phase::Earliest } else { Phase::Latest };
        if !self.follows(from) || entry.phase != awaited || entry.epoch != sent.epoch {
            self.mark(Label::ReplyNotReady);
        } else {
            match answer {
                Ok(offset) => self.in_range(earliest, offset),
                Err(refusal) => self.refused(refusal, sent),
            }
        }
        self.send_next();
    }

    fn in_range(&mut self, earliest: bool, offset: Offset) {
        let end = self.broker.log.end;
        if !earliest && offset >= end {
            self.broker.entry.phase = Phase::Earliest;
            return;
        }
        if earliest {
            self.mark(Label::RangeNothing);
        } else {
            self.mark(Label::RangeLatestBelow);
            self.truncate(offset, true);
        }
        self.broker.entry.phase = Phase::Fetching;
        self.broker.entry.offset = self.broker.log.end;
        self.broker.entry.last = self.broker.epochs.latest();
    }
}
