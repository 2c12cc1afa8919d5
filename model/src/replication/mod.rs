//! Leader-epoch replication of one partition, end to end (KIP-101, KIP-279, KIP-320, KIP-497, KIP-595, KIP-903, KIP-966).
//!
//! **The protocol in ten lines.** The controller gives each leadership a leader epoch. The leader stamps what it appends
//! with its epoch, and every replica remembers where each epoch starts. A replica that begins to follow must first lose
//! what its leader does not have: it cuts at its high watermark (before KIP-101), asks where its latest epoch ends, once
//! (KIP-101) or until the answer is an epoch that it knows (KIP-279), or sends the epoch of its last record with each fetch
//! and is told where the logs part (KIP-595). Requests carry the leader epoch that the follower is in, and are refused
//! where the two differ (KIP-320). A fetch offset tells the leader what the follower has; what all in-sync replicas have is
//! committed, and acknowledged. The leader proposes whom to add to or drop from the in-sync set; the controller, which
//! elects out of that set, decides.
//!
//! | action of the model | in Kafka |
//! |---|---|
//! | a broker applies records of the controller | `TopicDelta#localChanges`, `Partition#makeLeader`, `#makeFollower` |
//! | a follower polls, gives up, handles an answer | `AbstractFetcherThread`, `ReplicaFetcherThread` |
//! | a leader handles a fetch, or the end of its wait | `Partition#fetchRecords`, `DelayedFetch` |
//! | `OffsetsForLeaderEpoch`, `ListOffsets` | `ReplicaManager#lastOffsetForLeaderEpoch`, `Partition#fetchOffsetForTimestamp` |
//! | a client produces | `Partition#appendRecordsToLeader`, `DelayedProduce` |
//! | the lag time passes | `Partition#maybeShrinkIsr` |
//! | an in-sync set is proposed | `AlterPartitionManager`, `ReplicationControlManager#alterPartition` |
//! | an election, fencing, a shutdown, a registration | `PartitionChangeBuilder`, `ReplicationControlManager` |
//! | a crash, a start | `LogManager`, `LogLoader`, `LeaderEpochFileCache` |
//! | a move to another disk, a round of it, a disk that goes and comes back | `ReplicaAlterLogDirsThread` |
//!
//! **Actors.** Two to four brokers and the controller. Messages are unordered, and may be as late as they like; a message
//! that is lost is one that is not delivered before its sender gives up. The controller's records are its log: a broker
//! reads on in it, as far as it likes in one step, which is lag and batching at once ([`bounds::Metadata`]).
//!
//! **Variants** are those of `fencepost_fixtures::variants`, with their rules in [`rules`]; slips those of [`mutant`];
//! properties P1 to P7 those of [`properties`], each under its assumption. **Bounds** are budgets for each kind of thing,
//! with their reasons in [`rows`] and [`larger`].
//!
//! **Simplified.** A batch has one record, or two where a configuration says so; none is compressed, and a log's start does
//! not move. A client always wants `acks=all`, and is not told what its request can't do: it asks only who can take it. A
//! broker whose message format has no epochs has it for good, and one that moves its replica does not go down. Time is the step in which the lag time passes. Sizes are not counted, so a fetch is
//! answered with all there is. Sessions are left out (3.8), and so are consumers and transactions. A fetch that waits is
//! read again as Kafka does, so a risen high watermark alone answers none. A message to a broker that is down is lost; one
//! to a broker that has come up again is not, though its connection would be.
//!
//! **Not established**: anything beyond the bounds; that three brokers with all faults at once are right, which is out of
//! reach (`rows::simulated` walks through them at random); what the bytes are; how long things take.

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
pub mod future;
pub mod goals;
pub mod labels;
pub mod larger;
pub mod leader;
pub mod log;
pub mod message;
pub mod metadata;
pub mod mutant;
pub mod parts;
pub mod properties;
mod recovery;
pub mod rendering;
pub mod rows;
pub mod rules;
pub mod tla;
pub mod traces;
mod truncation;
pub mod words;

use std::fmt;
use std::sync::Arc;

use self::actors::{Actor, ActorState, Actors, Part};
use self::bounds::Setting;
use self::broker::{Broker, Effect};
use self::controller::{Controller, Ruling};
use self::labels::{NAMES, Trail};
use self::message::{Msg, Timer};
use crate::protocol::{Claim, Protocol};
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
