//! GTP statistics, per tunnel.
use super::UeFacts;
use crate::functions::Statistics;
use crate::node::Unit;
use ranlab_e2_codec::e2sm::gtp::{Gtp, GtpTunnel};

pub(crate) static STATION: Statistics = Statistics {
    model: &Gtp,
    unit: Unit::CuUp,
    fill: |encoding, moment, out| moment.list(encoding, out, gtp_tunnel),
};

fn gtp_tunnel(ue: &dyn UeFacts) -> GtpTunnel {
    let id = ue.identity();
    // The service model's field for the UPF's TEID has only eight bits, so higher bits are lost.
    GtpTunnel { rnti: u32::from(id.rnti), teid_gnb: id.teid_gnb, qfi: id.qfi, teid_upf: id.teid_upf as u8 }
}
