//! Paths of the model as traces: what reaches the coordinator becomes a step, everything else stays in the model.
//!
//! The answers come from the [`Interpreter`], the model's own coordinator behind the trace's vocabulary; after each step
//! it is held against the coordinator of the path, so that a trace cannot say something that the model did not do.

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::Document;
use fencepost_fixtures::KafkaError;
use fencepost_fixtures::fencing::{
    Commit, Expire, Fencing as Vocabulary, Fetch, Heartbeat, Leave, Offset, Operation, State, Timer as TimerName,
};
use fencepost_fixtures::names::{Epoch, MemberName, TopicPartition};
use fencepost_fixtures::trace::{
    Behaviour, Body, Header, Origin, Protocol as ProtocolName, Refusal, Step, Trace, TraceId,
};
use fencepost_fixtures::variants::{self, FencingRules, Rules};
use stateright::Model;

use super::Fencing;
use super::bounds::Setting;
use super::fail_over::MISSING;
use super::interpreter::{Interpreter, Reply};
use super::message::{Msg, Timer};
use super::mutant::Mutant;
use super::properties;
use crate::protocol::{Aim, Exported, Goal, Walk};
use crate::world::{Action, ActionOf, World, WorldState};

mod holds;
mod naming;

pub use holds::meets;
use naming::{Naming, configure, name, setup_operations};

/// The variant whose behaviour is right, and under which twins are made.
pub const ORACLE: &str = "assignment-epoch-owned";
/// The most refusals that one step asks for: more would hide what it is about.
const REFUSALS_A_STEP: usize = 4;

type Behaved = Behaviour<Vocabulary>;
type Path = Vec<(WorldState<Fencing>, Option<ActionOf<Fencing>>)>;

/// The variant's name of a rule set.
fn variant_name(rules: &FencingRules) -> Result<&'static str, String> {
    variants::of(ProtocolName::Fencing)
        .find(|variant| variant.rules == Rules::Fencing(*rules))
        .map(|variant| variant.name)
        .ok_or_else(|| "the rules are no variant's".to_owned())
}

/// What changed from one observation to the next, whole by entity.
fn changes(before: &State, after: &State) -> Option<State> {
    let mut changed = State::default();
    for (member, state) in &after.members {
        if before.members.get(member) != Some(state) {
            changed.members.insert(member.clone(), state.clone());
        }
    }
    if before.group != after.group {
        changed.group.clone_from(&after.group);
    }
    if before.offsets != after.offsets {
        changed.offsets.clone_from(&after.offsets);
    }
    if before.staged != after.staged {
        changed.staged.clone_from(&after.staged);
    }
    (changed != State::default()).then_some(changed)
}

