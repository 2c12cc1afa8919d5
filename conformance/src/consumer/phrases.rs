//! The words in which reports and `show` tell a consumer's trace. Two parts that differ never read alike.

use std::fmt::Display;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::consumer::functions::{LeaderPosition, Reaction, ResetChoice};
use fencepost_fixtures::consumer::messages::{Aborted, OffsetReply, Records};
use fencepost_fixtures::consumer::observed::{Exception, FetchState};
use fencepost_fixtures::consumer::{
    Answer, BrokerState, Call, ConsumerState, Content, Edge, EpochEnd, EpochStart, Given, LogRecord, Message,
    OffsetSpec, Operation, Outcome, Position, Role, Setup, State,
};
use fencepost_fixtures::names::BrokerName;

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('"', "").replace('_', " ")
}

fn option<T: Display>(prefix: &str, value: Option<T>) -> String {
    value.map(|value| format!("{prefix}{value}")).unwrap_or_default()
}

fn nobody(leader: Option<&BrokerName>) -> String {
    // A name has no parentheses.
    leader.map_or_else(|| "(nobody)".to_owned(), ToString::to_string)
}

/// A log, as `0:r0/e1 1:r1/e1 of p`.
fn log(records: &[LogRecord]) -> String {
    if records.is_empty() {
        return "none".to_owned();
    }
    let records = records.iter().map(|LogRecord { offset, epoch, id, producer }| {
        format!("{offset}:{id}/e{epoch}{}", option(" of ", producer.as_ref()))
    });
    list(records)
}

fn epochs(epochs: &[EpochStart]) -> String {
    format!("{{{}}}", list(epochs.iter().map(|EpochStart(epoch, start)| format!("e{epoch} from {start}"))))
}

fn end(EpochEnd { epoch, end_offset }: EpochEnd) -> String {
    format!("epoch {epoch} ends at {end_offset}")
}

fn position(Position { offset, epoch }: Position) -> String {
    format!("{offset}{}", option(" behind a record of epoch ", epoch))
}

fn spec(spec: OffsetSpec) -> String {
    match spec {
        OffsetSpec::Earliest => "earliest".to_owned(),
        OffsetSpec::Latest => "latest".to_owned(),
        OffsetSpec::Timestamp(timestamp) => format!("the first from timestamp {timestamp} on"),
    }
}

/// An operation.
#[must_use]
pub fn operation(operation: &Operation) -> String {
    match operation {
        Operation::Lead(lead) => {
            let alone = if lead.alone { ", the only in-sync replica" } else { "" };
            format!("leads epoch {}{alone}", lead.leader_epoch)
        }
        Operation::Follow(follow) => format!(
            "follows in epoch {}: cut at {}, then records {}, epochs {}, high watermark {}",
            follow.leader_epoch,
            follow.truncate_to,
            log(&follow.records),
            epochs(&follow.epochs),
            follow.high_watermark
        ),
        Operation::Append(append) => {
            format!("append of {}{}", list(&append.records), option(", a transaction of ", append.producer.as_ref()))
        }
        Operation::EndTransaction(end) => {
            format!("{} of {}'s transaction", if end.commit { "commit" } else { "abort" }, end.producer)
        }
        Operation::HighWatermark(offset) => format!("the followers have what is below {offset}"),
        Operation::Recreate(recreate) => format!("the topic is created anew, with id {}", recreate.topic_id),
        Operation::Deliver(name) => format!("{name} arrives"),
        Operation::Assign(assign) => {
            let committed = assign.committed.map_or_else(
                || "nothing committed".to_owned(),
                |committed| format!("committed {}", position(committed)),
            );
            format!(
                "the partition is assigned, {committed}{}",
                option(", history ", assign.history.as_deref().map(epochs))
            )
        }
        Operation::Seek(to) => format!("seek to {}", position(*to)),
        Operation::SeekTo(Edge::Beginning) => "seek to the beginning".to_owned(),
        Operation::SeekTo(Edge::End) => "seek to the end".to_owned(),
        Operation::Poll(_) => "poll".to_owned(),
        Operation::Metadata(metadata) => {
            let topic =
                if metadata.topic_id == 1 { String::new() } else { format!(", topic id {}", metadata.topic_id) };
            let epoch = option(" epoch ", metadata.leader_epoch);
            format!("metadata: {} leads{epoch}{topic}", nobody(metadata.leader.as_ref()))
        }
        Operation::Fail(name) => format!("{name} fails"),
        Operation::Elapse(_) => "its waits run out".to_owned(),
        Operation::Commit(_) => "commit".to_owned(),
        Operation::Position(_) => "position".to_owned(),
        Operation::Restart(_) => "a new process".to_owned(),
        Operation::FindOffset(record) => format!("find the offset {} of epoch {}", record.offset, record.epoch),
        Operation::SeekToNearest(record) => {
            format!("seek to the nearest of offset {} of epoch {}", record.offset, record.epoch)
        }
    }
}

