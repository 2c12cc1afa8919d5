//! Recopy: which segments are read, how they are grouped, and how their records' formats survive (docs/compaction.md 2.5
//! and 2.6).

use fencepost_reference::storage::compression::Compression;
use fencepost_reference::storage::grouping::{GroupLimits, SourceSegment, group_segments};
use fencepost_reference::storage::legacy;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::rules::Rules;

use crate::log::{Log, compressed};

fn segment(base: i64, bytes: u64) -> SourceSegment {
    SourceSegment { base: Offset(base), bytes, offset_index_bytes: 8, time_index_bytes: 12, mtime: Millis(0) }
}

fn groups(segments: &[SourceSegment], upper: i64, segment_bytes: u64, segment_index_bytes: u64) -> Vec<Vec<i64>> {
    let limits = GroupLimits { segment_bytes, segment_index_bytes };
    group_segments(segments, Offset(upper), &limits, Rules::kafka_4_4())
        .iter()
        .map(|group| group.iter().map(|segment| segment.base.0).collect())
        .collect()
}

#[test]
fn a_group_is_as_long_as_sizes_allow() {
    let segments = [segment(0, 40), segment(10, 40), segment(20, 20), segment(30, 500), segment(40, 1)];
    assert_eq!(groups(&segments, 50, 100, 1000), [vec![0, 10, 20], vec![30], vec![40]]);
    assert_eq!(groups(&segments, 50, 1000, 24), [vec![0, 10], vec![20, 30], vec![40]]);
    assert_eq!(groups(&segments, 50, 0, 0), [[0], [10], [20], [30], [40]]);
    assert!(groups(&[], 0, 100, 100).is_empty());
}

// KAFKA-5413, KAFKA-12889
#[test]
fn a_group_spans_no_more_offsets_than_an_index_tells_unless_the_segment_is_empty() {
    let far = i64::from(i32::MAX);
    let last = |bytes| [segment(0, 1), segment(10, bytes)];
    assert_eq!(groups(&last(1), far + 1, 100, 100), [[0, 10]]);
    assert_eq!(groups(&last(1), far + 2, 100, 100), [[0], [10]]);
    assert_eq!(groups(&last(0), far + 2, 100, 100), [[0, 10]]);
    let middle = [segment(0, 1), segment(10, 1), segment(far + 2, 1)];
    assert_eq!(groups(&middle, far + 3, 100, 100), [vec![0], vec![10, far + 2]]);
}

#[test]
fn a_merged_segment_counts_as_modified_when_the_last_of_its_group_was() {
    let mut log = Log::kafka();
    for time in [1000, 2000, 3000] {
        log.now = Millis(time);
        log.value("k", "v");
        log.roll();
    }
    log.clean_at(9000);
    assert_eq!(log.segments.len(), 2);
    assert_eq!(log.segments[0].mtime, Millis(3000));
}

#[test]
fn every_round_looks_at_the_horizons_of_the_whole_clean_section() {
    let mut log = Log::kafka();
    log.segment_bytes = 1;
    log.tombstone("k");
    log.roll();
    log.value("a", "1");
    log.roll();
    log.clean_at(5000);
    assert_eq!(log.horizon(0), Some(5100));
    log.value("b", "1");
    log.roll();
    log.clean_at(5100);
    assert!(!log.has(0));
}

#[test]
fn a_batch_of_several_tombstones_has_one_horizon_that_outlives_them() {
    let mut log = Log::kafka();
    log.append(&[("a", None), ("b", None), ("c", Some("1"))]);
    log.value("z", "1");
    log.roll();
    log.clean_at(5000);
    log.value("a", "1");
    log.roll();
    log.clean_at(5050);
    assert_eq!(log.dump()[0].horizon, Some(5100));
    assert_eq!(log.dump()[0].records.len(), 2);
    log.value("y", "1");
    log.roll();
    log.clean_at(5100);
    assert_eq!((log.dump()[0].horizon, log.dump()[0].records.len()), (Some(5100), 1));
}

#[test]
fn a_superseded_tombstone_goes_without_waiting() {
    let mut log = Log::kafka();
    log.tombstone("k");
    log.value("k", "v");
    log.roll();
    log.clean_at(5000);
    assert_eq!(log.records(), [(1, "k=v".to_owned())]);
}

#[test]
fn a_change_of_retention_moves_no_horizon() {
    let mut log = Log::kafka();
    log.tombstone("k");
    log.value("z", "1");
    log.roll();
    log.clean_at(5000);
    log.delete_retention = Millis(0);
    log.append(&[("y", Some("1"))]);
    log.roll();
    log.clean_at(5050);
    assert_eq!(log.horizon(0), Some(5100));
}

#[test]
fn records_of_every_codec_are_mapped_and_copied() {
    for codec in Compression::ALL {
        let mut log = Log::kafka();
        log.feed(&compressed(0, codec, "k", Some("old")));
        log.feed(&compressed(1, codec, "k", Some("new")));
        log.feed(&compressed(2, codec, "t", None));
        log.value("z", "1");
        log.roll();
        log.clean_at(5000);
        let kept = log.records();
        assert_eq!(kept[..2], [(1, "k=new".to_owned()), (2, "t=null".to_owned())]);
        assert_eq!(log.horizon(2), Some(5100));
    }
}

fn wrapped(magic: i8, codec: Compression) -> Vec<u8> {
    let record = |offset, key: &str, value: Option<&str>| {
        Record::new(Offset(offset), Millis(1000 + offset), Some(key.as_bytes()), value.map(str::as_bytes))
    };
    let records = [record(3, "a", Some("1")), record(4, "b", None), record(5, "c", Some("1"))];
    let mut bytes = Vec::new();
    legacy::write(&mut bytes, magic, codec, None, &records).unwrap();
    bytes
}

#[test]
fn wrappers_of_old_formats_are_converted_and_stamped_in_the_pass_that_copies_them() {
    for magic in [0, 1] {
        for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4] {
            let mut log = Log::kafka();
            log.feed(&wrapped(magic, codec));
            log.value("c", "2");
            log.roll();
            log.clean_at(5000);
            let batch = &log.dump()[0];
            assert_eq!((batch.first, batch.last, batch.horizon), (3, 4, Some(5100)), "magic {magic}, {codec:?}");
            assert_eq!(batch.records, [(3, "a=1".to_owned()), (4, "b=null".to_owned())]);
        }
    }
}

#[test]
fn old_formats_pass_through_where_they_are_not_converted() {
    for magic in [0, 1] {
        let mut log = Log::new(Rules::kafka_4_0());
        let bytes = wrapped(magic, Compression::Gzip);
        log.feed(&bytes);
        log.value("z", "2");
        log.roll();
        log.clean_at(5000);
        assert!(log.segments[0].bytes.starts_with(&bytes), "nothing went: the same bytes");
        log.value("c", "2");
        log.roll();
        log.clean_at(5000);
        let batch = &log.dump()[0];
        assert_eq!((batch.last, batch.horizon), (4, None));
        assert_eq!(batch.records, [(3, "a=1".to_owned()), (4, "b=null".to_owned())]);
    }
}
