//! `ranlab emulate --protocol flexran|empower`: base stations of other SD-RAN protocols.
use std::time::Duration;

use ranlab_command::args;
use ranlab_command::emulate::{Emulate, Request};
use ranlab_command::exit::Failure;
use ranlab_command::flags::Flags;
use ranlab_command::live;
use ranlab_command::output::Output;
use ranlab_command::verb::Context;
use ranlab_lab::readback::ReadbackQuery;
use ranlab_ran::radio::{RadioMeter, RadioSummary};
use serde::Serialize;

use super::emulate_page::Page;
use crate::fleet::{Delays, Identity, Protocol, SouthboundReport};
use crate::{Incident, SouthFleet, SouthFleetComponent};

/// Options of base stations of these protocols.
#[derive(Debug, clap::Args)]
#[group(id = "other-stations")]
pub(super) struct Arguments {
    #[command(flatten, next_help_heading = "With --protocol flexran or empower")]
    fleet: Flags<SouthFleetComponent>,
    /// FlexRAN: use Mosaic5G 2.x
    #[arg(long)]
    mosaic: bool,
    /// 5G-EmPOWER: version of OpenEmpower
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=2))]
    openempower: u8,
    /// Print the base stations' Ethernet addresses, one per line, for registration at a controller, and exit
    #[arg(long)]
    identities: bool,
    /// At the end, read the number of base stations that the controller knows, e.g.
    /// http://127.0.0.1:9999/stats=/eNB_config; a list is counted, and a missing value is an error
    #[arg(long, value_name = "URL[=PATTERN]")]
    read_back: Option<ReadbackQuery>,
    /// At the end, read the number of UEs that the controller knows, e.g.
    /// http://127.0.0.1:9999/stats=/eNB_config/*/UE/ueConfig
    #[arg(long, value_name = "URL[=PATTERN]")]
    read_back_ues: Option<ReadbackQuery>,
    /// At the end, start one more base station and report the duration of its initialisation; this is the timeout
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    probe: Option<Duration>,
}

impl Arguments {
    /// Returns the selected version of a protocol.
    fn version(&self, protocol: &str) -> Protocol {
        match (protocol, self.mosaic, self.openempower) {
            ("mosaic5g", ..) | ("flexran", true, _) => Protocol::Mosaic,
            ("empower-v2", ..) | ("empower", _, 2) => Protocol::EmpowerV2,
            ("empower" | "empower-v1", ..) => Protocol::EmpowerV1,
            _ => Protocol::Flexran,
        }
    }
}

impl Emulate for Arguments {
    const PROTOCOLS: &'static [(&'static str, &'static str)] = &[
        (
            "flexran",
            "FlexRAN: version 0.x or Mosaic5G 2.x as its controller uses; with --mosaic, Mosaic5G 2.x from the start",
        ),
        ("empower", "OpenEmpower of 5G-EmPOWER, in the version of --openempower"),
        ("flexran-rtc", "FlexRAN 0.x"),
        ("mosaic5g", "Mosaic5G 2.x"),
        ("empower-v1", "OpenEmpower 1"),
        ("empower-v2", "OpenEmpower 2"),
    ];
    const EXAMPLES: &'static [&'static str] = &[
        "ranlab emulate --protocol flexran --connect tcp://127.0.0.1:2210 --nodes 50 --ues 100 --period 50ms",
    ];

    fn emulate(self, request: Request, context: &Context) -> Result<(), Failure> {
        live::raise_limits();
        ranlab_transport::run(run(self, request, Output::new(context.format)))
    }
}

#[derive(Debug, Serialize)]
struct Summary {
    #[serde(flatten)]
    report: SouthboundReport,
    incidents: Vec<Incident>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    radios: Vec<RadioSummary>,
    #[serde(flatten)]
    told: ControllerView,
    probe_us: Option<u64>,
    probe_requests_us: Option<u64>,
}

/// Number of base stations and UEs reported by the controller.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct ControllerView {
    known_nodes: Option<f64>,
    known_ues: Option<f64>,
}

