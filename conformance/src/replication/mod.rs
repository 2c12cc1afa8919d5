//! Replication as the replayer needs it: which feature an operation asks for, what a message is, and how two states
//! differ.

pub mod phrases;

use std::collections::BTreeSet;

use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::replication::{
    Answer, BrokerState, CONTROLLER, Call, Completion, Configure, Content, Given, Message, Operation, Outcome,
    Replication, Setup, State,
};
use fencepost_fixtures::trace::{Behaviour, Function};

use crate::replayable::{Difference, MessageUse, Replayable};
use crate::target::{Feature, Unseen};

impl Replayable for Replication {
    fn shift(behaviour: &Behaviour<Self>, _: i32) -> Behaviour<Self> {
        // Leader epochs, partition epochs and broker epochs are inputs.
        behaviour.clone()
    }

    fn configure_lacks(configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        first_lacking(
            &[
                (!configure.rules.is_empty(), Feature::MixedVersions),
                (!configure.old_message_format.is_empty(), Feature::OldMessageFormats),
            ],
            has,
        )
    }

    fn setup_lacks(setup: &Setup, configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        match setup {
            Setup::Do { operation, .. } => Self::operation_lacks(operation, configure, has),
            Setup::Replicate(_) => None,
        }
    }

    fn operation_lacks(operation: &Operation, _: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let needs: &[(bool, Feature)] = match operation {
            Operation::Stop(_) | Operation::Crash(_) => &[(true, Feature::Restart)],
            Operation::Start(start) => &[
                (true, Feature::Restart),
                (start.keep.is_some(), Feature::PowerLoss),
                (start.epoch_checkpoint.is_some(), Feature::CheckpointDamage),
                (start.rules.is_some(), Feature::MixedVersions),
            ],
            Operation::DeleteRecords(_) => &[(true, Feature::SegmentDeletion)],
            Operation::Checkpoint(_) => &[(true, Feature::CheckpointOnDemand)],
            Operation::Expire(_) => &[(true, Feature::RequestTimeouts)],
            Operation::AlterLogDirs(_) | Operation::Copy(_) | Operation::DiskOffline(_) | Operation::DiskOnline(_) => {
                &[(true, Feature::FutureReplica)]
            }
            _ => &[],
        };
        first_lacking(needs, has)
    }

    fn call_lacks(_: &Function<Self>, _: &BTreeSet<Feature>) -> Option<Feature> {
        None
    }

    fn differences(expected: &State, got: &State, unseen: &BTreeSet<Unseen>) -> Vec<Difference> {
        let mut found = Vec::new();
        for (broker, expected) in &expected.brokers {
            match (expected, got.brokers.get(broker)) {
                (None, Some(None)) => {}
                (Some(expected), Some(Some(got))) => replica(broker, expected, got, unseen, &mut found),
                (expected, got) => found.push(Difference {
                    part: format!("state of {broker}"),
                    expected: expected.as_ref().map_or_else(|| "down".to_owned(), phrases::replica),
                    got: match got {
                        None => "nothing".to_owned(),
                        Some(None) => "down".to_owned(),
                        Some(Some(got)) => phrases::replica(got),
                    },
                }),
            }
        }
        if let Some(expected) = &expected.controller
            && got.controller.as_ref() != Some(expected)
        {
            found.push(Difference {
                part: "state of the controller".to_owned(),
                expected: phrases::controller(expected),
                got: got.controller.as_ref().map_or_else(|| "nothing".to_owned(), phrases::controller),
            });
        }
        found
    }

    fn visible_outcome(outcome: &Outcome, _: &BTreeSet<Unseen>) -> Outcome {
        outcome.clone()
    }

    fn visible_answer(answer: &Answer, has: &BTreeSet<Feature>) -> Option<Answer> {
        let mut visible = answer.clone();
        if !has.contains(&Feature::TruncationEffects) {
            visible.truncated_below_high_watermark = None;
        }
        (visible != Answer::default()).then_some(visible)
    }

