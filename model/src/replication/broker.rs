//! A broker's state, what is on its disk and what is not, and its events.
//!
//! What a leader does stands in [`leader`](super::leader), what a follower does in [`follower`](super::follower), what
//! metadata do in [`metadata`](super::metadata).

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::bounds::Setting;
use super::controller::{Image, NOBODY, bit};
use super::epochs::Epochs;
use super::future::Future;
use super::labels::{Label, Trail};
use super::log::{Epoch, Log, MAX_BROKERS, MAX_OFFSETS, Offset, Record, UNDEFINED};
use super::message::{Msg, Sent, Timer};
use super::mutant::Mutant;
pub use super::parts::{Entry, Parked, Phase, Remote, Role, wrong};

/// A broker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "each says one thing of the broker")]
pub struct Broker {
    // On disk.
    /// The log.
    pub log: Log,
    /// The leader-epoch cache; every change is on disk before it matters.
    pub epochs: Epochs,
    /// `replication-offset-checkpoint`.
    pub checkpoint: Offset,
    /// Whether it stopped in an orderly way.
    pub clean: bool,
    /// The replica on another disk that is to take the log's place.
    pub future: Future,

    // In memory.
    /// Whether the process lives.
    pub up: bool,
    /// The high watermark.
    pub high: Offset,
    /// The broker epoch of this life.
    pub broker_epoch: u8,
    /// Up to where the controller's records are applied; 0 for none.
    pub index: u8,
    /// The partition epoch of the last record that was applied.
    pub image_epoch: Epoch,
    /// The brokers that are fenced or shut down, for all that this one knows.
    pub inactive: u8,
    /// Those of them that are fenced.
    pub fenced: u8,
    /// The broker epochs that it knows.
    pub broker_epochs: [u8; MAX_BROKERS],
    /// What it is.
    pub role: Role,
    /// Who leads.
    pub leader: u8,
    /// The leader epoch.
    pub leader_epoch: Epoch,
    /// The partition epoch: of metadata, or of an answer to a proposal.
    pub partition_epoch: Epoch,

    // As a leader.
    /// Where its epoch starts.
    pub epoch_start: Offset,
    /// The in-sync replicas that are committed.
    pub isr: u8,
    /// The proposed set; 0 for none.
    pub pending: u8,
    /// Whether a proposal is unanswered.
    pub in_flight: bool,
    /// The followers.
    pub remotes: [Remote; MAX_BROKERS],
    /// The fetches that wait, ascending.
    pub parked: [Parked; MAX_BROKERS],
    /// Offsets whose producers wait, a bit each.
    pub waiting: u8,

    // As a follower.
    /// The fetcher's entry.
    pub entry: Entry,
    /// For each broker, the round of the request that it has not answered, plus 1; 0 for none.
    pub outstanding: [u8; MAX_BROKERS],
    /// Requests given up, and lives lost.
    pub round: u8,

    // What was spent of the bounds.
    /// Records that it appended first.
    pub written: u8,
    /// Crashes.
    pub crashes: u8,
    /// How often the lag time passed.
    pub lags: u8,

    // Ghosts.
    /// P1: the record that this broker, as a leader, showed to be committed at each offset.
    pub committed: [Record; MAX_OFFSETS],
    /// P1d: the offsets that were acknowledged, of those.
    pub acked: u8,
    /// What went wrong at steps.
    pub wrong: u8,
    /// Whether records were lost by a crash.
    pub lost: bool,
}

