//! The words in which reports and `show` tell a replication trace. Two parts that differ never read alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::replication::functions::Remote;
use fencepost_fixtures::replication::messages::PartitionState;
use fencepost_fixtures::replication::observed::TruncatedBelow;
use fencepost_fixtures::replication::{
    Acks, Answer, BrokerChange, BrokerState, Call, Completion, Content, ControllerState, EpochEnd, EpochStart, Fetch,
    FetchReply, Given, LogRecord, Message, OffsetSpec, Operation, Outcome, PartitionChange, Record, Role, Setup, State,
};

fn list<T: Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}

fn set(brokers: &BTreeSet<BrokerName>) -> String {
    format!("{{{}}}", list(brokers))
}

fn map<T: Display>(brokers: &BTreeMap<BrokerName, T>) -> String {
    format!("{{{}}}", list(brokers.iter().map(|(broker, value)| format!("{broker}: {value}"))))
}

fn word<T: serde::Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default().replace('"', "").replace('_', " ")
}

fn option<T: Display>(prefix: &str, value: Option<T>) -> String {
    value.map(|value| format!("{prefix}{value}")).unwrap_or_default()
}

fn nobody(leader: Option<&BrokerName>) -> String {
    // A name has no parentheses.
    leader.map_or_else(|| "(nobody)".to_owned(), ToString::to_string)
}

/// A log, as `0:r0/e1 1:r1/e1`.
fn log(records: &[LogRecord]) -> String {
    if records.is_empty() {
        return "empty".to_owned();
    }
    let records = records.iter().map(|LogRecord(offset, epoch, id)| format!("{offset}:{id}/e{epoch}"));
    records.collect::<Vec<_>>().join(" ")
}

fn epochs(epochs: &[EpochStart]) -> String {
    format!("{{{}}}", list(epochs.iter().map(|EpochStart(epoch, start)| format!("e{epoch} from {start}"))))
}

fn end(EpochEnd { epoch, end_offset }: EpochEnd) -> String {
    format!("epoch {epoch} ends at {end_offset}")
}

fn record(record: &Record) -> String {
    match record {
        Record::Partition(change) => partition_change(change),
        Record::Broker(BrokerChange { broker, broker_epoch, fenced, shutting_down }) => {
            let state = match (fenced, shutting_down) {
                (false, false) => "alive",
                (true, false) => "fenced",
                (false, true) => "shutting down",
                (true, true) => "fenced and shutting down",
            };
            format!("broker {broker} of broker epoch {broker_epoch} is {state}")
        }
    }
}

fn partition_change(change: &PartitionChange) -> String {
    let PartitionChange { leader, leader_epoch, isr, partition_epoch, elr, recovering } = change;
    let leader = nobody(leader.as_ref());
    let elr = if elr.is_empty() { String::new() } else { format!(", ELR {}", set(elr)) };
    let recovering = if *recovering { ", recovering" } else { "" };
    let epoch = option(", partition epoch ", *partition_epoch);
    format!("{leader} leads epoch {leader_epoch}, ISR {}{elr}{recovering}{epoch}", set(isr))
}

fn records(records: &[Record]) -> String {
    if records.is_empty() {
        return "nothing".to_owned();
    }
    records.iter().map(record).collect::<Vec<_>>().join("; then ")
}

fn known(epoch: Option<i32>) -> String {
    option(", knowing leader epoch ", epoch)
}

fn spec(spec: OffsetSpec) -> String {
    match spec {
        OffsetSpec::Earliest => "earliest".to_owned(),
        OffsetSpec::Latest => "latest".to_owned(),
        OffsetSpec::Timestamp(timestamp) => format!("the first from timestamp {timestamp} on"),
    }
}