impl ControllerView {
    /// Queries the controller while the base stations keep running.
    async fn ask(nodes: Option<ReadbackQuery>, ues: Option<ReadbackQuery>) -> Result<Self, Failure> {
        let mut counts = [None; 2];
        for (counts, question) in counts.iter_mut().zip([nodes, ues]) {
            let Some(question) = question else { continue };
            let answer = tokio::task::spawn_blocking(move || question.ask()).await;
            let answer = answer.map_err(|error| Failure::Check(error.to_string()))?;
            *counts = Some(answer.map_err(|why| {
                Failure::Check(format!("cannot read the counts from the controller: {why}"))
            })?);
        }
        let [known_nodes, known_ues] = counts;
        Ok(Self { known_nodes, known_ues })
    }
}

impl Summary {
    fn new(
        report: SouthboundReport,
        incidents: Vec<Incident>,
        probe: Option<Delays>,
        view: ControllerView,
    ) -> Self {
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Self {
            report,
            incidents,
            radios: Vec::new(),
            told: view,
            probe_us: probe.map(|delays| micros(delays.to_reporting)),
            probe_requests_us: probe.map(|delays| micros(delays.to_requests)),
        }
    }
}

/// Emulates until Ctrl-C, SIGTERM or the end of the duration.
async fn run(southern: Arguments, request: Request, mut output: Output) -> Result<(), Failure> {
    let protocol = southern.version(&request.protocol);
    let mut part = southern.fleet.config;
    part.protocol = protocol;
    if southern.identities {
        return identities(&part, &mut output);
    }
    if let Some(why) = part.warning() {
        eprintln!("ranlab: {why} (--sources)");
    }
    let mut fleet = SouthFleet::new(&part)?;
    let mut page = Page::open(&request.web, protocol, &part.connect)?;
    let end = live::end(request.duration);
    tokio::pin!(end);
    tokio::select! {
        () = &mut end => {}
        begun = fleet.ramp_up() => {
            begun?;
            watch(&fleet, &mut output, page.as_mut(), end.as_mut()).await?;
        }
    }
    let view = ControllerView::ask(southern.read_back, southern.read_back_ues).await;
    let report = fleet.report();
    let (incidents, forgotten) = fleet.incidents();
    let mut probe = None;
    if let Some(patience) = southern.probe {
        probe = fleet.probe(patience).await;
        match probe {
            Some(delays) => output.text(format_args!(
                "the additional base station was initialised after {} us",
                delays.to_reporting.as_micros()
            ))?,
            None => output
                .text(format_args!("the additional base station was not initialised within {patience:?}"))?,
        }
    }
    if let Some((name, title)) = fleet.shown() {
        // FlexRAN base stations adapt to the version of the controller. Other base stations need the version as an option.
        output.text(format_args!("the controller uses the protocol of {title}: --protocol {name}"))?;
    }
    for incident in &incidents {
        output.text(incident)?;
    }
    if forgotten > 0 {
        output.text(format_args!("{forgotten} more incidents are not listed"))?;
    }
    let read_back = view.as_ref().copied().unwrap_or_default();
    for (known, what, ours) in [
        (read_back.known_nodes, "base stations", u64::from(report.alive)),
        (read_back.known_ues, "UEs", report.announced_ues),
    ] {
        if let Some(known) = known {
            output.text(format_args!("the controller reports {known} {what}; {ours} are emulated"))?;
        }
    }
    output.text(last_line(&report))?;
    output.finish(&Summary::new(report, incidents, probe, read_back))?;
    if let Some(page) = &page {
        page.end(&report);
    }
    judge(&report, fleet.shown().map(|(name, _)| name), fleet.last_fault(), view?)
}

/// Prints the base stations' Ethernet addresses.
fn identities(part: &SouthFleetComponent, output: &mut Output) -> Result<(), Failure> {
    for index in part.first..part.first.saturating_add(part.nodes) {
        let mac = Identity::new(index).mac.to_string();
        output.text(&mac)?;
        output.item(&mac)?;
    }
    output.finish(&serde_json::json!({ "nodes": part.nodes }))
}

