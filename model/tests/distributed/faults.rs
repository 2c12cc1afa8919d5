//! Whatever ends one process ends every other one within ten seconds, with an error that names it, and without a verdict.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::children::{Ended, Role, Running, hosts_file, ports};

const LIMIT: Duration = Duration::from_secs(10);
/// Until all processes are in the middle of the run; a machine that does other things as well is slow to start them.
const UNDER_WAY: Duration = Duration::from_secs(4);

/// Starts a process for each of the roles, and waits until they are at it.
fn under_way(roles: &[Role]) -> Vec<Running> {
    let running = roles.iter().map(Role::start).collect();
    std::thread::sleep(UNDER_WAY);
    running
}

fn assert_ended_by(ended: &Ended, cause: &str) {
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains(cause), "{cause}: {ended:?}");
    assert!(!ended.stdout.contains("found"), "a verdict: {ended:?}");
}

#[test]
fn two_processes_find_what_one_does() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, _) = hosts_file(directory.path(), 2);
    let running: Vec<_> = (0..2).map(|process| Role::new(&hosts, process).start()).collect();
    let several: Vec<_> = running.into_iter().map(|running| running.ended_within(6 * LIMIT)).collect();
    let (single, _) = hosts_file(directory.path(), 1);
    let one = Role { workers: 1, ..Role::new(&single, 0) }.start().ended_within(6 * LIMIT);
    let found = |ended: &Ended| ended.stdout.lines().find(|line| line.starts_with("found")).map(str::to_owned);
    assert!(found(&one).is_some_and(|found| found.starts_with("found 625 ")), "{one:?}");
    for ended in &several {
        assert_eq!((ended.code, found(ended)), (Some(0), found(&one)), "{ended:?}");
    }
}

#[test]
fn a_process_that_dies_ends_the_others() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 3);
    let roles: Vec<_> = (0..3).map(|process| Role { workers: 1, ..Role::long(&hosts, process) }).collect();
    let mut running = under_way(&roles);
    drop(running.remove(1));
    for left in running {
        let ended = left.ended_within(LIMIT);
        assert_ended_by(&ended, &format!("process 1 (127.0.0.1:{})", ports[1]));
    }
}

#[test]
fn a_process_that_falls_silent_ends_the_others() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let mut running = under_way(&[Role::long(&hosts, 0), Role::long(&hosts, 1)]);
    running[1].signal("STOP");
    let ended = running.remove(0).ended_within(LIMIT);
    assert_ended_by(&ended, &format!("process 1 (127.0.0.1:{}) has said nothing", ports[1]));
}

#[test]
fn a_panic_in_one_worker_of_several_ends_all_processes() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    // The second process alone panics, and of its workers the one that owns the first state of this sum.
    let panics = Role { panics_at: Some(9), ..Role::new(&hosts, 1) };
    let running = [Role::new(&hosts, 0).start(), panics.start()];
    for ended in running.map(|running| running.ended_within(3 * LIMIT)) {
        assert_ended_by(&ended, &format!("of process 1 (127.0.0.1:{}) panicked", ports[1]));
    }
}

#[test]
fn a_panic_in_one_worker_of_one_process_does_not_hang() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, _) = hosts_file(directory.path(), 1);
    let role = Role { workers: 4, panics_at: Some(9), ..Role::new(&hosts, 0) };
    assert_ended_by(&role.start().ended_within(3 * LIMIT), "the puzzle was told to panic");
}

/// A machine between two others that can be taken away: it passes on what it gets.
fn wire(from: u16, to: u16) -> Arc<Mutex<Vec<TcpStream>>> {
    let listener = TcpListener::bind(("127.0.0.1", from)).expect("bound");
    let streams = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&streams);
    let pass = |mut from: TcpStream, mut to: TcpStream| {
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read) = from.read(&mut buffer)
                && read > 0
                && to.write_all(&buffer[..read]).is_ok()
            {}
            let _ = to.shutdown(Shutdown::Both);
        });
    };
    std::thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let Ok(far) = TcpStream::connect(("127.0.0.1", to)) else { continue };
            let clone = |stream: &TcpStream| stream.try_clone().expect("a handle");
            kept.lock().expect("not poisoned").extend([clone(&near), clone(&far)]);
            pass(clone(&near), clone(&far));
            pass(far, near);
        }
    });
    streams
}

#[test]
fn a_lost_connection_ends_both_sides_whichever_of_the_two_it_is() {
    for lost in [0, 1] {
        let directory = tempfile::tempdir().expect("a directory");
        let ports = ports(3);
        let hosts = directory.path().join("hosts");
        // The others reach the first process through the wire.
        let text = format!("127.0.0.1:{} 127.0.0.1:{}\n127.0.0.1:{}\n", ports[0], ports[1], ports[2]);
        std::fs::write(&hosts, text).expect("written");
        let streams = wire(ports[0], ports[1]);
        let running = under_way(&[Role::long(&hosts, 0), Role::long(&hosts, 1)]);
        // Attempts that came too early left streams behind; two pairs are alive, those of the two connections.
        let streams = streams.lock().expect("not poisoned");
        let alive = |pair: &&[TcpStream]| pair.iter().all(|stream| stream.peer_addr().is_ok());
        let used: Vec<_> = streams.chunks(2).filter(alive).collect();
        assert_eq!(used.len(), 2, "both connections are there");
        for stream in used[lost] {
            stream.shutdown(Shutdown::Both).expect("shut");
        }
        let start = Instant::now();
        for (process, running) in running.into_iter().enumerate() {
            let ended = running.ended_within(LIMIT.saturating_sub(start.elapsed()));
            assert_eq!(ended.code, Some(4), "{process}: {ended:?}");
            assert!(ended.stderr.contains("the connection to process"), "{ended:?}");
        }
    }
}

#[test]
fn ctrl_c_on_any_one_ends_all() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, _) = hosts_file(directory.path(), 2);
    let running: Vec<_> = (0..2)
        .map(|process| {
            Running::of(
                Command::new(env!("CARGO_BIN_EXE_fencepost-model"))
                    .args(["check", "fencing/assignment-epoch-owned/three-targets", "--process", &process.to_string()])
                    .arg("--hosts")
                    .arg(&hosts),
            )
        })
        .collect();
    std::thread::sleep(UNDER_WAY);
    running[1].signal("INT");
    for running in running {
        let ended = running.ended_within(LIMIT);
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert!(ended.stdout.contains("CUT SHORT: INTERRUPTED"), "{ended:?}");
    }
}
