//! What the trace says, as the reference says it, and back: names for brokers, ids for records.

use std::collections::BTreeMap;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::names::{BrokerName, RecordName};
use fencepost_fixtures::replication as trace;
use fencepost_fixtures::replication::messages as sent;
use fencepost_reference::replica::election::PartitionState;
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::{
    AlterPartitionRequest, AlteredPartition, Content, EpochRequest, EpochRequestVersion, FetchReply, FetchRequest,
    Fetched, ListOffsetsRequest, ListedOffset, OffsetSpec,
};
use fencepost_reference::replica::metadata::{BrokerRecord, MetadataRecord, PartitionRecord};
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, LeaderEpoch, Node, Offset, PartitionEpoch};
use fencepost_reference::replica::observe::{BrokerState, ReplicaRole};
use fencepost_reference::replica::records::{self, LogRecord};
use fencepost_reference::storage::epoch_cache::{EpochEnd, EpochEntry};
use fencepost_reference::storage::names::Millis;

use crate::target::Fault;

/// The brokers by number: their places in the list of the configuration.
#[derive(Clone, Debug)]
pub(super) struct Brokers {
    names: Vec<BrokerName>,
    controller: BrokerName,
}

impl Brokers {
    pub(super) fn new(names: Vec<BrokerName>) -> Result<Self, Fault> {
        let controller = trace::CONTROLLER.parse().map_err(Fault::broken)?;
        Ok(Self { names, controller })
    }

    pub(super) fn ids(&self) -> Vec<BrokerId> {
        (0..).map(BrokerId).take(self.names.len()).collect()
    }

    pub(super) fn id(&self, name: &BrokerName) -> Result<BrokerId, Fault> {
        let place = self.names.iter().position(|known| known == name);
        let id = place.and_then(|place| i32::try_from(place).ok());
        id.map(BrokerId).ok_or_else(|| Fault::broken(format!("there is no broker {name}")))
    }

    pub(super) fn node(&self, name: &BrokerName) -> Result<Node, Fault> {
        if *name == self.controller { Ok(Node::Controller) } else { self.id(name).map(Node::Broker) }
    }

    pub(super) fn name(&self, id: BrokerId) -> Result<BrokerName, Fault> {
        let name = usize::try_from(id.0).ok().and_then(|place| self.names.get(place)).cloned();
        name.ok_or_else(|| Fault::broken(format!("the reference names a broker {id}")))
    }

    pub(super) fn place(&self, node: Node) -> Result<BrokerName, Fault> {
        match node {
            Node::Broker(id) => self.name(id),
            Node::Controller => Ok(self.controller.clone()),
        }
    }

