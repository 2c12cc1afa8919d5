//! Scenarios of what a leader counts and the controller takes: docs/replication.md S9, S11, S14, S17 to S19. Each is a claim
//! of some rules.

use fencepost_reference::replica::controller::ControllerInput;
use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::election::ElectionKind;
use fencepost_reference::replica::message::Content;
use fencepost_reference::replica::metadata::MetadataRecord;
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, Node};
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::Rules;

use crate::cluster::{A, B, C, Cluster, record};

/// The controller handles an input, and these brokers hear of it.
pub(crate) fn decide(cluster: &mut Cluster, hearers: &[BrokerId], input: ControllerInput) -> Vec<MetadataRecord> {
    let records = cluster.control(input).records;
    for hearer in hearers {
        cluster.metadata(*hearer, records.clone());
    }
    records
}

/// S9, KAFKA-7128: B is at the high watermark of a new leader, and lacks what the last one had committed.
pub(crate) fn s9_nobody_joins_below_the_start_of_the_epoch(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    cluster.lead(&all, C, 7, &all);
    cluster.write(C, &["o0", "o1"]);
    cluster.replicate(C, &[A, B]);
    cluster.mail.clear();
    // B is out, and does not fetch.
    for broker in [A, C] {
        cluster.metadata(broker, vec![record(Some(C), 8, &[A, C])]);
    }
    cluster.settle(&[A, C]);
    cluster.write(C, &["o2", "o3", "o4"]);
    cluster.settle(&[A, C]);
    cluster.crash(C);
    // What C knows as committed A does not know yet.
    let known = cluster.high_watermark(A);
    assert!((2..5).contains(&known), "{known}");
    cluster.metadata(A, vec![record(Some(A), 9, &[A, C])]);
    cluster.metadata(B, vec![record(Some(C), 8, &[A, C]), record(Some(A), 9, &[A, C])]);
    while matches!(cluster.in_flight(B, A)[..], [Content::OffsetForLeaderEpoch(_)]) {
        cluster.exchange(B, A);
    }
    let fetch = cluster.take(B, A);
    let Content::Fetch(request) = &fetch.content else { panic!("{fetch:?}") };
    assert_eq!(request.offset.0, 2);
    cluster.deliver_message(fetch);
    // At A's high watermark it is not in sync yet.
    while cluster.end(B) < 5 {
        if !cluster.in_flight(A, Node::Controller).is_empty() {
            return false;
        }
        assert!(cluster.deliver(A, B));
    }
    assert!(cluster.deliver(B, A));
    !cluster.in_flight(A, Node::Controller).is_empty()
}

/// S11, KAFKA-13141: B asks from the end of records that A does not have.
pub(crate) fn s11_a_fetch_that_diverges_is_no_progress(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], B, 1, &[A, B]);
    cluster.write(B, &["o0", "o1", "o2"]);
    cluster.replicate(B, &[A]);
    cluster.write(B, &["o3", "o4"]);
    cluster.mail.clear();
    cluster.metadata(A, vec![record(Some(A), 2, &[A, B])]);
    let produced = cluster.produce(A, &["p3", "p4"], Acks::All);
    cluster.metadata(B, vec![record(Some(A), 2, &[A, B])]);
    assert!(cluster.deliver(B, A));
    cluster.high_watermark(A) == 3 && cluster.answer(produced).is_none()
}

/// S14: A leads, C has all and B lags; then B leads by preference, C cuts its log, and A hears of both changes at once.
pub(crate) fn skipped_epoch(rules: Rules, at_once: bool) -> (Cluster, u64) {
    let mut cluster = Cluster::new(3, 2, rules);
    let all = [A, B, C];
    cluster.lead(&all, A, 1, &all);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B, C]);
    // B's waiting fetch is answered, and the answer lies.
    let w1 = cluster.produce(A, &["r1"], Acks::All);
    cluster.exchange_reply(A, C);
    assert_eq!(cluster.log(C), ["r0/1", "r1/1"]);
    assert_eq!((cluster.high_watermark(A), cluster.answer(w1)), (1, None));
    cluster.lead(&[B, C], B, 2, &all);
    cluster.settle(&[B, C]);
    assert_eq!(cluster.log(C), ["r0/1"], "C agrees with B");
    let (second, third) = (record(Some(B), 2, &all), record(Some(A), 3, &[A, C]));
    if at_once {
        cluster.metadata(A, vec![second, third]);
    } else {
        cluster.metadata(A, vec![second]);
        cluster.metadata(A, vec![third]);
    }
    (cluster, w1)
}

