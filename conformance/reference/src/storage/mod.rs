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
//!
//! There is no clock, no randomness and no thread in here: the time comes with the calls.

pub mod batch;
pub mod batch_builder;
pub mod batch_reader;
pub mod compression;
pub mod control;
pub mod error;
pub mod names;
pub mod record;
pub mod varint;
