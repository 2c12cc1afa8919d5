//! Delete horizons in log compaction (KIP-534): how long a tombstone, and a transaction's marker, stay in a compacted log.
//!
//! **The protocol in ten lines.** A round of the cleaner begins at the first dirty offset, reads keys into an offset map of
//! bounded size, and then copies every segment from the start of the log up to the last offset mapped. A record whose key
//! the map has at a higher offset is dropped. A tombstone must stay for a while, so that a reader who saw the value sees the
//! deletion: the first copy that retains it writes `now + delete.retention.ms` into its batch, as the delete horizon, and a
//! copy that begins at or after the horizon drops it. Data of aborted transactions are dropped at once. A marker must stay
//! as long as data of its transaction are there: the first copy that meets none stamps it, and one after the horizon
//! drops it. The last batch of a producer stays, emptied if need be. Groups of segments are swapped in one by one; then the
//! first dirty offset is written down. Rounds come only from new data.
//!
//! | action of the model | in Kafka |
//! |---|---|
//! | a write, a marker | `UnifiedLog#appendAsLeader`, `ProducerStateManager`, `TransactionIndex` |
//! | a round begins | `LogCleanerManager#grabFilthiestCompactedLog`, `#cleanableOffsets` |
//! | its map is built | `Cleaner#buildOffsetMap`, `SkimpyOffsetMap` |
//! | a group is cleaned | `Cleaner#cleanSegments`, `#shouldDiscardBatch`, `#shouldRetainRecord`, `MemoryRecords#filterTo` |
//! | and swapped | `LocalLog#replaceSegments` |
//! | a round is finished | `LogCleanerManager#doneCleaning` |
//! | a crash | `LogLoader` |
//! | a truncation, a lost end | `LogManager#truncateTo`, `LogCleanerManager#maybeTruncateCheckpoint` |
//! | the oldest segment goes | `UnifiedLog#deleteOldSegments` |
//! | a fetch of a consumer | `UnifiedLog#read`, `CompletedFetch` |
//! | a fetch of a follower | `UnifiedLog#appendAsFollower` |
//!
//! **Actors.** A replica with its log, cleaner and clock; perhaps a second; perhaps a consumer. Writers do not wait for
//! each other, so the order in which their requests reach the log is all that matters, and a request is one step. A
//! follower that is away is one whose fetch is not delivered.
//!
//! **Variants** are those of `fencepost_fixtures::variants`, slips those of [`mutant`], properties S1 to S18 and L1 to L7
//! those of [`properties`]. **Bounds** and their reasons stand in [`bounds`], [`catalogue`] and [`rows`].
//!
//! **Where the map never fills** (`*-protocol-1`, `*-protocol-2` in [`rows`]): an abort or a crash between a swap and the
//! checkpoint breaks nothing as long as each group is one segment. Where segments are merged, the first dirty offset then
//! lies inside a segment, and N2 comes about without a full map, but only under transaction protocol 1: the emptied data
//! batch that is kept for the producer keeps the entry of its aborted transaction alive for one round more. Under protocol
//! 2 the marker is kept instead, and the entry is gone. The repair of N2 repairs this too.
//!
//! **What the repairs cost.** Stamping only what was clean before (N3) takes one round more, and a lost checkpoint begins
//! anew; a removal that waits for all replicas (6.2) waits for ever for one that is gone. L6 fails for all but the draft
//! that lets a horizon make a log dirty, and that is not part of the oracle.
//!
//! **Simplified.** A batch has one record, or two of the first two keys; a value is its offset. Sizes are counted in
//! batches, time is a small number, and record timestamps are left out but for the age of a segment's first batch, as are
//! old formats and compression. Every dirty log is worth a round and there is no other, but for the rows of
//! `rows::choices`, where a second log is no more than a count of dirty batches. A crash and the recovery are one step. The high watermark moves to the log's end.
//!
//! **Not established**: anything beyond the bounds; the bytes of a rebuilt batch (the reference's business); truncation by
//! leader epochs (another protocol's); how long things take.

#![allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "states and messages grow and shrink with the model; a signature should not change with their size"
)]
#![allow(clippy::doc_markdown, reason = "a label's text is its documentation, and says Kafka's names as people do")]

