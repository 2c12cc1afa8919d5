//! The controller, as far as one partition is concerned (docs/replication.md 4.7; Kafka's `ReplicationControlManager`,
//! `PartitionChangeBuilder`, `BrokerHeartbeatManager`).

use super::alter_partition::validate_alter_partition;
use super::election::{ElectedFrom, ElectionKind, PartitionState, elect, target_elr};
use super::error::ErrorCode;
use super::message::{AlterPartitionRequest, AlteredPartition, Content, Message};
use super::metadata::{BrokerRecord, MetadataRecord, PartitionRecord, Registrations};
use super::names::{BrokerEpoch, BrokerId, LeaderEpoch, Node, PartitionEpoch};
use super::slip::Slip;

/// How a controller is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerSetup {
    /// All replicas of the partition; the first is preferred.
    pub replicas: Vec<BrokerId>,
    /// `min.insync.replicas`.
    pub min_isr: usize,
    /// Whether there are eligible leader replicas (KIP-966).
    pub elr: bool,
    /// `unclean.leader.election.enable`.
    pub unclean_election: bool,
    /// One slip.
    pub slip: Option<Slip>,
}

/// One input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ControllerInput {
    /// An election is asked for.
    Elect(ElectionKind),
    /// A broker's heartbeats are missing.
    Fence(BrokerId),
    /// They are back.
    Unfence(BrokerId),
    /// A broker wants to stop.
    ShutDown(BrokerId),
    /// A new process of a broker registers.
    Register {
        /// The broker.
        broker: BrokerId,
        /// Its incarnation, larger than all before.
        broker_epoch: BrokerEpoch,
        /// Whether its last process ended without an orderly stop.
        unclean: bool,
    },
    /// A message arrives.
    Deliver(Message),
}

/// What one input leads to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ControllerEffects {
    /// The records that were appended, in their order.
    pub records: Vec<MetadataRecord>,
    /// Messages.
    pub sends: Vec<Message>,
    /// Why it was refused.
    pub refused: Option<ErrorCode>,
}

/// A controller. See the module.
#[derive(Debug, Clone)]
pub struct Controller {
    setup: ControllerSetup,
    state: PartitionState,
    brokers: Registrations,
}

/// What a change wants.
#[derive(Debug, Clone, Default)]
struct Change {
    isr: Option<Vec<BrokerId>>,
    lost_disk: Vec<BrokerId>,
    recovered: bool,
}

impl Controller {
    /// All brokers registered and alive, and the partition without a record.
    #[must_use]
    pub fn new(setup: ControllerSetup) -> Self {
        let state = PartitionState {
            replicas: setup.replicas.clone(),
            isr: setup.replicas.clone(),
            elr: Vec::new(),
            last_known: None,
            leader: None,
            leader_epoch: LeaderEpoch::NONE,
            partition_epoch: PartitionEpoch::NONE,
            recovering: false,
        };
        let brokers = Registrations::first(&setup.replicas);
        Self { setup, state, brokers }
    }

    /// The record.
    #[must_use]
    pub const fn state(&self) -> &PartitionState {
        &self.state
    }

    /// The brokers.
    #[must_use]
    pub const fn brokers(&self) -> &Registrations {
        &self.brokers
    }

    /// Takes a record over that was made elsewhere.
    pub fn set_state(&mut self, state: PartitionState) {
        self.state = state;
    }

    /// Takes a registration over that was made elsewhere.
    pub fn set_broker(&mut self, record: BrokerRecord) {
        self.brokers.apply(record);
    }

    /// Handles one input.
    pub fn handle(&mut self, input: ControllerInput) -> ControllerEffects {
        let mut effects = ControllerEffects::default();
        match input {
            ControllerInput::Elect(kind) => {
                let change = Change { isr: Some(self.state.isr.clone()), ..Change::default() };
                self.change(&change, kind, &mut effects.records);
            }
            ControllerInput::Fence(broker) => self.leave(broker, |known| known.fenced = true, &mut effects.records),
            ControllerInput::ShutDown(broker) => {
                self.leave(broker, |known| known.shutting_down = true, &mut effects.records);
            }
            ControllerInput::Unfence(broker) => {
                self.register_change(broker, |known| known.fenced = false, &mut effects.records);
                if !effects.records.is_empty() && self.state.leader.is_none() {
                    self.change(&Change::default(), self.kind(), &mut effects.records);
                }
            }
            ControllerInput::Register { broker, broker_epoch, unclean } => {
                self.register(broker, broker_epoch, unclean, &mut effects);
            }
            ControllerInput::Deliver(message) => self.deliver(&message, &mut effects),
        }
        effects
    }

    const fn kind(&self) -> ElectionKind {
        if self.setup.unclean_election { ElectionKind::Unclean } else { ElectionKind::Any }
    }

