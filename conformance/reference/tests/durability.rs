//! What survives (docs/fencing.md 3.8, 4.2 and 4.3): answers that wait for the high watermark, fail-over, upgrade and rollback, and
//! logs that compaction left in an odd order.

mod group;

use fencepost_reference::coordinator::log::{Entry, Log};
use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::records::{
    ConsumerGroupCurrentMemberAssignmentValue, ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue,
    CurrentTopicPartitions, MemberKey, OffsetCommitKey, OffsetCommitValue, Record,
};
use fencepost_reference::coordinator::request::{
    CommitPartition, HeartbeatRequest, OffsetCommitRequest, OffsetFetchRequest, TxnOutcome,
};
use fencepost_reference::coordinator::{
    Activity, Answer, Config, Coordinator, Epoch, ErrorCode, LoadError, Replication, Reply, Request, Rules, Survives,
    Ticket,
};
use group::{Group, T, U, at, g, named};

fn held() -> Coordinator {
    let config = Config { replication: Replication::Held, ..Config::default() };
    let mut coordinator = Coordinator::new(Rules::kafka_4_4(), config);
    coordinator.create_topic("t", T, 4);
    coordinator
}

fn waits(coordinator: &mut Coordinator, request: &Request) -> Ticket {
    match coordinator.handle(request).reply {
        Reply::Waits(ticket) => ticket,
        Reply::Answered(answer) => panic!("answered at once: {answer:?}"),
    }
}

fn answered(coordinator: &mut Coordinator, request: &Request) -> Answer {
    match coordinator.handle(request).reply {
        Reply::Answered(answer) => answer,
        Reply::Waits(_) => panic!("it waits"),
    }
}

fn join(member: &str) -> Request {
    Request::Heartbeat(HeartbeatRequest::join("g", member, &["t"]))
}

fn beat(member: &str, epoch: i32) -> Request {
    Request::Heartbeat(HeartbeatRequest::new("g", member, epoch))
}

fn commit(member: &str, epoch: i32, offset: i64) -> Request {
    let partitions = vec![CommitPartition::new("t", 0, offset)];
    Request::OffsetCommit(OffsetCommitRequest::new("g", member, epoch, partitions))
}

#[test]
fn writes_are_answered_in_order_when_the_high_watermark_passes_them() {
    let mut coordinator = held();
    let joined = waits(&mut coordinator, &join("a"));
    let committed = waits(&mut coordinator, &commit("a", 2, 5));
    assert_eq!(coordinator.log().high_watermark(), 0);
    let released = coordinator.replicate(Some(joined));
    assert_eq!(released.iter().map(|(ticket, answer)| (*ticket, answer.is_ok())).collect::<Vec<_>>(), [(joined, true)]);
    assert_eq!(coordinator.replicate(Some(joined)), [], "it does not wait any more");
    assert_eq!(coordinator.replicate(None).first().map(|(ticket, _)| *ticket), Some(committed));
    assert_eq!(coordinator.log().high_watermark(), coordinator.log().end_offset());
}

#[test]
fn a_request_without_records_waits_for_what_was_written_before_it_and_for_nothing_else() {
    let mut coordinator = held();
    waits(&mut coordinator, &join("a"));
    let heartbeat = waits(&mut coordinator, &beat("a", 2));
    let fetch = OffsetFetchRequest::new("g", "a", 2, vec![named("t-0")]);
    let fetched = waits(&mut coordinator, &Request::OffsetFetch(fetch.clone()));
    let released: Vec<Ticket> = coordinator.replicate(None).into_iter().map(|(ticket, _)| ticket).collect();
    assert_eq!(released[1..], [heartbeat, fetched]);
    assert!(answered(&mut coordinator, &beat("a", 2)).is_ok());
    assert!(answered(&mut coordinator, &Request::OffsetFetch(fetch)).is_ok());
}

#[test]
fn an_error_is_answered_at_once_and_may_tell_of_what_is_then_lost() {
    let mut coordinator = held();
    let script = std::collections::BTreeMap::from([("a".into(), vec![("t".into(), 0)])]);
    coordinator.set_target(&g(), fencepost_reference::coordinator::ScriptedTarget::Assign(script));
    waits(&mut coordinator, &join("a"));
    coordinator.replicate(None);
    waits(&mut coordinator, &join("b"));
    waits(&mut coordinator, &beat("a", 2));
    // a is at 3 by now, though nobody was told.
    let fetch = Request::OffsetFetch(OffsetFetchRequest::new("g", "a", 2, vec![named("t-0")]));
    assert_eq!(answered(&mut coordinator, &fetch), Err(ErrorCode::StaleMemberEpoch));
    coordinator.fail_over(Rules::kafka_4_4(), Survives::HighWatermark).expect("the log loads");
    assert!(answered(&mut coordinator, &fetch).is_ok());
}

