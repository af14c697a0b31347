use super::Trace;
use crate::declare::Direction;
use ranlab_capture::{LinkType, PcapWriter};
use std::io::{self, Write};

impl Trace {
    /// Writes the packets of one direction as a capture file (pcap, nanoseconds, little-endian), `interval_ns` apart;
    /// says how many there were.
    pub fn write_pcap(
        &self,
        out: &mut impl Write,
        direction: Direction,
        interval_ns: u64,
    ) -> io::Result<u64> {
        let mut out = PcapWriter::new(out, LinkType::ETHERNET)?;
        let mut written = 0_u64;
        for (_, frame) in self.iter().filter(|(port, _)| *port == direction.ingress()) {
            out.packet(written.saturating_mul(interval_ns), frame)?;
            written += 1;
        }
        Ok(written)
    }
}
