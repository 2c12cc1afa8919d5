//! A run as Markdown, for the summary that a CI server shows beside a pull request.

use std::fmt::{self, Write as _};

use super::Assessment;
use super::json::verdict;
use crate::replayer::Verdict;

/// Renders an assessment.
#[must_use]
pub fn render(assessment: &Assessment) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut text, assessment);
    text
}

fn write(out: &mut String, assessment: &Assessment) -> fmt::Result {
    let totals = assessment.totals();
    let compared = assessment.run.compared();
    writeln!(out, "### {}\n", cell(&assessment.run.hello.title()))?;
    writeln!(out, "| planned | passed | failed | inconclusive | not run |")?;
    writeln!(out, "| ---: | ---: | ---: | ---: | ---: |")?;
    writeln!(
        out,
        "| {} | {} | {} | {} | {} |\n",
        totals.planned, totals.passed, totals.failed, totals.inconclusive, totals.not_run
    )?;
    writeln!(
        out,
        "{} answers, {} refusals, {} states and {} functions compared.",
        compared.answers, compared.refusals, compared.states, compared.functions
    )?;
    for fingerprint in &assessment.fingerprints {
        writeln!(out, "{}", cell(&fingerprint.sentence()))?;
    }
    let mut heading = false;
    for result in assessment.planned() {
        let (place, message) = match &result.verdict {
            Some(Verdict::Failed(failure)) => (failure.at.to_string(), failure.message()),
            Some(Verdict::Broken(breakdown)) => {
                (breakdown.at.map(|at| at.to_string()).unwrap_or_default(), breakdown.fault.message.clone())
            }
            Some(Verdict::Inconclusive(reason)) => (String::new(), reason.clone()),
            Some(Verdict::Passed) | None => continue,
        };
        if !heading {
            writeln!(out, "\n| trace | verdict | where | what | listed |")?;
            writeln!(out, "| --- | --- | --- | --- | --- |")?;
            heading = true;
        }
        let listed = if assessment.is_listed(result) { "yes" } else { "" };
        let word = verdict(result.verdict.as_ref());
        writeln!(out, "| `{}` | {word} | {place} | {} | {listed} |", result.id, cell(&message))?;
    }
    if let Some(checked) = &assessment.checked
        && !checked.stale.is_empty()
    {
        writeln!(out, "\nThe list of expected deviations is stale:\n")?;
        for stale in &checked.stale {
            writeln!(out, "- {}", cell(stale))?;
        }
    }
    Ok(())
}

/// Text that can't break a table: it comes from a driver, and may be anything.
fn cell(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            '\n' | '\r' => ' '.to_string(),
            '|' => "\\|".to_owned(),
            '<' => "&lt;".to_owned(),
            other => other.to_string(),
        })
        .collect()
}
