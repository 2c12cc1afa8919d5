//! The brokers, as far as a client sees them: a log with its epochs, a high watermark, and what they answer
//! (docs/consumers.md 2 to 4, 9; docs/replication.md 3.1 to 3.5). How records come from one to another is told to them.

use std::collections::{BTreeMap, BTreeSet};

use super::message::{Answer, EpochQuestion, Fetch, Fetched, FoundOffset, OffsetQuestion, Question, ReadError};
use super::names::{BrokerId, LeaderEpoch, Offset, TopicId};
use super::record::{Entry, Record};
use super::rules::Rules;
use super::slip::Slip;
use crate::replica::epoch_check::{LocalReplica, check_leader_epoch};
use crate::replica::error::ErrorCode;
use crate::replica::message::OffsetSpec;
use crate::storage::epoch_cache::{EpochCache, EpochEnd};

/// What a broker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrokerRole {
    /// It has heard of no leader.
    None,
    /// It leads.
    Leader {
        /// Whether it is the only replica in sync.
        alone: bool,
        /// Where its epoch began.
        epoch_start: Offset,
    },
    /// It follows.
    Follower,
}

/// What a broker is set up with.
#[derive(Debug, Clone, Copy)]
pub struct BrokerSetup {
    /// Who it is.
    pub broker: BrokerId,
    /// Its rules, as far as brokers differ.
    pub rules: Rules,
    /// Whether its records have no epochs.
    pub old_message_format: bool,
    /// Whether its clients read what is committed alone.
    pub read_committed: bool,
    /// Whom it sends its clients to, and who serves them though it follows.
    pub preferred: Option<BrokerId>,
}

/// A broker.
#[derive(Debug, Clone)]
pub struct Broker {
    setup: BrokerSetup,
    role: BrokerRole,
    leader_epoch: LeaderEpoch,
    log: Vec<Record>,
    epochs: EpochCache,
    high_watermark: Offset,
    topic: TopicId,
}

/// What a broker shows of itself.
#[derive(Debug, Clone, Copy)]
pub struct BrokerView<'a> {
    /// What it is.
    pub role: BrokerRole,
    /// The leader epoch that it knows.
    pub leader_epoch: LeaderEpoch,
    /// Its log.
    pub log: &'a [Record],
    /// Its epochs.
    pub epochs: &'a EpochCache,
    /// Its high watermark.
    pub high_watermark: Offset,
    /// The topic.
    pub topic: TopicId,
}

/// What a follower has when it has all that its leader has.
#[derive(Debug, Clone)]
pub struct Followed {
    /// In which epoch it follows.
    pub leader_epoch: LeaderEpoch,
    /// Where its log was cut.
    pub truncate_to: Offset,
    /// What it appended.
    pub records: Vec<Record>,
    /// Its epochs.
    pub epochs: EpochCache,
    /// Its high watermark.
    pub high_watermark: Offset,
}

/// Whether a leader sees a truncation by the epoch before the offset of a fetch: an epoch that is larger starts below that
/// offset (7a, the draft of KIP-320).
pub fn detect_truncation(
    epochs: &EpochCache,
    offset: Offset,
    last_epoch: Option<LeaderEpoch>,
) -> Result<(), ReadError> {
    let Some(last_epoch) = last_epoch else { return Ok(()) };
    let larger_below =
        |entry: &crate::storage::epoch_cache::EpochEntry| entry.epoch > last_epoch && entry.start_offset < offset;
    if epochs.entries().iter().any(larger_below) { Err(ReadError::LogTruncation) } else { Ok(()) }
}

impl Broker {
    /// A broker with an empty log.
    #[must_use]
    pub fn new(setup: BrokerSetup) -> Self {
        Self {
            setup,
            role: BrokerRole::None,
            leader_epoch: LeaderEpoch::NONE,
            log: Vec::new(),
            epochs: EpochCache::default(),
            high_watermark: Offset(0),
            topic: TopicId::FIRST,
        }
    }

