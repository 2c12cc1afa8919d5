//! What is left after a stop at each single file operation, with nothing lost, with everything unsynced lost, and with some
//! of it lost.

use std::sync::Arc;

use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::log_read::Isolation::LogEnd;
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::Offset;
use fencepost_reference::storage::segment::Segment;
use fencepost_reference::storage::segment_files::FileStage;

use crate::support::{
    NOW, Producer, all_batches, batch, batch_at, config, directory, end, new_log, open, opening, put,
    put_in_transaction, texts, try_append,
};

pub(crate) const SEEDS: u64 = 25;

pub(crate) fn losses() -> Vec<Loss> {
    let some = (0..SEEDS).map(|seed| Loss::Some { seed });
    [Loss::Nothing, Loss::Everything].into_iter().chain(some).collect()
}

/// Runs `work` on a log made by `prepare`, stopped after each number of changes, and gives what opens after each loss to
/// `check`. How many changes the whole work has.
fn at_each_stop(
    prepare: impl Fn(&mut Log),
    work: impl Fn(&mut Log) -> Result<(), LogError>,
    check: impl Fn(&mut Log, &str),
) -> u64 {
    for changes in 0.. {
        let (fs, mut log) = new_log();
        prepare(&mut log);
        // What was there before the work is durable.
        let fs = {
            log.flush(log.end_offset()).expect("flushed");
            fs
        };
        fs.power_off_after(changes);
        let result = work(&mut log);
        assert!(result.is_ok() || result.as_ref().is_err_and(LogError::is_power_cut), "{result:?}");
        drop(log);
        for loss in losses() {
            let left = Arc::new(fs.after_power_cut(loss));
            let context = format!("after {changes} changes, {loss:?}: {:?}", fs.history());
            let reopened = Log::open(left.clone(), &directory(), &opening(false, 0));
            let mut reopened = reopened.unwrap_or_else(|e| panic!("{e} {context}"));
            check(&mut reopened, &context);
            // Opened again, it is the same: a recovery has nothing left to do.
            let before = (all_batches(&reopened), reopened.end_offset());
            drop(reopened);
            let again = open(&left);
            assert_eq!((all_batches(&again), again.end_offset()), before, "{context}");
        }
        if result.is_ok() {
            return changes;
        }
    }
    0
}

#[test]
fn a_stop_while_appending_and_rolling_leaves_a_prefix() {
    let all = ["0 a=1", "1 b=2", "2 c=3", "3 d=4"];
    let stops = at_each_stop(
        |log| {
            put(log, "a", Some("1"));
        },
        |log| {
            try_append(log, &batch(None, &[("b", Some("2"))]))?;
            log.roll(NOW)?;
            try_append(log, &batch(None, &[("c", Some("3"))]))?;
            log.roll(NOW)?;
            try_append(log, &batch(None, &[("d", Some("4"))]))?;
            Ok(())
        },
        |log, context| {
            let left = texts(log, 0, LogEnd);
            assert!(!left.is_empty() && left == all[..left.len()], "{left:?} {context}");
            assert_eq!(log.end_offset().0, i64::try_from(left.len()).expect("small"), "{context}");
        },
    );
    assert!(stops > 20, "{stops}");
}

#[test]
fn what_a_roll_has_returned_from_is_never_lost() {
    let stops = at_each_stop(
        |log| {
            put(log, "a", Some("1"));
            log.roll(NOW).expect("rolled");
        },
        |log| {
            try_append(log, &batch(None, &[("b", Some("2"))]))?;
            Ok(())
        },
        |log, context| assert_eq!(texts(log, 0, LogEnd)[0], "0 a=1", "{context}"),
    );
    assert!(stops > 0);
}

