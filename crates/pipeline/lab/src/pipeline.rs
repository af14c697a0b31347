//! Runs ranlab's packet engine on packets from memory. Each core replays its share of a trace, and a control thread
//! changes the tables.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_host::thread_cpu_ns;
use ranlab_pipeline::backends::Tier;
use ranlab_pipeline::declare::{Event, Port, Verdict};
use ranlab_pipeline::engine::{BURST, Burst, Control, Counters, Engine, Isa};
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::rss::{Balance, RssHash};
use ranlab_pipeline::trace::{Trace, Traffic};

use crate::captured;
use crate::components::NATIVE;
use crate::ring::RingCounters;
use crate::ring::device::BARE;
use ranlab_lab::choices;
use ranlab_lab::config;
use ranlab_lab::field::JsonField;
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{RunningComponent, counts, environment, rig, sut};

/// Number of bursts between two clock readings. A clock reading costs about as much as one packet.
const BURSTS_PER_LOOK: u32 = 16;
/// Duration of the bare copy loop before and after each window.
const COPY_FOR: Duration = Duration::from_millis(50);
/// Maximum value of the histograms of burst times and update times, in nanoseconds.
const LONGEST_NS: u64 = 10_000_000_000;
/// Length of the last interval of a window. A change due in this interval may still be in progress at
/// the end of the window.
const LAST_MOMENT: Duration = Duration::from_millis(20);
/// Maximum sleep of the control thread before it checks whether the window has ended.
const NAP: Duration = Duration::from_millis(1);

choices! {
    /// Instruction sets for which the engine is built. An instruction set that the processor lacks is rejected.
    pub enum Instructions {
        /// AVX2 and bit manipulation.
        Wide = "wide",
        /// The architecture's baseline, which every processor supports.
        Baseline = "baseline",
    }
}

config! {
    /// A pipeline, its traffic, and its number of cores.
    pub struct PipelineComponent {
        /// use case to forward and its parameters
        pipeline: Option<JsonField<Pipeline>> = None, wiring();
        /// traffic offered to the switch
        traffic: JsonField<Traffic> = JsonField::default(), wiring();
        /// forwarding engine: "native", or a backend of `ranlab_pipeline::backends`
        engine: String = "native".to_owned(), wiring();
        /// engine "plugin": program that controls the switch (docs/how-to/plugins.md)
        plugin: Option<String> = None, local();
        /// engine "openflow": address at which the switch accepts OpenFlow connections, tcp:HOST:PORT; the switch must
        /// already run and is not stopped
        address: Option<String> = None;
        /// OpenFlow number of the switch's port on the access side
        access_port: u32 = 1, range(1, 0xffff_feff);
        /// OpenFlow number of the switch's port on the core side
        core_port: u32 = 2, range(1, 0xffff_feff);
        /// interface of this machine that is connected to the switch's port on the access side
        access_interface: Option<String> = None, local();
        /// interface of this machine that is connected to the switch's port on the core side
        core_interface: Option<String> = None, local();
        /// engine "vpp": folder of its build, with bin/vpp, bin/vppctl and lib/*/vpp_plugins; without it, vpp is found
        /// in PATH
        build: Option<String> = None, local();
        /// packet I/O of the switch, e.g. mem or ring
        tier: String = "mem".to_owned(), wiring();
        /// number of forwarding cores; flows are distributed by a hash
        cores: usize = 1, range(1, 128), unit("cores");
        /// instruction set: wide (AVX2 and bit manipulation) or baseline (supported by every processor)
        isa: Instructions = Instructions::Wide;
        /// captures whose packets are sent instead of generated ones
        trace: Vec<PathBuf> = Vec::new(), local();
        /// number of packets checked against the oracle before measuring
        verify: usize = 4_096, range(0, 1 << 24);
        /// tier ring: size of a ring in each direction, as binary logarithm of its descriptors; a third-party switch
        /// has its own size
        ring: u8 = 10, range(4, 14);
        /// tier ring, engines native and bare: drop one of this many packets on purpose, to test that the loss is
        /// reported; 0: none
        drop_every: u64 = 0, range(0, 1 << 32);
        /// tier ring, engines native and bare: number of packets after which the switch accepts none, to test that full
        /// rings are reported
        hang_after: Option<u64> = None;
    }
}

