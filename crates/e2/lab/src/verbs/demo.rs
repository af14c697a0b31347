//! `ranlab demo`: runs a RIC, base stations and two xApps as processes on this machine, and shows their
//! activity.
use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ranlab_campaign::rig::{RigError, Stop};
use ranlab_host::ProcessMeter;
use ranlab_lab::worker::{Counters, Worker, number};
use ranlab_lab::{AnyComponent, Listen, RigContext, WorkerLocation};
use ranlab_transport::Address;
use serde::Serialize;

use ranlab_command::args;
use ranlab_command::exit::Failure;
use ranlab_command::live::LiveView;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};

use crate::{FleetComponent, MonitorComponent, PingComponent, RicComponent};

/// Interval at which the processes are measured.
const LOOK: Duration = Duration::from_millis(500);
/// Interval of lines if stdout is not a terminal.
const LINE: Duration = Duration::from_secs(2);
/// Interval of pings, as long as responses arrive within it.
const PING: Duration = Duration::from_millis(10);
/// Time limit for the start of a component, even if only a tenth of a CPU is available.
const PATIENCE: Duration = Duration::from_secs(60);
/// Share of the expected reports below which the demo reports that the machine is too busy.
const BUSY_BELOW: f64 = 0.9;

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  ranlab demo --duration 20s\n  ranlab demo --web --duration 5min")]
pub struct Arguments {
    /// Base stations
    #[arg(long, default_value_t = 20)]
    nodes: u32,
    /// UEs per base station
    #[arg(long, default_value_t = 32)]
    ues: u16,
    /// Report period
    #[arg(long, default_value = "10ms", value_parser = args::duration)]
    period: Duration,
    /// Duration of the demo
    #[arg(long, default_value = "20s", value_parser = args::duration)]
    duration: Duration,
    /// Also serve the RIC's live page, on loopback at a free port that is printed
    #[arg(long)]
    web: bool,
}

/// A process and its last snapshot.
struct Actor {
    worker: Worker,
    meter: Option<ProcessMeter>,
    latest: Counters,
    /// Time of the last snapshot.
    at: Instant,
    cpu_s: f64,
    /// CPU time when the display began, in seconds.
    cpu_s_before: f64,
    cpu_share: f64,
    rss_mb: f64,
}

/// All processes. They are stopped in this order, xApps first, so that no process loses a process on which it depends.
struct Scene {
    ping: Actor,
    monitor: Actor,
    fleet: Actor,
    ric: Actor,
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: u64,
    indications: u64,
    indications_per_s: f64,
    /// Expected number of reports per second without disturbances.
    expected_per_s: f64,
    lost: Option<u64>,
    dropped: u64,
    reconnects: u64,
    latency_us_p50: u64,
    latency_us_p99: u64,
    pings: u64,
    pings_answered: u64,
    ping_us_p50: f64,
    ping_us_p99: f64,
    parts: Vec<PartSummary>,
}

#[derive(Debug, Serialize)]
struct PartSummary {
    name: &'static str,
    cpu_cores: f64,
    rss_peak_mb: f64,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(&self, context.format)
    }
}

/// Runs the demo. Fails with code 1 if no indications arrived, or if indications were lost unintentionally.
fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let summary = show(arguments, format).map_err(failure)?;
    print(&summary, format)?;
    match summary.lost {
        // After a reconnect, losses are expected and are not an error.
        Some(lost) if lost > summary.dropped && summary.reconnects == 0 => Err(Failure::Check(format!(
            "{lost} indications are lost, but only {} were dropped intentionally",
            summary.dropped
        ))),
        _ => Ok(()),
    }
}

fn failure(error: RigError) -> Failure {
    match error {
        RigError::Environment(what) => Failure::Environment(what),
        other => Failure::Check(other.to_string()),
    }
}

/// Runs the demo until its processes are stopped.
fn show(arguments: &Arguments, format: Format) -> Result<Summary, RigError> {
    let mut scene = Scene::start(arguments, format == Format::Text)?;
    let earlier = scene.monitor.number("indications")?;
    let before = scene.monitor.at;
    let begin = Instant::now();
    scene.watch(arguments.duration, format == Format::Text)?;
    let watched = begin.elapsed();
    scene.each(Actor::ask)?;
    scene.summary(arguments, earlier, before, watched)
}

