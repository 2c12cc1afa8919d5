//! Offset commits, plain and transactional: the order of checks of docs/fencing.md 3.1, 3.2 and 3.4 (Kafka
//! `OffsetMetadataManager#commitOffset` and `#commitTransactionalOffset`).

use crate::coordinator::commit_check::{CommitCall, CommitMember, CommitValidator, commit_check};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::machine::Config;
use crate::coordinator::mutation::Mutation;
use crate::coordinator::names::{Epoch, GroupId, InstanceId, MemberId, TopicName, TopicPartition};
use crate::coordinator::records::{OffsetCommitKey, OffsetCommitValue, Record};
use crate::coordinator::request::{
    CommitPartition, CommitResponse, NamedPartition, OffsetCommitRequest, TopicRef, TxnOffsetCommitRequest,
};
use crate::coordinator::rules::{Rules, TxnErrors};
use crate::coordinator::state::State;
use crate::coordinator::topics::Topics;

/// A commit of either kind.
pub(crate) struct Commit<'a> {
    group_id: Option<&'a GroupId>,
    member_id: &'a MemberId,
    instance_id: Option<&'a InstanceId>,
    epoch: Epoch,
    transactional: bool,
    api_version: i16,
    partitions: &'a [CommitPartition],
}

impl<'a> From<&'a OffsetCommitRequest> for Commit<'a> {
    fn from(request: &'a OffsetCommitRequest) -> Self {
        Self {
            group_id: request.group_id.as_ref(),
            member_id: &request.member_id,
            instance_id: request.instance_id.as_ref(),
            epoch: request.member_epoch,
            transactional: false,
            api_version: request.api_version,
            partitions: &request.partitions,
        }
    }
}

impl<'a> From<&'a TxnOffsetCommitRequest> for Commit<'a> {
    fn from(request: &'a TxnOffsetCommitRequest) -> Self {
        Self {
            group_id: Some(&request.group_id),
            member_id: &request.member_id,
            instance_id: request.instance_id.as_ref(),
            epoch: request.member_epoch,
            transactional: true,
            api_version: request.api_version,
            partitions: &request.partitions,
        }
    }
}

/// What a commit is decided with.
pub(crate) struct CommitContext<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) config: &'a Config,
    pub(crate) topics: &'a Topics,
    pub(crate) state: &'a State,
    pub(crate) now_ms: i64,
    /// The revocation epoch of a member (rejected alternative 3).
    pub(crate) revocation_epoch: Option<Epoch>,
    /// The slip of 2.7: whether the member was replaced and commits all the same.
    pub(crate) replaced: bool,
}

/// An accepted commit.
#[derive(Default)]
pub(crate) struct CommitDecision {
    pub(crate) records: Vec<Record>,
    /// One a partition of the request.
    pub(crate) partitions: Vec<(TopicRef, i32, ErrorCode)>,
    /// The slip of KAFKA-16371: partitions that were refused and stay pending.
    pub(crate) phantoms: Vec<NamedPartition>,
    /// The slip of row 6: the error of a request that is stored in part.
    pub(crate) refused: Option<ErrorCode>,
}

impl CommitDecision {
    pub(crate) fn response(&self) -> CommitResponse {
        CommitResponse { partitions: self.partitions.clone() }
    }
}

/// A partition that exists.
struct Resolved<'a> {
    name: TopicName,
    partition: TopicPartition,
    request: &'a CommitPartition,
}

/// Decides a commit: an error for the whole request, or an answer for each partition and the records.
pub(crate) fn commit(context: &CommitContext<'_>, commit: &Commit<'_>) -> Result<CommitDecision, ErrorCode> {
    let resolved: Vec<Result<Resolved<'_>, ErrorCode>> =
        commit.partitions.iter().map(|partition| front_end(context.topics, partition)).collect();
    let mut decision = CommitDecision::default();

    // 3.1: a request with nothing left for the coordinator is answered without any check.
    let validator = if resolved.iter().any(Result::is_ok) { Some(admit(context, commit)?) } else { None };
    // 3.2 row 1 was checked by `admit`.
    let group_id = commit.group_id.cloned().unwrap_or_default();
    for (request, resolved) in commit.partitions.iter().zip(resolved) {
        let error = match (resolved, &validator) {
            (Err(error), _) => error,
            (Ok(resolved), Some(validator)) => {
                match one(context, &group_id, &resolved, *validator, commit, &mut decision) {
                    Ok(error) => error,
                    Err(error) if context.rules.slips(Mutation::PartialCommit) => {
                        decision.refused = Some(error);
                        return Ok(decision);
                    }
                    Err(error) => return Err(error),
                }
            }
            (Ok(_), None) => ErrorCode::UnknownServerError,
        };
        decision.partitions.push((request.topic.clone(), request.partition, error));
    }
    Ok(decision)
}

