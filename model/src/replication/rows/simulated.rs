//! Three brokers and all faults at once: beyond what can be exhausted, so that these rows are random walks of a seed.
//!
//! A walk that meets no violation proves nothing; what is pinned is that these walks meet none, and how many states they see.

use crate::replication::bounds::Bounds;
use crate::replication::catalogue::{List, ORACLE};
use crate::replication::rules::KAFKA;
use crate::walks::Walks;

const WALKS: Walks = Walks { seed: 7, number: 5_000, steps: 100 };

/// The rows.
pub(in crate::replication) fn simulated(list: &mut List) {
    let faults = Bounds {
        preferred: 1,
        chosen: 2,
        fences: 2,
        unfences: 3,
        shutdowns: 1,
        crashes: [1, 1, 1, 0],
        stops: 0b111,
        fails: [1, 1, 1, 0],
        shrinks: 2,
        expires: true,
        checkpoints: true,
        epochs: 3,
        writes: [2, 2, 2, 0],
        ..Bounds::THREE
    };
    for variant in [KAFKA, ORACLE] {
        list.simulated(
            variant,
            WALKS,
            "three-brokers-all-faults",
            "three brokers: elections, failures, shutdowns, restarts, requests that are given up",
            faults,
        );
    }
    list.simulated(
        ORACLE,
        WALKS,
        "three-brokers-lossy",
        "the same, where a crash loses records, with eligible leader replicas",
        Bounds { elr: true, lossy: 0b111, damages: 0, ..faults },
    );
    list.simulated(
        ORACLE,
        WALKS,
        "three-brokers-unclean",
        "the same, with unclean elections",
        Bounds { unclean: 1, lossy: 0b111, ..faults },
    );
    list.simulated(
        ORACLE,
        WALKS,
        "three-brokers-move",
        "the same without crashes, while replicas move to other disks",
        Bounds { crashes: [0; 4], stops: 0, moves: 0b111, outages: 1, pairs: 0b001, ..faults },
    );
}
