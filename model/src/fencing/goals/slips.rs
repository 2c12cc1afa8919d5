//! What each slip breaks: a goal for every property that fails in the slip's row of the matrix.
//!
//! A slip has one row, the smallest bounds that show it (`rows.rs`), so that its shortest counterexamples are there. What
//! the oracle fails in the same bounds is not the slip's. [`Mutant::untraced`] says which slips no trace can show.

use super::super::Fencing;
use super::super::mutant::Mutant;
use crate::protocol::{Catalogue as _, Goal};

/// A slip, and each property that it breaks with what is seen to go wrong.
type Broken = (Mutant, &'static [(&'static str, &'static str)]);

const BROKEN: &[Broken] = &[
    (
        Mutant::RegrantForgetsOwner,
        &[
            (
                "S1",
                "A partition that its owner was granted back in a revocation is granted to another: it has two owners",
            ),
            (
                "S2",
                "A partition that its owner was granted back in a revocation is granted to another without being given up",
            ),
        ],
    ),
    (
        Mutant::AckMissed,
        &[
            ("L2", "A newer target breaks into a revocation, and the member is left in it for ever"),
            (
                "S13",
                "A newer target breaks into a revocation, and a heartbeat that reports nothing releases a partition",
            ),
            ("S2", "A newer target breaks into a revocation, and a partition is released that nobody gave up"),
            (
                "S6",
                "A newer target breaks into a revocation, and a partition is the member's again at the same assignment epoch",
            ),
        ],
    ),
    (
        Mutant::KeepUnsubscribed,
        &[("L1", "A member comes to rest with partitions of a topic that it does not subscribe to any more")],
    ),
    (Mutant::RejoinFenced, &[("L5", "A member that the coordinator still knows joins again, and is fenced for ever")]),
    (Mutant::EmptyGroupLags, &[("L1", "The last member leaves, and the target stays behind the group's epoch")]),
    (
        Mutant::MarkerWins,
        &[("S12", "A transaction's marker puts its offset over a plain commit that is later in the log")],
    ),
    (
        Mutant::AnswersEarly,
        &[("S10", "A write is answered before it is replicated, and a fail-over loses what was acknowledged")],
    ),
    (
        Mutant::GrantsAtOnce,
        &[
            ("S1", "A partition is granted while its owner still has it: it has two owners"),
            ("S2", "A partition is granted before its owner has given it up"),
            ("S3", "One of two owners commits, and nothing tells its commit from the other's"),
            ("S9", "The new owner reads the committed offset, and the previous owner's commit is still accepted"),
        ],
    ),
    (
        Mutant::AbsentIsEmpty,
        &[
            ("S13", "A heartbeat that does not report what is owned releases a partition"),
            ("S2", "A partition is another's to have, though its owner never reported that it gave it up"),
        ],
    ),
    (
        Mutant::RevokesAtOnce,
        &[
            ("S13", "A partition that is asked back is released at once, though nothing was reported"),
            ("S2", "A partition that is asked back is another's to have, though its owner still uses it"),
        ],
    ),
    (
        Mutant::PendingIsFree,
        &[
            ("S1", "A partition that its owner has been asked to give up is granted to another: it has two owners"),
            ("S2", "A partition is granted while its owner has only been asked to give it up"),
            (
                "S3",
                "A commit of who has only been asked to give a partition up is accepted, though it has another owner",
            ),
            ("S9", "The new owner reads the committed offset while the previous one is still giving the partition up"),
        ],
    ),
    (Mutant::KeepRenews, &[("S6", "A partition that is kept gets a new assignment epoch")]),
    (
        Mutant::GrantKeepsOld,
        &[("S6", "A partition is given up and granted again, and its assignment epoch does not tell")],
    ),
    (
        Mutant::PendingRenews,
        &[
            ("S5", "A partition that is asked back gets an assignment epoch above its member's epoch"),
            ("S6", "A partition that is asked back gets a new assignment epoch"),
        ],
    ),
    (
        Mutant::UnreleasedEarly,
        &[(
            "S3",
            "The member epoch rises with the request to give up, and a commit with it is accepted after the hand-over",
        )],
    ),
    (
        Mutant::UnknownAccepted,
        &[
            ("S11", "A commit of a member that was removed is accepted"),
            ("S3", "A commit of a member that was removed is accepted, though the partition is another's by now"),
        ],
    ),
    (
        Mutant::NewerAccepted,
        &[("S3", "A commit with an epoch above its member's is accepted, though the partition is another's")],
    ),
    (
        Mutant::EpochIgnored,
        &[("S7", "A commit from before a partition was granted anew is accepted, since its member owns it")],
    ),
    (
        Mutant::OwnershipIgnored,
        &[
            ("S3", "A late commit for a partition that is another's by now is accepted"),
            ("S3'", "A late commit with an older epoch for a partition that is another's by now is accepted"),
            ("S9", "The new owner reads the committed offset, and a late commit of the previous one is still accepted"),
        ],
    ),
    (Mutant::PendingRefused, &[("S4", "The owner's commit is refused for a partition that it is still giving up")]),
    (
        Mutant::OffByOne,
        &[("S4", "The owner's commit is refused at the very epoch at which it was granted the partition")],
    ),
    (
        Mutant::PartialCommit,
        &[("S8", "A commit is refused for one partition, and the one before it is stored all the same")],
    ),
    (
        Mutant::RemovalSilent,
        &[("L6", "A member is removed and the group epoch stays, so that nobody is given what it had")],
    ),
    (
        Mutant::ReplacedAccepted,
        &[
            ("S11", "A commit under the old id of a static member is accepted after it started again"),
            ("S3", "A commit under the old id of a static member is accepted, though the partition is its successor's"),
        ],
    ),
    (
        Mutant::StaticLeaveKeepsPending,
        &[("L2", "A static member leaves for a while in a revocation, and nobody is ever given what it was giving up")],
    ),
    (
        Mutant::TimersNotArmed,
        &[("L6", "A member crashes, another broker takes over without a timer for it, and it is a member for ever")],
    ),
    (Mutant::FetchRelaxed, &[("S9", "A fetch with an older epoch is answered as if it were the owner's")]),
    (
        Mutant::FetchIgnoresStaged,
        &[("S9", "A new owner's fetch is answered while a transaction of the previous one is open on the offset")],
    ),
    (
        Mutant::LoadsZero,
        &[(
            "S10",
            "Assignment epochs that are missing from the records are loaded as 0, and more is accepted than before",
        )],
    ),
    (
        Mutant::LoadForgets,
        &[("S10", "A fail-over starts from below the high watermark, and loses what was acknowledged")],
    ),
    (
        Mutant::RetryAnywhere,
        &[
            ("S3", "A client stamps a refused commit anew and sends it again, though the partition is another's"),
            ("S4", "A client stamps a refused commit anew, and it is accepted for a partition that it does not own"),
        ],
    ),
    (
        Mutant::CommitsUnowned,
        &[("S3", "A client commits a partition that is another's, and its epoch is the member epoch")],
    ),
    (Mutant::RefusalBumps, &[("S8", "A heartbeat is refused, and the group epoch rises")]),
];

/// A goal for each slip and each property that it breaks.
pub(super) fn goals(goals: &mut Vec<Goal>) {
    let configurations = Fencing::configurations();
    for (mutant, properties) in BROKEN {
        // A slip without a row has no goals, which a test of the matrix would notice.
        let row = configurations.iter().find(|configuration| configuration.protocol.setting.mutant == *mutant);
        let Some(row) = row else { continue };
        let rests_on = rests_on(*mutant);
        for (property, title) in *properties {
            let name = match *property {
                "S3'" => "s3-with-an-older-epoch".to_owned(),
                other => other.to_lowercase(),
            };
            let id = format!("slip/{mutant}/{name}");
            super::violation(goals, &row.name, property, &id, title, &rests_on);
        }
    }
}

/// The public reports that a slip's summary begins with; else the KIPs of the rules that it undoes.
fn rests_on(mutant: Mutant) -> Vec<&'static str> {
    let source = mutant.summary().split_once(':').map_or("", |(source, _)| source);
    let reports: Vec<_> = source
        .split(", ")
        .filter(|word| word.starts_with("KAFKA-") || word.contains(" #") || word.starts_with("PR "))
        .collect();
    if reports.is_empty() { vec!["KIP-848", "KIP-1251"] } else { reports }
}
