//! `export`: the generated traces, written from the goals, and held against the model.
//!
//! Each goal's trace is the shortest path to it. A trace that only repeats the beginning of another one is left out; the
//! file `model/goals/PROTOCOL.yaml` keeps which, and in which trace the goal is met instead. `export --check` follows
//! each stored path again and renders it again, which is fast; that the path is still the shortest is proved by a search,
//! for the smoke configurations or for all.
//!
//! | module | subject |
//! |---|---|
//! | [`verify`] | `export --check` |
//! | [`gaps`] | what no trace reaches |

pub mod gaps;
pub mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fencepost_fixtures::trace::TraceId;
use fencepost_fixtures::{Document, reader, yaml};
use serde::{Deserialize, Serialize};

use crate::goals::Sought;
use crate::limits::Limits;
use crate::path::Indices;
use crate::protocol::{Aim, Goal};
use crate::registry::{Entry, Registry, Subject, UnknownName, matches};

/// What is exported, and where to.
#[derive(Clone, Debug)]
pub struct Options {
    /// The ids of the traces; all where there is none.
    pub globs: Vec<String>,
    /// The directory of the generated traces.
    pub directory: PathBuf,
    /// The directory of what is known of goals without a trace.
    pub goals: PathBuf,
    /// How many searches go on at the same time.
    pub threads: usize,
    /// What may end the searches early.
    pub limits: Limits,
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A glob matches no goal.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The goals contradict themselves.
    #[error("the goals of {protocol} are broken: {message}")]
    Goals {
        /// The protocol.
        protocol: &'static str,
        /// What is wrong.
        message: String,
    },
}

/// The goals whose trace would only repeat the beginning of another one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contained {
    /// The goal's id, and the id of the trace that meets it on its way.
    pub contained: BTreeMap<String, String>,
}

impl Contained {
    fn file(directory: &Path, protocol: &str) -> PathBuf {
        directory.join(format!("{protocol}.yaml"))
    }

    fn read(directory: &Path, protocol: &str) -> Result<Self, ExportError> {
        let path = Self::file(directory, protocol);
        match fs::read_to_string(&path) {
            Ok(text) => yaml::from_str(&text).map_err(|error| ExportError::Syntax { path, message: error.message }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(source) => Err(ExportError::File { path, source }),
        }
    }
}

/// What `export` found or did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Files that were written anew or changed, or removed: a line each.
    pub changes: Vec<String>,
    /// How many traces there are.
    pub traces: usize,
    /// How many goals another trace meets on its way.
    pub contained: usize,
    /// What is not as it should be, a sentence each.
    pub faults: Vec<String>,
    /// Stored files that can't be read, a sentence each.
    pub broken: Vec<String>,
    /// How many paths were proved to be the shortest.
    pub proved: usize,
    /// Whether a search was cut short.
    pub cut: bool,
    /// What no trace reaches, a line each.
    pub gaps: Vec<String>,
}

impl Report {
    /// The exit code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        if !self.broken.is_empty() {
            2
        } else if self.cut {
            4
        } else {
            u8::from(!self.faults.is_empty())
        }
    }

    /// The report as text.
    #[must_use]
    pub fn text(&self, checked: bool) -> String {
        let mut text = String::new();
        for line in self.changes.iter().chain(&self.broken).chain(&self.faults) {
            let _ = writeln!(text, "{line}");
        }
        if !self.gaps.is_empty() {
            let _ = writeln!(text, "No trace reaches:");
        }
        for line in &self.gaps {
            let _ = writeln!(text, "  {line}");
        }
        let _ = write!(text, "{} traces, {} goals met on the way of another. ", self.traces, self.contained);
        let faults = self.faults.len() + self.broken.len();
        let _ = match (checked, faults) {
            (_, _) if self.cut => writeln!(text, "CUT SHORT."),
            (true, 0) => writeln!(text, "All are as the model makes them; {} proved to be the shortest.", self.proved),
            (false, 0) => writeln!(text, "{} changes.", self.changes.len()),
            (_, 1) => writeln!(text, "1 fault."),
            (_, faults) => writeln!(text, "{faults} faults."),
        };
        text
    }
}

/// A goal with its configuration.
type Chosen<'a> = (&'a Goal, &'a Arc<dyn Subject>);

