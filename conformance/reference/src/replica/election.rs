//! Who leads (docs/replication.md 4.7; Kafka's `PartitionChangeBuilder#electLeader`, `#maybePopulateTargetElr`; KIP-966).

use super::metadata::Registrations;
use super::names::{BrokerId, LeaderEpoch, PartitionEpoch};
use super::slip::Slip;

/// The controller's record.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PartitionState {
    /// All replicas; the first is preferred.
    pub replicas: Vec<BrokerId>,
    /// The replicas in sync, in the order of the replicas.
    pub isr: Vec<BrokerId>,
    /// The eligible leader replicas.
    pub elr: Vec<BrokerId>,
    /// The last leader, while there is none to be elected.
    pub last_known: Option<BrokerId>,
    /// The leader.
    pub leader: Option<BrokerId>,
    /// Its epoch.
    pub leader_epoch: LeaderEpoch,
    /// The version.
    pub partition_epoch: PartitionEpoch,
    /// Whether the leader was elected uncleanly and has not recovered.
    pub recovering: bool,
}

/// Why there is an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElectionKind {
    /// Something has changed.
    Any,
    /// The first replica is wanted.
    Preferred,
    /// Anybody is better than nobody.
    Unclean,
    /// This member of the ISR, by hand.
    Of(BrokerId),
}

/// The outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Elected {
    /// The leader, if somebody can be.
    pub leader: Option<BrokerId>,
    /// How.
    pub from: ElectedFrom,
}

/// Where a leader comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ElectedFrom {
    /// The ISR.
    Isr,
    /// The ELR: it has every committed record.
    Elr,
    /// Elsewhere: records may be lost.
    Unclean,
    /// Nobody.
    Nowhere,
}

/// Elects for a record with its target ISR and ELR.
#[must_use]
pub fn elect(
    target: &PartitionState,
    kind: ElectionKind,
    brokers: &Registrations,
    elr_enabled: bool,
    slip: Option<Slip>,
) -> Elected {
    let acceptable = |broker: BrokerId| brokers.is_active(broker);
    let member =
        |broker: &BrokerId| target.isr.contains(broker) || (target.isr.is_empty() && target.elr.contains(broker));
    let valid = |broker: &BrokerId| member(broker) && acceptable(*broker);
    let first_valid = target.replicas.iter().copied().find(&valid);
    let current = target.leader.filter(&valid).filter(|_| slip != Some(Slip::ValidLeaderReplaced));
    let last_known = target
        .last_known
        .filter(|_| elr_enabled && target.isr.is_empty() && target.elr.is_empty())
        .filter(|last| acceptable(*last) || slip == Some(Slip::FencedLastKnownElected));
    let wanted = match kind {
        ElectionKind::Preferred => target.replicas.first().copied().filter(&valid),
        ElectionKind::Of(broker) => Some(broker).filter(&valid),
        ElectionKind::Any | ElectionKind::Unclean => None,
    };
    let cleanly = wanted.or(current).or(first_valid);
    let uncleanly = || {
        let anybody = target.replicas.iter().copied().find(|broker| acceptable(*broker));
        last_known.or_else(|| anybody.filter(|_| kind == ElectionKind::Unclean))
    };
    match (cleanly, target.isr.is_empty()) {
        (Some(leader), false) => Elected { leader: Some(leader), from: ElectedFrom::Isr },
        (Some(leader), true) => Elected { leader: Some(leader), from: ElectedFrom::Elr },
        (None, _) => match uncleanly() {
            Some(leader) => Elected { leader: Some(leader), from: ElectedFrom::Unclean },
            None => Elected { leader: None, from: ElectedFrom::Nowhere },
        },
    }
}

/// What the ELR becomes with a change of the ISR: who leaves while the high watermark cannot rise has all that is
/// committed.
#[must_use]
pub fn target_elr(
    before: &PartitionState,
    target_isr: &[BrokerId],
    min_isr: usize,
    lost_disk: &[BrokerId],
) -> Vec<BrokerId> {
    if target_isr.len() >= min_isr {
        return Vec::new();
    }
    let candidates = before.replicas.iter().copied();
    candidates
        .filter(|broker| before.elr.contains(broker) || before.isr.contains(broker))
        .filter(|broker| !target_isr.contains(broker) && !lost_disk.contains(broker))
        .collect()
}
