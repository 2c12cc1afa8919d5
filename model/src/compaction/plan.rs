//! Which steps of a path reach a log, and what they are called in a trace.

use fencepost_fixtures::compaction::{
    Alter, Append, CleanupPolicy, Crash, EndTransaction, Isolation as SeenIsolation, NewRecord, NoFields, Operation,
    Read, SwapStep, TransactionResult,
};

use super::Compaction;
use super::actors::Part;
use super::batch::{NONE, UNKEYED, UNKNOWN};
use super::bounds::Isolation;
use super::broker::{Broker, Role};
use super::interpreter::visible;
use super::message::{Msg, Timer};
use super::recovery::Moment;
use super::replica::{self, BASE_MS};
use crate::protocol::Walk;
use crate::world::{Action, ActionOf, WorldState};

/// A step of a trace in the making.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The replica's place.
    pub at: usize,
    /// The step of the path before which this is, and the one after which; the same where it shows a harm.
    pub steps: (usize, usize),
    /// What happens, one after the other.
    pub operations: Vec<Operation>,
}

const NOTHING: NoFields = NoFields {};

/// The replica of an actor.
fn place(protocol: &Compaction, id: u8) -> Option<usize> {
    match protocol.part(id) {
        Part::Broker(place) => Some(place.into()),
        Part::Reader => None,
    }
}

/// The steps of a path that reach a log. What a round does without an interruption is one step.
pub fn plan(protocol: &Compaction, walk: &Walk<Compaction>) -> Result<Vec<Planned>, String> {
    let mut planned: Vec<Planned> = Vec::new();
    let copies = copies(walk);
    for (number, (state, action)) in walk.iter().enumerate() {
        let fetches = copies.iter().filter(|copy| copy.at == number);
        let fetches = fetches.map(|copy| (number, copy.ends + 1, 1, vec![Operation::Fetch(NOTHING)]));
        planned.extend(fetches.map(|(from, to, at, operations)| Planned { at, steps: (from, to), operations }));
        let Some(action) = action else { continue };
        let Some((at, operations)) = step(protocol, state, action)? else { continue };
        planned.push(Planned { at, steps: (number, number + 1), operations });
    }
    Ok(whole_rounds(planned))
}

/// What a follower copies, batch by batch and with nothing else between: a trace's fetch copies all that there is.
struct Copied {
    /// Where the follower's log ended.
    from: u8,
    /// What came.
    batches: Vec<[u8; 5]>,
    /// The step with which the last of it came.
    ends: usize,
    /// The step before which the leader had just that.
    at: usize,
}

/// Before which step the leader had just this from `from` on, at the latest.
fn had(walk: &Walk<Compaction>, from: u8, batches: &[[u8; 5]], ends: usize) -> Option<usize> {
    (0..=ends).rev().find(|at| {
        walk.get(*at).is_some_and(|(state, _)| {
            let there = state.actors.broker.log.batches.iter().filter(|batch| batch.last() >= from);
            there.map(visible).eq(batches.iter().copied())
        })
    })
}

fn copies(walk: &Walk<Compaction>) -> Vec<Copied> {
    let mut copies: Vec<Copied> = Vec::new();
    let mut going_on = false;
    for (number, (state, action)) in walk.iter().enumerate() {
        match action {
            Some(Action::Deliver(envelope)) if envelope.dst == 1 => match (envelope.msg, &state.actors.other) {
                (Msg::Replicated { batch: Some(batch), .. }, Some(follower)) => {
                    let last = copies.last_mut().filter(|_| going_on).and_then(|copy| {
                        let batches: Vec<_> = copy.batches.iter().copied().chain([visible(&batch)]).collect();
                        Some((had(walk, copy.from, &batches, number)?, batches, copy))
                    });
                    if let Some((at, batches, copy)) = last {
                        *copy = Copied { from: copy.from, batches, ends: number, at };
                    } else {
                        let (from, batches) = (follower.log.end, vec![visible(&batch)]);
                        let at = had(walk, from, &batches, number).unwrap_or(number);
                        copies.push(Copied { from, batches, ends: number, at });
                    }
                    going_on = true;
                }
                (Msg::Elect { .. } | Msg::Fetch { .. }, _) => going_on = false,
                _ => {}
            },
            Some(Action::Timeout(1, _)) => going_on = false,
            _ => {}
        }
    }
    copies
}

