//! A group coordinator for CONSUMER groups, written from the protocol's specification (docs/fencing.md) to be read
//! beside it: what Kafka 4.4.0 decides, what older releases decided, and what a repair would decide.
//!
//! ```text
//!              Request ──▶ Coordinator ──▶ Output: an answer or an error, and the records that were written
//!                              │  ▲
//!            decisions: pure   │  │ replay: the state is the fold of the log and nothing else
//!                              ▼  │
//!                             Log (records in Kafka's bytes, a high watermark)
//! ```
//!
//! The decisions stand alone, each in the file that has the name of its subject, with the section it comes from:
//!
//! | Section | File |
//! | --- | --- |
//! | 1, 4.2 state and replay | `member`, `group`, `partition_epochs`, `state`, `replay` |
//! | 2.1 validation | `validation` |
//! | 2.2, 2.4 heartbeat | `heartbeat`, `membership`, `target` |
//! | 2.3 epoch check | [`epoch_check`] |
//! | 2.5 NEXT and STRIP | [`reconciliation`] |
//! | 2.6, 2.8 leave and removal | `leave` |
//! | 2.7 static members | `static_member` |
//! | 2.9 timers | [`timers`] |
//! | 2.10 assignors | [`assignor`] |
//! | 2.11 classic members | `classic`, `upgrade` |
//! | 3.2, 3.4, 3.6 offsets | `offset_commit`, `offset_fetch`, `offsets` |
//! | 3.3 commit check | [`commit_check`] |
//! | 4.1 records | [`records`] |
//! | 4.3 durability and fail-over | [`log`], `durability` |
//!
//! There is no clock, no randomness and no thread in here: ids and the time come with the calls. What differs between
//! releases is a value in [`Rules`]; what a fix undoes is a [`Mutation`].

pub mod assignor;
mod classic;
pub mod commit_check;
pub mod describe;
mod draft;
mod durability;
pub mod epoch_check;
mod error;
mod expiry;
mod group;
mod heartbeat;
mod leave;
pub mod log;
mod machine;
mod membership;
mod mutation;
mod names;
mod offset_commit;
mod offset_fetch;
mod offsets;
mod partition_epochs;
pub mod reconciliation;
pub mod records;
mod replay;
pub mod request;
mod rules;
mod state;
mod static_member;
mod target;
pub mod timers;
mod topics;
mod upgrade;
mod validation;

pub use durability::LoadError;
pub use error::ErrorCode;
pub use machine::{
    Activity, Config, Coordinator, Output, Replication, Reply, ScriptedTarget, Survives, Ticket, UnknownTopic,
};
pub use mutation::Mutation;
pub use names::{Epoch, GroupId, InstanceId, MemberId, ProducerEpoch, ProducerId, TopicName, TopicPartition};
pub use replay::ReplayError;
pub use request::{Answer, Request, Response};
pub use rules::{
    CommitCheck, EmptyGroup, EpochZero, FullGroup, InstanceMapping, OwnPending, PreferredAssignor, ReplayChecks, Rules,
    StripPreviousEpoch, TxnErrors, UnrevokedExit, UnsubscribedTopics,
};
pub use topics::Topics;
pub use upgrade::{ClassicGroup, ClassicGroupMember};
