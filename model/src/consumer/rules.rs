//! What each variant does: the rows in which the rules of `docs/consumers.md` differ.

/// How a position is checked against a new leader (3, 7a to 7c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Not at all.
    None,
    /// By `OffsetsForLeaderEpoch`, when the client hears of another leader or leader epoch.
    Validation,
    /// By the leader, at each fetch: the request carries the epoch of the record before the offset (KIP-320's drafts).
    Leader,
    /// The same; but a fetch after a seek to an offset carries no epoch (July 2018).
    LeaderNotAfterSeek,
}

/// What an answer to the question for an epoch's end must say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// The end is not below the position (the clients of today).
    EndAlone,
    /// And the epoch is the one that was asked for.
    EpochAndEnd,
}

/// What becomes of a position whose divergence one pair of epoch and offset does not tell: the epoch of the answer is
/// not the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnePair {
    /// Where the epoch of the answer ends, if that is below the position; else as if nothing were known.
    EndOffset,
    /// Where the leader's first larger epoch starts.
    FirstLargerEpoch,
    /// Where the leader's first record is that is not older than the last one read.
    Timestamp,
    /// The beginning.
    Earliest,
    /// The high watermark.
    Latest,
}

/// Where a consumer with a policy goes when its log was truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truncated {
    /// Where the logs part, as far as the answer tells.
    ToEnd,
    /// Where `auto.offset.reset` says.
    ByPolicy,
}

/// What the client remembers of the epochs that it read (7c, 7d).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum History {
    /// The epoch of its position.
    OnePair,
    /// Each epoch with the first offset that it read of it, until it restarts.
    Cache,
    /// The same; the application keeps it with its committed offset.
    Kept,
}

/// What tells a topic from one of the same name (8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Nothing: leader epochs alone are compared.
    LeaderEpoch,
    /// The topic's id, in metadata and in fetches; a position outlives its topic.
    IdOfMetadata,
    /// The topic's id, which a position carries, and a committed offset too.
    Id,
    /// An epoch of the partition, which only rises and is compared before the leader epoch (KIP-232).
    PartitionEpoch,
}

/// The rules of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a row in which variants differ")]
pub struct Rules {
    /// Whether requests carry the leader epoch that the client knows, and metadata that goes back is passed over.
    pub fenced: bool,
    /// How a position is checked.
    pub detection: Detection,
    /// What an answer must say.
    pub check: Check,
    /// Whether records are taken only if the position still has the leader epoch of the request.
    pub late_fetch_checked: bool,
    /// Whether an undefined answer means that nothing can be told, and the position stays.
    pub undefined_is_fine: bool,
    /// Where a truncated consumer with a policy goes.
    pub truncated: Truncated,
    /// Whether an epoch that was committed counts as seen although no metadata came before.
    pub committed_is_seen: bool,
    /// What is remembered.
    pub history: History,
    /// Whether the application looks an offset up, and seeks to it.
    pub finds_offsets: bool,
    /// Whether the application seeks to the nearest place.
    pub seeks_nearest: bool,
    /// Whether a position that `ListOffsets` gave has the epoch of its answer.
    pub listed_epoch: bool,
    /// What tells topics apart.
    pub identity: Identity,
    /// What is done where one pair does not tell.
    pub one_pair: OnePair,
}

/// The name of the variant against which the others are held.
pub const ORACLE: &str = "strict";
/// The Java client.
pub const KIP_320: &str = "kip-320";

const STRICT: Rules = Rules {
    fenced: true,
    detection: Detection::Validation,
    check: Check::EpochAndEnd,
    late_fetch_checked: true,
    undefined_is_fine: false,
    truncated: Truncated::ToEnd,
    committed_is_seen: true,
    history: History::OnePair,
    finds_offsets: false,
    seeks_nearest: false,
    listed_epoch: false,
    identity: Identity::Id,
    one_pair: OnePair::EndOffset,
};

const JAVA: Rules = Rules {
    check: Check::EndAlone,
    late_fetch_checked: false,
    identity: Identity::IdOfMetadata,
    committed_is_seen: false,
    ..STRICT
};

const LEADER_DETECTS: Rules = Rules { detection: Detection::Leader, ..STRICT };
const NOT_AFTER_SEEK: Rules = Rules { detection: Detection::LeaderNotAfterSeek, ..STRICT };

/// The rules of a variant by its name.
#[must_use]
pub fn rules(variant: &str) -> Option<Rules> {
    Some(match variant {
        "no-epoch" => Rules { fenced: false, detection: Detection::None, identity: Identity::LeaderEpoch, ..JAVA },
        KIP_320 => JAVA,
        "librdkafka" => Rules { truncated: Truncated::ByPolicy, ..JAVA },
        ORACLE => STRICT,
        "franz-go" => Rules { undefined_is_fine: true, late_fetch_checked: true, listed_epoch: true, ..JAVA },
        "leader-detects" => LEADER_DETECTS,
        "leader-detects-not-after-seek" => NOT_AFTER_SEEK,
        "epoch-cache" => Rules { history: History::Cache, ..LEADER_DETECTS },
        "history-kept" => Rules { history: History::Kept, ..STRICT },
        "find-offsets" => Rules { finds_offsets: true, ..NOT_AFTER_SEEK },
        "find-offsets-and-cache" => Rules { finds_offsets: true, history: History::Cache, ..LEADER_DETECTS },
        "seek-to-nearest" => Rules { seeks_nearest: true, ..STRICT },
        "list-offsets-epoch" => Rules { listed_epoch: true, ..STRICT },
        "leader-epoch-alone" => Rules { identity: Identity::LeaderEpoch, ..STRICT },
        "partition-epoch" => Rules { identity: Identity::PartitionEpoch, ..STRICT },
        "pair-first-larger-epoch" => Rules { one_pair: OnePair::FirstLargerEpoch, ..STRICT },
        "pair-timestamp" => Rules { one_pair: OnePair::Timestamp, ..STRICT },
        "pair-earliest" => Rules { one_pair: OnePair::Earliest, ..STRICT },
        "pair-latest" => Rules { one_pair: OnePair::Latest, ..STRICT },
        _ => return None,
    })
}

impl Rules {
    /// Whether the leader sees truncations.
    #[must_use]
    pub fn leader_detects(&self) -> bool {
        matches!(self.detection, Detection::Leader | Detection::LeaderNotAfterSeek)
    }
}
