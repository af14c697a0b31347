//! The data network: a counting sink, a reflector, and a paced sender.
use super::addresses::Endpoint;
use super::data::{TokenSchedule, Traffic};
use super::flows::Flows;
use super::meter::Times;
use super::probe::{DOWNLINK, Probe, REFLECT, REFLECTED, reflect, write_packet};
use super::sizes::{MAX_PACKET, PacketSizes};
use super::tally::Tally;
use super::{LoadError, nth};
use crate::upf::pin;
use ranlab_lab::text::{TextError, socket_address};
use ranlab_net::{
    DatagramOptions, ReceiveBatch, SendBatch, bind_datagrams, monotonic_ns, thread_cpu_time, wait_readable,
};
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

const TURN: usize = 64;
const REST: Duration = Duration::from_millis(1);
const SPIN_NS: u64 = 60_000;
/// Length of the headers of IPv4 and UDP, in bytes. The kernel writes them in a routed data network.
const KERNEL_HEADERS: usize = 28;

/// Type of the data network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// No emulated data network. The UPF contains one, or packets are not observed.
    None,
    /// IP packets are the payload of UDP, as with `ranlab upf --n6 udp://…`.
    Ip {
        /// Address at which the data network receives.
        local: SocketAddr,
        /// N6 address of the UPF.
        upf: SocketAddr,
    },
    /// The kernel routes between UEs and this address.
    Routed(SocketAddr),
}

impl Network {
    /// Returns the data network of location `place` of a divided load. Each location has the next address.
    pub fn of_place(self, place: usize) -> Self {
        match self {
            Self::None => Self::None,
            Self::Ip { local, upf } => Self::Ip { local: nth(local, place), upf },
            Self::Routed(address) => Self::Routed(nth(address, place)),
        }
    }
}

impl FromStr for Network {
    type Err = TextError;

    /// Parses `none`, `udp://LOCAL,UPF` or `routed://ADDRESS`.
    fn from_str(text: &str) -> Result<Self, TextError> {
        let wrong =
            || TextError::new(text, "emulated data network", "none, udp://LOCAL,UPF and routed://ADDRESS");
        let address = |text: &str| socket_address(text).map_err(|_| wrong());
        if text == "none" {
            return Ok(Self::None);
        }
        if let Some(rest) = text.strip_prefix("udp://") {
            let (local, upf) = rest.split_once(',').ok_or_else(wrong)?;
            return Ok(Self::Ip { local: address(local)?, upf: address(upf)? });
        }
        text.strip_prefix("routed://").ok_or_else(wrong).and_then(address).map(Self::Routed)
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Ip { local, upf } => write!(f, "udp://{local},{upf}"),
            Self::Routed(address) => write!(f, "routed://{address}"),
        }
    }
}

/// Counters of the data network.
#[derive(Debug, Clone, Default)]
pub struct NetworkReport {
    /// Uplink packets, by stream.
    pub uplink: Vec<Tally>,
    /// Bytes of the uplink user packets.
    pub uplink_octets: u64,
    /// One-way delay from the base station's scheduled time. Only valid if the base stations and the data network use the same clock.
    pub uplink_delay: Times,
    /// Packets reflected.
    pub reflected: u64,
    /// Downlink packets sent, by session.
    pub sent: Vec<u64>,
    /// Packets that the kernel did not accept.
    pub unsent: u64,
    /// Packets that were due while no session was live.
    pub idle: u64,
    /// Packets that are not probes of this run.
    pub strangers: u64,
    /// Send delay (scheduled to actual send).
    pub lag: Times,
    /// CPU time of the thread.
    pub cpu: Duration,
}

/// Settings of the data network.
#[derive(Debug, Clone)]
pub(super) struct NetworkPlan {
    pub(super) flows: Arc<Flows>,
    pub(super) streams: usize,
    pub(super) run: Option<u32>,
    pub(super) server: SocketAddr,
    pub(super) downlink: Option<Traffic>,
    /// Whether every session counts as live, because the sessions are managed by another process.
    pub(super) all_live: bool,
    pub(super) cpu: Vec<usize>,
}

#[derive(Debug)]
pub(super) struct NetworkThread {
    network: Network,
    socket: UdpSocket,
    plan: NetworkPlan,
    received: ReceiveBatch,
    to_send: SendBatch,
    scratch: Vec<u8>,
    cursor: usize,
    report: NetworkReport,
}