#[test]
fn the_producers_and_the_aborted_transactions_are_those_of_the_records_that_are_left() {
    at_each_stop(
        |log| {
            let mut p = Producer::new(7);
            put_in_transaction(log, &mut p, "a", Some("1"));
        },
        |log| {
            let mut p = Producer { sequence: 1, ..Producer::new(7) };
            end(log, p, false)?;
            log.roll(NOW)?;
            try_append(log, &batch(Some((p, true)), &[("b", Some("2"))]))?;
            p.sequence += 1;
            end(log, p, true).map(drop)
        },
        |log, context| {
            // The state of a log that was given the same batches and never stopped.
            let (_, mut oracle) = new_log();
            for segment in log.segments() {
                for stored in segment.batches(&**log.fs(), 0) {
                    oracle.append_as_follower(&stored.expect("a batch").bytes, NOW).expect("appended");
                }
            }
            let aborted = |log: &Log| log.aborted_transactions(Offset(0), Offset(100));
            assert_eq!(aborted(log), aborted(&oracle), "{context}");
            let producers = |log: &Log| {
                let entries = log.producers().producers().values();
                // A snapshot keeps the last batch alone.
                let entry = |entry: &fencepost_reference::storage::producer_entry::ProducerEntry| {
                    (entry.epoch, entry.last_sequence(), entry.last_data_offset(), entry.transaction_start)
                };
                entries.map(entry).collect::<Vec<_>>()
            };
            assert_eq!(producers(log), producers(&oracle), "{context}");
            for log in [&mut *log, &mut oracle] {
                log.set_high_watermark(log.end_offset());
            }
            assert_eq!(log.last_stable_offset(), oracle.last_stable_offset(), "{context}");
        },
    );
}

/// Three segments of two records each, and a cleaned one that keeps one record of each of the first two.
pub(crate) fn three_segments(log: &mut Log) {
    for (key, value) in [("a", "1"), ("b", "1"), ("a", "2"), ("b", "2"), ("c", "1"), ("d", "1")] {
        let appended = put(log, key, Some(value));
        if appended.first_offset.0 % 2 == 1 {
            log.roll(NOW).expect("rolled");
        }
    }
}

fn swap(log: &mut Log, kept: &[(i64, &str, &str)], old: &[i64]) -> Result<(), LogError> {
    let fs = log.fs().clone();
    let base = Offset(old[0]);
    let mut cleaned = Segment::create(&*fs, log.directory(), base, FileStage::Cleaned, &config(), NOW)?;
    for (offset, key, value) in kept {
        cleaned.append(&*fs, &batch_at(*offset, None, &[(key, Some(value))]), NOW)?;
    }
    cleaned.close(&*fs)?;
    let old: Vec<Offset> = old.iter().copied().map(Offset).collect();
    log.replace_segments(cleaned, &old, NOW)
}

