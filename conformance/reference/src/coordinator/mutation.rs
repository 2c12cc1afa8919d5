//! Single slips, each the undoing of one guard or one fix: what a test suite for a coordinator has to catch.
//!
//! A mutation is used at exactly one place in the code. Where a fix is also a rule of some release (KAFKA-19431, 19233,
//! 20442, 20747), the older release's value of that rule is the same slip, and both exist.

macro_rules! mutations {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One slip of the coordinator.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mutation {
            $($(#[$doc])* $name,)*
        }

        impl Mutation {
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

mutations! {
    // 2.1 and 2.2
    /// 2.1: a request that contradicts itself is not refused.
    RequestsNotValidated = "requests-not-validated",
    /// 2.2: the size limit of the group is ignored.
    GroupSizeUnlimited = "group-size-unlimited",
    /// 2.2: a static member that did not leave is replaced.
    InstanceIdNeverUnreleased = "instance-id-never-unreleased",
    /// 2.2: a replaced static member is not told so by its instance id.
    InstanceIdNotFenced = "instance-id-not-fenced",
    // 2.3
    /// KAFKA-19233, 2.3 row 1: epoch 0 is an ordinary older epoch.
    RejoinFenced = "rejoin-fenced",
    /// 2.3 row 2: a heartbeat from the future passes.
    NewerHeartbeatAccepted = "newer-heartbeat-accepted",
    /// 2.3 row 4: any older epoch passes, not the previous one alone.
    AnyOlderHeartbeat = "any-older-heartbeat",
    /// 2.3 row 4: what the member owns is not compared with what it was assigned.
    EpochCheckIgnoresOwned = "epoch-check-ignores-owned",
    /// 2.3 row 4: an absent owned set passes.
    EpochCheckAcceptsAbsentOwned = "epoch-check-accepts-absent-owned",
    /// 2.3 row 4: partitions pending revocation count as assigned.
    EpochCheckCountsPending = "epoch-check-counts-pending",
    // 2.4
    /// 2.4: a member that joins again starts with nothing.
    RejoinForgetsAssignment = "rejoin-forgets-assignment",
    /// 2.4 row 3: a change of the subscription does not bump the group epoch.
    SubscriptionChangeUnnoticed = "subscription-change-unnoticed",
    /// 2.4 row 4: the target is not computed while an older one is there.
    TargetNeverRecomputed = "target-never-recomputed",
    /// 2.4 row 4: the assignment interval is not waited for.
    AssignmentIntervalIgnored = "assignment-interval-ignored",
    /// 2.4 row 7: the answer carries the assignment only when the member joins.
    AssignmentNotSent = "assignment-not-sent",
    // 2.5
    /// KAFKA-16249: a newer target breaks into a revocation that was not acknowledged, and the owned set is not read.
    AcknowledgementMissed = "acknowledgement-missed",
    /// KAFKA-19449: a member's own pending partition is not free for it.
    OwnPendingTaken = "own-pending-taken",
    /// KAFKA-19431: partitions of topics that the member left stay with it.
    UnsubscribedKept = "unsubscribed-kept",
    /// KAFKA-19974: the exit from UNREVOKED bumps the epoch even if the member stays in it.
    UnrevokedExitBumpsEpoch = "unrevoked-exit-bumps-epoch",
    /// PR 21325: STRIP leaves the previous epoch behind.
    StripKeepsPreviousEpoch = "strip-keeps-previous-epoch",
    /// crabka #521: the target is handed out whether its partitions are free or not.
    GrantedAtOnce = "granted-at-once",
    /// 2.5: what another member was asked to give up is free for the next.
    PendingIsFree = "pending-is-free",
    /// S13: an absent owned set counts as "owns nothing".
    AbsentOwnedIsEmpty = "absent-owned-is-empty",
    /// 2.5: partitions are taken away without being asked back.
    RevokedAtOnce = "revoked-at-once",
    /// 2.5: kept partitions get a new assignment epoch with each member epoch.
    KeptPartitionRenewed = "kept-partition-renewed",
    /// 2.5: what is asked back gets the target's epoch as its assignment epoch.
    PendingPartitionRenewed = "pending-partition-renewed",
    /// 2.5: a member that is asked to give something up is at the target's epoch at once.
    MemberEpochBeforeRevocation = "member-epoch-before-revocation",
    /// S7: a partition that comes back from pending revocation keeps its old assignment epoch.
    RegrantKeepsEpoch = "regrant-keeps-epoch",
    /// 2.5: a set epoch leaves the previous epoch as it was.
    PreviousEpochNotKept = "previous-epoch-not-kept",
    // 2.6 to 2.9
    /// 2.6: a static member that leaves for a while keeps its partitions pending revocation.
    LeaveKeepsPending = "leave-keeps-pending",
    /// 2.6: a static member that leaves for a while keeps its assignment epochs.
    StaticLeaveKeepsAssignmentEpochs = "static-leave-keeps-assignment-epochs",
    /// 2.6: the instance id of a leave is not compared with the member id.
    LeaveIgnoresMemberId = "leave-ignores-member-id",
    /// 2.7: the member that was replaced stays.
    ReplacedMemberStays = "replaced-member-stays",
    /// 2.7: the member that was replaced is gone, and its commits are accepted.
    ReplacedMemberAccepted = "replaced-member-accepted",
    /// 2.7: the successor of a static member starts without its partitions.
    ReplacementForgetsAssignment = "replacement-forgets-assignment",
    /// 2.8: removal does not bump the group epoch.
    RemovalWithoutBump = "removal-without-bump",
    /// KAFKA-20442: an empty group stays with an assignment epoch behind its group epoch.
    EmptyGroupLags = "empty-group-lags",
    /// KAFKA-20747: the old mapping of a changed instance id stays.
    StaleInstanceMappingKept = "stale-instance-mapping-kept",
    /// 2.9: a heartbeat does not restart the session timer.
    SessionNotRestarted = "session-not-restarted",
    /// 2.9: the rebalance timer removes the member whatever its epoch.
    RebalanceTimerIgnoresEpoch = "rebalance-timer-ignores-epoch",
    /// KAFKA-16249: the rebalance timer starts again with each heartbeat.
    RebalanceTimerRestarted = "rebalance-timer-restarted",
    /// 2.9: an acknowledged revocation does not stop the rebalance timer.
    RebalanceTimerNotCancelled = "rebalance-timer-not-cancelled",
    /// 2.9: no timers after a load.
    TimersNotArmed = "timers-not-armed",
    /// KAFKA-20431: what is pending revocation is not described.
    PendingNotDescribed = "pending-not-described",
    // 2.11
    /// 2.11: the generation of a classic member is not checked.
    GenerationNotChecked = "generation-not-checked",
    /// 2.11: a classic member behind the target is not told to rebalance.
    ClassicMemberNotRebalanced = "classic-member-not-rebalanced",
    // 3.2
    /// 3.2 row 3: a commit with an epoch makes the group that it lacks.
    CommitCreatesGroup = "commit-creates-group",
    /// 3.2 row 5: text beyond the limit is stored.
    MetadataLimitIgnored = "metadata-limit-ignored",
    /// KAFKA-16371, 3.2 row 5: a partition refused for its text is pending for ever.
    OversizedMetadataLeavesPending = "oversized-metadata-leaves-pending",
    /// 3.2 row 6: fencing refuses the partition, not the request.
    CommitFencedByPartition = "commit-fenced-by-partition",
    /// 3.2 row 6: the partitions before the one that fails are stored, though the request is refused.
    PartialCommit = "partial-commit",
    /// The leader epoch of a commit is not stored (Redpanda #17260).
    LeaderEpochLost = "leader-epoch-lost",
    // 3.3
    /// 3.3 row 1: a commit without an identity is accepted though the group has members.
    AnonymousCommitAccepted = "anonymous-commit-accepted",
    /// KAFKA-18060, 3.3 row 2: a transactional commit without a member id is refused.
    TransactionNeedsMember = "transaction-needs-member",
    /// 3.3 row 3: a commit of an unknown member is accepted.
    UnknownMemberAccepted = "unknown-member-accepted",
    /// 3.3 row 4: the version of the request is not checked.
    CommitVersionNotChecked = "commit-version-not-checked",
    /// 3.3 row 5: an equal epoch need not own the partition: the oracle without its repair.
    CommitFastPath = "commit-fast-path",
    /// 3.3 row 6: an epoch from the future is accepted.
    NewerEpochAccepted = "newer-epoch-accepted",
    /// KAFKA-20066, 3.3 row 7: any older epoch is refused.
    CommitRefusesOlderEpoch = "commit-refuses-older-epoch",
    /// 3.3 row 7: a partition that the member does not have is accepted.
    OwnershipIgnored = "ownership-ignored",
    /// 3.3 row 7: the epoch is not compared with the assignment epoch.
    AssignmentEpochIgnored = "assignment-epoch-ignored",
    /// 3.3 row 7: a commit from the assignment epoch itself is too old.
    FirstEpochRefused = "first-epoch-refused",
    /// 3.3 row 7: partitions pending revocation count as given up.
    PendingRefused = "pending-refused",
    /// PR 16145, 3.3: classic members get an error that they cannot read.
    ClassicCommitStale = "classic-commit-stale",
    // 3.4
    /// KAFKA-5247, KAFKA-14505: a marker overwrites a plain commit that is later in the log.
    MarkerWins = "marker-wins",
    /// 3.4: an aborted transaction's offsets become the committed ones.
    AbortCommits = "abort-commits",
    /// 3.4: a transaction's offsets count as committed before its marker.
    TxnOffsetsCommittedAtOnce = "txn-offsets-committed-at-once",
    /// KAFKA-17507: a marker is answered first and applied with the producer's next transaction.
    MarkerAppliedLate = "marker-applied-late",
    /// 3.4: a producer with an older epoch is not refused.
    ProducerEpochNotChecked = "producer-epoch-not-checked",
    /// KAFKA-19163: a group is deleted though a transaction is open on it.
    ExpiryForgetsTransactions = "expiry-forgets-transactions",
    // 3.6
    /// 3.6: the member epoch of a fetch is not checked.
    FetchNotFenced = "fetch-not-fenced",
    /// 3.6: a fetch with an older epoch passes.
    FetchUnchecked = "fetch-unchecked",
    /// 3.6: an unknown member may fetch.
    FetchAcceptsUnknownMember = "fetch-accepts-unknown-member",
    /// 3.6: a stable fetch does not see open transactions.
    UnstableOffsetAnswered = "unstable-offset-answered",
    /// 3.6: an ordinary fetch reads what is not replicated yet.
    FetchReadsUnreplicated = "fetch-reads-unreplicated",
    // 3.7, 3.8 and 4
    /// 3.7: a record without assignment epochs is loaded with epoch 0.
    MissingEpochsAreZero = "missing-epochs-are-zero",
    /// S10: assignment epochs are not loaded.
    LoadIgnoresAssignmentEpochs = "load-ignores-assignment-epochs",
    /// KAFKA-16147: partitions that move from pending to assigned of the same member are freed.
    RegrantForgetsOwner = "regrant-forgets-owner",
    /// KAFKA-19862: replay refuses a partition that has a holder, and a release by one who does not hold it.
    ReplayRefusesTakeover = "replay-refuses-takeover",
    /// KAFKA-17306: replay refuses tombstones for what is not there.
    ReplayRefusesAbsent = "replay-refuses-absent",
    /// 4.2: the tombstone of an offset leaves the pending one.
    OffsetTombstoneKeepsPending = "offset-tombstone-keeps-pending",
    /// 4.3: a write is answered before it is replicated.
    AnsweredAboveTheHighWatermark = "answered-above-the-high-watermark",
    /// 4.3: the next leader has not all that is below the high watermark: the last rise of it is lost.
    HighWatermarkIgnored = "high-watermark-ignored",
    /// S8: a heartbeat that is refused bumps the group epoch.
    RefusalBumps = "refusal-bumps",
    /// KAFKA-20634: a high watermark of the next leader's log confirms this one's writes.
    HighWatermarkAfterLeadership = "high-watermark-after-leadership",
}

impl std::fmt::Display for Mutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
