//! The Stateright actors: which state and which handler an index stands for, and how the states are packed together.
//!
//! The coordinator is actor 0, the consumers follow, then the assignor, then the producer where there is one.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};
use stateright::actor::{Actor as StaterightActor, Id, Out};

use super::assignor::Assignor;
use super::bounds::Setting;
use super::commit::CommitRequest;
use super::consumer::{Consumer, Life};
use super::coordinator::{Coordinator, HeartbeatRequest};
use super::fail_over::{Held, failed, rules_of};
use super::labels::Trail;
use super::message::{Commit, Fetch, Heartbeat, Msg, Timer};
use super::mutant::Mutant;
use super::partitions::{Partitions, Topics};
use super::producer::Producer;

/// The most consumers that a configuration can have.
pub const MAX_CONSUMERS: usize = 3;
/// The coordinator's index.
pub const COORDINATOR: u8 = 0;

/// The coordinator with what it holds back.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Broker {
    /// The coordinator.
    pub now: Coordinator,
    /// What lies above the high watermark; `None` where writes are committed at once.
    pub held: Option<Box<Held>>,
}

/// The state of one actor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ActorState {
    /// The coordinator's.
    Broker(Broker),
    /// A consumer's.
    Consumer(Consumer),
    /// The assignor's.
    Assignor(Assignor),
    /// The producer's.
    Producer(Producer),
}

/// The states of all actors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actors {
    /// The coordinator.
    pub broker: Broker,
    /// The consumers.
    pub consumers: [Consumer; MAX_CONSUMERS],
    /// The assignor.
    pub assignor: Assignor,
    /// The producer.
    pub producer: Producer,
    /// The configuration's topics, by which a state names its partitions.
    pub topics: Topics,
}

impl Hash for Actors {
    /// The topics are the same in every state.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.broker.hash(hasher);
        for consumer in self.consumers.iter().filter(|consumer| consumer.life != Life::Unused) {
            consumer.hash(hasher);
        }
        self.assignor.hash(hasher);
        self.producer.hash(hasher);
    }
}

/// Which actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The coordinator.
    Coordinator,
    /// A consumer, from 0.
    Consumer(u8),
    /// The assignor.
    Assignor,
    /// The producer.
    Producer,
}

/// An actor of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Which one.
    pub role: Role,
    /// The configuration.
    pub setting: Setting,
    /// The coordinator's and the consumers' states at the start.
    pub start: Start,
}

/// Where a behaviour begins: after the setup that its trace has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The coordinator.
    pub coordinator: Coordinator,
    /// The consumers.
    pub consumers: [Consumer; MAX_CONSUMERS],
    /// The assignor.
    pub assignor: Assignor,
}

impl Setting {
    /// The index of the assignor.
    #[must_use]
    pub fn assignor(&self) -> u8 {
        1 + self.bounds.members
    }

    /// The index of the producer.
    #[must_use]
    pub fn producer(&self) -> u8 {
        2 + self.bounds.members
    }
}

/// What the coordinator makes of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The answers that go out now, each with its receiver.
    pub sends: smallvec::SmallVec<[(u8, Msg); 4]>,
    /// The rows that it went through.
    pub trail: Trail,
    /// Whether the request was refused.
    pub refused: bool,
}

