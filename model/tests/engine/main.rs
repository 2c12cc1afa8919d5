//! The front end on a toy protocol: what it promises of any protocol.

mod browser;
mod check;
mod cli;
mod export;
mod names;
mod path;
mod show;
mod toy;
mod world;
