//! What a driver does wrong costs its own trace alone, is named as the driver's fault, and leaves no process behind.
//!
//! This program is both sides: called as `drivers drive MODE` it is a driver that behaves well, as the reference does,
//! until it comes to the trace `fencing/bad`, where it does what MODE says; called as a test it replays three traces on
//! such drivers, with the bad one in the middle.

use std::collections::BTreeSet;
use std::io::{BufRead, Read, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fencepost_conformance::driver::DriverCommand;
use fencepost_conformance::reference_target::ReferenceTarget;
use fencepost_conformance::replayer::{Breakdown, Verdict};
use fencepost_conformance::runner::{self, Options, Run};
use fencepost_conformance::target::{Action, Answered, FaultKind, Input, Place, Ready, Reset, Settings, Target};
use fencepost_fixtures::fencing::{Configure, Fencing, Operation};
use fencepost_fixtures::{Document, TraceId, reader};
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};

const EXAMPLE: &str = include_str!("../../fixtures/tests/examples/fencing.yaml");

/// Long enough for a busy machine to answer, short enough to wait for where a driver hangs.
const STEP_LIMIT: Duration = Duration::from_secs(3);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, drive, mode] = arguments.as_slice()
        && drive == "drive"
    {
        driver(mode);
        return;
    }
    let fault = |name: &'static str, mode: &'static str, kind: FaultKind, says: &'static str| {
        Trial::test(name, move || costs_its_own_trace_alone(mode, kind, says))
    };
    let tests = vec![
        Trial::test("a_driver_that_behaves_well_passes", well_behaved),
        Trial::test("a_driver_that_floods_standard_error_and_answers_passes", floods_and_answers),
        Trial::test("several_drivers_side_by_side_give_the_same_results", side_by_side),
        Trial::test("a_driver_that_can_not_be_started_is_an_error", can_not_be_started),
        Trial::test("a_driver_that_never_starts_again_ends_the_run_early", never_starts_again),
        fault("a_driver_that_hangs", "hang", FaultKind::TimedOut, "did not answer step 3"),
        fault("a_driver_that_never_reads_its_input", "never-read", FaultKind::TimedOut, "did not answer step 3"),
        fault("a_driver_that_floods_standard_error", "flood", FaultKind::TimedOut, "did not answer step 3"),
        fault("a_driver_that_dies", "die", FaultKind::Died, "instead of answering step 3"),
        fault("a_driver_that_ends_as_if_all_was_well", "end", FaultKind::Died, "instead of answering step 3"),
        fault("a_driver_that_prints_garbage", "garbage", FaultKind::Garbage, "is not of the protocol"),
        fault("a_driver_that_prints_bytes", "bytes", FaultKind::Garbage, "is not UTF-8"),
        fault("a_driver_that_never_ends_its_line", "endless", FaultKind::Garbage, "without a line break"),
        fault("a_driver_that_answers_nothing_and_everything", "both", FaultKind::Garbage, "none or several"),
        fault("a_driver_that_answers_the_wrong_step", "wrong-step", FaultKind::WrongStep, "answered step 99"),
        fault("a_driver_that_answers_another_trace", "wrong-trace", FaultKind::WrongStep, "of fencing/other"),
        fault("a_driver_that_answers_twice", "twice", FaultKind::WrongStep, "exactly one answer"),
        fault("a_driver_that_says_it_is_broken", "broken", FaultKind::Broken, "out of cheese"),
        Trial::test("what_a_driver_started_ends_with_it", grandchildren_end),
        Trial::test("ctrl_c_ends_the_run_as_cut_short_and_leaves_no_process", ctrl_c),
    ];
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

// The test's side.

fn command(mode: &str) -> Result<DriverCommand, Failed> {
    let own = std::env::current_exe()?;
    let line = format!("'{}' drive {mode}", own.display());
    Ok(DriverCommand::parse(&line, Duration::from_secs(30), STEP_LIMIT, Arc::new(AtomicBool::new(false)))?)
}

fn trace(id: &str) -> Result<Document, Failed> {
    let text = EXAMPLE.replace("id: fencing/late-commit-after-second-revocation\n", &format!("id: {id}\n"));
    reader::document(&text).map_err(|error| error.to_string().into())
}

