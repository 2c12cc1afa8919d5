//! What differs between generations of Kafka's replication, and what a repair changes (docs/replication.md 0.1, 2.3 to
//! 2.6, 10.3). A broker has its own rules, so that a cluster may be in the middle of an upgrade.

use super::message::EpochRequestVersion;
use super::slip::Slip;

/// How a follower finds where its log leaves the leader's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// It cuts at its own high watermark, without asking: before KIP-101.
    HighWatermark,
    /// It asks once, and cuts at the leader's offset: KIP-101.
    LeaderOffset,
    /// It asks until the epochs agree: KIP-279.
    EpochExchange,
    /// The leader tells it in the reply to a fetch: KIP-595, Kafka 2.7 and later.
    OnFetch,
}

/// When a leader's epoch gets its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EpochMark {
    /// With the first batch: KIP-101.
    AtFirstAppend,
    /// With the election: KAFKA-7415.
    AtElection,
}

/// Which epoch a request is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fencing {
    /// None: before KIP-320.
    None,
    /// The one before the offset, in the leader's log: KIP-320's first try.
    ExpectedEpoch,
    /// The one that the requester is in: KIP-320.
    CurrentEpoch,
}

/// What a reply must have in common with the follower's entry to be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReplyMatch {
    /// The offset: Kafka 2.7 to 4.0 (KAFKA-18991).
    Offset,
    /// The offset and the leader epoch: Kafka 4.1 and later.
    OffsetAndEpoch,
}

/// What of a fetch reply a follower appends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Appended {
    /// All.
    All,
    /// What comes before the first batch of a later epoch than the follower's own: KAFKA-18723, Kafka 4.1 and later.
    UpToOwnEpoch,
}

/// What a leader that is elected again keeps of what it knows of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RemoteState {
    /// All, if it led when it last looked: Kafka 3.3 and later.
    Kept,
    /// All, if no epoch lies in between, in which another could have led.
    KeptIfNext,
    /// Nothing.
    Forgotten,
}

/// What becomes of a leader's proposal when a record comes that it knows already, from the reply to an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PendingProposal {
    /// It is forgotten, as with any record, though the controller may have it already: Kafka 3.0 and later.
    Forgotten,
    /// It stays: the record says nothing new.
    Kept,
}

/// Where a follower fetches on from after a cut inside of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BatchCut {
    /// From the offset that was asked for, which the log cannot take: Kafka.
    Target,
    /// From the start of the batch that went.
    ActualCut,
}

/// How the replica that replaces another on a disk of the same broker begins (docs/replication.md 2.10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FutureReplica {
    /// It asks until the epochs agree: KIP-279.
    EpochExchange,
    /// It is told where the current replica cuts, and asks nothing.
    MarkOnly,
    /// It asks once, and cuts at the current replica's offset.
    LeaderOffset,
}

/// The rules of one broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rules {
    /// How a follower cuts.
    pub truncation: Truncation,
    /// When a leader marks its epoch.
    pub epoch_mark: EpochMark,
    /// Which epoch a request has, and is compared by.
    pub fencing: Fencing,
    /// The largest version of `OffsetsForLeaderEpoch` that is understood.
    pub understands: EpochRequestVersion,
    /// The version that is sent, by the inter-broker protocol.
    pub sends: EpochRequestVersion,
    /// Which replies are used.
    pub reply_match: ReplyMatch,
    /// What of a reply is appended.
    pub appended: Appended,
    /// What a re-elected leader remembers.
    pub remote_state: RemoteState,
    /// What a record that is known already does to a proposal.
    pub pending_proposal: PendingProposal,
    /// Where a follower goes on.
    pub batch_cut: BatchCut,
    /// How a future replica begins.
    pub future: FutureReplica,
    /// One slip.
    pub slip: Option<Slip>,
}

macro_rules! generations {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// A set of rules with a name.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ReplicationRules {
            $($(#[$doc])* $name,)*
        }

        impl ReplicationRules {
            /// All of them, the oldest first.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that traces use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// The rules of that name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|rules| rules.name() == name)
            }
        }
    };
}

