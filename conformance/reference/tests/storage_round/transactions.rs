//! Transactions in partial rounds and across segments: the public cases of Kafka's `LogCleanerTest`
//! (docs/compaction.md 2.4, 3.1 and 7.4; KAFKA-8351, KAFKA-13727).

use fencepost_reference::storage::names::{Millis, Offset, ProducerId};
use fencepost_reference::storage::transaction_tracker::AbortedTxn;

use crate::log::Log;

const P1: (i64, i16) = (1, 0);
const P2: (i64, i16) = (2, 0);
const P3: (i64, i16) = (3, 0);

fn write(log: &mut Log, producer: (i64, i16), keys: &[i32]) {
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    let records: Vec<_> = keys.iter().map(|key| (key.as_str(), Some("v"))).collect();
    log.append_in(producer, &records);
}

fn offsets(log: &Log) -> Vec<i64> {
    log.records().into_iter().map(|(offset, _)| offset).collect()
}

fn keys(log: &Log) -> Vec<i32> {
    log.records().iter().filter_map(|(_, told)| told.strip_suffix("=v")?.parse().ok()).collect()
}

fn entry(producer: i64, first: i64, last: i64, stable: i64) -> AbortedTxn {
    AbortedTxn {
        first_offset: Offset(first),
        producer_id: ProducerId(producer),
        last_offset: Offset(last),
        last_stable_offset: Offset(stable),
    }
}

// testMultiPassSegmentCleaningWithAbortedTransactions: a map of four slots, three of them used.
#[test]
fn aborted_transactions_are_known_to_the_end_of_a_segment_that_is_cleaned_in_three_rounds() {
    let mut log = Log::kafka();
    log.delete_retention = Millis(50_000);
    log.map = 3;
    write(&mut log, P1, &[1, 2]);
    write(&mut log, P2, &[2, 3]);
    write(&mut log, P1, &[3, 4]);
    log.end(P1, true);
    log.end(P2, true);
    write(&mut log, P1, &[2, 3]);
    log.end(P1, false);
    write(&mut log, P2, &[4, 5]);
    write(&mut log, P1, &[5, 6]);
    log.end(P1, true);
    log.end(P2, false);
    write(&mut log, P2, &[6, 7]);
    log.end(P2, true);
    log.roll();
    let both = [entry(1, 8, 10, 11), entry(2, 11, 16, 17)];
    assert_eq!(log.aborted(), both);

    assert_eq!(log.clean_at(5000), 4);
    assert_eq!(log.batches_at(), [0, 2, 4, 6, 7, 10, 13, 15, 16, 17, 19]);
    assert_eq!(offsets(&log), [0, 2, 3, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!(log.aborted(), both);

    assert_eq!(log.clean_at(5000), 14);
    assert_eq!(log.batches_at(), [0, 2, 4, 6, 7, 10, 13, 15, 16, 17, 19]);
    assert_eq!(offsets(&log), [0, 2, 4, 5, 6, 7, 10, 13, 14, 15, 16, 17, 18, 19]);
    assert_eq!(log.aborted(), []);

    assert_eq!(log.clean_at(55_000), 20);
    assert_eq!(log.batches_at(), [0, 2, 4, 6, 7, 13, 15, 17, 19]);
    assert_eq!(offsets(&log), [0, 2, 4, 5, 6, 7, 13, 15, 17, 18, 19]);
    assert_eq!(log.aborted(), []);
}

// testBasicTransactionAwareCleaning
#[test]
fn the_records_of_an_aborted_transaction_supersede_nothing_and_go_at_once() {
    let mut log = Log::kafka();
    write(&mut log, P1, &[1, 2]);
    write(&mut log, P2, &[2, 3]);
    write(&mut log, P1, &[3, 4]);
    log.end(P1, false);
    log.end(P2, true);
    write(&mut log, P1, &[2]);
    log.end(P1, true);
    let before = log.aborted();
    log.roll();
    log.clean_at(5000);
    assert_eq!(keys(&log), [3, 2]);
    assert_eq!(offsets(&log), [3, 6, 7, 8, 9]);
    assert_eq!(log.aborted(), before);
}

// testCleanWithTransactionsSpanningSegments: the first segment alone is below the bound, and the markers are above it.
#[test]
fn aborted_records_go_though_the_marker_is_in_a_later_segment() {
    let mut log = Log::kafka();
    write(&mut log, P1, &[1, 2]);
    write(&mut log, P3, &[2, 3]);
    write(&mut log, P2, &[3, 4]);
    log.roll();
    write(&mut log, P2, &[5, 6]);
    write(&mut log, P3, &[6, 7]);
    write(&mut log, P1, &[7, 8]);
    log.end(P2, false);
    write(&mut log, P3, &[8, 9]);
    log.end(P3, true);
    write(&mut log, P1, &[9, 10]);
    log.end(P1, false);
    log.clean_at(5000);
    assert_eq!(keys(&log), [2, 3, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10]);
    log.roll();
    write(&mut log, P2, &[11]);
    write(&mut log, P1, &[12]);
    log.clean_at(5000);
    assert_eq!(keys(&log), [2, 3, 6, 7, 8, 9, 11, 12]);
}

// KAFKA-8351: the data are in one group, the marker in the next.
#[test]
fn a_transaction_is_one_over_all_groups_of_a_round() {
    for commit in [true, false] {
        let mut log = Log::kafka();
        log.segment_bytes = 1;
        write(&mut log, P1, &[1]);
        log.roll();
        write(&mut log, P2, &[2]);
        log.roll();
        log.end(P1, commit);
        log.end(P2, true);
        log.roll();
        log.clean_at(5000);
        assert_eq!(log.outcome.map(|outcome| outcome.groups), Some(3));
        assert_eq!(log.horizon(2), None, "data of the transaction were seen: its marker waits");
        assert_eq!(log.aborted().len(), usize::from(!commit));
    }
}

// testCommitMarkerRetentionWithEmptyBatch, the first half.
#[test]
fn an_empty_batch_is_data_of_its_transaction() {
    let mut log = Log::kafka();
    write(&mut log, P1, &[2, 3]);
    log.roll();
    write(&mut log, P2, &[2, 3]);
    log.end(P2, true);
    log.roll();
    log.value("2", "v");
    log.value("3", "v");
    log.end(P1, true);
    log.roll();
    for _ in 0..2 {
        log.clean_at(9_000_000);
        assert_eq!(keys(&log), [2, 3]);
        assert_eq!(offsets(&log), [4, 5, 6, 7]);
        assert_eq!(log.dump().iter().map(|batch| batch.last).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7]);
        assert_eq!((log.horizon(4), log.horizon(7)), (None, None));
    }
}
