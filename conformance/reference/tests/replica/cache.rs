//! The epoch cache (docs/replication.md 1.3), with the vectors of Kafka's `LeaderEpochFileCacheTest` and of public reports,
//! and its file (1.4, 1.8).

use std::path::Path;

use fencepost_reference::replica::epoch_cache::{EpochCache, EpochEnd, EpochEntry};
use fencepost_reference::replica::names::{LeaderEpoch, Offset};
use fencepost_reference::storage::fs::{FileSystem, read_all};
use fencepost_reference::storage::leader_epoch_checkpoint::LeaderEpochs;
use fencepost_reference::storage::log_error::LogError;
use fencepost_reference::storage::memory_fs::MemoryFs;

type Entries = &'static [(i32, i64)];

fn cache(entries: &[(i32, i64)]) -> EpochCache {
    let entry = |(epoch, offset): &(i32, i64)| EpochEntry { epoch: LeaderEpoch(*epoch), start_offset: Offset(*offset) };
    EpochCache::from_entries(entries.iter().map(entry)).expect("entries")
}

fn entries(cache: &EpochCache) -> Vec<(i32, i64)> {
    cache.entries().iter().map(|entry| (entry.epoch.0, entry.start_offset.0)).collect()
}

#[test]
fn an_entry_drops_what_contradicts_it() {
    let rows: &[(Entries, (i32, i64), Entries)] = &[
        (&[], (0, 0), &[(0, 0)]),
        (&[(2, 6)], (2, 7), &[(2, 6)]),
        (&[(2, 6)], (2, 5), &[(2, 5)]),
        (&[(2, 6)], (3, 5), &[(3, 5)]),
        (&[(2, 9)], (3, 9), &[(3, 9)]),
        (&[(1, 5), (2, 6)], (1, 7), &[(1, 7)]),
        (&[(1, 5), (2, 6)], (1, 6), &[(1, 6)]),
    ];
    for (before, (epoch, offset), after) in rows {
        let mut cache = cache(before);
        let changed = cache.assign(LeaderEpoch(*epoch), Offset(*offset)).expect("assigned");
        assert_eq!(entries(&cache), *after, "{before:?} and ({epoch}, {offset})");
        assert_eq!(changed, before != after);
    }
}

#[test]
fn neither_epoch_nor_offset_is_negative() {
    let mut cache = EpochCache::default();
    assert!(cache.assign(LeaderEpoch(-1), Offset(0)).is_err());
    assert!(cache.assign(LeaderEpoch(0), Offset(-1)).is_err());
    assert!(cache.entries().is_empty());
}

#[test]
fn under_kip_101_what_contradicts_an_entry_is_not_noted() {
    for (entry, after) in
        [((2, 5), [(2, 6)].as_slice()), ((1, 9), &[(2, 6)]), ((3, 5), &[(2, 6)]), ((3, 9), &[(2, 6), (3, 9)])]
    {
        let mut cache = cache(&[(2, 6)]);
        cache.assign_rising(LeaderEpoch(entry.0), Offset(entry.1)).expect("assigned");
        assert_eq!(entries(&cache), after, "{entry:?}");
    }
}

#[test]
fn advancing_the_start_keeps_the_epoch_that_wrote_it() {
    let rows: &[(i64, Entries, bool)] = &[
        (8, &[(3, 8), (4, 11)], true),
        (9, &[(3, 9), (4, 11)], true),
        (1, &[(2, 6), (3, 8), (4, 11)], false),
        (-1, &[(2, 6), (3, 8), (4, 11)], false),
        (6, &[(2, 6), (3, 8), (4, 11)], true),
        (15, &[(4, 15)], true),
    ];
    for (start, after, touched) in rows {
        let mut cache = cache(&[(2, 6), (3, 8), (4, 11)]);
        assert_eq!(cache.truncate_from_start(Offset(*start)), *touched, "{start}");
        assert_eq!(entries(&cache), *after, "{start}");
    }
}

#[test]
fn cutting_the_end_drops_the_epochs_that_begin_there_or_later() {
    let rows: &[(i64, Entries)] = &[
        (8, &[(2, 6)]),
        (9, &[(2, 6), (3, 8)]),
        (-1, &[(2, 6), (3, 8), (4, 11)]),
        (12, &[(2, 6), (3, 8), (4, 11)]),
        (0, &[]),
    ];
    for (end, after) in rows {
        let mut cache = cache(&[(2, 6), (3, 8), (4, 11)]);
        cache.truncate_from_end(Offset(*end));
        assert_eq!(entries(&cache), *after, "{end}");
    }
}

