//! A broker as a consumer sees it: a log with its epochs, a high watermark, and what it answers.
//!
//! Rules: `docs/replication.md` 1.3 (epoch cache), 3.1 (the check of the leader epoch), 3.4 and 3.5;
//! `Partition#checkCurrentLeaderEpoch`, `ReplicaManager#lastOffsetForLeaderEpoch`, `Partition#fetchOffsetForTimestamp`.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::bounds::Setting;
use super::labels::{Label, Trail};
use super::log::{Epoch, EpochEnd, Epochs, Kind, Log, Offset, Record, UNDEFINED};
use super::message::{Fetch, Fetched, NOBODY, Refusal, Spec};
use super::mutant::Mutant;
use crate::replication::labels::Trail as CacheTrail;

/// A broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// Its log.
    pub log: Log,
    /// Its epoch cache.
    pub epochs: Epochs,
    /// Its high watermark.
    pub high: Offset,
    /// The leader epoch in which it leads or follows.
    pub leader_epoch: Epoch,
    /// Whether it leads.
    pub leads: bool,
    /// Whether it is the only in-sync replica, as a leader.
    pub alone: bool,
    /// The topic: 0, or 1 once it was created anew.
    pub topic: u8,
}

impl Hash for Broker {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.log.word());
        let mut image = [0; 10];
        image[..7].copy_from_slice(&self.epochs.image());
        image[7] = self.high.cast_unsigned();
        image[8] = self.leader_epoch.cast_unsigned();
        image[9] = u8::from(self.leads) | u8::from(self.alone) << 1 | self.topic << 2;
        hasher.write(&image);
    }
}

/// The time of a record: later in a later epoch, and at a later offset.
fn time(offset: Offset, record: Record) -> Offset {
    10 * record.epoch() + offset
}

impl Broker {
    /// A replica that has `end` records of the first epoch, up to `high` of them committed.
    #[must_use]
    pub fn new(setting: &Setting, end: u8, high: u8, leads: bool) -> Self {
        let mut broker = Self {
            log: Log::default(),
            epochs: Epochs::default(),
            high: 0,
            leader_epoch: setting.bounds.start.epoch,
            leads,
            alone: leads && setting.bounds.start.alone,
            topic: 0,
        };
        for _ in 0..end {
            broker.log.append(Record::new(broker.leader_epoch, Kind::Plain, 0));
        }
        if leads || end > 0 {
            broker.note_epoch(setting, broker.leader_epoch, 0);
        }
        broker.high = broker.log.end().min(high.cast_signed());
        broker
    }

    fn note_epoch(&mut self, setting: &Setting, epoch: Epoch, start: Offset) {
        if !setting.bounds.old_format {
            self.epochs.assign(epoch, start, &mut CacheTrail::default());
        }
    }

    /// It leads in `epoch`.
    pub fn lead(&mut self, setting: &Setting, epoch: Epoch, alone: bool) {
        self.leads = true;
        self.alone = alone;
        self.leader_epoch = epoch;
        self.note_epoch(setting, epoch, self.log.end());
        if alone {
            self.high = self.log.end();
        }
    }

    /// It appends a record as a leader.
    pub fn append(&mut self, setting: &Setting, kind: Kind) {
        self.note_epoch(setting, self.leader_epoch, self.log.end());
        self.log.append(Record::new(self.leader_epoch, kind, self.topic));
        if self.alone {
            self.high = self.log.end();
        }
    }

    /// It takes over what `leader` has.
    pub fn follow(&mut self, leader: &Self) {
        *self = Self { leads: false, alone: false, ..*leader };
    }

    /// The check of 3.1.
    fn check(&self, current: Epoch, leader_required: bool, trail: &mut Trail) -> Option<Refusal> {
        if current != UNDEFINED && self.leader_epoch > current {
            trail.mark(Label::Fenced);
            return Some(Refusal::FencedLeaderEpoch);
        }
        if current != UNDEFINED && self.leader_epoch < current {
            trail.mark(Label::Unknown);
            return Some(Refusal::UnknownLeaderEpoch);
        }
        if leader_required && !self.leads {
            trail.mark(Label::NotLeader);
            return Some(Refusal::NotLeaderOrFollower);
        }
        None
    }

