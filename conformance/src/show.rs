//! A trace for a reader: as numbered steps, as a sequence diagram, or as it is written.

use std::fmt::{self, Write as _};

use fencepost_fixtures::trace::{Behaviour, Body, Function, Header, Trace};
use fencepost_fixtures::yaml::YamlError;
use fencepost_fixtures::{Document, reader};

use crate::replayable::Replayable;
use crate::replayer::expected_phrase;

/// The form in which a trace is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Form {
    /// Numbered steps
    Text,
    /// A sequence diagram in Mermaid's language
    Mermaid,
    /// The trace as it is written
    Yaml,
}

/// Shows a trace.
pub fn show(document: &Document, form: Form) -> Result<String, YamlError> {
    match (form, document) {
        (Form::Text, Document::Fencing(trace)) => Ok(text(trace)),
        (Form::Mermaid, Document::Fencing(trace)) => Ok(mermaid(trace)),
        (Form::Text, Document::Compaction(trace)) => Ok(text(trace)),
        (Form::Mermaid, Document::Compaction(trace)) => Ok(mermaid(trace)),
        (Form::Text, Document::Replication(trace)) => Ok(text(trace)),
        (Form::Mermaid, Document::Replication(trace)) => Ok(mermaid(trace)),
        (Form::Text, Document::Consumer(trace)) => Ok(text(trace)),
        (Form::Mermaid, Document::Consumer(trace)) => Ok(mermaid(trace)),
        (Form::Yaml, _) => reader::to_yaml(document),
    }
}

/// A trace as numbered steps; the decisive one is marked.
#[must_use]
pub fn text<V: Replayable>(trace: &Trace<V>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_header(&mut out, &trace.header).and_then(|()| match &trace.body {
        Body::Behaviour(behaviour) => write_behaviour(&mut out, behaviour, trace.header.decisive),
        Body::Function(function) => write_function(&mut out, function),
    });
    out
}

fn write_header(out: &mut String, header: &Header) -> fmt::Result {
    writeln!(out, "{}", header.id)?;
    writeln!(out, "{}", header.title)?;
    writeln!(out)?;
    let slip = header.mutant.as_ref().map(|slip| format!(" with the slip {slip}")).unwrap_or_default();
    writeln!(out, "recorded under  {}{slip}", header.variant)?;
    let holds_for = if header.holds_for.is_empty() { "no variant".to_owned() } else { header.holds_for.join(", ") };
    writeln!(out, "holds for       {holds_for}")?;
    if !header.rests_on.is_empty() {
        writeln!(out, "rests on        {}", header.rests_on.join(", "))?;
    }
    if let Some(twin) = &header.twin {
        writeln!(out, "twin            {twin}")?;
    }
    writeln!(out)
}

fn write_behaviour<V: Replayable>(out: &mut String, behaviour: &Behaviour<V>, decisive: Option<usize>) -> fmt::Result {
    if !behaviour.setup.is_empty() {
        writeln!(out, "setup")?;
        for (operation, number) in behaviour.setup.iter().zip(1..) {
            writeln!(out, "  {number:>3}  {}", V::setup_phrase(operation))?;
        }
    }
    writeln!(out, "start{}", if decisive == Some(0) { "   <- decisive" } else { "" })?;
    for line in V::state_phrases(&behaviour.start) {
        writeln!(out, "         {line}")?;
    }
    writeln!(out, "steps")?;
    for (step, number) in behaviour.steps.iter().zip(1..) {
        let at = step.at.as_ref().map(|broker| format!("at {broker}: ")).unwrap_or_default();
        let mark = if decisive == Some(number) { "   <- decisive" } else { "" };
        let answered = match expected_phrase(step).as_str() {
            "no answer" => String::new(),
            answered => format!(" -> {answered}"),
        };
        writeln!(out, "  {number:>3}  {at}{}{answered}{mark}", V::operation_phrase(&step.operation))?;
        for (name, message) in &step.sends {
            writeln!(out, "         sends {name}: {}", V::message_phrase(message))?;
        }
        for (name, completion) in &step.completes {
            writeln!(out, "         completes {name}: {}", V::completion_phrase(completion))?;
        }
        for line in step.state.iter().flat_map(|state| V::state_phrases(state)) {
            writeln!(out, "         {line}")?;
        }
        for refusal in &step.refuse {
            writeln!(out, "         refused: {} -> {}", V::operation_phrase(&refusal.operation), refusal.error)?;
        }
        if let Some(note) = &step.note {
            writeln!(out, "         ({note})")?;
        }
    }
    Ok(())
}

