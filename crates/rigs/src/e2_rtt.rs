//! Rig `e2-rtt`: round trips of pings through the service model HW, one hop (iApp) or two (xApp over the RIC).

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Breach, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_sdk::wire::e2ap::Version;

use crate::controller::copy;
use crate::keys;
use crate::noise;
use crate::sut::{self, Sut};
use crate::wire;
use ranlab_parts::Lab;
use ranlab_parts::worker::{Report, Worker};
use ranlab_parts::{FleetPart, HW, Pace, Part, PingPart, SouthFleetPart, control_bytes, indication_bytes};

/// How long the base station may take to be up, and the first echo to come.
const SET_UP: Duration = Duration::from_secs(20);
/// How often it is checked that everything lives while measuring.
const CHECK: Duration = Duration::from_secs(1);

/// The encoding that stands for the FlexRAN protocol.
const FLEXRAN: &str = "flexran";

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
        let kind = Pinging::of(run)?;
        if run.text("load.encoding") == Some("flat") {
            let why = match kind {
                Pinging::Flexran => "FlexRAN's echo has no service model inside that could be encoded",
                _ => "service models in FlatBuffers are not built yet",
            };
            return Err(RigError::Environment(why.to_owned()));
        }
        let pace = Pace {
            size: keys::int(run, "load.size")?,
            interval_us: keys::span_us(run, "load.interval")?,
            window: keys::int(run, "load.window")?,
        };
        let sut = match kind {
            Pinging::Flexran => Sut::with_flexran(&self.lab, run, pace.clone())?,
            Pinging::IApp if run.text("sut.encoding") != Some("flat") => {
                Sut::with_iapp(&self.lab, run, pace.clone())?
            }
            _ => Sut::start(&self.lab, run)?,
        };
        let sut = self.sut.insert(sut);
        let (part, up) = base_station(run, kind, &sut.e2)?;
        let host = keys::host_of(run, "load.at")?;
        let node = Worker::start(&self.lab, &host, "base station", part, &run.stop)?;
        let node = self.node.insert(node);
        node.wait_until("the base station up", SET_UP, &run.stop, |numbers| numbers.get(up) == Some(&1.0))?;
        let pinging = if kind == Pinging::Xapp {
            let e2ap = keys::text(run, "sut.e2ap")?.to_owned();
            let part = PingPart { connect: sut.e42.clone(), e2ap, flexric: sut.flexric, pace };
            let host = keys::host_of(run, "xapp.at")?;
            let xapp = Worker::start(&self.lab, &host, "xApp", Part::Ping(part), &run.stop)?;
            Some(self.xapp.insert(xapp))
        } else {
            sut.first()
        };
        let pinging = pinging.ok_or_else(|| RigError::Rig("nobody pings".to_owned()))?;
        pinging.wait_until("the first echo", SET_UP, &run.stop, |numbers| {
            numbers.get("received").is_some_and(|received| *received > 0.0)
        })?;
        Ok(())
    }
}

/// Who pings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pinging {
    /// An xApp, over the RIC.
    Xapp,
    /// An iApp in the RIC.
    IApp,
    /// A FlexRAN controller itself.
    Flexran,
}

impl Pinging {
    fn of(run: &Run<'_>) -> Result<Self, RigError> {
        let iapp = keys::text(run, "load.path")? == "iapp";
        let flexran = run.text("sut.encoding") == Some(FLEXRAN);
        if (iapp || flexran) && run.text("sut.type") != Some("ranlab") {
            return Err(RigError::Rig(
                "an iApp runs in our RIC alone, and so does FlexRAN's echo: `sut.type` must be \"ranlab\""
                    .to_owned(),
            ));
        }
        match (flexran, iapp) {
            (true, true) => Ok(Self::Flexran),
            (true, false) => Err(RigError::Rig(
                "FlexRAN's controller pings its agent itself: `load.path` must be \"iapp\"".to_owned(),
            )),
            (false, true) => Ok(Self::IApp),
            (false, false) => Ok(Self::Xapp),
        }
    }
}

/// The base station, and which of its numbers is 1 when it is up.
fn base_station(run: &Run<'_>, kind: Pinging, connect: &str) -> Result<(Part, &'static str), RigError> {
    let connect = connect.to_owned();
    if kind == Pinging::Flexran {
        let part = SouthFleetPart::one(FLEXRAN, connect, run.seed);
        return Ok((Part::SouthFleet(part), "connected"));
    }
    let part = FleetPart {
        nodes: 1,
        ues: 0,
        sm: vec![HW.to_owned()],
        ramp: Some(Duration::ZERO),
        ..keys::fleet(run, &connect, keys::text(run, "sut.e2ap")?)?
    };
    Ok((Part::Fleet(part), "alive"))
}

