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

use fencepost_fixtures::reader;

use crate::check::progress::{Bars, Lines, Watcher};
use crate::check::spread::Spread;
use crate::check::{self, CheckError, Options, report};
use crate::distributed::fingerprint::Width;
use crate::distributed::hosts::{self, HostsError};
use crate::distributed::meet::MeetError;
use crate::distributed::team::{Team, TeamError};
use crate::distributed::watch::ENGINE_QUEUE;
use crate::explore::{self, ServeError};
use crate::export::verify::{Prove, verify};
use crate::export::{self, ExportError};
use crate::limits::{Cut, Limits, Silent};
use crate::measure::{self, MeasureError};
use crate::path::Indices;
use crate::protocol::Tier;
use crate::registry::{Registry, RenderError, Subject, UnknownName};
use crate::runs::Order;
use crate::show::{self, Format, StoredError};

/// The program's name, as messages tell people to call it.
pub const PROGRAM: &str = "fencepost-model";

/// Models of Kafka's epoch protocols: check them, look at a counterexample, export traces.
#[derive(Debug, Parser)]
#[command(name = PROGRAM, version, max_term_width = 120, arg_required_else_help = true)]
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
    ///
    /// Exhausts the states of each configuration, finds the shortest path to each violation that must be there, and fails on
    /// any difference to the matrix: a state more or less, a violation that is new, gone, or of another length.
    Check(CheckArgs),
    /// Look at a configuration in the browser, opened at a counterexample
    ///
    /// Finds the shortest path to a violation (or takes that of a stored trace), prints the address of the page that opens
    /// at its end, and serves the page until Ctrl-C.
    Explore(ExploreArgs),
    /// Print a counterexample or a stored trace: as steps, as a diagram, as a trace
    ///
    /// Prints the shortest path to a violation, or the path of a stored trace.
    Show(ShowArgs),
    /// Write the generated traces, or check that they are what the model makes
    ///
    /// Writes one trace for each goal of the models: the shortest path to it. Traces that another one begins with are left
    /// out. At the end stands what no trace reaches.
    Export(ExportArgs),
    /// Print random behaviours as traces, reproducible by their seed
    ///
    /// Takes random steps, and prints what they amount to as traces, separated by `---`. The same seed gives the same traces.
    Simulate(SimulateArgs),
    /// Measure one configuration, for docs/performance.md
    #[command(hide = true)]
    Measure(MeasureArgs),
    /// Write the completions of a shell to standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// What `check` takes.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
#[command(after_help = "\
Examples:
  fencepost-model check                            the small configurations, in seconds
  fencepost-model check --all                      all of them, in minutes
  fencepost-model check 'fencing/kafka-4.3*'       some of them
  fencepost-model check CONFIG --workers 4         one of them, on four threads together
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
    /// Spread each run over so many workers of this process, instead of running several side by side
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256), conflicts_with_all = ["threads", "bless"])]
    pub workers: Option<u16>,
    /// Spread each run over the processes of this file: HOST:PORT, one a line; see docs/distributed.md
    #[arg(long, value_name = "FILE", requires = "process", conflicts_with_all = ["threads", "bless"])]
    pub hosts: Option<PathBuf>,
    /// Which of them this one is, from 0
    #[arg(long, value_name = "I", requires = "hosts")]
    pub process: Option<usize>,
    /// How long to wait for the other processes at the start
    #[arg(long, value_name = "SECONDS", requires = "hosts", default_value_t = 60)]
    pub wait: u64,
    /// Fingerprints of 128 bits instead of 64; with --workers or --hosts
    #[arg(long)]
    pub exact: bool,
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

/// What `explore` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fencepost-model explore fencing/kafka-4.4/two-members-two-targets --violates S3
  fencepost-model explore --trace fixtures/generated/fencing/late-commit.yaml
  fencepost-model explore fencing/kafka-4.4/two-members-two-targets")]
pub struct ExploreArgs {
    /// The configuration
    #[arg(required_unless_present = "trace")]
    pub config: Option<String>,
    /// Open at the shortest violation of this property
    #[arg(long, value_name = "PROPERTY", conflicts_with = "trace")]
    pub violates: Option<String>,
    /// Open at the end of this trace's path
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Where to serve; port 0 is any that is free
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:3000")]
    pub address: String,
}

