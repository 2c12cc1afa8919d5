//! Claims of the ISR, at the leader and at the controller (docs/replication.md 4.2 to 4.7), each of which a slip breaks.

use fencepost_reference::replica::controller::{ControllerInput, ControllerSetup};
use fencepost_reference::replica::effects::Input;
use fencepost_reference::replica::election::ElectionKind;
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::{AlteredPartition, Content, Message};
use fencepost_reference::replica::metadata::{BrokerRecord, MetadataRecord};
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, Node, PartitionEpoch};
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::Rules;

use crate::cluster::{A, B, C, Cluster, epoch, oracle, record, record_at};
use crate::leading::decide;

/// A leads alone in epoch 1, and B has all it has; B's proposal is on its way.
fn proposing(rules: Rules) -> (Cluster, Message) {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    let proposal = cluster.take(A, Node::Controller);
    (cluster, proposal)
}

fn answer(proposal: &Message, answer: Result<AlteredPartition, ErrorCode>) -> Message {
    proposal.reply(Content::AlterPartitionReply(answer))
}

fn altered(isr: &[BrokerId], partition_epoch: i32) -> AlteredPartition {
    let partition_epoch = PartitionEpoch(partition_epoch);
    AlteredPartition { leader: Some(A), leader_epoch: epoch(1), isr: isr.to_vec(), partition_epoch }
}

fn isr(cluster: &Cluster) -> Vec<BrokerId> {
    cluster.state(A).leading.expect("it leads").isr
}

/// 4.3: a replica that has caught up and was just refused is waited for, so that it can join.
pub(crate) fn who_has_caught_up_is_waited_for(rules: Rules) -> bool {
    let (mut cluster, proposal) = proposing(rules);
    cluster.deliver_message(answer(&proposal, Err(ErrorCode::IneligibleReplica)));
    assert_eq!(isr(&cluster), [A], "surely not applied");
    let w = cluster.produce(A, &["r1"], Acks::All);
    cluster.answer(w).is_none()
}

/// KAFKA-7152: a replica that ends where the leader does is in sync, however long it has not fetched.
pub(crate) fn who_ends_where_the_leader_does_stays(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    cluster.input(A, Input::ShrinkIsr);
    cluster.input(A, Input::ShrinkIsr);
    let stays = cluster.in_flight(A, Node::Controller).is_empty();
    cluster.write(A, &["r1"]);
    cluster.input(A, Input::ShrinkIsr);
    assert_eq!(cluster.in_flight(A, Node::Controller).len(), 1, "and one that does not is to leave");
    stays
}

/// KAFKA-13916, KIP-841: a broker that is fenced does not join.
pub(crate) fn a_fenced_broker_is_not_proposed(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    let fenced = BrokerRecord { broker: B, broker_epoch: BrokerEpoch(1), fenced: true, shutting_down: false };
    cluster.metadata(A, vec![MetadataRecord::Broker(fenced)]);
    cluster.lead(&[A, B], A, 1, &[A]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    assert_eq!(cluster.end(B), 1);
    cluster.in_flight(A, Node::Controller).is_empty()
}

/// KAFKA-13091: an answer to a proposal lets the high watermark rise.
pub(crate) fn a_member_that_has_left_is_waited_for_no_longer(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B]);
    cluster.settle(&[A, B]);
    let w = cluster.produce(A, &["r0"], Acks::All);
    cluster.input(A, Input::ShrinkIsr);
    let proposal = cluster.take(A, Node::Controller);
    cluster.deliver_message(answer(&proposal, Ok(altered(&[A], 1))));
    assert_eq!((isr(&cluster), cluster.state(A).partition_epoch), (vec![A], PartitionEpoch(1)));
    cluster.answer(w) == Some(Ok(0))
}

/// KAFKA-14010: what the controller could not try is sent again.
pub(crate) fn a_proposal_is_sent_again(rules: Rules) -> bool {
    let (mut cluster, proposal) = proposing(rules);
    cluster.deliver_message(answer(&proposal, Err(ErrorCode::NotController)));
    let again = cluster.in_flight(A, Node::Controller);
    again == [proposal.content.clone()]
}

