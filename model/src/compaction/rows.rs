//! The rows of the matrix: each finding under Kafka's rule and under its repair, what a crash does, the rule before
//! KIP-534, the rejected designs, and larger bounds. The slips stand in [`slips`](super::slips).

use super::bounds::{Bounds, Grain, Isolation};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use crate::protocol::Tier::{self, Full, Smoke};

pub(super) const READER: Option<Isolation> = Some(Isolation::ReadCommitted);
const KAFKA: &str = "kafka-4.4";
const MTIME: &str = "segment-mtime";

const LONG_ROUND: &str = "N3: time passes, and a consumer reads, between the start of a round and its swap";

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }
}

/// N1 to N6: Kafka's rule, and the repair.
pub(super) fn findings(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n1", "repaired-n3", ORACLE],
        "early-stamp",
        "N1: a map of one ends below a tombstone of the same segment",
        Bounds { reader: READER, offsets: 2, clock: 3, rolls: 1, ..Bounds::PARTIAL },
    );
    let stale = Bounds { map_least: 1, map_most: 1, offsets: 5, clock: 3, rolls: 1, ..Bounds::TRANSACTION };
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n2", ORACLE],
        "stale-abort-entry",
        "N2: a map of one ends inside a segment, after an aborted transaction of the producer",
        stale,
    );
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n2", ORACLE],
        "stale-abort-entry-protocol-1",
        "N2 where the marker has the producer's epoch",
        Bounds { protocol: 1, ..stale },
    );
    rows.add(
        Smoke,
        &[KAFKA],
        "stale-abort-entry-sparse-index",
        "N2 does not come about where the index has no entry for the first dirty offset",
        Bounds { indexed: false, ..stale },
    );
    let long = Bounds { keys: 2, offsets: 3, clock: 3, grain: Grain::Steps, reader: READER, ..Bounds::BASE };
    rows.add(Smoke, &[KAFKA, "repaired-n3"], "long-round", LONG_ROUND, long);
    rows.add(Full, &["repaired-n1", ORACLE], "long-round", LONG_ROUND, long);
    rows.add(
        Smoke,
        &[KAFKA, "horizon-makes-dirty", ORACLE],
        "idle",
        "N4: nothing is written any more, and a horizon passes",
        Bounds { offsets: 3, rolls: 1, clock: 3, watch: true, ..Bounds::TRANSACTION },
    );
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n5", ORACLE],
        "emptied-marker",
        "N5: the marker stands for its producer, and is emptied; producers are replayed",
        Bounds {
            crashes: true,
            replays: true,
            deletable: 0,
            offsets: 6,
            rolls: 1,
            retention: 1,
            clock: 2,
            map_least: 1,
            map_most: 1,
            ..Bounds::TRANSACTION
        },
    );
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n6", ORACLE],
        "client-horizon",
        "N6: a client writes a horizon that has passed",
        Bounds { client_horizons: true, reader: READER, offsets: 2, clock: 3, ..Bounds::BASE },
    );
}

/// N8 and the divergence of replicas.
pub(super) fn cuts(list: &mut List) {
    let mut rows = Rows(list);
    let cut = Bounds { keys: 2, offsets: 3, clock: 3, truncations: 1, policies: 2, ..Bounds::BASE };
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n8", ORACLE],
        "policy-and-truncation",
        "N8: the log is truncated while its policy is delete",
        cut,
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "truncation",
        "the policy stays compact: the checkpoint is lowered",
        Bounds { policies: 0, ..cut },
    );
    rows.add(
        Smoke,
        &[KAFKA, "repaired-n8", ORACLE],
        "lost-end",
        "N8: an unclean start loses the end of the log, which then grows past the checkpoint",
        Bounds { truncations: 0, policies: 0, losses: 1, ..cut },
    );
    let away = Bounds { replicas: 2, elects: true, keys: 2, offsets: 3, retention: 1, clock: 2, ..Bounds::BASE };
    rows.add(
        Smoke,
        &[KAFKA, "repaired-replicas", ORACLE],
        "away-follower",
        "6.2: a follower misses a tombstone, and becomes leader",
        away,
    );
    rows.add(
        Full,
        &[KAFKA, "repaired-replicas", ORACLE],
        "away-follower-transactions",
        "6.2: a follower misses a marker, and becomes leader",
        Bounds { keys: 1, deletable: 0, producers: 1, offsets: 5, rolls: 1, map_least: 1, map_most: 1, ..away },
    );
}

