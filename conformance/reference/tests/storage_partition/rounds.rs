//! Which log is cleaned and how far (docs/compaction.md 2.1, 2.2), and how a round can end (2.7).

use fencepost_reference::storage::cleaner_manager::first_dirty;
use fencepost_reference::storage::fs::FileSystem;
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation::Committed;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::partition::RoundEnd;
use fencepost_reference::storage::producer_append::TransactionProtocol::One;
use fencepost_reference::storage::round::{Progress, RoundError};

use crate::support::{Driven, Producer, config};

fn driven() -> Driven {
    Driven::new(LogRules::kafka_4_4(), 100)
}

#[test]
fn a_checkpoint_outside_of_the_log_means_that_everything_is_dirty() {
    let found = |checkpoint: Option<i64>| {
        let first = first_dirty(checkpoint.map(Offset), Offset(10), Offset(20));
        (first.offset.0, first.correct_checkpoint)
    };
    assert_eq!(found(None), (10, false));
    assert_eq!(found(Some(9)), (10, true));
    assert_eq!(found(Some(10)), (10, false));
    assert_eq!(found(Some(20)), (20, false));
    assert_eq!(found(Some(21)), (10, true));
}

#[test]
fn neither_the_active_segment_nor_that_of_the_last_stable_offset_is_cleaned() {
    let mut driven = driven();
    driven.put("a", Some("1"));
    assert!(driven.round().is_none(), "all of it is active");
    driven.partition.roll().expect("rolled");
    driven.put("a", Some("2"));
    driven.partition.roll().expect("rolled");
    assert!(driven.round().is_none(), "nothing is below the high watermark");
    driven.partition.set_high_watermark(Offset(1));
    let round = driven.round().expect("chosen");
    assert_eq!((round.chosen.first_dirty, round.chosen.upper_bound), (Offset(0), Offset(1)));
    let mut p = Producer::new(7, One);
    driven.put_as(&mut p, "b", Some("1")).expect("appended");
    driven.settle();
    driven.put("c", Some("1"));
    driven.settle();
    let round = driven.round().expect("chosen");
    assert_eq!(round.chosen.upper_bound, Offset(2), "the transaction at 2 is open");
}

#[test]
fn the_dirty_ratio_must_be_above_its_limit_not_at_it() {
    let mut driven = driven();
    driven.partition.set_config(LogConfig { min_cleanable_dirty_ratio: 0.5, ..config() });
    driven.put("a", Some("1"));
    driven.settle();
    assert!(driven.round().is_some(), "all of it is dirty");
    driven.put("b", Some("1"));
    driven.settle();
    assert!(driven.round().is_none(), "half of it is dirty");
    driven.put("c", Some("1"));
    driven.settle();
    assert!(driven.round().is_some(), "two of three parts are dirty");
}

#[test]
fn a_record_that_is_younger_than_the_minimum_lag_holds_its_segment_and_all_after_it() {
    let mut driven = driven();
    driven.partition.set_config(LogConfig { min_compaction_lag_ms: Millis(1000), ..config() });
    driven.put("a", Some("1"));
    driven.settle();
    driven.clock(5999);
    assert!(driven.round().is_none());
    driven.clock(6000);
    assert!(driven.round().is_some());
}

#[test]
fn a_record_that_is_older_than_the_maximum_lag_makes_a_clean_enough_log_eligible() {
    let mut driven = driven();
    let lazy = LogConfig { min_cleanable_dirty_ratio: 1.0, max_compaction_lag_ms: Millis(1000), ..config() };
    driven.partition.set_config(lazy);
    driven.put("a", Some("1"));
    driven.settle();
    driven.clock(6000);
    assert!(driven.round().is_none());
    driven.clock(6001);
    assert!(driven.round().is_some());
}

#[test]
fn a_topic_that_is_not_compacted_is_not_cleaned() {
    let mut driven = driven();
    driven.partition.set_config(LogConfig { compact: false, delete: true, ..config() });
    driven.put("a", Some("1"));
    driven.settle();
    assert!(driven.round().is_none());
}

