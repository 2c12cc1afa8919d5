//! Clusters in the middle of an upgrade (docs/replication.md 0.1, 2.8, 2.12): the review of PR #4882.

use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::message::{Content, FetchReply, Fetched};
use fencepost_reference::replica::names::BrokerId;
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::records::{LogRecord, encode_batch};
use fencepost_reference::replica::rules::ReplicationRules::{self, Kip101, Kip279, Kip320, Kip320BelowIbp20};

use crate::cluster::{A, B, Cluster, epoch, offset, oracle, record};
use crate::truncating::reconnect;

/// A broker comes back with other code, or under another protocol.
fn upgrade(cluster: &mut Cluster, broker: BrokerId, rules: ReplicationRules) {
    cluster.stop(broker);
    cluster.broker(broker).set_rules(rules.rules());
    cluster.start(broker);
}

/// S3 between a leader and a follower of their own rules. Whether the logs agree.
fn fast_fail_over(leader: ReplicationRules, follower: ReplicationRules) -> bool {
    let mut cluster = Cluster::new(2, 1, Kip101.rules());
    upgrade(&mut cluster, A, leader);
    upgrade(&mut cluster, B, follower);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["a0"]);
    cluster.replicate(A, &[B]);
    cluster.write(A, &["a1"]);
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(B), 2, &[B])]);
    cluster.write(B, &["b1"]);
    cluster.metadata(A, vec![record(Some(B), 2, &[B]), record(Some(A), 3, &[A])]);
    cluster.write(A, &["c2"]);
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(A), 3, &[A])]);
    reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    cluster.log(A) == cluster.log(B)
}

#[test]
fn wherever_one_side_is_old_divergence_may_stay_as_under_kip_101() {
    for (leader, follower) in [
        (Kip101, Kip101),
        (Kip101, Kip320BelowIbp20),
        (Kip320BelowIbp20, Kip101),
        (Kip320BelowIbp20, Kip320BelowIbp20),
        // The protocol is raised on the leader alone: the follower asks as before.
        (Kip320, Kip320BelowIbp20),
        (Kip279, Kip101),
    ] {
        assert!(!fast_fail_over(leader, follower), "{} leads {}", leader.name(), follower.name());
    }
    for (leader, follower) in [(Kip279, Kip279), (Kip320BelowIbp20, Kip279), (Kip320, Kip320)] {
        assert!(fast_fail_over(leader, follower), "{} leads {}", leader.name(), follower.name());
    }
}

#[test]
fn in_no_step_of_an_upgrade_does_a_restart_cost_an_acknowledged_record() {
    let steps = [
        (Kip101, Kip320BelowIbp20),
        (Kip320BelowIbp20, Kip320BelowIbp20),
        (Kip320BelowIbp20, Kip320),
        (Kip320, Kip320),
    ];
    for (leader, follower) in steps {
        let mut cluster = Cluster::new(2, 1, Kip101.rules());
        upgrade(&mut cluster, B, leader);
        upgrade(&mut cluster, A, follower);
        cluster.lead(&[A, B], B, 0, &[A, B]);
        cluster.write(B, &["m1"]);
        cluster.replicate(B, &[A]);
        let m2 = cluster.produce(B, &["m2"], Acks::All);
        cluster.exchange_reply(B, A);
        assert_eq!(cluster.answer(m2), Some(Ok(1)));
        cluster.input(A, Input::Checkpoint);
        cluster.crash(A);
        cluster.start(A);
        cluster.metadata(A, vec![record(Some(B), 0, &[A, B])]);
        cluster.exchange(A, B);
        assert_eq!(cluster.log(A), ["m1/0", "m2/0"], "{} leads {}", leader.name(), follower.name());
    }
}

