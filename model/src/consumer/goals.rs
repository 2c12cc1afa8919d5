//! What traces are exported for: each expected violation with its twin, where there are rules that do better, and rows of
//! the tables of `docs/consumers.md`.

use crate::protocol::{Aim, Goal};

/// The violations: configuration, what happens there, its properties, what they rest on, and whether there is a twin.
type Broken = (&'static str, &'static str, &'static [&'static str], &'static [&'static str], bool);

const BROKEN: &[Broken] = &[
    (
        "no-epoch/lost-suffix",
        "Requests carry no epoch, and a leader is elected that lacks what was read",
        &["P5-told", "P5-zombie", "P5-ALO"],
        &["KIP-320"],
        true,
    ),
    ("no-epoch/committed-with-epoch", "A committed epoch is looked at by nobody", &["P5-told"], &["KIP-320"], true),
    ("no-epoch/clean-elections", "Requests carry no epoch, and metadata goes back", &["P5-zombie"], &["KIP-320"], true),
    (
        "kip-320/lost-suffix",
        "Records of the old leader come when the consumer has gone over to the new one",
        &["P5-told"],
        &["KIP-320", "FetchCollector#handleInitializeSuccess"],
        true,
    ),
    (
        "kip-320/replaced-record",
        "The leader has as many records as were read, and another one in the place of the last",
        &["P5-told", "P5-ALO"],
        &["KIP-320", "SubscriptionState#maybeCompleteValidation"],
        true,
    ),
    (
        "librdkafka/replaced-record",
        "The leader has as many records as were read, and another one in the place of the last",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "franz-go/replaced-record",
        "The leader has as many records as were read, and another one in the place of the last",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "leader-detects/replaced-record",
        "A leader looks for a larger epoch below the offset, and there is none",
        &["P5-told", "P5-ALO"],
        &["KIP-320"],
        true,
    ),
    (
        "epoch-cache/replaced-record",
        "A leader looks for a larger epoch below the offset, and there is none, so nobody walks the epochs that were read",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "kip-320/late-fetch",
        "Records of the old leader come after the position was validated at the new one",
        &["P5-told", "P5-zombie", "P5-ALO"],
        &["KIP-320", "FetchCollector#handleInitializeSuccess"],
        true,
    ),
    (
        "kip-320/lost-suffix-no-policy",
        "Records of the old leader come after the application was told",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "kip-320/replaced-record-no-policy",
        "An application without a policy is not told of the record that was replaced",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "kip-320/clean-elections",
        "A late answer is taken for one of the leader that is now",
        &["P5-zombie"],
        &["KIP-320"],
        true,
    ),
    (
        "kip-320/committed-without-epoch",
        "A committed offset without its epoch is not validated",
        &["P5-told"],
        &["KAFKA-19902"],
        false,
    ),
    (
        "kip-320/old-message-format",
        "Records without epochs leave nothing to validate",
        &["P5-told"],
        &["KIP-320"],
        false,
    ),
    (
        "strict/old-brokers",
        "Brokers that can't be asked where an epoch ends leave a position as it is",
        &["P5-told"],
        &["KAFKA-9724"],
        false,
    ),
    (
        "kip-320/stored-without-epoch",
        "An offset that was stored without its epoch is not validated",
        &["P5-told"],
        &["KIP-320"],
        false,
    ),
    (
        "kip-320/restart-without-epoch",
        "The application commits the offset alone, and starts anew",
        &["P5-told"],
        &["KAFKA-19902"],
        false,
    ),
    (
        "seek-to-nearest/stored-no-policy",
        "The nearest place is gone to without a word",
        &["P5-exception"],
        &["KIP-320"],
        true,
    ),
    (
        "list-offsets-epoch/log-end",
        "The epoch of the log's end is taken for that of a record which was read",
        &["P5-calm"],
        &["KIP-320"],
        true,
    ),
    ("strict/log-end", "The log's end, where nothing was read, is truncated", &["P5-range"], &["KIP-320"], false),
    (
        "strict/log-end-no-policy",
        "The log's end, where nothing was read, is truncated, and there is no policy",
        &["P5-range"],
        &["KIP-320"],
        false,
    ),
    (
        "list-offsets-epoch+lists-current-epoch/log-start",
        "The first offset comes with the leader's epoch",
        &["P5-calm"],
        &["KIP-320"],
        true,
    ),
    (
        "leader-detects-not-after-seek/seek-to-offset",
        "A fetch after a seek carries no epoch",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "strict/seek-to-offset",
        "A position that was sought without an epoch is not validated",
        &["P5-told"],
        &["KIP-320"],
        false,
    ),
    (
        "kip-320/restart-on-old-metadata",
        "A new process asks an older leader for the epoch that it committed",
        &["P5-calm"],
        &["KIP-320", "Metadata#updateLastSeenEpochIfNewer"],
        true,
    ),
    (
        "find-offsets/look-up-then-seek",
        "The log is truncated again between the look-up and the first fetch",
        &["P5-told"],
        &["KIP-320"],
        true,
    ),
    (
        "leader-epoch-alone/topic-created-anew",
        "The topic is created anew, and its leader epochs start again",
        &["P5-zombie", "P5-ALO"],
        &["KIP-232"],
        true,
    ),
    (
        "kip-320/topic-created-anew",
        "The topic is created anew, and the position outlives it",
        &["P5-told", "P5-calm", "P5-ALO"],
        &["KIP-516"],
        true,
    ),
    (
        "franz-go/topic-created-anew",
        "The topic is created anew, and the answer can't tell",
        &["P5-java", "P5-told"],
        &["KIP-516"],
        true,
    ),
    (
        "kip-320+undefined-ignored/epoch-of-the-deleted-topic",
        "An undefined answer leaves the position as it is",
        &["P5-java", "P5-told"],
        &["KAFKA-9840"],
        true,
    ),
    (
        "kip-320+future-epoch-ends-at-log-end/epoch-of-the-deleted-topic",
        "An epoch in the future is answered with the log's end",
        &["P5-told", "P5-ALO"],
        &["KIP-320"],
        true,
    ),
    (
        "strict/lost-marker",
        "A transaction's marker is lost with a suffix of the log",
        &["P5-once", "P5-blocked"],
        &["KAFKA-20716"],
        false,
    ),
    (
        "strict+reply-after-seek/answer-after-a-seek",
        "An answer is used for a position that was sought after the question",
        &["P5-calm"],
        &["KAFKA-8429"],
        true,
    ),
    (
        "strict+divergent-as-position/where-the-logs-part",
        "The exception names the place where the logs part as the position",
        &["P5-exception"],
        &["KAFKA-10113"],
        true,
    ),
    (
        "strict+current-epoch-answered/epochs-at-odds",
        "The answer about an older epoch names the current one",
        &["P5-calm"],
        &["KIP-320"],
        true,
    ),
    (
        "pair-first-larger-epoch/several-truncations",
        "One pair does not tell where the logs part, and the first larger epoch starts behind the position",
        &["P5-told", "P5-ALO"],
        &["KIP-320"],
        false,
    ),
    (
        "pair-timestamp/several-truncations",
        "One pair does not tell where the logs part, and a timestamp leads past records",
        &["P5-ALO"],
        &["KIP-320"],
        false,
    ),
    (
        "pair-latest/several-truncations",
        "One pair does not tell where the logs part, and the end is gone to",
        &["P5-ALO"],
        &["KIP-320"],
        false,
    ),
];

