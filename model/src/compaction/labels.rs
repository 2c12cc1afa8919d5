//! What the coverage counts: which rows of the tables of `docs/compaction.md` a step went through.
//!
//! The handlers mark rows on a [`Trail`] as they decide. A label that no configuration reaches is reported by `check`. So
//! rows that the model has no word for have none: other control types (A8), old formats (B8), errors of files (2.7).

macro_rules! labels {
    ($($name:ident = $text:literal,)*) => {
        /// A row of a table of `docs/compaction.md`, or a change of state. Append, never insert.
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
    ChosenDirty = "2.1 a log is worth a round: it is dirty",
    ChosenHorizon = "2.1 a log is worth a round: a horizon has passed",
    CheckpointBelowStart = "2.2 the checkpoint is below the log's start",
    CheckpointAboveEnd = "2.2 the checkpoint is above the log's end",
    BoundStable = "2.2 the bound is the last stable offset",
    BoundActive = "2.2 the bound is the active segment",
    BoundLag = "2.2 the bound is the minimum compaction lag",
    MapInside = "2.4 mapping begins inside a segment",
    MapAborted = "2.4 aborted data are not mapped",
    MapStaleEntry = "2.4 an aborted transaction from before the first dirty offset is looked at",
    MapFull = "2.4 the map is full",
    MapFullKnownKey = "2.4 the map is full, with the key already in it",
    MapGap = "2.4 a gap at a segment's end is skipped",
    GroupMerges = "2.5 segments are merged",
    GroupOne = "2.5 a group of one segment",
    A1Gone = "A1 aborted data: gone",
    A1Header = "A1 aborted data: the header is kept",
    A2Gone = "A2 data: nothing is left, gone",
    A2Header = "A2 data: nothing is left, the header is kept",
    A3 = "A3 a marker whose data are still there",
    A4 = "A4 a marker without data is stamped",
    A5 = "A5 a marker before its horizon",
    A6Gone = "A6 a marker at its horizon: gone",
    A6Header = "A6 a marker at its horizon: emptied",
    A7Gone = "A7 an emptied marker: gone",
    A7Header = "A7 an emptied marker: kept",
    B1 = "B1 a record above the mapped part",
    B1Expired = "B1 a tombstone above the mapped part, at its horizon",
    B2 = "B2 a record without a key",
    B3 = "B3 a value that is superseded",
    B3Tombstone = "B3 a tombstone that is superseded",
    B4 = "B4 a value that stays",
    B5 = "B5 a tombstone without a horizon",
    B6 = "B6 a tombstone before its horizon",
    B7 = "B7 a tombstone at its horizon",
    CVerbatim = "C the batch is copied as it is",
    CRebuilt = "C the batch is rebuilt",
    CRebuiltHorizon = "C the batch is rebuilt with the horizon that it has",
    CStamped = "C the batch is stamped, all records retained",
    CStampedRebuilt = "C the batch is stamped, some records retained",
    CStampedAbove = "C a tombstone above the mapped part is stamped",
    LastOfProducerData = "2.6 the last data batch of its producer",
    LastOfProducerMarker = "2.6 the marker stands for its producer",
    LastOfRound = "2.6 the last batch of the round",
    Swapped = "2.7 a group is swapped",
    Checkpointed = "2.7 the checkpoint is written, all of it was mapped",
    CheckpointedPartial = "2.7 the checkpoint is written, after a partial round",
    AbortedBefore = "2.7 a round is aborted, before any swap",
    AbortedBetween = "2.7 a round is aborted, between swaps",
    AbortedAfter = "2.7 a round is aborted, after the last swap",
    Truncated = "2.7 a truncation lowers the checkpoint",
    TruncatedAbove = "2.7 a truncation above the checkpoint",
    TruncatedUnclamped = "2.7 a truncation does not lower the checkpoint",
    CrashIdle = "2.8 a crash outside a round",
    CrashCleaned = "2.8 a crash: the cleaned files go",
    CrashSwap = "2.8 a crash: the swap is completed",
    CrashSuffix = "2.8 a crash: old segments come back",
    CrashDeleted = "2.8 a crash: some old files were renamed already",
    CrashRenamed = "2.8 a crash after the final rename",
    CrashUnchecked = "2.8 a crash before the checkpoint",
    Replayed = "2.8 producers are replayed from the log",
    SegmentDeleted = "2.10 the oldest segment is deleted",
    EndMovesIntoSet = "3.1 an aborted transaction begins",
    DataAborted = "3.1 data of an aborted transaction",
    DataAbortedEmpty = "3.1 an emptied data batch of an aborted transaction",
    DataCommitted = "3.1 data of a transaction that is not aborted",
    DataCommittedEmpty = "3.1 an emptied data batch of a transaction that is not aborted",
    AbortWithData = "3.1 ABORT, data seen: the entry is kept",
    AbortWithoutData = "3.1 ABORT, the entry but no data: the entry goes",
    AbortWithoutEntry = "3.1 ABORT without an entry",
    CommitWithData = "3.1 COMMIT, data seen",
    CommitWithoutData = "3.1 COMMIT, no data seen",
    CommitOfEmpty = "3.2 COMMIT of a transaction without data is stamped",
    AbortOfEmpty = "3.2 ABORT of a transaction without data is stamped",
    CommitExpired = "3.2 COMMIT at its horizon",
    AbortExpired = "3.2 ABORT at its horizon",
    OpenAcross = "3.3 a transaction's data below the bound, its marker above",
    Expired = "3.4 a producer is forgotten",
    MarkerKeepsBatches = "3.4 a marker of the same epoch leaves the last data batch",
    MarkerClearsBatches = "3.4 a marker of the next epoch clears it",
    EmptiedReplayed = "3.4 an emptied marker is replayed",
    ReadAborted = "3.5 a reader skips aborted data",
    ReadRecord = "3.5 a reader reads a record",
    ReadGap = "3.5 a reader passes over a gap",
    ReadEmptied = "3.5 a reader passes over an emptied batch",
    FetchedStamped = "6.1 a follower copies a batch with its horizon",
    FetchedGap = "6.1 a follower passes over a gap",
    Elected = "6.2 the second replica becomes leader",
    HorizonFromClient = "N6 a client's horizon is kept",
    HorizonCleared = "N6 a client's horizon is cleared",
    FileAge = "4.1 the age of the file keeps it",
    FileAgeOver = "4.1 the age of the file lets it go",
    LaterMarkerFirst = "3.2 a marker goes, and that of an earlier transaction stays",
    ChosenOverdue = "2.1 a log is worth a round: it is overdue",
    DirtierFirst = "2.1 a log is worth a round, and a dirtier one goes first",
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
