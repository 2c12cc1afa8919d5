//! The decisions of the reference's brokers and controller, one call each.

use std::collections::BTreeMap;

use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::replication::functions::{Reaction, Truncation};
use fencepost_fixtures::replication::messages::PartitionState as ToldPartition;
use fencepost_fixtures::replication::{self as trace, Call, EpochStart, Given, Outcome, Replication, Role};
use fencepost_reference::replica::alter_partition::validate_alter_partition;
use fencepost_reference::replica::controller::{Controller, ControllerInput, ControllerSetup};
use fencepost_reference::replica::divergence::{FetchPosition, check_divergence};
use fencepost_reference::replica::epoch_check::{LocalReplica, check_leader_epoch};
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::high_watermark::{
    Awaited, LeaderEnd, effective_min_isr, follower_high_watermark, risen_high_watermark,
};
use fencepost_reference::replica::isr::{AlterReaction, Candidate, may_expand, on_alter_partition_reply};
use fencepost_reference::replica::message::{
    AlterPartitionRequest, AlteredPartition, Content, EpochRequestVersion, Message,
};
use fencepost_reference::replica::metadata::BrokerRecord;
use fencepost_reference::replica::names::{BrokerEpoch, Correlation, LeaderEpoch, Node, Offset, PartitionEpoch};
use fencepost_reference::replica::rules::{self as reference, EpochMark, Rules, offset_for_leader_epoch_version};
use fencepost_reference::replica::slip::Slip;
use fencepost_reference::replica::truncation::{OwnLog, truncation_target};
use fencepost_reference::storage::epoch_cache::{EpochCache, EpochEnd, EpochEntry};

use super::cluster;
use super::words::{self, Brokers};
use crate::target::{Decision, Fault};

/// Decides. What a call looks at stands in `given`; that was checked when the trace was read.
pub(super) fn decide(
    rules: Rules,
    slip: Option<Slip>,
    given: &Given,
    call: &Call,
) -> Result<Decision<Replication>, Fault> {
    if let Some(reason) = unknown(rules, call) {
        return Ok(Decision::Skipped(reason.to_owned()));
    }
    match call {
        Call::AlterPartition { .. } | Call::Elect { .. } => by_the_controller(slip, given, call),
        Call::EndOffsetForEpoch { .. }
        | Call::AssignEpoch { .. }
        | Call::TruncateEpochsFromEnd { .. }
        | Call::TruncateEpochsFromStart { .. }
        | Call::TruncationTarget { .. }
        | Call::CheckDivergence { .. } => of_the_log(rules, slip, given, call),
        _ => of_the_leader(given, call),
    }
}

/// Why these rules have no such decision, if they have none.
fn unknown(rules: Rules, call: &Call) -> Option<&'static str> {
    let is_of_epochs = matches!(
        call,
        Call::EndOffsetForEpoch { .. }
            | Call::AssignEpoch { .. }
            | Call::TruncateEpochsFromEnd { .. }
            | Call::TruncateEpochsFromStart { .. }
            | Call::TruncationTarget { .. }
            | Call::CheckDivergence { .. }
            | Call::OffsetForLeaderEpochVersion { .. }
    );
    let is_fenced = matches!(call, Call::CheckLeaderEpoch { current_leader_epoch: 0.., .. });
    match call {
        _ if is_of_epochs && rules.truncation == reference::Truncation::HighWatermark => {
            Some("before KIP-101 a broker knows no epochs")
        }
        _ if is_fenced && rules.fencing != reference::Fencing::CurrentEpoch => {
            Some("before KIP-320 a request has no leader epoch")
        }
        Call::CheckDivergence { .. } if rules.truncation != reference::Truncation::OnFetch => {
            Some("before KIP-595 a fetch does not say its last epoch")
        }
        Call::OffsetForLeaderEpochVersion { .. } if rules.understands == EpochRequestVersion::V0 => {
            Some("KIP-101 has one version")
        }
        _ => None,
    }
}

