//! Paced senders, receivers with time stamps, and a reflector.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::cgroup::CpuQuota;
use ranlab_host::netns::LAUNCHED;
use ranlab_net::launch::{launch_timed, send_at, tai_ns};
use ranlab_net::stamped::{
    TimestampSource, open_frames, real_ns, receive_stamped, send_frame, stamp_received, urgent_thread,
};
use ranlab_packet::{ETHERNET_BYTES, EtherType, Ethernet, Ipv4, Mac, Protocol, Udp, write_ethernet};
use ranlab_xhaul::Delays;
use ranlab_xhaul::if4p5::{ETHERTYPE, Frame, HEADER_SIZE, Kind};

use super::split_hosts::Epoch;
use super::topology::{LiveTopology, MIDHAUL, in_namespace};
use super::{LiveFlow, RankOrder, Segment, XhaulComponent};
use ranlab_lab::environment;
use ranlab_lab::worker::ComponentError;

/// Total length of the sequence number and the time stamp in a packet, in bytes.
const MARK_BYTES: usize = 16;
/// Size of a receive buffer, in bytes.
pub(super) const BUFFER_BYTES: usize = 8 << 20;
/// Read timeout, after which a receiver checks whether to stop.
pub(super) const WAIT: Duration = Duration::from_millis(20);
/// Time before the first packet of a window.
const LEAD: Duration = Duration::from_millis(20);
/// Real-time priorities of receivers, senders, and background senders.
pub(super) const PRIORITIES: (i32, i32, i32) = (45, 40, 20);
/// The node whose threads have a CPU quota.
const VBBU: &str = "v1";
/// First port number of receivers and of the reflector.
const PORT: u16 = 5201;
const ECHO_PORT: u16 = 7;

/// Properties of the departure times of a flow's packets, in addition to the flow's period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Timing {
    /// Time between passing a packet to the kernel and its launch time. `None` if packets are passed when they are
    /// due.
    lead: Option<Duration>,
    /// Time after the start of the window at which sending ends, if the other end is on another machine.
    apart: Option<Duration>,
    /// Alignment of the first packet, in nanoseconds: it is due at a multiple of this time on the machine's clock, when gates open. 0: no
    /// alignment.
    aligned_ns: u64,
}

impl Timing {
    fn from_component(part: &XhaulComponent, way: Segment) -> Self {
        let order = part.classes.as_ref().map(|classes| &classes.0.order);
        let aligned_ns = match order {
            Some(RankOrder::Gates { entries }) => entries.iter().map(|(ns, _)| ns).sum(),
            _ => 0,
        };
        let lead = part.launch_lead_ns.filter(|_| way == Segment::CellDown).map(Duration::from_nanos);
        Self { lead, apart: part.end.as_ref().map(|end| end.0.until()), aligned_ns }
    }

    /// Returns the time from the moment when a packet is due to its launch time.
    fn early(self) -> Duration {
        self.lead.map_or(Duration::ZERO, |lead| Duration::from_nanos(early_ns(lead.as_nanos() as u64)))
    }

    /// Returns the remaining wait before the first packet.
    fn wait(self, now_ns: u64) -> Duration {
        let begin = if self.apart.is_some() { super::split_hosts::LEAD } else { LEAD };
        let lead = begin + self.lead.unwrap_or_default();
        let at = now_ns + lead.as_nanos() as u64;
        Duration::from_nanos(at.next_multiple_of(self.aligned_ns.max(1)) - now_ns)
    }
}

/// Returns the time by which a packet is due before its launch time. It allows for a late timer of the kernel.
pub(super) const fn early_ns(lead_ns: u64) -> u64 {
    lead_ns / 4
}

/// Both ends of a flow.
pub(super) struct Pair {
    flow: LiveFlow,
    timing: Timing,
    /// Sending socket. `None` if the sender is on another machine.
    sender: Option<Arc<Socket>>,
    /// Receiving socket. `None` if packets only load the network and are not counted, or if the receiver is on another machine.
    receiver: Option<Arc<Socket>>,
    reflector: Option<Arc<UdpSocket>>,
}

