//! Claims of what a leader answers (docs/replication.md 3), each of which a slip breaks.

use fencepost_reference::replica::effects::{Answer, Effects, Input};
use fencepost_reference::replica::epoch_cache::EpochEnd;
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::{
    Content, FetchReply, FetchRequest, Fetched, ListedOffset, Message, OffsetSpec,
};
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, Correlation, LeaderEpoch, Node, Offset};
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::Rules;
use fencepost_reference::storage::log_read::Isolation;

use crate::cluster::{A, B, Cluster, epoch, offset, oracle, record};

pub(crate) fn ask_epoch(cluster: &mut Cluster, at: BrokerId, of: i32, current: Option<i32>) -> Option<Answer> {
    let current_leader_epoch = current.map(LeaderEpoch);
    cluster.input(at, Input::OffsetForLeaderEpoch { epoch: epoch(of), current_leader_epoch }).answer
}

fn ask_offset(cluster: &mut Cluster, at: BrokerId, spec: OffsetSpec, isolation: Isolation) -> Option<Answer> {
    cluster.input(at, Input::ListOffsets { spec, current_leader_epoch: None, isolation }).answer
}

/// A fetch that nobody has outstanding.
pub(crate) fn fetch(
    cluster: &mut Cluster,
    from: BrokerId,
    at: i64,
    last: Option<i32>,
    current: Option<i32>,
) -> Effects {
    let request = FetchRequest {
        offset: offset(at),
        last_fetched_epoch: last.map(LeaderEpoch),
        current_leader_epoch: current.map(LeaderEpoch),
        broker_epoch: BrokerEpoch(1),
        log_start: offset(0),
    };
    let message = Message {
        from: Node::Broker(from),
        to: Node::Broker(A),
        correlation: Correlation(999),
        content: Content::Fetch(request),
    };
    cluster.broker(A).handle(Input::Deliver(message)).expect("handled")
}

fn reply(effects: &Effects) -> &Result<FetchReply, ErrorCode> {
    match effects.sends.first().map(|message| &message.content) {
        Some(Content::FetchReply(reply)) => reply,
        other => panic!("{other:?}"),
    }
}

/// A leads in epoch 3; 0 to 4 are of epoch 1, 5 to 9 of epoch 3. B has all but the last.
fn two_epochs(rules: Rules) -> Cluster {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["a0", "a1", "a2", "a3", "a4"]);
    cluster.settle(&[A, B]);
    cluster.lead(&[A, B], A, 3, &[A, B]);
    cluster.write(A, &["b5", "b6", "b7", "b8", "b9"]);
    cluster
}

/// Redpanda #11864, PUB-A13: nobody can tell where an epoch ends that has not begun.
pub(crate) fn an_epoch_of_the_future_has_no_end(rules: Rules) -> bool {
    ask_epoch(&mut two_epochs(rules), A, 7, None) == Some(Answer::EpochEnd(EpochEnd::UNDEFINED))
}

/// Redpanda #12063, PUB-A13: the answer has the epoch that ends there.
pub(crate) fn an_answer_has_the_epoch_that_ends(rules: Rules) -> bool {
    let end = Answer::EpochEnd(EpochEnd { epoch: epoch(1), end_offset: offset(5) });
    let mut cluster = two_epochs(rules);
    [1, 2].into_iter().all(|of| ask_epoch(&mut cluster, A, of, None) == Some(end.clone()))
}

/// Redpanda #5435: who does not lead does not tell.
pub(crate) fn only_the_leader_tells_where_an_epoch_ends(rules: Rules) -> bool {
    ask_epoch(&mut two_epochs(rules), B, 1, Some(3)) == Some(Answer::Refused(ErrorCode::NotLeaderOrFollower))
}

/// KAFKA-12996: below the start of the log nothing can be told but that.
pub(crate) fn below_the_start_of_the_log_is_out_of_range(rules: Rules) -> bool {
    let mut cluster = two_epochs(rules);
    cluster.metadata(A, vec![record(Some(A), 3, &[A])]);
    cluster.input(A, Input::DeleteRecords(offset(3)));
    let effects = fetch(&mut cluster, B, 1, Some(2), Some(3));
    reply(&effects) == &Err(ErrorCode::OffsetOutOfRange)
}

