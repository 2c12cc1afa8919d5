//! A list of expected deviations that is not exactly so makes the run fail, with the line that is wrong.

use std::path::Path;
use std::time::Duration;

use fencepost_conformance::expectations::{Checked, Expectations};
use fencepost_conformance::replayable::Difference;
use fencepost_conformance::replayer::{Counts, Failure, Verdict};
use fencepost_conformance::runner::TraceResult;
use fencepost_conformance::target::Place;
use fencepost_fixtures::Protocol;

const LIST: &str = "\
- trace: fencing/late-commit
  step: '7'
  message: 'answer: expected error STALE_MEMBER_EPOCH, got committed t-1'
  reason: The fast path does not look at ownership.
  link: docs/findings/h1.md
";

fn result(id: &str, verdict: Verdict) -> TraceResult {
    TraceResult {
        id: id.parse().expect("an id"),
        title: String::new(),
        protocol: Protocol::Fencing,
        holds_for: Vec::new(),
        verdict: Some(verdict),
        compared: Counts::default(),
        not_compared: Counts::default(),
        operations: 0,
        elapsed: Duration::ZERO,
    }
}

fn failed(at: Place, got: &str) -> Verdict {
    Verdict::Failed(Box::new(Failure {
        at,
        steps: 7,
        doing: String::new(),
        differences: vec![Difference {
            part: "answer".to_owned(),
            expected: "error STALE_MEMBER_EPOCH".to_owned(),
            got: got.to_owned(),
        }],
        before: Vec::new(),
        state_before: Vec::new(),
        state_at: None,
    }))
}

fn list(text: &str) -> Expectations {
    Expectations::parse(Path::new("kafka.yaml"), text).expect("a list")
}

fn check(text: &str, results: &[TraceResult]) -> Checked {
    list(text).check(&results.iter().collect::<Vec<_>>(), false)
}

fn stale(text: &str, result: TraceResult) -> String {
    let checked = check(text, &[result]);
    assert_eq!(checked.stale.len(), 1, "{checked:?}");
    checked.stale.concat()
}

#[test]
fn a_trace_that_fails_as_listed_is_no_news() {
    let checked = check(LIST, &[result("fencing/late-commit", failed(Place::step(7), "committed t-1"))]);
    assert_eq!(checked.stale, Vec::<String>::new());
    assert_eq!(checked.listed.len(), 1);
}

#[test]
fn a_listed_trace_that_passes_is_stale_with_its_line() {
    let says = stale(LIST, result("fencing/late-commit", Verdict::Passed));
    assert_eq!(says, "kafka.yaml:1: fencing/late-commit: fencing/late-commit passes");
}

#[test]
fn a_listed_trace_that_fails_at_another_step_is_stale() {
    let says = stale(LIST, result("fencing/late-commit", failed(Place::within(6, 2), "committed t-1")));
    assert!(says.contains("fails at step 6.2, not at 7"), "{says}");
}

#[test]
fn a_listed_trace_that_fails_otherwise_is_stale() {
    let says = stale(LIST, result("fencing/late-commit", failed(Place::step(7), "error UNKNOWN_MEMBER_ID")));
    assert!(says.contains("fails otherwise: answer: expected error STALE_MEMBER_EPOCH, got error UNKNOWN"), "{says}");
}

#[test]
fn an_entry_that_names_no_trace_is_stale() {
    let says = stale(LIST, result("fencing/another", Verdict::Passed));
    assert!(says.contains("there is no such trace"), "{says}");
}

#[test]
fn an_entry_that_names_none_of_a_selection_says_nothing() {
    let results = [result("fencing/another", Verdict::Passed)];
    let checked = list(LIST).check(&results.iter().collect::<Vec<_>>(), true);
    assert_eq!(checked, Checked::default());
}

#[test]
fn a_listed_trace_that_was_not_compared_is_stale() {
    let says = stale(LIST, result("fencing/late-commit", Verdict::Inconclusive("no timers".to_owned())));
    assert!(says.contains("could not be compared: no timers"), "{says}");
}

#[test]
fn the_second_entry_is_named_by_its_own_line() {
    let text = format!("# Deviations\n{LIST}{}", LIST.replace("late-commit", "later-commit"));
    let results = [
        result("fencing/late-commit", failed(Place::step(7), "committed t-1")),
        result("fencing/later-commit", Verdict::Passed),
    ];
    let checked = check(&text, &results);
    assert_eq!(checked.stale, ["kafka.yaml:7: fencing/later-commit: fencing/later-commit passes"]);
}

#[test]
fn a_wildcard_may_not_excuse_everything() {
    let text = LIST.replace("fencing/late-commit", "fencing/*");
    let result = |number: usize| result(&format!("fencing/t{number}"), failed(Place::step(7), "committed t-1"));
    let few: Vec<TraceResult> = (0..20).map(result).collect();
    assert_eq!(check(&text, &few).stale, Vec::<String>::new());
    let many: Vec<TraceResult> = (0..21).map(result).collect();
    assert!(check(&text, &many).stale.concat().contains("matches 21 traces, and a wildcard may match 20"));
}

#[test]
fn an_updated_list_keeps_reasons_and_asks_for_the_missing_ones() {
    let results = [
        result("fencing/late-commit", failed(Place::step(6), "committed t-1")),
        result("fencing/new", failed(Place::step(2), "committed t-0")),
        result("fencing/right", Verdict::Passed),
    ];
    let results: Vec<&TraceResult> = results.iter().collect();
    let updated = list(LIST).updated(&results);
    assert_eq!(updated.len(), 2);
    let kept = updated.entry(&results[0].id).expect("it fails");
    assert_eq!((kept.step.as_str(), kept.reason.as_str()), ("6", "The fast path does not look at ownership."));
    let checked = updated.check(&results, false);
    assert_eq!(checked.listed.len(), 2);
    assert_eq!(checked.stale, ["kafka.yaml: fencing/new: no reason is given"]);
}

#[test]
fn a_list_with_an_unknown_field_is_refused() {
    let text = LIST.replace("reason:", "because:");
    let error = Expectations::parse(Path::new("kafka.yaml"), &text).expect_err("not a list");
    assert!(error.to_string().contains("because"), "{error}");
}

#[test]
fn an_empty_file_is_an_empty_list() {
    assert!(list("").is_empty());
    assert!(list("# nothing deviates\n").is_empty());
}
