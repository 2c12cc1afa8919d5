//! The target assignment, its epoch and its part for each member: kinds 6 and 7 of `__consumer_offsets`
//! (docs/fencing.md 4.1).

use super::wire::{Reader, Writer};
use super::{Result, Uuid, Value};

/// The epoch of a target assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupTargetAssignmentMetadataValue {
    /// The group epoch that the target was computed for.
    pub assignment_epoch: i32,
    /// When it was computed, in milliseconds since 1970; 0 when not known. Tagged, since Kafka 4.3.
    pub assignment_timestamp_ms: i64,
}

/// What the target assignment gives one member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupTargetAssignmentMemberValue {
    /// The partitions, by topic.
    pub topic_partitions: Vec<TargetTopicPartitions>,
}

/// Partitions of one topic in a target assignment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TargetTopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
}

impl Value for ConsumerGroupTargetAssignmentMetadataValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let mut value = Self { assignment_epoch: reader.int32("AssignmentEpoch")?, assignment_timestamp_ms: 0 };
        reader.tagged_fields(|reader, tag| {
            if tag == 0 {
                value.assignment_timestamp_ms = reader.int64("AssignmentTimestamp")?;
            }
            Ok(tag == 0)
        })?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.int32(self.assignment_epoch);
        let timestamp_ms = (self.assignment_timestamp_ms != 0).then_some(self.assignment_timestamp_ms);
        writer.tagged_field_0("AssignmentTimestamp", timestamp_ms, |writer, timestamp_ms| {
            writer.int64(timestamp_ms);
            Ok(())
        })
    }
}

impl Value for ConsumerGroupTargetAssignmentMemberValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let value = Self { topic_partitions: reader.compact_array("TopicPartitions", TargetTopicPartitions::read)? };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.compact_array("TopicPartitions", &self.topic_partitions, TargetTopicPartitions::write)?;
        writer.no_tagged_fields();
        Ok(())
    }
}

impl TargetTopicPartitions {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let entry = Self {
            topic_id: reader.uuid("TopicId")?,
            partitions: reader.compact_array("Partitions", |reader| reader.int32("Partitions"))?,
        };
        reader.skip_tagged_fields()?;
        Ok(entry)
    }

    fn write(writer: &mut Writer, entry: &Self) -> Result<()> {
        writer.uuid(entry.topic_id);
        writer.compact_int32_array("Partitions", &entry.partitions)?;
        writer.no_tagged_fields();
        Ok(())
    }
}
