//! A client, three brokers, and what must hold of what the application is handed and told (docs/consumers.md 6): P5-told,
//! P5-calm and P5-CL.
//!
//! Replication is one step here. Metadata may be old, and answers late or lost. What the application has read is forgotten by
//! the checker when the application is told: by an exception, by a reset, or by a position that goes back.

use std::collections::BTreeMap;

use fencepost_reference::client::leader::{Broker, BrokerRole, BrokerSetup, Followed};
use fencepost_reference::client::message::{Reply, Request};
use fencepost_reference::client::names::{BrokerId, Correlation, LeaderEpoch, Offset, TopicId};
use fencepost_reference::client::reader::{Client, ClientSetup, Effects, Exception, Input, Place, Returned};
use fencepost_reference::client::record::{Entry, Record};
use fencepost_reference::client::rules::{ResetPolicy, Rules};
use fencepost_reference::client::state::FetchState;
use fencepost_reference::storage::epoch_cache::EpochCache;

const BROKERS: i32 = 3;

/// One step of a schedule. Numbers choose among what there is.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    Elect(u8),
    Follow(u8),
    Append(u8),
    RaiseHighWatermark(u8),
    /// Metadata that may be old; but a new process hears none that are older than what the one before it knew.
    Hear(u8),
    /// The same without that.
    HearOld(u8),
    /// Metadata that are up to date.
    HearNow,
    /// A request is served, and its answer arrives at once.
    Exchange(u8),
    Serve(u8),
    Answer(u8),
    Lose(u8),
    Poll,
    Elapse,
    Restart,
}

/// Which elections there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elections {
    /// Of a broker that has everything below every high watermark there ever was.
    Clean,
    /// Of anybody, who is alone in sync then.
    Any,
}

/// An answer on its way, and the log that it was given from.
#[derive(Debug, Clone)]
struct Given {
    reply: Reply,
    log: Vec<Record>,
}

pub(crate) struct World {
    elections: Elections,
    setup: ClientSetup,
    brokers: BTreeMap<BrokerId, Broker>,
    /// Who led, in the order of the epochs.
    leaders: Vec<(BrokerId, LeaderEpoch)>,
    committed: Vec<Record>,
    /// Which leaders the client has heard of, and those that a process before it had.
    heard: usize,
    known: usize,
    client: Client,
    requests: Vec<Request>,
    answers: Vec<Given>,
    /// What the application was handed since it was last told of anything.
    read: Vec<Record>,
    position: Option<Offset>,
    written: u32,
    /// How often the application was told.
    pub(crate) told: usize,
    /// How many records it was handed.
    pub(crate) handed_out: usize,
}

fn choose<T>(of: &[T], which: u8) -> Option<usize> {
    (!of.is_empty()).then(|| usize::from(which) % of.len())
}

impl World {
    pub(crate) fn new(rules: Rules, policy: ResetPolicy, elections: Elections) -> Self {
        let setup = ClientSetup { rules, policy, read_committed: false, old_brokers: false };
        let broker = |id| {
            let broker = BrokerId(id);
            let setup =
                BrokerSetup { broker, rules, old_message_format: false, read_committed: false, preferred: None };
            (broker, Broker::new(setup))
        };
        let mut world = Self {
            elections,
            setup,
            brokers: (0..BROKERS).map(broker).collect(),
            leaders: Vec::new(),
            committed: Vec::new(),
            heard: 0,
            known: 0,
            client: Client::new(setup),
            requests: Vec::new(),
            answers: Vec::new(),
            read: Vec::new(),
            position: None,
            written: 0,
            told: 0,
            handed_out: 0,
        };
        world.elect(BrokerId(0));
        let committed = Some(Place { offset: Offset(0), epoch: None });
        world.client.handle(Input::Assign { committed, history: Vec::new() });
        world
    }

    fn log(&self, id: BrokerId) -> Vec<Record> {
        self.brokers[&id].view().log.to_vec()
    }

    fn elect(&mut self, id: BrokerId) {
        let epoch = LeaderEpoch(i32::try_from(self.leaders.len()).expect("few"));
        self.brokers.get_mut(&id).expect("a broker").lead(epoch, self.elections == Elections::Any);
        self.leaders.push((id, epoch));
    }

