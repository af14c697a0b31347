//! A third-party switch as the system under test. Its output is verified against the oracle before any measurement. The
//! switch then replays its input from memory in a loop, and receives the same table changes as ranlab's engine.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use ranlab_host::Subject;
use ranlab_pipeline::backends::{
    Backend, BackendRequest, Equivalence, Outcomes, Tier, compare, is_later_fragment, named, permitted,
    port_name,
};
use ranlab_pipeline::declare::{Declaration, Direction, Event, Port};
use ranlab_pipeline::engine::Burst;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Trace};

use super::{Driver, Losses, RemoteSwitch, Switch, SwitchCounters, SwitchJob, driver, installed, probe};
use crate::captured;
use crate::pipeline::{PipelineComponent, copy, due_within, gbps, histogram, wait};
use crate::ring::{self, RingCounters};
use ranlab_lab::field::JsonField;
use ranlab_lab::folder::Folder;
use ranlab_lab::worker::{ComponentError, Report};
use ranlab_lab::{RunningComponent, counts, environment, rig, sut};

/// Duration of the calibration run, which measures only the CPU time of input and output.
const IO_FOR: Duration = Duration::from_millis(400);
/// Maximum number of events in one batch. The batch contains the events that became due while the previous batch was
/// sent.
const AT_ONCE: usize = 1_000;
/// Delay after which an event counts as late.
const LATE: Duration = Duration::from_millis(1);

/// A verified, running switch that waits for measurement windows.
pub(crate) struct RunningSwitch {
    backend: &'static dyn Backend,
    pipeline: Pipeline,
    declaration: Arc<Declaration>,
    directions: Vec<Direction>,
    trace: Trace,
    switch: Option<Box<dyn Switch>>,
    verified: u64,
    /// Time from a change until a probe packet showed its effect, in nanoseconds. Empty without probes.
    seen: Histogram<u64>,
    io_ns: Option<f64>,
    release: Option<f64>,
    frame_bytes_mean: f64,
    /// Tier ring: the sockets on which the ports listen.
    sockets: Option<[PathBuf; 2]>,
    /// Subject of the meters. `None` if the switch runs on another machine.
    subject: Option<Subject>,
    window: Option<Window>,
    /// The error of a window, returned by the next check.
    trouble: Option<ComponentError>,
    /// Folder of the run, which must be dropped after the switch. The order of fields is the order of dropping.
    _folder: Folder,
}

/// A measurement window in progress.
struct Window {
    before: SwitchCounters,
    /// Tier ring: loss counters at the start of the window.
    lost: Losses,
    stop: Arc<AtomicBool>,
    /// The thread that applies changes. It owns the switch while it runs.
    control: Option<JoinHandle<(Box<dyn Switch>, Changes)>>,
}

/// Snapshots of a finished window: counters before and after, and the changes.
struct Ended {
    before: SwitchCounters,
    after: SwitchCounters,
    changes: Changes,
    /// Tier ring: counters of the packets that did not leave.
    lost: Option<RingCounters>,
}

/// Statistics of the changes that were applied.
struct Changes {
    due: u64,
    sent: u64,
    late: u64,
    refused: u64,
    visible_ns: Histogram<u64>,
    trouble: Option<ComponentError>,
}

impl Changes {
    fn none() -> Self {
        Self { due: 0, sent: 0, late: 0, refused: 0, visible_ns: histogram(), trouble: None }
    }
}

/// A pipeline for which the switch has produced the same output as the oracle.
pub(super) struct VerifiedPipeline {
    backend: &'static dyn Backend,
    driver: &'static dyn Driver,
    pipeline: Pipeline,
    declaration: Declaration,
    directions: Vec<Direction>,
    /// The first packets of the trace, as many as the switch can replay.
    trace: Trace,
    /// Number of packets whose output matched the oracle.
    pub(super) packets: u64,
    /// Time from a change until its effect; see [`RunningSwitch::seen`].
    seen: Histogram<u64>,
    /// Sockets of the switch's ports and the running switch, in tier `ring`.
    rings: Option<([PathBuf; 2], Box<dyn Switch>)>,
    ring: u8,
    far: Option<RemoteSwitch>,
    build: Option<PathBuf>,
    files: PathBuf,
    folder: Folder,
}

