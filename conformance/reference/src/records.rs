//! The records that a group coordinator keeps in `__consumer_offsets`, in Kafka's own bytes (docs/fencing.md 4.1).
//!
//! A [`Record`] is a key and a value, or a key and nothing: a tombstone. Its bytes are a two-byte number and a body, in
//! the key and in the value alike: in the key the number names the kind of record, in the value the version of its
//! schema. [`Record::encode`] and [`Record::decode`] do what Kafka's `GroupCoordinatorRecordSerde` does, with two
//! differences on purpose: bytes left over are an error, and so is a version of a value that no Kafka wrote.
//!
//! ```text
//! wire             Kafka's primitive types: strings, arrays, unsigned varints, tagged fields
//! offset_commit    kinds 0 and 1, the only values with several versions
//! consumer_group   kinds 3, 4, 5, 6, 7, 16
//! current_member_assignment   kind 8, whose tagged AssignmentEpochs are what KIP-1251 added
//! error            what can be wrong with bytes, and where
//! ```
//!
//! What a record *means* is the coordinator's (docs/fencing.md 4.2); nothing here decides or defaults beyond the schema.

mod consumer_group;
mod current_member_assignment;
mod error;
mod offset_commit;
mod wire;

pub use consumer_group::{
    ClassicMemberMetadata, ClassicProtocol, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue, ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue, PartitionMetadata, TargetTopicPartitions, TopicMetadata,
};
pub use current_member_assignment::{ConsumerGroupCurrentMemberAssignmentValue, CurrentTopicPartitions};
pub use error::RecordError;
pub use offset_commit::{OffsetCommitKey, OffsetCommitValue};
pub use wire::Uuid;

/// Which coordinator's bytes are written: the schemas before or after the tagged fields of Kafka 4.3.
///
/// Both write the same versions; a reader of either reads both. It is what upgrade and rollback are made of
/// (docs/fencing.md 3.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum RecordFormat {
    /// Kafka 4.3 and later: `AssignmentEpochs` in each entry of a current assignment (KIP-1251), and
    /// `AssignmentTimestamp` in the target assignment's metadata (KIP-1263).
    #[default]
    WithAssignmentEpochs,
    /// Kafka 4.1 and 4.2: neither of them.
    WithoutAssignmentEpochs,
}

/// The key of a record of one member: group id, member id.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberKey {
    /// The group id.
    pub group_id: String,
    /// The member id.
    pub member_id: String,
}

/// The key of a resolved regular expression: group id, the expression as the member sent it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegularExpressionKey {
    /// The group id.
    pub group_id: String,
    /// The expression, RE2 syntax.
    pub regular_expression: String,
}

/// One record of `__consumer_offsets`; a `value` of `None` is a tombstone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// Kind 1, and kind 0 when it was read (see [`OffsetCommitKey::legacy`]): an offset that a group committed.
    OffsetCommit {
        /// Group, topic, partition.
        key: OffsetCommitKey,
        /// The offset, `None` when the commit is deleted.
        value: Option<OffsetCommitValue>,
    },
    /// Kind 3: the group and its epoch.
    ConsumerGroupMetadata {
        /// The group id.
        group_id: String,
        /// The epoch, `None` when the group is deleted.
        value: Option<ConsumerGroupMetadataValue>,
    },
    /// Kind 4: the partitions of the subscribed topics. Not written any more since Kafka 4.1, only deleted.
    ConsumerGroupPartitionMetadata {
        /// The group id.
        group_id: String,
        /// The topics, `None` when deleted.
        value: Option<ConsumerGroupPartitionMetadataValue>,
    },
    /// Kind 5: what a member said of itself.
    ConsumerGroupMemberMetadata {
        /// Group and member.
        key: MemberKey,
        /// Its subscription and the rest, `None` when the member is removed.
        value: Option<ConsumerGroupMemberMetadataValue>,
    },
    /// Kind 6: the epoch of the target assignment.
    ConsumerGroupTargetAssignmentMetadata {
        /// The group id.
        group_id: String,
        /// The assignment epoch, `None` when the group is deleted.
        value: Option<ConsumerGroupTargetAssignmentMetadataValue>,
    },
    /// Kind 7: what the target assignment gives one member.
    ConsumerGroupTargetAssignmentMember {
        /// Group and member.
        key: MemberKey,
        /// The partitions, `None` when the member is removed.
        value: Option<ConsumerGroupTargetAssignmentMemberValue>,
    },
    /// Kind 8: what a member has, and at which epochs.
    ConsumerGroupCurrentMemberAssignment {
        /// Group and member.
        key: MemberKey,
        /// Epochs, state and partitions, `None` when the member is removed.
        value: Option<ConsumerGroupCurrentMemberAssignmentValue>,
    },
    /// Kind 16: the topics that a regular expression was resolved to.
    ConsumerGroupRegularExpression {
        /// Group and expression.
        key: RegularExpressionKey,
        /// The topics, `None` when no member subscribes to the expression any more.
        value: Option<ConsumerGroupRegularExpressionValue>,
    },
}

/// The bytes of a record, as they stand in the key and the value of a record of the log.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EncodedRecord {
    /// Two bytes for the kind of record, then the key's fields.
    pub key: Vec<u8>,
    /// Two bytes for the version, then the value's fields; `None` for a tombstone.
    pub value: Option<Vec<u8>>,
}

impl Record {
    /// The record in the bytes that a coordinator of `format` writes.
    ///
    /// Fails only where Kafka does too: a string of more than 32767 bytes in a schema whose lengths have two bytes, or
    /// anything longer than Kafka can count.
    pub fn encode(&self, _format: RecordFormat) -> Result<EncodedRecord, RecordError> {
        todo!()
    }

    /// The bytes of the key alone: records with equal ones replace each other when the log is compacted.
    pub fn key_bytes(&self) -> Result<Vec<u8>, RecordError> {
        todo!()
    }

    /// Reads a record; tagged fields that are not in the schema of Kafka 4.4.0 are skipped and lost, as in Kafka.
    ///
    /// Anything else that does not fit is an error: bytes missing or left over, lengths that go beyond the bytes there
    /// are, strings that are not UTF-8, kinds of records and versions that are not known here. Never panics, and takes no
    /// more memory than a small multiple of the input.
    pub fn decode(_key: &[u8], _value: Option<&[u8]>) -> Result<Self, RecordError> {
        todo!()
    }

    /// What a coordinator of `format` knows of this record: without the tagged fields that are newer than it.
    ///
    /// An older coordinator reads a newer one's record like this, and writes it back like this (docs/fencing.md 3.8).
    #[must_use]
    pub fn known_to(self, _format: RecordFormat) -> Self {
        todo!()
    }

    /// Whether the record deletes what its key stands for.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        todo!()
    }
}
