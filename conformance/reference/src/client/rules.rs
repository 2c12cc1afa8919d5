//! What differs between clients, shipped and proposed (docs/consumers.md 3, 4, 7, 8; KIP-320 and its discussion).

use super::slip::Slip;

/// How a truncation is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Detection {
    /// Not at all: no request has an epoch.
    None,
    /// The client asks where its epoch ends, at each new leader.
    Validation,
    /// The leader compares the epoch before the offset of a fetch (7a).
    Leader,
    /// The same, but a seek to an offset leaves the epoch out (7b).
    LeaderNotAfterSeek,
}

/// When an answer confirms a position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Confirmation {
    /// An end at or behind the position does.
    EndOffset,
    /// It has to be the end of the epoch that was asked for.
    EndOffsetAndEpoch,
}

/// When an answer to a fetch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LateFetch {
    /// While the position is where the fetch began.
    ByOffset,
    /// And under the leader, and in the leader epoch, that were asked.
    ByLeaderEpoch,
}

/// What is remembered of the epochs that were read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EpochMemory {
    /// The last one.
    LastRecord,
    /// All of them, until the process ends (7c).
    UntilRestart,
    /// All of them; the application keeps them (7d).
    Kept,
}

/// How an application goes back to a record that it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// By a seek to offset and epoch.
    SeekWithEpoch,
    /// It looks the offset up, and seeks to that (7e).
    FindThenSeek,
    /// By a seek to the nearest place, of which nobody is told (7g).
    SeekToNearest,
}

/// What becomes of the epoch that `ListOffsets` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetEpoch {
    /// Nothing: no record was read.
    Dropped,
    /// It is taken for that of a record (7h).
    Taken,
}

/// What tells a topic from an earlier one of its name (8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TopicIdentity {
    /// Nothing does.
    LeaderEpoch,
    /// A partition epoch, which only rises (KIP-232).
    PartitionEpoch,
    /// Its id, in metadata and fetches.
    IdOfMetadata,
    /// Its id, which a position has too.
    Id,
}

/// Where to go on if one pair of offset and epoch does not tell (7).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnknownDivergence {
    /// At the answer's end if that is below; else by the policy.
    EndOffset,
    /// Where the first larger epoch starts.
    FirstLargerEpoch,
    /// By the time of the last record.
    Timestamp,
    /// At the start.
    Earliest,
    /// At the end.
    Latest,
}

/// What an answer without an end says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UndefinedAnswer {
    /// All that was read is gone.
    Truncated,
    /// Nothing.
    CannotTell,
}

/// `auto.offset.reset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetPolicy {
    /// The start of the log.
    Earliest,
    /// The end.
    Latest,
    /// The application is told.
    None,
}

/// The rules of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// How a truncation is seen.
    pub detection: Detection,
    /// When an answer confirms.
    pub confirmation: Confirmation,
    /// When records are taken.
    pub late_fetch: LateFetch,
    /// What is remembered.
    pub memory: EpochMemory,
    /// How an application goes back.
    pub lookup: Lookup,
    /// The epoch of a reset.
    pub reset_epoch: ResetEpoch,
    /// What tells topics apart.
    pub topic: TopicIdentity,
    /// Where to go on in doubt.
    pub unknown: UnknownDivergence,
    /// What an undefined answer says.
    pub undefined: UndefinedAnswer,
    /// One slip, if any.
    pub slip: Option<Slip>,
}

impl Rules {
    /// The rules that are right: a position stands only if the epoch of its record does.
    pub const STRICT: Self = Self {
        detection: Detection::Validation,
        confirmation: Confirmation::EndOffsetAndEpoch,
        late_fetch: LateFetch::ByLeaderEpoch,
        memory: EpochMemory::LastRecord,
        lookup: Lookup::SeekWithEpoch,
        reset_epoch: ResetEpoch::Dropped,
        topic: TopicIdentity::Id,
        unknown: UnknownDivergence::EndOffset,
        undefined: UndefinedAnswer::Truncated,
        slip: None,
    };

    /// KIP-320, as the Java client has it.
    pub const KIP_320: Self = Self {
        confirmation: Confirmation::EndOffset,
        late_fetch: LateFetch::ByOffset,
        topic: TopicIdentity::IdOfMetadata,
        ..Self::STRICT
    };

    /// Before KIP-320.
    pub const NO_EPOCH: Self = Self { detection: Detection::None, ..Self::KIP_320 };

    /// The same rules with this slip.
    #[must_use]
    pub const fn with(self, slip: Slip) -> Self {
        Self { slip: Some(slip), ..self }
    }

    /// Whether the client makes this slip.
    #[must_use]
    pub fn slips(&self, slip: Slip) -> bool {
        self.slip == Some(slip)
    }

    /// Whether all epochs that were read are remembered.
    #[must_use]
    pub const fn remembers(&self) -> bool {
        !matches!(self.memory, EpochMemory::LastRecord)
    }

    /// Whether the leader sees truncations.
    #[must_use]
    pub const fn leader_detects(&self) -> bool {
        matches!(self.detection, Detection::Leader | Detection::LeaderNotAfterSeek)
    }

    /// Whether a topic is known by its id.
    #[must_use]
    pub const fn has_topic_id(&self) -> bool {
        matches!(self.topic, TopicIdentity::IdOfMetadata | TopicIdentity::Id)
    }

    /// Whether a position ends with its topic.
    #[must_use]
    pub const fn position_has_topic(&self) -> bool {
        matches!(self.topic, TopicIdentity::PartitionEpoch | TopicIdentity::Id)
    }
}
