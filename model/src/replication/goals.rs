//! What traces are exported for: each expected violation with its twin, and the rows of the tables of
//! `docs/replication.md` that the small configurations reach (`coverage`).
//!
//! A trace is called after its scenario, its rules or its slip, and what it shows.

mod coverage;

use crate::protocol::{Aim, Goal};

/// The findings: id, title, configuration, property, and what they rest on.
const FINDINGS: &[(&str, &str, &str, &str, &[&str])] = &[
    (
        "acknowledged-record-lost-after-skipped-epoch",
        "A leader re-elected past an epoch that it never saw trusts what it remembers of a follower that has truncated since",
        "kafka-4.4/skipped-epoch",
        "P4b",
        &["KIP-320", "Partition#makeLeader", "Replica#resetReplicaState"],
    ),
    (
        "committed-record-truncated-to-high-watermark",
        "A follower truncates to its own high watermark, which trails the leader's, and leads next",
        "high-watermark/lost-message",
        "P1b",
        &["KIP-101", "KAFKA-1211"],
    ),
];

/// The other violations: configuration, what happens there, its properties, and what they rest on.
type Broken = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const BROKEN: &[Broken] = &[
    (
        "high-watermark/lost-message",
        "A follower truncates to its high watermark",
        &["P1c", "P1d", "P4b", "P4d", "P4e"],
        &["KIP-101"],
    ),
    (
        "kip-320-below-ibp-2.0+no-epoch-to-high-watermark/lost-message",
        "An answer without an epoch is taken for the high watermark",
        &["P1b", "P1c", "P1d", "P3'", "P4b", "P4d", "P4e"],
        &["KIP-279"],
    ),
    (
        "kip-320-below-ibp-2.0+min-with-high-watermark/lost-message",
        "An answer without an epoch is bounded by the high watermark",
        &["P1b", "P1c", "P1d", "P3'", "P4b", "P4d", "P4e"],
        &["KIP-279"],
    ),
    (
        "kip-101/fast-fail-over",
        "The leader does not know the follower's epoch, and its answer is taken for that epoch's",
        &["P1c", "P2a", "P3", "P4b"],
        &["KIP-279", "KAFKA-6361"],
    ),
    (
        "kip-320-below-ibp-2.0/fast-fail-over",
        "The leader does not know the follower's epoch, and its answer does not say so",
        &["P1c", "P2a", "P2b", "P3"],
        &["KIP-279", "KAFKA-6361"],
    ),
    (
        "kip-279/fast-fail-over",
        "A fetch does not say which epoch it is meant for",
        &["P1c", "P3'", "P4b"],
        &["KIP-320"],
    ),
    (
        "kip-320+epoch-not-marked/leader-without-records",
        "A leader that has not written in its epoch does not know that epoch",
        &["P1c", "P4b"],
        &["KAFKA-7415"],
    ),
    (
        "proposal-kept+cache-not-cleaned/empty-epochs",
        "A truncation that cuts nothing leaves an empty epoch, and the follower asks for it for ever",
        &["P7b"],
        &["KAFKA-10706"],
    ),
    (
        "proposal-kept+epoch-start-ignored/joins-at-high-watermark",
        "A replica joins the in-sync set at a high watermark that lags",
        &["P1c"],
        &["KAFKA-7128"],
    ),
    (
        "proposal-kept+diverging-fetch-counted/diverging-fetch",
        "The end of a log that diverges counts as the follower's position",
        &["P1c", "P4b"],
        &["KAFKA-13141"],
    ),
    (
        "proposal-kept+diverging-high-watermark/diverging-high-watermark",
        "The high watermark of a diverging answer is taken before the truncation",
        &["P4e"],
        &["KAFKA-14704"],
    ),
    (
        "kafka-4.4/skipped-epoch",
        "A leader re-elected past an epoch that it never saw keeps what it knew of the followers",
        &["P1c"],
        &["KIP-320", "Partition#makeLeader"],
    ),
    (
        "kafka-4.4/known-record",
        "A record that the leader knows from an answer drops the proposal that is unanswered",
        &["P1c", "P4b"],
        &["KIP-497", "Partition#makeLeader"],
    ),
    (
        "proposal-kept+committed-isr/maximal-set",
        "The high watermark does not wait for a replica that is being added",
        &["P1c", "P4b"],
        &["KIP-497"],
    ),
    (
        "proposal-kept+broker-epoch-unchecked/wiped-replica",
        "A proposal arrives after the replica that it adds has lost its disk",
        &["P1c"],
        &["KIP-903"],
    ),
    (
        "proposal-kept+high-watermark-below-min-isr/last-replica-standing",
        "The high watermark rises below min.insync.replicas",
        &["P1b", "P1c", "P4d"],
        &["KIP-966", "KAFKA-15583"],
    ),
    (
        "kip-320-below-ibp-2.0/old-broker-lost-message",
        "An older leader does not know the empty epoch that a newer follower asks for",
        &["P1b", "P1c", "P1d", "P4b", "P4d", "P4e"],
        &["KIP-101", "KAFKA-7415"],
    ),
    (
        "kip-320-below-ibp-2.0/old-broker-fast-fail-over",
        "An older leader does not know the epoch of a newer follower",
        &["P1c", "P2a", "P3", "P4b"],
        &["KIP-279"],
    ),
    (
        "kip-320-below-ibp-2.0/protocol-raised-at-a-fast-fail-over",
        "A follower whose inter-broker protocol is not raised yet asks for no epoch",
        &["P1c", "P2a", "P2b", "P3"],
        &["KIP-279"],
    ),
    (
        "kip-320+one-round/several-elections",
        "The search for where the logs part ends after its first answer",
        &["P1a", "P1b", "P1c", "P1d", "P2a", "P2b", "P3", "P4e"],
        &["KIP-279"],
    ),
    (
        "kip-279/zombie-follower",
        "A follower that misses an epoch fetches from who led before and leads again",
        &["P3"],
        &["KIP-320", "KAFKA-6880"],
    ),
    (
        "kip-320-first-try/expected-epoch",
        "The epoch of the last record does not say which epoch the follower is in",
        &["P1c"],
        &["KIP-320"],
    ),
    (
        "high-watermark/power-failure-of-both",
        "Both lose power, one loses a record, and the other trusts its high watermark",
        &["P3", "P4b"],
        &["KIP-101"],
    ),
    (
        "kip-320+follows-new-leader-only/missed-epoch",
        "A follower that misses an epoch goes on with a leader that it followed before",
        &["P1c", "P2a", "P2b", "P3"],
        &["KAFKA-7164"],
    ),
    (
        "kafka-4.0/late-diverging-answer",
        "A diverging answer comes late, when its leader leads again",
        &["P1c", "P3'", "P4b", "P4e"],
        &["KAFKA-18991"],
    ),
    (
        "future-replica-marked/disk-away",
        "A future replica whose disk was away goes by its length",
        &["P1c"],
        &["PR #4882", "ReplicaAlterLogDirsThread"],
    ),
    (
        "future-replica-asks-once/epoch-that-the-current-replica-lost",
        "A future replica asks once for the end of an epoch that the current replica has lost",
        &["P1c", "P2a", "P2b"],
        &["PR #4882", "ReplicaAlterLogDirsThread"],
    ),
    (
        "proposal-kept+future-high-watermark-unbounded/takes-over",
        "A future replica takes the current one's high watermark",
        &["P4a"],
        &["PR #4882", "ReplicaAlterLogDirsThread"],
    ),
    (
        "kip-320/lost-message-in-an-old-format",
        "The leader's message format has no epochs, and the answer is undefined",
        &["P1b", "P1c", "P1d", "P4e"],
        &["KIP-101", "KAFKA-7601"],
    ),
    (
        "proposal-kept/lost-message-in-an-old-format",
        "The leader's message format has no epochs",
        &["P1b", "P1c", "P4b", "P7b"],
        &["KIP-101", "KAFKA-7601"],
    ),
    (
        "kafka-4.4/skipped-epoch-then-failure",
        "A leader re-elected past an epoch that it never saw fails before the follower has fetched",
        &["P1d"],
        &["KIP-320", "Partition#makeLeader"],
    ),
];