    /// Does a step, as far as there is something to do, and checks it.
    pub(crate) fn step(&mut self, op: &Op) -> Result<(), String> {
        let of = |which: u8| BrokerId(i32::from(which) % BROKERS);
        match *op {
            Op::Elect(which) => {
                let log = self.log(of(which));
                if self.elections == Elections::Any || log.starts_with(&self.committed) {
                    self.elect(of(which));
                }
                Ok(())
            }
            Op::Follow(which) => {
                self.follow(of(which));
                Ok(())
            }
            Op::Append(which) => {
                self.written += 1;
                let value = Entry::Value(format!("r{}", self.written));
                // Whoever takes itself for the leader takes it.
                let _ = self.brokers.get_mut(&of(which)).expect("a broker").append(vec![value], None);
                Ok(())
            }
            Op::RaiseHighWatermark(which) => {
                self.raise_high_watermark(of(which));
                Ok(())
            }
            Op::Hear(which) => {
                let known = self.known;
                self.hear(known + choose(&self.leaders[known..], which).expect("one led"))
            }
            Op::HearOld(which) => self.hear(choose(&self.leaders, which).expect("one led")),
            Op::HearNow => self.hear(self.leaders.len() - 1),
            Op::Exchange(which) => {
                self.step(&Op::Serve(which))?;
                self.step(&Op::Answer(u8::try_from(self.answers.len().saturating_sub(1)).expect("few")))
            }
            Op::Serve(which) => {
                if let Some(at) = choose(&self.requests, which) {
                    let request = self.requests.remove(at);
                    let answer = self.brokers[&request.to].answer(&request.question);
                    let reply = Reply { from: request.to, correlation: request.correlation, answer };
                    self.answers.push(Given { reply, log: self.log(request.to) });
                }
                Ok(())
            }
            Op::Answer(which) => match choose(&self.answers, which) {
                Some(at) => {
                    let given = self.answers.remove(at);
                    self.input(Input::Deliver(given.reply), Some(&given.log))
                }
                None => Ok(()),
            },
            Op::Lose(which) => {
                let waiting: Vec<Correlation> = self.client.outstanding().collect();
                match choose(&waiting, which) {
                    Some(at) => self.input(Input::Fail(waiting[at]), None),
                    None => Ok(()),
                }
            }
            Op::Poll => self.input(Input::Poll, None),
            Op::Elapse => self.input(Input::Elapse, None),
            Op::Restart => {
                let committed = self.client.committed();
                self.known = self.heard;
                self.input(Input::Restart, None)?;
                if committed.is_none() {
                    self.told();
                }
                let committed = committed.or(Some(Place { offset: Offset(0), epoch: None }));
                self.input(Input::Assign { committed, history: Vec::new() }, None)
            }
        }
    }

    fn hear(&mut self, at: usize) -> Result<(), String> {
        self.heard = self.heard.max(at);
        let (leader, epoch) = self.leaders[at];
        self.input(Input::Metadata { leader: Some(leader), epoch: Some(epoch), topic: TopicId::FIRST }, None)
    }

    fn follow(&mut self, id: BrokerId) {
        let Some(&(leader, leader_epoch)) = self.leaders.last() else { return };
        if leader == id {
            return;
        }
        let (own, theirs) = (self.log(id), self.log(leader));
        let common = own.iter().zip(&theirs).take_while(|(own, theirs)| own == theirs).count();
        let view = self.brokers[&leader].view();
        let epochs = EpochCache::from_entries(view.epochs.entries().iter().copied()).expect("a leader's");
        let high_watermark = view.high_watermark;
        let followed = Followed {
            leader_epoch,
            truncate_to: Offset(i64::try_from(common).expect("few")),
            records: theirs[common..].to_vec(),
            epochs,
            high_watermark,
        };
        self.brokers.get_mut(&id).expect("a broker").follow(followed);
    }

