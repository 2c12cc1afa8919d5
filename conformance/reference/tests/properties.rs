//! What holds after any sequence of requests, and what a log is worth: S1, S5 and S8 of docs/fencing.md 8, the state as the fold of
//! its records, the same after any legal compaction, and timers in due order.

mod group;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_reference::coordinator::describe::GroupDescription;
use fencepost_reference::coordinator::log::{Entry, Log};
use fencepost_reference::coordinator::reconciliation::MemberState;
use fencepost_reference::coordinator::request::{
    ClassicHeartbeatRequest, CommitPartition, EndTxnRequest, HeartbeatRequest, JoinGroupRequest, LeaveGroupRequest,
    NamedPartition, OffsetCommitRequest, OffsetFetchRequest, SyncGroupRequest, TxnOffsetCommitRequest, TxnOutcome,
};
use fencepost_reference::coordinator::timers::TimerKind;
use fencepost_reference::coordinator::{
    Config, Coordinator, Epoch, ErrorCode, InstanceId, MemberId, ProducerEpoch, ProducerId, Replication, Reply,
    Request, Rules, ScriptedTarget, Survives, TopicName, TopicPartition,
};
use group::{T, U, g};
use proptest::collection::vec;
use proptest::prelude::*;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Step {
    /// A heartbeat of a member that follows the protocol: it knows its epoch and drops what it is asked for.
    Follows(usize, bool),
    /// The same, and it changes what it subscribes to.
    Resubscribes(usize, usize),
    /// A commit by a member that knows its epoch, plain or by a producer.
    Commits(usize, i32, Option<i64>),
    Ends(i64, bool),
    Joins(usize, bool),
    JoinsStatic(usize, usize),
    Raw(Request),
    Target(Vec<(usize, i32)>),
    Fires(TimerKind, usize),
    Advances(i64),
    IntervalElapses,
    Replicates,
    FailsOver(bool),
    Expires,
    TopicGrows,
    TopicIsDeleted,
    RegexResolves,
}

const MEMBERS: [&str; 3] = ["a", "b", "c"];
const INSTANCES: [&str; 2] = ["i", "j"];

fn member_id() -> impl Strategy<Value = MemberId> {
    prop_oneof![8 => (0..3_usize).prop_map(|m| MemberId::from(MEMBERS[m])), 1 => Just(MemberId::from(""))]
}

fn instance() -> impl Strategy<Value = Option<InstanceId>> {
    prop_oneof![3 => Just(None), 1 => (0..2_usize).prop_map(|i| Some(InstanceId::from(INSTANCES[i])))]
}

fn epoch() -> impl Strategy<Value = Epoch> {
    prop_oneof![10 => (-3..12_i32).prop_map(Epoch), 1 => any::<i32>().prop_map(Epoch)]
}

fn partition() -> impl Strategy<Value = TopicPartition> {
    prop_oneof![
        (0..5_i32).prop_map(|partition| TopicPartition { topic_id: T, partition }),
        (0..3_i32).prop_map(|partition| TopicPartition { topic_id: U, partition })
    ]
}

fn topics() -> impl Strategy<Value = BTreeSet<TopicName>> {
    proptest::sample::subsequence(vec!["t", "u", "v"], 0..=3)
        .prop_map(|names| names.into_iter().map(Into::into).collect())
}

fn owned() -> impl Strategy<Value = BTreeSet<TopicPartition>> {
    proptest::collection::btree_set(partition(), 0..4)
}

fn commit_partitions() -> impl Strategy<Value = Vec<CommitPartition>> {
    let one = (0..5_i32, 0..100_i64, -1..9_i32, 0..3_usize).prop_map(|(partition, offset, leader_epoch, kind)| {
        let metadata = (kind == 1).then(|| "note".to_owned()).or((kind == 2 && offset > 30).then(|| "x".repeat(5000)));
        CommitPartition { leader_epoch, metadata, ..CommitPartition::new("t", partition, offset) }
    });
    vec(one, 0..3)
}