/// What `show` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fencepost-model show fencing/kafka-4.4/two-members-two-targets --violates S3
  fencepost-model show fencing/kafka-4.4/two-members-two-targets --violates S3 --format yaml > late-commit.yaml
  fencepost-model show fixtures/generated/fencing/late-commit.yaml --format mermaid")]
pub struct ShowArgs {
    /// A configuration, or the file of a trace
    #[arg(value_name = "CONFIG|FILE")]
    pub what: String,
    /// Show the shortest violation of this property
    #[arg(long, value_name = "PROPERTY")]
    pub violates: Option<String>,
    /// How to show it
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

/// What `export` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fencepost-model export                        write all
  fencepost-model export 'fencing/late-*'       write some, and remove none
  fencepost-model export --check                follow and render each stored path again
  fencepost-model export --check --prove-all    prove as well that each is the shortest")]
pub struct ExportArgs {
    /// Ids of traces, as globs with `*` and `?`
    #[arg(value_name = "GLOB")]
    pub globs: Vec<String>,
    /// Write nothing; fail on any difference
    #[arg(long)]
    pub check: bool,
    /// Prove that each path is the shortest, in the large configurations as well
    #[arg(long, requires = "check")]
    pub prove_all: bool,
    /// How many searches go on at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// What may end the searches early.
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Where the traces are [default: fixtures/generated of this project]
    #[arg(long, value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Where it is kept which goals another trace meets [default: model/goals of this project]
    #[arg(long, value_name = "DIR")]
    pub goals: Option<PathBuf>,
}

/// What `simulate` takes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  fencepost-model simulate CONFIG --seed 7 --count 100 --depth 60
  fencepost-model simulate CONFIG --seed 7 | fencepost-conformance replay -")]
pub struct SimulateArgs {
    /// The configuration
    pub config: String,
    /// The seed
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// How many behaviours
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u64,
    /// The most steps of each
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub depth: u32,
}

/// Exhausts one configuration, on one thread if nothing else is said, and prints what it took, as one line of JSON. `just bench` makes the table.
#[derive(Debug, Args)]
pub struct MeasureArgs {
    /// The configuration; with --table, any number of them, as globs
    #[arg(required = true)]
    pub configs: Vec<String>,
    /// Breadth first instead of depth first
    #[arg(long)]
    pub breadth_first: bool,
    /// On so many threads
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "table")]
    pub threads: u16,
    /// Measure each in a process of its own, both ways, and write the table into this page
    #[arg(long, value_name = "FILE", conflicts_with = "breadth_first")]
    pub table: Option<PathBuf>,
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

