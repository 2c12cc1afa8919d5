//! Single slips of replication, each the undoing of one guard or one fix: what a test suite for replicas has to catch
//! (docs/replication.md 8, 10.3; the review of PR #4882).
//!
//! A slip is used at one place in the code. Where a fix is also a rule of some generation, the older value of that rule in
//! [`Rules`](super::rules::Rules) is the slip.

macro_rules! slips {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One slip of a broker or of the controller.
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
    // 1.3, 1.4: the epoch cache
    /// KAFKA-7415: a leader does not mark its epoch before it writes.
    EpochNotMarked = "epoch-not-marked",
    /// KAFKA-10706: a truncation that cuts nothing leaves an empty epoch at the end.
    EmptyEpochKept = "empty-epoch-kept",
    /// Redpanda #11864: an epoch that nobody had yet ends at the log's end.
    FutureEpochEndsAtLogEnd = "future-epoch-ends-at-log-end",
    /// Redpanda #12063: an answer has the current epoch instead of the one that ends.
    AnswerHasCurrentEpoch = "answer-has-current-epoch",
    // 2.2, 2.5 to 2.7: the follower
    /// KAFKA-7164: only another leader makes a follower begin anew, not a later epoch of the same.
    FollowsOnlyNewLeader = "follows-only-new-leader",
    /// 2.11: the follower cuts at the leader's offset, whatever its own epochs say.
    OwnEpochsIgnored = "own-epochs-ignored",
    /// PR #4882: an answer without an epoch sends the follower to its high watermark.
    NoEpochMeansHighWatermark = "no-epoch-means-high-watermark",
    /// PR #4882: the same if the follower knows no epoch.
    NoOwnEpochMeansHighWatermark = "no-own-epoch-means-high-watermark",
    /// PR #4882: the offset of an answer without an epoch is bounded by the high watermark.
    NoEpochBoundedByHighWatermark = "no-epoch-bounded-by-high-watermark",
    /// PR #4882: a truncation that is not the last one is not bounded by the log's end.
    IntermediateUnbounded = "intermediate-unbounded",
    /// PR #4882: the exchange ends after its first round.
    OneRound = "one-round",
    /// PR #4882: a broker asks in the new version before the protocol is raised.
    AlwaysAsksInNewVersion = "always-asks-in-new-version",
    /// KAFKA-7786: the answer to a question of an earlier epoch is used.
    LateEpochAnswerUsed = "late-epoch-answer-used",
    /// KAFKA-18991: a late fetch reply is used if the offset is the same.
    LateFetchReplyUsed = "late-fetch-reply-used",
    /// KAFKA-14704: the high watermark of a diverging reply is used.
    DivergingHighWatermarkUsed = "diverging-high-watermark-used",
    /// KAFKA-15510: an empty reply makes the follower forget its last epoch.
    EmptyReplyForgetsEpoch = "empty-reply-forgets-epoch",
    /// KAFKA-18723: batches of a later epoch than the follower's own are appended.
    LaterEpochAppended = "later-epoch-appended",
    /// KAFKA-9491: the high watermark stays where it was when the whole log goes.
    FullTruncationKeepsHighWatermark = "full-truncation-keeps-high-watermark",
    /// 2.7: a follower ahead of its leader's end does not cut.
    EndBeyondLeaderKept = "end-beyond-leader-kept",
    /// 3.6: a fenced follower asks again and again.
    FencedRetries = "fenced-retries",
    // 3: requests
    /// KAFKA-6880: the leader epoch of a request is not compared.
    RequestsNotFenced = "requests-not-fenced",
    /// 3.1 row 2: a leader serves a requester that is in a later epoch.
    ZombieLeaderServes = "zombie-leader-serves",
    /// Redpanda #5435: a broker that does not lead answers where an epoch ends.
    NonLeaderAnswersEpochEnd = "non-leader-answers-epoch-end",
    /// KAFKA-12996: divergence is told before the offset is compared with the log's start.
    DivergenceBelowLogStart = "divergence-below-log-start",
    /// 3.3 row 3: the offset alone is compared, not the epoch.
    DivergenceByOffsetAlone = "divergence-by-offset-alone",
    /// 3.2: the reply has the high watermark after the request was counted.
    ReplyHasRaisedHighWatermark = "reply-has-raised-high-watermark",
    /// KIP-207: the end is told before the high watermark is in the current epoch.
    LatestBeforeEpochStart = "latest-before-epoch-start",
    /// Redpanda #30101: the start of the log is told with the current epoch.
    EarliestHasCurrentEpoch = "earliest-has-current-epoch",
    // 4.3 to 4.6: the leader
    /// KAFKA-13141: a fetch that diverges counts as progress.
    DivergingFetchCounted = "diverging-fetch-counted",
    /// KAFKA-8400: a fetch that fails counts as progress.
    FailedFetchCounted = "failed-fetch-counted",
    /// KAFKA-15583: the high watermark rises with too few replicas in sync.
    RisesUnderMinIsr = "rises-under-min-isr",
    /// KIP-497: the high watermark does not wait for a replica that is about to join.
    CommittedIsrOnly = "committed-isr-only",
    /// KIP-497: the high watermark does not wait for a replica that is about to be removed.
    ShrinkNotAwaited = "shrink-not-awaited",
    /// 4.3: the high watermark does not wait for a replica that has caught up.
    CaughtUpNotAwaited = "caught-up-not-awaited",
    /// KAFKA-7128: a replica joins at the high watermark, below the start of the epoch.
    JoinsBelowEpochStart = "joins-below-epoch-start",
    /// KAFKA-7152: a replica at the leader's end lags if it has not fetched for long.
    EqualEndLags = "equal-end-lags",
    /// KIP-903: the incarnation of a replica is compared nowhere.
    BrokerEpochIgnored = "broker-epoch-ignored",
    /// KAFKA-13916: a fenced replica joins.
    FencedReplicaJoins = "fenced-replica-joins",
    /// KAFKA-13091: an answer to `AlterPartition` does not raise the high watermark.
    IsrReplyRaisesNothing = "isr-reply-raises-nothing",
    /// KAFKA-14010: what may be tried again is not.
    IsrChangeNotRetried = "isr-change-not-retried",
    /// KAFKA-12686: an answer is applied though the state it answers is gone.
    LateIsrReplyUsed = "late-isr-reply-used",
    /// 4.5: a proposal goes out while an earlier one, which a record has settled, is not answered.
    ProposalNotAwaited = "proposal-not-awaited",
    /// KAFKA-13790: the state of remote replicas is reset though the epoch is the same.
    SameEpochResetsRemotes = "same-epoch-resets-remotes",
    /// 4.6: acks=all is not refused under `min.insync.replicas`.
    MinIsrNotChecked = "min-isr-not-checked",
    /// 4.6: a pending produce request survives the loss of leadership.
    PendingSurvivesDemotion = "pending-survives-demotion",
    // 4.7: the controller
    /// KAFKA-14154: a controller that is behind fences a leader that is ahead.
    StaleControllerFences = "stale-controller-fences",
    /// 4.7 row 6: the partition epoch of a proposal is not compared.
    PartitionEpochIgnored = "partition-epoch-ignored",
    /// 4.7 rule 2: a current leader that is valid is replaced.
    ValidLeaderReplaced = "valid-leader-replaced",
    /// KAFKA-19522: a last known leader is elected while it is fenced.
    FencedLastKnownElected = "fenced-last-known-elected",
    // 2.10: the future replica
    /// PR #4882: the high watermark of a future replica is not bounded by its end.
    FutureHighWatermarkUnbounded = "future-high-watermark-unbounded",
    /// KAFKA-15608: an epoch without records is lost with the swap.
    SwapLosesEmptyEpoch = "swap-loses-empty-epoch",
}

impl std::fmt::Display for Slip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
