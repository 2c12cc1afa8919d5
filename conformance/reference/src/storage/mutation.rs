//! Single slips of the cleaner, each the undoing of one guard or one fix: what a test suite for a cleaner has to catch.
//!
//! A mutation is used at one place in the code. Where a fix is also a rule of some release
//! (KIP-534, KAFKA-17076, KAFKA-20452), the older value of that rule in [`Rules`](super::rules::Rules) is the slip.

macro_rules! mutations {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// One slip of the cleaner.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Mutation {
            $($(#[$doc])* $name,)*
        }

        impl Mutation {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name that fixtures and reports use.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

mutations! {
    // 2.4: the offset map
    /// 5.2, crabka: control records enter the offset map and are judged by their key.
    ControlRecordsKeyed = "markers-mapped",
    /// 2.4: records of aborted transactions enter the offset map.
    AbortedRecordsMapped = "aborted-data-mapped",
    /// 2.4: tombstones do not enter the offset map.
    TombstonesNotMapped = "tombstones-not-mapped",
    /// KAFKA-3587, KAFKA-3894: a segment with more keys than the map holds fails the round.
    FullMapFails = "segment-must-fit",
    /// 2.4: a full map still takes keys that it has.
    FullMapTakesKnownKeys = "full-map-takes-known-keys",
    /// KAFKA-8764: an offset gap at the end of a segment holds the first dirty offset back.
    GapHoldsFirstDirtyBack = "gap-not-skipped",
    /// 2.4: what is mapped reaches to the end of the batch in which the map became full.
    FullMapCoversItsBatch = "full-map-covers-its-batch",
    // 2.5: recopy
    /// KAFKA-8351: each group of segments starts with a transaction tracker of its own.
    TrackerPerGroup = "tracker-per-group",
    /// KAFKA-13727: aborted transactions above what is mapped are not known to the recopy.
    AbortedListEndsAtMapped = "index-of-mapped-part",
    /// KAFKA-5413: a group may span more offsets than an index can tell.
    GroupsIgnoreOffsetRange = "groups-ignore-offset-range",
    /// KAFKA-12889: an empty segment far from the base of a group is not merged into it.
    EmptySegmentsNotMerged = "empty-segments-not-merged",
    /// KAFKA-6854: a chunk of which nothing is retained looks like a buffer that is too small.
    DiscardedChunkLooksSmall = "discarded-chunk-looks-small",
    /// KAFKA-4019, KAFKA-6834: a batch above `max.message.bytes` fails the round.
    OversizedBatchFails = "oversized-batch-fails",
    /// KAFKA-20036: a chunk is filtered again without its batches being untold to the tracker.
    ChunkFilteredTwice = "filtered-twice",
    /// KAFKA-7385: headers of empty batches do not count in a chunk's largest offset.
    EmptyHeadersNotCounted = "empty-output-fails",
    // 2.6 Table A
    /// 2.6 A1: records of an aborted transaction stay until they are superseded.
    AbortedRecordsKept = "aborted-records-kept",
    /// PR 10914, 2.6 A1: what is left of an aborted transaction's batch is stamped like a marker.
    AbortedDataStamped = "aborted-data-stamped",
    /// 2.6 A3: a marker is discarded though data of its transaction were seen.
    MarkerIgnoresData = "marker-ignores-data",
    /// 2.6 A4: a marker goes in the pass that would stamp it.
    MarkerNotStamped = "marker-not-stamped",
    /// 2.6 A5: a marker goes before its horizon.
    MarkerIgnoresHorizon = "marker-ignores-horizon",
    /// 2.6 A6: a marker stays at its horizon and goes after it.
    MarkerStaysAtHorizon = "marker-stays-at-horizon",
    /// KAFKA-7467, 2.6 A7: the first record of an empty control batch is read.
    EmptyControlBatchRead = "emptied-marker-fails",
    /// 2.6 A8: control records of other types are discarded like markers.
    OtherControlDiscarded = "other-control-discarded",
    /// KAFKA-5490: the last data batch of a producer goes with its records.
    LastDataOfProducerDropped = "last-data-of-producer-dropped",
    /// KAFKA-8335: the marker that alone holds its producer's epoch goes.
    LastMarkerOfProducerDropped = "last-marker-of-producer-dropped",
    // 2.6 Table B
    /// 2.6 B1: records above what is mapped are judged like the others.
    UnmappedJudged = "unmapped-judged",
    /// 2.6 B2: records without a key stay.
    UnkeyedKept = "unkeyed-kept",
    /// 2.6 B3: a tombstone that is superseded waits for its horizon.
    SupersededTombstoneWaits = "superseded-tombstone-waits",
    /// 2.6 B4: an empty value counts as a tombstone.
    EmptyValueIsTombstone = "empty-value-is-tombstone",
    /// 2.6 B5: a tombstone without a horizon goes.
    UnstampedTombstoneDropped = "tombstones-dropped-at-once",
    /// 2.6 B6: a tombstone goes before its horizon.
    TombstoneIgnoresHorizon = "tombstone-ignores-horizon",
    /// 2.6 B7: a tombstone stays at its horizon and goes after it.
    TombstoneStaysAtHorizon = "tombstone-stays-at-horizon",
    // 2.6 Table C and 1.8
    /// 1.7, 2.6 Table C: a batch with a tombstone gets a new horizon in each pass.
    HorizonRenewed = "horizon-renewed",
    /// 2.6 Table C: a rebuilt batch loses its horizon.
    HorizonLostInRebuild = "horizon-lost-in-rebuild",
    /// KAFKA-4529: the horizon is counted from the largest time of the records.
    HorizonFromRecordTimes = "horizon-from-record-times",
    /// 1.7: stamping leaves the deltas, so that the records' times move.
    DeltasKeptWhenStamped = "deltas-kept-when-stamped",
    /// KAFKA-4298: a batch is copied though its records have another format.
    InnerMagicIgnored = "inner-magic-ignored",
    /// 1.8: the last offset of a rebuilt batch is that of its last record.
    LastOffsetRecomputed = "last-offset-recomputed",
    /// 1.8: the max timestamp of a rebuilt batch is that of the batch before.
    MaxTimestampKept = "max-timestamp-kept",
    // 3.1: the tracker
    /// 3.1: empty batches are not data of their transaction.
    EmptyBatchesAreNoData = "empty-data-unseen",
    /// 3.1: the entry of an aborted transaction goes with its data, one pass early.
    AbortedEntryDropped = "aborted-entry-dropped",
    // 2.1, 2.2, 2.7: which log, and what is remembered
    /// KAFKA-13194: a round may go beyond the high watermark.
    CleansAboveHighWatermark = "high-watermark-ignored",
    /// KAFKA-9826: the bound of a round is not raised to its start.
    BoundBelowFirstDirty = "bound-below-first-dirty",
    /// KAFKA-8724, KAFKA-9133: a checkpoint outside of the log is believed.
    CheckpointNotReset = "checkpoint-not-reset",
    /// KAFKA-6266: a corrected checkpoint is not written.
    CorrectedCheckpointNotWritten = "corrected-checkpoint-not-written",
    /// KIP-346, KAFKA-7215: a partition that fails is tried again and again.
    UncleanableNotMarked = "uncleanable-not-marked",
    /// KIP-354, KAFKA-7321: a log with little dirt is never cleaned, however old.
    MaxCompactionLagIgnored = "max-compaction-lag-ignored",
    // Wider slips, each of several rows or of the disk
    /// KAFKA-17076: no batch is kept for the end of the log.
    LastBatchNotKept = "last-batch-not-kept",
    /// KAFKA-5490: a producer's last batch is not kept, be it data or a marker.
    ProducerNotKept = "producer-not-kept",
    /// KAFKA-8335: every data batch looks like the last of its producer.
    ProducerByFirstSequence = "producer-by-first-sequence",
    /// Redpanda #8698: a marker goes with the first round that reads it.
    MarkersDroppedAtOnce = "markers-dropped-at-once",
    /// Redpanda #7143: a round does not know what was aborted.
    AbortedUnknown = "aborted-unknown",
    /// 2.6 A6 and B7: what expires now is kept: `<=` for `<`.
    StaysAtTheHorizon = "stays-at-the-horizon",
    /// 2.7: a partial round moves the first dirty offset to its bound.
    DirtyFromTheBound = "dirty-from-the-bound",
    /// 2.7: the checkpoint is written before the groups are swapped in.
    CheckpointFirst = "checkpoint-first",
    /// 2.7: the old files are renamed in descending order.
    OldFilesDeletedLastFirst = "old-files-deleted-last-first",
    /// 3.1: a cleaned segment gets no transaction index.
    IndexNotCopied = "index-not-copied",
}

impl std::fmt::Display for Mutation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
