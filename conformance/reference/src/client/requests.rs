//! What a client asks, and what it does about the answers (docs/consumers.md 3 to 5; Kafka's `OffsetFetcher`, `Fetcher`).

use super::fetching::{Fetching, OnFetchReply, consume, on_fetch_reply};
use super::history::divergence;
use super::message::{Answer, EpochQuestion, Fetch, Fetched, FoundOffset, OffsetQuestion, Question, ReadError, Reply};
use super::names::{BrokerId, Correlation, LeaderEpoch, Offset};
use super::reader::{Asked, Client, Exception, Place, Returned};
use super::reset::{ResetStrategy, by_policy};
use super::rules::ResetEpoch;
use super::slip::Slip;
use super::state::{FetchState, Position};
use super::validation::{OnValidationReply, Validating, on_validation_reply};
use crate::storage::epoch_cache::EpochEnd;

impl Client {
    /// Polls until nothing more happens.
    pub(super) fn run(&mut self) -> Option<Returned> {
        if let Some(thrown) = self.update_position() {
            return Some(thrown);
        }
        self.look_up();
        self.validate();
        self.ask_offset();
        self.fetch();
        None
    }

    fn validate(&mut self) {
        let Some(partition) = &self.partition else { return };
        let Some(position) = partition.position else { return };
        let about = partition.walk.unwrap_or(position);
        let can_ask = !self.setup.old_brokers || self.slips(Slip::OldBrokersAsked);
        let waits = partition.waits || !can_ask;
        if partition.state != FetchState::AwaitValidation || waits || self.is_of_another_topic(&position) {
            return;
        }
        let (Some(leader), Some(epoch)) = (about.leader.leader, about.offset_epoch) else { return };
        let question = EpochQuestion { epoch, current_leader_epoch: about.leader.epoch };
        self.ask(leader, Asked::Validation(about), Question::EpochEnd(question));
        self.wait();
    }

    fn ask_offset(&mut self) {
        let Some(partition) = &self.partition else { return };
        let (FetchState::AwaitReset, Some(strategy)) = (partition.state, partition.reset) else { return };
        let known = self.metadata.current_leader();
        let Some(leader) = known.leader else { return };
        if partition.waits {
            return;
        }
        let question = OffsetQuestion { spec: strategy.spec(), current_leader_epoch: known.epoch };
        self.ask(leader, Asked::Offset(strategy), Question::Offset(question));
        self.wait();
    }

    /// One fetch at each broker.
    pub(super) fn fetch(&mut self) {
        let fetches = |state| match state {
            FetchState::Fetching => true,
            FetchState::AwaitValidation => self.slips(Slip::FetchesWhileValidating),
            FetchState::Initializing | FetchState::AwaitReset => false,
        };
        let Some(partition) = self.partition.as_ref().filter(|partition| fetches(partition.state)) else { return };
        let Some(position) = partition.position else { return };
        let Some(leader) = position.leader.leader.filter(|_| position.offset >= Offset(0)) else { return };
        let to = partition.preferred.unwrap_or(leader);
        let is_fetch = |(broker, asked): &(BrokerId, Asked)| *broker == to && matches!(asked, Asked::Records(..));
        if self.outstanding.values().any(is_fetch) {
            return;
        }
        let rules = self.setup.rules;
        let question = Fetch {
            offset: position.offset,
            current_leader_epoch: position.leader.epoch,
            last_epoch: position.offset_epoch.filter(|_| rules.leader_detects()),
            topic: self.metadata.topic().filter(|_| rules.has_topic_id()),
        };
        self.ask(to, Asked::Records(position, partition.preferred.is_some()), Question::Fetch(question));
    }

    /// The application looks a place up (7e), if that is not under way.
    pub(super) fn look_up(&mut self) {
        let Some(place) = self.lookup else { return };
        let in_flight = |(_, asked): &(BrokerId, Asked)| matches!(asked, Asked::Lookup(_));
        let known = self.metadata.current_leader();
        let waits = self.partition.as_ref().is_some_and(|partition| partition.waits)
            && self.fetch_state() != FetchState::AwaitValidation;
        let (Some(leader), Some(epoch)) = (known.leader, place.epoch) else { return };
        if waits || self.outstanding.values().any(in_flight) {
            return;
        }
        let question = EpochQuestion { epoch, current_leader_epoch: known.epoch };
        self.ask(leader, Asked::Lookup(place), Question::EpochEnd(question));
    }

