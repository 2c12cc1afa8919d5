//! A behaviour of the model as the steps of a trace: each action is taken once, and what comes of it is written down.
//!
//! The messages get names where they are sent: `f1` a fetch or its answer, `v1` a question where an epoch ends, `l1` for an
//! offset. A record is called after its epoch and its offset, since these name it. A call of the application is a step of its
//! own, and so is the poll that follows. An answer that comes over a connection which is no more is never delivered.

use std::collections::BTreeMap;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::consumer::messages::{Aborted, EpochReply, EpochRequest, OffsetReply, OffsetRequest, Records};
use fencepost_fixtures::consumer::observed::{Exception, FetchState, OutOfRange, Truncated};
use fencepost_fixtures::consumer::{
    Answer, Append, Assign, BrokerState, CONSUMER as PLACE, Configure, Consumer as Vocabulary, ConsumerState, Content,
    Edge, EndTransaction, EpochEnd as Divergent, EpochStart, Fetch as FetchRequest, Follow, Lead, LogRecord, Message,
    Metadata, NoFields, OffsetSpec, Operation, Position as Place, Read, Record as Behind, Recreate, ResetPolicy, Role,
    Setup, State,
};
use fencepost_fixtures::names::{BrokerName, MessageName, RecordName};
use fencepost_fixtures::trace::Step;
use stateright::Model;

use super::broker::Broker;
use super::client::{Client, Effect, State as PositionState, Thrown};
use super::log::{Epoch, EpochEnd, Epochs, Kind, Log, Offset, Record, UNDEFINED};
use super::message::{CONSUMER, Fetched, Msg, NOBODY, Refusal, Spec, Target, Timer, Way};
use super::rules::History;
use super::{Consumer, Done, words};
use crate::world::{Action, ActionOf, Envelope, World, WorldState};

const NOTHING: NoFields = NoFields {};

/// One choice of a behaviour, whatever the rules make of it: messages by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// Something happens of its own accord.
    Timer(u8, Timer),
    /// The message of this name arrives there.
    Deliver(MessageName, u8),
}

/// A behaviour in the making.
pub struct Rendering<'a> {
    world: &'a World<Consumer>,
    state: WorldState<Consumer>,
    in_flight: Vec<(Envelope<Msg>, MessageName)>,
    requests: BTreeMap<(u8, bool), MessageName>,
    counts: BTreeMap<char, usize>,
    /// The choices so far.
    pub choices: Vec<Choice>,
    /// The steps so far.
    pub steps: Vec<Step<Vocabulary>>,
}

impl<'a> Rendering<'a> {
    /// Nothing has happened yet.
    pub fn new(world: &'a World<Consumer>) -> Result<Self, String> {
        let state = world.init_states().into_iter().next().ok_or("the model has no initial state")?;
        Ok(Self {
            world,
            state,
            in_flight: Vec::new(),
            requests: BTreeMap::new(),
            counts: BTreeMap::new(),
            choices: Vec::new(),
            steps: Vec::new(),
        })
    }

    fn brokers(&self) -> u8 {
        self.world.protocol.setting.bounds.brokers
    }

    fn broker(&self, id: u8) -> &Broker {
        self.state.actors.cluster.broker(id)
    }

    fn client(&self) -> &Client {
        &self.state.actors.client
    }

    /// What the empty cluster is made of, and the consumer.
    pub fn configure(&self) -> Result<Configure, String> {
        let bounds = &self.world.protocol.setting.bounds;
        let preferred = (bounds.preferred != NOBODY).then(|| name(bounds.preferred)).transpose()?;
        Ok(Configure {
            brokers: (0..bounds.brokers).map(name).collect::<Result<_, _>>()?,
            reset: match bounds.reset {
                Some(Spec::Latest) => ResetPolicy::Latest,
                Some(_) => ResetPolicy::Earliest,
                None => ResetPolicy::None,
            },
            read_committed: bounds.read_committed,
            old_message_format: bounds.old_format,
            old_brokers: bounds.old_brokers,
            preferred_replica: preferred,
        })
    }

