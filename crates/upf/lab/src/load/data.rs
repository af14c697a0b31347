//! Base stations: threads that send the sessions' uplink packets and receive their downlink packets.
use super::carrier::PacketIo;
use super::flows::Flows;
use super::meter::Times;
use super::paths::{PathReport, Supervisor, echo_response};
use super::probe::{DOWNLINK, Probe, REFLECT, write_packet};
pub use super::sizes::Traffic;
use super::sizes::{PacketSizes, TURN};
use super::tally::Tally;
use crate::upf::pin;
use ranlab_net::{monotonic_ns, thread_cpu_time};
use ranlab_packet::gtpu::{GpduTemplate, Packet, PduSession, message_type};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Maximum number of data threads. Stream numbers contain the number of the thread.
pub const MAX_THREADS: usize = 64;
/// Maximum number of sessions that are checked to find a live session.
const LOOK: usize = 256;
/// Maximum sleep of a data thread while packets flow.
const REST: Duration = Duration::from_millis(1);
/// Maximum sleep of a data thread while no packets flow.
const QUIET_REST: Duration = Duration::from_millis(20);
/// Time before the next packet is due, in nanoseconds, in which the thread spins instead of sleeping.
const SPIN_NS: u64 = 60_000;

/// A schedule in which packet n is due at a fixed time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TokenSchedule {
    begin_ns: u64,
    interval_ns: f64,
    sent: u64,
}

impl TokenSchedule {
    pub(super) fn new(packets_per_s: f64, begin_ns: u64) -> Self {
        Self { begin_ns, interval_ns: 1e9 / packets_per_s.max(1e-9), sent: 0 }
    }

    /// Returns the time at which the next packet is due.
    pub(super) fn due_ns(&self) -> u64 {
        self.begin_ns + (self.sent as f64 * self.interval_ns) as u64
    }

    pub(super) fn took(&mut self) {
        self.sent += 1;
    }

    pub(super) fn is_flat_out(&self) -> bool {
        self.interval_ns == 0.0
    }
}

/// State shared by all data threads.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) flows: Arc<Flows>,
    pub(super) n3: SocketAddr,
    pub(super) server: SocketAddr,
    pub(super) run: u32,
    pub(super) threads: usize,
    /// Whether every thread sends for every session. Otherwise, the sessions are divided among the threads.
    pub(super) all_sessions: bool,
    pub(super) qfi: u8,
    /// Interval, in uplink packets, between packets that request reflection; see [`Traffic::reflect_every`].
    pub(super) reflect_every: u64,
    pub(super) pin: Vec<usize>,
    /// Interval of Echo Requests of a base station. `None`: no Echo Requests are sent.
    pub(super) echo: Option<Duration>,
    /// Whether only messages of the N3 paths are sent, and no user packets.
    pub(super) quiet: bool,
    /// Set while packets may be sent.
    pub(super) go: AtomicBool,
    pub(super) stop: AtomicBool,
}

/// Counters of one data thread.
#[derive(Debug, Clone, Default)]
pub struct DataReport {
    /// Packets sent, by stream. The number of a stream is `session * threads + thread`.
    pub sent: Vec<u64>,
    /// Packets that the kernel did not accept, so they were never sent.
    pub unsent: u64,
    /// Packets that were due while no session was live.
    pub idle: u64,
    /// Reflected packets that had not requested reflection.
    pub unasked: u64,
    /// Reflected uplink packets, by stream.
    pub reflected: Vec<Tally>,
    /// Bytes of the reflected user packets.
    pub reflected_octets: u64,
    /// Downlink packets from the data network, by session.
    pub downlink: Vec<Tally>,
    /// Bytes of the downlink user packets.
    pub downlink_octets: u64,
    /// Round-trip time from the scheduled time.
    pub round_trip: Times,
    /// One-way delay from the data network's scheduled time. Only valid if the base stations and the data network use the same clock.
    pub downlink_delay: Times,
    /// Interruptions caused by handovers.
    pub interruption: Times,
    /// Packets that arrived in the old tunnel after a handover.
    pub old_tunnel: u64,
    /// End markers received.
    pub end_markers: u64,
    /// Counters of Echo Requests and their responses.
    pub(super) paths: PathReport,
    /// Error indications: the UPF does not know a tunnel.
    pub error_indications: u64,
    /// Packets of another run or of an unknown kind.
    pub strangers: u64,
    /// Send delay (scheduled to actual send).
    pub lag: Times,
    /// CPU time of the thread.
    pub cpu: Duration,
}

