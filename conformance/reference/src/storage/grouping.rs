//! Which segments are merged into one (docs/compaction.md 2.5; Kafka's `Cleaner#groupSegmentsBySize`).

use super::mutation::Mutation;
use super::names::{Millis, Offset};
use super::rules::Rules;

/// A segment, as far as a round needs to know of it before it reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceSegment {
    /// Its base offset, which names it.
    pub base: Offset,
    /// The size of its log file.
    pub bytes: u64,
    /// The size of its offset index.
    pub offset_index_bytes: u64,
    /// The size of its time index.
    pub time_index_bytes: u64,
    /// When its log file was last modified.
    pub mtime: Millis,
}

/// How large a merged segment may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupLimits {
    /// `segment.bytes`.
    pub segment_bytes: u64,
    /// `segment.index.bytes`, of each of its two indexes.
    pub segment_index_bytes: u64,
}

/// Cuts segments, in ascending order, into groups: each as long as the limits allow. The last offset of a segment is
/// taken for the one below the next segment's base, and below the bound of the round for the last.
#[must_use]
pub fn group_segments(
    mut segments: &[SourceSegment],
    upper_bound: Offset,
    limits: &GroupLimits,
    rules: Rules,
) -> Vec<Vec<SourceSegment>> {
    let mut groups = Vec::new();
    while let [first, rest @ ..] = segments {
        let mut group = vec![*first];
        let (mut bytes, mut index, mut time_index) = (first.bytes, first.offset_index_bytes, first.time_index_bytes);
        segments = rest;
        while let [next, rest @ ..] = segments {
            bytes = bytes.saturating_add(next.bytes);
            index = index.saturating_add(next.offset_index_bytes);
            time_index = time_index.saturating_add(next.time_index_bytes);
            let end = rest.first().map_or(upper_bound, |after| after.base);
            // KAFKA-12889: an empty one needs no place in the index.
            let is_free = next.bytes == 0 && !rules.slips(Mutation::EmptySegmentsNotMerged);
            // KAFKA-5413: the index tells offsets in 31 bits from the base.
            let in_range = is_free
                || end.0.saturating_sub(1).saturating_sub(first.base.0) <= i64::from(i32::MAX)
                || rules.slips(Mutation::GroupsIgnoreOffsetRange);
            if bytes > limits.segment_bytes
                || index > limits.segment_index_bytes
                || time_index > limits.segment_index_bytes
                || !in_range
            {
                break;
            }
            group.push(*next);
            segments = rest;
        }
        groups.push(group);
    }
    groups
}
