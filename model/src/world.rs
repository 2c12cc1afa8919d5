//! The one Stateright [`Model`] under which every protocol's actors run.
//!
//! A protocol is a set of Stateright [`Actor`]s. Stateright's own `ActorModel` could run them, and a test for each
//! protocol does so at a small bound, to show equal counts and equal paths; but it costs about two and a half times as
//! much, its states can't leave the process, and it has traps (see `docs/architecture.md`). This model has the same
//! meaning and lists its actions in the same order:
//!
//! 1. with a lossy network, each message in flight is dropped;
//! 2. each message in flight is delivered, by sender, receiver and content;
//! 3. each timer that is set runs out, by actor and timer.
//!
//! The network is unordered and does not duplicate: a multiset of envelopes, kept sorted. Two differences to
//! `ActorModel` are deliberate. Which timers are set is a pure function of an actor's state ([`Protocol::timers`]), so it
//! is neither stored nor hashed. And a step may be marked as a violation of a property about steps
//! ([`Protocol::step_violations`]); the marks are part of the state, and zero in every state of a protocol that holds.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use stateright::actor::{Actor, Command, Id, Out};
use stateright::{Model, Path, Property};

use crate::protocol::{Claim, Protocol};

/// A message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Envelope<M> {
    /// The sender's index.
    pub src: u8,
    /// The receiver's index.
    pub dst: u8,
    /// What it says.
    pub msg: M,
}

/// The messages in flight, sorted; equal ones stand side by side.
pub type Network<M> = SmallVec<[Envelope<M>; 6]>;

/// A state of the whole system: plain data.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
pub struct WorldState<P: Protocol> {
    /// The actors' states, in the protocol's own packing.
    pub actors: P::Actors,
    /// The messages in flight.
    pub network: Network<P::Msg>,
    /// The properties about steps that the path to this state has violated; see [`Protocol::step_violations`].
    pub violated: u32,
}

impl<P: Protocol> Clone for WorldState<P> {
    fn clone(&self) -> Self {
        Self { actors: self.actors.clone(), network: self.network.clone(), violated: self.violated }
    }
}

impl<P: Protocol> PartialEq for WorldState<P> {
    fn eq(&self, other: &Self) -> bool {
        self.actors == other.actors && self.network == other.network && self.violated == other.violated
    }
}

impl<P: Protocol> Eq for WorldState<P> {}

impl<P: Protocol> Hash for WorldState<P> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.actors.hash(hasher);
        // The length comes first, so that no message can be taken for a part of what follows.
        self.network.hash(hasher);
        self.violated.hash(hasher);
    }
}

impl<P: Protocol> fmt::Debug for WorldState<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        P::describe_state(self, formatter)
    }
}

/// One step of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Action<M, T> {
    /// A message is lost.
    Drop(Envelope<M>),
    /// A message arrives.
    Deliver(Envelope<M>),
    /// A timer runs out, or an actor does something of its own accord.
    Timeout(u8, T),
}

/// A step of the protocol `P`.
pub type ActionOf<P> = Action<<P as Protocol>::Msg, <P as Protocol>::Timer>;

/// What a run reports while it goes on, and by what it is told to stop. Shared with the thread that watches it.
#[derive(Debug, Default)]
pub struct Control {
    /// Set to end the run early: no further state is expanded. The verdict is then "cut short".
    pub stop: AtomicBool,
    /// The properties that some state violated, one bit each; see [`World::observe`].
    pub failed: AtomicU64,
    /// The properties whose antecedent some state met, one bit each; see [`World::observe`].
    pub applied: AtomicU64,
    /// The first event that its handler ignored: neither a new state nor an answer. `ActorModel` would silently take
    /// such a step for none, so a protocol must not have one.
    pub ignored: OnceLock<String>,
}

/// A protocol's actors and network, as a model to check.
#[derive(Clone)]
pub struct World<P: Protocol> {
    /// The protocol with its variant, mutant and bounds.
    pub protocol: P,
    /// The properties that this run checks.
    pub properties: Vec<Property<World<P>>>,
    /// Whether violations of properties about steps are marked in the state. Only a comparison with `ActorModel`, which
    /// has no such marks, does without.
    pub marks: bool,
    /// See [`Control`].
    pub control: Arc<Control>,
}

impl<P: Protocol> World<P> {
    /// A model of `protocol` that checks no property yet.
    pub fn new(protocol: P) -> Self {
        Self { protocol, properties: Vec::new(), marks: true, control: Arc::default() }
    }

