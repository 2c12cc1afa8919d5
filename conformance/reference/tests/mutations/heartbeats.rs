//! Docs/fencing.md 2.1 to 2.4.

use std::collections::BTreeSet;

use fencepost_reference::coordinator::request::HeartbeatRequest;
use fencepost_reference::coordinator::{Config, ErrorCode, Mutation};

use crate::Claim;
use crate::group::{Group, at, set, tp};

const FENCED: ErrorCode = ErrorCode::FencedMemberEpoch;

pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::RequestsNotValidated => |rules| {
            let mut group = Group::new(rules);
            let owning = HeartbeatRequest { owned: Some(set(&["t-0"])), ..HeartbeatRequest::join("g", "a", &["t"]) };
            group.heartbeat(owning) == Err(ErrorCode::InvalidRequest)
        },
        Mutation::GroupSizeUnlimited => |rules| {
            let mut group = Group::configured(rules, Config { max_group_size: 1, ..Config::default() });
            group.join("a", &["t"]).is_ok() && group.join("b", &["t"]) == Err(ErrorCode::GroupMaxSizeReached)
        },
        Mutation::InstanceIdNeverUnreleased => |rules| {
            let mut group = Group::new(rules);
            group.join_static("a", "i", &["t"]).is_ok()
                && group.join_static("b", "i", &["t"]) == Err(ErrorCode::UnreleasedInstanceId)
        },
        Mutation::InstanceIdNotFenced => |rules| {
            let mut group = Group::new(rules);
            group.join_static("a", "i", &["t"]).expect("a joins");
            group.join_static("b", "j", &["t"]).expect("b joins");
            let as_other = HeartbeatRequest { instance_id: Some("i".into()), ..HeartbeatRequest::new("g", "b", 2) };
            group.heartbeat(as_other) == Err(ErrorCode::FencedInstanceId)
        },
        Mutation::RejoinFenced => |rules| moved_on(rules).join("a", &["t"]) == Ok(3),
        Mutation::NewerHeartbeatAccepted => |rules| Group::two(rules).beat("a", 3) == Err(FENCED),
        Mutation::AnyOlderHeartbeat => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).expect("a moves to 3");
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 3).expect("a moves to 4");
            group.owning("a", 2, &["t-0"]) == Err(FENCED)
        },
        Mutation::EpochCheckIgnoresOwned => |rules| {
            let mut group = moved_on(rules);
            group.owning("a", 2, &["t-0", "t-3"]) == Err(FENCED) && group.owning("a", 2, &["t-0"]).is_ok()
        },
        Mutation::EpochCheckAcceptsAbsentOwned => |rules| moved_on(rules).beat("a", 2) == Err(FENCED),
        Mutation::EpochCheckCountsPending => |rules| {
            let mut group = revoking_at_a_new_epoch(&rules);
            group.owning("a", 2, &["t-0"]) == Err(FENCED)
        },
        // S8.
        Mutation::RefusalBumps => |rules| {
            let mut group = Group::two(rules);
            group.beat("a", 3) == Err(FENCED) && group.group_epoch() == 2
        },
        Mutation::RejoinForgetsAssignment => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.join("a", &["t"]).expect("a joins again");
            group.assigned("a") == at(&[("t-0", 2), ("t-1", 2)])
        },
        Mutation::SubscriptionChangeUnnoticed => |rules| {
            let mut group = Group::new(rules);
            group.join("a", &["t"]).expect("a joins");
            group.join("b", &["t"]).is_ok() && group.group_epoch() == 2
        },
        Mutation::TargetNeverRecomputed => |rules| {
            let mut group = Group::new(rules);
            group.join("a", &["t"]).expect("a joins");
            group.target(&[("a", &["t-0"])]);
            group.beat("a", 1).is_ok() && group.assignment_epoch() == 2
        },
        Mutation::AssignmentIntervalIgnored => |rules| {
            let config = Config { assignment_interval_ms: Some(1000), ..Config::default() };
            let mut group = Group::two_configured(rules, config);
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.beat("b", 2).expect("b heartbeats");
            let waited = (group.group_epoch(), group.assignment_epoch()) == (3, 2);
            group.coordinator.advance(group.coordinator.now_ms() + 1000);
            waited && group.beat("b", 2).is_ok() && group.assignment_epoch() == 3
        },
        Mutation::AssignmentNotSent => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0"])]);
            let told: Option<BTreeSet<_>> = group.beat("a", 2).expect("a heartbeats").1;
            told == Some(BTreeSet::from([tp("t-0")]))
        },
        _ => return None,
    })
}

/// a is at 3, with 2 as its previous epoch, and has what it had.
fn moved_on(rules: fencepost_reference::coordinator::Rules) -> Group {
    let mut group = Group::two(rules);
    group.target(&[("a", &["t-0", "t-1"])]);
    assert_eq!(group.beat("a", 2), Ok((3, None)));
    group
}

/// a has t-0 pending at 3 with 2 as its previous epoch: possible where the exit from UNREVOKED bumps.
fn revoking_at_a_new_epoch(rules: &fencepost_reference::coordinator::Rules) -> Group {
    let bumped = fencepost_reference::coordinator::Rules {
        unrevoked_exit: fencepost_reference::coordinator::UnrevokedExit::EpochBumped,
        ..rules.clone()
    };
    let mut group = Group::two(bumped);
    group.target(&[("a", &["t-0"])]);
    group.beat("a", 2).expect("a is asked for t-1");
    group.target(&[("a", &[])]);
    group.owning("a", 2, &["t-0"]).expect("a is asked for t-0");
    assert_eq!((group.epoch("a"), group.pending("a")), (3, at(&[("t-0", 2)])));
    group
}
