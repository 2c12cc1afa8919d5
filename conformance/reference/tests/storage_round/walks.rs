//! Random lives of a log, each round of which is held to what must be true of it (docs/compaction.md 7.1), by a history
//! of everything that was ever appended.
//!
//! Under the repairs of N1 and N2 all of it holds. Under the rules of Kafka 4.4.0 it holds as far as those findings do not
//! reach: with a map that takes all keys, and without transactions for all but the stamping (S6).

use std::collections::BTreeSet;

use fencepost_reference::storage::mutation::Mutation;
use fencepost_reference::storage::rules::{LastOfRound, Rules, Stamping};
use proptest::prelude::*;

use crate::history::{Setting, Step, Walk, steps};

fn walk(setting: Setting, steps: &[Step]) -> Result<(), String> {
    let mut walk = Walk::new(setting);
    for step in steps {
        walk.step(step)?;
    }
    walk.end_of_walk()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn under_the_repairs_all_of_it_holds(steps in steps(), map in 1..4_usize, raises_epoch in any::<bool>()) {
        let setting = Setting { rules: Rules::repaired(), map, raises_epoch, transactions: true };
        prop_assert_eq!(walk(setting, &steps), Ok(()));
    }

    #[test]
    fn with_a_map_for_all_keys_all_of_it_holds_under_kafkas_rules(steps in steps(), raises_epoch in any::<bool>()) {
        let setting = Setting { rules: Rules::kafka_4_4(), map: 100, raises_epoch, transactions: true };
        prop_assert_eq!(walk(setting, &steps), Ok(()));
    }

    #[test]
    fn without_transactions_all_but_the_stamping_holds_under_kafkas_rules(steps in steps(), map in 1..4_usize) {
        let setting = Setting { rules: Rules::kafka_4_4(), map, raises_epoch: false, transactions: false };
        let broken = walk(setting, &steps).err();
        prop_assert!(broken.as_ref().is_none_or(|broken| broken.starts_with("S6")), "{broken:?}");
    }
}

/// Which properties break in so many walks under Kafka's rules with a small map.
fn broken(walks: u32, transactions: bool) -> BTreeSet<String> {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let mut broken = BTreeSet::new();
    let rules = Rules { stamping: Rules::repaired().stamping, ..Rules::kafka_4_4() };
    for index in 0..walks {
        let steps = steps().new_tree(&mut runner).unwrap().current();
        for rules in [Rules::kafka_4_4(), rules] {
            let setting = Setting { rules, map: 1, raises_epoch: index % 2 == 0, transactions };
            if let Err(error) = walk(setting, &steps) {
                broken.extend(error.split(':').next().map(str::to_owned));
            }
        }
    }
    broken
}

#[test]
fn the_walks_find_n1_and_with_transactions_n2() {
    assert!(broken(300, false).contains("S6"));
    let with_transactions = broken(1500, true);
    assert!(with_transactions.contains("S6") && with_transactions.contains("S13"), "{with_transactions:?}");
}

/// Which property of the walks each slip breaks first: a property that nothing breaks would prove nothing.
#[test]
fn every_property_of_the_walks_is_broken_by_some_slip() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    for (mutation, property) in [
        (Mutation::AbortedRecordsMapped, "S1"),
        (Mutation::HorizonLostInRebuild, "S5"),
        (Mutation::AbortedDataStamped, "S6"),
        (Mutation::MarkerNotStamped, "S7"),
        (Mutation::UnstampedTombstoneDropped, "S7"),
        (Mutation::TrackerPerGroup, "S8"),
        (Mutation::EmptyBatchesAreNoData, "S8"),
        (Mutation::AbortedEntryDropped, "S8"),
        (Mutation::AbortedListEndsAtMapped, "S9"),
        (Mutation::ChunkFilteredTwice, "S11"),
        (Mutation::TombstonesNotMapped, "S13"),
        (Mutation::FullMapCoversItsBatch, "S13"),
        (Mutation::LastDataOfProducerDropped, "S16"),
        (Mutation::AbortedRecordsKept, "L3"),
        (Mutation::ControlRecordsKeyed, "L1, L2, L4"),
        (Mutation::EmptyHeadersNotCounted, "the round fails"),
    ] {
        let mut runner = TestRunner::deterministic();
        let seen = (0..400).any(|index| {
            let steps = steps().new_tree(&mut runner).unwrap().current();
            let rules = Rules::repaired().with(mutation);
            let setting = Setting { rules, map: 2, raises_epoch: index % 2 == 0, transactions: true };
            walk(setting, &steps).is_err_and(|broken| broken.split(':').next() == Some(property))
        });
        assert!(seen, "{mutation} does not break {property}");
    }
    // KAFKA-17076: without the header at its end the log forgets how long it was.
    // (Stamped by the first round that keeps it: the repair of N3 would take one more.)
    let stamping = Stamping::OnlyIfMapped;
    let forgets = Rules { last_of_round: LastOfRound::Off, stamping, ..Rules::repaired() };
    let setting = Setting { rules: forgets, map: 100, raises_epoch: false, transactions: false };
    let steps = [Step::Append(vec![(0, false)]), Step::Roll, Step::Clean, Step::Tick(100)];
    let mut log = Walk::new(setting);
    steps.iter().try_for_each(|step| log.step(step)).expect("a tombstone is kept once");
    log.log.first_dirty.0 = 0;
    assert!(log.clean(None).is_err_and(|broken| broken.starts_with("S17")));
}
