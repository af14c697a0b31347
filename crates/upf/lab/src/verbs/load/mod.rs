//! `ranlab load upf`: emulates SMF, base stations and data network, connected to a user plane function.
mod page;
mod print;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::load::{LoadError, LoadReport};
use crate::{Calibration, LoadMode, LoadRole, UpfLoad, UpfLoadComponent, data_network, run_data_network};
use clap::Subcommand;
use ranlab_lab::worker::ComponentError;
use serde::Serialize;

use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::{Context, Run};
use ranlab_command::web::WebArguments;

/// Arguments of `load`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    what: LoadCommand,
}

#[derive(Debug, Subcommand)]
enum LoadCommand {
    /// Load a user plane function on N4, N3 and N6
    Upf(Box<UpfArguments>),
}

/// Arguments of `load upf`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples (with `ranlab upf` in another terminal):
  ranlab load upf --mode control --window 64 --duration 10s
  ranlab load upf --mode control --arrivals poisson --rate 2000 --duration 30s --live 10000
  ranlab load upf --mode sessions --sessions 1000 --uplink 50000 --reflect-every 1
  ranlab load upf --mode qos --mbr 10M --offered 7M,12M,30M --n6 udp://127.0.0.10:2153,127.0.0.8:2153
  ranlab load upf --replay smf.pcap --times 1000 --arrivals constant --rate 200
  ranlab load upf --mode calibrate
  ranlab load upf --sessions 1000 --uplink 50000 --web       # rates, outcomes and latencies on a page

--n6 udp://LOCAL,UPF emulates the data network (with `ranlab upf --n6 udp://UPF,LOCAL`).
--n6 routed://ADDRESS does so where the kernel routes between UEs and that address.
Without --n6, packets are counted only if the UPF's data network reflects them.")]
pub struct UpfArguments {
    #[command(flatten)]
    load: Flags<UpfLoadComponent>,
    #[command(flatten)]
    web: WebArguments,
}

impl Run for Arguments {
    fn run(self, context: &Context) -> Result<(), Failure> {
        run(self, context.format)
    }
}

/// Runs the verb.
fn run(arguments: Arguments, format: Format) -> Result<(), Failure> {
    let LoadCommand::Upf(arguments) = arguments.what;
    let part = &arguments.load.config;
    let output = Output::new(format);
    match (part.mode, part.role) {
        (LoadMode::Calibrate, _) => {
            calibration(output, &UpfLoad::new(part)?.calibrate(part.window, &stopped())?)
        }
        (_, LoadRole::DataNetwork) => network(part, output),
        (_, LoadRole::All) => load(part, &arguments.web, output),
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            // In an experiment, this error is a failure of the UPF. With this command, the UPF may simply not be running.
            LoadError::NoAssociation { .. } => Self::Environment(error.to_string()),
            _ => ComponentError::from(error).into(),
        }
    }
}

/// Returns a flag that is set by Ctrl-C or SIGTERM. The load then ends early and reports.
fn stopped() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&stop);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        if let Ok(runtime) = runtime {
            runtime.block_on(ranlab_command::live::end(None));
            set.store(true, Relaxed);
        }
    });
    stop
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    upf_cpu_s: Option<f64>,
    remarks: &'a [String],
    #[serde(flatten)]
    report: &'a LoadReport,
}

fn load(part: &UpfLoadComponent, web: &WebArguments, mut output: Output) -> Result<(), Failure> {
    ranlab_command::live::raise_limits();
    let load = UpfLoad::new(part)?;
    let (load, page) = match web.open()? {
        Some(board) => {
            let (load, page) = page::Page::open(board, load, part);
            (load, Some(page))
        }
        None => (load, None),
    };
    for remark in load.remarks() {
        eprintln!("ranlab: {remark}");
    }
    let outcome = load.run(&stopped());
    if let Some(page) = page {
        page.end(outcome.as_ref().map(|outcome| &outcome.load));
    }
    let outcome = outcome?;
    let report = &outcome.load;
    print::report(&mut output, report, outcome.upf_cpu_s)?;
    output.finish(&Summary { upf_cpu_s: outcome.upf_cpu_s, remarks: &outcome.remarks, report })?;
    if let Some(died_s) = report.upf_died_s {
        return Err(Failure::Check(format!("the UPF's process ended {died_s:.2} s into the run")));
    }
    if let Some(silence) = report.silence.filter(|silence| !silence.ended) {
        return Err(Failure::Check(silence.to_string()));
    }
    if report.is_without_load() {
        return Err(Failure::Check("nothing was sent: there was no load".to_owned()));
    }
    if report.unexplained > 0 {
        return Err(Failure::Check(format!(
            "{} requests or responses are unexplained: requests without a result, or responses that match no request",
            report.unexplained
        )));
    }
    Ok(())
}

fn network(part: &UpfLoadComponent, mut output: Output) -> Result<(), Failure> {
    let stop = stopped();
    // The data network ends after its duration. 0s means no limit.
    if !part.duration.is_zero() {
        let stop = Arc::clone(&stop);
        let duration = part.duration;
        std::thread::spawn(move || {
            std::thread::sleep(duration);
            stop.store(true, Relaxed);
        });
    }
    let report = run_data_network(data_network(part)?, &stop)?;
    output.text(format_args!(
        "{} packets received ({} duplicates, {} out of order), {} reflected, {} sent",
        report.received, report.duplicates, report.reordered, report.reflected, report.sent
    ))?;
    output.finish(&report)
}