#[test]
fn an_impossible_checkpoint_is_corrected_at_once() {
    let mut driven = driven();
    driven.put("a", Some("1"));
    driven.partition.set_config(LogConfig { min_cleanable_dirty_ratio: 1.0, ..config() });
    let path = std::path::Path::new("/logs/cleaner-offset-checkpoint");
    driven.fs.create(path).expect("created");
    driven.fs.append(path, b"0\n2\nt 0 99\ngone 1 5\n").expect("written");
    assert!(driven.round().is_none(), "it is not chosen");
    let bytes = fencepost_reference::storage::fs::read_all(&*driven.fs, path).expect("read");
    assert_eq!(bytes, b"0\n1\nt 0 0\n", "and partitions that do not exist are dropped");
}

#[test]
fn an_aborted_round_leaves_what_was_swapped_and_the_checkpoint() {
    let mut driven = driven();
    let small = LogConfig { segment_bytes: 80, ..config() };
    driven.partition.set_config(small);
    for key in ["a", "b", "a", "b"] {
        driven.put(key, Some("1"));
    }
    driven.settle();
    let mut recopied = 0;
    let mut hook = |_: &mut Log, progress: Progress| {
        recopied += usize::from(matches!(progress, Progress::RecopyChunk(..)));
        if recopied == 2 { Err(LogError::CleaningAborted) } else { Ok(()) }
    };
    let round = driven.partition.clean_with(&mut hook, RoundEnd::Checkpointed).expect("no file failed");
    let outcome = round.expect("chosen").outcome;
    assert_eq!(outcome, Err(RoundError::Storage(LogError::CleaningAborted)));
    assert_eq!(driven.committed(), ["1:b=1", "2:a=1", "3:b=1"], "the first group was swapped");
    assert_eq!(driven.partition.first_dirty().expect("read"), Some(Offset(0)));
    let names = driven.fs.list(driven.partition.log().directory()).expect("listed");
    assert!(!names.iter().any(|name| name.ends_with(".cleaned")), "{names:?}");
    assert_eq!(driven.clean().cleaned_to, Offset(4));
    assert_eq!(driven.committed(), ["2:a=1", "3:b=1"]);
}

#[test]
fn a_partition_whose_bytes_are_corrupt_is_not_tried_again_and_loses_nothing() {
    let mut driven = driven();
    driven.put("a", Some("1"));
    driven.put("a", Some("2"));
    driven.settle();
    let path = driven.partition.log().segments().next().expect("a segment");
    let path = path.path(fencepost_reference::storage::segment_files::FileKind::Log);
    driven.fs.damage(&path, |bytes| bytes[16] = 9);
    let before = fencepost_reference::storage::fs::read_all(&*driven.fs, &path).expect("read");
    let round = driven.round().expect("chosen");
    assert!(matches!(round.outcome, Err(RoundError::Batch { .. })), "{:?}", round.outcome);
    assert!(driven.round().is_none(), "it is not chosen again");
    assert_eq!(fencepost_reference::storage::fs::read_all(&*driven.fs, &path).expect("read"), before);
}

#[test]
fn a_round_without_anything_new_to_map_changes_no_byte() {
    let mut driven = driven();
    driven.put("a", Some("1"));
    driven.put("a", None);
    driven.clean_all();
    let before = driven.partition.dump().expect("it reads");
    assert!(driven.round().is_none());
    driven.clock(9000);
    assert!(driven.round().is_none(), "a horizon that has passed makes no log worth cleaning");
    assert_eq!(driven.partition.dump().expect("it reads"), before);
}

#[test]
fn segments_are_merged_and_the_old_files_wait_for_their_removal() {
    let mut driven = driven();
    for key in ["a", "b", "c"] {
        driven.put(key, Some("1"));
        driven.partition.roll().expect("rolled");
    }
    driven.clean_all();
    let bases: Vec<i64> = driven.partition.log().segments().map(|segment| segment.base().0).collect();
    assert_eq!(bases, [0, 3]);
    let deleted = |driven: &Driven| {
        let names = driven.fs.list(driven.partition.log().directory()).expect("listed");
        names.iter().filter(|name| name.ends_with(".log.deleted")).count()
    };
    assert_eq!(deleted(&driven), 3);
    driven.clock(5000 + 60_000);
    assert_eq!(deleted(&driven), 0);
    assert_eq!(driven.texts(0, Committed), ["0:a=1", "1:b=1", "2:c=1"]);
}

