//! What messages, logs and states say in a trace.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::names::{BrokerName, RecordName};
use fencepost_fixtures::replication::messages::{
    AlterPartition, EpochReply, EpochRequest, OffsetRequest, PartitionState,
};
use fencepost_fixtures::replication::observed::FutureState;
use fencepost_fixtures::replication::{
    BrokerChange, BrokerState, Content, ControllerState, EpochEnd, EpochStart, Fetch, FetchReply, LogRecord,
    OffsetSpec, PartitionChange, Role,
};

use super::Rendering;
use crate::replication::broker::{Phase, Role as ModelRole};
use crate::replication::controller::{Image, NOBODY, bit, members};
use crate::replication::future::{Disk, Future};
use crate::replication::log::{Epoch, Log, UNDEFINED};
use crate::replication::message::{Fetched, Msg, Refusal};
use crate::replication::rules::{Fence, Truncation};
use crate::replication::words;
use crate::world::Envelope;

impl Rendering<'_> {
    /// What a message says in a trace; none where it is no message of a trace.
    pub(super) fn content(&mut self, envelope: &Envelope<Msg>) -> Result<Option<Content>, String> {
        let setting = &self.world.protocol.setting;
        let src = setting.rules(envelope.src);
        // A request says what its sender says; an older receiver does not look at all of it.
        let fenced = src.fence == Fence::Current;
        let carried = |yes: bool, epoch: Epoch| i32::from(if yes { epoch } else { UNDEFINED });
        Ok(Some(match envelope.msg {
            Msg::Fetch { sent, broker_epoch, .. } => Content::Fetch(Fetch {
                offset: i64::from(sent.offset),
                last_fetched_epoch: carried(src.compares(), sent.last),
                current_leader_epoch: carried(fenced, sent.epoch),
                broker_epoch: i64::from(broker_epoch),
            }),
            Msg::FetchReply { answer, .. } => Content::FetchReply(match answer {
                Fetched::Records { records, high } => {
                    FetchReply::Records { records: self.log(&records)?, high_watermark: i64::from(high), log_start: 0 }
                }
                Fetched::Diverging { at, high } => FetchReply::Diverging {
                    diverging: EpochEnd { epoch: i32::from(at.epoch), end_offset: i64::from(at.end) },
                    high_watermark: i64::from(high),
                },
                Fetched::Error(refusal) => FetchReply::Error(error(refusal)),
            }),
            Msg::EpochEndRequest { sent } => Content::OffsetForLeaderEpoch(EpochRequest {
                epoch: i32::from(sent.last),
                current_leader_epoch: carried(src.asks_fenced && !src.asks_v0, sent.epoch),
            }),
            Msg::EpochEndReply { answer, .. } => Content::OffsetForLeaderEpochReply(match answer {
                Ok(end) => {
                    let told = end.epoch != UNDEFINED || end.end == UNDEFINED;
                    Ok(EpochReply { epoch: told.then_some(i32::from(end.epoch)), end_offset: i64::from(end.end) })
                }
                Err(refusal) => Err(error(refusal)),
            }),
            Msg::ListOffsets { sent, earliest } => Content::ListOffsets(OffsetRequest {
                timestamp: if earliest { OffsetSpec::Earliest } else { OffsetSpec::Latest },
                current_leader_epoch: carried(fenced, sent.epoch),
            }),
            Msg::ListOffsetsReply { answer, .. } => Content::ListOffsetsReply(answer.map(i64::from).map_err(error)),
            Msg::AlterPartition { epoch, partition_epoch, isr, broker_epochs, broker_epoch } => {
                let mut incarnations = BTreeMap::new();
                for member in members(isr) {
                    let known = broker_epochs[usize::from(member)];
                    incarnations.insert(name(member)?, if known == 0 { -1 } else { i64::from(known) });
                }
                Content::AlterPartition(AlterPartition {
                    broker_epoch: i64::from(broker_epoch),
                    leader_epoch: i32::from(epoch),
                    partition_epoch: i32::from(partition_epoch),
                    isr: incarnations,
                })
            }
            Msg::AlterPartitionReply { answer, .. } => Content::AlterPartitionReply(match answer {
                Ok(altered) => Ok(PartitionState {
                    leader: leader(altered.leader)?,
                    leader_epoch: i32::from(altered.epoch),
                    isr: set(altered.isr)?,
                    partition_epoch: i32::from(altered.partition_epoch),
                }),
                Err(refusal) => Err(error(refusal)),
            }),
            Msg::Register { .. } | Msg::Metadata { .. } => return Ok(None),
        }))
    }

    /// A log in the trace's words. A record that is new gets the next name.
    pub(super) fn log(&mut self, log: &Log) -> Result<Vec<LogRecord>, String> {
        let mut told = Vec::new();
        for (offset, record) in log.iter() {
            let next = self.records.len();
            let known = self.records.get(&record.id()).cloned();
            let id = known.map_or_else(|| parsed::<RecordName>(&format!("r{next}")), Ok)?;
            self.records.insert(record.id(), id.clone());
            told.push(LogRecord(i64::from(offset), i32::from(record.epoch()), id));
        }
        Ok(told)
    }

    /// What is seen of a future replica; nothing while its disk is away.
    fn future(&mut self, future: &Future) -> Result<Option<FutureState>, String> {
        if future.disk != Disk::Here {
            return Ok(None);
        }
        Ok(Some(FutureState { log: self.log(&future.log)?, high_watermark: i64::from(future.high) }))
    }

    /// What is seen of a broker; none while it is down.
    pub(super) fn replica(&mut self, id: u8) -> Result<Option<BrokerState>, String> {
        let broker = self.broker(id).clone();
        if !broker.up {
            return Ok(None);
        }
        let leads = broker.role == ModelRole::Leader;
        let mut remote = BTreeMap::new();
        for other in (0..self.brokers()).filter(|other| *other != id) {
            remote.insert(name(other)?, i64::from(broker.remotes[usize::from(other)].end));
        }
        // Before KIP-101 no broker keeps epochs; the model's does, and does not look at them.
        let keeps = self.world.protocol.setting.rules(id).truncation != Truncation::HighWatermark;
        let kept = broker.epochs.iter().filter(|_| keeps);
        let epochs = kept.map(|(epoch, start)| EpochStart(i32::from(epoch), i64::from(start))).collect();
        let pending = broker.in_flight.then_some(broker.pending).filter(|pending| leads && *pending != 0);
        let told = self.log(&broker.log)?;
        let future = self.future(&broker.future)?;
        // Said where it is not the offset after the last record.
        let after = told.last().map_or(0, |last| last.0 + 1);
        let log_end = Some(i64::from(broker.log.end)).filter(|end| *end != after);
        Ok(Some(BrokerState {
            role: match broker.role {
                ModelRole::None => Role::None,
                ModelRole::Leader => Role::Leader,
                ModelRole::Follower => Role::Follower,
            },
            leader_epoch: i32::from(broker.leader_epoch),
            log: told,
            high_watermark: i64::from(broker.high),
            isr: leads.then(|| set(broker.isr)).transpose()?,
            remote: leads.then_some(remote),
            pending_isr: pending.map(set).transpose()?,
            epochs: Some(epochs),
            log_end,
            log_start: None,
            partition_epoch: Some(i32::from(broker.partition_epoch)),
            failed: Some(broker.entry.phase == Phase::Failed),
            future,
        }))
    }
}

