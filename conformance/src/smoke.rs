//! Twelve checks of a new driver, in the order in which its author gets them right, each with what to do.
//!
//! They need no trace: each is one small conversation. What a driver says in hello that it can't do is left out.

use std::collections::BTreeMap;

use fencepost_fixtures::fencing::{
    Call, Commit, Configure, Fencing, Fetch, Given, GivenMember, Heartbeat, MemberPhase, Offset, Operation,
};
use fencepost_fixtures::names::{Epoch, MemberName, TopicPartition};
use fencepost_fixtures::{Protocol, TraceId};

use crate::implementation::{Implementation, Launcher};
use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, Place, Prepared, Question, Ready, Reply, Reset,
    Settings, Target,
};

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What must be so.
    pub claim: &'static str,
    /// What to do to make it so.
    pub to_do: &'static str,
    /// Whether it is.
    pub result: Checked,
}

/// How a check ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checked {
    /// It is so.
    Right,
    /// It is not, for this reason.
    Wrong(String),
    /// The driver says that it can't do this.
    LeftOut(String),
    /// A check before it went so wrong that this one could not be made.
    NotReached,
}

type CheckFunction = fn(&mut Conversation) -> Result<Checked, Fault>;

/// The checks after hello: what must be so, what to do, and the conversation.
const CHECKS: [(&str, &str, CheckFunction); 10] = [
    (
        "hello names a protocol and a kind",
        "put `fencing` into `protocols`, and into `kinds` what can be compared: `function` is the easiest to begin with, `wire` needs requests, `state` needs `observe`",
        names_something,
    ),
    (
        "one pure decision is made",
        "answer a step with `given` and `call` by `{\"trace\":..,\"at\":[1],\"ok\":{\"outcome\":{\"accepted\":[]}}}`: an epoch that equals the member's is accepted (docs/fencing.md 2.3 row 3)",
        decides,
    ),
    (
        "a decision that refuses has Kafka's name of the error",
        "answer `{\"trace\":..,\"at\":[1],\"error\":\"FENCED_MEMBER_EPOCH\"}` where the epoch is newer than the member's (docs/fencing.md 2.3 row 2)",
        decides_against,
    ),
    (
        "reset is answered",
        "answer `{\"trace\":ID,\"ok\":{}}`, with the trace of the command, when an empty coordinator with the topics of `configure` is there",
        resets,
    ),
    (
        "a first join is accepted, with the first epoch of hello",
        "map `heartbeat` to a ConsumerGroupHeartbeat; epoch 0 joins, and subscribes to all topics of `configure`; say in hello as `first_epoch` which epoch the first member gets",
        joins,
    ),
    (
        "a request that is refused has Kafka's name of the error",
        "answer `error` with the name from Kafka's `Errors`, as in FENCED_MEMBER_EPOCH for a heartbeat with an epoch that is too new",
        refuses,
    ),
    (
        "observe shows the whole state",
        "put `state` into the answer wherever `observe` is true: each member with `epoch`, `state`, `assigned` and `pending_revocation`, `group`, `offsets` and `staged`",
        observes,
    ),
    (
        "reset forgets everything",
        "make a new coordinator with each reset: a member of the trace before is no longer known",
        forgets,
    ),
    (
        "target is what the assignor answers",
        "let a scripted assignor answer what the last `target` said, and let the group epoch rise by one with the next heartbeat; name the feature `targets` in hello",
        targets,
    ),
    (
        "a commit is stored and read back",
        "map `commit` to OffsetCommit and `fetch` to OffsetFetch, by the names of the partitions; a commit with a newer epoch than the member's is STALE_MEMBER_EPOCH",
        commits,
    ),
];

const START: (&str, &str) = (
    "the driver starts and answers hello",
    "read a line of JSON from standard input, write one line to standard output and flush it; everything else belongs on standard error",
);
const END: (&str, &str) = ("bye ends it", "end with exit code 0 when `{\"cmd\":\"bye\"}` comes, without an answer");

