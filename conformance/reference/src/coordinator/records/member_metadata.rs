//! What a member said of itself: kind 5 of `__consumer_offsets` (docs/fencing.md 4.1).

use super::wire::{Reader, Writer};
use super::{Result, Value};

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
    /// The regular expression it subscribes to. Kafka 4.4.0 writes the empty one for a member that gave none.
    pub subscribed_topic_regex: Option<String>,
    /// How long it may take to give up partitions, in milliseconds; -1 when not known.
    pub rebalance_timeout_ms: i32,
    /// The assignor that it prefers.
    pub server_assignor: Option<String>,
    /// Set for a member that speaks the classic protocol (docs/fencing.md 2.11). Tagged.
    ///
    /// Kafka's default of this field is not null but a structure of defaults: that one is not written, and is what a
    /// record without the field reads as. `None` is written, as null, into the record of every other member.
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
            classic_member_metadata: Some(ClassicMemberMetadata::default()),
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
        let classic = self.classic_member_metadata.as_ref();
        let written = (classic != Some(&ClassicMemberMetadata::default())).then_some(classic);
        writer.tagged_field_0("ClassicMemberMetadata", written, |writer, classic| {
            writer.nullable_struct(classic, ClassicMemberMetadata::write)
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

    fn write(writer: &mut Writer, classic: &Self) -> Result<()> {
        writer.int32(classic.session_timeout_ms);
        writer.compact_array("SupportedProtocols", &classic.supported_protocols, ClassicProtocol::write)?;
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
