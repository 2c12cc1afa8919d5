//! States, steps and messages in words, for the explorer, for diagrams and for the terminal.
//!
//! `0@e1` is the record at offset 0 that was appended in leader epoch 1; `'` marks one of the topic that was created anew.

use std::fmt::{self, Write as _};

use super::broker::Broker;
use super::client::{Client, Effect, State, Thrown};
use super::labels::NAMES;
use super::log::{Epoch, EpochEnd, Kind, Log, Offset, Record, UNDEFINED};
use super::message::{CONSUMER, Fetched, Heard, Msg, NOBODY, Position, Purpose, Refusal, Spec, Target, Timer};
use super::{Consumer, Done};
use crate::world::{Action, ActionOf, WorldState};

/// A broker's name: A to C.
#[must_use]
pub fn broker(id: u8) -> String {
    char::from(b'A' + id.min(25)).to_string()
}

/// The broker that a message goes to or comes from.
#[must_use]
pub fn place(msg: &Msg) -> u8 {
    match msg {
        Msg::Fetch(way, _)
        | Msg::FetchReply(way, ..)
        | Msg::EpochEnd(way, ..)
        | Msg::EpochEndReply(way, ..)
        | Msg::ListOffsets(way, ..)
        | Msg::ListOffsetsReply(way, ..) => way.broker,
        Msg::Metadata(heard) => heard.leader,
    }
}

/// The broker at which something happens.
#[must_use]
pub fn place_of_timer(timer: &Timer) -> u8 {
    match timer {
        Timer::Elect(id)
        | Timer::Lead(id)
        | Timer::Follow(id)
        | Timer::Append(id)
        | Timer::AppendTransactional(id)
        | Timer::EndTransaction(id, _)
        | Timer::HighWatermark(id)
        | Timer::Recreate(id) => *id,
        _ => 0,
    }
}

fn epoch(epoch: Epoch) -> String {
    if epoch == UNDEFINED { "no epoch".to_owned() } else { format!("e{epoch}") }
}

fn leader(id: u8) -> String {
    if id == NOBODY { "nobody".to_owned() } else { broker(id) }
}

fn record((offset, record): (Offset, Record)) -> String {
    let kind = match record.kind() {
        Kind::Plain => "",
        Kind::Transactional => " in a transaction",
        Kind::Commit => " commit",
        Kind::Abort => " abort",
    };
    format!("{offset}@e{}{}{kind}", record.epoch(), if record.topic() == 1 { "'" } else { "" })
}

fn records(all: impl Iterator<Item = (Offset, Record)>) -> String {
    let words: Vec<String> = all.map(record).collect();
    format!("[{}]", words.join(" "))
}

fn log(log: Log) -> String {
    records(log.iter())
}

/// A refusal in Kafka's words.
#[must_use]
pub fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::FencedLeaderEpoch => "FENCED_LEADER_EPOCH",
        Refusal::UnknownLeaderEpoch => "UNKNOWN_LEADER_EPOCH",
        Refusal::NotLeaderOrFollower => "NOT_LEADER_OR_FOLLOWER",
        Refusal::OffsetOutOfRange => "OFFSET_OUT_OF_RANGE",
        Refusal::UnknownTopicId => "UNKNOWN_TOPIC_ID",
        Refusal::LogTruncation => "LOG_TRUNCATION",
        Refusal::OffsetNotAvailable => "OFFSET_NOT_AVAILABLE",
    }
}

fn at(at: EpochEnd) -> String {
    if at.end == UNDEFINED { "undefined".to_owned() } else { format!("{} ends at {}", epoch(at.epoch), at.end) }
}

fn spec(spec: Spec) -> String {
    match spec {
        Spec::Earliest => "earliest".to_owned(),
        Spec::Latest => "latest".to_owned(),
        Spec::At(time) => format!("time {time}"),
    }
}

fn heard(heard: &Heard) -> String {
    let topic = if heard.topic == 1 { " of the new topic" } else { "" };
    format!("{} leads{topic} in {}", leader(heard.leader), epoch(heard.epoch))
}

fn position(position: &Position) -> String {
    if position.offset == UNDEFINED {
        return "no position".to_owned();
    }
    let Position { offset, epoch: of, leader: from, leader_epoch } = *position;
    format!("position {offset} ({}), from {} in {}", epoch(of), leader(from), epoch(leader_epoch))
}

fn thrown(thrown: Thrown) -> String {
    match thrown {
        Thrown::Truncation(offset, of, parts) => {
            format!("LogTruncationException at {offset} ({}), divergent: {}", epoch(of), at(parts))
        }
        Thrown::OutOfRange(offset) => format!("OffsetOutOfRangeException at {offset}"),
        Thrown::NoOffset => "NoOffsetForPartitionException".to_owned(),
        Thrown::EpochError(error) => refusal(error).to_owned(),
    }
}

