//! The records against Kafka's own bytes (docs/fencing.md 4.1 and 3.8).
//!
//! Every byte here was printed by Kafka's released classes, not by this crate: a Java program on the Maven artefact
//! `org.apache.kafka:kafka-group-coordinator:4.4.0` built each record with `GroupCoordinatorRecordHelpers#new...Record`
//! (or with the generated message classes in `org.apache.kafka.coordinator.group.generated`, where the test says so) and
//! printed `GroupCoordinatorRecordSerde#serializeKey` and `#serializeValue` as hex. What the tests say of Kafka's reading
//! was seen with `GroupCoordinatorRecordSerde#deserialize` of the same artefact. The bytes "of Kafka 4.2.1" come from the
//! same program on `kafka-group-coordinator:4.2.1`.

use fencepost_reference::coordinator::records::{
    ClassicMemberMetadata, ClassicProtocol, ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue, ConsumerGroupMetadataValue, ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue, ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue, CurrentTopicPartitions, MemberKey, OffsetCommitKey, OffsetCommitValue,
    PartitionMetadata, Record, RecordFormat, RegularExpressionKey, TargetTopicPartitions, TopicMetadata, Uuid,
};

const T1: Uuid = Uuid([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
const T2: Uuid = Uuid([17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32]);

const COMMIT_KEY: &str = "0001 000167 000174 00000001";
const CURRENT_KEY: &str = "0008 000167 00016d";

/// The bytes that hex digits stand for; spaces are for the reader.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn decode(key: &str, value: &str) -> Record {
    Record::decode(&bytes(key), Some(&bytes(value))).unwrap()
}

#[track_caller]
fn assert_encodes(record: &Record, format: RecordFormat, key: &str, value: Option<&str>) {
    let encoded = record.encode(format).unwrap();
    assert_eq!(encoded.key, bytes(key), "the key");
    assert_eq!(encoded.value, value.map(bytes), "the value");
    assert_eq!(record.key_bytes().unwrap(), bytes(key), "the key alone");
}

/// Encoding and decoding both, in the format of Kafka 4.4.0.
#[track_caller]
fn assert_bytes(record: &Record, key: &str, value: Option<&str>) {
    assert_encodes(record, RecordFormat::WithAssignmentEpochs, key, value);
    let decoded = Record::decode(&bytes(key), value.map(bytes).as_deref()).unwrap();
    assert_eq!(&decoded, record);
    assert_eq!(decoded.is_tombstone(), value.is_none());
}

fn group_id() -> String {
    "g".to_owned()
}

fn member_key() -> MemberKey {
    MemberKey { group_id: group_id(), member_id: "m".to_owned() }
}

fn commit_key() -> OffsetCommitKey {
    OffsetCommitKey { group_id: group_id(), topic: "t".to_owned(), partition: 1, legacy: false }
}

/// A commit with every field set that a plain commit has.
fn commit_value() -> OffsetCommitValue {
    OffsetCommitValue {
        offset: 10,
        leader_epoch: 7,
        metadata: "md".to_owned(),
        commit_timestamp_ms: 1000,
        expire_timestamp_ms: -1,
        topic_id: T1,
    }
}

fn commit(value: OffsetCommitValue) -> Record {
    Record::OffsetCommit { key: commit_key(), value: Some(value) }
}

fn current(value: ConsumerGroupCurrentMemberAssignmentValue) -> Record {
    Record::ConsumerGroupCurrentMemberAssignment { key: member_key(), value: Some(value) }
}

/// A member at epoch 5 that gives up a partition; each partition has an assignment epoch of its own.
fn revoking() -> ConsumerGroupCurrentMemberAssignmentValue {
    ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 5,
        previous_member_epoch: 4,
        state: 1,
        assigned_partitions: vec![CurrentTopicPartitions {
            topic_id: T1,
            partitions: vec![0, 1],
            assignment_epochs: Some(vec![3, 5]),
        }],
        partitions_pending_revocation: vec![CurrentTopicPartitions {
            topic_id: T2,
            partitions: vec![2],
            assignment_epochs: Some(vec![4]),
        }],
    }
}

