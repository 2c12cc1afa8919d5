//! A behaviour's operations on the reference's brokers and controller, and what is seen of them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_fixtures::replication::{
    Acks, Answer, CONTROLLER, Completion, Configure, ElectionKind, EpochCheckpoint, Message as Told, Operation, Record,
    Replicate, Replication, Setup, Start, State, observed,
};
use fencepost_reference::replica::EpochFileFault;
use fencepost_reference::replica::broker::{Broker, BrokerError, BrokerSetup, Start as Process};
use fencepost_reference::replica::controller::{Controller, ControllerInput, ControllerSetup};
use fencepost_reference::replica::effects::{Answer as Answers, Effects, Input};
use fencepost_reference::replica::election;
use fencepost_reference::replica::message::{Content, EpochRequestVersion, Message};
use fencepost_reference::replica::metadata::MetadataRecord;
use fencepost_reference::replica::names::{
    BrokerEpoch, BrokerId, Correlation, LeaderEpoch, Node, Offset, PartitionEpoch, ProduceId,
};
use fencepost_reference::replica::produce;
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::memory_fs::MemoryFs;

use super::rules;
use super::words::{self, Brokers};
use crate::target::{Answered, Delivery, Fault, Reply, Settings};

/// Requests of brokers that are not driven have numbers from here on, which no broker comes to by itself.
const SCRIPTED: u64 = 1 << 40;

/// How often followers may fetch until nothing is left: more than any setup has records.
const ROUNDS: usize = 10_000;

/// The brokers, the controller, and what the trace's names stand for.
#[derive(Debug)]
pub(super) struct Cluster {
    names: Brokers,
    brokers: BTreeMap<BrokerId, Broker>,
    controller: Controller,
    slip: Option<String>,
    /// What was sent, by the label that the replayer knows it by.
    sent: BTreeMap<MessageName, Message>,
    /// The names of fetches that arrived, by who sent them.
    arrived: BTreeMap<(Node, Correlation), MessageName>,
    /// The names of produce requests.
    produced: Vec<MessageName>,
    scripted: u64,
}

impl Cluster {
    /// A cluster as a trace begins with it. The inner error says why the reference has no such cluster.
    pub(super) fn new(configure: &Configure, settings: Settings<'_>) -> Result<Result<Self, String>, Fault> {
        let names = Brokers::new(configure.brokers.clone())?;
        let replicas = names.ids();
        let mut brokers = BTreeMap::new();
        let mut controller_slip = None;
        for name in &configure.brokers {
            let own = configure.rules.get(name).map(String::as_str).or(settings.variant);
            let (rules, slip) = match rules::of(own, settings.slip) {
                Ok(rules) => rules,
                Err(reason) => return Ok(Err(reason)),
            };
            controller_slip = slip;
            let id = names.id(name)?;
            let mut setup = BrokerSetup::new(id, &replicas, usize::from(configure.min_isr), rules, Path::new("/logs"));
            setup.old_message_format = configure.old_message_format.contains(name);
            let mut broker = Broker::new(setup, Arc::new(MemoryFs::new()));
            broker.start(&Process::default()).map_err(|error| broken(&error))?;
            brokers.insert(id, broker);
        }
        let controller = Controller::new(ControllerSetup {
            replicas,
            min_isr: usize::from(configure.min_isr),
            elr: configure.elr,
            unclean_election: configure.unclean_election,
            slip: controller_slip,
        });
        Ok(Ok(Self {
            names,
            brokers,
            controller,
            slip: settings.slip.map(ToOwned::to_owned),
            sent: BTreeMap::new(),
            arrived: BTreeMap::new(),
            produced: Vec::new(),
            scripted: SCRIPTED,
        }))
    }

    pub(super) fn set_up(&mut self, setup: &Setup) -> Result<Reply<Replication>, Fault> {
        match setup {
            Setup::Do { at, operation } => {
                for place in at {
                    let reply = self.apply(place, operation, None)?;
                    if matches!(reply.answered, Answered::Error(_) | Answered::Skipped(_)) {
                        return Ok(reply);
                    }
                }
            }
            Setup::Replicate(replicate) => self.replicate(replicate)?,
        }
        self.forget_what_is_in_flight()?;
        Ok(Reply::new(Answered::Nothing))
    }

