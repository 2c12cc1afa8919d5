//! What is done in a step of a trace, and which records of the controller a broker applies there.

use fencepost_fixtures::names::MessageName;
use fencepost_fixtures::replication::{
    Acks, Election, ElectionKind, EpochCheckpoint, Operation, Produce, Record, Start,
};

use super::content::{broker_change, id_of, name, parsed, partition};
use super::{NOTHING, Rendering};
use crate::replication::Replication;
use crate::replication::controller::Image;
use crate::replication::message::{Damage, Election as Chosen, Msg, Sent, Timer};
use crate::world::{Action, ActionOf, WorldState};

impl Rendering<'_> {
    pub(super) fn operation(
        &mut self,
        before: &WorldState<Replication>,
        action: &ActionOf<Replication>,
    ) -> Result<Operation, String> {
        Ok(match action {
            Action::Deliver(envelope) | Action::Drop(envelope) => Operation::Deliver(self.message_name(envelope)?),
            Action::Timeout(id, timer) => match timer {
                Timer::Apply(image) => Operation::Metadata(self.applied(before, *id, image)?),
                Timer::Produce | Timer::ProducePair => {
                    let id = self.next('w')?;
                    let count = if *timer == Timer::Produce { 1 } else { 2 };
                    let next = self.records.len();
                    let records = (next..next + count).map(|number| parsed(&format!("r{number}")));
                    Operation::Produce(Produce { id, records: records.collect::<Result<_, _>>()?, acks: Acks::All })
                }
                Timer::AlterLogDirs => Operation::AlterLogDirs(NOTHING),
                Timer::Copy => Operation::Copy(NOTHING),
                Timer::DiskOffline => Operation::DiskOffline(NOTHING),
                Timer::DiskOnline => Operation::DiskOnline(NOTHING),
                Timer::Poll => Operation::Poll(NOTHING),
                Timer::Fail { peer } => Operation::Fail(self.given_up(*id, *peer)?),
                Timer::Expire { place } => {
                    let parked = before.actors.all[usize::from(*id)].parked[usize::from(*place)];
                    let found = self.parked.get(&(*id, parked.from, parked.sent));
                    Operation::Expire(found.cloned().ok_or("a parked fetch has no name")?)
                }
                Timer::ShrinkIsr => Operation::ShrinkIsr(NOTHING),
                Timer::Checkpoint => Operation::Checkpoint(NOTHING),
                Timer::Crash => Operation::Crash(NOTHING),
                Timer::Start { keep } => {
                    let broker = &before.actors.all[usize::from(*id)];
                    let lost = *keep < broker.log.end;
                    let broker_epoch = Some(i64::from(broker.broker_epoch) + 1);
                    Operation::Start(Start { broker_epoch, keep: lost.then_some(i64::from(*keep)), ..Start::default() })
                }
                Timer::Stop => Operation::Stop(NOTHING),
                Timer::StartDamaged(damage) => Operation::Start(Start {
                    broker_epoch: Some(i64::from(before.actors.all[usize::from(*id)].broker_epoch) + 1),
                    epoch_checkpoint: Some(match damage {
                        Damage::Empty => EpochCheckpoint::Empty,
                        Damage::WithoutNewest => EpochCheckpoint::WithoutNewest,
                        Damage::WithoutOldest => EpochCheckpoint::WithoutOldest,
                    }),
                    ..Start::default()
                }),
                Timer::Elect(election) => Operation::Elect(match election {
                    Chosen::Preferred => Election { kind: ElectionKind::Preferred, leader: None },
                    Chosen::Unclean => Election { kind: ElectionKind::Unclean, leader: None },
                    Chosen::Chosen(broker) => Election { kind: ElectionKind::Chosen, leader: Some(name(*broker)?) },
                }),
                Timer::Fence(broker) => Operation::Fence(name(*broker)?),
                Timer::Unfence(broker) => Operation::Unfence(name(*broker)?),
                Timer::ShutDown(broker) => Operation::ShutDown(name(*broker)?),
            },
        })
    }

    /// The request that a broker has outstanding at another.
    fn given_up(&self, from: u8, peer: u8) -> Result<MessageName, String> {
        let of = |sent: &Sent, who: u8| who == from && sent.round == self.broker(from).round;
        let in_flight = self.in_flight.iter().find_map(|(envelope, name)| {
            let asked = match envelope.msg {
                Msg::Fetch { sent, .. } | Msg::EpochEndRequest { sent } | Msg::ListOffsets { sent, .. } => {
                    envelope.dst == peer && of(&sent, envelope.src)
                }
                _ => false,
            };
            asked.then(|| name.clone())
        });
        let parked = || {
            let mut parked = self.parked.iter();
            parked.find(|((at, who, sent), _)| *at == peer && of(sent, *who)).map(|(_, name)| name.clone())
        };
        // What has been answered goes by the request's name too.
        let sent = || self.requests().find(|(src, dst, _)| (*src, *dst) == (from, peer)).map(|(_, _, name)| name);
        in_flight.or_else(parked).or_else(sent).ok_or_else(|| "a request that is given up was not sent".to_owned())
    }

    /// The requests of the steps so far, the latest first: who sent them, to whom, and their names.
    fn requests(&self) -> impl Iterator<Item = (u8, u8, MessageName)> + '_ {
        self.steps.iter().rev().flat_map(|step| {
            let from = step.at.as_ref().and_then(id_of);
            let sends = step.sends.iter().filter(|(_, message)| !message.content.is_reply());
            sends.filter_map(move |(name, message)| Some((from?, id_of(&message.to)?, name.clone())))
        })
    }

    /// The controller's records that a broker applies in one step.
    fn applied(&self, before: &WorldState<Replication>, id: u8, image: &Image) -> Result<Vec<Record>, String> {
        let known = before.actors.all[usize::from(id)].index;
        let Some(mut last) = self.images.iter().find(|image| image.index == known).copied() else {
            // After a restart it gets what the log comes to.
            let mut records = vec![Record::Partition(partition(image)?)];
            for broker in 0..self.brokers() {
                let change = broker_change(image, broker)?;
                if change != broker_change(&self.images[0], broker)? {
                    records.push(Record::Broker(change));
                }
            }
            return Ok(records);
        };
        let mut records = Vec::new();
        for next in self.images.iter().filter(|next| next.index > known && next.index <= image.index) {
            records.extend(self.between(&last, next)?);
            last = *next;
        }
        Ok(records)
    }

    /// The records that lead from one state of the controller to the next.
    pub(super) fn between(&self, before: &Image, after: &Image) -> Result<Vec<Record>, String> {
        let changed = partition(before)? != partition(after)?;
        let partition: Vec<Record> = if changed { vec![Record::Partition(partition(after)?)] } else { Vec::new() };
        let mut brokers = Vec::new();
        for broker in 0..self.brokers() {
            let change = broker_change(after, broker)?;
            if change != broker_change(before, broker)? {
                brokers.push(Record::Broker(change));
            }
        }
        // As the controller appends them: whoever stops or comes back first, and whoever is lost after the partition.
        let first = before.fenced & !after.fenced != 0 || after.shutting & !before.shutting != 0;
        Ok(if first { [brokers, partition].concat() } else { [partition, brokers].concat() })
    }
}
