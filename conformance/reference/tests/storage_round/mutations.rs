//! Every slip of a round is seen by a claim that holds without it.

use fencepost_reference::storage::batch::{BatchBuilder, BatchHeader, RecordBatch};
use fencepost_reference::storage::batch_reader::{BatchReader, LogBatch};
use fencepost_reference::storage::compression::{Compression, compress};
use fencepost_reference::storage::legacy;
use fencepost_reference::storage::mutation::Mutation;
use fencepost_reference::storage::names::{Millis, Offset};
use fencepost_reference::storage::record::Record;
use fencepost_reference::storage::rules::{LegacyBatches, Rules};

use crate::log::Log;

type Claim = fn(Rules) -> bool;

const P: (i64, i16) = (7, 0);
const FAR: i64 = 1 << 31;

/// The slips of what chooses a log and remembers how far it came; a round does not know of them.
const OF_THE_DISK_SIDE: &[Mutation] = &[
    Mutation::CleansAboveHighWatermark,
    Mutation::BoundBelowFirstDirty,
    Mutation::CheckpointNotReset,
    Mutation::CorrectedCheckpointNotWritten,
    Mutation::UncleanableNotMarked,
    Mutation::MaxCompactionLagIgnored,
    Mutation::DirtyFromTheBound,
    Mutation::CheckpointFirst,
    Mutation::OldFilesDeletedLastFirst,
];

/// The wider slips: the traces of the model that have their names catch them.
const CAUGHT_BY_TRACES: &[Mutation] = &[
    Mutation::LastBatchNotKept,
    Mutation::ProducerNotKept,
    Mutation::ProducerByFirstSequence,
    Mutation::MarkersDroppedAtOnce,
    Mutation::AbortedUnknown,
    Mutation::StaysAtTheHorizon,
    Mutation::IndexNotCopied,
];

#[test]
fn every_slip_of_a_round_is_caught_by_a_claim_that_holds_without_it() {
    for mutation in Mutation::ALL {
        if let Some(claim) = claim(*mutation) {
            let rules = Rules::kafka_4_4();
            assert!(claim(rules), "{mutation}: the claim does not hold");
            assert!(!claim(rules.with(*mutation)), "{mutation}: nothing notices it");
        } else {
            let elsewhere = OF_THE_DISK_SIDE.contains(mutation) || CAUGHT_BY_TRACES.contains(mutation);
            assert!(elsewhere, "{mutation}: no claim");
        }
    }
}

fn claim(mutation: Mutation) -> Option<Claim> {
    of_the_map(mutation)
        .or_else(|| of_recopy(mutation))
        .or_else(|| of_batches(mutation))
        .or_else(|| of_records(mutation))
}

/// A log of these batches of one record, rolled. The names are keys; `None` is a tombstone.
fn log(rules: Rules, records: &[(&str, Option<&str>)]) -> Log {
    let mut log = Log::new(rules);
    for record in records {
        log.append(&[*record]);
    }
    log.roll();
    log
}

/// Something new to map, and a round.
fn another_round(log: &mut Log, now: i64) {
    log.value("more", "1");
    log.roll();
    log.clean_at(now);
}

fn one(log: &mut Log, key: Option<&str>, value: Option<&str>) {
    let record = Record::new(log.next, log.now, key.map(str::as_bytes), value.map(str::as_bytes));
    let bytes = BatchBuilder::new(BatchHeader::plain(log.next)).record(record).build().unwrap();
    log.feed(&bytes);
}

fn of_the_map(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::ControlRecordsKeyed => |rules| {
            let mut log = Log::new(rules);
            for key in ["a", "b"] {
                log.append_in(P, &[(key, Some("1"))]);
                log.end(P, true);
            }
            log.roll();
            log.clean_at(5000);
            log.has(1) && log.has(3)
        },
        Mutation::AbortedRecordsMapped => |rules| {
            let mut log = Log::new(rules);
            log.value("k", "v");
            log.append_in(P, &[("k", Some("x"))]);
            log.end(P, false);
            log.roll();
            log.clean_at(5000);
            log.has(0)
        },
        Mutation::TombstonesNotMapped => |rules| {
            let mut log = log(rules, &[("k", Some("v")), ("k", None)]);
            log.clean_at(5000);
            !log.has(0)
        },
        Mutation::FullMapFails => |rules| {
            let mut log = log(rules, &[("a", Some("1")), ("b", Some("1"))]);
            log.map = 1;
            log.clean().is_ok()
        },
        Mutation::FullMapTakesKnownKeys => |rules| {
            let mut log = log(rules, &[("a", Some("1")), ("a", Some("2"))]);
            log.map = 1;
            log.clean_at(5000) == 1
        },
        Mutation::GapHoldsFirstDirtyBack => |rules| {
            let mut log = Log::new(rules);
            log.value("a", "1");
            log.next = Offset(10);
            log.roll();
            log.clean_at(5000) == 10
        },
        Mutation::FullMapCoversItsBatch => |rules| {
            let mut log = Log::new(rules);
            log.map = 1;
            log.append(&[("a", Some("1")), ("b", Some("1"))]);
            log.roll();
            log.clean_at(5000) == 1
        },
        _ => return None,
    })
}

