//! A consumer group and what it knew of its topics: kinds 3 and 4 of `__consumer_offsets` (docs/fencing.md 4.1).

use super::wire::{Reader, Writer};
use super::{Result, Uuid, Value};

/// A group and its epoch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupMetadataValue {
    /// The group epoch.
    pub epoch: i32,
    /// Hash of the subscribed topics' partitions and racks, 0 when there is none. Tagged, since Kafka 4.1.
    pub metadata_hash: i64,
}

/// The partitions and racks of the topics that a group subscribes to, before Kafka 4.1 hashed them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupPartitionMetadataValue {
    /// The topics.
    pub topics: Vec<TopicMetadata>,
}

/// One topic of a [`ConsumerGroupPartitionMetadataValue`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TopicMetadata {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The topic's name.
    pub topic_name: String,
    /// How many partitions it has.
    pub num_partitions: i32,
    /// The racks of its partitions; empty where racks are not known.
    pub partition_metadata: Vec<PartitionMetadata>,
}

/// One partition of a [`TopicMetadata`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct PartitionMetadata {
    /// The partition.
    pub partition: i32,
    /// The racks of its replicas.
    pub racks: Vec<String>,
}

impl Value for ConsumerGroupMetadataValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let mut value = Self { epoch: reader.int32("Epoch")?, metadata_hash: 0 };
        reader.tagged_fields(|reader, tag| {
            if tag == 0 {
                value.metadata_hash = reader.int64("MetadataHash")?;
            }
            Ok(tag == 0)
        })?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.int32(self.epoch);
        writer.tagged_field_0(
            "MetadataHash",
            (self.metadata_hash != 0).then_some(self.metadata_hash),
            |writer, hash| {
                writer.int64(hash);
                Ok(())
            },
        )
    }
}

impl Value for ConsumerGroupPartitionMetadataValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let value = Self { topics: reader.compact_array("Topics", TopicMetadata::read)? };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.compact_array("Topics", &self.topics, TopicMetadata::write)?;
        writer.no_tagged_fields();
        Ok(())
    }
}

impl TopicMetadata {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let topic = Self {
            topic_id: reader.uuid("TopicId")?,
            topic_name: reader.compact_string("TopicName")?,
            num_partitions: reader.int32("NumPartitions")?,
            partition_metadata: reader.compact_array("PartitionMetadata", PartitionMetadata::read)?,
        };
        reader.skip_tagged_fields()?;
        Ok(topic)
    }

    fn write(writer: &mut Writer, topic: &Self) -> Result<()> {
        writer.uuid(topic.topic_id);
        writer.compact_string("TopicName", &topic.topic_name)?;
        writer.int32(topic.num_partitions);
        writer.compact_array("PartitionMetadata", &topic.partition_metadata, PartitionMetadata::write)?;
        writer.no_tagged_fields();
        Ok(())
    }
}

impl PartitionMetadata {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let partition = Self {
            partition: reader.int32("Partition")?,
            racks: reader.compact_array("Racks", |reader| reader.compact_string("Racks"))?,
        };
        reader.skip_tagged_fields()?;
        Ok(partition)
    }

    fn write(writer: &mut Writer, partition: &Self) -> Result<()> {
        writer.int32(partition.partition);
        writer.compact_array("Racks", &partition.racks, |writer, rack| writer.compact_string("Racks", rack))?;
        writer.no_tagged_fields();
        Ok(())
    }
}