impl Scene {
    /// Starts the processes one after the other. Returns when statistics arrive.
    fn start(arguments: &Arguments, talk: bool) -> Result<Self, RigError> {
        let lacking =
            |error| RigError::Environment(format!("cannot determine the path of this program: {error}"));
        let lab = RigContext::new(ranlab_command::program::path().map_err(lacking)?);
        let nodes = arguments.nodes;
        let ues = arguments.ues;
        if talk {
            println!("  starting a RIC, {nodes} base stations and two xApps as separate processes");
        }
        let e2 = vec![Listen::Own];
        let e42 = vec![Listen::Own];
        let http = arguments.web.then_some(SocketAddr::from(([127, 0, 0, 1], 0)));
        let ric = Actor::start(
            &lab,
            "ric",
            AnyComponent::from(RicComponent { e2, e42, http, ..RicComponent::default() }),
        )?;
        if let Some(page) = ric.worker.ready.addresses.get("http") {
            // The address is printed even if a program reads stdout, because the user needs it.
            let line = format!("  the page: {page}/");
            if talk { println!("{line}") } else { eprintln!("{line}") }
        }
        let e2 = ric.address("e2")?;
        let e42 = ric.address("e42")?;
        let part = FleetComponent { connect: vec![e2], nodes, ues, ..FleetComponent::default() };
        let mut fleet = Actor::start(&lab, "base stations", AnyComponent::from(part))?;
        fleet.wait_until("all base stations connected", "alive", f64::from(nodes))?;
        let part = MonitorComponent {
            connect: e42.clone(),
            period: arguments.period,
            ..MonitorComponent::default()
        };
        let mut monitor = Actor::start(&lab, "xapp monitor", AnyComponent::from(part))?;
        monitor.wait_until("an indication at the xApp", "indications", 1.0)?;
        let part = PingComponent { connect: e42, interval: PING, ..PingComponent::default() };
        let ping = Actor::start(&lab, "xapp ping", AnyComponent::from(part))?;
        Ok(Self { ping, monitor, fleet, ric })
    }

    /// Returns the processes in start order.
    fn actors(&self) -> [&Actor; 4] {
        [&self.ric, &self.fleet, &self.monitor, &self.ping]
    }

    fn each(&mut self, act: impl FnMut(&mut Actor) -> Result<(), RigError>) -> Result<(), RigError> {
        [&mut self.ric, &mut self.fleet, &mut self.monitor, &mut self.ping].into_iter().try_for_each(act)
    }
}

impl Actor {
    fn start(lab: &RigContext, name: &'static str, part: AnyComponent) -> Result<Self, RigError> {
        let worker = Worker::start(lab, &WorkerLocation::Local, name, part, &Stop::never())?;
        let meter = worker.ready.pid.map(ProcessMeter::new);
        let (cpu_s, cpu_s_before, cpu_share, rss_mb) = Default::default();
        let latest = Counters::new();
        let at = Instant::now();
        let mut actor = Self { worker, meter, latest, at, cpu_s, cpu_s_before, cpu_share, rss_mb };
        actor.ask()?;
        Ok(actor)
    }

    fn address(&self, name: &str) -> Result<Address, RigError> {
        let found = self.worker.ready.addresses.get(name).and_then(|address| address.parse().ok());
        found.ok_or_else(|| RigError::Rig(format!("the {} does not report its address", self.worker.role)))
    }

    /// Waits up to [`PATIENCE`] until a value is at least `least`.
    fn wait_until(&mut self, what: &str, name: &str, least: f64) -> Result<(), RigError> {
        let enough = |numbers: &Counters| numbers.get(name).is_some_and(|number| *number >= least);
        self.latest = self.worker.wait_until(what, PATIENCE, &Stop::never(), enough)?;
        self.at = Instant::now();
        Ok(())
    }

    /// Takes a snapshot. Returns an error if a process has exited.
    fn ask(&mut self) -> Result<(), RigError> {
        self.latest = self.worker.counters(&Stop::never())?;
        self.at = Instant::now();
        Ok(())
    }

