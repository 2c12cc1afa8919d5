//! Batches in Kafka's own bytes: read, written again equal, and what a pass makes of them (docs/compaction.md 1.9; the
//! bytes are those of the record classes of Kafka 4.4.0).

mod bytes;

use std::fmt::Write as _;

use bytes::*;
use fencepost_reference::storage::batch::{BatchBuilder, RecordBatch, TimestampType};
use fencepost_reference::storage::batch_builder::clear_delete_horizon;
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::clean_times::NOTHING_KNOWN;
use fencepost_reference::storage::compression::{Compression, DEFAULT_LIMIT};
use fencepost_reference::storage::control::Marker;
use fencepost_reference::storage::filter::filter_batch;
use fencepost_reference::storage::legacy;
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId};
use fencepost_reference::storage::offset_map::{ExactOffsetMap, OffsetMap};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::retention::{ActiveProducers, LastRecord, Pass};
use fencepost_reference::storage::rules::{LegacyBatches, Rules};

const ALL_V2: [&str; 26] = [
    A0,
    A1,
    A3,
    A4,
    A5,
    A6,
    A9,
    A10,
    B0,
    B1,
    B2,
    C0,
    C1,
    C2,
    D0,
    D0_ABORT,
    D2,
    D4,
    GZIP_ORIGINAL,
    GZIP_STAMPED,
    LZ4_ORIGINAL,
    LZ4_STAMPED,
    SNAPPY_ORIGINAL,
    SNAPPY_STAMPED,
    ZSTD_ORIGINAL,
    ZSTD_STAMPED,
];

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A pass at 5000 with `delete.retention.ms` 100, in which everything is mapped and no producer is active.
struct Setting {
    rules: Rules,
    now: i64,
    delete_retention: i64,
    producers: ActiveProducers,
    keep_last: bool,
    can_discard: bool,
    young_file: bool,
    superseded: &'static [&'static str],
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            rules: Rules::kafka_4_4(),
            now: 5000,
            delete_retention: 100,
            producers: ActiveProducers::new(),
            keep_last: false,
            can_discard: false,
            young_file: true,
            superseded: &[],
        }
    }
}

impl Setting {
    fn pass(&self, input: &str) -> String {
        let input = unhex(input);
        let batch = only(&input);
        let mut map = ExactOffsetMap::new(16);
        for key in self.superseded {
            map.put(key.as_bytes(), Offset(1000));
        }
        let pass = Pass {
            rules: self.rules,
            now: Millis(self.now),
            delete_retention: Millis(self.delete_retention),
            first_dirty: Offset(1000),
            mapped: Offset(1000),
            upper_bound: Offset(2000),
            high_watermark: if self.keep_last { batch.next_offset() } else { Offset(2000) },
            young_file: self.young_file,
            clean_times: &NOTHING_KNOWN,
            replicated: Offset(i64::MAX),
            producers: &self.producers,
        };
        let mut out = Vec::new();
        filter_batch(&batch, self.can_discard, &map, &pass, DEFAULT_LIMIT, &mut out).expect("a batch");
        hex(&out)
    }
}

fn only(bytes: &[u8]) -> LogBatch<'_> {
    let mut reader = BatchReader::new(bytes);
    let batch = reader.next().expect("a batch").expect("a sound one");
    assert!(reader.next().is_none() && reader.tail().bytes == 0, "one batch alone");
    batch
}

/// Header and records, without the sizes and checksums that depend on the codec.
fn meaning(text: &str) -> String {
    let bytes = unhex(text);
    let batch = RecordBatch::new(&bytes).expect("a batch of format 2");
    let header = format!(
        "{:?} last {} base time {} max {} horizon {:?} count {}",
        batch.header().expect("a codec"),
        batch.last_offset(),
        batch.base_timestamp(),
        batch.max_timestamp(),
        batch.delete_horizon(),
        batch.count()
    );
    format!("{header}\n{:?}", batch.records().expect("records"))
}

#[test]
fn every_checksum_is_the_one_that_kafka_computed() {
    for text in ALL_V2 {
        RecordBatch::new(&unhex(text)).expect("a batch").check_crc().expect("its checksum");
    }
    only(&unhex(M1)).check_crc().expect("its checksum");
}

#[test]
fn what_is_read_is_written_in_the_same_bytes() {
    for text in ALL_V2 {
        let bytes = unhex(text);
        let batch = RecordBatch::new(&bytes).expect("a batch");
        let records = batch.records().expect("records");
        // The log append time hides the records' own times, which are those of A0.
        let records = if text == B0 { RecordBatch::new(&unhex(A0)).unwrap().records().unwrap() } else { records };
        let written = BatchBuilder::new(batch.header().expect("a codec"))
            .delete_horizon(batch.delete_horizon())
            .last_offset(batch.last_offset())
            .max_timestamp(batch.max_timestamp())
            .records(records)
            .build()
            .expect("a batch");
        if batch.compression() == Ok(Compression::None) {
            assert_eq!(hex(&written), text);
        } else {
            assert_eq!(meaning(&hex(&written)), meaning(text));
        }
    }
}

