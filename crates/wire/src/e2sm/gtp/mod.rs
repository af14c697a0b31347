//! GTP: the N3 tunnels of each UE (FlexRIC's service model 148; TS 29.281).

mod plain;

pub use plain::GtpView;

use std::convert::Infallible;

use super::RowKey;
use super::octets::octets;
use super::plain::{Plain, statistics_model};
use super::table::row;

/// The OID by which a node offers the model.
pub const OID: &str = "0.0.0.0.0.0.0.0.1.148.0";
/// The RAN function id that FlexRIC's agents give it.
pub const DEFAULT_FUNCTION_ID: u16 = 148;
/// The RAN function definition: ASCII, no structure.
pub const DEFINITION: &[u8] = b"GTP_STATS_V0";
/// The RAN function revision that FlexRIC's agents announce.
pub const REVISION: u16 = 1;
/// FlexRIC's controllers know it.
pub const CUSTOMARY: bool = true;
/// Octets of one tunnel in the plain encoding.
pub const TUNNEL_SIZE: usize = 12;

statistics_model! {
    /// GTP tunnels: the model.
    Gtp: "gtp", GtpIndication { tunnels: GtpTunnel }, Infallible
}
octets! { GtpIndication: Plain => Plain; }

/// All tunnels of a base station.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtpIndication {
    /// One entry for each tunnel.
    pub tunnels: Vec<GtpTunnel>,
    /// When the statistics were taken, microseconds since the Unix epoch.
    pub tstamp_us: i64,
}

row! {
    /// A GTP-U tunnel of a UE, both directions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    GtpTunnel, tunnel => RowKey::Tunnel { rnti: tunnel.rnti, teid: tunnel.teid_gnb }, {
        /// Radio network temporary identifier of the UE.
        rnti: u32 [key],
        /// Tunnel endpoint identifier at the base station (downlink).
        teid_gnb: u32 [key],
        /// QoS flow identifier (TS 38.415 §5.5.3.3).
        qfi: u8 [label headline],
        /// Tunnel endpoint identifier at the UPF (uplink). The encoding has eight bits for it: senders keep the lowest.
        teid_upf: u8 [label],
    }
}
