//! A replica of the partition: its log, its cleaner, its clock, and what happens to it.
//!
//! Every input is one step. The steps of a round are those of `LogCleaner#cleanLog`.

use std::hash::{Hash, Hasher};

use fencepost_fixtures::variants::{ClampRule, ClientHorizon, HorizonRule, Worth};
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::batch::{Batch, CLIENT_BIT, Kind, NONE, Record, UNKEYED};
use super::bounds::{Isolation, MAX_PRODUCERS, Setting};
use super::labels::{Label, Trail};
use super::log::Log;
use super::message::{Msg, Timer};
use super::mutant::Mutant;
use super::properties::{self, bit};
use super::recopy::{Output, Pass, swap};
use super::recovery::{Moment, recover};
use super::round::{self, Round};
use super::truth::Truth;

/// What a replica is to the partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Clients write to it and read from it.
    Leader,
    /// It fetches from the leader.
    Follower,
}

/// What was spent of the budgets, and what else the world around the log remembers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct World {
    /// The producers' epochs, as their clients know them.
    pub epochs: [u8; MAX_PRODUCERS],
    /// Segments closed.
    pub rolls: u8,
    /// Truncations, and losses of the log's end.
    pub cuts: u8,
    /// Changes of the policy.
    pub policies: u8,
    /// Losses of the checkpoint.
    pub forgets: u8,
    /// Whether the policy contains compact.
    pub compacts: bool,
    /// `delete.retention.ms`.
    pub retention: u8,
    /// Whether the leadership moved.
    pub elected: bool,
    /// How many batches of the other log are dirty.
    pub other: u8,
    /// Writes to the other log, where they are bounded.
    pub other_writes: u8,
}

/// A replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Broker {
    /// The log.
    pub log: Log,
    /// The round that goes on.
    pub round: Option<Round>,
    /// The clock.
    pub clock: u8,
    /// Leader or follower.
    pub role: Role,
    /// The end of the follower's log, as the leader knows it; [`NONE`] where there is none.
    pub replicated: u8,
    /// The first dirty offset and the time of cleaning of past rounds: the file of the rejected checkpoint designs.
    pub pairs: SmallVec<[(u8, u8); 2]>,
    /// The world around the log.
    pub world: World,
    /// The ghost.
    pub truth: Truth,
    /// The properties about steps that this path has violated, a bit each.
    pub wrong: u32,
}

impl Hash for Broker {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let mut image: SmallVec<[u8; 320]> = SmallVec::new();
        self.log.image(&mut image);
        let World { epochs, rolls, cuts, policies, forgets, compacts, retention, elected, other, other_writes } =
            self.world;
        image.extend(epochs);
        image.extend([
            rolls,
            cuts,
            policies,
            forgets,
            u8::from(compacts),
            retention,
            u8::from(elected),
            other,
            other_writes,
        ]);
        image.extend([self.clock, self.role as u8, self.replicated, self.pairs.len().to_le_bytes()[0]]);
        self.pairs.iter().for_each(|(first_dirty, time)| image.extend([*first_dirty, *time]));
        image.extend(self.truth.image());
        image.extend(self.wrong.to_le_bytes());
        if let Some(round) = &self.round {
            round.image(&mut image);
        }
        hasher.write(&image);
    }
}

/// What a replica makes of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The answer, or the message to the other replica.
    pub sends: Option<Msg>,
    /// The rows that it went through.
    pub trail: Trail,
    /// What a round of one step did, or the start of one in steps: F, U, E, entries of the map. For a trace.
    pub round: Option<Round>,
}

impl Broker {
    /// An empty replica.
    #[must_use]
    pub fn new(setting: &Setting, id: u8) -> Self {
        Self {
            log: Log::new(1),
            round: None,
            clock: 1,
            role: if id == 0 { Role::Leader } else { Role::Follower },
            replicated: if setting.bounds.replicas > 1 { 0 } else { NONE },
            pairs: SmallVec::new(),
            world: World {
                epochs: [0; MAX_PRODUCERS],
                rolls: 0,
                cuts: 0,
                policies: 0,
                forgets: 0,
                compacts: true,
                retention: setting.bounds.retention,
                elected: false,
                other: 0,
                other_writes: 0,
            },
            truth: Truth::default(),
            wrong: 0,
        }
    }

