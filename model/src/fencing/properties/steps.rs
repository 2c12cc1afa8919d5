//! The properties that are about a step and not about a state: S2, S6, S8, S9, S10, S12, S13 and L6.

use super::super::Fencing;
use super::super::actors::{Broker, COORDINATOR};
use super::super::commit::CommitRequest;
use super::super::consumer::Life;
use super::super::coordinator::{AWAY, Coordinator};
use super::super::fail_over::{MISSING, rules_of};
use super::super::labels::Trail;
use super::super::message::{Heartbeat, Msg, Timer};
use super::super::partitions::Partitions;
use super::{State, bit, clients, now};
use crate::world::{Action, ActionOf};

/// The properties about steps that a step violates.
#[must_use]
pub fn step_violations(protocol: &Fencing, before: &State, action: &ActionOf<Fencing>, after: &State) -> u32 {
    let (old, new) = (&before.actors.broker, &after.actors.broker);
    match action {
        Action::Deliver(envelope) if envelope.dst == COORDINATOR => {
            let mut violated = 0;
            if old.now.members != new.now.members {
                violated |= hand_over(protocol, &old.now, &new.now, Some(envelope.msg), None);
            }
            violated |= monotonic(&old.now, &new.now, matches!(envelope.msg, Msg::Leave { .. }));
            if matches!(envelope.msg, Msg::Leave { .. }) {
                violated |= removal(&old.now, &new.now);
            }
            if *old != *new && refused(protocol, old, &envelope.msg, envelope.src, after) {
                violated |= bit::S8;
            }
            match envelope.msg {
                Msg::EndTransaction { commit: true } => {
                    for partition in old.now.newer.iter() {
                        let index = usize::from(partition);
                        if old.now.committed[index] != new.now.committed[index] {
                            violated |= bit::S12;
                        }
                    }
                }
                Msg::Fetch(fetch) if new.now.fetched != old.now.fetched => {
                    // The owner has read: what it read is what was acknowledged last, or newer.
                    if new.now.committed != old.now.committed {
                        violated |= bit::S9;
                    }
                    // An answer to a member of an older epoch is not the owner's.
                    if new.now.member(fetch.slot).epoch != fetch.epoch {
                        violated |= bit::S9;
                    }
                }
                _ => {}
            }
            violated
        }
        Action::Timeout(COORDINATOR, Timer::FailOver { .. }) => survived(protocol, before, after),
        Action::Timeout(COORDINATOR, timer) => {
            hand_over(protocol, &old.now, &new.now, None, Some(*timer))
                | monotonic(&old.now, &new.now, false)
                | removal(&old.now, &new.now)
        }
        _ => 0,
    }
}

/// Whether the coordinator refused what it was sent.
fn refused(protocol: &Fencing, old: &Broker, msg: &Msg, src: u8, after: &State) -> bool {
    match msg {
        Msg::Heartbeat(heartbeat) => after.network.iter().any(|envelope| {
            envelope.dst == src && matches!(envelope.msg, Msg::HeartbeatRefusal { seq, .. } if seq == heartbeat.seq)
        }),
        Msg::Commit(_) | Msg::TxnCommit(_) | Msg::Leave { .. } | Msg::Fetch(_) => {
            old.clone().receive(&protocol.setting, src, *msg).refused
        }
        _ => false,
    }
}

