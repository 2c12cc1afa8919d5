//! The Stateright actors: the cluster, and the consumer with its application; and how the states are packed together.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use stateright::actor::{Actor as StaterightActor, Id, Out};

use super::bounds::Setting;
use super::client::Client;
use super::cluster::Cluster;
use super::enabled::at_consumer;
use super::message::{CLUSTER, CONSUMER, Msg, Timer};

/// The state of one actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ActorState {
    /// The cluster's.
    Cluster(Cluster),
    /// The consumer's.
    Client(Client),
}

/// The states of both actors.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actors {
    /// The cluster.
    pub cluster: Cluster,
    /// The consumer with its application.
    pub client: Client,
}

/// An actor of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Whether it is the consumer.
    pub reads: bool,
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
        if self.reads {
            ActorState::Client(Client::new(&self.setting))
        } else {
            ActorState::Cluster(Cluster::new(&self.setting))
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, ActorState>, _: Id, msg: Msg, out: &mut Out<Self>) {
        match state.to_mut() {
            ActorState::Cluster(cluster) => {
                let answered = cluster.receive(&self.setting, msg);
                answered.sends.into_iter().for_each(|msg| out.send(to(CONSUMER), msg));
            }
            ActorState::Client(client) => {
                let effect = client.receive(&self.setting, msg);
                effect.sends.into_iter().for_each(|msg| out.send(to(CLUSTER), msg));
            }
        }
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, ActorState>, timer: &Timer, out: &mut Out<Self>) {
        match state.to_mut() {
            ActorState::Cluster(cluster) => {
                let answered = cluster.time_out(&self.setting, *timer);
                answered.sends.into_iter().for_each(|msg| out.send(to(CONSUMER), msg));
            }
            ActorState::Client(client) => {
                let effect = client.time_out(&self.setting, *timer);
                effect.sends.into_iter().for_each(|msg| out.send(to(CLUSTER), msg));
            }
        }
    }
}

impl ActorState {
    /// The timers that are set in this state, ascending, where metadata are messages.
    pub fn timers(&self, setting: &Setting, each: &mut dyn FnMut(Timer)) {
        match self {
            Self::Cluster(cluster) => cluster.timers(setting, each),
            Self::Client(client) => at_consumer(setting, client, None, each),
        }
    }
}
