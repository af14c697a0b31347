//! Rig `upf`: a user plane function (ours in one of its designs, a mock, or one that runs already) under sessions and
//! packets. Both ends are the verbs `ranlab upf` and `ranlab load upf`, processes of their own on this machine.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::rig::{Better, Breach, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_host::{MachineMeter, ProcessMeter};
use serde_json::Value as Json;

use crate::keys;
use crate::noise;
use ranlab_parts::{Host, Lab};

/// How often it is checked that both live.
const CHECK: Duration = Duration::from_millis(20);
/// A generator whose 99th percentile of lateness is above this was no generator of that load.
const LATE_US: f64 = 1_000.0;
/// How much of a load's output is read at most.
const OUTPUT_BYTES_MAX: u64 = 16 << 20;
const DESIGNS: [&str; 5] = ["cp-offload", "software", "dp-offload", "bare", "external"];
const OWN: &[&str] = &["cp-offload", "software", "dp-offload", "bare"];
const MODES: [&str; 7] = ["control", "blind", "sessions", "mixed", "handover", "paging", "qos"];
const ARRIVALS: [&str; 5] = ["closed", "constant", "poisson", "burst", "ramp"];

/// The rig.
pub(crate) struct UpfRig {
    lab: Lab,
    upf: Option<Child>,
}

