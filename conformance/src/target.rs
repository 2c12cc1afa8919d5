//! How a trace meets an implementation: the trait [`Target`], and what is said across it.
//!
//! Behind a target stands the reference in this process, an implementation in Rust in its own tests, or a driver: a
//! program that answers the same four questions as JSON lines (`docs/writing-a-driver.md`). A target is never told what
//! is expected; the replayer compares ([`crate::replayer`]).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_fixtures::trace::Vocabulary;
use fencepost_fixtures::{KafkaError, Protocol, TraceId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of what is said across a target, in *hello* and on a driver's wire. It changes when a driver that was
/// right would no longer be.
pub const PROTOCOL_VERSION: u32 = 0;

/// One implementation of one protocol.
///
/// The calls come in the order hello, then for each trace reset and its steps (or one call), then bye. A [`Fault`] is
/// for what is no answer of the protocol: it fails the trace and is reported as the target's own fault. An operation
/// that the target can't do is [`Answered::Skipped`].
pub trait Target<V: Vocabulary> {
    /// Who this is, and what can be seen of it.
    fn hello(&mut self) -> Result<Hello, Fault>;

    /// Makes an empty system, whatever was there before.
    fn reset(&mut self, reset: &Reset<'_, V>) -> Result<Ready, Fault>;

    /// Does one operation, or only observes.
    fn step(&mut self, input: &Input<'_, V>) -> Result<Reply<V>, Fault>;

    /// Makes one pure decision. Only for targets with the kind [`Kind::Function`].
    fn call(&mut self, question: &Question<'_, V>) -> Result<Decision<V>, Fault> {
        let _ = question;
        Ok(Decision::Skipped("this target has no functions to call".to_owned()))
    }

    /// No more will be asked. A fault here costs no trace.
    fn bye(&mut self) -> Result<(), Fault> {
        Ok(())
    }
}

/// What a target says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`], as the target understands it.
    pub protocol_version: u32,
    /// The implementation's name, as in `Apache Kafka`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocols that it has.
    pub protocols: BTreeSet<Protocol>,
    /// The variants that it can be set to by *reset*; none where it is what it is.
    #[serde(default)]
    pub variants: Vec<String>,
    /// The kinds of expectation that can be compared.
    pub kinds: BTreeSet<Kind>,
    /// What it can do beyond plain requests.
    #[serde(default)]
    pub features: BTreeSet<Feature>,
    /// What it can't show although it has the kind. Nothing that is named here is compared.
    #[serde(default)]
    pub unseen: BTreeSet<Unseen>,
    /// The member epoch of the first member of a new group. Traces are written as if it were 1.
    #[serde(default = "one")]
    pub first_epoch: i32,
}

fn one() -> i32 {
    1
}

impl Hello {
    /// The target as a report calls it, as in `Apache Kafka 4.4.0`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.name, self.version).trim().to_owned()
    }
}

/// A kind of expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `answer`, `error`, `completes`, `sends`, `refuse`: what a client or another broker sees.
    Wire,
    /// `start`, `state`: what stands in the implementation's memory.
    State,
    /// One pure decision.
    Function,
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Wire => "wire",
            Self::State => "state",
            Self::Function => "function",
        })
    }
}