    /// How the cluster and the consumer come to where the behaviour begins.
    pub fn setup(&mut self) -> Result<Vec<Setup>, String> {
        let start = self.world.protocol.setting.bounds.start;
        let at = |place: &str, operation| Ok::<_, String>(Setup::Do { at: vec![parsed(place)?], operation });
        let leader_epoch = i32::from(start.epoch);
        let mut setup = vec![at("A", Operation::Lead(Lead { leader_epoch, alone: start.alone }))?];
        for (offset, record) in self.broker(0).log.iter() {
            let records = vec![record_name(offset, record)?];
            setup.push(at("A", Operation::Append(Append { records, producer: None }))?);
        }
        let high = self.broker(0).high;
        if !start.alone && high > 0 {
            setup.push(at("A", Operation::HighWatermark(i64::from(high)))?);
        }
        for id in 1..self.brokers() {
            let follower = *self.broker(id);
            let follow = Follow {
                leader_epoch,
                truncate_to: 0,
                records: self.records(follower.log, 0, follower.log.end())?,
                epochs: epochs(&follower.epochs),
                high_watermark: i64::from(follower.high),
            };
            setup.push(at(&words::broker(id), Operation::Follow(follow))?);
        }
        let metadata = Metadata { leader: Some(name(0)?), leader_epoch: Some(leader_epoch), topic_id: 1 };
        if start.read > 0 {
            let committed = Some(Place { offset: 0, epoch: None });
            setup.push(at(PLACE, Operation::Assign(Assign { committed, history: None }))?);
            setup.push(Setup::Read(Read { from: name(0)?, up_to: i64::from(start.read) }));
        } else {
            setup.push(at(PLACE, Operation::Metadata(metadata))?);
            let committed = start.committed.map(|(offset, epoch)| place(offset, epoch));
            setup.push(at(PLACE, Operation::Assign(Assign { committed, history: None }))?);
            if self.client().base == UNDEFINED {
                setup.push(at(PLACE, Operation::SeekTo(Edge::End))?);
            }
        }
        Ok(setup)
    }

    /// What is seen of all places.
    pub fn observe(&self) -> Result<State, String> {
        let mut state = State { consumer: Some(self.consumer()?), ..State::default() };
        for id in 0..self.brokers() {
            state.brokers.insert(name(id)?, self.replica(id)?);
        }
        Ok(state)
    }

    fn replica(&self, id: u8) -> Result<BrokerState, String> {
        let broker = self.broker(id);
        Ok(BrokerState {
            role: match broker.leads {
                true => Role::Leader,
                false if broker.leader_epoch == UNDEFINED => Role::None,
                false => Role::Follower,
            },
            leader_epoch: i32::from(broker.leader_epoch),
            log: self.records(broker.log, 0, broker.log.end())?,
            high_watermark: i64::from(broker.high),
            epochs: Some(epochs(&broker.epochs)),
            topic_id: topic_id(broker.topic),
        })
    }

    fn consumer(&self) -> Result<ConsumerState, String> {
        let client = self.client();
        let at = client.position;
        let fetch_state = match client.state {
            PositionState::Initializing => FetchState::Initializing,
            PositionState::Fetching => FetchState::Fetching,
            PositionState::AwaitReset => FetchState::AwaitReset,
            PositionState::AwaitValidation => FetchState::AwaitValidation,
        };
        let remembers = self.world.protocol.setting.rules.history != History::OnePair;
        let mut state = ConsumerState {
            fetch_state,
            offset: None,
            offset_epoch: None,
            leader: None,
            leader_epoch: None,
            history: remembers.then(|| epochs(&client.history)),
        };
        if fetch_state.has_position() {
            state.offset = Some(i64::from(at.offset));
            state.offset_epoch = known(at.epoch);
            state.leader = (at.leader != NOBODY).then(|| name(at.leader)).transpose()?;
            state.leader_epoch = known(at.leader_epoch);
        }
        Ok(state)
    }

