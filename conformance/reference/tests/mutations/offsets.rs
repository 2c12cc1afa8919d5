//! Docs/fencing.md 3.4, 3.6 and 4.3.

use fencepost_reference::coordinator::request::{
    CommitPartition, OffsetFetchRequest, TxnOffsetCommitRequest, TxnOutcome,
};
use fencepost_reference::coordinator::{
    Config, Coordinator, ErrorCode, Mutation, ProducerEpoch, Replication, Reply, Request, Response, Rules,
};

use crate::Claim;
use crate::group::{Group, T, named};

pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        // KAFKA-14505.
        Mutation::MarkerWins => |rules| {
            let mut group = Group::two(rules);
            group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
            group.commit("a", 2, &[("t-0", 20)]).expect("a plain commit");
            group.end_txn(9, TxnOutcome::Commit).expect("the marker is written");
            group.stored("t-0") == 20
        },
        Mutation::AbortCommits => |rules| {
            let mut group = Group::two(rules);
            group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
            group.end_txn(9, TxnOutcome::Abort).expect("the marker is written");
            group.stored("t-0") == -1
        },
        Mutation::TxnOffsetsCommittedAtOnce => |rules| {
            let mut group = Group::two(rules);
            group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
            group.stored("t-0") == -1
        },
        // KAFKA-17507: the next transaction's offsets are not touched by the marker of this one.
        Mutation::MarkerAppliedLate => |rules| {
            let mut group = Group::two(rules);
            group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
            group.end_txn(9, TxnOutcome::Commit).expect("the marker is written");
            let applied = group.stored("t-0") == 10;
            group.txn_commit(9, "a", 2, &[("t-0", 11)]).expect("the next transaction");
            applied && group.fetch("a", 2, "t-0") == Err(ErrorCode::UnstableOffsetCommit)
        },
        Mutation::ProducerEpochNotChecked => |rules| {
            let mut group = Group::two(rules);
            let partitions = vec![CommitPartition::new("t", 0, 10)];
            let request = TxnOffsetCommitRequest::new("g", 9, "a", 2, partitions);
            let newer = TxnOffsetCommitRequest { producer_epoch: ProducerEpoch(1), ..request.clone() };
            group.txn_request(newer).is_ok() && group.txn_request(request) == Err(ErrorCode::InvalidProducerEpoch)
        },
        // KAFKA-19163.
        Mutation::ExpiryForgetsTransactions => |rules| {
            let config = Config { offsets_retention_ms: 60, ..Config::default() };
            let mut group = Group::two_configured(rules, config);
            group.commit("a", 2, &[("t-0", 100)]).expect("a commits");
            group.txn_commit(10, "a", 2, &[("t-1", 101)]).expect("the offset is staged");
            group.leave("a").expect("a leaves");
            group.leave("b").expect("b leaves");
            group.coordinator.advance(1000);
            group.coordinator.expire_offsets();
            let expired = group.stored("t-0") == -1;
            let stays = group.group_epoch() == 4;
            group.end_txn(10, TxnOutcome::Commit).expect("the marker is written");
            expired && stays && group.stored("t-1") == 101
        },
        Mutation::FetchNotFenced => |rules| Group::two(rules).fetch("a", 3, "t-0") == Err(ErrorCode::StaleMemberEpoch),
        Mutation::FetchUnchecked => |rules| Group::two(rules).fetch("a", 1, "t-0") == Err(ErrorCode::StaleMemberEpoch),
        Mutation::FetchAcceptsUnknownMember => {
            |rules| Group::two(rules).fetch("x", 2, "t-0") == Err(ErrorCode::UnknownMemberId)
        }
        Mutation::UnstableOffsetAnswered => |rules| {
            let mut group = Group::two(rules);
            group.txn_commit(9, "a", 2, &[("t-0", 10)]).expect("the offset is staged");
            group.fetch("a", 2, "t-0") == Err(ErrorCode::UnstableOffsetCommit)
        },
        Mutation::FetchReadsUnreplicated => |rules| {
            let mut coordinator = held(rules);
            coordinator.handle(&simple_commit(5));
            let unstable = Request::OffsetFetch(OffsetFetchRequest::anonymous("g", Some(vec![named("t-0")])));
            match coordinator.handle(&unstable).reply {
                Reply::Answered(Ok(Response::Fetch(response))) => response.partitions[0].offset == -1,
                _ => false,
            }
        },
        Mutation::AnsweredAboveTheHighWatermark => |rules| {
            let mut coordinator = held(rules);
            let Reply::Waits(ticket) = coordinator.handle(&simple_commit(5)).reply else { return false };
            coordinator.replicate(None).first().is_some_and(|(released, answer)| *released == ticket && answer.is_ok())
        },
        // KAFKA-20634.
        Mutation::HighWatermarkAfterLeadership => |rules| {
            let mut coordinator = held(rules);
            let Reply::Waits(ticket) = coordinator.handle(&simple_commit(100)).reply else { return false };
            coordinator.lose_leadership();
            coordinator.replicate(None) == [(ticket, Err(ErrorCode::NotCoordinator))]
        },
        _ => return None,
    })
}

/// A coordinator whose writes wait.
fn held(rules: Rules) -> Coordinator {
    let mut coordinator = Coordinator::new(rules, Config { replication: Replication::Held, ..Config::default() });
    coordinator.create_topic("t", T, 4);
    coordinator
}

/// A commit by nobody, which a group without members accepts.
fn simple_commit(offset: i64) -> Request {
    let partitions = vec![CommitPartition::new("t", 0, offset)];
    Request::OffsetCommit(fencepost_reference::coordinator::request::OffsetCommitRequest::new("g", "", -1, partitions))
}