enum Socket {
    /// A raw socket, with the Ethernet header of its frames.
    Frames(OwnedFd, [u8; ETHERNET_BYTES]),
    Datagrams(UdpSocket),
}

/// Results of a sender.
pub(super) struct Departed {
    pub(super) role: String,
    pub(super) packets: u64,
    /// Send delay (scheduled to actual send).
    pub(super) late: Delays,
}

/// Results of a receiver.
pub(super) struct Arrived {
    pub(super) role: String,
    pub(super) delays: Delays,
    pub(super) malformed: u64,
    /// Number of packets that arrived before they were sent, by the clocks of two machines.
    pub(super) early: u64,
    /// Time stamp source with the lowest precision among the received packets. `None` if no packet arrived.
    pub(super) rung: Option<TimestampSource>,
}

impl Segment {
    fn nodes(self) -> (&'static str, &'static str) {
        match self {
            Self::CellDown => ("v1", "du"),
            Self::CellUp => ("du", "v1"),
            Self::NeighbourDown => ("v2", "du2"),
            Self::NeighbourUp => ("du2", "v2"),
            Self::BackgroundDown => ("v3", "tester"),
            Self::BackgroundUp => ("tester", "v3"),
            Self::User => ("server", "du"),
            Self::Echo => ("du", "server"),
        }
    }

    fn background(self) -> bool {
        matches!(self, Self::BackgroundDown | Self::BackgroundUp)
    }

    /// Returns the port of a flow. Flows between the same nodes use different ports.
    pub(super) fn port(self) -> u16 {
        PORT + self as u16
    }
}

impl Socket {
    fn descriptor(&self) -> BorrowedFd<'_> {
        match self {
            Self::Frames(socket, _) => socket.as_fd(),
            Self::Datagrams(socket) => socket.as_fd(),
        }
    }
}

fn open_raw(lab: &LiveTopology, node: &str, peer: &str) -> Result<Socket, ComponentError> {
    let own = lab.hardware(node)?;
    // The address of a remote peer is resolved when both machines are up.
    let far = if lab.here(peer) { lab.hardware(peer)? } else { [0; 6] };
    let header = write_ethernet(Mac(far), Mac(own), EtherType(ETHERTYPE));
    let socket = in_namespace(&lab.get(node)?.namespace, || {
        let socket = open_frames(MIDHAUL, ETHERTYPE).map_err(environment)?;
        stamp_received(&socket, BUFFER_BYTES, WAIT).map_err(environment)?;
        Ok(socket)
    })?;
    Ok(Socket::Frames(socket, header))
}

fn open_udp(lab: &LiveTopology, node: &str, port: u16) -> Result<UdpSocket, ComponentError> {
    in_namespace(&lab.get(node)?.namespace, || {
        let socket = UdpSocket::bind(("0.0.0.0", port)).map_err(environment)?;
        stamp_received(&socket, BUFFER_BYTES, WAIT).map_err(environment)?;
        Ok(socket)
    })
}