impl VerifiedPipeline {
    /// Replays the first packets of the trace and compares the output with the oracle's byte by byte.
    pub(super) fn new(part: &PipelineComponent) -> Result<Self, ComponentError> {
        let (backend, driver) = choose(part)?;
        let Some(JsonField(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let declaration = pipeline.build().map_err(rig)?;
        let directions = directions(part.traffic.0.dir);
        permitted(backend, &BackendRequest { declaration: &declaration, directions: &directions })
            .map_err(environment)?;
        let far = RemoteSwitch::from_component(part)?;
        let build = part.build.as_ref().map(PathBuf::from);
        installed(backend, build.as_deref())?;
        let whole = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
        let trace = head(&whole, driver.packets_max());
        replayable(part, trace.len())?;
        let mut folder = Folder::default();
        let files = folder.made()?;
        let pipeline = pipeline.clone();
        let ring = part.ring;
        let rings = None;
        let packets = 0;
        let seen = histogram();
        let mut own = Self {
            backend,
            driver,
            pipeline,
            declaration,
            directions,
            trace,
            packets,
            seen,
            rings,
            ring,
            far,
            build,
            files,
            folder,
        };
        let first = head(&own.trace, part.verify);
        if part.tier == Tier::Ring.name() {
            let sockets = ring::sockets(&own.files);
            // The verification uses a separate instance of the switch. Its packets pass the same path as measured
            // packets.
            let seen = RefCell::new(histogram());
            let pass = |job: &SwitchJob<'_>, equivalences: &[Equivalence]| {
                let mut switch = driver.rings(job, &sockets)?;
                let mut ports = ring::connected(&sockets, ring::Shape::one(job.ring, driver.rings_back()))?;
                let found = ring::pass(&mut ports, job.trace, equivalences).and_then(|found| {
                    *seen.borrow_mut() = probe::by_rings(job, &own.pipeline, &mut *switch, &mut ports)?;
                    Ok(found)
                });
                drop(switch);
                // A killed switch leaves socket files without a listener.
                sockets.iter().for_each(|socket| drop(std::fs::remove_file(socket)));
                found
            };
            own.packets = verify(&own.pipeline, &own.job(&first), &pass)?;
            own.seen = seen.into_inner();
            let switch = driver.rings(&own.job(&own.trace), &sockets)?;
            own.rings = Some((sockets, switch));
        } else {
            let replay = |job: &SwitchJob<'_>, _: &[Equivalence]| driver.replay(job);
            own.packets = verify(&own.pipeline, &own.job(&first), &replay)?;
            if !first.is_empty() && probe::any(&own.pipeline) {
                own.seen = driver.visible(&own.job(&first), &own.pipeline)?;
            }
        }
        Ok(own)
    }

    fn job<'a>(&'a self, trace: &'a Trace) -> SwitchJob<'a> {
        let backend = self.backend;
        let folder = self.files.as_path();
        let declaration = &self.declaration;
        let directions = &self.directions[..];
        let ring = self.ring;
        let far = self.far.as_ref();
        let build = self.build.as_deref();
        SwitchJob { backend, declaration, directions, trace, folder, ring, far, build, connects: false }
    }
}

impl RunningSwitch {
    pub(crate) fn start(part: &PipelineComponent) -> Result<Self, ComponentError> {
        let mut ready = VerifiedPipeline::new(part)?;
        let (sockets, mut switch, io_ns) = match ready.rings.take() {
            Some((sockets, switch)) => (Some(sockets), switch, None),
            None => {
                let switch = ready.driver.start(&ready.job(&ready.trace))?;
                // `io_ns` reads the same input files, which `start` has written.
                (None, switch, ready.driver.io_ns(&ready.job(&ready.trace), IO_FOR)?)
            }
        };
        let octets: usize = ready.trace.iter().map(|(_, frame)| frame.len()).sum();
        let pid = std::process::id();
        let subject = match ready.driver.runs_in_worker() {
            true => Subject::Process { pid },
            false => Subject::Below { pid },
        };
        let VerifiedPipeline {
            backend,
            pipeline,
            declaration,
            directions,
            trace,
            packets,
            seen,
            folder,
            far,
            ..
        } = ready;
        Ok(Self {
            backend,
            pipeline,
            frame_bytes_mean: octets as f64 / trace.len().max(1) as f64,
            release: switch.release()?,
            switch: Some(switch),
            verified: packets,
            seen,
            io_ns,
            sockets,
            subject: far.is_none().then_some(subject),
            window: None,
            trouble: None,
            declaration: Arc::new(declaration),
            directions,
            trace,
            _folder: folder,
        })
    }

