//! The value of `ConsumerGroupCurrentMemberAssignment`, loaded and written by the reference.
//!
//! A value is loaded as a coordinator loads it: from a log that holds its record and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fencepost_fixtures::fencing::{Fencing, GivenMember, LogRecord, Outcome};
use fencepost_fixtures::names::Epoch;
use fencepost_reference::coordinator as reference;
use fencepost_reference::coordinator::log::{Entry, Log};
use fencepost_reference::coordinator::records::{
    ConsumerGroupCurrentMemberAssignmentValue, CurrentTopicPartitions, MemberKey, Record, RecordFormat,
};
use fencepost_reference::coordinator::{Config, Coordinator, Rules};

use super::super::answers::phase;
use super::super::{GROUP, System};
use super::{current, name_of, topic_of};
use crate::target::{Decision, Fault};

/// The member to whom the value belongs. Its name is in the key, which a trace does not give.
const MEMBER: &str = "a";

fn key() -> MemberKey {
    MemberKey { group_id: GROUP.to_owned(), member_id: MEMBER.to_owned() }
}

/// Loads a value, given in hexadecimal. A value that can't be loaded is an error of the trace's kind: bytes that Kafka
/// would refuse too, which it calls an unknown server error.
pub(super) fn load(rules: &Rules, value: &str) -> Decision<Fencing> {
    let refused = Decision::Error("UNKNOWN_SERVER_ERROR".to_owned());
    let loaded = decode_hexadecimal(value).and_then(|value| {
        let key = Record::ConsumerGroupCurrentMemberAssignment { key: key(), value: None }.key_bytes().ok()?;
        let record = Record::decode(&key, Some(&value)).ok()?;
        let log = Log::from_entries([(0, Entry::Record { record, producer: None })]);
        let coordinator = Coordinator::load(rules.clone(), Config::default(), &log).ok()?;
        coordinator.describe(&GROUP.into())
    });
    let Some(member) = loaded.as_ref().and_then(|group| group.members.get(MEMBER)) else {
        return refused;
    };
    let with_epochs = |held: &BTreeMap<reference::TopicPartition, Option<reference::Epoch>>| {
        // Rules without assignment epochs go by the member epoch (docs/fencing.md 3.7).
        let each = held.iter().map(|(partition, epoch)| {
            (name_of(*partition), Epoch(epoch.map_or(member.member_epoch.0.max(0), |epoch| epoch.0)))
        });
        each.collect()
    };
    Decision::Outcome(Outcome::Member(GivenMember {
        epoch: Epoch(member.member_epoch.0),
        previous_epoch: Epoch(member.previous_member_epoch.0),
        state: phase(member.state),
        assigned: with_epochs(&member.assigned),
        pending_revocation: with_epochs(&member.pending_revocation),
        classic: member.classic,
    }))
}

/// Loads a log. One that can't be read is the trace's error, as above; one that the coordinator can't load is the answer.
pub(super) fn load_log(rules: &Rules, records: &[LogRecord]) -> Decision<Fencing> {
    let refused = || Decision::Error("UNKNOWN_SERVER_ERROR".to_owned());
    let mut entries = Vec::new();
    let mut topics = BTreeMap::new();
    for (offset, LogRecord { key, value }) in (0..).zip(records) {
        let value = match value.as_deref().map(decode_hexadecimal) {
            Some(None) => return refused(),
            value => value.flatten(),
        };
        let record = decode_hexadecimal(key).and_then(|key| Record::decode(&key, value.as_deref()).ok());
        let Some(record) = record else { return refused() };
        if let Record::ConsumerGroupCurrentMemberAssignment { value: Some(value), .. } = &record {
            let held = value.assigned_partitions.iter().chain(&value.partitions_pending_revocation);
            topics.extend(held.map(|entry| (entry.topic_id, topic_of(entry.topic_id))));
        }
        entries.push((offset, Entry::Record { record, producer: None }));
    }
    match Coordinator::load(rules.clone(), Config::default(), &Log::from_entries(entries)) {
        Ok(coordinator) => Decision::Outcome(Outcome::State(System::loaded(coordinator, topics).state())),
        Err(_) => refused(),
    }
}

/// Writes a member's value, in hexadecimal.
pub(super) fn write(rules: &Rules, member: &GivenMember) -> Result<Decision<Fencing>, Fault> {
    let assignment = current(member);
    let value = ConsumerGroupCurrentMemberAssignmentValue {
        member_epoch: assignment.member_epoch.0,
        previous_member_epoch: assignment.previous_member_epoch.0,
        state: assignment.state.to_byte(),
        assigned_partitions: by_topic(&assignment.assigned),
        partitions_pending_revocation: by_topic(&assignment.pending_revocation),
    };
    let record = Record::ConsumerGroupCurrentMemberAssignment { key: key(), value: Some(value) };
    let format: RecordFormat = rules.record_format;
    let encoded = record.known_to(format).encode(format).map_err(|error| Fault::broken(error.to_string()))?;
    Ok(Decision::Outcome(Outcome::Bytes(hexadecimal(&encoded.value.unwrap_or_default()))))
}

fn by_topic(held: &BTreeMap<reference::TopicPartition, reference::Epoch>) -> Vec<CurrentTopicPartitions> {
    let mut topics: Vec<CurrentTopicPartitions> = Vec::new();
    for (partition, epoch) in held {
        let of_same_topic = topics.last_mut().filter(|topic| topic.topic_id == partition.topic_id);
        if let Some(topic) = of_same_topic {
            topic.partitions.push(partition.partition);
            topic.assignment_epochs.get_or_insert_default().push(epoch.0);
        } else {
            topics.push(CurrentTopicPartitions {
                topic_id: partition.topic_id,
                partitions: vec![partition.partition],
                assignment_epochs: Some(vec![epoch.0]),
            });
        }
    }
    topics
}

fn decode_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if rest.is_empty() { pairs.iter().map(byte).collect() } else { None }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