/// 3.1: partitions that the broker knows.
fn front_end<'a>(topics: &Topics, request: &'a CommitPartition) -> Result<Resolved<'a>, ErrorCode> {
    let (name, topic_id) = match &request.topic {
        TopicRef::Name(name) => (name.clone(), topics.id(name.as_str()).ok_or(ErrorCode::UnknownTopicOrPartition)?),
        TopicRef::Id(id) => (topics.name(*id).ok_or(ErrorCode::UnknownTopicId)?.clone(), *id),
    };
    let count = topics.partition_count(name.as_str()).unwrap_or(0);
    if request.partition < 0 || request.partition >= count {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    Ok(Resolved { name, partition: TopicPartition { topic_id, partition: request.partition }, request })
}

/// 3.2 rows 1 to 4: the request as a whole.
fn admit<'a>(context: &CommitContext<'a>, commit: &Commit<'_>) -> Result<CommitValidator<'a>, ErrorCode> {
    let rules = context.rules;
    // Row 1.
    let group_id = commit.group_id.ok_or(ErrorCode::InvalidGroupId)?;
    let Some(group) = context.state.groups.get(group_id) else {
        let simple = context.state.offsets.has_any(group_id);
        let outcome = match (simple, commit.epoch < Epoch::JOIN) {
            // Row 2, and 3.5 for a group that has nothing but offsets.
            (_, true) => Ok(()),
            // Row 3.
            (false, false) if rules.slips(Mutation::CommitCreatesGroup) => Ok(()),
            (false, false) if commit.transactional || commit.api_version >= 9 => Err(ErrorCode::GroupIdNotFound),
            (false, false) => Err(ErrorCode::IllegalGeneration),
            // 3.5: nobody is a member of such a group.
            (true, false) => Err(ErrorCode::UnknownMemberId),
        };
        return outcome.map(|()| CommitValidator::AcceptAll).map_err(|error| told(rules, commit, error));
    };
    // Row 4.
    let member = group.members.get(commit.member_id);
    if member.is_none() && context.replaced && commit.epoch >= Epoch::JOIN {
        return Ok(CommitValidator::AcceptAll);
    }
    let current = member.and_then(|member| member.current.as_ref());
    let member = member.map(|member| CommitMember {
        member_epoch: member.member_epoch(),
        protocol: member.protocol(),
        assigned: current.map_or(&NOTHING, |current| &current.assigned),
        pending_revocation: current.map_or(&NOTHING, |current| &current.pending_revocation),
        revocation_epoch: context.revocation_epoch,
    });
    let call = CommitCall {
        member_id: commit.member_id,
        instance_id: commit.instance_id,
        epoch: commit.epoch,
        transactional: commit.transactional,
        api_version: commit.api_version,
    };
    commit_check(rules, group.members.is_empty(), member, &call).map_err(|error| told(rules, commit, error))
}

static NOTHING: std::collections::BTreeMap<TopicPartition, Epoch> = std::collections::BTreeMap::new();

/// 3.2 rows 5 to 7: one partition. An error that it gives is the request's.
fn one(
    context: &CommitContext<'_>,
    group_id: &GroupId,
    resolved: &Resolved<'_>,
    validator: CommitValidator<'_>,
    commit: &Commit<'_>,
    decision: &mut CommitDecision,
) -> Result<ErrorCode, ErrorCode> {
    let rules = context.rules;
    let request = resolved.request;
    // Row 5.
    let metadata = request.metadata.clone().unwrap_or_default();
    let too_large = metadata.encode_utf16().count() > context.config.offset_metadata_max_size;
    if too_large && !rules.slips(Mutation::MetadataLimitIgnored) {
        if rules.slips(Mutation::OversizedMetadataLeavesPending) {
            decision.phantoms.push(NamedPartition { topic: resolved.name.clone(), partition: request.partition });
        }
        return Ok(ErrorCode::OffsetMetadataTooLarge);
    }
    // Row 6.
    if let Err(error) = validator.check(resolved.partition) {
        let error = told(rules, commit, error);
        return if rules.slips(Mutation::CommitFencedByPartition) { Ok(error) } else { Err(error) };
    }
    // Row 7.
    decision.records.push(Record::OffsetCommit {
        key: OffsetCommitKey {
            group_id: group_id.as_str().to_owned(),
            topic: resolved.name.as_str().to_owned(),
            partition: request.partition,
            legacy: false,
        },
        value: Some(OffsetCommitValue {
            offset: request.offset,
            leader_epoch: if rules.slips(Mutation::LeaderEpochLost) { -1 } else { request.leader_epoch },
            metadata,
            commit_timestamp_ms: context.now_ms,
            expire_timestamp_ms: -1,
            topic_id: resolved.partition.topic_id,
        }),
    });
    Ok(ErrorCode::None)
}

/// 3.4: what a producer is told. Before KIP-1319, and before version 6, it has one error for both.
fn told(rules: &Rules, commit: &Commit<'_>, error: ErrorCode) -> ErrorCode {
    let newer = rules.txn_errors == TxnErrors::StaleMemberEpoch && commit.api_version >= 6;
    match error {
        ErrorCode::StaleMemberEpoch | ErrorCode::GroupIdNotFound if commit.transactional && !newer => {
            ErrorCode::IllegalGeneration
        }
        other => other,
    }
}
