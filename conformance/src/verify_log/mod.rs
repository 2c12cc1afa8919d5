//! Reads a partition's directory of a Kafka broker, changes nothing, and tells what in it breaks the rules of
//! compaction that show in one look (docs/compaction.md 7).
//!
//! | Module | Subject |
//! | --- | --- |
//! | [`directory`] | which files there are, and what the checkpoints beside them say |
//! | [`pass`] | one pass over the batches, in order |
//! | [`transactions`] | which transactions are open, and whether markers, entries and data fit together |
//! | [`keys`] | whether the clean part has each key once |
//! | [`report`] | what was found, for a person and for a program |
//!
//! A broker that is running may append, roll, or swap while the files are read: the end of the last segment may then look
//! torn, and a segment that goes away in between is an error that says so. Stop the broker, or look at a copy.

pub mod directory;
pub mod keys;
pub mod pass;
pub mod report;
pub mod transactions;

use std::path::PathBuf;

pub use directory::Directory;
pub use report::Report;

/// A rule that a log can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The bytes are batches, and their fields fit together (docs/compaction.md 1).
    Batch,
    /// The checksum of a batch is right (1.5).
    Checksum,
    /// Offsets rise, within their segment (S4).
    Offsets,
    /// A marker outlives the data of its transaction (S8).
    S8,
    /// Aborted data have their entry in the transaction index (S9).
    S9,
    /// An entry of the transaction index has its ABORT marker (S11).
    S11,
    /// Below the cleaner's checkpoint each key is there once (S13).
    S13,
    /// An entry of an aborted transaction that ended below the first dirty offset, while its producer has data above: the
    /// next round may take them for aborted (N2). Nothing is broken yet.
    N2,
}

impl Rule {
    /// Every rule, in the order of the report.
    pub const ALL: [Self; 8] =
        [Self::Batch, Self::Checksum, Self::Offsets, Self::S8, Self::S9, Self::S11, Self::S13, Self::N2];

    /// The rule's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Checksum => "checksum",
            Self::Offsets => "offsets",
            Self::S8 => "S8",
            Self::S9 => "S9",
            Self::S11 => "S11",
            Self::S13 => "S13",
            Self::N2 => "N2",
        }
    }

    /// What it says, in a line.
    #[must_use]
    pub fn statement(self) -> &'static str {
        match self {
            Self::Batch => "the bytes are batches whose fields fit together",
            Self::Checksum => "the checksum of each batch is right",
            Self::Offsets => "offsets rise, within their segment",
            Self::S8 => "a marker is there as long as data of its transaction are",
            Self::S9 => "aborted records have their entry in the transaction index",
            Self::S11 => "an entry of the transaction index has its ABORT marker",
            Self::S13 => "below the cleaner's checkpoint each key is there once",
            Self::N2 => "no entry below the first dirty offset can be taken for a later transaction's",
        }
    }

    /// Whether something is broken where it does not hold; else it is a warning.
    #[must_use]
    pub fn is_fault(self) -> bool {
        self != Self::N2
    }
}

/// One place where a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// The file.
    pub file: PathBuf,
    /// The byte in it.
    pub position: u64,
    /// The offset that it is about, if it is about one.
    pub offset: Option<i64>,
    /// What is there, in a sentence.
    pub text: String,
}

/// Why a directory could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    /// A file, or the directory, cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// No segment is there.
    #[error(
        "{} has no segment; name a partition's directory of a broker, TOPIC-PARTITION, as in /var/lib/kafka/orders-0",
        .0.display()
    )]
    NoSegments(PathBuf),
    /// A checkpoint, or an index, does not hold what it should.
    #[error("{0}")]
    Damaged(String),
    /// The run was interrupted.
    #[error("interrupted")]
    Interrupted,
}