/// Makes the twelve checks, on one driver.
#[must_use]
pub fn smoke(launcher: &dyn Launcher) -> Vec<Check> {
    let mut checks: Vec<Check> = std::iter::once(START)
        .chain(CHECKS.iter().map(|(claim, to_do, _)| (*claim, *to_do)))
        .chain(std::iter::once(END))
        .map(|(claim, to_do)| Check { claim, to_do, result: Checked::NotReached })
        .collect();
    let mut results: Vec<Checked> = Vec::new();
    let started = launcher.launch().and_then(|mut implementation| {
        let hello = implementation.hello()?;
        Ok(Conversation { implementation, hello })
    });
    match started {
        Err(fault) => results.push(Checked::Wrong(told(&fault))),
        Ok(mut conversation) => {
            results.push(Checked::Right);
            let mut alive = true;
            for (_, _, check) in &CHECKS {
                match check(&mut conversation) {
                    Ok(result) => results.push(result),
                    Err(fault) => {
                        results.push(Checked::Wrong(told(&fault)));
                        alive = false;
                        break;
                    }
                }
            }
            if alive {
                let end = conversation.implementation.bye();
                results.push(end.map_or_else(|fault| Checked::Wrong(told(&fault)), |()| Checked::Right));
            }
        }
    }
    for (check, result) in checks.iter_mut().zip(results) {
        check.result = result;
    }
    checks
}

fn told(fault: &Fault) -> String {
    if fault.standard_error.is_empty() {
        fault.message.clone()
    } else {
        format!("{}\nits standard error ends with:\n{}", fault.message, fault.standard_error)
    }
}

struct Conversation {
    implementation: Box<dyn Implementation>,
    hello: Hello,
}

/// The text of a constant that is a name, an id or a partition by construction.
fn parsed<T: std::str::FromStr<Err = String>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(Fault::broken)
}

fn trace() -> Result<TraceId, Fault> {
    parsed("fencing/smoke")
}

impl Conversation {
    fn lacks(&self, kind: Kind) -> Option<Checked> {
        let missing = !self.hello.kinds.contains(&kind);
        missing.then(|| Checked::LeftOut(format!("hello does not name the kind `{kind}`")))
    }

    fn target(&mut self) -> Result<&mut dyn Target<Fencing>, Fault> {
        self.implementation.fencing().ok_or_else(|| Fault::broken("the target does not have fencing"))
    }

    fn reset(&mut self) -> Result<Option<i32>, Fault> {
        let configure = Configure {
            topics: BTreeMap::from([(parsed("t")?, 2)]),
            assignment_interval_ms: None,
            max_size: None,
            replication: None,
        };
        let reset = Reset { trace: &trace()?, configure: &configure, settings: Settings::default() };
        match self.target()?.reset(&reset)? {
            Ready::Ok(Prepared { first_epoch, .. }) => Ok(first_epoch),
            Ready::Skipped(reason) => Err(Fault::broken(format!("a plain reset was skipped: {reason}"))),
        }
    }

    fn step(&mut self, number: usize, operation: Option<&Operation>, observe: bool) -> Result<Reply<Fencing>, Fault> {
        let action = operation.map_or(Action::Observe, Action::Operation);
        let trace = trace()?;
        let input = Input { trace: &trace, at: Place::step(number), broker: None, action, message: None, observe };
        self.target()?.step(&input)
    }

    fn heartbeat(&mut self, number: usize, epoch: Epoch) -> Result<Answered<Fencing>, Fault> {
        let heartbeat = Heartbeat {
            id: None,
            member: parsed("a")?,
            epoch,
            owned: (epoch == Epoch(0)).then(Default::default),
            instance: None,
            topics: None,
            rebalance_timeout_ms: None,
            assignor: None,
            version: None,
        };
        Ok(self.step(number, Some(&Operation::Heartbeat(heartbeat)), false)?.answered)
    }

    /// Resets, and lets `a` join: its epoch.
    fn joined(&mut self) -> Result<Epoch, Checked> {
        let broken = |fault: Fault| Checked::Wrong(told(&fault));
        self.reset().map_err(broken)?;
        match self.heartbeat(1, Epoch(0)).map_err(broken)? {
            Answered::Answer(answer) => {
                answer.epoch.ok_or_else(|| Checked::Wrong("the answer to a join has no `epoch`".to_owned()))
            }
            other => Err(Checked::Wrong(format!("a join was answered {}", named(&other)))),
        }
    }

