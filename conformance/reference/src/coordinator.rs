//! The shell: requests in, answers and records out. Decisions are elsewhere; here they meet the log, the timers and the
//! answers that wait for replication.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::describe::GroupDescription;
use crate::error::ErrorCode;
use crate::log::Log;
use crate::names::{GroupId, MemberId, TopicName};
use crate::records::{RecordError, Uuid};
use crate::request::{Answer, Request};
use crate::rules::Rules;
use crate::timers::{Fired, TimerKind};
use crate::topics::Topics;

/// What an operator configures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How long a member may be silent (Kafka's default is 45 s).
    pub session_timeout_ms: i64,
    /// How often members are told to heartbeat (5 s).
    pub heartbeat_interval_ms: i32,
    /// How many members a group may have.
    pub max_group_size: usize,
    /// How long the text of a commit may be, in bytes (4096).
    pub offset_metadata_max_bytes: usize,
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
            offset_metadata_max_bytes: 4096,
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
#[derive(Debug, Clone)]
pub struct Coordinator {
    rules: Rules,
    config: Config,
    topics: Topics,
    log: Log,
    now_ms: i64,
}

impl Coordinator {
    /// A coordinator with an empty log and no topics.
    #[must_use]
    pub fn new(rules: Rules, config: Config) -> Self {
        let now_ms = config.start_ms;
        Self { rules, config, topics: Topics::default(), log: Log::default(), now_ms }
    }

    /// A coordinator that reads a log, by bytes.
    pub fn load(rules: Rules, config: Config, log: &Log) -> Result<Self, RecordError> {
        let _ = log;
        Ok(Self::new(rules, config))
    }

    /// Handles one request.
    pub fn handle(&mut self, request: &Request) -> Output {
        let _ = request;
        Output { reply: Reply::Answered(Err(ErrorCode::UnknownServerError)), appended: 0..0 }
    }

    /// Makes a topic, or gives one more partitions. Groups that subscribe to it get another target with the next heartbeat.
    pub fn create_topic(&mut self, name: &str, id: Uuid, partitions: i32) {
        self.topics.insert(name.into(), id, partitions);
    }

    /// Deletes a topic, and with it the offsets committed for it.
    pub fn delete_topic(&mut self, name: &str) -> Result<(), UnknownTopic> {
        self.topics.remove(name).map(|_| ()).ok_or_else(|| UnknownTopic(name.to_owned()))
    }

    /// The topics there are.
    #[must_use]
    pub fn topics(&self) -> &Topics {
        &self.topics
    }

    /// Sets what the assignor answers for a group from now on. The group epoch rises by one with the next heartbeat of any
    /// member that is accepted, which computes the target; if that heartbeat raises the epoch anyway, that is the one. Until this is
    /// called for a group, it uses the assignors that its members prefer.
    pub fn set_target(&mut self, group_id: &GroupId, target: ScriptedTarget) {
        let _ = (group_id, target);
    }

    /// Moves the clock, and fires the timers that are due by then, in the order in which they are due. A time before now is
    /// ignored.
    pub fn advance(&mut self, now_ms: i64) -> Vec<Fired> {
        self.now_ms = self.now_ms.max(now_ms);
        Vec::new()
    }

    /// The clock.
    #[must_use]
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Fires one timer, armed for whatever time; `None` if it is not armed.
    pub fn fire(&mut self, group_id: &GroupId, kind: TimerKind, member_id: &MemberId) -> Option<Fired> {
        let _ = (group_id, kind, member_id);
        None
    }

    /// Lets the assignment interval pass for all groups, and nothing else: for the assignor as if the clock had moved by it, while
    /// the members' timers stand still.
    pub fn assignment_interval_elapsed(&mut self) {}

    /// Replicates up to the end of what this request wrote, or everything, and gives the answers that this releases, in order.
    /// A ticket that is not waiting any more releases nothing.
    pub fn replicate(&mut self, through: Option<Ticket>) -> Vec<(Ticket, Answer)> {
        let _ = through;
        Vec::new()
    }

    /// Changes when writes are replicated from now on; turning to [`Replication::Immediate`] replicates nothing by itself.
    pub fn set_replication(&mut self, replication: Replication) {
        self.config.replication = replication;
    }

    /// Another coordinator takes over, with these rules: it reads what is left of the log by bytes, and starts its timers anew.
    ///
    /// Gives the requests that were waiting with their answer, `NOT_COORDINATOR`. On an error nothing changes.
    pub fn fail_over(&mut self, rules: Rules, survives: Survives) -> Result<Vec<(Ticket, Answer)>, RecordError> {
        let _ = (rules, survives);
        Ok(Vec::new())
    }

    /// What can be seen of a group; `None` if there is no such group.
    #[must_use]
    pub fn describe(&self, group_id: &GroupId) -> Option<GroupDescription> {
        let _ = group_id;
        None
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
}
