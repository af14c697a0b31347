//! `ranlab emulate`: emulates base stations and their UEs, connected to a controller.
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ranlab_command::args;
use ranlab_command::emulate::{Emulate, Request};
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::{Format, Output};
use ranlab_command::verb::Context;
use ranlab_lab::loopback;
use ranlab_lab::worker::FaultOwner;
use ranlab_ran::radio::{RadioMeter, RadioSummary};
use ranlab_sdk::e2::agent::SetupFailure;
use ranlab_sdk::wire::e2ap::GlobalE2NodeId;

use super::emulate_page::Page;
use crate::{E2_PORT, FleetComponent, FleetReport, Pace, RunningFleet};

/// Options of base stations of E2.
#[derive(Debug, clap::Args)]
#[group(id = "e2-stations")]
pub struct Arguments {
    #[command(flatten)]
    fleet: Flags<FleetComponent>,
    /// Maximum time to try to connect to the controller; 0s: one attempt [default: unlimited]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    wait: Option<Duration>,
    /// With E2: file for executed pings, one line each with the base station and the ping's number
    #[arg(long, value_name = "FILE")]
    log_pings: Option<PathBuf>,
}

impl Emulate for Arguments {
    const PROTOCOLS: &'static [(&'static str, &'static str)] = &[("e2", "O-RAN E2")];
    const EXAMPLES: &'static [&'static str] = &[
        "ranlab emulate --connect tcp://127.0.0.1:36421 --nodes 10 --ues 32 --duration 10s",
        "ranlab emulate --radio nr:106 --ues 2 --flows voip,tcp@5s",
    ];
    const OWN: &'static [(&'static str, &'static str)] =
        &[("log_pings", "--log-pings applies only to base stations of E2")];

    fn emulate(self, request: Request, context: &Context) -> Result<(), Failure> {
        live::raise_limits();
        ranlab_sdk::run(emulate(self, request, context.format))
    }
}

/// Values printed each second.
#[derive(serde::Serialize)]
struct SecondLine<'a> {
    #[serde(flatten)]
    report: &'a FleetReport,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    radios: Vec<RadioSummary>,
}

/// Emulates until Ctrl-C, SIGTERM or the end of the duration.
async fn emulate(mut arguments: Arguments, request: Request, format: Format) -> Result<(), Failure> {
    let connect = &mut arguments.fleet.config.connect;
    if connect.is_empty() {
        connect.push(loopback(E2_PORT));
    }
    let mut fleet = stations(&arguments)?;
    let mut output = Output::new(format);
    let mut page = Page::open(&request.web, &arguments.fleet.config.connect)?;
    let end = live::end(request.duration);
    let waiting = RefCell::new(None);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        started = start(&mut fleet, &arguments, &waiting) => {
            started?;
            let mut before = fleet.report();
            let mut reported = BTreeSet::new();
            let print_second = |seconds: f64| {
                let report = fleet.report();
                report_setup_failures(&fleet.setup_failures(), &mut reported);
                let radios: Vec<_> = fleet.take_radios().iter().map(RadioMeter::summary).collect();
                let rate = (report.sent - before.sent) as f64 / seconds;
                let mbit = (report.sent_bytes - before.sent_bytes) as f64 * 8e-6 / seconds;
                output.text(format_args!(
                    "{}/{} alive  {rate:.0} indications/s  {mbit:.1} Mbit/s  {} dropped  send delay p99 {} us",
                    report.alive, report.nodes, report.dropped, report.lateness_us_p99
                ))?;
                for radio in &radios {
                    output.text(format_args!("  {radio}"))?;
                }
                output.item(&SecondLine { report: &report, radios })?;
                if let Some(page) = &mut page {
                    page.second(&report, &before, seconds);
                }
                before = report;
                output.flush()
            };
            live::until(end.as_mut(), print_second).await?;
        }
    }
    if let Some(failure) = waiting.take() {
        return Err(failure);
    }
    let report = fleet.report();
    conclude(&mut output, &report)?;
    if let Some(page) = &page {
        page.end(&report);
    }
    verdict(&report, arguments.fleet.config.nodes)
}

/// Returns the base stations, which are not started yet.
fn stations(arguments: &Arguments) -> Result<RunningFleet, Failure> {
    let mut fleet = RunningFleet::new(&arguments.fleet.config)?;
    if let Some(file) = &arguments.log_pings {
        fleet.log_pings(file)?;
    }
    Ok(fleet)
}

