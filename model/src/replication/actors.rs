//! The Stateright actors: which state and which handler an index stands for, and how the states are packed together.
//!
//! The brokers come first, then the controller.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use stateright::actor::{Actor as StaterightActor, Id, Out};

use super::bounds::Setting;
use super::broker::Broker;
use super::controller::Controller;
use super::enabled::{at_broker, at_controller, can_apply};
use super::log::MAX_BROKERS;
use super::message::{Msg, Timer};

/// The state of one actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ActorState {
    /// A broker's.
    Broker(Broker),
    /// The controller's.
    Controller(Controller),
}

impl Hash for Controller {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write(&self.now.image());
        for image in &self.log {
            hasher.write(&image.image());
        }
        let ghosts = u8::from(self.unclean) | u8::from(self.beyond) << 1 | self.last_lost << 2;
        // The length keeps the records apart from what follows.
        let length = u8::try_from(self.log.len()).unwrap_or(u8::MAX);
        hasher.write(&self.spent);
        hasher.write_u16(u16::from_le_bytes([ghosts, length]));
    }
}

/// The states of all actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actors {
    /// The brokers; those that a configuration does not have are as they begin.
    pub all: [Broker; MAX_BROKERS],
    /// How many there are.
    pub count: u8,
    /// The controller.
    pub controller: Controller,
}

impl Hash for Actors {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.brokers().iter().for_each(|broker| broker.hash(hasher));
        self.controller.hash(hasher);
    }
}

impl Actors {
    /// The brokers.
    #[must_use]
    pub fn brokers(&self) -> &[Broker] {
        &self.all[..usize::from(self.count)]
    }

    /// The brokers with their numbers.
    pub fn numbered(&self) -> impl Iterator<Item = (u8, &Broker)> {
        (0..).zip(self.brokers())
    }

    /// Drops the controller's records that no broker will apply any more, so that states differ only by what matters.
    pub fn prune(&mut self) {
        let brokers = &self.all[..usize::from(self.count)];
        let wanted = |image: &super::controller::Image| (0..).zip(brokers).any(|(id, one)| can_apply(id, one, image));
        self.controller.log.retain(|image| wanted(image));
    }
}

/// Which actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A broker, from 0.
    Broker(u8),
    /// The controller.
    Controller,
}

/// An actor of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Which one.
    pub part: Part,
    /// The configuration.
    pub setting: Setting,
}

fn to(dst: u8) -> Id {
    Id::from(usize::from(dst))
}

/// Which timers are set is a function of the states, so no handler sets or cancels one.
impl StaterightActor for Actor {
    type Msg = Msg;
    type State = ActorState;
    type Timer = Timer;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> ActorState {
        match self.part {
            Part::Broker(me) => ActorState::Broker(Broker::new(&self.setting, me)),
            Part::Controller => ActorState::Controller(Controller::new(&self.setting)),
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, ActorState>, src: Id, msg: Msg, out: &mut Out<Self>) {
        let from = u8::try_from(usize::from(src)).unwrap_or(u8::MAX);
        match (state.to_mut(), self.part) {
            (ActorState::Broker(broker), Part::Broker(me)) => {
                let effect = broker.receive(&self.setting, me, from, msg);
                effect.sends.into_iter().for_each(|(dst, msg)| out.send(to(dst), msg));
            }
            (ActorState::Controller(controller), _) => {
                let ruling = controller.receive(&self.setting, from, msg);
                ruling.sends.into_iter().for_each(|(dst, msg)| out.send(to(dst), msg));
            }
            (ActorState::Broker(_), Part::Controller) => {}
        }
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, ActorState>, timer: &Timer, out: &mut Out<Self>) {
        match (state.to_mut(), self.part) {
            (ActorState::Broker(broker), Part::Broker(me)) => {
                let effect = broker.time_out(&self.setting, me, *timer);
                effect.sends.into_iter().for_each(|(dst, msg)| out.send(to(dst), msg));
            }
            (ActorState::Controller(controller), _) => {
                let ruling = controller.time_out(&self.setting, *timer);
                ruling.sends.into_iter().for_each(|(dst, msg)| out.send(to(dst), msg));
            }
            (ActorState::Broker(_), Part::Controller) => {}
        }
    }
}

impl ActorState {
    /// The timers that are set in this state, ascending, but for the controller's records that a broker may apply.
    pub fn timers(&self, setting: &Setting, part: Part, each: &mut dyn FnMut(Timer)) {
        match (self, part) {
            (Self::Broker(broker), Part::Broker(me)) => at_broker(setting, me, broker, &[], each),
            (Self::Controller(controller), _) => at_controller(setting, controller, each),
            (Self::Broker(_), Part::Controller) => {}
        }
    }
}
