//! Rig `e2-rtt`: round trips of pings through the service model HW, one hop (iApp) or two (xApp over the RIC).

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_sdk::wire::e2ap::Version;

use crate::controller::copy;
use crate::keys;
use crate::lab::Lab;
use crate::noise;
use crate::parts::{FleetPart, Pace, Part, PingPart, control_bytes, indication_bytes};
use crate::sut::{self, Sut};
use crate::wire;
use crate::worker::{Report, Worker};

/// How long the base station may take to be up, and the first echo to come.
const SET_UP: Duration = Duration::from_secs(20);
/// How often it is checked that everything lives while measuring.
const CHECK: Duration = Duration::from_secs(1);
/// A generator that leaves out more is no generator of that load.
const UNSENT_AT_MOST: f64 = 0.01;

/// The rig.
pub(crate) struct E2Rtt {
    lab: Lab,
    sut: Option<Sut>,
    node: Option<Worker>,
    xapp: Option<Worker>,
}

impl E2Rtt {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), sut: None, node: None, xapp: None }
    }

    fn bring_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        if run.text("load.encoding") == Some("flat") {
            return Err(RigError::Environment("service models in FlatBuffers are not built yet".to_owned()));
        }
        let pace = Pace {
            size: keys::int(run, "load.size")?,
            interval_us: keys::span_us(run, "load.interval")?,
            window: keys::int(run, "load.window")?,
        };
        let iapp = keys::text(run, "load.path")? == "iapp";
        let own = run.text("sut.type") == Some("ranlab");
        if iapp && !own {
            return Err(RigError::Rig(
                "an iApp runs in our RIC alone: `sut.type` must be \"ranlab\"".to_owned(),
            ));
        }
        let flat = run.text("sut.encoding") == Some("flat");
        let sut = if iapp && !flat {
            Sut::with_iapp(&self.lab, run, pace.clone())?
        } else {
            Sut::start(&self.lab, run)?
        };
        let (sut, e2ap) = (self.sut.insert(sut), keys::text(run, "sut.e2ap")?.to_owned());
        let part = FleetPart {
            connect: sut.e2.clone(),
            nodes: 1,
            ues: 0,
            sm: Vec::new(),
            kind: "gnb".to_owned(),
            e2ap: e2ap.clone(),
            ramp_us: 0,
            seed: run.seed,
            first: 0,
        };
        let node = Worker::start(
            &self.lab,
            &keys::host_of(run, "load.at")?,
            "base station",
            Part::Fleet(part),
            &run.stop,
        )?;
        let node = self.node.insert(node);
        node.wait_until("the base station up", SET_UP, &run.stop, |numbers| {
            numbers.get("alive") == Some(&1.0)
        })?;
        let pinging = if iapp {
            sut.first()
        } else {
            let part = PingPart { connect: sut.e42.clone(), e2ap, flexric: sut.flexric, pace };
            let host = keys::host_of(run, "xapp.at")?;
            let xapp = Worker::start(&self.lab, &host, "xApp", Part::Ping(part), &run.stop)?;
            Some(self.xapp.insert(xapp))
        };
        let pinging = pinging.ok_or_else(|| RigError::Rig("nobody pings".to_owned()))?;
        pinging.wait_until("the first echo", SET_UP, &run.stop, |numbers| {
            numbers.get("received").is_some_and(|received| *received > 0.0)
        })?;
        Ok(())
    }
}