/// The rows: a configuration, and what is looked for there.
const ROWS: &[(&str, &[&str])] = &[
    (
        "strict/late-hearing",
        &[
            "4 the request's epoch is newer",
            "4 a connection is lost",
            "3 the waits run out",
            "3 an error: asked again",
            "4 an answer for another position is dropped",
            "4 a fetch without records",
            "2 metadata is passed over",
        ],
    ),
    (
        "strict/lost-suffix-no-policy",
        &[
            "2 the application seeks to an offset",
            "2 the application seeks with an epoch",
            "3 the end is below the position",
            "7 who led before appends",
        ],
    ),
    ("strict/replaced-record-no-policy", &["3 another epoch was answered"]),
    ("strict/preferred-replica", &["4 the consumer goes to the replica", "4 the high watermark rises"]),
    (
        "strict/replaced-record",
        &["4 the request's epoch is older", "4 an error that asks for metadata", "4 an answer without records"],
    ),
    ("no-epoch/clean-elections", &["4 not the leader"]),
    ("strict/preferred-replica-lags", &["4 out of range at a replica"]),
    ("strict/replaced-record-no-policy", &["2 the application seeks to an edge"]),
    ("strict/answer-after-a-seek", &["3 an answer for another position is dropped"]),
    (
        "strict/clean-elections",
        &[
            "7 a clean election",
            "7 who led before follows",
            "7 a follower takes over what the leader has",
            "7 a follower truncates",
        ],
    ),
    ("strict/committed-with-epoch", &[]),
    (
        "kip-320/committed-without-epoch",
        &[
            "4 a fetch above the log's end",
            "4 out of range",
            "1 an offset is looked for",
            "2 the earliest offset",
            "2 the position is reset",
        ],
    ),
    ("strict/restart", &["5 the application commits", "5 the application restarts"]),
    (
        "leader-detects/seek-to-offset",
        &["7a a larger epoch starts below the offset", "7a the leader tells of a truncation"],
    ),
    ("find-offsets/look-up-then-seek", &["7e the application looks an offset up", "7e an offset is looked up"]),
    ("history-kept/replaced-record", &["7c the walk finds the epoch"]),
    (
        "strict/topic-created-anew",
        &[
            "8 the topic is created anew",
            "8 a fetch for another topic",
            "8 metadata of another topic is accepted",
            "8 the position's topic is no more",
        ],
    ),
    (
        "strict/marker-and-clean-elections",
        &["9 a record of a transaction", "9 a marker", "9 a marker or an aborted record is passed over"],
    ),
];