impl DataReport {
    pub(super) fn new(flows: usize, threads: usize) -> Self {
        Self {
            sent: vec![0; flows * threads],
            reflected: vec![Tally::default(); flows * threads],
            downlink: vec![Tally::default(); flows],
            ..Self::default()
        }
    }

    /// Adds the counters of another thread.
    pub fn add(&mut self, other: &Self) {
        self.sent.iter_mut().zip(&other.sent).for_each(|(mine, more)| *mine += more);
        self.reflected.iter_mut().zip(&other.reflected).for_each(|(mine, more)| mine.add(more));
        self.downlink.iter_mut().zip(&other.downlink).for_each(|(mine, more)| mine.add(more));
        self.reflected_octets += other.reflected_octets;
        self.unasked += other.unasked;
        self.unsent += other.unsent;
        self.idle += other.idle;
        self.downlink_octets += other.downlink_octets;
        self.round_trip.add(&other.round_trip);
        self.downlink_delay.add(&other.downlink_delay);
        self.interruption.add(&other.interruption);
        self.old_tunnel += other.old_tunnel;
        self.paths.add(&other.paths);
        self.end_markers += other.end_markers;
        self.error_indications += other.error_indications;
        self.strangers += other.strangers;
        self.lag.add(&other.lag);
        self.cpu += other.cpu;
    }
}

/// A data thread for the base stations `index`, `index + threads` …
#[derive(Debug)]
pub(super) struct GnbThread {
    shared: Arc<Shared>,
    index: usize,
    traffic: Option<Traffic>,
    template: GpduTemplate,
    carrier: PacketIo,
    cursor: usize,
    supervisor: Option<Supervisor>,
    report: DataReport,
}

impl GnbThread {
    /// Creates the thread's state. Returns `None` if the QoS flow identifier is invalid.
    pub(super) fn new(
        shared: Arc<Shared>,
        index: usize,
        traffic: Option<Traffic>,
        carrier: PacketIo,
    ) -> Option<Self> {
        let own = (index..carrier.gnbs()).step_by(shared.threads.max(1));
        let supervise = |every: Duration| Supervisor::new(monotonic_ns(), every.as_nanos() as u64, own);
        Some(Self {
            supervisor: shared.echo.map(supervise),
            index,
            traffic,
            template: GpduTemplate::new(Some(PduSession::ul(shared.qfi))).ok()?,
            carrier,
            cursor: 0,
            report: match shared.quiet {
                true => DataReport::default(),
                false => DataReport::new(shared.flows.len(), shared.threads),
            },
            shared,
        })
    }

    pub(super) fn run(mut self) -> io::Result<(DataReport, PacketIo)> {
        pin(&self.shared.pin, self.index + 1);
        let mut pace = None;
        while !self.shared.stop.load(Relaxed) {
            let worked = self.receive()?;
            let mut due_ns = u64::MAX;
            if self.shared.go.load(Relaxed) {
                if let Some(traffic) = self.traffic {
                    let share = traffic.packets_per_s / self.shared.threads as f64;
                    let pace = pace.get_or_insert_with(|| TokenSchedule::new(share, monotonic_ns()));
                    self.transmit(&traffic, pace)?;
                    due_ns = pace.due_ns();
                }
            } else {
                pace = None;
            }
            due_ns = due_ns.min(self.supervise());
            if !worked {
                self.rest(due_ns)?;
            }
        }
        self.report.unsent += self.carrier.complete_step()?;
        if let Some(supervisor) = &self.supervisor {
            self.report.paths.add(&supervisor.report);
        }
        self.report.cpu = thread_cpu_time();
        Ok((self.report, self.carrier))
    }

