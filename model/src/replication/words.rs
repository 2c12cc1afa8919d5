//! States, steps and messages in words, for the explorer, for diagrams and for the terminal.
//!
//! `0:A0@e1` is the record at offset 0: the first that A wrote, appended in leader epoch 1.

use std::fmt::{self, Write as _};

use super::actors::Part;
use super::broker::{Broker, Effect, Entry, Phase, Role};
use super::controller::{Image, NOBODY, members};
use super::future::{Disk, Future};
use super::labels::NAMES;
use super::log::{Epoch, Log, Offset, UNDEFINED};
use super::message::{Damage, Election, Fetched, Msg, Refusal, Timer};
use super::{Done, Replication};
use crate::world::{Action, ActionOf, WorldState};

/// A broker's name: A to D.
#[must_use]
pub fn broker(id: u8) -> String {
    char::from(b'A' + id.min(25)).to_string()
}

/// An actor's name.
#[must_use]
pub fn actor(protocol: &Replication, id: u8) -> String {
    match protocol.part(id) {
        Part::Broker(id) => broker(id),
        Part::Controller => "controller".to_owned(),
    }
}

fn set(brokers: u8) -> String {
    let names: Vec<String> = members(brokers).map(broker).collect();
    format!("{{{}}}", names.join(" "))
}

fn epoch(epoch: Epoch) -> String {
    if epoch == UNDEFINED { "no epoch".to_owned() } else { format!("e{epoch}") }
}

fn leader(id: u8) -> String {
    if id == NOBODY { "nobody".to_owned() } else { broker(id) }
}

fn end(end: Offset) -> String {
    if end == UNDEFINED { "?".to_owned() } else { end.to_string() }
}

/// The records of a log with their offsets.
fn log(log: &Log) -> String {
    let records: Vec<String> = log
        .iter()
        .map(|(offset, record)| {
            format!("{offset}:{}{}@e{}", broker(record.writer()), record.id() & 0b11, record.epoch())
        })
        .collect();
    if records.is_empty() { format!("[] at {}", log.start) } else { format!("[{}]", records.join(" ")) }
}

fn refusal(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::FencedLeaderEpoch => "FENCED_LEADER_EPOCH",
        Refusal::UnknownLeaderEpoch => "UNKNOWN_LEADER_EPOCH",
        Refusal::NotLeaderOrFollower => "NOT_LEADER_OR_FOLLOWER",
        Refusal::UnknownTopicOrPartition => "UNKNOWN_TOPIC_OR_PARTITION",
        Refusal::OffsetOutOfRange => "OFFSET_OUT_OF_RANGE",
        Refusal::UnsupportedVersion => "UNSUPPORTED_VERSION",
        Refusal::StaleBrokerEpoch => "STALE_BROKER_EPOCH",
        Refusal::NotController => "NOT_CONTROLLER",
        Refusal::InvalidRequest => "INVALID_REQUEST",
        Refusal::InvalidUpdateVersion => "INVALID_UPDATE_VERSION",
        Refusal::IneligibleReplica => "INELIGIBLE_REPLICA",
    }
}

fn entry(entry: &Entry) -> String {
    let Entry { phase, offset, .. } = *entry;
    let words = match phase {
        Phase::Idle => return "fetches nothing".to_owned(),
        Phase::Truncating => "asks where its epochs end".to_owned(),
        Phase::Fetching => format!("fetches from {offset}"),
        Phase::Latest => "asks for the latest offset".to_owned(),
        Phase::Earliest => "asks for the earliest offset".to_owned(),
        Phase::Failed => return "failed".to_owned(),
    };
    format!("{words} in {}{}", epoch(entry.epoch), if entry.delayed { ", backs off" } else { "" })
}

fn replica(id: u8, one: &Broker, brokers: u8) -> String {
    if !one.up {
        return format!("down, {}, checkpoint {}", log(&one.log), one.checkpoint);
    }
    let mut words = match one.role {
        Role::None => "knows of no partition".to_owned(),
        Role::Leader => format!("leads in {}", epoch(one.leader_epoch)),
        Role::Follower => format!("follows {} in {}", leader(one.leader), epoch(one.leader_epoch)),
    };
    let _ = write!(words, " (partition epoch {}), {}, hw {}", one.partition_epoch, log(&one.log), one.high);
    let epochs: Vec<String> = one.epochs.iter().map(|(epoch, start)| format!("e{epoch} from {start}")).collect();
    if !epochs.is_empty() {
        let _ = write!(words, ", epochs {}", epochs.join(", "));
    }
    if one.leads() {
        let _ = write!(words, ", isr {}", set(one.isr));
        if one.pending != 0 {
            let _ = write!(words, ", proposes {}", set(one.pending));
        }
        let ends: Vec<String> = (0..brokers)
            .filter(|other| *other != id)
            .map(|other| {
                let remote = one.remotes[usize::from(other)];
                format!("{} {}{}", broker(other), end(remote.end), if remote.caught_up { "" } else { " (lags)" })
            })
            .collect();
        let _ = write!(words, ", knows {}", ends.join(", "));
        for parked in one.parked.iter().filter(|parked| parked.from != NOBODY) {
            let _ = write!(words, ", a fetch of {} from {} waits", broker(parked.from), parked.sent.offset);
        }
    } else if one.role == Role::Follower {
        let _ = write!(words, ", {}", entry(&one.entry));
    }
    words + &future(&one.future)
}