fn refused(error: ErrorCode) -> Decision<Replication> {
    Decision::Error(error.name().to_owned())
}

/// The decisions that rest on a log and its epochs.
fn of_the_log(rules: Rules, slip: Option<Slip>, given: &Given, call: &Call) -> Result<Decision<Replication>, Fault> {
    let untold = rules.truncation == reference::Truncation::LeaderOffset;
    let outcome = match call {
        Call::EndOffsetForEpoch { epoch } => {
            let end = end_offset(rules, given, LeaderEpoch(*epoch))?;
            epoch_end(if untold { EpochEnd { epoch: LeaderEpoch::NONE, ..end } } else { end })
        }
        Call::AssignEpoch { epoch, offset } => {
            let mut epochs = cache(given)?;
            let (epoch, offset) = (LeaderEpoch(*epoch), Offset(*offset));
            let assigned = match rules.epoch_mark {
                EpochMark::AtFirstAppend => epochs.assign_rising(epoch, offset),
                EpochMark::AtElection => epochs.assign(epoch, offset),
            };
            match assigned {
                Ok(_) => told(&epochs),
                Err(_) => return Ok(refused(ErrorCode::InvalidRequest)),
            }
        }
        Call::TruncateEpochsFromEnd { offset } => {
            let mut epochs = cache(given)?;
            epochs.truncate_from_end(Offset(*offset));
            told(&epochs)
        }
        Call::TruncateEpochsFromStart { offset } => {
            let mut epochs = cache(given)?;
            epochs.truncate_from_start(Offset(*offset));
            told(&epochs)
        }
        Call::TruncationTarget { fetch_offset, epoch, end_offset } => {
            let epochs = cache(given)?;
            let own = OwnLog { epochs: &epochs, log_end: log_end(given), entry_offset: Offset(*fetch_offset) };
            let reply =
                EpochEnd { epoch: epoch.map_or(LeaderEpoch::NONE, LeaderEpoch), end_offset: Offset(*end_offset) };
            let target = truncation_target(own, reply, rules.truncation, slip);
            Outcome::Truncation(Truncation { offset: target.offset.0, finished: target.finished })
        }
        Call::CheckDivergence { fetch_offset, last_fetched_epoch } => {
            let last_fetched_epoch = LeaderEpoch(*last_fetched_epoch);
            let end = end_offset(rules, given, last_fetched_epoch)?;
            let fetch = FetchPosition { offset: Offset(*fetch_offset), last_fetched_epoch };
            match check_divergence(end, Offset(given.log_start.unwrap_or(0)), fetch, slip) {
                Ok(None) => Outcome::Allowed(true),
                Ok(Some(end)) => epoch_end(end),
                Err(error) => return Ok(refused(error)),
            }
        }
        other => return Err(Fault::broken(format!("{} rests on no log", other.name()))),
    };
    Ok(Decision::Outcome(outcome))
}