    /// Where elections are clean, what another broker has too may be committed, by who leads and nobody else.
    fn raise_high_watermark(&mut self, with: BrokerId) {
        let Some(&(leader, _)) = self.leaders.last() else { return };
        if self.elections == Elections::Any || with == leader {
            return;
        }
        let (own, theirs) = (self.log(leader), self.log(with));
        let common = own.iter().zip(&theirs).take_while(|(own, theirs)| own == theirs).count();
        if common > self.committed.len() {
            self.committed = own[..common].to_vec();
            let high_watermark = Offset(i64::try_from(common).expect("few"));
            self.brokers.get_mut(&leader).expect("a broker").set_high_watermark(high_watermark);
        }
    }

    fn told(&mut self) {
        self.read.clear();
    }

    /// Hands the client an input; `log` is what an answer was given from.
    fn input(&mut self, input: Input, log: Option<&[Record]>) -> Result<(), String> {
        let Effects { requests, returned } = self.client.handle(input);
        self.requests.extend(requests);
        let position = self.client.position().map(|position| position.offset);
        match returned {
            Some(Returned::Records(records)) => {
                self.check_records(&records, log.ok_or("records without an answer")?)?;
            }
            Some(Returned::Thrown(exception)) => self.check_alarm(exception, log)?,
            Some(Returned::Found(_)) | None => {
                let reset = self.client.fetch_state() == FetchState::AwaitReset;
                let went_back = position.zip(self.position).is_some_and(|(now, before)| now < before);
                if (reset || went_back) && !self.read.is_empty() {
                    self.check_calm(log)?;
                    self.told += 1;
                    self.told();
                }
            }
        }
        self.position = self.client.position().map(|position| position.offset);
        Ok(())
    }

    /// P5-told, and with clean elections P5-CL.
    fn check_records(&mut self, records: &[Record], log: &[Record]) -> Result<(), String> {
        if let Some(gone) = self.read.iter().find(|read| !log.contains(read)) {
            return Err(format!("P5-told: {records:?} follow {gone:?}, which is gone: {log:?}"));
        }
        if self.elections == Elections::Clean
            && let Some(record) = records.iter().find(|record| !self.committed.contains(record))
        {
            return Err(format!("P5-CL: {record:?} is not committed"));
        }
        self.handed_out += records.len();
        self.read.extend_from_slice(records);
        Ok(())
    }

    fn check_alarm(&mut self, exception: Exception, log: Option<&[Record]>) -> Result<(), String> {
        self.told += 1;
        self.check_calm(log).map_err(|found| format!("{exception:?}: {found}"))?;
        self.told();
        // The application goes back to where it is told, or to the start.
        let offset = match exception {
            Exception::LogTruncation { divergent: Some(end), .. } => end.end_offset,
            _ => Offset(0),
        };
        self.client.handle(Input::Seek(Place { offset, epoch: None }));
        Ok(())
    }

    /// P5-calm: who is told of something has lost something; and with clean elections nobody has.
    fn check_calm(&self, log: Option<&[Record]>) -> Result<(), String> {
        let Some(log) = log.filter(|_| !self.read.is_empty()) else { return Ok(()) };
        if self.elections == Elections::Clean || self.read.iter().all(|read| log.contains(read)) {
            return Err(format!("P5-calm: all that was read is there: {:?} in {log:?}", self.read));
        }
        Ok(())
    }

    /// Whether the leader is known as it is, and the client has all that it can read.
    pub(crate) fn settle(&mut self) -> Result<bool, String> {
        self.requests.clear();
        self.answers.clear();
        self.client.lose_requests();
        self.step(&Op::HearNow)?;
        for _ in 0..50 {
            let (leader, _) = *self.leaders.last().expect("one led");
            let view = self.brokers[&leader].view();
            let position = self.client.position().map(|position| position.offset);
            let limit = view.high_watermark;
            assert!(matches!(view.role, BrokerRole::Leader { .. }));
            if self.client.fetch_state() == FetchState::Fetching && position >= Some(limit) {
                return Ok(true);
            }
            if self.requests.is_empty() && self.answers.is_empty() {
                self.step(&Op::Elapse)?;
                self.step(&Op::Poll)?;
            }
            self.step(&Op::Serve(0))?;
            self.step(&Op::Answer(0))?;
        }
        Ok(false)
    }

    pub(crate) const fn setup(&self) -> &ClientSetup {
        &self.setup
    }
}
