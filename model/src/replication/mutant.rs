//! The slips that the model can be given: a guard undone, a public report brought back, what a review weighed.

macro_rules! mutants {
    ($($name:ident = $text:literal, $why:literal;)*) => {
        /// A slip of a broker or of the controller. [`Mutant::None`] is none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Mutant {
            /// No slip.
            #[default]
            None,
            $(#[doc = $why] $name,)*
        }

        impl Mutant {
            /// Every slip.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name, as in a configuration's.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$name => $text,)*
                }
            }

            /// What it undoes.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self {
                    Self::None => "",
                    $(Self::$name => $why,)*
                }
            }
        }
    };
}

mutants! {
    EpochNotMarked = "epoch-not-marked", "KAFKA-7415: a leader notes its epoch only when it appends.";
    CacheNotCleaned = "cache-not-cleaned", "KAFKA-10706: a truncation that cuts nothing leaves the epochs as they are.";
    FollowsNewLeaderOnly = "follows-new-leader-only", "KAFKA-7164: a follower whose leader stays the same does not begin anew.";
    EpochStartIgnored = "epoch-start-ignored", "KAFKA-7128: a replica joins the in-sync set at the high watermark.";
    DivergingCounted = "diverging-fetch-counted", "KAFKA-13141: a fetch that diverges counts as the follower's position.";
    DivergingHighWatermark = "diverging-high-watermark", "KAFKA-14704: the high watermark of a diverging answer is taken.";
    CommittedIsr = "committed-isr", "KIP-497: the high watermark does not wait for a replica that is being added.";
    BrokerEpochUnchecked = "broker-epoch-unchecked", "KIP-903: broker epochs are compared nowhere.";
    FencedMayJoin = "fenced-may-join", "KAFKA-13916: a fenced broker may join the in-sync set.";
    PartitionEpochUnchecked = "partition-epoch-unchecked", "4.7 row 6: an old proposal is applied.";
    HighWatermarkBelowMinIsr = "high-watermark-below-min-isr", "KAFKA-15583: the high watermark rises below min.insync.replicas.";
    NoElr = "no-elr", "KIP-966: no eligible leader replicas, the last in-sync replica stays the only one.";
    FutureEpochEndsAtLogEnd = "future-epoch-ends-at-log-end", "Redpanda #11864: an epoch in the future is answered with the log's end.";
    FollowerAnswers = "follower-answers-epoch-end", "Redpanda #5435: a broker that does not lead answers where an epoch ends.";
    RegistersUnfenced = "registers-unfenced", "4.7: a new life registers while the old one leads, and goes on in its epoch.";
    LagUnseenAtEqualEnd = "equal-end-lags", "KAFKA-7152: a member that has everything counts as lagging.";
    LatestAtOnce = "latest-at-once", "KIP-207: a new leader tells clients a latest offset below what they were told before.";
    LastEpochLost = "last-epoch-lost", "KAFKA-15510: an empty answer makes the follower forget its last fetched epoch.";
    NoEpochToHighWatermark = "no-epoch-to-high-watermark", "Review of KIP-279: an answer without an epoch means the high watermark.";
    UnknownEpochToHighWatermark = "unknown-epoch-to-high-watermark", "Review of KIP-279: where the follower knows no epoch, the high watermark is meant.";
    MinWithHighWatermark = "min-with-high-watermark", "Review of KIP-279: the offset is bounded by the high watermark.";
    StepUnbounded = "step-unbounded", "Review of KIP-279: a step of the loop is not bounded by the log's end.";
    OneRound = "one-round", "Review of KIP-279: the loop ends after its first round.";
    AnswerOfAnyEpoch = "answer-of-any-epoch", "KAFKA-7786: an answer about epochs is used although the leader epoch has changed.";
    FutureHighUnbounded = "future-high-watermark-unbounded", "Review of KIP-279: a future replica's high watermark is not bounded by its own log's end.";
}

impl Mutant {
    /// Why no property tells the slip from the right rules, for those where that is so.
    #[must_use]
    pub fn unseen(self) -> Option<&'static str> {
        match self {
            Self::FutureEpochEndsAtLogEnd => {
                Some("a leader that marks its epoch is asked by replicas for none above it; by consumers it is")
            }
            Self::FencedMayJoin => Some("a dead replica in the set makes writers wait until the lag time has passed"),
            Self::FollowerAnswers => {
                Some("a follower's question carries its leader epoch, in which the broker that it asks does lead")
            }
            Self::LagUnseenAtEqualEnd => {
                Some("the in-sync set is smaller than need be, which nothing promises against")
            }
            Self::UnknownEpochToHighWatermark => {
                Some("a follower without an epoch does not ask, and a leader answers with none above what it was asked")
            }
            Self::StepUnbounded => Some("the follower's own epochs end within its log, since loading trims them"),
            Self::LastEpochLost => {
                Some("within an epoch nothing diverges once a fetch was answered, and the next begins from the cache")
            }
            _ => None,
        }
    }
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
