//! A cluster under chosen faults, and what must hold of it after every step (docs/replication.md 9): P1 to P4 and P6.
//!
//! What the environment keeps to is what Kafka's does: elections are clean; a new process registers only when the old one is
//! fenced, and is unfenced when it has applied all records; and a disk loses what was not synced only if its broker has left
//! the ISR by then (assumption LOSSY).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fencepost_reference::replica::broker::{Broker, BrokerError, BrokerSetup, Start};
use fencepost_reference::replica::controller::{Controller, ControllerInput, ControllerSetup};
use fencepost_reference::replica::effects::{Answer, Effects, Input};
use fencepost_reference::replica::election::ElectionKind;
use fencepost_reference::replica::message::{Content, FetchReply, Fetched, Message};
use fencepost_reference::replica::metadata::MetadataRecord;
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, Correlation, Node, ProduceId};
use fencepost_reference::replica::observe::BrokerState;
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::records::LogRecord;
use fencepost_reference::replica::rules::{Rules, Truncation};
use fencepost_reference::storage::fs::{RealFs, SharedFs};
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};

/// One step of a schedule.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Deliver(u8),
    Lose(u8),
    GiveUp(u8),
    Poll(u8),
    Apply(u8, u8),
    Produce(u8, bool),
    Expire(u8),
    ShrinkIsr(u8),
    Checkpoint(u8),
    Elect(u8),
    Fence(u8),
    Unfence(u8),
    Stop(u8),
    Crash(u8),
    /// The power goes off at a file operation to come.
    PowerOff(u8, u8),
    Start(u8, Loss),
}

/// What may happen, and so what holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Assumption {
    /// Clean elections; no disk of the last one in sync loses anything.
    Clean,
    /// Any election and any loss: logs match still, and nothing is served to whom it does not fit.
    Any,
}

/// A set-up of the world.
#[derive(Debug, Clone)]
pub(crate) struct Setting<'a> {
    pub(crate) brokers: i32,
    pub(crate) min_isr: usize,
    pub(crate) rules: Rules,
    pub(crate) assumption: Assumption,
    /// A directory of this machine; else memory.
    pub(crate) directory: Option<&'a Path>,
    /// Whether what truncations remove of the epochs is written late.
    pub(crate) flushes_late: bool,
}

impl Setting<'_> {
    pub(crate) const fn new(brokers: i32, min_isr: usize, rules: Rules) -> Self {
        Self { brokers, min_isr, rules, assumption: Assumption::Clean, directory: None, flushes_late: false }
    }
}

#[derive(Debug)]
enum Disk {
    Memory(Arc<MemoryFs>),
    Real,
}

pub(crate) struct Host {
    pub(crate) broker: Broker,
    disk: Disk,
    /// How many records of the controller it has applied.
    applied: usize,
    clean: bool,
    pub(crate) broker_epoch: i64,
}

pub(crate) struct World {
    rules: Rules,
    pub(crate) assumption: Assumption,
    pub(crate) hosts: BTreeMap<BrokerId, Host>,
    pub(crate) controller: Controller,
    records: Vec<MetadataRecord>,
    mail: Vec<Message>,
    /// The log of who sent a fetch, as it was then.
    fetched_with: BTreeMap<(Node, Correlation), Vec<LogRecord>>,
    pub(crate) committed: BTreeMap<i64, LogRecord>,
    produced: BTreeMap<u64, Vec<u8>>,
    pub(crate) acknowledged: Vec<(i64, Vec<u8>)>,
    pub(crate) leaders: BTreeMap<i32, BrokerId>,
    pub(crate) writers: BTreeMap<i32, BrokerId>,
    pub(crate) high_watermarks: BTreeMap<(BrokerId, i64, i32), i64>,
    pub(crate) epochs: BTreeMap<(BrokerId, i64), (i32, i32)>,
    next_value: u64,
    pub(crate) steps: usize,
}

/// What is broken.
pub(crate) type Verdict = Result<(), String>;

