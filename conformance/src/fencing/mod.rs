//! Fencing as the replayer needs it: which feature an operation asks for, and how two states differ.

pub mod phrases;

use std::collections::{BTreeMap, BTreeSet};

use fencepost_fixtures::fencing::{
    Answer, Call, Completion, Configure, Fencing, Given, Heartbeat, MemberState, Operation, Outcome, Replication,
    State, Timer,
};
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::names::{Epoch, MemberName, TopicPartition};
use fencepost_fixtures::trace::{Behaviour, Function, Never};

use crate::replayable::{Difference, Replayable};
use crate::target::{Feature, Unseen};

/// Partitions with their assignment epochs.
type Partitions = BTreeMap<TopicPartition, Epoch>;

impl Replayable for Fencing {
    fn shift(behaviour: &Behaviour<Self>, by: i32) -> Behaviour<Self> {
        behaviour.shifted(by)
    }

    fn configure_lacks(configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let needs = [
            (configure.assignment_interval_ms.is_some(), Feature::AssignmentInterval),
            (configure.max_size.is_some(), Feature::MaxSize),
            (configure.replication == Some(Replication::Held), Feature::LaggingHighWatermark),
        ];
        first_lacking(&needs, has)
    }

    fn setup_lacks(operation: &Operation, configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        Self::operation_lacks(operation, configure, has)
    }

    fn operation_lacks(operation: &Operation, configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let needs: &[(bool, Feature)] = match operation {
            Operation::Target(_) => &[(true, Feature::Targets)],
            Operation::Topics(_) => &[(true, Feature::TopicsChange)],
            Operation::Heartbeat(heartbeat) => &[
                (heartbeat.instance.is_some(), Feature::StaticMembers),
                (is_invalid_heartbeat(heartbeat), Feature::RequestValidation),
            ],
            Operation::Leave(leave) => &[
                (leave.instance.is_some(), Feature::StaticMembers),
                (
                    leave.member.as_str().is_empty()
                        || leave.epoch < Epoch(-2)
                        || (leave.epoch == Epoch(-2) && leave.instance.is_none())
                        || leave.instance.as_ref().is_some_and(|instance| instance.as_str().is_empty()),
                    Feature::RequestValidation,
                ),
            ],
            Operation::Commit(commit) => &[
                (commit.instance.is_some(), Feature::StaticMembers),
                (commit.offsets.values().any(|offset| offset.leader_epoch != -1), Feature::LeaderEpochs),
                (names_unknown_topics(commit.offsets.keys(), configure), Feature::RequestValidation),
            ],
            Operation::TxnCommit(commit) => &[
                (true, Feature::Transactions),
                (commit.instance.is_some(), Feature::StaticMembers),
                (commit.offsets.values().any(|offset| offset.leader_epoch != -1), Feature::LeaderEpochs),
                (names_unknown_topics(commit.offsets.keys(), configure), Feature::RequestValidation),
            ],
            Operation::EndTransaction(_) => &[(true, Feature::Transactions)],
            Operation::Fetch(_) => &[],
            Operation::Expire(expire) => &[
                (true, Feature::Timers),
                (expire.timer == Timer::AssignmentInterval, Feature::AssignmentInterval),
                (expire.timer == Timer::OffsetsRetention, Feature::OffsetsRetention),
            ],
            Operation::Replicate(_) => &[(true, Feature::LaggingHighWatermark)],
            Operation::FailOver(fail_over) => &[(fail_over.variant.is_some(), Feature::MixedVersions)],
            Operation::JoinGroup(join) => {
                &[(true, Feature::ClassicMembers), (join.instance.is_some(), Feature::StaticMembers)]
            }
            Operation::SyncGroup(asked) | Operation::ClassicHeartbeat(asked) => {
                &[(true, Feature::ClassicMembers), (asked.instance.is_some(), Feature::StaticMembers)]
            }
        };
        first_lacking(needs, has)
    }

