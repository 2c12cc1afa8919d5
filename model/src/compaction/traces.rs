//! Paths of the model as traces: what reaches a log becomes a step, everything else stays in the model.
//!
//! The answers come from the [`Interpreter`], the model's own replica behind the trace's vocabulary; after each step it is
//! held against the replica of the path, so that a trace cannot say something that the model did not do.

use fencepost_fixtures::compaction::{Compaction as Vocabulary, State};
use fencepost_fixtures::trace::{Behaviour, Body, Header, Origin, Protocol as ProtocolName, Step, Trace, TraceId};
use fencepost_fixtures::variants::{self, CompactionRules, Rules};
use fencepost_fixtures::{Document, KafkaError};
use stateright::Model;

use super::Compaction;
use super::bounds::Setting;
use super::catalogue::ORACLE;
use super::interpreter::{Interpreter, Reply};
use super::message::{Msg, Timer};
use super::mutant::Mutant;
use super::plan::{self, Planned};
use super::rendering::{Rendering, configure};
use crate::protocol::{Aim, Exported, Goal, Walk};
use crate::world::{Action, ActionOf, World, WorldState};

/// The steps of a trace.
pub type Behaved = Behaviour<Vocabulary>;
type Path = Vec<(WorldState<Compaction>, Option<ActionOf<Compaction>>)>;

/// The variant's name of a rule set.
fn variant_name(rules: &CompactionRules) -> Result<&'static str, String> {
    variants::of(ProtocolName::Compaction)
        .find(|variant| variant.rules == Rules::Compaction(*rules))
        .map(|variant| variant.name)
        .ok_or_else(|| "the rules are no variant's".to_owned())
}

/// Renders a path in the first size of segments in which the cleaner merges what the model merges.
fn render(world: &World<Compaction>, walk: &Walk<Compaction>, harm: &[Planned]) -> Result<Behaved, String> {
    let setting = &world.protocol.setting;
    let planned = plan::plan(&world.protocol, walk)?;
    let mut refused = Vec::new();
    for exact in [true, false] {
        let mut size = None;
        loop {
            let mut rendering = Rendering::new(&world.protocol, configure(setting, walk, size)?, exact)?;
            match rendering.follow(walk, &planned).and_then(|()| rendering.append(walk, harm)) {
                Ok(()) => return Ok(rendering.behaviour),
                Err(message) if !refused.contains(&message) => refused.push(message),
                Err(_) => {}
            }
            size = match size {
                None => Some(rendering.largest_segment()),
                Some(_) => break,
            };
        }
    }
    Err(refused.join("; "))
}

/// Renders as much of a path as a trace has words for: a follower that copies less than there is, or segments that no
/// size of theirs would merge so, end it.
fn longest(world: &World<Compaction>, walk: &Walk<Compaction>) -> Result<Behaved, String> {
    let mut beginning = walk.to_vec();
    loop {
        match render(world, &beginning, &[]) {
            Err(_) if beginning.len() > 1 => {
                beginning.pop();
                if let Some((_, action)) = beginning.last_mut() {
                    *action = None;
                }
            }
            rendered => return rendered,
        }
    }
}

fn document(
    id: TraceId,
    title: String,
    setting: &Setting,
    rests_on: Vec<String>,
    origin: Origin,
    behaviour: Behaved,
) -> Result<Document, String> {
    let header = Header {
        id,
        title,
        protocol: ProtocolName::Compaction,
        variant: variant_name(&setting.rules)?.to_owned(),
        mutant: (setting.mutant != Mutant::None).then(|| setting.mutant.name().to_owned()),
        holds_for: Vec::new(),
        origin,
        twin: None,
        rests_on,
        decisive: Some(behaviour.steps.len()),
    };
    Ok(Document::Compaction(Trace { header, body: Body::Behaviour(behaviour) }))
}

/// An origin that the exporter replaces.
fn to_be_set(configuration: &str) -> Origin {
    Origin::Written { source: configuration.to_owned() }
}