    fn ids_of<'a>(&self, names: impl IntoIterator<Item = &'a BrokerName>) -> Result<Vec<BrokerId>, Fault> {
        // In the order of the replicas, as the controller writes them.
        let mut ids = names.into_iter().map(|name| self.id(name)).collect::<Result<Vec<_>, _>>()?;
        ids.sort_unstable();
        Ok(ids)
    }

    pub(super) fn names_of<C: FromIterator<BrokerName>>(&self, ids: &[BrokerId]) -> Result<C, Fault> {
        ids.iter().map(|id| self.name(*id)).collect()
    }

    pub(super) fn record(&self, record: &trace::Record) -> Result<MetadataRecord, Fault> {
        Ok(match record {
            trace::Record::Partition(change) => MetadataRecord::Partition(PartitionRecord {
                leader: change.leader.as_ref().map(|leader| self.id(leader)).transpose()?,
                leader_epoch: LeaderEpoch(change.leader_epoch),
                isr: self.ids_of(&change.isr)?,
                partition_epoch: change.partition_epoch.map(PartitionEpoch),
                elr: self.ids_of(&change.elr)?,
                recovering: change.recovering,
            }),
            trace::Record::Broker(change) => MetadataRecord::Broker(BrokerRecord {
                broker: self.id(&change.broker)?,
                broker_epoch: BrokerEpoch(change.broker_epoch),
                fenced: change.fenced,
                shutting_down: change.shutting_down,
            }),
        })
    }

    pub(super) fn told_record(&self, record: &MetadataRecord) -> Result<trace::Record, Fault> {
        Ok(match record {
            MetadataRecord::Partition(change) => trace::Record::Partition(trace::PartitionChange {
                leader: change.leader.map(|leader| self.name(leader)).transpose()?,
                leader_epoch: change.leader_epoch.0,
                isr: self.names_of(&change.isr)?,
                partition_epoch: change.partition_epoch.map(|epoch| epoch.0),
                elr: self.names_of(&change.elr)?,
                recovering: change.recovering,
            }),
            MetadataRecord::Broker(change) => trace::Record::Broker(trace::BrokerChange {
                broker: self.name(change.broker)?,
                broker_epoch: change.broker_epoch.0,
                fenced: change.fenced,
                shutting_down: change.shutting_down,
            }),
        })
    }

    /// A message's content, as one that a place sent which is not driven; a question for an epoch's end is of the version
    /// that its sender has.
    pub(super) fn content(&self, content: &trace::Content, version: EpochRequestVersion) -> Result<Content, Fault> {
        Ok(match content {
            trace::Content::Fetch(fetch) => Content::Fetch(FetchRequest {
                offset: Offset(fetch.offset),
                last_fetched_epoch: known(fetch.last_fetched_epoch),
                current_leader_epoch: known(fetch.current_leader_epoch),
                broker_epoch: BrokerEpoch(fetch.broker_epoch),
                log_start: Offset(0),
            }),
            trace::Content::FetchReply(reply) => Content::FetchReply(match reply {
                trace::FetchReply::Records { records, high_watermark, log_start } => Ok(FetchReply {
                    found: Fetched::Records(bytes(records)?),
                    high_watermark: Offset(*high_watermark),
                    log_start: Offset(*log_start),
                }),
                trace::FetchReply::Diverging { diverging, high_watermark } => Ok(FetchReply {
                    found: Fetched::Diverging(EpochEnd {
                        epoch: LeaderEpoch(diverging.epoch),
                        end_offset: Offset(diverging.end_offset),
                    }),
                    high_watermark: Offset(*high_watermark),
                    log_start: Offset(0),
                }),
                trace::FetchReply::Error(error) => Err(code(*error)?),
            }),
            trace::Content::OffsetForLeaderEpoch(asked) => Content::OffsetForLeaderEpoch(EpochRequest {
                epoch: LeaderEpoch(asked.epoch),
                current_leader_epoch: known(asked.current_leader_epoch),
                version,
            }),
            trace::Content::OffsetForLeaderEpochReply(reply) => Content::OffsetForLeaderEpochReply(match reply {
                Ok(sent::EpochReply { epoch, end_offset }) => Ok(EpochEnd {
                    epoch: epoch.map_or(LeaderEpoch::NONE, LeaderEpoch),
                    end_offset: Offset(*end_offset),
                }),
                Err(error) => Err(code(*error)?),
            }),
            trace::Content::ListOffsets(asked) => Content::ListOffsets(ListOffsetsRequest {
                spec: spec(asked.timestamp),
                current_leader_epoch: known(asked.current_leader_epoch),
            }),
            trace::Content::ListOffsetsReply(reply) => Content::ListOffsetsReply(match reply {
                Ok(offset) => Ok(ListedOffset { offset: Offset(*offset), epoch: None }),
                Err(error) => Err(code(*error)?),
            }),
            trace::Content::AlterPartition(proposal) => Content::AlterPartition(AlterPartitionRequest {
                leader_epoch: LeaderEpoch(proposal.leader_epoch),
                partition_epoch: PartitionEpoch(proposal.partition_epoch),
                isr: self.incarnations(&proposal.isr)?,
                broker_epoch: BrokerEpoch(proposal.broker_epoch),
                recovered: true,
            }),
            trace::Content::AlterPartitionReply(reply) => Content::AlterPartitionReply(match reply {
                Ok(state) => Ok(AlteredPartition {
                    leader: state.leader.as_ref().map(|leader| self.id(leader)).transpose()?,
                    leader_epoch: LeaderEpoch(state.leader_epoch),
                    isr: self.ids_of(&state.isr)?,
                    partition_epoch: PartitionEpoch(state.partition_epoch),
                }),
                Err(error) => Err(code(*error)?),
            }),
        })
    }

    pub(super) fn incarnations(
        &self,
        brokers: &BTreeMap<BrokerName, i64>,
    ) -> Result<BTreeMap<BrokerId, BrokerEpoch>, Fault> {
        brokers.iter().map(|(name, epoch)| Ok((self.id(name)?, BrokerEpoch(*epoch)))).collect()
    }

    /// A message's content, as the trace tells it.
    pub(super) fn told(&self, content: &Content) -> Result<trace::Content, Fault> {
        Ok(match content {
            Content::Fetch(fetch) => trace::Content::Fetch(trace::Fetch {
                offset: fetch.offset.0,
                last_fetched_epoch: number(fetch.last_fetched_epoch),
                current_leader_epoch: number(fetch.current_leader_epoch),
                broker_epoch: fetch.broker_epoch.0,
            }),
            Content::FetchReply(reply) => trace::Content::FetchReply(fetch_reply(reply)?),
            Content::OffsetForLeaderEpoch(asked) => trace::Content::OffsetForLeaderEpoch(sent::EpochRequest {
                epoch: asked.epoch.0,
                current_leader_epoch: number(asked.current_leader_epoch),
            }),
            Content::OffsetForLeaderEpochReply(reply) => trace::Content::OffsetForLeaderEpochReply(match reply {
                // An offset without an epoch is an answer that does not say.
                Ok(end) => Ok(sent::EpochReply {
                    epoch: (end.epoch != LeaderEpoch::NONE || !end.is_defined()).then_some(end.epoch.0),
                    end_offset: end.end_offset.0,
                }),
                Err(error) => Err(error_name(*error)?),
            }),
            Content::ListOffsets(asked) => trace::Content::ListOffsets(sent::OffsetRequest {
                timestamp: match asked.spec {
                    OffsetSpec::Earliest => trace::OffsetSpec::Earliest,
                    OffsetSpec::Latest => trace::OffsetSpec::Latest,
                    OffsetSpec::Timestamp(timestamp) => trace::OffsetSpec::Timestamp(timestamp.0),
                },
                current_leader_epoch: number(asked.current_leader_epoch),
            }),
            Content::ListOffsetsReply(reply) => trace::Content::ListOffsetsReply(match reply {
                Ok(listed) => Ok(listed.offset.0),
                Err(error) => Err(error_name(*error)?),
            }),
            Content::AlterPartition(proposal) => trace::Content::AlterPartition(sent::AlterPartition {
                broker_epoch: proposal.broker_epoch.0,
                leader_epoch: proposal.leader_epoch.0,
                partition_epoch: proposal.partition_epoch.0,
                isr: proposal
                    .isr
                    .iter()
                    .map(|(broker, epoch)| Ok((self.name(*broker)?, epoch.0)))
                    .collect::<Result<_, Fault>>()?,
            }),
            Content::AlterPartitionReply(reply) => trace::Content::AlterPartitionReply(match reply {
                Ok(altered) => Ok(sent::PartitionState {
                    leader: altered.leader.map(|leader| self.name(leader)).transpose()?,
                    leader_epoch: altered.leader_epoch.0,
                    isr: self.names_of(&altered.isr)?,
                    partition_epoch: altered.partition_epoch.0,
                }),
                Err(error) => Err(error_name(*error)?),
            }),
        })
    }

    pub(super) fn told_replica(&self, state: &BrokerState) -> Result<trace::BrokerState, Fault> {
        let leading = state.leading.as_ref();
        let future = state.future.as_ref().map(|future| {
            Ok::<_, Fault>(trace::observed::FutureState {
                log: told_log(&future.log)?,
                high_watermark: future.high_watermark.0,
            })
        });
        Ok(trace::BrokerState {
            role: match state.role {
                ReplicaRole::None => trace::Role::None,
                ReplicaRole::Leader => trace::Role::Leader,
                ReplicaRole::Follower => trace::Role::Follower,
            },
            leader_epoch: state.leader_epoch.0,
            log: told_log(&state.log)?,
            high_watermark: state.high_watermark.0,
            isr: leading.map(|leading| self.names_of(&leading.isr)).transpose()?,
            remote: leading
                .map(|leading| {
                    let ends = leading.remotes.iter();
                    ends.map(|(broker, end)| Ok((self.name(*broker)?, end.0))).collect::<Result<_, Fault>>()
                })
                .transpose()?,
            pending_isr: leading
                .and_then(|leading| leading.pending_isr.as_deref())
                .map(|isr| self.names_of(isr))
                .transpose()?,
            epochs: Some(state.epochs.iter().map(told_epoch).collect()),
            log_end: Some(state.log_end.0),
            log_start: Some(state.log_start.0),
            partition_epoch: Some(state.partition_epoch.0),
            failed: Some(state.failed),
            future: future.transpose()?,
        })
    }

    pub(super) fn told_controller(&self, state: &PartitionState) -> Result<trace::ControllerState, Fault> {
        Ok(trace::ControllerState {
            leader: state.leader.map(|leader| self.name(leader)).transpose()?,
            leader_epoch: state.leader_epoch.0,
            partition_epoch: state.partition_epoch.0,
            isr: self.names_of(&state.isr)?,
            elr: self.names_of(&state.elr)?,
            recovering: state.recovering,
        })
    }

    pub(super) fn partition(
        &self,
        replicas: Vec<BrokerId>,
        state: &trace::ControllerState,
    ) -> Result<PartitionState, Fault> {
        Ok(PartitionState {
            replicas,
            isr: self.ids_of(&state.isr)?,
            elr: self.ids_of(&state.elr)?,
            last_known: None,
            leader: state.leader.as_ref().map(|leader| self.id(leader)).transpose()?,
            leader_epoch: LeaderEpoch(state.leader_epoch),
            partition_epoch: PartitionEpoch(state.partition_epoch),
            recovering: state.recovering,
        })
    }
}