impl World {
    pub(crate) fn new(setting: &Setting<'_>) -> Self {
        let Setting { brokers, min_isr, rules, assumption, directory, flushes_late } = *setting;
        let replicas: Vec<_> = (0..brokers).map(BrokerId).collect();
        let host = |id: &BrokerId| {
            let log_dir = directory.map_or_else(|| PathBuf::from("/logs"), |dir| dir.join(format!("broker-{id}")));
            let mut setup = BrokerSetup::new(*id, &replicas, min_isr, rules, &log_dir);
            setup.flushes_epochs_late = flushes_late;
            let (fs, disk): (SharedFs, Disk) = if directory.is_some() {
                (Arc::new(RealFs), Disk::Real)
            } else {
                let memory = Arc::new(MemoryFs::new());
                (memory.clone(), Disk::Memory(memory))
            };
            let mut broker = Broker::new(setup, fs);
            broker.start(&Start::default()).expect("a fresh disk");
            (*id, Host { broker, disk, applied: 0, clean: true, broker_epoch: 1 })
        };
        let hosts = replicas.iter().map(host).collect();
        let setup = ControllerSetup { replicas, min_isr, elr: false, unclean_election: false, slip: rules.slip };
        let mut world = Self {
            rules,
            assumption,
            hosts,
            controller: Controller::new(setup),
            records: Vec::new(),
            mail: Vec::new(),
            fetched_with: BTreeMap::new(),
            committed: BTreeMap::new(),
            produced: BTreeMap::new(),
            acknowledged: Vec::new(),
            leaders: BTreeMap::new(),
            writers: BTreeMap::new(),
            high_watermarks: BTreeMap::new(),
            epochs: BTreeMap::new(),
            next_value: 0,
            steps: 0,
        };
        world.control(ControllerInput::Elect(ElectionKind::Any));
        world
    }

    pub(crate) fn ids(&self) -> Vec<BrokerId> {
        self.hosts.keys().copied().collect()
    }

    fn pick(&self, n: u8) -> BrokerId {
        let ids = self.ids();
        ids[usize::from(n) % ids.len()]
    }

    fn control(&mut self, input: ControllerInput) {
        let effects = self.controller.handle(input);
        self.records.extend(effects.records);
        self.mail.extend(effects.sends);
    }

    pub(crate) fn state(&self, id: BrokerId) -> Option<BrokerState> {
        // After a power cut the process cannot read either.
        self.hosts[&id].broker.observe().ok().flatten()
    }

    /// One input; a broker whose disk fails is gone.
    fn input(&mut self, id: BrokerId, input: Input) -> Result<Option<Effects>, String> {
        let host = self.hosts.get_mut(&id).expect("a broker");
        let effects = match host.broker.handle(input) {
            Ok(effects) => effects,
            Err(BrokerError::Down) => return Ok(None),
            Err(BrokerError::Log(error)) if error.is_power_cut() => {
                host.clean = false;
                return Ok(None);
            }
            Err(error) => return Err(format!("{id}: {error}")),
        };
        let now = self.state(id).map(|state| state.log).unwrap_or_default();
        for message in &effects.sends {
            if matches!(message.content, Content::Fetch(_)) {
                self.fetched_with.insert((message.from, message.correlation), now.clone());
            }
        }
        self.mail.extend(effects.sends.iter().cloned());
        self.mail.extend(effects.completed_fetches.iter().cloned());
        for (produce, answer) in &effects.completed_produces {
            if let Ok(offset) = answer {
                self.acknowledge(*produce, offset.0);
            }
        }
        let below = effects.truncated_below_high_watermark.first();
        if let Some(below) = below.filter(|_| self.assumption == Assumption::Clean) {
            return Err(format!("P4e: {id} cuts at {} below {}", below.to, below.high_watermark));
        }
        Ok(Some(effects))
    }

    fn acknowledge(&mut self, produce: ProduceId, offset: i64) {
        self.acknowledged.push((offset, self.produced[&produce.0].clone()));
    }