#[test]
fn a_second_pass_over_what_a_first_one_left_unsaid_leads_to_the_same_log() {
    for protocol in [One, fencepost_reference::storage::producer_append::TransactionProtocol::Two] {
        let mut driven = driven();
        let mut p = Producer::new(7, protocol);
        driven.put("k", Some("1"));
        driven.put_as(&mut p, "k", Some("aborted")).expect("appended");
        driven.end(&mut p, false);
        driven.partition.roll().expect("rolled");
        driven.put_as(&mut p, "k", Some("2")).expect("appended");
        driven.end(&mut p, true);
        driven.put("x", None);
        driven.settle();
        driven.clean();
        driven.put("y", Some("1"));
        driven.put("k", None);
        driven.settle();
        driven
            .partition
            .clean_with(&mut fencepost_reference::storage::cleaner::NoHook, RoundEnd::WithoutCheckpoint)
            .expect("cleaned");
        let once = driven.batches();
        let mut driven = driven.crash();
        driven.partition.set_high_watermark(driven.partition.log().end_offset());
        let first_dirty = driven.partition.first_dirty().expect("read").expect("written");
        let base = driven.partition.log().segments().next().expect("a segment").base();
        assert!(base < first_dirty, "F lies inside of a merged segment");
        driven.clean();
        assert_eq!(driven.committed(), ["5:x=null", "6:y=1", "7:k=null"], "{protocol:?}");
        assert_eq!(driven.batches().len(), once.len(), "{once:?} {:?}", driven.batches());
    }
}

#[test]
fn of_several_logs_the_one_with_the_highest_ratio_is_taken_and_one_that_is_held_up_is_not() {
    use fencepost_reference::storage::batch_builder::{BatchBuilder, BatchHeader};
    use fencepost_reference::storage::checkpoint::TopicPartition;
    use fencepost_reference::storage::cleaner_manager::{CleanerManager, CleaningState};
    use fencepost_reference::storage::memory_fs::MemoryFs;
    use fencepost_reference::storage::recovery::OpenLog;
    use fencepost_reference::storage::rules::CheckpointClamp;

    let fs = std::sync::Arc::new(MemoryFs::new());
    let log_dir = std::path::Path::new("/logs");
    let open = |partition: i32, batches: i64| {
        let open = OpenLog {
            partition: TopicPartition::new("t", partition),
            config: config(),
            rules: LogRules::kafka_4_4(),
            log_start: Offset(0),
            recovery_point: Offset(0),
            clean_shutdown: false,
            now: crate::support::NOW,
        };
        let mut log = Log::open(fs.clone(), &log_dir.join(open.partition.to_string()), &open).expect("opens");
        for offset in 0..batches {
            let record = crate::support::record("k", Some("v"), open.now);
            let batch = BatchBuilder::new(BatchHeader::plain(Offset(offset)));
            let record = fencepost_reference::storage::record::Record { offset: Offset(offset), ..record };
            log.append_as_follower(&batch.record(record).build().expect("a batch"), open.now).expect("appended");
            log.roll(open.now).expect("rolled");
        }
        log.set_high_watermark(log.end_offset());
        log
    };
    let (a, b, c) = (open(0, 4), open(1, 4), open(2, 0));
    let logs = [&a, &b, &c];
    let path = log_dir.join("cleaner-offset-checkpoint");
    fs.create(&path).expect("created");
    fs.append(&path, b"0\n2\nt 0 3\nt 1 2\n").expect("written");
    let mut manager = CleanerManager::new(log_dir, CheckpointClamp::WhileCompacting);
    let now = crate::support::NOW;
    let grab = |manager: &mut CleanerManager| {
        manager.grab_filthiest(&*fs, &logs, now).expect("no file failed").map(|chosen| chosen.partition.partition)
    };
    assert_eq!(grab(&mut manager), Some(1), "half of it is dirty, of the other a quarter");
    assert_eq!(grab(&mut manager), Some(0), "the first is in progress");
    assert_eq!(grab(&mut manager), None, "an empty log is never chosen");
    manager.abort_and_pause(b.partition());
    assert_eq!(manager.check_not_aborted(b.partition()), Err(LogError::CleaningAborted));
    manager.done_cleaning(&*fs, &logs, b.partition(), Offset(4)).expect("done");
    assert_eq!(manager.state(b.partition()), Some(CleaningState::Paused(1)));
    assert_eq!(manager.checkpoints(&*fs).expect("read")[b.partition()], Offset(2), "an aborted round moves nothing");
    manager.abort_and_pause(b.partition());
    manager.resume(b.partition());
    assert_eq!(grab(&mut manager), None, "it was paused twice");
    manager.resume(b.partition());
    assert_eq!(grab(&mut manager), Some(1));
}
