//! `AsyncIsr`: a leader that asks the controller for another ISR and goes on while it waits, the idea behind KIP-497. The
//! leader never changes, records are only counted, and the high watermark is the least offset over the ISR *and* the one
//! that is asked for.
//!
//! The module has no bound of its own: `MaxOffset` stands in an `ASSUME` only. So TLC was given a constraint, and the same
//! is here: no offset beyond `max_offset`, no version beyond `max_version`.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::module::{Module, Tla};
use super::state::{Id, Ids, ROOM};
use super::words::list;
use crate::protocol::{Claim, Configuration, Tier};

/// The leader, which never changes. Which one it is makes no difference.
const LEADER: Id = Id(0);
/// What the module has for no pending version.
const NIL: Option<u8> = None;

/// The module's constants, and those of the constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncIsr {
    /// How many replicas there are, at most four.
    pub replicas: u8,
    /// `MaxOffset`.
    pub max_offset: u8,
    /// The most changes of the ISR, at most three.
    pub max_version: u8,
}

/// An ISR at a version: what the controller has, or a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Versioned {
    version: u8,
    isr: u8,
}

impl Versioned {
    const fn new(isr: Ids, version: u8) -> Self {
        Self { version, isr: isr.0 }
    }
    const fn isr(self) -> Ids {
        Ids(self.isr)
    }
}

impl fmt::Display for Versioned {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at v{}", self.isr(), self.version)
    }
}

/// A set of messages, one bit each: four versions of sixteen sets of replicas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Messages(u64);

impl Messages {
    fn with(self, message: Versioned) -> Self {
        // A version beyond the room has no bit: the constraint discards such a state.
        let bit = 1_u64.checked_shl(16 * u32::from(message.version) + u32::from(message.isr));
        Self(self.0 | bit.unwrap_or(0))
    }
    fn iter(self) -> impl Iterator<Item = Versioned> {
        let all = (0..4).flat_map(|version| (0..16).map(move |isr| Versioned { version, isr }));
        all.filter(move |message| self.with(*message) == self)
    }
}

/// A state of `AsyncIsr`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    controller: Versioned,
    leader: Versioned,
    pending_isr: u8,
    /// `pendingVersion`; no action reads it.
    pending_version: Option<u8>,
    offsets: [u8; ROOM as usize],
    requests: Messages,
    updates: Messages,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.requests.0);
        hasher.write_u64(self.updates.0);
        hasher.write_u32(u32::from_le_bytes(self.offsets));
        hasher.write_u64(u64::from_le_bytes([
            self.controller.version,
            self.controller.isr,
            self.leader.version,
            self.leader.isr,
            self.pending_isr,
            self.pending_version.map_or(0, |version| version + 1),
            0,
            0,
        ]));
    }
}

impl State {
    fn offset(&self, id: Id) -> u8 {
        self.offsets[usize::from(id.0 % ROOM)]
    }
    fn advance(&mut self, id: Id) {
        self.offsets[usize::from(id.0 % ROOM)] += 1;
    }
    /// `HighWatermark`. The leader never leaves its ISR, so there is a least offset.
    fn high_watermark(&self) -> u8 {
        self.leader.isr().union(Ids(self.pending_isr)).iter().map(|id| self.offset(id)).min().unwrap_or(0)
    }
    /// `ControllerWriteIsr`, and the update that tells the leader.
    fn write_isr(mut self, isr: Ids) -> Self {
        self.controller = Versioned::new(isr, self.controller.version + 1);
        self.updates = self.updates.with(self.controller);
        self
    }
    /// The leader asks for an ISR. What it asked for before may still come true, so the pending ISR only grows.
    fn request(mut self, isr: Ids) -> Self {
        self.requests = self.requests.with(Versioned::new(isr, self.leader.version));
        self.pending_isr |= isr.0;
        self.pending_version = Some(self.leader.version);
        self
    }
}

