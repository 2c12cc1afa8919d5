//! What is refused at the start.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::children::{Ended, Role, hosts_file};

const LIMIT: Duration = Duration::from_secs(40);

fn assert_refused(ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains(why), "{why}: {ended:?}");
}

/// The two differ in something; each names the other.
fn refused(change: impl Fn(&mut Role), why: [&str; 2]) {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let mut other = Role::new(&hosts, 1);
    change(&mut other);
    let running = [Role::new(&hosts, 0).start(), other.start()];
    for (process, running) in running.into_iter().enumerate() {
        let peer = 1 - process;
        let ended = running.ended_within(LIMIT);
        assert_refused(&ended, &format!("process {peer} (127.0.0.1:{}) {}", ports[peer], why[process]));
    }
}

#[test]
fn another_model_is_refused() {
    let why = "has another model of the same configurations";
    refused(|other| other.models = 2, [why, why]);
}

#[test]
fn another_number_of_workers_is_refused() {
    refused(|other| other.workers = 3, ["has --workers 3, this one 2", "has --workers 2, this one 3"]);
}

#[test]
fn another_hosts_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let other = directory.path().join("other");
    // The same first process, and a second one with another name.
    std::fs::write(&other, format!("127.0.0.1:{}\nlocalhost:{}\n", ports[0], ports[1])).expect("written");
    let running = [Role::new(&hosts, 0).start(), Role::new(&other, 1).start()];
    for running in running {
        assert_refused(&running.ended_within(LIMIT), "has another hosts file");
    }
}

#[test]
fn another_version_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let running = Role::new(&hosts, 0).start();
    let start = Instant::now();
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", ports[0])) {
            Ok(stream) => break stream,
            Err(error) => assert!(start.elapsed() < LIMIT, "{error}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // The magic, the version with its length, and a hello that only that version understands.
    let hello = [&b"fencpost"[..], &5_u32.to_le_bytes(), b"9.9.9", &3_u32.to_le_bytes(), b"new"].concat();
    stream.write_all(&hello).expect("said");
    let ended = running.ended_within(LIMIT);
    assert_refused(&ended, "is version 9.9.9, this one is");
    // The other side hears which version it met.
    let mut heard = Vec::new();
    let _ = stream.read_to_end(&mut heard);
    assert!(heard.starts_with(b"fencpost"), "{heard:?}");
}

#[test]
fn a_stranger_is_ignored() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let first = Role::new(&hosts, 0).start();
    let start = Instant::now();
    while let Err(error) =
        TcpStream::connect(("127.0.0.1", ports[0])).and_then(|mut stream| stream.write_all(b"GET / HTTP/1.1\r\n\r\n"))
    {
        assert!(start.elapsed() < LIMIT, "{error}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let second = Role::new(&hosts, 1).start();
    for running in [first, second] {
        let ended = running.ended_within(LIMIT);
        assert_eq!(ended.code, Some(0), "{ended:?}");
    }
}

#[test]
fn a_port_in_use_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let _taken = std::net::TcpListener::bind(("127.0.0.1", ports[0])).expect("bound");
    let ended = Role::new(&hosts, 0).start().ended_within(LIMIT);
    assert_refused(&ended, &format!("can't bind 127.0.0.1:{}", ports[0]));
}

#[test]
fn a_process_that_does_not_come_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let (hosts, ports) = hosts_file(directory.path(), 2);
    let ended = Role { wait: 1, ..Role::new(&hosts, 0) }.start().ended_within(LIMIT);
    assert_refused(&ended, &format!("process 1 (127.0.0.1:{}) did not come within 1 s", ports[1]));
}
