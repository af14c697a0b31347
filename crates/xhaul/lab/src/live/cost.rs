//! Cost of a path per packet. It is the CPU time of the sender's system call, which on veth includes the whole path.
//!
//! Absolute times vary with the frequency of the processor, by more than the sharing methods differ. A reference path (two containers with
//! a switch port each) is therefore measured in alternation with the path under test, batch by batch. Frequency changes affect both, and
//! their ratio stays stable.

use std::net::UdpSocket;
use std::time::{Duration, Instant};

use super::topology::{LiveTopology, in_namespace};
use super::{LiveSharing, XhaulComponent};
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::ComponentError;
use ranlab_lab::{environment, rig};

/// Number of packets per batch. It is small, so that some batches are never interrupted.
const BATCH: u32 = 64;
/// Number of packets before each batch that are not counted. They refill the caches after the other path was used.
const WARMING: u32 = 4;
/// Length of a packet's Ethernet frame without FCS, in bytes, as published for the background load.
const FRAME_BYTES: usize = 996;
/// Length of the headers before the UDP payload, in bytes.
const HEADER_BYTES: usize = 14 + 28;
/// UDP discard port. Its only listener is a socket whose buffer is full.
const PORT: u16 = 9;
/// Number of rounds between two pauses, which keep other processes from starving.
const REST_AFTER: u32 = 16;
/// Number of initial rounds that are not counted. They resolve the neighbour's address.
const UNCOUNTED: u32 = 2;

/// Returns the minimum cost of a packet in each direction between vBBU and DU, as pairs of metric and value. The cost is given in
/// nanoseconds, and relative to the cost of a dedicated port at the same time.
pub(super) fn measure(
    lab: &LiveTopology,
    part: &XhaulComponent,
    batches: u32,
) -> Result<Vec<(&'static str, f64)>, ComponentError> {
    if batches == 0 {
        return Ok(Vec::new());
    }
    // The reference uses only the scenario's kind of switch, so it is the same for every sharing method.
    let port = LiveTopology::build(&XhaulComponent {
        sharing: JsonField(LiveSharing::OwnPorts),
        midhaul_switch: true,
        flows: JsonField::default(),
        ..part.clone()
    })?;
    let mut costs = Vec::new();
    for (name, share, from, to) in
        [("cost_ns_dl", "cost_dl_of_port", "v1", "du"), ("cost_ns_ul", "cost_ul_of_port", "du", "v1")]
    {
        let paths = [Path::open(lab, from, to)?, Path::open(&port, from, to)?];
        let counted = std::thread::scope(|scope| scope.spawn(|| least_ns(&paths, batches)).join());
        let [own, yard] = counted.map_err(|_| rig("a measuring thread panicked"))?;
        if !(own.is_finite() && yard.is_finite()) {
            return Err(environment(
                "the kernel accepted no complete batch of packets, so the cost of a path cannot be measured",
            ));
        }
        costs.extend([(name, own), (share, own / yard)]);
    }
    Ok(costs)
}

/// A path on which packets are sent.
pub(super) struct Path {
    socket: UdpSocket,
    /// Socket that keeps the port open. Packets beyond its buffer are dropped without cost.
    _sink: UdpSocket,
}

impl Path {
    pub(super) fn open(lab: &LiveTopology, from: &str, to: &str) -> Result<Self, ComponentError> {
        let from = lab.get(from)?;
        let to = lab.get(to)?;
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

    /// Measures `count` packets one by one, in nanoseconds, after some packets that are not counted. Packets that the kernel rejects are
    /// skipped.
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

    /// Returns the time per packet of a batch, in nanoseconds. Returns `None` if the kernel rejected a packet.
    fn batch_ns(&self, packet: &[u8]) -> Option<f64> {
        let send = |count: u32| (0..count).filter(|_| self.socket.send(packet).is_ok()).count();
        send(WARMING);
        let begun = Instant::now();
        let sent = send(BATCH);
        let each = begun.elapsed().as_nanos() as f64 / f64::from(BATCH);
        (sent == BATCH as usize).then_some(each)
    }
}

/// Returns the payload of a packet.
pub(super) fn packet() -> Vec<u8> {
    vec![0; FRAME_BYTES - HEADER_BYTES]
}

/// Returns the fastest batch of each path. The paths alternate.
fn least_ns(paths: &[Path; 2], batches: u32) -> [f64; 2] {
    let last = std::thread::available_parallelism().map_or(1, usize::from) - 1;
    // If pinning fails, the minimum is the same, but takes longer to find.
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

    /// Measures two paths of the same kind, over the loopback interface.
    #[test]
    fn equal_paths_have_similar_cost() {
        let path = || {
            let sink = UdpSocket::bind("127.0.0.1:0").unwrap();
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.connect(sink.local_addr().unwrap()).unwrap();
            Path { socket, _sink: sink }
        };
        let [a, b] = least_ns(&[path(), path()], 200);
        // Absolute times are not checked. The test only checks that both paths were measured, and that times are per packet.
        assert!(a > 1.0 && a < 1e6 && b > 1.0 && b < 1e6, "{a} {b}");
        assert!(a / b < 10.0 && b / a < 10.0, "{a} {b}");
    }

    #[test]
    fn path_that_rejects_packets_has_no_cost() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        // The socket is not connected, so sending fails.
        let path = || Path { socket: socket.try_clone().unwrap(), _sink: socket.try_clone().unwrap() };
        assert_eq!(least_ns(&[path(), path()], 1), [f64::INFINITY; 2]);
    }
}
