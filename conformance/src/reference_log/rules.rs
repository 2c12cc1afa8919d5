//! A variant's name, as the rules of the reference log.

use fencepost_fixtures::Protocol;
use fencepost_fixtures::variants::{
    self, AbortedRule, ClampRule, ClientHorizon, CompactionRules, EmptiedMarker, HorizonRule, LastOfRound, RemovalRule,
    StampRule, Worth,
};
use fencepost_reference::storage::log_rules::{EmptyMarker, LogRules};
use fencepost_reference::storage::mutation::Mutation;
use fencepost_reference::storage::rules as reference;

/// The rule set of a trace where none is named.
const DEFAULT: &str = "delete-horizon-repaired";

/// The rules of `variant`, with one slip if there is one. The error says why the reference does not have them.
pub(super) fn of(variant: Option<&str>, mutation: Option<Mutation>) -> Result<LogRules, String> {
    let name = variant.unwrap_or(DEFAULT);
    let known = variants::find(Protocol::Compaction, name).map(|variant| variant.rules);
    let Some(variants::Rules::Compaction(rules)) = known else {
        return Err(format!("there is no variant `{name}` of compaction"));
    };
    let cleaner = reference::Rules { mutation, ..cleaner(&rules)? };
    let empty_marker = match rules.emptied_marker {
        EmptiedMarker::ForgetsEpoch => EmptyMarker::Ignored,
        EmptiedMarker::KeepsEpoch => EmptyMarker::RestoresEpoch,
    };
    Ok(LogRules { cleaner, empty_marker })
}

fn cleaner(rules: &CompactionRules) -> Result<reference::Rules, String> {
    let removal = match (rules.tombstones, rules.markers) {
        (HorizonRule::BatchHeader, HorizonRule::BatchHeader) => reference::Removal::DeleteHorizon,
        (HorizonRule::BatchHeader, HorizonRule::SegmentMtime) => reference::Removal::DeleteHorizonOfTombstones,
        (HorizonRule::SegmentMtime, HorizonRule::SegmentMtime) => reference::Removal::SegmentMtime,
        (HorizonRule::CheckpointPair, HorizonRule::SegmentMtime) => reference::Removal::CheckpointPair,
        (HorizonRule::CheckpointList, HorizonRule::SegmentMtime) => reference::Removal::CheckpointList,
        (HorizonRule::RecordHeader, HorizonRule::SegmentMtime) => reference::Removal::RecordHeader,
        (tombstones, markers) => {
            return Err(format!(
                "the reference does not have {tombstones:?} for tombstones with {markers:?} for markers"
            ));
        }
    };
    let last_of_round = match rules.last_of_round {
        LastOfRound::Off => reference::LastOfRound::Off,
        LastOfRound::UpperBound => reference::LastOfRound::UpperBound,
        LastOfRound::HighWatermark => reference::LastOfRound::HighWatermark,
    };
    Ok(reference::Rules {
        removal,
        worth: match rules.worth {
            Worth::Dirty => reference::Worth::Dirty,
            Worth::PassedHorizon => reference::Worth::PassedHorizon,
        },
        stamping: match rules.stamp {
            StampRule::Retained => reference::Stamping::WhereverRetained,
            StampRule::Mapped => reference::Stamping::OnlyIfMapped,
            StampRule::Clean => reference::Stamping::OnlyIfClean,
        },
        last_of_round,
        // What came with 4.0 beside the rule of the last batch (docs/compaction.md 0.1). The designs that KIP-534 rejected are
        // older.
        legacy: match (last_of_round, removal.has_horizons()) {
            (reference::LastOfRound::Off, _) | (_, false) => reference::LegacyBatches::PassThrough,
            (_, true) => reference::LegacyBatches::Convert,
        },
        index_filter: match rules.aborted {
            AbortedRule::WholeSegment => reference::IndexFilter::LogStart,
            AbortedRule::FromFirstDirty => reference::IndexFilter::FirstDirty,
        },
        client_horizon: match rules.client_horizon {
            ClientHorizon::Kept => reference::ClientHorizon::Kept,
            ClientHorizon::Cleared => reference::ClientHorizon::Cleared,
        },
        checkpoint_clamp: match rules.clamp {
            ClampRule::Compacted => reference::CheckpointClamp::WhileCompacting,
            ClampRule::Always => reference::CheckpointClamp::Always,
        },
        mutation: None,
    })
}

/// Whether a removal waits until every replica has what is to be removed (6.2).
pub(super) fn waits_for_replicas(variant: Option<&str>) -> bool {
    let known = variants::find(Protocol::Compaction, variant.unwrap_or(DEFAULT)).map(|variant| variant.rules);
    matches!(known, Some(variants::Rules::Compaction(rules)) if rules.removal == RemovalRule::Replicated)
}
