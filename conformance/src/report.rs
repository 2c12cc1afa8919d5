//! What a run came to, for whoever reads it: a person at a terminal, a CI server, a pull request, another program.
//!
//! | module | form |
//! |---|---|
//! | [`terminal`] | lines for a person |
//! | [`junit`] | `JUnit` XML |
//! | [`markdown`] | the summary of a CI run |
//! | [`json`] | everything, for programs |

pub mod json;
pub mod junit;
pub mod markdown;
pub mod terminal;

use crate::exit::Exit;
use crate::expectations::Checked;
use crate::fingerprint::{Fingerprint, fingerprints, records_a_fault};
use crate::replayer::Verdict;
use crate::runner::{Run, Totals, TraceResult};

/// A run, and what it means.
#[derive(Debug)]
pub struct Assessment {
    /// The run.
    pub run: Run,
    /// Whether traces that record a fault stand apart: they are replayed for the fingerprint, and not planned.
    pub faults_apart: bool,
    /// What the target behaves like.
    pub fingerprints: Vec<Fingerprint>,
    /// How the run compares with the list of expected deviations, if there is one.
    pub checked: Option<Checked>,
}

impl Assessment {
    /// Assesses a run.
    #[must_use]
    pub fn new(run: Run, faults_apart: bool) -> Self {
        let fingerprints = if run.hello.variants.is_empty() { fingerprints(&run.results) } else { Vec::new() };
        Self { run, faults_apart, fingerprints, checked: None }
    }

    /// The traces that the target is held against.
    pub fn planned(&self) -> impl Iterator<Item = &TraceResult> {
        self.run.results.iter().filter(|result| !(self.faults_apart && records_a_fault(result)))
    }

    /// The traces that record a fault and stand apart.
    pub fn faults(&self) -> impl Iterator<Item = &TraceResult> {
        self.run.results.iter().filter(|result| self.faults_apart && records_a_fault(result))
    }

    /// How many of the planned traces ended how.
    #[must_use]
    pub fn totals(&self) -> Totals {
        Totals::of(self.planned())
    }

    /// Whether a trace failed as the list says it would.
    #[must_use]
    pub fn is_listed(&self, result: &TraceResult) -> bool {
        self.checked.as_ref().is_some_and(|checked| checked.listed.contains(&result.id))
    }

    /// How the run ends.
    #[must_use]
    pub fn exit(&self) -> Exit {
        let totals = self.totals();
        let broken = self.run.results.iter().any(|result| matches!(result.verdict, Some(Verdict::Broken(_))));
        let compared_nothing = self.run.compared().total() == 0;
        let failed =
            self.planned().any(|result| matches!(result.verdict, Some(Verdict::Failed(_))) && !self.is_listed(result));
        if broken || self.run.gave_up.is_some() || (compared_nothing && !self.run.interrupted) {
            Exit::Broken
        } else if self.run.interrupted || totals.not_run > 0 {
            Exit::CutShort
        } else if self.checked.as_ref().is_some_and(|checked| !checked.stale.is_empty()) {
            Exit::Stale
        } else if failed {
            Exit::NotAsExpected
        } else {
            Exit::AsExpected
        }
    }
}
