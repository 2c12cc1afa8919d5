//! Docs/fencing.md 1.1, 3.7, 3.8 and 4.2.

use fencepost_reference::coordinator::log::{Entry, Log, Producer};
use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::records::{
    ConsumerGroupCurrentMemberAssignmentValue, CurrentTopicPartitions, MemberKey, OffsetCommitKey, OffsetCommitValue,
    Record, RecordFormat, Uuid,
};
use fencepost_reference::coordinator::{
    CommitCheck, Config, Coordinator, ErrorCode, Mutation, ProducerEpoch, ProducerId, Rules,
};

use crate::Claim;
use crate::group::{Group, T, U, at, g, tp};

pub(crate) fn claim(mutation: Mutation) -> Option<Claim> {
    Some(match mutation {
        // 3.8: an older coordinator rewrote the record; what it did not know is the member epoch, never less.
        Mutation::MissingEpochsAreZero => |rules| {
            let mut group = Group::two(rules.clone());
            group.fail_over_to(older(&rules));
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).expect("the older coordinator moves a to 3");
            group.fail_over_to(rules);
            group.assigned("a") == at(&[("t-0", 3), ("t-1", 3)])
                && group.commit("a", 2, &[("t-0", 5)]) == Err(ErrorCode::StaleMemberEpoch)
        },
        Mutation::HighWatermarkIgnored => |rules| {
            let mut group = Group::two(rules);
            group.commit("a", 2, &[("t-0", 5)]).expect("a commits");
            group.fail_over();
            group.stored("t-0") == 5
        },
        Mutation::LoadIgnoresAssignmentEpochs => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0", "t-1"])]);
            group.beat("a", 2).expect("a moves to 3");
            group.fail_over();
            group.commit("a", 2, &[("t-0", 5)]).is_ok()
        },
        // KAFKA-16147.
        Mutation::RegrantForgetsOwner => |rules| {
            let mut group = Group::two(rules);
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.beat("a", 2).expect("a is asked for t-1");
            group.target(&[("a", &["t-0", "t-1"])]);
            group.owning("a", 2, &["t-0"]).expect("t-1 is given back to a");
            group.target(&[("a", &["t-0"]), ("b", &["t-1"])]);
            group.beat("b", 2).expect("b wants t-1");
            group.state("b") == MemberState::Unreleased && !group.shares_a_partition()
        },
        // KAFKA-19862, as reported and in its variant.
        Mutation::ReplayRefusesTakeover => |rules| {
            let log = [has("m1", 11, T, &[0]), has("m2", 12, T, &[0]), has("m1", 13, T, &[1])];
            let variant =
                [has("m1", 11, T, &[0]), has("m2", 12, T, &[0]), has("m2", 13, T, &[]), has("m1", 14, U, &[0])];
            let ends_well = load(&rules, &log).is_some_and(|group| {
                group.member("m2").assigned.keys().eq([&tp("t-0")])
                    && group.member("m1").assigned.keys().eq([&tp("t-1")])
            });
            ends_well && load(&rules, &variant).is_some_and(|group| group.member("m1").assigned.keys().eq([&tp("u-0")]))
        },
        // KAFKA-17306, its first case.
        Mutation::ReplayRefusesAbsent => |rules| {
            let key = MemberKey { group_id: "g".to_owned(), member_id: "m1".to_owned() };
            let log = [
                Record::ConsumerGroupCurrentMemberAssignment { key: key.clone(), value: None },
                Record::ConsumerGroupTargetAssignmentMember { key: key.clone(), value: None },
                Record::ConsumerGroupMemberMetadata { key, value: None },
                Record::ConsumerGroupTargetAssignmentMetadata { group_id: "g".to_owned(), value: None },
                Record::ConsumerGroupMetadata { group_id: "g".to_owned(), value: None },
            ];
            load(&rules, &log).is_some_and(|group| group.describe().is_none())
        },
        Mutation::OffsetTombstoneKeepsPending => |rules| {
            let key = OffsetCommitKey { group_id: "g".to_owned(), topic: "t".to_owned(), partition: 0, legacy: false };
            let value = OffsetCommitValue { offset: 5, ..OffsetCommitValue::default() };
            let producer = Producer { id: ProducerId(9), epoch: ProducerEpoch(0) };
            let staged = Record::OffsetCommit { key: key.clone(), value: Some(value) };
            let entries = [
                (0, Entry::Record { record: staged, producer: Some(producer) }),
                (1, Entry::Record { record: Record::OffsetCommit { key, value: None }, producer: None }),
            ];
            let loaded = Coordinator::load(rules, Config::default(), &Log::from_entries(entries));
            loaded.is_ok_and(|coordinator| coordinator.describe(&g()).is_none())
        },
        _ => return None,
    })
}

/// The same coordinator before KIP-1251.
fn older(rules: &Rules) -> Rules {
    Rules {
        commit_check: CommitCheck::Strict,
        record_format: RecordFormat::WithoutAssignmentEpochs,
        mutation: None,
        ..rules.clone()
    }
}

/// A member has these partitions of a topic at this epoch.
fn has(member: &str, epoch: i32, topic_id: Uuid, partitions: &[i32]) -> Record {
    let entry = CurrentTopicPartitions { topic_id, partitions: partitions.to_vec(), ..Default::default() };
    Record::ConsumerGroupCurrentMemberAssignment {
        key: MemberKey { group_id: "g".to_owned(), member_id: member.to_owned() },
        value: Some(ConsumerGroupCurrentMemberAssignmentValue {
            member_epoch: epoch,
            previous_member_epoch: epoch - 1,
            state: 0,
            assigned_partitions: vec![entry],
            partitions_pending_revocation: Vec::new(),
        }),
    }
}

fn load(rules: &Rules, records: &[Record]) -> Option<Group> {
    let entries = records.iter().cloned().map(|record| Entry::Record { record, producer: None });
    let log = Log::from_entries((0..).zip(entries));
    let coordinator = Coordinator::load(rules.clone(), Config::default(), &log).ok()?;
    Some(Group { coordinator })
}
