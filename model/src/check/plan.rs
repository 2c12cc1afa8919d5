//! Which runs there are, and their order on the threads.
//!
//! Each run uses one thread; several runs go on side by side, the largest first, so that none of them is left over at
//! the end. What comes out does not depend on how they were spread.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{Cut, Observer, Progress};
use crate::matrix::Row;
use crate::protocol::Tier;
use crate::registry::Subject;
use crate::runs::{Counted, Order, Shortest};
use crate::search::Labels;

use super::progress::Watcher;
use super::{FULL_LABEL_STATES, Options, SMOKE_LABEL_STATES};

/// One configuration to run.
pub struct Item {
    /// The configuration.
    pub subject: Arc<dyn Subject>,
    /// Its protocol.
    pub protocol: &'static str,
    /// What is expected of it; `None` where the matrix has no row, or is about to be rewritten.
    pub row: Option<Row>,
    /// How many states it had last time.
    pub weight: u64,
}

/// What the runs of one configuration gave.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// The count run.
    pub counted: Option<Counted>,
    /// The shortest runs, by the property's index.
    pub shortest: BTreeMap<usize, Shortest>,
    /// The steps of each counterexample that was not expected, by the property's index.
    pub narrated: BTreeMap<usize, Vec<String>>,
    /// The labels that the smoke run sees; of smoke configurations only.
    pub smoke_labels: Option<Labels>,
    /// The labels that the full run sees.
    pub full_labels: Option<Labels>,
}

impl Results {
    /// The first reason for which a run was cut short.
    #[must_use]
    pub fn cut(&self) -> Option<Cut> {
        let runs = self.counted.iter().map(|counted| counted.cut).chain(self.shortest.values().map(|run| run.cut));
        let labels = self.smoke_labels.iter().chain(&self.full_labels).map(|labels| labels.cut);
        runs.chain(labels).flatten().next()
    }
}

#[derive(Clone, Copy)]
enum Kind {
    Count,
    Shortest(usize),
    Labels { full: bool },
}

struct Job {
    item: usize,
    kind: Kind,
    weight: u64,
}

fn jobs(items: &[Item], options: &Options, whole: bool) -> Vec<Job> {
    let mut jobs = Vec::new();
    for (item, Item { subject, row, weight, .. }) in items.iter().enumerate() {
        jobs.push(Job { item, kind: Kind::Count, weight: *weight });
        for (index, property) in subject.properties().iter().enumerate() {
            if row.as_ref().is_some_and(|row| row.fails.contains_key(property.id)) {
                jobs.push(Job { item, kind: Kind::Shortest(index), weight: weight / 4 });
            }
        }
        if whole && subject.tier() == Tier::Smoke {
            jobs.push(Job { item, kind: Kind::Labels { full: false }, weight: SMOKE_LABEL_STATES as u64 });
        }
        if whole && options.all {
            jobs.push(Job {
                item,
                kind: Kind::Labels { full: true },
                weight: *weight.min(&(FULL_LABEL_STATES as u64)),
            });
        }
    }
    // Stable, so that equal ones stay in the order of the report.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.weight));
    jobs
}

struct Told<'a> {
    watcher: &'a dyn Watcher,
    item: &'a Item,
    job: usize,
}

impl Observer for Told<'_> {
    fn progress(&self, progress: Progress) {
        self.watcher.progress(self.job, self.item, progress);
    }
}

/// Runs all that `items` need. `whole` says that they are all there are, so that what none of them reaches is dead.
pub fn execute(items: &[Item], options: &Options, whole: bool, watcher: &dyn Watcher) -> Vec<Results> {
    let jobs = jobs(items, options, whole);
    let mut runs_of = BTreeMap::<usize, usize>::new();
    for job in &jobs {
        *runs_of.entry(job.item).or_default() += 1;
    }
    watcher.begin(items);
    let left = Mutex::new(runs_of);
    let queue: Mutex<VecDeque<(usize, Job)>> = Mutex::new(jobs.into_iter().enumerate().collect());
    let results = Mutex::new(vec![Results::default(); items.len()]);
    std::thread::scope(|scope| {
        for _ in 0..options.threads.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    let Some((number, job)) = next else { break };
                    let item = &items[job.item];
                    let told = Told { watcher, item, job: number };
                    let found = run(item, job.kind, options, &told);
                    merge(&mut results.lock().unwrap_or_else(PoisonError::into_inner)[job.item], found);
                    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                    let runs = left.entry(job.item).or_default();
                    *runs -= 1;
                    if *runs == 0 {
                        watcher.finished(item);
                    }
                }
            });
        }
    });
    watcher.end();
    results.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn run(item: &Item, kind: Kind, options: &Options, told: &Told<'_>) -> Results {
    let mut results = Results::default();
    match kind {
        Kind::Count => {
            let counted = item.subject.count(Order::DepthFirst, 1, &options.limits, told);
            for (index, property) in item.subject.properties().iter().enumerate() {
                let expected = item.row.as_ref().is_some_and(|row| row.fails.contains_key(property.id));
                if counted.failed & (1 << index) != 0 && !expected {
                    let shortest = item.subject.shortest(index, &options.limits, told);
                    // Where the matrix is rewritten every failure comes this way; none of them is news.
                    if let (false, Some(path)) = (options.bless, &shortest.path) {
                        let narrated = item.subject.narrate(path).unwrap_or_default();
                        results.narrated.insert(index, narrated);
                    }
                    results.shortest.insert(index, shortest);
                }
            }
            results.counted = Some(counted);
        }
        Kind::Shortest(index) => {
            results.shortest.insert(index, item.subject.shortest(index, &options.limits, told));
        }
        Kind::Labels { full: false } => {
            results.smoke_labels = Some(item.subject.labels(SMOKE_LABEL_STATES, &options.limits));
        }
        Kind::Labels { full: true } => {
            results.full_labels = Some(item.subject.labels(FULL_LABEL_STATES, &options.limits));
        }
    }
    results
}

fn merge(into: &mut Results, from: Results) {
    let Results { counted, shortest, narrated, smoke_labels, full_labels } = from;
    into.counted = into.counted.take().or(counted);
    into.shortest.extend(shortest);
    into.narrated.extend(narrated);
    into.smoke_labels = into.smoke_labels.take().or(smoke_labels);
    into.full_labels = into.full_labels.take().or(full_labels);
}