fn replica(one: &Broker) -> String {
    let role = if one.leads { "leads" } else { "follows" };
    let alone = if one.alone { ", alone in sync" } else { "" };
    let mut words = format!("{role} in {}{alone}, {}, hw {}", epoch(one.leader_epoch), log(one.log), one.high);
    let epochs: Vec<String> = one.epochs.iter().map(|(epoch, start)| format!("e{epoch} from {start}")).collect();
    if !epochs.is_empty() {
        let _ = write!(words, ", epochs {}", epochs.join(", "));
    }
    words
}

fn client(one: &Client) -> String {
    let state = match one.state {
        State::Initializing => "INITIALIZING",
        State::Fetching => "FETCHING",
        State::AwaitReset => "AWAIT_RESET",
        State::AwaitValidation => "AWAIT_VALIDATION",
    };
    let mut words = format!("{state}, {}", position(&one.position));
    if one.known.leader != NOBODY {
        let _ = write!(words, ", metadata: {}", heard(&one.known));
    }
    if let Some(exception) = one.thrown {
        let _ = write!(words, ", was told {}", thrown(exception));
    }
    if one.committed.0 != UNDEFINED {
        let _ = write!(words, ", committed {} ({})", one.committed.0, epoch(one.committed.1));
    }
    let _ = write!(words, ", takes the log for {}", log_with_gaps(one.view));
    words
}

fn log_with_gaps(log: Log) -> String {
    let known = (0..8).filter_map(|offset| Some((offset, log.get(offset)?)));
    records(known)
}

/// A state, a line a broker, the consumer's, and what is on its way.
pub fn state(state: &WorldState<Consumer>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let cluster = &state.actors.cluster;
    let elected = cluster.elected();
    writeln!(formatter, "last election: {}", heard(&elected))?;
    for (id, one) in (0..).zip(&cluster.all) {
        if one.leader_epoch != UNDEFINED {
            writeln!(formatter, "{}: {}", broker(id), replica(one))?;
        }
    }
    writeln!(formatter, "consumer: {}", client(&state.actors.client))?;
    for envelope in &state.network {
        let way = if envelope.dst == CONSUMER { "from" } else { "to" };
        writeln!(formatter, "on its way {way} {}: {}", broker(place(&envelope.msg)), message(&envelope.msg))?;
    }
    Ok(())
}

/// A message, in words that fit on an arrow.
#[must_use]
pub fn message(msg: &Msg) -> String {
    match msg {
        Msg::Fetch(_, fetch) => {
            let last = if fetch.last_epoch == UNDEFINED {
                String::new()
            } else {
                format!(", last {}", epoch(fetch.last_epoch))
            };
            format!("fetch from {}{last}, in {}", fetch.offset, epoch(fetch.leader_epoch))
        }
        Msg::FetchReply(_, fetch, fetched) => match fetched {
            Fetched::Records { log, high, to, .. } => {
                let sent = log.iter().filter(|(offset, _)| (fetch.offset..*to).contains(offset));
                format!("{}, hw {high}", records(sent))
            }
            Fetched::Preferred(replica) => format!("fetch from {}", broker(*replica)),
            Fetched::Error(error) => refusal(*error).to_owned(),
        },
        Msg::EpochEnd(_, purpose, sent) => {
            let why = if *purpose == Purpose::Find { "look-up: " } else { "" };
            format!("{why}where does {} end? in {}", epoch(sent.epoch), epoch(sent.leader_epoch))
        }
        Msg::EpochEndReply(_, _, _, Ok((end, _))) => at(*end),
        Msg::ListOffsets(_, wanted, of) => format!("{} offset? in {}", spec(*wanted), epoch(*of)),
        Msg::ListOffsetsReply(_, wanted, _, Ok((offset, of))) => {
            format!("{} offset {offset} ({})", spec(*wanted), epoch(*of))
        }
        Msg::EpochEndReply(_, _, _, Err(error)) | Msg::ListOffsetsReply(_, _, _, Err(error)) => {
            refusal(*error).to_owned()
        }
        Msg::Metadata(of) => heard(of),
    }
}

