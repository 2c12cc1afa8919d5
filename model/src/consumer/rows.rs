//! The rows of the matrix: each scenario with just the budget that it needs, under the variant or the slip that it breaks,
//! and under the rules that it does not.

use super::bounds::{Bounds, Commits, Start};
use super::catalogue::{List, ORACLE};
use super::log::UNDEFINED;
use super::message::Target;
use super::mutant::Mutant;
use super::rules::KIP_320;
use crate::protocol::Tier::{self, Full, Smoke};

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&'static str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }

    /// A slip of `variant`, and the variant without it.
    fn slip(&mut self, variant: &'static str, slips: &[Mutant], name: &str, reason: &'static str, bounds: Bounds) {
        for mutant in slips {
            self.0.add(Smoke, variant, *mutant, name, reason, bounds);
        }
        self.add(Smoke, &[variant], name, reason, bounds);
    }
}

/// A has `a` records, B has `b`, and the consumer has read `read`.
const fn read(a: u8, b: u8, read: u8) -> Start {
    Start { epoch: 0, ends: [a, b, 0], alone: true, high: a, read, committed: None, stored: None }
}

/// Where the logs part, with or without the epoch; the beginning where that is not known.
const REACTS: &[Target] = &[Target::Beginning, Target::Divergence, Target::DivergenceOffset];

/// S20, S15 and S16.
const LOST: Bounds = Bounds { start: read(2, 1, 2), appends: [1, 2, 0], metadata: 2, stale: 1, ..Bounds::BASE };
const REPLACED: Bounds = Bounds { start: read(3, 1, 1), appends: [0, 1, 0], unclean: 2, metadata: 2, ..Bounds::BASE };
const LATE: Bounds = Bounds { appends: [1, 2, 0], metadata: 1, ..Bounds::BASE };

/// What the clients of today and of yesterday do.
pub(super) fn clients(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, "librdkafka", "franz-go", ORACLE],
        "lost-suffix",
        "S20: a leader is elected that lacks what the consumer has read, and writes; who led before goes on",
        LOST,
    );
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, "librdkafka", "franz-go", "leader-detects", "epoch-cache", "history-kept", ORACLE],
        "replaced-record",
        "S15: the leader after next has as many records of older epochs as the consumer has read",
        REPLACED,
    );
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, ORACLE],
        "late-fetch",
        "S16: records come after the position was validated at the next leader",
        LATE,
    );
    let told = Bounds { reset: None, seeks: 1, targets: REACTS, ..LOST };
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, ORACLE],
        "lost-suffix-no-policy",
        "S20 where the application wants to be told: it seeks to where the logs part, or goes on polling",
        told,
    );
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "replaced-record-no-policy",
        "S15 where the application wants to be told",
        Bounds { reset: None, seeks: 1, targets: REACTS, ..REPLACED },
    );
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "late-hearing",
        "the consumer hears of an election before the leader does; connections are lost, and waits run out",
        Bounds { late_hearing: true, fails: 1, elapses: 1, ..LOST },
    );
    let clean = Start { epoch: 0, ends: [2, 2, 0], alone: false, high: 1, read: 1, committed: None, stored: None };
    let clean = Bounds {
        start: clean,
        clean: 2,
        unclean: 0,
        follows: [1, 1, 0],
        appends: [1, 1, 0],
        metadata: 2,
        stale: 1,
        ..Bounds::BASE
    };
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, ORACLE],
        "clean-elections",
        "elections out of the in-sync replicas, with metadata that goes back",
        clean,
    );
    let replica = Start { epoch: 0, ends: [2, 1, 0], alone: false, high: 1, read: 1, committed: None, stored: None };
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "preferred-replica",
        "KIP-392: the leader sends the consumer to a follower, which lags; another one is elected",
        Bounds { start: replica, preferred: 1, clean: 1, unclean: 1, follows: [1, 1, 0], metadata: 2, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "preferred-replica-lags",
        "KIP-392: the follower that the consumer is sent to has less than it has read",
        Bounds { start: read(2, 1, 2), preferred: 1, follows: [0, 1, 0], appends: [1, 1, 0], ..Bounds::BASE },
    );
}

