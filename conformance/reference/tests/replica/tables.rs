//! The decision tables, row by row (docs/replication.md 2.2, 2.5, 2.7, 3.1, 3.3, 4.3 to 4.7).

use std::collections::BTreeMap;

use fencepost_reference::replica::alter_partition::validate_alter_partition;
use fencepost_reference::replica::divergence::{FetchPosition, check_divergence};
use fencepost_reference::replica::election::{Elected, ElectedFrom, ElectionKind, PartitionState, elect, target_elr};
use fencepost_reference::replica::epoch_cache::{EpochCache, EpochEnd, EpochEntry};
use fencepost_reference::replica::epoch_check::{LocalReplica, check_leader_epoch};
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::fetcher::{FetchState, FollowerLog, initial_entry};
use fencepost_reference::replica::high_watermark::{
    Awaited, LeaderEnd, effective_min_isr, follower_high_watermark, risen_high_watermark,
};
use fencepost_reference::replica::isr::{AlterReaction, Candidate, is_eligible, may_expand, on_alter_partition_reply};
use fencepost_reference::replica::message::{AlterPartitionRequest, AlteredPartition, EpochRequestVersion};
use fencepost_reference::replica::metadata::{BrokerRecord, Registrations};
use fencepost_reference::replica::names::{BrokerEpoch, BrokerId, LagPeriod, LeaderEpoch, Offset, PartitionEpoch};
use fencepost_reference::replica::out_of_range::{AfterEarliest, AfterLatest, after_earliest, after_latest};
use fencepost_reference::replica::produce::{Acks, check_produce, check_replicated};
use fencepost_reference::replica::remote_replica::{CountedFetch, RemoteReplica};
use fencepost_reference::replica::rules::{Truncation, offset_for_leader_epoch_version};
use fencepost_reference::replica::truncation::{OwnLog, TruncationTarget, truncation_target};

use crate::cluster::{A, B, C, epoch, offset};

fn end(of: i32, at: i64) -> EpochEnd {
    EpochEnd { epoch: epoch(of), end_offset: offset(at) }
}

fn cache(entries: &[(i32, i64)]) -> EpochCache {
    let entry = |(of, at): &(i32, i64)| EpochEntry { epoch: epoch(*of), start_offset: offset(*at) };
    EpochCache::from_entries(entries.iter().map(entry)).expect("entries")
}

