//! One group `g` on topics `t` and `u`, in the short words of the tests.
//!
//! Epochs are written as if the first member of a new group got 1, whatever the rules say.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part")]
#![allow(clippy::missing_panics_doc, clippy::type_complexity, reason = "a test that panics is a test that fails")]

use std::collections::{BTreeMap, BTreeSet};

use fencepost_reference::coordinator::describe::{GroupDescription, MemberDescription};
use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::records::{Record, Uuid};
use fencepost_reference::coordinator::request::{
    ClassicHeartbeatRequest, CommitPartition, EndTxnRequest, FetchedOffset, HeartbeatRequest, HeartbeatResponse,
    JoinGroupRequest, LeaveGroupRequest, NamedPartition, OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest,
    TxnOffsetCommitRequest, TxnOutcome,
};
use fencepost_reference::coordinator::timers::{Fired, TimerEffect, TimerKind};
use fencepost_reference::coordinator::{
    Answer, Config, Coordinator, Epoch, ErrorCode, GroupId, MemberId, Reply, Request, Response, Rules, ScriptedTarget,
    Survives, TopicPartition,
};

pub const T: Uuid = Uuid([1; 16]);
pub const U: Uuid = Uuid([2; 16]);

pub struct Group {
    pub coordinator: Coordinator,
}

/// `t-1`: partition 1 of topic t.
pub fn named(text: &str) -> NamedPartition {
    let (topic, partition) = text.rsplit_once('-').expect("topic-partition");
    NamedPartition::new(topic, partition.parse().expect("a number"))
}

pub fn tp(text: &str) -> TopicPartition {
    let NamedPartition { topic, partition } = named(text);
    TopicPartition { topic_id: if topic.as_str() == "t" { T } else { U }, partition }
}

pub fn set(partitions: &[&str]) -> BTreeSet<TopicPartition> {
    partitions.iter().map(|text| tp(text)).collect()
}

pub fn g() -> GroupId {
    GroupId::from("g")
}

impl Group {
    /// An empty group; `t` has four partitions, `u` two.
    pub fn new(rules: Rules) -> Self {
        Self::configured(rules, Config::default())
    }

    pub fn configured(rules: Rules, config: Config) -> Self {
        let mut coordinator = Coordinator::new(rules, config);
        coordinator.create_topic("t", T, 4);
        coordinator.create_topic("u", U, 2);
        Self { coordinator }
    }

    /// a has `t-0` and `t-1` at epoch 2, b has nothing at epoch 2; both are stable.
    pub fn two(rules: Rules) -> Self {
        Self::two_configured(rules, Config::default())
    }

    pub fn two_configured(rules: Rules, config: Config) -> Self {
        let mut group = Self::configured(rules, config);
        group.target(&[("a", &["t-0", "t-1"]), ("b", &[])]);
        assert_eq!(group.join("b", &["t"]), Ok(1));
        group.coordinator.assignment_interval_elapsed();
        assert_eq!(group.join("a", &["t"]), Ok(2));
        assert_eq!(group.beat("b", 1), Ok((2, None)));
        group
    }

    pub fn shift(&self) -> i32 {
        self.coordinator.rules().first_group_epoch.0
    }

    fn on_the_wire(&self, epoch: i32) -> i32 {
        if epoch > 0 { epoch + self.shift() } else { epoch }
    }

    pub fn as_written(&self, epoch: Epoch) -> i32 {
        if epoch.0 > 0 { epoch.0 - self.shift() } else { epoch.0 }
    }

    pub fn answer(&mut self, request: &Request) -> Answer {
        match self.coordinator.handle(request).reply {
            Reply::Answered(answer) => answer,
            Reply::Waits(_) => panic!("not replicated at once"),
        }
    }

    pub fn target(&mut self, target: &[(&str, &[&str])]) {
        let target = target
            .iter()
            .map(|(member, partitions)| {
                let partitions = partitions.iter().map(|p| named(p)).map(|p| (p.topic, p.partition)).collect();
                (MemberId::from(*member), partitions)
            })
            .collect();
        self.coordinator.set_target(&g(), ScriptedTarget::Assign(target));
    }

