//! The shell: requests in, answers and records out. Decisions are elsewhere; here they meet the log, the timers and the
//! answers that wait for replication.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::coordinator::classic;
use crate::coordinator::draft::{Accepted, Context, Draft, TimerAction};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::heartbeat;
use crate::coordinator::leave;
use crate::coordinator::log::{Entry, Log, Producer};
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, GroupId, MemberId, TopicName};
use crate::coordinator::offset_commit::{self, Commit, CommitContext};
use crate::coordinator::offset_fetch;
use crate::coordinator::records::Uuid;
use crate::coordinator::request::{
    Answer, EndTxnRequest, HeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest, Request, Response,
    TxnOffsetCommitRequest,
};
use crate::coordinator::rules::Rules;
use crate::coordinator::state::State;
use crate::coordinator::timers::{TimerKey, Timers};
use crate::coordinator::topics::Topics;
use crate::coordinator::validation::validate;

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How long a member may be silent (Kafka's default is 45 s).
    pub session_timeout_ms: i64,
    /// How often members are told to heartbeat (5 s).
    pub heartbeat_interval_ms: i32,
    /// How many members a group may have.
    pub max_group_size: usize,
    /// How long the text of a commit may be, in UTF-16 units as Java counts (4096).
    pub offset_metadata_max_size: usize,
    /// How long offsets of a group without members are kept (7 days).
    pub offsets_retention_ms: i64,
    /// The least time between two targets of a group (KIP-1263, Kafka 4.3: 1 s); `None` for no wait.
    pub assignment_interval_ms: Option<i64>,
    /// The time at the start. Not 0, which stands for "no target yet" in a target's time.
    pub start_ms: i64,
    /// Whether writes are replicated at once.
    pub replication: Replication,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            session_timeout_ms: 45_000,
            heartbeat_interval_ms: 5_000,
            max_group_size: usize::MAX,
            offset_metadata_max_size: 4096,
            offsets_retention_ms: 7 * 24 * 3600 * 1000,
            assignment_interval_ms: None,
            start_ms: 1,
            replication: Replication::Immediate,
        }
    }
}

/// When the high watermark passes what is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Replication {
    /// At once: each request is answered at once.
    #[default]
    Immediate,
    /// When [`Coordinator::replicate`] says so.
    Held,
}

/// A request whose answer waits for replication.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What came of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The answer, or a ticket for it.
    pub reply: Reply,
    /// The offsets of the entries that were written; see [`Log::range`].
    pub appended: Range<u64>,
}

/// Answered now, or later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// The answer. An error always comes like this: it waits for nothing.
    Answered(Answer),
    /// The answer comes from [`Coordinator::replicate`] or [`Coordinator::fail_over`].
    Waits(Ticket),
}

/// Whether the coordinator serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// It does.
    Active,
    /// It reads its log: `COORDINATOR_LOAD_IN_PROGRESS`.
    Loading,
    /// Another broker leads the log by now: `NOT_COORDINATOR`.
    Resigned,
    /// It does not run: `COORDINATOR_NOT_AVAILABLE`.
    Inactive,
}

impl Activity {
    fn refusal(self) -> Result<(), ErrorCode> {
        match self {
            Self::Active => Ok(()),
            Self::Loading => Err(ErrorCode::CoordinatorLoadInProgress),
            Self::Resigned => Err(ErrorCode::NotCoordinator),
            Self::Inactive => Err(ErrorCode::CoordinatorNotAvailable),
        }
    }
}

/// How much of the log a fail-over leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Survives {
    /// What is below the high watermark: all that is promised.
    HighWatermark,
    /// All of it: the next leader had it.
    All,
}

/// What the assignor will answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedTarget {
    /// This; a member that is not named gets nothing, and a topic that does not exist is left out.
    Assign(BTreeMap<MemberId, Vec<(TopicName, i32)>>),
    /// Nothing: it fails, and the heartbeat gets `UNKNOWN_SERVER_ERROR`.
    Fail,
}

/// There is no topic of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no topic {0}")]
pub struct UnknownTopic(
    /// The name.
    pub String,
);

