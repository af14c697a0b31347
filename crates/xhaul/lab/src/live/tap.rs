//! Taps at the ports of the midhaul switch. They record the time of each frame of the cell when it enters the switch, and when it leaves
//! after its queue.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use ranlab_net::stamped::{open_tap, receive_stamped, stamp_received, urgent_thread};
use ranlab_packet::{ETHERNET_BYTES, EtherType};
use ranlab_xhaul::Delays;
use ranlab_xhaul::if4p5::{ETHERTYPE, Frame, HEADER_SIZE, Kind, PRB_SIZE};

use super::Segment;
use super::topology::{LiveTopology, in_namespace};
use super::traffic::{BUFFER_BYTES, PRIORITIES, WAIT, datagram, numbers_of};
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Nodes at both ends of the cell's path.
const ENDS: (&str, &str) = ("v1", "du");

/// Taps at the two ports of the cell.
pub(super) struct Taps {
    /// Port towards the CU, and port towards the DU.
    ports: [Arc<OwnedFd>; 2],
    ends: EndpointAddresses,
}

/// Addresses that identify the cell's packets.
#[derive(Debug, Clone, Copy)]
enum EndpointAddresses {
    /// Hardware addresses of vBBU and DU, for IF4p5 frames.
    Frames([[u8; 6]; 2]),
    /// IP addresses of vBBU and DU, for datagrams. Only the first fragment of a datagram counts.
    Datagrams([Ipv4Addr; 2]),
}

/// Results of a tap: the times from sending to this port, for downlink frames and for uplink frames.
#[derive(Debug)]
pub(super) struct TapDelays {
    pub(super) down: Delays,
    pub(super) up: Delays,
}

impl Taps {
    /// Opens the taps for a cell whose packets are raw frames or datagrams.
    pub(super) fn open(lab: &LiveTopology, raw: bool) -> Result<Self, ComponentError> {
        let ethertype = if raw { ETHERTYPE } else { EtherType::IPV4.0 };
        let tap = |node: &str| {
            let (namespace, port) =
                lab.port(node).ok_or_else(|| rig(format!("there is no switch before the node {node}")))?;
            in_namespace(namespace, || {
                let socket = open_tap(port, ethertype).map_err(environment)?;
                stamp_received(&socket, BUFFER_BYTES, WAIT).map_err(environment)?;
                Ok(Arc::new(socket))
            })
        };
        let ends = if raw {
            EndpointAddresses::Frames([lab.hardware(ENDS.0)?, lab.hardware(ENDS.1)?])
        } else {
            EndpointAddresses::Datagrams([lab.get(ENDS.0)?.ip, lab.get(ENDS.1)?.ip])
        };
        Ok(Self { ports: [tap(ENDS.0)?, tap(ENDS.1)?], ends })
    }

    /// Starts a thread for each port that runs until `go` is cleared. The port towards the CU comes first, then the port towards the DU.
    pub(super) fn watch(&self, base_ns: u64, go: &Arc<AtomicBool>) -> Vec<JoinHandle<TapDelays>> {
        let watch = |socket: &Arc<OwnedFd>| {
            let socket = Arc::clone(socket);
            let go = Arc::clone(go);
            let ends = self.ends;
            std::thread::spawn(move || {
                let _ = urgent_thread(PRIORITIES.0);
                read_tap(&socket, ends, base_ns, &go)
            })
        };
        self.ports.iter().map(watch).collect()
    }
}

fn read_tap(socket: &OwnedFd, ends: EndpointAddresses, base_ns: u64, go: &AtomicBool) -> TapDelays {
    let mut room = vec![0; 65_536];
    let mut result = TapDelays { down: Delays::new(), up: Delays::new() };
    while go.load(Ordering::Relaxed) {
        let Ok(stamped) = receive_stamped(socket, &mut room) else { continue };
        let packet = &room[..stamped.bytes];
        let found = match ends {
            EndpointAddresses::Frames(ends) => cells(packet, ends),
            EndpointAddresses::Datagrams(ends) => datagrams(packet, ends),
        };
        let Some((down, sequence, sent_ns)) = found else { continue };
        let Some(at_ns) = stamped.at_ns.checked_sub(base_ns) else { continue };
        let delays = if down { &mut result.down } else { &mut result.up };
        delays.record(sequence, sent_ns * 1000, at_ns * 1000, None);
    }
    result
}

/// Returns whether a frame is downlink, its number, and its send time. Returns `None` if it is not a frame of the cell.
fn cells(packet: &[u8], [vbbu, du]: [[u8; 6]; 2]) -> Option<(bool, u64, u64)> {
    let to = packet.get(..6)?;
    let from = packet.get(6..12)?;
    // The sequence number and the send time are in the first resource block.
    let head = packet.get(ETHERNET_BYTES..ETHERNET_BYTES + HEADER_SIZE + PRB_SIZE)?;
    let down = match Frame::decode(head).ok()?.kind {
        Kind::DownlinkFft if (to, from) == (&du, &vbbu) => true,
        Kind::UplinkFft if (to, from) == (&vbbu, &du) => false,
        _ => return None,
    };
    let (sequence, sent_ns) = numbers_of(&head[HEADER_SIZE..])?;
    Some((down, sequence, sent_ns))
}

