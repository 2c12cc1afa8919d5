//! What was found against what was expected.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::limits::Cut;
use crate::matrix::{Matrix, Row};
use crate::registry::Entry;
use crate::walks::Walks;

use super::Options;
use super::plan::{Item, Results};

/// What a property does in a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It holds in every state.
    Holds,
    /// It fails; the shortest path to a violation has so many steps.
    FailsIn(u64),
    /// The run did not end.
    Cut(Cut),
    /// The matrix says nothing.
    Unknown,
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Holds => formatter.write_str("holds"),
            Self::FailsIn(steps) => write!(formatter, "fails in {steps}"),
            Self::Cut(cut) => write!(formatter, "cut short: {cut}"),
            Self::Unknown => formatter.write_str("no row"),
        }
    }
}

/// One line of the report: a property that fails, or all those that do not.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The configuration's name.
    pub configuration: String,
    /// The property, or `all` (`others` where some are expected to fail).
    pub property: String,
    /// What the property says, where it is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub statement: String,
    /// What the matrix expects.
    pub expected: Answer,
    /// What was found.
    pub found: Answer,
    /// Whether all is as expected: the answer, and what the run pins besides.
    pub as_expected: bool,
    /// What else is not as expected, a sentence each.
    pub differences: Vec<String>,
    /// An event that its handler ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
    /// The path of a violation, as indices of actions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The steps of a violation that was not expected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<String>,
    /// How many states differ, of those that the run looked at.
    pub unique: u64,
    /// How many states the run made.
    pub generated: u64,
    /// The most steps on a path; only where the run was breadth first, on one thread.
    pub depth: Option<u64>,
    /// The random walks that it rests on, where the states can't be exhausted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Walks>,
    /// Wall time of the run, in seconds.
    pub seconds: f64,
    /// The memory of the process at the end of the run, in bytes.
    pub memory_bytes: u64,
}

impl Verdict {
    /// Takes what was found for what is expected.
    pub(super) fn accept(&mut self) {
        self.expected = self.found;
        self.as_expected = true;
        self.differences.clear();
    }
}

/// Something that nothing reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Dead {
    /// The protocol.
    pub protocol: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// Whether `--bless` takes it for expected.
    pub blessable: bool,
}

/// A process that took part.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Place {
    /// Its number.
    pub process: usize,
    /// Where it is; empty for the only one.
    pub address: String,
    /// How many states each of its workers owned, summed over all runs.
    pub workers: Vec<u64>,
    /// How many states its workers made, summed over all runs.
    pub generated: u64,
    /// The most memory that it had at the end of a run, in bytes.
    pub memory_bytes: u64,
}

/// All that `check` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// The verdicts, in the order of the configurations.
    pub verdicts: Vec<Verdict>,
    /// Labels and antecedents that nothing reaches, or that something reaches against expectation.
    pub dead: Vec<Dead>,
    /// Where the matrix and the configurations do not belong together.
    pub stale: Vec<String>,
    /// Whether a run was cut short.
    pub cut: bool,
    /// How many states differ, summed over all runs.
    pub unique: u64,
    /// How many pairs of different states of one run are expected to share a fingerprint, by chance.
    pub expected_collisions: f64,
    /// Wall time of everything, in seconds.
    pub seconds: f64,
    /// The most memory that the process used, in bytes.
    pub peak_memory_bytes: u64,
    /// What ran where, if the runs were spread over several workers.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// Whether the matrix was rewritten from this.
    pub blessing: bool,
    /// The files that changed by that.
    pub blessed: Vec<String>,
}

impl Report {
    /// The exit code: of several, the first of 4 (cut short), 3 (stale matrix) and 1 (not as expected) that applies.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if self.cut {
            4
        } else if !self.stale.is_empty() {
            3
        } else {
            u8::from(!self.dead.is_empty() || self.verdicts.iter().any(|verdict| !verdict.as_expected))
        }
    }
}

/// The expected number of pairs that share a fingerprint of 64 bits among `states`: n²/2⁶⁵.
#[must_use]
pub fn expected_collisions(states: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let states = states as f64;
    states * states / 2_f64.powi(65)
}

/// Judges every configuration.
#[must_use]
pub fn judge(items: &[Item], results: &[Results]) -> Report {
    let mut report = Report::default();
    for (item, results) in items.iter().zip(results) {
        for progress in results
            .counted
            .iter()
            .map(|counted| counted.progress)
            .chain(results.shortest.values().map(|shortest| shortest.progress))
        {
            report.unique += progress.unique;
            report.expected_collisions += expected_collisions(progress.unique);
        }
        report.verdicts.extend(count_verdict(item, results));
        report.verdicts.extend(failure_verdicts(item, results));
    }
    report
}