    /// A broker may no longer be in sync. The partition's record comes before the broker's for one that is fenced, and
    /// after it for one that wants to stop, as Kafka appends them.
    fn leave(&mut self, broker: BrokerId, mark: impl Fn(&mut BrokerRecord), records: &mut Vec<MetadataRecord>) {
        let mut registration = Vec::new();
        self.register_change(broker, mark, &mut registration);
        let stops = registration.iter().any(|record| matches!(record, MetadataRecord::Broker(b) if b.shutting_down));
        if registration.is_empty() {
            return;
        }
        let mut partition = Vec::new();
        if self.state.isr.contains(&broker) {
            let isr = self.state.isr.iter().copied().filter(|member| *member != broker).collect();
            self.change(&Change { isr: Some(isr), ..Change::default() }, self.kind(), &mut partition);
        }
        let (first, second) = if stops { (registration, partition) } else { (partition, registration) };
        records.extend(first);
        records.extend(second);
    }

    /// Changes what is known of a broker, if that is a change.
    fn register_change(
        &mut self,
        broker: BrokerId,
        mark: impl Fn(&mut BrokerRecord),
        records: &mut Vec<MetadataRecord>,
    ) {
        let Some(mut record) = self.brokers.get(broker).copied() else { return };
        let before = record;
        mark(&mut record);
        if record != before {
            self.brokers.apply(record);
            records.push(MetadataRecord::Broker(record));
        }
    }

    fn register(
        &mut self,
        broker: BrokerId,
        broker_epoch: BrokerEpoch,
        unclean: bool,
        effects: &mut ControllerEffects,
    ) {
        let known = self.brokers.get(broker).copied();
        if known.is_some_and(|known| !known.fenced && !known.shutting_down) {
            effects.refused = Some(ErrorCode::DuplicateBrokerRegistration);
            return;
        }
        let record = BrokerRecord { broker, broker_epoch, fenced: true, shutting_down: false };
        self.brokers.apply(record);
        if self.setup.elr && unclean {
            // Its disk may have lost what made it eligible.
            let isr = self.state.isr.iter().copied().filter(|member| *member != broker).collect();
            let change = Change { isr: Some(isr), lost_disk: vec![broker], ..Change::default() };
            self.change(&change, self.kind(), &mut effects.records);
        }
        effects.records.push(MetadataRecord::Broker(record));
    }

    fn deliver(&mut self, message: &Message, effects: &mut ControllerEffects) {
        let (Content::AlterPartition(request), Node::Broker(requester)) = (&message.content, message.from) else {
            return;
        };
        let answer = self.alter_partition(requester, request, &mut effects.records);
        effects.sends.push(message.reply(Content::AlterPartitionReply(answer)));
    }

    fn alter_partition(
        &mut self,
        requester: BrokerId,
        request: &AlterPartitionRequest,
        records: &mut Vec<MetadataRecord>,
    ) -> Result<AlteredPartition, ErrorCode> {
        validate_alter_partition(&self.state, &self.brokers, requester, request, self.setup.slip)?;
        let isr = self.in_replica_order(request.isr.keys().copied());
        let change = Change { isr: Some(isr), recovered: request.recovered, ..Change::default() };
        self.change(&change, self.kind(), records);
        Ok(AlteredPartition {
            leader: self.state.leader,
            leader_epoch: self.state.leader_epoch,
            isr: self.state.isr.clone(),
            partition_epoch: self.state.partition_epoch,
        })
    }

    fn in_replica_order(&self, members: impl Iterator<Item = BrokerId>) -> Vec<BrokerId> {
        let members: Vec<_> = members.collect();
        self.setup.replicas.iter().copied().filter(|replica| members.contains(replica)).collect()
    }

    /// Builds the record of a change, elects, and appends it if anything differs.
    fn change(&mut self, change: &Change, kind: ElectionKind, records: &mut Vec<MetadataRecord>) {
        let before = &self.state;
        let mut target = before.clone();
        if let Some(isr) = &change.isr {
            target.isr.clone_from(isr);
        }
        target.recovering = before.recovering && !change.recovered;
        if self.setup.elr {
            target.elr = target_elr(before, &target.isr, self.setup.min_isr, &change.lost_disk);
        }
        let elected = elect(&target, kind, &self.brokers, self.setup.elr, self.setup.slip);
        target.leader = elected.leader;
        if let Some(leader) = elected.leader {
            match elected.from {
                ElectedFrom::Isr | ElectedFrom::Nowhere => {}
                ElectedFrom::Elr => {
                    target.isr = vec![leader];
                    target.elr.retain(|member| *member != leader);
                }
                ElectedFrom::Unclean => {
                    target.isr = vec![leader];
                    target.elr.clear();
                    target.recovering = true;
                }
            }
            target.last_known = None;
        } else if !self.setup.elr && target.isr.is_empty() {
            // Without the ELR the last one in sync stays, so that somebody can be elected at all.
            target.isr.clone_from(&before.isr);
        } else if self.setup.elr && before.leader.is_some() && target.isr.is_empty() {
            target.last_known = before.leader;
        }
        if target == *before {
            return;
        }
        if target.leader != before.leader {
            target.leader_epoch = LeaderEpoch(before.leader_epoch.0.saturating_add(1));
        }
        target.partition_epoch = before.partition_epoch.next();
        records.push(MetadataRecord::Partition(PartitionRecord {
            leader: target.leader,
            leader_epoch: target.leader_epoch,
            isr: target.isr.clone(),
            partition_epoch: Some(target.partition_epoch),
            elr: target.elr.clone(),
            recovering: target.recovering,
        }));
        self.state = target;
    }
}
