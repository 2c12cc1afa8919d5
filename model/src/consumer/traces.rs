//! Paths of the model as traces, their twins under the rules that are right, and which variants meet them.
//!
//! Which variants meet a trace is found when it is made, by making the same choices under each of them: equal steps are a
//! trace that is met.

use fencepost_fixtures::consumer::{Consumer as Vocabulary, Content, Operation, State};
use fencepost_fixtures::trace::{Behaviour, Body, Header, Origin, Protocol as ProtocolName, Step, Trace, TraceId};
use fencepost_fixtures::variants;
use fencepost_fixtures::{Document, KafkaError};
use stateright::Model;

use super::Consumer;
use super::bounds::Setting;
use super::mutant::Mutant;
use super::rendering::{Choice, Rendering};
use super::rules::{ORACLE, rules};
use crate::protocol::{Exported, Goal, Walk};
use crate::world::{Action, ActionOf, World, WorldState};

type Path = Vec<(WorldState<Consumer>, Option<ActionOf<Consumer>>)>;

/// A trace's body in the making: choices, and what they came to.
struct Rendered {
    behaviour: Behaviour<Vocabulary>,
    choices: Vec<Choice>,
}

fn begin(world: &World<Consumer>) -> Result<(Rendering<'_>, Behaviour<Vocabulary>), String> {
    let mut rendering = Rendering::new(world)?;
    let configure = rendering.configure()?;
    let setup = rendering.setup()?;
    let start = rendering.observe()?;
    Ok((rendering, Behaviour { configure, setup, start, steps: Vec::new() }))
}

fn render(world: &World<Consumer>, walk: &Walk<Consumer>) -> Result<Rendered, String> {
    let (mut rendering, behaviour) = begin(world)?;
    for action in walk.iter().filter_map(|(_, action)| action.as_ref()) {
        rendering.take(action)?;
    }
    Ok(Rendered { behaviour: Behaviour { steps: rendering.steps, ..behaviour }, choices: rendering.choices })
}

/// A setting under another variant, without a slip.
fn under(setting: &Setting, variant: &'static str) -> Option<Setting> {
    Some(Setting { variant, rules: rules(variant)?, mutant: Mutant::None, bounds: setting.bounds })
}

/// Whether what is said of the consumer's memory differs: variants that remember nothing say nothing of it.
fn plain(state: Option<&State>) -> Option<State> {
    let mut state = state?.clone();
    if let Some(consumer) = &mut state.consumer {
        consumer.history = None;
    }
    Some(state)
}

fn same(one: &Step<Vocabulary>, other: &Step<Vocabulary>, remembers: bool) -> bool {
    let memory = !remembers || one.state == other.state;
    let state = plain(one.state.as_ref()) == plain(other.state.as_ref());
    memory
        && state
        && (&one.at, &one.operation, &one.answer, &one.sends)
            == (&other.at, &other.operation, &other.answer, &other.sends)
}

/// Whether a variant makes of the same choices what the trace says.
fn meets(rendered: &Rendered, theirs: Setting) -> Result<bool, String> {
    let world = World::new(Consumer::new(theirs));
    let (mut rendering, behaviour) = begin(&world)?;
    let remembers = |state: &State| state.consumer.as_ref().is_some_and(|consumer| consumer.history.is_some());
    let told = remembers(&rendered.behaviour.start);
    if plain(Some(&behaviour.start)) != plain(Some(&rendered.behaviour.start)) || told && !remembers(&behaviour.start) {
        return Ok(false);
    }
    for choice in &rendered.choices {
        let Some(action) = rendering.action(choice) else { return Ok(false) };
        rendering.take(&action)?;
        let made = rendering.steps.len();
        let Some(said) = rendered.behaviour.steps.get(..made) else { return Ok(false) };
        if !said.iter().zip(&rendering.steps).all(|(one, other)| same(one, other, told)) {
            return Ok(false);
        }
    }
    Ok(rendering.steps.len() == rendered.behaviour.steps.len())
}

/// Whether a variant differs from the oracle only by a call of the application which the trace does not have: what its
/// application would do by itself is another behaviour, but the client does what the trace says.
fn lacks_its_call(variant: &str, rendered: &Rendered) -> bool {
    let mut operations = rendered.behaviour.steps.iter().map(|step| &step.operation);
    match variant {
        "seek-to-nearest" => !operations.any(|operation| matches!(operation, Operation::SeekToNearest(_))),
        "history-kept" => {
            operations.any(|operation| matches!(operation, Operation::Assign(assign) if assign.history.is_none()))
        }
        _ => false,
    }
}

/// Whether a broker refuses a request for another topic, which takes topic ids.
fn refuses_a_topic(rendered: &Rendered) -> bool {
    let mut sent = rendered.behaviour.steps.iter().flat_map(|step| step.sends.values());
    sent.any(|message| matches!(message.content, Content::FetchReply(Err(KafkaError::UnknownTopicId))))
}

fn met_by(rendered: &Rendered, setting: &Setting) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let Some(right) = under(setting, ORACLE) else { return Ok(names) };
    let right_meets = meets(rendered, right)?;
    for variant in variants::of(ProtocolName::Consumer) {
        let Some(theirs) = under(setting, variant.name) else { continue };
        let meets = meets(rendered, theirs)? || right_meets && lacks_its_call(variant.name, rendered);
        if meets && !(variant.name == "partition-epoch" && refuses_a_topic(rendered)) {
            names.push(variant.name.to_owned());
        }
    }
    Ok(names)
}

