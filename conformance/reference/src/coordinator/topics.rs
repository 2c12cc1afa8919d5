//! The cluster's topics as the coordinator sees them: names, ids, partition counts.

use std::collections::BTreeMap;

use crate::coordinator::names::{TopicName, TopicPartition};
use crate::coordinator::records::Uuid;

/// The topics there are. Ids are the caller's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topics {
    by_name: BTreeMap<TopicName, (Uuid, i32)>,
}

impl Topics {
    /// The id of a topic.
    #[must_use]
    pub fn id(&self, name: &str) -> Option<Uuid> {
        self.by_name.get(name).map(|&(id, _)| id)
    }

    /// The name of a topic.
    #[must_use]
    pub fn name(&self, id: Uuid) -> Option<&TopicName> {
        self.by_name.iter().find(|(_, (other, _))| *other == id).map(|(name, _)| name)
    }

    /// How many partitions a topic has.
    #[must_use]
    pub fn partition_count(&self, name: &str) -> Option<i32> {
        self.by_name.get(name).map(|&(_, count)| count)
    }

    /// A partition of a topic, by the topic's id, whether the topic has that many partitions or not; `None` without such a
    /// topic.
    #[must_use]
    pub fn partition(&self, name: &str, partition: i32) -> Option<TopicPartition> {
        self.id(name).map(|topic_id| TopicPartition { topic_id, partition })
    }

    /// Name, id and number of partitions of each, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&TopicName, Uuid, i32)> {
        self.by_name.iter().map(|(name, &(id, count))| (name, id, count))
    }

    /// Adds a topic, or replaces the one of that name.
    pub(crate) fn insert(&mut self, name: TopicName, id: Uuid, partitions: i32) {
        self.by_name.insert(name, (id, partitions));
    }

    /// Takes a topic away and gives its id.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Uuid> {
        self.by_name.remove(name).map(|(id, _)| id)
    }
}