/// S14: whether A acknowledges nothing that C has dropped.
pub(crate) fn s14_a_leader_does_not_trust_what_it_knew_before_a_skipped_epoch(rules: Rules) -> bool {
    let (cluster, w1) = skipped_epoch(rules, true);
    cluster.high_watermark(A) == 1 && cluster.answer(w1).is_none()
}

/// A leader has proposed B when a record comes that it knows already from the reply before, and with it that B was fenced for a
/// while. The controller has taken B in by then. Whether B is waited for still.
pub(crate) fn a_record_that_is_known_leaves_the_proposal(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 2, rules);
    let all = [A, B, C];
    decide(&mut cluster, &all, ControllerInput::Elect(ElectionKind::Any));
    cluster.settle(&[A, C]);
    // B does not fetch, and leaves.
    cluster.mail.clear();
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, C]);
    cluster.input(A, Input::ShrinkIsr);
    let mut records = Vec::new();
    let proposal = cluster.take(A, Node::Controller);
    records.extend(cluster.control(ControllerInput::Deliver(proposal)).records);
    assert!(cluster.deliver(Node::Controller, A));
    assert_eq!(cluster.state(A).leading.expect("it leads").isr, [A, C]);
    // B is back, and fetches; in between its heartbeats were late.
    records.extend(cluster.control(ControllerInput::Fence(B)).records);
    crate::truncating::reconnect(&mut cluster, B, A);
    cluster.settle(&[A, B]);
    records.extend(cluster.control(ControllerInput::Unfence(B)).records);
    let proposal = cluster.take(A, Node::Controller);
    cluster.control(ControllerInput::Deliver(proposal));
    assert_eq!(cluster.controller.state().isr, all);
    // A hears of the first two only: B is out, as A knows, and fenced.
    records.truncate(2);
    cluster.metadata(A, records);
    let w = cluster.produce(A, &["r1"], Acks::All);
    cluster.settle(&[A, C]);
    cluster.answer(w).is_none()
}

/// S17, KIP-497: C is proposed, and may be in sync at the controller already.
pub(crate) fn s17_a_proposed_member_is_waited_for(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.in_flight(A, Node::Controller).len(), 1, "B has caught up");
    // Its time in sync is over, but the proposal is under way.
    cluster.input(A, Input::ShrinkIsr);
    let w = cluster.produce(A, &["r1"], Acks::All);
    cluster.answer(w).is_none()
}

/// KIP-497: B is to leave, and may still be in sync at the controller.
pub(crate) fn s17_a_member_that_leaves_is_waited_for(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.replicate(A, &[B]);
    let w0 = cluster.produce(A, &["r0"], Acks::All);
    cluster.input(A, Input::ShrinkIsr);
    assert_eq!(cluster.in_flight(A, Node::Controller).len(), 1, "B lags");
    let w1 = cluster.produce(A, &["r1"], Acks::All);
    cluster.answer(w0).is_none() && cluster.answer(w1).is_none()
}

/// S18, KIP-903: B is proposed, loses its disk and registers again before the proposal arrives.
pub(crate) fn s18_another_incarnation_is_not_in_sync(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    decide(&mut cluster, &all, ControllerInput::Elect(ElectionKind::Any));
    cluster.settle(&all);
    decide(&mut cluster, &all, ControllerInput::Fence(B));
    cluster.write(A, &["r0"]);
    cluster.settle(&all);
    decide(&mut cluster, &all, ControllerInput::Unfence(B));
    assert_eq!(cluster.controller.state().isr, [A, C]);
    cluster.refetch(A, B);
    cluster.settle(&all);
    let proposal = cluster.take(A, Node::Controller);
    cluster.crash(B);
    decide(&mut cluster, &[], ControllerInput::Fence(B));
    let register = ControllerInput::Register { broker: B, broker_epoch: BrokerEpoch(2), unclean: true };
    decide(&mut cluster, &[], register);
    decide(&mut cluster, &[], ControllerInput::Unfence(B));
    cluster.deliver_message(proposal);
    !cluster.controller.state().isr.contains(&B)
}

/// S19: the high watermark stands still while fewer are in sync than have to be, which is what an ELR goes by.
pub(crate) fn s19_the_high_watermark_stands_still_under_min_isr(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 2, rules);
    cluster.lead(&[A, B, C], A, 1, &[A, B, C]);
    cluster.write(A, &["r0"]);
    cluster.replicate(A, &[B, C]);
    cluster.metadata(A, vec![record(Some(A), 1, &[A])]);
    // The others' time in sync is over, and nothing waits for them.
    cluster.input(A, Input::ShrinkIsr);
    cluster.write(A, &["r1"]);
    cluster.high_watermark(A) == 1
}
