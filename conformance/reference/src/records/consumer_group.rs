//! A consumer group, its members' subscriptions and its target assignment: kinds 3, 4, 5, 6, 7 and 16 of
//! `__consumer_offsets` (docs/fencing.md 4.1). All values are of version 0, flexible; their keys are not.

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

/// What a member said of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupMemberMetadataValue {
    /// The instance id of a static member.
    pub instance_id: Option<String>,
    /// The member's rack.
    pub rack_id: Option<String>,
    /// The client id.
    pub client_id: String,
    /// The client's host.
    pub client_host: String,
    /// The names of the topics it subscribes to.
    pub subscribed_topic_names: Vec<String>,
    /// The regular expression it subscribes to.
    pub subscribed_topic_regex: Option<String>,
    /// How long it may take to give up partitions, in milliseconds; -1 when not known.
    pub rebalance_timeout_ms: i32,
    /// The assignor that it prefers.
    pub server_assignor: Option<String>,
    /// Set for a member that speaks the classic protocol (docs/fencing.md 2.11). Tagged.
    pub classic_member_metadata: Option<ClassicMemberMetadata>,
}

/// What is kept of a member that speaks the classic protocol.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClassicMemberMetadata {
    /// Its session timeout in milliseconds.
    pub session_timeout_ms: i32,
    /// Its embedded protocols, in the order of its preference.
    pub supported_protocols: Vec<ClassicProtocol>,
}

/// An embedded protocol of a classic member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClassicProtocol {
    /// Its name: that of a client-side assignor.
    pub name: String,
    /// What the member sent for it, opaque here.
    pub metadata: Vec<u8>,
}

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

/// What a regular expression was resolved to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupRegularExpressionValue {
    /// The names of the topics that match.
    pub topics: Vec<String>,
    /// The version of the cluster's metadata that it was resolved against.
    pub version: i64,
    /// When it was resolved, in milliseconds since 1970.
    pub timestamp_ms: i64,
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

impl Value for ConsumerGroupMemberMetadataValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let mut value = Self {
            instance_id: reader.compact_nullable_string("InstanceId")?,
            rack_id: reader.compact_nullable_string("RackId")?,
            client_id: reader.compact_string("ClientId")?,
            client_host: reader.compact_string("ClientHost")?,
            subscribed_topic_names: reader
                .compact_array("SubscribedTopicNames", |reader| reader.compact_string("SubscribedTopicNames"))?,
            subscribed_topic_regex: reader.compact_nullable_string("SubscribedTopicRegex")?,
            rebalance_timeout_ms: reader.int32("RebalanceTimeoutMs")?,
            server_assignor: reader.compact_nullable_string("ServerAssignor")?,
            classic_member_metadata: None,
        };
        reader.tagged_fields(|reader, tag| {
            if tag == 0 {
                value.classic_member_metadata =
                    reader.nullable_struct("ClassicMemberMetadata", ClassicMemberMetadata::read)?;
            }
            Ok(tag == 0)
        })?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.compact_nullable_string("InstanceId", self.instance_id.as_deref())?;
        writer.compact_nullable_string("RackId", self.rack_id.as_deref())?;
        writer.compact_string("ClientId", &self.client_id)?;
        writer.compact_string("ClientHost", &self.client_host)?;
        writer.compact_array("SubscribedTopicNames", &self.subscribed_topic_names, |writer, name| {
            writer.compact_string("SubscribedTopicNames", name)
        })?;
        writer.compact_nullable_string("SubscribedTopicRegex", self.subscribed_topic_regex.as_deref())?;
        writer.int32(self.rebalance_timeout_ms);
        writer.compact_nullable_string("ServerAssignor", self.server_assignor.as_deref())?;
        writer.tagged_field_0("ClassicMemberMetadata", self.classic_member_metadata.as_ref(), |writer, classic| {
            writer.present();
            classic.write(writer)
        })
    }
}

impl ClassicMemberMetadata {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let classic = Self {
            session_timeout_ms: reader.int32("SessionTimeoutMs")?,
            supported_protocols: reader.compact_array("SupportedProtocols", ClassicProtocol::read)?,
        };
        reader.skip_tagged_fields()?;
        Ok(classic)
    }

    fn write(&self, writer: &mut Writer) -> Result<()> {
        writer.int32(self.session_timeout_ms);
        writer.compact_array("SupportedProtocols", &self.supported_protocols, ClassicProtocol::write)?;
        writer.no_tagged_fields();
        Ok(())
    }
}

impl ClassicProtocol {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let protocol = Self { name: reader.compact_string("Name")?, metadata: reader.compact_bytes("Metadata")? };
        reader.skip_tagged_fields()?;
        Ok(protocol)
    }

    fn write(writer: &mut Writer, protocol: &Self) -> Result<()> {
        writer.compact_string("Name", &protocol.name)?;
        writer.compact_bytes("Metadata", &protocol.metadata)?;
        writer.no_tagged_fields();
        Ok(())
    }
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

impl Value for ConsumerGroupRegularExpressionValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let value = Self {
            topics: reader.compact_array("Topics", |reader| reader.compact_string("Topics"))?,
            version: reader.int64("Version")?,
            timestamp_ms: reader.int64("Timestamp")?,
        };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.compact_array("Topics", &self.topics, |writer, topic| writer.compact_string("Topics", topic))?;
        writer.int64(self.version);
        writer.int64(self.timestamp_ms);
        writer.no_tagged_fields();
        Ok(())
    }
}
