//! Writes PFCP messages as a capture of IP packets.
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

use crate::load::TracedMessage;
use ranlab_packet::pcap::{LinkType, PcapWriter};
use ranlab_packet::{udp_headers_bytes, write_udp};

const HOP_LIMIT: u8 = 64;

pub(super) fn write<'a>(path: &Path, messages: impl Iterator<Item = &'a TracedMessage>) -> io::Result<()> {
    let mut out = PcapWriter::new(BufWriter::new(File::create(path)?), LinkType::RAW)?;
    for TracedMessage { at_ns, from, to, octets } in messages {
        let mut packet = vec![0; udp_headers_bytes(to.ip())];
        write_udp(*from, *to, HOP_LIMIT, octets, &mut packet).ok_or(io::ErrorKind::InvalidInput)?;
        packet.extend(octets);
        out.packet(*at_ns, &packet)?;
    }
    out.flush()
}
