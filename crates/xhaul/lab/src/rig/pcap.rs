//! Writes simulated deliveries to a pcapng file for Wireshark. The link type is Ethernet, with one interface per flow. Timestamps are
//! nanoseconds of simulated time since 1970. Frames have the headers of their split. Samples and user data are zero.

use std::io::{self, Write};

use ranlab_packet::pcap::{LinkType, PcapngWriter};
use ranlab_packet::{
    EtherType, IPV4_BYTES, Ipv4Header, Mac, Protocol, UDP_BYTES, UdpHeader, checksum, write_ethernet,
};
use ranlab_xhaul::cus::{Application, ControlPlane, HEADER_SIZE, UserPlane, sequence_id};
use ranlab_xhaul::ecpri::{ETHERTYPE as ECPRI, Message, Stream};
use ranlab_xhaul::if4p5::{ETHERTYPE as IF4P5, Frame, Kind, PRB_SIZE};
use ranlab_xhaul::{Carrier, Delivery, Direction, Flow, Plan, Split, TAG_BYTES, Tdd, control_symbols};

use super::predictions::role;
use super::setup::Setup;

/// Maximum number of deliveries per file.
pub(super) const DELIVERIES_MAX: usize = 200_000;
/// Bytes of frame check sequence, preamble and gap, which are on the wire but not in a capture.
const WIRE_ONLY_BYTES: usize = 4 + 20;
/// First word of the names of flows with control messages.
pub(super) const CONTROL: &str = "control ";
/// UDP port of GTP-U, and default port of iperf3.
const PORTS: (u16, u16) = (2152, 5201);

/// Returns the file name of a point: `a/b.pcapng` becomes `a/b-7.pcapng` for point 7.
pub(super) fn of_point(file: &str, point: usize) -> String {
    let file = std::path::Path::new(file);
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let extension = file.extension().map_or_else(|| "pcapng".into(), |extension| extension.to_string_lossy());
    file.with_file_name(format!("{stem}-{point}.{extension}")).to_string_lossy().into_owned()
}

/// Headers of a flow's frames.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Framing {
    /// Functional split. `None`: IP packets of other traffic.
    pub(super) split: Option<Split>,
    /// Direction of the data that control messages schedule. `None`: the frames contain data.
    pub(super) control: Option<Direction>,
    /// Whether frames are sent towards the DU.
    pub(super) down: bool,
    pub(super) carrier: Carrier,
    pub(super) tdd: Option<Tdd>,
    /// Number of the cell in message headers.
    pub(super) cell: u16,
    /// VLAN of the 802.1Q tag. `None`: no tag.
    pub(super) vlan: Option<u16>,
    pub(super) class: u8,
}

impl Framing {
    /// Returns the headers of IP packets.
    pub(super) const fn packets(down: bool, class: u8) -> Self {
        let carrier = Carrier::LTE_5;
        Self { split: None, control: None, down, carrier, tdd: None, cell: 0, vlan: None, class }
    }

    /// Returns the headers of a flow of the built-in network. They follow from the name of the flow.
    fn named(setup: &Setup, flow: &Flow) -> Self {
        let name = &flow.name;
        let down = name.ends_with("DL") || name.ends_with("down") || name == super::build::USER;
        let of_cells = |split, number: &str| Self {
            split: Some(split),
            carrier: setup.cells.carrier,
            tdd: setup.cells.tdd.clone(),
            cell: number.split(' ').next().and_then(|number| number.parse::<u16>().ok()).unwrap_or(1) - 1,
            vlan: setup.cells.vlan,
            ..Self::packets(down, flow.class)
        };
        let of_neighbour = |split| Self { split, ..Self::packets(down, flow.class) };
        let number = name.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        match role(name) {
            Some("cell_dl") => of_cells(setup.cells.down, number),
            Some("cell_ul") => of_cells(setup.cells.up, number),
            Some("neighbour_dl") => of_neighbour(setup.neighbour.map(|(down, ..)| down)),
            Some("neighbour_ul") => of_neighbour(setup.neighbour.map(|(_, up, _)| up)),
            _ if name.starts_with(CONTROL) => {
                let way = if down { Direction::Down } else { Direction::Up };
                Self { control: Some(way), down: true, ..of_cells(setup.cells.down, number) }
            }
            _ => Self::packets(down, flow.class),
        }
    }

