//! A behaviour's operations on the reference's client and the brokers that it sees, and what is seen of them.

use std::collections::BTreeMap;

use fencepost_fixtures::consumer::{
    Answer, CONSUMER, Configure, Consumer, Content, Message as Told, Operation, Read, Setup, State,
};
use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_reference::client::leader::{Broker, BrokerSetup, Followed};
use fencepost_reference::client::message::{Answer as Answers, ReadError, Reply as Replied, Request};
use fencepost_reference::client::names::{BrokerId, Correlation, LeaderEpoch, Offset, TopicId};
use fencepost_reference::client::reader::{Client, ClientSetup, Effects, Input, Returned};
use fencepost_reference::client::record::Entry;
use fencepost_reference::client::reset::ResetStrategy;
use fencepost_reference::client::rules::{Lookup, Rules};
use fencepost_reference::storage::epoch_cache::EpochCache;

use super::rules;
use super::words::{self, Brokers};
use crate::target::{Answered, Delivery, Fault, Reply, Settings};

/// How often a client may ask in a setup until it is where it shall be.
const ROUNDS: usize = 10_000;

/// A request that was sent, or its answer.
#[derive(Clone, Debug)]
enum Sent {
    Request(Request),
    Answer(Replied),
}

/// The client, the brokers, and what the trace's names stand for.
#[derive(Debug)]
pub(super) struct Cluster {
    rules: Rules,
    names: Brokers,
    brokers: BTreeMap<BrokerId, Broker>,
    client: Client,
    /// What was sent, by the label that the replayer knows it by.
    sent: BTreeMap<MessageName, Sent>,
}

impl Cluster {
    /// A cluster as a trace begins with it. The inner error says why the reference has no such cluster.
    pub(super) fn new(configure: &Configure, settings: Settings<'_>) -> Result<Result<Self, String>, Fault> {
        let rules = match rules::of(settings.variant, settings.slip) {
            Ok(rules) => rules,
            Err(reason) => return Ok(Err(reason)),
        };
        let names = Brokers::new(configure.brokers.clone());
        let preferred = configure.preferred_replica.as_ref().map(|name| names.id(name)).transpose()?;
        let broker = |broker| {
            let setup = BrokerSetup {
                broker,
                rules,
                old_message_format: configure.old_message_format,
                read_committed: configure.read_committed,
                preferred,
            };
            (broker, Broker::new(setup))
        };
        let client = Client::new(ClientSetup {
            rules,
            policy: rules::policy(configure.reset),
            read_committed: configure.read_committed,
            old_brokers: configure.old_brokers,
        });
        Ok(Ok(Self { rules, brokers: names.ids().map(broker).collect(), names, client, sent: BTreeMap::new() }))
    }

    pub(super) fn set_up(&mut self, setup: &Setup) -> Result<Reply<Consumer>, Fault> {
        match setup {
            Setup::Do { at, operation } => {
                for place in at {
                    let reply = self.apply(place, operation, None)?;
                    if matches!(reply.answered, Answered::Error(_) | Answered::Skipped(_)) {
                        return Ok(reply);
                    }
                }
            }
            Setup::Read(read) => self.read(read)?,
        }
        self.client.lose_requests();
        Ok(Reply::new(Answered::Nothing))
    }

    /// The client hears who leads, and reads up to a position.
    fn read(&mut self, read: &Read) -> Result<(), Fault> {
        let from = self.names.id(&read.from)?;
        let view = self.broker(from)?.view();
        let heard = Input::Metadata { leader: Some(from), epoch: words::known(view.leader_epoch.0), topic: view.topic };
        let up_to = Offset(read.up_to);
        let mut requests = self.client.handle(heard).requests;
        for _ in 0..ROUNDS {
            let position = self.client.position();
            if self.client.fetch_state().has_position() && position.is_some_and(|position| position.offset == up_to) {
                return Ok(());
            }
            let Some(request) = requests.pop() else { break };
            let mut answer = self.broker(request.to)?.serving_all().answer(&request.question);
            if let Answers::Fetched(Ok(fetched)) = &mut answer {
                fetched.records.retain(|record| record.offset < up_to);
            }
            let reply = Replied { from: request.to, correlation: request.correlation, answer };
            requests.extend(self.client.handle(Input::Deliver(reply)).requests);
        }
        Err(Fault::broken(format!("the consumer of the setup does not come to {up_to} by reading from {}", read.from)))
    }

    fn broker(&mut self, id: BrokerId) -> Result<&mut Broker, Fault> {
        self.brokers.get_mut(&id).ok_or_else(|| Fault::broken(format!("there is no broker {id}")))
    }