impl PipelineComponent {
    /// Returns whether the device behind the rings is ranlab's engine or the bare cross-connect.
    pub(crate) fn in_ring(&self) -> bool {
        self.engine == BARE || self.engine == NATIVE && self.tier == Tier::Ring.name()
    }
}

/// A verified engine between or during windows.
pub(crate) struct RunningEngine {
    pipeline: Pipeline,
    parts: Arc<[Trace]>,
    balance: Balance,
    engines: Vec<Engine>,
    control: Option<Control>,
    running: Option<Window>,
    verified: usize,
    frame_bytes_mean: f64,
}

/// A window in progress.
struct Window {
    stop: Arc<AtomicBool>,
    workers: Vec<JoinHandle<Core>>,
    control: JoinHandle<(Control, Changes)>,
}

/// Results of one worker in a window.
struct Core {
    engine: Engine,
    before: Counters,
    dropped_before: RingCounters,
    packets: u64,
    cpu_ns: u64,
    copy_mpps: f64,
    burst_ns: Histogram<u64>,
}

/// Results of the control thread in a window.
pub(crate) struct Changes {
    /// Changes due by the schedule, including changes that were not sent.
    pub(crate) due: u64,
    pub(crate) sent: u64,
    pub(crate) late: u64,
    pub(crate) refused: u64,
    pub(crate) visible_ns: Histogram<u64>,
}

impl Changes {
    /// Returns empty results.
    pub(crate) fn none() -> Self {
        Self { due: 0, sent: 0, late: 0, refused: 0, visible_ns: histogram() }
    }
}

impl RunningEngine {
    pub(crate) fn start(part: &PipelineComponent) -> Result<Self, ComponentError> {
        if part.tier != Tier::Mem.name() {
            return Err(environment(format!(
                "`sut.tier` \"{}\" is not supported by \"native\"; allowed are mem, ring",
                part.tier
            )));
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        if part.cores > cpus {
            return Err(environment(format!(
                "{} cores are requested, but only {cpus} are available",
                part.cores
            )));
        }
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let isa = isa(part)?;
        let declaration = pipeline.build().map_err(rig)?;
        let trace = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
        let spread = RssHash::new(&declaration, part.cores).map_err(rig)?;
        let (mut verifying, _control) = Engine::start(&declaration, part.cores, isa).map_err(rig)?;
        let verified = verify(pipeline, &trace, (&spread, &mut verifying), part.verify)?;
        drop(verifying);
        let parts = spread.divide(&trace);
        let (engines, control) = Engine::start(&declaration, part.cores, isa).map_err(rig)?;
        let octets: usize = trace.iter().map(|(_, frame)| frame.len()).sum();
        Ok(Self {
            pipeline: pipeline.clone(),
            balance: Balance::from_parts(&parts),
            parts: parts.into(),
            engines,
            control: Some(control),
            running: None,
            verified,
            frame_bytes_mean: octets as f64 / trace.len().max(1) as f64,
        })
    }

    fn halt(&mut self) -> Option<(Vec<Core>, Changes)> {
        let window = self.running.take()?;
        window.stop.store(true, Ordering::Relaxed);
        let cores: Vec<Core> = window.workers.into_iter().filter_map(|worker| worker.join().ok()).collect();
        let (control, changes) = window.control.join().ok()?;
        self.control = Some(control);
        Some((cores, changes))
    }
}

/// Returns the bit rate of the sent packets on a wire, in Gbit/s, with preamble, gap and FCS. Returns `None` if no
/// packet is sent.
pub(crate) fn gbps(mpps: f64, frame_bytes: f64, drop_ratio: f64) -> Option<f64> {
    let leaves = 1.0 - drop_ratio;
    (leaves > 0.0 && mpps.is_finite()).then(|| mpps * leaves * (frame_bytes + 24.0) * 8.0 / 1e3)
}

impl RunningComponent for RunningEngine {
    fn begin(&mut self) {
        let _ = self.halt();
        let Some(control) = self.control.take() else { return };
        let stop = Arc::new(AtomicBool::new(false));
        let spawn = |(index, engine): (usize, Engine)| {
            let parts = Arc::clone(&self.parts);
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || forward(engine, &parts[index], &stop))
        };
        let workers = std::mem::take(&mut self.engines).into_iter().enumerate().map(spawn).collect();
        let pipeline = self.pipeline.clone();
        let stopped = Arc::clone(&stop);
        let control = std::thread::spawn(move || change(&pipeline, control, &stopped));
        self.running = Some(Window { stop, workers, control });
    }