/// The bad trace with a step whose line does not fit into a pipe.
fn trace_with_a_long_line() -> Result<Document, Failed> {
    let many: Vec<String> = (0..20_000).map(|partition| format!("t-{partition}")).collect();
    let text = EXAMPLE
        .replace("id: fencing/late-commit-after-second-revocation\n", "id: fencing/bad\n")
        .replace("      a: []\n", &format!("      a: [{}]\n", many.join(", ")));
    reader::document(&text).map_err(|error| error.to_string().into())
}

fn run(mode: &str, ids: &[&str], jobs: usize) -> Result<Run, Failed> {
    let document =
        |id: &&str| if *id == "fencing/bad" && mode == "never-read" { trace_with_a_long_line() } else { trace(id) };
    let documents = ids.iter().map(document).collect::<Result<Vec<_>, _>>()?;
    let documents: Vec<&Document> = documents.iter().collect();
    let cancelled = AtomicBool::new(false);
    Ok(runner::run(&documents, &command(mode)?, &Options { variant: None, only: None, jobs, cancelled: &cancelled })?)
}

fn check(holds: bool, what: impl std::fmt::Debug) -> Result<(), Failed> {
    if holds { Ok(()) } else { Err(format!("{what:#?}").into()) }
}

fn costs_its_own_trace_alone(mode: &str, kind: FaultKind, says: &str) -> Result<(), Failed> {
    let run = run(mode, &["fencing/good", "fencing/bad", "fencing/good-again"], 1)?;
    let [before, bad, after] = run.results.as_slice() else {
        return Err("three traces have three results".into());
    };
    check(before.verdict == Some(Verdict::Passed), &before.verdict)?;
    check(after.verdict == Some(Verdict::Passed), &after.verdict)?;
    match &bad.verdict {
        Some(Verdict::Broken(breakdown)) => {
            let Breakdown { fault, at } = breakdown.as_ref();
            check(fault.kind == kind && fault.message.contains(says), fault)?;
            // An answer too many is found out by the step after it.
            let expected = if mode == "twice" { Place::step(4) } else { Place::step(3) };
            check(*at == Some(expected), at)?;
            check(fault.standard_error.contains("this is the end"), fault)
        }
        other => Err(format!("{other:#?}").into()),
    }
}

fn well_behaved() -> Result<(), Failed> {
    let run = run("none", &["fencing/good", "fencing/bad"], 1)?;
    check(run.results.iter().all(|result| result.verdict == Some(Verdict::Passed)), &run)
}

fn floods_and_answers() -> Result<(), Failed> {
    let run = run("flood-and-answer", &["fencing/good", "fencing/bad"], 1)?;
    check(run.results.iter().all(|result| result.verdict == Some(Verdict::Passed)), &run)
}

fn side_by_side() -> Result<(), Failed> {
    let ids = ["fencing/a", "fencing/bad", "fencing/b", "fencing/c", "fencing/d"];
    let run = run("die", &ids, 3)?;
    let in_order: Vec<&str> = run.results.iter().map(|result| result.id.as_str()).collect();
    check(in_order == ids, in_order)?;
    for result in &run.results {
        let broken = matches!(result.verdict, Some(Verdict::Broken(_)));
        check(broken == (result.id.as_str() == "fencing/bad"), result)?;
    }
    Ok(())
}

fn can_not_be_started() -> Result<(), Failed> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let command = DriverCommand::parse("/there/is/no/such/program", STEP_LIMIT, STEP_LIMIT, Arc::clone(&cancelled))?;
    let document = trace("fencing/good")?;
    let options = Options { variant: None, only: None, jobs: 1, cancelled: &cancelled };
    match runner::run(&[&document], &command, &options) {
        Err(fault) => check(fault.kind == FaultKind::NotStarted, fault),
        Ok(run) => Err(format!("{run:#?}").into()),
    }
}

fn never_starts_again() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let mode = format!("once:{}", directory.path().join("started").display());
    let run = run(&mode, &["fencing/bad", "fencing/a", "fencing/b", "fencing/c", "fencing/d", "fencing/e"], 1)?;
    check(run.gave_up.is_some(), &run)?;
    check(run.results.last().is_some_and(|result| result.verdict.is_none()), &run.results)
}

/// Whether the process whose id stands in the file has ended. A zombie has not been reaped, and counts as running.
#[cfg(target_os = "linux")]
fn ends(id_file: &std::path::Path) -> Result<bool, Failed> {
    let id = std::fs::read_to_string(id_file)?;
    let process = PathBuf::from("/proc").join(id.trim());
    let deadline = Instant::now() + Duration::from_secs(10);
    while process.exists() && Instant::now() < deadline {
        // The kernel ends a process when it comes to it; there is nothing to be told by.
        std::thread::yield_now();
    }
    Ok(!process.exists())
}

