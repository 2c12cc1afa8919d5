//! Each guard of the coordinator is a claim here: it holds, and the one mutation that undoes the guard breaks it.
//!
//! A claim that no mutation breaks would prove nothing, and a mutation that breaks no claim would be a guard without a test.

#[path = "../group/mod.rs"]
mod group;

mod commits;
mod heartbeats;
mod membership;
mod offsets;
mod reconciling;
mod records;

use fencepost_reference::coordinator::{Mutation, Rules};

/// Whether what the spec promises is seen under these rules.
type Claim = fn(Rules) -> bool;

fn claim(mutation: Mutation) -> Option<Claim> {
    heartbeats::claim(mutation)
        .or_else(|| reconciling::claim(mutation))
        .or_else(|| membership::claim(mutation))
        .or_else(|| commits::claim(mutation))
        .or_else(|| offsets::claim(mutation))
        .or_else(|| records::claim(mutation))
}

#[test]
fn every_mutation_breaks_a_claim_that_holds_without_it() {
    let mut wrong = Vec::new();
    for &mutation in Mutation::ALL {
        let Some(claim) = claim(mutation) else {
            wrong.push(format!("{mutation}: no claim"));
            continue;
        };
        // A claim is broken by an answer, not by a panic: the coordinator must not have any, whatever the slip.
        let holds = |rules: Rules| std::panic::catch_unwind(|| claim(rules));
        match holds(Rules::assignment_epoch_owned()) {
            Ok(true) => {}
            Ok(false) => wrong.push(format!("{mutation}: its claim does not hold without it")),
            Err(_) => wrong.push(format!("{mutation}: its claim panics without it")),
        }
        match holds(Rules::assignment_epoch_owned().with(mutation)) {
            Ok(false) => {}
            Ok(true) => wrong.push(format!("{mutation}: its claim holds with it")),
            Err(_) => wrong.push(format!("{mutation}: its claim panics with it")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_mutation_has_a_name_of_its_own() {
    let names: std::collections::BTreeSet<&str> = Mutation::ALL.iter().map(|mutation| mutation.name()).collect();
    assert_eq!(names.len(), Mutation::ALL.len());
}