/// A setup operation.
#[must_use]
pub fn setup(setup: &Setup) -> String {
    match setup {
        Setup::Do { at, operation: done } => format!("at {}: {}", list(at), operation(done)),
        Setup::Read(read) => format!("the consumer reads from {} up to {}", read.from, read.up_to),
    }
}

fn exception(exception: &Exception) -> String {
    match exception {
        Exception::LogTruncation(truncated) => {
            let divergent = truncated.divergent.map_or_else(|| "not known where".to_owned(), end);
            format!("LogTruncationException at {}, {divergent}", truncated.offset)
        }
        Exception::OffsetOutOfRange(out) => format!("OffsetOutOfRangeException at {}", out.offset),
        Exception::NoOffset(_) => "NoOffsetForPartitionException".to_owned(),
    }
}

/// An answer.
#[must_use]
pub fn answer(answer: &Answer) -> String {
    let Answer { offset, records, exception: thrown, committed, position: at, found } = answer;
    let parts = [
        offset.map(|offset| format!("offset {offset}")),
        records.as_deref().map(|records| format!("records {}", log(records))),
        thrown.as_ref().map(exception),
        committed.map(|committed| format!("committed {}", position(committed))),
        at.map(|at| format!("position {at}")),
        found.map(|found| format!("found {found}")),
    ];
    list(parts.into_iter().flatten())
}

fn error(error: KafkaError) -> String {
    format!("error {error}")
}

/// A message.
#[must_use]
pub fn message(message: &Message) -> String {
    let to = &message.to;
    let content = match &message.content {
        Content::Fetch(fetch) => {
            let topic = if fetch.topic_id == 1 { String::new() } else { format!(", topic id {}", fetch.topic_id) };
            let last = option(", last epoch ", fetch.last_epoch);
            format!("fetch at {}, leader epoch {}{last}{topic}", fetch.offset, fetch.current_leader_epoch)
        }
        Content::FetchReply(Ok(Records { records, high_watermark, aborted, preferred_replica })) => {
            let aborted = aborted.iter().map(|Aborted(producer, first)| format!(", aborted {producer} from {first}"));
            let aborted: String = aborted.collect();
            let preferred = option(", to be fetched from ", preferred_replica.as_ref());
            format!("fetch reply: records {}, high watermark {high_watermark}{aborted}{preferred}", log(records))
        }
        Content::FetchReply(Err(refused)) => format!("fetch reply: {}", error(*refused)),
        Content::OffsetForLeaderEpoch(asked) => {
            format!("OffsetForLeaderEpoch: epoch {}, leader epoch {}", asked.epoch, asked.current_leader_epoch)
        }
        Content::OffsetForLeaderEpochReply(Ok(reply)) => {
            format!("OffsetForLeaderEpoch reply: epoch {} ends at {}", reply.epoch, reply.end_offset)
        }
        Content::OffsetForLeaderEpochReply(Err(refused)) => format!("OffsetForLeaderEpoch reply: {}", error(*refused)),
        Content::ListOffsets(asked) => {
            format!("ListOffsets: {}, leader epoch {}", spec(asked.timestamp), asked.current_leader_epoch)
        }
        Content::ListOffsetsReply(Ok(OffsetReply { offset, epoch })) => {
            format!("ListOffsets reply: {offset}, epoch {epoch}")
        }
        Content::ListOffsetsReply(Err(refused)) => format!("ListOffsets reply: {}", error(*refused)),
    };
    format!("to {to}: {content}")
}

fn fetch_state(state: FetchState) -> &'static str {
    match state {
        FetchState::Initializing => "has no position yet",
        FetchState::Fetching => "fetches",
        FetchState::AwaitReset => "waits for an offset to reset to",
        FetchState::AwaitValidation => "validates",
    }
}

/// What the client remembers.
#[must_use]
pub fn consumer(state: &ConsumerState) -> String {
    let parts = [
        Some(fetch_state(state.fetch_state).to_owned()),
        state.offset.map(|offset| format!("at {offset}")),
        state.offset_epoch.map(|epoch| format!("behind epoch {epoch}")),
        state.leader.as_ref().map(|leader| format!("leader {leader}")),
        state.leader_epoch.map(|epoch| format!("leader epoch {epoch}")),
        state.history.as_deref().map(|history| format!("history {}", epochs(history))),
    ];
    list(parts.into_iter().flatten())
}

/// A replica.
#[must_use]
pub fn broker(state: &BrokerState) -> String {
    let role = match state.role {
        Role::Leader => "leads",
        Role::Follower => "follows",
        Role::None => "has no role,",
    };
    let topic = if state.topic_id == 1 { String::new() } else { format!(", topic id {}", state.topic_id) };
    format!(
        "{role} epoch {}, log {}, high watermark {}{}{topic}",
        state.leader_epoch,
        log(&state.log),
        state.high_watermark,
        option(", epochs ", state.epochs.as_deref().map(epochs))
    )
}

