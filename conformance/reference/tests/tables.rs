//! The tables of docs/fencing.md row by row, by the public decisions where those decide, by requests where not.

mod group;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_reference::coordinator::commit_check::{CommitCall, CommitMember, Protocol, commit_check};
use fencepost_reference::coordinator::describe::GroupState;
use fencepost_reference::coordinator::epoch_check::epoch_check;
use fencepost_reference::coordinator::reconciliation::{
    CurrentAssignment, Inputs, MemberState, Subscription, next, reconcile, strip,
};
use fencepost_reference::coordinator::request::HeartbeatRequest;
use fencepost_reference::coordinator::{Config, Epoch, ErrorCode, MemberId, Rules, TopicPartition, UnrevokedExit};
use group::{Group, T, at, set, tp};

const FENCED: Result<(), ErrorCode> = Err(ErrorCode::FencedMemberEpoch);
const STALE: ErrorCode = ErrorCode::StaleMemberEpoch;

fn epochs(partitions: &[(&str, i32)]) -> BTreeMap<TopicPartition, Epoch> {
    partitions.iter().map(|(text, epoch)| (tp(text), Epoch(*epoch))).collect()
}

fn member(state: MemberState, epoch: i32, assigned: &[(&str, i32)], pending: &[(&str, i32)]) -> CurrentAssignment {
    CurrentAssignment {
        member_epoch: Epoch(epoch),
        previous_member_epoch: Epoch(epoch - 1),
        state,
        assigned: epochs(assigned),
        pending_revocation: epochs(pending),
    }
}

// 2.1

#[test]
fn a_heartbeat_that_contradicts_itself_is_refused() {
    let beat = |epoch| HeartbeatRequest::new("g", "a", epoch);
    let join = || HeartbeatRequest::join("g", "a", &["t"]);
    let nobody = |epoch| HeartbeatRequest { member_id: "".into(), ..beat(epoch) };
    let refused = [
        nobody(0),
        HeartbeatRequest { api_version: 0, ..nobody(1) },
        HeartbeatRequest { api_version: 0, ..nobody(-1) },
        HeartbeatRequest { group_id: "".into(), ..join() },
        HeartbeatRequest { instance_id: Some("".into()), ..join() },
        HeartbeatRequest { rack_id: Some(String::new()), ..join() },
        HeartbeatRequest { rebalance_timeout_ms: -1, ..join() },
        HeartbeatRequest { owned: None, ..join() },
        HeartbeatRequest { owned: Some(set(&["t-0"])), ..join() },
        HeartbeatRequest { subscribed_topic_names: None, ..join() },
        beat(-2),
        beat(-3),
        HeartbeatRequest { instance_id: Some("i".into()), ..beat(-3) },
    ];
    for request in refused {
        let mut group = Group::new(Rules::kafka_4_4());
        assert_eq!(group.heartbeat(request.clone()), Err(ErrorCode::InvalidRequest), "{request:?}");
        assert!(group.records().is_empty());
    }
    let odd = HeartbeatRequest { server_assignor: Some("odd".to_owned()), ..join() };
    assert_eq!(Group::new(Rules::kafka_4_4()).heartbeat(odd), Err(ErrorCode::UnsupportedAssignor));
}

#[test]
fn version_0_may_join_without_an_id_and_gets_one() {
    let mut group = Group::new(Rules::kafka_4_4());
    let request = HeartbeatRequest {
        api_version: 0,
        new_member_id: Some("made".into()),
        ..HeartbeatRequest::join("g", "", &["t"])
    };
    assert_eq!(group.heartbeat(request).map(|response| response.member_id), Ok("made".into()));
}

// 2.2

#[test]
fn there_is_a_group_for_whoever_joins_and_for_nobody_else() {
    let mut group = Group::new(Rules::kafka_4_4());
    assert_eq!(group.beat("a", 1), Err(ErrorCode::GroupIdNotFound));
    assert_eq!(group.leave("a"), Err(ErrorCode::GroupIdNotFound));
    assert_eq!(group.leave_static("a", "i", -2), Err(ErrorCode::GroupIdNotFound));
    assert_eq!(group.join("a", &["t"]), Ok(1));
    assert_eq!(group.beat("b", 1), Err(ErrorCode::UnknownMemberId));
}