pub(super) fn fetch_reply(reply: &Result<FetchReply, ErrorCode>) -> Result<trace::FetchReply, Fault> {
    Ok(match reply {
        Ok(FetchReply { found: Fetched::Records(batches), high_watermark, log_start }) => trace::FetchReply::Records {
            records: told_log(&records::decode(batches).map_err(|error| Fault::broken(error.to_string()))?)?,
            high_watermark: high_watermark.0,
            log_start: log_start.0,
        },
        Ok(FetchReply { found: Fetched::Diverging(end), high_watermark, .. }) => trace::FetchReply::Diverging {
            diverging: trace::EpochEnd { epoch: end.epoch.0, end_offset: end.end_offset.0 },
            high_watermark: high_watermark.0,
        },
        Err(error) => trace::FetchReply::Error(error_name(*error)?),
    })
}

/// -1 is an epoch that a request does not have.
pub(super) fn known(epoch: i32) -> Option<LeaderEpoch> {
    (epoch >= 0).then_some(LeaderEpoch(epoch))
}

fn number(epoch: Option<LeaderEpoch>) -> i32 {
    epoch.map_or(-1, |epoch| epoch.0)
}

pub(super) fn spec(spec: trace::OffsetSpec) -> OffsetSpec {
    match spec {
        trace::OffsetSpec::Earliest => OffsetSpec::Earliest,
        trace::OffsetSpec::Latest => OffsetSpec::Latest,
        trace::OffsetSpec::Timestamp(timestamp) => OffsetSpec::Timestamp(Millis(timestamp)),
    }
}

