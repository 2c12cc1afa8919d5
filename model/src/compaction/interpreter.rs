//! A trace's operations on the model's log and cleaner: input in, answer out, and what can be observed afterwards.
//!
//! Rendering a path, and deciding for which variants a trace holds, are both this. What the model leaves out stands in
//! [`super::replica`]; who is let in (epochs, sequences) and which segments fit into one are said here in a
//! trace's terms, everything else is the model's own replica.

use std::collections::BTreeMap;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::compaction::{
    Alter, Answer, Append, CleanupPolicy, Configure, Crash, EndTransaction, Isolation as SeenIsolation, Operation,
    Read, State, SwapStep, TransactionResult,
};
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::variants::CompactionRules;

use super::batch::{Batch, Kind, NONE, Record, UNKEYED};
use super::bounds::{Bounds, Grain, Isolation, Setting};
use super::broker::{Broker, Role};
use super::message::{Msg, Timer};
use super::mutant::Mutant;
use super::recovery::Moment;
use super::replica::{self, BASE_MS, Replica};
use super::round::Round;

/// What comes of an operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The answer.
    pub answer: Option<Answer>,
    /// The error.
    pub error: Option<KafkaError>,
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self { answer: Some(answer), error: None }
    }
}

/// The model's replicas behind the vocabulary of a trace.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// The rules, with bounds that bound nothing.
    pub setting: Setting,
    /// The replicas, the leader first.
    pub replicas: Vec<Replica>,
    names: Vec<BrokerName>,
    segment_bytes: Option<u32>,
}

impl Interpreter {
    /// An empty log.
    pub fn new(configure: &Configure, rules: CompactionRules, mutant: Mutant) -> Result<Self, String> {
        let names = configure.replicas.clone().unwrap_or_default();
        let entries = u8::try_from(configure.map_entries).unwrap_or(u8::MAX);
        let expiry = configure.producer_expiration_ms.map(replica::ticks).transpose()?;
        let bounds = Bounds {
            offsets: replica::offset(250)?,
            keys: 3,
            producers: 2,
            protocol: configure.transaction_protocol,
            lagging: true,
            retention: replica::ticks(configure.delete_retention_ms)?,
            min_lag: configure.min_compaction_lag_ms.map_or(Ok(0), replica::ticks)?,
            map_least: entries,
            map_most: entries,
            indexed: configure.index_interval_bytes == 0,
            grain: Grain::Steps,
            expiry,
            replicas: u8::try_from(names.len().max(1)).unwrap_or(u8::MAX),
            ..Bounds::BASE
        };
        let setting = Setting { rules, mutant, bounds };
        if configure.now_ms != BASE_MS || configure.retention_ms.is_some() || configure.max_compaction_lag_ms.is_some()
        {
            return Err("the model has no words for this configuration".to_owned());
        }
        let replicas = (0..bounds.replicas).map(|id| Replica {
            broker: Broker::new(&setting, id),
            values: BTreeMap::new(),
            sequences: BTreeMap::new(),
            stable_at: BTreeMap::new(),
        });
        let replicas = replicas.collect();
        let mut made = Self { setting, replicas, names, segment_bytes: configure.segment_bytes };
        made.set_policy(configure.cleanup_policy.as_deref());
        Ok(made)
    }

    fn set_policy(&mut self, policy: Option<&[CleanupPolicy]>) {
        if let Some(policy) = policy {
            let compacts = policy.contains(&CleanupPolicy::Compact);
            self.replicas.iter_mut().for_each(|replica| replica.broker.world.compacts = compacts);
        }
    }

    /// The place of a replica.
    pub fn place(&self, at: Option<&BrokerName>) -> Result<usize, String> {
        match at {
            None => Ok(0),
            Some(name) => self.names.iter().position(|known| known == name).ok_or_else(|| format!("no replica {name}")),
        }
    }

    /// All that can be observed of a replica.
    pub fn observe(&self, at: Option<&BrokerName>) -> Result<State, String> {
        self.replica(self.place(at)?)?.observe(&self.setting)
    }

    /// A replica.
    pub fn replica(&self, place: usize) -> Result<&Replica, String> {
        self.replicas.get(place).ok_or_else(|| "no such replica".to_owned())
    }

    fn replica_mut(&mut self, place: usize) -> Result<(&mut Replica, &mut Setting), String> {
        let replica = self.replicas.get_mut(place).ok_or("no such replica")?;
        Ok((replica, &mut self.setting))
    }

