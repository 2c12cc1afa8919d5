//! The consumer with its application: the state of its position, and what each event makes of it
//! (`docs/consumers.md` 1 to 5; `SubscriptionState`, `OffsetFetcher`, `Metadata`, `FetchCollector`).
//!
//! A step goes on until nothing more happens in the client, or a poll returns records or throws. So the request that
//! follows from an answer goes out in the step of the answer.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::application::fault;
use super::bounds::Setting;
use super::cluster::current;
use super::decisions::{FetchError, Reaction, accepts_metadata, on_fetch_error, on_validation_reply};
use super::labels::{Label, Trail};
use super::log::{Epoch, EpochEnd, Epochs, Log, Offset, Record, Seen, UNDEFINED};
use super::message::{
    Fetch, Fetched, Heard, Logs, MAX_BROKERS, Msg, NOBODY, Position, Purpose, Refusal, Spec, Target, Timer, Way,
};
use super::mutant::Mutant;
use super::rules::{Detection, History, Identity};
use crate::replication::labels::Trail as CacheTrail;

/// The state of a position (1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum State {
    /// There is no position yet.
    Initializing,
    /// It can be fetched from.
    Fetching,
    /// It waits for an offset.
    AwaitReset,
    /// It waits for the answer where its epoch ends.
    AwaitValidation,
}

/// What a poll throws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Thrown {
    /// `LogTruncationException`: the position, and where the logs part, if that is known.
    Truncation(Offset, Epoch, EpochEnd),
    /// `OffsetOutOfRangeException`.
    OutOfRange(Offset),
    /// `NoOffsetForPartitionException`.
    NoOffset,
    /// An error about a leader epoch: only a slip.
    EpochError(Refusal),
}

/// What the consumer and its application remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each is one thing that is remembered or not")]
pub struct Client {
    /// The state.
    pub state: State,
    /// The position.
    pub position: Position,
    /// The topic that the position is of, where the rules tell.
    pub topic: u8,
    /// Where a reset goes.
    pub strategy: Spec,
    /// The metadata that it has; the leader is [`NOBODY`] before the first.
    pub known: Heard,
    /// The last epoch that it has seen.
    pub last_seen: Epoch,
    /// The replica that it was sent to.
    pub preferred: u8,
    /// Its connection to each broker.
    pub connections: [u8; MAX_BROKERS],
    /// To which brokers a fetch is in flight, a bit each.
    pub fetching: u8,
    /// Whether a question is in flight that its state waits for, and to whom; [`NOBODY`] if not.
    pub asking: u8,
    /// Whether it asks nothing before its waits have run out.
    pub waits: bool,
    /// What the last poll threw, until the application has done something about it.
    pub thrown: Option<Thrown>,
    /// Whether nothing more happens before the application polls.
    pub idle: bool,
    /// The position that is validated came by a search for the nearest place.
    pub closest: bool,
    /// The epochs that were read, each with its first offset (7c, 7d).
    pub history: Epochs,
    /// An offset that was looked up.
    pub found: Offset,
    /// What was committed, or stored: offset and epoch, and of which topic. An undefined offset is nothing.
    pub committed: (Offset, Epoch, u8),
    /// The epochs that were stored with it (7d).
    pub stored: Epochs,
    /// What was spent: metadata, stale metadata, waits, failures, seeks, commits, restarts.
    pub spent: [u8; 7],
    /// Ghost: what the application takes the log for: the last record handed out at each offset, since it was told of a
    /// loss.
    pub view: Log,
    /// Ghost: the same when the application committed: what it goes on from when it starts anew.
    pub kept: Log,
    /// Ghost: all that was ever handed out, or passed over as a marker.
    pub seen: Seen,
    /// Ghost: the latest topic and epoch that it heard of.
    pub heard: (u8, Epoch),
    /// Ghost: how many records were read twice, and the most that were missed.
    pub counts: [u8; 2],
    /// Ghost: the application was told of a loss, and was handed nothing since.
    pub warned: bool,
    /// Ghost: where the application chose to begin; undefined while it waits for the end that it chose.
    pub base: Offset,
    /// Ghost: what went wrong, a bit each.
    pub faults: u16,
}

