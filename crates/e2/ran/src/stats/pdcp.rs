//! PDCP statistics, per bearer.
use super::UeFacts;
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::pdcp::{Pdcp, PdcpBearer};
use ranlab_e2_codec::e2sm::rlc::RlcMode;

pub(crate) static STATION: Statistics = Statistics {
    model: &Pdcp,
    unit: Unit::CuUp,
    fill: |encoding, moment, out| moment.list(encoding, out, pdcp_bearer),
};

fn pdcp_bearer(ue: &dyn UeFacts) -> PdcpBearer {
    let pdcp = ue.pdcp();
    PdcpBearer {
        txpdu_pkts: pdcp.tx_pdus as u32,
        txpdu_bytes: pdcp.tx_pdu_bytes as u32,
        txpdu_sn: pdcp.tx_sn,
        rxpdu_pkts: pdcp.rx_pdus as u32,
        rxpdu_bytes: pdcp.rx_pdu_bytes as u32,
        rxpdu_sn: pdcp.rx_sn,
        rxpdu_oo_pkts: pdcp.rx_out_of_order_pdus as u32,
        rxpdu_oo_bytes: pdcp.rx_out_of_order_bytes as u32,
        rxpdu_dd_pkts: 0,
        rxpdu_dd_bytes: 0,
        rxpdu_ro_count: pdcp.rx_reordering_pdus as u32,
        txsdu_pkts: pdcp.tx_sdus as u32,
        txsdu_bytes: pdcp.tx_sdu_bytes as u32,
        rxsdu_pkts: pdcp.rx_sdus as u32,
        rxsdu_bytes: pdcp.rx_sdu_bytes as u32,
        rnti: u32::from(ue.identity().rnti),
        mode: RlcMode::Acknowledged,
        rbid: ue.identity().drb_id,
    }
}
