//! Scenarios of how a follower cuts its log: docs/replication.md S1 to S8, S10, S12, S13. Each is a claim of some rules.

use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::message::{Content, FetchReply, Fetched};
use fencepost_reference::replica::metadata::MetadataRecord;
use fencepost_reference::replica::names::{BrokerId, Node};
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::Rules;

use crate::cluster::{A, B, C, Cluster, record};

/// The follower's connection to its leader is lost, and it tries again.
pub(crate) fn reconnect(cluster: &mut Cluster, follower: BrokerId, leader: BrokerId) {
    let outstanding = cluster.broker(follower).outstanding();
    for (_, correlation) in outstanding.iter().filter(|(to, _)| *to == Node::Broker(leader)) {
        cluster.input(follower, Input::Fail(*correlation));
    }
    let (follower_node, leader_node) = (Node::Broker(follower), Node::Broker(leader));
    cluster.mail.retain(|message| {
        (message.from, message.to) != (follower_node, leader_node)
            && (message.from, message.to) != (leader_node, follower_node)
    });
    cluster.input(follower, Input::Poll);
}

/// S1, KAFKA-1211: m2 is acknowledged, and its follower restarts before it has heard so.
pub(crate) fn s1_a_restart_costs_no_acknowledged_record(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], B, 0, &[A, B]);
    cluster.write(B, &["m1"]);
    cluster.replicate(B, &[A]);
    let m2 = cluster.produce(B, &["m2"], Acks::All);
    // The fetch that waited takes m2 along, and the next one tells B of it; what B says then is not sent.
    cluster.exchange_reply(B, A);
    assert_eq!(cluster.answer(m2), Some(Ok(1)));
    assert_eq!((cluster.high_watermark(A), cluster.high_watermark(B)), (1, 2));
    cluster.input(A, Input::Checkpoint);
    cluster.crash(A);
    cluster.start(A);
    cluster.metadata(A, vec![record(Some(B), 0, &[A, B])]);
    // A has asked, if it asks; what it fetches comes too late.
    let asks = matches!(cluster.in_flight(A, B)[..], [Content::OffsetForLeaderEpoch(_)]);
    if asks {
        cluster.exchange(A, B);
    }
    cluster.crash(B);
    cluster.metadata(A, vec![record(Some(A), 1, &[A])]);
    cluster.start(B);
    cluster.metadata(B, vec![record(Some(A), 1, &[A])]);
    cluster.settle(&[A, B]);
    cluster.log(A) == ["m1/0", "m2/0"] && cluster.log(B) == cluster.log(A)
}

/// S2: both lose power, and the one that comes back first has lost more.
pub(crate) fn s2_logs_agree_after_a_power_failure(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["m1", "m2"]);
    cluster.replicate(A, &[B]);
    for broker in [A, B] {
        cluster.input(broker, Input::Checkpoint);
        cluster.crash(broker);
    }
    cluster.restart_as(B, 2, Some(1));
    assert_eq!((cluster.log(B), cluster.high_watermark(B)), (vec!["m1/0".to_owned()], 1));
    cluster.metadata(B, vec![record(Some(B), 1, &[B])]);
    cluster.write(B, &["m3"]);
    cluster.restart_as(A, 2, None);
    assert_eq!((cluster.log(A).len(), cluster.high_watermark(A)), (2, 2));
    cluster.metadata(A, vec![record(Some(B), 1, &[B])]);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.log(B), ["m1/0", "m3/1"]);
    cluster.log(A) == cluster.log(B)
}

/// S3, KAFKA-6361: B has led in between, and its epoch is none that A knows. `more` records of B's epoch.
pub(crate) fn s3(rules: Rules, more: usize) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    let values = |letter: &str, count: usize| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let write = |cluster: &mut Cluster, at, values: Vec<String>| {
        for value in values {
            cluster.write(at, &[&value]);
        }
    };
    write(&mut cluster, A, values("a", 11));
    cluster.replicate(A, &[B]);
    write(&mut cluster, A, values("b", 10));
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(B), 2, &[B])]);
    write(&mut cluster, B, values("c", more));
    cluster.metadata(A, vec![record(Some(B), 2, &[B]), record(Some(A), 3, &[A])]);
    write(&mut cluster, A, values("d", 10));
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(A), 3, &[A])]);
    reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    cluster.log(A) == cluster.log(B)
}

/// S3 with B's log ending below, at and above where A's next epoch begins.
pub(crate) fn s3_logs_agree_after_a_fast_fail_over(rules: Rules) -> bool {
    [5, 10, 15].into_iter().all(|more| s3(rules, more))
}