/// The places of a state, a line each.
#[must_use]
pub fn state(state: &State) -> Vec<String> {
    let reads = state.consumer.iter().map(|state| format!("consumer {}", consumer(state)));
    reads.chain(state.brokers.iter().map(|(name, state)| format!("{name} {}", broker(state)))).collect()
}

fn leader_position(position: &LeaderPosition) -> String {
    let LeaderPosition { offset, offset_epoch, leader, leader_epoch } = position;
    let epoch = option(" behind epoch ", *offset_epoch);
    let leader = option(", leader ", leader.as_ref());
    format!("{offset}{epoch}{leader}{}", option(", leader epoch ", *leader_epoch))
}

/// What a function call rests on, a line each.
#[must_use]
pub fn given(given: &Given) -> Vec<String> {
    let yes = |yes: bool| if yes { "" } else { "not " };
    let parts = [
        given.fetch_state.map(|state| format!("the client {}", fetch_state(state))),
        given.position.as_ref().map(|position| format!("position {}", leader_position(position))),
        given.sent.as_ref().map(|sent| format!("position when it asked {}", leader_position(sent))),
        given.reset.map(|reset| format!("auto.offset.reset {}", word(&reset))),
        given.from_follower.map(|follower| format!("{}from a preferred replica", yes(follower))),
        given.last_seen_epoch.map(|epoch| format!("last seen leader epoch {epoch}")),
        given.topic_id.map(|topic| format!("topic id {topic}")),
        given.history.as_deref().map(|history| format!("history {}", epochs(history))),
        given.epochs.as_deref().map(|cache| format!("the leader's epochs {}", epochs(cache))),
        given.log.as_deref().map(|records| format!("the leader's log {}", log(records))),
        given.can_validate.map(|can| format!("the leader can {}be asked for epochs", yes(can))),
    ];
    parts.into_iter().flatten().collect()
}

fn reset_choice(choice: ResetChoice) -> &'static str {
    match choice {
        ResetChoice::FirstLargerEpoch => "the start of the first larger epoch",
        ResetChoice::Timestamp => "the timestamp of the last record",
        ResetChoice::Earliest => "the log's start",
        ResetChoice::Latest => "the log's end",
    }
}

/// A function call.
#[must_use]
pub fn call(call: &Call) -> String {
    match call {
        Call::OnValidationReply { error: refused, epoch, end_offset } => {
            let refused = option("error ", *refused);
            let told = option("epoch ", *epoch) + &option(" ends at ", *end_offset);
            format!("the answer to the validation is {refused}{told}: what now?")
        }
        Call::OnFetchReply { error: refused } => {
            let refused = refused.map_or_else(|| "records".to_owned(), error);
            format!("the answer to the fetch is {refused}: what now?")
        }
        Call::AcceptMetadata { leader_epoch, topic_id } => {
            let epoch = leader_epoch.map_or_else(|| "(untold)".to_owned(), |epoch| epoch.to_string());
            format!("metadata with leader epoch {epoch}, topic id {topic_id}: is it taken?")
        }
        Call::OnLeader { leader, leader_epoch } => {
            format!("{} leads{}: what now?", nobody(leader.as_ref()), option(" epoch ", *leader_epoch))
        }
        Call::Transition { to } => format!("may it become one that {}?", fetch_state(*to)),
        Call::Divergence { offset, epoch, end_offset } => {
            format!("at {offset}, the leader says that epoch {epoch} ends at {end_offset}: where do the logs part?")
        }
        Call::DetectTruncation { fetch_offset, last_epoch } => {
            format!("a fetch at {fetch_offset}, last epoch {last_epoch}: was the log truncated?")
        }
        Call::ResetTarget { choice, offset, epoch } => {
            format!("at {offset}, behind epoch {epoch}: where is {}?", reset_choice(*choice))
        }
    }
}

fn reaction(reaction: &Reaction) -> String {
    match reaction {
        Reaction::MovesTo(to) => format!("moves to {}", position(*to)),
        Reaction::ThrowsLogTruncation(divergent) => {
            let divergent = divergent.map_or_else(|| "not known where".to_owned(), end);
            format!("throws LogTruncationException, {divergent}")
        }
        Reaction::ThrowsOutOfRange => "throws OffsetOutOfRangeException".to_owned(),
        other => word(other),
    }
}

/// What a decision was.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Reaction(done) => reaction(done),
        Outcome::Allowed(true) => "yes".to_owned(),
        Outcome::Allowed(false) => "no".to_owned(),
        Outcome::Divergence(found) => {
            let then = if found.finished { "exactly" } else { "at most" };
            format!("{then} at {}", found.offset)
        }
        Outcome::Offset(offset) => format!("offset {offset}"),
    }
}