    /// What a setup sends is lost: nothing stays in flight, and nothing waits.
    fn forget_what_is_in_flight(&mut self) -> Result<(), Fault> {
        for broker in self.brokers.values_mut().filter(|broker| broker.is_up()) {
            for (to, correlation) in broker.outstanding() {
                if to != Node::Controller {
                    broker.handle(Input::Fail(correlation)).map_err(|error| broken(&error))?;
                }
            }
            for (from, correlation) in broker.parked_fetches() {
                broker.handle(Input::ExpireFetch { from, correlation }).map_err(|error| broken(&error))?;
            }
        }
        Ok(())
    }

    /// Followers fetch until nothing is left and the high watermark has come to them.
    fn replicate(&mut self, replicate: &Replicate) -> Result<(), Fault> {
        let leader = self.names.id(&replicate.from)?;
        let followers = replicate.to.iter().map(|name| self.names.id(name)).collect::<Result<Vec<_>, Fault>>()?;
        let mut in_flight = Vec::new();
        for follower in &followers {
            in_flight.extend(self.broker(*follower)?.handle(Input::Poll).map_err(|error| broken(&error))?.sends);
        }
        for _ in 0..ROUNDS {
            while let Some(message) = in_flight.pop() {
                in_flight.extend(self.relay(message)?);
            }
            let level = |cluster: &mut Self, id| -> Result<(Offset, Offset), Fault> {
                let state = cluster.broker(id)?.observe().map_err(|error| Fault::broken(error.to_string()))?;
                Ok(state.map_or((Offset(-1), Offset(-1)), |state| (state.log_end, state.high_watermark)))
            };
            let wanted = level(self, leader)?;
            let mut reached = true;
            for follower in &followers {
                reached &= level(self, *follower)? == wanted;
            }
            if reached {
                return Ok(());
            }
            let parked = self.broker(leader)?.parked_fetches();
            if parked.is_empty() {
                return Err(Fault::broken("the followers of the setup do not come to the end of their leader's log"));
            }
            for (from, correlation) in parked {
                let effects = self.broker(leader)?.handle(Input::ExpireFetch { from, correlation });
                in_flight.extend(effects.map_err(|error| broken(&error))?.completed_fetches);
            }
        }
        Err(Fault::broken("the followers of the setup fetch without an end"))
    }

    /// Hands a message over, and returns what comes of it.
    fn relay(&mut self, message: Message) -> Result<Vec<Message>, Fault> {
        match message.to {
            Node::Controller => Ok(self.controller.handle(ControllerInput::Deliver(message)).sends),
            Node::Broker(id) => {
                let effects = self.broker(id)?.handle(Input::Deliver(message)).map_err(|error| broken(&error))?;
                Ok([effects.sends, effects.completed_fetches].concat())
            }
        }
    }

    fn broker(&mut self, id: BrokerId) -> Result<&mut Broker, Fault> {
        self.brokers.get_mut(&id).ok_or_else(|| Fault::broken(format!("there is no broker {id}")))
    }