    /// Reads the CPU and memory use of the processes.
    fn sample(&mut self, since: Duration) {
        if let Some(Ok(sample)) = self.meter.as_ref().map(ProcessMeter::sample) {
            self.cpu_share = (sample.cpu_s() - self.cpu_s) / since.as_secs_f64().max(1e-3);
            self.cpu_s = sample.cpu_s();
            self.rss_mb = self.rss_mb.max(sample.rss_bytes as f64 / 1e6);
        }
    }

    fn number(&self, name: &str) -> Result<f64, RigError> {
        number(&self.latest, name)
    }
}

impl Scene {
    /// Shows the activity until the duration is over: in place on a terminal, otherwise line by line.
    fn watch(&mut self, duration: Duration, talk: bool) -> Result<(), RigError> {
        let begin = Instant::now();
        let terminal = std::io::stdout().is_terminal();
        let mut looked = begin;
        let mut lined = begin;
        let mut screen = LiveView::default();
        let mut before = self.monitor.number("indications")?;
        self.each(|actor| {
            actor.sample(Duration::ZERO);
            actor.cpu_s_before = actor.cpu_s;
            Ok(())
        })?;
        while begin.elapsed() < duration {
            std::thread::sleep(LOOK);
            let since = looked.elapsed();
            looked = Instant::now();
            self.each(|actor| {
                actor.sample(since);
                actor.ask()
            })?;
            let indications = self.monitor.number("indications")?;
            let rate = (indications - before) / since.as_secs_f64();
            before = indications;
            if !talk || !terminal && lined.elapsed() < LINE {
                continue;
            }
            lined = Instant::now();
            let size = ranlab_host::terminal_size(std::io::stdout()).filter(|_| terminal);
            match size {
                Some((_, columns)) => {
                    println!("{}", screen.render(&block(self, begin.elapsed(), duration, rate)?, columns));
                }
                None => println!("{}", one_line(self, begin.elapsed(), rate)?),
            }
            // If the terminal is closed, the demo continues and prints its summary at the end.
            let _ = std::io::stdout().flush();
        }
        Ok(())
    }

    /// Returns the last snapshots, with rates since `earlier`.
    fn summary(
        &self,
        arguments: &Arguments,
        earlier: f64,
        before: Instant,
        watched: Duration,
    ) -> Result<Summary, RigError> {
        let Self { ric, fleet, monitor, ping } = self;
        let count = |actor: &Actor, name: &str| actor.number(name).map(|number| number as u64);
        let seconds = monitor.at.duration_since(before).as_secs_f64().max(1e-3);
        let reports_per_s = MonitorComponent::default().sm.len() as f64 / arguments.period.as_secs_f64();
        let part = |actor: &Actor| PartSummary {
            name: actor.worker.role,
            cpu_cores: (actor.cpu_s - actor.cpu_s_before) / watched.as_secs_f64(),
            rss_peak_mb: actor.rss_mb,
        };
        Ok(Summary {
            nodes: count(monitor, "nodes")?,
            indications: count(monitor, "indications")?,
            indications_per_s: (monitor.number("indications")? - earlier) / seconds,
            expected_per_s: f64::from(arguments.nodes) * reports_per_s,
            lost: count(monitor, "lost").ok(),
            dropped: count(ric, "dropped")? + count(fleet, "dropped")?,
            reconnects: count(fleet, "reconnects")? + count(monitor, "restored")?,
            latency_us_p50: count(monitor, "latency_us_p50")?,
            latency_us_p99: count(monitor, "latency_us_p99")?,
            pings: count(ping, "sent")?,
            pings_answered: count(ping, "received")?,
            ping_us_p50: ping.number("rtt_us_p50")?,
            ping_us_p99: ping.number("rtt_us_p99")?,
            parts: self.actors().map(part).into(),
        })
    }

    /// Formats the losses, which are unknown if a base station sends no sequence numbers.
    fn lost(&self) -> String {
        self.monitor.number("lost").map_or_else(|_| "unknown".to_owned(), |lost| lost.to_string())
    }
}

fn one_line(scene: &Scene, elapsed: Duration, rate: f64) -> Result<String, RigError> {
    let Scene { ric, monitor, .. } = scene;
    Ok(format!(
        "{:4.0} s  {}  {}  RIC {:.0} % of a core, {:.1} MB",
        elapsed.as_secs_f64(),
        numbers(scene, rate)?.join("  "),
        monitor.number("indications").map(|all| format!("{all} indications in all"))?,
        ric.cpu_share * 100.0,
        ric.rss_mb
    ))
}