/// KAFKA-7104, 3.2: the reply has the high watermark from before the request was counted.
pub(crate) fn a_reply_has_the_high_watermark_of_before(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A], A, 1, &[A, B]);
    cluster.write(A, &["r0", "r1"]);
    let effects = fetch(&mut cluster, B, 1, Some(1), Some(1));
    assert_eq!(cluster.high_watermark(A), 1);
    matches!(reply(&effects), Ok(told) if told.high_watermark == offset(0))
}

/// KAFKA-8400: a fetch that fails tells nothing of the follower's end.
pub(crate) fn a_fetch_that_fails_is_no_progress(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A], A, 1, &[A, B]);
    cluster.write(A, &["r0", "r1"]);
    let effects = fetch(&mut cluster, B, 9, Some(1), Some(1));
    // The end of epoch 1 is below 9, so that it diverges; without an epoch the offset alone tells.
    assert!(matches!(reply(&effects), Ok(FetchReply { found: Fetched::Diverging(_), .. })));
    let effects = fetch(&mut cluster, B, 9, None, Some(1));
    assert_eq!(reply(&effects), &Err(ErrorCode::OffsetOutOfRange));
    cluster.high_watermark(A) == 0 && cluster.state(A).leading.expect("it leads").remotes[&B].0 == -1
}

/// KIP-207, PUB-A10: what a client is told of the end does not go back with a new leader.
pub(crate) fn the_end_is_not_told_until_it_is_as_far_as_before(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["r0", "r1", "r2"]);
    cluster.replicate(A, &[B]);
    cluster.write(A, &["r3", "r4"]);
    assert!(cluster.deliver(A, B) && cluster.deliver(B, A));
    assert!(cluster.deliver(A, B) && cluster.deliver(B, A));
    let latest = |cluster: &mut Cluster, at| ask_offset(cluster, at, OffsetSpec::Latest, Isolation::Uncommitted);
    let end = Answer::Offset(ListedOffset { offset: offset(5), epoch: Some(epoch(1)) });
    assert_eq!(latest(&mut cluster, A), Some(end));
    assert!(cluster.high_watermark(B) < 5);
    cluster.crash(A);
    cluster.metadata(B, vec![record(Some(B), 2, &[A, B])]);
    // A replica is told the end of the log all the same.
    let replica = ask_offset(&mut cluster, B, OffsetSpec::Latest, Isolation::LogEnd);
    assert_eq!(replica, Some(Answer::Offset(ListedOffset { offset: offset(5), epoch: Some(epoch(2)) })));
    let earliest = ask_offset(&mut cluster, B, OffsetSpec::Earliest, Isolation::Uncommitted);
    assert_eq!(earliest, Some(Answer::Offset(ListedOffset { offset: offset(0), epoch: Some(epoch(1)) })));
    latest(&mut cluster, B) == Some(Answer::Refused(ErrorCode::OffsetNotAvailable))
}

/// Redpanda #30101, PUB-A14: the start of the log is of the epoch of the record there.
pub(crate) fn the_start_has_the_epoch_of_its_record(rules: Rules) -> bool {
    let mut cluster = two_epochs(rules);
    let first = Answer::Offset(ListedOffset { offset: offset(0), epoch: Some(epoch(1)) });
    ask_offset(&mut cluster, A, OffsetSpec::Earliest, Isolation::Uncommitted) == Some(first)
}

#[test]
fn a_broker_without_metadata_knows_of_no_partition() {
    let mut cluster = Cluster::new(2, 1, oracle());
    let effects = fetch(&mut cluster, B, 0, None, None);
    assert_eq!(reply(&effects), &Err(ErrorCode::UnknownTopicOrPartition));
    assert_eq!(ask_epoch(&mut cluster, A, 0, None), Some(Answer::Refused(ErrorCode::UnknownTopicOrPartition)));
}

#[test]
fn a_fetch_is_fenced_or_unknown_before_leadership_is_looked_at() {
    let mut cluster = two_epochs(oracle());
    for (current, error) in [(2, ErrorCode::FencedLeaderEpoch), (4, ErrorCode::UnknownLeaderEpoch)] {
        let effects = fetch(&mut cluster, B, 5, Some(1), Some(current));
        assert_eq!(reply(&effects), &Err(error));
        assert_eq!(ask_epoch(&mut cluster, B, 1, Some(current)), Some(Answer::Refused(error)), "who follows too");
    }
}

#[test]
fn who_is_no_replica_is_refused_by_whether_it_names_its_epoch() {
    let mut cluster = two_epochs(oracle());
    let stranger = BrokerId(7);
    assert_eq!(reply(&fetch(&mut cluster, stranger, 5, Some(1), Some(3))), &Err(ErrorCode::UnknownLeaderEpoch));
    assert_eq!(reply(&fetch(&mut cluster, stranger, 5, Some(1), None)), &Err(ErrorCode::NotLeaderOrFollower));
}

