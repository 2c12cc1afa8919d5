//! The reference coordinator as a target, in this process: set to any variant, and, for tests, to one slip.
//!
//! Nothing is decided here. Words of the fixtures become requests of the reference (`requests`), and its answers and
//! descriptions become words again (`answers`); its pure decisions are called as function traces ask (`functions`).

mod answers;
mod functions;
mod requests;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::Protocol;
use fencepost_fixtures::fencing::{Completion, Fencing, Operation, Replication, State};
use fencepost_fixtures::names::{MessageName, TopicName};
use fencepost_fixtures::variants::{self, CommitCheck, FencingRules, Release, UnrevokedExit};
use fencepost_reference::coordinator as reference;
use fencepost_reference::coordinator::records::Uuid;
use fencepost_reference::coordinator::{Coordinator, Mutation, Rules, Survives, Ticket};

use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, PROTOCOL_VERSION, Prepared, Question, Ready, Reply,
    Reset, Settings, Target, Unseen,
};

/// The group of every trace.
const GROUP: &str = "g";

/// The name of an answer to a request that the trace did not name.
const UNNAMED: &str = "unnamed";

/// The variant that the reference is where nothing else is said: the baseline.
const BASELINE: &str = "kafka-4.4";

/// The reference coordinator.
#[derive(Debug, Default)]
pub struct ReferenceTarget {
    /// The slip of the last reset, which a coordinator that takes over makes as well.
    slip: Option<String>,
    system: Option<System>,
}

impl ReferenceTarget {
    /// The reference, as it is.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rules(settings: Settings<'_>) -> Result<(Rules, FencingRules), String> {
        let name = settings.variant.unwrap_or(BASELINE);
        let known = variants::find(Protocol::Fencing, name).map(|variant| variant.rules);
        let Some(variants::Rules::Fencing(fencing)) = known else {
            return Err(format!("there is no variant `{name}` of fencing"));
        };
        let rules = rules_of(fencing);
        // A slip that is none of the coordinator's is a client's.
        let mutation = Mutation::ALL.iter().find(|mutation| Some(mutation.name()) == settings.slip);
        Ok((mutation.map_or(rules.clone(), |mutation| rules.with(*mutation)), fencing))
    }
}

/// The reference's rules that a variant stands for.
fn rules_of(fencing: FencingRules) -> Rules {
    let release = match fencing.release {
        Release::V4_0 => Rules::kafka_4_0(),
        Release::V4_2 => Rules::kafka_4_2(),
        Release::V4_3 => Rules::kafka_4_3(),
        Release::V4_4 => Rules::kafka_4_4(),
    };
    let commit_check = match fencing.commit_check {
        CommitCheck::None => reference::CommitCheck::None,
        CommitCheck::Strict => reference::CommitCheck::Strict,
        CommitCheck::RevocationEpoch => reference::CommitCheck::RevocationEpoch,
        CommitCheck::AssignmentEpoch => reference::CommitCheck::AssignmentEpoch,
        CommitCheck::AssignmentEpochOwned => reference::CommitCheck::AssignmentEpochOwned,
    };
    let unrevoked_exit = match fencing.unrevoked_exit {
        UnrevokedExit::EpochBumped => reference::UnrevokedExit::EpochBumped,
        UnrevokedExit::EpochKept => reference::UnrevokedExit::EpochKept,
    };
    let replay_checks = match fencing.commit_check {
        // The oracle is the one rule set with every finding repaired, H9 among them.
        CommitCheck::AssignmentEpochOwned => Rules::assignment_epoch_owned().replay_checks,
        _ => release.replay_checks,
    };
    Rules { commit_check, unrevoked_exit, replay_checks, ..release }
}

/// One coordinator with its group, and what the trace's names stand for in it.
#[derive(Debug)]
struct System {
    coordinator: Coordinator,
    /// The topics that a join subscribes to where it does not say.
    configured: BTreeSet<TopicName>,
    /// The names of topics by id, also of those that were deleted.
    topics: BTreeMap<Uuid, String>,
    /// Producer ids, in the order in which they came up.
    producers: Vec<fencepost_fixtures::names::ProducerName>,
    /// The requests that wait, by the name that the trace gave them.
    waiting: BTreeMap<Ticket, Waiting>,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    name: MessageName,
    commit: CommitKind,
}

/// What a request's answer calls the partitions that it stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommitKind {
    /// `committed`.
    Plain,
    /// `staged`, until the transaction ends.
    Transactional,
}

