//! A behaviour of the model as the steps of a trace: each action is taken once, and what comes of it is written down.
//!
//! The messages get names where they are sent: `f1` a fetch or its answer, `e1` a question for an epoch's end, `l1` for an
//! offset, `a1` a proposal of in-sync replicas. The answer to a parked fetch goes by the fetch's name. What a broker that
//! is down would get, and the registration of one that comes up, are no messages of a trace.

mod content;
mod operation;

use std::collections::BTreeMap;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::names::{BrokerName, MessageName, RecordName};
use fencepost_fixtures::replication::observed::TruncatedBelow;
use fencepost_fixtures::replication::{
    Acks, Answer, CONTROLLER, Completion, Configure, Content, LogRecord, Message, NoFields, Operation, PartitionChange,
    Produce, Record, Registers, Replicate, Replication as Vocabulary, Setup, State,
};
use fencepost_fixtures::trace::Step;
use stateright::Model;

use self::content::{controller, name, parsed, set};
use super::broker::{Broker, Effect, Parked};
use super::controller::{Image, members};
use super::log::Offset;
use super::message::{Msg, Sent, Timer};
use super::{Done, Replication};
use crate::world::{Action, ActionOf, Envelope, World, WorldState};

const NOTHING: NoFields = NoFields {};

/// One choice of a behaviour, whatever the rules make of it: messages and images by name.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// A broker applies the controller's records up to this one.
    Apply(u8, u8),
    /// The wait time of the parked fetch of this name is over.
    Expire(u8, MessageName),
    /// Something else happens of its own accord.
    Timer(u8, Timer),
    /// The message of this name arrives there.
    Deliver(MessageName, u8),
}

/// A behaviour in the making.
pub struct Rendering<'a> {
    world: &'a World<Replication>,
    state: WorldState<Replication>,
    in_flight: Vec<(Envelope<Msg>, MessageName)>,
    parked: BTreeMap<(u8, u8, Sent), MessageName>,
    waiting: BTreeMap<(u8, Offset), (Offset, MessageName)>,
    records: BTreeMap<u8, RecordName>,
    images: Vec<Image>,
    counts: BTreeMap<char, usize>,
    /// The choices so far.
    pub choices: Vec<Choice>,
    /// The steps so far.
    pub steps: Vec<Step<Vocabulary>>,
}

impl<'a> Rendering<'a> {
    /// Nothing has happened yet.
    pub fn new(world: &'a World<Replication>) -> Result<Self, String> {
        let state = world.init_states().into_iter().next().ok_or("the model has no initial state")?;
        let images = vec![state.actors.controller.now];
        let mut rendering = Self {
            world,
            state,
            in_flight: Vec::new(),
            parked: BTreeMap::new(),
            waiting: BTreeMap::new(),
            records: BTreeMap::new(),
            images,
            counts: BTreeMap::new(),
            choices: Vec::new(),
            steps: Vec::new(),
        };
        let leader = rendering.world.protocol.setting.bounds.start.leader;
        let log = rendering.broker(leader).log;
        rendering.log(&log)?;
        Ok(rendering)
    }

    fn broker(&self, id: u8) -> &Broker {
        &self.state.actors.all[usize::from(id)]
    }

    fn brokers(&self) -> u8 {
        self.world.protocol.setting.bounds.brokers
    }

    /// The state now.
    #[must_use]
    pub fn state(&self) -> &WorldState<Replication> {
        &self.state
    }

    /// What the empty cluster is made of. `own` says which variant a broker follows, where it is not the trace's.
    pub fn configure(&self, own: impl Fn(u8) -> Option<String>) -> Result<Configure, String> {
        let bounds = &self.world.protocol.setting.bounds;
        let mut rules = BTreeMap::new();
        for id in 0..bounds.brokers {
            if let Some(variant) = own(id) {
                rules.insert(name(id)?, variant);
            }
        }
        Ok(Configure {
            brokers: (0..bounds.brokers).map(name).collect::<Result<_, _>>()?,
            min_isr: u16::from(bounds.min_isr),
            elr: bounds.elr,
            unclean_election: false,
            rules,
            old_message_format: set(bounds.old_formats)?,
        })
    }