    fn decide(&mut self, epoch: i32) -> Result<Decision<Fencing>, Fault> {
        let partition: TopicPartition = parsed("t-0")?;
        let member: MemberName = parsed("a")?;
        let state = GivenMember {
            epoch: Epoch(5),
            previous_epoch: Epoch(4),
            state: MemberPhase::Stable,
            assigned: BTreeMap::from([(partition, Epoch(5))]),
            pending_revocation: BTreeMap::new(),
            classic: false,
        };
        let given = Given { members: BTreeMap::from([(member.clone(), state)]) };
        let call = Call::EpochCheck { member, epoch: Epoch(epoch), owned: None };
        self.target()?.call(&Question { trace: &trace()?, given: &given, call: &call, settings: Settings::default() })
    }
}

fn named(answered: &Answered<Fencing>) -> String {
    match answered {
        Answered::Nothing => "without an answer".to_owned(),
        Answered::Answer(answer) => crate::fencing::phrases::answer(answer),
        Answered::Error(error) => format!("with the error {error}"),
        Answered::Skipped(reason) => format!("as skipped: {reason}"),
    }
}

fn expects_error(answered: &Answered<Fencing>, error: &str) -> Checked {
    match answered {
        Answered::Error(got) if got == error => Checked::Right,
        other => Checked::Wrong(format!("expected the error {error}, was answered {}", named(other))),
    }
}

fn names_something(conversation: &mut Conversation) -> Result<Checked, Fault> {
    conversation.target()?;
    let hello = &conversation.hello;
    Ok(if !hello.protocols.contains(&Protocol::Fencing) {
        Checked::Wrong("hello does not name the protocol `fencing`".to_owned())
    } else if hello.kinds.is_empty() {
        Checked::Wrong("hello names no kind, so that nothing could be compared".to_owned())
    } else {
        Checked::Right
    })
}

fn decides(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Function) {
        return Ok(left_out);
    }
    Ok(match conversation.decide(5)? {
        Decision::Outcome(fencepost_fixtures::fencing::Outcome::Accepted(_)) => Checked::Right,
        other => Checked::Wrong(format!("a heartbeat with the member's epoch was not accepted: {other:?}")),
    })
}

fn decides_against(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Function) {
        return Ok(left_out);
    }
    Ok(match conversation.decide(6)? {
        Decision::Error(error) if error == "FENCED_MEMBER_EPOCH" => Checked::Right,
        other => Checked::Wrong(format!("a heartbeat with a newer epoch was not refused: {other:?}")),
    })
}

fn resets(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    conversation.reset()?;
    Ok(Checked::Right)
}

fn joins(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    let first = conversation.reset()?.unwrap_or(conversation.hello.first_epoch);
    Ok(match conversation.joined() {
        Err(wrong) => wrong,
        Ok(epoch) if epoch == Epoch(first) => Checked::Right,
        Ok(epoch) => {
            Checked::Wrong(format!("the first member got epoch {epoch}, and hello says `first_epoch` is {first}"))
        }
    })
}

fn refuses(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    match conversation.joined() {
        Err(wrong) => Ok(wrong),
        Ok(epoch) => {
            let answered = conversation.heartbeat(2, Epoch(epoch.0.saturating_add(1)))?;
            Ok(expects_error(&answered, "FENCED_MEMBER_EPOCH"))
        }
    }
}

fn observes(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::State) {
        return Ok(left_out);
    }
    let epoch = match conversation.joined() {
        Err(wrong) => return Ok(wrong),
        Ok(epoch) => epoch,
    };
    let Some(state) = conversation.step(2, None, true)?.state else {
        return Ok(Checked::Wrong("no `state` came although `observe` was true".to_owned()));
    };
    let member = state.members.get(&parsed::<MemberName>("a")?).and_then(Option::as_ref);
    Ok(match member {
        None => Checked::Wrong("the member `a` has joined and is not in the state".to_owned()),
        Some(member) if member.epoch != epoch => {
            Checked::Wrong(format!("`a` was answered epoch {epoch} and is shown with {}", member.epoch))
        }
        Some(_) if state.offsets.is_none() => {
            Checked::Wrong("`offsets` is missing; write {} where there are none".to_owned())
        }
        Some(_) => Checked::Right,
    })
}