/// A file or directory in a checkout of this project, from the directory of this crate.
fn in_checkout(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn threads(asked: Option<u16>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(processors, usize::from)
}

/// Why a command did not get as far as an answer.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Of `check`.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// Of a hosts file.
    #[error(transparent)]
    Hosts(#[from] HostsError),
    /// Of `export`.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A name that nothing has.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A trace that can't be followed.
    #[error(transparent)]
    Stored(#[from] StoredError),
    /// The explorer can't serve.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// A path has no trace.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// A property was to be violated, and holds.
    #[error("{property} holds in {configuration}: there is no counterexample")]
    Holds {
        /// The property.
        property: String,
        /// The configuration.
        configuration: String,
    },
    /// A search was cut short.
    #[error("{property} was not decided in {configuration}: {cut}")]
    Undecided {
        /// The property.
        property: String,
        /// The configuration.
        configuration: String,
        /// Why.
        cut: Cut,
    },
    /// Of the table of measurements.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// Something was left out that is needed here.
    #[error("{0}")]
    Usage(&'static str),
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
    /// A trace could not be written as YAML, which is a fault of this program.
    #[error("{0}")]
    Yaml(String),
}

impl CliError {
    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Check(
                CheckError::BlessRefused(_)
                | CheckError::Team(TeamError::Fault(_) | TeamError::Meet(MeetError::Interrupted)),
            )
            | Self::Undecided { .. } => 4,
            Self::Holds { .. } => 1,
            _ => 2,
        }
    }
}

/// Does what was asked for. Returns the exit code.
pub fn run(cli: &Cli, registry: &Registry) -> Result<u8, CliError> {
    match &cli.command {
        Command::Check(args) => check(args, registry),
        Command::Explore(args) => explore(args, registry),
        Command::Show(args) => show(args, registry),
        Command::Export(args) => export(args, registry),
        Command::Simulate(args) => simulate(args, registry),
        Command::Measure(args) => measure(args, registry),
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
    let options = Options {
        globs: args.globs.clone(),
        all: args.all,
        threads: threads(args.threads),
        bless: args.bless,
        matrix: args.matrix.clone().unwrap_or_else(|| in_checkout("matrix")),
        limits: args.limits.limits(),
        spread: spread(args)?,
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

/// The workers that the runs are spread over, if they are.
fn spread(args: &CheckArgs) -> Result<Option<Spread>, CliError> {
    let (hosts, process) = match (&args.hosts, args.process) {
        (Some(file), Some(process)) => (hosts::read(file, process)?, process),
        _ => (Vec::new(), 0),
    };
    if args.workers.is_none() && hosts.is_empty() {
        return if args.exact { Err(CliError::Usage("--exact goes with --workers or --hosts")) } else { Ok(None) };
    }
    if hosts.len() > 1 {
        quiet_connections();
    }
    let team =
        Team { workers: usize::from(args.workers.unwrap_or(1)), hosts, process, wait: Duration::from_secs(args.wait) };
    Ok(Some(Spread { team, width: if args.exact { Width::Exact } else { Width::Short } }))
}

/// A thread of a connection that is lost panics, which is how the dataflow engine ends it. The error that follows says
/// what happened; the panic's own message would only stand before it.
fn quiet_connections() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let thread = std::thread::current();
        let connection = |name: &str| name.starts_with("timely:send") || name.starts_with("timely:recv");
        let queue = panic.payload().downcast_ref::<&str>().is_some_and(|said| said.starts_with(ENGINE_QUEUE));
        if !queue && !thread.name().is_some_and(connection) {
            usual(panic);
        }
    }));
}

fn list(args: &CheckArgs, registry: &Registry) -> Result<u8, CliError> {
    let mut out = anstream::stdout();
    for subject in registry.select(&args.globs).map_err(CheckError::from)? {
        let tier = match subject.tier() {
            Tier::Smoke => "smoke",
            Tier::Full => "full",
        };
        let how = if subject.walks().is_some() { "; simulated" } else { "" };
        writeln!(out, "{tier:5}  {}  {}{how}", subject.name(), subject.reason())?;
    }
    Ok(0)
}

/// The shortest path to a violation, found while the standard error says so.
fn counterexample(subject: &dyn Subject, property: &str) -> Result<Indices, CliError> {
    let properties = subject.properties();
    let Some(index) = properties.iter().position(|known| known.id == property) else {
        return Err(UnknownName::new("property", property, properties.iter().map(|known| known.id.to_owned())).into());
    };
    let configuration = || subject.name().to_owned();
    let found = subject.shortest(index, &Limits::default(), &Silent);
    match (found.path, found.cut) {
        (Some(path), _) => Ok(path),
        (None, None) => Err(CliError::Holds { property: property.to_owned(), configuration: configuration() }),
        (None, Some(cut)) => {
            Err(CliError::Undecided { property: property.to_owned(), configuration: configuration(), cut })
        }
    }
}

fn explore(args: &ExploreArgs, registry: &Registry) -> Result<u8, CliError> {
    let (subject, path) = match (&args.config, &args.trace) {
        (config, Some(file)) => {
            let source = show::source(file, &show::read(file)?)?;
            let name = config.as_ref().unwrap_or(&source.configuration);
            let in_file = |source| StoredError::Configuration { path: file.clone(), source };
            let subject = registry.find(name).map_err(in_file)?;
            show::fits(file, subject.as_ref(), &source)?;
            (subject, source.path)
        }
        (Some(config), None) => {
            let subject = registry.find(config)?;
            let path = match &args.violates {
                Some(property) => counterexample(subject.as_ref(), property)?,
                None => Indices(vec![0]),
            };
            (subject, path)
        }
        (None, None) => return Err(CliError::Usage("name a configuration, or a file with --trace")),
    };
    let address = explore::free_address(&args.address)?;
    let mut out = anstream::stdout();
    for claim in subject.violated(&path).map_err(RenderError::Path)? {
        writeln!(out, "{} \"{}\" is violated after {} steps.", claim.id, claim.statement, path.steps())?;
    }
    writeln!(out, "{}", explore::page(address, &path))?;
    writeln!(out, "Ctrl-C ends it.")?;
    out.flush()?;
    subject.serve(address);
    Ok(0)
}

