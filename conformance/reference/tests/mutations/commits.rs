//! Docs/fencing.md 3.2 and 3.3.

use fencepost_reference::coordinator::request::{CommitPartition, OffsetCommitRequest};
use fencepost_reference::coordinator::{ErrorCode, Mutation, Rules};

use crate::Claim;
use crate::group::{Group, at, named};

const STALE: ErrorCode = ErrorCode::StaleMemberEpoch;

pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        Mutation::CommitCreatesGroup => {
            |rules| Group::new(rules).commit("a", 1, &[("t-0", 5)]) == Err(ErrorCode::GroupIdNotFound)
        }
        Mutation::MetadataLimitIgnored => |rules| {
            let mut group = Group::two(rules);
            let answer = group.commit_request(one_too_long());
            answer == Ok(vec![ErrorCode::None, ErrorCode::OffsetMetadataTooLarge]) && group.stored("t-1") == -1
        },
        // KAFKA-16371.
        Mutation::OversizedMetadataLeavesPending => |rules| {
            let mut group = Group::two(rules);
            group.commit_request(one_too_long()).is_ok() && group.fetch("a", 2, "t-1") == Ok(-1)
        },
        Mutation::CommitFencedByPartition => |rules| {
            let mut group = moved_on(rules);
            group.commit("a", 2, &[("t-0", 5), ("t-3", 5)]) == Err(STALE) && group.stored("t-0") == -1
        },
        // t-0 is accepted before t-3 is looked at.
        Mutation::PartialCommit => |rules| {
            let mut group = moved_on(rules);
            group.commit("a", 2, &[("t-0", 5), ("t-3", 5)]) == Err(STALE) && group.stored("t-0") == -1
        },
        Mutation::LeaderEpochLost => |rules| {
            let mut group = Group::two(rules);
            let partition = CommitPartition { leader_epoch: 7, ..CommitPartition::new("t", 0, 5) };
            group.commit_request(OffsetCommitRequest::new("g", "a", 2, vec![partition])).expect("a commits");
            group.fail_over();
            group.describe().is_some_and(|d| d.offsets[&named("t-0")].leader_epoch == 7)
        },
        Mutation::AnonymousCommitAccepted => {
            |rules| Group::two(rules).commit("", -1, &[("t-0", 5)]) == Err(ErrorCode::UnknownMemberId)
        }
        Mutation::TransactionNeedsMember => |rules| Group::two(rules).txn_commit(9, "", -1, &[("t-0", 5)]).is_ok(),
        Mutation::UnknownMemberAccepted => {
            |rules| Group::two(rules).commit("x", 2, &[("t-0", 5)]) == Err(ErrorCode::UnknownMemberId)
        }
        Mutation::CommitVersionNotChecked => |rules| {
            let request = OffsetCommitRequest::new("g", "a", 2, vec![CommitPartition::new("t", 0, 5)]);
            Group::two(rules).commit_request(OffsetCommitRequest { api_version: 8, ..request })
                == Err(ErrorCode::UnsupportedVersion)
        },
        Mutation::CommitFastPath => |rules| Group::two(rules).commit("a", 2, &[("t-3", 5)]) == Err(STALE),
        Mutation::NewerEpochAccepted => |rules| Group::two(rules).commit("a", 3, &[("t-0", 5)]) == Err(STALE),
        Mutation::CommitRefusesOlderEpoch => |rules| moved_on(rules).commit("a", 2, &[("t-0", 5)]).is_ok(),
        Mutation::OwnershipIgnored => |rules| moved_on(rules).commit("a", 2, &[("t-3", 5)]) == Err(STALE),
        // KAFKA-20066, the last step: t-1 was away and came back.
        Mutation::AssignmentEpochIgnored => |rules| moved_on(rules).commit("a", 1, &[("t-0", 5)]) == Err(STALE),
        Mutation::FirstEpochRefused => |rules| {
            let mut group = moved_on(rules);
            group.assigned("a") == at(&[("t-0", 2), ("t-1", 2)]) && group.commit("a", 2, &[("t-0", 5)]).is_ok()
        },
        Mutation::PendingRefused => |rules| {
            let mut group = moved_on(rules);
            group.target(&[("a", &["t-0"])]);
            group.beat("a", 3).expect("a is asked for t-1");
            group.commit("a", 2, &[("t-1", 5)]).is_ok()
        },
        Mutation::ClassicCommitStale => |rules| {
            let mut group = Group::two(rules);
            group.join_classic("c", &["t"]).expect("c joins");
            group.commit("c", 9, &[("t-0", 5)]) == Err(ErrorCode::IllegalGeneration)
        },
        _ => return None,
    })
}

fn one_too_long() -> OffsetCommitRequest {
    let long = CommitPartition { metadata: Some("x".repeat(4097)), ..CommitPartition::new("t", 1, 7) };
    OffsetCommitRequest::new("g", "a", 2, vec![CommitPartition::new("t", 0, 5), long])
}

/// a is at 3 and has t-0 and t-1 since 2.
fn moved_on(rules: Rules) -> Group {
    let mut group = Group::two(rules);
    group.target(&[("a", &["t-0", "t-1"])]);
    assert_eq!(group.beat("a", 2), Ok((3, None)));
    group
}
