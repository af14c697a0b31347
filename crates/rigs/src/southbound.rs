//! Rig `sd-ran`: base stations of FlexRAN or 5G-EmPOWER at a controller: MARC's benchmark without its defects; and
//! the same over E2 at our RIC, with its monitoring application inside as theirs is.

use std::time::Duration;

use ranlab_campaign::record::Recorder;
use ranlab_campaign::results::Results;
use ranlab_campaign::rig::{Better, Breach, Metric, MetricKind, Outcome, Rig, RigDescription, RigError, Run};
use ranlab_campaign::schema::{Key, Kind};
use ranlab_campaign::value::Value;

use crate::guides;
use crate::keys;
use crate::noise;
use crate::readback;
use crate::sut::{self, Sut};
use crate::wire;
use ranlab_parts::Lab;
use ranlab_parts::worker::{Numbers, Report, Worker};
use ranlab_parts::{
    self as parts, AttachPart, FleetPart, MonitorRicPart, Part, SouthControllerPart, SouthFleetPart,
};

/// Version of E2AP between `ric` and its base stations.
const E2AP: &str = "2.03";
/// How often it is checked that the controller lives while measuring.
const CHECK: Duration = Duration::from_secs(1);
/// A controller whose base stations are fewer than this cannot follow.
const ALIVE_AT_LEAST: f64 = 0.5;

/// The rig.
pub(crate) struct Southbound {
    lab: Lab,
    sut: Option<Sut>,
    address: String,
    fleet: Option<Worker>,
}

impl Southbound {
    pub(crate) fn new(lab: &Lab) -> Self {
        Self { lab: lab.clone(), sut: None, address: String::new(), fleet: None }
    }

    fn controller(&self, run: &Run<'_>) -> Result<Worker, RigError> {
        let kind = keys::text(run, "sut.type")?;
        let part = match kind {
            "external" => Part::Attach(match run.value("sut.pid") {
                Some(_) => AttachPart::Pid { pid: keys::int(run, "sut.pid")? },
                None => AttachPart::Elsewhere,
            }),
            "ric" => Part::MonitorRic(MonitorRicPart {
                e2: "tcp://127.0.0.1:0".to_owned(),
                e2ap: E2AP.to_owned(),
                sm: keys::list(run, "load.sm")?,
                // E2's statistics know no finer period.
                period_ms: u32::try_from(period_us(run)?.div_ceil(1_000)).unwrap_or(u32::MAX).max(1),
                // One more for a base station that comes last.
                nodes: keys::int::<u32>(run, "load.nodes")?.saturating_add(1),
            }),
            which => Part::SouthController(SouthControllerPart {
                which: which.trim_start_matches("alt-").to_owned(),
                arguments: arguments(run, which)?,
            }),
        };
        Worker::start(&self.lab, &keys::host_of(run, "sut.at")?, "controller", part, &run.stop)
    }

    fn part(&self, run: &Run<'_>, nodes: u32, first: u32, ues: u32) -> Result<Part, RigError> {
        let ramp_us = match keys::span_us(run, "load.ramp")? {
            0 => u64::from(nodes) * 1_000,
            ramp => ramp,
        };
        if keys::text(run, "sut.type")? == "ric" {
            let part = FleetPart {
                nodes,
                // Within what the key allows.
                ues: u16::try_from(ues).unwrap_or(u16::MAX),
                sm: keys::list(run, "load.sm")?,
                first,
                ..keys::fleet(run, &self.address, E2AP)?
            };
            return Ok(Part::Fleet(part));
        }
        Ok(Part::SouthFleet(SouthFleetPart {
            protocol: protocol(run)?.to_owned(),
            connect: self.address.clone(),
            nodes,
            first,
            ues,
            period_us: period_us(run)?,
            activation: keys::text(run, "load.activation")?.to_owned(),
            holding: keys::text(run, "load.holding")?.to_owned(),
            ramp_us,
            sources: keys::text(run, "load.sources")?.to_owned(),
            seed: run.seed,
        }))
    }

