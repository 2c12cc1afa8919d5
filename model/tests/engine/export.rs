//! `export` and `export --check` on the toy protocol.

use std::fs;
use std::path::Path;

use fencepost_fixtures::trace::Origin;
use fencepost_fixtures::{Document, reader};
use fencepost_model::export::verify::{Prove, verify};
use fencepost_model::export::{self, ExportError, Options, Report};
use fencepost_model::limits::Limits;
use fencepost_model::registry::Registry;

use crate::toy::Toy;

fn registry() -> Registry {
    Registry::default().with::<Toy>()
}

fn options(directory: &Path) -> Options {
    Options {
        globs: Vec::new(),
        directory: directory.join("generated"),
        goals: directory.join("goals"),
        threads: 2,
        limits: Limits::default(),
    }
}

fn exported() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let report = export::export(&registry(), &options(directory.path())).expect("exported");
    assert_eq!(report.exit_code(), 0, "{report:?}");
    directory
}

fn check(directory: &Path) -> Report {
    verify(&registry(), &options(directory), Prove::All).expect("checked")
}

fn trace(directory: &Path, name: &str) -> std::path::PathBuf {
    directory.join("generated/fencing/toy").join(format!("{name}.yaml"))
}

fn read(directory: &Path, name: &str) -> Document {
    let text = fs::read_to_string(trace(directory, name)).expect("a file");
    reader::document(&text).expect("a trace")
}

#[test]
fn what_was_exported_is_what_the_model_makes() {
    let directory = exported();
    let report = check(directory.path());
    assert_eq!(report.exit_code(), 0, "{report:?}");
    // Two holders, its twin, given back, refused; "granted" is the beginning of both.
    assert_eq!((report.traces, report.contained, report.proved), (4, 1, 4));
    let again = export::export(&registry(), &options(directory.path())).expect("exported");
    assert_eq!(again.changes, Vec::<String>::new(), "an unchanged model changes no byte");
}

#[test]
fn a_trace_is_the_shortest_path_to_its_goal() {
    let directory = exported();
    let paths =
        ["two-holders", "given-back", "refused"].map(|name| match &read(directory.path(), name).header().origin {
            Origin::Counterexample { path, .. } | Origin::Coverage { path, .. } => path.matches('/').count(),
            _ => 0,
        });
    // Held: ask, arrive, answer; twice. Given back: held, given back, arrived. Refused: granted, and the other asks.
    assert_eq!(paths, [6, 5, 4]);
    assert_eq!(
        read(directory.path(), "one-holder").header().origin,
        Origin::Twin {
            of: "fencing/toy/two-holders".parse().expect("an id"),
            configuration: "toy/polite/one-ask".to_owned()
        }
    );
}

#[test]
fn a_trace_that_another_one_begins_with_is_left_out() {
    let directory = exported();
    assert!(!trace(directory.path(), "granted").exists());
    let record = fs::read_to_string(directory.path().join("goals/toy.yaml")).expect("a record");
    assert!(record.contains("fencing/toy/granted: fencing/toy/given-back"), "{record}");
}