/// S4: each leads twice, uncleanly.
pub(crate) fn s4_logs_agree_after_several_unclean_elections(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["m0"]);
    cluster.replicate(A, &[B]);
    cluster.stop(A);
    cluster.metadata(B, vec![record(Some(B), 1, &[B])]);
    cluster.write(B, &["b1"]);
    for (stops, starts, epoch, values) in
        [(B, A, 2, vec!["a1", "a2", "a3"]), (A, B, 3, vec!["b2"]), (B, A, 4, vec!["a4", "a5"])]
    {
        cluster.stop(stops);
        cluster.start(starts);
        cluster.metadata(starts, vec![record(Some(starts), epoch, &[starts])]);
        cluster.write(starts, &values);
    }
    assert_eq!(cluster.log(A), ["m0/0", "a1/2", "a2/2", "a3/2", "a4/4", "a5/4"]);
    cluster.start(B);
    cluster.metadata(B, vec![record(Some(A), 4, &[A])]);
    cluster.settle(&[A, B]);
    cluster.log(A) == cluster.log(B)
}

/// S5, KAFKA-7415: the leader has written nothing in its epoch, and the follower asks for one that it does not have.
pub(crate) fn s5_a_leader_without_records_tells_where_older_epochs_end(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["x0"]);
    cluster.replicate(A, &[B]);
    cluster.write(A, &["x1"]);
    assert!(cluster.deliver(A, B));
    cluster.write(A, &["x2"]);
    cluster.mail.clear();
    assert_eq!((cluster.end(B), cluster.high_watermark(B)), (2, 1));
    cluster.metadata(B, vec![record(Some(B), 2, &[A, B])]);
    cluster.write(B, &["y2"]);
    cluster.metadata(A, vec![record(Some(B), 2, &[A, B]), record(Some(A), 3, &[A])]);
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(A), 3, &[A])]);
    reconnect(&mut cluster, B, A);
    cluster.exchange(B, A);
    cluster.end(B) == 2
}

/// S6, KAFKA-10706: both have led without writing. Whether the follower comes to fetch.
pub(crate) fn s6_an_epoch_without_records_is_asked_for_once(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["a"]);
    cluster.replicate(A, &[B]);
    cluster.lead(&[A, B], B, 1, &[A, B]);
    cluster.mail.clear();
    cluster.lead(&[A, B], A, 2, &[A, B]);
    assert_eq!(cluster.epochs(A), [(0, 0), (2, 1)]);
    assert_eq!(cluster.epochs(B), [(0, 0), (1, 1)]);
    reconnect(&mut cluster, B, A);
    for _ in 0..5 {
        if !cluster.deliver(B, A) || !cluster.deliver(A, B) {
            return true;
        }
    }
    false
}

/// S7, KAFKA-7164: B has missed that C led, and the leader's name is the same.
pub(crate) fn s7_a_later_epoch_of_the_same_leader_begins_anew(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 1, &all);
    cluster.write(A, &["o0", "o1"]);
    cluster.replicate(A, &[B, C]);
    cluster.write(A, &["o2"]);
    assert!(cluster.deliver(A, B));
    cluster.mail.clear();
    assert_eq!((cluster.end(A), cluster.end(B), cluster.end(C)), (3, 3, 2));
    cluster.lead(&[A, C], C, 2, &all);
    cluster.settle(&[A, C]);
    assert_eq!(cluster.end(A), 2);
    cluster.lead(&[A, C], A, 3, &all);
    cluster.write(A, &["p2", "p3"]);
    cluster.mail.clear();
    cluster.metadata(B, vec![record(Some(A), 3, &all)]);
    reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    cluster.log(A) == cluster.log(B)
}

/// S8, KAFKA-6880: B is two epochs behind and goes on fetching.
pub(crate) fn s8_a_follower_of_an_earlier_epoch_is_not_served(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 0, &all);
    cluster.write(A, &["r0", "r1"]);
    cluster.replicate(A, &[B, C]);
    cluster.write(A, &["r2"]);
    assert!(cluster.deliver(A, B));
    cluster.mail.clear();
    cluster.lead(&[A, C], C, 1, &[A, C]);
    cluster.write(C, &["s2", "s3"]);
    cluster.settle(&[A, C]);
    assert_eq!(cluster.log(A), ["r0/0", "r1/0", "s2/1", "s3/1"]);
    cluster.lead(&[A, C], A, 2, &[A, C]);
    cluster.mail.clear();
    reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    // When it hears of the epoch at last, nothing at the end of its log tells.
    cluster.metadata(B, vec![record(Some(A), 2, &[A, C])]);
    cluster.settle(&[A, B]);
    cluster.log(A) == cluster.log(B)
}

