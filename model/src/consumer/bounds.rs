//! A configuration: the rules, the slip if any, where a behaviour begins, and how much of each kind of thing may happen.

use super::log::{Epoch, Offset, UNDEFINED};
use super::message::{MAX_BROKERS, NOBODY, Spec, Target};
use super::mutant::Mutant;
use super::rules::Rules;

/// Where a behaviour begins: after the setup that its trace has. A leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The epoch in which A leads.
    pub epoch: Epoch,
    /// How many records of that epoch each broker has. A has the most.
    pub ends: [u8; MAX_BROKERS],
    /// Whether A is the only in-sync replica.
    pub alone: bool,
    /// A's high watermark, where it is not.
    pub high: u8,
    /// How many records the consumer has read.
    pub read: u8,
    /// What the group has committed, if the consumer has not read yet: offset and epoch.
    pub committed: Option<(Offset, Epoch)>,
    /// What the application has stored outside of Kafka, in the same way; it has not sought there yet.
    pub stored: Option<(Offset, Epoch)>,
}

/// Which offset a consumer commits or stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commits {
    /// Offset and epoch.
    Pair,
    /// The offset alone (KAFKA-19902).
    OffsetAlone,
}

/// How often each kind of thing may happen in a behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each says whether one kind of thing happens at all")]
pub struct Bounds {
    /// Brokers: 2 or 3.
    pub brokers: u8,
    /// Where a behaviour begins.
    pub start: Start,
    /// `auto.offset.reset`.
    pub reset: Option<Spec>,
    /// `isolation.level=read_committed`.
    pub read_committed: bool,
    /// Records carry no epoch, and no broker has an epoch cache.
    pub old_format: bool,
    /// The brokers' `OffsetsForLeaderEpoch` is below version 3.
    pub old_brokers: bool,
    /// The follower that the leader sends the consumer to; [`NOBODY`] for none.
    pub preferred: u8,
    /// Clean elections.
    pub clean: u8,
    /// Unclean elections.
    pub unclean: u8,
    /// Who may be elected uncleanly, a bit each.
    pub elected: u8,
    /// Whether a broker hears of its election later than it happens.
    pub late_hearing: bool,
    /// How often each broker takes over what the leader has.
    pub follows: [u8; MAX_BROKERS],
    /// How many batches each broker may append.
    pub appends: [u8; MAX_BROKERS],
    /// How many records a batch has.
    pub batch: u8,
    /// Where a log ends at most.
    pub offsets: u8,
    /// How often the topic is created anew: 0 or 1.
    pub recreations: u8,
    /// Transactions: 0 or 1.
    pub transactions: u8,
    /// How often the consumer hears who leads.
    pub metadata: u8,
    /// How often it hears who led once.
    pub stale: u8,
    /// How often waits run out.
    pub elapses: u8,
    /// How often a connection is lost.
    pub fails: u8,
    /// How often the application seeks.
    pub seeks: u8,
    /// Where to.
    pub targets: &'static [Target],
    /// How often it commits, or stores its position.
    pub commits: u8,
    /// What it commits.
    pub committed: Commits,
    /// How often it restarts.
    pub restarts: u8,
    /// Whether the records that were missed or read twice are counted.
    pub counts: bool,
    /// Whether metadata are messages: for the comparison with `ActorModel`, whose actors see their own state only.
    pub told_by_message: bool,
}

impl Bounds {
    /// Two brokers; the consumer has read the one record that there is.
    pub const BASE: Self = Self {
        brokers: 2,
        start: Start { epoch: 0, ends: [1, 1, 0], alone: true, high: 1, read: 1, committed: None, stored: None },
        reset: Some(Spec::Earliest),
        read_committed: false,
        old_format: false,
        old_brokers: false,
        preferred: NOBODY,
        clean: 0,
        unclean: 1,
        elected: 0b111,
        late_hearing: false,
        follows: [0; MAX_BROKERS],
        appends: [1, 1, 0],
        batch: 1,
        offsets: 8,
        recreations: 0,
        transactions: 0,
        metadata: 1,
        stale: 0,
        elapses: 2,
        fails: 0,
        seeks: 0,
        targets: &[],
        commits: 0,
        committed: Commits::Pair,
        restarts: 0,
        counts: false,
        told_by_message: false,
    };

    /// Whether the consumer has been assigned the partition, but has read nothing.
    #[must_use]
    pub fn starts_unread(&self) -> bool {
        self.start.read == 0
    }

    /// The position of the start, as far as reading made it.
    #[must_use]
    pub fn read_up_to(&self) -> Offset {
        self.start.read.cast_signed()
    }

    /// The epoch that a client sees of records that have `epoch`.
    #[must_use]
    pub fn visible(&self, epoch: Epoch) -> Epoch {
        if self.old_format { UNDEFINED } else { epoch }
    }
}

/// The rules, the slip, and the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The variant's name.
    pub variant: &'static str,
    /// Its rules.
    pub rules: Rules,
    /// The slip.
    pub mutant: Mutant,
    /// The bounds.
    pub bounds: Bounds,
}

impl Setting {
    /// Whether requests carry the leader epoch that the client knows: what old brokers say of it is not reliable.
    #[must_use]
    pub fn fenced(&self) -> bool {
        self.rules.fenced && !self.bounds.old_brokers
    }

    /// Whether the configuration has this slip.
    #[must_use]
    pub fn has(&self, mutant: Mutant) -> bool {
        self.mutant == mutant
    }
}
