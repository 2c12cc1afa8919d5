//! What holds of every batch: what is written is read back equal, and bytes that nobody wrote are an error or a value,
//! never a panic and never more memory than was allowed.

use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader, RecordBatch, TimestampType};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::clean_times::NOTHING_KNOWN;
use fencepost_reference::storage::compression::{self, Compression};
use fencepost_reference::storage::error::Fault;
use fencepost_reference::storage::filter::filter_batch;
use fencepost_reference::storage::legacy;
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset, ProducerEpoch, ProducerId, Sequence};
use fencepost_reference::storage::offset_map::{ExactOffsetMap, OffsetMap};
use fencepost_reference::storage::record::{Header, Record};
use fencepost_reference::storage::retention::{ActiveProducers, LastRecord, Output, Pass};
use fencepost_reference::storage::rules::Rules;
use fencepost_reference::storage::transaction_tracker::TransactionTracker;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

const LIMIT: usize = 1 << 20;

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..12)
}

fn record() -> impl Strategy<Value = Record> {
    let header = ("[a-zß]{0,3}", option::of(bytes())).prop_map(|(key, value)| Header { key, value });
    let key = option::of(vec(0_u8..3, 0..2));
    (-1..=i64::MAX, key, option::of(bytes()), vec(header, 0..3)).prop_map(|(time, key, value, headers)| Record {
        offset: Offset(0),
        timestamp: Millis(time),
        key,
        value,
        headers,
    })
}

fn header() -> impl Strategy<Value = BatchHeader> {
    let producer = (-1..3_i64, -1..3_i16, -1..5_i32);
    (0..1_i64 << 62, any::<i32>(), 0..5_usize, any::<[bool; 3]>(), producer).prop_map(
        |(base, epoch, codec, [appended, transactional, control], (id, producer_epoch, sequence))| BatchHeader {
            base_offset: Offset(base),
            leader_epoch: LeaderEpoch(epoch),
            compression: Compression::ALL[codec],
            timestamp_type: if appended { TimestampType::LogAppendTime } else { TimestampType::CreateTime },
            transactional,
            control,
            producer_id: ProducerId(id),
            producer_epoch: ProducerEpoch(producer_epoch),
            base_sequence: Sequence(sequence),
        },
    )
}

#[derive(Debug, Clone)]
struct Written {
    header: BatchHeader,
    horizon: Option<Millis>,
    records: Vec<Record>,
    last: Offset,
    bytes: Vec<u8>,
}

fn written() -> impl Strategy<Value = Written> {
    let gaps = vec((1..1000_i64, record()), 0..6);
    (header(), option::of(0..=i64::MAX), gaps, 0..1000_i64).prop_map(|(header, horizon, gaps, behind)| {
        let horizon = horizon.map(Millis);
        let mut last = header.base_offset;
        let mut records = Vec::new();
        for (gap, record) in gaps {
            last = Offset(last.0 + gap);
            records.push(Record { offset: last, ..record });
        }
        let last = Offset(last.0 + behind);
        let mut builder = BatchBuilder::new(header).delete_horizon(horizon).last_offset(last).records(records.clone());
        if header.timestamp_type == TimestampType::LogAppendTime {
            builder = builder.max_timestamp(Millis(77));
            for record in &mut records {
                record.timestamp = Millis(77);
            }
        }
        let bytes = builder.build().expect("ascending offsets");
        Written { header, horizon, records, last, bytes }
    })
}

