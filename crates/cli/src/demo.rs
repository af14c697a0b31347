//! `ranlab demo`: a RIC, base stations and two xApps as processes of this machine, watched for a while.
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ranlab_host::ProcessMeter;
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
/// How long a process may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);

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
    latest: Arc<Mutex<Value>>,
    cpu_s: f64,
    cpu_share: f64,
    rss_mb: f64,
}

#[derive(Debug, Serialize)]
struct Summary {
    nodes: u64,
    indications: u64,
    indications_per_s: f64,
    lost: Option<u64>,
    dropped: u64,
    latency_us_p50: u64,
    latency_us_p99: u64,
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

/// Runs the demo; fails with code 1 if nothing arrived or something was lost.
pub fn run(arguments: &Arguments, format: Format) -> Result<(), Failure> {
    let folder =
        live::runtime_folder().map_err(|e| Failure::Environment(format!("no folder for sockets: {e}")))?;
    let socket = |name: &str| {
        format!("unix://{}", folder.join(format!("demo-{}-{name}", std::process::id())).display())
    };
    let (e2, e42) = (socket("e2"), socket("e42"));
    let seconds = arguments.duration.as_secs_f64();
    let lasting = |more: f64| format!("{}ms", ((seconds + more) * 1_000.0) as u64);
    let nodes = arguments.nodes.to_string();
    let ues = arguments.ues.to_string();
    let period = format!("{}ms", arguments.period.as_millis());
    let pings = ((seconds - 1.0).max(1.0) * 90.0).to_string();
    let pings = pings.split('.').next().unwrap_or("90");
    let mut parts =
        vec![Part::start("ric", &["ric", "--e2", &e2, "--e42", &e42, "--duration", &lasting(3.0)])?];
    wait_for(&e42)?;
    let fleet = ["emulate", "--connect", &e2, "--nodes", &nodes, "--ues", &ues, "--duration", &lasting(1.0)];
    parts.push(Part::start("base stations", &fleet)?);
    let sm = "mac,rlc,pdcp,gtp";
    let monitor =
        ["xapp", "monitor", "--connect", &e42, "--sm", sm, "--period", &period, "--duration", &lasting(0.0)];
    parts.push(Part::start("xapp monitor", &monitor)?);
    parts.push(Part::start(
        "xapp ping",
        &["xapp", "ping", "--connect", &e42, "--interval", "10ms", "--count", pings],
    )?);
    watch(&mut parts, arguments.duration, format == Format::Text);
    let summary = finish(parts, seconds)?;
    print(&summary, format)?;
    if summary.indications == 0 {
        return Err(Failure::Check("no indication reached the xApp".to_owned()));
    }
    match summary.lost {
        Some(lost) if lost > summary.dropped => Err(Failure::Check(format!(
            "{lost} indications are lost, only {} were dropped on purpose",
            summary.dropped
        ))),
        _ => Ok(()),
    }
}

impl Part {
    fn start(name: &'static str, arguments: &[&str]) -> Result<Self, Failure> {
        let lacking = |what: std::io::Error| Failure::Environment(format!("cannot start {name}: {what}"));
        let program = std::env::current_exe().map_err(lacking)?;
        let mut command = Command::new(program);
        command.args(arguments).args(["--format", "ndjson"]).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(lacking)?;
        let latest = Arc::new(Mutex::new(Value::Null));
        if let Some(stdout) = child.stdout.take() {
            let heard = latest.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if let Ok(value @ Value::Object(_)) = serde_json::from_str(&line) {
                        *heard.lock().unwrap_or_else(PoisonError::into_inner) = value;
                    }
                }
            });
        }
        let meter = ProcessMeter::new(child.id());
        Ok(Self { name, child, meter, latest, cpu_s: 0.0, cpu_share: 0.0, rss_mb: 0.0 })
    }

    /// Looks at the meters; what has ended keeps its last figures.
    fn look(&mut self, since: Duration) {
        if let Ok(sample) = self.meter.sample() {
            self.cpu_share = (sample.cpu_s() - self.cpu_s) / since.as_secs_f64().max(1e-3);
            self.cpu_s = sample.cpu_s();
            self.rss_mb = self.rss_mb.max(sample.rss_bytes as f64 / 1e6);
        }
    }

    fn says(&self, pointer: &str) -> Value {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.pointer(pointer).cloned().unwrap_or(Value::Null)
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

fn wait_for(address: &str) -> Result<(), Failure> {
    let path = address.trim_start_matches("unix://");
    let deadline = Instant::now() + GRACE;
    while std::os::unix::net::UnixStream::connect(path).is_err() {
        if Instant::now() > deadline {
            return Err(Failure::Environment(format!("the RIC does not listen at {address}")));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Draws until the time is over: in place on a terminal, line by line elsewhere.
fn watch(parts: &mut [Part], duration: Duration, talk: bool) {
    let begin = Instant::now();
    let terminal = std::io::stdout().is_terminal();
    let (mut looked, mut lined, mut drawn_lines) = (begin, begin, 0);
    let mut indications = 0;
    while begin.elapsed() < duration {
        std::thread::sleep(LOOK);
        let since = looked.elapsed();
        looked = Instant::now();
        parts.iter_mut().for_each(|part| part.look(since));
        let monitor = &parts[2];
        let now = monitor.number("/indications");
        if now > indications || terminal {
            let rate = (now.saturating_sub(indications)) as f64 / since.as_secs_f64();
            let view = if terminal {
                block(parts, begin.elapsed(), duration, rate)
            } else {
                one_line(parts, begin.elapsed())
            };
            if talk && (terminal || lined.elapsed() >= LINE) {
                lined = Instant::now();
                if drawn_lines > 0 && terminal {
                    print!("\x1b[{drawn_lines}A");
                }
                print!("{view}");
                // A closed terminal is no reason to stop the demo; its end will tell.
                let _ = std::io::stdout().flush();
                drawn_lines = view.lines().count();
            }
            indications = now;
        }
    }
}

fn one_line(parts: &[Part], elapsed: Duration) -> String {
    let monitor = &parts[2];
    format!(
        "{:4.0} s  {} nodes  {} indications  {} lost  latency p99 {} us  RIC {:.0} % of a core, {:.1} MB\n",
        elapsed.as_secs_f64(),
        monitor.number("/nodes"),
        monitor.number("/indications"),
        monitor.says("/lost"),
        monitor.number("/latency_us/p99"),
        parts[0].cpu_share * 100.0,
        parts[0].rss_mb
    )
}

fn block(parts: &[Part], elapsed: Duration, duration: Duration, rate: f64) -> String {
    const WIDTH: usize = 40;
    let monitor = &parts[2];
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
    for part in parts {
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

/// Waits for the ends, in the order xApps, base stations, RIC, and puts together what they said.
fn finish(mut parts: Vec<Part>, seconds: f64) -> Result<Summary, Failure> {
    let deadline = Instant::now() + GRACE;
    for part in parts.iter_mut().rev() {
        let ended = loop {
            match part.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
                _ => break None,
            }
        };
        if ended.is_none_or(|status| !status.success()) {
            return Err(Failure::Check(format!("{} did not end well", part.name)));
        }
    }
    // The readers' last lines.
    std::thread::sleep(Duration::from_millis(50));
    let [ric, fleet, monitor, ping] = &parts[..] else { unreachable!("four parts were started") };
    let float = |part: &Part, pointer: &str| part.says(pointer).as_f64().unwrap_or(0.0);
    let indications = monitor.number("/indications");
    Ok(Summary {
        nodes: monitor.number("/nodes"),
        indications,
        indications_per_s: indications as f64 / seconds,
        lost: monitor.says("/lost").as_u64(),
        dropped: ric.number("/dropped") + fleet.number("/dropped"),
        latency_us_p50: monitor.number("/latency_us/p50"),
        latency_us_p99: monitor.number("/latency_us/p99"),
        ping_us_p50: float(ping, "/rtt_us/p50"),
        ping_us_p99: float(ping, "/rtt_us/p99"),
        parts: parts
            .iter()
            .map(|p| PartSummary { name: p.name, cpu_cores: p.cpu_s / seconds, rss_peak_mb: p.rss_mb })
            .collect(),
    })
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
    output.text("")?;
    output.text("  process            CPU (cores)   memory peak")?;
    for part in &s.parts {
        output.text(format_args!(
            "  {:16} {:>12.3} {:>10.1} MB",
            part.name, part.cpu_cores, part.rss_peak_mb
        ))?;
    }
    output.finish(s)
}
