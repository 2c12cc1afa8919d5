//! The same runs on several workers, on one machine or more.
//!
//! A local check has a count run, and a shortest run for each violation. On workers one run decides all of it: it is
//! breadth first, its depths are exact, and it remembers the first find of each property. So the results have the shape
//! of a local check's, and are judged by the same matrix.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::distributed::fingerprint::{Fingerprint, Width};
use crate::distributed::meet::Common;
use crate::distributed::settle::Explored;
use crate::distributed::team::{Done, Shown, Task, Team, TeamError, run};
use crate::limits::{Cut, Progress};
use crate::runs::{Cost, Counted, Shortest};

use super::Options;
use super::plan::{Item, Results};
use super::progress::Watcher;
use super::verdict::{Place, Report};

/// Who runs, and by which fingerprints.
#[derive(Clone, Debug)]
pub struct Spread {
    /// The workers.
    pub team: Team,
    /// The fingerprints.
    pub width: Width,
}

impl Spread {
    /// Corrects what a report says of the states in all: here one run gives several verdicts.
    pub(super) fn correct(&self, report: &mut Report, results: &[Results]) {
        let unique = || results.iter().filter_map(|results| Some(results.counted.as_ref()?.progress.unique));
        report.unique = unique().sum();
        report.expected_collisions = unique().map(|unique| self.width.expected_collisions(unique)).sum();
    }
}

struct Told<'a> {
    watcher: &'a dyn Watcher,
    items: &'a [Item],
}

impl Shown for Told<'_> {
    fn progress(&self, task: usize, progress: Progress) {
        if let Some(item) = self.items.get(task) {
            self.watcher.progress(task, item, progress);
        }
    }

    fn finished(&self, task: usize) {
        if let Some(item) = self.items.get(task) {
            self.watcher.finished(item);
        }
    }
}

/// Runs all that `items` need. Returns what ran where besides.
pub(super) fn execute(
    items: &[Item],
    options: &Options,
    spread: &Spread,
    watcher: &dyn Watcher,
) -> Result<(Vec<Results>, Vec<Place>), TeamError> {
    let width = spread.width;
    let tasks = items.iter().map(|item| -> Task {
        let subject = Arc::clone(&item.subject);
        Arc::new(move |worker, live| subject.spread(worker, width, live))
    });
    let names: Vec<&str> = items.iter().map(|item| item.subject.name()).collect();
    let identities = || items.iter().flat_map(|item| item.subject.identity().to_le_bytes());
    let common = Common {
        workers: spread.team.workers,
        width,
        hosts: spread.team.hosts.iter().map(ToString::to_string).collect(),
        configurations: Fingerprint::of(names.join("\n").as_bytes()),
        // Nobody else is there to differ.
        models: if spread.team.hosts.len() < 2 { 0 } else { Fingerprint::of(&identities().collect::<Vec<u8>>()) },
    };
    watcher.begin(items);
    let ran = run(&spread.team, tasks.collect(), &common, &options.limits, &Told { watcher, items });
    watcher.end();
    let ran = ran?;
    let mut results: Vec<Results> =
        items.iter().zip(&ran.done).map(|(item, done)| of_run(item, done, options)).collect();
    let mut cut = ran.cut;
    for _ in ran.done.len()..items.len() {
        // The first of those that are not done was under way; the others had not begun.
        let (why, progress) = cut.unwrap_or((Cut::Interrupted, Progress::default()));
        cut = Some((why, Progress::default()));
        results.push(cut_short(why, progress));
    }
    // The last one may be done, and too large all the same.
    if let (Some((why, _)), Some(counted)) = (ran.cut, results.last_mut().and_then(|last| last.counted.as_mut())) {
        counted.cut = Some(why);
    }
    let places = places(&spread.team, &ran.done);
    Ok((results, places))
}

fn cut_short(why: Cut, progress: Progress) -> Results {
    let counted = Counted { progress, failed: 0, applied: 0, ignored: None, cut: Some(why), cost: Cost::default() };
    Results { counted: Some(counted), ..Results::default() }
}

/// The results of a run, in the shape of a local check's.
fn of_run(item: &Item, done: &Done, options: &Options) -> Results {
    let Done { explored, seconds } = done;
    let properties = item.subject.properties();
    let (violations, examples) = explored.first.split_at(properties.len().min(explored.first.len()));
    let bits = |found: &[Option<_>]| {
        found.iter().enumerate().filter(|(_, first)| first.is_some()).fold(0_u64, |bits, (index, _)| bits | 1 << index)
    };
    let cost = Cost { seconds: *seconds, memory_bytes: memory(explored) };
    // The local checker counts the states on a path, not its steps.
    let progress =
        Progress { unique: explored.unique(), generated: explored.generated(), depth: u64::from(explored.depth) + 1 };
    let counted = Counted {
        progress,
        failed: bits(violations),
        applied: bits(examples),
        ignored: explored.remark.clone(),
        cut: None,
        cost,
    };
    let mut shortest = BTreeMap::new();
    let mut narrated = BTreeMap::new();
    for (index, property) in properties.iter().enumerate() {
        let expected = item.row.as_ref().is_some_and(|row| row.fails.contains_key(property.id));
        let path = violations.get(index).and_then(Option::as_ref).and_then(|first| first.path.clone());
        if let (Some(path), false, false) = (&path, expected, options.bless) {
            narrated.insert(index, item.subject.narrate(path).unwrap_or_default());
        }
        if expected || path.is_some() {
            shortest.insert(index, Shortest { path, progress, cut: None, cost });
        }
    }
    Results { counted: Some(counted), shortest, narrated, ..Results::default() }
}

/// The memory of all processes together.
fn memory(explored: &Explored) -> u64 {
    let mut by_process = BTreeMap::new();
    for share in &explored.shares {
        by_process.insert(share.process, share.memory_bytes);
    }
    by_process.values().sum()
}

fn places(team: &Team, done: &[Done]) -> Vec<Place> {
    let mut places = BTreeMap::<usize, Place>::new();
    for (number, share) in done.iter().flat_map(|done| done.explored.shares.iter().enumerate()) {
        let place = places.entry(share.process).or_default();
        place.process = share.process;
        place.address = team.hosts.get(share.process).map(ToString::to_string).unwrap_or_default();
        let local = number % team.workers.max(1);
        if place.workers.len() <= local {
            place.workers.resize(local + 1, 0);
        }
        place.workers[local] += share.unique;
        place.generated += share.generated;
        place.memory_bytes = place.memory_bytes.max(share.memory_bytes);
    }
    places.into_values().collect()
}