macro_rules! features {
    ($($(#[$attribute:meta])* $name:ident = $text:literal,)*) => {
        /// Something that an implementation, or its driver, need not have. An operation that needs a feature which the
        /// target does not name is never sent to it: the trace is not compared from there on.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Feature {
            $($(#[$attribute])* #[serde(rename = $text)] $name,)*
        }

        impl Feature {
            /// Every feature.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name, as in *hello*.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

features! {
    /// The checks that stand before any state is read (docs/fencing.md 2.1, 3.1).
    RequestValidation = "request_validation",
    /// The assignor answers what `target` says.
    Targets = "targets",
    /// Timers fire by name.
    Timers = "timers",
    /// Writes wait until `replicate`; a fail-over loses what is above the high watermark.
    LaggingHighWatermark = "lagging_high_watermark",
    /// Members with an instance id.
    StaticMembers = "static_members",
    /// Members that speak the classic protocol.
    ClassicMembers = "classic_members",
    /// Transactional commits and markers.
    Transactions = "transactions",
    /// `assignment_interval_ms`, and its timer.
    AssignmentInterval = "assignment_interval",
    /// A broker of another version can take over.
    MixedVersions = "mixed_versions",
    /// Leader epochs of committed offsets.
    LeaderEpochs = "leader_epochs",
    /// Records as bytes.
    Bytes = "bytes",
    /// Topics grow, come and go.
    TopicsChange = "topics_change",
    /// `max_size`.
    MaxSize = "max_size",
    /// Offsets grow older than their retention (docs/fencing.md 4.4).
    OffsetsRetention = "offsets_retention",
    /// A log is loaded as compaction has left it.
    Logs = "logs",
    /// Partitions are shown with their assignment epochs. Without it, which partitions there are is compared.
    AssignmentEpochs = "assignment_epochs",
    /// A round of the cleaner stops between its steps.
    RoundsInSteps = "rounds_in_steps",
    /// The process can be stopped, and comes back, or dies between two operations.
    Restart = "restart",
    /// The process dies between two file operations of a swap.
    CrashInSwap = "crash_in_swap",
    /// There can be followers.
    Followers = "followers",
    /// A consumer looks up an offset by time.
    TimeLookUp = "time_look_up",
    /// `cleanup.policy` can be `delete`, and segments are deleted.
    SegmentDeletion = "segment_deletion",
    /// Producers are forgotten when they wrote nothing for long enough.
    ProducerExpiration = "producer_expiration",
    /// The controller can be driven, not the brokers alone.
    Controller = "controller",
    /// Several brokers at once. Without it a trace is replayed at one of them (`replay --at`).
    Cluster = "cluster",
    /// Power fails: what was not flushed is lost; the high watermark's checkpoint is as old as it was.
    PowerLoss = "power_loss",
    /// `leader-epoch-checkpoint` can be damaged while the broker is down.
    CheckpointDamage = "checkpoint_damage",
    /// The high watermark's checkpoint is written on demand.
    CheckpointOnDemand = "checkpoint_on_demand",
    /// A replica moves to another log directory.
    FutureReplica = "future_replica",
    /// Message formats before 0.11.
    OldMessageFormats = "old_message_formats",
    /// Truncations below the high watermark are shown.
    TruncationEffects = "truncation_effects",
    /// The brokers of a consumer's trace can be driven. Without it the consumer is driven alone, and the brokers say what
    /// the trace says.
    ConsumerBrokers = "consumer_brokers",
    /// Calls of a consumer that were proposed and not built (docs/consumers.md 7).
    ProposedCalls = "proposed_calls",
    /// A parked request's wait time, or a produce request's, runs out on demand.
    RequestTimeouts = "request_timeouts",
}

impl fmt::Display for Feature {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A part of the state that a target can't show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unseen {
    /// The assignment epoch of each partition. Which partitions there are is compared.
    AssignmentEpochs,
    /// Whether a member is stable, unrevoked or unreleased.
    MemberStates,
    /// The group as a whole.
    Group,
    /// The committed offsets.
    Offsets,
    /// The offsets that wait for the end of a transaction.
    Staged,
    /// The base offsets of the segments.
    Segments,
    /// The entries of the transaction indexes.
    TransactionIndex,
    /// What the log knows of producers.
    Producers,
    /// The cleaner's checkpoint.
    FirstDirty,
    /// The last stable offset.
    LastStable,
    /// The epoch cache.
    Epochs,
    /// What a leader knows of the followers.
    Remote,
    /// The in-sync replicas that a leader has proposed.
    PendingIsr,
    /// Whether a fetcher has given the partition up.
    Failed,
}

/// What *reset* is given.
#[derive(Debug)]
pub struct Reset<'a, V: Vocabulary> {
    /// The trace that follows.
    pub trace: &'a TraceId,
    /// What the empty system is made of.
    pub configure: &'a V::Configure,
    /// What the target is set to.
    pub settings: Settings<'a>,
}

/// What a target is set to for a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings<'a> {
    /// The variant to be set to; only where *hello* lists variants.
    pub variant: Option<&'a str>,
    /// The slip to make: one that the trace was recorded with, or one that a test makes. What can't make it goes on as it
    /// is.
    pub slip: Option<&'a str>,
    /// The only broker that steps will go to. The setup still goes to all of them, and messages come from all.
    pub only: Option<&'a BrokerName>,
}

/// Whether a reset worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ready {
    /// The system is empty.
    Ok(Prepared),
    /// The target has no such system; the trace is not compared.
    Skipped(String),
}

/// What is special about a system that was reset, where it depends on the variant. Usually nothing: what *hello* said
/// holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    /// The first member epoch, if not that of *hello*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_epoch: Option<i32>,
    /// What can't be shown beyond what *hello* named.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub unseen: BTreeSet<Unseen>,
}

/// Where in a trace something is: a setup operation, a step, or a refusal of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The step, from 1; 0 is the setup, and `start` after it.
    pub step: usize,
    /// Within the setup the operation, within a step the refusal, from 1.
    pub within: Option<usize>,
}

impl Place {
    /// The state after the setup.
    pub const START: Self = Self { step: 0, within: None };

    /// Step `step`.
    #[must_use]
    pub fn step(step: usize) -> Self {
        Self { step, within: None }
    }

    /// The setup operation, or the refusal, number `within` (from 1) of `step`.
    #[must_use]
    pub fn within(step: usize, within: usize) -> Self {
        Self { step, within: Some(within) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.step, self.within) {
            (0, None) => formatter.write_str("start"),
            (0, Some(operation)) => write!(formatter, "operation {operation} of the setup"),
            (step, None) => write!(formatter, "step {step}"),
            (step, Some(refusal)) => write!(formatter, "step {step}, refusal {refusal}"),
        }
    }
}

impl Serialize for Place {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.within {
            None => [self.step].serialize(serializer),
            Some(within) => [self.step, within].serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Vec::<usize>::deserialize(deserializer)?.as_slice() {
            [step] => Ok(Self::step(*step)),
            [step, within] => Ok(Self::within(*step, *within)),
            _ => Err(serde::de::Error::custom("a place is [step] or [step, refusal]")),
        }
    }
}

impl JsonSchema for Place {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Place".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "[n] is step n (0: after the setup), [0, k] the k-th setup operation, [n, r] the r-th refusal of step n.",
            "type": "array",
            "items": { "type": "integer", "minimum": 0 },
            "minItems": 1,
            "maxItems": 2
        })
    }
}