/// The goals that the globs name, with their configurations.
fn chosen<'a>(entry: &'a Entry, globs: &[String]) -> Result<Vec<Chosen<'a>>, ExportError> {
    let broken = |message| ExportError::Goals { protocol: entry.name, message };
    let mut ids = BTreeSet::new();
    let mut goals = Vec::new();
    for goal in &entry.goals {
        for id in std::iter::once(&goal.id).chain(&goal.twin) {
            if !ids.insert(id.as_str()) {
                return Err(broken(format!("two traces are called {id}")));
            }
        }
        let subject = entry
            .subject(&goal.configuration)
            .ok_or_else(|| broken(format!("{} is to be found in {}, which is none", goal.id, goal.configuration)))?;
        if globs.is_empty() || globs.iter().any(|glob| matches(glob, goal.id.as_str())) {
            goals.push((goal, subject));
        }
    }
    Ok(goals)
}

fn known(registry: &Registry, globs: &[String]) -> Result<(), UnknownName> {
    let ids = || registry.protocols.iter().flat_map(|entry| &entry.goals).map(|goal| goal.id.as_str());
    match globs.iter().find(|glob| !ids().any(|id| matches(glob, id))) {
        Some(glob) => Err(UnknownName::new("goal", glob, ids().map(str::to_owned))),
        None => Ok(()),
    }
}

/// A search of one configuration for some goals, by their index.
struct Group<'a> {
    subject: &'a Arc<dyn Subject>,
    goals: Vec<usize>,
}

/// The shortest paths to goals, in their order. Each configuration is searched once, for all its goals.
fn seek_all(
    protocol: &'static str,
    goals: &[Chosen<'_>],
    threads: usize,
    limits: &Limits,
) -> Result<Sought, ExportError> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for (index, (_, subject)) in goals.iter().enumerate() {
        match groups.iter_mut().find(|group| group.subject.name() == subject.name()) {
            Some(group) => group.goals.push(index),
            None => groups.push(Group { subject, goals: vec![index] }),
        }
    }
    let all = Mutex::new(Sought { paths: vec![None; goals.len()], cut: None });
    let fault = Mutex::new(None);
    let queue = Mutex::new(groups.into_iter());
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some(group) = next else { break };
                    let aims: Vec<&Aim> = group.goals.iter().map(|index| &goals[*index].0.aim).collect();
                    match group.subject.seek(&aims, limits) {
                        Ok(sought) => {
                            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                            all.cut = all.cut.or(sought.cut);
                            for (index, path) in group.goals.iter().zip(sought.paths) {
                                all.paths[*index] = path;
                            }
                        }
                        Err(error) => {
                            let message = format!("{}: {error}", group.subject.name());
                            *fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
                        }
                    }
                }
            });
        }
    });
    match fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(message) => Err(ExportError::Goals { protocol, message }),
        None => Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// The goals whose trace another one contains: same configuration, and the path is the beginning of the other's. A
/// counterexample is always kept. Of equal paths the first goal's is kept.
fn contained(goals: &[Chosen<'_>], paths: &[Option<Indices>]) -> BTreeMap<usize, usize> {
    let mut found = BTreeMap::new();
    for (index, ((goal, subject), path)) in goals.iter().zip(paths).enumerate() {
        let (Some(path), false) = (path, matches!(goal.aim, Aim::Violation(_))) else { continue };
        // The longest that contains it: that one is contained in none itself.
        let container = goals
            .iter()
            .zip(paths)
            .enumerate()
            .filter(|(other, ((_, other_subject), other_path))| {
                other_subject.name() == subject.name()
                    && other_path.as_ref().is_some_and(|other_path| {
                        path.is_prefix_of(other_path) && (path != other_path || *other < index)
                    })
            })
            .max_by_key(|(other, (_, other_path))| {
                (other_path.as_ref().map(Indices::steps), std::cmp::Reverse(*other))
            });
        if let Some((other, _)) = container {
            found.insert(index, other);
        }
    }
    found
}

/// The file of a trace.
#[must_use]
pub fn file(directory: &Path, id: &TraceId) -> PathBuf {
    directory.join(format!("{id}.yaml"))
}

/// The directory of a protocol's traces: their ids begin with its name.
fn folder(directory: &Path, entry: &Entry) -> PathBuf {
    let first = entry.goals.first().and_then(|goal| goal.id.as_str().split('/').next());
    directory.join(first.unwrap_or(entry.name))
}

fn to_yaml(document: &Document) -> Result<String, ExportError> {
    reader::to_yaml(document).map_err(|error| ExportError::Syntax {
        path: PathBuf::from(document.header().id.as_str()),
        message: error.message,
    })
}

/// Every file below a directory.
fn files(directory: &Path) -> Result<BTreeSet<PathBuf>, ExportError> {
    let mut found = BTreeSet::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(path) = pending.pop() {
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ExportError::File { path, source }),
        };
        for entry in entries {
            let entry = entry.map_err(|source| ExportError::File { path: path.clone(), source })?;
            if entry.path().is_dir() {
                pending.push(entry.path());
            } else {
                found.insert(entry.path());
            }
        }
    }
    Ok(found)
}

