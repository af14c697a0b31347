//! Controllers under test: ours, the reference that decodes twice, or one that somebody else runs.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Metric, MetricKind, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};

use crate::keys;
use crate::peer::Peer;
use ranlab_parts::worker::{Report, Worker};
use ranlab_parts::{AttachPart, Host, Lab, Language, Part, PingFlexranPart, PingRicPart, RelayPart, RicPart};

/// Says what stands between base stations and xApps.
pub(crate) fn keys() -> Vec<Key> {
    let own: &[&str] = &["ranlab", "double-decode"];
    vec![
        Key::new(
            "sut.type",
            Kind::choice(&["ranlab", "double-decode", "external"]),
            "ranlab: our RIC in a process; double-decode: the same between two relays that decode and encode every message, \
             as an E2 termination and an xApp framework do; external: one that runs already",
        )
        .or("ranlab"),
        Key::new("sut.e2ap", Kind::choice(&keys::E2AP), "version of E2AP").or("2.03"),
        Key::new("sut.encoding", Kind::choice(&["per", "flat"]), "of E2AP; flat (FlatBuffers) cannot be measured yet")
            .or("per"),
        Key::new("sut.transport", Kind::choice(&["tcp", "unix"]), "under E2 and E42").or("tcp").when("sut.type", own),
        Key::new("sut.listen", Kind::Text, "IP address that it listens at; not loopback if others are on other machines")
            .or("127.0.0.1")
            .when("sut.type", own),
        keys::place("sut.at", "the controller"),
        Key::new("sut.e2", Kind::Text, "its address for base stations").when("sut.type", &["external"]),
        Key::new("sut.e42", Kind::Text, "its address for xApps").when("sut.type", &["external"]),
        Key::new("sut.pid", Kind::Int { min: 1, max: 1 << 22 }, "its process on sut.at; without this, sut.command and sut.cgroup nothing of it is metered")
            .optional()
            .when("sut.type", &["external"]),
        Key::new("sut.command", Kind::Text, "or every process of that name there").optional().when("sut.type", &["external"]),
        Key::new("sut.cgroup", Kind::Text, "or every process of that control group, such as a container's")
            .optional()
            .when("sut.type", &["external"]),
        Key::new("sut.peer", Kind::Text, "its profile: ranlab, flexric, or a path to a file like peers/flexric.toml")
            .or("ranlab")
            .when("sut.type", &["external"]),
    ]
}

/// Recorded wherever a rig has it: see [`record`].
pub(crate) const CPU_CORES: &str = "sut.cpu_cores";

pub(crate) fn metrics() -> Vec<Metric> {
    use Better::{Lower, Neither};
    use MetricKind::{Scalar, Series};
    vec![
        Metric::new(
            CPU_CORES,
            "cores",
            Series,
            Lower,
            "cores that the controller keeps busy, by its process",
        ),
        Metric::new("sut.cpu_share", "", Scalar, Lower, "the same as a share of the whole machine"),
        Metric::new("sut.rss_mb", "MB", Series, Lower, "its resident memory"),
        Metric::new("sut.rss_peak_mb", "MB", Scalar, Lower, "the largest that was seen"),
        Metric::new(
            "sut.pss_mb",
            "MB",
            Scalar,
            Lower,
            "its proportional memory: what processes share is shared out",
        ),
        Metric::new("sut.context_switches_per_s", "1/s", Scalar, Lower, "of all its threads"),
        Metric::new("sut.faults_per_s", "1/s", Scalar, Lower, "its page faults"),
        Metric::new("sut.processes", "", Scalar, Neither, "processes that it is made of"),
    ]
}

/// A controller that serves.
pub(crate) struct Sut {
    workers: Vec<Worker>,
    /// Where base stations connect.
    pub(crate) e2: String,
    /// Where xApps connect.
    pub(crate) e42: String,
    /// Whether it speaks FlexRIC's E42.
    pub(crate) flexric: bool,
}

impl Sut {
    /// Brings it up as the point says.
    pub(crate) fn start(lab: &Lab, run: &Run<'_>) -> Result<Self, RigError> {
        if run.text("sut.encoding") == Some("flat") {
            return Err(RigError::Environment("E2AP in FlatBuffers is not built yet".to_owned()));
        }
        match keys::text(run, "sut.type")? {
            "external" => Self::external(lab, run),
            "double-decode" => Self::between_relays(lab, run),
            _ => Self::ranlab(lab, run),
        }
    }