/// Requests that somebody might send in any state, of which those that are refused are worth asking.
fn probes(naming: &Naming<'_>, seen: &State) -> Result<Vec<Operation>, String> {
    let mut probes = Vec::new();
    let heartbeat = |member: &MemberName, epoch: i32, owned: Option<BTreeSet<TopicPartition>>, instance| {
        Operation::Heartbeat(Heartbeat {
            id: None,
            member: member.clone(),
            epoch: Epoch(epoch),
            owned,
            instance,
            topics: None,
            rebalance_timeout_ms: None,
            assignor: None,
            version: None,
        })
    };
    let commit = |member: &MemberName, epoch: i32, partition: &TopicPartition| {
        let offsets = BTreeMap::from([(partition.clone(), Offset::plain(7))]);
        Operation::Commit(Commit {
            id: None,
            member: member.clone(),
            epoch: Epoch(epoch),
            offsets,
            instance: None,
            version: None,
        })
    };
    let fetch = |member: &MemberName, epoch: i32, partition: &TopicPartition| {
        Operation::Fetch(Fetch {
            id: None,
            member: Some(member.clone()),
            epoch: Epoch(epoch),
            partitions: BTreeSet::from([partition.clone()]),
            require_stable: false,
        })
    };
    let topics = naming.setting.bounds.topics;
    let all: Vec<_> = (0..topics.count()).map(|index| topics.name(index)).collect();
    let Some(first) = all.first() else { return Ok(probes) };
    let foreign = |owned: &BTreeMap<TopicPartition, Epoch>| all.iter().find(|name| !owned.contains_key(*name));
    for slot in 0..naming.setting.bounds.slots() {
        let member = naming.member(slot)?;
        let instance = naming.instance(slot)?;
        let Some(Some(state)) = seen.members.get(&member) else {
            probes.push(heartbeat(&member, 1, None, instance));
            probes.push(commit(&member, 1, first));
            continue;
        };
        let epoch = state.epoch.0;
        if epoch > 0 {
            probes.push(heartbeat(&member, epoch + 1, None, instance.clone()));
        }
        if epoch > 1 {
            probes.push(heartbeat(&member, epoch - 1, None, instance.clone()));
            let beyond = foreign(&state.assigned).cloned().into_iter().collect();
            probes.push(heartbeat(&member, epoch - 1, Some(beyond), instance.clone()));
            if epoch > 2 {
                probes.push(heartbeat(&member, epoch - 2, Some(BTreeSet::new()), instance.clone()));
            }
            if let Some(other) = all
                .iter()
                .find(|name| !state.assigned.contains_key(*name) && !state.pending_revocation.contains_key(*name))
            {
                probes.push(commit(&member, epoch - 1, other));
            }
            if let Some((own, since)) = state.assigned.iter().find(|(_, since)| since.0 > 1) {
                probes.push(commit(&member, since.0 - 1, own));
            }
            probes.push(fetch(&member, epoch - 1, first));
        }
        probes.push(commit(&member, epoch + 1, first));
        probes.push(fetch(&member, epoch + 1, first));
    }
    let stranger: MemberName = "z".parse()?;
    probes.push(heartbeat(&stranger, 1, None, None));
    probes.push(commit(&stranger, 1, first));
    probes.push(fetch(&stranger, 1, first));
    probes.push(Operation::Leave(Leave { id: None, member: stranger, epoch: Epoch(-1), instance: None }));
    Ok(probes)
}

/// A trace in the making.
struct Rendering<'a> {
    naming: Naming<'a>,
    interpreter: Interpreter,
    /// Kafka as shipped, for a trace that both shall meet.
    companion: Option<Interpreter>,
    /// Whether refusals are asked beside the steps, and those that were.
    asks: bool,
    asked: BTreeSet<(KafkaError, u128)>,
    number: u32,
    behaviour: Behaved,
}

fn mixed(setting: &Setting) -> bool {
    setting.bounds.other.is_some()
}

impl<'a> Rendering<'a> {
    fn new(setting: &'a Setting, both: bool) -> Result<Self, String> {
        let configure = configure(setting)?;
        let mut number = 0;
        let operations = setup_operations(setting, &mut number)?;
        let begin = |rules: FencingRules, mutant: Mutant| -> Result<Interpreter, String> {
            let mut interpreter = Interpreter::new(&configure, rules, mutant, mixed(setting))?;
            for operation in &operations {
                if let Some(error) = interpreter.apply(operation)?.error {
                    return Err(format!("the setup is refused: {error}"));
                }
            }
            Ok(interpreter)
        };
        let interpreter = begin(setting.rules, setting.mutant)?;
        let shipped = super::catalogue::rules("kafka-4.4").ok_or("there is no kafka-4.4")?;
        let companion = if both { Some(begin(shipped, Mutant::None)?) } else { None };
        let start = interpreter.observe();
        let behaviour = Behaviour { configure, setup: operations, start, steps: Vec::new() };
        Ok(Self {
            naming: Naming { setting },
            interpreter,
            companion,
            asks: true,
            asked: BTreeSet::new(),
            number,
            behaviour,
        })
    }

    fn step(&mut self, mut operation: Operation) -> Result<(), String> {
        if self.behaviour.configure.replication.is_some() {
            name(&mut operation, &mut self.number)?;
        }
        let before = self.interpreter.observe();
        let reply = self.interpreter.apply(&operation)?;
        if let Some(companion) = &mut self.companion {
            companion.apply(&operation)?;
        }
        let after = self.seen();
        let quiet = matches!(
            operation,
            Operation::Target(_) | Operation::Expire(_) | Operation::Replicate(_) | Operation::FailOver(_)
        );
        let refuse = self.refusals(&after)?;
        let Reply { answer, error, completes, .. } = reply;
        self.behaviour.steps.push(Step {
            at: None,
            operation,
            answer: if quiet { None } else { answer },
            error,
            sends: BTreeMap::default(),
            completes,
            state: changes(&before, &after),
            refuse,
            note: None,
        });
        Ok(())
    }