/// What a property forbids, in a title.
fn harm(property: &str) -> &'static str {
    match property {
        "P5-java" => "a position holds that the leader has too few records for",
        "P5-told" => "records follow on what the leader does not have, and nobody is told",
        "P5-zombie" => "records come from a leader older than one that was heard of",
        "P5-calm" => "a truncation is told of, and nothing is lost",
        "P5-range" => "an offset is out of range, and nothing is lost",
        "P5-ALO" => "a record of the log is skipped",
        "P5-exception" => "the application is not told what it has to know",
        "P5-once" => "what was read as committed is not",
        "P5-blocked" => "a transaction that has ended keeps readers waiting",
        "P7d" => "a validation does not end",
        _ => "what was promised does not hold",
    }
}

fn texts(all: &[&str]) -> Vec<String> {
    all.iter().map(|text| (*text).to_owned()).collect()
}

/// `scenario/rules`, for the name of a trace: the slip's where there is one.
fn place(configuration: &str) -> Option<String> {
    let (rules, scenario) = configuration.split_once('/')?;
    let (_, slip) = rules.split_once('+').unwrap_or(("", rules));
    Some(format!("{scenario}/{slip}"))
}

/// A label's words as part of a name.
fn slug(label: &str) -> String {
    let plain: String = label
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '.' | '-'))
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join("-")
}

fn row(configuration: &str, label: &'static str) -> Option<Goal> {
    let (section, words) = label.split_once(' ')?;
    let mut letters = words.chars();
    let title = letters.next().map(|first| first.to_uppercase().chain(letters).collect())?;
    Some(Goal {
        id: format!("consumer/{}/{}", place(configuration)?, slug(label)).parse().ok()?,
        title,
        configuration: format!("consumer/{configuration}"),
        aim: Aim::Label(vec![label]),
        rests_on: vec![format!("docs/consumers.md {section}")],
        twin: None,
    })
}

/// The goals.
pub(super) fn goals() -> Vec<Goal> {
    let broken = BROKEN.iter().flat_map(|(configuration, what, properties, rests_on, twin)| {
        properties.iter().filter_map(move |property| {
            let id = format!("consumer/{}/violates-{}", place(configuration)?, property.to_lowercase());
            Some(Goal {
                id: id.parse().ok()?,
                title: format!("{what}: {}", harm(property)),
                configuration: format!("consumer/{configuration}"),
                aim: Aim::Violation(property),
                rests_on: texts(rests_on),
                twin: if *twin { Some(format!("{id}-twin").parse().ok()?) } else { None },
            })
        })
    });
    let rows =
        ROWS.iter().flat_map(|(configuration, labels)| labels.iter().filter_map(|label| row(configuration, label)));
    broken.chain(rows).collect()
}
