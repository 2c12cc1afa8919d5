//! A consumer, by the Java client's rules (section 8, "Model advice"), and the rules that KIP-1251 rejected.

use std::hash::{Hash, Hasher};

use fencepost_fixtures::kafka_error::KafkaError;
use fencepost_fixtures::variants::ClientRule;
use serde::{Deserialize, Serialize};

use super::bounds::Setting;
use super::coordinator::{ABSENT, AWAY};
use super::message::{Commit, Fetch, Heartbeat, Msg, Timer};
use super::mutant::Mutant;
use super::partitions::{Partitions, TOPIC_T, TOPIC_U};

/// Where a consumer is in its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Life {
    /// There is no such consumer in this configuration.
    #[default]
    Unused,
    /// It has not joined yet.
    Outside,
    /// It heartbeats: with epoch 0 where it joins, or has to join again.
    Active,
    /// It left.
    Left,
    /// It stopped without a word.
    Crashed,
    /// It met an error that it does not recover from.
    Failed,
}

/// A consumer's state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consumer {
    /// Its member id.
    pub slot: u8,
    /// Where it is in its life.
    pub life: Life,
    /// The member epoch that it knows; 0 while it joins.
    pub epoch: i8,
    /// Whether it waits for the answer to a heartbeat.
    pub waiting: bool,
    /// How many answers it has given up; numbers its requests.
    pub seq: u8,
    /// What it holds.
    pub owned: Partitions,
    /// What it was last told to hold.
    pub wanted: Partitions,
    /// Whether what it holds has changed since it was last reported.
    pub unreported: bool,
    /// Whether the next heartbeat says everything, because the last one failed.
    pub full: bool,
    /// The topics it subscribes to.
    pub topics: u8,
    /// Whether the subscription has changed since it was last sent.
    pub resubscribed: bool,
    /// The partitions whose committed offset it has read, or written.
    pub positions: Partitions,
    /// The commit that is not answered, under a rule that asks for one at a time; 0 for none.
    pub open: u8,
    /// The partitions of that commit.
    pub sent: Partitions,
    /// Whether that commit was refused, or given up, and will be sent again.
    pub refused: bool,
    /// Whether its transaction is open.
    pub transaction: bool,
    /// Ghost of S4': how often it gave each partition up, modulo 4.
    pub grip: u8,
    /// Commits and transactions so far.
    pub commits: u8,
    /// Transactions so far.
    pub transactions: u8,
    /// Commits' answers given up so far.
    pub commit_give_ups: u8,
    /// Leaves so far.
    pub leaves: u8,
    /// Returns so far.
    pub returns: u8,
    /// Restarts so far.
    pub restarts: u8,
    /// Changes of the subscription so far.
    pub subscriptions: u8,
    /// Fetches so far.
    pub fetches: u8,
}

impl Hash for Consumer {
    /// Two words, and a third where something rare has happened.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let flags = u8::from(self.waiting)
            | u8::from(self.unreported) << 1
            | u8::from(self.full) << 2
            | u8::from(self.resubscribed) << 3
            | u8::from(self.transaction) << 4
            | self.topics << 5;
        let rare = u64::from_le_bytes([
            self.commit_give_ups | self.transactions << 4,
            self.leaves | self.returns << 4,
            self.restarts | self.subscriptions << 4,
            self.fetches,
            self.positions.0,
            self.open,
            self.sent.0 | u8::from(self.refused) << 4,
            self.grip,
        ]);
        hasher.write_u64(u64::from_le_bytes([
            self.slot | u8::from(rare != 0) << 7,
            self.life as u8,
            self.epoch.to_le_bytes()[0],
            self.seq,
            self.owned.0,
            self.wanted.0,
            flags,
            self.commits,
        ]));
        if rare != 0 {
            hasher.write_u64(rare);
        }
    }
}

impl Consumer {
    /// Whether it gives partitions up when it reconciles.
    fn revokes(&self) -> bool {
        !self.owned.within(self.wanted)
    }