    pub fn heartbeat(&mut self, request: HeartbeatRequest) -> Result<HeartbeatResponse, ErrorCode> {
        let epoch = self.on_the_wire(request.member_epoch.0);
        let request = HeartbeatRequest { member_epoch: Epoch(epoch), ..request };
        self.answer(&Request::Heartbeat(request)).map(|response| match response {
            Response::Heartbeat(response) => response,
            other => panic!("not the answer to a heartbeat: {other:?}"),
        })
    }

    /// The epoch that a join is answered.
    pub fn join(&mut self, member: &str, topics: &[&str]) -> Result<i32, ErrorCode> {
        let response = self.heartbeat(HeartbeatRequest::join("g", member, topics))?;
        Ok(self.as_written(response.member_epoch))
    }

    pub fn join_static(&mut self, member: &str, instance: &str, topics: &[&str]) -> Result<i32, ErrorCode> {
        let join = HeartbeatRequest::join("g", member, topics);
        let response = self.heartbeat(HeartbeatRequest { instance_id: Some(instance.into()), ..join })?;
        Ok(self.as_written(response.member_epoch))
    }

    fn told(&self, response: HeartbeatResponse) -> (i32, Option<BTreeSet<TopicPartition>>) {
        (self.as_written(response.member_epoch), response.assignment)
    }

    /// A short heartbeat: the epoch it is answered, and the assignment if one came.
    pub fn beat(&mut self, member: &str, epoch: i32) -> Result<(i32, Option<BTreeSet<TopicPartition>>), ErrorCode> {
        let response = self.heartbeat(HeartbeatRequest::new("g", member, epoch))?;
        Ok(self.told(response))
    }

    /// A heartbeat that reports what the member owns.
    pub fn owning(
        &mut self,
        member: &str,
        epoch: i32,
        owned: &[&str],
    ) -> Result<(i32, Option<BTreeSet<TopicPartition>>), ErrorCode> {
        let request = HeartbeatRequest { owned: Some(set(owned)), ..HeartbeatRequest::new("g", member, epoch) };
        let response = self.heartbeat(request)?;
        Ok(self.told(response))
    }

    /// A heartbeat that changes the subscription.
    pub fn subscribing(
        &mut self,
        member: &str,
        epoch: i32,
        topics: &[&str],
        owned: &[&str],
    ) -> Result<(i32, Option<BTreeSet<TopicPartition>>), ErrorCode> {
        let request = HeartbeatRequest {
            subscribed_topic_names: Some(topics.iter().map(|&topic| topic.into()).collect()),
            owned: Some(set(owned)),
            ..HeartbeatRequest::new("g", member, epoch)
        };
        let response = self.heartbeat(request)?;
        Ok(self.told(response))
    }

    pub fn leave(&mut self, member: &str) -> Result<(), ErrorCode> {
        self.heartbeat(HeartbeatRequest::new("g", member, -1)).map(|_| ())
    }

    pub fn leave_static(&mut self, member: &str, instance: &str, epoch: i32) -> Result<(), ErrorCode> {
        let request = HeartbeatRequest::new("g", member, epoch);
        self.heartbeat(HeartbeatRequest { instance_id: Some(instance.into()), ..request }).map(|_| ())
    }

    fn partitions(offsets: &[(&str, i64)]) -> Vec<CommitPartition> {
        offsets
            .iter()
            .map(|(partition, offset)| {
                let partition = named(partition);
                CommitPartition::new(partition.topic.as_str(), partition.partition, *offset)
            })
            .collect()
    }

    fn committed(answer: Answer) -> Result<Vec<ErrorCode>, ErrorCode> {
        answer.map(|response| match response {
            Response::Commit(response) => response.partitions.into_iter().map(|(_, _, error)| error).collect(),
            other => panic!("not the answer to a commit: {other:?}"),
        })
    }