impl Hash for Client {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let byte = i8::cast_unsigned;
        let at = |position: &Position| {
            [byte(position.offset), byte(position.epoch), position.leader, byte(position.leader_epoch)]
        };
        hasher.write_u64(self.view.word());
        hasher.write_u64(self.kept.word());
        hasher.write_u64(self.seen.word());
        hasher.write(&at(&self.position));
        let flags = self.state as u8
            | u8::from(self.waits) << 2
            | u8::from(self.idle) << 3
            | u8::from(self.closest) << 4
            | self.topic << 5
            | u8::from(self.warned) << 6;
        let strategy = match self.strategy {
            Spec::Earliest => 0x80,
            Spec::Latest => 0x81,
            Spec::At(time) => byte(time),
        };
        let [a, b, c] = self.connections;
        hasher.write(&[
            flags,
            strategy,
            self.known.topic,
            byte(self.known.epoch),
            self.known.leader,
            byte(self.last_seen),
            self.preferred,
            a | b << 4,
            c,
            self.fetching | self.asking << 4,
            byte(self.found),
            byte(self.committed.0),
            byte(self.committed.1),
            self.committed.2,
            self.heard.0,
            byte(self.heard.1),
            byte(self.base),
        ]);
        hasher.write(&self.spent);
        hasher.write(&self.counts);
        hasher.write(&self.history.image());
        hasher.write(&self.stored.image());
        hasher.write_u16(self.faults);
        self.thrown.hash(hasher);
    }
}

/// What a step of the consumer came to.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// What is sent, always to the cluster.
    pub sends: SmallVec<[Msg; 2]>,
    /// What the application is handed.
    pub records: SmallVec<[(Offset, Record); 4]>,
    /// What a poll throws.
    pub exception: Option<Thrown>,
    /// Where the position moved, where a client with a policy goes on elsewhere.
    pub moved: Option<Offset>,
    /// An offset that was looked up.
    pub found: Option<Offset>,
    /// The rows that were taken.
    pub trail: Trail,
}

const NO_POSITION: Position = Position { offset: UNDEFINED, epoch: UNDEFINED, leader: NOBODY, leader_epoch: UNDEFINED };

