//! Captures as bytes: pcap (version 2.4, nanoseconds) and pcapng, little-endian on every machine.
use std::io::{self, Write};

use super::link_type::LinkType;

/// Maximum size of a packet in a pcap, in bytes. All tools can read this size.
const SNAP_BYTES: usize = 65_535;
const NS_PER_S: u64 = 1_000_000_000;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Writer of a pcap, which has a single link type and no interface names.
#[derive(Debug)]
pub struct PcapWriter<W> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header. `out` should be buffered.
    pub fn new(mut out: W, link_type: LinkType) -> io::Result<Self> {
        // Nanoseconds, version 2.4, no offset, no accuracy, longest packet, link type.
        let words = [0xa1b2_3c4d, 0x0004_0002, 0, 0, SNAP_BYTES as u32, link_type.0.into()];
        out.write_all(words.map(u32::to_le_bytes).as_flattened())?;
        Ok(Self { out })
    }

    /// Appends a packet captured at `at_ns`, in nanoseconds since the epoch; it is cut at 65,535 bytes.
    pub fn packet(&mut self, at_ns: u64, data: &[u8]) -> io::Result<()> {
        let kept = &data[..data.len().min(SNAP_BYTES)];
        let seconds = at_ns / NS_PER_S;
        let nanos = at_ns % NS_PER_S;
        let words = [seconds as u32, nanos as u32, kept.len() as u32, data.len() as u32];
        self.out.write_all(words.map(u32::to_le_bytes).as_flattened())?;
        self.out.write_all(kept)
    }

    /// Flushes all data to the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the writer; flush before.
    pub fn into_inner(self) -> W {
        self.out
    }
}

/// Writer of a pcapng: any number of interfaces, each with a link type and a name.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    interfaces: u32,
    /// Buffer of one block.
    scratch: Vec<u8>,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes the file header. `out` should be buffered.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, scratch: Vec::new() };
        writer.block(SECTION, |body| {
            // Byte order, version 1.0, unknown length; name of the writing program.
            body.extend_from_slice(&0x1a2b_3c4d_u32.to_le_bytes());
            body.extend_from_slice(&[1, 0, 0, 0]);
            body.extend_from_slice(&u64::MAX.to_le_bytes());
            option(body, 4, concat!("ranlab ", env!("CARGO_PKG_VERSION")).as_bytes());
            option(body, 0, &[]);
        })?;
        Ok(writer)
    }

    /// Describes an interface; returns the number that its packets use. A name is cut at 65,535 bytes.
    pub fn interface(&mut self, link_type: LinkType, name: &str) -> io::Result<u32> {
        self.block(INTERFACE, |body| {
            body.extend_from_slice(&link_type.0.to_le_bytes());
            // Reserved bytes, and 0 for no limit of the packet length.
            body.extend_from_slice(&[0; 6]);
            option(body, 2, name.as_bytes());
            // Option `if_tsresol`: timestamps in nanoseconds.
            option(body, 9, &[9]);
            option(body, 0, &[]);
        })?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Appends a packet that `interface` captured at `at_ns`, in nanoseconds since the epoch. `data` is the captured
    /// part, `sent_bytes` the size of the whole packet. Fails if the interface was not described.
    pub fn packet(&mut self, interface: u32, at_ns: u64, data: &[u8], sent_bytes: usize) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        self.block(ENHANCED_PACKET, |body| {
            let high = (at_ns >> 32) as u32;
            let low = at_ns as u32;
            let words = [interface, high, low, data.len() as u32, sent_bytes as u32];
            body.extend_from_slice(words.map(u32::to_le_bytes).as_flattened());
            body.extend_from_slice(data);
            body.resize(body.len().next_multiple_of(4), 0);
        })
    }

    /// Flushes all data to the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the writer; flush before.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        self.scratch.clear();
        self.scratch.extend_from_slice(&kind.to_le_bytes());
        self.scratch.extend_from_slice(&[0; 4]);
        body(&mut self.scratch);
        let length = (self.scratch.len() as u32 + 4).to_le_bytes();
        self.scratch[4..8].copy_from_slice(&length);
        self.scratch.extend_from_slice(&length);
        self.out.write_all(&self.scratch)
    }
}

/// Appends an option of a pcapng block. The value is padded; the length excludes the padding.
fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}
