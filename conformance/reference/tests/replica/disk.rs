//! What a start makes of what is on the disk (docs/replication.md 1.4, 1.5, 1.8, 1.9).

use std::path::Path;
use std::sync::Arc;

use fencepost_reference::replica::EpochFileFault;
use fencepost_reference::replica::broker::{Broker, BrokerError, BrokerSetup, Start};
use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::names::BrokerId;
use fencepost_reference::replica::rules::Rules;
use fencepost_reference::storage::fs::{FileSystem, read_all};
use fencepost_reference::storage::memory_fs::MemoryFs;

use crate::cluster::{A, B, Cluster, epoch, oracle, record};

/// B has records of epochs 0, 2 and 5, two of each; it stops or crashes, and the file of its epochs suffers.
fn restarted(rules: Rules, orderly: bool, fault: EpochFileFault) -> Cluster {
    let mut cluster = Cluster::new(2, 1, rules);
    for leader_epoch in [0, 2, 5] {
        cluster.lead(&[A, B], A, leader_epoch, &[A, B]);
        cluster.settle(&[A, B]);
        cluster.write(A, &["x", "y"]);
        cluster.replicate(A, &[B]);
    }
    assert_eq!(cluster.epochs(B), [(0, 0), (2, 2), (5, 4)]);
    cluster.input(B, Input::Checkpoint);
    if orderly {
        cluster.stop(B);
    } else {
        cluster.crash(B);
    }
    cluster.start_with(B, &Start { epoch_file: Some(fault), ..Start::default() });
    cluster
}

#[test]
fn after_a_crash_the_batches_tell_the_epochs_that_the_file_lacks_if_they_are_later() {
    let all = vec![(0, 0), (2, 2), (5, 4)];
    for (fault, epochs) in [
        (EpochFileFault::Missing, all.clone()),
        (EpochFileFault::Empty, all.clone()),
        (EpochFileFault::WithoutNewest, all),
        // What is older than the latest is no news.
        (EpochFileFault::WithoutOldest, vec![(2, 2), (5, 4)]),
    ] {
        assert_eq!(restarted(oracle(), false, fault).epochs(B), epochs, "{fault:?}");
    }
}

#[test]
fn after_an_orderly_stop_the_file_is_believed() {
    for (fault, epochs) in [
        (EpochFileFault::Missing, vec![]),
        (EpochFileFault::Empty, vec![]),
        (EpochFileFault::WithoutNewest, vec![(0, 0), (2, 2)]),
        (EpochFileFault::WithoutOldest, vec![(2, 2), (5, 4)]),
    ] {
        assert_eq!(restarted(oracle(), true, fault).epochs(B), epochs, "{fault:?}");
    }
}

#[test]
fn a_follower_without_its_newest_epoch_agrees_with_its_leader_again() {
    for fault in
        [EpochFileFault::Missing, EpochFileFault::Empty, EpochFileFault::WithoutNewest, EpochFileFault::WithoutOldest]
    {
        for orderly in [false, true] {
            let mut cluster = restarted(oracle(), orderly, fault);
            cluster.metadata(B, vec![record(Some(A), 5, &[A, B])]);
            cluster.settle(&[A, B]);
            assert_eq!(cluster.log(B), cluster.log(A), "{fault:?}");
            // Without the newest entry its records look like those of the epoch before, which ends earlier on the leader: the
            // file is not damaged without a price, and records that are committed are fetched again.
            let too_deep = orderly && fault == EpochFileFault::WithoutNewest;
            let below = cluster.truncated_below.iter().map(|(_, below)| (below.to.0, below.high_watermark.0));
            assert_eq!(below.collect::<Vec<_>>(), if too_deep { vec![(4, 6)] } else { vec![] }, "{fault:?}");
        }
    }
}