fn heartbeat() -> impl Strategy<Value = Request> {
    let optional_topics = proptest::option::of(topics());
    let regex = proptest::option::weighted(0.2, prop_oneof![Just(String::new()), Just("u.*".to_owned())]);
    let assignor = proptest::option::weighted(0.2, prop_oneof![Just("range"), Just("uniform"), Just("none")]);
    (member_id(), epoch(), instance(), optional_topics, regex, assignor, proptest::option::of(owned()), 0..2_i16)
        .prop_map(|(member, member_epoch, instance_id, topics, regex, assignor, owned, api_version)| {
            Request::Heartbeat(HeartbeatRequest {
                api_version,
                new_member_id: Some("n".into()),
                member_id: member,
                member_epoch,
                instance_id,
                subscribed_topic_names: topics,
                subscribed_topic_regex: regex,
                server_assignor: assignor.map(str::to_owned),
                owned,
                rebalance_timeout_ms: if member_epoch == Epoch::JOIN { 300_000 } else { -1 },
                ..HeartbeatRequest::new("g", "", 0)
            })
        })
}

fn request() -> impl Strategy<Value = Request> {
    let commit =
        (member_id(), epoch(), 8..10_i16, commit_partitions()).prop_map(|(member, epoch, version, partitions)| {
            let request = OffsetCommitRequest::new("g", member.as_str(), epoch.0, partitions);
            Request::OffsetCommit(OffsetCommitRequest { api_version: version, ..request })
        });
    let txn = (member_id(), epoch(), 5..7_i16, 0..2_i64, 0..2_i16, commit_partitions()).prop_map(
        |(member, epoch, version, producer, producer_epoch, partitions)| {
            let request = TxnOffsetCommitRequest::new("g", producer, member.as_str(), epoch.0, partitions);
            let producer_epoch = ProducerEpoch(producer_epoch);
            Request::TxnOffsetCommit(TxnOffsetCommitRequest { api_version: version, producer_epoch, ..request })
        },
    );
    let end = (0..2_i64, 0..2_i16, any::<bool>()).prop_map(|(producer, epoch, commits)| {
        Request::EndTxn(EndTxnRequest {
            producer_id: ProducerId(producer),
            producer_epoch: ProducerEpoch(epoch),
            outcome: if commits { TxnOutcome::Commit } else { TxnOutcome::Abort },
        })
    });
    let fetch =
        (member_id(), epoch(), any::<bool>(), any::<bool>()).prop_map(|(member, epoch, all, require_stable)| {
            let partitions = (0..5).map(|partition| NamedPartition::new("t", partition)).collect();
            let request = OffsetFetchRequest::new("g", member.as_str(), epoch.0, partitions);
            let partitions = if all { None } else { request.partitions };
            Request::OffsetFetch(OffsetFetchRequest { partitions, require_stable, ..request })
        });
    let join = (member_id(), instance(), topics(), owned(), any::<bool>()).prop_map(
        |(member, instance_id, topics, owned, has_protocols)| {
            let first = JoinGroupRequest::first("g", "n", &[]);
            let member_id = if has_protocols { member } else { MemberId::from("") };
            let protocols = if has_protocols { first.protocols.clone() } else { Vec::new() };
            Request::JoinGroup(JoinGroupRequest { member_id, instance_id, topics, owned, protocols, ..first })
        },
    );
    let sync = (member_id(), instance(), epoch()).prop_map(|(member_id, instance_id, generation)| {
        Request::SyncGroup(SyncGroupRequest { group_id: g(), member_id, instance_id, generation })
    });
    let beat = (member_id(), instance(), epoch()).prop_map(|(member_id, instance_id, generation)| {
        Request::ClassicHeartbeat(ClassicHeartbeatRequest { group_id: g(), member_id, instance_id, generation })
    });
    let leave = vec((member_id(), instance()), 0..3)
        .prop_map(|members| Request::LeaveGroup(LeaveGroupRequest { group_id: g(), members }));
    prop_oneof![4 => heartbeat(), 3 => commit, 3 => txn, 2 => end, 2 => fetch, 1 => join, 1 => sync, 1 => beat, 1 => leave]
}

/// Each partition goes to one member at most, as from any assignor.
fn target() -> impl Strategy<Value = Vec<(usize, i32)>> {
    vec(0..4_usize, 6).prop_map(|owners| owners.into_iter().zip(0..).filter(|(owner, _)| *owner < 3).collect())
}

