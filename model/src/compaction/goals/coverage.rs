//! The shortest path to each row of the tables.

use crate::protocol::{Aim, Goal};

/// Which rows are looked for in which bounds of which variant.
const COVERAGE: &[(&str, &[&str])] = &[
    (
        "delete-horizon-repaired/abort-protocol-1",
        &[
            "2.1 a log is worth a round: it is dirty",
            "2.2 the bound is the last stable offset",
            "2.2 the bound is the active segment",
            "2.7 a round is aborted, before any swap",
            "2.7 a round is aborted, between swaps",
            "2.7 a round is aborted, after the last swap",
            "3.4 a marker of the same epoch leaves the last data batch",
        ],
    ),
    (
        "kafka-4.4/lost-end",
        &["2.2 the checkpoint is above the log's end", "2.7 a truncation does not lower the checkpoint"],
    ),
    ("delete-horizon-repaired/minimum-lag", &["2.2 the bound is the minimum compaction lag"]),
    (
        "delete-horizon-repaired/pairs",
        &[
            "2.4 mapping begins inside a segment",
            "2.4 the map is full",
            "A2 data: nothing is left, the header is kept",
            "B1 a record above the mapped part",
            "B2 a record without a key",
            "2.6 the last batch of the round",
            "2.7 the checkpoint is written, after a partial round",
        ],
    ),
    (
        "delete-horizon-repaired/away-follower-transactions",
        &[
            "2.4 aborted data are not mapped",
            "2.4 the map is full, with the key already in it",
            "2.4 a gap at a segment's end is skipped",
            "A1 aborted data: gone",
            "A3 a marker whose data are still there",
            "3.1 an aborted transaction begins",
            "3.1 data of an aborted transaction",
            "3.1 data of a transaction that is not aborted",
            "3.1 ABORT, data seen: the entry is kept",
            "3.1 COMMIT, data seen",
            "3.3 a transaction's data below the bound, its marker above",
        ],
    ),
    (
        "kafka-4.4/away-follower-transactions",
        &["2.4 an aborted transaction from before the first dirty offset is looked at"],
    ),
    (
        "delete-horizon-repaired/empty-transactions",
        &[
            "2.5 segments are merged",
            "A4 a marker without data is stamped",
            "A5 a marker before its horizon",
            "A6 a marker at its horizon: gone",
            "3.1 ABORT, the entry but no data: the entry goes",
            "3.1 ABORT without an entry",
            "3.1 COMMIT, no data seen",
            "3.2 COMMIT of a transaction without data is stamped",
            "3.2 ABORT of a transaction without data is stamped",
            "3.2 COMMIT at its horizon",
            "3.2 ABORT at its horizon",
            "3.4 a marker of the next epoch clears it",
        ],
    ),
    (
        "delete-horizon-repaired/away-follower",
        &[
            "2.5 a group of one segment",
            "A2 data: nothing is left, gone",
            "B3 a value that is superseded",
            "B3 a tombstone that is superseded",
            "B4 a value that stays",
            "B5 a tombstone without a horizon",
            "C the batch is copied as it is",
            "2.7 a group is swapped",
            "2.7 the checkpoint is written, all of it was mapped",
            "6.1 a follower passes over a gap",
            "6.2 the second replica becomes leader",
        ],
    ),
    (
        "delete-horizon-repaired/stale-abort-entry-protocol-1",
        &[
            "A1 aborted data: the header is kept",
            "2.6 the last data batch of its producer",
            "3.1 an emptied data batch of an aborted transaction",
        ],
    ),
    (
        "delete-horizon-repaired/emptied-marker",
        &["A6 a marker at its horizon: emptied", "2.6 the marker stands for its producer"],
    ),
    (
        "kafka-4.4/pairs",
        &[
            "B1 a tombstone above the mapped part, at its horizon",
            "B6 a tombstone before its horizon",
            "C a tombstone above the mapped part is stamped",
        ],
    ),
    (
        "kafka-4.4/client-horizon",
        &[
            "B7 a tombstone at its horizon",
            "3.5 a reader passes over an emptied batch",
            "N6 a client's horizon is kept",
        ],
    ),
    (
        "kafka-4.4/away-follower",
        &["C the batch is stamped, all records retained", "6.1 a follower copies a batch with its horizon"],
    ),
    (
        "delete-horizon-repaired/lost-end",
        &["2.7 a truncation lowers the checkpoint", "2.7 a truncation above the checkpoint"],
    ),
    (
        "delete-horizon-repaired/crash-merged-protocol-1",
        &[
            "2.8 a crash outside a round",
            "2.8 a crash: the cleaned files go",
            "2.8 a crash: the swap is completed",
            "2.8 a crash: some old files were renamed already",
            "2.8 a crash after the final rename",
            "2.8 a crash before the checkpoint",
            "2.8 producers are replayed from the log",
        ],
    ),
    ("delete-horizon-repaired/crash-merged-protocol-2", &["2.8 a crash: old segments come back"]),
    ("delete-horizon-repaired/compact-and-delete", &["2.10 the oldest segment is deleted"]),
    ("delete-horizon-repaired/expiry", &["3.4 a producer is forgotten"]),
    (
        "delete-horizon-repaired/client-horizon",
        &["3.5 a reader reads a record", "3.5 a reader passes over a gap", "N6 a client's horizon is cleared"],
    ),
    ("kafka-4.4/pairs-map-of-two", &["C the batch is rebuilt", "C the batch is rebuilt with the horizon that it has"]),
    ("segment-mtime/late-first-round", &["4.1 the age of the file keeps it", "4.1 the age of the file lets it go"]),
    ("horizon-makes-dirty/idle", &["2.1 a log is worth a round: a horizon has passed"]),
    ("delete-horizon-repaired/pairs-map-of-two", &["C the batch is stamped, some records retained"]),
    (
        "delete-horizon-repaired/markers",
        &[
            "A7 an emptied marker: gone",
            "A7 an emptied marker: kept",
            "3.2 a marker goes, and that of an earlier transaction stays",
        ],
    ),
    ("delete-horizon-repaired/crash-protocol-1", &["3.1 an emptied data batch of a transaction that is not aborted"]),
    ("kafka-4.4/crash-protocol-2", &["3.4 an emptied marker is replayed"]),
    ("delete-horizon-repaired/aborted-data-and-reader", &["3.5 a reader skips aborted data"]),
];

