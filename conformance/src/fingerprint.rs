//! Which variant a target behaves like, from which traces it meets and which it does not.
//!
//! A trace says in `holds_for` which variants meet it. For each pair of variants there is a shortest trace that tells
//! them apart: exactly one of the two meets it. What the target did with that trace rules one of them out. A variant that
//! is never ruled out is what the target behaves like.

use std::fmt::Write as _;

use fencepost_fixtures::variants::{self, ClientRule, Rules};
use fencepost_fixtures::{Protocol, TraceId};
use serde::Serialize;

use crate::replayer::Verdict;
use crate::runner::TraceResult;

/// What a target's behaviour in one protocol says of its rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fingerprint {
    /// The protocol.
    pub protocol: Protocol,
    /// The variants that no trace rules out, in the table's order.
    pub like: Vec<&'static str>,
    /// For each variant that is ruled out, the shortest trace that does, and whether the target met it.
    pub ruled_out: Vec<RuledOut>,
    /// Where exactly one variant is left: the traces on which the target is not as that variant is.
    pub exceptions: Vec<TraceId>,
}

/// A variant that the target does not behave like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuledOut {
    /// The variant.
    pub variant: &'static str,
    /// The trace that shows it.
    pub by: TraceId,
    /// Whether the target met the trace, which the variant then does not.
    pub met: bool,
}

/// The variant of a protocol that is right; the others are shipped, proposed or rejected rules.
#[must_use]
pub fn oracle(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Fencing => Some("assignment-epoch-owned"),
        Protocol::Compaction => Some("delete-horizon-repaired"),
        Protocol::Replication => Some("proposal-kept"),
        Protocol::Consumer => Some("strict"),
    }
}

/// Whether a trace records a fault: the right rules do not meet it.
#[must_use]
pub fn records_a_fault(result: &TraceResult) -> bool {
    oracle(result.protocol).is_some_and(|oracle| !result.holds_for.iter().any(|variant| variant == oracle))
}

/// The variants that a target can be told to be by its answers: what differs in the client alone is not among them.
fn candidates(protocol: Protocol) -> Vec<&'static str> {
    let seen = |rules: &Rules| match rules {
        Rules::Fencing(rules) => rules.client == ClientRule::Free,
        Rules::Compaction(_) | Rules::Replication(_) | Rules::Consumer(_) => true,
    };
    variants::of(protocol).filter(|variant| seen(&variant.rules)).map(|variant| variant.name).collect()
}

fn met(result: &TraceResult) -> Option<bool> {
    match result.verdict {
        Some(Verdict::Passed) => Some(true),
        Some(Verdict::Failed(_)) => Some(false),
        Some(Verdict::Inconclusive(_) | Verdict::Broken(_)) | None => None,
    }
}

fn meets(result: &TraceResult, variant: &str) -> bool {
    result.holds_for.iter().any(|name| name == variant)
}

/// The length of a trace, as far as the shortest is looked for.
fn length(result: &TraceResult) -> (usize, &TraceId) {
    let expectations = result.compared.total() + result.not_compared.total();
    (expectations, &result.id)
}

/// The fingerprint of each protocol of which something was compared.
#[must_use]
pub fn fingerprints(results: &[TraceResult]) -> Vec<Fingerprint> {
    Protocol::ALL.into_iter().filter_map(|protocol| fingerprint(protocol, results)).collect()
}

fn fingerprint(protocol: Protocol, results: &[TraceResult]) -> Option<Fingerprint> {
    let known: Vec<(&TraceResult, bool)> = results
        .iter()
        .filter(|result| result.protocol == protocol)
        .filter_map(|result| met(result).map(|met| (result, met)))
        .collect();
    if known.is_empty() {
        return None;
    }
    let candidates = candidates(protocol);
    let mut ruled_out: Vec<RuledOut> = Vec::new();
    for &variant in &candidates {
        let shortest = candidates
            .iter()
            .filter(|other| **other != variant)
            // The shortest trace that tells the two apart decides between them, and it alone.
            .filter_map(|other| {
                let apart = known.iter().filter(|(result, _)| meets(result, variant) != meets(result, other));
                apart.min_by_key(|(result, _)| length(result))
            })
            .filter(|(result, met)| meets(result, variant) != *met)
            .min_by_key(|(result, _)| length(result));
        if let Some((result, met)) = shortest {
            ruled_out.push(RuledOut { variant, by: result.id.clone(), met: *met });
        }
    }
    let like: Vec<&'static str> =
        candidates.into_iter().filter(|variant| ruled_out.iter().all(|out| out.variant != *variant)).collect();
    let exceptions = match like.as_slice() {
        [variant] => known
            .iter()
            .filter(|(result, met)| meets(result, variant) != *met)
            .map(|(result, _)| result.id.clone())
            .collect(),
        _ => Vec::new(),
    };
    Some(Fingerprint { protocol, like, ruled_out, exceptions })
}

impl Fingerprint {
    /// The fingerprint as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        let protocol = self.protocol;
        match self.like.as_slice() {
            [] => {
                let by: Vec<String> =
                    self.ruled_out.iter().map(|out| format!("{} by {}", out.variant, out.by)).collect();
                format!("Its {protocol} behaves like none of the variants; ruled out are {}.", by.join(", "))
            }
            [variant] if self.ruled_out.is_empty() => {
                format!("Its {protocol} behaves like {variant}, the only variant there is.")
            }
            [variant] => {
                let mut text = format!("Its {protocol} behaves like {variant}");
                if !self.exceptions.is_empty() {
                    // Writing to a string does not fail.
                    let but: Vec<String> = self.exceptions.iter().take(3).map(ToString::to_string).collect();
                    let more = self.exceptions.len().saturating_sub(but.len());
                    let _ = write!(text, ", except on {}", but.join(", "));
                    if more > 0 {
                        let _ = write!(text, " and {more} more");
                    }
                }
                text + "."
            }
            several => {
                format!("Its {protocol} behaves like {}; no trace of this run tells them apart.", several.join(" or "))
            }
        }
    }
}
