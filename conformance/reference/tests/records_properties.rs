//! What holds for all records and all bytes: what is written reads back equal, and no bytes make the reader panic
//! (docs/fencing.md 4.1). The bytes themselves are held against Kafka's in `records_kafka_bytes.rs`.

use fencepost_reference::coordinator::records::{
    ClassicMemberMetadata, ClassicProtocol, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue, CurrentTopicPartitions, EncodedRecord, MemberKey, OffsetCommitKey,
    OffsetCommitValue, PartitionMetadata, Record, RecordFormat, RegularExpressionKey, TargetTopicPartitions,
    TopicMetadata, Uuid,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn uuid() -> impl Strategy<Value = Uuid> {
    prop_oneof![Just(Uuid::ZERO), any::<[u8; 16]>().prop_map(Uuid)]
}

fn member_key() -> impl Strategy<Value = MemberKey> {
    (text(), text()).prop_map(|(group_id, member_id)| MemberKey { group_id, member_id })
}

/// Commits with only such fields as the version that they are written in has.
fn commit() -> impl Strategy<Value = Record> {
    let key = (text(), text(), any::<i32>(), any::<bool>())
        .prop_map(|(group_id, topic, partition, legacy)| OffsetCommitKey { group_id, topic, partition, legacy });
    let value = (any::<i64>(), any::<i32>(), text(), any::<i64>(), prop_oneof![Just(-1), any::<i64>()], uuid())
        .prop_map(|(offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id)| {
            OffsetCommitValue { offset, leader_epoch, metadata, commit_timestamp_ms, expire_timestamp_ms, topic_id }
        });
    (key, option::of(value)).prop_map(|(key, mut value)| {
        if let Some(value) = &mut value {
            if key.legacy {
                value.expire_timestamp_ms = -1;
            }
            if key.legacy || value.expire_timestamp_ms != -1 {
                value.leader_epoch = -1;
                value.topic_id = Uuid::ZERO;
            }
        }
        Record::OffsetCommit { key, value }
    })
}

fn group() -> impl Strategy<Value = Record> {
    let value = (any::<i32>(), prop_oneof![Just(0), any::<i64>()])
        .prop_map(|(epoch, metadata_hash)| ConsumerGroupMetadataValue { epoch, metadata_hash });
    (text(), option::of(value)).prop_map(|(group_id, value)| Record::ConsumerGroupMetadata { group_id, value })
}

fn partition_metadata() -> impl Strategy<Value = Record> {
    let partition =
        (any::<i32>(), vec(text(), 0..3)).prop_map(|(partition, racks)| PartitionMetadata { partition, racks });
    let topic = (uuid(), text(), any::<i32>(), vec(partition, 0..3)).prop_map(
        |(topic_id, topic_name, num_partitions, partition_metadata)| TopicMetadata {
            topic_id,
            topic_name,
            num_partitions,
            partition_metadata,
        },
    );
    let value = vec(topic, 0..3).prop_map(|topics| ConsumerGroupPartitionMetadataValue { topics });
    (text(), option::of(value)).prop_map(|(group_id, value)| Record::ConsumerGroupPartitionMetadata { group_id, value })
}

fn member() -> impl Strategy<Value = Record> {
    let protocol = (text(), vec(any::<u8>(), 0..200)).prop_map(|(name, metadata)| ClassicProtocol { name, metadata });
    let classic = prop_oneof![
        Just(ClassicMemberMetadata::default()),
        (any::<i32>(), vec(protocol, 0..3)).prop_map(|(session_timeout_ms, supported_protocols)| {
            ClassicMemberMetadata { session_timeout_ms, supported_protocols }
        }),
    ];
    let names = (option::of(text()), option::of(text()), text(), text(), vec(text(), 0..3), option::of(text()));
    let rest = (any::<i32>(), option::of(text()), option::of(classic));
    let value = (names, rest).prop_map(|(names, rest)| {
        let (instance_id, rack_id, client_id, client_host, subscribed_topic_names, subscribed_topic_regex) = names;
        let (rebalance_timeout_ms, server_assignor, classic_member_metadata) = rest;
        ConsumerGroupMemberMetadataValue {
            instance_id,
            rack_id,
            client_id,
            client_host,
            subscribed_topic_names,
            subscribed_topic_regex,
            rebalance_timeout_ms,
            server_assignor,
            classic_member_metadata,
        }
    });
    (member_key(), option::of(value)).prop_map(|(key, value)| Record::ConsumerGroupMemberMetadata { key, value })
}

fn target_metadata() -> impl Strategy<Value = Record> {
    let value =
        (any::<i32>(), prop_oneof![Just(0), any::<i64>()]).prop_map(|(assignment_epoch, assignment_timestamp_ms)| {
            ConsumerGroupTargetAssignmentMetadataValue { assignment_epoch, assignment_timestamp_ms }
        });
    (text(), option::of(value))
        .prop_map(|(group_id, value)| Record::ConsumerGroupTargetAssignmentMetadata { group_id, value })
}

fn target() -> impl Strategy<Value = Record> {
    let entry = (uuid(), vec(any::<i32>(), 0..4))
        .prop_map(|(topic_id, partitions)| TargetTopicPartitions { topic_id, partitions });
    let value =
        vec(entry, 0..3).prop_map(|topic_partitions| ConsumerGroupTargetAssignmentMemberValue { topic_partitions });
    (member_key(), option::of(value))
        .prop_map(|(key, value)| Record::ConsumerGroupTargetAssignmentMember { key, value })
}

fn current() -> impl Strategy<Value = Record> {
    let entries = || {
        let entry = (uuid(), vec(any::<i32>(), 0..4), option::of(vec(any::<i32>(), 0..4))).prop_map(
            |(topic_id, partitions, assignment_epochs)| CurrentTopicPartitions {
                topic_id,
                partitions,
                assignment_epochs,
            },
        );
        vec(entry, 0..3)
    };
    let value = (any::<i32>(), any::<i32>(), any::<i8>(), entries(), entries()).prop_map(
        |(member_epoch, previous_member_epoch, state, assigned_partitions, partitions_pending_revocation)| {
            ConsumerGroupCurrentMemberAssignmentValue {
                member_epoch,
                previous_member_epoch,
                state,
                assigned_partitions,
                partitions_pending_revocation,
            }
        },
    );
    (member_key(), option::of(value))
        .prop_map(|(key, value)| Record::ConsumerGroupCurrentMemberAssignment { key, value })
}

fn regular_expression() -> impl Strategy<Value = Record> {
    let key = (text(), text())
        .prop_map(|(group_id, regular_expression)| RegularExpressionKey { group_id, regular_expression });
    let value = (vec(text(), 0..3), any::<i64>(), any::<i64>()).prop_map(|(topics, version, timestamp_ms)| {
        ConsumerGroupRegularExpressionValue { topics, version, timestamp_ms }
    });
    (key, option::of(value)).prop_map(|(key, value)| Record::ConsumerGroupRegularExpression { key, value })
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        commit(),
        group(),
        partition_metadata(),
        member(),
        target_metadata(),
        target(),
        current(),
        regular_expression(),
    ]
}