/// A stable member with partitions 0 and 1 of one topic, and a list of assignment epochs of any kind.
fn stable_with(assignment_epochs: Option<Vec<i32>>) -> ConsumerGroupCurrentMemberAssignmentValue {
    ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 5,
        previous_member_epoch: 4,
        state: 0,
        assigned_partitions: vec![CurrentTopicPartitions { topic_id: T1, partitions: vec![0, 1], assignment_epochs }],
        partitions_pending_revocation: vec![],
    }
}

const REVOKING_4_4_0: &str = "0000 00000005 00000004 01
    02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 01 00 09 03 00000003 00000005
    02 1112131415161718191a1b1c1d1e1f20 02 00000002 01 00 05 02 00000004 00";

const REVOKING_4_2_1: &str = "0000 00000005 00000004 01
    02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 00
    02 1112131415161718191a1b1c1d1e1f20 02 00000002 00 00";

// Committed offsets

#[test]
fn a_commit_is_written_in_version_4() {
    assert_bytes(
        &commit(commit_value()),
        COMMIT_KEY,
        Some("0004 000000000000000a 00000007 036d64 00000000000003e8 01 00 10 0102030405060708090a0b0c0d0e0f10"),
    );
}

#[test]
fn a_commit_without_leader_epoch_and_topic_id_has_minus_one_and_no_tagged_field() {
    let value = OffsetCommitValue { leader_epoch: -1, metadata: String::new(), topic_id: Uuid::ZERO, ..commit_value() };
    assert_bytes(&commit(value), COMMIT_KEY, Some("0004 000000000000000a ffffffff 01 00000000000003e8 00"));
}

#[test]
fn a_commit_with_an_expire_timestamp_is_written_in_version_1_and_loses_leader_epoch_and_topic_id() {
    const VALUE: &str = "0001 000000000000000a 00026d64 00000000000003e8 00000000000007d0";
    let value = OffsetCommitValue { expire_timestamp_ms: 2000, ..commit_value() };
    assert_encodes(&commit(value.clone()), RecordFormat::WithAssignmentEpochs, COMMIT_KEY, Some(VALUE));
    let read = OffsetCommitValue { leader_epoch: -1, topic_id: Uuid::ZERO, ..value };
    assert_eq!(decode(COMMIT_KEY, VALUE), commit(read));
}

#[test]
fn a_deleted_commit_is_a_key_alone() {
    assert_bytes(&Record::OffsetCommit { key: commit_key(), value: None }, COMMIT_KEY, None);
}

/// `OffsetCommitValue` with every field set, written in each version.
#[test]
fn each_older_version_of_a_commit_has_kafkas_bytes_and_reads_with_defaults_for_what_it_lacks() {
    let full = OffsetCommitValue { expire_timestamp_ms: 2000, ..commit_value() };
    let oldest =
        OffsetCommitValue { leader_epoch: -1, topic_id: Uuid::ZERO, expire_timestamp_ms: -1, ..commit_value() };
    let cases = [
        ("0000 000000000000000a 00026d64 00000000000003e8", oldest.clone()),
        (
            "0001 000000000000000a 00026d64 00000000000003e8 00000000000007d0",
            OffsetCommitValue { expire_timestamp_ms: 2000, ..oldest.clone() },
        ),
        ("0002 000000000000000a 00026d64 00000000000003e8", oldest.clone()),
        (
            "0003 000000000000000a 00000007 00026d64 00000000000003e8",
            OffsetCommitValue { leader_epoch: 7, ..oldest.clone() },
        ),
        (
            "0004 000000000000000a 00000007 036d64 00000000000003e8 01 00 10 0102030405060708090a0b0c0d0e0f10",
            OffsetCommitValue { leader_epoch: 7, topic_id: T1, ..oldest },
        ),
    ];
    for (version, (hex, read)) in (0..).zip(cases) {
        assert_eq!(full.encode_as(version).unwrap(), bytes(hex), "writing version {version}");
        assert_eq!(decode(COMMIT_KEY, hex), commit(read), "reading version {version}");
    }
}

