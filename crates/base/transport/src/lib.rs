//! Byte streams and their framing, and the [`driver`] that runs a state machine on them.
//!
//! ```text
//!  Address --Listener::bind--> Listener --accept--> (Stream, peer)
//!     `--------connect-----------------------------> Stream
//!                                                     |  readable / try_read        -> FrameReader -> Bytes
//!                                                     `- writable / try_write_vectored <- FrameWriter <- head + body
//! ```
//!
//! A [`Stream`] is used through `&self`: one task awaits [`Stream::readable`] while other code on the same thread
//! writes. Reads and writes return `WouldBlock` instead of waiting. Nothing is queued here, so the owner of the queue
//! decides what happens at its limit.
//!
//! On TCP, Unix and memory streams, a message is a 4-byte big-endian length and the PDU ([`Framer`]). SCTP preserves
//! message boundaries, and so does its emulation `shim://`. Applications may [`register`] further transports
//! ([`Transport`]).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! use bytes::Bytes;
//! use ranlab_transport::{Frame, FrameReader, FrameWriter, Listener, ReadOutcome, SocketOptions, connect};
//!
//! let options = SocketOptions::default();
//! let listener = Listener::bind(&"tcp://127.0.0.1:0".parse()?, &options).await?;
//! let near = connect(listener.address(), &options).await?;
//! let (far, peer) = listener.accept().await?;
//! assert!(peer.starts_with("tcp://127.0.0.1:"));
//!
//! let body = Bytes::from_static(b"payload");
//! let sent = FrameWriter::default().write(&near, &[Frame { head: b"head and ", body: &body }])?;
//! assert_eq!((sent.taken, sent.blocked), (1, false));
//!
//! let mut reader = FrameReader::default();
//! while reader.fill(&far)? == ReadOutcome::WouldBlock {
//!     far.readable().await?;
//! }
//! assert_eq!(reader.next()?.as_deref(), Some(&b"head and payload"[..]));
//! # Ok(())
//! # })
//! # }
//! ```

#![deny(missing_docs)]

mod address;
mod alarm;
mod clock;
pub mod driver;
mod error;
mod framer;
mod memory;
#[cfg(feature = "nats")]
pub mod nats;
mod open;
mod options;
mod proxy;
mod read;
mod registry;
mod run;
mod sctp;
mod stream;
pub mod suite;
mod tcp;
#[cfg(feature = "tls")]
mod tls;
mod traits;
mod unix;
mod watched;
mod write;

pub use address::{Address, AddressError, SCHEMES};
pub use alarm::Alarm;
pub use bytes::Bytes;
pub use clock::{now, unix_time, unix_time_at};
pub use error::{AcceptError, BindError, ConnectError, Unsupported};
pub use framer::{Framer, LengthPrefix, MessageBoundaries, Unframed};
pub use memory::{MemoryStream, duplex};
pub use open::connect;
pub use options::SocketOptions;
pub use proxy::{Proxy, ProxyDirection, ProxyError, ProxyObserver};
pub use read::{FrameError, FrameReader, ReadOutcome};
pub use registry::{RegisterError, register};
pub use run::run;
pub use stream::Stream;
#[cfg(feature = "tls")]
pub use tls::{Identity, IdentityError, WatchedIdentity, https_client, https_server, identify};
pub use traits::{Accept, Attempt, Connection, Listener, Transport};
pub use watched::Watched;
pub use write::{Frame, FrameWriter, WriteError, WriteOutcome};

/// Default maximum length of a PDU, in bytes.
pub const MAX_PDU_BYTES: usize = 1 << 20;

/// Size of the length field of a frame, in bytes.
pub const LENGTH_BYTES: usize = 4;
