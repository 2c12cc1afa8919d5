//! States, steps and messages in words, for the explorer, for diagrams and for the terminal.

use std::fmt::{self, Write as _};

use super::Compaction;
use super::actors::Part;
use super::batch::{Batch, Kind, NONE, UNKEYED, UNKNOWN};
use super::broker::{Broker, Role};
use super::message::{Msg, Timer};
use super::reader::Reader;
use super::recovery::Moment;
use crate::world::{Action, ActionOf, WorldState};

/// A key's name: `k`, `l`, `m`.
#[must_use]
pub fn key(key: u8) -> String {
    if key == UNKEYED { "no key".to_owned() } else { char::from(b'k' + key).to_string() }
}

/// A producer's name: `p`, `q`; the writer without an id is `w`.
#[must_use]
pub fn producer(producer: u8) -> &'static str {
    match producer {
        0 => "w",
        1 => "p",
        _ => "q",
    }
}

fn record(offset: u8, at: super::batch::Record) -> String {
    if at.tombstone { format!("{}=null", key(at.key)) } else { format!("{}=v{offset}", key(at.key)) }
}

/// A batch: `3 p k=null (transactional) until 5`.
#[must_use]
pub fn batch(batch: &Batch) -> String {
    let mut words = batch.base.to_string();
    if batch.last() > batch.base {
        let _ = write!(words, "-{}", batch.last());
    }
    let name = match batch.kind() {
        Kind::Plain if batch.producer() == 0 => String::new(),
        Kind::Plain => format!(" {}", producer(batch.producer())),
        Kind::Transactional => format!(" {}@{} in a transaction", producer(batch.producer()), batch.epoch),
        Kind::Commit => format!(" COMMIT of {}@{}", producer(batch.producer()), batch.epoch),
        Kind::Abort => format!(" ABORT of {}@{}", producer(batch.producer()), batch.epoch),
    };
    words += &name;
    if batch.is_empty() {
        words += ", emptied";
    } else if !batch.is_control() {
        let records: Vec<_> = batch.records().map(|(at, one)| record(batch.base + at, one)).collect();
        let _ = write!(words, " {}", records.join(" "));
    }
    if batch.horizon != 0 {
        let _ = write!(words, ", until {}", batch.horizon);
    }
    words
}

fn broker(broker: &Broker, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let log = &broker.log;
    let role = if broker.role == Role::Leader { "leads" } else { "follows" };
    write!(formatter, "{role}, clock {}, log {} to {}", broker.clock, log.start, log.end)?;
    if log.high != log.end {
        write!(formatter, ", high watermark {}", log.high)?;
    }
    if log.stable() != log.high {
        write!(formatter, ", last stable offset {}", log.stable())?;
    }
    if log.checkpoint == NONE {
        writeln!(formatter, ", never cleaned")?;
    } else {
        writeln!(formatter, ", clean below {}", log.checkpoint)?;
    }
    for (at, segment) in log.segments.iter().enumerate() {
        let batches: Vec<_> = log.batches_of(at).map(batch).collect();
        let words = if batches.is_empty() { "empty".to_owned() } else { batches.join(" · ") };
        let active = if at + 1 == log.segments.len() { " (active)" } else { "" };
        writeln!(formatter, "  segment {}{active}: {words}", segment.base)?;
    }
    for entry in &log.aborted {
        writeln!(formatter, "  aborted: {} from {} to {}", producer(entry.producer), entry.first, entry.last)?;
    }
    for (number, one) in (1..).zip(&log.producers).filter(|(_, one)| one.exists) {
        write!(formatter, "  producer {}: ", producer(number))?;
        if one.epoch == UNKNOWN {
            write!(formatter, "epoch not known")?;
        } else {
            write!(formatter, "epoch {}", one.epoch)?;
        }
        if one.last_data != NONE {
            write!(formatter, ", last batch ends at {}", one.last_data)?;
        }
        if one.open != NONE {
            write!(formatter, ", transaction open since {}", one.open)?;
        }
        writeln!(formatter)?;
    }
    if broker.world.other > 0 {
        writeln!(formatter, "  of the other log dirty: {} of {}", broker.world.other, broker.world.other + 1)?;
    }
    if let Some(round) = &broker.round {
        write!(formatter, "  round at {}: from {}, bound {}", round.now, round.from, round.bound)?;
        if round.is_mapped() {
            let mapped: Vec<_> = (0..3)
                .filter(|at| round.map[usize::from(*at)] != NONE)
                .map(|at| format!("{}@{}", key(at), round.map[usize::from(at)]))
                .collect();
            write!(formatter, ", mapped up to {} ({})", round.cleaned_to, mapped.join(" "))?;
            if round.has_group() {
                write!(formatter, ", next group at {}", round.next)?;
            } else {
                write!(formatter, ", all groups swapped")?;
            }
        }
        writeln!(formatter)?;
    }
    for (at, offset) in (0_u8..).zip(&broker.truth.dead).filter(|(_, offset)| **offset != 0) {
        writeln!(formatter, "  (the tombstone of {} at {} is gone)", key(at), offset - 1)?;
    }
    Ok(())
}