    pub(super) fn apply(
        &mut self,
        at: &BrokerName,
        operation: &Operation,
        delivery: Option<&Delivery<'_, Consumer>>,
    ) -> Result<Reply<Consumer>, Fault> {
        if at.as_str() == CONSUMER { self.consume(operation, delivery) } else { self.serve(at, operation, delivery) }
    }

    fn serve(
        &mut self,
        at: &BrokerName,
        operation: &Operation,
        delivery: Option<&Delivery<'_, Consumer>>,
    ) -> Result<Reply<Consumer>, Fault> {
        let id = self.names.id(at)?;
        let says_topic = self.rules.has_topic_id();
        let broker = self.broker(id)?;
        let appended = match operation {
            Operation::Lead(lead) => {
                broker.lead(LeaderEpoch(lead.leader_epoch), lead.alone);
                return Ok(Reply::new(Answered::Nothing));
            }
            Operation::Follow(follow) => {
                let entries = follow.epochs.iter().map(words::epoch_entry);
                let epochs = EpochCache::from_entries(entries).map_err(|error| Fault::broken(error.to_string()))?;
                broker.follow(Followed {
                    leader_epoch: LeaderEpoch(follow.leader_epoch),
                    truncate_to: Offset(follow.truncate_to),
                    records: follow.records.iter().map(words::record).collect(),
                    epochs,
                    high_watermark: Offset(follow.high_watermark),
                });
                return Ok(Reply::new(Answered::Nothing));
            }
            Operation::HighWatermark(offset) => {
                broker.set_high_watermark(Offset(*offset));
                return Ok(Reply::new(Answered::Nothing));
            }
            Operation::Recreate(recreate) => {
                broker.recreate(TopicId(recreate.topic_id));
                return Ok(Reply::new(Answered::Nothing));
            }
            Operation::Append(append) => {
                let entries = append.records.iter().map(|id| Entry::Value(id.as_str().to_owned())).collect();
                broker.append(entries, append.producer.as_ref().map(fencepost_fixtures::names::ProducerName::as_str))
            }
            Operation::EndTransaction(end) => {
                broker.append(vec![Entry::Marker { committed: end.commit }], Some(end.producer.as_str()))
            }
            Operation::Deliver(_) => {
                let delivery = delivery.ok_or_else(|| Fault::broken("a message has no content"))?;
                let (correlation, question) = match delivery.label.and_then(|label| self.sent.get(label)) {
                    Some(Sent::Request(request)) => (request.correlation, request.question),
                    // Of a client that is not driven: nobody waits for the answer.
                    _ => (Correlation(u64::MAX), words::question(&delivery.content.content, says_topic)?),
                };
                let answer = self.broker(id)?.answer(&question);
                let mut reply = Reply::new(Answered::Nothing);
                let content = self.names.told_answer(answer.clone())?;
                let answer = Sent::Answer(Replied { from: id, correlation, answer });
                let label = self.label(answer)?;
                reply.sends.insert(label, Told { to: CONSUMER.parse().map_err(Fault::broken)?, content });
                return Ok(reply);
            }
            other => return Err(Fault::broken(format!("{} does not go to a broker", other.name()))),
        };
        answered(appended)
    }

    fn label(&mut self, sent: Sent) -> Result<MessageName, Fault> {
        let label: MessageName = format!("m{}", self.sent.len()).parse().map_err(Fault::broken)?;
        self.sent.insert(label.clone(), sent);
        Ok(label)
    }

    fn consume(
        &mut self,
        operation: &Operation,
        delivery: Option<&Delivery<'_, Consumer>>,
    ) -> Result<Reply<Consumer>, Fault> {
        if let Some(reason) = self.unknown(operation) {
            return Ok(Reply::new(Answered::Skipped(reason.to_owned())));
        }
        let input = match operation {
            Operation::Assign(assign) => Input::Assign {
                committed: assign.committed.map(words::place),
                history: assign.history.iter().flatten().map(words::epoch_entry).collect(),
            },
            Operation::Seek(position) => Input::Seek(words::place(*position)),
            Operation::SeekTo(edge) => Input::SeekTo(match edge {
                fencepost_fixtures::consumer::Edge::Beginning => ResetStrategy::Earliest,
                fencepost_fixtures::consumer::Edge::End => ResetStrategy::Latest,
            }),
            Operation::SeekToNearest(record) => Input::SeekToNearest(of_record(*record)),
            Operation::FindOffset(record) => Input::FindOffset(of_record(*record)),
            Operation::Poll(_) => Input::Poll,
            Operation::Metadata(metadata) => Input::Metadata {
                leader: metadata.leader.as_ref().map(|name| self.names.id(name)).transpose()?,
                epoch: metadata.leader_epoch.and_then(words::known),
                topic: TopicId(metadata.topic_id),
            },
            Operation::Deliver(_) => Input::Deliver(self.answer(delivery)?),
            Operation::Fail(_) => Input::Fail(self.request(delivery)?),
            Operation::Elapse(_) => Input::Elapse,
            Operation::Restart(_) => Input::Restart,
            Operation::Commit(_) => {
                let committed = self.client.committed().map(words::told_place);
                return Ok(Reply::new(committed.map_or(Answered::Nothing, |committed| {
                    Answered::Answer(Answer { committed: Some(committed), ..Answer::default() })
                })));
            }
            Operation::Position(_) => {
                let position = self.client.confirmed_offset().map(|offset| offset.0);
                return Ok(Reply::new(position.map_or(Answered::Nothing, |position| {
                    Answered::Answer(Answer { position: Some(position), ..Answer::default() })
                })));
            }
            other => return Err(Fault::broken(format!("{} does not go to the consumer", other.name()))),
        };
        let effects = self.client.handle(input);
        self.reply(effects)
    }