impl Rig for E2Rtt {
    fn describe(&self) -> RigDescription {
        let mut keys = sut::keys();
        if let Some(encoding) = keys.iter_mut().find(|key| key.path == "sut.encoding") {
            *encoding = Key::new(
                "sut.encoding",
                Kind::choice(&["per", "flat", FLEXRAN]),
                "of E2AP; flat (FlatBuffers) cannot be measured yet; flexran: FlexRAN's echo instead of E2, in protobuf, \
                 with nothing inside that is encoded again",
            )
            .or("per");
        }
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
            aliases: Vec::new(),
            comment: "round trips of pings through a base station's service model HW, one hop or two"
                .to_owned(),
            keys,
            metrics: metrics(),
            needs: self.lab.needs(),
            set_up: Duration::from_secs(1),
            starter: include_str!("starters/e2-rtt.toml"),
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
            "E2AP messages (FlexRAN's) towards the base station, without the transport's headers",
        ),
        Metric::new("e2_kbps_up", "kbit/s", Scalar, Neither, "E2AP messages from the base station"),
        Metric::new("signalling_kbps", "kbit/s", Scalar, Neither, "both together"),
        Metric::new(
            "e2_bytes_per_control",
            "B",
            Scalar,
            Neither,
            "E2AP message (FlexRAN's) that carries a ping",
        )
        .exact_when("sut.encoding", &["per", "flat"]),
        Metric::new(
            "e2_bytes_per_indication",
            "B",
            Scalar,
            Neither,
            "E2AP message (FlexRAN's) that carries an echo",
        )
        .exact_when("sut.encoding", &["per", "flat"]),
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
        Metric::new("tool.skipped_ratio", "", Scalar, Neither, "pings that were due and not sent")
            .unsent_share(),
    ];
    metrics.extend(sut::metrics());
    metrics.extend(wire::metrics("e2", "the base station"));
    metrics.extend(wire::metrics("e42", "the xApp"));
    metrics.extend(noise::metrics());
    metrics
}

/// Octets of signalling, without the transport's.
struct Octets {
    down: f64,
    up: f64,
    each_down: f64,
    each_up: f64,
}

impl Octets {
    fn of(run: &Run<'_>, pings: &Report, node: &Report) -> Result<Self, RigError> {
        let number = |name: &str| pings.numbers.get(name).copied();
        let (sent, received) = (number("sent").unwrap_or(0.0), number("received").unwrap_or(0.0));
        // FlexRAN's controller counts both.
        if let Some((down, up)) = number("octets_down").zip(number("octets_up")) {
            return Ok(Self { down, up, each_down: down / sent.max(1.0), each_up: up / received.max(1.0) });
        }
        let size: u32 = keys::int(run, "load.size")?;
        let version: Version = keys::text(run, "sut.e2ap")?
            .parse()
            .map_err(|error| RigError::Rig(format!("`sut.e2ap`: {error}")))?;
        let odd = || RigError::Rig("a ping of that size does not encode".to_owned());
        let each_down = control_bytes(size, version).ok_or_else(odd)? as f64;
        let each_up = indication_bytes(size).ok_or_else(odd)? as f64;
        // What the base station sent is counted there; what it got is what was sent, each of a size that the codec gives.
        let up = node.numbers.get("sent_bytes").copied().unwrap_or(each_up * received);
        Ok(Self { down: each_down * sent, up, each_down, each_up })
    }
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
    let octets = Octets::of(run, pings, node)?;
    let kbps = |bytes: f64| bytes * 8e-3 / seconds;
    recorder.scalar("pings_per_s", received / seconds);
    recorder.scalar("messages_per_s", (sent + received) / seconds);
    recorder.scalar("e2_kbps_down", kbps(octets.down));
    recorder.scalar("e2_kbps_up", kbps(octets.up));
    recorder.scalar("signalling_kbps", kbps(octets.down + octets.up));
    recorder.scalar("e2_bytes_per_control", octets.each_down);
    recorder.scalar("e2_bytes_per_indication", octets.each_up);
    recorder.scalar("loss_ratio", lost / sent.max(1.0));
    if let Some(cpu_s) = cpu_s.filter(|_| received > 0.0) {
        recorder.scalar("sut.cpu_us_per_ping", cpu_s * 1e6 / received);
    }
    // A controller that pings itself: then the base station alone is the tool's.
    let itself = Pinging::of(run)? != Pinging::Xapp;
    let tool = [Some(node), (!itself).then_some(pings)];
    let tool_s: f64 = tool.iter().flatten().filter_map(|report| Some(report.process.as_ref()?.cpu_s)).sum();
    recorder.scalar("tool.cpu_cores", tool_s / seconds);
    recorder.scalar("tool.skipped_ratio", unsent / (sent + unsent).max(1.0));
    for (name, theirs) in
        [("rtt_us", "rtt_us"), ("rtt_us_service", "rtt_us_service"), ("tool.lateness_us", "lateness_us")]
    {
        copy(recorder, name, pings, theirs);
    }
    Ok(recorder.judge([
        (Outcome::Overloaded, Breach::said(received == 0.0, "no ping came back")),
        (Outcome::Degraded, Breach::above("loss_ratio", lost / sent.max(1.0), 0.0)),
    ]))
}
