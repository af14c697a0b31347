//! `ranlab load upf`: SMF, base stations and data network towards a user plane function.
mod arguments;
mod print;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use clap::Subcommand;
use ranlab_emulator::load::{LoadConfig, LoadError, LoadReport, bare_loop, data_network, run as run_load};
use ranlab_emulator::upf::{InMemory, in_memory};
use ranlab_net::routes;
use serde::Serialize;

use crate::exit::Failure;
use crate::output::{Format, Output};
use arguments::{ModeName, Role};

pub use arguments::UpfArguments;

/// Arguments of `load`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Load a user plane function on N4, N3 and N6
    Upf(Box<UpfArguments>),
}

/// Runs the verb.
pub fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let What::Upf(arguments) = arguments.what;
    match (arguments.mode(), arguments.role()) {
        (ModeName::Calibrate, _) => calibrate(&arguments, format),
        (_, Role::DataNetwork) => network(&arguments, format),
        (_, Role::All) => load(&arguments, format),
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Bounds { .. }
            | LoadError::Lacking { .. }
            | LoadError::NoProcess { .. }
            | LoadError::Profile => Self::Usage(error.to_string()),
            LoadError::Sessions { .. } | LoadError::Smoke(_) | LoadError::Died { .. } => {
                Self::Check(error.to_string())
            }
            _ => Self::Environment(error.to_string()),
        }
    }
}

/// Set at Ctrl-C or SIGTERM: the load ends early and reports.
fn stopped() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(crate::live::end(None));
            set.store(true, Relaxed);
        }
    });
    stop
}

fn load(arguments: &UpfArguments, format: Format) -> Result<(), Failure> {
    crate::live::raise_limits();
    let config = arguments.config()?;
    let meter = arguments.upf_pid().map(ranlab_host::ProcessMeter::new);
    let cpu = || meter.as_ref().and_then(|meter| meter.sample().ok()).map(|sample| sample.cpu_s());
    let remarks = placement(arguments, &config);
    for remark in &remarks {
        eprintln!("ranlab: {remark}");
    }
    let before = cpu();
    let report = run_load(&config, &stopped())?;
    let upf_cpu_s = before.zip(cpu()).map(|(before, after)| after - before);
    let mut output = Output::new(format);
    print::report(&mut output, &report, upf_cpu_s)?;
    output.finish(&Summary { upf_cpu_s, remarks, report: &report })?;
    if let Some(died_s) = report.upf_died_s {
        return Err(Failure::Check(format!("the UPF's process ended {died_s:.2} s into the run")));
    }
    if report.unexplained > 0 {
        return Err(Failure::Check(format!("{} requests or responses are unexplained", report.unexplained)));
    }
    Ok(())
}

/// What --pin has put where it costs: beside the UPF's threads, or far from the device that base stations' packets leave by.
fn placement(arguments: &UpfArguments, config: &LoadConfig) -> Vec<String> {
    let route = routes::route(config.gnb.ip(), config.n3.ip()).ok().filter(|route| !route.local);
    let device = route.and_then(|route| routes::device(route.device).ok());
    let device = device.as_ref().map(|device| device.name.as_str());
    ranlab_host::placement::remarks(arguments.pins(), arguments.upf_pid(), device)
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    /// CPU time of the process named by --upf-pid, set-up and taking down included.
    upf_cpu_s: Option<f64>,
    /// Where threads were pinned that should not be together, or not so far from each other.
    remarks: Vec<String>,
    #[serde(flatten)]
    report: &'a LoadReport,
}

#[derive(Debug, Serialize)]
struct NetworkSummary {
    received: u64,
    duplicates: u64,
    reordered: u64,
    octets: u64,
    reflected: u64,
    sent: u64,
    strangers: u64,
}

fn network(arguments: &UpfArguments, format: Format) -> Result<(), Failure> {
    let config = arguments.config()?;
    let stop = stopped();
    if let Some(duration) = arguments.role_duration() {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(duration);
            stop.store(true, Relaxed);
        });
    }
    let seen = data_network(&config, arguments.sessions(), &stop)?;
    let sum = |what: &dyn Fn(&ranlab_emulator::load::Tally) -> u64| seen.uplink.iter().map(what).sum::<u64>();
    let summary = NetworkSummary {
        received: sum(&|tally| tally.received),
        duplicates: sum(&|tally| tally.duplicates),
        reordered: sum(&|tally| tally.reordered),
        octets: seen.uplink_octets,
        reflected: seen.reflected,
        sent: seen.sent.iter().sum(),
        strangers: seen.strangers,
    };
    let mut output = Output::new(format);
    output.text(format_args!(
        "{} packets came ({} twice, {} overtaken), {} went back, {} were sent",
        summary.received, summary.duplicates, summary.reordered, summary.reflected, summary.sent
    ))?;
    output.finish(&summary)
}

#[derive(Debug, Serialize)]
struct Calibration {
    /// Bare sendmmsg and recvmmsg against an echo thread.
    bare: ranlab_emulator::load::BareLoop,
    /// Requests answered for each second of the SMF thread's CPU time, against the UPF named.
    generator_per_cpu_s: f64,
    /// Their ratio.
    ratio: f64,
    cycles_per_s: f64,
    /// Our UPF without sockets: sessions recognised by their octets, with 500,000 that live, and each decoded.
    in_memory: [Option<InMemory>; 3],
}

/// The bare loop and the generator in turns, so that both see the same machine.
fn calibrate(arguments: &UpfArguments, format: Format) -> Result<(), Failure> {
    const TURNS: usize = 3;
    let turn = Duration::from_secs(2);
    let stop = stopped();
    let (mut bare, mut generator, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
    for n in 0..TURNS {
        bare.push(bare_loop(arguments.window(), turn, arguments.pins())?);
        let mut config = arguments.control_config(turn)?;
        config.run = config.run.wrapping_add(n as u32);
        let report = run_load(&config, &stop)?;
        generator.push(report.control.answers_per_cpu_s);
        cycles.push(report.control.cycles_per_s);
    }
    bare.sort_by(|a, b| a.per_cpu_s.total_cmp(&b.per_cpu_s));
    generator.sort_by(f64::total_cmp);
    cycles.sort_by(f64::total_cmp);
    let (bare, generator_per_cpu_s, cycles_per_s) =
        (bare[TURNS / 2], generator[TURNS / 2], cycles[TURNS / 2]);
    let ratio = generator_per_cpu_s / bare.per_cpu_s.max(1.0);
    let cycles = 1 << 20;
    let in_memory =
        [in_memory(cycles, 0, true), in_memory(cycles, 500_000, true), in_memory(cycles / 4, 0, false)];
    let mut output = Output::new(format);
    for (what, memory) in ["recognised", "recognised", "decoded"].iter().zip(in_memory.iter().flatten()) {
        output.text(format_args!(
            "our UPF without sockets, {} sessions live, requests {what}: {:.0} cycles and {:.0} messages per CPU-second",
            memory.live, memory.cycles_per_cpu_s, memory.messages_per_cpu_s
        ))?;
    }
    output.text(format_args!(
        "bare loop {:.0} round trips per CPU-second ({:.0}/s), generator {generator_per_cpu_s:.0}: {ratio:.2} of it; {cycles_per_s:.0} cycles/s (medians of {TURNS})",
        bare.per_cpu_s, bare.per_s
    ))?;
    output.finish(&Calibration { bare, generator_per_cpu_s, ratio, cycles_per_s, in_memory })
}