/// KAFKA-12686: an answer to what metadata have overtaken is of no use.
pub(crate) fn an_overtaken_answer_is_dropped(rules: Rules) -> bool {
    let (mut cluster, proposal) = proposing(rules);
    cluster.metadata(A, vec![record_at(5, Some(A), 1, &[A])]);
    cluster.deliver_message(answer(&proposal, Ok(altered(&[A, B], 6))));
    isr(&cluster) == [A] && cluster.state(A).partition_epoch == PartitionEpoch(5)
}

/// 4.5: a record settles the proposal that is on its way, and still no other goes out before that one is answered.
pub(crate) fn one_proposal_at_a_time_whatever_the_records_say(rules: Rules) -> bool {
    let (mut cluster, first) = proposing(rules);
    cluster.metadata(A, vec![record_at(5, Some(A), 1, &[A])]);
    let fetches_again = |cluster: &mut Cluster, value: &str| {
        cluster.write(A, &[value]);
        cluster.settle(&[A, B]);
        (cluster.in_flight(A, Node::Controller).len(), cluster.state(A).leading.expect("it leads").pending_isr)
    };
    let not_attempted = fetches_again(&mut cluster, "r1");
    cluster.deliver_message(answer(&first, Ok(altered(&[A, B], 1))));
    assert_eq!(isr(&cluster), [A], "the answer is late");
    assert!(cluster.in_flight(A, Node::Controller).len() <= 1, "and is no reason to propose");
    let attempted = fetches_again(&mut cluster, "r2");
    assert_eq!(attempted, (1, Some(vec![A, B])));
    not_attempted == (0, None)
}

/// KAFKA-13790: another ISR in the same epoch changes nothing of what the leader knows.
pub(crate) fn the_same_epoch_forgets_nothing(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    cluster.lead(&[A, B], A, 1, &[A, B, C]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    let before = cluster.state(A).leading.expect("it leads");
    cluster.write(A, &["r1"]);
    cluster.metadata(A, vec![record(Some(A), 1, &[A, B])]);
    let after = cluster.state(A).leading.expect("it leads");
    assert_eq!((before.remotes[&B].0, after.isr.as_slice()), (1, [A, B].as_slice()));
    (before.epoch_start, before.remotes) == (after.epoch_start, after.remotes)
}

/// 4.6: nothing is appended that cannot be acknowledged.
pub(crate) fn too_few_in_sync_refuse_acks_all(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 2, rules);
    cluster.lead(&[A], A, 1, &[A]);
    let w = cluster.produce(A, &["r0"], Acks::All);
    cluster.answer(w) == Some(Err(ErrorCode::NotEnoughReplicas)) && cluster.end(A) == 0
}

/// 4.6: who waits is told when the leader leads no longer.
pub(crate) fn a_waiting_producer_hears_of_the_end_of_leadership(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    cluster.lead(&[A], A, 1, &[A, B]);
    let w = cluster.produce(A, &["r0"], Acks::All);
    cluster.metadata(A, vec![record(Some(B), 2, &[A, B])]);
    cluster.answer(w) == Some(Err(ErrorCode::NotLeaderOrFollower))
}

/// KAFKA-14154: a leader that is ahead of the controller asks another one.
pub(crate) fn a_controller_that_is_behind_says_so(rules: Rules) -> bool {
    let mut cluster = Cluster::new(2, 1, rules);
    let records = decide(&mut cluster, &[A, B], ControllerInput::Elect(ElectionKind::Any));
    assert_eq!(records.len(), 1);
    cluster.lead(&[A, B], A, 1, &[A]);
    cluster.settle(&[A, B]);
    cluster.write(A, &["r0"]);
    cluster.settle(&[A, B]);
    assert!(cluster.deliver(A, Node::Controller));
    cluster.in_flight(Node::Controller, A) == [Content::AlterPartitionReply(Err(ErrorCode::NotController))]
}

