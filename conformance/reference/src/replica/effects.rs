//! What comes into a broker and what goes out of it: the whole interface of a broker that runs.

use super::error::ErrorCode;
use super::message::{ListedOffset, Message, OffsetSpec};
use super::metadata::MetadataRecord;
use super::names::{Correlation, LeaderEpoch, Node, Offset, ProduceId};
use super::produce::Acks;
use super::records::LogRecord;
use crate::storage::epoch_cache::EpochEnd;
use crate::storage::log_read::Isolation;

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// Records of the controller, applied as one delta.
    Metadata(Vec<MetadataRecord>),
    /// A client writes one batch.
    Produce {
        /// How the answer is known.
        id: ProduceId,
        /// The values of the records.
        records: Vec<Vec<u8>>,
        /// Who is waited for.
        acks: Acks,
    },
    /// A client reads.
    Consume {
        /// From here on.
        offset: Offset,
        /// The epoch that the client is in.
        current_leader_epoch: Option<LeaderEpoch>,
        /// How far it may see.
        isolation: Isolation,
        /// Whether a follower may answer (KIP-392).
        from_follower: bool,
    },
    /// A client, or somebody in the name of a replica ([`Isolation::LogEnd`]), asks for an offset.
    ListOffsets {
        /// Which offset.
        spec: OffsetSpec,
        /// The epoch that the requester is in.
        current_leader_epoch: Option<LeaderEpoch>,
        /// How far it may see.
        isolation: Isolation,
    },
    /// Somebody asks where an epoch ends.
    OffsetForLeaderEpoch {
        /// The epoch.
        epoch: LeaderEpoch,
        /// The epoch that the requester is in.
        current_leader_epoch: Option<LeaderEpoch>,
    },
    /// The follower's fetcher goes on, if it has nothing outstanding.
    Poll,
    /// A message arrives.
    Deliver(Message),
    /// This broker gives its own request up: the connection is lost.
    Fail(Correlation),
    /// A fetch has waited here for its whole time.
    ExpireFetch {
        /// Who sent it.
        from: Node,
        /// Its number there.
        correlation: Correlation,
    },
    /// A produce request has waited for its whole time.
    ExpireProduce(ProduceId),
    /// `replica.lag.time.max.ms` pass, and the leader looks for members of the ISR that lag.
    ShrinkIsr,
    /// The high watermark is written down.
    Checkpoint,
    /// An administrator deletes what is below.
    DeleteRecords(Offset),
    /// The replica is to be moved to another disk.
    AlterLogDirs,
    /// The future replica's fetcher runs one round.
    Copy,
    /// The future replica's disk goes away.
    DiskOffline,
    /// It comes back.
    DiskOnline,
}

/// What one input leads to, each list in the order in which it happened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    /// The answer to a client, if there is one already.
    pub answer: Option<Answer>,
    /// Messages.
    pub sends: Vec<Message>,
    /// Replies to fetches that waited here.
    pub completed_fetches: Vec<Message>,
    /// Answers to produce requests that waited here: the first offset of the batch, or why not.
    pub completed_produces: Vec<(ProduceId, Result<Offset, ErrorCode>)>,
    /// Each truncation below the own high watermark, as it stood before.
    pub truncated_below_high_watermark: Vec<TruncatedBelow>,
}

/// A truncation below the own high watermark: with clean elections and whole disks there is none (KIP-279's warning).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TruncatedBelow {
    /// Where the log ends now.
    pub to: Offset,
    /// The high watermark before.
    pub high_watermark: Offset,
}

/// What a client is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The request was refused.
    Refused(ErrorCode),
    /// The first offset of the batch.
    Produced(Offset),
    /// What there is to read.
    Consumed {
        /// The records.
        records: Vec<LogRecord>,
        /// The high watermark.
        high_watermark: Offset,
    },
    /// An offset.
    Offset(ListedOffset),
    /// Where an epoch ends; -1 and -1 if that cannot be told.
    EpochEnd(EpochEnd),
}
