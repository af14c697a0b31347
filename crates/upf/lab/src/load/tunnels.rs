//! Settings of the uplink tunnels of a load: their addresses, and whether the UPF or the SMF chooses them.
use super::LoadConfig;
use super::cycles::Cycles;
use super::n3_io::N3Io;
use ranlab_upf::n4::TeidChoice;
use std::net::IpAddr;

/// Settings of the uplink tunnels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tunnels {
    /// N3 address of the UPF.
    pub address: IpAddr,
    /// Whether the UPF chooses tunnels. Otherwise the SMF chooses them.
    pub upf_chooses: bool,
    /// Whether packets can only be sent to the N3 address of the UPF, because frame headers are written in advance.
    pub only_there: bool,
}

impl Tunnels {
    /// Returns the tunnel settings of a load.
    pub(super) fn from_config(config: &LoadConfig) -> Self {
        Self {
            address: config.n3.ip(),
            upf_chooses: config.dialect.sends.teid == TeidChoice::Upf,
            only_there: config.n3_io != N3Io::Sockets,
        }
    }

    /// Returns the end of an error message: the number of sessions of all senders that failed without a tunnel.
    pub(super) fn missing(all: &[Cycles]) -> String {
        match all.iter().map(|one| one.report.without_tunnel).sum::<u64>() {
            0 => String::new(),
            n => format!(", {n} sessions have no usable tunnel: the UPF chose no tunnel that --n3 can reach"),
        }
    }
}
