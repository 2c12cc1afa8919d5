//! Processes for the tests: this test program again, told what to do by its environment.

use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use fencepost_model::distributed::fingerprint::Width;
use fencepost_model::distributed::hosts;
use fencepost_model::distributed::team::{Team, TeamError, run};
use fencepost_model::limits::Limits;

use crate::equal::{Unseen, common, task};
use crate::puzzle::Puzzle;

/// Ports that are free now.
pub(crate) fn ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    listeners.iter().map(|listener| listener.local_addr().expect("an address").port()).collect()
}

/// A hosts file of processes on this machine.
pub(crate) fn hosts_file(directory: &Path, processes: usize) -> (PathBuf, Vec<u16>) {
    let ports = ports(processes);
    let text: Vec<_> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let path = directory.join("hosts");
    std::fs::write(&path, text.join("\n")).expect("written");
    (path, ports)
}

/// What a process is to do.
#[derive(Clone, Debug)]
pub(crate) struct Role {
    pub(crate) hosts: PathBuf,
    pub(crate) process: usize,
    pub(crate) workers: usize,
    pub(crate) top: u8,
    pub(crate) pause_ms: u64,
    pub(crate) panics_at: Option<u32>,
    pub(crate) models: u64,
    pub(crate) wait: u64,
}

impl Role {
    pub(crate) fn new(hosts: &Path, process: usize) -> Self {
        Self { hosts: hosts.to_owned(), process, workers: 2, top: 4, pause_ms: 0, panics_at: None, models: 1, wait: 20 }
    }

    /// One that goes on for minutes if it is let.
    pub(crate) fn long(hosts: &Path, process: usize) -> Self {
        Self { top: 15, pause_ms: 5, ..Self::new(hosts, process) }
    }

    pub(crate) fn start(&self) -> Running {
        let panics = self.panics_at.map(|sum| sum.to_string()).unwrap_or_default();
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        Running::of(
            command
                .args(["--ignored", "--exact", "children::child", "--nocapture", "--test-threads=1"])
                .env("CHILD_HOSTS", &self.hosts)
                .env("CHILD_PROCESS", self.process.to_string())
                .env("CHILD_WORKERS", self.workers.to_string())
                .env("CHILD_TOP", self.top.to_string())
                .env("CHILD_PAUSE", self.pause_ms.to_string())
                .env("CHILD_PANICS", panics)
                .env("CHILD_MODELS", self.models.to_string())
                .env("CHILD_WAIT", self.wait.to_string()),
        )
    }
}

/// A process that runs.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Running {
    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        // Read as it is written: a process whose pipe is full waits.
        let stdout = read(child.stdout.take().expect("piped"));
        let stderr = read(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    /// Waits for its end; one that does not come is a failure.
    pub(crate) fn ended_within(mut self, limit: Duration) -> Ended {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("waited") {
                let stdout = self.stdout.recv().expect("read");
                let stderr = self.stderr.recv().expect("read");
                return Ended { code: status.code(), stdout, stderr };
            }
            assert!(start.elapsed() < limit, "it does not end");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn signal(&self, name: &str) {
        let killed = Command::new("kill").args([format!("-{name}"), self.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
    }
}

fn read(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (tell, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        pipe.read_to_string(&mut text).expect("read");
        // Nobody asks for what a process said that was killed.
        let _ = tell.send(text);
    });
    text
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has ended, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn told<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[ignore = "not a test: what the tests start as a process of its own"]
fn child() {
    let file: PathBuf = told("CHILD_HOSTS").expect("started by a test");
    let process = told("CHILD_PROCESS").expect("a number");
    let hosts = hosts::read(&file, process).expect("a hosts file");
    let wait = Duration::from_secs(told("CHILD_WAIT").expect("seconds"));
    let team = Team { workers: told("CHILD_WORKERS").expect("a number"), hosts, process, wait };
    let model = Puzzle {
        top: told("CHILD_TOP").expect("a number"),
        pause: Duration::from_millis(told("CHILD_PAUSE").expect("a number")),
        panics_at: told("CHILD_PANICS"),
    };
    let common =
        fencepost_model::distributed::meet::Common { models: told("CHILD_MODELS").expect("a number"), ..common(&team) };
    println!("begins");
    let code = match run(&team, vec![task(model, Width::Short)], &common, &Limits::default(), &Unseen) {
        Ok(ran) => {
            let explored = &ran.done[0].explored;
            println!("\nfound {} {} {:?}", explored.unique(), explored.generated(), explored.first);
            i32::from(ran.cut.is_some()) * 4
        }
        Err(error) => {
            eprintln!("\nerror: {error}");
            if matches!(error, TeamError::Fault(_)) { 4 } else { 2 }
        }
    };
    std::process::exit(code);
}
