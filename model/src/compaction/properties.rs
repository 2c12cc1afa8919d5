//! The properties of section 7: what must hold in every state, at every step, and where nothing moves any more.
//!
//! What a round does wrong is noted where it does it, in [`Broker::wrong`](super::broker::Broker::wrong).

use smallvec::SmallVec;

use super::Compaction;
use super::actors::Actors;
use super::batch::{Batch, Kind, NONE};
use super::bounds::{Isolation, MAX_KEYS, Setting};
use super::broker::Broker;
use super::choice;
use super::labels::Trail;
use super::log::Log;
use super::message::Msg;
use super::recopy::{Output, Pass};
use super::round::{self, MAP_SLOTS, Round};
use super::tracker::Tracker;
use super::truth::Truth;
use crate::protocol::Claim;
use crate::world::{Action, ActionOf, World, WorldState};

type State = WorldState<Compaction>;

/// The properties about steps, by their place in [`CLAIMS`].
pub mod bit {
    /// S1.
    pub const S1: u32 = 1;
    /// S3.
    pub const S3: u32 = 1 << 2;
    /// S3'.
    pub const S3_FULL: u32 = 1 << 3;
    /// S4.
    pub const S4: u32 = 1 << 4;
    /// S5.
    pub const S5: u32 = 1 << 5;
    /// S6.
    pub const S6: u32 = 1 << 6;
    /// S7.
    pub const S7: u32 = 1 << 7;
    /// S12.
    pub const S12: u32 = 1 << 12;
    /// S14.
    pub const S14: u32 = 1 << 14;
    /// S15.
    pub const S15: u32 = 1 << 15;
    /// L1.
    pub const L1: u32 = 1 << 20;
    /// L2.
    pub const L2: u32 = 1 << 21;
    /// L3.
    pub const L3: u32 = 1 << 22;
    /// L4.
    pub const L4: u32 = 1 << 23;
    /// L5.
    pub const L5: u32 = 1 << 24;
}

fn right(state: &State, bit: u32) -> bool {
    state.actors.brokers().all(|broker| broker.wrong & bit == 0)
}

fn any_batch(state: &State, test: impl Fn(&Broker, &Batch) -> bool) -> bool {
    state.actors.brokers().any(|broker| broker.log.batches.iter().any(|batch| test(broker, batch)))
}

fn cleaned(_: &World<Compaction>, state: &State) -> bool {
    state.actors.brokers().any(|broker| broker.log.checkpoint != NONE)
}

fn has_aborted(_: &World<Compaction>, state: &State) -> bool {
    any_batch(state, |broker, batch| broker.truth.is_aborted(batch) && !batch.is_empty())
}

fn stamped(_: &World<Compaction>, state: &State) -> bool {
    any_batch(state, |_, batch| batch.due != 0)
}

