//! The log on disk: each file in Kafka's bytes, appending, rolling, reading, cutting, and what is left after a stop.

mod append;
mod crash;
mod files;
mod read;
mod recovery;
mod support;
