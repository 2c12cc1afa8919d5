//! Replays many traces, on several implementations side by side, so that what one does wrong costs its own trace alone.
//!
//! Results come in the order of the traces, whoever ran them. After a fault the implementation is thrown away and
//! another is started for the next trace.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::{Document, Protocol, TraceId};

use crate::implementation::{Implementation, Launcher, replay_document};
use crate::replayer::{Counts, Replay, Verdict};
use crate::target::{Fault, FaultKind, Hello, Settings};

/// How many starts in a row may fail before the rest is not run.
const FAILED_STARTS_LIMIT: usize = 3;

/// What a run may be told.
#[derive(Debug)]
pub struct Options<'a> {
    /// What the target is set to; without it, for each trace the variant that it was recorded under.
    pub variant: Option<&'a str>,
    /// The only broker that is driven, in protocols that have several.
    pub only: Option<&'a BrokerName>,
    /// How many implementations run side by side; at least one.
    pub jobs: usize,
    /// Set to end the run early.
    pub cancelled: &'a AtomicBool,
}

/// What became of one trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceResult {
    /// The trace.
    pub id: TraceId,
    /// Its title.
    pub title: String,
    /// Its protocol.
    pub protocol: Protocol,
    /// The variants that meet it.
    pub holds_for: Vec<String>,
    /// How it ended; `None` if it was not run.
    pub verdict: Option<Verdict>,
    /// What was compared.
    pub compared: Counts,
    /// What the trace expects and was not compared.
    pub not_compared: Counts,
    /// How many operations were done.
    pub operations: usize,
    /// How long it took.
    pub elapsed: Duration,
}

/// What became of all traces.
#[derive(Clone, Debug)]
pub struct Run {
    /// The target.
    pub hello: Hello,
    /// The results, in the order of the traces.
    pub results: Vec<TraceResult>,
    /// How long it took.
    pub elapsed: Duration,
    /// Whether it was ended early.
    pub interrupted: bool,
    /// Why the rest was not run: the driver could not be started any more.
    pub gave_up: Option<Fault>,
}

/// How many traces ended how. The four add up to the planned ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Totals {
    /// All.
    pub planned: usize,
    /// All agrees.
    pub passed: usize,
    /// Something differs, or the target broke.
    pub failed: usize,
    /// Of those that failed: the target broke.
    pub broken: usize,
    /// What is decisive could not be compared.
    pub inconclusive: usize,
    /// Not run.
    pub not_run: usize,
}

impl Totals {
    /// Counts results.
    pub fn of<'a>(results: impl IntoIterator<Item = &'a TraceResult>) -> Self {
        let mut totals = Self::default();
        for result in results {
            totals.planned += 1;
            match &result.verdict {
                Some(Verdict::Passed) => totals.passed += 1,
                Some(Verdict::Failed(_)) => totals.failed += 1,
                Some(Verdict::Broken(_)) => {
                    totals.failed += 1;
                    totals.broken += 1;
                }
                Some(Verdict::Inconclusive(_)) => totals.inconclusive += 1,
                None => totals.not_run += 1,
            }
        }
        totals
    }
}

impl Run {
    /// What was compared, over all traces.
    #[must_use]
    pub fn compared(&self) -> Counts {
        self.results.iter().fold(Counts::default(), |mut sum, result| {
            sum += result.compared;
            sum
        })
    }

    /// What was not, over all traces that were run.
    #[must_use]
    pub fn not_compared(&self) -> Counts {
        self.results.iter().fold(Counts::default(), |mut sum, result| {
            sum += result.not_compared;
            sum
        })
    }
}

