//! The lives of members: timers (docs/fencing.md 2.9), classic members (2.11), subscriptions by expression, assignors, and the subtle
//! cases H4 to H8 of section 7.

mod group;

use std::collections::BTreeSet;

use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::records::ClassicProtocol;
use fencepost_reference::coordinator::request::{HeartbeatRequest, JoinGroupRequest};
use fencepost_reference::coordinator::timers::{TimerEffect, TimerKind};
use fencepost_reference::coordinator::{
    ClassicGroup, ClassicGroupMember, Config, Epoch, ErrorCode, Rules, ScriptedTarget,
};
use group::{Group, at, g, set, tp};

// 2.9

#[test]
fn timers_fire_in_the_order_in_which_they_are_due() {
    let mut group = Group::new(Rules::kafka_4_4());
    for (member, joins_ms) in [("c", 10_000), ("a", 20_000), ("b", 30_000)] {
        group.coordinator.advance(joins_ms);
        group.join(member, &["t"]).expect("there is room");
    }
    group.coordinator.advance(40_000);
    let known = group.epoch("c");
    group.owning("c", known, &[]).expect("c heartbeats, and is last now");
    let fired = group.coordinator.advance(1_000_000);
    let order: Vec<(&str, i64)> = fired.iter().map(|fired| (fired.member_id.as_str(), fired.at_ms)).collect();
    assert_eq!(order, [("a", 65_000), ("b", 75_000), ("c", 85_000)]);
    assert!(fired.iter().all(|fired| fired.effect == TimerEffect::Removed && !fired.appended.is_empty()));
    assert_eq!(group.coordinator.now_ms(), 1_000_000);
}

#[test]
fn of_timers_that_are_due_together_the_one_armed_first_fires_first() {
    let mut group = Group::new(Rules::kafka_4_4());
    for member in ["c", "a", "b"] {
        group.join(member, &["t"]).expect("there is room");
    }
    let fired = group.coordinator.advance(45_001);
    assert_eq!(fired.iter().map(|fired| fired.member_id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
}

#[test]
fn a_commit_does_not_keep_the_session() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.coordinator.advance(40_000);
    group.commit("a", 2, &[("t-0", 5)]).expect("a commits");
    group.coordinator.advance(45_001);
    assert!(!group.has_member("a"));
}

#[test]
fn each_revocation_has_a_full_rebalance_timeout() {
    let mut group =
        Group::configured(Rules::kafka_4_4(), Config { session_timeout_ms: 10_000_000, ..Config::default() });
    group.target(&[("a", &["t-0", "t-1"])]);
    group.join("a", &["t"]).expect("a joins");
    group.target(&[("a", &["t-0"])]);
    group.beat("a", 1).expect("a is asked for t-1");
    group.coordinator.advance(200_000);
    group.target(&[("a", &[])]);
    group.owning("a", 1, &["t-0"]).expect("a is asked for t-0");
    assert_eq!((group.state("a"), group.epoch("a")), (MemberState::Unrevoked, 1));
    assert_eq!(group.coordinator.advance(400_000), []);
    assert_eq!(group.coordinator.advance(500_000).first().map(|fired| fired.kind), Some(TimerKind::Rebalance));
    assert!(!group.has_member("a"));
}

#[test]
fn the_timers_of_a_replaced_static_member_fire_for_nobody() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.join_static("a", "i", &["t"]).expect("a joins");
    group.leave_static("a", "i", -2).expect("a leaves for a while");
    group.join_static("b", "i", &["t"]).expect("b takes its place");
    assert_eq!(group.fire(TimerKind::Session, "a"), Some(TimerEffect::Nothing));
    assert_eq!(group.fire(TimerKind::Session, "b"), Some(TimerEffect::Removed));
    assert_eq!(group.fire(TimerKind::Session, "b"), None);
}

#[test]
fn a_static_member_that_does_not_come_back_is_removed_by_its_session() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.join_static("a", "i", &["t"]).expect("a joins");
    group.leave_static("a", "i", -2).expect("a leaves for a while");
    group.coordinator.advance(45_001);
    assert!(!group.has_member("a"));
    assert_eq!(group.join_static("b", "i", &["t"]), Ok(3));
}

// 2.11