#[test]
fn version_1_without_an_expire_timestamp_says_minus_one() {
    const VALUE: &str = "0001 000000000000000a 00026d64 00000000000003e8 ffffffffffffffff";
    assert_eq!(commit_value().encode_as(1).unwrap(), bytes(VALUE));
    let read = OffsetCommitValue { leader_epoch: -1, topic_id: Uuid::ZERO, ..commit_value() };
    assert_eq!(decode(COMMIT_KEY, VALUE), commit(read));
}

/// `LegacyOffsetCommitKey` and `LegacyOffsetCommitValue`.
#[test]
fn a_legacy_commit_has_the_same_fields_under_another_kind() {
    let value = OffsetCommitValue { leader_epoch: -1, topic_id: Uuid::ZERO, ..commit_value() };
    assert_bytes(
        &Record::OffsetCommit { key: OffsetCommitKey { legacy: true, ..commit_key() }, value: Some(value) },
        "0000 000167 000174 00000001",
        Some("0000 000000000000000a 00026d64 00000000000003e8"),
    );
}

#[test]
fn metadata_of_32767_bytes_is_the_longest_that_kafka_writes_and_reads() {
    let longest = commit(OffsetCommitValue { metadata: "x".repeat(32767), ..commit_value() });
    let encoded = longest.encode(RecordFormat::WithAssignmentEpochs).unwrap();
    assert_eq!(&encoded.value.as_deref().unwrap()[14..17], &bytes("808002"));
    assert_eq!(Record::decode(&encoded.key, encoded.value.as_deref()).unwrap(), longest);

    let longer = commit(OffsetCommitValue { metadata: "x".repeat(32768), ..commit_value() });
    let error = longer.encode(RecordFormat::WithAssignmentEpochs).unwrap_err();
    assert_eq!(error.to_string(), "field metadata: 32768 is more than the 32767 that can be written");
}

// The group

#[test]
fn a_groups_epoch_and_hash_have_kafkas_bytes() {
    let value = ConsumerGroupMetadataValue { epoch: 3, metadata_hash: 0x0123_4567_89ab_cdef };
    assert_bytes(
        &Record::ConsumerGroupMetadata { group_id: group_id(), value: Some(value) },
        "0003 000167",
        Some("0000 00000003 01 00 08 0123456789abcdef"),
    );
}

#[test]
fn a_hash_of_zero_is_not_written() {
    let value = ConsumerGroupMetadataValue { epoch: 3, metadata_hash: 0 };
    assert_bytes(
        &Record::ConsumerGroupMetadata { group_id: group_id(), value: Some(value) },
        "0003 000167",
        Some("0000 00000003 00"),
    );
}

#[test]
fn a_deleted_group_is_a_key_alone() {
    assert_bytes(&Record::ConsumerGroupMetadata { group_id: group_id(), value: None }, "0003 000167", None);
}

/// `ConsumerGroupPartitionMetadataValue`: no helper writes it any more.
#[test]
fn the_obsolete_partition_metadata_can_still_be_read_and_written() {
    let partition = PartitionMetadata { partition: 1, racks: vec!["r0".to_owned(), "r1".to_owned()] };
    let topic = TopicMetadata {
        topic_id: T1,
        topic_name: "t".to_owned(),
        num_partitions: 2,
        partition_metadata: vec![partition],
    };
    assert_bytes(
        &Record::ConsumerGroupPartitionMetadata {
            group_id: group_id(),
            value: Some(ConsumerGroupPartitionMetadataValue { topics: vec![topic] }),
        },
        "0004 000167",
        Some(
            "0000 02 0102030405060708090a0b0c0d0e0f10 0274 00000002 02 00000001 03 037230 037231 00
            00 00",
        ),
    );
}

#[test]
fn deleted_partition_metadata_is_a_key_alone() {
    assert_bytes(&Record::ConsumerGroupPartitionMetadata { group_id: group_id(), value: None }, "0004 000167", None);
}

