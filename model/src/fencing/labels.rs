//! What the coverage counts: which rows of the tables a step went through, and what it changed.
//!
//! The handlers mark rows on a [`Trail`] as they decide. A label that no configuration reaches is reported by `check`. So
//! rows that no client of the model can meet have none: requests that are malformed, of an older version, of no member,
//! or to a group that does not exist. Traces written by hand hold those.

macro_rules! labels {
    ($($name:ident = $text:literal,)*) => {
        /// A row of a table of `docs/fencing.md`, or a change of state. Append, never insert.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Label {
            $(#[doc = $text] $name,)*
        }

        /// The labels' names.
        pub const NAMES: &[&str] = &[$($text,)*];
    };
}

labels! {
    GroupFull = "2.2 the group is full: GROUP_MAX_SIZE_REACHED",
    MemberUnknown = "2.2 the member does not exist: UNKNOWN_MEMBER_ID",
    MemberCreated = "2.2 a dynamic member is created",
    StaticCreated = "2.2 a static member is created",
    StaticUnreleased = "2.2 the instance id is in use: UNRELEASED_INSTANCE_ID",
    StaticReplaced = "2.7 a static member is replaced",
    StaticUnknown = "2.2 no static member with this instance id: UNKNOWN_MEMBER_ID",
    StaticFenced = "2.2 the instance id is another member's: FENCED_INSTANCE_ID",
    EpochZero = "2.3 row 1: a known member joins again",
    EpochZeroFenced = "2.3 row 1 before 4.2: a known member may not join again: FENCED_MEMBER_EPOCH",
    EpochAbove = "2.3 row 2: the epoch is above the member epoch: FENCED_MEMBER_EPOCH",
    EpochEqual = "2.3 row 3: the epoch is the member epoch",
    EpochPrevious = "2.3 row 4: the previous epoch, and all that is owned is assigned",
    EpochNotPrevious = "2.3 row 4: an older epoch that is not the previous one: FENCED_MEMBER_EPOCH",
    EpochPreviousSilent = "2.3 row 4: the previous epoch without an owned set: FENCED_MEMBER_EPOCH",
    EpochPreviousForeign = "2.3 row 4: the previous epoch, owning what is not assigned: FENCED_MEMBER_EPOCH",
    BumpJoin = "2.4 a first subscription raises the group epoch",
    BumpSubscription = "2.4 a changed subscription raises the group epoch",
    BumpMetadata = "2.4 changed metadata raises the group epoch",
    TargetComputed = "2.4 row 4: a new target is computed",
    TargetDelayed = "2.4 row 4: the new target waits for the assignment interval",
    ReconcileSkipped = "2.4 row 5: nothing to reconcile",
    AnswerWithAssignment = "2.4 row 7: the answer carries the assignment",
    AnswerWithout = "2.4 row 7: the answer carries no assignment",
    StableNext = "2.5 STABLE behind the target: NEXT",
    StableStrip = "2.5 STABLE at the target, subscription changed: STRIP",
    UnrevokedStrip = "2.5 UNREVOKED, still reported, subscription changed: STRIP",
    UnrevokedWaits = "2.5 UNREVOKED, still reported: waits",
    UnrevokedWaitsNewer = "2.5 UNREVOKED, still reported, a newer target is ignored",
    UnrevokedNext = "2.5 UNREVOKED, given up: NEXT",
    UnreleasedNext = "2.5 UNRELEASED: NEXT",
    NextRevokes = "2.5 NEXT: partitions are asked back",
    NextRevokedAlready = "2.5 NEXT: what is to be given up is not reported any more",
    NextGrants = "2.5 NEXT: partitions are granted",
    NextBlocked = "2.5 NEXT: partitions are still another's",
    NextRegrants = "2.5 NEXT: a partition that was asked back is granted anew",
    StripNothing = "2.5 STRIP: nothing of an unsubscribed topic",
    StripRevokes = "2.5 STRIP: partitions are asked back",
    StripDrops = "2.5 STRIP: partitions that are not reported are taken away",
    StableToStable = "2.5 from STABLE to STABLE",
    StableToUnrevoked = "2.5 from STABLE to UNREVOKED",
    StableToUnreleased = "2.5 from STABLE to UNRELEASED",
    UnrevokedToStable = "2.5 from UNREVOKED to STABLE",
    UnrevokedToUnrevoked = "2.5 from UNREVOKED to UNREVOKED",
    UnrevokedToUnreleased = "2.5 from UNREVOKED to UNRELEASED",
    UnreleasedToStable = "2.5 from UNRELEASED to STABLE",
    UnreleasedToUnrevoked = "2.5 from UNRELEASED to UNREVOKED",
    UnreleasedToUnreleased = "2.5 from UNRELEASED to UNRELEASED",
    LeaveUnknown = "2.6 the member does not exist: UNKNOWN_MEMBER_ID",
    LeaveFenced = "2.6 the instance id is another member's: FENCED_INSTANCE_ID",
    Left = "2.6 a dynamic member leaves",
    StaticLeft = "2.6 a static member leaves for good",
    StaticLeftForNow = "2.6 a static member leaves for a while",
    StaticLeftUnrevoked = "2.6 a static member leaves for a while in a revocation",
    GroupEmptied = "2.8 the last member goes",
    SessionExpired = "2.9 a session timer runs out",
    RebalanceExpired = "2.9 a rebalance timer runs out",
    RebalanceOutdated = "2.9 a rebalance timer of an older epoch runs out",
    IntervalOver = "2.4 the assignment interval is over",
    CommitUnknown = "3.3 row 3: the member does not exist: UNKNOWN_MEMBER_ID",
    CommitEqualOwner = "3.3 row 5: the member epoch, by the owner",
    CommitEqualNotOwner = "3.3 row 5: the member epoch, of a partition that the member does not own",
    CommitEqualOthers = "3.3 row 5: the member epoch, of a partition that another member owns",
    CommitAbove = "3.3 row 6: above the member epoch: stale",
    CommitOlderStale = "3.3 row 7: an older epoch: stale under the rule in force",
    CommitOlderAccepted = "3.3 row 7: an older epoch, not below the assignment epoch",
    CommitOlderPending = "3.3 row 7: an older epoch, of a partition that was asked back",
    CommitOlderNotAssigned = "3.3 row 7: an older epoch, of a partition that is not the member's: stale",
    CommitOlderThanAssignment = "3.3 row 7: below the assignment epoch: stale",
    TxnIllegalGeneration = "3.4 a stale transactional commit, before version 6: ILLEGAL_GENERATION",
    TxnStale = "3.4 a stale transactional commit: STALE_MEMBER_EPOCH",
    TxnStaged = "3.4 a transactional commit is staged",
    MarkerCommits = "3.4 a marker makes staged offsets the committed ones",
    MarkerOlder = "3.4 a marker meets a newer plain commit, which stays",
    MarkerAborts = "3.4 a marker drops staged offsets",
    MarkerNothing = "3.4 a marker of a producer that staged nothing",
    FetchUnknown = "3.6 the member does not exist: UNKNOWN_MEMBER_ID",
    FetchStale = "3.6 the epoch is not the member epoch: STALE_MEMBER_EPOCH",
    FetchUnstable = "3.6 a transaction is open on the offset: UNSTABLE_OFFSET_COMMIT",
    FetchNothing = "3.6 nothing is committed",
    FetchOffset = "3.6 the committed offset",
    Replicated = "4.3 the high watermark rises",
    FailedOver = "4.3 another broker takes over, nothing is lost",
    FailedOverLoss = "4.3 another broker takes over, writes above the high watermark are lost",
    LoadedWithoutEpochs = "3.7 assignment epochs are missing from the records: the member epoch stands in",
    RolledBack = "3.8 an older broker takes over",
}

/// The rows that one step went through, a bit a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail(pub u128);

impl Trail {
    /// Notes a row.
    pub fn mark(&mut self, label: Label) {
        self.0 |= 1 << label as u8;
    }

    /// Whether a row was noted.
    #[must_use]
    pub fn has(self, label: Label) -> bool {
        self.0 >> label as u8 & 1 == 1
    }

    /// The indices of the rows, ascending.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        (0..128).filter(move |index| self.0 >> index & 1 == 1)
    }
}
