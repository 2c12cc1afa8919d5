//! Appending as a leader and as a follower.

use fencepost_reference::storage::batch::{RecordBatch, TimestampType};
use fencepost_reference::storage::batch_builder::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_error::{AppendError, LogError};
use fencepost_reference::storage::log_read::Isolation;
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::names::{LeaderEpoch, Millis, Offset};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::segment_files::FileKind;

use crate::support::{
    NOW, Producer, all_batches, batch, batch_at, config, directory, end, new_log, opening, put, put_in_transaction,
    texts, try_append,
};

fn refused<T: std::fmt::Debug>(result: Result<T, LogError>) -> AppendError {
    match result {
        Err(LogError::Refused(error)) => error,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_leader_gives_offsets_and_its_epoch() {
    let (_, mut log) = new_log();
    put(&mut log, "a", Some("1"));
    let two = batch(None, &[("b", Some("2")), ("c", None)]);
    let appended = log
        .append_as_leader(
            &two,
            fencepost_reference::storage::producer_append::AppendOrigin::Client,
            LeaderEpoch(7),
            NOW,
        )
        .expect("appended");
    assert_eq!((appended.first_offset, appended.last_offset), (Offset(1), Offset(2)));
    assert_eq!(texts(&log, 0, Isolation::LogEnd), ["0 a=1", "1 b=2", "2 c=null"]);
    assert_eq!(log.epochs().latest(), Some(LeaderEpoch(7)));
}

#[test]
fn a_follower_keeps_every_byte_and_may_skip_offsets_but_not_go_back() {
    let (fs, mut log) = new_log();
    let given = [batch_at(5, None, &[("a", Some("1"))]), batch_at(9, None, &[("b", None)])].concat();
    log.append_as_follower(&given, NOW).expect("appended");
    let path = log.segments().next().expect("a segment").path(FileKind::Log);
    assert_eq!(fencepost_reference::storage::fs::read_all(&*fs, &path).expect("read"), given);
    assert_eq!(log.end_offset(), Offset(10));
    let back = refused(log.append_as_follower(&batch_at(9, None, &[("c", None)]), NOW));
    assert_eq!(back, AppendError::OffsetsGoBack { offset: Offset(9), end: Offset(10) });
}

#[test]
fn a_refused_append_changes_nothing() {
    let (_, mut log) = new_log();
    let mut producer = Producer::new(7);
    put_in_transaction(&mut log, &mut producer, "a", Some("1"));
    let before = (format!("{:?}", log.producers()), log.end_offset(), log.last_stable_offset());
    let gap = Producer { sequence: 5, ..producer };
    let both = [batch(Some((producer, true)), &[("b", None)]), batch(Some((gap, true)), &[("c", None)])].concat();
    assert!(matches!(refused(try_append(&mut log, &both)), AppendError::OutOfOrderSequence { .. }));
    assert_eq!((format!("{:?}", log.producers()), log.end_offset(), log.last_stable_offset()), before);
}

#[test]
fn what_a_client_may_not_send_is_refused() {
    let (_, mut log) = new_log();
    let mut flipped = batch(None, &[("a", Some("1"))]);
    *flipped.last_mut().expect("bytes") ^= 1;
    assert!(matches!(refused(try_append(&mut log, &flipped)), AppendError::CorruptMessage { .. }));
    let cut = batch(None, &[("a", Some("1"))]);
    assert!(matches!(refused(try_append(&mut log, &cut[..cut.len() - 1])), AppendError::CorruptMessage { .. }));
    let no_key = BatchBuilder::new(BatchHeader::plain(Offset(0)))
        .record(Record::new(Offset(0), NOW, None, Some(b"v")))
        .build()
        .expect("a batch");
    assert!(matches!(refused(try_append(&mut log, &no_key)), AppendError::InvalidRecord(_)));
    let mut control = BatchHeader::plain(Offset(0));
    control.control = true;
    let control = BatchBuilder::new(control).record(Record::new(Offset(0), NOW, Some(&[0; 4]), None)).build();
    assert!(matches!(refused(try_append(&mut log, &control.expect("a batch"))), AppendError::InvalidRecord(_)));
    assert_eq!(all_batches(&log), []);
}

/// `docs/compaction.md` 5.3 N6.
#[test]
fn a_clients_horizon_survives_the_leader_unless_that_is_repaired() {
    for (rules, kept) in [(LogRules::kafka_4_4(), Some(Millis(5))), (LogRules::repaired(), None)] {
        for timestamp_type in [TimestampType::CreateTime, TimestampType::LogAppendTime] {
            let fs = std::sync::Arc::new(fencepost_reference::storage::memory_fs::MemoryFs::new());
            let mut open = opening(false, 0);
            open.rules = rules;
            open.config = LogConfig { timestamp_type, ..config() };
            let mut log = Log::open(fs, &directory(), &open).expect("opened");
            let expired = BatchBuilder::new(BatchHeader::plain(Offset(0)))
                .delete_horizon(Some(Millis(5)))
                .record(Record::new(Offset(0), Millis(900), Some(b"k"), None))
                .build()
                .expect("a batch");
            try_append(&mut log, &expired).expect("appended");
            let stored = log.segments().next().expect("a segment").batches(&**log.fs(), 0).next().expect("a batch");
            let stored = stored.expect("a batch");
            let stored = RecordBatch::new(&stored.bytes).expect("a batch");
            assert_eq!(stored.delete_horizon(), kept);
            stored.check_crc().expect("the checksum is right");
            let time = if timestamp_type == TimestampType::CreateTime { Millis(900) } else { NOW };
            assert_eq!(stored.records().expect("records")[0].timestamp, time);
        }
    }
}

#[test]
fn a_batch_that_is_sent_again_is_recognised_among_the_last_five() {
    let (_, mut log) = new_log();
    let mut producer = Producer::new(7);
    let mut sent = Vec::new();
    for _ in 0..6 {
        let bytes = batch(Some((producer, false)), &[("k", Some("v"))]);
        try_append(&mut log, &bytes).expect("appended");
        producer.sequence += 1;
        sent.push(bytes);
    }
    let again = try_append(&mut log, &sent[1]).expect("recognised");
    assert!(again.duplicate);
    assert_eq!(again.first_offset, Offset(1));
    assert!(matches!(refused(try_append(&mut log, &sent[0])), AppendError::OutOfOrderSequence { .. }));
    assert_eq!(log.end_offset(), Offset(6));
}

#[test]
fn an_older_epoch_is_fenced_and_a_new_one_begins_with_0() {
    let (_, mut log) = new_log();
    let new = Producer { id: 7, epoch: 4, sequence: 0 };
    try_append(&mut log, &batch(Some((new, false)), &[("k", None)])).expect("appended");
    let zombie = Producer { epoch: 3, ..new };
    let error = refused(try_append(&mut log, &batch(Some((zombie, false)), &[("k", None)])));
    assert!(matches!(error, AppendError::InvalidProducerEpoch { .. }));
    let later = Producer { epoch: 5, sequence: 1, ..new };
    let error = refused(try_append(&mut log, &batch(Some((later, false)), &[("k", None)])));
    assert!(matches!(error, AppendError::OutOfOrderSequence { .. }));
}

#[test]
fn a_marker_of_protocol_2_must_raise_the_epoch_unless_nothing_is_open() {
    use fencepost_reference::storage::control::Marker;
    use fencepost_reference::storage::names::{ProducerEpoch, ProducerId};
    use fencepost_reference::storage::producer_append::TransactionProtocol::Two;
    let (_, mut log) = new_log();
    let mut producer = Producer::new(7);
    put_in_transaction(&mut log, &mut producer, "a", Some("1"));
    let mut end_2 = |epoch| {
        let marker = Marker { commit: true, coordinator_epoch: 0 };
        log.append_marker(ProducerId(7), ProducerEpoch(epoch), marker, Two, LeaderEpoch(0), NOW)
    };
    assert!(matches!(refused(end_2(0)), AppendError::InvalidProducerEpoch { .. }));
    end_2(1).expect("the next epoch");
    end_2(1).expect("sent again (KAFKA-19999)");
    assert!(matches!(refused(end_2(0)), AppendError::InvalidProducerEpoch { .. }));
}

#[test]
fn a_marker_of_an_older_coordinator_and_data_outside_of_an_open_transaction_are_refused() {
    use fencepost_reference::storage::control::Marker;
    use fencepost_reference::storage::names::{ProducerEpoch, ProducerId};
    use fencepost_reference::storage::producer_append::TransactionProtocol::One;
    let (_, mut log) = new_log();
    let mut producer = Producer::new(7);
    put_in_transaction(&mut log, &mut producer, "a", Some("1"));
    let plain = refused(try_append(&mut log, &batch(Some((producer, false)), &[("k", None)])));
    assert!(matches!(plain, AppendError::InvalidTxnState { .. }));
    let mut mark = |coordinator_epoch| {
        let marker = Marker { commit: true, coordinator_epoch };
        log.append_marker(ProducerId(7), ProducerEpoch(0), marker, One, LeaderEpoch(0), NOW)
    };
    mark(5).expect("appended");
    assert!(matches!(refused(mark(4)), AppendError::TransactionCoordinatorFenced { .. }));
}

#[test]
fn a_segment_is_rolled_when_a_batch_would_make_it_too_large() {
    let (_, mut log) = new_log();
    let one = batch(None, &[("k", Some("v"))]).len() as u64;
    log.set_config(LogConfig { segment_bytes: 2 * one, ..config() });
    for _ in 0..5 {
        put(&mut log, "k", Some("v"));
    }
    let bases: Vec<i64> = log.segments().map(|segment| segment.base().0).collect();
    assert_eq!(bases, [0, 2, 4]);
    assert_eq!(log.recovery_point(), Offset(4), "what is closed is durable");
}

#[test]
fn the_snapshot_of_a_roll_is_of_the_producers_before_it() {
    let (fs, mut log) = new_log();
    let one = batch(Some((Producer::new(7), false)), &[("k", Some("v"))]).len() as u64;
    log.set_config(LogConfig { segment_bytes: one, ..config() });
    let mut producer = Producer::new(7);
    for _ in 0..2 {
        try_append(&mut log, &batch(Some((producer, false)), &[("k", Some("v"))])).expect("appended");
        producer.sequence += 1;
    }
    let path = crate::support::file("00000000000000000001.snapshot");
    let bytes = fencepost_reference::storage::fs::read_all(&*fs, &path).expect("read");
    let entries = fencepost_reference::storage::producer_snapshot::decode(&path, &bytes).expect("decoded");
    assert_eq!(entries[0].last_data_offset(), Some(Offset(0)));
}

#[test]
fn each_batch_may_get_an_index_entry_not_each_append() {
    let (_, mut log) = new_log();
    let three: Vec<u8> = (0..3).flat_map(|base| batch_at(base, None, &[("k", Some("v"))])).collect();
    log.append_as_follower(&three, NOW).expect("appended");
    let segment = log.segments().next().expect("a segment");
    let entries: Vec<i64> = segment.offset_index().entries().iter().map(|entry| entry.offset.0).collect();
    assert_eq!(entries, [1, 2], "with index.interval.bytes 0 every batch but the first");
}

#[test]
fn a_transaction_without_data_here_completes_nothing() {
    let (_, mut log) = new_log();
    end(&mut log, Producer::new(9), false).expect("appended");
    assert_eq!(log.segments().next().expect("a segment").transaction_index().entries(), []);
}
