//! GTP as packed structs.

use super::{GtpIndication, GtpTunnel, TUNNEL_SIZE};
use crate::e2sm::plain::{PlainElement, PlainView, plain_element, plain_indication};

/// A borrowed GTP indication message.
pub type GtpView<'a> = PlainView<'a, GtpTunnel>;

impl GtpView<'_> {
    /// The tunnel at `index`, or `None` beyond the last one.
    pub fn tunnel(&self, index: usize) -> Option<GtpTunnel> {
        self.at(index)
    }
}

plain_indication!(GtpIndication, tunnels: GtpTunnel);

const _: () = assert!(GtpTunnel::SIZE == TUNNEL_SIZE);
plain_element!(GtpTunnel, 12, {
    0 => rnti: u32,
    4 => teid_gnb: u32,
    8 => qfi: u8,
    9 => teid_upf: u8,
    // 10..12: padding
});
