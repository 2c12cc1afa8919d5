//! When a group gets a new target, and from whom (docs/fencing.md 2.4 row 4 and 2.10; Kafka `TargetAssignmentBuilder`).

use std::collections::{BTreeMap, BTreeSet};

use crate::coordinator::assignor::{Assignment, Subscriber};
use crate::coordinator::draft::{Context, Draft};
use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::ConsumerGroup;
use crate::coordinator::heartbeat::preferred_assignor;
use crate::coordinator::machine::ScriptedTarget;
use crate::coordinator::mutation::Mutation;

/// Whether the assignment interval holds a new target back (KIP-1263). A group that never had one does not wait.
pub(crate) fn is_delayed(context: &Context<'_>, group: &ConsumerGroup) -> bool {
    let last_ms = group.assignment_timestamp_ms();
    if context.rules.slips(Mutation::TargetNeverRecomputed) && group.target_metadata.is_some() {
        return true;
    }
    context.config.assignment_interval_ms.is_some_and(|interval_ms| {
        last_ms != 0
            && context.assignor_now_ms < last_ms.saturating_add(interval_ms)
            && !context.rules.slips(Mutation::AssignmentIntervalIgnored)
    })
}

/// Computes the target for the group epoch, and writes what changed in it.
pub(crate) fn compute(context: &Context<'_>, draft: &mut Draft<'_>) -> Result<(), ErrorCode> {
    let group = draft.group();
    let assignment = match context.script {
        Some((ScriptedTarget::Fail, _)) => return Err(ErrorCode::UnknownServerError),
        Some((ScriptedTarget::Assign(script), _)) => scripted(context, script),
        None => preferred_assignor(group).assign(&subscribers(context, group), &partition_counts(context)),
    };
    let epoch = group.group_epoch();
    let changed: Vec<_> = group
        .members
        .keys()
        .map(|id| (id.clone(), assignment.get(id).cloned().unwrap_or_default()))
        .filter(|(id, target)| group.target.get(id) != Some(target))
        .collect();
    for (member_id, target) in changed {
        draft.target_member(&member_id, &target)?;
    }
    draft.target_metadata(epoch, context.assignor_now_ms)
}

fn scripted(
    context: &Context<'_>,
    script: &BTreeMap<crate::coordinator::MemberId, Vec<(crate::coordinator::TopicName, i32)>>,
) -> Assignment {
    script
        .iter()
        .map(|(member_id, partitions)| {
            let known =
                partitions.iter().filter_map(|(topic, partition)| context.topics.partition(topic.as_str(), *partition));
            (member_id.clone(), known.collect())
        })
        .collect()
}

fn subscribers(context: &Context<'_>, group: &ConsumerGroup) -> BTreeMap<crate::coordinator::MemberId, Subscriber> {
    group
        .members
        .iter()
        .map(|(id, member)| {
            let subscriber = Subscriber {
                instance_id: member.instance_id(),
                topics: group.subscribed_ids(member, context.topics),
                previous: group.target_of(id),
            };
            (id.clone(), subscriber)
        })
        .collect()
}

fn partition_counts(context: &Context<'_>) -> BTreeMap<crate::coordinator::records::Uuid, i32> {
    context.topics.iter().map(|(_, id, count)| (id, count)).collect()
}

/// What the group's target depends on beside its members, in one number: the subscribed topics, and which scripted target is
/// set. 0 stands for "nothing".
///
/// It is in the group's record, so a group whose record was lost with a coordinator notices the change again.
pub(crate) fn metadata_hash(context: &Context<'_>, group: &ConsumerGroup) -> i64 {
    let names: BTreeSet<&str> = group.all_subscribed_names();
    let mut hash = 0_u64;
    if let Some((_, version)) = context.script {
        hash = fnv(FNV_OFFSET, &version.to_be_bytes());
    }
    for (name, id, count) in context.topics.iter() {
        if names.contains(name.as_str()) {
            hash = fnv(if hash == 0 { FNV_OFFSET } else { hash }, name.as_str().as_bytes());
            hash = fnv(hash, &id.0);
            hash = fnv(hash, &count.to_be_bytes());
        }
    }
    i64::from_ne_bytes(hash.to_ne_bytes())
}

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a: small, and the same everywhere.
fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