fn target(target: Target) -> String {
    match target {
        Target::Offset(offset) => format!("seeks to {offset}"),
        Target::Pair(offset, of) => format!("seeks to {offset} ({})", epoch(of)),
        Target::Beginning => "seeks to the beginning".to_owned(),
        Target::End => "seeks to the end".to_owned(),
        Target::Divergence => "seeks to where the logs part".to_owned(),
        Target::DivergenceOffset => "seeks to where the logs part, without the epoch".to_owned(),
        Target::Stored => "seeks to what it stored".to_owned(),
        Target::StoredOffset => "seeks to the offset that it stored".to_owned(),
        Target::Found => "seeks to the offset that it looked up".to_owned(),
        Target::Nearest => "seeks to the place nearest to what it stored".to_owned(),
    }
}

/// What happens of its own accord.
fn timer(timer: &Timer) -> String {
    match timer {
        Timer::Elect(id) => format!("{} is elected", broker(*id)),
        Timer::Lead(id) => format!("{} hears that it leads", broker(*id)),
        Timer::Follow(id) => format!("{} follows", broker(*id)),
        Timer::Append(id) => format!("{} appends", broker(*id)),
        Timer::AppendTransactional(id) => format!("{} appends a record of a transaction", broker(*id)),
        Timer::EndTransaction(id, commit) => {
            format!("{} appends the marker of {}", broker(*id), if *commit { "a commit" } else { "an abort" })
        }
        Timer::HighWatermark(id) => format!("the high watermark rises at {}", broker(*id)),
        Timer::Recreate(id) => format!("the topic is created anew, {} leads", broker(*id)),
        Timer::Tell(of) => format!("tells: {}", heard(of)),
        Timer::Metadata(of) => format!("hears: {}", heard(of)),
        Timer::Poll => "polls".to_owned(),
        Timer::Elapse => "has waited".to_owned(),
        Timer::Fail(id) => format!("loses its connection to {}", broker(*id)),
        Timer::Seek(to) => target(*to),
        Timer::Find => "looks up where it would go on".to_owned(),
        Timer::Commit => "commits".to_owned(),
        Timer::Restart => "restarts".to_owned(),
    }
}

/// An action.
#[must_use]
pub fn action(action: &ActionOf<Consumer>) -> String {
    match action {
        Action::Deliver(envelope) if envelope.dst == CONSUMER => {
            format!("{} -> consumer: {}", broker(place(&envelope.msg)), message(&envelope.msg))
        }
        Action::Deliver(envelope) => {
            format!("consumer -> {}: {}", broker(place(&envelope.msg)), message(&envelope.msg))
        }
        Action::Drop(envelope) => format!("lost: {}", message(&envelope.msg)),
        Action::Timeout(CONSUMER, event) => format!("consumer {}", timer(event)),
        Action::Timeout(_, event) => timer(event),
    }
}

/// What a step of the consumer makes known to its application.
fn told(effect: &Effect) -> Vec<String> {
    let mut lines = Vec::new();
    if !effect.records.is_empty() {
        lines.push(format!("hands out {}", records(effect.records.iter().copied())));
    }
    if let Some(exception) = effect.exception {
        lines.push(format!("throws {}", thrown(exception)));
    }
    if let Some(offset) = effect.moved {
        lines.push(format!("goes on at {offset}"));
    }
    if let Some(offset) = effect.found {
        lines.push(format!("is told {offset}"));
    }
    lines
}

/// A step: what happened, what became of it, what was said, and the rows it went through.
#[must_use]
pub fn step(
    protocol: &Consumer,
    before: &WorldState<Consumer>,
    taken: &ActionOf<Consumer>,
    after: &WorldState<Consumer>,
) -> String {
    let mut words = action(taken);
    let (sends, said, trail): (Vec<Msg>, _, _) = match protocol.done(before, taken) {
        Some(Done::Consumer(effect)) => {
            let _ = write!(words, "\n  consumer: {}", client(&after.actors.client));
            (effect.sends.to_vec(), told(&effect), effect.trail)
        }
        Some(Done::Cluster(answered)) => {
            let id = match taken {
                Action::Timeout(_, event) => place_of_timer(event),
                Action::Deliver(envelope) | Action::Drop(envelope) => place(&envelope.msg),
            };
            let _ = write!(words, "\n  {}: {}", broker(id), replica(after.actors.cluster.broker(id)));
            (answered.sends.to_vec(), Vec::new(), answered.trail)
        }
        None => return words,
    };
    for line in said {
        let _ = write!(words, "\n  {line}");
    }
    for msg in &sends {
        let _ = write!(words, "\n  sends, {}: {}", broker(place(msg)), message(msg));
    }
    let rows: Vec<&str> = trail.iter().filter_map(|label| NAMES.get(usize::from(label)).copied()).collect();
    if !rows.is_empty() {
        let _ = write!(words, "\n  {}", rows.join("; "));
    }
    words
}