impl Pair {
    pub(super) fn open(
        lab: &LiveTopology,
        part: &XhaulComponent,
        flow: &LiveFlow,
    ) -> Result<Self, ComponentError> {
        let (from, to) = flow.way.nodes();
        let flow = flow.clone();
        let timing = Timing::from_component(part, flow.way);
        let launched = |socket: &Socket| match timing.lead {
            Some(_) => launch_timed(&socket.descriptor(), LAUNCHED).map_err(environment),
            None => Ok(()),
        };
        let opened = |here: bool, open: &dyn Fn() -> Result<Socket, ComponentError>| {
            here.then(|| open().map(Arc::new)).transpose()
        };
        if flow.raw {
            let sender = opened(lab.here(from), &|| open_raw(lab, from, to))?;
            sender.iter().try_for_each(|sender| launched(sender))?;
            let receiver = opened(lab.here(to), &|| open_raw(lab, to, from))?;
            return Ok(Self { flow, timing, sender, receiver, reflector: None });
        }
        let port = if flow.way == Segment::Echo { ECHO_PORT } else { flow.way.port() };
        let far = lab.here(to).then(|| open_udp(lab, to, port)).transpose()?;
        let sender = opened(lab.here(from), &|| {
            let near = open_udp(lab, from, 0)?;
            near.connect((lab.get(to)?.ip, port)).map_err(environment)?;
            Ok(Socket::Datagrams(near))
        })?;
        sender.iter().try_for_each(|sender| launched(sender))?;
        let (receiver, reflector) = match flow.way {
            Segment::Echo => (sender.clone(), far.map(Arc::new)),
            way if way.background() => {
                if let Some(far) = &far {
                    // When this buffer is full, further packets are dropped without cost.
                    ranlab_net::bound_buffers(far, 4096, 2048).map_err(environment)?;
                }
                (None, far.map(Arc::new))
            }
            _ => (far.map(|far| Arc::new(Socket::Datagrams(far))), None),
        };
        Ok(Self { flow, timing, sender, receiver, reflector })
    }

    /// Resolves the hardware address of a remote receiver, which frames need. Datagrams need it in the neighbour table,
    /// too.
    ///
    /// # Errors
    /// The receiver does not reply.
    pub(super) fn resolve_receiver(&mut self, lab: &LiveTopology) -> Result<(), ComponentError> {
        let (from, to) = self.flow.way.nodes();
        // Routed packets go to the first vBBU.
        let next = if self.flow.way == Segment::Echo { VBBU } else { to };
        if !lab.here(from) || lab.here(to) || from == "server" {
            return Ok(());
        }
        let address = super::split_hosts::address_of(lab, from, next)?;
        if let Some(Socket::Frames(socket, header)) = self.sender.as_deref() {
            let own = Ethernet::parse(header).map_err(environment)?.src;
            let socket = socket.try_clone().map_err(environment)?;
            let header = write_ethernet(Mac(address), own, EtherType(ETHERTYPE));
            self.sender = Some(Arc::new(Socket::Frames(socket, header)));
        }
        Ok(())
    }

    /// Sends at the flow's times until `go` is cleared. Threads of the first vBBU are limited by its `quota`.
    pub(super) fn send(
        &self,
        epoch: Epoch,
        go: &Arc<AtomicBool>,
        quota: Option<&Arc<CpuQuota>>,
    ) -> Option<JoinHandle<Departed>> {
        let quota = quota.filter(|_| self.flow.way.nodes().0 == VBBU).cloned();
        let flow = self.flow.clone();
        let socket = Arc::clone(self.sender.as_ref()?);
        let go = Arc::clone(go);
        let timing = self.timing;
        Some(std::thread::spawn(move || {
            let priority = if flow.way.background() { PRIORITIES.2 } else { PRIORITIES.1 };
            // Without permission for real-time priority, a sender has a larger send delay, which it reports.
            hold(quota.as_deref(), priority);
            Sender::new(&flow, &socket, epoch).run(timing, &go)
        }))
    }

    /// Receives until `go` is cleared. Threads of the first vBBU are limited by its `quota`.
    pub(super) fn receive(
        &self,
        epoch: Epoch,
        go: &Arc<AtomicBool>,
        quota: Option<&Arc<CpuQuota>>,
    ) -> Option<JoinHandle<Arrived>> {
        let quota = quota.filter(|_| self.flow.way.nodes().1 == VBBU).cloned();
        let socket = Arc::clone(self.receiver.as_ref()?);
        let flow = self.flow.clone();
        let go = Arc::clone(go);
        Some(std::thread::spawn(move || {
            hold(quota.as_deref(), PRIORITIES.0);
            receive(&flow, &socket, epoch, &go)
        }))
    }