/// Starts the base stations. Retries while no controller is reached and `--wait` allows it. While it retries,
/// `waiting` contains the reason.
async fn start(
    fleet: &mut RunningFleet,
    arguments: &Arguments,
    waiting: &RefCell<Option<Failure>>,
) -> Result<(), Failure> {
    let begin = Instant::now();
    loop {
        let Err(trouble) = fleet.ramp_up().await else {
            waiting.take();
            return Ok(());
        };
        let is_over = arguments.wait.is_some_and(|wait| begin.elapsed() + TRY_AGAIN > wait);
        if trouble.fault != FaultOwner::Environment || is_over {
            waiting.take();
            return Err(trouble.into());
        }
        if waiting.replace(Some(trouble.clone().into())).is_none() {
            eprintln!(
                "ranlab: {trouble}; trying again until the controller is reached (--wait 0s tries only once)"
            );
        }
        tokio::time::sleep(TRY_AGAIN).await;
        // The base stations are created again, which discards the counters of the failed attempt.
        *fleet = stations(arguments)?;
    }
}

/// Delay between two attempts to reach a controller.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// Checks that the base stations were set up as requested.
fn verdict(report: &FleetReport, requested: u32) -> Result<(), Failure> {
    if report.alive > 0 && report.never_set_up > 0 {
        return Err(Failure::Check(format!(
            "{} of {} base stations are set up at the end; {} were never set up, because {} setups were refused or unanswered",
            report.alive, requested, report.never_set_up, report.setups_failed
        )));
    }
    if report.alive < requested && report.alive > 0 {
        eprintln!("ranlab: {} of {requested} base stations are set up at the end", report.alive);
    }
    if report.alive > 0 || report.nodes == 0 {
        return Ok(());
    }
    Err(Failure::Check(format!(
        "no base station is set up at the end: {} attempts to connect, {} setups refused or unanswered, {} connections lost \
         after a setup",
        report.connects, report.setups_failed, report.setups
    )))
}

/// Minimum number of consecutive unanswered setups that is reported. A single setup may be lost while a controller
/// starts.
const UNANSWERED_REPORTED: u32 = 2;

/// Reports on stderr why setups fail, once per cause. `reported` contains the causes that were already reported.
fn report_setup_failures(failures: &[(GlobalE2NodeId, SetupFailure)], reported: &mut BTreeSet<String>) {
    let mut causes = BTreeMap::<String, (GlobalE2NodeId, Duration, usize)>::new();
    for (node, failure) in failures {
        let (cause, retry_in) = match failure {
            SetupFailure::Refused { cause: Some(cause), retry_at } => {
                (format!("the controller refuses the setup ({cause})"), retry_at.since(ranlab_sdk::now()))
            }
            SetupFailure::Refused { cause: None, retry_at } => {
                ("the controller refuses the setup".to_owned(), retry_at.since(ranlab_sdk::now()))
            }
            SetupFailure::Unanswered { times } if *times >= UNANSWERED_REPORTED => {
                ("the controller does not answer the setup".to_owned(), Duration::ZERO)
            }
            SetupFailure::Unreadable { reason } => {
                (format!("the answer to the setup is invalid: {reason}"), Duration::ZERO)
            }
            _ => continue,
        };
        let (_, longest, nodes) = causes.entry(cause).or_insert((*node, Duration::ZERO, 0));
        *longest = retry_in.max(*longest);
        *nodes += 1;
    }
    for (cause, (node, retry_in, nodes)) in causes {
        let others = if nodes > 1 { format!(" and {} more", nodes - 1) } else { String::new() };
        let line = match retry_in.as_millis().div_ceil(1_000) {
            0 => format!("{node}{others}: {cause}; connecting again"),
            seconds => format!("{node}{others}: {cause}; the next attempt is in {seconds} s"),
        };
        if reported.insert(cause) {
            eprintln!("ranlab: {line}");
        }
    }
}

/// Prints the final summary.
fn conclude(output: &mut Output, report: &FleetReport) -> Result<(), Failure> {
    output.text(format_args!(
        "{} nodes, {} alive, {} reconnects, {} indications sent, {} dropped, {} skipped, send delay p99 {} us",
        report.nodes,
        report.alive,
        report.reconnects,
        report.sent,
        report.dropped,
        report.skipped,
        report.lateness_us_p99
    ))?;
    if let Some(pace) = report.pace {
        let Pace { real_time_factor, behind_us } = pace;
        output.text(format_args!("radio: real-time factor {real_time_factor:.1}, {behind_us} us behind"))?;
    }
    output.finish(report)
}
