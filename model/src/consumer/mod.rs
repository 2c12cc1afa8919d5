//! The half of KIP-320 that a reader sees: a consumer and its application, over leaders with logs, epochs and high
//! watermarks, some of them stale (KIP-320, KIP-232, KIP-392; `docs/consumers.md`).
//!
//! **The protocol in ten lines.** A consumer remembers with its position the epoch of the last record that it read, and
//! the leader with the leader epoch that it read it from. Its requests carry that leader epoch, so that neither an old
//! leader nor an old consumer is served. When it hears of another leader, it asks that one where the epoch of its
//! position ends. An end below the position says that records which it read are gone: it goes to that end, or tells the
//! application. What it commits has the epoch too, so that the next life of the application can ask. What the answer
//! must say for the position to hold is where the clients of today are wrong ([`rules::Check`], S15), and so is what they
//! do with records that come late ([`rules::Rules::late_fetch_checked`], S16).
//!
//! | action of the model | in Kafka |
//! |---|---|
//! | metadata is heard | `Metadata#updateLatestMetadata`, `SubscriptionState#maybeValidatePositionForCurrentLeader` |
//! | an answer where an epoch ends | `OffsetsForLeaderEpochUtils`, `SubscriptionState#maybeCompleteValidation` |
//! | an answer to a fetch | `FetchCollector#handleInitializeSuccess`, `#handleInitializeErrors` |
//! | an answer for an offset | `OffsetFetcherUtils#resetPositionIfNeeded` |
//! | the application seeks, commits, restarts | `KafkaConsumer` |
//! | a broker answers | `Partition#fetchRecords`, `ReplicaManager#lastOffsetForLeaderEpoch` |
//!
//! **Actors.** The cluster, and the consumer. The cluster is one actor, since a follower takes over what its leader has in
//! one step here, which is a step of two brokers; requests and answers travel between a broker and the consumer as they
//! do, unordered, and as late as they like. A diagram shows each broker in its place.
//!
//! **Variants** are the rows of [`rules`]; slips those of [`mutant`]; properties those of [`properties`]. **Bounds** are
//! budgets for each kind of thing, with their reasons in [`rows`].
//!
//! **Simplified.** A record is a batch. A fetch is answered with all there is, at once. A call of the application and the
//! poll that follows it are one step. The group's coordinator answers at once. A producer has one transaction.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "states and messages grow and shrink with the model; a signature should not change with their size"
)]

pub mod actors;
pub mod application;
pub mod bounds;
pub mod broker;
pub mod catalogue;
pub mod client;
pub mod cluster;
pub mod decisions;
pub mod enabled;
pub mod goals;
pub mod labels;
pub mod log;
pub mod message;
pub mod mutant;
pub mod properties;
pub mod rendering;
pub mod rows;
pub mod rules;
pub mod traces;
pub mod words;

use std::fmt;
use std::sync::Arc;

use self::actors::{Actor, ActorState, Actors};
use self::bounds::Setting;
use self::client::Effect;
use self::cluster::Answered;
use self::enabled::at_consumer;
use self::labels::{NAMES, Trail};
use self::message::{CONSUMER, Msg, Timer};
use crate::protocol::{Claim, Protocol};
use crate::world::{Action, ActionOf, World, WorldState};

/// The protocol under one configuration.
#[derive(Clone, Debug)]
pub struct Consumer {
    /// The configuration.
    pub setting: Setting,
    actors: Arc<[Actor; 2]>,
}

/// What a step made an actor do.
#[derive(Clone, Debug)]
pub enum Done {
    /// A step of the cluster.
    Cluster(Answered),
    /// A step of the consumer.
    Consumer(Effect),
}

impl Consumer {
    /// The protocol under `setting`.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        Self { setting, actors: Arc::new([false, true].map(|reads| Actor { reads, setting })) }
    }

    /// What a step made an actor do: the step is taken again. `None` where none takes part.
    #[must_use]
    pub fn done(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Option<Done> {
        let setting = &self.setting;
        Some(match action {
            Action::Drop(_) => return None,
            Action::Deliver(envelope) if envelope.dst == CONSUMER => {
                Done::Consumer(before.actors.client.clone().receive(setting, envelope.msg))
            }
            Action::Deliver(envelope) => Done::Cluster(before.actors.cluster.clone().receive(setting, envelope.msg)),
            Action::Timeout(CONSUMER, timer) => Done::Consumer(before.actors.client.clone().time_out(setting, *timer)),
            Action::Timeout(_, timer) => Done::Cluster(before.actors.cluster.clone().time_out(setting, *timer)),
        })
    }

    /// The rows that a step went through.
    #[must_use]
    pub fn trail(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Trail {
        match self.done(before, action) {
            None => Trail::default(),
            Some(Done::Cluster(answered)) => answered.trail,
            Some(Done::Consumer(effect)) => effect.trail,
        }
    }
}

impl Protocol for Consumer {
    type Msg = Msg;
    type Timer = Timer;
    type ActorState = ActorState;
    type Actor = Actor;
    type Actors = Actors;

    const NAME: &'static str = "consumer";

    fn actors(&self) -> &[Actor] {
        &self.actors[..]
    }

    fn pack(&self, states: Vec<ActorState>) -> Actors {
        let mut packed =
            Actors { cluster: cluster::Cluster::new(&self.setting), client: client::Client::new(&self.setting) };
        for state in states {
            match state {
                ActorState::Cluster(cluster) => packed.cluster = cluster,
                ActorState::Client(client) => packed.client = client,
            }
        }
        packed
    }

    fn actor_state(&self, actors: &Actors, id: u8) -> ActorState {
        if id == CONSUMER {
            ActorState::Client(actors.client.clone())
        } else {
            ActorState::Cluster(actors.cluster.clone())
        }
    }

    fn set_actor_state(&self, actors: &mut Actors, _: u8, state: ActorState) {
        match state {
            ActorState::Cluster(cluster) => actors.cluster = cluster,
            ActorState::Client(client) => actors.client = client,
        }
    }

    fn timers(&self, actors: &Actors, id: u8, each: &mut dyn FnMut(Timer)) {
        if id == CONSUMER {
            let cluster = (!self.setting.bounds.told_by_message).then_some(&actors.cluster);
            at_consumer(&self.setting, &actors.client, cluster, each);
        } else {
            actors.cluster.timers(&self.setting, each);
        }
    }

    fn properties(&self) -> &'static [Claim<Self>] {
        properties::CLAIMS
    }

    fn is_quiescent(_: &World<Self>, state: &WorldState<Self>) -> bool {
        state.network.is_empty()
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
        words::action(action)
    }

    fn describe_step(&self, before: &WorldState<Self>, action: &ActionOf<Self>, after: &WorldState<Self>) -> String {
        words::step(self, before, action, after)
    }

    fn actor_name(&self, id: u8) -> String {
        if id == CONSUMER { "consumer".to_owned() } else { "cluster".to_owned() }
    }

    fn describe_message(&self, msg: &Msg) -> String {
        words::message(msg)
    }

    fn lanes(&self) -> Vec<String> {
        (0..self.setting.bounds.brokers).map(words::broker).chain(["consumer".to_owned()]).collect()
    }

    fn lane(&self, id: u8, msg: &Msg) -> u8 {
        if id == CONSUMER { self.setting.bounds.brokers } else { words::place(msg) }
    }

    fn lane_of_timer(&self, id: u8, timer: &Timer) -> u8 {
        if id == CONSUMER { self.setting.bounds.brokers } else { words::place_of_timer(timer) }
    }
}