/// 4.7 row 6: a proposal changes the record that it was made of, and no later one.
pub(crate) fn a_proposal_of_an_older_record_is_refused(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    let all = [A, B, C];
    decide(&mut cluster, &all, ControllerInput::Elect(ElectionKind::Any));
    cluster.settle(&all);
    cluster.write(A, &["r0"]);
    cluster.input(A, Input::ShrinkIsr);
    let proposal = cluster.take(A, Node::Controller);
    cluster.control(ControllerInput::Fence(C));
    cluster.deliver_message(proposal);
    cluster.in_flight(Node::Controller, A) == [Content::AlterPartitionReply(Err(ErrorCode::InvalidUpdateVersion))]
}

/// 4.7, election rule 2: a leader that can lead stays.
pub(crate) fn a_valid_leader_stays(rules: Rules) -> bool {
    let mut cluster = Cluster::new(3, 1, rules);
    for input in [
        ControllerInput::Elect(ElectionKind::Any),
        ControllerInput::Fence(A),
        ControllerInput::Unfence(A),
        ControllerInput::Elect(ElectionKind::Of(B)),
    ] {
        cluster.control(input);
    }
    let b_leads = cluster.controller.state().leader == Some(B);
    let mut state = cluster.controller.state().clone();
    state.isr = vec![A, B, C];
    cluster.controller.set_state(state);
    let records = cluster.control(ControllerInput::Elect(ElectionKind::Any)).records;
    b_leads && records.is_empty()
}

/// KAFKA-19522: the last leader is elected when it is alive, and not before.
pub(crate) fn a_fenced_last_leader_is_not_elected(rules: Rules) -> bool {
    let replicas = vec![A, B];
    let setup = ControllerSetup { replicas, min_isr: 2, elr: true, unclean_election: false, slip: rules.slip };
    let mut controller = fencepost_reference::replica::controller::Controller::new(setup);
    controller.handle(ControllerInput::Elect(ElectionKind::Any));
    for broker in [B, A] {
        controller.handle(ControllerInput::Fence(broker));
        let register = ControllerInput::Register { broker, broker_epoch: BrokerEpoch(2), unclean: true };
        controller.handle(register);
    }
    let fenced = controller.state().leader;
    controller.handle(ControllerInput::Unfence(A));
    fenced.is_none() && controller.state().leader == Some(A)
}

#[test]
fn a_leader_that_leaves_is_replaced_with_a_new_epoch_and_a_member_that_leaves_is_not() {
    let mut cluster = Cluster::new(3, 1, oracle());
    let epochs = |cluster: &Cluster| {
        let state = cluster.controller.state();
        (state.leader, state.leader_epoch.0, state.partition_epoch.0, state.isr.clone())
    };
    assert_eq!(epochs(&cluster), (None, -1, -1, vec![A, B, C]));
    cluster.control(ControllerInput::Elect(ElectionKind::Any));
    assert_eq!(epochs(&cluster), (Some(A), 0, 0, vec![A, B, C]));
    cluster.control(ControllerInput::Fence(C));
    assert_eq!(epochs(&cluster), (Some(A), 0, 1, vec![A, B]));
    cluster.control(ControllerInput::ShutDown(A));
    assert_eq!(epochs(&cluster), (Some(B), 1, 2, vec![B]));
    cluster.control(ControllerInput::Fence(B));
    assert_eq!(epochs(&cluster), (None, 2, 3, vec![B]), "the last one stays in the record");
    cluster.control(ControllerInput::Unfence(C));
    assert_eq!(epochs(&cluster), (None, 2, 3, vec![B]), "and nobody else leads");
    assert_eq!(cluster.control(ControllerInput::Fence(B)).records, [], "it is fenced already");
    cluster.control(ControllerInput::Unfence(B));
    assert_eq!(epochs(&cluster), (Some(B), 3, 4, vec![B]));
    cluster.control(ControllerInput::Elect(ElectionKind::Unclean));
    assert_eq!(epochs(&cluster).1, 3, "an election that changes nothing is none");
}