    /// The action that a choice is now, if it can be made.
    #[must_use]
    pub fn action(&self, choice: &Choice) -> Option<ActionOf<Consumer>> {
        let action = match choice {
            Choice::Deliver(wanted, to) => {
                let found = self.in_flight.iter().find(|(envelope, name)| name == wanted && envelope.dst == *to);
                Action::Deliver(found?.0)
            }
            Choice::Timer(id, timer) => Action::Timeout(*id, *timer),
        };
        let mut enabled = Vec::new();
        self.world.actions(&self.state, &mut enabled);
        enabled.contains(&action).then_some(action)
    }

    fn message_name(&self, envelope: &Envelope<Msg>) -> Result<MessageName, String> {
        let found = self.in_flight.iter().find(|(sent, _)| sent == envelope);
        found.map(|(_, name)| name.clone()).ok_or_else(|| format!("{envelope:?} was not sent"))
    }

    /// Takes a step.
    pub fn take(&mut self, action: &ActionOf<Consumer>) -> Result<(), String> {
        let delivered = match action {
            Action::Deliver(envelope) | Action::Drop(envelope) => Some(self.message_name(envelope)?),
            Action::Timeout(..) => None,
        };
        self.choices.push(match (action, &delivered) {
            (Action::Deliver(envelope) | Action::Drop(envelope), Some(name)) => {
                Choice::Deliver(name.clone(), envelope.dst)
            }
            (Action::Timeout(id, timer), _) => Choice::Timer(*id, *timer),
            _ => return Err("a message without a name".to_owned()),
        });
        let before = self.state.clone();
        let done = self.world.protocol.done(&before, action).ok_or("the step has no actor")?;
        self.state = self.world.next_state(&before, *action).ok_or("the step can't be taken")?;
        if let Action::Deliver(envelope) = action
            && let Some(at) = self.in_flight.iter().position(|(sent, _)| sent == envelope)
        {
            self.in_flight.remove(at);
        }
        match (action, delivered, done) {
            (Action::Timeout(_, timer), _, Done::Cluster(_)) => self.at_cluster(&before, *timer),
            (Action::Timeout(_, timer), _, Done::Consumer(effect)) => self.at_consumer(&before, *timer, &effect),
            (Action::Deliver(envelope), Some(name), Done::Cluster(answered)) => {
                let id = words::place(&envelope.msg);
                let sends = self.sends(CONSUMER, &answered.sends)?;
                self.step(&words::broker(id), Operation::Deliver(name), None, sends)
            }
            (Action::Deliver(envelope), Some(name), Done::Consumer(effect)) => {
                let way = way(&envelope.msg);
                let gone = way.is_some_and(|way| {
                    before.actors.client.connections.get(usize::from(way.broker)) != Some(&way.connection)
                });
                // Nobody is there to whom it could be delivered.
                if gone { Ok(()) } else { self.polled(Operation::Deliver(name), &effect) }
            }
            _ => Ok(()),
        }
    }

