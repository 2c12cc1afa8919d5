//! The rows of the tables: of each the shortest path to it, in the smallest configuration that reaches it.

use super::place;
use crate::protocol::{Aim, Goal};

/// A label's words as part of a name.
fn slug(label: &str) -> String {
    let plain: String = label
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '.'))
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

fn row(configuration: &str, label: &'static str) -> Option<Goal> {
    let (section, words) = label.split_once(' ')?;
    let mut letters = words.chars();
    let title = letters.next().map(|first| first.to_uppercase().chain(letters).collect())?;
    Some(Goal {
        id: format!("replication/{}/{}", place(configuration)?, slug(label)).parse().ok()?,
        title,
        configuration: format!("replication/{configuration}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec![format!("docs/replication.md {section}")],
        twin: None,
    })
}

/// The rows: a configuration, and what is looked for there.
const ROWS: &[(&str, &[&str])] = &[
    (
        "proposal-kept/empty-epochs",
        &[
            "1.3 assign: a later epoch at a later offset",
            "1.3 end offset: the latest epoch",
            "1.3 end offset: a known epoch",
            "1.3 end offset: the floor of an epoch that is not known",
            "2.2 a follower starts to fetch at its log's end",
            "2.6 an answer of another leader epoch is dropped",
            "2.6 an answer while nothing is fetched",
            "3.1 row 1: the request's epoch is older",
            "3.1 row 2: the request's epoch is newer",
            "3.2 a fetch waits",
            "3.2 a parked fetch is refused",
            "3.3 row 3: another epoch",
            "3.3 row 4: the logs agree",
            "3.6 fenced: the partition is failed",
            "3.6 retried",
            "4.2 a follower becomes leader",
            "4.2 a leader is elected again past an epoch",
            "4.3 a member's end is not known",
            "4.4 the follower has caught up",
            "4.7 the leader changes",
            "4.7 the replica that was named",
        ],
    ),
    (
        "proposal-kept/diverging-fetch",
        &[
            "1.3 assign: the first entry",
            "1.3 assign: the latest epoch again",
            "1.3 end offset: an epoch below all",
            "1.5 a follower's high watermark falls",
            "1.6 a truncation",
            "2.5 row 5: the same epoch",
            "2.6 a diverging answer",
            "3.2 a parked fetch is answered with records",
            "3.3 row 3: the epoch ends before",
            "4.6 a record is appended",
            "4.6 leadership lost while waiting",
        ],
    ),
    (
        "proposal-kept/maximal-set",
        &[
            "1.6 a truncation at the log's end or above",
            "2.2 a follower without an epoch truncates to its high watermark",
            "4.2 a record with an older partition epoch",
            "4.2 metadata discards a pending proposal",
            "4.3 the high watermark rises",
            "4.3 the high watermark waits for a replica that is being added",
            "4.5 no expansion: a proposal is pending",
            "4.5 an expansion is proposed",
            "4.5 nobody lags",
            "4.5 an answer to a proposal that is no more",
            "4.5 a proposal is committed",
            "4.6 acknowledged at once",
            "4.6 acknowledged when the high watermark has risen",
            "4.7 the set is changed",
            "4.2 a record that is known leaves the proposal",
        ],
    ),
    (
        "proposal-kept/wiped-replica",
        &[
            "1.5 a follower takes the leader's high watermark",
            "2.6 records are appended",
            "2.1 an answer to a request that was given up",
            "3.2 a fetch of an earlier life",
            "3.2 a fetch with records",
            "4.4 the follower lags",
            "4.4 the follower's end goes down",
            "4.5 no expansion: below the high watermark",
            "4.5 no expansion: another broker epoch",
            "4.7 a new life registers",
            "4.7 the old life is fenced first",
            "1.9 a broker comes up",
        ],
    ),
    (
        "proposal-kept/lost-message",
        &[
            "1.3 assign: a later epoch replaces an empty one",
            "2.2 the leader epoch did not rise: the fetcher goes on",
            "2.6 an answer to another fetch offset is dropped",
            "4.2 a leader's in-sync set changes",
            "4.5 no expansion: fenced",
            "4.7 a broker is fenced",
            "4.7 the leader stays",
            "4.7 the first that is in sync",
        ],
    ),
    ("proposal-kept/goes-on-in-its-epoch", &["3.1 no metadata yet", "1.4 loading drops epochs at the log's end"]),
    (
        "proposal-kept/proposal-taken-back",
        &[
            "4.2 a record that does not change the partition",
            "4.5 a proposal is taken back",
            "4.7 check 9: a member is not eligible",
        ],
    ),
    (
        "proposal-kept/known-record",
        &[
            "4.3 the high watermark waits for one that is about to join",
            "4.4 the follower has what the log had at its last fetch",
            "4.5 a shrink is proposed",
            "4.5 a refused proposal waits for metadata",
            "4.7 check 6: an older partition epoch",
            "4.7 a broker is unfenced",
        ],
    ),
    (
        "proposal-kept/last-replica-standing",
        &[
            "2.2 no leader: the fetcher stops",
            "4.3 the in-sync set is too small",
            "4.7 check 0: the requester's broker epoch",
            "4.7 a new life leaves the in-sync and the eligible replicas",
            "4.7 a replica becomes eligible",
            "4.7 the eligible replicas are cleared",
            "4.7 the first that is eligible",
            "4.7 nobody can lead",
            "1.9 a crash loses the end of the log",
        ],
    ),
    ("proposal-kept/joins-at-high-watermark", &["4.7 check 4: an older leader epoch"]),
    ("proposal-kept/skipped-epoch", &["4.5 no expansion: below the start of the epoch", "4.7 the preferred replica"]),
    (
        "proposal-kept/two-brokers-crash",
        &[
            "1.5 a high watermark is loaded from its checkpoint",
            "2.6 an answer without records",
            "3.2 a parked fetch is answered after its wait time",
            "4.7 the last in-sync replica stays in the set",
        ],
    ),
    ("kip-320/fast-fail-over", &["2.2 a follower starts to truncate", "3.4 an epoch's end is answered"]),
    ("kip-320/old-leader-refuses", &["3.4 a version that the leader does not know"]),
    (
        "kip-320-below-ibp-2.0/fast-fail-over",
        &["2.5 row 2: an offset without an epoch", "3.4 an answer without an epoch"],
    ),
    (
        "kip-101/fast-fail-over",
        &["2.5 row 1: undefined, the high watermark", "3.1 row 3: not the leader", "3.4 an epoch's end is undefined"],
    ),
    ("kip-279/fast-fail-over", &["1.3 assign: entries that contradict go", "1.3 end offset: an epoch above all"]),
    (
        "high-watermark/lost-message",
        &[
            "1.5 a truncation lowers the high watermark",
            "1.6 a truncation below the high watermark",
            "2.3 a follower truncates to its high watermark",
            "2.7 the leader's log ends below the follower's",
            "3.2 a fetch above the log's end",
            "3.5 the latest offset",
            "3.6 out of range",
        ],
    ),
    (
        "proposal-kept/lost-message-in-an-old-format",
        &[
            "2.7 the follower's log is within the leader's",
            "3.3 row 1: the epoch's end is undefined",
            "3.5 the earliest offset",
        ],
    ),
    ("kip-320/format-goes-back", &["1.4 a record of an old format clears the epochs"]),
    (
        "proposal-kept/middle-of-a-batch",
        &[
            "1.6 a truncation inside a batch",
            "1.7 a batch from below the log's end is refused",
            "1.7 a batch that begins in the hole of a cut is refused",
        ],
    ),
    ("batch-base-after-cut/middle-of-a-batch", &["1.6 a truncation inside a batch"]),
    (
        "proposal-kept/disk-away",
        &[
            "2.10 a future replica begins",
            "2.10 a future replica truncates",
            "2.10 a future replica copies a batch",
            "2.10 a future replica takes the current one's place",
            "2.10 a future replica is told that the current one has truncated",
            "2.10 a future replica's disk goes offline",
            "2.10 a future replica's disk is back",
        ],
    ),
    ("proposal-kept/request-given-up", &["3.6 the connection is lost"]),
    ("proposal-kept/controlled-shutdown", &["4.7 a broker shuts down"]),
    ("proposal-kept/last-known-leader", &["4.7 the last known leader"]),
    ("proposal-kept/unclean-elections", &["4.7 an unclean election"]),
    ("proposal-kept/epoch-checkpoint-damaged", &["1.4 recovery finds epochs in the records"]),
    (
        "kip-320-below-ibp-2.0/protocol-raised-at-a-lost-message",
        &["2.5 an answer about epochs of an earlier leader epoch"],
    ),
];

/// The goals.
pub(super) fn goals() -> impl Iterator<Item = Goal> {
    ROWS.iter().flat_map(|(configuration, labels)| labels.iter().filter_map(move |label| row(configuration, label)))
}
