//! What the trace says, as the reference says it, and back: names for brokers, ids for records.

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::consumer as trace;
use fencepost_fixtures::consumer::messages::{self as sent, Content};
use fencepost_fixtures::consumer::observed::{self, FetchState};
use fencepost_fixtures::names::{BrokerName, ProducerName, RecordName};
use fencepost_reference::client::leader::{BrokerRole, BrokerView};
use fencepost_reference::client::message::{
    Answer, EpochQuestion, Fetch, Fetched, FoundOffset, OffsetQuestion, Question, ReadError,
};
use fencepost_reference::client::names::{BrokerId, LeaderEpoch, Offset, TopicId};
use fencepost_reference::client::reader::{Client, Exception, Place};
use fencepost_reference::client::record::{Entry, Record};
use fencepost_reference::client::state;
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::OffsetSpec;
use fencepost_reference::storage::epoch_cache::{EpochEnd, EpochEntry};
use fencepost_reference::storage::names::Millis;

use crate::target::Fault;

/// The ids of markers.
const COMMIT: &str = "commit";
const ABORT: &str = "abort";

/// The brokers by number: their places in the list of the configuration. A name that is not there has a number behind
/// them, for a decision may name any.
#[derive(Clone, Debug)]
pub(super) struct Brokers {
    names: Vec<BrokerName>,
}

