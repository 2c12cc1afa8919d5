//! What no trace reaches: labels of the model's steps, and Kafka's errors.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fencepost_fixtures::{Document, reader};
use serde_json::Value;

use crate::registry::Registry;

use super::{Made, files};

/// A line for each label that no generated trace has, and for each error that no trace names, generated or written.
#[must_use]
pub fn gaps(registry: &Registry, made: &[Made], directory: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    // A protocol without goals exports nothing on purpose: all of it would be a gap.
    let exported = || registry.protocols.iter().filter(|entry| !entry.goals.is_empty());
    for entry in exported() {
        let mut reached = BTreeSet::new();
        let mut names: Vec<&'static str> = Vec::new();
        for subject in &entry.subjects {
            for name in subject.label_names() {
                if !names.contains(name) {
                    names.push(name);
                }
            }
        }
        for (subject, path) in made.iter().filter_map(|made| made.from.as_ref()) {
            if entry.subject(subject.name()).is_some() {
                reached.extend(subject.labels_on(path).unwrap_or_default());
            }
        }
        for name in names.iter().filter(|name| !reached.contains(*name)) {
            let why = (entry.unreached)(name).map_or_else(String::new, |why| format!(": {why}"));
            lines.push(format!("{}: the label `{name}`{why}", entry.name));
        }
    }
    let mut errors = BTreeSet::new();
    for document in made.iter().map(|made| &made.document) {
        collect(document, &mut errors);
    }
    // Traces that are written by hand stand beside the generated ones.
    let written = directory.parent().map(|parent| parent.join("written")).unwrap_or_default();
    for path in files(&written).unwrap_or_default() {
        if let Some(document) = fs::read_to_string(path).ok().and_then(|text| reader::document(&text).ok()) {
            collect(&document, &mut errors);
        }
    }
    for entry in exported() {
        for name in entry.errors.iter().map(|error| error.name()).filter(|name| !errors.contains(*name)) {
            let why = (entry.unreached)(name).map_or_else(String::new, |why| format!(": {why}"));
            lines.push(format!("{}: the error {name}{why}", entry.name));
        }
    }
    lines
}

/// The errors that a trace names, wherever they stand.
fn collect(document: &Document, errors: &mut BTreeSet<String>) {
    fn walk(value: &Value, errors: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    match value {
                        Value::String(name) if key == "error" => {
                            errors.insert(name.clone());
                        }
                        _ => walk(value, errors),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|value| walk(value, errors)),
            _ => {}
        }
    }
    let value = match document {
        Document::Fencing(trace) => serde_json::to_value(trace),
        Document::Compaction(trace) => serde_json::to_value(trace),
        Document::Replication(trace) => serde_json::to_value(trace),
        Document::Consumer(trace) => serde_json::to_value(trace),
    };
    if let Ok(value) = value {
        walk(&value, errors);
    }
}
