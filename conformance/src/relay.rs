//! The messages of a trace between its places: what was sent, by whom, and what the target calls it.
//!
//! A trace names a message where it is sent, and delivers it by that name. A target names its own messages as it likes:
//! they are told apart by what they say. A place that is not driven sends what the trace says.

use std::collections::BTreeMap;

use fencepost_fixtures::names::{BrokerName, MessageName};
use fencepost_fixtures::trace::Step;

use crate::replayable::{Difference, MessageUse, Replayable};
use crate::target::{Delivery, Reply};

/// The messages so far.
pub(crate) struct Relay<V: Replayable> {
    /// Each with the name of the trace. The answer to a parked request has the request's own name, and another receiver.
    sent: BTreeMap<(MessageName, BrokerName), Sent<V>>,
}

struct Sent<V: Replayable> {
    from: BrokerName,
    content: V::Message,
    label: Option<MessageName>,
    /// Of an answer: the name of the request, and who sent it.
    reply_to: Option<(MessageName, BrokerName)>,
}

impl<V: Replayable> Relay<V> {
    pub(crate) fn new() -> Self {
        Self { sent: BTreeMap::new() }
    }

    /// The message that the operation at `place` is about. The error is a trace's: it names what was never sent.
    pub(crate) fn delivery(
        &self,
        place: &BrokerName,
        operation: &V::Operation,
    ) -> Result<Option<Delivery<'_, V>>, String> {
        let Some(message_use) = V::message_use(operation) else {
            return Ok(None);
        };
        let found = match message_use {
            MessageUse::Arrives(name) => self.sent.get(&(name.clone(), place.clone())),
            MessageUse::GivenUp(name) => self
                .sent
                .iter()
                .find(|((sent, _), message)| sent == name && message.from == *place && message.reply_to.is_none())
                .map(|(_, message)| message),
        };
        let Some(sent) = found else {
            let (MessageUse::Arrives(name) | MessageUse::GivenUp(name)) = message_use;
            return Err(format!("no earlier step sends the message {name} to or from {place}"));
        };
        let reply_to = sent
            .reply_to
            .as_ref()
            .and_then(|request| self.sent.get(request))
            .and_then(|request| request.label.as_ref());
        Ok(Some(Delivery { from: &sent.from, label: sent.label.as_ref(), reply_to, content: &sent.content }))
    }

    /// Takes note of what a step sends, as the trace has it; `reply` is the target's, where it was asked. Its messages
    /// have been compared.
    pub(crate) fn note(&mut self, place: &BrokerName, step: &Step<V>, reply: Option<&Reply<V>>) {
        let request = match V::message_use(&step.operation) {
            Some(MessageUse::Arrives(name)) => Some((name.clone(), place.clone())),
            _ => None,
        };
        let mut labels: Vec<(&MessageName, &V::Message)> =
            reply.map(|reply| reply.sends.iter().collect()).unwrap_or_default();
        for (name, message) in &step.sends {
            let place_of = labels.iter().position(|(_, got)| *got == message);
            let label = place_of.map(|found| labels.remove(found).0.clone());
            let reply_to = request.clone().filter(|_| V::is_reply(message));
            let sent = Sent { from: place.clone(), content: message.clone(), label, reply_to };
            self.sent.insert((name.clone(), V::receiver(message).clone()), sent);
        }
        for (name, completion) in &step.completes {
            if let Some(content) = V::completed_message(completion) {
                let reply_to = Some((name.clone(), place.clone()));
                let receiver = V::receiver(&content).clone();
                let sent = Sent { from: place.clone(), content, label: None, reply_to };
                self.sent.insert((name.clone(), receiver), sent);
            }
        }
    }
}

/// How the messages that were sent differ from those expected: by what they say, since a target names its own.
pub(crate) fn compare_sends<V: Replayable>(
    expected: &BTreeMap<MessageName, V::Message>,
    got: &BTreeMap<MessageName, V::Message>,
    differences: &mut Vec<Difference>,
) {
    let mut unexpected: Vec<&V::Message> = got.values().collect();
    let mut missing = Vec::new();
    for (name, message) in expected {
        match unexpected.iter().position(|got| *got == message) {
            Some(found) => {
                unexpected.remove(found);
            }
            None => missing.push((name, message)),
        }
    }
    let mut unexpected = unexpected.into_iter();
    let nothing = || "nothing".to_owned();
    for (name, message) in missing {
        differences.push(Difference {
            part: format!("sends {name}"),
            expected: V::message_phrase(message),
            got: unexpected.next().map_or_else(nothing, V::message_phrase),
        });
    }
    for message in unexpected {
        differences.push(Difference { part: "sends".to_owned(), expected: nothing(), got: V::message_phrase(message) });
    }
}
