//! The command line of `fencepost-model`: what can be asked for, and the exit code of each answer.
//!
//! 0 all as expected; 1 a property or a trace is not as expected; 2 usage, or a broken file; 3 a stale matrix; 4 a run
//! was cut short.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::check::progress::{Bars, Lines, Watcher};
use crate::check::{self, CheckError, Options, report};
use crate::limits::Limits;
use crate::protocol::Tier;
use crate::registry::Registry;

/// The program's name, as messages tell people to call it.
pub const PROGRAM: &str = "fencepost-model";

/// Models of Kafka's epoch protocols: check them, look at a counterexample, export traces.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, about, max_term_width = 120, arg_required_else_help = true)]
#[command(after_help = "\
Exit codes: 0 all as expected, 1 a property or a trace is not as expected, 2 usage or a broken file,
            3 a stale matrix, 4 a run was cut short.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What can be asked for.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check every configuration against the verdict matrix
    Check(CheckArgs),
    /// Write the completions of a shell to standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// Exhausts the states of each configuration, finds the shortest path to each violation that must be there, and fails on
/// any difference to the matrix: a state more or less, a violation that is new, gone, or of another length.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fencepost-model check                            the small configurations, in seconds
  fencepost-model check --all                      all of them, in minutes
  fencepost-model check 'fencing/kafka-4.3*'       some of them
  fencepost-model check --all --bless              rewrite the matrix after a change that is meant")]
pub struct CheckArgs {
    /// Configurations: a name, the beginning of one up to a `/`, or a glob with `*` and `?`
    #[arg(value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Run the large configurations as well
    #[arg(long)]
    pub all: bool,
    /// How many runs go on at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Write the report as JSON to this file
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Rewrite the matrix with what was found
    #[arg(long)]
    pub bless: bool,
    /// List the configurations, and run none
    #[arg(long)]
    pub list: bool,
    /// What may end the runs early.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Where the matrix is [default: model/matrix of this project]
    #[arg(long, value_name = "DIR")]
    pub matrix: Option<PathBuf>,
}

/// What may end the runs early. A run that any of these ends is cut short, whatever it found.
#[derive(Debug, Args)]
pub struct LimitArgs {
    /// End after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub time_limit: Option<u64>,
    /// End a run that has more unique states than this
    #[arg(long, value_name = "STATES")]
    pub state_limit: Option<u64>,
    /// End when the process uses more memory than this
    #[arg(long, value_name = "MB", default_value_t = 4096)]
    pub memory_limit: u64,
}

impl LimitArgs {
    /// The limits, counted from now. Ctrl-C ends the runs as well.
    fn limits(&self) -> Limits {
        let interrupted = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupted);
        // It fails only where a handler is installed already, as in a test; there is nothing to interrupt then.
        let _ = ctrlc::set_handler(move || {
            if flag.swap(true, Ordering::Relaxed) {
                // A second Ctrl-C does not wait for the report.
                std::process::exit(4);
            }
        });
        Limits {
            interrupted,
            deadline: self.time_limit.and_then(|seconds| Instant::now().checked_add(Duration::from_secs(seconds))),
            states: self.state_limit,
            memory_bytes: Some(self.memory_limit.saturating_mul(1_000_000)),
        }
    }
}

/// Where the matrix is in a checkout of this project.
fn default_matrix() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("matrix")
}

/// Why a command did not get as far as an answer.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Of `check`.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// A file could not be written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Standard output is closed.
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Check(CheckError::BlessRefused(_)) => 4,
            Self::Check(_) | Self::File { .. } | Self::Output(_) => 2,
        }
    }
}

/// Does what was asked for. Returns the exit code.
pub fn run(cli: &Cli, registry: &Registry) -> Result<u8, CliError> {
    match &cli.command {
        Command::Check(args) => check(args, registry),
        Command::Completions { shell } => {
            clap_complete::generate(*shell, &mut Cli::command(), PROGRAM, &mut std::io::stdout());
            Ok(0)
        }
    }
}

fn check(args: &CheckArgs, registry: &Registry) -> Result<u8, CliError> {
    if args.list {
        return list(args, registry);
    }
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let options = Options {
        globs: args.globs.clone(),
        all: args.all,
        threads: args.threads.map_or(processors, usize::from),
        bless: args.bless,
        matrix: args.matrix.clone().unwrap_or_else(default_matrix),
        limits: args.limits.limits(),
    };
    let watcher: Box<dyn Watcher> = if std::io::stderr().is_terminal() {
        Box::new(Bars::default())
    } else {
        Box::new(Lines::new(std::io::stderr()))
    };
    let found = check::check(registry, &options, watcher.as_ref())?;
    anstream::stdout().write_all(report::text(&found, PROGRAM).as_bytes())?;
    if let Some(path) = &args.report {
        let json = serde_json::to_string_pretty(&found).map_err(std::io::Error::from)?;
        std::fs::write(path, json + "\n").map_err(|source| CliError::File { path: path.clone(), source })?;
    }
    Ok(found.exit_code())
}

fn list(args: &CheckArgs, registry: &Registry) -> Result<u8, CliError> {
    let mut out = anstream::stdout();
    for subject in registry.select(&args.globs).map_err(CheckError::from)? {
        let tier = match subject.tier() {
            Tier::Smoke => "smoke",
            Tier::Full => "full",
        };
        writeln!(out, "{tier:5}  {}  {}", subject.name(), subject.reason())?;
    }
    Ok(0)
}
