//! Kafka's error codes, as far as a broker or the controller answers them in replication (docs/replication.md 3, 4).

use std::fmt;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $text:literal,)*) => {
        /// An error of Kafka's protocol. `Display` gives Kafka's name, `FENCED_LEADER_EPOCH`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, thiserror::Error)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[$doc])* $name,)*
        }

        impl ErrorCode {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The number on the wire.
            #[must_use]
            pub const fn code(self) -> i16 {
                match self {
                    $(Self::$name => $code,)*
                }
            }

            /// Kafka's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

error_codes! {
    /// The broker failed: its own fault.
    UnknownServerError = -1 "UNKNOWN_SERVER_ERROR",
    /// The log does not have that offset (yet, or any more), or not with that epoch before it.
    OffsetOutOfRange = 1 "OFFSET_OUT_OF_RANGE",
    /// The broker does not know of the partition.
    UnknownTopicOrPartition = 3 "UNKNOWN_TOPIC_OR_PARTITION",
    /// The broker does not lead the partition, or not for this requester.
    NotLeaderOrFollower = 6 "NOT_LEADER_OR_FOLLOWER",
    /// A produce request waited too long for its replicas.
    RequestTimedOut = 7 "REQUEST_TIMED_OUT",
    /// Fewer replicas in sync than `min.insync.replicas`; nothing was appended.
    NotEnoughReplicas = 19 "NOT_ENOUGH_REPLICAS",
    /// The same, found out after the append.
    NotEnoughReplicasAfterAppend = 20 "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    /// The broker does not take requests of this version.
    UnsupportedVersion = 35 "UNSUPPORTED_VERSION",
    /// Another controller is active, or this one is behind the requester.
    NotController = 41 "NOT_CONTROLLER",
    /// The request contradicts itself or the record.
    InvalidRequest = 42 "INVALID_REQUEST",
    /// The controller has not tried it.
    OperationNotAttempted = 55 "OPERATION_NOT_ATTEMPTED",
    /// The disk of the partition is offline.
    KafkaStorageError = 56 "KAFKA_STORAGE_ERROR",
    /// The requester is in an older leader epoch.
    FencedLeaderEpoch = 74 "FENCED_LEADER_EPOCH",
    /// The requester is in a later leader epoch.
    UnknownLeaderEpoch = 75 "UNKNOWN_LEADER_EPOCH",
    /// A request of an earlier incarnation of the broker.
    StaleBrokerEpoch = 77 "STALE_BROKER_EPOCH",
    /// The end of the log cannot be told until the high watermark is in the current epoch (KIP-207).
    OffsetNotAvailable = 78 "OFFSET_NOT_AVAILABLE",
    /// The election found the preferred leader leading already.
    ElectionNotNeeded = 84 "ELECTION_NOT_NEEDED",
    /// The record has been changed since.
    InvalidUpdateVersion = 95 "INVALID_UPDATE_VERSION",
    /// The topic's id is not known.
    UnknownTopicId = 100 "UNKNOWN_TOPIC_ID",
    /// An earlier incarnation of the broker is still registered and alive.
    DuplicateBrokerRegistration = 101 "DUPLICATE_BROKER_REGISTRATION",
    /// The topic's id is not that of its name.
    InconsistentTopicId = 103 "INCONSISTENT_TOPIC_ID",
    /// A replica may not be in the ISR.
    IneligibleReplica = 107 "INELIGIBLE_REPLICA",
    /// The change was applied, and moved the leader.
    NewLeaderElected = 108 "NEW_LEADER_ELECTED",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