#[test]
fn a_fail_over_loses_what_is_above_the_high_watermark_and_nothing_below() {
    for (survives, expected) in [(Survives::HighWatermark, 5), (Survives::All, 6)] {
        let mut coordinator = held();
        waits(&mut coordinator, &join("a"));
        waits(&mut coordinator, &commit("a", 2, 5));
        coordinator.replicate(None);
        let ticket = waits(&mut coordinator, &commit("a", 2, 6));
        let failed = coordinator.fail_over(Rules::kafka_4_4(), survives).expect("the log loads");
        assert_eq!(failed, [(ticket, Err(ErrorCode::NotCoordinator))]);
        let description = coordinator.describe(&g()).expect("the group is there");
        assert_eq!(description.offsets[&named("t-0")].offset, expected);
        assert_eq!(description.members["a"].member_epoch, Epoch(2));
    }
}

#[test]
fn a_request_that_timed_out_may_have_been_written() {
    let mut coordinator = held();
    let ticket = waits(&mut coordinator, &commit("", -1, 5));
    assert_eq!(coordinator.time_out(ticket), Some(Err(ErrorCode::CoordinatorNotAvailable)));
    assert_eq!(coordinator.replicate(None), []);
    assert_eq!(coordinator.describe(&g()).expect("a simple group").offsets[&named("t-0")].offset, 5);
}

#[test]
fn a_coordinator_that_does_not_serve_says_why() {
    let mut coordinator = held();
    for (activity, error) in [
        (Activity::Loading, ErrorCode::CoordinatorLoadInProgress),
        (Activity::Inactive, ErrorCode::CoordinatorNotAvailable),
        (Activity::Resigned, ErrorCode::NotCoordinator),
    ] {
        coordinator.set_activity(activity);
        assert_eq!(answered(&mut coordinator, &join("a")), Err(error));
    }
}

#[test]
fn a_target_whose_bump_was_lost_is_noticed_again() {
    let mut coordinator = held();
    waits(&mut coordinator, &join("a"));
    coordinator.replicate(None);
    let script = std::collections::BTreeMap::from([("a".into(), vec![("t".into(), 0)])]);
    coordinator.set_target(&g(), fencepost_reference::coordinator::ScriptedTarget::Assign(script));
    waits(&mut coordinator, &beat("a", 2));
    coordinator.fail_over(Rules::kafka_4_4(), Survives::HighWatermark).expect("the log loads");
    assert_eq!(coordinator.describe(&g()).expect("the group is there").group_epoch, Epoch(2));
    waits(&mut coordinator, &beat("a", 2));
    let description = coordinator.describe(&g()).expect("the group is there");
    assert_eq!((description.group_epoch, description.assignment_epoch), (Epoch(3), Epoch(3)));
}

#[test]
fn timers_start_anew_with_a_new_coordinator() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.coordinator.advance(40_000);
    group.fail_over();
    assert_eq!(group.coordinator.advance(60_000), []);
    assert_eq!(group.coordinator.advance(85_000).len(), 2);
}

#[test]
fn pending_offsets_and_the_epochs_of_producers_survive() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
    group.fail_over();
    assert_eq!(group.fetch("a", 2, "t-0"), Err(ErrorCode::UnstableOffsetCommit));
    group.end_txn(9, TxnOutcome::Commit).expect("the marker is written");
    group.fail_over();
    assert_eq!(group.fetch("a", 2, "t-0"), Ok(10));
}

#[test]
fn an_older_coordinator_ignores_assignment_epochs_and_drops_only_those_that_it_rewrites() {
    let older = || Rules { first_group_epoch: Epoch(1), ..Rules::kafka_4_2() };
    let mut group = Group::two(Rules::kafka_4_4());
    group.target(&[("a", &["t-0", "t-1"])]);
    group.beat("a", 2).expect("a moves to 3");
    group.fail_over_to(older());
    assert_eq!(group.member("a").assigned.values().flatten().count(), 0, "it does not know them");
    assert_eq!(group.commit("a", 2, &[("t-0", 5)]), Err(ErrorCode::StaleMemberEpoch), "it is strict");
    group.fail_over_to(Rules::kafka_4_4());
    assert_eq!(group.assigned("a"), at(&[("t-0", 2), ("t-1", 2)]), "nothing was rewritten");
    assert_eq!(group.commit("a", 2, &[("t-0", 5)]), Ok(()));

    group.fail_over_to(older());
    group.target(&[("a", &["t-0", "t-1"])]);
    group.beat("a", 3).expect("a moves to 4");
    group.fail_over_to(Rules::kafka_4_4());
    assert_eq!(group.assigned("a"), at(&[("t-0", 4), ("t-1", 4)]), "the member epoch stands for what was lost");
    assert_eq!(group.commit("a", 3, &[("t-0", 6)]), Err(ErrorCode::StaleMemberEpoch));
    group.target(&[("a", &["t-0", "t-1"])]);
    group.beat("a", 4).expect("a moves to 5");
    assert_eq!(group.commit("a", 4, &[("t-0", 6)]), Ok(()), "the gain is back with the next bump");
}