    pub fn commit_request(&mut self, request: OffsetCommitRequest) -> Result<Vec<ErrorCode>, ErrorCode> {
        let epoch = self.on_the_wire(request.member_epoch.0);
        Self::committed(
            self.answer(&Request::OffsetCommit(OffsetCommitRequest { member_epoch: Epoch(epoch), ..request })),
        )
    }

    /// A plain commit: `Ok` if every partition was stored.
    pub fn commit(&mut self, member: &str, epoch: i32, offsets: &[(&str, i64)]) -> Result<(), ErrorCode> {
        let errors = self.commit_request(OffsetCommitRequest::new("g", member, epoch, Self::partitions(offsets)))?;
        errors.into_iter().find(|error| *error != ErrorCode::None).map_or(Ok(()), Err)
    }

    pub fn txn_request(&mut self, request: TxnOffsetCommitRequest) -> Result<Vec<ErrorCode>, ErrorCode> {
        let epoch = self.on_the_wire(request.member_epoch.0);
        let request = TxnOffsetCommitRequest { member_epoch: Epoch(epoch), ..request };
        Self::committed(self.answer(&Request::TxnOffsetCommit(request)))
    }

    /// A transactional commit of version 6.
    pub fn txn_commit(
        &mut self,
        producer: i64,
        member: &str,
        epoch: i32,
        offsets: &[(&str, i64)],
    ) -> Result<(), ErrorCode> {
        let request = TxnOffsetCommitRequest::new("g", producer, member, epoch, Self::partitions(offsets));
        let errors = self.txn_request(request)?;
        errors.into_iter().find(|error| *error != ErrorCode::None).map_or(Ok(()), Err)
    }

    pub fn end_txn(&mut self, producer: i64, outcome: TxnOutcome) -> Result<(), ErrorCode> {
        self.answer(&Request::EndTxn(EndTxnRequest::new(producer, outcome))).map(|_| ())
    }

    pub fn fetch_request(&mut self, request: OffsetFetchRequest) -> Result<Vec<FetchedOffset>, ErrorCode> {
        let epoch = self.on_the_wire(request.member_epoch.0);
        let request = OffsetFetchRequest { member_epoch: Epoch(epoch), ..request };
        self.answer(&Request::OffsetFetch(request)).map(|response| match response {
            Response::Fetch(response) => response.partitions,
            other => panic!("not the answer to a fetch: {other:?}"),
        })
    }

    /// A stable fetch of one partition by a member; -1 for no offset.
    pub fn fetch(&mut self, member: &str, epoch: i32, partition: &str) -> Result<i64, ErrorCode> {
        let fetched =
            self.fetch_request(OffsetFetchRequest::new("g", member, epoch, vec![named(partition)]))?.remove(0);
        if fetched.error == ErrorCode::None { Ok(fetched.offset) } else { Err(fetched.error) }
    }

    /// What is committed for a partition, -1 for nothing.
    pub fn stored(&self, partition: &str) -> i64 {
        self.describe().and_then(|d| d.offsets.get(&named(partition)).map(|o| o.offset)).unwrap_or(-1)
    }

    pub fn join_classic(&mut self, member: &str, topics: &[&str]) -> Result<i32, ErrorCode> {
        self.classic_join(JoinGroupRequest::first("g", member, topics))
    }

    pub fn rejoin_classic(&mut self, member: &str, topics: &[&str], owned: &[&str]) -> Result<i32, ErrorCode> {
        self.classic_join(JoinGroupRequest::again("g", member, topics, set(owned)))
    }

    pub fn classic_join(&mut self, request: JoinGroupRequest) -> Result<i32, ErrorCode> {
        match self.answer(&Request::JoinGroup(request))? {
            Response::JoinGroup(response) => Ok(self.as_written(response.generation)),
            other => panic!("not the answer to a join: {other:?}"),
        }
    }

    pub fn sync(&mut self, member: &str, generation: i32) -> Result<BTreeSet<TopicPartition>, ErrorCode> {
        let generation = Epoch(self.on_the_wire(generation));
        let request = SyncGroupRequest { group_id: g(), member_id: member.into(), instance_id: None, generation };
        self.answer(&Request::SyncGroup(request)).map(|response| match response {
            Response::SyncGroup(assigned) => assigned,
            other => panic!("not the answer to a sync: {other:?}"),
        })
    }

