//! The tables of docs/consumers.md, row by row.

use fencepost_reference::client::fetching::{Fetching, OnFetchReply, on_fetch_reply};
use fencepost_reference::client::history::{Divergence, History, divergence};
use fencepost_reference::client::leader::detect_truncation;
use fencepost_reference::client::message::ReadError;
use fencepost_reference::client::metadata::{Heard, accept_metadata};
use fencepost_reference::client::names::{BrokerId, LeaderEpoch, Offset, TopicId};
use fencepost_reference::client::reset::ResetStrategy;
use fencepost_reference::client::rules::{ResetPolicy, Rules, TopicIdentity, UndefinedAnswer, UnknownDivergence};
use fencepost_reference::client::state::FetchState::{AwaitReset, AwaitValidation, Fetching as Fetches, Initializing};
use fencepost_reference::client::state::{FetchState, LeaderAndEpoch, Position};
use fencepost_reference::client::validation::{
    OnLeader, OnValidationReply, Validating, on_leader, on_validation_reply,
};
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::storage::epoch_cache::{EpochCache, EpochEnd, EpochEntry};

const A: BrokerId = BrokerId(0);
const B: BrokerId = BrokerId(1);

fn leader(leader: BrokerId, epoch: i32) -> LeaderAndEpoch {
    LeaderAndEpoch { leader: Some(leader), epoch: Some(LeaderEpoch(epoch)) }
}

/// At 5, behind a record of epoch 3, under A in epoch 4.
fn position() -> Position {
    Position { offset: Offset(5), offset_epoch: Some(LeaderEpoch(3)), leader: leader(A, 4), topic: None }
}

fn end(epoch: i32, end_offset: i64) -> EpochEnd {
    EpochEnd { epoch: LeaderEpoch(epoch), end_offset: Offset(end_offset) }
}

fn entries(epochs: &[(i32, i64)]) -> impl Iterator<Item = EpochEntry> {
    epochs.iter().map(|(epoch, start)| EpochEntry { epoch: LeaderEpoch(*epoch), start_offset: Offset(*start) })
}

/// 1.
#[test]
fn what_may_follow_a_state() {
    let all = [Initializing, Fetches, AwaitReset, AwaitValidation];
    let may = |from: FetchState| all.into_iter().filter(|to| from.may_become(*to)).collect::<Vec<_>>();
    assert_eq!(may(Initializing), [Fetches, AwaitReset, AwaitValidation]);
    assert_eq!(may(Fetches), [Fetches, AwaitReset, AwaitValidation]);
    assert_eq!(may(AwaitReset), [Fetches, AwaitReset]);
    assert_eq!(may(AwaitValidation), [Fetches, AwaitReset, AwaitValidation]);
}

/// 2, and 8 for another topic.
#[test]
fn which_metadata_are_taken() {
    let rules = |topic| Rules { topic, ..Rules::STRICT };
    let takes = |rules, epoch: Option<i32>, topic| {
        let heard = Heard { leader: Some(A), epoch: epoch.map(LeaderEpoch), topic: TopicId(topic) };
        accept_metadata(rules, Some(LeaderEpoch(3)), Some(TopicId(2)), heard)
    };
    let by_id = rules(TopicIdentity::Id);
    assert_eq!([4, 3, 2].map(|epoch| takes(by_id, Some(epoch), 2)), [true, true, false]);
    assert!(takes(by_id, None, 2), "there is nothing to compare");
    assert_eq!([1, 3].map(|topic| takes(by_id, Some(0), topic)), [true, true]);
    assert_eq!([1, 3].map(|topic| takes(rules(TopicIdentity::PartitionEpoch), Some(9), topic)), [false, true]);
    assert_eq!([1, 3].map(|topic| takes(rules(TopicIdentity::LeaderEpoch), Some(0), topic)), [false, false]);
    assert!(takes(Rules::NO_EPOCH, Some(0), 2));
}

