//! The variables of `KafkaReplication`, packed into 24 bytes: four replicas, four slots, four records and four epochs at
//! most.
//!
//! A set of requests needs no more room than a list: each epoch is given out once, with one request, and no request is
//! ever taken back. So the set is the request of each epoch below the next one.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Serialize};

/// The most replicas, slots of a log, records and epochs that a state has room for.
pub const ROOM: u8 = 4;

/// A replica, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Id(pub u8);

/// A set of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ids(pub(super) u8);

impl Ids {
    /// No replica.
    pub const EMPTY: Self = Self(0);

    /// The first `count` replicas.
    #[must_use]
    pub const fn first(count: u8) -> Self {
        Self((1 << count) - 1)
    }
    /// Whether the replica is in the set.
    #[must_use]
    pub const fn contains(self, id: Id) -> bool {
        self.0 & (1 << id.0) != 0
    }
    /// The set and the replica.
    #[must_use]
    pub const fn with(self, id: Id) -> Self {
        Self(self.0 | 1 << id.0)
    }
    /// The set without the replica.
    #[must_use]
    pub const fn without(self, id: Id) -> Self {
        Self(self.0 & !(1 << id.0))
    }
    /// Both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// The replicas, in ascending order.
    pub fn iter(self) -> impl Iterator<Item = Id> {
        (0..8).map(Id).filter(move |id| self.contains(*id))
    }
}

/// A record: which one, and the epoch of the leader that wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// The record's id.
    pub id: u8,
    /// The leader's epoch.
    pub epoch: u8,
}

/// A field of a word: where it begins, and how many bits it has.
type Field = (u32, u32);

const fn get(word: u32, (shift, width): Field) -> u8 {
    ((word >> shift) & ((1 << width) - 1)).to_le_bytes()[0]
}

const fn set(word: u32, (shift, width): Field, value: u8) -> u32 {
    let mask = (1 << width) - 1;
    word & !(mask << shift) | (value as u32 & mask) << shift
}

/// What may be absent (`Nil`, `None`) is stored as one more than it is, and 0 where it is absent.
const fn some(stored: u8) -> Option<u8> {
    stored.checked_sub(1)
}

const fn stored(value: Option<u8>) -> u8 {
    match value {
        Some(value) => value + 1,
        None => 0,
    }
}

/// What a replica has (`replicaLog`) and what it believes (`replicaState`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica(u32);

impl Replica {
    // The four slots come first, four bits each.
    const END: Field = (16, 3);
    const HIGH_WATERMARK: Field = (19, 3);
    const EPOCH: Field = (22, 3);
    const LEADER: Field = (25, 3);
    const ISR: Field = (28, 4);

    const fn slot(offset: u8) -> Field {
        (4 * (offset % ROOM) as u32, 4)
    }
    /// The end of the log.
    #[must_use]
    pub const fn end(self) -> u8 {
        get(self.0, Self::END)
    }
    /// The record at an offset, if the log reaches so far.
    #[must_use]
    pub const fn record(self, offset: u8) -> Option<Record> {
        let slot = get(self.0, Self::slot(offset));
        if offset < self.end() { Some(Record { id: slot >> 2, epoch: slot & 3 }) } else { None }
    }
    /// The last record.
    #[must_use]
    pub const fn last(self) -> Option<Record> {
        match self.end().checked_sub(1) {
            Some(offset) => self.record(offset),
            None => None,
        }
    }
    /// One record more.
    #[must_use]
    pub const fn appended(self, record: Record) -> Self {
        let word = set(self.0, Self::slot(self.end()), record.id << 2 | record.epoch);
        Self(set(word, Self::END, self.end() + 1))
    }
    /// The records below `end`. What is cut off leaves no trace, or equal logs would differ.
    #[must_use]
    pub const fn truncated(self, end: u8) -> Self {
        let kept = (1 << (4 * end as u32)) - 1;
        Self(set(self.0 & (kept | !0xffff), Self::END, end))
    }
    /// Its high watermark.
    #[must_use]
    pub const fn high_watermark(self) -> u8 {
        get(self.0, Self::HIGH_WATERMARK)
    }
    /// With another high watermark.
    #[must_use]
    pub const fn with_high_watermark(self, high_watermark: u8) -> Self {
        Self(set(self.0, Self::HIGH_WATERMARK, high_watermark))
    }
    /// The epoch that it knows.
    #[must_use]
    pub const fn epoch(self) -> Option<u8> {
        some(get(self.0, Self::EPOCH))
    }
    /// The leader that it knows.
    #[must_use]
    pub fn leader(self) -> Option<Id> {
        some(get(self.0, Self::LEADER)).map(Id)
    }
    /// The ISR that it knows.
    #[must_use]
    pub const fn isr(self) -> Ids {
        Ids(get(self.0, Self::ISR))
    }
    /// With another ISR.
    #[must_use]
    pub const fn with_isr(self, isr: Ids) -> Self {
        Self(set(self.0, Self::ISR, isr.0))
    }
    /// It believes a request.
    #[must_use]
    pub fn believing(self, request: Request) -> Self {
        let word = set(self.0, Self::EPOCH, stored(Some(request.epoch)));
        let word = set(word, Self::LEADER, stored(request.leader.map(|id| id.0)));
        Self(word).with_isr(request.isr)
    }
    /// Whether slots beyond the log's end are empty.
    #[must_use]
    pub const fn is_clean(self) -> bool {
        self.end() <= ROOM && self.truncated(self.end()).0 == self.0
    }
}

