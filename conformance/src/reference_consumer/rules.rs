//! A variant's name, as the rules of the reference's client.

use fencepost_fixtures::Protocol;
use fencepost_fixtures::consumer::ResetPolicy;
use fencepost_fixtures::variants::{
    self, Confirmation, ConsumerRules, Detection, EpochMemory, LateFetch, Lookup, ResetEpoch, TopicIdentity,
    UndefinedAnswer, UnknownDivergence,
};
use fencepost_reference::client::rules as reference;
use fencepost_reference::client::slip::Slip;

/// The rule set of a trace where none is named.
const DEFAULT: &str = "strict";

/// The rules of `variant`, with the slip of this name if the reference has it. The error says why there is no such
/// variant.
pub(super) fn of(variant: Option<&str>, slip: Option<&str>) -> Result<reference::Rules, String> {
    let name = variant.unwrap_or(DEFAULT);
    let known = variants::find(Protocol::Consumer, name).map(|variant| variant.rules);
    let Some(variants::Rules::Consumer(rules)) = known else {
        return Err(format!("there is no variant `{name}` of consumer"));
    };
    let slip = Slip::ALL.iter().find(|known| Some(known.name()) == slip).copied();
    Ok(reference::Rules { slip, ..of_client(&rules) })
}

fn of_client(rules: &ConsumerRules) -> reference::Rules {
    reference::Rules {
        detection: match rules.detection {
            Detection::None => reference::Detection::None,
            Detection::Validation => reference::Detection::Validation,
            Detection::Leader => reference::Detection::Leader,
            Detection::LeaderNotAfterSeek => reference::Detection::LeaderNotAfterSeek,
        },
        confirmation: match rules.confirmation {
            Confirmation::EndOffset => reference::Confirmation::EndOffset,
            Confirmation::EndOffsetAndEpoch => reference::Confirmation::EndOffsetAndEpoch,
        },
        late_fetch: match rules.late_fetch {
            LateFetch::ByOffset => reference::LateFetch::ByOffset,
            LateFetch::ByLeaderEpoch => reference::LateFetch::ByLeaderEpoch,
        },
        memory: match rules.memory {
            EpochMemory::LastRecord => reference::EpochMemory::LastRecord,
            EpochMemory::UntilRestart => reference::EpochMemory::UntilRestart,
            EpochMemory::Kept => reference::EpochMemory::Kept,
        },
        lookup: match rules.lookup {
            Lookup::SeekWithEpoch => reference::Lookup::SeekWithEpoch,
            Lookup::FindThenSeek => reference::Lookup::FindThenSeek,
            Lookup::SeekToNearest => reference::Lookup::SeekToNearest,
        },
        reset_epoch: match rules.reset_epoch {
            ResetEpoch::Dropped => reference::ResetEpoch::Dropped,
            ResetEpoch::Taken => reference::ResetEpoch::Taken,
        },
        topic: match rules.topic {
            TopicIdentity::LeaderEpoch => reference::TopicIdentity::LeaderEpoch,
            TopicIdentity::PartitionEpoch => reference::TopicIdentity::PartitionEpoch,
            TopicIdentity::TopicIdOfMetadata => reference::TopicIdentity::IdOfMetadata,
            TopicIdentity::TopicId => reference::TopicIdentity::Id,
        },
        unknown: match rules.unknown {
            UnknownDivergence::EndOffset => reference::UnknownDivergence::EndOffset,
            UnknownDivergence::FirstLargerEpoch => reference::UnknownDivergence::FirstLargerEpoch,
            UnknownDivergence::Timestamp => reference::UnknownDivergence::Timestamp,
            UnknownDivergence::Earliest => reference::UnknownDivergence::Earliest,
            UnknownDivergence::Latest => reference::UnknownDivergence::Latest,
        },
        undefined: match rules.undefined {
            UndefinedAnswer::Truncated => reference::UndefinedAnswer::Truncated,
            UndefinedAnswer::CannotTell => reference::UndefinedAnswer::CannotTell,
        },
        slip: None,
    }
}

pub(super) const fn policy(policy: ResetPolicy) -> reference::ResetPolicy {
    match policy {
        ResetPolicy::Earliest => reference::ResetPolicy::Earliest,
        ResetPolicy::Latest => reference::ResetPolicy::Latest,
        ResetPolicy::None => reference::ResetPolicy::None,
    }
}