#[test]
fn a_static_member_is_known_by_both_of_its_ids() {
    let mut group = Group::new(Rules::kafka_4_4());
    assert_eq!(group.join_static("a", "i", &["t"]), Ok(1));
    let by = |member: &str, instance: &str, epoch| HeartbeatRequest {
        instance_id: Some(instance.into()),
        ..HeartbeatRequest::new("g", member, epoch)
    };
    assert_eq!(group.heartbeat(by("a", "j", 1)), Err(ErrorCode::UnknownMemberId));
    assert_eq!(group.heartbeat(by("b", "i", 1)), Err(ErrorCode::FencedInstanceId));
    assert_eq!(group.heartbeat(by("a", "i", 2)), Err(ErrorCode::FencedMemberEpoch));
    assert_eq!(group.heartbeat(by("a", "i", 1)).map(|response| group.as_written(response.member_epoch)), Ok(1));
    // H5: not even the same member is excepted.
    assert_eq!(group.join_static("a", "i", &["t"]), Err(ErrorCode::UnreleasedInstanceId));
}

// 2.3

#[test]
fn the_epoch_check_row_by_row() {
    let rules = Rules::kafka_4_4();
    let at_5 = CurrentAssignment {
        previous_member_epoch: Epoch(3),
        ..member(MemberState::Unrevoked, 5, &[("t-0", 3)], &[("t-1", 3)])
    };
    let check = |received, owned: Option<&[&str]>| {
        let owned = owned.map(set);
        epoch_check(&rules, Epoch(received), &at_5, owned.as_ref())
    };
    assert_eq!(check(0, None), Ok(()), "row 1");
    assert_eq!(check(6, Some(&[])), FENCED, "row 2");
    assert_eq!(check(5, None), Ok(()), "row 3");
    assert_eq!(check(3, Some(&["t-0"])), Ok(()), "row 4");
    assert_eq!(check(3, Some(&[])), Ok(()), "row 4");
    assert_eq!(check(3, None), FENCED, "row 4: nothing reported");
    assert_eq!(check(3, Some(&["t-0", "t-1"])), FENCED, "row 4: pending does not count");
    assert_eq!(check(3, Some(&["t-2"])), FENCED, "row 4: not assigned");
    assert_eq!(check(4, Some(&["t-0"])), FENCED, "row 4: not the previous epoch");
    assert_eq!(epoch_check(&Rules::kafka_4_1(), Epoch(0), &at_5, Some(&set(&[]))), FENCED, "before 4.2");
}

#[test]
fn a_fenced_member_may_join_again_since_4_2_alone() {
    for (rules, expected) in [
        (Rules::kafka_4_1(), Err(ErrorCode::FencedMemberEpoch)),
        (Rules::kafka_4_2(), Ok(3)),
        (Rules::kafka_4_4(), Ok(3)),
    ] {
        let mut group = Group::two(rules);
        group.target(&[("a", &["t-0", "t-1"])]);
        group.beat("a", 2).expect("a moves on");
        assert_eq!(group.beat("a", 1), Err(ErrorCode::FencedMemberEpoch));
        assert_eq!(group.join("a", &["t"]), expected);
    }
}

// 2.5

struct Case<'a> {
    member: CurrentAssignment,
    target_epoch: i32,
    target: &'a [&'a str],
    owned: Option<&'a [&'a str]>,
    taken: &'a [&'a str],
    subscription: Subscription,
    subscribed: &'a [&'a str],
}

impl Case<'_> {
    fn with<R>(&self, decide: impl FnOnce(&Inputs<'_>) -> R) -> R {
        let (target, owned, taken) = (set(self.target), self.owned.map(set), set(self.taken));
        let inputs = Inputs {
            target_epoch: Epoch(self.target_epoch),
            target: &target,
            owned: owned.as_ref(),
            is_free: &|partition| !taken.contains(&partition),
            is_subscribed: &|topic| self.subscribed.contains(&if topic == T { "t" } else { "u" }),
            subscription: self.subscription,
        };
        decide(&inputs)
    }

    fn reconcile(&self, rules: &Rules) -> Result<CurrentAssignment, ErrorCode> {
        self.with(|inputs| reconcile(rules, &self.member, inputs))
    }
}

