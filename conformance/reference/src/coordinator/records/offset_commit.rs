//! Committed offsets: kinds 0 and 1 of `__consumer_offsets` (docs/fencing.md 4.1), the only value with several versions.
//!
//! ```text
//! version           0    1    2    3    4
//! offset            x    x    x    x    x
//! leader epoch                     x    x
//! metadata          x    x    x    x    x   (a compact string in version 4)
//! commit timestamp  x    x    x    x    x
//! expire timestamp       x
//! topic id                              x   (tagged)
//! ```
//!
//! Kafka 4.1 to 4.4 write version 4, but version 1 where the commit has an expire timestamp
//! (`GroupCoordinatorRecordHelpers#offsetCommitValueVersion`); what the version lacks is dropped without a word.

use super::wire::{Reader, Writer};
use super::{RecordError, Result, Uuid, Value, kind, write_value};

/// The only version of the value under a key of kind 0.
pub(super) const LEGACY_VERSION: i16 = 0;

/// Stands for "no expire timestamp", also in the record.
const NO_EXPIRE_TIMESTAMP: i64 = -1;

/// The key of a committed offset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OffsetCommitKey {
    /// The group id.
    pub group_id: String,
    /// The topic's name.
    pub topic: String,
    /// The partition of the topic.
    pub partition: i32,
    /// Kind 0 instead of 1: same fields, same meaning, written by brokers of long ago. Kafka reads it as kind 1 and never
    /// writes it, so this is `false` in every record that a coordinator makes. The two are different keys for compaction.
    pub legacy: bool,
}

/// A committed offset.
///
/// Reading an older version leaves the fields that it lacks at Kafka's defaults, which are [`Default`]'s.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OffsetCommitValue {
    /// The offset of the next record to process.
    pub offset: i64,
    /// The leader epoch of the last record processed, -1 when the client gave none. Since version 3.
    pub leader_epoch: i32,
    /// The client's own text; empty when there is none.
    pub metadata: String,
    /// When the commit came, in milliseconds since 1970.
    pub commit_timestamp_ms: i64,
    /// When the commit expires, in milliseconds since 1970; -1 for "by the broker's retention". Version 1 only, and
    /// writing any other value makes it version 1.
    pub expire_timestamp_ms: i64,
    /// The topic's id, all zero when not known. Since version 4 (Kafka 4.1), tagged.
    pub topic_id: Uuid,
}

impl Default for OffsetCommitValue {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: String::new(),
            commit_timestamp_ms: 0,
            expire_timestamp_ms: NO_EXPIRE_TIMESTAMP,
            topic_id: Uuid::ZERO,
        }
    }
}

impl OffsetCommitValue {
    /// The bytes of the value in an older version: what a broker wrote that did not know the later fields.
    ///
    /// [`RecordError::UnknownVersion`] for one that is not 0 to 4.
    pub fn encode_as(&self, version: i16) -> Result<Vec<u8>> {
        if (0..=Self::HIGHEST_VERSION).contains(&version) {
            write_value(self, version)
        } else {
            Err(RecordError::UnknownVersion { kind: kind::OFFSET_COMMIT, version })
        }
    }
}

impl OffsetCommitKey {
    pub(super) fn read(reader: &mut Reader<'_>, legacy: bool) -> Result<Self> {
        Ok(Self {
            group_id: reader.string("group")?,
            topic: reader.string("topic")?,
            partition: reader.int32("partition")?,
            legacy,
        })
    }

    pub(super) fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.string("group", &self.group_id)?;
        writer.string("topic", &self.topic)?;
        writer.int32(self.partition);
        Ok(())
    }
}

impl Value for OffsetCommitValue {
    const HIGHEST_VERSION: i16 = 4;

    fn version(&self) -> i16 {
        if self.expire_timestamp_ms == NO_EXPIRE_TIMESTAMP { Self::HIGHEST_VERSION } else { 1 }
    }

    fn read(reader: &mut Reader<'_>, version: i16) -> Result<Self> {
        let mut value = Self { offset: reader.int64("offset")?, ..Self::default() };
        if version >= 3 {
            value.leader_epoch = reader.int32("leaderEpoch")?;
        }
        value.metadata = if version >= 4 { reader.compact_string("metadata")? } else { reader.string("metadata")? };
        value.commit_timestamp_ms = reader.int64("commitTimestamp")?;
        if version == 1 {
            value.expire_timestamp_ms = reader.int64("expireTimestamp")?;
        }
        if version >= 4 {
            reader.tagged_fields(|reader, tag| {
                if tag == 0 {
                    value.topic_id = reader.uuid("topicId")?;
                }
                Ok(tag == 0)
            })?;
        }
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, version: i16) -> Result<()> {
        writer.int64(self.offset);
        if version >= 3 {
            writer.int32(self.leader_epoch);
        }
        if version >= 4 {
            writer.compact_string("metadata", &self.metadata)?;
        } else {
            writer.string("metadata", &self.metadata)?;
        }
        writer.int64(self.commit_timestamp_ms);
        if version == 1 {
            writer.int64(self.expire_timestamp_ms);
        }
        if version >= 4 {
            let topic_id = (self.topic_id != Uuid::ZERO).then_some(self.topic_id);
            writer.tagged_field_0("topicId", topic_id, |writer, topic_id| {
                writer.uuid(topic_id);
                Ok(())
            })?;
        }
        Ok(())
    }
}