#[test]
fn a_classic_member_goes_through_a_rebalance() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"]), ("c", &["t-1"])]);
    assert_eq!(group.join_classic("c", &["t"]), Err(ErrorCode::InconsistentGroupProtocol), "no group of consumers");
    group.join("a", &["t"]).expect("a joins");
    assert_eq!(group.join_classic("c", &["t"]), Ok(2));
    assert_eq!(group.sync("c", 2), Ok(set(&["t-1"])));
    assert_eq!(group.beat_classic("c", 2), Ok(()));

    group.target(&[("a", &["t-0", "t-1"])]);
    group.beat("a", 1).expect("a computes the target");
    assert_eq!(group.state("a"), MemberState::Unreleased);
    assert_eq!(group.beat_classic("c", 2), Err(ErrorCode::RebalanceInProgress));
    assert_eq!(group.rejoin_classic("c", &["t"], &["t-1"]), Ok(2), "it still owns what it shall give up");
    assert_eq!(group.state("c"), MemberState::Unrevoked);
    assert_eq!(group.sync("c", 2), Ok(set(&[])));
    assert_eq!(group.beat_classic("c", 2), Err(ErrorCode::RebalanceInProgress), "it has to acknowledge");
    assert_eq!(group.rejoin_classic("c", &["t"], &[]), Ok(3));
    assert_eq!(group.sync("c", 3), Ok(set(&[])));
    assert_eq!(group.beat_classic("c", 3), Ok(()));
    group.beat("a", 3).expect("a is given t-1");
    assert_eq!(group.assigned("a"), at(&[("t-0", 1), ("t-1", 3)]));
    assert_eq!(group.commit("c", 2, &[("t-1", 5)]), Err(ErrorCode::IllegalGeneration));
    assert_eq!(group.fetch("c", 2, "t-1"), Err(ErrorCode::IllegalGeneration));
}

#[test]
fn a_classic_member_that_waits_is_told_when_what_it_wants_is_free() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"])]);
    group.join("a", &["t"]).expect("a joins");
    group.target(&[("c", &["t-0"])]);
    assert_eq!(group.join_classic("c", &["t"]), Ok(2));
    assert_eq!(group.state("c"), MemberState::Unreleased);
    group.sync("c", 2).expect("c has nothing yet");
    assert_eq!(group.beat_classic("c", 2), Ok(()), "t-0 is with a");
    group.beat("a", 1).expect("a is asked for t-0");
    group.owning("a", 1, &[]).expect("a gives it up");
    assert_eq!(group.beat_classic("c", 2), Err(ErrorCode::RebalanceInProgress));
}

#[test]
fn a_classic_member_that_does_not_join_or_sync_in_time_is_removed() {
    let classic = || {
        let mut group = Group::new(Rules::kafka_4_4());
        group.join("a", &["t"]).expect("a joins");
        group.join_classic("c", &["t"]).expect("c joins");
        group
    };
    let mut group = classic();
    assert_eq!(group.fire(TimerKind::Sync, "c"), Some(TimerEffect::Removed), "it did not sync");

    let mut group = classic();
    group.sync("c", 2).expect("c syncs");
    assert_eq!(group.fire(TimerKind::Sync, "c"), None);
    assert_eq!(group.fire(TimerKind::Join, "c"), None);
    group.target(&[("a", &["t-0"])]);
    let known = group.epoch("a");
    group.beat("a", known).expect("a heartbeats");
    group.owning("a", known, &["t-0", "t-1"]).expect("a acknowledges");
    let generation = group.epoch("c");
    assert_eq!(group.beat_classic("c", generation), Err(ErrorCode::RebalanceInProgress));
    assert_eq!(group.fire(TimerKind::Join, "c"), Some(TimerEffect::Removed), "it was told to join and did not");
}

#[test]
fn a_classic_member_leaves_by_leave_group_and_a_consumer_does_not() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.join("a", &["t"]).expect("a joins");
    group.join_classic("c", &["t"]).expect("c joins");
    assert_eq!(group.leave_group("a"), Ok(vec![ErrorCode::UnknownMemberId]));
    assert_eq!(group.leave_group("c"), Ok(vec![ErrorCode::None]));
    assert_eq!((group.has_member("c"), group.group_epoch()), (false, 3));
}

fn upgraded(rules: Rules) -> Group {
    let mut group = Group::new(rules);
    let generation = Epoch(5 + group.shift());
    let member = |id: &str, assigned: &[&str]| ClassicGroupMember {
        member_id: id.into(),
        instance_id: None,
        session_timeout_ms: 45_000,
        rebalance_timeout_ms: 300_000,
        protocols: vec![ClassicProtocol { name: "range".to_owned(), metadata: Vec::new() }],
        topics: BTreeSet::from(["t".into()]),
        assigned: set(assigned),
    };
    let members = vec![member("c", &["t-0", "t-1"]), member("d", &["t-2", "t-3"])];
    let classic = ClassicGroup { group_id: g(), generation, members };
    assert!(group.coordinator.upgrade_classic_group(&classic).is_ok());
    assert_eq!(group.coordinator.upgrade_classic_group(&classic), Err(ErrorCode::InconsistentGroupProtocol));
    group
}

#[test]
fn an_upgraded_classic_group_has_its_generation_everywhere() {
    let mut group = upgraded(Rules::kafka_4_4());
    assert_eq!((group.group_epoch(), group.assignment_epoch(), group.epoch("c")), (5, 5, 5));
    assert_eq!((group.state("c"), group.assigned("c")), (MemberState::Stable, at(&[("t-0", 5), ("t-1", 5)])));
    assert_eq!(group.beat_classic("c", 5), Ok(()));
    assert_eq!(group.commit("d", 5, &[("t-2", 1)]), Ok(()));
    let before = group.describe();
    group.fail_over();
    assert_eq!(group.describe(), before);
}

