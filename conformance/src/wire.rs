//! The driver protocol as it stands on the wire: one JSON object a line, a command in, an answer out.
//!
//! The words of operations, states and answers are those of the traces. Each answer repeats the trace and the place of
//! its command, so that a driver which is one answer behind is found out. `docs/writing-a-driver.md` tells it to whoever
//! writes a driver; its JSON Schema is `conformance/schema/driver.json`, generated from these types.

use std::collections::BTreeMap;

use fencepost_fixtures::TraceId;
use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_fixtures::trace::Vocabulary;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::target::{Hello, Place, Unseen};

/// A command, as one line.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "cmd", rename_all = "snake_case", bound = "")]
#[schemars(bound = "", rename = "Command_{V}")]
pub enum Command<'a, V: Vocabulary> {
    /// Who are you? Comes once, first.
    Hello {
        /// The version that the replayer speaks.
        protocol_version: u32,
    },
    /// Make an empty system.
    Reset {
        /// The trace that follows.
        trace: &'a TraceId,
        /// What the system is made of.
        configure: &'a V::Configure,
        /// The variant to be set to; only if hello lists variants.
        #[serde(skip_serializing_if = "Option::is_none")]
        variant: Option<&'a str>,
        /// A slip to make; only if hello lists variants. What can't make it goes on as it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        slip: Option<&'a str>,
        /// The only broker that steps will go to. The setup still goes to all, and messages come from all.
        #[serde(skip_serializing_if = "Option::is_none")]
        only: Option<&'a BrokerName>,
    },
    /// Do one operation, or observe, or make one decision.
    Step {
        /// The trace.
        trace: &'a TraceId,
        /// Where in it.
        at: Place,
        /// The broker, in protocols that have several.
        #[serde(skip_serializing_if = "Option::is_none")]
        broker: Option<&'a BrokerName>,
        /// The operation; absent where the state is only read.
        #[serde(rename = "do", skip_serializing_if = "Option::is_none")]
        operation: Option<Doing<'a, V>>,
        /// The message that a `deliver` or a `fail` is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<MessageLine<'a, V>>,
        /// Whether the whole state is asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        observe: Option<bool>,
        /// What a decision rests on.
        #[serde(skip_serializing_if = "Option::is_none")]
        given: Option<&'a V::Given>,
        /// The decision asked for.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<&'a V::Call>,
        /// The variant to decide by; only if hello lists variants.
        #[serde(skip_serializing_if = "Option::is_none")]
        variant: Option<&'a str>,
    },
    /// No more will be asked; end.
    Bye {},
}

/// A message that arrives, or that its sender gives up.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(bound = "")]
#[schemars(bound = "", rename = "Delivery_{V}")]
pub struct MessageLine<'a, V: Vocabulary> {
    /// Who sent it.
    pub from: &'a BrokerName,
    /// The name that the driver gave it in `sends`; absent where it comes from a place that is not driven.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<&'a MessageName>,
    /// Of an answer: the name that the driver gave the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<&'a MessageName>,
    /// The message.
    pub content: &'a V::Message,
}

/// An operation of a step or of the setup.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged, bound = "")]
#[schemars(bound = "", rename = "Doing_{V}")]
pub enum Doing<'a, V: Vocabulary> {
    /// Of a step.
    Operation(&'a V::Operation),
    /// Of the setup.
    Setup(&'a V::Setup),
}

/// The answer to hello, as one line.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HelloLine {
    /// What the target says of itself.
    pub hello: Hello,
}

/// The answer to reset or step, as one line. Exactly one of `ok`, `error`, `skipped` and `broken`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(bound = "", rename = "Answer_{V}")]
pub struct AnswerLine<V: Vocabulary> {
    /// The trace of the command.
    pub trace: String,
    /// The place of the command; absent in the answer to reset.
    #[serde(default)]
    pub at: Option<Place>,
    /// It worked.
    #[serde(default)]
    pub ok: Option<Ok<V>>,
    /// It was refused, by Kafka's name of the error.
    #[serde(default)]
    pub error: Option<String>,
    /// The target can't do this, for this reason.
    #[serde(default)]
    pub skipped: Option<String>,
    /// The driver itself failed.
    #[serde(default)]
    pub broken: Option<String>,
    /// Beside `error`: earlier requests that were answered now.
    #[serde(default)]
    pub completes: BTreeMap<MessageName, V::Completion>,
    /// Beside `error`: the whole state, where it was asked for.
    #[serde(default)]
    pub state: Option<V::State>,
}

/// What came of a command that worked.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, bound = "")]
#[schemars(bound = "", rename = "Ok_{V}")]
pub struct Ok<V: Vocabulary> {
    /// The answer to the operation, if it is answered at once.
    #[serde(default)]
    pub answer: Option<V::Answer>,
    /// The messages sent, by names of the driver's own, which no two messages of a trace share.
    #[serde(default)]
    pub sends: BTreeMap<MessageName, V::Message>,
    /// Earlier requests that were answered now.
    #[serde(default)]
    pub completes: BTreeMap<MessageName, V::Completion>,
    /// The whole state, where it was asked for.
    #[serde(default)]
    pub state: Option<V::State>,
    /// What a decision was.
    #[serde(default)]
    pub outcome: Option<V::Outcome>,
    /// In the answer to reset: the first member epoch, if it is not that of hello.
    #[serde(default)]
    pub first_epoch: Option<i32>,
    /// In the answer to reset: what can't be shown, beyond what hello named.
    #[serde(default)]
    pub unseen: Vec<Unseen>,
}
