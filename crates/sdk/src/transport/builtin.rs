//! The transports that are always there.

use super::transport::{Attempt, Transport};
use super::{Address, BindError, ConnectError, Listener, SocketOptions, Stream, connect, listener, memory};

/// `tcp://`
#[derive(Debug)]
pub(super) struct Tcp;

/// `unix://`
#[derive(Debug)]
pub(super) struct Unix;

/// `mem://`
#[derive(Debug)]
pub(super) struct Memory;

impl Transport for Tcp {
    fn scheme(&self) -> &str {
        "tcp"
    }
    fn connect<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError> {
        Box::pin(async move {
            let Address::Tcp { host, port } = address else { return Err(connect::not_mine(address)) };
            connect::tcp(address, host, *port, options).await.map(Stream::Tcp)
        })
    }
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Listener, BindError> {
        Box::pin(async move {
            let Address::Tcp { host, port } = address else { return Err(listener::not_mine(address)) };
            listener::tcp(address, host, *port, options).await
        })
    }
}

impl Transport for Unix {
    fn scheme(&self) -> &str {
        "unix"
    }
    fn connect<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError> {
        Box::pin(async move {
            let Address::Unix(path) = address else { return Err(connect::not_mine(address)) };
            connect::unix(address, path, options).await.map(Stream::Unix)
        })
    }
    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Listener, BindError> {
        Box::pin(async move {
            let Address::Unix(path) = address else { return Err(listener::not_mine(address)) };
            listener::unix(address, path, options)
        })
    }
}

impl Transport for Memory {
    fn scheme(&self) -> &str {
        "mem"
    }
    fn connect<'a>(
        &'a self,
        address: &'a Address,
        options: &'a SocketOptions,
    ) -> Attempt<'a, Stream, ConnectError> {
        Box::pin(async move {
            let Address::Memory(name) = address else { return Err(connect::not_mine(address)) };
            let stream = memory::connect(name, options.local_buffer_bytes).map(Stream::Memory);
            stream.ok_or_else(|| ConnectError::Refused { address: address.clone() })
        })
    }
    fn listen<'a>(&'a self, address: &'a Address, _: &'a SocketOptions) -> Attempt<'a, Listener, BindError> {
        Box::pin(async move {
            let Address::Memory(name) = address else { return Err(listener::not_mine(address)) };
            let arrivals = memory::MemoryListener::bind(name);
            let arrivals = arrivals.ok_or_else(|| BindError::InUse { address: address.clone() })?;
            Ok(Listener::new(address.clone(), arrivals))
        })
    }
}
