//! Replays one trace on one target and compares: no process, no clock, no output.
//!
//! Setup operations are only done; an error there fails the trace in its setup. `start` is compared as step 0. In each
//! step the answer, what was sent and what was completed are complete; the state is partial by entity and complete
//! within one. Refusals are asked in order after the state was read, and after the last it is read again and must be the
//! same. The first wrong step ends the trace (docs/fixture-format.md).
//!
//! What the target can't see is counted. A trace *passes* if all that the target can see agrees and its decisive step was
//! compared; it is *inconclusive* if that could not be.
//!
//! | part | file |
//! |---|---|
//! | what it came to | `verdict` |
//! | one step's output against the trace's | `comparing` |
//! | what must be refused after it | `refusals` |

mod comparing;
mod refusals;
mod verdict;

use std::collections::BTreeSet;
use std::fmt::Display;

use fencepost_fixtures::TraceId;
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::trace::{Behaviour, Body, Function, Step, Trace};

use crate::relay::Relay;
use crate::replayable::{Difference, Replayable};
use crate::target::{
    Action, Answered, Decision, Fault, Feature, Hello, Input, Kind, Place, Prepared, Question, Ready, Reply, Reset,
    Settings, Target, Unseen,
};

use comparing::compare_wire;
pub(crate) use comparing::expected_phrase;
pub use verdict::{Breakdown, Counts, Failure, PastStep, Replay, Verdict};

/// Replays `trace` on `target`, which said `hello`, set to `settings`.
pub fn replay<V: Replayable>(
    trace: &Trace<V>,
    hello: &Hello,
    target: &mut dyn Target<V>,
    settings: Settings<'_>,
) -> Replay {
    let planned = planned(trace);
    let id = &trace.header.id;
    let mut run = Run {
        id,
        hello,
        target,
        settings,
        relay: Relay::new(),
        unseen: unseen(hello),
        compared: Counts::default(),
        operations: 0,
        before: Vec::new(),
    };
    let end = if hello.protocols.contains(&V::PROTOCOL) {
        match &trace.body {
            Body::Function(function) => run.function(function),
            Body::Behaviour(behaviour) => {
                let decisive = trace.header.decisive.unwrap_or(behaviour.steps.len());
                run.reset(behaviour).and_then(|shift| match shift {
                    0 => run.behaviour(behaviour, decisive),
                    by => run.behaviour(&V::shift(behaviour, by), decisive),
                })
            }
        }
    } else {
        Err(End::Inconclusive(format!("the target does not have {}", V::PROTOCOL)))
    };
    let verdict = match end {
        Ok(()) => Verdict::Passed,
        Err(End::Wrong(failure)) => Verdict::Failed(failure),
        Err(End::Inconclusive(reason)) => Verdict::Inconclusive(reason),
        Err(End::Broken(breakdown)) => Verdict::Broken(breakdown),
    };
    let compared = run.compared;
    let not_compared = Counts {
        answers: planned.answers.saturating_sub(compared.answers),
        refusals: planned.refusals.saturating_sub(compared.refusals),
        states: planned.states.saturating_sub(compared.states),
        functions: planned.functions.saturating_sub(compared.functions),
    };
    Replay { verdict, compared, not_compared, operations: run.operations }
}

/// What the target can't show of a state, by what it says of itself.
fn unseen(hello: &Hello) -> BTreeSet<Unseen> {
    let mut unseen = hello.unseen.clone();
    if !hello.features.contains(&Feature::AssignmentEpochs) {
        unseen.insert(Unseen::AssignmentEpochs);
    }
    unseen
}

/// A trace for which no target could be started.
pub(crate) fn not_started(fault: Fault) -> Replay {
    Replay {
        verdict: Verdict::Broken(Box::new(Breakdown { at: None, fault })),
        compared: Counts::default(),
        not_compared: Counts::default(),
        operations: 0,
    }
}