    fn begin_window(&mut self) -> Result<(), ComponentError> {
        let Some(mut switch) = self.switch.take() else { return Ok(()) };
        let stop = Arc::new(AtomicBool::new(false));
        let before = switch.read();
        let lost = if self.sockets.is_some() { switch.losses() } else { Ok(Losses::default()) };
        let changes = self.pipeline.events(0).is_ok_and(|events| !events.is_empty());
        let control = if changes {
            let backend = self.backend;
            let pipeline = self.pipeline.clone();
            let declaration = Arc::clone(&self.declaration);
            let directions = self.directions.clone();
            let stopped = Arc::clone(&stop);
            Some(std::thread::spawn(move || {
                let request = BackendRequest { declaration: &declaration, directions: &directions };
                let begun = Instant::now();
                let mut changes = change(backend, &pipeline, &request, &mut *switch, &stopped);
                changes.due = due_within(&pipeline, begun.elapsed());
                (switch, changes)
            }))
        } else {
            self.switch = Some(switch);
            None
        };
        self.window = Some(Window { before: before?, lost: lost?, stop, control });
        Ok(())
    }

    /// Ends a window. Returns the counters before and after it, and the applied changes.
    fn end_window(&mut self) -> Result<Option<Ended>, ComponentError> {
        let Some(mut window) = self.window.take() else { return Ok(None) };
        window.stop.store(true, Ordering::Relaxed);
        let mut changes = Changes::none();
        if let Some(control) = window.control.take() {
            let (switch, applied) = control.join().map_err(|_| rig("the thread that changes tables died"))?;
            (self.switch, changes) = (Some(switch), applied);
        }
        let Some(switch) = &mut self.switch else { return Ok(None) };
        let after = switch.read()?;
        let lost = match &self.sockets {
            Some(_) => Some(lost(&window, after, &switch.losses()?)),
            None => None,
        };
        Ok(Some(Ended { before: window.before, after, changes, lost }))
    }

    fn report(&mut self, ended: Ended, report: &mut Report) {
        let mut set = |name: &str, value: f64| report.numbers.insert(name.to_owned(), value);
        set("frame_bytes_mean", self.frame_bytes_mean);
        set("verified_packets", self.verified as f64);
        if let Some(release) = self.release {
            set("sut_release", release);
        }
        set("trace_packets", self.trace.len() as f64);
        set("huge_page_ratio", self.switch.as_ref().map_or(0.0, |switch| switch.huge_page_ratio()));
        set("updates_due", ended.changes.due.max(ended.changes.sent) as f64);
        set("updates_sent", ended.changes.sent as f64);
        set("updates_late", ended.changes.late as f64);
        set("updates_refused", 0.0);
        set("changes_refused", ended.changes.refused as f64);
        report.distributions.insert("update_applied_ns".to_owned(), counts(&ended.changes.visible_ns));
        if !self.seen.is_empty() {
            report.distributions.insert("update_effective_ns".to_owned(), counts(&self.seen));
        }
        if let (Some(before), Some(after)) = (ended.before.slow, ended.after.slow) {
            let received = ended.after.received.saturating_sub(ended.before.received);
            let packets = after.packets.saturating_sub(before.packets) as f64;
            set("slow_path_packets", packets);
            set("slow_path_ratio", packets / received.max(1) as f64);
            if let (Some(before), Some(after)) = (before.lost, after.lost) {
                set("slow_path_lost", after.saturating_sub(before) as f64);
            }
        }
        match &ended.lost {
            // The tester reports received and lost packets. The CPU time of a polling switch is always 100 % and is not
            // reported.
            Some(lost) => report.detail = serde_json::to_value(lost).unwrap_or_default(),
            None => self.rates(&ended, report),
        }
        self.trouble = self.trouble.take().or(ended.changes.trouble);
    }