    /// What it may do of its own accord, in the order of [`Timer`].
    pub fn timers(&self, setting: &Setting, consumer: u8, each: &mut dyn FnMut(Timer)) {
        let bounds = &setting.bounds;
        let first = consumer == 0;
        let active = self.life == Life::Active;
        let member = active && self.epoch > 0;
        let rule = setting.rules.client;
        let one_at_a_time = rule != ClientRule::Free;
        let settled = self.open == 0;
        if (active || self.life == Life::Outside) && !self.waiting && (rule != ClientRule::Exclusion || self.open == 0)
        {
            each(Timer::Heartbeat);
        }
        // The listener ends what is open before it gives partitions up.
        let anywhere = setting.mutant == Mutant::RetryAnywhere;
        let may_revoke = rule != ClientRule::Listener || anywhere || (settled && !self.transaction);
        let stuck = bounds.stuck && first;
        if active && self.owned != self.wanted && (!self.revokes() || (may_revoke && !stuck)) {
            each(Timer::Reconcile);
        }
        let may_commit = match rule {
            ClientRule::Free => true,
            ClientRule::Exclusion => settled && !self.waiting,
            ClientRule::Listener => settled,
        };
        if member && may_commit && self.commits < bounds.commits {
            self.committable(setting, |partitions| each(Timer::Commit(partitions)));
        }
        if self.waiting && self.seq < bounds.give_ups {
            each(Timer::GiveUp);
        }
        if member && !self.waiting && self.leaves < bounds.leaves {
            if bounds.is_static(consumer) {
                each(Timer::Leave(AWAY));
            }
            each(Timer::Leave(ABSENT));
        }
        if self.life == Life::Left && self.returns < bounds.returns {
            each(Timer::Return);
        }
        if active && first && bounds.crashes > 0 {
            each(Timer::Crash);
        }
        let gone = matches!(self.life, Life::Left | Life::Crashed);
        if gone && bounds.is_static(consumer) && self.restarts < bounds.restarts {
            each(Timer::Restart);
        }
        if member && first && self.subscriptions < bounds.subscriptions {
            for topics in [TOPIC_T, TOPIC_U, TOPIC_T | TOPIC_U] {
                if topics != self.topics {
                    each(Timer::Subscribe(topics));
                }
            }
        }
        if member && self.fetches < bounds.fetches {
            for partition in self.owned.minus(self.positions).iter() {
                each(Timer::Fetch(partition));
            }
        }
        if member && first && !self.transaction && self.transactions < bounds.transactions {
            self.committable(setting, |partitions| each(Timer::Transaction(partitions)));
        }
        if self.open != 0 && !self.refused && one_at_a_time && self.commit_give_ups < bounds.commit_give_ups {
            each(Timer::GiveUpCommit);
        }
        if member && self.refused && (anywhere || self.sent.within(self.owned)) {
            each(Timer::Retry);
        }
    }

    /// What it may commit: each partition whose position it knows, or all of them.
    fn committable(&self, setting: &Setting, mut each: impl FnMut(Partitions)) {
        let mut held = if setting.bounds.fetches > 0 { self.owned & self.positions } else { self.owned };
        if setting.mutant == Mutant::CommitsUnowned {
            held = Partitions::first(setting.bounds.topics.count());
        }
        if setting.bounds.wide_commits {
            if !held.is_empty() {
                each(held);
            }
            return;
        }
        for partition in held.iter() {
            each(Partitions::one(partition));
        }
    }

    /// It does something of its own accord; what it sends goes to the coordinator, but for [`Msg::Hand`].
    pub fn act(&mut self, setting: &Setting, consumer: u8, timer: Timer) -> Option<Msg> {
        match timer {
            Timer::Heartbeat => Some(self.heartbeat()),
            Timer::Reconcile => {
                self.hold(self.wanted, setting);
                None
            }
            Timer::Commit(partitions) => {
                let commit = self.stamp(setting, consumer, partitions);
                if setting.rules.client != ClientRule::Free {
                    self.open = commit.id;
                    self.sent = partitions;
                }
                Some(Msg::Commit(commit))
            }
            Timer::Transaction(partitions) => {
                let commit = self.stamp(setting, consumer, partitions);
                self.transaction = true;
                self.transactions += 1;
                self.commits -= 1;
                Some(Msg::Hand(commit))
            }
            Timer::GiveUp => {
                self.waiting = false;
                self.seq += 1;
                self.full = true;
                None
            }
            Timer::Leave(epoch) => {
                let slot = self.slot;
                self.drop_all(setting);
                self.life = Life::Left;
                self.leaves += 1;
                Some(Msg::Leave { slot, epoch })
            }
            Timer::Return => {
                self.life = Life::Active;
                self.returns += 1;
                None
            }
            Timer::Crash => {
                self.drop_all(setting);
                self.life = Life::Crashed;
                self.waiting = false;
                None
            }
            Timer::Restart => {
                self.life = Life::Active;
                self.restarts += 1;
                self.slot = setting.bounds.slot(consumer, self.restarts);
                self.waiting = false;
                self.seq += 1;
                None
            }
            Timer::Subscribe(topics) => {
                self.topics = topics;
                self.resubscribed = true;
                self.subscriptions += 1;
                None
            }
            Timer::Fetch(partition) => {
                self.fetches += 1;
                Some(Msg::Fetch(Fetch { slot: self.slot, epoch: self.epoch, partition, stable: true }))
            }
            Timer::GiveUpCommit => {
                self.commit_give_ups += 1;
                if setting.rules.client == ClientRule::Listener {
                    self.refused = true;
                } else {
                    self.settle();
                }
                None
            }
            Timer::Retry => {
                self.refused = false;
                Some(Msg::Commit(Commit {
                    slot: self.slot,
                    epoch: self.epoch,
                    partitions: self.sent,
                    id: self.open,
                    grip: self.grip,
                }))
            }
            _ => None,
        }
    }