pub(super) fn goals(goals: &mut Vec<Goal>) {
    for (configuration, labels) in COVERAGE {
        for label in *labels {
            cover(goals, configuration, label);
        }
    }
}

fn cover(goals: &mut Vec<Goal>, configuration: &str, label: &'static str) {
    let mut slug = String::new();
    for character in label.chars() {
        match character {
            '\'' => {}
            _ if character.is_ascii_alphanumeric() || character == '.' => slug.push(character.to_ascii_lowercase()),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let Ok(id) = format!("compaction/row/{}", slug.trim_end_matches('-')).parse() else { return };
    goals.push(Goal {
        id,
        title: label.to_owned(),
        configuration: format!("compaction/{configuration}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec!["KIP-534".to_owned()],
        twin: None,
    });
}

/// Why no generated trace has a label, or names an error, where that is meant.
#[must_use]
pub fn unreached(label: &str) -> Option<&'static str> {
    match label {
        "2.2 the checkpoint is below the log's start" => {
            Some("the bounds that delete a segment are too small to clean another first; see fixtures/written")
        }
        "2.1 a log is worth a round: it is overdue" | "2.1 a log is worth a round, and a dirtier one goes first" => {
            Some("the model weighs batches and a trace weighs bytes; a trace has one log")
        }
        _ => None,
    }
}