    /// Why these rules have no such call, if they have none.
    fn unknown(&self, operation: &Operation) -> Option<&'static str> {
        match operation {
            Operation::FindOffset(_) if self.rules.lookup != Lookup::FindThenSeek => {
                Some("no offset is looked up under these rules")
            }
            Operation::SeekToNearest(_) if self.rules.lookup != Lookup::SeekToNearest => {
                Some("there is no seek to the nearest place under these rules")
            }
            _ => None,
        }
    }

    /// An answer that arrives: one that was sent, or the trace's to a request that was.
    fn answer(&self, delivery: Option<&Delivery<'_, Consumer>>) -> Result<Replied, Fault> {
        let delivery = delivery.ok_or_else(|| Fault::broken("a message has no content"))?;
        if let Some(Sent::Answer(answer)) = delivery.label.and_then(|label| self.sent.get(label)) {
            return Ok(answer.clone());
        }
        let correlation = match delivery.reply_to.and_then(|label| self.sent.get(label)) {
            Some(Sent::Request(request)) => request.correlation,
            _ => Correlation(u64::MAX),
        };
        let from = self.names.id(delivery.from)?;
        Ok(Replied { from, correlation, answer: self.names.answer(&delivery.content.content)? })
    }

    fn request(&self, delivery: Option<&Delivery<'_, Consumer>>) -> Result<Correlation, Fault> {
        let label = delivery.and_then(|delivery| delivery.label);
        match label.and_then(|label| self.sent.get(label)) {
            Some(Sent::Request(request)) => Ok(request.correlation),
            _ => Err(Fault::broken("what failed is no request of the consumer")),
        }
    }

    fn reply(&mut self, effects: Effects) -> Result<Reply<Consumer>, Fault> {
        let answer = match effects.returned {
            None => None,
            Some(Returned::Records(records)) => {
                Some(Answer { records: Some(words::told_records(&records)?), ..Answer::default() })
            }
            Some(Returned::Thrown(exception)) => {
                Some(Answer { exception: Some(words::told_exception(exception)), ..Answer::default() })
            }
            Some(Returned::Found(offset)) => Some(Answer { found: Some(offset.0), ..Answer::default() }),
        };
        let mut reply = Reply::new(answer.map_or(Answered::Nothing, Answered::Answer));
        for request in effects.requests {
            let content: Content = words::told_question(&request.question);
            let told = Told { to: self.names.name(request.to)?, content };
            let label = self.label(Sent::Request(request))?;
            reply.sends.insert(label, told);
        }
        Ok(reply)
    }

    pub(super) fn state(&self) -> Result<State, Fault> {
        let told = |(id, broker): (&BrokerId, &Broker)| -> Result<_, Fault> {
            Ok((self.names.name(*id)?, words::told_broker(&broker.view())?))
        };
        Ok(State {
            brokers: self.brokers.iter().map(told).collect::<Result<_, _>>()?,
            consumer: Some(self.names.told_client(&self.client)?),
        })
    }
}

fn of_record(record: fencepost_fixtures::consumer::Record) -> fencepost_reference::client::reader::Place {
    fencepost_reference::client::reader::Place { offset: Offset(record.offset), epoch: words::known(record.epoch) }
}

fn answered(appended: Result<Offset, ReadError>) -> Result<Reply<Consumer>, Fault> {
    Ok(Reply::new(match appended {
        Ok(offset) => Answered::Answer(Answer { offset: Some(offset.0), ..Answer::default() }),
        Err(error) => Answered::Error(words::error_name(error)?.name().to_owned()),
    }))
}