    fn call_lacks(function: &Function<Self>, has: &BTreeSet<Feature>) -> Option<Feature> {
        let is_load = matches!(function.call, Call::LoadAssignment { .. });
        let bytes = is_load || matches!(function.call, Call::WriteAssignment { .. });
        // Which epochs are read from the bytes is what such a trace asks.
        let epochs = is_load
            && matches!(&function.outcome, Ok(Outcome::Member(member))
                if !(member.assigned.is_empty() && member.pending_revocation.is_empty()));
        let log = matches!(function.call, Call::LoadLog { .. });
        first_lacking(&[(bytes, Feature::Bytes), (epochs, Feature::AssignmentEpochs), (log, Feature::Logs)], has)
    }

    fn differences(expected: &State, got: &State, unseen: &BTreeSet<Unseen>) -> Vec<Difference> {
        let mut found = Vec::new();
        let mut compare = |equal: bool, part: String, expected: String, got: String| {
            if !equal {
                found.push(Difference { part, expected, got });
            }
        };
        if expected.group.is_some() && !unseen.contains(&Unseen::Group) {
            let (expected, got) = (expected.group.as_ref(), got.group.as_ref());
            compare(expected == got, "group".to_owned(), phrases::group_state(expected), phrases::group_state(got));
        }
        for (name, member) in &expected.members {
            let expected = member.as_ref().map(|member| visible(member, unseen));
            let got = seen(got, name).map(|member| visible(member, unseen));
            compare(
                expected == got,
                format!("state of {name}"),
                phrases::member_state(expected.as_ref()),
                phrases::member_state(got.as_ref()),
            );
        }
        if expected.offsets.is_some() && !unseen.contains(&Unseen::Offsets) {
            let (expected, got) = (expected.offsets.as_ref(), got.offsets.as_ref());
            compare(expected == got, "committed".to_owned(), phrases::committed(expected), phrases::committed(got));
        }
        if expected.staged.is_some() && !unseen.contains(&Unseen::Staged) {
            let (expected, got) = (expected.staged.as_ref(), got.staged.as_ref());
            compare(expected == got, "staged".to_owned(), phrases::staged(expected), phrases::staged(got));
        }
        found
    }

    fn visible_outcome(outcome: &Outcome, unseen: &BTreeSet<Unseen>) -> Outcome {
        let mut outcome = outcome.clone();
        if !unseen.contains(&Unseen::AssignmentEpochs) {
            return outcome;
        }
        match &mut outcome {
            Outcome::Member(member) => hide_epochs(&mut member.assigned, &mut member.pending_revocation),
            Outcome::State(state) => {
                for member in state.members.values_mut().flatten() {
                    hide_epochs(&mut member.assigned, &mut member.pending_revocation);
                }
            }
            Outcome::Accepted(_) | Outcome::Bytes(_) => {}
        }
        outcome
    }

    fn receiver(message: &Never) -> &BrokerName {
        match *message {}
    }

    fn is_reply(message: &Never) -> bool {
        match *message {}
    }

    fn place() -> &'static str {
        "coordinator"
    }

    fn sender(operation: &Operation) -> Option<String> {
        let nobody = || "nobody".to_owned();
        let named = |name: &MemberName| if name.as_str().is_empty() { nobody() } else { name.to_string() };
        match operation {
            Operation::Heartbeat(request) => Some(named(&request.member)),
            Operation::Leave(request) => Some(named(&request.member)),
            Operation::Commit(request) => Some(named(&request.member)),
            Operation::TxnCommit(request) => Some(request.producer.to_string()),
            Operation::EndTransaction(request) => Some(request.producer.to_string()),
            Operation::Fetch(request) => Some(request.member.as_ref().map_or_else(nobody, named)),
            Operation::JoinGroup(request) => Some(named(&request.member)),
            Operation::SyncGroup(request) | Operation::ClassicHeartbeat(request) => Some(named(&request.member)),
            Operation::Target(_)
            | Operation::Topics(_)
            | Operation::Expire(_)
            | Operation::Replicate(_)
            | Operation::FailOver(_) => None,
        }
    }

    fn operation_phrase(operation: &Operation) -> String {
        phrases::operation(operation)
    }

    fn setup_phrase(operation: &Operation) -> String {
        phrases::operation(operation)
    }

    fn answer_phrase(answer: &Answer) -> String {
        phrases::answer(answer)
    }

    fn completion_phrase(completion: &Completion) -> String {
        phrases::completion(completion)
    }

    fn message_phrase(message: &Never) -> String {
        match *message {}
    }

    fn state_phrases(state: &State) -> Vec<String> {
        phrases::state(state)
    }

    fn given_phrases(given: &Given) -> Vec<String> {
        phrases::given(given)
    }

    fn call_phrase(call: &Call) -> String {
        phrases::call(call)
    }

    fn outcome_phrase(outcome: &Outcome) -> String {
        phrases::outcome(outcome)
    }
}