/// 2.
#[test]
fn what_a_leader_that_is_known_brings_about() {
    let on = |state, position: Option<&Position>, now| on_leader(Rules::STRICT, state, position, true, now);
    let here = position();
    assert_eq!(on(Fetches, Some(&here), leader(A, 4)), OnLeader::Ignore);
    assert_eq!(on(Fetches, Some(&here), leader(A, 5)), OnLeader::Validate, "the same leader in a later epoch");
    assert_eq!(on(Fetches, Some(&here), leader(B, 4)), OnLeader::Validate);
    assert_eq!(on(AwaitValidation, Some(&here), leader(B, 5)), OnLeader::Validate);
    let without_epoch = LeaderAndEpoch { leader: Some(B), epoch: None };
    assert_eq!(on(Fetches, Some(&here), without_epoch), OnLeader::Fetch, "nothing to ask under");
    assert_eq!(on(Fetches, Some(&Position { offset_epoch: None, ..here }), leader(B, 5)), OnLeader::Fetch);
    assert_eq!(on(Fetches, Some(&here), LeaderAndEpoch { leader: None, epoch: None }), OnLeader::Ignore);
    assert_eq!(on(AwaitReset, None, leader(B, 5)), OnLeader::Ignore);
    assert_eq!(on_leader(Rules::STRICT, Fetches, Some(&here), false, leader(B, 5)), OnLeader::Fetch, "KAFKA-8422");
    assert_eq!(on_leader(Rules::STRICT, AwaitValidation, Some(&here), false, leader(A, 4)), OnLeader::Fetch);
}

fn validated(rules: Rules, policy: ResetPolicy, reply: Result<EpochEnd, ReadError>) -> OnValidationReply {
    validated_with(rules, policy, &[], reply)
}

fn validated_with(
    rules: Rules,
    policy: ResetPolicy,
    history: &[(i32, i64)],
    reply: Result<EpochEnd, ReadError>,
) -> OnValidationReply {
    let (position, history) = (position(), History::from_entries(entries(history)));
    let asked = Validating {
        state: AwaitValidation,
        position: Some(&position),
        sent: &position,
        policy,
        history: &history,
        nearest: false,
        walking: false,
    };
    on_validation_reply(rules, asked, reply)
}

/// 3.
#[test]
fn what_an_answer_to_a_validation_brings_about() {
    use OnValidationReply::{Fetch, MoveTo, Reset, Retry, Throw};
    let (java, strict) = (Rules::KIP_320, Rules::STRICT);
    let (none, earliest, latest) = (ResetPolicy::None, ResetPolicy::Earliest, ResetPolicy::Latest);
    let fenced = Err(ReadError::Kafka(ErrorCode::FencedLeaderEpoch));
    for rules in [java, strict] {
        assert_eq!(validated(rules, none, fenced), Retry);
        assert_eq!(validated(rules, none, Ok(EpochEnd::UNDEFINED)), Throw(None));
        assert_eq!(validated(rules, latest, Ok(EpochEnd::UNDEFINED)), Reset(ResetStrategy::Latest));
        assert_eq!(validated(rules, none, Ok(end(3, 4))), Throw(Some(end(3, 4))));
        assert_eq!(validated(rules, none, Ok(end(1, 4))), Throw(Some(end(1, 4))));
        assert_eq!(validated(rules, earliest, Ok(end(3, 4))), MoveTo(Offset(4), Some(LeaderEpoch(3))));
        assert_eq!(validated(rules, earliest, Ok(end(1, 4))), MoveTo(Offset(4), Some(LeaderEpoch(1))));
        assert_eq!(validated(rules, none, Ok(end(3, 5))), Fetch);
        assert_eq!(validated(rules, earliest, Ok(end(3, 9))), Fetch);
    }
    // S15.
    assert_eq!(validated(java, none, Ok(end(1, 8))), Fetch);
    assert_eq!(validated(strict, none, Ok(end(1, 8))), Throw(None));
    assert_eq!(validated(strict, earliest, Ok(end(1, 8))), Reset(ResetStrategy::Earliest));
    let cannot_tell = Rules { undefined: UndefinedAnswer::CannotTell, ..java };
    assert_eq!(validated(cannot_tell, none, Ok(EpochEnd::UNDEFINED)), Fetch);
}

