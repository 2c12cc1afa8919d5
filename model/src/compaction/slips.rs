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
    let producer = Bounds { plain: false, ..transaction };
    let kafka = "kafka-4.4";
    let plain = ("plain", base);
    let markers = ("transaction", transaction);
    let small = ("transaction-map-of-one", partial);
    [
        (Mutant::HighWatermarkIgnored, ORACLE, ("lagging", Bounds { lagging: true, ..base })),
        (Mutant::IndexOfMapped, ORACLE, small),
        (Mutant::TrackerPerGroup, ORACLE, markers),
        (Mutant::LastNotKept, ORACLE, plain),
        (Mutant::ProducerNotKept, ORACLE, ("idempotent", Bounds { idempotent: true, ..transaction })),
        (Mutant::ProducerBySequence, ORACLE, ("watched", Bounds { watch: true, retention: 1, offsets: 5, ..producer })),
        (Mutant::EmptiedMarkerFails, ORACLE, ("producer", producer)),
        (Mutant::EmptyOutputFails, ORACLE, ("producer", producer)),
        (Mutant::SegmentMustFit, ORACLE, ("map-of-one", Bounds { map_least: 1, map_most: 1, ..base })),
        (Mutant::FilteredTwice, ORACLE, markers),
        (Mutant::GapNotSkipped, ORACLE, ("gap", Bounds { rolls: 3, offsets: 4, ..base })),
        (Mutant::AbortedStamped, ORACLE, markers),
        (Mutant::MarkersByKey, ORACLE, markers),
        (Mutant::MarkersMapped, ORACLE, markers),
        (Mutant::MarkersAtOnce, ORACLE, markers),
        (Mutant::ExpiresByData, ORACLE, ("expiry", Bounds { expiry: Some(1), ..transaction })),
        (Mutant::AbortedUnknown, ORACLE, markers),
        (Mutant::StaysAtHorizon, ORACLE, ("watched", watched)),
        (Mutant::HorizonRenewed, kafka, ("watched", watched)),
        (Mutant::EmptyDataUnseen, ORACLE, ("producer-protocol-1", Bounds { protocol: 1, ..producer })),
        (Mutant::TombstonesAtOnce, ORACLE, ("reader", Bounds { reader: READER, ..base })),
        (Mutant::TombstoneNotMapped, ORACLE, plain),
        (Mutant::AbortedMapped, ORACLE, markers),
        (Mutant::DirtyFromBound, ORACLE, ("map-of-one", Bounds { map_least: 1, map_most: 1, ..base })),
        (Mutant::CheckpointFirst, ORACLE, ("abort", Bounds { grain: Grain::Steps, aborts: true, ..base })),
        (
            Mutant::GroupsDescend,
            kafka,
            (
                "crash",
                Bounds {
                    grain: Grain::Steps,
                    crashes: true,
                    capacity: 3,
                    rolls: 3,
                    map_least: 1,
                    client_horizons: true,
                    ..base
                },
            ),
        ),
        (Mutant::IndexNotCopied, ORACLE, small),
    ]
    .map(|(mutant, variant, (name, bounds))| (mutant, variant, name, bounds))
    .to_vec()
}