fn write(path: &Path, text: &str, report: &mut Report) -> Result<(), ExportError> {
    let old = fs::read_to_string(path).ok();
    if old.as_deref() == Some(text) {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(parent).and_then(|()| fs::write(path, text));
    written.map_err(|source| ExportError::File { path: path.to_owned(), source })?;
    let what = if old.is_some() { "changed" } else { "new" };
    report.changes.push(format!("{what}: {}", path.display()));
    Ok(())
}

/// Writes the traces of the goals, and removes what no goal makes (unless only some goals are asked for).
pub fn export(registry: &Registry, options: &Options) -> Result<Report, ExportError> {
    known(registry, &options.globs)?;
    let mut report = Report::default();
    let mut all = Vec::new();
    for entry in &registry.protocols {
        all.extend(export_protocol(entry, options, &mut report)?);
    }
    if options.globs.is_empty() && !report.cut {
        report.gaps = gaps::gaps(registry, &all, &options.directory);
    }
    Ok(report)
}

/// A trace with the configuration and path that it is of; a twin has no path.
pub struct Made {
    /// The trace.
    pub document: Document,
    /// Where its path is to be followed.
    pub from: Option<(Arc<dyn Subject>, Indices)>,
}

fn export_protocol(entry: &Entry, options: &Options, report: &mut Report) -> Result<Vec<Made>, ExportError> {
    let goals = chosen(entry, &options.globs)?;
    let whole = options.globs.is_empty();
    let sought = seek_all(entry.name, &goals, options.threads, &options.limits)?;
    report.cut |= sought.cut.is_some();
    let recorded = Contained::read(&options.goals, entry.name)?.contained;
    let contained = if whole { contained(&goals, &sought.paths) } else { BTreeMap::new() };
    let mut made = Vec::new();
    let mut wanted = BTreeSet::new();
    for (index, ((goal, subject), path)) in goals.iter().zip(&sought.paths).enumerate() {
        let Some(path) = path else {
            let why = if sought.cut.is_some() { "was not found in time" } else { "does not exist" };
            report.faults.push(format!("{}: a path to it {why} in {}", goal.id, subject.name()));
            continue;
        };
        // Which traces contain others is known only of all of them together.
        if contained.contains_key(&index) || (!whole && recorded.contains_key(goal.id.as_str())) {
            report.contained += 1;
            continue;
        }
        let mut documents = vec![(subject.trace(goal, path), Some((Arc::clone(subject), path.clone())))];
        if goal.twin.is_some() {
            documents.push((subject.twin(goal, path), None));
        }
        for (document, from) in documents {
            match document {
                Ok(document) => {
                    let path = file(&options.directory, &document.header().id);
                    let text = to_yaml(&document)?;
                    // What the reader would refuse must not get as far as a file.
                    match reader::document(&text) {
                        Ok(read) if read == document => {}
                        Ok(_) => report.faults.push(format!("{}: it does not read back as it was written", goal.id)),
                        Err(error) => {
                            report.faults.push(format!("{}: it is no trace: {error}", goal.id));
                            continue;
                        }
                    }
                    write(&path, &text, report)?;
                    wanted.insert(path);
                    made.push(Made { document, from });
                    report.traces += 1;
                }
                Err(error) => report.faults.push(format!("{}: {error}", goal.id)),
            }
        }
    }
    if whole && !report.cut {
        for path in files(&folder(&options.directory, entry))?.difference(&wanted) {
            fs::remove_file(path).map_err(|source| ExportError::File { path: path.clone(), source })?;
            report.changes.push(format!("removed: {}", path.display()));
        }
        let names = |index: &usize| goals[*index].0.id.to_string();
        let contained = contained.iter().map(|(index, other)| (names(index), names(other))).collect();
        let path = Contained::file(&options.goals, entry.name);
        let text = yaml::to_string(&Contained { contained })
            .map_err(|error| ExportError::Syntax { path: path.clone(), message: error.message })?;
        write(&path, &text, report)?;
    }
    Ok(made)
}
