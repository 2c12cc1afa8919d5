//! Placeholder: see docs/architecture.md.

pub mod records;