/// Everything that a broker may ask of bytes.
fn exercise(bytes: &[u8]) -> usize {
    let mut reader = BatchReader::new(bytes);
    let mut tracker = TransactionTracker::new();
    let mut map = ExactOffsetMap::new(8);
    map.put(&[1], Offset(1 << 40));
    let last = LastRecord { last_data_offset: None, producer_epoch: ProducerEpoch(1) };
    let producers = ActiveProducers::from([(ProducerId(1), last)]);
    let mut sound = 0;
    for batch in reader.by_ref() {
        let Ok(batch) = batch else { continue };
        sound += usize::from(batch.check_crc().is_ok() && batch.records_within(LIMIT).is_ok());
        let can_discard = tracker.read(&batch, Rules::kafka_4_4()).unwrap_or_default();
        for rules in [Rules::kafka_3_0(), Rules::kafka_4_4(), Rules::repaired()] {
            for now in [0, i64::MAX] {
                let pass = Pass {
                    rules,
                    now: Millis(now),
                    delete_retention: Millis(i64::MAX),
                    first_dirty: Offset(i64::MAX),
                    mapped: Offset(1 << 61),
                    upper_bound: batch.next_offset(),
                    high_watermark: batch.next_offset(),
                    young_file: false,
                    clean_times: &NOTHING_KNOWN,
                    replicated: Offset(i64::MAX),
                    producers: &producers,
                };
                let mut out = Vec::new();
                if filter_batch(&batch, can_discard, &map, &pass, LIMIT, &mut out).is_ok() && !out.is_empty() {
                    let mut again = BatchReader::new(&out);
                    assert!(matches!(again.next(), Some(Ok(_))), "what is kept of a batch is a batch");
                    assert_eq!(again.position(), out.len());
                }
            }
        }
    }
    let tail = reader.tail();
    assert_eq!(reader.position() + tail.bytes, bytes.len());
    sound
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_equal(written in written()) {
        let mut reader = BatchReader::new(&written.bytes);
        let Some(Ok(LogBatch::V2(batch))) = reader.next() else { panic!("a batch of format 2") };
        prop_assert!(reader.next().is_none());
        prop_assert_eq!(batch.check_crc(), Ok(()));
        prop_assert_eq!(batch.header(), Ok(written.header));
        prop_assert_eq!(batch.delete_horizon(), written.horizon);
        prop_assert_eq!(batch.last_offset(), written.last);
        prop_assert_eq!(batch.records(), Ok(written.records));
    }

    #[test]
    fn a_flipped_bit_is_noticed_or_lies_where_no_checksum_reaches(written in written(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let mut bytes = written.bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= 1_u8 << bit;
        // The base offset and the leader's epoch are assigned without a new checksum.
        let outside = at < 8 || (12..16).contains(&at);
        match BatchReader::new(&bytes).next() {
            None => prop_assert!((8..12).contains(&at)),
            Some(Err(_)) => {}
            Some(Ok(batch)) => prop_assert!(outside || batch.check_crc().is_err()),
        }
        exercise(&bytes);
    }

    #[test]
    fn a_truncated_batch_is_the_end_of_the_buffer(written in written(), at in any::<prop::sample::Index>()) {
        let cut = at.index(written.bytes.len());
        let mut reader = BatchReader::new(&written.bytes[..cut]);
        prop_assert!(reader.next().is_none());
        prop_assert_eq!(reader.tail().bytes, cut);
        prop_assert_eq!(reader.tail().batch_bytes, (cut >= 12).then_some(written.bytes.len()));
        // The view of one batch takes no less than the whole.
        prop_assert!(RecordBatch::new(&written.bytes[..cut]).is_err());
    }

    #[test]
    fn overwritten_bytes_are_an_error_or_a_value(written in written(), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = written.bytes.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        exercise(&bytes);
    }

    #[test]
    fn arbitrary_bytes_are_an_error_or_a_value(mut bytes in vec(any::<u8>(), 0..200), magic in 0..3_u8, framed in any::<bool>()) {
        if framed && bytes.len() > 26 {
            let size = u32::try_from(bytes.len() - 12).unwrap();
            bytes[..12].fill(0);
            bytes[8..12].copy_from_slice(&size.to_be_bytes());
            bytes[16] = magic;
        }
        exercise(&bytes);
    }

    #[test]
    fn arbitrary_records_under_every_codec_are_an_error_or_a_value(inside in vec(any::<u8>(), 0..60), codec in 0..5_u8, count in -1..4_i32) {
        let mut bytes = BatchBuilder::new(BatchHeader::plain(Offset(0))).build().unwrap();
        bytes.extend_from_slice(&inside);
        let size = u32::try_from(bytes.len() - 12).unwrap();
        bytes[8..12].copy_from_slice(&size.to_be_bytes());
        bytes[22] = codec;
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        exercise(&bytes);
    }

    #[test]
    fn codecs_give_back_what_they_were_given(plain in vec(0_u8..4, 0..100_000), codec in 0..5_usize) {
        let codec = Compression::ALL[codec];
        let packed = compression::compress(codec, plain.clone()).unwrap();
        prop_assert_eq!(compression::decompress(codec, &packed, plain.len()), Ok(plain.clone()));
        if !plain.is_empty() {
            let fault = compression::decompress(codec, &packed, plain.len() - 1).unwrap_err().fault;
            prop_assert_eq!(fault, Fault::DecompressedTooLarge(plain.len() - 1));
        }
    }

    #[test]
    fn wrappers_of_old_formats_are_read_back_equal(records in vec((1..5_i64, record()), 1..6), magic in 0..2_i8, codec in 1..4_usize, base in 1..1_i64 << 40) {
        let mut offset = base;
        let records: Vec<_> = records.into_iter().map(|(gap, record)| {
            offset += gap;
            let timestamp = if magic == 0 { Millis::NONE } else { record.timestamp };
            Record { offset: Offset(offset), headers: Vec::new(), timestamp, ..record }
        }).collect();
        let mut bytes = Vec::new();
        legacy::write(&mut bytes, magic, Compression::ALL[codec], None, &records).unwrap();
        let Some(Ok(batch)) = BatchReader::new(&bytes).next() else { panic!("a batch") };
        prop_assert_eq!(batch.check_crc(), Ok(()));
        prop_assert_eq!(batch.last_offset(), Offset(offset));
        prop_assert_eq!(batch.records(), Ok(records));
        exercise(&bytes);
    }

    #[test]
    fn a_pass_keeps_records_as_they_are_and_the_header_too(written in written(), now in 0..i64::MAX, retention in 0..1_i64 << 40) {
        let Some(Ok(batch)) = BatchReader::new(&written.bytes).next() else { panic!("a batch") };
        let producers = ActiveProducers::new();
        let pass = Pass {
            rules: Rules::kafka_4_4(),
            now: Millis(now),
            delete_retention: Millis(retention),
            first_dirty: Offset(i64::MAX),
            mapped: Offset(i64::MAX),
            upper_bound: Offset(0),
            high_watermark: batch.next_offset(),
            young_file: false,
            clean_times: &NOTHING_KNOWN,
            replicated: Offset(i64::MAX),
            producers: &producers,
        };
        let mut map = ExactOffsetMap::new(8);
        map.put(&[1], Offset(i64::MAX));
        let mut out = Vec::new();
        let kept = filter_batch(&batch, false, &map, &pass, LIMIT, &mut out).unwrap();
        let after = RecordBatch::new(&out).unwrap();
        let before = RecordBatch::new(&written.bytes).unwrap();
        prop_assert_eq!(after.check_crc(), Ok(()));
        prop_assert_eq!((after.base_offset(), after.last_offset()), (before.base_offset(), before.last_offset()));
        prop_assert_eq!((after.producer_id(), after.last_sequence()), (before.producer_id(), before.last_sequence()));
        let (before_records, after_records) = (before.records().unwrap(), after.records().unwrap());
        let mut left = before_records.iter();
        prop_assert!(after_records.iter().all(|kept| left.any(|record| record == kept)), "a subsequence");
        if before.delete_horizon().is_some() && !after_records.is_empty() {
            prop_assert_eq!(after.delete_horizon(), before.delete_horizon());
        }
        if kept.output == Output::Header {
            prop_assert_eq!(after.max_timestamp(), before.max_timestamp());
            prop_assert_eq!((after.delete_horizon(), out.len()), (None, 61));
        }
        // The same pass again changes nothing: what is stamped stays as it is, unless its horizon has come at once.
        let mut again = Vec::new();
        filter_batch(&LogBatch::V2(after), false, &map, &pass, LIMIT, &mut again).unwrap();
        let comes_at_once = after.delete_horizon().is_some_and(|horizon| horizon <= Millis(now));
        prop_assert!(again == out || comes_at_once || now.checked_add(retention).is_none());
    }
}

#[test]
fn a_few_bytes_cannot_claim_the_machines_memory() {
    let zeros = vec![0; 64 << 20];
    for codec in [Compression::Gzip, Compression::Snappy, Compression::Lz4, Compression::Zstd] {
        let packed = compression::compress(codec, zeros.clone()).unwrap();
        let fault = compression::decompress(codec, &packed, 1 << 16).unwrap_err().fault;
        assert_eq!(fault, Fault::DecompressedTooLarge(1 << 16), "{codec:?}");
    }
    // A block of Snappy that says it has 4 GiB, in a stream and alone.
    let claims = [0xff, 0xff, 0xff, 0xff, 0x0f, 0];
    let mut stream = compression::compress(Compression::Snappy, Vec::new()).unwrap();
    stream.extend_from_slice(&[0, 0, 0, 6]);
    stream.extend_from_slice(&claims);
    for packed in [claims.as_slice(), &stream] {
        assert!(compression::decompress(Compression::Snappy, packed, usize::MAX).is_err());
    }
    // 2^31-1 records, headers, or bytes in a few.
    let mut bytes = BatchBuilder::new(BatchHeader::plain(Offset(0))).build().unwrap();
    bytes[57..61].copy_from_slice(&i32::MAX.to_be_bytes());
    assert!(RecordBatch::new(&bytes).unwrap().records().is_err());
}