    /// Reflects echoes until `go` is cleared.
    pub(super) fn help(&self, go: &Arc<AtomicBool>) -> Option<JoinHandle<()>> {
        let socket = Arc::clone(self.reflector.as_ref()?);
        let go = Arc::clone(go);
        if self.flow.way != Segment::Echo {
            return None;
        }
        Some(std::thread::spawn(move || {
            let _ = urgent_thread(PRIORITIES.0);
            let mut room = vec![0; 65_536];
            while go.load(Ordering::Relaxed) {
                if let Ok((bytes, from)) = socket.recv_from(&mut room) {
                    let _ = socket.send_to(&room[..bytes], from);
                }
            }
        }))
    }
}

/// Assigns the calling thread to a CPU quota. Real-time threads would escape the quota, so only threads without one get
/// real-time priority.
fn hold(quota: Option<&CpuQuota>, priority: i32) {
    match quota {
        Some(quota) => {
            ranlab_net::exact_timers();
            let _ = quota.hold_this_thread();
        }
        None => {
            let _ = urgent_thread(priority);
        }
    }
}

struct Sender<'a> {
    flow: &'a LiveFlow,
    socket: &'a Socket,
    epoch: Epoch,
    packet: Vec<u8>,
    sequence: u64,
    late: Delays,
}

impl<'a> Sender<'a> {
    fn new(flow: &'a LiveFlow, socket: &'a Socket, epoch: Epoch) -> Self {
        Self { flow, socket, epoch, packet: Vec::new(), sequence: 0, late: Delays::new() }
    }

    fn run(mut self, timing: Timing, go: &AtomicBool) -> Departed {
        // The same moment on three clocks: for sleeping, for stamps, and for launch times.
        let now = Instant::now();
        let real = real_ns();
        let tai = tai_ns();
        let first = timing.wait(real);
        let begun = now + first;
        for release in 0_u64.. {
            let due_after = Duration::from_nanos(self.due_ns(release));
            let handed = due_after.checked_sub(timing.lead.unwrap_or_default()).unwrap_or_default();
            if timing.apart.is_some_and(|until| first + due_after > until) {
                break;
            }
            sleep_until(begun + handed);
            if !go.load(Ordering::Relaxed) {
                break;
            }
            let late = begun.elapsed().saturating_sub(handed);
            self.late.record(release, 0, late.as_nanos() as u64 * 1000, None);
            let since = (first + due_after).as_nanos() as u64;
            let launch = timing.lead.map(|_| (real + since, tai + since + timing.early().as_nanos() as u64));
            for (index, &bytes) in self.flow.payloads.iter().enumerate() {
                self.one(release, index, bytes, launch);
            }
        }
        Departed { role: self.flow.role.clone(), packets: self.sequence, late: self.late }
    }

    fn due_ns(&self, release: u64) -> u64 {
        let ideal = u128::from(release) * u128::from(self.flow.period_ns) / u128::from(self.flow.releases);
        let ideal = ideal as u64;
        match self.flow.timer_ns {
            0 => ideal,
            timer => ideal.div_ceil(timer) * timer,
        }
    }

    /// Sends one packet with its number and time stamp. Packets that the kernel rejects count as lost. A packet with a launch time carries
    /// the time when it is due, on the clock of the stamps. The kernel receives its launch time on the clock of launch times.
    fn one(&mut self, release: u64, index: usize, bytes: usize, launch: Option<(u64, u64)>) {
        let mut payload = vec![0; bytes.max(MARK_BYTES)];
        payload[..8].copy_from_slice(&self.sequence.to_le_bytes());
        self.sequence += 1;
        let at_ns = self.epoch.mark(launch.map_or_else(real_ns, |(real, _)| real));
        payload[8..16].copy_from_slice(&at_ns.to_le_bytes());
        match self.socket {
            Socket::Frames(socket, header) => {
                self.packet.clear();
                self.packet.extend_from_slice(header);
                let down = self.flow.way == Segment::CellDown || self.flow.way == Segment::NeighbourDown;
                let symbols = self.flow.payloads.len().max(1);
                let frame = Frame {
                    kind: if down { Kind::DownlinkFft } else { Kind::UplinkFft },
                    frame: (release / 10 % 1024) as u16,
                    subframe: (release % 10) as u8,
                    symbol: (index * 14 / symbols) as u8,
                    samples: &payload,
                };
                if frame.encode(&mut self.packet).is_ok() {
                    let _ = match launch {
                        Some((_, tai)) => send_at(socket, &self.packet, tai),
                        None => send_frame(socket, &self.packet),
                    };
                }
            }
            Socket::Datagrams(socket) => {
                let _ = match launch {
                    Some((_, tai)) => send_at(socket, &payload, tai),
                    None => socket.send(&payload).map(drop),
                };
            }
        }
    }
}