fn step() -> impl Strategy<Value = Step> {
    let timer =
        prop_oneof![Just(TimerKind::Session), Just(TimerKind::Rebalance), Just(TimerKind::Join), Just(TimerKind::Sync)];
    prop_oneof![
        12 => (0..3_usize, any::<bool>()).prop_map(|(member, full)| Step::Follows(member, full)),
        5 => (0..3_usize, 0..2_i32, proptest::option::of(0..2_i64))
            .prop_map(|(member, partition, producer)| Step::Commits(member, partition, producer)),
        2 => (0..2_i64, any::<bool>()).prop_map(|(producer, commits)| Step::Ends(producer, commits)),
        3 => (0..3_usize, 0..4_usize).prop_map(|(member, topics)| Step::Resubscribes(member, topics)),
        4 => (0..3_usize, any::<bool>()).prop_map(|(member, both)| Step::Joins(member, both)),
        2 => (0..3_usize, 0..2_usize).prop_map(|(member, instance)| Step::JoinsStatic(member, instance)),
        8 => request().prop_map(Step::Raw),
        5 => target().prop_map(Step::Target),
        2 => (timer, 0..3_usize).prop_map(|(kind, member)| Step::Fires(kind, member)),
        1 => (0..60_000_i64).prop_map(Step::Advances),
        1 => Just(Step::IntervalElapses),
        1 => Just(Step::Replicates),
        1 => any::<bool>().prop_map(Step::FailsOver),
        1 => Just(Step::Expires),
        1 => prop_oneof![Just(Step::TopicGrows), Just(Step::TopicIsDeleted), Just(Step::RegexResolves)],
    ]
}

/// A coordinator, and three members that know what they were told.
struct World {
    coordinator: Coordinator,
    partitions: i32,
}

impl World {
    fn new(rules: Rules, held: bool, delayed: bool) -> Self {
        let config = Config {
            replication: if held { Replication::Held } else { Replication::Immediate },
            assignment_interval_ms: delayed.then_some(1000),
            offsets_retention_ms: 30_000,
            max_group_size: 4,
            ..Config::default()
        };
        let mut coordinator = Coordinator::new(rules, config);
        coordinator.create_topic("t", T, 4);
        coordinator.create_topic("u", U, 2);
        Self { coordinator, partitions: 4 }
    }

    fn member(&self, member: usize) -> Option<fencepost_reference::coordinator::describe::MemberDescription> {
        self.coordinator.describe(&g())?.members.remove(MEMBERS[member])
    }

    /// Takes a step; gives the error if a request was refused.
    fn take(&mut self, step: &Step) -> Option<ErrorCode> {
        match step {
            Step::Follows(member, full) => {
                let known = self.member(*member)?;
                // A member that has nothing to say says nothing, one that was asked for something says what it has left.
                let owned = (*full || known.state == MemberState::Unrevoked)
                    .then(|| known.assigned.keys().copied().collect::<BTreeSet<_>>());
                let request = HeartbeatRequest {
                    owned,
                    instance_id: known.instance_id,
                    ..HeartbeatRequest::new("g", MEMBERS[*member], known.member_epoch.0)
                };
                self.ask(&Request::Heartbeat(request))
            }
            Step::Resubscribes(member, topics) => {
                let known = self.member(*member)?;
                let topics: &[&str] = [&["t"][..], &["u"], &["t", "u"], &[]][*topics];
                let request = HeartbeatRequest {
                    owned: Some(known.assigned.keys().copied().collect()),
                    instance_id: known.instance_id,
                    subscribed_topic_names: Some(topics.iter().map(|&topic| topic.into()).collect()),
                    ..HeartbeatRequest::new("g", MEMBERS[*member], known.member_epoch.0)
                };
                self.ask(&Request::Heartbeat(request))
            }
            Step::Commits(member, partition, producer) => {
                let epoch = self.member(*member)?.member_epoch.0;
                // Offsets of their own, so that it shows which of two commits was kept.
                let offset = i64::try_from(self.coordinator.log().end_offset()).expect("the log is short");
                let partitions = vec![CommitPartition::new("t", *partition, offset)];
                self.ask(&match producer {
                    None => Request::OffsetCommit(OffsetCommitRequest::new("g", MEMBERS[*member], epoch, partitions)),
                    Some(producer) => Request::TxnOffsetCommit(TxnOffsetCommitRequest {
                        producer_epoch: ProducerEpoch(1),
                        ..TxnOffsetCommitRequest::new("g", *producer, MEMBERS[*member], epoch, partitions)
                    }),
                })
            }
            Step::Ends(producer, commits) => self.ask(&Request::EndTxn(EndTxnRequest {
                producer_id: ProducerId(*producer),
                producer_epoch: ProducerEpoch(1),
                outcome: if *commits { TxnOutcome::Commit } else { TxnOutcome::Abort },
            })),
            Step::Joins(member, both) => {
                let topics: &[&str] = if *both { &["t", "u"] } else { &["t"] };
                self.ask(&Request::Heartbeat(HeartbeatRequest::join("g", MEMBERS[*member], topics)))
            }
            Step::JoinsStatic(member, instance) => {
                let join = HeartbeatRequest::join("g", MEMBERS[*member], &["t", "u"]);
                let instance_id = Some(INSTANCES[*instance].into());
                self.ask(&Request::Heartbeat(HeartbeatRequest { instance_id, ..join }))
            }
            Step::Raw(request) => self.ask(request),
            _ => {
                self.turn(step);
                None
            }
        }
    }

