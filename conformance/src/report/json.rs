//! A run as JSON: all that the other forms say, for programs.

use serde_json::{Value, json};

use super::Assessment;
use crate::replayer::Verdict;
use crate::runner::TraceResult;

/// Renders an assessment, as one JSON object that ends in a line break.
#[must_use]
pub fn render(assessment: &Assessment) -> String {
    let run = &assessment.run;
    let value = json!({
        "target": run.hello,
        "exit": assessment.exit().number(),
        "totals": assessment.totals(),
        "compared": run.compared(),
        "not_compared": run.not_compared(),
        "seconds": run.elapsed.as_secs_f64(),
        "interrupted": run.interrupted,
        "fingerprints": assessment.fingerprints,
        "stale": assessment.checked.as_ref().map(|checked| &checked.stale),
        "traces": assessment.planned().map(|result| trace(assessment, result)).collect::<Vec<_>>(),
        "faults": assessment.faults().map(|result| trace(assessment, result)).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn trace(assessment: &Assessment, result: &TraceResult) -> Value {
    let mut value = json!({
        "id": result.id,
        "title": result.title,
        "protocol": result.protocol,
        "holds_for": result.holds_for,
        "verdict": verdict(result.verdict.as_ref()),
        "listed": assessment.is_listed(result),
        "compared": result.compared,
        "not_compared": result.not_compared,
        "operations": result.operations,
        "seconds": result.elapsed.as_secs_f64(),
    });
    let more = match &result.verdict {
        Some(Verdict::Failed(failure)) => json!({
            "at": failure.at,
            "steps": failure.steps,
            "doing": failure.doing,
            "message": failure.message(),
            "differences": failure.differences,
            "before": failure.before,
            "state_before": failure.state_before,
        }),
        Some(Verdict::Inconclusive(reason)) => json!({ "reason": reason }),
        Some(Verdict::Broken(breakdown)) => json!({
            "at": breakdown.at,
            "fault": breakdown.fault.kind,
            "message": breakdown.fault.message,
            "standard_error": breakdown.fault.standard_error,
        }),
        Some(Verdict::Passed) | None => Value::Null,
    };
    if !more.is_null() {
        value["why"] = more;
    }
    value
}

/// The verdict in a word.
pub(super) fn verdict(verdict: Option<&Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Passed) => "passed",
        Some(Verdict::Failed(_)) => "failed",
        Some(Verdict::Inconclusive(_)) => "inconclusive",
        Some(Verdict::Broken(_)) => "broken",
        None => "not run",
    }
}
