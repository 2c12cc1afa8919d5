//! Paths of the model as traces, their twins under the oracle, and which variants meet them.
//!
//! Which variants meet a trace is found when it is made, by making the same choices under each of them: equal steps are a
//! trace that is met.

use fencepost_fixtures::replication::{Replication as Vocabulary, State};
use fencepost_fixtures::trace::{Behaviour, Body, Header, Origin, Protocol as ProtocolName, Step, Trace, TraceId};
use fencepost_fixtures::variants;
use fencepost_fixtures::{Document, KafkaError};
use stateright::Model;

use super::Replication;
use super::bounds::{Bounds, Setting};
use super::log::MAX_BROKERS;
use super::message::Timer;
use super::mutant::Mutant;
use super::rendering::{Choice, Rendering};
use super::rules::{ORACLE, Rules, rules};
use crate::protocol::{Exported, Goal, Walk};
use crate::world::{Action, ActionOf, World, WorldState};

type Path = Vec<(WorldState<Replication>, Option<ActionOf<Replication>>)>;

/// The variant that the brokers follow that have no rules of their own.
fn variant_name(setting: &Setting) -> Result<&'static str, String> {
    let place = setting.others.iter().position(Option::is_none).ok_or("each broker has rules of its own")?;
    let wanted = &setting.rules[place];
    let mut names = variants::of(ProtocolName::Replication).map(|variant| variant.name);
    names.find(|name| rules(name).as_ref() == Some(wanted)).ok_or_else(|| "the rules are no variant's".to_owned())
}

/// What a slip is called in traces, where targets have to know it.
fn slip(mutant: Mutant) -> &'static str {
    match mutant {
        Mutant::CacheNotCleaned => "empty-epoch-kept",
        Mutant::FollowsNewLeaderOnly => "follows-only-new-leader",
        Mutant::EpochStartIgnored => "joins-below-epoch-start",
        Mutant::DivergingHighWatermark => "diverging-high-watermark-used",
        Mutant::CommittedIsr => "committed-isr-only",
        Mutant::BrokerEpochUnchecked => "broker-epoch-ignored",
        Mutant::FencedMayJoin => "fenced-replica-joins",
        Mutant::PartitionEpochUnchecked => "partition-epoch-ignored",
        Mutant::HighWatermarkBelowMinIsr => "rises-under-min-isr",
        Mutant::FollowerAnswers => "non-leader-answers-epoch-end",
        Mutant::LatestAtOnce => "latest-before-epoch-start",
        Mutant::LastEpochLost => "empty-reply-forgets-epoch",
        Mutant::NoEpochToHighWatermark => "no-epoch-means-high-watermark",
        Mutant::UnknownEpochToHighWatermark => "no-own-epoch-means-high-watermark",
        Mutant::MinWithHighWatermark => "no-epoch-bounded-by-high-watermark",
        Mutant::StepUnbounded => "intermediate-unbounded",
        Mutant::AnswerOfAnyEpoch => "late-epoch-answer-used",
        other => other.name(),
    }
}

/// A trace's body in the making: choices, and what they came to.
struct Rendered {
    behaviour: Behaviour<Vocabulary>,
    choices: Vec<Choice>,
}

fn begin(world: &World<Replication>) -> Result<(Rendering<'_>, Behaviour<Vocabulary>), String> {
    let setting = &world.protocol.setting;
    let mut rendering = Rendering::new(world)?;
    let own = |id: u8| setting.others[usize::from(id)].map(ToOwned::to_owned);
    let configure = rendering.configure(own)?;
    let setup = rendering.setup()?;
    let start = rendering.observe()?;
    Ok((rendering, Behaviour { configure, setup, start, steps: Vec::new() }))
}

fn render(world: &World<Replication>, walk: &Walk<Replication>) -> Result<Rendered, String> {
    let (mut rendering, behaviour) = begin(world)?;
    for action in walk.iter().filter_map(|(_, action)| action.as_ref()) {
        rendering.take(action)?;
    }
    Ok(Rendered { behaviour: Behaviour { steps: rendering.steps, ..behaviour }, choices: rendering.choices })
}

/// Whether a rule set, without a slip, makes of the same choices what the trace says.
fn meets(rendered: &Rendered, setting: &Setting, theirs: Rules) -> Result<bool, String> {
    let mut rules = setting.rules;
    for (own, other) in rules.iter_mut().zip(setting.others) {
        // A broker of other rules than the trace's keeps them.
        if other.is_none() {
            *own = theirs;
        }
    }
    let world = World::new(Replication::new(Setting { rules, mutant: Mutant::None, ..*setting }));
    let (mut rendering, behaviour) = begin(&world)?;
    if behaviour.start != rendered.behaviour.start {
        return Ok(false);
    }
    for choice in &rendered.choices {
        let Some(action) = rendering.action(choice) else { return Ok(false) };
        rendering.take(&action)?;
        let made = rendering.steps.len();
        if rendered.behaviour.steps.get(..made) != Some(&rendering.steps[..]) {
            return Ok(false);
        }
    }
    Ok(rendering.steps.len() == rendered.behaviour.steps.len())
}