impl Target<Fencing> for ReferenceTarget {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(Hello {
            protocol_version: PROTOCOL_VERSION,
            name: "fencepost reference".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocols: BTreeSet::from([Protocol::Fencing]),
            variants: variants::of(Protocol::Fencing).map(|variant| variant.name.to_owned()).collect(),
            kinds: BTreeSet::from([Kind::Wire, Kind::State, Kind::Function]),
            features: Feature::ALL.iter().copied().collect(),
            unseen: BTreeSet::new(),
            first_epoch: 2,
        })
    }

    fn reset(&mut self, reset: &Reset<'_, Fencing>) -> Result<Ready, Fault> {
        self.slip = reset.settings.slip.map(ToOwned::to_owned);
        let (rules, fencing) = match Self::rules(reset.settings) {
            Ok(rules) => rules,
            Err(reason) => return Ok(Ready::Skipped(reason)),
        };
        let configure = reset.configure;
        let config = reference::Config {
            max_group_size: configure.max_size.map_or(usize::MAX, usize::from),
            assignment_interval_ms: configure
                .assignment_interval_ms
                .filter(|_| fencing.assignment_delay)
                .map(i64::from),
            replication: match configure.replication {
                Some(Replication::Held) => reference::Replication::Held,
                Some(Replication::Immediate) | None => reference::Replication::Immediate,
            },
            ..reference::Config::default()
        };
        let mut unseen = BTreeSet::new();
        if rules.record_format == reference::records::RecordFormat::WithoutAssignmentEpochs {
            unseen.insert(Unseen::AssignmentEpochs);
        }
        let first_epoch = Some(rules.first_group_epoch.next().0);
        let mut system = System {
            coordinator: Coordinator::new(rules, config),
            configured: configure.topics.keys().cloned().collect(),
            topics: BTreeMap::new(),
            producers: Vec::new(),
            waiting: BTreeMap::new(),
        };
        system.set_topics(&configure.topics);
        // The assignor answers what `target` says from the beginning, and so far nobody gets anything.
        system.coordinator.set_target(&GROUP.into(), requests::target(&BTreeMap::new()));
        self.system = Some(system);
        Ok(Ready::Ok(Prepared { first_epoch, unseen }))
    }

    fn step(&mut self, input: &Input<'_, Fencing>) -> Result<Reply<Fencing>, Fault> {
        let slip = self.slip.as_deref();
        let fail_over_to = match input.action {
            Action::Setup(Operation::FailOver(to)) | Action::Operation(Operation::FailOver(to)) => to
                .variant
                .as_deref()
                .map(|variant| {
                    Self::rules(Settings { variant: Some(variant), slip, only: None }).map(|(rules, _)| rules)
                })
                .transpose(),
            _ => Ok(None),
        };
        let fail_over_to = match fail_over_to {
            Ok(rules) => rules,
            Err(reason) => return Ok(Reply::new(Answered::Skipped(reason))),
        };
        let system = self.system.as_mut().ok_or_else(|| Fault::broken("a step came before the first reset"))?;
        let mut reply = match input.action {
            Action::Observe => Reply::new(Answered::Nothing),
            Action::Setup(operation) | Action::Operation(operation) => system.apply(operation, fail_over_to)?,
        };
        if input.observe {
            reply.state = Some(system.state());
        }
        Ok(reply)
    }

    fn call(&mut self, question: &Question<'_, Fencing>) -> Result<Decision<Fencing>, Fault> {
        match Self::rules(question.settings) {
            Ok((rules, _)) => functions::decide(&rules, question.given, question.call),
            Err(reason) => Ok(Decision::Skipped(reason)),
        }
    }
}

impl System {
    /// A coordinator that has loaded a log, whose topics have these names.
    fn loaded(coordinator: Coordinator, topics: BTreeMap<Uuid, String>) -> Self {
        Self { coordinator, topics, configured: BTreeSet::new(), producers: Vec::new(), waiting: BTreeMap::new() }
    }