impl Hash for Broker {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut image = [0_u8; 128];
        let mut at = 0;
        let mut put = |bytes: &[u8]| {
            if let Some(place) = image.get_mut(at..at + bytes.len()) {
                place.copy_from_slice(bytes);
            }
            at += bytes.len();
        };
        put(&self.log.image());
        put(&self.epochs.image());
        put(&[
            self.checkpoint.cast_unsigned(),
            u8::from(self.up)
                | u8::from(self.in_flight) << 1
                | u8::from(self.lost) << 2
                | (self.role as u8) << 3
                | u8::from(self.clean) << 6,
            self.high.cast_unsigned(),
            self.broker_epoch,
            self.index,
            self.image_epoch.cast_unsigned(),
            self.inactive,
            self.fenced,
            self.leader,
            self.leader_epoch.cast_unsigned(),
            self.partition_epoch.cast_unsigned(),
            self.epoch_start.cast_unsigned(),
            self.isr | self.pending << 4,
            self.waiting,
            self.round,
            self.written,
            self.crashes | self.lags << 4,
            self.acked,
            self.wrong,
        ]);
        put(&self.broker_epochs);
        put(&self.outstanding);
        for remote in &self.remotes {
            let Remote { end, caught_up, end_at_fetch, broker_epoch } = *remote;
            put(&[end.cast_unsigned(), u8::from(caught_up) << 7 | broker_epoch, end_at_fetch.cast_unsigned()]);
        }
        let Entry { phase, offset, last, epoch, delayed, rounds } = self.entry;
        put(&[
            phase as u8 | u8::from(delayed) << 4,
            offset.cast_unsigned(),
            last.cast_unsigned(),
            epoch.cast_unsigned(),
            rounds,
        ]);
        for Parked { from, sent } in &self.parked {
            let Sent { round, epoch, offset, last } = *sent;
            put(&[*from | round << 4, epoch.cast_unsigned(), offset.cast_unsigned(), last.cast_unsigned()]);
        }
        put(&self.committed.map(Record::byte));
        put(&self.future.log.image());
        put(&self.future.epochs.image());
        put(&self.future.image());
        hasher.write(&image);
    }
}

/// What an event makes of a broker, besides its new state.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// The messages that go out. An answer to a parked fetch is among them: it is one to another request than the one
    /// that was delivered.
    pub sends: SmallVec<[(u8, Msg); 2]>,
    /// The rows that it went through.
    pub trail: Trail,
    /// Truncations below the high watermark: to which offset, and what the high watermark was.
    pub below_high: SmallVec<[(Offset, Offset); 2]>,
    /// Offsets whose producers are told that all is well, a bit each.
    pub acked: u8,
    /// Offsets whose producers get `NOT_ENOUGH_REPLICAS_AFTER_APPEND`.
    pub too_few: u8,
    /// Offsets whose producers get `NOT_LEADER_OR_FOLLOWER`.
    pub disowned: u8,
}

/// A broker while it handles an event.
pub struct Turn<'a> {
    /// The configuration.
    pub setting: &'a Setting,
    /// Which broker it is.
    pub me: u8,
    /// Its state.
    pub broker: &'a mut Broker,
    /// What comes of it.
    pub effect: Effect,
}