    /// Takes a step that is no request.
    fn turn(&mut self, step: &Step) {
        match step {
            Step::Target(owners) => {
                let mut target: BTreeMap<MemberId, Vec<(TopicName, i32)>> = BTreeMap::new();
                for (owner, partition) in owners {
                    let named =
                        if *partition < 4 { ("t".into(), *partition) } else { (TopicName::from("u"), partition - 4) };
                    target.entry(MEMBERS[*owner].into()).or_default().push(named);
                }
                self.coordinator.set_target(&g(), ScriptedTarget::Assign(target));
            }
            Step::Fires(kind, member) => {
                self.coordinator.fire(&g(), *kind, &MEMBERS[*member].into());
            }
            Step::Advances(by_ms) => {
                let to_ms = self.coordinator.now_ms() + by_ms;
                let due: Vec<i64> = self.coordinator.advance(to_ms).iter().map(|fired| fired.at_ms).collect();
                assert!(due.is_sorted() && due.iter().all(|at_ms| *at_ms <= to_ms), "timers out of order: {due:?}");
            }
            Step::IntervalElapses => {
                self.coordinator.assignment_interval_elapsed();
            }
            Step::Replicates => {
                self.coordinator.replicate(None);
            }
            Step::FailsOver(all) => {
                let survives = if *all { Survives::All } else { Survives::HighWatermark };
                self.coordinator.fail_over(self.coordinator.rules().clone(), survives).expect("its own log loads");
            }
            Step::Expires => {
                self.coordinator.expire_offsets();
            }
            Step::TopicGrows => {
                self.partitions += 1;
                self.coordinator.create_topic("t", T, self.partitions);
            }
            Step::TopicIsDeleted => {
                let _ = self.coordinator.delete_topic("u");
                self.coordinator.create_topic("u", U, 2);
            }
            Step::RegexResolves => {
                self.coordinator.resolve_regex(&g(), "u.*", &BTreeSet::from(["u".into()]));
            }
            _ => unreachable!("a request"),
        }
    }

    fn ask(&mut self, request: &Request) -> Option<ErrorCode> {
        match self.coordinator.handle(request).reply {
            Reply::Answered(Err(error)) => Some(error),
            _ => None,
        }
    }
}

/// S1: at most one member has a partition, and not both ways.
fn exclusive(group: &GroupDescription) -> Result<(), TestCaseError> {
    let mut holders: BTreeMap<TopicPartition, &MemberId> = BTreeMap::new();
    for (id, member) in &group.members {
        for partition in member.assigned.keys().chain(member.pending_revocation.keys()) {
            let other = holders.insert(*partition, id);
            prop_assert!(other.is_none(), "{partition:?} is with {other:?} and {id}");
        }
    }
    Ok(())
}

/// S5: assignment epoch of a partition <= member epoch <= assignment epoch <= group epoch, for live members.
fn ordered(group: &GroupDescription) -> Result<(), TestCaseError> {
    prop_assert!(group.assignment_epoch <= group.group_epoch);
    for (id, member) in group.members.iter().filter(|(_, member)| member.member_epoch > Epoch::JOIN) {
        prop_assert!(member.member_epoch <= group.assignment_epoch, "{id} is ahead of the target");
        for epoch in member.assigned.values().chain(member.pending_revocation.values()).flatten() {
            prop_assert!(*epoch <= member.member_epoch, "{id} has a partition from the future");
        }
    }
    Ok(())
}

/// The refusals that fence; `REBALANCE_IN_PROGRESS` is not one.
fn changes_nothing(error: ErrorCode) -> bool {
    error != ErrorCode::RebalanceInProgress
}

