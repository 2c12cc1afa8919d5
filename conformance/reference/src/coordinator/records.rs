//! The records that a group coordinator keeps in `__consumer_offsets`, in Kafka's own bytes (docs/fencing.md 4.1).
//!
//! A [`Record`] is a key and a value, or a key and nothing: a tombstone. Its bytes are a two-byte number and a body, in
//! the key and in the value alike: in the key the number names the kind of record, in the value the version of its
//! schema. [`Record::encode`] writes what Kafka's `GroupCoordinatorRecordSerde` writes, byte for byte.
//! [`Record::decode`] reads all that it wrote, and is stricter with what no Kafka wrote: see [`Fault`].
//!
//! ```text
//! offset_commit               kinds 0 and 1, the only value with several versions
//! consumer_group              kinds 3 and 4
//! member_metadata             kind 5
//! target_assignment           kinds 6 and 7
//! current_member_assignment   kind 8, whose tagged AssignmentEpochs are what KIP-1251 added
//! regular_expression          kind 16
//! wire                        Kafka's primitive types: strings, arrays, unsigned varints, tagged fields
//! uuid                        ids of topics
//! error                       what can be wrong with bytes, and where
//! ```
//!
//! What a record *means* is the coordinator's (docs/fencing.md 4.2); nothing here decides or defaults beyond the schema.

mod consumer_group;
mod current_member_assignment;
mod error;
mod member_metadata;
mod offset_commit;
mod regular_expression;
mod target_assignment;
mod uuid;
mod wire;

pub use consumer_group::{
    ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataValue, PartitionMetadata, TopicMetadata,
};
pub use current_member_assignment::{ConsumerGroupCurrentMemberAssignmentValue, CurrentTopicPartitions};
pub use error::{Fault, Part, RecordError};
pub use member_metadata::{ClassicMemberMetadata, ClassicProtocol, ConsumerGroupMemberMetadataValue};
pub use offset_commit::{OffsetCommitKey, OffsetCommitValue};
pub use regular_expression::{ConsumerGroupRegularExpressionValue, RegularExpressionKey};
pub use target_assignment::{
    ConsumerGroupTargetAssignmentMemberValue, ConsumerGroupTargetAssignmentMetadataValue, TargetTopicPartitions,
};
pub use uuid::Uuid;

use wire::{Reader, Writer};

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

/// The numbers that keys start with.
mod kind {
    pub(super) const LEGACY_OFFSET_COMMIT: i16 = 0;
    pub(super) const OFFSET_COMMIT: i16 = 1;
    pub(super) const CONSUMER_GROUP_METADATA: i16 = 3;
    pub(super) const CONSUMER_GROUP_PARTITION_METADATA: i16 = 4;
    pub(super) const CONSUMER_GROUP_MEMBER_METADATA: i16 = 5;
    pub(super) const CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA: i16 = 6;
    pub(super) const CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: i16 = 7;
    pub(super) const CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: i16 = 8;
    pub(super) const CONSUMER_GROUP_REGULAR_EXPRESSION: i16 = 16;
}

type Result<T> = std::result::Result<T, RecordError>;

/// The schema of a value: versions 0 to the highest.
trait Value: Sized {
    const HIGHEST_VERSION: i16 = 0;

    /// The version that Kafka writes this value with.
    fn version(&self) -> i16 {
        Self::HIGHEST_VERSION
    }

    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self>;

    fn write(&self, writer: &mut Writer, version: i16) -> Result<()>;
}

impl Record {
    /// The record in the bytes that a coordinator of `format` writes.
    ///
    /// Fails only where Kafka does too: a string of more than 32767 bytes, or anything longer than Kafka can count.
    pub fn encode(&self, format: RecordFormat) -> Result<EncodedRecord> {
        let value = match format {
            RecordFormat::WithAssignmentEpochs => self.value_bytes()?,
            RecordFormat::WithoutAssignmentEpochs => self.clone().known_to(format).value_bytes()?,
        };
        Ok(EncodedRecord { key: self.key_bytes()?, value })
    }

