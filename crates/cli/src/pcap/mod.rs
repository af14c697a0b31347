//! `ranlab pcap`: captures of E2 and E42.
//!
//! ```text
//!  FILE --capture--> packets --link, ip--> segments --assemble (sctp, tcp, udp, exported)--> PDUs
//!       PDUs --dissect--> messages with their connection's side and version --decode--> lines, summary
//!  streams --record (a proxy)--> writer --> FILE
//! ```
mod assemble;
pub mod capture;
pub mod decode;
pub mod dissect;
mod fields;
mod ip;
mod link;
pub mod note;
mod pdu;
pub mod record;

mod sctp;
mod tcp;
mod verify;
pub mod writer;

use clap::{Subcommand, ValueEnum};
use serde::Serialize;

use crate::exit::Failure;
use crate::output::Format;

pub use assemble::Assembler;
pub use pdu::{Endpoint, Flow, Pdu, Transport};

/// Registered port of E2AP.
pub const E2_PORT: u16 = 36421;
/// Customary port of E42.
pub const E42_PORT: u16 = 36422;
/// The longest PDU that is taken from a capture or a file, in bytes.
pub const MAX_PDU_BYTES: usize = 16 << 20;

/// Which protocol a connection speaks. The bytes do not tell: the codes of one collide with those of the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Between an E2 node and a RIC.
    E2,
    /// Between an xApp and a RIC.
    E42,
}

impl Side {
    /// Its customary port.
    pub const fn port(self) -> u16 {
        match self {
            Self::E2 => E2_PORT,
            Self::E42 => E42_PORT,
        }
    }

    /// As people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::E2 => "E2",
            Self::E42 => "E42",
        }
    }
}

/// Arguments of `pcap`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab pcap decode --verify capture.pcap")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show the E2AP and E42 messages in captures and in files that hold one PDU
    Decode(decode::Arguments),
    /// Stand between agents or xApps and a RIC, and record what passes
    Record(record::Arguments),
}

/// Does what the arguments say.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    match arguments.action {
        Action::Decode(arguments) => decode::run(&arguments, format),
        Action::Record(arguments) => record::run(&arguments, format),
    }
}
