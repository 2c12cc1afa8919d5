//! What a client and brokers send each other (docs/consumers.md 3, 4; Kafka's `FetchRequest`, `OffsetsForLeaderEpochRequest`,
//! `ListOffsetsRequest`).

use super::names::{BrokerId, Correlation, LeaderEpoch, Offset, TopicId};
use super::record::Record;
use crate::replica::error::ErrorCode;
use crate::replica::message::OffsetSpec;
use crate::storage::epoch_cache::EpochEnd;

/// A request of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Who is asked.
    pub to: BrokerId,
    /// Its number.
    pub correlation: Correlation,
    /// What is asked.
    pub question: Question,
}

/// What a client asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// For records.
    Fetch(Fetch),
    /// Where an epoch ends.
    EpochEnd(EpochQuestion),
    /// For an offset.
    Offset(OffsetQuestion),
}

/// A fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetch {
    /// From where.
    pub offset: Offset,
    /// The leader epoch that the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
    /// The epoch before the offset (7a).
    pub last_epoch: Option<LeaderEpoch>,
    /// The topic, if the request says.
    pub topic: Option<TopicId>,
}

/// Where does an epoch end?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EpochQuestion {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// The leader epoch that the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
}

/// Which offset?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetQuestion {
    /// This one.
    pub spec: OffsetSpec,
    /// The leader epoch that the client knows.
    pub current_leader_epoch: Option<LeaderEpoch>,
}

/// The answer of a broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// Who answers.
    pub from: BrokerId,
    /// What is answered.
    pub correlation: Correlation,
    /// The answer.
    pub answer: Answer,
}

/// What a broker answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Records.
    Fetched(Result<Fetched, ReadError>),
    /// Where the epoch ends.
    EpochEnd(Result<EpochEnd, ReadError>),
    /// The offset.
    Offset(Result<FoundOffset, ReadError>),
}

/// Records that were fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    /// They.
    pub records: Vec<Record>,
    /// The high watermark of the broker.
    pub high_watermark: Offset,
    /// The transactions that were aborted: each producer with its first offset.
    pub aborted: Vec<(String, Offset)>,
    /// The follower to go to (KIP-392).
    pub preferred: Option<BrokerId>,
}

/// An offset that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundOffset {
    /// It.
    pub offset: Offset,
    /// The epoch there.
    pub epoch: Option<LeaderEpoch>,
}

/// Why a broker does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum ReadError {
    /// One of Kafka's errors.
    #[error("{0}")]
    Kafka(#[from] ErrorCode),
    /// A larger epoch starts below the offset of the fetch: of the draft of KIP-320, and never shipped (7a).
    #[error("LOG_TRUNCATION")]
    LogTruncation,
    /// A replica that is not there (any more); brokers of this reference do not say it.
    #[error("REPLICA_NOT_AVAILABLE")]
    ReplicaNotAvailable,
    /// The same of a leader.
    #[error("LEADER_NOT_AVAILABLE")]
    LeaderNotAvailable,
    /// An error that this reference has no name for.
    #[error("another error")]
    Other,
}
