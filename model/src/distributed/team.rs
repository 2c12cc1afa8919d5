//! A run: the threads of this process, the connections to the others, and the watch over all of them.
//!
//! Whatever ends one process before its time ends every other one, and none of them gives a verdict: a worker that
//! panics, a peer that dies, hangs or is cut off, a limit that is reached, Ctrl-C. The first who notices tells the others,
//! so that all name the same cause.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks, WorkerGuards, initialize_from};
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};

use crate::limits::{Cut, Limits, Progress};

use super::hosts::Host;
use super::link::{self, BEAT, Heard, SILENCE, Watched, Word};
use super::live::{Live, Stopped};
use super::meet::{Common, MeetError, Peer, meet, warning};
use super::settle::Explored;

/// How often a run is looked at.
const INTERVAL: Duration = Duration::from_millis(50);
/// How long a lost connection waits for a word that explains it.
const GRACE: Duration = Duration::from_millis(700);
/// How long an end is given to reach the others.
const FAREWELL: Duration = Duration::from_millis(300);

/// How a worker's panic begins that comes of a lost connection.
pub(crate) const ENGINE_QUEUE: &str = "MergeQueue";

/// One thing to explore, by all workers together.
pub type Task = Arc<dyn Fn(&mut Worker, &Live) -> Result<Explored, Stopped> + Send + Sync>;

/// Who explores.
#[derive(Clone, Debug)]
pub struct Team {
    /// How many workers each process has.
    pub workers: usize,
    /// The processes, if there are several: where each is.
    pub hosts: Vec<Host>,
    /// The number of this process.
    pub process: usize,
    /// How long to wait for the others at the start.
    pub wait: Duration,
}

impl Team {
    /// Workers of one process.
    #[must_use]
    pub fn local(workers: usize) -> Self {
        Self { workers: workers.max(1), hosts: Vec::new(), process: 0, wait: Duration::ZERO }
    }

    /// A process, as errors name it.
    fn name(&self, process: usize) -> String {
        match self.hosts.get(process) {
            Some(host) => format!("process {process} ({host})"),
            None => "this process".to_owned(),
        }
    }
}

/// What is shown of a run.
pub trait Shown {
    /// The task with this number is so far, over all processes.
    fn progress(&self, task: usize, progress: Progress);
    /// It is done.
    fn finished(&self, task: usize);
}

/// One task that is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// What was found.
    pub explored: Explored,
    /// Wall time, in seconds.
    pub seconds: f64,
}

/// What a run gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    /// The tasks that are done, in order.
    pub done: Vec<Done>,
    /// Why the run ended before the others were, and how far the first of them was.
    pub cut: Option<(Cut, Progress)>,
}

/// Why a run gave nothing.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// It did not start.
    #[error(transparent)]
    Meet(#[from] MeetError),
    /// The system refused threads or sockets.
    #[error("the workers could not be started: {0}")]
    Start(String),
    /// A process or a worker failed.
    #[error("{0}; the run ended without a verdict")]
    Fault(String),
}

enum Event {
    Done(usize, Explored, f64),
    /// A worker of this process has done all.
    Ended,
    /// A worker of this process was told to stop.
    Stopped,
    /// A worker of this process panicked.
    Panicked(usize, String),
    /// Something of a peer.
    Peer(usize, Heard),
    /// A connection of the dataflow is gone.
    Cable(usize, String),
    /// Every connection of the dataflow is closed in order.
    Closed,
}

/// Runs tasks, one after the other, on all workers of all processes.
pub fn run(
    team: &Team,
    tasks: Vec<Task>,
    common: &Common,
    limits: &Limits,
    shown: &dyn Shown,
) -> Result<Ran, TeamError> {
    if let Some(cut) = limits.reached(0) {
        return Ok(Ran { done: Vec::new(), cut: Some((cut, Progress::default())) });
    }
    let (tell, events) = mpsc::channel();
    let live = Arc::new(Live::new(team.workers));
    let peers = assemble(team, common, limits)?;
    let mut links = Vec::new();
    for Peer { process, link, .. } in &peers {
        let clone = || link.try_clone().map_err(|error| TeamError::Start(error.to_string()));
        let (listening, beating) = (clone()?, clone()?);
        let (tell, process) = (tell.clone(), *process);
        std::thread::spawn(move || {
            // Nobody listens any more only when the run is over.
            link::listen(listening, |heard| drop(tell.send(Event::Peer(process, heard))));
        });
        links.push(Link { process, stream: beating, progress: Progress::default(), gone: false });
    }
    let (builders, others) = connect(team, peers, &tell).map_err(TeamError::Start)?;
    let count = tasks.len();
    let guards = start(builders, others, tasks, &live, &tell).map_err(TeamError::Start)?;
    let watch = Watch { team, live: &live, limits, shown, links, count, done: Vec::new(), lost: None };
    watch.over(guards, &events, &tell)
}

