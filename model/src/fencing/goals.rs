//! What is exported: each expected violation, and each row of the tables that the model can reach.
//!
//! A violation is a variant, or a variant with a slip, and a property. It is sought in the smallest bounds in which it is
//! expected; the larger rows of the matrix that fail alike have no trace of their own. Where the oracle or another variant
//! fails with the very same steps, the trace's `holds_for` names it. `slips` has those of the slips.

mod slips;

use super::traces::ORACLE;
use crate::protocol::{Aim, Goal};

const BASE: &str = "two-members-two-targets";

fn violation(
    goals: &mut Vec<Goal>,
    configuration: &str,
    property: &'static str,
    id: &str,
    title: &str,
    rests_on: &[&str],
) {
    // Where the oracle does the same, there is nothing that a twin could show.
    let twin = match property {
        _ if SHARED.contains(&id) => None,
        "S3" => format!("fencing/{id}-refused").parse().ok(),
        _ => format!("fencing/{id}-under-the-oracle").parse().ok(),
    };
    let Ok(id) = format!("fencing/{id}").parse() else { return };
    goals.push(Goal {
        id,
        title: title.to_owned(),
        configuration: configuration.to_owned(),
        aim: Aim::Violation(property),
        rests_on: rests_on.iter().map(|text| (*text).to_owned()).collect(),
        twin,
    });
}

/// The violations that the oracle has as well.
const SHARED: &[&str] = &[
    "late-heartbeat-takes-the-revocation-with-it",
    "revocation-that-nobody-hears-lasts",
    "revocation-that-nobody-hears-makes-others-wait",
    "restarted-static-member-is-turned-away",
    "owner-refused-after-a-rollback",
    "partition-granted-again-at-the-same-epoch",
];

/// The goals of the exporter.
#[must_use]
pub fn goals() -> Vec<Goal> {
    let mut goals = Vec::new();
    let base = |variant: &str| format!("fencing/{variant}/{BASE}");
    violation(
        &mut goals,
        &base("kafka-4.3"),
        "S3",
        "late-commit-after-second-revocation",
        "A late commit of the previous owner is accepted, though the partition is another's by now",
        &["KIP-1251", "KAFKA-19974", "ConsumerGroup#validateOffsetCommit"],
    );
    violation(
        &mut goals,
        "fencing/kafka-4.4/smaller-subscription",
        "S3",
        "late-commit-after-smaller-subscription",
        "A late commit is accepted after a subscription shrank while the target waited, though the partition is another's",
        &["KIP-1251", "KIP-1263", "KAFKA-19431", "ConsumerGroup#validateOffsetCommit"],
    );
    violation(
        &mut goals,
        &base("kafka-4.2"),
        "S3",
        "late-commit-after-second-revocation-under-the-strict-check",
        "The strict check does not refuse the late commit either, since the member epoch is kept",
        &["KIP-848", "KAFKA-19974", "ConsumerGroup#validateOffsetCommit"],
    );
    violation(
        &mut goals,
        &base("revocation-epoch-kept"),
        "S3",
        "late-commit-after-second-revocation-under-a-revocation-epoch",
        "One revocation epoch a member does not refuse the late commit either",
        &["KIP-1251"],
    );
    violation(
        &mut goals,
        &base("no-fencing"),
        "S3",
        "late-commit-without-fencing",
        "Without a fence the previous owner's late commit is accepted, though the partition is another's by now",
        &["KIP-1251"],
    );
    for (variant, id) in
        [("kafka-4.0", "owner-refused-by-the-strict-check"), ("kafka-4.2", "owner-refused-by-the-strict-check-of-4.2")]
    {
        violation(
            &mut goals,
            &base(variant),
            "S4",
            id,
            "The owner's commit is refused, because its member epoch rose while the commit was on its way",
            &["KIP-1251", "KAFKA-20066"],
        );
    }
    for (variant, id) in [
        ("revocation-epoch-bumped", "owner-refused-by-a-revocation-epoch"),
        ("revocation-epoch-kept", "owner-refused-by-a-revocation-epoch-of-kept-epochs"),
    ] {
        violation(
            &mut goals,
            &base(variant),
            "S4",
            id,
            "One revocation epoch a member refuses the commit of a partition that the member never gave up",
            &["KIP-1251"],
        );
    }
    for (configuration, property, id, title) in FURTHER {
        violation(&mut goals, configuration, property, id, title, &["KIP-848", "KIP-1251"]);
    }
    slips::goals(&mut goals);
    for (bounds, labels) in COVERAGE {
        for label in *labels {
            cover(&mut goals, bounds, label);
        }
    }
    goals
}

