//! The three tables of docs/compaction.md 2.6, row by row, with the rule for headers and the older rules beside them.

use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::clean_times::NOTHING_KNOWN;
use fencepost_reference::storage::compression::Compression;
use fencepost_reference::storage::legacy;
use fencepost_reference::storage::names::{Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::offset_map::{ExactOffsetMap, OffsetMap};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::retention::{
    ActiveProducers, BatchVerdict, LastRecord, Output, Pass, judge_batch, judge_output, judge_record, keep_header,
};
use fencepost_reference::storage::rules::{LastOfRound, LegacyBatches, Removal, Rules, Stamping};

const NOW: i64 = 5000;
const D: i64 = 100;
const X: i64 = 50;
const U: i64 = 60;
const HW: i64 = 70;

fn in_pass<T>(change: impl Fn(&mut Pass<'_>), question: impl FnOnce(&Pass<'_>) -> T) -> T {
    let producers = ActiveProducers::new();
    let mut pass = Pass {
        first_dirty: Offset(i64::MAX),
        rules: Rules::kafka_4_4(),
        now: Millis(NOW),
        delete_retention: Millis(D),
        mapped: Offset(X),
        upper_bound: Offset(U),
        high_watermark: Offset(HW),
        young_file: false,
        clean_times: &NOTHING_KNOWN,
        replicated: Offset(i64::MAX),
        producers: &producers,
    };
    change(&mut pass);
    question(&pass)
}

fn view(bytes: &[u8]) -> LogBatch<'_> {
    BatchReader::new(bytes).next().expect("a batch").expect("a sound one")
}

fn record(offset: i64, key: Option<&str>, value: Option<&str>) -> Record {
    Record::new(Offset(offset), Millis(1000), key.map(str::as_bytes), value.map(str::as_bytes))
}

fn batch(header: BatchHeader, horizon: Option<i64>, records: &[Record]) -> Vec<u8> {
    BatchBuilder::new(header).delete_horizon(horizon.map(Millis)).records(records.to_vec()).build().expect("a batch")
}

fn data(offset: i64, horizon: Option<i64>) -> Vec<u8> {
    batch(BatchHeader::plain(Offset(offset)), horizon, &[record(offset, Some("k"), Some("v"))])
}

fn control(kind: u8, horizon: Option<i64>) -> Vec<u8> {
    let header = BatchHeader {
        control: true,
        transactional: true,
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(3),
        ..BatchHeader::plain(Offset(10))
    };
    let marker = Record::new(Offset(10), Millis(1000), Some(&[0, 0, 0, kind]), Some(&[0; 6]));
    batch(header, horizon, &[marker])
}

fn empty_control() -> Vec<u8> {
    batch(BatchHeader { control: true, transactional: true, ..BatchHeader::plain(Offset(10)) }, None, &[])
}

#[test]
fn table_a_says_what_happens_to_the_records_of_a_batch() {
    use BatchVerdict::{DropRecords, JudgeRecords, KeepRecords, StampRecords};
    for (row, bytes, can_discard, verdict) in [
        ("A1", data(10, None), true, DropRecords),
        ("A1, any horizon", data(10, Some(NOW + 1)), true, DropRecords),
        ("A1, above X", data(X + 1, None), true, DropRecords),
        ("A2", data(10, None), false, JudgeRecords),
        ("A2, horizon past", data(10, Some(NOW)), false, JudgeRecords),
        ("A3", control(1, None), false, KeepRecords),
        ("A3, horizon past", control(0, Some(NOW)), false, KeepRecords),
        ("A4", control(1, None), true, StampRecords),
        ("A5", control(1, Some(NOW + 1)), true, KeepRecords),
        ("A6, now == h", control(1, Some(NOW)), true, DropRecords),
        ("A6, now > h", control(0, Some(NOW - 1)), true, DropRecords),
        ("A6, h = 0", control(0, Some(0)), true, DropRecords),
        ("A7", empty_control(), true, StampRecords),
        ("A8", control(2, None), false, KeepRecords),
        ("A8, unknown", control(99, None), false, KeepRecords),
    ] {
        let given = in_pass(|_| {}, |pass| judge_batch(&view(&bytes), can_discard, pass));
        assert_eq!(given, verdict, "{row}");
    }
}

