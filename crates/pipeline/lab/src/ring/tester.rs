//! The tester of tier `ring` as a component. It sends at a fixed schedule (open loop) and accounts for every packet.
//! Beginning a window starts a run, which ends without a further request. [`OVER`] signals the end.
//!
//! Without sockets the tester measures itself. It floods its own bare device and reports the maximum rate of tester and
//! rings.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::memif::device::{Device, Work};
use crate::memif::tester::{Load, Outcome, TesterError, run_until};
use crate::memif::{Port, PortError, Role};
use ranlab_pipeline::backends::{BackendRequest, input, named, normalise};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::rss::RssHash;
use ranlab_pipeline::tester::{DeviceCounters, Inconsistent};
use ranlab_pipeline::trace::{Trace, Traffic};
use serde::{Deserialize, Serialize};

use super::{Shape, connected, device_cpus, ports, rings, sockets, tester_cpu};
use crate::captured;
use ranlab_lab::OVER;
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Counters, Report};
use ranlab_lab::{RunningComponent, config, counts, rig, sut};

/// Duration of the self-test.
const FLOOD_FOR: Duration = Duration::from_millis(200);
/// Load of the self-test in packets per second, which no tester reaches.
const FLOOD_PER_S: u64 = 50_000_000;

config! {
    /// A tester connected to the ports of a switch.
    pub struct RingTesterComponent {
        /// use case whose packets are sent
        pipeline: Option<JsonField<Pipeline>> = None, wiring();
        /// traffic to send
        traffic: JsonField<Traffic> = JsonField::default(), wiring();
        /// captures whose packets are sent instead of generated ones
        trace: Vec<PathBuf> = Vec::new(), wiring();
        /// forwarding engine under test; packets with features that it does not support are not sent
        engine: String = "native".to_owned(), wiring();
        /// program that controls another generator (docs/how-to/plugins.md); without it, the tester sends packets
        /// itself
        plugin: Option<String> = None, local();
        /// socket of the switch's access port; empty: no switch, the tester measures itself
        access: String = String::new(), wiring();
        /// socket of the switch's core port
        core: String = String::new(), wiring();
        /// size of a ring, as binary logarithm of its descriptors
        ring: u8 = 10, wiring();
        /// number of cores of the switch over which flows are distributed, with separate rings for each
        cores: usize = 1, wiring();
        /// duration of the measurement
        duration: Duration = Duration::from_secs(1), wiring();
        /// time of sending before the measurement; packets of this time are not counted
        warm_up: Duration = Duration::ZERO, wiring();
        /// number that marks the packets of a run
        run: u32 = 1, wiring();
        /// packets sent per second in both directions together, regardless of losses
        rate: u64 = 100_000, range(1, 100_000_000), unit("1/s");
        /// maximum send delay of a packet; packets that are later are counted as late and not sent
        late_after: Duration = Duration::from_millis(1);
        /// time to wait for outstanding packets after the last one was sent
        drain: Duration = Duration::from_secs(1);
        /// pause of the tester in the middle of a window, to test that unsent packets are reported
        stall: Duration = Duration::ZERO;
    }
}

/// Counters of a tester in one window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RingOutcome {
    /// Packets that were due.
    pub due: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets not sent because they were overdue by more than `late_after`.
    pub late: u64,
    /// Packets not sent because the ring towards the switch was full.
    pub ring_full: u64,
    /// Packets not sent because they are longer than the switch's buffers.
    pub unfit: u64,
    /// Packets that returned.
    pub received: u64,
    /// Packets that returned after a packet that was sent later.
    pub misordered: u64,
    /// Packets that returned more than once.
    pub duplicated: u64,
    /// Received packets that do not belong to this run.
    pub unknown: u64,
    /// Packets received with invalid descriptors.
    pub malformed: u64,
    /// Packets sent that the switch never took out of the ring.
    pub waiting: u64,
    /// Time from the first due packet to the last returned packet, in nanoseconds.
    pub took_ns: u64,
    /// Time from the first due packet until the last packet was sent, in nanoseconds. 0 if a plug-in does not report
    /// it.
    #[serde(default)]
    pub window_ns: u64,
    /// Packets that returned within `window_ns`.
    #[serde(default)]
    pub received_in_window: u64,
}

