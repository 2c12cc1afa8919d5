//! A trace's operations on the model's coordinator: request in, answer out, and what can be observed afterwards.
//!
//! Rendering a path, deciding for which variants a trace holds, and probing for refusals are all this. It knows names
//! and offsets, which the model does not; everything else is the model's own coordinator.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::fencing::{
    Answer, Commit, Completion, Configure, Expire, Fetch, GroupPhase, GroupState, Heartbeat, Leave, MemberPhase,
    MemberState, Offset, Operation, Replication, State, Timer, TransactionResult, TxnCommit,
};
use fencepost_fixtures::names::{Epoch, MemberName, MessageName, ProducerName, TopicPartition};
use fencepost_fixtures::variants::{FencingRules, Release};

use super::bounds::{Bounds, MAX_SLOTS, Setting};
use super::catalogue;
use super::commit::{CommitRequest, NO_MEMBER, STRANGER};
use super::coordinator::{ABSENT, Coordinator, HeartbeatRequest, Member, Phase};
use super::fail_over::{Held, MISSING};
use super::labels::Trail;
use super::mutant::Mutant;
use super::partitions::{Partitions, TOPIC_T, TOPIC_U, Topics};

/// The model's coordinator behind the vocabulary of a trace.
#[derive(Clone, Debug)]
pub struct Interpreter {
    setting: Setting,
    rules: FencingRules,
    coordinator: Coordinator,
    held: Option<Held>,
    held_configured: bool,
    /// What waits for the high watermark, in order.
    waiting: Vec<(MessageName, Completion)>,
    members: Vec<MemberName>,
    instances: Vec<String>,
    /// The last member of each instance id, and the members that another one replaced; only for
    /// [`Mutant::ReplacedAccepted`].
    holders: BTreeMap<u8, u8>,
    replaced: BTreeSet<u8>,
    offsets: Vec<BTreeMap<TopicPartition, Offset>>,
    producer: Option<ProducerName>,
}

/// What an operation led to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The answer that was given at once.
    pub answer: Option<Answer>,
    /// The error that was given at once.
    pub error: Option<KafkaError>,
    /// Earlier requests that were answered now.
    pub completes: BTreeMap<MessageName, Completion>,
    /// The rows that it went through.
    pub trail: Trail,
}

type Decision = Result<Option<Answer>, KafkaError>;

fn unsupported(what: &str) -> String {
    format!("the model has no {what}")
}

impl Interpreter {
    /// An empty coordinator. `mixed` says whether brokers of several releases take part.
    pub fn new(configure: &Configure, rules: FencingRules, mutant: Mutant, mixed: bool) -> Result<Self, String> {
        let mut topics = Topics { t: 0, u: 0 };
        for (name, count) in &configure.topics {
            let count = u8::try_from(*count).map_err(|_| unsupported("topic of that size"))?;
            match name.as_str() {
                "t" => topics.t = count,
                "u" => topics.u = count,
                _ => return Err(unsupported("topic but t and u")),
            }
        }
        if topics.count() > 4 {
            return Err(unsupported("more than four partitions"));
        }
        let bounds = Bounds {
            topics,
            members: 4,
            interval: configure.assignment_interval_ms.is_some(),
            max_size: configure.max_size.map_or(0, |size| u8::try_from(size).unwrap_or(u8::MAX)),
            other: mixed.then_some(rules.release),
            ..Bounds::BASE
        };
        let coordinator = Coordinator::empty();
        let held = (configure.replication == Some(Replication::Held)).then(|| Held::new(&coordinator));
        Ok(Self {
            setting: Setting { rules, mutant, bounds },
            rules,
            coordinator,
            held_configured: held.is_some(),
            held,
            waiting: Vec::new(),
            members: Vec::new(),
            instances: Vec::new(),
            holders: BTreeMap::new(),
            replaced: BTreeSet::new(),
            offsets: Vec::new(),
            producer: None,
        })
    }

    /// The coordinator.
    #[must_use]
    pub fn coordinator(&self) -> &Coordinator {
        &self.coordinator
    }

