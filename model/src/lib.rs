//! Kafka's epoch protocols as Stateright actor models, the front end that checks them, and the exporter of traces.
//!
//! | module | subject |
//! |---|---|
//! | [`world`] | the one `Model` that runs every protocol's actors |
//! | [`protocol`] | what the front end asks of a protocol |
//! | [`fencing`] | the protocol `fencing`: offset commits while partitions move |
//! | [`diagram`] | sequence diagrams of a path |

pub mod diagram;
pub mod fencing;
pub mod protocol;
pub mod world;