impl RingOutcome {
    fn from_outcome(outcome: &Outcome) -> Self {
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
            unknown: tally.unknown,
            malformed: tally.malformed,
            waiting: outcome.waiting,
            took_ns: u64::try_from(outcome.took.as_nanos()).unwrap_or(u64::MAX),
            window_ns: u64::try_from(outcome.window.as_nanos()).unwrap_or(u64::MAX),
            received_in_window: outcome.received_in_window,
        }
    }

    /// Returns the packets per second that returned during the sending window. Plug-ins have no window, so the time
    /// until the last packet is used for them.
    #[must_use]
    pub fn carried_per_s(&self) -> f64 {
        let (packets, ns) = match self.window_ns {
            0 => (self.received, self.took_ns),
            window_ns => (self.received_in_window, window_ns),
        };
        packets as f64 * 1e9 / ns.max(1) as f64
    }

    /// Returns the number of lost packets without a known cause, according to the switch's counters.
    ///
    /// # Errors
    ///
    /// The counters are not consistent.
    pub fn unknown(&self, ledger: &DeviceCounters) -> Result<u64, Inconsistent> {
        ledger.remainder((self.due, self.late + self.ring_full + self.unfit), (self.sent, self.received))
    }
}

type Ran = ([Port; 2], Result<Outcome, TesterError>);

/// A tester that is connected to a switch, or that has measured itself.
pub(crate) struct RunningTester {
    trace: Arc<Trace>,
    /// Ring on which each packet of the trace is sent. Empty if the port selects the ring by flow.
    ways: Arc<[usize]>,
    load: Load,
    ports: Option<[Port; 2]>,
    running: Option<JoinHandle<Ran>>,
    stop: Arc<AtomicBool>,
    /// The maximum rate of tester and rings, in millions of packets per second.
    best_mpps: Option<f64>,
    trouble: Option<ComponentError>,
}

impl RunningTester {
    pub(crate) fn start(part: &RingTesterComponent) -> Result<Self, ComponentError> {
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let trace = Arc::new(trace(part, pipeline)?);
        let ways = ways(part, pipeline, &trace)?;
        let shape = shape(part)?;
        let rate = part.rate;
        let duration = part.duration;
        let run = part.run;
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
            // The warm-up has another mark, so that its late packets are not counted in the window.
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

    fn report(&mut self, report: &mut Report) -> Result<(), ComponentError> {
        if let Some(best) = self.best_mpps {
            report.numbers.insert("tester_mpps".to_owned(), best);
            return Ok(());
        }
        let outcome =
            self.halt().ok_or_else(|| rig("no run was begun, or its thread died"))?.map_err(wrong)?;
        let own = RingOutcome::from_outcome(&outcome);
        // The rings cannot duplicate or damage packets, so this is an error of the switch.
        if own.duplicated + own.malformed > 0 {
            let twice = own.duplicated;
            let bad = own.malformed;
            return Err(sut(format!(
                "{twice} packets came back twice, and {bad} came back with invalid descriptors"
            )));
        }
        report.detail = serde_json::to_value(&own).map_err(rig)?;
        report.distributions.insert("latency_ns".to_owned(), counts(&outcome.latency_ns));
        report.distributions.insert("send_delay_ns".to_owned(), counts(&outcome.lateness_ns));
        Ok(())
    }
}

impl RunningComponent for RunningTester {
    fn check(&mut self) -> Result<(), ComponentError> {
        self.trouble.take().map_or(Ok(()), Err)
    }

    fn counters(&mut self) -> Counters {
        if self.best_mpps.is_some() {
            return Counters::new();
        }
        let over = self.running.as_ref().is_none_or(JoinHandle::is_finished);
        [(OVER.to_owned(), f64::from(u8::from(over)))].into()
    }