/// Those that the oracle has as well: without a twin.
const UNREPAIRED: &[Broken] = &[
    (
        "proposal-kept/epoch-checkpoint-damaged",
        "A broker comes up with a damaged leader-epoch-checkpoint",
        &["P3'", "P4b", "P4e"],
        &["KAFKA-10432", "LeaderEpochCheckpointFile"],
    ),
    (
        "proposal-kept/middle-of-a-batch",
        "A follower without epochs comes back with a high watermark inside a batch",
        &["P3", "P4b"],
        &["PR #4882", "UnifiedLog#truncateTo"],
    ),
];

/// What a property forbids, in a title.
fn harm(property: &str) -> &'static str {
    match property {
        "P1a" => "two records are committed at one offset",
        "P1b" => "the next leader lacks a committed record",
        "P1c" => "an in-sync replica lacks a committed record",
        "P1d" => "the next leader lacks an acknowledged record",
        "P2a" | "P2b" => "two logs part for good",
        "P3" => "a follower whose log differs gets records",
        "P3'" => "a truncation cuts what both logs have",
        "P4a" => "a high watermark lies above its log's end",
        "P4b" => "an in-sync replica's log ends below the leader's high watermark",
        "P4d" => "the latest offset that clients are told falls",
        "P4e" => "a replica truncates below its own high watermark",
        "P7b" => "the search for where the logs part does not end",
        _ => "what was promised does not hold",
    }
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// `scenario/rules`, for the name of a trace: the slip's where there is one.
fn place(configuration: &str) -> Option<String> {
    let (rules, scenario) = configuration.split_once('/')?;
    let (_, slip) = rules.split_once('+').unwrap_or(("", rules));
    Some(format!("{scenario}/{slip}"))
}

fn violation(id: &str, title: String, configuration: &str, property: &'static str, rests_on: &[&str]) -> Option<Goal> {
    Some(Goal {
        id: format!("replication/{id}").parse().ok()?,
        title,
        configuration: format!("replication/{configuration}"),
        aim: Aim::Violation(property),
        rests_on: texts(rests_on),
        twin: Some(format!("replication/{id}-twin").parse().ok()?),
    })
}

fn each(broken: &'static [Broken]) -> impl Iterator<Item = Goal> {
    broken.iter().flat_map(|(configuration, what, properties, rests_on)| {
        properties.iter().filter_map(move |property| {
            let name = property.to_lowercase().replace('\'', "-exactly");
            let id = format!("{}/violates-{name}", place(configuration)?);
            violation(&id, format!("{what}: {}", harm(property)), configuration, property, rests_on)
        })
    })
}

/// The goals.
pub(super) fn goals() -> Vec<Goal> {
    let findings = FINDINGS.iter().filter_map(|(id, title, configuration, property, rests_on)| {
        violation(id, (*title).to_owned(), configuration, property, rests_on)
    });
    let unrepaired = each(UNREPAIRED).map(|goal| Goal { twin: None, ..goal });
    findings.chain(each(BROKEN)).chain(unrepaired).chain(coverage::goals()).collect()
}
