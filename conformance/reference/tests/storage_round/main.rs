//! Rounds of the cleaner, one after the other, over a partition in memory (docs/compaction.md 2 to 5).

mod findings;
mod history;
mod log;
mod map;
mod markers;
mod mutations;
mod properties;
mod recopy;
mod transactions;
mod walks;
