//! N1, N2, N3, N5, N6, N8 of docs/compaction.md 5.3, each as it was seen on Kafka 4.4.0, and without it under the repair.

use fencepost_reference::storage::batch_builder::{BatchBuilder, BatchHeader};
use fencepost_reference::storage::log::Log;
use fencepost_reference::storage::log_error::{AppendError, LogError};
use fencepost_reference::storage::log_read::Isolation::{Committed, Uncommitted};
use fencepost_reference::storage::log_rules::{LogConfig, LogRules};
use fencepost_reference::storage::names::{Offset, ProducerEpoch, ProducerId};
use fencepost_reference::storage::partition::RoundEnd;
use fencepost_reference::storage::producer_append::{AppendOrigin, TransactionProtocol};
use fencepost_reference::storage::round::Progress;
use fencepost_reference::storage::rules::{CheckpointClamp, Rules};

use crate::support::{Driven, Producer, config, record};

const RULES: [LogRules; 2] = [LogRules::kafka_4_4(), LogRules::repaired()];

#[test]
fn n1_a_tombstone_above_what_is_mapped_starts_its_clock_while_the_value_is_readable() {
    for (rules, told) in RULES.into_iter().zip([false, true]) {
        let mut driven = Driven::new(rules, 1);
        driven.put("k", Some("v"));
        driven.put("k", None);
        assert_eq!(driven.clean_all(), (0, 1, 1));
        let tombstone = if told { "1-1 1:k=null" } else { "1-1 h=5100 1:k=null" };
        assert_eq!(driven.batches(), ["0-0 0:k=v", tombstone]);
        driven.clock(5099);
        assert_eq!(driven.texts(0, Uncommitted)[0], "0:k=v", "a reader that starts 1 ms before the horizon");
        driven.clock(5100);
        assert_eq!(driven.clean().cleaned_to, Offset(2));
        let rest: &[&str] = if told { &["1:k=null"] } else { &[] };
        assert_eq!(driven.texts(1, Uncommitted), rest, "what the reader is told 1 ms later");
    }
}

fn n2(rules: LogRules, protocol: TransactionProtocol, config: LogConfig) -> Vec<String> {
    let mut driven = Driven::new(rules, 1);
    driven.partition.set_config(config);
    let mut p = Producer::new(7, protocol);
    driven.put("k", Some("v"));
    driven.put_as(&mut p, "x", Some("1")).expect("appended");
    driven.end(&mut p, false);
    driven.put_as(&mut p, "k", None).expect("appended");
    driven.end(&mut p, true);
    driven.settle();
    assert_eq!(driven.committed(), ["0:k=v", "3:k=null"]);
    driven.clean();
    driven.clock(5100);
    driven.clean();
    for now in [9000, 9900] {
        driven.clock(now);
        driven.put(&format!("filler{now}"), Some("1"));
        driven.settle();
        driven.round();
    }
    driven.committed().into_iter().filter(|line| line.contains(":k=")).collect()
}

#[test]
fn n2_a_stale_abort_entry_brings_a_deleted_key_back_for_good() {
    for protocol in [TransactionProtocol::One, TransactionProtocol::Two] {
        assert_eq!(n2(LogRules::kafka_4_4(), protocol, config()), ["0:k=v"], "{protocol:?}");
        let repaired = n2(LogRules::repaired(), protocol, config());
        assert!(!repaired.contains(&"0:k=v".to_owned()), "{protocol:?}: {repaired:?}");
    }
}

#[test]
fn n2_needs_an_index_entry_between_the_marker_and_the_first_dirty_offset() {
    let sparse = LogConfig { index_interval_bytes: 4096, ..config() };
    let left = n2(LogRules::kafka_4_4(), TransactionProtocol::One, sparse);
    assert!(!left.contains(&"0:k=v".to_owned()), "{left:?}");
}

/// How the round after the first one ends early, with its first group swapped and F as it was.
#[derive(Debug, Clone, Copy)]
enum Ending {
    CrashBeforeTheCheckpoint,
    AbortInTheSecondGroup,
}