    /// One more base station without UEs, as MARC's m + 1st: how long its initialisation takes, us; `None` if longer than
    /// the patience.
    fn probe(&self, run: &Run<'_>, nodes: u32) -> Result<Option<(f64, f64)>, RigError> {
        let patience = Duration::from_micros(keys::span_us(run, "load.patience")?);
        let host = keys::host_of(run, "load.at")?;
        let part = self.part(run, 1, nodes, 0)?;
        let mut probe = Worker::start(&self.lab, &host, "one more base station", part, &run.stop)?;
        let mut waited = Duration::ZERO;
        let step = Duration::from_millis(50);
        loop {
            let numbers = probe.look(&run.stop)?;
            if number(&numbers, "alive") >= 1.0 {
                return Ok(Some((number(&numbers, "init_us"), number(&numbers, "init_requests_us"))));
            }
            if waited >= patience {
                return Ok(None);
            }
            run.stop.sleep(step)?;
            waited += step;
        }
    }
}

fn lateness_us_p99(load: &Report) -> f64 {
    let Some(counts) = load.distributions.get("lateness_us") else {
        return number(&load.numbers, "lateness_us_p99");
    };
    let mut left = counts.iter().map(|(_, count)| *count).sum::<u64>() as f64 * 0.99;
    let reached = counts.iter().find(|(_, count)| {
        left -= *count as f64;
        left <= 0.0
    });
    reached.map_or(0.0, |(value, _)| *value as f64)
}

fn number(numbers: &Numbers, name: &str) -> f64 {
    numbers.get(name).copied().unwrap_or(0.0)
}

fn protocol<'a>(run: &'a Run<'_>) -> Result<&'a str, RigError> {
    Ok(match (keys::text(run, "sut.type")?, run.text("sut.protocol")) {
        ("flexran" | "alt-flexran", _) => "flexran",
        ("empower", _) => "empower1",
        (_, given) => given.unwrap_or("flexran"),
    })
}

/// The reporting period, us; 0: as the controller asks.
fn period_us(run: &Run<'_>) -> Result<u64, RigError> {
    if run.value("load.honour") == Some(&Value::Bool(true)) {
        return Ok(0);
    }
    Ok(match keys::span_us(run, "load.period")? {
        0 if protocol(run)?.starts_with("empower") => 500_000,
        0 => 50_000,
        us => us,
    })
}

/// What a reference controller is told.
fn arguments(run: &Run<'_>, which: &str) -> Result<Vec<String>, RigError> {
    let mut arguments = vec!["--listen".to_owned(), "127.0.0.1:0".to_owned()];
    let mut say = |flag: &str, value: String| arguments.extend([flag.to_owned(), value]);
    if which == "empower" {
        say("--message-cost", format!("{}us", keys::span_us(run, "sut.message_cost")?));
        return Ok(arguments);
    }
    let share = if which == "alt-flexran" { "0.8" } else { keys::text(run, "sut.rib_share")? };
    say("--rib-share", share.to_owned());
    say("--queue", keys::text(run, "sut.queue")?.to_owned());
    say("--queue-messages", keys::int::<u64>(run, "sut.queue_messages")?.to_string());
    say("--threads", keys::text(run, "sut.threads")?.to_owned());
    say("--period", format!("{}us", keys::span_us(run, "sut.period")?));
    if keys::span_us(run, "sut.slow_period")? > 0 {
        say("--slow-period", format!("{}us", keys::span_us(run, "sut.slow_period")?));
    }
    Ok(arguments)
}

