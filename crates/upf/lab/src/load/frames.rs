//! Base stations' datagrams as AF_XDP frames. Ethernet, IP and UDP headers are written and parsed here, and packets for
//! a base station's address and port bypass the kernel's network stack.
//!
//! The kernel still owns the addresses. It answers ARP and neighbour solicitations, and sockets are bound to the addresses. Packets that
//! arrive at a queue without an AF_XDP socket, and fragments, reach these sockets and are counted separately.
use super::n3_io::N3Io;
use super::sizes::{MAX_DATAGRAM, QOS_OCTETS, TURN, WAITED, least_of};
use super::{LoadConfig, nth};
use ranlab_net::routes::{self, Device};
use ranlab_net::{
    ReceiveBatch, XSK_FRAME_BYTES, XSK_HEADROOM, XdpError, XskError, XskOptions, XskSocket, XskStatistics,
    XskSteering, XskTarget, monotonic_ns, wait_readable,
};
use ranlab_packet::gtpu::message_type;
use ranlab_packet::{ETHERNET_BYTES, Mac, UdpFrame, udp_headers_bytes};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The reason why AF_XDP cannot be used towards the UPF.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AfXdpError {
    /// The UPF's address belongs to this network namespace.
    #[error("the address belongs to this machine (loopback), and no device carries frames to it")]
    Local,
    /// The kernel has no route to the UPF.
    #[error("the kernel has no route from {gnb} to the UPF: {source}")]
    NoRoute {
        /// Source address of the base station.
        gnb: IpAddr,
        /// Error of the kernel.
        source: io::Error,
    },
    /// The route to the UPF uses another device than the configured one.
    #[error("the route to the UPF uses the device \"{way}\", but the configured device is \"{asked}\"")]
    Elsewhere {
        /// Name of the configured device.
        asked: String,
        /// Name of the route's device.
        way: String,
    },
    /// The device of the route is not an Ethernet device.
    #[error("the device \"{0}\" is not Ethernet")]
    NotEthernet(String),
    /// The next hop does not respond to ARP or neighbour discovery.
    #[error("no response for {hop} on \"{interface}\" (ARP, neighbour discovery) within {} s", .waited.as_secs())]
    Neighbour {
        /// Address of the UPF, or of a router towards it.
        hop: IpAddr,
        /// Name of the device.
        interface: String,
        /// Time after which the resolution was given up.
        waited: Duration,
    },
    /// The packets do not fit into a frame.
    #[error(
        "user packets of {octets} bytes do not fit a frame of \"{interface}\"; at most {most} are allowed (--bytes)"
    )]
    TooLong {
        /// Requested length of a user packet, in bytes.
        octets: usize,
        /// Name of the device.
        interface: String,
        /// Maximum length of a user packet, in bytes.
        most: usize,
    },
    /// There are more threads than queues.
    #[error(
        "{threads} data threads need one queue each, but \"{interface}\" has {queues} queues; 1 to {queues} threads are allowed (--threads)"
    )]
    Threads {
        /// Number of data threads.
        threads: usize,
        /// Name of the device.
        interface: String,
        /// Number of the device's queues.
        queues: usize,
    },
    /// The base stations' addresses overflow the last 32 bits of an address.
    #[error(
        "the addresses of the base stations exceed the last 32 bits of the first address {first}; choose a lower first address (--gnb)"
    )]
    Addresses {
        /// Address of the first base station.
        first: IpAddr,
    },
    /// The kernel's neighbour and routing tables cannot be read.
    #[error("the kernel's tables cannot be read: {0}")]
    Tables(io::Error),
    /// A socket cannot be opened at a queue of the device.
    #[error("\"{interface}\": {source}")]
    Socket {
        /// Name of the device.
        interface: String,
        /// Error of the socket.
        source: XskError,
    },
    /// The XDP program cannot be loaded or attached.
    #[error(transparent)]
    Program(#[from] XdpError),
    /// The kernel rejects a socket in the map of the XDP program.
    #[error("the kernel rejects the socket in the map of the XDP program: {0}")]
    Steer(io::Error),
    /// A base station's socket failed while the UPF's address was resolved.
    #[error("a base station's socket failed: {0}")]
    Probe(io::Error),
}

