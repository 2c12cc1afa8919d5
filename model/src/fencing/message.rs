//! What the actors say to each other, and what each may do of its own accord.
//!
//! Both enums name paths by their order: append variants, never insert them.

use std::hash::{Hash, Hasher};

use fencepost_fixtures::kafka_error::KafkaError;
use serde::{Deserialize, Serialize};

use super::partitions::Partitions;

/// A message. Members are numbered by slot, see [`super::bounds::Bounds::slot`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Msg {
    /// `ConsumerGroupHeartbeat`.
    Heartbeat(Heartbeat),
    /// Its answer. `seq` is the request's.
    HeartbeatAnswer {
        /// The request's number.
        seq: u8,
        /// The member epoch.
        epoch: i8,
        /// The partitions it may use, where the answer carries them.
        assigned: Option<Partitions>,
    },
    /// Its refusal.
    HeartbeatRefusal {
        /// The request's number.
        seq: u8,
        /// Why.
        error: KafkaError,
    },
    /// `OffsetCommit`, of a consumer.
    Commit(Commit),
    /// Its answer: nothing, or the error.
    CommitAnswer {
        /// The commit's number.
        id: u8,
        /// Why it was refused.
        error: Option<KafkaError>,
    },
    /// The assignor's next answer: a nibble of partitions for each consumer.
    Target(u16),
    /// A leave, with epoch -1 or -2.
    Leave {
        /// The member.
        slot: u8,
        /// -1, or -2.
        epoch: i8,
    },
    /// `OffsetFetch`.
    Fetch(Fetch),
    /// Its answer: the committed offset (the number of the commit), or the error.
    FetchAnswer {
        /// The partition.
        partition: u8,
        /// The number of the commit that was read, 0 for none.
        id: u8,
        /// Why it was refused.
        error: Option<KafkaError>,
    },
    /// A consumer hands its group metadata and offsets to the producer, within the application.
    Hand(Commit),
    /// `TxnOffsetCommit`, of the producer.
    TxnCommit(Commit),
    /// Its answer.
    TxnAnswer {
        /// The commit's number.
        id: u8,
        /// Why it was refused.
        error: Option<KafkaError>,
    },
    /// The transaction's marker, and its answer.
    EndTransaction {
        /// Whether it committed.
        commit: bool,
    },
    /// The marker was written.
    TransactionEnded {
        /// Whether it committed.
        commit: bool,
    },
    /// The producer tells the consumer how its transaction ended.
    Handed {
        /// The commit's number.
        id: u8,
        /// Whether it committed.
        committed: bool,
    },
}

/// A heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Heartbeat {
    /// The member.
    pub slot: u8,
    /// Counts the client's give-ups, so that a late answer is not taken for the one awaited.
    pub seq: u8,
    /// The epoch that the client believes it has.
    pub epoch: i8,
    /// The partitions that it reports to hold.
    pub owned: Option<Partitions>,
    /// The topics subscribed to, where the request says.
    pub topics: Option<u8>,
    /// Whether all fields are there.
    pub full: bool,
}

/// A commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Commit {
    /// The member.
    pub slot: u8,
    /// The member epoch that the client had when it sent this.
    pub epoch: i8,
    /// The partitions.
    pub partitions: Partitions,
    /// Its number, unique in a behaviour; stands for the offset. From 1.
    pub id: u8,
    /// Ghost of S4': how often the client had given up each partition when it stamped this; two bits each.
    pub grip: u8,
}

/// An offset fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fetch {
    /// The member.
    pub slot: u8,
    /// The epoch that the client believes it has.
    pub epoch: i8,
    /// The partition.
    pub partition: u8,
    /// `require_stable`.
    pub stable: bool,
}

fn bits(value: i8) -> u64 {
    u64::from(value.to_le_bytes()[0])
}

fn optional(set: Option<Partitions>) -> u64 {
    set.map_or(0xff, |set| u64::from(set.0))
}

