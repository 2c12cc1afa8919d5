//! What the processes of a run tell each other beside the dataflow: that they live, how far they are, and why they end.
//!
//! `timely` notices a connection that is closed, by a panic, and nothing else: not a peer that hangs, nor a machine that
//! is gone without a word. So every process says something to every other one twice a second, and one that has said
//! nothing for [`SILENCE`] is lost.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use timely::communication::allocator::zero_copy::stream::Stream;

use crate::limits::{Cut, Progress};

/// How often a process says that it lives.
pub(super) const BEAT: Duration = Duration::from_millis(500);
/// How long a process may say nothing.
pub(super) const SILENCE: Duration = Duration::from_secs(6);
/// The longest that a process says at once.
const LONGEST: usize = u16::MAX as usize;

/// What a process says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Word {
    /// It lives, and is so far.
    Beat(Progress),
    /// A limit of its own, or Ctrl-C, ends the run.
    Cut(Cut),
    /// It found a fault, in itself or in another one.
    Fault(String),
    /// It is done.
    Bye,
}

/// What is heard of a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// A word.
    Word(Word),
    /// It has said nothing for too long.
    Silent,
    /// The connection is gone.
    Lost(String),
}

/// Says something to a peer.
pub(super) fn say(stream: &mut TcpStream, word: &Word) -> io::Result<()> {
    let mut bytes = postcard::to_stdvec(word).map_err(io::Error::other)?;
    // A long fault is told in part, which is better than not at all.
    if bytes.len() > LONGEST {
        bytes = postcard::to_stdvec(&Word::Fault("a fault too long to tell".to_owned())).map_err(io::Error::other)?;
    }
    let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_le_bytes();
    stream.write_all(&[&length, bytes.as_slice()].concat())
}

/// Listens to a peer until it is gone.
pub(super) fn listen(mut stream: TcpStream, tell: impl Fn(Heard)) {
    if let Err(error) = stream.set_read_timeout(Some(SILENCE)) {
        tell(Heard::Lost(error.to_string()));
        return;
    }
    loop {
        match hear(&mut stream) {
            Ok(word) => tell(Heard::Word(word)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                tell(Heard::Silent);
                return;
            }
            Err(error) => {
                tell(Heard::Lost(cause(&error)));
                return;
            }
        }
    }
}

fn cause(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::UnexpectedEof { "it closed the connection".to_owned() } else { error.to_string() }
}

fn hear(stream: &mut TcpStream) -> io::Result<Word> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut bytes = vec![0; usize::from(u16::from_le_bytes(length))];
    stream.read_exact(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

/// A connection of the dataflow. `timely` ends such a connection's thread by a panic when it is lost; on that way the
/// stream is dropped, and tells.
pub(super) struct Watched {
    stream: TcpStream,
    cause: Arc<Mutex<String>>,
    lost: Arc<dyn Fn(String) + Send + Sync>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, lost: Arc<dyn Fn(String) + Send + Sync>) -> Self {
        Self { stream, cause: Arc::default(), lost }
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            *self.cause.lock().unwrap_or_else(PoisonError::into_inner) = cause(error);
        }
        result
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let cause = self.cause.lock().unwrap_or_else(PoisonError::into_inner).clone();
            (self.lost)(if cause.is_empty() { "it closed the connection".to_owned() } else { cause });
        }
    }
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(buffer);
        self.note(read)
    }
}

impl Write for Watched {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.stream.write(buffer);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.stream.flush();
        self.note(flushed)
    }
}

impl Stream for Watched {
    fn try_clone(&self) -> io::Result<Self> {
        let stream = self.stream.try_clone()?;
        Ok(Self { stream, cause: Arc::clone(&self.cause), lost: Arc::clone(&self.lost) })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        // Those are of the meeting; a dataflow may be quiet for as long as a level takes.
        self.stream.set_read_timeout(None)?;
        self.stream.set_write_timeout(None)?;
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}