/// What a crash or an abort between a swap and the checkpoint does where the map never fills, under both transaction
/// protocols; and truncation to the releases' rule of the last batch.
pub(super) fn questions(list: &mut List) {
    let mut rows = Rows(list);
    let steps = Bounds { grain: Grain::Steps, offsets: 4, clock: 3, ..Bounds::TRANSACTION };
    for (protocol, abort, crash, merged) in [
        (1, "abort-protocol-1", "crash-protocol-1", "crash-merged-protocol-1"),
        (2, "abort-protocol-2", "crash-protocol-2", "crash-merged-protocol-2"),
    ] {
        let steps = Bounds { protocol, ..steps };
        rows.add(
            Full,
            &[KAFKA, ORACLE],
            abort,
            "the map never fills; a round is aborted between a swap and the checkpoint",
            Bounds { aborts: true, ..steps },
        );
        rows.add(
            Full,
            &[KAFKA, ORACLE],
            crash,
            "the map never fills; a crash between any two file operations",
            Bounds { crashes: true, replays: true, ..steps },
        );
        rows.add(
            Full,
            &[KAFKA, ORACLE],
            merged,
            "the same where the segments are merged",
            Bounds { crashes: true, replays: true, capacity: 3, ..steps },
        );
    }
    for (protocol, abort, crash) in [
        (1, "abort-inside-merged-protocol-1", "crash-inside-merged-protocol-1"),
        (2, "abort-inside-merged-protocol-2", "crash-inside-merged-protocol-2"),
    ] {
        let alone = Bounds {
            protocol,
            plain: false,
            deletable: 0,
            clock: 1,
            offsets: 6,
            rolls: 3,
            capacity: 4,
            grain: Grain::Steps,
            ..Bounds::TRANSACTION
        };
        rows.add(
            Full,
            &[KAFKA, "repaired-n2", ORACLE],
            abort,
            "the map never fills; after an abort the first dirty offset lies inside a merged segment",
            Bounds { aborts: true, ..alone },
        );
        rows.add(
            Full,
            &[KAFKA, "repaired-n2", ORACLE],
            crash,
            "the same after a crash",
            Bounds { crashes: true, ..alone },
        );
    }
}