    /// Returns the I/O for the next step.
    pub(super) fn into_carrier(self) -> PacketIo {
        self.carrier
    }

    fn rest(&self, due_ns: u64) -> io::Result<()> {
        let until_ns = due_ns.saturating_sub(monotonic_ns());
        let most = if self.shared.quiet { QUIET_REST } else { REST };
        if until_ns > SPIN_NS {
            self.carrier.wait(Duration::from_nanos(until_ns - SPIN_NS).min(most))?;
        }
        Ok(())
    }

    /// Sends the Echo Requests that are due. Returns the time of the next one.
    fn supervise(&mut self) -> u64 {
        let Self { supervisor: Some(supervisor), carrier, shared, report, .. } = self else {
            return u64::MAX;
        };
        let now_ns = monotonic_ns();
        while let Some((gnb, request)) = supervisor.request(now_ns) {
            report.unsent += u64::from(!carrier.send_now(gnb, shared.n3, &request));
        }
        supervisor.due_ns()
    }

    /// Sends one packet that requests reflection.
    pub(super) fn send_one(&mut self, flow: usize, octets: usize) -> io::Result<()> {
        let traffic = Traffic { packets_per_s: 1.0, octets: PacketSizes::Fixed(octets), reflect_every: 1 };
        if let Some((teid, gnb)) = self.shared.flows.live(flow) {
            self.queue(&traffic, monotonic_ns(), flow, teid, gnb)?;
        }
        self.report.unsent += self.carrier.send_all()?;
        Ok(())
    }

    /// Returns the current counters.
    pub(super) fn report(&self) -> &DataReport {
        &self.report
    }

    fn transmit(&mut self, traffic: &Traffic, pace: &mut TokenSchedule) -> io::Result<()> {
        let now_ns = monotonic_ns();
        let before = pace.sent;
        for _ in 0..TURN {
            let due_ns = if pace.is_flat_out() { now_ns } else { pace.due_ns() };
            if due_ns > now_ns {
                break;
            }
            pace.took();
            let Some((flow, teid, gnb)) = self.next_live() else {
                self.report.idle += 1;
                continue;
            };
            self.queue(traffic, due_ns, flow, teid, gnb)?;
            self.report.lag.record(now_ns - due_ns);
        }
        let unsent = self.carrier.send_all()?;
        self.report.unsent += unsent;
        // The number includes packets that were due while no session was live. This approximation suffices for live counters.
        if let Some(glance) = self.shared.flows.glance() {
            glance.sent((pace.sent - before).saturating_sub(unsent));
        }
        Ok(())
    }

    fn next_live(&mut self) -> Option<(usize, u32, usize)> {
        let flows = self.shared.flows.len();
        let threads = self.shared.threads;
        let (first, step) = if self.shared.all_sessions { (0, 1) } else { (self.index, threads) };
        for _ in 0..LOOK.min(flows) {
            let mut flow = first + self.cursor * step;
            if flow >= flows {
                self.cursor = 0;
                flow = first;
            }
            self.cursor += 1;
            if let Some((teid, gnb)) = self.shared.flows.live(flow) {
                return Some((flow, teid, gnb));
            }
        }
        None
    }

