//! `explore`: Stateright's explorer, opened at the last state of a path.
//!
//! The explorer's own search finds violations too, but not the shortest; so the path is found first, and the address that
//! is printed opens the page at its end.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use crate::path::Indices;

/// Why the explorer can't serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Not an address.
    #[error("`{address}` is not an address to serve at: {source}; write HOST:PORT, as in 127.0.0.1:3000")]
    Address {
        /// The address as it was given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something else serves there.
    #[error("{0} is in use; choose another with --address, or port 0 for any that is free")]
    InUse(SocketAddr),
    /// The address can't be served at.
    #[error("can't serve at {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// The address to serve at. Stateright panics where it can't; here that is an error. Port 0 stands for any that is free.
pub fn free_address(text: &str) -> Result<SocketAddr, ServeError> {
    let unknown = |source| ServeError::Address { address: text.to_owned(), source };
    let address = text
        .to_socket_addrs()
        .map_err(unknown)?
        .next()
        .ok_or_else(|| unknown(io::Error::from(io::ErrorKind::AddrNotAvailable)))?;
    let bound = TcpListener::bind(address).and_then(|listener| listener.local_addr());
    bound.map_err(|source| match source.kind() {
        io::ErrorKind::AddrInUse => ServeError::InUse(address),
        _ => ServeError::Bind { address, source },
    })
}

/// The page that opens at the end of a path.
#[must_use]
pub fn page(address: SocketAddr, path: &Indices) -> String {
    if path.0.is_empty() { format!("http://{address}/") } else { format!("http://{address}/#/steps/{path}") }
}