/// KIP-320, the other direction: A has lost its leadership and does not know; B does. Nothing of A's is taken.
pub(crate) fn a_leader_of_an_earlier_epoch_does_not_serve(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B]);
    cluster.metadata(B, vec![record(None, 1, &[A, B]), record(Some(A), 2, &[A, B])]);
    reconnect(&mut cluster, B, A);
    cluster.write(A, &["r1"]);
    cluster.settle(&[A, B]);
    cluster.end(B) == 1
}

/// S10: what a fetch expects before its offset is not the epoch that the follower is in, and C may still go back.
pub(crate) fn s10_who_counts_as_in_sync_does_not_go_back(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 0, &all);
    cluster.settle(&all);
    let moved = record(Some(B), 1, &all);
    cluster.metadata(B, vec![moved.clone()]);
    cluster.write(B, &["x"]);
    cluster.metadata(A, vec![moved.clone(), record(None, 2, &[A, C]), record(Some(A), 3, &[A, C])]);
    let y = cluster.produce(A, &["y"], Acks::All);
    cluster.mail.clear();
    reconnect(&mut cluster, C, A);
    cluster.settle(&[A, C]);
    let acknowledged = cluster.answer(y) == Some(Ok(0));
    cluster.metadata(C, vec![moved]);
    cluster.settle(&[B, C]);
    !acknowledged || cluster.log(C) == ["y/3"]
}

/// S12, KAFKA-14704: what a diverging reply says of the high watermark is of the leader's log.
pub(crate) fn s12_a_diverging_reply_moves_no_high_watermark(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 1, &all);
    cluster.write(A, &["o0", "o1", "o2"]);
    cluster.replicate(A, &[B, C]);
    cluster.write(A, &["o3", "o4"]);
    cluster.mail.clear();
    cluster.lead(&[B, C], B, 2, &[B, C]);
    cluster.write(B, &["p3", "p4"]);
    cluster.settle(&[B, C]);
    assert_eq!((cluster.high_watermark(A), cluster.high_watermark(B)), (3, 5));
    cluster.metadata(A, vec![record(Some(B), 2, &[B, C])]);
    assert!(cluster.deliver(A, B));
    let told = cluster.in_flight(B, A);
    assert!(
        matches!(&told[..], [Content::FetchReply(Ok(FetchReply { found: Fetched::Diverging(_), .. }))]),
        "{told:?}"
    );
    cluster.deliver(B, A);
    assert_eq!(cluster.end(A), 3);
    cluster.truncated_below.is_empty()
}

/// S13, KAFKA-18991, KAFKA-7786: a reply of an earlier epoch, which says where to cut, arrives when the same leader leads
/// again.
pub(crate) fn s13_a_late_reply_cuts_nothing(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 1, &all);
    cluster.write(A, &["p0"]);
    cluster.replicate(A, &[B, C]);
    cluster.mail.clear();
    cluster.metadata(C, vec![record(Some(C), 2, &all)]);
    cluster.write(C, &["u1", "u2"]);
    cluster.metadata(B, vec![record(Some(C), 2, &all), record(Some(B), 3, &all)]);
    cluster.write(B, &["s1", "s2"]);
    let missed = || -> Vec<MetadataRecord> { vec![record(Some(C), 2, &all), record(Some(B), 3, &all)] };
    let mut fourth = missed();
    fourth.push(record(Some(A), 4, &all));
    cluster.metadata(A, fourth);
    cluster.metadata(C, vec![record(Some(B), 3, &all), record(Some(A), 4, &all)]);
    reconnect(&mut cluster, C, A);
    assert!(cluster.deliver(C, A));
    let late = cluster.take(A, C);
    let told = &late.content;
    let cuts = matches!(
        told,
        Content::FetchReply(Ok(FetchReply { found: Fetched::Diverging(_), .. }))
            | Content::OffsetForLeaderEpochReply(Ok(_))
    );
    assert!(cuts, "{told:?}");
    cluster.metadata(B, vec![record(Some(A), 4, &all), record(Some(B), 5, &all)]);
    cluster.lead(&[A, C], B, 5, &all);
    cluster.settle(&[A, B, C]);
    assert_eq!((cluster.log(A), cluster.log(C)), (cluster.log(B), cluster.log(B)));
    assert_eq!(cluster.log(C).len(), 3);
    cluster.lead(&[A, C], A, 6, &all);
    cluster.deliver_message(late);
    cluster.end(C) == 3
}