/// 3: an answer is of the position with all its three parts.
#[test]
fn an_answer_about_another_position_is_ignored() {
    let sent = position();
    let history = History::default();
    let moved = [
        Position { offset: Offset(2), ..sent },
        Position { offset_epoch: Some(LeaderEpoch(2)), ..sent },
        Position { leader: leader(A, 5), ..sent },
        Position { leader: leader(B, 4), ..sent },
    ];
    let on = |state, position: &Position| {
        let asked = Validating {
            state,
            position: Some(position),
            sent: &sent,
            policy: ResetPolicy::None,
            history: &history,
            nearest: false,
            walking: false,
        };
        on_validation_reply(Rules::KIP_320, asked, Ok(end(3, 4)))
    };
    for position in &moved {
        assert_eq!(on(AwaitValidation, position), OnValidationReply::Ignore, "{position:?}");
    }
    assert_eq!(on(Fetches, &sent), OnValidationReply::Ignore);
}

/// 7: where one pair does not tell.
#[test]
fn where_a_client_goes_that_cannot_know() {
    use OnValidationReply::{MoveTo, Reset};
    for (unknown, goes) in [
        (UnknownDivergence::FirstLargerEpoch, MoveTo(Offset(5), Some(LeaderEpoch(1)))),
        (UnknownDivergence::Timestamp, Reset(ResetStrategy::Timestamp(34))),
        (UnknownDivergence::Earliest, Reset(ResetStrategy::Earliest)),
        (UnknownDivergence::Latest, Reset(ResetStrategy::Latest)),
    ] {
        let rules = Rules { unknown, ..Rules::STRICT };
        assert_eq!(validated(rules, ResetPolicy::Earliest, Ok(end(1, 8))), goes);
        assert_eq!(validated(rules, ResetPolicy::None, Ok(end(1, 8))), OnValidationReply::Throw(None));
    }
}

/// 7c.
#[test]
fn a_history_finds_where_the_logs_part() {
    let part = |history: &[(i32, i64)], offset, answer| {
        let Divergence { offset, finished } =
            divergence(&History::from_entries(entries(history)), Offset(offset), answer);
        (offset.0, finished)
    };
    assert_eq!(part(&[(0, 0), (1, 1)], 3, end(1, 2)), (2, true), "the leader's epoch ends earlier");
    assert_eq!(part(&[(0, 0), (1, 1)], 3, end(1, 5)), (3, true), "later");
    assert_eq!(part(&[(0, 0), (1, 1)], 3, end(0, 5)), (1, true), "an earlier epoch, whose own end is earlier");
    assert_eq!(part(&[(0, 0), (1, 3)], 5, end(0, 2)), (2, true), "and the leader's");
    assert_eq!(part(&[(1, 0), (5, 4)], 6, end(3, 9)), (4, false), "an epoch that was never read");
    assert_eq!(part(&[(5, 4)], 6, end(3, 9)), (4, true), "before all that was read");
    assert_eq!(part(&[], 6, end(3, 4)), (4, true));
    let kept = Rules { memory: fencepost_reference::client::rules::EpochMemory::Kept, ..Rules::STRICT };
    let asks = validated_with(kept, ResetPolicy::Earliest, &[(1, 0), (3, 2)], Ok(end(2, 4)));
    assert_eq!(asks, OnValidationReply::AskAt(Offset(2), Some(LeaderEpoch(1))));
}

/// 7a.
#[test]
fn a_leader_sees_a_larger_epoch_below_the_offset() {
    let sees = |epochs: &[(i32, i64)], offset, last: Option<i32>| {
        let cache = EpochCache::from_entries(entries(epochs)).expect("a cache");
        detect_truncation(&cache, Offset(offset), last.map(LeaderEpoch)).is_err()
    };
    assert!(sees(&[(0, 0), (1, 1), (2, 2)], 3, Some(1)));
    assert!(!sees(&[(0, 0), (1, 1), (2, 3)], 3, Some(1)), "at the offset is not below");
    assert!(!sees(&[(0, 0), (1, 1)], 3, Some(1)));
    assert!(sees(&[(0, 0), (2, 2), (4, 7)], 3, Some(1)));
    assert!(!sees(&[(1, 0), (4, 8)], 5, Some(3)), "S15 is not seen");
    assert!(!sees(&[(0, 0), (1, 1), (2, 2)], 3, None));
}

