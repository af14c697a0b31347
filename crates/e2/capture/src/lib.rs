//! Reads and writes packet captures as bytes, and reads the messages in their packets. The crate uses no files,
//! sockets or clocks.
//!
//! ```text
//!  bytes --packets--> packets --link--> IP packets --assemble (sctp, tcp, udp, exported)--> PDUs
//!       PDUs --dissect--> messages with their connection's side and version --trace, report (fields, verify)--> a report
//!  packets --writer--> bytes         PDUs --exported--> bytes that Wireshark reads
//! ```
//!
//! The formats of capture files and of packet headers are in [`ranlab_packet`]. A capture is untrusted data: its
//! contents become a PDU or a [`note::Note`], and memory is bounded ([`MAX_HELD_BYTES`]).
#![deny(missing_docs)]

mod assemble;
pub mod dissect;
mod exported;
mod fields;
mod findings;
mod link;
pub mod note;
mod payload;
mod pdu;
mod report;
mod sctp;
pub mod sequence;
mod tcp;
mod trace;
mod verify;

use serde::Serialize;

pub use assemble::{Assembler, MAX_HELD_BYTES};
pub use exported::Recorder;
pub use findings::Findings;
pub use payload::Part;
pub use pdu::{Endpoint, Flow, Pdu, Transport};
pub use report::Line;
pub use trace::{Problem, Summary, Trace, TraceError};

/// Registered port of E2AP.
pub const E2_PORT: u16 = 36421;
/// Commonly used port of E42; it is not registered.
pub const E42_PORT: u16 = 36422;
/// Maximum length of a PDU in a capture or a file, in bytes.
pub const MAX_PDU_BYTES: usize = 16 << 20;

/// Protocol of a connection. The setup procedure identifies the protocol. The bytes of other messages do not identify
/// it, because E2 and E42 use the same codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// E2AP between an E2 node and a RIC.
    E2,
    /// E42 between an xApp and a RIC.
    E42,
}

impl Side {
    /// Returns the usual port of the protocol.
    pub const fn port(self) -> u16 {
        match self {
            Self::E2 => E2_PORT,
            Self::E42 => E42_PORT,
        }
    }

    /// Returns the display name of the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2 => "E2",
            Self::E42 => "E42",
        }
    }
}
