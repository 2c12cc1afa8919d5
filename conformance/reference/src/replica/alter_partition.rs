//! Whether the controller takes a leader's proposal (docs/replication.md 4.7; Kafka's
//! `ReplicationControlManager#validateAlterPartitionData`, `#ineligibleReplicasForIsr`; KIP-497, KIP-841, KIP-903).

use super::election::PartitionState;
use super::error::ErrorCode;
use super::message::AlterPartitionRequest;
use super::metadata::Registrations;
use super::names::{BrokerEpoch, BrokerId};
use super::slip::Slip;

/// The table, in its order. The partition is known, there being but one.
pub fn validate_alter_partition(
    state: &PartitionState,
    brokers: &Registrations,
    requester: BrokerId,
    request: &AlterPartitionRequest,
    slip: Option<Slip>,
) -> Result<(), ErrorCode> {
    let slips = |which| slip == Some(which);
    let registered = brokers.get(requester).map(|broker| broker.broker_epoch);
    let members = || request.isr.keys();
    match () {
        () if registered != Some(request.broker_epoch) && !slips(Slip::BrokerEpochIgnored) => {
            Err(ErrorCode::StaleBrokerEpoch)
        }
        () if request.leader_epoch > state.leader_epoch && slips(Slip::StaleControllerFences) => {
            Err(ErrorCode::FencedLeaderEpoch)
        }
        () if request.leader_epoch > state.leader_epoch => Err(ErrorCode::NotController),
        () if request.partition_epoch > state.partition_epoch && slips(Slip::StaleControllerFences) => {
            Err(ErrorCode::InvalidUpdateVersion)
        }
        () if request.partition_epoch > state.partition_epoch => Err(ErrorCode::NotController),
        () if request.leader_epoch < state.leader_epoch => Err(ErrorCode::FencedLeaderEpoch),
        () if state.leader != Some(requester) => Err(ErrorCode::InvalidRequest),
        () if request.partition_epoch < state.partition_epoch && !slips(Slip::PartitionEpochIgnored) => {
            Err(ErrorCode::InvalidUpdateVersion)
        }
        () if !members().all(|member| state.replicas.contains(member)) => Err(ErrorCode::InvalidRequest),
        () if !request.isr.contains_key(&requester) => Err(ErrorCode::InvalidRequest),
        () if !request.recovered && request.isr.len() > 1 => Err(ErrorCode::InvalidRequest),
        () if !request.recovered && !state.recovering => Err(ErrorCode::InvalidRequest),
        () if request.isr.iter().any(|(member, epoch)| !may_be_member(brokers, *member, *epoch, slip)) => {
            Err(ErrorCode::IneligibleReplica)
        }
        () => Ok(()),
    }
}

fn may_be_member(brokers: &Registrations, member: BrokerId, epoch: BrokerEpoch, slip: Option<Slip>) -> bool {
    let same =
        |registered| epoch == BrokerEpoch::UNKNOWN || epoch == registered || slip == Some(Slip::BrokerEpochIgnored);
    (brokers.is_active(member) || slip == Some(Slip::FencedReplicaJoins))
        && brokers.get(member).is_some_and(|broker| same(broker.broker_epoch))
}