/// The configuration's bounds: the last word of its name.
fn bounds_name(configuration: &str) -> &str {
    configuration.rsplit('/').next().unwrap_or(configuration)
}

/// What shows the harm, where the last step of the path does not show it itself.
fn harm(goal: &Goal, walk: &Walk<Compaction>) -> Vec<Planned> {
    let (Aim::Violation(property), Some((state, _))) = (&goal.aim, walk.last()) else { return Vec::new() };
    match *property {
        // Where no round shows it, the next one does.
        "S12" | "S13" if !cleaned_last(walk) => plan::clean_all(state),
        "S1" | "S2" | "S8" | "S9" | "S10" | "S11" | "S13" => plan::read_all(state),
        "S16" | "S16'" => plan::replay(state),
        _ => Vec::new(),
    }
}

/// Whether the last step of a path is a round's.
fn cleaned_last(walk: &Walk<Compaction>) -> bool {
    let last = walk.iter().rev().find_map(|(_, action)| *action);
    matches!(last, Some(Action::Timeout(_, Timer::Clean { .. } | Timer::CleanGroup | Timer::FinishRound)))
}

/// Repeats a path's choices under other rules. A choice that does not exist there is left out. A follower that has all
/// that the leader has gets all of it there too.
fn repeat(world: &World<Compaction>, walk: &Walk<Compaction>) -> Path {
    let mut repeated = Vec::new();
    let Some(mut state) = world.init_states().into_iter().next() else { return repeated };
    for pair in walk.windows(2) {
        let [(_, Some(action)), (after, _)] = pair else { continue };
        let Some(same) = enabled(world, &state).into_iter().find(|other| same_choice(action, other)) else { continue };
        let Some(next) = world.next_state(&state, same) else { continue };
        repeated.push((std::mem::replace(&mut state, next), Some(same)));
        let copies = matches!(action, Action::Deliver(envelope) if matches!(envelope.msg, Msg::Replicated { .. }));
        while copies && is_behind(&state) && !is_behind(after) {
            let copy = |other: &ActionOf<Compaction>| {
                matches!(other, Action::Deliver(envelope)
                    if matches!(envelope.msg, Msg::Replicate { .. } | Msg::Replicated { .. }))
            };
            let Some(copy) = enabled(world, &state).into_iter().find(copy) else { break };
            let Some(next) = world.next_state(&state, copy) else { break };
            repeated.push((std::mem::replace(&mut state, next), Some(copy)));
        }
    }
    repeated.push((state, None));
    repeated
}

fn enabled(world: &World<Compaction>, state: &WorldState<Compaction>) -> Vec<ActionOf<Compaction>> {
    let mut enabled = Vec::new();
    world.actions(state, &mut enabled);
    enabled
}

/// Whether the second replica does not have all that the first has.
fn is_behind(state: &WorldState<Compaction>) -> bool {
    state.actors.other.as_ref().is_some_and(|other| other.log.end < state.actors.broker.log.end)
}

/// Whether two steps are the same choice: the same event, or a message of the same kind on the same way.
fn same_choice(one: &ActionOf<Compaction>, other: &ActionOf<Compaction>) -> bool {
    match (one, other) {
        (Action::Timeout(id, timer), Action::Timeout(other_id, other_timer)) => id == other_id && timer == other_timer,
        (Action::Deliver(one), Action::Deliver(other)) | (Action::Drop(one), Action::Drop(other)) => {
            (one.src, one.dst) == (other.src, other.dst)
                && std::mem::discriminant(&one.msg) == std::mem::discriminant(&other.msg)
        }
        _ => false,
    }
}

