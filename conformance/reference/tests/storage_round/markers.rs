//! The life of a marker, pass by pass (docs/compaction.md 3.2).

use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch};

use crate::log::Log;

const P: (i64, i16) = (7, 0);

/// A transaction of one record, and a later record of its key; the producer moves on, so that no header stays.
fn superseded(commit: bool) -> Log {
    let mut log = Log::kafka();
    log.append_in(P, &[("k", Some("old"))]);
    log.end(P, commit);
    log.value("k", "new");
    log.value("z", "1");
    log.roll();
    log.expire(P.0);
    log
}

/// Something new to map, without which no round does anything.
fn more(log: &mut Log) {
    log.value("more", "1");
    log.roll();
}

#[test]
fn a_marker_outlives_the_data_of_its_transaction_by_two_passes() {
    for commit in [true, false] {
        let mut log = superseded(commit);
        // p0: the data go, the marker stays and its clock does not run.
        log.clean_at(5000);
        assert_eq!((log.has(0), log.has(1), log.horizon(1)), (false, true, None));
        assert_eq!(log.aborted().len(), usize::from(!commit), "the entry stays as long as this pass saw data");
        // p1: no data; the clock starts. The entry goes, the marker does not.
        more(&mut log);
        log.clean_at(6000);
        assert_eq!((log.has(1), log.horizon(1)), (true, Some(6100)));
        assert!(log.aborted().is_empty());
        // Before the horizon.
        more(&mut log);
        log.clean_at(6099);
        assert_eq!((log.has(1), log.horizon(1)), (true, Some(6100)));
        // At the horizon.
        more(&mut log);
        log.clean_at(6100);
        assert!(!log.has(1) && !log.batches_at().contains(&1));
    }
}

#[test]
fn the_marker_of_an_empty_transaction_goes_a_pass_earlier() {
    let mut log = Log::kafka();
    log.end(P, true);
    log.expire(P.0);
    log.value("k", "v");
    log.roll();
    log.clean_at(5000);
    assert_eq!(log.horizon(0), Some(5100));
    more(&mut log);
    log.clean_at(5100);
    assert!(!log.batches_at().contains(&0));
}

#[test]
fn data_whose_header_is_kept_for_their_producer_keep_the_marker() {
    let mut log = Log::kafka();
    log.append_in(P, &[("k", Some("old"))]);
    log.end(P, true);
    log.value("k", "new");
    log.roll();
    for now in [5000, 6000, 7000] {
        log.clean_at(now);
        assert!(log.batches_at().contains(&0) && !log.has(0), "an empty batch holds the last sequence");
        assert_eq!((log.has(1), log.horizon(1)), (true, None));
        more(&mut log);
    }
    // The producer goes: this pass drops the header, and has seen it. The next one has not.
    log.expire(P.0);
    log.clean_at(8000);
    assert_eq!((log.batches_at().contains(&0), log.horizon(1)), (false, None));
    more(&mut log);
    log.clean_at(9000);
    assert_eq!(log.horizon(1), Some(9100));
}

// Transaction protocol 2 (KIP-890): the marker has the next epoch, and it is the marker that is kept.
#[test]
fn a_marker_of_a_raised_epoch_is_emptied_and_stays_as_long_as_its_producer() {
    let mut log = Log::kafka();
    log.append_in(P, &[("k", Some("old"))]);
    log.end((7, 1), true);
    log.value("k", "new");
    log.roll();
    assert!(log.producers.values().all(|last| last.last_data_offset.is_none()));
    log.clean_at(5000);
    assert!(!log.batches_at().contains(&0), "no data batch of the epoch in force");
    more(&mut log);
    log.clean_at(6000);
    more(&mut log);
    log.clean_at(6100);
    let emptied = |log: &Log| log.dump().into_iter().find(|batch| batch.first == 1).map(|batch| batch.records.len());
    assert_eq!(emptied(&log), Some(0));
    more(&mut log);
    log.clean_at(9000);
    assert_eq!(emptied(&log), Some(0));
    // An epoch that is not the producer's any more does not keep it.
    for last in log.producers.values_mut() {
        last.producer_epoch = ProducerEpoch(2);
    }
    more(&mut log);
    log.clean_at(9000);
    assert_eq!(emptied(&log), None);
}

// KAFKA-17076, KAFKA-20452.
#[test]
fn the_batch_that_ends_at_the_high_watermark_leaves_its_header() {
    let mut log = Log::kafka();
    log.value("k", "v");
    log.tombstone("k");
    log.roll();
    log.clean_at(5000);
    log.first_dirty = Offset(0);
    log.clean_at(5100);
    assert_eq!(log.batches_at(), [1]);
    assert!(log.records().is_empty());
    // Once the high watermark is elsewhere, the header goes.
    more(&mut log);
    log.clean_at(5100);
    assert_eq!(log.batches_at(), [2]);
}

#[test]
fn retention_of_no_time_still_gives_a_marker_the_pass_that_stamps_it() {
    let mut log = superseded(true);
    log.delete_retention = Millis(0);
    log.clean_at(5000);
    more(&mut log);
    log.clean_at(5000);
    assert_eq!(log.horizon(1), Some(5000));
    more(&mut log);
    log.clean_at(5000);
    assert!(!log.has(1));
}