/// An action with the values that its quantifiers choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Step {
    /// `ControllerShrinkIsr`.
    ControllerShrinkIsr(Id),
    /// `ControllerHandleRequest`.
    ControllerHandleRequest(Versioned),
    /// `LeaderRequestShrinkIsr`.
    LeaderRequestShrinkIsr(Id),
    /// `LeaderRequestExpandIsr`.
    LeaderRequestExpandIsr(Id),
    /// `LeaderWrite`.
    LeaderWrite,
    /// `LeaderHandleUpdate`.
    LeaderHandleUpdate(Versioned),
    /// `FollowerReplicate`.
    FollowerReplicate(Id),
}

const LABELS: &[&str] = &[
    "ControllerShrinkIsr",
    "ControllerHandleRequest",
    "LeaderRequestShrinkIsr",
    "LeaderRequestExpandIsr",
    "LeaderWrite",
    "LeaderHandleUpdate",
    "FollowerReplicate",
];

impl AsyncIsr {
    const fn all(self) -> Ids {
        Ids::first(self.replicas)
    }

    /// `Next`, whether the constraint lets the successor pass or not.
    fn unconstrained(self, state: &State, each: &mut dyn FnMut(Step)) {
        for id in self.all().iter() {
            each(Step::ControllerShrinkIsr(id));
            each(Step::LeaderRequestShrinkIsr(id));
            each(Step::LeaderRequestExpandIsr(id));
            each(Step::FollowerReplicate(id));
        }
        for message in state.requests.iter() {
            each(Step::ControllerHandleRequest(message));
        }
        each(Step::LeaderWrite);
        for update in state.updates.iter() {
            each(Step::LeaderHandleUpdate(update));
        }
    }

    const fn constraint(self, state: &State) -> bool {
        let [offset, ..] = state.offsets;
        offset <= self.max_offset && state.controller.version <= self.max_version
    }

    /// How many successors of a state the constraint discards: TLC counts them as generated, Stateright does not.
    #[must_use]
    pub fn discarded(self, state: &State) -> usize {
        let mut discarded = 0;
        self.unconstrained(state, &mut |step| {
            let next = taken(state, step);
            discarded += usize::from(next.is_some_and(|next| !self.constraint(&next)));
        });
        discarded
    }
}

/// Takes a step, where its guard holds.
fn taken(state: &State, step: Step) -> Option<State> {
    let (controller, leader) = (state.controller, state.leader);
    let mut next = *state;
    let guard = match step {
        Step::ControllerShrinkIsr(id) => {
            next = state.write_isr(controller.isr().without(id));
            id != LEADER && controller.isr().contains(id)
        }
        Step::ControllerHandleRequest(message) => {
            next = state.write_isr(message.isr());
            message.version == controller.version
        }
        Step::LeaderRequestShrinkIsr(id) => {
            next = state.request(leader.isr().without(id));
            leader.isr().contains(id) && id != LEADER
        }
        Step::LeaderRequestExpandIsr(id) => {
            next = state.request(leader.isr().with(id));
            !leader.isr().contains(id) && state.offset(id) >= state.high_watermark()
        }
        Step::LeaderWrite => {
            next.advance(LEADER);
            true
        }
        Step::LeaderHandleUpdate(update) => {
            next.leader = update;
            next.pending_isr = 0;
            next.pending_version = NIL;
            update.version > leader.version
        }
        Step::FollowerReplicate(id) => {
            next.advance(id);
            id != LEADER && state.offset(id) < state.offset(LEADER)
        }
    };
    guard.then_some(next)
}

const CLAIMS: &[Claim<Tla<AsyncIsr>>] = &[
    Claim {
        id: "TypeOk",
        statement: "every variable has a value of its type, the pending version a natural number",
        assumption: "",
        holds: |_, state| state.actors.pending_version.is_some(),
        applies: |_, _| true,
    },
    Claim {
        id: "TypeOkFixed",
        statement: "every variable has a value of its type, the pending version a natural number or none",
        assumption: "",
        holds: |world, state| world.protocol.module().type_ok(&state.actors),
        applies: |_, _| true,
    },
    Claim {
        id: "ValidHighWatermark",
        statement: "each member of the controller's ISR is at the leader's high watermark or past it",
        assumption: "",
        holds: |_, state| {
            let high_watermark = state.actors.high_watermark();
            state.actors.controller.isr().iter().all(|id| state.actors.offset(id) >= high_watermark)
        },
        applies: |_, state| state.actors.high_watermark() > 0,
    },
];

