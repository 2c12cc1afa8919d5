//! Each fixture is a test with its id as name: on the reference set to the fixture's own variant it passes as recorded,
//! and under every other variant it passes exactly if the fixture says so in `holds_for`.
//!
//! A fixture with a slip is replayed on the reference with the slip of that name.
//!
//! So a counterexample reproduces under its broken variant, its twin passes under the right one, and a `holds_for` that is
//! wrong is found out whichever way it is wrong.

use std::collections::BTreeSet;

use fencepost_conformance::fingerprint::oracle;
use fencepost_conformance::implementation::{Implementation as _, Reference, replay_document};
use fencepost_conformance::replayer::{Replay, Verdict};
use fencepost_conformance::report::terminal;
use fencepost_conformance::target::Settings;
use fencepost_fixtures::names::BrokerName;
use fencepost_fixtures::replication::CONTROLLER;
use fencepost_fixtures::trace::{Body, Trace};
use fencepost_fixtures::variants;
use fencepost_fixtures::{Document, Protocol, corpus};
use fencepost_reference::{client, coordinator, replica, storage};
use libtest_mimic::{Arguments, Failed, Trial};

/// Slips of clients: what the coordinator does in their traces is its variant's.
const OF_A_CLIENT: &[&str] = &["commit-without-ownership", "retry-without-listener"];

fn main() {
    let mut tests = vec![Trial::test("every_embedded_fixture_can_be_read", || {
        let broken: Vec<String> = corpus::read().filter_map(Result::err).map(|e| e.to_string()).collect();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("\n").into()) }
    })];
    let documents: Vec<Document> = corpus::all().map(|fixture| fixture.document).collect();
    tests.extend(
        documents.into_iter().map(|document| {
            Trial::test(document.header().id.to_string(), move || holds_exactly_where_it_says(&document))
        }),
    );
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// Whether the reference can make the slip of this name.
fn can_slip(protocol: Protocol, slip: &str) -> bool {
    match protocol {
        Protocol::Fencing => coordinator::Mutation::ALL.iter().any(|mutation| mutation.name() == slip),
        Protocol::Compaction => storage::mutation::Mutation::ALL.iter().any(|mutation| mutation.name() == slip),
        Protocol::Replication => replica::slip::Slip::ALL.iter().any(|known| known.name() == slip),
        Protocol::Consumer => client::slip::Slip::ALL.iter().any(|known| known.name() == slip),
    }
}

fn replay(document: &Document, settings: Settings<'_>) -> Result<Replay, Failed> {
    let mut reference = Reference::default();
    let hello = reference.hello()?;
    Ok(replay_document(document, &hello, &mut reference, settings))
}

/// The places at which a trace of several has steps: of replication the brokers, of consumers the consumer too.
fn driven(document: &Document) -> BTreeSet<BrokerName> {
    match document {
        Document::Replication(Trace { body: Body::Behaviour(behaviour), .. }) => {
            let places = behaviour.steps.iter().filter_map(|step| step.at.clone());
            places.filter(|place| place.as_str() != CONTROLLER).collect()
        }
        Document::Consumer(Trace { body: Body::Behaviour(behaviour), .. }) => {
            behaviour.steps.iter().filter_map(|step| step.at.clone()).collect()
        }
        _ => BTreeSet::new(),
    }
}

fn says(document: &Document, verdict: &Verdict) -> String {
    match verdict {
        Verdict::Failed(failure) => terminal::failure(&document.header().id, failure),
        other => format!("{other:?}"),
    }
}

fn holds_exactly_where_it_says(document: &Document) -> Result<(), Failed> {
    let header = document.header();
    let own = header.mutant.as_deref().filter(|slip| !OF_A_CLIENT.contains(slip));
    if own.is_some_and(|slip| !can_slip(header.protocol, slip)) {
        return Err(format!("the reference knows no slip {}", own.unwrap_or_default()).into());
    }
    // A slip of the coordinator, of the cleaner, of a broker or of a client has to look the same in the reference. A trace of several
    // brokers has to be met by each of them alone as well, with the messages of the others as recorded.
    let alone = driven(document);
    for only in std::iter::once(None).chain(alone.iter().map(Some)) {
        let settings = Settings { variant: Some(&header.variant), slip: own, only };
        let verdict = replay(document, settings)?.verdict;
        if verdict != Verdict::Passed {
            let slip = own.map(|slip| format!(" with the slip {slip}")).unwrap_or_default();
            let at = only.map(|broker| format!(" at {broker} alone")).unwrap_or_default();
            let said = says(document, &verdict);
            return Err(format!("does not reproduce under its own {}{slip}{at}:\n{said}", header.variant).into());
        }
    }
    for variant in variants::of(header.protocol) {
        let verdict = replay(document, Settings { variant: Some(variant.name), ..Settings::default() })?.verdict;
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
        let twin = twin.document.header().clone();
        let holds = |name: &str| header.holds_for.iter().chain(&twin.holds_for).any(|known| known == name);
        // What was weighed for consumers, and each slip of one, is held against what mends it alone: the twin is of rules
        // that the trace fails, or of the same rules without the slip.
        let mended = header.mutant.is_some() || !header.holds_for.contains(&twin.variant);
        holds(oracle) || header.protocol == Protocol::Consumer && mended && twin.holds_for.contains(&twin.variant)
    });
    if twin_holds { Ok(()) } else { Err("neither it nor its twin holds under the right rules".into()) }
}
