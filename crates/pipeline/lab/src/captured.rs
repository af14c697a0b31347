//! Traces read from capture files, and traces written to capture files. The packets of a user's capture replace
//! generated packets. Generated traces are written for other testers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ranlab_packet::ETHERNET_BYTES;
use ranlab_packet::pcap::{self, Event, LinkType, PcapWriter, PcapngWriter};
use ranlab_pipeline::backends::port_name;
use ranlab_pipeline::declare::{Direction, DropReason, Port, Verdict};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{
    Directions, FRAME_BYTES_MAX, Headers, HeadersError, PACKETS_MAX, Trace, Traffic, are_headers,
};

use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Maximum size of a capture that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 4 << 30;
/// Maximum size of a trace's packets, in bytes.
pub const TRACE_BYTES_MAX: usize = 1 << 30;
/// Maximum length of tunnel headers, in bytes: GTP-U or VXLAN over IPv4. These bytes are added to the maximum frame
/// length.
const TUNNEL_BYTES: usize = 64;
/// Maximum length of a frame that is sent, in bytes.
const LONGEST: usize = FRAME_BYTES_MAX as usize + TUNNEL_BYTES;
/// Number of bytes that must be read to recognise a header trace.
const START_BYTES: u64 = 1_024;
/// Maximum size of a header trace, in bytes.
const HEADERS_BYTES_MAX: u64 = 256 << 20;
/// Interval between two packets that are written, in nanoseconds. Generated traces have no times.
const STEP_NS: u64 = 1_000;

/// The reason why a file cannot be read as a trace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// A system error occurred.
    #[error("{0}: {1}")]
    Io(PathBuf, io::Error),
    /// The path is not a regular file, e.g. a folder or a pipe.
    #[error("{0} is not a file; a capture (pcap or pcapng) is required")]
    NoFile(PathBuf),
    /// The file is too large.
    #[error("{0} has {1} bytes; at most {FILE_BYTES_MAX} are read")]
    Large(PathBuf, u64),
    /// The file is truncated, or is not a capture.
    #[error("{0}: {1}; a complete capture (pcap or pcapng) is required")]
    Damaged(PathBuf, String),
    /// The file is not a capture of Ethernet frames.
    #[error("{path}: packet {number} has link type {found}; only 1 (Ethernet) is allowed")]
    Link {
        /// Path of the file.
        path: PathBuf,
        /// Number of the packet, from 1.
        number: u64,
        /// Link type of the packet.
        found: u16,
    },
    /// The packet was truncated when it was captured.
    #[error("{path}: packet {number} was cut when it was captured: record with a larger snapshot length")]
    Cut {
        /// Path of the file.
        path: PathBuf,
        /// Number of the packet, from 1.
        number: u64,
    },
    /// A packet is too short or too long.
    #[error("{path}: packet {number} has {octets} bytes; allowed are {ETHERNET_BYTES} to {LONGEST}")]
    Length {
        /// Path of the file.
        path: PathBuf,
        /// Number of the packet, from 1.
        number: u64,
        /// Length of the packet, in bytes.
        octets: usize,
    },
    /// The file has more packets than fit into memory.
    #[error(
        "{0} has more than {PACKETS_MAX} packets or more than {TRACE_BYTES_MAX} bytes of packets, which a trace cannot hold"
    )]
    Many(PathBuf),
    /// The file has no packets to send.
    #[error("{0} has no packet that enters by {1}")]
    Empty(PathBuf, &'static str),
    /// The port where a packet enters is unknown.
    #[error(
        "{path}: packet {number} is of no interface named access or core, and `load.dir` is bidir: name two captures, \
         access first, or a pcapng with interfaces of these names"
    )]
    Interface {
        /// Path of the file.
        path: PathBuf,
        /// Number of the packet, from 1.
        number: u64,
    },
    /// A line of a header trace is invalid.
    #[error("{0}: {1}")]
    Headers(PathBuf, HeadersError),
    /// The number of files is not supported.
    #[error("{0} captures are given; 1 is allowed, or 2 (access first) if `load.dir` is bidir")]
    Files(usize),
}

