//! What a crash leaves of a broker, and what it finds when it comes up (`docs/replication.md` 1.4, 1.8, 1.9; `LogManager`,
//! `LogLoader`, `LeaderEpochFileCache`).

use super::broker::{Broker, Entry, Parked, Remote, Role, Turn};
use super::controller::NOBODY;
use super::labels::Label;
use super::log::{MAX_BROKERS, Offset, UNDEFINED};
use super::message::{Damage, Msg};

impl Turn<'_> {
    /// The process dies: what was in memory is gone (1.9).
    pub(super) fn crash(&mut self) {
        let broker = &mut *self.broker;
        *broker = Broker {
            up: false,
            high: 0,
            index: 0,
            image_epoch: UNDEFINED,
            inactive: 0,
            fenced: 0,
            broker_epochs: [0; MAX_BROKERS],
            role: Role::None,
            leader: NOBODY,
            leader_epoch: UNDEFINED,
            partition_epoch: UNDEFINED,
            epoch_start: UNDEFINED,
            isr: 0,
            pending: 0,
            in_flight: false,
            remotes: [Remote::UNKNOWN; MAX_BROKERS],
            parked: [Parked::NONE; MAX_BROKERS],
            waiting: 0,
            entry: Entry::IDLE,
            outstanding: [0; MAX_BROKERS],
            round: broker.round + 1,
            crashes: broker.crashes + 1,
            ..broker.clone()
        };
    }

    /// The broker comes up with what is on disk, and registers. Below `keep` everything is there.
    pub(super) fn start(&mut self, keep: Offset, damage: Option<Damage>) {
        self.mark(Label::Restarted);
        let broker = &mut *self.broker;
        broker.up = true;
        broker.broker_epoch += 1;
        let lost = broker.log.cut(keep);
        broker.lost |= lost;
        match damage {
            None => {}
            Some(Damage::Empty) => broker.epochs.clear(),
            Some(Damage::WithoutNewest) => broker.epochs.remove(broker.epochs.latest()),
            Some(Damage::WithoutOldest) => broker.epochs.remove(broker.epochs.oldest()),
        }
        let keeps_epochs = !self.setting.is_old_format(self.me);
        let before = broker.epochs;
        broker.epochs.truncate_from_end(broker.log.end);
        let trimmed = before != broker.epochs;
        if !broker.clean && keeps_epochs {
            // After a crash the segments are read again, and epochs above the latest are found (1.4).
            let Broker { log, epochs, .. } = broker;
            for (offset, record) in log.iter().filter(|(_, record)| record.epoch() >= 0) {
                if record.epoch() > epochs.latest() {
                    epochs.assign(record.epoch(), offset, &mut self.effect.trail);
                    self.effect.trail.mark(Label::RestartRebuilds);
                }
            }
        }
        let broker = &mut *self.broker;
        broker.clean = false;
        broker.high = broker.checkpoint.clamp(broker.log.start, broker.log.end);
        let register = Msg::Register { broker_epoch: broker.broker_epoch, lost };
        if lost {
            self.mark(Label::Lost);
        }
        if trimmed {
            self.mark(Label::RestartTrims);
        }
        if self.broker.high > 0 {
            self.mark(Label::HighLoaded);
        }
        let controller = self.controller();
        self.send(controller, register);
    }
}