impl NetworkThread {
    pub(super) fn new(network: Network, plan: NetworkPlan) -> Result<Option<Self>, LoadError> {
        let (Network::Ip { local: address, .. } | Network::Routed(address)) = network else {
            return Ok(None);
        };
        let socket = bind_datagrams(address, DatagramOptions::default())
            .map_err(|source| LoadError::Bind { what: "data network", address, source })?;
        let report = NetworkReport {
            uplink: vec![Tally::default(); plan.streams],
            sent: vec![0; plan.flows.len()],
            ..Default::default()
        };
        Ok(Some(Self {
            network,
            socket,
            plan,
            received: ReceiveBatch::new(64, MAX_PACKET),
            to_send: SendBatch::new(TURN, MAX_PACKET),
            scratch: vec![0; MAX_PACKET],
            cursor: 0,
            report,
        }))
    }

    pub(super) fn run(mut self, go: &AtomicBool, stop: &AtomicBool) -> io::Result<(Self, NetworkReport)> {
        pin(&self.plan.cpu, 0);
        let served = self.serve(go, stop);
        served.map_err(|error| named(&self.socket, &self.network, self.plan.flows.ue(0).ip(), error))?;
        self.report.cpu = thread_cpu_time();
        let report = self.take_report();
        Ok((self, report))
    }

    fn serve(&mut self, go: &AtomicBool, stop: &AtomicBool) -> io::Result<()> {
        let mut pace = None;
        while !stop.load(Relaxed) {
            let worked = self.receive()?;
            let mut due_ns = u64::MAX;
            match self.plan.downlink.filter(|_| go.load(Relaxed)) {
                Some(traffic) => {
                    let pace =
                        pace.get_or_insert_with(|| TokenSchedule::new(traffic.packets_per_s, monotonic_ns()));
                    self.transmit(&traffic, pace)?;
                    due_ns = pace.due_ns();
                }
                None => pace = None,
            }
            let until_ns = due_ns.saturating_sub(monotonic_ns());
            if !worked && until_ns > SPIN_NS {
                wait_readable(&[self.socket.as_fd()], Duration::from_nanos(until_ns - SPIN_NS).min(REST))?;
            }
        }
        Ok(())
    }

    /// Returns and resets the counters.
    pub(super) fn take_report(&mut self) -> NetworkReport {
        let fresh = NetworkReport {
            uplink: vec![Tally::default(); self.plan.streams],
            sent: vec![0; self.plan.flows.len()],
            ..Default::default()
        };
        std::mem::replace(&mut self.report, fresh)
    }

    /// Returns the current counters.
    pub(super) fn report(&self) -> &NetworkReport {
        &self.report
    }

    /// Begins another step of the run.
    pub(super) fn set_step(&mut self, run: u32, downlink: Option<Traffic>) {
        self.plan.run = Some(run);
        self.plan.downlink = downlink;
    }

    /// Sends one packet to a session.
    pub(super) fn send_one(&mut self, flow: usize, octets: usize) -> io::Result<()> {
        let traffic = Traffic { packets_per_s: 1.0, octets: PacketSizes::Fixed(octets), reflect_every: 0 };
        self.queue(&traffic, monotonic_ns(), flow)?;
        flush(&mut self.to_send, &self.socket, &mut self.report.unsent)
    }

    pub(super) fn receive(&mut self) -> io::Result<bool> {
        if self.received.receive(&self.socket)? == 0 {
            return Ok(false);
        }
        let now_ns = monotonic_ns();
        let Self { received, report, plan, network, to_send, scratch, socket, .. } = self;
        for (from, datagram) in received.datagrams() {
            let (probe, octets) = match network {
                Network::Ip { upf, .. } if from == *upf => (Probe::of_packet(datagram), datagram.len()),
                Network::Routed(_) => (Probe::read(datagram), datagram.len() + KERNEL_HEADERS),
                _ => (None, 0),
            };
            let Some(probe) = probe.filter(|probe| plan.run.is_none_or(|run| run == probe.run)) else {
                report.strangers += 1;
                continue;
            };
            if let Some(tally) = report.uplink.get_mut(probe.stream as usize) {
                tally.take(probe.number);
                if let Some(glance) = plan.flows.glance() {
                    glance.seen();
                }
            }
            report.uplink_octets += octets as u64;
            report.uplink_delay.record(now_ns.saturating_sub(probe.intended_ns));
            if probe.flags & REFLECT == 0 {
                continue;
            }
            if to_send.is_full() {
                flush(to_send, socket, &mut report.unsent)?;
            }
            let Some(back) = scratch.get_mut(..datagram.len()) else { continue };
            back.copy_from_slice(datagram);
            let willing = match network {
                Network::Ip { .. } => reflect(back),
                // The kernel writes the addresses, so only the flag of the probe is changed here.
                _ => {
                    back[5] = (back[5] | REFLECTED) & !REFLECT;
                    true
                }
            };
            report.reflected += u64::from(willing && to_send.copy(Some(from), back));
        }
        flush(to_send, socket, &mut report.unsent)?;
        Ok(true)
    }