fn forgets(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    match conversation.joined() {
        Err(wrong) => Ok(wrong),
        Ok(epoch) => {
            conversation.reset()?;
            Ok(match conversation.heartbeat(1, epoch)? {
                Answered::Error(_) => Checked::Right,
                other => Checked::Wrong(format!(
                    "a heartbeat of a member from before the reset was answered {}, not refused",
                    named(&other)
                )),
            })
        }
    }
}

fn targets(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    if !conversation.hello.features.contains(&Feature::Targets) {
        return Ok(Checked::LeftOut("hello does not name the feature `targets`".to_owned()));
    }
    let epoch = match conversation.joined() {
        Err(wrong) => return Ok(wrong),
        Ok(epoch) => epoch,
    };
    let partition: TopicPartition = parsed("t-1")?;
    let target = BTreeMap::from([(parsed("a")?, std::iter::once(partition.clone()).collect())]);
    conversation.step(2, Some(&Operation::Target(target)), false)?;
    Ok(match conversation.heartbeat(3, epoch)? {
        Answered::Answer(answer) => {
            let assigned = answer.assigned.clone().flatten().unwrap_or_default();
            let risen = answer.epoch == Some(Epoch(epoch.0.saturating_add(1)));
            if assigned.into_iter().eq([partition]) && risen {
                Checked::Right
            } else {
                Checked::Wrong(format!(
                    "expected epoch {}, assigned t-1, was answered {}",
                    epoch.0.saturating_add(1),
                    crate::fencing::phrases::answer(&answer)
                ))
            }
        }
        other => Checked::Wrong(format!("the heartbeat after `target` was answered {}", named(&other))),
    })
}

fn commits(conversation: &mut Conversation) -> Result<Checked, Fault> {
    if let Some(left_out) = conversation.lacks(Kind::Wire) {
        return Ok(left_out);
    }
    let epoch = match conversation.joined() {
        Err(wrong) => return Ok(wrong),
        Ok(epoch) => epoch,
    };
    let partition: TopicPartition = parsed("t-0")?;
    let member: MemberName = parsed("a")?;
    let commit = |epoch: Epoch| -> Result<Operation, Fault> {
        Ok(Operation::Commit(Commit {
            id: None,
            member: member.clone(),
            epoch,
            offsets: BTreeMap::from([(partition.clone(), Offset::plain(7))]),
            instance: None,
            version: None,
        }))
    };
    // Ownership is not asked for where the epoch is the member's, except by the right rules; both answers will do.
    let first = conversation.step(2, Some(&commit(epoch)?), false)?.answered;
    let stored = matches!(first, Answered::Answer(_));
    let refused = matches!(&first, Answered::Error(error) if error == "STALE_MEMBER_EPOCH");
    if !stored && !refused {
        return Ok(Checked::Wrong(format!("a commit with the member's epoch was answered {}", named(&first))));
    }
    let fetch = Operation::Fetch(Fetch {
        id: None,
        member: None,
        epoch: Epoch(-1),
        partitions: std::iter::once(partition.clone()).collect(),
        require_stable: false,
    });
    let fetched = conversation.step(3, Some(&fetch), false)?.answered;
    let expected = stored.then(|| Offset::plain(7));
    match &fetched {
        Answered::Answer(answer)
            if answer.offsets.as_ref().and_then(|offsets| offsets.get(&partition)) == Some(&expected) => {}
        other => return Ok(Checked::Wrong(format!("the fetch after the commit was answered {}", named(other)))),
    }
    let newer = conversation.step(4, Some(&commit(Epoch(epoch.0.saturating_add(1)))?), false)?.answered;
    Ok(expects_error(&newer, "STALE_MEMBER_EPOCH"))
}