    /// One input.
    pub fn apply(&mut self, at: Option<&BrokerName>, operation: &Operation) -> Result<Reply, String> {
        let place = self.place(at)?;
        match operation {
            Operation::Append(append) => {
                self.lead(place);
                return self.append(place, append);
            }
            Operation::EndTransaction(end) => {
                self.lead(place);
                return self.end_transaction(place, end);
            }
            Operation::Clean(_) => return self.clean(place),
            Operation::StartRound(_) => {
                let round = self.start_round(place)?;
                return Ok(round.map_or_else(Reply::default, |round| {
                    let (from, bound) = (Some(round.from.into()), Some(round.bound.into()));
                    Answer { from, bound, ..Answer::default() }.into()
                }));
            }
            Operation::BuildMap(_) => {
                return Ok(self.build_map(place)?.map_or_else(Reply::default, |round| mapped(&round).into()));
            }
            Operation::Fetch(_) => return self.fetch(place),
            Operation::Read(read) => return self.read(place, read),
            Operation::CleanGroup(_) => self.clean_group(place)?,
            Operation::Crash(crash) => self.crash(place, crash)?,
            Operation::HighWatermark(to) => {
                let to = replica::offset(*to)?;
                self.replica_mut(place)?.0.broker.log.raise_high(to);
            }
            Operation::ClockMs(ms) => {
                let clock = replica::clock(*ms)?;
                self.replicas.iter_mut().for_each(|replica| replica.broker.clock = clock);
            }
            Operation::Alter(Alter { delete_retention_ms, cleanup_policy, .. }) => {
                if let Some(retention) = delete_retention_ms {
                    let retention = replica::ticks(*retention)?;
                    self.replicas.iter_mut().for_each(|replica| replica.broker.world.retention = retention);
                }
                self.set_policy(cleanup_policy.as_deref());
            }
            Operation::DeleteRecords(to) => {
                let log = &mut self.replica_mut(place)?.0.broker.log;
                log.start = log.start.max(replica::offset(*to)?);
            }
            Operation::DeleteSegments(_) => {
                let (Replica { broker, .. }, setting) = self.replica_mut(place)?;
                let start = broker.log.start;
                while broker.log.segments.get(1).is_some_and(|segment| segment.base <= start) {
                    broker.time_out(setting, Timer::DeleteOldest);
                }
                broker.log.start = start;
            }
            Operation::ExpireProducers(_) => {
                let (replica, setting) = self.replica_mut(place)?;
                let broker = &mut replica.broker;
                for producer in [1, 2] {
                    let known = broker.log.producer(producer);
                    let old = setting.bounds.expiry.is_some_and(|expiry| broker.clock >= known.seen + expiry);
                    if known.exists && known.open == NONE && old {
                        broker.time_out(setting, Timer::Expire { producer });
                    }
                }
            }
            Operation::Roll(_) => self.time_out(place, Timer::Roll)?,
            Operation::FinishRound(_) => self.time_out(place, Timer::FinishRound)?,
            Operation::AbortRound(_) => self.time_out(place, Timer::AbortRound)?,
            Operation::Truncate(to) => self.time_out(place, Timer::Truncate { to: replica::offset(*to)? })?,
            Operation::LoseCheckpoint(_) => {
                if self.replica(place)?.broker.round.is_some() {
                    return Err("a round goes on".to_owned());
                }
                self.time_out(place, Timer::Forget)?;
            }
            Operation::Restart(_) | Operation::LookUpMs(_) | Operation::AppendBytes(_) => {
                return Err("the model has no word for this operation".to_owned());
            }
        }
        Ok(Reply::default())
    }

    fn time_out(&mut self, place: usize, timer: Timer) -> Result<(), String> {
        let (replica, setting) = self.replica_mut(place)?;
        replica.broker.time_out(setting, timer);
        Ok(())
    }

    /// Who is written to leads.
    fn lead(&mut self, place: usize) {
        for (other, replica) in self.replicas.iter_mut().enumerate() {
            let role = if other == place { Role::Leader } else { Role::Follower };
            if replica.broker.role != role {
                (replica.broker.role, replica.broker.replicated) = (role, 0);
            }
        }
    }

    /// A batch that does not fit any more begins a new segment.
    fn make_room(&mut self, place: usize, bytes: u32) -> Result<(), String> {
        let Some(limit) = self.segment_bytes else { return Ok(()) };
        let replica = self.replica(place)?;
        let log = &replica.broker.log;
        if log.can_roll() && replica.segment_bytes(log.segments.len() - 1) + bytes > limit {
            self.time_out(place, Timer::Roll)?;
        }
        Ok(())
    }