    /// Answers a fetch (4).
    #[must_use]
    pub fn fetch(&self, setting: &Setting, me: u8, fetch: &Fetch, trail: &mut Trail) -> Fetched {
        if fetch.topic != NOBODY && fetch.topic != self.topic {
            trail.mark(Label::OtherTopic);
            return Fetched::Error(Refusal::UnknownTopicId);
        }
        let preferred = setting.bounds.preferred;
        let from_replica = me == preferred && preferred != NOBODY;
        if let Some(refusal) = self.check(fetch.leader_epoch, !from_replica, trail) {
            return Fetched::Error(refusal);
        }
        if setting.rules.leader_detects() && fetch.last_epoch != UNDEFINED {
            if self.leader_epoch < fetch.last_epoch {
                return Fetched::Error(Refusal::UnknownLeaderEpoch);
            }
            let larger = self.epochs.iter().find(|(epoch, _)| *epoch > fetch.last_epoch);
            if larger.is_some_and(|(_, start)| start < fetch.offset) {
                trail.mark(Label::LeaderDetects);
                return Fetched::Error(Refusal::LogTruncation);
            }
        }
        if self.leads && preferred != NOBODY && preferred != me {
            trail.mark(Label::SentToReplica);
            return Fetched::Preferred(preferred);
        }
        if fetch.offset > self.log.end() {
            trail.mark(Label::OutOfRange);
            return Fetched::Error(Refusal::OffsetOutOfRange);
        }
        let stable = if setting.bounds.read_committed { self.log.last_stable(self.high) } else { self.high };
        trail.mark(if fetch.offset < stable { Label::Records } else { Label::NoRecords });
        Fetched::Records { log: self.log, high: self.high, to: stable, ghost: (self.topic, self.leader_epoch) }
    }

    /// Answers where an epoch ends (3.4 of replication).
    pub fn epoch_end(
        &self,
        setting: &Setting,
        epoch: Epoch,
        current: Epoch,
        trail: &mut Trail,
    ) -> Result<EpochEnd, Refusal> {
        if let Some(refusal) = self.check(current, !setting.has(Mutant::FollowerAnswers), trail) {
            return Err(refusal);
        }
        let end = self.log.end();
        let mut at = self.epochs.end_of(epoch, end, &mut CacheTrail::default());
        if at == EpochEnd::UNDEFINED {
            trail.mark(Label::EndUndefined);
            if setting.has(Mutant::FutureEpochEndsAtLogEnd) && epoch > self.epochs.latest() {
                at = EpochEnd { epoch, end };
            }
        } else {
            trail.mark(if at.epoch == epoch { Label::EndExact } else { Label::EndFloor });
            if setting.has(Mutant::CurrentEpochAnswered) {
                at.epoch = self.leader_epoch;
            }
        }
        Ok(at)
    }

    /// Answers for an offset (3.5 of replication).
    pub fn list(
        &self,
        setting: &Setting,
        spec: Spec,
        current: Epoch,
        trail: &mut Trail,
    ) -> Result<(Offset, Epoch), Refusal> {
        if let Some(refusal) = self.check(current, true, trail) {
            return Err(refusal);
        }
        let epoch_of =
            |offset| self.epochs.iter().rev().find(|(_, start)| *start <= offset).map_or(UNDEFINED, |at| at.0);
        let visible = if setting.bounds.old_format { UNDEFINED } else { self.leader_epoch };
        let latest = if setting.bounds.read_committed { self.log.last_stable(self.high) } else { self.high };
        // KIP-207: not before the high watermark has reached the start of the leader's epoch.
        let begun = self.epochs.iter().next_back().is_none_or(|(_, start)| self.high >= start);
        match spec {
            Spec::Earliest => {
                trail.mark(Label::ListEarliest);
                let epoch = if setting.has(Mutant::ListsCurrentEpoch) { visible } else { epoch_of(0) };
                Ok((0, epoch))
            }
            Spec::Latest | Spec::At(_) if !begun => Err(Refusal::OffsetNotAvailable),
            Spec::Latest => {
                trail.mark(Label::ListLatest);
                Ok((latest, visible))
            }
            Spec::At(wanted) => {
                trail.mark(Label::ListTime);
                let found =
                    self.log.iter().find(|(offset, record)| *offset < latest && time(*offset, *record) >= wanted);
                Ok(found.map_or((latest, visible), |(offset, record)| (offset, setting.bounds.visible(record.epoch()))))
            }
        }
    }
}
