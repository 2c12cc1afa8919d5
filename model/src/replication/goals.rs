//! What traces are exported for.

use crate::protocol::{Aim, Goal};

/// A counterexample with its twin.
fn broken(id: &str, title: &str, configuration: &str, property: &'static str, rests_on: &[&str]) -> Option<Goal> {
    Some(Goal {
        id: format!("replication/{id}").parse().ok()?,
        title: title.to_owned(),
        configuration: format!("replication/{configuration}"),
        aim: Aim::Violation(property),
        rests_on: rests_on.iter().map(|text| (*text).to_owned()).collect(),
        twin: format!("replication/{id}-twin").parse().ok(),
    })
}

/// The goals.
pub(super) fn goals() -> Vec<Goal> {
    [
        broken(
            "acknowledged-record-lost-after-skipped-epoch",
            "A leader re-elected past an epoch that it never saw trusts what it remembers of a follower that has truncated since",
            "kafka-4.4/skipped-epoch",
            "P4b",
            &["KIP-320", "Partition#makeLeader", "Replica#resetReplicaState"],
        ),
        broken(
            "committed-record-truncated-to-high-watermark",
            "A follower truncates to its own high watermark, which trails the leader's, and leads next",
            "high-watermark/lost-message",
            "P1b",
            &["KIP-101", "KAFKA-1211"],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}