#[test]
fn a_classic_member_that_heartbeats_becomes_a_consumer_and_keeps_what_it_has() {
    let mut group = upgraded(Rules::kafka_4_4());
    assert_eq!(group.join("c", &["t"]), Ok(5));
    assert!(!group.member("c").classic);
    assert_eq!(group.assigned("c"), at(&[("t-0", 5), ("t-1", 5)]));
}

#[test]
fn a_static_classic_member_is_replaced_without_leaving_and_its_assignment_epochs_are_copied() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("c", &["t-0"]), ("d", &["t-0"])]);
    group.join("a", &["t"]).expect("a joins");
    let as_i =
        |id: &str| JoinGroupRequest { instance_id: Some("i".into()), ..JoinGroupRequest::first("g", id, &["t"]) };
    assert_eq!(group.classic_join(as_i("c")), Ok(2));
    assert_eq!(group.assigned("c"), at(&[("t-0", 2)]));
    // A consumer takes the classic member's place, though that did not leave.
    assert_eq!(group.join_static("d", "i", &["t"]), Ok(2));
    assert_eq!((group.has_member("c"), group.assigned("d")), (false, at(&[("t-0", 2)])));
}

// 2.4, 2.10

#[test]
fn an_expression_counts_as_no_topic_until_it_is_resolved() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"])]);
    let join = HeartbeatRequest {
        subscribed_topic_names: None,
        subscribed_topic_regex: Some("t.*".to_owned()),
        ..HeartbeatRequest::join("g", "a", &[])
    };
    let joined = group.heartbeat(join).expect("a joins");
    assert_eq!(joined.assignment, Some(set(&[])));
    let (before, known) = (group.group_epoch(), group.epoch("a"));
    group.coordinator.resolve_regex(&g(), "t.*", &BTreeSet::from(["t".into()]));
    assert_eq!(group.group_epoch(), before + 1);
    assert_eq!(group.beat("a", known), Ok((before + 1, Some(set(&["t-0"])))));
    group.coordinator.resolve_regex(&g(), "t.*", &BTreeSet::from(["t".into()]));
    assert_eq!(group.group_epoch(), before + 1, "nothing changed");
    // Clearing it is a change of the subscription.
    let cleared =
        HeartbeatRequest { subscribed_topic_regex: Some(String::new()), ..HeartbeatRequest::new("g", "a", before + 1) };
    group.heartbeat(cleared).expect("a clears its expression");
    assert_eq!(group.group_epoch(), before + 2);
}

#[test]
fn another_preferred_assignor_bumps_the_group_epoch_in_4_4_alone() {
    let prefers = |rules| {
        let mut group = Group::new(rules);
        group.join("a", &["t"]).expect("a joins");
        let request =
            HeartbeatRequest { server_assignor: Some("range".to_owned()), ..HeartbeatRequest::new("g", "a", 1) };
        group.heartbeat(request).expect("a prefers another assignor");
        group.group_epoch()
    };
    assert_eq!(prefers(Rules::kafka_4_4()), 2);
    assert_eq!(prefers(Rules::kafka_4_3()), 1);
}

#[test]
fn an_assignor_that_fails_writes_nothing() {
    let mut group = Group::two(Rules::kafka_4_4());
    let (records, before) = (group.records().len(), group.describe());
    group.coordinator.set_target(&g(), ScriptedTarget::Fail);
    assert_eq!(group.beat("a", 2), Err(ErrorCode::UnknownServerError));
    assert_eq!((group.records().len(), group.describe()), (records, before));
}

// Section 7

#[test]
fn h4_an_empty_report_releases_a_partition_that_the_client_is_about_to_take() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"])]);
    group.join("b", &["t"]).expect("b joins");
    group.join("a", &["t"]).expect("a is given t-0 and did not take it yet");
    group.target(&[("b", &["t-0"])]);
    assert_eq!(group.owning("a", 2, &[]), Ok((3, Some(set(&[])))), "not asked back: not reported");
    assert_eq!(group.beat("b", 1), Ok((3, Some(set(&["t-0"])))));
    assert_eq!(group.commit("a", 2, &[("t-0", 5)]), Err(ErrorCode::StaleMemberEpoch));
}

#[test]
fn h6_a_late_leave_removes_the_member_that_joined_again() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.leave("a").expect("a leaves");
    group.join("a", &["t"]).expect("a joins again");
    assert_eq!(group.leave("a"), Ok(()), "the same request once more");
    assert!(!group.has_member("a"));
}

#[test]
fn h7_a_commit_from_before_a_rejoin_is_accepted_while_the_partition_never_moved() {
    let mut group = Group::two(Rules::assignment_epoch_owned());
    group.target(&[("a", &["t-0", "t-1"])]);
    group.beat("a", 2).expect("a moves on, and does not hear of it");
    assert_eq!(group.beat("a", 2), Err(ErrorCode::FencedMemberEpoch));
    group.target(&[("a", &["t-0", "t-1"])]);
    // The join reports nothing as owned, and nothing has to go, so everything is kept.
    assert_eq!(group.join("a", &["t"]), Ok(4));
    assert_eq!(group.assigned("a").get(&tp("t-0")), Some(&2));
    assert_eq!(group.commit("a", 2, &[("t-0", 5)]), Ok(()));
}
