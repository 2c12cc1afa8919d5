//! Reading at the isolation levels, the last stable offset, cutting and deleting.

use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation::{Committed, LogEnd, Uncommitted};
use fencepost_reference::storage::log_rules::LogConfig;
use fencepost_reference::storage::names::{Millis, Offset};

use crate::support::{NOW, Producer, all_batches, config, end, new_log, put, put_in_transaction, read, texts};

#[test]
fn nobody_but_a_follower_reads_above_the_high_watermark() {
    let (_, mut log) = new_log();
    put(&mut log, "a", Some("1"));
    put(&mut log, "b", Some("2"));
    log.set_high_watermark(Offset(1));
    assert_eq!(texts(&log, 0, Uncommitted), ["0 a=1"]);
    assert_eq!(texts(&log, 0, LogEnd), ["0 a=1", "1 b=2"]);
    let above = log.read(Offset(3), 1, LogEnd);
    assert!(matches!(above, Err(LogError::OffsetOutOfRange { .. })), "{above:?}");
}

#[test]
fn the_last_stable_offset_waits_for_the_marker_to_be_below_the_high_watermark() {
    let (_, mut log) = new_log();
    let mut producer = Producer::new(7);
    put(&mut log, "a", Some("1"));
    put_in_transaction(&mut log, &mut producer, "b", Some("2"));
    log.set_high_watermark(Offset(2));
    assert_eq!(log.last_stable_offset(), Offset(1), "the transaction is open");
    end(&mut log, producer, true).expect("appended");
    log.set_high_watermark(Offset(2));
    assert_eq!(log.last_stable_offset(), Offset(1), "its marker is not below the high watermark");
    log.set_high_watermark(Offset(3));
    assert_eq!(log.last_stable_offset(), Offset(3));
}

#[test]
fn read_committed_hides_aborted_records_and_nothing_else() {
    let (_, mut log) = new_log();
    let (mut p, mut q) = (Producer::new(7), Producer::new(8));
    put_in_transaction(&mut log, &mut p, "a", Some("aborted"));
    put_in_transaction(&mut log, &mut q, "b", Some("committed"));
    put(&mut log, "c", Some("plain"));
    end(&mut log, p, false).expect("appended");
    end(&mut log, q, true).expect("appended");
    put_in_transaction(&mut log, &mut p, "d", Some("later"));
    end(&mut log, p, true).expect("appended");
    log.set_high_watermark(log.end_offset());
    let committed = ["1 b=committed", "2 c=plain", "5 d=later"];
    assert_eq!(texts(&log, 0, Committed), committed);
    assert_eq!(texts(&log, 0, Uncommitted).len(), 4);
    let entry = log.segments().next().expect("a segment").transaction_index().entries()[0];
    assert_eq!((entry.first_offset, entry.last_offset), (Offset(0), Offset(3)));
    assert_eq!(entry.last_stable_offset, Offset(1), "another transaction was open from 1 on");
}

#[test]
fn the_abort_is_known_though_its_marker_is_segments_away() {
    let (_, mut log) = new_log();
    let mut p = Producer::new(7);
    put_in_transaction(&mut log, &mut p, "a", Some("aborted"));
    log.roll(NOW).expect("rolled");
    put(&mut log, "b", Some("plain"));
    log.roll(NOW).expect("rolled");
    end(&mut log, p, false).expect("appended");
    log.set_high_watermark(log.end_offset());
    assert_eq!(texts(&log, 0, Committed), ["1 b=plain"]);
}

#[test]
fn a_reader_goes_on_after_the_last_batch_of_a_response_and_skips_gaps() {
    let (_, mut log) = new_log();
    log.append_as_follower(&crate::support::batch_at(0, None, &[("a", Some("1"))]), NOW).expect("appended");
    log.append_as_follower(&crate::support::batch_at(7, None, &[("b", Some("2"))]), NOW).expect("appended");
    log.set_high_watermark(log.end_offset());
    let first = log.read(Offset(0), 1, Uncommitted).expect("a response");
    let handed = fencepost_reference::storage::reader::hand_out(&first.batches, &[], Offset(0), Uncommitted);
    assert_eq!(handed.expect("it reads").position, Offset(1));
    assert_eq!(read(&log, 1, Uncommitted).position, Offset(8));
    assert_eq!(texts(&log, 3, Uncommitted), ["7 b=2"]);
}