impl Broker {
    /// Broker `me` after the setup.
    #[must_use]
    pub fn new(setting: &Setting, me: u8) -> Self {
        let start = setting.bounds.start;
        let leads = me == start.leader;
        let mut log = Log::empty(0);
        let mut epochs = Epochs::default();
        let mut committed = [Record::NONE; MAX_OFFSETS];
        let in_sync = start.isr & bit(me) != 0;
        for (count, place) in (0..start.records).zip(&mut committed).filter(|_| in_sync) {
            let epoch = if setting.is_old_format(start.leader) { UNDEFINED } else { 0 };
            let record = Record::written(epoch, start.leader, count, false);
            log.append(record);
            if leads {
                *place = record;
            }
        }
        let marks = setting.rules(me).marks && leads && !setting.has(Mutant::EpochNotMarked);
        let keeps = !setting.is_old_format(me);
        let dated = in_sync && start.records > 0 && !setting.is_old_format(start.leader);
        if keeps && (dated || marks) {
            epochs.assign(0, 0, &mut Trail::default());
        }
        let high = log.end;
        let remote = |broker: u8| {
            if leads && broker != me && start.isr & bit(broker) != 0 {
                Remote { end: high, caught_up: true, end_at_fetch: UNDEFINED, broker_epoch: 1 }
            } else {
                Remote::UNKNOWN
            }
        };
        let entry = Entry {
            phase: Phase::Fetching,
            offset: high,
            last: epochs.latest(),
            epoch: 0,
            delayed: false,
            rounds: rounds(&epochs),
        };
        let fresh = Self {
            log,
            epochs,
            checkpoint: if start.checkpointed { high } else { 0 },
            clean: false,
            future: Future::none(),
            up: true,
            high,
            broker_epoch: 1,
            index: 0,
            image_epoch: UNDEFINED,
            inactive: 0,
            fenced: 0,
            broker_epochs: [0; MAX_BROKERS],
            role: Role::None,
            leader: NOBODY,
            leader_epoch: UNDEFINED,
            partition_epoch: UNDEFINED,
            epoch_start: UNDEFINED,
            isr: 0,
            pending: 0,
            in_flight: false,
            remotes: [Remote::UNKNOWN; MAX_BROKERS],
            parked: [Parked::NONE; MAX_BROKERS],
            waiting: 0,
            entry: Entry::IDLE,
            outstanding: [0; MAX_BROKERS],
            round: 0,
            written: if leads { start.records } else { 0 },
            crashes: 0,
            lags: 0,
            committed,
            acked: 0,
            wrong: 0,
            lost: false,
        };
        if !in_sync {
            // It has not heard of the partition yet.
            return fresh;
        }
        Self {
            index: 1,
            image_epoch: 0,
            broker_epochs: [1; MAX_BROKERS],
            role: if leads { Role::Leader } else { Role::Follower },
            leader: start.leader,
            leader_epoch: 0,
            partition_epoch: 0,
            epoch_start: if leads { 0 } else { UNDEFINED },
            isr: if leads { start.isr } else { 0 },
            remotes: [0, 1, 2, 3].map(remote),
            entry: if leads { Entry::IDLE } else { entry },
            ..fresh
        }
    }

    /// Whether it leads, for all that it knows.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.up && self.role == Role::Leader
    }

    /// The maximal in-sync set (4.3).
    #[must_use]
    pub fn maximal_isr(&self) -> u8 {
        self.isr | self.pending
    }

    /// How many records it committed as a leader.
    #[must_use]
    pub fn committed_end(&self) -> Offset {
        let last = self.committed.iter().rposition(|record| *record != Record::NONE);
        last.and_then(|last| Offset::try_from(last + 1).ok()).unwrap_or(0)
    }

    /// A message arrives.
    pub fn receive(&mut self, setting: &Setting, me: u8, from: u8, msg: Msg) -> Effect {
        let mut turn = Turn { setting, me, broker: self, effect: Effect::default() };
        // A message to a broker that is down is lost.
        if turn.broker.up {
            turn.message(from, msg);
        }
        turn.effect
    }

    /// Something happens of its own accord.
    pub fn time_out(&mut self, setting: &Setting, me: u8, timer: Timer) -> Effect {
        let mut turn = Turn { setting, me, broker: self, effect: Effect::default() };
        match timer {
            Timer::Apply(image) => turn.apply(&image),
            Timer::Produce => turn.produce(1),
            Timer::ProducePair => turn.produce(2),
            Timer::Poll => turn.poll(),
            Timer::Fail { peer } => turn.fail(peer),
            Timer::Expire { place } => turn.expire(place),
            Timer::ShrinkIsr => turn.lag_time_passes(),
            Timer::Checkpoint => turn.broker.checkpoint = turn.broker.high,
            Timer::Crash => turn.crash(),
            Timer::Start { keep } => turn.start(keep, None),
            Timer::Stop => {
                let high = turn.broker.high;
                turn.crash();
                (turn.broker.clean, turn.broker.checkpoint) = (true, high);
            }
            Timer::StartDamaged(damage) => {
                let end = turn.broker.log.end;
                turn.start(end, Some(damage));
            }
            Timer::AlterLogDirs => turn.alter_log_dirs(),
            Timer::Copy => turn.copy(),
            Timer::DiskOffline => turn.disk_offline(),
            Timer::DiskOnline => turn.disk_online(),
            Timer::Elect(_) | Timer::Fence(_) | Timer::Unfence(_) | Timer::ShutDown(_) => {}
        }
        turn.effect
    }
}