fn of_recopy(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::TrackerPerGroup => |rules| {
            let mut log = Log::new(rules);
            log.segment_bytes = 1;
            log.append_in(P, &[("a", Some("1"))]);
            log.roll();
            log.end(P, true);
            log.roll();
            log.clean_at(5000);
            log.horizon(1).is_none()
        },
        Mutation::AbortedListEndsAtMapped => |rules| {
            let mut log = Log::new(rules);
            log.map = 1;
            log.value("a", "1");
            log.value("b", "1");
            log.append_in(P, &[("x", Some("1"))]);
            log.end(P, false);
            log.roll();
            log.clean_at(5000);
            !log.has(2) && log.aborted().len() == 1
        },
        Mutation::GroupsIgnoreOffsetRange => |rules| {
            let mut log = log(rules, &[("a", Some("1"))]);
            log.next = Offset(FAR);
            log.value("b", "1");
            log.roll();
            log.clean().is_ok_and(|outcome| outcome.groups == 2)
        },
        Mutation::EmptySegmentsNotMerged => |rules| {
            let mut log = log(rules, &[("a", Some("1"))]);
            log.next = Offset(FAR + 10);
            log.roll();
            log.clean().is_ok_and(|outcome| outcome.groups == 1)
        },
        Mutation::DiscardedChunkLooksSmall => |rules| {
            let mut log = log(rules, &[("a", Some("1"))]);
            log.value("a", "2");
            log.roll();
            log.clean().is_ok()
        },
        Mutation::OversizedBatchFails => |rules| {
            let mut log = log(rules, &[("a", Some(&"x".repeat(1_200_000)))]);
            log.clean().is_ok()
        },
        Mutation::ChunkFilteredTwice => |rules| {
            let mut log = Log::new(rules);
            log.append_in(P, &[("x", Some("1"))]);
            log.end(P, false);
            log.roll();
            log.clean_at(5000);
            !log.has(0)
        },
        Mutation::EmptyHeadersNotCounted => |rules| {
            let mut log = Log::new(rules);
            log.append_in(P, &[("k", Some("old"))]);
            log.roll();
            log.end(P, true);
            log.value("k", "new");
            log.roll();
            log.clean().is_ok()
        },
        _ => return None,
    })
}

fn aborted(rules: Rules) -> Log {
    let mut log = Log::new(rules);
    log.append_in(P, &[("x", Some("1"))]);
    log.end(P, false);
    log.roll();
    log.expire(P.0);
    log.clean_at(5000);
    log
}

/// The marker of an empty transaction, stamped 5100.
fn stamped_marker(rules: Rules) -> Log {
    let mut log = Log::new(rules);
    log.end(P, true);
    log.value("k", "v");
    log.roll();
    log.clean_at(5000);
    log
}

/// A transaction under protocol 2 whose marker is empty.
fn emptied_marker(rules: Rules) -> Log {
    let mut log = stamped_marker(rules);
    another_round(&mut log, 5100);
    log
}

fn superseded_data(rules: Rules) -> Log {
    let mut log = Log::new(rules);
    log.append_in(P, &[("k", Some("old"))]);
    log.end(P, true);
    log.value("k", "new");
    log.roll();
    log.clean_at(5000);
    log
}

fn of_batches(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::AbortedRecordsKept | Mutation::AbortedDataStamped => |rules| !aborted(rules).has(0),
        Mutation::MarkerIgnoresData => |rules| aborted(rules).horizon(1).is_none(),
        Mutation::AbortedEntryDropped => |rules| aborted(rules).aborted().len() == 1,
        Mutation::MarkerNotStamped => |rules| stamped_marker(rules).has(0),
        Mutation::MarkerIgnoresHorizon => |rules| {
            let mut log = stamped_marker(rules);
            another_round(&mut log, 5099);
            log.has(0)
        },
        Mutation::MarkerStaysAtHorizon => |rules| {
            let mut log = stamped_marker(rules);
            another_round(&mut log, 5100);
            !log.has(0)
        },
        Mutation::EmptyControlBatchRead => |rules| {
            let mut log = emptied_marker(rules);
            log.value("more", "1");
            log.roll();
            log.clean().is_ok()
        },
        Mutation::LastMarkerOfProducerDropped => |rules| emptied_marker(rules).batches_at().contains(&0),
        Mutation::OtherControlDiscarded => |rules| {
            let mut log = Log::new(rules);
            let record = Record::new(Offset(0), Millis(5000), Some(&[0, 0, 0, 2]), Some(&[]));
            let header = BatchHeader { control: true, ..BatchHeader::plain(Offset(0)) };
            log.feed(&BatchBuilder::new(header).record(record).build().unwrap());
            log.roll();
            log.clean_at(5000);
            log.has(0) && log.horizon(0).is_none()
        },
        Mutation::LastDataOfProducerDropped => |rules| superseded_data(rules).batches_at().contains(&0),
        Mutation::EmptyBatchesAreNoData => |rules| {
            let mut log = superseded_data(rules);
            another_round(&mut log, 6000);
            log.horizon(1).is_none()
        },
        _ => return None,
    })
}