#[test]
fn a_truncation_cuts_whole_batches_and_forgets_their_producers() {
    let (_, mut log) = new_log();
    let mut p = Producer::new(7);
    put(&mut log, "a", Some("1"));
    log.roll(NOW).expect("rolled");
    put_in_transaction(&mut log, &mut p, "b", Some("2"));
    end(&mut log, p, false).expect("appended");
    log.roll(NOW).expect("rolled");
    put(&mut log, "c", Some("3"));
    log.set_high_watermark(Offset(4));
    log.truncate_to(Offset(2), NOW).expect("cut");
    assert_eq!(all_batches(&log), [(0, 0), (1, 1)]);
    assert_eq!((log.end_offset(), log.high_watermark()), (Offset(2), Offset(2)));
    assert_eq!(log.last_stable_offset(), Offset(1), "the transaction is open again");
    assert_eq!(log.aborted_transactions(Offset(0), Offset(10)), []);
    log.truncate_to(Offset(1), NOW).expect("cut");
    assert!(log.producers().producers().is_empty());
    assert_eq!(put(&mut log, "d", Some("4")).first_offset, Offset(1));
}

#[test]
fn a_batch_that_spans_the_cut_goes_as_a_whole() {
    let (_, mut log) = new_log();
    put(&mut log, "a", Some("1"));
    crate::support::try_append(&mut log, &crate::support::batch(None, &[("b", None), ("c", None)])).expect("appended");
    log.truncate_to(Offset(2), NOW).expect("cut");
    assert_eq!(all_batches(&log), [(0, 0)]);
    assert_eq!(log.end_offset(), Offset(2));
}

#[test]
fn retention_takes_a_prefix_below_the_high_watermark_and_only_with_delete_in_the_policy() {
    let (_, mut log) = new_log();
    for key in ["a", "b", "c", "d"] {
        put(&mut log, key, Some("1"));
        log.roll(NOW).expect("rolled");
    }
    let week = 604_800_000;
    log.set_high_watermark(Offset(3));
    let later = Millis(NOW.0 + week + 1);
    assert_eq!(log.delete_old_segments(later).expect("done"), 0, "the policy is compact");
    log.set_config(LogConfig { delete: true, ..config() });
    assert_eq!(log.delete_old_segments(Millis(NOW.0 + week)).expect("done"), 0, "not older than retention.ms");
    assert_eq!(log.delete_old_segments(later).expect("done"), 3, "up to the high watermark");
    assert_eq!(log.log_start(), Offset(3));
    assert!(matches!(log.read(Offset(2), 1, Uncommitted), Err(LogError::OffsetOutOfRange { .. })));
}

#[test]
fn segments_below_the_logs_start_go_whatever_the_policy_and_their_files_after_a_delay() {
    let (fs, mut log) = new_log();
    log.set_config(LogConfig { delete: true, ..config() });
    for key in ["a", "b"] {
        put(&mut log, key, Some("1"));
        log.roll(NOW).expect("rolled");
    }
    log.set_high_watermark(Offset(2));
    log.delete_records(Offset(1)).expect("moved");
    log.set_config(config());
    assert!(log.delete_records(Offset(2)).is_err(), "the policy has no delete");
    assert_eq!(log.delete_old_segments(NOW).expect("done"), 1);
    let deleted = crate::support::file("00000000000000000000.log.deleted");
    let exists = |path| fencepost_reference::storage::fs::FileSystem::exists(&*fs, path).expect("asked");
    assert!(exists(&deleted));
    log.run_deletions(Millis(NOW.0 + 59_999)).expect("done");
    assert!(exists(&deleted));
    log.run_deletions(Millis(NOW.0 + 60_000)).expect("done");
    assert!(!exists(&deleted));
}