fn count_verdict(item: &Item, results: &Results) -> Option<Verdict> {
    let counted = results.counted.as_ref()?;
    let properties = item.subject.properties();
    let mut differences = Vec::new();
    if item.row.as_ref().is_some_and(|row| row.simulated != item.subject.walks()) {
        differences.push("the matrix has other walks".to_owned());
    }
    if let (Some(row), None) = (&item.row, counted.cut) {
        let mut compare = |what: &str, expected: u64, found: u64| {
            if expected != found {
                differences.push(format!("{found} {what} instead of {expected}"));
            }
        };
        compare("unique states", row.unique, counted.progress.unique);
        compare("generated states", row.generated, counted.progress.generated);
        for (index, property) in properties.iter().enumerate() {
            let id = property.id;
            let failed = counted.failed & (1 << index) != 0;
            let applied = counted.applied & (1 << index) != 0;
            if row.fails.contains_key(id) && !failed {
                differences.push(format!("{id} fails in no state"));
            }
            match (row.vacuous.iter().any(|name| name == id), applied) {
                (false, false) => differences.push(format!("{id} says nothing: no state meets its antecedent")),
                (true, true) => differences.push(format!("{id} says something here, and the matrix calls it vacuous")),
                _ => {}
            }
        }
    }
    if let Some(event) = &counted.ignored {
        differences.push(format!("a handler ignores an event, which is no step: {event}"));
    }
    let some_fail = item.row.as_ref().map_or(counted.failed != 0, |row| !row.fails.is_empty());
    let found = counted.cut.map_or(Answer::Holds, Answer::Cut);
    Some(Verdict {
        configuration: item.subject.name().to_owned(),
        property: if some_fail { "others" } else { "all" }.to_owned(),
        statement: String::new(),
        expected: if item.row.is_some() { Answer::Holds } else { Answer::Unknown },
        found,
        as_expected: item.row.is_some() && found == Answer::Holds && differences.is_empty(),
        differences,
        ignored: counted.ignored.clone(),
        path: None,
        steps: Vec::new(),
        unique: counted.progress.unique,
        generated: counted.progress.generated,
        depth: None,
        simulated: item.subject.walks(),
        seconds: counted.cost.seconds,
        memory_bytes: counted.cost.memory_bytes,
    })
}

fn failure_verdicts(item: &Item, results: &Results) -> Vec<Verdict> {
    let properties = item.subject.properties();
    let verdicts = results.shortest.iter().map(|(index, shortest)| {
        let property = properties[*index];
        let expected = match &item.row {
            None => Answer::Unknown,
            Some(row) => row.fails.get(property.id).map_or(Answer::Holds, |steps| Answer::FailsIn(*steps)),
        };
        let found = match (&shortest.path, shortest.cut) {
            (Some(path), _) => Answer::FailsIn(path.steps() as u64),
            (None, Some(cut)) => Answer::Cut(cut),
            (None, None) => Answer::Holds,
        };
        Verdict {
            configuration: item.subject.name().to_owned(),
            property: property.id.to_owned(),
            statement: property.statement.to_owned(),
            expected,
            found,
            as_expected: expected == found,
            differences: Vec::new(),
            ignored: None,
            path: shortest.path.as_ref().map(ToString::to_string),
            steps: results.narrated.get(index).cloned().unwrap_or_default(),
            unique: shortest.progress.unique,
            generated: shortest.progress.generated,
            // Stateright counts the states of a path, the initial one included.
            depth: item.subject.walks().is_none().then(|| shortest.progress.depth.saturating_sub(1)),
            simulated: item.subject.walks(),
            seconds: shortest.cost.seconds,
            memory_bytes: shortest.cost.memory_bytes,
        }
    });
    verdicts.collect()
}

/// The row that says what was found.
#[must_use]
pub fn row(item: &Item, results: &Results) -> Option<Row> {
    let counted = results.counted.as_ref()?;
    let properties = item.subject.properties();
    let fails = results.shortest.iter().filter_map(|(index, shortest)| {
        let path = shortest.path.as_ref()?;
        Some((properties[*index].id.to_owned(), path.steps() as u64))
    });
    let vacuous = properties.iter().enumerate().filter(|(index, _)| counted.applied & (1 << index) == 0);
    Some(Row {
        configuration: item.subject.name().to_owned(),
        simulated: item.subject.walks(),
        unique: counted.progress.unique,
        generated: counted.progress.generated,
        fails: fails.collect(),
        vacuous: vacuous.map(|(_, property)| property.id.to_owned()).collect(),
    })
}

