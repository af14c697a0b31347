//! Simulated deliveries as a pcapng file for Wireshark: Ethernet, one interface per flow, timestamps in
//! nanoseconds of simulated time since 1970. Headers are those of the split; samples and user data are zero.

use std::io::{self, Write};

use ranlab_packet::pcap::{LinkType, PcapngWriter};
use ranlab_packet::{
    EtherType, IPV4_BYTES, Ipv4Header, Mac, Protocol, UDP_BYTES, UdpHeader, checksum, write_ethernet,
};
use ranlab_xhaul::cus::{HEADER_SIZE, UserPlane, sequence_id};
use ranlab_xhaul::ecpri::{ETHERTYPE as ECPRI, Message, Stream};
use ranlab_xhaul::if4p5::{ETHERTYPE as IF4P5, Frame, Kind, PRB_SIZE};
use ranlab_xhaul::{Carrier, Delivery, Flow, Plan, Split};

use super::answer::role;
use super::setup::Setup;

/// Maximum number of deliveries per file.
pub(super) const DELIVERIES_MAX: usize = 200_000;
/// Frame check sequence, preamble and gap: on the wire, not in a capture.
const WIRE_ONLY_BYTES: usize = 4 + 20;
/// GTP-U port, and the default port of iperf3.
const PORTS: (u16, u16) = (2152, 5201);

/// Returns a point's file name: `a/b.pcapng` becomes `a/b-7.pcapng`.
pub(super) fn of_point(file: &str, point: usize) -> String {
    let file = std::path::Path::new(file);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let extension = file.extension().map_or_else(|| "pcapng".into(), |extension| extension.to_string_lossy());
    file.with_file_name(format!("{stem}-{point}.{extension}")).to_string_lossy().into_owned()
}

/// Writes the file.
pub(super) fn write(out: impl Write, setup: &Setup, plan: &Plan, deliveries: &[Delivery]) -> io::Result<()> {
    let mut out = PcapngWriter::new(io::BufWriter::new(out))?;
    for flow in &plan.network.flows {
        out.interface(LinkType::ETHERNET, &flow.name)?;
    }
    for delivery in deliveries {
        let frame = frame(setup, plan, delivery);
        out.packet(delivery.flow, delivery.at_ps / 1000, &frame, frame.len())?;
    }
    out.flush()
}

/// Returns the split of a cell's flow; `None` for other flows.
fn split(setup: &Setup, name: &str) -> Option<Split> {
    match role(name)? {
        "cell_dl" => Some(setup.cells.down),
        "cell_ul" => Some(setup.cells.up),
        "neighbour_dl" => setup.neighbour.map(|(down, ..)| down),
        "neighbour_ul" => setup.neighbour.map(|(_, up, _)| up),
        _ => None,
    }
}

fn frame(setup: &Setup, plan: &Plan, delivery: &Delivery) -> Vec<u8> {
    let flow = &plan.network.flows[delivery.flow as usize];
    let down = flow.name.ends_with("DL") || flow.name.ends_with("down") || flow.name == super::build::USER;
    let size = (delivery.wire as usize).saturating_sub(WIRE_ONLY_BYTES);
    let split = split(setup, &flow.name);
    // Locally administered addresses that contain end and flow number.
    let address = |cu: bool| Mac([2, 0, 0, u8::from(cu), (delivery.flow >> 8) as u8, delivery.flow as u8]);
    let ether_type = match split {
        Some(Split::If4p5 { udp: false }) => EtherType(IF4P5),
        Some(Split::Eight | Split::SevenOne | Split::SevenTwo { .. }) => EtherType(ECPRI),
        _ => EtherType::IPV4,
    };
    let mut octets = Vec::with_capacity(size);
    octets.extend_from_slice(&write_ethernet(address(!down), address(down), ether_type));
    let payload = size.saturating_sub(octets.len());
    match ether_type.0 {
        IF4P5 => if4p5(&mut octets, payload, down, delivery.sequence, flow.pattern.frames(0).len()),
        ECPRI => ecpri(&mut octets, payload, &Symbols::new(setup, flow, split), delivery.sequence, down),
        _ => ip(&mut octets, payload, split, delivery.sequence, flow.pattern.frames(0).len()),
    }
    octets.resize(size, 0);
    octets
}

fn if4p5(octets: &mut Vec<u8>, payload: usize, down: bool, sequence: u64, at_once: usize) {
    let samples = vec![0; payload.saturating_sub(12) / PRB_SIZE * PRB_SIZE];
    // The frames of a symbol (ports, halves) share its number.
    let of_tti = if at_once >= 14 { at_once as u64 } else { 14 };
    let subframe = sequence / of_tti;
    let frame = Frame {
        kind: if down { Kind::DownlinkFft } else { Kind::UplinkFft },
        frame: (subframe / 10 % 1024) as u16,
        subframe: (subframe % 10) as u8,
        symbol: (sequence % of_tti * 14 / of_tti) as u8,
        samples: &samples,
    };
    // Samples beyond the carrier stay zero.
    let _ = frame.encode(octets);
}