fn sut_keys() -> Vec<Key> {
    // What a type does not use is ignored, so that one sweep can go over several types.
    let external = &["external"][..];
    let mut keys = vec![
        Key::new(
            "sut.type",
            Kind::choice(&["flexran", "alt-flexran", "empower", "ric", "external"]),
            "our references after the published controllers (alt-flexran: flexran with a RIB share of 0.8); ric: our RIC with \
             its monitoring iApp, over E2 and with all UEs from the start; external: one that runs already",
        )
        .or("flexran"),
        keys::place("sut.at", "the controller"),
        Key::new("sut.rib_share", Kind::Text, "part of a cycle for the RIB updater: \"0.2\" is FlexRAN, \"0.8\" AltFlexRAN; or \"adaptive\"")
            .or("0.2"),
        Key::new("sut.queue", Kind::choice(&["leaky", "bounded"]), "leaky: drops and leaks as published; bounded: holds agents back")
            .or("leaky"),
        Key::new("sut.queue_messages", Kind::Int { min: 1, max: 10_000_000 }, "messages that the queue holds")
            .or(10_000),
        Key::new("sut.threads", Kind::choice(&["per-run", "inline"]), "per-run: a new thread for each run, as published")
            .or("per-run"),
        Key::new("sut.period", Kind::Span, "period that agents are asked for; counts with load.honour")
            .or(Duration::from_millis(4)),
        Key::new("sut.slow_period", Kind::Span, "period that they are asked for while the queue is long; 0s: never")
            .or(Duration::ZERO),
        Key::new("sut.message_cost", Kind::Span, "CPU time that each message costs besides our own work; the published interpreter: 350us")
            .or(Duration::from_micros(350)),
        Key::new("sut.address", Kind::Text, "IP:PORT of the controller").when("sut.type", external),
        Key::new("sut.protocol", Kind::choice(&["flexran", "mosaic", "empower1", "empower2"]), "what it speaks")
            .or("flexran")
            .when("sut.type", external),
        Key::new("sut.pid", Kind::Int { min: 1, max: 1 << 22 }, "its process on sut.at; without it nothing of it is metered")
            .optional()
            .when("sut.type", external),
    ];
    keys.extend(readback::keys(external));
    keys
}

impl Rig for Southbound {
    fn describe(&self) -> RigDescription {
        let mut keys = sut_keys();
        keys.extend([
            Key::new("load.nodes", Kind::Int { min: 1, max: 65_000 }, "base stations").or(10),
            Key::new("load.ues", Kind::Int { min: 0, max: 65_000 }, "UEs of each base station").or(10),
            Key::new(
                "load.period",
                Kind::Span,
                "reporting period; 0s: MARC's, 50 ms FlexRAN and 500 ms 5G-EmPOWER",
            )
            .or(Duration::ZERO),
            Key::new("load.sm", keys::statistics(), "statistics that ric subscribes to")
                .or(Value::List(["mac", "rlc", "pdcp"].map(Value::from).to_vec())),
            Key::new("load.honour", Kind::Bool, "report as the controller asks instead").or(false),
            Key::new(
                "load.activation",
                Kind::Text,
                "time until a UE comes, e.g. exponential:10s, constant:0s",
            )
            .or("exponential:10s"),
            Key::new("load.holding", Kind::Text, "time until it goes").or("constant:500s"),
            Key::new("load.ramp", Kind::Span, "time over which base stations start; 0s: 1 ms each")
                .or(Duration::ZERO),
            Key::new(
                "load.sources",
                Kind::Text,
                "addresses to connect from, e.g. 127.0.1.1-127.0.1.50; empty: any",
            )
            .or(""),
            Key::new("load.settle", Kind::Span, "time that all base stations have to be initialised")
                .or(Duration::from_secs(20)),
            Key::new(
                "load.patience",
                Kind::Span,
                "time that one more base station has after the measurement; 0s: none",
            )
            .or(Duration::from_secs(15)),
            Key::new(
                "load.soak",
                Kind::Span,
                "time under load after that, before anything is measured, in quick runs too",
            )
            .or(Duration::ZERO),
            keys::place("load.at", "the base stations"),
        ]);
        keys.extend(keys::host());
        RigDescription {
            name: "sd-ran".to_owned(),
            aliases: vec!["southbound".to_owned()],
            comment: "base stations of FlexRAN or 5G-EmPOWER with UEs at a controller".to_owned(),
            keys,
            metrics: metrics(),
            needs: Vec::new(),
            set_up: Duration::from_secs(2),
            starter: include_str!("starters/sd-ran.toml"),
        }
    }

