//! States, steps and messages in words, for the explorer, for diagrams and for the terminal.

use std::fmt;

use super::Replication;
use super::actors::Part;
use super::broker::Broker;
use super::message::Msg;
use crate::world::{Action, ActionOf, WorldState};

/// A broker's name: A to D.
#[must_use]
pub fn broker(id: u8) -> String {
    char::from(b'A' + id.min(25)).to_string()
}

/// An actor's name.
#[must_use]
pub fn actor(protocol: &Replication, id: u8) -> String {
    match protocol.part(id) {
        Part::Broker(id) => broker(id),
        Part::Controller => "controller".to_owned(),
    }
}

fn replica(broker: &Broker) -> String {
    if !broker.up {
        return format!("down, {:?}", broker.log);
    }
    format!(
        "{:?} e{} p{} {:?} hw {} {:?} isr {:04b}/{:04b} remotes {:?} {:?}",
        broker.role,
        broker.leader_epoch,
        broker.partition_epoch,
        broker.log,
        broker.high,
        broker.epochs,
        broker.isr,
        broker.pending,
        broker.remotes.map(|remote| remote.end),
        broker.entry,
    )
}

/// A state, a line an actor.
pub fn state(state: &WorldState<Replication>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (id, one) in state.actors.numbered() {
        writeln!(formatter, "{}: {}", broker(id), replica(one))?;
    }
    write!(formatter, "controller: {:?}", state.actors.controller.now)
}

/// A message.
#[must_use]
pub fn message(msg: &Msg) -> String {
    format!("{msg:?}")
}

/// An action.
#[must_use]
pub fn action(protocol: &Replication, action: &ActionOf<Replication>) -> String {
    match action {
        Action::Deliver(envelope) => format!(
            "{} -> {}: {}",
            actor(protocol, envelope.src),
            actor(protocol, envelope.dst),
            message(&envelope.msg)
        ),
        Action::Drop(envelope) => format!("lost: {}", message(&envelope.msg)),
        Action::Timeout(id, timer) => format!("{}: {timer:?}", actor(protocol, *id)),
    }
}

/// A step.
#[must_use]
pub fn step(
    protocol: &Replication,
    _: &WorldState<Replication>,
    taken: &ActionOf<Replication>,
    after: &WorldState<Replication>,
) -> String {
    format!("{}\n{after:?}", action(protocol, taken))
}
