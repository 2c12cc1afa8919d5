//! A driver as a target: a child process that answers the four questions as JSON lines ([`crate::wire`]).
//!
//! Whatever a driver does wrong is a [`Fault`] with a sentence for whoever writes it. After a fault the driver is dead;
//! the runner starts another for the next trace.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use fencepost_fixtures::TraceId;
use fencepost_fixtures::compaction::Compaction;
use fencepost_fixtures::consumer::Consumer;
use fencepost_fixtures::fencing::Fencing;
use fencepost_fixtures::replication::Replication;
use fencepost_fixtures::trace::Vocabulary;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::implementation::{Implementation, Launcher};
use crate::process::{NoLine, Process};
use crate::target::{
    Action, Answered, Decision, Delivery, Fault, FaultKind, Hello, Input, PROTOCOL_VERSION, Place, Prepared, Question,
    Ready, Reply, Reset, Settings, Target,
};
use crate::wire::{AnswerLine, Command, Doing, HelloLine, MessageLine, Ok as OkAnswer};

/// How a driver is started, and how long it may take.
#[derive(Clone, Debug)]
pub struct DriverCommand {
    program: String,
    arguments: Vec<String>,
    start_limit: Duration,
    step_limit: Duration,
    cancelled: Arc<AtomicBool>,
}

impl DriverCommand {
    /// Splits a command line as a shell would, without anything else that a shell does. The error says what is wrong.
    pub fn parse(
        command: &str,
        start_limit: Duration,
        step_limit: Duration,
        cancelled: Arc<AtomicBool>,
    ) -> Result<Self, String> {
        let mut words = shlex::split(command)
            .ok_or_else(|| format!("the command `{command}` has a quote that is not closed"))?
            .into_iter();
        let program = words.next().ok_or("the command is empty; write the program and its arguments")?;
        Ok(Self { program, arguments: words.collect(), start_limit, step_limit, cancelled })
    }
}

impl Launcher for DriverCommand {
    fn launch(&self) -> Result<Box<dyn Implementation>, Fault> {
        Ok(Box::new(Driver::start(self.clone())?))
    }
}

/// A running driver.
#[derive(Debug)]
pub struct Driver {
    command: DriverCommand,
    process: Process,
    hello: Hello,
}

impl Driver {
    /// Starts the driver and says hello.
    pub fn start(command: DriverCommand) -> Result<Self, Fault> {
        let process = Process::start(&command.program, &command.arguments, Arc::clone(&command.cancelled));
        let mut process = process.map_err(|error| {
            let program = &command.program;
            Fault::new(FaultKind::NotStarted, format!("`{program}` could not be started: {error}"))
        })?;
        let asked: Command<'_, Fencing> = Command::Hello { protocol_version: PROTOCOL_VERSION };
        let line = exchange(&mut process, &asked, command.start_limit, "hello")?;
        let HelloLine { hello } = parse(&mut process, &line, "hello")?;
        if hello.protocol_version != PROTOCOL_VERSION {
            let message = format!(
                "the driver speaks version {} of the protocol, and this is {PROTOCOL_VERSION}",
                hello.protocol_version
            );
            return Err(ended(&mut process, FaultKind::Garbage, message));
        }
        Ok(Self { command, process, hello })
    }

    fn ask<V: Vocabulary>(
        &mut self,
        command: &Command<'_, V>,
        trace: &TraceId,
        at: Option<Place>,
    ) -> Result<AnswerLine<V>, Fault> {
        let what = at.map_or_else(|| "reset".to_owned(), |at| at.to_string());
        let line = exchange(&mut self.process, command, self.command.step_limit, &what)?;
        let answer: AnswerLine<V> = parse(&mut self.process, &line, &what)?;
        if answer.trace != trace.as_str() || answer.at != at {
            let place = answer.at.map_or_else(|| "reset".to_owned(), |at| at.to_string());
            let message = format!(
                "asked for {what} of {trace}, the driver answered {place} of {}; each command has exactly one answer, \
                 which repeats its `trace` and `at`",
                answer.trace
            );
            return Err(ended(&mut self.process, FaultKind::WrongStep, message));
        }
        if let Some(context) = answer.broken {
            return Err(ended(
                &mut self.process,
                FaultKind::Broken,
                format!("the driver says that it is broken: {context}"),
            ));
        }
        let results = [answer.ok.is_some(), answer.error.is_some(), answer.skipped.is_some()];
        if results.into_iter().filter(|present| *present).count() != 1 {
            let message =
                format!("the answer to {what} has none or several of `ok`, `error`, `skipped`: {}", cut(&line));
            return Err(ended(&mut self.process, FaultKind::Garbage, message));
        }
        Ok(answer)
    }

    fn garbage(&mut self, message: &str) -> Fault {
        ended(&mut self.process, FaultKind::Garbage, message.to_owned())
    }
}

fn cut(line: &str) -> String {
    const SHOWN: usize = 300;
    if line.chars().count() <= SHOWN { line.to_owned() } else { line.chars().take(SHOWN).collect::<String>() + "..." }
}

/// The driver is of no use any more: kills it and takes what it wrote to standard error.
fn ended(process: &mut Process, kind: FaultKind, message: String) -> Fault {
    Fault { kind, message, standard_error: process.kill() }
}