    /// Sets the rates for tiers in which the switch reads its input at maximum speed.
    fn rates(&self, ended: &Ended, report: &mut Report) {
        let before = ended.before;
        let after = ended.after;
        let packets = after.received.saturating_sub(before.received);
        let sent = after.sent.saturating_sub(before.sent);
        let cpu_ns = after.cpu_ns.saturating_sub(before.cpu_ns);
        let ns = cpu_ns as f64 / packets.max(1) as f64;
        let mpps = if packets == 0 { 0.0 } else { 1e3 / ns.max(1e-9) };
        let copy_mpps = copy(&self.trace, &mut Burst::new());
        let copy_ns = if copy_mpps > 0.0 { 1e3 / copy_mpps } else { 0.0 };
        let mut set = |name: &str, value: f64| report.numbers.insert(name.to_owned(), value);
        set("mpps", mpps);
        set("mpps_per_core", mpps);
        set("ns_per_packet", ns);
        if let Some(io_ns) = self.io_ns {
            let charged = (ns - io_ns).max(0.0) + copy_ns;
            set("io_ns", io_ns);
            set("mpps_normalized", if packets == 0 { 0.0 } else { 1e3 / charged.max(1e-9) });
        }
        set("copy_mpps", copy_mpps);
        set("copy_share", if copy_mpps > 0.0 { mpps / copy_mpps } else { 0.0 });
        set("core_imbalance", 1.0);
        let drop_ratio = packets.saturating_sub(sent) as f64 / packets.max(1) as f64;
        set("drop_ratio", drop_ratio);
        if let Some(gbps) = gbps(mpps, self.frame_bytes_mean, drop_ratio) {
            set("gbps", gbps);
        }
    }
}

/// Returns the counters of packets that the switch lost during a window.
fn lost(window: &Window, after: SwitchCounters, now: &Losses) -> RingCounters {
    let all = |received: u64, losses: &Losses| RingCounters {
        received,
        dropped: losses.tables.clone(),
        ring_full: losses.ring_full,
        ..RingCounters::default()
    };
    all(after.received, now).since(&all(window.before.received, &window.lost))
}

impl RunningComponent for RunningSwitch {
    fn subject(&self) -> Option<Subject> {
        self.subject.clone()
    }

    fn addresses(&self) -> BTreeMap<String, String> {
        let both = self.sockets.iter().flat_map(|both| [Port::Access, Port::Core].into_iter().zip(both));
        both.map(|(port, path)| (port_name(port).to_owned(), path.display().to_string())).collect()
    }

    fn check(&mut self) -> Result<(), ComponentError> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        // During a window, the thread that applies changes owns the switch and detects its exit.
        self.switch.as_mut().map_or(Ok(()), |switch| switch.check())
    }

    fn begin(&mut self) {
        let begun = self.end_window().and_then(|_| self.begin_window());
        self.trouble = begun.err();
    }

    fn end(&mut self, report: &mut Report) {
        match self.end_window() {
            Ok(Some(ended)) => self.report(ended, report),
            Ok(None) => {}
            Err(trouble) => self.trouble = Some(trouble),
        }
    }
}

impl Drop for RunningSwitch {
    fn drop(&mut self) {
        let _ = self.end_window();
    }
}

/// Looks up the requested switch. Returns an error if it is unknown or does not support the requested tier.
fn choose(part: &PipelineComponent) -> Result<(&'static dyn Backend, &'static dyn Driver), ComponentError> {
    let name = &part.engine;
    let unknown = || {
        environment(format!("`sut.engine` \"{name}\" is a curve of the published figures and cannot be run"))
    };
    let backend = named(name).ok_or_else(unknown)?;
    let driver = driver(backend)?;
    let tier = backend.tiers().iter().copied().find(|tier| tier.name() == part.tier);
    let tiers = || backend.tiers().iter().map(|tier| tier.name()).collect::<Vec<_>>().join(", ");
    tier.ok_or_else(|| {
        environment(format!(
            "`sut.tier` \"{}\" is not supported by \"{name}\"; allowed are {}",
            part.tier,
            tiers()
        ))
    })?;
    if part.cores != 1 {
        return Err(environment(format!("`sut.engine` \"{name}\" runs on one core, not {}", part.cores)));
    }
    Ok((backend, driver))
}

