//! Base stations: threads that send the sessions' uplink packets and receive their downlink packets.
use super::carrier::Carrier;
use super::flows::Flows;
use super::meter::Times;
use super::probe::{DOWNLINK, Probe, REFLECT, REFLECTED, write_packet};
use super::sizes::TURN;
use super::tally::Tally;
use crate::upf::pin;
use ranlab_net::{monotonic_ns, thread_cpu_time};
use ranlab_wire::gtpu::{GpduTemplate, Packet, PduSession, message_type};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Data threads at most: a stream's name has the sender's number in it.
pub const MAX_THREADS: usize = 64;
/// Sessions that are looked at to find a live one.
const LOOK: usize = 256;
/// The longest rest.
const REST: Duration = Duration::from_millis(1);
/// What is due sooner is waited for awake.
const SPIN_NS: u64 = 60_000;

/// Packets of one direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Traffic {
    /// Packets per second of all sessions together; infinite: as fast as it goes.
    pub packets_per_s: f64,
    /// Octets of the user's IP packet.
    pub octets: usize,
    /// Every so many packets one asks to be reflected; 0: none.
    pub reflect_every: u64,
}

/// A token schedule: packet n is due at a time that nothing shifts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    begin_ns: u64,
    interval_ns: f64,
    sent: u64,
}

impl Pace {
    pub(super) fn new(packets_per_s: f64, begin_ns: u64) -> Self {
        Self { begin_ns, interval_ns: 1e9 / packets_per_s.max(1e-9), sent: 0 }
    }

    /// When the next packet is due.
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

/// What all data threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) flows: Arc<Flows>,
    pub(super) n3: SocketAddr,
    pub(super) server: SocketAddr,
    pub(super) run: u32,
    pub(super) threads: usize,
    /// Every thread sends for every session, not for its own part.
    pub(super) all_sessions: bool,
    pub(super) qfi: u8,
    pub(super) pin: Vec<usize>,
    /// Packets flow.
    pub(super) go: AtomicBool,
    pub(super) stop: AtomicBool,
}

/// What one data thread has sent and received.
#[derive(Debug, Clone, Default)]
pub struct DataReport {
    /// Packets sent, by stream (session times threads plus thread).
    pub sent: Vec<u64>,
    /// Packets that the kernel did not take: they were never sent.
    pub unsent: u64,
    /// Packets that were due when no session was live.
    pub idle: u64,
    /// Uplink packets that came back reflected, by stream.
    pub reflected: Vec<Tally>,
    /// Downlink packets that the data network made, by session.
    pub downlink: Vec<Tally>,
    /// Octets of those user packets.
    pub downlink_octets: u64,
    /// There and back, from the intended time.
    pub round_trip: Times,
    /// From the data network's intended time to here; only where both have one clock.
    pub downlink_delay: Times,
    /// Interruptions by handovers.
    pub interruption: Times,
    /// Packets that came into a tunnel after it was left.
    pub old_tunnel: u64,
    /// End markers.
    pub end_markers: u64,
    /// Error indications: the UPF does not know a tunnel.
    pub error_indications: u64,
    /// What was neither, or of another run.
    pub strangers: u64,
    /// How late packets were sent.
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

    /// Adds another thread's report.
    pub fn add(&mut self, other: &Self) {
        self.sent.iter_mut().zip(&other.sent).for_each(|(mine, more)| *mine += more);
        self.reflected.iter_mut().zip(&other.reflected).for_each(|(mine, more)| mine.add(more));
        self.downlink.iter_mut().zip(&other.downlink).for_each(|(mine, more)| mine.add(more));
        self.unsent += other.unsent;
        self.idle += other.idle;
        self.downlink_octets += other.downlink_octets;
        self.round_trip.add(&other.round_trip);
        self.downlink_delay.add(&other.downlink_delay);
        self.interruption.add(&other.interruption);
        self.old_tunnel += other.old_tunnel;
        self.end_markers += other.end_markers;
        self.error_indications += other.error_indications;
        self.strangers += other.strangers;
        self.lag.add(&other.lag);
        self.cpu += other.cpu;
    }
}

/// A data thread: base stations `index`, `index + threads` …
#[derive(Debug)]
pub(super) struct GnbThread {
    shared: Arc<Shared>,
    index: usize,
    traffic: Option<Traffic>,
    template: GpduTemplate,
    carrier: Carrier,
    cursor: usize,
    report: DataReport,
}

