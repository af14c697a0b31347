//! The tester of tier `ring`, as a part: open loop, with every packet's fate in its books. Beginning a window begins a run,
//! which ends by itself; [`OVER`] says when it has.
//!
//! Without sockets it tests itself: it floods a bare device of its own and says what it and the rings carry at best.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ranlab_emulator::memif::device::{Device, Work};
use ranlab_emulator::memif::tester::{Load, Outcome, TesterError, run_until};
use ranlab_emulator::memif::{Port, PortError, Role};
use ranlab_pipeline::backends::{Asked, input, named, normalise};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::spread::Spread;
use ranlab_pipeline::tester::{Inconsistent, Ledger};
use ranlab_pipeline::trace::{Trace, Traffic};
use serde::{Deserialize, Serialize};

use super::{Shape, connected, device_cpus, ports, rings, sockets, tester_cpu};
use crate::captured;
use crate::field::Plain;
use crate::folder::Folder;
use crate::upf_load::OVER;
use crate::worker::{Numbers, Report, Trouble};
use crate::{Running, config, counts, rig, sut};

/// How long the tester floods its own device.
const FLOOD_FOR: Duration = Duration::from_millis(200);
/// More than any tester sends; packets/s.
const FLOOD_PER_S: u64 = 50_000_000;

config! {
    /// A tester at the ports of a switch.
    pub struct RingTesterPart {
        /// whose traffic it is
        pipeline: Option<Plain<Pipeline>> = None, wiring();
        /// what is sent
        traffic: Plain<Traffic> = Plain::default(), wiring();
        /// captures whose packets are sent instead
        trace: Vec<PathBuf> = Vec::new(), wiring();
        /// who is tested: what of packets it does not understand is left out
        engine: String = "native".to_owned(), wiring();
        /// program that drives another generator (docs/how-to/plugins.md); none: ours sends
        plugin: Option<String> = None, local();
        /// socket of the switch's port access; empty: none, the tester tests itself
        access: String = String::new(), wiring();
        /// socket of the switch's port core
        core: String = String::new(), wiring();
        /// descriptors of a ring, by binary logarithm
        ring: u8 = 10, wiring();
        /// cores of the switch over which flows are divided, each by rings of its own
        cores: usize = 1, wiring();
        /// how long it sends
        duration: Duration = Duration::from_secs(1), wiring();
        /// how long it sends before that, uncounted
        warm_up: Duration = Duration::ZERO, wiring();
        /// marks its packets
        run: u32 = 1, wiring();
        /// packets sent in a second, whatever comes back, both directions together
        rate: u64 = 100_000, range(1, 100_000_000), unit("1/s");
        /// a packet that would leave later than this after its time is late: it is not sent
        late_after: Duration = Duration::from_millis(1);
        /// how long after the last packet those on their way are waited for
        drain: Duration = Duration::from_secs(1);
        /// the tester stands still for so long in the middle of a window, to see that what it leaves out is named
        stall: Duration = Duration::ZERO;
    }
}

/// What a tester has counted in a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingOutcome {
    /// Packets that were due.
    pub due: u64,
    /// Left.
    pub sent: u64,
    /// Not sent: too late.
    pub late: u64,
    /// Not sent: the ring towards the switch was full.
    pub ring_full: u64,
    /// Not sent: too long for the switch's buffers.
    pub unfit: u64,
    /// Came back.
    pub received: u64,
    /// Of these, behind one that left later.
    pub misordered: u64,
    /// Came back once more.
    pub duplicated: u64,
    /// Came, and are none of this run's.
    pub strangers: u64,
    /// Came with descriptors that lead nowhere.
    pub malformed: u64,
    /// Left, and nobody took them out of the ring.
    pub waiting: u64,
    /// From the first packet that was due to the last one back, ns.
    pub took_ns: u64,
    /// From the first packet that was due until the last one was sent, ns; 0: a plug-in that does not report it.
    #[serde(default)]
    pub window_ns: u64,
    /// Packets that came back within `window_ns`.
    #[serde(default)]
    pub received_in_window: u64,
}

impl RingOutcome {
    fn of(outcome: &Outcome) -> Self {
        let tally = &outcome.tally;
        Self {
            due: tally.intended,
            sent: tally.sent,
            late: tally.late,
            ring_full: tally.ring_full,
            unfit: tally.unfit,
            received: tally.received,
            misordered: tally.misordered,
            duplicated: tally.duplicated,
            strangers: tally.strangers,
            malformed: tally.malformed,
            waiting: outcome.waiting,
            took_ns: u64::try_from(outcome.took.as_nanos()).unwrap_or(u64::MAX),
            window_ns: u64::try_from(outcome.window.as_nanos()).unwrap_or(u64::MAX),
            received_in_window: outcome.received_in_window,
        }
    }

