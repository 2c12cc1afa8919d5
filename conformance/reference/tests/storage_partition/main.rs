//! A partition on disk, driven operation by operation: rounds, what readers get, what is left of a marker, and each finding
//! of docs/compaction.md 5.3 under Kafka's rule and under its repair.

mod damage;
mod disk;
mod files;
mod findings;
mod life;
mod lives;
mod oracle;
mod promises;
mod random;
mod rounds;
mod slips;
mod stops;
mod support;
mod vectors;
