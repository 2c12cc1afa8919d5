//! The findings of docs/compaction.md 5.3: there under the rules of Kafka 4.4.0, gone under the repair.

use fencepost_reference::storage::names::Millis;
use fencepost_reference::storage::round::Progress;
use fencepost_reference::storage::rules::{IndexFilter, Removal, Rules, Stamping};

use crate::log::Log;

/// N1: a map of one key, a value and its tombstone, and two rounds `delete.retention.ms` apart.
fn early_stamp(rules: Rules) -> Log {
    let mut log = Log::new(rules);
    log.map = 1;
    log.value("k", "v");
    log.tombstone("k");
    log.value("z", "1");
    log.roll();
    assert_eq!(log.clean_at(5000), 1);
    log
}

#[test]
fn n1_a_tombstone_above_the_mapped_offsets_is_stamped_while_its_value_is_there() {
    let mut log = early_stamp(Rules::kafka_4_4());
    assert_eq!((log.has(0), log.horizon(1)), (true, Some(5100)));
    assert_eq!(log.clean_at(5100), 2);
    assert!(!log.has(0) && !log.has(1), "value and tombstone went in one round: nobody had time to see the deletion");
}

#[test]
fn n1_is_gone_if_only_what_is_mapped_is_stamped() {
    let mut log = early_stamp(Rules { stamping: Stamping::OnlyIfMapped, ..Rules::kafka_4_4() });
    assert_eq!((log.has(0), log.horizon(1)), (true, None));
    assert_eq!(log.clean_at(5100), 2);
    assert_eq!((log.has(0), log.has(1), log.horizon(1)), (false, true, Some(5200)));
    log.clean_at(5199);
    assert!(log.has(1));
    log.value("y", "1");
    log.roll();
    log.clean_at(5200);
    assert!(!log.has(1));
}

#[test]
fn n1_in_one_batch_and_with_the_hooks_that_a_small_round_has() {
    let mut log = Log::kafka();
    log.map = 1;
    log.append(&[("k", Some("v")), ("k", None)]);
    log.roll();
    log.clean_at(5000);
    assert_eq!((log.has(0), log.horizon(0)), (true, Some(5100)));
    let base = log.segments[0].base;
    let all = [Progress::MapSegment(base), Progress::MapChunk(base, 0), Progress::RecopyChunk(base, 0)];
    assert_eq!(log.checks, all);
}

/// N2: a map of one key; the first round ends right after the marker of an aborted transaction.
fn stale_abort_entry(rules: Rules, second_epoch: i16, indexed: bool) -> Log {
    let mut log = Log::new(rules);
    log.map = 1;
    log.indexed = indexed;
    log.value("k", "v");
    log.append_in((7, 0), &[("x", Some("1"))]);
    log.end((7, second_epoch), false);
    log.append_in((7, second_epoch), &[("k", None)]);
    log.end((7, 2 * second_epoch), true);
    log.roll();
    assert_eq!(log.clean_at(5000), 3);
    log
}

#[test]
fn n2_a_committed_tombstone_counts_as_aborted_and_the_deleted_key_comes_back() {
    // Transaction protocol 1: one epoch. Protocol 2: each marker raises it.
    for raised in [0, 1] {
        let mut log = stale_abort_entry(Rules::kafka_4_4(), raised, true);
        assert_eq!(log.horizon(3), Some(5100), "N1 starts the clock in the first round");
        assert_eq!(log.clean_at(5100), 5);
        assert_eq!(log.outcome.map(|outcome| outcome.map_entries), Some(0));
        assert_eq!((log.has(0), log.has(3)), (true, false));
        for now in [9000, 9900] {
            log.value("y", "1");
            log.roll();
            log.clean_at(now);
        }
        assert!(log.has(0), "the first dirty offset is past the tombstone: no later round looks again");
    }
}

