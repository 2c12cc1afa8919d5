//! Assignment-epoch fencing: whose offset commits a group coordinator accepts while partitions move (KIP-848, KIP-1251).
//!
//! **The protocol in ten lines.** The coordinator has a target assignment with an epoch, and walks each member towards it,
//! one heartbeat at a time. A member whose target shrank is UNREVOKED: it is asked to give partitions up, keeps its epoch,
//! and is given nothing. When it no longer reports them they are free, and it reaches the target's epoch; what is still
//! another's leaves it UNRELEASED. A partition that is given gets the target's epoch as its assignment epoch and keeps it as
//! long as the member has it. A commit carries the member epoch that the client knew when it sent it. Equal to the
//! coordinator's: accepted. Newer: refused. Older: held against the partition's assignment epoch (KIP-1251). So the fence
//! rests on "no other member can own a partition at my epoch", and S3 is that sentence.
//!
//! | action of the model | in Kafka |
//! |---|---|
//! | a heartbeat arrives | `GroupMetadataManager#consumerGroupHeartbeat`, `CurrentAssignmentBuilder#build` |
//! | a commit arrives | `OffsetMetadataManager#commitOffset`, `ConsumerGroup#validateOffsetCommit` |
//! | a transactional commit, a marker arrives | `OffsetMetadataManager#commitTransactionalOffset`, `#replayEndTransactionMarker` |
//! | a fetch arrives | `OffsetMetadataManager#fetchOffsets` |
//! | the target arrives | a change that makes the assignor answer otherwise; computed with the next heartbeat |
//! | session, rebalance timer | `CoordinatorTimer`, removal of the member |
//! | the high watermark rises, fail-over | `CoordinatorRuntime`, loading of `__consumer_offsets` |
//! | a client reconciles, gives up, leaves | the Java client's membership manager |
//!
//! **Variants** are those of `fencepost_fixtures::variants`, slips those of [`mutant`], properties S1 to S13 and L1 to L6
//! those of [`properties`], with the assumption under which each is claimed. **Bounds** and their reasons stand in
//! [`bounds`], [`catalogue`] and [`rows`]: one dimension at a time.
//!
//! **Lengths.** A request, its handling and its answer are steps of their own, and so are the assignor's change of mind and
//! its arrival: the late commit takes 13 steps to the state in which its delivery would do harm.
//!
//! **Simplified.** Two topics, four partitions, three members at most; one producer, of the first consumer's
//! application; a commit's offset is its number; ids, subscriptions by regex, racks and classic members are left out.
//! Messages on the way are never lost but may stay there for ever; a client that gives up sends again.
//!
//! **Not established**: anything beyond the bounds; that only one *client* believes that it owns a partition (false by
//! design); the bytes of records (the reference's business); fairness.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "states and messages grow and shrink with the model; a signature should not change with their size"
)]
#![allow(clippy::doc_markdown, reason = "a label's text is its documentation, and says Kafka's names as people do")]
#![allow(clippy::zero_sized_map_values, reason = "this protocol sends no messages in a trace: their type is empty")]
#![allow(clippy::many_single_char_names, reason = "t and u are the topics' names")]
#![allow(clippy::struct_excessive_bools, reason = "a client's state is independent facts, packed for the hash")]

pub mod actors;
pub mod assignor;
pub mod bounds;
pub mod catalogue;
pub mod commit;
pub mod consumer;
pub mod coordinator;
pub mod fail_over;
pub mod goals;
pub mod interpreter;
pub mod labels;
pub mod message;
pub mod mutant;
pub mod partitions;
pub mod producer;
pub mod properties;
pub mod reconciliation;
pub mod rows;
pub mod start;
pub mod traces;
pub mod words;

use std::fmt;
use std::sync::Arc;

use self::actors::{Actor, ActorState, Actors, COORDINATOR, Role};
use self::bounds::Setting;
use self::consumer::Consumer;
use self::labels::{NAMES, Trail};
use self::message::{Msg, Timer};
use self::producer::Producer;
use crate::protocol::{Claim, Protocol};
use crate::world::{Action, ActionOf, World, WorldState};

