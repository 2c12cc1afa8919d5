//! Each fixture is a test with its id as name: on the reference set to the fixture's own variant it passes as recorded,
//! and under every other variant it passes exactly if the fixture says so in `holds_for`.
//!
//! A fixture with a slip is replayed on the reference with the slip of that name.
//!
//! So a counterexample reproduces under its broken variant, its twin passes under the right one, and a `holds_for` that is
//! wrong is found out whichever way it is wrong.

use fencepost_conformance::fingerprint::oracle;
use fencepost_conformance::implementation::{FencingOnly, replay_document};
use fencepost_conformance::reference_target::ReferenceTarget;
use fencepost_conformance::replayer::{Replay, Verdict};
use fencepost_conformance::report::terminal;
use fencepost_conformance::target::Target as _;
use fencepost_fixtures::{Document, Protocol, corpus, variants};
use fencepost_reference::coordinator::Mutation;
use libtest_mimic::{Arguments, Failed, Trial};

/// Slips of clients: what the coordinator does in their traces is its variant's.
const OF_A_CLIENT: &[&str] = &["commit-without-ownership", "retry-without-listener"];

fn main() {
    let mut tests = vec![Trial::test("every_embedded_fixture_can_be_read", || {
        let broken: Vec<String> = corpus::read().filter_map(Result::err).map(|e| e.to_string()).collect();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
    })];
    let mut documents: Vec<Document> = corpus::all().map(|fixture| fixture.document).collect();
    documents.retain(|document| document.header().protocol == Protocol::Fencing);
    tests.extend(
        documents.into_iter().map(|document| {
            Trial::test(document.header().id.to_string(), move || holds_exactly_where_it_says(&document))
        }),
    );
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

fn replay(document: &Document, variant: &str, mutation: Option<Mutation>) -> Result<Replay, Failed> {
    let mut target = mutation.map_or_else(ReferenceTarget::new, ReferenceTarget::with_mutation);
    let hello = target.hello()?;
    Ok(replay_document(document, &hello, &mut FencingOnly(target), Some(variant)))
}

fn says(document: &Document, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Failed(failure) => terminal::failure(&document.header().id, failure),
        other => format!("{other:?}"),
    }
}

fn holds_exactly_where_it_says(document: &Document) -> Result<(), Failed> {
    let header = document.header();
    if let Some(slip) = header.mutant.as_ref().filter(|slip| !OF_A_CLIENT.contains(&slip.as_str())) {
        // A slip of the coordinator has to look the same in the reference.
        let Some(mutation) = Mutation::ALL.iter().find(|mutation| mutation.name() == slip) else {
            return Err(format!("the reference knows no slip {slip}").into());
        };
        let verdict = replay(document, &header.variant, Some(*mutation))?.verdict;
        if verdict != Verdict::Passed {
            return Err(format!("does not reproduce with the slip {slip}:\n{}", says(document, &verdict)).into());
        }
    } else {
        let verdict = replay(document, &header.variant, None)?.verdict;
        if verdict != Verdict::Passed {
            let variant = &header.variant;
            return Err(format!("does not reproduce under its own {variant}:\n{}", says(document, &verdict)).into());
        }
    }
    for variant in variants::of(Protocol::Fencing) {
        let verdict = replay(document, variant.name, None)?.verdict;
        let expected = header.holds_for.iter().any(|name| name == variant.name);
        match &verdict {
            Verdict::Passed if expected => {}
            Verdict::Failed(_) if !expected => {}
            Verdict::Passed => {
                return Err(format!("passes under {}, which is not in its holds_for", variant.name).into());
            }
            other => {
                return Err(format!("is said to hold for {}:\n{}", variant.name, says(document, other)).into());
            }
        }
    }
    let oracle = oracle(Protocol::Fencing).unwrap_or_default();
    let twin_holds = header.twin.as_ref().and_then(corpus::find).is_none_or(|twin| {
        let twin = twin.document;
        header.holds_for.iter().any(|name| name == oracle) || twin.header().holds_for.iter().any(|name| name == oracle)
    });
    if twin_holds { Ok(()) } else { Err("neither it nor its twin holds under the right rules".into()) }
}