/// Prints a line per second until the end.
async fn watch(
    fleet: &SouthFleet,
    output: &mut Output,
    mut page: Option<&mut Page>,
    end: std::pin::Pin<&mut impl Future<Output = ()>>,
) -> Result<(), Failure> {
    let mut before = fleet.report();
    live::until(end, |seconds| {
        let report = fleet.report();
        let mbit = (report.sent_bytes - before.sent_bytes) as f64 * 8e-6 / seconds;
        output.text(format_args!(
            "{}/{} alive  {} UEs  {:.0} messages/s  {mbit:.1} Mbit/s  {} dropped  {} faults  send delay p99 {} us{}",
            report.alive,
            report.nodes,
            report.ues,
            (report.sent - before.sent) as f64 / seconds,
            report.dropped,
            report.faults,
            report.lateness_us_p99,
            shortfall(&report)
        ))?;
        let radios: Vec<_> = fleet.take_radios().iter().map(RadioMeter::summary).collect();
        for radio in &radios {
            output.text(format_args!("  {radio}"))?;
        }
        if let Some(page) = &mut page {
            page.second(&report, &before, seconds, fleet.shown().map(|(_, title)| title));
        }
        let summary = Summary::new(report, fleet.incidents().0, None, ControllerView::default());
        output.item(&Summary { radios, ..summary })?;
        before = report;
        output.flush()
    })
    .await
}

fn last_line(report: &SouthboundReport) -> String {
    format!(
        "{} nodes, {} connected, {} alive, {} UEs, {} reconnects, {} connections refused, {} faults, {} messages offered, \
         {} sent, {} acknowledged, {} read{}, {} reports, {} dropped, {} skipped, send delay p99 {} us{}",
        report.nodes,
        report.connected,
        report.alive,
        report.ues,
        report.reconnects,
        report.refused,
        report.faults,
        report.offered,
        report.sent,
        report.acknowledged,
        report.read,
        if report.readers_seen < report.connected { " as far as it is visible" } else { "" },
        report.reports,
        report.dropped,
        report.skipped,
        report.lateness_us_p99,
        shortfall(report)
    )
}

/// Describes the part of the load that did not reach the controller.
fn shortfall(report: &SouthboundReport) -> String {
    let mut text = String::new();
    if report.connected < report.nodes {
        text.push_str(&format!(
            ", {} not connected, {} connections refused",
            report.nodes - report.connected,
            report.refused
        ));
    }
    let unannounced = report.ues.saturating_sub(report.announced_ues);
    if unannounced > 0 {
        text.push_str(&format!(", {unannounced} UEs not announced to the controller"));
    }
    if report.waiting > 0 {
        text.push_str(&format!(
            ", {} messages ({} kB) wait until the controller reads, {} kB more in the kernel",
            report.waiting,
            report.waiting_bytes / 1_000,
            report.unacknowledged_bytes / 1_000
        ));
    }
    if report.unread_us_max > 0 {
        let seconds = report.unread_us_max as f64 * 1e-6;
        text.push_str(&format!(
            ", the controller read nothing for {seconds:.1} s, {} kB are unread at its host",
            report.unread_bytes / 1_000
        ));
    }
    text
}

/// Fails a run that had no load, or that has no connected base station at its end.
fn judge(
    report: &SouthboundReport,
    shown: Option<&str>,
    last_fault: Option<String>,
    view: ControllerView,
) -> Result<(), Failure> {
    let what = if report.nodes > 0 && report.initialised == 0 {
        "no base station received a request for reports"
    } else if report.initialised > 0 && report.reports == 0 && report.faults + report.dropped > 0 {
        "no report was sent"
    } else if report.nodes > 0 && report.alive == 0 {
        "no base station is alive any more"
    } else if report.nodes > 0 && view.known_nodes == Some(0.0) {
        "the controller reports no base station"
    } else {
        return Ok(());
    };
    let SouthboundReport { nodes, connected, refused, faults, dropped, reconnects, .. } = *report;
    let last = last_fault.map_or(String::new(), |fault| format!(", the last: {fault}"));
    let shown = shown.map_or(String::new(), |name| format!("; the controller uses --protocol {name}"));
    Err(Failure::Check(format!(
        "{what}: {connected} of {nodes} connected, {reconnects} reconnects, {refused} connections refused, {dropped} messages \
         dropped, {faults} faults{last}{shown}"
    )))
}
