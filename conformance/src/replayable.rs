//! What the replayer must know of a protocol beyond its vocabulary: what its operations need, how its epochs move, how
//! two states differ, and how all of it reads in a sentence.
//!
//! A new protocol is one implementation of [`Replayable`]; [`crate::fencing`] was the first.

use std::collections::BTreeSet;

use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_fixtures::trace::{Behaviour, Function, Vocabulary};

use crate::target::{Feature, Unseen};

/// Two things that should be equal, in words.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// What was compared, as in `answer` or `state of b`.
    pub part: String,
    /// What the trace has.
    pub expected: String,
    /// What the target did.
    pub got: String,
}

/// What an operation does to a message that an earlier step sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageUse<'a> {
    /// It arrives.
    Arrives(&'a MessageName),
    /// Its sender no longer waits for the answer.
    GivenUp(&'a MessageName),
}

/// A protocol whose traces can be replayed.
pub trait Replayable: Vocabulary {
    /// The behaviour as a target numbers it whose first epoch is `1 + by`.
    fn shift(behaviour: &Behaviour<Self>, by: i32) -> Behaviour<Self>;

    /// The first feature that the system needs and that is not among `has`.
    fn configure_lacks(configure: &Self::Configure, has: &BTreeSet<Feature>) -> Option<Feature>;

    /// The first feature that a setup operation needs and that is not among `has`.
    fn setup_lacks(operation: &Self::Setup, configure: &Self::Configure, has: &BTreeSet<Feature>) -> Option<Feature>;

    /// The first feature that an operation needs and that is not among `has`.
    fn operation_lacks(
        operation: &Self::Operation,
        configure: &Self::Configure,
        has: &BTreeSet<Feature>,
    ) -> Option<Feature>;

    /// The first feature that a function call needs and that is not among `has`.
    fn call_lacks(function: &Function<Self>, has: &BTreeSet<Feature>) -> Option<Feature>;

    /// How `got`, a whole state, differs from `expected`: partial by entity, complete within one.
    fn differences(expected: &Self::State, got: &Self::State, unseen: &BTreeSet<Unseen>) -> Vec<Difference>;

    /// What the target can show of a decision's outcome, so that two of them can be held against each other.
    fn visible_outcome(outcome: &Self::Outcome, unseen: &BTreeSet<Unseen>) -> Self::Outcome;

    /// What of an answer a target with these features can show; none where nothing is left of it.
    fn visible_answer(answer: &Self::Answer, has: &BTreeSet<Feature>) -> Option<Self::Answer> {
        let _ = has;
        Some(answer.clone())
    }

    /// The part of a state that is about places which are driven.
    fn state_at(state: &Self::State, is_driven: &dyn Fn(&BrokerName) -> bool) -> Self::State {
        let _ = is_driven;
        state.clone()
    }

    /// The feature that a target needs to have the place `at`, where not every target has it.
    #[must_use]
    fn place_needs(at: &BrokerName) -> Option<Feature> {
        let _ = at;
        None
    }

    /// How many brokers the system has; one where the protocol has no more.
    fn brokers(configure: &Self::Configure) -> usize {
        let _ = configure;
        1
    }

    /// What an operation does to a message.
    fn message_use(operation: &Self::Operation) -> Option<MessageUse<'_>> {
        let _ = operation;
        None
    }

    /// Who gets a message.
    fn receiver(message: &Self::Message) -> &BrokerName;

    /// Whether a message answers a request.
    fn is_reply(message: &Self::Message) -> bool;

    /// The message that a request which was completed is answered by; none where a client asked.
    fn completed_message(completion: &Self::Completion) -> Option<Self::Message> {
        let _ = completion;
        None
    }

    /// What stands on the other side of a request, as in `coordinator`.
    fn place() -> &'static str;

    /// Who sends the request that an operation is; none where it is no request.
    fn sender(operation: &Self::Operation) -> Option<String>;

    /// An operation, as in `commit of a, epoch 2, t-1 = 50`.
    fn operation_phrase(operation: &Self::Operation) -> String;
    /// A setup operation.
    fn setup_phrase(operation: &Self::Setup) -> String;
    /// An answer, as in `committed t-1`.
    fn answer_phrase(answer: &Self::Answer) -> String;
    /// A completion.
    fn completion_phrase(completion: &Self::Completion) -> String;
    /// A message.
    fn message_phrase(message: &Self::Message) -> String;
    /// The entities of a state, a line each.
    fn state_phrases(state: &Self::State) -> Vec<String>;
    /// What a function call rests on, a line each.
    fn given_phrases(given: &Self::Given) -> Vec<String>;
    /// A function call.
    fn call_phrase(call: &Self::Call) -> String;
    /// What a decision was.
    fn outcome_phrase(outcome: &Self::Outcome) -> String;
}
