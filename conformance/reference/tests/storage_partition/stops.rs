//! A round that is stopped at each of its file operations, and life after it.

use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::memory_fs::Loss;
use fencepost_reference::storage::mutation::Mutation;
use fencepost_reference::storage::producer_append::TransactionProtocol;
use fencepost_reference::storage::rules::Rules;

use crate::life::{Life, Mode, Op};

/// Every stop of a round that merges segments, swaps several groups and writes its checkpoint; then life goes on.
#[test]
fn a_stop_at_each_operation_of_a_round_leaves_a_log_that_lives_on() {
    let put = |key, tombstone| Op::Put { key, tombstone };
    let in_transaction = |producer, key, tombstone| Op::PutInTransaction { producer, key, tombstone };
    let end = |producer, commit| Op::End { producer, commit };
    let before = [
        put(0, false),
        in_transaction(0, 1, false),
        end(0, false),
        Op::Roll,
        in_transaction(1, 0, true),
        in_transaction(0, 2, false),
        end(1, true),
        Op::Roll,
        end(0, true),
        put(2, true),
        put(1, false),
        Op::Checkpoint,
    ];
    let after = [
        in_transaction(0, 1, true),
        end(0, true),
        Op::RollAndClean { map: 2 },
        Op::Clock { add: 200 },
        put(0, false),
        Op::RollAndClean { map: 100 },
        Op::RollAndClean { map: 100 },
    ];
    let losses =
        [Loss::Nothing, Loss::Everything, Loss::Some { seed: 1 }, Loss::Some { seed: 2 }, Loss::Some { seed: 3 }];
    for rules in [LogRules::repaired(), LogRules::kafka_4_4()] {
        let repaired = rules == LogRules::repaired();
        let protocols = if repaired {
            vec![TransactionProtocol::One, TransactionProtocol::Two]
        } else {
            vec![TransactionProtocol::Two]
        };
        for (protocol, loss) in protocols.iter().flat_map(|protocol| losses.map(|loss| (*protocol, loss))) {
            for stop in 0.. {
                let mode = Mode { rules, protocol, ample_map: !repaired };
                let mut life = Life::new(mode);
                for op in &before {
                    life.run(op).expect("nothing stops it yet");
                }
                life.run(&Op::PowerOff { after: stop, loss }).expect("set");
                let context = format!("{protocol:?} {loss:?} {stop}");
                life.run(&Op::RollAndClean { map: 3 }).unwrap_or_else(|e| panic!("{context}: {e}"));
                let was_stopped = life.power_off.is_none();
                if !was_stopped {
                    assert!(stop > 50, "a round has many operations: {stop}");
                    break;
                }
                for op in &after {
                    life.run(op).unwrap_or_else(|e| panic!("{context}, then {op:?}: {e}"));
                }
            }
        }
    }
}

/// The data of an aborted transaction are dropped, their emptied batch and the index entry stay: whatever part of the swap
/// is lost, no entry is missing of data that are there.
#[test]
fn whatever_names_a_stop_takes_no_aborted_record_is_handed_out() {
    let before = [
        Op::PutInTransaction { producer: 0, key: 0, tombstone: false },
        Op::End { producer: 0, commit: false },
        Op::Put { key: 1, tombstone: false },
        Op::Roll,
        // So that nothing but its own indexes is asked of the segment.
        Op::Checkpoint,
    ];
    let mode = Mode { rules: LogRules::kafka_4_4(), protocol: TransactionProtocol::One, ample_map: true };
    let prepared = || {
        let mut life = Life::new(mode);
        for op in &before {
            life.run(op).expect("nothing stops it yet");
        }
        life
    };
    let clean = Op::RollAndClean { map: 3 };
    let entries = |life: &Life| {
        let log = life.partition.as_ref().expect("open").log();
        log.segments().map(|segment| segment.transaction_index().entries().len()).sum::<usize>()
    };
    let mut life = prepared();
    let start = life.memory().changes();
    life.run(&clean).expect("nothing stops it");
    // In this pass the data were seen, so the entry is kept (docs/compaction.md 3.2).
    assert_eq!(entries(&life), 1);
    let history = life.memory().history();
    let renames = (1..).zip(&history).filter(|(_, change)| change.starts_with("rename /logs/t-0"));
    let stops: Vec<u64> = renames.map(|(nth, _)| nth).filter(|nth| *nth > start).map(|nth| nth - start).collect();
    assert!(stops.len() >= 12, "four files, to .swap, to .deleted, and to their names");
    for (stop, seed) in stops.into_iter().flat_map(|stop| (0..100).map(move |seed| (stop, seed))) {
        let mut life = prepared();
        life.run(&Op::PowerOff { after: stop, loss: Loss::Some { seed } }).expect("set");
        life.run(&clean).unwrap_or_else(|e| panic!("{seed} {stop}: {e}"));
        assert_eq!(entries(&life), 1, "{seed} {stop}");
    }
}

/// S15 by a group whose later segments leave nothing: files that are renamed from the last one on would let a stop bring one
/// in the middle back, without the one after it.
#[test]
fn old_segments_that_a_stop_brings_back_are_a_suffix() {
    let in_transaction = |key| Op::PutInTransaction { producer: 0, key, tombstone: false };
    let before = [
        Op::Put { key: 0, tombstone: false },
        Op::Roll,
        in_transaction(1),
        Op::Roll,
        in_transaction(2),
        Op::Roll,
        Op::End { producer: 0, commit: false },
        in_transaction(1),
        Op::End { producer: 0, commit: true },
        Op::Checkpoint,
    ];
    let broken = |rules: LogRules| {
        let stopped = |stop| {
            let mode = Mode { rules, protocol: TransactionProtocol::Two, ample_map: true };
            let mut life = Life::new(mode);
            for op in &before {
                life.run(op).expect("nothing stops it yet");
            }
            life.run(&Op::PowerOff { after: stop, loss: Loss::Nothing }).expect("set");
            life.run(&Op::Clean { map: 3 }).err()
        };
        (0..60).filter_map(stopped).collect::<Vec<_>>()
    };
    let rules = LogRules::kafka_4_4();
    assert_eq!(broken(rules), [""; 0]);
    let slip = Rules::kafka_4_4().with(Mutation::OldFilesDeletedLastFirst);
    let told = broken(LogRules { cleaner: slip, ..rules });
    assert!(told.iter().any(|told| told.starts_with("S15")), "{told:?}");
}
