//! The client on the reference (docs/consumers.md): the tables, and a client among brokers under chosen faults.

mod properties;
mod tables;
mod world;
