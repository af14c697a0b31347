//! The mark of a tester's packet, in the last bytes of its payload. Tunnels preserve the mark.

use ranlab_packet::VXLAN_PORT;

use crate::reference::GTPU_PORT;

/// Length of a mark, in bytes.
pub const STAMP_BYTES: usize = 16;
const ETHERNET: usize = 14;

/// Run, number and sending time of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the run. Packets of another run are not counted.
    pub run: u32,
    /// The packet's number, below [`super::PACKETS_MAX`].
    pub number: u32,
    /// Sending time on the tester's clock, in nanoseconds.
    pub sent_ns: u64,
}

impl Stamp {
    /// Writes the mark to the end of a frame. Returns false if the frame is shorter. UDP and TCP checksums are not
    /// updated, so devices between the tester's ports must not verify them.
    pub fn write(self, frame: &mut [u8]) -> bool {
        let Some(end) = frame.last_chunk_mut::<STAMP_BYTES>() else { return false };
        end[..4].copy_from_slice(&self.run.to_be_bytes());
        end[4..8].copy_from_slice(&self.number.to_be_bytes());
        end[8..].copy_from_slice(&self.sent_ns.to_be_bytes());
        true
    }

    /// Reads the mark at the end of a frame. Returns `None` if the frame has no mark.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let [a, b, c, d, e, f, g, h, ref sent @ ..] = *frame.last_chunk::<STAMP_BYTES>()?;
        let sent: &[u8; 8] = sent;
        Some(Self {
            run: u32::from_be_bytes([a, b, c, d]),
            number: u32::from_be_bytes([e, f, g, h]),
            sent_ns: u64::from_be_bytes(*sent),
        })
    }
}

/// Returns the total length of all headers in a frame in bytes, including headers inside tunnels. A mark may follow the
/// headers. An unknown protocol ends the headers.
#[must_use]
pub fn headers_octets(frame: &[u8]) -> usize {
    let half = |at: usize| Some(u16::from_be_bytes([*frame.get(at)?, *frame.get(at + 1)?]));
    let ip = |at: usize| -> (usize, Option<u8>) {
        match frame.get(at).map(|octet| octet >> 4) {
            Some(4) => (at + 4 * usize::from(frame[at] & 15), frame.get(at + 9).copied()),
            Some(6) => (at + 40, frame.get(at + 6).copied()),
            _ => (at, None),
        }
    };
    let (l4, protocol) = ip(ETHERNET);
    let inner = match protocol {
        Some(17) if half(l4 + 2) == Some(GTPU_PORT) => {
            let options = frame.get(l4 + 8).is_some_and(|flags| flags & 7 != 0);
            // The optional fields contain a PDU session container of four bytes, as pipelines write it.
            ip(l4 + 16 + if options { 8 } else { 0 })
        }
        Some(17) if half(l4 + 2) == Some(VXLAN_PORT) => ip(l4 + 16 + ETHERNET),
        Some(47) => ip(l4 + 8),
        other => (l4, other),
    };
    match inner {
        (l4, Some(17)) => l4 + 8,
        (l4, Some(6)) => l4 + 20,
        (l4, _) => l4,
    }
}
