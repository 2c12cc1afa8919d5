//! What is exported: each expected violation, and each row of the tables that the model can reach.

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
    let (Ok(id), Ok(twin)) = (format!("fencing/{id}").parse(), format!("fencing/{id}-refused").parse()) else { return };
    goals.push(Goal {
        id,
        title: title.to_owned(),
        configuration: configuration.to_owned(),
        aim: Aim::Violation(property),
        rests_on: rests_on.iter().map(|text| (*text).to_owned()).collect(),
        twin: Some(twin),
    });
}

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
        "A late commit of the previous owner overwrites the offset of the new owner",
        &["KIP-1251", "KAFKA-19974", "ConsumerGroup#validateOffsetCommit"],
    );
    violation(
        &mut goals,
        "fencing/kafka-4.4/smaller-subscription",
        "S3",
        "late-commit-after-smaller-subscription",
        "A late commit overwrites the new owner's offset after a subscription shrank while the target waited",
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
        "Without a fence the previous owner's late commit overwrites the new owner's offset",
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
    for (bounds, labels) in COVERAGE {
        for label in *labels {
            cover(&mut goals, bounds, label);
        }
    }
    goals
}

/// Which rows of the tables are looked for in which bounds of the oracle.
const COVERAGE: &[(&str, &[&str])] = &[(
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
)];

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

/// Why no generated trace has a label, or names an error, where that is meant.
#[must_use]
pub fn unreached(_label: &str) -> Option<&'static str> {
    None
}
