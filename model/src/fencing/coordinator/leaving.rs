//! Members that go: by themselves, for a while, or removed by a timer (2.6, 2.8, 2.9).

use fencepost_fixtures::kafka_error::KafkaError;
use fencepost_fixtures::variants::{FencingRules, Release};

use super::super::bounds::{MAX_SLOTS, Setting};
use super::super::labels::{Label, Trail};
use super::super::mutant::Mutant;
use super::super::partitions::Partitions;
use super::{ABSENT, AWAY, Coordinator, Member};

impl Coordinator {
    /// A leave: `ConsumerGroupHeartbeat` with epoch -1 or -2 (2.6).
    pub fn leave(
        &mut self,
        setting: &Setting,
        rules: &FencingRules,
        slot: u8,
        epoch: i8,
        instance: u8,
        trail: &mut Trail,
    ) -> Result<i8, KafkaError> {
        if epoch == AWAY && instance == 0 {
            return Err(KafkaError::InvalidRequest);
        }
        if epoch < AWAY {
            return Err(KafkaError::InvalidRequest);
        }
        if !self.group_exists() {
            return Err(KafkaError::GroupIdNotFound);
        }
        let exists = usize::from(slot) < MAX_SLOTS && self.member(slot).exists();
        if instance == 0 {
            if !exists {
                trail.mark(Label::LeaveUnknown);
                return Err(KafkaError::UnknownMemberId);
            }
            trail.mark(Label::Left);
            self.remove(setting, rules, slot, trail);
            return Ok(ABSENT);
        }
        match self.static_member(instance) {
            None => {
                trail.mark(Label::LeaveUnknown);
                Err(KafkaError::UnknownMemberId)
            }
            Some(resident) if resident != slot => {
                trail.mark(Label::LeaveFenced);
                Err(KafkaError::FencedInstanceId)
            }
            Some(_) if epoch == ABSENT => {
                trail.mark(Label::StaticLeft);
                self.remove(setting, rules, slot, trail);
                Ok(ABSENT)
            }
            Some(_) => {
                let before = *self.member(slot);
                trail.mark(if before.pending.is_empty() {
                    Label::StaticLeftForNow
                } else {
                    Label::StaticLeftUnrevoked
                });
                let member = &mut self.members[usize::from(slot)];
                member.epoch = AWAY;
                if setting.mutant != Mutant::StaticLeaveKeepsPending {
                    member.pending = Partitions::NONE;
                }
                member.grant(member.assigned, 0);
                member.forget_released();
                self.forget_fetches(&before, slot);
                Ok(AWAY)
            }
        }
    }

    /// 2.8.
    fn remove(&mut self, setting: &Setting, rules: &FencingRules, slot: u8, trail: &mut Trail) {
        let before = *self.member(slot);
        self.members[usize::from(slot)] = Member::NONE;
        self.target[usize::from(slot)] = Partitions::NONE;
        if setting.mutant != Mutant::RemovalSilent {
            self.group_epoch += 1;
        }
        if self.is_empty() {
            trail.mark(Label::GroupEmptied);
            // KAFKA-20442: from 4.4 on the target of an empty group catches up.
            if rules.release >= Release::V4_4 && setting.mutant != Mutant::EmptyGroupLags {
                self.assignment_epoch = self.group_epoch;
                self.interval_runs = false;
            }
        }
        self.forget_fetches(&before, slot);
    }

    /// A session timer runs out (2.9).
    pub fn expire_session(&mut self, setting: &Setting, rules: &FencingRules, slot: u8, trail: &mut Trail) {
        trail.mark(Label::SessionExpired);
        self.remove(setting, rules, slot, trail);
    }

    /// A rebalance timer runs out (2.9). Where the member's epoch is not that of its arming any more, nothing happens.
    pub fn expire_rebalance(&mut self, setting: &Setting, rules: &FencingRules, slot: u8, trail: &mut Trail) {
        let member = self.member(slot);
        if member.epoch == member.armed {
            trail.mark(Label::RebalanceExpired);
            self.remove(setting, rules, slot, trail);
        } else {
            trail.mark(Label::RebalanceOutdated);
            self.members[usize::from(slot)].armed = 0;
        }
    }
}
