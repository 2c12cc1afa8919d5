//! The watch over a run: what the workers and the peers tell, the limits, and how the run ends.

use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use timely::communication::WorkerGuards;

use crate::limits::{Cut, Limits, Progress};

use super::link::{self, BEAT, Heard, SILENCE, Word};
use super::live::Live;
use super::settle::Explored;
use super::team::{Done, Ran, Shown, Team, TeamError};

/// How often a run is looked at.
const INTERVAL: Duration = Duration::from_millis(50);
/// How long a lost connection waits for a word that explains it.
const GRACE: Duration = Duration::from_millis(700);
/// How long an end is given to reach the others.
const FAREWELL: Duration = Duration::from_millis(300);

/// How a worker's panic begins that comes of a lost connection.
pub(crate) const ENGINE_QUEUE: &str = "MergeQueue";

/// What happens in a run.
pub(super) enum Event {
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

/// A peer, as it is told and heard beside the dataflow.
pub(super) struct Link {
    process: usize,
    stream: TcpStream,
    progress: Progress,
    /// Whether the peer has said goodbye.
    gone: bool,
}

impl Link {
    pub(super) fn new(process: usize, stream: TcpStream) -> Self {
        Self { process, stream, progress: Progress::default(), gone: false }
    }
}

/// The watch over a run.
pub(super) struct Watch<'a> {
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

impl<'a> Watch<'a> {
    pub(super) fn new(
        team: &'a Team,
        live: &'a Live,
        limits: &'a Limits,
        shown: &'a dyn Shown,
        links: Vec<Link>,
        count: usize,
    ) -> Self {
        Self { team, live, limits, shown, links, count, done: Vec::new(), lost: None }
    }
}

impl Watch<'_> {
    /// Watches until all tasks are done everywhere, or something ends the run.
    pub(super) fn over(
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