    /// What can be observed. A broker that knows no assignment epochs has none to show.
    fn seen(&self) -> State {
        let mut seen = self.interpreter.observe();
        seen.members
            .retain(|member, _| !self.interpreter.named(member).is_some_and(|member| member.since.contains(&MISSING)));
        seen
    }

    /// The refusals that are new to this trace, a row and an error each.
    fn refusals(&mut self, seen: &State) -> Result<Vec<Refusal<Vocabulary>>, String> {
        let mut refuse = Vec::new();
        for operation in probes(&self.naming, seen)? {
            if !self.asks || refuse.len() == REFUSALS_A_STEP {
                break;
            }
            let Ok(Reply { error: Some(error), trail, .. }) = self.interpreter.clone().apply(&operation) else {
                continue;
            };
            if let Some(companion) = &self.companion
                && companion.clone().apply(&operation).map(|reply| reply.error) != Ok(Some(error))
            {
                continue;
            }
            if self.asked.insert((error, trail.0)) {
                refuse.push(Refusal { at: None, operation, error });
            }
        }
        Ok(refuse)
    }

    /// Follows the path, and holds the interpreter against its coordinator.
    fn follow(&mut self, walk: &Walk<Fencing>) -> Result<(), String> {
        for (at, (state, action)) in walk.iter().enumerate() {
            let Some(action) = action else { break };
            let Some(operation) = self.naming.operation(state, action)? else { continue };
            self.step(operation)?;
            let Some((after, _)) = walk.get(at + 1) else { continue };
            let model = &after.actors.broker.now;
            let told = self.interpreter.coordinator();
            let mut alike = true;
            for slot in 0..self.naming.setting.bounds.slots() {
                // The interpreter numbers members as they are named, which is another order where some start again.
                let (one, other) = (self.interpreter.named(&self.naming.member(slot)?), model.member(slot));
                alike &= one.map_or(!other.exists(), |one| {
                    (one.epoch, one.phase, one.assigned, one.pending, one.since)
                        == (other.epoch, other.phase, other.assigned, other.pending, other.since)
                });
            }
            if !alike || told.group_epoch != model.group_epoch || told.assignment_epoch != model.assignment_epoch {
                return Err(format!("the trace and the model part at step {}", self.behaviour.steps.len()));
            }
        }
        Ok(())
    }
}

fn document(
    id: TraceId,
    title: String,
    (variant, mutant): (&str, Mutant),
    rests_on: Vec<String>,
    origin: Origin,
    behaviour: Behaved,
) -> Document {
    let decisive = behaviour.steps.len();
    let header = Header {
        id,
        title,
        protocol: ProtocolName::Fencing,
        variant: variant.to_owned(),
        mutant: (mutant != Mutant::None).then(|| mutant.name().to_owned()),
        holds_for: Vec::new(),
        origin,
        twin: None,
        rests_on,
        decisive: Some(decisive),
    };
    Document::Fencing(Trace { header, body: Body::Behaviour(behaviour) })
}

/// An origin that the exporter replaces.
fn to_be_set(configuration: &str) -> Origin {
    Origin::Written { source: configuration.to_owned() }
}

/// The configuration's bounds: the last word of its name.
fn bounds_name(configuration: &str) -> &str {
    configuration.rsplit('/').next().unwrap_or(configuration)
}

/// Repeats a path's choices under other rules, and says whether the harmful delivery was reached. A choice that does
/// not exist there is left out.
fn repeat(world: &World<Fencing>, walk: &Walk<Fencing>, last: Option<&Msg>) -> (Path, bool) {
    let mut repeated = Vec::new();
    let Some(mut state) = world.init_states().into_iter().next() else { return (repeated, false) };
    let actions = walk.iter().filter_map(|(_, action)| *action).map(|action| (action, false));
    let harm = last.map(|msg| {
        let src = walk.last().and_then(|(state, _)| state.network.iter().find(|envelope| envelope.msg == *msg));
        src.map(|envelope| (Action::Deliver(*envelope), true))
    });
    let mut reached = last.is_none();
    for (action, harmful) in actions.chain(harm.flatten()) {
        let mut enabled = Vec::new();
        world.actions(&state, &mut enabled);
        let Some(same) = enabled.into_iter().find(|other| same_choice(&action, other)) else { continue };
        let Some(next) = world.next_state(&state, same) else { continue };
        repeated.push((std::mem::replace(&mut state, next), Some(same)));
        reached |= harmful;
    }
    repeated.push((state, None));
    (repeated, reached)
}