    fn append(&mut self, place: usize, append: &Append) -> Result<Reply, String> {
        let Append { producer, epoch, sequence, transactional, horizon_ms, records, .. } = append;
        let producer = producer.as_ref().map_or(Ok(0), replica::producer)?;
        let replica = self.replica(place)?;
        if replica.broker.world.compacts && records.iter().any(|record| record.key.is_none()) {
            return Ok(Reply { answer: None, error: Some(KafkaError::InvalidRecord) });
        }
        let mut last_sequence = None;
        let mut client = 0;
        if producer != 0 {
            let known = replica.epoch(producer);
            client = epoch.map_or(Ok(known.unwrap_or(0)), u8::try_from).map_err(|_| "an epoch below zero")?;
            let next = replica.last_sequence(producer).filter(|_| known == Some(client)).map_or(0, |last| last + 1);
            let first = sequence.unwrap_or(next);
            if known == Some(client) && first < next {
                return Err("the model has no batch that is sent twice".to_owned());
            }
            if let Err(error) = replica.admit(producer, client, first) {
                return Ok(Reply { answer: None, error: Some(error) });
            }
            last_sequence = Some(first + i32::try_from(records.len()).unwrap_or(1) - 1);
        }
        let record = |at: usize| -> Result<Option<Record>, String> {
            let record = records.get(at).map(|record| {
                Ok(Record { key: replica::key(record.key.as_ref())?, tombstone: record.value.is_none() })
            });
            record.transpose()
        };
        let timer = match (record(0)?, record(1)?, horizon_ms) {
            (Some(Record { key, tombstone: true }), None, Some(BASE_MS)) => Timer::WriteStamped { key },
            (Some(Record { key: UNKEYED, .. }), None, None) => Timer::WriteUnkeyed,
            (Some(Record { key, tombstone }), None, None) => Timer::Write { producer, key, tombstone },
            (Some(Record { key: 0, tombstone: first }), Some(Record { key: 1, tombstone: second }), None) => {
                Timer::WritePair { first, second }
            }
            _ => return Err("the model has no such batch".to_owned()),
        };
        let values: Vec<_> = records.iter().map(|record| record.value.clone()).collect();
        let text = |value: &Option<_>| {
            value.as_ref().map_or(0, |name: &fencepost_fixtures::names::RecordName| {
                u32::try_from(name.as_str().len()).unwrap_or(u32::MAX)
            })
        };
        self.make_room(place, 61 + values.iter().map(|value| 8 + text(value)).sum::<u32>())?;
        let (replica, setting) = self.replica_mut(place)?;
        setting.bounds.idempotent = !transactional;
        let broker = &mut replica.broker;
        if let Some(slot) = usize::from(producer).checked_sub(1).and_then(|slot| broker.world.epochs.get_mut(slot)) {
            *slot = client;
        }
        let first = broker.log.end;
        broker.time_out(setting, timer);
        let last = broker.log.end.saturating_sub(1);
        replica.values.extend((first..).zip(values));
        replica.sequences.extend(last_sequence.map(|sequence| (last, sequence)));
        Ok(appended(first, last))
    }

    fn end_transaction(&mut self, place: usize, end: &EndTransaction) -> Result<Reply, String> {
        self.make_room(place, 78)?;
        let producer = replica::producer(&end.producer)?;
        let (replica, setting) = self.replica_mut(place)?;
        let epoch = replica.epoch(producer).unwrap_or(0);
        if let Some(slot) = replica.broker.world.epochs.get_mut(usize::from(producer) - 1) {
            *slot = epoch;
        }
        let marker = replica.broker.log.end;
        let stable = replica.stable_beside(producer, marker);
        replica.stable_at.insert(marker, stable);
        replica.broker.time_out(setting, Timer::End { producer, commit: end.result == TransactionResult::Commit });
        Ok(appended(marker, marker))
    }

    fn start_round(&mut self, place: usize) -> Result<Option<Round>, String> {
        let (replica, setting) = self.replica_mut(place)?;
        if replica.broker.round.is_some() || !replica.broker.world.compacts {
            return Ok(None);
        }
        Ok(replica.broker.time_out(setting, Timer::StartRound).round)
    }

    fn build_map(&mut self, place: usize) -> Result<Option<Round>, String> {
        let (replica, setting) = self.replica_mut(place)?;
        if replica.broker.round.is_none_or(|round| round.is_mapped()) {
            return Err("no round waits for its map".to_owned());
        }
        Ok(replica.broker.time_out(setting, Timer::BuildMap { entries: setting.bounds.map_most }).round)
    }

    fn clean_group(&mut self, place: usize) -> Result<(), String> {
        let limit = self.segment_bytes;
        let (replica, setting) = self.replica_mut(place)?;
        if !replica.broker.round.as_ref().is_some_and(Round::has_group) {
            return Err("no group is left".to_owned());
        }
        setting.bounds.capacity = replica.group(limit);
        replica.broker.time_out(setting, Timer::CleanGroup);
        Ok(())
    }

