//! A packet worker: a user plane between two sockets.
use super::{BATCH, MAX_DATAGRAM, N6, UpfError, bind};
use crate::n3_ring::{FRAME_MAX as RING_FRAME_MAX, RingPort, UpfRings};
use ranlab_net::{DatagramOptions, ReceiveBatch, SendBatch, monotonic_ns, open_tun};
use ranlab_packet::gtpu::{
    GpduTemplate, Message, Packet, PduSession, encode_message, extension_type, message_type,
};
use ranlab_packet::{Ip, UdpFrame};
use ranlab_upf::forwarding::{Drop as DropReason, HEADROOM, Meter, Rules, UserPlane, Verdict};
use ranlab_upf::n4::{Direction, Session, UpfFault};
use ranlab_upf::pfcp::OuterHeaderCreation;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

/// Maximum number of frames read from the rings of N3 before other work.
const RING_TURN: usize = 256;
/// Maximum number of packets read from a TUN device before other work.
const TUN_TURN: usize = 64;

/// The open connection to the data network.
#[derive(Debug, Clone)]
pub(super) enum N6Port {
    Sink,
    Reflect,
    Udp { socket: Arc<UdpSocket>, peer: SocketAddr, routes: Arc<[(IpAddr, SocketAddr)]> },
    Tun(Arc<File>),
}

/// Callback for datagrams of either side.
type DatagramHandler<'a> = dyn FnMut(&mut PacketWorker, Side, SocketAddr, &[u8]) + 'a;

impl N6Port {
    pub(super) fn open(n6: &N6) -> Result<Self, UpfError> {
        Ok(match n6 {
            N6::Sink => Self::Sink,
            N6::Reflect => Self::Reflect,
            N6::Udp { local, peer, routes } => Self::Udp {
                socket: Arc::new(bind("N6", *local, DatagramOptions::default())?),
                peer: *peer,
                routes: routes.as_slice().into(),
            },
            N6::Tun(name) => {
                let file = open_tun(name).map_err(|source| UpfError::Tun { name: name.clone(), source })?;
                Self::Tun(Arc::new(file))
            }
        })
    }

    pub(super) fn local_addr(&self) -> Option<SocketAddr> {
        match self {
            Self::Udp { socket, .. } => socket.local_addr().ok(),
            _ => None,
        }
    }
}

/// Side on which packets arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    N3,
    N6,
}

/// A packet worker.
#[derive(Debug)]
pub(super) struct PacketWorker {
    pub(super) plane: UserPlane,
    n3: Arc<UdpSocket>,
    /// Rings that replace the socket of N3, and the UPF's address in their datagrams.
    ring: Option<(UpfRings, SocketAddr)>,
    /// Buffer for a frame from the ring.
    frame: Box<[u8]>,
    n6: N6Port,
    gtpu_port: u16,
    received: Option<ReceiveBatch>,
    to_n3: SendBatch,
    give_n6: SendBatch,
    scratch: Vec<u8>,
    /// State of bare mode, in which packets are forwarded unread: the header of downlink packets, and the last assigned tunnel.
    bare: Option<(GpduTemplate, Option<(u32, IpAddr)>)>,
    /// Packet fault to simulate.
    fault: Option<UpfFault>,
    pub(super) unsent: u64,
    pub(super) strangers: u64,
}

impl PacketWorker {
    pub(super) fn new(n3: Arc<UdpSocket>, n6: N6Port, gtpu_port: u16) -> Self {
        Self {
            plane: UserPlane::new(),
            n3,
            ring: None,
            frame: vec![0; RING_FRAME_MAX].into(),
            n6,
            gtpu_port,
            received: Some(ReceiveBatch::new(BATCH, MAX_DATAGRAM + HEADROOM)),
            to_n3: SendBatch::new(BATCH, MAX_DATAGRAM + HEADROOM),
            give_n6: SendBatch::new(BATCH, MAX_DATAGRAM),
            scratch: vec![0; MAX_DATAGRAM + HEADROOM],
            bare: None,
            fault: None,
            unsent: 0,
            strangers: 0,
        }
    }

    /// Exchanges datagrams of N3 with a ring instead of the socket. The datagrams have the address `own`.
    pub(super) fn with_ring(self, ring: Option<RingPort>, own: SocketAddr) -> Self {
        Self { ring: ring.map(|ring| (UpfRings::Own(Box::new(ring)), own)), ..self }
    }

    /// Shares the ring with [siblings](Self::sibling).
    pub(super) fn share_ring(self) -> Self {
        Self { ring: self.ring.map(|(ring, own)| (ring.shared(), own)), ..self }
    }

