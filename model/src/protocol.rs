//! What the checker, the explorer and the exporter ask of a protocol.
//!
//! [`Protocol`] is the model itself: actors, messages, timers, properties, and words for people. [`Catalogue`] is the
//! list of what there is to run: configurations and goals. [`Exported`] turns a path of the model into a trace.

use std::fmt;
use std::hash::Hash;

use fencepost_fixtures::trace::TraceId;
use fencepost_fixtures::{Document, KafkaError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stateright::actor::Actor;

use crate::walks::Walks;
use crate::world::{ActionOf, World, WorldState};

/// A state with the action taken from it; the last state of a path has none. As Stateright's `Path::into_vec`.
pub type Walk<P> = [(WorldState<P>, Option<ActionOf<P>>)];

/// A protocol with its variant, its mutant if any, and its bounds: all that a run needs.
pub trait Protocol: Clone + fmt::Debug + Send + Sync + Sized + 'static {
    /// A message. Append variants, never insert them: the order names the paths.
    type Msg: Copy + Ord + Hash + fmt::Debug + Serialize + DeserializeOwned + Send + Sync;
    /// A timer, or something that an actor may do of its own accord. Append variants.
    type Timer: Copy + Ord + Hash + fmt::Debug + Serialize + DeserializeOwned + Send + Sync;
    /// The state of one actor, whichever it is.
    type ActorState: Clone + PartialEq + Hash + fmt::Debug;
    /// Any of the protocol's actors.
    type Actor: Actor<Msg = Self::Msg, Timer = Self::Timer, State = Self::ActorState, Random = (), Storage = ()>
        + Clone
        + fmt::Debug
        + Send
        + Sync;
    /// The states of all actors together, packed. Its `Hash` should be a few writes of packed words: all of it is hashed
    /// for every state that is generated.
    type Actors: Clone + Eq + Hash + Serialize + DeserializeOwned + Send + Sync;

    /// The protocol's name, as in a configuration's.
    const NAME: &'static str;

    /// The actors, by index.
    fn actors(&self) -> &[Self::Actor];
    /// Packs the actors' states.
    fn pack(&self, states: Vec<Self::ActorState>) -> Self::Actors;
    /// The state of one actor.
    fn actor_state(&self, actors: &Self::Actors, id: u8) -> Self::ActorState;
    /// Replaces the state of one actor.
    fn set_actor_state(&self, actors: &mut Self::Actors, id: u8, state: Self::ActorState);
    /// The timers that are set at `id`, in ascending order: a pure function of the actor's state (and of constants).
    fn timers(&self, actors: &Self::Actors, id: u8, each: &mut dyn FnMut(Self::Timer));
    /// Whether messages can be lost.
    fn lossy(&self) -> bool {
        false
    }

    /// The properties, in the order of the specification. The bit of a property about steps is its place in this list.
    fn properties(&self) -> &'static [Claim<Self>];
    /// The properties about steps that this step violates, one bit each.
    fn step_violations(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> u32 {
        let _ = (before, action, after);
        0
    }
    /// Whether nothing is in flight, no fault or environment step is left, and each periodic action, taken and answered,
    /// leads back to the same state. Liveness is claimed of such states.
    fn is_quiescent(world: &World<Self>, state: &WorldState<Self>) -> bool;

    /// The names of the labels that steps can have: handler, row of a table, what changed. Every label of every
    /// configuration, so that a dead one shows. At most 256.
    fn label_names(&self) -> &'static [&'static str];
    /// The labels of a step.
    fn labels(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> Vec<u16>;

    /// A state for a reader of the explorer: `member a: epoch 2, stable, owns t-0@1`.
    fn describe_state(state: &WorldState<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// An action in a few words: `a heartbeats, owning t-0`.
    fn describe_action(&self, action: &ActionOf<Self>) -> String;
    /// A step in one or two lines: what happened, and what became of it.
    fn describe_step(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> String;
    /// The name of the actor `id` in a diagram: `coordinator`, `a`, `b`.
    fn actor_name(&self, id: u8) -> String;
    /// The columns of a diagram: one an actor, unless an actor stands for several places.
    fn lanes(&self) -> Vec<String> {
        (0..self.actors().len()).map(|id| self.actor_name(u8::try_from(id).unwrap_or(u8::MAX))).collect()
    }
    /// The column of the actor `id` as the sender or receiver of a message.
    fn lane(&self, id: u8, msg: &Self::Msg) -> u8 {
        let _ = msg;
        id
    }
    /// The column in which something happens at the actor `id`.
    fn lane_of_timer(&self, id: u8, timer: &Self::Timer) -> u8 {
        let _ = timer;
        id
    }
    /// A message by name, for an arrow of a diagram: `heartbeat 2 {t-0}`.
    fn describe_message(&self, msg: &Self::Msg) -> String;
    /// A sequence diagram of a path, as SVG. The default draws one line an actor and one arrow a delivery.
    fn diagram(&self, walk: &Walk<Self>) -> Option<String> {
        crate::diagram::svg(self, walk)
    }
}

/// A property: always true, in every state of every path.
pub struct Claim<P: Protocol> {
    /// Its id in the specification: `S3`.
    pub id: &'static str,
    /// The statement, in one line.
    pub statement: &'static str,
    /// The assumption under which it is claimed; empty where there is none.
    pub assumption: &'static str,
    /// Whether it holds in a state. A property about steps looks at its bit of [`WorldState::violated`].
    pub holds: fn(&World<P>, &WorldState<P>) -> bool,
    /// Whether the state makes the property say something: its antecedent. A property whose antecedent is never
    /// reached is dead, and `check` says so.
    pub applies: fn(&World<P>, &WorldState<P>) -> bool,
}

/// How much a configuration takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Part of `check` without `--all`.
    Smoke,
    /// Part of `check --all`.
    Full,
}

/// What there is to run of a protocol.
pub trait Catalogue: Protocol {
    /// The configurations by name: protocol / variant [+ mutant] / bounds. In the order of the report.
    fn configurations() -> Vec<Configuration<Self>>;
    /// The goals of the exporter.
    fn goals() -> Vec<Goal>;
}

/// One configuration.
#[derive(Clone, Debug)]
pub struct Configuration<P> {
    /// Its name, a path.
    pub name: String,
    /// When it is run.
    pub tier: Tier,
    /// Why its bounds are what they are, in a line.
    pub reason: &'static str,
    /// The walks that are taken where the states can't be exhausted; none where they can.
    pub walks: Option<Walks>,
    /// The model.
    pub protocol: P,
}

/// What a trace is exported for.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The trace's id.
    pub id: TraceId,
    /// The trace's title.
    pub title: String,
    /// The configuration's name.
    pub configuration: String,
    /// What is looked for.
    pub aim: Aim,
    /// What the trace rests on.
    pub rests_on: Vec<String>,
    /// The id of the twin under the oracle, for a counterexample.
    pub twin: Option<TraceId>,
}

/// What a goal looks for: the shortest path to it is exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Aim {
    /// A state that violates the property.
    Violation(&'static str),
    /// A step that has all of these labels.
    Label(Vec<&'static str>),
}

/// Turns paths of the model into traces. A protocol whose traces are not written yet has the defaults: its export fails,
/// and everything else works.
pub trait Exported: Catalogue {
    /// The errors that the protocol's requests can be refused with: the end of `export` tells which no trace names.
    #[must_use]
    fn errors() -> &'static [KafkaError] {
        KafkaError::ALL
    }
    /// Why no trace has a label, or names an error, where that is meant: the end of `export` says so. `None`: it is not
    /// meant.
    #[must_use]
    fn unreached(label: &str) -> Option<&'static str> {
        let _ = label;
        None
    }
    /// The trace of a path. The exporter sets `origin`, `twin` and `holds_for` of its header. For a counterexample, the
    /// delivery that does the harm is appended where the property is about what could be delivered now. Refusals are
    /// asked where they are new.
    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let _ = (goal, world, walk);
        Err(format!("the traces of {} are not written yet", Self::NAME))
    }
    /// The twin: the same choices under the oracle. The exporter sets `holds_for` of its header.
    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let _ = (goal, world, walk);
        Err(format!("the traces of {} are not written yet", Self::NAME))
    }
    /// The variants that meet every expectation of the trace.
    #[must_use]
    fn holds_for(document: &Document) -> Vec<String> {
        let _ = document;
        Vec::new()
    }
    /// A random behaviour as a trace, for `simulate`. The exporter sets `origin` and `holds_for` of its header.
    fn behaviour(
        id: TraceId,
        configuration: &str,
        seed: u64,
        number: u64,
        world: &World<Self>,
        walk: &Walk<Self>,
    ) -> Result<Document, String> {
        let _ = (id, configuration, seed, number, world, walk);
        Err(format!("the traces of {} are not written yet", Self::NAME))
    }
}
