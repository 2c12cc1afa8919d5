//! Docs/fencing.md 2.6 to 2.9 and 2.11.

use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::timers::{TimerEffect, TimerKind};
use fencepost_reference::coordinator::{ErrorCode, Mutation, Rules};

use crate::Claim;
use crate::group::{Group, at, tp};

#[allow(clippy::too_many_lines, reason = "a table: a claim for each slip")]
pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::LeaveKeepsPending => |rules| {
            let mut group = static_member(rules);
            group.target(&[("a", &["t-0"])]);
            group.beat_static("a", "i", 1);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.pending("a").is_empty() && group.state("a") == MemberState::Unrevoked
        },
        Mutation::StaticLeaveKeepsAssignmentEpochs => |rules| {
            let mut group = static_member(rules);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.epoch("a") == -2 && group.assigned("a") == at(&[("t-0", 0), ("t-1", 0)])
        },
        Mutation::LeaveIgnoresMemberId => |rules| {
            let mut group = static_member(rules);
            group.leave_static("b", "i", -1) == Err(ErrorCode::FencedInstanceId) && group.has_member("a")
        },
        Mutation::ReplacedMemberStays => |rules| {
            let mut group = static_member(rules);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.join_static("b", "i", &["t"]).expect("b takes its place");
            !group.has_member("a") && group.beat("a", 1) == Err(ErrorCode::UnknownMemberId)
        },
        Mutation::ReplacedMemberAccepted => |rules| {
            let mut group = static_member(rules);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.join_static("b", "i", &["t"]).expect("b takes its place");
            group.commit("a", 1, &[("t-0", 5)]) == Err(ErrorCode::UnknownMemberId)
        },
        Mutation::ReplacementForgetsAssignment => |rules| {
            let mut group = static_member(rules);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.join_static("b", "i", &["t"]).expect("b takes its place");
            group.epoch("b") == 1 && group.assigned("b") == at(&[("t-0", 0), ("t-1", 0)])
        },
        Mutation::RemovalWithoutBump => |rules| {
            let mut group = Group::two(rules);
            group.leave("b").is_ok() && group.group_epoch() == 3
        },
        Mutation::EmptyGroupLags => |rules| {
            let mut group = Group::two(rules);
            group.leave("a").expect("a leaves");
            group.leave("b").expect("b leaves");
            (group.group_epoch(), group.assignment_epoch()) == (4, 4)
        },
        // KAFKA-20747, crabka #534: whoever joins under the old instance id is a new member.
        Mutation::StaleInstanceMappingKept => |rules| {
            let mut group = Group::new(rules);
            group.join_static("a", "i", &["t"]).expect("a joins");
            group.join_static("a", "j", &["t"]).expect("a comes with another instance id");
            group.join_static("b", "i", &["t"]).is_ok() && group.has_member("a")
        },
        Mutation::SessionNotRestarted => |rules| {
            let mut group = Group::new(rules);
            group.join("a", &["t"]).expect("a joins");
            group.coordinator.advance(30_000);
            group.beat("a", 1).expect("a heartbeats");
            group.coordinator.advance(60_000).is_empty() && group.has_member("a")
        },
        Mutation::RebalanceTimerIgnoresEpoch => |rules| {
            // The timer is left running by a static leave, which does not touch timers.
            let mut group = static_member(rules);
            group.target(&[("a", &["t-0"])]);
            group.beat_static("a", "i", 1);
            group.leave_static("a", "i", -2).expect("a leaves for a while");
            group.fire(TimerKind::Rebalance, "a") == Some(TimerEffect::Nothing) && group.has_member("a")
        },
        Mutation::RebalanceTimerRestarted => |rules| {
            let mut group = revoking(rules);
            for now_ms in (40_000..=280_000).step_by(40_000) {
                group.coordinator.advance(now_ms);
                group.beat("a", 2).expect("a heartbeats and does not acknowledge");
            }
            group.coordinator.advance(300_002);
            !group.has_member("a")
        },
        Mutation::RebalanceTimerNotCancelled => |rules| {
            let mut group = revoking(rules);
            group.owning("a", 2, &["t-0"]).expect("a acknowledges");
            group.fire(TimerKind::Rebalance, "a").is_none()
        },
        Mutation::TimersNotArmed => |rules| {
            let mut group = revoking(rules);
            group.fail_over();
            let rebalances = group.fire(TimerKind::Rebalance, "a") == Some(TimerEffect::Removed);
            group.coordinator.advance(45_002);
            rebalances && !group.has_member("b")
        },
        // KAFKA-20431.
        Mutation::PendingNotDescribed => |rules| revoking(rules).pending("a") == at(&[("t-1", 2)]),
        Mutation::GenerationNotChecked => |rules| {
            let mut group = classic(rules);
            group.beat_classic("c", 1) == Err(ErrorCode::IllegalGeneration)
                && group.sync("c", 3) == Err(ErrorCode::IllegalGeneration)
        },
        Mutation::ClassicMemberNotRebalanced => |rules| {
            let mut group = classic(rules);
            let before = group.sync("c", 2) == Ok([tp("t-1")].into());
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).expect("a computes the target");
            before && group.sync("c", 2) == Err(ErrorCode::RebalanceInProgress)
        },
        _ => return None,
    })
}

impl Group {
    fn beat_static(&mut self, member: &str, instance: &str, epoch: i32) {
        let request = fencepost_reference::coordinator::request::HeartbeatRequest::new("g", member, epoch);
        let request = fencepost_reference::coordinator::request::HeartbeatRequest {
            instance_id: Some(instance.into()),
            ..request
        };
        self.heartbeat(request).expect("the heartbeat is accepted");
    }
}

/// a, with instance id i, has t-0 and t-1 at epoch 1.
fn static_member(rules: Rules) -> Group {
    let mut group = Group::new(rules);
    group.target(&[("a", &["t-0", "t-1"]), ("b", &["t-0", "t-1"])]);
    group.join_static("a", "i", &["t"]).expect("a joins");
    assert_eq!(group.assigned("a"), at(&[("t-0", 1), ("t-1", 1)]));
    group
}

/// a was asked for t-1, which b shall have and waits for at 3.
fn revoking(rules: Rules) -> Group {
    let mut group = Group::two(rules);
    group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
    group.beat("a", 2).expect("a is asked for t-1");
    group.beat("b", 2).expect("b waits for t-1");
    group
}

/// A consumer member a with t-0 and a classic member c with t-1, both at epoch 2.
fn classic(rules: Rules) -> Group {
    let mut group = Group::new(rules);
    group.target(&[("a", &["t-0"]), ("c", &["t-1"])]);
    group.join("a", &["t"]).expect("a joins");
    assert_eq!(group.join_classic("c", &["t"]), Ok(2));
    assert_eq!(group.beat("a", 1).map(|(epoch, _)| epoch), Ok(2));
    group
}