fn reader(reader: &Reader, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    if reader.target == NONE {
        return Ok(());
    }
    write!(formatter, "consumer at {} of {}", reader.at, reader.target)?;
    for (at, view) in (0_u8..).zip(&reader.view).filter(|(_, view)| view.offset != 0) {
        write!(formatter, ", read {}=v{} at time {}", key(at), view.offset - 1, view.time)?;
    }
    writeln!(formatter)
}

/// A whole state.
pub fn state(state: &WorldState<Compaction>, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (name, one) in ['a', 'b'].into_iter().zip(state.actors.brokers()) {
        write!(formatter, "{name} ")?;
        broker(one, formatter)?;
    }
    reader(&state.actors.reader, formatter)?;
    for envelope in &state.network {
        writeln!(formatter, "on its way: {}", message(&envelope.msg))?;
    }
    if state.violated != 0 || state.actors.brokers().any(|broker| broker.wrong != 0) {
        writeln!(formatter, "a step before this state was wrong")?;
    }
    Ok(())
}

/// The name of an actor.
#[must_use]
pub fn actor(protocol: &Compaction, id: u8) -> String {
    match protocol.part(id) {
        Part::Broker(0) => "a".to_owned(),
        Part::Broker(_) => "b".to_owned(),
        Part::Reader => "consumer".to_owned(),
    }
}

/// A message.
#[must_use]
pub fn message(msg: &Msg) -> String {
    match msg {
        Msg::Fetch { from } | Msg::Replicate { from } => format!("fetch from {from}"),
        Msg::Fetched { batch: Some(one), next, .. } => format!("read {}, next {next}", batch(one)),
        Msg::Fetched { batch: None, next, .. } => format!("read nothing, next {next}"),
        Msg::Replicated { batch: Some(one), .. } => format!("copy {}", batch(one)),
        Msg::Replicated { batch: None, .. } => "nothing to copy".to_owned(),
        Msg::Elect { .. } => "become leader".to_owned(),
    }
}