/// Positions with and without an epoch.
pub(super) fn positions(list: &mut List) {
    let mut rows = Rows(list);
    let unread = Bounds { start: Start { committed: Some((2, 0)), ..read(2, 1, 0) }, ..LOST };
    rows.add(
        Smoke,
        &["no-epoch", KIP_320, ORACLE],
        "committed-with-epoch",
        "5: a committed offset has its epoch",
        unread,
    );
    let alone = Bounds { start: Start { committed: Some((2, UNDEFINED)), ..read(2, 1, 0) }, ..unread };
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "committed-without-epoch",
        "KAFKA-19902: a committed offset without its epoch is not validated",
        alone,
    );
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "old-message-format",
        "records without epochs: nothing is validated",
        Bounds { old_format: true, ..LOST },
    );
    let stored =
        Bounds { start: Start { stored: Some((2, 0)), ..read(2, 1, 0) }, seeks: 1, targets: &[Target::Stored], ..LOST };
    rows.add(Smoke, &[KIP_320, ORACLE], "stored-with-epoch", "7f: the pair is stored outside of Kafka", stored);
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "stored-without-epoch",
        "7f: the offset alone is stored outside of Kafka, and sees nothing",
        Bounds { targets: &[Target::StoredOffset], ..stored },
    );
    rows.add(
        Smoke,
        &["seek-to-nearest", ORACLE],
        "stored-no-policy",
        "7g: an application that wants to be told seeks to the nearest place",
        Bounds { reset: None, targets: &[Target::Stored, Target::Nearest], ..stored },
    );
    let end = Bounds { start: read(2, 1, 0), targets: &[Target::End], metadata: 2, ..LOST };
    rows.add(
        Smoke,
        &["list-offsets-epoch", KIP_320, ORACLE],
        "log-end",
        "7h: the application seeks to the log's end, where it has read nothing, and that is truncated",
        end,
    );
    rows.add(
        Smoke,
        &["list-offsets-epoch", KIP_320, ORACLE],
        "log-end-no-policy",
        "7h without a policy: an offset out of range is an exception",
        Bounds { reset: None, ..end },
    );
    rows.slip(
        "list-offsets-epoch",
        &[Mutant::ListsCurrentEpoch],
        "log-start",
        "Redpanda #30101: the first offset is answered with the leader's epoch",
        Bounds { start: read(2, 1, 0), unclean: 2, metadata: 2, appends: [0, 1, 0], ..Bounds::BASE },
    );
    let seek = Bounds { seeks: 1, targets: &[Target::Offset(2)], metadata: 1, stale: 0, appends: [0, 2, 0], ..LOST };
    rows.add(
        Smoke,
        &["leader-detects", "leader-detects-not-after-seek", "epoch-cache", "history-kept", ORACLE],
        "seek-to-offset",
        "7b: the application seeks to an offset, and what was before it is truncated",
        seek,
    );
    rows.add(
        Smoke,
        &["leader-detects-not-after-seek", KIP_320, ORACLE],
        "seek-with-epoch",
        "2: the application seeks with the epoch",
        Bounds { targets: &[Target::Pair(2, 0)], ..seek },
    );
    let restart = Bounds { commits: 1, restarts: 1, metadata: 2, stale: 0, ..LOST };
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "restart-on-old-metadata",
        "2: a new process has a committed epoch, and hears first of an older leader",
        Bounds { start: read(1, 1, 1), metadata: 2, stale: 1, appends: [0, 2, 0], ..restart },
    );
    rows.add(Smoke, &[KIP_320, ORACLE], "restart", "5: the application commits, and starts anew", restart);
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "restart-without-epoch",
        "KAFKA-19902: it commits the offset alone",
        Bounds { committed: Commits::OffsetAlone, ..restart },
    );
}

/// What the thread of KIP-320 weighed for a divergence that one answer does not tell.
pub(super) fn divergence(list: &mut List) {
    let mut rows = Rows(list);
    let race = Bounds {
        brokers: 3,
        reset: None,
        start: Start { ends: [3, 2, 1], ..read(3, 2, 3) },
        unclean: 2,
        // A, which has the longest log, does not lead again: that would be S15, which no leader detects.
        elected: 0b110,
        appends: [0, 0, 2],
        metadata: 2,
        elapses: 0,
        ..Bounds::BASE
    };
    rows.add(
        Smoke,
        &["find-offsets", "find-offsets-and-cache"],
        "look-up-then-seek",
        "7e: the log is truncated again between the look-up and the first fetch, and written to",
        race,
    );
    let several = Bounds {
        brokers: 3,
        start: Start { epoch: 0, ends: [1, 1, 1], alone: true, high: 1, read: 1, committed: None, stored: None },
        unclean: 3,
        appends: [1, 2, 1],
        follows: [0, 1, 1],
        metadata: 3,
        ..Bounds::BASE
    };
    rows.add(
        Full,
        &["epoch-cache", ORACLE],
        "three-brokers",
        "the thread's example: two brokers that were not in sync are elected one after the other, and the third leads again",
        several,
    );
    let pair = Bounds { unclean: 3, appends: [2, 2, 0], metadata: 3, counts: true, elapses: 1, ..Bounds::BASE };
    rows.add(
        Full,
        &[
            "pair-first-larger-epoch",
            "pair-timestamp",
            "pair-earliest",
            "pair-latest",
            "epoch-cache",
            "history-kept",
            ORACLE,
        ],
        "several-truncations",
        "7: consecutive unclean elections, and what one pair, or the history, tells",
        pair,
    );
    rows.add(
        Full,
        &["epoch-cache", "history-kept", ORACLE],
        "several-truncations-and-restart",
        "7c, 7d: the same, and the application starts anew",
        Bounds { commits: 1, restarts: 1, unclean: 2, counts: false, ..pair },
    );
}

