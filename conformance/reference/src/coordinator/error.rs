//! Kafka's error codes, as far as a group coordinator answers them.

use std::fmt;

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal $text:literal,)*) => {
        /// An error of Kafka's protocol. `Display` gives Kafka's name, `STALE_MEMBER_EPOCH`.
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
    /// The coordinator failed: its own fault, not the client's.
    UnknownServerError = -1 "UNKNOWN_SERVER_ERROR",
    /// No error; stands in answers that have a code for each partition.
    None = 0 "NONE",
    /// The topic or the partition does not exist.
    UnknownTopicOrPartition = 3 "UNKNOWN_TOPIC_OR_PARTITION",
    /// The text of a commit is longer than the limit.
    OffsetMetadataTooLarge = 12 "OFFSET_METADATA_TOO_LARGE",
    /// The group's log is still being read.
    CoordinatorLoadInProgress = 14 "COORDINATOR_LOAD_IN_PROGRESS",
    /// The coordinator does not run, or cannot write.
    CoordinatorNotAvailable = 15 "COORDINATOR_NOT_AVAILABLE",
    /// Another broker coordinates the group.
    NotCoordinator = 16 "NOT_COORDINATOR",
    /// A classic member's generation is not the group's.
    IllegalGeneration = 22 "ILLEGAL_GENERATION",
    /// A classic member's protocols do not fit the group.
    InconsistentGroupProtocol = 23 "INCONSISTENT_GROUP_PROTOCOL",
    /// The group id is null.
    InvalidGroupId = 24 "INVALID_GROUP_ID",
    /// No such member.
    UnknownMemberId = 25 "UNKNOWN_MEMBER_ID",
    /// A classic member has to join again.
    RebalanceInProgress = 27 "REBALANCE_IN_PROGRESS",
    /// The request's version cannot carry what the group needs.
    UnsupportedVersion = 35 "UNSUPPORTED_VERSION",
    /// The request contradicts itself.
    InvalidRequest = 42 "INVALID_REQUEST",
    /// A producer with this id and a newer epoch is known.
    InvalidProducerEpoch = 47 "INVALID_PRODUCER_EPOCH",
    /// No such group, for those who delete or describe.
    GroupIdNotFound = 69 "GROUP_ID_NOT_FOUND",
    /// The group has as many members as it may.
    GroupMaxSizeReached = 81 "GROUP_MAX_SIZE_REACHED",
    /// The instance id belongs to another member id by now.
    FencedInstanceId = 82 "FENCED_INSTANCE_ID",
    /// A transaction is open on the offset.
    UnstableOffsetCommit = 88 "UNSTABLE_OFFSET_COMMIT",
    /// No topic has this id.
    UnknownTopicId = 100 "UNKNOWN_TOPIC_ID",
    /// The member epoch of a heartbeat does not fit: drop all partitions and join again.
    FencedMemberEpoch = 110 "FENCED_MEMBER_EPOCH",
    /// The instance id is in use by a member that did not leave.
    UnreleasedInstanceId = 111 "UNRELEASED_INSTANCE_ID",
    /// No such assignor.
    UnsupportedAssignor = 112 "UNSUPPORTED_ASSIGNOR",
    /// The member epoch of a commit or a fetch does not fit: the next heartbeat's answer brings the right one.
    StaleMemberEpoch = 113 "STALE_MEMBER_EPOCH",
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
