//! What can be wrong with the bytes of a record, and where in them.

/// Why a record could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The number at the start of the key names a kind of record that is not known here.
    ///
    /// Kafka's loader logs these and goes on (`UnknownRecordTypeException`), so that a downgrade can be survived.
    #[error("kind {kind} of record is not known here")]
    UnknownKind {
        /// The number.
        kind: i16,
    },
}
