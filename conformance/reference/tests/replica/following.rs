//! Claims of what a follower does with replies (docs/replication.md 2.5 to 2.8, 3.6), each of which a slip breaks.

use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::epoch_cache::{EpochCache, EpochEnd, EpochEntry};
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::{Content, FetchReply, Fetched};
use fencepost_reference::replica::names::Node;
use fencepost_reference::replica::records::{LogRecord, encode};
use fencepost_reference::replica::rules::{ReplicationRules, Rules};
use fencepost_reference::replica::truncation::{OwnLog, truncation_target};

use crate::cluster::{A, B, Cluster, epoch, offset, record};
use crate::truncating::reconnect;

/// A log of ten records of epochs 1, 3 and 5 with a high watermark of 3: where it is cut by an answer.
fn cut_by(rules: Rules, entries: &[(i32, i64)], answer: (i32, i64)) -> i64 {
    let entry = |(of, at): &(i32, i64)| EpochEntry { epoch: epoch(*of), start_offset: offset(*at) };
    let epochs = EpochCache::from_entries(entries.iter().map(entry)).expect("entries");
    let own = OwnLog { epochs: &epochs, log_end: offset(10), entry_offset: offset(3) };
    let answer = EpochEnd { epoch: epoch(answer.0), end_offset: offset(answer.1) };
    truncation_target(own, answer, rules.truncation, rules.slip).offset.0
}

/// PR #4882: a follower that knows no epoch goes by the leader's offset.
pub(crate) fn without_own_epochs_the_leaders_offset_counts(rules: Rules) -> bool {
    cut_by(rules, &[], (2, 6)) == 6
}

/// PR #4882: no cut is above the end of the log.
pub(crate) fn no_cut_is_above_the_end(rules: Rules) -> bool {
    cut_by(rules, &[(1, 0), (3, 4), (5, 8)], (4, 60)) <= 10
}

/// PR #4882, mixed versions: the leader is old, and the follower has the new code under the old protocol.
pub(crate) fn a_new_follower_gets_past_truncation_at_an_old_leader(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.stop(A);
    cluster.broker(A).set_rules(ReplicationRules::Kip101.rules());
    cluster.start(A);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    // It has an epoch now, and has to ask about it.
    cluster.crash(B);
    cluster.start(B);
    cluster.metadata(B, vec![record(Some(A), 0, &[A, B])]);
    cluster.write(A, &["r1"]);
    for _ in 0..3 {
        cluster.settle(&[A, B]);
        cluster.input(B, Input::Poll);
    }
    cluster.log(B) == ["r0/0", "r1/0"]
}

/// KAFKA-15510: a reply without records changes nothing of what the follower knows of its end.
pub(crate) fn an_empty_reply_leaves_the_last_epoch(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 3, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    cluster.refetch(A, B);
    assert!(cluster.deliver(A, B), "nothing, but the high watermark");
    match &cluster.in_flight(B, A)[..] {
        [Content::Fetch(request)] => request.last_fetched_epoch == Some(epoch(3)),
        other => panic!("{other:?}"),
    }
}

/// KAFKA-18723: what a reply has of a later epoch than the follower's own is not appended.
pub(crate) fn batches_of_a_later_epoch_wait_for_metadata(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[B], A, 1, &[A, B]);
    let fetch = cluster.take(B, A);
    let of = |at: i64, of: i32, value: &str| LogRecord {
        offset: offset(at),
        epoch: epoch(of),
        value: value.as_bytes().to_vec(),
    };
    let records = encode(&[of(0, 1, "r0"), of(1, 2, "s1")]).expect("encoded");
    let reply = FetchReply { found: Fetched::Records(records), high_watermark: offset(0), log_start: offset(0) };
    cluster.deliver_message(fetch.reply(Content::FetchReply(Ok(reply))));
    assert!(!cluster.state(B).failed);
    cluster.log(B) == ["r0/1"]
}

/// KAFKA-9491, PUB-A09: a follower that begins anew where its leader's log begins has its high watermark there.
pub(crate) fn a_log_that_begins_anew_has_its_high_watermark_in_it(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.replicate(A, &[B]);
    cluster.metadata(A, vec![record(Some(A), 0, &[A])]);
    cluster.mail.clear();
    // B's time in sync is over, and nothing waits for it.
    cluster.input(A, Input::ShrinkIsr);
    cluster.write(A, &["r3", "r4", "r5", "r6", "r7"]);
    cluster.input(A, Input::DeleteRecords(offset(7)));
    reconnect(&mut cluster, B, A);
    // Fetch, then where the log ends, then where it begins.
    for _ in 0..3 {
        cluster.exchange(B, A);
    }
    let state = cluster.state(B);
    assert_eq!((state.log_start.0, state.log_end.0), (7, 7));
    state.log_start <= state.high_watermark && state.high_watermark <= state.log_end
}

/// 2.7: without epochs, a follower that is ahead of its leader cuts at the leader's end.
pub(crate) fn a_follower_ahead_of_its_leader_cuts(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.replicate(A, &[B]);
    cluster.crash(A);
    cluster.restart_as(A, 2, Some(1));
    cluster.metadata(A, vec![record(Some(A), 1, &[A])]);
    reconnect(&mut cluster, B, A);
    cluster.settles_within(&[A, B], 20) && cluster.log(A) == cluster.log(B)
}

