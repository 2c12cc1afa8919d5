//! How the processes of a run meet: two connections between any two of them, and a hello over each.
//!
//! One connection is for the dataflow, one for `link`. The process with the larger number connects. The
//! hello says who it is and what it is about to run; where two do not agree, both refuse before anything was computed.
//! `timely` would connect by itself, but it asks nothing, waits for ever, and panics at a stranger.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::fingerprint::Width;
use super::hosts::{Host, is_private, resolve};

/// What every connection begins with. It never changes, so that other versions can be told.
const MAGIC: &[u8; 8] = b"fencpost";
/// What the caller says last: that it has heard the answer.
const GO: &[u8; 2] = b"go";
/// The longest hello.
const LONGEST: usize = 4096;
/// How long one hello may take.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long to wait before another attempt.
const PAUSE: Duration = Duration::from_millis(50);

/// What all processes of a run have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Common {
    /// How many workers each process has.
    pub workers: usize,
    /// How many bits a fingerprint has.
    pub width: Width,
    /// The addresses of the hosts file.
    pub hosts: Vec<String>,
    /// A hash of the names of the configurations, in order.
    pub configurations: u64,
    /// A hash of what they mean: bounds, rules, first states.
    pub models: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Purpose {
    Data,
    Link,
}

#[derive(Debug, Serialize, Deserialize)]
struct Hello {
    process: usize,
    purpose: Purpose,
    common: Common,
}

/// Why a run did not start.
#[derive(Debug, thiserror::Error)]
pub enum MeetError {
    /// It can't be reached by others.
    #[error("can't bind {address}: {source}")]
    Bind {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// A name that is none.
    #[error("the hosts file names an address that is none: {0}")]
    Address(String),
    /// A peer is about to do something else.
    #[error("{peer} {difference}")]
    Differs {
        /// The peer, and where it is.
        peer: String,
        /// In what.
        difference: String,
    },
    /// A peer did not come.
    #[error("process {process} ({address}) did not come within {seconds} s: {why}")]
    Absent {
        /// The peer.
        process: usize,
        /// Where it is.
        address: String,
        /// How long it was waited for.
        seconds: u64,
        /// What the last attempt gave.
        why: String,
    },
    /// Ctrl-C, while waiting.
    #[error("interrupted while waiting for the other processes")]
    Interrupted,
}

/// The connections to one peer.
pub(super) struct Peer {
    pub process: usize,
    pub data: TcpStream,
    pub link: TcpStream,
}

/// A warning about where a process binds, if there is one to give.
pub(super) fn warning(host: &Host) -> Option<String> {
    let open = resolve(&host.bind).ok()?.into_iter().find(|address| !is_private(&address.ip()))?;
    Some(format!(
        "{open} is neither a loopback nor a private address; what the processes send each other is neither encrypted nor authenticated"
    ))
}

struct Meeting<'a> {
    hosts: &'a [Host],
    process: usize,
    common: &'a Common,
    version: &'a str,
    wait: Duration,
    interrupted: &'a dyn Fn() -> bool,
}