/// AF_XDP statistics.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AfXdpSummary {
    /// Name of the device.
    pub interface: String,
    /// Whether the driver runs the XDP program.
    pub native: bool,
    /// Whether the driver accesses our memory directly.
    pub zero_copy: bool,
    /// Number of queues with a socket.
    pub queues: usize,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames received.
    pub received: u64,
    /// G-PDUs received through the kernel's sockets instead.
    pub around: u64,
    /// Frames without a valid UDP datagram.
    pub unreadable: u64,
    /// Frames dropped by the kernel because they were too long or no buffer was free.
    pub rx_dropped: u64,
    /// Frames dropped because the generator read too slowly.
    pub rx_ring_full: u64,
    /// Number of times that the kernel had a frame but no free buffer.
    pub fill_ring_empty: u64,
    /// Frames that the kernel rejected.
    pub tx_invalid: u64,
    /// Frames that the device rejected.
    pub tx_dropped: u64,
}

/// Timeout of resolving the MAC address of a neighbour.
const NEIGHBOUR: Duration = Duration::from_secs(3);
const ASK: Duration = Duration::from_millis(300);
const LOOK: Duration = Duration::from_millis(5);
/// Maximum number of queues with a socket. Packets at other queues arrive through the kernel's sockets.
const MAX_QUEUES: usize = 64;
/// Interval between reads of the kernel's sockets, in nanoseconds. One socket is read each time.
const AROUND_NS: u64 = 200_000;
/// Length of a GTP-U header with a PDU session container, in bytes.
const GTPU_BYTES: usize = 16;
/// An echo request with sequence number 0 (TS 29.281 clause 7.2.1).
const ECHO_REQUEST: [u8; 12] = [0x32, message_type::ECHO_REQUEST, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0];

/// State shared by all data threads. Dropping the last reference detaches the XDP program.
#[derive(Debug)]
struct SharedDevice {
    steering: XskSteering,
    device: Device,
    zero_copy: bool,
    queues: usize,
}

/// AF_XDP sockets of one data thread. It receives from the queues `index`, `index + threads` … and sends on the first
/// of them, for every base station.
#[derive(Debug)]
pub(super) struct Frames {
    sockets: Vec<XskSocket>,
    way: Arc<SharedDevice>,
    heads: Arc<Vec<UdpFrame>>,
    around: Vec<Arc<UdpSocket>>,
    received: ReceiveBatch,
    looked_ns: u64,
    next_look: usize,
    /// Number of frames that the sending socket never sent, and that are already counted.
    never_left: u64,
    /// Number of frames that have not been sent yet.
    left: usize,
    counted: AfXdpSummary,
}

impl Frames {
    pub(super) fn gnbs(&self) -> usize {
        self.heads.len()
    }

    pub(super) fn is_full(&mut self) -> bool {
        self.sockets.first_mut().is_none_or(XskSocket::is_full)
    }

    pub(super) fn push(&mut self, gnb: usize, fill: impl FnOnce(&mut [u8]) -> Option<usize>) -> bool {
        let (Some(head), Some(socket)) = (self.heads.get(gnb), self.sockets.first_mut()) else {
            return false;
        };
        let pushed = socket.push(|frame| head.write(frame, fill));
        self.counted.sent += u64::from(pushed);
        pushed
    }

    pub(super) fn send(&mut self) -> io::Result<u64> {
        let Some(socket) = self.sockets.first_mut() else { return Ok(0) };
        self.left = socket.send()?;
        let before = std::mem::replace(&mut self.never_left, socket.dropped());
        Ok(self.never_left - before)
    }

    pub(super) fn receive(&mut self, mut each: impl FnMut(u64, IpAddr, &[u8])) -> io::Result<bool> {
        let Self { sockets, counted, .. } = self;
        let mut came = 0;
        for socket in sockets {
            let now_ns = monotonic_ns();
            came += socket.receive(TURN, |frame| match UdpFrame::read(frame) {
                Some((from, datagram)) => each(now_ns, from.ip(), datagram),
                None => counted.unreadable += 1,
            });
        }
        counted.received += came as u64;
        let now_ns = monotonic_ns();
        if now_ns - self.looked_ns > AROUND_NS {
            self.looked_ns = now_ns;
            self.look_around(now_ns, each)?;
        }
        Ok(came > 0)
    }

