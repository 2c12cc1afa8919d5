//! The future replica (docs/replication.md 2.10): the review of PR #4882.

use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::observe::FutureState;
use fencepost_reference::replica::rules::{ReplicationRules, Rules};

use crate::cluster::{A, B, Cluster, oracle, record};

fn texts(future: &FutureState) -> Vec<String> {
    let text = |record: &fencepost_reference::replica::records::LogRecord| {
        format!("{}/{}", String::from_utf8_lossy(&record.value), record.epoch)
    };
    future.log.iter().map(text).collect()
}

fn copy_all(cluster: &mut Cluster) {
    for _ in 0..30 {
        cluster.input(A, Input::Copy);
    }
}

/// The offline example: while the other disk is away, the current replica cuts its log and takes the other leader's records,
/// so that both end at the same offset.
pub(crate) fn a_disk_that_was_away_has_nothing_of_its_own(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.replicate(A, &[B]);
    cluster.mail.clear();
    cluster.write(A, &["r3", "r4", "r5"]);
    cluster.input(A, Input::AlterLogDirs);
    // All but the last batch: the copy goes on.
    let copied = |cluster: &Cluster| cluster.state(A).future.map_or(0, |future| future.log.len());
    for _ in 0..20 {
        if copied(&cluster) == 5 {
            break;
        }
        cluster.input(A, Input::Copy);
    }
    assert_eq!(copied(&cluster), 5);
    cluster.input(A, Input::DiskOffline);
    cluster.lead(&[A, B], B, 2, &[B]);
    cluster.write(B, &["s3", "s4"]);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(A), ["r0/1", "r1/1", "r2/1", "s3/2", "s4/2"]);
    cluster.input(A, Input::DiskOnline);
    copy_all(&mut cluster);
    assert!(cluster.state(A).future.is_none(), "they have changed places");
    cluster.log(A) == cluster.log(B)
}

/// The current replica has been through several epochs while the disk was away, as in S4.
pub(crate) fn a_disk_that_missed_epochs_agrees(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B]);
    cluster.mail.clear();
    // A's own records of epoch 3, which the future replica copies in part.
    cluster.metadata(A, vec![record(Some(B), 2, &[B]), record(Some(A), 3, &[A])]);
    cluster.write(A, &["a1", "a2", "a3"]);
    cluster.input(A, Input::AlterLogDirs);
    while cluster.state(A).future.map_or(0, |future| future.log.len()) < 3 {
        cluster.input(A, Input::Copy);
    }
    cluster.input(A, Input::DiskOffline);
    cluster.metadata(B, vec![record(Some(B), 2, &[B])]);
    cluster.write(B, &["b1", "b2"]);
    cluster.metadata(B, vec![record(Some(A), 3, &[A]), record(Some(B), 4, &[B])]);
    cluster.write(B, &["c3", "c4"]);
    cluster.mail.clear();
    cluster.metadata(A, vec![record(Some(B), 4, &[B])]);
    crate::truncating::reconnect(&mut cluster, A, B);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(A), ["r0/1", "b1/2", "b2/2", "c3/4", "c4/4"]);
    cluster.input(A, Input::DiskOnline);
    copy_all(&mut cluster);
    cluster.state(A).future.is_none() && cluster.log(A) == cluster.log(B)
}

/// PR #4882: a future replica's high watermark is in its own log.
pub(crate) fn its_high_watermark_is_in_its_log(rules: Rules) -> bool {
    let mut cluster = Cluster::new(1, 1, rules);
    cluster.lead(&[A], A, 1, &[A]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.input(A, Input::AlterLogDirs);
    let mut holds = true;
    for _ in 0..4 {
        cluster.input(A, Input::Copy);
        let future = cluster.state(A).future;
        holds &= future.is_none_or(|future| future.high_watermark.0 <= i64::try_from(future.log.len()).expect("few"));
    }
    holds
}

/// KAFKA-15608: the epoch that has no record yet is not lost with the swap.
pub(crate) fn an_epoch_without_records_survives_the_swap(rules: Rules) -> bool {
    let mut cluster = Cluster::new(1, 1, rules);
    cluster.lead(&[A], A, 1, &[A]);
    cluster.write(A, &["r0"]);
    cluster.metadata(A, vec![record(Some(A), 2, &[A])]);
    cluster.input(A, Input::AlterLogDirs);
    copy_all(&mut cluster);
    assert!(cluster.state(A).future.is_none());
    cluster.epochs(A) == [(1, 0), (2, 1)]
}

#[test]
fn it_begins_with_the_epochs_because_its_disk_may_have_been_away() {
    assert!(!a_disk_that_was_away_has_nothing_of_its_own(ReplicationRules::FutureReplicaMarked.rules()));
    assert!(a_disk_that_was_away_has_nothing_of_its_own(oracle()));
    assert!(a_disk_that_was_away_has_nothing_of_its_own(ReplicationRules::Kip279.rules()));
}

#[test]
fn it_asks_until_the_epochs_agree() {
    assert!(!a_disk_that_missed_epochs_agrees(ReplicationRules::FutureReplicaAsksOnce.rules()));
    assert!(a_disk_that_missed_epochs_agrees(oracle()));
}

#[test]
fn it_copies_a_batch_a_round_and_takes_the_place_at_equal_ends() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["r0", "r1"]);
    cluster.replicate(A, &[B]);
    cluster.input(A, Input::AlterLogDirs);
    let future = |cluster: &Cluster| cluster.state(A).future.map(|future| texts(&future));
    assert_eq!(future(&cluster), Some(Vec::new()));
    cluster.input(A, Input::Copy);
    assert_eq!(future(&cluster), Some(Vec::new()), "nothing to ask about: the round was a truncation");
    cluster.input(A, Input::Copy);
    assert_eq!(future(&cluster), Some(vec!["r0/1".to_owned()]));
    cluster.input(A, Input::Copy);
    assert_eq!(future(&cluster), None);
    assert_eq!((cluster.log(A), cluster.high_watermark(A)), (vec!["r0/1".to_owned(), "r1/1".to_owned()], 2));
    // And it is what the next process finds.
    cluster.input(A, Input::Checkpoint);
    cluster.crash(A);
    cluster.start(A);
    assert_eq!((cluster.log(A).len(), cluster.high_watermark(A)), (2, 2));
    assert_eq!(cluster.state(A).future, None);
}

#[test]
fn a_crash_leaves_it_where_it_was_and_it_goes_on() {
    let mut cluster = Cluster::new(1, 1, oracle());
    cluster.lead(&[A], A, 1, &[A]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.input(A, Input::AlterLogDirs);
    cluster.input(A, Input::Copy);
    cluster.input(A, Input::Copy);
    cluster.crash(A);
    cluster.start(A);
    assert_eq!(cluster.state(A).future.map(|future| texts(&future)), Some(vec!["r0/1".to_owned()]));
    cluster.input(A, Input::Copy);
    assert!(cluster.state(A).future.is_some(), "in no epoch there is nothing to copy");
    cluster.metadata(A, vec![record(Some(A), 2, &[A])]);
    copy_all(&mut cluster);
    assert_eq!((cluster.state(A).future, cluster.log(A).len()), (None, 3));
}