fn run(rules: &Rules, held: bool, delayed: bool, steps: &[Step]) -> Result<World, TestCaseError> {
    let mut world = World::new(rules.clone(), held, delayed);
    for step in steps {
        let (before, written) = (world.coordinator.describe(&g()), world.coordinator.log().end_offset());
        let refused = world.take(step);
        let after = world.coordinator.describe(&g());
        if refused.is_some_and(changes_nothing) {
            // S8.
            prop_assert_eq!(written, world.coordinator.log().end_offset(), "refused with {:?} and wrote", refused);
            prop_assert_eq!(&before, &after, "refused with {:?} and changed", refused);
        }
        if let Some(group) = &after {
            exclusive(group)?;
            ordered(group)?;
        }
    }
    Ok(world)
}

/// Whether a coordinator that loads this log keeps what this one keeps.
fn loads_to(coordinator: &Coordinator, log: &Log) -> Result<(), TestCaseError> {
    let loaded = Coordinator::load(coordinator.rules().clone(), Config::default(), log)
        .map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(coordinator.describe(&g()), loaded.describe(&g()));
    prop_assert!(coordinator.has_state_of(&loaded), "the same to see, and not the same");
    Ok(())
}

/// A legal compaction: `drops` says for each entry whether the cleaner would like to drop it.
///
/// A value may go if a later record of its key stands, where a record of a transaction counts only once that is committed; records of
/// aborted transactions may go, those of open ones stay. A tombstone may go if nothing older of its key is left.
fn compacted(log: &Log, drops: &[bool]) -> Log {
    let entries = log.entries();
    let mut outcomes: Vec<Option<TxnOutcome>> = vec![None; entries.len()];
    for (position, (_, entry)) in entries.iter().enumerate() {
        if let Entry::Record { producer: Some(producer), .. } = entry {
            outcomes[position] = entries[position..].iter().find_map(|(_, later)| match later {
                Entry::Marker { producer: ended, outcome } if ended.id == producer.id => Some(*outcome),
                _ => None,
            });
        }
    }
    let keys: Vec<Option<Vec<u8>>> = entries
        .iter()
        .map(|(_, entry)| match entry {
            Entry::Record { record, .. } => Some(record.key_bytes().expect("the key is short")),
            Entry::Marker { .. } => None,
        })
        .collect();
    let stands = |position: usize, entry: &Entry| match entry {
        Entry::Record { producer: None, .. } => true,
        Entry::Record { .. } => outcomes[position] == Some(TxnOutcome::Commit),
        Entry::Marker { .. } => false,
    };
    // Beyond the first open transaction nothing is cleaned.
    let cleanable = entries
        .iter()
        .enumerate()
        .position(|(position, (_, entry))| {
            matches!(entry, Entry::Record { producer: Some(_), .. }) && outcomes[position].is_none()
        })
        .unwrap_or(entries.len());
    let mut last_standing: BTreeMap<&[u8], usize> = BTreeMap::new();
    for (position, (_, entry)) in entries.iter().enumerate().take(cleanable) {
        if let Some(key) = &keys[position]
            && stands(position, entry)
        {
            last_standing.insert(key, position);
        }
    }
    let mut kept: Vec<(u64, Entry)> = Vec::new();
    let mut left: BTreeSet<&[u8]> = BTreeSet::new();
    for (position, (offset, entry)) in entries.iter().enumerate() {
        let wants = drops.get(position % drops.len().max(1)).copied().unwrap_or(false) && position < cleanable;
        let drop = match (entry, &keys[position]) {
            (Entry::Record { record, producer }, Some(key)) => {
                let superseded = last_standing.get(key.as_slice()).is_some_and(|last| *last > position);
                let aborted = producer.is_some() && outcomes[position] == Some(TxnOutcome::Abort);
                let bare_tombstone = record.is_tombstone() && !left.contains(key.as_slice());
                wants && (superseded || aborted || bare_tombstone)
            }
            _ => false,
        };
        if !drop {
            left.extend(keys[position].as_deref());
            kept.push((*offset, entry.clone()));
        }
    }
    Log::from_entries(kept)
}