pub(super) fn code(error: KafkaError) -> Result<ErrorCode, Fault> {
    let code = ErrorCode::ALL.iter().find(|code| code.name() == error.name());
    code.copied().ok_or_else(|| Fault::broken(format!("the reference's brokers do not know {error}")))
}

pub(super) fn error_name(code: ErrorCode) -> Result<KafkaError, Fault> {
    code.name().parse().map_err(Fault::broken)
}

pub(super) fn told_epoch(entry: &EpochEntry) -> trace::EpochStart {
    trace::EpochStart(entry.epoch.0, entry.start_offset.0)
}

pub(super) fn told_log(log: &[LogRecord]) -> Result<Vec<trace::LogRecord>, Fault> {
    log.iter()
        .map(|record| {
            let id = String::from_utf8_lossy(&record.value).parse::<RecordName>().map_err(Fault::broken)?;
            Ok(trace::LogRecord(record.offset.0, record.epoch.0, id))
        })
        .collect()
}

fn bytes(log: &[trace::LogRecord]) -> Result<Vec<u8>, Fault> {
    let log: Vec<LogRecord> = log
        .iter()
        .map(|trace::LogRecord(offset, epoch, id)| LogRecord {
            offset: Offset(*offset),
            epoch: LeaderEpoch(*epoch),
            value: id.as_str().as_bytes().to_vec(),
        })
        .collect();
    records::encode(&log).map_err(|error| Fault::broken(error.to_string()))
}
