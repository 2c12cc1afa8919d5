//! `check`: runs the configurations, and holds what they give against the matrix.
//!
//! | module | subject |
//! |---|---|
//! | [`plan`] | which runs there are, and their order on the threads |
//! | [`spread`] | the same runs on several workers |
//! | [`verdict`] | what was found against what was expected |
//! | [`report`] | the table, the counterexamples and the sum, for people |
//! | [`progress`] | what is shown while the runs go on |

pub mod plan;
pub mod progress;
pub mod report;
pub mod spread;
pub mod verdict;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crate::distributed::team::TeamError;
use crate::limits::{Limits, peak_bytes};
use crate::matrix::{Matrix, MatrixError, Row};
use crate::protocol::Tier;
use crate::registry::{Registry, Subject, UnknownName};

use plan::{Item, execute};
use progress::Watcher;
use spread::Spread;
use verdict::{Dead, Report, judge};

/// How many states of a configuration the labels are collected from in a smoke run.
pub const SMOKE_LABEL_STATES: usize = 20_000;
/// The same in a full run.
pub const FULL_LABEL_STATES: usize = 1_000_000;

/// What is to be checked, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which configurations; all where there is none.
    pub globs: Vec<String>,
    /// Whether the large ones are run as well.
    pub all: bool,
    /// How many runs go on at the same time.
    pub threads: usize,
    /// Whether the matrix is rewritten.
    pub bless: bool,
    /// Where the matrix is.
    pub matrix: PathBuf,
    /// What may end the runs early.
    pub limits: Limits,
    /// The workers, where the runs are spread over several, on one machine or more.
    pub spread: Option<Spread>,
}

