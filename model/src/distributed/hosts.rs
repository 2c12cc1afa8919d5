//! The hosts file: where each process is, one a line, in the order of their numbers.
//!
//! ```text
//! # where the others reach it     where it binds, if that differs
//! 10.0.0.1:2101
//! 10.0.0.2:2101                   0.0.0.0:2101
//! ```
//!
//! Every machine has the same file: it is compared when the processes meet.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// One process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Where the others reach it.
    pub address: String,
    /// Where it binds.
    pub bind: String,
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.address)
    }
}

/// Why a hosts file is none.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// The file could not be read.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line is wrong.
    #[error("{}:{line}: {message}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// There is no such process.
    #[error("{} names {hosts} processes, numbered from 0; there is no process {process}", path.display())]
    Process {
        /// The file.
        path: PathBuf,
        /// How many it names.
        hosts: usize,
        /// The process.
        process: usize,
    },
}

/// Reads a hosts file, for the process with this number.
pub fn read(path: &Path, process: usize) -> Result<Vec<Host>, HostsError> {
    let text = std::fs::read_to_string(path).map_err(|source| HostsError::File { path: path.to_owned(), source })?;
    let hosts = parse(&text).map_err(|(line, message)| HostsError::Line { path: path.to_owned(), line, message })?;
    if process >= hosts.len() {
        return Err(HostsError::Process { path: path.to_owned(), hosts: hosts.len(), process });
    }
    Ok(hosts)
}

fn parse(text: &str) -> Result<Vec<Host>, (usize, String)> {
    let mut hosts: Vec<Host> = Vec::new();
    let mut addresses = BTreeSet::new();
    for (number, line) in text.lines().enumerate() {
        let wrong = |message: String| (number + 1, message);
        let line = line.split('#').next().unwrap_or_default();
        let words: Vec<&str> = line.split_whitespace().collect();
        let (address, bind) = match words.as_slice() {
            [] => continue,
            [address] => (address, address),
            [address, bind] => (address, bind),
            _ => return Err(wrong("a line has HOST:PORT, and where to bind if that differs".to_owned())),
        };
        for word in [address, bind] {
            let port =
                word.rsplit_once(':').and_then(|(host, port)| port.parse::<u16>().ok().filter(|_| !host.is_empty()));
            if port.is_none_or(|port| port == 0) {
                return Err(wrong(format!("`{word}` is not HOST:PORT")));
            }
        }
        if !addresses.insert((*address).to_owned()) {
            return Err(wrong(format!("{address} stands there twice")));
        }
        hosts.push(Host { address: (*address).to_owned(), bind: (*bind).to_owned() });
    }
    if hosts.is_empty() { Err((1, "it names no process".to_owned())) } else { Ok(hosts) }
}

/// The socket addresses of `HOST:PORT`.
pub(super) fn resolve(address: &str) -> Result<Vec<SocketAddr>, String> {
    let found: Vec<SocketAddr> = address.to_socket_addrs().map_err(|error| format!("{address}: {error}"))?.collect();
    if found.is_empty() { Err(format!("{address} has no address")) } else { Ok(found) }
}

/// Whether only this machine, or its own network, reaches an address.
#[must_use]
pub fn is_private(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => {
            let private = v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local();
            v6.to_ipv4_mapped().map_or(private, |v4| is_private(&IpAddr::V4(v4)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_process_in_order() {
        let hosts = parse("# three\n10.0.0.1:2101\n\nb:2101  0.0.0.0:2101 # behind a router\n[::1]:7\n").unwrap();
        let shown: Vec<_> = hosts.iter().map(|host| (host.address.as_str(), host.bind.as_str())).collect();
        assert_eq!(shown, [("10.0.0.1:2101", "10.0.0.1:2101"), ("b:2101", "0.0.0.0:2101"), ("[::1]:7", "[::1]:7")]);
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, line) in
            [("a:1\nb\n", 2), ("a:1\n\na:1\n", 3), ("a:70000", 1), ("a:0", 1), (":5", 1), ("", 1), ("a:1 b:2 c:3", 1)]
        {
            assert_eq!(parse(text).unwrap_err().0, line, "{text}");
        }
    }

    /// RFC 1918, RFC 4193, RFC 3927 and RFC 4291 say which addresses are private, link-local or loopback.
    #[test]
    fn a_public_address_is_none_of_the_private_ones() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.7.7",
            "169.254.0.1",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:10.0.0.1",
        ] {
            assert!(is_private(&private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "172.32.0.1", "0.0.0.0", "::", "2001:db8::1", "::ffff:8.8.8.8"] {
            assert!(!is_private(&public.parse().unwrap()), "{public}");
        }
    }
}
