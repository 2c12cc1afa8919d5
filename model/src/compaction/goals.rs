//! What is exported: each expected violation, and each row of the tables that the model can reach.
//!
//! Of the rows of the matrix that show the same violation of the same rules, the smallest has the goal. Slips and
//! coverage have lists of their own, `slips` and `coverage`.

mod coverage;
mod slips;

use crate::protocol::{Aim, Goal};

/// A violation: configuration, property, id, title, and what it rests on.
type Violation = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

/// The findings under Kafka's shipped rules.
const FINDINGS: &[Violation] = &[
    (
        "kafka-4.4/stale-abort-entry",
        "S2",
        "deleted-key-comes-back-after-partial-round",
        "A committed tombstone is taken for aborted, and the key that it deleted comes back for good",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-4.4/stale-abort-entry",
        "S13",
        "superseded-value-stays-after-partial-round",
        "A committed value is taken for aborted, and the value that it supersedes stays beside it for good",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-4.4/stale-abort-entry-protocol-1",
        "S2",
        "deleted-key-comes-back-after-partial-round-protocol-1",
        "The same where a marker carries the producer's own epoch: the deleted key comes back",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-4.4/early-stamp",
        "S3",
        "reader-misses-tombstone-above-the-mapped-part",
        "A tombstone is stamped though its round did not map it, and a reader of the value misses it though delete.retention.ms is not over",
        &["KIP-534", "MemoryRecords#filterTo"],
    ),
    (
        "kafka-4.4/early-stamp",
        "S6",
        "tombstone-stamped-above-the-mapped-part",
        "A tombstone is stamped in a round that did not map it, while the value below it is still there",
        &["KIP-534", "MemoryRecords#filterTo"],
    ),
    (
        "kafka-4.4/long-round",
        "S3'",
        "reader-misses-tombstone-after-long-round",
        "The horizon counts from the round's start, so a reader who meets the value during the round has less than delete.retention.ms",
        &["KIP-534", "Cleaner#clean"],
    ),
    (
        "kafka-4.4/idle",
        "L6",
        "nothing-goes-from-an-idle-log",
        "A horizon passes, nothing is written any more, and what should go stays for ever",
        &["KIP-534", "PR 10914", "LogCleanerManager#grabFilthiestCompactedLog"],
    ),
    (
        "kafka-4.4/emptied-marker",
        "S16'",
        "emptied-marker-forgets-the-epoch",
        "The emptied marker that stands for a producer does not tell its epoch, and after a replay a zombie is let in",
        &["KIP-534", "ProducerAppendInfo#appendEndTxnMarker"],
    ),
    (
        "kafka-4.4/client-horizon",
        "S3",
        "reader-misses-tombstone-with-a-clients-horizon",
        "A client writes the delete horizon itself, and a reader who has just met the value misses the tombstone",
        &["KIP-534", "LogValidator"],
    ),
    (
        "kafka-4.4/client-horizon",
        "S7",
        "tombstone-with-a-clients-horizon-goes-at-once",
        "A client writes the delete horizon itself, and the first round drops the tombstone",
        &["KIP-534", "LogValidator"],
    ),
    (
        "kafka-4.4/policy-and-truncation",
        "S13",
        "records-never-mapped-after-truncation-without-compaction",
        "The log is truncated while its policy is delete, the cleaner's checkpoint stays above, and what is written below it is never mapped",
        &["LogManager#truncateTo", "LogCleanerManager#maybeTruncateCheckpoint"],
    ),
    (
        "kafka-4.4/policy-and-truncation",
        "S12",
        "checkpoint-above-a-truncated-log",
        "The log is truncated while its policy is delete, and unstable records count as clean",
        &["LogManager#truncateTo", "LogCleanerManager#maybeTruncateCheckpoint"],
    ),
    (
        "kafka-4.4/lost-end",
        "S13",
        "records-never-mapped-after-lost-end",
        "An unclean start loses the end of the log, and what is then written below the cleaner's checkpoint is never mapped",
        &["LogLoader", "LogCleanerManager#cleanableOffsets"],
    ),
    (
        "kafka-4.4/lost-end",
        "S12",
        "checkpoint-above-a-lost-end",
        "An unclean start loses the end of the log, and unstable records count as clean",
        &["LogLoader", "LogCleanerManager#cleanableOffsets"],
    ),
    (
        "kafka-4.4/away-follower",
        "S2",
        "deleted-key-comes-back-with-a-follower",
        "A follower was away while a tombstone went from the leader's log; it becomes leader, and the key is back",
        &["KIP-534", "LogCleaner"],
    ),
    (
        "kafka-4.4/away-follower-transactions",
        "S8",
        "data-outlive-their-marker-on-a-follower",
        "A follower was away while a marker went from the leader's log; it becomes leader with data whose end it never learns",
        &["KIP-534", "LogCleaner"],
    ),
    (
        "kafka-4.4/abort-inside-merged-protocol-1",
        "S13",
        "superseded-value-stays-after-aborted-round",
        "A round is aborted behind a swap that moved the first dirty offset into a merged segment, and a committed value is taken for aborted",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-4.4/crash-inside-merged-protocol-1",
        "S13",
        "superseded-value-stays-after-crash",
        "The broker crashes behind a swap that moved the first dirty offset into a merged segment, and a committed value is taken for aborted",
        &["KIP-534", "Cleaner#buildOffsetMap"],
    ),
    (
        "kafka-3.9/lagging-high-watermark",
        "S17",
        "end-of-the-log-is-lost",
        "A round drops the last batch below the high watermark, and who copies the log never learns its end",
        &["KAFKA-17076"],
    ),
];