#[test]
fn n2_is_gone_if_entries_below_the_first_dirty_offset_are_not_known_to_the_map() {
    let repaired = Rules { index_filter: IndexFilter::FirstDirty, ..Rules::kafka_4_4() };
    for raised in [0, 1] {
        let mut log = stale_abort_entry(repaired, raised, true);
        assert_eq!(log.clean_at(5100), 5);
        assert_eq!(log.outcome.map(|outcome| outcome.map_entries), Some(1));
        assert!(!log.has(0));
    }
}

#[test]
fn n2_needs_a_position_above_the_marker_to_begin_at() {
    let mut log = stale_abort_entry(Rules::kafka_4_4(), 0, false);
    assert_eq!(log.clean_at(5100), 5);
    assert!(!log.has(0), "from the first byte of the segment the marker is read, and ends the transaction");
}

#[test]
fn n2_is_there_under_the_repair_of_n1_too_a_round_later() {
    let mut log = stale_abort_entry(Rules { stamping: Stamping::OnlyIfMapped, ..Rules::kafka_4_4() }, 0, true);
    assert_eq!((log.clean_at(5100), log.horizon(3)), (5, Some(5200)));
    log.value("y", "1");
    log.roll();
    log.clean_at(5200);
    assert_eq!((log.has(0), log.has(3)), (true, false));
}

// N9
#[test]
fn n9_a_horizon_beyond_the_largest_time_is_never_set_and_the_tombstone_never_goes() {
    let mut log = Log::kafka();
    log.delete_retention = Millis(i64::MAX);
    log.tombstone("k");
    log.value("z", "1");
    log.roll();
    for now in [5000, 9000, i64::MAX] {
        log.clean_at(now);
        assert_eq!((log.has(0), log.horizon(0)), (true, None));
        log.value("y", "1");
        log.roll();
    }
}

/// Before KIP-534: a small partition, whose one clean segment takes in each new one, a day later each.
fn small_partition(rules: Rules) -> bool {
    let mut log = Log::new(rules);
    log.tombstone("k");
    log.roll();
    for day in 1..10 {
        log.clean_at(5000 + 1000 * day);
        log.value("more", "1");
        log.roll();
    }
    log.has(0)
}

#[test]
fn kafka_8522_by_the_time_of_files_a_tombstone_of_a_small_partition_stays_for_ever() {
    assert!(small_partition(Rules::kafka_3_0()));
    assert!(!small_partition(Rules::kafka_4_4()));
}

/// Before KIP-534: the tombstone is old when it is cleaned for the first time, and the next round is right after.
fn removed_after(rules: Rules) -> Option<i64> {
    let mut log = Log::new(rules);
    log.delete_retention = Millis(24_000);
    log.segment_bytes = 200;
    log.now = Millis(100_000);
    log.value("k", "v");
    log.now = Millis(101_000);
    log.tombstone("k");
    log.roll();
    log.now = Millis(199_000);
    log.value("large", &"x".repeat(300));
    log.roll();
    log.clean_at(200_000);
    assert!(!log.has(0) && log.has(1));
    (1..400).map(|tenth| 200_000 + 100 * tenth).find(|now| {
        log.now = Millis(*now);
        log.value("more", "1");
        log.roll();
        log.clean_at(*now);
        !log.has(1)
    })
}

#[test]
fn kafka_4545_by_the_time_of_files_a_tombstone_may_go_right_after_its_first_round() {
    assert_eq!(removed_after(Rules::kafka_3_0()), Some(200_100));
    assert_eq!(removed_after(Rules::kafka_4_4()), Some(224_000));
}

#[test]
fn a_rule_that_is_for_tombstones_alone_leaves_markers_to_the_time_of_files() {
    let rules = Rules { removal: Removal::DeleteHorizonOfTombstones, ..Rules::kafka_4_4() };
    let mut log = Log::new(rules);
    log.end((7, 0), true);
    log.expire(7);
    log.tombstone("k");
    log.roll();
    for now in [5000, 6000, 7000] {
        log.clean_at(now);
        assert!(log.has(0) && log.horizon(0).is_none());
        log.value("more", "1");
        log.roll();
    }
    assert!(!log.has(1));
}