    fn prepare(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        self.tear_down();
        let worker = self.controller(run)?;
        self.address = match worker.ready.addresses.get("southbound") {
            Some(address) => address.clone(),
            None => keys::text(run, "sut.address")?.to_owned(),
        };
        self.sut = Some(Sut::metered(worker));
        let (nodes, ues) = (keys::int(run, "load.nodes")?, keys::int(run, "load.ues")?);
        let part = self.part(run, nodes, 0, ues)?;
        let host = keys::host_of(run, "load.at")?;
        let mut fleet = Worker::start(&self.lab, &host, "base stations", part, &run.stop)?;
        // A controller that does not get them all up is what is measured, not an error.
        let settle = Duration::from_micros(keys::span_us(run, "load.settle")?);
        let mut waited = Duration::ZERO;
        while waited < settle && number(&fleet.look(&run.stop)?, "alive") < f64::from(nodes) {
            run.stop.sleep(Duration::from_millis(100))?;
            waited += Duration::from_millis(100);
        }
        self.fleet = Some(fleet);
        run.stop.sleep(Duration::from_micros(keys::span_us(run, "load.soak")?))
    }

    fn warm_up(&mut self, run: &Run<'_>) -> Result<(), RigError> {
        run.stop.sleep(run.warm_up)
    }

    fn measure(&mut self, run: &Run<'_>, recorder: &mut Recorder) -> Result<Outcome, RigError> {
        let (Some(sut), Some(fleet)) = (&mut self.sut, &mut self.fleet) else {
            return Err(RigError::Rig("nothing is up".to_owned()));
        };
        sut.begin(run)?;
        fleet.begin(&run.stop)?;
        let mut left = run.duration;
        while !left.is_zero() {
            let slice = left.min(CHECK);
            run.stop.sleep(slice)?;
            left -= slice;
            sut.check(run)?;
        }
        let load = fleet.end(&run.stop)?;
        let reports = sut.end(run, recorder)?;
        let host = fleet.host.clone();
        let nodes: u32 = keys::int(run, "load.nodes")?;
        let patience = keys::span_us(run, "load.patience")?;
        // How long a base station of E2 takes is not taken here: the fleet looks too seldom.
        let probe = if patience > 0 && keys::text(run, "sut.type")? != "ric" {
            Some(self.probe(run, nodes)?)
        } else {
            None
        };
        let outcome = record(recorder, f64::from(nodes), &load, &reports[0].1, probe, patience as f64 * 1e-3);
        let mute = Breach::said(!readback::record(run, recorder)?, "the controller did not answer over REST");
        let outcome = match outcome {
            Outcome::Ok => recorder.judge([(Outcome::Degraded, mute)]),
            outcome => outcome,
        };
        let machines = [(&host, &load), (&reports[0].0, &reports[0].1)];
        Ok(noise::judge(run, recorder, &machines).unwrap_or(outcome))
    }

    fn verdict(&self, results: &Results) -> Vec<String> {
        guides::sentences(results)
    }

    fn tear_down(&mut self) {
        // The base stations first, so that nobody reconnects to what is going.
        self.fleet = None;
        self.sut = None;
    }
}

