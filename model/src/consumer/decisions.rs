//! The consumer's decisions as pure functions (`docs/consumers.md` 2, 3, 4, 7): `Metadata#updateLatestMetadata`,
//! `SubscriptionState#maybeCompleteValidation`, `FetchCollector#handleInitializeErrors`, and what the alternatives do.

use super::bounds::Setting;
use super::labels::{Label, Trail};
use super::log::{Epoch, EpochEnd, Epochs, Offset, UNDEFINED};
use super::message::{Heard, Position, Refusal, Spec};
use super::mutant::Mutant;
use super::rules::{Check, History, Identity, OnePair};
use crate::replication::labels::Trail as CacheTrail;

/// What a client does about an answer to its validation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// It fetches: the position holds.
    Fetches,
    /// It goes on there. `again`: and validates that place in turn.
    MovesTo {
        /// The offset.
        offset: Offset,
        /// The epoch of the record before it.
        epoch: Epoch,
        /// Whether it is validated.
        again: bool,
    },
    /// It looks for an offset.
    Resets(Spec),
    /// The application is told, with the place where the logs part, if that is known.
    Throws(EpochEnd),
    /// It asks again, after a while.
    Retries,
}

/// What a client does about an answer where an epoch ends (3). `closest`: the application asked for the nearest place.
pub fn on_validation_reply(
    setting: &Setting,
    position: &Position,
    history: &Epochs,
    closest: bool,
    reply: Result<EpochEnd, Refusal>,
    trail: &mut Trail,
) -> Reaction {
    let rules = &setting.rules;
    let policy = setting.bounds.reset;
    let Ok(at) = reply else {
        trail.mark(Label::ValidationRefused);
        return Reaction::Retries;
    };
    if at.epoch == UNDEFINED || at.end == UNDEFINED {
        trail.mark(Label::ValidationUndefined);
        if rules.undefined_is_fine || setting.has(Mutant::UndefinedIgnored) {
            return Reaction::Fetches;
        }
        return policy.map_or(Reaction::Throws(EpochEnd::UNDEFINED), Reaction::Resets);
    }
    let below = at.end < position.offset;
    let other = rules.check == Check::EpochAndEnd && at.epoch != position.epoch;
    if !below && !other {
        trail.mark(Label::ValidationHolds);
        return Reaction::Fetches;
    }
    trail.mark(if below { Label::ValidationBelow } else { Label::ValidationOtherEpoch });
    let throws = policy.is_none() && !closest;
    if rules.history != History::OnePair && !history.is_empty() {
        let (offset, epoch, finished) = divergence(history, position.offset, at, trail);
        return if throws && finished {
            Reaction::Throws(EpochEnd { epoch, end: offset })
        } else {
            Reaction::MovesTo { offset, epoch, again: !finished }
        };
    }
    if throws {
        // Only an end below the position says where the logs part.
        return Reaction::Throws(if below { at } else { EpochEnd::UNDEFINED });
    }
    if at.epoch != position.epoch && rules.check == Check::EpochAndEnd {
        trail.mark(Label::OnePairDoesNotTell);
        match rules.one_pair {
            OnePair::EndOffset => {
                if let (false, Some(strategy)) = (below, policy) {
                    return Reaction::Resets(strategy);
                }
            }
            OnePair::FirstLargerEpoch => {}
            OnePair::Timestamp => return Reaction::Resets(Spec::At(10 * position.epoch + position.offset - 1)),
            OnePair::Earliest => return Reaction::Resets(Spec::Earliest),
            OnePair::Latest => return Reaction::Resets(Spec::Latest),
        }
    }
    Reaction::MovesTo { offset: at.end.min(position.offset), epoch: at.epoch, again: false }
}

/// Where the logs part, by all that the client remembers of its epochs, and whether that is certain (7c; as a follower
/// does, KIP-279). The offset, its epoch, and whether the walk is over.
pub fn divergence(history: &Epochs, end: Offset, at: EpochEnd, trail: &mut Trail) -> (Offset, Epoch, bool) {
    let own = history.end_of(at.epoch, end, &mut CacheTrail::default());
    if own.end == UNDEFINED {
        // Only where nothing is remembered of so early an epoch.
        return (at.end.min(end), at.epoch, true);
    }
    if own.epoch == at.epoch {
        trail.mark(Label::WalkFound);
        (own.end.min(at.end).min(end), at.epoch, true)
    } else {
        trail.mark(Label::WalkAgain);
        (own.end.min(end), own.epoch, false)
    }
}

/// What a client does about a refused fetch (3.7 of replication; 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchError {
    /// It asks for metadata, forgets the preferred replica, and fetches on.
    AsksForMetadata,
    /// It fetches again.
    FetchesAgain,
    /// It goes from the preferred replica to the leader.
    LeavesReplica,
    /// It looks for an offset.
    Resets(Spec),
    /// The application is told that the offset is out of range.
    Throws,
    /// It asks where the epoch of its position ends.
    Asks,
    /// The answer is not for the position of now.
    Drops,
}

/// What a client does about a refused fetch. `current`: the position is still that of the request.
pub fn on_fetch_error(
    setting: &Setting,
    current: bool,
    from_replica: bool,
    error: Refusal,
    trail: &mut Trail,
) -> FetchError {
    match error {
        Refusal::NotLeaderOrFollower
        | Refusal::FencedLeaderEpoch
        | Refusal::OffsetNotAvailable
        | Refusal::UnknownTopicId => {
            trail.mark(Label::FetchAsksMetadata);
            FetchError::AsksForMetadata
        }
        Refusal::UnknownLeaderEpoch => {
            trail.mark(Label::FetchAgain);
            FetchError::FetchesAgain
        }
        Refusal::OffsetOutOfRange if from_replica => {
            trail.mark(Label::FetchLeavesReplica);
            FetchError::LeavesReplica
        }
        _ if !current => {
            trail.mark(Label::FetchDropped);
            FetchError::Drops
        }
        Refusal::OffsetOutOfRange => {
            trail.mark(Label::FetchRange);
            setting.bounds.reset.map_or(FetchError::Throws, FetchError::Resets)
        }
        Refusal::LogTruncation => {
            trail.mark(Label::FetchTruncated);
            FetchError::Asks
        }
    }
}

/// Whether metadata is accepted after what was seen (2, 8): an epoch that is not below, or another topic.
pub fn accepts_metadata(setting: &Setting, (topic, last_seen): (u8, Epoch), heard: &Heard, trail: &mut Trail) -> bool {
    let rules = &setting.rules;
    let accepted = match rules.identity {
        _ if !setting.fenced() => true,
        Identity::LeaderEpoch => heard.epoch >= last_seen,
        Identity::IdOfMetadata | Identity::Id => heard.topic != topic || heard.epoch >= last_seen,
        Identity::PartitionEpoch => (heard.topic, heard.epoch) >= (topic, last_seen),
    };
    trail.mark(match (accepted, heard.topic == topic) {
        (true, true) => Label::MetadataAccepted,
        (true, false) => Label::MetadataOtherTopic,
        (false, _) => Label::MetadataPassedOver,
    });
    accepted
}
