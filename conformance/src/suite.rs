//! The embedded traces as tests of an implementation in Rust: one line in a test that has no harness of its own.
//!
//! ```no_run
//! # use fencepost_conformance::reference_target::ReferenceTarget as MyCoordinator;
//! // tests/conformance.rs, with `harness = false` in Cargo.toml
//! fn main() {
//!     fencepost_conformance::suite::fencing(MyCoordinator::new).exit();
//! }
//! ```
//!
//! Each trace that the right rules meet is a test with its id as name, so that `cargo test NAME` runs one and a runner of
//! tests reports each. A trace that can't be compared is ignored, with the reason.

use std::sync::Arc;

use fencepost_fixtures::fencing::Fencing;
use fencepost_fixtures::{Document, Protocol, corpus};
use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};

use crate::fingerprint::oracle;
use crate::implementation::{FencingOnly, replay_document};
use crate::replayer::Verdict;
use crate::report::terminal;
use crate::target::{Settings, Target};

/// Runs the embedded traces of fencing as tests, each on a new target.
pub fn fencing<T, F>(new: F) -> Conclusion
where
    T: Target<Fencing> + Send,
    F: Fn() -> T + Send + Sync + 'static,
{
    let new = Arc::new(new);
    let traces = corpus::all().map(|fixture| fixture.document).filter(|document| {
        let header = document.header();
        header.protocol == Protocol::Fencing
            && oracle(Protocol::Fencing).is_none_or(|oracle| header.holds_for.iter().any(|variant| variant == oracle))
    });
    let tests = traces.map(|document| {
        let new = Arc::clone(&new);
        Trial::ignorable_test(document.header().id.to_string(), move || test(&document, new()))
    });
    libtest_mimic::run(&Arguments::from_args(), tests.collect())
}

fn test<T: Target<Fencing> + Send>(document: &Document, mut target: T) -> Result<Completion, Failed> {
    let hello = target.hello()?;
    let settings = Settings { variant: oracle(Protocol::Fencing), ..Settings::default() };
    let replay = replay_document(document, &hello, &mut FencingOnly(target), settings);
    match replay.verdict {
        Verdict::Passed => Ok(Completion::Completed),
        Verdict::Inconclusive(reason) => Ok(Completion::ignored_with(reason)),
        Verdict::Failed(failure) => Err(terminal::failure(&document.header().id, &failure).into()),
        Verdict::Broken(breakdown) => Err(breakdown.fault.to_string().into()),
    }
}
