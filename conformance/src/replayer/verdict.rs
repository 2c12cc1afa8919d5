//! What replaying a trace came to: what was compared, how the trace ended, and the first wrong step if there is one
//! (docs/fixture-format.md).

use std::ops::AddAssign;

use serde::Serialize;

use crate::replayable::Difference;
use crate::target::{Fault, Place};

/// How many expectations there were of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Steps whose answer, messages and completions were compared.
    pub answers: usize,
    /// Refusals.
    pub refusals: usize,
    /// States: `start`, `state`, and each one read again after refusals.
    pub states: usize,
    /// Function calls.
    pub functions: usize,
}

impl Counts {
    /// All of them.
    #[must_use]
    pub fn total(self) -> usize {
        self.answers + self.refusals + self.states + self.functions
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.answers += other.answers;
        self.refusals += other.refusals;
        self.states += other.states;
        self.functions += other.functions;
    }
}

/// How a trace ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All that the target can see agrees, and the decisive step was compared.
    Passed,
    /// The target answered otherwise.
    Failed(Box<Failure>),
    /// The decisive step could not be compared, for this reason.
    Inconclusive(String),
    /// The target itself failed.
    Broken(Box<Breakdown>),
}

/// The first wrong step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Where.
    pub at: Place,
    /// How many steps the trace has; 0 for a function trace.
    pub steps: usize,
    /// What was done there.
    pub doing: String,
    /// What is not as it should be; at least one.
    pub differences: Vec<Difference>,
    /// The steps before, in order.
    pub before: Vec<PastStep>,
    /// The last state that was read before, a line an entity; for a function trace what the decision rests on.
    pub state_before: Vec<String>,
    /// The step after which that state was read; 0 is the start.
    pub state_at: Option<usize>,
}

impl Failure {
    /// The failure in a line, as in `step 7: answer: expected error STALE_MEMBER_EPOCH, got committed t-1`. Expectation
    /// lists hold this line without the step.
    #[must_use]
    pub fn message(&self) -> String {
        let differences = self
            .differences
            .iter()
            .map(|Difference { part, expected, got }| format!("{part}: expected {expected}, got {got}"));
        differences.collect::<Vec<_>>().join("; ")
    }
}

/// A step that agreed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PastStep {
    /// Its number.
    pub step: usize,
    /// What was done.
    pub doing: String,
    /// What was answered.
    pub answered: String,
}

/// Where the target itself failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakdown {
    /// Where in the trace.
    pub at: Option<Place>,
    /// How.
    pub fault: Fault,
}

/// What replaying one trace came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// How it ended.
    pub verdict: Verdict,
    /// What was compared.
    pub compared: Counts,
    /// What the trace expects and was not compared: the target can't see it, or the trace ended before.
    pub not_compared: Counts,
    /// How many operations were done.
    pub operations: usize,
}