    fn end(&mut self, report: &mut Report) {
        let Some((cores, changes)) = self.halt() else { return };
        let rates: Vec<f64> = cores.iter().map(|c| c.packets as f64 * 1e3 / c.cpu_ns.max(1) as f64).collect();
        let total: usize = self.balance.packets.iter().sum();
        // Each core receives a fixed share of the traffic, as in the trace. The slowest core relative to its share
        // therefore limits the total rate.
        let whole = rates.iter().zip(&self.balance.packets).filter(|(_, packets)| **packets > 0);
        let mpps =
            whole.map(|(rate, packets)| rate * total as f64 / *packets as f64).fold(f64::INFINITY, f64::min);
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        let copy = cores.iter().map(|core| core.copy_mpps).sum::<f64>() / cores.len().max(1) as f64;
        let mut set = |name: &str, value: f64| report.numbers.insert(name.to_owned(), value);
        set("mpps", if mpps.is_finite() { mpps } else { 0.0 });
        set("mpps_per_core", mean);
        set("ns_per_packet", 1e3 / mean.max(1e-9));
        // The normalized rate equals the rate, because input and output cost as much as the copy loop here.
        set("mpps_normalized", mean);
        set("io_ns", if copy > 0.0 { 1e3 / copy } else { 0.0 });
        set("trace_packets", total as f64);
        set("copy_mpps", copy);
        set("copy_share", if copy > 0.0 { mean / copy } else { 0.0 });
        set("frame_bytes_mean", self.frame_bytes_mean);
        set("core_imbalance", self.balance.busiest_over_mean());
        set("verified_packets", self.verified as f64);
        set("updates_due", changes.due.max(changes.sent) as f64);
        set("updates_sent", changes.sent as f64);
        set("updates_late", changes.late as f64);
        set("updates_refused", changes.refused as f64);
        let did = |of: &dyn Fn(&Counters) -> u64| -> f64 {
            cores.iter().map(|core| of(&core.engine.counters()) - of(&core.before)).sum::<u64>() as f64
        };
        let received = did(&|c| c.received.iter().sum());
        let drop_ratio = did(&|c| c.dropped.iter().sum()) / received.max(1.0);
        set("drop_ratio", drop_ratio);
        if let Some(gbps) = gbps(mpps, self.frame_bytes_mean, drop_ratio) {
            set("gbps", gbps);
        }
        set("changes_refused", did(&|c| c.changes_refused));
        let mut dropped = RingCounters::default();
        for core in &cores {
            dropped.add(&RingCounters::of_engine(&core.engine).since(&core.dropped_before));
        }
        report.detail = serde_json::to_value(&dropped).unwrap_or_default();
        let memory: Vec<_> = cores.iter().map(|core| core.engine.memory()).collect();
        let (requested, huge) = memory.iter().fold((0, 0), |(a, h), m| (a + m.asked_bytes, h + m.huge_bytes));
        set("huge_page_ratio", if requested == 0 { 1.0 } else { huge as f64 / requested as f64 });
        let mut bursts = histogram();
        for core in &cores {
            // Both histograms have the same bounds and precision, so no sample is lost.
            let _ = bursts.add(&core.burst_ns);
        }
        report.distributions.insert("burst_ns".to_owned(), counts(&bursts));
        report.distributions.insert("update_applied_ns".to_owned(), counts(&changes.visible_ns));
        self.engines = cores.into_iter().map(|core| core.engine).collect();
    }
}

impl Drop for RunningEngine {
    fn drop(&mut self) {
        let _ = self.halt();
    }
}

