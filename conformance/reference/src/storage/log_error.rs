//! What can go wrong with a log on disk, and where: each error names its file and, if it is about bytes, the position.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::BatchError;
use super::fs::FsError;
use super::names::{Offset, ProducerEpoch, ProducerId, Sequence};

/// Why an operation of a log was refused or failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// A file does not hold what it should, and no repair of Kafka's applies.
    #[error("{}, byte {position}: {fault}", file.display())]
    Corrupt {
        /// The file.
        file: PathBuf,
        /// Where in the file.
        position: u64,
        /// What is wrong with it.
        fault: String,
    },
    /// An append was refused: what was given is at fault, and the log is as it was.
    #[error(transparent)]
    Refused(#[from] AppendError),
    /// A reader asked for an offset that the log does not have (yet, or any more).
    #[error("offset {asked} is outside of [{log_start}, {end}]")]
    OffsetOutOfRange {
        /// What was asked for.
        asked: Offset,
        /// The first offset of the log.
        log_start: Offset,
        /// The offset after the last one that may be read.
        end: Offset,
    },
    /// A cleaning round was told to stop.
    #[error("the cleaning was aborted")]
    CleaningAborted,
    /// A batch lies further from its segment's base than an index can say (KAFKA-6264).
    #[error("{}: offset {offset} is too far from the base {base}", file.display())]
    OffsetOverflow {
        /// The segment's log file.
        file: PathBuf,
        /// The base of the segment.
        base: Offset,
        /// The offset.
        offset: Offset,
    },
}

impl LogError {
    pub(crate) fn corrupt(file: &Path, position: u64, fault: impl fmt::Display) -> Self {
        Self::Corrupt { file: file.to_owned(), position, fault: format!("{fault}") }
    }

    /// Whether the power of a test's file system went off.
    #[must_use]
    pub fn is_power_cut(&self) -> bool {
        matches!(self, Self::Fs(error) if error.cause == super::fs::FsCause::PowerCut)
    }
}

/// Why an append was refused. The names are those of Kafka's errors.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AppendError {
    /// The bytes are no batches, or not such as a client may send.
    #[error("CORRUPT_MESSAGE: byte {position}: {fault}")]
    CorruptMessage {
        /// Where in what was given.
        position: usize,
        /// What is wrong.
        fault: String,
    },
    /// A record that the topic does not take.
    #[error("INVALID_RECORD: {0}")]
    InvalidRecord(&'static str),
    /// A batch beyond `max.message.bytes`.
    #[error("MESSAGE_TOO_LARGE: a batch of {size} bytes, while at most {limit} are taken")]
    MessageTooLarge {
        /// Its size.
        size: usize,
        /// The limit.
        limit: usize,
    },
    /// A follower was given an offset that it has already.
    #[error("offset {offset} comes after the log's end {end} was reached")]
    OffsetsGoBack {
        /// The first offset of the batch.
        offset: Offset,
        /// The log's end.
        end: Offset,
    },
    /// The producer was fenced by a later epoch.
    #[error("INVALID_PRODUCER_EPOCH: producer {producer} has epoch {current}, and this is of epoch {given}")]
    InvalidProducerEpoch {
        /// The producer.
        producer: ProducerId,
        /// What the batch says.
        given: ProducerEpoch,
        /// What is known.
        current: ProducerEpoch,
    },
    /// A sequence number does not follow.
    #[error("OUT_OF_ORDER_SEQUENCE_NUMBER: producer {producer} sends {given} after {last}")]
    OutOfOrderSequence {
        /// The producer.
        producer: ProducerId,
        /// The first sequence of the batch.
        given: Sequence,
        /// The last one that is known.
        last: Sequence,
    },
    /// A batch without a transaction while one is open.
    #[error("INVALID_TXN_STATE: producer {producer} has an open transaction, and this batch is not part of it")]
    InvalidTxnState {
        /// The producer.
        producer: ProducerId,
    },
    /// A marker of a coordinator that was replaced.
    #[error("TRANSACTION_COORDINATOR_FENCED: producer {producer}: coordinator epoch {given} after {current}")]
    TransactionCoordinatorFenced {
        /// The producer.
        producer: ProducerId,
        /// What the marker says.
        given: i32,
        /// What is known.
        current: i32,
    },
}

impl From<BatchError> for AppendError {
    fn from(error: BatchError) -> Self {
        Self::CorruptMessage { position: error.position, fault: error.fault.to_string() }
    }
}
