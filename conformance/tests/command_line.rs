//! What people read on the command line, and how it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use insta::{Settings, assert_snapshot};

const EXAMPLE: &str = "../fixtures/tests/examples/fencing.yaml";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-conformance"));
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program is built")
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Seconds differ from run to run.
fn pinned(test: impl FnOnce()) {
    let mut settings = Settings::clone_current();
    settings.add_filter(r"\d+\.\d s\b", "[seconds]");
    settings.add_filter(r#""seconds": [0-9.e-]+"#, r#""seconds": [seconds]"#);
    settings.add_filter(r#"time="[0-9.]+""#, r#"time="[seconds]""#);
    settings.bind(test);
}

#[test]
fn help_says_what_each_command_is_for() {
    for command in ["", "replay", "smoke", "list", "show", "completions"] {
        let arguments: &[&str] = if command.is_empty() { &["--help"] } else { &[command, "--help"] };
        let output = run(arguments);
        assert_eq!(code(&output), Some(0));
        let name = if command.is_empty() { "help".to_owned() } else { format!("help_{command}") };
        assert_snapshot!(name, out(&output));
    }
}

#[test]
fn a_trace_is_shown_in_three_formats() {
    for format in ["text", "mermaid", "yaml"] {
        let output = run(&["show", EXAMPLE, "--format", format]);
        assert_eq!(code(&output), Some(0));
        assert_snapshot!(format!("show_{format}"), out(&output));
    }
}

#[test]
fn a_trace_that_holds_passes() {
    pinned(|| {
        let output = run(&["replay", EXAMPLE, "--verbose"]);
        assert_eq!(code(&output), Some(0));
        assert_snapshot!("replay_passes", out(&output));
    });
}

#[test]
fn the_first_wrong_step_is_told_with_what_came_before() {
    pinned(|| {
        let output = run(&["replay", EXAMPLE, "--variant", "assignment-epoch-owned"]);
        assert_eq!(code(&output), Some(1));
        assert_snapshot!("replay_fails", out(&output));
    });
}

#[test]
fn a_run_is_reported_in_three_more_forms() {
    pinned(|| {
        for format in ["markdown", "junit", "json"] {
            let output = run(&["replay", EXAMPLE, "--variant", "assignment-epoch-owned", "--format", format]);
            assert_eq!(code(&output), Some(1));
            assert_snapshot!(format!("report_{format}"), out(&output));
        }
    });
}

#[test]
fn traces_come_from_standard_input_too() {
    let example = std::fs::File::open(Path::new(env!("CARGO_MANIFEST_DIR")).join(EXAMPLE)).expect("the example");
    let output = command(&["replay", "-"]).stdin(example).output().expect("the program is built");
    assert_eq!(code(&output), Some(0));
    assert!(out(&output).contains("1 planned = 1 passed + 0 failed + 0 inconclusive + 0 not run."));
}

#[test]
fn usage_errors_end_with_2() {
    for arguments in [
        &["replay", "no/such/file.yaml"][..],
        &["replay", "--variant", "kafka-9"],
        &["replay", "--target", "'unclosed"],
        &["replay", "--target", "/there/is/no/such/driver"],
        &["replay", "--jobs", "0"],
        &["replay", "--step-timeout", "-1"],
        &["replay", EXAMPLE, "--expect", "e.yaml", "--update-expect"],
        &["replay", EXAMPLE, "--expect", "no-such-list.yaml"],
        &["show", "fencing/there-is-no-such-trace"],
        &["no-such-command"],
    ] {
        let output = run(arguments);
        assert_eq!(code(&output), Some(2), "{arguments:?}: {}", error(&output));
        assert!(!error(&output).is_empty(), "{arguments:?}");
        assert!(!error(&output).contains("panicked"), "{}", error(&output));
    }
}

#[test]
fn a_run_that_compared_nothing_is_an_error() {
    let python = python_driver();
    let Some(target) = python else { return };
    let output = run(&["replay", EXAMPLE, "--target", &target]);
    assert_eq!(code(&output), Some(2), "{}", out(&output));
    assert!(out(&output).contains("Nothing was compared"), "{}", out(&output));
}

#[test]
fn an_expected_deviation_ends_with_0_and_a_stale_one_with_3() {
    let directory = tempfile::tempdir().expect("a directory");
    let list = directory.path().join("list.yaml");
    let list = list.display().to_string();
    let entry = "- trace: fencing/late-commit-after-second-revocation\n  step: '7'\n  message: 'answer: expected committed \
                 t-1, got error STALE_MEMBER_EPOCH; committed: expected t-1 = 50, got t-1 = 100'\n  reason: It is right.\n";
    std::fs::write(&list, entry).expect("the directory is there");
    let wrong = ["replay", EXAMPLE, "--variant", "assignment-epoch-owned", "--expect", &list];
    let output = run(&wrong);
    assert_eq!(code(&output), Some(0), "{}", out(&output));
    let output = run(&["replay", EXAMPLE, "--expect", &list]);
    assert_eq!(code(&output), Some(3), "{}", out(&output));
    assert!(out(&output).contains("list.yaml:1: "), "{}", out(&output));
}

#[test]
fn no_color_reaches_what_is_not_a_terminal() {
    let output = command(&["replay", EXAMPLE]).env("NO_COLOR", "1").output().expect("the program is built");
    assert!(!out(&output).contains('\u{1b}'));
}

#[test]
fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&["completions", shell]);
        assert_eq!(code(&output), Some(0));
        assert!(out(&output).contains("fencepost-conformance"));
    }
}

/// The command line of the Python driver, where there is a Python to run it.
fn python_driver() -> Option<String> {
    let driver: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/python/fencing_functions.py");
    let there = Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there || !driver.exists() {
        println!("There is no python3, so its driver is not run.");
        return None;
    }
    Some(format!("python3 '{}'", driver.display()))
}

#[test]
fn the_python_driver_is_smoked_without_a_fault() {
    let Some(target) = python_driver() else { return };
    let output = run(&["smoke", "--target", &target]);
    assert_eq!(code(&output), Some(0), "{}", out(&output));
    assert_snapshot!("smoke_python", out(&output));
}

#[test]
fn the_python_driver_meets_every_function_trace_that_it_decides() {
    let Some(target) = python_driver() else { return };
    if fencepost_fixtures::corpus::all().next().is_none() {
        return;
    }
    let output = run(&["replay", "--target", &target]);
    assert_eq!(code(&output), Some(0), "{}{}", out(&output), error(&output));
    assert!(out(&output).contains("Its fencing behaves like assignment-epoch-owned."), "{}", out(&output));
}

#[test]
fn the_python_driver_is_an_afternoons_work() {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("drivers/python/fencing_functions.py");
    if let Ok(text) = std::fs::read_to_string(driver) {
        assert!(text.lines().count() <= 150);
    }
}

#[test]
fn a_driver_that_says_nothing_is_told_what_to_do() {
    if cfg!(unix) {
        let output = run(&["smoke", "--target", "true"]);
        assert_eq!(code(&output), Some(1));
        assert_snapshot!("smoke_nothing", out(&output));
    }
}