/// The rule before KIP-534, and the designs that it rejected.
const DESIGNS: &[Violation] = &[
    (
        "segment-mtime/rounds-recur-merged",
        "L2",
        "kafka-8522-tombstone-never-goes",
        "Each round writes the clean part anew, so that its file stays young and the tombstone never goes",
        &["KAFKA-8522", "KIP-534"],
    ),
    (
        "segment-mtime/markers-merged",
        "L4",
        "kafka-8522-marker-never-goes",
        "Each round writes the clean part anew, so that its file stays young and the marker never goes",
        &["KAFKA-8522", "KIP-534"],
    ),
    (
        "segment-mtime/late-first-round-reader",
        "S3",
        "kafka-4545-reader-misses-tombstone",
        "A tombstone is old before it is cleaned for the first time: it goes at once, and a reader of the value misses it",
        &["KAFKA-4545", "KIP-534"],
    ),
    (
        "segment-mtime/late-first-round",
        "S7",
        "kafka-4545-tombstone-goes-with-the-first-round",
        "A tombstone is old before it is cleaned for the first time, and goes with that round",
        &["KAFKA-4545", "KIP-534"],
    ),
    (
        "segment-mtime/markers",
        "S7",
        "kafka-4545-marker-goes-with-its-data",
        "A marker goes by the age of its file, counted while its transaction's data were still there",
        &["KAFKA-4545", "KIP-534"],
    ),
    (
        "segment-mtime/markers",
        "L6",
        "file-age-idle-log",
        "By the age of the file, too, nothing goes from a log that nobody writes to",
        &["KAFKA-8522"],
    ),
    (
        "segment-mtime/markers",
        "S16'",
        "file-age-emptied-marker-forgets-the-epoch",
        "By the age of the file, too, an emptied marker does not tell its producer's epoch",
        &["KIP-534"],
    ),
    (
        "tombstones-only/markers",
        "S7",
        "tombstones-only-marker-goes-with-its-data",
        "Horizons for tombstones alone: a marker still goes by the age of its file",
        &["KAFKA-4545", "KIP-534"],
    ),
    (
        "tombstones-only/markers-merged",
        "L4",
        "tombstones-only-marker-never-goes",
        "Horizons for tombstones alone: a marker's file stays young, and it never goes",
        &["KAFKA-8522", "KIP-534"],
    ),
    (
        "checkpoint-pair/frequent-rounds",
        "L2",
        "checkpoint-pair-tombstone-never-goes",
        "One pair of offset and time a partition: rounds more frequent than the retention renew it, and the tombstone never goes",
        &["KIP-534"],
    ),
    (
        "checkpoint-pair/markers",
        "S7",
        "checkpoint-pair-marker-goes-with-its-data",
        "One pair of offset and time a partition: a marker still goes by the age of its file",
        &["KIP-534"],
    ),
    (
        "checkpoint-pair/markers-merged",
        "L4",
        "checkpoint-pair-marker-never-goes",
        "One pair of offset and time a partition: a marker's file stays young, and it never goes",
        &["KIP-534"],
    ),
    (
        "checkpoint-list/altered-retention",
        "S7",
        "checkpoint-list-lower-retention-counts-at-once",
        "A list of offsets and times: a lower delete.retention.ms counts for tombstones that are already waiting",
        &["KIP-534"],
    ),
    (
        "checkpoint-list/another-replica",
        "L2",
        "checkpoint-list-another-replica-begins-anew",
        "A list of offsets and times stays with its broker: on another replica the wait begins anew",
        &["KIP-534"],
    ),
    (
        "checkpoint-list/lost-checkpoint",
        "L2",
        "checkpoint-list-lost-file-begins-anew",
        "A list of offsets and times is a file of its own: where it is lost, the wait begins anew",
        &["KIP-534"],
    ),
    (
        "record-header/altered-retention",
        "S7",
        "record-header-lower-retention-counts-at-once",
        "The time of the first clean round in a header: a lower delete.retention.ms counts for tombstones that are already waiting",
        &["KIP-534"],
    ),
    (
        "record-header/markers-merged",
        "L4",
        "record-header-marker-never-goes",
        "The time of the first clean round in a header of tombstones: a marker's file stays young, and it never goes",
        &["KIP-534"],
    ),
];

