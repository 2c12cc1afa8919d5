//! `World` means the same as Stateright's `ActorModel`, without its traps.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use fencepost_model::limits::{Cut, Limits, Silent};
use fencepost_model::parity::{self, compare};
use fencepost_model::protocol::Protocol;
use fencepost_model::runs::{Order, count, shortest};
use fencepost_model::search::{Number, Visit, search};
use fencepost_model::world::{World, WorldState};
use stateright::actor::{Actor, ActorModel, Id, Network, Out, model_timeout};
use stateright::{Checker, Expectation, Model, Property};

use crate::toy::{Rule, Toy};

#[test]
fn the_same_actors_have_the_same_states_and_paths_under_actor_model() {
    for protocol in [
        Toy::new(Rule::Polite, 1),
        Toy::new(Rule::Polite, 2),
        Toy::new(Rule::Careless, 2),
        Toy::new(Rule::Polite, 2).lossy(),
    ] {
        let counts = compare(&protocol).expect("both models agree");
        assert!(counts.unique > 20, "{counts:?}");
    }
}

#[test]
fn a_path_of_indices_names_the_same_steps_under_actor_model() {
    let protocol = Toy::new(Rule::Careless, 2);
    let found = shortest(&protocol, &protocol.properties()[0], &Limits::default(), &Silent);
    let path = found.path.expect("two holders");
    let reference = parity::reference(&protocol);
    let mut state = reference.init_states().remove(path.0[0]);
    for index in &path.0[1..] {
        let mut actions = Vec::new();
        reference.actions(&state, &mut actions);
        state = reference.next_state(&state, actions.remove(*index)).expect("a step");
    }
    let holding = state.actor_states.iter().filter(|actor| format!("{actor:?}").contains("Holding")).count();
    assert_eq!(holding, 2);
}

/// An actor without state that rings once: the fingerprint of `ActorModel` has the set timers, but not whose they are.
#[derive(Clone, Debug)]
struct Bell;

impl Actor for Bell {
    type Msg = ();
    type Timer = ();
    type State = ();
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) {
        out.set_timer((), model_timeout());
    }

    fn on_timeout(&self, _: Id, _: &mut Cow<'_, ()>, (): &(), _: &mut Out<Self>) {}
}

/// For each state, which of the clients may still ask.
struct Asked(std::collections::HashSet<Vec<bool>>);
impl Visit<Toy> for Asked {
    fn state(&mut self, world: &World<Toy>, state: &WorldState<Toy>, _: Number) {
        let set = |id| {
            let mut set = false;
            world.protocol.timers(&state.actors, id, &mut |_| set = true);
            set
        };
        self.0.insert(vec![set(1), set(2)]);
    }
    fn done(&self) -> bool {
        false
    }
}

#[test]
fn two_actors_with_the_same_timer_have_four_states() {
    // Stateright takes "only the first is set" and "only the second is set" for one state.
    let reference = ActorModel::<Bell, (), ()>::new((), ())
        .actors([Bell, Bell])
        .init_network(Network::new_unordered_nonduplicating([]))
        .property(Expectation::Sometimes, "exhausted", |_, _| false);
    assert_eq!(reference.checker().spawn_bfs().join().unique_state_count(), 3);

    // Two clients that each may ask once, and a world in which nothing arrives: asked or not, by two.
    let mut asked = Asked(std::collections::HashSet::new());
    search(&World::new(Toy::new(Rule::Polite, 1)), usize::MAX, &Limits::default(), &mut asked);
    assert_eq!(asked.0.len(), 4);
    // The states that differ in nothing but whose timer is set have fingerprints of their own.
    let mut world = World::new(Toy::new(Rule::Polite, 1));
    world.properties = vec![Property::sometimes("exhausted", |_, _| false)];
    let checker = world.checker().target_max_depth(3).spawn_bfs().join();
    // The start; either asked; and after one asked: the other too (the same state both ways), or the request arrived.
    assert_eq!(checker.unique_state_count(), 1 + 2 + 3);
}