/// The coordinator of the groups of one partition of `__consumer_offsets`.
///
/// What is durable is `state`, the fold of `log`. All else is lost with the coordinator, or is the world around it.
#[derive(Debug, Clone)]
pub struct Coordinator {
    pub(crate) rules: Rules,
    pub(crate) config: Config,
    pub(crate) log: Log,
    /// The fold of the log.
    pub(crate) state: State,
    /// The fold of the log below the high watermark, where that is not all of it.
    pub(crate) replicated: Option<State>,

    // Lost with the coordinator.
    pub(crate) activity: Activity,
    pub(crate) timers: Timers,
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) revocation_epochs: BTreeMap<(GroupId, MemberId), Epoch>,
    /// Which version of the world a group has looked at for its target.
    pub(crate) refreshed: BTreeMap<GroupId, u64>,
    /// The slip of KAFKA-17507: markers that are answered and not applied.
    pub(crate) late_markers: Vec<Entry>,
    /// The slip of 2.7: members that were replaced and commit all the same.
    pub(crate) replaced: BTreeSet<(GroupId, MemberId)>,
    /// The slip of 4.3: the high watermark before it rose last.
    pub(crate) earlier_high_watermark: u64,

    // The world around it.
    pub(crate) topics: Topics,
    pub(crate) scripts: BTreeMap<GroupId, (ScriptedTarget, u64)>,
    pub(crate) world_version: u64,
    pub(crate) now_ms: i64,
    pub(crate) assignor_ahead_ms: i64,
    pub(crate) next_ticket: u64,
}

/// An accepted request, until the high watermark passes what it wrote and what was written before it.
#[derive(Debug, Clone)]
pub(crate) struct Waiting {
    pub(crate) ticket: Ticket,
    pub(crate) position: u64,
    pub(crate) response: Response,
}

impl Coordinator {
    /// A coordinator with an empty log and no topics.
    #[must_use]
    pub fn new(rules: Rules, config: Config) -> Self {
        let now_ms = config.start_ms;
        Self {
            rules,
            config,
            log: Log::default(),
            state: State::default(),
            replicated: None,
            activity: Activity::Active,
            timers: Timers::default(),
            waiting: VecDeque::new(),
            revocation_epochs: BTreeMap::new(),
            refreshed: BTreeMap::new(),
            late_markers: Vec::new(),
            replaced: BTreeSet::new(),
            earlier_high_watermark: 0,
            topics: Topics::default(),
            scripts: BTreeMap::new(),
            world_version: 0,
            now_ms,
            assignor_ahead_ms: 0,
            next_ticket: 0,
        }
    }

    /// Handles one request. A request that is refused changes nothing.
    pub fn handle(&mut self, request: &Request) -> Output {
        if let Err(error) = self.activity.refusal() {
            return self.refuse(error);
        }
        let handled = match request {
            Request::Heartbeat(request) => self.heartbeat(request),
            Request::OffsetCommit(request) => self.offset_commit(request),
            Request::TxnOffsetCommit(request) => self.txn_offset_commit(request),
            Request::EndTxn(request) => self.end_txn(request),
            Request::OffsetFetch(request) => self.offset_fetch(request),
            Request::JoinGroup(request) if request.member_id.is_empty() => {
                self.classic(&request.group_id, ErrorCode::InconsistentGroupProtocol, |context, draft| {
                    classic::join(context, draft, request).map(Response::JoinGroup)
                })
            }
            Request::JoinGroup(request) => {
                self.classic(&request.group_id, ErrorCode::UnknownMemberId, |context, draft| {
                    classic::join(context, draft, request).map(Response::JoinGroup)
                })
            }
            Request::SyncGroup(request) => {
                self.classic(&request.group_id, ErrorCode::UnknownMemberId, |context, draft| {
                    classic::sync(context, draft, request).map(Response::SyncGroup)
                })
            }
            Request::ClassicHeartbeat(request) => {
                self.classic(&request.group_id, ErrorCode::UnknownMemberId, |context, draft| {
                    classic::heartbeat(context, draft, request).map(|()| Response::ClassicHeartbeat)
                })
            }
            Request::LeaveGroup(request) => {
                self.classic(&request.group_id, ErrorCode::UnknownMemberId, |context, draft| {
                    classic::leave_group(context, draft, request).map(Response::LeaveGroup)
                })
            }
        };
        handled.unwrap_or_else(|error| self.refuse(error))
    }