    /// Something happens of its own accord.
    pub fn time_out(&mut self, setting: &Setting, timer: Timer) -> Effect {
        let mut effect = Effect::default();
        let trail = &mut effect.trail;
        let bounds = &setting.bounds;
        match timer {
            Timer::Write { producer, key, tombstone } => {
                self.write(setting, producer, &[Record { key, tombstone }], trail);
            }
            Timer::WritePair { first, second } => {
                let records = [Record { key: 0, tombstone: first }, Record { key: 1, tombstone: second }];
                self.write(setting, 0, &records, trail);
            }
            Timer::WriteUnkeyed => self.write(setting, 0, &[Record { key: UNKEYED, tombstone: false }], trail),
            Timer::WriteStamped { key } => self.write_stamped(setting, key, trail),
            Timer::End { producer, commit } => self.end_transaction(setting, producer, commit, trail),
            Timer::Roll => {
                self.log.roll(self.clock);
                self.world.rolls += 1;
            }
            Timer::RaiseHigh => self.log.raise_high(self.log.end),
            Timer::Tick => self.clock += 1,
            Timer::Clean { entries } => {
                self.start_round(setting, trail);
                self.build_map(setting, entries, trail);
                while self.round.as_ref().is_some_and(Round::has_group) {
                    self.clean_group(setting, trail);
                }
                effect.round = self.round;
                self.finish_round(setting, trail);
            }
            Timer::StartRound => {
                self.start_round(setting, trail);
                effect.round = self.round;
            }
            Timer::BuildMap { entries } => {
                self.build_map(setting, entries, trail);
                effect.round = self.round;
            }
            Timer::CleanGroup => self.clean_group(setting, trail),
            Timer::FinishRound => self.finish_round(setting, trail),
            Timer::AbortRound => {
                if let Some(round) = self.round.take() {
                    trail.mark(match (round.next == round.first, round.has_group()) {
                        (true, _) => Label::AbortedBefore,
                        (false, true) => Label::AbortedBetween,
                        (false, false) => Label::AbortedAfter,
                    });
                }
            }
            Timer::Crash { moment, replays } => self.crash(setting, moment, replays, trail),
            Timer::Truncate { to } => {
                let clamps = self.world.compacts || setting.rules.clamp == ClampRule::Always;
                self.cut(setting, to, clamps, trail);
            }
            Timer::Lose { to } => self.cut(setting, to, setting.rules.clamp == ClampRule::Always, trail),
            Timer::SwitchPolicy => {
                self.world.compacts = !self.world.compacts;
                self.world.policies += 1;
            }
            Timer::Alter => self.world.retention = bounds.altered.unwrap_or(bounds.retention),
            Timer::Forget => {
                self.log.checkpoint = NONE;
                self.pairs.clear();
                self.world.forgets += 1;
            }
            Timer::Expire { producer } => {
                self.log.producers[usize::from(producer - 1)] = super::log::Producer::default();
                trail.mark(Label::Expired);
            }
            Timer::DeleteOldest => {
                trail.mark(Label::SegmentDeleted);
                let before = self.log.clone();
                self.log.delete_oldest();
                self.compare(setting, &before);
            }
            Timer::DeleteRecords { to } => self.log.start = self.log.start.max(to),
            Timer::WriteOther => {
                self.world.other += 1;
                self.world.other_writes += u8::from(bounds.other_writes.is_some());
            }
            Timer::CleanOther => {
                if round::choose(setting, &self.log, self.clock, &mut Trail::default()).is_some() {
                    trail.mark(Label::DirtierFirst);
                }
                self.world.other = 0;
            }
            Timer::Resign => {
                self.role = Role::Follower;
                self.world.elected = true;
                effect.sends = Some(Msg::Elect { epochs: self.world.epochs });
            }
        }
        self.truth.tidy(bounds.keys, bounds.replicas == 1, &self.log);
        effect
    }

