//! Moves of a replica to another disk of its broker: the future replica's rules that the review of KIP-279 weighed (2.10).

use super::Rows;
use crate::protocol::Tier::{Full, Smoke};
use crate::replication::bounds::{Bounds, Start};
use crate::replication::catalogue::{List, ORACLE};
use crate::replication::mutant::Mutant;

const MARKED: &str = "future-replica-marked";
const ASKS_ONCE: &str = "future-replica-asks-once";

/// The rows.
pub(in crate::replication) fn moves(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &[MARKED, ORACLE],
        "disk-away",
        "2.10 (Jun Rao): the current replica truncates while the future one's disk is away, so that the mark is lost",
        Bounds {
            start: Start { leader: 1, ..Bounds::BASE.start },
            chosen: 1,
            epochs: 1,
            writes: [1, 2, 0, 0],
            offsets: 2,
            moves: 0b10,
            outages: 1,
            ..Bounds::BASE
        },
    );
    rows.add(
        Smoke,
        &[ASKS_ONCE, ORACLE],
        "epoch-that-the-current-replica-lost",
        "2.10: the future replica's epoch is not the current one's any more, and one question is not enough",
        Bounds { chosen: 2, epochs: 2, writes: [2, 2, 0, 0], offsets: 2, moves: 0b10, ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::FutureHighUnbounded],
        "takes-over",
        "2.10: a move of the leader's replica, to its end",
        Bounds { start: Start { records: 2, ..Bounds::BASE.start }, moves: 0b01, ..Bounds::BASE },
    );
    rows.add(
        Full,
        &[MARKED, ASKS_ONCE, ORACLE],
        "both-move",
        "2.10: both replicas move, a disk goes away, and another leader is elected",
        Bounds { chosen: 1, epochs: 1, writes: [2, 1, 0, 0], moves: 0b11, outages: 1, ..Bounds::BASE },
    );
}
