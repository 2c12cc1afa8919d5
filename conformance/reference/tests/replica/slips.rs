//! Each slip breaks a claim that holds without it.

use fencepost_reference::replica::rules::ReplicationRules::{
    self, HighWatermark, Kip320, Kip320BelowIbp20, ProposalKept,
};
use fencepost_reference::replica::rules::Rules;
use fencepost_reference::replica::slip::Slip;

use crate::{following, future, isr, leading, serving, truncating};

type Claim = fn(Rules) -> bool;

/// Under which rules a slip shows, and by which claim.
fn broken_by(slip: Slip) -> Option<(ReplicationRules, Claim)> {
    let oracle = |claim: Claim| Some((ProposalKept, claim));
    let exchange = |claim: Claim| Some((Kip320, claim));
    let old_protocol = |claim: Claim| Some((Kip320BelowIbp20, claim));
    match slip {
        Slip::EpochNotMarked => exchange(truncating::s5_a_leader_without_records_tells_where_older_epochs_end),
        Slip::EmptyEpochKept => oracle(truncating::s6_an_epoch_without_records_is_asked_for_once),
        Slip::FutureEpochEndsAtLogEnd => oracle(serving::an_epoch_of_the_future_has_no_end),
        Slip::AnswerHasCurrentEpoch => oracle(serving::an_answer_has_the_epoch_that_ends),
        Slip::FollowsOnlyNewLeader => exchange(truncating::s7_a_later_epoch_of_the_same_leader_begins_anew),
        Slip::OwnEpochsIgnored | Slip::OneRound => exchange(truncating::s4_logs_agree_after_several_unclean_elections),
        Slip::NoEpochMeansHighWatermark | Slip::NoEpochBoundedByHighWatermark => {
            old_protocol(truncating::s1_a_restart_costs_no_acknowledged_record)
        }
        Slip::NoOwnEpochMeansHighWatermark => exchange(following::without_own_epochs_the_leaders_offset_counts),
        Slip::IntermediateUnbounded => exchange(following::no_cut_is_above_the_end),
        Slip::AlwaysAsksInNewVersion => old_protocol(following::a_new_follower_gets_past_truncation_at_an_old_leader),
        Slip::LateEpochAnswerUsed => exchange(truncating::s13_a_late_reply_cuts_nothing),
        Slip::LateFetchReplyUsed => oracle(truncating::s13_a_late_reply_cuts_nothing),
        Slip::DivergingHighWatermarkUsed => oracle(truncating::s12_a_diverging_reply_moves_no_high_watermark),
        Slip::EmptyReplyForgetsEpoch => oracle(following::an_empty_reply_leaves_the_last_epoch),
        Slip::LaterEpochAppended => oracle(following::batches_of_a_later_epoch_wait_for_metadata),
        Slip::FullTruncationKeepsHighWatermark => {
            oracle(following::a_log_that_begins_anew_has_its_high_watermark_in_it)
        }
        Slip::EndBeyondLeaderKept => Some((HighWatermark, following::a_follower_ahead_of_its_leader_cuts)),
        Slip::FencedRetries => oracle(following::a_fenced_follower_waits_for_metadata),
        Slip::RequestsNotFenced => exchange(truncating::s8_a_follower_of_an_earlier_epoch_is_not_served),
        Slip::ZombieLeaderServes => oracle(truncating::a_leader_of_an_earlier_epoch_does_not_serve),
        Slip::NonLeaderAnswersEpochEnd => oracle(serving::only_the_leader_tells_where_an_epoch_ends),
        Slip::DivergenceBelowLogStart => oracle(serving::below_the_start_of_the_log_is_out_of_range),
        Slip::DivergenceByOffsetAlone => oracle(truncating::s4_logs_agree_after_several_unclean_elections),
        Slip::ReplyHasRaisedHighWatermark => oracle(serving::a_reply_has_the_high_watermark_of_before),
        Slip::LatestBeforeEpochStart => oracle(serving::the_end_is_not_told_until_it_is_as_far_as_before),
        Slip::EarliestHasCurrentEpoch => oracle(serving::the_start_has_the_epoch_of_its_record),
        Slip::DivergingFetchCounted => oracle(leading::s11_a_fetch_that_diverges_is_no_progress),
        Slip::FailedFetchCounted => oracle(serving::a_fetch_that_fails_is_no_progress),
        Slip::RisesUnderMinIsr => oracle(leading::s19_the_high_watermark_stands_still_under_min_isr),
        Slip::CommittedIsrOnly => oracle(leading::s17_a_proposed_member_is_waited_for),
        Slip::ShrinkNotAwaited => oracle(leading::s17_a_member_that_leaves_is_waited_for),
        Slip::CaughtUpNotAwaited => oracle(isr::who_has_caught_up_is_waited_for),
        Slip::JoinsBelowEpochStart => oracle(leading::s9_nobody_joins_below_the_start_of_the_epoch),
        Slip::EqualEndLags => oracle(isr::who_ends_where_the_leader_does_stays),
        Slip::BrokerEpochIgnored => oracle(leading::s18_another_incarnation_is_not_in_sync),
        Slip::FencedReplicaJoins => oracle(isr::a_fenced_broker_is_not_proposed),
        Slip::IsrReplyRaisesNothing => oracle(isr::a_member_that_has_left_is_waited_for_no_longer),
        Slip::IsrChangeNotRetried => oracle(isr::a_proposal_is_sent_again),
        Slip::LateIsrReplyUsed => oracle(isr::an_overtaken_answer_is_dropped),
        Slip::ProposalNotAwaited => oracle(isr::one_proposal_at_a_time_whatever_the_records_say),
        Slip::SameEpochResetsRemotes => oracle(isr::the_same_epoch_forgets_nothing),
        Slip::MinIsrNotChecked => oracle(isr::too_few_in_sync_refuse_acks_all),
        Slip::PendingSurvivesDemotion => oracle(isr::a_waiting_producer_hears_of_the_end_of_leadership),
        Slip::StaleControllerFences => oracle(isr::a_controller_that_is_behind_says_so),
        Slip::PartitionEpochIgnored => oracle(isr::a_proposal_of_an_older_record_is_refused),
        Slip::ValidLeaderReplaced => oracle(isr::a_valid_leader_stays),
        Slip::FencedLastKnownElected => oracle(isr::a_fenced_last_leader_is_not_elected),
        Slip::FutureHighWatermarkUnbounded => oracle(future::its_high_watermark_is_in_its_log),
        Slip::SwapLosesEmptyEpoch => oracle(future::an_epoch_without_records_survives_the_swap),
        // The enum may grow.
        _ => None,
    }
}

#[test]
fn each_slip_breaks_a_claim_that_holds_without_it() {
    let mut silent = Vec::new();
    let mut panicked = Vec::new();
    for slip in Slip::ALL {
        let (rules, claim) = broken_by(*slip).unwrap_or_else(|| panic!("nothing is claimed against {slip}"));
        assert!(claim(rules.rules()), "without {slip} the claim holds");
        match std::panic::catch_unwind(|| claim(rules.rules().with(*slip))) {
            Ok(false) => {}
            Ok(true) => silent.push(slip.name()),
            Err(_) => panicked.push(slip.name()),
        }
    }
    assert!(silent.is_empty() && panicked.is_empty(), "nobody notices {silent:?}; no claim decides {panicked:?}");
}

#[test]
fn names_are_unique() {
    let names: std::collections::BTreeSet<_> = Slip::ALL.iter().map(|slip| slip.name()).collect();
    assert_eq!(names.len(), Slip::ALL.len());
    for rules in ReplicationRules::ALL {
        assert_eq!(ReplicationRules::by_name(rules.name()), Some(*rules));
    }
}
