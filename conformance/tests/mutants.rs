//! Breaks one rule of the reference at a time and shows which fixtures catch it: a test for each slip, and the table
//! `docs/mutants.md`, which is checked to be current. `FENCEPOST_BLESS=1 cargo test -p fencepost-conformance --test mutants`
//! writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use fencepost_conformance::implementation::{Implementation as _, Reference, replay_document};
use fencepost_conformance::replayer::Verdict;
use fencepost_conformance::target::Settings;
use fencepost_fixtures::{Document, Protocol, corpus};
use fencepost_reference::{client, coordinator, replica, storage};
use libtest_mimic::{Arguments, Failed, Trial};

/// The slips that no trace can show, each with its reason.
const OUT_OF_REACH: &[(&str, &str)] = &[
    ("rebalance-timer-restarted", "a trace fires timers by name and has no clock, so it can't see when one was armed"),
    ("session-not-restarted", "a trace fires timers by name and has no clock, so it can't see when one was armed"),
    ("producer-epoch-not-checked", "a producer of a trace has no epoch of its own"),
    ("high-watermark-after-leadership", "a trace has one coordinator at a time"),
    ("groups-ignore-offset-range", "no trace has 2^31 offsets in a segment"),
    ("empty-segments-not-merged", "no trace has 2^31 offsets in a segment"),
    ("oversized-batch-fails", "a trace sets no `max.message.bytes`"),
    ("inner-magic-ignored", "no trace has a compressed batch of an old format with another one inside"),
    ("other-control-discarded", "a trace has no control records but markers"),
    ("empty-value-is-tombstone", "a value of a trace is a name, and no name is empty"),
    (
        "bound-below-first-dirty",
        "a range that is empty and one that ends before it begins are the same to a trace: no round",
    ),
    ("old-files-deleted-last-first", "only its own counterexamples tell it from the right rules"),
    ("uncleanable-not-marked", "a trace has no round that fails"),
    ("later-epoch-appended", "a leader that fences has no records of a later epoch than the request's"),
];

/// One rule of the reference, broken on purpose.
#[derive(Clone, Copy, Debug)]
enum Slip {
    Coordinator(coordinator::Mutation),
    Log(storage::mutation::Mutation),
    Broker(replica::slip::Slip),
    Client(client::slip::Slip),
}

impl Slip {
    /// Every slip of the protocols that the reference has, in the order of the table.
    fn all() -> Vec<Self> {
        let coordinator = coordinator::Mutation::ALL.iter().copied().map(Self::Coordinator);
        let log = storage::mutation::Mutation::ALL.iter().copied().map(Self::Log);
        let broker = replica::slip::Slip::ALL.iter().copied().map(Self::Broker);
        let client = client::slip::Slip::ALL.iter().copied().map(Self::Client);
        coordinator.chain(log).chain(broker).chain(client).collect()
    }

    fn name(self) -> &'static str {
        match self {
            Self::Coordinator(mutation) => mutation.name(),
            Self::Log(mutation) => mutation.name(),
            Self::Broker(slip) => slip.name(),
            Self::Client(slip) => slip.name(),
        }
    }

    fn protocol(self) -> Protocol {
        match self {
            Self::Coordinator(_) => Protocol::Fencing,
            Self::Log(_) => Protocol::Compaction,
            Self::Broker(_) => Protocol::Replication,
            Self::Client(_) => Protocol::Consumer,
        }
    }
}

fn main() {
    let documents: Arc<Vec<Document>> = Arc::new(corpus::all().map(|fixture| fixture.document).collect());
    let mut tests: Vec<Trial> = Slip::all()
        .into_iter()
        .map(|slip| {
            let documents = Arc::clone(&documents);
            Trial::test(format!("{}/{}", slip.protocol(), slip.name()), move || is_caught(slip, &documents))
        })
        .collect();
    tests.push(Trial::test("the_table_of_mutants_is_current", move || table_is_current(&documents)));
    libtest_mimic::run(&Arguments::from_args(), tests).exit();
}

/// The ids of the fixtures that fail on a reference which makes this slip, the shortest first.
fn caught_by(slip: Slip, documents: &[Document]) -> Vec<String> {
    let mut caught: Vec<(usize, String)> = documents
        .iter()
        .filter(|document| document.header().protocol == slip.protocol() && document.header().mutant.is_none())
        .filter_map(|document| {
            let mut reference = Reference::default();
            let hello = reference.hello().ok()?;
            let settings = Settings { slip: Some(slip.name()), ..Settings::default() };
            let replay = replay_document(document, &hello, &mut reference, settings);
            let length = replay.compared.total() + replay.not_compared.total();
            match replay.verdict {
                Verdict::Failed(_) | Verdict::Broken(_) => Some((length, document.header().id.to_string())),
                Verdict::Passed | Verdict::Inconclusive(_) => None,
            }
        })
        .collect();
    caught.sort();
    caught.into_iter().map(|(_, id)| id).collect()
}

fn is_caught(slip: Slip, documents: &[Document]) -> Result<(), Failed> {
    let out_of_reach = OUT_OF_REACH.iter().find(|(name, _)| *name == slip.name());
    match (caught_by(slip, documents).first(), out_of_reach) {
        (Some(_), None) | (None, Some(_)) => Ok(()),
        (Some(by), Some((_, reason))) => {
            Err(format!("is caught by {by}, and is said to be out of reach: {reason}").into())
        }
        (None, None) => Err("no fixture fails on a reference that makes this slip".into()),
    }
}

fn table(documents: &[Document]) -> String {
    let mut text = String::from(
        "# Which fixtures catch which slip\n\n\
         Generated: `FENCEPOST_BLESS=1 cargo test -p fencepost-conformance --test mutants`. Each row is one rule of the\n\
         reference that was broken on purpose; the fixtures in it fail then, the shortest first.\n\n\
         | protocol | slip | fixtures | the shortest |\n| --- | --- | ---: | --- |\n",
    );
    let reasons: BTreeMap<&str, &str> = OUT_OF_REACH.iter().copied().collect();
    for slip in Slip::all() {
        let caught = caught_by(slip, documents);
        let shortest = caught.iter().take(3).map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        let shown = match reasons.get(slip.name()) {
            Some(reason) if caught.is_empty() => format!("out of reach: {reason}"),
            _ => shortest,
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} | {} | {} | {shown} |", slip.protocol(), slip.name(), caught.len());
    }
    text
}

fn table_is_current(documents: &[Document]) -> Result<(), Failed> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mutants.md");
    let Some(directory) = path.parent().filter(|directory| directory.exists()) else {
        // The crate alone, without the project's documents.
        return Ok(());
    };
    let table = table(documents);
    if std::env::var_os("FENCEPOST_BLESS").is_some() {
        std::fs::write(directory.join("mutants.md"), table)?;
        return Ok(());
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    if written == table {
        Ok(())
    } else {
        Err("docs/mutants.md is not current; run FENCEPOST_BLESS=1 cargo test -p fencepost-conformance --test mutants, \
             and look at the difference before it is committed"
            .into())
    }
}
