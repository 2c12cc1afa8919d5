//! The rows of the matrix beside the eight of section 8: larger bounds, one dimension at a time, and every slip.
//!
//! Each larger bound is exhausted under the oracle, which has to hold there, and under the shipped rule where that is
//! about the dimension.

use fencepost_fixtures::variants::Release;

use super::bounds::Bounds;
use super::catalogue::List;
use super::mutant::Mutant;
use super::partitions::Topics;
use super::traces::ORACLE;
use crate::protocol::Tier::{Full, Smoke};

const ONE_TARGET: Bounds = Bounds { targets: 1, ..Bounds::BASE };
const ONE_PARTITION: Topics = Topics { t: 1, u: 0 };
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
            Bounds { fetches: 1, targets: 1, topics: ONE_PARTITION, ..Bounds::BASE },
        ),
        (
            Smoke,
            "transaction",
            "offsets travel with a producer",
            Bounds { transactions: 1, commits: 1, targets: 1, topics: ONE_PARTITION, ..Bounds::BASE },
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
            Bounds { fail_overs: 1, topics: ONE_PARTITION, targets: 1, ..Bounds::BASE },
        ),
    ];
    for variant in ["kafka-4.4", ORACLE] {
        for (tier, name, reason, bounds) in bounds {
            list.add(*tier, variant, Mutant::None, name, reason, *bounds);
        }
    }
    spent(list);
    faults(list);
    members(list);
    releases(list);
    clients(list);
}

/// The budget of the base, raised one number at a time.
fn spent(list: &mut List) {
    let base = Bounds::BASE;
    for variant in [ORACLE, "kafka-4.4"] {
        let mut add = |tier, name, reason, bounds| list.add(tier, variant, Mutant::None, name, reason, bounds);
        add(
            Full,
            "two-commits",
            "a commit can overtake the one before it, whose member has moved on",
            Bounds { commits: 2, ..base },
        );
        add(
            Full,
            "three-partitions",
            "a member keeps one partition while two move",
            Bounds { topics: Topics { t: 3, u: 0 }, ..base },
        );
        add(
            Smoke,
            "three-members-one-target",
            "a partition can be waited for by two members",
            Bounds { members: 3, targets: 1, ..base },
        );
        add(
            Smoke,
            "three-targets-one-partition",
            "a partition comes back to a member that has not forgotten it",
            Bounds { targets: 3, topics: ONE_PARTITION, ..base },
        );
        add(Smoke, "grip", "the client's hold on a partition is followed", Bounds { grip: true, targets: 1, ..base });
        add(
            Full,
            "transaction-two-targets",
            "the producer's commit is late by two targets",
            Bounds { commits: 0, transactions: 1, ..base },
        );
    }
    let mut add = |name, reason, bounds| list.add(Full, ORACLE, Mutant::None, name, reason, bounds);
    add("three-commits", "the largest: three late commits of each consumer", Bounds { commits: 3, ..base });
    add("three-targets", "a revocation follows a revocation, twice", Bounds { targets: 3, ..base });
    add("three-members-without-commits", "three members, what moves alone", Bounds { members: 3, commits: 0, ..base });
    add("fail-over-two-targets", "a revocation is lost halfway", Bounds { fail_overs: 1, ..base });
}