    fn slots_per_ms(&self) -> u64 {
        (u64::from(self.carrier.spacing_khz) / 15).max(1)
    }
}

/// Returns the headers of each flow of the built-in network.
pub(super) fn framings(setup: &Setup, plan: &Plan) -> Vec<Framing> {
    plan.network.flows.iter().map(|flow| Framing::named(setup, flow)).collect()
}

/// Writes the capture file.
pub(super) fn write(
    out: impl Write,
    framings: &[Framing],
    plan: &Plan,
    deliveries: &[Delivery],
) -> io::Result<()> {
    let mut out = PcapngWriter::new(io::BufWriter::new(out))?;
    for flow in &plan.network.flows {
        out.interface(LinkType::ETHERNET, &flow.name)?;
    }
    for delivery in deliveries {
        let flow = &plan.network.flows[delivery.flow as usize];
        let Some(framing) = framings.get(delivery.flow as usize) else { continue };
        let frame = frame(framing, flow, delivery);
        out.packet(delivery.flow, delivery.at_ps / 1000, &frame, frame.len())?;
    }
    out.flush()
}

fn frame(framing: &Framing, flow: &Flow, delivery: &Delivery) -> Vec<u8> {
    let down = framing.down;
    let size = (delivery.wire as usize).saturating_sub(WIRE_ONLY_BYTES);
    // Locally administered addresses. They contain the end (CU or not) and the number of the flow.
    let address = |cu: bool| Mac([2, 0, 0, u8::from(cu), (delivery.flow >> 8) as u8, delivery.flow as u8]);
    let ether_type = match framing.split {
        Some(Split::If4p5 { udp: false }) => EtherType(IF4P5),
        Some(Split::Eight | Split::SevenOne | Split::SevenTwo { .. }) => EtherType(ECPRI),
        _ => EtherType::IPV4,
    };
    let mut octets = Vec::with_capacity(size);
    match framing.vlan {
        None => octets.extend_from_slice(&write_ethernet(address(!down), address(down), ether_type)),
        Some(vlan) => {
            octets.extend_from_slice(&write_ethernet(address(!down), address(down), EtherType::VLAN));
            octets.extend((u16::from(framing.class) << 13 | vlan & 0xFFF).to_be_bytes());
            octets.extend(ether_type.0.to_be_bytes());
        }
    }
    let payload = size.saturating_sub(octets.len());
    match (ether_type.0, framing.control) {
        (IF4P5, _) => if4p5(&mut octets, payload, down, delivery.sequence, flow.pattern.frames(0).len()),
        (ECPRI, Some(way)) => control(&mut octets, framing, flow, delivery.sequence, way),
        (ECPRI, None) => ecpri(&mut octets, payload, framing, flow, delivery.sequence),
        _ => ip(&mut octets, payload, framing.split, delivery.sequence, flow.pattern.frames(0).len()),
    }
    octets.resize(size, 0);
    octets
}

fn if4p5(octets: &mut Vec<u8>, payload: usize, down: bool, sequence: u64, at_once: usize) {
    let samples = vec![0; payload.saturating_sub(12) / PRB_SIZE * PRB_SIZE];
    // All frames of a symbol (ports, halves) have the same number.
    let of_tti = if at_once >= 14 { at_once as u64 } else { 14 };
    let subframe = sequence / of_tti;
    let frame = Frame {
        kind: if down { Kind::DownlinkFft } else { Kind::UplinkFft },
        frame: (subframe / 10 % 1024) as u16,
        subframe: (subframe % 10) as u8,
        symbol: (sequence % of_tti * 14 / of_tti) as u8,
        samples: &samples,
    };
    // Samples outside the carrier stay zero.
    let _ = frame.encode(octets);
}

/// Returns the number of a release's symbol or slot since the start of frame 0. There are `per_ms` symbols or slots per millisecond.
fn due(flow: &Flow, release: u64, per_ms: u64) -> u64 {
    let due_ps = u128::from(flow.pattern.due(release).unwrap_or(0));
    // The time of a release is the time of its symbol, rounded down to whole picoseconds.
    (due_ps * u128::from(per_ms)).div_ceil(u128::from(ranlab_xhaul::MS)) as u64
}

