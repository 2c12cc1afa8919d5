//! For which rules a trace holds: the model's own coordinator replays it.

use fencepost_fixtures::fencing::{FailOver, MemberState, Operation, State};
use fencepost_fixtures::variants::FencingRules;

use super::super::interpreter::{Interpreter, Reply};
use super::super::mutant::Mutant;
use super::Behaved;

/// Whether a rule set meets every expectation of a behaviour.
pub fn meets(behaviour: &Behaved, rules: FencingRules, mutant: Mutant) -> Result<bool, String> {
    let over = |operation: &Operation| matches!(operation, Operation::FailOver(FailOver { variant: Some(_) }));
    let mixed = behaviour.steps.iter().any(|step| over(&step.operation));
    let mut interpreter = Interpreter::new(&behaviour.configure, rules, mutant, mixed)?;
    for operation in &behaviour.setup {
        if interpreter.apply(operation)?.error.is_some() {
            return Ok(false);
        }
    }
    if !shows(&interpreter, &behaviour.start) {
        return Ok(false);
    }
    for step in &behaviour.steps {
        let quiet = matches!(
            step.operation,
            Operation::Target(_) | Operation::Expire(_) | Operation::Replicate(_) | Operation::FailOver(_)
        );
        let Reply { answer, error, completes, .. } = interpreter.apply(&step.operation)?;
        let answer = if quiet { None } else { answer };
        if answer != step.answer || error != step.error || completes != step.completes {
            return Ok(false);
        }
        if step.state.as_ref().is_some_and(|expected| !shows(&interpreter, expected)) {
            return Ok(false);
        }
        for refusal in &step.refuse {
            if interpreter.clone().apply(&refusal.operation)?.error != Some(refusal.error) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

/// Whether what can be observed is what is expected: partial by entity, complete within one. Of a broker that keeps no
/// assignment epochs only the partitions are compared.
fn shows(interpreter: &Interpreter, expected: &State) -> bool {
    let seen = interpreter.observe();
    let epochs = interpreter.shows_assignment_epochs();
    let alike = |one: &MemberState, other: &MemberState| {
        one.epoch == other.epoch
            && one.state == other.state
            && if epochs {
                one.assigned == other.assigned && one.pending_revocation == other.pending_revocation
            } else {
                one.assigned.keys().eq(other.assigned.keys())
                    && one.pending_revocation.keys().eq(other.pending_revocation.keys())
            }
    };
    (expected.group.is_none() || expected.group == seen.group)
        && (expected.offsets.is_none() || expected.offsets == seen.offsets)
        && (expected.staged.is_none() || expected.staged == seen.staged)
        && expected.members.iter().all(|(member, state)| {
            match (seen.members.get(member).and_then(Option::as_ref), state) {
                (Some(found), Some(state)) => alike(found, state),
                (found, state) => found.is_none() && state.is_none(),
            }
        })
}