    pub(super) fn apply(
        &mut self,
        at: &BrokerName,
        operation: &Operation,
        delivery: Option<&Delivery<'_, Replication>>,
    ) -> Result<Reply<Replication>, Fault> {
        if at.as_str() == CONTROLLER {
            return self.control(operation, delivery);
        }
        let id = self.names.id(at)?;
        if let Some(ended) = self.process(id, operation) {
            return ended;
        }
        let input = match operation {
            Operation::Metadata(records) => Input::Metadata(self.applied(records)?),
            Operation::Produce(produce) => {
                let number = ProduceId(self.produced.len() as u64);
                self.produced.push(produce.id.clone());
                Input::Produce {
                    id: number,
                    records: produce.records.iter().map(|id| id.as_str().as_bytes().to_vec()).collect(),
                    acks: match produce.acks {
                        Acks::All => produce::Acks::All,
                        Acks::Leader => produce::Acks::Leader,
                        Acks::None => produce::Acks::None,
                    },
                }
            }
            Operation::Consume(consume) => Input::Consume {
                offset: Offset(consume.offset),
                current_leader_epoch: consume.current_leader_epoch.and_then(words::known),
                isolation: Isolation::Uncommitted,
                from_follower: consume.from_follower,
            },
            Operation::ListOffsets(asked) => Input::ListOffsets {
                spec: words::spec(asked.timestamp),
                current_leader_epoch: asked.current_leader_epoch.and_then(words::known),
                isolation: if asked.replica.is_some() { Isolation::LogEnd } else { Isolation::Uncommitted },
            },
            Operation::OffsetForLeaderEpoch(asked) => Input::OffsetForLeaderEpoch {
                epoch: LeaderEpoch(asked.epoch),
                current_leader_epoch: asked.current_leader_epoch.and_then(words::known),
            },
            Operation::Poll(_) => Input::Poll,
            Operation::Deliver(name) => {
                let message = self.message(Node::Broker(id), delivery)?;
                if matches!(message.content, Content::Fetch(_)) {
                    self.arrived.insert((message.from, message.correlation), name.clone());
                }
                Input::Deliver(message)
            }
            Operation::Fail(_) => Input::Fail(self.message(Node::Broker(id), delivery)?.correlation),
            Operation::Expire(name) => self.expired(name)?,
            Operation::ShrinkIsr(_) => Input::ShrinkIsr,
            Operation::Checkpoint(_) => Input::Checkpoint,
            Operation::DeleteRecords(start) => Input::DeleteRecords(Offset(*start)),
            Operation::AlterLogDirs(_) => Input::AlterLogDirs,
            Operation::Copy(_) => Input::Copy,
            Operation::DiskOffline(_) => Input::DiskOffline,
            Operation::DiskOnline(_) => Input::DiskOnline,
            Operation::Stop(_)
            | Operation::Crash(_)
            | Operation::Start(_)
            | Operation::Elect(_)
            | Operation::Fence(_)
            | Operation::Unfence(_)
            | Operation::ShutDown(_)
            | Operation::Register(_) => {
                return Err(Fault::broken(format!("{} does not go to a running broker", operation.name())));
            }
        };
        let effects = self.broker(id)?.handle(input).map_err(|error| broken(&error))?;
        self.reply(effects)
    }

    /// What has waited long enough: a fetch that arrived, or a produce request.
    fn expired(&self, name: &MessageName) -> Result<Input, Fault> {
        if let Some((&(from, correlation), _)) = self.arrived.iter().find(|(_, arrived)| *arrived == name) {
            return Ok(Input::ExpireFetch { from, correlation });
        }
        let number = self.produced.iter().position(|produced| produced == name);
        let number = number.ok_or_else(|| Fault::broken(format!("no request is called {name}")))?;
        Ok(Input::ExpireProduce(ProduceId(number as u64)))
    }

    /// The operations that begin or end a process; none for the others.
    fn process(&mut self, id: BrokerId, operation: &Operation) -> Option<Result<Reply<Replication>, Fault>> {
        let ended = match operation {
            Operation::Stop(_) => self.broker(id).map(Broker::stop),
            Operation::Crash(_) => self.broker(id).map(Broker::crash),
            Operation::Start(start) => self.started(id, start),
            _ => return None,
        };
        Some(ended.and_then(|done| match done {
            Ok(()) => Ok(Reply::new(Answered::Nothing)),
            Err(error) => Err(broken(&error)),
        }))
    }

    fn started(&mut self, id: BrokerId, start: &Start) -> Result<Result<(), BrokerError>, Fault> {
        if let Some(variant) = &start.rules {
            let (rules, _) = rules::of(Some(variant), self.slip.as_deref()).map_err(Fault::broken)?;
            self.broker(id)?.set_rules(rules);
        }
        let registered = self.controller.brokers().get(id).map_or(BrokerEpoch(1), |broker| broker.broker_epoch);
        let process = Process {
            broker_epoch: start.broker_epoch.map_or(registered, BrokerEpoch),
            keep: start.keep.map(Offset),
            epoch_file: start.epoch_checkpoint.map(|damage| match damage {
                EpochCheckpoint::Missing => EpochFileFault::Missing,
                EpochCheckpoint::Empty => EpochFileFault::Empty,
                EpochCheckpoint::WithoutNewest => EpochFileFault::WithoutNewest,
                EpochCheckpoint::WithoutOldest => EpochFileFault::WithoutOldest,
            }),
        };
        Ok(self.broker(id)?.start(&process))
    }