/// An aborted transaction of P, whose emptied data batch is kept because it is P's last (protocol 1), and its index entry with
/// it. Then a round that swaps and does not get to its checkpoint: F lies inside of a segment that holds the entry.
fn n2_without_a_full_map(rules: LogRules, protocol: TransactionProtocol, ending: Ending) -> Vec<String> {
    let mut driven = Driven::new(rules, 1000);
    driven.partition.set_config(LogConfig { segment_bytes: 1000, ..config() });
    let mut p = Producer::new(7, protocol);
    driven.put_as(&mut p, "x", Some("1")).expect("appended");
    driven.end(&mut p, false);
    driven.put("k", Some("v"));
    driven.clean_all();
    driven.put("y", Some("1"));
    driven.partition.roll().expect("rolled");
    driven.put("large", Some(&"z".repeat(900)));
    driven.settle();
    let mut recopied = 0;
    let mut hook = |_: &mut Log, progress: Progress| {
        recopied += usize::from(matches!(progress, Progress::RecopyChunk(..)));
        let stop = matches!(ending, Ending::AbortInTheSecondGroup) && recopied == 3;
        if stop { Err(LogError::CleaningAborted) } else { Ok(()) }
    };
    let end = match ending {
        Ending::CrashBeforeTheCheckpoint => RoundEnd::WithoutCheckpoint,
        Ending::AbortInTheSecondGroup => RoundEnd::Checkpointed,
    };
    driven.partition.clean_with(&mut hook, end).expect("no file failed");
    let first_dirty = driven.partition.first_dirty().expect("read").expect("written");
    let merged = driven.partition.log().segments().next().expect("a segment").base();
    assert!(merged < first_dirty, "F lies inside of a merged segment");
    let mut driven = match ending {
        Ending::CrashBeforeTheCheckpoint => driven.crash(),
        Ending::AbortInTheSecondGroup => driven,
    };
    driven.put_as(&mut p, "k", None).expect("appended");
    driven.end(&mut p, true);
    driven.clean_all();
    for now in [6000, 7000] {
        driven.clock(now);
        driven.put("y", Some("2"));
        driven.clean_all();
    }
    driven.committed().into_iter().filter(|line| line.contains(":k=")).collect()
}

/// Found by the random walks, without a map that ever fills: it is N2 whenever a round swaps without its checkpoint.
#[test]
fn n2_needs_no_full_map_where_a_round_loses_its_checkpoint_under_protocol_1() {
    for ending in [Ending::CrashBeforeTheCheckpoint, Ending::AbortInTheSecondGroup] {
        let kafka = n2_without_a_full_map(LogRules::kafka_4_4(), TransactionProtocol::One, ending);
        assert_eq!(kafka, ["2:k=v"], "the deleted key is back for good: {ending:?}");
        let repaired = n2_without_a_full_map(LogRules::repaired(), TransactionProtocol::One, ending);
        assert_eq!(repaired, [""; 0], "{ending:?}");
        let next_epoch = n2_without_a_full_map(LogRules::kafka_4_4(), TransactionProtocol::Two, ending);
        assert_eq!(next_epoch, [""; 0], "protocol 2 keeps the marker instead of the data, and no entry: {ending:?}");
    }
}

/// The horizon counts from the start of the round, and the value is readable until its group is swapped.
#[test]
fn n3_a_long_round_takes_its_length_from_the_reader() {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
    driven.put("k", Some("v"));
    driven.put("k", None);
    driven.put("y", Some("1"));
    driven.settle();
    let mut seen = Vec::new();
    let mut hook = |log: &mut Log, progress: Progress| {
        if matches!(progress, Progress::RecopyChunk(..)) {
            // The clock is at 5099 by now: the caller's, not the round's.
            seen = log.read(Offset(0), usize::MAX, Uncommitted)?.batches;
        }
        Ok(())
    };
    driven.partition.clean_with(&mut hook, RoundEnd::Checkpointed).expect("no file failed");
    let first = fencepost_reference::storage::reader::hand_out(&seen, &[], Offset(0), Uncommitted).expect("it reads");
    assert_eq!(first.records.len(), 3, "in the middle of the round the value is there");
    assert_eq!(driven.batches()[0], "1-1 h=5100 1:k=null");
    driven.clock(5100);
    driven.put("z", Some("1"));
    driven.settle();
    driven.clean();
    assert_eq!(driven.texts(1, Uncommitted), ["2:y=1", "3:z=1"]);
}

