//! The scenarios of docs/replication.md 6: the broken rule shows the fault, the right one does not.

use fencepost_reference::replica::controller::{Controller, ControllerInput, ControllerSetup};
use fencepost_reference::replica::election::ElectionKind;
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::names::BrokerEpoch;
use fencepost_reference::replica::rules::ReplicationRules::{
    self, HighWatermark, Kafka40, Kafka44, Kip101, Kip279, Kip320, Kip320BelowIbp20, Kip320FirstTry,
    RemoteStateForgotten, RemoteStateRenewed,
};
use fencepost_reference::replica::rules::Rules;

use crate::cluster::{A, B, C, Cluster, record};
use crate::leading::{self, skipped_epoch};
use crate::truncating as cut;

/// The claim does not hold under the broken rules, and holds under the right ones.
fn shows(claim: fn(Rules) -> bool, broken: &[ReplicationRules], right: &[ReplicationRules]) {
    for rules in broken {
        assert!(!claim(rules.rules()), "{} is broken", rules.name());
    }
    for rules in right {
        assert!(claim(rules.rules()), "{} is right", rules.name());
    }
}

const EPOCHS: &[ReplicationRules] =
    &[Kip101, Kip279, Kip320BelowIbp20, Kip320FirstTry, Kip320, Kafka40, Kafka44, RemoteStateRenewed];
const EXCHANGE: &[ReplicationRules] = &[Kip279, Kip320FirstTry, Kip320, Kafka40, Kafka44, RemoteStateRenewed];

#[test]
fn s1_lost_message() {
    shows(cut::s1_a_restart_costs_no_acknowledged_record, &[HighWatermark], EPOCHS);
}

#[test]
fn s2_divergence_after_a_power_failure() {
    shows(cut::s2_logs_agree_after_a_power_failure, &[HighWatermark], EPOCHS);
}

#[test]
fn s3_fast_fail_over() {
    for more in [5, 10, 15] {
        assert!(!cut::s3(Kip101.rules(), more), "{more}");
        assert!(!cut::s3(Kip320BelowIbp20.rules(), more), "{more}: the code is new, and the request is not");
    }
    shows(cut::s3_logs_agree_after_a_fast_fail_over, &[], EXCHANGE);
}

#[test]
fn s4_several_unclean_elections() {
    shows(cut::s4_logs_agree_after_several_unclean_elections, &[Kip101, Kip320BelowIbp20], EXCHANGE);
}

#[test]
fn s5_a_leader_that_wrote_nothing() {
    shows(cut::s5_a_leader_without_records_tells_where_older_epochs_end, &[Kip101], &[Kip279, Kip320, Kafka44]);
}

#[test]
fn s6_a_stale_empty_epoch() {
    shows(cut::s6_an_epoch_without_records_is_asked_for_once, &[], &[Kip279, Kip320, Kafka44, RemoteStateRenewed]);
}

#[test]
fn s7_a_missed_epoch() {
    shows(cut::s7_a_later_epoch_of_the_same_leader_begins_anew, &[HighWatermark], EXCHANGE);
}

#[test]
fn s8_a_zombie_follower() {
    shows(
        cut::s8_a_follower_of_an_earlier_epoch_is_not_served,
        &[Kip101, Kip279],
        &[Kip320, Kafka40, Kafka44, RemoteStateRenewed],
    );
}

#[test]
fn s9_joining_by_the_high_watermark() {
    shows(leading::s9_nobody_joins_below_the_start_of_the_epoch, &[], &[Kip320, Kafka44, RemoteStateRenewed]);
}

#[test]
fn s10_the_first_try_of_kip_320() {
    shows(
        cut::s10_who_counts_as_in_sync_does_not_go_back,
        &[Kip279, Kip320FirstTry],
        &[Kip320, Kafka40, Kafka44, RemoteStateRenewed],
    );
}

#[test]
fn s11_a_diverging_fetch() {
    shows(leading::s11_a_fetch_that_diverges_is_no_progress, &[], &[Kafka40, Kafka44, RemoteStateRenewed]);
}

#[test]
fn s12_the_high_watermark_of_a_diverging_reply() {
    shows(cut::s12_a_diverging_reply_moves_no_high_watermark, &[], &[Kafka40, Kafka44, RemoteStateRenewed]);
}

#[test]
fn s13_a_late_diverging_reply() {
    shows(cut::s13_a_late_reply_cuts_nothing, &[Kafka40], &[Kafka44, RemoteStateRenewed]);
}