/// Faults in pairs: a lost answer with a timer, timers with commits.
fn faults(list: &mut List) {
    let narrow = Bounds { topics: ONE_PARTITION, ..SMALL };
    let mut add = |tier, name, reason, bounds| list.add(tier, ORACLE, Mutant::None, name, reason, bounds);
    add(
        Smoke,
        "one-lost-answer-and-rebalance-timer",
        "who never hears what it is to give up, because an older heartbeat came last, is freed by the timer",
        Bounds { give_ups: 1, rebalances: 1, ..narrow },
    );
    add(
        Full,
        "one-lost-answer-two-targets",
        "an older heartbeat reports what is not the member's any more",
        Bounds { give_ups: 1, targets: 2, ..narrow },
    );
    add(Full, "two-lost-answers", "each client gives up twice", Bounds { give_ups: 2, ..narrow });
    add(
        Smoke,
        "rebalance-timer-two-targets",
        "the timer runs out for a member that is only slow",
        Bounds { rebalances: 1, targets: 2, ..SMALL },
    );
    add(
        Smoke,
        "session-timer-and-commit",
        "a commit of a member that is gone",
        Bounds { sessions: 1, commits: 1, ..narrow },
    );
    add(
        Full,
        "leave-and-return-and-commit",
        "a commit is older than its member's return",
        Bounds { leaves: 1, returns: 1, commits: 1, ..narrow },
    );
    add(
        Smoke,
        "session-timer-and-fetch",
        "a fetch of a member that is gone, or that has moved on",
        Bounds { sessions: 1, fetches: 1, ..narrow },
    );
}

/// What members do of their own accord: static ones that restart, subscriptions that change, a group that is full.
fn members(list: &mut List) {
    let narrow = Bounds { topics: ONE_PARTITION, ..SMALL };
    let mut add = |tier, name, reason, bounds| list.add(tier, ORACLE, Mutant::None, name, reason, bounds);
    add(
        Smoke,
        "full-group",
        "a group of two turns the third away; a client does not recover from that, so L5 fails for one that was never in",
        Bounds { members: 3, outside: 1, max_size: 2, ..narrow },
    );
    add(
        Full,
        "two-static-members",
        "both restart under another id, and timers run out (H5: L5 fails)",
        Bounds { statics: 3, leaves: 1, restarts: 1, sessions: 1, ..narrow },
    );
    add(
        Smoke,
        "static-leave-and-lost-answer",
        "a heartbeat comes after the leave for a while (H5: L5 fails)",
        Bounds { statics: 1, leaves: 1, give_ups: 1, targets: 0, ..narrow },
    );
    add(
        Smoke,
        "static-leave-and-rebalance-timer",
        "the rebalance timer of a member that has left for a while",
        Bounds { statics: 1, leaves: 1, rebalances: 1, ..narrow },
    );
    add(
        Full,
        "smaller-subscription-and-lost-answer",
        "a subscription shrinks while an older heartbeat is still on its way",
        Bounds { topics: Topics { t: 1, u: 1 }, subscriptions: 1, give_ups: 1, ..SMALL },
    );
    add(
        Smoke,
        "alone-with-smaller-subscription",
        "one member, whose subscription shrinks before it has taken what it was granted; an older join gives it back at \
         the same target epoch, so that S6 fails",
        Bounds {
            members: 1,
            outside: 1,
            topics: Topics { t: 1, u: 1 },
            targets: 0,
            subscriptions: 1,
            give_ups: 1,
            interval: true,
            assign_step: true,
            ..SMALL
        },
    );
    add(
        Smoke,
        "two-subscriptions-and-interval",
        "a subscription changes back while the target waits: what was given up comes back at the same epoch (S6)",
        Bounds { topics: Topics { t: 1, u: 1 }, subscriptions: 2, interval: true, targets: 0, commits: 1, ..SMALL },
    );
    add(
        Smoke,
        "static-restart-and-lost-answer",
        "a heartbeat of the id that a static member had before (H5: L5 fails)",
        Bounds { statics: 1, leaves: 1, restarts: 1, give_ups: 1, targets: 0, ..narrow },
    );
    add(
        Smoke,
        "two-subscriptions",
        "a subscription changes back",
        Bounds { topics: Topics { t: 1, u: 1 }, subscriptions: 2, ..SMALL },
    );
}

