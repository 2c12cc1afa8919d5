//! What is exported: each expected violation, and each row of the tables that the model can reach.

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
    goals
}

/// Why no generated trace has a label, or names an error, where that is meant.
#[must_use]
pub fn unreached(_label: &str) -> Option<&'static str> {
    None
}
