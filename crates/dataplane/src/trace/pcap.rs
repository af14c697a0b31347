use super::Trace;
use crate::declare::Direction;
use std::io::{self, Write};

/// Magic number of the pcap format with nanoseconds.
const MAGIC_NS: u32 = 0xa1b2_3c4d;
const LINK_TYPE_ETHERNET: u32 = 1;
const SNAP_BYTES: u32 = 65_535;
const NS_PER_S: u64 = 1_000_000_000;

impl Trace {
    /// Writes the packets of one direction as a capture file (pcap, nanoseconds, little-endian), `interval_ns` apart;
    /// says how many there were.
    pub fn write_pcap(
        &self,
        out: &mut impl Write,
        direction: Direction,
        interval_ns: u64,
    ) -> io::Result<u64> {
        out.write_all(&MAGIC_NS.to_le_bytes())?;
        out.write_all(&[2, 0, 4, 0])?;
        for word in [0, 0, SNAP_BYTES, LINK_TYPE_ETHERNET] {
            out.write_all(&word.to_le_bytes())?;
        }
        let mut written = 0_u64;
        for (_, frame) in self.iter().filter(|(port, _)| *port == direction.ingress()) {
            let at_ns = written.saturating_mul(interval_ns);
            let length = frame.len() as u32;
            for word in [(at_ns / NS_PER_S) as u32, (at_ns % NS_PER_S) as u32, length, length] {
                out.write_all(&word.to_le_bytes())?;
            }
            out.write_all(frame)?;
            written += 1;
        }
        Ok(written)
    }
}