    fn at_cluster(&mut self, before: &WorldState<Consumer>, timer: Timer) -> Result<(), String> {
        let none = BTreeMap::new;
        match timer {
            Timer::Elect(id) | Timer::Lead(id) => {
                let broker = *self.broker(id);
                if broker == *before.actors.cluster.broker(id) {
                    // It has not heard of its election.
                    return Ok(());
                }
                let lead = Lead { leader_epoch: i32::from(broker.leader_epoch), alone: broker.alone };
                self.step(&words::broker(id), Operation::Lead(lead), None, none())
            }
            Timer::Follow(id) => {
                let (was, now) = (before.actors.cluster.broker(id).log, *self.broker(id));
                let cut = was.common_end(now.log);
                let follow = Follow {
                    leader_epoch: i32::from(now.leader_epoch),
                    truncate_to: i64::from(cut),
                    records: self.records(now.log, cut, now.log.end())?,
                    epochs: epochs(&now.epochs),
                    high_watermark: i64::from(now.high),
                };
                self.step(&words::broker(id), Operation::Follow(follow), None, none())
            }
            Timer::Append(id) | Timer::AppendTransactional(id) | Timer::EndTransaction(id, _) => {
                let from = before.actors.cluster.broker(id).log.end();
                let log = self.broker(id).log;
                let operation = if let Timer::EndTransaction(_, commit) = timer {
                    Operation::EndTransaction(EndTransaction { producer: parsed("p")?, commit })
                } else {
                    let appended = log.iter().filter(|(offset, _)| *offset >= from);
                    let records = appended.map(|(offset, record)| record_name(offset, record));
                    let transactional = matches!(timer, Timer::AppendTransactional(_));
                    let producer = transactional.then(|| parsed("p")).transpose()?;
                    Operation::Append(Append { records: records.collect::<Result<_, _>>()?, producer })
                };
                let answer = Answer { offset: Some(i64::from(from)), ..Answer::default() };
                self.step(&words::broker(id), operation, Some(answer), none())
            }
            Timer::HighWatermark(id) => {
                let high = i64::from(self.broker(id).high);
                self.step(&words::broker(id), Operation::HighWatermark(high), None, none())
            }
            Timer::Recreate(id) => {
                for place in 0..self.brokers() {
                    let recreate = Operation::Recreate(Recreate { topic_id: 2 });
                    self.push(&words::broker(place), recreate, None, none(), None)?;
                }
                self.step(&words::broker(id), Operation::Lead(Lead { leader_epoch: 0, alone: true }), None, none())
            }
            _ => Err("metadata are messages only for a comparison".to_owned()),
        }
    }

    fn at_consumer(&mut self, before: &WorldState<Consumer>, timer: Timer, effect: &Effect) -> Result<(), String> {
        match timer {
            Timer::Metadata(heard) => {
                let metadata = Metadata {
                    leader: Some(name(heard.leader)?),
                    leader_epoch: Some(i32::from(heard.epoch)),
                    topic_id: topic_id(heard.topic),
                };
                self.polled(Operation::Metadata(metadata), effect)
            }
            Timer::Poll => self.polled(Operation::Poll(NOTHING), effect),
            Timer::Elapse => self.polled(Operation::Elapse(NOTHING), effect),
            Timer::Fail(broker) => {
                let fetching = before.actors.client.fetching >> broker & 1 == 1;
                let request = self.requests.get(&(broker, fetching)).cloned();
                let request = request.ok_or("a request that fails was not sent")?;
                self.polled(Operation::Fail(request), effect)
            }
            Timer::Seek(target) => {
                let operation = sought(&before.actors.client, target);
                self.push(PLACE, operation, None, BTreeMap::new(), None)?;
                self.polled(Operation::Poll(NOTHING), effect)
            }
            Timer::Find => {
                let at = before.actors.client.position;
                let behind = Behind { offset: i64::from(at.offset), epoch: i32::from(at.epoch) };
                let sends = self.sends(0, &effect.sends)?;
                self.step(PLACE, Operation::FindOffset(behind), None, sends)
            }
            Timer::Commit => {
                let (offset, epoch, _) = self.client().committed;
                // The application of a row that commits the offset alone keeps the rest from its coordinator.
                let said = place(offset, before.actors.client.position.epoch);
                if known(epoch) != said.epoch {
                    return Ok(());
                }
                let answer = Answer { committed: Some(said), ..Answer::default() };
                self.step(PLACE, Operation::Commit(NOTHING), Some(answer), BTreeMap::new())
            }
            Timer::Restart => {
                let (offset, epoch, _) = before.actors.client.committed;
                self.push(PLACE, Operation::Restart(NOTHING), None, BTreeMap::new(), None)?;
                let committed = (offset != UNDEFINED).then(|| place(offset, epoch));
                let stored = epochs(&before.actors.client.stored);
                let kept = self.world.protocol.setting.rules.history == History::Kept && !stored.is_empty();
                let assign = Assign { committed, history: kept.then_some(stored) };
                self.push(PLACE, Operation::Assign(assign), None, BTreeMap::new(), None)?;
                self.polled(Operation::Poll(NOTHING), effect)
            }
            _ => Err("this happens at brokers".to_owned()),
        }
    }