    /// How the cluster comes to where the behaviour begins.
    pub fn setup(&mut self) -> Result<Vec<Setup>, String> {
        let start = self.world.protocol.setting.bounds.start;
        // Who is not in sync has not heard of the partition.
        let all: Vec<BrokerName> = members(start.isr).map(name).collect::<Result<_, _>>()?;
        let change = PartitionChange {
            leader: Some(name(start.leader)?),
            leader_epoch: 0,
            isr: set(start.isr)?,
            partition_epoch: None,
            elr: std::collections::BTreeSet::new(),
            recovering: false,
        };
        let metadata = Operation::Metadata(vec![Record::Partition(change)]);
        let mut setup = vec![Setup::Do { at: all.clone(), operation: metadata }];
        let leader = name(start.leader)?;
        let log = self.broker(start.leader).log;
        for (number, LogRecord(_, _, record)) in self.log(&log)?.into_iter().enumerate() {
            let id = parsed(&format!("s{number}"))?;
            let produce = Operation::Produce(Produce { id, records: vec![record], acks: Acks::All });
            setup.push(Setup::Do { at: vec![leader.clone()], operation: produce });
        }
        let to: Vec<BrokerName> = all.iter().filter(|broker| **broker != leader).cloned().collect();
        if !to.is_empty() {
            setup.push(Setup::Replicate(Replicate { from: leader, to }));
        }
        if start.checkpointed {
            setup.push(Setup::Do { at: all, operation: Operation::Checkpoint(NOTHING) });
        }
        Ok(setup)
    }

    /// What is seen of all places.
    pub fn observe(&mut self) -> Result<State, String> {
        let mut state = State { controller: Some(controller(&self.state.actors.controller.now)?), ..State::default() };
        for id in 0..self.brokers() {
            state.brokers.insert(name(id)?, self.replica(id)?);
        }
        Ok(state)
    }

    /// The action that a choice is now, if it can be made.
    #[must_use]
    pub fn action(&self, choice: &Choice) -> Option<ActionOf<Replication>> {
        let action = match choice {
            Choice::Deliver(wanted, to) => {
                let found = self.in_flight.iter().find(|(envelope, name)| name == wanted && envelope.dst == *to);
                Action::Deliver(found?.0)
            }
            Choice::Apply(id, index) => {
                let image = self.state.actors.controller.log.iter().find(|image| image.index == *index)?;
                Action::Timeout(*id, Timer::Apply(*image))
            }
            Choice::Expire(id, wanted) => {
                let parked = &self.broker(*id).parked;
                let named = |parked: &Parked| self.parked.get(&(*id, parked.from, parked.sent)) == Some(wanted);
                let place = parked.iter().position(named)?;
                Action::Timeout(*id, Timer::Expire { place: u8::try_from(place).ok()? })
            }
            Choice::Timer(id, timer) => Action::Timeout(*id, *timer),
        };
        let mut enabled = Vec::new();
        self.world.actions(&self.state, &mut enabled);
        enabled.contains(&action).then_some(action)
    }

    /// The choice that an action is.
    pub fn choice(&self, action: &ActionOf<Replication>) -> Result<Choice, String> {
        Ok(match action {
            Action::Deliver(envelope) | Action::Drop(envelope) => {
                Choice::Deliver(self.message_name(envelope)?, envelope.dst)
            }
            Action::Timeout(id, Timer::Apply(image)) => Choice::Apply(*id, image.index),
            Action::Timeout(id, Timer::Expire { place }) => {
                let parked = self.broker(*id).parked[usize::from(*place)];
                let found = self.parked.get(&(*id, parked.from, parked.sent));
                Choice::Expire(*id, found.cloned().ok_or("a parked fetch has no name")?)
            }
            Action::Timeout(id, timer) => Choice::Timer(*id, *timer),
        })
    }

    fn message_name(&self, envelope: &Envelope<Msg>) -> Result<MessageName, String> {
        let found = self.in_flight.iter().find(|(sent, _)| sent == envelope);
        found.map(|(_, name)| name.clone()).ok_or_else(|| format!("{envelope:?} was not sent"))
    }

