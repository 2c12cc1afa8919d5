//! A client with one partition, and its application (docs/consumers.md 1 to 5).
//!
//! ```text
//!  Input ──▶ Client ──▶ Effects: requests, and what the application's poll returns
//! ```
//!
//! One input is one step: an answer is handled in it, and whatever the client asks next goes out in it, unless the poll ends
//! by throwing.

use std::collections::BTreeMap;

use super::history::History;
use super::message::{Reply, Request};
use super::metadata::{Heard, Metadata};
use super::names::{BrokerId, Correlation, LeaderEpoch, Offset, TopicId};
use super::record::Record;
use super::reset::ResetStrategy;
use super::rules::{EpochMemory, ResetPolicy, Rules};
use super::slip::Slip;
use super::state::{FetchState, Position};
use crate::storage::epoch_cache::{EpochEnd, EpochEntry};

/// How a client is set up.
#[derive(Debug, Clone, Copy)]
pub struct ClientSetup {
    /// Its rules.
    pub rules: Rules,
    /// `auto.offset.reset`.
    pub policy: ResetPolicy,
    /// Whether `isolation.level` is `read_committed`.
    pub read_committed: bool,
    /// Whether the brokers are so old that they cannot be asked for epochs, and that those of metadata cannot be relied on.
    pub old_brokers: bool,
}

/// An offset, and the epoch of the record before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The offset.
    pub offset: Offset,
    /// The epoch, if it is known.
    pub epoch: Option<LeaderEpoch>,
}

/// What comes to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The partition is assigned.
    Assign {
        /// What the group has committed.
        committed: Option<Place>,
        /// What the application has kept of the epochs that it read.
        history: Vec<EpochEntry>,
    },
    /// The application seeks.
    Seek(Place),
    /// It seeks to an edge of the log.
    SeekTo(ResetStrategy),
    /// It seeks to the nearest place (7g).
    SeekToNearest(Place),
    /// It looks up where a place is now (7e).
    FindOffset(Place),
    /// It polls.
    Poll,
    /// Metadata come.
    Metadata {
        /// The leader.
        leader: Option<BrokerId>,
        /// Its epoch, if that is told.
        epoch: Option<LeaderEpoch>,
        /// The topic.
        topic: TopicId,
    },
    /// An answer comes.
    Deliver(Reply),
    /// A request has failed.
    Fail(Correlation),
    /// What the client waits for runs out.
    Elapse,
    /// A new process.
    Restart,
}

/// What a poll throws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exception {
    /// `LogTruncationException`.
    LogTruncation {
        /// The position.
        offset: Offset,
        /// What the leader answered, where that says where the logs part.
        divergent: Option<EpochEnd>,
    },
    /// `OffsetOutOfRangeException`, at this position.
    OutOfRange(Offset),
    /// `NoOffsetForPartitionException`.
    NoOffset,
}

/// What the application is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Returned {
    /// Records; at least one.
    Records(Vec<Record>),
    /// An exception.
    Thrown(Exception),
    /// The offset that it looked up.
    Found(Offset),
}

/// What comes of an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    /// Requests.
    pub requests: Vec<Request>,
    /// What the application is given.
    pub returned: Option<Returned>,
}

/// A request that is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Records, at this position; and whether of a preferred replica.
    Records(Position, bool),
    /// Whether this position stands.
    Validation(Position),
    /// An offset.
    Offset(ResetStrategy),
    /// Where a place is now.
    Lookup(Place),
}

/// The partition.
#[derive(Debug, Clone)]
pub(super) struct Partition {
    pub(super) state: FetchState,
    pub(super) position: Option<Position>,

    pub(super) reset: Option<ResetStrategy>,
    /// Whether nothing is asked until time has passed: the answer is awaited, or was an error.
    pub(super) waits: bool,
    /// The place before its position that it asks about, to tell where the logs part (7c).
    pub(super) walk: Option<Position>,
    pub(super) preferred: Option<BrokerId>,
    /// Whether the application wants the nearest place (7g).
    pub(super) nearest: bool,
    pub(super) history: History,
    /// The epoch of the last record that was read.
    pub(super) last_read: Option<LeaderEpoch>,
}

/// A client. See the module.
#[derive(Debug)]
pub struct Client {
    pub(super) setup: ClientSetup,
    pub(super) metadata: Metadata,
    pub(super) partition: Option<Partition>,
    pub(super) outstanding: BTreeMap<Correlation, (BrokerId, Asked)>,
    pub(super) lookup: Option<Place>,
    next_correlation: Correlation,
    pub(super) requests: Vec<Request>,
}

impl Client {
    /// A client without a partition.
    #[must_use]
    pub fn new(setup: ClientSetup) -> Self {
        Self {
            setup,
            metadata: Metadata::default(),
            partition: None,
            outstanding: BTreeMap::new(),
            lookup: None,
            next_correlation: Correlation(0),
            requests: Vec::new(),
        }
    }

