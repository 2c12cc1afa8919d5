//! Single slips of a client, and of the brokers as far as a client sees them: each the undoing of one guard or one fix
//! (docs/consumers.md; docs/replication.md 8.4, 8.5). A slip is used at one place in the code.

macro_rules! slips {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One slip.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Slip {
            $($(#[$doc])* $name,)*
        }

        impl Slip {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that fixtures and reports use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

slips! {
    // 1, 2: positions and metadata
    /// Metadata with an older leader epoch than the last seen are taken.
    OlderMetadataTaken = "older-metadata-taken",
    /// The epoch of a committed offset or of a seek does not raise the last seen one.
    SeenEpochNotRaised = "seen-epoch-not-raised",
    /// KAFKA-9840: epochs of metadata that cannot be relied on are used.
    UnreliableEpochUsed = "unreliable-epoch-used",
    /// A new epoch of the same leader is not validated.
    SameLeaderNotValidated = "same-leader-not-validated",
    /// A seek with an epoch is not validated.
    SeekNotValidated = "seek-not-validated",
    /// A committed pair is not validated.
    CommittedNotValidated = "committed-not-validated",
    /// KAFKA-10123: a partition without a position claims to have one, and a new leader makes the client fetch, from nowhere.
    ResetKeepsPosition = "reset-has-position",
    /// A new leader does not make the client forget its preferred replica.
    PreferredReplicaKept = "preferred-replica-kept",
    // 3: validation
    /// KAFKA-8422: brokers are asked that do not understand.
    OldBrokersAsked = "version-ignored",
    /// KAFKA-9724: a position waits for brokers that cannot be asked.
    OldBrokersAwait = "old-brokers-await",
    /// KAFKA-8429: an answer is used though the position is another one.
    LateValidationUsed = "reply-after-seek",
    /// KAFKA-9840: an answer without an end is taken for a confirmation.
    UndefinedConfirms = "undefined-ignored",
    /// KAFKA-10113: the exception has the divergent offset in the place of the position.
    DivergentOffsetAsPosition = "divergent-as-position",
    /// After the exception the client fetches on, as if it had been a warning.
    TruncationToldOnce = "truncation-told-once",
    /// An epoch that ends exactly at the position does not confirm it.
    EndAtPositionDiverges = "end-at-position-diverges",
    /// A refused validation ends the wait for it.
    RefusedValidationConfirms = "refused-validation-confirms",
    // 4: fetching
    /// The client fetches while its position is not validated.
    FetchesWhileValidating = "fetches-while-validating",
    /// Records of another offset than the position are handed out.
    LateRecordsHandedOut = "late-records-handed-out",
    /// An offset that was out of range for an earlier position makes the client reset this one.
    LateOutOfRangeUsed = "late-out-of-range-used",
    /// The epoch of a record that was read is not kept with the position.
    RecordEpochDropped = "record-epoch-dropped",
    /// Out of range at a follower is taken for out of range.
    OutOfRangeAtFollowerBelieved = "out-of-range-at-follower-believed",
    /// 9: records of an aborted transaction are handed out to a reader of what is committed.
    AbortedHandedOut = "aborted-handed-out",
    /// 9: an abort marker does not end the transaction.
    MarkerDoesNotEnd = "marker-does-not-end",
    // 5: commit, reset
    /// KAFKA-19902: an offset is committed without its epoch.
    CommitsWithoutEpoch = "commits-without-epoch",
    /// An offset that was asked for a reset is used though the application has sought since.
    LateOffsetUsed = "late-offset-used",
    // The brokers
    /// Redpanda #5435: a broker that does not lead tells where an epoch ends.
    FollowerTellsEpochEnd = "follower-answers",
    /// Redpanda #11864: an epoch that nobody had yet ends at the log's end.
    FutureEpochEnds = "future-epoch-ends-at-log-end",
    /// Redpanda #12063: an answer has the current epoch.
    CurrentEpochAnswered = "current-epoch-answered",
    /// Redpanda #26583: the start of the log has the current epoch.
    StartHasCurrentEpoch = "lists-current-epoch",
    /// The leader epoch of a client's request is not compared.
    ClientNotFenced = "client-not-fenced",
    /// A client is handed records above the high watermark.
    ReadsAboveHighWatermark = "reads-above-high-watermark",
    /// 9: a reader of what is committed is handed what is not decided yet.
    ReadsOpenTransaction = "reads-open-transaction",
}

impl std::fmt::Display for Slip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