    fn transmit(&mut self, traffic: &Traffic, pace: &mut TokenSchedule) -> io::Result<()> {
        let now_ns = monotonic_ns();
        for _ in 0..TURN {
            let due_ns = if pace.is_flat_out() { now_ns } else { pace.due_ns() };
            if due_ns > now_ns {
                break;
            }
            pace.took();
            let Some(flow) = self.next_live() else {
                self.report.idle += 1;
                continue;
            };
            self.queue(traffic, due_ns, flow)?;
            self.report.lag.record(now_ns - due_ns);
        }
        flush(&mut self.to_send, &self.socket, &mut self.report.unsent)
    }

    fn next_live(&mut self) -> Option<usize> {
        let flows = self.plan.flows.len();
        for _ in 0..flows.min(256) {
            let flow = self.cursor % flows;
            self.cursor = (flow + 1) % flows;
            if self.plan.all_live || self.plan.flows.live(flow).is_some() {
                return Some(flow);
            }
        }
        None
    }

    fn queue(&mut self, traffic: &Traffic, due_ns: u64, flow: usize) -> io::Result<()> {
        if self.to_send.is_full() {
            flush(&mut self.to_send, &self.socket, &mut self.report.unsent)?;
        }
        let Self { plan, report, to_send, network, .. } = self;
        let Some(number) = report.sent.get_mut(flow) else { return Ok(()) };
        let octets = traffic.octets.at(*number + flow as u64);
        let run = plan.run.unwrap_or(0);
        let probe = Probe { run, flags: DOWNLINK, stream: flow as u32, number: *number, intended_ns: due_ns };
        let server = plan.server;
        let ue = plan.flows.ue(flow);
        let pushed = match network {
            Network::Ip { upf, .. } => {
                to_send.push(Some(*upf), |room| write_packet(server, ue, octets, &probe, room))
            }
            _ => to_send.push(Some(ue), |room| {
                // Writes the whole packet, then removes the headers that the kernel writes itself.
                let len = write_packet(server, ue, octets, &probe, room)?;
                let header = len.min(if ue.is_ipv6() { 48 } else { KERNEL_HEADERS });
                room.copy_within(header..len, 0);
                Some(len - header)
            }),
        };
        *number += u64::from(pushed);
        Ok(())
    }
}

/// Adds the socket's addresses to an error. The peer of a routed data network is the first UE.
fn named(socket: &UdpSocket, network: &Network, ue: IpAddr, error: io::Error) -> io::Error {
    let Ok(own) = socket.local_addr() else { return error };
    let (peer, peer_flag) = match network {
        Network::Ip { upf, .. } => (*upf, "--n6"),
        Network::None | Network::Routed(_) => (SocketAddr::new(ue, own.port()), "--ue"),
    };
    Endpoint { what: "data network", flag: "--n6", own, peer, peer_flag }.error(error)
}