/// Writes a round whose steps stand together as one.
fn whole_rounds(planned: Vec<Planned>) -> Vec<Planned> {
    let mut whole: Vec<Planned> = Vec::new();
    for one in planned {
        let ends = matches!(one.operations.as_slice(), [Operation::FinishRound(_)]);
        let groups = |other: &&Planned| matches!(other.operations.as_slice(), [Operation::CleanGroup(_)]);
        let first = whole.len() - if ends { whole.iter().rev().take_while(groups).count() } else { 0 };
        let open = first.checked_sub(2).map(|start| (start, &whole[start..]));
        match open {
            Some((start, [begin, map, groups @ ..]))
                if ends
                    && matches!(begin.operations.as_slice(), [Operation::StartRound(_)])
                    && matches!(map.operations.as_slice(), [Operation::BuildMap(_)])
                    && [begin, map].into_iter().chain(groups).all(|step| step.at == one.at) =>
            {
                let steps = (begin.steps.0, one.steps.1);
                whole.truncate(start);
                whole.push(Planned { at: one.at, steps, operations: vec![Operation::Clean(NOTHING)] });
            }
            _ => whole.push(one),
        }
    }
    whole
}

fn step(
    protocol: &Compaction,
    state: &WorldState<Compaction>,
    action: &ActionOf<Compaction>,
) -> Result<Option<(usize, Vec<Operation>)>, String> {
    let bounds = &protocol.setting.bounds;
    match action {
        Action::Timeout(id, timer) => {
            let Some(at) = place(protocol, *id) else { return Ok(None) };
            let broker = state.actors.brokers().nth(at).ok_or("no such replica")?;
            Ok(Some((at, timed(protocol, broker, *timer)?)))
        }
        Action::Deliver(envelope) => {
            let Some(at) = place(protocol, envelope.dst) else { return Ok(None) };
            let operation = match envelope.msg {
                Msg::Fetch { from } => Operation::Read(Read {
                    isolation: match bounds.reader {
                        Some(Isolation::ReadCommitted) => SeenIsolation::ReadCommitted,
                        _ => SeenIsolation::ReadUncommitted,
                    },
                    from: from.into(),
                    batches: Some(1),
                }),
                _ => return Ok(None),
            };
            Ok(Some((at, vec![operation])))
        }
        Action::Drop(_) => Ok(None),
    }
}

/// The record that is written next. Its value tells its offset, so that no two are alike.
fn record(key: u8, tombstone: bool, offset: u8) -> Result<NewRecord, String> {
    let value = match (tombstone, key) {
        (true, _) => None,
        (false, 0) if offset == 0 => Some("v".parse()?),
        (false, 0) => Some(format!("v{offset}").parse()?),
        _ => Some(offset.to_string().parse()?),
    };
    Ok(NewRecord { key: replica::key_name(key)?, value, timestamp_ms: None })
}

fn append(protocol: &Compaction, broker: &Broker, producer: u8, records: Vec<NewRecord>) -> Result<Append, String> {
    let mut made = Append {
        producer: None,
        epoch: None,
        sequence: None,
        transactional: false,
        horizon_ms: None,
        compression: None,
        records,
    };
    if producer == 0 {
        return Ok(made);
    }
    let known = broker.log.producer(producer);
    let told = broker.world.epochs.get(usize::from(producer) - 1).copied().unwrap_or(0);
    let default = if known.exists && known.epoch != UNKNOWN { known.epoch } else { 0 };
    made.producer = Some(replica::producer_name(producer)?);
    made.epoch = (told != default).then(|| told.into());
    made.transactional = !protocol.setting.bounds.idempotent;
    Ok(made)
}