/// The state is the fold of the log.
fn is_the_fold(rules: &Rules, held: bool, delayed: bool, steps: &[Step]) -> Result<(), TestCaseError> {
    let world = run(rules, held, delayed, steps)?;
    loads_to(&world.coordinator, world.coordinator.log())?;

    // An ordinary fetch reads the fold of what is replicated, which is what a fail-over leaves.
    let everything = Request::OffsetFetch(OffsetFetchRequest::anonymous("g", None));
    let mut here = world.coordinator;
    let replicated = here.handle(&everything).reply;
    here.fail_over(rules.clone(), Survives::HighWatermark).map_err(|error| TestCaseError::fail(error.to_string()))?;
    prop_assert_eq!(replicated, here.handle(&everything).reply);
    Ok(())
}

/// C-REPLAY: compaction changes nothing, nor does compaction of what is left.
fn survives_compaction(rules: &Rules, delayed: bool, steps: &[Step], drops: &[bool]) -> Result<(), TestCaseError> {
    let world = run(rules, false, delayed, steps)?;
    let once = compacted(world.coordinator.log(), drops);
    loads_to(&world.coordinator, &once)?;
    loads_to(&world.coordinator, &compacted(&once, drops.get(7..).unwrap_or(drops)))
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn any_requests_keep_s1_s5_and_s8(
        steps in vec(step(), 1..60),
        held in any::<bool>(),
        delayed in any::<bool>(),
        rules in prop_oneof![
            Just(Rules::kafka_4_2()), Just(Rules::kafka_4_3()), Just(Rules::kafka_4_4()),
            Just(Rules::assignment_epoch_owned()), Just(Rules::revocation_epoch_kept()), Just(Rules::no_fencing()),
        ],
    ) {
        run(&rules, held, delayed, &steps)?;
    }

    #[test]
    fn the_state_is_the_fold_of_the_records(
        steps in vec(step(), 1..60),
        held in any::<bool>(),
        delayed in any::<bool>(),
        rules in prop_oneof![
            Just(Rules::kafka_4_2()), Just(Rules::kafka_4_4()), Just(Rules::assignment_epoch_owned()),
        ],
    ) {
        is_the_fold(&rules, held, delayed, &steps)?;
    }

    #[test]
    fn any_legal_compaction_leaves_the_same_state(
        steps in vec(step(), 1..80),
        delayed in any::<bool>(),
        drops in prop_oneof![1 => Just(vec![true]), 3 => vec(any::<bool>(), 64)],
    ) {
        survives_compaction(&Rules::assignment_epoch_owned(), delayed, &steps, &drops)?;
    }

    #[test]
    fn requests_under_older_rules_do_not_panic(steps in vec(step(), 1..60), held in any::<bool>()) {
        for rules in [Rules::kafka_4_0(), Rules::revocation_epoch_bumped()] {
            let mut world = World::new(rules, held, false);
            for step in steps.iter().filter(|step| !matches!(step, Step::FailsOver(_))) {
                world.take(step);
            }
        }
    }
}

/// Whether a property fails for some of the steps that it is tried with, the same ones each time.
fn is_refuted(property: impl Fn(&[Step], &[bool]) -> Result<(), TestCaseError>) -> bool {
    let rng = proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha);
    let config = ProptestConfig { max_shrink_iters: 0, ..cases(400) };
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(config, rng);
    runner.run(&(vec(step(), 30..80), vec(any::<bool>(), 64)), |(steps, drops)| property(&steps, &drops)).is_err()
}

#[test]
fn the_properties_can_fail() {
    use fencepost_reference::coordinator::Mutation;
    let with = |mutation| Rules::assignment_epoch_owned().with(mutation);
    for mutation in [Mutation::GrantedAtOnce, Mutation::RegrantForgetsOwner] {
        assert!(is_refuted(|steps, _| run(&with(mutation), false, false, steps).map(|_| ())), "S1 misses {mutation}");
    }
    let bumps = with(Mutation::UnrevokedExitBumpsEpoch);
    assert!(is_refuted(|steps, _| run(&bumps, false, true, steps).map(|_| ())), "S5 misses the bump of KAFKA-19974");
    for mutation in [Mutation::OversizedMetadataLeavesPending, Mutation::LoadIgnoresAssignmentEpochs] {
        assert!(is_refuted(|steps, _| is_the_fold(&with(mutation), false, false, steps)), "the fold misses {mutation}");
    }
    for mutation in [Mutation::MarkerWins, Mutation::ReplayRefusesTakeover, Mutation::StaleInstanceMappingKept] {
        let refuted = is_refuted(|steps, drops| survives_compaction(&with(mutation), false, steps, drops));
        assert!(refuted, "C-REPLAY misses {mutation}");
    }
}