#[test]
fn the_counterexample_is_the_shortest_although_later_ones_are_in_the_same_block() {
    let protocol = Toy::new(Rule::Careless, 2);
    let claim = &protocol.properties()[0];
    let found = shortest(&protocol, claim, &Limits::default(), &Silent);
    // Each client asks, each request arrives, each answer arrives.
    assert_eq!(found.path.as_ref().map(fencepost_model::path::Indices::steps), Some(6));

    // With a second property, Stateright goes on to the end of its block of states, and reports the last one it saw.
    let mut world = World::new(protocol.clone());
    world.properties = vec![Property::always(claim.id, claim.holds), Property::sometimes("exhausted", |_, _| false)];
    let path = world.checker().threads(1).spawn_bfs().join().discovery(claim.id).expect("two holders");
    assert!(path.into_vec().len() - 1 > 6);
}

#[test]
fn our_own_search_finds_the_path_that_stateright_finds() {
    struct Two(Option<Number>);
    impl Visit<Toy> for Two {
        fn state(&mut self, world: &World<Toy>, state: &WorldState<Toy>, number: Number) {
            if self.0.is_none() && world.violations(state).any(|claim| claim.id == "T1") {
                self.0 = Some(number);
            }
        }
        fn done(&self) -> bool {
            self.0.is_some()
        }
    }
    let protocol = Toy::new(Rule::Careless, 2);
    let mut two = Two(None);
    let searched = search(&World::new(protocol.clone()), usize::MAX, &Limits::default(), &mut two);
    let ours = searched.tree.path(two.0.expect("two holders"));
    let theirs = shortest(&protocol, &protocol.properties()[0], &Limits::default(), &Silent).path;
    assert_eq!(Some(ours), theirs);
}

#[test]
fn a_handler_that_ignores_an_event_is_caught() {
    let deaf = Toy::new(Rule::Deaf, 1);
    let error = compare(&deaf).expect_err("ActorModel drops that step");
    assert!(error.contains("Ask of client"), "{error}");
    let counted = count(&deaf, Order::DepthFirst, 1, &Limits::default(), &Silent);
    assert!(counted.ignored.expect("seen without ActorModel, too").starts_with("Ask of client"));
    let polite = count(&Toy::new(Rule::Polite, 2), Order::DepthFirst, 1, &Limits::default(), &Silent);
    assert_eq!(polite.ignored, None);
}

#[test]
fn a_run_that_was_cut_short_is_never_done() {
    let protocol = Toy::new(Rule::Polite, 2);
    let all = count(&protocol, Order::DepthFirst, 1, &Limits::default(), &Silent);
    assert_eq!(all.cut, None);

    let states = Limits { states: Some(all.progress.unique - 1), ..Limits::default() };
    assert_eq!(count(&protocol, Order::DepthFirst, 1, &states, &Silent).cut, Some(Cut::States));
    let enough = Limits { states: Some(all.progress.unique), ..Limits::default() };
    assert_eq!(count(&protocol, Order::DepthFirst, 1, &enough, &Silent).cut, None);

    let time = Limits { deadline: Some(std::time::Instant::now()), ..Limits::default() };
    assert_eq!(count(&protocol, Order::DepthFirst, 1, &time, &Silent).cut, Some(Cut::Time));
    let memory = Limits { memory_bytes: Some(1), ..Limits::default() };
    assert_eq!(count(&protocol, Order::DepthFirst, 1, &memory, &Silent).cut, Some(Cut::Memory));
    let interrupted = Limits::default();
    interrupted.interrupted.store(true, Ordering::Relaxed);
    assert_eq!(count(&protocol, Order::DepthFirst, 1, &interrupted, &Silent).cut, Some(Cut::Interrupted));

    // A property that holds is not shown to hold by a run that was cut short.
    let claim = &protocol.properties()[0];
    let cut = shortest(&protocol, claim, &states, &Silent);
    assert_eq!((cut.path, cut.cut), (None, Some(Cut::States)));
    let whole = shortest(&protocol, claim, &Limits::default(), &Silent);
    assert_eq!((whole.path, whole.cut), (None, None));
}

#[test]
fn the_order_of_the_search_changes_no_count() {
    let protocol = Toy::new(Rule::Careless, 2).lossy();
    let depth = count(&protocol, Order::DepthFirst, 1, &Limits::default(), &Silent);
    let breadth = count(&protocol, Order::BreadthFirst, 1, &Limits::default(), &Silent);
    assert_eq!(
        (depth.progress.unique, depth.progress.generated),
        (breadth.progress.unique, breadth.progress.generated)
    );
    assert_eq!((depth.failed, depth.applied), (breadth.failed, breadth.applied));
}