/// Expected violations beside those of the eight rows.
const FURTHER: &[(&str, &str, &str, &str)] = &[
    (
        "fencing/kafka-4.4/transaction-two-targets",
        "S3",
        "late-transactional-commit-after-second-revocation",
        "A producer's late commit of the previous owner is staged, though another owns the partition",
    ),
    (
        "fencing/kafka-4.4/one-lost-answer",
        "L1",
        "late-heartbeat-takes-the-revocation-with-it",
        "A heartbeat that is handled after its retry is answered the revocation, and nobody hears it",
    ),
    (
        "fencing/kafka-4.4/one-lost-answer",
        "L2",
        "revocation-that-nobody-hears-lasts",
        "A revocation that was answered to an older heartbeat alone is never acknowledged",
    ),
    (
        "fencing/kafka-4.4/one-lost-answer",
        "L3",
        "revocation-that-nobody-hears-makes-others-wait",
        "A member waits for ever for a partition whose owner never heard that it is to give it up",
    ),
    (
        "fencing/no-fencing/two-members-two-targets",
        "S3'",
        "late-commit-with-an-older-epoch-without-fencing",
        "Without a fence a late commit with an older epoch is accepted, though the partition is another's by now",
    ),
    (
        "fencing/no-fencing/two-members-two-targets",
        "S7",
        "commit-from-before-the-grant-without-fencing",
        "Without a fence a commit from before a partition was granted anew is accepted",
    ),
    (
        "fencing/kafka-4.0/session-timer-and-lost-answer",
        "L1",
        "rejoining-member-holds-the-target-up",
        "Before 4.2 a removed member that lost an answer is fenced again and again, and the target is never reached",
    ),
    (
        "fencing/kafka-4.4/static-restart",
        "L5",
        "restarted-static-member-is-turned-away",
        "A static member that starts again without having left is refused while its session lasts",
    ),
    (
        "fencing/kafka-4.4/rollback",
        "S4",
        "owner-refused-after-a-rollback",
        "After a fail-over to an older broker the owner's commit is refused, as the older broker always did",
    ),
    (
        "fencing/kafka-4.0/session-timer-and-lost-answer",
        "L5",
        "rejoining-member-is-fenced-again",
        "Before 4.2 a removed member that lost an answer does not get back in while the coordinator knows it",
    ),
    (
        "fencing/client-exclusion/one-commit-answer-lost",
        "S4",
        "owner-refused-although-its-client-excludes",
        "A client that keeps commits and heartbeats apart is still refused once it gave up an answer",
    ),
    (
        "fencing/assignment-epoch-owned/two-subscriptions-and-interval",
        "S6",
        "partition-granted-again-at-the-same-epoch",
        "While a target waits for the interval a partition is released and granted again at the same assignment epoch",
    ),
];

