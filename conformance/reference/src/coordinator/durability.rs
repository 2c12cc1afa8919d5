//! What survives: writing, replication, fail-over and load (docs/fencing.md 3.8 and 4.3; Kafka `CoordinatorRuntime`).
//!
//! A write is applied at once and answered when the high watermark passes it. An error is answered at once, so it can tell of
//! something that is then lost.

use crate::coordinator::error::ErrorCode;
use crate::coordinator::group::ConsumerGroup;
use crate::coordinator::heartbeat::session_timeout_ms;
use crate::coordinator::log::{Entry, Log};
use crate::coordinator::machine::{
    Activity, Config, Coordinator, Output, Replication, Reply, Survives, Ticket, Waiting,
};
use crate::coordinator::mutation::Mutation;
use crate::coordinator::reconciliation::MemberState;
use crate::coordinator::records::{RecordError, RecordFormat};
use crate::coordinator::replay::ReplayError;
use crate::coordinator::request::{Answer, Response};
use crate::coordinator::rules::Rules;
use crate::coordinator::state::State;
use crate::coordinator::timers::{TimerKey, TimerKind, Timers};

/// Why a log could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The bytes of a record are broken.
    #[error("the log could not be read: {0}")]
    Record(#[from] RecordError),
    /// A record does not fit the ones before it.
    #[error("the log could not be replayed at offset {offset}: {error}")]
    Replay {
        /// The offset of the record.
        offset: u64,
        /// What is wrong with it.
        error: ReplayError,
    },
}

impl Coordinator {
    /// A coordinator that reads a log, by bytes, and starts its timers. It knows no topics yet.
    pub fn load(rules: Rules, config: Config, log: &Log) -> Result<Self, LoadError> {
        let mut coordinator = Self::new(rules, config);
        coordinator.take_over(log)?;
        Ok(coordinator)
    }

    /// Whether two coordinators keep the same durable state: all that a record can say, derived tables included. What is soft
    /// (timers, answers that wait) is not compared.
    #[must_use]
    pub fn has_state_of(&self, other: &Self) -> bool {
        self.state == other.state
    }

    /// Writes entries and answers: now, or when they are replicated. `group` is what they make of the group, if the caller
    /// folded them already.
    pub(crate) fn write(&mut self, entries: Vec<Entry>, group: Option<ConsumerGroup>, response: Response) -> Output {
        let appended = self.append(entries, group);
        let waits = self.log.high_watermark() < self.log.end_offset();
        let reply = if waits && !self.rules.slips(Mutation::AnsweredAboveTheHighWatermark) {
            let ticket = Ticket(self.next_ticket);
            self.next_ticket += 1;
            self.waiting.push_back(Waiting { ticket, position: self.log.end_offset(), response });
            Reply::Waits(ticket)
        } else {
            Reply::Answered(Ok(response))
        };
        Output { reply, appended }
    }

    /// Writes entries that nobody waits for.
    pub(crate) fn append(&mut self, entries: Vec<Entry>, group: Option<ConsumerGroup>) -> std::ops::Range<u64> {
        let start = self.log.end_offset();
        if !entries.is_empty() && self.replicated.is_none() && self.config.replication == Replication::Held {
            self.replicated = Some(self.state.clone());
        }
        for entry in entries {
            if group.is_none() {
                self.replay(self.log.end_offset(), &entry);
            }
            self.log.append(entry);
        }
        if let Some(group) = group {
            self.state.install(group);
        }
        if self.config.replication == Replication::Immediate {
            self.raise_high_watermark(self.log.end_offset());
        }
        start..self.log.end_offset()
    }

    /// Applies an entry of the coordinator's own making.
    pub(crate) fn replay(&mut self, log_offset: u64, entry: &Entry) {
        let applied = self.state.replay(&self.rules, log_offset, entry);
        debug_assert!(
            applied.is_ok() || self.rules.mutation.is_some(),
            "an entry of its own does not fit: {applied:?}"
        );
    }

    /// Replicates up to the end of what this request wrote, or everything, and gives the answers that this releases, in order.
    /// A ticket that is not waiting any more replicates nothing.
    ///
    /// After [`Coordinator::lose_leadership`] nothing is replicated, and all that waits is answered `NOT_COORDINATOR`
    /// (KAFKA-20634).
    pub fn replicate(&mut self, through: Option<Ticket>) -> Vec<(Ticket, Answer)> {
        if self.activity == Activity::Resigned && !self.rules.slips(Mutation::HighWatermarkAfterLeadership) {
            return self.fail_waiting();
        }
        let to = match through {
            None => self.log.end_offset(),
            Some(ticket) => match self.waiting.iter().find(|waiting| waiting.ticket == ticket) {
                Some(waiting) => waiting.position,
                None => return Vec::new(),
            },
        };
        self.raise_high_watermark(to);
        let mut released = Vec::new();
        while self.waiting.front().is_some_and(|waiting| waiting.position <= self.log.high_watermark()) {
            released.extend(self.waiting.pop_front().map(|waiting| (waiting.ticket, Ok(waiting.response))));
        }
        released
    }

