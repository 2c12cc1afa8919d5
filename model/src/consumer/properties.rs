//! What a consumer is promised (`docs/consumers.md` 6): what must hold in every state and at every step.
//!
//! What the application meets is noted by the consumer in [`Client::faults`](super::client::Client::faults), in the step in
//! which it meets it.

use super::Consumer;
use super::application::fault;
use super::client::State as PositionState;
use super::log::{Kind, UNDEFINED};
use super::message::NOBODY;
use crate::protocol::Claim;
use crate::world::{World, WorldState};

type State = WorldState<Consumer>;

const EPOCH: &str = "the position has an epoch";
const CL: &str = "clean elections";

fn without(state: &State, fault: u16) -> bool {
    state.actors.client.faults & fault == 0
}

fn has_read(_: &World<Consumer>, state: &State) -> bool {
    state.actors.client.view.word() != 0
}

fn validates(_: &World<Consumer>, state: &State) -> bool {
    state.actors.client.state == PositionState::AwaitValidation
}

/// Whether what was handed out is what the last leader has.
fn nothing_replaced(state: &State) -> bool {
    let client = &state.actors.client;
    state
        .actors
        .cluster
        .leader()
        .is_none_or(|leader| (0..8).all(|at| client.view.get(at).is_none_or(|read| leader.log.get(at) == Some(read))))
}

/// Whether each record of a transaction that was handed out as committed is still there, and committed, as far as the
/// leader's log goes.
fn committed_once(state: &State) -> bool {
    let client = &state.actors.client;
    state.actors.cluster.leader().is_none_or(|leader| {
        leader.log.iter().all(|(at, record)| {
            record.kind() != Kind::Transactional
                || !client.seen.has(at, record)
                || leader.log.outcome(at) == Some(Kind::Commit)
        })
    })
}

/// Whether a transaction of which the producer knows that it has ended is open at the leader.
fn dangles(state: &State) -> bool {
    let cluster = &state.actors.cluster;
    cluster.ended != 0
        && cluster.leader().is_some_and(|leader| leader.log.last_stable(leader.log.end()) < leader.log.end())
}

/// Whether a validation has been left to itself: nothing is asked, and nothing waited for.
fn is_stuck(state: &State) -> bool {
    let client = &state.actors.client;
    client.state == PositionState::AwaitValidation
        && client.position.leader != NOBODY
        && client.asking == NOBODY
        && !client.waits
        && !client.idle
}

/// The promises.
pub static CLAIMS: &[Claim<Consumer>] = &[
    Claim {
        id: "P5-java",
        statement: "where a position holds, the leader has at least as many records of epochs up to its own",
        assumption: "",
        holds: |_, state| without(state, fault::JAVA),
        applies: validates,
    },
    Claim {
        id: "P5-told",
        statement: "no record is handed out behind one that its leader does not have, unless the application was told in between",
        assumption: EPOCH,
        holds: |_, state| without(state, fault::TOLD),
        applies: has_read,
    },
    Claim {
        id: "P5-CL",
        statement: "nothing that was handed out is replaced",
        assumption: CL,
        holds: |_, state| state.actors.cluster.unclean || nothing_replaced(state),
        applies: |_, state| !state.actors.cluster.unclean && state.actors.cluster.spent[0] > 0,
    },
    Claim {
        id: "P5-zombie",
        statement: "a consumer that has heard of an epoch is handed nothing by a leader of an older one",
        assumption: "",
        holds: |_, state| without(state, fault::ZOMBIE),
        applies: |_, state| state.actors.client.heard.1 > 0 || state.actors.client.heard.0 > 0,
    },
    Claim {
        id: "P5-calm",
        statement: "no false alarm: a consumer whose records are all still there is never told of a truncation",
        assumption: "",
        holds: |_, state| without(state, fault::CALM),
        applies: validates,
    },
    Claim {
        id: "P5-range",
        statement: "no consumer that has lost nothing meets an offset out of range",
        assumption: "",
        holds: |_, state| without(state, fault::RANGE),
        applies: |_, state| state.actors.client.position.offset > 0,
    },
    Claim {
        id: "P5-ALO",
        statement: "no record of the log is skipped",
        assumption: "the full history of epochs",
        holds: |_, state| without(state, fault::SKIPPED),
        applies: has_read,
    },
    Claim {
        id: "P5-exception",
        statement: "an application without a policy gets an exception that names the position, and where the logs part",
        assumption: "",
        holds: |world, state| world.protocol.setting.bounds.reset.is_some() || without(state, fault::UNTOLD),
        applies: |world, state| {
            world.protocol.setting.bounds.reset.is_none() && state.actors.client.state == PositionState::AwaitValidation
        },
    },
    Claim {
        id: "P5-errors",
        statement: "no error about a leader epoch reaches the application",
        assumption: "",
        holds: |_, state| without(state, fault::ERROR),
        applies: |_, state| state.actors.client.position.leader_epoch != UNDEFINED,
    },
    Claim {
        id: "P5-state",
        statement: "what can be fetched from or validated is a position",
        assumption: "",
        holds: |_, state| {
            let client = &state.actors.client;
            client.position.offset != UNDEFINED
                || !matches!(client.state, PositionState::Fetching | PositionState::AwaitValidation)
        },
        applies: |_, state| state.actors.client.state == PositionState::AwaitReset,
    },
    Claim {
        id: "P5-once",
        statement: "what was handed out as committed stays committed",
        assumption: CL,
        holds: |_, state| committed_once(state),
        applies: |_, state| state.actors.cluster.ended != 0,
    },
    Claim {
        id: "P5-blocked",
        statement: "no transaction that has ended keeps readers of committed records waiting",
        assumption: CL,
        holds: |_, state| !dangles(state),
        applies: |_, state| state.actors.cluster.ended != 0,
    },
    Claim {
        id: "P7d",
        statement: "a validation ends, or throws",
        assumption: "",
        holds: |_, state| without(state, fault::STUCK) && !is_stuck(state),
        applies: validates,
    },
];
