//! How a replica truncates, and where to (`docs/replication.md` 1.6, 2.5, 2.8; `UnifiedLog#truncateTo`,
//! `AbstractFetcherThread#getOffsetTruncationState`).
//!
//! The table of where to is the same for a follower and for a future replica.

use super::broker::{Turn, wrong};
use super::epochs::{EpochEnd, Epochs};
use super::labels::Label;
use super::log::{Offset, UNDEFINED};
use super::mutant::Mutant;
use super::rules::BatchCut;

/// What the table of 2.5 looks at of a replica.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replica {
    /// Where its log ends.
    pub(super) end: Offset,
    /// Where it truncates to if nothing can be compared.
    pub(super) fallback: Offset,
    /// Its high watermark.
    pub(super) high: Offset,
    /// Its epochs.
    pub(super) epochs: Epochs,
}

impl Turn<'_> {
    /// The replica that follows.
    pub(super) fn follower(&self) -> Replica {
        let broker = &*self.broker;
        Replica { end: broker.log.end, fallback: broker.entry.offset, high: broker.high, epochs: broker.epochs }
    }

    /// Where to truncate to, and whether that is all: the table of 2.5, in its order.
    pub(super) fn truncation_target(&mut self, replica: Replica, reply: EpochEnd) -> (Offset, bool) {
        let Replica { end, fallback, high, epochs } = replica;
        if reply.end == UNDEFINED {
            self.mark(Label::TargetFallback);
            return (fallback, true);
        }
        if reply.epoch == UNDEFINED {
            self.mark(Label::TargetOffsetOnly);
            return match self.setting.mutant {
                Mutant::NoEpochToHighWatermark => (high, true),
                Mutant::MinWithHighWatermark => (reply.end.min(end).min(high), true),
                _ => (reply.end.min(end), true),
            };
        }
        let own = self.epoch_end_in(&epochs, end, reply.epoch);
        if own.end == UNDEFINED {
            let to = if self.setting.has(Mutant::UnknownEpochToHighWatermark) { high } else { reply.end.min(end) };
            return (to, true);
        }
        if own.epoch != reply.epoch {
            self.mark(Label::TargetAgain);
            let to = if self.setting.has(Mutant::StepUnbounded) { own.end } else { own.end.min(end) };
            return (to, self.setting.has(Mutant::OneRound));
        }
        self.mark(Label::TargetFound);
        (own.end.min(reply.end).min(end), true)
    }

    /// Truncates the log (1.6). Returns where to fetch on. `finished`: the search for where the logs part is over, and a
    /// future replica is told (2.10).
    pub(super) fn truncate(&mut self, to: Offset, finished: bool) -> Offset {
        let batch_cut = self.setting.rules(self.me).batch_cut;
        let broker = &mut *self.broker;
        if to < broker.high {
            self.effect.below_high.push((to, broker.high));
            broker.wrong |= wrong::P4E;
            self.effect.trail.mark(Label::CutBelowHigh);
        }
        let mut on = to;
        if to >= broker.log.end {
            if !self.setting.has(Mutant::CacheNotCleaned) {
                broker.epochs.truncate_from_end(broker.log.end);
            }
            self.effect.trail.mark(Label::CutNothing);
        } else {
            let base = broker.log.base_of(to);
            if base < to {
                // A batch is cut whole. What is left between its base and the offset is a hole (2.8).
                self.effect.trail.mark(Label::CutInsideBatch);
            }
            if batch_cut == BatchCut::Base {
                on = base;
            }
            broker.log.cut(base);
            broker.log.end_at(on);
            broker.epochs.truncate_from_end(on);
            self.effect.trail.mark(Label::Cut);
            if broker.high > on {
                broker.high = on;
                self.effect.trail.mark(Label::HighCut);
            }
        }
        if finished {
            self.mark_future(to);
        }
        on
    }
}
