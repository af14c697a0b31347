//! Preloadable library that emulates the SCTP sockets of an unmodified program over Unix sockets. Other sockets are
//! not affected.
//!
//! ```text
//!  program --sendmsg--> hook --------------------------------> Unix SEQPACKET --> the peer's carrier, or ranlab (`shim://`)
//!     ^                                                              |
//!     '---recvmsg-- hook <-- socket pair <-- carrier thread <--------'
//! ```
//!
//! `LD_PRELOAD=libranlab_preload.so RANLAB_SCTP=FOLDER program` starts a program with it; see
//! `docs/how-to/gateway.md`. The program's descriptor is one end of a socket pair, so `poll`, `epoll`, `select`,
//! timeouts and `O_NONBLOCK` work as in the kernel: each message raises an edge, as with SCTP. One thread, the
//! carrier, receives the data of all associations and writes it to the pairs. Data that the program sends goes
//! directly to the association. While the association is full, the program's end of the pair is filled, so that it is
//! not writable either (`pressure`).
//!
//! Only functions of libc are replaced. The functions of libsctp call `sendmsg`, `recvmsg` and socket options, so
//! they work with static and dynamic linking. Without the environment variable, and for every descriptor that is not
//! SCTP, each hook only tests one bit. Sockets cannot be used on both sides after `fork`, and `readv`, `recvmmsg` and
//! `fcntl(F_DUPFD)` do not support them.
#![allow(unsafe_code)]

mod address;
mod carrier;
mod endpoint;
pub mod hooks;
mod message;
mod notification;
mod options;
mod pressure;
mod real;
mod receive;
mod table;
mod values;
