//! The lives of tombstones and markers (docs/compaction.md 2.6, 3.2, 3.4), pass by pass.

use fencepost_reference::storage::log_rules::LogRules;
use fencepost_reference::storage::names::Millis;
use fencepost_reference::storage::producer_append::TransactionProtocol::{One, Two};
use fencepost_reference::storage::rules::Rules;

use crate::support::{Driven, Producer};

#[test]
fn a_tombstone_is_stamped_in_its_first_pass_and_goes_in_the_first_one_at_its_horizon() {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
    driven.put("k", Some("v"));
    driven.put("k", None);
    driven.put("y", Some("1"));
    driven.clean_all();
    assert_eq!(driven.batches(), ["1-1 h=5100 1:k=null", "2-2 2:y=1"]);
    driven.clock(5099);
    driven.put("y", Some("2"));
    driven.clean_all();
    assert_eq!(driven.batches(), ["1-1 h=5100 1:k=null", "3-3 3:y=2"], "it is kept, and not renewed");
    driven.clock(5100);
    driven.put("y", Some("3"));
    driven.clean_all();
    assert_eq!(driven.batches(), ["4-4 4:y=3"]);
}

#[test]
fn with_no_retention_at_all_a_tombstone_still_outlives_the_pass_that_stamps_it() {
    let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
    let mut config = crate::support::config();
    config.delete_retention_ms = Some(Millis(0));
    driven.partition.set_config(config);
    driven.put("k", None);
    driven.put("y", Some("1"));
    driven.clean_all();
    assert_eq!(driven.batches()[0], "0-0 h=5000 0:k=null");
}

#[test]
fn the_topics_retention_wins_over_the_brokers() {
    for (topic, horizon) in [(Some(Millis(7)), 5007), (None, 5030)] {
        let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
        let mut config = crate::support::config();
        config.delete_retention_ms = topic;
        config.broker_delete_retention_ms = Millis(30);
        driven.partition.set_config(config);
        driven.put("k", None);
        driven.clean_all();
        assert_eq!(driven.batches()[0], format!("0-0 h={horizon} 0:k=null"));
    }
}

/// Three passes after the data have become removable (3.2), then the empty header that keeps the producer (3.4).
#[test]
fn a_marker_outlives_the_data_of_its_transaction() {
    for commit in [true, false] {
        let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
        let mut p = Producer::new(7, One);
        driven.put_as(&mut p, "k", Some("1")).expect("appended");
        driven.end(&mut p, commit);
        driven.put("k", Some("2"));
        // Another transaction of the producer, so that nothing of the first one is its last.
        driven.put_as(&mut p, "other", Some("1")).expect("appended");
        driven.end(&mut p, true);
        driven.clean_all();
        let markers =
            |driven: &Driven| driven.batches().into_iter().filter(|line| line.starts_with("1-1")).collect::<Vec<_>>();
        assert!(!driven.batches().iter().any(|line| line.starts_with("0-0")), "p0: the data go");
        assert_eq!(markers(&driven), ["1-1 marker"], "p0: the marker stays, without a horizon");
        assert_eq!(driven.aborted().len(), usize::from(!commit), "p0: the entry stays as long as data were seen");
        driven.clock(6000);
        driven.put("y", Some("1"));
        driven.clean_all();
        assert_eq!(markers(&driven), ["1-1 h=6100 marker"], "p1: no data were seen, D begins");
        assert_eq!(driven.aborted(), [], "p1: the entry goes");
        driven.clock(6099);
        driven.put("y", Some("2"));
        driven.clean_all();
        assert_eq!(markers(&driven), ["1-1 h=6100 marker"]);
        driven.clock(6100);
        driven.put("y", Some("3"));
        driven.clean_all();
        assert_eq!(markers(&driven), [""; 0], "at the horizon it goes");
    }
}

