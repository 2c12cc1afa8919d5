//! The command line: what can be said on it. Each command is a module.

// What stands here is read in a terminal, where Markdown is noise.
#![allow(clippy::doc_markdown)]

mod replay;
mod smoke;
mod traces;
mod verify_log;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use fencepost_fixtures::names::BrokerName;

use crate::exit::Exit;
use crate::show::Form;

/// Replays traces of Kafka's epoch protocols on an implementation, and says where it differs
///
/// A trace is what an implementation sees and must answer in one behaviour of a protocol. The
/// traces of the project are part of this program; nothing else is needed to begin:
///
///   fencepost-conformance replay                          the reference, which must pass
///   fencepost-conformance replay --target 'COMMAND ...'   your implementation, behind a driver
#[derive(Debug, Parser)]
#[command(name = "fencepost-conformance", version, max_term_width = 120, verbatim_doc_comment)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Replay(ReplayArgs),
    Smoke(SmokeArgs),
    List(ListArgs),
    Show(ShowArgs),
    VerifyLog(VerifyLogArgs),
    Completions(CompletionsArgs),
}

/// Check a new driver, in twelve steps from hello to a commit, each with what to do
///
///   fencepost-conformance smoke --target 'python3 driver.py'
///
/// The checks come in the order in which an author gets them right; docs/writing-a-driver.md
/// walks through them.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct SmokeArgs {
    #[command(flatten)]
    target: TargetArgs,
}

/// List traces with their titles
///
///   fencepost-conformance list                    all traces in this program
///   fencepost-conformance list --filter commit    those with `commit` in id or title
///   fencepost-conformance list --holds-for kafka-4.2
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ListArgs {
    /// Files, directories, patterns of paths, ids or patterns of ids, or `-` for standard input [default: the traces in
    /// this program]
    #[arg(value_name = "PATH|GLOB|ID|-")]
    traces: Vec<String>,
    /// Only those with this in id or title; `*` stands for any characters
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Only those that this variant meets
    #[arg(long, value_name = "VARIANT")]
    holds_for: Option<String>,
}

/// Show a trace as numbered steps, as a sequence diagram, or as it is written
///
///   fencepost-conformance show fencing/late-commit-after-second-revocation
///   fencepost-conformance show my-trace.yaml --format mermaid
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ShowArgs {
    /// A file, an id, or `-` for standard input
    #[arg(value_name = "FILE|ID")]
    trace: String,
    /// How it is shown
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Form,
}

/// Read a partition's directory of a Kafka broker, and tell what breaks the rules of compaction
///
/// Nothing is written. One pass over the segments finds batches that can't be read, checksums,
/// offsets that go back, markers that went before their data (S8), aborted records and entries of
/// the transaction index that do not fit together (S9, S11), and keys that are twice below the
/// cleaner's checkpoint (S13). It warns of index entries that the next round may take for a later
/// transaction's (N2). docs/compaction.md has the rules.
///
///   fencepost-conformance verify-log /var/lib/kafka/data/orders-0
///
/// Exit codes: 0 no rule is broken, 1 one is, 2 usage or a directory that can't be read, 4 cut short.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct VerifyLogArgs {
    /// The directory TOPIC-PARTITION; the checkpoints are read from the one above it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Also write what was found as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Print the completions for a shell
///
///   fencepost-conformance completions bash > /etc/bash_completion.d/fencepost-conformance
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct CompletionsArgs {
    /// The shell
    shell: clap_complete::Shell,
}