/// Meets the other processes, if there are any.
fn assemble(team: &Team, common: &Common, limits: &Limits) -> Result<Vec<Peer>, TeamError> {
    if team.hosts.len() < 2 {
        return Ok(Vec::new());
    }
    if let Some(warning) = team.hosts.get(team.process).and_then(warning) {
        eprintln!("warning: {warning}");
    }
    let interrupted = || limits.reached(0).is_some();
    Ok(meet(&team.hosts, team.process, common, env!("CARGO_PKG_VERSION"), team.wait, &interrupted)?)
}

type Built = (Vec<AllocatorBuilder>, Box<dyn std::any::Any + Send>);

fn connect(team: &Team, peers: Vec<Peer>, tell: &Sender<Event>) -> Result<Built, String> {
    if peers.is_empty() {
        return CommunicationConfig::Process(team.workers).try_build();
    }
    let mut sockets: Vec<Option<Watched>> = team.hosts.iter().map(|_| None).collect();
    for Peer { process, data, .. } in peers {
        // Several threads hold on to it, and a sender may be in one of them only.
        let tell = std::sync::Mutex::new(tell.clone());
        let lost = move |cause| {
            if let Ok(tell) = tell.lock() {
                let _ = tell.send(Event::Cable(process, cause));
            }
        };
        sockets[process] = Some(Watched::new(data, Arc::new(lost)));
    }
    let hooks = Hooks::default();
    let inside = ProcessBuilder::new_typed_vector(team.workers, hooks.refill.clone(), None);
    let (builders, guard) = initialize_networking_from_sockets(inside, sockets, team.process, team.workers, hooks)
        .map_err(|error| error.to_string())?;
    Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new(guard)))
}

/// Starts the workers of this process. Unlike `timely::execute`, a worker here can end before its dataflows do.
fn start(
    builders: Vec<AllocatorBuilder>,
    others: Box<dyn std::any::Any + Send>,
    tasks: Vec<Task>,
    live: &Arc<Live>,
    tell: &Sender<Event>,
) -> Result<WorkerGuards<()>, String> {
    let local = builders.len().max(1);
    let live = Arc::clone(live);
    let tell = std::sync::Mutex::new(tell.clone());
    initialize_from(builders, others, move |allocator| {
        let tell = match tell.lock() {
            Ok(tell) => tell.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        };
        let mut worker = Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()));
        let index = worker.index();
        let result = catch_unwind(AssertUnwindSafe(|| {
            work(&mut worker, &tasks, &live, |number, explored, seconds| {
                // One of them tells; they all found the same.
                if index.is_multiple_of(local) {
                    let _ = tell.send(Event::Done(number, explored, seconds));
                }
            })
        }));
        let event = match result {
            Ok(Ok(())) => Event::Ended,
            Ok(Err(Stopped)) => Event::Stopped,
            Err(panic) => {
                live.stop();
                Event::Panicked(index, message(panic.as_ref()))
            }
        };
        if !matches!(event, Event::Ended) {
            // Its dataflows are in the middle of something, and so are the channels to the other workers. To take them
            // apart could block or panic, and the program is about to end.
            std::mem::forget(worker);
        }
        let _ = tell.send(event);
    })
}

fn work(worker: &mut Worker, tasks: &[Task], live: &Live, done: impl Fn(usize, Explored, f64)) -> Result<(), Stopped> {
    for (number, task) in tasks.iter().enumerate() {
        let start = Instant::now();
        let explored = task(worker, live)?;
        done(number, explored, start.elapsed().as_secs_f64());
    }
    while worker.has_dataflows() {
        worker.step_or_park(Some(INTERVAL));
        live.check()?;
    }
    Ok(())
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

struct Link {
    process: usize,
    stream: std::net::TcpStream,
    progress: Progress,
    /// Whether the peer has said goodbye.
    gone: bool,
}

struct Watch<'a> {
    team: &'a Team,
    live: &'a Live,
    limits: &'a Limits,
    shown: &'a dyn Shown,
    links: Vec<Link>,
    count: usize,
    done: Vec<Done>,
    /// A connection that is gone, since when, and what to say if nobody explains it.
    lost: Option<(Instant, Option<String>)>,
}

