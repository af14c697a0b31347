//! System calls of Linux that the standard library lacks, mainly for sockets. Each `unsafe` block states its reason.
//!
//! * [`bound_buffers`], [`limit_unsent`]: limit data in the kernel that would be stale when it leaves;
//!   [`unacknowledged`]: size of that data; [`Readers`]: size of the unread data at the other endpoint, if it is on
//!   this machine.
//! * [`raise_open_files`]: raises the limit of open files, because each peer needs a descriptor.
//! * [`SendBatch`], [`ReceiveBatch`], [`wait_readable`]: many datagrams in one system call.
//! * [`BpfMap`], [`XdpProgram`]: programs of the kernel at a network device.
//! * [`XskSocket`], [`XskSteering`]: frames that bypass the kernel's network stack (AF_XDP); [`routes`]: routes from
//!   the kernel's tables.
//! * [`open_tun`]: IP packets between the kernel and a process; [`pin_thread`], [`thread_cpu_time`]: a
//!   thread's CPU.
//! * [`stamped`]: frames and datagrams with the kernel's time stamps; threads in other namespaces.
//! * [`launch`]: packets that leave at a time given by their sender; the reported rate of a port.
//! * [`PreciseSleep`]: waiting for a deadline more exactly than timers are; [`exact_timers`] makes timers as exact as
//!   possible.
//! * [`Timer`]: one deadline as a descriptor, accurate to some tens of microseconds.
//! * [`sctp`]: one-to-one SCTP associations that carry E2AP, and a probe that names the reason if there is no SCTP;
//!   [`shim`]: emulated associations between programs of one user without SCTP in the kernel.
//! * [`memif`]: memory, rings of packets and a socket that two packet programs share.
//! * [`own_loopback`]: loopback addresses that no other process uses.
//!
//! This crate starts no threads, and a function waits only if its description says so. A write to a closed socket is an
//! error and not a signal: Rust programs start with SIGPIPE ignored, and [`sctp`] also passes `MSG_NOSIGNAL`.
#![deny(missing_docs)]

mod bpf;
mod datagrams;
pub mod launch;
mod limits;
pub mod memif;
mod options;
mod own;
mod precise_sleep;
mod readers;
pub mod routes;
pub mod sctp;
pub mod shim;
pub mod stamped;
mod thread;
mod timer;
mod tun;
mod xsk;

pub use bpf::{BpfMap, BpfProgram, BpfTable, BpfTableKind, XdpError, XdpProgram};
pub use datagrams::{
    DatagramOptions, MAX_BATCH, ReceiveBatch, SendBatch, Sent, bind_datagrams, wait_readable,
};
pub use limits::{OpenFiles, raise_open_files};
pub use options::{bound_buffers, limit_unsent, peek_class, report_classes, unacknowledged};
pub use own::own_loopback;
pub use precise_sleep::PreciseSleep;
pub use readers::{Reader, Readers};
pub use sctp::{SctpUnavailable, sctp_support};
pub use thread::{MAX_CPUS, exact_timers, monotonic_ns, pin_thread, thread_cpu_time};
pub use timer::Timer;
pub use tun::open_tun;
pub use xsk::{
    XSK_FRAME_BYTES, XSK_HEADROOM, XSK_RING, XskError, XskOptions, XskSocket, XskStatistics, XskSteering,
    XskTarget,
};
