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
//! The log on disk, around these:
//!
//! | Section | File |
//! | --- | --- |
//! | files, and what a power cut takes | [`fs`], [`memory_fs`], [`segment_files`] |
//! | indexes of a segment | [`offset_index`], [`time_index`], [`transaction_index`] |
//! | segments | [`segment`], [`segment_batches`] |
//! | 3.4 producers | [`producer_entry`], [`producer_append`], [`producer_state`], [`producer_snapshot`] |
//! | 2.7 checkpoints | [`checkpoint`], [`leader_epoch_checkpoint`] |
//! | configuration and switches | [`log_rules`], [`log_error`] |
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

// The log on disk.
pub mod checkpoint;
pub mod fs;
pub mod leader_epoch_checkpoint;
pub mod log_error;
pub mod log_rules;
pub mod memory_fs;
pub mod offset_index;
pub mod producer_append;
pub mod producer_entry;
pub mod producer_snapshot;
pub mod producer_state;
pub mod segment;
pub mod segment_batches;
pub mod segment_files;
pub mod time_index;
pub mod transaction_index;