fn stable<'a>(epoch: i32, assigned: &[(&str, i32)], target_epoch: i32, target: &'a [&'a str]) -> Case<'a> {
    Case {
        member: member(MemberState::Stable, epoch, assigned, &[]),
        target_epoch,
        target,
        owned: None,
        taken: &[],
        subscription: Subscription::Unchanged,
        subscribed: &["t", "u"],
    }
}

#[test]
fn next_gives_what_is_free_and_waits_for_the_rest() {
    let rules = Rules::kafka_4_4();
    let case = Case { taken: &["t-0", "t-2"], ..stable(4, &[("t-0", 3)], 6, &["t-0", "t-1", "t-2"]) };
    let after = case.reconcile(&rules).expect("not fenced");
    assert_eq!(
        (after.state, after.member_epoch, after.previous_member_epoch),
        (MemberState::Unreleased, Epoch(6), Epoch(4))
    );
    assert_eq!(after.assigned, epochs(&[("t-0", 3), ("t-1", 6)]), "kept at its epoch, given at the target's");

    let waiting = Case {
        member: CurrentAssignment { state: MemberState::Unreleased, ..after },
        taken: &[],
        ..stable(6, &[], 6, &["t-0", "t-1", "t-2"])
    };
    let after = waiting.reconcile(&rules).expect("not fenced");
    assert_eq!(
        (after.state, after.member_epoch, after.previous_member_epoch),
        (MemberState::Stable, Epoch(6), Epoch(6))
    );
    assert_eq!(after.assigned, epochs(&[("t-0", 3), ("t-1", 6), ("t-2", 6)]));
}

#[test]
fn next_asks_back_first_and_gives_nothing_meanwhile() {
    let rules = Rules::kafka_4_4();
    let case = stable(4, &[("t-0", 3), ("t-1", 4)], 6, &["t-0", "t-2"]);
    let after = case.reconcile(&rules).expect("not fenced");
    assert_eq!((after.state, after.member_epoch), (MemberState::Unrevoked, Epoch(4)));
    assert_eq!((after.assigned, after.pending_revocation), (epochs(&[("t-0", 3)]), epochs(&[("t-1", 4)])));

    let does_not_have_it = Case { owned: Some(&["t-0"]), ..stable(4, &[("t-0", 3), ("t-1", 4)], 6, &["t-0", "t-2"]) };
    let after = does_not_have_it.reconcile(&rules).expect("not fenced");
    assert_eq!((after.state, after.assigned), (MemberState::Stable, epochs(&[("t-0", 3), ("t-2", 6)])));
}

#[test]
fn a_revocation_blocks_until_it_is_acknowledged() {
    let rules = Rules::kafka_4_4();
    let revoking = |owned| Case {
        member: member(MemberState::Unrevoked, 4, &[("t-0", 3)], &[("t-1", 4)]),
        owned,
        ..stable(0, &[], 9, &["t-1"])
    };
    for owned in [None, Some(&["t-0", "t-1"][..]), Some(&["t-1"])] {
        let case = revoking(owned);
        assert_eq!(case.reconcile(&rules), Ok(case.member.clone()), "ignores a newer target");
    }
    // Acknowledged: t-0 is asked for next, at the same epoch, or at the one after it before 4.2.
    let case = revoking(Some(&["t-0"]));
    assert_eq!(
        case.reconcile(&rules).map(|after| (after.state, after.member_epoch)),
        Ok((MemberState::Unrevoked, Epoch(4)))
    );
    let bumped = Rules { unrevoked_exit: UnrevokedExit::EpochBumped, ..rules.clone() };
    assert_eq!(case.reconcile(&bumped).map(|after| after.member_epoch), Ok(Epoch(5)));
    // Acknowledged, and t-1 comes back at a new assignment epoch.
    let after = revoking(Some(&[])).reconcile(&rules).expect("not fenced");
    assert_eq!((after.state, after.assigned), (MemberState::Stable, epochs(&[("t-1", 9)])));
}

#[test]
fn strip_asks_back_what_is_not_subscribed_to_any_more() {
    let rules = Rules::kafka_4_4();
    let case = Case {
        subscription: Subscription::Changed,
        subscribed: &["u"],
        ..stable(4, &[("t-0", 3), ("u-0", 4)], 4, &["t-0", "u-0"])
    };
    let after = case.with(|inputs| strip(&rules, &case.member, inputs));
    assert_eq!(case.reconcile(&rules), Ok(after.clone()));
    assert_eq!(
        (after.state, after.member_epoch, after.previous_member_epoch),
        (MemberState::Unrevoked, Epoch(4), Epoch(4))
    );
    assert_eq!((after.assigned, after.pending_revocation), (epochs(&[("u-0", 4)]), epochs(&[("t-0", 3)])));

    let gone = Case { owned: Some(&["u-0"]), ..case };
    let after = gone.reconcile(&rules).expect("not fenced");
    assert_eq!((after.state, after.assigned.len(), after.pending_revocation.len()), (MemberState::Stable, 1, 0));
    assert_eq!(gone.reconcile(&Rules::kafka_4_1()), Ok(gone.member.clone()), "not before 4.2");

    let all_subscribed = Case { subscribed: &["t", "u"], ..gone };
    assert_eq!(all_subscribed.reconcile(&rules), Ok(all_subscribed.member.clone()), "nothing to strip");
}

#[test]
fn strip_leaves_the_previous_epoch_alone_before_4_3() {
    let case = Case {
        subscription: Subscription::Changed,
        subscribed: &["u"],
        ..stable(4, &[("t-0", 3), ("u-0", 4)], 4, &["t-0", "u-0"])
    };
    let previous = |rules: &Rules| case.with(|inputs| strip(rules, &case.member, inputs)).previous_member_epoch;
    assert_eq!(case.member.previous_member_epoch, Epoch(3));
    assert_eq!(previous(&Rules::kafka_4_2()), Epoch(3));
    assert_eq!(previous(&Rules::kafka_4_3()), Epoch(4));
}

#[test]
fn an_unknown_state_is_left_with_nothing_owned_alone() {
    let rules = Rules::kafka_4_4();
    let unknown = |owned| Case {
        member: member(MemberState::Unknown, 4, &[("t-0", 3)], &[]),
        owned,
        ..stable(0, &[], 6, &["t-0"])
    };
    assert_eq!(unknown(None).reconcile(&rules), Err(ErrorCode::FencedMemberEpoch));
    assert_eq!(unknown(Some(&["t-0"])).reconcile(&rules), Err(ErrorCode::FencedMemberEpoch));
    let after = unknown(Some(&[])).reconcile(&rules).expect("not fenced");
    let case = unknown(Some(&[]));
    assert_eq!(after, case.with(|inputs| next(&rules, &case.member, Epoch(6), inputs)));
    assert_eq!((after.state, after.member_epoch), (MemberState::Stable, Epoch(6)));
}

// 3.3

/// The answer for one partition of a commit.
fn decide(
    rules: &Rules,
    empty: bool,
    member: Option<CommitMember<'_>>,
    call: &CommitCall<'_>,
    p: &str,
) -> Result<(), ErrorCode> {
    commit_check(rules, empty, member, call).and_then(|validator| validator.check(tp(p)))
}

#[test]
fn the_commit_check_row_by_row() {
    let (assigned, pending) = (epochs(&[("t-0", 3), ("t-1", 5)]), epochs(&[("t-2", 4)]));
    let consumer = CommitMember {
        member_epoch: Epoch(7),
        protocol: Protocol::Consumer,
        assigned: &assigned,
        pending_revocation: &pending,
        revocation_epoch: None,
    };
    let classic = CommitMember { protocol: Protocol::Classic, ..consumer };
    let (a, nobody) = (MemberId::from("a"), MemberId::from(""));
    let call = |epoch| CommitCall {
        member_id: &a,
        instance_id: None,
        epoch: Epoch(epoch),
        transactional: false,
        api_version: 9,
    };
    let anonymous = CommitCall { member_id: &nobody, ..call(-1) };
    let (strict, kip, owned) = (Rules::kafka_4_2(), Rules::kafka_4_4(), Rules::assignment_epoch_owned());

    for rules in [&strict, &kip, &owned] {
        assert_eq!(decide(rules, true, None, &anonymous, "t-0"), Ok(()), "row 1");
        assert_eq!(
            decide(rules, false, None, &anonymous, "t-0"),
            Err(ErrorCode::UnknownMemberId),
            "row 1 with members"
        );
        let txn = CommitCall { transactional: true, ..anonymous };
        assert_eq!(decide(rules, false, None, &txn, "t-0"), Ok(()), "row 2");
        assert_eq!(decide(rules, false, None, &call(7), "t-0"), Err(ErrorCode::UnknownMemberId), "row 3");
        let old = CommitCall { api_version: 8, ..call(7) };
        assert_eq!(decide(rules, false, Some(consumer), &old, "t-0"), Err(ErrorCode::UnsupportedVersion), "row 4");
        assert_eq!(decide(rules, false, Some(classic), &old, "t-0"), Ok(()), "row 4 for classic members");
        let old_txn = CommitCall { transactional: true, ..old };
        assert_eq!(decide(rules, false, Some(consumer), &old_txn, "t-0"), Ok(()), "row 4 for transactions");
        assert_eq!(decide(rules, false, Some(consumer), &call(7), "t-0"), Ok(()), "row 5");
        assert_eq!(decide(rules, false, Some(consumer), &call(8), "t-0"), Err(STALE), "row 6");
        assert_eq!(decide(rules, false, Some(classic), &call(8), "t-0"), Err(ErrorCode::IllegalGeneration), "row 6");
    }
    assert_eq!(decide(&strict, false, Some(consumer), &call(7), "t-3"), Ok(()), "row 5: not assigned");
    assert_eq!(decide(&kip, false, Some(consumer), &call(7), "t-3"), Ok(()), "row 5: not assigned");
    assert_eq!(decide(&owned, false, Some(consumer), &call(7), "t-3"), Err(STALE), "row 5 with ownership");
    assert_eq!(decide(&strict, false, Some(consumer), &call(6), "t-0"), Err(STALE), "row 7 before KIP-1251");
    for rules in [&kip, &owned] {
        let answers =
            |epoch| ["t-0", "t-1", "t-2", "t-3"].map(|p| decide(rules, false, Some(consumer), &call(epoch), p));
        assert_eq!(answers(6), [Ok(()), Ok(()), Ok(()), Err(STALE)], "row 7");
        assert_eq!(answers(4), [Ok(()), Err(STALE), Ok(()), Err(STALE)], "row 7");
        assert_eq!(answers(2), [Err(STALE); 4], "row 7");
        let generation = decide(rules, false, Some(classic), &call(2), "t-0");
        assert_eq!(generation, Err(ErrorCode::IllegalGeneration), "row 7 for classic members");
    }
}

#[test]
fn a_revocation_epoch_accepts_what_is_after_it_and_is_strict_where_it_is_not_known() {
    let (assigned, pending) = (epochs(&[("t-0", 3)]), epochs(&[]));
    let member = |revocation_epoch| CommitMember {
        member_epoch: Epoch(7),
        protocol: Protocol::Consumer,
        assigned: &assigned,
        pending_revocation: &pending,
        revocation_epoch,
    };
    let a = MemberId::from("a");
    let call = |epoch| CommitCall {
        member_id: &a,
        instance_id: None,
        epoch: Epoch(epoch),
        transactional: false,
        api_version: 9,
    };
    let rules = Rules::revocation_epoch_bumped();
    let decided = |known, epoch| decide(&rules, false, Some(member(known)), &call(epoch), "t-0");
    assert_eq!(decided(Some(Epoch(4)), 5), Ok(()));
    assert_eq!(decided(Some(Epoch(4)), 4), Err(STALE));
    assert_eq!(decided(None, 6), Err(STALE));
    assert_eq!(decided(None, 7), Ok(()));
}

// 1.1, 2.7, 2.8

#[test]
fn a_group_goes_through_its_states() {
    let mut group = Group::two(Rules::kafka_4_4());
    let state = |group: &Group| group.describe().map(|description| description.state);
    assert_eq!(state(&group), Some(GroupState::Stable));
    group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
    group.beat("a", 2).expect("a is asked for t-1");
    assert_eq!(state(&group), Some(GroupState::Reconciling));
    group.leave("b").expect("b leaves");
    assert_eq!(state(&group), Some(GroupState::Assigning));
    group.leave("a").expect("a leaves");
    assert_eq!(state(&group), Some(GroupState::Empty));
}

#[test]
fn two_targets_before_a_heartbeat_are_one_bump_and_so_is_a_target_with_a_changed_subscription() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"])]);
    group.target(&[("a", &["t-0", "t-1"])]);
    assert_eq!(group.beat("b", 1), Err(ErrorCode::FencedMemberEpoch), "a refused heartbeat takes no note of it");
    assert_eq!(group.group_epoch(), 2);
    assert_eq!(group.subscribing("a", 2, &["t", "u"], &["t-0", "t-1"]).map(|(epoch, _)| epoch), Ok(3));
    assert_eq!((group.group_epoch(), group.assigned("a")), (3, at(&[("t-0", 2), ("t-1", 2)])));
}

