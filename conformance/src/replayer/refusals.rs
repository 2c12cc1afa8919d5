//! The requests that must be refused after a step: each with its exact error, without any other effect, and with the state as
//! it was when all have been asked (docs/fixture-format.md).

use std::collections::BTreeMap;

use fencepost_fixtures::trace::{Behaviour, Refusal, Step};

use super::comparing::{answered_phrase, compare_named, error_phrase};
use super::{End, Run, no_state};
use crate::relay::compare_sends;
use crate::replayable::{Difference, Replayable};
use crate::target::{Action, Answered, Input, Place};

impl<V: Replayable> Run<'_, V> {
    /// Asks what must be refused, looks whether the state stayed as it was, and says whether anything was asked.
    pub(super) fn refusals(
        &mut self,
        behaviour: &Behaviour<V>,
        step: &Step<V>,
        number: usize,
        state: Option<&V::State>,
    ) -> Result<bool, End> {
        let mut asked = false;
        for (refusal, index) in step.refuse.iter().zip(1..) {
            if V::operation_lacks(&refusal.operation, &behaviour.configure, &self.hello.features).is_some()
                || refusal.at.as_ref().is_some_and(|place| !self.drives(place))
            {
                continue;
            }
            let at = Place::within(number, index);
            let Refusal { at: broker, operation, error } = refusal;
            let input = Input {
                trace: self.id,
                at,
                broker: broker.as_ref(),
                action: Action::Operation(operation),
                message: None,
                observe: false,
            };
            let reply = self.target.step(&input).map_err(|fault| End::broken(at, fault))?;
            self.operations += 1;
            if matches!(reply.answered, Answered::Skipped(_)) {
                continue;
            }
            asked = true;
            self.compared.refusals += 1;
            let mut differences = Vec::new();
            if !matches!(&reply.answered, Answered::Error(got) if got == error.name()) {
                differences.push(Difference {
                    part: "answer".to_owned(),
                    expected: error_phrase(*error),
                    got: answered_phrase::<V>(&reply.answered),
                });
            }
            compare_named("completes", &BTreeMap::new(), &reply.completes, V::completion_phrase, &mut differences);
            compare_sends::<V>(&BTreeMap::new(), &reply.sends, &mut differences);
            if !differences.is_empty() {
                self.past(number, step);
                let before = state.map(|state| (number, state));
                return Err(self.wrong(behaviour, at, V::operation_phrase(operation), differences, before));
            }
        }
        let (Some(before), true) = (state, asked) else {
            return Ok(asked);
        };
        let at = Place::step(number);
        let reply = self.ask(at, Action::Observe, true)?;
        let Some(after) = reply.state else {
            return Err(no_state(at));
        };
        self.compared.states += 1;
        if *before == after {
            return Ok(true);
        }
        let mut differences = V::differences(before, &after, &self.unseen);
        if differences.is_empty() {
            // What differs is an entity that only one of the two readings has.
            differences.push(Difference {
                part: "state".to_owned(),
                expected: V::state_phrases(before).join("; "),
                got: V::state_phrases(&after).join("; "),
            });
        }
        for difference in &mut differences {
            difference.part += " after the refusals";
        }
        self.past(number, step);
        let doing = "the state is read again after the refusals, which must leave it as it was".to_owned();
        Err(self.wrong(behaviour, at, doing, differences, state.map(|state| (number, state))))
    }
}