/// Returns a pipeline's trace. It is read from captures if any are named, and otherwise generated.
pub(crate) fn trace(
    pipeline: &Pipeline,
    traffic: &Traffic,
    captures: &[PathBuf],
) -> Result<Trace, ComponentError> {
    if captures.is_empty() {
        return Trace::generate(pipeline, traffic).map_err(rig);
    }
    match headers(pipeline, traffic, captures).map_err(environment)? {
        Some(headers) => Ok(headers.trace),
        None => read(captures, traffic.dir).map_err(environment),
    }
}

/// Reads a header trace of ClassBench. Returns `None` if the file is not a header trace.
///
/// # Errors
///
/// A system error, or an invalid line.
pub fn headers(
    pipeline: &Pipeline,
    traffic: &Traffic,
    captures: &[PathBuf],
) -> Result<Option<Headers>, CaptureError> {
    let [path] = captures else { return Ok(None) };
    let direction = match traffic.dir {
        Directions::Uplink => Direction::Uplink,
        Directions::Downlink => Direction::Downlink,
        Directions::Bidir => return Ok(None),
    };
    let failed = |error| CaptureError::Io(path.clone(), error);
    let mut file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let mut text = Vec::new();
    Read::by_ref(&mut file).take(START_BYTES).read_to_end(&mut text).map_err(failed)?;
    if !are_headers(&text) {
        return Ok(None);
    }
    file.take(HEADERS_BYTES_MAX).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > HEADERS_BYTES_MAX {
        return Err(CaptureError::Large(path.clone(), text.len() as u64));
    }
    // This cannot fail for a pipeline from a file, because the file was checked when it was read.
    let Ok(declaration) = pipeline.build() else { return Ok(None) };
    let text = String::from_utf8_lossy(&text);
    let read = Headers::read(&text, &declaration, direction, traffic.pkt_size);
    read.map(Some).map_err(|error| CaptureError::Headers(path.clone(), error))
}

/// Reads the packets of captures in the order of their times.
///
/// - One capture: all packets enter by the port of the direction, or by the port after which their interface is named
///   (`access`, `core`). If only one direction is sent, packets of the other port are skipped.
/// - Two captures: packets of the first enter by the access port, packets of the second by the core port.
///
/// # Errors
/// A file is truncated, is not Ethernet, exceeds a limit, or does not show where packets enter.
pub fn read(captures: &[PathBuf], dir: Directions) -> Result<Trace, CaptureError> {
    let mut packets = Packets::default();
    match (captures, dir) {
        ([one], Directions::Uplink) => packets.take(one, Some(Port::Access), Some(Port::Access))?,
        ([one], Directions::Downlink) => packets.take(one, Some(Port::Core), Some(Port::Core))?,
        ([one], Directions::Bidir) => packets.take(one, None, None)?,
        ([access, core], Directions::Bidir) => {
            packets.take(access, Some(Port::Access), None)?;
            packets.take(core, Some(Port::Core), None)?;
        }
        _ => return Err(CaptureError::Files(captures.len())),
    }
    Ok(packets.trace())
}

/// Packets read so far.
#[derive(Default)]
struct Packets {
    bytes: Vec<u8>,
    /// Time, port, offset and length of each packet.
    entries: Vec<(u64, Port, usize, usize)>,
}