fn reason(error: Option<KafkaError>) -> u64 {
    error.map_or(0xff, |error| error as u64)
}

impl Commit {
    fn word(self) -> u64 {
        u64::from(self.slot)
            | bits(self.epoch) << 8
            | u64::from(self.partitions.0) << 16
            | u64::from(self.id) << 24
            | u64::from(self.grip) << 32
    }
}

impl Hash for Msg {
    /// One word a message: all messages in flight are hashed for every state that is generated.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let (kind, word) = match *self {
            Self::Heartbeat(Heartbeat { slot, seq, epoch, owned, topics, full }) => (
                0,
                u64::from(slot)
                    | u64::from(seq) << 8
                    | bits(epoch) << 16
                    | optional(owned) << 24
                    | u64::from(topics.map_or(0xff, |topics| topics)) << 32
                    | u64::from(full) << 40,
            ),
            Self::HeartbeatAnswer { seq, epoch, assigned } => {
                (1, u64::from(seq) | bits(epoch) << 8 | optional(assigned) << 16)
            }
            Self::HeartbeatRefusal { seq, error } => (2, u64::from(seq) | (error as u64) << 8),
            Self::Commit(commit) => (3, commit.word()),
            Self::CommitAnswer { id, error } => (4, u64::from(id) | reason(error) << 8),
            Self::Target(target) => (5, u64::from(target)),
            Self::Leave { slot, epoch } => (6, u64::from(slot) | bits(epoch) << 8),
            Self::Fetch(Fetch { slot, epoch, partition, stable }) => {
                (7, u64::from(slot) | bits(epoch) << 8 | u64::from(partition) << 16 | u64::from(stable) << 24)
            }
            Self::FetchAnswer { partition, id, error } => {
                (8, u64::from(partition) | u64::from(id) << 8 | reason(error) << 16)
            }
            Self::Hand(commit) => (9, commit.word()),
            Self::TxnCommit(commit) => (10, commit.word()),
            Self::TxnAnswer { id, error } => (11, u64::from(id) | reason(error) << 8),
            Self::EndTransaction { commit } => (12, u64::from(commit)),
            Self::TransactionEnded { commit } => (13, u64::from(commit)),
            Self::Handed { id, committed } => (14, u64::from(id) | u64::from(committed) << 8),
        };
        hasher.write_u64(word | kind << 56);
    }
}

/// A timer that may run out, or something that an actor may do of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// A consumer heartbeats.
    Heartbeat,
    /// A consumer carries out what it was last told: gives up partitions (its callback), takes new ones.
    Reconcile,
    /// A consumer commits these partitions.
    Commit(Partitions),
    /// The assignor changes its mind: a nibble of partitions for each consumer.
    Move(u16),
    /// A consumer stops waiting for the answer to its heartbeat.
    GiveUp,
    /// A consumer leaves: -1, or -2.
    Leave(i8),
    /// A consumer that left subscribes again, as the member that it was.
    Return,
    /// A consumer stops for ever.
    Crash,
    /// A consumer that stopped starts again, as another member.
    Restart,
    /// A consumer subscribes to these topics from now on.
    Subscribe(u8),
    /// A consumer reads the committed offset of a partition.
    Fetch(u8),
    /// A consumer hands a partition's offset to the producer.
    Transaction(Partitions),
    /// The producer ends its transaction.
    End {
        /// Whether it commits.
        commit: bool,
    },
    /// The coordinator's session timer of a member.
    Session(u8),
    /// The coordinator's rebalance timer of a member.
    Rebalance(u8),
    /// The assignment interval is over.
    Interval,
    /// The high watermark rises to the end of the log.
    Replicate,
    /// Another broker takes over and loads what is below the high watermark.
    FailOver {
        /// Whether it is of the other release.
        other: bool,
    },
    /// A consumer stops waiting for the answer to its commit.
    GiveUpCommit,
    /// A consumer sends a refused commit again.
    Retry,
}