    /// Returns how many packets came back in a second of the sending window; of a plug-in without one, until the last packet.
    #[must_use]
    pub fn carried_per_s(&self) -> f64 {
        let (packets, ns) = match self.window_ns {
            0 => (self.received, self.took_ns),
            window_ns => (self.received_in_window, window_ns),
        };
        packets as f64 * 1e9 / ns.max(1) as f64
    }

    /// Lost packets that nobody names, with the switch's books beside these.
    ///
    /// # Errors
    /// The counters do not add up.
    pub fn unknown(&self, ledger: &Ledger) -> Result<u64, Inconsistent> {
        ledger.remainder((self.due, self.late + self.ring_full + self.unfit), (self.sent, self.received))
    }
}

type Ran = ([Port; 2], Result<Outcome, TesterError>);

/// A tester that is connected, or has tested itself.
pub(crate) struct Testing {
    trace: Arc<Trace>,
    /// By which ring each of its packets leaves; nothing: a port decides by flow.
    ways: Arc<[usize]>,
    load: Load,
    ports: Option<[Port; 2]>,
    running: Option<JoinHandle<Ran>>,
    stop: Arc<AtomicBool>,
    /// What the tester and its rings carry at best.
    best_mpps: Option<f64>,
    trouble: Option<Trouble>,
}