/// Whether two steps are the same choice: the same timer, or a message of the same kind on the same way. Two commits are
/// the same if they have the same number.
fn same_choice(one: &ActionOf<Fencing>, other: &ActionOf<Fencing>) -> bool {
    match (one, other) {
        (Action::Timeout(id, timer), Action::Timeout(other_id, other_timer)) => id == other_id && timer == other_timer,
        (Action::Deliver(one), Action::Deliver(other)) | (Action::Drop(one), Action::Drop(other)) => {
            let number = |msg: &Msg| match msg {
                Msg::Commit(commit) | Msg::TxnCommit(commit) | Msg::Hand(commit) => commit.id,
                _ => 0,
            };
            (one.src, one.dst) == (other.src, other.dst)
                && std::mem::discriminant(&one.msg) == std::mem::discriminant(&other.msg)
                && number(&one.msg) == number(&other.msg)
                && !matches!((one.msg, other.msg), (Msg::Target(a), Msg::Target(b)) if a != b)
        }
        _ => false,
    }
}

/// The path with what comes of it for ever, where the property is about that: a client that is not in the group asks
/// once more to be.
fn prolonged(goal: &Goal, world: &World<Fencing>, walk: &Walk<Fencing>) -> Path {
    let mut path = walk.to_vec();
    let last = walk.last().map(|(state, _)| state);
    let outsider = last.filter(|_| matches!(goal.aim, Aim::Violation("L1" | "L5"))).and_then(properties::outsider);
    let Some(consumer) = outsider else { return path };
    let asks = Action::Timeout(consumer + 1, Timer::Heartbeat);
    let delivered = |state: &WorldState<Fencing>| {
        state.network.iter().find(|envelope| envelope.src == consumer + 1).map(|envelope| Action::Deliver(*envelope))
    };
    for next in [&|_: &WorldState<Fencing>| Some(asks), &delivered as &dyn Fn(&WorldState<Fencing>) -> _] {
        let Some((state, None)) = path.pop() else { return walk.to_vec() };
        let Some((action, after)) = next(&state).and_then(|action| Some((action, world.next_state(&state, action)?)))
        else {
            return walk.to_vec();
        };
        path.extend([(state, Some(action)), (after, None)]);
    }
    path
}

/// What a trace ends with that is no step of the model: a timer that should have been there runs out (L6).
fn closing(goal: &Goal, naming: &Naming<'_>, walk: &Walk<Fencing>) -> Result<Option<Operation>, String> {
    let last = walk.last().filter(|_| goal.aim == Aim::Violation("L6"));
    let Some(slot) = last.and_then(|(state, _)| properties::departed(state)) else { return Ok(None) };
    let member = Some(naming.member(slot)?);
    Ok(Some(Operation::Expire(Expire { timer: TimerName::Session, member })))
}

/// The delivery that does the harm, where the property is about what could be delivered now.
fn harm(goal: &Goal, world: &World<Fencing>, walk: &Walk<Fencing>) -> Option<Msg> {
    let Aim::Violation(property) = goal.aim else { return None };
    let (state, _) = walk.last()?;
    let (commit, transactional) = properties::culprit(world, state, property)?;
    Some(if transactional { Msg::TxnCommit(commit) } else { Msg::Commit(commit) })
}