    pub(crate) fn step(&mut self, op: &Op) -> Verdict {
        self.steps += 1;
        match *op {
            Op::Deliver(n) if !self.mail.is_empty() => {
                let message = self.mail.remove(usize::from(n) % self.mail.len());
                self.deliver(message)?;
            }
            Op::Lose(n) if !self.mail.is_empty() => {
                self.mail.remove(usize::from(n) % self.mail.len());
            }
            Op::GiveUp(n) => {
                let id = self.pick(n);
                let outstanding = self.hosts[&id].broker.outstanding();
                if let Some((_, correlation)) = outstanding.get(usize::from(n) % outstanding.len().max(1)) {
                    self.input(id, Input::Fail(*correlation))?;
                }
            }
            Op::Poll(n) => {
                self.input(self.pick(n), Input::Poll)?;
            }
            Op::Apply(n, count) => self.apply(self.pick(n), usize::from(count) % 4 + 1)?,
            Op::Produce(n, all) => self.produce(n, all)?,
            Op::Expire(n) => {
                let id = self.pick(n);
                if let Some((from, correlation)) = self.hosts[&id].broker.parked_fetches().first().copied() {
                    self.input(id, Input::ExpireFetch { from, correlation })?;
                }
            }
            Op::ShrinkIsr(n) => {
                self.input(self.pick(n), Input::ShrinkIsr)?;
            }
            Op::Checkpoint(n) => {
                self.input(self.pick(n), Input::Checkpoint)?;
            }
            Op::Elect(n) => {
                let kind = match n % 3 {
                    0 if self.assumption == Assumption::Any => ElectionKind::Unclean,
                    0 | 1 => ElectionKind::Preferred,
                    _ => ElectionKind::Of(self.pick(n / 3)),
                };
                self.control(ControllerInput::Elect(kind));
            }
            Op::Fence(n) => self.control(ControllerInput::Fence(self.pick(n))),
            Op::Unfence(n) if self.hosts[&self.pick(n)].broker.is_up() => {
                self.control(ControllerInput::Unfence(self.pick(n)));
            }
            Op::Stop(n) => self.stop(self.pick(n))?,
            Op::Crash(n) => {
                let id = self.pick(n);
                self.lose_connections(id);
                let host = self.hosts.get_mut(&id).expect("a broker");
                host.clean = false;
                let _ = host.broker.crash();
            }
            Op::PowerOff(n, after) => {
                if let Disk::Memory(memory) = &self.hosts[&self.pick(n)].disk {
                    memory.power_off_after(u64::from(after));
                }
            }
            Op::Start(n, loss) => self.start(self.pick(n), loss)?,
            Op::Deliver(_) | Op::Lose(_) | Op::Unfence(_) => {}
        }
        self.check()
    }

    fn deliver(&mut self, message: Message) -> Verdict {
        let id = match message.to {
            Node::Controller => {
                self.control(ControllerInput::Deliver(message));
                return Ok(());
            }
            Node::Broker(id) => id,
        };
        let ghost = self.fetched_with.get(&(message.from, message.correlation)).cloned();
        let request = matches!(message.content, Content::Fetch(_)).then(|| message.clone());
        let Some(effects) = self.input(id, Input::Deliver(message))? else { return Ok(()) };
        let Some((request, ghost)) = request.zip(ghost) else { return Ok(()) };
        let answered =
            effects.sends.iter().find(|sent| sent.correlation == request.correlation && sent.to == request.from);
        let agrees = match answered.map(|sent| &sent.content) {
            Some(Content::FetchReply(Ok(FetchReply { found: Fetched::Records(_), .. }))) | None => true,
            Some(_) => false,
        };
        let leader = self.state(id).map(|state| state.log).unwrap_or_default();
        let is_prefix = ghost.len() <= leader.len() && ghost.iter().zip(&leader).all(|(a, b)| a == b);
        if agrees && !is_prefix && self.rules.truncation == Truncation::OnFetch {
            return Err(format!("P3: {id} serves {:?} whose log is no prefix: {ghost:?} and {leader:?}", request.from));
        }
        Ok(())
    }

    fn apply(&mut self, id: BrokerId, count: usize) -> Verdict {
        let host = &self.hosts[&id];
        let from = host.applied;
        let to = (from + count).min(self.records.len());
        if from < to && host.broker.is_up() {
            let delta = self.records[from..to].to_vec();
            self.hosts.get_mut(&id).expect("a broker").applied = to;
            self.input(id, Input::Metadata(delta))?;
        }
        Ok(())
    }

    fn produce(&mut self, n: u8, all: bool) -> Verdict {
        // Mostly where the client thinks that the leader is.
        let leader = self.controller.state().leader.filter(|_| !n.is_multiple_of(4));
        let id = leader.unwrap_or_else(|| self.pick(n));
        let value = format!("v{}", self.next_value).into_bytes();
        self.produced.insert(self.next_value, value.clone());
        let produce = ProduceId(self.next_value);
        self.next_value += 1;
        let acks = if all { Acks::All } else { Acks::Leader };
        let effects = self.input(id, Input::Produce { id: produce, records: vec![value], acks })?;
        if let Some(Answer::Produced(offset)) = effects.and_then(|effects| effects.answer).filter(|_| all) {
            self.acknowledge(produce, offset.0);
        }
        Ok(())
    }