    /// A step in which the application polls.
    fn polled(&mut self, operation: Operation, effect: &Effect) -> Result<(), String> {
        let mut answer = Answer::default();
        if !effect.records.is_empty() {
            let records = effect.records.iter().map(|(offset, record)| self.record(*offset, *record));
            answer.records = Some(records.collect::<Result<_, _>>()?);
        }
        answer.exception = effect.exception.map(exception).transpose()?;
        answer.found = effect.found.map(i64::from);
        let sends = self.sends(0, &effect.sends)?;
        let answers = answer != Answer::default();
        self.step(PLACE, operation, answers.then_some(answer), sends)
    }

    fn step(
        &mut self,
        at: &str,
        operation: Operation,
        answer: Option<Answer>,
        sends: BTreeMap<MessageName, Message>,
    ) -> Result<(), String> {
        let mut state = State::default();
        match (0..self.brokers()).find(|id| words::broker(*id) == at) {
            Some(id) => drop(state.brokers.insert(name(id)?, self.replica(id)?)),
            None => state.consumer = Some(self.consumer()?),
        }
        self.push(at, operation, answer, sends, Some(state))
    }

    fn push(
        &mut self,
        at: &str,
        operation: Operation,
        answer: Option<Answer>,
        sends: BTreeMap<MessageName, Message>,
        state: Option<State>,
    ) -> Result<(), String> {
        #[expect(
            clippy::zero_sized_map_values,
            reason = "the field is every protocol's; here nothing completes later"
        )]
        self.steps.push(Step {
            at: Some(parsed(at)?),
            operation,
            answer,
            error: None,
            sends,
            completes: BTreeMap::new(),
            state,
            refuse: Vec::new(),
            note: None,
        });
        Ok(())
    }

    fn sends(&mut self, dst: u8, sent: &[Msg]) -> Result<BTreeMap<MessageName, Message>, String> {
        let mut sends = BTreeMap::new();
        for msg in sent {
            let letter = match msg {
                Msg::Fetch(..) | Msg::FetchReply(..) => 'f',
                Msg::EpochEnd(..) | Msg::EpochEndReply(..) => 'v',
                _ => 'l',
            };
            let count = self.counts.entry(letter).or_default();
            *count += 1;
            let called: MessageName = parsed(&format!("{letter}{count}"))?;
            let src = if dst == CONSUMER { 0 } else { CONSUMER };
            self.in_flight.push((Envelope { src, dst, msg: *msg }, called.clone()));
            if dst != CONSUMER {
                self.requests.insert((words::place(msg), letter == 'f'), called.clone());
            }
            sends.insert(called, self.message(msg)?);
        }
        Ok(sends)
    }

    fn message(&self, msg: &Msg) -> Result<Message, String> {
        let setting = &self.world.protocol.setting;
        let broker = || name(words::place(msg));
        let consumer = || parsed(PLACE);
        let said = |epoch: Epoch| if setting.fenced() { i32::from(epoch) } else { -1 };
        Ok(match msg {
            Msg::Fetch(_, fetch) => {
                let content = Content::Fetch(FetchRequest {
                    offset: i64::from(fetch.offset),
                    current_leader_epoch: i32::from(fetch.leader_epoch),
                    last_epoch: known(fetch.last_epoch),
                    topic_id: topic_id(if fetch.topic == NOBODY { 0 } else { fetch.topic }),
                });
                Message { to: broker()?, content }
            }
            Msg::EpochEnd(_, _, sent) => {
                let content = Content::OffsetForLeaderEpoch(EpochRequest {
                    epoch: i32::from(sent.epoch),
                    current_leader_epoch: said(sent.leader_epoch),
                });
                Message { to: broker()?, content }
            }
            Msg::ListOffsets(_, spec, epoch) => {
                let timestamp = match spec {
                    Spec::Earliest => OffsetSpec::Earliest,
                    Spec::Latest => OffsetSpec::Latest,
                    Spec::At(time) => OffsetSpec::Timestamp(i64::from(*time)),
                };
                let content =
                    Content::ListOffsets(OffsetRequest { timestamp, current_leader_epoch: i32::from(*epoch) });
                Message { to: broker()?, content }
            }
            Msg::FetchReply(_, fetch, fetched) => {
                Message { to: consumer()?, content: Content::FetchReply(self.fetched(fetch.offset, fetched)?) }
            }
            Msg::EpochEndReply(_, _, _, answer) => {
                let reply =
                    answer.map(|(at, _)| EpochReply { epoch: i32::from(at.epoch), end_offset: i64::from(at.end) });
                Message { to: consumer()?, content: Content::OffsetForLeaderEpochReply(reply.map_err(kafka_error)) }
            }
            Msg::ListOffsetsReply(_, _, _, answer) => {
                let reply =
                    answer.map(|(offset, epoch)| OffsetReply { offset: i64::from(offset), epoch: i32::from(epoch) });
                Message { to: consumer()?, content: Content::ListOffsetsReply(reply.map_err(kafka_error)) }
            }
            Msg::Metadata(_) => return Err("metadata are messages only for a comparison".to_owned()),
        })
    }

    fn fetched(&self, from: Offset, fetched: &Fetched) -> Result<Result<Records, KafkaError>, String> {
        Ok(match fetched {
            Fetched::Records { log, high, to, .. } => {
                let aborts = |(offset, record): &(Offset, Record)| {
                    record.kind() == Kind::Transactional && log.outcome(*offset) == Some(Kind::Abort)
                };
                let sent = log.iter().filter(|(offset, _)| (from..*to).contains(offset));
                let aborted: Vec<(Offset, Record)> = if self.world.protocol.setting.bounds.read_committed {
                    sent.filter(aborts).collect()
                } else {
                    Vec::new()
                };
                let aborted = aborted.iter().map(|(offset, _)| Ok(Aborted(parsed("p")?, i64::from(*offset))));
                Ok(Records {
                    records: self.records(*log, from, *to)?,
                    high_watermark: i64::from(*high),
                    aborted: aborted.collect::<Result<_, String>>()?,
                    preferred_replica: None,
                })
            }
            Fetched::Preferred(replica) => Ok(Records {
                records: Vec::new(),
                high_watermark: i64::from(self.broker(0).high),
                aborted: Vec::new(),
                preferred_replica: Some(name(*replica)?),
            }),
            Fetched::Error(refusal) => Err(kafka_error(*refusal)),
        })
    }

    fn records(&self, log: Log, from: Offset, to: Offset) -> Result<Vec<LogRecord>, String> {
        log.iter()
            .filter(|(offset, _)| (from..to).contains(offset))
            .map(|(offset, one)| self.record(offset, one))
            .collect()
    }

    fn record(&self, offset: Offset, record: Record) -> Result<LogRecord, String> {
        let epoch = self.world.protocol.setting.bounds.visible(record.epoch());
        let producer = (record.kind() != Kind::Plain).then(|| parsed("p")).transpose()?;
        Ok(LogRecord { offset: i64::from(offset), epoch: i32::from(epoch), id: record_name(offset, record)?, producer })
    }
}

