//! Rig `e2-statistics`: base stations with UEs report statistics through a controller to an xApp.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Breach, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

use crate::keys;
use crate::noise;
use crate::sut::{self, Sut};
use crate::wire;
use ranlab_parts::Lab;
use ranlab_parts::worker::{Report, Worker};
use ranlab_parts::{MonitorPart, Part};

/// How long all base stations may take to be up, beyond the ramp, and all subscriptions to be admitted.
const SET_UP: Duration = Duration::from_secs(20);
/// How often it is checked that everything lives while measuring.
const CHECK: Duration = Duration::from_secs(1);
/// A controller that delivers less of what it was sent cannot follow.
const OVERLOADED_BELOW: f64 = 0.5;

/// The rig.
pub(crate) struct Controller {
    lab: Lab,
    sut: Option<Sut>,
    load: Option<Load>,
}

/// Base stations and xApp, and the settings that they were brought up with.
struct Load {
    /// First, so that it takes leave while the base stations are there.
    monitor: Worker,
    fleet: Worker,
    settings: Vec<Option<Value>>,
    set_up_us: f64,
}

/// Settings that need the load to be brought up anew if a search changes them.
const LOAD_KEYS: [&str; 5] = ["load.nodes", "load.ues", "load.sm", "load.period", "load.kind"];

impl Controller {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), sut: None, load: None }
    }

    fn bring_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.load = None;
        if self.sut.is_none() {
            self.sut = Some(Sut::start(&self.lab, run)?);
        }
        let sut = self.sut.as_mut().ok_or_else(|| RigError::Rig("no controller".to_owned()))?;
        let e2ap = keys::text(run, "sut.e2ap")?.to_owned();
        let (fleet_at, xapp_at) = (keys::host_of(run, "load.at")?, keys::host_of(run, "xapp.at")?);
        let part = keys::fleet(run, &sut.e2, &e2ap)?;
        let (nodes, sm, ramp) = (part.nodes, part.sm.clone(), part.ramp);
        let mut fleet = Worker::start(&self.lab, &fleet_at, "base stations", Part::Fleet(part), &run.stop)?;
        let patience = SET_UP + ramp.unwrap_or_else(|| Duration::from_millis(u64::from(nodes)));
        let up = fleet.wait_until("all base stations up", patience, &run.stop, |numbers| {
            numbers.get("alive") == Some(&f64::from(nodes))
        })?;
        let mut monitor = Worker::meet(&self.lab, &xapp_at, "xApp", &run.stop)?;
        let expected = f64::from(nodes) * sm.len() as f64;
        let part = MonitorPart {
            connect: sut.e42.clone(),
            period_us: keys::span_us(run, "load.period")?,
            e2ap,
            flexric: sut.flexric,
            ahead_us: monitor.clock_offset_us - fleet.clock_offset_us,
            sm,
        };
        monitor.bring_up(Part::Monitor(part), &run.stop)?;
        monitor.wait_until("all subscriptions admitted", patience, &run.stop, |numbers| {
            numbers.get("subscriptions").is_some_and(|active| *active >= expected)
        })?;
        let set_up_us = up.get("set_up_us").copied().unwrap_or(0.0);
        self.load = Some(Load { fleet, monitor, settings: settings(run), set_up_us });
        Ok(())
    }
}

fn settings(run: &Run<'_>) -> Vec<Option<Value>> {
    LOAD_KEYS.iter().map(|path| run.value(path).cloned()).collect()
}

impl Rig for Controller {
    fn describe(&self) -> RigDescription {
        let mut keys = vec![
            Key::new("load.period", Kind::Span, "report period, 1 ms and up").or(Duration::from_millis(10)),
            keys::place("load.at", "the base stations"),
            keys::place("xapp.at", "the xApp"),
        ];
        keys.splice(0..0, sut::keys().into_iter().chain(keys::of_fleet().keys()));
        keys.extend(keys::host());
        RigDescription {
            name: "e2-statistics".to_owned(),
            aliases: vec!["controller".to_owned()],
            comment: "base stations with UEs report statistics through a RIC to an xApp".to_owned(),
            keys,
            metrics: metrics(),
            needs: self.lab.needs(),
            set_up: Duration::from_secs(1),
            starter: include_str!("starters/e2-statistics.toml"),
        }
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        self.bring_up(run)
    }

    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        run.stop.sleep(run.warm_up)
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        if self.load.as_ref().is_none_or(|load| load.settings != settings(run)) {
            self.bring_up(run)?;
            self.warm_up(run)?;
        }
        let (Some(sut), Some(load)) = (&mut self.sut, &mut self.load) else {
            return Err(RigError::Rig("nothing is up".to_owned()));
        };
        sut.begin(run)?;
        load.monitor.begin(&run.stop)?;
        load.fleet.begin(&run.stop)?;
        let mut left = run.duration;
        while !left.is_zero() {
            let slice = left.min(CHECK);
            run.stop.sleep(slice)?;
            left -= slice;
            if !left.is_zero() {
                sut.check(run)?;
            }
        }
        let fleet = load.fleet.end(&run.stop)?;
        let monitor = load.monitor.end(&run.stop)?;
        let reports = sut.end(run, recorder)?;
        let outcome = record(run, recorder, load, &fleet, &monitor, sut::cpu_s(&reports));
        let mut machines: Vec<_> = reports.iter().map(|(host, report)| (host, report)).collect();
        machines.extend([(&load.fleet.host, &fleet), (&load.monitor.host, &monitor)]);
        Ok(noise::judge(run, recorder, &machines).unwrap_or(outcome))
    }

    fn tear_down(&mut self) {
        // The xApp and the base stations first, so that nobody reconnects to what is going.
        self.load = None;
        self.sut = None;
    }
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    let scalar = |name: &str, unit: &str, better: Better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut metrics = sut::metrics();
    metrics.extend([
        scalar("sut.cpu_us_per_indication", "us", Lower, "its CPU time for each indication that arrived"),
        scalar("indications_per_s", "1/s", Higher, "indications that arrived at the xApp"),
        scalar("delivered_ratio", "", Higher, "indications that arrived, by those sent"),
        scalar("payload_mbps", "Mbit/s", Neither, "service model payload at the xApp"),
        scalar(
            "e2_mbps",
            "Mbit/s",
            Neither,
            "E2AP messages from the base stations, without the transport's headers",
        ),
        scalar("lost", "", Lower, "gaps in the running numbers at the xApp"),
        scalar(
            "loss_ratio",
            "",
            Lower,
            "lost by lost and arrived; absent if the base stations number nothing",
        ),
        scalar("dropped", "", Lower, "given up by base stations whose controller did not take them in time"),
        scalar(
            "set_up_us",
            "us",
            Lower,
            "from the first base station's start until all were accepted, within 20 ms",
        ),
        scalar("nodes_lost", "", Lower, "base stations that were not connected at the end"),
        scalar("tool.cpu_cores", "cores", Neither, "cores that base stations and xApp kept busy"),
        scalar("tool.skipped_ratio", "", Neither, "reports that the base stations left out, being late")
            .unsent_share(),
        scalar(
            "clock_error_us",
            "us",
            Neither,
            "how wrong latencies between machines may be, drift included",
        ),
        scalar("clock_drift_us", "us", Neither, "how far their clocks moved apart during the repeat")
            .signed(),
    ]);
    for (name, better, comment) in [
        ("latency_us", Lower, "from the base station's time stamp to the xApp"),
        ("tool.lateness_us", Neither, "how late the base stations' reports were"),
    ] {
        metrics.push(Metric::new(name, "us", MetricKind::Histogram, better, comment));
    }
    metrics.extend(wire::metrics("e2", "base stations"));
    metrics.extend(wire::metrics("e42", "the xApp"));
    metrics.extend(noise::metrics());
    metrics
}

