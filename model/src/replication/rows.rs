//! The rows of the matrix: the scenarios of section 6, each with just the budget that it needs, under the variant or the
//! slip that it breaks, and under the rules that it does not.
//!
//! | module | subject |
//! |---|---|
//! | this one | sections 2.3 to 2.6, 3 and 4 |
//! | `moves` | future replicas (2.10) |
//! | `formats` | batches of two records, and the formats before 0.11 (2.8, 2.12) |
//! | `simulated` | three brokers and all faults, by random walks |

pub(super) mod formats;
pub(super) mod moves;
pub(super) mod simulated;

use super::bounds::{Bounds, Start};
use super::catalogue::{List, ORACLE};
use super::mutant::Mutant;
use super::rules::{KAFKA, RENEWED};
use crate::protocol::Tier::{self, Full, Smoke};

struct Rows<'a>(&'a mut List);

impl Rows<'_> {
    fn add(&mut self, tier: Tier, variants: &[&str], name: &str, reason: &'static str, bounds: Bounds) {
        for variant in variants {
            self.0.add(tier, variant, Mutant::None, name, reason, bounds);
        }
    }

    /// A slip of `variant`, the variant without it, and the oracle.
    fn slip(&mut self, tier: Tier, variant: &str, slips: &[Mutant], name: &str, reason: &'static str, bounds: Bounds) {
        for mutant in slips {
            self.0.add(tier, variant, *mutant, name, reason, bounds);
        }
        self.add(tier, &[variant], name, reason, bounds);
        if variant != ORACLE {
            self.add(tier, &[ORACLE], name, reason, bounds);
        }
    }
}

const fn led_by(leader: u8, records: u8, isr: u8) -> Start {
    Start { leader, records, isr, checkpointed: false }
}

