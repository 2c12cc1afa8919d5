//! The rows of the matrix beside the eight of section 8: larger bounds, one dimension at a time, and every slip.
//!
//! Each larger bound is exhausted under the oracle, which has to hold there, and under the shipped rule where that is
//! about the dimension.

use super::bounds::Bounds;
use super::catalogue::List;
use super::mutant::Mutant;
use super::partitions::Topics;
use super::traces::ORACLE;
use crate::protocol::Tier::{Full, Smoke};

const ONE_TARGET: Bounds = Bounds { targets: 1, ..Bounds::BASE };
const SMALL: Bounds = Bounds { targets: 1, commits: 0, ..Bounds::BASE };

/// Larger bounds, one dimension at a time.
pub(super) fn larger(list: &mut List) {
    let bounds: &[(_, &str, &str, Bounds)] = &[
        (
            Smoke,
            "one-lost-answer",
            "a client gives up one heartbeat and says everything in the next",
            Bounds { give_ups: 1, ..SMALL },
        ),
        (
            Smoke,
            "leave-and-return",
            "a member leaves, and comes back under the same id",
            Bounds { leaves: 1, returns: 1, ..SMALL },
        ),
        (
            Smoke,
            "session-timer",
            "a member is removed by its session timer while it lives",
            Bounds { sessions: 1, ..SMALL },
        ),
        (
            Smoke,
            "rebalance-timer",
            "a member is removed because it does not give up in time",
            Bounds { rebalances: 1, stuck: true, ..SMALL },
        ),
        (
            Smoke,
            "crash",
            "a member stops for ever, and its session timer removes it",
            Bounds { crashes: 1, sessions: 1, ..SMALL },
        ),
        (Smoke, "join-from-outside", "one member begins outside the group", Bounds { outside: 1, ..ONE_TARGET }),
        (
            Smoke,
            "smaller-subscription",
            "a subscription shrinks while a target waits for the interval",
            Bounds { topics: Topics { t: 1, u: 1 }, targets: 0, subscriptions: 1, interval: true, ..Bounds::BASE },
        ),
        (
            Smoke,
            "fetch",
            "the new owner reads the committed offset",
            Bounds { fetches: 1, targets: 1, topics: Topics { t: 1, u: 0 }, ..Bounds::BASE },
        ),
        (
            Smoke,
            "transaction",
            "offsets travel with a producer",
            Bounds { transactions: 1, commits: 1, targets: 1, topics: Topics { t: 1, u: 0 }, ..Bounds::BASE },
        ),
        (
            Smoke,
            "static-restart",
            "a static member leaves for a while and comes back under another id",
            Bounds { statics: 1, restarts: 1, leaves: 1, ..SMALL },
        ),
        (
            Smoke,
            "fail-over",
            "another broker takes over and loses what is above the high watermark",
            Bounds { fail_overs: 1, topics: Topics { t: 1, u: 0 }, targets: 1, ..Bounds::BASE },
        ),
        (Full, "two-commits", "two late commits a member", Bounds { commits: 2, ..Bounds::BASE }),
        (Full, "three-targets", "three changes of the target", Bounds { targets: 3, ..Bounds::BASE }),
        (Full, "three-partitions", "three partitions", Bounds { topics: Topics { t: 3, u: 0 }, ..Bounds::BASE }),
        (
            Full,
            "three-members",
            "three members, one change of the target",
            Bounds { members: 3, targets: 1, ..Bounds::BASE },
        ),
        (
            Full,
            "three-targets-two-commits",
            "two dimensions at once, the largest row",
            Bounds { targets: 3, commits: 2, ..Bounds::BASE },
        ),
    ];
    for variant in ["kafka-4.4", ORACLE] {
        for (tier, name, reason, bounds) in bounds {
            list.add(*tier, variant, Mutant::None, name, reason, *bounds);
        }
    }
}

/// Every slip, in the smallest bounds that show it.
pub(super) fn mutants(list: &mut List) {
    for mutant in Mutant::ALL.iter().filter(|mutant| **mutant != Mutant::None) {
        for (name, bounds) in candidates() {
            list.add(Smoke, ORACLE, *mutant, name, "a slip", bounds);
        }
    }
}

fn candidates() -> Vec<(&'static str, Bounds)> {
    vec![
        ("c-base", Bounds::BASE),
        ("c-lost", Bounds { give_ups: 1, ..ONE_TARGET }),
        ("c-leave", Bounds { leaves: 1, returns: 1, ..ONE_TARGET }),
        ("c-session", Bounds { sessions: 1, ..ONE_TARGET }),
        ("c-crash", Bounds { crashes: 1, sessions: 1, ..SMALL }),
        ("c-stuck", Bounds { rebalances: 1, stuck: true, ..Bounds { commits: 0, ..Bounds::BASE } }),
        ("c-shrink", Bounds { topics: Topics { t: 1, u: 1 }, targets: 1, subscriptions: 1, ..Bounds::BASE }),
        ("c-fetch", Bounds { fetches: 1, targets: 1, topics: Topics { t: 1, u: 0 }, ..Bounds::BASE }),
        ("c-txn", Bounds { transactions: 1, targets: 1, fetches: 1, topics: Topics { t: 1, u: 0 }, ..Bounds::BASE }),
        ("c-static", Bounds { statics: 1, restarts: 1, leaves: 1, ..ONE_TARGET }),
        ("c-failover", Bounds { fail_overs: 1, topics: Topics { t: 1, u: 0 }, targets: 1, ..Bounds::BASE }),
        (
            "c-failover-session",
            Bounds {
                fail_overs: 1,
                crashes: 1,
                sessions: 1,
                topics: Topics { t: 1, u: 0 },
                targets: 0,
                commits: 0,
                ..Bounds::BASE
            },
        ),
        ("c-wide", Bounds { wide_commits: true, answers: true, ..ONE_TARGET }),
        ("c-grip", Bounds { grip: true, ..Bounds::BASE }),
        (
            "c-other",
            Bounds {
                fail_overs: 1,
                other: Some(fencepost_fixtures::variants::Release::V4_2),
                topics: Topics { t: 1, u: 0 },
                targets: 1,
                ..Bounds::BASE
            },
        ),
    ]
}