/// Connects this process with all others.
pub(super) fn meet(
    hosts: &[Host],
    process: usize,
    common: &Common,
    version: &str,
    wait: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Peer>, MeetError> {
    let bind = &hosts[process].bind;
    let addresses = resolve(bind).map_err(MeetError::Address)?;
    for host in hosts {
        resolve(&host.address).map_err(MeetError::Address)?;
    }
    let in_bind = |source| MeetError::Bind { address: bind.clone(), source };
    let listener = TcpListener::bind(addresses.as_slice()).map_err(in_bind)?;
    listener.set_nonblocking(true).map_err(in_bind)?;
    Meeting { hosts, process, common, version, wait, interrupted }.hold(&listener)
}

impl Meeting<'_> {
    fn hold(&self, listener: &TcpListener) -> Result<Vec<Peer>, MeetError> {
        let until = Instant::now() + self.wait;
        let mut data: Vec<Option<TcpStream>> = self.hosts.iter().map(|_| None).collect();
        let mut link: Vec<Option<TcpStream>> = self.hosts.iter().map(|_| None).collect();
        let mut why: Vec<String> = self.hosts.iter().map(|_| "no connection from it".to_owned()).collect();
        loop {
            // Those with smaller numbers are called.
            for peer in 0..self.process {
                for (purpose, streams) in [(Purpose::Data, &mut data), (Purpose::Link, &mut link)] {
                    if streams[peer].is_none() {
                        match self.call(peer, purpose)? {
                            Ok(stream) => streams[peer] = Some(stream),
                            Err(reason) => why[peer] = reason,
                        }
                    }
                }
            }
            // Those with larger numbers call. A connection that does not say what it should is a stranger's, and closed.
            while let Ok((stream, _)) = listener.accept() {
                if let Some((peer, purpose, stream)) = self.answer(stream)? {
                    let streams = if purpose == Purpose::Data { &mut data } else { &mut link };
                    streams[peer] = Some(stream);
                }
            }
            let missing = (0..self.hosts.len())
                .find(|peer| *peer != self.process && (data[*peer].is_none() || link[*peer].is_none()));
            let Some(missing) = missing else { break };
            if (self.interrupted)() {
                return Err(MeetError::Interrupted);
            }
            if Instant::now() >= until {
                return Err(MeetError::Absent {
                    process: missing,
                    address: self.hosts[missing].address.clone(),
                    seconds: self.wait.as_secs(),
                    why: std::mem::take(&mut why[missing]),
                });
            }
            std::thread::sleep(PAUSE);
        }
        let peers = data.into_iter().zip(link).enumerate();
        Ok(peers.filter_map(|(process, (data, link))| Some(Peer { process, data: data?, link: link? })).collect())
    }

    /// Calls a peer. The inner error is one that may pass.
    fn call(&self, peer: usize, purpose: Purpose) -> Result<Result<TcpStream, String>, MeetError> {
        let addresses = resolve(&self.hosts[peer].address).map_err(MeetError::Address)?;
        let mut why = String::new();
        for address in addresses {
            let connected = TcpStream::connect_timeout(&address, PATIENCE).and_then(|mut stream| {
                prepare(&stream)?;
                self.say(&mut stream, purpose)?;
                Ok((hear(&mut stream)?, stream))
            });
            match connected {
                Ok((heard, stream)) => {
                    let hello = self.judge(heard, Some(peer))?;
                    if hello.is_some_and(|hello| hello.process == peer && hello.purpose == purpose) {
                        let mut stream = stream;
                        return Ok(stream.write_all(GO).map(|()| stream).map_err(|error| error.to_string()));
                    }
                    return Err(self.differs(peer, "says that it is another one; do the hosts files agree?".to_owned()));
                }
                Err(error) => why = error.to_string(),
            }
        }
        Ok(Err(why))
    }

    /// Answers a call; `None` for a stranger.
    fn answer(&self, mut stream: TcpStream) -> Result<Option<(usize, Purpose, TcpStream)>, MeetError> {
        let heard = stream.set_nonblocking(false).and_then(|()| prepare(&stream)).and_then(|()| hear(&mut stream));
        let Ok(heard) = heard else { return Ok(None) };
        // The other side has to hear why it is refused.
        let purpose = match &heard {
            Heard::Hello { hello, .. } => hello.purpose,
            Heard::OtherVersion(_) => Purpose::Link,
        };
        if self.say(&mut stream, purpose).is_err() {
            return Ok(None);
        }
        let Some(hello) = self.judge(heard, None)? else { return Ok(None) };
        // A caller that has lost its patience meanwhile has called again, and this connection is dead.
        let mut go = [0; GO.len()];
        if stream.read_exact(&mut go).is_err() || &go != GO {
            return Ok(None);
        }
        let known = hello.process > self.process && hello.process < self.hosts.len();
        Ok(known.then_some((hello.process, hello.purpose, stream)))
    }

    fn say(&self, stream: &mut TcpStream, purpose: Purpose) -> io::Result<()> {
        let hello = Hello { process: self.process, purpose, common: self.common.clone() };
        let mut bytes = MAGIC.to_vec();
        let mut put = |part: &[u8]| {
            bytes.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_le_bytes());
            bytes.extend_from_slice(part);
        };
        put(self.version.as_bytes());
        put(&postcard::to_stdvec(&hello).map_err(io::Error::other)?);
        stream.write_all(&bytes)
    }

    fn differs(&self, process: usize, difference: String) -> MeetError {
        let peer = match self.hosts.get(process) {
            Some(host) => format!("process {process} ({host})"),
            None => "a process that is not in the hosts file".to_owned(),
        };
        MeetError::Differs { peer, difference }
    }

    /// Whether what a peer says is what this process would say.
    fn judge(&self, heard: Heard, called: Option<usize>) -> Result<Option<Hello>, MeetError> {
        let (version, hello) = match heard {
            Heard::Hello { version, hello } => (version, Some(hello)),
            Heard::OtherVersion(version) => (version, None),
        };
        let process = called.or(hello.as_ref().map(|hello| hello.process)).unwrap_or(usize::MAX);
        if version != self.version || hello.is_none() {
            let difference = format!("is version {version}, this one is {}", self.version);
            return Err(self.differs(process, difference));
        }
        let Some(hello) = hello else { return Ok(None) };
        let (theirs, ours) = (&hello.common, self.common);
        let difference = if theirs.hosts != ours.hosts {
            "has another hosts file".to_owned()
        } else if theirs.workers != ours.workers {
            format!("has --workers {}, this one {}", theirs.workers, ours.workers)
        } else if theirs.width != ours.width {
            "differs in --exact".to_owned()
        } else if theirs.configurations != ours.configurations {
            "is about to run other configurations".to_owned()
        } else if theirs.models != ours.models {
            "has another model of the same configurations".to_owned()
        } else {
            return Ok(Some(hello));
        };
        Err(self.differs(process, difference))
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))
}

enum Heard {
    Hello { version: String, hello: Hello },
    OtherVersion(String),
}

fn hear(stream: &mut TcpStream) -> io::Result<Heard> {
    let mut magic = [0; 8];
    stream.read_exact(&mut magic)?;
    if &magic != MAGIC {
        return Err(io::Error::other("it is not fencepost-model"));
    }
    let mut part = || -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        stream.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(io::Error::other("its hello is too long"));
        }
        let mut bytes = vec![0; length];
        stream.read_exact(&mut bytes)?;
        Ok(bytes)
    };
    let version = String::from_utf8_lossy(&part()?).into_owned();
    // Another version may say something else; that is told by the version.
    Ok(match postcard::from_bytes(&part()?) {
        Ok(hello) => Heard::Hello { version, hello },
        Err(_) => Heard::OtherVersion(version),
    })
}
