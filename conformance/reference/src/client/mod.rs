//! A client that reads one partition, and the brokers as far as it sees them, written from the protocol's specification
//! (docs/consumers.md) to be read beside it: what KIP-320 made of the consumer, what was proposed for it, and what would be
//! right.
//!
//! The decisions stand alone, each in the file that has the name of its subject:
//!
//! | Section | File |
//! | --- | --- |
//! | 1 states and positions | [`state`] |
//! | 2, 8 who leads, of which topic | [`metadata`] |
//! | 2, 3 whether a position stands | [`validation`] |
//! | 4, 9 what is made of records | [`fetching`] |
//! | 5, 7 where to go on without a position | [`reset`] |
//! | 7c what was read | [`history`] |
//!
//! The client around them: [`reader`] (what it remembers, and its inputs), `positions` (how its position changes),
//! `requests` (what it asks, and the answers), with [`message`] as what goes to the brokers and back. [`leader`] is a broker.
//!
//! There is no clock, no randomness and no thread in here. What differs between clients is a value in [`rules`]; what a fix
//! undoes is a [`slip`].

pub mod fetching;
pub mod history;
pub mod leader;
pub mod message;
pub mod metadata;
pub mod names;
mod positions;
pub mod reader;
pub mod record;
mod requests;
pub mod reset;
pub mod rules;
pub mod slip;
pub mod state;
pub mod validation;