    /// Switches to bare mode, in which packets are forwarded unread.
    pub(super) fn lay_bare(&mut self) {
        self.bare = GpduTemplate::new(Some(PduSession::dl(9))).ok().map(|head| (head, None));
    }

    /// Sets the fault to simulate, if it concerns packets.
    pub(super) fn with_fault(self, fault: Option<UpfFault>) -> Self {
        Self { fault: fault.filter(|fault| fault.is_of_packets()), ..self }
    }

    /// Returns another worker on the same sockets, with separate sessions.
    pub(super) fn sibling(&self) -> Self {
        let sibling = Self::new(Arc::clone(&self.n3), self.n6.clone(), self.gtpu_port);
        let ring = self.ring.as_ref().and_then(|(ring, own)| Some((ring.sibling()?, *own)));
        Self { ring, ..sibling.with_fault(self.fault) }
    }

    /// Returns the descriptors to wait for.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let mut all = vec![self.n3.as_fd()];
        match &self.n6 {
            N6Port::Udp { socket, .. } => all.push(socket.as_fd()),
            N6Port::Tun(file) => all.push(file.as_fd()),
            N6Port::Sink | N6Port::Reflect => {}
        }
        all
    }

    /// Receives and forwards packets of both sides. Returns whether a packet was received.
    pub(super) fn turn(&mut self, now_ns: u64) -> io::Result<bool> {
        let mut worked = false;
        // The batch is moved out, so that packets can be read while `self` is borrowed.
        let mut received =
            self.received.take().unwrap_or_else(|| ReceiveBatch::new(BATCH, MAX_DATAGRAM + HEADROOM));
        let result = self.receive(&mut received, &mut |own, side, from, packet| {
            worked = true;
            match side {
                Side::N3 => own.take_n3(now_ns, from, packet),
                Side::N6 => own.take_n6(now_ns, packet),
            }
        });
        self.received = Some(received);
        self.send()?;
        result.map(|()| worked)
    }

    /// Receives packets of both sides and passes them to `take`.
    pub(super) fn receive(
        &mut self,
        received: &mut ReceiveBatch,
        take: &mut DatagramHandler<'_>,
    ) -> io::Result<()> {
        self.receive_ring(take);
        let n3 = Arc::clone(&self.n3);
        if self.ring.is_none() && received.receive(&n3)? > 0 {
            received.datagrams().for_each(|(from, datagram)| take(self, Side::N3, from, datagram));
        }
        match self.n6.clone() {
            N6Port::Udp { socket, peer, routes } => {
                if received.receive(&socket)? > 0 {
                    for (from, packet) in received.datagrams() {
                        if from == peer || routes.iter().any(|(_, other)| from == *other) {
                            take(self, Side::N6, from, packet);
                        } else {
                            self.strangers += 1;
                        }
                    }
                }
            }
            N6Port::Tun(file) => {
                let nobody = SocketAddr::from(([0, 0, 0, 0], 0));
                for _ in 0..TUN_TURN {
                    let mut packet = std::mem::take(&mut self.scratch);
                    let read = (&*file).read(&mut packet);
                    if let Ok(len) = read {
                        take(self, Side::N6, nobody, &packet[..len]);
                    }
                    self.scratch = packet;
                    match read {
                        Ok(_) => {}
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) => return Err(error),
                    }
                }
            }
            N6Port::Sink | N6Port::Reflect => {}
        }
        Ok(())
    }

    fn receive_ring(&mut self, take: &mut DatagramHandler<'_>) {
        let Some((ring, _)) = &mut self.ring else { return };
        if let Err(why) = ring.with(|port| port.service(monotonic_ns())) {
            tracing::info!(%why, "the peer of the N3 rings has disconnected; waiting for another one");
        }
        // The buffer is moved out, so that a frame can be read while `self` is borrowed.
        let mut frame = std::mem::take(&mut self.frame);
        for _ in 0..RING_TURN {
            let Some((ring, _)) = &mut self.ring else { break };
            let Some(len) = ring.with(|port| port.take(&mut frame)) else { break };
            if let Some((from, datagram)) = frame.get(..len).and_then(UdpFrame::read) {
                take(self, Side::N3, from, datagram);
            }
        }
        self.frame = frame;
    }

    /// Sends end markers into the tunnels that a session leaves.
    pub(super) fn mark_ends(&mut self, left: &[OuterHeaderCreation]) {
        for left in left {
            let peer = left.addresses.v4.map(IpAddr::from).or_else(|| left.addresses.v6.map(IpAddr::from));
            if let (Some(peer), Some(teid)) = (peer, left.teid) {
                let to = SocketAddr::new(peer, self.gtpu_port);
                let count = if self.fault == Some(UpfFault::EndMarker) { 2 } else { 1 };
                (0..count).for_each(|_| self.say(to, &Message::EndMarker, teid, None));
            }
        }
    }

    /// Installs new or changed rules of a session. Buffered packets may be sent.
    pub(super) fn install(&mut self, now_ns: u64, seid: u64, session: &Session, meters: &[Meter]) {
        if let Some((_, tunnel)) = &mut self.bare {
            let way = session.far(Direction::Downlink).and_then(|far| far.forwarding_parameters.as_ref());
            let header = way.and_then(|way| way.outer_header_creation);
            *tunnel = header.and_then(|header| Some((header.teid?, header.addresses.v4?.into()))).or(*tunnel);
        }
        if let Err(refusal) = self.plane.install(seid, &rules(session), meters) {
            tracing::error!(seid, %refusal, "accepted rules do not compile");
            return;
        }
        for _ in 0..self.plane.flushable(seid) {
            self.make_room();
            let Self { plane, to_n3, ring, gtpu_port, .. } = self;
            let flush =
                |room: &mut [u8]| destination(plane.flush(now_ns, seid, room).unwrap_or(Verdict::Taken));
            let lost = push(to_n3, ring, *gtpu_port, flush);
            self.unsent += u64::from(lost);
        }
    }

    pub(super) fn take_n3(&mut self, now_ns: u64, from: SocketAddr, datagram: &[u8]) {
        if let Some((head, _)) = &self.bare {
            self.give_n6(now_ns, datagram.get(head.len()..).unwrap_or_default());
            return;
        }
        match self.plane.uplink(now_ns, from.ip(), datagram) {
            Verdict::N6(packet) => self.give_n6(now_ns, packet),
            Verdict::Echo if self.fault == Some(UpfFault::Echo) => {}
            Verdict::UnknownTunnel(_) if self.fault == Some(UpfFault::UnknownTunnel) => {}
            Verdict::Echo => {
                let sequence = Packet::parse(datagram).ok().and_then(|packet| packet.sequence);
                self.say(from, &Message::EchoResponse { recovery: 0 }, 0, sequence.or(Some(0)));
            }
            Verdict::UnknownTunnel(teid) => self.indicate_error(from, teid),
            Verdict::Dropped(DropReason::NoRule) if self.fault == Some(UpfFault::OffFilter) => {
                self.indicate_error(from, 0);
            }
            Verdict::Taken if self.fault == Some(UpfFault::TeidZero) && is_packet(datagram) => {
                self.indicate_error(from, 0);
            }
            Verdict::Unsupported => {
                let kinds = &[extension_type::PDU_SESSION_CONTAINER];
                self.say(from, &Message::SupportedExtensionHeaders { kinds }, 0, Some(0));
            }
            Verdict::Relay(relay) => {
                self.make_room();
                let Self { plane, to_n3, ring, gtpu_port, .. } = self;
                let lost = push(to_n3, ring, *gtpu_port, |room| destination(plane.write(&relay, room)));
                self.unsent += u64::from(lost);
            }
            Verdict::N3 { .. } | Verdict::Buffered | Verdict::Taken | Verdict::Dropped(_) => {}
        }
    }

    pub(super) fn take_n6(&mut self, now_ns: u64, packet: &[u8]) {
        self.make_room();
        let Self { plane, to_n3, ring, gtpu_port, bare, .. } = self;
        if let Some((head, tunnel)) = bare {
            let Some((teid, peer)) = *tunnel else { return };
            to_n3.push_with(|room| {
                let at = head.write(teid, packet.len(), room)?;
                room.get_mut(at..at + packet.len())?.copy_from_slice(packet);
                Some((Some(SocketAddr::new(peer, *gtpu_port)), at + packet.len()))
            });
            return;
        }
        let lost = push(to_n3, ring, *gtpu_port, |room| destination(plane.downlink(now_ns, packet, room)));
        self.unsent += u64::from(lost);
    }

    fn give_n6(&mut self, now_ns: u64, packet: &[u8]) {
        match &self.n6 {
            N6Port::Sink => {}
            N6Port::Reflect => {
                let mut reflected = std::mem::take(&mut self.scratch);
                if let Some(room) = reflected.get_mut(..packet.len()) {
                    room.copy_from_slice(packet);
                    if crate::load::reflect(room) {
                        self.take_n6(now_ns, &reflected[..packet.len()]);
                    }
                }
                self.scratch = reflected;
            }
            N6Port::Udp { peer, routes, .. } => {
                let route = || {
                    let to = Ip::parse_captured(packet).ok()?.dst;
                    routes.iter().find(|(server, _)| *server == to)
                };
                // With a single data network, the packet need not be inspected.
                let route = if routes.is_empty() { None } else { route() };
                let peer = route.map_or(*peer, |(_, peer)| *peer);
                if self.give_n6.is_full() {
                    self.send_n6();
                }
                self.give_n6.copy(Some(peer), packet);
            }
            N6Port::Tun(file) => {
                let written = (&**file).write(packet);
                self.unsent += u64::from(written.ok() != Some(packet.len()));
            }
        }
    }

    fn indicate_error(&mut self, from: SocketAddr, teid: u32) {
        let peer = self.n3.local_addr().map_or_else(|_| from.ip(), |own| own.ip());
        let to = SocketAddr::new(from.ip(), self.gtpu_port);
        self.say(to, &Message::ErrorIndication { teid, peer, udp_port: None }, 0, Some(0));
    }

    fn say(&mut self, to: SocketAddr, message: &Message<'_>, teid: u32, sequence: Option<u16>) {
        let mut out = Vec::new();
        if encode_message(message, teid, sequence, &mut out).is_ok() {
            self.make_room();
            let Some((ring, own)) = &mut self.ring else {
                self.to_n3.copy(Some(to), &out);
                return;
            };
            let copy = |room: &mut [u8]| {
                room.get_mut(..out.len())?.copy_from_slice(&out);
                Some((to, out.len(), 0))
            };
            self.unsent += u64::from(ring.push(*own, copy) != Some(true));
        }
    }

    fn make_room(&mut self) {
        if self.to_n3.is_full() {
            self.send_n3();
        }
    }

    fn send_n3(&mut self) {
        let waiting = self.to_n3.len();
        let sent = self.to_n3.send(&self.n3).map_or(0, |sent| sent.datagrams);
        self.unsent += (waiting - sent) as u64;
        self.to_n3.clear();
    }

    fn send_n6(&mut self) {
        if let N6Port::Udp { socket, .. } = &self.n6 {
            let waiting = self.give_n6.len();
            let sent = self.give_n6.send(socket).map_or(0, |sent| sent.datagrams);
            self.unsent += (waiting - sent) as u64;
            self.give_n6.clear();
        }
    }

    /// Sends the queued batches. Packets that a full socket does not accept are dropped and counted, because waiting
    /// would delay all later packets.
    pub(super) fn send(&mut self) -> io::Result<()> {
        if let Some((ring, _)) = &mut self.ring {
            ring.with(|port| port.publish());
        }
        if !self.to_n3.is_empty() {
            self.send_n3();
        }
        if !self.give_n6.is_empty() {
            self.send_n6();
        }
        Ok(())
    }
}