// A member's metadata

fn member(value: ConsumerGroupMemberMetadataValue) -> Record {
    Record::ConsumerGroupMemberMetadata { key: member_key(), value: Some(value) }
}

/// A member with nothing that is optional.
fn plain_member() -> ConsumerGroupMemberMetadataValue {
    ConsumerGroupMemberMetadataValue {
        client_id: "c".to_owned(),
        client_host: "/h".to_owned(),
        subscribed_topic_names: vec!["t".to_owned()],
        subscribed_topic_regex: Some(String::new()),
        rebalance_timeout_ms: 1000,
        ..ConsumerGroupMemberMetadataValue::default()
    }
}

#[test]
fn a_member_with_everything_optional_has_kafkas_bytes() {
    let value = ConsumerGroupMemberMetadataValue {
        instance_id: Some("i".to_owned()),
        rack_id: Some("r".to_owned()),
        subscribed_topic_names: vec!["t".to_owned(), "u".to_owned()],
        subscribed_topic_regex: Some("x.*".to_owned()),
        rebalance_timeout_ms: 45000,
        server_assignor: Some("uniform".to_owned()),
        ..plain_member()
    };
    assert_bytes(
        &member(value),
        "0005 000167 00016d",
        Some("0000 0269 0272 0263 032f68 03 0274 0275 04782e2a 0000afc8 08756e69666f726d 01 00 01 00"),
    );
}

/// The helper writes an empty expression for a member that has none, because that is what the member's object holds.
#[test]
fn a_plain_member_has_an_empty_expression_and_null_for_the_rest() {
    let value = plain_member();
    assert_bytes(
        &member(value),
        "0005 000167 00016d",
        Some("0000 00 00 0263 032f68 02 0274 01 000003e8 00 01 00 01 00"),
    );
}

#[test]
fn a_classic_member_carries_its_protocols_in_a_tagged_field() {
    let classic = ClassicMemberMetadata {
        session_timeout_ms: 6000,
        supported_protocols: vec![ClassicProtocol { name: "range".to_owned(), metadata: vec![1, 2, 3] }],
    };
    let value = ConsumerGroupMemberMetadataValue { classic_member_metadata: Some(classic), ..plain_member() };
    assert_bytes(
        &member(value),
        "0005 000167 00016d",
        Some("0000 00 00 0263 032f68 02 0274 01 000003e8 00 01 00 12 01 00001770 02 0672616e6765 04010203 00 00"),
    );
}

/// `ConsumerGroupMemberMetadataValue#setClassicMemberMetadata` with a new structure, which is Kafka's default of the
/// field; all that is nullable is the empty string, as in a new value.
#[test]
fn classic_metadata_of_defaults_is_not_written_and_is_what_an_absent_field_reads_as() {
    let empty = Some(String::new());
    let value = ConsumerGroupMemberMetadataValue {
        instance_id: empty.clone(),
        rack_id: empty.clone(),
        server_assignor: empty,
        classic_member_metadata: Some(ClassicMemberMetadata::default()),
        ..plain_member()
    };
    assert_bytes(&member(value), "0005 000167 00016d", Some("0000 01 01 0263 032f68 02 0274 01 000003e8 01 00"));
}

#[test]
fn a_removed_member_is_a_key_alone() {
    assert_bytes(&Record::ConsumerGroupMemberMetadata { key: member_key(), value: None }, "0005 000167 00016d", None);
}

// The target assignment

fn target_metadata(assignment_epoch: i32, assignment_timestamp_ms: i64) -> Record {
    Record::ConsumerGroupTargetAssignmentMetadata {
        group_id: group_id(),
        value: Some(ConsumerGroupTargetAssignmentMetadataValue { assignment_epoch, assignment_timestamp_ms }),
    }
}

#[test]
fn the_target_assignments_epoch_and_timestamp_have_kafkas_bytes() {
    assert_bytes(&target_metadata(5, 1_234_567), "0006 000167", Some("0000 00000005 01 00 08 000000000012d687"));
}