impl Exported for Fencing {
    fn errors() -> &'static [KafkaError] {
        &[
            KafkaError::GroupIdNotFound,
            KafkaError::GroupMaxSizeReached,
            KafkaError::UnknownMemberId,
            KafkaError::FencedMemberEpoch,
            KafkaError::FencedInstanceId,
            KafkaError::UnreleasedInstanceId,
            KafkaError::StaleMemberEpoch,
            KafkaError::IllegalGeneration,
            KafkaError::NotCoordinator,
            KafkaError::InvalidRequest,
            KafkaError::UnsupportedVersion,
            KafkaError::UnsupportedAssignor,
            KafkaError::UnstableOffsetCommit,
            KafkaError::OffsetMetadataTooLarge,
            KafkaError::RebalanceInProgress,
        ]
    }

    fn unreached(label: &str) -> Option<&'static str> {
        super::goals::unreached(label)
    }

    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let setting = &world.protocol.setting;
        let variant = variant_name(&setting.rules)?;
        let both = !matches!(goal.aim, Aim::Violation(_)) && variant == ORACLE;
        let mut rendering = Rendering::new(setting, both)?;
        // A coordinator that changes something when it refuses must not be asked for refusals beside the steps.
        rendering.asks = goal.aim != Aim::Violation("S8");
        rendering.follow(&prolonged(goal, world, walk))?;
        if let Some(msg) = harm(goal, world, walk)
            && let Some(operation) = rendering.naming.message(&msg)?
        {
            rendering.step(operation)?;
        }
        if let Some(operation) = closing(goal, &rendering.naming, walk)? {
            rendering.step(operation)?;
        }
        if setting.mutant != Mutant::None {
            // What a slip leaves undone is no change, and shows in the whole alone.
            let whole = rendering.seen();
            if let Some(last) = rendering.behaviour.steps.last_mut() {
                last.state = Some(whole);
            }
        }
        let origin = to_be_set(&goal.configuration);
        let (title, rests_on) = (goal.title.clone(), goal.rests_on.clone());
        Ok(document(goal.id.clone(), title, (variant, setting.mutant), rests_on, origin, rendering.behaviour))
    }

    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let id = goal.twin.clone().ok_or("the goal has no twin")?;
        let rules = super::catalogue::rules(ORACLE).ok_or("there is no oracle")?;
        let broken = world.protocol.setting;
        // The right rules are the coordinator's: a client's slip is one under them too.
        let setting = if broken.mutant.is_clients() {
            Setting { rules: FencingRules { client: broken.rules.client, ..rules }, ..broken }
        } else {
            Setting { rules, mutant: Mutant::None, ..broken }
        };
        let right = World::new(Fencing::new(setting));
        let msg = harm(goal, world, walk);
        let (repeated, reached) = repeat(&right, &prolonged(goal, world, walk), msg.as_ref());
        let mut rendering = Rendering::new(&right.protocol.setting, false)?;
        rendering.follow(&repeated)?;
        if let Some(operation) = closing(goal, &rendering.naming, walk)? {
            rendering.step(operation)?;
        }
        if rendering.behaviour.steps.is_empty() {
            return Err("nothing reaches the coordinator, so that there is nothing to replay".to_owned());
        }
        // A twin of what the oracle does as well would claim a repair that is none.
        if let Document::Fencing(Trace { body: Body::Behaviour(shown), .. }) = Self::trace(goal, world, walk)?
            && meets(&shown, rules, Mutant::None)?
        {
            return Err("the oracle does the same, so that there is nothing for a twin to show".to_owned());
        }
        let configuration = format!("fencing/{ORACLE}/{}", bounds_name(&goal.configuration));
        let title = if reached {
            format!("{}: the same choices under the right rules", goal.title)
        } else {
            format!("{}: under the right rules it does not come to that", goal.title)
        };
        let origin = Origin::Twin { of: goal.id.clone(), configuration };
        Ok(document(id, title, (ORACLE, Mutant::None), goal.rests_on.clone(), origin, rendering.behaviour))
    }

    fn holds_for(document: &Document) -> Vec<String> {
        let Document::Fencing(Trace { body: Body::Behaviour(behaviour), .. }) = document else { return Vec::new() };
        let mut names = Vec::new();
        for variant in variants::of(ProtocolName::Fencing) {
            if let Rules::Fencing(rules) = variant.rules
                && meets(behaviour, rules, Mutant::None) == Ok(true)
            {
                names.push(variant.name.to_owned());
            }
        }
        names
    }

    fn behaviour(
        id: TraceId,
        configuration: &str,
        seed: u64,
        number: u64,
        world: &World<Self>,
        walk: &Walk<Self>,
    ) -> Result<Document, String> {
        let setting = &world.protocol.setting;
        let mut rendering = Rendering::new(setting, false)?;
        rendering.follow(walk)?;
        let title = format!("Behaviour {number} of seed {seed}");
        let made_with = (variant_name(&setting.rules)?, setting.mutant);
        let rests_on = vec!["KIP-848".to_owned()];
        Ok(document(id, title, made_with, rests_on, to_be_set(configuration), rendering.behaviour))
    }
}