fn format() -> impl Strategy<Value = RecordFormat> {
    prop_oneof![Just(RecordFormat::WithAssignmentEpochs), Just(RecordFormat::WithoutAssignmentEpochs)]
}

fn decode(encoded: &EncodedRecord) -> Result<Record, fencepost_reference::coordinator::records::RecordError> {
    Record::decode(&encoded.key, encoded.value.as_deref())
}

proptest! {
    #[test]
    fn what_is_written_reads_back_as_what_the_writer_knew(record in record(), format in format()) {
        let encoded = record.encode(format).unwrap();
        prop_assert_eq!(&encoded.key, &record.key_bytes().unwrap());
        prop_assert_eq!(encoded.value.is_none(), record.is_tombstone());
        prop_assert_eq!(decode(&encoded).unwrap(), record.known_to(format));
    }

    #[test]
    fn any_bytes_are_a_record_or_an_error(
        kind in prop_oneof![-1..20_i16, any::<i16>()],
        version in prop_oneof![0..5_i16, any::<i16>()],
        key in vec(any::<u8>(), 0..40),
        value in vec(any::<u8>(), 0..200),
    ) {
        let key = [&kind.to_be_bytes(), &key[..]].concat();
        let value = [&version.to_be_bytes(), &value[..]].concat();
        let _ = Record::decode(&key, Some(&value));
        let _ = Record::decode(&key, None);
        let _ = Record::decode(&value, Some(&key));
    }

    /// Random bytes seldom get beyond a key; under a key that is good, every value is looked into.
    #[test]
    fn any_bytes_under_a_good_key_are_a_value_or_an_error(
        record in record(),
        version in 0..5_i16,
        value in vec(prop_oneof![0..4_u8, any::<u8>()], 0..200),
    ) {
        let value = [&version.to_be_bytes(), &value[..]].concat();
        if let Ok(read) = Record::decode(&record.key_bytes().unwrap(), Some(&value)) {
            prop_assert_eq!(read.key_bytes(), record.key_bytes());
        }
    }

    /// One that reads after all is written without a panic too, and reads back.
    #[test]
    fn a_record_with_any_one_byte_changed_is_a_record_or_an_error(record in record(), change in 1..=u8::MAX) {
        let good = record.encode(RecordFormat::WithAssignmentEpochs).unwrap();
        let value = good.value.as_deref().unwrap_or_default();
        for at in 0..good.key.len() + value.len() {
            let mut damaged = good.clone();
            let value = damaged.value.as_mut().map(|value| value.iter_mut());
            if let Some(byte) = damaged.key.iter_mut().chain(value.into_iter().flatten()).nth(at) {
                *byte ^= change;
            }
            if let Ok(read) = decode(&damaged) {
                let again = read.encode(RecordFormat::WithAssignmentEpochs).unwrap();
                prop_assert!(decode(&again).is_ok());
            }
        }
    }

    /// No schema here ends in something optional, so what is cut is seen wherever it is cut.
    #[test]
    fn a_record_cut_anywhere_is_an_error(record in record()) {
        let good = record.encode(RecordFormat::WithAssignmentEpochs).unwrap();
        for length in 0..good.key.len() {
            prop_assert!(Record::decode(&good.key[..length], good.value.as_deref()).is_err());
        }
        let value = good.value.as_deref().unwrap_or_default();
        for length in 0..value.len() {
            prop_assert!(Record::decode(&good.key, Some(&value[..length])).is_err());
        }
    }
}
