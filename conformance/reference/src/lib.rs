//! What the traces are held against: a group coordinator, a partition's log and its
//! replicas, and the client that reads it, each written from its protocol's
//! specification (`docs/`) to be read beside it, and apart from the models of `fencepost-model`.
//!
//! | Module | Protocol |
//! | --- | --- |
//! | [`coordinator`] | assignment-epoch fencing: whose offset commits are accepted while partitions move |
//! | [`storage`] | compaction: what the cleaner of a log may drop, and when |
//! | [`replica`] | leader-epoch replication: how a partition's copies come to agree, and what may be lost |
//! | [`client`] | the reader of KIP-320: how a client hears that what it read is gone |
//!
//! There is no clock, no randomness and no thread in here: ids and the time come with the calls.

pub mod client;
pub mod coordinator;
pub mod replica;
pub mod storage;
