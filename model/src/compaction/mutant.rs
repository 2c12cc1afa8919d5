//! The slips that the model can be given: a guard undone, a public report brought back.
//!
//! Not among them is what the model has no word for: sizes of batches, buffers and segments (KAFKA-4019, KAFKA-5316,
//! KAFKA-5413, KAFKA-6264, KAFKA-6834, KAFKA-6854, KAFKA-9157, KAFKA-12889), record timestamps (KAFKA-4529), old formats
//! (KAFKA-4298), more than one log (KAFKA-7215, KAFKA-8725, KAFKA-6266, KAFKA-7321), and a consumer's own offsets
//! (KAFKA-7556).

macro_rules! mutants {
    ($($name:ident = $text:literal, $why:literal;)*) => {
        /// A slip of the cleaner or of the log. [`Mutant::None`] is none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub enum Mutant {
            /// No slip.
            #[default]
            None,
            $(#[doc = $why] $name,)*
        }

        impl Mutant {
            /// Every slip.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The name, as in a configuration's.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    Self::None => "none",
                    $(Self::$name => $text,)*
                }
            }

            /// What it undoes.
            #[must_use]
            pub fn summary(self) -> &'static str {
                match self {
                    Self::None => "",
                    $(Self::$name => $why,)*
                }
            }
        }
    };
}

mutants! {
    HighWatermarkIgnored = "high-watermark-ignored", "KAFKA-13194: a round is bounded by the first open transaction alone.";
    IndexOfMapped = "index-of-mapped-part", "KAFKA-13727: aborted transactions above the mapped part are lost.";
    TrackerPerGroup = "tracker-per-group", "KAFKA-8351: what is known of transactions is reset with each group.";
    LastNotKept = "last-batch-not-kept", "KAFKA-17076: no batch is kept for the end of the log.";
    ProducerNotKept = "producer-not-kept", "KAFKA-5490: a producer's last batch is not kept.";
    ProducerBySequence = "producer-by-first-sequence", "KAFKA-8335: every batch looks like its producer's last.";
    EmptiedMarkerFails = "emptied-marker-fails", "KAFKA-7467: the first record of an emptied marker is read.";
    EmptyOutputFails = "empty-output-fails", "KAFKA-7385: a segment of empty batches alone can't be written.";
    SegmentMustFit = "segment-must-fit", "KAFKA-3587: a segment whose keys don't fit into the map stops the cleaner.";
    FilteredTwice = "filtered-twice", "KAFKA-20036: a segment is filtered again, and the tracker is not set back.";
    GapNotSkipped = "gap-not-skipped", "KAFKA-8764: the mapped part ends before a gap at a segment's end.";
    AbortedStamped = "aborted-data-stamped", "Review of PR 10914: aborted data are treated as a marker without data.";
    MarkersByKey = "markers-by-key", "KAFKA-14055: markers are held against the map as if they had a key.";
    MarkersMapped = "markers-mapped", "crabka #528: markers enter the map; all of one kind share a key.";
    MarkersAtOnce = "markers-dropped-at-once", "Redpanda #8698: a marker goes with the first round that reads it.";
    ExpiresByData = "expires-by-data", "KAFKA-9144: a producer's age is that of its last data, not of its marker.";
    AbortedUnknown = "aborted-unknown", "Redpanda #7143: a round does not know what was aborted.";
    StaysAtHorizon = "stays-at-the-horizon", "2.6: what expires now is kept: `<=` for `<`.";
    HorizonRenewed = "horizon-renewed", "2.6 Table C: each rebuild sets the horizon anew.";
    EmptyDataUnseen = "empty-data-unseen", "3.1: an emptied data batch does not count as data of its transaction.";
    TombstonesAtOnce = "tombstones-dropped-at-once", "2.6 B5: a tombstone goes with the round that maps it.";
    TombstoneNotMapped = "tombstones-not-mapped", "2.4: a tombstone does not count for the map.";
    AbortedMapped = "aborted-data-mapped", "2.4: aborted data count for the map.";
    DirtyFromBound = "dirty-from-the-bound", "2.7: a partial round moves the first dirty offset to its bound.";
    CheckpointFirst = "checkpoint-first", "2.7: the checkpoint is written before the groups are swapped.";
    GroupsDescend = "old-files-deleted-last-first", "2.7: old files are renamed in descending order.";
    CheckpointNotReset = "checkpoint-below-the-start-taken", "KAFKA-8724: a checkpoint below the log's start is not set back, and the cleaner gives up.";
    StartInsideActive = "start-inside-the-active-segment-fails", "KAFKA-9133: a first dirty offset inside the active segment makes the cleaner give up.";
    EmptyRangeCleaned = "empty-range-cleaned", "KAFKA-9826: the segment that holds the first dirty offset looks dirty though nothing in it may be cleaned.";
    IndexNotCopied = "index-not-copied", "3.1: a cleaned segment gets no transaction index.";
}

impl Mutant {
    /// Why no property tells the slip from the right rules, for those where that is so.
    #[must_use]
    pub fn unseen(self) -> Option<&'static str> {
        match self {
            Self::ExpiresByData => Some("what it breaks is the coordinator's epoch, which the model leaves out"),
            _ => None,
        }
    }
}

impl std::fmt::Display for Mutant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.name())
    }
}
