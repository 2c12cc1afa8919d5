//! The consumer and its cluster under Stateright's own `ActorModel`: equal counts, and equal actions in equal order, so that a path of
//! indices names the same behaviour in both.
//!
//! Under [`World`] the timers that are set are a function of an actor's state. `ActorModel` wants to be told, so each
//! actor is wrapped in one that sets and cancels the difference.

use std::borrow::Cow;
use std::time::Duration;

use fencepost_model::consumer::Consumer;
use fencepost_model::consumer::actors::{Actor, ActorState};
use fencepost_model::consumer::bounds::{Bounds, Setting};
use fencepost_model::consumer::message::{Msg, Target, Timer};
use fencepost_model::consumer::mutant::Mutant;
use fencepost_model::consumer::rules::{KIP_320, rules};
use fencepost_model::protocol::Protocol;
use fencepost_model::world::{Action, World};
use stateright::actor::{Actor as StaterightActor, ActorModel, ActorModelAction, Command, Id, Network, Out};
use stateright::{Checker, Expectation, Model, Property};

/// An actor that says which timers it has.
#[derive(Clone)]
struct Telling(Actor);

impl Telling {
    fn timers(&self, state: &ActorState) -> Vec<Timer> {
        let mut timers = Vec::new();
        state.timers(&self.0.setting, &mut |timer| timers.push(timer));
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

fn consumer(bounds: Bounds) -> Consumer {
    let rules = rules(KIP_320).expect("kip-320 is a variant");
    Consumer::new(Setting { variant: KIP_320, rules, mutant: Mutant::None, bounds })
}

fn actor_model(protocol: &Consumer) -> ActorModel<Telling> {
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

/// An unclean election, of which the consumer hears by messages, and a record of each broker.
const ELECTS: Bounds = Bounds { told_by_message: true, metadata: 2, ..Bounds::BASE };
/// The same without a policy: the application seeks, commits, restarts, and loses a connection.
const ACTS: Bounds = Bounds {
    reset: None,
    fails: 1,
    seeks: 1,
    targets: &[Target::Offset(0), Target::Divergence],
    commits: 1,
    restarts: 1,
    elapses: 1,
    appends: [0; 3],
    ..ELECTS
};

#[test]
fn the_consumer_and_its_cluster_have_equal_counts_under_both_models() {
    for bounds in [ELECTS, ACTS, Bounds { brokers: 3, unclean: 2, ..ELECTS }] {
        let protocol = consumer(bounds);
        let theirs = counts(actor_model(&protocol));
        let mut world = World::new(protocol);
        world.properties = vec![Property::sometimes("never", |_, _| false)];
        assert_eq!(counts(world), theirs);
        assert!(theirs.0 > 100);
    }
}

#[test]
fn a_path_of_indices_is_the_same_path_under_both_models() {
    let protocol = consumer(Bounds { unclean: 3, appends: [2, 2, 0], metadata: 3, stale: 1, ..ACTS });
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