#[test]
fn before_kip_534_a_marker_went_by_the_file_of_its_segment() {
    for removal in [Removal::SegmentMtime, Removal::DeleteHorizonOfTombstones] {
        for (young_file, verdict) in [(true, BatchVerdict::KeepRecords), (false, BatchVerdict::DropRecords)] {
            let marker = control(1, Some(NOW - 1));
            let given = in_pass(
                |pass| (pass.rules.removal, pass.young_file) = (removal, young_file),
                |pass| judge_batch(&view(&marker), true, pass),
            );
            assert_eq!(given, verdict, "{removal:?}");
        }
    }
}

#[test]
fn table_b_says_which_record_stays() {
    // The map has `newer` above and `same` at the record.
    let mut map = ExactOffsetMap::new(8);
    map.put(b"newer", Offset(40));
    map.put(b"same", Offset(10));
    map.put(b"older", Offset(5));
    for (row, offset, key, value, horizon, stays) in [
        ("B1, unkeyed", X + 1, None, Some("v"), None, true),
        ("B1, expired", X + 1, Some("k"), None, Some(NOW), true),
        ("B2", 10, None, Some("v"), None, false),
        ("B2, at X", X, None, Some("v"), None, false),
        ("B2, null", 10, None, None, None, false),
        ("B3", 10, Some("newer"), Some("v"), None, false),
        ("B3, tombstone", 10, Some("newer"), None, None, false),
        ("B3, tombstone before its horizon", 10, Some("newer"), None, Some(NOW + 1), false),
        ("B4, at its offset", 10, Some("same"), Some("v"), None, true),
        ("B4, below the map's", 10, Some("older"), Some("v"), None, true),
        ("B4, not in the map", 10, Some("k"), Some("v"), None, true),
        ("B4, empty value", 10, Some("k"), Some(""), Some(NOW), true),
        ("B5", 10, Some("k"), None, None, true),
        ("B5, in the map", 10, Some("same"), None, None, true),
        ("B6", 10, Some("k"), None, Some(NOW + 1), true),
        ("B7, now == h", 10, Some("k"), None, Some(NOW), false),
        ("B7, now > h", 10, Some("k"), None, Some(0), false),
    ] {
        let record = record(offset, key, value);
        let bytes = batch(BatchHeader::plain(Offset(offset)), horizon, std::slice::from_ref(&record));
        let given = in_pass(|_| {}, |pass| judge_record(&view(&bytes), &record.view(), &map, pass));
        assert_eq!(given, stays, "{row}");
    }
}

#[test]
fn table_b8_an_old_tombstone_stays_while_its_file_is_young() {
    let map = ExactOffsetMap::new(1);
    for magic in [0, 1] {
        for young_file in [true, false] {
            let record = record(10, Some("k"), None);
            let mut bytes = Vec::new();
            legacy::write(&mut bytes, magic, Compression::None, None, std::slice::from_ref(&record)).expect("a record");
            let given = in_pass(
                |pass| pass.young_file = young_file,
                |pass| judge_record(&view(&bytes), &record.view(), &map, pass),
            );
            assert_eq!(given, young_file);
        }
    }
}

#[test]
fn before_kip_534_every_tombstone_went_by_the_file_of_its_segment() {
    let map = ExactOffsetMap::new(1);
    let record = record(10, Some("k"), None);
    for horizon in [None, Some(NOW - 1), Some(NOW + 1)] {
        for young_file in [true, false] {
            let bytes = batch(BatchHeader::plain(Offset(10)), horizon, std::slice::from_ref(&record));
            let given = in_pass(
                |pass| (pass.rules, pass.young_file) = (Rules::kafka_3_0(), young_file),
                |pass| judge_record(&view(&bytes), &record.view(), &map, pass),
            );
            assert_eq!(given, young_file);
        }
    }
}

