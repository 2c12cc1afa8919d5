//! What the workers of a process show while they run, and by what they are told to stop.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use timely::worker::Worker;

use crate::limits::Progress;

/// A worker was told to stop. Why, the one who told it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

/// What one worker has done so far.
#[derive(Debug, Default)]
pub struct Counters {
    unique: AtomicU64,
    generated: AtomicU64,
    depth: AtomicU32,
}

impl Counters {
    /// Writes down how far the worker is.
    pub fn set(&self, unique: u64, generated: u64, depth: u32) {
        self.unique.store(unique, Ordering::Relaxed);
        self.generated.store(generated, Ordering::Relaxed);
        self.depth.store(depth, Ordering::Relaxed);
    }
}

/// What the workers of a process share.
#[derive(Debug)]
pub struct Live {
    workers: Vec<Arc<Counters>>,
    stop: AtomicBool,
    broken: Mutex<Option<String>>,
}

impl Live {
    /// For so many workers.
    #[must_use]
    pub fn new(workers: usize) -> Self {
        let workers = (0..workers).map(|_| Arc::default()).collect();
        Self { workers, stop: AtomicBool::new(false), broken: Mutex::new(None) }
    }

    /// The counters of a worker of this process.
    pub(super) fn counters(&self, worker: &Worker) -> Arc<Counters> {
        self.workers.get(worker.index() % self.workers.len().max(1)).cloned().unwrap_or_default()
    }

    /// The process that a worker belongs to: each has as many workers as this one.
    pub(super) fn process_of(&self, worker: &Worker) -> usize {
        worker.index() / self.workers.len().max(1)
    }

    /// How far the workers of this process are, together.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let mut sum = Progress::default();
        for worker in &self.workers {
            sum.unique += worker.unique.load(Ordering::Relaxed);
            sum.generated += worker.generated.load(Ordering::Relaxed);
            sum.depth = sum.depth.max(u64::from(worker.depth.load(Ordering::Relaxed)) + 1);
        }
        sum
    }

    /// Tells the workers to stop.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the workers may go on.
    pub(super) fn check(&self) -> Result<(), Stopped> {
        if self.stop.load(Ordering::Relaxed) { Err(Stopped) } else { Ok(()) }
    }

    /// A worker can't go on, for a reason of its own.
    pub(super) fn broken(&self, why: String) -> Stopped {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stop();
        Stopped
    }

    /// Why a worker could not go on.
    pub(super) fn why_broken(&self) -> Option<String> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