fn metrics() -> Vec<Metric> {
    use Better::{Higher, Lower, Neither};
    use MetricKind::Scalar;
    let scalar =
        |name: &str, unit: &str, better, comment: &str| Metric::new(name, unit, Scalar, better, comment);
    let mut metrics = sut::metrics();
    metrics.extend([
        scalar("sut.cpu_us_per_message", "us", Lower, "its CPU time for each message that it was sent"),
        scalar("rx_messages_per_s", "1/s", Neither, "protocol messages that the kernel took for the controller, not packets"),
        scalar("rx_mbps", "Mbit/s", Neither, "their octets, frames included, without the transport's headers"),
        scalar("offered_messages_per_s", "1/s", Neither, "messages that the base stations made for it, sent or not"),
        scalar("unread_kb", "kB", Lower, "octets at the end that the base stations or their kernel hold and the controller's host has not acknowledged; what waits there for its reader is not in it"),
        scalar("rx_bytes_per_message", "B", Neither, "octets of a message to the controller, on average"),
        scalar("tx_messages_per_s", "1/s", Neither, "protocol messages from the controller, no acknowledgements of TCP"),
        scalar("tx_mbps", "Mbit/s", Neither, "their octets"),
        scalar("nodes_alive_ratio", "", Higher, "base stations that the controller had asked for reports, of all"),
        scalar("init_delay_ms", "ms", Lower, "from one more base station's connection to the request for its reports; the patience if none came"),
        scalar("init_requests_ms", "ms", Lower, "the same to its last configuration request, where MARC stops its clock"),
        scalar("ingested_ratio", "", Higher, "messages that the controller processed, of those sent; ours only"),
        scalar("ues_known_ratio", "", Higher, "UEs that the controller knows, of those active; ours only"),
        scalar("dropped_per_s", "1/s", Lower, "messages that the controller or the base stations gave up"),
        scalar("lost_at_batch_end", "", Lower, "messages that the published RIB updater takes off its queue after a full batch and forgets, since it started: a base station whose hello or configuration is among them is never asked for reports"),
        scalar("leaked_mb", "MB", Lower, "memory of dropped messages that the controller keeps"),
        scalar("declared_dead", "", Lower, "base stations that were declared dead though connected"),
        scalar("app_runs_per_s", "1/s", Higher, "runs of the controller's applications"),
        scalar("reconnects", "", Lower, "connections that base stations lost"),
        scalar("nodes_connected_ratio", "", Higher, "base stations connected at the end, of all"),
        scalar("refused", "", Lower, "connections that could not be made"),
        scalar("faults", "", Lower, "breaches of the protocol by the controller, and messages that it cannot carry"),
        scalar("ues_announced_ratio", "", Higher, "UEs that the controller was told of, of those active"),
        scalar("overload_drops", "", Neither, "1 if it drops messages"),
        scalar("overload_declares_dead", "", Neither, "1 if it declares base stations dead"),
        scalar("overload_memory_grows", "", Neither, "1 if its memory grows without bound"),
        scalar("overload_starves", "", Neither, "1 if its applications wait in more cycles than they run"),
        scalar("tool.cpu_cores", "cores", Neither, "cores that the base stations kept busy"),
        scalar("tool.lateness_us_p99", "us", Neither, "time from when reports were due until the kernel took them, 99th percentile; those that still wait count as late as they are at the end"),
        scalar("tool.skipped_ratio", "", Neither, "reports that the base stations left out, being late").unsent_share(),
    ]);
    metrics.extend(wire::packets("", "base stations"));
    metrics.extend(readback::metrics());
    metrics.extend(noise::metrics());
    metrics
}