#[test]
fn a_stop_while_swapping_leaves_the_old_segments_or_the_new_one() {
    let old = ["0 a=1", "1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    let new = ["2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    let stops = at_each_stop(
        three_segments,
        |log| swap(log, &[(2, "a", "2"), (3, "b", "2")], &[0, 2]),
        |log, context| {
            let left = texts(log, 0, LogEnd);
            assert!(left == old || left == new, "{left:?} {context}");
            assert_eq!(log.end_offset(), Offset(6));
        },
    );
    assert!(stops >= 20, "each rename and sync is a stop of its own: {stops}");
}

/// docs/compaction.md 2.8: the next offset of the swap is that of its content, so that old segments above it come back.
#[test]
fn after_a_stop_a_suffix_of_the_old_segments_may_come_back_and_nothing_else() {
    let old = ["0 a=1", "1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    let new = ["1 b=1", "4 c=1", "5 d=1"];
    let with_suffix = ["1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    let came_back = std::cell::Cell::new(0);
    at_each_stop(
        three_segments,
        // As if the records at 2 and 3 had been of an aborted transaction.
        |log| swap(log, &[(1, "b", "1")], &[0, 2]),
        |log, context| {
            let left = texts(log, 0, LogEnd);
            came_back.set(came_back.get() + usize::from(left == with_suffix));
            assert!(left == old || left == new || left == with_suffix, "{left:?} {context}");
        },
    );
    assert!(came_back.get() > 0, "the case is reached");
}

#[test]
fn a_stop_while_cutting_leaves_a_prefix_that_has_what_was_to_stay() {
    let old = ["0 a=1", "1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    at_each_stop(
        three_segments,
        |log| log.truncate_to(Offset(3), NOW),
        |log, context| {
            let left = texts(log, 0, LogEnd);
            assert!(left.len() >= 3 && left == old[..left.len()], "{left:?} {context}");
        },
    );
}

#[test]
fn a_stop_within_a_recovery_is_like_the_one_before_it() {
    let (fs, mut log) = new_log();
    three_segments(&mut log);
    log.flush(log.end_offset()).expect("flushed");
    // Every stop of a swap, and then every stop of the recovery from it.
    let new = ["2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    let old = ["0 a=1", "1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    for changes in 0.. {
        let fs = Arc::new(fs.after_power_cut(Loss::Nothing));
        let mut log = open(&fs);
        fs.power_off_after(changes);
        let swapped = swap(&mut log, &[(2, "a", "2"), (3, "b", "2")], &[0, 2]).is_ok();
        for again in 0.. {
            let stopped = Arc::new(fs.after_power_cut(Loss::Nothing));
            stopped.power_off_after(again);
            let recovered = Log::open(stopped.clone(), &directory(), &opening(false, 0)).is_ok();
            for loss in [Loss::Nothing, Loss::Everything, Loss::Some { seed: changes + 1 }, Loss::Some { seed: again }]
            {
                let left = texts(&open(&Arc::new(stopped.after_power_cut(loss))), 0, LogEnd);
                assert!(left == old || left == new, "{changes} {again} {loss:?}: {left:?} {:?}", stopped.history());
            }
            if recovered {
                break;
            }
        }
        if swapped {
            break;
        }
    }
}

#[test]
fn of_a_group_of_many_no_later_segment_goes_while_an_earlier_one_comes_back() {
    let prepare = |log: &mut Log| {
        for key in ["a", "b", "c", "d"] {
            put(log, key, Some("1"));
            log.roll(NOW).expect("rolled");
        }
    };
    let all = ["0 a=1", "1 b=1", "2 c=1", "3 d=1"];
    at_each_stop(
        prepare,
        |log| swap(log, &[(0, "a", "1")], &[0, 1, 2, 3]),
        |log, context| {
            let left = texts(log, 0, LogEnd);
            assert_eq!(left[0], all[0], "{context}");
            assert!(all.ends_with(&left[1..].iter().map(String::as_str).collect::<Vec<_>>()), "{left:?} {context}");
        },
    );
}

#[test]
fn a_stop_while_deleting_old_segments_leaves_a_suffix() {
    let all = ["0 a=1", "1 b=1", "2 a=2", "3 b=2", "4 c=1", "5 d=1"];
    at_each_stop(
        |log| {
            three_segments(log);
            log.set_config(fencepost_reference::storage::log_rules::LogConfig { delete: true, ..config() });
            log.set_high_watermark(Offset(6));
        },
        |log| {
            log.delete_records(Offset(4))?;
            log.delete_old_segments(NOW).map(drop)
        },
        |log, context| {
            let left = texts(log, log.log_start().0, LogEnd);
            assert!(
                left.len() >= 2 && all.ends_with(&left.iter().map(String::as_str).collect::<Vec<_>>()),
                "{left:?} {context}"
            );
        },
    );
}

#[test]
fn a_stop_while_a_checkpoint_is_written_leaves_the_old_one_or_the_new_one() {
    use fencepost_reference::storage::checkpoint::{CheckpointFile, CheckpointKind, TopicPartition};
    let offsets = |offset| std::collections::BTreeMap::from([(TopicPartition::new("t", 0), Offset(offset))]);
    let checkpoint = CheckpointFile::new(std::path::Path::new("/logs"), CheckpointKind::Cleaner);
    for changes in 0.. {
        let fs = MemoryFs::new();
        checkpoint.write(&fs, &offsets(3)).expect("written");
        fs.power_off_after(changes);
        let written = checkpoint.write(&fs, &offsets(7)).is_ok();
        for loss in losses() {
            let left = checkpoint.read(&fs.after_power_cut(loss)).expect("it reads");
            assert!(left == offsets(3) && !written || left == offsets(7), "{changes} {loss:?} {left:?}");
        }
        if written {
            break;
        }
    }
}
