//! A run as lines for a person: what failed with its first wrong step, then totals that add up, then the fingerprint.

use std::fmt::{self, Write as _};

use fencepost_fixtures::TraceId;

use super::Assessment;
use crate::exit::Exit;
use crate::replayer::{Breakdown, Failure, Verdict};
use crate::runner::TraceResult;

/// How many steps before the wrong one are shown.
const STEPS_BEFORE: usize = 4;

/// How a report looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// Whether colours are used.
    pub color: bool,
    /// Whether each trace gets a line, also one that passed.
    pub verbose: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31;1", text)
    }

    pub(crate) fn weak(self, text: &str) -> String {
        self.paint("2", text)
    }
}

/// Renders an assessment.
#[must_use]
pub fn render(assessment: &Assessment, style: Style) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, assessment, style);
    text
}

/// The first wrong step of a trace, without colours.
#[must_use]
pub fn failure(id: &TraceId, failure: &Failure) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_failure(&mut text, id, failure, Style::default());
    text
}

fn write(out: &mut String, assessment: &Assessment, style: Style) -> fmt::Result {
    let run = &assessment.run;
    let hello = &run.hello;
    let kinds: Vec<String> = hello.kinds.iter().map(ToString::to_string).collect();
    let protocols: Vec<&str> = hello.protocols.iter().map(|protocol| protocol.name()).collect();
    writeln!(out, "{} ({}): {}", hello.title(), kinds.join(", "), protocols.join(", "))?;
    for result in assessment.planned() {
        write_result(out, assessment, result, style)?;
    }
    if let Some(fault) = &run.gave_up {
        writeln!(out, "The rest was not run, because the driver could not be started any more: {fault}")?;
    }
    writeln!(out)?;
    write_totals(out, assessment)?;
    write_faults(out, assessment)?;
    for fingerprint in &assessment.fingerprints {
        writeln!(out, "{}", fingerprint.sentence())?;
    }
    if let Some(checked) = &assessment.checked {
        for stale in &checked.stale {
            writeln!(out, "{} {stale}", style.bad("stale"))?;
        }
    }
    if run.compared().total() == 0 {
        let hint = "Nothing was compared: no trace fits what the target says of itself in hello.";
        writeln!(out, "{}", style.bad(hint))?;
    }
    let exit = assessment.exit();
    let says = match exit {
        Exit::AsExpected => "",
        Exit::NotAsExpected => "  not as expected",
        Exit::Broken => "  broken: a driver failed, or nothing was compared",
        Exit::Stale => "  the list of expected deviations is stale",
        Exit::CutShort => "  cut short",
    };
    writeln!(out, "exit {}{says}", exit.number())
}

fn write_result(out: &mut String, assessment: &Assessment, result: &TraceResult, style: Style) -> fmt::Result {
    let id = &result.id;
    match &result.verdict {
        Some(Verdict::Passed) if style.verbose => writeln!(out, "{id}   {}", style.good("pass")),
        Some(Verdict::Inconclusive(reason)) if style.verbose => {
            writeln!(out, "{id}   {}   {reason}", style.weak("inconclusive"))
        }
        Some(Verdict::Passed | Verdict::Inconclusive(_)) | None => Ok(()),
        Some(Verdict::Failed(_)) if assessment.is_listed(result) && !style.verbose => Ok(()),
        Some(Verdict::Failed(failure)) => {
            write_failure(out, &result.id, failure, style)?;
            let listed = match (&assessment.checked, assessment.is_listed(result)) {
                (_, true) => "yes: fails as the list of expected deviations says",
                (Some(_), false) => "no: not, or not so, in the list of expected deviations",
                (None, false) => return Ok(()),
            };
            writeln!(out, "    listed?   {listed}")
        }
        Some(Verdict::Broken(breakdown)) => write_breakdown(out, result, breakdown, style),
    }
}