/// The scenarios of how a follower truncates: S1 to S7.
pub(super) fn truncation(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &["high-watermark", "kip-101", ORACLE],
        "lost-message",
        "S1: a follower truncates to its high watermark, and leads next",
        Bounds { chosen: 2, fences: 1, epochs: 3, writes: [1, 0, 0, 0], ..Bounds::BASE },
    );
    for mutant in [Mutant::NoEpochToHighWatermark, Mutant::MinWithHighWatermark, Mutant::None] {
        rows.0.add(
            Smoke,
            "kip-320-below-ibp-2.0",
            mutant,
            "lost-message",
            "S1: what an answer without an epoch means",
            Bounds { chosen: 2, fences: 1, epochs: 3, writes: [1, 0, 0, 0], ..Bounds::BASE },
        );
    }
    rows.add(
        Full,
        &["high-watermark", "kip-101", ORACLE],
        "power-failure-of-both",
        "S2: both lose power, one loses a record, and the other trusts its high watermark",
        Bounds {
            start: Start { checkpointed: true, ..led_by(0, 2, 0b11) },
            writes: [0, 1, 0, 0],
            crashes: [1, 1, 0, 0],
            lossy: 0b10,
            flushed: 1,
            fences: 1,
            fenced: 0b01,
            unfences: 1,
            epochs: 3,
            ..Bounds::BASE
        },
    );
    rows.add(
        Smoke,
        &["kip-101", "kip-320-below-ibp-2.0", "kip-279", "kip-320", ORACLE],
        "fast-fail-over",
        "S3 (KAFKA-6361): the leader does not know the follower's epoch",
        Bounds { chosen: 2, epochs: 2, writes: [2, 1, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Full,
        "kip-320",
        &[Mutant::OneRound],
        "several-elections",
        "S4: one exchange is not enough",
        Bounds { chosen: 4, epochs: 4, writes: [2, 2, 0, 0], offsets: 3, ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        "kip-320",
        &[Mutant::EpochNotMarked],
        "leader-without-records",
        "S5 (KAFKA-7415): a leader has not written in its epoch",
        Bounds { chosen: 2, epochs: 2, writes: [1, 1, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::EpochNotMarked],
        "leader-without-records-on-fetch",
        "S5 where fetches carry the last epoch: the same refusal again and again",
        Bounds { chosen: 2, epochs: 2, writes: [1, 1, 0, 0], expires: true, ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::CacheNotCleaned],
        "empty-epochs",
        "S6 (KAFKA-10706): both have an empty epoch that the other has not",
        Bounds { chosen: 2, epochs: 2, writes: [0; 4], start: led_by(0, 1, 0b11), ..Bounds::BASE },
    );
    rows.slip(
        Full,
        "kip-320",
        &[Mutant::FollowsNewLeaderOnly],
        "missed-epoch",
        "S7 (KAFKA-7164): a follower misses an epoch, and its leader leads again",
        Bounds { chosen: 1, preferred: 1, epochs: 2, writes: [3, 0, 0, 0], offsets: 2, ..Bounds::THREE },
    );
}

/// The scenarios of fencing, S8 to S13.
pub(super) fn fencing(list: &mut List) {
    let mut rows = Rows(list);
    rows.add(
        Smoke,
        &[ORACLE],
        "request-given-up",
        "3.6: a follower gives a request up, and its leader handles it later",
        Bounds { fails: [0, 1, 0, 0], ..Bounds::BASE },
    );
    rows.add(
        Full,
        &["kip-279", "kip-320", ORACLE],
        "zombie-follower",
        "S8 (KAFKA-6880): a follower that misses an epoch fetches from who led before and leads again",
        Bounds { chosen: 1, preferred: 1, epochs: 2, writes: [1, 0, 2, 0], offsets: 2, ..Bounds::THREE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::EpochStartIgnored],
        "joins-at-high-watermark",
        "S9 (KAFKA-7128): a new leader's high watermark lags",
        Bounds { start: led_by(0, 0, 0b011), chosen: 1, epochs: 1, ..Bounds::THREE },
    );
    rows.add(
        Full,
        &["kip-320-first-try", "kip-320", ORACLE],
        "expected-epoch",
        "S10: the epoch of the last record does not say which epoch the follower is in",
        Bounds { min_isr: 1, chosen: 1, fences: 1, fenced: 0b010, epochs: 2, writes: [1, 1, 0, 0], ..Bounds::THREE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::DivergingCounted],
        "diverging-fetch",
        "S11 (KAFKA-13141): where a log that diverges ends",
        Bounds { chosen: 1, epochs: 1, writes: [1, 1, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::DivergingHighWatermark],
        "diverging-high-watermark",
        "S12 (KAFKA-14704): the high watermark of a diverging answer",
        Bounds { fences: 1, fenced: 0b01, epochs: 1, writes: [1, 1, 0, 0], ..Bounds::BASE },
    );
    let late = Bounds {
        start: led_by(2, 0, 0b111),
        preferred: 2,
        chosen: 1,
        epochs: 3,
        writes: [0, 1, 1, 0],
        offsets: 1,
        ..Bounds::THREE
    };
    rows.add(
        Full,
        &["kafka-4.0", KAFKA, ORACLE],
        "late-diverging-answer",
        "S13 (KAFKA-18991): a diverging answer comes late, when its leader leads again",
        late,
    );
    rows.slip(
        Full,
        "kip-320",
        &[Mutant::AnswerOfAnyEpoch],
        "late-epoch-end",
        "KAFKA-7786: an answer about epochs comes late, when its leader leads again",
        late,
    );
}

/// The scenarios of the in-sync set, S14 and S17 to S19.
#[allow(clippy::too_many_lines, reason = "it is a table")]
pub(super) fn in_sync_set(list: &mut List) {
    let mut rows = Rows(list);
    let skipped = Bounds {
        preferred: 1,
        fences: 1,
        fenced: 0b0001,
        epochs: 2,
        writes: [0, 1, 0, 0],
        start: led_by(1, 0, 0b111),
        ..Bounds::THREE
    };
    rows.add(
        Smoke,
        &[KAFKA, "remote-state-forgotten", RENEWED, ORACLE],
        "skipped-epoch",
        "S14: a leader is elected again past an epoch that it never saw",
        skipped,
    );
    rows.add(
        Full,
        &[KAFKA, "remote-state-forgotten", RENEWED, ORACLE],
        "skipped-epoch-then-failure",
        "S14 to its end: that leader fails before the follower has fetched",
        Bounds { fences: 2, fenced: 0b0011, epochs: 3, ..skipped },
    );
    rows.add(
        Smoke,
        &[KAFKA, RENEWED, ORACLE],
        "known-record",
        "4.2: a record that the leader knows from an answer comes while another proposal is unanswered",
        Bounds { shrinks: 1, fences: 1, fenced: 0b10, unfences: 1, epochs: 0, writes: [2, 0, 0, 0], ..Bounds::BASE },
    );
    rows.add(
        Smoke,
        &[KAFKA, RENEWED, ORACLE],
        "known-record-then-failure",
        "the same to its end: that leader fails, and the replica that it left out leads",
        Bounds { shrinks: 1, fences: 2, unfences: 1, epochs: 1, writes: [2, 0, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::CommittedIsr],
        "maximal-set",
        "S17 (KIP-497): the controller has added a replica, and the leader does not know yet",
        Bounds { start: led_by(0, 0, 0b01), shrinks: 1, writes: [1, 0, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::BrokerEpochUnchecked],
        "wiped-replica",
        "S18 (KIP-903): a proposal arrives after the replica that it adds has lost its disk",
        Bounds {
            start: led_by(0, 1, 0b01),
            writes: [0; 4],
            crashes: [0, 1, 0, 0],
            lossy: 0b10,
            unfences: 1,
            epochs: 5,
            ..Bounds::BASE
        },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::NoElr, Mutant::HighWatermarkBelowMinIsr],
        "last-replica-standing",
        "S19 (KIP-966): the last in-sync replica loses power",
        Bounds {
            min_isr: 2,
            elr: true,
            start: led_by(0, 1, 0b11),
            fences: 1,
            fenced: 0b10,
            crashes: [1, 0, 0, 0],
            lossy: 0b01,
            unfences: 1,
            epochs: 3,
            writes: [1, 0, 0, 0],
            ..Bounds::BASE
        },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::LatestAtOnce],
        "visible-end",
        "KIP-207: a new leader's high watermark lags, and a client asks for the latest offset",
        Bounds { chosen: 1, epochs: 1, writes: [1, 0, 0, 0], ..Bounds::BASE },
    );
    rows.slip(
        Smoke,
        ORACLE,
        &[Mutant::RegistersUnfenced],
        "goes-on-in-its-epoch",
        "4.7: a leader that lost records comes back in the epoch that it led",
        Bounds {
            crashes: [1, 0, 0, 0],
            lossy: 0b01,
            writes: [2, 0, 0, 0],
            offsets: 2,
            unfences: 1,
            epochs: 2,
            ..Bounds::BASE
        },
    );
    rows.slip(
        Full,
        ORACLE,
        &[Mutant::PartitionEpochUnchecked],
        "old-proposal",
        "4.7 row 6: a proposal arrives after the set has changed",
        Bounds { fences: 1, fenced: 0b010, unfences: 1, epochs: 0, writes: [2, 0, 0, 0], shrinks: 1, ..Bounds::THREE },
    );
    rows.add(
        Smoke,
        &[KAFKA, ORACLE],
        "proposal-taken-back",
        "4.3: a replica dies while it is about to join, and nothing raises the high watermark afterwards",
        Bounds {
            start: led_by(0, 0, 0b01),
            fences: 1,
            fenced: 0b10,
            crashes: [0, 1, 0, 0],
            restarts: false,
            epochs: 0,
            writes: [1, 0, 0, 0],
            shrinks: 2,
            ..Bounds::BASE
        },
    );
}
