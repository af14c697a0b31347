//! An open-loop tester at two memif ports. It sends a trace at a fixed rate, independent of the packets that return,
//! and accounts for every packet.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use ranlab_net::memif::TakeOutcome;
use ranlab_net::monotonic_ns;
use ranlab_pipeline::engine::FRAME_MAX;
use ranlab_pipeline::tester::{Due, PACKETS_MAX, Pacer, Returned, STAMP_BYTES, Stamp, Tally, headers_octets};
use ranlab_pipeline::trace::Trace;

use super::{Port, PortError, Put};

/// Number of packets sent per round, and received from each port per round.
const BURST: usize = 64;
/// Number of rounds between two checks of the control channels.
const TURNS_PER_SERVICE: u32 = 256;
/// Maximum latency that is recorded, in nanoseconds.
const LONGEST_NS: u64 = 10_000_000_000;

/// The load of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Packets per second, both directions together.
    pub rate: u64,
    /// Duration of sending.
    pub duration: Duration,
    /// Send delay beyond which a packet is not sent.
    pub late_after: Duration,
    /// Time after the last packet in which packets in flight may still arrive.
    pub drain: Duration,
    /// Mark of the packets of this run.
    pub run: u32,
    /// Length of an artificial pause after half of the duration, which simulates a late generator.
    pub stall: Duration,
}

impl Load {
    /// Creates a load with a send delay limit of 1 ms and a drain time of 100 ms.
    #[must_use]
    pub fn new(rate: u64, duration: Duration) -> Self {
        let late_after = Duration::from_millis(1);
        let drain = Duration::from_millis(100);
        Self { rate, duration, late_after, drain, run: 1, stall: Duration::ZERO }
    }

    fn packets(&self) -> u64 {
        u64::try_from(u128::from(self.rate) * self.duration.as_nanos() / 1_000_000_000).unwrap_or(u64::MAX)
    }
}

/// Results of a tester's run.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Packet counters of the tester.
    pub tally: Tally,
    /// Latency from sending to arrival, in nanoseconds. Duplicates are not counted.
    pub latency_ns: Histogram<u64>,
    /// Send delay (scheduled to actual send), in nanoseconds: the delay added by the generator.
    pub lateness_ns: Histogram<u64>,
    /// Time from the first due packet to the last returned packet.
    pub took: Duration,
    /// Time from the first due packet until the last packet was sent, without the drain time.
    pub window: Duration,
    /// Packets that returned within `window`.
    pub received_in_window: u64,
    /// Packets sent that were still in the rings when the run ended.
    pub waiting: u64,
}

/// The reason why a run has no results.
#[derive(Debug, thiserror::Error)]
pub enum TesterError {
    /// The load has no packets, or more than can be tracked.
    #[error("{0} packets are requested; allowed are 1 to {PACKETS_MAX}: change the rate or the duration")]
    Packets(u64),
    /// A packet of the trace is too short for the mark.
    #[error(
        "packet {index} of the trace has {octets} bytes, of which {headers} are headers; {STAMP_BYTES} bytes are needed after the headers: increase `pkt-size`"
    )]
    NoRoom {
        /// Index of the packet.
        index: usize,
        /// Length of the packet, in bytes.
        octets: usize,
        /// Length of the packet's headers, in bytes.
        headers: usize,
    },
    /// The trace is empty.
    #[error("the trace has no packets")]
    Empty,
    /// A port no longer works.
    #[error("{error} (after {} packets sent, {} received)", .tally.sent, .tally.received)]
    Port {
        /// Reason why the port no longer works.
        error: PortError,
        /// Packet counters until the error.
        tally: Box<Tally>,
    },
}

struct Run<'a> {
    ports: &'a mut [Port; 2],
    trace: &'a Trace,
    ways: &'a [usize],
    load: &'a Load,
    stop: &'a AtomicBool,
    outcome: Outcome,
    scratch: [u8; FRAME_MAX],
}

/// Sends the trace in a loop, and receives until all packets are accounted for. The run ends after the load's duration
/// and drain time, even if a peer is silent or crashes.
///
/// # Errors
///
/// The load or the trace is invalid, or a peer disconnects or breaks the rings.
pub fn run(ports: &mut [Port; 2], trace: &Trace, load: &Load) -> Result<Outcome, TesterError> {
    run_until(ports, (trace, &[]), load, &AtomicBool::new(false))
}

