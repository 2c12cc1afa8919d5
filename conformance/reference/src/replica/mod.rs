//! Leader-epoch replication of one partition, written from the protocol's specification (docs/replication.md) to be read
//! beside it: what each generation of Kafka decides, and what a repair would decide.
//!
//! ```text
//!  Input ──▶ Broker ──▶ Effects: messages, answers, what was truncated below the high watermark
//!               │
//!               ├── decisions: pure functions
//!               └── Log, on files (crate::storage)
//! ```
//!
//! The decisions stand alone, each in the file that has the name of its subject:
//!
//! | Section | File |
//! | --- | --- |
//! | 1.3 epochs of a log | [`epoch_cache`] |
//! | 2.2 beginning to follow | [`fetcher`] |
//! | 2.4, 2.5 where to cut | [`truncation`] |
//! | 2.7 offset out of range | [`out_of_range`] |
//! | 3.1 epoch check | [`epoch_check`] |
//! | 3.3 divergence | [`divergence`] |
//! | 3.5 `ListOffsets` | [`list_offsets`] |
//! | 4.1, 4.4 what is known of another replica | [`remote_replica`] |
//! | 4.3 high watermark | [`high_watermark`] |
//! | 4.5 ISR | [`isr`] |
//! | 4.6 produce | [`produce`] |
//! | 4.7 controller | [`election`], [`alter_partition`], [`controller`] |
//!
//! The broker around them: [`broker`] (its disk, start and stop), `process` (one life of it), and the parts of that
//! (`role_change`, `leading`, `serving`, `following`, `future`), with [`effects`] as its interface and [`message`] and
//! [`metadata`] as what goes between brokers and controller.
//!
//! There is no clock, no randomness and no thread in here. What differs between generations is a value in [`rules`]; what a
//! fix undoes is a [`slip`].

pub mod alter_partition;
pub mod broker;
pub mod controller;
mod disk;
pub mod divergence;
pub mod effects;
pub mod election;
pub mod epoch_check;
pub mod error;
pub mod fetcher;
mod following;
mod future;
pub mod high_watermark;
pub mod isr;
mod leading;
pub mod list_offsets;
pub mod message;
pub mod metadata;
pub mod names;
pub mod observe;
pub mod out_of_range;
mod process;
pub mod produce;
pub mod records;
pub mod remote_replica;
mod role_change;
pub mod rules;
mod serving;
pub mod slip;
pub mod truncation;

pub use crate::storage::epoch_cache;
pub use disk::EpochFileFault;