    fn lose_connections(&mut self, id: BrokerId) {
        self.mail.retain(|message| message.to != Node::Broker(id));
    }

    fn stop(&mut self, id: BrokerId) -> Verdict {
        self.lose_connections(id);
        let host = self.hosts.get_mut(&id).expect("a broker");
        match host.broker.stop() {
            Ok(()) => host.clean = true,
            Err(BrokerError::Down) => {}
            Err(BrokerError::Log(error)) if error.is_power_cut() => host.clean = false,
            Err(error) => return Err(format!("{id}: {error}")),
        }
        Ok(())
    }

    fn start(&mut self, id: BrokerId, loss: Loss) -> Verdict {
        if self.hosts[&id].broker.is_up() {
            return Ok(());
        }
        self.lose_connections(id);
        self.control(ControllerInput::Fence(id));
        let last_in_sync = self.controller.state().isr == [id];
        let host = self.hosts.get_mut(&id).expect("a broker");
        if let Disk::Memory(memory) = &host.disk {
            let kept = host.clean || (last_in_sync && self.assumption == Assumption::Clean);
            let loss = if kept { Loss::Nothing } else { loss };
            let disk = Arc::new(memory.after_power_cut(loss));
            host.broker.set_fs(disk.clone());
            host.disk = Disk::Memory(disk);
        }
        host.broker_epoch += 1;
        host.applied = 0;
        let broker_epoch = BrokerEpoch(host.broker_epoch);
        let unclean = !host.clean;
        host.clean = false;
        host.broker.start(&Start { broker_epoch, ..Start::default() }).map_err(|e| format!("{id}: {e}"))?;
        self.control(ControllerInput::Register { broker: id, broker_epoch, unclean });
        self.apply(id, usize::MAX - self.records.len())?;
        self.control(ControllerInput::Unfence(id));
        Ok(())
    }

    /// After the last fault all comes to agree: P7 for this one schedule.
    pub(crate) fn heal(&mut self) -> Verdict {
        for id in self.ids() {
            if let Disk::Memory(memory) = &self.hosts[&id].disk {
                memory.power_off_after(u64::MAX / 2);
            }
            self.start(id, Loss::Nothing)?;
            self.control(ControllerInput::Unfence(id));
        }
        if self.assumption == Assumption::Any {
            self.control(ControllerInput::Elect(ElectionKind::Unclean));
        }
        for _ in 0..30 {
            for id in self.ids() {
                self.apply(id, usize::MAX / 2)?;
                for (_, correlation) in self.hosts[&id].broker.outstanding() {
                    let answered = self.mail.iter().any(|message| message.correlation == correlation);
                    let parked = self
                        .hosts
                        .values()
                        .any(|host| host.broker.parked_fetches().contains(&(Node::Broker(id), correlation)));
                    if !answered && !parked {
                        self.input(id, Input::Fail(correlation))?;
                    }
                }
                self.input(id, Input::Poll)?;
                for (from, correlation) in self.hosts[&id].broker.parked_fetches() {
                    self.input(id, Input::ExpireFetch { from, correlation })?;
                }
            }
            for message in std::mem::take(&mut self.mail) {
                self.deliver(message)?;
            }
            self.check()?;
        }
        let leader = self.controller.state().leader.ok_or("P7: nobody leads")?;
        let ends = self.ids().into_iter().filter_map(|id| Some((id, self.state(id)?)));
        let ends: Vec<_> =
            ends.map(|(id, state)| (id, state.log_end.0, state.high_watermark.0, state.failed)).collect();
        let end = self.state(leader).ok_or("P7: the leader is down")?.log_end.0;
        let all = ends.iter().all(|(_, at, high_watermark, failed)| *at == end && *high_watermark == end && !failed);
        let in_sync = self.controller.state().isr.len() == self.hosts.len();
        if all && in_sync { Ok(()) } else { Err(format!("P7: {ends:?}, {:?}", self.controller.state())) }
    }
}