    fn refuse(&self, error: ErrorCode) -> Output {
        let end = self.log.end_offset();
        Output { reply: Reply::Answered(Err(error)), appended: end..end }
    }

    /// 2.1 and 2.2: what kind of heartbeat it is, and whether there is a group for it.
    fn heartbeat(&mut self, request: &HeartbeatRequest) -> Result<Output, ErrorCode> {
        validate(&self.rules, request)?;
        let group_id = &request.group_id;
        let context = self.context(group_id);
        let group = self.state.groups.get(group_id);
        if request.member_epoch < Epoch::JOIN {
            let mut draft = Draft::of(&self.rules, group.ok_or(ErrorCode::GroupIdNotFound)?);
            let response = leave::leave(&context, &mut draft, request)?;
            let accepted = draft.accept();
            return Ok(self.write_draft(group_id, accepted, Response::Heartbeat(response)));
        }
        let mut draft = match group {
            Some(group) => Draft::of(&self.rules, group),
            None if request.member_epoch == Epoch::JOIN => Draft::new_group(&self.rules, group_id.clone()),
            None => return Err(ErrorCode::GroupIdNotFound),
        };
        let member_id = if request.member_id.is_empty() {
            request.new_member_id.as_ref().filter(|id| !id.is_empty()).ok_or(ErrorCode::InvalidRequest)?
        } else {
            &request.member_id
        };
        let response = match heartbeat::heartbeat(&context, &mut draft, request, member_id) {
            Err(error) if self.rules.slips(Mutation::RefusalBumps) => {
                self.bump(group_id)?;
                return Err(error);
            }
            response => response?,
        };
        let accepted = draft.accept();
        self.refreshed.insert(group_id.clone(), self.world_version);
        Ok(self.write_draft(group_id, accepted, Response::Heartbeat(response)))
    }

    /// The slip of a refusal that changes something.
    fn bump(&mut self, group_id: &GroupId) -> Result<(), ErrorCode> {
        let Some(group) = self.state.groups.get(group_id) else { return Ok(()) };
        let mut draft = Draft::of(&self.rules, group);
        draft.group_metadata(group.group_epoch().next(), group.metadata_hash())?;
        let accepted = draft.accept();
        self.write_unasked(group_id, accepted);
        Ok(())
    }

    /// A request of a classic member; `missing` is what it gets if there is no CONSUMER group.
    fn classic(
        &mut self,
        group_id: &GroupId,
        missing: ErrorCode,
        decide: impl FnOnce(&Context<'_>, &mut Draft<'_>) -> Result<Response, ErrorCode>,
    ) -> Result<Output, ErrorCode> {
        let context = self.context(group_id);
        let mut draft = Draft::of(&self.rules, self.state.groups.get(group_id).ok_or(missing)?);
        let decided = decide(&context, &mut draft);
        let accepted = draft.accept();
        match decided {
            Ok(response) => {
                if matches!(response, Response::JoinGroup(_)) {
                    self.refreshed.insert(group_id.clone(), self.world_version);
                }
                Ok(self.write_draft(group_id, accepted, response))
            }
            Err(error) => {
                // The one error that is not a refusal: it keeps the session and waits for the join.
                if error == ErrorCode::RebalanceInProgress {
                    self.apply_timers(group_id, accepted.timers);
                }
                Err(error)
            }
        }
    }

    fn offset_commit(&mut self, request: &OffsetCommitRequest) -> Result<Output, ErrorCode> {
        let commit = Commit::from(request);
        let group_id = request.group_id.clone().unwrap_or_default();
        let decision = self.decide_commit(&group_id, &request.member_id, &commit)?;
        let response = Response::Commit(decision.response());
        for phantom in decision.phantoms {
            self.state.offsets.leave_phantom(&group_id, phantom);
        }
        let entries = decision.records.into_iter().map(|record| Entry::Record { record, producer: None }).collect();
        self.write_commit(entries, decision.refused, response)
    }

