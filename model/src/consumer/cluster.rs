//! The brokers together with who is elected: one actor, since replication is a step of two brokers here.
//!
//! An election is clean if the broker follows the leader, which is not alone in sync, and has all that is committed; any
//! other is unclean, and leaves the new leader alone in sync. No other broker hears of it: who led before goes on as a
//! zombie until it follows.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::bounds::Setting;
use super::broker::Broker;
use super::labels::{Label, Trail};
use super::log::{Epoch, Kind, MAX_EPOCHS, Offset, UNDEFINED};
use super::message::{CONSUMER, Heard, Logs, MAX_BROKERS, Msg, NOBODY, Timer};

/// The state of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The brokers; those that a configuration does not have are empty.
    pub all: [Broker; MAX_BROKERS],
    /// Who was elected in each epoch, of each topic; [`NOBODY`] for one that there was not.
    pub leaders: [[u8; MAX_EPOCHS]; 2],
    /// Which epochs of the topic that is now were begun alone in sync, a bit each.
    pub alone: u8,
    /// The topic that is now.
    pub topic: u8,
    /// Ghost: whether an election was unclean, or the topic deleted.
    pub unclean: bool,
    /// Ghost: the transaction's marker was acknowledged: 1 a commit, 2 an abort.
    pub ended: u8,
    /// What was spent: clean and unclean elections, metadata told.
    pub spent: [u8; 3],
    /// What each broker spent on following.
    pub followed: [u8; MAX_BROKERS],
    /// What each broker spent on appending.
    pub appended: [u8; MAX_BROKERS],
}

impl Hash for Cluster {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        for broker in &self.all {
            broker.hash(hasher);
        }
        // Who led in the epochs that were, three bits each.
        for leaders in &self.leaders {
            let packed = leaders.iter().fold(0_u32, |packed, leader| packed << 3 | u32::from(*leader & 7));
            hasher.write_u32(packed);
        }
        let flags = self.topic | u8::from(self.unclean) << 1 | self.ended << 2;
        let [clean, unclean, told] = self.spent;
        let [followed, of_b, of_c] = self.followed;
        let [appended, by_b, by_c] = self.appended;
        hasher.write(&[
            flags,
            self.alone,
            clean | unclean << 4,
            told,
            followed | of_b << 3,
            of_c,
            appended | by_b << 4,
            by_c,
        ]);
    }
}

/// What a step of the cluster came to.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// What is sent, always to the consumer.
    pub sends: SmallVec<[Msg; 1]>,
    /// The rows that were taken.
    pub trail: Trail,
}