/// What a cell's frames carry, by their number.
struct Symbols<'f> {
    flow: &'f Flow,
    /// Antenna ports or layers: each is an eAxC.
    ports: u64,
    slots_per_ms: u64,
    /// Mantissa of the user plane of O-RAN; `None`: another split.
    mantissa_bits: Option<u8>,
    /// Number of the cell.
    cell: u16,
}

impl<'f> Symbols<'f> {
    fn new(setup: &Setup, flow: &'f Flow, split: Option<Split>) -> Self {
        let neighbour = !flow.name.starts_with("cell");
        let carrier = if neighbour { Carrier::LTE_5 } else { setup.cells.carrier };
        let number = flow.name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let number = number.split(' ').next().and_then(|number| number.parse::<u16>().ok()).unwrap_or(0);
        let mantissa_bits = match split {
            Some(Split::SevenTwo { mantissa_bits }) => Some(mantissa_bits),
            _ => None,
        };
        let slots_per_ms = (u64::from(carrier.spacing_khz) / 15).max(1);
        let cell = number.saturating_sub(u16::from(!neighbour));
        Self { flow, ports: u64::from(carrier.ports).max(1), slots_per_ms, mantissa_bits, cell }
    }
}

/// Appends an eCPRI message: for split 7.2x a user-plane message of O-RAN for each layer and part of a symbol.
fn ecpri(octets: &mut Vec<u8>, payload: usize, symbols: &Symbols<'_>, sequence: u64, down: bool) {
    let frames = symbols.flow.pattern.frames(0);
    let parts = (frames.len() as u64 / symbols.ports).max(1);
    let of_release = frames.len().max(1) as u64;
    let release = sequence / of_release;
    let port = sequence % of_release / parts;
    let part = sequence % parts;
    // DU port and band sector hold the cell, component carrier and RU port the layer: 4 bits each.
    let id = symbols.cell << 8 | (port as u16 & 0xFF);
    let number = release * parts + part;
    let mut data = Vec::with_capacity(payload);
    let sequence = match symbols.mantissa_bits {
        Some(mantissa_bits) => {
            let prb = 3 * u32::from(mantissa_bits) + u32::from(mantissa_bits < 16);
            let headers = 14 + WIRE_ONLY_BYTES as u32 + 8 + HEADER_SIZE as u32;
            let prbs = |wire: &u32| (wire.saturating_sub(headers) / prb) as u16;
            let first: u16 = frames.iter().take(part as usize).map(prbs).sum();
            let count = frames.get(part as usize).map_or(0, prbs);
            let per_ms = 14 * symbols.slots_per_ms;
            let due = u128::from(symbols.flow.pattern.due(release).unwrap_or(0));
            // Releases are at the whole picoseconds below their symbol.
            let symbol = (due * u128::from(per_ms)).div_ceil(u128::from(ranlab_xhaul::MS)) as u64;
            let header = UserPlane::at_symbol(down, symbol, symbols.slots_per_ms);
            UserPlane { mantissa_bits, ..header }.with_prbs(first, count).encode(&mut data);
            sequence_id(number)
        }
        None => number as u16,
    };
    data.resize(payload.saturating_sub(8), 0);
    let message = Message::IqData(Stream { id, sequence, data: &data });
    let _ = message.encode(false, octets);
}

/// Appends IPv4 and UDP headers; two frames of a packet are its first and last fragment.
fn ip(octets: &mut Vec<u8>, payload: usize, split: Option<Split>, sequence: u64, at_once: usize) {
    let f1u = matches!(split, Some(Split::Two { .. }));
    let fragments = f1u && at_once == 2;
    let (number, last) = if fragments { (sequence / 2, sequence % 2 == 1) } else { (sequence, false) };
    let offset: u16 = match (fragments, last) {
        (true, false) => 0x2000,
        // The first fragment holds 1,480 bytes with an MTU of 1,500; its actual length is unknown here.
        (true, true) => 1480 / 8,
        _ => 0,
    };
    let payload_bytes = payload.saturating_sub(IPV4_BYTES) as u16;
    let src = [10, 77, 0, 11].into();
    let dst = [10, 77, 0, 1].into();
    let protocol = Protocol::UDP;
    let mut header = Ipv4Header { traffic_class: 0, payload_bytes, ttl: 64, protocol, src, dst }.write();
    // The writer produces headers of whole datagrams; the fragment fields are set here.
    header[4..6].copy_from_slice(&(number as u16).to_be_bytes());
    header[6..8].copy_from_slice(&offset.to_be_bytes());
    header[10..12].fill(0);
    let sum = checksum::checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    octets.extend_from_slice(&header);
    if last {
        return;
    }
    let port = if f1u { PORTS.0 } else { PORTS.1 };
    let payload_bytes = payload_bytes.saturating_sub(UDP_BYTES as u16);
    octets
        .extend_from_slice(&UdpHeader { src_port: port, dst_port: port, payload_bytes, checksum: 0 }.write());
}
