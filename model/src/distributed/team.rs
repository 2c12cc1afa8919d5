//! A run: tasks, one after the other, on all workers of all processes.
//!
//! Whatever ends one process before its time ends every other one, and none of them gives a verdict: a worker that
//! panics, a peer that dies, hangs or is cut off, a limit that is reached, Ctrl-C. The first who notices tells the others,
//! so that all name the same cause.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use timely::worker::Worker;

use crate::limits::{Cut, Limits, Progress};

use super::hosts::Host;
use super::link;
use super::live::{Live, Stopped};
use super::meet::{Common, MeetError, Peer, meet, warning};
use super::settle::Explored;
use super::threads::{connect, start};
use super::watch::{Event, Link, Watch};

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
    pub(super) fn name(&self, process: usize) -> String {
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
        links.push(Link::new(process, beating));
    }
    let (builders, others) = connect(team, peers, &tell).map_err(TeamError::Start)?;
    let count = tasks.len();
    let guards = start(builders, others, tasks, &live, &tell).map_err(TeamError::Start)?;
    Watch::new(team, &live, limits, shown, links, count).over(guards, &events, &tell)
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