    fn begin(&mut self) {
        let _ = self.halt();
        let Some(mut ports) = self.ports.take() else { return };
        self.load.run = self.load.run.wrapping_add(1);
        let trace = Arc::clone(&self.trace);
        let ways = Arc::clone(&self.ways);
        let load = self.load;
        let stop = Arc::clone(&self.stop);
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

impl Drop for RunningTester {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.halt();
        self.ports.iter_mut().flatten().for_each(Port::stop);
    }
}

/// Pins the tester's thread to its CPU. Without permission, the thread runs unpinned.
fn stay() {
    if let Some(cpu) = tester_cpu() {
        let _ = ranlab_net::pin_thread(cpu);
    }
}

/// Returns the number and size of rings of the connection with the switch.
fn shape(part: &RingTesterComponent) -> Result<Shape, ComponentError> {
    if part.cores > 1 {
        return Ok(Shape::each_way(part.ring, rings(part.cores)?));
    }
    Ok(Shape::one(part.ring, crate::switches::rings_back(&part.engine)))
}

/// Returns the ring of each packet of the trace, if the switch has several cores. As with a network card, the packets
/// of a user reach the same core in both directions.
fn ways(
    part: &RingTesterComponent,
    pipeline: &Pipeline,
    trace: &Trace,
) -> Result<Arc<[usize]>, ComponentError> {
    if part.cores < 2 {
        return Ok(Arc::new([]));
    }
    let spread = RssHash::new(&pipeline.build().map_err(rig)?, part.cores).map_err(rig)?;
    Ok(spread.workers(trace).into())
}

/// Returns the trace to be sent, normalised for the switch under test.
fn trace(part: &RingTesterComponent, pipeline: &Pipeline) -> Result<Trace, ComponentError> {
    let whole = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
    let Some(backend) = named(&part.engine) else { return Ok(whole) };
    let declaration = pipeline.build().map_err(rig)?;
    let directions = crate::switches::directions(part.traffic.0.dir);
    let equivalences =
        backend.equivalences(&BackendRequest { declaration: &declaration, directions: &directions });
    let mut trace = Trace::default();
    for (port, frame) in whole.iter() {
        let mut frame = frame.to_vec();
        normalise(&mut frame, input(&equivalences));
        trace.push(port, &frame);
    }
    Ok(trace)
}

/// Classifies the error of a run.
fn wrong(error: TesterError) -> ComponentError {
    match error {
        TesterError::Port { .. } => sut(error),
        error => rig(error),
    }
}

/// Runs the tester at full speed against its own bare device. Returns the rate of packets that return, in millions per
/// second.
fn itself(trace: &Arc<Trace>, ways: &Arc<[usize]>, shape: Shape) -> Result<f64, ComponentError> {
    let mut folder = Folder::default();
    let sockets = sockets(&folder.made()?);
    let under_test = ports(&sockets, Role::Master, shape)?;
    let over = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&over);
    let enough = Arc::new(AtomicBool::new(false));
    let device = std::thread::spawn(move || bare(under_test, &ended));
    let ran = connected(&sockets, shape).and_then(|mut both| {
        let trace = Arc::clone(trace);
        let ways = Arc::clone(ways);
        let stop = Arc::clone(&enough);
        let load = Load { late_after: Duration::MAX, ..Load::new(FLOOD_PER_S, Duration::from_secs(1)) };
        let tester = std::thread::spawn(move || {
            stay();
            let outcome = run_until(&mut both, (&trace, &ways), &load, &stop);
            (both, outcome)
        });
        std::thread::sleep(FLOOD_FOR);
        enough.store(true, Ordering::Relaxed);
        tester.join().map_err(|_| rig("the tester's thread panicked in the self-test"))
    });
    over.store(true, Ordering::Relaxed);
    let ledger = device.join().map_err(|_| rig("the thread of the self-test's device panicked"))?;
    let own = |error: &dyn std::fmt::Display| rig(format!("the self-test of the tester: {error}"));
    // The ports must exist until the device has replied.
    let (_ports, outcome) = ran?;
    let outcome = outcome.map_err(|error| own(&error))?;
    let ledger = ledger.map_err(|error| own(&error))?;
    match ledger.unknown(&outcome.tally) {
        Ok(0) => Ok(outcome.tally.received as f64 / outcome.took.as_secs_f64().max(1e-9) / 1e6),
        Ok(unknown) => Err(own(&format!("{unknown} packets were lost for an unknown reason"))),
        Err(error) => Err(own(&error)),
    }
}

/// Runs a bare device until `over` is set. Returns its counters.
fn bare(ports: [Port; 2], over: &AtomicBool) -> Result<DeviceCounters, PortError> {
    let mut device = Device::new(ports, Work::Cross, 0).on(device_cpus());
    while !over.load(Ordering::Relaxed) {
        if device.connect().unwrap_or(false) {
            device.serve(over)?;
        } else {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(device.ledger())
}