    fn queue(
        &mut self,
        traffic: &Traffic,
        due_ns: u64,
        flow: usize,
        teid: u32,
        gnb: usize,
    ) -> io::Result<()> {
        let gnb = gnb % self.carrier.gnbs().max(1);
        if self.carrier.is_full(gnb) {
            self.report.unsent += self.carrier.send(gnb)?;
        }
        let Self { shared, template, carrier, report, .. } = self;
        let stream = flow * shared.threads + self.index;
        let Some(number) = report.sent.get_mut(stream) else { return Ok(()) };
        if carrier.is_full(gnb) {
            // Sending did not free any space in the batch.
            (*number, report.unsent) = (*number + 1, report.unsent + 1);
            return Ok(());
        }
        let reflect = traffic.reflect_every > 0 && number.is_multiple_of(traffic.reflect_every);
        let flags = if reflect { REFLECT } else { 0 };
        let probe =
            Probe { run: shared.run, flags, stream: stream as u32, number: *number, intended_ns: due_ns };
        let octets = traffic.octets.at(*number + flow as u64);
        let ue = shared.flows.ue(flow);
        let server = shared.server;
        let n3 = shared.flows.end(flow).map_or(shared.n3, |end| SocketAddr::new(end, shared.n3.port()));
        let pushed = carrier.push(gnb, n3, |room| {
            let (head, packet) = room.split_at_mut_checked(template.len())?;
            let len = write_packet(ue, server, octets, &probe, packet)?;
            Some(template.write(teid, len, head)? + len)
        });
        if pushed {
            *number += 1;
        }
        Ok(())
    }

    pub(super) fn receive(&mut self) -> io::Result<bool> {
        let Self { shared, carrier, report, supervisor, .. } = self;
        let upf = shared.n3.ip();
        let mut echoes = Vec::new();
        let came = carrier.receive(|now_ns, from, datagram| {
            if from.address == upf || shared.flows.is_end(from.address) {
                if let Some(response) = echo_response(datagram) {
                    echoes.push((from, response));
                } else if datagram.get(1) == Some(&message_type::ECHO_RESPONSE) {
                    if let (Some(supervisor), Some(gnb)) = (supervisor.as_mut(), from.gnb()) {
                        let sequence = Packet::parse(datagram).ok().and_then(|packet| packet.sequence);
                        supervisor.response(now_ns, gnb, sequence);
                    }
                } else {
                    take(shared, report, now_ns, datagram);
                }
            } else {
                report.strangers += 1;
            }
        })?;
        for (from, response) in &echoes {
            report.paths.echoes += 1;
            report.unsent += u64::from(!carrier.answer(*from, response));
        }
        Ok(came)
    }
}