fn document(
    id: TraceId,
    title: String,
    setting: &Setting,
    rests_on: Vec<String>,
    origin: Origin,
    rendered: Rendered,
) -> Result<Document, String> {
    let header = Header {
        id,
        title,
        protocol: ProtocolName::Consumer,
        variant: setting.variant.to_owned(),
        mutant: (setting.mutant != Mutant::None).then(|| setting.mutant.name().to_owned()),
        holds_for: met_by(&rendered, setting)?,
        origin,
        twin: None,
        rests_on,
        decisive: Some(rendered.behaviour.steps.len()),
    };
    Ok(Document::Consumer(Trace { header, body: Body::Behaviour(rendered.behaviour) }))
}

/// An origin that the exporter replaces.
fn to_be_set(configuration: &str) -> Origin {
    Origin::Written { source: configuration.to_owned() }
}

/// Which rules the twin of a counterexample has: those of the thread's own repair where the oracle promises nothing.
fn right(setting: &Setting) -> &'static str {
    match setting.variant {
        "leader-detects-not-after-seek" => "leader-detects",
        "find-offsets" => "find-offsets-and-cache",
        "list-offsets-epoch" if setting.mutant != Mutant::None => "list-offsets-epoch",
        "kip-320" if setting.mutant != Mutant::None => "kip-320",
        "epoch-cache" => "history-kept",
        _ => ORACLE,
    }
}

/// Repeats a path's choices under other rules. A choice that does not exist there is left out.
fn repeat(world: &World<Consumer>, walk: &Walk<Consumer>) -> Path {
    let mut repeated = Vec::new();
    let Some(mut state) = world.init_states().into_iter().next() else { return repeated };
    for action in walk.iter().filter_map(|(_, action)| action.as_ref()) {
        let mut enabled = Vec::new();
        world.actions(&state, &mut enabled);
        let same = enabled.iter().find(|other| *other == action);
        let Some(same) = same.or_else(|| enabled.iter().find(|other| same_choice(action, other))).copied() else {
            continue;
        };
        let Some(next) = world.next_state(&state, same) else { continue };
        repeated.push((std::mem::replace(&mut state, next), Some(same)));
    }
    repeated.push((state, None));
    repeated
}

/// Whether two steps are the same choice: the same event, or a message of the same kind on the same way.
fn same_choice(one: &ActionOf<Consumer>, other: &ActionOf<Consumer>) -> bool {
    use super::message::{Target, Timer};
    match (one, other) {
        (Action::Timeout(_, Timer::Seek(Target::Nearest)), Action::Timeout(_, Timer::Seek(Target::Stored))) => true,
        (Action::Timeout(id, timer), Action::Timeout(other_id, other_timer)) => id == other_id && timer == other_timer,
        (Action::Deliver(one), Action::Deliver(other)) => {
            one.dst == other.dst
                && super::words::place(&one.msg) == super::words::place(&other.msg)
                && std::mem::discriminant(&one.msg) == std::mem::discriminant(&other.msg)
        }
        _ => false,
    }
}

impl Exported for Consumer {
    fn errors() -> &'static [KafkaError] {
        &[
            KafkaError::FencedLeaderEpoch,
            KafkaError::UnknownLeaderEpoch,
            KafkaError::NotLeaderOrFollower,
            KafkaError::OffsetOutOfRange,
            KafkaError::UnknownTopicId,
            KafkaError::LogTruncation,
            KafkaError::OffsetNotAvailable,
        ]
    }

    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let origin = to_be_set(&goal.configuration);
        let setting = &world.protocol.setting;
        document(goal.id.clone(), goal.title.clone(), setting, goal.rests_on.clone(), origin, render(world, walk)?)
    }

    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let id = goal.twin.clone().ok_or("the goal has no twin")?;
        let repair = right(&world.protocol.setting);
        let setting = under(&world.protocol.setting, repair).ok_or("there is no such variant")?;
        let right = World::new(Consumer::new(setting));
        let rendered = render(&right, &repeat(&right, walk))?;
        // A twin that does the same would claim a repair that is none.
        let broken = render(world, walk)?.behaviour;
        if broken.steps == rendered.behaviour.steps {
            return Err("the right rules do the same, so that there is nothing for a twin to show".to_owned());
        }
        let bounds = goal.configuration.rsplit('/').next().unwrap_or(&goal.configuration);
        let configuration = format!("consumer/{repair}/{bounds}");
        let title = format!("{}: the same choices under the right rules", goal.title);
        let origin = Origin::Twin { of: goal.id.clone(), configuration };
        document(id, title, &setting, goal.rests_on.clone(), origin, rendered)
    }

    fn holds_for(document: &Document) -> Vec<String> {
        document.header().holds_for.clone()
    }

    fn behaviour(
        id: TraceId,
        configuration: &str,
        seed: u64,
        number: u64,
        world: &World<Self>,
        walk: &Walk<Self>,
    ) -> Result<Document, String> {
        let title = format!("Behaviour {number} of seed {seed}");
        let rests_on = vec!["KIP-320".to_owned()];
        document(id, title, &world.protocol.setting, rests_on, to_be_set(configuration), render(world, walk)?)
    }
}
