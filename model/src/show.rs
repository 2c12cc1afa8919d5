//! `show`: a path as numbered steps, as a sequence diagram in Mermaid's text, or as a trace.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use fencepost_fixtures::Document;
use fencepost_fixtures::error::ReadError;
use fencepost_fixtures::reader::{self, Reader};
use fencepost_fixtures::trace::Origin;

use crate::check::report::numbered;
use crate::path::{Indices, PathError};
use crate::protocol::{Aim, Goal};
use crate::registry::{RenderError, Subject, UnknownName};

/// How a path is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Numbered steps
    Text,
    /// A sequence diagram, as Mermaid text
    Mermaid,
    /// A trace
    Yaml,
}

/// Why a stored trace can't be followed in the model.
#[derive(Debug, thiserror::Error)]
pub enum StoredError {
    /// The file is no trace.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file has more than one trace.
    #[error("{}: one trace is expected here, and the file has several", path.display())]
    Several {
        /// The file.
        path: PathBuf,
    },
    /// The trace has no path.
    #[error("{}: this trace is no path of the model ({what}); `fencepost-conformance show` shows it", path.display())]
    NoPath {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: &'static str,
    },
    /// The path does not fit the model.
    #[error("{}: the trace no longer fits {configuration}: {source}. `fencepost-model export` makes it anew", path.display())]
    Unfit {
        /// The file.
        path: PathBuf,
        /// The configuration.
        configuration: String,
        /// Where it parts.
        source: PathError,
    },
    /// The path ends elsewhere.
    #[error(
        "{}: the trace no longer fits {configuration}: {property} holds at its end. `fencepost-model export` makes it anew",
        path.display()
    )]
    NoViolation {
        /// The file.
        path: PathBuf,
        /// The configuration.
        configuration: String,
        /// The property that the trace is a counterexample of.
        property: String,
    },
    /// The configuration is gone.
    #[error("{}: {source}", path.display())]
    Configuration {
        /// The file.
        path: PathBuf,
        /// Which.
        source: UnknownName,
    },
}

/// Reads a file with one trace.
pub fn read(path: &Path) -> Result<Document, StoredError> {
    let mut reader = Reader::new();
    let mut stream = reader.file(path)?;
    // The reader takes a file without a trace for an error, so there is a first one.
    match (stream.next().transpose()?, stream.next()) {
        (Some(fixture), None) => Ok(fixture.document),
        _ => Err(StoredError::Several { path: path.to_owned() }),
    }
}

/// Where a trace comes from in the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The configuration's name.
    pub configuration: String,
    /// The path.
    pub path: Indices,
    /// The property that is violated at its end, if the trace is for that.
    pub property: Option<String>,
}

/// The path of a trace that was read from `file`.
pub fn source(file: &Path, document: &Document) -> Result<Source, StoredError> {
    let no_path = |what| StoredError::NoPath { path: file.to_owned(), what };
    let (configuration, path, property) = match &document.header().origin {
        Origin::Counterexample { configuration, path, property } => (configuration, path, Some(property.clone())),
        Origin::Coverage { configuration, path, .. } | Origin::Simulation { configuration, path, .. } => {
            (configuration, path, None)
        }
        Origin::Twin { .. } => return Err(no_path("a twin, which repeats choices of another trace")),
        Origin::Regression { .. } => return Err(no_path("written from a report")),
        Origin::Written { .. } => return Err(no_path("written by hand")),
    };
    let path = path.parse().map_err(|source| StoredError::Unfit {
        path: file.to_owned(),
        configuration: configuration.clone(),
        source,
    })?;
    Ok(Source { configuration: configuration.clone(), path, property })
}

/// Fails where a path of a stored trace does not lead where it should in `subject`.
pub fn fits(file: &Path, subject: &dyn Subject, source: &Source) -> Result<(), StoredError> {
    let configuration = || subject.name().to_owned();
    let violated = subject.violated(&source.path).map_err(|error| StoredError::Unfit {
        path: file.to_owned(),
        configuration: configuration(),
        source: error,
    })?;
    match &source.property {
        Some(property) if !violated.iter().any(|claim| claim.id == property) => Err(StoredError::NoViolation {
            path: file.to_owned(),
            configuration: configuration(),
            property: property.clone(),
        }),
        _ => Ok(()),
    }
}

/// A path as numbered steps, under a line that says what it shows: a violation of `property`, or just the path.
pub fn text(subject: &dyn Subject, path: &Indices, property: Option<&str>) -> Result<String, PathError> {
    let mut text = String::new();
    let steps = path.steps();
    let violated = subject.violated(path)?;
    let _ = match violated.iter().find(|claim| property == Some(claim.id)) {
        Some(claim) => writeln!(text, "{} \"{}\" fails in {steps} steps:", claim.id, claim.statement),
        None => writeln!(text, "{steps} steps of {}:", subject.name()),
    };
    text.push_str(&numbered(&subject.narrate(path)?));
    for claim in violated.iter().filter(|claim| property != Some(claim.id)) {
        let _ = writeln!(text, "The last state violates {} \"{}\", too.", claim.id, claim.statement);
    }
    Ok(text)
}

/// The trace of a counterexample that is no goal of the exporter (yet): its id is made of the configuration's name.
pub fn yaml(subject: &dyn Subject, path: &Indices, property: &str) -> Result<String, RenderError> {
    let name = subject.name().replace('+', "-with-").to_lowercase();
    let id = format!("{name}/{}", property.to_lowercase()).parse().map_err(RenderError::Trace)?;
    let claim = subject.properties().into_iter().find(|claim| claim.id == property);
    let Some(claim) = claim else { return Err(RenderError::Trace(format!("there is no property {property}"))) };
    let goal = Goal {
        id,
        title: format!("Not so: {}", claim.statement),
        configuration: subject.name().to_owned(),
        aim: Aim::Violation(claim.id),
        rests_on: Vec::new(),
        twin: None,
    };
    let document = subject.trace(&goal, path)?;
    reader::to_yaml(&document).map_err(|error| RenderError::Trace(error.message))
}