#[test]
fn a_fetch_without_records_waits_for_an_append_or_its_time() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    assert!(cluster.deliver(B, A));
    assert!(cluster.mail.is_empty());
    cluster.write(A, &["r0"]);
    assert_eq!(cluster.in_flight(A, B).len(), 1, "an append answers it");
    cluster.settle(&[A, B]);
    cluster.refetch(A, B);
    assert!(
        matches!(&cluster.in_flight(A, B)[..], [Content::FetchReply(Ok(told))]
            if told.high_watermark == offset(1) && told.found == Fetched::Records(Vec::new())),
        "and so does time"
    );
}

#[test]
fn a_risen_high_watermark_answers_no_follower() {
    let mut cluster = Cluster::new(3, 1, oracle());
    let all = [A, B, crate::cluster::C];
    cluster.lead(&all, A, 0, &all);
    cluster.write(A, &["r0"]);
    cluster.settle(&all);
    assert_eq!((cluster.high_watermark(A), cluster.high_watermark(B)), (1, 0));
    assert_eq!(cluster.broker(A).parked_fetches().len(), 2);
}

#[test]
fn a_client_reads_up_to_the_high_watermark() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B]);
    cluster.write(A, &["r1"]);
    let read = |cluster: &mut Cluster, at, from: i64, from_follower| {
        let consume = Input::Consume {
            offset: offset(from),
            current_leader_epoch: Some(epoch(0)),
            isolation: Isolation::Uncommitted,
            from_follower,
        };
        match cluster.input(at, consume).answer {
            Some(Answer::Consumed { records, high_watermark }) => Ok((records.len(), high_watermark.0)),
            Some(Answer::Refused(error)) => Err(error),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(read(&mut cluster, A, 0, false), Ok((1, 1)));
    assert_eq!(read(&mut cluster, A, 1, false), Ok((0, 1)));
    assert_eq!(
        read(&mut cluster, A, 2, false),
        Ok((0, 1)),
        "between the high watermark and the end: nothing, no error"
    );
    assert_eq!(read(&mut cluster, A, 3, false), Err(ErrorCode::OffsetOutOfRange));
    assert_eq!(read(&mut cluster, B, 0, false), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(read(&mut cluster, B, 0, true), Ok((1, 1)), "KIP-392");
}

#[test]
fn an_offset_is_found_by_time_with_the_epoch_of_its_record() {
    let mut cluster = two_epochs(oracle());
    cluster.replicate(A, &[B]);
    let found = |at: i64, of: i32| Some(Answer::Offset(ListedOffset { offset: offset(at), epoch: Some(epoch(of)) }));
    let by_time = |cluster: &mut Cluster, time| {
        let spec = OffsetSpec::Timestamp(fencepost_reference::storage::names::Millis(time));
        ask_offset(cluster, A, spec, Isolation::Uncommitted)
    };
    assert_eq!(by_time(&mut cluster, 2), found(2, 1));
    assert_eq!(by_time(&mut cluster, 6), found(6, 3));
    assert_eq!(by_time(&mut cluster, 60), Some(Answer::Offset(ListedOffset { offset: Offset(-1), epoch: None })));
}

#[test]
fn a_produce_request_waits_for_the_high_watermark_and_no_longer_than_its_time() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.lead(&[A, B], A, 0, &[A, B]);
    cluster.settle(&[A, B]);
    let silent = cluster.produce(A, &["r0"], Acks::None);
    assert_eq!((cluster.answer(silent), cluster.end(A)), (None, 1), "nothing is ever said");
    let two = cluster.produce(A, &["r1", "r2"], Acks::All);
    let late = cluster.produce(A, &["r3"], Acks::All);
    let expire = Input::ExpireProduce(fencepost_reference::replica::names::ProduceId(late));
    cluster.input(A, expire);
    assert_eq!((cluster.answer(two), cluster.answer(late)), (None, Some(Err(ErrorCode::RequestTimedOut))));
    cluster.settle(&[A, B]);
    assert_eq!(cluster.answer(two), Some(Ok(1)));
    assert_eq!(cluster.produce(B, &["x"], Acks::Leader), 3);
    assert_eq!(cluster.answer(3), Some(Err(ErrorCode::NotLeaderOrFollower)));
}
