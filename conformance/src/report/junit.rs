//! A run as `JUnit` XML, the form in which CI servers take test results: a suite a protocol, a case a trace.

use fencepost_fixtures::Protocol;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Assessment;
use crate::replayer::Verdict;
use crate::runner::TraceResult;

/// Renders an assessment.
#[must_use]
pub fn render(assessment: &Assessment) -> String {
    let mut report = Report::new(format!("fencepost-conformance: {}", assessment.run.hello.title()));
    report.set_time(assessment.run.elapsed);
    for protocol in Protocol::ALL {
        let mut suite = TestSuite::new(protocol.name());
        let cases = assessment.planned().filter(|result| result.protocol == protocol);
        suite.add_test_cases(cases.map(|result| case(assessment, result)));
        if suite.tests > 0 {
            report.add_test_suite(suite);
        }
    }
    report.to_string().unwrap_or_else(|error| format!("<!-- {error} -->\n"))
}

fn case(assessment: &Assessment, result: &TraceResult) -> TestCase {
    let status = match &result.verdict {
        Some(Verdict::Passed) => TestCaseStatus::success(),
        Some(Verdict::Failed(failure)) if assessment.is_listed(result) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("expected deviation at {}: {}", failure.at, failure.message()));
            status
        }
        Some(Verdict::Failed(failure)) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(format!("{}: {}", failure.at, failure.message()));
            let before = failure.before.iter().map(|step| format!("{} {} -> {}", step.step, step.doing, step.answered));
            let lines: Vec<String> = before.chain([format!("{}: {}", failure.at, failure.doing)]).collect();
            status.set_description(lines.join("\n"));
            status
        }
        Some(Verdict::Broken(breakdown)) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(breakdown.fault.message.clone());
            status.set_description(breakdown.fault.standard_error.clone());
            status
        }
        Some(Verdict::Inconclusive(reason)) => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(format!("inconclusive: {reason}"));
            status
        }
        None => {
            let mut status = TestCaseStatus::skipped();
            status.set_message("not run");
            status
        }
    };
    let mut case = TestCase::new(result.id.as_str(), status);
    case.set_classname(result.protocol.name());
    case.set_time(result.elapsed);
    case
}
