//! Reading committed offsets (docs/fencing.md 3.6; Kafka `OffsetMetadataManager#fetchOffsets`).
//!
//! The epoch of a fetch has to be the member epoch; KIP-1251 did not relax that.

use crate::coordinator::commit_check::Protocol;
use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::ConsumerGroup;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::Epoch;
use crate::coordinator::request::{FetchResponse, FetchedOffset, NamedPartition, OffsetFetchRequest};
use crate::coordinator::rules::Rules;
use crate::coordinator::state::State;

/// Answers a fetch from this state: the latest one for a stable fetch, what is replicated for another.
pub(crate) fn fetch(rules: &Rules, state: &State, request: &OffsetFetchRequest) -> Result<FetchResponse, ErrorCode> {
    // A group that does not exist has no offsets, and one without members checks nobody; neither is an error.
    if let Some(group) = state.groups.get(&request.group_id) {
        check(rules, group, request)?;
    }
    let all: Vec<NamedPartition>;
    let partitions = if let Some(partitions) = &request.partitions {
        partitions
    } else {
        all = state.offsets.committed(&request.group_id).map(|(partition, _)| partition.clone()).collect();
        &all
    };
    Ok(FetchResponse { partitions: partitions.iter().map(|partition| one(rules, state, request, partition)).collect() })
}

fn check(rules: &Rules, group: &ConsumerGroup, request: &OffsetFetchRequest) -> Result<(), ErrorCode> {
    let epoch = request.member_epoch;
    if request.member_id.is_none() && epoch < Epoch::JOIN {
        return Ok(());
    }
    let Some(member) = request.member_id.as_ref().and_then(|id| group.members.get(id)) else {
        let passes = rules.slips(Mutation::FetchAcceptsUnknownMember);
        return if passes { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
    };
    let older_passes = rules.slips(Mutation::FetchUnchecked) && epoch < member.member_epoch();
    if epoch == member.member_epoch() || older_passes || rules.slips(Mutation::FetchNotFenced) {
        return Ok(());
    }
    Err(match member.protocol() {
        Protocol::Consumer => ErrorCode::StaleMemberEpoch,
        Protocol::Classic => ErrorCode::IllegalGeneration,
    })
}

fn one(rules: &Rules, state: &State, request: &OffsetFetchRequest, partition: &NamedPartition) -> FetchedOffset {
    let none = FetchedOffset {
        partition: partition.clone(),
        offset: -1,
        leader_epoch: -1,
        metadata: String::new(),
        error: ErrorCode::None,
    };
    let unstable = request.require_stable && state.offsets.is_pending(&request.group_id, partition);
    if unstable && !rules.slips(Mutation::UnstableOffsetAnswered) {
        return FetchedOffset { error: ErrorCode::UnstableOffsetCommit, ..none };
    }
    match state.offsets.committed_at(&request.group_id, partition) {
        Some(stored) => FetchedOffset {
            offset: stored.value.offset,
            leader_epoch: stored.value.leader_epoch,
            metadata: stored.value.metadata.clone(),
            ..none
        },
        None => none,
    }
}