/// Replays `traces`. An error is that the first implementation could not be started at all.
pub fn run(traces: &[&Document], launcher: &dyn Launcher, options: &Options<'_>) -> Result<Run, Fault> {
    let begin = Instant::now();
    let mut first = launcher.launch()?;
    let hello = first.hello()?;
    let shared = Shared {
        traces,
        launcher,
        options,
        next: AtomicUsize::new(0),
        failed_starts: AtomicUsize::new(0),
        gave_up: Mutex::new(None),
        results: Mutex::new(vec![None; traces.len()]),
    };
    let first = Mutex::new(Some((first, hello.clone())));
    thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, traces.len().max(1)) {
            scope.spawn(|| {
                let started = first.lock().unwrap_or_else(PoisonError::into_inner).take();
                shared.work(started);
            });
        }
    });
    let results = shared.results.into_inner().unwrap_or_else(PoisonError::into_inner);
    let results = results.into_iter().zip(traces).map(|(result, trace)| {
        let (replay, elapsed) = result.map_or((None, Duration::ZERO), |(replay, elapsed)| (Some(replay), elapsed));
        let header = trace.header();
        TraceResult {
            id: header.id.clone(),
            title: header.title.clone(),
            protocol: header.protocol,
            holds_for: header.holds_for.clone(),
            compared: replay.as_ref().map(|replay| replay.compared).unwrap_or_default(),
            not_compared: replay.as_ref().map(|replay| replay.not_compared).unwrap_or_default(),
            operations: replay.as_ref().map_or(0, |replay| replay.operations),
            verdict: replay.map(|replay| replay.verdict),
            elapsed,
        }
    });
    Ok(Run {
        hello,
        results: results.collect(),
        elapsed: begin.elapsed(),
        interrupted: options.cancelled.load(Ordering::Relaxed),
        gave_up: shared.gave_up.into_inner().unwrap_or_else(PoisonError::into_inner),
    })
}

type Started = (Box<dyn Implementation>, Hello);

struct Shared<'a> {
    traces: &'a [&'a Document],
    launcher: &'a dyn Launcher,
    options: &'a Options<'a>,
    next: AtomicUsize,
    failed_starts: AtomicUsize,
    gave_up: Mutex<Option<Fault>>,
    results: Mutex<Vec<Option<(Replay, Duration)>>>,
}

impl Shared<'_> {
    /// Takes one trace after another until none is left.
    fn work(&self, mut started: Option<Started>) {
        while !self.options.cancelled.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(trace) = self.traces.get(index) else {
                break;
            };
            if self.failed_starts.load(Ordering::Relaxed) >= FAILED_STARTS_LIMIT {
                break;
            }
            let begin = Instant::now();
            let replay = match started.take().map_or_else(|| self.start(), Ok) {
                Ok((mut implementation, hello)) => {
                    let settings = Settings { variant: self.options.variant, slip: None, only: self.options.only };
                    let replay = replay_document(trace, &hello, implementation.as_mut(), settings);
                    if !matches!(replay.verdict, Verdict::Broken(_)) {
                        started = Some((implementation, hello));
                    }
                    replay
                }
                Err(fault) => crate::replayer::not_started(fault),
            };
            if matches!(&replay.verdict, Verdict::Broken(breakdown) if breakdown.fault.kind == FaultKind::Interrupted) {
                break;
            }
            let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(slot) = results.get_mut(index) {
                *slot = Some((replay, begin.elapsed()));
            }
        }
        if let Some((mut implementation, _)) = started {
            // All was answered by now; how it ends is the smoke test's business.
            let _ = implementation.bye();
        }
    }

    fn start(&self) -> Result<Started, Fault> {
        let started = self.launcher.launch().and_then(|mut implementation| {
            let hello = implementation.hello()?;
            Ok((implementation, hello))
        });
        match &started {
            Ok(_) => self.failed_starts.store(0, Ordering::Relaxed),
            Err(fault) => {
                let failed = self.failed_starts.fetch_add(1, Ordering::Relaxed) + 1;
                if failed >= FAILED_STARTS_LIMIT {
                    *self.gave_up.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault.clone());
                }
            }
        }
        started
    }
}