/// What the application does that seeks.
fn sought(before: &Client, target: Target) -> Operation {
    let parts = match before.thrown {
        Some(Thrown::Truncation(_, _, at)) => at,
        _ => EpochEnd::UNDEFINED,
    };
    let (stored, epoch, _) = before.committed;
    match target {
        Target::Offset(offset) => Operation::Seek(place(offset, UNDEFINED)),
        Target::Pair(offset, epoch) => Operation::Seek(place(offset, epoch)),
        Target::Beginning => Operation::SeekTo(Edge::Beginning),
        Target::End => Operation::SeekTo(Edge::End),
        Target::Divergence => Operation::Seek(place(parts.end, parts.epoch)),
        Target::DivergenceOffset => Operation::Seek(place(parts.end, UNDEFINED)),
        Target::Stored => Operation::Seek(place(stored, epoch)),
        Target::StoredOffset => Operation::Seek(place(stored, UNDEFINED)),
        Target::Found => Operation::Seek(place(before.found, UNDEFINED)),
        Target::Nearest => Operation::SeekToNearest(Behind { offset: i64::from(stored), epoch: i32::from(epoch) }),
    }
}

fn record_name(offset: Offset, record: Record) -> Result<RecordName, String> {
    match record.kind() {
        Kind::Commit => parsed("commit"),
        Kind::Abort => parsed("abort"),
        Kind::Plain | Kind::Transactional => {
            let topic = if record.topic() == 1 { "n" } else { "r" };
            parsed(&format!("{topic}{}-{offset}", record.epoch()))
        }
    }
}

