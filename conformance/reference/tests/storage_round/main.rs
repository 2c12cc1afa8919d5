//! Rounds of the cleaner, one after the other, over a partition in memory (docs/compaction.md 2 to 5).

mod findings;
mod log;
mod map;
mod markers;
mod mutations;
mod recopy;
mod transactions;