#[test]
fn a_timestamp_of_zero_is_not_written() {
    assert_bytes(&target_metadata(5, 0), "0006 000167", Some("0000 00000005 00"));
}

#[test]
fn a_deleted_target_assignment_is_a_key_alone() {
    assert_bytes(
        &Record::ConsumerGroupTargetAssignmentMetadata { group_id: group_id(), value: None },
        "0006 000167",
        None,
    );
}

#[test]
fn a_members_target_has_kafkas_bytes() {
    let topic_partitions = vec![
        TargetTopicPartitions { topic_id: T1, partitions: vec![0, 1] },
        TargetTopicPartitions { topic_id: T2, partitions: vec![2] },
    ];
    assert_bytes(
        &Record::ConsumerGroupTargetAssignmentMember {
            key: member_key(),
            value: Some(ConsumerGroupTargetAssignmentMemberValue { topic_partitions }),
        },
        "0007 000167 00016d",
        Some(
            "0000 03 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 00
            1112131415161718191a1b1c1d1e1f20 02 00000002 00 00",
        ),
    );
}

#[test]
fn an_empty_target_is_not_a_tombstone() {
    assert_bytes(
        &Record::ConsumerGroupTargetAssignmentMember {
            key: member_key(),
            value: Some(ConsumerGroupTargetAssignmentMemberValue::default()),
        },
        "0007 000167 00016d",
        Some("0000 01 00"),
    );
}

#[test]
fn a_removed_members_target_is_a_key_alone() {
    assert_bytes(
        &Record::ConsumerGroupTargetAssignmentMember { key: member_key(), value: None },
        "0007 000167 00016d",
        None,
    );
}

// The current assignment

#[test]
fn a_current_assignment_carries_its_assignment_epochs_in_a_tagged_field_of_each_entry() {
    assert_bytes(&current(revoking()), CURRENT_KEY, Some(REVOKING_4_4_0));
}

#[test]
fn an_empty_current_assignment_has_kafkas_bytes() {
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 1,
        ..ConsumerGroupCurrentMemberAssignmentValue::default()
    };
    assert_bytes(&current(value), CURRENT_KEY, Some("0000 00000001 00000000 00 01 01 00"));
}

#[test]
fn a_removed_members_current_assignment_is_a_key_alone() {
    assert_bytes(&Record::ConsumerGroupCurrentMemberAssignment { key: member_key(), value: None }, CURRENT_KEY, None);
}

/// `ConsumerGroupCurrentMemberAssignmentValue` with one epoch for two partitions: Kafka writes and reads it, and it is
/// the loader that replaces it.
#[test]
fn a_list_of_assignment_epochs_of_the_wrong_length_is_kept_as_it_is() {
    assert_bytes(
        &current(stable_with(Some(vec![3]))),
        CURRENT_KEY,
        Some(
            "0000 00000005 00000004 00 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 01 00 05 02 00000003
            01 00",
        ),
    );
}

/// `setAssignmentEpochs(List.of())`. What Kafka 4.4.0 prints of a record without the field is `assignmentEpochs=[]`.
#[test]
fn empty_assignment_epochs_are_not_written_and_are_what_an_absent_field_reads_as() {
    assert_bytes(
        &current(stable_with(Some(vec![]))),
        CURRENT_KEY,
        Some("0000 00000005 00000004 00 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 00 01 00"),
    );
}

/// `setAssignmentEpochs(null)`.
#[test]
fn null_assignment_epochs_are_written_as_null() {
    assert_bytes(
        &current(stable_with(None)),
        CURRENT_KEY,
        Some("0000 00000005 00000004 00 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 01 00 01 00 01 00"),
    );
}

/// No Kafka writes this; 4.4.0 reads it.
#[test]
fn empty_assignment_epochs_that_are_written_read_as_empty() {
    assert_eq!(
        decode(
            CURRENT_KEY,
            "0000 00000005 00000004 00 02 0102030405060708090a0b0c0d0e0f10 03 00000000 00000001 01 00 01 01 01 00",
        ),
        current(stable_with(Some(vec![]))),
    );
}