    /// Time passes. What is asked for and not answered is awaited further: that it fails is another event.
    pub(super) fn elapse(&mut self) {
        let Some(partition) = &mut self.partition else { return };
        let about = partition.walk.or(partition.position).map(Asked::Validation);
        let offset = partition.reset.map(Asked::Offset);
        partition.waits = match partition.state {
            FetchState::AwaitValidation => self.outstanding.values().any(|(_, asked)| Some(*asked) == about),
            FetchState::AwaitReset => self.outstanding.values().any(|(_, asked)| Some(*asked) == offset),
            FetchState::Initializing | FetchState::Fetching => false,
        };
    }

    fn wait(&mut self) {
        if let Some(partition) = &mut self.partition {
            partition.waits = true;
        }
    }

    /// A request has failed: a fetch is sent again at once, everything else after a while.
    pub(super) fn on_failure(&mut self, correlation: Correlation) {
        match self.outstanding.remove(&correlation) {
            Some((_, Asked::Validation(_) | Asked::Offset(_) | Asked::Lookup(_))) => self.wait(),
            Some((_, Asked::Records(..))) | None => {}
        }
    }

    /// An answer comes. One that is not awaited any more is dropped.
    pub(super) fn on_reply(&mut self, reply: Reply) -> Option<Returned> {
        let (_, asked) = self.outstanding.remove(&reply.correlation)?;
        match (asked, reply.answer) {
            (Asked::Records(sent, from_follower), Answer::Fetched(fetched)) => {
                self.on_fetched(&sent, from_follower, fetched)
            }
            (Asked::Validation(sent), Answer::EpochEnd(end)) => self.on_validated(&sent, end),
            (Asked::Offset(strategy), Answer::Offset(found)) => {
                self.on_offset(strategy, found);
                None
            }
            (Asked::Lookup(place), Answer::EpochEnd(end)) => self.on_found(place, end),
            // No answer to what was asked.
            _ => {
                self.wait();
                None
            }
        }
    }

    fn on_fetched(
        &mut self,
        sent: &Position,
        from_follower: bool,
        fetched: Result<Fetched, ReadError>,
    ) -> Option<Returned> {
        let partition = self.partition.as_mut()?;
        let fetching = Fetching {
            state: partition.state,
            position: partition.position.as_ref(),
            sent,
            policy: self.setup.policy,
            from_follower,
        };
        match (on_fetch_reply(self.setup.rules, fetching, fetched.as_ref().err().copied()), fetched) {
            (OnFetchReply::HandOut, Ok(fetched)) => return self.hand_out(fetched),
            (OnFetchReply::AskForMetadata | OnFetchReply::LeaveReplica, _) => partition.preferred = None,
            (OnFetchReply::Validate, _) => {
                partition.state = FetchState::AwaitValidation;
                partition.waits = false;
            }
            (OnFetchReply::Reset(strategy), _) => self.give_up_position(strategy),
            (OnFetchReply::ThrowOutOfRange, _) => {
                let offset = partition.position.map_or(sent.offset, |position| position.offset);
                return Some(Returned::Thrown(Exception::OutOfRange(offset)));
            }
            _ => {}
        }
        None
    }

    fn hand_out(&mut self, fetched: Fetched) -> Option<Returned> {
        let (rules, read_committed) = (self.setup.rules, self.setup.read_committed);
        let (has_epochs, keeps_epoch) = (self.has_epochs(), !self.slips(Slip::RecordEpochDropped));
        let partition = self.partition.as_mut()?;
        if fetched.preferred.is_some() {
            partition.preferred = fetched.preferred;
        }
        let position = partition.position.as_mut()?;
        let consumed = consume(rules, position.offset, fetched, read_committed);
        for (epoch, offset) in &consumed.passed {
            let epoch = epoch.filter(|_| has_epochs);
            if let Some(epoch) = epoch {
                partition.history.read(epoch, *offset);
            }
            partition.last_read = epoch;
            position.offset = offset.next();
            position.offset_epoch = epoch.filter(|_| keeps_epoch);
        }
        (!consumed.handed_out.is_empty()).then_some(Returned::Records(consumed.handed_out))
    }

