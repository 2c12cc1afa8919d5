//! A configuration: the rules, the slip if any, and how much of each kind of thing may happen.
//!
//! Most bounds need no counter in the state: the log's end bounds the writes, and the clock's reading bounds the ticks.

use fencepost_fixtures::variants::CompactionRules;

use super::mutant::Mutant;

/// The most keys that a configuration can have.
pub const MAX_KEYS: usize = 3;
/// The most producers with an id that a configuration can have.
pub const MAX_PRODUCERS: usize = 2;

/// How finely a round is cut into steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grain {
    /// A round is one step.
    Atomic,
    /// Start, map, each group with its swap, and checkpoint are steps.
    Steps,
}

/// How much a consumer may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// What is below the high watermark.
    ReadUncommitted,
    /// What is below the last stable offset, without what was aborted.
    ReadCommitted,
}

/// How often each kind of thing may happen in a behaviour, and between what a choice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each says whether one kind of thing happens at all")]
pub struct Bounds {
    /// Where the log ends at most: nothing is appended at this offset or above.
    pub offsets: u8,
    /// Keys.
    pub keys: u8,
    /// How many of the keys can be deleted, from the first.
    pub deletable: u8,
    /// Whether values are written.
    pub values: bool,
    /// Whether a writer without an id writes.
    pub plain: bool,
    /// Producers with an id.
    pub producers: u8,
    /// Whether their batches are not transactional.
    pub idempotent: bool,
    /// Whether a transaction may end that wrote nothing here.
    pub empty_transactions: bool,
    /// The transaction protocol: 1, or 2 whose markers carry the next epoch.
    pub protocol: u8,
    /// Whether a plain batch may have two records, of the first two keys.
    pub pairs: bool,
    /// Whether records without a key are written.
    pub unkeyed: bool,
    /// Whether a client may send a tombstone with a horizon of its own (N6).
    pub client_horizons: bool,
    /// How often a segment is closed.
    pub rolls: u8,
    /// Whether raising the high watermark is a step; else it follows the log's end.
    pub lagging: bool,
    /// What the clock shows last; it begins at 1.
    pub clock: u8,
    /// `delete.retention.ms`.
    pub retention: u8,
    /// What `delete.retention.ms` may become, if anything.
    pub altered: Option<u8>,
    /// `min.compaction.lag.ms`.
    pub min_lag: u8,
    /// `max.compaction.lag.ms`, if it is set. Like [`patience`](Self::patience) it is for one replica: a follower would
    /// need its leader's times.
    pub max_lag: Option<u8>,
    /// `min.cleanable.dirty.ratio`, in per cent.
    pub dirty_percent: u8,
    /// How many batches of the other log are dirty at most; 0 where there is none (2.1).
    pub other: u8,
    /// How often the other log is written to; without end where nothing is said.
    pub other_writes: Option<u8>,
    /// After how long L7 misses the round of a record in a closed segment, where it is asked.
    pub patience: Option<u8>,
    /// The fewest entries that an offset map holds.
    pub map_least: u8,
    /// The most that it holds. A round chooses between the two.
    pub map_most: u8,
    /// How many batches an output segment takes: what fits into one is merged.
    pub capacity: u8,
    /// Whether each batch has an index entry, so that mapping begins at the first dirty offset; else it begins with the
    /// segment.
    pub indexed: bool,
    /// How finely a round is cut.
    pub grain: Grain,
    /// Whether a round in steps may be aborted.
    pub aborts: bool,
    /// Whether the broker may crash, and lose no more than what was in memory. With steps: also within a swap.
    pub crashes: bool,
    /// Whether a crash may lose the snapshots of producers, so that they are replayed from the log.
    pub replays: bool,
    /// How often the log is truncated.
    pub truncations: u8,
    /// How often an unclean start loses the end of the log.
    pub losses: u8,
    /// How often the topic's policy changes between compact and delete.
    pub policies: u8,
    /// How often the cleaner's checkpoint is lost.
    pub forgets: u8,
    /// After how long a producer that writes nothing is forgotten.
    pub expiry: Option<u8>,
    /// Whether the policy is compact and delete, so that the oldest segment may go.
    pub deletes: bool,
    /// Whether records may be deleted up to any offset below the high watermark, and not by whole segments alone.
    pub deletes_records: bool,
    /// The consumer, if there is one.
    pub reader: Option<Isolation>,
    /// Replicas: 1 or 2.
    pub replicas: u8,
    /// Whether the second replica has a cleaner, a clock and closes segments of its own.
    pub follower_cleans: bool,
    /// Whether the leadership may move to the second replica.
    pub elects: bool,
    /// Whether it is followed how long tombstones and markers stay, for L2 and L4.
    pub watch: bool,
    /// Whether S18 is asked of every state: a round with nothing to map is tried out.
    pub idempotence: bool,
}

impl Bounds {
    /// One key, a writer without an id, one closed segment, a map that never fills, rounds of one step.
    pub const BASE: Self = Self {
        offsets: 4,
        keys: 1,
        deletable: 1,
        values: true,
        plain: true,
        producers: 0,
        idempotent: false,
        empty_transactions: false,
        protocol: 2,
        pairs: false,
        unkeyed: false,
        client_horizons: false,
        rolls: 2,
        lagging: false,
        clock: 4,
        retention: 2,
        altered: None,
        min_lag: 0,
        max_lag: None,
        dirty_percent: 0,
        other: 0,
        other_writes: None,
        patience: None,
        map_least: 3,
        map_most: 3,
        capacity: 1,
        indexed: true,
        grain: Grain::Atomic,
        aborts: false,
        crashes: false,
        replays: false,
        truncations: 0,
        losses: 0,
        policies: 0,
        forgets: 0,
        expiry: None,
        deletes: false,
        deletes_records: false,
        reader: None,
        replicas: 1,
        follower_cleans: false,
        elects: false,
        watch: false,
        idempotence: false,
    };

    /// Whether somebody asks when a record was written.
    #[must_use]
    pub fn asks_for_times(&self) -> bool {
        self.max_lag.is_some() || self.patience.is_some()
    }

    /// Two keys, the second of which is only written; a map of one entry, which fills.
    pub const PARTIAL: Self = Self { map_least: 1, map_most: 1, ..Self::BASE };

    /// One transactional producer beside the plain writer.
    pub const TRANSACTION: Self = Self { producers: 1, offsets: 5, ..Self::BASE };
}

/// The rules, the slip if any, and the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The rule set.
    pub rules: CompactionRules,
    /// The slip.
    pub mutant: Mutant,
    /// The bounds.
    pub bounds: Bounds,
}