fn exchange(process: &mut Process, command: &impl Serialize, limit: Duration, what: &str) -> Result<String, Fault> {
    let line = serde_json::to_string(command).map_err(|error| Fault::broken(error.to_string()))?;
    process.write(line);
    let (kind, message) = match process.read(limit) {
        Ok(line) => return Ok(line),
        Err(NoLine::TimedOut) => {
            (FaultKind::TimedOut, format!("the driver did not answer {what} within {} s", limit.as_secs_f64()))
        }
        Err(NoLine::Ended(Some(status))) => {
            (FaultKind::Died, format!("the driver ended ({status}) instead of answering {what}"))
        }
        Err(NoLine::Ended(None)) => {
            (FaultKind::Died, format!("the driver closed its standard output instead of answering {what}"))
        }
        Err(NoLine::TooLong(bytes)) => (
            FaultKind::Garbage,
            format!("the driver's answer to {what} is longer than {bytes} B, without a line break"),
        ),
        Err(NoLine::NotText(shown)) => {
            (FaultKind::Garbage, format!("the driver's answer to {what} is not UTF-8: {shown}"))
        }
        Err(NoLine::Cancelled) => (FaultKind::Interrupted, format!("the run was interrupted at {what}")),
    };
    Err(ended(process, kind, message))
}

fn parse<T: DeserializeOwned>(process: &mut Process, line: &str, what: &str) -> Result<T, Fault> {
    serde_json::from_str(line).map_err(|error| {
        let message = format!("the driver's answer to {what} is not of the protocol: {error}: {}", cut(line));
        ended(process, FaultKind::Garbage, message)
    })
}

impl<V: Vocabulary> Target<V> for Driver {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(self.hello.clone())
    }

    fn reset(&mut self, reset: &Reset<'_, V>) -> Result<Ready, Fault> {
        let &Reset { trace, configure, settings: Settings { variant, slip, only } } = reset;
        let command: Command<'_, V> = Command::Reset { trace, configure, variant, slip, only };
        let answer = self.ask(&command, trace, None)?;
        match answer {
            AnswerLine { ok: Some(OkAnswer { first_epoch, unseen, .. }), .. } => {
                Ok(Ready::Ok(Prepared { first_epoch, unseen: unseen.into_iter().collect() }))
            }
            AnswerLine { skipped: Some(reason), .. } => Ok(Ready::Skipped(reason)),
            _ => Err(self.garbage("a reset has no error of the protocol: answer `ok`, `skipped` or `broken`")),
        }
    }

    fn step(&mut self, input: &Input<'_, V>) -> Result<Reply<V>, Fault> {
        let operation = match input.action {
            Action::Setup(operation) => Some(Doing::Setup(operation)),
            Action::Operation(operation) => Some(Doing::Operation(operation)),
            Action::Observe => None,
        };
        let command: Command<'_, V> = Command::Step {
            trace: input.trace,
            at: input.at,
            broker: input.broker,
            operation,
            message: input.message.as_ref().map(|&Delivery { from, label, reply_to, content }| MessageLine {
                from,
                label,
                reply_to,
                content,
            }),
            observe: Some(input.observe),
            given: None,
            call: None,
            variant: None,
        };
        let answer = self.ask(&command, input.trace, Some(input.at))?;
        Ok(match answer {
            AnswerLine { ok: Some(OkAnswer { answer, sends, completes, state, .. }), .. } => {
                let answered = answer.map_or(Answered::Nothing, Answered::Answer);
                Reply { answered, sends, completes, state }
            }
            AnswerLine { error: Some(error), completes, state, .. } => {
                Reply { completes, state, ..Reply::new(Answered::Error(error)) }
            }
            AnswerLine { skipped, .. } => Reply::new(Answered::Skipped(skipped.unwrap_or_default())),
        })
    }

    fn call(&mut self, question: &Question<'_, V>) -> Result<Decision<V>, Fault> {
        let at = Place::step(1);
        let command: Command<'_, V> = Command::Step {
            trace: question.trace,
            at,
            broker: None,
            operation: None,
            message: None,
            observe: None,
            given: Some(question.given),
            call: Some(question.call),
            variant: question.settings.variant,
        };
        let answer = self.ask(&command, question.trace, Some(at))?;
        match answer {
            AnswerLine { ok: Some(OkAnswer { outcome: Some(outcome), .. }), .. } => Ok(Decision::Outcome(outcome)),
            AnswerLine { ok: Some(_), .. } => Err(self.garbage("the answer to a call has no `outcome` in its `ok`")),
            AnswerLine { error: Some(error), .. } => Ok(Decision::Error(error)),
            AnswerLine { skipped, .. } => Ok(Decision::Skipped(skipped.unwrap_or_default())),
        }
    }

    fn bye(&mut self) -> Result<(), Fault> {
        let command: Command<'_, V> = Command::Bye {};
        if let Ok(line) = serde_json::to_string(&command) {
            self.process.write(line);
        }
        match self.process.end() {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                Err(ended(&mut self.process, FaultKind::Died, format!("the driver ended ({status}) at bye")))
            }
            None => Err(ended(&mut self.process, FaultKind::TimedOut, "the driver does not end at bye".to_owned())),
        }
    }
}

impl Implementation for Driver {
    fn hello(&mut self) -> Result<Hello, Fault> {
        Ok(self.hello.clone())
    }

    fn fencing(&mut self) -> Option<&mut dyn Target<Fencing>> {
        Some(self)
    }

    fn compaction(&mut self) -> Option<&mut dyn Target<Compaction>> {
        Some(self)
    }

    fn replication(&mut self) -> Option<&mut dyn Target<Replication>> {
        Some(self)
    }

    fn consumer(&mut self) -> Option<&mut dyn Target<Consumer>> {
        Some(self)
    }

    fn bye(&mut self) -> Result<(), Fault> {
        <Self as Target<Fencing>>::bye(self)
    }
}
