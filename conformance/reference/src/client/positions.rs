//! How a client's position changes: by the application, by the group, by a new leader, by a reset (docs/consumers.md 2, 5;
//! Kafka's `SubscriptionState#seekUnvalidated`, `#maybeValidatePositionForCurrentLeader`, `#requestOffsetReset`).

use super::names::{LeaderEpoch, Offset};
use super::reader::{Client, Exception, Place, Returned};
use super::reset::{ResetStrategy, by_policy};
use super::rules::Detection;
use super::slip::Slip;
use super::state::{FetchState, LeaderAndEpoch, Position};
use super::validation::{OnLeader, on_leader};

impl Client {
    /// Whether requests and positions have epochs at all.
    pub(super) fn has_epochs(&self) -> bool {
        self.setup.rules.detection != Detection::None
    }

    /// The application seeks. Nobody is asked who led before the epoch of the seek.
    pub(super) fn seek(&mut self, place: Place, nearest: bool) {
        let epoch = place.epoch.filter(|_| self.has_epochs());
        self.metadata.raise_last_seen(self.setup.rules, epoch);
        let leader = self.metadata.current_leader();
        let epoch = epoch.or(self.epoch_of_sought(place.offset));
        let validates = !self.slips(Slip::SeekNotValidated);
        self.go_to(place.offset, epoch, leader, validates);
        if let Some(partition) = &mut self.partition {
            partition.nearest = nearest;
        }
    }

    /// The epoch before an offset to which an application seeks without one: what is remembered, or what the leader is told
    /// (7a to 7d).
    fn epoch_of_sought(&self, offset: Offset) -> Option<LeaderEpoch> {
        let partition = self.partition.as_ref()?;
        match self.setup.rules.detection {
            Detection::Leader | Detection::Validation if self.setup.rules.remembers() => {
                partition.history.epoch_before(offset)
            }
            Detection::Leader => partition.last_read,
            Detection::None | Detection::Validation | Detection::LeaderNotAfterSeek => None,
        }
    }

    /// The client stands here, and asks whether that stands if it can.
    pub(super) fn go_to(
        &mut self,
        offset: Offset,
        epoch: Option<LeaderEpoch>,
        leader: LeaderAndEpoch,
        validates: bool,
    ) {
        let rules = self.setup.rules;
        let topic = self.metadata.topic();
        let Some(partition) = &mut self.partition else { return };
        let position = Position { offset, offset_epoch: epoch, leader, topic };
        let asks = validates && rules.detection == Detection::Validation && position.can_be_validated();
        partition.position = Some(position);
        partition.state = if asks { FetchState::AwaitValidation } else { FetchState::Fetching };
        partition.reset = None;
        partition.waits = false;
        partition.walk = None;
        partition.nearest = false;
    }

    /// The client has no position until it has been told this offset.
    pub(super) fn give_up_position(&mut self, strategy: ResetStrategy) {
        let keeps = self.slips(Slip::ResetKeepsPosition);
        let Some(partition) = &mut self.partition else { return };
        partition.state = FetchState::AwaitReset;
        partition.reset = Some(strategy);
        partition.waits = false;
        partition.walk = None;
        partition.nearest = false;
        let leader = self.metadata.current_leader();
        let none = Position { offset: Offset(-1), offset_epoch: None, leader, topic: None };
        partition.position = keeps.then_some(none);
    }

    /// The client goes on where its group has committed.
    pub(super) fn go_on_at(&mut self, place: Place) {
        let epoch = place.epoch.filter(|_| self.has_epochs());
        self.metadata.raise_last_seen(self.setup.rules, epoch);
        let validates = !self.slips(Slip::CommittedNotValidated);
        self.go_to(place.offset, epoch, self.metadata.current_leader(), validates);
    }

    /// What a poll does first: a position if there is none, and the leader as it is known now.
    pub(super) fn update_position(&mut self) -> Option<Returned> {
        let partition = self.partition.as_mut()?;
        if partition.state == FetchState::Initializing {
            match by_policy(self.setup.policy) {
                Some(strategy) => self.give_up_position(strategy),
                None => return Some(Returned::Thrown(Exception::NoOffset)),
            }
        }
        self.follow_topic().or_else(|| {
            self.follow_leader();
            None
        })
    }

    /// A topic that was created anew has none of what was read (8).
    fn follow_topic(&mut self) -> Option<Returned> {
        let known = self.metadata.topic()?;
        let has_topic = self.setup.rules.position_has_topic();
        let partition = self.partition.as_mut().filter(|partition| has_topic && partition.state.has_position())?;
        let position = partition.position.as_mut()?;
        match position.topic {
            None => position.topic = Some(known),
            Some(topic) if topic == known => {}
            Some(_) => match by_policy(self.setup.policy) {
                Some(strategy) => self.give_up_position(strategy),
                None if partition.state == FetchState::AwaitValidation && partition.waits => {}
                None => {
                    let offset = position.offset;
                    position.leader = self.metadata.current_leader();
                    partition.state = FetchState::AwaitValidation;
                    partition.waits = true;
                    return Some(Returned::Thrown(Exception::LogTruncation { offset, divergent: None }));
                }
            },
        }
        None
    }

    /// Whether the position is of an earlier topic, so that nothing can be asked about it.
    pub(super) fn is_of_another_topic(&self, position: &Position) -> bool {
        let other = position.topic.is_some() && position.topic != self.metadata.topic();
        other && self.setup.rules.position_has_topic()
    }

    /// A leader that the client has not known makes it ask.
    fn follow_leader(&mut self) {
        let (rules, leader) = (self.setup.rules, self.metadata.current_leader());
        let can_ask = !self.setup.old_brokers;
        let keeps_preferred = self.slips(Slip::PreferredReplicaKept);
        let Some(partition) = &mut self.partition else { return };
        let Some(position) = &mut partition.position else { return };
        let next = match on_leader(rules, partition.state, Some(position), can_ask, leader) {
            OnLeader::Ignore => return,
            OnLeader::Fetch => FetchState::Fetching,
            OnLeader::Validate => FetchState::AwaitValidation,
        };
        if position.leader != leader {
            position.leader = leader;
            partition.preferred = partition.preferred.filter(|_| keeps_preferred);
        }
        partition.state = next;
        partition.walk = None;
        partition.waits = false;
    }
}
