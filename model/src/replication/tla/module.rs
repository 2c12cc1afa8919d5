//! A TLA+ module under the checker: a state, actions that are guards and effects, invariants.
//!
//! A [`Module`] has no actors and sends no message; each of its steps is atomic. So that the commands serve it like any
//! other protocol, it runs under [`World`] as one actor whose "timers" are the steps that are enabled.

use std::borrow::Cow;
use std::fmt::{self, Debug};
use std::hash::Hash;

use fencepost_fixtures::Document;
use fencepost_fixtures::trace::TraceId;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use stateright::actor::{Actor, Id, Out};

use crate::protocol::{Catalogue, Claim, Configuration, Exported, Goal, Protocol, Walk};
use crate::world::{Action, ActionOf, World, WorldState};

/// A TLA+ module with its constants.
pub trait Module: Clone + Debug + Send + Sync + Sized + 'static {
    /// The variables.
    type State: Copy + Eq + Hash + Debug + Serialize + DeserializeOwned + Send + Sync;
    /// A disjunct of `Next` with the values that its quantifiers choose: one successor for TLC, even where another
    /// disjunct leads to the same state.
    type Step: Copy + Ord + Hash + Debug + Serialize + DeserializeOwned + Send + Sync;

    /// The name of its matrix.
    const NAME: &'static str;
    /// The disjuncts, for coverage.
    const LABELS: &'static [&'static str];
    /// The invariants.
    const CLAIMS: &'static [Claim<Tla<Self>>];

    /// `Init`.
    fn initial(&self) -> Self::State;
    /// The steps of `Next` that are enabled.
    fn enabled(&self, state: &Self::State, each: &mut dyn FnMut(Self::Step));
    /// Takes a step; `None` where its guard does not hold.
    fn next(&self, state: &Self::State, step: Self::Step) -> Option<Self::State>;
    /// The disjunct of a step, by its place among the labels.
    fn label(state: &Self::State, step: Self::Step) -> u16;
    /// A state, for a reader.
    fn describe(state: &Self::State, formatter: &mut fmt::Formatter<'_>) -> fmt::Result;
    /// A step in a few words.
    fn describe_step(&self, step: Self::Step) -> String;
    /// What there is to run.
    fn configurations() -> Vec<Configuration<Tla<Self>>>;
}

/// There are no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum NoMessage {}

/// The one actor, which is everything.
#[derive(Clone, Debug)]
pub struct Everything<M>(M);

impl<M: Module> Actor for Everything<M> {
    type Msg = NoMessage;
    type Timer = M::Step;
    type State = M::State;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> M::State {
        self.0.initial()
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, M::State>, step: &M::Step, _: &mut Out<Self>) {
        // A step that leads back to the same state is a step all the same: TLC counts it.
        if let Some(next) = self.0.next(state, *step) {
            *state.to_mut() = next;
        }
    }
}

/// A module as a protocol.
#[derive(Clone, Debug)]
pub struct Tla<M> {
    actors: [Everything<M>; 1],
}

impl<M> Tla<M> {
    /// A module as a protocol.
    pub fn new(module: M) -> Self {
        Self { actors: [Everything(module)] }
    }

    /// The module.
    pub fn module(&self) -> &M {
        let [Everything(module)] = &self.actors;
        module
    }
}

const NO_TRACE: &str = "a TLA+ module has atomic steps, without any message that a target could be sent; its paths can \
                        be checked, explored and shown, but they are no traces";

impl<M: Module> Protocol for Tla<M> {
    type Msg = NoMessage;
    type Timer = M::Step;
    type ActorState = M::State;
    type Actor = Everything<M>;
    type Actors = M::State;

    const NAME: &'static str = M::NAME;

    fn actors(&self) -> &[Everything<M>] {
        &self.actors
    }
    fn pack(&self, states: Vec<M::State>) -> M::State {
        states.first().copied().unwrap_or_else(|| self.module().initial())
    }
    fn actor_state(&self, actors: &M::State, _: u8) -> M::State {
        *actors
    }
    fn set_actor_state(&self, actors: &mut M::State, _: u8, state: M::State) {
        *actors = state;
    }
    fn timers(&self, actors: &M::State, _: u8, each: &mut dyn FnMut(M::Step)) {
        self.module().enabled(actors, each);
    }
    fn properties(&self) -> &'static [Claim<Self>] {
        M::CLAIMS
    }
    fn is_quiescent(world: &World<Self>, state: &WorldState<Self>) -> bool {
        let mut quiescent = true;
        world.protocol.module().enabled(&state.actors, &mut |_| quiescent = false);
        quiescent
    }
    fn label_names(&self) -> &'static [&'static str] {
        M::LABELS
    }
    fn labels(&self, before: &WorldState<Self>, action: &ActionOf<Self>, _: &WorldState<Self>) -> Vec<u16> {
        match action {
            Action::Timeout(_, step) => vec![M::label(&before.actors, *step)],
            Action::Deliver(_) | Action::Drop(_) => Vec::new(),
        }
    }
    fn describe_state(state: &WorldState<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        M::describe(&state.actors, formatter)
    }
    fn describe_action(&self, action: &ActionOf<Self>) -> String {
        match action {
            Action::Timeout(_, step) => self.module().describe_step(*step),
            Action::Deliver(envelope) | Action::Drop(envelope) => self.describe_message(&envelope.msg),
        }
    }
    fn describe_step(&self, _: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> String {
        format!("{}\n{after:?}", self.describe_action(action)).trim_end().to_owned()
    }
    fn actor_name(&self, _: u8) -> String {
        M::NAME.to_owned()
    }
    fn describe_message(&self, msg: &NoMessage) -> String {
        match *msg {}
    }
}

impl<M: Module> Catalogue for Tla<M> {
    fn configurations() -> Vec<Configuration<Self>> {
        M::configurations()
    }
    fn goals() -> Vec<Goal> {
        Vec::new()
    }
}

impl<M: Module> Exported for Tla<M> {
    fn trace(_: &Goal, _: &World<Self>, _: &Walk<Self>) -> Result<Document, String> {
        Err(NO_TRACE.to_owned())
    }
    fn twin(_: &Goal, _: &World<Self>, _: &Walk<Self>) -> Result<Document, String> {
        Err(NO_TRACE.to_owned())
    }
    fn behaviour(_: TraceId, _: &str, _: u64, _: u64, _: &World<Self>, _: &Walk<Self>) -> Result<Document, String> {
        Err(NO_TRACE.to_owned())
    }
}