fn flush(batch: &mut SendBatch, socket: &UdpSocket, unsent: &mut u64) -> io::Result<()> {
    if !batch.is_empty() {
        let waiting = batch.len();
        let sent = batch.send(socket)?;
        *unsent += (waiting - sent.datagrams) as u64;
        batch.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_network_text_forms_round_trip() {
        for text in ["none", "udp://127.0.0.10:2153,127.0.0.8:2153", "routed://[fd00::1]:9"] {
            assert_eq!(text.parse::<Network>().unwrap().to_string(), text);
        }
        for text in ["", "tcp://x", "udp://127.0.0.10:1", "udp://a,b", "routed://", "routed://10.6.0.1"] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(
                error.contains("allowed are none, udp://LOCAL,UPF and routed://ADDRESS"),
                "{text}: {error}"
            );
        }
    }

    use super::super::flows::UePool;

    const RUN: u32 = 3;

    /// Creates a data network on loopback. Returns the network, the UPF's socket on N6, and the address of the network.
    fn network() -> (NetworkThread, UdpSocket, SocketAddr) {
        let upf = UdpSocket::bind("127.0.0.1:0").unwrap();
        upf.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let flows = Flows::new(4, UePool { first: [10, 60, 0, 1].into() }, 4_000);
        let plan = NetworkPlan {
            flows: Arc::new(flows),
            streams: 4,
            run: Some(RUN),
            server: "10.45.0.1:9".parse().unwrap(),
            downlink: None,
            all_live: false,
            cpu: Vec::new(),
        };
        let ip = Network::Ip { local: "127.0.0.1:0".parse().unwrap(), upf: upf.local_addr().unwrap() };
        let network = NetworkThread::new(ip, plan).unwrap().unwrap();
        let at = network.socket.local_addr().unwrap();
        (network, upf, at)
    }

    fn uplink(run: u32, flags: u8, stream: u32, number: u64) -> Vec<u8> {
        let ue = "10.60.0.1:4000".parse().unwrap();
        let server = "10.45.0.1:9".parse().unwrap();
        let mut room = [0; 100];
        let probe = Probe { run, flags, stream, number, intended_ns: 0 };
        let len = write_packet(ue, server, 0, &probe, &mut room).unwrap();
        room[..len].to_vec()
    }

    /// Receives until `packets` packets were processed.
    fn receive(network: &mut NetworkThread, packets: u64) {
        let received = |report: &NetworkReport| {
            report.strangers + report.uplink.iter().map(|tally| tally.received).sum::<u64>()
        };
        while received(&network.report) < packets {
            network.receive().unwrap();
        }
    }

    #[test]
    fn packets_are_counted_and_reflected_on_request() {
        let (mut network, upf, at) = network();
        for packet in [
            uplink(RUN, 0, 1, 0),
            uplink(RUN, REFLECT, 1, 1),
            uplink(RUN, 0, 1, 1),
            uplink(RUN + 1, REFLECT, 1, 2),
            vec![0x45; 10],
        ] {
            upf.send_to(&packet, at).unwrap();
        }
        receive(&mut network, 5);
        let mut back = [0; 200];
        let (len, _) = upf.recv_from(&mut back).unwrap();
        let probe = Probe::of_packet(&back[..len]).unwrap();
        assert_eq!((probe.number, probe.flags), (1, REFLECTED));
        let report = network.take_report();
        assert_eq!((report.uplink[1].received, report.uplink[1].duplicates), (3, 1));
        assert_eq!((report.strangers, report.reflected, report.uplink_octets), (2, 1, 3 * 56));
        assert_eq!(network.report().uplink[1].received, 0, "the counters were reset");
    }

    #[test]
    fn packets_from_other_addresses_are_not_counted() {
        let (mut network, _upf, at) = network();
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        other.send_to(&uplink(RUN, REFLECT, 0, 0), at).unwrap();
        receive(&mut network, 1);
        assert_eq!((network.report().strangers, network.report().reflected), (1, 0));
        // For packets of an unknown session, only the bytes are counted.
        let (mut network, upf, at) = self::network();
        upf.send_to(&uplink(RUN, 0, 99, 0), at).unwrap();
        upf.send_to(&uplink(RUN, 0, 0, 0), at).unwrap();
        receive(&mut network, 1);
        assert_eq!((network.report().uplink_octets, network.report().uplink[0].received), (2 * 56, 1));
    }

    #[test]
    fn downlink_packets_rotate_over_live_sessions() {
        let (mut network, upf, _) = network();
        assert_eq!(network.next_live(), None);
        [0, 2].into_iter().for_each(|flow| network.plan.flows.set_live(flow, true));
        let turns = [(); 3].map(|()| network.next_live());
        assert_eq!(turns, [Some(0), Some(2), Some(0)]);
        network.set_step(RUN + 1, None);
        network.send_one(2, 100).unwrap();
        network.send_one(2, 100).unwrap();
        network.send_one(99, 100).unwrap();
        let mut packet = [0; 200];
        for number in 0..2 {
            let (len, _) = upf.recv_from(&mut packet).unwrap();
            let probe = Probe::of_packet(&packet[..len]).unwrap();
            assert_eq!((len, probe.run, probe.flags), (100, RUN + 1, DOWNLINK));
            assert_eq!((probe.stream, probe.number), (2, number));
            assert_eq!(packet[16..20], [10, 60, 0, 3], "the packet is addressed to the UE");
        }
        assert_eq!((network.report().sent[2], network.report().unsent), (2, 0), "session 99 does not exist");
        assert!(NetworkThread::new(Network::None, network.plan.clone()).unwrap().is_none());
    }
}