/// S1 to S18 and L1 to L7.
pub static CLAIMS: &[Claim<Compaction>] = &[
    Claim {
        id: "S1",
        statement: "the newest committed record of a key stays, if it is a value",
        assumption: "it is not below the log's start, and the log is not cut",
        holds: |_, state| right(state, bit::S1),
        applies: cleaned,
    },
    Claim {
        id: "S2",
        statement: "once a key's tombstone is gone, no older committed record of the key is in the log",
        assumption: "the tombstone was the newest committed record; asked of the leader",
        holds: |world, state| state.actors.leaders().all(|broker| !resurrected(world, broker)),
        applies: |_, state| state.actors.brokers().any(|broker| broker.truth.dead != [0; MAX_KEYS]),
    },
    Claim {
        id: "S3",
        statement: "who reads an older record of a key, and asks for its tombstone less than the retention later, sees the tombstone or something newer",
        assumption: "less than the retention without the time from the round's start to the swap that hid the older record",
        holds: |_, state| state.violated & bit::S3 == 0,
        applies: reading,
    },
    Claim {
        id: "S3'",
        statement: "the same with the whole retention, as the documentation promises",
        assumption: "",
        holds: |_, state| state.violated & bit::S3_FULL == 0,
        applies: reading,
    },
    Claim {
        id: "S4",
        statement: "a round drops records and batches, and changes nothing else of what stays",
        assumption: "",
        holds: |_, state| right(state, bit::S4),
        applies: cleaned,
    },
    Claim {
        id: "S5",
        statement: "a delete horizon never changes as long as its batch has a record",
        assumption: "",
        holds: |_, state| right(state, bit::S5),
        applies: |_, state| any_batch(state, |_, batch| batch.horizon != 0),
    },
    Claim {
        id: "S6",
        statement: "a tombstone is stamped only where the round has mapped it, so that what is older goes first",
        assumption: "it is the newest committed record of its key",
        holds: |_, state| right(state, bit::S6),
        applies: |_, state| any_batch(state, |_, batch| batch.horizon != 0 && batch.has_tombstone()),
    },
    Claim {
        id: "S7",
        statement: "a tombstone that is newest, or a marker, goes only a retention after the first round that retained it",
        assumption: "",
        holds: |_, state| right(state, bit::S7),
        applies: stamped,
    },
    Claim {
        id: "S8",
        statement: "a transaction's marker goes, or is emptied, only after all its data batches",
        assumption: "asked of the leader",
        holds: |_, state| state.actors.leaders().all(markers_outlive_data),
        applies: |_, state| state.actors.brokers().any(|broker| broker.truth.ended != [0; 2]),
    },
    Claim {
        id: "S9",
        statement: "aborted data that are in the log have their entry in the transaction index",
        assumption: "asked of the leader",
        holds: |_, state| state.actors.leaders().all(index_complete),
        applies: has_aborted,
    },
    Claim {
        id: "S10",
        statement: "a read_committed fetch returns no aborted record, and all committed ones that are in the log",
        assumption: "asked of the leader, from every offset",
        holds: |_, state| state.actors.leaders().all(isolates),
        applies: has_aborted,
    },
    Claim {
        id: "S11",
        statement: "an entry of the transaction index has its ABORT marker, with its record, in the log",
        assumption: "",
        holds: |_, state| {
            state.actors.brokers().all(|broker| {
                broker.log.aborted.iter().all(|entry| {
                    let marker = broker.log.batches.iter().find(|batch| batch.base == entry.last);
                    marker.is_some_and(|marker| marker.kind() == Kind::Abort && !marker.is_empty())
                })
            })
        },
        applies: |_, state| state.actors.brokers().any(|broker| !broker.log.aborted.is_empty()),
    },
    Claim {
        id: "S12",
        statement: "a round's bound, and what counts as clean, is not above the last stable offset",
        assumption: "",
        holds: |_, state| right(state, bit::S12) && state.actors.brokers().all(clean_is_stable),
        applies: cleaned,
    },
    Claim {
        id: "S13",
        statement: "each key has one committed record below the first dirty offset at most",
        assumption: "",
        holds: |_, state| state.actors.brokers().all(clean_is_unique),
        applies: cleaned,
    },
    Claim {
        id: "S14",
        statement: "when a stamped batch becomes visible, what the round's map supersedes below it is gone",
        assumption: "",
        holds: |_, state| right(state, bit::S14),
        applies: |_, state| any_batch(state, |_, batch| batch.horizon != 0),
    },
    Claim {
        id: "S15",
        statement: "after a crash in a swap the group is the old one, or the new one, or that with a suffix of the old segments",
        assumption: "",
        holds: |_, state| right(state, bit::S15),
        applies: |world, state| {
            world.protocol.setting.bounds.crashes
                && state.actors.brokers().any(|broker| broker.round.as_ref().is_some_and(Round::has_group))
        },
    },
    Claim {
        id: "S16",
        statement: "a replay of the log gives every producer its last sequence",
        assumption: "the producer has not expired",
        holds: |world, state| state.actors.brokers().all(|broker| replays(world, broker, true)),
        applies: |_, state| state.actors.brokers().any(|broker| broker.log.producers.iter().any(|one| one.exists)),
    },
    Claim {
        id: "S16'",
        statement: "a replay of the log gives every producer its epoch",
        assumption: "the producer has not expired",
        holds: |world, state| state.actors.brokers().all(|broker| replays(world, broker, false)),
        applies: |_, state| state.actors.brokers().any(|broker| broker.log.producers.iter().any(|one| one.exists)),
    },
    Claim {
        id: "S17",
        statement: "who copies the log up to the high watermark learns an end that is not below it",
        assumption: "asked of the leader; the log was not cut",
        holds: |_, state| state.actors.leaders().all(end_is_known),
        applies: cleaned,
    },
    Claim {
        id: "S18",
        statement: "a round with nothing to map, before any horizon, changes nothing",
        assumption: "but for stamps, which can come one round later; only where it is tried out",
        holds: |world, state| {
            let setting = &world.protocol.setting;
            !setting.bounds.idempotence || state.actors.brokers().all(|broker| idle_round_is_idle(setting, broker))
        },
        applies: |world, state| world.protocol.setting.bounds.idempotence && cleaned(world, state),
    },
    Claim {
        id: "L1",
        statement: "a superseded record is gone after the round that mapped a newer offset of its key; no header stays needlessly",
        assumption: "the round was completed; a header is needed as its producer's last batch, or as the log's",
        holds: |_, state| right(state, bit::L1),
        applies: cleaned,
    },
    Claim {
        id: "L2",
        statement: "a tombstone is gone after the first round that begins a retention after the second that mapped it",
        assumption: "rounds recur; only where it is followed",
        holds: |_, state| right(state, bit::L2),
        applies: |_, state| any_batch(state, |_, batch| batch.late > 1 && !batch.is_control()),
    },
    Claim {
        id: "L3",
        statement: "aborted data are gone after the first round that reads their segment",
        assumption: "",
        holds: |_, state| right(state, bit::L3),
        applies: has_aborted,
    },
    Claim {
        id: "L4",
        statement: "a marker is gone after the first round that begins a retention after the second that found no data of it",
        assumption: "rounds recur; only where it is followed",
        holds: |_, state| right(state, bit::L4),
        applies: |_, state| any_batch(state, |_, batch| batch.late > 1 && batch.is_control()),
    },
    Claim {
        id: "L5",
        statement: "each round raises the first dirty offset, or reaches its bound, and none is given up",
        assumption: "",
        holds: |_, state| right(state, bit::L5),
        applies: cleaned,
    },
    Claim {
        id: "L6",
        statement: "what is clean does not outlive its horizon, also where nothing is written any more",
        assumption: "nothing is left to write, the clock has run out, and no round is worth while; only where it is followed",
        holds: |world, state| !watched(world, state) || !state.actors.brokers().any(outlived),
        applies: |world, state| watched(world, state) && stamped(world, state),
    },
    Claim {
        id: "L7",
        statement: "a record of a closed segment does not wait for its round for ever",
        assumption: "nothing is left to write to this log, and the clock has run out; only where it is followed",
        holds: |world, state| {
            let setting = &world.protocol.setting;
            setting.bounds.patience.is_none()
                || state.actors.brokers().all(|broker| {
                    let (from, bound) = round::bounds_of(setting, &broker.log, broker.clock, &mut Trail::default());
                    !choice::has_waited(setting, broker, from, bound) || !choice::is_left_alone(setting, broker)
                })
        },
        applies: |world, state| {
            let setting = &world.protocol.setting;
            setting.bounds.patience.is_some()
                && state.actors.brokers().any(|broker| {
                    choice::has_waited(setting, broker, 0, broker.log.active())
                        && choice::is_left_alone(setting, broker)
                })
        },
    },
];

