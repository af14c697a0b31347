//! `ranlab demo`: a RIC, base stations and two xApps as processes of this machine, watched for a while.
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ranlab_host::ProcessMeter;
use ranlab_parts::customary_models;
use serde::Serialize;
use serde_json::Value;

use crate::args;
use crate::exit::Failure;
use crate::live;
use crate::output::{Format, Output};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(500);
/// In a pipe, between two lines.
const LINE: Duration = Duration::from_secs(2);
/// How long a part may take until it serves, and until it has ended: other work may leave us a tenth of a CPU.
const PATIENCE: Duration = Duration::from_secs(60);
/// A part that nobody asks to end, since the demo was killed, ends by itself so long after the time to watch.
const LIFE_BEYOND: Duration = Duration::from_secs(300);
/// Less than this share of what the base stations should report: the machine is too busy, and the demo says so.
const BUSY_BELOW: f64 = 0.9;

/// Arguments of `demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  ranlab demo --duration 20s")]
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
    /// How long to watch
    #[arg(long, default_value = "20s", value_parser = args::duration)]
    duration: Duration,
}

/// One process and what it last said.
struct Part {
    name: &'static str,
    child: Child,
    meter: ProcessMeter,
    latest: Arc<Mutex<Said>>,
    reader: Option<JoinHandle<()>>,
    cpu_s: f64,
    /// When watching began.
    cpu_s_before: f64,
    cpu_share: f64,
    rss_mb: f64,
}

/// An object of a part's output.
#[derive(Debug, Clone)]
struct Said {
    value: Value,
    at: Instant,
}

/// All of it, in the order of starting.
struct Scene {
    ric: Part,
    fleet: Part,
    monitor: Part,
    ping: Part,
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: u64,
    indications: u64,
    indications_per_s: f64,
    /// What the base stations report if nothing keeps them from it.
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

/// Runs the demo; fails with code 1 if nothing arrived or something was lost that nobody dropped.
pub fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let mut scene = Scene::start(arguments, format == Format::Text)?;
    let (before, begin) = (scene.monitor.said(), Instant::now());
    scene.watch(arguments.duration, format == Format::Text)?;
    let watched = begin.elapsed();
    scene.end()?;
    let summary = scene.summary(arguments, &before, watched);
    print(&summary, format)?;
    match summary.lost {
        // What a lost connection held, nobody counts.
        Some(lost) if lost > summary.dropped && summary.reconnects == 0 => Err(Failure::Check(format!(
            "{lost} indications are lost, only {} were dropped on purpose",
            summary.dropped
        ))),
        _ => Ok(()),
    }
}

impl Scene {
    /// Starts the parts one after the other; returns when statistics arrive.
    fn start(arguments: &Arguments, talk: bool) -> Result<Self, Failure> {
        let folder = live::runtime_folder()
            .map_err(|e| Failure::Environment(format!("no folder for sockets: {e}")))?;
        let socket = |name: &str| folder.join(format!("demo-{}-{name}", std::process::id()));
        let (e2, e42) = (socket("e2"), socket("e42"));
        let address = |socket: &Path| format!("unix://{}", socket.display());
        let life = format!("{}s", (arguments.duration + LIFE_BEYOND).as_secs());
        let millis = |time: Duration| format!("{}ms", time.as_millis());
        let (nodes, ues) = (arguments.nodes.to_string(), arguments.ues.to_string());
        let (to_e2, to_e42, sm) = (address(&e2), address(&e42), customary_models().join(","));
        let period = millis(arguments.period);
        if talk {
            println!("  starting a RIC, {nodes} base stations and two xApps as processes of their own");
        }
        let mut ric = Part::start("ric", &["ric", "--e2", &to_e2, "--e42", &to_e42, "--duration", &life])?;
        ric.wait_until("listens", |_| [&e2, &e42].iter().all(|path| UnixStream::connect(path).is_ok()))?;
        let fleet = ["emulate", "--connect", &to_e2, "--nodes", &nodes, "--ues", &ues, "--duration", &life];
        let mut fleet = Part::start("base stations", &fleet)?;
        fleet.wait_until("connected", |fleet| fleet.number("/alive") == u64::from(arguments.nodes))?;
        let monitor = ["xapp", "monitor", "--connect", &to_e42, "--sm", &sm, "--period", &period];
        let mut monitor =
            Part::start("xapp monitor", &[&monitor[..], &["--totals", "--duration", &life]].concat())?;
        monitor.wait_until("received an indication", |monitor| monitor.number("/indications") > 0)?;
        let ping = ["xapp", "ping", "--connect", &to_e42, "--interval", "10ms", "--duration", &life];
        let ping = Part::start("xapp ping", &ping)?;
        Ok(Self { ric, fleet, monitor, ping })
    }

