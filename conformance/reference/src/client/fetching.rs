//! What a client does about the answer to a fetch, and which of its records an application is handed (docs/consumers.md 4, 9;
//! docs/replication.md 3.7; Kafka's `FetchCollector`, `CompletedFetch`).

use std::collections::BTreeSet;

use super::message::{Fetched, ReadError};
use super::names::{LeaderEpoch, Offset};
use super::record::{Entry, Record};
use super::reset::{ResetStrategy, by_policy};
use super::rules::{LateFetch, ResetPolicy, Rules};
use super::slip::Slip;
use super::state::{FetchState, Position};
use crate::replica::error::ErrorCode;

/// A fetch that is answered.
#[derive(Debug, Clone, Copy)]
pub struct Fetching<'a> {
    /// What the client does about the partition by now.
    pub state: FetchState,
    /// Where it stands by now.
    pub position: Option<&'a Position>,
    /// Where it stood when it fetched.
    pub sent: &'a Position,
    /// `auto.offset.reset`.
    pub policy: ResetPolicy,
    /// Whether a preferred replica was asked.
    pub from_follower: bool,
}

/// What a client does about the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFetchReply {
    /// Nothing.
    Ignore,
    /// The application is handed the records.
    HandOut,
    /// It asks for metadata, and goes to the leader.
    AskForMetadata,
    /// It fetches again.
    FetchAgain,
    /// It leaves the preferred replica.
    LeaveReplica,
    /// It asks where its epoch ends (7a).
    Validate,
    /// It gives its position up.
    Reset(ResetStrategy),
    /// The application is told.
    ThrowOutOfRange,
}

/// The table, in its order. `error` is none for records.
#[must_use]
pub fn on_fetch_reply(rules: Rules, fetching: Fetching<'_>, error: Option<ReadError>) -> OnFetchReply {
    let Some(position) = fetching.position.filter(|_| fetching.state == FetchState::Fetching) else {
        return OnFetchReply::Ignore;
    };
    let other_leader = rules.late_fetch == LateFetch::ByLeaderEpoch && position.leader != fetching.sent.leader;
    let late = position.offset != fetching.sent.offset || other_leader;
    match error {
        None if late && !rules.slips(Slip::LateRecordsHandedOut) => OnFetchReply::Ignore,
        None => OnFetchReply::HandOut,
        Some(
            ReadError::ReplicaNotAvailable
            | ReadError::Kafka(
                ErrorCode::NotLeaderOrFollower
                | ErrorCode::KafkaStorageError
                | ErrorCode::FencedLeaderEpoch
                | ErrorCode::OffsetNotAvailable
                | ErrorCode::UnknownTopicOrPartition
                | ErrorCode::UnknownTopicId
                | ErrorCode::InconsistentTopicId,
            ),
        ) => OnFetchReply::AskForMetadata,
        Some(ReadError::Kafka(ErrorCode::OffsetOutOfRange)) => {
            let believes = rules.slips(Slip::OutOfRangeAtFollowerBelieved);
            match by_policy(fetching.policy) {
                _ if fetching.from_follower && !believes => OnFetchReply::LeaveReplica,
                _ if late && !rules.slips(Slip::LateOutOfRangeUsed) => OnFetchReply::Ignore,
                Some(strategy) => OnFetchReply::Reset(strategy),
                None => OnFetchReply::ThrowOutOfRange,
            }
        }
        // What was asked for had an epoch; the position has none since, and nothing to ask with.
        Some(ReadError::LogTruncation) if late || position.offset_epoch.is_none() => OnFetchReply::Ignore,
        Some(ReadError::LogTruncation) => OnFetchReply::Validate,
        // UNKNOWN_LEADER_EPOCH among them: the broker is behind.
        Some(_) => OnFetchReply::FetchAgain,
    }
}

/// What comes of records that were fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumed {
    /// What the application is handed.
    pub handed_out: Vec<Record>,
    /// What was gone past, by epoch and offset: markers and aborted records too.
    pub passed: Vec<(Option<LeaderEpoch>, Offset)>,
}

/// Goes through the records from `position` on.
#[must_use]
pub fn consume(rules: Rules, position: Offset, fetched: Fetched, read_committed: bool) -> Consumed {
    let mut waiting = fetched.aborted;
    waiting.sort_by_key(|(_, first)| *first);
    let mut aborted = BTreeSet::new();
    let mut consumed = Consumed { handed_out: Vec::new(), passed: Vec::new() };
    for record in fetched.records.into_iter().filter(|record| record.offset >= position) {
        consumed.passed.push((record.known_epoch(), record.offset));
        if read_committed {
            waiting.retain(|(producer, first)| {
                let begun = *first <= record.offset;
                if begun {
                    aborted.insert(producer.clone());
                }
                !begun
            });
        }
        let is_aborted = record.producer.as_ref().is_some_and(|producer| aborted.contains(producer));
        match &record.entry {
            Entry::Marker { .. } => {
                if let (true, Some(producer)) = (record.is_abort(), &record.producer)
                    && !rules.slips(Slip::MarkerDoesNotEnd)
                {
                    aborted.remove(producer);
                }
            }
            Entry::Value(_) if is_aborted && !rules.slips(Slip::AbortedHandedOut) => {}
            Entry::Value(_) => consumed.handed_out.push(record),
        }
    }
    consumed
}
