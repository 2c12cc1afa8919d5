//! The consumer protocol as the replayer needs it: which feature an operation asks for, what a message is, and how two
//! states differ.

pub mod phrases;

use std::collections::BTreeSet;

use fencepost_fixtures::consumer::{
    Answer, BrokerState, CONSUMER, Call, Configure, Consumer, ConsumerState, Given, Message, Operation, Outcome, Setup,
    State,
};
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::trace::{Behaviour, Function, Never};

use crate::replayable::{Difference, MessageUse, Replayable};
use crate::target::{Feature, Unseen};

impl Replayable for Consumer {
    fn shift(behaviour: &Behaviour<Self>, _: i32) -> Behaviour<Self> {
        // Leader epochs are inputs.
        behaviour.clone()
    }

    fn configure_lacks(configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        first_lacking(
            &[
                (configure.old_message_format, Feature::OldMessageFormats),
                (configure.old_brokers, Feature::MixedVersions),
                (configure.read_committed, Feature::Transactions),
            ],
            has,
        )
    }

    fn setup_lacks(setup: &Setup, configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        match setup {
            Setup::Do { operation, .. } => Self::operation_lacks(operation, configure, has),
            Setup::Read(_) => None,
        }
    }

    fn operation_lacks(operation: &Operation, _: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let needs: &[(bool, Feature)] = match operation {
            Operation::Restart(_) => &[(true, Feature::Restart)],
            Operation::Recreate(_) => &[(true, Feature::TopicsChange)],
            Operation::Metadata(metadata) if metadata.topic_id != 1 => &[(true, Feature::TopicsChange)],
            Operation::FindOffset(_) | Operation::SeekToNearest(_) => &[(true, Feature::ProposedCalls)],
            Operation::Assign(assign) if assign.history.is_some() => &[(true, Feature::ProposedCalls)],
            _ => &[],
        };
        first_lacking(needs, has)
    }

    fn call_lacks(_: &Function<Self>, _: &BTreeSet<Feature>) -> Option<Feature> {
        None
    }

    fn differences(expected: &State, got: &State, unseen: &BTreeSet<Unseen>) -> Vec<Difference> {
        let mut found = Vec::new();
        if let Some(expected) = &expected.consumer {
            let seen = |state: &ConsumerState| ConsumerState {
                history: state.history.clone().filter(|_| expected.history.is_some()),
                ..state.clone()
            };
            let got = got.consumer.as_ref().map(seen);
            if got.as_ref() != Some(expected) {
                found.push(Difference {
                    part: "state of the consumer".to_owned(),
                    expected: phrases::consumer(expected),
                    got: got.as_ref().map_or_else(|| "nothing".to_owned(), phrases::consumer),
                });
            }
        }
        for (broker, expected) in &expected.brokers {
            let compares_epochs = expected.epochs.is_some() && !unseen.contains(&Unseen::Epochs);
            let seen = |state: &BrokerState| BrokerState {
                epochs: state.epochs.clone().filter(|_| compares_epochs),
                ..state.clone()
            };
            let (expected, got) = (seen(expected), got.brokers.get(broker).map(seen));
            if got.as_ref() != Some(&expected) {
                found.push(Difference {
                    part: format!("state of {broker}"),
                    expected: phrases::broker(&expected),
                    got: got.as_ref().map_or_else(|| "nothing".to_owned(), phrases::broker),
                });
            }
        }
        found
    }

    fn visible_outcome(outcome: &Outcome, _: &BTreeSet<Unseen>) -> Outcome {
        outcome.clone()
    }

    fn state_at(state: &State, is_driven: &dyn Fn(&BrokerName) -> bool) -> State {
        let brokers = state.brokers.iter().filter(|(broker, _)| is_driven(broker));
        let reads = CONSUMER.parse().is_ok_and(|consumer| is_driven(&consumer));
        State {
            brokers: brokers.map(|(broker, state)| (broker.clone(), state.clone())).collect(),
            consumer: state.consumer.clone().filter(|_| reads),
        }
    }