/// Processes a datagram from the UPF.
fn take(shared: &Shared, report: &mut DataReport, now_ns: u64, datagram: &[u8]) {
    let Ok(packet) = Packet::parse(datagram) else {
        report.strangers += 1;
        return;
    };
    match packet.message_type {
        message_type::G_PDU => {}
        message_type::END_MARKER => {
            report.end_markers += 1;
            return;
        }
        message_type::ERROR_INDICATION => {
            report.error_indications += 1;
            return;
        }
        _ => return,
    }
    let (Some((flow, in_use)), Some(probe)) =
        (shared.flows.by_downlink_teid(packet.teid), Probe::of_packet(packet.payload))
    else {
        report.strangers += 1;
        return;
    };
    if probe.run != shared.run {
        report.strangers += 1;
        return;
    }
    if in_use {
        if let Some(interruption_ns) = shared.flows.note_downlink(flow, now_ns) {
            report.interruption.record(interruption_ns);
        }
    } else {
        report.old_tunnel += 1;
        shared.flows.note_old_tunnel(flow, now_ns);
    }
    let since_ns = now_ns.saturating_sub(probe.intended_ns);
    if probe.flags & DOWNLINK != 0 {
        if let Some(tally) = report.downlink.get_mut(probe.stream as usize) {
            tally.take(probe.number);
            report.downlink_octets += packet.payload.len() as u64;
            report.downlink_delay.record(since_ns);
            if let Some(glance) = shared.flows.glance() {
                glance.came_back(since_ns);
            }
        }
    } else if let Some(tally) = report.reflected.get_mut(probe.stream as usize) {
        // A packet without the flag also counts as reflected, because a plain echo server does not set the flag.
        tally.take(probe.number);
        report.reflected_octets += packet.payload.len() as u64;
        let requested = shared.reflect_every > 0 && probe.number.is_multiple_of(shared.reflect_every);
        report.unasked += u64::from(!requested);
        report.round_trip.record(since_ns);
        if let Some(glance) = shared.flows.glance() {
            glance.came_back(since_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::carrier::Sockets;
    use super::super::flows::UePool;
    use super::super::probe::REFLECTED;
    use super::*;
    use ranlab_net::{DatagramOptions, bind_datagrams};
    use ranlab_packet::gtpu::{Message, encode_message};

    const RUN: u32 = 9;

    fn shared(flows: usize, threads: usize, all_sessions: bool) -> Arc<Shared> {
        let pool = UePool { first: [10, 60, 0, 1].into() };
        Arc::new(Shared {
            flows: Arc::new(Flows::new(flows, pool, 4_000)),
            n3: "127.0.0.1:9".parse().unwrap(),
            server: "10.45.0.1:9".parse().unwrap(),
            run: RUN,
            threads,
            all_sessions,
            qfi: 9,
            reflect_every: 2,
            pin: Vec::new(),
            echo: None,
            quiet: false,
            go: AtomicBool::new(false),
            stop: AtomicBool::new(false),
        })
    }

    /// Returns a G-PDU for a tunnel. Its user packet contains the probe.
    fn g_pdu(teid: u32, probe: Probe) -> Vec<u8> {
        let mut packet = [0; 100];
        let from = "10.45.0.1:9".parse().unwrap();
        let to = "10.60.0.1:4000".parse().unwrap();
        let len = write_packet(from, to, 0, &probe, &mut packet).unwrap();
        let mut out = Vec::new();
        encode_message(&Message::GPdu(&packet[..len]), teid, None, &mut out).unwrap();
        out
    }

    fn probe(flags: u8, number: u64) -> Probe {
        Probe { run: RUN, flags, stream: 1, number, intended_ns: 100 }
    }

    #[test]
    fn packets_are_due_at_fixed_times() {
        let mut pace = TokenSchedule::new(3.0, 1_000);
        let mut due_times = Vec::new();
        for _ in 0..4 {
            due_times.push(pace.due_ns());
            pace.took();
        }
        assert_eq!(due_times, [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
        (0..3_000_000).for_each(|_| pace.took());
        assert!(pace.due_ns().abs_diff(1_000_001_333_334_333) < 1_000_000, "{}", pace.due_ns());
        assert!(!pace.is_flat_out() && TokenSchedule::new(f64::INFINITY, 5).is_flat_out());
        assert_eq!(TokenSchedule::new(f64::INFINITY, 5).due_ns(), 5);
        assert_eq!(
            TokenSchedule::new(0.0, 5).due_ns(),
            5,
            "the first packet is due at once, the second one never"
        );
    }

    #[test]
    fn datagrams_from_upf_are_classified() {
        let shared = shared(3, 1, false);
        let mut report = DataReport::new(3, 1);
        let teid = shared.flows.downlink_teid(1);
        let mut message = |message: &Message<'_>, teid| {
            let mut out = Vec::new();
            encode_message(message, teid, None, &mut out).unwrap();
            take(&shared, &mut report, 400, &out);
        };
        message(&Message::EndMarker, teid);
        message(&Message::ErrorIndication { teid, peer: [10, 0, 0, 1].into(), udp_port: None }, 0);
        message(&Message::EchoRequest, 0);
        message(&Message::GPdu(&[0x45; 40]), teid);
        assert_eq!((report.end_markers, report.error_indications, report.strangers), (1, 1, 1));
        for datagram in [
            g_pdu(teid, probe(DOWNLINK, 0)),
            g_pdu(teid, probe(REFLECTED, 0)),
            g_pdu(teid, probe(REFLECTED, 1)),
            // This packet comes from a plain echo server.
            g_pdu(teid, probe(REFLECT, 2)),
            g_pdu(teid, Probe { stream: 99, ..probe(DOWNLINK, 1) }),
        ] {
            take(&shared, &mut report, 400, &datagram);
        }
        assert_eq!((report.downlink[1].received, report.reflected[1].received, report.strangers), (1, 3, 1));
        assert_eq!(report.unasked, 1, "every second packet requested reflection");
        assert_eq!(
            (report.downlink_octets, report.round_trip.count(), report.downlink_delay.count()),
            (56, 3, 1)
        );
        for unexpected in [
            g_pdu(teid, Probe { run: RUN + 1, ..probe(DOWNLINK, 2) }),
            g_pdu(0xff_ffff, probe(DOWNLINK, 2)),
            vec![0x30, 255],
            Vec::new(),
        ] {
            take(&shared, &mut report, 400, &unexpected);
        }
        assert_eq!((report.strangers, report.downlink[1].received), (5, 1));
    }

    #[test]
    fn packets_after_handover_are_assigned_by_tunnel() {
        let shared = shared(3, 1, false);
        let mut report = DataReport::new(3, 1);
        let old = shared.flows.downlink_teid(1);
        take(&shared, &mut report, 1_000, &g_pdu(old, probe(DOWNLINK, 0)));
        let new = shared.flows.hand_over(1, 1, 2_000);
        take(&shared, &mut report, 3_000, &g_pdu(old, probe(DOWNLINK, 1)));
        take(&shared, &mut report, 8_000, &g_pdu(new, probe(DOWNLINK, 2)));
        take(&shared, &mut report, 9_000, &g_pdu(new, probe(DOWNLINK, 3)));
        assert_eq!((report.old_tunnel, report.downlink[1].received), (1, 4));
        let interruption = report.interruption.summary().unwrap();
        // The interruption is measured from the last packet in the old tunnel, with three digits of precision.
        assert!(interruption.n == 1 && (interruption.max - 5.0).abs() < 0.01, "{interruption:?}");
    }

    #[test]
    fn thread_sends_for_its_live_sessions() {
        let gnb = || {
            let address = "127.0.0.1:0".parse().unwrap();
            Arc::new(bind_datagrams(address, DatagramOptions::default()).unwrap())
        };
        let thread = |index, all_sessions| {
            let shared = shared(6, 2, all_sessions);
            let carrier = PacketIo::Sockets(Box::new(Sockets::new(
                &[gnb()],
                "127.0.0.8:2152".parse().unwrap(),
                index,
                1,
            )));
            GnbThread::new(shared, index, None, carrier).unwrap()
        };
        let turns = |own: &mut GnbThread| [(); 4].map(|()| own.next_live().map(|(flow, ..)| flow));
        let mut second = thread(1, false);
        assert_eq!(second.next_live(), None, "no session is live");
        [1, 2, 5].into_iter().for_each(|flow| second.shared.flows.set_live(flow, true));
        assert_eq!(turns(&mut second), [Some(1), Some(5), Some(1), Some(5)]);
        let mut for_all = thread(1, true);
        [1, 2, 5].into_iter().for_each(|flow| for_all.shared.flows.set_live(flow, true));
        assert_eq!(turns(&mut for_all), [Some(1), Some(2), Some(5), Some(1)]);
    }

    #[test]
    fn thread_reports_add_up_per_stream() {
        let mut sum = DataReport::new(2, 2);
        let mut other = DataReport::new(2, 2);
        (sum.sent, other.sent) = (vec![1, 0, 2, 0], vec![0, 3, 0, 4]);
        other.reflected[3].take(0);
        other.downlink[1].take(0);
        (other.unsent, other.idle, other.strangers, other.old_tunnel, other.unasked) = (1, 2, 3, 4, 8);
        (other.end_markers, other.error_indications, other.downlink_octets) = (5, 6, 7);
        (other.cpu, sum.cpu) = (Duration::from_secs(1), Duration::from_secs(2));
        other.lag.record(1);
        sum.add(&other);
        assert_eq!(sum.sent, [1, 3, 2, 4]);
        assert_eq!((sum.reflected[3].received, sum.downlink[1].received, sum.lag.count()), (1, 1, 1));
        assert_eq!((sum.unsent, sum.idle, sum.strangers, sum.old_tunnel, sum.unasked), (1, 2, 3, 4, 8));
        assert_eq!((sum.end_markers, sum.error_indications, sum.downlink_octets), (5, 6, 7));
        assert_eq!(sum.cpu, Duration::from_secs(3));
    }
}