impl Packets {
    /// Reads a file. `port` is the ingress port of packets whose interface does not name a port. With `only`, packets
    /// of the other port are skipped.
    fn take(&mut self, path: &Path, port: Option<Port>, only: Option<Port>) -> Result<(), CaptureError> {
        let failed = |error| CaptureError::Io(path.to_owned(), error);
        let file = File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(CaptureError::NoFile(path.to_owned()));
        }
        if metadata.len() > FILE_BYTES_MAX {
            return Err(CaptureError::Large(path.to_owned(), metadata.len()));
        }
        let before = self.entries.len();
        let mut fault = None;
        let mut damage = None;
        let mut each = |packet: pcap::Packet<'_>| {
            if fault.is_none() {
                fault = self.packet(path, &packet, port, only).err();
            }
        };
        // If the file grows while it is read, reading ends at its former end.
        pcap::read(BufReader::new(file.take(FILE_BYTES_MAX)), |event| match event {
            Event::Packet(packet) => each(packet),
            Event::Fault(fault, number) => damage = damage.or(Some((fault, number))),
        })
        .map_err(failed)?;
        if let Some(fault) = fault {
            return Err(fault);
        }
        if let Some((damage, number)) = damage {
            return Err(CaptureError::Damaged(path.to_owned(), format!("{damage} (packet {number})")));
        }
        if self.entries.len() == before {
            let names = only.or(port).map_or("access or core", port_name);
            return Err(CaptureError::Empty(path.to_owned(), names));
        }
        Ok(())
    }

    fn packet(
        &mut self,
        path: &Path,
        packet: &pcap::Packet<'_>,
        port: Option<Port>,
        only: Option<Port>,
    ) -> Result<(), CaptureError> {
        let path = path.to_owned();
        let number = packet.number;
        let named =
            [Port::Access, Port::Core].into_iter().find(|port| packet.interface == Some(port_name(*port)));
        let Some(port) = named.or(port) else { return Err(CaptureError::Interface { path, number }) };
        if only.is_some_and(|only| only != port) {
            return Ok(());
        }
        if packet.link_type != LinkType::ETHERNET {
            return Err(CaptureError::Link { path, number, found: packet.link_type.0 });
        }
        if packet.cut {
            return Err(CaptureError::Cut { path, number });
        }
        let octets = packet.data.len();
        if !(ETHERNET_BYTES..=LONGEST).contains(&octets) {
            return Err(CaptureError::Length { path, number, octets });
        }
        if self.entries.len() as u64 == PACKETS_MAX || self.bytes.len() + octets > TRACE_BYTES_MAX {
            return Err(CaptureError::Many(path));
        }
        let time = packet.time_us.unwrap_or(number);
        self.entries.push((time, port, self.bytes.len(), octets));
        self.bytes.extend_from_slice(packet.data);
        Ok(())
    }

    /// Sorts the packets by time. Packets with the same time keep the order in which they were read.
    fn trace(mut self) -> Trace {
        self.entries.sort_by_key(|(time, ..)| *time);
        let mut trace = Trace::default();
        for (_, port, first, octets) in &self.entries {
            trace.push(*port, &self.bytes[*first..first + octets]);
        }
        trace
    }
}

/// A capture file that has been written.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Written {
    /// Path of the file.
    pub path: PathBuf,
    /// Port by which the packets enter or leave, or both if the file names interfaces.
    pub port: &'static str,
    /// Number of packets.
    pub packets: u64,
}

/// The oracle's output for a trace. The oracle receives all packets in order, with the same timestamp.
#[derive(Debug, Default)]
pub struct Expected {
    /// Sent packets in order, with their egress ports.
    pub leaves: Trace,
    /// Number of dropped packets.
    pub dropped: u64,
    /// Dropped packets by reason.
    pub reasons: BTreeMap<DropReason, u64>,
}

/// Returns the oracle's output for a trace.
///
/// # Errors
/// The pipeline is invalid.
pub fn expected(
    pipeline: &Pipeline,
    trace: &Trace,
) -> Result<Expected, ranlab_pipeline::pipelines::ParameterError> {
    let mut oracle = pipeline.oracle()?;
    let mut all = Expected::default();
    for (port, frame) in trace.iter() {
        let mut frame = frame.to_vec();
        match oracle.process(0, port, &mut frame) {
            Verdict::Sent(port) => all.leaves.push(port, &frame),
            Verdict::Dropped(reason) => {
                all.dropped += 1;
                *all.reasons.entry(reason).or_default() += 1;
            }
        }
    }
    Ok(all)
}

/// Writes packets to capture files. A name that ends with `.pcapng` creates one file with the interfaces `access` and
/// `core`. Any other name creates a pcap file, or one per port (`NAME-access`, `NAME-core`) if both ports have packets.
///
/// # Errors
/// A system error.
pub fn write(path: &Path, trace: &Trace) -> Result<Vec<Written>, CaptureError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| CaptureError::Io(path, error)
    };
    let create = |path: &Path| File::create(path).map(BufWriter::new).map_err(failed(path));
    if path.extension().is_some_and(|ending| ending == "pcapng") {
        let mut out = create(path)?;
        let packets = pcapng(&mut out, trace).map_err(failed(path))?;
        return Ok(vec![Written { path: path.to_owned(), port: "access and core", packets }]);
    }
    let of = |port: Port| trace.iter().filter(move |(at, _)| *at == port).count();
    let both = of(Port::Access) > 0 && of(Port::Core) > 0;
    let one = if of(Port::Core) > 0 { Port::Core } else { Port::Access };
    let ports = if both { vec![Port::Access, Port::Core] } else { vec![one] };
    let mut written = Vec::new();
    for port in ports {
        let path = if both { beside(path, port_name(port)) } else { path.to_owned() };
        let packets = pcap(create(&path)?, trace, port).map_err(failed(&path))?;
        written.push(Written { path, port: port_name(port), packets });
    }
    Ok(written)
}