    fn clean(&mut self, place: usize) -> Result<Reply, String> {
        if self.start_round(place)?.is_none() {
            return Ok(Reply::default());
        }
        let Some(round) = self.build_map(place)? else { return Ok(Reply::default()) };
        while self.replica(place)?.broker.round.as_ref().is_some_and(Round::has_group) {
            self.clean_group(place)?;
        }
        // A cleaner that gave up answers nothing.
        if self.replica(place)?.broker.round.is_none() {
            return Ok(Reply::default());
        }
        self.time_out(place, Timer::FinishRound)?;
        let (from, bound) = (Some(round.from.into()), Some(round.bound.into()));
        Ok(Answer { from, bound, ..mapped(&round) }.into())
    }

    fn crash(&mut self, place: usize, crash: &Crash) -> Result<(), String> {
        let limit = self.segment_bytes;
        let (replica, setting) = self.replica_mut(place)?;
        setting.bounds.capacity = replica.group(limit);
        let moment = match crash.during_swap {
            None => Moment::Between,
            Some(SwapStep::Cleaned) => Moment::Cleaned,
            Some(SwapStep::SwapNamed) => Moment::SwapNamed,
            Some(SwapStep::FirstDeleted) => Moment::FirstDeleted,
            Some(SwapStep::AllDeleted) => Moment::AllDeleted,
            Some(SwapStep::Renamed) => Moment::Renamed,
        };
        let timer = match crash.loses_from {
            Some(from) => Timer::Lose { to: replica::offset(from)? },
            None => Timer::Crash { moment, replays: crash.loses_snapshots },
        };
        replica.broker.time_out(setting, timer);
        replica.broker.log.high = replica.broker.log.start;
        Ok(())
    }

    fn fetch(&mut self, place: usize) -> Result<Reply, String> {
        let setting = self.setting;
        let mut replicas = self.replicas.iter_mut();
        let (Some(leader), Some(follower), 1) = (replicas.next(), replicas.next(), place) else {
            return Err("only the second replica copies".to_owned());
        };
        let (from, high) = (follower.broker.log.end, follower.broker.log.high);
        let mut first = None;
        loop {
            let asked = leader.broker.receive(&setting, Msg::Replicate { from: follower.broker.log.end });
            let Some(Msg::Replicated { batch: Some(batch), high, truth }) = asked.sends else { break };
            if batch.kind() == Kind::Abort {
                let stable = follower.stable_beside(batch.producer(), batch.base);
                follower.stable_at.insert(batch.base, stable);
            }
            let offsets = batch.base..batch.next();
            follower.values.extend(leader.values.range(offsets.clone()).map(|(at, value)| (*at, value.clone())));
            follower.sequences.extend(leader.sequences.range(offsets).map(|(at, sequence)| (*at, *sequence)));
            follower.broker.receive(&setting, Msg::Replicated { batch: Some(batch), high, truth });
            first = first.or(Some(batch.base));
        }
        // A trace says when the high watermark rises.
        follower.broker.log.high = high;
        let last = follower.broker.log.end.saturating_sub(1);
        Ok(first.filter(|first| *first >= from).map_or_else(Reply::default, |first| appended(first, last)))
    }

    fn read(&self, place: usize, read: &Read) -> Result<Reply, String> {
        let isolation = match read.isolation {
            SeenIsolation::ReadUncommitted => Isolation::ReadUncommitted,
            SeenIsolation::ReadCommitted => Isolation::ReadCommitted,
        };
        let replica = self.replica(place)?;
        let log = &replica.broker.log;
        let end = if isolation == Isolation::ReadCommitted { log.stable() } else { log.high };
        let mut next = replica::offset(read.from)?;
        let mut records = Vec::new();
        let mut left = read.batches.unwrap_or(u32::MAX);
        while left > 0 {
            left -= 1;
            let Some((more, after)) = replica.read(isolation, next)? else {
                next = next.max(end);
                break;
            };
            records.extend(more);
            next = after;
        }
        let next = read.batches.map(|_| next.into());
        Ok(Answer { records: Some(records), next, ..Answer::default() }.into())
    }
}

fn mapped(round: &Round) -> Answer {
    let entries = round.map.iter().filter(|offset| **offset != NONE).count();
    Answer {
        cleaned_to: Some(round.cleaned_to.into()),
        map_entries: Some(u32::try_from(entries).unwrap_or(u32::MAX)),
        ..Answer::default()
    }
}

fn appended(first: u8, last: u8) -> Reply {
    Answer { first: Some(first.into()), last: Some(last.into()), ..Answer::default() }.into()
}

/// What of a batch an implementation has: without the model's ghosts.
#[must_use]
pub fn visible(batch: &Batch) -> [u8; 5] {
    let [base, head, epoch, horizon, records, ..] = batch.image();
    [base, head, epoch, horizon, records]
}