/// Names in the order in which they are first met, each with whether something reached it.
fn reached<'a>(
    of_protocol: impl Iterator<Item = (&'a Item, &'a Results)>,
    names_of: impl Fn(&Item, &Results) -> Vec<(&'static str, bool)>,
) -> Vec<(&'static str, bool)> {
    let mut order = Vec::new();
    let mut met = BTreeMap::<&'static str, bool>::new();
    for (item, results) in of_protocol {
        for (name, reached) in names_of(item, results) {
            if !met.contains_key(name) {
                order.push(name);
            }
            *met.entry(name).or_default() |= reached;
        }
    }
    order.into_iter().map(|name| (name, met[name])).collect()
}

fn labels_met(item: &Item, results: &Results, full: bool) -> Vec<(&'static str, bool)> {
    let labels = if full { &results.full_labels } else { &results.smoke_labels };
    let names = item.subject.label_names().iter().enumerate();
    names
        .map(|(index, name)| {
            let met = labels.as_ref().and_then(|labels| labels.met.get(index)).copied();
            (*name, met.unwrap_or(false))
        })
        .collect()
}

fn antecedents_met(item: &Item, results: &Results, full: bool) -> Vec<(&'static str, bool)> {
    let counts = full || item.subject.tier() == crate::protocol::Tier::Smoke;
    let applied = results.counted.as_ref().filter(|_| counts).map_or(0, |counted| counted.applied);
    let properties = item.subject.properties();
    properties.iter().enumerate().map(|(index, property)| (property.id, applied & (1 << index) != 0)).collect()
}

fn unmet(reached: Vec<(&'static str, bool)>) -> Vec<String> {
    reached.into_iter().filter(|(_, met)| !met).map(|(name, _)| name.to_owned()).collect()
}

/// The labels that the smoke run does not see.
pub(super) fn labels_beyond_smoke<'a>(of_protocol: impl Iterator<Item = (&'a Item, &'a Results)>) -> Vec<String> {
    unmet(reached(of_protocol, |item, results| labels_met(item, results, false)))
}

/// The properties of which the smoke run meets no antecedent.
pub(super) fn antecedents_beyond_smoke<'a>(of_protocol: impl Iterator<Item = (&'a Item, &'a Results)>) -> Vec<String> {
    unmet(reached(of_protocol, |item, results| antecedents_met(item, results, false)))
}

impl Dead {
    /// What nothing reaches of one protocol. In a smoke run, the matrix says what is expected not to be reached.
    pub(super) fn judge<'a>(
        entry: &Entry,
        matrix: &Matrix,
        of_protocol: impl Iterator<Item = (&'a Item, &'a Results)> + Clone,
        options: &Options,
    ) -> Vec<Self> {
        let mut dead = Vec::new();
        let mut tell = |message: String, blessable: bool| {
            dead.push(Self { protocol: entry.name, message: format!("{}: {message}", entry.name), blessable });
        };
        if options.all {
            for label in unmet(reached(of_protocol.clone(), |item, results| labels_met(item, results, true))) {
                tell(format!("no step of any configuration has the label `{label}`"), false);
            }
            for id in unmet(reached(of_protocol.clone(), |item, results| antecedents_met(item, results, true))) {
                tell(format!("no state of any configuration meets the antecedent of {id}"), false);
            }
        }
        let mut compare = |what: &str, expected: &[String], found: Vec<String>| {
            let expected: BTreeSet<&String> = expected.iter().collect();
            let found: BTreeSet<&String> = found.iter().collect();
            for name in found.difference(&expected) {
                tell(format!("the smoke run no longer reaches the {what} `{name}`"), true);
            }
            for name in expected.difference(&found) {
                tell(format!("the smoke run reaches the {what} `{name}`, and the matrix says that it does not"), true);
            }
        };
        compare("label", &matrix.labels_beyond_smoke, labels_beyond_smoke(of_protocol.clone()));
        compare("antecedent of", &matrix.antecedents_beyond_smoke, antecedents_beyond_smoke(of_protocol));
        dead
    }
}
