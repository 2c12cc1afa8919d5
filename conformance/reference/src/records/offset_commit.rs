//! Committed offsets: kinds 0 and 1 of `__consumer_offsets` (docs/fencing.md 4.1), the only value with several versions.

use super::Uuid;

/// The key of a committed offset.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OffsetCommitKey {
    /// The group id.
    pub group_id: String,
    /// The topic's name.
    pub topic: String,
    /// The partition of the topic.
    pub partition: i32,
    /// Kind 0 instead of 1: same fields, same meaning, written by brokers of long ago. Kafka reads it as kind 1 and never
    /// writes it, so this is `false` in every record that a coordinator makes. The two are different keys for compaction.
    pub legacy: bool,
}

/// A committed offset.
///
/// Reading an older version leaves the fields that it lacks at Kafka's defaults, which are [`Default`]'s.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct OffsetCommitValue {
    /// The offset of the next record to process.
    pub offset: i64,
    /// The leader epoch of the last record processed, -1 when the client gave none. Since version 3.
    pub leader_epoch: i32,
    /// The client's own text; empty when there is none.
    pub metadata: String,
    /// When the commit came, in milliseconds since 1970.
    pub commit_timestamp_ms: i64,
    /// When the commit expires, in milliseconds since 1970; -1 for "by the broker's retention". Version 1 only.
    pub expire_timestamp_ms: i64,
    /// The topic's id, all zero when not known. Since version 4 (Kafka 4.1), tagged.
    pub topic_id: Uuid,
}

impl Default for OffsetCommitValue {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: String::new(),
            commit_timestamp_ms: 0,
            expire_timestamp_ms: -1,
            topic_id: Uuid::ZERO,
        }
    }
}
