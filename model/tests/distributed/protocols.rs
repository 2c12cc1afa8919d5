//! Every protocol's smoke configurations: the matrix's counts and lengths, and the same traces, for 1, 2 and 4 workers and
//! for 2 processes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use fencepost_model::check::progress::Nothing;
use fencepost_model::check::spread::Spread;
use fencepost_model::check::verdict::Report;
use fencepost_model::check::{Options, check};
use fencepost_model::distributed::fingerprint::Width;
use fencepost_model::distributed::team::Team;
use fencepost_model::limits::Limits;
use fencepost_model::matrix::Matrix;
use fencepost_model::protocol::Tier;
use fencepost_model::registry::Registry;

use crate::children::{Running, hosts_file};

/// The largest configuration that is run without optimisation, in states: `cargo test` is to end in minutes. With
/// optimisation, as `.ci/run spread` runs it, all are.
const LARGEST: u64 = if cfg!(debug_assertions) { 5_000 } else { u64::MAX };
/// How long two processes may take for a protocol.
const LIMIT: Duration = Duration::from_secs(900);

fn matrix() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix")
}

fn smoke(registry: &Registry, protocol: &str) -> Vec<String> {
    let entry = registry.protocols.iter().find(|entry| entry.name == protocol).expect("a protocol");
    let matrix = Matrix::read(&matrix(), protocol).expect("a matrix");
    let small = |name: &str| matrix.row(name).is_some_and(|row| row.unique <= LARGEST);
    let smoke = entry.subjects.iter().filter(|subject| subject.tier() == Tier::Smoke && small(subject.name()));
    smoke.map(|subject| subject.name().to_owned()).collect()
}

fn report(registry: &Registry, globs: &[String], workers: usize) -> Report {
    let options = Options {
        globs: globs.to_vec(),
        all: false,
        threads: 1,
        bless: false,
        matrix: matrix(),
        limits: Limits::default(),
        spread: Some(Spread { team: Team::local(workers), width: Width::Short }),
    };
    check(registry, &options, &Nothing).expect("checked")
}

/// What must not depend on who ran it: configuration, property, verdict, states, path.
type Outcome = (String, String, String, u64, u64, Option<String>);

fn outcome(report: &Report) -> Vec<Outcome> {
    let verdicts = report.verdicts.iter().map(|verdict| {
        assert!(verdict.as_expected, "{verdict:?}");
        let found = verdict.found.to_string();
        (
            verdict.configuration.clone(),
            verdict.property.clone(),
            found,
            verdict.unique,
            verdict.generated,
            verdict.path.clone(),
        )
    });
    verdicts.collect()
}

fn assert_the_same_on(protocol: &str) {
    let registry = Registry::shipped();
    let globs = smoke(&registry, protocol);
    if globs.is_empty() {
        assert_ne!(LARGEST, u64::MAX, "{protocol} has smoke configurations");
        return;
    }
    let local = report(&registry, &globs, 1);
    let one = outcome(&local);
    assert!(one.len() >= globs.len(), "every configuration has verdicts");
    for workers in [2, 4] {
        assert_eq!(outcome(&report(&registry, &globs, workers)), one, "{protocol} on {workers} workers");
    }
    assert_two_processes(protocol, &globs, i32::from(local.exit_code()), &one);
}

fn assert_two_processes(protocol: &str, globs: &[String], code: i32, one: &[Outcome]) {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, _) = hosts_file(directory.path(), 2);
    let running: Vec<_> = (0..2)
        .map(|process: usize| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-model"));
            command.arg("check").args(globs).arg("--hosts").arg(&hosts);
            command.args(["--process", &process.to_string()]).arg("--report");
            Running::of(command.arg(directory.path().join(format!("report-{process}"))))
        })
        .collect();
    for (process, running) in running.into_iter().enumerate() {
        let ended = running.ended_within(LIMIT);
        assert_eq!(ended.code, Some(code), "{protocol}: {ended:?}");
        let text = std::fs::read_to_string(directory.path().join(format!("report-{process}"))).expect("a report");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let verdicts = json["verdicts"].as_array().expect("verdicts");
        assert_eq!(verdicts.len(), one.len());
        for (verdict, (configuration, property, _, unique, generated, path)) in verdicts.iter().zip(one) {
            assert_eq!(verdict["configuration"], configuration.as_str());
            assert_eq!(verdict["property"], property.as_str());
            assert_eq!(verdict["as_expected"], true, "{verdict}");
            assert_eq!((verdict["unique"].as_u64(), verdict["generated"].as_u64()), (Some(*unique), Some(*generated)));
            assert_eq!(verdict["path"].as_str().map(str::to_owned), *path);
        }
    }
}

#[test]
fn every_protocol_is_the_same_on_one_two_and_four_workers_and_on_two_processes() {
    let registry = Registry::shipped();
    // Side by side, so that a processor that waits in one of them works in another.
    std::thread::scope(|scope| {
        for entry in &registry.protocols {
            scope.spawn(|| assert_the_same_on(entry.name));
        }
    });
}
