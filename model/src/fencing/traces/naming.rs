//! The model's members, partitions, messages and timers in the words of a trace.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::fencing::{
    Commit, Configure, EndTransaction, Expire, FailOver, Fetch, Heartbeat, Leave, Offset, Operation, Replicate,
    Replication, Timer as TimerName, TransactionResult, TxnCommit,
};
use fencepost_fixtures::names::{
    Epoch, InstanceName, MemberName, MessageName, ProducerName, TopicName, TopicPartition,
};
use fencepost_fixtures::variants::Release;

use super::super::Fencing;
use super::super::actors::{COORDINATOR, instance_of};
use super::super::bounds::Setting;
use super::super::message::{self, Msg, Timer};
use super::super::partitions::{Partitions, TOPIC_T, TOPIC_U};
use super::super::start::{SetupStep, setup};
use super::super::words;
use super::variant_name;
use crate::world::{Action, ActionOf, WorldState};

/// The rebalance timeout of a heartbeat that says everything.
const REBALANCE_TIMEOUT_MS: i32 = 300_000;

fn released(release: Release) -> &'static str {
    match release {
        Release::V4_0 => "kafka-4.0",
        Release::V4_2 => "kafka-4.2",
        Release::V4_3 => "kafka-4.3",
        Release::V4_4 => "kafka-4.4",
    }
}

/// Names of what the model numbers.
pub(super) struct Naming<'a> {
    pub(super) setting: &'a Setting,
}

impl Naming<'_> {
    pub(super) fn member(&self, slot: u8) -> Result<MemberName, String> {
        words::member(self.setting.bounds.members, slot).parse()
    }

    pub(super) fn instance(&self, slot: u8) -> Result<Option<InstanceName>, String> {
        match instance_of(self.setting, slot) {
            0 => Ok(None),
            number => format!("i{number}").parse().map(Some),
        }
    }

    pub(super) fn partitions(&self, set: Partitions) -> BTreeSet<TopicPartition> {
        set.iter().map(|index| self.setting.bounds.topics.name(index)).collect()
    }

    /// The number of a commit stands for its offset.
    fn offsets(&self, commit: &message::Commit) -> BTreeMap<TopicPartition, Offset> {
        let offset = Offset::plain(i64::from(commit.id) * 10);
        self.partitions(commit.partitions).into_iter().map(|partition| (partition, offset.clone())).collect()
    }

    fn topics(subscription: u8) -> Result<BTreeSet<TopicName>, String> {
        let mut names = BTreeSet::new();
        for (bit, name) in [(TOPIC_T, "t"), (TOPIC_U, "u")] {
            if subscription & bit != 0 {
                names.insert(name.parse()?);
            }
        }
        Ok(names)
    }

    fn target(&self, target: u16) -> Result<Operation, String> {
        let mut named = BTreeMap::new();
        for slot in 0..self.setting.bounds.slots() {
            let nibble = target >> (4 * self.setting.bounds.consumer(slot)) & 0xf;
            named.insert(self.member(slot)?, self.partitions(Partitions(nibble.to_le_bytes()[0])));
        }
        Ok(Operation::Target(named))
    }

    fn heartbeat(&self, heartbeat: &message::Heartbeat) -> Result<Heartbeat, String> {
        let joins = heartbeat.epoch == 0;
        let all = self.setting.bounds.topics.all();
        // A join subscribes to all topics and gives a timeout where the trace says neither.
        let topics = match heartbeat.topics {
            Some(topics) if joins && topics == all => None,
            None if heartbeat.full && !joins => Some(Self::topics(all)?),
            topics => topics.map(Self::topics).transpose()?,
        };
        Ok(Heartbeat {
            id: None,
            member: self.member(heartbeat.slot)?,
            epoch: Epoch(i32::from(heartbeat.epoch)),
            owned: heartbeat.owned.map(|owned| self.partitions(owned)),
            instance: self.instance(heartbeat.slot)?,
            topics,
            rebalance_timeout_ms: (heartbeat.full && !joins).then_some(REBALANCE_TIMEOUT_MS),
            assignor: None,
            version: None,
        })
    }

    pub(super) fn message(&self, msg: &Msg) -> Result<Option<Operation>, String> {
        Ok(Some(match msg {
            Msg::Heartbeat(heartbeat) => Operation::Heartbeat(self.heartbeat(heartbeat)?),
            Msg::Commit(commit) => Operation::Commit(Commit {
                id: None,
                member: self.member(commit.slot)?,
                epoch: Epoch(i32::from(commit.epoch)),
                offsets: self.offsets(commit),
                instance: None,
                version: None,
            }),
            Msg::TxnCommit(commit) => Operation::TxnCommit(TxnCommit {
                id: None,
                producer: producer()?,
                member: self.member(commit.slot)?,
                epoch: Epoch(i32::from(commit.epoch)),
                offsets: self.offsets(commit),
                instance: None,
                version: None,
            }),
            Msg::EndTransaction { commit } => Operation::EndTransaction(EndTransaction {
                id: None,
                producer: producer()?,
                result: if *commit { TransactionResult::Commit } else { TransactionResult::Abort },
            }),
            Msg::Fetch(fetch) => Operation::Fetch(Fetch {
                id: None,
                member: Some(self.member(fetch.slot)?),
                epoch: Epoch(i32::from(fetch.epoch)),
                partitions: self.partitions(Partitions::one(fetch.partition)),
                require_stable: fetch.stable,
            }),
            Msg::Leave { slot, epoch } => Operation::Leave(Leave {
                id: None,
                member: self.member(*slot)?,
                epoch: Epoch(i32::from(*epoch)),
                instance: self.instance(*slot)?,
            }),
            Msg::Target(target) => self.target(*target)?,
            _ => return Ok(None),
        }))
    }

    fn timer(&self, timer: Timer, now: &WorldState<Fencing>) -> Result<Option<Operation>, String> {
        let expire = |timer, member| Operation::Expire(Expire { timer, member });
        Ok(Some(match timer {
            Timer::Session(slot) => expire(TimerName::Session, Some(self.member(slot)?)),
            Timer::Rebalance(slot) => expire(TimerName::Rebalance, Some(self.member(slot)?)),
            Timer::Interval => expire(TimerName::AssignmentInterval, None),
            Timer::Replicate => Operation::Replicate(Replicate { through: None }),
            Timer::FailOver { other } => {
                let variant = match self.setting.bounds.other {
                    Some(release) if other => Some(released(release)),
                    Some(_) => Some(variant_name(&self.setting.rules)?),
                    None => None,
                };
                // The same broker's rules are not named.
                let same = other == now.actors.broker.now.other;
                let variant = if same { None } else { variant };
                Operation::FailOver(FailOver { variant: variant.map(str::to_owned) })
            }
            _ => return Ok(None),
        }))
    }

    /// What a step of the model is to the coordinator.
    pub(super) fn operation(
        &self,
        state: &WorldState<Fencing>,
        action: &ActionOf<Fencing>,
    ) -> Result<Option<Operation>, String> {
        match action {
            Action::Deliver(envelope) if envelope.dst == COORDINATOR => self.message(&envelope.msg),
            Action::Timeout(COORDINATOR, timer) => self.timer(*timer, state),
            _ => Ok(None),
        }
    }
}

