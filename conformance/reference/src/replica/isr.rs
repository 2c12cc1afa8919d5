//! The replicas in sync, as the leader sees them (docs/replication.md 4.5; Kafka's `Partition#maybeExpandIsr`,
//! `#maybeShrinkIsr`, `#handleAlterPartitionUpdate`; KIP-497, KIP-841).
//!
//! ```text
//! Committed ──proposal sent──▶ Pending ──applied, or surely not applied──▶ Committed
//! ```

use super::error::ErrorCode;
use super::message::{AlterPartitionRequest, AlteredPartition};
use super::metadata::BrokerRecord;
use super::names::{BrokerEpoch, BrokerId, Correlation, LeaderEpoch, Offset, PartitionEpoch};
use super::slip::Slip;

/// The leader's view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IsrState {
    /// What the controller has.
    Committed(Vec<BrokerId>),
    /// A proposal is at the controller.
    Pending(PendingIsr),
}

/// A proposal that is not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingIsr {
    /// What the controller had.
    pub committed: Vec<BrokerId>,
    /// The proposal.
    pub request: AlterPartitionRequest,
    /// Its number, while it is the one that is on its way.
    pub correlation: Correlation,
}

/// The proposal that is on its way. It is the broker's, and not the leadership's: a record that settles the proposal, or ends
/// the leadership, does not call it back, and until it is answered there is no other (Kafka's
/// `DefaultAlterPartitionManager#submit`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SentProposal {
    /// The proposal, which is sent again as it is.
    pub request: AlterPartitionRequest,
    /// Its number.
    pub correlation: Correlation,
}

impl PendingIsr {
    /// The members that are proposed.
    #[must_use]
    pub fn proposed(&self) -> Vec<BrokerId> {
        self.request.isr.keys().copied().collect()
    }
}

impl IsrState {
    /// What the controller has confirmed.
    #[must_use]
    pub fn committed(&self) -> &[BrokerId] {
        match self {
            Self::Committed(isr) => isr,
            Self::Pending(pending) => &pending.committed,
        }
    }

    /// What the controller may have already: who is about to join counts, and who is about to leave still counts.
    #[must_use]
    pub fn maximal(&self) -> Vec<BrokerId> {
        let mut isr = self.committed().to_vec();
        if let Self::Pending(pending) = self {
            isr.extend(pending.request.isr.keys().filter(|member| !pending.committed.contains(member)));
        }
        isr
    }

    /// The members that count for the high watermark, under a slip of the maximal ISR or none.
    #[must_use]
    pub(super) fn awaited(&self, slip: Option<Slip>) -> Vec<BrokerId> {
        match (self, slip) {
            (_, Some(Slip::CommittedIsrOnly)) => self.committed().to_vec(),
            (Self::Pending(pending), Some(Slip::ShrinkNotAwaited)) => pending.proposed(),
            _ => self.maximal(),
        }
    }

    /// The proposal, if there is one.
    #[must_use]
    pub const fn pending(&self) -> Option<&PendingIsr> {
        match self {
            Self::Committed(_) => None,
            Self::Pending(pending) => Some(pending),
        }
    }
}

/// Whether a replica may be in the ISR as far as its broker is concerned: alive, staying, and of the incarnation that has
/// fetched. Who has not fetched in this leadership may not.
#[must_use]
pub fn is_eligible(broker: Option<&BrokerRecord>, fetched_with: Option<BrokerEpoch>, slip: Option<Slip>) -> bool {
    let Some((broker, fetched_with)) = broker.zip(fetched_with) else { return false };
    let same_incarnation = fetched_with == BrokerEpoch::UNKNOWN
        || fetched_with == broker.broker_epoch
        || slip == Some(Slip::BrokerEpochIgnored);
    let active = (!broker.fenced && !broker.shutting_down) || slip == Some(Slip::FencedReplicaJoins);
    active && same_incarnation
}

/// A replica outside of the ISR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Candidate {
    /// Whether a proposal is on its way.
    pub proposal_pending: bool,
    /// Whether it is a member already.
    pub in_isr: bool,
    /// Whether its broker may be a member.
    pub eligible: bool,
    /// Its end.
    pub end: Offset,
    /// The leader's high watermark.
    pub high_watermark: Offset,
    /// Where the leader's epoch began: what its predecessor may have committed lies below.
    pub epoch_start: Offset,
}

/// Whether the leader proposes it.
#[must_use]
pub fn may_expand(candidate: Candidate) -> bool {
    match () {
        () if candidate.proposal_pending => false,
        () if candidate.in_isr => false,
        () if !candidate.eligible => false,
        () => candidate.end >= candidate.high_watermark && candidate.end >= candidate.epoch_start,
    }
}

/// What a leader does with the answer to its proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlterReaction {
    /// Nothing: the answer is of another time. What is pending stays so until metadata come.
    Ignore,
    /// The answer's ISR is the committed one.
    Commit,
    /// It was surely not applied: as before.
    RollBack,
    /// It may have been applied: metadata will tell.
    AwaitMetadata,
    /// It is sent again.
    SendAgain,
}

/// The table, in its order, for the answer to what is still pending.
#[must_use]
pub fn on_alter_partition_reply(
    leader_epoch: LeaderEpoch,
    partition_epoch: PartitionEpoch,
    reply: &Result<AlteredPartition, ErrorCode>,
) -> AlterReaction {
    match reply {
        Ok(altered) if altered.leader_epoch != leader_epoch => AlterReaction::Ignore,
        Ok(altered) if altered.partition_epoch < partition_epoch => AlterReaction::Ignore,
        Ok(_) => AlterReaction::Commit,
        Err(ErrorCode::IneligibleReplica | ErrorCode::OperationNotAttempted) => AlterReaction::RollBack,
        Err(
            ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::FencedLeaderEpoch
            | ErrorCode::InvalidUpdateVersion
            | ErrorCode::InvalidRequest
            | ErrorCode::NewLeaderElected,
        ) => AlterReaction::AwaitMetadata,
        Err(_) => AlterReaction::SendAgain,
    }
}