    /// Whatever a worker holds, to be metered.
    pub(crate) fn metered(worker: Worker) -> Self {
        Self { workers: vec![worker], e2: String::new(), e42: String::new(), flexric: false }
    }

    /// Our RIC with a pinging iApp.
    pub(crate) fn with_iapp(lab: &Lab, run: &Run<'_>, pace: ranlab_parts::Pace) -> Result<Self, RigError> {
        let host = keys::host_of(run, "sut.at")?;
        let part = PingRicPart { e2: listen(run)?, e2ap: keys::text(run, "sut.e2ap")?.to_owned(), pace };
        let worker = Worker::start(lab, &host, "RIC with iApp", Part::PingRic(part), &run.stop)?;
        let e2 = address(&worker, "e2")?;
        Ok(Self { workers: vec![worker], e2, e42: String::new(), flexric: false })
    }

    /// A FlexRAN controller that pings; `e2` is where its agent connects.
    pub(crate) fn with_flexran(lab: &Lab, run: &Run<'_>, pace: ranlab_parts::Pace) -> Result<Self, RigError> {
        let host = keys::host_of(run, "sut.at")?;
        if keys::text(run, "sut.transport")? != "tcp" {
            return Err(RigError::Rig("FlexRAN runs over TCP: `sut.transport` must be \"tcp\"".to_owned()));
        }
        let part = PingFlexranPart { listen: listen(run)?, pace };
        let worker = Worker::start(lab, &host, "FlexRAN controller", Part::PingFlexran(part), &run.stop)?;
        let e2 = address(&worker, "southbound")?;
        Ok(Self { workers: vec![worker], e2, e42: String::new(), flexric: false })
    }

    fn ranlab(lab: &Lab, run: &Run<'_>) -> Result<Self, RigError> {
        let host = keys::host_of(run, "sut.at")?;
        let (e2, e42) = (listen(run)?, listen(run)?);
        let part = RicPart { e2, e42, e2ap: keys::text(run, "sut.e2ap")?.to_owned() };
        let worker = Worker::start(lab, &host, "RIC", Part::Ric(part), &run.stop)?;
        let (e2, e42) = (address(&worker, "e2")?, address(&worker, "e42")?);
        Ok(Self { workers: vec![worker], e2, e42, flexric: false })
    }

    fn between_relays(lab: &Lab, run: &Run<'_>) -> Result<Self, RigError> {
        let host = keys::host_of(run, "sut.at")?;
        let mut sut = Self::ranlab(lab, run)?;
        for (role, language) in [("E2 termination", Language::E2), ("xApp relay", Language::E42)] {
            let behind = if language == Language::E2 { &mut sut.e2 } else { &mut sut.e42 };
            let e2ap = keys::text(run, "sut.e2ap")?.to_owned();
            let part = RelayPart { listen: listen(run)?, connect: behind.clone(), language, e2ap };
            let worker = Worker::start(lab, &host, role, Part::Relay(part), &run.stop)?;
            *behind = address(&worker, "relay")?;
            sut.workers.push(worker);
        }
        Ok(sut)
    }

    fn external(lab: &Lab, run: &Run<'_>) -> Result<Self, RigError> {
        let host = keys::host_of(run, "sut.at")?;
        let peer =
            Peer::load(keys::text(run, "sut.peer")?).map_err(|error| RigError::Rig(error.to_string()))?;
        let (e2, e42) = (keys::text(run, "sut.e2")?.to_owned(), keys::text(run, "sut.e42")?.to_owned());
        for address in [&e2, &e42] {
            let scheme = address.split_once("://").map_or("tcp", |(scheme, _)| scheme);
            if let Some(why) = peer.refuses(scheme) {
                return Err(RigError::Environment(why));
            }
        }
        let part = match (run.value("sut.pid"), run.text("sut.command"), run.text("sut.cgroup")) {
            (Some(_), _, _) => AttachPart::Pid { pid: keys::int(run, "sut.pid")? },
            (None, Some(name), _) => AttachPart::Command { name: name.to_owned() },
            (None, None, Some(path)) => AttachPart::Cgroup { path: path.to_owned() },
            (None, None, None) => AttachPart::Elsewhere,
        };
        let part = Part::Attach(part);
        let worker = Worker::start(lab, &host, "controller", part, &run.stop)?;
        Ok(Self { workers: vec![worker], e2, e42, flexric: peer.dialect.e42 == "flexric" })
    }