fn resurrected(world: &World<Compaction>, broker: &Broker) -> bool {
    (0..world.protocol.setting.bounds.keys).any(|key| {
        let gone = broker.truth.dead[usize::from(key)];
        gone != 0 && broker.truth.newest(&broker.log, key).is_some_and(|(offset, _)| offset + 1 < gone)
    })
}

fn reading(_: &World<Compaction>, state: &State) -> bool {
    let broker = &state.actors.broker;
    (0..).zip(&state.actors.reader.view).any(|(key, view): (u8, _)| {
        view.offset != 0
            && broker.truth.deleted_at(&broker.log, key).is_some_and(|deleted| deleted >= state.actors.reader.at)
    })
}

/// S8. What is above the last marker that went is not asked.
fn markers_outlive_data(broker: &Broker) -> bool {
    let log = &broker.log;
    broker.truth.ended == [0; 2]
        || log.batches.iter().filter(|batch| batch.is_transactional_data()).all(|data| {
            let ended = broker.truth.ended[usize::from(data.producer() - 1)];
            data.base + 1 >= ended
                || log.batches.iter().any(|marker| {
                    marker.is_control()
                        && marker.producer() == data.producer()
                        && !marker.is_empty()
                        && data.base < marker.base
                        && marker.base < ended
                })
        })
}