#[test]
fn the_first_tombstone_that_a_pass_keeps_starts_the_clock_of_its_batch() {
    assert_eq!(Setting::default().pass(A0), A1);
    assert_eq!(Setting::default().pass(C0), C1);
}

#[test]
fn a_second_pass_before_the_horizon_changes_no_byte() {
    for text in [A1, A10, B1, C1, GZIP_STAMPED, LZ4_STAMPED, SNAPPY_STAMPED, ZSTD_STAMPED] {
        assert_eq!(Setting { now: 5050, ..Setting::default() }.pass(text), text);
    }
}

#[test]
fn a_tombstone_goes_when_the_clock_shows_its_horizon() {
    assert_eq!(Setting { now: 5099, ..Setting::default() }.pass(A1), A1);
    assert_eq!(Setting { now: 5100, ..Setting::default() }.pass(A1), A3);
}

#[test]
fn a_horizon_stays_as_it_is_when_records_go_and_the_tombstone_does_not() {
    assert_eq!(Setting { now: 5050, superseded: &["k1"], ..Setting::default() }.pass(A1), A4);
}

#[test]
fn no_tombstone_left_no_horizon_and_the_base_timestamp_is_the_first_records() {
    assert_eq!(Setting { superseded: &["k1", "k2"], ..Setting::default() }.pass(A0), A5);
    assert_eq!(Setting { superseded: &["k1", "k2"], ..Setting::default() }.pass(B0), B2);
}

#[test]
fn an_empty_batch_loses_its_horizon_and_keeps_its_max_timestamp() {
    let nothing = Setting { now: 5100, superseded: &["k1", "k3"], keep_last: true, ..Setting::default() };
    assert_eq!(nothing.pass(A1), A6);
    let gone = Setting { keep_last: false, ..nothing };
    assert_eq!(gone.pass(A1), "");
}

#[test]
fn a_horizon_beyond_the_largest_time_is_none_and_the_batch_is_written_as_it_was() {
    assert_eq!(Setting { delete_retention: i64::MAX, ..Setting::default() }.pass(A0), A0);
}

#[test]
fn a_record_without_a_time_has_none_after_stamping() {
    assert_eq!(Setting::default().pass(A9), A10);
    let records = RecordBatch::new(&unhex(A10)).unwrap().records().unwrap();
    assert!(records.iter().all(|record| record.timestamp == Millis::NONE));
}

#[test]
fn under_log_append_time_every_record_has_the_batchs_time_before_and_after_stamping() {
    assert_eq!(Setting::default().pass(B0), B1);
    for text in [B0, B1] {
        let bytes = unhex(text);
        let batch = RecordBatch::new(&bytes).unwrap();
        assert_eq!((batch.timestamp_type(), batch.max_timestamp()), (TimestampType::LogAppendTime, Millis(4000)));
        assert!(batch.records().unwrap().iter().all(|record| record.timestamp == Millis(4000)));
    }
}

#[test]
fn the_last_batch_of_an_active_producer_leaves_its_header() {
    let last = LastRecord { last_data_offset: Some(Offset(22)), producer_epoch: ProducerEpoch(3) };
    let active = ActiveProducers::from([(ProducerId(42), last)]);
    let superseded =
        Setting { now: 6000, superseded: &["k1", "k2", "k3"], producers: active.clone(), ..Setting::default() };
    assert_eq!(superseded.pass(C0), C2);
    assert_eq!(superseded.pass(C1), C2);
    // An aborted transaction's records go at once, whatever their keys.
    assert_eq!(Setting { can_discard: true, producers: active, ..Setting::default() }.pass(C0), C2);
    assert_eq!(Setting { can_discard: true, ..Setting::default() }.pass(C0), "");
}

#[test]
fn markers_have_kafkas_bytes() {
    for (commit, text) in [(true, D0), (false, D0_ABORT)] {
        let marker = Marker { commit, coordinator_epoch: 9 };
        let (offset, time, epoch) = (Offset(23), Millis(1010), LeaderEpoch(7));
        let written = marker.batch(offset, time, epoch, ProducerId(42), ProducerEpoch(3)).unwrap();
        assert_eq!(hex(&written), text);
        assert_eq!(Marker::of(&only(&written).records().unwrap()[0]), Ok(Some(marker)));
    }
}