/// An operation.
#[must_use]
pub fn operation(operation: &Operation) -> String {
    match operation {
        Operation::Metadata(applied) => format!("applies {}", records(applied)),
        Operation::Produce(produce) => {
            let acks = match produce.acks {
                Acks::All => "all",
                Acks::Leader => "leader",
                Acks::None => "none",
            };
            format!("produce {} of {}, acks {acks}", produce.id, list(&produce.records))
        }
        Operation::Consume(consume) => {
            let follower = if consume.from_follower { ", also from a follower" } else { "" };
            format!("a client's fetch at {}{}{follower}", consume.offset, known(consume.current_leader_epoch))
        }
        Operation::ListOffsets(asked) => {
            let by = option(" of replica ", asked.replica.as_ref());
            format!("ListOffsets{by}: {}{}", spec(asked.timestamp), known(asked.current_leader_epoch))
        }
        Operation::OffsetForLeaderEpoch(asked) => {
            format!("OffsetForLeaderEpoch: epoch {}{}", asked.epoch, known(asked.current_leader_epoch))
        }
        Operation::Poll(_) => "the fetcher goes on".to_owned(),
        Operation::Deliver(name) => format!("{name} arrives"),
        Operation::Fail(name) => format!("gives up {name}"),
        Operation::Expire(name) => format!("{name} has waited long enough"),
        Operation::ShrinkIsr(_) => "looks for members of the ISR that lag, after the lag time".to_owned(),
        Operation::Checkpoint(_) => "writes its high watermark to the checkpoint".to_owned(),
        Operation::DeleteRecords(start) => format!("deletes the records below {start}"),
        Operation::Stop(_) => "shuts down in good order".to_owned(),
        Operation::Crash(_) => "dies".to_owned(),
        Operation::Start(start) => {
            let epoch = option(", broker epoch ", start.broker_epoch);
            let keep = option(", of its log what is below ", start.keep);
            let file = option(", leader-epoch-checkpoint ", start.epoch_checkpoint.as_ref().map(word));
            let rules = option(", by the rules of ", start.rules.as_ref());
            format!("comes up{epoch}{keep}{file}{rules}")
        }
        Operation::AlterLogDirs(_) => "begins to move its replica to another log directory".to_owned(),
        Operation::Copy(_) => "its future replica goes on".to_owned(),
        Operation::DiskOffline(_) => "the future replica's disk goes offline".to_owned(),
        Operation::DiskOnline(_) => "the future replica's disk comes back".to_owned(),
        Operation::Elect(election) => {
            format!("elects: {}{}", word(&election.kind), option(" ", election.leader.as_ref()))
        }
        Operation::Fence(broker) => format!("no longer hears from {broker}"),
        Operation::Unfence(broker) => format!("hears from {broker} again"),
        Operation::ShutDown(broker) => format!("{broker} asks for its controlled shutdown"),
        Operation::Register(registers) => {
            let unclean = if registers.unclean { ", after an unclean shutdown" } else { "" };
            format!("{} registers with broker epoch {}{unclean}", registers.broker, registers.broker_epoch)
        }
    }
}

/// A setup operation.
#[must_use]
pub fn setup(setup: &Setup) -> String {
    match setup {
        Setup::Do { at, operation: done } => format!("at {}: {}", list(at), operation(done)),
        Setup::Replicate(replicate) => {
            format!("{} fetch from {} until nothing is left", list(&replicate.to), replicate.from)
        }
    }
}

/// An answer.
#[must_use]
pub fn answer(answer: &Answer) -> String {
    let Answer { offset, epoch, end_offset, records: read, high_watermark, appended, truncated_below_high_watermark } =
        answer;
    let below = truncated_below_high_watermark.as_deref().map(|cuts| {
        let cuts = cuts.iter().map(|TruncatedBelow { to, high_watermark }| format!("to {to} below {high_watermark}"));
        list(cuts)
    });
    let parts = [
        offset.map(|offset| format!("offset {offset}")),
        epoch.map(|epoch| format!("epoch {epoch}")),
        end_offset.map(|end| format!("end offset {end}")),
        read.as_deref().map(|read| format!("records {}", log(read))),
        high_watermark.map(|high_watermark| format!("high watermark {high_watermark}")),
        appended.as_deref().map(|appended| format!("appends {}", records(appended))),
        below.map(|below| format!("truncated below the high watermark: {below}")),
    ];
    list(parts.into_iter().flatten())
}

fn error(error: KafkaError) -> String {
    format!("error {error}")
}

fn fetch_reply(reply: &FetchReply) -> String {
    match reply {
        FetchReply::Records { records, high_watermark, log_start } => {
            let start = if *log_start == 0 { String::new() } else { format!(", log start {log_start}") };
            format!("records {}, high watermark {high_watermark}{start}", log(records))
        }
        FetchReply::Diverging { diverging, high_watermark } => {
            format!("diverges: {}, high watermark {high_watermark}", end(*diverging))
        }
        FetchReply::Error(refused) => error(*refused),
    }
}

fn partition_state(state: &PartitionState) -> String {
    let PartitionState { leader, leader_epoch, isr, partition_epoch } = state;
    let leader = nobody(leader.as_ref());
    format!("{leader} leads epoch {leader_epoch}, ISR {}, partition epoch {partition_epoch}", set(isr))
}