    fn on_validated(&mut self, sent: &Position, end: Result<EpochEnd, ReadError>) -> Option<Returned> {
        let partition = self.partition.as_mut()?;
        let asked = Validating {
            state: partition.state,
            position: partition.walk.as_ref().or(partition.position.as_ref()),
            sent,
            policy: self.setup.policy,
            history: &partition.history,
            nearest: partition.nearest,
            walking: partition.walk.is_some(),
        };
        match on_validation_reply(self.setup.rules, asked, end) {
            OnValidationReply::Ignore => {}
            OnValidationReply::Retry => partition.waits = true,
            OnValidationReply::Fetch => {
                partition.state = FetchState::Fetching;
                partition.waits = false;
                partition.nearest = false;
            }
            OnValidationReply::MoveTo(offset, epoch) => self.move_to(offset, epoch, FetchState::Fetching),
            OnValidationReply::AskAt(offset, epoch) if by_policy(self.setup.policy).is_some() => {
                self.move_to(offset, epoch, FetchState::AwaitValidation);
            }
            OnValidationReply::AskAt(offset, offset_epoch) => {
                partition.walk = Some(Position { offset, offset_epoch, ..*sent });
                partition.waits = false;
            }
            OnValidationReply::Reset(strategy) => self.give_up_position(strategy),
            OnValidationReply::Throw(divergent) => {
                if self.slips(Slip::TruncationToldOnce)
                    && let Some(partition) = &mut self.partition
                {
                    partition.state = FetchState::Fetching;
                }
                let partition = self.partition.as_mut()?;
                partition.walk = None;
                let position = partition.position.map_or(sent.offset, |position| position.offset);
                let offset = match divergent {
                    Some(end) if self.slips(Slip::DivergentOffsetAsPosition) => end.end_offset,
                    _ => position,
                };
                return Some(Returned::Thrown(Exception::LogTruncation { offset, divergent }));
            }
        }
        None
    }

    /// The logs part before the position.
    fn move_to(&mut self, offset: Offset, epoch: Option<LeaderEpoch>, state: FetchState) {
        let Some(partition) = &mut self.partition else { return };
        if let Some(position) = &mut partition.position {
            position.offset = offset;
            position.offset_epoch = epoch;
        }
        partition.history.truncate(offset);
        partition.state = state;
        partition.waits = false;
        partition.nearest = false;
    }

    fn on_offset(&mut self, strategy: ResetStrategy, found: Result<FoundOffset, ReadError>) {
        let Some(partition) = &mut self.partition else { return };
        let awaited = partition.state == FetchState::AwaitReset && partition.reset == Some(strategy);
        match found {
            Err(_) => partition.waits = true,
            Ok(_) if !awaited && !self.slips(Slip::LateOffsetUsed) => {}
            Ok(found) => {
                let leader = self.metadata.current_leader();
                let epoch = found.epoch.filter(|_| self.has_epochs());
                self.metadata.raise_last_seen(self.setup.rules, epoch);
                let taken = epoch.filter(|_| self.setup.rules.reset_epoch == ResetEpoch::Taken);
                self.go_to(found.offset, taken, leader, false);
            }
        }
    }

    fn on_found(&mut self, place: Place, end: Result<EpochEnd, ReadError>) -> Option<Returned> {
        let Ok(end) = end else {
            self.wait();
            return None;
        };
        let history = self.partition.as_ref().map(|partition| &partition.history);
        let remembered = history.filter(|history| self.setup.rules.remembers() && !history.entries().is_empty());
        let (found, before) = match remembered {
            _ if !end.is_defined() => (Offset(0), None),
            Some(history) => {
                let part = divergence(history, place.offset, end);
                let before = history.epoch_before(part.offset).filter(|_| !part.finished);
                (part.offset, before)
            }
            None => (end.end_offset.min(place.offset), None),
        };
        if before.is_some() {
            self.lookup = Some(Place { offset: found, epoch: before });
            return None;
        }
        self.lookup = None;
        Some(Returned::Found(found))
    }
}