#[test]
fn a_marker_without_data_is_stamped_waits_and_leaves_a_header_if_it_is_its_producers_last() {
    let marker = |now| Setting { can_discard: true, now, ..Setting::default() };
    assert_eq!(marker(5000).pass(D0), D2);
    assert_eq!(marker(5099).pass(D2), D2);
    assert_eq!(marker(5100).pass(D2), "");
    let last = LastRecord { last_data_offset: None, producer_epoch: ProducerEpoch(3) };
    let producers = ActiveProducers::from([(ProducerId(42), last)]);
    assert_eq!(Setting { producers: producers.clone(), ..marker(5100) }.pass(D2), D4);
    // The empty control batch stays only as long as its producer does.
    assert_eq!(Setting { producers, ..marker(5100) }.pass(D4), D4);
    assert_eq!(marker(5000).pass(D4), "");
}

#[test]
fn a_marker_whose_data_were_seen_stays_as_it_is() {
    assert_eq!(Setting { now: 9000, ..Setting::default() }.pass(D0), D0);
}

#[test]
fn stamping_reaches_the_records_of_every_codec() {
    for (original, stamped) in [
        (GZIP_ORIGINAL, GZIP_STAMPED),
        (LZ4_ORIGINAL, LZ4_STAMPED),
        (SNAPPY_ORIGINAL, SNAPPY_STAMPED),
        (ZSTD_ORIGINAL, ZSTD_STAMPED),
    ] {
        assert_eq!(meaning(&Setting::default().pass(original)), meaning(stamped));
    }
}

#[test]
fn stamping_changes_no_records_time_and_no_max_timestamp() {
    for text in [A0, A9, B0, C0, GZIP_ORIGINAL] {
        let (before, after) = (unhex(text), unhex(&Setting::default().pass(text)));
        let (before, after) = (RecordBatch::new(&before).unwrap(), RecordBatch::new(&after).unwrap());
        assert_eq!(before.records(), after.records());
        assert_eq!(before.max_timestamp(), after.max_timestamp());
        assert_eq!(after.delete_horizon(), Some(Millis(5100)));
    }
}

#[test]
fn a_tombstone_of_format_1_is_converted_and_stamped_in_one_pass() {
    assert_eq!(Setting::default().pass(M1), M1_CONVERTED);
    let passed = Rules { legacy: LegacyBatches::PassThrough, ..Rules::kafka_4_4() };
    assert_eq!(Setting { rules: passed, ..Setting::default() }.pass(M1), M1);
    assert_eq!(Setting { young_file: false, ..Setting::default() }.pass(M1), "");
}

// An older broker, or a client, that does not know of bit 6 leaves such batches.
#[test]
fn a_base_timestamp_that_is_no_records_time_moves_no_record() {
    let mut bytes = unhex(A1);
    clear_delete_horizon(&mut bytes).unwrap();
    let unstamped = hex(&bytes);
    assert_eq!(RecordBatch::new(&bytes).unwrap().records(), RecordBatch::new(&unhex(A0)).unwrap().records());
    // A horizon of its own, and the times as they were: 6000 + 100 for 5000 + 100.
    let stamped = Setting { now: 6000, ..Setting::default() }.pass(&unstamped);
    let times = |text: &str| -> Vec<i64> {
        RecordBatch::new(&unhex(text)).unwrap().records().unwrap().iter().map(|record| record.timestamp.0).collect()
    };
    assert_eq!(times(&stamped), [1000, 1005, 1003]);
    assert_eq!(RecordBatch::new(&unhex(&stamped)).unwrap().delete_horizon(), Some(Millis(6100)));
    // Without the tombstone it is built anew on the first record's time.
    assert_eq!(Setting { superseded: &["k1", "k2"], ..Setting::default() }.pass(&unstamped), A5);
}

// Format 0 wrote the header checksum of LZ4 over the frame's magic too: 0x1a for 0x82.
#[test]
fn a_wrapper_of_format_0_is_read_whatever_its_lz4_header_checksum() {
    let record = Record::new(Offset(5), Millis::NONE, Some(b"k"), Some(b"v"));
    for (magic, sound) in [(0, true), (1, false)] {
        let mut bytes = Vec::new();
        legacy::write(&mut bytes, magic, Compression::Lz4, None, std::slice::from_ref(&record)).unwrap();
        let checksum = bytes.windows(3).position(|header| header == [0x60, 0x40, 0x82]).expect("a header") + 2;
        bytes[checksum] = 0x1a;
        assert_eq!(only(&bytes).records().is_ok(), sound);
    }
}

#[test]
fn retention_of_no_time_still_gives_a_tombstone_the_pass_that_stamps_it() {
    let none = Setting { delete_retention: 0, ..Setting::default() };
    let stamped = none.pass(A0);
    assert_eq!(RecordBatch::new(&unhex(&stamped)).unwrap().delete_horizon(), Some(Millis(5000)));
    assert_eq!(RecordBatch::new(&unhex(&none.pass(&stamped))).unwrap().count(), 2);
}
