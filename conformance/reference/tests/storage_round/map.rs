//! Building the offset map, and what of the log it covers (docs/compaction.md 2.4).

use fencepost_reference::storage::round::{Progress, RoundError};

use crate::log::{Aborted, Log};

#[test]
fn a_full_map_takes_no_record_be_its_key_there_or_not() {
    let mut log = Log::kafka();
    log.map = 1;
    log.value("a", "1");
    log.value("a", "2");
    log.roll();
    assert_eq!(log.clean_at(5000), 1);
    assert_eq!(log.records().len(), 2);
    assert_eq!(log.clean_at(5000), 2);
    assert_eq!(log.records(), [(1, "a=2".to_owned())]);
}

#[test]
fn a_map_that_fills_up_inside_of_a_batch_covers_the_records_before() {
    let mut log = Log::kafka();
    log.map = 2;
    log.append(&[("a", Some("1")), ("b", Some("1")), ("c", Some("1")), ("a", Some("2"))]);
    log.roll();
    assert_eq!(log.clean_at(5000), 2);
    assert_eq!(log.records().len(), 4);
    assert_eq!(log.clean_at(5000), 4);
    assert_eq!(log.records().iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [1, 2, 3]);
}

// KAFKA-8764
#[test]
fn a_gap_at_the_end_of_a_segment_is_passed() {
    let mut log = Log::kafka();
    log.value("a", "1");
    log.next.0 = 10;
    log.roll();
    assert_eq!(log.clean_at(5000), 10);
}

#[test]
fn a_round_without_dirty_offsets_does_nothing_at_all() {
    let mut log = Log::kafka();
    log.tombstone("k");
    log.value("z", "1");
    log.roll();
    assert_eq!(log.clean_at(5000), 2);
    let stamped = log.dump();
    assert_eq!(log.clean_at(9000), 2);
    assert_eq!(log.outcome.map(|outcome| (outcome.mapped, outcome.groups)), Some((None, 0)));
    assert_eq!(log.dump(), stamped, "an expired tombstone waits for a round that something else causes");
}

#[test]
fn a_batch_larger_than_the_buffer_is_read_whole() {
    for chunk_bytes in [1, 7, 16, 100, 1000] {
        let mut log = Log::kafka();
        log.chunk_bytes = chunk_bytes;
        for round in 0..3 {
            log.value("k", &"x".repeat(500 * round));
        }
        log.roll();
        let size = log.segments[0].bytes.len() as u64;
        assert_eq!(log.clean_at(5000), 3);
        assert_eq!(log.records().len(), 1);
        assert_eq!(log.outcome.map(|outcome| outcome.bytes_read), Some(size));
    }
}

#[test]
fn a_buffer_grows_no_further_than_its_largest_batch_makes_it() {
    let mut log = Log::kafka();
    log.chunk_bytes = 100;
    for index in 0..200 {
        log.value(&index.to_string(), "v");
    }
    log.roll();
    log.clean_at(5000);
    assert_eq!(log.largest_read, 100, "however long the segment");
    log.value("large", &"x".repeat(1000));
    log.roll();
    log.clean_at(5000);
    assert!((1061..=1600).contains(&log.largest_read), "doubled until the batch fits: {}", log.largest_read);
}

#[test]
fn a_segment_that_ends_inside_of_a_batch_fails_the_round_and_stays() {
    for cut in [1, 20, 60] {
        let mut log = Log::kafka();
        log.value("k", "1");
        log.value("k", "2");
        log.roll();
        let bytes = &mut log.segments[0].bytes;
        bytes.truncate(bytes.len() - cut);
        let before = bytes.clone();
        assert!(matches!(log.clean(), Err(RoundError::Batch { .. })));
        assert_eq!(log.segments[0].bytes, before);
    }
}

#[test]
fn a_round_can_be_stopped_at_each_of_its_checks_and_the_next_one_does_it_all() {
    let whole = three_segments();
    let mut done = three_segments();
    done.clean_at(5000);
    let checks = done.checks.clone();
    assert!(checks.len() > 8, "{checks:?}");
    for (at, stopped) in checks.iter().enumerate() {
        let mut log = three_segments();
        log.abort_at = Some(at);
        assert_eq!(log.clean(), Err(RoundError::Storage(Aborted)));
        assert_eq!(log.first_dirty, whole.first_dirty);
        if !matches!(stopped, Progress::RecopyChunk(..)) {
            assert_eq!(log.dump(), whole.dump());
        }
        log.abort_at = None;
        log.clean_at(5000);
        // A group that was replaced before the stop has had this pass; a marker in it may be one pass ahead.
        assert_eq!(log.records(), done.records());
    }
}

fn three_segments() -> Log {
    let mut log = Log::kafka();
    log.segment_bytes = 1;
    log.chunk_bytes = 80;
    for value in ["1", "2", "3"] {
        log.value("a", value);
        log.append_in((7, 0), &[("b", Some(value))]);
        log.end((7, 0), value == "2");
        log.roll();
    }
    log
}
