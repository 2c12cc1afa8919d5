//! Compaction as the replayer needs it: which feature an operation asks for, and how two states differ.

pub mod phrases;

use std::collections::BTreeSet;

use fencepost_fixtures::compaction::{
    Answer, Call, CleanupPolicy, Compaction, Configure, Given, Operation, Outcome, State,
};
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::trace::{Behaviour, Function, Never};

use crate::replayable::{Difference, Replayable};
use crate::target::{Feature, Unseen};

impl Replayable for Compaction {
    fn shift(behaviour: &Behaviour<Self>, _: i32) -> Behaviour<Self> {
        // Producer epochs begin at 0 everywhere.
        behaviour.clone()
    }

    fn configure_lacks(configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let deletes = configure.cleanup_policy.as_ref().is_some_and(|policy| policy.contains(&CleanupPolicy::Delete));
        first_lacking(
            &[
                (configure.replicas.as_ref().is_some_and(|replicas| replicas.len() > 1), Feature::Followers),
                (deletes, Feature::SegmentDeletion),
            ],
            has,
        )
    }

    fn setup_lacks(operation: &Operation, configure: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        Self::operation_lacks(operation, configure, has)
    }

    fn operation_lacks(operation: &Operation, _: &Configure, has: &BTreeSet<Feature>) -> Option<Feature> {
        let needs: &[(bool, Feature)] = match operation {
            Operation::Append(append) => &[
                (append.producer.is_some(), Feature::Transactions),
                // Only bytes can carry a horizon that the client set.
                (append.horizon_ms.is_some(), Feature::Bytes),
            ],
            Operation::AppendBytes(_) => &[(true, Feature::Bytes)],
            Operation::EndTransaction(_) => &[(true, Feature::Transactions)],
            Operation::StartRound(_)
            | Operation::BuildMap(_)
            | Operation::CleanGroup(_)
            | Operation::FinishRound(_)
            | Operation::AbortRound(_) => &[(true, Feature::RoundsInSteps)],
            Operation::Crash(crash) => &[(true, Feature::Restart), (crash.during_swap.is_some(), Feature::CrashInSwap)],
            Operation::Restart(_) | Operation::LoseCheckpoint(_) => &[(true, Feature::Restart)],
            Operation::Truncate(_) | Operation::Fetch(_) => &[(true, Feature::Followers)],
            Operation::DeleteRecords(_) | Operation::DeleteSegments(_) => &[(true, Feature::SegmentDeletion)],
            Operation::ExpireProducers(_) => &[(true, Feature::ProducerExpiration)],
            Operation::LookUpMs(_) => &[(true, Feature::TimeLookUp)],
            Operation::Alter(_)
            | Operation::Roll(_)
            | Operation::HighWatermark(_)
            | Operation::ClockMs(_)
            | Operation::Clean(_)
            | Operation::Read(_) => &[],
        };
        first_lacking(needs, has)
    }

    fn call_lacks(function: &Function<Self>, has: &BTreeSet<Feature>) -> Option<Feature> {
        first_lacking(&[(matches!(function.call, Call::Rebuild { .. }), Feature::Bytes)], has)
    }

    fn differences(expected: &State, got: &State, unseen: &BTreeSet<Unseen>) -> Vec<Difference> {
        let State { log, bytes, segments, aborted, producers, log_start, log_end, last_stable, first_dirty } = expected;
        let mut found = Vec::new();
        let mut part = |name: &str, hidden: Option<Unseen>, expected: Option<String>, got: Option<String>| {
            let is_seen = hidden.is_none_or(|hidden| !unseen.contains(&hidden));
            if let Some(expected) = expected
                && is_seen
                && got.as_ref() != Some(&expected)
            {
                let got = got.unwrap_or_else(|| "nothing".to_owned());
                found.push(Difference { part: name.to_owned(), expected, got });
            }
        };
        // Equal words mean equal parts: each phrase names every field of what it tells.
        part("log", None, log.as_deref().map(phrases::log), got.log.as_deref().map(phrases::log));
        part("bytes", None, bytes.as_deref().map(phrases::bytes), got.bytes.as_deref().map(phrases::bytes));
        part(
            "segments",
            Some(Unseen::Segments),
            segments.as_deref().map(phrases::offsets),
            got.segments.as_deref().map(phrases::offsets),
        );
        part(
            "aborted transactions",
            Some(Unseen::TransactionIndex),
            aborted.as_deref().map(phrases::aborted),
            got.aborted.as_deref().map(phrases::aborted),
        );
        part(
            "producers",
            Some(Unseen::Producers),
            producers.as_ref().map(phrases::producers),
            got.producers.as_ref().map(phrases::producers),
        );
        for (name, hidden, expected, got) in [
            ("log start offset", None, log_start, &got.log_start),
            ("log end offset", None, log_end, &got.log_end),
            ("last stable offset", Some(Unseen::LastStable), last_stable, &got.last_stable),
            ("first dirty offset", Some(Unseen::FirstDirty), first_dirty, &got.first_dirty),
        ] {
            part(name, hidden, expected.map(|offset| offset.to_string()), got.map(|offset| offset.to_string()));
        }
        found
    }