/// Checks that each of the requested flows has at least one packet in the replayed part of the trace.
fn replayable(part: &PipelineComponent, packets: usize) -> Result<(), ComponentError> {
    let flows = part.traffic.0.flows;
    let engine = &part.engine;
    if flows <= packets as u64 {
        return Ok(());
    }
    Err(environment(format!(
        "`load.flows` is {flows}: \"{engine}\" replays {packets} packets here, so at most as many flows are active"
    )))
}

/// Returns the directions from which packets arrive.
pub(crate) fn directions(all: Directions) -> Vec<Direction> {
    match all {
        Directions::Uplink => vec![Direction::Uplink],
        Directions::Downlink => vec![Direction::Downlink],
        Directions::Bidir => vec![Direction::Uplink, Direction::Downlink],
    }
}

/// Returns the first `most` packets of a trace.
fn head(trace: &Trace, most: usize) -> Trace {
    let mut head = Trace::default();
    trace.range(0, most).for_each(|(port, frame)| head.push(port, frame));
    head
}

/// A function that sends a trace through a switch once and returns the output.
type Pass<'a> = &'a dyn Fn(&SwitchJob<'_>, &[Equivalence]) -> Result<Outcomes, ComponentError>;

/// Sends the trace through the switch once and compares the output with the oracle's byte by byte. Returns the number
/// of compared packets.
fn verify(pipeline: &Pipeline, job: &SwitchJob<'_>, pass: Pass<'_>) -> Result<u64, ComponentError> {
    if job.trace.is_empty() {
        return Ok(0);
    }
    let equivalences = job.backend.equivalences(&job.request());
    let mut trace = Trace::default();
    let apart = equivalences.contains(&Equivalence::Fragments);
    let compared = job.trace.iter().filter(|(_, frame)| !(apart && is_later_fragment(frame)));
    compared.for_each(|(port, frame)| trace.push(port, frame));
    let job = &SwitchJob { trace: &trace, ..*job };
    let expected = Outcomes::expected(pipeline, &trace, usize::MAX, &equivalences).map_err(environment)?;
    let found = pass(job, &equivalences)?;
    compare(&expected, &found).map_err(|mismatch| sut(format!("nothing is measured: {mismatch}")))?;
    Ok(trace.len() as u64)
}

/// Applies the events of each second to a switch when they are due, until `stop` is set. Events that become due while a
/// batch is applied form the next batch, as in a real controller.
fn change(
    backend: &dyn Backend,
    pipeline: &Pipeline,
    request: &BackendRequest<'_>,
    switch: &mut dyn Switch,
    stop: &AtomicBool,
) -> Changes {
    let begun = Instant::now();
    let mut changes = Changes::none();
    for second in 0.. {
        // The events were validated when the component started.
        let events = pipeline.events(second).unwrap_or_default();
        let send_at = |event: &Event| Duration::from_secs(second) + Duration::from_nanos(event.at_ns);
        let mut next = 0;
        while next < events.len() {
            if !wait(begun, send_at(&events[next]), stop) {
                return changes;
            }
            let now = begun.elapsed();
            let some =
                events[next..].iter().take(AT_ONCE).take_while(|event| send_at(event) <= now).count().max(1);
            let batch = &events[next..next + some];
            next += some;
            changes.late += batch.iter().filter(|event| now > send_at(event) + LATE).count() as u64;
            let all: Vec<_> = batch.iter().flat_map(|event| event.changes.iter().copied()).collect();
            let outcome =
                backend.update(request, &all).map_err(environment).and_then(|text| switch.update(&text));
            match outcome {
                Ok(()) => {
                    changes.sent += some as u64;
                    let took = begun.elapsed().saturating_sub(now).as_nanos() as u64;
                    batch.iter().for_each(|_| changes.visible_ns.saturating_record(took));
                }
                Err(trouble) => {
                    changes.refused += some as u64;
                    changes.trouble.get_or_insert(trouble);
                }
            }
        }
        if !wait(begun, Duration::from_secs(second + 1), stop) {
            break;
        }
    }
    changes
}