    fn look_around(&mut self, now_ns: u64, mut each: impl FnMut(u64, IpAddr, &[u8])) -> io::Result<()> {
        self.next_look = (self.next_look + 1) % self.around.len().max(1);
        let Some(socket) = self.around.get(self.next_look) else { return Ok(()) };
        if self.received.receive(socket)? > 0 {
            for (from, datagram) in self.received.datagrams() {
                self.counted.around += u64::from(datagram.get(1) == Some(&message_type::G_PDU));
                each(now_ns, from.ip(), datagram);
            }
        }
        Ok(())
    }

    pub(super) fn wait(&self, most: Duration) -> io::Result<()> {
        let descriptors: Vec<_> = self.sockets.iter().take(WAITED).map(AsFd::as_fd).collect();
        wait_readable(&descriptors, most).map(drop)
    }

    pub(super) fn complete_step(&mut self) -> io::Result<u64> {
        let dropped = self.send()?;
        let invalid = self.statistics().tx_invalid;
        let before = std::mem::replace(&mut self.counted.tx_invalid, invalid);
        Ok(dropped + self.left as u64 + invalid.saturating_sub(before))
    }

    fn statistics(&self) -> XskStatistics {
        let mut sum = XskStatistics::default();
        // A socket whose statistics cannot be read counts as a socket without losses.
        self.sockets.iter().filter_map(|socket| socket.statistics().ok()).for_each(|one| sum.add(&one));
        sum
    }

    /// Adds the statistics of this thread's sockets.
    pub(super) fn add_to(&self, sum: &mut AfXdpSummary) {
        let way = &self.way;
        let statistics = self.statistics();
        sum.interface.clone_from(&way.device.name);
        (sum.native, sum.zero_copy, sum.queues) = (way.steering.is_native(), way.zero_copy, way.queues);
        sum.sent += self.counted.sent;
        sum.received += self.counted.received;
        sum.around += self.counted.around;
        sum.unreadable += self.counted.unreadable;
        sum.rx_dropped += statistics.rx_dropped;
        sum.rx_ring_full += statistics.rx_ring_full;
        sum.fill_ring_empty += statistics.fill_ring_empty;
        sum.tx_invalid += statistics.tx_invalid;
        sum.tx_dropped += statistics.tx_dropped;
    }
}

/// Opens the sockets of each data thread.
pub(super) fn open(config: &LoadConfig, sockets: &[Arc<UdpSocket>]) -> Result<Vec<Frames>, AfXdpError> {
    let N3Io::AfXdp { interface, native, zero_copy } = &config.n3_io else { return Ok(Vec::new()) };
    let gnb = config.gnb.ip();
    let target = target(config.gnb, config.gnbs)?;
    let route = routes::route(gnb, config.n3.ip());
    let route = route.map_err(|source| AfXdpError::NoRoute { gnb, source })?;
    if route.local {
        return Err(AfXdpError::Local);
    }
    let device = routes::device(route.device).map_err(AfXdpError::Tables)?;
    if let Some(requested) = interface.as_ref().filter(|requested| **requested != device.name) {
        return Err(AfXdpError::Elsewhere { asked: requested.clone(), way: device.name });
    }
    let own = device.mac.ok_or_else(|| AfXdpError::NotEthernet(device.name.clone()))?;
    let frame_bytes = frame_bytes(config, &device)?;
    let hop = resolve(config.n3, route.gateway.unwrap_or_else(|| config.n3.ip()), &device, sockets)?;
    let options = XskOptions { frame_bytes, zero_copy: *zero_copy, ..XskOptions::default() };
    let queues = bind_queues(device.index, options)
        .map_err(|source| AfXdpError::Socket { interface: device.name.clone(), source })?;
    let count = queues.len();
    let threads = config.threads;
    if threads > count {
        return Err(AfXdpError::Threads { threads, interface: device.name, queues: count });
    }
    // With zero copy, the driver must also run the XDP program.
    let steering = XskSteering::attach(&device.name, target, count as u32, *native || *zero_copy)?;
    for (queue, socket) in queues.iter().enumerate() {
        steering.steer(queue as u32, socket).map_err(AfXdpError::Steer)?;
    }
    let heads = (0..config.gnbs).map(|n| UdpFrame::new(Mac(own), Mac(hop), nth(config.gnb, n), config.n3));
    let heads = Arc::new(heads.collect::<Vec<_>>());
    let way = Arc::new(SharedDevice { steering, device, zero_copy: *zero_copy, queues: count });
    let mut threads_sockets: Vec<Vec<XskSocket>> = (0..threads).map(|_| Vec::new()).collect();
    for (queue, socket) in queues.into_iter().enumerate() {
        threads_sockets[queue % threads].push(socket);
    }
    let frames = threads_sockets.into_iter().enumerate().map(|(index, own)| Frames {
        sockets: own,
        way: Arc::clone(&way),
        heads: Arc::clone(&heads),
        around: sockets.iter().skip(index).step_by(threads).cloned().collect(),
        received: ReceiveBatch::new(TURN, MAX_DATAGRAM),
        looked_ns: 0,
        next_look: 0,
        never_left: 0,
        left: 0,
        counted: AfXdpSummary::default(),
    });
    Ok(frames.collect())
}

