//! `export --check`: the stored traces against the model, without writing anything.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use fencepost_fixtures::reader;

use crate::path::Indices;
use crate::protocol::{Aim, Goal, Tier};
use crate::registry::{Entry, Registry, Subject};
use crate::show::{self, Source};

use super::{
    Chosen, Contained, ExportError, Made, Options, Report, chosen, contained, file, files, folder, gaps, known,
    seek_all, to_yaml,
};

/// Whose paths are proved to be the shortest again, by a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prove {
    /// Those of the smoke configurations.
    Smoke,
    /// All.
    All,
}

/// Follows each stored path, renders it again, and tells every difference.
pub fn verify(registry: &Registry, options: &Options, prove: Prove) -> Result<Report, ExportError> {
    known(registry, &options.globs)?;
    let mut report = Report::default();
    let mut all = Vec::new();
    for entry in &registry.protocols {
        all.extend(verify_protocol(entry, options, prove, &mut report)?);
    }
    if report.traces == 0 && report.faults.is_empty() && report.broken.is_empty() {
        report.faults.push("there is no trace to check, so nothing was checked".to_owned());
    }
    if options.globs.is_empty() {
        report.gaps = gaps::gaps(registry, &all, &options.directory);
    }
    Ok(report)
}

fn verify_protocol(
    entry: &Entry,
    options: &Options,
    prove: Prove,
    report: &mut Report,
) -> Result<Vec<Made>, ExportError> {
    let goals = chosen(entry, &options.globs)?;
    let recorded = Contained::read(&options.goals, entry.name)?.contained;
    let mut made = Vec::new();
    let mut wanted = BTreeSet::new();
    // The stored path to each goal; of a contained one, the beginning of its container's.
    let mut stored = vec![None; goals.len()];
    for (index, (goal, subject)) in goals.iter().enumerate() {
        if recorded.contains_key(goal.id.as_str()) {
            continue;
        }
        let path = file(&options.directory, &goal.id);
        wanted.insert(path.clone());
        if let Some(twin) = &goal.twin {
            wanted.insert(file(&options.directory, twin));
        }
        let Some(source) = stored_source(&path, report) else { continue };
        if source.configuration != subject.name() {
            report.faults.push(format!("{}: of {}, and not of {}", goal.id, source.configuration, subject.name()));
            continue;
        }
        if let Some(documents) = render_again(goal, subject, &source.path, options, report)? {
            made.extend(documents);
            stored[index] = Some(source.path);
        }
    }
    for (index, (goal, subject)) in goals.iter().enumerate() {
        let Some(container) = recorded.get(goal.id.as_str()) else { continue };
        report.contained += 1;
        let at = entry.goals.iter().find(|other| other.id.as_str() == container);
        let path =
            at.and_then(|other| stored_source(&file(&options.directory, &other.id), report).map(|source| source.path));
        let Some(path) = path else {
            report.faults.push(format!("{}: it should be met in {container}, which is no trace", goal.id));
            continue;
        };
        match subject.met_at(&goal.aim, &path) {
            Ok(Some(steps)) => stored[index] = Some(Indices(path.0[..=steps].to_vec())),
            Ok(None) => report.faults.push(format!("{}: {container} does not meet it", goal.id)),
            Err(error) => report.faults.push(format!("{}: {error}", goal.id)),
        }
    }
    if options.globs.is_empty() {
        for id in recorded.keys().filter(|id| !entry.goals.iter().any(|goal| goal.id.as_str() == id.as_str())) {
            report.faults.push(format!("{id}: recorded as met in another trace, and no goal"));
        }
        for path in files(&folder(&options.directory, entry))?.difference(&wanted) {
            report.faults.push(format!("{}: no goal makes it", path.display()));
        }
    }
    proofs(entry, &goals, &stored, options, prove, report)?;
    Ok(made)
}

fn stored_source(path: &Path, report: &mut Report) -> Option<Source> {
    if !path.exists() {
        report.faults.push(format!("{}: a goal makes it, and it is not there", path.display()));
        return None;
    }
    let source = show::read(path).and_then(|document| show::source(path, &document));
    source.map_err(|error| report.broken.push(error.to_string())).ok()
}