impl Brokers {
    pub(super) const fn new(names: Vec<BrokerName>) -> Self {
        Self { names }
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = BrokerId> + use<> {
        (0..).map(BrokerId).take(self.names.len())
    }

    pub(super) fn id(&self, name: &BrokerName) -> Result<BrokerId, Fault> {
        let place = self.names.iter().position(|known| known == name);
        let id = place.and_then(|place| i32::try_from(place).ok());
        id.map(BrokerId).ok_or_else(|| Fault::broken(format!("there is no broker {name}")))
    }

    pub(super) fn name(&self, id: BrokerId) -> Result<BrokerName, Fault> {
        let name = usize::try_from(id.0).ok().and_then(|place| self.names.get(place)).cloned();
        name.ok_or_else(|| Fault::broken(format!("the reference names a broker {id}")))
    }

    pub(super) fn told_answer(&self, answer: Answer) -> Result<Content, Fault> {
        Ok(match answer {
            Answer::Fetched(fetched) => Content::FetchReply(match fetched {
                Ok(fetched) => Ok(sent::Records {
                    records: told_records(&fetched.records)?,
                    high_watermark: fetched.high_watermark.0,
                    aborted: fetched.aborted.iter().map(told_aborted).collect::<Result<_, _>>()?,
                    preferred_replica: fetched.preferred.map(|id| self.name(id)).transpose()?,
                }),
                Err(error) => Err(error_name(error)?),
            }),
            Answer::EpochEnd(end) => Content::OffsetForLeaderEpochReply(match end {
                Ok(end) => Ok(sent::EpochReply { epoch: end.epoch.0, end_offset: end.end_offset.0 }),
                Err(error) => Err(error_name(error)?),
            }),
            Answer::Offset(found) => Content::ListOffsetsReply(match found {
                Ok(found) => Ok(sent::OffsetReply { offset: found.offset.0, epoch: number(found.epoch) }),
                Err(error) => Err(error_name(error)?),
            }),
        })
    }

    pub(super) fn answer(&self, content: &Content) -> Result<Answer, Fault> {
        Ok(match content {
            Content::FetchReply(reply) => Answer::Fetched(match reply {
                Ok(told) => Ok(Fetched {
                    records: told.records.iter().map(record).collect(),
                    high_watermark: Offset(told.high_watermark),
                    aborted: told
                        .aborted
                        .iter()
                        .map(|sent::Aborted(producer, first)| (producer.to_string(), Offset(*first)))
                        .collect(),
                    preferred: told.preferred_replica.as_ref().map(|name| self.id(name)).transpose()?,
                }),
                Err(error) => Err(code(*error)),
            }),
            Content::OffsetForLeaderEpochReply(reply) => {
                let end = |told: &sent::EpochReply| EpochEnd {
                    epoch: LeaderEpoch(told.epoch),
                    end_offset: Offset(told.end_offset),
                };
                Answer::EpochEnd(reply.as_ref().map(end).map_err(|error| code(*error)))
            }
            Content::ListOffsetsReply(reply) => {
                let found =
                    |told: &sent::OffsetReply| FoundOffset { offset: Offset(told.offset), epoch: known(told.epoch) };
                Answer::Offset(reply.as_ref().map(found).map_err(|error| code(*error)))
            }
            request => return Err(Fault::broken(format!("{} is no answer", request.name()))),
        })
    }

    pub(super) fn told_client(&self, client: &Client) -> Result<trace::ConsumerState, Fault> {
        let position = client.position();
        Ok(trace::ConsumerState {
            fetch_state: told_state(client.fetch_state()),
            offset: position.map(|position| position.offset.0),
            offset_epoch: position.and_then(|position| position.offset_epoch).map(|epoch| epoch.0),
            leader: position.and_then(|position| position.leader.leader).map(|id| self.name(id)).transpose()?,
            leader_epoch: position.and_then(|position| position.leader.epoch).map(|epoch| epoch.0),
            history: client.history().map(|history| history.entries().iter().map(told_epoch).collect()),
        })
    }
}

pub(super) fn told_question(question: &Question) -> Content {
    match question {
        Question::Fetch(fetch) => Content::Fetch(sent::Fetch {
            offset: fetch.offset.0,
            current_leader_epoch: number(fetch.current_leader_epoch),
            last_epoch: fetch.last_epoch.map(|epoch| epoch.0),
            topic_id: fetch.topic.unwrap_or(TopicId::FIRST).0,
        }),
        Question::EpochEnd(asked) => Content::OffsetForLeaderEpoch(sent::EpochRequest {
            epoch: asked.epoch.0,
            current_leader_epoch: number(asked.current_leader_epoch),
        }),
        Question::Offset(asked) => Content::ListOffsets(sent::OffsetRequest {
            timestamp: told_spec(asked.spec),
            current_leader_epoch: number(asked.current_leader_epoch),
        }),
    }
}

/// A request, as the trace has it. Whether a fetch says its topic is not told by the trace: `says_topic` does.
pub(super) fn question(content: &Content, says_topic: bool) -> Result<Question, Fault> {
    Ok(match content {
        Content::Fetch(fetch) => Question::Fetch(Fetch {
            offset: Offset(fetch.offset),
            current_leader_epoch: known(fetch.current_leader_epoch),
            last_epoch: fetch.last_epoch.and_then(known),
            topic: says_topic.then_some(TopicId(fetch.topic_id)),
        }),
        Content::OffsetForLeaderEpoch(asked) => Question::EpochEnd(EpochQuestion {
            epoch: LeaderEpoch(asked.epoch),
            current_leader_epoch: known(asked.current_leader_epoch),
        }),
        Content::ListOffsets(asked) => Question::Offset(OffsetQuestion {
            spec: spec(asked.timestamp),
            current_leader_epoch: known(asked.current_leader_epoch),
        }),
        answer => return Err(Fault::broken(format!("{} is no request", answer.name()))),
    })
}

pub(super) fn told_broker(view: &BrokerView<'_>) -> Result<trace::BrokerState, Fault> {
    Ok(trace::BrokerState {
        role: match view.role {
            BrokerRole::None => trace::Role::None,
            BrokerRole::Leader { .. } => trace::Role::Leader,
            BrokerRole::Follower => trace::Role::Follower,
        },
        leader_epoch: view.leader_epoch.0,
        log: told_records(view.log)?,
        high_watermark: view.high_watermark.0,
        epochs: Some(view.epochs.entries().iter().map(told_epoch).collect()),
        topic_id: view.topic.0,
    })
}

pub(super) const fn fetch_state(state: FetchState) -> state::FetchState {
    match state {
        FetchState::Initializing => state::FetchState::Initializing,
        FetchState::Fetching => state::FetchState::Fetching,
        FetchState::AwaitReset => state::FetchState::AwaitReset,
        FetchState::AwaitValidation => state::FetchState::AwaitValidation,
    }
}

const fn told_state(state: state::FetchState) -> FetchState {
    match state {
        state::FetchState::Initializing => FetchState::Initializing,
        state::FetchState::Fetching => FetchState::Fetching,
        state::FetchState::AwaitReset => FetchState::AwaitReset,
        state::FetchState::AwaitValidation => FetchState::AwaitValidation,
    }
}

pub(super) fn known(epoch: i32) -> Option<LeaderEpoch> {
    (epoch >= 0).then_some(LeaderEpoch(epoch))
}

fn number(epoch: Option<LeaderEpoch>) -> i32 {
    epoch.map_or(-1, |epoch| epoch.0)
}

fn spec(spec: trace::OffsetSpec) -> OffsetSpec {
    match spec {
        trace::OffsetSpec::Earliest => OffsetSpec::Earliest,
        trace::OffsetSpec::Latest => OffsetSpec::Latest,
        trace::OffsetSpec::Timestamp(time) => OffsetSpec::Timestamp(Millis(time)),
    }
}

const fn told_spec(spec: OffsetSpec) -> trace::OffsetSpec {
    match spec {
        OffsetSpec::Earliest => trace::OffsetSpec::Earliest,
        OffsetSpec::Latest => trace::OffsetSpec::Latest,
        OffsetSpec::Timestamp(time) => trace::OffsetSpec::Timestamp(time.0),
    }
}

pub(super) fn code(error: KafkaError) -> ReadError {
    match error {
        KafkaError::LogTruncation => ReadError::LogTruncation,
        KafkaError::ReplicaNotAvailable => ReadError::ReplicaNotAvailable,
        KafkaError::LeaderNotAvailable => ReadError::LeaderNotAvailable,
        _ => {
            let known = ErrorCode::ALL.iter().find(|code| code.name() == error.name());
            known.map_or(ReadError::Other, |code| ReadError::Kafka(*code))
        }
    }
}

pub(super) fn error_name(error: ReadError) -> Result<KafkaError, Fault> {
    match error {
        ReadError::LogTruncation => Ok(KafkaError::LogTruncation),
        ReadError::ReplicaNotAvailable => Ok(KafkaError::ReplicaNotAvailable),
        ReadError::LeaderNotAvailable => Ok(KafkaError::LeaderNotAvailable),
        ReadError::Kafka(code) => code.name().parse().map_err(Fault::broken),
        ReadError::Other => Err(Fault::broken("the reference's brokers answer no such error")),
    }
}

pub(super) fn place(position: trace::Position) -> Place {
    Place { offset: Offset(position.offset), epoch: position.epoch.and_then(known) }
}

pub(super) fn told_place(place: Place) -> trace::Position {
    trace::Position { offset: place.offset.0, epoch: place.epoch.map(|epoch| epoch.0) }
}

pub(super) fn epoch_entry(trace::EpochStart(epoch, start): &trace::EpochStart) -> EpochEntry {
    EpochEntry { epoch: LeaderEpoch(*epoch), start_offset: Offset(*start) }
}

fn told_epoch(entry: &EpochEntry) -> trace::EpochStart {
    trace::EpochStart(entry.epoch.0, entry.start_offset.0)
}

pub(super) fn told_end(end: EpochEnd) -> trace::EpochEnd {
    trace::EpochEnd { epoch: end.epoch.0, end_offset: end.end_offset.0 }
}

fn told_aborted((producer, first): &(String, Offset)) -> Result<sent::Aborted, Fault> {
    Ok(sent::Aborted(producer.parse::<ProducerName>().map_err(Fault::broken)?, first.0))
}

pub(super) fn record(told: &trace::LogRecord) -> Record {
    let entry = match (told.id.as_str(), &told.producer) {
        (COMMIT, Some(_)) => Entry::Marker { committed: true },
        (ABORT, Some(_)) => Entry::Marker { committed: false },
        (id, _) => Entry::Value(id.to_owned()),
    };
    let producer = told.producer.as_ref().map(ToString::to_string);
    Record { offset: Offset(told.offset), epoch: LeaderEpoch(told.epoch), entry, producer }
}

pub(super) fn told_records(records: &[Record]) -> Result<Vec<trace::LogRecord>, Fault> {
    let told = |record: &Record| {
        let id = match &record.entry {
            Entry::Value(id) => id.as_str(),
            Entry::Marker { committed: true } => COMMIT,
            Entry::Marker { committed: false } => ABORT,
        };
        Ok(trace::LogRecord {
            offset: record.offset.0,
            epoch: record.epoch.0,
            id: id.parse::<RecordName>().map_err(Fault::broken)?,
            producer: record.producer.as_deref().map(|name| name.parse().map_err(Fault::broken)).transpose()?,
        })
    };
    records.iter().map(told).collect()
}

pub(super) fn told_exception(exception: Exception) -> observed::Exception {
    match exception {
        Exception::LogTruncation { offset, divergent } => observed::Exception::LogTruncation(observed::Truncated {
            offset: offset.0,
            divergent: divergent.map(told_end),
        }),
        Exception::OutOfRange(offset) => {
            observed::Exception::OffsetOutOfRange(observed::OutOfRange { offset: offset.0 })
        }
        Exception::NoOffset => observed::Exception::NoOffset(trace::NoFields {}),
    }
}
