//! What may happen at a replica, in the order of [`Timer`]: a pure function of its state and the bounds.

use super::batch::NONE;
use super::bounds::{Grain, Setting};
use super::broker::{Broker, Role};
use super::choice;
use super::message::Timer;
use super::recovery::Moment;
use super::round::Round;

/// Calls `each` for everything that may happen at `broker` now.
pub fn timers(setting: &Setting, id: u8, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let leads = broker.role == Role::Leader;
    let whole = id == 0 || bounds.follower_cleans;
    if leads {
        writes(setting, broker, each);
    }
    if whole && broker.world.rolls < bounds.rolls && broker.log.can_roll() {
        each(Timer::Roll);
    }
    if leads && bounds.lagging && broker.log.high < broker.log.end {
        each(Timer::RaiseHigh);
    }
    if whole && broker.clock < bounds.clock {
        each(Timer::Tick);
    }
    if whole {
        rounds(setting, broker, each);
    }
    if leads {
        faults(setting, broker, each);
        other_log(setting, broker, each);
    }
}

fn writes(setting: &Setting, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let (end, log) = (broker.log.end, &broker.log);
    if end >= bounds.offsets {
        return;
    }
    let first = u8::from(!bounds.plain);
    for producer in first..=bounds.producers {
        for key in 0..bounds.keys {
            if bounds.values {
                each(Timer::Write { producer, key, tombstone: false });
            }
            if key < bounds.deletable {
                each(Timer::Write { producer, key, tombstone: true });
            }
        }
    }
    if bounds.pairs && end + 1 < bounds.offsets {
        for first in [false, true] {
            each(Timer::WritePair { first, second: false });
            if bounds.deletable > 1 {
                each(Timer::WritePair { first, second: true });
            }
        }
    }
    if bounds.unkeyed {
        each(Timer::WriteUnkeyed);
    }
    if bounds.client_horizons {
        (0..bounds.deletable).for_each(|key| each(Timer::WriteStamped { key }));
    }
    if !bounds.idempotent {
        for producer in 1..=bounds.producers {
            if bounds.empty_transactions || log.producer(producer).open != NONE {
                each(Timer::End { producer, commit: false });
                each(Timer::End { producer, commit: true });
            }
        }
    }
}

fn rounds(setting: &Setting, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let maps = bounds.map_least..=bounds.map_most;
    match &broker.round {
        None => {
            let turn = choice::turn(setting, broker);
            if turn.this && bounds.grain == Grain::Atomic {
                maps.for_each(|entries| each(Timer::Clean { entries }));
            } else if turn.this {
                each(Timer::StartRound);
            }
        }
        Some(round) => {
            if !round.is_mapped() {
                maps.for_each(|entries| each(Timer::BuildMap { entries }));
            } else if round.has_group() {
                each(Timer::CleanGroup);
            } else {
                each(Timer::FinishRound);
            }
            if bounds.aborts {
                each(Timer::AbortRound);
            }
        }
    }
}

/// The log that shares the cleaner's one thread.
fn other_log(setting: &Setting, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    if choice::other_is_written(setting, broker) {
        each(Timer::WriteOther);
    }
    if broker.world.other > 0 && broker.round.is_none() && choice::turn(setting, broker).other {
        each(Timer::CleanOther);
    }
}

fn faults(setting: &Setting, broker: &Broker, each: &mut dyn FnMut(Timer)) {
    let bounds = &setting.bounds;
    let (log, world) = (&broker.log, &broker.world);
    if bounds.crashes {
        let within = broker.round.as_ref().is_some_and(Round::has_group);
        let moments = std::iter::once(Moment::Between).chain(Moment::WITHIN).filter(|moment| {
            // A crash that finds nothing half done matters only if snapshots are lost.
            *moment == Moment::Between || within
        });
        for moment in moments {
            if broker.round.is_some() {
                each(Timer::Crash { moment, replays: false });
            }
            if bounds.replays {
                each(Timer::Crash { moment, replays: true });
            }
        }
    }
    if broker.round.is_none() && world.cuts < bounds.truncations {
        (log.start..log.end).for_each(|to| each(Timer::Truncate { to }));
    }
    if broker.round.is_none() && world.cuts < bounds.losses {
        (log.start..log.end).for_each(|to| each(Timer::Lose { to }));
    }
    if broker.round.is_none() && world.policies < bounds.policies {
        each(Timer::SwitchPolicy);
    }
    if bounds.altered.is_some_and(|retention| world.retention != retention) {
        each(Timer::Alter);
    }
    if broker.round.is_none() && world.forgets < bounds.forgets && log.checkpoint != NONE {
        each(Timer::Forget);
    }
    if let Some(expiry) = bounds.expiry {
        for producer in 1..=bounds.producers {
            let known = log.producer(producer);
            if known.exists && known.open == NONE && broker.clock >= known.seen + expiry {
                each(Timer::Expire { producer });
            }
        }
    }
    if bounds.deletes && broker.round.is_none() && log.segments.len() > 1 && log.segments[1].base <= log.high {
        each(Timer::DeleteOldest);
    }
    if bounds.deletes_records && broker.round.is_none() {
        (log.start + 1..=log.high).for_each(|to| each(Timer::DeleteRecords { to }));
    }
    let caught_up = broker.replicated == log.end && log.high == log.end;
    if bounds.elects && !world.elected && caught_up && broker.round.is_none() {
        each(Timer::Resign);
    }
}