/// How many expectations a trace has.
#[must_use]
pub fn planned<V: Replayable>(trace: &Trace<V>) -> Counts {
    match &trace.body {
        Body::Function(_) => Counts { functions: 1, ..Counts::default() },
        Body::Behaviour(behaviour) => {
            let mut counts = Counts { states: 1, ..Counts::default() };
            for step in &behaviour.steps {
                counts.answers += 1;
                counts.refusals += step.refuse.len();
                counts.states += usize::from(step.state.is_some()) + usize::from(!step.refuse.is_empty());
            }
            counts
        }
    }
}

/// Why a trace ended before its last step.
enum End {
    Wrong(Box<Failure>),
    Inconclusive(String),
    Broken(Box<Breakdown>),
}

impl End {
    fn broken(at: Place, fault: Fault) -> Self {
        Self::Broken(Box::new(Breakdown { at: Some(at), fault }))
    }
}

struct Run<'a, V: Replayable> {
    id: &'a TraceId,
    hello: &'a Hello,
    target: &'a mut dyn Target<V>,
    settings: Settings<'a>,
    relay: Relay<V>,
    unseen: BTreeSet<Unseen>,
    compared: Counts,
    operations: usize,
    before: Vec<PastStep>,
}

impl<V: Replayable> Run<'_, V> {
    fn has(&self, kind: Kind) -> bool {
        self.hello.kinds.contains(&kind)
    }

    fn has_feature(&self, feature: Feature) -> bool {
        self.hello.features.contains(&feature)
    }

    /// Whether the steps of this place go to the target.
    fn drives(&self, place: &BrokerName) -> bool {
        match self.settings.only {
            Some(only) => place == only,
            None => V::place_needs(place).is_none_or(|feature| self.has_feature(feature)),
        }
    }

    fn function(&mut self, function: &Function<V>) -> Result<(), End> {
        if !self.has(Kind::Function) {
            return Err(End::Inconclusive("the target has no functions to call".to_owned()));
        }
        if let Some(feature) = V::call_lacks(function, &self.hello.features) {
            return Err(End::Inconclusive(format!("the target does not have the feature `{feature}`")));
        }
        let question =
            Question { trace: self.id, given: &function.given, call: &function.call, settings: self.settings };
        let at = Place::step(1);
        let decision = self.target.call(&question).map_err(|fault| End::broken(at, fault))?;
        self.operations += 1;
        let (equal, got) = match (&decision, &function.outcome) {
            (Decision::Skipped(reason), _) => {
                return Err(End::Inconclusive(format!("the target skipped it: {reason}")));
            }
            (Decision::Outcome(got), expected) => {
                let visible = |outcome| V::visible_outcome(outcome, &self.unseen);
                (expected.as_ref().is_ok_and(|expected| visible(expected) == visible(got)), V::outcome_phrase(got))
            }
            (Decision::Error(got), expected) => {
                (expected.as_ref().is_err_and(|expected| expected.name() == got), format!("error {got}"))
            }
        };
        self.compared.functions += 1;
        if equal {
            return Ok(());
        }
        let expected = match &function.outcome {
            Ok(outcome) => V::outcome_phrase(outcome),
            Err(error) => format!("error {error}"),
        };
        Err(End::Wrong(Box::new(Failure {
            at,
            steps: 0,
            doing: V::call_phrase(&function.call),
            differences: vec![Difference { part: "outcome".to_owned(), expected, got }],
            before: Vec::new(),
            state_before: V::given_phrases(&function.given),
            state_at: None,
        })))
    }

    /// Makes an empty system, and says by how much its epochs are above those of the trace.
    fn reset(&mut self, behaviour: &Behaviour<V>) -> Result<i32, End> {
        if !self.has(Kind::Wire) && !self.has(Kind::State) {
            return Err(End::Inconclusive("the target has functions only".to_owned()));
        }
        if let Some(feature) = V::configure_lacks(&behaviour.configure, &self.hello.features) {
            return Err(lacks(feature, "the configuration"));
        }
        let brokers = V::brokers(&behaviour.configure);
        if brokers > 1 && self.settings.only.is_none() && !self.has_feature(Feature::Cluster) {
            return Err(End::Inconclusive("the target has one broker: choose which it is with --at".to_owned()));
        }
        let reset = Reset { trace: self.id, configure: &behaviour.configure, settings: self.settings };
        match self.target.reset(&reset).map_err(|fault| End::Broken(Box::new(Breakdown { at: None, fault })))? {
            Ready::Ok(Prepared { first_epoch, unseen }) => {
                self.unseen.extend(unseen);
                Ok(first_epoch.unwrap_or(self.hello.first_epoch).saturating_sub(1))
            }
            Ready::Skipped(reason) => Err(End::Inconclusive(format!("the target can't be reset to this: {reason}"))),
        }
    }

    fn behaviour(&mut self, behaviour: &Behaviour<V>, decisive: usize) -> Result<(), End> {
        let decisive = self.decisive(behaviour, decisive)?;
        self.setup(behaviour)?;
        let mut state = self.start(behaviour)?.map(|state| (0, state));
        let mut decided = decisive == 0 && self.has(Kind::State);
        for (step, number) in behaviour.steps.iter().zip(1..) {
            if let Some(place) = step.at.as_ref().filter(|place| !self.drives(place)) {
                self.relay.note(place, step, None);
                continue;
            }
            let missing = V::operation_lacks(&step.operation, &behaviour.configure, &self.hello.features);
            if let Some(feature) = missing {
                return if decided { Ok(()) } else { Err(lacks(feature, &format!("step {number}"))) };
            }
            match self.step(behaviour, step, number, &mut state)? {
                Stepped::Compared => decided |= number == decisive,
                Stepped::Unseen => {}
                Stepped::Skipped(_) if decided => return Ok(()),
                Stepped::Skipped(reason) => {
                    return Err(End::Inconclusive(format!("the target skipped step {number}: {reason}")));
                }
            }
        }
        if decided {
            Ok(())
        } else {
            Err(End::Inconclusive(format!("what is decisive, step {decisive}, can't be seen of this target")))
        }
    }

    /// The step that has to be compared. Where only one broker is driven that is its last one.
    fn decisive(&self, behaviour: &Behaviour<V>, decisive: usize) -> Result<usize, End> {
        let Some(only) = self.settings.only else {
            return Ok(decisive);
        };
        let at_it = |step: &Step<V>| step.at.as_ref() == Some(only);
        match behaviour.steps.iter().rposition(at_it) {
            Some(last) => Ok(last + 1),
            None => Err(End::Inconclusive(format!("no step of the trace is at {only}"))),
        }
    }

    fn setup(&mut self, behaviour: &Behaviour<V>) -> Result<(), End> {
        for (operation, number) in behaviour.setup.iter().zip(1..) {
            if let Some(feature) = V::setup_lacks(operation, &behaviour.configure, &self.hello.features) {
                return Err(lacks(feature, "the setup"));
            }
            let at = Place::within(0, number);
            let reply = self.ask(at, Action::Setup(operation), false)?;
            match reply.answered {
                Answered::Nothing | Answered::Answer(_) => {}
                Answered::Skipped(reason) => {
                    return Err(End::Inconclusive(format!("the target skipped {at}: {reason}")));
                }
                Answered::Error(error) => {
                    return Err(self.wrong(
                        behaviour,
                        at,
                        V::setup_phrase(operation),
                        vec![Difference {
                            part: "answer".to_owned(),
                            expected: "no error in its setup".to_owned(),
                            got: format!("error {error}"),
                        }],
                        None,
                    ));
                }
            }
        }
        Ok(())
    }

    /// Compares the state after the setup, and returns it as it was read.
    fn start(&mut self, behaviour: &Behaviour<V>) -> Result<Option<V::State>, End> {
        if !self.has(Kind::State) {
            return Ok(None);
        }
        let reply = self.ask(Place::START, Action::Observe, true)?;
        let Some(state) = reply.state else {
            return Err(no_state(Place::START));
        };
        self.compared.states += 1;
        let expected = V::state_at(&behaviour.start, &|place| self.drives(place));
        let differences = V::differences(&expected, &state, &self.unseen);
        if differences.is_empty() {
            Ok(Some(state))
        } else {
            let doing = "the state after the setup".to_owned();
            Err(self.wrong(behaviour, Place::START, doing, differences, None))
        }
    }

    fn step(
        &mut self,
        behaviour: &Behaviour<V>,
        step: &Step<V>,
        number: usize,
        state: &mut Option<(usize, V::State)>,
    ) -> Result<Stepped, End> {
        let (wire, sees) = (self.has(Kind::Wire), self.has(Kind::State));
        let at = Place::step(number);
        let observe = sees && (step.state.is_some() || (wire && !step.refuse.is_empty()));
        let message = match &step.at {
            Some(place) => self
                .relay
                .delivery(place, &step.operation)
                .map_err(|error| End::Inconclusive(format!("the trace is broken at {at}: {error}")))?,
            None => None,
        };
        let action = Action::Operation(&step.operation);
        let input = Input { trace: self.id, at, broker: step.at.as_ref(), action, message, observe };
        let reply = self.target.step(&input).map_err(|fault| End::broken(at, fault))?;
        self.operations += 1;
        if let Answered::Skipped(reason) = reply.answered {
            return Ok(Stepped::Skipped(reason));
        }
        let mut differences = Vec::new();
        let mut compared = false;
        if wire {
            self.compared.answers += 1;
            compared = true;
            compare_wire(step, &reply, &self.hello.features, &mut differences);
        }
        if observe {
            let Some(got) = &reply.state else {
                return Err(no_state(at));
            };
            if let Some(expected) = &step.state {
                self.compared.states += 1;
                compared = true;
                let expected = V::state_at(expected, &|place| self.drives(place));
                differences.extend(V::differences(&expected, got, &self.unseen));
            }
        }
        if !differences.is_empty() {
            let before = state.as_ref().map(|(step, state)| (*step, state));
            return Err(self.wrong(behaviour, at, V::operation_phrase(&step.operation), differences, before));
        }
        if let Some(read) = &reply.state {
            *state = Some((number, read.clone()));
        }
        if let Some(place) = &step.at {
            self.relay.note(place, step, Some(&reply));
        }
        if wire && !step.refuse.is_empty() {
            let asked = self.refusals(behaviour, step, number, reply.state.as_ref())?;
            // A step whose refusals were all left out was not compared in what it is for.
            compared &= asked;
        }
        Ok(if compared { Stepped::Compared } else { Stepped::Unseen })
    }

    fn ask(&mut self, at: Place, action: Action<'_, V>, observe: bool) -> Result<Reply<V>, End> {
        let input = Input { trace: self.id, at, broker: None, action, message: None, observe };
        let reply = self.target.step(&input).map_err(|fault| End::broken(at, fault))?;
        self.operations += usize::from(!matches!(input.action, Action::Observe));
        Ok(reply)
    }

    fn past(&mut self, number: usize, step: &Step<V>) {
        self.before.push(PastStep {
            step: number,
            doing: V::operation_phrase(&step.operation),
            answered: expected_phrase(step),
        });
    }

    /// The end of a trace at its first wrong step. The steps before agreed, so what they answered is what the trace has.
    fn wrong(
        &mut self,
        behaviour: &Behaviour<V>,
        at: Place,
        doing: String,
        differences: Vec<Difference>,
        state: Option<(usize, &V::State)>,
    ) -> End {
        let mut before: Vec<PastStep> = (behaviour.steps.iter().zip(1..))
            .take(at.step.saturating_sub(1))
            .map(|(step, number)| PastStep {
                step: number,
                doing: V::operation_phrase(&step.operation),
                answered: expected_phrase(step),
            })
            .collect();
        before.append(&mut self.before);
        let (state_at, state_before) =
            state.map_or((None, Vec::new()), |(step, state)| (Some(step), V::state_phrases(state)));
        let steps = behaviour.steps.len();
        End::Wrong(Box::new(Failure { at, steps, doing, differences, before, state_before, state_at }))
    }
}

enum Stepped {
    Compared,
    Unseen,
    Skipped(String),
}

fn lacks(feature: impl Display, whence: &str) -> End {
    End::Inconclusive(format!("{whence} needs the feature `{feature}`, which the target does not have"))
}

fn no_state(at: Place) -> End {
    let message = format!(
        "no state came at {at}, although it was asked for; answer `state` wherever `observe` is true, or leave `state` \
         out of the kinds in hello"
    );
    End::broken(at, Fault::broken(message))
}
