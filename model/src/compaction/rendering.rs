//! A trace in the making: the planned steps, their answers, what can be seen after them, and what must be refused then.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::compaction::{
    Answer, Append, CleanupPolicy, Compaction as Vocabulary, Configure, NewRecord, Operation, State,
};
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::trace::{Behaviour, Refusal, Step};

use super::Compaction;
use super::bounds::Setting;
use super::broker::Broker;
use super::interpreter::{Interpreter, Reply, visible};
use super::labels::{Label, Trail};
use super::log::Producer;
use super::message::Timer;
use super::plan::Planned;
use super::replica::{self, BASE_MS};
use super::traces::Behaved;
use crate::protocol::Walk;
use crate::world::{Action, WorldState};

/// What a reader may miss in a step.
const NOTES: &[(Label, &str)] = &[
    (Label::CStampedAbove, "A tombstone above what the round has mapped is stamped all the same."),
    (
        Label::MapStaleEntry,
        "Mapping begins above the marker of an aborted transaction whose entry is looked at all the same, and which so never ends.",
    ),
    (Label::TruncatedUnclamped, "The cleaner's checkpoint stays above the end of the log."),
    (Label::HorizonFromClient, "The horizon that the client wrote is kept."),
    (Label::CrashSuffix, "Old segments above what the new one holds come back."),
    (Label::A6Header, "The marker stands for its producer, so that its header stays."),
    (Label::ChosenHorizon, "Nothing is dirty: a horizon that has passed makes the log worth a round."),
];

/// What the log is made of. A round takes the map's size from the configuration, so that all of a path must have the same.
pub fn configure(setting: &Setting, walk: &Walk<Compaction>, size: Option<u32>) -> Result<Configure, String> {
    let bounds = &setting.bounds;
    if bounds.dirty_percent > 0 || bounds.max_lag.is_some() || bounds.other > 0 {
        return Err("what a batch weighs in a log's dirty ratio is not the same in a trace".to_owned());
    }
    let maps: BTreeSet<_> = walk
        .iter()
        .filter_map(|(_, action)| match action {
            Some(Action::Timeout(_, Timer::Clean { entries } | Timer::BuildMap { entries })) => Some(*entries),
            _ => None,
        })
        .collect();
    if maps.len() > 1 {
        return Err("a trace's rounds have maps of one size".to_owned());
    }
    let names = |names: &[&str]| names.iter().map(|name| name.parse()).collect::<Result<Vec<BrokerName>, _>>();
    Ok(Configure {
        now_ms: BASE_MS,
        delete_retention_ms: replica::span_ms(bounds.retention),
        map_entries: maps.first().copied().unwrap_or(bounds.map_most).into(),
        index_interval_bytes: if bounds.indexed { 0 } else { 4096 },
        transaction_protocol: bounds.protocol,
        min_compaction_lag_ms: (bounds.min_lag > 0).then(|| replica::span_ms(bounds.min_lag)),
        max_compaction_lag_ms: None,
        min_cleanable_dirty_percent: None,
        cleanup_policy: (bounds.deletes || bounds.deletes_records)
            .then(|| vec![CleanupPolicy::Compact, CleanupPolicy::Delete]),
        retention_ms: None,
        segment_bytes: size,
        producer_expiration_ms: bounds.expiry.map(replica::span_ms),
        compression: None,
        timestamp_type: None,
        replicas: if bounds.replicas > 1 { Some(names(&["a", "b"])?) } else { None },
    })
}

/// A trace in the making.
pub struct Rendering<'a> {
    protocol: &'a Compaction,
    interpreter: Interpreter,
    names: Vec<BrokerName>,
    /// Whether segments have to be merged as in the path; else only the batches have to be the same.
    exact: bool,
    asked: BTreeSet<KafkaError>,
    largest: u32,
    fault: Option<String>,
    /// The trace.
    pub behaviour: Behaved,
}

impl<'a> Rendering<'a> {
    /// Nothing but an empty log.
    pub fn new(protocol: &'a Compaction, configure: Configure, exact: bool) -> Result<Self, String> {
        let interpreter = Interpreter::new(&configure, protocol.setting.rules, protocol.setting.mutant)?;
        let names = configure.replicas.clone().unwrap_or_default();
        let start = State { log: Some(Vec::new()), ..State::default() };
        let behaviour = Behaviour { configure, setup: Vec::new(), start, steps: Vec::new() };
        let asked = BTreeSet::new();
        Ok(Self { protocol, interpreter, names, exact, asked, largest: 0, fault: None, behaviour })
    }

    /// The most that a segment had, in bytes, with a little to spare.
    #[must_use]
    pub fn largest_segment(&self) -> u32 {
        self.largest + 2
    }

