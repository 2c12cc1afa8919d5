//! Replays the traces of fencepost on an implementation, and says where it differs.
//!
//! | module | subject |
//! |---|---|
//! | [`target`] | the one trait through which a trace meets an implementation |
//! | [`replayer`] | one trace on one target, compared step by step |
//! | [`replayable`] | what the replayer must know of a protocol; [`fencing`] and [`compaction`] are two; their `phrases` are the words of the reports |
//! | [`implementation`] | the targets of an implementation, a protocol each |
//! | [`reference_target`], [`reference_log`] | the reference, in this process |
//! | [`driver`], [`process`], [`wire`], [`driver_schema`] | an implementation in another process, behind JSON lines |
//! | [`runner`] | many traces, side by side |
//! | [`expectations`] | a target's known deviations |
//! | [`fingerprint`] | which variant a target behaves like |
//! | [`report`] | what a run came to, in four forms |
//! | [`suite`] | the traces as tests of an implementation in Rust |
//! | [`show`] | a trace for a reader |
//! | [`smoke`] | twelve checks of a new driver |
//! | [`selection`], [`pattern`] | which traces |
//! | [`verify_log`] | a partition's directory of a broker, read in one pass |
//! | [`cli`], [`exit`] | the command line |

pub mod cli;
pub mod compaction;
pub mod consumer;
pub mod driver;
pub mod driver_schema;
pub mod exit;
pub mod expectations;
pub mod fencing;
pub mod fingerprint;
pub mod implementation;
pub mod pattern;
pub mod process;
pub mod reference_cluster;
pub mod reference_consumer;
pub mod reference_log;
pub mod reference_target;
mod relay;
pub mod replayable;
pub mod replayer;
pub mod replication;
pub mod report;
pub mod runner;
pub mod selection;
pub mod show;
pub mod smoke;
pub mod suite;
pub mod target;
pub mod verify_log;
pub mod wire;