    /// Looks at a state once: which properties does it violate, and which antecedents does it meet? A bit that is set
    /// already is not asked for again.
    pub fn observe(&self, state: &WorldState<P>) {
        let failed = self.control.failed.load(Ordering::Relaxed);
        let applied = self.control.applied.load(Ordering::Relaxed);
        for (index, claim) in self.protocol.properties().iter().enumerate() {
            let bit = 1 << index;
            if failed & bit == 0 && !(claim.holds)(self, state) {
                self.control.failed.fetch_or(bit, Ordering::Relaxed);
            }
            if applied & bit == 0 && (claim.applies)(self, state) {
                self.control.applied.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    /// The properties that a state violates.
    pub fn violations<'a>(&'a self, state: &'a WorldState<P>) -> impl Iterator<Item = &'static Claim<P>> + 'a {
        self.protocol.properties().iter().filter(|claim| !(claim.holds)(self, state))
    }

    /// The actor `id` handles one event; what it sends goes into the network.
    fn handle(
        &self,
        state: &mut WorldState<P>,
        id: u8,
        action: &ActionOf<P>,
        event: impl FnOnce(&P::Actor, Id, &mut Cow<'_, P::ActorState>, &mut Out<P::Actor>),
    ) {
        let before = self.protocol.actor_state(&state.actors, id);
        let mut after = Cow::Borrowed(&before);
        let mut out = Out::new();
        event(&self.protocol.actors()[usize::from(id)], Id::from(usize::from(id)), &mut after, &mut out);
        let unchanged = matches!(after, Cow::Borrowed(_));
        if let Cow::Owned(after) = after {
            self.protocol.set_actor_state(&mut state.actors, id, after);
        }
        let mut sent = false;
        for command in out {
            // Timers are a function of the state, and the protocols use neither random choices nor storage.
            if let Command::Send(dst, msg) = command {
                let dst = u8::try_from(usize::from(dst)).unwrap_or(u8::MAX);
                insert(&mut state.network, Envelope { src: id, dst, msg });
                sent = true;
            }
        }
        if unchanged && !sent {
            self.control.ignored.get_or_init(|| self.protocol.describe_action(action));
        }
    }
}

fn insert<M: Copy + Ord>(network: &mut Network<M>, envelope: Envelope<M>) {
    let at = network.partition_point(|other| *other <= envelope);
    network.insert(at, envelope);
}

fn remove<M: Copy + Ord>(network: &mut Network<M>, envelope: &Envelope<M>) -> bool {
    match network.binary_search(envelope) {
        Ok(at) => {
            network.remove(at);
            true
        }
        Err(_) => false,
    }
}

impl<P: Protocol> Model for World<P> {
    type State = WorldState<P>;
    type Action = ActionOf<P>;

    fn init_states(&self) -> Vec<Self::State> {
        let mut network = Network::new();
        let mut states = Vec::new();
        for (index, actor) in self.protocol.actors().iter().enumerate() {
            let mut out = Out::new();
            states.push(actor.on_start(Id::from(index), &None, &mut out));
            for command in out {
                if let Command::Send(dst, msg) = command {
                    let src = u8::try_from(index).unwrap_or(u8::MAX);
                    let dst = u8::try_from(usize::from(dst)).unwrap_or(u8::MAX);
                    insert(&mut network, Envelope { src, dst, msg });
                }
            }
        }
        vec![WorldState { actors: self.protocol.pack(states), network, violated: 0 }]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        if self.control.stop.load(Ordering::Relaxed) {
            return;
        }
        if self.protocol.lossy() {
            distinct(&state.network, |envelope| actions.push(Action::Drop(envelope)));
        }
        distinct(&state.network, |envelope| actions.push(Action::Deliver(envelope)));
        let actors = self.protocol.actors().len();
        for id in 0..u8::try_from(actors).unwrap_or(u8::MAX) {
            self.protocol.timers(&state.actors, id, &mut |timer| actions.push(Action::Timeout(id, timer)));
        }
    }

    fn next_state(&self, state: &Self::State, action: Self::Action) -> Option<Self::State> {
        let mut next = state.clone();
        match action {
            Action::Drop(envelope) => {
                if !remove(&mut next.network, &envelope) {
                    return None;
                }
            }
            Action::Deliver(envelope) => {
                if !remove(&mut next.network, &envelope) {
                    return None;
                }
                let Envelope { src, dst, msg } = envelope;
                let src = Id::from(usize::from(src));
                self.handle(&mut next, dst, &action, |actor, id, state, out| actor.on_msg(id, state, src, msg, out));
            }
            Action::Timeout(id, timer) => {
                self.handle(&mut next, id, &action, |actor, id, state, out| actor.on_timeout(id, state, &timer, out));
            }
        }
        if self.marks {
            next.violated |= self.protocol.step_violations(state, &action, &next);
        }
        Some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.properties.clone()
    }

    fn within_boundary(&self, _: &Self::State) -> bool {
        !self.control.stop.load(Ordering::Relaxed)
    }

    fn format_action(&self, action: &Self::Action) -> String {
        self.protocol.describe_action(action)
    }

    fn format_step(&self, before: &Self::State, action: Self::Action) -> Option<String> {
        let after = self.next_state(before, action)?;
        let mut text = self.protocol.describe_step(before, &action, &after);
        for claim in self.violations(&after) {
            let _ = write!(text, "\n\nVIOLATES {} \"{}\"", claim.id, claim.statement);
        }
        Some(format!("{text}\n\n{after:#?}"))
    }

    fn as_svg(&self, path: Path<Self::State, Self::Action>) -> Option<String> {
        self.protocol.diagram(&path.into_vec())
    }
}

fn distinct<M: Copy + Eq>(network: &Network<M>, mut each: impl FnMut(Envelope<M>)) {
    let mut previous = None;
    for envelope in network {
        if previous != Some(envelope) {
            each(*envelope);
        }
        previous = Some(envelope);
    }
}