    /// Whether the broker keeps assignment epochs, so that they can be observed (3.7). What can be observed is settled
    /// with the first broker of a trace.
    #[must_use]
    pub fn shows_assignment_epochs(&self) -> bool {
        self.setting.rules.release >= Release::V4_3
    }

    fn slot(&self, member: &MemberName) -> u8 {
        if member.as_str().is_empty() {
            return NO_MEMBER;
        }
        let at = self.members.iter().position(|name| name == member);
        at.and_then(|at| u8::try_from(at).ok()).unwrap_or(STRANGER)
    }

    fn slot_or_new(&mut self, member: &MemberName) -> Result<u8, String> {
        if self.slot(member) == STRANGER {
            if self.members.len() == MAX_SLOTS {
                return Err(unsupported("more than four members"));
            }
            self.members.push(member.clone());
        }
        Ok(self.slot(member))
    }

    fn partitions<'a>(&self, names: impl IntoIterator<Item = &'a TopicPartition>) -> Result<Partitions, String> {
        let mut set = Partitions::NONE;
        for name in names {
            let index = self.setting.bounds.topics.index(name).ok_or_else(|| unsupported("such partition"))?;
            set = set | Partitions::one(index);
        }
        Ok(set)
    }

    fn names(&self, set: Partitions) -> BTreeSet<TopicPartition> {
        set.iter().map(|index| self.setting.bounds.topics.name(index)).collect()
    }

    fn instance(&mut self, name: Option<&str>) -> u8 {
        let Some(name) = name else { return 0 };
        let at = self.instances.iter().position(|known| known == name).unwrap_or_else(|| {
            self.instances.push(name.to_owned());
            self.instances.len() - 1
        });
        u8::try_from(at + 1).unwrap_or(u8::MAX)
    }

    /// Runs one operation. The error says what the model can't express.
    pub fn apply(&mut self, operation: &Operation) -> Result<Reply, String> {
        let mut reply = Reply::default();
        let (id, decision) = match operation {
            Operation::Target(target) => {
                let mut script = [Partitions::NONE; MAX_SLOTS];
                for (member, partitions) in target {
                    let slot = self.slot_or_new(member)?;
                    script[usize::from(slot)] = self.partitions(partitions)?;
                }
                self.coordinator.script = script;
                self.coordinator.script_version = self.coordinator.script_version.wrapping_add(1);
                return Ok(reply);
            }
            Operation::Heartbeat(heartbeat) => (&heartbeat.id, self.heartbeat(heartbeat, &mut reply.trail)?),
            Operation::Leave(leave) => (&leave.id, self.leave(leave, &mut reply.trail)),
            Operation::Commit(commit) => (&commit.id, self.commit(commit, &mut reply.trail)?),
            Operation::TxnCommit(commit) => (&commit.id, self.txn_commit(commit, &mut reply.trail)?),
            Operation::EndTransaction(end) => {
                let commit = end.result == TransactionResult::Commit;
                if self.producer.as_ref() == Some(&end.producer) {
                    self.coordinator.end_transaction(&self.setting, commit, &mut reply.trail);
                }
                (&end.id, Ok(None))
            }
            Operation::Fetch(fetch) => {
                let decision = self.fetch(fetch, &mut reply.trail)?;
                if !fetch.require_stable {
                    match decision {
                        Ok(answer) => reply.answer = answer,
                        Err(error) => reply.error = Some(error),
                    }
                    return Ok(reply);
                }
                (&fetch.id, decision)
            }
            Operation::Expire(Expire { timer: Timer::OffsetsRetention, .. }) => {
                return Err(unsupported("retention of offsets"));
            }
            Operation::Expire(expire) => {
                self.expire(expire, &mut reply.trail);
                return Ok(reply);
            }
            Operation::Replicate(replicate) => {
                if replicate.through.is_some() {
                    return Err(unsupported("high watermark within what is held"));
                }
                if let Some(held) = &mut self.held {
                    self.coordinator.replicate(held, &mut reply.trail);
                    reply.completes = self.waiting.drain(..).collect();
                }
                return Ok(reply);
            }
            Operation::FailOver(fail_over) => {
                if let Some(variant) = &fail_over.variant {
                    let rules = catalogue::rules(variant).ok_or_else(|| unsupported("such variant"))?;
                    self.rules = FencingRules { client: self.rules.client, ..rules };
                }
                let mut held = self.held.take().unwrap_or_else(|| Held::new(&self.coordinator));
                self.coordinator.take_over(&self.setting, &self.rules, &mut held, &mut reply.trail);
                let failed = Completion { answer: None, error: Some(KafkaError::NotCoordinator) };
                reply.completes = self.waiting.drain(..).map(|(id, _)| (id, failed.clone())).collect();
                if self.held_configured {
                    self.held = Some(held);
                }
                return Ok(reply);
            }
            Operation::Topics(_) => return Err(unsupported("change of topics")),
            Operation::JoinGroup(_) | Operation::SyncGroup(_) | Operation::ClassicHeartbeat(_) => {
                return Err(unsupported("classic member"));
            }
        };
        match decision {
            Err(error) => reply.error = Some(error),
            Ok(answer) => {
                let early = self.setting.mutant == Mutant::AnswersEarly && matches!(operation, Operation::Commit(_));
                let waits =
                    !early && self.held.as_ref().is_some_and(|held| self.coordinator.persisted() != held.replicated);
                match (waits, id) {
                    (true, Some(id)) => self.waiting.push((id.clone(), Completion { answer, error: None })),
                    _ => reply.answer = answer.or_else(|| Some(Answer::default())),
                }
            }
        }
        Ok(reply)
    }

    fn heartbeat(&mut self, heartbeat: &Heartbeat, trail: &mut Trail) -> Result<Decision, String> {
        let Heartbeat { member, epoch, owned, instance, topics, rebalance_timeout_ms, .. } = heartbeat;
        let Ok(epoch) = i8::try_from(epoch.0) else { return Err(unsupported("such epoch")) };
        let joins = epoch == 0;
        if joins && *rebalance_timeout_ms == Some(-1) {
            return Ok(Err(KafkaError::InvalidRequest));
        }
        let all = self.setting.bounds.topics.all();
        let topics = match topics {
            Some(names) => Some(names.iter().fold(0, |set, name| {
                set | match name.as_str() {
                    "t" => TOPIC_T,
                    "u" => TOPIC_U,
                    _ => 0,
                }
            })),
            None => joins.then_some(all),
        };
        let owned = owned.as_ref().map(|owned| self.partitions(owned)).transpose()?;
        let instance = self.instance(instance.as_ref().map(fencepost_fixtures::names::InstanceName::as_str));
        let slot = if joins { self.slot_or_new(member)? } else { self.slot(member) };
        let full =
            rebalance_timeout_ms.is_some_and(|timeout| timeout != -1) && heartbeat.topics.is_some() && owned.is_some();
        let request = HeartbeatRequest { slot, epoch, owned, topics, full, instance };
        let decision = self.coordinator.heartbeat(&self.setting, &self.rules, &request, trail);
        if joins && instance != 0 && decision.is_ok() {
            let before = self.holders.insert(instance, slot).filter(|before| *before != slot);
            self.replaced.extend(before);
        }
        Ok(decision.map(|answer| {
            Some(Answer {
                epoch: Some(Epoch(i32::from(answer.epoch))),
                assigned: Some(answer.assigned.map(|set| self.names(set))),
                ..Answer::default()
            })
        }))
    }

    fn leave(&mut self, leave: &Leave, trail: &mut Trail) -> Decision {
        let epoch = i8::try_from(leave.epoch.0).unwrap_or(i8::MIN);
        let instance = self.instance(leave.instance.as_ref().map(fencepost_fixtures::names::InstanceName::as_str));
        let slot = self.slot(&leave.member);
        let epoch = self.coordinator.leave(&self.setting, &self.rules, slot, epoch, instance, trail)?;
        Ok(Some(Answer { epoch: Some(Epoch(i32::from(epoch))), ..Answer::default() }))
    }

    /// The request, its number, and the partitions whose metadata is too long.
    fn request(
        &mut self,
        member: &MemberName,
        epoch: Epoch,
        offsets: &BTreeMap<TopicPartition, Offset>,
    ) -> Result<(CommitRequest, u8, BTreeMap<TopicPartition, KafkaError>), String> {
        let Ok(epoch) = i8::try_from(epoch.0) else { return Err(unsupported("such epoch")) };
        let long = |offset: &Offset| offset.metadata_bytes > 4096;
        let refused: BTreeMap<_, _> = offsets
            .iter()
            .filter(|(_, offset)| long(offset))
            .map(|(partition, _)| (partition.clone(), KafkaError::OffsetMetadataTooLarge))
            .collect();
        let kept: BTreeMap<_, _> =
            offsets.iter().filter(|(_, offset)| !long(offset)).map(|(p, offset)| (p.clone(), offset.clone())).collect();
        let partitions = self.partitions(kept.keys())?;
        self.offsets.push(kept);
        let id = u8::try_from(self.offsets.len()).map_err(|_| unsupported("so many commits"))?;
        let request = CommitRequest {
            slot: self.slot(member),
            epoch,
            partitions,
            transactional: false,
            version: None,
            instance: false,
        };
        Ok((request, id, refused))
    }

    fn commit(&mut self, commit: &Commit, trail: &mut Trail) -> Result<Decision, String> {
        let Commit { member, epoch, offsets, instance, version, .. } = commit;
        let (request, id, refused) = self.request(member, *epoch, offsets)?;
        let request = CommitRequest { version: *version, instance: instance.is_some(), ..request };
        // Which ids are one static member's, the model's coordinator knows by their numbers, which are others here.
        let slips = self.setting.mutant == Mutant::ReplacedAccepted && self.replaced.contains(&request.slot);
        let mutant = if slips { Mutant::UnknownAccepted } else { self.setting.mutant };
        let setting = Setting { mutant, ..self.setting };
        let decision = self.coordinator.commit(&setting, &self.rules, &request, id, trail);
        Ok(decision
            .map(|()| Some(Answer { committed: Some(self.names(request.partitions)), refused, ..Answer::default() })))
    }

    fn txn_commit(&mut self, commit: &TxnCommit, trail: &mut Trail) -> Result<Decision, String> {
        let TxnCommit { producer, member, epoch, offsets, instance, version, .. } = commit;
        if self.producer.get_or_insert_with(|| producer.clone()) != producer {
            return Err(unsupported("second producer"));
        }
        let (request, id, refused) = self.request(member, *epoch, offsets)?;
        let request = CommitRequest { transactional: true, version: *version, instance: instance.is_some(), ..request };
        let decision = self.coordinator.stage(&self.setting, &self.rules, &request, id, trail);
        Ok(decision
            .map(|()| Some(Answer { staged: Some(self.names(request.partitions)), refused, ..Answer::default() })))
    }

    fn fetch(&mut self, fetch: &Fetch, trail: &mut Trail) -> Result<Decision, String> {
        let epoch = i8::try_from(fetch.epoch.0).unwrap_or(i8::MIN);
        let slot = fetch.member.as_ref().map_or(NO_MEMBER, |member| self.slot(member));
        // What is not stable is read at the high watermark, the membership too.
        let replicated = match (&self.held, fetch.require_stable) {
            (Some(held), false) => Some(held.replicated),
            _ => None,
        };
        let view = replicated.unwrap_or(self.coordinator);
        if let Err(error) = view.check_fetch(&self.setting, slot, epoch, trail) {
            return Ok(Err(error));
        }
        let mut answer = Answer { offsets: Some(BTreeMap::new()), ..Answer::default() };
        for name in &fetch.partitions {
            let index = self.setting.bounds.topics.index(name).ok_or_else(|| unsupported("such partition"))?;
            match view.read(&self.setting, index, fetch.require_stable, trail) {
                Ok(id) => {
                    let offset = self.offset(id, name);
                    answer.offsets.get_or_insert_default().insert(name.clone(), offset);
                }
                Err(error) => {
                    answer.refused.insert(name.clone(), error);
                }
            }
        }
        Ok(Ok(Some(answer)))
    }

    fn offset(&self, id: u8, partition: &TopicPartition) -> Option<Offset> {
        let number = usize::from(id).checked_sub(1)?;
        self.offsets.get(number)?.get(partition).cloned()
    }

    fn expire(&mut self, expire: &Expire, trail: &mut Trail) {
        let slot = expire.member.as_ref().map_or(STRANGER, |member| self.slot(member));
        let exists = usize::from(slot) < MAX_SLOTS && self.coordinator.member(slot).exists();
        match expire.timer {
            Timer::AssignmentInterval if self.coordinator.interval_runs => {
                self.coordinator.expire_interval(trail);
            }
            Timer::Session if exists && self.coordinator.member(slot).timed => {
                self.coordinator.expire_session(&self.setting, &self.rules, slot, trail);
            }
            Timer::Rebalance if exists && self.coordinator.member(slot).armed != 0 => {
                self.coordinator.expire_rebalance(&self.setting, &self.rules, slot, trail);
            }
            _ => {}
        }
    }

    /// The model's own member, if it was ever named.
    #[must_use]
    pub fn named(&self, name: &MemberName) -> Option<&Member> {
        self.coordinator.members.get(usize::from(self.slot(name)))
    }

    /// The member as it can be observed; `None` where it is not in the group.
    #[must_use]
    pub fn member(&self, name: &MemberName) -> Option<MemberState> {
        let slot = usize::from(self.slot(name));
        let member = self.coordinator.members.get(slot).filter(|member| member.exists())?;
        let since = |set: Partitions| {
            set.iter()
                .map(|partition| {
                    let since = member.since[usize::from(partition)];
                    let since = if since == MISSING { 0 } else { since };
                    (self.setting.bounds.topics.name(partition), Epoch(i32::from(since)))
                })
                .collect()
        };
        Some(MemberState {
            epoch: Epoch(i32::from(member.epoch)),
            state: match member.phase {
                Phase::Stable => MemberPhase::Stable,
                Phase::Unrevoked => MemberPhase::Unrevoked,
                Phase::Unreleased => MemberPhase::Unreleased,
            },
            assigned: since(member.assigned),
            pending_revocation: since(member.pending),
        })
    }

    /// The group as it can be observed; `None` where there is none.
    #[must_use]
    pub fn group(&self) -> Option<GroupState> {
        let coordinator = &self.coordinator;
        let settled = |member: &Member| member.phase == Phase::Stable && member.epoch == coordinator.assignment_epoch;
        let state = if coordinator.is_empty() {
            GroupPhase::Empty
        } else if coordinator.group_epoch > coordinator.assignment_epoch {
            GroupPhase::Assigning
        } else if coordinator.members.iter().any(|member| member.epoch != ABSENT && !settled(member)) {
            GroupPhase::Reconciling
        } else {
            GroupPhase::Stable
        };
        coordinator.group_exists().then(|| GroupState {
            epoch: Epoch(i32::from(coordinator.group_epoch)),
            assignment_epoch: Epoch(i32::from(coordinator.assignment_epoch)),
            state,
        })
    }

    /// Everything that can be observed: all members that were ever named, the group, the offsets.
    #[must_use]
    pub fn observe(&self) -> State {
        let topics = self.setting.bounds.topics;
        let offsets = |ids: &[u8]| -> BTreeMap<_, _> {
            (0..topics.count())
                .map(|index| topics.name(index))
                .zip(ids)
                .filter_map(|(name, id)| Some((name.clone(), self.offset(*id, &name)?)))
                .collect()
        };
        let mut staged = BTreeMap::new();
        let waiting = offsets(&self.coordinator.staged);
        if let (Some(producer), false) = (&self.producer, waiting.is_empty()) {
            staged.insert(producer.clone(), waiting);
        }
        State {
            group: self.group(),
            offsets: Some(offsets(&self.coordinator.committed)),
            staged: Some(staged),
            members: self.members.iter().map(|name| (name.clone(), self.member(name))).collect(),
        }
    }
}
