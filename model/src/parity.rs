//! Holds a protocol under [`World`] against the same actors under Stateright's `ActorModel`.
//!
//! Each protocol has a test that calls [`compare`] at a small bound: both models go side by side through every state
//! that can be reached, and must agree on the initial state, the actions in their order, and where each leads. So a path
//! of indices means the same in both, and their counts are equal. `ActorModel` drops steps that do nothing, silently;
//! here such a step is an error that names the event.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::fmt::Debug;

use stateright::actor::{
    ActorModel, ActorModelAction, ActorModelState, Envelope as ActorEnvelope, Id, LossyNetwork, Network,
};
use stateright::{Checker, Expectation, Model, Property};

use crate::protocol::Protocol;
use crate::world::{Action, ActionOf, Envelope, World, WorldState};

type Reference<P> = ActorModel<<P as Protocol>::Actor, (), ()>;
type ReferenceState<P> = ActorModelState<<P as Protocol>::Actor, ()>;
type ReferenceAction<P> = ActorModelAction<<P as Protocol>::Msg, <P as Protocol>::Timer, ()>;

/// The counts on which both models agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// States that differ.
    pub unique: usize,
    /// States that were made, the initial one included.
    pub generated: usize,
    /// The number of states on the longest of the shortest paths.
    pub depth: usize,
}

/// The protocol's actors under Stateright's own model.
pub fn reference<P: Protocol>(protocol: &P) -> Reference<P> {
    ActorModel::new((), ())
        .actors(protocol.actors().iter().cloned())
        .init_network(Network::new_unordered_nonduplicating([]))
        .lossy_network(if protocol.lossy() { LossyNetwork::Yes } else { LossyNetwork::No })
        .property(Expectation::Sometimes, "exhausted", |_, _| false)
}

/// Goes through all states of both models, and then has Stateright count both. The error says where they part.
pub fn compare<P>(protocol: &P) -> Result<Counts, String>
where
    P: Protocol,
    P::ActorState: Send + Sync,
{
    let reference = reference(protocol);
    let mut world = World::new(protocol.clone());
    world.marks = false;
    side_by_side(&world, &reference)?;
    if let Some(event) = world.control.ignored.get() {
        return Err(format!("a handler ignores an event, which ActorModel takes for no step: {event}"));
    }
    world.properties = vec![Property::sometimes("exhausted", |_, _| false)];
    let ours = world.checker().threads(1).spawn_bfs().join();
    let theirs = reference.checker().threads(1).spawn_bfs().join();
    let ours = Counts { unique: ours.unique_state_count(), generated: ours.state_count(), depth: ours.max_depth() };
    let theirs =
        Counts { unique: theirs.unique_state_count(), generated: theirs.state_count(), depth: theirs.max_depth() };
    if ours == theirs { Ok(ours) } else { Err(format!("World counts {ours:?}, ActorModel {theirs:?}")) }
}

fn side_by_side<P: Protocol>(world: &World<P>, reference: &Reference<P>) -> Result<(), String> {
    let mut seen = HashSet::new();
    let mut pending = VecDeque::new();
    let starts = (world.init_states(), reference.init_states());
    equal("the number of initial states", &starts.0.len(), &starts.1.len())?;
    for pair in starts.0.into_iter().zip(starts.1) {
        pending.push_back((pair.0, pair.1, String::new()));
    }
    while let Some((ours, theirs, path)) = pending.pop_front() {
        same_state(world, &ours, &theirs).map_err(|difference| format!("after {path}: {difference}"))?;
        if !seen.insert(ours.clone()) {
            continue;
        }
        let (mut our_actions, mut their_actions) = (Vec::new(), Vec::new());
        world.actions(&ours, &mut our_actions);
        reference.actions(&theirs, &mut their_actions);
        let translated: Vec<_> = their_actions.iter().map(translate::<P>).collect();
        let listed: Vec<_> = our_actions.iter().copied().map(Some).collect();
        equal(&format!("the actions after {path}"), &listed, &translated)?;
        for (index, (our_action, their_action)) in our_actions.into_iter().zip(their_actions).enumerate() {
            let described = world.protocol.describe_action(&our_action);
            let path = format!("{path}/{index}");
            match (world.next_state(&ours, our_action), reference.next_state(&theirs, their_action)) {
                (Some(our_next), Some(their_next)) => pending.push_back((our_next, their_next, path)),
                (None, None) => {}
                (Some(_), None) => {
                    return Err(format!("after {path}: ActorModel takes this for no step, so it ignores: {described}"));
                }
                (None, Some(_)) => return Err(format!("after {path}: World takes this for no step: {described}")),
            }
        }
    }
    Ok(())
}

fn equal<T: PartialEq + Debug>(what: &str, ours: &T, theirs: &T) -> Result<(), String> {
    if ours == theirs { Ok(()) } else { Err(format!("{what}: World has {ours:?}, ActorModel {theirs:?}")) }
}

fn narrow(id: Id) -> u8 {
    u8::try_from(usize::from(id)).unwrap_or(u8::MAX)
}

/// `None` for what [`World`] has no word for: crashes and random choices.
fn translate<P: Protocol>(action: &ReferenceAction<P>) -> Option<ActionOf<P>> {
    match action {
        ActorModelAction::Drop(ActorEnvelope { src, dst, msg }) => {
            Some(Action::Drop(Envelope { src: narrow(*src), dst: narrow(*dst), msg: *msg }))
        }
        ActorModelAction::Deliver { src, dst, msg } => {
            Some(Action::Deliver(Envelope { src: narrow(*src), dst: narrow(*dst), msg: *msg }))
        }
        ActorModelAction::Timeout(id, timer) => Some(Action::Timeout(narrow(*id), *timer)),
        ActorModelAction::Crash(_) | ActorModelAction::Recover(_) | ActorModelAction::SelectRandom { .. } => None,
    }
}

fn same_state<P: Protocol>(world: &World<P>, ours: &WorldState<P>, theirs: &ReferenceState<P>) -> Result<(), String> {
    equal("the number of actors", &world.protocol.actors().len(), &theirs.actor_states.len())?;
    for (index, their_state) in theirs.actor_states.iter().enumerate() {
        let id = u8::try_from(index).unwrap_or(u8::MAX);
        equal(&format!("the state of actor {index}"), &world.protocol.actor_state(&ours.actors, id), their_state)?;
        let mut our_timers = Vec::new();
        world.protocol.timers(&ours.actors, id, &mut |timer| our_timers.push(timer));
        let mut their_timers: Vec<_> = theirs.timers_set[index].iter().copied().collect();
        their_timers.sort_unstable();
        equal(&format!("the timers of actor {index}"), &our_timers, &their_timers)?;
    }
    let mut in_flight = BTreeMap::new();
    for envelope in &ours.network {
        *in_flight.entry(*envelope).or_insert(0_usize) += 1;
    }
    // Not `iter_all`: Stateright 0.31 gives one message too many of each that is there more than once.
    let Network::UnorderedNonDuplicating(multiset) = &theirs.network else {
        return Err("ActorModel has another kind of network".to_owned());
    };
    let theirs_in_flight = multiset.iter().map(|(envelope, number)| {
        let ActorEnvelope { src, dst, msg } = envelope;
        (Envelope { src: narrow(*src), dst: narrow(*dst), msg: *msg }, *number)
    });
    let theirs_in_flight = theirs_in_flight.collect();
    equal("the messages in flight", &in_flight, &theirs_in_flight)
}
