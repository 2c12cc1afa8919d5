//! What is not a record: each kind of damage, and the error that says what and where (docs/fencing.md 4.1).
//!
//! Each damaged record is one of Kafka's (see `records_kafka_bytes.rs`) with one thing changed. Where Kafka 4.4.0 takes
//! what is refused here, or takes it differently, the test says so: that was seen with
//! `GroupCoordinatorRecordSerde#deserialize` of the Maven artefact `org.apache.kafka:kafka-group-coordinator:4.4.0`.

use fencepost_reference::coordinator::records::{ConsumerGroupMetadataValue, Fault, Part, Record, RecordError};

const GROUP_KEY: &str = "0003 000167";
const MEMBER_KEY: &str = "0005 000167 00016d";

/// The bytes that hex digits stand for; spaces are for the reader.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        hex.chars().filter_map(|c| c.to_digit(16)).map(|digit| u8::try_from(digit).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn error(key: &str, value: Option<&str>) -> RecordError {
    Record::decode(&bytes(key), value.map(bytes).as_deref()).unwrap_err()
}

#[track_caller]
fn assert_malformed(key: &str, value: Option<&str>, part: Part, field: &str, at: usize, fault: Fault) {
    match error(key, value) {
        RecordError::Malformed { part: got_part, field: got_field, at: got_at, fault: got_fault } => {
            assert_eq!((got_part, got_field, got_at, got_fault), (part, field, at, fault));
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_value_malformed(value: &str, field: &str, at: usize, fault: Fault) {
    assert_malformed(GROUP_KEY, Some(value), Part::Value, field, at, fault);
}

#[track_caller]
fn assert_hash(value: &str, metadata_hash: i64) {
    assert_eq!(
        Record::decode(&bytes(GROUP_KEY), Some(&bytes(value))),
        Ok(Record::ConsumerGroupMetadata {
            group_id: "g".to_owned(),
            value: Some(ConsumerGroupMetadataValue { epoch: 3, metadata_hash }),
        }),
    );
}

#[test]
fn an_error_says_where_which_field_and_what() {
    assert_eq!(
        error(GROUP_KEY, Some("0000 000003")).to_string(),
        "value, byte 2, field Epoch: 4 bytes are needed, 3 are left"
    );
}

// Kinds and versions

/// Kafka knows kind 2, the group of the classic protocol; 64 it does not know, and its loader skips that.
#[test]
fn a_kind_that_is_not_known_here_is_told_apart_from_damage() {
    for (key, kind) in [("0002 000167", 2), ("0040 000167", 64), ("ffff 000167", -1)] {
        assert_eq!(error(key, None), RecordError::UnknownKind { kind });
    }
}

#[test]
fn a_version_that_no_kafka_wrote_is_refused() {
    for (version, hex) in [(1, "0001 00000003 00"), (-1, "ffff 00000003 00")] {
        assert_eq!(error(GROUP_KEY, Some(hex)), RecordError::UnknownVersion { kind: 3, version });
    }
}

#[test]
fn a_commit_has_versions_0_to_4() {
    for (version, hex) in [(5, "0005"), (-1, "ffff")] {
        let value = format!("{hex} 000000000000000a 00000007 036d64 00000000000003e8 00");
        assert_eq!(
            error("0001 000167 000174 00000001", Some(&value)),
            RecordError::UnknownVersion { kind: 1, version }
        );
    }
}

#[test]
fn a_legacy_commit_has_version_0_alone() {
    assert_eq!(
        error("0000 000167 000174 00000001", Some("0001 000000000000000a 00026d64 00000000000003e8 00000000000007d0")),
        RecordError::UnknownVersion { kind: 0, version: 1 }
    );
}

// Bytes missing and left over

#[test]
fn a_key_or_a_value_without_its_number_is_refused() {
    assert_malformed("", None, Part::Key, "kind", 0, Fault::Truncated { needed: 2, left: 0 });
    assert_malformed("00", None, Part::Key, "kind", 0, Fault::Truncated { needed: 2, left: 1 });
    assert_value_malformed("", "version", 0, Fault::Truncated { needed: 2, left: 0 });
}

#[test]
fn a_string_that_goes_beyond_the_end_is_refused() {
    assert_malformed("0003 000267", None, Part::Key, "GroupId", 4, Fault::Truncated { needed: 2, left: 1 });
}

/// Kafka ignores them.
#[test]
fn bytes_left_over_behind_the_key_or_the_value_are_refused() {
    assert_malformed("0003 000167 ff", None, Part::Key, "end of the key", 5, Fault::LeftOver { left: 1 });
    assert_value_malformed("0000 00000003 00 ff", "end of the value", 7, Fault::LeftOver { left: 1 });
}

#[test]
fn a_tombstones_key_is_read_as_strictly() {
    assert_malformed("0008 000167", None, Part::Key, "MemberId", 5, Fault::Truncated { needed: 2, left: 0 });
}

// Lengths

#[test]
fn a_null_string_is_refused_where_none_may_be_null() {
    assert_malformed("0003 ffff", None, Part::Key, "GroupId", 4, Fault::Null);
    assert_malformed(MEMBER_KEY, Some("0000 00 00 00"), Part::Value, "ClientId", 5, Fault::Null);
}

/// Kafka takes it for null.
#[test]
fn a_negative_length_is_impossible() {
    assert_malformed("0003 fffe", None, Part::Key, "GroupId", 4, Fault::ImpossibleLength { length: -2, left: 0 });
}

/// The count promises four thousand million topics. Kafka takes it for null, and refuses that.
#[test]
fn a_count_beyond_the_end_is_refused_before_anything_is_allocated() {
    assert_malformed(
        "0007 000167 00016d",
        Some("0000 ffffffff0f 00"),
        Part::Value,
        "TopicPartitions",
        7,
        Fault::ImpossibleLength { length: 0xffff_fffe, left: 1 },
    );
}

#[test]
fn a_null_array_is_refused() {
    assert_malformed("0007 000167 00016d", Some("0000 00 00"), Part::Value, "TopicPartitions", 3, Fault::Null);
}

#[test]
fn a_compact_string_longer_than_kafkas_longest_is_refused() {
    let value = format!("0004 000000000000000a 00000007 818002 {} 00000000000003e8 00", "78".repeat(32768));
    assert_malformed(
        "0001 000167 000174 00000001",
        Some(&value),
        Part::Value,
        "metadata",
        17,
        Fault::StringTooLong { length: 32768 },
    );
}

/// Kafka puts a replacement character into the id, so that two groups could become one.
#[test]
fn a_string_that_is_not_utf_8_is_refused() {
    assert_malformed("0003 0001ff", None, Part::Key, "GroupId", 4, Fault::NotUtf8);
}

#[test]
fn a_varint_of_more_than_five_bytes_is_refused() {
    assert_value_malformed("0000 00000003 808080808000", "tagged fields", 11, Fault::VarintTooLong);
}

/// Kafka drops the bits beyond the 32nd.
#[test]
fn a_varint_of_more_than_32_bits_is_refused() {
    assert_value_malformed("0000 00000003 8080808010", "tagged fields", 11, Fault::VarintTooLong);
}

/// So does Kafka.
#[test]
fn a_varint_with_needless_bytes_is_read() {
    assert_hash("0000 00000003 8000", 0);
}

// Tagged fields

#[test]
fn a_tagged_field_that_is_not_known_is_skipped() {
    assert_hash("0000 00000003 01 05 01 99", 0);
    assert_hash("0000 00000003 02 00 08 0000000000000001 05 01 99", 1);
}

/// Kafka takes the last.
#[test]
fn a_tag_that_stands_twice_is_refused() {
    assert_value_malformed(
        "0000 00000003 02 00 08 0000000000000001 00 08 0000000000000002",
        "tagged fields",
        18,
        Fault::TagOrder { tag: 0 },
    );
}

/// Kafka reads them.
#[test]
fn tags_out_of_order_are_refused() {
    assert_value_malformed(
        "0000 00000003 02 05 01 99 00 08 0000000000000002",
        "tagged fields",
        11,
        Fault::TagOrder { tag: 0 },
    );
}

/// Kafka does not look at the size of a field that it knows, and would read on behind it.
#[test]
fn a_tagged_field_must_have_the_size_that_it_says() {
    assert_value_malformed(
        "0000 00000003 01 00 09 0000000000000001 00",
        "tagged fields",
        17,
        Fault::LeftOver { left: 1 },
    );
    assert_value_malformed(
        "0000 00000003 01 00 07 0000000000000001",
        "MetadataHash",
        9,
        Fault::Truncated { needed: 8, left: 7 },
    );
}

#[test]
fn an_unknown_tagged_field_beyond_the_end_is_refused() {
    assert_value_malformed(
        "0000 00000003 01 05 ff01",
        "tagged fields",
        10,
        Fault::ImpossibleLength { length: 255, left: 0 },
    );
    assert_value_malformed(
        "0000 00000003 01 05 ffffffff0f",
        "tagged fields",
        13,
        Fault::ImpossibleLength { length: 0xffff_ffff, left: 0 },
    );
}

/// Kafka takes 2 for "there".
#[test]
fn a_structure_is_marked_as_null_or_as_there_and_nothing_else() {
    assert_malformed(
        MEMBER_KEY,
        Some("0000 00 00 0263 032f68 01 00 000003e8 00 01 00 07 02 00001770 01 00"),
        Part::Value,
        "ClassicMemberMetadata",
        20,
        Fault::NoMarker { marker: 2 },
    );
}
