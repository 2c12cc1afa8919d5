//! What is exported: each expected violation, and each row of the tables that the model can reach.

use super::catalogue::ORACLE;
use crate::protocol::{Aim, Goal};

/// A violation: configuration, property, id, title, and what it rests on.
type Violation = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

/// The findings, and the reports that KIP-534 answers.
const FINDINGS: &[Violation] = &[
    (
        "kafka-4.4/stale-abort-entry",
        "S13",
        "deleted-key-comes-back-after-partial-round",
        "A committed tombstone is taken for aborted, and the key that it deleted comes back for good",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-4.4/early-stamp",
        "S3",
        "tombstone-is-stamped-before-its-key-is-clean",
        "A reader meets the value, and misses the tombstone long before delete.retention.ms is over",
        &["KIP-534", "MemoryRecords#filterTo"],
    ),
];

/// The violations that the oracle has as well: nothing for a twin to show.
const SHARED: &[&str] = &[];

/// The goals of the exporter.
#[must_use]
pub fn goals() -> Vec<Goal> {
    let mut goals = Vec::new();
    for (configuration, property, id, title, rests_on) in FINDINGS {
        let twin = if SHARED.contains(id) { None } else { format!("compaction/{id}-repaired").parse().ok() };
        let Ok(id) = format!("compaction/{id}").parse() else { continue };
        goals.push(Goal {
            id,
            title: (*title).to_owned(),
            configuration: format!("compaction/{configuration}"),
            aim: Aim::Violation(property),
            rests_on: rests_on.iter().map(|text| (*text).to_owned()).collect(),
            twin,
        });
    }
    let _ = ORACLE;
    goals
}

/// Why no generated trace has a label, or names an error, where that is meant.
#[must_use]
pub fn unreached(label: &str) -> Option<&'static str> {
    let _ = label;
    None
}
