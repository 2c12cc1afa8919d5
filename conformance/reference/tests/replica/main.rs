//! Replication on the reference (docs/replication.md): the tables, the scenarios that killed each generation, and a few
//! brokers under chosen faults.

mod cache;
mod cluster;
mod leading;
mod scenarios;
mod tables;
mod truncating;