    fn parts(&self) -> [&Part; 4] {
        [&self.ric, &self.fleet, &self.monitor, &self.ping]
    }

    fn parts_mut(&mut self) -> [&mut Part; 4] {
        [&mut self.ric, &mut self.fleet, &mut self.monitor, &mut self.ping]
    }

    /// Ends the parts: xApps first, so that nobody is left without whom it talks to.
    fn end(&mut self) -> Result<(), Failure> {
        self.parts_mut().into_iter().rev().try_for_each(Part::end)
    }
}

impl Part {
    fn start(name: &'static str, arguments: &[&str]) -> Result<Self, Failure> {
        let lacking = |what: std::io::Error| Failure::Environment(format!("cannot start {name}: {what}"));
        let program = std::env::current_exe().map_err(lacking)?;
        let mut command = Command::new(program);
        command.args(arguments).args(["--format", "ndjson"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(lacking)?;
        let latest = Arc::new(Mutex::new(Said { value: Value::Null, at: Instant::now() }));
        let heard = latest.clone();
        let reader = child.stdout.take().map(|stdout| {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if let Ok(value @ Value::Object(_)) = serde_json::from_str(&line) {
                        *heard.lock().unwrap_or_else(PoisonError::into_inner) =
                            Said { value, at: Instant::now() };
                    }
                }
            })
        });
        let meter = ProcessMeter::new(child.id());
        let (cpu_s, cpu_s_before, cpu_share, rss_mb) = Default::default();
        Ok(Self { name, child, meter, latest, reader, cpu_s, cpu_s_before, cpu_share, rss_mb })
    }

    /// Waits with [`PATIENCE`] for what it should have done.
    fn wait_until(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> Result<(), Failure> {
        let deadline = Instant::now() + PATIENCE;
        while !done(self) {
            self.must_live()?;
            if Instant::now() > deadline {
                let (name, seconds) = (self.name, PATIENCE.as_secs());
                return Err(Failure::Check(format!("{name} has not {what} within {seconds} s")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What it said on the standard error stands above.
    fn must_live(&mut self) -> Result<(), Failure> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(Failure::Check(format!("{} ended too early: {status}", self.name))),
            _ => Ok(()),
        }
    }

    /// Asks it to end and waits for its last words.
    fn end(&mut self) -> Result<(), Failure> {
        self.must_live()?;
        let failed = |why: String| Failure::Check(format!("{} did not end well: {why}", self.name));
        ranlab_host::ask_to_end(self.child.id()).map_err(|error| failed(error.to_string()))?;
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
                Ok(None) => return Err(failed(format!("it took more than {} s", PATIENCE.as_secs()))),
                Err(error) => return Err(failed(error.to_string())),
            }
        };
        if !status.success() {
            return Err(failed(status.to_string()));
        }
        if let Some(reader) = self.reader.take() {
            // The reader ends with the output of the process, which has ended.
            let _ = reader.join();
        }
        Ok(())
    }

    /// Looks at the meters; what has ended keeps its last figures.
    fn look(&mut self, since: Duration) {
        if let Ok(sample) = self.meter.sample() {
            self.cpu_share = (sample.cpu_s() - self.cpu_s) / since.as_secs_f64().max(1e-3);
            self.cpu_s = sample.cpu_s();
            self.rss_mb = self.rss_mb.max(sample.rss_bytes as f64 / 1e6);
        }
    }

    fn said(&self) -> Said {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn says(&self, pointer: &str) -> Value {
        self.said().value.pointer(pointer).cloned().unwrap_or(Value::Null)
    }

    fn number(&self, pointer: &str) -> u64 {
        self.says(pointer).as_u64().unwrap_or(0)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Already ended, or to be ended now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    /// Draws until the time is over: in place on a terminal, line by line elsewhere.
    fn watch(&mut self, duration: Duration, talk: bool) -> Result<(), Failure> {
        let begin = Instant::now();
        let terminal = std::io::stdout().is_terminal();
        let (mut looked, mut lined, mut drawn_lines) = (begin, begin, 0);
        let mut before = self.monitor.number("/indications");
        for part in self.parts_mut() {
            part.look(Duration::ZERO);
            part.cpu_s_before = part.cpu_s;
        }
        while begin.elapsed() < duration {
            std::thread::sleep(LOOK);
            let since = looked.elapsed();
            looked = Instant::now();
            self.parts_mut().into_iter().try_for_each(|part| {
                part.look(since);
                part.must_live()
            })?;
            let indications = self.monitor.number("/indications");
            let rate = indications.saturating_sub(before) as f64 / since.as_secs_f64();
            before = indications;
            if !talk || !terminal && lined.elapsed() < LINE {
                continue;
            }
            lined = Instant::now();
            let view = if terminal {
                block(self, begin.elapsed(), duration, rate)
            } else {
                one_line(self, begin.elapsed())
            };
            if drawn_lines > 0 && terminal {
                print!("\x1b[{drawn_lines}A");
            }
            print!("{view}");
            // A closed terminal is no reason to stop the demo; its end will tell.
            let _ = std::io::stdout().flush();
            drawn_lines = view.lines().count();
        }
        Ok(())
    }

    /// What the parts said at their end; rates since the monitor said `before`.
    fn summary(&self, arguments: &Arguments, before: &Said, watched: Duration) -> Summary {
        let Self { ric, fleet, monitor, ping } = self;
        let float = |part: &Part, pointer: &str| part.says(pointer).as_f64().unwrap_or(0.0);
        let earlier = before.value.pointer("/indications").and_then(Value::as_u64).unwrap_or(0);
        let indications = monitor.number("/indications");
        let seconds = monitor.said().at.duration_since(before.at).as_secs_f64().max(1e-3);
        let reports_per_s = customary_models().len() as f64 / arguments.period.as_secs_f64();
        let part = |p: &Part| PartSummary {
            name: p.name,
            cpu_cores: (p.cpu_s - p.cpu_s_before) / watched.as_secs_f64(),
            rss_peak_mb: p.rss_mb,
        };
        Summary {
            nodes: monitor.number("/nodes"),
            indications,
            indications_per_s: indications.saturating_sub(earlier) as f64 / seconds,
            expected_per_s: f64::from(arguments.nodes) * reports_per_s,
            lost: monitor.says("/lost").as_u64(),
            dropped: ric.number("/dropped") + fleet.number("/dropped"),
            reconnects: fleet.number("/reconnects") + monitor.number("/restored"),
            latency_us_p50: monitor.number("/latency_us/p50"),
            latency_us_p99: monitor.number("/latency_us/p99"),
            pings: ping.number("/sent"),
            pings_answered: ping.number("/received"),
            ping_us_p50: float(ping, "/rtt_us/p50"),
            ping_us_p99: float(ping, "/rtt_us/p99"),
            parts: self.parts().map(part).into(),
        }
    }
}

fn one_line(scene: &Scene, elapsed: Duration) -> String {
    let Scene { ric, monitor, .. } = scene;
    format!(
        "{:4.0} s  {} nodes  {} indications  {} lost  latency p99 {} us  RIC {:.0} % of a core, {:.1} MB\n",
        elapsed.as_secs_f64(),
        monitor.number("/nodes"),
        monitor.number("/indications"),
        monitor.says("/lost"),
        monitor.number("/latency_us/p99"),
        ric.cpu_share * 100.0,
        ric.rss_mb
    )
}

fn block(scene: &Scene, elapsed: Duration, duration: Duration, rate: f64) -> String {
    const WIDTH: usize = 40;
    let monitor = &scene.monitor;
    let done = (elapsed.as_secs_f64() / duration.as_secs_f64()).clamp(0.0, 1.0);
    let filled = (done * WIDTH as f64) as usize;
    let mut view = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        view,
        "\x1b[K  {}{}  {:.0} s",
        "█".repeat(filled),
        "░".repeat(WIDTH - filled),
        elapsed.as_secs_f64()
    );
    let _ = writeln!(
        view,
        "\x1b[K  {} base stations   {rate:.0} indications/s   {} lost   latency p50 {} us  p99 {} us",
        monitor.number("/nodes"),
        monitor.says("/lost"),
        monitor.number("/latency_us/p50"),
        monitor.number("/latency_us/p99")
    );
    for part in scene.parts() {
        let bar = (part.cpu_share.clamp(0.0, 1.0) * 20.0) as usize;
        let _ = writeln!(
            view,
            "\x1b[K  {:14} {:20} {:5.1} % of a core  {:6.1} MB",
            part.name,
            "▇".repeat(bar),
            part.cpu_share * 100.0,
            part.rss_mb
        );
    }
    view
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
            "\n  This machine was too busy for all of it: {:.0} % of {:.0} indications a second arrived. The figures above are\n  \
             of a busy machine; `ranlab demo --period 100ms` asks for less.",
            s.indications_per_s / s.expected_per_s * 100.0,
            s.expected_per_s
        ))?;
    }
    output.finish(s)
}