/// Renders a goal's traces from the stored path. `None` where the path does not lead to the goal.
fn render_again(
    goal: &Goal,
    subject: &Arc<dyn Subject>,
    path: &Indices,
    options: &Options,
    report: &mut Report,
) -> Result<Option<Vec<Made>>, ExportError> {
    match subject.met_at(&goal.aim, path) {
        Ok(Some(steps)) if steps == path.steps() => {}
        Ok(Some(steps)) => {
            report.faults.push(format!("{}: its goal is met after {steps} of its {} steps", goal.id, path.steps()));
            return Ok(None);
        }
        Ok(None) => {
            report.faults.push(format!("{}: its path does not lead to {}", goal.id, aim_text(&goal.aim)));
            return Ok(None);
        }
        Err(error) => {
            report.faults.push(format!("{}: its path is none of {} any more: {error}", goal.id, subject.name()));
            return Ok(None);
        }
    }
    let mut documents = vec![(subject.trace(goal, path), Some((Arc::clone(subject), path.clone())))];
    if goal.twin.is_some() {
        documents.push((subject.twin(goal, path), None));
    }
    let mut made = Vec::new();
    for (document, from) in documents {
        match document {
            Ok(document) => {
                report.traces += 1;
                let stored = file(&options.directory, &document.header().id);
                compare(&stored, &to_yaml(&document)?, report);
                made.push(Made { document, from });
            }
            Err(error) => report.faults.push(format!("{}: {error}", goal.id)),
        }
    }
    Ok(Some(made))
}

fn aim_text(aim: &Aim) -> String {
    match aim {
        Aim::Violation(property) => format!("a violation of {property}"),
        Aim::Label(labels) => format!("a step `{}`", labels.join(" + ")),
    }
}

fn compare(path: &Path, expected: &str, report: &mut Report) {
    let stored = match fs::read_to_string(path) {
        Ok(stored) => stored,
        Err(error) => {
            report.faults.push(format!("{}: {error}", path.display()));
            return;
        }
    };
    if stored == expected {
        return;
    }
    // A file that is no trace at all is another kind of fault.
    if let Err(error) = reader::document(&stored) {
        report.broken.push(format!("{}: {error}", path.display()));
        return;
    }
    let lines = stored.lines().zip(expected.lines()).take_while(|(stored, expected)| stored == expected).count();
    let line = |text: &str| text.lines().nth(lines).unwrap_or("(its end)").trim().to_owned();
    report.faults.push(format!(
        "{}:{}: `{}`, and the model says `{}`",
        path.display(),
        lines + 1,
        line(&stored),
        line(expected)
    ));
}

/// Searches for the goals again. The search is deterministic, so the path itself has to come out.
fn proofs(
    entry: &Entry,
    goals: &[Chosen<'_>],
    stored: &[Option<Indices>],
    options: &Options,
    prove: Prove,
    report: &mut Report,
) -> Result<(), ExportError> {
    let (proved, paths): (Vec<_>, Vec<_>) = goals
        .iter()
        .zip(stored)
        .filter(|((_, subject), path)| path.is_some() && (prove == Prove::All || subject.tier() == Tier::Smoke))
        .map(|((goal, subject), path)| ((*goal, *subject), path.clone()))
        .unzip();
    let sought = seek_all(entry.name, &proved, options.threads, &options.limits)?;
    report.cut |= sought.cut.is_some();
    for (((goal, _), stored), found) in proved.iter().zip(&paths).zip(&sought.paths) {
        match (stored, found) {
            (Some(stored), Some(found)) if stored == found => report.proved += 1,
            (Some(stored), Some(found)) => report.faults.push(format!(
                "{}: its path has {} steps, and the first of the shortest has {}: {found}",
                goal.id,
                stored.steps(),
                found.steps()
            )),
            // The stored path leads there, so a search that ended would have found one.
            _ => {}
        }
    }
    if options.globs.is_empty() && prove == Prove::All && sought.cut.is_none() {
        let recorded = Contained::read(&options.goals, entry.name)?.contained;
        let names = |index: usize| proved[index].0.id.to_string();
        let now = contained(&proved, &sought.paths).into_iter().map(|(index, other)| (names(index), names(other)));
        if now.collect::<std::collections::BTreeMap<_, _>>() != recorded {
            report.faults.push(format!("{}: which traces contain others has changed; export again", entry.name));
        }
    }
    Ok(())
}
