//! Kafka's epoch protocols as Stateright actor models, the front end that checks them, and the exporter of traces.
//!
//! | module | subject |
//! |---|---|
//! | [`world`] | the one `Model` that runs every protocol's actors |
//! | [`protocol`] | what the front end asks of a protocol |
//! | [`fencing`] | the protocol `fencing`: offset commits while partitions move |
//! | [`compaction`] | the protocol `compaction`: delete horizons of tombstones and markers |
//! | [`replication`] | the protocol `replication`: leader epochs, the high watermark and the ISR |
//! | [`consumer`] | the protocol `consumer`: what a reader sees of a truncation |
//! | [`registry`] | all protocols behind one type; configurations by name |
//! | [`path`] | a path as a list of indices, and the walk along it |
//! | [`runs`] | the count run and the shortest run, by Stateright's checker |
//! | [`limits`] | what may end a run early |
//! | [`search`] | a breadth-first pass of our own: labels, goals |
//! | [`matrix`] | the verdicts that are expected, as data |
//! | [`check`] | runs everything, and holds it against the matrix |
//! | [`distributed`] | the same check on several threads and machines |
//! | [`parity`] | holds a protocol under [`world`] against Stateright's `ActorModel` |
//! | [`diagram`] | sequence diagrams of a path |
//! | [`explore`] | the explorer, opened at a path |
//! | [`show`] | a path as text, diagram or trace |
//! | [`goals`] | the shortest path to each goal of the exporter |
//! | [`export`] | the generated traces: written, and held against the model |
//! | [`simulate`] | random behaviours by seed |
//! | [`measure`] | what a configuration costs |
//! | [`cli`] | the command line |

pub mod check;
pub mod cli;
pub mod compaction;
pub mod consumer;
pub mod diagram;
pub mod distributed;
pub mod explore;
pub mod export;
pub mod fencing;
pub mod goals;
pub mod limits;
pub mod matrix;
pub mod measure;
pub mod parity;
pub mod path;
pub mod protocol;
pub mod registry;
pub mod replication;
pub mod runs;
pub mod search;
pub mod show;
pub mod simulate;
pub mod walks;
pub mod world;
