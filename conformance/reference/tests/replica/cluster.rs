//! A few brokers and a controller in one process, and the messages between them, which a test delivers one by one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use fencepost_reference::replica::broker::{Broker, BrokerSetup, Start};
use fencepost_reference::replica::controller::{Controller, ControllerEffects, ControllerInput, ControllerSetup};
use fencepost_reference::replica::effects::{Answer, Effects, Input, TruncatedBelow};
use fencepost_reference::replica::error::ErrorCode;
use fencepost_reference::replica::message::{Content, Message};
use fencepost_reference::replica::metadata::{MetadataRecord, PartitionRecord};
use fencepost_reference::replica::names::{
    BrokerEpoch, BrokerId, LeaderEpoch, Node, Offset, PartitionEpoch, ProduceId,
};
use fencepost_reference::replica::observe::BrokerState;
use fencepost_reference::replica::produce::Acks;
use fencepost_reference::replica::rules::{ReplicationRules, Rules};
use fencepost_reference::storage::memory_fs::MemoryFs;

pub(crate) const A: BrokerId = BrokerId(0);
pub(crate) const B: BrokerId = BrokerId(1);
pub(crate) const C: BrokerId = BrokerId(2);

/// The rules that are right.
pub(crate) const fn oracle() -> Rules {
    ReplicationRules::ProposalKept.rules()
}

pub(crate) const fn offset(offset: i64) -> Offset {
    Offset(offset)
}

pub(crate) const fn epoch(epoch: i32) -> LeaderEpoch {
    LeaderEpoch(epoch)
}

/// A partition's record, as the next that the broker hears.
pub(crate) fn record(leader: Option<BrokerId>, leader_epoch: i32, isr: &[BrokerId]) -> MetadataRecord {
    MetadataRecord::Partition(PartitionRecord {
        leader,
        leader_epoch: LeaderEpoch(leader_epoch),
        isr: isr.to_vec(),
        partition_epoch: None,
        elr: Vec::new(),
        recovering: false,
    })
}

/// The same with its partition epoch.
pub(crate) fn record_at(
    partition_epoch: i32,
    leader: Option<BrokerId>,
    leader_epoch: i32,
    isr: &[BrokerId],
) -> MetadataRecord {
    match record(leader, leader_epoch, isr) {
        MetadataRecord::Partition(partition) => MetadataRecord::Partition(PartitionRecord {
            partition_epoch: Some(PartitionEpoch(partition_epoch)),
            ..partition
        }),
        other @ MetadataRecord::Broker(_) => other,
    }
}

pub(crate) struct Cluster {
    pub(crate) brokers: BTreeMap<BrokerId, Broker>,
    pub(crate) controller: Controller,
    pub(crate) mail: Vec<Message>,
    /// What the clients were told, in order.
    pub(crate) answers: Vec<(u64, Result<i64, ErrorCode>)>,
    pub(crate) truncated_below: Vec<(BrokerId, TruncatedBelow)>,
    next_produce: u64,
}

impl Cluster {
    /// Brokers `A`, `B`, ... that are up, each with these rules.
    pub(crate) fn new(count: i32, min_isr: usize, rules: Rules) -> Self {
        Self::with_setup(count, min_isr, rules, |_| {})
    }

    pub(crate) fn with_setup(count: i32, min_isr: usize, rules: Rules, change: impl Fn(&mut BrokerSetup)) -> Self {
        let replicas: Vec<_> = (0..count).map(BrokerId).collect();
        let start = |id: &BrokerId| {
            let mut setup = BrokerSetup::new(*id, &replicas, min_isr, rules, Path::new("/logs"));
            change(&mut setup);
            let mut broker = Broker::new(setup, Arc::new(MemoryFs::new()));
            broker.start(&Start::default()).expect("a fresh disk");
            (*id, broker)
        };
        let brokers = replicas.iter().map(start).collect();
        let setup = ControllerSetup {
            replicas: replicas.clone(),
            min_isr,
            elr: false,
            unclean_election: false,
            slip: rules.slip,
        };
        Self {
            brokers,
            controller: Controller::new(setup),
            mail: Vec::new(),
            answers: Vec::new(),
            truncated_below: Vec::new(),
            next_produce: 0,
        }
    }

    pub(crate) fn broker(&mut self, id: BrokerId) -> &mut Broker {
        self.brokers.get_mut(&id).expect("a broker")
    }

