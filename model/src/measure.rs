//! What exhausting a configuration costs: user CPU time and memory, as the system counts them.
//!
//! One measurement is one process, so that its peak of memory is its own. Wall time says little on a machine that does
//! other things as well; user CPU time does.

use std::fs;

use serde::{Deserialize, Serialize};

use crate::limits::{Limits, Silent, peak_bytes};
use crate::registry::Subject;
use crate::runs::Order;

/// A row of `docs/performance.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The configuration.
    pub configuration: String,
    /// Breadth first or depth first.
    pub order: String,
    /// How many states differ.
    pub unique: u64,
    /// How many states were made.
    pub generated: u64,
    /// User CPU time of the whole process, in seconds.
    pub user_seconds: f64,
    /// The peak of memory above what the process had before the run, in bytes.
    pub memory_bytes: u64,
}

/// The kernel counts in hundredths of a second for user space, whatever its own clock is (`USER_HZ`).
const TICKS: f64 = 100.0;

/// User CPU time of the process so far, in seconds; 0 where the system does not say.
fn user_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in brackets and may have spaces in it; utime is the 12th field behind it.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: f64 = after.split_whitespace().nth(11).and_then(|field| field.parse().ok()).unwrap_or(0.0);
    ticks / TICKS
}

/// Exhausts a configuration on one thread.
pub fn measure(subject: &dyn Subject, order: Order) -> Measured {
    let before = (user_seconds(), peak_bytes().unwrap_or(0));
    let counted = subject.count(order, &Limits::default(), &Silent);
    let after = (user_seconds(), peak_bytes().unwrap_or(0));
    Measured {
        configuration: subject.name().to_owned(),
        order: match order {
            Order::BreadthFirst => "breadth first",
            Order::DepthFirst => "depth first",
        }
        .to_owned(),
        unique: counted.progress.unique,
        generated: counted.progress.generated,
        user_seconds: after.0 - before.0,
        memory_bytes: after.1.saturating_sub(before.1),
    }
}