/// The decisions of a broker about others.
fn of_the_leader(given: &Given, call: &Call) -> Result<Decision<Replication>, Fault> {
    let outcome = match call {
        Call::CheckLeaderEpoch { current_leader_epoch, leader_required } => {
            let role = given.role.unwrap_or(Role::None);
            let local = LocalReplica {
                leader_epoch: LeaderEpoch(given.leader_epoch.unwrap_or(-1)),
                is_leader: role == Role::Leader,
                has_log: role != Role::None,
            };
            match check_leader_epoch(local, words::known(*current_leader_epoch), *leader_required) {
                Ok(()) => Outcome::Allowed(true),
                Err(error) => return Ok(refused(error)),
            }
        }
        Call::LeaderHighWatermark {} => Outcome::Offset(leader_high_watermark(given)),
        Call::FollowerHighWatermark { leader } => {
            let start = Offset(given.log_start.unwrap_or(0));
            Outcome::Offset(follower_high_watermark(Offset(*leader), start, log_end(given)).0)
        }
        Call::MayJoinIsr { broker } => Outcome::Allowed(may_join(given, broker)),
        Call::Lagging {} => {
            let (isr, remote) = (given.isr.clone().unwrap_or_default(), given.remote.clone().unwrap_or_default());
            let lags = |broker: &BrokerName| {
                remote.get(broker).is_some_and(|known| Offset(known.end) != log_end(given) && !known.caught_up)
            };
            Outcome::Brokers(isr.into_iter().filter(|broker| lags(broker)).collect())
        }
        Call::OnAlterPartitionReply { error, leader_epoch, partition_epoch } => {
            let reply = match error {
                Some(error) => Err(words::code(*error)?),
                None => Ok(AlteredPartition {
                    leader: None,
                    leader_epoch: LeaderEpoch(leader_epoch.unwrap_or(-1)),
                    isr: Vec::new(),
                    partition_epoch: PartitionEpoch(partition_epoch.unwrap_or(-1)),
                }),
            };
            let own = LeaderEpoch(given.leader_epoch.unwrap_or(-1));
            let reaction = on_alter_partition_reply(own, PartitionEpoch(given.partition_epoch.unwrap_or(-1)), &reply);
            Outcome::Reaction(match reaction {
                AlterReaction::Commit => Reaction::Commits,
                AlterReaction::RollBack => Reaction::GoesBack,
                AlterReaction::Ignore | AlterReaction::AwaitMetadata => Reaction::Waits,
                AlterReaction::SendAgain => Reaction::SendsAgain,
            })
        }
        Call::OffsetForLeaderEpochVersion { inter_broker_protocol } => {
            let Some((major, minor, step)) = release(inter_broker_protocol) else {
                return Ok(Decision::Skipped(format!("{inter_broker_protocol} is not an inter-broker protocol")));
            };
            Outcome::Version(match offset_for_leader_epoch_version(major, minor, step) {
                EpochRequestVersion::V0 => 0,
                EpochRequestVersion::V1 => 1,
                EpochRequestVersion::V2 => 2,
                EpochRequestVersion::V3 => 3,
                EpochRequestVersion::V4 => 4,
            })
        }
        other => return Err(Fault::broken(format!("{} is no decision about others", other.name()))),
    };
    Ok(Decision::Outcome(outcome))
}

/// `2.1-IV0` is step 0 of release 2.1.
fn release(protocol: &str) -> Option<(u16, u16, u16)> {
    let (release, step) = protocol.split_once("-IV")?;
    let mut numbers = release.split('.');
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?, step.parse().ok()?))
}

fn cache(given: &Given) -> Result<EpochCache, Fault> {
    let entries = given
        .epochs
        .iter()
        .flatten()
        .map(|EpochStart(epoch, start)| EpochEntry { epoch: LeaderEpoch(*epoch), start_offset: Offset(*start) });
    EpochCache::from_entries(entries).map_err(|error| Fault::broken(error.to_string()))
}

fn told(epochs: &EpochCache) -> Outcome {
    Outcome::Epochs(epochs.entries().iter().map(words::told_epoch).collect())
}

fn log_end(given: &Given) -> Offset {
    Offset(given.log_end.unwrap_or(0))
}

fn end_offset(rules: Rules, given: &Given, epoch: LeaderEpoch) -> Result<EpochEnd, Fault> {
    let epochs = cache(given)?;
    Ok(match rules.epoch_mark {
        EpochMark::AtFirstAppend => epochs.end_offset_before_7415(epoch, log_end(given)),
        EpochMark::AtElection => epochs.end_offset_for(epoch, log_end(given)),
    })
}

fn epoch_end(end: EpochEnd) -> Outcome {
    Outcome::EpochEnd(trace::EpochEnd { epoch: end.epoch.0, end_offset: end.end_offset.0 })
}