/// The rest of sections 2 and 3: what bounds a round, what stays of a batch, who is forgotten.
pub(super) fn behaviours(list: &mut List) {
    let mut rows = Rows(list);
    let lagging = Bounds { unkeyed: true, keys: 2, lagging: true, offsets: 3, clock: 1, ..Bounds::BASE };
    rows.add(
        Smoke,
        &[KAFKA, "kafka-4.1", "kafka-3.9"],
        "lagging-high-watermark",
        "KAFKA-17076, KAFKA-20452: which batch tells the log's end",
        lagging,
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "compact-and-delete",
        "2.10: the oldest segment goes, and moves the log's start",
        Bounds { deletes: true, reader: READER, offsets: 3, rolls: 3, clock: 2, retention: 1, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "deleted-records",
        "KAFKA-9133, KAFKA-9826: records are deleted up to an offset inside the active segment",
        Bounds { deletes_records: true, keys: 2, offsets: 3, clock: 2, retention: 1, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "minimum-lag",
        "2.2: young segments are not cleaned",
        Bounds { min_lag: 1, ..Bounds::BASE },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "pairs",
        "two records a batch: a map that ends inside a batch, a horizon that outlives its tombstone",
        Bounds {
            pairs: true,
            unkeyed: true,
            keys: 2,
            deletable: 2,
            map_least: 1,
            map_most: 2,
            offsets: 4,
            ..Bounds::BASE
        },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "aborted-data-and-reader",
        "3.5: a consumer meets aborted data",
        Bounds { reader: READER, offsets: 3, clock: 1, rolls: 0, ..Bounds::TRANSACTION },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "pairs-map-of-two",
        "the same where every round has a map of two, as in a trace",
        Bounds { pairs: true, keys: 2, deletable: 2, map_least: 2, map_most: 2, offsets: 4, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "empty-transactions",
        "3.2: transactions that wrote nothing here",
        Bounds { empty_transactions: true, watch: true, plain: false, offsets: 4, ..Bounds::TRANSACTION },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "expiry",
        "3.4: a producer is forgotten, and the header that was kept for it goes",
        Bounds {
            expiry: Some(1),
            watch: true,
            deletable: 0,
            offsets: 6,
            rolls: 1,
            retention: 1,
            clock: 3,
            map_least: 1,
            map_most: 1,
            ..Bounds::TRANSACTION
        },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "idle-round",
        "S18: a round with nothing to map is tried out in every state",
        Bounds { idempotence: true, offsets: 4, map_least: 1, ..Bounds::TRANSACTION },
    );
}

/// Which log is cleaned, and when (2.1). The repairs change nothing here.
pub(super) fn choices(list: &mut List) {
    let mut rows = Rows(list);
    // Half of the log is dirty at most when a second segment is closed, which is not more than the ratio.
    let ratio = Bounds { dirty_percent: 50, patience: Some(1), clock: 3, ..Bounds::BASE };
    rows.add(
        Smoke,
        &[KAFKA],
        "dirty-ratio",
        "2.1: nothing is written any more, and what is dirty is not more than the ratio asks for",
        ratio,
    );
    let overdue = Bounds { max_lag: Some(1), ..ratio };
    rows.add(Smoke, &[KAFKA], "maximum-lag", "KIP-354: the same log is worth a round once it is overdue", overdue);
    rows.add(
        Smoke,
        &[KAFKA],
        "maximum-lag-and-a-dirtier-log",
        "2.1: an overdue log has no precedence, and another that is written without end is always dirtier",
        Bounds { other: 3, ..overdue },
    );
    rows.add(
        Smoke,
        &[KAFKA],
        "maximum-lag-and-a-log-that-rests",
        "2.1: the dirtier log is written three times, and then it is this one's turn",
        Bounds { other: 3, other_writes: Some(3), ..overdue },
    );
}

/// The rule before KIP-534, and the designs that it rejected.
pub(super) fn designs(list: &mut List) {
    let mut rows = Rows(list);
    let recur = Bounds { keys: 2, offsets: 4, rolls: 4, clock: 4, retention: 1, watch: true, ..Bounds::BASE };
    let merged = Bounds { capacity: 4, ..recur };
    rows.add(
        Smoke,
        &[MTIME, KAFKA, "tombstones-only", ORACLE],
        "rounds-recur-merged",
        "KAFKA-8522: each round merges all that is clean into one segment",
        merged,
    );
    let late = Bounds { keys: 2, offsets: 4, rolls: 3, clock: 2, retention: 1, ..Bounds::BASE };
    rows.add(
        Smoke,
        &[MTIME, KAFKA, "tombstones-only", ORACLE],
        "late-first-round",
        "KAFKA-4545: a tombstone is old before it is cleaned for the first time",
        late,
    );
    rows.add(
        Full,
        &[MTIME, KAFKA, "tombstones-only", ORACLE],
        "late-first-round-reader",
        "KAFKA-4545: the same, with a consumer",
        Bounds { reader: READER, ..late },
    );
    let markers =
        Bounds { offsets: 5, rolls: 4, clock: 2, retention: 1, watch: true, deletable: 0, ..Bounds::TRANSACTION };
    let without = [MTIME, "tombstones-only", "checkpoint-pair", "checkpoint-list", "record-header", KAFKA, ORACLE];
    rows.add(
        Full,
        &without,
        "markers",
        "KAFKA-4545 of markers: their time begins when the transaction's data are gone",
        markers,
    );
    rows.add(
        Full,
        &without,
        "markers-merged",
        "KAFKA-8522 of markers: each round merges all that is clean into one segment",
        Bounds { capacity: 5, ..markers },
    );
    // A map of one makes as many rounds of one segment as it has records.
    let strip = Bounds { keys: 2, offsets: 4, rolls: 1, clock: 3, ..Bounds::PARTIAL };
    rows.add(
        Smoke,
        &["checkpoint-pair", "checkpoint-list", "record-header", KAFKA, ORACLE],
        "frequent-rounds",
        "rounds more frequent than the retention",
        Bounds { watch: true, ..strip },
    );
    rows.add(
        Full,
        &["checkpoint-pair", "checkpoint-list", "record-header", KAFKA, ORACLE],
        "rare-rounds",
        "tombstones alone, with a consumer; the map never fills",
        Bounds { keys: 2, offsets: 3, rolls: 3, clock: 3, retention: 1, reader: READER, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &["checkpoint-list", "record-header", KAFKA, ORACLE],
        "lost-checkpoint",
        "the checkpoint file is lost",
        Bounds { forgets: 1, watch: true, retention: 1, clock: 2, ..strip },
    );
    rows.add(
        Full,
        &["checkpoint-list", "record-header", KAFKA, ORACLE],
        "another-replica",
        "another replica, which has copied the log, cleans it",
        Bounds { replicas: 2, follower_cleans: true, watch: true, offsets: 3, retention: 1, clock: 2, ..strip },
    );
    rows.add(
        Smoke,
        &["record-header", "checkpoint-list", KAFKA, ORACLE],
        "altered-retention",
        "delete.retention.ms is lowered after a tombstone was stamped",
        Bounds { altered: Some(0), ..strip },
    );
}

/// The larger bounds: what was looked at alone, together.
pub(super) fn larger(list: &mut List) {
    let mut rows = Rows(list);
    let reader = Bounds { reader: READER, retention: 1, clock: 2, offsets: 4, ..Bounds::TRANSACTION };
    let crash = Bounds { grain: Grain::Steps, crashes: true, ..reader };
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "reader-and-crash",
        "a consumer reads while the broker crashes between any two file operations",
        Bounds { offsets: 3, ..crash },
    );
    rows.add(
        Full,
        &[ORACLE],
        "reader-crash-two-producers",
        "the largest: the same with two transactional producers beside the writer without an id",
        Bounds { producers: 2, ..crash },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "reader-two-producers-map-of-one",
        "a consumer that lags, two producers, partial rounds",
        Bounds { producers: 2, map_least: 1, map_most: 1, ..reader },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "any-map",
        "each round has a map of one entry or two",
        Bounds { keys: 2, map_least: 1, map_most: 2, retention: 1, clock: 2, offsets: 5, ..Bounds::TRANSACTION },
    );
    rows.add(
        Full,
        &[KAFKA, ORACLE],
        "uncommitted-reader",
        "a consumer that reads what is not decided yet",
        Bounds { reader: Some(Isolation::ReadUncommitted), ..reader },
    );
    rows.add(
        Full,
        &[KAFKA, "repaired-n8", ORACLE],
        "policy-and-truncation-tombstone",
        "N8 to its end: the deleted key comes back",
        Bounds { keys: 2, offsets: 4, rolls: 4, retention: 1, clock: 2, truncations: 1, policies: 2, ..Bounds::BASE },
    );
}