fn index_complete(broker: &Broker) -> bool {
    let (log, stable) = (&broker.log, broker.log.stable());
    broker.truth.aborted == 0
        || log
            .batches
            .iter()
            .filter(|batch| batch.base < stable && !batch.is_empty() && broker.truth.is_aborted(batch))
            .filter(|batch| batch.is_transactional_data())
            .all(|batch| is_listed(log, batch))
}

/// Whether a fetch at the batch lists a transaction to which it belongs.
#[must_use]
pub fn is_listed(log: &Log, batch: &Batch) -> bool {
    batch.is_transactional_data()
        && log
            .aborted
            .iter()
            .any(|entry| entry.producer == batch.producer() && entry.first <= batch.last() && batch.base <= entry.last)
}

/// S10: a response of one segment from each batch on, with the list of aborted transactions that overlap it.
fn isolates(broker: &Broker) -> bool {
    let log = &broker.log;
    let stable = log.stable();
    if !log.batches.iter().any(Batch::is_transactional_data) {
        return true;
    }
    (0..log.segments.len()).all(|at| {
        let batches: SmallVec<[Batch; 8]> = log.batches_of(at).copied().collect();
        (0..batches.len()).all(|from| response_is_right(broker, &batches[from..], stable))
    })
}

fn response_is_right(broker: &Broker, batches: &[Batch], stable: u8) -> bool {
    let Some(from) = batches.first().map(|batch| batch.base) else { return true };
    let mut listed: SmallVec<[_; 3]> = broker.log.aborted.iter().filter(|entry| entry.last >= from).copied().collect();
    let mut hidden = 0_u8;
    for batch in batches.iter().take_while(|batch| batch.base < stable) {
        listed.retain(|entry| {
            let begun = entry.first <= batch.last();
            hidden |= u8::from(begun) << entry.producer;
            !begun
        });
        if batch.kind() == Kind::Abort && !batch.is_empty() {
            hidden &= !(1 << batch.producer());
        }
        if batch.is_transactional_data() && !batch.is_empty() {
            let hides = hidden >> batch.producer() & 1 == 1;
            if hides != broker.truth.is_aborted(batch) {
                return false;
            }
        }
    }
    true
}

fn clean_is_stable(broker: &Broker) -> bool {
    broker.log.checkpoint == NONE || broker.log.checkpoint <= broker.log.stable()
}

fn clean_is_unique(broker: &Broker) -> bool {
    let log = &broker.log;
    // A checkpoint above the end is set back before it is used.
    if log.checkpoint == NONE || log.checkpoint > log.end {
        return true;
    }
    let stable = log.stable();
    let mut seen = 0_u8;
    let clean = log.batches.iter().filter(|batch| broker.truth.is_committed(stable, batch));
    // What lies below the log's start is in its file, and in the log no more.
    let clean = clean.flat_map(Batch::keyed).skip_while(|(offset, _)| *offset < log.start);
    clean.take_while(|(offset, _)| *offset < log.checkpoint).all(|(_, record)| {
        let new = seen >> record.key & 1 == 0;
        seen |= 1 << record.key;
        new
    })
}