    /// Records as a broker applies them. What the controller has not made itself it takes over: a trace may be a projection.
    fn applied(&mut self, records: &[Record]) -> Result<Vec<MetadataRecord>, Fault> {
        let records = records.iter().map(|record| self.names.record(record)).collect::<Result<Vec<_>, Fault>>()?;
        let mut last = self.controller.state().clone();
        for record in &records {
            match record {
                MetadataRecord::Partition(change) => {
                    let of_the_record = change.partition_epoch.unwrap_or_else(|| {
                        // As for the broker: the one after the last, where the leader epoch does not say that it is known.
                        if change.leader_epoch > last.leader_epoch || last.partition_epoch == PartitionEpoch::NONE {
                            last.partition_epoch.next()
                        } else {
                            last.partition_epoch
                        }
                    });
                    if of_the_record > last.partition_epoch {
                        last.leader = change.leader;
                        last.leader_epoch = change.leader_epoch;
                        last.isr.clone_from(&change.isr);
                        last.elr.clone_from(&change.elr);
                        last.recovering = change.recovering;
                        last.partition_epoch = of_the_record;
                    }
                }
                MetadataRecord::Broker(change) => {
                    let known = self.controller.brokers().get(change.broker).map(|known| known.broker_epoch);
                    if known < Some(change.broker_epoch) {
                        self.controller.set_broker(*change);
                    }
                }
            }
        }
        self.controller.set_state(last);
        Ok(records)
    }

    /// The message that arrives, or is given up: as it was sent, or as the trace has it.
    fn message(&mut self, at: Node, delivery: Option<&Delivery<'_, Replication>>) -> Result<Message, Fault> {
        let delivery = delivery.ok_or_else(|| Fault::broken("a message has no content"))?;
        if let Some(message) = delivery.label.and_then(|label| self.sent.get(label)) {
            return Ok(message.clone());
        }
        let answered = delivery.reply_to.and_then(|label| self.sent.get(label)).map(|request| request.correlation);
        let correlation = answered.unwrap_or_else(|| {
            self.scripted += 1;
            Correlation(self.scripted)
        });
        let from = self.names.node(delivery.from)?;
        let version = match from {
            Node::Broker(id) => self.broker(id)?.setup().rules.sends,
            Node::Controller => EpochRequestVersion::V4,
        };
        Ok(Message { from, to: at, correlation, content: self.names.content(&delivery.content.content, version)? })
    }

    fn control(
        &mut self,
        operation: &Operation,
        delivery: Option<&Delivery<'_, Replication>>,
    ) -> Result<Reply<Replication>, Fault> {
        let input = match operation {
            Operation::Elect(election) => ControllerInput::Elect(match &election.leader {
                Some(leader) => election::ElectionKind::Of(self.names.id(leader)?),
                None => kind(election.kind),
            }),
            Operation::Fence(broker) => ControllerInput::Fence(self.names.id(broker)?),
            Operation::Unfence(broker) => ControllerInput::Unfence(self.names.id(broker)?),
            Operation::ShutDown(broker) => ControllerInput::ShutDown(self.names.id(broker)?),
            Operation::Register(registers) => ControllerInput::Register {
                broker: self.names.id(&registers.broker)?,
                broker_epoch: BrokerEpoch(registers.broker_epoch),
                unclean: registers.unclean,
            },
            Operation::Deliver(_) => ControllerInput::Deliver(self.message(Node::Controller, delivery)?),
            other => return Err(Fault::broken(format!("{} does not go to the controller", other.name()))),
        };
        let effects = self.controller.handle(input);
        let answered = if let Some(refused) = effects.refused {
            Answered::Error(refused.name().to_owned())
        } else {
            let appended = effects.records.iter().map(|record| self.names.told_record(record));
            let appended = Some(appended.collect::<Result<_, Fault>>()?);
            Answered::Answer(Answer { appended, ..Answer::default() })
        };
        let mut reply = Reply::new(answered);
        reply.sends = self.sends(effects.sends)?;
        Ok(reply)
    }

