//! Each fixture is a test with its id as name: on the reference set to the fixture's own variant it passes as recorded,
//! and under every other variant it passes exactly if the fixture says so in `holds_for`.
//!
//! A fixture with a slip is replayed on the reference with the slip of that name.
//!
//! So a counterexample reproduces under its broken variant, its twin passes under the right one, and a `holds_for` that is
//! wrong is found out whichever way it is wrong.

use fencepost_conformance::fingerprint::oracle;
use fencepost_conformance::implementation::{Implementation as _, Reference, replay_document};
use fencepost_conformance::reference_log::ReferenceLog;
use fencepost_conformance::reference_target::ReferenceTarget;
use fencepost_conformance::replayer::{Replay, Verdict};
use fencepost_conformance::report::terminal;
use fencepost_fixtures::variants;
use fencepost_fixtures::{Document, Protocol, corpus};
use fencepost_reference::{coordinator, storage};
use libtest_mimic::{Arguments, Failed, Trial};

/// Slips of clients: what the coordinator does in their traces is its variant's.
const OF_A_CLIENT: &[&str] = &["commit-without-ownership", "retry-without-listener"];

fn main() {
    let mut tests = vec![Trial::test("every_embedded_fixture_can_be_read", || {
        let broken: Vec<String> = corpus::read().filter_map(Result::err).map(|e| e.to_string()).collect();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
    })];
    let mut documents: Vec<Document> = corpus::all().map(|fixture| fixture.document).collect();
    // The reference has no replica yet.
    documents.retain(|document| document.header().protocol != Protocol::Replication);
    tests.extend(
        documents.into_iter().map(|document| {
            Trial::test(document.header().id.to_string(), move || holds_exactly_where_it_says(&document))
        }),
    );
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// A reference with the slip of this name, if it can make it.
fn slipping(protocol: Protocol, slip: &str) -> Option<Reference> {
    let mut reference = Reference::default();
    match protocol {
        Protocol::Fencing => {
            let mutation = *coordinator::Mutation::ALL.iter().find(|mutation| mutation.name() == slip)?;
            reference.coordinator = ReferenceTarget::with_mutation(mutation);
        }
        Protocol::Compaction => {
            let mutation = *storage::mutation::Mutation::ALL.iter().find(|mutation| mutation.name() == slip)?;
            reference.log = ReferenceLog::with_mutation(mutation);
        }
        Protocol::Replication => return None,
    }
    Some(reference)
}

fn replay(document: &Document, variant: &str, mut reference: Reference) -> Result<Replay, Failed> {
    let hello = reference.hello()?;
    Ok(replay_document(document, &hello, &mut reference, Some(variant)))
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
        // A slip of the coordinator, or of the cleaner, has to look the same in the reference.
        let Some(reference) = slipping(header.protocol, slip) else {
            return Err(format!("the reference knows no slip {slip}").into());
        };
        let verdict = replay(document, &header.variant, reference)?.verdict;
        if verdict != Verdict::Passed {
            return Err(format!(
                "does not reproduce with the slip {slip}:
{}",
                says(document, &verdict)
            )
            .into());
        }
    } else {
        let verdict = replay(document, &header.variant, Reference::default())?.verdict;
        if verdict != Verdict::Passed {
            let variant = &header.variant;
            return Err(format!("does not reproduce under its own {variant}:\n{}", says(document, &verdict)).into());
        }
    }
    for variant in variants::of(header.protocol) {
        let verdict = replay(document, variant.name, Reference::default())?.verdict;
        let expected = header.holds_for.iter().any(|name| name == variant.name);
        match &verdict {
            Verdict::Passed if expected => {}
            // What a function trace does not tell, the age of a file say, decides under some rules.
            Verdict::Failed(_) | Verdict::Inconclusive(_) if !expected => {}
            Verdict::Passed => {
                return Err(format!("passes under {}, which is not in its holds_for", variant.name).into());
            }
            other => {
                return Err(format!("is said to hold for {}:\n{}", variant.name, says(document, other)).into());
            }
        }
    }
    let oracle = oracle(header.protocol).unwrap_or_default();
    let twin_holds = header.twin.as_ref().and_then(corpus::find).is_none_or(|twin| {
        let twin = twin.document;
        header.holds_for.iter().any(|name| name == oracle) || twin.header().holds_for.iter().any(|name| name == oracle)
    });
    if twin_holds { Ok(()) } else { Err("neither it nor its twin holds under the right rules".into()) }
}
