//! What the coverage counts: which rows of the tables of `docs/consumers.md` a step went through.
//!
//! What no behaviour of the configurations comes to has no label: an expected epoch above the broker's (the leader epoch
//! of the request is refused before), a latest offset that is not told yet, metadata without a leader, a look-up that is
//! refused, and an answer of an epoch below all that is remembered.

macro_rules! labels {
    ($($name:ident = $text:literal,)*) => {
        /// A row of a table of `docs/consumers.md`, or a change of state. Append, never insert.
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
    ElectedClean = "7 a clean election",
    ElectedUnclean = "7 an unclean election",
    HearsLate = "7 a broker hears late that it leads",
    ZombieFollows = "7 who led before follows",
    Follows = "7 a follower takes over what the leader has",
    Truncates = "7 a follower truncates",
    ZombieAppends = "7 who led before appends",
    Appends = "7 the leader appends",
    Transaction = "9 a record of a transaction",
    Marker = "9 a marker",
    HighRises = "4 the high watermark rises",
    Recreated = "8 the topic is created anew",
    Fenced = "4 the request's epoch is older",
    Unknown = "4 the request's epoch is newer",
    NotLeader = "4 not the leader",
    OtherTopic = "8 a fetch for another topic",
    LeaderDetects = "7a a larger epoch starts below the offset",
    SentToReplica = "4 the consumer is sent to a replica",
    OutOfRange = "4 a fetch above the log's end",
    Records = "4 a fetch with records",
    NoRecords = "4 a fetch without records",
    EndUndefined = "3 an epoch's end is undefined",
    EndExact = "3 an epoch's end",
    EndFloor = "3 the end of the floor of an epoch that is not known",
    ListEarliest = "2 the earliest offset",
    ListLatest = "2 the latest offset",
    ListTime = "7 the offset of a time",
    Validates = "1 a position is to be validated",
    NoEpochToValidate = "1 a position without an epoch is not validated",
    NotValidated = "1 a position is not validated",
    AwaitsReset = "1 an offset is looked for",
    NothingCommitted = "5 nothing was committed",
    CommittedWithoutEpoch = "5 a committed offset without an epoch",
    CommittedWithEpoch = "5 a committed offset with its epoch",
    OldConnection = "5 an answer that nobody waits for",
    TopicLost = "8 the position's topic is no more",
    NoPositionToValidate = "2 a new leader while there is no position",
    SameLeader = "2 the same leader and leader epoch",
    NewLeader = "2 another leader or leader epoch",
    FetchDropped = "4 an answer for another position is dropped",
    PrefersReplica = "4 the consumer goes to the replica",
    NothingNew = "4 an answer without records",
    HandedOut = "4 records are handed out",
    PassedOver = "9 a marker or an aborted record is passed over",
    ValidationDropped = "3 an answer for another position is dropped",
    Found = "7e an offset is looked up",
    ResetDropped = "2 an answer to another reset is dropped",
    ResetRefused = "2 the question for an offset is refused",
    ResetDone = "2 the position is reset",
    Polls = "4 the application polls",
    Elapses = "3 the waits run out",
    ConnectionLost = "4 a connection is lost",
    SeeksEdge = "2 the application seeks to an edge",
    SeeksOffset = "2 the application seeks to an offset",
    SeeksPair = "2 the application seeks with an epoch",
    LooksUp = "7e the application looks an offset up",
    Commits = "5 the application commits",
    Restarts = "5 the application restarts",
    ValidationRefused = "3 an error: asked again",
    ValidationUndefined = "3 an undefined answer",
    ValidationHolds = "3 the position holds",
    ValidationBelow = "3 the end is below the position",
    ValidationOtherEpoch = "3 another epoch was answered",
    OnePairDoesNotTell = "7 one pair does not tell where the logs part",
    WalkFound = "7c the walk finds the epoch",
    WalkAgain = "7c the walk goes on",
    FetchAsksMetadata = "4 an error that asks for metadata",
    FetchAgain = "4 an error that is fetched again",
    FetchLeavesReplica = "4 out of range at a replica",
    FetchRange = "4 out of range",
    FetchTruncated = "7a the leader tells of a truncation",
    MetadataAccepted = "2 metadata is accepted",
    MetadataOtherTopic = "8 metadata of another topic is accepted",
    MetadataPassedOver = "2 metadata is passed over",
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
