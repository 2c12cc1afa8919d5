//! The threads of this process: the workers, and those that `timely` has for the connections between processes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks, WorkerGuards, initialize_from};
use timely::worker::Worker;
use timely::{CommunicationConfig, WorkerConfig};

use super::link::Watched;
use super::live::{Live, Stopped};
use super::meet::Peer;
use super::settle::Explored;
use super::team::{Task, Team};
use super::watch::Event;

/// How long a worker that is done sleeps before it looks whether it has to stop.
const NAP: Duration = Duration::from_millis(50);

type Built = (Vec<AllocatorBuilder>, Box<dyn std::any::Any + Send>);

/// Gives the connections to the dataflow engine, if there are any.
pub(super) fn connect(team: &Team, peers: Vec<Peer>, tell: &Sender<Event>) -> Result<Built, String> {
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
pub(super) fn start(
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
        worker.step_or_park(Some(NAP));
        live.check()?;
    }
    Ok(())
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