#[test]
fn table_c_says_how_a_batch_is_written() {
    use BatchVerdict::{DropRecords, JudgeRecords, KeepRecords, StampRecords};
    let value = record(10, Some("a"), Some("v"));
    let tombstone = record(11, Some("b"), None);
    let unkeyed = record(11, None, None);
    let stamp = Output::Rebuild { horizon: Some(Millis(NOW + D)) };
    let old = Output::Rebuild { horizon: Some(Millis(NOW - 1)) };
    let plain = Output::Rebuild { horizon: None };
    for (row, horizon, verdict, retained, all, output) in [
        ("nothing", None, JudgeRecords, vec![], false, Output::Nothing),
        ("nothing of an aborted transaction", None, DropRecords, vec![], false, Output::Nothing),
        ("values, all", None, JudgeRecords, vec![&value], true, Output::Verbatim),
        ("values, some", None, JudgeRecords, vec![&value], false, plain),
        ("values, some, old horizon", Some(NOW - 1), JudgeRecords, vec![&value], false, old),
        ("values, all, old horizon", Some(NOW - 1), JudgeRecords, vec![&value], true, Output::Verbatim),
        ("tombstone, all", None, JudgeRecords, vec![&value, &tombstone], true, stamp),
        ("tombstone, some", None, JudgeRecords, vec![&tombstone], false, stamp),
        ("tombstone, all, old horizon", Some(NOW - 1), JudgeRecords, vec![&tombstone], true, Output::Verbatim),
        ("tombstone, some, old horizon", Some(NOW - 1), JudgeRecords, vec![&tombstone], false, old),
        ("no key and no value", None, JudgeRecords, vec![&unkeyed], true, stamp),
        ("marker, A3", None, KeepRecords, vec![&value], true, Output::Verbatim),
        ("marker, A4", None, StampRecords, vec![&value], true, stamp),
        ("marker, A5", Some(NOW - 1), KeepRecords, vec![&value], true, Output::Verbatim),
    ] {
        let bytes = batch(BatchHeader::plain(Offset(10)), horizon, &[value.clone(), tombstone.clone()]);
        let retained: Vec<_> = retained.into_iter().map(Record::view).collect();
        let given = in_pass(|_| {}, |pass| judge_output(&view(&bytes), verdict, &retained, all, pass));
        assert_eq!(given, output, "{row}");
    }
}

#[test]
fn a_tombstone_above_the_mapped_offsets_starts_the_clock_under_kafkas_rule_alone() {
    let tombstone = record(X + 1, Some("k"), None);
    let bytes = batch(BatchHeader::plain(Offset(X + 1)), None, std::slice::from_ref(&tombstone));
    let given = |stamping| {
        in_pass(
            |pass| pass.rules.stamping = stamping,
            |pass| judge_output(&view(&bytes), BatchVerdict::JudgeRecords, &[tombstone.view()], true, pass),
        )
    };
    assert_eq!(given(Stamping::WhereverRetained), Output::Rebuild { horizon: Some(Millis(NOW + D)) });
    assert_eq!(given(Stamping::OnlyIfMapped), Output::Verbatim);
}

#[test]
fn the_repair_of_n1_stamps_a_batch_that_ends_at_the_last_mapped_offset() {
    let tombstone = record(X, Some("k"), None);
    let bytes = batch(BatchHeader::plain(Offset(X)), None, std::slice::from_ref(&tombstone));
    let given = in_pass(
        |pass| pass.rules = Rules::repaired(),
        |pass| judge_output(&view(&bytes), BatchVerdict::JudgeRecords, &[tombstone.view()], true, pass),
    );
    assert_eq!(given, Output::Rebuild { horizon: Some(Millis(NOW + D)) });
}

