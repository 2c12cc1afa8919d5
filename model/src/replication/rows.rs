//! The rows of the matrix.

use super::bounds::{Bounds, Start};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use crate::protocol::Tier::{self, Smoke};

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }
}

/// The scenarios of section 6, each with the budget that it needs.
pub(super) fn scenarios(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &["high-watermark", "kip-101", ORACLE],
        "two-elections",
        "S1: a follower truncates to its high watermark, and leads next",
        Bounds { chosen: 2, fences: 1, epochs: 3, writes: [1, 0, 0, 0], ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &["kafka-4.4", "remote-state-forgotten", ORACLE],
        "skipped-epoch",
        "S14: a leader is elected again past an epoch that it never saw",
        Bounds {
            preferred: 1,
            fences: 1,
            fenced: 0b0001,
            epochs: 2,
            writes: [0, 1, 0, 0],
            start: Start { leader: 1, records: 0, isr: 0b111 },
            ..Bounds::THREE
        },
    );
}