    fn raise_high_watermark(&mut self, to: u64) {
        let from = self.log.high_watermark();
        self.log.advance_high_watermark(to);
        if self.log.high_watermark() > from {
            self.earlier_high_watermark = from;
        }
        if self.log.high_watermark() == self.log.end_offset() {
            self.replicated = None;
        } else if let Some(replicated) = &mut self.replicated {
            for (offset, entry) in self.log.range(&(from..self.log.high_watermark())) {
                let applied = replicated.replay(&self.rules, *offset, entry);
                debug_assert!(applied.is_ok() || self.rules.mutation.is_some(), "what was replayed once does not fit");
            }
        }
    }

    fn fail_waiting(&mut self) -> Vec<(Ticket, Answer)> {
        self.waiting.drain(..).map(|waiting| (waiting.ticket, Err(ErrorCode::NotCoordinator))).collect()
    }

    /// Changes when writes are replicated from now on; turning to [`Replication::Immediate`] replicates nothing by itself.
    pub fn set_replication(&mut self, replication: Replication) {
        self.config.replication = replication;
    }

    /// Another broker leads the log from now on, and this coordinator is not unloaded yet. Requests are refused with
    /// `NOT_COORDINATOR`, until [`Coordinator::fail_over`].
    pub fn lose_leadership(&mut self) {
        self.activity = Activity::Resigned;
    }

    /// Whether the coordinator serves.
    pub fn set_activity(&mut self, activity: Activity) {
        self.activity = activity;
    }

    /// Gives up waiting for a request: `COORDINATOR_NOT_AVAILABLE`, while what it wrote may still be replicated. `None` if it
    /// does not wait.
    pub fn time_out(&mut self, ticket: Ticket) -> Option<Answer> {
        let position = self.waiting.iter().position(|waiting| waiting.ticket == ticket)?;
        self.waiting.remove(position).map(|_| Err(ErrorCode::CoordinatorNotAvailable))
    }

    /// Another coordinator takes over, with these rules: it reads what is left of the log by bytes, and starts its timers anew.
    ///
    /// Gives the requests that were waiting with their answer, `NOT_COORDINATOR`. On an error nothing changes.
    pub fn fail_over(&mut self, rules: Rules, survives: Survives) -> Result<Vec<(Ticket, Answer)>, LoadError> {
        let mut log = self.log.clone();
        if survives == Survives::HighWatermark {
            log.truncate_to(if self.rules.slips(Mutation::HighWatermarkIgnored) {
                self.earlier_high_watermark
            } else {
                log.high_watermark()
            });
        }
        let mut next = Self { rules, ..Self::new(self.rules.clone(), self.config.clone()) };
        next.topics.clone_from(&self.topics);
        next.scripts.clone_from(&self.scripts);
        next.world_version = self.world_version;
        next.now_ms = self.now_ms;
        next.assignor_ahead_ms = self.assignor_ahead_ms;
        next.next_ticket = self.next_ticket;
        next.take_over(&log)?;
        let failed = self.fail_waiting();
        *self = next;
        Ok(failed)
    }

    /// Reads a log: all of it is replicated for this coordinator.
    fn take_over(&mut self, log: &Log) -> Result<(), LoadError> {
        let mut log = log.through_bytes(RecordFormat::WithAssignmentEpochs)?;
        log.advance_high_watermark(log.end_offset());
        let mut reader = self.rules.clone();
        if self.rules.slips(Mutation::LoadIgnoresAssignmentEpochs) {
            reader.record_format = RecordFormat::WithoutAssignmentEpochs;
        }
        let mut state = State::default();
        for (offset, entry) in log.entries() {
            state.replay(&reader, *offset, entry).map_err(|error| LoadError::Replay { offset: *offset, error })?;
        }
        self.state = state;
        self.log = log;
        self.replicated = None;
        if !self.rules.slips(Mutation::TimersNotArmed) {
            self.start_timers();
        }
        Ok(())
    }

    /// 2.9: after a load each member has a full session, and each that revokes a full rebalance timeout.
    fn start_timers(&mut self) {
        let mut timers = Timers::default();
        for (group_id, group) in &self.state.groups {
            for (member_id, member) in &group.members {
                let metadata = member.metadata_or_default();
                let key = |kind| TimerKey { group_id: group_id.clone(), member_id: member_id.clone(), kind };
                let session_ms = session_timeout_ms(self.config.session_timeout_ms, &metadata);
                timers.arm(key(TimerKind::Session), self.now_ms.saturating_add(session_ms), None);
                if let Some(current) = member.current.as_ref().filter(|c| c.state == MemberState::Unrevoked) {
                    let due_ms = self.now_ms.saturating_add(i64::from(metadata.rebalance_timeout_ms));
                    timers.arm(key(TimerKind::Rebalance), due_ms, Some(current.member_epoch));
                }
            }
        }
        self.timers = timers;
    }
}
