//! A row for every slip, in bounds that show it.

use super::bounds::{Bounds, Grain};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use super::rows::READER;
use crate::protocol::Tier::Smoke;

/// Every slip that some bounds show.
pub(super) fn slips(list: &mut List) {
    for (mutant, variant, name, bounds) in table() {
        list.add(Smoke, variant, mutant, name, "small bounds that show the slip", bounds);
    }
}

fn table() -> Vec<(Mutant, &'static str, &'static str, Bounds)> {
    let base = Bounds { keys: 2, offsets: 3, clock: 3, ..Bounds::BASE };
    let watched = Bounds { watch: true, retention: 1, rolls: 3, ..base };
    let transaction = Bounds { offsets: 4, clock: 3, ..Bounds::TRANSACTION };
    let partial = Bounds { map_least: 1, map_most: 1, ..transaction };
    // A map of one makes a round of each record, and so passes enough over a marker.
    let passes = Bounds { offsets: 5, retention: 1, clock: 2, deletable: 0, ..partial };
    let kafka = "kafka-4.4";
    let plain = ("plain", base);
    let markers = ("transaction", transaction);
    let small = ("transaction-map-of-one", partial);
    let many = ("many-passes", passes);
    let many_protocol_1 = ("many-passes-protocol-1", Bounds { protocol: 1, ..passes });
    let unkeyed = Bounds { unkeyed: true, rolls: 1, clock: 1, ..base };
    let deleted = Bounds { deletes_records: true, clock: 1, ..base };
    let old_files = Bounds {
        grain: Grain::Steps,
        crashes: true,
        capacity: 3,
        offsets: 4,
        rolls: 3,
        clock: 1,
        client_horizons: true,
        ..base
    };
    [
        (Mutant::HighWatermarkIgnored, ORACLE, ("lagging", Bounds { lagging: true, ..base })),
        (Mutant::IndexOfMapped, ORACLE, small),
        (Mutant::TrackerPerGroup, ORACLE, ("many-passes-two-keys", Bounds { keys: 2, offsets: 4, ..passes })),
        (Mutant::LastNotKept, ORACLE, ("unkeyed", unkeyed)),
        (Mutant::ProducerNotKept, ORACLE, ("idempotent", Bounds { idempotent: true, ..transaction })),
        (Mutant::ProducerBySequence, ORACLE, ("idempotent", Bounds { idempotent: true, ..transaction })),
        (Mutant::EmptiedMarkerFails, ORACLE, many),
        (Mutant::EmptyOutputFails, ORACLE, ("transaction-protocol-1", Bounds { protocol: 1, ..transaction })),
        (Mutant::SegmentMustFit, ORACLE, ("map-of-one", Bounds { map_least: 1, map_most: 1, ..base })),
        (Mutant::FilteredTwice, ORACLE, markers),
        (Mutant::GapNotSkipped, ORACLE, ("unkeyed-abort", Bounds { grain: Grain::Steps, aborts: true, ..unkeyed })),
        (Mutant::AbortedStamped, ORACLE, markers),
        (Mutant::MarkersByKey, ORACLE, markers),
        (Mutant::MarkersMapped, ORACLE, markers),
        (Mutant::MarkersAtOnce, ORACLE, markers),
        (Mutant::ExpiresByData, ORACLE, ("expiry", Bounds { expiry: Some(1), ..transaction })),
        (Mutant::AbortedUnknown, ORACLE, markers),
        (Mutant::StaysAtHorizon, ORACLE, ("watched", watched)),
        (Mutant::HorizonRenewed, kafka, ("retention-of-two", Bounds { retention: 2, rolls: 2, clock: 2, ..base })),
        (Mutant::EmptyDataUnseen, ORACLE, many_protocol_1),
        (Mutant::TombstonesAtOnce, ORACLE, ("reader", Bounds { reader: READER, ..base })),
        (Mutant::TombstoneNotMapped, ORACLE, plain),
        (Mutant::AbortedMapped, ORACLE, markers),
        (Mutant::DirtyFromBound, ORACLE, ("map-of-one", Bounds { map_least: 1, map_most: 1, ..base })),
        (Mutant::CheckpointFirst, ORACLE, ("abort", Bounds { grain: Grain::Steps, aborts: true, ..base })),
        (Mutant::GroupsDescend, kafka, ("crash", old_files)),
        (
            Mutant::CheckpointNotReset,
            ORACLE,
            ("deleted-segments", Bounds { deletes: true, clock: 1, rolls: 3, ..base }),
        ),
        (Mutant::StartInsideActive, ORACLE, ("deleted-records", deleted)),
        (Mutant::EmptyRangeCleaned, ORACLE, ("deleted-records", deleted)),
        (Mutant::IndexNotCopied, ORACLE, many_protocol_1),
    ]
    .map(|(mutant, variant, (name, bounds))| (mutant, variant, name, bounds))
    .to_vec()
}