/// Replay traces on a target and compare what it answers, step by step
///
/// Each trace passes, fails at its first wrong step, or is inconclusive where the target can't
/// show what is decisive.
///
///   fencepost-conformance replay fixtures/written/fencing --variant kafka-4.3
///   fencepost-conformance replay --target 'java -jar driver.jar' --expect kafka-4.4.yaml --jobs 2
///   fencepost-model simulate CONFIG --seed 7 --count 1000 --depth 30 | fencepost-conformance replay -
///
/// Exit codes: 0 all as expected, 1 a trace is not, 2 usage or a broken trace or driver, 3 a stale
/// list of expected deviations, 4 cut short. Of several, the first of 2, 4, 3, 1 that applies.
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub struct ReplayArgs {
    /// Files, directories, patterns of paths, ids or patterns of ids, or `-` for standard input [default: the traces in
    /// this program]
    #[arg(value_name = "PATH|GLOB|ID|-")]
    traces: Vec<String>,
    #[command(flatten)]
    target: TargetArgs,
    /// The rules that a target is set to which has several, as the reference [default: for each trace the variant that it
    /// was recorded under]
    #[arg(long, value_name = "VARIANT")]
    variant: Option<String>,
    /// Drive this broker alone, in traces that have it; the others' messages are as the trace has them
    #[arg(long, value_name = "BROKER")]
    at: Option<BrokerName>,
    /// How many drivers run side by side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// A list of the target's expected deviations
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Rewrite the list of expected deviations to what was seen; reasons have to be written by hand
    #[arg(long, requires = "expect")]
    update_expect: bool,
    /// Which traces the target is held against
    #[arg(long, value_name = "WHICH")]
    hold_against: Option<HoldAgainst>,
    /// What is printed
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    format: Format,
    /// Also write the results as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the results as Markdown, for the summary of a CI run
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Also write the results as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// A line for each trace, also those that pass
    #[arg(long, short)]
    verbose: bool,
}

#[derive(Debug, Args)]
struct TargetArgs {
    /// `reference`, or the command line of a driver: a program that answers on standard output what it is asked on
    /// standard input (docs/writing-a-driver.md)
    #[arg(long, value_name = "COMMAND", default_value = "reference")]
    target: String,
    /// How long a driver may take to answer a step, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    step_timeout: std::time::Duration,
    /// How long a driver may take to start and say hello, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    start_timeout: std::time::Duration,
}

fn seconds(text: &str) -> Result<std::time::Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "write a number of seconds, as in 2.5".to_owned())?;
    if seconds > 0.0 && seconds <= 86_400.0 {
        Ok(std::time::Duration::from_secs_f64(seconds))
    } else {
        Err("write a number of seconds between 0 and a day".to_owned())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HoldAgainst {
    /// All traces that were selected; the default where traces are named, and for a target that is set to each trace's own
    /// variant
    All,
    /// Those that the right rules meet; the others record faults and are replayed for the fingerprint alone; the default
    /// for the traces in this program
    Right,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Lines for a person
    Terminal,
    /// Everything, for programs
    Json,
    /// JUnit XML
    Junit,
    /// The summary of a CI run
    Markdown,
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> Exit {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to clap; a closed pipe is no reason to fail.
            let _ = error.print();
            return if error.use_stderr() { Exit::Broken } else { Exit::AsExpected };
        }
    };
    match cli.command {
        Command::Replay(arguments) => replay::replay(&arguments),
        Command::Smoke(arguments) => smoke::run(&arguments),
        Command::List(arguments) => traces::list(&arguments),
        Command::Show(arguments) => traces::show(&arguments),
        Command::VerifyLog(arguments) => verify_log::run(&arguments),
        Command::Completions(CompletionsArgs { shell }) => {
            let mut completions = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "fencepost-conformance", &mut completions);
            print(&String::from_utf8_lossy(&completions));
            Exit::AsExpected
        }
    }
}

/// Prints an error of usage, of a file or of a driver.
fn fail(message: impl std::fmt::Display) -> Exit {
    eprintln!("error: {message}");
    Exit::Broken
}

/// Whether what is printed may be coloured: at a terminal, unless `NO_COLOR` is set to something.
fn color() -> bool {
    use std::io::IsTerminal;
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Prints to standard output. A reader that went away is no error.
fn print(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
