//! The list of a target's expected deviations, made so that it cannot rot.
//!
//! An entry names a trace (or a pattern, which may match [`WILDCARD_LIMIT`] traces), the step at which it fails and the
//! message with which it does, a reason and a link. An entry whose trace passes, fails otherwise, does not exist or was
//! not compared is stale, and so is one without a reason: the run then ends with 3 and the line of the entry.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fencepost_fixtures::{TraceId, yaml};
use serde::{Deserialize, Serialize};

use crate::pattern;
use crate::replayer::Verdict;
use crate::runner::TraceResult;
use crate::target::Place;

/// How many traces an entry with a wildcard may match.
pub const WILDCARD_LIMIT: usize = 20;

/// The reason that an updated list gives where nobody has written one yet.
const UNEXPLAINED: &str = "not explained yet";

/// One expected deviation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The trace's id, or a pattern.
    pub trace: String,
    /// The step, as in `7`, or `7.2` for its second refusal.
    pub step: String,
    /// What differs there: the failure's message.
    pub message: String,
    /// Why the target deviates.
    pub reason: String,
    /// Where more is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

/// A list of expected deviations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectations {
    path: PathBuf,
    entries: Vec<Entry>,
    /// The line of each entry, where it could be found.
    lines: Vec<Option<usize>>,
}

/// How a run compares with the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The traces that failed as the list says.
    pub listed: BTreeSet<TraceId>,
    /// What is wrong with the list, with file and line.
    pub stale: Vec<String>,
}

/// Why a list could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ExpectationsError {
    /// The file could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What went wrong.
        error: std::io::Error,
    },
    /// The file is no list of deviations.
    #[error("{path}: {message}\n  a list has entries of `trace`, `step`, `message`, `reason` and, if any, `link`")]
    Form {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        message: String,
    },
}

/// A place as a list writes it.
fn step_of(at: Place) -> String {
    at.within.map_or_else(|| at.step.to_string(), |within| format!("{}.{within}", at.step))
}

impl Expectations {
    /// Reads a list.
    pub fn read(path: &Path) -> Result<Self, ExpectationsError> {
        let text =
            std::fs::read_to_string(path).map_err(|error| ExpectationsError::File { path: path.to_owned(), error })?;
        Self::parse(path, &text)
    }

    /// Reads a list from the text of the file `path`. An empty text is an empty list.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ExpectationsError> {
        let is_blank = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
        let entries: Vec<Entry> = if is_blank {
            Vec::new()
        } else {
            yaml::from_str(text)
                .map_err(|error| ExpectationsError::Form { path: path.to_owned(), message: error.message })?
        };
        // In block style, as the list is written, each entry begins with a dash in the first column.
        let starts: Vec<usize> = (1..).zip(text.lines()).filter(|(_, l)| l.starts_with("- ")).map(|(n, _)| n).collect();
        let lines =
            (0..entries.len()).map(|index| starts.get(index).copied().filter(|_| starts.len() == entries.len()));
        let lines = lines.collect();
        Ok(Self { path: path.to_owned(), entries, lines })
    }

    /// An empty list, to be updated.
    #[must_use]
    pub fn empty(path: &Path) -> Self {
        Self { path: path.to_owned(), entries: Vec::new(), lines: Vec::new() }
    }

    /// Compares the results with the list. Where only some traces were `filtered` out of all, an entry that names none of
    /// them says nothing.
    #[must_use]
    pub fn check(&self, results: &[&TraceResult], filtered: bool) -> Checked {
        let mut checked = Checked::default();
        for (entry, line) in self.entries.iter().zip(&self.lines) {
            let matching: Vec<&&TraceResult> =
                results.iter().filter(|result| pattern::matches(&entry.trace, result.id.as_str())).collect();
            let mut stale = |what: String| {
                let line = line.map_or_else(String::new, |line| format!(":{line}"));
                checked.stale.push(format!("{}{line}: {}: {what}", self.path.display(), entry.trace));
            };
            if entry.reason.trim().is_empty() || entry.reason == UNEXPLAINED {
                stale("no reason is given".to_owned());
            }
            if matching.is_empty() && !filtered {
                stale("there is no such trace".to_owned());
            }
            if pattern::has_wildcard(&entry.trace) && matching.len() > WILDCARD_LIMIT {
                stale(format!("matches {} traces, and a wildcard may match {WILDCARD_LIMIT}", matching.len()));
            }
            for result in matching {
                match &result.verdict {
                    Some(Verdict::Failed(failure)) => {
                        let (step, message) = (step_of(failure.at), failure.message());
                        if step != entry.step {
                            stale(format!("{} fails at step {step}, not at {}: {message}", result.id, entry.step));
                        } else if message == entry.message {
                            checked.listed.insert(result.id.clone());
                        } else {
                            stale(format!("{} fails otherwise: {message}", result.id));
                        }
                    }
                    Some(Verdict::Passed) => stale(format!("{} passes", result.id)),
                    Some(Verdict::Inconclusive(reason)) => {
                        stale(format!("{} could not be compared: {reason}", result.id));
                    }
                    Some(Verdict::Broken(_)) => stale(format!("{} broke the driver, which no list excuses", result.id)),
                    None => {}
                }
            }
        }
        checked
    }

    /// The list that these results ask for: what is still so stays as it is, with its reason; what is new has none yet.
    #[must_use]
    pub fn updated(&self, results: &[&TraceResult]) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for result in results {
            let Some(Verdict::Failed(failure)) = &result.verdict else {
                continue;
            };
            let (step, message) = (step_of(failure.at), failure.message());
            let before = self.entries.iter().find(|entry| pattern::matches(&entry.trace, result.id.as_str()));
            let entry = match before {
                Some(entry) if entry.step == step && entry.message == message => entry.clone(),
                Some(Entry { reason, link, .. }) => {
                    let (reason, link) = (reason.clone(), link.clone());
                    Entry { trace: result.id.to_string(), step, message, reason, link }
                }
                None => {
                    let (trace, reason) = (result.id.to_string(), UNEXPLAINED.to_owned());
                    Entry { trace, step, message, reason, link: None }
                }
            };
            if !entries.contains(&entry) {
                entries.push(entry);
            }
        }
        let lines = vec![None; entries.len()];
        Self { path: self.path.clone(), entries, lines }
    }

    /// Writes the list to its file.
    pub fn write(&self) -> Result<(), ExpectationsError> {
        let path = &self.path;
        let text = yaml::to_string(&self.entries)
            .map_err(|error| ExpectationsError::Form { path: path.clone(), message: error.message })?;
        std::fs::write(path, text).map_err(|error| ExpectationsError::File { path: path.clone(), error })
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of a trace, if it is listed.
    #[must_use]
    pub fn entry(&self, id: &TraceId) -> Option<&Entry> {
        self.entries.iter().find(|entry| pattern::matches(&entry.trace, id.as_str()))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}