/// Inserts `what` into a file name: returns `dir/NAME-what.ending` for `dir/NAME.ending`.
#[must_use]
pub fn beside(path: &Path, what: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let ending = path.extension().map_or_else(|| "pcap".into(), |ending| ending.to_string_lossy());
    path.with_file_name(format!("{stem}-{what}.{ending}"))
}

fn pcap(out: impl Write, trace: &Trace, port: Port) -> io::Result<u64> {
    let mut writer = PcapWriter::new(out, LinkType::ETHERNET)?;
    let mut packets = 0;
    // The time of a packet is its position in the whole trace, so that the two files can be merged again.
    for (number, (_, frame)) in (0_u64..).zip(trace.iter()).filter(|(_, (at, _))| *at == port) {
        writer.packet(number * STEP_NS, frame)?;
        packets += 1;
    }
    writer.flush()?;
    Ok(packets)
}

fn pcapng(out: impl Write, trace: &Trace) -> io::Result<u64> {
    let mut writer = PcapngWriter::new(out)?;
    let mut packets = 0;
    for port in [Port::Access, Port::Core] {
        writer.interface(LinkType::ETHERNET, port_name(port))?;
    }
    for (number, (port, frame)) in (0_u64..).zip(trace.iter()) {
        writer.packet(port as u32, number * STEP_NS, frame, frame.len())?;
        packets += 1;
    }
    writer.flush()?;
    Ok(packets)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // helpers of tests, which clippy does not recognise as such
mod tests {
    use super::*;
    use ranlab_lab::folder::Folder;

    fn trace_of(dir: Directions, packets: u64) -> (Pipeline, Trace) {
        let json = r#"{"name":"mgw","user":5,"rate-limit":1000000000000,"rate-burst":4000000000}"#;
        let pipeline: Pipeline = serde_json::from_str(json).unwrap();
        let traffic = Traffic { pkt_num: packets, dir, ..Traffic::default() };
        let trace = Trace::generate(&pipeline, &traffic).unwrap();
        (pipeline, trace)
    }

    #[test]
    fn written_trace_is_read_back() {
        let mut folder = Folder::default();
        let folder = folder.made().unwrap();
        for (dir, name, files) in [
            (Directions::Uplink, "up.pcap", 1),
            (Directions::Downlink, "down.pcap", 1),
            (Directions::Bidir, "both.pcap", 2),
            (Directions::Bidir, "both.pcapng", 1),
            (Directions::Downlink, "down.pcapng", 1),
        ] {
            let (_, trace) = trace_of(dir, 300);
            let written = write(&folder.join(name), &trace).unwrap();
            assert_eq!(written.len(), files, "{name}");
            assert_eq!(written.iter().map(|file| file.packets).sum::<u64>(), 300);
            let paths: Vec<PathBuf> = written.into_iter().map(|file| file.path).collect();
            assert_eq!(read(&paths, dir).unwrap(), trace, "{name}");
        }
        // The capture contains both directions, and only one of them is sent.
        let (_, trace) = trace_of(Directions::Bidir, 10);
        let up = read(&[folder.join("both.pcapng")], Directions::Uplink).unwrap();
        assert_eq!(up.len(), 150);
        assert!(up.iter().all(|(port, _)| port == Port::Access) && trace.len() == 10);
    }

    #[test]
    fn expected_output_equals_oracle() {
        let (pipeline, trace) = trace_of(Directions::Bidir, 100);
        let all = expected(&pipeline, &trace).unwrap();
        assert_eq!((all.leaves.len(), all.dropped), (100, 0));
        let mut first = trace.packet(0).unwrap().1.to_vec();
        assert_eq!(
            pipeline.oracle().unwrap().process(0, Port::Access, &mut first),
            Verdict::Sent(Port::Core)
        );
        assert_eq!(all.leaves.packet(0).unwrap(), (Port::Core, &first[..]));
    }

    fn fault(folder: &Path, octets: &[u8], dir: Directions) -> String {
        let path = folder.join("hostile");
        std::fs::write(&path, octets).unwrap();
        read(&[path], dir).unwrap_err().to_string()
    }

    #[test]
    fn hostile_captures_are_rejected_with_reason() {
        let mut folder = Folder::default();
        let folder = folder.made().unwrap();
        let capture = |link, frames: &[&[u8]]| {
            let mut octets = Vec::new();
            let mut writer = PcapWriter::new(&mut octets, link).unwrap();
            frames.iter().for_each(|frame| writer.packet(0, frame).unwrap());
            octets
        };
        let whole = capture(LinkType::ETHERNET, &[&[0; 60], &[0; 64]]);
        let up = Directions::Uplink;
        assert!(fault(&folder, b"", up).contains("a complete capture"));
        assert!(fault(&folder, b"no capture at all, but some text", up).contains("a complete capture"));
        assert!(fault(&folder, &whole[..whole.len() - 3], up).contains("in the middle of a packet"));
        assert!(
            fault(&folder, &capture(LinkType::ETHERNET, &[]), up).contains("no packet that enters by access")
        );
        assert!(fault(&folder, &capture(LinkType::RAW, &[&[0; 60]]), up).contains("link type 101; only 1"));
        assert!(
            fault(&folder, &capture(LinkType::ETHERNET, &[&[0; 13]]), up)
                .contains("13 bytes; allowed are 14 to")
        );
        assert!(
            fault(&folder, &capture(LinkType::ETHERNET, &[&[0; 9_000]]), up)
                .contains("9000 bytes; allowed are")
        );
        assert!(fault(&folder, &whole, Directions::Bidir).contains("no interface named access or core"));
        let mut cut = whole.clone();
        // This byte is part of the original length of the packet.
        cut[36] = 200;
        assert!(fault(&folder, &cut, up).contains("packet 1 was cut"));
        let mut long = whole;
        long[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(fault(&folder, &long, up).contains("a complete capture"));
        assert!(read(std::slice::from_ref(&folder), up).unwrap_err().to_string().contains("is not a file"));
        assert!(read(&[], up).unwrap_err().to_string().contains("0 captures are given"));
        assert!(
            read(&[folder.clone(), folder.clone()], up)
                .unwrap_err()
                .to_string()
                .contains("2 captures are given")
        );
        // The file is sparse, so it occupies no space. Reading all of it would take hours.
        let huge = folder.join("huge");
        File::create(&huge).unwrap().set_len(FILE_BYTES_MAX + 1).unwrap();
        assert!(read(&[huge], up).unwrap_err().to_string().contains("at most 4294967296 are read"));
    }

    /// Reading a damaged capture gives either a trace or an error.
    #[test]
    fn damaged_captures_never_panic() {
        let mut folder = Folder::default();
        let folder = folder.made().unwrap();
        let (_, trace) = trace_of(Directions::Bidir, 20);
        for name in ["seed.pcapng", "seed.pcap"] {
            let first = write(&folder.join(name), &trace).unwrap().remove(0).path;
            let sound = std::fs::read(first).unwrap();
            let mut faults = 0;
            for seed in 0..400 {
                let mut random = ranlab_machine::Random::stream(seed, 5);
                let mut octets = sound.clone();
                for _ in 0..=random.below(4) {
                    let at = random.below(octets.len() as u64) as usize;
                    octets[at] = random.next() as u8;
                }
                octets.truncate(
                    octets.len() - random.below(2) as usize * random.below(octets.len() as u64) as usize,
                );
                let path = folder.join("damaged");
                std::fs::write(&path, octets).unwrap();
                for dir in [Directions::Uplink, Directions::Bidir] {
                    faults += usize::from(read(std::slice::from_ref(&path), dir).is_err());
                }
            }
            assert!(faults > 100, "{faults} of 800 {name}");
        }
    }
}
