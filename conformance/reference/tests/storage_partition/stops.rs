//! A round that is stopped at each of its file operations, and life after it.

use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::memory_fs::Loss;
use fencepost_reference::storage::producer_append::TransactionProtocol;

use crate::random::{Life, Mode, Op};

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
