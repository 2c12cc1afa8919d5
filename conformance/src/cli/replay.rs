//! `replay`: selects traces, starts the target, runs, compares with the list of deviations, reports.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::trace::{Body, Vocabulary};
use fencepost_fixtures::{Document, Trace, variants};

use super::{Format, HoldAgainst, ReplayArgs, TargetArgs, color, fail, print};
use crate::driver::DriverCommand;
use crate::exit::Exit;
use crate::expectations::Expectations;
use crate::implementation::{Launcher, ReferenceLauncher};
use crate::report::terminal::Style;
use crate::report::{Assessment, json, junit, markdown, terminal};
use crate::runner::{self, Options, TraceResult};
use crate::target::Fault;

/// The name of the target that is in this process.
const REFERENCE: &str = "reference";

/// A flag that Ctrl-C sets, so that a run ends with what was done and leaves no driver behind.
pub(super) fn cancelled_by_signal() -> Arc<AtomicBool> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    // Without a handler the run still works; it only ends less tidily.
    let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));
    cancelled
}

/// How the target is started that the arguments name.
pub(super) fn launcher(arguments: &TargetArgs, cancelled: &Arc<AtomicBool>) -> Result<Box<dyn Launcher>, String> {
    if arguments.target == REFERENCE {
        return Ok(Box::new(ReferenceLauncher));
    }
    let command = DriverCommand::parse(
        &arguments.target,
        arguments.start_timeout,
        arguments.step_timeout,
        Arc::clone(cancelled),
    )?;
    Ok(Box::new(command))
}

/// A fault of a driver that did not even start, with its standard error.
pub(super) fn not_started(fault: &Fault) -> Exit {
    if fault.standard_error.is_empty() {
        fail(fault)
    } else {
        fail(format!("{fault}\nits standard error ends with:\n{}", fault.standard_error))
    }
}

pub(super) fn replay(arguments: &ReplayArgs) -> Exit {
    let filtered = !arguments.traces.is_empty();
    if arguments.update_expect && filtered {
        return fail(
            "--update-expect needs all traces: leave the paths out, or the entries of the others would be lost",
        );
    }
    if let Some(variant) = &arguments.variant
        && !variants::all().any(|known| known.name == variant)
    {
        let known: Vec<&str> = variants::all().map(|variant| variant.name).collect();
        return fail(format!("there is no variant `{variant}`; there are {}", known.join(", ")));
    }
    let fixtures = match super::traces::selected(&arguments.traces) {
        Ok(fixtures) => fixtures,
        Err(exit) => return exit,
    };
    let expectations = match arguments.expect.as_deref().map(|path| read_expectations(path, arguments.update_expect)) {
        Some(Err(exit)) => return exit,
        Some(Ok(expectations)) => Some(expectations),
        None => None,
    };

    let cancelled = cancelled_by_signal();
    let launcher = match launcher(&arguments.target, &cancelled) {
        Ok(launcher) => launcher,
        Err(message) => return fail(message),
    };
    let options = Options {
        variant: arguments.variant.as_deref(),
        only: arguments.at.as_ref(),
        jobs: usize::from(arguments.jobs),
        cancelled: &cancelled,
    };
    let is_at = |document: &&Document| arguments.at.as_ref().is_none_or(|broker| has_a_step_at(document, broker));
    let traces: Vec<&Document> = fixtures.iter().map(|fixture| &fixture.document).filter(is_at).collect();
    if let (Some(broker), true) = (&arguments.at, traces.is_empty()) {
        return fail(format!("none of the traces has a step at {broker}"));
    }
    let run = match runner::run(&traces, launcher.as_ref(), &options) {
        Ok(run) => run,
        Err(fault) => return not_started(&fault),
    };
    if arguments.variant.is_some() && run.hello.variants.is_empty() {
        return fail(format!("{} can't be set to a variant; leave --variant out", run.hello.title()));
    }

    let own_variant = arguments.variant.is_none() && !run.hello.variants.is_empty();
    let apart = match arguments.hold_against {
        Some(HoldAgainst::All) => false,
        Some(HoldAgainst::Right) => true,
        None => !filtered && !own_variant,
    };
    let mut assessment = Assessment::new(run, apart);
    if let Some(expectations) = expectations {
        let planned: Vec<&TraceResult> = assessment.planned().collect();
        let expectations = if arguments.update_expect {
            let updated = expectations.updated(&planned);
            if let Err(error) = updated.write() {
                return fail(error);
            }
            updated
        } else {
            expectations
        };
        let checked = expectations.check(&planned, filtered);
        assessment.checked = Some(checked);
    }
    report(arguments, &assessment)
}

/// Whether a step of the trace goes to `broker`.
fn has_a_step_at(document: &Document, broker: &BrokerName) -> bool {
    fn any<V: Vocabulary>(trace: &Trace<V>, broker: &BrokerName) -> bool {
        match &trace.body {
            Body::Behaviour(behaviour) => behaviour.steps.iter().any(|step| step.at.as_ref() == Some(broker)),
            Body::Function(_) => false,
        }
    }
    match document {
        Document::Fencing(trace) => any(trace, broker),
        Document::Compaction(trace) => any(trace, broker),
        Document::Replication(trace) => any(trace, broker),
        Document::Consumer(trace) => any(trace, broker),
    }
}

fn read_expectations(path: &Path, to_be_written: bool) -> Result<Expectations, Exit> {
    if to_be_written && !path.exists() {
        return Ok(Expectations::empty(path));
    }
    Expectations::read(path).map_err(fail)
}

fn report(arguments: &ReplayArgs, assessment: &Assessment) -> Exit {
    let files = [
        (&arguments.junit, junit::render as fn(&Assessment) -> String),
        (&arguments.markdown, markdown::render),
        (&arguments.json, json::render),
    ];
    for (path, render) in files {
        if let Some(path) = path
            && let Err(error) = std::fs::write(path, render(assessment))
        {
            return fail(format!("{}: {error}", path.display()));
        }
    }
    match arguments.format {
        Format::Terminal => {
            print(&terminal::render(assessment, Style { color: color(), verbose: arguments.verbose }));
        }
        Format::Json => print(&json::render(assessment)),
        Format::Junit => print(&junit::render(assessment)),
        Format::Markdown => print(&markdown::render(assessment)),
    }
    assessment.exit()
}
