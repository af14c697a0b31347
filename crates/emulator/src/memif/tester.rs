//! An open-loop tester at two memif ports: sends a trace at a rate, whatever comes back, and names every packet's fate.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use ranlab_net::memif::Taken;
use ranlab_net::monotonic_ns;
use ranlab_pipeline::engine::FRAME_MAX;
use ranlab_pipeline::tester::{Due, PACKETS_MAX, Pacer, Returned, STAMP_BYTES, Stamp, Tally, headers_octets};
use ranlab_pipeline::trace::Trace;

use super::{Port, PortError, Put};

/// Packets sent, and packets taken from each port, before the other has its turn.
const BURST: usize = 64;
/// Turns between two looks at the control channels.
const TURNS_PER_SERVICE: u32 = 256;
/// The longest latency that is told apart, ns.
const LONGEST_NS: u64 = 10_000_000_000;

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Packets/s, both directions together.
    pub rate: u64,
    /// For how long.
    pub duration: Duration,
    /// A packet that would leave later than this after its time is not sent.
    pub late_after: Duration,
    /// How long after the last packet it is waited for those on their way.
    pub drain: Duration,
    /// Marks this run's packets.
    pub run: u32,
    /// On purpose it stands still for so long when half of the duration is over: a generator that was made late.
    pub stall: Duration,
}

impl Load {
    /// A rate for a time, with 1 ms of patience and 100 ms for what is on its way.
    #[must_use]
    pub fn new(rate: u64, duration: Duration) -> Self {
        let (late_after, drain) = (Duration::from_millis(1), Duration::from_millis(100));
        Self { rate, duration, late_after, drain, run: 1, stall: Duration::ZERO }
    }

    fn packets(&self) -> u64 {
        u64::try_from(u128::from(self.rate) * self.duration.as_nanos() / 1_000_000_000).unwrap_or(u64::MAX)
    }
}

/// What a run has found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Every packet's fate on this side.
    pub tally: Tally,
    /// From a packet's sending until it was back, ns, packets that came for the first time.
    pub latency_ns: Histogram<u64>,
    /// From a packet's due time until it was sent, ns: what the generator adds.
    pub lateness_ns: Histogram<u64>,
    /// From the first packet that was due to the last one back.
    pub took: Duration,
    /// From the first packet that was due until the last one was sent: the drain is not in it.
    pub window: Duration,
    /// Packets that were back within that time.
    pub received_in_window: u64,
    /// Packets that left and that nobody had taken out of the rings when the run was over.
    pub waiting: u64,
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum TesterError {
    /// The load is more than can be kept account of, or nothing.
    #[error("{0} packets are asked for; allowed are 1 to {PACKETS_MAX}: another rate, or another duration")]
    Packets(u64),
    /// A packet of the trace cannot be marked.
    #[error(
        "packet {index} of the trace has {octets} octets of which {headers} are headers; {STAMP_BYTES} are needed behind them: a greater `pkt-size`"
    )]
    NoRoom {
        /// Which.
        index: usize,
        /// Its length.
        octets: usize,
        /// Of its headers.
        headers: usize,
    },
    /// The trace is empty.
    #[error("the trace has no packets")]
    Empty,
    /// A port does not work any more.
    #[error("{error} (after {} packets sent, {} received)", .tally.sent, .tally.received)]
    Port {
        /// Why.
        error: PortError,
        /// What was until then.
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

/// Sends the trace, again and again, and receives until all is over. Neither a silent peer nor a dying one can hold it: it ends
/// after the load's duration and its drain.
///
/// # Errors
/// The load or trace cannot be, or a peer goes or breaks the rings.
pub fn run(ports: &mut [Port; 2], trace: &Trace, load: &Load) -> Result<Outcome, TesterError> {
    run_until(ports, (trace, &[]), load, &AtomicBool::new(false))
}

/// The same; told to stop, it sends no more and ends after the drain: what was due until then is what was intended. Beside the
/// trace, by which ring each of its packets leaves, as a network card would divide them over a switch's cores; nothing: a port
/// itself keeps a flow in one ring.
///
/// # Errors
/// As [`run`].
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
        let (octets, headers) = (frame.len(), headers_octets(frame));
        if headers + STAMP_BYTES > octets || octets > FRAME_MAX {
            return Err(TesterError::NoRoom { index, octets, headers });
        }
    }
    // The bounds of a histogram are constants that are good.
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
        let (mut turns, mut last) = (0_u32, began);
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

    /// What is due, up to a burst; how many, and whether that was all there will be.
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
                    Taken::Nothing => break,
                    Taken::Lost(_) => {
                        self.outcome.tally.malformed += 1;
                        continue;
                    }
                    Taken::Packet(octets) => octets,
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
