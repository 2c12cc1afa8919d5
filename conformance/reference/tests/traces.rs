//! Whole traces: the hand-over of docs/fencing.md 0, the holes of section 7, the race and the rejected alternatives of section 5,
//! each under the rules that have it and under those that do not.

mod group;

use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::request::TxnOutcome;
use fencepost_reference::coordinator::{Config, ErrorCode, Rules};
use group::{Group, at, set};

/// H1, section 7: a goes from one revocation into the next, and its epoch stays. Ends with the late commit.
fn h1(rules: Rules, transactional: bool) -> (Group, Result<(), ErrorCode>) {
    let mut group = Group::two(rules);
    group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
    assert_eq!(group.beat("a", 2), Ok((2, Some(set(&["t-0"])))));
    group.target(&[("a", &[]), ("b", &["t-0", "t-1"])]);
    let (epoch, assignment) = group.owning("a", 2, &["t-0"]).expect("a acknowledges");
    assert_eq!(assignment, Some(set(&[])));
    assert_eq!(group.state("a"), MemberState::Unrevoked);
    assert_eq!(group.beat("b", 2), Ok((4, Some(set(&["t-1"])))));
    assert_eq!(group.commit("b", 4, &[("t-1", 100)]), Ok(()));
    let late = if transactional {
        let late = group.txn_commit(9, "a", 2, &[("t-1", 50)]);
        group.end_txn(9, TxnOutcome::Commit).expect("the marker is written");
        late
    } else {
        group.commit("a", 2, &[("t-1", 50)])
    };
    let exit = group.coordinator.rules().unrevoked_exit;
    let bumped = exit == fencepost_reference::coordinator::UnrevokedExit::EpochBumped;
    assert_eq!(epoch, if bumped { 3 } else { 2 });
    (group, late)
}

#[test]
fn h1_a_late_commit_overwrites_the_new_owner_where_the_epoch_is_kept() {
    for rules in [Rules::kafka_4_2(), Rules::kafka_4_3(), Rules::kafka_4_4(), Rules::revocation_epoch_kept()] {
        for transactional in [false, true] {
            let (mut group, late) = h1(rules.clone(), transactional);
            assert_eq!((late, group.stored("t-1")), (Ok(()), 50), "{rules:?}");
            group.fail_over();
            assert_eq!(group.stored("t-1"), 50, "the overwrite is durable");
        }
    }
}

#[test]
fn h1_is_refused_where_an_equal_epoch_has_to_own_the_partition() {
    for transactional in [false, true] {
        let (group, late) = h1(Rules::assignment_epoch_owned(), transactional);
        assert_eq!((late, group.stored("t-1")), (Err(ErrorCode::StaleMemberEpoch), 100));
    }
}

#[test]
fn h1_is_refused_where_the_exit_from_unrevoked_bumps_the_epoch() {
    for rules in [Rules::kafka_4_0(), Rules::kafka_4_1()] {
        let (group, late) = h1(rules.clone(), false);
        assert_eq!((late, group.stored("t-1")), (Err(ErrorCode::StaleMemberEpoch), 100));
        let (group, late) = h1(rules, true);
        assert_eq!((late, group.stored("t-1")), (Err(ErrorCode::IllegalGeneration), 100));
    }
    let (group, late) = h1(Rules::revocation_epoch_bumped(), false);
    assert_eq!((late, group.stored("t-1")), (Err(ErrorCode::StaleMemberEpoch), 100));
}

#[test]
fn h1_needs_the_second_target() {
    for rules in [Rules::kafka_4_1(), Rules::kafka_4_2(), Rules::kafka_4_3(), Rules::kafka_4_4()] {
        let mut group = Group::two(rules);
        group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
        assert_eq!(group.beat("a", 2), Ok((2, Some(set(&["t-0"])))));
        assert_eq!(group.owning("a", 2, &["t-0"]).map(|(epoch, _)| epoch), Ok(3));
        assert_eq!(group.beat("b", 2), Ok((3, Some(set(&["t-1"])))));
        assert_eq!(group.commit("b", 3, &[("t-1", 100)]), Ok(()));
        assert_eq!(group.commit("a", 2, &[("t-1", 50)]), Err(ErrorCode::StaleMemberEpoch));
        assert_eq!(group.stored("t-1"), 100);
    }
}

/// H2, section 7: a gives a topic up while the target is delayed; STRIP releases it at an unchanged epoch.
fn h2(rules: Rules) -> (Group, Result<(), ErrorCode>) {
    let config = Config { assignment_interval_ms: Some(1000), ..Config::default() };
    let mut group = Group::configured(rules, config);
    group.target(&[("a", &["t-0", "u-0"]), ("b", &[])]);
    assert_eq!(group.join("b", &["t", "u"]), Ok(1));
    group.coordinator.assignment_interval_elapsed();
    assert_eq!(group.join("a", &["t", "u"]), Ok(2));
    assert_eq!(group.beat("b", 1), Ok((2, None)));
    group.target(&[("a", &["u-0"]), ("b", &["t-0"])]);
    assert_eq!(group.subscribing("a", 2, &["u"], &["t-0", "u-0"]), Ok((2, Some(set(&["u-0"])))));
    assert_eq!((group.group_epoch(), group.assignment_epoch()), (3, 2), "the target is delayed");
    assert_eq!(group.state("a"), MemberState::Unrevoked);
    assert_eq!(group.owning("a", 2, &["u-0"]), Ok((2, None)));
    assert_eq!(group.state("a"), MemberState::Stable);
    group.coordinator.assignment_interval_elapsed();
    assert_eq!(group.beat("b", 2), Ok((3, Some(set(&["t-0"])))));
    assert_eq!(group.commit("b", 3, &[("t-0", 100)]), Ok(()));
    let late = group.commit("a", 2, &[("t-0", 50)]);
    (group, late)
}