    /// One input; its messages go to the mail, its answers to the list.
    pub(crate) fn input(&mut self, at: BrokerId, input: Input) -> Effects {
        let effects = self.broker(at).handle(input).expect("handled");
        self.mail.extend(effects.sends.iter().cloned());
        self.mail.extend(effects.completed_fetches.iter().cloned());
        let told = effects.completed_produces.iter().map(|(id, answer)| (id.0, answer.map(|offset| offset.0)));
        self.answers.extend(told);
        self.truncated_below.extend(effects.truncated_below_high_watermark.iter().map(|below| (at, *below)));
        effects
    }

    pub(crate) fn metadata(&mut self, at: BrokerId, records: Vec<MetadataRecord>) -> Effects {
        self.input(at, Input::Metadata(records))
    }

    /// All of them hear of a leader.
    pub(crate) fn lead(&mut self, hearers: &[BrokerId], leader: BrokerId, leader_epoch: i32, isr: &[BrokerId]) {
        for hearer in hearers {
            self.metadata(*hearer, vec![record(Some(leader), leader_epoch, isr)]);
        }
    }

    /// One batch of these values. The number by which its answer is known.
    pub(crate) fn produce(&mut self, at: BrokerId, values: &[&str], acks: Acks) -> u64 {
        let id = self.next_produce;
        self.next_produce += 1;
        let records = values.iter().map(|value| value.as_bytes().to_vec()).collect();
        let effects = self.input(at, Input::Produce { id: ProduceId(id), records, acks });
        match effects.answer {
            Some(Answer::Produced(offset)) => self.answers.push((id, Ok(offset.0))),
            Some(Answer::Refused(error)) => self.answers.push((id, Err(error))),
            _ => {}
        }
        id
    }

    /// The leader alone is waited for, one batch a value.
    pub(crate) fn write(&mut self, at: BrokerId, values: &[&str]) {
        for value in values {
            self.produce(at, &[value], Acks::Leader);
        }
    }

    pub(crate) fn answer(&self, id: u64) -> Option<Result<i64, ErrorCode>> {
        self.answers.iter().find(|(of, _)| *of == id).map(|(_, answer)| *answer)
    }

    /// Delivers the oldest message between two, if there is one. Whether there was.
    pub(crate) fn deliver(&mut self, from: impl Into<Party>, to: impl Into<Party>) -> bool {
        let (from, to) = (from.into().0, to.into().0);
        let found = self.mail.iter().position(|message| message.from == from && message.to == to);
        match found {
            None => false,
            Some(at) => {
                let message = self.mail.remove(at);
                self.deliver_message(message);
                true
            }
        }
    }

    pub(crate) fn deliver_message(&mut self, message: Message) {
        match message.to {
            Node::Broker(to) if self.broker(to).is_up() => {
                self.input(to, Input::Deliver(message));
            }
            Node::Broker(_) => {}
            Node::Controller => {
                self.control(ControllerInput::Deliver(message));
            }
        }
    }

    pub(crate) fn control(&mut self, input: ControllerInput) -> ControllerEffects {
        let effects = self.controller.handle(input);
        self.mail.extend(effects.sends.iter().cloned());
        effects
    }

    /// Request and reply between two.
    pub(crate) fn exchange(&mut self, follower: BrokerId, leader: BrokerId) {
        assert!(self.deliver(follower, leader), "{follower} asks {leader}");
        assert!(self.deliver(leader, follower), "{leader} answers {follower}");
    }

    /// The reply that lies between a leader and its follower, and the follower's next request.
    pub(crate) fn exchange_reply(&mut self, leader: BrokerId, follower: BrokerId) {
        assert!(self.deliver(leader, follower), "{leader} answers {follower}");
        assert!(self.deliver(follower, leader), "{follower} asks {leader} again");
    }

    /// Delivers between these until nothing is left.
    pub(crate) fn settle(&mut self, among: &[BrokerId]) {
        assert!(self.settles_within(among, 1000), "the exchange does not end: {:#?}", self.mail);
    }

    /// Whether nothing is left between these after so many deliveries.
    pub(crate) fn settles_within(&mut self, among: &[BrokerId], limit: usize) -> bool {
        let is_among = |node: Node| matches!(node, Node::Broker(broker) if among.contains(&broker));
        for _ in 0..limit {
            let found = self.mail.iter().position(|message| is_among(message.from) && is_among(message.to));
            let Some(at) = found else { return true };
            let message = self.mail.remove(at);
            self.deliver_message(message);
        }
        false
    }