impl Rig for E2Rtt {
    fn describe(&self) -> RigDescription {
        let mut keys = sut::keys();
        keys.extend([
            Key::new(
                "load.path",
                Kind::choice(&["iapp", "xapp"]),
                "iapp: RIC to base station; xapp: over the RIC, two hops",
            )
            .or("xapp"),
            Key::new("load.size", Kind::Int { min: 0, max: 65_535 }, "payload of a ping").unit("B").or(1_500),
            Key::new(
                "load.interval",
                Kind::Span,
                "between two pings, 100 us and up; 0s: each follows an echo",
            )
            .or(Duration::from_millis(1)),
            Key::new(
                "load.window",
                Kind::Int { min: 1, max: 1_024 },
                "pings under way if each follows an echo",
            )
            .or(1),
            Key::new(
                "load.encoding",
                Kind::choice(&["per", "flat"]),
                "of the service model; flat (FlatBuffers) cannot be measured yet",
            )
            .or("per"),
            keys::place("load.at", "the base station"),
            keys::place("xapp.at", "the xApp"),
        ]);
        keys.extend(keys::host());
        RigDescription {
            name: "e2-rtt".to_owned(),
            comment: "round trips of pings through a base station's service model HW, one hop or two"
                .to_owned(),
            keys,
            metrics: metrics(),
            needs: self.lab.needs(),
            set_up: Duration::from_secs(1),
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
        // A search changes how to ping, which the parts are told when they start: so each trial starts afresh.
        if run.value("load.size") != run.point.settings.get("load.size")
            || run.value("load.interval") != run.point.settings.get("load.interval")
            || run.value("load.window") != run.point.settings.get("load.window")
        {
            self.prepare(run)?;
            self.warm_up(run)?;
        }
        let (Some(sut), Some(node)) = (&mut self.sut, &mut self.node) else {
            return Err(RigError::Rig("nothing is up".to_owned()));
        };
        node.begin(&run.stop)?;
        sut.begin(run)?;
        if let Some(xapp) = &mut self.xapp {
            xapp.begin(&run.stop)?;
        }
        let mut left = run.duration;
        while !left.is_zero() {
            let slice = left.min(CHECK);
            run.stop.sleep(slice)?;
            left -= slice;
            if !left.is_zero() {
                sut.check(run)?;
            }
        }
        let pinged = self.xapp.as_mut().map(|xapp| xapp.end(&run.stop)).transpose()?;
        let reports = sut.end(run, recorder)?;
        let node_report = node.end(&run.stop)?;
        let mut machines: Vec<_> = reports.iter().map(|(host, report)| (host, report)).collect();
        machines.push((&node.host, &node_report));
        if let Some((xapp, report)) = self.xapp.as_ref().zip(pinged.as_ref()) {
            machines.push((&xapp.host, report));
        }
        // Of a RIC with an iApp the pings are its own.
        let pings = pinged.as_ref().or_else(|| reports.first().map(|(_, report)| report));
        let pings = pings.ok_or_else(|| RigError::Rig("nobody pinged".to_owned()))?;
        wire::record(recorder, "e2", &node_report);
        if let Some(report) = &pinged {
            wire::record(recorder, "e42", report);
        }
        let outcome = record(run, recorder, pings, &node_report, sut::cpu_s(&reports))?;
        Ok(noise::judge(run, recorder, &machines).unwrap_or(outcome))
    }

    fn tear_down(&mut self) {
        self.xapp = None;
        self.node = None;
        self.sut = None;
    }
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    use MetricKind::{Histogram, Scalar};
    let mut metrics = vec![
        Metric::new(
            "rtt_us",
            "us",
            Histogram,
            Lower,
            "from the instant at which the ping was to be sent to its echo",
        ),
        Metric::new("rtt_us_service", "us", Histogram, Lower, "from its actual sending to its echo"),
        Metric::new("pings_per_s", "1/s", Scalar, Higher, "that came back"),
        Metric::new(
            "messages_per_s",
            "1/s",
            Scalar,
            Neither,
            "E2AP messages between base station and RIC, both directions",
        ),
        Metric::new(
            "e2_kbps_down",
            "kbit/s",
            Scalar,
            Neither,
            "E2AP messages towards the base station, without the transport's headers",
        ),
        Metric::new("e2_kbps_up", "kbit/s", Scalar, Neither, "E2AP messages from the base station"),
        Metric::new("signalling_kbps", "kbit/s", Scalar, Neither, "both together"),
        Metric::new(
            "e2_bytes_per_control",
            "B",
            Scalar,
            Neither,
            "E2AP message that carries a ping, by the codec",
        ),
        Metric::new(
            "e2_bytes_per_indication",
            "B",
            Scalar,
            Neither,
            "E2AP message that carries an echo, by the codec",
        ),
        Metric::new("loss_ratio", "", Scalar, Lower, "pings without an echo within 2 s, by pings sent"),
        Metric::new(
            "sut.cpu_us_per_ping",
            "us",
            Scalar,
            Lower,
            "the RIC's CPU time for each ping; with an iApp, that of pinging too",
        ),
        Metric::new("tool.cpu_cores", "cores", Scalar, Neither, "cores that base station and xApp kept busy"),
        Metric::new("tool.lateness_us", "us", Histogram, Neither, "how late pings were sent"),
        Metric::new("tool.skipped_ratio", "", Scalar, Neither, "pings that were due and not sent"),
    ];
    metrics.extend(sut::metrics());
    metrics.extend(wire::metrics("e2", "the base station"));
    metrics.extend(wire::metrics("e42", "the xApp"));
    metrics.extend(noise::metrics());
    metrics
}

fn record(
    run: &Run<'_>,
    recorder: &mut Recorder,
    pings: &Report,
    node: &Report,
    cpu_s: Option<f64>,
) -> Result<Outcome, RigError> {
    let number = |name: &str| pings.numbers.get(name).copied().unwrap_or(0.0);
    let (sent, received, lost, unsent) =
        (number("sent"), number("received"), number("lost"), number("unsent"));
    let seconds = pings.wall_s.max(1e-3);
    let size: u32 = keys::int(run, "load.size")?;
    let version: Version = keys::text(run, "sut.e2ap")?
        .parse()
        .map_err(|error| RigError::Rig(format!("`sut.e2ap`: {error}")))?;
    let odd = || RigError::Rig("a ping of that size does not encode".to_owned());
    let down = control_bytes(size, version).ok_or_else(odd)? as f64;
    let up = indication_bytes(size).ok_or_else(odd)? as f64;
    let kbps = |bytes: f64| bytes * 8e-3 / seconds;
    recorder.scalar("pings_per_s", received / seconds);
    recorder.scalar("messages_per_s", (sent + received) / seconds);
    // What the base station sent is counted there; what it got is what was sent, each of a size that the codec gives.
    let up_bytes = node.numbers.get("sent_bytes").copied().unwrap_or(up * received);
    recorder.scalar("e2_kbps_down", kbps(down * sent));
    recorder.scalar("e2_kbps_up", kbps(up_bytes));
    recorder.scalar("signalling_kbps", kbps(down * sent + up_bytes));
    recorder.scalar("e2_bytes_per_control", down);
    recorder.scalar("e2_bytes_per_indication", up);
    recorder.scalar("loss_ratio", lost / sent.max(1.0));
    if let Some(cpu_s) = cpu_s.filter(|_| received > 0.0) {
        recorder.scalar("sut.cpu_us_per_ping", cpu_s * 1e6 / received);
    }
    // A RIC with an iApp pings itself; then the base station alone is the tool's.
    let iapp = run.text("load.path") == Some("iapp");
    let tool = [Some(node), (!iapp).then_some(pings)];
    let tool_s: f64 = tool.iter().flatten().filter_map(|report| Some(report.process.as_ref()?.cpu_s)).sum();
    recorder.scalar("tool.cpu_cores", tool_s / seconds);
    let skipped_ratio = unsent / (sent + unsent).max(1.0);
    recorder.scalar("tool.skipped_ratio", skipped_ratio);
    for (name, theirs) in
        [("rtt_us", "rtt_us"), ("rtt_us_service", "rtt_us_service"), ("tool.lateness_us", "lateness_us")]
    {
        copy(recorder, name, pings, theirs);
    }
    Ok(if skipped_ratio > UNSENT_AT_MOST && run.text(noise::WHEN_NOISY) != Some("warn") {
        Outcome::Invalid
    } else if received == 0.0 {
        Outcome::Overloaded
    } else if lost > 0.0 {
        Outcome::Degraded
    } else {
        Outcome::Ok
    })
}
