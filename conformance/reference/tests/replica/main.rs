//! Replication on the reference (docs/replication.md): the tables, the scenarios that killed each generation, and a few
//! brokers under chosen faults.

mod cache;
mod cluster;
mod disk;
mod following;
mod future;
mod isr;
mod leading;
mod properties;
mod random;
mod scenarios;
mod serving;
mod slips;
mod tables;
mod truncating;
mod upgrade;
mod world;