fn way(msg: &Msg) -> Option<Way> {
    match msg {
        Msg::FetchReply(way, ..) | Msg::EpochEndReply(way, ..) | Msg::ListOffsetsReply(way, ..) => Some(*way),
        _ => None,
    }
}

fn place(offset: Offset, epoch: Epoch) -> Place {
    Place { offset: i64::from(offset), epoch: known(epoch) }
}

fn known(epoch: Epoch) -> Option<i32> {
    (epoch != UNDEFINED).then_some(i32::from(epoch))
}

fn topic_id(topic: u8) -> u16 {
    u16::from(topic) + 1
}

fn epochs(all: &Epochs) -> Vec<EpochStart> {
    all.iter().map(|(epoch, start)| EpochStart(i32::from(epoch), i64::from(start))).collect()
}

fn exception(thrown: Thrown) -> Result<Exception, String> {
    Ok(match thrown {
        Thrown::Truncation(offset, _, parts) => {
            let divergent = Divergent { epoch: i32::from(parts.epoch), end_offset: i64::from(parts.end) };
            let divergent = (parts.end != UNDEFINED).then_some(divergent);
            Exception::LogTruncation(Truncated { offset: i64::from(offset), divergent })
        }
        Thrown::OutOfRange(offset) => Exception::OffsetOutOfRange(OutOfRange { offset: i64::from(offset) }),
        Thrown::NoOffset => Exception::NoOffset(NOTHING),
        Thrown::EpochError(_) => return Err("no exception of a consumer says so".to_owned()),
    })
}

fn kafka_error(refusal: Refusal) -> KafkaError {
    match refusal {
        Refusal::FencedLeaderEpoch => KafkaError::FencedLeaderEpoch,
        Refusal::UnknownLeaderEpoch => KafkaError::UnknownLeaderEpoch,
        Refusal::NotLeaderOrFollower => KafkaError::NotLeaderOrFollower,
        Refusal::OffsetOutOfRange => KafkaError::OffsetOutOfRange,
        Refusal::UnknownTopicId => KafkaError::UnknownTopicId,
        Refusal::LogTruncation => KafkaError::LogTruncation,
        Refusal::OffsetNotAvailable => KafkaError::OffsetNotAvailable,
    }
}

fn parsed<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

fn name(id: u8) -> Result<BrokerName, String> {
    parsed(&words::broker(id))
}