/// Ghost of P7b: how many diverging answers there may be in a row.
pub(super) fn rounds(epochs: &Epochs) -> u8 {
    u8::try_from(epochs.len()).unwrap_or(u8::MAX) + 1
}

impl Turn<'_> {
    fn message(&mut self, from: u8, msg: Msg) {
        match msg {
            Msg::Fetch { sent, broker_epoch, log } => self.fetch(from, sent, broker_epoch, &log),
            Msg::EpochEndRequest { sent } => self.epoch_end(from, sent),
            Msg::ListOffsets { sent, earliest } => self.list_offsets(from, sent, earliest),
            Msg::FetchReply { sent, answer } => self.fetch_reply(from, sent, answer),
            Msg::EpochEndReply { sent, answer } => self.epoch_end_reply(from, sent, answer),
            Msg::ListOffsetsReply { sent, earliest, answer } => {
                self.list_offsets_reply(from, sent, earliest, answer);
            }
            Msg::AlterPartitionReply { broker_epoch, answer } => self.alter_reply(broker_epoch, answer),
            Msg::Metadata { image } => self.metadata_message(&image),
            Msg::AlterPartition { .. } | Msg::Register { .. } => {}
        }
    }

    /// Notes a row.
    pub(super) fn mark(&mut self, label: Label) {
        self.effect.trail.mark(label);
    }

    /// Sends a message.
    pub(super) fn send(&mut self, to: u8, msg: Msg) {
        self.effect.sends.push((to, msg));
    }

    /// The controller's index.
    pub(super) fn controller(&self) -> u8 {
        self.setting.bounds.brokers
    }

    /// Where records are messages: one that was overtaken is passed over.
    fn metadata_message(&mut self, image: &Image) {
        let registered = image.broker_epochs[usize::from(self.me)] == self.broker.broker_epoch;
        if image.index > self.broker.index && registered {
            self.apply(image);
        }
    }

    /// Sets the high watermark of a leader, and answers who waited for it.
    pub(super) fn set_leader_high(&mut self, high: Offset) {
        self.broker.high = high;
        self.expose();
        let ready = self.broker.waiting & below(high);
        if ready == 0 {
            return;
        }
        self.broker.waiting &= !ready;
        if self.broker.maximal_isr().count_ones() >= self.setting.bounds.effective_min_isr() {
            self.mark(Label::Acked);
            self.effect.acked |= ready;
            // The first record of a batch is acknowledged with its last.
            let log = &self.broker.log;
            let whole = log.iter().filter(|(at, record)| record.continues() && ready >> at & 1 == 1);
            let first = whole.fold(0, |bits, (at, _)| bits | 1 << (at - 1));
            self.broker.acked |= ready | first;
        } else {
            self.mark(Label::AckedTooFew);
            self.effect.too_few |= ready;
        }
    }

    /// Ghost: what a leader's high watermark has passed is committed.
    pub(super) fn expose(&mut self) {
        let broker = &mut *self.broker;
        for (offset, record) in broker.log.iter().take_while(|(offset, _)| *offset < broker.high) {
            let Some(place) = usize::try_from(offset).ok().and_then(|at| broker.committed.get_mut(at)) else { break };
            if *place == Record::NONE {
                *place = record;
            } else if *place != record {
                broker.wrong |= wrong::P1A;
            }
        }
    }

    /// Whether this broker believes that another may be in the in-sync set (4.5 eligible).
    pub(super) fn is_eligible(&self, broker: u8) -> bool {
        use super::mutant::Mutant;
        let place = usize::from(broker);
        let active = self.broker.inactive & bit(broker) == 0 || self.setting.has(Mutant::FencedMayJoin);
        let fetched = self.broker.remotes[place].broker_epoch;
        let same = fetched == self.broker.broker_epochs[place]
            || fetched != 0 && self.setting.has(Mutant::BrokerEpochUnchecked);
        active && same
    }
}

/// The offsets below this one, a bit each.
#[must_use]
pub fn below(offset: Offset) -> u8 {
    let shift = u32::try_from(offset).unwrap_or(0);
    1_u8.checked_shl(shift).map_or(u8::MAX, |bit| bit - 1)
}