    fn visible_outcome(outcome: &Outcome, _: &BTreeSet<Unseen>) -> Outcome {
        outcome.clone()
    }

    fn receiver(message: &Never) -> &BrokerName {
        match *message {}
    }

    fn is_reply(message: &Never) -> bool {
        match *message {}
    }

    fn place() -> &'static str {
        "log"
    }

    fn sender(operation: &Operation) -> Option<String> {
        match operation {
            Operation::Append(append) => {
                Some(append.producer.as_ref().map_or_else(|| "client".to_owned(), ToString::to_string))
            }
            Operation::AppendBytes(_) => Some("client".to_owned()),
            Operation::EndTransaction(end) => Some(end.producer.to_string()),
            Operation::Read(_) | Operation::LookUpMs(_) => Some("consumer".to_owned()),
            Operation::Clean(_)
            | Operation::StartRound(_)
            | Operation::BuildMap(_)
            | Operation::CleanGroup(_)
            | Operation::FinishRound(_)
            | Operation::AbortRound(_) => Some("cleaner".to_owned()),
            _ => None,
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

    fn completion_phrase(completion: &Never) -> String {
        match *completion {}
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

#[cfg(test)]
mod tests {
    use super::*;

    fn state(text: &str) -> State {
        serde_json::from_str(text).expect("a state")
    }

    #[test]
    fn every_field_of_a_state_is_compared() {
        let whole = r#"{"log":[{"first":0,"last":1,"horizon_ms":7,"producer":"p","transactional":true,
            "marker":"abort","records":[[0,"k",null]]}],"bytes":["00"],"segments":[0],
            "aborted":[{"producer":"p","first":0,"last":1,"last_stable":2}],
            "producers":{"p":{"epoch":1,"last_data":0,"last_sequence":3}},
            "log_start":0,"log_end":2,"last_stable":2,"first_dirty":1}"#;
        let none = BTreeSet::new();
        assert!(Compaction::differences(&state(whole), &state(whole), &none).is_empty());
        for (written, changed) in [
            (r#""first":0,"last":1,"horizon_ms":7"#, r#""first":1,"last":1,"horizon_ms":7"#),
            (r#""last":1,"horizon_ms":7"#, r#""last":2,"horizon_ms":7"#),
            (r#""horizon_ms":7"#, r#""horizon_ms":8"#),
            (r#""horizon_ms":7,"producer":"p""#, r#""horizon_ms":7,"producer":"q""#),
            (r#""transactional":true"#, r#""transactional":false"#),
            (r#""marker":"abort""#, r#""marker":"commit""#),
            (r#""marker":"abort""#, r#""emptied_marker":true"#),
            (r#"[0,"k",null]"#, r#"[0,"k","null"]"#),
            (r#"[0,"k",null]"#, r"[0,null,null]"),
            (r#"[0,"k",null]"#, r#"[1,"k",null]"#),
            (r#""bytes":["00"]"#, r#""bytes":["01"]"#),
            (r#""segments":[0]"#, r#""segments":[0,1]"#),
            (r#""last_stable":2}]"#, r#""last_stable":3}]"#),
            (r#""epoch":1"#, r#""epoch":2"#),
            (r#""last_data":0"#, r#""last_data":1"#),
            (r#""last_sequence":3"#, r#""last_sequence":4"#),
            (r#""log_start":0"#, r#""log_start":1"#),
            (r#""log_end":2"#, r#""log_end":3"#),
            (r#""last_stable":2,"first_dirty""#, r#""last_stable":3,"first_dirty""#),
            (r#""first_dirty":1"#, r#""first_dirty":2"#),
        ] {
            assert!(whole.contains(written), "{written}");
            let other = state(&whole.replacen(written, changed, 1));
            assert_eq!(Compaction::differences(&state(whole), &other, &none).len(), 1, "{changed}");
        }
    }

    #[test]
    fn what_is_not_written_or_cannot_be_seen_is_not_compared() {
        let (expected, got) = (state(r#"{"segments":[0]}"#), state(r#"{"segments":[0,1],"log_end":2}"#));
        assert_eq!(Compaction::differences(&expected, &got, &BTreeSet::new()).len(), 1);
        assert!(Compaction::differences(&expected, &got, &BTreeSet::from([Unseen::Segments])).is_empty());
    }
}
