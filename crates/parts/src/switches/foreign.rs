//! A foreign switch as system under test: verified against the oracle before anything is measured, then fed from memory for
//! ever, and changed by the same events as our own engine.

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
    Asked, Backend, Equivalence, Outcomes, Tier, compare, named, permitted, port_name,
};
use ranlab_pipeline::declare::{Declaration, Direction, Event, Port};
use ranlab_pipeline::engine::Burst;
use ranlab_pipeline::pipelines::Pipeline;
use ranlab_pipeline::trace::{Directions, Trace};

use super::{Driver, Far, Job, Losses, Reading, Switch, driver, installed, probe};
use crate::captured;
use crate::field::Plain;
use crate::folder::Folder;
use crate::pipeline::{PipelinePart, copy, due_within, gbps, histogram, wait};
use crate::ring::{self, RingCounters};
use crate::worker::{Report, Trouble};
use crate::{Running, counts, environment, rig, sut};

/// How long input and output alone are measured.
const IO_FOR: Duration = Duration::from_millis(400);
/// Events that go to a switch as one: those that came due while it was told the ones before.
const AT_ONCE: usize = 1_000;
/// An event that is sent later than this is late.
const LATE: Duration = Duration::from_millis(1);

/// A switch that is verified, up, and waits for windows.
pub(crate) struct Foreign {
    backend: &'static dyn Backend,
    pipeline: Pipeline,
    declaration: Arc<Declaration>,
    directions: Vec<Direction>,
    trace: Trace,
    switch: Option<Box<dyn Switch>>,
    verified: u64,
    /// Until a probing packet showed a change, ns; empty where none was probed.
    seen: Histogram<u64>,
    io_ns: Option<f64>,
    frame_bytes_mean: f64,
    /// Tier ring: where its ports listen.
    sockets: Option<[PathBuf; 2]>,
    /// It is not of this machine.
    far: bool,
    window: Option<Window>,
    /// What went wrong in a window, told when it is asked for.
    trouble: Option<Trouble>,
    /// Goes after the switch.
    _folder: Folder,
}

/// A window under way.
struct Window {
    before: Reading,
    /// Tier ring: what it had lost until then.
    lost: Losses,
    stop: Arc<AtomicBool>,
    /// Has the switch while it tells it changes.
    control: Option<JoinHandle<(Box<dyn Switch>, Changes)>>,
}

/// A window that is over.
struct Ended {
    before: Reading,
    after: Reading,
    changes: Changes,
    /// Tier ring: what became of packets that did not leave.
    lost: Option<RingCounters>,
}

/// What was told.
struct Changes {
    due: u64,
    sent: u64,
    late: u64,
    refused: u64,
    visible_ns: Histogram<u64>,
    trouble: Option<Trouble>,
}

impl Changes {
    fn none() -> Self {
        Self { due: 0, sent: 0, late: 0, refused: 0, visible_ns: histogram(), trouble: None }
    }
}

/// A pipeline that a switch was shown to carry as the oracle does.
pub(super) struct Verified {
    backend: &'static dyn Backend,
    driver: &'static dyn Driver,
    pipeline: Pipeline,
    declaration: Declaration,
    directions: Vec<Direction>,
    /// As much of it as the switch can replay.
    trace: Trace,
    /// Packets that were as the oracle says.
    pub(super) packets: u64,
    /// See [`Foreign::seen`].
    seen: Histogram<u64>,
    /// Tier ring: it is up, and its ports listen there.
    rings: Option<([PathBuf; 2], Box<dyn Switch>)>,
    ring: u8,
    far: Option<Far>,
    files: PathBuf,
    folder: Folder,
}

