//! What the actors say to each other, and what may happen at each of its own accord.
//!
//! Both enums name paths by their order: append variants, never insert them.

use serde::{Deserialize, Serialize};

use super::controller::Image;
use super::epochs::EpochEnd;
use super::log::{Epoch, Log, MAX_BROKERS, Offset};

/// What an answer says of the request that it answers, as a connection knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Sent {
    /// The requester's count of requests that it gave up, and of its lives: an answer to an older one is not read.
    pub round: u8,
    /// The leader epoch that the follower was in, whether or not the request says so.
    pub epoch: Epoch,
    /// The fetch offset.
    pub offset: Offset,
    /// The last fetched epoch, or the epoch asked for.
    pub last: Epoch,
}

/// A refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Refusal {
    /// `FENCED_LEADER_EPOCH`.
    FencedLeaderEpoch,
    /// `UNKNOWN_LEADER_EPOCH`.
    UnknownLeaderEpoch,
    /// `NOT_LEADER_OR_FOLLOWER`.
    NotLeaderOrFollower,
    /// `UNKNOWN_TOPIC_OR_PARTITION`: no metadata yet.
    UnknownTopicOrPartition,
    /// `OFFSET_OUT_OF_RANGE`.
    OffsetOutOfRange,
    /// `UNSUPPORTED_VERSION`.
    UnsupportedVersion,
    /// `STALE_BROKER_EPOCH`.
    StaleBrokerEpoch,
    /// `NOT_CONTROLLER`.
    NotController,
    /// `INVALID_REQUEST`.
    InvalidRequest,
    /// `INVALID_UPDATE_VERSION`.
    InvalidUpdateVersion,
    /// `INELIGIBLE_REPLICA`.
    IneligibleReplica,
}

/// The answer to a fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Fetched {
    /// Records, perhaps none.
    Records {
        /// The records, from the base of the batch that holds the offset.
        records: Log,
        /// The leader's high watermark before it took note of the request.
        high: Offset,
    },
    /// The logs part.
    Diverging {
        /// Where the leader's log knows the follower's epoch to end.
        at: EpochEnd,
        /// The leader's high watermark.
        high: Offset,
    },
    /// A refusal.
    Error(Refusal),
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Msg {
    /// A follower fetches.
    Fetch {
        /// Epoch, offset, last fetched epoch.
        sent: Sent,
        /// The follower's broker epoch.
        broker_epoch: u8,
        /// Ghost of P3: the follower's log.
        log: Log,
    },
    /// The answer.
    FetchReply {
        /// What is answered.
        sent: Sent,
        /// The answer.
        answer: Fetched,
    },
    /// `OffsetsForLeaderEpoch`: where does the epoch `sent.last` end?
    EpochEndRequest {
        /// Leader epoch and epoch.
        sent: Sent,
    },
    /// The answer.
    EpochEndReply {
        /// What is answered.
        sent: Sent,
        /// The answer.
        answer: Result<EpochEnd, Refusal>,
    },
    /// `ListOffsets` of a follower.
    ListOffsets {
        /// Leader epoch.
        sent: Sent,
        /// Whether the earliest offset is asked for; else the latest.
        earliest: bool,
    },
    /// The answer.
    ListOffsetsReply {
        /// What is answered.
        sent: Sent,
        /// Which offset it is.
        earliest: bool,
        /// The answer.
        answer: Result<Offset, Refusal>,
    },
    /// A leader proposes an in-sync set.
    AlterPartition {
        /// The leader's epoch.
        epoch: Epoch,
        /// The partition epoch that the proposal rests on.
        partition_epoch: Epoch,
        /// The proposed set, a bit each.
        isr: u8,
        /// The broker epoch that each member had when it fetched; 0 where it is not known.
        broker_epochs: [u8; MAX_BROKERS],
        /// The leader's own broker epoch.
        broker_epoch: u8,
    },
    /// The answer.
    AlterPartitionReply {
        /// The broker epoch of the request: a later life does not read it.
        broker_epoch: u8,
        /// The partition as it is now.
        answer: Result<Altered, Refusal>,
    },
    /// A broker that comes up registers.
    Register {
        /// Its new broker epoch.
        broker_epoch: u8,
        /// Ghost: whether it lost records. With KIP-966 the registration says whether the shutdown was clean.
        lost: bool,
    },
    /// A record of the controller, where records are messages.
    Metadata {
        /// The state after the record.
        image: Image,
    },
}

/// A partition after an `AlterPartition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Altered {
    /// The leader.
    pub leader: u8,
    /// The leader epoch.
    pub epoch: Epoch,
    /// The partition epoch.
    pub partition_epoch: Epoch,
    /// The in-sync replicas.
    pub isr: u8,
}

/// An election that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Election {
    /// The first replica, if it can lead.
    Preferred,
    /// Anybody who lives, if nobody else can.
    Unclean,
    /// This one.
    Chosen(u8),
}

/// What may happen at an actor of its own accord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// A broker applies the controller's records up to this one.
    Apply(Image),
    /// A client produces a record, with acks=all.
    Produce,
    /// The fetcher sends its next request.
    Poll,
    /// The fetcher gives up its request to this broker.
    Fail {
        /// The other broker.
        peer: u8,
    },
    /// The wait time of a parked fetch is over.
    Expire {
        /// Which one.
        place: u8,
    },
    /// The lag time passes, and the leader looks for members that lag.
    ShrinkIsr,
    /// The high watermark is written down.
    Checkpoint,
    /// The broker dies.
    Crash,
    /// It comes up.
    Start {
        /// Where its log ends now.
        keep: Offset,
    },
    /// The controller elects.
    Elect(Election),
    /// The controller takes a broker for dead.
    Fence(u8),
    /// The controller takes it for alive.
    Unfence(u8),
    /// A broker asks the controller to leave.
    ShutDown(u8),
    /// The broker stops in an orderly way.
    Stop,
    /// It comes up, and finds its `leader-epoch-checkpoint` damaged.
    StartDamaged(Damage),
    /// A client produces a batch of two records, with acks=all.
    ProducePair,
    /// A move of the replica to another disk begins.
    AlterLogDirs,
    /// The future replica's fetcher does one round.
    Copy,
    /// The future replica's disk goes offline.
    DiskOffline,
    /// It comes back.
    DiskOnline,
}

/// What became of a `leader-epoch-checkpoint` while its broker was down. The log is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Damage {
    /// The file is gone, or has no entries.
    Empty,
    /// Its newest entry is gone.
    WithoutNewest,
    /// Its oldest entry is gone.
    WithoutOldest,
}

impl Damage {
    /// Every damage.
    pub const ALL: [Self; 3] = [Self::Empty, Self::WithoutNewest, Self::WithoutOldest];
}
