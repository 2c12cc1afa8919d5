//! What is refused of a batch, and at which byte (docs/compaction.md 1.1 to 1.5).

use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader, RecordBatch};
use fencepost_reference::storage::batch_builder::{set_base_offset, set_leader_epoch, set_max_timestamp};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::control::{ControlType, Marker};
use fencepost_reference::storage::error::{BatchError, Fault};
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset};
use fencepost_reference::storage::record::Record;

const RECORDS_AT: usize = 61;

/// One record, `k=v`, of ten bytes: length, attributes, two deltas, key, value, headers.
fn batch() -> Vec<u8> {
    let record = Record::new(Offset(5), Millis(1000), Some(b"k"), Some(b"v"));
    let bytes = BatchBuilder::new(BatchHeader::plain(Offset(5))).record(record).build().unwrap();
    assert_eq!(bytes[RECORDS_AT..], [16, 0, 0, 0, 2, b'k', 2, b'v', 0]);
    bytes
}

fn changed(at: usize, to: &[u8]) -> Vec<u8> {
    let mut bytes = batch();
    bytes[at..at + to.len()].copy_from_slice(to);
    bytes
}

/// With more bytes at the end, and a length that counts them.
fn longer(more: &[u8]) -> Vec<u8> {
    let mut bytes = batch();
    bytes.extend_from_slice(more);
    let length = i32::try_from(bytes.len() - 12).unwrap();
    bytes[8..12].copy_from_slice(&length.to_be_bytes());
    bytes
}

fn framing(bytes: &[u8]) -> BatchError {
    BatchReader::new(bytes).find_map(Result::err).expect("an error")
}

fn records(bytes: &[u8]) -> (usize, Fault) {
    let error = RecordBatch::new(bytes).expect("a sound header").records().expect_err("an error");
    (error.position, error.fault)
}

#[test]
fn a_header_that_cannot_be_is_refused_where_it_is_wrong() {
    let least = |size| Fault::TooSmall { size, least: 26 };
    for (bytes, position, fault) in [
        (changed(8, &13_i32.to_be_bytes()), 8, least(25)),
        (changed(8, &(-1_i32).to_be_bytes()), 8, least(11)),
        (changed(8, &i32::MIN.to_be_bytes()), 8, least(-2_147_483_636)),
        (changed(8, &40_i32.to_be_bytes()), 8, Fault::TooSmall { size: 52, least: 61 }),
        (changed(16, &[3]), 16, Fault::Magic(3)),
        (changed(16, &[0xff]), 16, Fault::Magic(-1)),
        (changed(0, &(-1_i64).to_be_bytes()), 0, Fault::OffsetRange { base: -1, delta: 0 }),
        (changed(23, &(-1_i32).to_be_bytes()), 0, Fault::OffsetRange { base: 5, delta: -1 }),
        (changed(0, &i64::MAX.to_be_bytes()), 0, Fault::OffsetRange { base: i64::MAX, delta: 0 }),
    ] {
        assert_eq!(framing(&bytes), BatchError { position, fault });
    }
}

#[test]
fn an_error_counts_from_the_start_of_the_buffer_and_ends_the_walk() {
    let mut bytes = batch();
    let first = bytes.len();
    bytes.extend(changed(16, &[9]));
    bytes.extend(batch());
    let mut reader = BatchReader::new(&bytes);
    assert!(matches!(reader.next(), Some(Ok(LogBatch::V2(_)))));
    let error = reader.next().expect("an error").expect_err("an error");
    assert_eq!((error.position, error.fault), (first + 16, Fault::Magic(9)));
    assert!(reader.next().is_none());
    assert_eq!(reader.position(), first);
}

#[test]
fn a_batch_above_the_limit_is_refused_by_its_length_alone() {
    let bytes = batch();
    let (size, limit) = (bytes.len(), bytes.len() - 1);
    let mut reader = BatchReader::new(&bytes[..20]).max_batch_bytes(limit);
    let error = reader.next().expect("an error").expect_err("an error");
    assert_eq!(error.fault, Fault::TooLarge { size, limit });
    assert!(BatchReader::new(&bytes).max_batch_bytes(size).all(|batch| batch.is_ok()));
}

#[test]
fn a_wrong_checksum_is_told_only_to_who_asks() {
    let bytes = changed(RECORDS_AT + 7, b"w");
    let batch = RecordBatch::new(&bytes).unwrap();
    assert_eq!(batch.records().unwrap()[0].value.as_deref(), Some(b"w".as_slice()));
    assert!(matches!(batch.check_crc(), Err(BatchError { position: 17, fault: Fault::Crc { .. } })));
}

#[test]
fn records_that_do_not_fill_their_batch_are_refused() {
    assert_eq!(records(&longer(&[0])), (RECORDS_AT + 9, Fault::AfterLastRecord(1)));
    assert_eq!(records(&changed(57, &2_i32.to_be_bytes())), (RECORDS_AT + 9, Fault::Truncated { needed: 1, left: 0 }));
    assert_eq!(records(&changed(57, &(-1_i32).to_be_bytes())), (57, Fault::RecordCount(-1)));
    // A count of 0 is an empty batch, whatever follows.
    assert_eq!(RecordBatch::new(&changed(57, &[0; 4])).unwrap().records(), Ok(Vec::new()));
}