impl Watch<'_> {
    fn over(
        mut self,
        guards: WorkerGuards<()>,
        events: &Receiver<Event>,
        tell: &Sender<Event>,
    ) -> Result<Ran, TeamError> {
        let mut guards = Some(guards);
        let mut ended = 0;
        let mut beat = Instant::now();
        let verdict = loop {
            match events.recv_timeout(INTERVAL) {
                Ok(Event::Done(number, explored, seconds)) => {
                    let cut = self.limits.exceeded(explored.unique());
                    self.done.push(Done { explored, seconds });
                    self.shown.finished(number);
                    if let Some(cut) = cut {
                        break Err(Ok(cut));
                    }
                }
                Ok(Event::Ended) => {
                    ended += 1;
                    if ended == self.team.workers
                        && let Some(guards) = guards.take()
                    {
                        let tell = tell.clone();
                        // Joining waits until every peer is done as well, and panics if one is lost meanwhile.
                        std::thread::spawn(move || {
                            if catch_unwind(AssertUnwindSafe(|| drop(guards.join()))).is_ok() {
                                let _ = tell.send(Event::Closed);
                            }
                        });
                    }
                }
                Ok(Event::Closed) => break Ok(()),
                Ok(Event::Stopped) => {
                    // Only a worker that can't go on stops the others without a word from here.
                    if let Some(why) = self.live.why_broken() {
                        break Err(Err(format!("{}: {why}", self.team.name(self.team.process))));
                    }
                }
                // The engine's queues go with the connection that they belong to; which one that is will be told.
                Ok(Event::Panicked(_, said)) if said.starts_with(ENGINE_QUEUE) => {
                    self.lost.get_or_insert((Instant::now(), None));
                }
                Ok(Event::Panicked(worker, said)) => {
                    break Err(Err(format!(
                        "worker {worker} of {} panicked: {said}",
                        self.team.name(self.team.process)
                    )));
                }
                Ok(Event::Peer(process, heard)) => {
                    if let Some(end) = self.heard(process, heard) {
                        break Err(end);
                    }
                }
                Ok(Event::Cable(process, cause)) => self.lose(process, &cause),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            let progress = self.progress();
            if self.done.len() < self.count {
                self.shown.progress(self.done.len(), progress);
            }
            if let Some(cut) = self.limits.reached(progress.unique) {
                break Err(Ok(cut));
            }
            if let Some((since, why)) = &self.lost
                && since.elapsed() >= GRACE
            {
                let why = why.clone().unwrap_or_else(|| "a connection is lost".to_owned());
                break Err(Err(why));
            }
            if beat.elapsed() >= BEAT {
                beat = Instant::now();
                self.say(&Word::Beat(self.live.progress()));
            }
        };
        self.end(verdict, guards)
    }

    fn end(
        mut self,
        verdict: Result<(), Result<Cut, String>>,
        guards: Option<WorkerGuards<()>>,
    ) -> Result<Ran, TeamError> {
        let progress = self.progress();
        let (word, result) = match verdict {
            Ok(()) => (Word::Bye, Ok(None)),
            Err(Ok(cut)) => (Word::Cut(cut), Ok(Some((cut, progress)))),
            Err(Err(why)) => (Word::Fault(why.clone()), Err(TeamError::Fault(why))),
        };
        self.say(&word);
        if word != Word::Bye {
            self.live.stop();
            // The threads of the connections end with the program: joining them would wait for peers that are gone.
            std::mem::forget(guards);
            if !self.links.is_empty() {
                std::thread::sleep(FAREWELL);
            }
        }
        result.map(|cut| Ran { done: self.done, cut })
    }

    /// What a peer has said, or that it says nothing any more. Returns how the run ends, if it does.
    fn heard(&mut self, process: usize, heard: Heard) -> Option<Result<Cut, String>> {
        let name = self.team.name(process);
        let link = self.links.iter_mut().find(|link| link.process == process)?;
        match heard {
            Heard::Word(Word::Beat(progress)) => link.progress = progress,
            Heard::Word(Word::Bye) => link.gone = true,
            Heard::Word(Word::Cut(cut)) => return Some(Ok(cut)),
            Heard::Word(Word::Fault(why)) => return Some(Err(why)),
            Heard::Silent => return Some(Err(format!("{name} has said nothing for {} s", SILENCE.as_secs()))),
            Heard::Lost(cause) if !link.gone => self.lose(process, &cause),
            Heard::Lost(_) => {}
        }
        None
    }

    fn lose(&mut self, process: usize, cause: &str) {
        let (_, why) = self.lost.get_or_insert((Instant::now(), None));
        why.get_or_insert(format!("the connection to {} is lost: {cause}", self.team.name(process)));
    }

    fn say(&mut self, word: &Word) {
        for link in &mut self.links {
            // Whether it arrived is seen by what the peer says.
            let _ = link::say(&mut link.stream, word);
        }
    }

    /// How far all processes are, together.
    fn progress(&self) -> Progress {
        let mut sum = self.live.progress();
        for link in &self.links {
            sum.unique += link.progress.unique;
            sum.generated += link.progress.generated;
            sum.depth = sum.depth.max(link.progress.depth);
        }
        sum
    }
}