impl Cluster {
    /// As a behaviour begins.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let start = setting.bounds.start;
        let mut all = [0, 1, 2].map(|id: u8| {
            let end = start.ends[usize::from(id)];
            Broker::new(setting, end, if id == 0 && start.alone { end } else { start.high }, id == 0)
        });
        for unused in all.iter_mut().skip(usize::from(setting.bounds.brokers)) {
            unused.leader_epoch = UNDEFINED;
        }
        let mut leaders = [[NOBODY; MAX_EPOCHS]; 2];
        if let Some(first) = usize::try_from(start.epoch).ok().and_then(|epoch| leaders[0].get_mut(epoch)) {
            *first = 0;
        }
        Self {
            all,
            leaders,
            alone: u8::from(start.alone) << start.epoch,
            topic: 0,
            unclean: false,
            ended: 0,
            spent: [0; 3],
            followed: [0; MAX_BROKERS],
            appended: [0; MAX_BROKERS],
        }
    }

    /// The broker with this number.
    #[must_use]
    pub fn broker(&self, id: u8) -> &Broker {
        &self.all[usize::from(id) % MAX_BROKERS]
    }

    fn broker_mut(&mut self, id: u8) -> &mut Broker {
        &mut self.all[usize::from(id) % MAX_BROKERS]
    }

    /// The last election: who, in which epoch.
    #[must_use]
    pub fn elected(&self) -> Heard {
        let leaders = &self.leaders[usize::from(self.topic & 1)];
        let last = (0..).zip(leaders).filter(|(_, leader)| **leader != NOBODY).last();
        let (epoch, leader) = last.map_or((0, 0), |(epoch, leader): (Epoch, _)| (epoch, *leader));
        Heard { topic: self.topic, epoch, leader }
    }

    /// The leader of the last election, if it has heard of it.
    #[must_use]
    pub fn leader(&self) -> Option<&Broker> {
        let elected = self.elected();
        let leader = self.broker(elected.leader);
        (leader.leads && leader.leader_epoch == elected.epoch && leader.topic == self.topic).then_some(leader)
    }

    /// Whether the election of `id` would be clean.
    #[must_use]
    pub fn is_clean(&self, id: u8) -> bool {
        let elected = self.elected();
        let follower = self.broker(id);
        self.leader().is_some_and(|leader| {
            !leader.alone
                && follower.leader_epoch == elected.epoch
                && follower.topic == leader.topic
                && follower.log.common_end(leader.log) >= leader.high
        })
    }

    /// Everything that a client can hear.
    pub fn answers(&self) -> impl Iterator<Item = Heard> + '_ {
        (0..=self.topic).flat_map(|topic| {
            (0..)
                .zip(&self.leaders[usize::from(topic & 1)])
                .filter(|(_, leader)| **leader != NOBODY)
                .map(move |(epoch, leader)| Heard { topic, epoch, leader: *leader })
        })
    }

    /// How many followers of the last leader have all of its log.
    fn has_full_follower(&self, setting: &Setting, id: u8) -> bool {
        let leader = self.broker(id);
        (0..setting.bounds.brokers).any(|other| {
            let follower = self.broker(other);
            other != id
                && !follower.leads
                && follower.topic == leader.topic
                && follower.leader_epoch == leader.leader_epoch
                && follower.log == leader.log
        })
    }

    /// Whether `id` has the open transaction below the end of its log.
    fn has_open_transaction(&self, id: u8) -> bool {
        let log = self.broker(id).log;
        log.last_stable(log.end()) < log.end()
    }

    /// Calls `each` for everything that may happen at the cluster now, in the order of [`Timer`].
    pub fn timers(&self, setting: &Setting, each: &mut dyn FnMut(Timer)) {
        let bounds = &setting.bounds;
        let elected = self.elected();
        let brokers = 0..bounds.brokers;
        let heard = self.leader().is_some();
        let room = usize::try_from(elected.epoch + 1).is_ok_and(|next| next < MAX_EPOCHS);
        if heard && room {
            for id in brokers.clone().filter(|id| *id != elected.leader) {
                let clean = self.is_clean(id);
                let may = bounds.elected >> id & 1 == 1 && self.spent[1] < bounds.unclean;
                if clean && self.spent[0] < bounds.clean || !clean && may {
                    each(Timer::Elect(id));
                }
            }
        }
        if !heard {
            each(Timer::Lead(elected.leader));
        }
        if let Some(leader) = self.leader() {
            for id in brokers.clone().filter(|id| *id != elected.leader) {
                let mut followed = *self.broker(id);
                followed.follow(leader);
                if followed != *self.broker(id) && self.followed[usize::from(id)] < bounds.follows[usize::from(id)] {
                    each(Timer::Follow(id));
                }
            }
        }
        let batch = i8::try_from(bounds.batch).unwrap_or(1);
        let limit = bounds.offsets.min(8).cast_signed();
        let room = |id: u8, records: Offset| {
            let broker = self.broker(id);
            broker.leads && broker.log.end() + records <= limit
        };
        for id in brokers.clone() {
            if room(id, batch) && self.appended[usize::from(id)] < bounds.appends[usize::from(id)] {
                each(Timer::Append(id));
            }
        }
        if bounds.transactions > 0 && self.ended == 0 {
            for id in brokers.clone() {
                let log = self.broker(id).log;
                let none = log.iter().all(|(_, record)| record.kind() == Kind::Plain);
                // Only one transaction, of one record, by a producer that knows who leads.
                if room(id, 1) && id == elected.leader && none {
                    each(Timer::AppendTransactional(id));
                }
            }
            for id in brokers.clone() {
                if room(id, 1) && id == elected.leader && self.has_open_transaction(id) {
                    each(Timer::EndTransaction(id, true));
                }
            }
        }
        for id in brokers.clone() {
            let leader = self.broker(id);
            if leader.leads && !leader.alone && leader.high < leader.log.end() && self.has_full_follower(setting, id) {
                each(Timer::HighWatermark(id));
            }
        }
        if bounds.recreations > self.topic && heard {
            brokers.for_each(|id| each(Timer::Recreate(id)));
        }
        if bounds.told_by_message && self.spent[2] < bounds.metadata {
            self.answers().for_each(|heard| each(Timer::Tell(heard)));
        }
    }

    /// Something happens of its own accord.
    pub fn time_out(&mut self, setting: &Setting, timer: Timer) -> Answered {
        let mut answered = Answered::default();
        let trail = &mut answered.trail;
        match timer {
            Timer::Elect(id) => {
                let clean = self.is_clean(id);
                trail.mark(if clean { Label::ElectedClean } else { Label::ElectedUnclean });
                self.unclean |= !clean;
                self.spent[usize::from(!clean)] += 1;
                let epoch = self.elected().epoch + 1;
                if let Some(place) =
                    usize::try_from(epoch).ok().and_then(|at| self.leaders[usize::from(self.topic & 1)].get_mut(at))
                {
                    *place = id;
                }
                self.alone |= u8::from(!clean) << epoch;
                if !setting.bounds.late_hearing {
                    self.broker_mut(id).lead(setting, epoch, !clean);
                }
            }
            Timer::Lead(id) => {
                trail.mark(Label::HearsLate);
                let epoch = self.elected().epoch;
                let alone = self.alone >> epoch & 1 == 1;
                self.broker_mut(id).lead(setting, epoch, alone);
            }
            Timer::Follow(id) => {
                if let Some(leader) = self.leader().copied() {
                    let follower = self.broker_mut(id);
                    trail.mark(if follower.leads { Label::ZombieFollows } else { Label::Follows });
                    if follower.log.common_end(leader.log) < follower.log.end() {
                        trail.mark(Label::Truncates);
                    }
                    follower.follow(&leader);
                    self.followed[usize::from(id) % MAX_BROKERS] += 1;
                }
            }
            Timer::Append(id) => {
                let zombie = self.elected().leader != id;
                trail.mark(if zombie { Label::ZombieAppends } else { Label::Appends });
                for _ in 0..setting.bounds.batch {
                    self.broker_mut(id).append(setting, Kind::Plain);
                }
                self.appended[usize::from(id) % MAX_BROKERS] += 1;
            }
            Timer::AppendTransactional(id) => {
                trail.mark(Label::Transaction);
                self.broker_mut(id).append(setting, Kind::Transactional);
            }
            Timer::EndTransaction(id, commit) => {
                trail.mark(Label::Marker);
                self.broker_mut(id).append(setting, if commit { Kind::Commit } else { Kind::Abort });
            }
            Timer::HighWatermark(id) => {
                trail.mark(Label::HighRises);
                let leader = self.broker_mut(id);
                leader.high = leader.log.end();
            }
            Timer::Recreate(id) => {
                trail.mark(Label::Recreated);
                self.topic = 1;
                self.unclean = true;
                self.leaders[1][0] = id;
                self.alone = 1;
                for place in 0..setting.bounds.brokers {
                    let mut fresh = Broker::new(setting, 0, 0, false);
                    (fresh.topic, fresh.leader_epoch) = (1, 0);
                    if place == id {
                        fresh.lead(setting, 0, true);
                    }
                    *self.broker_mut(place) = fresh;
                }
            }
            Timer::Tell(heard) => {
                self.spent[2] += 1;
                answered.sends.push(Msg::Metadata(heard));
            }
            _ => {}
        }
        self.note_marker();
        answered
    }

    /// A marker below the high watermark of the leader is acknowledged.
    fn note_marker(&mut self) {
        if self.ended != 0 {
            return;
        }
        let Some(leader) = self.leader() else { return };
        let marker = leader.log.iter().find(|(offset, record)| *offset < leader.high && record.is_marker());
        if let Some((_, record)) = marker {
            self.ended = if record.kind() == Kind::Commit { 1 } else { 2 };
        }
    }

    /// A request arrives.
    pub fn receive(&mut self, setting: &Setting, msg: Msg) -> Answered {
        let mut answered = Answered::default();
        let trail = &mut answered.trail;
        let reply = match msg {
            Msg::Fetch(way, fetch) => {
                let fetched = self.broker(way.broker).fetch(setting, way.broker, &fetch, trail);
                Msg::FetchReply(way, fetch, fetched)
            }
            Msg::EpochEnd(way, purpose, sent) => {
                let broker = self.broker(way.broker);
                let last = self.leader().unwrap_or(broker).log;
                let logs = Logs { own: broker.log, last };
                let answer = broker.epoch_end(setting, sent.epoch, current(setting, &sent), trail);
                let answer = answer.map(|at| (at, logs));
                Msg::EpochEndReply(way, purpose, sent, answer)
            }
            Msg::ListOffsets(way, spec, epoch) => {
                let answer = self.broker(way.broker).list(setting, spec, epoch, trail);
                Msg::ListOffsetsReply(way, spec, epoch, answer)
            }
            other => other,
        };
        answered.sends.push(reply);
        answered
    }
}

/// The leader epoch that a question carries.
#[must_use]
pub fn current(setting: &Setting, sent: &super::message::Position) -> Epoch {
    if setting.fenced() { sent.leader_epoch } else { UNDEFINED }
}

/// The receiver of all that the cluster sends.
pub const RECEIVER: u8 = CONSUMER;
