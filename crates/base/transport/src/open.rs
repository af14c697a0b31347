//! Opening streams and listeners by address.

use std::sync::Arc;

use super::registry::registered;
#[cfg(feature = "tls")]
use super::tls;
use super::{
    Address, BindError, ConnectError, Listener, SocketOptions, Stream, Transport, Unsupported, memory, sctp,
    tcp, unix,
};

/// Returns the registered transport of an address.
fn own_transport(address: &Address) -> Option<Arc<dyn Transport>> {
    let Address::Other { scheme, .. } = address else { return None };
    registered(scheme)
}

/// Connects to `address` within `options.connect_timeout`. Resolves names and tries each resolved address.
pub async fn connect(address: &Address, options: &SocketOptions) -> Result<Stream, ConnectError> {
    let attempt = async {
        match address {
            Address::Tcp { host, port } => tcp::connect(address, (host, *port), options).await,
            Address::Unix(path) => unix::connect(address, path, options).await,
            Address::Memory(name) => memory::connect(name, options.local_buffer_bytes)
                .map(Stream::Memory)
                .ok_or_else(|| ConnectError::Refused { address: address.clone() }),
            Address::Sctp { host, port } => sctp::connect(address, (host, *port)).await,
            Address::Shim { folder, at } => sctp::connect_preloaded(address, folder, *at),
            #[cfg(feature = "tls")]
            Address::Tls { host, port } => tls::connect(address, (host, *port), options).await,
            _ => match own_transport(address) {
                Some(transport) => transport.connect(address, options).await,
                None => Err(ConnectError::unsupported(address, Unsupported::from_address(address))),
            },
        }
    };
    let after = options.connect_timeout;
    let late = |_| Err(ConnectError::TimedOut { address: address.clone(), after });
    tokio::time::timeout(after, attempt).await.unwrap_or_else(late)
}

impl Listener {
    /// Listens at `address` only; whether that is loopback is the caller's choice. A stale Unix socket file without a
    /// listener is replaced; any other file is kept.
    pub async fn bind(address: &Address, options: &SocketOptions) -> Result<Self, BindError> {
        match address {
            Address::Tcp { host, port } => tcp::listen(address, (host, *port), options).await,
            Address::Unix(path) => unix::listen(address, path, options),
            Address::Memory(name) => memory::listen(name)
                .map(|arrivals| Self::new(address.clone(), arrivals))
                .ok_or_else(|| BindError::InUse { address: address.clone() }),
            Address::Sctp { host, port } => sctp::listen(address, (host, *port)).await,
            Address::Shim { folder, at } => sctp::listen_preloaded(address, folder, *at),
            #[cfg(feature = "tls")]
            Address::Tls { host, port } => tls::listen(address, (host, *port), options).await,
            _ => match own_transport(address) {
                Some(transport) => transport.listen(address, options).await,
                None => Err(BindError::unsupported(address, Unsupported::from_address(address))),
            },
        }
    }
}