/// Runs like [`run`], but stops sending when `stop` is set. The drain time follows, and only packets due until then
/// count.
///
/// `ways` contains the ring of each packet of the trace. It distributes packets over the cores of a switch, as a
/// network card does. If `ways` is empty, the port keeps each flow in one ring.
///
/// # Errors
///
/// The same errors as for [`run`].
pub fn run_until(
    ports: &mut [Port; 2],
    (trace, ways): (&Trace, &[usize]),
    load: &Load,
    stop: &AtomicBool,
) -> Result<Outcome, TesterError> {
    let packets = load.packets();
    if !(1..=PACKETS_MAX).contains(&packets) {
        return Err(TesterError::Packets(packets));
    }
    if trace.is_empty() {
        return Err(TesterError::Empty);
    }
    for (index, (_, frame)) in trace.iter().enumerate() {
        let octets = frame.len();
        let headers = headers_octets(frame);
        if headers + STAMP_BYTES > octets || octets > FRAME_MAX {
            return Err(TesterError::NoRoom { index, octets, headers });
        }
    }
    // The bounds of the histogram are valid constants.
    #[allow(clippy::unwrap_used)]
    let latency_ns = Histogram::new_with_bounds(1, LONGEST_NS, 3).unwrap();
    let lateness_ns = latency_ns.clone();
    let outcome = Outcome {
        tally: Tally::default(),
        latency_ns,
        lateness_ns,
        took: Duration::ZERO,
        window: Duration::ZERO,
        received_in_window: 0,
        waiting: 0,
    };
    let mut run = Run { ports, trace, ways, load, stop, outcome, scratch: [0; FRAME_MAX] };
    match run.all(packets) {
        Ok(()) => Ok(run.outcome),
        Err(error) => Err(TesterError::Port { error, tally: Box::new(run.outcome.tally) }),
    }
}

impl Run<'_> {
    fn all(&mut self, packets: u64) -> Result<(), PortError> {
        let began = monotonic_ns();
        let late_after = u64::try_from(self.load.late_after.as_nanos()).unwrap_or(u64::MAX);
        let mut pacer = Pacer::new(began, self.load.rate, packets, late_after);
        let mut turns = 0_u32;
        let mut last = began;
        let half = began.saturating_add(u64::try_from(self.load.duration.as_nanos() / 2).unwrap_or(u64::MAX));
        let mut stall = Some(self.load.stall).filter(|stall| !stall.is_zero());
        let mut ends = None;
        loop {
            let (sent, over) =
                if self.stop.load(Ordering::Relaxed) { (0, true) } else { self.send(&mut pacer)? };
            let received = self.receive()?;
            self.ports.iter().for_each(Port::publish);
            let now = monotonic_ns();
            if received > 0 {
                last = now;
            }
            if over {
                let drain = u64::try_from(self.load.drain.as_nanos()).unwrap_or(u64::MAX);
                let outcome = &mut self.outcome;
                let end: u64 = *ends.get_or_insert_with(|| {
                    outcome.window = Duration::from_nanos(now - began);
                    outcome.received_in_window = outcome.tally.received;
                    now.saturating_add(drain)
                });
                if self.outcome.tally.lost() == 0 || now >= end {
                    self.outcome.waiting = self.ports.iter().map(|port| u64::from(port.untaken())).sum();
                    self.outcome.took = Duration::from_nanos(last - began);
                    return Ok(());
                }
            }
            if let Some(pause) = stall.take_if(|_| now >= half) {
                std::thread::sleep(pause);
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(TURNS_PER_SERVICE) {
                for port in &mut *self.ports {
                    port.service()?;
                }
            }
            if sent + received == 0 {
                std::thread::yield_now();
            }
        }
    }

    /// Sends due packets, at most one burst. Returns their number, and whether all packets have been sent.
    fn send(&mut self, pacer: &mut Pacer) -> Result<(usize, bool), PortError> {
        for count in 0..BURST {
            let now = monotonic_ns();
            let number = match pacer.due(now) {
                Due::Send(number) => number,
                Due::Late(_) => {
                    self.outcome.tally.intended += 1;
                    self.outcome.tally.late += 1;
                    continue;
                }
                Due::Wait(_) => return Ok((count, false)),
                Due::Over => return Ok((count, true)),
            };
            let place = (number % self.trace.len() as u64) as usize;
            let Some((side, frame)) = self.trace.packet(place) else { continue };
            let packet = &mut self.scratch[..frame.len()];
            packet.copy_from_slice(frame);
            let stamp = Stamp { run: self.load.run, number: number as u32, sent_ns: now };
            stamp.write(packet);
            let port = &mut self.ports[side as usize];
            let put = match self.ways.get(place) {
                Some(ring) => port.put_by(*ring, packet)?,
                None => port.put(packet)?,
            };
            let tally = &mut self.outcome.tally;
            tally.intended += 1;
            match put {
                Put::Queued => {
                    tally.sent(number);
                    self.outcome.lateness_ns.saturating_record(now.saturating_sub(pacer.at(number)));
                }
                Put::Full => tally.ring_full += 1,
                Put::Unfit(_) => tally.unfit += 1,
            }
        }
        Ok((BURST, false))
    }

    fn receive(&mut self) -> Result<usize, PortError> {
        let mut received = 0;
        for index in 0..2 {
            for _ in 0..BURST {
                let octets = match self.ports[index].take(&mut self.scratch)? {
                    TakeOutcome::Nothing => break,
                    TakeOutcome::Lost(_) => {
                        self.outcome.tally.malformed += 1;
                        continue;
                    }
                    TakeOutcome::Packet(octets) => octets,
                };
                received += 1;
                let stamp = Stamp::read(&self.scratch[..octets]);
                let what = self.outcome.tally.returned(self.load.run, index, stamp);
                if let (Returned::InOrder | Returned::Misordered, Some(stamp)) = (what, stamp) {
                    let took = monotonic_ns().saturating_sub(stamp.sent_ns);
                    self.outcome.latency_ns.saturating_record(took);
                }
            }
        }
        Ok(received)
    }
}