#[test]
fn an_unclean_election_recovers_with_the_next_proposal() {
    let mut cluster = Cluster::new(2, 1, oracle());
    let both = [A, B];
    decide(&mut cluster, &both, ControllerInput::Elect(ElectionKind::Any));
    cluster.settle(&both);
    decide(&mut cluster, &both, ControllerInput::Fence(B));
    decide(&mut cluster, &both, ControllerInput::Fence(A));
    decide(&mut cluster, &both, ControllerInput::Unfence(B));
    assert_eq!(cluster.controller.state().leader, None);
    decide(&mut cluster, &both, ControllerInput::Elect(ElectionKind::Unclean));
    assert_eq!((cluster.controller.state().leader, cluster.controller.state().recovering), (Some(B), true));
    decide(&mut cluster, &both, ControllerInput::Unfence(A));
    cluster.settle(&both);
    assert!(cluster.deliver(B, Node::Controller));
    let state = cluster.controller.state();
    assert_eq!((state.isr.as_slice(), state.recovering), ([A, B].as_slice(), false));
}

#[test]
fn a_process_does_not_register_while_its_predecessor_is_alive() {
    let mut cluster = Cluster::new(2, 1, oracle());
    let register = ControllerInput::Register { broker: A, broker_epoch: BrokerEpoch(2), unclean: false };
    let effects = cluster.control(register);
    assert_eq!((effects.records.len(), effects.refused), (0, Some(ErrorCode::DuplicateBrokerRegistration)));
}

#[test]
fn a_proposal_that_may_have_been_applied_stays_pending() {
    let (mut cluster, proposal) = proposing(oracle());
    cluster.deliver_message(answer(&proposal, Err(ErrorCode::InvalidUpdateVersion)));
    let leading = cluster.state(A).leading.expect("it leads");
    assert_eq!((leading.isr, leading.pending_isr), (vec![A], Some(vec![A, B])));
    cluster.metadata(A, vec![record_at(1, Some(A), 1, &[A, B])]);
    let leading = cluster.state(A).leading.expect("it leads");
    assert_eq!((leading.isr, leading.pending_isr), (vec![A, B], None));
}

#[test]
fn metadata_of_an_older_record_change_nothing() {
    let mut cluster = Cluster::new(2, 1, oracle());
    cluster.metadata(A, vec![record_at(4, Some(A), 2, &[A, B])]);
    cluster.metadata(A, vec![record_at(3, Some(B), 1, &[A, B])]);
    let state = cluster.state(A);
    assert_eq!((state.leader_epoch, state.partition_epoch), (epoch(2), PartitionEpoch(4)));
    assert!(state.leading.is_some());
}

#[test]
fn a_lost_connection_sends_again_what_is_on_its_way_though_a_record_has_settled_it() {
    let (mut cluster, first) = proposing(oracle());
    cluster.metadata(A, vec![record_at(5, Some(A), 1, &[A])]);
    cluster.input(A, Input::Fail(first.correlation));
    assert_eq!(cluster.in_flight(A, Node::Controller), std::slice::from_ref(&first.content));
    let again = cluster.take(A, Node::Controller);
    cluster.deliver_message(answer(&again, Err(ErrorCode::StaleBrokerEpoch)));
    assert_eq!(cluster.in_flight(A, Node::Controller), [first.content], "of the request, and not of the partition");
    assert_eq!(cluster.state(A).leading.expect("it leads").pending_isr, None);
}

#[test]
fn a_proposal_of_an_earlier_leadership_holds_the_next_one_back() {
    let (mut cluster, first) = proposing(oracle());
    cluster.metadata(A, vec![record_at(5, Some(B), 2, &[A, B])]);
    cluster.metadata(A, vec![record_at(6, Some(A), 3, &[A, B])]);
    cluster.mail.clear();
    cluster.write(A, &["r1"]);
    cluster.input(A, Input::ShrinkIsr);
    assert!(cluster.in_flight(A, Node::Controller).is_empty());
    cluster.deliver_message(answer(&first, Err(ErrorCode::FencedLeaderEpoch)));
    assert_eq!(isr(&cluster), [A, B]);
    cluster.input(A, Input::ShrinkIsr);
    assert_eq!(cluster.in_flight(A, Node::Controller).len(), 1);
}
