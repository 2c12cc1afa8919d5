//! `check` on the toy protocol.

use std::path::Path;

use fencepost_model::check::progress::Nothing;
use fencepost_model::check::verdict::{Answer, Report};
use fencepost_model::check::{CheckError, Options, check, report};
use fencepost_model::limits::{Cut, Limits};
use fencepost_model::matrix::Matrix;
use fencepost_model::registry::Registry;
use fencepost_model::walks::Walks;

use crate::toy::Toy;

fn registry() -> Registry {
    Registry::default().with::<Toy>()
}

fn options(directory: &Path) -> Options {
    Options {
        globs: Vec::new(),
        all: true,
        threads: 2,
        bless: false,
        matrix: directory.to_owned(),
        limits: Limits::default(),
        spread: None,
    }
}

fn run(options: &Options) -> Result<Report, CheckError> {
    check(&registry(), options, &Nothing)
}

/// A directory with the matrix of the toy as it is.
fn blessed() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let report = run(&Options { bless: true, ..options(directory.path()) }).expect("blessed");
    assert_eq!(report.exit_code(), 0, "{report:?}");
    directory
}

fn edit(directory: &Path, edit: impl FnOnce(&mut Matrix)) {
    let mut matrix = Matrix::read(directory, "toy").expect("a matrix");
    edit(&mut matrix);
    matrix.write(directory, "toy").expect("written");
}

/// The report as text, without what differs from run to run, and without colours.
fn text(report: &Report) -> String {
    let mut report = report.clone();
    for verdict in &mut report.verdicts {
        verdict.seconds = 0.0;
        verdict.memory_bytes = 0;
    }
    report.seconds = 0.0;
    report.peak_memory_bytes = 0;
    anstream::adapter::strip_str(&report::text(&report, "fencepost-model")).to_string()
}

#[test]
fn what_was_blessed_is_as_expected() {
    let directory = blessed();
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 0, "{}", text(&report));
    insta::assert_snapshot!(text(&report));
}

#[test]
fn the_matrix_of_the_toy_says_what_the_rules_say() {
    let directory = blessed();
    let matrix = Matrix::read(directory.path(), "toy").expect("a matrix");
    let careless = matrix.row("toy/careless/one-ask").expect("a row");
    // Granted twice: ask, arrive, ask, arrive. Held twice: two answers more.
    assert_eq!(careless.fails.get("T2"), Some(&4));
    assert_eq!(careless.fails.get("T1"), Some(&6));
    assert!(matrix.row("toy/polite/one-ask").expect("a row").fails.is_empty());
    // Without losses, the polite desk gets its ticket back.
    assert_eq!(matrix.row("toy/polite/lossy").expect("a row").fails.keys().collect::<Vec<_>>(), ["L1"]);
    insta::assert_snapshot!(std::fs::read_to_string(Matrix::file(directory.path(), "toy")).expect("a file"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let directory = blessed();
    let one = run(&Options { threads: 1, ..options(directory.path()) }).expect("checked");
    let four = run(&Options { threads: 4, ..options(directory.path()) }).expect("checked");
    assert_eq!(text(&one), text(&four));
}

#[test]
fn a_smaller_state_space_is_a_failure() {
    let directory = blessed();
    edit(directory.path(), |matrix| matrix.rows[0].unique += 1);
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 1);
    let wrong: Vec<_> = report.verdicts.iter().filter(|verdict| !verdict.as_expected).collect();
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].differences[0].contains("unique states instead of"), "{:?}", wrong[0].differences);
}