/// Returns the instruction set of a component's engine, or an error if this processor lacks it.
pub(crate) fn isa(part: &PipelineComponent) -> Result<Isa, ComponentError> {
    let isa = if part.isa == Instructions::Wide { Isa::Wide } else { Isa::Baseline };
    if isa == Isa::Wide && Isa::detect() != Isa::Wide {
        return Err(environment("this processor has no AVX2: `sut.isa` must be \"baseline\""));
    }
    Ok(isa)
}

/// Compares verdicts and bytes of all engines with the oracle. Each engine processes its share of the trace, and the
/// oracle processes all packets as a single switch. Returns the number of compared packets.
pub(crate) fn verify(
    pipeline: &Pipeline,
    trace: &Trace,
    (spread, engines): (&RssHash, &mut [Engine]),
    most: usize,
) -> Result<usize, ComponentError> {
    let mut oracle = pipeline.oracle().map_err(rig)?;
    let mut bursts: Vec<Burst> = engines.iter().map(|_| Burst::new()).collect();
    let most = most.min(trace.len());
    for first in (0..most).step_by(BURST) {
        // The oracle must have the same order as the engine, which processes the packets of one port before the packets
        // of the other port.
        let mut packets: Vec<_> = trace.range(first, BURST.min(most - first)).collect();
        packets.sort_by_key(|(port, _)| *port as usize);
        bursts.iter_mut().for_each(Burst::clear);
        let place = |(port, frame): &(Port, &[u8])| {
            let worker = spread.worker(*port, frame);
            let burst = bursts.get_mut(worker).ok_or_else(|| rig("a packet is assigned to no core"))?;
            let index = burst.len();
            burst.push(*port, frame).map(|()| (worker, index)).map_err(rig)
        };
        let places: Vec<(usize, usize)> = packets.iter().map(place).collect::<Result<_, _>>()?;
        let now_ns = first as u64 * 50;
        engines.iter_mut().zip(&mut bursts).for_each(|(engine, burst)| engine.process(now_ns, burst));
        for (i, ((port, frame), (worker, index))) in packets.iter().zip(places).enumerate() {
            let burst = &bursts[worker];
            let mut expected = frame.to_vec();
            let verdict = oracle.process(now_ns, *port, &mut expected);
            let found = burst.fate(index);
            let same = found == Some(verdict)
                && (!matches!(verdict, Verdict::Sent(_)) || burst.frame(index) == expected);
            if !same {
                return Err(sut(format!(
                    "the verdict on packet {} of the trace is {found:?}, but the oracle expects {verdict:?}: nothing is measured",
                    first + i
                )));
            }
        }
    }
    Ok(most)
}

pub(crate) fn histogram() -> Histogram<u64> {
    // The bounds are constants that the library accepts: 1 to 10^10 with three digits.
    #[allow(clippy::unwrap_used)]
    Histogram::new_with_bounds(1, LONGEST_NS, 3).unwrap()
}

/// Replays a core's share of the trace until `stop` is set.
fn forward(mut engine: Engine, part: &Trace, stop: &AtomicBool) -> Core {
    let mut burst = Burst::new();
    let copied_before = copy(part, &mut burst);
    let before = engine.counters();
    let dropped_before = RingCounters::of_engine(&engine);
    let mut burst_ns = histogram();
    let mut packets = 0;
    let mut number = 0_u32;
    let mut first = 0;
    let begun = Instant::now();
    let cpu = thread_cpu_ns().unwrap_or(0);
    let mut now_ns = 0;
    while !stop.load(Ordering::Relaxed) {
        if part.is_empty() {
            std::thread::sleep(NAP);
            continue;
        }
        packets += part.load(first, &mut burst) as u64;
        first = if first + BURST < part.len() { first + BURST } else { 0 };
        number = number.wrapping_add(1);
        if number.is_multiple_of(BURSTS_PER_LOOK) {
            let look = Instant::now();
            now_ns = begun.elapsed().as_nanos() as u64;
            engine.process(now_ns, &mut burst);
            burst_ns.saturating_record(look.elapsed().as_nanos() as u64);
        } else {
            engine.process(now_ns, &mut burst);
        }
    }
    let cpu_ns = thread_cpu_ns().unwrap_or(0).saturating_sub(cpu);
    let copy_mpps = f64::midpoint(copied_before, copy(part, &mut burst));
    Core { engine, before, dropped_before, packets, cpu_ns, copy_mpps, burst_ns }
}