/// The protocol under one configuration.
#[derive(Clone, Debug)]
pub struct Fencing {
    /// The configuration.
    pub setting: Setting,
    actors: Arc<[Actor]>,
}

impl Fencing {
    /// The protocol under `setting`.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let start = start::start(&setting);
        let mut roles = vec![Role::Coordinator];
        roles.extend((0..setting.bounds.members).map(Role::Consumer));
        roles.push(Role::Assignor);
        if setting.bounds.transactions > 0 {
            roles.push(Role::Producer);
        }
        let actors = roles.into_iter().map(|role| Actor { role, setting, start }).collect();
        Self { setting, actors }
    }

    /// Which actor has the index `id`.
    #[must_use]
    pub fn role(&self, id: u8) -> Role {
        self.actors[usize::from(id)].role
    }

    /// The rows that a step went through at the coordinator.
    #[must_use]
    pub fn trail(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Trail {
        let mut broker = before.actors.broker.clone();
        match action {
            Action::Deliver(envelope) if envelope.dst == COORDINATOR => {
                broker.receive(&self.setting, envelope.src, envelope.msg).trail
            }
            Action::Timeout(COORDINATOR, timer) => broker.time_out(&self.setting, *timer).trail,
            _ => Trail::default(),
        }
    }
}

impl Protocol for Fencing {
    type Msg = Msg;
    type Timer = Timer;
    type ActorState = ActorState;
    type Actor = Actor;
    type Actors = Actors;

    const NAME: &'static str = "fencing";

    fn actors(&self) -> &[Actor] {
        &self.actors
    }

    fn pack(&self, states: Vec<ActorState>) -> Actors {
        let start = &self.actors[0].start;
        let mut packed = Actors {
            broker: actors::Broker { now: start.coordinator, held: None },
            consumers: [Consumer::default(); actors::MAX_CONSUMERS],
            assignor: start.assignor,
            producer: Producer::default(),
            topics: self.setting.bounds.topics,
        };
        for (id, state) in (0..).zip(states) {
            self.set_actor_state(&mut packed, id, state);
        }
        packed
    }

    fn actor_state(&self, actors: &Actors, id: u8) -> ActorState {
        match self.role(id) {
            Role::Coordinator => ActorState::Broker(actors.broker.clone()),
            Role::Consumer(consumer) => ActorState::Consumer(actors.consumers[usize::from(consumer)]),
            Role::Assignor => ActorState::Assignor(actors.assignor),
            Role::Producer => ActorState::Producer(actors.producer),
        }
    }

    fn set_actor_state(&self, actors: &mut Actors, id: u8, state: ActorState) {
        match (state, self.role(id)) {
            (ActorState::Broker(broker), _) => actors.broker = broker,
            (ActorState::Consumer(state), Role::Consumer(consumer)) => actors.consumers[usize::from(consumer)] = state,
            (ActorState::Assignor(assignor), _) => actors.assignor = assignor,
            (ActorState::Producer(producer), _) => actors.producer = producer,
            (ActorState::Consumer(_), _) => {}
        }
    }

    fn timers(&self, actors: &Actors, id: u8, each: &mut dyn FnMut(Timer)) {
        match self.role(id) {
            Role::Coordinator => actors.broker.timers(&self.setting, each),
            Role::Consumer(consumer) => actors.consumers[usize::from(consumer)].timers(&self.setting, consumer, each),
            Role::Assignor => actors.assignor.timers(&self.setting, each),
            Role::Producer => actors.producer.timers(each),
        }
    }

    fn properties(&self) -> &'static [Claim<Self>] {
        properties::CLAIMS
    }

    fn step_violations(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> u32 {
        properties::step_violations(self, before, action, after)
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
        words::message(&self.setting, msg)
    }
}
