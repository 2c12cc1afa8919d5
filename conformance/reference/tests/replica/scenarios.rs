//! The scenarios of docs/replication.md 6: the broken rule shows the fault, the right one does not.

use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::{ReplicationRules, Rules};

use crate::cluster::{A, B, C, Cluster, oracle, record};

/// S1: m2 is committed, and its follower restarts before it has heard so.
fn restarted_follower(rules: Rules) -> Cluster {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], B, 0, &[A, B]);
    cluster.write(B, &["m1"]);
    cluster.replicate(B, &[A]);
    let m2 = cluster.produce(B, &["m2"], Acks::All);
    // The fetch that waited takes m2 along, and the next one tells B of it; its answer is not sent.
    cluster.deliver(B, A);
    cluster.deliver(A, B);
    assert_eq!(cluster.answer(m2), Some(Ok(1)));
    assert_eq!((cluster.high_watermark(A), cluster.high_watermark(B)), (1, 2));
    cluster.input(A, Input::Checkpoint);
    cluster.crash(A);
    cluster.start(A);
    cluster.metadata(A, vec![record(Some(B), 0, &[A, B])]);
    // The epoch exchange, where there is one, comes before B dies.
    cluster.settle(&[A, B]);
    cluster
}

#[test]
fn s1_a_restart_costs_a_committed_record_before_kip_101() {
    let mut cluster = Cluster::new(2, 1, ReplicationRules::HighWatermark.rules());
    cluster.lead(&[A, B], B, 0, &[A, B]);
    cluster.write(B, &["m1"]);
    cluster.replicate(B, &[A]);
    let m2 = cluster.produce(B, &["m2"], Acks::All);
    cluster.deliver(B, A);
    cluster.deliver(A, B);
    assert_eq!(cluster.answer(m2), Some(Ok(1)));
    cluster.input(A, Input::Checkpoint);
    cluster.crash(A);
    cluster.start(A);
    cluster.metadata(A, vec![record(Some(B), 0, &[A, B])]);
    assert_eq!(cluster.log(A), ["m1/0"]);
    cluster.crash(B);
    cluster.metadata(A, vec![record(Some(A), 1, &[A])]);
    cluster.start(B);
    cluster.metadata(B, vec![record(Some(A), 1, &[A])]);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(B), ["m1/0"], "m2 was acknowledged, and nobody has it");
}

#[test]
fn s1_the_epoch_says_that_the_record_may_stay() {
    for rules in [ReplicationRules::Kip101, ReplicationRules::Kip279, ReplicationRules::Kip320] {
        let cluster = restarted_follower(rules.rules());
        assert_eq!(cluster.log(A), ["m1/0", "m2/0"], "{}", rules.name());
    }
    assert_eq!(restarted_follower(oracle()).log(A), ["m1/0", "m2/0"]);
}

/// S14: A leads, C has all and B lags; then B leads by preference, C cuts its log, and A hears of both changes at once.
fn skipped_epoch(rules: Rules, at_once: bool) -> (Cluster, u64) {
    let mut cluster = Cluster::new(3, 2, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 1, &all);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B, C]);
    // B's waiting fetch is answered, and the answer lies.
    let w1 = cluster.produce(A, &["r1"], Acks::All);
    cluster.exchange_reply(A, C);
    assert_eq!(cluster.log(C), ["r0/1", "r1/1"]);
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (1, None));
    cluster.lead(&[B, C], B, 2, &all);
    cluster.settle(&[B, C]);
    assert_eq!(cluster.log(C), ["r0/1"], "C agrees with B");
    let (second, third) = (record(Some(B), 2, &all), record(Some(A), 3, &[A, C]));
    if at_once {
        cluster.metadata(A, vec![second, third]);
    } else {
        cluster.metadata(A, vec![second]);
        cluster.metadata(A, vec![third]);
    }
    (cluster, w1)
}

#[test]
fn s14_a_leader_that_missed_an_epoch_acknowledges_what_a_follower_has_dropped() {
    let (mut cluster, w1) = skipped_epoch(ReplicationRules::Kafka44.rules(), true);
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (2, Some(Ok(1))));
    cluster.crash(A);
    cluster.lead(&[B, C], C, 4, &[C]);
    cluster.settle(&[B, C]);
    assert_eq!(cluster.log(C), ["r0/1"], "r1 was acknowledged, and the leader does not have it");
}

#[test]
fn s14_a_leader_that_forgets_what_it_may_not_know_waits_for_the_follower() {
    for rules in [ReplicationRules::RemoteStateRenewed, ReplicationRules::RemoteStateForgotten] {
        let (mut cluster, w1) = skipped_epoch(rules.rules(), true);
        assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (1, None), "{}", rules.name());
        cluster.lead(&[C], A, 3, &[A, C]);
        cluster.settle(&[A, C]);
        assert_eq!((cluster.log(C).len(), cluster.answer(w1)), (2, Some(Ok(1))));
    }
}

#[test]
fn s14_needs_both_changes_in_one_step() {
    let (cluster, w1) = skipped_epoch(ReplicationRules::Kafka44.rules(), false);
    use fencepost_reference::replica::error::ErrorCode;
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (1, Some(Err(ErrorCode::NotLeaderOrFollower))));
}
