//! What may end a run early, and the watch that is kept over it.
//!
//! Stateright has limits of its own, but a run that they ended says that it is done. So none of them is used: the clock,
//! the number of states and the process's memory are watched here, and a run that any of them ended is *cut short*,
//! whatever it found.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use stateright::Checker;

use crate::protocol::Protocol;
use crate::world::{Control, World};

/// How often a run is looked at.
const INTERVAL: Duration = Duration::from_millis(50);

/// Why a run was cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cut {
    /// By Ctrl-C.
    Interrupted,
    /// By the time limit.
    Time,
    /// By the limit on states.
    States,
    /// By the limit on memory.
    Memory,
    /// The protocol's own code panicked, which is a fault of the model.
    Panicked,
}

impl fmt::Display for Cut {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Interrupted => "interrupted",
            Self::Time => "time limit",
            Self::States => "state limit",
            Self::Memory => "memory limit",
            Self::Panicked => "the model panicked",
        })
    }
}

/// The limits of a command, and the flag that Ctrl-C sets.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Set by Ctrl-C.
    pub interrupted: Arc<AtomicBool>,
    /// When the command has to end.
    pub deadline: Option<Instant>,
    /// The most unique states that one run may have.
    pub states: Option<u64>,
    /// The most memory that the process may use, in bytes.
    pub memory_bytes: Option<u64>,
}

impl Limits {
    /// The limit that is reached, if any, by a run with so many unique states.
    #[must_use]
    pub fn reached(&self, unique: u64) -> Option<Cut> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Some(Cut::Interrupted);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Some(Cut::Time);
        }
        self.exceeded(unique).or_else(|| {
            let limit = self.memory_bytes?;
            (resident_bytes()? > limit).then_some(Cut::Memory)
        })
    }

    /// Whether a run has more unique states than it may have. True also of a run that has ended: which of the two
    /// happens first must not depend on how often the run is looked at.
    #[must_use]
    pub fn exceeded(&self, unique: u64) -> Option<Cut> {
        self.states.is_some_and(|limit| unique > limit).then_some(Cut::States)
    }
}

/// The memory that the process uses, in bytes; `None` where the system does not say (it does on Linux).
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    status_bytes("VmRSS:")
}

/// The most memory that the process has used so far, in bytes.
#[must_use]
pub fn peak_bytes() -> Option<u64> {
    status_bytes("VmHWM:")
}

fn status_bytes(key: &str) -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes * 1024)
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// States that differ.
    pub unique: u64,
    /// States that were made, the initial one included: one more than the transitions.
    pub generated: u64,
    /// The most states on a path so far.
    pub depth: u64,
}

/// What a run shows of itself while it goes on.
pub trait Observer: Sync {
    /// Called every now and then, and once at the end.
    fn progress(&self, progress: Progress);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Observer for Silent {
    fn progress(&self, _: Progress) {}
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Waits until a checker has ended, and ends it where a limit is reached.
pub fn watch<P: Protocol>(
    checker: &mut impl Checker<World<P>>,
    control: &Control,
    limits: &Limits,
    observer: &dyn Observer,
) -> (Progress, Option<Cut>) {
    let handles = checker.handles();
    let (sender, ended) = mpsc::channel();
    let waiter = std::thread::spawn(move || {
        let panicked = handles.into_iter().filter_map(|handle| handle.join().err()).count() > 0;
        // The receiver is gone only if the caller panicked.
        let _ = sender.send(panicked);
    });
    let mut cut = None;
    let look = |checker: &dyn Checker<World<P>>| Progress {
        unique: count(checker.unique_state_count()),
        generated: count(checker.state_count()),
        depth: count(checker.max_depth()),
    };
    loop {
        match ended.recv_timeout(INTERVAL) {
            Ok(false) => break,
            Ok(true) | Err(RecvTimeoutError::Disconnected) => {
                cut = Some(Cut::Panicked);
                break;
            }
            Err(RecvTimeoutError::Timeout) => {
                let progress = look(checker);
                observer.progress(progress);
                if cut.is_none() {
                    cut = limits.reached(progress.unique);
                    if cut.is_some() {
                        control.stop.store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    }
    let _ = waiter.join();
    let progress = look(checker);
    observer.progress(progress);
    (progress, cut.or_else(|| limits.exceeded(progress.unique)))
}