    /// Takes a step.
    pub fn take(&mut self, action: &ActionOf<Replication>) -> Result<(), String> {
        self.choices.push(self.choice(action)?);
        let before = self.state.clone();
        let done = self.world.protocol.done(&before, action);
        let operation = self.operation(&before, action)?;
        let after = self.world.next_state(&before, *action).ok_or("the step can't be taken")?;
        self.state = after;
        if let Action::Deliver(envelope) | Action::Drop(envelope) = action
            && let Some(place) = self.in_flight.iter().position(|(sent, _)| sent == envelope)
        {
            self.in_flight.remove(place);
        }
        match (action, done) {
            (Action::Deliver(envelope), Some(Done::Controller(ruling))) => {
                let sends = self.sends(envelope.dst, &ruling.sends, None, &mut BTreeMap::new())?;
                if let Msg::Register { broker_epoch, .. } = envelope.msg {
                    self.registers(&before, envelope.src, broker_epoch)
                } else {
                    self.control(&before.actors.controller.now, operation, sends)
                }
            }
            (Action::Timeout(..), Some(Done::Controller(_))) => {
                self.control(&before.actors.controller.now, operation, BTreeMap::new())
            }
            (Action::Deliver(envelope), Some(Done::Broker(_))) if !before.actors.all[usize::from(envelope.dst)].up => {
                // It is lost, and nobody sees it.
                Ok(())
            }
            (Action::Deliver(envelope), Some(Done::Broker(effect))) => {
                self.at_broker(&before, envelope.dst, Some(envelope), operation, &effect)
            }
            (Action::Timeout(id, _), Some(Done::Broker(effect))) => {
                self.at_broker(&before, *id, None, operation, &effect)
            }
            (_, None) | (Action::Drop(_), _) => Ok(()),
        }
    }

    fn control(
        &mut self,
        before: &Image,
        operation: Operation,
        sends: BTreeMap<MessageName, Message>,
    ) -> Result<(), String> {
        let now = self.state.actors.controller.now;
        self.controlled(before, &now, operation, sends)
    }

    fn controlled(
        &mut self,
        before: &Image,
        after: &Image,
        operation: Operation,
        sends: BTreeMap<MessageName, Message>,
    ) -> Result<(), String> {
        if after.index != before.index {
            self.images.push(*after);
        }
        let answer = Answer { appended: Some(self.between(before, after)?), ..Answer::default() };
        let state = State { controller: Some(controller(after)?), ..State::default() };
        self.steps.push(Step {
            at: Some(parsed(CONTROLLER)?),
            operation,
            answer: Some(answer),
            error: None,
            sends,
            completes: BTreeMap::new(),
            state: Some(state),
            refuse: Vec::new(),
            note: None,
        });
        Ok(())
    }

    /// A broker that comes up registers; its last process is fenced first, where it was not.
    fn registers(&mut self, before: &WorldState<Replication>, broker: u8, broker_epoch: u8) -> Result<(), String> {
        let mut now = before.actors.controller.now;
        let last = self.state.actors.controller.now;
        if now.is_active(broker) && last.index > now.index + 1 {
            let mut between = before.actors.controller.clone();
            between.fence(&self.world.protocol.setting, broker);
            self.controlled(&now, &between.now, Operation::Fence(name(broker)?), BTreeMap::new())?;
            now = between.now;
        }
        let registers = Registers { broker: name(broker)?, broker_epoch: i64::from(broker_epoch), unclean: true };
        self.controlled(&now, &last, Operation::Register(registers), BTreeMap::new())
    }