fn write_function<V: Replayable>(out: &mut String, function: &Function<V>) -> fmt::Result {
    writeln!(out, "given")?;
    for line in V::given_phrases(&function.given) {
        writeln!(out, "         {line}")?;
    }
    writeln!(out, "call     {}", V::call_phrase(&function.call))?;
    match &function.outcome {
        Ok(outcome) => writeln!(out, "answer   {}", V::outcome_phrase(outcome)),
        Err(error) => writeln!(out, "error    {error}"),
    }
}

/// A trace as a sequence diagram. A function trace has no sequence; it is a single note.
#[must_use]
pub fn mermaid<V: Replayable>(trace: &Trace<V>) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write_mermaid(&mut out, trace);
    out
}

fn write_mermaid<V: Replayable>(out: &mut String, trace: &Trace<V>) -> fmt::Result {
    let place = V::place();
    writeln!(out, "sequenceDiagram")?;
    writeln!(out, "  %% {}", trace.header.id)?;
    let behaviour = match &trace.body {
        Body::Behaviour(behaviour) => behaviour,
        Body::Function(function) => {
            let outcome = match &function.outcome {
                Ok(outcome) => V::outcome_phrase(outcome),
                Err(error) => error.to_string(),
            };
            writeln!(out, "  participant {place}")?;
            let call = label(&V::call_phrase(&function.call));
            return writeln!(out, "  Note over {place}: {call}<br/>{}", label(&outcome));
        }
    };
    let mut senders: Vec<String> = behaviour.steps.iter().filter_map(|step| V::sender(&step.operation)).collect();
    senders.sort();
    senders.dedup();
    writeln!(out, "  participant {place}")?;
    for sender in &senders {
        writeln!(out, "  participant {}", actor(sender))?;
    }
    for line in V::state_phrases(&behaviour.start) {
        writeln!(out, "  Note over {place}: {}", label(&line))?;
    }
    for (step, number) in behaviour.steps.iter().zip(1..) {
        let doing = label(&V::operation_phrase(&step.operation));
        match V::sender(&step.operation).map(|sender| actor(&sender)) {
            None => writeln!(out, "  Note over {place}: {number}. {doing}")?,
            Some(sender) => {
                writeln!(out, "  {sender}->>{place}: {number}. {doing}")?;
                match (&step.answer, step.error) {
                    (Some(answer), _) => {
                        writeln!(out, "  {place}-->>{sender}: {}", label(&V::answer_phrase(answer)))?;
                    }
                    (None, Some(error)) => writeln!(out, "  {place}--x{sender}: {error}")?,
                    (None, None) => {}
                }
            }
        }
        for (name, completion) in &step.completes {
            let ended = label(&V::completion_phrase(completion));
            writeln!(out, "  Note over {place}: {name} is answered: {ended}")?;
        }
        if trace.header.decisive == Some(number) {
            writeln!(out, "  Note over {place}: decisive")?;
        }
    }
    Ok(())
}

/// A participant's name: what ends a statement in Mermaid's language may not stand in it.
fn actor(name: &str) -> String {
    name.replace(|character: char| !character.is_ascii_alphanumeric(), "_")
}

/// Text of a message: `;` and `#` have a meaning in Mermaid's language.
fn label(text: &str) -> String {
    text.replace('#', "no.").replace(';', ",")
}