/// What the loader makes of such a state is its own matter (docs/fencing.md 1.2).
#[test]
fn a_state_that_kafka_does_not_know_is_kept_as_it_is() {
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: 5,
        previous_member_epoch: 4,
        state: 9,
        ..ConsumerGroupCurrentMemberAssignmentValue::default()
    };
    assert_bytes(&current(value), CURRENT_KEY, Some("0000 00000005 00000004 09 01 01 00"));
}

// Regular expressions

#[test]
fn a_resolved_regular_expression_has_kafkas_bytes() {
    let key = RegularExpressionKey { group_id: group_id(), regular_expression: "x.*".to_owned() };
    let value = ConsumerGroupRegularExpressionValue { topics: vec!["xa".to_owned()], version: 12, timestamp_ms: 1000 };
    assert_bytes(
        &Record::ConsumerGroupRegularExpression { key: key.clone(), value: Some(value) },
        "0010 000167 0003782e2a",
        Some("0000 02 037861 000000000000000c 00000000000003e8 00"),
    );
    assert_bytes(&Record::ConsumerGroupRegularExpression { key, value: None }, "0010 000167 0003782e2a", None);
}

// Upgrade and rollback (docs/fencing.md 3.8)

/// The bytes of Kafka 4.2.1 for the member of [`revoking`].
#[test]
fn a_coordinator_before_kip_1251_writes_no_assignment_epochs() {
    assert_encodes(&current(revoking()), RecordFormat::WithoutAssignmentEpochs, CURRENT_KEY, Some(REVOKING_4_2_1));
}

/// The bytes of Kafka 4.2.1, whose helper is called `newConsumerGroupTargetAssignmentEpochRecord` and takes no timestamp.
#[test]
fn a_coordinator_before_kip_1251_writes_no_assignment_timestamp() {
    assert_encodes(
        &target_metadata(5, 1_234_567),
        RecordFormat::WithoutAssignmentEpochs,
        "0006 000167",
        Some("0000 00000005 00"),
    );
}

#[test]
fn an_older_coordinators_record_reads_without_assignment_epochs() {
    let read = decode(CURRENT_KEY, REVOKING_4_2_1);
    assert_eq!(read, current(revoking()).known_to(RecordFormat::WithoutAssignmentEpochs));
    let Record::ConsumerGroupCurrentMemberAssignment { value: Some(value), .. } = read else {
        panic!("another kind of record")
    };
    assert_eq!(value.assigned_partitions[0].assignment_epochs, Some(vec![]));
    assert_eq!(value.partitions_pending_revocation[0].assignment_epochs, Some(vec![]));
}

/// `GroupCoordinatorRecordSerde#deserialize` of Kafka 4.2.1 takes the bytes of 4.4.0 and skips the tagged fields.
#[test]
fn an_older_coordinator_that_rewrites_a_newer_record_drops_the_assignment_epochs() {
    let read = decode(CURRENT_KEY, REVOKING_4_4_0).known_to(RecordFormat::WithoutAssignmentEpochs);
    assert_encodes(&read, RecordFormat::WithAssignmentEpochs, CURRENT_KEY, Some(REVOKING_4_2_1));
}

#[test]
fn a_coordinator_before_kip_1251_writes_everything_else_as_later_ones_do() {
    let record = commit(commit_value());
    assert_eq!(
        record.encode(RecordFormat::WithoutAssignmentEpochs).unwrap(),
        record.encode(RecordFormat::WithAssignmentEpochs).unwrap()
    );
}

// Ids

/// What `Uuid#toString` prints for the two topics, in the records' own `toString`.
#[test]
fn an_id_is_shown_as_kafka_shows_it() {
    assert_eq!(T1.to_string(), "AQIDBAUGBwgJCgsMDQ4PEA");
    assert_eq!(T2.to_string(), "ERITFBUWFxgZGhscHR4fIA");
    assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
}