fn record(
    recorder: &mut Recorder,
    nodes: f64,
    load: &Report,
    controller: &Report,
    probe: Option<Option<(f64, f64)>>,
    patience_ms: f64,
) -> Outcome {
    let of = |name: &str| number(&load.numbers, name);
    let its = |name: &str| number(&controller.numbers, name);
    let seconds = load.wall_s.max(1e-3);
    recorder.scalar("rx_messages_per_s", of("sent") / seconds);
    wire::record_packets(recorder, "", load);
    if of("sent") > 0.0 {
        recorder.scalar("rx_bytes_per_message", of("sent_bytes") / of("sent"));
    }
    recorder.scalar("rx_mbps", of("sent_bytes") * 8e-6 / seconds);
    // Base stations of E2 do not count what they receive.
    if load.numbers.contains_key("received") {
        recorder.scalar("tx_messages_per_s", of("received") / seconds);
        recorder.scalar("tx_mbps", of("received_bytes") * 8e-6 / seconds);
    }
    let alive = of("alive") / nodes.max(1.0);
    recorder.scalar("nodes_alive_ratio", alive);
    recorder.scalar("reconnects", of("reconnects"));
    recorder.scalar("dropped_per_s", (of("dropped") + its("dropped")) / seconds);
    if let Some(process) = controller.process.as_ref().filter(|_| of("sent") > 0.0) {
        recorder.scalar("sut.cpu_us_per_message", process.cpu_s * 1e6 / of("sent"));
    }
    record_shortfall(recorder, nodes, load);
    let mut broken = vec![(Outcome::Overloaded, Breach::below("nodes_alive_ratio", alive, ALIVE_AT_LEAST))];
    if let Some(delays) = probe {
        let (reporting, requests) = delays.map_or((patience_ms, patience_ms), |(a, b)| (a * 1e-3, b * 1e-3));
        recorder.scalar("init_delay_ms", reporting);
        recorder.scalar("init_requests_ms", requests);
        let unserved = "one more base station was not served within `load.patience`";
        broken.push((Outcome::Overloaded, Breach::said(delays.is_none(), unserved)));
    }
    // What only a controller of ours tells.
    let sign = |shown: bool| f64::from(u8::from(shown));
    if controller.numbers.contains_key("agents") {
        recorder.scalar("ingested_ratio", if of("sent") > 0.0 { its("processed") / of("sent") } else { 1.0 });
        recorder.scalar("ues_known_ratio", if of("ues") > 0.0 { its("ues") / of("ues") } else { 1.0 });
        recorder.scalar("overload_drops", sign(its("dropped") > 0.0));
        broken.push((Outcome::Overloaded, Breach::above("messages dropped", its("dropped"), 0.0)));
    }
    // What only those after the published ones have.
    if controller.numbers.contains_key("app_runs") {
        recorder.scalar("lost_at_batch_end", its(parts::LOST));
        recorder.scalar("leaked_mb", its("leaked_bytes") * 1e-6);
        recorder.scalar("declared_dead", its("declared_dead"));
        recorder.scalar("app_runs_per_s", its("app_runs") / seconds);
        recorder.scalar("overload_declares_dead", sign(its("declared_dead") > 0.0));
        recorder.scalar("overload_memory_grows", sign(its("leaked_bytes") > 0.0));
        recorder.scalar("overload_starves", sign(its("throttled") > its("app_runs")));
        broken.push((Outcome::Overloaded, Breach::above("declared_dead", its("declared_dead"), 0.0)));
    }
    recorder.scalar("tool.cpu_cores", load.process.as_ref().map_or(0.0, |process| process.cpu_s) / seconds);
    recorder.scalar("tool.lateness_us_p99", lateness_us_p99(load));
    let skipped = of("skipped") / (of("reports") + of("skipped")).max(1.0);
    recorder.scalar("tool.skipped_ratio", skipped);
    broken.extend(short(load, alive).map(|breach| (Outcome::Degraded, breach)));
    match unloaded(load, controller) {
        Some((outcome, why)) => recorder.judge([(outcome, Breach::said(true, why))]),
        None => recorder.judge(broken),
    }
}

/// What of the load did not reach the controller. Base stations of E2 do not say.
fn record_shortfall(recorder: &mut Recorder, nodes: f64, load: &Report) {
    let of = |name: &str| number(&load.numbers, name);
    if !load.numbers.contains_key("offered") {
        return;
    }
    recorder.scalar("offered_messages_per_s", of("offered") / load.wall_s.max(1e-3));
    recorder.scalar("unread_kb", (of("waiting_bytes") + of("unacknowledged_bytes")) * 1e-3);
    recorder.scalar("nodes_connected_ratio", of("connected") / nodes.max(1.0));
    recorder.scalar("refused", of("refused"));
    recorder.scalar("faults", of("faults"));
    recorder
        .scalar("ues_announced_ratio", if of("ues") > 0.0 { of("announced_ues") / of("ues") } else { 1.0 });
}

