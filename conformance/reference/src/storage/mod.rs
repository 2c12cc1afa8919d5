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
//! The log on disk, around these:
//!
//! | Section | File |
//! | --- | --- |
//! | files, and what a power cut takes | [`fs`], [`memory_fs`], [`segment_files`] |
//! | indexes of a segment | [`offset_index`], [`time_index`], [`transaction_index`] |
//! | segments | [`segment`], [`segment_batches`], [`segment_recovery`] |
//! | 3.4 producers | [`producer_entry`], [`producer_append`], [`producer_state`], [`producer_snapshot`] |
//! | 2.7 checkpoints | [`checkpoint`], [`leader_epoch_checkpoint`] and its [`epoch_cache`] |
//! | the log: append, read, roll, cut | [`log`], [`log_append`], [`log_read`], [`log_lookup`], [`log_truncate`] |
//! | 2.7 swap, 2.8 crash | [`swap`], [`recovery`] |
//! | 2.1, 2.2 choice of the log, F and U | [`cleaner_manager`] |
//! | 2.3-2.7 a round on files | [`cleaner`] |
//! | all of it for one partition | [`partition`] |
//! | 3.5 the reader | [`reader`] |
//! | 4.4 times of cleaning, a rejected design | [`clean_times`] |
//! | configuration and switches | [`log_rules`], [`log_error`] |
//!
//! There is no clock, no randomness and no thread in here: the time comes with the calls.

pub mod batch;
pub mod batch_builder;
pub mod batch_reader;
mod chunks;
pub mod compression;
pub mod control;
pub mod epoch_cache;
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
pub mod record_view;
pub mod retention;
pub mod round;
pub mod rules;
pub mod transaction_tracker;
pub mod varint;

// The log on disk.
pub mod checkpoint;
pub mod clean_times;
pub mod cleaner;
pub mod cleaner_manager;
pub mod fs;
pub mod leader_epoch_checkpoint;
pub mod log;
pub mod log_append;
pub mod log_error;
pub mod log_lookup;
pub mod log_read;
pub mod log_rules;
pub mod log_truncate;
pub mod memory_fs;
pub mod offset_index;
pub mod partition;
pub mod producer_append;
pub mod producer_entry;
pub mod producer_snapshot;
pub mod producer_state;
pub mod reader;
pub mod recovery;
pub mod segment;
pub mod segment_batches;
pub mod segment_files;
pub mod segment_recovery;
pub mod swap;
pub mod time_index;
pub mod transaction_index;
