//! Messages between the consumer and the brokers, and what may happen of its own accord.
//!
//! A reply carries what was asked, as the client remembers it, and the log that the broker had: a ghost, but for the
//! records themselves.

use serde::{Deserialize, Serialize};

use super::log::{Epoch, EpochEnd, Log, Offset};

/// The most brokers that a configuration can have.
pub const MAX_BROKERS: usize = 3;
/// No broker.
pub const NOBODY: u8 = 7;
/// The index of the cluster among the actors.
pub const CLUSTER: u8 = 0;
/// The index of the consumer among the actors.
pub const CONSUMER: u8 = 1;

/// A request that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// The request's leader epoch is older than the broker's.
    FencedLeaderEpoch,
    /// It is newer.
    UnknownLeaderEpoch,
    /// The broker does not lead.
    NotLeaderOrFollower,
    /// The offset is beyond the log.
    OffsetOutOfRange,
    /// The topic has another id.
    UnknownTopicId,
    /// A larger epoch starts below the offset (a draft of KIP-320; never shipped).
    LogTruncation,
    /// The new leader's high watermark has not reached the start of its epoch.
    OffsetNotAvailable,
}

/// A position of the consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Position {
    /// The offset of the next record; undefined for no position.
    pub offset: Offset,
    /// The epoch of the record before it; undefined where it is not known.
    pub epoch: Epoch,
    /// The leader; [`NOBODY`] for none.
    pub leader: u8,
    /// Its leader epoch.
    pub leader_epoch: Epoch,
}

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Spec {
    /// The first.
    Earliest,
    /// The one after the last that may be read.
    Latest,
    /// That of the first record which is not older than this.
    At(Offset),
}

/// Whom a request goes to, and over which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Way {
    /// The broker.
    pub broker: u8,
    /// The client's connection to it: it has a new one after a failure and after a restart.
    pub connection: u8,
}

/// What a fetch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fetch {
    /// The offset.
    pub offset: Offset,
    /// The leader epoch that the client knows.
    pub leader_epoch: Epoch,
    /// The epoch of the record before the offset, in the drafts.
    pub last_epoch: Epoch,
    /// The topic: 0, or 1 for the one that was created anew; [`NOBODY`] where the request does not say.
    pub topic: u8,
}

/// What a reply to a fetch says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fetched {
    /// The records from the offset up to `to`.
    Records {
        /// The whole log: what is not sent is a ghost.
        log: Log,
        /// The high watermark.
        high: Offset,
        /// Where the records end: the high watermark, or the last stable offset.
        to: Offset,
        /// Ghost: the epoch in which the broker led or followed, and the topic.
        ghost: (u8, Epoch),
    },
    /// The leader sends the consumer to a follower.
    Preferred(u8),
    /// It is refused.
    Error(Refusal),
}

/// Ghosts of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Logs {
    /// What the broker has that answers.
    pub own: Log,
    /// What the leader of the last election has.
    pub last: Log,
}

/// Why it is asked where an epoch ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Purpose {
    /// To validate the position.
    Validate,
    /// The application looks it up.
    Find,
}

/// A message. Append, never insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A fetch request.
    Fetch(Way, Fetch),
    /// Its answer.
    FetchReply(Way, Fetch, Fetched),
    /// `OffsetsForLeaderEpoch`: where does the epoch of this position end?
    EpochEnd(Way, Purpose, Position),
    /// Its answer; and ghosts.
    EpochEndReply(Way, Purpose, Position, Result<(EpochEnd, Logs), Refusal>),
    /// `ListOffsets`, with the leader epoch that the client knows.
    ListOffsets(Way, Spec, Epoch),
    /// Its answer: an offset, and the epoch that the broker has for it.
    ListOffsetsReply(Way, Spec, Epoch, Result<(Offset, Epoch), Refusal>),
    /// Who leads, or once led.
    Metadata(Heard),
}

/// Who leads, as a client hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Heard {
    /// The topic, 0 or 1.
    pub topic: u8,
    /// The leader epoch.
    pub epoch: Epoch,
    /// The leader.
    pub leader: u8,
}

/// Where an application seeks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Target {
    /// An offset, without an epoch.
    Offset(Offset),
    /// An offset, with the epoch of the record before it as it was read.
    Pair(Offset, Epoch),
    /// The beginning.
    Beginning,
    /// The end.
    End,
    /// Where the exception says that the logs part, with its epoch.
    Divergence,
    /// The same, without the epoch.
    DivergenceOffset,
    /// What it stored outside of Kafka, offset and epoch.
    Stored,
    /// The same, the offset alone.
    StoredOffset,
    /// The offset that it looked up.
    Found,
    /// What it stored, or the place nearest to it.
    Nearest,
}

/// What may happen at an actor of its own accord. Append, never insert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The controller elects a broker.
    Elect(u8),
    /// The broker hears that it leads.
    Lead(u8),
    /// A broker takes over what the leader has.
    Follow(u8),
    /// A leader appends a batch.
    Append(u8),
    /// A leader appends a record of the transaction.
    AppendTransactional(u8),
    /// It appends the transaction's marker.
    EndTransaction(u8, bool),
    /// A leader's followers have all that it has.
    HighWatermark(u8),
    /// The topic is deleted and created anew; this broker leads it.
    Recreate(u8),
    /// The cluster tells the consumer who leads, or led: only where metadata are messages.
    Tell(Heard),
    /// The consumer hears who leads, or led.
    Metadata(Heard),
    /// The application polls.
    Poll,
    /// The client's waits run out.
    Elapse,
    /// The connection to a broker is lost.
    Fail(u8),
    /// The application seeks, and polls.
    Seek(Target),
    /// It looks up where the record that it read last has its place.
    Find,
    /// It commits.
    Commit,
    /// Its process starts anew, and the partition is assigned.
    Restart,
}