#[test]
fn every_difference_is_a_fault() {
    let fault = |edit: &dyn Fn(&Path)| {
        let directory = exported();
        edit(directory.path());
        let report = check(directory.path());
        (report.exit_code(), report.faults.into_iter().chain(report.broken).collect::<Vec<_>>().join("\n"))
    };
    let replace = |directory: &Path, name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(trace(directory, name)).expect("a file");
        assert!(text.contains(from), "{text}");
        fs::write(trace(directory, name), text.replace(from, to)).expect("written");
    };

    let (code, text) = fault(&|directory| replace(directory, "refused", "client 2 asks", "client 3 asks"));
    assert_eq!(code, 1);
    assert!(text.contains("refused.yaml:") && text.contains("client 3 asks"), "{text}");

    let (code, text) = fault(&|directory| fs::remove_file(trace(directory, "one-holder")).expect("removed"));
    assert_eq!(code, 1);
    assert!(text.contains("one-holder"), "{text}");

    let (code, text) = fault(&|directory| {
        fs::copy(trace(directory, "refused"), trace(directory, "stray")).expect("copied");
    });
    assert_eq!(code, 1);
    assert!(text.contains("no goal makes it"), "{text}");

    let (code, text) = fault(&|directory| replace(directory, "given-back", "path: 0/", "path: 0/9/"));
    assert_eq!(code, 1);
    assert!(text.contains("step 1 takes action 9"), "{text}");

    let (code, text) = fault(&|directory| fs::write(trace(directory, "refused"), "schema: {").expect("written"));
    assert_eq!(code, 2);
    assert!(text.contains("refused.yaml"), "{text}");

    let (code, text) = fault(&|directory| fs::remove_dir_all(directory.join("generated")).expect("removed"));
    assert_eq!(code, 1);
    assert!(text.contains("a goal makes it, and it is not there"), "{text}");

    let (code, text) = fault(&|directory| {
        let record =
            "contained:\n  fencing/toy/granted: fencing/toy/refused\n  fencing/toy/gone: fencing/toy/refused\n";
        fs::write(directory.join("goals/toy.yaml"), record).expect("written");
    });
    assert_eq!(code, 1);
    assert!(text.contains("fencing/toy/gone"), "{text}");
}

#[test]
fn a_path_that_is_not_the_shortest_is_a_fault() {
    let directory = exported();
    let file = trace(directory.path(), "refused");
    let text = fs::read_to_string(&file).expect("a file");
    let path = text.lines().find_map(|line| line.trim().strip_prefix("path: ")).expect("a path").to_owned();
    // The other client asks first: as short, but not the first of the shortest.
    let other = "0/1/1/1/1";
    assert_ne!(path, other);
    fs::write(&file, text.replace(&path, other)).expect("written");
    let report = check(directory.path());
    assert!(report.faults.iter().any(|fault| fault.contains("the first of the shortest")), "{report:?}");
}

#[test]
fn what_no_goal_makes_is_removed() {
    let directory = exported();
    fs::copy(trace(directory.path(), "refused"), trace(directory.path(), "stray")).expect("copied");
    let report = export::export(&registry(), &options(directory.path())).expect("exported");
    assert_eq!(report.changes.len(), 1);
    assert!(!trace(directory.path(), "stray").exists());
}

#[test]
fn a_filter_writes_some_and_removes_none() {
    let directory = exported();
    for name in ["refused", "given-back"] {
        fs::write(trace(directory.path(), name), "old").expect("written");
    }
    let globs = vec!["fencing/toy/ref*".to_owned(), "fencing/toy/granted".to_owned()];
    let report = export::export(&registry(), &Options { globs, ..options(directory.path()) }).expect("exported");
    assert_eq!(report.changes.len(), 1, "{report:?}");
    assert_eq!(fs::read_to_string(trace(directory.path(), "given-back")).expect("a file"), "old");
    let globs = vec!["fencing/toy/refusd".to_owned()];
    let error = export::export(&registry(), &Options { globs, ..options(directory.path()) }).expect_err("no such goal");
    assert!(matches!(&error, ExportError::Unknown(name) if name.nearest[0] == "fencing/toy/refused"), "{error}");
}

#[test]
fn what_no_trace_reaches_is_told() {
    let directory = exported();
    let gaps = check(directory.path()).gaps;
    assert_eq!(gaps[0], "toy: the label `message lost`: nobody looks for it");
    assert_eq!(gaps[1], "toy: the error STALE_MEMBER_EPOCH");
    assert_eq!(gaps.len(), 2, "{gaps:?}");
}

#[test]
fn a_search_that_was_cut_short_is_no_proof() {
    let directory = exported();
    let limits = Limits { states: Some(3), ..Limits::default() };
    let report = verify(&registry(), &Options { limits, ..options(directory.path()) }, Prove::Smoke).expect("checked");
    assert_eq!(report.exit_code(), 4);
}

#[test]
fn a_check_that_compared_nothing_is_a_fault() {
    let directory = tempfile::tempdir().expect("a directory");
    let report = verify(&Registry::default(), &options(directory.path()), Prove::Smoke).expect("checked");
    assert_eq!(report.exit_code(), 1);
}
