//! Writes PDUs as a pcapng that Wireshark reads without any setting: link type 252 (exported PDUs), each PDU with the
//! name of its dissector, `e2ap`.
//!
//! Two interfaces are described, `e2` and `e42`: so a reader knows the side of every PDU whatever its ports.
use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr};
use std::time::SystemTime;

use super::{Endpoint, Side, Transport};

/// Link type of exported PDUs.
const LINK_TYPE: u16 = 252;
/// Longer PDUs are cut in the file, which notes how long they were; readers refuse longer packets.
const MAX_KEPT_BYTES: usize = 262_144 - 128;

/// A capture under way.
#[derive(Debug)]
pub struct PcapngWriter<W: Write> {
    out: W,
    /// Of one block.
    scratch: Vec<u8>,
}

/// One PDU, and where it went.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Which protocol.
    pub side: Side,
    /// When.
    pub time: SystemTime,
    /// What carried it.
    pub transport: Transport,
    /// Who sent.
    pub source: Endpoint,
    /// To whom.
    pub destination: Endpoint,
    /// Its octets.
    pub pdu: &'a [u8],
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { address: Some(address.ip()), port: address.port() }
    }
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the head of the file. `out` should be buffered.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, scratch: Vec::new() };
        // Section header: byte order, version 1.0, unknown length; who wrote it.
        writer.block(0x0a0d_0d0a, |body| {
            body.extend_from_slice(&0x1a2b_3c4d_u32.to_ne_bytes());
            body.extend_from_slice(&1_u16.to_ne_bytes());
            body.extend_from_slice(&0_u16.to_ne_bytes());
            body.extend_from_slice(&u64::MAX.to_ne_bytes());
            option(body, 4, concat!("ranlab ", env!("CARGO_PKG_VERSION")).as_bytes());
            option(body, 0, &[]);
        })?;
        for name in ["e2", "e42"] {
            writer.block(1, |body| {
                body.extend_from_slice(&LINK_TYPE.to_ne_bytes());
                body.extend_from_slice(&[0; 6]);
                option(body, 2, name.as_bytes());
                // Nanoseconds.
                option(body, 9, &[9]);
                option(body, 0, &[]);
            })?;
        }
        Ok(writer)
    }

    /// Appends one PDU.
    pub fn write(&mut self, record: &Record<'_>) -> io::Result<()> {
        let since = record.time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let kept = &record.pdu[..record.pdu.len().min(MAX_KEPT_BYTES)];
        let mut tags = Vec::with_capacity(64);
        exported_tags(record, &mut tags);
        let (kept_bytes, all_bytes) = (tags.len() + kept.len(), tags.len() + record.pdu.len());
        self.block(6, |body| {
            body.extend_from_slice(&u32::from(record.side == Side::E42).to_ne_bytes());
            body.extend_from_slice(&((nanos >> 32) as u32).to_ne_bytes());
            body.extend_from_slice(&(nanos as u32).to_ne_bytes());
            body.extend_from_slice(&(kept_bytes as u32).to_ne_bytes());
            body.extend_from_slice(&(all_bytes as u32).to_ne_bytes());
            body.extend_from_slice(&tags);
            body.extend_from_slice(kept);
            body.resize(body.len().next_multiple_of(4), 0);
        })
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// What was written to; flush before.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&kind.to_ne_bytes());
        self.scratch.extend_from_slice(&[0; 4]);
        body(&mut self.scratch);
        let length = (self.scratch.len() as u32 + 4).to_ne_bytes();
        self.scratch[4..8].copy_from_slice(&length);
        self.scratch.extend_from_slice(&length);
        self.out.write_all(&self.scratch)
    }
}

/// An option of pcapng: the value is padded, the length does not count the padding.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend_from_slice(&code.to_ne_bytes());
    body.extend_from_slice(&(value.len() as u16).to_ne_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn exported_tags(record: &Record<'_>, tags: &mut Vec<u8>) {
    tag(tags, 12, b"e2ap");
    match record.source.address {
        Some(IpAddr::V4(address)) => tag(tags, 20, &address.octets()),
        Some(IpAddr::V6(address)) => tag(tags, 22, &address.octets()),
        None => {}
    }
    match record.destination.address {
        Some(IpAddr::V4(address)) => tag(tags, 21, &address.octets()),
        Some(IpAddr::V6(address)) => tag(tags, 23, &address.octets()),
        None => {}
    }
    let port_type: u32 = match record.transport {
        Transport::Sctp => 1,
        Transport::Tcp => 2,
        Transport::Udp => 3,
        Transport::Exported | Transport::File => 0,
    };
    tag(tags, 24, &port_type.to_be_bytes());
    tag(tags, 25, &u32::from(record.source.port).to_be_bytes());
    tag(tags, 26, &u32::from(record.destination.port).to_be_bytes());
    tag(tags, 0, &[]);
}

/// A tag of an exported PDU, in network order whatever the file's; the length counts the padding.
fn tag(tags: &mut Vec<u8>, kind: u16, value: &[u8]) {
    tags.extend_from_slice(&kind.to_be_bytes());
    tags.extend_from_slice(&(value.len().next_multiple_of(4) as u16).to_be_bytes());
    tags.extend_from_slice(value);
    tags.resize(tags.len() + value.len().next_multiple_of(4) - value.len(), 0);
}