    /// The followers fetch until they have all, and once more what the high watermark is then: their fetch waits no longer.
    pub(crate) fn replicate(&mut self, leader: BrokerId, followers: &[BrokerId]) {
        let mut all = followers.to_vec();
        all.push(leader);
        self.settle(&all);
        for follower in followers {
            self.refetch(leader, *follower);
        }
        self.settle(&all);
    }

    /// The leader's waiting fetch of this follower runs out, so that it hears of the high watermark.
    pub(crate) fn refetch(&mut self, leader: BrokerId, follower: BrokerId) {
        let last = self.last_fetch(leader, follower);
        if let Some(correlation) = last {
            self.input(leader, Input::ExpireFetch { from: Node::Broker(follower), correlation });
        }
    }

    /// The reply to this follower's waiting fetch when its time is over, with another high watermark in it.
    pub(crate) fn take_parked_reply(&mut self, leader: BrokerId, follower: BrokerId, high_watermark: i64) -> Message {
        self.refetch(leader, follower);
        let mut message = self.take(leader, follower);
        if let Content::FetchReply(Ok(reply)) = &mut message.content {
            reply.high_watermark = Offset(high_watermark);
        }
        message
    }

    fn last_fetch(
        &mut self,
        leader: BrokerId,
        follower: BrokerId,
    ) -> Option<fencepost_reference::replica::names::Correlation> {
        let parked = self.broker(leader).parked_fetches();
        parked.into_iter().rev().find(|(from, _)| *from == Node::Broker(follower)).map(|(_, number)| number)
    }

    pub(crate) fn crash(&mut self, at: BrokerId) {
        self.broker(at).crash().expect("it was up");
        self.mail.retain(|message| message.to != Node::Broker(at));
    }

    pub(crate) fn stop(&mut self, at: BrokerId) {
        self.broker(at).stop().expect("it was up");
        self.mail.retain(|message| message.to != Node::Broker(at));
    }

    pub(crate) fn start(&mut self, at: BrokerId) {
        self.start_with(at, &Start::default());
    }

    pub(crate) fn start_with(&mut self, at: BrokerId, start: &Start) {
        self.broker(at).start(start).expect("its disk is sound");
    }

    pub(crate) fn restart_as(&mut self, at: BrokerId, broker_epoch: i64, keep: Option<i64>) {
        let start = Start { broker_epoch: BrokerEpoch(broker_epoch), keep: keep.map(Offset), epoch_file: None };
        self.start_with(at, &start);
    }

    pub(crate) fn state(&self, at: BrokerId) -> BrokerState {
        self.brokers[&at].observe().expect("readable").expect("it is up")
    }

    /// The log as `value/epoch`.
    pub(crate) fn log(&self, at: BrokerId) -> Vec<String> {
        let text = |record: &fencepost_reference::replica::records::LogRecord| {
            format!("{}/{}", String::from_utf8_lossy(&record.value), record.epoch)
        };
        self.state(at).log.iter().map(text).collect()
    }

    pub(crate) fn high_watermark(&self, at: BrokerId) -> i64 {
        self.state(at).high_watermark.0
    }

    pub(crate) fn end(&self, at: BrokerId) -> i64 {
        self.state(at).log_end.0
    }

    pub(crate) fn epochs(&self, at: BrokerId) -> Vec<(i32, i64)> {
        self.state(at).epochs.iter().map(|entry| (entry.epoch.0, entry.start_offset.0)).collect()
    }

    /// What lies between two, without being delivered.
    pub(crate) fn in_flight(&self, from: impl Into<Party>, to: impl Into<Party>) -> Vec<Content> {
        let (from, to) = (from.into().0, to.into().0);
        let between = self.mail.iter().filter(|message| message.from == from && message.to == to);
        between.map(|message| message.content.clone()).collect()
    }

    /// Takes the oldest message between two out of the mail.
    pub(crate) fn take(&mut self, from: impl Into<Party>, to: impl Into<Party>) -> Message {
        let (from, to) = (from.into().0, to.into().0);
        let found = self.mail.iter().position(|message| message.from == from && message.to == to);
        self.mail.remove(found.expect("a message"))
    }
}

/// A broker or the controller.
pub(crate) struct Party(Node);

impl From<BrokerId> for Party {
    fn from(broker: BrokerId) -> Self {
        Self(Node::Broker(broker))
    }
}

impl From<Node> for Party {
    fn from(node: Node) -> Self {
        Self(node)
    }
}
