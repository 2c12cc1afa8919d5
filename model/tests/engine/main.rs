//! The front end on a toy protocol: what it promises of any protocol.

mod check;
mod path;
mod toy;
mod world;
