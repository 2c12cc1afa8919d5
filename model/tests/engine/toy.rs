//! A toy protocol, small enough to reason about: a desk gives one ticket to one client at a time.
//!
//! A client asks; the desk grants or refuses; a client that holds the ticket gives it back. The polite desk refuses while
//! the ticket is out. The careless one grants always, so both clients hold it after six steps. The deaf one does not
//! answer where it should refuse.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use fencepost_fixtures::fencing::{Configure, Operation, State as TraceState};
use fencepost_fixtures::trace::{Behaviour, Body, Header, Origin, Protocol as TraceProtocol, Step, TraceId};
use fencepost_fixtures::{Document, KafkaError, Trace};
use fencepost_model::protocol::{Aim, Catalogue, Claim, Configuration, Exported, Goal, Protocol, Tier, Walk};
use fencepost_model::walks::Walks;
use fencepost_model::world::{Action, ActionOf, World, WorldState};
use serde::{Deserialize, Serialize};
use stateright::actor::{Actor, Id, Out, model_timeout};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Msg {
    Ask,
    Granted,
    Refused,
    GiveBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) enum Timer {
    Ask,
    GiveBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum Phase {
    Idle,
    Waiting,
    Holding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum State {
    /// Who has the ticket; 0 is nobody.
    Desk(u8),
    /// How often it may still ask.
    Client(Phase, u8),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    Polite,
    Careless,
    Deaf,
}

#[derive(Clone, Debug)]
pub(crate) enum ToyActor {
    Desk(Rule),
    Client { asks: u8 },
}

fn timers(state: State) -> Vec<Timer> {
    match state {
        State::Client(Phase::Idle, asks) if asks > 0 => vec![Timer::Ask],
        State::Client(Phase::Holding, _) => vec![Timer::GiveBack],
        State::Client(..) | State::Desk(_) => vec![],
    }
}

fn sync(before: State, after: State, out: &mut Out<ToyActor>) {
    for timer in timers(before) {
        if !timers(after).contains(&timer) {
            out.cancel_timer(timer);
        }
    }
    for timer in timers(after) {
        out.set_timer(timer, model_timeout());
    }
}

impl Actor for ToyActor {
    type Msg = Msg;
    type Timer = Timer;
    type State = State;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> State {
        let state = match self {
            Self::Desk(_) => State::Desk(0),
            Self::Client { asks } => State::Client(Phase::Idle, *asks),
        };
        sync(State::Desk(0), state, out);
        state
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, State>, src: Id, msg: Msg, out: &mut Out<Self>) {
        let before = **state;
        let client = u8::try_from(usize::from(src)).unwrap_or(0);
        let after = match (self, before, msg) {
            (Self::Desk(rule), State::Desk(holder), Msg::Ask) => {
                if holder == 0 || *rule == Rule::Careless {
                    out.send(src, Msg::Granted);
                    State::Desk(client)
                } else if *rule == Rule::Deaf {
                    return;
                } else {
                    out.send(src, Msg::Refused);
                    before
                }
            }
            (_, State::Desk(holder), Msg::GiveBack) => State::Desk(if holder == client { 0 } else { holder }),
            (_, State::Client(_, asks), Msg::Granted) => State::Client(Phase::Holding, asks),
            (_, State::Client(_, asks), Msg::Refused) => State::Client(Phase::Idle, asks),
            _ => before,
        };
        *state.to_mut() = after;
        sync(before, after, out);
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, State>, timer: &Timer, out: &mut Out<Self>) {
        let before = **state;
        let State::Client(_, asks) = before else { return };
        let desk = Id::from(0);
        let after = match timer {
            Timer::Ask => {
                out.send(desk, Msg::Ask);
                State::Client(Phase::Waiting, asks - 1)
            }
            Timer::GiveBack => {
                out.send(desk, Msg::GiveBack);
                State::Client(Phase::Idle, asks)
            }
        };
        *state.to_mut() = after;
        sync(before, after, out);
    }
}

/// The toy; the one that is `DEAD` has a label and a property more, which nothing reaches.
#[derive(Clone, Debug)]
pub(crate) struct AnyToy<const DEAD: bool> {
    actors: Vec<ToyActor>,
    lossy: bool,
}

pub(crate) type Toy = AnyToy<false>;
pub(crate) type DeadToy = AnyToy<true>;

impl<const DEAD: bool> AnyToy<DEAD> {
    pub(crate) fn new(rule: Rule, asks: u8) -> Self {
        Self { actors: vec![ToyActor::Desk(rule), ToyActor::Client { asks }, ToyActor::Client { asks }], lossy: false }
    }

    pub(crate) fn lossy(self) -> Self {
        Self { lossy: true, ..self }
    }

    const CLAIMS: &'static [Claim<Self>] = &[
        Claim {
            id: "T1",
            statement: "one client at most holds the ticket",
            assumption: "",
            holds: |_, state| holding(state) < 2,
            applies: |_, state| holding(state) > 0,
        },
        Claim {
            id: "T2",
            statement: "the ticket is not granted while it is out",
            assumption: "",
            holds: |_, state| state.violated & 2 == 0,
            applies: |_, state| state.actors[0] != State::Desk(0),
        },
        Claim {
            id: "L1",
            statement: "at rest, the ticket is at the desk",
            assumption: "no message is lost",
            holds: |world, state| !Self::is_quiescent(world, state) || state.actors[0] == State::Desk(0),
            applies: Self::is_quiescent,
        },
        Claim {
            id: "T4",
            statement: "pigs that fly fly south",
            assumption: "",
            holds: |_, _| true,
            applies: |_, _| false,
        },
    ];
}

fn clients<const DEAD: bool>(state: &WorldState<AnyToy<DEAD>>) -> impl Iterator<Item = Phase> + '_ {
    state.actors.iter().filter_map(|actor| if let State::Client(phase, _) = actor { Some(*phase) } else { None })
}