generations! {
    /// Before KIP-101.
    HighWatermark = "high-watermark",
    /// KIP-101: Kafka 0.11.
    Kip101 = "kip-101",
    /// KIP-279 with KAFKA-7415.
    Kip279 = "kip-279",
    /// A draft of KIP-320.
    Kip320FirstTry = "kip-320-first-try",
    /// KIP-320's code while the inter-broker protocol is below 2.0.
    Kip320BelowIbp20 = "kip-320-below-ibp-2.0",
    /// KIP-320: Kafka 2.1.
    Kip320 = "kip-320",
    /// Truncation on fetch as Kafka 2.8 to 4.0 have it: a late reply is used if the offset is the same.
    Kafka40 = "kafka-4.0",
    /// Kafka 4.4.0.
    Kafka44 = "kafka-4.4",
    /// The same, where a leader forgets what it knows if it may have missed another's epoch.
    RemoteStateRenewed = "remote-state-renewed",
    /// The same, where a leader forgets with every epoch.
    RemoteStateForgotten = "remote-state-forgotten",
    /// The same as `remote-state-renewed`, where a record that a leader knows already does not make it forget what it has
    /// proposed since.
    ProposalKept = "proposal-kept",
    /// The same, where a follower goes on from where its log really ends.
    BatchBaseAfterCut = "batch-base-after-cut",
    /// The same, where a future replica asks nothing.
    FutureReplicaMarked = "future-replica-marked",
    /// The same, where a future replica asks once.
    FutureReplicaAsksOnce = "future-replica-asks-once",
}

impl ReplicationRules {
    /// What they are. Those before Kafka 4.0 have the repaired rules of a leader, so that each shows its own fault alone.
    #[must_use]
    pub const fn rules(self) -> Rules {
        use EpochRequestVersion::{V0, V1, V2, V3, V4};
        let oracle = Rules {
            truncation: Truncation::OnFetch,
            epoch_mark: EpochMark::AtElection,
            fencing: Fencing::CurrentEpoch,
            understands: V4,
            sends: V4,
            reply_match: ReplyMatch::OffsetAndEpoch,
            appended: Appended::UpToOwnEpoch,
            remote_state: RemoteState::KeptIfNext,
            pending_proposal: PendingProposal::Kept,
            batch_cut: BatchCut::Target,
            future: FutureReplica::EpochExchange,
            slip: None,
        };
        let kip_320 = Rules {
            truncation: Truncation::EpochExchange,
            understands: V3,
            sends: V2,
            appended: Appended::All,
            ..oracle
        };
        let kip_279 = Rules { fencing: Fencing::None, understands: V1, sends: V1, ..kip_320 };
        let kip_101 = Rules {
            truncation: Truncation::LeaderOffset,
            epoch_mark: EpochMark::AtFirstAppend,
            understands: V0,
            sends: V0,
            future: FutureReplica::LeaderOffset,
            ..kip_279
        };
        let renewed = Rules { pending_proposal: PendingProposal::Forgotten, ..oracle };
        match self {
            Self::HighWatermark => Rules { truncation: Truncation::HighWatermark, ..kip_101 },
            Self::Kip101 => kip_101,
            Self::Kip279 => kip_279,
            Self::Kip320FirstTry => Rules { fencing: Fencing::ExpectedEpoch, ..kip_279 },
            Self::Kip320BelowIbp20 => Rules { fencing: Fencing::None, sends: V0, ..kip_320 },
            Self::Kip320 => kip_320,
            // KAFKA-18723 came with KAFKA-18991.
            Self::Kafka40 => Rules { reply_match: ReplyMatch::Offset, appended: Appended::All, ..renewed },
            Self::Kafka44 => Rules { remote_state: RemoteState::Kept, ..renewed },
            Self::RemoteStateRenewed => renewed,
            Self::RemoteStateForgotten => Rules { remote_state: RemoteState::Forgotten, ..renewed },
            Self::ProposalKept => oracle,
            Self::BatchBaseAfterCut => Rules { batch_cut: BatchCut::ActualCut, ..oracle },
            Self::FutureReplicaMarked => Rules { future: FutureReplica::MarkOnly, ..oracle },
            Self::FutureReplicaAsksOnce => Rules { future: FutureReplica::LeaderOffset, ..oracle },
        }
    }
}

impl Rules {
    /// These rules with one slip.
    #[must_use]
    pub const fn with(self, slip: Slip) -> Self {
        Self { slip: Some(slip), ..self }
    }

    pub(super) fn slips(self, slip: Slip) -> bool {
        self.slip == Some(slip)
    }
}

/// The version of `OffsetsForLeaderEpoch` that a broker sends under an inter-broker protocol `MAJOR.MINOR-IVSTEP`
/// (docs/replication.md 0.1; Kafka's `MetadataVersion#offsetForLeaderEpochRequestVersion`): version 1 from 2.0-IV0 on, 2 from
/// 2.1-IV1, 3 from 2.3-IV1, 4 from 2.8-IV0.
#[must_use]
pub const fn offset_for_leader_epoch_version(major: u16, minor: u16, step: u16) -> EpochRequestVersion {
    match (major, minor, step) {
        (0 | 1, ..) => EpochRequestVersion::V0,
        (2, 0, _) | (2, 1, 0) => EpochRequestVersion::V1,
        (2, 1 | 2, _) | (2, 3, 0) => EpochRequestVersion::V2,
        (2, 3..=7, _) => EpochRequestVersion::V3,
        _ => EpochRequestVersion::V4,
    }
}
