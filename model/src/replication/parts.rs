//! What a broker keeps of the others and of its own fetcher (`docs/replication.md` 2.1, 3.2, 4.1), and of what went wrong.

use serde::{Deserialize, Serialize};

use super::controller::NOBODY;
use super::log::{Epoch, Offset, UNDEFINED};
use super::message::Sent;

/// What a replica is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Role {
    /// No metadata yet.
    None,
    /// It accepts appends.
    Leader,
    /// It fetches, if there is a leader.
    Follower,
}

/// What a leader knows of a follower (4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Remote {
    /// Where its log ends; [`UNDEFINED`] if unknown.
    pub end: Offset,
    /// Whether it caught up within the lag time.
    pub caught_up: bool,
    /// Where the own log ended at its last fetch within the lag time; [`UNDEFINED`] where that does not matter: nobody
    /// asks once it has caught up.
    pub end_at_fetch: Offset,
    /// Its broker epoch at the last fetch; 0 for none.
    pub broker_epoch: u8,
}

impl Remote {
    /// Nothing is known.
    pub const UNKNOWN: Self = Self { end: UNDEFINED, caught_up: false, end_at_fetch: UNDEFINED, broker_epoch: 0 };
}

/// A fetch that waits for records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Parked {
    /// The follower; [`NOBODY`] where there is none.
    pub from: u8,
    /// The request.
    pub sent: Sent,
}

impl Parked {
    /// No fetch.
    pub const NONE: Self = Self { from: NOBODY, sent: Sent { round: 0, epoch: 0, offset: 0, last: 0 } };
}

/// What the fetcher does next for the partition (2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Phase {
    /// Nothing: no leader, or this broker leads.
    Idle,
    /// It asks where its latest epoch ends.
    Truncating,
    /// It fetches.
    Fetching,
    /// Out of range: it asks for the latest offset.
    Latest,
    /// Out of range: it asks for the earliest offset.
    Earliest,
    /// The partition failed; only a new leader epoch brings it back.
    Failed,
}

/// The fetcher's entry of the partition (2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Entry {
    /// What comes next.
    pub phase: Phase,
    /// The next offset to fetch; while truncating, where to fall back to.
    pub offset: Offset,
    /// The epoch of the last record, as far as the fetcher knows.
    pub last: Epoch,
    /// The leader epoch under which the entry was made.
    pub epoch: Epoch,
    /// Whether it backs off.
    pub delayed: bool,
    /// Ghost of P7b: how many more diverging answers there may be in a row.
    pub rounds: u8,
}

impl Entry {
    /// Nothing to fetch.
    pub const IDLE: Self =
        Self { phase: Phase::Idle, offset: 0, last: UNDEFINED, epoch: UNDEFINED, delayed: false, rounds: 0 };
}

/// The faults of `Broker::wrong`: properties about steps, noted where the step is taken.
pub mod wrong {
    /// P1a: another record was committed at the offset before.
    pub const P1A: u8 = 1;
    /// P3: a fetch of this epoch was answered although the logs differ.
    pub const P3: u8 = 2;
    /// P4e: a truncation below the own high watermark.
    pub const P4E: u8 = 4;
    /// P7b: more diverging answers in a row than there are epochs.
    pub const P7B: u8 = 8;
}