fn future(future: &Future) -> String {
    let words = match future.disk {
        Disk::None => return String::new(),
        Disk::Here if future.truncating => "a future replica that has to truncate",
        Disk::Here => "a future replica",
        Disk::Away => "a future replica whose disk is away",
    };
    format!("; {words}, {}, hw {}", log(&future.log), future.high)
}

fn image(image: &Image) -> String {
    let mut words = format!(
        "{} leads in {}, isr {}, partition epoch {}",
        leader(image.leader),
        epoch(image.epoch),
        set(image.isr),
        image.partition_epoch
    );
    for (name, brokers) in [("eligible", image.elr), ("fenced", image.fenced), ("shutting down", image.shutting)] {
        if brokers != 0 {
            let _ = write!(words, ", {name} {}", set(brokers));
        }
    }
    if image.recovering {
        words += ", recovering";
    }
    words
}

/// A state, a line an actor, and what is on its way.
pub fn state(state: &WorldState<Replication>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let brokers = state.actors.count;
    writeln!(formatter, "controller: {}", image(&state.actors.controller.now))?;
    for (id, one) in state.actors.numbered() {
        writeln!(formatter, "{}: {}", broker(id), replica(id, one, brokers))?;
    }
    let name = |id: u8| if id < brokers { broker(id) } else { "controller".to_owned() };
    for envelope in &state.network {
        writeln!(
            formatter,
            "on its way from {} to {}: {}",
            name(envelope.src),
            name(envelope.dst),
            message(&envelope.msg)
        )?;
    }
    if state.violated != 0 {
        writeln!(formatter, "a step before this state was wrong")?;
    }
    Ok(())
}

/// A message, in words that fit on an arrow.
#[must_use]
pub fn message(msg: &Msg) -> String {
    match msg {
        Msg::Fetch { sent, .. } => {
            format!("fetch from {}, last {}, in {}", sent.offset, epoch(sent.last), epoch(sent.epoch))
        }
        Msg::FetchReply { answer, .. } => match answer {
            Fetched::Records { records, high, .. } if records.iter().next().is_none() => {
                format!("no records, hw {high}")
            }
            Fetched::Records { records, high, .. } => format!("{}, hw {high}", log(records)),
            Fetched::Diverging { at, .. } => format!("diverging: {} ends at {}", epoch(at.epoch), at.end),
            Fetched::Error(error) => refusal(*error).to_owned(),
        },
        Msg::EpochEndRequest { sent } => format!("where does {} end? in {}", epoch(sent.last), epoch(sent.epoch)),
        Msg::EpochEndReply { answer: Ok(at), .. } => format!("{} ends at {}", epoch(at.epoch), end(at.end)),
        Msg::ListOffsets { sent, earliest } => {
            format!("{} offset? in {}", if *earliest { "earliest" } else { "latest" }, epoch(sent.epoch))
        }
        Msg::ListOffsetsReply { earliest, answer: Ok(offset), .. } => {
            format!("{} offset {offset}", if *earliest { "earliest" } else { "latest" })
        }
        Msg::AlterPartition { epoch: of, partition_epoch, isr, .. } => {
            format!("isr {}? in {}, partition epoch {partition_epoch}", set(*isr), epoch(*of))
        }
        Msg::AlterPartitionReply { answer: Ok(altered), .. } => {
            format!("isr {}, partition epoch {}", set(altered.isr), altered.partition_epoch)
        }
        Msg::EpochEndReply { answer: Err(error), .. }
        | Msg::ListOffsetsReply { answer: Err(error), .. }
        | Msg::AlterPartitionReply { answer: Err(error), .. } => refusal(*error).to_owned(),
        Msg::Register { broker_epoch, lost } => {
            format!("registers with broker epoch {broker_epoch}{}", if *lost { ", records lost" } else { "" })
        }
        Msg::Metadata { image: after } => image(after),
    }
}

