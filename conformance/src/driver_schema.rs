//! The JSON Schema of the driver protocol, generated from the types of [`crate::wire`].
//!
//! `conformance/schema/driver.json` is this; a test keeps it current.

use fencepost_fixtures::compaction::Compaction;
use fencepost_fixtures::consumer::Consumer;
use fencepost_fixtures::fencing::Fencing;
use fencepost_fixtures::replication::Replication;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::wire::{AnswerLine, Command, HelloLine};

/// The schema: what a driver is asked and what it answers, a line each, for each protocol.
#[must_use]
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let hello = generator.subschema_for::<HelloLine>();
    let commands = [
        generator.subschema_for::<Command<'static, Fencing>>(),
        generator.subschema_for::<Command<'static, Compaction>>(),
        generator.subschema_for::<Command<'static, Replication>>(),
        generator.subschema_for::<Command<'static, Consumer>>(),
    ];
    let answers = [
        generator.subschema_for::<AnswerLine<Fencing>>(),
        generator.subschema_for::<AnswerLine<Compaction>>(),
        generator.subschema_for::<AnswerLine<Replication>>(),
        generator.subschema_for::<AnswerLine<Consumer>>(),
    ];
    let definitions: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The driver protocol of fencepost, version 0",
        "description": "One line each way. `command` is what a driver reads; it answers `hello` with `hello`, `reset` and `step` with `answer`, and `bye` by ending.",
        "type": "object",
        "properties": { "command": { "anyOf": commands }, "hello": hello, "answer": { "anyOf": answers } },
        "$defs": definitions,
    })
}
