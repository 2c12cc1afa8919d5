//! A configuration: the rules, the slip if any, and how much of each kind of thing may happen.

use fencepost_fixtures::variants::{FencingRules, Release};

use super::mutant::Mutant;
use super::partitions::Topics;

/// The most members that a configuration can have, counting each id of a static member that restarts.
pub const MAX_SLOTS: usize = 4;

/// How often each kind of thing may happen in a behaviour. What is not budgeted (heartbeats, answers, reconciliations)
/// may happen for ever, and leads to finitely many states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Consumers.
    pub members: u8,
    /// Partitions.
    pub topics: Topics,
    /// Changes of the target.
    pub targets: u8,
    /// Commits of each consumer.
    pub commits: u8,
    /// Whether a commit takes all partitions that the consumer holds, instead of one.
    pub wide_commits: bool,
    /// Whether commits are answered. A free client does nothing about the answer, so it is left out where no
    /// property asks for it.
    pub answers: bool,
    /// How often each consumer stops waiting for a heartbeat's answer.
    pub give_ups: u8,
    /// How often each consumer stops waiting for a commit's answer.
    pub commit_give_ups: u8,
    /// Whether taking a new partition is a step of its own, after the answer that grants it.
    pub assign_step: bool,
    /// Offset fetches of each consumer.
    pub fetches: u8,
    /// Transactions of each consumer.
    pub transactions: u8,
    /// Fail-overs. Where there are some, answers wait for the high watermark.
    pub fail_overs: u8,
    /// Session timers that run out.
    pub sessions: u8,
    /// Rebalance timers that run out.
    pub rebalances: u8,
    /// How often each consumer leaves.
    pub leaves: u8,
    /// How often each consumer that left comes back under the same id.
    pub returns: u8,
    /// How often the first consumer stops for ever.
    pub crashes: u8,
    /// How often each static consumer starts again under another id.
    pub restarts: u8,
    /// Changes of the first consumer's subscription.
    pub subscriptions: u8,
    /// Whether a new target waits for the assignment interval.
    pub interval: bool,
    /// Which consumers are static, a bit each.
    pub statics: u8,
    /// How many consumers are not in the group at first. They join when they like.
    pub outside: u8,
    /// Whether the first consumer never gives anything up.
    pub stuck: bool,
    /// The release of the brokers that may take over, beside the first one's.
    pub other: Option<Release>,
    /// `group.consumer.max.size`, 0 for none.
    pub max_size: u8,
    /// Whether the client's hold on a partition is followed, for S4'.
    pub grip: bool,
}

impl Bounds {
    /// Two members, two partitions, two targets, one commit each: what exhibits everything in section 8's table.
    pub const BASE: Self = Self {
        members: 2,
        topics: Topics { t: 2, u: 0 },
        targets: 2,
        commits: 1,
        wide_commits: false,
        answers: false,
        give_ups: 0,
        commit_give_ups: 0,
        assign_step: false,
        fetches: 0,
        transactions: 0,
        fail_overs: 0,
        sessions: 0,
        rebalances: 0,
        leaves: 0,
        returns: 0,
        crashes: 0,
        restarts: 0,
        subscriptions: 0,
        interval: false,
        statics: 0,
        outside: 0,
        stuck: false,
        other: None,
        max_size: 0,
        grip: false,
    };

    /// The number of a consumer's member id after `restarts` restarts: a member id is a slot at the coordinator.
    #[must_use]
    pub fn slot(&self, consumer: u8, restarts: u8) -> u8 {
        consumer + self.members * restarts
    }

    /// The consumer that has the member id `slot`.
    #[must_use]
    pub fn consumer(&self, slot: u8) -> u8 {
        slot % self.members
    }

    /// How many member ids there are.
    #[must_use]
    pub fn slots(&self) -> u8 {
        self.members * (1 + self.restarts)
    }

    /// Whether a consumer is a static member.
    #[must_use]
    pub fn is_static(&self, consumer: u8) -> bool {
        self.statics >> consumer & 1 == 1
    }

    /// Whether offsets are part of the state: where nobody reads them and none can be lost, they are not.
    #[must_use]
    pub fn tracks_offsets(&self) -> bool {
        self.fetches > 0 || self.transactions > 0 || self.fail_overs > 0 || self.wide_commits
    }
}

/// The rules, the slip if any, and the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The rule set.
    pub rules: FencingRules,
    /// The slip.
    pub mutant: Mutant,
    /// The bounds.
    pub bounds: Bounds,
}