/// S2 and S13.
fn hand_over(protocol: &Fencing, old: &Coordinator, new: &Coordinator, msg: Option<Msg>, timer: Option<Timer>) -> u32 {
    let bounds = &protocol.setting.bounds;
    let mut violated = 0;
    let heartbeat: Option<Heartbeat> = match msg {
        Some(Msg::Heartbeat(heartbeat)) => Some(heartbeat),
        _ => None,
    };
    for slot in 0..bounds.slots() {
        let (before, after) = (old.member(slot), new.member(slot));
        if before.assigned == after.assigned && before.pending == after.pending {
            continue;
        }
        // Given up, or given up and granted anew at once.
        let lost = before.owned().minus(after.owned()) | (before.pending & after.assigned);
        if !lost.is_empty() {
            let given_up = match (msg, timer) {
                (Some(Msg::Heartbeat(heartbeat)), _) if heartbeat.slot == slot => {
                    heartbeat.owned.is_some_and(|owned| !owned.meets(lost))
                }
                (Some(Msg::Heartbeat(heartbeat)), _) => {
                    bounds.consumer(heartbeat.slot) == bounds.consumer(slot) && heartbeat.epoch == 0
                }
                (Some(Msg::Leave { slot: left, .. }), _) => left == slot,
                (_, Some(Timer::Session(expired) | Timer::Rebalance(expired))) => expired == slot,
                _ => false,
            };
            if !given_up {
                violated |= bit::S2;
            }
            if heartbeat.is_some_and(|heartbeat| heartbeat.slot == slot && heartbeat.owned.is_none()) {
                violated |= bit::S13;
            }
        }
        let gained = after.assigned.minus(before.owned());
        for other in (0..bounds.slots()).filter(|other| *other != slot) {
            let handed_on = bounds.consumer(other) == bounds.consumer(slot) && !new.member(other).exists();
            if !handed_on && old.member(other).owned().meets(gained) {
                violated |= bit::S2;
            }
        }
    }
    violated
}

/// L6: what a removed member had can only become another's where the group epoch rises.
fn removal(old: &Coordinator, new: &Coordinator) -> u32 {
    let removed = old.slots().any(|slot| !new.member(slot).exists());
    if removed && new.group_epoch == old.group_epoch { bit::L6 } else { 0 }
}

/// S6.
fn monotonic(old: &Coordinator, new: &Coordinator, leave: bool) -> u32 {
    if old.members == new.members && old.group_epoch == new.group_epoch && old.assignment_epoch == new.assignment_epoch
    {
        return 0;
    }
    let mut holds = new.group_epoch >= old.group_epoch && new.assignment_epoch >= old.assignment_epoch;
    for (before, after) in old.members.iter().zip(&new.members) {
        if leave || !before.exists() || !after.exists() || before.epoch == AWAY || after.epoch == AWAY {
            continue;
        }
        holds &= after.epoch >= before.epoch;
        for partition in (before.owned() & after.owned()).iter() {
            let index = usize::from(partition);
            let (from, to) = (before.since[index], after.since[index]);
            if from == MISSING || to == MISSING {
                continue;
            }
            let again = before.pending.contains(partition) && after.assigned.contains(partition);
            holds &= if again { to > from } else { to == from };
        }
    }
    if holds { 0 } else { bit::S6 }
}

/// S10, at a fail-over.
fn survived(protocol: &Fencing, before: &State, after: &State) -> u32 {
    let setting = &protocol.setting;
    let (old, new) = (now(before), now(after));
    let mut holds = old.acknowledged.iter().zip(&new.committed).all(|(id, stored)| *id == 0 || id == stored);
    for (_, client) in clients(before) {
        let (from, to) = (old.member(client.slot), new.member(client.slot));
        if client.life == Life::Active && client.epoch > 0 && from.epoch != AWAY && to.epoch != AWAY {
            // An epoch that the client knows was acknowledged.
            holds &= if to.exists() { to.epoch >= client.epoch } else { !from.exists() };
        }
    }
    // What is accepted after loading would have been accepted where it was written.
    let Some(held) = &before.actors.broker.held else { return 0 };
    let log = &held.replicated;
    let rules = rules_of(setting, new);
    for slot in new.slots() {
        for partition in 0..setting.bounds.topics.count() {
            for epoch in 1..=new.member(slot).epoch {
                let member = log.member(slot);
                let since = member.since[usize::from(partition)];
                let request = CommitRequest {
                    slot,
                    epoch,
                    partitions: Partitions::one(partition),
                    transactional: false,
                    version: None,
                    instance: false,
                };
                let accepts = new.check_commit(setting, &rules, &request, &mut Trail::default()).is_ok();
                let allowed = epoch == member.epoch
                    || (since != MISSING && since <= epoch)
                    || !member.owned().contains(partition);
                holds &= !accepts || allowed;
            }
        }
    }
    if holds { 0 } else { bit::S10 }
}
