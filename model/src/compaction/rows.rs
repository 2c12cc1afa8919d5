//! The rows of the matrix: each finding under Kafka's rule and under its repair, larger bounds, the rejected designs, and
//! every slip.

use super::bounds::{Bounds, Isolation};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use crate::protocol::Tier::Smoke;

const READER: Option<Isolation> = Some(Isolation::ReadCommitted);

/// N1 to N8 and the divergence of replicas: Kafka's rule, and the repair.
pub(super) fn findings(list: &mut List) {
    let mut add = |variants: &[&str], name, reason, bounds| {
        for variant in variants {
            list.add(Smoke, variant, Mutant::None, name, reason, bounds);
        }
    };
    add(
        &["kafka-4.4", "repaired-n1", ORACLE],
        "early-stamp",
        "N1: a tombstone above what a map of one has mapped",
        Bounds { reader: READER, offsets: 2, clock: 3, rolls: 1, ..Bounds::PARTIAL },
    );
    add(
        &["kafka-4.4", "repaired-n2", ORACLE],
        "stale-abort-entry",
        "N2: a map of one ends inside a segment, after an aborted transaction of the producer",
        Bounds { map_least: 1, map_most: 1, offsets: 5, clock: 3, rolls: 1, ..Bounds::TRANSACTION },
    );
}