impl Broker {
    /// The coordinator handles a message.
    pub fn receive(&mut self, setting: &Setting, src: u8, msg: Msg) -> Effect {
        let mut effect = Effect::default();
        let trail = &mut effect.trail;
        let rules = rules_of(setting, &self.now);
        let now = &mut self.now;
        let (answer, refused) = match msg {
            Msg::Heartbeat(heartbeat) => {
                let request = heartbeat_request(setting, &heartbeat);
                let seq = heartbeat.seq;
                match now.heartbeat(setting, &rules, &request, trail) {
                    Ok(answer) => {
                        (Some(Msg::HeartbeatAnswer { seq, epoch: answer.epoch, assigned: answer.assigned }), false)
                    }
                    Err(error) => (Some(Msg::HeartbeatRefusal { seq, error }), true),
                }
            }
            Msg::Leave { slot, epoch } => {
                let instance = instance_of(setting, slot);
                let refused = now.leave(setting, &rules, slot, epoch, instance, trail).is_err();
                // A client does not wait for the answer to its leave; the effect is the step.
                (None, refused)
            }
            Msg::Commit(commit) => {
                let request = commit_request(&commit, false);
                let mut tracked = *now;
                let result = tracked.commit(setting, &rules, &request, commit.id, trail);
                if setting.bounds.tracks_offsets() {
                    *now = tracked;
                }
                if result.is_ok() && setting.mutant == Mutant::AnswersEarly {
                    for partition in commit.partitions.iter() {
                        now.acknowledged[usize::from(partition)] = commit.id;
                    }
                }
                let answer = Msg::CommitAnswer { id: commit.id, error: result.err() };
                (setting.bounds.answers.then_some(answer), result.is_err())
            }
            Msg::TxnCommit(commit) => {
                let request = commit_request(&commit, true);
                let result = now.stage(setting, &rules, &request, commit.id, trail);
                (Some(Msg::TxnAnswer { id: commit.id, error: result.err() }), result.is_err())
            }
            Msg::EndTransaction { commit } => {
                now.end_transaction(setting, commit, trail);
                (Some(Msg::TransactionEnded { commit }), false)
            }
            Msg::Fetch(fetch) => {
                let result = read(setting, now, &fetch, trail);
                let refused = result.is_err();
                let (id, error) = match result {
                    Ok(id) => (id, None),
                    Err(error) => (0, Some(error)),
                };
                (Some(Msg::FetchAnswer { partition: fetch.partition, id, error }), refused)
            }
            Msg::Target(target) => {
                for slot in 0..setting.bounds.slots() {
                    let nibble = target >> (4 * setting.bounds.consumer(slot)) & 0xf;
                    now.script[usize::from(slot)] = Partitions(nibble.to_le_bytes()[0]);
                }
                now.script_version += 1;
                (None, false)
            }
            _ => (None, false),
        };
        effect.refused = refused;
        if let Some(answer) = answer {
            let early = setting.mutant == Mutant::AnswersEarly && matches!(msg, Msg::Commit(_));
            match &mut self.held {
                // An error is answered at once; anything else waits for all earlier writes.
                Some(held) if !refused && !early && self.now.persisted() != held.replicated => {
                    held.answers.push((src, answer));
                }
                _ => effect.sends.push((src, answer)),
            }
        }
        effect
    }

    /// A timer runs out.
    pub fn time_out(&mut self, setting: &Setting, timer: Timer) -> Effect {
        let mut effect = Effect::default();
        let trail = &mut effect.trail;
        let rules = rules_of(setting, &self.now);
        match (timer, &mut self.held) {
            (Timer::Session(slot), _) => {
                self.now.expire_session(setting, &rules, slot, trail);
                self.now.sessions += 1;
            }
            (Timer::Rebalance(slot), _) => {
                self.now.expire_rebalance(setting, &rules, slot, trail);
                self.now.rebalances += 1;
            }
            (Timer::Interval, _) => self.now.expire_interval(trail),
            (Timer::Replicate, Some(held)) => {
                self.now.replicate(held, trail);
                effect.sends.extend(held.answers.drain(..));
            }
            (Timer::FailOver { other }, Some(held)) => {
                effect.sends.extend(held.answers.iter().map(|(dst, answer)| (*dst, failed(*answer))));
                self.now.fail_over(setting, held, other, trail);
            }
            _ => {}
        }
        effect
    }

    /// The coordinator's timers, in the order of [`Timer`]. A member's timers can't run out while the assignment interval
    /// does, which is shorter.
    pub fn timers(&self, setting: &Setting, each: &mut dyn FnMut(Timer)) {
        let bounds = &setting.bounds;
        let now = &self.now;
        if !now.interval_runs {
            if now.sessions < bounds.sessions {
                now.slots().filter(|slot| now.member(*slot).timed).for_each(|slot| each(Timer::Session(slot)));
            }
            if now.rebalances < bounds.rebalances {
                let armed = |slot: &u8| now.member(*slot).armed != 0 && now.member(*slot).heard;
                now.slots().filter(armed).for_each(|slot| each(Timer::Rebalance(slot)));
            }
        }
        if now.interval_runs {
            each(Timer::Interval);
        }
        if let Some(held) = &self.held {
            if now.persisted() != held.replicated {
                each(Timer::Replicate);
            }
            if now.fail_overs < bounds.fail_overs {
                each(Timer::FailOver { other: now.other });
                if bounds.other.is_some() {
                    each(Timer::FailOver { other: !now.other });
                }
            }
        }
    }
}

/// A fetch: the check of the member, then the offset.
pub fn read(
    setting: &Setting,
    coordinator: &mut Coordinator,
    fetch: &Fetch,
    trail: &mut Trail,
) -> Result<u8, fencepost_fixtures::KafkaError> {
    coordinator.check_fetch(setting, fetch.slot, fetch.epoch, trail)?;
    let id = coordinator.read(setting, fetch.partition, fetch.stable, trail)?;
    if coordinator.member(fetch.slot).owned().contains(fetch.partition) {
        coordinator.fetched = coordinator.fetched | Partitions::one(fetch.partition);
    }
    Ok(id)
}

