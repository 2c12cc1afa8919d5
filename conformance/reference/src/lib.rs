//! What the traces are held against: a group coordinator and a partition's log, each written from its protocol's
//! specification (`docs/`) to be read beside it, and apart from the models of `fencepost-model`.
//!
//! | Module | Protocol |
//! | --- | --- |
//! | [`coordinator`] | assignment-epoch fencing: whose offset commits are accepted while partitions move |
//! | [`storage`] | compaction: what the cleaner of a log may drop, and when |
//!
//! There is no clock, no randomness and no thread in here: ids and the time come with the calls.

pub mod coordinator;
pub mod storage;