#[test]
fn walks_say_what_they_met_and_are_pinned_with_their_seed() {
    let directory = blessed();
    let matrix = Matrix::read(directory.path(), "toy").expect("a matrix");
    let row = matrix.row("toy/careless/walks").expect("a row");
    let walks = row.simulated.expect("walks");
    assert_eq!((walks.seed, walks.number), (7, 20));
    // At most a state a step, and the one that each walk begins in.
    assert!(row.unique <= row.generated && row.generated <= walks.number * (walks.steps + 1));
    // What a walk meets is not shorter than the shortest.
    let shortest = &matrix.row("toy/careless/one-ask").expect("a row").fails;
    assert!(row.fails["T2"] >= shortest["T2"]);
    let report = run(&options(directory.path())).expect("checked");
    assert!(text(&report).contains("simulated: 20 walks, seed 7"), "{}", text(&report));

    edit(directory.path(), |matrix| {
        let row = matrix.rows.iter_mut().find(|row| row.simulated.is_some()).expect("a row");
        row.simulated = row.simulated.map(|walks| Walks { seed: 8, ..walks });
    });
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 1);
    assert!(text(&report).contains("the matrix has other walks"), "{}", text(&report));
}

#[test]
fn a_violation_that_nobody_expects_is_told_in_steps() {
    let directory = blessed();
    edit(directory.path(), |matrix| {
        let row = matrix.rows.iter_mut().find(|row| row.configuration == "toy/careless/one-ask").expect("a row");
        row.fails.remove("T1");
    });
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 1);
    insta::assert_snapshot!(text(&report));
}

#[test]
fn a_violation_that_is_gone_or_longer_is_a_failure() {
    let directory = blessed();
    edit(directory.path(), |matrix| {
        matrix.rows[0].fails.insert("T1".to_owned(), 6);
        matrix.rows[1].fails.insert("T1".to_owned(), 5);
    });
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 1);
    let found = |configuration: &str| {
        let mut verdicts = report.verdicts.iter();
        let verdict = verdicts.find(|verdict| verdict.configuration == configuration && verdict.property == "T1");
        verdict.map(|verdict| (verdict.expected, verdict.found))
    };
    assert_eq!(found("toy/polite/one-ask"), Some((Answer::FailsIn(6), Answer::Holds)));
    assert_eq!(found("toy/careless/one-ask"), Some((Answer::FailsIn(5), Answer::FailsIn(6))));
}

#[test]
fn a_stale_matrix_has_an_exit_code_of_its_own() {
    let directory = blessed();
    edit(directory.path(), |matrix| {
        matrix.rows[0].configuration = "toy/gone/one-ask".to_owned();
        matrix.rows[1].fails.insert("T9".to_owned(), 1);
    });
    let report = run(&options(directory.path())).expect("checked");
    assert_eq!(report.exit_code(), 3);
    assert_eq!(report.stale.len(), 3, "{:?}", report.stale);
}

#[test]
fn a_run_cut_short_beats_every_other_exit_code_and_says_nothing() {
    let directory = blessed();
    edit(directory.path(), |matrix| matrix.rows[0].configuration = "toy/gone/one-ask".to_owned());
    let limits = Limits { states: Some(10), ..Limits::default() };
    let report = run(&Options { limits, ..options(directory.path()) }).expect("checked");
    assert_eq!(report.exit_code(), 4);
    assert!(report.verdicts.iter().any(|verdict| verdict.found == Answer::Cut(Cut::States)));
    assert!(text(&report).contains("CUT SHORT"));
}

#[test]
fn what_nothing_reaches_is_dead() {
    let directory = tempfile::tempdir().expect("a directory");
    let registry = Registry::default().with::<crate::toy::DeadToy>();
    let report = check(&registry, &Options { bless: true, ..options(directory.path()) }, &Nothing).expect("blessed");
    // Blessing does not bring it to life.
    assert_eq!(report.exit_code(), 1);
    let messages: Vec<_> = report.dead.iter().map(|dead| dead.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "dead-toy: no step of any configuration has the label `pigs fly`",
            "dead-toy: no state of any configuration meets the antecedent of T4"
        ]
    );
    let smoke = check(&registry, &Options { all: false, ..options(directory.path()) }, &Nothing).expect("checked");
    assert_eq!(smoke.exit_code(), 0, "the matrix says that a smoke run does not reach them");
    let mut matrix = Matrix::read(directory.path(), "dead-toy").expect("a matrix");
    matrix.labels_beyond_smoke.clear();
    matrix.write(directory.path(), "dead-toy").expect("written");
    let smoke = check(&registry, &Options { all: false, ..options(directory.path()) }, &Nothing).expect("checked");
    assert_eq!(smoke.exit_code(), 1);
}

