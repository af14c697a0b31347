//! GTP statistics, per tunnel.
use super::{Source, Tells, UeFacts};
use ranlab_e2_codec::e2sm::gtp::{Gtp, GtpTunnel};

pub(super) const SOURCE: Source = Source {
    model: &Gtp,
    tells: Tells::Statistics(|encoding, moment, out| moment.list(encoding, out, gtp_tunnel)),
};

fn gtp_tunnel(ue: &dyn UeFacts) -> GtpTunnel {
    let id = ue.identity();
    // The service model's field for the UPF's TEID is eight bits wide.
    GtpTunnel { rnti: u32::from(id.rnti), teid_gnb: id.teid_gnb, qfi: id.qfi, teid_upf: id.teid_upf as u8 }
}