#[test]
fn the_epoch_of_a_request_is_compared_before_leadership_is() {
    let check = |local: i32, is_leader, has_log, requested: Option<i32>, required| {
        let local = LocalReplica { leader_epoch: epoch(local), is_leader, has_log };
        check_leader_epoch(local, requested.map(LeaderEpoch), required)
    };
    assert_eq!(check(5, true, true, Some(4), true), Err(ErrorCode::FencedLeaderEpoch));
    assert_eq!(check(5, false, true, Some(4), true), Err(ErrorCode::FencedLeaderEpoch));
    assert_eq!(check(5, true, true, Some(6), true), Err(ErrorCode::UnknownLeaderEpoch));
    assert_eq!(check(5, false, false, Some(6), true), Err(ErrorCode::UnknownLeaderEpoch));
    assert_eq!(check(5, false, true, Some(5), true), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(check(5, false, true, None, true), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(check(5, true, false, Some(5), true), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(check(5, false, false, None, false), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(check(5, true, true, Some(5), true), Ok(()));
    assert_eq!(check(5, true, true, None, true), Ok(()));
    assert_eq!(check(5, false, true, Some(5), false), Ok(()));
}

#[test]
fn a_fetch_diverges_where_its_epoch_ended_earlier_on_the_leader() {
    let check = |answer, log_start: i64, at: i64, last: i32| {
        let fetch = FetchPosition { offset: offset(at), last_fetched_epoch: epoch(last) };
        check_divergence(answer, offset(log_start), fetch, None)
    };
    assert_eq!(check(EpochEnd::UNDEFINED, 0, 5, 3), Err(ErrorCode::OffsetOutOfRange));
    // The start of the log has priority over divergence (KAFKA-12996).
    assert_eq!(check(end(1, 10), 6, 5, 3), Err(ErrorCode::OffsetOutOfRange));
    assert_eq!(check(end(1, 10), 0, 5, 3), Ok(Some(end(1, 10))));
    assert_eq!(check(end(3, 4), 0, 5, 3), Ok(Some(end(3, 4))));
    assert_eq!(check(end(3, 5), 0, 5, 3), Ok(None));
    assert_eq!(check(end(3, 9), 0, 5, 3), Ok(None));
}

/// A follower with 10 records of epochs 1, 3 and 5, which begin at 0, 4 and 8, and a high watermark of 3.
fn target(reply: EpochEnd, truncation: Truncation) -> TruncationTarget {
    let epochs = cache(&[(1, 0), (3, 4), (5, 8)]);
    let own = OwnLog { epochs: &epochs, log_end: offset(10), entry_offset: offset(3) };
    truncation_target(own, reply, truncation, None)
}

#[test]
fn a_follower_cuts_by_the_leaders_end_and_its_own() {
    let cut = |at, finished| TruncationTarget { offset: offset(at), finished };
    let exchange = |reply| target(reply, Truncation::EpochExchange);
    assert_eq!(exchange(EpochEnd::UNDEFINED), cut(3, true), "row 1");
    assert_eq!(exchange(end(-1, 6)), cut(6, true), "row 2: not bounded by the high watermark");
    assert_eq!(exchange(end(-1, 60)), cut(10, true), "row 2: bounded by the end");
    assert_eq!(exchange(end(7, 6)), cut(6, true), "row 3");
    assert_eq!(exchange(end(7, 60)), cut(10, true), "row 3");
    assert_eq!(exchange(end(4, 9)), cut(8, false), "row 4: epoch 3 ends at 8 here");
    assert_eq!(exchange(end(3, 9)), cut(8, true), "row 5: the own end is less");
    assert_eq!(exchange(end(3, 6)), cut(6, true), "row 5: the leader's is");
    assert_eq!(exchange(end(5, 60)), cut(10, true), "row 5: the end of the log is");
    assert_eq!(exchange(end(0, 2)), cut(0, true), "row 5: before all own epochs");
    // Truncation on fetch goes by the same table.
    assert_eq!(target(end(4, 9), Truncation::OnFetch), cut(8, false));
    // KIP-101 goes by the leader's offset alone.
    assert_eq!(target(end(-1, 9), Truncation::LeaderOffset), cut(9, true));
    assert_eq!(target(end(-1, 60), Truncation::LeaderOffset), cut(10, true));
    assert_eq!(target(EpochEnd::UNDEFINED, Truncation::LeaderOffset), cut(3, true));
}

#[test]
fn a_follower_without_epochs_cuts_at_the_leaders_offset() {
    let epochs = EpochCache::default();
    let own = OwnLog { epochs: &epochs, log_end: offset(10), entry_offset: offset(3) };
    let cut = truncation_target(own, end(2, 6), Truncation::EpochExchange, None);
    assert_eq!(cut, TruncationTarget { offset: offset(6), finished: true });
}

#[test]
fn following_begins_at_the_end_of_the_log_if_the_leader_can_tell_divergence() {
    let log = |latest: Option<i32>| FollowerLog {
        log_end: offset(9),
        high_watermark: offset(4),
        latest_epoch: latest.map(LeaderEpoch),
    };
    let entry = |latest, truncation| {
        let entry = initial_entry(B, epoch(7), log(latest), truncation);
        assert_eq!((entry.leader, entry.leader_epoch, entry.backing_off), (B, epoch(7), false));
        (entry.offset.0, entry.last_fetched_epoch.map(|last| last.0), entry.state)
    };
    assert_eq!(entry(Some(3), Truncation::OnFetch), (9, Some(3), FetchState::Fetching));
    assert_eq!(entry(None, Truncation::OnFetch), (4, None, FetchState::Truncating));
    assert_eq!(entry(Some(3), Truncation::EpochExchange), (4, None, FetchState::Truncating));
    assert_eq!(entry(None, Truncation::LeaderOffset), (4, None, FetchState::Truncating));
    assert_eq!(entry(None, Truncation::HighWatermark), (9, None, FetchState::Fetching));
}

#[test]
fn out_of_range_is_resolved_by_the_leaders_end_and_then_its_start() {
    assert_eq!(after_latest(offset(10), offset(7)), AfterLatest::TruncateTo(offset(7)));
    assert_eq!(after_latest(offset(10), offset(10)), AfterLatest::AskEarliest);
    assert_eq!(after_latest(offset(10), offset(12)), AfterLatest::AskEarliest);
    let after =
        |restart: Option<i64>, from| AfterEarliest { restart_at: restart.map(Offset), fetch_from: offset(from) };
    assert_eq!(after_earliest(offset(10), offset(12)), after(Some(12), 12));
    assert_eq!(after_earliest(offset(10), offset(10)), after(None, 10));
    assert_eq!(after_earliest(offset(10), offset(3)), after(None, 10));
}

fn remote(at: Option<i64>, in_maximal_isr: bool, about_to_join: bool) -> Awaited {
    Awaited { end: at.map(Offset), in_maximal_isr, about_to_join }
}

#[test]
fn the_high_watermark_waits_for_the_maximal_isr_and_who_is_about_to_join() {
    let leader = LeaderEnd { high_watermark: offset(5), log_end: offset(12), committed_isr: 2, min_isr: 2 };
    let rises = |remotes: &[Awaited]| risen_high_watermark(leader, remotes.iter().copied()).map(|to| to.0);
    assert_eq!(rises(&[remote(Some(9), true, false), remote(Some(7), false, false)]), Some(9));
    assert_eq!(rises(&[remote(Some(9), true, false), remote(Some(7), false, true)]), Some(7));
    assert_eq!(rises(&[remote(Some(9), true, false), remote(None, true, false)]), None, "an unknown end blocks");
    assert_eq!(rises(&[remote(Some(5), true, false)]), None, "it does not fall, and equal is no rise");
    assert_eq!(rises(&[remote(Some(3), true, false)]), None);
    assert_eq!(rises(&[]), Some(12));
    let too_few = LeaderEnd { committed_isr: 1, ..leader };
    assert_eq!(risen_high_watermark(too_few, []), None, "KAFKA-15583");
    assert_eq!(effective_min_isr(2, 1), 1);
    assert_eq!(effective_min_isr(2, 3), 2);
}

#[test]
fn a_followers_high_watermark_may_fall_and_stays_in_its_log() {
    let told = |told, start, end| follower_high_watermark(offset(told), offset(start), offset(end)).0;
    assert_eq!(told(7, 0, 10), 7);
    assert_eq!(told(12, 0, 10), 10);
    assert_eq!(told(2, 4, 10), 4);
}

#[test]
fn a_fetch_catches_up_at_the_leaders_end_of_now_or_of_the_fetch_before() {
    let fetch = |at, leader_end, now| CountedFetch {
        offset: offset(at),
        log_start: offset(0),
        leader_end: offset(leader_end),
        now: LagPeriod(now),
        broker_epoch: BrokerEpoch(1),
    };
    let fresh = RemoteReplica::new_leadership(false, LagPeriod(1));
    assert_eq!((fresh.end, fresh.last_caught_up, fresh.broker_epoch), (None, None, None));
    let first = fresh.fetched(fetch(5, 10, 1));
    assert_eq!((first.end, first.last_caught_up), (Some(offset(5)), None));
    // In the next period it has what the leader had in the one before.
    let second = first.fetched(fetch(10, 14, 2));
    assert_eq!(second.last_caught_up, Some(LagPeriod(1)));
    let third = second.fetched(fetch(14, 14, 3));
    assert_eq!(third.last_caught_up, Some(LagPeriod(3)));
    // Its end may go down.
    assert_eq!(third.fetched(fetch(2, 14, 3)).end, Some(offset(2)));
    assert!(third.is_caught_up(offset(14), LagPeriod(9)), "the same end, whenever it fetched");
    assert!(third.is_caught_up(offset(20), LagPeriod(3)));
    assert!(!third.is_caught_up(offset(20), LagPeriod(4)));
}

#[test]
fn a_replica_joins_from_the_high_watermark_and_the_start_of_the_epoch_on() {
    let candidate = Candidate {
        proposal_pending: false,
        in_isr: false,
        eligible: true,
        end: offset(8),
        high_watermark: offset(5),
        epoch_start: offset(8),
    };
    assert!(may_expand(candidate));
    assert!(!may_expand(Candidate { proposal_pending: true, ..candidate }));
    assert!(!may_expand(Candidate { in_isr: true, ..candidate }));
    assert!(!may_expand(Candidate { eligible: false, ..candidate }));
    assert!(!may_expand(Candidate { high_watermark: offset(9), ..candidate }));
    assert!(!may_expand(Candidate { epoch_start: offset(9), ..candidate }), "KAFKA-7128");
}

fn broker(fenced: bool, shutting_down: bool, of: i64) -> BrokerRecord {
    BrokerRecord { broker: B, broker_epoch: BrokerEpoch(of), fenced, shutting_down }
}

#[test]
fn a_replica_is_eligible_if_its_broker_lives_stays_and_is_the_one_that_fetched() {
    let eligible =
        |record: Option<BrokerRecord>, with: Option<i64>| is_eligible(record.as_ref(), with.map(BrokerEpoch), None);
    assert!(eligible(Some(broker(false, false, 4)), Some(4)));
    assert!(eligible(Some(broker(false, false, 4)), Some(-1)), "an old version has none");
    assert!(!eligible(Some(broker(true, false, 4)), Some(4)));
    assert!(!eligible(Some(broker(false, true, 4)), Some(4)));
    assert!(!eligible(Some(broker(false, false, 4)), Some(3)));
    assert!(!eligible(Some(broker(false, false, 4)), None), "no fetch in this leadership");
    assert!(!eligible(None, Some(4)));
}

#[test]
fn an_answer_to_a_proposal_is_applied_undone_awaited_or_asked_again() {
    let reaction = |reply| on_alter_partition_reply(epoch(3), PartitionEpoch(7), &reply);
    let altered = |leader_epoch, partition_epoch| AlteredPartition {
        leader: Some(A),
        leader_epoch: epoch(leader_epoch),
        isr: vec![A],
        partition_epoch: PartitionEpoch(partition_epoch),
    };
    assert_eq!(reaction(Ok(altered(4, 8))), AlterReaction::Ignore);
    assert_eq!(reaction(Ok(altered(3, 6))), AlterReaction::Ignore);
    assert_eq!(reaction(Ok(altered(3, 7))), AlterReaction::Commit, "no change is a success too");
    assert_eq!(reaction(Ok(altered(3, 8))), AlterReaction::Commit);
    for error in [ErrorCode::IneligibleReplica, ErrorCode::OperationNotAttempted] {
        assert_eq!(reaction(Err(error)), AlterReaction::RollBack);
    }
    for error in [
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::UnknownTopicId,
        ErrorCode::FencedLeaderEpoch,
        ErrorCode::InvalidUpdateVersion,
        ErrorCode::InvalidRequest,
        ErrorCode::NewLeaderElected,
    ] {
        assert_eq!(reaction(Err(error)), AlterReaction::AwaitMetadata);
    }
    for error in [ErrorCode::NotController, ErrorCode::RequestTimedOut, ErrorCode::StaleBrokerEpoch] {
        assert_eq!(reaction(Err(error)), AlterReaction::SendAgain);
    }
}

#[test]
fn a_produce_request_is_refused_waits_or_is_answered() {
    assert_eq!(check_produce(false, Acks::None, 3, 1), Err(ErrorCode::NotLeaderOrFollower));
    assert_eq!(check_produce(true, Acks::All, 1, 2), Err(ErrorCode::NotEnoughReplicas));
    assert_eq!(check_produce(true, Acks::Leader, 1, 2), Ok(()));
    assert_eq!(check_produce(true, Acks::All, 2, 2), Ok(()));
    assert_eq!(check_replicated(offset(5), offset(4), 2, 2), None);
    assert_eq!(check_replicated(offset(5), offset(5), 2, 2), Some(Ok(())));
    assert_eq!(check_replicated(offset(5), offset(6), 1, 2), Some(Err(ErrorCode::NotEnoughReplicasAfterAppend)));
}

fn state(isr: &[BrokerId], leader: Option<BrokerId>) -> PartitionState {
    PartitionState {
        replicas: vec![A, B, C],
        isr: isr.to_vec(),
        elr: Vec::new(),
        last_known: None,
        leader,
        leader_epoch: epoch(3),
        partition_epoch: PartitionEpoch(7),
        recovering: false,
    }
}

fn registered(fenced: &[BrokerId]) -> Registrations {
    let mut brokers = Registrations::first(&[A, B, C]);
    for broker in fenced {
        let record = BrokerRecord { broker: *broker, broker_epoch: BrokerEpoch(1), fenced: true, shutting_down: false };
        brokers.apply(record);
    }
    brokers
}

#[test]
fn a_proposal_is_validated_in_the_order_of_the_table() {
    let request = |leader_epoch, partition_epoch, isr: &[(BrokerId, i64)]| AlterPartitionRequest {
        leader_epoch: epoch(leader_epoch),
        partition_epoch: PartitionEpoch(partition_epoch),
        isr: isr.iter().map(|(member, of)| (*member, BrokerEpoch(*of))).collect::<BTreeMap<_, _>>(),
        broker_epoch: BrokerEpoch(1),
        recovered: true,
    };
    let both = [(A, 1), (B, 1)];
    let validate = |requester, request: &AlterPartitionRequest| {
        validate_alter_partition(&state(&[A], Some(A)), &registered(&[C]), requester, request, None)
    };
    let stale = AlterPartitionRequest { broker_epoch: BrokerEpoch(0), ..request(9, 9, &both) };
    assert_eq!(validate(A, &stale), Err(ErrorCode::StaleBrokerEpoch), "0");
    assert_eq!(validate(A, &request(4, 7, &both)), Err(ErrorCode::NotController), "2");
    assert_eq!(validate(A, &request(2, 8, &both)), Err(ErrorCode::NotController), "3");
    assert_eq!(validate(B, &request(2, 7, &both)), Err(ErrorCode::FencedLeaderEpoch), "4");
    assert_eq!(validate(B, &request(3, 6, &both)), Err(ErrorCode::InvalidRequest), "5");
    assert_eq!(validate(A, &request(3, 6, &both)), Err(ErrorCode::InvalidUpdateVersion), "6");
    assert_eq!(validate(A, &request(3, 7, &[(A, 1), (BrokerId(9), 1)])), Err(ErrorCode::InvalidRequest), "7");
    assert_eq!(validate(A, &request(3, 7, &[(B, 1)])), Err(ErrorCode::InvalidRequest), "7: without the leader");
    let recovering = |request: AlterPartitionRequest| AlterPartitionRequest { recovered: false, ..request };
    assert_eq!(validate(A, &recovering(request(3, 7, &both))), Err(ErrorCode::InvalidRequest), "8: with others");
    let alone = request(3, 7, &[(A, 1)]);
    assert_eq!(validate(A, &recovering(alone)), Err(ErrorCode::InvalidRequest), "8: it has recovered already");
    assert_eq!(validate(A, &request(3, 7, &[(A, 1), (C, 1)])), Err(ErrorCode::IneligibleReplica), "9: fenced");
    assert_eq!(validate(A, &request(3, 7, &[(A, 1), (B, 0)])), Err(ErrorCode::IneligibleReplica), "9: another epoch");
    assert_eq!(validate(A, &request(3, 7, &[(A, 1), (B, -1)])), Ok(()));
    assert_eq!(validate(A, &request(3, 7, &both)), Ok(()));
}

#[test]
fn a_leader_comes_from_the_isr_in_the_order_of_the_replicas() {
    let elected =
        |state: &PartitionState, kind, fenced: &[BrokerId]| elect(state, kind, &registered(fenced), false, None);
    let from_isr = |leader| Elected { leader: Some(leader), from: ElectedFrom::Isr };
    let nobody = Elected { leader: None, from: ElectedFrom::Nowhere };
    let led_by_b = state(&[A, B, C], Some(B));
    assert_eq!(elected(&led_by_b, ElectionKind::Preferred, &[]), from_isr(A));
    assert_eq!(elected(&led_by_b, ElectionKind::Preferred, &[A]), from_isr(B), "else the one that leads");
    assert_eq!(elected(&led_by_b, ElectionKind::Preferred, &[A, B]), from_isr(C));
    assert_eq!(elected(&led_by_b, ElectionKind::Any, &[]), from_isr(B), "a valid leader stays");
    assert_eq!(elected(&led_by_b, ElectionKind::Any, &[B]), from_isr(A));
    let only_b = state(&[B], Some(B));
    assert_eq!(elected(&only_b, ElectionKind::Any, &[B]), nobody);
    assert_eq!(elected(&only_b, ElectionKind::Preferred, &[B]), nobody);
    let unclean = Elected { leader: Some(A), from: ElectedFrom::Unclean };
    assert_eq!(elected(&only_b, ElectionKind::Unclean, &[B]), unclean);
    assert_eq!(elected(&only_b, ElectionKind::Unclean, &[A, B, C]), nobody);
    assert_eq!(elected(&only_b, ElectionKind::Unclean, &[]), from_isr(B), "cleanly while that is possible");
}

#[test]
fn an_eligible_replica_leads_when_nobody_is_in_sync_and_else_the_last_leader() {
    let elected =
        |state: &PartitionState, fenced: &[BrokerId]| elect(state, ElectionKind::Any, &registered(fenced), true, None);
    let mut empty = PartitionState { elr: vec![B, C], ..state(&[], None) };
    assert_eq!(elected(&empty, &[]), Elected { leader: Some(B), from: ElectedFrom::Elr });
    assert_eq!(elected(&empty, &[B]), Elected { leader: Some(C), from: ElectedFrom::Elr });
    empty.elr.clear();
    empty.last_known = Some(C);
    assert_eq!(elected(&empty, &[]), Elected { leader: Some(C), from: ElectedFrom::Unclean });
    assert_eq!(elected(&empty, &[C]).leader, None, "KAFKA-19522");
}

#[test]
fn who_leaves_while_the_high_watermark_stands_still_is_eligible() {
    let before = state(&[A, B, C], Some(A));
    assert_eq!(target_elr(&before, &[A, B], 2, &[]), [], "enough in sync");
    assert_eq!(target_elr(&before, &[A], 2, &[]), [B, C]);
    assert_eq!(target_elr(&before, &[], 2, &[A]), [B, C], "not who has lost its disk");
    let later = PartitionState { elr: vec![B], ..state(&[A], Some(A)) };
    assert_eq!(target_elr(&later, &[], 2, &[]), [A, B]);
    assert_eq!(target_elr(&later, &[A, C], 2, &[]), [], "and nobody once there are enough");
}

#[test]
fn the_version_of_the_question_is_that_of_the_inter_broker_protocol() {
    use EpochRequestVersion::{V0, V1, V2, V3, V4};
    let versions = [
        ("0.11-IV2", (0, 11, 2), V0),
        ("1.1-IV0", (1, 1, 0), V0),
        ("2.0-IV0", (2, 0, 0), V1),
        ("2.0-IV1", (2, 0, 1), V1),
        ("2.1-IV0", (2, 1, 0), V1),
        ("2.1-IV1", (2, 1, 1), V2),
        ("2.2-IV1", (2, 2, 1), V2),
        ("2.3-IV0", (2, 3, 0), V2),
        ("2.3-IV1", (2, 3, 1), V3),
        ("2.7-IV2", (2, 7, 2), V3),
        ("2.8-IV0", (2, 8, 0), V4),
        ("3.6-IV2", (3, 6, 2), V4),
    ];
    for (name, (major, minor, step), version) in versions {
        assert_eq!(offset_for_leader_epoch_version(major, minor, step), version, "{name}");
    }
}
