//! The public TLA+ modules of Kafka replication as plain models, action by action: a second opinion on the checker, and
//! on what each generation of the protocol is known to get wrong.
//!
//! The modules are those of <https://github.com/hachikuji/kafka-specification> at commit `d68782b` (Apache-2.0): five
//! generations over one base, and `AsyncIsr`. TLC has exhausted them; equal constants must give equal numbers of distinct
//! states, equal depths and equal verdicts here.
//!
//! | module here | TLA+ module |
//! |---|---|
//! | [`base`] | `KafkaReplication`, with `FiniteReplicatedLog` and `IdSequence`: the shared actions |
//! | [`variants`] | `KafkaTruncateToHighWatermark`, `Kip101`, `Kip279`, `Kip320FirstTry`, `Kip320`: what each changes |
//! | [`invariants`] | the invariants of the base, and repaired forms of those that can't hold as they are written |
//! | [`async_isr`] | `AsyncIsr` |
//! | [`state`] | the variables, packed |
//! | [`module`] | how a module runs under [`World`](crate::world::World) |
//! | [`words`] | steps and states as text |
//! | [`catalogue`] | the constants that are run |
//!
//! # How states are counted
//!
//! *Distinct* states are the same. *Generated* states are, too, under three rules that follow from how TLC takes `Next`
//! apart:
//!
//! 1. Each disjunct generates, also inside an action. `Kip279` has an own disjunct for a follower with an empty log,
//!    which the other one covers as well; `Kip320` drops a member of the ISR that does not follow *or* that lags. Where
//!    both apply, TLC makes two successors, and so there are two steps here.
//! 2. A step that leads back to its own state is generated (`AsyncIsr` repeats a request).
//! 3. TLC also counts a successor that a `CONSTRAINT` then discards; Stateright counts none outside its bounds. Only
//!    `AsyncIsr` needs a constraint; [`async_isr::AsyncIsr::discarded`] counts what is missing.
//!
//! TLC counts the states of a trace, the initial one included; the matrix has steps, which are one fewer.
//!
//! # What is not said here
//!
//! `TypeOk` as the base has it can't be evaluated once a record is written: it compares a record with the integer that
//! stands for none. `Nil` is an `Option` here, and so [`invariants`] has the repaired form only. Every action by which a
//! replica becomes a follower has a branch for a request without a leader, in modules where its leader ranges over the
//! replicas; that branch is dead there and absent here. Fairness is not modelled, as the modules claim nothing with it.

pub mod async_isr;
pub mod base;
pub mod catalogue;
pub mod invariants;
pub mod module;
pub mod state;
pub mod variants;
pub mod words;

pub use module::{Module, Tla};
