//! Reading of packets from a capture file of any format.
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};

use super::link_type::LinkType;

/// Initial size of the read buffer, in bytes.
const FIRST_BUFFER_BYTES: usize = 1 << 20;
/// Maximum size of the read buffer, in bytes. The buffer grows if a packet needs it.
const LAST_BUFFER_BYTES: usize = 64 << 20;
/// Maximum number of interfaces in one section.
const MAX_INTERFACES: usize = 4096;

/// First bytes of captures: pcap in both byte orders, with micro- and nanoseconds and in the format of
/// Kuznetzov, and pcapng.
const MAGICS: [[u8; 4]; 7] = [
    [0xa1, 0xb2, 0xc3, 0xd4],
    [0xd4, 0xc3, 0xb2, 0xa1],
    [0xa1, 0xb2, 0x3c, 0x4d],
    [0x4d, 0x3c, 0xb2, 0xa1],
    [0xa1, 0xb2, 0xcd, 0x34],
    [0x34, 0xcd, 0xb2, 0xa1],
    [0x0a, 0x0d, 0x0d, 0x0a],
];

/// Returns whether a file with this start is a capture. A file can instead contain a raw PDU. The padding bits in the
/// first byte of a PDU are zero, so no PDU starts like a capture.
pub fn is_capture(start: &[u8]) -> bool {
    start.first_chunk().is_some_and(|magic| MAGICS.contains(magic))
}

/// First bytes of a file compressed with gzip (RFC 1952 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Returns whether a file with this start is compressed with gzip. Such a file is decompressed and read as a capture.
/// No PDU starts like this.
pub fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&GZIP)
}

/// A packet from a capture.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// Number of the packet in the file, from 1.
    pub number: u64,
    /// Type of the packet's first header.
    pub link_type: LinkType,
    /// Name of the interface, if the capture has one.
    pub interface: Option<&'a str>,
    /// Microseconds since the epoch, if the capture has a time.
    pub time_us: Option<u64>,
    /// Nanoseconds since the epoch, if the capture has a time; with the resolution of the capture.
    pub time_ns: Option<u64>,
    /// Whether the capture stored only a part of the packet.
    pub cut: bool,
    /// Bytes of the whole packet, without frame check sequence.
    pub whole_bytes: u32,
    /// Captured bytes of the packet, from the link layer on.
    pub data: &'a [u8],
}

/// An irregularity of a capture. Everything read before it is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
    /// The file ends within a packet.
    #[error("the file ends in the middle of a packet")]
    Truncated,
    /// The file continues with bytes that are not packets.
    #[error("the file is damaged after byte {0}: later packets were not read")]
    Damaged(u64),
    /// A packet of an interface without a description.
    #[error("a packet refers to an interface that the capture does not describe")]
    NoInterface,
    /// The capture stored only a part of the packet.
    #[error("a packet was cut by the capture; record with a larger snapshot length")]
    PacketCut,
}

/// Content of a capture, in its order.
#[derive(Debug, Clone, Copy)]
pub enum Event<'a> {
    /// A packet.
    Packet(Packet<'a>),
    /// An irregularity, and the number of the packet at which it was seen.
    Fault(Fault, u64),
}

