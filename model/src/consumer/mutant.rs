//! The slips that the model can be given: what a fix undid, and what other implementations did.

macro_rules! mutants {
    ($($name:ident = $text:literal, $why:literal;)*) => {
        /// A slip of the client or of a broker. [`Mutant::None`] is none.
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
    VersionIgnored = "version-ignored", "KAFKA-8422: brokers are asked in a version that they do not have.";
    ReplyAfterSeek = "reply-after-seek", "KAFKA-8429: an answer is used for a position that was sought after the question.";
    OldBrokersAwait = "old-brokers-await", "KAFKA-9724: with old brokers a position waits for a validation that is never asked for.";
    UndefinedIgnored = "undefined-ignored", "KAFKA-9840: an undefined answer leaves the position as it is.";
    DivergentAsPosition = "divergent-as-position", "KAFKA-10113: the exception names the position as the place where the logs part.";
    ResetHasPosition = "reset-has-position", "KAFKA-10123: a position that waits for its reset counts as one.";
    EpochErrorThrown = "epoch-error-thrown", "The application is told of a leader epoch that is old or not known.";
    FutureEpochEndsAtLogEnd = "future-epoch-ends-at-log-end", "Redpanda #11864: an epoch in the future is answered with the log's end.";
    CurrentEpochAnswered = "current-epoch-answered", "Redpanda #11864: the answer about an older epoch names the current one.";
    ListsCurrentEpoch = "lists-current-epoch", "Redpanda #30101: the earliest offset is answered with the leader's epoch.";
    FollowerAnswers = "follower-answers", "Redpanda #5435: a broker that does not lead answers where an epoch ends.";
}

impl Mutant {
    /// Why no property tells the slip from the right rules, for those where that is so.
    #[must_use]
    pub fn unseen(self) -> Option<&'static str> {
        match self {
            Self::FollowerAnswers => {
                Some("a question carries the leader epoch of the broker that it goes to, in which that one does lead")
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