/// Two tombstones and a value in one batch, stamped 5100.
fn stamped(rules: Rules) -> Log {
    let mut log = Log::new(rules);
    log.now = Millis(1000);
    log.append(&[("a", None), ("b", None), ("empty", Some(""))]);
    log.value("z", "1");
    log.roll();
    log.clean_at(5000);
    log
}

/// The same, when one of them has been superseded before the horizon.
fn rebuilt(rules: Rules) -> Log {
    let mut log = stamped(rules);
    log.value("a", "1");
    log.roll();
    log.clean_at(5050);
    log
}

/// A batch of two records, with times 1000 and 2000, the second of which goes.
fn shortened(rules: Rules) -> Vec<u8> {
    let mut log = Log::new(rules);
    let record = |offset: i64, key: &str| {
        Record::new(Offset(offset), Millis(1000 * (offset + 1)), Some(key.as_bytes()), Some(b"v"))
    };
    let batch = BatchBuilder::new(BatchHeader::plain(Offset(0))).records([record(0, "a"), record(1, "b")]);
    log.feed(&batch.build().unwrap());
    log.value("b", "1");
    log.roll();
    log.clean_at(5000);
    log.segments[0].bytes.clone()
}

fn first(bytes: &[u8]) -> RecordBatch<'_> {
    match BatchReader::new(bytes).next() {
        Some(Ok(LogBatch::V2(batch))) => batch,
        other => panic!("{other:?}"),
    }
}

/// A wrapper of format 1 around a record of format 0.
fn mixed() -> Vec<u8> {
    let mut inner = Vec::new();
    let record = Record::new(Offset(0), Millis::NONE, Some(b"k"), Some(b"v"));
    legacy::write(&mut inner, 0, Compression::None, None, &[record]).unwrap();
    let packed = compress(Compression::Gzip, inner).unwrap();
    let wrapper = Record::new(Offset(0), Millis(1000), None, Some(&packed));
    let mut bytes = Vec::new();
    legacy::write(&mut bytes, 1, Compression::None, None, &[wrapper]).unwrap();
    bytes[17] = 1;
    bytes
}

fn of_records(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::UnmappedJudged => |rules| {
            let mut log = log(rules, &[("a", Some("1")), ("b", Some("1"))]);
            log.map = 1;
            log.segments.pop();
            one(&mut log, None, Some("v"));
            log.roll();
            log.clean_at(5000);
            log.has(2)
        },
        Mutation::UnkeyedKept => |rules| {
            let mut log = Log::new(rules);
            one(&mut log, None, Some("v"));
            log.value("z", "1");
            log.roll();
            log.clean_at(5000);
            !log.has(0)
        },
        Mutation::SupersededTombstoneWaits => |rules| {
            let mut log = log(rules, &[("k", None), ("k", Some("v"))]);
            log.clean_at(5000);
            !log.has(0)
        },
        Mutation::EmptyValueIsTombstone => |rules| {
            let mut log = stamped(rules);
            another_round(&mut log, 5100);
            log.has(2)
        },
        Mutation::UnstampedTombstoneDropped => |rules| stamped(rules).has(0),
        Mutation::TombstoneIgnoresHorizon => |rules| {
            let mut log = stamped(rules);
            another_round(&mut log, 5099);
            log.has(0)
        },
        Mutation::TombstoneStaysAtHorizon => |rules| {
            let mut log = stamped(rules);
            another_round(&mut log, 5100);
            !log.has(0)
        },
        Mutation::HorizonRenewed | Mutation::HorizonLostInRebuild => |rules| rebuilt(rules).horizon(1) == Some(5100),
        Mutation::HorizonFromRecordTimes => |rules| stamped(rules).horizon(0) == Some(5100),
        Mutation::DeltasKeptWhenStamped => |rules| {
            let log = stamped(rules);
            let records = first(&log.segments[0].bytes).records().unwrap();
            records.iter().all(|record| record.timestamp == Millis(1000))
        },
        Mutation::InnerMagicIgnored => |rules| {
            let mut log = Log::new(Rules { legacy: LegacyBatches::PassThrough, ..rules });
            log.feed(&mixed());
            log.value("z", "1");
            log.roll();
            log.clean_at(5000);
            match BatchReader::new(&log.segments[0].bytes).next() {
                Some(Ok(LogBatch::Legacy(batch))) => !batch.mixes_formats(),
                other => panic!("{other:?}"),
            }
        },
        Mutation::LastOffsetRecomputed => |rules| first(&shortened(rules)).last_offset() == Offset(1),
        Mutation::MaxTimestampKept => |rules| first(&shortened(rules)).max_timestamp() == Millis(1000),
        _ => return None,
    })
}
