//! A child process that answers lines with lines, held at arm's length.
//!
//! Nothing that the child does can hold up or fill the caller: its input is written and its two outputs are read by
//! threads of their own, a line has a limit, standard error is drained and only its end is kept, and every wait has a
//! deadline. The child leads a process group of its own, and dropping a [`Process`] kills that group and reaps it, so that
//! neither the child nor what it started is left behind, whatever ended the run.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{ChildWrapper, CommandWrap, ProcessGroup};

/// The longest line that a child may write, in bytes. The largest answers of the project's traces are a thousandth of it.
const LINE_LIMIT: usize = 4 << 20;
/// How much of standard error is kept, in bytes.
const STANDARD_ERROR_LIMIT: usize = 4 << 10;
/// How many unasked lines wait until the child is no longer read.
const UNREAD_LINES: usize = 16;
/// How often a wait looks whether the run was cancelled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(20);
/// How long a child that closed its output, or was told goodbye, has to end.
const END_LIMIT: Duration = Duration::from_secs(2);

/// A child process.
#[derive(Debug)]
pub struct Process {
    child: Box<dyn ChildWrapper>,
    input: Option<Sender<String>>,
    output: Receiver<Line>,
    standard_error: Arc<Mutex<Tail>>,
    standard_error_ended: Receiver<()>,
    cancelled: Arc<AtomicBool>,
}

#[derive(Debug)]
enum Line {
    Text(String),
    TooLong,
    NotText(String),
}

/// Why no line came.
#[derive(Debug)]
pub enum NoLine {
    /// The deadline passed.
    TimedOut,
    /// The child closed its output; with how it ended, if it did.
    Ended(Option<ExitStatus>),
    /// A line beyond the limit, with the limit in bytes.
    TooLong(usize),
    /// A line that is not UTF-8, with what can be shown of it.
    NotText(String),
    /// The run was cancelled.
    Cancelled,
}

impl Process {
    /// Starts `program` with `arguments`. `cancelled` ends every wait early.
    pub fn start(program: &str, arguments: &[String], cancelled: Arc<AtomicBool>) -> std::io::Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut command = CommandWrap::from(command);
        command.wrap(ProcessGroup::leader());
        let mut child = command.spawn()?;

        let (input, lines_in) = mpsc::channel::<String>();
        if let Some(mut stdin) = child.stdin().take() {
            // Ends when the sender is dropped, or the child no longer reads.
            thread::spawn(move || {
                for line in lines_in {
                    if stdin.write_all(line.as_bytes()).and_then(|()| stdin.flush()).is_err() {
                        break;
                    }
                }
            });
        }
        let (lines_out, output) = mpsc::sync_channel(UNREAD_LINES);
        if let Some(stdout) = child.stdout().take() {
            thread::spawn(move || read_lines(stdout, |line| lines_out.send(line).is_ok()));
        }
        let standard_error = Arc::new(Mutex::new(Tail::default()));
        let (ended, standard_error_ended) = mpsc::channel();
        if let Some(stderr) = child.stderr().take() {
            let tail = Arc::clone(&standard_error);
            thread::spawn(move || {
                drain(stderr, &tail);
                // Nobody may be waiting for it any more.
                let _ = ended.send(());
            });
        }
        Ok(Self { child, input: Some(input), output, standard_error, standard_error_ended, cancelled })
    }

    /// Writes a line, without waiting until it is read.
    pub fn write(&self, mut line: String) {
        line.push('\n');
        if let Some(input) = &self.input {
            // A child that no longer reads is found out when no answer comes.
            let _ = input.send(line);
        }
    }

    /// The next line of the child, at most `limit` from now.
    pub fn read(&mut self, limit: Duration) -> Result<String, NoLine> {
        let deadline = Instant::now() + limit;
        loop {
            if self.cancelled.load(Ordering::Relaxed) {
                return Err(NoLine::Cancelled);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.output.recv_timeout(left.min(CANCEL_INTERVAL)) {
                Ok(Line::Text(line)) => return Ok(line),
                Ok(Line::TooLong) => return Err(NoLine::TooLong(LINE_LIMIT)),
                Ok(Line::NotText(shown)) => return Err(NoLine::NotText(shown)),
                Err(RecvTimeoutError::Timeout) if left.is_zero() => return Err(NoLine::TimedOut),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(NoLine::Ended(self.end())),
            }
        }
    }

    /// Closes the child's input and waits until it ended: at most `END_LIMIT`.
    pub fn end(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let deadline = Instant::now() + END_LIMIT;
        while Instant::now() < deadline && !self.cancelled.load(Ordering::Relaxed) {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(1));
        }
        None
    }

    /// Kills the child and its group, and gives the end of what it wrote to standard error.
    pub fn kill(&mut self) -> String {
        self.input = None;
        // It may have ended already.
        let _ = self.child.start_kill();
        let _ = self.child.wait();
        // What was written before the end is in the pipe; a grandchild that keeps it open is not waited for.
        let _ = self.standard_error_ended.recv_timeout(Duration::from_millis(200));
        self.standard_error.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.input = None;
        let _ = self.child.start_kill();
        let _ = self.child.wait();
    }
}

fn read_lines(stdout: impl Read, mut give: impl FnMut(Line) -> bool) {
    let mut reader = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        // One byte more than the limit tells a line that is too long from one that just fits.
        match reader.by_ref().take(LINE_LIMIT as u64 + 1).read_until(b'\n', &mut line) {
            Err(_) | Ok(0) => return,
            Ok(_) if line.len() > LINE_LIMIT => {
                give(Line::TooLong);
                return;
            }
            Ok(_) => {}
        }
        let line = match String::from_utf8(line) {
            Ok(text) => Line::Text(text.trim_end_matches(['\n', '\r']).to_owned()),
            Err(error) => {
                let shown = String::from_utf8_lossy(error.as_bytes()).chars().take(200).collect();
                Line::NotText(shown)
            }
        };
        if !give(line) {
            return;
        }
    }
}

fn drain(mut stderr: impl Read, tail: &Mutex<Tail>) {
    let mut buffer = [0; 4096];
    while let Ok(count) = stderr.read(&mut buffer) {
        if count == 0 {
            return;
        }
        tail.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
    }
}

/// The last bytes of a stream.
#[derive(Debug, Default)]
struct Tail {
    bytes: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        if self.bytes.len() > STANDARD_ERROR_LIMIT {
            self.cut = true;
            self.bytes.drain(..self.bytes.len() - STANDARD_ERROR_LIMIT);
        }
    }

    fn text(&mut self) -> String {
        let text = String::from_utf8_lossy(self.bytes.make_contiguous()).trim_end().to_owned();
        if self.cut { format!("... {text}") } else { text }
    }
}