fn holding<const DEAD: bool>(state: &WorldState<AnyToy<DEAD>>) -> usize {
    clients(state).filter(|phase| *phase == Phase::Holding).count()
}

const LABELS: &[&str] = &["ask granted", "ask refused", "given back", "message lost", "answer taken", "pigs fly"];

impl<const DEAD: bool> Protocol for AnyToy<DEAD> {
    type Msg = Msg;
    type Timer = Timer;
    type ActorState = State;
    type Actor = ToyActor;
    type Actors = Vec<State>;
    const NAME: &'static str = if DEAD { "dead-toy" } else { "toy" };

    fn actors(&self) -> &[ToyActor] {
        &self.actors
    }
    fn pack(&self, states: Vec<State>) -> Vec<State> {
        states
    }
    fn actor_state(&self, actors: &Vec<State>, id: u8) -> State {
        actors[usize::from(id)]
    }
    fn set_actor_state(&self, actors: &mut Vec<State>, id: u8, state: State) {
        actors[usize::from(id)] = state;
    }
    fn timers(&self, actors: &Vec<State>, id: u8, each: &mut dyn FnMut(Timer)) {
        timers(actors[usize::from(id)]).into_iter().for_each(each);
    }
    fn lossy(&self) -> bool {
        self.lossy
    }
    fn properties(&self) -> &'static [Claim<Self>] {
        if DEAD { Self::CLAIMS } else { &Self::CLAIMS[..3] }
    }
    fn step_violations(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> u32 {
        let granted = self.labels(before, action, after).contains(&0);
        if granted && before.actors[0] != State::Desk(0) { 2 } else { 0 }
    }
    fn is_quiescent(world: &World<Self>, state: &WorldState<Self>) -> bool {
        state.network.is_empty()
            && state.actors.iter().all(|actor| timers(*actor).is_empty())
            && world.protocol.actors.len() == state.actors.len()
    }
    fn label_names(&self) -> &'static [&'static str] {
        if DEAD { LABELS } else { &LABELS[..5] }
    }
    fn labels(&self, _: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> Vec<u16> {
        match action {
            Action::Drop(_) => vec![3],
            Action::Deliver(envelope) => match envelope.msg {
                Msg::Ask if after.network.iter().any(|sent| sent.dst == envelope.src && sent.msg == Msg::Granted) => {
                    vec![0]
                }
                Msg::Ask => vec![1],
                Msg::GiveBack => vec![2],
                Msg::Granted | Msg::Refused => vec![4],
            },
            Action::Timeout(..) => vec![],
        }
    }
    fn describe_state(state: &WorldState<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (id, actor) in state.actors.iter().enumerate() {
            match actor {
                State::Desk(0) => writeln!(formatter, "desk: has the ticket")?,
                State::Desk(client) => writeln!(formatter, "desk: gave the ticket to client {client}")?,
                State::Client(phase, asks) => writeln!(formatter, "client {id}: {phase:?}, may ask {asks} times")?,
            }
        }
        for envelope in &state.network {
            writeln!(formatter, "in flight: {envelope:?}")?;
        }
        Ok(())
    }
    fn describe_action(&self, action: &ActionOf<Self>) -> String {
        match action {
            Action::Drop(envelope) => format!("{:?} of {} is lost", envelope.msg, self.actor_name(envelope.src)),
            Action::Deliver(envelope) => format!("{:?} of {} arrives", envelope.msg, self.actor_name(envelope.src)),
            Action::Timeout(id, Timer::Ask) => format!("{} asks", self.actor_name(*id)),
            Action::Timeout(id, Timer::GiveBack) => format!("{} gives back", self.actor_name(*id)),
        }
    }
    fn describe_step(&self, _: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> String {
        format!("{}\n{} hold the ticket", self.describe_action(action), holding(after))
    }
    fn actor_name(&self, id: u8) -> String {
        if id == 0 { "desk".to_owned() } else { format!("client {id}") }
    }
    fn describe_message(&self, msg: &Msg) -> String {
        format!("{msg:?}")
    }
}

fn configuration<P>(name: &str, tier: Tier, protocol: P) -> Configuration<P> {
    Configuration { name: name.to_owned(), tier, reason: "small", walks: None, protocol }
}

fn id(text: &str) -> TraceId {
    text.parse().expect("an id")
}

impl<const DEAD: bool> Catalogue for AnyToy<DEAD> {
    fn configurations() -> Vec<Configuration<Self>> {
        vec![
            configuration("toy/polite/one-ask", Tier::Smoke, Self::new(Rule::Polite, 1)),
            configuration("toy/careless/one-ask", Tier::Smoke, Self::new(Rule::Careless, 1)),
            configuration("toy/polite/lossy", Tier::Smoke, Self::new(Rule::Polite, 1).lossy()),
            configuration("toy/polite/three-asks", Tier::Full, Self::new(Rule::Polite, 3)),
            Configuration {
                walks: Some(Walks { seed: 7, number: 20, steps: 12 }),
                ..configuration("toy/careless/walks", Tier::Full, Self::new(Rule::Careless, 3))
            },
        ]
    }

    fn goals() -> Vec<Goal> {
        let goal = |name: &str, configuration: &str, aim: Aim, twin: Option<&str>| Goal {
            id: id(name),
            title: name.to_owned(),
            configuration: configuration.to_owned(),
            aim,
            rests_on: vec!["a toy".to_owned()],
            twin: twin.map(id),
        };
        vec![
            goal(
                "fencing/toy/two-holders",
                "toy/careless/one-ask",
                Aim::Violation("T1"),
                Some("fencing/toy/one-holder"),
            ),
            goal("fencing/toy/granted", "toy/polite/one-ask", Aim::Label(vec!["ask granted"]), None),
            goal("fencing/toy/given-back", "toy/polite/one-ask", Aim::Label(vec!["given back"]), None),
            goal("fencing/toy/refused", "toy/polite/one-ask", Aim::Label(vec!["ask refused"]), None),
        ]
    }
}

fn document<P: Protocol>(id: &TraceId, title: &str, origin: Origin, world: &World<P>, walk: &Walk<P>) -> Document {
    let steps: Vec<_> = walk
        .windows(2)
        .filter_map(|pair| {
            let note = world.protocol.describe_step(&pair[0].0, pair[0].1.as_ref()?, &pair[1].0);
            Some(Step {
                at: None,
                operation: Operation::Target(BTreeMap::new()),
                answer: None,
                error: None,
                sends: std::iter::empty().collect(),
                completes: BTreeMap::new(),
                state: None,
                refuse: Vec::new(),
                note: Some(note.replace('\n', "; ")),
            })
        })
        .collect();
    Document::Fencing(Trace {
        header: Header {
            // The grammar of traces knows no toys.
            id: if id.as_str().starts_with("fencing/") { id.clone() } else { self::id(&format!("fencing/{id}")) },
            title: title.to_owned(),
            protocol: TraceProtocol::Fencing,
            variant: "kafka-4.4".to_owned(),
            mutant: None,
            holds_for: Vec::new(),
            origin,
            twin: None,
            rests_on: Vec::new(),
            decisive: Some(steps.len()),
        },
        body: Body::Behaviour(Behaviour {
            configure: Configure {
                topics: BTreeMap::new(),
                assignment_interval_ms: None,
                max_size: None,
                replication: None,
            },
            setup: Vec::new(),
            start: TraceState::default(),
            steps,
        }),
    })
}

fn unset() -> Origin {
    Origin::Written { source: "set by the exporter".to_owned() }
}

impl<const DEAD: bool> Exported for AnyToy<DEAD> {
    fn unreached(label: &str) -> Option<&'static str> {
        (label == "message lost").then_some("nobody looks for it")
    }
    fn errors() -> &'static [KafkaError] {
        &[KafkaError::StaleMemberEpoch]
    }
    fn trace(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        Ok(document(&goal.id, &goal.title, unset(), world, walk))
    }
    fn twin(goal: &Goal, world: &World<Self>, walk: &Walk<Self>) -> Result<Document, String> {
        let twin = goal.twin.as_ref().ok_or("no twin")?;
        let origin = Origin::Twin { of: goal.id.clone(), configuration: "toy/polite/one-ask".to_owned() };
        Ok(document(twin, &goal.title, origin, world, &walk[..walk.len() - 1]))
    }
    fn holds_for(_: &Document) -> Vec<String> {
        vec!["kafka-4.4".to_owned()]
    }
    fn behaviour(
        id: TraceId,
        _: &str,
        _: u64,
        _: u64,
        world: &World<Self>,
        walk: &Walk<Self>,
    ) -> Result<Document, String> {
        Ok(document(&id, "a random behaviour", unset(), world, walk))
    }
}