    /// A message arrives.
    pub fn receive(&mut self, setting: &Setting, msg: Msg) -> Effect {
        let mut effect = Effect::default();
        let trail = &mut effect.trail;
        match msg {
            Msg::Fetch { from } => {
                let isolation = setting.bounds.reader.unwrap_or(Isolation::ReadUncommitted);
                effect.sends = Some(self.read(isolation, from, trail));
            }
            Msg::Replicate { from } if self.role == Role::Leader => {
                self.replicated = from;
                let batch = self.log.batches.iter().find(|batch| batch.last() >= from).copied();
                effect.sends = Some(Msg::Replicated { batch, high: self.log.high, truth: self.truth });
            }
            Msg::Replicated { batch, high, truth } if self.role == Role::Follower => {
                self.follow(setting, batch, high, &truth, trail);
                effect.sends = Some(Msg::Replicate { from: self.log.end });
            }
            Msg::Elect { epochs } => {
                trail.mark(Label::Elected);
                self.role = Role::Leader;
                self.replicated = 0;
                self.world.epochs = epochs;
                self.world.elected = true;
                self.log.raise_high(self.log.end);
            }
            _ => {}
        }
        self.truth.tidy(setting.bounds.keys, setting.bounds.replicas == 1, &self.log);
        effect
    }

    fn append(&mut self, setting: &Setting, batch: Batch, trail: &mut Trail) {
        self.log.append(&setting.rules, setting.mutant, batch, self.clock, trail);
        if setting.bounds.asks_for_times() {
            self.log.times.resize(self.log.end.into(), self.clock);
        }
        if setting.bounds.expiry.is_none() {
            // Nobody asks when a producer wrote last.
            self.log.producers.iter_mut().for_each(|producer| producer.seen = 0);
        }
        if !setting.bounds.lagging && self.role == Role::Leader {
            self.log.raise_high(self.log.end);
        }
    }

    fn write(&mut self, setting: &Setting, producer: u8, records: &[Record], trail: &mut Trail) {
        let transactional = producer != 0 && !setting.bounds.idempotent;
        let kind = if transactional { Kind::Transactional } else { Kind::Plain };
        let epoch = if producer == 0 { 0 } else { self.world.epochs[usize::from(producer - 1)] };
        self.append(setting, Batch::data(self.log.end, kind, producer, epoch, records), trail);
    }

    fn write_stamped(&mut self, setting: &Setting, key: u8, trail: &mut Trail) {
        let mut batch = Batch::data(self.log.end, Kind::Plain, 0, 0, &[Record { key, tombstone: true }]);
        match setting.rules.client_horizon {
            // A design that notes its time in a record's header does not look at the bit, and loses it where it adds the header.
            ClientHorizon::Kept if setting.rules.tombstones == HorizonRule::RecordHeader => batch.horizon = CLIENT_BIT,
            ClientHorizon::Kept => {
                trail.mark(Label::HorizonFromClient);
                batch.horizon = 1;
            }
            ClientHorizon::Cleared => trail.mark(Label::HorizonCleared),
        }
        self.append(setting, batch, trail);
    }

    fn end_transaction(&mut self, setting: &Setting, producer: u8, commit: bool, trail: &mut Trail) {
        let first = self.log.producer(producer).open;
        if first != NONE {
            self.truth.decide(&self.log, producer, first, commit);
        }
        let epoch = &mut self.world.epochs[usize::from(producer - 1)];
        if setting.bounds.protocol == 2 {
            *epoch += 1;
        }
        let marker = Batch::marker(self.log.end, commit, producer, *epoch);
        self.append(setting, marker, trail);
    }

    fn start_round(&mut self, setting: &Setting, trail: &mut Trail) {
        self.round = round::start(setting, &mut self.log, self.clock, trail);
        if let Some(round) = &self.round
            && (round.bound > self.log.stable() || round.bound > self.log.high)
            && round.from < round.bound
        {
            self.wrong |= bit::S12;
        }
    }

    fn build_map(&mut self, setting: &Setting, entries: u8, trail: &mut Trail) {
        let Some(round) = &mut self.round else { return };
        if !round::build_map(setting, &self.log, round, entries, trail) {
            // The cleaner has given up on the log.
            self.wrong |= bit::L5;
            self.round = None;
            return;
        }
        round.next = self.log.segments[0].base;
        round.first = round.next;
        if setting.mutant == Mutant::EmptyRangeCleaned && round.from >= round.bound {
            // Nothing was mapped, so nothing is copied.
            round.next = round.cleaned_to;
        }
        if setting.mutant == Mutant::CheckpointFirst {
            self.log.checkpoint = round.cleaned_to;
        }
    }