    fn txn_offset_commit(&mut self, request: &TxnOffsetCommitRequest) -> Result<Output, ErrorCode> {
        let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
        self.check_producer(producer)?;
        let commit = Commit::from(request);
        let decision = self.decide_commit(&request.group_id, &request.member_id, &commit)?;
        let response = Response::Commit(decision.response());
        let entries =
            decision.records.into_iter().map(|record| Entry::Record { record, producer: Some(producer) }).collect();
        let output = self.write_commit(entries, decision.refused, response)?;
        for marker in std::mem::take(&mut self.late_markers) {
            self.replay(self.log.end_offset(), &marker);
        }
        Ok(output)
    }

    /// Writes a commit that was accepted, or, with the slip of 3.2 row 6, what comes before the partition that failed.
    fn write_commit(
        &mut self,
        entries: Vec<Entry>,
        refused: Option<ErrorCode>,
        response: Response,
    ) -> Result<Output, ErrorCode> {
        match refused {
            None => Ok(self.write(entries, None, response)),
            Some(error) => {
                self.append(entries, None);
                Err(error)
            }
        }
    }

    fn decide_commit(
        &self,
        group_id: &GroupId,
        member_id: &MemberId,
        commit: &Commit<'_>,
    ) -> Result<offset_commit::CommitDecision, ErrorCode> {
        let context = CommitContext {
            rules: &self.rules,
            config: &self.config,
            topics: &self.topics,
            state: &self.state,
            now_ms: self.now_ms,
            revocation_epoch: self.revocation_epochs.get(&(group_id.clone(), member_id.clone())).copied(),
            replaced: self.replaced.contains(&(group_id.clone(), member_id.clone())),
        };
        offset_commit::commit(&context, commit)
    }

    /// The marker of a transaction. It is not fenced again; what it commits was fenced when it was added.
    fn end_txn(&mut self, request: &EndTxnRequest) -> Result<Output, ErrorCode> {
        let producer = Producer { id: request.producer_id, epoch: request.producer_epoch };
        self.check_producer(producer)?;
        let marker = Entry::Marker { producer, outcome: request.outcome };
        if self.rules.slips(Mutation::MarkerAppliedLate) {
            self.late_markers.push(marker);
            return Ok(self.write(Vec::new(), None, Response::EndTxn));
        }
        Ok(self.write(vec![marker], None, Response::EndTxn))
    }

    fn check_producer(&self, producer: Producer) -> Result<(), ErrorCode> {
        let fenced = self.log.producer_epoch(producer.id).is_some_and(|newest| producer.epoch < newest);
        if fenced && !self.rules.slips(Mutation::ProducerEpochNotChecked) {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        Ok(())
    }

    /// A stable fetch is a write without records: it reads the latest state and waits for what was written before.
    fn offset_fetch(&mut self, request: &OffsetFetchRequest) -> Result<Output, ErrorCode> {
        if request.require_stable {
            let response = offset_fetch::fetch(&self.rules, &self.state, request)?;
            return Ok(self.write(Vec::new(), None, Response::Fetch(response)));
        }
        let latest = self.rules.slips(Mutation::FetchReadsUnreplicated);
        let state = if latest { &self.state } else { self.replicated.as_ref().unwrap_or(&self.state) };
        let response = offset_fetch::fetch(&self.rules, state, request)?;
        let end = self.log.end_offset();
        Ok(Output { reply: Reply::Answered(Ok(Response::Fetch(response))), appended: end..end })
    }

    /// What a request on this group may read beside it.
    pub(crate) fn context(&self, group_id: &GroupId) -> Context<'_> {
        Context {
            rules: &self.rules,
            config: &self.config,
            topics: &self.topics,
            script: self.scripts.get(group_id).map(|(script, version)| (script, *version)),
            refresh: self.refreshed.get(group_id) != Some(&self.world_version),
            assignor_now_ms: self.now_ms.saturating_add(self.assignor_ahead_ms),
        }
    }

