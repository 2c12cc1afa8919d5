//! The larger rows: what was looked at alone, together, and one dimension at a time deep.

use super::bounds::{Bounds, Start};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use super::rules::KAFKA;
use crate::protocol::Tier::{self, Full, Smoke};

const BELOW: &str = "kip-320-below-ibp-2.0";

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }
}

/// One dimension at a time.
#[allow(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn larger(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "three-records",
        "three brokers, an election by preference, three records",
        Bounds {
            start: Start { leader: 1, ..Bounds::THREE.start },
            preferred: 1,
            epochs: 1,
            writes: [1, 2, 0, 0],
            fails: [0, 0, 1, 0],
            ..Bounds::THREE
        },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "one-record-by-one",
        "metadata one by one: what S14 needs is not there",
        Bounds {
            preferred: 1,
            fences: 1,
            fenced: 0b0001,
            epochs: 2,
            writes: [0, 1, 0, 0],
            start: Start { leader: 1, ..Bounds::THREE.start },
            batch: 1,
            ..Bounds::THREE
        },
    );
    rows.add(
        Full,
        &[ORACLE],
        "three-epochs",
        "three brokers, three elections of anybody, a record that all have",
        Bounds {
            chosen: 3,
            epochs: 3,
            writes: [0; 4],
            start: Start { records: 1, ..Bounds::THREE.start },
            ..Bounds::THREE
        },
    );
    rows.add(
        Full,
        &[ORACLE],
        "two-failures",
        "two brokers of three are taken for dead",
        Bounds { fences: 2, epochs: 3, writes: [1, 0, 0, 0], min_isr: 1, ..Bounds::THREE },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "late-requests",
        "followers give requests up, which the leader handles later",
        Bounds { chosen: 1, epochs: 1, writes: [1, 0, 0, 0], fails: [1, 1, 0, 0], ..Bounds::THREE },
    );
    rows.add(
        Full,
        &[ORACLE],
        "leaves-and-joins",
        "members lag, leave and come back, and a new leader decides on it",
        Bounds { chosen: 1, epochs: 1, shrinks: 1, writes: [1, 0, 0, 0], min_isr: 1, ..Bounds::THREE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "two-brokers-crash",
        "two brokers: either crashes and comes back, the high watermark as it was written",
        Bounds {
            crashes: [1, 1, 0, 0],
            unfences: 1,
            epochs: 3,
            writes: [1, 1, 0, 0],
            start: Start { records: 1, checkpointed: true, ..Bounds::BASE.start },
            expires: true,
            ..Bounds::BASE
        },
    );
    rows.add(
        Full,
        &[ORACLE],
        "two-brokers-lossy",
        "two brokers: either crashes, and may lose all that it has",
        Bounds {
            crashes: [1, 1, 0, 0],
            lossy: 0b11,
            unfences: 2,
            epochs: 4,
            writes: [1, 1, 0, 0],
            start: Start { records: 1, ..Bounds::BASE.start },
            ..Bounds::BASE
        },
    );
    rows.add(
        Full,
        &[ORACLE],
        "unclean-elections",
        "two brokers: unclean elections, and a shutdown",
        Bounds { fences: 1, unfences: 1, shutdowns: 1, unclean: 1, epochs: 4, writes: [1, 1, 0, 0], ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "controlled-shutdown",
        "4.7: the leader leaves in an orderly way, stops, and comes back",
        Bounds {
            shutdowns: 1,
            unfences: 1,
            crashes: [1, 0, 0, 0],
            stops: 0b01,
            epochs: 3,
            writes: [1, 0, 0, 0],
            ..Bounds::BASE
        },
    );
    rows.add(
        Smoke,
        &[ORACLE],
        "last-known-leader",
        "4.7: nobody is in sync or eligible any more, since both lost their disks",
        Bounds {
            min_isr: 2,
            elr: true,
            fences: 1,
            fenced: 0b10,
            crashes: [1, 1, 0, 0],
            lossy: 0b11,
            unfences: 1,
            epochs: 4,
            start: Start { records: 1, ..Bounds::BASE.start },
            writes: [0; 4],
            ..Bounds::BASE
        },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "comes-to-rest",
        "P7: two brokers until nothing moves any more",
        Bounds {
            chosen: 1,
            fences: 1,
            fenced: 0b10,
            unfences: 1,
            shrinks: 1,
            epochs: 2,
            writes: [1, 1, 0, 0],
            expires: true,
            ..Bounds::BASE
        },
    );
}

/// Mixed versions (2.12), and a damaged `leader-epoch-checkpoint` (1.4, 1.8).
pub(super) fn mixed(list: &mut List) {
    let message = Bounds { chosen: 2, fences: 1, epochs: 3, writes: [1, 0, 0, 0], ..Bounds::BASE };
    let diverged = Bounds { chosen: 2, epochs: 2, writes: [2, 1, 0, 0], ..Bounds::BASE };
    let back = Bounds { start: Start { leader: 1, ..diverged.start }, writes: [1, 2, 0, 0], ..diverged };
    let old = (0, "kip-101");
    let raised = (0, "kip-320");
    // A broker of 2.0 does not mark its epoch yet. One that does asks for an epoch that the old one can't know.
    for (name, mutant, bounds) in [
        ("old-broker-lost-message", Mutant::None, message),
        ("old-broker-lost-message", Mutant::EpochNotMarked, message),
        ("old-broker-fast-fail-over", Mutant::None, diverged),
    ] {
        list.mixed(
            Smoke,
            (BELOW, mutant),
            old,
            name,
            "2.12 (a): A is older and answers without an epoch, B asks in version 0",
            bounds,
        );
    }
    for (name, bounds) in [
        ("protocol-raised-at-a-lost-message", message),
        ("protocol-raised-at-a-fast-fail-over", diverged),
        ("protocol-raised-at-a-fast-fail-over-back", back),
    ] {
        list.mixed(
            Smoke,
            (BELOW, Mutant::None),
            raised,
            name,
            "2.12 (c): A's inter-broker protocol is raised, B's is not yet",
            bounds,
        );
    }
    list.mixed(
        Smoke,
        ("kip-320", Mutant::None),
        old,
        "old-leader-refuses",
        "2.12 (e): B asks in version 1, which A, that is older, refuses",
        Bounds { start: Start { records: 1, ..diverged.start }, writes: [0; 4], shrinks: 2, ..diverged },
    );
    let damaged = Bounds {
        start: Start { records: 1, checkpointed: true, ..Bounds::BASE.start },
        chosen: 1,
        fences: 1,
        unfences: 1,
        crashes: [1, 0, 0, 0],
        stops: 0b01,
        damages: 0b01,
        epochs: 3,
        writes: [1, 1, 0, 0],
        ..Bounds::BASE
    };
    list.add(
        Full,
        ORACLE,
        Mutant::None,
        "epoch-checkpoint-damaged",
        "1.8: a broker comes up with a damaged leader-epoch-checkpoint",
        damaged,
    );
}