    /// Handles one input.
    pub fn handle(&mut self, input: Input) -> Effects {
        let polls =
            matches!(input, Input::Poll | Input::Metadata { .. } | Input::Deliver(_) | Input::Fail(_) | Input::Elapse);
        let looks_up = matches!(input, Input::FindOffset(_));
        let returned = self.take_in(input);
        let ends = matches!(returned, Some(Returned::Thrown(_) | Returned::Found(_)));
        let returned = match returned {
            returned if polls && !ends => returned.or(self.run()),
            returned => returned,
        };
        if polls && matches!(returned, Some(Returned::Records(_))) {
            // The next ones are under way when the application has these.
            self.fetch();
        }
        if looks_up {
            self.look_up();
        }
        Effects { requests: std::mem::take(&mut self.requests), returned }
    }

    fn take_in(&mut self, input: Input) -> Option<Returned> {
        match input {
            Input::Assign { committed, history } => self.assign(committed, history),
            Input::Seek(place) => self.seek(place, false),
            Input::SeekToNearest(place) => self.seek(place, true),
            Input::SeekTo(strategy) => self.give_up_position(strategy),
            Input::FindOffset(place) => self.lookup = Some(place),
            Input::Poll => {}
            Input::Metadata { leader, epoch, topic } => self.hear(leader, epoch, topic),
            Input::Deliver(reply) => return self.on_reply(reply),
            Input::Fail(correlation) => self.on_failure(correlation),
            Input::Elapse => self.elapse(),
            Input::Restart => {
                *self = Self { next_correlation: self.next_correlation, ..Self::new(self.setup) };
            }
        }
        None
    }

    pub(super) fn slips(&self, slip: Slip) -> bool {
        self.setup.rules.slips(slip)
    }

    fn assign(&mut self, committed: Option<Place>, history: Vec<EpochEntry>) {
        let kept = self.setup.rules.memory == EpochMemory::Kept;
        self.partition = Some(Partition {
            state: FetchState::Initializing,
            position: None,
            reset: None,
            waits: false,
            walk: None,
            preferred: None,
            nearest: false,
            history: History::from_entries(history.into_iter().filter(|_| kept)),
            last_read: None,
        });
        if let Some(place) = committed {
            self.go_on_at(place);
        }
    }

    fn hear(&mut self, leader: Option<BrokerId>, epoch: Option<LeaderEpoch>, topic: TopicId) {
        let relied_on = !self.setup.old_brokers || self.slips(Slip::UnreliableEpochUsed);
        let epoch = epoch.filter(|_| relied_on && self.has_epochs());
        self.metadata.hear(self.setup.rules, Heard { leader, epoch, topic });
    }

    /// Sends a question, and remembers what it was.
    pub(super) fn ask(&mut self, to: BrokerId, asked: Asked, question: super::message::Question) {
        let correlation = self.next_correlation;
        self.next_correlation = Correlation(correlation.0.wrapping_add(1));
        self.outstanding.insert(correlation, (to, asked));
        self.requests.push(Request { to, correlation, question });
    }

    /// What the client does about its partition.
    #[must_use]
    pub fn fetch_state(&self) -> FetchState {
        self.partition.as_ref().map_or(FetchState::Initializing, |partition| partition.state)
    }

    /// Where it stands.
    #[must_use]
    pub fn position(&self) -> Option<Position> {
        let partition = self.partition.as_ref()?;
        partition.position.filter(|_| partition.state.has_position())
    }

    /// What it tells its application: nothing while that is not confirmed.
    #[must_use]
    pub fn confirmed_offset(&self) -> Option<Offset> {
        self.position().filter(|_| self.fetch_state() == FetchState::Fetching).map(|position| position.offset)
    }

    /// What it would commit.
    #[must_use]
    pub fn committed(&self) -> Option<Place> {
        let position = self.position()?;
        let epoch = position.offset_epoch.filter(|_| !self.slips(Slip::CommitsWithoutEpoch));
        Some(Place { offset: position.offset, epoch })
    }

    /// The epochs that it has read, where it remembers them.
    #[must_use]
    pub fn history(&self) -> Option<&History> {
        self.partition.as_ref().map(|partition| &partition.history).filter(|_| self.setup.rules.remembers())
    }

    /// All that it waits for fails, and it does not poll.
    pub fn lose_requests(&mut self) {
        let lost: Vec<_> = self.outstanding().collect();
        for correlation in lost {
            self.on_failure(correlation);
        }
    }

    /// The requests that it waits for.
    pub fn outstanding(&self) -> impl Iterator<Item = Correlation> + '_ {
        self.outstanding.keys().copied()
    }
}
