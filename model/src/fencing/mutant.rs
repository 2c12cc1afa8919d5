//! The slips that the model can be given: a guard undone, a public report brought back.
//!
//! Not among them is KAFKA-17507, a marker that is answered before its offsets count: the model's marker is one step.

macro_rules! mutants {
    ($($name:ident = $text:literal, $why:literal;)*) => {
        /// A slip of the coordinator or of a client. [`Mutant::None`] is none.
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
    RegrantForgetsOwner = "regrant-forgets-owner", "KAFKA-16147: a partition that is granted back in a revocation looks free.";
    AckMissed = "acknowledgement-missed", "KAFKA-16249: a newer target is taken up without a look at what is owned.";
    KeepUnsubscribed = "unsubscribed-kept", "KAFKA-19431: the target is not filtered by the subscription.";
    RejoinFenced = "rejoin-fenced", "KAFKA-19233: a known member may not join again with epoch 0.";
    EmptyGroupLags = "empty-group-lags", "KAFKA-20442: the target of a group that became empty stays behind.";
    MarkerWins = "marker-wins", "KAFKA-14505, KAFKA-5247: a marker's offsets replace a newer plain commit.";
    AnswersEarly = "answered-above-the-high-watermark", "KAFKA-20634: a write is answered before it is replicated.";
    GrantsAtOnce = "granted-at-once", "crabka #521: a partition is granted while another member still owns it.";
    NotStrippedPrevious = "strip-keeps-previous-epoch", "PR 21325: STRIP does not set the previous epoch.";
    AbsentIsEmpty = "absent-owned-is-empty", "2.5: an absent owned set counts as an empty one.";
    RevokesAtOnce = "revoked-at-once", "2.5 NEXT: what is asked back counts as given up.";
    PendingIsFree = "pending-is-free", "2.5: what another member has been asked to give up counts as free.";
    KeepRenews = "kept-partition-renewed", "2.5 NEXT: a partition that is kept gets the target's epoch.";
    GrantKeepsOld = "regrant-keeps-epoch", "2.5 NEXT: a partition that is granted anew keeps its assignment epoch.";
    PendingRenews = "pending-partition-renewed", "2.5 NEXT: a partition that is asked back gets the target's epoch.";
    UnreleasedEarly = "member-epoch-before-revocation", "2.5 NEXT: the member epoch rises before partitions are given up.";
    UnknownAccepted = "unknown-member-accepted", "3.3 row 3: a commit of a member that is gone is accepted.";
    NewerAccepted = "newer-epoch-accepted", "3.3 row 6: a commit from above the member epoch is accepted.";
    EpochIgnored = "assignment-epoch-ignored", "3.3 row 7: ownership is enough.";
    OwnershipIgnored = "ownership-ignored", "3.3 row 7: a partition that is not the member's is accepted.";
    PendingRefused = "pending-refused", "3.3 row 7: what was asked back is not looked at.";
    OffByOne = "first-epoch-refused", "3.3 row 7: the epoch must be above the assignment epoch.";
    PartialCommit = "partial-commit", "3.2 row 6: partitions before the refused one are stored.";
    RemovalSilent = "removal-without-bump", "2.8: a removal does not raise the group epoch.";
    ReplacedAccepted = "replaced-member-accepted", "2.7: the old id of a static member still commits.";
    StaticLeaveKeepsPending = "leave-keeps-pending", "2.6: a static member that leaves for a while keeps what was asked back.";
    RebalanceRestarts = "rebalance-timer-restarted", "KAFKA-16249: each heartbeat restarts the rebalance timer.";
    TimersNotArmed = "timers-not-armed", "2.9: loading does not arm the timers.";
    FetchRelaxed = "fetch-unchecked", "3.6: a fetch with an older epoch is answered.";
    FetchIgnoresStaged = "unstable-offset-answered", "3.6: an offset on which a transaction is open is answered.";
    LoadsZero = "missing-epochs-are-zero", "3.7: assignment epochs that are missing are loaded as 0.";
    LoadForgets = "high-watermark-ignored", "4.3: the new coordinator starts from less than the high watermark.";
    RetryAnywhere = "retry-without-listener", "H3: a refused commit is sent again with the new epoch, owned or not.";
    CommitsUnowned = "commit-without-ownership", "kafka-go #1308: a client commits what it does not hold any more.";
    OlderHeartbeat = "any-older-heartbeat", "2.3 row 4: any older epoch is accepted.";
    NewerHeartbeat = "newer-heartbeat-accepted", "2.3 row 2: an epoch above the member epoch is accepted.";
    RefusalBumps = "refusal-bumps", "3.3: a refused heartbeat raises the group epoch.";
    OwnPendingTaken = "own-pending-taken", "KAFKA-19449: what a member itself was asked to give up counts as taken.";
    TxnNeedsMember = "transaction-needs-member", "KAFKA-18060: a transactional commit that names no member is refused.";
}

impl Mutant {
    /// Whether it is a client's, so that the coordinator does right all the same.
    #[must_use]
    pub fn is_clients(self) -> bool {
        matches!(self, Self::RetryAnywhere | Self::CommitsUnowned)
    }

    /// Why no property tells the slip from the right rules, for those where that is so.
    #[must_use]
    pub fn unseen(self) -> Option<&'static str> {
        match self {
            Self::NotStrippedPrevious => {
                Some("the previous epoch decides who is fenced, and who is fenced joins again")
            }
            Self::OwnPendingTaken => Some("it costs one round more, and no property counts rounds"),
            Self::TxnNeedsMember => Some("every client of the model names its member"),
            Self::OlderHeartbeat => {
                Some("a report with the previous epoch, which is accepted, can be as outdated (H4); commits are fenced")
            }
            Self::NewerHeartbeat => Some(
                "no client knows an epoch above its member's, but one that left for a while and whose hold is gone",
            ),
            _ => None,
        }
    }

    /// Why no trace tells the slip from the right rules, though a property of the model does.
    #[must_use]
    pub fn untraced(self) -> Option<&'static str> {
        (self == Self::RebalanceRestarts)
            .then_some("a trace fires timers by name and has no clock: a timer that starts again is the same timer")
    }
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