fn target(first: SocketAddr, count: usize) -> Result<XskTarget, AfXdpError> {
    let ip = first.ip();
    let count = count as u32;
    let runs_over = match ip {
        IpAddr::V4(v4) => u32::from(v4).checked_add(count - 1).is_none(),
        IpAddr::V6(v6) => (u128::from(v6) as u32).checked_add(count - 1).is_none(),
    };
    if runs_over {
        Err(AfXdpError::Addresses { first: ip })
    } else {
        Ok(XskTarget { first: ip, count, port: first.port() })
    }
}

/// Returns the minimum buffer size for a frame of the longest packets in either direction.
fn frame_bytes(config: &LoadConfig, device: &Device) -> Result<u32, AfXdpError> {
    let largest = [config.uplink, config.downlink].into_iter().flatten().map(|traffic| traffic.octets.most());
    let octets = least_of(largest.max().unwrap_or(QOS_OCTETS), config.ue.is_ipv6());
    let headers = GTPU_BYTES + udp_headers_bytes(config.n3.ip());
    let holds = |frame: u32| ((frame - XSK_HEADROOM) as usize).saturating_sub(ETHERNET_BYTES);
    let most = (device.mtu as usize).min(holds(XSK_FRAME_BYTES[1])).saturating_sub(headers);
    let needed = octets + headers;
    let fitting = XSK_FRAME_BYTES.into_iter().find(|frame| needed <= holds(*frame));
    fitting.filter(|_| octets <= most).ok_or_else(|| AfXdpError::TooLong {
        octets,
        interface: device.name.clone(),
        most,
    })
}

/// Returns the next hop's MAC address. The kernel resolves the address when it has a packet to send, so this function sends an echo
/// request.
fn resolve(
    n3: SocketAddr,
    hop: IpAddr,
    device: &Device,
    sockets: &[Arc<UdpSocket>],
) -> Result<[u8; 6], AfXdpError> {
    let begin = Instant::now();
    let mut requested_at: Option<Instant> = None;
    while begin.elapsed() < NEIGHBOUR {
        if let Some(mac) = routes::neighbour(device.index, hop).map_err(AfXdpError::Tables)? {
            return Ok(mac);
        }
        if requested_at.is_none_or(|requested_at| requested_at.elapsed() > ASK) {
            requested_at = Some(Instant::now());
            match sockets.first().map(|socket| socket.send_to(&ECHO_REQUEST, n3)) {
                // The error belongs to an earlier packet, which was not deliverable. The loop continues until the timeout.
                Some(Err(error)) if error.kind() != io::ErrorKind::HostUnreachable => {
                    return Err(AfXdpError::Probe(error));
                }
                _ => {}
            }
        }
        std::thread::sleep(LOOK);
    }
    let interface = device.name.clone();
    Err(AfXdpError::Neighbour { hop, interface, waited: NEIGHBOUR })
}

/// Opens a socket at every queue of the device.
fn bind_queues(device: u32, options: XskOptions) -> Result<Vec<XskSocket>, XskError> {
    let mut sockets = Vec::new();
    while sockets.len() < MAX_QUEUES {
        match XskSocket::bind(device, sockets.len() as u32, options) {
            Ok(socket) => sockets.push(socket),
            Err(XskError::NoQueue { .. }) if !sockets.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(sockets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_overflow_is_rejected() {
        let target = |first: &str, count| target(first.parse().unwrap(), count);
        assert!(target("255.255.255.250:2152", 6).is_ok() && target("255.255.255.250:2152", 7).is_err());
        assert!(target("[fd00::ffff:ffff]:2152", 1).is_ok() && target("[fd00::ffff:ffff]:2152", 2).is_err());
        assert_eq!(target("10.0.0.255:1", 3).unwrap().port, 1);
    }
}