/// Returns whether a GTP-U datagram contains a user packet.
fn is_packet(datagram: &[u8]) -> bool {
    datagram.get(1) == Some(&message_type::G_PDU)
}

/// Returns peer, length and type of service of a datagram that is sent into a tunnel. Returns `None` for other packets.
fn destination(verdict: Verdict<'_>) -> Option<(IpAddr, usize, u8)> {
    match verdict {
        Verdict::N3 { peer, len, tos } => Some((peer, len, tos)),
        _ => None,
    }
}

/// Adds the datagram written by `decide` to the ring if there is one, otherwise to the batch. Returns whether the datagram was lost because
/// the ring was full.
fn push(
    batch: &mut SendBatch,
    ring: &mut Option<(UpfRings, SocketAddr)>,
    port: u16,
    decide: impl FnOnce(&mut [u8]) -> Option<(IpAddr, usize, u8)>,
) -> bool {
    if let Some((ring, own)) = ring {
        let to_peer = |(peer, len, tos)| (SocketAddr::new(peer, port), len, tos);
        return ring.push(*own, |room| decide(room).map(to_peer)) == Some(false);
    }
    let mut class = 0;
    let pushed = batch.push_with(|room| {
        let (peer, len, tos) = decide(room)?;
        class = tos;
        Some((Some(SocketAddr::new(peer, port)), len))
    });
    if pushed && class != 0 {
        batch.set_last_class(class);
    }
    false
}

/// Returns a session's rules in the form of the packet engine.
pub(super) fn rules(session: &Session) -> Rules<'_> {
    Rules {
        pdrs: &session.pdrs,
        fars: &session.fars,
        qers: &session.qers,
        urrs: &session.urrs,
        bar: session.bar.as_ref(),
        applications: &session.applications,
    }
}
