//! What Kafka 4.4.0 was seen to do (its cleaner, driven class by class), step by step: first dirty offset, bound, offset
//! cleaned to, and what is left in the log.

use fencepost_model::compaction::batch::NONE;
use fencepost_model::compaction::bounds::{Bounds, Isolation, Setting};
use fencepost_model::compaction::broker::Broker;
use fencepost_model::compaction::catalogue::rules;
use fencepost_model::compaction::labels::Trail;
use fencepost_model::compaction::message::{Msg, Timer};
use fencepost_model::compaction::mutant::Mutant;
use fencepost_model::compaction::words;

struct Log {
    setting: Setting,
    broker: Broker,
}

impl Log {
    fn new(variant: &str, bounds: Bounds) -> Self {
        let rules = rules(variant).expect("a variant");
        let setting = Setting { rules, mutant: Mutant::None, bounds };
        Self { setting, broker: Broker::new(&setting, 0) }
    }

    fn does(&mut self, timers: &[Timer]) -> &mut Self {
        for timer in timers {
            self.broker.time_out(&self.setting, *timer);
        }
        self
    }

    /// A round with a map of one: first dirty offset, bound, cleaned to, entries.
    fn cleans(&mut self, entries: u8) -> (u8, u8, u8, usize) {
        let round = self.broker.time_out(&self.setting, Timer::Clean { entries }).round.expect("a round");
        let mapped = round.map.iter().filter(|offset| **offset != NONE).count();
        (round.from, round.bound, round.cleaned_to, mapped)
    }

    /// What a consumer that may see committed records alone reads from `from` to the end.
    fn reads(&self, mut from: u8) -> Vec<String> {
        let mut read = Vec::new();
        loop {
            match self.broker.read(Isolation::ReadCommitted, from, &mut Trail::default()) {
                Msg::Fetched { batch, next, end, .. } if from < end => {
                    read.extend(batch.as_ref().map(words::batch));
                    from = next;
                }
                _ => return read,
            }
        }
    }

    fn horizon_of(&self, base: u8) -> u8 {
        self.broker.log.batches.iter().find(|batch| batch.base == base).map_or(0, |batch| batch.horizon)
    }
}

const VALUE: Timer = Timer::Write { producer: 0, key: 0, tombstone: false };
const TOMBSTONE: Timer = Timer::Write { producer: 0, key: 0, tombstone: true };
const P_VALUE: Timer = Timer::Write { producer: 1, key: 1, tombstone: false };
const P_TOMBSTONE: Timer = Timer::Write { producer: 1, key: 0, tombstone: true };
const ABORT: Timer = Timer::End { producer: 1, commit: false };
const COMMIT: Timer = Timer::End { producer: 1, commit: true };

#[test]
fn a_tombstone_above_the_mapped_part_is_stamped_and_goes_with_its_value() {
    let mut log = Log::new("kafka-4.4", Bounds::PARTIAL);
    log.does(&[VALUE, TOMBSTONE, Timer::Roll]);
    assert_eq!(log.cleans(1), (0, 2, 1, 1));
    assert_eq!(log.horizon_of(1), 1 + 2);
    assert_eq!(log.reads(0), ["0 k=v0", "1 k=null"]);
    log.does(&[Timer::Tick, Timer::Tick]);
    assert_eq!(log.cleans(1), (1, 2, 2, 1));
    assert_eq!(log.reads(0), [""; 0]);
}

#[test]
fn a_committed_tombstone_is_taken_for_aborted_and_the_deleted_key_comes_back() {
    for protocol in [1, 2] {
        let mut log = Log::new("kafka-4.4", Bounds { keys: 2, protocol, ..Bounds::TRANSACTION });
        log.does(&[VALUE, P_VALUE, ABORT, P_TOMBSTONE, COMMIT, Timer::Roll]);
        assert_eq!(log.reads(0), ["0 k=v0", "3 k=null"]);
        assert_eq!(log.cleans(1), (0, 5, 3, 1));
        let aborted: Vec<_> =
            log.broker.log.aborted.iter().map(|entry| (entry.producer, entry.first, entry.last)).collect();
        assert_eq!(aborted, [(1, 1, 2)]);
        assert_eq!(log.horizon_of(3), 3);
        log.does(&[Timer::Tick, Timer::Tick]);
        assert_eq!(log.cleans(1), (3, 5, 5, 0));
        assert_eq!(log.reads(0), ["0 k=v0"]);
    }
}

#[test]
fn without_an_index_entry_mapping_begins_with_the_segment_and_the_key_stays_deleted() {
    let mut log = Log::new("kafka-4.4", Bounds { keys: 2, indexed: false, ..Bounds::TRANSACTION });
    log.does(&[VALUE, P_VALUE, ABORT, P_TOMBSTONE, COMMIT, Timer::Roll]);
    assert_eq!(log.cleans(1), (0, 5, 3, 1));
    log.does(&[Timer::Tick, Timer::Tick]);
    assert_eq!(log.cleans(1), (3, 5, 5, 1));
    assert_eq!(log.reads(0), [""; 0]);
}

#[test]
fn a_client_writes_a_horizon_that_has_passed_and_value_and_tombstone_go_together() {
    let mut log = Log::new("kafka-4.4", Bounds::BASE);
    log.does(&[VALUE, Timer::WriteStamped { key: 0 }, Timer::Roll]);
    log.cleans(3);
    assert_eq!(log.reads(0), [""; 0]);
}

#[test]
fn a_truncation_under_policy_delete_leaves_the_first_dirty_offset_above_the_end() {
    let write = |key| Timer::Write { producer: 0, key, tombstone: false };
    let mut log = Log::new("kafka-4.4", Bounds { keys: 3, ..Bounds::BASE });
    log.does(&[VALUE, write(1), write(2), Timer::Roll]);
    assert_eq!(log.cleans(3), (0, 3, 3, 3));
    log.does(&[Timer::SwitchPolicy, Timer::Truncate { to: 1 }]);
    assert_eq!((log.broker.log.checkpoint, log.broker.log.end), (3, 1));
    log.does(&[TOMBSTONE, write(1), write(2), Timer::SwitchPolicy, Timer::Roll, write(1), Timer::Roll]);
    assert_eq!(log.cleans(3).0, 3);
    log.does(&[Timer::Tick, Timer::Tick, write(2), Timer::Roll]);
    log.cleans(3);
    assert!(log.reads(0).contains(&"0 k=v0".to_owned()), "{:?}", log.reads(0));
    assert!(!log.reads(0).iter().any(|batch| batch.contains("k=null")), "{:?}", log.reads(0));
    // While the policy contains compact, the checkpoint is lowered.
    let mut log = Log::new("kafka-4.4", Bounds { keys: 3, ..Bounds::BASE });
    log.does(&[VALUE, write(1), write(2), Timer::Roll]);
    assert_eq!(log.cleans(3), (0, 3, 3, 3));
    log.does(&[Timer::Truncate { to: 1 }]);
    assert_eq!(log.broker.log.checkpoint, 0);
}