fn sleep_until(at: Instant) {
    loop {
        let left = at.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        std::thread::sleep(left);
    }
}

fn receive(flow: &LiveFlow, socket: &Socket, epoch: Epoch, go: &AtomicBool) -> Arrived {
    let mut room = vec![0; 65_536];
    let mut arrived =
        Arrived { role: flow.role.clone(), delays: Delays::new(), malformed: 0, early: 0, rung: None };
    let budget_ps = flow.budget_ns.map(|ns| ns * 1000);
    while go.load(Ordering::Relaxed) {
        let Ok(stamped) = receive_stamped(&socket.descriptor(), &mut room) else { continue };
        let packet = &room[..stamped.bytes];
        let Some((sequence, sent_ns)) = mark(flow, packet) else {
            arrived.malformed += 1;
            continue;
        };
        let Some((sent_ns, at_ns)) = epoch.times(sent_ns, stamped.at_ns) else { continue };
        arrived.early += u64::from(at_ns < sent_ns);
        arrived.rung = Some(arrived.rung.map_or(stamped.rung, |rung| rung.min(stamped.rung)));
        arrived.delays.record(sequence, sent_ns * 1000, at_ns * 1000, budget_ps);
    }
    arrived
}

/// Returns the sequence number and the send time of a packet. `None` if the packet is not one of our probes.
fn mark(flow: &LiveFlow, packet: &[u8]) -> Option<(u64, u64)> {
    let payload = if flow.raw {
        let body = packet.get(ETHERNET_BYTES..)?;
        let samples = flow.payloads.first().copied()?;
        // Short frames are padded.
        Frame::decode(body.get(..HEADER_SIZE + samples)?).ok()?.samples
    } else {
        packet
    };
    numbers_of(payload)
}

/// Returns the addresses, the destination port and the payload of a UDP datagram in an Ethernet frame. `None` for other frames, and for all
/// fragments except the first.
pub(super) fn datagram(frame: &[u8]) -> Option<(Ipv4Addr, Ipv4Addr, u16, &[u8])> {
    let ip = Ipv4::parse_captured(Ethernet::parse(frame).ok()?.payload).ok()?;
    if ip.protocol != Protocol::UDP || ip.fragment_offset_bytes != 0 {
        return None;
    }
    // A first fragment is shorter than its UDP length.
    let udp = Udp::parse_captured(ip.payload).ok()?;
    Some((ip.src, ip.dst, udp.dst_port, udp.payload))
}

/// Reads the two numbers at the beginning of a payload.
pub(super) fn numbers_of(payload: &[u8]) -> Option<(u64, u64)> {
    let number = |at: usize| Some(u64::from_le_bytes(payload.get(at..at + 8)?.try_into().ok()?));
    Some((number(0)?, number(8)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sender_aligns_to_gates_and_sends_ahead_of_launch_times() {
        let whenever = Timing::default();
        assert_eq!(whenever.wait(123), LEAD);
        let aligned = Timing { aligned_ns: 1_000_000_000, ..whenever };
        assert_eq!(aligned.wait(5_300_000_000), Duration::from_millis(700));
        let launched = Timing { lead: Some(Duration::from_millis(30)), ..whenever };
        assert_eq!(launched.wait(7), LEAD + Duration::from_millis(30));
    }
}
