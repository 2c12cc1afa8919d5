//! Leader-epoch replication end to end (KIP-101, KIP-279, KIP-320, KIP-595): logs, truncation, fencing, the high watermark,
//! the in-sync set, elections.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "states and messages grow and shrink with the model; a signature should not change with their size"
)]
#![allow(clippy::doc_markdown, reason = "a label's text is its documentation, and says Kafka's names as people do")]

pub mod actors;
pub mod bounds;
pub mod broker;
pub mod catalogue;
pub mod controller;
pub mod enabled;
pub mod epochs;
pub mod follower;
pub mod labels;
pub mod leader;
pub mod log;
pub mod message;
pub mod metadata;
pub mod mutant;
pub mod properties;
pub mod rows;
pub mod rules;
pub mod tla;
pub mod words;

use std::fmt;
use std::sync::Arc;

use self::actors::{Actor, ActorState, Actors, Part};
use self::bounds::Setting;
use self::broker::{Broker, Effect};
use self::controller::{Controller, Ruling};
use self::labels::{NAMES, Trail};
use self::message::{Msg, Timer};
use crate::protocol::{Claim, Exported, Protocol};
use crate::world::{Action, ActionOf, World, WorldState};

/// The protocol under one configuration.
#[derive(Clone, Debug)]
pub struct Replication {
    /// The configuration.
    pub setting: Setting,
    actors: Arc<[Actor]>,
}

/// What a step made an actor do.
#[derive(Clone, Debug)]
pub enum Done {
    /// A broker's step.
    Broker(Effect),
    /// A step of the controller.
    Controller(Ruling),
}

impl Replication {
    /// The protocol under `setting`.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let parts = (0..setting.bounds.brokers).map(Part::Broker).chain([Part::Controller]);
        Self { setting, actors: parts.map(|part| Actor { part, setting }).collect() }
    }

    /// Which actor has the index `id`.
    #[must_use]
    pub fn part(&self, id: u8) -> Part {
        self.actors[usize::from(id)].part
    }

    /// What a step made an actor do: the step is taken again. `None` where none takes part.
    #[must_use]
    pub fn done(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Option<Done> {
        let setting = &self.setting;
        Some(match action {
            Action::Drop(_) => return None,
            Action::Deliver(envelope) => match self.actor_state(&before.actors, envelope.dst) {
                ActorState::Broker(mut broker) => {
                    Done::Broker(broker.receive(setting, envelope.dst, envelope.src, envelope.msg))
                }
                ActorState::Controller(mut controller) => {
                    Done::Controller(controller.receive(setting, envelope.src, envelope.msg))
                }
            },
            Action::Timeout(id, timer) => match self.actor_state(&before.actors, *id) {
                ActorState::Broker(mut broker) => Done::Broker(broker.time_out(setting, *id, *timer)),
                ActorState::Controller(mut controller) => Done::Controller(controller.time_out(setting, *timer)),
            },
        })
    }

    /// The rows that a step went through.
    #[must_use]
    pub fn trail(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Trail {
        match self.done(before, action) {
            None => Trail::default(),
            Some(Done::Broker(effect)) => effect.trail,
            Some(Done::Controller(ruling)) => ruling.trail,
        }
    }
}

impl Protocol for Replication {
    type Msg = Msg;
    type Timer = Timer;
    type ActorState = ActorState;
    type Actor = Actor;
    type Actors = Actors;

    const NAME: &'static str = "replication";

    fn actors(&self) -> &[Actor] {
        &self.actors
    }

    fn pack(&self, states: Vec<ActorState>) -> Actors {
        let setting = &self.setting;
        let mut packed = Actors {
            all: [0, 1, 2, 3].map(|id| Broker::new(setting, id)),
            count: setting.bounds.brokers,
            controller: Controller::new(setting),
        };
        for (id, state) in (0..).zip(states) {
            match (state, self.part(id)) {
                (ActorState::Broker(broker), Part::Broker(id)) => packed.all[usize::from(id)] = broker,
                (ActorState::Controller(controller), _) => packed.controller = controller,
                (ActorState::Broker(_), Part::Controller) => {}
            }
        }
        packed.prune();
        packed
    }

    fn actor_state(&self, actors: &Actors, id: u8) -> ActorState {
        match self.part(id) {
            Part::Broker(id) => ActorState::Broker(actors.all[usize::from(id)].clone()),
            Part::Controller => ActorState::Controller(actors.controller.clone()),
        }
    }

    fn set_actor_state(&self, actors: &mut Actors, id: u8, state: ActorState) {
        match (state, self.part(id)) {
            (ActorState::Broker(broker), Part::Broker(id)) => actors.all[usize::from(id)] = broker,
            (ActorState::Controller(controller), _) => actors.controller = controller,
            (ActorState::Broker(_), Part::Controller) => {}
        }
        actors.prune();
    }

    fn timers(&self, actors: &Actors, id: u8, each: &mut dyn FnMut(Timer)) {
        match self.part(id) {
            Part::Broker(me) => {
                enabled::at_broker(&self.setting, me, &actors.all[usize::from(me)], &actors.controller.log, each);
            }
            Part::Controller => enabled::at_controller(&self.setting, &actors.controller, each),
        }
    }

    fn properties(&self) -> &'static [Claim<Self>] {
        properties::CLAIMS
    }

    fn step_violations(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> u32 {
        properties::step_violations(before, action, after)
    }

    fn is_quiescent(world: &World<Self>, state: &WorldState<Self>) -> bool {
        properties::is_quiescent(world, state)
    }

    fn label_names(&self) -> &'static [&'static str] {
        NAMES
    }

    fn labels(&self, before: &WorldState<Self>, action: &ActionOf<Self>, _: &WorldState<Self>) -> Vec<u16> {
        self.trail(before, action).iter().collect()
    }

    fn describe_state(state: &WorldState<Self>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        words::state(state, formatter)
    }

    fn describe_action(&self, action: &ActionOf<Self>) -> String {
        words::action(self, action)
    }

    fn describe_step(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> String {
        words::step(self, before, action, after)
    }

    fn actor_name(&self, id: u8) -> String {
        words::actor(self, id)
    }

    fn describe_message(&self, msg: &Msg) -> String {
        words::message(msg)
    }
}

impl Exported for Replication {}