#[test]
fn an_epoch_ends_where_the_next_one_begins_and_the_latest_at_the_end_of_the_log() {
    let rows: &[(Entries, i32, (i32, i64))] = &[
        (&[(0, 10), (2, 13), (4, 17)], 0, (0, 13)),
        (&[(0, 10), (2, 13), (4, 17)], 1, (0, 13)),
        (&[(0, 10), (2, 13), (4, 17)], 2, (2, 17)),
        (&[(0, 10), (2, 13), (4, 17)], 3, (2, 17)),
        (&[(0, 10), (2, 13), (4, 17)], 4, (4, 20)),
        (&[(0, 10), (2, 13), (4, 17)], 5, (-1, -1)),
        (&[(0, 10), (2, 13), (4, 17)], -1, (-1, -1)),
        (&[(5, 11), (6, 12), (7, 13)], 4, (4, 11)),
        (&[(2, 100)], 3, (-1, -1)),
        (&[(2, 100)], 1, (1, 100)),
        (&[], 0, (-1, -1)),
        (&[], -1, (-1, -1)),
    ];
    for (cached, asked, (epoch, end)) in rows {
        let answer = cache(cached).end_offset_for(LeaderEpoch(*asked), Offset(20));
        assert_eq!(answer, EpochEnd { epoch: LeaderEpoch(*epoch), end_offset: Offset(*end) }, "{cached:?}, {asked}");
    }
}

#[test]
fn an_epoch_above_all_has_no_end_and_one_in_a_gap_that_of_the_one_below_redpanda_11864() {
    // 0 to 4 of epoch 1, 5 to 9 of epoch 3.
    let cache = cache(&[(1, 0), (3, 5)]);
    let end_of = |epoch| cache.end_offset_for(LeaderEpoch(epoch), Offset(10));
    assert_eq!(end_of(7), EpochEnd::UNDEFINED);
    assert_eq!(end_of(1), EpochEnd { epoch: LeaderEpoch(1), end_offset: Offset(5) });
    assert_eq!(end_of(2), EpochEnd { epoch: LeaderEpoch(1), end_offset: Offset(5) });
}

#[test]
fn under_kip_101_an_epoch_before_all_has_no_end() {
    let cache = cache(&[(2, 100)]);
    assert_eq!(cache.end_offset_before_7415(LeaderEpoch(1), Offset(120)), EpochEnd::UNDEFINED);
    assert_eq!(cache.end_offset_before_7415(LeaderEpoch(2), Offset(120)).end_offset, Offset(120));
}

#[test]
fn a_record_has_the_last_epoch_that_begins_at_or_below_it() {
    let cache = cache(&[(1, 5), (3, 9)]);
    let found = [4, 5, 8, 9, 20].map(|offset| cache.epoch_for_offset(Offset(offset)).map(|epoch| epoch.0));
    assert_eq!(found, [None, Some(1), Some(1), Some(3), Some(3)]);
}

const FILE: &str = "/logs/t-0/leader-epoch-checkpoint";

fn opened(fs: &MemoryFs) -> Result<LeaderEpochs, LogError> {
    LeaderEpochs::open(fs, Path::new("/logs/t-0"))
}

#[test]
fn what_is_added_is_in_the_file_at_once_and_what_is_cut_later() {
    let fs = MemoryFs::new();
    let mut epochs = opened(&fs).expect("no file");
    epochs.assign(&fs, LeaderEpoch(0), Offset(0)).expect("written");
    epochs.assign(&fs, LeaderEpoch(3), Offset(17)).expect("written");
    assert_eq!(read_all(&fs, Path::new(FILE)).expect("a file"), b"0\n2\n0 0\n3 17\n");
    epochs.truncate_from_end(Offset(17));
    assert_eq!(epochs.latest(), Some(LeaderEpoch(0)));
    // A crash here leaves one entry too many, which the end of the log takes away.
    assert_eq!(opened(&fs).expect("readable").latest(), Some(LeaderEpoch(3)));
    epochs.flush(&fs).expect("written");
    assert_eq!(opened(&fs).expect("readable"), epochs);
    epochs.clear(&fs).expect("written");
    assert_eq!(read_all(&fs, Path::new(FILE)).expect("a file"), b"0\n0\n");
}

#[test]
fn a_file_is_read_as_a_row_of_assignments() {
    let fs = MemoryFs::new();
    fs.create_dir(Path::new("/logs/t-0")).expect("a directory");
    fs.create(Path::new(FILE)).expect("a file");
    assert!(opened(&fs).expect("an empty file").entries().is_empty());
    fs.damage(Path::new(FILE), |bytes| *bytes = b"0\n3\n0 0\n3 17\n2 10\n".to_vec());
    let read: Vec<_> = opened(&fs).expect("readable").entries().iter().map(|e| (e.epoch.0, e.start_offset.0)).collect();
    assert_eq!(read, [(0, 0), (2, 10)]);
    for damaged in ["1\n0\n", "0\n2\n0 0\n", "0\n1\n0\n", "0\n1\n0 x\n", "0\n1\n-1 4\n", "0\n"] {
        fs.damage(Path::new(FILE), |bytes| *bytes = damaged.as_bytes().to_vec());
        assert!(matches!(opened(&fs), Err(LogError::Corrupt { .. })), "{damaged:?}");
    }
}