pub mod actors;
pub mod batch;
pub mod bounds;
pub mod broker;
pub mod catalogue;
pub mod choice;
pub mod enabled;
pub mod goals;
pub mod interpreter;
pub mod labels;
pub mod log;
pub mod message;
pub mod mutant;
pub mod plan;
pub mod properties;
pub mod reader;
pub mod recopy;
pub mod recovery;
pub mod rendering;
pub mod replica;
pub mod round;
pub mod rows;
pub mod slips;
pub mod traces;
pub mod tracker;
pub mod truth;
pub mod words;

use std::fmt;
use std::sync::Arc;

use self::actors::{Actor, ActorState, Actors, Part};
use self::bounds::Setting;
use self::broker::{Broker, Effect};
use self::labels::{NAMES, Trail};
use self::message::{Msg, Timer};
use self::reader::Reader;
use crate::protocol::{Claim, Protocol};
use crate::world::{Action, ActionOf, World, WorldState};

/// The protocol under one configuration.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The configuration.
    pub setting: Setting,
    actors: Arc<[Actor]>,
}

impl Compaction {
    /// The protocol under `setting`.
    #[must_use]
    pub fn new(setting: Setting) -> Self {
        let mut parts: Vec<_> = (0..setting.bounds.replicas).map(Part::Broker).collect();
        if setting.bounds.reader.is_some() {
            parts.push(Part::Reader);
        }
        let actors = parts.into_iter().map(|part| Actor { part, setting }).collect();
        Self { setting, actors }
    }

    /// Which actor has the index `id`.
    #[must_use]
    pub fn part(&self, id: u8) -> Part {
        self.actors[usize::from(id)].part
    }

    /// What a step made a replica do: the step is taken again. `None` where no replica takes part.
    #[must_use]
    pub fn effect(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Option<Effect> {
        let broker = |id: u8| match (id, &before.actors.other) {
            (0, _) => Some(before.actors.broker.clone()),
            (1, Some(other)) => Some(Broker::clone(other)),
            _ => None,
        };
        match action {
            Action::Deliver(envelope) => Some(broker(envelope.dst)?.receive(&self.setting, envelope.msg)),
            Action::Timeout(id, timer) => Some(broker(*id)?.time_out(&self.setting, *timer)),
            Action::Drop(_) => None,
        }
    }

    /// The rows that a step went through.
    #[must_use]
    pub fn trail(&self, before: &WorldState<Self>, action: &ActionOf<Self>) -> Trail {
        self.effect(before, action).map_or_else(Trail::default, |effect| effect.trail)
    }
}

impl Protocol for Compaction {
    type Msg = Msg;
    type Timer = Timer;
    type ActorState = ActorState;
    type Actor = Actor;
    type Actors = Actors;

    const NAME: &'static str = "compaction";

    fn actors(&self) -> &[Actor] {
        &self.actors
    }

    fn pack(&self, states: Vec<ActorState>) -> Actors {
        let broker = Broker::new(&self.setting, 0);
        let mut packed = Actors { broker, other: None, reader: Reader::default() };
        for (id, state) in (0..).zip(states) {
            self.set_actor_state(&mut packed, id, state);
        }
        packed
    }

    fn actor_state(&self, actors: &Actors, id: u8) -> ActorState {
        match (self.part(id), &actors.other) {
            (Part::Broker(1), Some(other)) => ActorState::Broker(Broker::clone(other)),
            (Part::Broker(_), _) => ActorState::Broker(actors.broker.clone()),
            (Part::Reader, _) => ActorState::Reader(actors.reader),
        }
    }

    fn set_actor_state(&self, actors: &mut Actors, id: u8, state: ActorState) {
        match (state, self.part(id)) {
            (ActorState::Broker(broker), Part::Broker(0)) => actors.broker = broker,
            (ActorState::Broker(broker), _) => actors.other = Some(Box::new(broker)),
            (ActorState::Reader(reader), _) => actors.reader = reader,
        }
    }

    fn timers(&self, actors: &Actors, id: u8, each: &mut dyn FnMut(Timer)) {
        match (self.part(id), &actors.other) {
            (Part::Broker(0), _) => enabled::timers(&self.setting, 0, &actors.broker, each),
            (Part::Broker(id), Some(other)) => enabled::timers(&self.setting, id, other, each),
            _ => {}
        }
    }

    fn properties(&self) -> &'static [Claim<Self>] {
        properties::CLAIMS
    }

    fn step_violations(&self, before: &WorldState<Self>, action: &ActionOf<Self>, _: &WorldState<Self>) -> u32 {
        properties::step_violations(self, before, action)
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