/// What happens at an actor of its own accord.
fn timer(timer: &Timer) -> String {
    match timer {
        Timer::Apply(after) => format!("applies: {}", image(after)),
        Timer::Produce => "appends a record".to_owned(),
        Timer::ProducePair => "appends a batch of two records".to_owned(),
        Timer::AlterLogDirs => "begins to move its replica to another disk".to_owned(),
        Timer::Copy => "lets its future replica do a round".to_owned(),
        Timer::DiskOffline => "loses the disk of its future replica".to_owned(),
        Timer::DiskOnline => "has the disk of its future replica back".to_owned(),
        Timer::Poll => "polls".to_owned(),
        Timer::Fail { peer } => format!("gives up its request to {}", broker(*peer)),
        Timer::Expire { place } => format!("waiting fetch {place} expires"),
        Timer::ShrinkIsr => "looks for members that lag".to_owned(),
        Timer::Checkpoint => "writes its high watermark down".to_owned(),
        Timer::Crash => "crashes".to_owned(),
        Timer::Start { keep } => format!("comes up, its log ends at {keep}"),
        Timer::Stop => "stops".to_owned(),
        Timer::StartDamaged(Damage::Empty) => "comes up without its epochs".to_owned(),
        Timer::StartDamaged(Damage::WithoutNewest) => "comes up without its newest epoch".to_owned(),
        Timer::StartDamaged(Damage::WithoutOldest) => "comes up without its oldest epoch".to_owned(),
        Timer::Elect(Election::Preferred) => "elects the preferred replica".to_owned(),
        Timer::Elect(Election::Unclean) => "elects, uncleanly if need be".to_owned(),
        Timer::Elect(Election::Chosen(one)) => format!("elects {}", broker(*one)),
        Timer::Fence(one) => format!("fences {}", broker(*one)),
        Timer::Unfence(one) => format!("unfences {}", broker(*one)),
        Timer::ShutDown(one) => format!("lets {} shut down", broker(*one)),
    }
}

/// An action.
#[must_use]
pub fn action(protocol: &Replication, action: &ActionOf<Replication>) -> String {
    match action {
        Action::Deliver(envelope) => format!(
            "{} -> {}: {}",
            actor(protocol, envelope.src),
            actor(protocol, envelope.dst),
            message(&envelope.msg)
        ),
        Action::Drop(envelope) => format!("lost: {}", message(&envelope.msg)),
        Action::Timeout(id, event) => format!("{} {}", actor(protocol, *id), timer(event)),
    }
}

/// What a broker's step makes known outside, besides messages.
fn told(effect: &Effect) -> Vec<String> {
    let offsets = |bits: u8| (0..8).filter(move |offset| bits >> offset & 1 == 1);
    let below =
        effect.below_high.iter().map(|(to, high)| format!("truncates to {to}, below its high watermark {high}"));
    let acked = offsets(effect.acked).map(|offset| format!("the record at {offset} is acknowledged"));
    let few = offsets(effect.too_few).map(|offset| format!("NOT_ENOUGH_REPLICAS_AFTER_APPEND for offset {offset}"));
    let disowned = offsets(effect.disowned).map(|offset| format!("NOT_LEADER_OR_FOLLOWER for offset {offset}"));
    below.chain(acked).chain(few).chain(disowned).collect()
}

/// A step: what happened, what became of the actor, what it said, and the rows it went through.
#[must_use]
pub fn step(
    protocol: &Replication,
    before: &WorldState<Replication>,
    taken: &ActionOf<Replication>,
    after: &WorldState<Replication>,
) -> String {
    let mut words = action(protocol, taken);
    let id = match taken {
        Action::Deliver(envelope) => envelope.dst,
        Action::Timeout(id, _) => *id,
        Action::Drop(_) => return words,
    };
    let _ = match after.actors.brokers().get(usize::from(id)) {
        Some(one) => write!(words, "\n  {}: {}", broker(id), replica(id, one, after.actors.count)),
        None => write!(words, "\n  controller: {}", image(&after.actors.controller.now)),
    };
    let (sends, said, trail): (Vec<_>, _, _) = match protocol.done(before, taken) {
        Some(Done::Broker(effect)) => (effect.sends.to_vec(), told(&effect), effect.trail),
        Some(Done::Controller(ruling)) => (ruling.sends.to_vec(), Vec::new(), ruling.trail),
        None => return words,
    };
    for line in said {
        let _ = write!(words, "\n  {line}");
    }
    for (to, msg) in &sends {
        let _ = write!(words, "\n  to {}: {}", actor(protocol, *to), message(msg));
    }
    let rows: Vec<&str> = trail.iter().filter_map(|label| NAMES.get(usize::from(label)).copied()).collect();
    if !rows.is_empty() {
        let _ = write!(words, "\n  {}", rows.join("; "));
    }
    words
}
