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

/// The largest configuration that is run without optimisation, in states. With it, all are.
const LARGEST: u64 = if cfg!(debug_assertions) { 2_000 } else { u64::MAX };

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

/// What must not depend on who ran it: verdict, states, path.
fn outcome(report: &Report) -> Vec<(String, String, String, u64, u64, Option<String>)> {
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

#[test]
fn one_two_and_four_workers_give_the_matrix_and_the_same_paths() {
    let registry = Registry::shipped();
    for entry in &registry.protocols {
        let globs = smoke(&registry, entry.name);
        if globs.is_empty() {
            continue;
        }
        let one = outcome(&report(&registry, &globs, 1));
        assert!(!one.is_empty(), "{} has verdicts", entry.name);
        for workers in [2, 4] {
            assert_eq!(outcome(&report(&registry, &globs, workers)), one, "{} on {workers} workers", entry.name);
        }
    }
}

#[test]
fn two_processes_give_the_matrix_and_the_same_paths() {
    let registry = Registry::shipped();
    for entry in &registry.protocols {
        let globs = smoke(&registry, entry.name);
        if globs.is_empty() {
            continue;
        }
        let directory = tempfile::tempdir().expect("a directory");
        let (hosts, _) = hosts_file(directory.path(), 2);
        let running: Vec<_> = (0..2)
            .map(|process: usize| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-model"));
                command.arg("check").args(&globs).arg("--hosts").arg(&hosts);
                command.args(["--process", &process.to_string()]).arg("--report");
                Running::of(command.arg(directory.path().join(format!("report-{process}"))))
            })
            .collect();
        let local = report(&registry, &globs, 1);
        let one = outcome(&local);
        for (process, running) in running.into_iter().enumerate() {
            let ended = running.ended_within(Duration::from_secs(600));
            assert_eq!(ended.code, Some(i32::from(local.exit_code())), "{ended:?}");
            let text = std::fs::read_to_string(directory.path().join(format!("report-{process}"))).expect("a report");
            let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            let verdicts = json["verdicts"].as_array().expect("verdicts");
            assert_eq!(verdicts.len(), one.len());
            for (verdict, (configuration, property, _, unique, generated, path)) in verdicts.iter().zip(&one) {
                assert_eq!(verdict["configuration"], configuration.as_str());
                assert_eq!(verdict["property"], property.as_str());
                assert_eq!(verdict["as_expected"], true, "{verdict}");
                assert_eq!(
                    (verdict["unique"].as_u64(), verdict["generated"].as_u64()),
                    (Some(*unique), Some(*generated))
                );
                assert_eq!(verdict["path"].as_str().map(str::to_owned), *path);
            }
        }
    }
}