/// Returns the values in the first view of the page: stations and rates, losses and intentional drops,
/// delays, and round-trip times.
fn numbers(scene: &Scene, rate: f64) -> Result<[String; 4], RigError> {
    let Scene { ric, fleet, monitor, ping } = scene;
    let dropped = ric.number("dropped")? + fleet.number("dropped")?;
    // The value is missing as long as no ping has returned.
    let trip = |name: &str| ping.number(name).map_or_else(|_| "-".to_owned(), |us| format!("{us:.0}"));
    Ok([
        format!("{} nodes", monitor.number("nodes")?),
        format!("{rate:.0} indications/s  {} lost  {dropped} dropped", scene.lost()),
        format!(
            "latency p50 {} us  p99 {} us",
            monitor.number("latency_us_p50")?,
            monitor.number("latency_us_p99")?
        ),
        format!("ping p50 {} us  p99 {} us", trip("rtt_us_p50"), trip("rtt_us_p99")),
    ])
}

fn block(scene: &Scene, elapsed: Duration, duration: Duration, rate: f64) -> Result<Vec<String>, RigError> {
    const WIDTH: usize = 40;
    let done = (elapsed.as_secs_f64() / duration.as_secs_f64()).clamp(0.0, 1.0);
    let filled = (done * WIDTH as f64) as usize;
    let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
    let mut view = vec![format!("  {bar}  {:.0} s", elapsed.as_secs_f64())];
    let [nodes, rates, latency, pings] = numbers(scene, rate)?;
    view.push(format!("  {nodes}  {rates}"));
    view.push(format!("  {latency}  {pings}"));
    for actor in scene.actors() {
        let bar = (actor.cpu_share.clamp(0.0, 1.0) * 20.0) as usize;
        view.push(format!(
            "  {:14} {:20} {:5.1} % of a core  {:6.1} MB",
            actor.worker.role,
            "▇".repeat(bar),
            actor.cpu_share * 100.0,
            actor.rss_mb
        ));
    }
    Ok(view)
}

fn print(s: &Summary, format: Format) -> Result<(), Failure> {
    let mut output = Output::new(format);
    let lost = s.lost.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
    output.text("")?;
    output.text(format_args!("  base stations connected          {:>12}", s.nodes))?;
    output.text(format_args!("  indications at the xApp          {:>12}", s.indications))?;
    output.text(format_args!("  indications per second           {:>12.0}", s.indications_per_s))?;
    output
        .text(format_args!("  lost / dropped on purpose        {:>12}", format!("{lost} / {}", s.dropped)))?;
    output.text(format_args!("  base station to xApp, median     {:>9} us", s.latency_us_p50))?;
    output.text(format_args!("  base station to xApp, p99        {:>9} us", s.latency_us_p99))?;
    output.text(format_args!("  ping xApp - RIC - node, median   {:>9.1} us", s.ping_us_p50))?;
    output.text(format_args!("  ping xApp - RIC - node, p99      {:>9.1} us", s.ping_us_p99))?;
    output.text(format_args!(
        "  pings sent / answered            {:>12}",
        format!("{} / {}", s.pings, s.pings_answered)
    ))?;
    output.text("")?;
    output.text("  process            CPU (cores)   memory peak")?;
    for part in &s.parts {
        output.text(format_args!(
            "  {:16} {:>12.3} {:>10.1} MB",
            part.name, part.cpu_cores, part.rss_peak_mb
        ))?;
    }
    if s.indications_per_s < BUSY_BELOW * s.expected_per_s {
        output.text(format_args!(
            "\n  This machine was too busy: only {:.0} % of {:.0} indications per second arrived, so the figures above\n  \
             are not typical. `ranlab demo --period 100ms` sends fewer indications.",
            s.indications_per_s / s.expected_per_s * 100.0,
            s.expected_per_s
        ))?;
    }
    output.text(
        "\n  Next:\n    ranlab demo --web --duration 5min         the same on a page in a browser\n    ranlab ric --http 127.0.0.1:8080          \
         a RIC of your own; then `ranlab emulate` and `ranlab xapp monitor`\n    ranlab bench new e2-statistics > my.toml  a \
         measurement of your own; then `ranlab bench run my.toml`",
    )?;
    output.finish(s)
}
