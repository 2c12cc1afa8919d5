//! Where every behaviour of a configuration begins: a group that was brought there by ordinary requests.
//!
//! The consumers join from the last to the first; the target gives everything to the first; then the others heartbeat
//! until all have the same epoch. The first member of the new group got epoch 1.

use super::actors::{MAX_CONSUMERS, Start, instance_of};
use super::assignor::Assignor;
use super::bounds::Setting;
use super::consumer::{Consumer, Life};
use super::coordinator::{Coordinator, HeartbeatRequest};
use super::labels::Trail;
use super::partitions::Partitions;

/// One request of the setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetupStep {
    /// A member joins.
    Join(u8),
    /// A member heartbeats with this epoch, and says nothing else.
    Beat(u8, i8),
    /// The assignment interval is over.
    Interval,
}

/// The setup's requests, and where they lead.
#[must_use]
pub fn setup(setting: &Setting) -> (Vec<SetupStep>, Coordinator) {
    let mut coordinator = Coordinator::empty();
    coordinator.script[0] = Partitions::first(setting.bounds.topics.count());
    let mut steps = Vec::new();
    let inside = setting.bounds.members - setting.bounds.outside;
    let mut run = |coordinator: &mut Coordinator, step: SetupStep| {
        apply(setting, coordinator, step);
        steps.push(step);
    };
    for slot in (0..inside).rev() {
        if coordinator.interval_runs {
            run(&mut coordinator, SetupStep::Interval);
        }
        run(&mut coordinator, SetupStep::Join(slot));
    }
    for slot in 1..inside {
        let epoch = coordinator.member(slot).epoch;
        if epoch < coordinator.assignment_epoch {
            run(&mut coordinator, SetupStep::Beat(slot, epoch));
        }
    }
    (steps, coordinator)
}

fn apply(setting: &Setting, coordinator: &mut Coordinator, step: SetupStep) {
    let mut trail = Trail::default();
    let request = match step {
        SetupStep::Interval => return coordinator.expire_interval(&mut trail),
        SetupStep::Join(slot) => HeartbeatRequest {
            slot,
            epoch: 0,
            owned: Some(Partitions::NONE),
            topics: Some(setting.bounds.topics.all()),
            full: false,
            instance: instance_of(setting, slot),
        },
        SetupStep::Beat(slot, epoch) => HeartbeatRequest {
            slot,
            epoch,
            owned: None,
            topics: None,
            full: false,
            instance: instance_of(setting, slot),
        },
    };
    // The setup is made of requests that every rule set accepts; a test replays it under each.
    let _ = coordinator.heartbeat(setting, &setting.rules, &request, &mut trail);
}

/// The state in which the actors start.
#[must_use]
pub fn start(setting: &Setting) -> Start {
    let (_, coordinator) = setup(setting);
    let mut consumers = [Consumer::default(); MAX_CONSUMERS];
    for (slot, consumer) in (0..setting.bounds.members).zip(&mut consumers) {
        let member = coordinator.member(slot);
        let inside = member.exists();
        *consumer = Consumer {
            slot,
            life: if inside { Life::Active } else { Life::Outside },
            epoch: if inside { member.epoch } else { 0 },
            owned: member.assigned,
            wanted: member.assigned,
            topics: setting.bounds.topics.all(),
            positions: if setting.bounds.fetches > 0 { member.assigned } else { Partitions::NONE },
            ..Consumer::default()
        };
    }
    let target = u16::from(Partitions::first(setting.bounds.topics.count()).0);
    Start { coordinator, consumers, assignor: Assignor { target, moves: 0 } }
}
