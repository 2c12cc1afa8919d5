//! Opening what is not whole (docs/compaction.md 2.8): torn tails, damaged and missing indexes, files of other sorts.

use std::sync::Arc;

use fencepost_reference::storage::fs::FileSystem;
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_read::Isolation::LogEnd;
use fencepost_reference::storage::memory_fs::{Loss, MemoryFs};
use fencepost_reference::storage::names::Offset;

use crate::crash::{losses, three_segments};
use crate::support::{
    NOW, Producer, all_batches, directory, end, file, new_log, open, opening, put, put_in_transaction, read, text,
    texts,
};

#[test]
fn a_torn_last_batch_is_cut_and_so_is_what_follows_a_wrong_one() {
    let (fs, mut log) = new_log();
    for key in ["a", "b", "c"] {
        put(&mut log, key, Some("1"));
    }
    drop(log);
    let path = file("00000000000000000000.log");
    let bytes = fencepost_reference::storage::fs::read_all(&*fs, &path).expect("read");
    let one = bytes.len() / 3;
    for length in 0..=bytes.len() {
        let torn = Arc::new(fs.after_power_cut(Loss::Nothing));
        torn.damage(&path, |bytes| bytes.truncate(length));
        assert_eq!(read(&open(&torn), 0, LogEnd).records.len(), length / one, "{length}");
    }
    for bit in 0..bytes.len() * 8 {
        let flipped = Arc::new(fs.after_power_cut(Loss::Nothing));
        flipped.damage(&path, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        let left = read(&open(&flipped), 0, LogEnd).records;
        let whole = bit / 8 / one;
        // Base offset and leader epoch are outside of the checksum.
        let outside = (bit / 8 % one) < 16;
        assert!(left.len() == whole || (outside && left.len() > whole), "bit {bit}: {}", left.len());
        assert_eq!(left.iter().take(whole).map(text).collect::<Vec<_>>(), ["0 a=1", "1 b=1", "2 c=1"][..whole]);
    }
}

#[test]
fn a_missing_or_damaged_index_is_rebuilt_and_costs_no_record() {
    let (fs, mut log) = new_log();
    let mut p = Producer::new(7);
    put_in_transaction(&mut log, &mut p, "a", Some("1"));
    put(&mut log, "b", Some("1"));
    end(&mut log, p, false).expect("appended");
    log.roll(NOW).expect("rolled");
    put(&mut log, "c", Some("1"));
    log.close().expect("closed");
    let (end_offset, size) = (log.end_offset(), log.size());
    drop(log);
    for name in ["index", "timeindex", "txnindex"] {
        let path = file(&format!("00000000000000000000.{name}"));
        let length = fencepost_reference::storage::fs::read_all(&*fs, &path).expect("read").len();
        for clean in [true, false] {
            let damaged = Arc::new(fs.after_power_cut(Loss::Nothing));
            damaged.damage(&path, |bytes| bytes.truncate(length - 1));
            let log = Log::open(damaged.clone(), &directory(), &opening(clean, 4)).expect("opens");
            let rebuilt = fencepost_reference::storage::fs::read_all(&*damaged, &path).expect("read");
            let whole = fencepost_reference::storage::fs::read_all(&*fs, &path).expect("read");
            assert_eq!(rebuilt, whole, "{name}");
            assert_eq!((log.end_offset(), log.size()), (end_offset, size));
        }
        if name != "txnindex" {
            let missing = Arc::new(fs.after_power_cut(Loss::Nothing));
            missing.remove(&path).expect("removed");
            let log = Log::open(missing, &directory(), &opening(true, 4)).expect("opens");
            assert_eq!(log.segments().next().expect("a segment").offset_index().entries().len(), 2, "{name}");
        }
    }
}

/// An index that is being rebuilt looks like a sparse one, and an empty transaction index like one without entries.
#[test]
fn a_stop_while_an_index_is_rebuilt_costs_no_aborted_transaction() {
    let (fs, mut log) = new_log();
    let mut p = Producer::new(7);
    put_in_transaction(&mut log, &mut p, "a", Some("1"));
    end(&mut log, p, false).expect("appended");
    log.roll(NOW).expect("rolled");
    put(&mut log, "b", Some("1"));
    log.flush(log.end_offset()).expect("flushed");
    let aborted = log.aborted_transactions(Offset(0), Offset(9));
    assert_eq!(aborted.len(), 1);
    drop(log);
    for damaged in ["timeindex", "index", "txnindex"] {
        for changes in 0.. {
            let stopped = Arc::new(fs.after_power_cut(Loss::Nothing));
            stopped.damage(&file(&format!("00000000000000000000.{damaged}")), |bytes| bytes.truncate(7));
            stopped.power_off_after(changes);
            // The segment lies below the recovery point: nothing but its indexes tells that it needs a repair.
            let recovered = Log::open(stopped.clone(), &directory(), &opening(false, 3)).is_ok();
            for loss in losses() {
                let left = Arc::new(stopped.after_power_cut(loss));
                let log = Log::open(left, &directory(), &opening(false, 3)).expect("opens");
                let found = log.aborted_transactions(Offset(0), Offset(9));
                assert_eq!(found, aborted, "{damaged} {changes} {loss:?} {:?}", stopped.history());
            }
            if recovered {
                break;
            }
        }
    }
}

#[test]
fn strangers_in_the_directory_are_left_alone_and_orphans_are_removed() {
    let (fs, mut log) = new_log();
    put(&mut log, "a", Some("1"));
    drop(log);
    for name in ["partition.metadata", "00000000000000000000.log.tmp", "x.log", "notes.txt"] {
        fs.create(&file(name)).expect("created");
    }
    for name in ["00000000000000000007.index", "00000000000000000009.log.deleted", "00000000000000000003.log.cleaned"] {
        fs.create(&file(name)).expect("created");
    }
    let log = open(&fs);
    assert_eq!(texts(&log, 0, LogEnd), ["0 a=1"]);
    let names = fs.list(&directory()).expect("listed");
    for name in ["partition.metadata", "00000000000000000000.log.tmp", "x.log", "notes.txt"] {
        assert!(names.contains(&name.to_owned()), "{name}");
    }
    assert!(
        !names.iter().any(|name| name.contains("07.index") || name.contains("deleted") || name.contains("cleaned"))
    );
}

#[test]
fn a_swap_above_the_smallest_cleaned_file_is_dropped_with_it() {
    let (fs, mut log) = new_log();
    three_segments(&mut log);
    drop(log);
    fs.create(&file("00000000000000000000.log.cleaned")).expect("created");
    fs.create(&file("00000000000000000002.log.swap")).expect("created");
    let log = open(&fs);
    assert_eq!(all_batches(&log).len(), 6);
    assert!(!fs.exists(&file("00000000000000000002.log.swap")).expect("asked"));
}

#[test]
fn a_clean_stop_leaves_nothing_to_recover() {
    let (fs, mut log) = new_log();
    let mut p = Producer::new(7);
    put_in_transaction(&mut log, &mut p, "a", Some("1"));
    log.close().expect("closed");
    drop(log);
    let lost = Arc::new(fs.after_power_cut(Loss::Everything));
    let log = Log::open(lost.clone(), &directory(), &opening(true, 1)).expect("opens");
    assert_eq!(texts(&log, 0, LogEnd), ["0 a=1"]);
    assert_eq!(log.producers().first_unstable_offset(), Some(Offset(0)));
    let again: &MemoryFs = &lost;
    assert_eq!(again.history(), Vec::<String>::new(), "not a byte was changed");
}

#[test]
fn a_stop_within_a_recovery_that_cuts_leaves_no_gap() {
    let (fs, mut log) = new_log();
    three_segments(&mut log);
    log.flush(log.end_offset()).expect("flushed");
    drop(log);
    // The second record of the second segment is damaged.
    fs.damage(&file("00000000000000000002.log"), |bytes| *bytes.last_mut().expect("bytes") ^= 1);
    for changes in 0.. {
        let stopped = Arc::new(fs.after_power_cut(Loss::Nothing));
        stopped.power_off_after(changes);
        let recovered = Log::open(stopped.clone(), &directory(), &opening(false, 0)).is_ok();
        for loss in losses() {
            let left = texts(&open(&Arc::new(stopped.after_power_cut(loss))), 0, LogEnd);
            assert_eq!(left, ["0 a=1", "1 b=1", "2 a=2"], "{changes} {loss:?} {:?}", stopped.history());
        }
        if recovered {
            break;
        }
    }
}