/// Calls `each` for every packet and every irregularity of a capture, which may be compressed with gzip.
///
/// # Errors
/// Fails only with errors of the operating system. A damaged or truncated end is a [`Fault`].
pub fn read(mut source: impl Read + Send, mut each: impl FnMut(Event<'_>)) -> io::Result<()> {
    let start = start_of(&mut source)?;
    let source = io::Cursor::new(start.clone()).chain(source);
    if start.is_empty() {
        each(Event::Fault(Fault::Empty, 1));
        Ok(())
    } else if is_gzip(&start) {
        read_plain(MultiGzDecoder::new(source), &mut each)
    } else {
        read_plain(source, &mut each)
    }
}

/// Returns the first two bytes, or fewer if the file is shorter.
fn start_of(source: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = [0; GZIP.len()];
    let mut filled = 0;
    while filled < start.len() {
        match source.read(&mut start[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            // A growing capture has no more data for now; the next read waits.
            Err(error) if matches!(error.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(start[..filled].to_vec())
}

fn read_plain(source: impl Read + Send, each: Each<'_>) -> io::Result<()> {
    let mut progress = Progress::default();
    let mut failed = None;
    let watched = Watched { source, failed: &mut failed, reads: 0, paused: false };
    let result = walk(watched, &mut progress, each);
    if let Some(error) = failed {
        return Err(error);
    }
    let next = progress.packets + 1;
    match result {
        Ok(()) => {}
        Err(End::Truncated) => each(Event::Fault(Fault::Truncated, next)),
        Err(End::Damaged) => each(Event::Fault(Fault::Damaged(progress.consumed), next)),
    }
    Ok(())
}

/// Reader for the parser. It stores read errors, which the parser drops. It always fills the whole buffer, because the
/// parser takes a shorter read for the end of the file.
struct Watched<'a, R> {
    source: R,
    failed: &'a mut Option<io::Error>,
    /// Number of reads by the parser.
    reads: u64,
    /// Whether the last read found no more data for now.
    paused: bool,
}

/// Number of reads by the parser before it returns its first packet. If a source waits in one of these reads, that
/// packet is delayed.
const READS_UNSEEN: u64 = 2;

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        self.reads += 1;
        if std::mem::take(&mut self.paused) && self.reads <= READS_UNSEEN {
            return Ok(0);
        }
        while filled < buf.len() {
            match self.source.read(&mut buf[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // A growing capture has no more data for now: the parser gets the data that is available, and its next
                // call waits.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.paused = filled > 0;
                    if self.paused {
                        break;
                    }
                }
                Err(error) => {
                    let kind = error.kind();
                    *self.failed = Some(error);
                    return Err(kind.into());
                }
            }
        }
        Ok(filled)
    }
}

/// Reason why there are no more packets before the end of the file.
enum End {
    Truncated,
    Damaged,
}

#[derive(Default)]
struct Progress {
    packets: u64,
    consumed: u64,
    /// Interfaces of this section; a pcap has one.
    interfaces: Vec<Interface>,
}

struct Interface {
    link_type: LinkType,
    name: Option<String>,
    ticks_per_second: u64,
    offset_s: i64,
    /// Bytes of the frame check sequence at the end of each packet.
    fcs_bytes: u32,
}

/// Returns the size of the frame check sequence that a pcap's link type field announces, in bytes. Bit 26 states that bits 28 to
/// 31 contain its length in 16-bit words (draft-ietf-opsawg-pcap 4).
fn fcs_bytes(network: u32) -> u32 {
    const PRESENT: u32 = 1 << 26;
    if network & PRESENT == 0 { 0 } else { (network >> 28) * 2 }
}

/// Option of a pcapng interface that has the length of the frame check sequence in bytes (draft-ietf-opsawg-pcapng 4.2).
const IF_FCSLEN: u16 = 13;

type Each<'a> = &'a mut dyn FnMut(Event<'_>);

fn walk(source: Watched<'_, impl Read + Send>, progress: &mut Progress, each: Each<'_>) -> Result<(), End> {
    let end = |error: PcapError<&[u8]>| match error {
        PcapError::Eof | PcapError::Incomplete(_) | PcapError::UnexpectedEof => End::Truncated,
        _ => End::Damaged,
    };
    let mut capacity = FIRST_BUFFER_BYTES;
    let mut reader = create_reader(capacity, source).map_err(end)?;
    loop {
        let exhausted = reader.reader_exhausted();
        match reader.next() {
            Ok((size, block)) => {
                progress.block(&block, each);
                progress.consumed += size as u64;
                // A block without a size would be read forever.
                if size == 0 && !matches!(block, PcapBlockOwned::LegacyHeader(_)) {
                    return Err(End::Damaged);
                }
                reader.consume(size);
            }
            Err(PcapError::Eof) => return Ok(()),
            Err(PcapError::BufferTooSmall) if capacity < LAST_BUFFER_BYTES => {
                capacity *= 4;
                if !reader.grow(capacity) {
                    return Err(End::Damaged);
                }
                reader.refill().map_err(end)?;
            }
            Err(PcapError::Incomplete(_)) if !exhausted => reader.refill().map_err(end)?,
            Err(error) => return Err(end(error)),
        }
    }
}

impl Progress {
    fn block(&mut self, block: &PcapBlockOwned<'_>, each: Each<'_>) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.interfaces.push(Interface {
                link_type: LinkType(header.network.0 as u16),
                fcs_bytes: fcs_bytes(header.network.0 as u32),
                name: None,
                ticks_per_second: if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 },
                offset_s: 0,
            }),
            PcapBlockOwned::Legacy(packet) => {
                let per_second = self.interfaces.first().map_or(0, |interface| interface.ticks_per_second);
                let ticks = u64::from(packet.ts_sec) * per_second + u64::from(packet.ts_usec);
                self.packet(0, Some(ticks), packet.data, packet.caplen, packet.origlen, each);
            }
            PcapBlockOwned::NG(Block::SectionHeader(_)) => self.interfaces.clear(),
            PcapBlockOwned::NG(Block::InterfaceDescription(b)) if self.interfaces.len() < MAX_INTERFACES => {
                self.interfaces.push(Interface {
                    link_type: LinkType(b.linktype.0 as u16),
                    name: b.if_name().and_then(Result::ok).map(str::to_owned),
                    ticks_per_second: b.ts_resolution().filter(|&ticks| ticks > 0).unwrap_or(1_000_000),
                    offset_s: b.ts_offset(),
                    fcs_bytes: b
                        .options
                        .iter()
                        .find(|option| option.code.0 == IF_FCSLEN)
                        .and_then(|option| option.value.first().copied())
                        .map_or(0, u32::from),
                });
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(b)) => {
                let ticks = u64::from(b.ts_high) << 32 | u64::from(b.ts_low);
                self.packet(b.if_id, Some(ticks), b.data, b.caplen, b.origlen, each);
            }
            PcapBlockOwned::NG(Block::SimplePacket(b)) => {
                let all = b.origlen.min(b.data.len() as u32);
                self.packet(0, None, b.data, all, b.origlen, each);
            }
            PcapBlockOwned::NG(_) => {}
        }
    }

    fn packet(
        &mut self,
        interface: u32,
        ticks: Option<u64>,
        data: &[u8],
        kept: u32,
        sent: u32,
        each: Each<'_>,
    ) {
        self.packets += 1;
        let number = self.packets;
        let Some(interface) = self.interfaces.get(interface as usize) else {
            return each(Event::Fault(Fault::NoInterface, number));
        };
        let cut = kept < sent;
        if cut {
            each(Event::Fault(Fault::PacketCut, number));
        }
        let time_ns = ticks.map(|ticks| {
            let ns = u128::from(ticks) * 1_000_000_000 / u128::from(interface.ticks_per_second);
            let ns = ns as i128 + i128::from(interface.offset_s) * 1_000_000_000;
            u64::try_from(ns).unwrap_or(0)
        });
        let time_us = time_ns.map(|ns| ns / 1000);
        let whole_bytes = sent.saturating_sub(interface.fcs_bytes);
        let kept = kept.min(whole_bytes);
        let link_type = interface.link_type;
        let name = interface.name.as_deref();
        // Removes padding and the frame check sequence; a truncated packet may have neither.
        let data = data.get(..kept as usize).unwrap_or(data);
        each(Event::Packet(Packet {
            number,
            link_type,
            interface: name,
            time_us,
            time_ns,
            cut,
            whole_bytes,
            data,
        }));
    }
}