impl Verified {
    /// Replays the first packets of the trace, and compares octets.
    pub(super) fn new(part: &PipelinePart) -> Result<Self, Trouble> {
        let (backend, driver) = choose(part)?;
        let Some(Plain(pipeline)) = &part.pipeline else { return Err(rig("no pipeline was named")) };
        let declaration = pipeline.build().map_err(rig)?;
        let directions = directions(part.traffic.0.dir);
        permitted(backend, &Asked { declaration: &declaration, directions: &directions })
            .map_err(environment)?;
        let far = Far::of(part)?;
        installed(backend)?;
        let whole = captured::trace(pipeline, &part.traffic.0, &part.trace)?;
        let trace = head(&whole, driver.packets_max());
        replayable(part, trace.len())?;
        let mut folder = Folder::default();
        let (files, pipeline) = (folder.made()?, pipeline.clone());
        let (ring, rings, packets, seen) = (part.ring, None, 0, histogram());
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
            files,
            folder,
        };
        let first = head(&own.trace, part.verify);
        if part.tier == Tier::Ring.name() {
            let sockets = ring::sockets(&own.files);
            // The packets of the verification take the way of all others, through a switch of their own: ours leave it.
            let seen = RefCell::new(histogram());
            let pass = |job: &Job<'_>, equivalences: &[Equivalence]| {
                let mut switch = driver.rings(job, &sockets)?;
                let mut ports = ring::connected(&sockets, ring::Shape::one(job.ring, driver.rings_back()))?;
                let found = ring::pass(&mut ports, job.trace, equivalences).and_then(|found| {
                    *seen.borrow_mut() = probe::by_rings(job, &own.pipeline, &mut *switch, &mut ports)?;
                    Ok(found)
                });
                drop(switch);
                // Who was told to end at once leaves them, and listens to none.
                sockets.iter().for_each(|socket| drop(std::fs::remove_file(socket)));
                found
            };
            own.packets = verify(&own.pipeline, &own.job(&first), &pass)?;
            own.seen = seen.into_inner();
            let switch = driver.rings(&own.job(&own.trace), &sockets)?;
            own.rings = Some((sockets, switch));
        } else {
            let replay = |job: &Job<'_>, _: &[Equivalence]| driver.replay(job);
            own.packets = verify(&own.pipeline, &own.job(&first), &replay)?;
            if !first.is_empty() && probe::any(&own.pipeline) {
                own.seen = driver.visible(&own.job(&first), &own.pipeline)?;
            }
        }
        Ok(own)
    }

    fn job<'a>(&'a self, trace: &'a Trace) -> Job<'a> {
        let (backend, folder) = (self.backend, self.files.as_path());
        let (declaration, directions, ring) = (&self.declaration, &self.directions[..], self.ring);
        let far = self.far.as_ref();
        Job { backend, declaration, directions, trace, folder, ring, far, connects: false }
    }
}

impl Foreign {
    pub(crate) fn start(part: &PipelinePart) -> Result<Self, Trouble> {
        let mut ready = Verified::new(part)?;
        let (sockets, switch, io_ns) = match ready.rings.take() {
            Some((sockets, switch)) => (Some(sockets), switch, None),
            None => {
                let switch = ready.driver.start(&ready.job(&ready.trace))?;
                // Its files are there now, which the measurement of input and output reads, too.
                (None, switch, ready.driver.io_ns(&ready.job(&ready.trace), IO_FOR)?)
            }
        };
        let octets: usize = ready.trace.iter().map(|(_, frame)| frame.len()).sum();
        let Verified {
            backend, pipeline, declaration, directions, trace, packets, seen, folder, far, ..
        } = ready;
        Ok(Self {
            backend,
            pipeline,
            frame_bytes_mean: octets as f64 / trace.len().max(1) as f64,
            switch: Some(switch),
            verified: packets,
            seen,
            io_ns,
            sockets,
            far: far.is_some(),
            window: None,
            trouble: None,
            declaration: Arc::new(declaration),
            directions,
            trace,
            _folder: folder,
        })
    }

