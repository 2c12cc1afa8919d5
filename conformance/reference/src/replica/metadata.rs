//! The controller's records, as brokers apply them (docs/replication.md 4.2, 4.7; Kafka's `PartitionRecord`,
//! `BrokerRegistrationChangeRecord`).

use std::collections::BTreeMap;

use super::names::{BrokerEpoch, BrokerId, LeaderEpoch, PartitionEpoch};

/// One record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum MetadataRecord {
    /// The partition.
    Partition(PartitionRecord),
    /// A broker.
    Broker(BrokerRecord),
}

/// What is known of the partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionRecord {
    /// The leader, if there is one.
    pub leader: Option<BrokerId>,
    /// Its epoch.
    pub leader_epoch: LeaderEpoch,
    /// The replicas in sync.
    pub isr: Vec<BrokerId>,
    /// The version; without it, the one after the last that the broker knows.
    pub partition_epoch: Option<PartitionEpoch>,
    /// The eligible leader replicas (KIP-966).
    pub elr: Vec<BrokerId>,
    /// Whether the leader was elected uncleanly and has not recovered.
    pub recovering: bool,
}

/// What is known of a broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BrokerRecord {
    /// The broker.
    pub broker: BrokerId,
    /// Its incarnation.
    pub broker_epoch: BrokerEpoch,
    /// Whether its heartbeats are missing.
    pub fenced: bool,
    /// Whether it is in controlled shutdown.
    pub shutting_down: bool,
}

/// The brokers as they are registered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Registrations {
    brokers: BTreeMap<BrokerId, BrokerRecord>,
}

impl Registrations {
    /// All of them registered for the first time, with broker epoch 1, and alive.
    #[must_use]
    pub fn first(brokers: &[BrokerId]) -> Self {
        let alive = |broker: &BrokerId| {
            let record =
                BrokerRecord { broker: *broker, broker_epoch: BrokerEpoch(1), fenced: false, shutting_down: false };
            (*broker, record)
        };
        Self { brokers: brokers.iter().map(alive).collect() }
    }

    /// Takes a record over.
    pub fn apply(&mut self, record: BrokerRecord) {
        self.brokers.insert(record.broker, record);
    }

    /// One broker.
    #[must_use]
    pub fn get(&self, broker: BrokerId) -> Option<&BrokerRecord> {
        self.brokers.get(&broker)
    }

    /// All.
    #[must_use]
    pub const fn all(&self) -> &BTreeMap<BrokerId, BrokerRecord> {
        &self.brokers
    }

    /// Whether it is neither fenced nor shutting down.
    #[must_use]
    pub fn is_active(&self, broker: BrokerId) -> bool {
        self.get(broker).is_some_and(|record| !record.fenced && !record.shutting_down)
    }
}
