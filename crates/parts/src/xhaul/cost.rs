//! What a path costs for each packet: CPU time of the sender's system call, which on veth is the whole path.
//!
//! A processor's clock follows its heat and its neighbours, so nanoseconds of one minute and of the next differ by more
//! than ways to share a card do. Beside the path a second one is measured, batch by batch in turn: two containers with a
//! switch port each. What the clock does to one it does to the other; their ratio stays.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::topology::{Lab, in_namespace};
use super::{LiveSharing, XhaulPart};
use crate::field::Plain;
use crate::worker::Trouble;
use crate::{environment, rig};

/// Packets of a batch: short enough that some batches are never interrupted.
const BATCH: u32 = 64;
/// Packets before it, which are not counted: the other path was in the caches.
const WARMING: u32 = 4;
/// Octets of a packet's Ethernet frame without check sequence, as published for the background.
const FRAME_BYTES: usize = 996;
/// Headers in front of the UDP payload.
const HEADER_BYTES: usize = 14 + 28;
/// Nobody listens there but a socket whose buffer is full.
const PORT: u16 = 9;
/// Rounds between two rests, so that no other work is starved.
const REST_AFTER: u32 = 16;
/// Rounds before the first that counts: they ask for the neighbour's address.
const UNCOUNTED: u32 = 2;

/// The least cost of a packet from vBBU to DU and back, in ns and as a share of what a port of one's own costs at the same
/// time: (metric, value).
pub(super) fn measure(
    lab: &Lab,
    part: &XhaulPart,
    batches: u32,
) -> Result<Vec<(&'static str, f64)>, Trouble> {
    if batches == 0 {
        return Ok(Vec::new());
    }
    // Nothing of the scenario but its kind of switch: the same for every way to share.
    let port = Lab::build(&XhaulPart {
        sharing: Plain(LiveSharing::OwnPorts),
        midhaul_switch: true,
        flows: Plain::default(),
        ..part.clone()
    })?;
    let mut costs = Vec::new();
    for (name, share, from, to) in
        [("cost_ns_dl", "cost_dl_of_port", "v1", "du"), ("cost_ns_ul", "cost_ul_of_port", "du", "v1")]
    {
        let paths = [Path::open(lab, from, to)?, Path::open(&port, from, to)?];
        let counted = std::thread::scope(|scope| scope.spawn(|| least_ns(&paths, batches)).join());
        let [own, yard] = counted.map_err(|_| rig("a thread of the laboratory died"))?;
        if !(own.is_finite() && yard.is_finite()) {
            return Err(environment("the kernel took no whole batch of packets: no cost of a path"));
        }
        costs.extend([(name, own), (share, own / yard)]);
    }
    Ok(costs)
}

/// A way for packets.
pub(super) struct Path {
    socket: UdpSocket,
    /// Keeps the port open; what its buffer does not hold costs nobody's time to take out.
    _sink: UdpSocket,
}

impl Path {
    pub(super) fn open(lab: &Lab, from: &str, to: &str) -> Result<Self, Trouble> {
        let (from, to) = (lab.get(from)?, lab.get(to)?);
        let sink = in_namespace(&to.namespace, || {
            let sink = UdpSocket::bind(("0.0.0.0", PORT)).map_err(environment)?;
            ranlab_net::bound_buffers(&sink, 4096, 2048).map_err(environment)?;
            Ok(sink)
        })?;
        let socket = in_namespace(&from.namespace, || {
            let socket = UdpSocket::bind("0.0.0.0:0").map_err(environment)?;
            socket.connect((to.ip, PORT)).map_err(environment)?;
            Ok(socket)
        })?;
        Ok(Self { socket, _sink: sink })
    }

    /// Times of `count` packets one by one, ns, after some that nobody counts; nothing of those that the kernel did not take.
    pub(super) fn singles_ns(&self, packet: &[u8], count: u32, put: &mut dyn FnMut(u64)) {
        for _ in 0..WARMING {
            let _ = self.socket.send(packet);
        }
        for _ in 0..count {
            let begun = Instant::now();
            if self.socket.send(packet).is_ok() {
                put(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
        }
    }

    /// Time of a packet, ns; `None` if the kernel did not take them all.
    fn batch_ns(&self, packet: &[u8]) -> Option<f64> {
        let send = |count: u32| (0..count).filter(|_| self.socket.send(packet).is_ok()).count();
        send(WARMING);
        let begun = Instant::now();
        let sent = send(BATCH);
        let each = begun.elapsed().as_nanos() as f64 / f64::from(BATCH);
        (sent == BATCH as usize).then_some(each)
    }
}

/// What is sent.
pub(super) fn packet() -> Vec<u8> {
    vec![0; FRAME_BYTES - HEADER_BYTES]
}

/// The least of the batches on each path, which take turns.
fn least_ns(paths: &[Path; 2], batches: u32) -> [f64; 2] {
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    // Elsewhere the least is the same, found later.
    let _ = ranlab_net::pin_thread(last);
    let packet = packet();
    let mut least = [f64::INFINITY; 2];
    for round in 0..batches.saturating_add(UNCOUNTED) {
        for (path, least) in paths.iter().zip(&mut least) {
            let each = path.batch_ns(&packet);
            if let Some(each) = each.filter(|_| round >= UNCOUNTED) {
                *least = least.min(each);
            }
        }
        if round % REST_AFTER == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two paths of one kind, measured as two: over the loopback.
    #[test]
    fn the_same_path_costs_the_same_beside_itself() {
        let path = || {
            let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(sink.local_addr().unwrap()).unwrap();
            Path { socket, _sink: sink }
        };
        let [a, b] = least_ns(&[path(), path()], 200);
        // No statement about time: only that both were measured, by their packets and not by their batches.
        assert!(a > 1.0 && a < 1e6 && b > 1.0 && b < 1e6, "{a} {b}");
        assert!(a / b < 10.0 && b / a < 10.0, "{a} {b}");
    }

    #[test]
    fn a_path_that_takes_no_packet_has_no_cost() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // Not connected: sending fails.
        let path = || Path { socket: socket.try_clone().unwrap(), _sink: socket.try_clone().unwrap() };
        assert_eq!(least_ns(&[path(), path()], 1), [f64::INFINITY; 2]);
    }
}