/// Topics that are created anew, and transactions.
pub(super) fn others(list: &mut List) {
    let mut rows = Rows(list);
    let anew = Bounds {
        start: read(2, 2, 2),
        unclean: 1,
        recreations: 1,
        appends: [2, 2, 0],
        metadata: 2,
        stale: 1,
        ..Bounds::BASE
    };
    rows.add(
        Smoke,
        &["leader-epoch-alone", "partition-epoch", KIP_320, "franz-go", ORACLE],
        "topic-created-anew",
        "8: the topic is deleted and created anew, and its leader epochs start again",
        anew,
    );
    rows.slip(
        KIP_320,
        &[Mutant::UndefinedIgnored, Mutant::FutureEpochEndsAtLogEnd],
        "epoch-of-the-deleted-topic",
        "KAFKA-9840, Redpanda #11864: the leader does not know so late an epoch",
        Bounds { start: Start { epoch: 2, ..read(2, 2, 2) }, unclean: 0, metadata: 1, stale: 0, ..anew },
    );
    let transaction = Bounds {
        read_committed: true,
        transactions: 1,
        appends: [0, 1, 0],
        metadata: 1,
        follows: [0, 1, 0],
        ..Bounds::BASE
    };
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "lost-marker",
        "KAFKA-20716: a marker is lost with a suffix of the log",
        transaction,
    );
    let synced = Start { epoch: 0, ends: [1, 1, 0], alone: false, high: 1, read: 1, committed: None, stored: None };
    rows.add(
        Smoke,
        &[KIP_320, ORACLE],
        "marker-and-clean-elections",
        "9: the same under clean elections",
        Bounds { start: synced, clean: 2, unclean: 0, follows: [1, 2, 0], metadata: 2, appends: [0; 3], ..transaction },
    );
}

/// The slips.
pub(super) fn slips(list: &mut List) {
    let mut rows = Rows(list);
    rows.slip(
        ORACLE,
        &[Mutant::ReplyAfterSeek],
        "answer-after-a-seek",
        "KAFKA-8429: the application seeks while it is asked where an epoch ends",
        Bounds {
            start: read(2, 1, 2),
            seeks: 1,
            targets: &[Target::Offset(1), Target::Beginning],
            appends: [0, 2, 0],
            ..Bounds::BASE
        },
    );
    rows.slip(
        ORACLE,
        &[Mutant::VersionIgnored, Mutant::OldBrokersAwait],
        "old-brokers",
        "KAFKA-8422, KAFKA-9724: brokers can't be asked where an epoch ends",
        Bounds { old_brokers: true, ..LOST },
    );
    rows.slip(
        ORACLE,
        &[Mutant::DivergentAsPosition],
        "where-the-logs-part",
        "KAFKA-10113: what the exception says",
        Bounds { reset: None, seeks: 1, targets: REACTS, metadata: 1, stale: 0, ..LOST },
    );
    rows.slip(
        ORACLE,
        &[Mutant::ResetHasPosition],
        "new-leader-during-a-reset",
        "KAFKA-10123: another leader while the position waits for an offset",
        Bounds { start: read(2, 1, 0), metadata: 2, ..LOST },
    );
    rows.slip(
        ORACLE,
        &[Mutant::EpochErrorThrown, Mutant::CurrentEpochAnswered, Mutant::FollowerAnswers],
        "epochs-at-odds",
        "a leader that does not know yet that it leads, and one that does not know that it does not",
        Bounds { late_hearing: true, start: read(2, 2, 1), appends: [1, 1, 0], metadata: 2, stale: 1, ..Bounds::BASE },
    );
}