    fn sends(&mut self, messages: Vec<Message>) -> Result<BTreeMap<MessageName, Told>, Fault> {
        let mut sends = BTreeMap::new();
        for message in messages {
            let label: MessageName = format!("m{}", self.sent.len()).parse().map_err(Fault::broken)?;
            let told = Told { to: self.names.place(message.to)?, content: self.names.told(&message.content)? };
            sends.insert(label.clone(), told);
            self.sent.insert(label, message);
        }
        Ok(sends)
    }

    fn reply(&mut self, effects: Effects) -> Result<Reply<Replication>, Fault> {
        let below: Vec<_> = effects
            .truncated_below_high_watermark
            .iter()
            .map(|cut| observed::TruncatedBelow { to: cut.to.0, high_watermark: cut.high_watermark.0 })
            .collect();
        let answered = match effects.answer {
            None if below.is_empty() => Answered::Nothing,
            None => Answered::Answer(Answer { truncated_below_high_watermark: Some(below), ..Answer::default() }),
            Some(Answers::Refused(error)) => Answered::Error(error.name().to_owned()),
            Some(Answers::Produced(offset)) => Answered::Answer(Answer { offset: Some(offset.0), ..Answer::default() }),
            Some(Answers::Consumed { records, high_watermark }) => Answered::Answer(Answer {
                records: Some(words::told_log(&records)?),
                high_watermark: Some(high_watermark.0),
                ..Answer::default()
            }),
            Some(Answers::Offset(listed)) => Answered::Answer(Answer {
                offset: Some(listed.offset.0),
                epoch: listed.epoch.map(|epoch| epoch.0),
                ..Answer::default()
            }),
            Some(Answers::EpochEnd(end)) => Answered::Answer(Answer {
                epoch: Some(end.epoch.0),
                end_offset: Some(end.end_offset.0),
                ..Answer::default()
            }),
        };
        let mut reply = Reply::new(answered);
        reply.sends = self.sends(effects.sends)?;
        for message in effects.completed_fetches {
            let Content::FetchReply(answer) = &message.content else {
                return Err(Fault::broken("a parked fetch was answered by something else"));
            };
            // A fetch of the setup, which is lost, has no name.
            if let Some(name) = self.arrived.get(&(message.to, message.correlation)) {
                let to = self.names.place(message.to)?;
                let fetched = Completion::Fetched { to, reply: words::fetch_reply(answer)? };
                reply.completes.insert(name.clone(), fetched);
            }
        }
        for (ProduceId(number), ended) in effects.completed_produces {
            let name = usize::try_from(number).ok().and_then(|number| self.produced.get(number));
            let name = name.ok_or_else(|| Fault::broken("a request ended that was not made"))?;
            let completion = match ended {
                Ok(offset) => Completion::Acknowledged { offset: offset.0 },
                Err(error) => Completion::Refused { error: words::error_name(error)? },
            };
            reply.completes.insert(name.clone(), completion);
        }
        Ok(reply)
    }

    pub(super) fn state(&mut self) -> Result<State, Fault> {
        let mut state =
            State { controller: Some(self.names.told_controller(self.controller.state())?), ..State::default() };
        for (id, broker) in &self.brokers {
            let seen = broker.observe().map_err(|error| Fault::broken(error.to_string()))?;
            let told = seen.map(|seen| self.names.told_replica(&seen)).transpose()?;
            state.brokers.insert(self.names.name(*id)?, told);
        }
        Ok(state)
    }
}

pub(super) fn kind(kind: ElectionKind) -> election::ElectionKind {
    match kind {
        ElectionKind::Preferred => election::ElectionKind::Preferred,
        ElectionKind::Any | ElectionKind::Chosen => election::ElectionKind::Any,
        ElectionKind::Unclean => election::ElectionKind::Unclean,
    }
}

fn broken(error: &BrokerError) -> Fault {
    Fault::broken(error.to_string())
}