pub(super) fn producer() -> Result<ProducerName, String> {
    "p".parse()
}

/// Names a request that may have to wait for the high watermark.
pub(super) fn name(operation: &mut Operation, number: &mut u32) -> Result<(), String> {
    let id: &mut Option<MessageName> = match operation {
        Operation::Heartbeat(heartbeat) => &mut heartbeat.id,
        Operation::Leave(leave) => &mut leave.id,
        Operation::Commit(commit) => &mut commit.id,
        Operation::TxnCommit(commit) => &mut commit.id,
        Operation::EndTransaction(end) => &mut end.id,
        Operation::Fetch(fetch) if fetch.require_stable => &mut fetch.id,
        _ => return Ok(()),
    };
    *number += 1;
    *id = Some(format!("r{number}").parse()?);
    Ok(())
}

pub(super) fn configure(setting: &Setting) -> Result<Configure, String> {
    let bounds = &setting.bounds;
    let mut topics = BTreeMap::from([("t".parse::<TopicName>()?, u16::from(bounds.topics.t))]);
    if bounds.topics.u > 0 {
        topics.insert("u".parse()?, u16::from(bounds.topics.u));
    }
    Ok(Configure {
        topics,
        assignment_interval_ms: bounds.interval.then_some(1000),
        max_size: (bounds.max_size > 0).then(|| u16::from(bounds.max_size)),
        replication: (bounds.fail_overs > 0).then_some(Replication::Held),
    })
}

pub(super) fn setup_operations(setting: &Setting, number: &mut u32) -> Result<Vec<Operation>, String> {
    let naming = Naming { setting };
    let held = setting.bounds.fail_overs > 0;
    let all = naming.partitions(Partitions::first(setting.bounds.topics.count()));
    let mut target = BTreeMap::new();
    for slot in 0..setting.bounds.slots() {
        target.insert(naming.member(slot)?, if slot == 0 { all.clone() } else { BTreeSet::new() });
    }
    let mut operations = vec![Operation::Target(target)];
    let beat = |slot: u8, epoch: i8| {
        let owned = (epoch == 0).then_some(Partitions::NONE);
        let request = message::Heartbeat { slot, seq: 0, epoch, owned, topics: None, full: false };
        naming.heartbeat(&request).map(Operation::Heartbeat)
    };
    for step in setup(setting).0 {
        let mut operation = match step {
            SetupStep::Join(slot) => beat(slot, 0)?,
            SetupStep::Beat(slot, epoch) => beat(slot, epoch)?,
            SetupStep::Interval => Operation::Expire(Expire { timer: TimerName::AssignmentInterval, member: None }),
        };
        if held {
            name(&mut operation, number)?;
        }
        operations.push(operation);
    }
    if held {
        operations.push(Operation::Replicate(Replicate { through: None }));
    }
    Ok(operations)
}