/// Runs the bare copy loop, which only copies packets into bursts. Returns its rate.
pub(crate) fn copy(part: &Trace, burst: &mut Burst) -> f64 {
    let begun = Instant::now();
    let cpu = thread_cpu_ns().unwrap_or(0);
    let mut packets = 0;
    let mut first = 0;
    while begun.elapsed() < COPY_FOR && !part.is_empty() {
        for _ in 0..64 {
            packets += part.load(first, burst);
            first = if first + BURST < part.len() { first + BURST } else { 0 };
            std::hint::black_box(&mut *burst);
        }
    }
    packets as f64 * 1e3 / thread_cpu_ns().unwrap_or(0).saturating_sub(cpu).max(1) as f64
}

/// Sends the events of each second at their times until `stop` is set.
pub(crate) fn change(pipeline: &Pipeline, mut control: Control, stop: &AtomicBool) -> (Control, Changes) {
    let begun = Instant::now();
    let mut changes = Changes::none();
    send_until(stop, pipeline, &mut control, begun, &mut changes);
    changes.due = due_within(pipeline, begun.elapsed());
    (control, changes)
}

/// Returns the number of changes due within `time`, without the last interval, in which changes may still be in
/// progress.
pub(crate) fn due_within(pipeline: &Pipeline, time: Duration) -> u64 {
    let time = time.saturating_sub(LAST_MOMENT);
    let sent_in = |second: u64| {
        let events = pipeline.events(second).unwrap_or_default();
        let at = |event: &Event| Duration::from_secs(second) + Duration::from_nanos(event.at_ns);
        events.iter().filter(|event| at(event) < time).count() as u64
    };
    (0..=time.as_secs()).map(sent_in).sum()
}

/// Sends each change when it is due, until the window ends.
fn send_until(
    stop: &AtomicBool,
    pipeline: &Pipeline,
    control: &mut Control,
    begun: Instant,
    changes: &mut Changes,
) {
    for second in 0.. {
        // The events were validated when the component started.
        let events = pipeline.events(second).unwrap_or_default();
        for event in &events {
            let send_at = Duration::from_secs(second) + Duration::from_nanos(event.at_ns);
            if !wait(begun, send_at, stop) {
                return;
            }
            send(control, event, stop, changes);
            changes.late += u64::from(begun.elapsed() > send_at + NAP);
        }
        if !wait(begun, Duration::from_secs(second + 1), stop) {
            return;
        }
    }
}

/// Waits until a change is due. Returns false if the window ends earlier.
pub(crate) fn wait(begun: Instant, until: Duration, stop: &AtomicBool) -> bool {
    loop {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        let left = until.saturating_sub(begun.elapsed());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(NAP));
    }
}