impl Client {
    /// As a behaviour begins.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let bounds = &setting.bounds;
        let read = bounds.read_up_to();
        let first = bounds.start.epoch;
        let mut client = Self {
            state: State::Initializing,
            position: NO_POSITION,
            topic: 0,
            strategy: Spec::Earliest,
            known: Heard { topic: 0, epoch: first, leader: 0 },
            last_seen: if setting.fenced() { first } else { UNDEFINED },
            preferred: NOBODY,
            connections: [0; MAX_BROKERS],
            fetching: 0,
            asking: NOBODY,
            waits: false,
            thrown: None,
            idle: true,
            closest: false,
            history: Epochs::default(),
            found: UNDEFINED,
            committed: (UNDEFINED, UNDEFINED, 0),
            stored: Epochs::default(),
            spent: [0; 7],
            view: Log::default(),
            kept: Log::default(),
            seen: Seen::default(),
            heard: (0, first),
            counts: [0; 2],
            warned: false,
            base: 0,
            faults: 0,
        };
        if let Some((offset, epoch)) = bounds.start.committed.or(bounds.start.stored) {
            client.committed = (offset, epoch, 0);
            // An earlier life of the application has read up to there.
            (0..offset).for_each(|offset| client.remember(first, offset));
            client.kept = client.view;
        }
        if read > 0 {
            (0..read).for_each(|offset| client.remember(first, offset));
            client.note_epoch(setting, first, 0);
            client.state = State::Fetching;
            client.position = Position {
                offset: read,
                epoch: Self::epoch(setting, first),
                leader: 0,
                leader_epoch: Self::epoch_of_leader(setting, first),
            };
        } else if bounds.targets.contains(&Target::End) {
            // The application has sought the end.
            client.state = State::AwaitReset;
            client.strategy = Spec::Latest;
            client.base = UNDEFINED;
        } else if bounds.start.stored.is_some() {
            // It is about to seek. The group has committed nothing.
        } else {
            client.assign(setting, &mut Effect::default());
        }
        client
    }

    /// A record was read before the behaviour began.
    fn remember(&mut self, epoch: Epoch, offset: Offset) {
        let record = Record::new(epoch, super::log::Kind::Plain, 0);
        self.view.set(offset, record);
        self.seen.note(offset, record);
    }

    /// The epoch of a record, as the variant remembers it.
    fn epoch(setting: &Setting, epoch: Epoch) -> Epoch {
        if setting.rules.detection == Detection::None { UNDEFINED } else { setting.bounds.visible(epoch) }
    }

    fn epoch_of_leader(setting: &Setting, epoch: Epoch) -> Epoch {
        if setting.fenced() { epoch } else { UNDEFINED }
    }

    /// Remembers where an epoch begins.
    fn note_epoch(&mut self, setting: &Setting, epoch: Epoch, offset: Offset) {
        if setting.rules.history != History::OnePair && Self::epoch(setting, epoch) != UNDEFINED {
            self.history.assign(epoch, offset, &mut CacheTrail::default());
        }
    }

    /// Who leads, as far as the client trusts its metadata (`Metadata#currentLeader`).
    #[must_use]
    pub fn current_leader(&self, setting: &Setting) -> (u8, Epoch) {
        if self.known.leader == NOBODY || setting.fenced() && self.known.epoch < self.last_seen {
            return (NOBODY, if setting.fenced() { self.last_seen } else { UNDEFINED });
        }
        (self.known.leader, Self::epoch_of_leader(setting, self.known.epoch))
    }

    /// An epoch was seen elsewhere than in metadata (`Metadata#updateLastSeenEpochIfNewer`).
    fn saw(&mut self, setting: &Setting, epoch: Epoch) {
        if self.last_seen != UNDEFINED || setting.rules.committed_is_seen {
            self.last_seen = self.last_seen.max(epoch);
        }
    }

    /// Validates a position, or fetches from it (1).
    fn validate(&mut self, setting: &Setting, mut position: Position, trail: &mut Trail) {
        if self.state == State::Initializing
            || self.state == State::AwaitReset
            || self.position.offset != position.offset
        {
            self.closest = false;
        }
        (position.leader, position.leader_epoch) = self.current_leader(setting);
        let slip = setting.has(Mutant::VersionIgnored) || setting.has(Mutant::OldBrokersAwait);
        let known = position.epoch != UNDEFINED && (position.leader_epoch != UNDEFINED || slip);
        let awaits = setting.rules.detection == Detection::Validation && known;
        let usable = !setting.bounds.old_brokers || slip;
        self.state = if awaits && usable { State::AwaitValidation } else { State::Fetching };
        trail.mark(match (self.state, position.epoch == UNDEFINED) {
            (State::AwaitValidation, _) => Label::Validates,
            (_, true) => Label::NoEpochToValidate,
            _ => Label::NotValidated,
        });
        self.position = position;
        (self.waits, self.asking) = (false, NOBODY);
    }

    fn reset(&mut self, strategy: Spec, trail: &mut Trail) {
        trail.mark(Label::AwaitsReset);
        self.state = State::AwaitReset;
        self.strategy = strategy;
        self.position = NO_POSITION;
        (self.waits, self.asking) = (false, NOBODY);
        // Where the client goes by itself the application has chosen nothing.
        self.base = self.base.max(0);
    }

    /// The partition is assigned (5).
    fn assign(&mut self, setting: &Setting, effect: &mut Effect) {
        let (offset, epoch, topic) = self.committed;
        if offset == UNDEFINED {
            effect.trail.mark(Label::NothingCommitted);
            self.state = State::Initializing;
            return;
        }
        effect.trail.mark(if epoch == UNDEFINED { Label::CommittedWithoutEpoch } else { Label::CommittedWithEpoch });
        let epoch = if setting.rules.detection == Detection::None { UNDEFINED } else { epoch };
        self.topic = topic;
        if setting.fenced() {
            self.saw(setting, epoch);
        }
        self.validate(setting, Position { offset, epoch, ..NO_POSITION }, &mut effect.trail);
    }

    fn way(&self, broker: u8) -> Way {
        Way { broker, connection: self.connections[usize::from(broker) % MAX_BROKERS] }
    }

    /// A poll throws: nothing more happens in this step.
    fn throw(&mut self, thrown: Thrown, effect: &mut Effect) {
        self.thrown = Some(thrown);
        effect.exception = Some(thrown);
    }

    /// The application polls until nothing more happens.
    fn progress(&mut self, setting: &Setting, effect: &mut Effect) {
        self.idle = false;
        if let (State::Initializing, Some(strategy)) = (self.state, setting.bounds.reset) {
            self.reset(strategy, &mut effect.trail);
        }
        let (leader, leader_epoch) = self.current_leader(setting);
        match self.state {
            State::Initializing => {
                if leader != NOBODY {
                    self.idle = true;
                    self.throw(Thrown::NoOffset, effect);
                }
            }
            State::AwaitReset if !self.waits && leader != NOBODY => {
                effect.sends.push(Msg::ListOffsets(self.way(leader), self.strategy, leader_epoch));
                (self.waits, self.asking) = (true, leader);
            }
            State::AwaitValidation if !self.waits && self.position.leader != NOBODY => {
                if !setting.has(Mutant::OldBrokersAwait) || !setting.bounds.old_brokers {
                    let way = self.way(self.position.leader);
                    effect.sends.push(Msg::EpochEnd(way, Purpose::Validate, self.position));
                    (self.waits, self.asking) = (true, self.position.leader);
                }
            }
            State::Fetching => self.fetch(setting, effect),
            State::AwaitReset | State::AwaitValidation => {}
        }
    }

    fn fetch(&mut self, setting: &Setting, effect: &mut Effect) {
        let to = if self.preferred == NOBODY { self.position.leader } else { self.preferred };
        if to == NOBODY || self.fetching >> to & 1 == 1 || self.position.offset == UNDEFINED {
            return;
        }
        let names_topic = setting.rules.identity != Identity::LeaderEpoch;
        let fetch = Fetch {
            offset: self.position.offset,
            leader_epoch: if setting.fenced() { self.position.leader_epoch } else { UNDEFINED },
            last_epoch: if setting.rules.leader_detects() { self.position.epoch } else { UNDEFINED },
            topic: if names_topic { self.known.topic } else { NOBODY },
        };
        self.fetching |= 1 << to;
        effect.sends.push(Msg::Fetch(self.way(to), fetch));
    }

    /// A message arrives.
    pub fn receive(&mut self, setting: &Setting, msg: Msg) -> Effect {
        let mut effect = Effect::default();
        match msg {
            Msg::Metadata(heard) => self.hear(setting, heard, &mut effect),
            Msg::FetchReply(way, fetch, fetched) => {
                if !self.is_of_now(way, &mut effect) {
                    return effect;
                }
                self.fetching &= !(1 << way.broker);
                self.fetched(setting, way.broker, &fetch, fetched, &mut effect);
            }
            Msg::EpochEndReply(way, purpose, sent, answer) => {
                if !self.is_of_now(way, &mut effect) {
                    return effect;
                }
                match purpose {
                    Purpose::Validate => self.validated(setting, &sent, answer, &mut effect),
                    Purpose::Find => {
                        // The application's call returns; what it does then is another step.
                        self.looked_up(&sent, answer, &mut effect);
                        return effect;
                    }
                }
            }
            Msg::ListOffsetsReply(way, spec, _, answer) => {
                if !self.is_of_now(way, &mut effect) {
                    return effect;
                }
                self.listed(setting, spec, answer, &mut effect);
            }
            Msg::Fetch(..) | Msg::EpochEnd(..) | Msg::ListOffsets(..) => {}
        }
        if effect.exception.is_none() {
            self.progress(setting, &mut effect);
        }
        effect
    }

    /// Whether an answer came over the connection that there is now; else nobody waits for it.
    fn is_of_now(&self, way: Way, effect: &mut Effect) -> bool {
        let now = self.way(way.broker) == way;
        if !now {
            effect.trail.mark(Label::OldConnection);
        }
        now
    }

    /// The client hears who leads (2).
    fn hear(&mut self, setting: &Setting, heard: Heard, effect: &mut Effect) {
        self.heard = self.heard.max((heard.topic, heard.epoch));
        let seen = (self.known.topic, self.last_seen);
        if !accepts_metadata(setting, seen, &heard, &mut effect.trail) {
            return;
        }
        let other_topic = self.known.leader != NOBODY && heard.topic != self.known.topic;
        self.known = heard;
        self.last_seen = if setting.fenced() { heard.epoch } else { UNDEFINED };
        let of_another = heard.topic != self.topic;
        let told_apart = matches!(setting.rules.identity, Identity::Id | Identity::PartitionEpoch);
        if told_apart && of_another && (other_topic || self.position.offset != UNDEFINED) {
            self.topic = heard.topic;
            if matches!(self.state, State::Fetching | State::AwaitValidation) {
                self.lose_topic(setting, effect);
            }
            return;
        }
        self.on_new_leader(setting, effect);
    }

    /// The position is of a topic that is no more (8).
    fn lose_topic(&mut self, setting: &Setting, effect: &mut Effect) {
        effect.trail.mark(Label::TopicLost);
        self.history = Epochs::default();
        let Position { offset, epoch, .. } = self.position;
        self.told(None);
        if let Some(strategy) = setting.bounds.reset {
            self.reset(strategy, &mut effect.trail);
        } else {
            self.reset(Spec::Earliest, &mut effect.trail);
            self.throw(Thrown::Truncation(offset, epoch, EpochEnd::UNDEFINED), effect);
            self.idle = true;
        }
    }

    fn on_new_leader(&mut self, setting: &Setting, effect: &mut Effect) {
        let (leader, leader_epoch) = self.current_leader(setting);
        if leader == NOBODY {
            return;
        }
        let has_position = match self.state {
            State::AwaitReset => setting.has(Mutant::ResetHasPosition),
            State::Initializing => false,
            State::Fetching | State::AwaitValidation => true,
        };
        if !has_position {
            effect.trail.mark(Label::NoPositionToValidate);
            return;
        }
        if (self.position.leader, self.position.leader_epoch) == (leader, leader_epoch) {
            effect.trail.mark(Label::SameLeader);
            return;
        }
        effect.trail.mark(Label::NewLeader);
        self.preferred = NOBODY;
        self.validate(setting, self.position, &mut effect.trail);
    }

    /// An answer to a fetch (4).
    fn fetched(&mut self, setting: &Setting, from: u8, fetch: &Fetch, fetched: Fetched, effect: &mut Effect) {
        let same_epoch = !setting.rules.late_fetch_checked || fetch.leader_epoch == self.position.leader_epoch;
        let same_topic = !setting.rules.late_fetch_checked || [NOBODY, self.known.topic].contains(&fetch.topic);
        let to_leader = from == self.position.leader || from == setting.bounds.preferred;
        let same_epoch = same_epoch && same_topic && (to_leader || !setting.rules.late_fetch_checked);
        let current = self.state == State::Fetching && self.position.offset == fetch.offset && same_epoch;
        match fetched {
            Fetched::Records { .. } | Fetched::Preferred(_) if !current => effect.trail.mark(Label::FetchDropped),
            Fetched::Preferred(replica) => {
                effect.trail.mark(Label::PrefersReplica);
                self.preferred = replica;
            }
            Fetched::Records { log, to, ghost, .. } => self.take(setting, log, to, ghost, effect),
            Fetched::Error(error) => {
                let slip = setting.has(Mutant::EpochErrorThrown)
                    && matches!(error, Refusal::FencedLeaderEpoch | Refusal::UnknownLeaderEpoch);
                if slip {
                    self.faults |= fault::ERROR;
                    self.idle = true;
                    self.throw(Thrown::EpochError(error), effect);
                    return;
                }
                let from_replica = from == self.preferred;
                match on_fetch_error(setting, current, from_replica, error, &mut effect.trail) {
                    FetchError::AsksForMetadata | FetchError::LeavesReplica => self.preferred = NOBODY,
                    FetchError::FetchesAgain | FetchError::Drops => {}
                    FetchError::Resets(strategy) => {
                        self.out_of_range();
                        self.told(None);
                        self.reset(strategy, &mut effect.trail);
                    }
                    FetchError::Throws => {
                        self.out_of_range();
                        self.told(None);
                        self.idle = true;
                        self.throw(Thrown::OutOfRange(self.position.offset), effect);
                    }
                    // A position that was sought since, without an epoch, has nothing to ask for.
                    FetchError::Asks if self.position.epoch == UNDEFINED => {}
                    FetchError::Asks => {
                        self.state = State::AwaitValidation;
                        (self.waits, self.asking) = (false, NOBODY);
                    }
                }
            }
        }
    }

    /// Records are handed out.
    fn take(&mut self, setting: &Setting, log: Log, to: Offset, ghost: (u8, Epoch), effect: &mut Effect) {
        let from = self.position.offset;
        if from >= to {
            effect.trail.mark(Label::NothingNew);
            return;
        }
        effect.trail.mark(Label::HandedOut);
        for (offset, record) in log.iter().filter(|(offset, _)| (from..to).contains(offset)) {
            let aborted = record.kind() == super::log::Kind::Transactional
                && setting.bounds.read_committed
                && log.outcome(offset) == Some(super::log::Kind::Abort);
            if record.is_marker() || aborted {
                effect.trail.mark(Label::PassedOver);
                self.pass(offset, record);
            } else {
                effect.records.push((offset, record));
                self.hand_out(setting, log, ghost, offset, record);
            }
            self.note_epoch(setting, record.epoch(), offset);
            self.position.epoch = Self::epoch(setting, record.epoch());
        }
        self.position.offset = to;
    }

    /// The answer to a validation (3).
    fn validated(
        &mut self,
        setting: &Setting,
        sent: &Position,
        answer: Result<(EpochEnd, Logs), Refusal>,
        effect: &mut Effect,
    ) {
        // KAFKA-8429: the whole position is compared.
        let same = if setting.has(Mutant::ReplyAfterSeek) {
            self.position.leader_epoch == sent.leader_epoch
        } else {
            self.position == *sent
        };
        if self.state != State::AwaitValidation && !setting.has(Mutant::ReplyAfterSeek) || !same {
            effect.trail.mark(Label::ValidationDropped);
            return;
        }
        self.asking = NOBODY;
        if setting.has(Mutant::EpochErrorThrown)
            && let Err(error @ (Refusal::FencedLeaderEpoch | Refusal::UnknownLeaderEpoch)) = answer
        {
            self.faults |= fault::ERROR;
            self.throw(Thrown::EpochError(error), effect);
            return;
        }
        let reply = answer.map(|(at, _)| at);
        let logs = answer.map_or(None, |(_, logs)| Some(logs));
        // A leader of an epoch older than what was read can't know: what counts is what the last leader has.
        let too_old = self.position.epoch > self.position.leader_epoch;
        let log = logs.map(|logs| if too_old { logs.last } else { logs.own });
        // The version that the broker does not have: it can't answer, however often it is asked.
        let reply = if setting.bounds.old_brokers && setting.has(Mutant::VersionIgnored) {
            self.faults |= fault::STUCK;
            Err(Refusal::NotLeaderOrFollower)
        } else {
            reply
        };
        match on_validation_reply(setting, &self.position, &self.history, self.closest, reply, &mut effect.trail) {
            Reaction::Retries => {}
            Reaction::Fetches => {
                self.accept(logs.map(|logs| logs.own));
                self.state = State::Fetching;
                self.closest = false;
                self.waits = false;
            }
            Reaction::MovesTo { offset, epoch, again } => {
                // A place that stays the same tells nobody.
                if offset < self.position.offset {
                    self.told(log);
                }
                if setting.bounds.reset.is_none() {
                    self.faults |= fault::UNTOLD;
                }
                effect.moved = Some(offset);
                self.position.offset = offset;
                self.position.epoch = epoch;
                self.history.truncate_from_end(offset);
                self.waits = false;
                self.closest &= again;
                self.state = if again && offset > 0 { State::AwaitValidation } else { State::Fetching };
                if self.state == State::Fetching && offset == 0 && setting.rules.history != History::OnePair {
                    self.position.epoch = UNDEFINED;
                }
            }
            Reaction::Resets(strategy) => {
                self.told(log);
                self.history = Epochs::default();
                self.reset(strategy, &mut effect.trail);
            }
            Reaction::Throws(parts) => {
                let Position { mut offset, epoch, .. } = self.position;
                if setting.has(Mutant::DivergentAsPosition) && parts.end != UNDEFINED {
                    offset = parts.end;
                }
                if offset != self.position.offset {
                    self.faults |= fault::UNTOLD;
                }
                self.told(log);
                // Asked again when the time of the request is over.
                self.throw(Thrown::Truncation(offset, epoch, parts), effect);
            }
        }
    }

    fn looked_up(&mut self, sent: &Position, answer: Result<(EpochEnd, Logs), Refusal>, effect: &mut Effect) {
        self.asking = NOBODY;
        self.idle = true;
        let Ok((at, _)) = answer else {
            return;
        };
        effect.trail.mark(Label::Found);
        let found = if at.end == UNDEFINED { 0 } else { at.end.min(sent.offset) };
        self.found = found;
        self.told_place(found);
        effect.found = Some(found);
    }

    /// The answer for an offset (2).
    fn listed(&mut self, setting: &Setting, spec: Spec, answer: Result<(Offset, Epoch), Refusal>, effect: &mut Effect) {
        if self.state != State::AwaitReset || self.strategy != spec {
            effect.trail.mark(Label::ResetDropped);
            return;
        }
        self.asking = NOBODY;
        let Ok((offset, epoch)) = answer else {
            effect.trail.mark(Label::ResetRefused);
            return;
        };
        effect.trail.mark(Label::ResetDone);
        self.waits = false;
        // The position takes the leader that is known before the epoch of the answer counts as seen.
        let (leader, leader_epoch) = self.current_leader(setting);
        if setting.fenced() {
            self.saw(setting, epoch);
        }
        let epoch = if setting.rules.listed_epoch { epoch } else { UNDEFINED };
        self.state = State::Fetching;
        self.topic = self.known.topic;
        if self.base == UNDEFINED {
            self.base = offset;
        }
        self.position = Position { offset, epoch, leader, leader_epoch };
    }

    /// Something happens of its own accord.
    pub fn time_out(&mut self, setting: &Setting, timer: Timer) -> Effect {
        let mut effect = Effect::default();
        match timer {
            Timer::Metadata(heard) => {
                self.spent[0] += 1;
                self.hear(setting, heard, &mut effect);
            }
            Timer::Poll => effect.trail.mark(Label::Polls),
            Timer::Elapse => {
                effect.trail.mark(Label::Elapses);
                self.spent[2] += 1;
                self.waits = false;
            }
            Timer::Fail(broker) => self.fail(broker, &mut effect),
            Timer::Seek(target) => self.seek(setting, target, &mut effect),
            Timer::Find => {
                self.find(&mut effect);
                return effect;
            }
            Timer::Commit => {
                self.commit(setting, &mut effect);
                return effect;
            }
            Timer::Restart => self.restart(setting, &mut effect),
            _ => {}
        }
        if effect.exception.is_none() {
            self.progress(setting, &mut effect);
        }
        effect
    }

    fn fail(&mut self, broker: u8, effect: &mut Effect) {
        effect.trail.mark(Label::ConnectionLost);
        self.spent[3] += 1;
        self.connections[usize::from(broker) % MAX_BROKERS] += 1;
        self.fetching &= !(1 << broker);
        if self.asking == broker {
            self.asking = NOBODY;
        }
    }

    fn seek(&mut self, setting: &Setting, target: Target, effect: &mut Effect) {
        self.spent[4] += 1;
        let divergence = match self.thrown.take() {
            Some(Thrown::Truncation(_, _, at)) => at,
            _ => EpochEnd::UNDEFINED,
        };
        self.seek_to(setting, target, divergence, effect);
    }

    fn seek_to(&mut self, setting: &Setting, target: Target, divergence: EpochEnd, effect: &mut Effect) {
        let (stored, stored_epoch, _) = self.committed;
        let (offset, epoch) = match target {
            Target::Offset(offset) => (offset, UNDEFINED),
            Target::Pair(offset, epoch) => (offset, epoch),
            Target::Beginning | Target::End => {
                effect.trail.mark(Label::SeeksEdge);
                let edge = if target == Target::Beginning { Spec::Earliest } else { Spec::Latest };
                self.reset(edge, &mut effect.trail);
                if target == Target::End {
                    self.base = UNDEFINED;
                }
                return;
            }
            Target::Divergence => (divergence.end, divergence.epoch),
            Target::DivergenceOffset => (divergence.end, UNDEFINED),
            Target::Stored | Target::Nearest => (stored, stored_epoch),
            Target::StoredOffset => (stored, UNDEFINED),
            Target::Found => (std::mem::replace(&mut self.found, UNDEFINED), UNDEFINED),
        };
        // What the client remembers of the record before the offset; in the draft, of the last one that it read.
        let known = self.history.iter().rev().find(|(_, start)| *start < offset).map(|(epoch, _)| epoch);
        let last = (setting.rules.detection == Detection::Leader && self.position.epoch != UNDEFINED)
            .then_some(self.position.epoch);
        let remembered = known.or(last);
        let given = Self::epoch(setting, epoch);
        let epoch = if given == UNDEFINED { remembered.unwrap_or(UNDEFINED) } else { given };
        effect.trail.mark(if epoch == UNDEFINED { Label::SeeksOffset } else { Label::SeeksPair });
        if setting.fenced() {
            self.saw(setting, epoch);
        }
        self.validate(setting, Position { offset, epoch, ..NO_POSITION }, &mut effect.trail);
        self.closest = target == Target::Nearest && self.state == State::AwaitValidation;
    }

    fn find(&mut self, effect: &mut Effect) {
        effect.trail.mark(Label::LooksUp);
        let leader = self.position.leader;
        effect.sends.push(Msg::EpochEnd(self.way(leader), Purpose::Find, self.position));
        self.asking = leader;
        self.thrown = None;
        self.idle = true;
    }

    fn commit(&mut self, setting: &Setting, effect: &mut Effect) {
        self.spent[5] += 1;
        let epoch = match setting.bounds.committed {
            super::bounds::Commits::Pair => self.position.epoch,
            super::bounds::Commits::OffsetAlone => UNDEFINED,
        };
        effect.trail.mark(Label::Commits);
        self.committed = (self.position.offset, epoch, self.topic);
        self.kept = if self.warned { Log::default() } else { self.view };
        if setting.rules.history == History::Kept {
            self.stored = self.history;
        }
    }

    /// A new process begins; nothing that was in flight reaches it.
    fn restart(&mut self, setting: &Setting, effect: &mut Effect) {
        effect.trail.mark(Label::Restarts);
        self.spent[6] += 1;
        for connection in &mut self.connections {
            *connection += 1;
        }
        self.fetching = 0;
        self.preferred = NOBODY;
        self.known = Heard { topic: 0, epoch: UNDEFINED, leader: NOBODY };
        self.last_seen = UNDEFINED;
        self.heard = (0, UNDEFINED);
        self.thrown = None;
        self.closest = false;
        self.found = UNDEFINED;
        self.position = NO_POSITION;
        self.state = State::Initializing;
        (self.waits, self.asking) = (false, NOBODY);
        self.history = std::mem::take(&mut self.stored);
        self.stored = self.history;
        self.assign(setting, effect);
        self.view = self.kept;
        self.warned = false;
    }

    /// Whether the epoch that a question carries is the position's, for a report.
    #[must_use]
    pub fn asked_epoch(setting: &Setting, sent: &Position) -> Epoch {
        current(setting, sent)
    }
}