fn met_by(rendered: &Rendered, setting: &Setting) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    for variant in variants::of(ProtocolName::Replication) {
        if let Some(theirs) = rules(variant.name)
            && meets(rendered, setting, theirs)?
        {
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
        protocol: ProtocolName::Replication,
        variant: variant_name(setting)?.to_owned(),
        mutant: (setting.mutant != Mutant::None).then(|| slip(setting.mutant).to_owned()),
        holds_for: met_by(&rendered, setting)?,
        origin,
        twin: None,
        rests_on,
        decisive: Some(rendered.behaviour.steps.len()),
    };
    Ok(Document::Replication(Trace { header, body: Body::Behaviour(rendered.behaviour) }))
}

/// An origin that the exporter replaces.
fn to_be_set(configuration: &str) -> Origin {
    Origin::Written { source: configuration.to_owned() }
}

/// The configuration's bounds: the last word of its name. Where versions are mixed, those of the scenario that they are
/// mixed in: under the oracle everybody has the same rules.
fn bounds_name(configuration: &str) -> &str {
    match configuration.rsplit('/').next().unwrap_or(configuration) {
        "old-broker-lost-message" | "protocol-raised-at-a-lost-message" | "lost-message-in-an-old-format" => {
            "lost-message"
        }
        "old-broker-fast-fail-over" | "protocol-raised-at-a-fast-fail-over" => "fast-fail-over",
        name => name,
    }
}

/// Repeats a path's choices under other rules. A choice that does not exist there is left out.
fn repeat(world: &World<Replication>, walk: &Walk<Replication>) -> Path {
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
fn same_choice(one: &ActionOf<Replication>, other: &ActionOf<Replication>) -> bool {
    match (one, other) {
        (Action::Timeout(id, Timer::Apply(image)), Action::Timeout(other_id, Timer::Apply(other))) => {
            id == other_id && image.index == other.index
        }
        (Action::Timeout(id, timer), Action::Timeout(other_id, other_timer)) => id == other_id && timer == other_timer,
        (Action::Deliver(one), Action::Deliver(other)) => {
            (one.src, one.dst) == (other.src, other.dst)
                && std::mem::discriminant(&one.msg) == std::mem::discriminant(&other.msg)
        }
        _ => false,
    }
}

/// What a step asks and what comes of it, without its note.
fn outcome(step: &Step<Vocabulary>) -> impl PartialEq + use<> {
    let state: Option<State> = step.state.clone();
    (step.at.clone(), step.operation.clone(), step.answer.clone(), step.error, step.completes.clone(), state)
}

impl Exported for Replication {
    fn errors() -> &'static [KafkaError] {
        &[
            KafkaError::FencedLeaderEpoch,
            KafkaError::UnknownLeaderEpoch,
            KafkaError::NotLeaderOrFollower,
            KafkaError::OffsetOutOfRange,
            KafkaError::InvalidUpdateVersion,
            KafkaError::IneligibleReplica,
            KafkaError::NotEnoughReplicasAfterAppend,
        ]
    }

    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let origin = to_be_set(&goal.configuration);
        let setting = &world.protocol.setting;
        document(goal.id.clone(), goal.title.clone(), setting, goal.rests_on.clone(), origin, render(world, walk)?)
    }

    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let id = goal.twin.clone().ok_or("the goal has no twin")?;
        let right = rules(ORACLE).ok_or("there is no oracle")?;
        let others = [None; MAX_BROKERS];
        // Right is a message format with epochs, too.
        let bounds = Bounds { old_formats: 0, ..world.protocol.setting.bounds };
        let setting = Setting { rules: [right; MAX_BROKERS], others, mutant: Mutant::None, bounds };
        let right = World::new(Replication::new(setting));
        let rendered = render(&right, &repeat(&right, walk))?;
        // A twin that does the same would claim a repair that is none.
        let broken = render(world, walk)?.behaviour;
        if broken.steps.iter().map(outcome).eq(rendered.behaviour.steps.iter().map(outcome)) {
            return Err("the oracle does the same, so that there is nothing for a twin to show".to_owned());
        }
        let configuration = format!("replication/{ORACLE}/{}", bounds_name(&goal.configuration));
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
