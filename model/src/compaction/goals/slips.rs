//! What each slip breaks: a goal for every property that fails in the slip's row of the matrix.
//!
//! A slip has one row, the smallest bounds that show it (`slips.rs` of the model), so that its shortest counterexamples are
//! there. Its twin is the same under the right rules.
//!
//! Left out: `markers-by-key`, since a trace's keys are words and a marker's key is none; S5 of `aborted-data-stamped`,
//! since a marker without data is stamped once, and the slip's words say no more of aborted data.

use super::super::Compaction;
use super::super::mutant::Mutant;
use crate::protocol::{Aim, Catalogue as _, Goal};

/// A slip, and each property that it breaks with what is seen to go wrong.
type Broken = (Mutant, &'static [(&'static str, &'static str)]);

const BROKEN: &[Broken] = &[
    (
        Mutant::HighWatermarkIgnored,
        &[
            ("S1", "A round maps what is above the high watermark, and drops a value whose successor may yet be lost"),
            ("S12", "A round's bound is the first open transaction alone, above the high watermark"),
        ],
    ),
    (
        Mutant::IndexOfMapped,
        &[
            ("L3", "An aborted transaction above the mapped part is not known to the recopy, and its data stay"),
            (
                "S1",
                "An aborted transaction above the mapped part is not known, and its data supersede a committed value",
            ),
            ("S10", "Aborted data lose their entry above the mapped part, and a read_committed reader gets them"),
            (
                "S8",
                "A marker goes, since its aborted transaction above the mapped part was not known, and its data stay",
            ),
            ("S9", "Aborted data above the mapped part lose their entry in the transaction index"),
        ],
    ),
    (
        Mutant::LastNotKept,
        &[(
            "S17",
            "A round drops the last batch below the high watermark, and who copies the log never learns its end",
        )],
    ),
    (
        Mutant::ProducerNotKept,
        &[
            ("S16", "A producer's last batch goes, and a replay does not know its last sequence"),
            ("S16'", "A producer's last batch goes, and a replay does not know its epoch"),
        ],
    ),
    (
        Mutant::ProducerBySequence,
        &[("L1", "Every batch looks like its producer's last, and what should go stays as a header")],
    ),
    (Mutant::EmptiedMarkerFails, &[("L5", "The first record of an emptied marker is read, and the cleaner gives up")]),
    (Mutant::EmptyOutputFails, &[("L5", "A segment of headers alone can't be written, and the cleaner gives up")]),
    (Mutant::SegmentMustFit, &[("L5", "A segment whose keys do not fit into the map stops the cleaner")]),
    (
        Mutant::FilteredTwice,
        &[("S1", "A segment is filtered a second time with the tracker of the first, and a committed value goes")],
    ),
    (
        Mutant::GapNotSkipped,
        &[("L5", "The mapped part ends before a gap at a segment's end, and the round gets nowhere")],
    ),
    (
        Mutant::AbortedStamped,
        &[
            ("L1", "Aborted data get a horizon in place of going, and a superseded record stays"),
            ("L3", "Aborted data get a horizon in place of going"),
        ],
    ),
    (
        Mutant::MarkersMapped,
        &[
            ("S11", "A later ABORT supersedes an earlier one, and an entry of the transaction index has no marker"),
            ("S7", "A later marker supersedes an earlier one of its kind"),
        ],
    ),
    (
        Mutant::MarkersAtOnce,
        &[
            ("S1", "A marker goes with the first round that reads it, and a committed value is lost"),
            ("S11", "An ABORT goes with the first round that reads it, and its entry stays"),
            ("S16", "A marker goes with the first round that reads it, and a replay does not know the last sequence"),
            ("S16'", "A marker goes with the first round that reads it, and a replay does not know the epoch"),
            ("S17", "The last batch below the high watermark is a marker, and goes with the first round that reads it"),
            ("S7", "A marker goes with the first round that reads it"),
            ("S8", "A marker goes with the first round that reads it, before its data"),
        ],
    ),
    (
        Mutant::AbortedUnknown,
        &[
            ("L3", "A round does not know what was aborted, and aborted data stay"),
            ("S1", "A round does not know what was aborted, and aborted data supersede a committed value"),
            ("S10", "A round does not know what was aborted, and a read_committed reader gets aborted data"),
            (
                "S9",
                "A round does not know what was aborted, and aborted data lose their entry in the transaction index",
            ),
        ],
    ),
    (
        Mutant::StaysAtHorizon,
        &[
            ("L2", "What expires now is kept, and a tombstone stays a round too long"),
            ("L6", "What expires now is kept, and stays for ever in an idle log"),
        ],
    ),
    (Mutant::HorizonRenewed, &[("S5", "Each rebuild sets the horizon anew")]),
    (Mutant::EmptyDataUnseen, &[("S8", "An emptied data batch does not count as data, and the marker goes before it")]),
    (
        Mutant::TombstonesAtOnce,
        &[
            ("S3", "A tombstone goes with the round that maps it, and a reader who has just met the value misses it"),
            ("S3'", "A tombstone goes with the round that maps it, and a reader never hears of the deletion"),
            ("S7", "A tombstone goes with the round that maps it"),
        ],
    ),
    (Mutant::TombstoneNotMapped, &[("S13", "A tombstone does not count for the map, and the value below it stays")]),
    (Mutant::AbortedMapped, &[("S1", "Aborted data count for the map, and a committed value goes")]),
    (
        Mutant::DirtyFromBound,
        &[(
            "S13",
            "A partial round moves the first dirty offset to its bound, and what it did not map counts as clean",
        )],
    ),
    (
        Mutant::CheckpointFirst,
        &[(
            "S13",
            "The checkpoint is written before the groups are swapped, and an aborted round leaves what counts as clean",
        )],
    ),
    (
        Mutant::GroupsDescend,
        &[
            (
                "S15",
                "Old files are renamed last first, and after a crash an older segment comes back between newer ones",
            ),
            ("S2", "Old files are renamed last first, and after a crash a deleted key comes back"),
            ("S7", "Old files are renamed last first, and a client's horizon lets the tombstone go at once"),
        ],
    ),
    (
        Mutant::IndexNotCopied,
        &[("S8", "A cleaned segment gets no transaction index, and a marker goes before its data")],
    ),
];

/// What the oracle does as well, or what no trace can show.
const ALIKE: &[(Mutant, &str)] = &[(Mutant::StaysAtHorizon, "L6")];

pub(super) fn goals(goals: &mut Vec<Goal>) {
    let configurations: Vec<_> = Compaction::configurations().into_iter().map(|one| one.name).collect();
    for (mutant, properties) in BROKEN {
        let of = |name: &&String| name.split('/').nth(1).is_some_and(|rules| rules.ends_with(&format!("+{mutant}")));
        let Some(configuration) = configurations.iter().find(of) else { continue };
        for (property, title) in *properties {
            let text = format!("compaction/slip/{mutant}/{}", property.to_lowercase().replace('\'', "-whole"));
            let twin =
                if ALIKE.contains(&(*mutant, property)) { None } else { format!("{text}/repaired").parse().ok() };
            let Ok(id) = text.parse() else { continue };
            goals.push(Goal {
                id,
                title: (*title).to_owned(),
                configuration: configuration.clone(),
                aim: Aim::Violation(property),
                rests_on: vec!["KIP-534".to_owned()],
                twin,
            });
        }
    }
}