#[test]
fn a_part_is_not_blessed() {
    let directory = blessed();
    let globs = vec!["toy/polite/*".to_owned()];
    let result = run(&Options { globs, bless: true, ..options(directory.path()) });
    assert!(matches!(result, Err(CheckError::BlessFiltered)));
    let limits = Limits { states: Some(10), ..Limits::default() };
    let result = run(&Options { limits, bless: true, ..options(directory.path()) });
    assert!(matches!(result, Err(CheckError::BlessRefused(_))));
}

#[test]
fn blessing_the_smoke_run_keeps_the_rows_of_the_full_run() {
    let directory = blessed();
    edit(directory.path(), |matrix| matrix.rows[0].unique = 1);
    let report = run(&Options { all: false, bless: true, ..options(directory.path()) }).expect("blessed");
    assert_eq!(report.blessed.len(), 1);
    assert_eq!(run(&options(directory.path())).expect("checked").exit_code(), 0);
}

#[test]
fn a_filter_runs_what_it_names() {
    let directory = blessed();
    let names = |globs: &[&str], all: bool| {
        let globs = globs.iter().map(|glob| (*glob).to_owned()).collect();
        let report = run(&Options { globs, all, ..options(directory.path()) })?;
        assert_eq!(report.exit_code(), 0, "{}", text(&report));
        let mut names: Vec<_> = report.verdicts.into_iter().map(|verdict| verdict.configuration).collect();
        names.dedup();
        Ok::<_, CheckError>(names)
    };
    assert_eq!(names(&["toy/careless"], false).expect("checked"), ["toy/careless/one-ask"]);
    assert_eq!(names(&["*/polite/*"], false).expect("checked"), ["toy/polite/one-ask", "toy/polite/lossy"]);
    assert_eq!(names(&["toy/polite/three-asks"], false).expect("checked"), ["toy/polite/three-asks"]);
    assert!(matches!(names(&["*three-asks"], false), Err(CheckError::OnlyFull(_))));
    let error = names(&["toy/polit/one-ask"], false).expect_err("no such name");
    assert!(error.to_string().contains("did you mean toy/polite/one-ask"), "{error}");
}

#[test]
fn the_report_is_written_as_json() {
    let directory = blessed();
    edit(directory.path(), |matrix| {
        matrix.rows[1].fails.remove("T1");
    });
    let report = run(&options(directory.path())).expect("checked");
    let json = serde_json::to_value(&report).expect("json");
    let verdicts = json["verdicts"].as_array().expect("a list");
    let wrong: Vec<_> = verdicts.iter().filter(|verdict| verdict["as_expected"] == false).collect();
    assert_eq!(wrong.len(), 1, "{json:#}");
    assert_eq!(wrong[0]["configuration"], "toy/careless/one-ask");
    assert_eq!(wrong[0]["expected"], "holds");
    assert_eq!(wrong[0]["found"], serde_json::json!({ "fails-in": 6 }));
    assert_eq!(wrong[0]["steps"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_broken_matrix_names_the_place() {
    let directory = blessed();
    let file = Matrix::file(directory.path(), "toy");
    std::fs::write(&file, "rows:\n- configuration: toy/polite/one-ask\n  uniqe: 3\n").expect("written");
    let error = run(&options(directory.path())).expect_err("a slip of the pen").to_string();
    assert!(error.contains("toy.yaml:") && error.contains("uniqe"), "{error}");
}