fn calibration(mut output: Output, found: &Calibration) -> Result<(), Failure> {
    for (what, memory) in ["recognised", "recognised", "decoded"].iter().zip(found.in_memory.iter().flatten())
    {
        output.text(format_args!(
            "our UPF without sockets, {} sessions live, requests {what}: {:.0} cycles and {:.0} messages per CPU-second",
            memory.live, memory.cycles_per_cpu_s, memory.messages_per_cpu_s
        ))?;
    }
    output.text(format_args!(
        "bare loop: {:.0} round trips per CPU-second ({:.0}/s); generator: {:.0} round trips per CPU-second, {:.2} of the bare loop, {:.0} cycles/s (medians of {} runs)",
        found.bare.per_cpu_s,
        found.bare.per_s,
        found.generator_per_cpu_s,
        found.ratio,
        found.cycles_per_s,
        Calibration::TURNS
    ))?;
    for packets in &found.packets {
        output.text(format_args!(
            "maximum packet rate with {}: {} threads, {:>4} sessions, {:>4} bytes: {:>9.0}/s accepted ({:.0} Mbit/s), {:.0} per CPU-second, {:.1} % refused",
            packets.io,
            packets.threads,
            packets.sessions,
            packets.octets,
            packets.accepted_per_s,
            packets.accepted_bps / 1e6,
            packets.per_cpu_s,
            packets.refused_ratio * 100.0
        ))?;
    }
    output.finish(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpfLoadComponent;
    use clap::{CommandFactory, Parser};
    use ranlab_campaign::plan::Point;
    use ranlab_campaign::rig::Run;
    use ranlab_campaign::value::Value;
    use ranlab_lab::{AnyComponent, Config};
    const REGISTRY: ranlab_lab::Registry = ranlab_lab::Registry(&[&crate::UPF]);
    use std::time::Duration;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        arguments: UpfArguments,
    }

    const FLAGS: &str = "mode role n4 n3 n6 smf smfs gnb gnbs threads io pin ue server dialect dnn mbr volume-threshold \
         access-instance core-instance core-interface qfi echo arrivals rate rate-to burst window sessions live hold duration dynamic round lead delay uplink downlink unpaced bytes sizes \
         reflect-every offered t1 n1 heartbeat no-smoke-test upf-pid new-start-time replay times gaps run web web-token-file web-host";

    #[test]
    fn flag_names_match_recorded_list() {
        let command = Line::command();
        let mut flags: Vec<_> = command.get_arguments().filter_map(|argument| argument.get_long()).collect();
        flags.sort_unstable();
        let mut expected: Vec<_> = FLAGS.split_whitespace().collect();
        expected.sort_unstable();
        assert_eq!(flags, expected);
    }

    #[test]
    fn flags_scenario_and_worker_message_have_same_effect() {
        let words = "x --mode qos --arrivals poisson --rate 500 --mbr 10M --offered 12.5M --uplink 2000 --pin 0,1 --t1 200ms \
             --n1 5 --io af-xdp:n3,native --ue 10.45.0.2 --no-smoke-test --heartbeat 0s --gnbs 4 --live 7";
        let flags = Line::try_parse_from(words.split_whitespace()).unwrap().arguments.load.config;
        let settings = [
            ("load.mode", "qos".into()),
            ("load.arrivals", "poisson".into()),
            ("load.rate", Value::Float(500.0)),
            ("load.mbr_mbps", Value::Float(10.0)),
            ("load.offered_mbps", Value::Float(12.5)),
            ("load.uplink", Value::Float(2_000.0)),
            ("load.pin", "0,1".into()),
            ("load.t1", Value::Span(Duration::from_millis(200))),
            ("load.n1", 5.into()),
            ("load.io", "af-xdp:n3,native".into()),
            ("load.ue", "10.45.0.2".into()),
            ("load.no_smoke_test", true.into()),
            ("load.heartbeat", Value::Span(Duration::ZERO)),
            ("load.gnbs", 4.into()),
            ("load.live", 7.into()),
        ];
        let settings = settings.map(|(path, value)| (path.to_owned(), value)).into();
        let point = Point { index: 0, axes: Vec::new(), settings };
        let run = Run::new(&point, 0, 1, Duration::from_secs(1));
        assert_eq!(UpfLoadComponent::read(&run, "load").unwrap(), flags);
        let message = serde_json::to_string(&AnyComponent::from(flags.clone())).unwrap();
        let read = REGISTRY.component(serde_json::from_str(&message).unwrap()).unwrap();
        let read = read.get::<UpfLoadComponent>().unwrap();
        assert_eq!(*read, flags);
        assert_eq!(Line::try_parse_from(["x"]).unwrap().arguments.load.config, UpfLoadComponent::default());
    }

    #[test]
    fn invalid_flag_lists_the_allowed_values() {
        for (words, allowed) in [
            ("x --mbr 10m", "e.g. 10M"),
            ("x --uplink inf", "or max"),
            ("x --n6 tcp://x", "routed://ADDRESS"),
            ("x --dialect rel15", "strict-rel15"),
            ("x --smfs 65", "from 1 to 64"),
            ("x --mode contol", "control"),
        ] {
            let error = Line::try_parse_from(words.split_whitespace()).unwrap_err().to_string();
            assert!(error.contains(allowed), "{words}: {error}");
        }
    }
}
