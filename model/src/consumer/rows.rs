//! The rows of the matrix: each scenario with just the budget that it needs, under the variant or the slip that it breaks,
//! and under the rules that it does not.

use super::bounds::{Bounds, Start};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use crate::protocol::Tier::{self, Smoke};

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&'static str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }
}

/// A has two records, B one; the consumer has read both.
const LAGS: Start = Start { ends: [2, 1, 0], alone: true, high: 2, read: 2, committed: None };

/// Every row.
pub(super) fn rows(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &["no-epoch", "kip-320", ORACLE],
        "lost-suffix",
        "S20: a leader that lacks what the consumer has read is elected, and writes",
        Bounds { start: LAGS, appends: [1, 2, 0], metadata: 2, stale: 1, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &["kip-320", ORACLE],
        "replaced-record",
        "S15: the leader after next has as many records of older epochs as the consumer has read",
        Bounds { appends: [2, 1, 0], unclean: 2, metadata: 2, ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &["kip-320", ORACLE],
        "late-fetch",
        "S16: an answer to a fetch comes after the position was validated at the next leader",
        Bounds { appends: [1, 2, 0], metadata: 1, ..Bounds::BASE },
    );
}