/// Records what base stations and xApp saw, and says what that makes of the repeat.
fn record(
    run: &Run<'_>,
    recorder: &mut Recorder,
    load: &Load,
    fleet: &Report,
    monitor: &Report,
    cpu_s: Option<f64>,
) -> Outcome {
    let number = |report: &Report, name: &str| report.numbers.get(name).copied().unwrap_or(0.0);
    let seconds = monitor.wall_s.max(1e-3);
    let (arrived, sent) = (number(monitor, "indications"), number(fleet, "sent"));
    let (dropped, skipped) = (number(fleet, "dropped"), number(fleet, "skipped"));
    let lost = monitor.numbers.get("lost").copied();
    recorder.scalar("indications_per_s", arrived / seconds);
    recorder.scalar("payload_mbps", number(monitor, "bytes") * 8e-6 / seconds);
    recorder.scalar("e2_mbps", number(fleet, "sent_bytes") * 8e-6 / fleet.wall_s.max(1e-3));
    recorder.scalar("dropped", dropped);
    let delivered = (arrived / seconds) / (sent / fleet.wall_s.max(1e-3));
    recorder.scalar("delivered_ratio", delivered);
    if let Some(lost) = lost {
        recorder.scalar("lost", lost);
        recorder.scalar("loss_ratio", lost / (lost + arrived).max(1.0));
    }
    if let Some(cpu_s) = cpu_s.filter(|_| arrived > 0.0) {
        recorder.scalar("sut.cpu_us_per_indication", cpu_s * 1e6 / arrived);
    }
    recorder.scalar("set_up_us", load.set_up_us);
    let nodes = run.number("load.nodes").unwrap_or(0.0).round();
    let nodes_lost = (nodes - number(fleet, "alive")).max(0.0);
    recorder.scalar("nodes_lost", nodes_lost);
    let tool = [fleet, monitor].into_iter().filter_map(|report| report.process.as_ref());
    recorder.scalar("tool.cpu_cores", tool.map(|process| process.cpu_s).sum::<f64>() / seconds);
    let due = sent + dropped + skipped;
    recorder.scalar("tool.skipped_ratio", if due > 0.0 { skipped / due } else { 0.0 });
    // Each may be wrong by its own bound, and the difference by both.
    recorder.scalar("clock_error_us", load.fleet.clock_error_us + load.monitor.clock_error_us);
    wire::record(recorder, "e2", fleet);
    wire::record(recorder, "e42", monitor);
    recorder.scalar("clock_drift_us", load.monitor.clock_drift_us - load.fleet.clock_drift_us);
    copy(recorder, "latency_us", monitor, "latency_us");
    copy(recorder, "tool.lateness_us", fleet, "lateness_us");
    let reconnects = number(fleet, "reconnects") + number(monitor, "disconnects");
    recorder.judge([
        (Outcome::Overloaded, Breach::said(arrived == 0.0, "no indication arrived")),
        (Outcome::Overloaded, Breach::below("delivered_ratio", delivered, OVERLOADED_BELOW)),
        (Outcome::Degraded, Breach::above("lost", lost.unwrap_or(0.0), 0.0)),
        (Outcome::Degraded, Breach::above("dropped", dropped, 0.0)),
        (Outcome::Degraded, Breach::above("nodes_lost", nodes_lost, 0.0)),
        (Outcome::Degraded, Breach::above("reconnects", reconnects, 0.0)),
    ])
}

/// A distribution as the part reported it.
pub(crate) fn copy(recorder: &mut Recorder, name: &str, report: &Report, theirs: &str) {
    for (value, count) in report.distributions.get(theirs).into_iter().flatten() {
        recorder.values(name, *value, *count);
    }
}
