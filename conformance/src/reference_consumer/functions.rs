//! The decisions of the reference's client, one call each.

use std::collections::BTreeSet;

use fencepost_fixtures::consumer::functions::{Divergence, LeaderPosition, Reaction, ResetChoice};
use fencepost_fixtures::consumer::{Call, Consumer, Given, Outcome, Position as Told};
use fencepost_fixtures::names::BrokerName;
use fencepost_reference::client::fetching::{Fetching, OnFetchReply, on_fetch_reply};
use fencepost_reference::client::history::{History, divergence};
use fencepost_reference::client::leader::detect_truncation;
use fencepost_reference::client::metadata::{Heard, accept_metadata};
use fencepost_reference::client::names::{LeaderEpoch, Offset, TopicId};
use fencepost_reference::client::record::Record;
use fencepost_reference::client::reset::{self, reset_target};
use fencepost_reference::client::rules::{Detection, ResetPolicy, Rules};
use fencepost_reference::client::state::{FetchState, LeaderAndEpoch, Position};
use fencepost_reference::client::validation::{
    OnLeader, OnValidationReply, Validating, on_leader, on_validation_reply,
};
use fencepost_reference::storage::epoch_cache::{EpochCache, EpochEnd};

use super::words::{self, Brokers};
use crate::target::{Decision, Fault};

/// What a call rests on, as the client has it.
struct Known {
    names: Brokers,
    state: FetchState,
    position: Option<Position>,
    sent: Option<Position>,
    policy: ResetPolicy,
    history: History,
}

/// Decides. What a call looks at stands in `given`; that was checked when the trace was read.
pub(super) fn decide(rules: Rules, given: &Given, call: &Call) -> Result<Decision<Consumer>, Fault> {
    let known = known(rules, given, call)?;
    let outcome = match call {
        Call::OnValidationReply { error, epoch, end_offset } => {
            let sent = known.sent.ok_or_else(|| Fault::broken("given: there is no `sent`"))?;
            let asked = Validating {
                state: known.state,
                position: known.position.as_ref(),
                sent: &sent,
                policy: known.policy,
                history: &known.history,
                nearest: false,
                walking: false,
            };
            let end =
                EpochEnd { epoch: LeaderEpoch(epoch.unwrap_or(-1)), end_offset: Offset(end_offset.unwrap_or(-1)) };
            let reply = error.map_or(Ok(end), |error| Err(words::code(error)));
            Outcome::Reaction(of_validation(on_validation_reply(rules, asked, reply)))
        }
        Call::OnFetchReply { error } => {
            let sent = known.sent.ok_or_else(|| Fault::broken("given: there is no `sent`"))?;
            let fetching = Fetching {
                state: known.state,
                position: known.position.as_ref(),
                sent: &sent,
                policy: known.policy,
                from_follower: given.from_follower.unwrap_or(false),
            };
            Outcome::Reaction(of_fetch(on_fetch_reply(rules, fetching, error.map(words::code))))
        }
        Call::AcceptMetadata { leader_epoch, topic_id } => {
            let last_seen = given.last_seen_epoch.and_then(words::known);
            let heard = Heard { leader: None, epoch: leader_epoch.and_then(words::known), topic: TopicId(*topic_id) };
            Outcome::Allowed(accept_metadata(rules, last_seen, given.topic_id.map(TopicId), heard))
        }
        Call::OnLeader { leader, leader_epoch } => {
            let leader = LeaderAndEpoch {
                leader: leader.as_ref().map(|name| known.names.id(name)).transpose()?,
                epoch: leader_epoch.and_then(words::known).filter(|_| rules.detection != Detection::None),
            };
            let can_ask = given.can_validate.unwrap_or(true);
            Outcome::Reaction(match on_leader(rules, known.state, known.position.as_ref(), can_ask, leader) {
                OnLeader::Ignore => Reaction::Ignores,
                OnLeader::Fetch => Reaction::Fetches,
                OnLeader::Validate => Reaction::Validates,
            })
        }
        Call::Transition { to } => Outcome::Allowed(known.state.may_become(words::fetch_state(*to))),
        Call::Divergence { offset, epoch, end_offset } => {
            let end = EpochEnd { epoch: LeaderEpoch(*epoch), end_offset: Offset(*end_offset) };
            let part = divergence(&known.history, Offset(*offset), end);
            Outcome::Divergence(Divergence { offset: part.offset.0, finished: part.finished })
        }
        Call::DetectTruncation { fetch_offset, last_epoch } => {
            match detect_truncation(&epochs(given)?, Offset(*fetch_offset), words::known(*last_epoch)) {
                Ok(()) => Outcome::Allowed(true),
                Err(error) => return Ok(Decision::Error(words::error_name(error)?.name().to_owned())),
            }
        }
        Call::ResetTarget { choice, offset, epoch } => {
            let log: Vec<Record> = given.log.iter().flatten().map(words::record).collect();
            let choice = match choice {
                ResetChoice::FirstLargerEpoch => reset::ResetChoice::FirstLargerEpoch,
                ResetChoice::Timestamp => reset::ResetChoice::Timestamp,
                ResetChoice::Earliest => reset::ResetChoice::Earliest,
                ResetChoice::Latest => reset::ResetChoice::Latest,
            };
            Outcome::Offset(reset_target(&epochs(given)?, &log, choice, Offset(*offset), LeaderEpoch(*epoch)).0)
        }
    };
    Ok(Decision::Outcome(outcome))
}