#[test]
fn what_is_retained_of_a_producer_is_its_last_data_with_protocol_1_and_its_marker_with_protocol_2() {
    for (protocol, left) in [(One, "0-0 empty"), (Two, "1-1 empty marker")] {
        let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
        let mut p = Producer::new(7, protocol);
        driven.put_as(&mut p, "k", Some("1")).expect("appended");
        driven.end(&mut p, true);
        driven.put("k", Some("2"));
        driven.clean_all();
        for now in [6000, 7000, 8000] {
            driven.clock(now);
            driven.put("y", Some("1"));
            driven.clean_all();
        }
        assert_eq!(driven.batches()[0], left, "{protocol:?}");
        let day = 86_400_000;
        driven.clock(5000 + day);
        driven.partition.expire_producers();
        for pass in 0..4 {
            driven.clock(5000 + day + 1000 * pass);
            driven.put("y", Some("1"));
            driven.clean_all();
        }
        assert!(!driven.batches().iter().any(|line| line.contains("empty") || line.contains("marker")), "{protocol:?}");
    }
}

#[test]
fn aborted_data_go_at_once_and_nothing_of_a_later_transaction_with_them() {
    for protocol in [One, Two] {
        let mut driven = Driven::new(LogRules::kafka_4_4(), 10);
        let mut p = Producer::new(7, protocol);
        driven.put_as(&mut p, "a", Some("aborted")).expect("appended");
        driven.end(&mut p, false);
        driven.put_as(&mut p, "b", Some("committed")).expect("appended");
        driven.end(&mut p, true);
        driven.clean_all();
        assert_eq!(driven.committed(), ["2:b=committed"]);
        assert!(!driven.batches().iter().any(|line| line.contains("aborted")));
    }
}

/// The rule before KIP-534 by the times of files (docs/compaction.md 4.2).
#[test]
fn kafka_8522_by_the_times_of_files_a_tombstone_in_a_small_log_never_goes() {
    for (rules, stays) in [(before_kip_534(), true), (LogRules::kafka_4_4(), false)] {
        let mut driven = Driven::new(rules, 10);
        driven.put("k", None);
        driven.put("y", Some("1"));
        driven.clean_all();
        for day in 1..20 {
            driven.clock(5000 + 1000 * day);
            driven.put("y", Some("1"));
            driven.clean_all();
        }
        assert_eq!(driven.batches().iter().any(|line| line.contains("k=null")), stays);
    }
}

/// The same rule in the other direction (docs/compaction.md 4.3), with hours for milliseconds.
#[test]
fn kafka_4545_by_the_times_of_files_a_tombstone_goes_before_its_reader_has_had_time() {
    for (rules, told) in [(before_kip_534(), false), (LogRules::kafka_4_4(), true)] {
        let mut driven = Driven::new(rules, 10);
        let hour = |hour: i64| 5000 + 100 * hour;
        let mut config = crate::support::config();
        config.delete_retention_ms = Some(Millis(24 * 100));
        config.segment_bytes = 1000;
        driven.partition.set_config(config);
        driven.put("k", Some("v"));
        driven.partition.roll().expect("rolled");
        driven.clock(hour(1));
        driven.put("k", None);
        driven.partition.roll().expect("rolled");
        driven.clock(hour(99));
        driven.put("large", Some(&"z".repeat(950)));
        driven.settle();
        driven.clock(hour(100) - 10);
        assert_eq!(driven.committed()[0], "0:k=v", "a reader at 99.9 h");
        driven.clock(hour(100));
        driven.clean();
        assert_eq!(driven.committed()[0], "1:k=null");
        driven.clock(hour(100) + 10);
        driven.put("y", Some("1"));
        driven.clean_all();
        let rest = driven.committed();
        assert_eq!(rest.contains(&"1:k=null".to_owned()), told, "0.1 h after its first cleaning: {rest:?}");
    }
}

fn before_kip_534() -> LogRules {
    LogRules { cleaner: Rules::kafka_3_0(), ..LogRules::kafka_4_4() }
}
