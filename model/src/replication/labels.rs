//! What the coverage counts: which rows of the tables of `docs/replication.md` a step went through.
//!
//! The handlers mark rows on a [`Trail`] as they decide. A label that no configuration reaches is reported by `check`. So
//! rows that no behaviour of the model comes to have none: what only a wrong or a second controller would ask (4.7 checks 2,
//! 3, 5, 7, and the answers that 4.5 ignores after them), an undefined epoch that is asked for (1.3), an answer above all
//! that the follower asked with (2.5 row 3), records above the own epoch (1.7), and a leader that is elected again in the
//! very next epoch (4.2), since an epoch rises only when the leader changes.

macro_rules! labels {
    ($($name:ident = $text:literal,)*) => {
        /// A row of a table of `docs/replication.md`, or a change of state. Append, never insert.
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
    AssignFirst = "1.3 assign: the first entry",
    AssignKnown = "1.3 assign: the latest epoch again",
    AssignNext = "1.3 assign: a later epoch at a later offset",
    AssignOverEmpty = "1.3 assign: a later epoch replaces an empty one",
    AssignConflict = "1.3 assign: entries that contradict go",
    EndLatest = "1.3 end offset: the latest epoch",
    EndFuture = "1.3 end offset: an epoch above all",
    EndOlder = "1.3 end offset: an epoch below all",
    EndExact = "1.3 end offset: a known epoch",
    EndFloor = "1.3 end offset: the floor of an epoch that is not known",
    HighFromReply = "1.5 a follower takes the leader's high watermark",
    HighFalls = "1.5 a follower's high watermark falls",
    HighCut = "1.5 a truncation lowers the high watermark",
    HighLoaded = "1.5 a high watermark is loaded from its checkpoint",
    CutNothing = "1.6 a truncation at the log's end or above",
    Cut = "1.6 a truncation",
    CutBelowHigh = "1.6 a truncation below the high watermark",
    FollowSameEpoch = "2.2 the leader epoch did not rise: the fetcher goes on",
    FollowNobody = "2.2 no leader: the fetcher stops",
    FollowFetching = "2.2 a follower starts to fetch at its log's end",
    FollowNoEpoch = "2.2 a follower without an epoch truncates to its high watermark",
    FollowTruncating = "2.2 a follower starts to truncate",
    FollowHighWatermark = "2.3 a follower truncates to its high watermark",
    TargetFallback = "2.5 row 1: undefined, the high watermark",
    TargetOffsetOnly = "2.5 row 2: an offset without an epoch",
    TargetAgain = "2.5 row 4: another epoch, ask again",
    TargetFound = "2.5 row 5: the same epoch",
    ReplyEpochChanged = "2.5 an answer about epochs of an earlier leader epoch",
    ReplyDiverging = "2.6 a diverging answer",
    ReplyRecords = "2.6 records are appended",
    ReplyEmpty = "2.6 an answer without records",
    ReplyOtherOffset = "2.6 an answer to another fetch offset is dropped",
    ReplyOtherEpoch = "2.6 an answer of another leader epoch is dropped",
    ReplyNotReady = "2.6 an answer while nothing is fetched",
    ReplyOld = "2.1 an answer to a request that was given up",
    RangeLatestBelow = "2.7 the leader's log ends below the follower's",
    RangeNothing = "2.7 the follower's log is within the leader's",
    CheckFenced = "3.1 row 1: the request's epoch is older",
    CheckUnknown = "3.1 row 2: the request's epoch is newer",
    CheckNotLeader = "3.1 row 3: not the leader",
    CheckNoPartition = "3.1 no metadata yet",
    FetchAboveEnd = "3.2 a fetch above the log's end",
    FetchStaleBroker = "3.2 a fetch of an earlier life",
    FetchAnswered = "3.2 a fetch with records",
    FetchParked = "3.2 a fetch waits",
    ParkedAnswered = "3.2 a parked fetch is answered with records",
    ParkedRefused = "3.2 a parked fetch is refused",
    ParkedExpired = "3.2 a parked fetch is answered after its wait time",
    DivergeUndefined = "3.3 row 1: the epoch's end is undefined",
    DivergeEpoch = "3.3 row 3: another epoch",
    DivergeOffset = "3.3 row 3: the epoch ends before",
    DivergeNot = "3.3 row 4: the logs agree",
    EpochEndAnswered = "3.4 an epoch's end is answered",
    EpochEndUndefined = "3.4 an epoch's end is undefined",
    EpochEndVersion0 = "3.4 an answer without an epoch",
    EpochEndUnsupported = "3.4 a version that the leader does not know",
    ListLatest = "3.5 the latest offset",
    ListEarliest = "3.5 the earliest offset",
    ErrorFenced = "3.6 fenced: the partition is failed",
    ErrorRetried = "3.6 retried",
    ErrorRange = "3.6 out of range",
    Failed = "3.6 the connection is lost",
    ApplyOld = "4.2 a record with an older partition epoch",
    ApplyNothing = "4.2 a record that does not change the partition",
    LeadNewEpoch = "4.2 a follower becomes leader",
    LeadAgainSkipped = "4.2 a leader is elected again past an epoch",
    LeadSameEpoch = "4.2 a leader's in-sync set changes",
    LeadWithPending = "4.2 metadata discards a pending proposal",
    HighBelowMinIsr = "4.3 the in-sync set is too small",
    HighRises = "4.3 the high watermark rises",
    HighWaitsUnknown = "4.3 a member's end is not known",
    HighWaitsMaximal = "4.3 the high watermark waits for a replica that is being added",
    HighWaitsCaughtUp = "4.3 the high watermark waits for one that is about to join",
    UpdateCaughtUp = "4.4 the follower has caught up",
    UpdateCaughtUpEarlier = "4.4 the follower has what the log had at its last fetch",
    UpdateLags = "4.4 the follower lags",
    UpdateDown = "4.4 the follower's end goes down",
    ExpandPending = "4.5 no expansion: a proposal is pending",
    ExpandBelowHigh = "4.5 no expansion: below the high watermark",
    ExpandBelowEpochStart = "4.5 no expansion: below the start of the epoch",
    ExpandFenced = "4.5 no expansion: fenced",
    ExpandStale = "4.5 no expansion: another broker epoch",
    Expand = "4.5 an expansion is proposed",
    ShrinkNobody = "4.5 nobody lags",
    Shrink = "4.5 a shrink is proposed",
    AlterIgnoredOther = "4.5 an answer to a proposal that is no more",
    AlterCommitted = "4.5 a proposal is committed",
    AlterRolledBack = "4.5 a proposal is taken back",
    AlterWaits = "4.5 a refused proposal waits for metadata",
    Appended = "4.6 a record is appended",
    AckedAtOnce = "4.6 acknowledged at once",
    Acked = "4.6 acknowledged when the high watermark has risen",
    AckedTooFew = "4.6 not enough replicas after the append",
    ProduceLost = "4.6 leadership lost while waiting",
    AlterStaleBroker = "4.7 check 0: the requester's broker epoch",
    AlterFenced = "4.7 check 4: an older leader epoch",
    AlterOldVersion = "4.7 check 6: an older partition epoch",
    AlterIneligible = "4.7 check 9: a member is not eligible",
    AlterApplied = "4.7 the set is changed",
    Fenced = "4.7 a broker is fenced",
    Unfenced = "4.7 a broker is unfenced",
    ShutDown = "4.7 a broker shuts down",
    Registered = "4.7 a new life registers",
    RegisterFences = "4.7 the old life is fenced first",
    RegisterLeavesIsr = "4.7 a new life leaves the in-sync and the eligible replicas",
    IsrKeepsLast = "4.7 the last in-sync replica stays in the set",
    ElrGrows = "4.7 a replica becomes eligible",
    ElrCleared = "4.7 the eligible replicas are cleared",
    LeaderChanges = "4.7 the leader changes",
    ElectPreferred = "4.7 the preferred replica",
    ElectChosen = "4.7 the replica that was named",
    ElectCurrent = "4.7 the leader stays",
    ElectFirst = "4.7 the first that is in sync",
    ElectFromElr = "4.7 the first that is eligible",
    ElectLastKnown = "4.7 the last known leader",
    ElectUnclean = "4.7 an unclean election",
    ElectNobody = "4.7 nobody can lead",
    Lost = "1.9 a crash loses the end of the log",
    Restarted = "1.9 a broker comes up",
    LeadKeepsPending = "4.2 a record that is known leaves the proposal",
    RestartRebuilds = "1.4 recovery finds epochs in the records",
    RestartTrims = "1.4 loading drops epochs at the log's end",
    CutInsideBatch = "1.6 a truncation inside a batch",
    BatchBelowEnd = "1.7 a batch from below the log's end is refused",
    BatchInHole = "1.7 a batch that begins in the hole of a cut is refused",
    OldFormat = "1.4 a record of an old format clears the epochs",
    FutureBegins = "2.10 a future replica begins",
    FutureCut = "2.10 a future replica truncates",
    FutureCopies = "2.10 a future replica copies a batch",
    FutureReplaces = "2.10 a future replica takes the current one's place",
    FutureMarked = "2.10 a future replica is told that the current one has truncated",
    FutureAway = "2.10 a future replica's disk goes offline",
    FutureBack = "2.10 a future replica's disk is back",
}

/// The rows that one step went through, a bit a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trail([u64; 4]);

impl Trail {
    /// Notes a row.
    pub fn mark(&mut self, label: Label) {
        let label = label as u8;
        self.0[usize::from(label >> 6)] |= 1 << (label & 63);
    }

    /// Whether a row was noted.
    #[must_use]
    pub fn has(&self, label: Label) -> bool {
        let label = label as u8;
        self.0[usize::from(label >> 6)] >> (label & 63) & 1 == 1
    }

    /// The indices of the rows, ascending.
    pub fn iter(self) -> impl Iterator<Item = u16> {
        (0..256_u16).filter(move |index| self.0[usize::from(*index >> 6)] >> (*index & 63) & 1 == 1)
    }
}
