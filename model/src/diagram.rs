//! Sequence diagrams of a path, for the explorer and for `show --format mermaid`.

use crate::protocol::{Protocol, Walk};

/// A diagram as SVG.
pub fn svg<P: Protocol>(_protocol: &P, _walk: &Walk<P>) -> Option<String> {
    None
}