/// Whether a rule set meets every expectation of a behaviour.
pub fn meets(behaviour: &Behaved, rules: CompactionRules, mutant: Mutant) -> Result<bool, String> {
    let mut interpreter = Interpreter::new(&behaviour.configure, rules, mutant)?;
    for operation in &behaviour.setup {
        if interpreter.apply(None, operation)?.error.is_some() {
            return Ok(false);
        }
    }
    if !shows(&interpreter.observe(None)?, &behaviour.start) {
        return Ok(false);
    }
    for step in &behaviour.steps {
        let Reply { answer, error } = interpreter.apply(step.at.as_ref(), &step.operation)?;
        if answer != step.answer || error != step.error {
            return Ok(false);
        }
        if let Some(expected) = &step.state
            && !shows(&interpreter.observe(step.at.as_ref())?, expected)
        {
            return Ok(false);
        }
        for refusal in &step.refuse {
            if interpreter.clone().apply(refusal.at.as_ref(), &refusal.operation)?.error != Some(refusal.error) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether what can be observed is what is expected: partial, and complete within a part.
fn shows(seen: &State, expected: &State) -> bool {
    fn part<T: PartialEq>(expected: Option<&T>, seen: Option<&T>) -> bool {
        expected.is_none() || expected == seen
    }
    part(expected.log.as_ref(), seen.log.as_ref())
        && part(expected.bytes.as_ref(), seen.bytes.as_ref())
        && part(expected.segments.as_ref(), seen.segments.as_ref())
        && part(expected.aborted.as_ref(), seen.aborted.as_ref())
        && part(expected.producers.as_ref(), seen.producers.as_ref())
        && part(expected.log_start.as_ref(), seen.log_start.as_ref())
        && part(expected.log_end.as_ref(), seen.log_end.as_ref())
        && part(expected.last_stable.as_ref(), seen.last_stable.as_ref())
        && part(expected.first_dirty.as_ref(), seen.first_dirty.as_ref())
}

/// What a step asks and what comes of it, without its note and the refusals beside it.
fn outcome(step: &Step<Vocabulary>) -> impl PartialEq + use<> {
    (step.at.clone(), step.operation.clone(), step.answer.clone(), step.error, step.state.clone())
}

impl Exported for Compaction {
    fn errors() -> &'static [KafkaError] {
        &[KafkaError::InvalidProducerEpoch, KafkaError::OutOfOrderSequenceNumber]
    }

    fn unreached(label: &str) -> Option<&'static str> {
        super::goals::unreached(label)
    }

    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let behaviour = render(world, walk, &harm(goal, walk))?;
        let origin = to_be_set(&goal.configuration);
        let setting = &world.protocol.setting;
        document(goal.id.clone(), goal.title.clone(), setting, goal.rests_on.clone(), origin, behaviour)
    }

    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let id = goal.twin.clone().ok_or("the goal has no twin")?;
        let rules = super::catalogue::rules(ORACLE).ok_or("there is no oracle")?;
        let setting = Setting { rules, mutant: Mutant::None, ..world.protocol.setting };
        let right = World::new(Compaction::new(setting));
        let behaviour = render(&right, &repeat(&right, walk), &harm(goal, walk))?;
        // A twin that does the same would claim a repair that is none.
        if let Document::Compaction(Trace { body: Body::Behaviour(broken), .. }) = Self::trace(goal, world, walk)?
            && broken.steps.iter().map(outcome).eq(behaviour.steps.iter().map(outcome))
        {
            return Err("the oracle does the same, so that there is nothing for a twin to show".to_owned());
        }
        let configuration = format!("compaction/{ORACLE}/{}", bounds_name(&goal.configuration));
        let title = format!("{}: the same choices under the right rules", goal.title);
        let origin = Origin::Twin { of: goal.id.clone(), configuration };
        document(id, title, &setting, goal.rests_on.clone(), origin, behaviour)
    }

    fn holds_for(document: &Document) -> Vec<String> {
        let Document::Compaction(Trace { body: Body::Behaviour(behaviour), .. }) = document else { return Vec::new() };
        let mut names = Vec::new();
        for variant in variants::of(ProtocolName::Compaction) {
            if let Rules::Compaction(rules) = variant.rules
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
        let behaviour = longest(world, walk)?;
        let title = format!("Behaviour {number} of seed {seed}");
        let rests_on = vec!["KIP-534".to_owned()];
        document(id, title, &world.protocol.setting, rests_on, to_be_set(configuration), behaviour)
    }
}
