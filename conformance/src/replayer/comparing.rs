//! What came out of a step, held against what the trace has: answer, messages and completions are complete
//! (docs/fixture-format.md).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use fencepost_fixtures::KafkaError;
use fencepost_fixtures::trace::Step;

use crate::relay::compare_sends;
use crate::replayable::{Difference, Replayable};
use crate::target::{Answered, Feature, Reply};

pub(super) fn compare_wire<V: Replayable>(
    step: &Step<V>,
    reply: &Reply<V>,
    has: &BTreeSet<Feature>,
    differences: &mut Vec<Difference>,
) {
    let expected = step.answer.as_ref().and_then(|answer| V::visible_answer(answer, has));
    let got = match &reply.answered {
        Answered::Answer(answer) => V::visible_answer(answer, has).map_or(Answered::Nothing, Answered::Answer),
        other => other.clone(),
    };
    let equal = match (&expected, step.error, &got) {
        (Some(expected), None, Answered::Answer(got)) => expected == got,
        (None, Some(expected), Answered::Error(got)) => expected.name() == got,
        (None, None, Answered::Nothing) => true,
        _ => false,
    };
    if !equal {
        differences.push(Difference {
            part: "answer".to_owned(),
            expected: expected_phrase(step),
            got: answered_phrase::<V>(&reply.answered),
        });
    }
    compare_sends::<V>(&step.sends, &reply.sends, differences);
    compare_named("completes", &step.completes, &reply.completes, V::completion_phrase, differences);
}

pub(super) fn compare_named<K: Ord + Display, T: PartialEq>(
    part: &str,
    expected: &BTreeMap<K, T>,
    got: &BTreeMap<K, T>,
    phrase: impl Fn(&T) -> String,
    differences: &mut Vec<Difference>,
) {
    if expected == got {
        return;
    }
    let names = expected.keys().chain(got.keys().filter(|name| !expected.contains_key(*name)));
    for name in names {
        let (expected, got) = (expected.get(name), got.get(name));
        if expected != got {
            let or_nothing = |value: Option<&T>| value.map_or_else(|| "nothing".to_owned(), &phrase);
            differences.push(Difference {
                part: format!("{part} {name}"),
                expected: or_nothing(expected),
                got: or_nothing(got),
            });
        }
    }
}

pub(super) fn error_phrase(error: KafkaError) -> String {
    format!("error {error}")
}

/// What a step answers, in words.
pub(crate) fn expected_phrase<V: Replayable>(step: &Step<V>) -> String {
    match (&step.answer, step.error) {
        (Some(answer), _) => V::answer_phrase(answer),
        (None, Some(error)) => error_phrase(error),
        (None, None) => "no answer".to_owned(),
    }
}

pub(super) fn answered_phrase<V: Replayable>(answered: &Answered<V>) -> String {
    match answered {
        Answered::Nothing => "no answer".to_owned(),
        Answered::Answer(answer) => V::answer_phrase(answer),
        Answered::Error(error) => format!("error {error}"),
        Answered::Skipped(reason) => format!("skipped: {reason}"),
    }
}