fn leader_high_watermark(given: &Given) -> i64 {
    let (isr, remote) = (given.isr.clone().unwrap_or_default(), given.remote.clone().unwrap_or_default());
    let high_watermark = Offset(given.high_watermark.unwrap_or(0));
    let leader = LeaderEnd {
        high_watermark,
        log_end: log_end(given),
        committed_isr: isr.len(),
        min_isr: effective_min_isr(usize::from(given.min_isr.unwrap_or(1)), remote.len() + 1),
    };
    let remotes = remote.iter().map(|(broker, known)| Awaited {
        end: (known.end >= 0).then_some(Offset(known.end)),
        in_maximal_isr: isr.contains(broker) || known.pending,
        about_to_join: (known.caught_up || Offset(known.end) == log_end(given)) && known.eligible,
    });
    risen_high_watermark(leader, remotes).unwrap_or(high_watermark).0
}

fn may_join(given: &Given, broker: &BrokerName) -> bool {
    let (isr, remote) = (given.isr.clone().unwrap_or_default(), given.remote.clone().unwrap_or_default());
    let Some(known) = remote.get(broker) else { return false };
    may_expand(Candidate {
        proposal_pending: remote.values().any(|known| known.pending),
        in_isr: isr.contains(broker),
        eligible: known.eligible,
        end: Offset(known.end),
        high_watermark: Offset(given.high_watermark.unwrap_or(0)),
        epoch_start: Offset(given.leader_epoch_start.unwrap_or(0)),
    })
}

fn by_the_controller(slip: Option<Slip>, given: &Given, call: &Call) -> Result<Decision<Replication>, Fault> {
    let replicas = given.replicas.clone().unwrap_or_default();
    // A proposal may name a broker that has no replica.
    let mut known = replicas.clone();
    if let Call::AlterPartition { from, isr, .. } = call {
        known.extend(isr.keys().chain([from]).filter(|name| !replicas.contains(name)).cloned());
    }
    let names = Brokers::new(known)?;
    let replicas = replicas.iter().map(|name| names.id(name)).collect::<Result<Vec<_>, Fault>>()?;
    let partition = given.partition.as_ref().ok_or_else(|| Fault::broken("given: there is no partition"))?;
    let registered = given.brokers.clone().unwrap_or_default();
    let mut controller = Controller::new(ControllerSetup {
        replicas: replicas.clone(),
        min_isr: 1,
        elr: !partition.elr.is_empty(),
        unclean_election: false,
        slip,
    });
    controller.set_state(names.partition(replicas, partition)?);
    for (name, known) in &registered {
        controller.set_broker(BrokerRecord {
            broker: names.id(name)?,
            broker_epoch: BrokerEpoch(known.broker_epoch),
            fenced: known.fenced,
            shutting_down: known.shutting_down,
        });
    }
    let refused = match call {
        Call::Elect { kind } => {
            controller.handle(ControllerInput::Elect(cluster::kind(*kind)));
            None
        }
        Call::AlterPartition { from, broker_epoch, leader_epoch, partition_epoch, isr, recovering } => {
            let isr: BTreeMap<_, _> = names.incarnations(isr)?;
            let request = AlterPartitionRequest {
                leader_epoch: LeaderEpoch(*leader_epoch),
                partition_epoch: PartitionEpoch(*partition_epoch),
                isr,
                broker_epoch: BrokerEpoch(*broker_epoch),
                recovered: !*recovering,
            };
            let from = names.id(from)?;
            let refused =
                validate_alter_partition(controller.state(), controller.brokers(), from, &request, slip).err();
            let content = Content::AlterPartition(request);
            let message =
                Message { from: Node::Broker(from), to: Node::Controller, correlation: Correlation(0), content };
            if refused.is_none() {
                controller.handle(ControllerInput::Deliver(message));
            }
            refused
        }
        other => return Err(Fault::broken(format!("{} is not the controller's", other.name()))),
    };
    if let Some(error) = refused {
        return Ok(Decision::Error(error.name().to_owned()));
    }
    let trace::ControllerState { leader, leader_epoch, partition_epoch, isr, .. } =
        names.told_controller(controller.state())?;
    Ok(Decision::Outcome(Outcome::Partition(ToldPartition { leader, leader_epoch, isr, partition_epoch })))
}
