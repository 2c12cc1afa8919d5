//! A partition's log as Kafka keeps it, and what its cleaner decides, written from the protocol's specification
//! (docs/compaction.md) to be read beside it.
//!
//! | Section | File |
//! | --- | --- |
//! | 0.3 offsets, times, producers | [`names`] |
//! | 1.1, 1.2 header and attributes of a batch | [`batch`], [`batch_builder`] |
//! | 1.3 records | [`record`], [`varint`] |
//! | 1.2 codecs | [`compression`] |
//! | 1.4 control records | [`control`] |
//! | 1.5 what can be wrong with bytes | [`error`] |
//! | framing: the batches of a buffer | [`batch_reader`] |
//! | formats 0 and 1 | [`legacy`] |
//! | 0.1, 5.1, 5.3 what differs between releases, and slips | [`rules`], [`mutation`] |
//! | 1.7, 1.8 how what is kept is written | [`rebuild`] |
//! | 2.6 what is kept of one batch | [`filter`] |
//! | 2.3 to 2.7 a round | [`round`] and its `chunks` |
//! | 2.4 offset map | [`offset_map`], `mapping` |
//! | 2.5 groups of segments | [`grouping`] |
//! | 2.6 decision tables | [`retention`] |
//! | 3.1 transaction tracker | [`transaction_tracker`] |
//!
//! There is no clock, no randomness and no thread in here: the time comes with the calls.

pub mod batch;
pub mod batch_builder;
pub mod batch_reader;
mod chunks;
pub mod compression;
pub mod control;
pub mod error;
pub mod filter;
pub mod grouping;
pub mod legacy;
mod mapping;
pub mod mutation;
pub mod names;
pub mod offset_map;
pub mod rebuild;
pub mod record;
pub mod retention;
pub mod round;
pub mod rules;
pub mod transaction_tracker;
pub mod varint;