#[cfg(not(target_os = "linux"))]
fn ends(_: &std::path::Path) -> Result<bool, Failed> {
    Ok(true)
}

#[cfg(unix)]
fn grandchildren_end() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let id_file = directory.path().join("grandchild");
    let run = run(&format!("parent:{}", id_file.display()), &["fencing/bad"], 1)?;
    check(matches!(run.results[0].verdict, Some(Verdict::Broken(_))), &run.results)?;
    check(ends(&id_file)?, "the process that the driver started still runs")
}

#[cfg(not(unix))]
fn grandchildren_end() -> Result<(), Failed> {
    Ok(())
}

#[cfg(unix)]
fn ctrl_c() -> Result<(), Failed> {
    let directory = tempfile::tempdir()?;
    let (own_id, grandchild_id) = (directory.path().join("driver"), directory.path().join("grandchild"));
    let bad = directory.path().join("bad.yaml");
    std::fs::write(&bad, EXAMPLE.replace("id: fencing/late-commit-after-second-revocation\n", "id: fencing/bad\n"))?;
    let own = std::env::current_exe()?;
    let target = format!("'{}' drive waits:{}", own.display(), directory.path().display());
    let mut child = Command::new(env!("CARGO_BIN_EXE_fencepost-conformance"))
        .arg("replay")
        .arg(&bad)
        .args(["--target", &target, "--step-timeout", "600"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    // The driver writes the last of its files when it has come to the step at which it waits for ever.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !directory.path().join("waiting").exists() {
        check(Instant::now() < deadline && child.try_wait()?.is_none(), "the driver never came to its step")?;
        std::thread::yield_now();
    }
    let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status()?;
    check(signalled.success(), signalled)?;
    let mut report = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut report)?;
    }
    let status = child.wait()?;
    check(status.code() == Some(4), (status, &report))?;
    check(report.contains("1 planned = 0 passed + 0 failed + 0 inconclusive + 1 not run"), &report)?;
    check(ends(&own_id)?, "the driver still runs")?;
    check(ends(&grandchild_id)?, "what the driver started still runs")
}

#[cfg(not(unix))]
fn ctrl_c() -> Result<(), Failed> {
    Ok(())
}

// The driver's side.

fn driver(mode: &str) {
    if let Some(started) = mode.strip_prefix("once:") {
        let again = std::path::Path::new(started).exists();
        std::fs::write(started, "").expect("the directory is there");
        if again {
            std::process::exit(7);
        }
    }
    let mut target = ReferenceTarget::new();
    let mut out = std::io::stdout().lock();
    let mut lines = std::io::stdin().lock().lines();
    while let Some(Ok(line)) = lines.next() {
        let command: Value = serde_json::from_str(&line).expect("the replayer writes JSON");
        let bad = command["trace"] == "fencing/bad" && command["at"] == json!([3]);
        if bad && !misbehave(mode, &command, &mut out) {
            continue;
        }
        let Some(answer) = answer(&mut target, &command) else {
            return;
        };
        writeln!(out, "{answer}").expect("the replayer reads");
        if mode == "twice" && bad {
            writeln!(out, "{answer}").expect("the replayer reads");
        }
        let read_again =
            command["trace"] == "fencing/bad" && command["at"] == json!([2]) && command.get("do").is_none();
        if mode == "never-read" && read_again {
            eprintln!("this is the end");
            wait_for_ever();
        }
    }
}