/// The instance of a member, from 1; 0 for a dynamic one.
#[must_use]
pub fn instance_of(setting: &Setting, slot: u8) -> u8 {
    let consumer = setting.bounds.consumer(slot);
    if setting.bounds.is_static(consumer) { consumer + 1 } else { 0 }
}

/// A heartbeat as it reaches the coordinator.
#[must_use]
pub fn heartbeat_request(setting: &Setting, heartbeat: &Heartbeat) -> HeartbeatRequest {
    let &Heartbeat { slot, epoch, owned, topics, full, .. } = heartbeat;
    HeartbeatRequest { slot, epoch, owned, topics, full, instance: instance_of(setting, slot) }
}

/// A commit as it reaches the coordinator.
#[must_use]
pub fn commit_request(commit: &Commit, transactional: bool) -> CommitRequest {
    let &Commit { slot, epoch, partitions, .. } = commit;
    CommitRequest { slot, epoch, partitions, transactional, version: None, instance: false }
}

fn index(id: Id) -> u8 {
    u8::try_from(usize::from(id)).unwrap_or(u8::MAX)
}

fn to(dst: u8) -> Id {
    Id::from(usize::from(dst))
}

/// Which timers are set is a pure function of the state, so no handler sets or cancels one: the shared world asks
/// [`ActorState::timers`]. (`tests/fencing_parity.rs` wraps this actor in one that does, for Stateright's own model.)
impl StaterightActor for Actor {
    type Msg = Msg;
    type State = ActorState;
    type Timer = Timer;
    type Random = ();
    type Storage = ();

    fn on_start(&self, _: Id, _: &Option<()>, _: &mut Out<Self>) -> ActorState {
        match self.role {
            Role::Coordinator => {
                let now = self.start.coordinator;
                let held = (self.setting.bounds.fail_overs > 0).then(|| Box::new(Held::new(&now)));
                ActorState::Broker(Broker { now, held })
            }
            Role::Consumer(consumer) => ActorState::Consumer(self.start.consumers[usize::from(consumer)]),
            Role::Assignor => ActorState::Assignor(self.start.assignor),
            Role::Producer => ActorState::Producer(Producer::default()),
        }
    }

    fn on_msg(&self, _: Id, state: &mut Cow<'_, ActorState>, src: Id, msg: Msg, out: &mut Out<Self>) {
        match state.to_mut() {
            ActorState::Broker(broker) => {
                for (dst, answer) in broker.receive(&self.setting, index(src), msg).sends {
                    out.send(to(dst), answer);
                }
            }
            ActorState::Consumer(consumer) => consumer.receive(&self.setting, msg),
            ActorState::Assignor(_) => {}
            ActorState::Producer(producer) => {
                if let Some(msg) = producer.receive(msg) {
                    let consumer = matches!(msg, Msg::Handed { .. });
                    out.send(to(if consumer { 1 } else { COORDINATOR }), msg);
                }
            }
        }
    }

    fn on_timeout(&self, _: Id, state: &mut Cow<'_, ActorState>, timer: &Timer, out: &mut Out<Self>) {
        match (state.to_mut(), self.role) {
            (ActorState::Broker(broker), _) => {
                for (dst, answer) in broker.time_out(&self.setting, *timer).sends {
                    out.send(to(dst), answer);
                }
            }
            (ActorState::Consumer(state), Role::Consumer(consumer)) => {
                if let Some(msg) = state.act(&self.setting, consumer, *timer) {
                    let producer = matches!(msg, Msg::Hand(_));
                    out.send(to(if producer { self.setting.producer() } else { COORDINATOR }), msg);
                }
            }
            (ActorState::Assignor(assignor), _) => {
                if let Some(msg) = assignor.act(*timer) {
                    out.send(to(COORDINATOR), msg);
                }
            }
            (ActorState::Producer(producer), _) => {
                if let Some(msg) = producer.act(*timer) {
                    out.send(to(COORDINATOR), msg);
                }
            }
            _ => {}
        }
    }
}

impl ActorState {
    /// The timers that are set in this state, ascending: a pure function of it.
    pub fn timers(&self, setting: &Setting, role: Role, each: &mut dyn FnMut(Timer)) {
        match (self, role) {
            (Self::Broker(broker), _) => broker.timers(setting, each),
            (Self::Consumer(consumer), Role::Consumer(index)) => consumer.timers(setting, index, each),
            (Self::Assignor(assignor), _) => assignor.timers(setting, each),
            (Self::Producer(producer), _) => producer.timers(each),
            _ => {}
        }
    }
}
