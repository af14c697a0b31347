//! Uplink tunnels of a load: who chooses them, and where packets can be sent.
use super::LoadConfig;
use super::cycles::Cycles;
use super::n3_io::N3Io;
use ranlab_upf::n4::TeidChoice;
use std::net::IpAddr;

/// Uplink tunnels of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tunnels {
    /// Address of the UPF on N3.
    pub address: IpAddr,
    /// The UPF chooses them, not the SMF.
    pub upf_chooses: bool,
    /// Packets can be sent to that address alone: frames have their headers written once.
    pub only_there: bool,
}

impl Tunnels {
    /// Uplink tunnels as a load wants them.
    pub(super) fn from_config(config: &LoadConfig) -> Self {
        Self {
            address: config.n3.ip(),
            upf_chooses: config.dialect.sends.teid == TeidChoice::Upf,
            only_there: config.n3_io != N3Io::Sockets,
        }
    }

    /// How many sessions of all senders failed for want of a tunnel, as the end of a sentence.
    pub(super) fn missing(all: &[Cycles]) -> String {
        match all.iter().map(|one| one.report.without_tunnel).sum::<u64>() {
            0 => String::new(),
            n => format!(", {n} without a usable tunnel: the UPF chose none that --n3 can reach"),
        }
    }
}