#[test]
fn an_old_format_is_stamped_only_where_it_is_converted() {
    let tombstone = record(10, Some("k"), None);
    let mut bytes = Vec::new();
    legacy::write(&mut bytes, 1, Compression::None, None, std::slice::from_ref(&tombstone)).expect("a record");
    for (rule, output) in [
        (LegacyBatches::Convert, Output::Rebuild { horizon: Some(Millis(NOW + D)) }),
        (LegacyBatches::PassThrough, Output::Verbatim),
    ] {
        let given = in_pass(
            |pass| pass.rules.legacy = rule,
            |pass| judge_output(&view(&bytes), BatchVerdict::JudgeRecords, &[tombstone.view()], true, pass),
        );
        assert_eq!(given, output);
    }
}

#[test]
fn before_kip_534_nothing_was_stamped() {
    let tombstone = record(10, Some("k"), None);
    let bytes = batch(BatchHeader::plain(Offset(10)), None, std::slice::from_ref(&tombstone));
    let given = in_pass(
        |pass| pass.rules = Rules::kafka_3_0(),
        |pass| judge_output(&view(&bytes), BatchVerdict::JudgeRecords, &[tombstone.view()], true, pass),
    );
    assert_eq!(given, Output::Verbatim);
}

/// A batch [10, 11] of producer 7 with epoch 3.
fn of_producer(is_control: bool) -> Vec<u8> {
    let header = BatchHeader {
        control: is_control,
        transactional: true,
        producer_id: ProducerId(7),
        producer_epoch: ProducerEpoch(3),
        base_sequence: Sequence(0),
        ..BatchHeader::plain(Offset(10))
    };
    batch(header, None, &[record(10, Some("a"), Some("1")), record(11, Some("b"), Some("1"))])
}

#[test]
fn a_header_stays_for_the_last_batch_of_an_active_producer() {
    for (row, is_control, last_data_offset, epoch, stays) in [
        ("last data", false, Some(11), 3, true),
        ("last data, whatever the epoch", false, Some(11), 9, true),
        ("not the last data", false, Some(12), 3, false),
        ("the first offset is not the last", false, Some(10), 3, false),
        ("a marker at the last data offset", true, Some(11), 3, true),
        ("a marker, data known", true, Some(5), 3, false),
        ("a marker alone", true, None, 3, true),
        ("a marker of an older epoch", true, None, 4, false),
        ("data, only a marker known", false, None, 3, false),
    ] {
        let last = LastRecord { last_data_offset: last_data_offset.map(Offset), producer_epoch: ProducerEpoch(epoch) };
        let producers = ActiveProducers::from([(ProducerId(7), last)]);
        let bytes = of_producer(is_control);
        let given = in_pass(|_| {}, |pass| keep_header(&view(&bytes), &Pass { producers: &producers, ..*pass }));
        assert_eq!(given, stays, "{row}");
    }
    assert!(!in_pass(|_| {}, |pass| keep_header(&view(&of_producer(false)), pass)), "an expired producer");
}

#[test]
fn a_header_stays_for_the_end_of_the_log_as_the_release_has_it() {
    for (rule, at_bound, at_high_watermark) in [
        (LastOfRound::Off, false, false),
        (LastOfRound::UpperBound, true, false),
        (LastOfRound::HighWatermark, false, true),
    ] {
        for (next, stays) in [(U, at_bound), (HW, at_high_watermark), (U - 1, false)] {
            let bytes = data(next - 1, None);
            let given = in_pass(|pass| pass.rules.last_of_round = rule, |pass| keep_header(&view(&bytes), pass));
            assert_eq!(given, stays, "{rule:?}, next offset {next}");
            let output = in_pass(
                |pass| pass.rules.last_of_round = rule,
                |pass| judge_output(&view(&bytes), BatchVerdict::DropRecords, &[], false, pass),
            );
            assert_eq!(output, if stays { Output::Header } else { Output::Nothing });
        }
    }
}