impl Testing {
    pub(crate) fn start(part: &RingTesterPart) -> Result<Self, Trouble> {
        let Some(Plain(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let trace = Arc::new(trace(part, pipeline)?);
        let (ways, shape) = (ways(part, pipeline, &trace)?, shape(part)?);
        let (rate, duration, run) = (part.rate, part.duration, part.run);
        let load =
            Load { rate, duration, run, late_after: part.late_after, drain: part.drain, stall: part.stall };
        let stop = Arc::new(AtomicBool::new(false));
        let mut own =
            Self { trace, ways, load, ports: None, running: None, stop, best_mpps: None, trouble: None };
        if part.access.is_empty() {
            own.best_mpps = Some(itself(&own.trace, &own.ways, shape)?);
            return Ok(own);
        }
        let sockets = [&part.access, &part.core].map(PathBuf::from);
        let mut both = connected(&sockets, shape)?;
        if !part.warm_up.is_zero() {
            // Another mark: what comes late of it is nobody's in the window.
            let load = Load { duration: part.warm_up, run: !run, stall: Duration::ZERO, ..own.load };
            run_until(&mut both, (&own.trace, &own.ways), &load, &own.stop).map_err(wrong)?;
        }
        own.ports = Some(both);
        Ok(own)
    }

    fn halt(&mut self) -> Option<Result<Outcome, TesterError>> {
        let (ports, outcome) = self.running.take()?.join().ok()?;
        self.ports = Some(ports);
        Some(outcome)
    }

    fn report(&mut self, report: &mut Report) -> Result<(), Trouble> {
        if let Some(best) = self.best_mpps {
            report.numbers.insert("tester_mpps".to_owned(), best);
            return Ok(());
        }
        let outcome =
            self.halt().ok_or_else(|| rig("no run was begun, or its thread died"))?.map_err(wrong)?;
        let own = RingOutcome::of(&outcome);
        // What nobody could send through these rings has spoilt the books.
        if own.duplicated + own.malformed > 0 {
            let (twice, bad) = (own.duplicated, own.malformed);
            return Err(sut(format!(
                "{twice} packets came back twice, {bad} with descriptors that lead nowhere"
            )));
        }
        report.detail = serde_json::to_value(&own).map_err(rig)?;
        report.distributions.insert("latency_ns".to_owned(), counts(&outcome.latency_ns));
        report.distributions.insert("lateness_ns".to_owned(), counts(&outcome.lateness_ns));
        Ok(())
    }
}

impl Running for Testing {
    fn check(&mut self) -> Result<(), Trouble> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    fn look(&mut self) -> Numbers {
        if self.best_mpps.is_some() {
            return Numbers::new();
        }
        let over = self.running.as_ref().is_none_or(JoinHandle::is_finished);
        [(OVER.to_owned(), f64::from(u8::from(over)))].into()
    }

    fn begin(&mut self) {
        let _ = self.halt();
        let Some(mut ports) = self.ports.take() else { return };
        self.load.run = self.load.run.wrapping_add(1);
        let (trace, ways) = (Arc::clone(&self.trace), Arc::clone(&self.ways));
        let (load, stop) = (self.load, Arc::clone(&self.stop));
        self.running = Some(std::thread::spawn(move || {
            stay();
            let outcome = run_until(&mut ports, (&trace, &ways), &load, &stop);
            (ports, outcome)
        }));
    }

    fn end(&mut self, report: &mut Report) {
        if let Err(trouble) = self.report(report) {
            self.trouble = Some(trouble);
        }
    }
}

impl Drop for Testing {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.halt();
        self.ports.iter_mut().flatten().for_each(Port::stop);
    }
}

/// The tester's thread stays on its CPU; where it may not choose, it runs all the same.
fn stay() {
    if let Some(cpu) = tester_cpu() {
        let _ = ranlab_net::pin_thread(cpu);
    }
}

/// Rings of the connection with the switch.
fn shape(part: &RingTesterPart) -> Result<Shape, Trouble> {
    if part.cores > 1 {
        return Ok(Shape::each_way(part.ring, rings(part.cores)?));
    }
    Ok(Shape::one(part.ring, crate::switches::rings_back(&part.engine)))
}

/// By which ring each packet of the trace leaves, where the switch has several cores: a user's packets in both directions reach
/// one core, as a network card would see to.
fn ways(part: &RingTesterPart, pipeline: &Pipeline, trace: &Trace) -> Result<Arc<[usize]>, Trouble> {
    if part.cores < 2 {
        return Ok(Arc::new([]));
    }
    let spread = Spread::new(&pipeline.build().map_err(rig)?, part.cores).map_err(rig)?;
    Ok(spread.workers(trace).into())
}

/// What is sent: the trace as the switch under test understands it.
fn trace(part: &RingTesterPart, pipeline: &Pipeline) -> Result<Trace, Trouble> {
    let whole = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
    let Some(backend) = named(&part.engine) else { return Ok(whole) };
    let declaration = pipeline.build().map_err(rig)?;
    let directions = crate::switches::directions(part.traffic.0.dir);
    let equivalences = backend.equivalences(&Asked { declaration: &declaration, directions: &directions });
    let mut trace = Trace::default();
    for (port, frame) in whole.iter() {
        let mut frame = frame.to_vec();
        normalise(&mut frame, input(&equivalences));
        trace.push(port, &frame);
    }
    Ok(trace)
}

/// Whose fault it is that a run did not end well.
fn wrong(error: TesterError) -> Trouble {
    match error {
        TesterError::Port { .. } => sut(error),
        error => rig(error),
    }
}

/// The tester against a device of its own that looks at nothing, as fast as it goes: what comes back, in millions a second.
fn itself(trace: &Arc<Trace>, ways: &Arc<[usize]>, shape: Shape) -> Result<f64, Trouble> {
    let mut folder = Folder::default();
    let sockets = sockets(&folder.made()?);
    let under_test = ports(&sockets, Role::Master, shape)?;
    let over = Arc::new(AtomicBool::new(false));
    let (ended, enough) = (Arc::clone(&over), Arc::new(AtomicBool::new(false)));
    let device = std::thread::spawn(move || bare(under_test, &ended));
    let ran = connected(&sockets, shape).and_then(|mut both| {
        let (trace, ways, told) = (Arc::clone(trace), Arc::clone(ways), Arc::clone(&enough));
        let load = Load { late_after: Duration::MAX, ..Load::new(FLOOD_PER_S, Duration::from_secs(1)) };
        let tester = std::thread::spawn(move || {
            stay();
            let outcome = run_until(&mut both, (&trace, &ways), &load, &told);
            (both, outcome)
        });
        std::thread::sleep(FLOOD_FOR);
        enough.store(true, Ordering::Relaxed);
        tester.join().map_err(|_| rig("the tester died in its own test"))
    });
    over.store(true, Ordering::Relaxed);
    let ledger = device.join().map_err(|_| rig("the tester's own device died"))?;
    let own = |error: &dyn std::fmt::Display| rig(format!("the tester's own test: {error}"));
    // Its ports have to be there until the device has been asked.
    let (_ports, outcome) = ran?;
    let (outcome, ledger) = (outcome.map_err(|error| own(&error))?, ledger.map_err(|error| own(&error))?);
    match ledger.unknown(&outcome.tally) {
        Ok(0) => Ok(outcome.tally.received as f64 / outcome.took.as_secs_f64().max(1e-9) / 1e6),
        Ok(unknown) => Err(own(&format!("{unknown} packets were lost, and nobody knows where"))),
        Err(error) => Err(own(&error)),
    }
}

/// A device that looks at nothing, until it is told to end; what it has counted.
fn bare(ports: [Port; 2], over: &AtomicBool) -> Result<Ledger, PortError> {
    let mut device = Device::new(ports, Work::Cross, 0).on(device_cpus());
    while !over.load(Ordering::Relaxed) {
        if device.meet().unwrap_or(false) {
            device.serve(over)?;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(device.ledger())
}
