//! The replication actors under Stateright's own `ActorModel`: equal counts, and equal actions in equal order, so that a path of
//! indices names the same behaviour in both.
//!
//! Under [`World`] the timers that are set are a function of an actor's state. `ActorModel` wants to be told, so each
//! actor is wrapped in one that sets and cancels the difference.

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::Duration;

use fencepost_model::protocol::Protocol;
use fencepost_model::replication::Replication;
use fencepost_model::replication::actors::{Actor, ActorState, Actors};
use fencepost_model::replication::bounds::{Bounds, Metadata, Setting};
use fencepost_model::replication::message::{Msg, Timer};
use fencepost_model::replication::mutant::Mutant;
use fencepost_model::replication::rules::{KAFKA, rules};
use fencepost_model::world::{Action, Envelope, World};
use stateright::actor::{Actor as StaterightActor, ActorModel, ActorModelAction, Command, Id, Network, Out};
use stateright::{Checker, Expectation, Model, Property};

/// An actor that says which timers it has.
#[derive(Clone)]
struct Telling(Actor);

impl Telling {
    fn timers(&self, state: &ActorState) -> Vec<Timer> {
        let mut timers = Vec::new();
        state.timers(&self.0.setting, self.0.part, &mut |timer| timers.push(timer));
        timers
    }

    fn tell(&self, before: &[Timer], after: &ActorState, inner: Out<Actor>, out: &mut Out<Self>) {
        for command in inner {
            if let Command::Send(dst, msg) = command {
                out.send(dst, msg);
            }
        }
        let after = self.timers(after);
        for timer in &after {
            if !before.contains(timer) {
                out.set_timer(*timer, Duration::ZERO..Duration::ZERO);
            }
        }
        for timer in before.iter().filter(|timer| !after.contains(timer)) {
            out.cancel_timer(*timer);
        }
    }
}

impl StaterightActor for Telling {
    type Msg = Msg;
    type State = ActorState;
    type Timer = Timer;
    type Random = ();
    type Storage = ();

    fn on_start(&self, id: Id, storage: &Option<()>, out: &mut Out<Self>) -> ActorState {
        let mut inner = Out::new();
        let state = self.0.on_start(id, storage, &mut inner);
        self.tell(&[], &state, inner, out);
        state
    }

    fn on_msg(&self, id: Id, state: &mut Cow<'_, ActorState>, src: Id, msg: Msg, out: &mut Out<Self>) {
        let before = self.timers(state);
        let mut inner = Out::new();
        self.0.on_msg(id, state, src, msg, &mut inner);
        self.tell(&before, state, inner, out);
    }

    fn on_timeout(&self, id: Id, state: &mut Cow<'_, ActorState>, timer: &Timer, out: &mut Out<Self>) {
        // The timer that ran out is not set any more.
        let before: Vec<_> = self.timers(state).into_iter().filter(|other| other != timer).collect();
        let mut inner = Out::new();
        self.0.on_timeout(id, state, timer, &mut inner);
        self.tell(&before, state, inner, out);
    }
}

fn replication(bounds: Bounds) -> Replication {
    let rules = rules(KAFKA).expect("kafka-4.4 is a variant");
    Replication::new(Setting { rules: [rules; 4], others: [None; 4], mutant: Mutant::None, bounds })
}

fn actor_model(protocol: &Replication) -> ActorModel<Telling> {
    ActorModel::new((), ())
        .actors(protocol.actors().iter().map(|actor| Telling(*actor)))
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Sometimes, "never", |_, _| false)
}

fn counts(
    model: impl Model<
        State: std::hash::Hash + Send + Sync + Clone + PartialEq + std::fmt::Debug,
        Action: Clone + PartialEq + std::fmt::Debug + Send + Sync,
    > + Send
    + Sync
    + 'static,
) -> (usize, usize, usize) {
    let checker = model.checker().spawn_bfs().join();
    (checker.unique_state_count(), checker.state_count(), checker.max_depth())
}

/// Two brokers, two elections, a crash, requests that are given up; the controller's records are messages.
const SMALL: Bounds = Bounds {
    chosen: 1,
    fences: 1,
    fenced: 0b10,
    unfences: 1,
    crashes: [0, 1, 0, 0],
    lossy: 0b10,
    fails: [1, 0, 0, 0],
    epochs: 2,
    metadata: Metadata::Messages,
    ..Bounds::BASE
};

