//! The Stateright actors: which state and which handler an index stands for, and how the states are packed together.
//!
//! The replicas come first (0 leads at the start), then the consumer where there is one.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use stateright::actor::{Actor as StaterightActor, Id, Out};

use super::bounds::Setting;
use super::broker::Broker;
use super::enabled;
use super::message::{Msg, Timer};
use super::reader::Reader;

/// The state of one actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::large_enum_variant, reason = "it is taken out of a state for one step, and not kept")]
pub enum ActorState {
    /// A replica's.
    Broker(Broker),
    /// The consumer's.
    Reader(Reader),
}

/// The states of all actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actors {
    /// The first replica.
    pub broker: Broker,
    /// The second, where there is one.
    pub other: Option<Box<Broker>>,
    /// The consumer; as it begins where there is none.
    pub reader: Reader,
}

impl Hash for Actors {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.broker.hash(hasher);
        if let Some(other) = &self.other {
            other.hash(hasher);
        }
        let Reader { at, target, view } = self.reader;
        let [a, b, c] = view;
        hasher.write_u64(u64::from_le_bytes([at, target, a.offset, a.time, b.offset, b.time, c.offset, c.time]));
    }
}

impl Actors {
    /// The replicas.
    pub fn brokers(&self) -> impl Iterator<Item = &Broker> {
        std::iter::once(&self.broker).chain(self.other.as_deref())
    }

    /// The replicas that lead: one, but for the time between a resignation and the election.
    pub fn leaders(&self) -> impl Iterator<Item = &Broker> {
        self.brokers().filter(|broker| broker.role == super::broker::Role::Leader)
    }
}

/// Which actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// A replica, from 0.
    Broker(u8),
    /// The consumer.
    Reader,
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

/// Which timers are set is a pure function of the state, so no handler sets or cancels one: the shared world asks
/// [`ActorState::timers`]. (`tests/compaction_parity.rs` wraps this actor in one that does, for Stateright's own model.)
impl StaterightActor for Actor {
    type Msg = Msg;
    type State = ActorState;
    type Timer = Timer;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, out: &mut Out<Self>) -> ActorState {
        match self.part {
            Part::Broker(id) => {
                let broker = Broker::new(&self.setting, id);
                if id > 0 {
                    out.send(to(0), Msg::Replicate { from: 0 });
                }
                ActorState::Broker(broker)
            }
            Part::Reader => {
                out.send(to(0), Msg::Fetch { from: 0 });
                ActorState::Reader(Reader::default())
            }
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, ActorState>, src: Id, msg: Msg, out: &mut Out<Self>) {
        match state.to_mut() {
            ActorState::Broker(broker) => {
                if let Some(answer) = broker.receive(&self.setting, msg).sends {
                    out.send(src, answer);
                }
            }
            ActorState::Reader(reader) => {
                if let Some(fetch) = reader.receive(msg) {
                    out.send(src, fetch);
                }
            }
        }
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, ActorState>, timer: &Timer, out: &mut Out<Self>) {
        if let (ActorState::Broker(broker), Part::Broker(id)) = (state.to_mut(), self.part) {
            let sends = broker.time_out(&self.setting, *timer).sends;
            if let Some(elect) = sends {
                let other = to(1 - id);
                out.send(other, elect);
                out.send(other, Msg::Replicate { from: broker.log.end });
            }
        }
    }
}

impl ActorState {
    /// The timers that are set in this state, ascending: a pure function of it.
    pub fn timers(&self, setting: &Setting, part: Part, each: &mut dyn FnMut(Timer)) {
        if let (Self::Broker(broker), Part::Broker(id)) = (self, part) {
            enabled::timers(setting, id, broker, each);
        }
    }
}