type Turn<'a> = (BrokerId, &'a [&'a str]);

/// A and B have some records in common, and then have written in turns, each without having heard the other; B stops, its file
/// suffers, and it follows A. The logs, once B has all that A has.
fn reconciled(common: &[&str], turns: &[Turn<'_>], fault: Option<EpochFileFault>) -> (Vec<String>, Vec<String>) {
    let mut cluster = Cluster::new(2, 1, oracle());
    if !common.is_empty() {
        cluster.lead(&[A, B], A, 0, &[A, B]);
        cluster.write(A, common);
        cluster.replicate(A, &[B]);
    }
    for ((leader, values), leader_epoch) in turns.iter().zip(0..) {
        cluster.lead(&[A, B], *leader, leader_epoch, &[A, B]);
        cluster.write(*leader, values);
        cluster.mail.clear();
    }
    cluster.stop(B);
    cluster.metadata(A, vec![record(Some(A), 9, &[A, B])]);
    cluster.start_with(B, &Start { epoch_file: fault, ..Start::default() });
    cluster.metadata(B, vec![record(Some(A), 9, &[A, B])]);
    cluster.write(A, &["new"]);
    cluster.settle(&[A, B]);
    (cluster.log(A), cluster.log(B))
}

/// P2 and P3 need each replica's own epochs: clean elections do not make up for a file that is believed and is wrong.
#[test]
fn a_follower_without_its_newest_or_its_oldest_epoch_may_keep_what_its_leader_never_had() {
    let newest: (&[&str], &[Turn<'_>]) = (&["x"], &[(A, &["a1", "a2"]), (B, &["b1", "b2"])]);
    let oldest: (&[&str], &[Turn<'_>]) = (&[], &[(A, &["a0", "a1", "a2"]), (B, &["b0", "b1"]), (B, &["b2", "b3"])]);
    for ((common, turns), fault) in [(newest, EpochFileFault::WithoutNewest), (oldest, EpochFileFault::WithoutOldest)] {
        let (leader, follower) = reconciled(common, turns, None);
        assert_eq!(leader, follower, "with all of its epochs it agrees");
        let (leader, follower) = reconciled(common, turns, Some(fault));
        assert_eq!(leader.last(), follower.last(), "{fault:?}: it is in sync, by all that anybody sees");
        assert_eq!(leader.len(), follower.len(), "{fault:?}");
        assert_ne!(leader, follower, "{fault:?}");
    }
}

/// Nothing is asked about, so that P3 rests on the high watermark, and P3' does not hold.
#[test]
fn a_follower_without_any_epoch_keeps_what_is_below_its_high_watermark_and_no_more() {
    let turns: &[Turn<'_>] = &[(A, &["a1", "a2"]), (B, &["b1", "b2"])];
    for fault in [EpochFileFault::Missing, EpochFileFault::Empty] {
        let (leader, follower) = reconciled(&["x"], turns, Some(fault));
        assert_eq!(leader, follower, "{fault:?}: it cut at 1");
        let mut cluster = restarted(oracle(), true, fault);
        let committed = cluster.high_watermark(B);
        cluster.metadata(B, vec![record(Some(A), 5, &[A, B])]);
        assert_eq!(cluster.end(B), committed, "{fault:?}");
    }
}

#[test]
fn a_leader_without_its_oldest_epoch_tells_where_what_is_older_ends() {
    let mut cluster = restarted(oracle(), true, EpochFileFault::WithoutOldest);
    cluster.metadata(B, vec![record(Some(B), 6, &[B])]);
    let answer = crate::serving::ask_epoch(&mut cluster, B, 0, None);
    let end = fencepost_reference::replica::epoch_cache::EpochEnd {
        epoch: epoch(0),
        end_offset: fencepost_reference::replica::names::Offset(2),
    };
    assert_eq!(answer, Some(fencepost_reference::replica::effects::Answer::EpochEnd(end)));
}

#[test]
fn a_crash_loses_the_high_watermark_since_the_checkpoint_and_a_stop_does_not() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B]);
    cluster.input(B, Input::Checkpoint);
    cluster.write(A, &["r1"]);
    cluster.replicate(A, &[B]);
    assert_eq!(cluster.high_watermark(B), 2);
    cluster.crash(B);
    cluster.start(B);
    assert_eq!((cluster.high_watermark(B), cluster.end(B)), (1, 2));
    cluster.metadata(B, vec![record(Some(A), 0, &[A, B])]);
    cluster.replicate(A, &[B]);
    cluster.stop(B);
    cluster.start(B);
    assert_eq!(cluster.high_watermark(B), 2);
    let fs = cluster.broker(B).fs().clone();
    let file = read_all(&*fs, Path::new("/logs/replication-offset-checkpoint")).expect("a file");
    assert_eq!(file, b"0\n1\nt 0 2\n");
}

#[test]
fn a_high_watermark_above_what_is_left_of_the_log_is_at_its_end() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.replicate(A, &[B]);
    cluster.input(B, Input::Checkpoint);
    cluster.crash(B);
    cluster.restart_as(B, 2, Some(1));
    assert_eq!((cluster.high_watermark(B), cluster.end(B), cluster.epochs(B)), (1, 1, vec![(0, 0)]));
    cluster.crash(B);
    cluster.restart_as(B, 3, Some(0));
    assert_eq!((cluster.high_watermark(B), cluster.end(B), cluster.epochs(B)), (0, 0, vec![]));
}

#[test]
fn an_epoch_of_which_the_records_are_lost_is_not_kept() {
    let mut cluster = Cluster::new(1, 1, oracle());
    cluster.lead(&[A], A, 0, &[A]);
    cluster.write(A, &["r0"]);
    cluster.lead(&[A], A, 3, &[A]);
    cluster.write(A, &["r1"]);
    cluster.crash(A);
    cluster.restart_as(A, 2, Some(1));
    assert_eq!(cluster.epochs(A), [(0, 0)]);
}

#[test]
fn a_stale_entry_of_a_late_write_may_survive_a_crash() {
    // A truncation's write is late, and appends of an older epoch that is in the file already write nothing.
    let mut cluster = Cluster::with_setup(2, 1, oracle(), |setup| setup.flushes_epochs_late = true);
    cluster.lead(&[A, B], A, 2, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B]);
    cluster.metadata(B, vec![record(Some(B), 3, &[B])]);
    cluster.write(A, &["r1", "r2"]);
    cluster.mail.clear();
    assert_eq!(cluster.epochs(B), [(2, 0), (3, 1)]);
    cluster.metadata(B, vec![record(Some(A), 2, &[A, B])]);
    cluster.metadata(A, vec![record(Some(B), 3, &[B]), record(Some(A), 4, &[A])]);
    cluster.metadata(B, vec![record(Some(A), 4, &[A])]);
    crate::truncating::reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.epochs(B), [(2, 0)]);
    cluster.crash(B);
    cluster.start(B);
    assert_eq!(cluster.epochs(B), [(2, 0), (3, 1)], "records 1 and 2 are of epoch 2");
    // It costs one truncation too deep, and they are fetched again.
    cluster.metadata(B, vec![record(Some(A), 4, &[A])]);
    cluster.settle(&[A, B]);
    assert_eq!((cluster.log(B), cluster.epochs(B)), (cluster.log(A), vec![(2, 0)]));
}

#[test]
fn damaged_files_are_errors() {
    for (file, text) in
        [("/logs/t-0/leader-epoch-checkpoint", "0\n1\nx\n"), ("/logs/replication-offset-checkpoint", "1\n0\n")]
    {
        let fs = Arc::new(MemoryFs::new());
        let mut broker = Broker::new(BrokerSetup::new(A, &[A], 1, oracle(), Path::new("/logs")), fs.clone());
        broker.start(&Start::default()).expect("fresh");
        assert_eq!(broker.start(&Start::default()), Err(BrokerError::Up));
        broker.stop().expect("stopped");
        assert_eq!(broker.handle(Input::Poll), Err(BrokerError::Down));
        fs.create(Path::new(file)).expect("a file");
        fs.append(Path::new(file), text.as_bytes()).expect("written");
        assert!(matches!(broker.start(&Start::default()), Err(BrokerError::Log(_))), "{file}");
    }
}