pub(super) fn parsed<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, String> {
    text.parse()
}

pub(super) fn name(id: u8) -> Result<BrokerName, String> {
    parsed(&words::broker(id))
}

pub(super) fn id_of(name: &BrokerName) -> Option<u8> {
    (0..4).find(|id| words::broker(*id) == name.as_str())
}

pub(super) fn set(brokers: u8) -> Result<BTreeSet<BrokerName>, String> {
    members(brokers).map(name).collect()
}

pub(super) fn leader(id: u8) -> Result<Option<BrokerName>, String> {
    (id != NOBODY).then(|| name(id)).transpose()
}

pub(super) fn partition(image: &Image) -> Result<PartitionChange, String> {
    Ok(PartitionChange {
        leader: leader(image.leader)?,
        leader_epoch: i32::from(image.epoch),
        isr: set(image.isr)?,
        partition_epoch: Some(i32::from(image.partition_epoch)),
        elr: set(image.elr)?,
        recovering: image.recovering,
    })
}

pub(super) fn broker_change(image: &Image, broker: u8) -> Result<BrokerChange, String> {
    Ok(BrokerChange {
        broker: name(broker)?,
        broker_epoch: i64::from(image.broker_epochs[usize::from(broker)]),
        fenced: image.fenced & bit(broker) != 0,
        shutting_down: image.shutting & bit(broker) != 0,
    })
}

pub(super) fn controller(image: &Image) -> Result<ControllerState, String> {
    Ok(ControllerState {
        leader: leader(image.leader)?,
        leader_epoch: i32::from(image.epoch),
        partition_epoch: i32::from(image.partition_epoch),
        isr: set(image.isr)?,
        elr: set(image.elr)?,
        recovering: image.recovering,
    })
}

pub(super) fn error(refusal: Refusal) -> KafkaError {
    match refusal {
        Refusal::FencedLeaderEpoch => KafkaError::FencedLeaderEpoch,
        Refusal::UnknownLeaderEpoch => KafkaError::UnknownLeaderEpoch,
        Refusal::NotLeaderOrFollower => KafkaError::NotLeaderOrFollower,
        Refusal::UnknownTopicOrPartition => KafkaError::UnknownTopicOrPartition,
        Refusal::OffsetOutOfRange => KafkaError::OffsetOutOfRange,
        Refusal::UnsupportedVersion => KafkaError::UnsupportedVersion,
        Refusal::StaleBrokerEpoch => KafkaError::StaleBrokerEpoch,
        Refusal::NotController => KafkaError::NotController,
        Refusal::InvalidRequest => KafkaError::InvalidRequest,
        Refusal::InvalidUpdateVersion => KafkaError::InvalidUpdateVersion,
        Refusal::IneligibleReplica => KafkaError::IneligibleReplica,
    }
}
