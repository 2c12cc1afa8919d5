//! What a member has and at which epochs: kind 8 of `__consumer_offsets`, the record that KIP-1251 extended
//! (docs/fencing.md 3.7, 3.8 and 4.1).

use super::wire::{Reader, Writer};
use super::{Result, Uuid, Value};

/// The current assignment of one member.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ConsumerGroupCurrentMemberAssignmentValue {
    /// The member epoch; -2 for a static member that left for a while.
    pub member_epoch: i32,
    /// The member epoch before; -1 for none.
    pub previous_member_epoch: i32,
    /// 0 stable, 1 unrevoked partitions, 2 unreleased partitions; what another number means is the loader's.
    pub state: i8,
    /// What the member may use.
    pub assigned_partitions: Vec<CurrentTopicPartitions>,
    /// What it was asked to give up and still holds for everyone else.
    pub partitions_pending_revocation: Vec<CurrentTopicPartitions>,
}

/// Partitions of one topic, and the epoch at which each was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CurrentTopicPartitions {
    /// The topic's id.
    pub topic_id: Uuid,
    /// The partitions.
    pub partitions: Vec<i32>,
    /// One epoch a partition, in their order.
    ///
    /// This is what the record says, of any length: the default for a list that does not fit `partitions` is the
    /// loader's (docs/fencing.md 3.7). Kafka's default of this field is the *empty* list, not null: empty is not
    /// written, and is what a record reads as that has no such field (before Kafka 4.3). `None` is written as null,
    /// which no coordinator does. So a loader has one question: is there a list, and has it the length of `partitions`?
    pub assignment_epochs: Option<Vec<i32>>,
}

impl Default for CurrentTopicPartitions {
    fn default() -> Self {
        Self { topic_id: Uuid::ZERO, partitions: Vec::new(), assignment_epochs: Some(Vec::new()) }
    }
}

impl ConsumerGroupCurrentMemberAssignmentValue {
    pub(super) fn forget_assignment_epochs(&mut self) {
        for entry in self.assigned_partitions.iter_mut().chain(&mut self.partitions_pending_revocation) {
            entry.assignment_epochs = Some(Vec::new());
        }
    }
}

impl Value for ConsumerGroupCurrentMemberAssignmentValue {
    fn read(reader: &mut Reader<'_>, _version: i16) -> Result<Self> {
        let value = Self {
            member_epoch: reader.int32("MemberEpoch")?,
            previous_member_epoch: reader.int32("PreviousMemberEpoch")?,
            state: reader.int8("State")?,
            assigned_partitions: reader.compact_array("AssignedPartitions", CurrentTopicPartitions::read)?,
            partitions_pending_revocation: reader
                .compact_array("PartitionsPendingRevocation", CurrentTopicPartitions::read)?,
        };
        reader.skip_tagged_fields()?;
        Ok(value)
    }

    fn write(&self, writer: &mut Writer, _version: i16) -> Result<()> {
        writer.int32(self.member_epoch);
        writer.int32(self.previous_member_epoch);
        writer.int8(self.state);
        writer.compact_array("AssignedPartitions", &self.assigned_partitions, CurrentTopicPartitions::write)?;
        writer.compact_array(
            "PartitionsPendingRevocation",
            &self.partitions_pending_revocation,
            CurrentTopicPartitions::write,
        )?;
        writer.no_tagged_fields();
        Ok(())
    }
}

impl CurrentTopicPartitions {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let mut entry = Self {
            topic_id: reader.uuid("TopicId")?,
            partitions: reader.compact_array("Partitions", |reader| reader.int32("Partitions"))?,
            ..Self::default()
        };
        reader.tagged_fields(|reader, tag| {
            if tag == 0 {
                entry.assignment_epochs =
                    reader.compact_nullable_array("AssignmentEpochs", |reader| reader.int32("AssignmentEpochs"))?;
            }
            Ok(tag == 0)
        })?;
        Ok(entry)
    }

    fn write(writer: &mut Writer, entry: &Self) -> Result<()> {
        writer.uuid(entry.topic_id);
        writer.compact_int32_array("Partitions", &entry.partitions)?;
        let epochs = entry.assignment_epochs.as_deref();
        writer.tagged_field_0("AssignmentEpochs", (epochs != Some(&[])).then_some(epochs), |writer, epochs| {
            writer.compact_nullable_int32_array("AssignmentEpochs", epochs)
        })
    }
}