impl GnbThread {
    /// `None` if the QoS flow's number is none.
    pub(super) fn new(
        shared: Arc<Shared>,
        index: usize,
        traffic: Option<Traffic>,
        carrier: Carrier,
    ) -> Option<Self> {
        Some(Self {
            index,
            traffic,
            template: GpduTemplate::new(Some(PduSession::ul(shared.qfi))).ok()?,
            carrier,
            cursor: 0,
            report: DataReport::new(shared.flows.len(), shared.threads),
            shared,
        })
    }

    pub(super) fn run(mut self) -> io::Result<(DataReport, Carrier)> {
        pin(&self.shared.pin, self.index + 1);
        let mut pace = None;
        while !self.shared.stop.load(Relaxed) {
            let worked = self.receive()?;
            let mut due_ns = u64::MAX;
            if self.shared.go.load(Relaxed) {
                if let Some(traffic) = self.traffic {
                    let share = traffic.packets_per_s / self.shared.threads as f64;
                    let pace = pace.get_or_insert_with(|| Pace::new(share, monotonic_ns()));
                    self.transmit(&traffic, pace)?;
                    due_ns = pace.due_ns();
                }
            } else {
                pace = None;
            }
            if !worked {
                self.rest(due_ns)?;
            }
        }
        self.report.unsent += self.carrier.settle()?;
        self.report.cpu = thread_cpu_time();
        Ok((self.report, self.carrier))
    }

    /// What carried the packets, for the next step.
    pub(super) fn into_carrier(self) -> Carrier {
        self.carrier
    }

    fn rest(&self, due_ns: u64) -> io::Result<()> {
        let until_ns = due_ns.saturating_sub(monotonic_ns());
        if until_ns > SPIN_NS {
            self.carrier.wait(Duration::from_nanos(until_ns - SPIN_NS).min(REST))?;
        }
        Ok(())
    }

    /// Sends one packet that asks to be reflected.
    pub(super) fn send_one(&mut self, flow: usize, octets: usize) -> io::Result<()> {
        let traffic = Traffic { packets_per_s: 1.0, octets, reflect_every: 1 };
        if let Some((teid, gnb)) = self.shared.flows.live(flow) {
            self.queue(&traffic, monotonic_ns(), flow, teid, gnb)?;
        }
        self.report.unsent += self.carrier.send_all()?;
        Ok(())
    }

    /// What was seen so far.
    pub(super) fn report(&self) -> &DataReport {
        &self.report
    }

    fn transmit(&mut self, traffic: &Traffic, pace: &mut Pace) -> io::Result<()> {
        let now_ns = monotonic_ns();
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
        self.report.unsent += self.carrier.send_all()?;
        Ok(())
    }

    fn next_live(&mut self) -> Option<(usize, u32, usize)> {
        let (flows, threads) = (self.shared.flows.len(), self.shared.threads);
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
            // Nothing got out to make room for it.
            (*number, report.unsent) = (*number + 1, report.unsent + 1);
            return Ok(());
        }
        let reflect = traffic.reflect_every > 0 && number.is_multiple_of(traffic.reflect_every);
        let flags = if reflect { REFLECT } else { 0 };
        let probe =
            Probe { run: shared.run, flags, stream: stream as u32, number: *number, intended_ns: due_ns };
        let (ue, server, n3) = (shared.flows.ue(flow), shared.server, shared.n3);
        let pushed = carrier.push(gnb, n3, |room| {
            let (head, packet) = room.split_at_mut_checked(template.len())?;
            let len = write_packet(ue, server, traffic.octets, &probe, packet)?;
            Some(template.write(teid, len, head)? + len)
        });
        if pushed {
            *number += 1;
        }
        Ok(())
    }

    pub(super) fn receive(&mut self) -> io::Result<bool> {
        let Self { shared, carrier, report, .. } = self;
        let upf = shared.n3.ip();
        carrier.receive(|now_ns, from, datagram| {
            if from == upf {
                take(shared, report, now_ns, datagram);
            } else {
                report.strangers += 1;
            }
        })
    }
}

/// A datagram from the UPF.
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
        }
    } else if probe.flags & REFLECTED != 0
        && let Some(tally) = report.reflected.get_mut(probe.stream as usize)
    {
        tally.take(probe.number);
        report.round_trip.record(since_ns);
    }
}