/// 4.
#[test]
fn what_an_answer_to_a_fetch_brings_about() {
    use OnFetchReply::{AskForMetadata, FetchAgain, HandOut, Ignore, LeaveReplica, Reset, ThrowOutOfRange, Validate};
    let sent = position();
    let on = |rules, position: &Position, policy, from_follower, error| {
        let fetching = Fetching { state: Fetches, position: Some(position), sent: &sent, policy, from_follower };
        on_fetch_reply(rules, fetching, error)
    };
    let (none, earliest) = (ResetPolicy::None, ResetPolicy::Earliest);
    let kafka = |code| Some(ReadError::Kafka(code));
    let moved = Position { offset: Offset(4), ..sent };
    let elsewhere = Position { leader: leader(B, 5), ..sent };
    assert_eq!(on(Rules::STRICT, &sent, none, false, None), HandOut);
    assert_eq!(on(Rules::KIP_320, &moved, none, false, None), Ignore);
    // S16.
    assert_eq!(on(Rules::KIP_320, &elsewhere, none, false, None), HandOut);
    assert_eq!(on(Rules::STRICT, &elsewhere, none, false, None), Ignore);
    for code in [
        ErrorCode::NotLeaderOrFollower,
        ErrorCode::KafkaStorageError,
        ErrorCode::FencedLeaderEpoch,
        ErrorCode::OffsetNotAvailable,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::UnknownTopicId,
        ErrorCode::InconsistentTopicId,
    ] {
        assert_eq!(on(Rules::STRICT, &sent, none, false, kafka(code)), AskForMetadata, "{code}");
    }
    assert_eq!(on(Rules::STRICT, &sent, none, false, Some(ReadError::ReplicaNotAvailable)), AskForMetadata);
    assert_eq!(on(Rules::STRICT, &sent, none, false, kafka(ErrorCode::UnknownLeaderEpoch)), FetchAgain);
    let out_of_range = kafka(ErrorCode::OffsetOutOfRange);
    assert_eq!(on(Rules::STRICT, &sent, earliest, true, out_of_range), LeaveReplica);
    assert_eq!(on(Rules::STRICT, &moved, earliest, false, out_of_range), Ignore);
    assert_eq!(on(Rules::STRICT, &sent, earliest, false, out_of_range), Reset(ResetStrategy::Earliest));
    assert_eq!(on(Rules::STRICT, &sent, none, false, out_of_range), ThrowOutOfRange);
    assert_eq!(on(Rules::STRICT, &sent, none, false, Some(ReadError::LogTruncation)), Validate);
    for state in [Initializing, AwaitReset, AwaitValidation] {
        let fetching = Fetching { state, position: Some(&sent), sent: &sent, policy: none, from_follower: false };
        assert_eq!(on_fetch_reply(Rules::KIP_320, fetching, None), Ignore, "{state:?}");
    }
}

/// 7c: without a policy the application is told what the history finds.
#[test]
fn a_history_says_where_the_logs_part() {
    let kept = Rules { memory: fencepost_reference::client::rules::EpochMemory::Kept, ..Rules::STRICT };
    let asked = |history, answer| validated_with(kept, ResetPolicy::None, history, Ok(answer));
    assert_eq!(asked(&[(1, 0), (3, 2)], end(1, 9)), OnValidationReply::Throw(Some(end(1, 2))), "S15");
    assert_eq!(asked(&[(1, 0), (3, 2)], end(2, 4)), OnValidationReply::AskAt(Offset(2), Some(LeaderEpoch(1))));
    assert_eq!(asked(&[], end(1, 9)), OnValidationReply::Throw(None), "nothing is remembered");
}
