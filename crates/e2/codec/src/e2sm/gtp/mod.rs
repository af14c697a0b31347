//! GTP: the N3 tunnels of each UE (FlexRIC's service model 148; TS 29.281).

use std::convert::Infallible;

use super::RowKey;
use super::statistics::statistics_model;
use super::table::row;

statistics_model! {
    /// The GTP service model.
    Gtp "gtp": "0.0.0.0.0.0.0.0.1.148.0", 148, b"GTP_STATS_V0", revision 1, customary true, Infallible;
    /// All tunnels of a base station.
    #[derive(Debug, Clone, PartialEq, Eq, Default)]
    GtpIndication GtpView { tunnels: GtpTunnel, "One entry for each tunnel." }
}

row! {
    /// A GTP-U tunnel of a UE, both directions.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    GtpTunnel, tunnel => RowKey::Tunnel { rnti: tunnel.rnti, teid: tunnel.teid_gnb }, 12 octets {
        0 rnti: u32 [key], "Radio network temporary identifier of the UE.";
        4 teid_gnb: u32 [key], "Tunnel endpoint identifier at the base station (downlink).";
        8 qfi: u8 [label headline], "QoS flow identifier (TS 38.415 §5.5.3.3).";
        9 teid_upf: u8 [label], "Tunnel endpoint identifier at the UPF (uplink). The encoding only has its lowest eight bits.";
    }
}
