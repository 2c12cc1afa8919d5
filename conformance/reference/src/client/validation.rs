//! Whether a position still stands (docs/consumers.md 2, 3; Kafka's `SubscriptionState#maybeValidatePosition`,
//! `#maybeCompleteValidation`, `OffsetsForLeaderEpochUtils`; KIP-320).

use super::history::{History, divergence};
use super::message::ReadError;
use super::names::{LeaderEpoch, Offset};
use super::reset::{ResetStrategy, by_policy};
use super::rules::{Confirmation, Detection, ResetPolicy, Rules, UndefinedAnswer, UnknownDivergence};
use super::slip::Slip;
use super::state::{FetchState, LeaderAndEpoch, Position};
use crate::storage::epoch_cache::EpochEnd;

/// What a client does when it knows who leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLeader {
    /// Nothing: it has no position to keep, nobody leads, or it knows already.
    Ignore,
    /// It fetches from that leader.
    Fetch,
    /// It asks that leader first.
    Validate,
}

/// The table, in its order. `can_ask` is whether the leader understands the question.
#[must_use]
pub fn on_leader(
    rules: Rules,
    state: FetchState,
    position: Option<&Position>,
    can_ask: bool,
    now: LeaderAndEpoch,
) -> OnLeader {
    let Some(position) = position.filter(|_| state.has_position() || rules.slips(Slip::ResetKeepsPosition)) else {
        return OnLeader::Ignore;
    };
    let same =
        position.leader == now || (rules.slips(Slip::SameLeaderNotValidated) && position.leader.leader == now.leader);
    let asks = rules.detection == Detection::Validation && position.offset_epoch.is_some() && now.epoch.is_some();
    match () {
        () if now.leader.is_none() => OnLeader::Ignore,
        () if !can_ask && rules.slips(Slip::OldBrokersAwait) && position.offset_epoch.is_some() => OnLeader::Validate,
        // KAFKA-8422, KAFKA-9724: nothing is asked, and nothing waited for.
        () if !can_ask && !rules.slips(Slip::OldBrokersAsked) => OnLeader::Fetch,
        () if same => OnLeader::Ignore,
        () if asks => OnLeader::Validate,
        () => OnLeader::Fetch,
    }
}

/// A position that is being validated.
#[derive(Debug, Clone, Copy)]
pub struct Validating<'a> {
    /// What the client does about the partition by now.
    pub state: FetchState,
    /// Where it stands by now.
    pub position: Option<&'a Position>,
    /// Where it stood when it asked.
    pub sent: &'a Position,
    /// `auto.offset.reset`.
    pub policy: ResetPolicy,
    /// What was read, where that is remembered.
    pub history: &'a History,
    /// Whether the application asked for the nearest place, and not for a record (7g).
    pub nearest: bool,
    /// Whether the logs part behind what was asked about, and the application is to be told where (7c).
    pub walking: bool,
}

/// What a client does about the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnValidationReply {
    /// Nothing: it is of another position.
    Ignore,
    /// It asks again after a while, and for metadata.
    Retry,
    /// The position stands.
    Fetch,
    /// It goes on here.
    MoveTo(Offset, Option<LeaderEpoch>),
    /// It goes on here if the leader confirms that (7c).
    AskAt(Offset, Option<LeaderEpoch>),
    /// It gives its position up.
    Reset(ResetStrategy),
    /// The application is told: with the leader's answer where that says where the logs part.
    Throw(Option<EpochEnd>),
}

/// The table, in its order.
#[must_use]
pub fn on_validation_reply(
    rules: Rules,
    asked: Validating<'_>,
    reply: Result<EpochEnd, ReadError>,
) -> OnValidationReply {
    let end = match reply {
        Ok(end) => end,
        Err(_) if rules.slips(Slip::RefusedValidationConfirms) => return OnValidationReply::Fetch,
        Err(_) => return OnValidationReply::Retry,
    };
    let Some(position) = asked.position else { return OnValidationReply::Ignore };
    let same = asked.state == FetchState::AwaitValidation && position.is_that_of(asked.sent);
    let policy = by_policy(asked.policy);
    let other_epoch = rules.confirmation == Confirmation::EndOffsetAndEpoch && Some(end.epoch) != position.offset_epoch;
    let below = end.end_offset < position.offset
        || (rules.slips(Slip::EndAtPositionDiverges) && end.end_offset == position.offset);
    let parts = below.then_some(end);
    match () {
        () if !same && !rules.slips(Slip::LateValidationUsed) => OnValidationReply::Ignore,
        () if !end.is_defined() || end.epoch == LeaderEpoch::NONE => match (rules.undefined, policy) {
            (UndefinedAnswer::CannotTell, _) => OnValidationReply::Fetch,
            _ if rules.slips(Slip::UndefinedConfirms) => OnValidationReply::Fetch,
            (UndefinedAnswer::Truncated, Some(strategy)) => OnValidationReply::Reset(strategy),
            (UndefinedAnswer::Truncated, None) => OnValidationReply::Throw(None),
        },
        () if !below && !other_epoch && asked.walking => {
            let epoch = position.offset_epoch.unwrap_or(LeaderEpoch::NONE);
            OnValidationReply::Throw(Some(EpochEnd { epoch, end_offset: position.offset }))
        }
        () if !below && !other_epoch => OnValidationReply::Fetch,
        () if asked.nearest => OnValidationReply::MoveTo(end.end_offset.min(position.offset), Some(end.epoch)),
        () => match policy {
            _ if rules.remembers() && !asked.history.entries().is_empty() => {
                walk(asked.history, position.offset, end, policy.is_some())
            }
            None => OnValidationReply::Throw(parts),
            Some(strategy) => unremembered(rules, strategy, position, end, other_epoch, below),
        },
    }
}

/// Where a client goes that remembers what it has read, or what it tells its application.
fn walk(history: &History, position: Offset, end: EpochEnd, has_policy: bool) -> OnValidationReply {
    let part = divergence(history, position, end);
    let epoch = history.epoch_before(part.offset);
    match (part.finished, epoch) {
        (false, Some(_)) => OnValidationReply::AskAt(part.offset, epoch),
        _ if has_policy => OnValidationReply::MoveTo(part.offset, epoch),
        _ => OnValidationReply::Throw(Some(EpochEnd { epoch: end.epoch, end_offset: part.offset })),
    }
}

/// Where a client goes that knows one pair, and has a policy.
fn unremembered(
    rules: Rules,
    policy: ResetStrategy,
    position: &Position,
    end: EpochEnd,
    other_epoch: bool,
    below: bool,
) -> OnValidationReply {
    let at_end = OnValidationReply::MoveTo(end.end_offset.min(position.offset), Some(end.epoch));
    match (other_epoch, rules.unknown) {
        (false, _) | (true, UnknownDivergence::FirstLargerEpoch) => at_end,
        (true, UnknownDivergence::EndOffset) if below => at_end,
        (true, UnknownDivergence::EndOffset) => OnValidationReply::Reset(policy),
        (true, UnknownDivergence::Timestamp) => OnValidationReply::Reset(ResetStrategy::of_last_record(position)),
        (true, UnknownDivergence::Earliest) => OnValidationReply::Reset(ResetStrategy::Earliest),
        (true, UnknownDivergence::Latest) => OnValidationReply::Reset(ResetStrategy::Latest),
    }
}
