//! What exhausting a configuration costs: user CPU time and memory, as the system counts them.
//!
//! One measurement is one process, so that its peak of memory is its own. Wall time says little on a machine that does
//! other things as well; user CPU time does.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::check::report::grouped;
use crate::limits::{Limits, Silent, peak_bytes};
use crate::registry::Subject;
use crate::runs::Order;

/// A row of `docs/performance.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The configuration.
    pub configuration: String,
    /// Breadth first or depth first.
    pub order: String,
    /// How many states differ.
    pub unique: u64,
    /// How many states were made.
    pub generated: u64,
    /// User CPU time of the whole process, in seconds.
    pub user_seconds: f64,
    /// The peak of memory above what the process had before the run, in bytes.
    pub memory_bytes: u64,
}

/// The kernel counts in hundredths of a second for user space, whatever its own clock is (`USER_HZ`).
const TICKS: f64 = 100.0;

/// User CPU time of the process so far, in seconds; 0 where the system does not say.
fn user_seconds() -> f64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program stands in brackets and may have spaces in it; utime is the 12th field behind it.
    let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let ticks: f64 = after.split_whitespace().nth(11).and_then(|field| field.parse().ok()).unwrap_or(0.0);
    ticks / TICKS
}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// This program could not be started again.
    #[error("a measurement could not be started: {0}")]
    Start(#[source] io::Error),
    /// A measurement printed something else.
    #[error("the measurement of {0} failed")]
    Failed(String),
    /// The page could not be read or written.
    #[error("{}: {source}", path.display())]
    Page {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

const BEGIN: &str = "<!-- measured: written by `just bench` -->";
const END: &str = "<!-- end of what was measured -->";

/// Measures configurations, each in a process of its own, both ways; and puts the table into a page, between its marks.
/// Returns the table.
pub fn table(configurations: &[String], page: &Path) -> Result<String, MeasureError> {
    let program = std::env::current_exe().map_err(MeasureError::Start)?;
    let mut rows = Vec::new();
    for configuration in configurations {
        for order in [&["--breadth-first"][..], &[]] {
            let output = Command::new(&program)
                .arg("measure")
                .arg(configuration)
                .args(order)
                .output()
                .map_err(MeasureError::Start)?;
            let row: Measured =
                serde_json::from_slice(&output.stdout).map_err(|_| MeasureError::Failed(configuration.clone()))?;
            rows.push(row);
        }
    }
    let table = format!("{BEGIN}\n\n{}\n\n{}\n{END}\n", machine(), markdown(&rows));
    let in_page = |source| MeasureError::Page { path: page.to_owned(), source };
    let old = match fs::read_to_string(page) {
        Ok(old) => old,
        Err(error) if error.kind() == io::ErrorKind::NotFound => "# Performance\n\n".to_owned(),
        Err(source) => return Err(in_page(source)),
    };
    let (before, after) = match (old.split_once(BEGIN), old.split_once(END)) {
        (Some((before, _)), Some((_, after))) => (before, after.trim_start_matches('\n')),
        _ => (old.as_str(), ""),
    };
    fs::write(page, format!("{before}{table}{after}")).map_err(in_page)?;
    Ok(table)
}

/// The machine, in a sentence.
fn machine() -> String {
    let first = |file: &str, key: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'));
        line.map_or_else(|| "unknown".to_owned(), |value| value.trim().to_owned())
    };
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let memory: u64 = fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| text.lines().next()?.split_whitespace().nth(1)?.parse().ok())
        .unwrap_or(0);
    format!(
        "Measured on {} ({processors} processors seen), {} GB, {} {}; one thread.",
        first("/proc/cpuinfo", "model name"),
        memory.div_ceil(1_000_000),
        std::env::consts::OS,
        std::env::consts::ARCH,
    )
}

fn markdown(rows: &[Measured]) -> String {
    let mut text = "| configuration | order | unique states | generated | user CPU, s | unique/s | bytes a state |\n\
                    |---|---|---:|---:|---:|---:|---:|\n"
        .to_owned();
    for row in rows {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.2} | {} | {} |",
            row.configuration,
            row.order,
            grouped(row.unique),
            grouped(row.generated),
            row.user_seconds,
            grouped(rate(row.unique, row.user_seconds)),
            row.memory_bytes / row.unique.max(1),
        );
    }
    text
}

fn rate(number: u64, seconds: f64) -> u64 {
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
    let rate = (number as f64 / seconds.max(0.01)) as u64;
    rate
}

/// Exhausts a configuration on so many threads.
pub fn measure(subject: &dyn Subject, order: Order, threads: usize) -> Measured {
    let before = (user_seconds(), peak_bytes().unwrap_or(0));
    let counted = subject.count(order, threads, &Limits::default(), &Silent);
    let after = (user_seconds(), peak_bytes().unwrap_or(0));
    Measured {
        configuration: subject.name().to_owned(),
        order: match order {
            Order::BreadthFirst => "breadth first",
            Order::DepthFirst => "depth first",
        }
        .to_owned(),
        unique: counted.progress.unique,
        generated: counted.progress.generated,
        user_seconds: after.0 - before.0,
        memory_bytes: after.1.saturating_sub(before.1),
    }
}