#[test]
fn h2_a_late_commit_after_strip_overwrites_the_new_owner() {
    for rules in [Rules::kafka_4_3(), Rules::kafka_4_4()] {
        let (group, late) = h2(rules);
        assert_eq!((late, group.stored("t-0")), (Ok(()), 50));
    }
    let (group, late) = h2(Rules::assignment_epoch_owned());
    assert_eq!((late, group.stored("t-0")), (Err(ErrorCode::StaleMemberEpoch), 100));
}

#[test]
fn a_commit_stamped_before_a_bump_is_accepted_for_a_partition_still_owned_and_again_after_a_fail_over() {
    let trace = |rules: Rules| {
        let mut group = Group::two(rules);
        group.target(&[("a", &["t-0", "t-1"]), ("b", &[])]);
        assert_eq!(group.beat("a", 2), Ok((3, None)));
        let first = group.commit("a", 2, &[("t-0", 10)]);
        group.fail_over();
        (first, group.commit("a", 2, &[("t-0", 11)]))
    };
    for rules in [Rules::kafka_4_3(), Rules::kafka_4_4(), Rules::assignment_epoch_owned()] {
        assert_eq!(trace(rules), (Ok(()), Ok(())));
    }
    let stale = Err(ErrorCode::StaleMemberEpoch);
    for rules in [Rules::kafka_4_0(), Rules::kafka_4_1(), Rules::kafka_4_2()] {
        assert_eq!(trace(rules), (stale, stale), "race R");
    }
    for rules in [Rules::revocation_epoch_bumped(), Rules::revocation_epoch_kept()] {
        assert_eq!(trace(rules), (Ok(()), stale), "a revocation epoch that is not known is strict");
    }
}

#[test]
fn one_revocation_epoch_a_member_refuses_a_legal_commit() {
    let trace = |rules: Rules| {
        let mut group = Group::two(rules);
        group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
        assert_eq!(group.beat("a", 2), Ok((2, Some(set(&["t-0"])))));
        assert_eq!(group.owning("a", 2, &["t-0"]).map(|(epoch, _)| epoch), Ok(3));
        assert_eq!(group.assigned("a"), at(&[("t-0", 2)]));
        group.commit("a", 2, &[("t-0", 10)])
    };
    for rules in [Rules::revocation_epoch_bumped(), Rules::revocation_epoch_kept()] {
        assert_eq!(trace(rules), Err(ErrorCode::StaleMemberEpoch));
    }
    assert_eq!(trace(Rules::kafka_4_4()), Ok(()));
    assert_eq!(trace(Rules::assignment_epoch_owned()), Ok(()));
}

#[test]
fn without_fencing_the_previous_owner_moves_the_offset_back() {
    let trace = |rules: Rules| {
        let mut group = Group::two(rules);
        group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
        group.beat("a", 2).expect("a is asked to revoke");
        group.owning("a", 2, &["t-0"]).expect("a acknowledges");
        group.beat("b", 2).expect("b is given t-1");
        assert_eq!(group.fetch("b", 3, "t-1"), Ok(-1));
        assert_eq!(group.commit("b", 3, &[("t-1", 100)]), Ok(()));
        (group.commit("a", 2, &[("t-1", 50)]), group.stored("t-1"))
    };
    assert_eq!(trace(Rules::no_fencing()), (Ok(()), 50));
    assert_eq!(trace(Rules::kafka_4_2()), (Err(ErrorCode::StaleMemberEpoch), 100));
    assert_eq!(trace(Rules::kafka_4_4()), (Err(ErrorCode::StaleMemberEpoch), 100));
}

#[test]
fn a_partition_changes_hands_without_loss() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
    // Steps 2 to 8 of docs/fencing.md 0.1.
    assert_eq!(group.beat("a", 2), Ok((2, Some(set(&["t-0"])))));
    assert_eq!((group.state("a"), group.pending("a")), (MemberState::Unrevoked, at(&[("t-1", 2)])));
    assert_eq!(group.commit("a", 2, &[("t-1", 7)]), Ok(()));
    assert_eq!(group.beat("b", 2), Ok((3, None)));
    assert_eq!(group.state("b"), MemberState::Unreleased);
    assert_eq!(group.owning("a", 2, &["t-0"]), Ok((3, None)));
    assert_eq!((group.state("a"), group.assigned("a")), (MemberState::Stable, at(&[("t-0", 2)])));
    assert_eq!(group.beat("b", 3), Ok((3, Some(set(&["t-1"])))));
    assert_eq!((group.state("b"), group.assigned("b")), (MemberState::Stable, at(&[("t-1", 3)])));
    assert_eq!(group.fetch("b", 3, "t-1"), Ok(7));
    assert_eq!(group.commit("b", 3, &[("t-1", 9)]), Ok(()));
    assert_eq!(group.commit("a", 2, &[("t-1", 8)]), Err(ErrorCode::StaleMemberEpoch));
}