/// Which rows of the tables are looked for in which bounds of the oracle.
const COVERAGE: &[(&str, &[&str])] = &[
    (
        BASE,
        &[
            "2.3 row 3: the epoch is the member epoch",
            "2.4 changed metadata raises the group epoch",
            "2.4 row 4: a new target is computed",
            "2.4 row 5: nothing to reconcile",
            "2.4 row 7: the answer carries the assignment",
            "2.4 row 7: the answer carries no assignment",
            "2.5 STABLE behind the target: NEXT",
            "2.5 UNREVOKED, still reported: waits",
            "2.5 UNREVOKED, still reported, a newer target is ignored",
            "2.5 UNREVOKED, given up: NEXT",
            "2.5 UNRELEASED: NEXT",
            "2.5 NEXT: partitions are asked back",
            "2.5 NEXT: partitions are granted",
            "2.5 NEXT: partitions are still another's",
            "2.5 NEXT: a partition that was asked back is granted anew",
            "2.5 from STABLE to STABLE",
            "2.5 from STABLE to UNREVOKED",
            "2.5 from STABLE to UNRELEASED",
            "2.5 from UNREVOKED to STABLE",
            "2.5 from UNREVOKED to UNREVOKED",
            "2.5 from UNREVOKED to UNRELEASED",
            "2.5 from UNRELEASED to STABLE",
            "2.5 from UNRELEASED to UNRELEASED",
            "3.3 row 5: the member epoch, by the owner",
            "3.3 row 5: the member epoch, of a partition that the member does not own",
            "3.3 row 5: the member epoch, of a partition that another member owns",
            "3.3 row 7: an older epoch, not below the assignment epoch",
            "3.3 row 7: an older epoch, of a partition that was asked back",
            "3.3 row 7: an older epoch, of a partition that is not the member's: stale",
            "3.3 row 7: below the assignment epoch: stale",
        ],
    ),
    ("full-group", &["2.2 the group is full: GROUP_MAX_SIZE_REACHED"]),
    (
        "leave-and-return",
        &[
            "2.2 the member does not exist: UNKNOWN_MEMBER_ID",
            "2.2 a dynamic member is created",
            "2.3 row 1: a known member joins again",
            "2.4 a first subscription raises the group epoch",
            "2.5 NEXT: what is to be given up is not reported any more",
            "2.6 a dynamic member leaves",
            "2.8 the last member goes",
        ],
    ),
    (
        "two-static-members",
        &[
            "2.2 a static member is created",
            "2.2 no static member with this instance id: UNKNOWN_MEMBER_ID",
            "2.6 the member does not exist: UNKNOWN_MEMBER_ID",
        ],
    ),
    (
        "static-restart",
        &[
            "2.2 the instance id is in use: UNRELEASED_INSTANCE_ID",
            "2.7 a static member is replaced",
            "2.6 a static member leaves for good",
            "2.6 a static member leaves for a while",
            "2.6 a static member leaves for a while in a revocation",
        ],
    ),
    ("static-restart-and-lost-answer", &["2.2 the instance id is another member's: FENCED_INSTANCE_ID"]),
    ("static-leave-and-lost-answer", &["2.3 row 2: the epoch is above the member epoch: FENCED_MEMBER_EPOCH"]),
    (
        "one-lost-answer",
        &[
            "2.3 row 4: the previous epoch, and all that is owned is assigned",
            "2.3 row 4: an older epoch that is not the previous one: FENCED_MEMBER_EPOCH",
            "2.3 row 4: the previous epoch without an owned set: FENCED_MEMBER_EPOCH",
        ],
    ),
    (
        "alone-with-smaller-subscription",
        &[
            "2.3 row 4: the previous epoch, owning what is not assigned: FENCED_MEMBER_EPOCH",
            "2.5 STRIP: partitions that are not reported are taken away",
        ],
    ),
    (
        "smaller-subscription",
        &[
            "2.4 a changed subscription raises the group epoch",
            "2.4 row 4: the new target waits for the assignment interval",
            "2.5 STABLE at the target, subscription changed: STRIP",
            "2.5 UNREVOKED, still reported, subscription changed: STRIP",
            "2.5 STRIP: nothing of an unsubscribed topic",
            "2.5 STRIP: partitions are asked back",
            "2.4 the assignment interval is over",
        ],
    ),
    ("session-timer", &["2.9 a session timer runs out"]),
    ("rebalance-timer", &["2.9 a rebalance timer runs out"]),
    ("static-leave-and-rebalance-timer", &["2.9 a rebalance timer of an older epoch runs out"]),
    ("session-timer-and-commit", &["3.3 row 3: the member does not exist: UNKNOWN_MEMBER_ID"]),
    (
        "rollback",
        &[
            "3.3 row 7: an older epoch: stale under the rule in force",
            "3.7 assignment epochs are missing from the records: the member epoch stands in",
            "3.8 an older broker takes over",
        ],
    ),
    (
        "transaction",
        &[
            "3.4 a stale transactional commit: STALE_MEMBER_EPOCH",
            "3.4 a transactional commit is staged",
            "3.4 a marker makes staged offsets the committed ones",
            "3.4 a marker meets a newer plain commit, which stays",
            "3.4 a marker drops staged offsets",
            "3.4 a marker of a producer that staged nothing",
        ],
    ),
    (
        "session-timer-and-fetch",
        &[
            "3.6 the member does not exist: UNKNOWN_MEMBER_ID",
            "3.6 the epoch is not the member epoch: STALE_MEMBER_EPOCH",
        ],
    ),
    ("fetch", &["3.6 nothing is committed", "3.6 the committed offset"]),
    (
        "fail-over",
        &[
            "4.3 the high watermark rises",
            "4.3 another broker takes over, nothing is lost",
            "4.3 another broker takes over, writes above the high watermark are lost",
        ],
    ),
];

/// The shortest path to a row.
fn cover(goals: &mut Vec<Goal>, bounds: &str, label: &'static str) {
    let mut slug = String::new();
    for character in label.chars() {
        match character {
            '\'' => {}
            _ if character.is_ascii_alphanumeric() || character == '.' => slug.push(character.to_ascii_lowercase()),
            _ if !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    let Ok(id) = format!("fencing/row/{}", slug.trim_end_matches('-')).parse() else { return };
    goals.push(Goal {
        id,
        title: label.to_owned(),
        configuration: format!("fencing/{ORACLE}/{bounds}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec!["KIP-848".to_owned(), "KIP-1251".to_owned()],
        twin: None,
    });
}

/// Why no generated trace has a label, or names an error, where that is meant. The rows are asked by traces written by hand.
#[must_use]
pub fn unreached(label: &str) -> Option<&'static str> {
    match label {
        "2.3 row 1 before 4.2: a known member may not join again: FENCED_MEMBER_EPOCH"
        | "3.4 a stale transactional commit, before version 6: ILLEGAL_GENERATION" => {
            Some("a rule of older releases, which the oracle does not have; see fixtures/written")
        }
        "2.5 from UNRELEASED to UNREVOKED" => {
            Some("no row of the oracle that is searched for coverage is large enough")
        }
        "2.6 the instance id is another member's: FENCED_INSTANCE_ID" | "3.3 row 6: above the member epoch: stale" => {
            Some("a client of the model does not send that as a step; it is asked as a refusal")
        }
        "3.6 a transaction is open on the offset: UNSTABLE_OFFSET_COMMIT" | "UNSTABLE_OFFSET_COMMIT" => {
            Some("the rows with transactions that are searched for coverage read nothing; see fixtures/written")
        }
        "OFFSET_METADATA_TOO_LARGE" => Some("the model's commits have no metadata; see fixtures/written"),
        _ => None,
    }
}