/// Returns the RTC_ID or PC_ID. DU port and band sector contain the cell; component carrier and RU port contain the layer. Each field has 4
/// bits.
fn id(framing: &Framing, layer: u64) -> u16 {
    framing.cell << 8 | (layer as u16 & 0xFF)
}

/// Appends an eCPRI message. For split 7.2x, this is an O-RAN user-plane message for each layer and part of a symbol.
fn ecpri(octets: &mut Vec<u8>, payload: usize, framing: &Framing, flow: &Flow, sequence: u64) {
    let frames = flow.pattern.frames(0);
    let ports = u64::from(framing.carrier.ports).max(1);
    let parts = (frames.len() as u64 / ports).max(1);
    let of_release = frames.len().max(1) as u64;
    let release = sequence / of_release;
    let port = sequence % of_release / parts;
    let part = sequence % parts;
    let number = release * parts + part;
    let mut data = Vec::with_capacity(payload);
    let sequence = match framing.split {
        Some(Split::SevenTwo { mantissa_bits }) => {
            let prb = 3 * u32::from(mantissa_bits) + u32::from(mantissa_bits < 16);
            let tag = if framing.vlan.is_some() { TAG_BYTES } else { 0 };
            let headers = 14 + tag + WIRE_ONLY_BYTES as u32 + 8 + HEADER_SIZE as u32;
            let prbs = |wire: &u32| (wire.saturating_sub(headers) / prb) as u16;
            let first: u16 = frames.iter().take(part as usize).map(prbs).sum();
            let count = frames.get(part as usize).map_or(0, prbs);
            let slots_per_ms = framing.slots_per_ms();
            let symbol = due(flow, release, 14 * slots_per_ms);
            let header = UserPlane::at_symbol(framing.down, symbol, slots_per_ms);
            UserPlane { mantissa_bits, ..header }.with_prbs(first, count).encode(&mut data);
            sequence_id(number)
        }
        _ => number as u16,
    };
    data.resize(payload.saturating_sub(8), 0);
    let message = Message::IqData(Stream { id: id(framing, port), sequence, data: &data });
    let _ = message.encode(false, octets);
}

/// Appends a layer's control message, which schedules the symbols of a direction in a slot.
fn control(octets: &mut Vec<u8>, framing: &Framing, flow: &Flow, sequence: u64, way: Direction) {
    let layers = u64::from(framing.carrier.ports).max(1);
    let release = sequence / layers;
    let slots_per_ms = framing.slots_per_ms();
    let slot = due(flow, release, slots_per_ms);
    let (first, symbols) = control_symbols(framing.tdd.as_ref(), way, slot);
    let at = Application::at_symbol(way == Direction::Down, slot * 14 + u64::from(first), slots_per_ms);
    let mantissa_bits = match framing.split {
        Some(Split::SevenTwo { mantissa_bits }) => mantissa_bits,
        _ => 16,
    };
    let mut data = Vec::with_capacity(ControlPlane::SIZE);
    ControlPlane::of_symbols(at, symbols, framing.carrier.prbs, mantissa_bits).encode(&mut data);
    let id = id(framing, sequence % layers);
    let message = Message::RealTimeControl(Stream { id, sequence: sequence_id(release), data: &data });
    let _ = message.encode(false, octets);
}

/// Appends IPv4 and UDP headers. If a packet has two frames, they are its first and its last fragment.
fn ip(octets: &mut Vec<u8>, payload: usize, split: Option<Split>, sequence: u64, at_once: usize) {
    let f1u = matches!(split, Some(Split::Two { .. }));
    let fragments = f1u && at_once == 2;
    let (number, last) = if fragments { (sequence / 2, sequence % 2 == 1) } else { (sequence, false) };
    let offset: u16 = match (fragments, last) {
        (true, false) => 0x2000,
        // With an MTU of 1,500 bytes, the first fragment contains 1,480 bytes. Its actual length is unknown here.
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
