//! Socket system calls that std lacks; the only floor-0 crate with `unsafe`, each block with its reason.
//!
//! * [`bound_buffers`], [`limit_unsent`]: keep the kernel from hoarding data that will be stale when it leaves.
//! * [`raise_open_files`]: one descriptor a peer needs more than the usual soft limit of 1024.
//! * [`sctp`]: one-to-one SCTP associations carrying E2AP, and a probe that says why there are none.
//!
//! Nothing here blocks, spawns or decides. A write to a closed socket is an error and not a signal: Rust
//! programs start with SIGPIPE ignored, and [`sctp`] passes `MSG_NOSIGNAL` besides.
#![deny(missing_docs)]

mod limits;
mod options;
pub mod sctp;

pub use limits::{OpenFiles, raise_open_files};
pub use options::{bound_buffers, limit_unsent};
pub use sctp::{SctpUnavailable, sctp_support};
