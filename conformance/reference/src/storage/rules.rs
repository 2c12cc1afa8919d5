//! What differs between releases of Kafka's cleaner, what a repair would change, and what a fix undoes
//! (docs/compaction.md 0.1, 4, 5.1, 5.3 and 7.3).

use super::mutation::Mutation;

/// When a tombstone, and the marker of a transaction without data, may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Removal {
    /// When the file of its segment is older than `delete.retention.ms` before the file of the last clean segment:
    /// before KIP-534 (docs/compaction.md 4.1; KAFKA-4545, KAFKA-8522).
    SegmentMtime,
    /// When the horizon of its batch has passed: KIP-534, Kafka 3.1 and later.
    DeleteHorizon,
    /// Tombstones by the horizon of their batch, markers by the file of their segment.
    DeleteHorizonOfTombstones,
    /// Tombstones some time after the last round that went past them, of which one pair of first dirty offset and time is
    /// kept; markers by the file of their segment. Rejected (docs/compaction.md 4.4).
    CheckpointPair,
    /// The same, with a list of pairs, so that a tombstone's time is that of the first round that went past it.
    CheckpointList,
    /// Tombstones some time after the start of the first round that found them clean, which a header of the record tells;
    /// markers by the file of their segment. Rejected (docs/compaction.md 4.4).
    RecordHeader,
}

impl Removal {
    /// Whether batches have a horizon in their header.
    #[must_use]
    pub const fn has_horizons(self) -> bool {
        matches!(self, Self::DeleteHorizon | Self::DeleteHorizonOfTombstones)
    }
}

/// What makes a log worth a round (docs/compaction.md 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Worth {
    /// Its dirty bytes, or the age of its dirty records: all releases.
    Dirty,
    /// Those, or a horizon that has passed: a draft of PR 10914.
    PassedHorizon,
}

/// Which tombstones start the clock of their batch (N1 of docs/compaction.md 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stamping {
    /// All that the pass retains, also above what it mapped: KIP-534, all releases.
    WhereverRetained,
    /// Those of batches that the round has mapped to their end: the repair.
    OnlyIfMapped,
    /// Those of batches that were clean before the round: the repair of N3, which counts from the start of the round while
    /// the values that a tombstone deletes can still be read; it is one of N1 as well.
    OnlyIfClean,
}

/// Which batch is kept, emptied if need be, so that the end of the log can be learnt from its data (KAFKA-17076).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LastOfRound {
    /// None: Kafka 3.1 up to the backport of November 2025.
    Off,
    /// The one that ends at the bound of the round: KAFKA-17076.
    UpperBound,
    /// The one that ends at the high watermark: KAFKA-20452, Kafka 4.4.
    HighWatermark,
}

/// What the cleaner does with batches of formats 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LegacyBatches {
    /// They are copied as they are and never stamped.
    PassThrough,
    /// They are written as format 2, and stamped in the same pass: Kafka 4.0 and later.
    Convert,
}

/// Which aborted transactions are known while the offset map is built (N2 of docs/compaction.md 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexFilter {
    /// All whose marker is not below the log start offset: all releases.
    LogStart,
    /// Those whose marker is not below the first dirty offset: the repair.
    FirstDirty,
}

/// What a leader does with the horizon of a batch that a client sent (N6 of docs/compaction.md 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClientHorizon {
    /// It stays: all releases, unless the batch is compressed anew.
    Kept,
    /// It is cleared: the repair.
    Cleared,
}

/// When a truncation moves the cleaner's checkpoint back (N8 of docs/compaction.md 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckpointClamp {
    /// While the topic's policy has `compact`: all releases.
    WhileCompacting,
    /// Whatever the policy: the repair.
    Always,
}

/// The rules of one release, or of one with a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// When a tombstone or a marker may go.
    pub removal: Removal,
    /// What makes a log worth a round.
    pub worth: Worth,
    /// Which tombstones start the clock.
    pub stamping: Stamping,
    /// Which batch is kept for its end.
    pub last_of_round: LastOfRound,
    /// What happens to old formats.
    pub legacy: LegacyBatches,
    /// Which aborted transactions the map knows of.
    pub index_filter: IndexFilter,
    /// What happens to a client's horizon.
    pub client_horizon: ClientHorizon,
    /// When the checkpoint follows a truncation.
    pub checkpoint_clamp: CheckpointClamp,
    /// One slip.
    pub mutation: Option<Mutation>,
}

impl Rules {
    /// Before KIP-534: Kafka 3.0.
    #[must_use]
    pub const fn kafka_3_0() -> Self {
        Self {
            removal: Removal::SegmentMtime,
            worth: Worth::Dirty,
            stamping: Stamping::WhereverRetained,
            last_of_round: LastOfRound::Off,
            legacy: LegacyBatches::PassThrough,
            index_filter: IndexFilter::LogStart,
            client_horizon: ClientHorizon::Kept,
            checkpoint_clamp: CheckpointClamp::WhileCompacting,
            mutation: None,
        }
    }

    /// The first with KIP-534.
    #[must_use]
    pub const fn kafka_3_1() -> Self {
        Self { removal: Removal::DeleteHorizon, ..Self::kafka_3_0() }
    }

    /// Kafka 4.0 before its `MemoryRecords` converted old formats, with KAFKA-17076.
    #[must_use]
    pub const fn kafka_4_0() -> Self {
        Self { last_of_round: LastOfRound::UpperBound, ..Self::kafka_3_1() }
    }

    /// Kafka 4.4, the baseline.
    #[must_use]
    pub const fn kafka_4_4() -> Self {
        Self { last_of_round: LastOfRound::HighWatermark, legacy: LegacyBatches::Convert, ..Self::kafka_4_0() }
    }

    /// The baseline with the repairs of N1, N2, N3, N6 and N8.
    #[must_use]
    pub const fn repaired() -> Self {
        Self {
            stamping: Stamping::OnlyIfClean,
            index_filter: IndexFilter::FirstDirty,
            client_horizon: ClientHorizon::Cleared,
            checkpoint_clamp: CheckpointClamp::Always,
            ..Self::kafka_4_4()
        }
    }

    /// These rules with one slip.
    #[must_use]
    pub const fn with(self, mutation: Mutation) -> Self {
        Self { mutation: Some(mutation), ..self }
    }

    pub(crate) fn slips(self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}