#[test]
fn a_record_whose_parts_are_not_its_length_is_refused() {
    let shorter = Fault::RecordLength { stated: 9, actual: 8 };
    let mut bytes = longer(&[0]);
    bytes[RECORDS_AT] = 18;
    assert_eq!(records(&bytes), (RECORDS_AT, shorter));
    assert_eq!(records(&changed(RECORDS_AT, &[18])).1, Fault::Truncated { needed: 9, left: 8 });
    assert_eq!(records(&changed(RECORDS_AT, &[1])).1, Fault::NegativeLength { what: "a record", length: -1 });
    let headers = Fault::NegativeLength { what: "the list of headers", length: -1 };
    assert_eq!(records(&changed(RECORDS_AT + 8, &[1])), (RECORDS_AT + 8, headers));
    // A key longer than its record does not reach into what follows.
    assert_eq!(records(&changed(RECORDS_AT + 4, &[20])), (RECORDS_AT + 5, Fault::Truncated { needed: 10, left: 4 }));
}

#[test]
fn a_header_of_a_record_has_a_key() {
    let mut bytes = longer(&[1, 1]);
    bytes[RECORDS_AT] = 20;
    bytes[RECORDS_AT + 8] = 2;
    let fault = Fault::NegativeLength { what: "the key of a header", length: -1 };
    assert_eq!(records(&bytes), (RECORDS_AT + 9, fault));
}

#[test]
fn a_codec_that_does_not_exist_is_refused_with_its_number() {
    for codec in 5..=7 {
        let bytes = changed(22, &[codec]);
        assert_eq!(records(&bytes), (21, Fault::Codec(codec)));
    }
    assert!(matches!(records(&changed(22, &[1])), (RECORDS_AT, Fault::Compressed { codec: "gzip", .. })));
}

#[test]
fn offsets_that_do_not_ascend_are_not_written() {
    let record = |offset| Record::new(Offset(offset), Millis(1000), None, None);
    let build = |offsets: &[i64]| {
        let records = offsets.iter().map(|offset| record(*offset));
        BatchBuilder::new(BatchHeader::plain(Offset(5))).records(records).build().map(drop)
    };
    assert_eq!(build(&[5, 7]), Ok(()));
    for offsets in [[7, 7], [7, 6], [4, 5], [5, 5 + (1 << 31)]] {
        assert!(matches!(build(&offsets), Err(BatchError { fault: Fault::OffsetOrder { .. }, .. })), "{offsets:?}");
    }
}

#[test]
fn what_a_leader_assigns_leaves_a_sound_batch() {
    use fencepost_reference::storage::batch::TimestampType::{CreateTime, LogAppendTime};
    let mut bytes = batch();
    set_base_offset(&mut bytes, Offset(77)).unwrap();
    set_leader_epoch(&mut bytes, LeaderEpoch(9)).unwrap();
    set_max_timestamp(&mut bytes, LogAppendTime, Millis(4000)).unwrap();
    let batch = RecordBatch::new(&bytes).unwrap();
    assert_eq!(
        (batch.base_offset(), batch.last_offset(), batch.leader_epoch()),
        (Offset(77), Offset(77), LeaderEpoch(9))
    );
    assert_eq!(batch.check_crc(), Ok(()));
    assert_eq!(batch.records().unwrap()[0].timestamp, Millis(4000));
    set_max_timestamp(&mut bytes, CreateTime, Millis(1000)).unwrap();
    assert_eq!(RecordBatch::new(&bytes).unwrap().records().unwrap()[0].timestamp, Millis(1000));
    for refused in [-1, i64::MAX] {
        assert!(set_base_offset(&mut bytes, Offset(refused)).is_err());
        assert_eq!(RecordBatch::new(&bytes).unwrap().base_offset(), Offset(77), "a refusal changes nothing");
    }
    assert!(set_leader_epoch(&mut bytes[..60], LeaderEpoch(0)).is_err());
}

#[test]
fn a_control_record_may_be_longer_and_newer_and_not_shorter_or_negative() {
    let of = |key: &[u8], value: &[u8]| Record::new(Offset(0), Millis(0), Some(key), Some(value));
    assert_eq!(ControlType::of(&of(&[0, 9, 0, 1, 7, 7], &[])), Ok(ControlType::Commit));
    assert_eq!(ControlType::of(&of(&[0, 0, 0, 3], &[])), Ok(ControlType::Other(3)));
    assert_eq!(Marker::of(&of(&[0, 0, 0, 3], &[])), Ok(None));
    let marker = Marker { commit: false, coordinator_epoch: 258 };
    assert_eq!(Marker::of(&of(&[0, 0, 0, 0], &[0, 5, 0, 0, 1, 2, 9])), Ok(Some(marker)));
    for (key, value) in [
        (&[0, 0, 0][..], &[0; 6][..]),
        (&[0xff, 0xff, 0, 1], &[0; 6]),
        (&[0, 0, 0, 1], &[0; 5]),
        (&[0, 0, 0, 1], &[0xff, 0xff, 0, 0, 0, 0]),
    ] {
        assert!(Marker::of(&of(key, value)).is_err());
    }
    assert!(ControlType::of(&Record::new(Offset(0), Millis(0), None, None)).is_err());
}