/// What a repair alone leaves.
const REPAIRS: &[Violation] = &[
    (
        "repaired-n1/long-round",
        "S3'",
        "mapped-part-alone-is-stamped-and-a-round-is-long",
        "Stamping what was mapped is not enough where the round takes long: a reader still has less than delete.retention.ms",
        &["KIP-534"],
    ),
    (
        "repaired-n2/stale-abort-entry",
        "S6",
        "stale-entries-repaired-and-stamped-early",
        "With the list of aborted transactions repaired a tombstone above the mapped part is still stamped",
        &["KIP-534"],
    ),
    (
        "repaired-n5/emptied-marker",
        "S13",
        "epoch-repaired-and-value-stays",
        "With the epoch of emptied markers repaired a committed value is still taken for aborted",
        &["KIP-534"],
    ),
    (
        "delete-horizon-repaired/another-replica",
        "L2",
        "another-replica-waits-for-a-follower",
        "With every repair a tombstone waits until the other replica has it, however long that takes",
        &["KIP-534"],
    ),
];

/// The violations that the oracle has as well, and one whose replicas have clocks that differ under the oracle.
const SHARED: &[&str] = &["nothing-goes-from-an-idle-log", "checkpoint-list-another-replica-begins-anew"];

/// Adds a violation. Where the oracle does the same, there is nothing that a twin could show.
fn violation(goals: &mut Vec<Goal>, (configuration, property, id, title, rests_on): &Violation) {
    let shared = SHARED.contains(id) || configuration.starts_with("delete-horizon-repaired/");
    let twin = if shared { None } else { format!("compaction/{id}-repaired").parse().ok() };
    let Ok(id) = format!("compaction/{id}").parse() else { return };
    goals.push(Goal {
        id,
        title: (*title).to_owned(),
        configuration: format!("compaction/{configuration}"),
        aim: Aim::Violation(property),
        rests_on: rests_on.iter().map(|text| (*text).to_owned()).collect(),
        twin,
    });
}

/// The goals of the exporter.
#[must_use]
pub fn goals() -> Vec<Goal> {
    let mut goals = Vec::new();
    for list in [FINDINGS, DESIGNS, REPAIRS] {
        for one in list {
            violation(&mut goals, one);
        }
    }
    slips::goals(&mut goals);
    coverage::goals(&mut goals);
    goals
}

pub use coverage::unreached;