/// An election, and a request that is given up.
const ELECTS: Bounds = Bounds { crashes: [0; 4], fences: 0, unfences: 0, epochs: 1, ..SMALL };
/// A crash that may lose records.
const CRASHES: Bounds = Bounds { chosen: 0, fails: [0; 4], unfences: 0, epochs: 1, ..SMALL };

#[test]
fn the_replication_actors_have_equal_counts_under_both_models() {
    let three =
        Bounds { preferred: 1, chosen: 1, epochs: 2, writes: [0; 4], metadata: Metadata::Messages, ..Bounds::THREE };
    for bounds in [ELECTS, CRASHES, three] {
        let protocol = replication(bounds);
        let theirs = counts(actor_model(&protocol));
        let mut world = World::new(protocol);
        // ActorModel has no marks for properties about steps.
        world.marks = false;
        world.properties = vec![Property::sometimes("never", |_, _| false)];
        assert_eq!(counts(world), theirs);
    }
}

#[test]
fn a_path_of_indices_is_the_same_path_under_both_models() {
    let protocol = replication(Bounds {
        shrinks: 1,
        expires: true,
        checkpoints: true,
        fails: [1; 4],
        min_isr: 1,
        writes: [1, 1, 1, 0],
        unclean: 1,
        ..Bounds { brokers: 3, ..SMALL }
    });
    let (theirs, ours) = (actor_model(&protocol), World::new(protocol));
    for seed in 0..40_u64 {
        let mut random = seed;
        let mut state = ours.init_states().remove(0);
        let mut their_state = theirs.init_states().remove(0);
        for _ in 0..40 {
            let (mut actions, mut their_actions) = (Vec::new(), Vec::new());
            ours.actions(&state, &mut actions);
            theirs.actions(&their_state, &mut their_actions);
            let told: Vec<_> = their_actions.iter().map(told).collect();
            let said: Vec<_> = actions.iter().map(said).collect();
            assert_eq!(said, told);
            if actions.is_empty() {
                break;
            }
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = usize::try_from(random >> 33).expect("31 bits") % actions.len();
            state = ours.next_state(&state, actions.swap_remove(at)).expect("an action that is listed can be taken");
            their_state =
                theirs.next_state(&their_state, their_actions.swap_remove(at)).expect("the same under ActorModel");
        }
    }
}

/// What the actors can come to, without the messages about the controller's records and without its log.
fn reached(bounds: Bounds) -> HashSet<(Actors, Vec<Envelope<Msg>>)> {
    let world = World::new(replication(bounds));
    let mut pending = world.init_states();
    let mut seen: HashSet<_> = pending.iter().cloned().collect();
    let mut reached = HashSet::new();
    let mut actions = Vec::new();
    while let Some(state) = pending.pop() {
        let mut actors = state.actors.clone();
        actors.controller.log.clear();
        let others = state.network.iter().filter(|envelope| !matches!(envelope.msg, Msg::Metadata { .. }));
        reached.insert((actors, others.copied().collect()));
        world.actions(&state, &mut actions);
        for action in actions.drain(..) {
            if let Some(next) = world.next_state(&state, action)
                && seen.insert(next.clone())
            {
                pending.push(next);
            }
        }
    }
    reached
}

#[test]
fn a_broker_that_reads_the_controllers_log_comes_to_what_it_would_come_to_by_messages() {
    for bounds in [ELECTS, CRASHES] {
        let by_messages = reached(bounds);
        let by_log = reached(Bounds { metadata: Metadata::Log, ..bounds });
        assert!(by_messages == by_log, "{} by messages, {} by the log", by_messages.len(), by_log.len());
    }
}

fn said(action: &Action<Msg, Timer>) -> String {
    match action {
        Action::Deliver(envelope) => format!("{} {} {:?}", envelope.src, envelope.dst, envelope.msg),
        Action::Drop(envelope) => format!("drop {} {} {:?}", envelope.src, envelope.dst, envelope.msg),
        Action::Timeout(id, timer) => format!("{id} {timer:?}"),
    }
}

fn told(action: &ActorModelAction<Msg, Timer, ()>) -> String {
    match action {
        ActorModelAction::Deliver { src, dst, msg } => format!("{} {} {msg:?}", usize::from(*src), usize::from(*dst)),
        ActorModelAction::Timeout(id, timer) => format!("{} {timer:?}", usize::from(*id)),
        other => format!("{other:?}"),
    }
}
