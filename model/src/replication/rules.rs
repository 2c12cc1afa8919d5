//! The variants: which rule each generation of the protocol has (`docs/replication.md` 0.1, 2.3 to 2.6, 10.3).
//!
//! The generations before truncation on fetch have the oracle's rules for the state of remote replicas, for records that are
//! known, and for late answers, so that each of them shows its own hole only.

/// How a follower finds where its log parts from the leader's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncation {
    /// It does not: it cuts at its high watermark (2.3).
    HighWatermark,
    /// It asks where its latest epoch ends, once, and gets an offset (KIP-101, 2.4).
    AsksOnce,
    /// It asks until the answer is an epoch that it knows (KIP-279, 2.5).
    AsksOn,
    /// Its fetches carry the epoch of its last record, and the leader compares (KIP-595, 2.6).
    OnFetch,
}

/// What a fetch tells the leader of the epoch that it is meant for (3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fence {
    /// Nothing.
    None,
    /// The epoch of the last record, which the leader looks up in its log: KIP-320's first try.
    Expected,
    /// The leader epoch that the follower is in (KIP-320).
    Current,
}

/// What a reply must have in common with the follower's entry, to be taken (2.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyMatch {
    /// The fetch offset (before KAFKA-18991).
    Offset,
    /// The fetch offset and the leader epoch.
    OffsetAndEpoch,
}

/// What a leader that is elected again keeps of what it knew of the followers (4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteState {
    /// Everything.
    Kept,
    /// Everything, if the epoch is exactly the old one + 1; else nothing.
    KeptIfNext,
    /// Nothing.
    Forgotten,
}

/// What a leader makes of a record whose partition epoch it has from the controller's answer already (4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KnownRecord {
    /// It takes it as any other, and forgets the proposal that it has made since.
    DropsProposal,
    /// It says nothing new: the proposal stays.
    KeepsProposal,
}

/// How a future replica truncates (2.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FutureReplica {
    /// By asking the current replica until both know the epoch, as any follower.
    Asks,
    /// To where the current replica truncated, and not otherwise.
    Marked,
    /// By asking once, for an offset without its epoch.
    AsksOnce,
}

/// Where a follower fetches on after a cut inside a batch (2.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchCut {
    /// At the offset to which it was told to truncate.
    Target,
    /// At the base of the batch that was cut.
    Base,
}

/// The rules of one broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each says whether there is one rule")]
pub struct Rules {
    /// How a follower truncates.
    pub truncation: Truncation,
    /// Whether a leader notes its epoch when it is elected, not only when it appends (KAFKA-7415).
    pub marks: bool,
    /// What a fetch tells of its epoch.
    pub fence: Fence,
    /// Whether `OffsetsForLeaderEpoch` carries the follower's leader epoch.
    pub asks_fenced: bool,
    /// Whether `OffsetsForLeaderEpoch` is sent in version 0, whose answer has no epoch.
    pub asks_v0: bool,
    /// Which replies are taken.
    pub reply: ReplyMatch,
    /// What a leader that is elected again keeps.
    pub remote: RemoteState,
    /// Whether a follower appends nothing from an epoch above its own (KAFKA-18723).
    pub cuts_newer: bool,
    /// What a record does that is known already.
    pub known_record: KnownRecord,
    /// How a future replica truncates.
    pub future: FutureReplica,
    /// Where a follower fetches on after a cut inside a batch.
    pub batch_cut: BatchCut,
}

impl Rules {
    /// Whether a fetch carries the epoch of the last record, for the leader to compare.
    #[must_use]
    pub fn compares(&self) -> bool {
        self.truncation == Truncation::OnFetch || self.fence == Fence::Expected
    }
}

/// The name of the oracle.
pub const ORACLE: &str = "proposal-kept";
/// The name of the repair of S14 alone.
pub const RENEWED: &str = "remote-state-renewed";
/// The name of what Kafka 4.4 does.
pub const KAFKA: &str = "kafka-4.4";

const REPAIRED: Rules = Rules {
    truncation: Truncation::OnFetch,
    marks: true,
    fence: Fence::Current,
    asks_fenced: true,
    asks_v0: false,
    reply: ReplyMatch::OffsetAndEpoch,
    remote: RemoteState::KeptIfNext,
    cuts_newer: true,
    known_record: KnownRecord::KeepsProposal,
    future: FutureReplica::Asks,
    batch_cut: BatchCut::Target,
};
/// The rule of S14 repaired, and the known record as shipped.
const SHIPPED_SET: Rules = Rules { known_record: KnownRecord::DropsProposal, ..REPAIRED };
/// 2.1 to 2.7 below inter-broker protocol 2.7.
const KIP_320: Rules = Rules { truncation: Truncation::AsksOn, cuts_newer: false, ..REPAIRED };
const KIP_279: Rules = Rules { fence: Fence::None, asks_fenced: false, ..KIP_320 };
const KIP_101: Rules = Rules { truncation: Truncation::AsksOnce, marks: false, asks_v0: true, ..KIP_279 };

/// The rules of a variant by name.
#[must_use]
pub fn rules(variant: &str) -> Option<Rules> {
    Some(match variant {
        "high-watermark" => Rules { truncation: Truncation::HighWatermark, ..KIP_101 },
        "kip-101" => KIP_101,
        "kip-279" => KIP_279,
        "kip-320-first-try" => Rules { fence: Fence::Expected, ..KIP_279 },
        "kip-320" => KIP_320,
        "kip-320-below-ibp-2.0" => Rules { asks_v0: true, fence: Fence::None, asks_fenced: false, ..KIP_320 },
        "kafka-4.0" => Rules { reply: ReplyMatch::Offset, cuts_newer: false, remote: RemoteState::Kept, ..SHIPPED_SET },
        KAFKA => Rules { remote: RemoteState::Kept, ..SHIPPED_SET },
        "remote-state-forgotten" => Rules { remote: RemoteState::Forgotten, ..SHIPPED_SET },
        "future-replica-marked" => Rules { future: FutureReplica::Marked, ..REPAIRED },
        "future-replica-asks-once" => Rules { future: FutureReplica::AsksOnce, ..REPAIRED },
        "batch-base-after-cut" => Rules { batch_cut: BatchCut::Base, ..REPAIRED },
        RENEWED => SHIPPED_SET,
        ORACLE => REPAIRED,
        _ => return None,
    })
}