/// 3.6: a follower that is fenced waits for metadata.
pub(crate) fn a_fenced_follower_waits_for_metadata(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.settle(&[A, B]);
    cluster.metadata(A, vec![record(Some(A), 1, &[A, B])]);
    assert!(cluster.in_flight(A, B).is_empty(), "the fetch waits");
    cluster.refetch(A, B);
    let told = cluster.in_flight(A, B);
    assert_eq!(told, [Content::FetchReply(Err(ErrorCode::FencedLeaderEpoch))]);
    cluster.settle(&[A, B]);
    cluster.input(B, Input::Poll);
    let waits = cluster.in_flight(B, A).is_empty();
    // And metadata bring it back.
    cluster.metadata(B, vec![record(Some(A), 1, &[A, B])]);
    waits && !cluster.in_flight(B, A).is_empty() && !cluster.state(B).failed
}

#[test]
fn a_partition_that_was_given_up_is_so_no_longer_when_an_epoch_comes_even_one_without_a_leader() {
    let mut cluster = Cluster::new(2, 1, crate::cluster::oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.settle(&[A, B]);
    cluster.metadata(A, vec![record(Some(A), 1, &[A, B])]);
    cluster.refetch(A, B);
    cluster.settle(&[A, B]);
    assert!(cluster.state(B).failed);
    cluster.metadata(B, vec![record(None, 2, &[A, B])]);
    assert!(!cluster.state(B).failed);
    assert!(cluster.in_flight(B, A).is_empty(), "and there is nobody to fetch from");
}

fn one_follower() -> Cluster {
    let mut cluster = Cluster::new(2, 1, crate::cluster::oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster
}

#[test]
fn a_follower_backs_off_after_an_error_until_it_is_polled() {
    for error in [
        ErrorCode::UnknownLeaderEpoch,
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::KafkaStorageError,
    ] {
        let mut cluster = one_follower();
        let fetch = cluster.take(B, A);
        cluster.deliver_message(fetch.reply(Content::FetchReply(Err(error))));
        assert!(cluster.in_flight(B, A).is_empty(), "{error}");
        cluster.input(B, Input::Poll);
        assert_eq!(cluster.in_flight(B, A), std::slice::from_ref(&fetch.content));
        cluster.input(B, Input::Poll);
        assert_eq!(cluster.in_flight(B, A).len(), 1, "one request at a time");
    }
}

#[test]
fn a_reply_to_a_request_that_was_given_up_is_dropped() {
    let mut cluster = one_follower();
    cluster.write(A, &["r0"]);
    let fetch = cluster.take(B, A);
    let effects = cluster.input(A, Input::Deliver(fetch.clone()));
    assert_eq!(effects.sends.len(), 1);
    cluster.input(B, Input::Fail(fetch.correlation));
    assert!(cluster.in_flight(B, A).is_empty());
    cluster.settle(&[A, B]);
    assert_eq!(cluster.end(B), 0);
    cluster.input(B, Input::Poll);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.end(B), 1);
}

#[test]
fn a_new_leader_is_asked_although_the_old_one_has_not_answered() {
    let mut cluster = Cluster::new(3, 1, crate::cluster::oracle());
    let all = [A, B, crate::cluster::C];
    cluster.lead(&all, A, 0, &all);
    cluster.metadata(B, vec![record(Some(crate::cluster::C), 1, &all)]);
    assert_eq!(cluster.in_flight(B, crate::cluster::C).len(), 1);
    // Back to the first: its connection is still busy.
    cluster.metadata(B, vec![record(Some(A), 2, &all)]);
    assert_eq!(cluster.in_flight(B, A).len(), 1);
    let first = cluster.take(B, A);
    cluster.deliver_message(first.reply(Content::FetchReply(Err(ErrorCode::UnknownLeaderEpoch))));
    let asked = cluster.in_flight(B, A);
    assert!(matches!(&asked[..], [Content::Fetch(fetch)] if fetch.current_leader_epoch == Some(epoch(2))), "{asked:?}");
}

#[test]
fn bytes_that_are_no_batches_are_asked_for_again() {
    let mut cluster = one_follower();
    let fetch = cluster.take(B, A);
    let found = Fetched::Records(vec![0xff; 70]);
    let reply = FetchReply { found, high_watermark: offset(0), log_start: offset(0) };
    cluster.deliver_message(fetch.reply(Content::FetchReply(Ok(reply))));
    assert!(!cluster.state(B).failed);
    cluster.input(B, Input::Poll);
    assert_eq!(cluster.in_flight(B, A), [fetch.content]);
}

#[test]
fn offsets_that_the_log_has_already_fail_the_partition() {
    let mut cluster = one_follower();
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    cluster.refetch(A, B);
    let reply = cluster.take(A, B);
    let again = LogRecord { offset: offset(0), epoch: epoch(0), value: b"r0".to_vec() };
    let found = Fetched::Records(encode(&[again]).expect("encoded"));
    let content = FetchReply { found, high_watermark: offset(0), log_start: offset(0) };
    cluster.deliver_message(fencepost_reference::replica::message::Message {
        content: Content::FetchReply(Ok(content)),
        ..reply
    });
    assert!(cluster.state(B).failed);
    cluster.input(B, Input::Poll);
    assert!(cluster.in_flight(B, A).is_empty());
}

#[test]
fn a_reply_from_somebody_else_is_dropped() {
    let mut cluster = one_follower();
    let fetch = cluster.take(B, A);
    let mut reply = fetch.reply(Content::FetchReply(Err(ErrorCode::NotLeaderOrFollower)));
    reply.from = Node::Controller;
    cluster.deliver_message(reply);
    assert_eq!(cluster.broker(B).outstanding().len(), 1);
}