    fn at_broker(
        &mut self,
        before: &WorldState<Replication>,
        id: u8,
        delivered: Option<&Envelope<Msg>>,
        operation: Operation,
        effect: &Effect,
    ) -> Result<(), String> {
        let log = self.broker(id).log;
        self.log(&log)?;
        let request = match &operation {
            Operation::Deliver(name) => Some(name.clone()),
            _ => None,
        };
        let mut completes = BTreeMap::new();
        let sends = self.sends(id, &effect.sends, delivered, &mut completes)?;
        if let Some(Envelope { src, msg: Msg::Fetch { sent, .. }, .. }) = delivered
            && self.broker(id).parked.contains(&Parked { from: *src, sent: *sent })
            && let Some(name) = request
        {
            self.parked.insert((id, *src, *sent), name);
        }
        let mut answer = Answer::default();
        if let Operation::Produce(produce) = &operation {
            // It waits for its last record, and is answered with the offset of its first.
            let first = before.actors.all[usize::from(id)].log.end;
            self.waiting.insert((id, log.end - 1), (first, produce.id.clone()));
        }
        for (bits, ended) in [
            (effect.acked, None),
            (effect.too_few, Some(KafkaError::NotEnoughReplicasAfterAppend)),
            (effect.disowned, Some(KafkaError::NotLeaderOrFollower)),
        ] {
            for offset in (0..8).filter(|offset| bits >> offset & 1 == 1) {
                let Some((first, name)) = self.waiting.remove(&(id, offset)) else { continue };
                let own = matches!(&operation, Operation::Produce(produce) if produce.id == name);
                match ended {
                    None if own => answer.offset = Some(i64::from(first)),
                    None => {
                        completes.insert(name, Completion::Acknowledged { offset: i64::from(first) });
                    }
                    Some(error) => {
                        completes.insert(name, Completion::Refused { error });
                    }
                }
            }
        }
        if !self.broker(id).up {
            self.waiting.retain(|(at, _), _| *at != id);
            self.parked.retain(|(at, _, _), _| *at != id);
        }
        let below: Vec<TruncatedBelow> = effect
            .below_high
            .iter()
            .map(|(to, high)| TruncatedBelow { to: i64::from(*to), high_watermark: i64::from(*high) })
            .collect();
        if !below.is_empty() {
            answer.truncated_below_high_watermark = Some(below);
        }
        let state = State { brokers: BTreeMap::from([(name(id)?, self.replica(id)?)]), controller: None };
        self.steps.push(Step {
            at: Some(name(id)?),
            operation,
            answer: (answer != Answer::default()).then_some(answer),
            error: None,
            sends,
            completes,
            state: Some(state),
            refuse: Vec::new(),
            note: None,
        });
        Ok(())
    }

    /// The messages that a step sends; the answers to fetches that waited are completions.
    fn sends(
        &mut self,
        from: u8,
        sent: &[(u8, Msg)],
        delivered: Option<&Envelope<Msg>>,
        completes: &mut BTreeMap<MessageName, Completion>,
    ) -> Result<BTreeMap<MessageName, Message>, String> {
        let mut sends = BTreeMap::new();
        for (to, msg) in sent {
            let envelope = Envelope { src: from, dst: *to, msg: *msg };
            let of_parked = match msg {
                Msg::FetchReply { sent, .. } => self.parked.remove(&(from, *to, *sent)),
                _ => None,
            };
            let now = matches!((delivered, msg), (Some(Envelope { src, msg: Msg::Fetch { sent, .. }, .. }), Msg::FetchReply { sent: answered, .. }) if src == to && sent == answered);
            if let (Some(name_of_request), false) = (of_parked, now) {
                let Content::FetchReply(reply) = self.content(&envelope)?.ok_or("an answer has no words")? else {
                    return Err("a parked fetch is answered by something else".to_owned());
                };
                completes.insert(name_of_request.clone(), Completion::Fetched { to: name(*to)?, reply });
                self.in_flight.push((envelope, name_of_request));
                continue;
            }
            let kind = match msg {
                Msg::Fetch { .. } | Msg::FetchReply { .. } => 'f',
                Msg::EpochEndRequest { .. } | Msg::EpochEndReply { .. } => 'e',
                Msg::ListOffsets { .. } | Msg::ListOffsetsReply { .. } => 'l',
                Msg::AlterPartition { .. } | Msg::AlterPartitionReply { .. } => 'a',
                Msg::Register { .. } | Msg::Metadata { .. } => 'x',
            };
            let message = self.next(kind)?;
            if let Some(content) = self.content(&envelope)? {
                let to = if *to < self.brokers() { name(*to)? } else { parsed(CONTROLLER)? };
                sends.insert(message.clone(), Message { to, content });
            }
            self.in_flight.push((envelope, message));
        }
        Ok(sends)
    }

    fn next(&mut self, kind: char) -> Result<MessageName, String> {
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        parsed(&format!("{kind}{count}"))
    }
}