    /// The bytes of the key alone: records with equal ones replace each other when the log is compacted.
    pub fn key_bytes(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::starting_with(self.kind());
        match self {
            Self::OffsetCommit { key, .. } => key.write(&mut writer)?,
            Self::ConsumerGroupMetadata { group_id, .. }
            | Self::ConsumerGroupPartitionMetadata { group_id, .. }
            | Self::ConsumerGroupTargetAssignmentMetadata { group_id, .. } => writer.string("GroupId", group_id)?,
            Self::ConsumerGroupMemberMetadata { key, .. }
            | Self::ConsumerGroupTargetAssignmentMember { key, .. }
            | Self::ConsumerGroupCurrentMemberAssignment { key, .. } => key.write(&mut writer)?,
            Self::ConsumerGroupRegularExpression { key, .. } => key.write(&mut writer)?,
        }
        Ok(writer.into_bytes())
    }

    /// Reads a record; tagged fields that are not in the schema of Kafka 4.4.0 are skipped and lost, as in Kafka.
    ///
    /// Anything else that does not fit is an error: bytes missing or left over, lengths that go beyond the bytes there
    /// are, strings that are not UTF-8, kinds of records and versions that are not known here. Never panics, and takes no
    /// more memory than a small multiple of the input.
    pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Self> {
        let mut reader = Reader::new(Part::Key, key);
        let kind = reader.int16("kind")?;
        Ok(match kind {
            kind::LEGACY_OFFSET_COMMIT => Self::OffsetCommit {
                key: read_key(reader, |reader| OffsetCommitKey::read(reader, true))?,
                value: read_value(kind, offset_commit::LEGACY_VERSION, value)?,
            },
            kind::OFFSET_COMMIT => Self::OffsetCommit {
                key: read_key(reader, |reader| OffsetCommitKey::read(reader, false))?,
                value: read_value(kind, OffsetCommitValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_METADATA => Self::ConsumerGroupMetadata {
                group_id: read_key(reader, read_group_id)?,
                value: read_value(kind, ConsumerGroupMetadataValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_PARTITION_METADATA => Self::ConsumerGroupPartitionMetadata {
                group_id: read_key(reader, read_group_id)?,
                value: read_value(kind, ConsumerGroupPartitionMetadataValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_MEMBER_METADATA => Self::ConsumerGroupMemberMetadata {
                key: read_key(reader, MemberKey::read)?,
                value: read_value(kind, ConsumerGroupMemberMetadataValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA => Self::ConsumerGroupTargetAssignmentMetadata {
                group_id: read_key(reader, read_group_id)?,
                value: read_value(kind, ConsumerGroupTargetAssignmentMetadataValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER => Self::ConsumerGroupTargetAssignmentMember {
                key: read_key(reader, MemberKey::read)?,
                value: read_value(kind, ConsumerGroupTargetAssignmentMemberValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT => Self::ConsumerGroupCurrentMemberAssignment {
                key: read_key(reader, MemberKey::read)?,
                value: read_value(kind, ConsumerGroupCurrentMemberAssignmentValue::HIGHEST_VERSION, value)?,
            },
            kind::CONSUMER_GROUP_REGULAR_EXPRESSION => Self::ConsumerGroupRegularExpression {
                key: read_key(reader, RegularExpressionKey::read)?,
                value: read_value(kind, ConsumerGroupRegularExpressionValue::HIGHEST_VERSION, value)?,
            },
            kind => return Err(RecordError::UnknownKind { kind }),
        })
    }

    /// What a coordinator of `format` knows of this record: without the tagged fields that are newer than it.
    ///
    /// An older coordinator reads a newer one's record like this, and writes it back like this (docs/fencing.md 3.8).
    #[must_use]
    pub fn known_to(mut self, format: RecordFormat) -> Self {
        match (format, &mut self) {
            (
                RecordFormat::WithoutAssignmentEpochs,
                Self::ConsumerGroupCurrentMemberAssignment { value: Some(value), .. },
            ) => value.forget_assignment_epochs(),
            (
                RecordFormat::WithoutAssignmentEpochs,
                Self::ConsumerGroupTargetAssignmentMetadata { value: Some(value), .. },
            ) => value.assignment_timestamp_ms = 0,
            (RecordFormat::WithoutAssignmentEpochs | RecordFormat::WithAssignmentEpochs, _) => {}
        }
        self
    }

    /// Whether the record deletes what its key stands for.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        match self {
            Self::OffsetCommit { value, .. } => value.is_none(),
            Self::ConsumerGroupMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupPartitionMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupMemberMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupTargetAssignmentMetadata { value, .. } => value.is_none(),
            Self::ConsumerGroupTargetAssignmentMember { value, .. } => value.is_none(),
            Self::ConsumerGroupCurrentMemberAssignment { value, .. } => value.is_none(),
            Self::ConsumerGroupRegularExpression { value, .. } => value.is_none(),
        }
    }

    /// The number that the key starts with (docs/fencing.md 4.1).
    #[must_use]
    pub fn kind(&self) -> i16 {
        match self {
            Self::OffsetCommit { key, .. } if key.legacy => kind::LEGACY_OFFSET_COMMIT,
            Self::OffsetCommit { .. } => kind::OFFSET_COMMIT,
            Self::ConsumerGroupMetadata { .. } => kind::CONSUMER_GROUP_METADATA,
            Self::ConsumerGroupPartitionMetadata { .. } => kind::CONSUMER_GROUP_PARTITION_METADATA,
            Self::ConsumerGroupMemberMetadata { .. } => kind::CONSUMER_GROUP_MEMBER_METADATA,
            Self::ConsumerGroupTargetAssignmentMetadata { .. } => kind::CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
            Self::ConsumerGroupTargetAssignmentMember { .. } => kind::CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
            Self::ConsumerGroupCurrentMemberAssignment { .. } => kind::CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            Self::ConsumerGroupRegularExpression { .. } => kind::CONSUMER_GROUP_REGULAR_EXPRESSION,
        }
    }

    fn value_bytes(&self) -> Result<Option<Vec<u8>>> {
        match self {
            Self::OffsetCommit { key, value } if key.legacy => {
                value.as_ref().map(|value| write_value(value, offset_commit::LEGACY_VERSION)).transpose()
            }
            Self::OffsetCommit { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupMetadata { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupPartitionMetadata { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupMemberMetadata { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupTargetAssignmentMetadata { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupTargetAssignmentMember { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupCurrentMemberAssignment { value, .. } => maybe_write_value(value.as_ref()),
            Self::ConsumerGroupRegularExpression { value, .. } => maybe_write_value(value.as_ref()),
        }
    }
}

impl MemberKey {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { group_id: reader.string("GroupId")?, member_id: reader.string("MemberId")? })
    }

    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.string("GroupId", &self.group_id)?;
        writer.string("MemberId", &self.member_id)
    }
}

fn read_group_id(reader: &mut Reader<'_>) -> Result<String> {
    reader.string("GroupId")
}

fn read_key<K>(mut reader: Reader<'_>, read: impl FnOnce(&mut Reader<'_>) -> Result<K>) -> Result<K> {
    let key = read(&mut reader)?;
    reader.end("end of the key")?;
    Ok(key)
}

fn read_value<V: Value>(kind: i16, highest_version: i16, bytes: Option<&[u8]>) -> Result<Option<V>> {
    let Some(bytes) = bytes else { return Ok(None) };
    let mut reader = Reader::new(Part::Value, bytes);
    let version = reader.int16("version")?;
    if !(0..=highest_version).contains(&version) {
        return Err(RecordError::UnknownVersion { kind, version });
    }
    let value = V::read(&mut reader, version)?;
    reader.end("end of the value")?;
    Ok(Some(value))
}

fn maybe_write_value<V: Value>(value: Option<&V>) -> Result<Option<Vec<u8>>> {
    value.map(|value| write_value(value, value.version())).transpose()
}

fn write_value<V: Value>(value: &V, version: i16) -> Result<Vec<u8>> {
    let mut writer = Writer::starting_with(version);
    value.write(&mut writer, version)?;
    Ok(writer.into_bytes())
}
