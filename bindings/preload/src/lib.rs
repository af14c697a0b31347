//! A library to preload: SCTP sockets of a stock program, carried over Unix sockets; no other socket is touched.
//!
//! ```text
//!  program --sendmsg--> hook --------------------------------> Unix SEQPACKET --> the peer's carrier, or ours (`shim://`)
//!     ^                                                              |
//!     '---recvmsg-- hook <-- socket pair <-- carrier thread <--------'
//! ```
//!
//! `LD_PRELOAD=libranlab_preload.so RANLAB_SCTP=FOLDER program` starts a program with it; `docs/how-to/gateway.md` has the details. The program's
//! descriptor is one end of a socket pair, so that `poll`, `epoll`, `select`, time-outs and `O_NONBLOCK` are the kernel's own:
//! each message raises an edge, as SCTP's does. One thread, the carrier, takes what comes on the associations and puts it
//! there. What the program sends goes straight to the association; while that takes nothing, the program's end of the pair is
//! filled, so that it is not writable either (`pressure`).
//!
//! Only libc's calls are replaced, not libsctp's: its functions are made of `sendmsg`, `recvmsg` and socket options, whichever
//! way it is linked. Without the variable, and for every descriptor that is not SCTP, each hook is a look at one bit.
//! Sockets do not outlive `fork` with use on both sides, and `readv`, `recvmmsg` and `fcntl(F_DUPFD)` do not know them.
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