    fn name(&self, at: usize) -> Option<BrokerName> {
        self.names.get(at).filter(|_| at > 0).cloned()
    }

    /// Follows the path, and holds the interpreter against its replicas.
    pub fn follow(&mut self, walk: &Walk<Compaction>, planned: &[Planned]) -> Result<(), String> {
        for one in planned {
            let (Some((before, _)), Some((after, _))) = (walk.get(one.steps.0), walk.get(one.steps.1)) else {
                return Err("the plan has a step that the path has not".to_owned());
            };
            if one.operations.is_empty() {
                continue;
            }
            let copies = matches!(one.operations.as_slice(), [Operation::Fetch(_)]);
            let note = if copies { None } else { self.note(walk, one.steps) };
            // What follows a fault tells how large the segments become.
            if let Err(message) = self.steps(before, one, note, true).and_then(|()| self.compare(one.at, after)) {
                self.fault.get_or_insert(message);
            }
        }
        if let Some((last, _)) = walk.last() {
            self.set_clock(last, 0)?;
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Appends what shows a harm.
    pub fn append(&mut self, walk: &Walk<Compaction>, harm: &[Planned]) -> Result<(), String> {
        let Some((last, _)) = walk.last() else { return Ok(()) };
        harm.iter().try_for_each(|one| self.steps(last, one, None, false))
    }

    fn steps(
        &mut self,
        before: &WorldState<Compaction>,
        one: &Planned,
        note: Option<&str>,
        accepted: bool,
    ) -> Result<(), String> {
        for operation in &one.operations {
            self.set_clock(before, one.at)?;
            self.set_high(before, one.at, operation)?;
            self.step(one.at, operation.clone(), note, accepted)?;
        }
        Ok(())
    }

    fn note(&self, walk: &Walk<Compaction>, (from, to): (usize, usize)) -> Option<&'static str> {
        let mut trail = Trail::default();
        for (state, action) in walk.iter().take(to).skip(from) {
            trail.0 |= action.map_or(0, |action| self.protocol.trail(state, &action).0);
        }
        NOTES.iter().find(|(label, _)| trail.has(*label)).map(|(_, text)| *text)
    }

    fn path(before: &WorldState<Compaction>, at: usize) -> Result<&Broker, String> {
        before.actors.brokers().nth(at).ok_or_else(|| "no such replica".to_owned())
    }

    /// Says what the clock shows, where it moved.
    fn set_clock(&mut self, before: &WorldState<Compaction>, at: usize) -> Result<(), String> {
        let clock = Self::path(before, at)?.clock;
        // The clock of a replica that does not clean stands still.
        if clock > self.interpreter.replica(at)?.broker.clock {
            self.step(0, Operation::ClockMs(replica::clock_ms(clock)), None, true)?;
        }
        Ok(())
    }

    /// Says where the high watermark is, where it moved and somebody asks for it.
    fn set_high(&mut self, before: &WorldState<Compaction>, at: usize, operation: &Operation) -> Result<(), String> {
        let asks = matches!(
            operation,
            Operation::Clean(_)
                | Operation::StartRound(_)
                | Operation::CleanGroup(_)
                | Operation::Crash(_)
                | Operation::Read(_)
                | Operation::DeleteRecords(_)
        );
        let high = Self::path(before, at)?.log.high;
        if asks && high != self.interpreter.replica(at)?.broker.log.high {
            self.step(at, Operation::HighWatermark(high.into()), None, true)?;
        }
        Ok(())
    }

    #[allow(clippy::zero_sized_map_values, reason = "the vocabulary of compaction has no messages")]
    fn step(&mut self, place: usize, operation: Operation, note: Option<&str>, accepted: bool) -> Result<(), String> {
        let at = self.name(place);
        let Reply { answer, error } = self.interpreter.apply(at.as_ref(), &operation)?;
        if let (Some(error), true) = (error, accepted) {
            return Err(format!("the trace would be refused, and the path is not: {error}"));
        }
        let replica = self.interpreter.replica(place)?;
        let active = replica.broker.log.segments.len().saturating_sub(1);
        self.largest = self.largest.max(replica.segment_bytes(active));
        let transactions = self.protocol.setting.bounds.producers > 0;
        let state = part(&operation, self.interpreter.observe(at.as_ref())?, transactions, answer.as_ref());
        let refuse = self.refusals(place, &operation)?;
        self.behaviour.steps.push(Step {
            at,
            operation,
            answer,
            error,
            sends: BTreeMap::default(),
            completes: BTreeMap::default(),
            state,
            refuse,
            note: note.map(str::to_owned),
        });
        Ok(())
    }

    /// The requests that must be refused now: a producer's old epoch, and a gap in its sequence numbers. Each is asked
    /// once, and again when the producers were built anew.
    fn refusals(&mut self, place: usize, operation: &Operation) -> Result<Vec<Refusal<Vocabulary>>, String> {
        match operation {
            Operation::Crash(_) | Operation::Truncate(_) | Operation::ExpireProducers(_) => self.asked.clear(),
            Operation::Append(_) | Operation::EndTransaction(_) => {}
            _ => return Ok(Vec::new()),
        }
        let mut refuse = Vec::new();
        let replica = self.interpreter.replica(place)?;
        for number in [1, 2] {
            let epoch = replica.epoch(number);
            let probe = |epoch: Option<i16>, sequence: i32| -> Result<Operation, String> {
                Ok(Operation::Append(Append {
                    producer: Some(replica::producer_name(number)?),
                    epoch,
                    sequence: Some(sequence),
                    transactional: !self.protocol.setting.bounds.idempotent,
                    horizon_ms: None,
                    compression: None,
                    records: vec![NewRecord {
                        key: replica::key_name(0)?,
                        value: Some("late".parse()?),
                        timestamp_ms: None,
                    }],
                }))
            };
            let mut probes = Vec::new();
            if let Some(old) = epoch.and_then(|epoch| epoch.checked_sub(1)) {
                probes.push(probe(Some(old.into()), 0)?);
            }
            if let (Some(last), true) = (replica.last_sequence(number), epoch.is_some()) {
                probes.push(probe(None, last + 2)?);
            }
            for operation in probes {
                let reply = self.interpreter.clone().apply(self.name(place).as_ref(), &operation)?;
                if let Some(error) = reply.error
                    && self.asked.insert(error)
                {
                    refuse.push(Refusal { at: self.name(place), operation, error });
                }
            }
        }
        Ok(refuse)
    }

    /// Whether the interpreter's replica is the path's.
    fn compare(&self, at: usize, after: &WorldState<Compaction>) -> Result<(), String> {
        let model = Self::path(after, at)?;
        let told = &self.interpreter.replica(at)?.broker;
        let batches = |broker: &Broker| broker.log.batches.iter().map(visible).collect::<Vec<_>>();
        let bases = |broker: &Broker| broker.log.segments.iter().map(|segment| segment.base).collect::<Vec<_>>();
        let producer = |one: &Producer| (one.exists, one.epoch, one.last_data, one.open);
        let same = [
            ("batches", batches(model) == batches(told)),
            ("segments", !self.exact || bases(model) == bases(told)),
            ("aborted transactions", model.log.aborted == told.log.aborted),
            ("offsets", (model.log.start, model.log.end) == (told.log.start, told.log.end)),
            ("checkpoint", model.log.checkpoint == told.log.checkpoint),
            ("producers", model.log.producers.iter().map(producer).eq(told.log.producers.iter().map(producer))),
            ("rounds", model.round.is_some() == told.round.is_some()),
        ];
        match same.iter().find(|(_, same)| !same) {
            None => Ok(()),
            Some((what, _)) => {
                Err(format!("the {what} of the trace and of the model part at step {}", self.behaviour.steps.len()))
            }
        }
    }
}

/// What of the state is worth telling after an operation.
fn part(operation: &Operation, seen: State, transactions: bool, answer: Option<&Answer>) -> Option<State> {
    let mut told = State::default();
    let State { log, aborted, segments, producers, first_dirty, log_start, log_end, .. } = seen;
    match operation {
        Operation::Clean(_) if answer.is_some() => (told.log, told.first_dirty) = (log, first_dirty),
        Operation::Clean(_) | Operation::CleanGroup(_) => (told.log, told.segments) = (log, segments),
        Operation::FinishRound(_) | Operation::AbortRound(_) | Operation::LoseCheckpoint(_) => {
            told.first_dirty = first_dirty;
        }
        Operation::Crash(_) | Operation::Truncate(_) => {
            // Which files are there when the end was lost is the file system's business.
            let lost = matches!(operation, Operation::Crash(crash) if crash.loses_from.is_some());
            (told.log, told.log_end, told.segments) = (log, log_end, segments.filter(|_| !lost));
            told.first_dirty = first_dirty;
        }
        Operation::DeleteSegments(_) => (told.log, told.segments, told.log_start) = (log, segments, log_start),
        Operation::Fetch(_) => told.log = log,
        Operation::EndTransaction(_) | Operation::ExpireProducers(_) => {}
        _ => return None,
    }
    if transactions {
        if told.log.is_some() {
            told.aborted = aborted;
        }
        let rebuilt = !matches!(
            operation,
            Operation::Clean(_) | Operation::CleanGroup(_) | Operation::FinishRound(_) | Operation::LoseCheckpoint(_)
        );
        told.producers = producers.filter(|_| rebuilt);
    }
    (told != State::default()).then_some(told)
}
