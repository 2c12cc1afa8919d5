//! What the actors say to each other, and what may happen at each of its own accord.
//!
//! Both enums name paths by their order: append variants, never insert them.

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::recovery::Moment;
use super::truth::Truth;

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A consumer asks for what is at its position.
    Fetch {
        /// The position.
        from: u8,
    },
    /// Its answer: one batch at most.
    Fetched {
        /// What the consumer sees of the batch, if there is one: without what was aborted, without producer and horizon.
        batch: Option<Batch>,
        /// The consumer's next position.
        next: u8,
        /// The end of what the consumer may see.
        end: u8,
        /// What the clock showed.
        time: u8,
    },
    /// A follower asks for what is at its log's end.
    Replicate {
        /// The end.
        from: u8,
    },
    /// Its answer: one batch at most, byte for byte.
    Replicated {
        /// The batch.
        batch: Option<Batch>,
        /// The leader's high watermark.
        high: u8,
        /// Ghost: what the leader knows to be true.
        truth: Truth,
    },
    /// The controller makes the receiver the leader. With it goes what the producers' clients know.
    Elect {
        /// The producers' epochs.
        epochs: [u8; 2],
    },
}

/// An input of the log from outside, a step of its cleaner, or the clock. Clients of a log do not wait for each other, so
/// the order in which their requests reach it is all that matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// A batch of one record is appended, by a producer (from 1) or by the writer without an id (0).
    Write {
        /// The producer.
        producer: u8,
        /// The key.
        key: u8,
        /// Whether the value is null.
        tombstone: bool,
    },
    /// A plain batch of two records is appended, of the first two keys.
    WritePair {
        /// Whether the first value is null.
        first: bool,
        /// Whether the second is.
        second: bool,
    },
    /// A plain batch is appended whose record has no key.
    WriteUnkeyed,
    /// A client appends a tombstone with a horizon that has passed.
    WriteStamped {
        /// The key.
        key: u8,
    },
    /// A marker is appended.
    End {
        /// The producer.
        producer: u8,
        /// Whether the transaction committed.
        commit: bool,
    },
    /// The active segment is closed.
    Roll,
    /// The high watermark reaches the log's end.
    RaiseHigh,
    /// The clock goes on.
    Tick,
    /// A whole round.
    Clean {
        /// How many entries its map holds.
        entries: u8,
    },
    /// A round begins: the clock is sampled, the bounds are chosen.
    StartRound,
    /// The round's map is built.
    BuildMap {
        /// How many entries it holds.
        entries: u8,
    },
    /// The next group is rewritten and swapped in.
    CleanGroup,
    /// The checkpoint is written.
    FinishRound,
    /// The round is aborted.
    AbortRound,
    /// The broker crashes, and starts again.
    Crash {
        /// How far a swap had come.
        moment: Moment,
        /// Whether the snapshots of producers are lost.
        replays: bool,
    },
    /// The log is truncated to this offset, as a follower's is.
    Truncate {
        /// The new end.
        to: u8,
    },
    /// The broker crashes and loses the log from this offset on.
    Lose {
        /// The new end.
        to: u8,
    },
    /// The topic's policy changes, from compact to delete or back.
    SwitchPolicy,
    /// `delete.retention.ms` changes.
    Alter,
    /// The cleaner's checkpoint is lost.
    Forget,
    /// A producer is forgotten.
    Expire {
        /// The producer.
        producer: u8,
    },
    /// The oldest segment is deleted, by retention.
    DeleteOldest,
    /// The leader, whose follower has everything, goes: the follower becomes leader.
    Resign,
    /// `DeleteRecords`: the log starts at this offset, wherever in a segment that lies.
    DeleteRecords {
        /// The new start.
        to: u8,
    },
    /// A batch is appended to the other log, and its segment is closed.
    WriteOther,
    /// The cleaner's thread takes the other log, and cleans all of it.
    CleanOther,
}