#[test]
fn a_leader_of_an_old_message_format_can_tell_no_epoch() {
    let mut cluster = Cluster::with_setup(2, 1, Kip320.rules(), |setup| setup.old_message_format = setup.broker == A);
    cluster.lead(&[A, B], B, 1, &[A, B]);
    cluster.write(B, &["b0", "b1"]);
    cluster.replicate(B, &[A]);
    cluster.write(B, &["b2"]);
    assert!(cluster.deliver(B, A));
    cluster.mail.clear();
    assert_eq!((cluster.epochs(B), cluster.epochs(A)), (vec![(1, 0)], vec![]));
    assert_eq!(cluster.high_watermark(B), 2);
    cluster.metadata(A, vec![record(Some(A), 2, &[A, B])]);
    cluster.write(A, &["a3"]);
    assert_eq!(cluster.log(A), ["b0/1", "b1/1", "b2/1", "a3/-1"]);
    cluster.metadata(B, vec![record(Some(A), 2, &[A, B])]);
    reconnect(&mut cluster, B, A);
    cluster.exchange(B, A);
    assert_eq!(cluster.end(B), 2, "undefined: to the high watermark");
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(B), cluster.log(A));
    assert_eq!(cluster.epochs(B), [], "an old format ends what the epochs say (KAFKA-7601)");
}

/// Two records in one batch, a high watermark between them, and a follower whose format knows no epochs.
fn cut_inside_a_batch(rules: ReplicationRules) -> Cluster {
    let mut cluster = Cluster::with_setup(2, 1, rules.rules(), |setup| setup.old_message_format = setup.broker == B);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.produce(A, &["r0", "r1"], Acks::Leader);
    let fetch = cluster.take(B, A);
    let of = |at: i64, value: &[u8]| LogRecord { offset: offset(at), epoch: epoch(0), value: value.to_vec() };
    let batch = encode_batch(&[of(0, b"r0"), of(1, b"r1")]).expect("encoded");
    let reply = FetchReply { found: Fetched::Records(batch), high_watermark: offset(1), log_start: offset(0) };
    cluster.deliver_message(fetch.reply(Content::FetchReply(Ok(reply))));
    assert_eq!((cluster.end(B), cluster.high_watermark(B)), (2, 1));
    cluster.mail.clear();
    cluster.lead(&[A, B], A, 1, &[A, B]);
    reconnect(&mut cluster, B, A);
    cluster
}

#[test]
fn after_a_cut_inside_of_a_batch_the_log_ends_where_no_batch_begins() {
    let mut cluster = cut_inside_a_batch(ReplicationRules::Kafka44);
    assert_eq!((cluster.end(B), cluster.log(B)), (1, vec![]));
    cluster.settle(&[A, B]);
    assert!(cluster.state(B).failed, "the leader's batch begins below");
}

#[test]
fn fetching_from_where_the_log_was_really_cut_goes_on() {
    let mut cluster = cut_inside_a_batch(ReplicationRules::BatchBaseAfterCut);
    assert_eq!(cluster.end(B), 0);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(B), ["r0/0", "r1/0"]);
    assert!(
        cluster.truncated_below.is_empty(),
        "what was decided is not below the high watermark, though what went is"
    );
}

#[test]
fn a_wrapper_of_the_old_format_is_taken_though_it_begins_below() {
    let mut cluster = Cluster::with_setup(2, 1, oracle(), |setup| setup.old_message_format = true);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.produce(A, &["r0", "r1"], Acks::Leader);
    cluster.settle(&[A, B]);
    let fetch = cluster.take_parked_reply(A, B, 1);
    cluster.deliver_message(fetch);
    assert_eq!((cluster.end(B), cluster.high_watermark(B)), (2, 1));
    cluster.mail.clear();
    cluster.lead(&[A, B], A, 1, &[A, B]);
    reconnect(&mut cluster, B, A);
    assert_eq!(cluster.end(B), 1);
    // Its outside tells the offset of its last record alone, which the log does not have yet.
    cluster.settle(&[A, B]);
    assert_eq!((cluster.state(B).failed, cluster.log(B)), (false, vec!["r0/-1".to_owned(), "r1/-1".to_owned()]));
}

#[test]
fn a_leader_whose_log_begins_inside_of_a_batch_is_followed_from_its_start() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A], A, 0, &[A]);
    cluster.produce(A, &["r0", "r1", "r2"], Acks::Leader);
    cluster.input(A, Input::DeleteRecords(offset(2)));
    cluster.lead(&[B], A, 0, &[A]);
    cluster.settle(&[A, B]);
    let state = cluster.state(B);
    assert_eq!((state.failed, state.log_start.0, state.log_end.0), (false, 2, 3), "KAFKA-6975");
}