fn timed(protocol: &Compaction, broker: &Broker, timer: Timer) -> Result<Vec<Operation>, String> {
    let end = broker.log.end;
    // Where the policy contains compact, a record without a key is refused.
    if matches!(timer, Timer::WriteUnkeyed) {
        let unkeyed = Operation::Append(append(protocol, broker, 0, vec![record(UNKEYED, false, end)?])?);
        let policy = |policy| Operation::Alter(Alter { cleanup_policy: Some(vec![policy]), ..Alter::default() });
        let (before, after) = (policy(CleanupPolicy::Delete), policy(CleanupPolicy::Compact));
        return Ok(if broker.world.compacts { vec![before, unkeyed, after] } else { vec![unkeyed] });
    }
    let plain = |producer, records| append(protocol, broker, producer, records).map(Operation::Append);
    let alter = |retention: Option<i64>, policy: Option<CleanupPolicy>| {
        Operation::Alter(Alter {
            delete_retention_ms: retention,
            cleanup_policy: policy.map(|policy| vec![policy]),
            ..Alter::default()
        })
    };
    Ok(vec![match timer {
        Timer::Write { producer, key, tombstone } => plain(producer, vec![record(key, tombstone, end)?])?,
        Timer::WritePair { first, second } => plain(0, vec![record(0, first, end)?, record(1, second, end + 1)?])?,
        Timer::WriteStamped { key } => {
            let mut stamped = append(protocol, broker, 0, vec![record(key, true, end)?])?;
            stamped.horizon_ms = Some(BASE_MS);
            Operation::Append(stamped)
        }
        Timer::End { producer, commit } => Operation::EndTransaction(EndTransaction {
            producer: replica::producer_name(producer)?,
            result: if commit { TransactionResult::Commit } else { TransactionResult::Abort },
        }),
        Timer::Roll => Operation::Roll(NOTHING),
        Timer::RaiseHigh => Operation::HighWatermark(end.into()),
        // Who asks for the clock next says what it shows; whoever is written to, or read from, leads.
        // The other log is not in a trace.
        Timer::Tick | Timer::Resign | Timer::WriteUnkeyed | Timer::WriteOther | Timer::CleanOther => {
            return Ok(Vec::new());
        }
        Timer::Clean { .. } => Operation::Clean(NOTHING),
        Timer::StartRound => Operation::StartRound(NOTHING),
        Timer::BuildMap { .. } => Operation::BuildMap(NOTHING),
        Timer::CleanGroup => Operation::CleanGroup(NOTHING),
        Timer::FinishRound => Operation::FinishRound(NOTHING),
        Timer::AbortRound => Operation::AbortRound(NOTHING),
        Timer::Crash { moment, replays } => Operation::Crash(Crash {
            during_swap: match moment {
                Moment::Between => None,
                Moment::Cleaned => Some(SwapStep::Cleaned),
                Moment::SwapNamed => Some(SwapStep::SwapNamed),
                Moment::FirstDeleted => Some(SwapStep::FirstDeleted),
                Moment::AllDeleted => Some(SwapStep::AllDeleted),
                Moment::Renamed => Some(SwapStep::Renamed),
            },
            loses_snapshots: replays,
            loses_from: None,
        }),
        Timer::Truncate { to } => Operation::Truncate(to.into()),
        Timer::Lose { to } => Operation::Crash(Crash { loses_from: Some(to.into()), ..Crash::default() }),
        Timer::SwitchPolicy if broker.world.compacts => alter(None, Some(CleanupPolicy::Delete)),
        Timer::SwitchPolicy => alter(None, Some(CleanupPolicy::Compact)),
        Timer::Alter => {
            let retention = protocol.setting.bounds.altered.unwrap_or(broker.world.retention);
            alter(Some(replica::span_ms(retention)), None)
        }
        Timer::Forget => Operation::LoseCheckpoint(NOTHING),
        Timer::DeleteRecords { to } => Operation::DeleteRecords(to.into()),
        Timer::Expire { .. } => Operation::ExpireProducers(NOTHING),
        Timer::DeleteOldest => {
            let start = broker.log.segments.get(1).map_or(broker.log.start, |segment| segment.base);
            return Ok(vec![Operation::DeleteRecords(start.into()), Operation::DeleteSegments(NOTHING)]);
        }
    }])
}

/// A consumer reads the leader's whole log.
#[must_use]
pub fn read_all(state: &WorldState<Compaction>) -> Vec<Planned> {
    let at = state.actors.brokers().position(|broker| broker.role == Role::Leader).unwrap_or(0);
    let read = Read { isolation: SeenIsolation::ReadCommitted, from: 0, batches: None };
    vec![Planned { at, steps: (0, 0), operations: vec![Operation::Read(read)] }]
}

/// A round over all that is there, and a consumer after it.
#[must_use]
pub fn clean_all(state: &WorldState<Compaction>) -> Vec<Planned> {
    let broker = &state.actors.broker;
    let mut operations = Vec::new();
    if broker.round.is_some() {
        operations.push(Operation::AbortRound(NOTHING));
    }
    if !broker.world.compacts {
        let policy = Some(vec![CleanupPolicy::Compact]);
        operations.push(Operation::Alter(Alter { cleanup_policy: policy, ..Alter::default() }));
    }
    if broker.log.can_roll() {
        operations.push(Operation::Roll(NOTHING));
    }
    operations.push(Operation::Clean(NOTHING));
    let clean = Planned { at: 0, steps: (0, 0), operations };
    std::iter::once(clean).chain(read_all(state)).collect()
}

/// The producers are built from the log alone, and each that has an epoch behind it writes once more with that.
#[must_use]
pub fn replay(state: &WorldState<Compaction>) -> Vec<Planned> {
    let crash = Operation::Crash(Crash { loses_snapshots: true, ..Crash::default() });
    let mut operations = vec![crash];
    for (number, known) in (1..).zip(&state.actors.broker.log.producers) {
        if known.exists && known.epoch != UNKNOWN && known.epoch > 0 && known.open == NONE {
            let Ok(name) = replica::producer_name(number) else { continue };
            let Ok(one) = record(0, false, state.actors.broker.log.end) else { continue };
            operations.push(Operation::Append(Append {
                producer: Some(name),
                epoch: Some(i16::from(known.epoch) - 1),
                sequence: None,
                transactional: true,
                horizon_ms: None,
                compression: None,
                records: vec![one],
            }));
        }
    }
    vec![Planned { at: 0, steps: (0, 0), operations }]
}