/// Does what the mode says; whether the step is then answered as it should be.
fn misbehave(mode: &str, command: &Value, out: &mut impl Write) -> bool {
    let (trace, at) = (&command["trace"], &command["at"]);
    eprintln!("this is the end");
    let mut say = |line: Value| writeln!(out, "{line}").expect("the replayer reads");
    match mode {
        "hang" => wait_for_ever(),
        "flood" => loop {
            eprintln!("{} this is the end", "noise ".repeat(100));
        },
        "flood-and-answer" => {
            for _ in 0..20_000 {
                eprintln!("{}", "noise ".repeat(100));
            }
        }
        "die" => std::process::exit(3),
        _ if mode.starts_with("once:") => std::process::exit(3),
        "end" => std::process::exit(0),
        "garbage" => {
            writeln!(out, "Exception in thread \"main\"").expect("the replayer reads");
            return false;
        }
        "bytes" => {
            out.write_all(b"\xff\xfe\n").expect("the replayer reads");
            return false;
        }
        "endless" => loop {
            // The replayer stops reading when it has enough, and kills this.
            if out.write_all(&[b'x'; 1 << 12]).is_err() {
                wait_for_ever();
            }
        },
        "both" => {
            say(json!({ "trace": trace, "at": at, "ok": {}, "error": "STALE_MEMBER_EPOCH" }));
            return false;
        }
        "wrong-step" => {
            say(json!({ "trace": trace, "at": [99], "ok": {} }));
            return false;
        }
        "wrong-trace" => {
            say(json!({ "trace": "fencing/other", "at": at, "ok": {} }));
            return false;
        }
        "broken" => {
            say(json!({ "trace": trace, "at": at, "broken": "out of cheese" }));
            return false;
        }
        _ => {
            if let Some(id_file) = mode.strip_prefix("parent:") {
                start_grandchild(std::path::Path::new(id_file));
                std::process::exit(3);
            }
            if let Some(directory) = mode.strip_prefix("waits:") {
                let directory = std::path::Path::new(directory);
                std::fs::write(directory.join("driver"), std::process::id().to_string()).expect("it is there");
                start_grandchild(&directory.join("grandchild"));
                std::fs::write(directory.join("waiting"), "").expect("it is there");
                wait_for_ever();
            }
        }
    }
    true
}

fn start_grandchild(id_file: &std::path::Path) {
    let mut child = Command::new("sleep").arg("1000").spawn().expect("there is a sleep");
    std::fs::write(id_file, child.id().to_string()).expect("the directory is there");
    // Waited for by a thread that this program does not outlive: it is to be killed with its parent.
    std::thread::spawn(move || child.wait());
}

fn wait_for_ever() -> ! {
    loop {
        std::thread::park();
    }
}

/// The reference's answer to a command; none to bye.
fn answer(target: &mut ReferenceTarget, command: &Value) -> Option<Value> {
    let trace = command["trace"].as_str().map(|id| id.parse::<TraceId>().expect("an id"));
    match (command["cmd"].as_str(), trace) {
        (Some("hello"), _) => {
            let mut hello = Target::<Fencing>::hello(target).expect("the reference is never broken");
            hello.variants = Vec::new();
            // As the baseline, which is what the reference is where it is not set to a variant.
            hello.kinds =
                BTreeSet::from([fencepost_conformance::target::Kind::Wire, fencepost_conformance::target::Kind::State]);
            Some(json!({ "hello": hello }))
        }
        (Some("reset"), Some(trace)) => {
            let configure: Configure = serde_json::from_value(command["configure"].clone()).expect("a configuration");
            let ready = target.reset(&Reset {
                trace: &trace,
                configure: &configure,
                settings: Settings { variant: Some("kafka-4.3"), ..Settings::default() },
            });
            Some(match ready.expect("the reference is never broken") {
                Ready::Ok(prepared) => json!({ "trace": trace, "ok": prepared }),
                Ready::Skipped(reason) => json!({ "trace": trace, "skipped": reason }),
            })
        }
        (Some("step"), Some(trace)) => {
            let at: Place = serde_json::from_value(command["at"].clone()).expect("a place");
            let operation: Option<Operation> =
                command.get("do").map(|operation| serde_json::from_value(operation.clone()).expect("an operation"));
            let action = operation.as_ref().map_or(Action::Observe, Action::Operation);
            let observe = command["observe"] == true;
            let input = Input { trace: &trace, at, broker: None, action, message: None, observe };
            let reply = target.step(&input).expect("the reference is never broken");
            let mut rest = json!({});
            if let Some(state) = &reply.state {
                rest["state"] = json!(state);
            }
            if !reply.completes.is_empty() {
                rest["completes"] = json!(reply.completes);
            }
            match reply.answered {
                Answered::Error(error) => {
                    rest["trace"] = json!(trace);
                    rest["at"] = json!(at);
                    rest["error"] = json!(error);
                    Some(rest)
                }
                Answered::Skipped(reason) => Some(json!({ "trace": trace, "at": at, "skipped": reason })),
                Answered::Nothing => Some(json!({ "trace": trace, "at": at, "ok": rest })),
                Answered::Answer(answer) => {
                    rest["answer"] = json!(answer);
                    Some(json!({ "trace": trace, "at": at, "ok": rest }))
                }
            }
        }
        _ => None,
    }
}