fn first_lacking(needs: &[(bool, Feature)], has: &BTreeSet<Feature>) -> Option<Feature> {
    needs.iter().find(|(needed, feature)| *needed && !has.contains(feature)).map(|(_, feature)| *feature)
}

/// Whether the request breaks a rule that needs no state (docs/fencing.md 2.1), so that the answer comes from in front
/// of the coordinator.
fn is_invalid_heartbeat(heartbeat: &Heartbeat) -> bool {
    let join = heartbeat.epoch == Epoch(0);
    let reports_something = heartbeat.owned.as_ref().is_none_or(|owned| !owned.is_empty());
    heartbeat.member.as_str().is_empty()
        || heartbeat.instance.as_ref().is_some_and(|instance| instance.as_str().is_empty())
        || (join && (heartbeat.rebalance_timeout_ms == Some(-1) || reports_something))
        || heartbeat.epoch < Epoch(-2)
        || heartbeat.assignor.as_deref().is_some_and(|assignor| !["uniform", "range"].contains(&assignor))
}

/// Whether some partition does not exist (docs/fencing.md 3.1). A trace in which topics change is not looked through:
/// it needs [`Feature::TopicsChange`] anyway.
fn names_unknown_topics<'a>(mut partitions: impl Iterator<Item = &'a TopicPartition>, configure: &Configure) -> bool {
    partitions.any(|partition| {
        let count = configure.topics.iter().find(|(topic, _)| topic.as_str() == partition.topic);
        count.is_none_or(|(_, count)| partition.partition >= *count)
    })
}

/// A member of a whole state: one that is not there is not in the group.
fn seen<'a>(state: &'a State, name: &MemberName) -> Option<&'a MemberState> {
    state.members.get(name).and_then(Option::as_ref)
}

fn hide_epochs(assigned: &mut Partitions, pending_revocation: &mut Partitions) {
    assigned.values_mut().chain(pending_revocation.values_mut()).for_each(|epoch| *epoch = Epoch(0));
}

/// The member without what the target can't show, so that two of them can be held against each other.
fn visible(member: &MemberState, unseen: &BTreeSet<Unseen>) -> MemberState {
    let mut member = member.clone();
    if unseen.contains(&Unseen::AssignmentEpochs) {
        hide_epochs(&mut member.assigned, &mut member.pending_revocation);
    }
    if unseen.contains(&Unseen::MemberStates) {
        member.state = fencepost_fixtures::fencing::MemberPhase::Stable;
    }
    member
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(assigned: &str) -> Outcome {
        let text = format!(
            r#"{{"member":{{"epoch":5,"previous_epoch":4,"state":"stable","assigned":{assigned},"pending_revocation":{{}}}}}}"#
        );
        serde_json::from_str(&text).expect("an outcome")
    }

    #[test]
    fn an_outcome_without_assignment_epochs_still_shows_which_partitions_there_are() {
        let hidden = BTreeSet::from([Unseen::AssignmentEpochs]);
        let equal = |left: &Outcome, right: &Outcome, unseen: &BTreeSet<Unseen>| {
            Fencing::visible_outcome(left, unseen) == Fencing::visible_outcome(right, unseen)
        };
        let (with, without, other) = (outcome(r#"{"t-0":3}"#), outcome(r#"{"t-0":0}"#), outcome(r#"{"t-1":0}"#));
        assert!(equal(&with, &without, &hidden));
        assert!(!equal(&with, &other, &hidden));
        assert!(!equal(&with, &without, &BTreeSet::new()), "a target that shows them is held to them");
    }
}