/// Other releases: one that takes over, and what older ones do alone.
fn releases(list: &mut List) {
    let upgrade = Bounds { other: Some(Release::V4_2), fail_overs: 2, targets: 1, ..Bounds::BASE };
    let reason =
        "a broker of 4.2 takes over and hands back: records without assignment epochs, and the strict check again";
    list.add(Smoke, ORACLE, Mutant::None, "rollback", reason, Bounds { topics: ONE_PARTITION, ..upgrade });
    list.add(Smoke, "kafka-4.4", Mutant::None, "rollback", reason, upgrade);
    list.add(
        Smoke,
        "kafka-4.3",
        Mutant::None,
        "transaction",
        "before KIP-1319 a stale transactional commit has a classic error",
        Bounds { transactions: 1, commits: 0, topics: ONE_PARTITION, ..ONE_TARGET },
    );
    list.add(
        Smoke,
        "kafka-4.3",
        Mutant::None,
        "smaller-subscription",
        "a subscription shrinks while a target waits for the interval (H2)",
        Bounds { topics: Topics { t: 1, u: 1 }, subscriptions: 1, interval: true, ..ONE_TARGET },
    );
    list.add(
        Smoke,
        "kafka-4.0",
        Mutant::None,
        "session-timer-and-lost-answer",
        "KAFKA-19233: a client that was removed, and whose join is not answered, can't join again",
        Bounds { sessions: 1, give_ups: 1, targets: 0, topics: ONE_PARTITION, ..SMALL },
    );
}

/// The client rules that KIP-1251 rejected (5): with no answer lost, and with one lost.
fn clients(list: &mut List) {
    let base = Bounds { answers: true, ..ONE_TARGET };
    for variant in ["client-exclusion", "client-listener"] {
        let mut add = |name, reason, bounds| list.add(Smoke, variant, Mutant::None, name, reason, bounds);
        add("no-answer-lost", "what the rule promises where every answer comes", base);
        add("one-commit-answer-lost", "a client gives up one commit", Bounds { commit_give_ups: 1, ..base });
        add(
            "one-lost-answer",
            "a client gives up one heartbeat",
            Bounds { give_ups: 1, topics: ONE_PARTITION, ..base },
        );
    }
    list.add(
        Smoke,
        "client-exclusion",
        Mutant::None,
        "one-lost-answer-two-partitions",
        "a heartbeat that was given up raises the epoch behind a commit",
        Bounds { give_ups: 1, ..base },
    );
    list.add(
        Smoke,
        "client-listener",
        Mutant::RetryAnywhere,
        "no-answer-lost",
        "H3: a retry that is stamped anew, for a partition that is another's",
        Bounds { topics: ONE_PARTITION, ..base },
    );
}

/// Every slip that some bounds show, in the smallest of them.
pub(super) fn mutants(list: &mut List) {
    for (mutant, name, bounds) in slips() {
        // What the oracle refuses all the same shows under the shipped rule.
        let shipped = matches!(mutant, Mutant::UnreleasedEarly | Mutant::CommitsUnowned);
        let variant = if shipped { "kafka-4.4" } else { ORACLE };
        list.add(Smoke, variant, mutant, name, "the smallest bounds that show the slip", bounds);
    }
}

fn slips() -> Vec<(Mutant, &'static str, Bounds)> {
    let narrow = Bounds { topics: ONE_PARTITION, ..ONE_TARGET };
    let still = Bounds { targets: 0, commits: 0, ..narrow };
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
        (Mutant::RegrantForgetsOwner, ("three-targets-one-partition", Bounds { targets: 3, commits: 0, ..narrow })),
        (Mutant::UnreleasedEarly, ("two-members-one-target", ONE_TARGET)),
        (Mutant::RemovalSilent, ("crash", Bounds { crashes: 1, sessions: 1, ..still })),
        (Mutant::StaticLeaveKeepsPending, ("static-leave", Bounds { statics: 1, leaves: 1, commits: 0, ..narrow })),
        (Mutant::TimersNotArmed, lost_session),
        (Mutant::FetchRelaxed, ("fetch-two-targets", Bounds { fetches: 1, commits: 0, ..Bounds::BASE })),
        (Mutant::LoadsZero, ("rollback", Bounds { fail_overs: 2, other: Some(Release::V4_2), commits: 0, ..narrow })),
        (Mutant::CommitsUnowned, ("no-target", Bounds { commits: 1, ..still })),
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