/// Where less was sent, or to fewer, than was meant to be.
fn short(load: &Report, alive: f64) -> [Option<Breach>; 5] {
    let of = |name: &str| number(&load.numbers, name);
    let announced = load.numbers.get("announced_ues");
    [
        Breach::above("messages given up by base stations", of("dropped"), 0.0),
        Breach::above("faults", of("faults"), 0.0),
        announced.and_then(|told| Breach::below("number of UEs announced", *told, of("ues"))),
        Breach::above("reconnects", of("reconnects"), 0.0),
        Breach::below("nodes_alive_ratio", alive, 1.0),
    ]
}

/// A run in which nothing reached the controller measured nothing: it took nothing, refused everybody, or there was no load.
fn unloaded(load: &Report, controller: &Report) -> Option<(Outcome, &'static str)> {
    let of = |name: &str| number(&load.numbers, name);
    let offered = load.numbers.get("offered").copied().unwrap_or_else(|| of("sent"));
    if of("connected") == 0.0 && of("refused") > 0.0 {
        Some((Outcome::SutFailed, "the controller refused every base station"))
    } else if of("sent") == 0.0 && offered + of("dropped") + of("waiting") > 0.0 {
        Some((Outcome::Overloaded, "the controller took nothing of what was offered"))
    } else if of("sent") == 0.0 || (of("alive") > 0.0 && load.numbers.get("reports") == Some(&0.0)) {
        Some((Outcome::Invalid, "the base stations sent no report"))
    } else {
        let nothing = (Outcome::Overloaded, "the controller processed no message");
        (controller.numbers.get("processed") == Some(&0.0)).then_some(nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(numbers: &[(&str, f64)]) -> Report {
        let numbers = numbers.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        Report { numbers, ..Report::default() }
    }

    #[test]
    fn a_run_in_which_nothing_reached_the_controller_is_not_ok() {
        let strange = Report::default();
        let judged =
            |numbers: &[(&str, f64)]| unloaded(&report(numbers), &strange).map(|(outcome, _)| outcome);
        let fine = [("connected", 1.0), ("offered", 9.0), ("sent", 9.0), ("reports", 8.0)];
        assert_eq!(judged(&fine), None);
        // It was refused everywhere; it does not read; reports that fit into no message, as of 3,000 UEs.
        assert_eq!(judged(&[("connected", 0.0), ("refused", 12.0)]), Some(Outcome::SutFailed));
        let unread = [("connected", 1.0), ("offered", 9.0), ("waiting", 5.0), ("dropped", 4.0)];
        assert_eq!(judged(&unread), Some(Outcome::Overloaded));
        assert_eq!(judged(&[("connected", 1.0), ("faults", 160.0)]), Some(Outcome::Invalid));
        let hellos = [("alive", 1.0), ("offered", 2.0), ("sent", 2.0), ("reports", 0.0)];
        assert_eq!(judged(&hellos), Some(Outcome::Invalid));
        let ours = report(&[("processed", 0.0)]);
        assert_eq!(unloaded(&report(&fine), &ours).map(|(outcome, _)| outcome), Some(Outcome::Overloaded));
        // Base stations of E2 count less.
        assert_eq!(judged(&[("sent", 9.0)]), None);
        let short = |numbers: &[(&str, f64)]| short(&report(numbers), 1.0).iter().any(Option::is_some);
        assert!(short(&[("faults", 1.0)]) && !short(&fine));
        assert!(short(&[("ues", 2.0), ("announced_ues", 1.0)]));
    }
}