#[test]
fn a_member_that_comes_back_gets_fresh_assignment_epochs() {
    let mut group = Group::two(Rules::kafka_4_4());
    group.leave("a").expect("a leaves");
    assert_eq!(group.join("a", &["t"]), Ok(4));
    assert_eq!(group.assigned("a"), at(&[("t-0", 4), ("t-1", 4)]));
    assert_eq!(group.commit("a", 2, &[("t-0", 5)]), Err(STALE));
}

#[test]
fn a_full_group_takes_a_static_member_back_since_4_4_alone() {
    let comes_back = |rules| {
        let mut group = Group::configured(rules, Config { max_group_size: 1, ..Config::default() });
        group.target(&[("a", &["t-0"])]);
        group.join_static("a", "i", &["t"]).expect("there is room for one");
        group.leave_static("a", "i", -2).expect("a leaves for a while");
        group.join_static("b", "i", &["t"])
    };
    for rules in [Rules::kafka_4_1(), Rules::kafka_4_2(), Rules::kafka_4_3()] {
        assert_eq!(comes_back(rules), Err(ErrorCode::GroupMaxSizeReached));
    }
    assert_eq!(comes_back(Rules::kafka_4_4()), Ok(1));
}

#[test]
fn a_static_member_keeps_its_partitions_over_a_restart_without_a_new_epoch() {
    let mut group = Group::new(Rules::kafka_4_4());
    group.target(&[("a", &["t-0"]), ("b", &["t-0"])]);
    assert_eq!(group.join_static("a", "i", &["t"]), Ok(1));
    assert_eq!(group.leave_static("a", "i", -2), Ok(()));
    assert_eq!(group.commit("a", 1, &[("t-0", 5)]), Err(STALE), "every epoch is newer than -2");
    assert_eq!(group.join_static("b", "i", &["t"]), Ok(1));
    assert_eq!((group.group_epoch(), group.assigned("b")), (1, at(&[("t-0", 0)])));
    assert_eq!(group.commit("a", 1, &[("t-0", 5)]), Err(ErrorCode::UnknownMemberId));
    assert_eq!(group.commit("b", 1, &[("t-0", 5)]), Ok(()));
}

#[test]
fn the_default_assignor_shares_out_as_members_come() {
    let mut group = Group::new(Rules::kafka_4_4());
    assert_eq!(group.join("a", &["t"]), Ok(1));
    assert_eq!(group.assigned("a").len(), 4);
    assert_eq!(group.join("b", &["t"]), Ok(2));
    assert_eq!(group.state("b"), MemberState::Unreleased);
    group.beat("a", 1).expect("a is asked for two");
    let kept: BTreeSet<TopicPartition> = group.assigned("a").into_keys().collect();
    assert_eq!(kept, set(&["t-0", "t-1"]));
    group.owning("a", 1, &["t-0", "t-1"]).expect("a acknowledges");
    group.beat("b", 2).expect("b is given two");
    assert_eq!(group.assigned("b"), at(&[("t-2", 2), ("t-3", 2)]));
}