/// A leader and an ISR, as the quorum has them or a request carries them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Packed(u8);

impl Packed {
    fn new(leader: Option<Id>, isr: Ids) -> Self {
        Self(stored(leader.map(|id| id.0)) << 4 | isr.0)
    }
    fn leader(self) -> Option<Id> {
        some(self.0 >> 4).map(Id)
    }
    const fn isr(self) -> Ids {
        Ids(self.0 & 0xf)
    }
}

/// A `LeaderAndIsr` request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The epoch.
    pub epoch: u8,
    /// The leader.
    pub leader: Option<Id>,
    /// The ISR.
    pub isr: Ids,
}

/// A state of `KafkaReplication`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    replicas: [Replica; ROOM as usize],
    requests: [Packed; ROOM as usize],
    quorum: Packed,
    /// The quorum's epoch, if it had one; stored as one more.
    quorum_epoch: u8,
    /// The next record's id.
    pub next_record: u8,
    /// The next epoch.
    pub next_epoch: u8,
}

impl Hash for State {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let [first, second, third, fourth] = self.replicas.map(|replica| u64::from(replica.0));
        hasher.write_u64(first | second << 32);
        hasher.write_u64(third | fourth << 32);
        let requests = u32::from_le_bytes(self.requests.map(|request| request.0));
        let rest = u32::from_le_bytes([self.quorum.0, self.quorum_epoch, self.next_record, self.next_epoch]);
        hasher.write_u64(u64::from(requests) | u64::from(rest) << 32);
    }
}

impl State {
    /// `Init`: empty logs, no leader, all replicas in the ISR.
    #[must_use]
    pub fn initial(replicas: u8) -> Self {
        Self {
            replicas: [Replica::default(); ROOM as usize],
            requests: [Packed::default(); ROOM as usize],
            quorum: Packed::new(None, Ids::first(replicas)),
            quorum_epoch: 0,
            next_record: 0,
            next_epoch: 0,
        }
    }
    /// A replica.
    #[must_use]
    pub const fn replica(&self, id: Id) -> Replica {
        self.replicas[(id.0 % ROOM) as usize]
    }
    /// With a replica as it is now.
    #[must_use]
    pub const fn with_replica(mut self, id: Id, replica: Replica) -> Self {
        self.replicas[(id.0 % ROOM) as usize] = replica;
        self
    }
    /// The leader that the quorum knows.
    #[must_use]
    pub fn quorum_leader(&self) -> Option<Id> {
        self.quorum.leader()
    }
    /// The ISR that the quorum knows.
    #[must_use]
    pub const fn quorum_isr(&self) -> Ids {
        self.quorum.isr()
    }
    /// The epoch that the quorum knows.
    #[must_use]
    pub const fn quorum_epoch(&self) -> Option<u8> {
        some(self.quorum_epoch)
    }
    /// With another ISR in the quorum.
    #[must_use]
    pub fn with_quorum_isr(mut self, isr: Ids) -> Self {
        self.quorum = Packed::new(self.quorum.leader(), isr);
        self
    }
    /// The request of an epoch, if there was one.
    #[must_use]
    pub fn request(&self, epoch: u8) -> Option<Request> {
        let packed = self.requests.get(usize::from(epoch)).filter(|_| epoch < self.next_epoch)?;
        Some(Request { epoch, leader: packed.leader(), isr: packed.isr() })
    }
    /// All requests so far.
    pub fn requests(&self) -> impl Iterator<Item = Request> + '_ {
        (0..self.next_epoch).filter_map(|epoch| self.request(epoch))
    }
    /// The quorum decides: a new epoch, with this leader and this ISR.
    #[must_use]
    pub fn decided(mut self, leader: Option<Id>, isr: Ids) -> Self {
        self.quorum = Packed::new(leader, isr);
        if let Some(request) = self.requests.get_mut(usize::from(self.next_epoch)) {
            *request = self.quorum;
        }
        self.next_epoch += 1;
        self.quorum_epoch = self.next_epoch;
        self
    }
}