    fn state_at(state: &State, is_driven: &dyn Fn(&BrokerName) -> bool) -> State {
        let brokers = state.brokers.iter().filter(|(broker, _)| is_driven(broker));
        let controls = CONTROLLER.parse().is_ok_and(|controller| is_driven(&controller));
        State {
            brokers: brokers.map(|(broker, state)| (broker.clone(), state.clone())).collect(),
            controller: state.controller.clone().filter(|_| controls),
        }
    }

    fn place_needs(at: &BrokerName) -> Option<Feature> {
        (at.as_str() == CONTROLLER).then_some(Feature::Controller)
    }

    fn brokers(configure: &Configure) -> usize {
        configure.brokers.len()
    }

    fn message_use(operation: &Operation) -> Option<MessageUse<'_>> {
        match operation {
            Operation::Deliver(name) => Some(MessageUse::Arrives(name)),
            Operation::Fail(name) => Some(MessageUse::GivenUp(name)),
            _ => None,
        }
    }

    fn receiver(message: &Message) -> &BrokerName {
        &message.to
    }

    fn is_reply(message: &Message) -> bool {
        message.content.is_reply()
    }

    fn completed_message(completion: &Completion) -> Option<Message> {
        match completion {
            Completion::Fetched { to, reply } => {
                Some(Message { to: to.clone(), content: Content::FetchReply(reply.clone()) })
            }
            Completion::Acknowledged { .. } | Completion::Refused { .. } => None,
        }
    }

    fn place() -> &'static str {
        "broker"
    }

    fn sender(operation: &Operation) -> Option<String> {
        match operation {
            Operation::Produce(_) => Some("producer".to_owned()),
            Operation::Consume(_) | Operation::OffsetForLeaderEpoch(_) => Some("consumer".to_owned()),
            Operation::ListOffsets(asked) => {
                Some(asked.replica.as_ref().map_or_else(|| "consumer".to_owned(), ToString::to_string))
            }
            Operation::Metadata(_) => Some(CONTROLLER.to_owned()),
            _ => None,
        }
    }

    fn operation_phrase(operation: &Operation) -> String {
        phrases::operation(operation)
    }

    fn setup_phrase(setup: &Setup) -> String {
        phrases::setup(setup)
    }

    fn answer_phrase(answer: &Answer) -> String {
        phrases::answer(answer)
    }

    fn completion_phrase(completion: &Completion) -> String {
        phrases::completion(completion)
    }

    fn message_phrase(message: &Message) -> String {
        phrases::message(message)
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

/// How a replica differs: what is optional and not written is not compared, nor is what the target can't show.
fn replica(
    broker: &BrokerName,
    expected: &BrokerState,
    got: &BrokerState,
    unseen: &BTreeSet<Unseen>,
    found: &mut Vec<Difference>,
) {
    let is_seen = |part: Unseen| !unseen.contains(&part);
    let has = expected.clone();
    let visible = |state: &BrokerState| BrokerState {
        role: state.role,
        leader_epoch: state.leader_epoch,
        log: state.log.clone(),
        high_watermark: state.high_watermark,
        isr: state.isr.clone(),
        remote: state.remote.clone().filter(|_| is_seen(Unseen::Remote)),
        pending_isr: state.pending_isr.clone().filter(|_| has.pending_isr.is_some() && is_seen(Unseen::PendingIsr)),
        epochs: state.epochs.clone().filter(|_| has.epochs.is_some() && is_seen(Unseen::Epochs)),
        log_end: state.log_end.filter(|_| has.log_end.is_some()),
        log_start: state.log_start.filter(|_| has.log_start.is_some()),
        partition_epoch: state.partition_epoch.filter(|_| has.partition_epoch.is_some()),
        failed: state.failed.filter(|_| has.failed.is_some() && is_seen(Unseen::Failed)),
        future: state.future.clone().filter(|_| has.future.is_some()),
    };
    let (expected, got) = (visible(expected), visible(got));
    if expected != got {
        found.push(Difference {
            part: format!("state of {broker}"),
            expected: phrases::replica(&expected),
            got: phrases::replica(&got),
        });
    }
}

fn first_lacking(needs: &[(bool, Feature)], has: &BTreeSet<Feature>) -> Option<Feature> {
    needs.iter().find(|(needed, feature)| *needed && !has.contains(feature)).map(|(_, feature)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        serde_json::from_str(text).expect("a state")
    }

    const WHOLE: &str = r#"{"A":{"role":"leader","leader_epoch":1,"log":[[0,1,"r0"]],"high_watermark":1,"isr":["A","B"],
        "remote":{"B":1},"pending_isr":["A"],"epochs":[[1,0]],"log_end":2,"log_start":0,"partition_epoch":4,"failed":false,
        "future":{"log":[],"high_watermark":0}},"B":null,
        "controller":{"leader":"A","leader_epoch":1,"partition_epoch":5,"isr":["A"],"elr":["B"],"recovering":true}}"#;

    #[test]
    fn every_field_of_a_state_is_compared() {
        let none = BTreeSet::new();
        assert!(Replication::differences(&state(WHOLE), &state(WHOLE), &none).is_empty());
        for (written, changed) in [
            (r#""leader_epoch":1,"log""#, r#""leader_epoch":2,"log""#),
            (r#"[[0,1,"r0"]]"#, r#"[[1,1,"r0"]]"#),
            (r#"[[0,1,"r0"]]"#, r#"[[0,2,"r0"]]"#),
            (r#"[[0,1,"r0"]]"#, r#"[[0,1,"r1"]]"#),
            (r#""high_watermark":1"#, r#""high_watermark":0"#),
            (r#""isr":["A","B"]"#, r#""isr":["A"]"#),
            (r#""remote":{"B":1}"#, r#""remote":{"B":0}"#),
            (r#""pending_isr":["A"]"#, r#""pending_isr":["B"]"#),
            (r#""epochs":[[1,0]]"#, r#""epochs":[[1,1]]"#),
            (r#""log_end":2"#, r#""log_end":3"#),
            (r#""log_start":0"#, r#""log_start":1"#),
            (r#""partition_epoch":4"#, r#""partition_epoch":3"#),
            (r#""failed":false"#, r#""failed":true"#),
            (r#""future":{"log":[],"high_watermark":0}"#, r#""future":{"log":[],"high_watermark":1}"#),
            (r#""B":null"#, r#""B":{"role":"none","leader_epoch":-1,"log":[],"high_watermark":0}"#),
            (r#""leader":"A""#, r#""leader":null"#),
            (r#""partition_epoch":5"#, r#""partition_epoch":6"#),
            (r#""elr":["B"]"#, r#""elr":[]"#),
            (r#""recovering":true"#, r#""recovering":false"#),
        ] {
            assert!(WHOLE.contains(written), "{written}");
            let other = state(&WHOLE.replacen(written, changed, 1));
            let differences = Replication::differences(&state(WHOLE), &other, &none);
            assert_eq!(differences.len(), 1, "{changed}");
            assert_ne!(differences[0].expected, differences[0].got, "{changed}: the words are the same");
        }
    }

    #[test]
    fn what_is_not_written_or_cannot_be_seen_is_not_compared() {
        let expected = r#"{"A":{"role":"leader","leader_epoch":1,"log":[[0,1,"r0"]],"high_watermark":1,"isr":["A","B"],
            "remote":{"B":0},"epochs":[]}}"#;
        let unseen = BTreeSet::from([Unseen::Remote, Unseen::Epochs]);
        assert_eq!(Replication::differences(&state(expected), &state(WHOLE), &BTreeSet::new()).len(), 1);
        assert!(Replication::differences(&state(expected), &state(WHOLE), &unseen).is_empty());
    }

    #[test]
    fn a_place_that_is_not_driven_is_not_compared() {
        let only_b = Replication::state_at(&state(WHOLE), &|place| place.as_str() == "B");
        assert_eq!(only_b, state(r#"{"B":null}"#));
        let brokers = Replication::state_at(&state(WHOLE), &|place| Replication::place_needs(place).is_none());
        assert!(brokers.controller.is_none() && brokers.brokers.len() == 2);
    }
}
