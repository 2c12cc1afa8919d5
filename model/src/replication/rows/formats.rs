//! Batches of two records, and message formats before 0.11: cuts inside a batch (2.8), and leaders whose records have no
//! epoch (2.12 d).
//!
//! Who has an old format keeps no epochs, whatever the records are that it copies. So it truncates to its high watermark,
//! which may lie inside a batch.

use super::Rows;
use crate::protocol::Tier::{Full, Smoke};
use crate::replication::bounds::{Bounds, Start};
use crate::replication::catalogue::{List, ORACLE};

/// The rows.
pub(in crate::replication) fn formats(list: &mut List) {
    let mut rows = Rows(list);
    let message = Bounds { chosen: 2, fences: 1, epochs: 3, writes: [1, 0, 0, 0], ..Bounds::BASE };
    rows.add(
        Smoke,
        &["kip-320", ORACLE],
        "lost-message-in-an-old-format",
        "2.12 (d): the leader's message format has no epochs, so that the high watermark is all there is (S1)",
        Bounds { old_formats: 0b01, ..message },
    );
    rows.add(
        Smoke,
        &[ORACLE],
        "lost-message-in-old-formats",
        "2.12 (d): nobody's message format has epochs",
        Bounds { old_formats: 0b11, ..message },
    );
    rows.add(
        Smoke,
        &["kip-320", ORACLE],
        "format-goes-back",
        "KAFKA-7601: a leader of an old format follows one whose records have epochs",
        Bounds {
            start: Start { leader: 1, ..Bounds::BASE.start },
            old_formats: 0b01,
            chosen: 1,
            epochs: 1,
            writes: [1, 1, 0, 0],
            ..Bounds::BASE
        },
    );
    rows.add(
        Smoke,
        &[ORACLE, "batch-base-after-cut"],
        "middle-of-a-batch",
        "2.8: a follower of an old format comes back with a high watermark inside a batch of its leader",
        Bounds {
            start: Start { leader: 1, records: 1, isr: 0b10, checkpointed: true },
            old_formats: 0b10,
            pairs: 0b01,
            writes: [2, 0, 0, 0],
            fences: 1,
            fenced: 0b10,
            unclean: 1,
            unfences: 2,
            crashes: [0, 1, 0, 0],
            epochs: 3,
            ..Bounds::BASE
        },
    );
    rows.add(
        Full,
        &["kip-320", ORACLE],
        "batches-of-two",
        "2.8: with epochs every cut is at the border of a batch",
        Bounds { chosen: 3, epochs: 3, writes: [4, 2, 0, 0], pairs: 0b11, offsets: 6, ..Bounds::BASE },
    );
}