    pub fn beat_classic(&mut self, member: &str, generation: i32) -> Result<(), ErrorCode> {
        let generation = Epoch(self.on_the_wire(generation));
        let request =
            ClassicHeartbeatRequest { group_id: g(), member_id: member.into(), instance_id: None, generation };
        self.answer(&Request::ClassicHeartbeat(request)).map(|_| ())
    }

    pub fn leave_group(&mut self, member: &str) -> Result<Vec<ErrorCode>, ErrorCode> {
        let request = LeaveGroupRequest { group_id: g(), members: vec![(member.into(), None)] };
        self.answer(&Request::LeaveGroup(request)).map(|response| match response {
            Response::LeaveGroup(errors) => errors,
            other => panic!("not the answer to a leave: {other:?}"),
        })
    }

    pub fn fire(&mut self, kind: TimerKind, member: &str) -> Option<TimerEffect> {
        self.coordinator.fire(&g(), kind, &member.into()).map(|fired: Fired| fired.effect)
    }

    pub fn fail_over(&mut self) {
        let rules = self.coordinator.rules().clone();
        self.fail_over_to(rules);
    }

    pub fn fail_over_to(&mut self, rules: Rules) {
        self.coordinator.fail_over(rules, Survives::HighWatermark).expect("the log loads");
    }

    pub fn describe(&self) -> Option<GroupDescription> {
        self.coordinator.describe(&g())
    }

    pub fn group_epoch(&self) -> i32 {
        self.describe().map_or(0, |d| self.as_written(d.group_epoch))
    }

    pub fn assignment_epoch(&self) -> i32 {
        self.describe().map_or(0, |d| self.as_written(d.assignment_epoch))
    }

    pub fn has_member(&self, member: &str) -> bool {
        self.describe().is_some_and(|d| d.members.contains_key(member))
    }

    pub fn member(&self, member: &str) -> MemberDescription {
        self.describe().and_then(|mut d| d.members.remove(member)).expect("the member is in the group")
    }

    pub fn epoch(&self, member: &str) -> i32 {
        self.as_written(self.member(member).member_epoch)
    }

    pub fn state(&self, member: &str) -> MemberState {
        self.member(member).state
    }

    fn shown(&self, partitions: &BTreeMap<TopicPartition, Option<Epoch>>) -> BTreeMap<TopicPartition, i32> {
        partitions.iter().map(|(&p, epoch)| (p, epoch.map_or(0, |epoch| self.as_written(epoch)))).collect()
    }

    /// Assigned partitions with assignment epochs.
    pub fn assigned(&self, member: &str) -> BTreeMap<TopicPartition, i32> {
        self.shown(&self.member(member).assigned)
    }

    /// Partitions pending revocation with assignment epochs.
    pub fn pending(&self, member: &str) -> BTreeMap<TopicPartition, i32> {
        self.shown(&self.member(member).pending_revocation)
    }

    /// The records in the log, in order.
    pub fn records(&self) -> Vec<Record> {
        self.coordinator
            .log()
            .entries()
            .iter()
            .filter_map(|(_, entry)| match entry {
                fencepost_reference::coordinator::log::Entry::Record { record, .. } => Some(record.clone()),
                fencepost_reference::coordinator::log::Entry::Marker { .. } => None,
            })
            .collect()
    }

    /// Whether some partition is with two members.
    pub fn shares_a_partition(&self) -> bool {
        let mut seen = BTreeSet::new();
        self.describe().is_some_and(|description| {
            description
                .members
                .values()
                .flat_map(|m| m.assigned.keys().chain(m.pending_revocation.keys()))
                .any(|p| !seen.insert(*p))
        })
    }
}

/// Partitions with their epochs.
pub fn at(partitions: &[(&str, i32)]) -> BTreeMap<TopicPartition, i32> {
    partitions.iter().map(|(text, epoch)| (tp(text), *epoch)).collect()
}