/// A message.
#[must_use]
pub fn message(message: &Message) -> String {
    let to = &message.to;
    let content = match &message.content {
        Content::Fetch(Fetch { offset, last_fetched_epoch, current_leader_epoch, broker_epoch }) => {
            let process = if *broker_epoch == 1 { String::new() } else { format!(", broker epoch {broker_epoch}") };
            format!("fetch at {offset}, last epoch {last_fetched_epoch}, leader epoch {current_leader_epoch}{process}")
        }
        Content::FetchReply(reply) => format!("fetch reply: {}", fetch_reply(reply)),
        Content::OffsetForLeaderEpoch(asked) => {
            format!("OffsetForLeaderEpoch: epoch {}, leader epoch {}", asked.epoch, asked.current_leader_epoch)
        }
        Content::OffsetForLeaderEpochReply(Ok(reply)) => {
            let epoch = reply.epoch.map_or_else(|| "(untold)".to_owned(), |epoch| epoch.to_string());
            format!("OffsetForLeaderEpoch reply: epoch {epoch} ends at {}", reply.end_offset)
        }
        Content::OffsetForLeaderEpochReply(Err(refused)) => format!("OffsetForLeaderEpoch reply: {}", error(*refused)),
        Content::ListOffsets(asked) => {
            format!("ListOffsets: {}, leader epoch {}", spec(asked.timestamp), asked.current_leader_epoch)
        }
        Content::ListOffsetsReply(Ok(offset)) => format!("ListOffsets reply: {offset}"),
        Content::ListOffsetsReply(Err(refused)) => format!("ListOffsets reply: {}", error(*refused)),
        Content::AlterPartition(proposal) => format!(
            "AlterPartition: ISR {}, leader epoch {}, partition epoch {}, broker epoch {}",
            map(&proposal.isr),
            proposal.leader_epoch,
            proposal.partition_epoch,
            proposal.broker_epoch
        ),
        Content::AlterPartitionReply(Ok(state)) => format!("AlterPartition reply: {}", partition_state(state)),
        Content::AlterPartitionReply(Err(refused)) => format!("AlterPartition reply: {}", error(*refused)),
    };
    format!("to {to}: {content}")
}

/// A completion.
#[must_use]
pub fn completion(completion: &Completion) -> String {
    match completion {
        Completion::Acknowledged { offset } => format!("acknowledged at {offset}"),
        Completion::Refused { error: refused } => error(*refused),
        Completion::Fetched { to, reply } => format!("to {to}: fetch reply: {}", fetch_reply(reply)),
    }
}

/// A replica.
#[must_use]
pub fn replica(state: &BrokerState) -> String {
    let role = match state.role {
        Role::Leader => "leads",
        Role::Follower => "follows",
        Role::None => "has no role,",
    };
    let parts = [
        Some(format!("{role} epoch {}", state.leader_epoch)),
        state.partition_epoch.map(|epoch| format!("partition epoch {epoch}")),
        Some(format!("log {}", log(&state.log))),
        state.log_start.map(|start| format!("log start {start}")),
        state.log_end.map(|end| format!("log end {end}")),
        Some(format!("high watermark {}", state.high_watermark)),
        state.isr.as_ref().map(|isr| format!("ISR {}", set(isr))),
        state.pending_isr.as_ref().map(|isr| format!("proposed ISR {}", set(isr))),
        state.remote.as_ref().map(|remote| format!("remote ends {}", map(remote))),
        state.epochs.as_deref().map(|cache| format!("epochs {}", epochs(cache))),
        state.failed.map(|failed| if failed { "fetcher failed" } else { "fetcher not failed" }.to_owned()),
        state
            .future
            .as_ref()
            .map(|future| format!("future replica {}, its high watermark {}", log(&future.log), future.high_watermark)),
    ];
    list(parts.into_iter().flatten())
}

/// The controller.
#[must_use]
pub fn controller(state: &ControllerState) -> String {
    let ControllerState { leader, leader_epoch, partition_epoch, isr, elr, recovering } = state;
    partition_change(&PartitionChange {
        leader: leader.clone(),
        leader_epoch: *leader_epoch,
        isr: isr.clone(),
        partition_epoch: Some(*partition_epoch),
        elr: elr.clone(),
        recovering: *recovering,
    })
}

/// The places of a state, a line each.
#[must_use]
pub fn state(state: &State) -> Vec<String> {
    let brokers = state.brokers.iter().map(|(broker, state)| match state {
        Some(state) => format!("{broker} {}", replica(state)),
        None => format!("{broker} is down"),
    });
    brokers.chain(state.controller.iter().map(|state| format!("controller: {}", controller(state)))).collect()
}

fn remote(remote: &Remote) -> String {
    let caught_up = if remote.caught_up { "caught up" } else { "lagging" };
    let eligible = if remote.eligible { "eligible" } else { "not eligible" };
    let pending = if remote.pending { ", proposed" } else { "" };
    format!("{} ({caught_up}, {eligible}{pending})", remote.end)
}