fn known(rules: Rules, given: &Given, call: &Call) -> Result<Known, Fault> {
    let positions = [&given.position, &given.sent].into_iter().flatten();
    let mut leaders: BTreeSet<BrokerName> = positions.filter_map(|position| position.leader.clone()).collect();
    if let Call::OnLeader { leader: Some(leader), .. } = call {
        leaders.insert(leader.clone());
    }
    let names = Brokers::new(leaders.into_iter().collect());
    // A decision that looks at epochs is asked of a client without them too: it has none there.
    let has_epochs = rules.detection != Detection::None || !matches!(call, Call::OnLeader { .. });
    let position = |told: &LeaderPosition| -> Result<Position, Fault> {
        Ok(Position {
            offset: Offset(told.offset),
            offset_epoch: told.offset_epoch.and_then(words::known).filter(|_| has_epochs),
            leader: LeaderAndEpoch {
                leader: told.leader.as_ref().map(|name| names.id(name)).transpose()?,
                epoch: told.leader_epoch.and_then(words::known).filter(|_| has_epochs),
            },
            topic: None,
        })
    };
    let state = given.fetch_state.map_or(FetchState::Initializing, words::fetch_state);
    let (of_now, of_then) = (given.position.as_ref().map(position), given.sent.as_ref().map(position));
    Ok(Known {
        state,
        position: of_now.transpose()?,
        sent: of_then.transpose()?,
        policy: given.reset.map_or(ResetPolicy::None, super::rules::policy),
        history: History::from_entries(given.history.iter().flatten().map(words::epoch_entry)),
        names,
    })
}

fn epochs(given: &Given) -> Result<EpochCache, Fault> {
    let entries = given.epochs.iter().flatten().map(words::epoch_entry);
    EpochCache::from_entries(entries).map_err(|error| Fault::broken(error.to_string()))
}

fn of_validation(reaction: OnValidationReply) -> Reaction {
    match reaction {
        OnValidationReply::Ignore => Reaction::Ignores,
        OnValidationReply::Retry => Reaction::Retries,
        OnValidationReply::Fetch => Reaction::Fetches,
        OnValidationReply::MoveTo(offset, epoch) | OnValidationReply::AskAt(offset, epoch) => {
            Reaction::MovesTo(Told { offset: offset.0, epoch: epoch.map(|epoch| epoch.0) })
        }
        OnValidationReply::Reset(_) => Reaction::Resets,
        OnValidationReply::Throw(divergent) => Reaction::ThrowsLogTruncation(divergent.map(words::told_end)),
    }
}

fn of_fetch(reaction: OnFetchReply) -> Reaction {
    match reaction {
        OnFetchReply::Ignore => Reaction::Ignores,
        OnFetchReply::HandOut => Reaction::HandsOut,
        OnFetchReply::AskForMetadata => Reaction::AsksForMetadata,
        OnFetchReply::FetchAgain => Reaction::FetchesAgain,
        OnFetchReply::LeaveReplica => Reaction::LeavesReplica,
        OnFetchReply::Validate => Reaction::Validates,
        OnFetchReply::Reset(_) => Reaction::Resets,
        OnFetchReply::ThrowOutOfRange => Reaction::ThrowsOutOfRange,
    }
}