    fn place_needs(at: &BrokerName) -> Option<Feature> {
        (at.as_str() != CONSUMER).then_some(Feature::ConsumerBrokers)
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

    fn place() -> &'static str {
        "consumer"
    }

    fn sender(operation: &Operation) -> Option<String> {
        match operation {
            Operation::Append(_) | Operation::EndTransaction(_) => Some("producer".to_owned()),
            Operation::Lead(_) | Operation::Follow(_) | Operation::HighWatermark(_) | Operation::Recreate(_) => {
                Some("cluster".to_owned())
            }
            Operation::Assign(_) | Operation::Metadata(_) => Some("cluster".to_owned()),
            Operation::Seek(_)
            | Operation::SeekTo(_)
            | Operation::Poll(_)
            | Operation::Commit(_)
            | Operation::Position(_)
            | Operation::FindOffset(_)
            | Operation::SeekToNearest(_) => Some("application".to_owned()),
            Operation::Deliver(_) | Operation::Fail(_) | Operation::Elapse(_) | Operation::Restart(_) => None,
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

    fn completion_phrase(completion: &Never) -> String {
        match *completion {}
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

fn first_lacking(needs: &[(bool, Feature)], has: &BTreeSet<Feature>) -> Option<Feature> {
    needs.iter().find(|(needed, feature)| *needed && !has.contains(feature)).map(|(_, feature)| *feature)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        serde_json::from_str(text).expect("a state")
    }

    const WHOLE: &str = r#"{"consumer":{"fetch_state":"fetching","offset":5,"offset_epoch":3,"leader":"A","leader_epoch":4,
        "history":[[3,0]]},"A":{"role":"leader","leader_epoch":4,"log":[[0,3,"r0"],[1,4,"r1","p"]],"high_watermark":1,
        "epochs":[[3,0]],"topic_id":2}}"#;

    #[test]
    fn every_field_of_a_state_is_compared() {
        let none = BTreeSet::new();
        assert!(Consumer::differences(&state(WHOLE), &state(WHOLE), &none).is_empty());
        for (written, changed) in [
            (r#""fetch_state":"fetching""#, r#""fetch_state":"await_validation""#),
            (r#""offset":5"#, r#""offset":4"#),
            (r#""offset_epoch":3,"#, ""),
            (r#""leader":"A""#, r#""leader":"B""#),
            (
                r#""leader_epoch":4,
        "history""#,
                r#""leader_epoch":3,"history""#,
            ),
            (r#""history":[[3,0]]"#, r#""history":[]"#),
            (r#""role":"leader""#, r#""role":"follower""#),
            (r#""leader_epoch":4,"log""#, r#""leader_epoch":3,"log""#),
            (r#"[1,4,"r1","p"]"#, r#"[1,4,"r1"]"#),
            (r#"[0,3,"r0"]"#, r#"[0,2,"r0"]"#),
            (r#""high_watermark":1"#, r#""high_watermark":2"#),
            (r#""epochs":[[3,0]]"#, r#""epochs":[[4,0]]"#),
            (r#""topic_id":2"#, r#""topic_id":1"#),
        ] {
            assert!(WHOLE.contains(written), "{written}");
            let other = state(&WHOLE.replacen(written, changed, 1));
            let differences = Consumer::differences(&state(WHOLE), &other, &none);
            assert_eq!(differences.len(), 1, "{changed}");
            assert_ne!(differences[0].expected, differences[0].got, "{changed}: the words are the same");
        }
    }

    #[test]
    fn a_place_that_is_not_driven_is_not_compared() {
        let alone = Consumer::state_at(&state(WHOLE), &|place| place.as_str() == CONSUMER);
        assert!(alone.brokers.is_empty() && alone.consumer.is_some());
        let broker = Consumer::state_at(&state(WHOLE), &|place| place.as_str() == "A");
        assert!(broker.consumer.is_none() && broker.brokers.len() == 1);
    }
}