impl UpfRig {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), upf: None }
    }

    /// The program, in a network namespace that somebody has made.
    fn program(&self, netns: Option<&str>) -> Command {
        let Some(netns) = netns else { return Command::new(&self.lab.program) };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", netns]).arg(&self.lab.program);
        command
    }

    fn start_upf(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        let design = keys::text(run, "sut.design")?;
        if design == "external" {
            return Ok(());
        }
        let mut command = self.program(run.text("sut.netns"));
        command.args(["upf", "--format", "ndjson", "--design", design]);
        command.args(["--n4", keys::text(run, "sut.n4")?, "--n3", keys::text(run, "sut.n3")?]);
        command.args(["--dialect", keys::text(run, "sut.dialect")?]);
        match keys::text(run, "sut.n6")? {
            "own" => command.arg("--n6").arg(format!("udp://{},{}", upf_n6(run)?, load_n6(run)?)),
            other => command.args(["--n6", other]),
        };
        for (key, flag) in [("sut.xdp", "--xdp"), ("sut.pin", "--pin")] {
            if let Some(text) = run.text(key) {
                command.arg(flag).arg(text);
            }
        }
        command.args(["--workers", &keys::int::<u32>(run, "sut.workers")?.to_string()]);
        command.args(["--loss-permille", &keys::int::<u32>(run, "sut.loss_permille")?.to_string()]);
        command.args(["--max-sessions", &keys::int::<u64>(run, "sut.max_sessions")?.to_string()]);
        for (key, flag) in
            [("sut.install", "--install"), ("sut.service", "--service"), ("sut.scan", "--scan")]
        {
            let span: Duration = run.span(key).unwrap_or_default();
            command.arg(flag).arg(format!("{}us", span.as_nanos() as f64 / 1e3));
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let spawned =
            command.spawn().map_err(|error| RigError::Rig(format!("ranlab does not start: {error}")))?;
        let upf = self.upf.insert(spawned);
        let Some(out) = upf.stdout.take() else { return Err(RigError::Rig("no output".to_owned())) };
        let mut line = String::new();
        // It writes one line when it listens; if it does not, it has said why on the standard error.
        let read = BufReader::new(out.take(4_096)).read_line(&mut line).unwrap_or(0);
        if read == 0 {
            return Err(RigError::Environment("the UPF did not start; its reason is above".to_owned()));
        }
        Ok(())
    }

    /// The UPF's process, if it is known.
    fn pid(&self, run: &Run<'_>) -> Result<Option<u32>, RigError> {
        let named = run.value("sut.pid").map(|_| keys::int(run, "sut.pid")).transpose()?;
        Ok(self.upf.as_ref().map(Child::id).or(named))
    }

    fn load(&self, run: &Run<'_>) -> Result<Command, RigError> {
        let mode = keys::text(run, "load.mode")?;
        let mut command = self.program(run.text("load.netns"));
        command.args(["load", "upf", "--format", "json", "--mode", mode]);
        command.args(["--n4", keys::text(run, "sut.n4")?, "--n3", keys::text(run, "sut.n3")?]);
        command.args(["--dialect", keys::text(run, "sut.dialect")?]);
        let n6 = match keys::text(run, "load.n6")? {
            "own" => format!("udp://{},{}", load_n6(run)?, upf_n6(run)?),
            other => other.to_owned(),
        };
        command.args(["--n6", &n6]);
        command.arg("--duration").arg(format!("{}ms", run.duration.as_millis()));
        command.arg("--run").arg((run.seed as u32).to_string());
        for (key, flag) in [
            ("load.arrivals", "--arrivals"),
            ("load.rate", "--rate"),
            ("load.rate_to", "--rate-to"),
            ("load.burst", "--burst"),
            ("load.window", "--window"),
            ("load.smfs", "--smfs"),
            ("load.gnbs", "--gnbs"),
            ("load.threads", "--threads"),
            ("load.live", "--live"),
            ("load.octets", "--octets"),
            ("load.uplink", "--uplink"),
            ("load.downlink", "--downlink"),
            ("load.dynamic", "--dynamic"),
            ("load.n1", "--n1"),
            ("load.reflect_every", "--reflect-every"),
            ("load.smf", "--smf"),
            ("load.gnb", "--gnb"),
            ("load.pin", "--pin"),
            ("load.io", "--io"),
        ] {
            if let Some(text) = run.text(key) {
                command.arg(flag).arg(text);
            } else if let Some(value) = run.value(key) {
                command.arg(flag).arg(value.to_string());
            }
        }
        for (key, flag) in [
            ("load.hold", "--hold"),
            ("load.delay", "--delay"),
            ("load.round", "--round"),
            ("load.lead", "--lead"),
            ("load.t1", "--t1"),
        ] {
            if let Some(span) = run.span(key) {
                command.arg(flag).arg(format!("{}us", span.as_nanos() as f64 / 1e3));
            }
        }
        if let Some(mbr) = run.number("load.mbr_mbps") {
            command.arg("--mbr").arg(format!("{mbr}M"));
        }
        if let Some(offered) = run.number("load.offered_mbps") {
            command.arg("--offered").arg(format!("{offered}M"));
        }
        // A closed loop ends with its time; other modes need to know how many.
        if let Some(sessions) = run.value("load.sessions") {
            command.arg("--sessions").arg(sessions.to_string());
        }
        if let Some(pid) = self.pid(run)? {
            command.arg("--upf-pid").arg(pid.to_string());
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// Runs the load and returns what it says, and the CPU time that it took, s.
    fn loaded(&mut self, run: &Run<'_>) -> Result<(Json, f64), RigError> {
        let started = self.load(run)?.spawn();
        let mut load = started.map_err(|error| RigError::Rig(format!("ranlab does not start: {error}")))?;
        let (out, err) = (load.stdout.take(), load.stderr.take());
        // Read while it runs: a full pipe would stop it.
        let text = std::thread::scope(|scope| {
            let out = scope.spawn(move || read_all(out));
            let err = scope.spawn(move || read_all(err));
            let waited = wait(&mut load, run);
            let (out, err) = (out.join().unwrap_or_default(), err.join().unwrap_or_default());
            waited.map(|cpu_s| (cpu_s, out, err))
        });
        let (cpu_s, out, err) = text?;
        let failed = |_| RigError::Sut(format!("the load did not end well: {}", err.trim()));
        Ok((serde_json::from_str(out.lines().last().unwrap_or("")).map_err(failed)?, cpu_s))
    }
}

fn read_all(from: Option<impl Read>) -> String {
    let mut text = String::new();
    // What was read until a fault is all that there is to tell.
    let _ = from.map(|from| from.take(OUTPUT_BYTES_MAX).read_to_string(&mut text));
    text
}

/// Waits for the end of the load; its CPU time as last seen, s.
fn wait(load: &mut Child, run: &Run<'_>) -> Result<f64, RigError> {
    let (meter, mut cpu_s) = (ProcessMeter::new(load.id()), 0.0);
    loop {
        match load.try_wait() {
            Ok(Some(_)) => return Ok(cpu_s),
            Ok(None) => cpu_s = meter.sample().map_or(cpu_s, |seen| seen.cpu_s()),
            Err(error) => return Err(RigError::Rig(error.to_string())),
        }
        if let Err(stopped) = run.stop.sleep(CHECK) {
            end(load);
            return Err(stopped);
        }
    }
}

fn end(child: &mut Child) {
    // It may have ended already; either way it is waited for.
    let _ = child.kill();
    let _ = child.wait();
}

/// Addresses of the two ends of N6, beside those of N3.
fn upf_n6(run: &Run<'_>) -> Result<SocketAddr, RigError> {
    let n3: SocketAddr = keys::text(run, "sut.n3")?
        .parse()
        .map_err(|_| RigError::Rig("`sut.n3` is no address and port".to_owned()))?;
    Ok(SocketAddr::new(n3.ip(), n3.port() + 1))
}

fn load_n6(run: &Run<'_>) -> Result<SocketAddr, RigError> {
    keys::text(run, "load.network").and_then(|text| {
        text.parse().map_err(|_| RigError::Rig("`load.network` is no address and port".to_owned()))
    })
}

impl Rig for UpfRig {
    fn describe(&self) -> RigDescription {
        RigDescription {
            name: "upf".to_owned(),
            comment: "a user plane function under sessions (N4) and packets (N3, N6)".to_owned(),
            keys: keys_of_rig(),
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(3),
        }
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        self.start_upf(run)
    }

    fn warm_up(&mut self, _run: &Run<'_>) -> Result<(), RigError> {
        // Each load sends its smoke packets and sets its sessions up before it measures.
        Ok(())
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let machine = MachineMeter::default();
        let before = machine.sample().ok();
        let meter = self.pid(run)?.map(ProcessMeter::new);
        let sample = || meter.as_ref().and_then(|meter| meter.sample().ok());
        let upf_before = sample();
        let (report, load_cpu_s) = self.loaded(run)?;
        let upf_after = sample();
        let after = machine.sample().ok();
        if let Some(died_s) = report["upf_died_s"].as_f64() {
            return Err(RigError::Sut(format!("the UPF's process ended {died_s:.2} s into the run")));
        }
        if meter.is_some() && upf_after.is_none() {
            return Err(RigError::Sut("the UPF's process has ended".to_owned()));
        }
        let upf = upf_before.zip(upf_after);
        // A UPF that nobody names may have used whatever the load did not.
        let upf_cpu_s = upf.as_ref().map_or(f64::INFINITY, |(before, after)| after.cpu_s() - before.cpu_s());
        if let Some((_, after)) = upf {
            recorder.scalar("sut.rss_mb", after.rss_bytes as f64 / 1e6);
            let completed = number(&report["control"]["completed"]) + number(&report["set_up"]["completed"]);
            // Where the load tells apart what setting up has cost, only the rest counts.
            let measured =
                report["control"]["upf_cpu_s"].as_f64().zip(report["control"]["completed"].as_f64());
            let (cpu_s, completed) = measured.filter(|(_, n)| *n > 0.0).unwrap_or((upf_cpu_s, completed));
            if completed > 0.0 {
                recorder.scalar("sut.cpu_us_per_session", cpu_s * 1e6 / completed);
            }
        }
        let outcome = record(run, recorder, &report);
        let seen = before.zip(after).and_then(|(from, to)| noise::around(&from, &to, upf_cpu_s + load_cpu_s));
        let noise = seen.and_then(|seen| noise::judge(run, recorder, &[(&Host::Local, &seen)]));
        Ok(noise.unwrap_or(outcome))
    }

    fn tear_down(&mut self) {
        if let Some(mut upf) = self.upf.take() {
            end(&mut upf);
        }
    }
}

impl Drop for UpfRig {
    fn drop(&mut self) {
        self.tear_down();
    }
}

fn keys_of_rig() -> Vec<Key> {
    let mut keys = keys_of_upf();
    keys.extend(keys_of_load());
    keys.extend(keys::host());
    keys
}

fn count(path: &str, comment: &str, default: i64) -> Key {
    Key::new(path, Kind::Int { min: 0, max: 4_000_000 }, comment).or(default)
}

fn text(path: &str, comment: &str, default: &str) -> Key {
    Key::new(path, Kind::Text, comment).or(default)
}

fn keys_of_upf() -> Vec<Key> {
    vec![
        Key::new(
            "sut.design",
            Kind::choice(&DESIGNS),
            "of our UPF (bare: packets are passed on unread), or external: it runs already",
        )
        .or("cp-offload"),
        Key::new(
            "sut.pid",
            Kind::Int { min: 1, max: 1 << 22 },
            "process of an external UPF: its end is told, its memory and CPU time are measured",
        )
        .optional()
        .when("sut.design", &["external"]),
        text("sut.n4", "N4 of the UPF", "127.8.0.8:8805"),
        text("sut.n3", "N3 of the UPF; its N6 is the next port", "127.8.0.8:2152"),
        text("sut.dialect", "what it insists on: strict-rel15, strict-rel17, open5gs, eupf", "strict-rel17"),
        count("sut.workers", "of the design software", 1),
        count("sut.loss_permille", "PFCP messages lost on purpose", 0),
        count("sut.max_sessions", "sessions at most", 1 << 20),
        Key::new("sut.install", Kind::Span, "further time of each rule")
            .or(Duration::ZERO)
            .when("sut.design", OWN),
        Key::new("sut.service", Kind::Span, "time of each PFCP message")
            .or(Duration::ZERO)
            .when("sut.design", OWN),
        Key::new("sut.scan", Kind::Span, "further time for each live session")
            .or(Duration::ZERO)
            .when("sut.design", OWN),
        text("sut.n6", "of the UPF: own (IP in UDP to the load), sink, reflect, tun://DEVICE", "own")
            .when("sut.design", OWN),
        Key::new(
            "sut.xdp",
            Kind::Text,
            "dp-offload in the kernel (XDP): its devices towards N3 and N6, as n3,n6",
        )
        .optional()
        .when("sut.design", &["dp-offload"]),
        Key::new("sut.pin", Kind::Text, "CPUs of the UPF as 0,1: control, then workers").optional(),
        Key::new("load.pin", Kind::Text, "CPUs of the load likewise: SMFs, then packets").optional(),
    ]
}

fn keys_of_load() -> Vec<Key> {
    let some =
        |path: &str, comment: &str| Key::new(path, Kind::Int { min: 0, max: 4_000_000 }, comment).optional();
    let span = |path: &str, comment: &str| Key::new(path, Kind::Span, comment).optional();
    let rate = |path: &str, comment: &str, unit: &str| {
        Key::new(path, Kind::positive(), comment).unit(unit).optional()
    };
    vec![
        Key::new("load.mode", Kind::choice(&MODES), "what to do").or("control"),
        Key::new("load.arrivals", Kind::choice(&ARRIVALS), "how sessions begin").or("closed"),
        rate("load.rate", "sessions, handovers or pages in a second", "1/s"),
        rate("load.rate_to", "at the end of a ramp", "1/s"),
        some("load.burst", "sessions of a burst"),
        count("load.window", "cycles under way in a closed loop", 64),
        count("load.smfs", "SMFs, a thread each", 1),
        count("load.gnbs", "base stations", 2),
        count("load.threads", "threads with packets", 1),
        count("load.live", "sessions established before, that stay", 0),
        some("load.sessions", "sessions; in mode control, cycles at most"),
        some("load.dynamic", "mixed: sessions that come and go (n2)"),
        some("load.n1", "further sendings of a request"),
        some("load.reflect_every", "every so many uplink packets one comes back"),
        count("load.octets", "of a user's IP packet", 100),
        rate("load.uplink", "packets of all sessions together", "1/s"),
        rate("load.downlink", "packets of all sessions together", "1/s"),
        rate("load.mbr_mbps", "maximum bit rate of a session, each way", "Mbit/s"),
        rate("load.offered_mbps", "qos: what is offered, each way", "Mbit/s"),
        span("load.hold", "between a session's tunnel and its end"),
        span("load.delay", "blind: between two messages"),
        span("load.round", "mixed: one round (t2)"),
        span("load.lead", "mixed: before the first round"),
        span("load.t1", "time without an answer"),
        Key::new("sut.netns", Kind::Text, "network namespace of the UPF, made before").optional(),
        Key::new("load.netns", Kind::Text, "network namespace of the load, made before").optional(),
        Key::new("load.smf", Kind::Text, "address and port of the first SMF").optional(),
        Key::new("load.gnb", Kind::Text, "address and port of the first base station").optional(),
        Key::new(
            "load.io",
            Kind::Text,
            "of base stations' packets: sockets, af-xdp[:DEVICE][,native][,zero-copy]",
        )
        .optional(),
        text("load.n6", "own, none, or routed://ADDRESS where the kernel routes", "own"),
        text("load.network", "our data network's end of N6", "127.8.0.10:2153"),
    ]
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    let scalar = |name: &str, unit: &str, better, comment: &str| {
        Metric::new(name, unit, MetricKind::Scalar, better, comment)
    };
    let mut metrics = vec![
        scalar("sessions_per_s", "1/s", Higher, "whole cycles: establishment, modification, deletion"),
        scalar("answers_per_s", "1/s", Higher, "requests answered"),
        scalar("sessions_failed_ratio", "", Lower, "sessions of which a request was rejected or lost"),
        scalar("requests_lost_ratio", "", Lower, "requests never answered"),
        scalar("unexplained", "", Lower, "requests without an end, responses that nobody asked for"),
        scalar("sessions_left_behind", "", Lower, "whose deletion the UPF did not confirm"),
        scalar("live_sessions", "", Neither, "at most"),
        scalar("drift_rate", "", Neither, "rate of the last third of the seconds over that of the first"),
        scalar("drift_latency", "", Neither, "latency likewise"),
        scalar("sessions_established", "", Higher, "before packets flow"),
        scalar("set_up_per_s", "1/s", Higher, "sessions set up before, in a second"),
        scalar("uplink_pps", "1/s", Higher, "packets that arrived from UEs"),
        scalar("uplink_mbps", "Mbit/s", Higher, "of their IP packets"),
        scalar("uplink_lost_ratio", "", Lower, "of packets sent"),
        scalar("downlink_pps", "1/s", Higher, "packets that arrived at base stations"),
        scalar("downlink_mbps", "Mbit/s", Higher, "of their IP packets"),
        scalar("downlink_lost_ratio", "", Lower, "of packets sent"),
        scalar("round_trip_us_p50", "us", Lower, "of reflected packets, from the intended time"),
        scalar("round_trip_us_p99", "us", Lower, "likewise"),
        scalar("interruption_us_p50", "us", Lower, "by a handover: last packet before to first after"),
        scalar("interruption_us_p99", "us", Lower, "likewise"),
        scalar("end_markers_per_handover", "", Neither, "1 where the UPF sends them"),
        scalar(
            "sut.cpu_us_per_session",
            "us",
            Lower,
            "CPU time of the UPF; without setting up in mode control",
        ),
        scalar("sut.rss_mb", "MB", Lower, "resident memory of the UPF"),
        scalar("tool.lateness_us_p99", "us", Neither, "how late requests left"),
        scalar(
            "tool.answers_per_cpu_s",
            "1/s",
            Higher,
            "requests answered for each second of the SMF's CPU time",
        ),
        scalar("tool.unsent_ratio", "", Lower, "packets that were due and not sent, the worse direction")
            .unsent_share(),
    ];
    metrics.extend(noise::metrics());
    for kind in ["establishment", "modification", "deletion", "cycle"] {
        for quantile in ["p50", "p99", "mean"] {
            let comment = format!("latency of a {kind} from the intended time");
            metrics.push(scalar(&format!("{kind}_us_{quantile}"), "us", Lower, &comment));
        }
    }
    for kind in ["establishment", "modification", "deletion"] {
        metrics.push(scalar(&format!("{kind}_us_service_p50"), "us", Lower, "the same from its sending"));
    }
    metrics
}

fn number(value: &Json) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn record(run: &Run<'_>, recorder: &mut Recorder, report: &Json) -> Outcome {
    let control = &report["control"];
    let mut put = |name: &str, value: &Json| {
        if let Some(value) = value.as_f64() {
            recorder.scalar(name, value);
        }
    };
    put("sessions_per_s", &control["cycles_per_s"]);
    put("answers_per_s", &control["answers_per_s"]);
    put("unexplained", &report["unexplained"]);
    put("sessions_left_behind", &control["left_behind"]);
    put("live_sessions", &control["live_peak"]);
    put("drift_rate", &control["drift"][0]);
    put("drift_latency", &control["drift"][1]);
    put("set_up_per_s", &report["set_up"]["cycles_per_s"]);
    put("sessions_established", &report["set_up"]["completed"]);
    put("tool.lateness_us_p99", &control["lag_us"]["p99"]);
    put("tool.answers_per_cpu_s", &control["answers_per_cpu_s"]);
    for quantile in ["p50", "p99", "mean"] {
        for kind in ["establishment", "modification", "deletion"] {
            let of_kind = &control["requests"][kind];
            put(&format!("{kind}_us_{quantile}"), &of_kind["latency_us"][quantile]);
            put(&format!("{kind}_us_service_p50"), &of_kind["service_us"]["p50"]);
        }
        put(&format!("cycle_us_{quantile}"), &control["cycle_us"][quantile]);
    }
    let (mut sent, mut lost) = (0.0, 0.0);
    let kinds = control["requests"].as_object().into_iter().flatten();
    // Whether a UPF answers a release is a habit, and no loss.
    for (_, of_kind) in kinds.filter(|(kind, _)| *kind != "release") {
        sent += number(&of_kind["sent"]);
        lost += number(&of_kind["lost"]);
    }
    let failed = number(&control["failed"]) / number(&control["started"]).max(1.0);
    recorder.scalar("requests_lost_ratio", lost / f64::max(sent, 1.0));
    recorder.scalar("sessions_failed_ratio", failed);
    let (mut packets_lost, mut unsent) = (0.0, 0.0_f64);
    for step in report["steps"].as_array().into_iter().flatten() {
        packets_lost += record_step(recorder, step);
        unsent = unsent.max(unsent_share(step, "uplink")).max(unsent_share(step, "downlink"));
    }
    if let Some(due) = sessions_due(run) {
        unsent = unsent.max(1.0 - number(&control["started"]) / due.max(1.0));
    }
    recorder.scalar("tool.unsent_ratio", unsent);
    let (lag_us, off_schedule) =
        (number(&control["lag_us"]["p99"]), report["on_schedule"].as_bool() == Some(false));
    // A closed loop has no schedule to be late for.
    let open = run.text("load.arrivals") != Some("closed") || run.text("load.mode") != Some("control");
    let lost_ratio = lost / f64::max(sent, 1.0);
    let packets_lost = if run.text("load.mode") == Some("qos") { 0.0 } else { packets_lost };
    let late = Breach::above("tool.lateness_us_p99", lag_us, LATE_US)
        .or_else(|| Breach::said(off_schedule, "the load fell behind its schedule"));
    recorder.judge([
        (Outcome::Invalid, late.filter(|_| open && noise::refused(run))),
        (Outcome::Overloaded, Breach::above("requests_lost_ratio", lost_ratio, 0.5)),
        (Outcome::Degraded, Breach::above("requests_lost_ratio", lost_ratio, 0.0)),
        (Outcome::Degraded, Breach::above("sessions_failed_ratio", failed, 0.0)),
        (Outcome::Degraded, Breach::above("sessions_left_behind", number(&control["left_behind"]), 0.0)),
        (Outcome::Degraded, Breach::above("packets lost", packets_lost, 0.0)),
    ])
}

/// One step with packets; packets lost.
fn record_step(recorder: &mut Recorder, step: &Json) -> f64 {
    let mut lost = 0.0;
    for (side, name) in [("uplink", "uplink"), ("downlink", "downlink")] {
        let side = &step[side];
        if let (Some(pps), Some(bps)) = (side["received_pps"].as_f64(), side["received_bps"].as_f64()) {
            recorder.scalar(&format!("{name}_pps"), pps);
            recorder.scalar(&format!("{name}_mbps"), bps / 1e6);
            let (sent, gone) = (number(&side["sent"]), number(&side["lost"]));
            recorder.scalar(&format!("{name}_lost_ratio"), gone / sent.max(1.0));
            lost += gone;
        }
    }
    for quantile in ["p50", "p99"] {
        for name in ["round_trip_us", "interruption_us"] {
            if let Some(value) = step[name][quantile].as_f64() {
                recorder.scalar(&format!("{name}_{quantile}"), value);
            }
        }
    }
    if let Some(handovers) = step["handovers"].as_f64().filter(|handovers| *handovers > 0.0) {
        recorder.scalar("end_markers_per_handover", step["end_markers"].as_f64().unwrap_or(0.0) / handovers);
    }
    lost
}

/// Sessions that an open loop must have begun at least; `None`: there is no schedule that says so.
fn sessions_due(run: &Run<'_>) -> Option<f64> {
    let rate = run.number("load.rate").filter(|_| run.text("load.mode") == Some("control"))?;
    let rate = match run.text("load.arrivals")? {
        "constant" => rate,
        "ramp" => (rate + run.number("load.rate_to")?) / 2.0,
        // Chance begins fewer at times: four standard deviations of their number.
        "poisson" => rate - 4.0 * (rate / run.duration.as_secs_f64().max(1e-3)).sqrt(),
        _ => return None,
    };
    let due = rate * run.duration.as_secs_f64();
    Some(run.number("load.sessions").map_or(due, |most| due.min(most)))
}

/// The share of a direction's packets that was due and was not sent; what no session was live for is not the generator's.
fn unsent_share(step: &Json, side: &str) -> f64 {
    let side = &step[side];
    let sent = number(&side["sent"]);
    let asked = number(&side["asked_pps"]) * number(&step["seconds"]) - number(&side["idle"]);
    let due = asked.max(sent + number(&side["unsent"]));
    (due - sent) / due.max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_were_due_and_not_sent_are_missing_load() {
        let step = |sent: u64, unsent: u64, idle: u64| serde_json::json!({"seconds": 2.0, "uplink": {"sent": sent, "unsent": unsent, "idle": idle, "asked_pps": 500.0}});
        let share = |sent, unsent, idle| unsent_share(&step(sent, unsent, idle), "uplink");
        assert_eq!((share(1000, 0, 0), share(600, 0, 400), share(1200, 0, 0)), (0.0, 0.0, 0.0));
        assert_eq!(
            (share(750, 0, 0), share(750, 250, 0), unsent_share(&step(1, 0, 0), "downlink")),
            (0.25, 0.25, 0.0)
        );
    }

    #[test]
    fn every_key_of_the_load_is_described_and_every_metric_has_one_name() {
        let rig = UpfRig::new(&Lab::new("ranlab"));
        let description = rig.describe();
        let names = description.metric_names();
        let once: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(once.len(), names.len());
        assert!(description.keys.iter().all(|key| !key.comment.is_empty()));
    }
}
