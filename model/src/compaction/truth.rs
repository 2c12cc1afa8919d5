//! What really happened, which the log itself forgets: the ghost that the properties compare with.
//!
//! A record is *committed* if it is below the last stable offset and its transaction, if any, was not aborted; that is
//! decided when the marker is appended, and remembered by offset.

use serde::{Deserialize, Serialize};

use super::batch::{Batch, Kind};
use super::bounds::{MAX_KEYS, MAX_PRODUCERS};
use super::log::Log;

/// The ghost. Offsets stand plus 1, and 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Truth {
    /// S2, S3: the tombstone that is a key's newest committed record, once it is gone.
    pub dead: [u8; MAX_KEYS],
    /// S8: the last marker of each producer that was removed or emptied.
    pub ended: [u8; MAX_PRODUCERS],
    /// S1, S2, S8 to S10, S13: the base offsets of aborted data, a bit each.
    pub aborted: u16,
    /// S3: how long after the start of its round the last older record of a deleted key went.
    pub slack: [u8; MAX_KEYS],
}

impl Truth {
    /// What is hashed.
    #[must_use]
    pub fn image(&self) -> [u8; 2 * MAX_KEYS + MAX_PRODUCERS + 2] {
        let mut image = [0; 2 * MAX_KEYS + MAX_PRODUCERS + 2];
        image[..MAX_KEYS].copy_from_slice(&self.dead);
        image[MAX_KEYS..2 * MAX_KEYS].copy_from_slice(&self.slack);
        image[2 * MAX_KEYS..][..MAX_PRODUCERS].copy_from_slice(&self.ended);
        image[2 * MAX_KEYS + MAX_PRODUCERS..].copy_from_slice(&self.aborted.to_le_bytes());
        image
    }

    /// Whether these data were aborted.
    #[must_use]
    pub fn is_aborted(&self, batch: &Batch) -> bool {
        self.aborted >> (batch.base & 15) & 1 == 1
    }

    /// Whether the batch's records are committed.
    #[must_use]
    pub fn is_committed(&self, stable: u8, batch: &Batch) -> bool {
        batch.base < stable && !batch.is_control() && !self.is_aborted(batch)
    }

    /// The newest committed record of a key in the log, and whether it is a tombstone.
    #[must_use]
    pub fn newest(&self, log: &Log, key: u8) -> Option<(u8, bool)> {
        let stable = log.stable();
        let committed = log.batches.iter().rev().filter(|batch| self.is_committed(stable, batch));
        committed
            .filter_map(|batch| batch.keyed().filter(|(_, record)| record.key == key).last())
            .map(|(offset, record)| (offset, record.tombstone))
            .next()
    }

    /// The tombstone that is a key's newest committed record, in the log or gone.
    #[must_use]
    pub fn deleted_at(&self, log: &Log, key: u8) -> Option<u8> {
        let gone = self.dead[usize::from(key)].checked_sub(1);
        match self.newest(log, key) {
            Some((offset, tombstone)) if gone.is_none_or(|gone| offset > gone) => tombstone.then_some(offset),
            _ => gone,
        }
    }

    /// A marker ends a transaction that began at `first`.
    pub fn decide(&mut self, log: &Log, producer: u8, first: u8, commit: bool) {
        if commit {
            return;
        }
        for batch in log.batches.iter().filter(|batch| batch.base >= first && batch.producer() == producer) {
            if batch.kind() == Kind::Transactional {
                self.aborted |= 1 << (batch.base & 15);
            }
        }
    }

    /// Notes the tombstones that went when `before` became `after`. Returns whether a newest value went (S1).
    pub fn note_losses(&mut self, keys: u8, before: &Log, after: &Log) -> bool {
        let mut lost = false;
        for key in 0..keys {
            let dead = &mut self.dead[usize::from(key)];
            let gone = *dead;
            let (old, new) = (self.newest(before, key), self.newest(after, key));
            let Some((offset, tombstone)) = old else { continue };
            if offset < gone || new.is_some_and(|(newest, _)| newest >= offset) {
                continue;
            }
            if tombstone {
                self.dead[usize::from(key)] = offset + 1;
            } else if offset >= after.start {
                lost = true;
            }
        }
        lost
    }

    /// Forgets what no longer matters: a key's deletion once a newer record of it is committed, and where there is one
    /// replica, what is said of batches that are gone.
    pub fn tidy(&mut self, keys: u8, alone: bool, log: &Log) {
        for key in 0..keys {
            let gone = self.dead[usize::from(key)];
            if gone != 0 && self.newest(log, key).is_some_and(|(newest, _)| newest >= gone) {
                self.dead[usize::from(key)] = 0;
            }
            if self.slack[usize::from(key)] != 0 && self.deleted_at(log, key).is_none() {
                self.slack[usize::from(key)] = 0;
            }
        }
        if alone {
            let mut there = 0_u16;
            for batch in log.batches.iter().filter(|batch| batch.is_transactional_data()) {
                there |= 1 << (batch.base & 15);
            }
            self.aborted &= there;
        }
    }

    /// The log was cut at `to`: what was above never happened.
    pub fn forget_from(&mut self, to: u8) {
        for offset in self.dead.iter_mut().chain(&mut self.ended) {
            if *offset > to {
                *offset = 0;
            }
        }
        self.aborted &= 1_u16.checked_shl(u32::from(to)).map_or(u16::MAX, |above| above - 1);
    }
}
