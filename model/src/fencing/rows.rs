//! The rows of the matrix beside the eight of section 8: larger bounds, one dimension at a time, and every slip.
//!
//! Each larger bound is exhausted under the oracle, which has to hold there, and under the shipped rule where that is
//! about the dimension.

use super::bounds::Bounds;
use super::catalogue::List;
use super::mutant::Mutant;
use super::partitions::Topics;
use super::traces::ORACLE;
use crate::protocol::Tier::Smoke;

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
            Bounds { topics: Topics { t: 1, u: 1 }, targets: 1, subscriptions: 1, interval: true, ..Bounds::BASE },
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
    ];
    for variant in ["kafka-4.4", ORACLE] {
        for (tier, name, reason, bounds) in bounds {
            list.add(*tier, variant, Mutant::None, name, reason, *bounds);
        }
    }
}

/// Every slip that some bounds show, in the smallest of them.
pub(super) fn mutants(list: &mut List) {
    for (mutant, name, bounds) in slips() {
        list.add(Smoke, ORACLE, mutant, name, "the smallest bounds that show the slip", bounds);
    }
}

fn slips() -> Vec<(Mutant, &'static str, Bounds)> {
    let narrow = Bounds { topics: Topics { t: 1, u: 0 }, targets: 1, ..Bounds::BASE };
    let fetch = ("fetch", Bounds { fetches: 1, ..narrow });
    let transaction = ("transaction", Bounds { transactions: 1, fetches: 1, ..narrow });
    let fail_over = ("fail-over", Bounds { fail_overs: 1, ..narrow });
    let lost_session = (
        "fail-over-and-session-timer",
        Bounds { fail_overs: 1, crashes: 1, sessions: 1, targets: 0, commits: 0, ..narrow },
    );
    let stuck = ("rebalance-timer", Bounds { rebalances: 1, stuck: true, commits: 0, ..Bounds::BASE });
    let shrink = (
        "smaller-subscription",
        Bounds { topics: Topics { t: 1, u: 1 }, targets: 1, subscriptions: 1, ..Bounds::BASE },
    );
    let crash = ("crash", Bounds { crashes: 1, sessions: 1, ..SMALL });
    let base = ("two-members-two-targets", Bounds::BASE);
    let session = ("session-timer", Bounds { sessions: 1, ..ONE_TARGET });
    let restart = ("static-restart", Bounds { statics: 1, restarts: 1, leaves: 1, ..ONE_TARGET });
    let wide = ("wide-commits", Bounds { wide_commits: true, answers: true, ..ONE_TARGET });
    [
        (Mutant::AckMissed, stuck),
        (Mutant::KeepUnsubscribed, shrink),
        (Mutant::RejoinFenced, lost_session),
        (Mutant::EmptyGroupLags, restart),
        (Mutant::MarkerWins, transaction),
        (Mutant::AnswersEarly, fail_over),
        (Mutant::GrantsAtOnce, fetch),
        (Mutant::AbsentIsEmpty, fetch),
        (Mutant::RevokesAtOnce, fetch),
        (Mutant::PendingIsFree, fetch),
        (Mutant::KeepRenews, crash),
        (Mutant::GrantKeepsOld, base),
        (Mutant::PendingRenews, fetch),
        (Mutant::UnknownAccepted, session),
        (Mutant::NewerAccepted, restart),
        (Mutant::EpochIgnored, session),
        (Mutant::OwnershipIgnored, fetch),
        (Mutant::PendingRefused, session),
        (Mutant::OffByOne, session),
        (Mutant::PartialCommit, wide),
        (Mutant::ReplacedAccepted, restart),
        (Mutant::RebalanceRestarts, stuck),
        (Mutant::FetchIgnoresStaged, transaction),
        (Mutant::LoadForgets, fail_over),
        (Mutant::RefusalBumps, lost_session),
    ]
    .map(|(mutant, (name, bounds))| (mutant, name, bounds))
    .to_vec()
}