    fn rewritten(&self, setting: &Setting, trail: &mut Trail) -> Option<(Output, Round)> {
        let mut round = self.round.filter(Round::has_group)?;
        let pass = Pass {
            setting,
            log: &self.log,
            round: &round,
            truth: &self.truth,
            retention: self.world.retention,
            replicated: if self.role == Role::Leader { self.replicated } else { NONE },
            pairs: &self.pairs,
        };
        let mut tracker = round.tracker;
        let output = pass.clean(&mut tracker, trail);
        round.tracker = tracker;
        Some((output, round))
    }

    fn clean_group(&mut self, setting: &Setting, trail: &mut Trail) {
        let Some((output, mut round)) = self.rewritten(setting, trail) else { return };
        if output.failed {
            self.wrong |= bit::L5;
            self.round = None;
            return;
        }
        let before = self.log.clone();
        swap(&mut self.log, &output);
        trail.mark(Label::Swapped);
        self.swapped(setting, &before, &output, &round);
        round.next = output.end;
        self.round = Some(round);
    }

    /// What the properties ask when a group has been swapped.
    fn swapped(&mut self, setting: &Setting, before: &Log, output: &Output, round: &Round) {
        self.wrong |= output.wrong;
        for (known, ended) in self.truth.ended.iter_mut().zip(&output.ended) {
            *known = (*known).max(*ended);
        }
        self.compare(setting, before);
        self.wrong |= properties::swapped(&self.truth, before, &self.log, output, round);
        if setting.bounds.reader.is_some() {
            for key in 0..setting.bounds.keys {
                let Some(deleted) = self.truth.deleted_at(&self.log, key) else { continue };
                let older = |log: &Log| {
                    let of_key = |batch: &Batch| batch.keyed().any(|(_, record)| record.key == key);
                    log.batches.iter().take_while(|batch| batch.base < deleted).any(of_key)
                };
                if older(before) && !older(&self.log) {
                    let slack = &mut self.truth.slack[usize::from(key)];
                    *slack = (*slack).max(self.clock - round.now);
                }
            }
        }
    }

    /// S1, and the ghost of S2, when `before` became the log.
    fn compare(&mut self, setting: &Setting, before: &Log) {
        if self.truth.note_losses(setting.bounds.keys, before, &self.log) {
            self.wrong |= bit::S1;
        }
    }

    fn finish_round(&mut self, setting: &Setting, trail: &mut Trail) {
        let Some(round) = self.round.take() else { return };
        let partial = round.cleaned_to < round.bound;
        trail.mark(if partial { Label::CheckpointedPartial } else { Label::Checkpointed });
        self.wrong |= properties::finished(&self.log, &round);
        if round.from >= round.bound && setting.rules.worth != Worth::PassedHorizon {
            // It will be chosen again and again.
            self.wrong |= bit::L5;
        }
        self.log.checkpoint = if setting.mutant == Mutant::DirtyFromBound { round.bound } else { round.cleaned_to };
        let open = |producer: u8| {
            let data = |batch: &&Batch| batch.producer() == producer && batch.base < round.bound;
            let last = self.log.batches.iter().rfind(data);
            last.is_some_and(Batch::is_transactional_data)
        };
        if (1..=setting.bounds.producers).any(open) {
            trail.mark(Label::OpenAcross);
        }
        match setting.rules.tombstones {
            HorizonRule::CheckpointPair => self.pairs = SmallVec::from_slice(&[(round.cleaned_to, self.clock)]),
            HorizonRule::CheckpointList
                if self.pairs.last().is_none_or(|(first_dirty, _)| *first_dirty < round.cleaned_to) =>
            {
                self.pairs.push((round.cleaned_to, self.clock));
            }
            _ => {}
        }
    }