fn replays(world: &World<Compaction>, broker: &Broker, sequence: bool) -> bool {
    let live = &broker.log.producers;
    if live.iter().all(|producer| !producer.exists) {
        return true;
    }
    let replayed = broker.log.replayed(&world.protocol.setting.rules, &mut Trail::default());
    live.iter().zip(&replayed).all(|(live, replayed)| {
        !live.exists
            || if sequence {
                live.last_data == replayed.last_data || live.last_data < broker.log.start
            } else {
                replayed.exists && live.epoch == replayed.epoch || broker.log.start > 0
            }
    })
}

fn end_is_known(broker: &Broker) -> bool {
    let log = &broker.log;
    broker.world.cuts > 0 || log.high <= log.start || log.batches.last().is_some_and(|batch| batch.next() >= log.high)
}

/// S18: what a round would do that has nothing to map, and for which no horizon has passed.
fn idle_round_is_idle(setting: &Setting, broker: &Broker) -> bool {
    let log = &broker.log;
    if broker.round.is_some() || log.checkpoint == NONE || log.checkpoint > log.end {
        return true;
    }
    let mut probe = Round {
        now: 0,
        from: log.checkpoint,
        bound: log.checkpoint,
        cleaned_to: log.checkpoint,
        map: [NONE; MAP_SLOTS],
        next: log.segments[0].base,
        first: log.segments[0].base,
        tracker: Tracker::default(),
        clean_mtime: 0,
    };
    let mut tracker = Tracker::default();
    while probe.has_group() {
        let pass = Pass {
            setting,
            log,
            round: &probe,
            truth: &broker.truth,
            retention: broker.world.retention,
            replicated: NONE,
            pairs: &[],
        };
        let output = pass.clean(&mut tracker, &mut Trail::default());
        let same = |old: &&Batch, new: &&Batch| {
            let stamped = old.horizon == 0 && (old.is_control() || old.has_tombstone());
            old.image()[..3] == new.image()[..3]
                && old.image()[4] == new.image()[4]
                && (stamped || old.horizon == new.horizon)
        };
        let sources = log.batches.iter().filter(|batch| output.base <= batch.base && batch.base < output.end);
        let left: SmallVec<[&Batch; 8]> = sources.collect();
        // Emptied batches may go where another batch of their producer has come since.
        let kept = left.iter().filter(|old| !old.is_empty() || output.batches.iter().any(|new| new.base == old.base));
        let kept: SmallVec<[&Batch; 8]> = kept.copied().collect();
        if kept.len() != output.batches.len() || !kept.iter().zip(&output.batches).all(|(old, new)| same(old, &new)) {
            return false;
        }
        let end = output.end;
        probe.next = end;
    }
    true
}

/// S4, S14 and the headers of L1, when a group has been swapped in.
#[must_use]
pub fn swapped(truth: &Truth, before: &Log, after: &Log, output: &Output, round: &Round) -> u32 {
    let mut wrong = 0;
    let needed = |header: &Batch| {
        let producer = match header.producer() {
            0 => None,
            producer => Some(before.producer(producer)),
        };
        let of_producer = producer.is_some_and(|producer| {
            producer.exists
                && (producer.last_data == header.last()
                    || producer.last_data == NONE && header.is_control() && producer.epoch == header.epoch)
        });
        of_producer || header.next() == round.bound || header.next() == before.high
    };
    if output.batches.iter().any(|batch| batch.is_empty() && !needed(batch)) {
        wrong |= bit::L1;
    }
    let old = |base: u8| before.batches.iter().find(|batch| batch.base == base);
    let ascending = after.batches.windows(2).all(|pair| pair[0].last() < pair[1].base);
    let taken = output.batches.iter().all(|new| {
        old(new.base).is_some_and(|old| old.image()[1..3] == new.image()[1..3] && new.image()[4] & !old.image()[4] == 0)
    });
    if !ascending || !taken {
        wrong |= bit::S4;
    }
    let stable = after.stable();
    for stamped in output
        .batches
        .iter()
        .filter(|new| new.horizon != 0 && new.has_tombstone() && old(new.base).is_some_and(|old| old.horizon == 0))
    {
        let below = after.batches.iter().take_while(|batch| batch.base < stamped.base);
        let superseded = below
            .filter(|batch| truth.is_committed(stable, batch))
            .flat_map(Batch::keyed)
            .any(|(offset, record)| is_superseded(round, offset, record.key));
        if superseded {
            wrong |= bit::S14;
        }
    }
    wrong
}

