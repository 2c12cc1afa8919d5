//! What the controller's records do to a broker (`docs/replication.md` 2.2, 4.2; `TopicDelta`, `Partition#makeLeader`,
//! `#makeFollower`).
//!
//! A broker sees the state before and the state after, and nothing in between.

use super::broker::{Entry, Phase, Remote, Role, Turn};
use super::controller::{Image, NOBODY, bit};
use super::labels::Label;
use super::log::{BROKERS, MAX_BROKERS, UNDEFINED};
use super::mutant::Mutant;
use super::rules::{KnownRecord, RemoteState};

impl Turn<'_> {
    /// Applies the controller's records up to `image`.
    pub(super) fn apply(&mut self, image: &Image) {
        let broker = &mut *self.broker;
        broker.index = image.index;
        broker.inactive = image.fenced | image.shutting;
        broker.fenced = image.fenced;
        broker.broker_epochs = image.broker_epochs;
        let changed = broker.image_epoch != image.partition_epoch;
        broker.image_epoch = image.partition_epoch;
        if !changed {
            self.mark(Label::ApplyNothing);
        } else if image.partition_epoch < self.broker.partition_epoch {
            self.mark(Label::ApplyOld);
        } else if image.leader == self.me {
            self.make_leader(image);
        } else {
            self.make_follower(image);
        }
    }

    /// `Partition#makeLeader`: 4.2.
    fn make_leader(&mut self, image: &Image) {
        let led = self.broker.role == Role::Leader;
        let new_epoch = image.epoch > self.broker.leader_epoch;
        let next = image.epoch == self.broker.leader_epoch + 1;
        let known = led && image.partition_epoch == self.broker.partition_epoch && !new_epoch;
        if self.broker.pending != 0 && known && self.setting.rules(self.me).known_record == KnownRecord::KeepsProposal {
            self.mark(Label::LeadKeepsPending);
        } else {
            if self.broker.pending != 0 {
                self.mark(Label::LeadWithPending);
            }
            self.broker.pending = 0;
            self.broker.isr = image.isr;
        }
        self.broker.partition_epoch = image.partition_epoch;
        if new_epoch {
            let start = self.broker.log.end;
            self.broker.epoch_start = start;
            let rules = *self.setting.rules(self.me);
            if rules.marks && !self.setting.has(Mutant::EpochNotMarked) {
                self.note_epoch(image.epoch, start);
            }
            let keeps = led
                && match rules.remote {
                    RemoteState::Kept => true,
                    RemoteState::KeptIfNext => next,
                    RemoteState::Forgotten => false,
                };
            self.mark(if led { Label::LeadAgainSkipped } else { Label::LeadNewEpoch });
            for other in BROKERS {
                let in_sync = image.isr & bit(other) != 0 && other != self.me;
                let remote = &mut self.broker.remotes[usize::from(other)];
                if !keeps {
                    *remote = Remote::UNKNOWN;
                }
                remote.caught_up = in_sync;
                remote.end_at_fetch = UNDEFINED;
            }
            self.broker.leader_epoch = image.epoch;
            self.renew_future();
        } else {
            self.mark(Label::LeadSameEpoch);
        }
        self.broker.role = Role::Leader;
        self.broker.leader = self.me;
        self.broker.entry = Entry::IDLE;
        self.expose();
        if self.maybe_raise_high() {
            self.complete_parked();
        }
    }

    /// `Partition#makeFollower`: 4.2, and the fetcher of 2.2.
    fn make_follower(&mut self, image: &Image) {
        let led = self.broker.role == Role::Leader;
        let new_epoch = image.epoch > self.broker.leader_epoch;
        let new_leader = image.leader != self.broker.leader;
        self.broker.role = Role::Follower;
        self.broker.leader = image.leader;
        self.broker.leader_epoch = image.epoch;
        self.broker.partition_epoch = image.partition_epoch;
        self.broker.epoch_start = UNDEFINED;
        self.broker.remotes = [Remote::UNKNOWN; MAX_BROKERS];
        self.broker.isr = 0;
        self.broker.pending = 0;
        if led {
            self.complete_parked();
            if self.broker.waiting != 0 {
                self.mark(Label::ProduceLost);
                self.effect.disowned = self.broker.waiting;
                self.broker.waiting = 0;
            }
        }
        if new_epoch {
            self.renew_future();
        }
        if !new_epoch {
            self.mark(Label::FollowSameEpoch);
        } else if image.leader == NOBODY {
            self.mark(Label::FollowNobody);
            self.broker.entry = Entry { phase: Phase::Idle, ..Entry::IDLE };
        } else {
            self.begin_to_follow(new_leader);
        }
    }
}