    fn apply(&mut self, operation: &Operation, fail_over_to: Option<Rules>) -> Result<Reply<Fencing>, Fault> {
        match operation {
            Operation::Target(target) => {
                self.coordinator.set_target(&GROUP.into(), requests::target(target));
                Ok(Reply::new(Answered::Nothing))
            }
            Operation::Topics(topics) => {
                self.set_topics(topics);
                Ok(Reply::new(Answered::Nothing))
            }
            Operation::Expire(expire) => Ok(Reply::new(self.expire(expire))),
            Operation::Replicate(replicate) => {
                let through = match &replicate.through {
                    None => None,
                    Some(name) => match self.waiting.iter().find(|(_, waiting)| waiting.name == *name) {
                        Some((ticket, _)) => Some(*ticket),
                        None => return Ok(Reply::new(Answered::Error(format!("no request `{name}` waits")))),
                    },
                };
                let released = self.coordinator.replicate(through);
                self.completed(released)
            }
            Operation::FailOver(_) => {
                let now = self.coordinator.rules();
                // A trace counts its epochs from one first epoch, whoever the coordinator is when the group is made.
                let rules = fail_over_to
                    .map_or_else(|| now.clone(), |rules| Rules { first_group_epoch: now.first_group_epoch, ..rules });
                match self.coordinator.fail_over(rules, Survives::HighWatermark) {
                    Ok(released) => self.completed(released),
                    Err(error) => Ok(Reply::new(Answered::Error(format!("the log can't be loaded: {error}")))),
                }
            }
            request => {
                let Some((request, name)) = self.request(request) else {
                    return Err(Fault::broken("an operation that is no request"));
                };
                let commit = match request {
                    reference::Request::TxnOffsetCommit(_) => CommitKind::Transactional,
                    _ => CommitKind::Plain,
                };
                let output = self.coordinator.handle(&request);
                match output.reply {
                    reference::Reply::Answered(answer) => Ok(Reply::new(self.answered(answer, commit))),
                    reference::Reply::Waits(ticket) => {
                        // A request that should have been refused has no name; its answer then comes as one too many.
                        let name = name.or_else(|| UNNAMED.parse().ok());
                        let name = name.ok_or_else(|| Fault::broken("a request without a name"))?;
                        self.waiting.insert(ticket, Waiting { name, commit });
                        Ok(Reply::new(Answered::Nothing))
                    }
                }
            }
        }
    }

    fn expire(&mut self, expire: &fencepost_fixtures::fencing::Expire) -> Answered<Fencing> {
        use fencepost_fixtures::fencing::Timer;
        use reference::timers::TimerKind;

        let kind = match expire.timer {
            Timer::AssignmentInterval => {
                self.coordinator.assignment_interval_elapsed();
                return Answered::Nothing;
            }
            Timer::OffsetsRetention => {
                self.coordinator.offsets_retention_elapsed();
                return Answered::Nothing;
            }
            Timer::Session => TimerKind::Session,
            Timer::Rebalance => TimerKind::Rebalance,
            Timer::Join => TimerKind::Join,
            Timer::Sync => TimerKind::Sync,
        };
        let member = expire.member.as_ref().map_or("", |member| member.as_str());
        // A timer that is not armed can't run out, which is no error: nothing happens.
        let _ = self.coordinator.fire(&GROUP.into(), kind, &member.into());
        Answered::Nothing
    }

    fn completed(&mut self, released: Vec<(Ticket, reference::Answer)>) -> Result<Reply<Fencing>, Fault> {
        let mut reply = Reply::new(Answered::Nothing);
        for (ticket, answer) in released {
            let Waiting { name, commit } =
                self.waiting.remove(&ticket).ok_or_else(|| Fault::broken("an answer that nobody waits for"))?;
            let completion = match self.answered(answer, commit) {
                Answered::Answer(answer) => Completion { answer: Some(answer), error: None },
                Answered::Error(error) => {
                    let error = error.parse().map_err(Fault::broken)?;
                    Completion { answer: None, error: Some(error) }
                }
                Answered::Nothing | Answered::Skipped(_) => Completion { answer: None, error: None },
            };
            reply.completes.insert(name, completion);
        }
        Ok(reply)
    }

    fn set_topics(&mut self, topics: &BTreeMap<TopicName, u16>) {
        let there: BTreeMap<String, (Uuid, i32)> = (self.coordinator.topics().iter())
            .map(|(name, id, partitions)| (name.as_str().to_owned(), (id, partitions)))
            .collect();
        for name in there.keys().filter(|name| !topics.keys().any(|topic| topic.as_str() == *name)) {
            // It is there, so it can be deleted.
            let _ = self.coordinator.delete_topic(name);
        }
        for (name, &partitions) in topics {
            let partitions = i32::from(partitions);
            match there.get(name.as_str()) {
                Some(&(_, now)) if now == partitions => {}
                Some(&(id, _)) => self.coordinator.create_topic(name.as_str(), id, partitions),
                None => {
                    let id = topic_id(self.topics.len() + 1);
                    self.topics.insert(id, name.as_str().to_owned());
                    self.coordinator.create_topic(name.as_str(), id, partitions);
                }
            }
        }
    }

    fn state(&self) -> State {
        answers::state(self, self.coordinator.describe(&GROUP.into()))
    }
}

/// The id of the `number`th topic that was made.
fn topic_id(number: usize) -> Uuid {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&(number as u64).to_be_bytes());
    Uuid(bytes)
}