/// What is to be done.
#[derive(Debug)]
pub enum Action<'a, V: Vocabulary> {
    /// An operation of the setup.
    Setup(&'a V::Setup),
    /// The operation of a step or of a refusal.
    Operation(&'a V::Operation),
    /// Nothing: the state is read again.
    Observe,
}

/// What *step* is given.
#[derive(Debug)]
pub struct Input<'a, V: Vocabulary> {
    /// The trace.
    pub trace: &'a TraceId,
    /// Where in it.
    pub at: Place,
    /// The broker, in protocols that have several.
    pub broker: Option<&'a BrokerName>,
    /// What is to be done.
    pub action: Action<'a, V>,
    /// The message that a `deliver` or a `fail` is about.
    pub message: Option<Delivery<'a, V>>,
    /// Whether the whole state is asked for afterwards.
    pub observe: bool,
}

/// A message that arrives, or that its sender gives up.
#[derive(Debug)]
pub struct Delivery<'a, V: Vocabulary> {
    /// Who sent it.
    pub from: &'a BrokerName,
    /// What the target called it when it sent it; none where it comes from a place that is not driven.
    pub label: Option<&'a MessageName>,
    /// Of an answer: what the target called the request when it sent it.
    pub reply_to: Option<&'a MessageName>,
    /// The message, as it stands in the trace. What the target sent was equal to it.
    pub content: &'a V::Message,
}

/// What a step did.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply<V: Vocabulary> {
    /// What was answered at once.
    pub answered: Answered<V>,
    /// The messages sent, by names of the target's own, which no two messages of a trace share.
    pub sends: BTreeMap<MessageName, V::Message>,
    /// Earlier requests that were answered now.
    pub completes: BTreeMap<MessageName, V::Completion>,
    /// The whole state afterwards, where it was asked for and can be seen.
    pub state: Option<V::State>,
}

impl<V: Vocabulary> Reply<V> {
    /// A reply that answers `answered` and nothing else.
    #[must_use]
    pub fn new(answered: Answered<V>) -> Self {
        Self { answered, sends: BTreeMap::new(), completes: BTreeMap::new(), state: None }
    }
}

/// What was answered at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered<V: Vocabulary> {
    /// Nothing: the operation has no answer, or its answer comes later.
    Nothing,
    /// The answer.
    Answer(V::Answer),
    /// An error, by Kafka's name; also one that no trace expects.
    Error(String),
    /// The target can't do this, and did not.
    Skipped(String),
}

impl<V: Vocabulary> From<KafkaError> for Answered<V> {
    fn from(error: KafkaError) -> Self {
        Self::Error(error.name().to_owned())
    }
}

/// What *call* is given.
#[derive(Debug)]
pub struct Question<'a, V: Vocabulary> {
    /// The trace.
    pub trace: &'a TraceId,
    /// What the decision rests on.
    pub given: &'a V::Given,
    /// The decision asked for.
    pub call: &'a V::Call,
    /// What the target is set to.
    pub settings: Settings<'a>,
}

/// What a pure decision was.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision<V: Vocabulary> {
    /// The outcome.
    Outcome(V::Outcome),
    /// An error, by Kafka's name.
    Error(String),
    /// The target has no such function.
    Skipped(String),
}

/// Why there is no answer: the target's fault, not the protocol's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// What kind of fault.
    pub kind: FaultKind,
    /// What happened, in a sentence for whoever writes the target.
    pub message: String,
    /// The end of what the target wrote to standard error.
    pub standard_error: String,
}

impl Fault {
    /// The target says itself that it is broken, with the context that it gives.
    #[must_use]
    pub fn broken(context: impl Into<String>) -> Self {
        Self::new(FaultKind::Broken, context)
    }

    /// A fault without standard error.
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), standard_error: String::new() }
    }
}

/// The kinds of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FaultKind {
    /// The target said so itself.
    Broken,
    /// The driver could not be started.
    NotStarted,
    /// No answer in time.
    TimedOut,
    /// The driver ended.
    Died,
    /// What came was no answer of the protocol.
    Garbage,
    /// The answer was to another question.
    WrongStep,
    /// The run was interrupted; nobody's fault.
    Interrupted,
}
