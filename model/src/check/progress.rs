//! What is shown while the runs go on: bars on a terminal, a plain line for each configuration elsewhere.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits::Progress;

use super::plan::Item;

/// Is told what goes on.
pub trait Watcher: Sync {
    /// Everything that will be run.
    fn begin(&self, items: &[Item]);
    /// The run with this number is so far.
    fn progress(&self, run: usize, item: &Item, progress: Progress);
    /// All runs of a configuration have ended.
    fn finished(&self, item: &Item);
    /// All runs have ended.
    fn end(&self);
}

/// Shows nothing.
#[derive(Clone, Copy, Debug)]
pub struct Nothing;

impl Watcher for Nothing {
    fn begin(&self, _: &[Item]) {}
    fn progress(&self, _: usize, _: &Item, _: Progress) {}
    fn finished(&self, _: &Item) {}
    fn end(&self) {}
}

/// One bar a protocol, on the standard error.
pub struct Bars {
    all: MultiProgress,
    state: Mutex<BTreeMap<&'static str, Bar>>,
}

struct Bar {
    shown: ProgressBar,
    start: Instant,
    unique: BTreeMap<usize, u64>,
}

impl Default for Bars {
    fn default() -> Self {
        Self { all: MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)), state: Mutex::default() }
    }
}

impl Watcher for Bars {
    fn begin(&self, items: &[Item]) {
        let mut lengths = BTreeMap::<&'static str, u64>::new();
        let mut order = Vec::new();
        for item in items {
            if !lengths.contains_key(item.protocol) {
                order.push(item.protocol);
            }
            *lengths.entry(item.protocol).or_default() += 1;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for protocol in order {
            let bar = self.all.add(ProgressBar::new(lengths[protocol]));
            // A template that does not parse would be a slip of ours; the bar then has its default look.
            if let Ok(style) = ProgressStyle::with_template("{prefix:12} {bar:20} {pos:>3} of {len:3} {msg}") {
                bar.set_style(style.progress_chars("██░"));
            }
            bar.set_prefix(protocol);
            state.insert(protocol, Bar { shown: bar, start: Instant::now(), unique: BTreeMap::new() });
        }
    }

    fn progress(&self, run: usize, item: &Item, progress: Progress) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = state.get_mut(item.protocol) {
            bar.unique.insert(run, progress.unique);
            let unique: u64 = bar.unique.values().sum();
            #[expect(clippy::cast_precision_loss, reason = "for people")]
            let rate = unique as f64 / bar.start.elapsed().as_secs_f64().max(0.001);
            let name = item.subject.name();
            bar.shown.set_message(format!(
                "{:>6} states {:>6}/s   {name}  depth {}",
                short(unique),
                short_float(rate),
                progress.depth
            ));
        }
    }

    fn finished(&self, item: &Item) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = state.get(item.protocol) {
            bar.shown.inc(1);
        }
    }

    fn end(&self) {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for bar in state.values() {
            bar.shown.finish_and_clear();
        }
    }
}

/// One line for each configuration that has ended.
pub struct Lines<W> {
    state: Mutex<Log<W>>,
}

struct Log<W> {
    out: W,
    done: usize,
    all: usize,
}

impl<W: Write + Send> Lines<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { state: Mutex::new(Log { out, done: 0, all: 0 }) }
    }
}

impl<W: Write + Send> Watcher for Lines<W> {
    fn begin(&self, items: &[Item]) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).all = items.len();
    }

    fn progress(&self, _: usize, _: &Item, _: Progress) {}

    fn finished(&self, item: &Item) {
        let mut log = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        log.done += 1;
        let (done, all) = (log.done, log.all);
        // Nobody reads it any more: no reason to end the check.
        let _ = writeln!(log.out, "[{done} of {all}] {}", item.subject.name());
    }

    fn end(&self) {}
}

/// A number of states in few characters: `8.4M`, `612k`, `84`.
#[must_use]
pub fn short(number: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    short_float(number as f64)
}

fn short_float(number: f64) -> String {
    if number >= 999_500.0 {
        format!("{:.1}M", number / 1e6)
    } else if number >= 10_000.0 {
        format!("{:.0}k", number / 1e3)
    } else {
        format!("{number:.0}")
    }
}