#[test]
fn n5_the_epoch_of_an_emptied_marker_is_lost_to_a_replay() {
    for (rules, fenced) in RULES.into_iter().zip([false, true]) {
        let mut driven = Driven::new(rules, 10);
        let mut p = Producer { epoch: 3, ..Producer::new(7, TransactionProtocol::Two) };
        driven.put_as(&mut p, "k", Some("1")).expect("appended");
        driven.end(&mut p, true);
        driven.put("k", Some("2"));
        driven.clean_all();
        for now in [6000, 7000, 8000] {
            driven.clock(now);
            driven.put("filler", Some("1"));
            driven.clean_all();
        }
        assert_eq!(driven.batches()[0], "1-1 empty marker");
        let epoch = |driven: &Driven| driven.partition.log().producers().producers()[&ProducerId(7)].epoch;
        assert_eq!(epoch(&driven), ProducerEpoch(4));
        let directory = driven.partition.log().directory().to_owned();
        let snapshots = driven.partition.log().producers().snapshots(&*driven.fs).expect("listed");
        for snapshot in snapshots {
            let file = directory.join(format!("{snapshot:020}.snapshot", snapshot = snapshot.0));
            fencepost_reference::storage::fs::FileSystem::remove(&*driven.fs, &file).expect("removed");
        }
        let mut driven = driven.crash();
        assert_eq!(epoch(&driven), ProducerEpoch(if fenced { 4 } else { -1 }));
        let mut zombie = Producer { epoch: 3, ..Producer::new(7, TransactionProtocol::Two) };
        let result = driven.put_as(&mut zombie, "k", Some("zombie"));
        let refused = matches!(result, Err(LogError::Refused(AppendError::InvalidProducerEpoch { .. })));
        assert_eq!(refused, fenced, "{result:?}");
    }
}

#[test]
fn n6_a_client_sends_a_tombstone_that_has_expired_already() {
    for (rules, told) in RULES.into_iter().zip([false, true]) {
        let mut driven = Driven::new(rules, 10);
        driven.put("k", Some("v"));
        let expired = BatchBuilder::new(BatchHeader::plain(Offset(0)))
            .delete_horizon(Some(fencepost_reference::storage::names::Millis(5)))
            .record(record("k", None, driven.partition.now()))
            .build()
            .expect("a batch");
        driven.partition.append_batches(&expired, AppendOrigin::Client).expect("appended");
        driven.put("z", Some("1"));
        driven.clean_all();
        let rest: &[&str] = if told { &["1:k=null", "2:z=1"] } else { &["2:z=1"] };
        assert_eq!(driven.texts(0, Uncommitted), rest);
    }
}

#[test]
fn n8_what_is_written_below_the_checkpoint_after_a_truncation_is_never_mapped() {
    // The repair of N8 alone: that of N3 would stamp the tombstone one round later.
    let kafka = LogRules::kafka_4_4();
    let clamped = Rules { checkpoint_clamp: CheckpointClamp::Always, ..kafka.cleaner };
    for (rules, back) in [(kafka, true), (LogRules { cleaner: clamped, ..kafka }, false)] {
        let mut driven = Driven::new(rules, 10);
        driven.put("k", Some("v"));
        driven.put("a", Some("1"));
        driven.put("b", Some("1"));
        assert_eq!(driven.clean_all(), (0, 3, 3));
        driven.partition.set_config(LogConfig { compact: false, delete: true, ..config() });
        driven.partition.truncate(Offset(1)).expect("cut");
        let first_dirty = driven.partition.first_dirty().expect("read");
        assert_eq!(first_dirty, Some(Offset(if back { 3 } else { 0 })));
        driven.put("k", None);
        driven.put("c", Some("1"));
        driven.put("d", Some("1"));
        driven.partition.set_config(config());
        driven.clean_all();
        driven.clock(6000);
        driven.put("z", Some("1"));
        driven.clean_all();
        let rest: &[&str] = if back { &["0:k=v", "2:c=1", "3:d=1", "4:z=1"] } else { &["2:c=1", "3:d=1", "4:z=1"] };
        assert_eq!(driven.texts(0, Committed), rest);
    }
}

#[test]
fn n8_does_not_arise_while_the_policy_is_compact() {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
    for key in ["k", "a", "b"] {
        driven.put(key, Some("v"));
    }
    driven.clean_all();
    driven.partition.truncate(Offset(1)).expect("cut");
    assert_eq!(driven.partition.first_dirty().expect("read"), Some(Offset(0)));
}