/// Why nothing was checked.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The matrix could not be read or written.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// A glob matches nothing.
    #[error("{0}. `fencepost-model check --list` lists the configurations")]
    Unknown(#[from] UnknownName),
    /// The globs match large configurations only.
    #[error("{0} match only configurations of the full run; add --all, or name one in full")]
    OnlyFull(String),
    /// A part of the matrix can't be blessed alone.
    #[error("--bless rewrites the matrix as a whole; leave the filter out")]
    BlessFiltered,
    /// What was not exhausted can't be expected.
    #[error("the matrix is not rewritten: {0}")]
    BlessRefused(String),
    /// The workers did not come together, or did not stay.
    #[error(transparent)]
    Team(#[from] TeamError),
}

/// Runs what the options name.
pub fn check(registry: &Registry, options: &Options, watcher: &dyn Watcher) -> Result<Report, CheckError> {
    let start = Instant::now();
    if options.bless && !options.globs.is_empty() {
        return Err(CheckError::BlessFiltered);
    }
    let matrices: Vec<Matrix> =
        registry.protocols.iter().map(|entry| Matrix::read(&options.matrix, entry.name)).collect::<Result<_, _>>()?;
    let chosen = choose(registry, options)?;
    let mut items = Vec::new();
    for (entry, matrix) in registry.protocols.iter().zip(&matrices) {
        for subject in &entry.subjects {
            if chosen.contains(subject.name()) {
                let row = if options.bless { None } else { matrix.row(subject.name()).cloned() };
                // What was expected before tells how long a run takes, also where it is about to be rewritten.
                let weight = matrix.row(subject.name()).map_or(0, |row| row.unique);
                items.push(Item { subject: Arc::clone(subject), protocol: entry.name, row, weight });
            }
        }
    }
    // Labels are looked for by the local search only, so nothing is called dead where the runs are spread.
    let whole = options.globs.is_empty() && options.spread.is_none();
    let (results, places) = match &options.spread {
        Some(spread) => spread::execute(&items, options, spread, watcher)?,
        None => (execute(&items, options, whole, watcher), Vec::new()),
    };
    let mut report = judge(&items, &results);
    if let Some(spread) = &options.spread {
        spread.correct(&mut report, &results);
        report.places = places;
    }
    report.cut |= results.iter().any(|result| result.cut().is_some());
    report.stale = stale(registry, &matrices);
    if whole && !report.cut {
        for (entry, matrix) in registry.protocols.iter().zip(&matrices) {
            let of_protocol = || items.iter().zip(&results).filter(|(item, _)| item.protocol == entry.name);
            report.dead.extend(Dead::judge(entry, matrix, of_protocol(), options));
        }
    }
    report.seconds = start.elapsed().as_secs_f64();
    report.peak_memory_bytes = peak_bytes().unwrap_or(0);
    if options.bless {
        bless(registry, &matrices, &items, &results, &mut report, options)?;
    }
    Ok(report)
}

fn choose(registry: &Registry, options: &Options) -> Result<BTreeSet<String>, CheckError> {
    let selected = registry.select(&options.globs)?;
    let chosen: BTreeSet<String> = selected
        .iter()
        // A configuration that is named in full is run, however large it is.
        .filter(|subject| {
            options.all || subject.tier() == Tier::Smoke || options.globs.iter().any(|glob| glob == subject.name())
        })
        // Walks are walks of one thread.
        .filter(|subject| options.spread.is_none() || subject.walks().is_none())
        .map(|subject| subject.name().to_owned())
        .collect();
    if chosen.is_empty() && !selected.is_empty() && !options.globs.is_empty() {
        return Err(CheckError::OnlyFull(options.globs.join(" ")));
    }
    Ok(chosen)
}

/// Rows without a configuration, configurations without a row, and properties that do not exist.
fn stale(registry: &Registry, matrices: &[Matrix]) -> Vec<String> {
    let mut stale = Vec::new();
    for (entry, matrix) in registry.protocols.iter().zip(matrices) {
        let mut rows = BTreeSet::new();
        for row in &matrix.rows {
            if !rows.insert(row.configuration.as_str()) {
                stale.push(format!("the matrix has two rows for {}", row.configuration));
            }
            let Some(subject) = entry.subjects.iter().find(|subject| subject.name() == row.configuration) else {
                stale.push(format!("the matrix has a row for {}, which is no configuration", row.configuration));
                continue;
            };
            let properties: Vec<_> = subject.properties().iter().map(|property| property.id).collect();
            for name in row.fails.keys().chain(&row.vacuous) {
                if !properties.contains(&name.as_str()) {
                    stale.push(format!("the row of {} names {name}, which is no property", row.configuration));
                }
            }
        }
        for subject in &entry.subjects {
            if !rows.contains(subject.name()) {
                stale.push(format!("{} has no row in the matrix", subject.name()));
            }
        }
    }
    stale
}

fn bless(
    registry: &Registry,
    matrices: &[Matrix],
    items: &[Item],
    results: &[plan::Results],
    report: &mut Report,
    options: &Options,
) -> Result<(), CheckError> {
    if report.cut {
        return Err(CheckError::BlessRefused("a run was cut short".to_owned()));
    }
    if let Some(verdict) = report.verdicts.iter().find(|verdict| verdict.ignored.is_some()) {
        return Err(CheckError::BlessRefused(format!("a handler of {} ignores an event", verdict.configuration)));
    }
    for (entry, old) in registry.protocols.iter().zip(matrices) {
        let new_row = |subject: &Arc<dyn Subject>| -> Option<Row> {
            let at = items.iter().position(|item| item.subject.name() == subject.name())?;
            verdict::row(&items[at], &results[at])
        };
        let rows = entry.subjects.iter().filter_map(|subject| {
            // A row that was not run now stays as it was.
            new_row(subject).or_else(|| old.row(subject.name()).cloned())
        });
        let of_protocol = || items.iter().zip(results).filter(|(item, _)| item.protocol == entry.name);
        let new = Matrix {
            rows: rows.collect(),
            labels_beyond_smoke: verdict::labels_beyond_smoke(of_protocol()),
            antecedents_beyond_smoke: verdict::antecedents_beyond_smoke(of_protocol()),
        };
        if new.write(&options.matrix, entry.name)? {
            report.blessed.push(Matrix::file(&options.matrix, entry.name).display().to_string());
        }
        report.dead.retain(|dead| dead.protocol != entry.name || !dead.blessable);
    }
    report.blessing = true;
    report.stale.clear();
    for verdict in &mut report.verdicts {
        verdict.accept();
    }
    Ok(())
}