fn show(args: &ShowArgs, registry: &Registry) -> Result<u8, CliError> {
    let file = Path::new(&args.what);
    let mut out = anstream::stdout();
    // A name of a configuration is never the name of a file that somebody means.
    if registry.find(&args.what).is_err()
        && (file.exists() || file.extension().is_some_and(|extension| extension == "yaml"))
    {
        let document = show::read(file)?;
        if args.format == Format::Yaml {
            let text = reader::to_yaml(&document).map_err(|error| CliError::Yaml(error.message))?;
            out.write_all(text.as_bytes())?;
            return Ok(0);
        }
        let source = show::source(file, &document)?;
        let in_file = |source| StoredError::Configuration { path: file.to_owned(), source };
        let subject = registry.find(&source.configuration).map_err(in_file)?;
        show::fits(file, subject.as_ref(), &source)?;
        let text = shown(subject.as_ref(), &source.path, source.property.as_deref(), args.format)?;
        out.write_all(text.as_bytes())?;
        return Ok(0);
    }
    let subject = registry.find(&args.what)?;
    let Some(property) = &args.violates else {
        return Err(CliError::Usage("say which property's counterexample to show, with --violates PROPERTY"));
    };
    let path = counterexample(subject.as_ref(), property)?;
    out.write_all(shown(subject.as_ref(), &path, Some(property), args.format)?.as_bytes())?;
    Ok(0)
}

fn shown(subject: &dyn Subject, path: &Indices, violates: Option<&str>, format: Format) -> Result<String, CliError> {
    Ok(match (format, violates) {
        (Format::Text, _) => show::text(subject, path, violates).map_err(RenderError::Path)?,
        (Format::Mermaid, _) => subject.mermaid(path).map_err(RenderError::Path)?,
        (Format::Yaml, Some(property)) => show::yaml(subject, path, property)?,
        (Format::Yaml, None) => String::new(),
    })
}

fn export(args: &ExportArgs, registry: &Registry) -> Result<u8, CliError> {
    let options = export::Options {
        globs: args.globs.clone(),
        directory: args.directory.clone().unwrap_or_else(|| in_checkout("../fixtures/generated")),
        goals: args.goals.clone().unwrap_or_else(|| in_checkout("goals")),
        threads: threads(args.threads),
        limits: args.limits.limits(),
    };
    let report = if args.check {
        let prove = if args.prove_all { Prove::All } else { Prove::Smoke };
        verify(registry, &options, prove)?
    } else {
        export::export(registry, &options)?
    };
    anstream::stdout().write_all(report.text(args.check).as_bytes())?;
    Ok(report.exit_code())
}

fn simulate(args: &SimulateArgs, registry: &Registry) -> Result<u8, CliError> {
    let subject = registry.find(&args.config)?;
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for number in 0..args.count {
        let document = subject.simulated(args.seed, number, args.depth as usize)?;
        let text = reader::to_yaml(&document).map_err(|error| CliError::Yaml(error.message))?;
        if number > 0 {
            writeln!(out, "---")?;
        }
        out.write_all(text.as_bytes())?;
    }
    out.flush()?;
    Ok(0)
}

fn measure(args: &MeasureArgs, registry: &Registry) -> Result<u8, CliError> {
    if let Some(page) = &args.table {
        let names: Vec<_> = registry.select(&args.configs)?.iter().map(|subject| subject.name().to_owned()).collect();
        std::io::stdout().write_all(measure::table(&names, page)?.as_bytes())?;
        return Ok(0);
    }
    let [config] = args.configs.as_slice() else {
        return Err(CliError::Usage("one configuration is measured at a time; --table FILE takes more"));
    };
    let subject = registry.find(config)?;
    let order = if args.breadth_first { Order::BreadthFirst } else { Order::DepthFirst };
    let row = measure::measure(subject.as_ref(), order, usize::from(args.threads));
    let json = serde_json::to_string(&row).map_err(std::io::Error::from)?;
    writeln!(std::io::stdout(), "{json}")?;
    Ok(0)
}