fn timer(timer: Timer) -> String {
    match timer {
        Timer::Write { producer: 0, key: of, tombstone: true } => format!("{} is deleted", key(of)),
        Timer::Write { producer: 0, key: of, tombstone: false } => format!("{} is written", key(of)),
        Timer::Write { producer: by, key: of, tombstone } => {
            format!("{} {} {}", producer(by), if tombstone { "deletes" } else { "writes" }, key(of))
        }
        Timer::WritePair { first, second } => {
            let word = |tombstone| if tombstone { "null" } else { "a value" };
            format!("one batch: k={}, l={}", word(first), word(second))
        }
        Timer::WriteUnkeyed => "a record without a key is written".to_owned(),
        Timer::WriteStamped { key: of } => format!("a client deletes {}, with a horizon that has passed", key(of)),
        Timer::End { producer: by, commit } => {
            format!("the transaction of {} {}", producer(by), if commit { "commits" } else { "is aborted" })
        }
        Timer::Roll => "the active segment is closed".to_owned(),
        Timer::RaiseHigh => "the high watermark reaches the end".to_owned(),
        Timer::Tick => "the clock goes on".to_owned(),
        Timer::Clean { entries } => format!("a round, with a map of {entries}"),
        Timer::StartRound => "a round begins".to_owned(),
        Timer::BuildMap { entries } => format!("its map is built, of {entries} at most"),
        Timer::CleanGroup => "the next group is cleaned and swapped".to_owned(),
        Timer::FinishRound => "the checkpoint is written".to_owned(),
        Timer::AbortRound => "the round is aborted".to_owned(),
        Timer::Crash { moment, replays } => {
            let when = match moment {
                Moment::Between => "crash",
                Moment::Cleaned => "crash with a .cleaned file",
                Moment::SwapNamed => "crash with a .swap file",
                Moment::FirstDeleted => "crash after the first old file was renamed to .deleted",
                Moment::AllDeleted => "crash after all old files were renamed to .deleted",
                Moment::Renamed => "crash after the .swap file got its name",
            };
            format!("{when}, and recovery{}", if replays { " without snapshots of producers" } else { "" })
        }
        Timer::Truncate { to } => format!("the log is truncated to {to}"),
        Timer::Lose { to } => format!("crash, and everything from {to} on is lost"),
        Timer::SwitchPolicy => "cleanup.policy changes".to_owned(),
        Timer::Alter => "delete.retention.ms changes".to_owned(),
        Timer::Forget => "the checkpoint file is lost".to_owned(),
        Timer::Expire { producer: of } => format!("producer {} expires", producer(of)),
        Timer::DeleteOldest => "the oldest segment is deleted".to_owned(),
        Timer::DeleteRecords { to } => format!("records below {to} are deleted"),
        Timer::WriteOther => "the other log is written to".to_owned(),
        Timer::CleanOther => "the cleaner takes the other log".to_owned(),
        Timer::Resign => "resigns, its follower being up to date".to_owned(),
    }
}

/// An action.
#[must_use]
pub fn action(protocol: &Compaction, action: &ActionOf<Compaction>) -> String {
    match action {
        Action::Deliver(envelope) => format!("{}: {}", actor(protocol, envelope.dst), message(&envelope.msg)),
        Action::Drop(envelope) => format!("lost: {}", message(&envelope.msg)),
        Action::Timeout(id, happens) if protocol.setting.bounds.replicas > 1 => {
            format!("{}: {}", actor(protocol, *id), timer(*happens))
        }
        Action::Timeout(_, happens) => timer(*happens),
    }
}

/// A step: what happened, and what the replica's log is afterwards where a round changed it.
#[must_use]
pub fn step(
    protocol: &Compaction,
    before: &WorldState<Compaction>,
    taken: &ActionOf<Compaction>,
    after: &WorldState<Compaction>,
) -> String {
    let mut words = action(protocol, taken);
    if let Some(round) = protocol.effect(before, taken).and_then(|effect| effect.round) {
        let _ = write!(words, ": at {}, from {}, bound {}", round.now, round.from, round.bound);
        if round.is_mapped() {
            let _ = write!(words, ", mapped up to {}", round.cleaned_to);
        }
    }
    let Action::Timeout(id, _) = taken else { return words };
    let log = |state: &WorldState<Compaction>| {
        let broker = state.actors.brokers().nth(usize::from(*id));
        broker.map_or_else(Vec::new, |broker| broker.log.batches.iter().map(batch).collect::<Vec<_>>())
    };
    let (old, new) = (log(before), log(after));
    let removed = old.iter().any(|batch| !new.contains(batch));
    if removed {
        let _ = write!(words, " -> {}", if new.is_empty() { "nothing".to_owned() } else { new.join(" · ") });
    }
    words
}