    fn heartbeat(&mut self) -> Msg {
        self.life = Life::Active;
        let joins = self.epoch == 0;
        let says_all = joins || self.full;
        let heartbeat = Heartbeat {
            slot: self.slot,
            seq: self.seq,
            epoch: self.epoch,
            owned: (says_all || self.unreported).then_some(self.owned),
            topics: (says_all || self.resubscribed).then_some(self.topics),
            full: says_all && !joins,
        };
        self.waiting = true;
        self.full = false;
        self.resubscribed = false;
        self.unreported = false;
        Msg::Heartbeat(heartbeat)
    }

    fn stamp(&mut self, setting: &Setting, consumer: u8, partitions: Partitions) -> Commit {
        let each = setting.bounds.commits + setting.bounds.transactions;
        let id = 1 + consumer * each + self.commits + self.transactions;
        self.commits += 1;
        Commit { slot: self.slot, epoch: self.epoch, partitions, id, grip: self.grip }
    }

    /// From now on it holds `partitions`.
    fn hold(&mut self, partitions: Partitions, setting: &Setting) {
        if setting.bounds.grip {
            for partition in self.owned.minus(partitions).iter() {
                let shift = 2 * partition;
                let count = ((self.grip >> shift & 3) + 1) & 3;
                self.grip = self.grip & !(3 << shift) | count << shift;
            }
        }
        self.owned = partitions;
        self.positions = self.positions & partitions;
        self.unreported = true;
    }

    /// It holds nothing any more, and joins again if it goes on (`onPartitionsLost`).
    fn drop_all(&mut self, setting: &Setting) {
        self.hold(Partitions::NONE, setting);
        self.wanted = Partitions::NONE;
        self.epoch = 0;
        self.unreported = false;
        self.full = false;
        self.resubscribed = false;
        if setting.mutant != Mutant::RetryAnywhere {
            // Open transactions are aborted.
            self.settle();
        }
    }

    /// No commit is open any more.
    fn settle(&mut self) {
        self.open = 0;
        self.sent = Partitions::NONE;
        self.refused = false;
    }

    /// A message arrives.
    pub fn receive(&mut self, setting: &Setting, msg: Msg) {
        match msg {
            Msg::HeartbeatAnswer { seq, epoch, assigned } => {
                if !self.waiting || seq != self.seq || self.life != Life::Active {
                    return;
                }
                self.waiting = false;
                self.epoch = epoch;
                if let Some(assigned) = assigned {
                    self.wanted = assigned;
                    if !setting.bounds.assign_step && !self.revokes() && self.owned != assigned {
                        self.hold(assigned, setting);
                    }
                }
            }
            Msg::HeartbeatRefusal { seq, error } => {
                if !self.waiting || seq != self.seq || self.life != Life::Active {
                    return;
                }
                self.waiting = false;
                match error {
                    KafkaError::FencedMemberEpoch | KafkaError::UnknownMemberId => self.drop_all(setting),
                    KafkaError::NotCoordinator => self.full = true,
                    _ => {
                        self.drop_all(setting);
                        self.life = Life::Failed;
                    }
                }
            }
            Msg::CommitAnswer { id, error } if self.open != 0 && id == self.open => match error {
                Some(KafkaError::StaleMemberEpoch | KafkaError::IllegalGeneration)
                    if setting.rules.client == ClientRule::Listener =>
                {
                    self.refused = true;
                }
                _ => self.settle(),
            },
            Msg::FetchAnswer { partition, error: None, .. } => {
                self.positions = self.positions | (Partitions::one(partition) & self.owned);
            }
            Msg::Handed { .. } => self.transaction = false,
            _ => {}
        }
    }
}