/// What a function call rests on, a line each.
#[must_use]
pub fn given(given: &Given) -> Vec<String> {
    let parts = [
        given.role.map(|role| format!("role {}", word(&role))),
        given.leader_epoch.map(|epoch| format!("leader epoch {epoch}")),
        given.partition_epoch.map(|epoch| format!("partition epoch {epoch}")),
        given.leader_epoch_start.map(|start| format!("the leader epoch started at {start}")),
        given.epochs.as_deref().map(|cache| format!("epochs {}", epochs(cache))),
        given.log_start.map(|start| format!("log start {start}")),
        given.log_end.map(|end| format!("log end {end}")),
        given.high_watermark.map(|high_watermark| format!("high watermark {high_watermark}")),
        given.min_isr.map(|min| format!("min.insync.replicas {min}")),
        given.isr.as_ref().map(|isr| format!("ISR {}", set(isr))),
        given.remote.as_ref().map(|known| {
            let known = known.iter().map(|(broker, known)| format!("{broker} at {}", remote(known)));
            format!("remote replicas {}", list(known))
        }),
        given.replicas.as_ref().map(|replicas| format!("replicas {}", list(replicas))),
        given.partition.as_ref().map(|partition| format!("partition: {}", controller(partition))),
        given.brokers.as_ref().map(|brokers| {
            let brokers = brokers.iter().map(|(broker, known)| {
                record(&Record::Broker(BrokerChange {
                    broker: broker.clone(),
                    broker_epoch: known.broker_epoch,
                    fenced: known.fenced,
                    shutting_down: known.shutting_down,
                }))
            });
            brokers.collect::<Vec<_>>().join("; ")
        }),
    ];
    parts.into_iter().flatten().collect()
}

/// A function call.
#[must_use]
pub fn call(call: &Call) -> String {
    match call {
        Call::EndOffsetForEpoch { epoch } => format!("where does epoch {epoch} end?"),
        Call::AssignEpoch { epoch, offset } => format!("epoch {epoch} starts at {offset}"),
        Call::TruncateEpochsFromEnd { offset } => format!("the log is cut at {offset}"),
        Call::TruncateEpochsFromStart { offset } => format!("the log starts at {offset} from now on"),
        Call::TruncationTarget { fetch_offset, epoch, end_offset } => {
            let epoch = epoch.map_or_else(|| "(untold)".to_owned(), |epoch| epoch.to_string());
            format!("at {fetch_offset}, the leader says that epoch {epoch} ends at {end_offset}: truncate where?")
        }
        Call::CheckLeaderEpoch { current_leader_epoch, leader_required } => {
            let who = if *leader_required { "the leader" } else { "any replica" };
            format!("may a request of leader epoch {current_leader_epoch} to {who} proceed?")
        }
        Call::CheckDivergence { fetch_offset, last_fetched_epoch } => {
            format!("does a follower at {fetch_offset}, last epoch {last_fetched_epoch}, diverge?")
        }
        Call::LeaderHighWatermark {} => "what is the leader's high watermark?".to_owned(),
        Call::FollowerHighWatermark { leader } => {
            format!("the leader's high watermark is {leader}: what is the follower's?")
        }
        Call::MayJoinIsr { broker } => format!("is {broker} proposed for the ISR?"),
        Call::Lagging {} => "which members of the ISR lag?".to_owned(),
        Call::OnAlterPartitionReply { error: refused, leader_epoch, partition_epoch } => {
            let refused = option("error ", *refused);
            let epochs = option("leader epoch ", *leader_epoch) + &option(", partition epoch ", *partition_epoch);
            format!("the answer to AlterPartition is {refused}{epochs}: what now?")
        }
        Call::AlterPartition { from, broker_epoch, leader_epoch, partition_epoch, isr, recovering } => {
            let recovering = if *recovering { ", recovering" } else { "" };
            format!(
                "AlterPartition of {from}, broker epoch {broker_epoch}, leader epoch {leader_epoch}, partition epoch \
                 {partition_epoch}, ISR {}{recovering}",
                map(isr)
            )
        }
        Call::Elect { kind } => format!("elect: {}", word(kind)),
        Call::OffsetForLeaderEpochVersion { inter_broker_protocol } => {
            format!("which version of OffsetsForLeaderEpoch with inter-broker protocol {inter_broker_protocol}?")
        }
    }
}

/// What a decision was.
#[must_use]
pub fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::EpochEnd(found) => end(*found),
        Outcome::Epochs(cache) => format!("epochs {}", epochs(cache)),
        Outcome::Truncation(truncation) => {
            let then = if truncation.finished { "then fetch" } else { "then ask again" };
            format!("truncate to {}, {then}", truncation.offset)
        }
        Outcome::Allowed(true) => "yes".to_owned(),
        Outcome::Allowed(false) => "no".to_owned(),
        Outcome::Offset(offset) => format!("offset {offset}"),
        Outcome::Brokers(brokers) => format!("brokers {}", set(brokers)),
        Outcome::Reaction(reaction) => word(reaction),
        Outcome::Partition(state) => partition_state(state),
        Outcome::Version(version) => format!("version {version}"),
    }
}