    /// What it shows.
    #[must_use]
    pub const fn view(&self) -> BrokerView<'_> {
        BrokerView {
            role: self.role,
            leader_epoch: self.leader_epoch,
            log: self.log.as_slice(),
            epochs: &self.epochs,
            high_watermark: self.high_watermark,
            topic: self.topic,
        }
    }

    fn log_end(&self) -> Offset {
        self.log.last().map_or(Offset(0), |record| record.offset.next())
    }

    fn slips(&self, slip: Slip) -> bool {
        self.setup.rules.slips(slip)
    }

    /// It leads, with the log that it has.
    pub fn lead(&mut self, epoch: LeaderEpoch, alone: bool) {
        self.leader_epoch = epoch;
        self.role = BrokerRole::Leader { alone, epoch_start: self.log_end() };
        if !self.setup.old_message_format {
            // Refused are epochs and offsets below 0.
            let _ = self.epochs.assign(epoch, self.log_end());
        }
        self.raise_if_alone();
    }

    fn raise_if_alone(&mut self) {
        if matches!(self.role, BrokerRole::Leader { alone: true, .. }) {
            self.high_watermark = self.log_end();
        }
    }

    /// It follows, and has what its leader has.
    pub fn follow(&mut self, followed: Followed) {
        self.role = BrokerRole::Follower;
        self.leader_epoch = followed.leader_epoch;
        self.log.retain(|record| record.offset < followed.truncate_to);
        self.log.extend(followed.records);
        self.epochs = followed.epochs;
        self.high_watermark = followed.high_watermark.min(self.log_end());
    }

    /// A leader appends; the offset of the first record.
    pub fn append(&mut self, entries: Vec<Entry>, producer: Option<&str>) -> Result<Offset, ReadError> {
        if !matches!(self.role, BrokerRole::Leader { .. }) {
            return Err(ErrorCode::NotLeaderOrFollower.into());
        }
        let base = self.log_end();
        let epoch = if self.setup.old_message_format { LeaderEpoch::NONE } else { self.leader_epoch };
        for entry in entries {
            let offset = self.log_end();
            self.log.push(Record { offset, epoch, entry, producer: producer.map(ToOwned::to_owned) });
        }
        self.raise_if_alone();
        Ok(base)
    }

    /// The followers in sync have everything below this offset.
    pub fn set_high_watermark(&mut self, high_watermark: Offset) {
        self.high_watermark = high_watermark.min(self.log_end());
    }

    /// The topic is there anew, in its first epoch.
    pub fn recreate(&mut self, topic: TopicId) {
        *self = Self { topic, role: BrokerRole::Follower, leader_epoch: LeaderEpoch(0), ..Self::new(self.setup) };
    }

    /// The same broker, which serves whoever comes and sends nobody elsewhere.
    #[must_use]
    pub fn serving_all(&self) -> Self {
        Self { setup: BrokerSetup { preferred: None, ..self.setup }, ..self.clone() }
    }

    /// Answers.
    #[must_use]
    pub fn answer(&self, question: &Question) -> Answer {
        match question {
            Question::Fetch(fetch) => Answer::Fetched(self.fetch(fetch)),
            Question::EpochEnd(asked) => Answer::EpochEnd(self.epoch_end(asked)),
            Question::Offset(asked) => Answer::Offset(self.offset(asked)),
        }
    }

    fn check(&self, requested: Option<LeaderEpoch>, leader_required: bool) -> Result<(), ReadError> {
        let local = LocalReplica {
            leader_epoch: self.leader_epoch,
            is_leader: matches!(self.role, BrokerRole::Leader { .. }),
            has_log: true,
        };
        let requested = requested.filter(|_| !self.slips(Slip::ClientNotFenced));
        Ok(check_leader_epoch(local, requested, leader_required)?)
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, ReadError> {
        let serves_anyway = self.setup.preferred == Some(self.setup.broker);
        if fetch.topic.is_some_and(|topic| topic != self.topic) {
            return Err(ErrorCode::UnknownTopicId.into());
        }
        self.check(fetch.current_leader_epoch, !serves_anyway)?;
        let start = self.log.first().map_or(Offset(0), |record| record.offset);
        detect_truncation(&self.epochs, fetch.offset, fetch.last_epoch)?;
        if fetch.offset < start || fetch.offset > self.log_end() {
            return Err(ErrorCode::OffsetOutOfRange.into());
        }
        let high_watermark = self.high_watermark;
        let elsewhere = self.setup.preferred.filter(|preferred| *preferred != self.setup.broker);
        if elsewhere.is_some() {
            return Ok(Fetched { records: Vec::new(), high_watermark, aborted: Vec::new(), preferred: elsewhere });
        }
        let limit = self.limit();
        let wanted = |record: &&Record| record.offset >= fetch.offset && record.offset < limit;
        let records = self.log.iter().filter(wanted).cloned().collect();
        let aborted = if self.setup.read_committed { self.aborted(fetch.offset, limit) } else { Vec::new() };
        Ok(Fetched { records, high_watermark, aborted, preferred: None })
    }

    /// Up to where its clients read.
    fn limit(&self) -> Offset {
        match () {
            () if self.slips(Slip::ReadsAboveHighWatermark) => self.log_end(),
            () if self.setup.read_committed && !self.slips(Slip::ReadsOpenTransaction) => self.last_stable(),
            () => self.high_watermark,
        }
    }

    /// Below it every transaction is decided, and below the high watermark.
    fn last_stable(&self) -> Offset {
        let mut open: BTreeMap<&str, Offset> = BTreeMap::new();
        for record in self.log.iter().filter(|record| record.offset < self.high_watermark) {
            let Some(producer) = record.producer.as_deref() else { continue };
            match record.entry {
                Entry::Value(_) => {
                    open.entry(producer).or_insert(record.offset);
                }
                Entry::Marker { .. } => {
                    open.remove(producer);
                }
            }
        }
        open.values().copied().min().unwrap_or(self.high_watermark).min(self.high_watermark)
    }

    /// The aborted transactions that have records or their marker between two offsets.
    fn aborted(&self, from: Offset, to: Offset) -> Vec<(String, Offset)> {
        let mut first: BTreeMap<&str, Offset> = BTreeMap::new();
        let mut aborted = BTreeSet::new();
        for record in &self.log {
            let Some(producer) = record.producer.as_deref() else { continue };
            match record.entry {
                Entry::Value(_) => {
                    first.entry(producer).or_insert(record.offset);
                }
                Entry::Marker { committed } => {
                    if let Some(begun) = first.remove(producer)
                        && !committed
                        && record.offset >= from
                        && begun < to
                    {
                        aborted.insert((begun, producer.to_owned()));
                    }
                }
            }
        }
        aborted.into_iter().map(|(begun, producer)| (producer, begun)).collect()
    }

    fn epoch_end(&self, asked: &EpochQuestion) -> Result<EpochEnd, ReadError> {
        self.check(asked.current_leader_epoch, !self.slips(Slip::FollowerTellsEpochEnd))?;
        let end = self.epochs.end_offset_for(asked.epoch, self.log_end());
        let future = self.epochs.latest().is_some_and(|latest| asked.epoch > latest);
        Ok(match () {
            () if future && self.slips(Slip::FutureEpochEnds) => {
                EpochEnd { epoch: asked.epoch, end_offset: self.log_end() }
            }
            () if end.is_defined() && self.slips(Slip::CurrentEpochAnswered) => {
                EpochEnd { epoch: self.leader_epoch, ..end }
            }
            () => end,
        })
    }

    fn offset(&self, asked: &OffsetQuestion) -> Result<FoundOffset, ReadError> {
        self.check(asked.current_leader_epoch, true)?;
        let BrokerRole::Leader { epoch_start, .. } = self.role else {
            return Err(ErrorCode::NotLeaderOrFollower.into());
        };
        let leader_epoch = Some(self.leader_epoch);
        let latest = || {
            // KIP-207: the end is not told until it is as far as it was under the leader before.
            if self.high_watermark < epoch_start {
                return Err(ErrorCode::OffsetNotAvailable.into());
            }
            let end = if self.setup.read_committed { self.last_stable() } else { self.high_watermark };
            Ok(FoundOffset { offset: end, epoch: leader_epoch })
        };
        match asked.spec {
            OffsetSpec::Earliest => {
                let first = self.log.first();
                let offset = first.map_or(Offset(0), |record| record.offset);
                // Of the cache, so that a leader that has written nothing has one too.
                let epoch = self.epochs.epoch_for_offset(offset);
                let epoch = if self.slips(Slip::StartHasCurrentEpoch) { leader_epoch } else { epoch };
                Ok(FoundOffset { offset, epoch })
            }
            OffsetSpec::Latest => latest(),
            OffsetSpec::Timestamp(time) => {
                let not_older = |record: &&Record| record.timestamp() >= time.0 && record.offset < self.high_watermark;
                match self.log.iter().find(not_older) {
                    Some(record) => Ok(FoundOffset { offset: record.offset, epoch: record.known_epoch() }),
                    None => latest(),
                }
            }
        }
    }
}
