//! Docs/fencing.md 2.5.

use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::{Epoch, ErrorCode, Mutation, Rules};

use crate::Claim;
use crate::group::{Group, at, set};

pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        // KAFKA-16249: the report that comes with a newer target is not lost.
        Mutation::AcknowledgementMissed => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.beat("a", 2).expect("a is asked for t-1");
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.owning("a", 2, &["t-0"]).expect("a acknowledges");
            group.state("a") == MemberState::Stable && group.epoch("a") == 4
        },
        Mutation::OwnPendingTaken => |rules| {
            let mut group = revoking(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.owning("a", 2, &["t-0"]).expect("a acknowledges");
            group.state("a") == MemberState::Stable && group.assigned("a") == at(&[("t-0", 2), ("t-1", 4)])
        },
        Mutation::UnsubscribedKept => |rules| {
            let mut group = Group::new(rules);
            group.target(&[("a", &["t-0", "u-0"])]);
            group.join("a", &["t", "u"]).expect("a joins");
            // The script still gives u-0 to a, which does not want it any more.
            group.subscribing("a", 1, &["t"], &["t-0", "u-0"]).expect("a changes its subscription");
            !group.assigned("a").contains_key(&crate::group::tp("u-0"))
        },
        Mutation::UnrevokedExitBumpsEpoch => |rules| {
            let mut group = revoking(rules);
            group.target(&[("b", &["t-0", "t-1"])]);
            group.owning("a", 2, &["t-0"]).expect("a is asked for t-0 too");
            group.state("a") == MemberState::Unrevoked && group.epoch("a") == 2
        },
        Mutation::StripKeepsPreviousEpoch => |rules| {
            let config =
                fencepost_reference::coordinator::Config { assignment_interval_ms: Some(1000), ..Default::default() };
            let mut group = Group::configured(rules, config);
            group.target(&[("a", &["t-0", "u-0"])]);
            group.join("a", &["t", "u"]).expect("a joins");
            group.subscribing("a", 1, &["t"], &["t-0", "u-0"]).expect("u-0 is stripped");
            let member = group.member("a");
            member.state == MemberState::Unrevoked && member.previous_member_epoch == member.member_epoch
        },
        // crabka #521.
        Mutation::GrantedAtOnce => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.beat("b", 2) == Ok((3, None)) && !group.shares_a_partition()
        },
        Mutation::PendingIsFree => |rules| {
            let mut group = revoking(rules);
            group.beat("b", 2) == Ok((3, None)) && !group.shares_a_partition()
        },
        Mutation::PendingPartitionRenewed => |rules| revoking(rules).pending("a") == at(&[("t-1", 2)]),
        Mutation::MemberEpochBeforeRevocation => |rules| {
            let group = revoking(rules);
            group.state("a") == MemberState::Unrevoked && group.epoch("a") == 2
        },
        Mutation::AbsentOwnedIsEmpty => |rules| {
            let mut group = revoking(rules);
            group.beat("a", 2) == Ok((2, None)) && group.pending("a") == at(&[("t-1", 2)])
        },
        Mutation::RevokedAtOnce => |rules| {
            let mut group = revoking(rules);
            group.beat("b", 2) == Ok((3, None))
        },
        Mutation::KeptPartitionRenewed => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).is_ok() && group.assigned("a") == at(&[("t-0", 2), ("t-1", 2)])
        },
        Mutation::RegrantKeepsEpoch => |rules| {
            let mut group = revoking(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.owning("a", 2, &["t-0"]).expect("t-1 is given back");
            // S7: released in between, so what was stamped before is refused.
            group.commit("a", 2, &[("t-1", 5)]) == Err(ErrorCode::StaleMemberEpoch)
        },
        Mutation::PreviousEpochNotKept => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).expect("a moves on");
            group.member("a").previous_member_epoch == Epoch(2 + group.shift())
                && group.owning("a", 2, &["t-0", "t-1"]).is_ok()
        },
        _ => return None,
    })
}

/// a was asked for t-1, which b shall have.
fn revoking(rules: Rules) -> Group {
    let mut group = Group::two(rules);
    group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
    assert_eq!(group.beat("a", 2).map(|(_, assignment)| assignment), Ok(Some(set(&["t-0"]))));
    group
}