    fn begin_window(&mut self) -> Result<(), Trouble> {
        let Some(mut switch) = self.switch.take() else { return Ok(()) };
        let stop = Arc::new(AtomicBool::new(false));
        let before = switch.read();
        let lost = if self.sockets.is_some() { switch.losses() } else { Ok(Losses::default()) };
        let changes = self.pipeline.events(0).is_ok_and(|events| !events.is_empty());
        let control = if changes {
            let (backend, pipeline, declaration) =
                (self.backend, self.pipeline.clone(), Arc::clone(&self.declaration));
            let (directions, stopped) = (self.directions.clone(), Arc::clone(&stop));
            Some(std::thread::spawn(move || {
                let asked = Asked { declaration: &declaration, directions: &directions };
                let begun = Instant::now();
                let mut changes = change(backend, &pipeline, &asked, &mut *switch, &stopped);
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

    /// Ends a window: what it read before and now, and what was told.
    fn end_window(&mut self) -> Result<Option<Ended>, Trouble> {
        let Some(mut window) = self.window.take() else { return Ok(None) };
        window.stop.store(true, Ordering::Relaxed);
        let mut changes = Changes::none();
        if let Some(control) = window.control.take() {
            let (switch, told) = control.join().map_err(|_| rig("the thread that changes tables died"))?;
            (self.switch, changes) = (Some(switch), told);
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
        set("trace_packets", self.trace.len() as f64);
        set("huge_page_ratio", self.switch.as_ref().map_or(0.0, |switch| switch.huge_page_ratio()));
        set("updates_due", ended.changes.due.max(ended.changes.sent) as f64);
        set("updates_sent", ended.changes.sent as f64);
        set("updates_late", ended.changes.late as f64);
        set("updates_not_taken", 0.0);
        set("changes_refused", ended.changes.refused as f64);
        report.distributions.insert("update_visible_ns".to_owned(), counts(&ended.changes.visible_ns));
        if !self.seen.is_empty() {
            report.distributions.insert("update_seen_ns".to_owned(), counts(&self.seen));
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
            // What it took and lost is the tester's to tell: CPU time of who polls says nothing.
            Some(lost) => report.detail = serde_json::to_value(lost).unwrap_or_default(),
            None => self.rates(&ended, report),
        }
        self.trouble = self.trouble.take().or(ended.changes.trouble);
    }

    /// Rates of tiers in which it is fed as fast as it goes.
    fn rates(&self, ended: &Ended, report: &mut Report) {
        let (before, after) = (ended.before, ended.after);
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
            set("mpps_charged", if packets == 0 { 0.0 } else { 1e3 / charged.max(1e-9) });
        }
        set("copy_mpps", copy_mpps);
        set("copy_share", if copy_mpps > 0.0 { mpps / copy_mpps } else { 0.0 });
        set("busiest_over_mean", 1.0);
        let drop_ratio = packets.saturating_sub(sent) as f64 / packets.max(1) as f64;
        set("drop_ratio", drop_ratio);
        if let Some(gbps) = gbps(mpps, self.frame_bytes_mean, drop_ratio) {
            set("gbps", gbps);
        }
    }
}

/// What a switch says that became of packets in a window.
fn lost(window: &Window, after: Reading, now: &Losses) -> RingCounters {
    let all = |received: u64, losses: &Losses| RingCounters {
        received,
        dropped: losses.tables.clone(),
        ring_full: losses.ring_full,
        ..RingCounters::default()
    };
    all(after.received, now).since(&all(window.before.received, &window.lost))
}

impl Running for Foreign {
    /// The switch's processes are below this one, unless it was there before.
    fn subject(&self) -> Option<Subject> {
        (!self.far).then(|| Subject::Below { pid: std::process::id() })
    }

    fn addresses(&self) -> BTreeMap<String, String> {
        let both = self.sockets.iter().flat_map(|both| [Port::Access, Port::Core].into_iter().zip(both));
        both.map(|(port, path)| (port_name(port).to_owned(), path.display().to_string())).collect()
    }

    fn check(&mut self) -> Result<(), Trouble> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        // Whoever tells it changes has it, and sees its end.
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

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.end_window();
    }
}

/// Who is asked for, and whether it can be had in that tier.
fn choose(part: &PipelinePart) -> Result<(&'static dyn Backend, &'static dyn Driver), Trouble> {
    let name = &part.engine;
    let unknown = || {
        environment(format!("`sut.engine` \"{name}\" is a line of the published figures: it is not driven"))
    };
    let backend = named(name).ok_or_else(unknown)?;
    let driver = driver(backend)?;
    let tier = backend.tiers().iter().copied().find(|tier| tier.name() == part.tier);
    let tiers = || backend.tiers().iter().map(|tier| tier.name()).collect::<Vec<_>>().join(", ");
    tier.ok_or_else(|| {
        environment(format!(
            "`sut.tier` \"{}\" is none of \"{name}\": it is driven in {}",
            part.tier,
            tiers()
        ))
    })?;
    if part.cores != 1 {
        return Err(environment(format!(
            "`sut.engine` \"{name}\" is driven on one core, not {}",
            part.cores
        )));
    }
    Ok((backend, driver))
}

/// Whether as many flows as are asked for have a packet in what is replayed.
fn replayable(part: &PipelinePart, packets: usize) -> Result<(), Trouble> {
    let (flows, engine) = (part.traffic.0.flows, &part.engine);
    if flows <= packets as u64 {
        return Ok(());
    }
    Err(environment(format!(
        "`load.flows` is {flows}: \"{engine}\" replays {packets} packets here, so that no more flows are active"
    )))
}

/// The directions from which packets come.
pub(crate) fn directions(all: Directions) -> Vec<Direction> {
    match all {
        Directions::Uplink => vec![Direction::Uplink],
        Directions::Downlink => vec![Direction::Downlink],
        Directions::Bidir => vec![Direction::Uplink, Direction::Downlink],
    }
}

/// The first packets of a trace.
fn head(trace: &Trace, most: usize) -> Trace {
    let mut head = Trace::default();
    trace.range(0, most).for_each(|(port, frame)| head.push(port, frame));
    head
}

/// Sends a trace through a switch once; what left.
type Pass<'a> = &'a dyn Fn(&Job<'_>, &[Equivalence]) -> Result<Outcomes, Trouble>;

/// Sends the trace through once, and compares octets with the oracle's.
fn verify(pipeline: &Pipeline, job: &Job<'_>, pass: Pass<'_>) -> Result<u64, Trouble> {
    if job.trace.is_empty() {
        return Ok(0);
    }
    let equivalences = job.backend.equivalences(&job.asked());
    let expected = Outcomes::expected(pipeline, job.trace, usize::MAX, &equivalences).map_err(environment)?;
    let found = pass(job, &equivalences)?;
    compare(&expected, &found).map_err(|mismatch| sut(format!("nothing is measured: {mismatch}")))?;
    Ok(job.trace.len() as u64)
}

/// Tells a switch each second's events as they come due, until it is told to stop. What comes due while it is told others goes
/// together, as a controller would do it.
fn change(
    backend: &dyn Backend,
    pipeline: &Pipeline,
    asked: &Asked<'_>,
    switch: &mut dyn Switch,
    stop: &AtomicBool,
) -> Changes {
    let begun = Instant::now();
    let mut changes = Changes::none();
    for second in 0.. {
        // Checked when the part started.
        let events = pipeline.events(second).unwrap_or_default();
        let due = |event: &Event| Duration::from_secs(second) + Duration::from_nanos(event.at_ns);
        let mut next = 0;
        while next < events.len() {
            if !wait(begun, due(&events[next]), stop) {
                return changes;
            }
            let now = begun.elapsed();
            let some =
                events[next..].iter().take(AT_ONCE).take_while(|event| due(event) <= now).count().max(1);
            let batch = &events[next..next + some];
            next += some;
            changes.late += batch.iter().filter(|event| now > due(event) + LATE).count() as u64;
            let all: Vec<_> = batch.iter().flat_map(|event| event.changes.iter().copied()).collect();
            let told = backend.update(asked, &all).map_err(environment).and_then(|text| switch.update(&text));
            match told {
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