fn is_superseded(round: &Round, offset: u8, key: u8) -> bool {
    let newer = round.map[usize::from(key)];
    newer != NONE && offset < newer
}

/// L1 and L5, when a round ends.
#[must_use]
pub fn finished(log: &Log, round: &Round) -> u32 {
    let mut wrong = 0;
    let left =
        log.batches.iter().flat_map(Batch::keyed).any(|(offset, record)| is_superseded(round, offset, record.key));
    if left {
        wrong |= bit::L1;
    }
    if round.cleaned_to <= round.from && round.cleaned_to < round.bound {
        wrong |= bit::L5;
    }
    wrong
}

/// Whether nothing is left to happen: nothing to write, no time, and no round worth while.
fn quiet(world: &World<Compaction>, state: &State) -> bool {
    let setting = &world.protocol.setting;
    state.actors.brokers().all(|broker| {
        broker.round.is_none()
            && broker.log.end >= setting.bounds.offsets
            && broker.clock == setting.bounds.clock
            && round::choose(setting, &broker.log, broker.clock, &mut Trail::default()).is_none()
            && !choice::other_is_written(setting, broker)
            && !choice::turn(setting, broker).other
    })
}

/// Whether nothing is in flight, and nothing is left to happen.
#[must_use]
pub fn is_quiescent(world: &World<Compaction>, state: &State) -> bool {
    state.network.iter().all(|envelope| matches!(envelope.msg, Msg::Replicate { .. })) && quiet(world, state)
}

fn watched(world: &World<Compaction>, state: &State) -> bool {
    world.protocol.setting.bounds.watch && quiet(world, state)
}

fn outlived(broker: &Broker) -> bool {
    broker.log.batches.iter().any(|batch| {
        batch.last() < broker.log.checkpoint
            && broker.log.checkpoint != NONE
            && !batch.is_empty()
            && batch.due != 0
            && batch.due <= broker.clock
            && (batch.is_control() || batch.has_tombstone())
    })
}

/// The properties about steps that a step violates: S3 and S3', when a fetch is answered.
#[must_use]
pub fn step_violations(protocol: &Compaction, before: &State, action: &ActionOf<Compaction>) -> u32 {
    let Action::Deliver(envelope) = action else { return 0 };
    let (Msg::Fetch { from }, 0) = (envelope.msg, envelope.dst) else { return 0 };
    let setting = &protocol.setting;
    let Actors { broker, reader, .. } = &before.actors;
    let isolation = setting.bounds.reader.unwrap_or(Isolation::ReadUncommitted);
    let Msg::Fetched { batch, next, time, .. } = broker.read(isolation, from, &mut Trail::default()) else { return 0 };
    let mut violated = 0;
    for (key, view) in (0..setting.bounds.keys).zip(&reader.view) {
        let Some(deleted) = broker.truth.deleted_at(&broker.log, key) else { continue };
        let passed = from.max(view.offset) <= deleted && deleted < next && deleted >= broker.log.start;
        let seen = batch.iter().flat_map(Batch::keyed).any(|(offset, _)| offset == deleted);
        if view.offset == 0 || !passed || seen {
            continue;
        }
        let waited = time - view.time;
        if waited < setting.bounds.retention {
            violated |= bit::S3_FULL;
        }
        if waited + broker.truth.slack[usize::from(key)] < setting.bounds.retention {
            violated |= bit::S3;
        }
    }
    violated
}