    fn crash(&mut self, setting: &Setting, moment: Moment, replays: bool, trail: &mut Trail) {
        let written = self.rewritten(setting, &mut Trail::default());
        match (&self.round, moment) {
            (None, _) => trail.mark(Label::CrashIdle),
            (Some(round), Moment::Between) if round.is_mapped() && !round.has_group() => {
                trail.mark(Label::CrashUnchecked);
            }
            _ => {}
        }
        if let Some((output, round)) = written.filter(|_| moment != Moment::Between) {
            let before = self.log.clone();
            if !recover(&mut self.log, &output, moment, setting.mutant, trail) {
                self.wrong |= bit::S15;
            }
            if self.log != before {
                self.swapped(setting, &before, &output, &round);
            }
        }
        self.round = None;
        if replays {
            trail.mark(Label::Replayed);
            let seen = self.log.producers.map(|producer| producer.seen);
            self.log.producers = self.log.replayed(&setting.rules, trail);
            for (producer, seen) in self.log.producers.iter_mut().zip(seen) {
                producer.seen = if producer.exists { seen } else { 0 };
            }
        }
    }

    /// The end of the log is cut off.
    fn cut(&mut self, setting: &Setting, to: u8, clamps: bool, trail: &mut Trail) {
        self.round = None;
        self.log.truncate(&setting.rules, to, self.clock);
        self.truth.forget_from(to);
        self.world.cuts += 1;
        let active = self.log.active();
        match self.log.checkpoint {
            NONE => {}
            checkpoint if checkpoint <= active => trail.mark(Label::TruncatedAbove),
            _ if clamps => {
                trail.mark(Label::Truncated);
                self.log.checkpoint = active;
            }
            _ => trail.mark(Label::TruncatedUnclamped),
        }
        // A design with a file of its own lowers what it says there as well.
        if clamps {
            self.pairs.retain(|(first_dirty, _)| *first_dirty <= active);
        }
    }

    /// A consumer's fetch (3.5): the batch at the position, or the next one.
    #[must_use]
    pub fn read(&self, isolation: Isolation, from: u8, trail: &mut Trail) -> Msg {
        let end = match isolation {
            Isolation::ReadCommitted => self.log.stable(),
            Isolation::ReadUncommitted => self.log.high,
        };
        let time = self.clock;
        let from = from.max(self.log.start);
        let Some(batch) = self.log.batches.iter().find(|batch| batch.last() >= from && batch.base < end) else {
            return Msg::Fetched { batch: None, next: end.max(from), end, time };
        };
        if batch.base > from {
            trail.mark(Label::ReadGap);
        }
        let aborted = isolation == Isolation::ReadCommitted && properties::is_listed(&self.log, batch);
        let records: SmallVec<[Record; 2]> = if batch.is_control() || aborted {
            SmallVec::new()
        } else {
            batch.records().filter(|(at, _)| batch.base + at >= from).map(|(_, record)| record).collect()
        };
        trail.mark(match (aborted, batch.is_empty()) {
            (_, true) => Label::ReadEmptied,
            (true, _) => Label::ReadAborted,
            _ => Label::ReadRecord,
        });
        let seen = (!records.is_empty()).then(|| Batch::data(batch.base, Kind::Plain, 0, 0, &records));
        Msg::Fetched { batch: seen, next: batch.next(), end, time }
    }

    /// A follower appends what the leader sent (6.1).
    fn follow(&mut self, setting: &Setting, batch: Option<Batch>, high: u8, truth: &Truth, trail: &mut Trail) {
        if let Some(batch) = batch.filter(|batch| batch.base >= self.log.end) {
            if batch.base > self.log.end {
                trail.mark(Label::FetchedGap);
            }
            if batch.horizon != 0 {
                trail.mark(Label::FetchedStamped);
            }
            // The ghosts count by this replica's clock, but for what the batch brings with it.
            let mut batch = batch;
            if batch.horizon == 0 {
                batch.due = 0;
            }
            if batch.late == 1 {
                let starts = setting.rules.tombstones == HorizonRule::RecordHeader && !batch.is_control();
                let delay = if starts { self.world.retention } else { 0 };
                batch.late = if batch.horizon == 0 { 0 } else { batch.horizon + delay + 1 };
            }
            self.append(setting, batch, trail);
        }
        self.log.raise_high(high.min(self.log.end));
        self.truth.aborted |= truth.aborted;
        for (mine, known) in self.truth.ended.iter_mut().zip(&truth.ended) {
            *mine = (*mine).max(*known);
        }
        // What is gone at the leader is gone for good; what is above the end was not asked for yet.
        for (mine, known) in self.truth.dead.iter_mut().zip(&truth.dead) {
            if *known <= self.log.end {
                *mine = (*mine).max(*known);
            }
        }
    }
}