    /// Whether all of it lives.
    pub(crate) fn check(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.workers.iter_mut().try_for_each(|worker| worker.look(&run.stop).map(|_| ()))
    }

    /// The numbers of its first part: those of a RIC with an iApp are its pings.
    pub(crate) fn first(&mut self) -> Option<&mut Worker> {
        self.workers.first_mut()
    }

    pub(crate) fn begin(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.workers.iter_mut().try_for_each(|worker| worker.begin(&run.stop))
    }

    /// Records what it used; the reports are those of its parts in order.
    pub(crate) fn end(
        &mut self,
        run: &Run<'_>,
        recorder: &mut Recorder,
    ) -> Result<Vec<(Host, Report)>, RigError> {
        let mut reports = Vec::with_capacity(self.workers.len());
        for worker in &mut self.workers {
            reports.push((worker.host.clone(), worker.end(&run.stop)?));
        }
        record(recorder, &reports.iter().map(|(_, report)| report).collect::<Vec<_>>(), run.duration);
        Ok(reports)
    }
}

/// The sum over the processes, sample by sample: their clocks tick in step within some milliseconds.
pub(crate) fn record(recorder: &mut Recorder, reports: &[&Report], duration: Duration) {
    let metered: Vec<_> =
        reports.iter().filter_map(|report| Some((*report, report.process.as_ref()?))).collect();
    let Some(samples) = metered.iter().map(|(_, process)| process.series.len()).min() else { return };
    let sum = |of: &dyn Fn(&ranlab_parts::worker::ProcessReport) -> f64| -> f64 {
        metered.iter().map(|(_, process)| of(process)).sum()
    };
    for index in 0..samples {
        // A sample at the very end comes a moment after it.
        let at = Duration::from_secs_f64(metered[0].1.series[index].0).min(duration);
        recorder.sample(CPU_CORES, at, sum(&|process| process.series[index].1));
        recorder.sample("sut.rss_mb", at, sum(&|process| process.series[index].2 as f64 / 1e6));
    }
    let wall_s = metered[0].0.wall_s.max(1e-3);
    recorder.scalar("sut.rss_peak_mb", sum(&|process| process.rss_peak_bytes as f64 / 1e6));
    let pss: Option<u64> = metered.iter().map(|(_, process)| process.pss_bytes).sum();
    if let Some(pss) = pss {
        recorder.scalar("sut.pss_mb", pss as f64 / 1e6);
    }
    recorder.scalar("sut.context_switches_per_s", sum(&|process| process.context_switches as f64 / wall_s));
    recorder.scalar("sut.faults_per_s", sum(&|process| process.faults as f64 / wall_s));
    recorder.scalar("sut.processes", metered.len() as f64);
    if let Some(machine) = metered[0].0.machine {
        recorder.scalar("sut.cpu_share", sum(&|process| process.cpu_s / wall_s) / machine.cpus.max(1) as f64);
    }
}

/// CPU seconds of all processes together.
pub(crate) fn cpu_s(reports: &[(Host, Report)]) -> Option<f64> {
    reports.iter().map(|(_, report)| report.process.as_ref().map(|process| process.cpu_s)).sum()
}

fn listen(run: &Run<'_>) -> Result<String, RigError> {
    Ok(match keys::text(run, "sut.transport")? {
        "unix" => "unix".to_owned(),
        _ => {
            let ip = keys::text(run, "sut.listen")?;
            let ip: std::net::IpAddr = ip.parse().map_err(|_| {
                RigError::Rig(format!("`sut.listen` must be an IP address, \"{ip}\" is none"))
            })?;
            format!("tcp://{}", std::net::SocketAddr::new(ip, 0))
        }
    })
}

fn address(worker: &Worker, name: &str) -> Result<String, RigError> {
    let missing = || RigError::Rig(format!("the {} does not say where it listens", worker.role));
    worker.ready.addresses.get(name).cloned().ok_or_else(missing)
}