/// Sends an update and waits until every worker has applied it.
fn send(control: &mut Control, event: &Event, stop: &AtomicBool, changes: &mut Changes) {
    let sent = Instant::now();
    let Ok(number) = control.send(&event.changes) else {
        changes.refused += 1;
        return;
    };
    changes.sent += 1;
    while control.visible() < number {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        std::hint::spin_loop();
    }
    changes.visible_ns.saturating_record(sent.elapsed().as_nanos() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ranlab_pipeline::trace::Directions;

    fn component(json: &str) -> PipelineComponent {
        let pipeline = serde_json::from_str(json).unwrap();
        let traffic = Traffic { pkt_num: 4096, ..Traffic::default() };
        let isa = Instructions::Baseline;
        PipelineComponent {
            pipeline: Some(JsonField(pipeline)),
            traffic: JsonField(traffic),
            isa,
            verify: 1024,
            ..Default::default()
        }
    }

    #[test]
    fn engine_forwards_and_applies_changes_in_a_window() {
        let json = r#"{"name":"mgw","user":30,"bst":4,"server":9,"handover":500,"rate-limit":1000000000000,
            "rate-burst":4000000000}"#;
        let mut forwarder = RunningEngine::start(&component(json)).unwrap();
        let mut window = || {
            let mut report = Report::default();
            forwarder.begin();
            std::thread::sleep(Duration::from_millis(200));
            forwarder.end(&mut report);
            report
        };
        for _ in 0..2 {
            // On a busy machine, a window may forward nothing or apply no changes, so up to 20 windows are tried.
            let whole = |report: &Report| {
                ["updates_sent", "mpps", "copy_mpps"].into_iter().all(|name| report.numbers[name] > 0.0)
            };
            let report = (0..20).map(|_| window()).find(whole).unwrap();
            assert_eq!(report.numbers["verified_packets"], 1024.0);
            assert_eq!((report.numbers["drop_ratio"], report.numbers["changes_refused"]), (0.0, 0.0));
            assert!(!report.distributions["update_applied_ns"].is_empty());
            assert!(!report.distributions["burst_ns"].is_empty());
        }
    }

    /// Cores with separate meters give the same results as a single switch if all packets of a user reach the same
    /// core.
    #[test]
    fn several_cores_are_verified_as_one_switch() {
        let json = r#"{"name":"mgw","user":30,"bst":4,"server":9,"rate-limit":1000,"rate-burst":500}"#;
        let part = component(json);
        let Some(JsonField(pipeline)) = &part.pipeline else { panic!("the component has no pipeline") };
        let traffic = Traffic { dir: Directions::Bidir, ..part.traffic.0 };
        let trace = Trace::generate(pipeline, &traffic).unwrap();
        let declaration = pipeline.build().unwrap();
        let by = |spread: &RssHash| {
            let (mut engines, _control) = Engine::start(&declaration, 3, Isa::Baseline).unwrap();
            verify(pipeline, &trace, (spread, &mut engines), 2_000)
        };
        assert_eq!(by(&RssHash::new(&declaration, 3).unwrap()), Ok(2_000));
        // Here packets are distributed by the flows of another pipeline. The packets of a user then reach several
        // cores, and each core applies the user's rate.
        let other: Pipeline = serde_json::from_str(r#"{"name":"portfwd"}"#).unwrap();
        let wrong = by(&RssHash::new(&other.build().unwrap(), 3).unwrap()).unwrap_err();
        assert!(wrong.what.contains("the oracle expects Dropped(Metered)"), "{wrong}");
    }

    #[test]
    fn drops_are_attributed_to_elements_by_reason() {
        let json = r#"{"name":"mgw","user":3,"bst":4,"server":9,"rate-limit":1000,"rate-burst":20000}"#;
        let mut forwarder =
            RunningEngine::start(&PipelineComponent { verify: 64, ..component(json) }).unwrap();
        let mut report = Report::default();
        let begun = Instant::now();
        while report.numbers.get("drop_ratio").is_none_or(|ratio| *ratio == 0.0) {
            assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", report.numbers);
            forwarder.begin();
            std::thread::sleep(Duration::from_millis(100));
            forwarder.end(&mut report);
        }
        let dropped: RingCounters = report.detail().unwrap();
        assert_eq!(
            dropped.places,
            [("uplink meter (metered)".to_owned(), dropped.dropped["metered"])].into()
        );
    }

    #[test]
    fn missing_instructions_are_reported() {
        let more = PipelineComponent { cores: 1000, ..component(r#"{"name":"portfwd"}"#) };
        let trouble = RunningEngine::start(&more).err().unwrap();
        assert_eq!(trouble.fault, ranlab_lab::worker::FaultOwner::Environment);
        assert!(trouble.what.contains("1000 cores"), "{trouble}");
    }

    #[test]
    fn pipeline_without_wiring_is_an_internal_error() {
        let Err(trouble) = RunningEngine::start(&PipelineComponent::default()) else {
            panic!("it forwards nothing")
        };
        assert_eq!(
            (trouble.fault, trouble.what.as_str()),
            (ranlab_lab::worker::FaultOwner::Rig, "no pipeline was named")
        );
    }
}
