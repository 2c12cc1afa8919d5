//! A variant's name, as the rules of the reference's brokers.

use fencepost_fixtures::Protocol;
use fencepost_fixtures::variants::{
    self, AnsweredEpoch, BatchCut, EpochMark, FutureReplica, KnownRecord, LateAnswer, RemoteState, ReplicationRules,
    RequestEpoch, TruncationRule,
};
use fencepost_reference::replica::message::EpochRequestVersion;
use fencepost_reference::replica::rules as reference;
use fencepost_reference::replica::slip::Slip;

/// The rule set of a trace where none is named.
const DEFAULT: &str = "proposal-kept";

/// The rules of `variant`, with the slip of this name if the reference has it. The error says why there is no such
/// variant.
pub(super) fn of(variant: Option<&str>, slip: Option<&str>) -> Result<(reference::Rules, Option<Slip>), String> {
    let name = variant.unwrap_or(DEFAULT);
    let known = variants::find(Protocol::Replication, name).map(|variant| variant.rules);
    let Some(variants::Rules::Replication(rules)) = known else {
        return Err(format!("there is no variant `{name}` of replication"));
    };
    let slip = Slip::ALL.iter().find(|known| Some(known.name()) == slip).copied();
    let rules = of_broker(&rules);
    Ok((slip.map_or(rules, |slip| rules.with(slip)), slip))
}

fn of_broker(rules: &ReplicationRules) -> reference::Rules {
    use EpochRequestVersion::{V0, V1, V2, V3, V4};
    let told = rules.answered_epoch == AnsweredEpoch::Told;
    let fenced = rules.request_epoch == RequestEpoch::Current;
    // What the code of a generation understands, whatever it sends.
    let understands = match rules.truncation {
        TruncationRule::HighWatermark | TruncationRule::Kip101 => V0,
        TruncationRule::Kip279 if fenced || !told => V3,
        TruncationRule::Kip279 => V1,
        TruncationRule::OnFetch => V4,
    };
    let sends = match (told, fenced) {
        (false, _) => V0,
        (true, false) => V1,
        (true, true) if rules.truncation == TruncationRule::OnFetch => V4,
        (true, true) => V2,
    };
    reference::Rules {
        truncation: match rules.truncation {
            TruncationRule::HighWatermark => reference::Truncation::HighWatermark,
            TruncationRule::Kip101 => reference::Truncation::LeaderOffset,
            TruncationRule::Kip279 => reference::Truncation::EpochExchange,
            TruncationRule::OnFetch => reference::Truncation::OnFetch,
        },
        epoch_mark: match rules.epoch_mark {
            EpochMark::FirstAppend => reference::EpochMark::AtFirstAppend,
            EpochMark::Election => reference::EpochMark::AtElection,
        },
        fencing: match rules.request_epoch {
            RequestEpoch::None => reference::Fencing::None,
            RequestEpoch::Expected => reference::Fencing::ExpectedEpoch,
            RequestEpoch::Current => reference::Fencing::CurrentEpoch,
        },
        understands,
        sends,
        reply_match: match rules.late_answer {
            LateAnswer::ByOffset => reference::ReplyMatch::Offset,
            LateAnswer::ByOffsetAndEpoch => reference::ReplyMatch::OffsetAndEpoch,
        },
        // KAFKA-18723 came with KAFKA-18991.
        appended: match (rules.truncation, rules.late_answer) {
            (TruncationRule::OnFetch, LateAnswer::ByOffsetAndEpoch) => reference::Appended::UpToOwnEpoch,
            _ => reference::Appended::All,
        },
        remote_state: match rules.remote_state {
            RemoteState::NewLeader => reference::RemoteState::Kept,
            RemoteState::SkippedEpoch => reference::RemoteState::KeptIfNext,
            RemoteState::NewEpoch => reference::RemoteState::Forgotten,
        },
        pending_proposal: match rules.known_record {
            KnownRecord::DropsProposal => reference::PendingProposal::Forgotten,
            KnownRecord::KeepsProposal => reference::PendingProposal::Kept,
        },
        batch_cut: match rules.batch_cut {
            BatchCut::Target => reference::BatchCut::Target,
            BatchCut::BatchBase => reference::BatchCut::ActualCut,
        },
        future: match rules.future_replica {
            FutureReplica::Asks => reference::FutureReplica::EpochExchange,
            FutureReplica::CurrentsOffset => reference::FutureReplica::MarkOnly,
            FutureReplica::AsksOnce => reference::FutureReplica::LeaderOffset,
        },
        slip: None,
    }
}