fn key(member: &str) -> MemberKey {
    MemberKey { group_id: "g".to_owned(), member_id: member.to_owned() }
}

fn has(member: &str, epoch: i32, partitions: &[i32]) -> Record {
    let entry = CurrentTopicPartitions { topic_id: T, partitions: partitions.to_vec(), ..Default::default() };
    Record::ConsumerGroupCurrentMemberAssignment {
        key: key(member),
        value: Some(ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: epoch,
            previous_member_epoch: epoch - 1,
            assigned_partitions: if partitions.is_empty() { Vec::new() } else { vec![entry] },
            ..Default::default()
        }),
    }
}

fn load(rules: Rules, records: Vec<Record>) -> Result<Group, LoadError> {
    let entries = records.into_iter().map(|record| Entry::Record { record, producer: None });
    Coordinator::load(rules, Config::default(), &Log::from_entries((0..).zip(entries)))
        .map(|coordinator| Group { coordinator })
}

#[test]
fn h9_a_static_member_that_left_does_not_load_over_a_holder_that_compaction_left_behind() {
    // b gave t-0 up and a got it, then a left for a while; the records between were compacted away.
    let log = || vec![has("b", 4, &[0]), has("a", -2, &[0]), has("b", 5, &[])];
    assert!(matches!(load(Rules::kafka_4_4(), log()), Err(LoadError::Replay { offset: 1, .. })));
    let group = load(Rules::assignment_epoch_owned(), log()).expect("the later record wins");
    assert_eq!(group.member("a").assigned.len(), 1);
    assert!(group.member("b").assigned.is_empty());
}

/// KAFKA-17306, its second case.
#[test]
fn kafka_17306_a_group_is_made_by_whichever_of_its_records_comes_first() {
    let metadata =
        Record::ConsumerGroupMemberMetadata { key: key("a"), value: Some(ConsumerGroupMemberMetadataValue::default()) };
    let epoch = Record::ConsumerGroupMetadata {
        group_id: "g".to_owned(),
        value: Some(ConsumerGroupMetadataValue { epoch: 7, metadata_hash: 0 }),
    };
    for log in [vec![epoch.clone(), has("a", 7, &[0]), metadata.clone()], vec![has("a", 7, &[0]), metadata, epoch]] {
        let description = load(Rules::kafka_4_4(), log).expect("the log loads").describe().expect("the group is there");
        assert_eq!((description.group_epoch, description.members.len()), (Epoch(7), 1));
    }
}

/// KAFKA-17306, its third case.
#[test]
fn kafka_17306_a_simple_group_becomes_a_consumer_group_and_keeps_its_offsets() {
    let offset = Record::OffsetCommit {
        key: OffsetCommitKey { group_id: "g".to_owned(), topic: "t".to_owned(), partition: 0, legacy: false },
        value: Some(OffsetCommitValue { offset: 5, ..Default::default() }),
    };
    let group = load(Rules::kafka_4_4(), vec![offset, has("a", 7, &[0])]).expect("the log loads");
    assert_eq!((group.stored("t-0"), group.has_member("a")), (5, true));
}

/// KAFKA-16371's and Redpanda #17260's neighbours: what an older record does not say is -1.
#[test]
fn the_leader_epoch_of_a_commit_comes_back_and_is_minus_one_where_there_was_none() {
    let mut group = Group::two(Rules::kafka_4_4());
    let partitions =
        vec![CommitPartition { leader_epoch: 7, ..CommitPartition::new("t", 0, 5) }, CommitPartition::new("t", 1, 6)];
    group.commit_request(OffsetCommitRequest::new("g", "a", 2, partitions)).expect("a commits");
    group.fail_over();
    let fetch = OffsetFetchRequest::new("g", "a", 2, vec![named("t-0"), named("t-1"), named("t-2")]);
    let fetched = group.fetch_request(fetch).expect("a fetches");
    let pairs: Vec<(i64, i32)> = fetched.iter().map(|fetched| (fetched.offset, fetched.leader_epoch)).collect();
    assert_eq!(pairs, [(5, 7), (6, -1), (-1, -1)]);
}

#[test]
fn a_topic_that_was_made_again_is_another_topic() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.commit("a", 2, &[("t-0", 5)]).expect("a commits");
    group.coordinator.delete_topic("t").expect("there is a topic t");
    assert_eq!(group.stored("t-0"), -1);
    group.coordinator.create_topic("t", U, 4);
    group.target(&[("a", &[])]);
    group.beat("a", 2).expect("a is asked for the partitions of the old topic");
    assert_eq!(group.state("a"), MemberState::Unrevoked);
    assert_eq!(group.owning("a", 2, &[]).map(|(epoch, _)| epoch), Ok(3));
    // 3.3 looks up by id: what a had of the old topic says nothing about the new one.
    assert_eq!(group.commit("a", 2, &[("t-0", 6)]), Err(ErrorCode::StaleMemberEpoch));
}