    /// Writes an accepted draft and starts its timers.
    pub(crate) fn write_draft(&mut self, group_id: &GroupId, accepted: Accepted, response: Response) -> Output {
        for (member_id, epoch) in accepted.revocation_epochs {
            self.revocation_epochs.insert((group_id.clone(), member_id), epoch);
        }
        for member_id in accepted.replaced {
            self.replaced.insert((group_id.clone(), member_id));
        }
        self.apply_timers(group_id, accepted.timers);
        let entries = accepted.records.into_iter().map(|record| Entry::Record { record, producer: None }).collect();
        self.write(entries, accepted.group, response)
    }

    /// Writes an accepted draft that nobody waits for.
    pub(crate) fn write_unasked(&mut self, group_id: &GroupId, accepted: Accepted) -> Range<u64> {
        self.apply_timers(group_id, accepted.timers);
        let entries = accepted.records.into_iter().map(|record| Entry::Record { record, producer: None }).collect();
        self.append(entries, accepted.group)
    }

    fn apply_timers(&mut self, group_id: &GroupId, actions: Vec<TimerAction>) {
        let now_ms = self.now_ms;
        let key = |member_id, kind| TimerKey { group_id: group_id.clone(), member_id, kind };
        for action in actions {
            match action {
                TimerAction::Arm { member_id, kind, delay_ms, epoch } => {
                    self.timers.arm(key(member_id, kind), now_ms.saturating_add(delay_ms), epoch);
                }
                TimerAction::ArmIfIdle { member_id, kind, delay_ms } => {
                    let key = key(member_id, kind);
                    if !self.timers.is_armed(&key) {
                        self.timers.arm(key, now_ms.saturating_add(delay_ms), None);
                    }
                }
                TimerAction::Cancel { member_id, kind } => self.timers.cancel(&key(member_id, kind)),
                TimerAction::CancelAll { member_id } => {
                    self.timers.cancel_member(group_id, &member_id);
                    self.revocation_epochs.remove(&(group_id.clone(), member_id));
                }
            }
        }
    }

    /// Makes a topic, or gives one more partitions. Groups that subscribe to it get another target with the next heartbeat.
    pub fn create_topic(&mut self, name: &str, id: Uuid, partitions: i32) {
        self.topics.insert(name.into(), id, partitions);
        self.world_version += 1;
    }

    /// Deletes a topic, and with it the offsets committed for it. Gives the offsets of the records written.
    pub fn delete_topic(&mut self, name: &str) -> Result<Range<u64>, UnknownTopic> {
        self.topics.remove(name).ok_or_else(|| UnknownTopic(name.to_owned()))?;
        self.world_version += 1;
        Ok(self.delete_offsets_of_topic(name))
    }

    /// The topics there are.
    #[must_use]
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// Sets what the assignor answers for a group from now on. The group epoch rises by one with the next heartbeat of any
    /// member that is accepted, which computes the target; if that heartbeat raises the epoch anyway, that is the one. Until this is
    /// called for a group, it uses the assignors that its members prefer.
    ///
    /// The script belongs to the world, as topics do: a coordinator that takes over has it, and if the rise of the group epoch was
    /// lost with the old one, the next heartbeat raises it again.
    pub fn set_target(&mut self, group_id: &GroupId, target: ScriptedTarget) {
        self.world_version += 1;
        let version = self.world_version;
        self.scripts.insert(group_id.clone(), (target, version));
    }

    /// Lets the assignment interval pass for all groups, and nothing else: for the assignor as if the clock had moved by it, while
    /// the members' timers stand still.
    pub fn assignment_interval_elapsed(&mut self) {
        let interval_ms = self.config.assignment_interval_ms.unwrap_or(0).max(0);
        self.assignor_ahead_ms = self.assignor_ahead_ms.saturating_add(interval_ms);
    }

    /// The clock.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The log.
    #[must_use]
    pub fn log(&self) -> &Log {
        &self.log
    }

    /// The rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }
}