/// Returns the values of [`cells`] for a datagram.
fn datagrams(packet: &[u8], [vbbu, du]: [Ipv4Addr; 2]) -> Option<(bool, u64, u64)> {
    let (from, to, port, payload) = datagram(packet)?;
    let down = (from, to, port) == (vbbu, du, Segment::CellDown.port());
    let up = (from, to, port) == (du, vbbu, Segment::CellUp.port());
    let (sequence, sent_ns) = numbers_of(payload).filter(|_| down || up)?;
    Some((down, sequence, sent_ns))
}

/// Splits the mean delay into segments to the switch, inside the switch, and after it, in microseconds. Also returns the 99th percentiles
/// at both ports of the switch.
pub(super) fn segments(taps: &[TapDelays], down: bool, mean_ps: f64) -> Option<[(&'static str, f64); 5]> {
    let [cu, du] = taps else { return None };
    let (entering, leaving) = if down { (&cu.down, &du.down) } else { (&du.up, &cu.up) };
    if entering.count() == 0 || leaving.count() == 0 {
        return None;
    }
    let us = |ps: f64| ps / 1e6;
    Some([
        ("at_host_us", us(entering.mean_ps())),
        ("at_midhaul_queue_us", us(leaving.mean_ps() - entering.mean_ps())),
        ("at_midhaul_line_us", us(mean_ps - leaving.mean_ps())),
        ("tap_in_us_p99", us(entering.quantile_ps(0.99) as f64)),
        ("tap_out_us_p99", us(leaving.quantile_ps(0.99) as f64)),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    const VBBU: [u8; 6] = [2, 0, 0, 0, 0, 1];
    const DU: [u8; 6] = [2, 0, 0, 0, 0, 2];

    fn frame(to: [u8; 6], from: [u8; 6], kind: Kind) -> Vec<u8> {
        let mut samples = vec![0; 600];
        samples[..8].copy_from_slice(&7_u64.to_le_bytes());
        samples[8..16].copy_from_slice(&1234_u64.to_le_bytes());
        let mut octets = [to, from].concat();
        octets.extend_from_slice(&ETHERTYPE.to_be_bytes());
        Frame { kind, frame: 1, subframe: 2, symbol: 3, samples: &samples }.encode(&mut octets).unwrap();
        octets
    }

    #[test]
    fn only_frames_of_cell_are_counted() {
        let found = |to, from, kind| cells(&frame(to, from, kind), [VBBU, DU]);
        assert_eq!(found(DU, VBBU, Kind::DownlinkFft), Some((true, 7, 1234)));
        assert_eq!(found(VBBU, DU, Kind::UplinkFft), Some((false, 7, 1234)));
        assert_eq!(found(VBBU, DU, Kind::DownlinkFft), None);
        assert_eq!(found([2, 0, 0, 0, 0, 3], VBBU, Kind::DownlinkFft), None);
        assert_eq!(cells(&frame(DU, VBBU, Kind::DownlinkFft)[..40], [VBBU, DU]), None);
    }

    #[test]
    fn datagrams_match_by_address_and_port() {
        let vbbu = Ipv4Addr::new(10, 77, 0, 11);
        let du = Ipv4Addr::new(10, 77, 0, 1);
        let packet = |from: Ipv4Addr, to: Ipv4Addr, port: u16, offset: u8| {
            let mut octets = [DU, VBBU].concat();
            octets.extend([0x08, 0x00, 0x45, 0, 0, 60, 0, 0, 0x20, offset, 64, 17, 0, 0]);
            octets.extend(from.octets().into_iter().chain(to.octets()));
            octets.extend([0x99, 0x99].into_iter().chain(port.to_be_bytes()).chain([0, 40, 0, 0]));
            octets.extend(7_u64.to_le_bytes().into_iter().chain(1234_u64.to_le_bytes()));
            datagrams(&octets, [vbbu, du])
        };
        assert_eq!(packet(vbbu, du, Segment::CellDown.port(), 0), Some((true, 7, 1234)));
        assert_eq!(packet(du, vbbu, Segment::CellUp.port(), 0), Some((false, 7, 1234)));
        // These packets have another direction, belong to another flow, or are a later fragment.
        assert_eq!(packet(du, vbbu, Segment::CellDown.port(), 0), None);
        assert_eq!(packet(vbbu, du, Segment::User.port(), 0), None);
        assert_eq!(packet(vbbu, du, Segment::CellDown.port(), 185), None);
        assert_eq!(datagrams(&[0; 30], [vbbu, du]), None);
    }

    #[test]
    fn segments_add_up_to_delay() {
        let delays = |us: u64| {
            let mut delays = Delays::new();
            (0..10).for_each(|number| delays.record(number, 0, us * 1_000_000, None));
            delays
        };
        let taps =
            [TapDelays { down: delays(10), up: delays(35) }, TapDelays { down: delays(40), up: delays(5) }];
        let down = segments(&taps, true, 45e6).unwrap();
        assert_eq!(down.map(|(_, us)| us.round()), [10.0, 30.0, 5.0, 10.0, 40.0]);
        let up = segments(&taps, false, 36e6).unwrap();
        assert_eq!(up.map(|(_, us)| us.round())[..3], [5.0, 30.0, 1.0]);
        assert!(segments(&taps[..1], true, 1.0).is_none());
    }
}