/// Writes the first wrong step: what was done, what was expected, what came, and the steps before.
fn write_failure(out: &mut String, id: &TraceId, failure: &Failure, style: Style) -> fmt::Result {
    let of = if failure.steps > 0 { format!(" of {}", failure.steps) } else { String::new() };
    let place = match (failure.steps, failure.at.step, failure.at.within) {
        (0, ..) => "the call".to_owned(),
        (_, 0, Some(operation)) => format!("in its setup, operation {operation}"),
        (_, 0, None) => "the start".to_owned(),
        (_, step, None) => format!("step {step}{of}"),
        (_, step, Some(refusal)) => format!("step {step}{of}, refusal {refusal}"),
    };
    writeln!(out, "{id}   {}   {place}", style.bad("FAIL"))?;
    writeln!(out, "    do        {}", failure.doing)?;
    for difference in &failure.differences {
        if difference.part != "answer" {
            writeln!(out, "    {}", difference.part)?;
        }
        writeln!(out, "    expected  {}", style.good(&difference.expected))?;
        writeln!(out, "    got       {}", style.bad(&difference.got))?;
    }
    let skipped = failure.before.len().saturating_sub(STEPS_BEFORE);
    let mut label = "before";
    for step in failure.before.iter().skip(skipped) {
        writeln!(out, "    {label:<8}  {:>2}  {} -> {}", step.step, step.doing, step.answered)?;
        label = "";
    }
    let mut label = match failure.state_at {
        _ if failure.steps == 0 => "given".to_owned(),
        None => String::new(),
        Some(0) => "state at the start".to_owned(),
        Some(step) => format!("state after step {step}"),
    };
    if failure.steps > 0 && !failure.state_before.is_empty() {
        writeln!(out, "    {label}")?;
        label = String::new();
    }
    for line in &failure.state_before {
        writeln!(out, "    {label:<8}  {line}")?;
        label = String::new();
    }
    Ok(())
}

fn write_breakdown(out: &mut String, result: &TraceResult, breakdown: &Breakdown, style: Style) -> fmt::Result {
    let place = breakdown.at.map_or_else(|| "before its first step".to_owned(), |at| at.to_string());
    writeln!(out, "{}   {}   {place}", result.id, style.bad("DRIVER BROKEN"))?;
    writeln!(out, "    {}", breakdown.fault.message)?;
    let standard_error = &breakdown.fault.standard_error;
    if !standard_error.is_empty() {
        writeln!(out, "    its standard error ends with:")?;
        for line in standard_error.lines() {
            writeln!(out, "      {line}")?;
        }
    }
    Ok(())
}

fn write_totals(out: &mut String, assessment: &Assessment) -> fmt::Result {
    let totals = assessment.totals();
    let compared = assessment.run.compared();
    let mut what = Vec::new();
    let mut count = |number: usize, one: &str, many: &str| {
        if number > 0 {
            what.push(format!("{} {}", thousands(number), if number == 1 { one } else { many }));
        }
    };
    count(compared.answers, "answer", "answers");
    count(compared.refusals, "refusal", "refusals");
    count(compared.states, "state", "states");
    count(compared.functions, "function", "functions");
    let what = match what.as_slice() {
        [] => "Nothing compared.".to_owned(),
        [one] => format!("{one} compared."),
        [first @ .., last] => format!("{} and {last} compared.", first.join(", ")),
    };
    let broken = if totals.broken > 0 { format!(" ({} by the driver's fault)", totals.broken) } else { String::new() };
    writeln!(
        out,
        "{} planned = {} passed + {} failed{broken} + {} inconclusive + {} not run.   {what}   {:.1} s",
        thousands(totals.planned),
        thousands(totals.passed),
        thousands(totals.failed),
        thousands(totals.inconclusive),
        thousands(totals.not_run),
        assessment.run.elapsed.as_secs_f64(),
    )?;
    let not_compared = assessment.run.not_compared();
    if not_compared.total() > 0 {
        writeln!(
            out,
            "Not compared, because the target can't show it or the trace ended before: {} answers, {} refusals, {} states, {} functions.",
            thousands(not_compared.answers),
            thousands(not_compared.refusals),
            thousands(not_compared.states),
            thousands(not_compared.functions),
        )?;
    }
    if let Some(checked) = &assessment.checked
        && !checked.listed.is_empty()
    {
        writeln!(out, "{} of those that failed are listed as expected deviations.", checked.listed.len())?;
    }
    Ok(())
}

/// The traces that stand apart: those that record a fault, and which of them the target has.
fn write_faults(out: &mut String, assessment: &Assessment) -> fmt::Result {
    let faults: Vec<&TraceResult> = assessment.faults().collect();
    if faults.is_empty() {
        return Ok(());
    }
    let shown: Vec<&&TraceResult> =
        faults.iter().filter(|result| matches!(result.verdict, Some(Verdict::Passed))).collect();
    writeln!(
        out,
        "{} more traces record faults, which the right rules do not have; of those the target has {}{}",
        faults.len(),
        if shown.is_empty() { "none".to_owned() } else { shown.len().to_string() },
        if shown.is_empty() { "." } else { ":" },
    )?;
    for result in shown {
        writeln!(out, "    {}   {}", result.id, result.title)?;
    }
    Ok(())
}

/// The number with a comma before each three digits.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