impl AsyncIsr {
    fn type_ok(self, state: &State) -> bool {
        let known = |isr: Ids| isr.union(self.all()) == self.all();
        let message_ok = |message: Versioned| known(message.isr()) && message.version <= self.max_version;
        message_ok(state.controller)
            && message_ok(state.leader)
            && known(Ids(state.pending_isr))
            && state.pending_version.is_none_or(|version| version <= self.max_version)
            && state.requests.iter().chain(state.updates.iter()).all(message_ok)
    }
}

impl Module for AsyncIsr {
    type State = State;
    type Step = Step;

    const NAME: &'static str = "tla-parity-async-isr";
    const LABELS: &'static [&'static str] = LABELS;
    const CLAIMS: &'static [Claim<Tla<Self>>] = CLAIMS;

    fn initial(&self) -> State {
        let start = Versioned::new(self.all(), 0);
        State {
            controller: start,
            leader: start,
            pending_isr: 0,
            pending_version: NIL,
            offsets: [0; ROOM as usize],
            requests: Messages::default(),
            updates: Messages::default(),
        }
    }
    fn enabled(&self, state: &State, each: &mut dyn FnMut(Step)) {
        self.unconstrained(state, &mut |step| {
            if self.next(state, step).is_some() {
                each(step);
            }
        });
    }
    fn next(&self, state: &State, step: Step) -> Option<State> {
        taken(state, step).filter(|next| self.constraint(next))
    }
    fn label(_: &State, step: Step) -> u16 {
        match step {
            Step::ControllerShrinkIsr(_) => 0,
            Step::ControllerHandleRequest(_) => 1,
            Step::LeaderRequestShrinkIsr(_) => 2,
            Step::LeaderRequestExpandIsr(_) => 3,
            Step::LeaderWrite => 4,
            Step::LeaderHandleUpdate(_) => 5,
            Step::FollowerReplicate(_) => 6,
        }
    }
    fn describe(state: &State, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "controller: {}", state.controller)?;
        writeln!(
            formatter,
            "leader: {}, pending {}, hw {}",
            state.leader,
            Ids(state.pending_isr),
            state.high_watermark()
        )?;
        writeln!(formatter, "offsets: {:?}", state.offsets)?;
        formatter.write_str("requests: ")?;
        list(formatter, ('[', ']'), state.requests.iter())?;
        formatter.write_str("\nupdates: ")?;
        list(formatter, ('[', ']'), state.updates.iter())
    }
    fn describe_step(&self, step: Step) -> String {
        match step {
            Step::ControllerShrinkIsr(id) => format!("ControllerShrinkIsr: without {id}"),
            Step::ControllerHandleRequest(message) => format!("ControllerHandleRequest: {message}"),
            Step::LeaderRequestShrinkIsr(id) => format!("LeaderRequestShrinkIsr: without {id}"),
            Step::LeaderRequestExpandIsr(id) => format!("LeaderRequestExpandIsr: with {id}"),
            Step::LeaderWrite => "LeaderWrite".to_owned(),
            Step::LeaderHandleUpdate(update) => format!("LeaderHandleUpdate: {update}"),
            Step::FollowerReplicate(id) => format!("FollowerReplicate: {id}"),
        }
    }
    fn configurations() -> Vec<Configuration<Tla<Self>>> {
        let numbers: [([u8; 3], &'static str); 3] = [
            ([2, 3, 3], "two replicas: one may be out of the ISR"),
            ([3, 2, 2], "three replicas: two requests may be under way that differ"),
            ([3, 2, 3], "one change of the ISR more"),
        ];
        let configurations = numbers.map(|([replicas, max_offset, max_version], reason)| Configuration {
            name: format!("replication/tla-parity/async-isr/{replicas}-{max_offset}-{max_version}"),
            tier: Tier::Smoke,
            reason,
            walks: None,
            protocol: Tla::new(Self { replicas, max_offset, max_version }),
        });
        configurations.into()
    }
}