#[test]
fn s14_a_skipped_epoch() {
    shows(
        leading::s14_a_leader_does_not_trust_what_it_knew_before_a_skipped_epoch,
        &[Kafka44],
        &[RemoteStateRenewed, RemoteStateForgotten],
    );
}

#[test]
fn s14_costs_an_acknowledged_record() {
    let (mut cluster, w1) = skipped_epoch(Kafka44.rules(), true);
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (2, Some(Ok(1))));
    cluster.crash(A);
    cluster.lead(&[B, C], C, 4, &[C]);
    cluster.settle(&[B, C]);
    assert_eq!((cluster.log(B), cluster.log(C)), (vec!["r0/1".to_owned()], vec!["r0/1".to_owned()]));
}

#[test]
fn s14_repaired_the_follower_is_waited_for() {
    for rules in [RemoteStateRenewed, RemoteStateForgotten] {
        let (mut cluster, w1) = skipped_epoch(rules.rules(), true);
        cluster.lead(&[C], A, 3, &[A, C]);
        // Its fetch of epoch 1 waits at A still, until its time is over.
        cluster.refetch(A, C);
        cluster.settle(&[A, C]);
        assert_eq!((cluster.log(C).len(), cluster.answer(w1)), (2, Some(Ok(1))), "{}", rules.name());
    }
}

#[test]
fn s14_needs_both_changes_in_one_step() {
    let (cluster, w1) = skipped_epoch(Kafka44.rules(), false);
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (1, Some(Err(ErrorCode::NotLeaderOrFollower))));
}

#[test]
fn s14_repaired_a_leader_keeps_what_it_knows_in_the_next_epoch() {
    for (rules, known) in [(RemoteStateRenewed, 1), (Kafka44, 1), (RemoteStateForgotten, -1)] {
        let mut cluster = Cluster::new(2, 1, rules.rules());
        cluster.lead(&[A, B], A, 1, &[A, B]);
        cluster.write(A, &["r0"]);
        cluster.replicate(A, &[B]);
        cluster.metadata(A, vec![record(Some(A), 2, &[A, B])]);
        let remotes = cluster.state(A).leading.expect("it leads").remotes;
        assert_eq!(remotes[&B].0, known, "{}", rules.name());
    }
}

#[test]
fn s17_the_maximal_isr() {
    let right = &[Kafka40, Kafka44, RemoteStateRenewed];
    shows(leading::s17_a_proposed_member_is_waited_for, &[], right);
    shows(leading::s17_a_member_that_leaves_is_waited_for, &[], right);
}

/// No report of this was found.
#[test]
fn a_record_that_is_known_already_makes_kafka_forget_its_proposal() {
    shows(
        leading::a_record_that_is_known_leaves_the_proposal,
        &[Kafka44, RemoteStateRenewed],
        &[ReplicationRules::ProposalKept],
    );
}

#[test]
fn s18_a_late_proposal_for_a_wiped_replica() {
    shows(leading::s18_another_incarnation_is_not_in_sync, &[], &[Kafka44, RemoteStateRenewed]);
}

#[test]
fn s19_the_high_watermark_under_min_isr() {
    shows(leading::s19_the_high_watermark_stands_still_under_min_isr, &[], &[Kafka44, RemoteStateRenewed]);
}

/// The last one in sync comes back from a power failure with less than it had. Who leads then.
fn last_replica_standing(elr: bool) -> Controller {
    let replicas = vec![A, B, C];
    let setup = ControllerSetup { replicas, min_isr: 2, elr, unclean_election: false, slip: None };
    let mut controller = Controller::new(setup);
    controller.handle(ControllerInput::Elect(ElectionKind::Any));
    for input in [
        ControllerInput::Fence(B),
        ControllerInput::Fence(C),
        ControllerInput::Unfence(C),
        ControllerInput::Fence(A),
        ControllerInput::Register { broker: A, broker_epoch: BrokerEpoch(2), unclean: true },
        ControllerInput::Unfence(A),
    ] {
        assert_eq!(controller.handle(input).refused, None);
    }
    controller
}

#[test]
fn s19_the_last_one_standing_leads_again_with_what_is_left_of_its_log() {
    let controller = last_replica_standing(false);
    assert_eq!((controller.state().leader, controller.state().isr.as_slice()), (Some(A), [A].as_slice()));
}

#[test]
fn s19_with_an_elr_who_left_last_leads() {
    let controller = last_replica_standing(true);
    assert_eq!((controller.state().leader, controller.state().isr.as_slice()), (Some(C), [C].as_slice()));
    assert_eq!(controller.state().elr, [], "not who left while there were enough, nor who has lost its disk");
}
